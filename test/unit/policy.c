/* policy.c - tables of situations and of what src/host/policy decides in them. */
#include "host/policy/copy.h"
#include "host/policy/provider.h"
#include "host/policy/transfer.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "../tap.h"

enum { USUAL = 16384, MOST = 65664 };

/* Catches: a provider that reaches one node only, or TCP, before a special network; psm3 by sockets before TCP; one that is not known; one that
 * loses messages where a connection has ended, if PEs may die. */
static void preference(void)
{
    static const struct order {
        const char *better, *worse;
        int has_rdma;
    } pair[] = {{"cxi", "efa", 1}, {"efa", "psm3", 1}, {"psm3", "net", 1}, {"net", "psm3", 0}, {"verbs;ofi_rxm", "net", 1}, {"opx", "tcp", 1},
                {"net", "tcp", 0}, {"tcp", "tcp;ofi_rxm", 0}, {"tcp;ofi_rxm", "psm3", 0}, {"psm3", "shm", 0}, {"tcp", "shm", 0},
                {"shm", "sockets", 0}, {"sockets", "udp;ofi_rxd", 0}, {"udp;ofi_rxd", "net;ofi_rxm", 0}, {"udp;ofi_rxd", "", 0}},
      going_on[] = {{"verbs;ofi_rxm", "tcp;ofi_rxm", 1}, {"tcp;ofi_rxm", "net", 0}, {"udp;ofi_rxd", "tcp", 0}, {"tcp", "", 0}};
    const size_t n = sizeof pair / sizeof *pair, m = sizeof going_on / sizeof *going_on;
    for (size_t i = 0; i < n + m; i++) {
        const struct order *o = i < n ? &pair[i] : &going_on[i - n];
        CHECKF(shi_provider_rank(shi_provider_of(o->better, o->has_rdma), i >= n) < shi_provider_rank(shi_provider_of(o->worse, o->has_rdma), i >= n),
               "%s before %s", o->better, o->worse);
    }
    CHECK(!shi_provider_of("net;ofi_rxm", 1) && !shi_provider_of("psm", 1) && !shi_provider_of("psm3;ofi_rxd", 0));
}

/* Catches: a row with a property too many or too few. The library would then connect PEs of two jobs, wait for a completion that the provider
 * does not report, or announce data in device memory before it is visible. */
static void properties(void)
{
    static const struct {
        const char *name;
        const char *has; /* n: node_only; j: job_key; p: polls_again; l: late_close; i: immediate; c: copies; f: loses_first */
    } of[] = {{"cxi", ""}, {"efa", "i"}, {"psm3", "jpli"}, {"psm2", "jpl"}, {"opx", "i"}, {"verbs;ofi_rxm", ""}, {"verbs", ""}, {"net", "icf"},
              {"tcp", "icf"}, {"tcp;ofi_rxm", ""}, {"shm", "nc"}, {"sockets", "c"}, {"sockets;ofi_rxd", ""}, {"udp;ofi_rxd", "c"}};
    for (int has_rdma = 0; has_rdma < 2; has_rdma++)
        for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
            static const struct shi_provider none;
            const struct shi_provider *found = shi_provider_of(of[i].name, has_rdma), *p = found ? found : &none;
            char has[8];
            snprintf(has, sizeof has, "%.*s%.*s%.*s%.*s%.*s%.*s%.*s", p->node_only, "n", p->job_key, "j", p->polls_again, "p", p->late_close, "l",
                     p->immediate, "i", p->copies, "c", p->loses_first, "f");
            CHECKF(found && strcmp(has, of[i].has) == 0, "%s, RDMA device %d: '%s'", of[i].name, has_rdma, has);
        }
}

