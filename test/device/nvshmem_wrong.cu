/*
 * nvshmem_wrong.cu - an NVSHMEM program with the error that its argument names, for nvshmem_wrong.sh: what finds it?
 *
 *   past      a put of one element behind the end of a block; the next block begins there
 *   freed     a put to a block that is free again
 *   flag      data and a flag without a fence between them: its reader takes the flag for the data's arrival
 *   source    the source of a nonblocking put changes before a quiet
 *   dest      the dest of a nonblocking get is read before a quiet
 *   store     a store of the kernel itself behind its memory
 *   local     a put from behind its memory
 *
 * "flag", "source" and "dest" with "right" behind them are without the error. The last line is `N wrong of ROUNDS` at PE 1.
 */
#include <nvshmem.h>
#include <nvshmemx.h>

enum { N = 64, ROUNDS = 10 }; /* N ints: 4 lines, so that a block ends where the next one begins */

__global__ void past(int *data, int at, int peer)
{
    nvshmem_int_p(data + at, 1, peer);
    nvshmem_quiet();
}

__global__ void store(int *own)
{
    own[N * 64] = 1;
}

__global__ void local(int *data, int *own, int peer)
{
    nvshmem_int_put(data, own + N - 8, 16, peer);
}

/* PE 0 puts, PE 1 reads. data: N ints, zero; flag: of this round. */
__global__ void flag(int *data, uint64_t *flag, int right, int *wrong)
{
    if (nvshmem_my_pe() == 0) {
        nvshmem_int_p(data + N - 1, 1, 1);
        if (right)
            nvshmem_fence();
        nvshmem_uint64_p(flag, 1, 1);
    } else {
        nvshmem_uint64_wait_until(flag, NVSHMEM_CMP_EQ, 1);
        *wrong += data[N - 1] != 1;
    }
    nvshmem_barrier_all();
}

__global__ void source(int *data, int *from, int right, int *wrong)
{
    from[0] = from[N - 1] = 1;
    if (nvshmem_my_pe() == 0) {
        nvshmem_int_put_nbi(data, from, N, 1);
        if (right)
            nvshmem_quiet();
        from[0] = from[N - 1] = 2;
    }
    nvshmem_barrier_all();
    *wrong += nvshmem_my_pe() == 1 && (data[0] != 1 || data[N - 1] != 1);
    nvshmem_barrier_all();
}

__global__ void dest(int *data, int *to, int right, int *wrong)
{
    data[N - 1] = 1;
    nvshmem_barrier_all();
    if (nvshmem_my_pe() == 1) {
        nvshmem_int_get_nbi(to, data, N, 0);
        if (right)
            nvshmem_quiet();
        *wrong += *(volatile int *)(to + N - 1) != 1;
    }
    nvshmem_barrier_all();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int right = argc > 2, *own, wrong;
    nvshmem_init();
    cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE));
    int peer = (nvshmem_my_pe() + 1) % nvshmem_n_pes();
    int *data = (int *)nvshmem_calloc(N, sizeof(int)), *next = (int *)nvshmem_calloc(N, sizeof(int));
    uint64_t *flags = (uint64_t *)nvshmem_calloc(ROUNDS, sizeof *flags);
    cudaMalloc(&own, (N + 1) * sizeof(int)); /* own[N]: the count */
    cudaMemset(own, 0, (N + 1) * sizeof(int));
    if (!strcmp(what, "freed"))
        nvshmem_free(next);
    if (!strcmp(what, "past"))
        past<<<1, 1>>>(data, N, peer);
    if (!strcmp(what, "freed"))
        past<<<1, 1>>>(next, 0, peer);
    if (!strcmp(what, "store"))
        store<<<1, 1>>>(own);
    if (!strcmp(what, "local"))
        local<<<1, 1>>>(data, own, peer);
    for (int i = 0; i < ROUNDS; i++) {
        nvshmem_barrier_all();
        cudaMemset(data, 0, N * sizeof(int));
        cudaMemset(next, 0, N * sizeof(int));
        cudaDeviceSynchronize();
        nvshmem_barrier_all();
        if (!strcmp(what, "flag"))
            flag<<<1, 1>>>(data, flags + i, right, own + N);
        if (!strcmp(what, "source"))
            source<<<1, 1>>>(data, next, right, own + N);
        if (!strcmp(what, "dest"))
            dest<<<1, 1>>>(data, next, right, own + N);
        cudaDeviceSynchronize();
    }
    nvshmem_barrier_all();
    cudaError_t e = cudaMemcpy(&wrong, own + N, sizeof wrong, cudaMemcpyDeviceToHost);
    if (nvshmem_my_pe() == 1)
        printf("%s: %d wrong of %d\n", cudaGetErrorString(e), wrong, ROUNDS);
    nvshmem_finalize();
    return 0;
}
