/*
 * graphs.cu - CUDA graphs by the calls of the runtime, for program.sh: captured and built, changed, with memory, with Fulmar's device library in a node.
 * The order of random graphs is tested by test/cuda_cpu/graph.c.
 */
#include <cuda_runtime.h>
#include <shmem.h>
#include <shmemx.h>
#include <shmemx_cuda.h>
#include <shmemg.h>

#include <cstdio>
#include <cstring>

static int failed;
#define CHECK(x) ((x) ? (void)0 : (void)(failed++, fprintf(stderr, "graphs.cu:%d: %s\n", __LINE__, #x)))
#define GOOD(call) CHECK((call) == cudaSuccess)

__global__ void axpy(int *y, const int *x, int a)
{
    y[threadIdx.x] += a * x[threadIdx.x];
}

__global__ void scale(int *y, int a)
{
    y[threadIdx.x] *= a;
}

enum { N = 8 };
static int *x, *y, *z;

static void set(int *p, int v)
{
    int h[N];
    for (int &e : h)
        e = v;
    GOOD(cudaMemcpy(p, h, sizeof h, cudaMemcpyDefault));
}

static int get(const int *p)
{
    int h[N];
    GOOD(cudaMemcpy(h, p, sizeof h, cudaMemcpyDefault));
    for (int e : h)
        CHECK(e == h[0]);
    return h[0];
}

