/*
 * put_signal.c - one-way time of a put with signal between PE 0 and PE 1, 8 B to 1 MiB, and GB/s of windows of puts with
 * signal. Needs OpenSHMEM 1.5.
 *
 * The limit of the 8 B rows is a bare cache-line ping-pong; larger rows have no limit here (see put_get for the copy). The
 * limit of stream_put_signal is the same window without signals, stream_put.
 */
#include "pingpong.h"

#if SHMEM_MAJOR_VERSION == 1 && SHMEM_MINOR_VERSION < 5
#error "needs OpenSHMEM 1.5"
#endif

enum { BYTES_MAX = 1 << 20, BLOCK_BYTES = 64 << 10, WINDOW = BYTES_MAX / BLOCK_BYTES };

static const size_t sizes[] = {8, 64, 512, 4096, 64 << 10, 1 << 20};

static char area[BYTES_MAX] __attribute__((aligned(4096)));
static uint64_t word[PINGPONG_STRIDE] __attribute__((aligned(4096)));

struct signal_pair {
    char *data;
    char *local;
    size_t bytes;
    uint64_t *signal;
    uint64_t turn;
};

static void loop_signal(void *arg, long calls)
{
    struct signal_pair *s = arg;
    int me = shmem_my_pe();

    for (; me < 2 && calls > 0; calls--) {
        s->turn++;
        if (me == 1)
            shmem_signal_wait_until(s->signal, SHMEM_CMP_GE, s->turn);
        shmem_putmem_signal(s->data, s->local, s->bytes, s->signal, s->turn, SHMEM_SIGNAL_SET, 1 - me);
        if (me == 0)
            shmem_signal_wait_until(s->signal, SHMEM_CMP_GE, s->turn);
    }
}

static void loop_stream_put(void *arg, long calls)
{
    struct signal_pair *s = arg;

    while (calls--) {
        for (long i = 0; i < WINDOW; i++)
            shmem_putmem_nbi(s->data + i * BLOCK_BYTES, s->local + i * BLOCK_BYTES, BLOCK_BYTES, 1);
        shmem_quiet();
    }
}

static void loop_stream_put_signal(void *arg, long calls)
{
    struct signal_pair *s = arg;

    while (calls--) {
        for (long i = 0; i < WINDOW; i++)
            shmem_putmem_signal_nbi(s->data + i * BLOCK_BYTES, s->local + i * BLOCK_BYTES, BLOCK_BYTES, s->signal, 1,
                                    SHMEM_SIGNAL_ADD, 1);
        shmem_quiet();
    }
}

int main(void)
{
    bench_init("put_signal", 2);

    char *heap = bench_symmetric(BYTES_MAX + 4096), *local = bench_private(BYTES_MAX);
    uint64_t *signal = (uint64_t *)(heap + BYTES_MAX);
    long *bare = (long *)(signal + PINGPONG_STRIDE);
    int peer = shmem_my_pe() < 2 ? 1 - shmem_my_pe() : 0;
    struct pingpong_bare pair = {bare, shmem_ptr(bare, peer), 0};
    struct signal_pair on_heap = {heap, local, 8, signal, 0}, on_static = {area, local, 8, word, 0};

    memset(area, 1, sizeof area);
    *signal = *word = 0;
    *bare = 0;
    shmem_barrier_all();
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t bytes = sizes[i];
        int with_bare = bytes == 8 && pair.peers;
        const char *limit = with_bare ? "bare_pingpong" : NULL;
        struct bench_case cases[] = {
            {"put_signal", "heap", limit, BENCH_US, bytes, 2, loop_signal, &on_heap, 0, {0}},
            {"put_signal", "static", limit, BENCH_US, bytes, 2, loop_signal, &on_static, 0, {0}},
            {"bare_pingpong", "heap", NULL, BENCH_US, bytes, 2, pingpong_bare_loop, &pair, 0, {0}},
        };

        on_heap.bytes = on_static.bytes = bytes;
        bench_joint(cases, with_bare ? 3 : 2);
    }
    struct bench_case streams[] = {
        {"stream_put", "heap", NULL, BENCH_GB_PER_S, BLOCK_BYTES, WINDOW, loop_stream_put, &on_heap, 0, {0}},
        {"stream_put_signal", "heap", "stream_put", BENCH_GB_PER_S, BLOCK_BYTES, WINDOW, loop_stream_put_signal, &on_heap, 0,
         {0}},
    };
    if (shmem_my_pe() == 0)
        bench_local(streams, 2);
    shmem_barrier_all();
    free(local);
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
