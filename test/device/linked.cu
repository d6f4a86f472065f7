/* linked.cu - CUDA C++ in two files whose device code is linked, for program.sh; with Fulmar's device library in both. */
#include "linked.h"

#include <shmemx_cuda.h>

#include <cstdio>

static int failed;
#define CHECK(x) ((x) ? (void)0 : (void)(failed++, fprintf(stderr, "linked.cu:%d: %s\n", __LINE__, #x)))
#define GOOD(call) CHECK((call) == cudaSuccess)

static __device__ int local = 3; /* linked_other.cu has another */
__device__ __constant__ int more[2] = {100, 200};
__device__ int *pointer = &counter;
enum { N = 32 };

static __device__ __noinline__ int mine(int i)
{
    return i + local;
}

__global__ void all(int *out, double *d)
{
    __shared__ int part[N];
    unsigned i = threadIdx.x;
    pair p = both(pair{(int)i, 0.5}, more);
    part[i] = mine((int)i) + (int)weights[i % 4];
    __syncthreads();
    out[i] = part[(i + 1) % N] + sum<int, 2>(more) + p.a + *pointer;
    d[i] = twice(p.b) + (double)sum<float, 4>(weights);
}

__global__ void send(uint64_t *word, int to)
{
    send_from(word, 7, to);
    shmemg_uint64_atomic_add(word, 100, to);
    shmemg_quiet();
}

static void results()
{
    int *out, h[N], five = 5;
    double *d, g[N];
    GOOD(cudaMalloc(&out, sizeof h));
    GOOD(cudaMalloc(&d, sizeof g));
    GOOD(cudaMemcpyToSymbol(local, &five, sizeof five));
    GOOD(cudaMemcpyToSymbol(counter, &five, sizeof five));
    all<<<1, N>>>(out, d);
    GOOD(cudaMemcpy(h, out, sizeof h, cudaMemcpyDefault));
    GOOD(cudaMemcpy(g, d, sizeof g, cudaMemcpyDefault));
    for (int i = 0; i < N; i++) {
        int j = (i + 1) % N;
        CHECK(h[i] == j + 5 + (j % 4 + 1) + 300 + (i + 200) + 5);
        CHECK(g[i] == 2 * (0.5 + i) + 10);
    }
    fill<int><<<1, 1>>>(out, 40);
    fill<float><<<1, 1>>>((float *)out + 1, 40);
    GOOD(cudaMemcpy(h, out, sizeof h, cudaMemcpyDefault));
    CHECK(h[0] == 46 && *(float *)&h[1] == 47);
    CHECK(other_file(out) == 7 * 10 + 8);
    GOOD(cudaMemcpyFromSymbol(&five, counter, sizeof five));
    CHECK(five == 8);
    GOOD(cudaFree(out));
    GOOD(cudaFree(d));
}

static void ring()
{
    int device, me = shmem_my_pe(), n = shmem_n_pes();
    GOOD(cudaGetDevice(&device));
    CHECK(shmemx_cuda_use(device) == 0);
    uint64_t *word = (uint64_t *)shmemg_calloc(1, sizeof *word), got = 0;
    send<<<1, 1>>>(word, (me + 1) % n);
    GOOD(cudaDeviceSynchronize());
    CHECK(shmemx_device_sync() == 0);
    shmem_barrier_all();
    GOOD(cudaMemcpy(&got, word, sizeof got, cudaMemcpyDefault));
    CHECK(got == 107);
}

/* Managed variables of both files: the host and kernels of both see each other's values. */
__managed__ int here[3] = {1, 2, 3};

__global__ void add_managed()
{
    here[threadIdx.x] += there;
}

static void managed()
{
    CHECK(here[2] == 3 && there == 20);
    there = 50;
    add_managed<<<1, 3>>>();
    GOOD(cudaDeviceSynchronize());
    CHECK(here[0] == 51 && here[2] == 53);
    other_file_adds();
    CHECK(there == 51 && here[1] == 52);
}

#if CUDART_VERSION >= 13000
/* A loop in a graph, whose body counts until the host's number. */
__global__ void count(int *n, int until, cudaGraphConditionalHandle more)
{
    cudaGraphSetConditional(more, ++*n < until);
}

static void loop()
{
    cudaGraph_t g;
    cudaGraphExec_t exec;
    cudaGraphNode_t node;
    cudaGraphConditionalHandle more;
    int *n, until = 6;
    GOOD(cudaMallocManaged(&n, sizeof *n));
    GOOD(cudaGraphCreate(&g, 0));
    GOOD(cudaGraphConditionalHandleCreate(&more, g, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams p = {cudaGraphNodeTypeConditional};
    p.conditional.handle = more, p.conditional.type = cudaGraphCondTypeWhile, p.conditional.size = 1;
    GOOD(cudaGraphAddNode(&node, g, NULL, NULL, 0, &p));
    void *args[] = {&n, &until, &more};
    cudaGraphNodeParams k = {cudaGraphNodeTypeKernel};
    k.kernel.func = (void *)count, k.kernel.gridDim = k.kernel.blockDim = dim3(1), k.kernel.kernelParams = args;
    GOOD(cudaGraphAddNode(&node, p.conditional.phGraph_out[0], NULL, NULL, 0, &k));
    GOOD(cudaGraphInstantiate(&exec, g, 0));
    for (int launches = 0; launches < 2; launches++) {
        *n = 0;
        GOOD(cudaGraphLaunch(exec, 0));
        GOOD(cudaDeviceSynchronize());
        CHECK(*n == until);
    }
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaGraphDestroy(g));
    GOOD(cudaFree(n));
}
#else
static void loop()
{
}
#endif

int main()
{
    results();
    managed();
    loop();
    for (int k = 0; k < 2; k++) {
        shmem_init();
        ring();
        shmem_finalize();
    }
    printf("linked: %d failed\n", failed);
    return failed != 0;
}
