/* compare.c - Fulmar's side of the comparison with NVSHMEM (compare_nvshmem.cu). usage: oshrun -n 1|2 compare ROUNDS [BYTES] */
#include <shmem.h>
#include <shmemx.h>
#include <stdlib.h>
#include <string.h>

enum { W_P, W_P_QUIET, W_PUT_SIGNAL, W_G, W_FETCH_ADD, W_ADD, W_FENCE, W_QUIET, W_PUT, W_GET }; /* compare.h */
enum { C_SYNC, C_BROADCAST, C_FCOLLECT, C_ALLTOALL, C_SUM };
static uint64_t *w, *from, *signals;
static int peer, first;

static void launch(const char *kernel, int groups, int items, void *const *args, const size_t *bytes, int n)
{
    if (shmemx_launch(kernel, (const size_t[]){(size_t)groups, 1, 1}, (const size_t[]){(size_t)items, 1, 1}, args, bytes, n))
        shmem_global_exit(1); /* the library has printed the reason */
}

static void launch_loop(int what, int groups, int items, uint64_t rounds)
{
    launch("loop", groups, items, (void *[]){&w, &from, &signals, &what, &peer, &rounds}, (const size_t[]){8, 8, 8, 4, 4, 8}, 6);
}

static void launch_bulk(uint64_t words, int groups, int items, int shift, int gets, uint64_t rounds)
{
    launch("bulk", groups, items, (void *[]){&w, &from, &words, &shift, &gets, &peer, &rounds}, (const size_t[]){8, 8, 8, 4, 4, 4, 8}, 7);
}

static void launch_plain(uint64_t words, int groups, int items, uint64_t rounds)
{
    launch("plain", groups, items, (void *[]){&w, &from, &words, &rounds}, (const size_t[]){8, 8, 8, 8}, 4);
}

static void launch_ping(int items, int what, uint64_t words, uint64_t before, uint64_t n)
{
    (void)items, (void)what, (void)words;
    launch("ping", 1, 1, (void *[]){&w, &from, &signals, &before, &n, &first, &peer}, (const size_t[]){8, 8, 8, 8, 8, 4, 4}, 7);
}

static void launch_meet(int items, int what, uint64_t words, uint64_t before, uint64_t n)
{
    (void)before;
    launch("meet", 1, items, (void *[]){&w, &from, &what, &words, &n}, (const size_t[]){8, 8, 4, 8, 8}, 5);
}

static void finish(void)
{
    if (shmemx_device_sync())
        shmem_global_exit(1);
}

static void barrier(void)
{
    shmem_barrier_all();
}

#include "compare_host.h"

int main(int argc, char **argv)
{
    const char *direct = getenv("SHMEM_TEST_DEVICE_DIRECT"), *device = getenv("SHMEM_DEVICE");
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 10000, words = (argc > 2 ? strtoull(argv[2], NULL, 0) : 64 << 20) / 8;
    int quick = !device || strcmp(device, "cuda"); /* a driver on the CPU */
    shmem_init();
    stack = direct && *direct == '0' ? "fulmar-ring" : "fulmar";
    first = shmem_my_pe() == 0;
    w = shmemg_calloc(words, 8), from = shmemg_calloc(words, 8), signals = shmemg_calloc(8, 8);
    if (!w || !from || !signals)
        shmem_global_exit(1);
    if (shmem_n_pes() == 1) {
        one_pe(n, words, quick);
    } else {
        peer = (shmem_my_pe() + 1) % shmem_n_pes();
        two_pes(n, first, quick);
    }
    shmem_finalize();
    return 0;
}
