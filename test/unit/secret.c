/*
 * secret.c - start-up of the network in two PEs: the secret that authenticates messages, how, and the records that PEs compare.
 *
 * Each PE is a process. The launcher, the network and getrandom are stubs in this file; the PEs' published records and
 * their start-up's results are in memory that both share.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/net/node/progress.h"
#include "host/net/stream/admit.h"
#include "host/net/stream/lane.h"
#include "host/net/stream/stream_rx.h"
#include "host/util/log.h"

#include "../tap.h"

enum { PES = 2, RECORD_BYTES = 2048, KEY_BYTES = SHI_SECRET_BYTES };

/* How one PE starts. */
struct setup {
    int has_secret, insecure, no_random;
    const char *provider;
    size_t cut; /* bytes missing from its record, as in another version */
    int version; /* of its messages; 0: the right one */
};

static struct board {
    struct {
        unsigned char record[RECORD_BYTES], secret[KEY_BYTES];
        size_t bytes;
        int published, ended, rc, lines;
        char line[400];
    } pe[PES];
} *board;

static const struct setup *setup; /* of this PE */
static int me;
static struct shi_net_lane lane0;

/* ---- stubs -------------------------------------------------------------------------------------------------------- */

ssize_t getrandom(void *to, size_t bytes, unsigned flags)
{
    static unsigned n;
    (void)flags;
    if (setup->no_random) {
        errno = EPERM;
        return -1;
    }
    for (size_t i = 0; i < bytes; i++)
        ((unsigned char *)to)[i] = (unsigned char)(++n + (unsigned)getpid());
    return (ssize_t)bytes;
}

void shi_log_debug(const char *fmt, ...)
{
    (void)fmt;
}

void shi_log_error(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(board->pe[me].line, sizeof board->pe[me].line, fmt, ap);
    va_end(ap);
    board->pe[me].lines++;
}

void shi_die(const char *routine, const char *fmt, ...)
{
    (void)routine, (void)fmt;
    _exit(3);
}

static int publish(const char *key, const void *data, size_t bytes)
{
    (void)key;
    bytes -= setup->cut;
    if (bytes > RECORD_BYTES)
        _exit(4);
    memcpy(board->pe[me].record, data, bytes);
    if (setup->version)
        memcpy(board->pe[me].record, &setup->version, sizeof setup->version);
    board->pe[me].bytes = bytes;
    return 0;
}

/* Ends early when the other PE has failed. */
static int fence(void)
{
    __atomic_store_n(&board->pe[me].published, 1, __ATOMIC_RELEASE);
    while (!__atomic_load_n(&board->pe[!me].published, __ATOMIC_ACQUIRE))
        if (__atomic_load_n(&board->pe[!me].ended, __ATOMIC_ACQUIRE))
            return __atomic_load_n(&board->pe[!me].published, __ATOMIC_ACQUIRE) ? 0 : -EIO;
    return 0;
}

static int lookup(int pe, const char *key, void *data, size_t bytes)
{
    (void)key;
    size_t found = board->pe[pe].bytes;
    memcpy(data, board->pe[pe].record, found < bytes ? found : bytes);
    return found == bytes ? 0 : -EMSGSIZE;
}

static const char *net_provider(void)
{
    return setup->provider ? setup->provider : "stub";
}

static int net_up(const struct shi_boot *boot, const struct shi_config *config, shi_net_arrive *arrive, shi_net_written *written,
                  shi_net_failed *failed, struct shi_net_limits *limits)
{
    (void)boot, (void)config, (void)arrive, (void)written, (void)failed, (void)limits;
    return 0;
}

static int net_address(struct shi_net_address *out)
{
    *out = (struct shi_net_address){{0}};
    return 0;
}

static int net_connect(const struct shi_net_address *first, size_t stride)
{
    (void)first, (void)stride;
    return 0;
}

static struct shi_net_lane *net_lane(int i)
{
    (void)i;
    return &lane0;
}

const struct shi_net_ops shi_net_ofi = {
    .provider = net_provider, .up = net_up, .address = net_address, .connect = net_connect, .lane = net_lane};

void shi_heartbeat_beside(void)
{
}

int shi_stream_receive(int n_pes)
{
    (void)n_pes;
    return 0;
}

void shi_stream_arrive(const void *msg, size_t bytes)
{
    (void)msg, (void)bytes;
}

void shi_batch_trim(struct shi_lane *l)
{
    (void)l;
}

_Thread_local int shi_progress_own;

int shi_progress_add(struct shi_progress_source *s)
{
    (void)s;
    return 0;
}

void shi_progress_stop(void)
{
}

void shi_auth_set(const unsigned char secret[SHI_SECRET_BYTES])
{
    memcpy(board->pe[me].secret, secret, KEY_BYTES);
}

void shi_admit_report(void)
{
}

/* ---- tests -------------------------------------------------------------------------------------------------------- */

static const unsigned char given[KEY_BYTES] = "0123456789abcde", zeros[KEY_BYTES];

