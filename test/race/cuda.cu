/*
 * cuda.cu - races of kernels in CUDA C++ of one source, started by <<<>>>, with calls of NVSHMEM. cuda CASE racy|mended; without arguments: the cases.
 */
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <stdio.h>
#include <string.h>

static int *x, me, mended;
static uint64_t *flag;
static cudaStream_t a, b;

__global__ void store(int *at)
{
    *at = 4;
}

__global__ void put(int *at, int pe)
{
    nvshmem_int_p(at, 5, pe);
}

__global__ void put_flag(int *at, uint64_t *sig, int pe, int fenced)
{
    nvshmem_int_p(at, 5, pe);
    if (fenced)
        nvshmem_fence();
    nvshmemx_signal_op(sig, 1, NVSHMEM_SIGNAL_SET, pe);
}

__global__ void wait_flag(int *at, uint64_t *sig)
{
    nvshmem_signal_wait_until(sig, NVSHMEM_CMP_EQ, 1);
    *at += 1;
}

__global__ void put_strided(int *at, const int *from, int pe)
{
    nvshmem_int_iput(at, from, 2, 1, 3, pe);
}

__global__ void broadcast(int *to, const int *from)
{
    nvshmemx_int_broadcast_block(NVSHMEM_TEAM_WORLD, to, from, 2, 0);
}

/* Each PE's source may change after the reduction. */
__global__ void reduce(int *to, int *from)
{
    nvshmem_int_sum_reduce(NVSHMEM_TEAM_WORLD, to, from, 2);
    from[1] = 7;
}

/* Kernels of two streams. */
static void streams(void)
{
    store<<<1, 1, 0, a>>>(x);
    if (mended)
        cudaStreamSynchronize(a);
    store<<<1, 1, 0, b>>>(x);
    cudaDeviceSynchronize();
}

/* A kernel's put, and the store of another PE's kernel. */
static void pes(void)
{
    if (me == 0)
        put<<<1, 1>>>(x, 1);
    cudaDeviceSynchronize();
    if (mended)
        nvshmem_barrier_all();
    if (me == 1)
        store<<<1, 1>>>(x);
    cudaDeviceSynchronize();
}

/* A kernel's flag without a fence. */
static void fence(void)
{
    if (me == 0)
        put_flag<<<1, 1>>>(x, flag, 1, mended);
    else if (me == 1)
        wait_flag<<<1, 1>>>(x, flag);
    cudaDeviceSynchronize();
}

/* A put in a stream, and the store of a kernel in another one of the target. */
static void on_stream(void)
{
    if (me == 0)
        nvshmemx_int_p_on_stream(x, 5, 1, a);
    if (mended)
        nvshmemx_barrier_all_on_stream(a);
    if (me == 1)
        store<<<1, 1, 0, mended ? a : b>>>(x);
    cudaDeviceSynchronize();
}

/* A kernel's store, and the host's put. */
static void host(void)
{
    static int five = 5;
    if (me == 1)
        store<<<1, 1>>>(x);
    cudaDeviceSynchronize();
    if (mended)
        nvshmem_barrier_all();
    if (me == 0)
        nvshmem_int_put(x, &five, 1, 1);
}

/* An element of a strided put, and the store of a kernel of the target. */
static void strided(void)
{
    if (me == 0)
        put_strided<<<1, 1>>>(x, x + 8, 1);
    cudaDeviceSynchronize();
    if (mended)
        nvshmem_barrier_all();
    if (me == 1)
        store<<<1, 1>>>(x + 4);
    cudaDeviceSynchronize();
}

/* A put to what a collective of kernels reads next, and the read of what it has written. */
static void collective(void (*kernel)(int *, int *))
{
    if (me == 1)
        put<<<1, 1>>>(x, 0);
    cudaDeviceSynchronize();
    if (mended)
        nvshmem_barrier_all();
    kernel(x + 8, x);
    store<<<1, 1>>>(x + 8);
    cudaDeviceSynchronize();
}
static void broadcasts(void)
{
    collective([](int *to, int *from) { broadcast<<<1, 4>>>(to, from); });
}
static void reduces(void)
{
    collective([](int *to, int *from) { reduce<<<1, 1>>>(to, from); });
}

static const struct {
    const char *name;
    void (*run)(void);
} program[] = {{"streams", streams}, {"pes", pes}, {"fence", fence}, {"on_stream", on_stream}, {"host", host},
             {"strided", strided}, {"broadcasts", broadcasts}, {"reduces", reduces}};

int main(int argc, char **argv)
{
    for (const auto &p : program)
        if (argc < 3)
            puts(p.name);
    if (argc < 3)
        return 0;
    mended = strcmp(argv[2], "mended") == 0;
    nvshmem_init();
    me = nvshmem_my_pe();
    x = (int *)nvshmem_calloc(16, sizeof *x), flag = (uint64_t *)nvshmem_calloc(1, sizeof *flag);
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    nvshmem_barrier_all();
    for (const auto &p : program)
        if (strcmp(p.name, argv[1]) == 0)
            p.run();
    nvshmem_barrier_all();
    nvshmem_finalize();
    return 0;
}
