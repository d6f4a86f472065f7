/*
 * runtime.cc - the calls of the CUDA runtime API that well-known benchmarks make, on libcuda_cpu.so: for tests of others' programs
 * (others.sh), which nvcc -cudart none links with it. It is not a run time for users: one device, the default stream is one stream
 * among others, and times are those of the host.
 *
 * LIBCUDA_CPU is the path of libcuda_cpu.so. A call that fails prints one line.
 */
#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#undef cuMemAlloc
#undef cuMemFree
#undef cuModuleGetGlobal

namespace {

void *find(const char *name)
{
    static CUresult (*get)(const char *, void **, int, uint64_t, int *);
    void *at = nullptr, *so = get ? nullptr : dlopen(getenv("LIBCUDA_CPU"), RTLD_NOW);
    if (so)
        get = reinterpret_cast<decltype(get)>(dlsym(so, "cuGetProcAddress_v2"));
    if (!get || get(name, &at, 12040, 0, nullptr) || !at) {
        fprintf(stderr, "runtime.cc: no %s in LIBCUDA_CPU\n", name);
        exit(99);
    }
    return at;
}

/* D(name, parameter types)(arguments) calls the driver; the first call makes the primary context current. */
#define D(name, ...) reinterpret_cast<CUresult (*)(__VA_ARGS__)>(driver(name))
void *driver(const char *name)
{
    static bool up;
    if (!up) {
        CUcontext c;
        up = true;
        D("cuInit", unsigned)(0);
        D("cuDevicePrimaryCtxRetain", CUcontext *, CUdevice)(&c, 0);
        D("cuCtxPushCurrent", CUcontext)(c);
    }
    return find(name);
}

cudaError_t last;
cudaError_t result(CUresult r, const char *what)
{
    if (r && r != CUDA_ERROR_NOT_READY) {
        fprintf(stderr, "runtime.cc: %s failed with %d\n", what, static_cast<int>(r));
        last = static_cast<cudaError_t>(r);
    }
    return static_cast<cudaError_t>(r);
}

struct image {
    const void *data;
    CUmodule module;
    bool loaded;
};
struct symbol {
    image *of;
    std::string name;
};
std::map<const void *, symbol> &symbols()
{
    static std::map<const void *, symbol> all;
    return all;
}

CUmodule module_of(image *i)
{
    if (!i->loaded && result(D("cuModuleLoadData", CUmodule *, const void *)(&i->module, i->data), "cuModuleLoadData"))
        exit(98); /* the driver has named the instruction */
    i->loaded = true;
    return i->module;
}

CUfunction function_of(const void *host)
{
    const symbol &s = symbols()[host];
    CUfunction f = nullptr;
    if (result(D("cuModuleGetFunction", CUfunction *, CUmodule, const char *)(&f, module_of(s.of), s.name.c_str()), s.name.c_str()))
        exit(97);
    return f;
}

struct configuration {
    dim3 grid, block;
    size_t shared;
    void *stream;
} pushed[8];
int n_pushed;

struct timer {
    CUevent event;
    std::chrono::steady_clock::time_point at;
};

} // namespace

