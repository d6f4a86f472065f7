/*
 * program.cu - CUDA C++ of one source, for program.sh: what ordinary programs use of the runtime API, and Fulmar's device library in
 * kernels that are launched with <<<>>>. Each check prints one line when it fails.
 */
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda_runtime.h>
#include <shmem.h>
#include <shmemx.h>
#include <shmemx_cuda.h>
#include <shmemg.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "program.h"

static int failed;
#define CHECK(x) ((x) ? (void)0 : (void)(failed++, fprintf(stderr, "program.cu:%d: %s\n", __LINE__, #x)))
#define GOOD(call) CHECK((call) == cudaSuccess)

__device__ int scale = 2;
__constant__ int offsets[2] = {1, 2};

template <typename T> __global__ void affine(T *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = p[i] * scale + offsets[i % 2];
}

__global__ void slow(int *p, int rounds)
{
    int v = 0;
    for (int i = 0; i < rounds; i++)
        v = v * 3 + i;
    *p = v ? 1 : 2;
}

__global__ void add_one(int *p)
{
    *p += 100;
}

__global__ void grid_sum(int *parts, int *sum)
{
    cooperative_groups::grid_group grid = cooperative_groups::this_grid();
    extern __shared__ int mine[];
    mine[threadIdx.x] = threadIdx.x + blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        parts[blockIdx.x] = 0;
        for (unsigned i = 0; i < blockDim.x; i++)
            parts[blockIdx.x] += mine[i];
    }
    grid.sync();
    if (grid.thread_rank() == 0) {
        *sum = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            *sum += parts[i];
    }
}

static void CUDART_CB note(cudaStream_t, cudaError_t state, void *seen)
{
    *(int *)seen = state == cudaSuccess ? 7 : -1;
}

#if CUDA_VERSION >= 13000
#define NEW_CONTEXT(c, device) cuCtxCreate(c, NULL, 0, device)
#else
#define NEW_CONTEXT(c, device) cuCtxCreate(c, 0, device)
#endif