/* Catches: messages longer than the provider or its variable allows, lengths of long messages for short ones. */
static void lengths(void)
{
    static const struct {
        const char *name, *text;
        int has_rdma;
        size_t largest, message;
    } of[] = {{"net", NULL, 0, SIZE_MAX, MOST},
              {"tcp", NULL, 0, 40001, 40000},
              {"tcp;ofi_rxm", NULL, 0, SIZE_MAX, USUAL},
              {"tcp;ofi_rxm", "32768", 0, SIZE_MAX, 32768},
              {"tcp;ofi_rxm", "4096", 0, SIZE_MAX, USUAL},
              {"tcp;ofi_rxm", "many", 0, SIZE_MAX, USUAL},
              {"tcp;ofi_rxm", "1000000", 0, 50000, 49984},
              {"psm3", NULL, 0, SIZE_MAX, 64000},
              {"psm3", "20001", 0, SIZE_MAX, 19968},
              {"psm3", NULL, 1, SIZE_MAX, USUAL},
              {"shm", NULL, 0, SIZE_MAX, USUAL},
              {"verbs;ofi_rxm", NULL, 1, SIZE_MAX, USUAL},
              {"another", NULL, 1, SIZE_MAX, USUAL}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        size_t bytes = shi_provider_message(shi_provider_of(of[i].name, of[i].has_rdma), of[i].text, of[i].largest, USUAL, MOST);
        CHECKF(bytes == of[i].message, "%s, %s: %zu", of[i].name, of[i].text ? of[i].text : "", bytes);
    }
}

/* Catches: memory that is named to the network though it cannot access it; long data in records though it need not be, short data in a
 * transfer; data that no peer can read as one that peers read. Rows: bytes, then reached, accessed, registered, hidden, chunks. */
static void ways(void)
{
    enum { COPIED = 4096, LONG = SHI_RECORD_BYTES + 1 };
    static const struct {
        size_t bytes;
        int reached, accessed, registered, hidden, chunks;
        enum shi_remote_way way;
    } of[] = {{0, 1, 1, 1, 0, 1, SHI_REMOTE_RECORDS},      {COPIED, 1, 1, 1, 0, 1, SHI_REMOTE_RECORDS},
              {COPIED + 1, 1, 1, 1, 0, 1, SHI_REMOTE_DIRECT}, {COPIED + 1, 1, 0, 0, 0, 0, SHI_REMOTE_DIRECT},
              {LONG, 1, 1, 0, 1, 1, SHI_REMOTE_DIRECT},    {LONG, 1, 0, 1, 1, 1, SHI_REMOTE_STAGED},
              {8, 1, 1, 1, 1, 1, SHI_REMOTE_STAGED},       {LONG, 0, 1, 1, 1, 1, SHI_REMOTE_STAGED},
              {COPIED + 1, 0, 1, 1, 0, 1, SHI_REMOTE_RECORDS}, {SHI_RECORD_BYTES, 0, 1, 1, 0, 1, SHI_REMOTE_RECORDS},
              {LONG, 0, 1, 1, 0, 1, SHI_REMOTE_RENDEZVOUS}, {LONG, 0, 1, 1, 0, 0, SHI_REMOTE_RENDEZVOUS},
              {LONG, 0, 1, 0, 0, 1, SHI_REMOTE_STAGED},    {LONG, 0, 1, 0, 0, 0, SHI_REMOTE_RECORDS}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct shi_way_facts f = {.bytes = of[i].bytes, .copied = COPIED, .reached = of[i].reached, .accessed = of[i].accessed,
                                        .registered = of[i].registered, .hidden = of[i].hidden, .chunks = of[i].chunks};
        enum shi_remote_way way = shi_way_of(&f);
        CHECKF(way == of[i].way, "row %zu: way %d", i, (int)way);
    }
}

/* Catches: a message longer than its carrier's; data that is sent though a read takes less time, or read though it fits; symmetric data of a node
 * that is copied twice. */