extern "C" {

void **__cudaRegisterFatBinary(void *wrapper)
{
    return reinterpret_cast<void **>(new image{static_cast<void **>(wrapper)[1], nullptr, false});
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
char __cudaInitModule(void **) { return 1; }
void __cudaRegisterFunction(void **h, const char *host, char *, const char *name, int, uint3 *, uint3 *, dim3 *, dim3 *, int *)
{
    symbols()[host] = {reinterpret_cast<image *>(h), name};
}
void __cudaRegisterVar(void **h, char *host, char *, const char *name, int, size_t, int, int)
{
    symbols()[host] = {reinterpret_cast<image *>(h), name};
}
void __cudaRegisterManagedVar(void **, void **, char *, const char *name, int, size_t, int, int)
{
    fprintf(stderr, "runtime.cc: the managed variable %s is not supported\n", name);
    exit(96);
}
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, void *stream)
{
    pushed[n_pushed++] = {grid, block, shared, stream};
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    const configuration &c = pushed[--n_pushed];
    *grid = c.grid, *block = c.block, *shared = c.shared, *static_cast<void **>(stream) = c.stream;
    return cudaSuccess;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

cudaError_t cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **args, size_t shared, cudaStream_t s)
{
    return result(D("cuLaunchKernel", CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **)(
                      function_of(f), g.x, g.y, g.z, b.x, b.y, b.z, static_cast<unsigned>(shared), s, args, nullptr), "cuLaunchKernel");
}
cudaError_t cudaLaunchCooperativeKernel(const void *f, dim3 g, dim3 b, void **args, size_t shared, cudaStream_t s)
{
    return result(D("cuLaunchCooperativeKernel", CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **)(
                      function_of(f), g.x, g.y, g.z, b.x, b.y, b.z, static_cast<unsigned>(shared), s, args), "cuLaunchCooperativeKernel");
}
cudaError_t __cudaGetKernel(cudaKernel_t *k, const void *f)
{
    *k = reinterpret_cast<cudaKernel_t>(const_cast<void *>(f));
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t k, dim3 g, dim3 b, void **args, size_t shared, cudaStream_t s)
{
    return cudaLaunchKernel(reinterpret_cast<const void *>(k), g, b, args, shared, s);
}
cudaError_t cudaFuncSetAttribute(const void *, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaFuncSetCacheConfig(const void *, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *a, const void *f)
{
    int threads = 0, shared = 0;
    D("cuFuncGetAttribute", int *, int, CUfunction)(&threads, 0, function_of(f));
    D("cuFuncGetAttribute", int *, int, CUfunction)(&shared, 1, function_of(f));
    *a = {};
    a->maxThreadsPerBlock = threads;
    a->sharedSizeBytes = static_cast<size_t>(shared);
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *, int, size_t, unsigned)
{
    *n = 4;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *f, int items, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, f, items, shared, 0);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

cudaError_t cudaDeviceSynchronize() { return result(D("cuCtxSynchronize", void)(), "cuCtxSynchronize"); }
cudaError_t cudaMalloc(void **p, size_t n)
{
    return result(D("cuMemAlloc", CUdeviceptr *, size_t)(reinterpret_cast<CUdeviceptr *>(p), n ? n : 1), "cuMemAlloc");
}
cudaError_t cudaFree(void *p)
{
    return p ? result(D("cuMemFree", CUdeviceptr)(reinterpret_cast<CUdeviceptr>(p)), "cuMemFree") : cudaSuccess;
}
cudaError_t cudaHostAlloc(void **p, size_t n, unsigned)
{
    return result(D("cuMemHostAlloc", void **, size_t, unsigned)(p, n, 3), "cuMemHostAlloc");
}
cudaError_t cudaMallocHost(void **p, size_t n) { return cudaHostAlloc(p, n, 0); }
cudaError_t cudaMallocManaged(void **p, size_t n, unsigned) { return cudaHostAlloc(p, n, 0); }
cudaError_t cudaFreeHost(void *p) { return result(D("cuMemFreeHost", void *)(p), "cuMemFreeHost"); }
cudaError_t cudaHostGetDevicePointer(void **d, void *h, unsigned)
{
    *d = h;
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, cudaMemcpyKind, cudaStream_t s)
{
    return result(D("cuMemcpyAsync", CUdeviceptr, CUdeviceptr, size_t, void *)(
                      reinterpret_cast<CUdeviceptr>(to), reinterpret_cast<CUdeviceptr>(from), n, s), "cuMemcpyAsync");
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t n, cudaMemcpyKind kind)
{
    cudaError_t e = cudaDeviceSynchronize();
    e = e ? e : cudaMemcpyAsync(to, from, n, kind, nullptr);
    return e ? e : cudaDeviceSynchronize();
}
cudaError_t cudaMemcpy2D(void *to, size_t pitch, const void *from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind kind)
{
    cudaError_t e = cudaSuccess;
    for (size_t i = 0; !e && i < height; i++)
        e = cudaMemcpy(static_cast<char *>(to) + i * pitch, static_cast<const char *>(from) + i * from_pitch, width, kind);
    return e;
}
cudaError_t cudaMemsetAsync(void *p, int v, size_t n, cudaStream_t s)
{
    return result(D("cuMemsetD8Async", CUdeviceptr, unsigned char, size_t, void *)(
                      reinterpret_cast<CUdeviceptr>(p), static_cast<unsigned char>(v), n, s), "cuMemsetD8Async");
}
cudaError_t cudaMemset(void *p, int v, size_t n)
{
    cudaError_t e = cudaDeviceSynchronize();
    e = e ? e : cudaMemsetAsync(p, v, n, nullptr);
    return e ? e : cudaDeviceSynchronize();
}
cudaError_t cudaGetSymbolAddress(void **p, const void *host)
{
    const symbol &s = symbols()[host];
    size_t n;
    return result(D("cuModuleGetGlobal", CUdeviceptr *, size_t *, CUmodule, const char *)(
                      reinterpret_cast<CUdeviceptr *>(p), &n, module_of(s.of), s.name.c_str()), s.name.c_str());
}
cudaError_t cudaMemcpyToSymbol(const void *host, const void *from, size_t n, size_t at, cudaMemcpyKind kind)
{
    void *p = nullptr;
    cudaError_t e = cudaGetSymbolAddress(&p, host);
    return e ? e : cudaMemcpy(static_cast<char *>(p) + at, from, n, kind);
}
cudaError_t cudaMemcpyFromSymbol(void *to, const void *host, size_t n, size_t at, cudaMemcpyKind kind)
{
    void *p = nullptr;
    cudaError_t e = cudaGetSymbolAddress(&p, host);
    return e ? e : cudaMemcpy(to, static_cast<char *>(p) + at, n, kind);
}
cudaError_t cudaMemGetInfo(size_t *left, size_t *all)
{
    *left = *all = 1ull << 32;
    return cudaSuccess;
}

/* ---- devices, errors -------------------------------------------------------------------------------------------- */

cudaError_t cudaGetLastError()
{
    cudaError_t e = last;
    last = cudaSuccess;
    return e;
}
cudaError_t cudaPeekAtLastError() { return last; }
const char *cudaGetErrorName(cudaError_t e)
{
    static char text[40];
    snprintf(text, sizeof text, "error %d", static_cast<int>(e));
    return text;
}
const char *cudaGetErrorString(cudaError_t e) { return cudaGetErrorName(e); }
cudaError_t cudaGetDeviceCount(int *n)
{
    *n = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *d)
{
    *d = 0;
    return cudaSuccess;
}
cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceReset() { return cudaSuccess; }
cudaError_t cudaDriverGetVersion(int *v)
{
    *v = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *v) { return cudaDriverGetVersion(v); }
cudaError_t cudaDeviceGetAttribute(int *v, cudaDeviceAttr a, int)
{
    return result(D("cuDeviceGetAttribute", int *, int, int)(v, static_cast<int>(a), 0), "cuDeviceGetAttribute");
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int)
{
    memset(p, 0, sizeof *p);
    strcpy(p->name, "libcuda_cpu.so");
    p->warpSize = 32, p->major = 9, p->multiProcessorCount = 4, p->totalGlobalMem = 1ull << 32, p->totalConstMem = 65536;
    p->sharedMemPerBlock = 49152, p->regsPerBlock = 65536, p->maxThreadsPerBlock = 1024, p->maxThreadsPerMultiProcessor = 2048;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 1 << 30, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->cooperativeLaunch = p->managedMemory = p->canMapHostMemory = p->unifiedAddressing = 1;
    return cudaSuccess;
}

/* ---- streams, events -------------------------------------------------------------------------------------------- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned)
{
    return result(D("cuStreamCreate", void **, unsigned)(reinterpret_cast<void **>(s), 1), "cuStreamCreate");
}
cudaError_t cudaStreamCreate(cudaStream_t *s) { return cudaStreamCreateWithFlags(s, 0); }
cudaError_t cudaStreamSynchronize(cudaStream_t s) { return result(D("cuStreamSynchronize", void *)(s), "cuStreamSynchronize"); }
cudaError_t cudaStreamDestroy(cudaStream_t s) { return result(D("cuStreamDestroy", void *)(s), "cuStreamDestroy"); }
cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned)
{
    return result(D("cuStreamWaitEvent", void *, void *, unsigned)(s, reinterpret_cast<timer *>(e)->event, 0), "cuStreamWaitEvent");
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned)
{
    timer *t = new timer{};
    *e = reinterpret_cast<cudaEvent_t>(t);
    return result(D("cuEventCreate", CUevent *, unsigned)(&t->event, 0), "cuEventCreate");
}
cudaError_t cudaEventCreate(cudaEvent_t *e) { return cudaEventCreateWithFlags(e, 0); }
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
    timer *t = reinterpret_cast<timer *>(e);
    t->at = std::chrono::steady_clock::now();
    return result(D("cuEventRecord", CUevent, void *)(t->event, s), "cuEventRecord");
}
cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    timer *t = reinterpret_cast<timer *>(e);
    cudaError_t r = result(D("cuEventSynchronize", CUevent)(t->event), "cuEventSynchronize");
    t->at = std::chrono::steady_clock::now();
    return r;
}
cudaError_t cudaEventQuery(cudaEvent_t e) { return result(D("cuEventQuery", CUevent)(reinterpret_cast<timer *>(e)->event), "cuEventQuery"); }
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    *ms = std::chrono::duration<float, std::milli>(reinterpret_cast<timer *>(to)->at - reinterpret_cast<timer *>(from)->at).count();
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) { return result(D("cuEventDestroy", CUevent)(reinterpret_cast<timer *>(e)->event), "cuEventDestroy"); }

/* Removed from CUDA 13; others.sh declares it for older programs. */
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
} // extern "C"