/* Catches: a fill of a rectangle that goes beyond it, a callback that comes before the copy, a context that is not current, or stays so. */
static void more_calls()
{
    enum { WIDTH = 6, HEIGHT = 4, PITCH = 16, BYTES = PITCH * HEIGHT };
    unsigned char h[BYTES], *d, *e;
    int seen = 0, value = -1, right = 1;
    cudaStream_t s;
    CUcontext c, now = NULL;
    CUdevice device;
    GOOD(cudaMalloc(&d, BYTES));
    GOOD(cudaMalloc(&e, BYTES));
    GOOD(cudaStreamCreate(&s));
    GOOD(cudaMemset(d, 1, BYTES));
    GOOD(cudaMemset2D(d, PITCH, 9, WIDTH, HEIGHT));
    GOOD(cudaMemcpyPeer(e, 0, d, 0, BYTES));
    GOOD(cudaMemcpy(h, e, BYTES, cudaMemcpyDefault));
    for (int i = 0; i < BYTES; i++)
        right &= h[i] == (i % PITCH < WIDTH ? 9 : 1);
    CHECK(right);
    GOOD(cudaMemset2DAsync(d + PITCH, PITCH, 5, WIDTH, 1, s));
    GOOD(cudaMemcpyPeerAsync(e, 0, d, 0, BYTES, s));
    GOOD(cudaStreamAddCallback(s, note, &seen, 0));
    CHECK(cudaStreamAddCallback(s, note, &seen, 1) == cudaErrorInvalidValue);
    GOOD(cudaStreamSynchronize(s));
    GOOD(cudaMemcpy(h, e, BYTES, cudaMemcpyDefault));
    CHECK(seen == 7 && h[PITCH] == 5 && h[PITCH + WIDTH] == 1 && h[2 * PITCH] == 9);
    GOOD(cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
    CHECK(value == 0);
    CHECK(!cuDeviceGet(&device, 0) && !NEW_CONTEXT(&c, device) && !cuCtxGetCurrent(&now) && now == c);
    CHECK(!cuCtxDestroy(c));
    GOOD(cudaGetDevice(&value));
    GOOD(cudaStreamDestroy(s));
    GOOD(cudaFree(d));
    GOOD(cudaFree(e));
    cudaGetLastError(); /* the refused callback */
}

static void memory()
{
    enum { N = 1000 };
    std::vector<double> h(N);
    double *d;
    for (int i = 0; i < N; i++)
        h[i] = i;
    GOOD(cudaMalloc(&d, N * sizeof *d));
    GOOD(cudaMemcpy(d, h.data(), N * sizeof *d, cudaMemcpyHostToDevice));
    int three = 3, back[2] = {}, changed[2] = {10, 20};
    GOOD(cudaMemcpyToSymbol(scale, &three, sizeof three));
    GOOD(cudaMemcpyFromSymbol(back, offsets, sizeof back));
    CHECK(back[0] == 1 && back[1] == 2);
    GOOD(cudaMemcpyToSymbol(offsets, changed, sizeof changed));
    affine<<<(N + 127) / 128, 128>>>(d, N);
    GOOD(cudaGetLastError());
    GOOD(cudaMemcpy(h.data(), d, N * sizeof *d, cudaMemcpyDefault));
    bool right = true;
    for (int i = 0; i < N; i++)
        right = right && h[i] == i * 3 + (i % 2 ? 20 : 10);
    CHECK(right);
    float *f = (float *)d, one = 1;
    GOOD(cudaMemset(d, 0, 8));
    GOOD(cudaMemcpy(f, &one, 4, cudaMemcpyHostToDevice));
    affine<float><<<1, 2>>>(f, 2);
    float g[2];
    GOOD(cudaMemcpy(g, f, 8, cudaMemcpyDeviceToHost));
    CHECK(g[0] == 13 && g[1] == 20);
    cudaPointerAttributes a;
    GOOD(cudaPointerGetAttributes(&a, d));
    CHECK(a.type == cudaMemoryTypeDevice);
    GOOD(cudaFree(d));
}

__managed__ int counter = 5;
static __managed__ float table[3] = {1, 2, 3};

__global__ void change_managed()
{
    counter += 1;
    table[1] *= 4;
}

#if CUDART_VERSION >= 13000
static cudaMemLocation place(int device)
{
    cudaMemLocation l = {device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice, device};
    return l;
}
#define PREFETCH(p, bytes, device) cudaMemPrefetchAsync(p, bytes, place(device), 0, 0)
#define ADVISE(p, bytes, advice, device) cudaMemAdvise(p, bytes, advice, place(device))
#else
#define PREFETCH(p, bytes, device) cudaMemPrefetchAsync(p, bytes, device, 0)
#define ADVISE cudaMemAdvise
#endif

/* Catches: a managed variable that host and kernels do not share, from its initial value on, or that the runtime does not know by its
 * address; hints that are not checked; figures that do not come from the driver. */
static void managed()
{
    int *d, *m, three = 3, back = 0;
    size_t left = 0, all = 0, bytes = 0;
    cudaPointerAttributes a;
    CHECK(counter == 5 && table[2] == 3);
    counter = 7;
    change_managed<<<1, 1>>>();
    GOOD(cudaDeviceSynchronize());
    CHECK(counter == 8 && table[1] == 8 && table[0] == 1);
    GOOD(cudaMemcpyToSymbol(counter, &three, sizeof three));
    GOOD(cudaGetSymbolSize(&bytes, table));
    CHECK(counter == 3 && bytes == sizeof table);
    GOOD(cudaPointerGetAttributes(&a, &table[1]));
    CHECK(a.type == cudaMemoryTypeManaged && a.hostPointer == &table[1]);
    GOOD(cudaMallocManaged(&m, 4096));
    GOOD(cudaMalloc(&d, 4096));
    *m = 1;
    add_one<<<1, 1>>>(m);
    GOOD(PREFETCH(m, 4096, -1));
    GOOD(cudaDeviceSynchronize());
    CHECK(*m == 101);
    GOOD(PREFETCH(m, 4096, 0));
    GOOD(ADVISE(m, 4096, cudaMemAdviseSetPreferredLocation, 0));
    CHECK(PREFETCH(d, 4096, 0) == cudaErrorInvalidValue && PREFETCH(m, 4096, 1000) == cudaErrorInvalidDevice);
    CHECK(ADVISE(d, 4096, cudaMemAdviseSetReadMostly, 0) == cudaErrorInvalidValue);
    GOOD(cudaPointerGetAttributes(&a, m));
    CHECK(a.type == cudaMemoryTypeManaged);
    GOOD(cudaMemcpy(&back, m, sizeof back, cudaMemcpyDefault));
    CHECK(back == 101);
    GOOD(cudaPointerGetAttributes(&a, d));
    CHECK(a.type == cudaMemoryTypeDevice && a.device == 0 && !a.hostPointer);
    GOOD(cudaPointerGetAttributes(&a, &back));
    CHECK(a.type == cudaMemoryTypeUnregistered);
    GOOD(cudaFree(m));
    GOOD(cudaFree(d));
    GOOD(cudaMallocHost(&m, 4096));
    GOOD(cudaPointerGetAttributes(&a, m));
    CHECK(a.type == cudaMemoryTypeHost);
    GOOD(cudaFreeHost(m));
    cudaGetLastError();
    GOOD(cudaMemGetInfo(&left, &all));
    CHECK(left > 0 && left < all && left != all / 2);
}

/* Catches: a default stream that does not wait for others, or they for it; a non-blocking stream that does. */
static void streams()
{
    cudaStream_t s, free_one;
    cudaEvent_t from, to;
    int *d, h = 0;
    float ms = -1;
    GOOD(cudaMalloc(&d, sizeof *d));
    GOOD(cudaStreamCreate(&s));
    GOOD(cudaStreamCreateWithFlags(&free_one, cudaStreamNonBlocking));
    GOOD(cudaEventCreate(&from));
    GOOD(cudaEventCreate(&to));
    GOOD(cudaEventRecord(from, s));
    slow<<<1, 1, 0, s>>>(d, 2000000);
    GOOD(cudaEventRecord(to, s));
    CHECK(cudaStreamQuery(free_one) == cudaSuccess);
    add_one<<<1, 1>>>(d); /* after the stream's kernel */
    GOOD(cudaMemcpyAsync(&h, d, sizeof h, cudaMemcpyDefault, s)); /* after the default stream's */
    GOOD(cudaStreamSynchronize(s));
    CHECK(h == 101);
    GOOD(cudaEventSynchronize(to));
    GOOD(cudaEventElapsedTime(&ms, from, to));
    CHECK(ms > 0 && ms < 60000);
    slow<<<1, 1, 0, s>>>(d, 2000000);
    GOOD(cudaEventRecord(to, s));
    GOOD(cudaStreamWaitEvent(free_one, to, 0));
    add_one<<<1, 1, 0, free_one>>>(d);
    GOOD(cudaMemcpyAsync(&h, d, sizeof h, cudaMemcpyDefault, free_one));
    GOOD(cudaStreamSynchronize(free_one));
    CHECK(h == 101);
    GOOD(cudaStreamDestroy(s));
    GOOD(cudaStreamDestroy(free_one));
    GOOD(cudaEventDestroy(from));
    GOOD(cudaEventDestroy(to));
    GOOD(cudaFree(d));
}

static void launches()
{
    enum { GROUPS = 3, ITEMS = 40 };
    int *d, sum = 0, want = 0, groups = 0;
    GOOD(cudaMalloc(&d, (GROUPS + 1) * sizeof *d));
    int *total = d + GROUPS;
    void *args[] = {&d, &total};
    GOOD(cudaLaunchCooperativeKernel((void *)grid_sum, dim3(GROUPS), dim3(ITEMS), args, ITEMS * sizeof(int), 0));
    GOOD(cudaMemcpy(&sum, total, sizeof sum, cudaMemcpyDefault));
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < ITEMS; i++)
            want += g + i;
    CHECK(sum == want);
    GOOD(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&groups, grid_sum, 512, 0));
    CHECK(groups >= 1 && groups <= 4);
    add_one<<<1, 5000>>>(d);
    CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration && cudaGetLastError() == cudaSuccess);
    CHECK(cudaSetDevice(1000) == cudaErrorInvalidDevice);
    CHECK(!strcmp(cudaGetErrorName(cudaGetLastError()), "cudaErrorInvalidDevice"));
    cudaDeviceProp p;
    GOOD(cudaGetDeviceProperties(&p, 0));
    CHECK(p.warpSize == 32 && p.maxThreadsPerBlock == 1024 && p.totalGlobalMem > 0 && p.name[0]);
    CHECK(from_other_file(d) == 42);
    GOOD(cudaFree(d));
}