/* y = (y + a x) * b, and z = 2 z beside it, then y = y + z. */
static cudaGraph_t capture(cudaStream_t s, cudaStream_t t, int a, int b)
{
    cudaEvent_t fork, join;
    cudaGraph_t g = NULL;
    cudaStreamCaptureStatus status;
    GOOD(cudaEventCreate(&fork));
    GOOD(cudaEventCreate(&join));
    GOOD(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    GOOD(cudaEventRecord(fork, s));
    GOOD(cudaStreamWaitEvent(t, fork, 0));
    GOOD(cudaStreamIsCapturing(t, &status));
    CHECK(status == cudaStreamCaptureStatusActive);
    axpy<<<1, N, 0, s>>>(y, x, a);
    scale<<<1, N, 0, s>>>(y, b);
    scale<<<1, N, 0, t>>>(z, 2);
    GOOD(cudaEventRecord(join, t));
    GOOD(cudaStreamWaitEvent(s, join, 0));
    axpy<<<1, N, 0, s>>>(y, z, 1);
    GOOD(cudaGetLastError());
    GOOD(cudaStreamEndCapture(s, &g));
    GOOD(cudaEventDestroy(fork));
    GOOD(cudaEventDestroy(join));
    return g;
}

static void captured()
{
    cudaStream_t s, t;
    cudaGraphExec_t exec;
    cudaGraphExecUpdateResultInfo info;
    cudaGraphNode_t nodes[4], change = NULL;
    cudaGraphNodeType type;
    cudaKernelNodeParams p;
    size_t n = 4;
    GOOD(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    GOOD(cudaStreamCreateWithFlags(&t, cudaStreamNonBlocking));
    cudaGraph_t g = capture(s, t, 3, 10);
    GOOD(cudaGraphInstantiate(&exec, g, 0));
    set(x, 1), set(y, 2), set(z, 5);
    for (int k = 0; k < 2; k++)
        GOOD(cudaGraphLaunch(exec, s));
    GOOD(cudaStreamSynchronize(s));
    CHECK(get(y) == ((2 + 3) * 10 + 10 + 3) * 10 + 20 && get(z) == 20);
    /* The kernel that multiplies y, by 100 from now on: in the executable graph alone. */
    GOOD(cudaGraphGetNodes(g, nodes, &n));
    CHECK(n == 4);
    for (cudaGraphNode_t node : nodes) {
        GOOD(cudaGraphNodeGetType(node, &type));
        CHECK(type == cudaGraphNodeTypeKernel);
        GOOD(cudaGraphKernelNodeGetParams(node, &p));
        CHECK(p.blockDim.x == N && p.gridDim.x == 1);
        if (p.func == (void *)scale && *(int **)p.kernelParams[0] == y)
            change = node;
    }
    int hundred = 100;
    void *args[] = {&y, &hundred};
    CHECK(change);
    p = cudaKernelNodeParams();
    p.func = (void *)scale, p.gridDim = dim3(1), p.blockDim = dim3(N), p.kernelParams = args;
    GOOD(cudaGraphExecKernelNodeSetParams(exec, change, &p));
    set(y, 2), set(z, 5);
    GOOD(cudaGraphLaunch(exec, s));
    GOOD(cudaStreamSynchronize(s));
    CHECK(get(y) == 510);
    GOOD(cudaGraphDestroy(g));
    /* Captured again, with other arguments. */
    g = capture(s, t, 4, 20);
    GOOD(cudaGraphExecUpdate(exec, g, &info));
    CHECK(info.result == cudaGraphExecUpdateSuccess);
    GOOD(cudaGraphDestroy(g));
    set(y, 2), set(z, 5);
    GOOD(cudaGraphLaunch(exec, s));
    GOOD(cudaStreamSynchronize(s));
    CHECK(get(y) == 130);
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    CHECK(cudaStreamSynchronize(s) == cudaErrorStreamCaptureUnsupported && cudaGetLastError() == cudaErrorStreamCaptureUnsupported);
    CHECK(cudaStreamEndCapture(s, &g) == cudaErrorStreamCaptureInvalidated && cudaGetLastError() == cudaErrorStreamCaptureInvalidated);
    GOOD(cudaStreamDestroy(s));
    GOOD(cudaStreamDestroy(t));
}

static void CUDART_CB add_one(void *p)
{
    ++*(int *)p;
}

static void built()
{
    cudaGraph_t g, outer;
    cudaGraphExec_t exec;
    cudaGraphNode_t fill, copy, kernel, host, empty, record, child, back;
    cudaEvent_t e;
    static int h[N] = {6, 6, 6, 6, 6, 6, 6, 6}, counted, result[N];
    int two = 2;
    void *args[] = {&y, &x, &two};
    cudaMemsetParams m = {y, 0, 9, 4, N, 1};
    cudaKernelNodeParams k = cudaKernelNodeParams();
    cudaHostNodeParams f = {add_one, &counted};
    GOOD(cudaEventCreate(&e));
    GOOD(cudaGraphCreate(&g, 0));
    GOOD(cudaGraphAddMemsetNode(&fill, g, NULL, 0, &m));
    GOOD(cudaGraphAddMemcpyNode1D(&copy, g, NULL, 0, x, h, sizeof h, cudaMemcpyHostToDevice));
    cudaGraphNode_t both[] = {fill, copy};
    k.func = (void *)axpy, k.gridDim = dim3(1), k.blockDim = dim3(N), k.kernelParams = args;
    GOOD(cudaGraphAddEmptyNode(&empty, g, both, 2));
    GOOD(cudaGraphAddKernelNode(&kernel, g, &empty, 1, &k));
    GOOD(cudaGraphAddHostNode(&host, g, &kernel, 1, &f));
    GOOD(cudaGraphAddEventRecordNode(&record, g, &host, 1, e));
    GOOD(cudaGraphCreate(&outer, 0));
    GOOD(cudaGraphAddChildGraphNode(&child, outer, NULL, 0, g));
    cudaMemcpy3DParms c = cudaMemcpy3DParms();
    c.srcPtr = make_cudaPitchedPtr(y, N * 4, N * 4, 1);
    c.dstPtr = make_cudaPitchedPtr(result, N * 4, N * 4, 1);
    c.extent = make_cudaExtent(N * 4, 1, 1);
    c.kind = cudaMemcpyDeviceToHost;
    GOOD(cudaGraphAddMemcpyNode(&back, outer, &child, 1, &c));
    GOOD(cudaGraphInstantiate(&exec, outer, 0));
    GOOD(cudaGraphLaunch(exec, 0));
    GOOD(cudaDeviceSynchronize());
    GOOD(cudaEventQuery(e));
    CHECK(result[0] == 9 + 2 * 6 && result[N - 1] == 21 && counted == 1);
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaGraphDestroy(outer));
    GOOD(cudaGraphDestroy(g));
    GOOD(cudaEventDestroy(e));
}

/* y = 3 in memory that the graph allocates and frees, captured and then built behind it. */
static void memory()
{
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    cudaGraphNode_t alloc, fill, copy, release;
    cudaGraphNodeType type;
    cudaMemPool_t pool;
    int *p, device;
    uint64_t live = 1;
    size_t edges = 0;
    GOOD(cudaGetDevice(&device));
    GOOD(cudaDeviceGetDefaultMemPool(&pool, device));
    GOOD(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &live));
    CHECK(live == 0);
    GOOD(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    GOOD(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    GOOD(cudaMallocAsync(&p, N * 4, s));
    GOOD(cudaMemsetAsync(p, 0, N * 4, s));
    axpy<<<1, N, 0, s>>>(p, x, 3);
    GOOD(cudaMemcpyAsync(y, p, N * 4, cudaMemcpyDeviceToDevice, s));
    GOOD(cudaFreeAsync(p, s));
    GOOD(cudaStreamEndCapture(s, &g));
#if CUDART_VERSION >= 13000
    GOOD(cudaGraphGetEdges(g, NULL, NULL, NULL, &edges));
#else
    GOOD(cudaGraphGetEdges(g, NULL, NULL, &edges));
#endif
    CHECK(edges == 4);
    cudaMemAllocNodeParams a = cudaMemAllocNodeParams();
    a.poolProps.allocType = cudaMemAllocationTypePinned;
    a.poolProps.location.type = cudaMemLocationTypeDevice;
    a.poolProps.location.id = device;
    a.bytesize = N * 4;
    GOOD(cudaGraphAddMemAllocNode(&alloc, g, NULL, 0, &a));
    GOOD(cudaGraphNodeGetType(alloc, &type));
    CHECK(type == cudaGraphNodeTypeMemAlloc && a.dptr && a.dptr != p);
    cudaMemsetParams m = {a.dptr, 0, 7, 4, N, 1};
    GOOD(cudaGraphAddMemsetNode(&fill, g, &alloc, 1, &m));
    GOOD(cudaGraphAddMemcpyNode1D(&copy, g, &fill, 1, z, a.dptr, N * 4, cudaMemcpyDeviceToDevice));
    GOOD(cudaGraphAddMemFreeNode(&release, g, &copy, 1, a.dptr));
    GOOD(cudaGraphInstantiate(&exec, g, 0));
    set(x, 1), set(y, 0), set(z, 0);
    for (int k = 0; k < 2; k++)
        GOOD(cudaGraphLaunch(exec, s));
    GOOD(cudaStreamSynchronize(s));
    CHECK(get(y) == 3 && get(z) == 7);
    GOOD(cudaDeviceGetGraphMemAttribute(device, cudaGraphMemAttrUsedMemCurrent, &live));
    CHECK(live == 0);
    GOOD(cudaDeviceGraphMemTrim(device));
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaGraphDestroy(g));
    GOOD(cudaMallocAsync(&p, N * 4, s));
    GOOD(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &live));
    CHECK(live >= N * 4);
    GOOD(cudaFreeAsync(p, s));
    GOOD(cudaStreamDestroy(s));
}