static void run_pe(void)
{
    static const struct shi_boot_ops ops = {.publish = publish, .fence = fence, .lookup = lookup};
    static const struct shi_stream_region own[SHI_REGIONS];
    int self[1] = {me};
    struct shi_boot boot = {.pe = me, .n_pes = PES, .n_local = 1, .local_pe = self, .ops = &ops};
    struct shi_config config = {.bcopy_bytes = SHI_CONFIG_AUTO, .insecure = setup->insecure};
    boot.has_secret = setup->has_secret;
    if (boot.has_secret)
        memcpy(boot.secret, given, sizeof given);
    static _Alignas(64) char record[PES * SHI_SHM_RECORD_BYTES];
    const struct shi_stream_node node = {.record = record};
    board->pe[me].rc = shi_stream_up(&boot, &config, &node, own, 1);
    __atomic_store_n(&board->pe[me].ended, 1, __ATOMIC_RELEASE);
    _exit(0);
}

static void start(const struct setup of[PES])
{
    memset(board, 0, sizeof *board);
    fflush(stdout);
    for (me = 0; me < PES; me++) {
        setup = &of[me];
        if (fork() == 0)
            run_pe();
    }
    for (int i = 0, how; i < PES; i++)
        CHECKF(wait(&how) > 0 && how == 0, "a PE ended with status %x", how);
}

static int both_have(const unsigned char *key)
{
    for (int pe = 0; pe < PES; pe++)
        if (board->pe[pe].rc || memcmp(board->pe[pe].secret, key, KEY_BYTES))
            return 0;
    return 1;
}

/* Catches: the launcher's secret published, or replaced by one from PE 0. */
static void launcher(void)
{
    start((struct setup[PES]){{.has_secret = 1, .no_random = 1}, {.has_secret = 1}});
    CHECK(both_have(given) && !board->pe[0].lines && !board->pe[1].lines);
    for (int pe = 0; pe < PES; pe++)
        CHECK(!memmem(board->pe[pe].record, RECORD_BYTES, given, KEY_BYTES));
}

/* Catches: a secret that differs between PEs, is constant, or comes from a PE other than 0. */
static void foreign(void)
{
    unsigned char first[KEY_BYTES];
    start((struct setup[PES]){{0}, {.no_random = 1}});
    memcpy(first, board->pe[0].secret, sizeof first);
    CHECK(both_have(first) && memcmp(first, zeros, KEY_BYTES) && !board->pe[0].lines && !board->pe[1].lines);
    start((struct setup[PES]){{0}, {0}});
    CHECK(both_have(board->pe[0].secret) && memcmp(first, board->pe[0].secret, KEY_BYTES));
}

/* Catches: a job that continues with a secret of zeros without random bits. */
static void none(void)
{
    start((struct setup[PES]){{.no_random = 1}, {0}});
    CHECK(board->pe[0].rc == -EPERM && board->pe[0].lines == 1 && strstr(board->pe[0].line, "SHMEM_INSECURE=1"));
    CHECK(board->pe[1].rc);
}

/* Catches: no warning in insecure mode, or one from each PE; a secret that stays in use. */
static void insecure(void)
{
    start((struct setup[PES]){{.has_secret = 1, .insecure = 1}, {.has_secret = 1, .insecure = 1}});
    CHECK(both_have(zeros) && board->pe[0].lines == 1 && !board->pe[1].lines);
    CHECK(strstr(board->pe[0].line, "SHMEM_INSECURE=1"));
    start((struct setup[PES]){{.insecure = 1, .no_random = 1}, {.insecure = 1}});
    CHECK(both_have(zeros));
}

/* Both PEs must fail, each with one line that contains these words. */
static void both_refuse(const char *what, const char *words)
{
    for (int pe = 0; pe < PES; pe++)
        CHECKF(board->pe[pe].rc == -EPROTO && strstr(board->pe[pe].line, words), "%s: PE %d: %d, %d lines: %s", what, pe,
               board->pe[pe].rc, board->pe[pe].lines, board->pe[pe].line);
}

/* Catches: PEs with different settings that continue, so that one waits for messages that the other one drops. */
static void disagree(void)
{
    start((struct setup[PES]){{.insecure = 1}, {0}});
    both_refuse("insecure", "none (SHMEM_INSECURE=1)");
    start((struct setup[PES]){{.has_secret = 1}, {.has_secret = 1, .insecure = 1}});
    both_refuse("insecure 1", "none (SHMEM_INSECURE=1)");
    start((struct setup[PES]){{.has_secret = 1}, {0}});
    both_refuse("origin", "of oshrun");
    start((struct setup[PES]){{.provider = "one"}, {.provider = "two"}});
    both_refuse("provider", "provider");
}

/* Catches: a record of another version, with another length, reported without a line or with the wrong cause. */
static void versions(void)
{
    start((struct setup[PES]){{0}, {.cut = 8}});
    CHECK(board->pe[0].rc == -EPROTO && board->pe[0].lines == 1 && strstr(board->pe[0].line, PACKAGE_VERSION));
    start((struct setup[PES]){{0}, {.version = 77}});
    CHECK(board->pe[0].rc == -EPROTO && strstr(board->pe[0].line, "77") && strstr(board->pe[0].line, PACKAGE_VERSION));
    start((struct setup[PES]){{.version = 1}, {0}});
    CHECK(board->pe[1].rc == -EPROTO && strstr(board->pe[1].line, "older"));
}

int main(void)
{
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (board == MAP_FAILED)
        return 99;
    RUN(launcher, "all PEs use the launcher's secret and do not publish it");
    RUN(foreign, "without a launcher's secret PE 0 makes one for all");
    RUN(none, "no random bits: the network is refused with one line");
    RUN(insecure, "SHMEM_INSECURE=1: no secret, and one warning");
    RUN(disagree, "PEs with different settings end with one line");
    RUN(versions, "versions: the line names both");
    return tap_end();
}