/* ---- Fulmar ---------------------------------------------------------------------------------------------------------- */

__global__ void send(uint64_t *word, int to)
{
    shmemg_uint64_atomic_add(word, 7 + shmemg_my_pe(), to);
    shmemg_quiet();
}

static void ring()
{
    int device, me = shmem_my_pe(), n = shmem_n_pes();
    GOOD(cudaGetDevice(&device));
    CHECK(shmemx_cuda_session(device) == 0);
    CHECK(shmemx_cuda_use(device) == 0);
    uint64_t *word = (uint64_t *)shmemg_calloc(1, sizeof *word), got = 0;
    CHECK(shmemx_cuda_use(device) == -16); /* EBUSY */
    cudaStream_t s;
    GOOD(cudaStreamCreate(&s));
    send<<<1, 1, 0, s>>>(word, (me + 1) % n);
    send_from_other_file(word, (me + 1) % n, s);
    GOOD(cudaStreamSynchronize(s));
    CHECK(shmemx_device_sync() == 0);
    shmem_barrier_all();
    GOOD(cudaMemcpy(&got, word, sizeof got, cudaMemcpyDefault));
    CHECK(got == 1000 + 7 + (uint64_t)((me + n - 1) % n));
    GOOD(cudaStreamDestroy(s));
}

int main()
{
    more_calls();
    memory();
    managed();
    streams();
    launches();
    CHECK(wrong_textures() == 0);
    for (int k = 0; k < 2; k++) { /* the modules get the context of each session */
        shmem_init();
        ring();
        shmem_finalize();
    }
    printf("%d failed\n", failed);
    return failed != 0;
}
