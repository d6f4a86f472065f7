// compare_nvshmem.cu - NVSHMEM's side of compare.c. usage: compare_nvshmem PE PES FILE ROUNDS [BYTES]; the processes meet by FILE.
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#define KERNEL extern "C" __global__
#define GLOBAL
#define GLOBAL_ID ((uint64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define GROUP blockIdx.x
#define GROUPS gridDim.x
#define ITEMS blockDim.x
#define P nvshmem_uint64_p
#define G nvshmem_uint64_g
#define PUT nvshmem_uint64_put
#define GET nvshmem_uint64_get
#define PUT_GROUP nvshmemx_putmem_block
#define GET_GROUP nvshmemx_getmem_block
#define PUT_SIGNAL nvshmem_uint64_put_signal
#define PUT_SIGNAL_NBI nvshmem_uint64_put_signal_nbi
#define SIGNAL_SET NVSHMEM_SIGNAL_SET
#define FETCH_ADD nvshmem_uint64_atomic_fetch_add
#define ADD nvshmem_uint64_atomic_add
#define FENCE nvshmem_fence
#define QUIET nvshmem_quiet
#define WAIT(s, v) nvshmem_signal_wait_until(s, NVSHMEM_CMP_GE, v)
#define SYNC_ALL_GROUP nvshmemx_sync_all_block
#define BROADCAST_GROUP(d, s, n) nvshmemx_uint64_broadcast_block(NVSHMEM_TEAM_WORLD, d, s, n, 0)
#define FCOLLECT_GROUP(d, s, n) nvshmemx_uint64_fcollect_block(NVSHMEM_TEAM_WORLD, d, s, n)
#define ALLTOALL_GROUP(d, s, n) nvshmemx_uint64_alltoall_block(NVSHMEM_TEAM_WORLD, d, s, n)
#define SUM_GROUP(d, s, n) nvshmemx_uint64_sum_reduce_block(NVSHMEM_TEAM_WORLD, d, s, n)
#include "compare.h"

static uint64_t *w, *from, *signals;
static int peer, first;

static void launch_loop(int what, int groups, int items, uint64_t rounds)
{
    loop<<<groups, items>>>(w, from, signals, what, peer, rounds);
}

static void launch_bulk(uint64_t words, int groups, int items, int shift, int gets, uint64_t rounds)
{
    bulk<<<groups, items>>>(w, from, words, shift, gets, peer, rounds);
}

static void launch_plain(uint64_t words, int groups, int items, uint64_t rounds)
{
    plain<<<groups, items>>>(w, from, words, rounds);
}

static void launch_ping(int items, int what, uint64_t words, uint64_t before, uint64_t n)
{
    (void)items, (void)what, (void)words;
    ping<<<1, 1>>>(w, from, signals, before, n, first, peer);
}

static void launch_meet(int items, int what, uint64_t words, uint64_t before, uint64_t n)
{
    (void)before;
    meet<<<1, items>>>(w, from, what, words, n);
}

static void finish(void)
{
    cudaError_t e = cudaDeviceSynchronize();
    if (e == cudaSuccess)
        return;
    fprintf(stderr, "compare_nvshmem: %s\n", cudaGetErrorString(e));
    exit(1);
}

static void barrier(void)
{
    nvshmem_barrier_all();
}

#include "compare_host.h"

// PE 0 writes the id to the file.
static int start(int me, int n, const char *file)
{
    nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
    nvshmemx_init_attr_t attr = NVSHMEMX_INIT_ATTR_INITIALIZER;
    char part[4096];
    FILE *f;
    snprintf(part, sizeof part, "%s.part", file);
    if (me == 0) {
        nvshmemx_get_uniqueid(&id);
        if (!(f = fopen(part, "wb")) || fwrite(&id, sizeof id, 1, f) != 1 || fclose(f) || rename(part, file))
            return -1;
    } else {
        while (!(f = fopen(file, "rb")))
            usleep(1000);
        if (fread(&id, sizeof id, 1, f) != 1 || fclose(f))
            return -1;
    }
    nvshmemx_set_attr_uniqueid_args(me, n, &id, &attr);
    return nvshmemx_init_attr(NVSHMEMX_INIT_WITH_UNIQUEID, &attr);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    int me = atoi(argv[1]), n_pes = atoi(argv[2]);
    uint64_t n = strtoull(argv[4], NULL, 0), words = (argc > 5 ? strtoull(argv[5], NULL, 0) : 64 << 20) / 8;
    if (cudaSetDevice(0) != cudaSuccess || start(me, n_pes, argv[3])) {
        fprintf(stderr, "compare_nvshmem: NVSHMEM does not start\n");
        return 1;
    }
    stack = "nvshmem";
    first = me == 0;
    peer = n_pes == 1 ? 0 : !me;
    w = (uint64_t *)nvshmem_calloc(words, 8), from = (uint64_t *)nvshmem_calloc(words, 8), signals = (uint64_t *)nvshmem_calloc(8, 8);
    if (!w || !from || !signals)
        return 1;
    if (n_pes == 1)
        one_pe(n, words, 0);
    else
        two_pes(n, first, 0);
    nvshmem_finalize();
    return 0;
}
