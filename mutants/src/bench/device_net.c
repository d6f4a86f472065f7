/*
 * device_net.c - device memory between nodes: GB/s of 1 MiB puts and latency of a put with signal, by a kernel, by the host from
 * device memory, and by the host from its own. Fulmar only: it needs shmemx.h. Two PEs of one host are two nodes with
 * SHMEM_TRANSPORT=ofi; with ZE_CPU_PRIVATE=1 neither the host nor the network can access the device's memory:
 *
 *     oshcc -O2 bench/device_net.c bench/ring.cl -o device_net
 *     SHMEM_TRANSPORT=ofi ZE_CPU_PRIVATE=1 oshrun -n 2 ./device_net
 *
 * A batch of puts is long, because PE 1 may have to wake first; one of trips, so that the launch of its kernels does not count.
 */
#include "bench.h"

#include <shmemx.h>

enum { TRIPS = 32, BLOCK_BYTES = 1 << 20, WINDOW = 4, WINDOWS = 16 };

struct side {
    const char *kernel; /* NULL: the host puts */
    void *ctx;
    char *blocks;
    uint64_t *w, *signal, turn;
};

static void start(const char *kernel, void *const *args, const size_t *bytes, int n)
{
    const size_t one[3] = {1, 1, 1};

    if (shmemx_launch(kernel, one, one, args, bytes, n) || shmemx_device_sync())
        shmem_global_exit(2);
}

/* Windows of blocks to PE 1, a quiet after each. */
static void loop_stream(void *arg, long calls)
{
    struct side *s = arg;
    uint64_t n = (uint64_t)calls * WINDOWS, bytes = BLOCK_BYTES, window = WINDOW;

    if (s->kernel) {
        start(s->kernel, (void *[]){&s->ctx, &s->blocks, &s->signal, &n, &window, &bytes}, (size_t[]){8, 8, 8, 8, 8, 8}, 6);
        return;
    }
    for (; n > 0; n--) {
        for (int i = 0; i < WINDOW; i++)
            shmem_putmem_nbi(s->blocks + i * BLOCK_BYTES, s->blocks + i * BLOCK_BYTES, BLOCK_BYTES, 1);
        shmem_quiet();
    }
}

static void loop_ping(void *arg, long calls)
{
    struct side *s = arg;
    uint64_t n = (uint64_t)calls * TRIPS, from = s->turn;
    int me = shmem_my_pe(), first = me == 0;

    s->turn += n;
    if (me < 2 && s->kernel)
        start(s->kernel, (void *[]){&s->ctx, &s->w, &s->signal, &from, &n, &first}, (size_t[]){8, 8, 8, 8, 8, 4}, 6);
    for (uint64_t i = from + 1; me < 2 && !s->kernel && i <= s->turn; i++) {
        if (!first)
            shmem_signal_wait_until(s->signal, SHMEM_CMP_GE, i);
        shmem_putmem_signal(s->w, s->w + 1, 8, s->signal, i, SHMEM_SIGNAL_SET, 1 - me);
        if (first)
            shmem_signal_wait_until(s->signal, SHMEM_CMP_GE, i);
    }
}

int main(void)
{
    bench_init("device_net", 2);

    void *ctx;
    char *blocks = shmemg_calloc(WINDOW, BLOCK_BYTES), *hblocks = shmem_calloc(WINDOW, BLOCK_BYTES);
    uint64_t *w = shmemg_calloc(128, 8), *signal = shmemg_calloc(1, 8), *hw = shmem_calloc(128, 8), *hsignal = shmem_calloc(1, 8);

    if (!w || !signal || !blocks || !hblocks || shmemx_device_ctx_create(SHMEM_TEAM_WORLD, SHMEM_CTX_PRIVATE, &ctx))
        shmem_global_exit(2);
    struct side kernel = {"stream_put", ctx, blocks, w, signal, 0}, device = {NULL, NULL, blocks, w, signal, 0},
                host = {NULL, NULL, hblocks, hw, hsignal, 0}, ping = {"ping", ctx, blocks, w, signal, 0};
    struct bench_case local[] = {
        {"kernel_put", "device", "put", BENCH_GB_PER_S, BLOCK_BYTES, WINDOW * WINDOWS, loop_stream, &kernel, 0, {0}},
        {"put", "device", NULL, BENCH_GB_PER_S, BLOCK_BYTES, WINDOW * WINDOWS, loop_stream, &device, 0, {0}},
        {"put", "heap", NULL, BENCH_GB_PER_S, BLOCK_BYTES, WINDOW * WINDOWS, loop_stream, &host, 0, {0}},
    };
    struct bench_case joint[] = {
        {"kernel_put_signal", "device", "put_signal", BENCH_US, 8, 2 * TRIPS, loop_ping, &ping, 0, {0}},
        {"put_signal", "heap", NULL, BENCH_US, 8, 2 * TRIPS, loop_ping, &host, 0, {0}},
    };

    if (shmem_my_pe() == 0)
        bench_local(local, 3);
    shmem_barrier_all();
    bench_joint(joint, 2);
    shmem_finalize();
    return 0;
}
