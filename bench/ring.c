/*
 * ring.c - requests of kernels to the proxy: requests per second, round trip, put with signal beside the host's, GB/s of
 * puts with and without signal. Fulmar only: it needs shmemx.h, and `oshcc ring.c ring.cl`.
 *
 * Everything uses the ring; with SHMEM_TEST_DEVICE_DIRECT=1 the device's loads and stores, and the rows have other names. A
 * batch is a launch of thousands of operations, so that the launch itself takes less than a hundredth of it.
 */
#include "pingpong.h"

#include <shmemx.h>

enum { BLOCK_BYTES = 64 << 10, WINDOW = 16 };
static int ops = 20000, trips = 250, windows = 32; /* of one launch, or more of them */

struct kernel {
    const char *name;
    size_t items;
    void *ctx;
    uint64_t *w, *signal;
    uint64_t turn;
};

static void start(const struct kernel *k, void *const *args, const size_t *bytes, int n)
{
    const size_t one[3] = {1, 1, 1}, items[3] = {k->items, 1, 1};

    if (shmemx_launch(k->name, one, items, args, bytes, n) || shmemx_device_sync())
        shmem_global_exit(2);
}

static void loop_alone(void *arg, long calls)
{
    struct kernel *k = arg;
    uint64_t n = (uint64_t)calls * (uint64_t)ops / k->items;
    int pe = 1;

    start(k, (void *[]){&k->ctx, &k->w, &n, &pe}, (size_t[]){8, 8, 8, 4}, 4);
}

static void loop_ping(void *arg, long calls)
{
    struct kernel *k = arg;
    uint64_t n = (uint64_t)(calls * trips);
    int first = shmem_my_pe() == 0;

    if (shmem_my_pe() < 2)
        start(k, (void *[]){&k->ctx, &k->w, &k->signal, &k->turn, &n, &first}, (size_t[]){8, 8, 8, 8, 8, 4}, 6);
    k->turn += n;
}

/* One work-item puts windows of blocks to PE 1, with signals where there is one. */
static void loop_stream(void *arg, long calls)
{
    struct kernel *k = arg;
    uint64_t n = (uint64_t)(calls * windows), bytes = BLOCK_BYTES, window = WINDOW;

    start(k, (void *[]){&k->ctx, &k->w, &k->signal, &n, &window, &bytes}, (size_t[]){8, 8, 8, 8, 8, 8}, 6);
}

static void loop_host(void *arg, long calls)
{
    struct kernel *k = arg;
    int me = shmem_my_pe();

    for (calls *= trips; me < 2 && calls > 0; calls--) {
        k->turn++;
        if (me == 1)
            shmem_signal_wait_until(k->signal, SHMEM_CMP_GE, k->turn);
        shmem_putmem_signal(k->w, k->w + 1, 8, k->signal, k->turn, SHMEM_SIGNAL_SET, 1 - me);
        if (me == 0)
            shmem_signal_wait_until(k->signal, SHMEM_CMP_GE, k->turn);
    }
}

static void loop_bare(void *arg, long calls)
{
    pingpong_bare_loop(arg, calls * trips);
}

/* An argument divides the operations of a call: a short run, for tests. */
int main(int argc, char **argv)
{
    if (argc > 1 && atoi(argv[1]) > 1)
        ops /= atoi(argv[1]), trips /= atoi(argv[1]), windows = 1;
    setenv("SHMEM_TEST_DEVICE_DIRECT", "0", 0);
    bench_init("ring", 2);

    const char *place = strcmp(getenv("SHMEM_TEST_DEVICE_DIRECT"), "0") ? "direct" : "ring";
    uint64_t *w = shmemg_calloc(128, 8), *dsignal = shmemg_calloc(1, 8), *blocks = shmemg_calloc(WINDOW, BLOCK_BYTES);
    uint64_t *hw = bench_symmetric(4096), *hsignal = shmem_calloc(1, 8);
    long *bare = shmem_calloc(PINGPONG_STRIDE, 8);
    struct pingpong_bare pair = {bare, shmem_ptr(bare, shmem_my_pe() < 2 ? 1 - shmem_my_pe() : 0), 0};
    void *shared = shmemx_device_ctx(), *alone;

    if (!w || !dsignal || !blocks || shmemx_device_ctx_create(SHMEM_TEAM_WORLD, SHMEM_CTX_PRIVATE, &alone))
        shmem_global_exit(2);
    struct kernel many = {"post", 64, shared, w, NULL, 0}, one = {"post", 1, shared, w, NULL, 0},
                  private = {"post", 1, alone, w, NULL, 0}, trip = {"trips", 1, alone, w, NULL, 0},
                  ping = {"ping", 1, alone, w, dsignal, 0}, put = {"stream_put", 1, alone, blocks, dsignal, 0},
                  put_signal = {"stream_put_signal", 1, alone, blocks, dsignal, 0}, host = {NULL, 0, NULL, hw, hsignal, 0};
    struct bench_case local[] = {
        {"device_p_64_items", place, NULL, BENCH_MILLION_PER_S, 8, ops, loop_alone, &many, 0, {0}},
        {"device_p_1_item", place, NULL, BENCH_MILLION_PER_S, 8, ops, loop_alone, &one, 0, {0}},
        {"device_p_private", place, NULL, BENCH_MILLION_PER_S, 8, ops, loop_alone, &private, 0, {0}},
        {"device_g", place, NULL, BENCH_US, 8, ops, loop_alone, &trip, 0, {0}},
        {"device_stream_put", place, NULL, BENCH_GB_PER_S, BLOCK_BYTES, (double)WINDOW * windows, loop_stream, &put, 0, {0}},
        {"device_stream_put_signal", place, "device_stream_put", BENCH_GB_PER_S, BLOCK_BYTES, (double)WINDOW * windows, loop_stream,
         &put_signal, 0, {0}},
    };
    struct bench_case joint[] = {
        {"device_put_signal", place, "bare_pingpong", BENCH_US, 8, 2 * trips, loop_ping, &ping, 0, {0}},
        {"put_signal", "heap", "bare_pingpong", BENCH_US, 8, 2 * trips, loop_host, &host, 0, {0}},
        {"bare_pingpong", "heap", NULL, BENCH_US, 8, 2 * trips, loop_bare, &pair, 0, {0}},
    };

    for (uint64_t i = 64; shmem_my_pe() == 0 && i < 128; i++)
        shmem_uint64_p(w + i, i, 1);
    if (shmem_my_pe() == 0)
        bench_local(local, 6);
    shmem_barrier_all();
    bench_joint(joint, pair.peers ? 3 : 2);
    shmem_finalize();
    return 0;
}