static void messages(void)
{
    static const struct {
        struct shi_message_facts facts;
        int symmetric;
        size_t whole, parts; /* the longest data that goes so; parts 0: none */
    } of[] = {{{1, 16320}, 0, 16280, 0},     {{1, 16320}, 1, 8152, 0},  {{0, 16320}, 0, 16280, 32768},
              {{0, 16320}, 1, 16280, 32768}, {{0, 65600}, 0, 65560, 0}, {{0, 32000}, 1, 31960, 32768},
              {{0, 63936}, 0, 63896, 0}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct shi_message_lengths l = shi_message_lengths_of(&of[i].facts);
        size_t eager = of[i].symmetric ? l.symmetric : l.eager, most = of[i].parts ? of[i].parts : of[i].whole;
        CHECKF(l.longest == of[i].facts.longest && l.symmetric <= l.eager, "row %zu: %zu %zu", i, l.longest, l.symmetric);
        CHECKF(shi_message_way(0, l.whole, eager) == SHI_MESSAGE_WHOLE && shi_message_way(of[i].whole, l.whole, eager) == SHI_MESSAGE_WHOLE,
               "row %zu: %zu bytes do not go in one message", i, of[i].whole);
        CHECKF(shi_message_way(of[i].whole + 1, l.whole, eager) == (of[i].parts ? SHI_MESSAGE_PARTS : SHI_MESSAGE_READ), "row %zu: one more", i);
        CHECKF((shi_message_way(most, l.whole, eager) == SHI_MESSAGE_PARTS) == (of[i].parts > 0), "row %zu: %zu bytes", i, most);
        CHECKF(shi_message_way(most + 1, l.whole, eager) == SHI_MESSAGE_READ, "row %zu: %zu bytes are not read", i, most + 1);
    }
}

/* Catches: a second copier for a short read, pieces that are no whole pages, or so many that calls cost more than copies. */
static void shared_reads(void)
{
    static const size_t of[][2] = {{0, 0}, {262143, 0}, {262144, 131072}, {524288, 131072}, {600000, 151552}, {1 << 20, 262144},
                                   {2 << 20, 524288}, {SIZE_MAX / 2, 524288}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        CHECKF(shi_shared_read_piece(of[i][0]) == of[i][1], "%zu bytes: pieces of %zu", of[i][0], shi_shared_read_piece(of[i][0]));
}

/* Catches: memcpy where it is slow, lines where it is quicker; data that stays in the caches past them, or data that does not through them,
 * where memcpy counts caches that a core cannot use. */
static void copies(void)
{
    static const struct {
        size_t bytes;
        int slow, by_lines;
    } of[] = {{0, 1, 0},      {2047, 1, 0},   {2048, 1, 1},         {2048, 0, 0},   {131071, 1, 1},
              {131071, 0, 0}, {131072, 0, 1}, {(1 << 20) - 1, 1, 1}, {1 << 20, 1, 0}, {1 << 20, 0, 0}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++)
        CHECKF(shi_copy_goes_by_lines(of[i].bytes, of[i].slow) == of[i].by_lines, "%zu bytes, slow %d", of[i].bytes, of[i].slow);
    size_t limit = shi_copy_cache_limit(16 << 20, 1, 1);
    CHECK(limit == 10 << 20 && shi_copy_cache_limit(16 << 20, 0, 1) == SIZE_MAX && shi_copy_cache_limit(16 << 20, 1, 0) == SIZE_MAX &&
          shi_copy_cache_limit(0, 1, 1) == SIZE_MAX);
    CHECK(shi_copy_goes_past_caches(1 << 20, limit, limit) && !shi_copy_goes_past_caches(1 << 20, limit - 1, limit) &&
          !shi_copy_goes_past_caches(4095, SIZE_MAX, limit) && shi_copy_goes_past_caches(4096, SIZE_MAX, limit));
}

int main(void)
{
    RUN(preference, "providers: the order of preference");
    RUN(properties, "providers: what each needs");
    RUN(lengths, "providers: lengths of messages");
    RUN(ways, "transfers: by which way puts and gets go");
    RUN(messages, "transfers: which data is sent in one message, in parts, or read");
    RUN(shared_reads, "transfers: which reads of private memory both PEs copy");
    RUN(copies, "copies: by memcpy, by lines, past the caches");
    return tap_end();
}
