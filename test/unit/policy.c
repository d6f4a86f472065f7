/* policy.c - tables of situations and of what src/host/policy decides in them. */
#include "host/policy/provider.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../tap.h"

enum { USUAL = 16384, MOST = 65664 };

/* Catches: a provider that reaches one node only, or TCP, before a special network; psm3 by sockets before TCP; one that is not known. */
static void preference(void)
{
    static const struct {
        const char *better, *worse;
        int has_rdma;
    } pair[] = {{"cxi", "efa", 1}, {"efa", "psm3", 1}, {"psm3", "net", 1}, {"net", "psm3", 0}, {"verbs;ofi_rxm", "net", 1}, {"opx", "tcp", 1},
                {"net", "tcp", 0}, {"tcp", "tcp;ofi_rxm", 0}, {"tcp;ofi_rxm", "psm3", 0}, {"psm3", "shm", 0}, {"tcp", "shm", 0},
                {"shm", "sockets", 0}, {"sockets", "udp;ofi_rxd", 0}, {"udp;ofi_rxd", "net;ofi_rxm", 0}, {"udp;ofi_rxd", "", 0}};
    for (size_t i = 0; i < sizeof pair / sizeof *pair; i++)
        CHECKF(shi_provider_rank(shi_provider_of(pair[i].better, pair[i].has_rdma)) <
                   shi_provider_rank(shi_provider_of(pair[i].worse, pair[i].has_rdma)),
               "%s before %s", pair[i].better, pair[i].worse);
    CHECK(!shi_provider_of("net;ofi_rxm", 1) && !shi_provider_of("psm", 1) && !shi_provider_of("psm3;ofi_rxd", 0));
}

/* Catches: a row with a property too many or too few. The library would then connect PEs of two jobs, wait for a completion that the provider
 * does not report, or announce data in device memory before it is visible. */
static void properties(void)
{
    static const struct {
        const char *name;
        const char *has; /* n: node_only; j: job_key; p: polls_again; l: late_close; i: immediate; c: copies */
    } of[] = {{"cxi", ""}, {"efa", "i"}, {"psm3", "jpli"}, {"psm2", "jpl"}, {"opx", "i"}, {"verbs;ofi_rxm", ""}, {"verbs", ""}, {"net", "ic"},
              {"tcp", "ic"}, {"tcp;ofi_rxm", ""}, {"shm", "nc"}, {"sockets", "c"}, {"sockets;ofi_rxd", ""}, {"udp;ofi_rxd", "c"}};
    for (int has_rdma = 0; has_rdma < 2; has_rdma++)
        for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
            static const struct shi_provider none;
            const struct shi_provider *found = shi_provider_of(of[i].name, has_rdma), *p = found ? found : &none;
            char has[7];
            snprintf(has, sizeof has, "%.*s%.*s%.*s%.*s%.*s%.*s", p->node_only, "n", p->job_key, "j", p->polls_again, "p", p->late_close, "l",
                     p->immediate, "i", p->copies, "c");
            CHECKF(found && strcmp(has, of[i].has) == 0, "%s, RDMA device %d: '%s'", of[i].name, has_rdma, has);
        }
}

/* Catches: messages longer than the provider or its variable allows, lengths of long messages for short ones. */
static void lengths(void)
{
    static const struct {
        const char *name, *text;
        int has_rdma;
        size_t largest, message, eager, answer;
    } of[] = {{"net", NULL, 0, SIZE_MAX, MOST, 65536, 131072},
              {"tcp", NULL, 0, 40001, 40000, 65536, 131072},
              {"tcp;ofi_rxm", NULL, 0, SIZE_MAX, USUAL, 0, 0},
              {"tcp;ofi_rxm", "32768", 0, SIZE_MAX, 32768, 65536, 196608},
              {"tcp;ofi_rxm", "4096", 0, SIZE_MAX, USUAL, 0, 0},
              {"tcp;ofi_rxm", "many", 0, SIZE_MAX, USUAL, 0, 0},
              {"tcp;ofi_rxm", "1000000", 0, 50000, 49984, 65536, 196608},
              {"psm3", NULL, 0, SIZE_MAX, 64000, 131072, 1048576},
              {"psm3", "20001", 0, SIZE_MAX, 19968, 131072, 1048576},
              {"psm3", NULL, 1, SIZE_MAX, USUAL, 0, 0},
              {"shm", NULL, 0, SIZE_MAX, USUAL, 0, 0},
              {"verbs;ofi_rxm", NULL, 1, SIZE_MAX, USUAL, 0, 0},
              {"another", NULL, 1, SIZE_MAX, USUAL, 0, 0}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct shi_provider_lengths l = shi_provider_lengths(shi_provider_of(of[i].name, of[i].has_rdma), of[i].text, of[i].largest, USUAL, MOST);
        CHECKF(l.message == of[i].message && l.eager == of[i].eager && l.answer == of[i].answer,
               "%s, %s: %zu %zu %zu", of[i].name, of[i].text ? of[i].text : "", l.message, l.eager, l.answer);
    }
}

int main(void)
{
    RUN(preference, "providers: the order of preference");
    RUN(properties, "providers: what each needs");
    RUN(lengths, "providers: lengths of messages");
    return tap_end();
}
