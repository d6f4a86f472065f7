/*
 * sweep_ofi.c - the limits of a sweep over a network: bare libfabric between PE 0 and PE 1 from 1 B to 64 MiB (or to the argument) in
 * steps of the square root of 2. Needs SHMEM_TRANSPORT=ofi and two PEs on one host, and is linked with -lfabric.
 *
 * bare_put: fi_write, then a message of 8 B, until its answer is there: the data is in place. bare_get: fi_read. bare_tag: one way, a message
 * whose receive is posted already. bare_burst_...: bursts of them, GB/s; of writes and messages until the answer to all is there.
 */
#include "bare_ofi.h"

#include "sweep.h"

enum { BYTES_MAX = 64 << 20 };

static void loop_put(void *arg, long calls)
{
    const struct sweep *s = arg;

    while (calls--)
        bare_put(s->bytes, s->burst);
}

static void loop_get(void *arg, long calls)
{
    const struct sweep *s = arg;

    bare_get(s->bytes, calls, s->burst);
}

static void loop_message(void *arg, long calls)
{
    const struct sweep *s = arg;

    bare_in_turn(s->bytes, calls);
}

/* One call is a burst from PE 0 to PE 1 and a reply. */
static void loop_message_burst(void *arg, long calls)
{
    const struct sweep *s = arg;

    while (calls--) {
        if (shmem_my_pe() == 0) {
            for (long i = 0; i < s->burst; i++)
                bare_message(s->bytes);
            bare_await_messages(1);
        } else {
            bare_await_messages(s->burst);
            bare_message(BARE_WORD);
        }
    }
    bare_flush();
}

int main(int argc, char **argv)
{
    setenv("SHMEM_SYMMETRIC_SIZE", "128M", 0);
    bench_init("sweep_ofi", 2);

    size_t limit = sweep_limit(argc, argv, BYTES_MAX), bytes = limit < BARE_WORD ? BARE_WORD : limit;
    char *shared = bench_symmetric(bytes);

    if (shmem_n_pes() != 2) {
        fprintf(stderr, "sweep_ofi: needs two PEs\n");
        shmem_global_exit(2);
    }
    bare_open(shared, bench_private(bytes), bench_private(bytes), bytes);
    sweep_run("bare_put", BENCH_US, limit, NULL, NULL, 1, 1, loop_put);
    sweep_run("bare_get", BENCH_US, limit, NULL, NULL, 1, 1, loop_get);
    sweep_run("bare_tag", BENCH_US, limit, NULL, NULL, 1, 2, loop_message);
    sweep_run("bare_burst_put", BENCH_GB_PER_S, limit, NULL, NULL, 1, 1, loop_put);
    sweep_run("bare_burst_get", BENCH_GB_PER_S, limit, NULL, NULL, 1, 1, loop_get);
    sweep_run("bare_burst_tag", BENCH_GB_PER_S, limit, NULL, NULL, 1, 1, loop_message_burst);
    shmem_finalize();
    return 0;
}