/* ---- Fulmar ---------------------------------------------------------------------------------------------------------- */

__global__ void send(uint64_t *word, int to)
{
    shmemg_uint64_atomic_add(word, 1, to);
    shmemg_quiet();
}

/* The kernel's module gets its context while the stream is captured. */
static void ring()
{
    int device, me = shmem_my_pe(), n = shmem_n_pes();
    cudaStream_t s;
    cudaGraph_t g;
    cudaGraphExec_t exec;
    GOOD(cudaGetDevice(&device));
    CHECK(shmemx_cuda_use(device) == 0);
    uint64_t *word = (uint64_t *)shmemg_calloc(1, sizeof *word), got = 0;
    GOOD(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    GOOD(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    for (int k = 0; k < 3; k++)
        send<<<1, 1, 0, s>>>(word, (me + 1) % n);
    GOOD(cudaStreamEndCapture(s, &g));
    GOOD(cudaGraphInstantiate(&exec, g, 0));
    for (int k = 0; k < 5; k++)
        GOOD(cudaGraphLaunch(exec, s));
    GOOD(cudaStreamSynchronize(s));
    CHECK(shmemx_device_sync() == 0);
    shmem_barrier_all();
    GOOD(cudaMemcpy(&got, word, sizeof got, cudaMemcpyDefault));
    CHECK(got == 15);
    GOOD(cudaGraphExecDestroy(exec));
    GOOD(cudaGraphDestroy(g));
    GOOD(cudaStreamDestroy(s));
}

int main()
{
    GOOD(cudaMalloc(&x, N * 4));
    GOOD(cudaMalloc(&y, N * 4));
    GOOD(cudaMalloc(&z, N * 4));
    captured();
    built();
    memory();
    shmem_init();
    ring();
    shmem_finalize();
    printf("graphs: %d failed\n", failed);
    return failed != 0;
}
