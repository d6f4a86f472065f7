/*
 * launch.c - modules and kernels: what the code that nvcc generates registers before main, and launches.
 *
 * A module is loaded in a device at its first use there. When the device symmetric heap is up, it gets the default context before the
 * next launch.
 */
#include "runtime.h"

#include <pthread.h>
#include <shmemx_cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What nvcc's code calls. */
void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **image);
void __cudaUnregisterFatBinary(void **image);
char __cudaInitModule(void **image);
void __cudaRegisterFunction(void **image, const char *host, char *device, const char *name, int threads, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **image, char *host, char *device, const char *name, int, size_t, int, int);
void __cudaRegisterManagedVar(void **image, void **host, char *device, const char *name, int, size_t, int, int);
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream);

/* The structure of nvcc's __fatDeviceText. Version 2: of a program that is linked for the device; parts end with NULL. */
struct wrapper {
    int magic, version;
    const void *data;
    const void *const *parts;
};

struct image {
    const struct wrapper *of;
    CUmodule module[RT_DEVICES];
    CUresult failed[RT_DEVICES]; /* why it has none */
    int entered; /* the session of Fulmar (shmemx_cuda_session) in which the module has its context */
    struct image *next;
};

struct symbol {
    const void *host;
    void **managed; /* where the program keeps the variable's address; NULL: not a managed one */
    const char *name;
    struct image *image;
    CUfunction function[RT_DEVICES];
    struct symbol *next;
};

enum { BUCKETS = 1024 };
static struct image *images;
static struct symbol *symbols[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all above, from main on */

static void *need(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (!p) {
        fprintf(stderr, "fulmar cudart: out of memory\n");
        abort();
    }
    return p;
}

void **__cudaRegisterFatBinary(void *wrapper)
{
    struct image *i = need(sizeof *i);
    i->of = wrapper;
    i->next = images;
    images = i;
    return (void **)i;
}

void __cudaRegisterFatBinaryEnd(void **image)
{
    (void)image;
}

/* The driver may be down already. */
void __cudaUnregisterFatBinary(void **image)
{
    (void)image;
}

static struct symbol **bucket(const void *host)
{
    return &symbols[(size_t)host / 4 % BUCKETS];
}

static struct symbol *enter(void **image, const void *host, const char *name)
{
    struct symbol *s = need(sizeof *s), **b = bucket(host);
    s->host = host;
    s->name = name;
    s->image = (struct image *)image;
    s->next = *b;
    *b = s;
    return s;
}

void __cudaRegisterFunction(void **image, const char *host, char *device, const char *name, int threads, void *a, void *b, void *c,
                            void *d, int *e)
{
    (void)device, (void)threads, (void)a, (void)b, (void)c, (void)d, (void)e;
    enter(image, host, name);
}

void __cudaRegisterVar(void **image, char *host, char *device, const char *name, int external, size_t bytes, int constant, int global)
{
    (void)device, (void)external, (void)bytes, (void)constant, (void)global;
    enter(image, host, name);
}

void __cudaRegisterManagedVar(void **image, void **host, char *device, const char *name, int external, size_t bytes, int constant,
                              int global)
{
    (void)device, (void)external, (void)bytes, (void)constant, (void)global;
    enter(image, host, name)->managed = host;
}

/* ---- modules --------------------------------------------------------------------------------------------------------- */

/* A program of several files that are linked for the device: the driver links their parts. */
static CUresult link_parts(CUmodule *out, const struct wrapper *w)
{
    CUlinkState state;
    void *image;
    size_t bytes;
    CUresult r = DRIVER(cuLinkCreate)(0, NULL, NULL, &state);
    if (r)
        return r;
    for (int k = 0; !r && w->parts[k]; k++) {
        char name[40];
        snprintf(name, sizeof name, "file %d of the program", k + 1); /* in the order of the linker's */
        r = DRIVER(cuLinkAddData)(state, CU_JIT_INPUT_FATBINARY, (void *)w->parts[k], 0, name, 0, NULL, NULL);
    }
    if (!r)
        r = DRIVER(cuLinkComplete)(state, &image, &bytes);
    if (!r)
        r = DRIVER(cuModuleLoadData)(out, image);
    DRIVER(cuLinkDestroy)(state);
    return r;
}

/* A capture of a stream by this thread or another one forbids what a load does, unless this thread says that it is not part of it. */
static CUstreamCaptureMode set_capture_mode(CUstreamCaptureMode mode)
{
    DRIVER(cuThreadExchangeStreamCaptureMode)(&mode);
    return mode;
}

/* With the lock. Machine code for the GPU is linked already; where there is none, the parts have PTX. */
static CUresult load(struct image *i)
{
    CUmodule *m = &i->module[rt_device()];
    int linked = i->of->version == 2 && i->of->parts && i->of->parts[0];
    CUresult r = i->failed[rt_device()];
    if (*m || r)
        return r;
    CUstreamCaptureMode before = set_capture_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    r = linked && rt_is_cpu() ? link_parts(m, i->of) : DRIVER(cuModuleLoadData)(m, i->of->data);
    if (linked && !rt_is_cpu() && r == CUDA_ERROR_NO_BINARY_FOR_GPU)
        r = link_parts(m, i->of);
    set_capture_mode(before);
    i->failed[rt_device()] = r;
    return r;
}

/* With the lock. The program reads the addresses of the image's managed variables, and names them by these from now on. */
static CUresult place_managed(struct image *i)
{
    CUresult r = load(i);
    for (int b = 0; !r && b < BUCKETS; b++)
        for (struct symbol *s = symbols[b]; !r && s; s = s->next) {
            CUdeviceptr at;
            size_t bytes;
            if (s->image != i || !s->managed || *s->managed)
                continue;
            r = DRIVER(cuModuleGetGlobal)(&at, &bytes, i->module[rt_device()], s->name);
            if (!r)
                enter((void **)i, *s->managed = (void *)(size_t)at, s->name);
        }
    return r;
}

/* Before the host's first access to a managed variable, which cannot go on without it. */
char __cudaInitModule(void **image)
{
    cudaError_t e = rt_ready();
    pthread_mutex_lock(&lock);
    e = e ? e : rt_result((int)place_managed((struct image *)image));
    pthread_mutex_unlock(&lock);
    if (e) {
        fprintf(stderr, "fulmar cudart: the program's __managed__ variables have no memory: %s\n", cudaGetErrorString(e));
        exit(1);
    }
    return 1;
}

/* With the lock, before a launch. A module without calls of Fulmar needs no context; an error has its line. */
static void enter_session(struct image *i)
{
    int session = shmemx_cuda_session(rt_device());
    if (!session || session == i->entered)
        return;
    CUstreamCaptureMode before = set_capture_mode(CU_STREAM_CAPTURE_MODE_RELAXED);
    shmemx_cuda_module_enter(i->module[rt_device()]);
    set_capture_mode(before);
    i->entered = session;
}

static struct symbol *find(const void *host)
{
    struct symbol *s = *bucket(host);
    while (s && s->host != host)
        s = s->next;
    return s;
}

cudaError_t rt_function(const void *host, CUfunction *out)
{
    RT_BEGIN;
    pthread_mutex_lock(&lock);
    struct symbol *s = find(host);
    CUresult r = s ? load(s->image) : (CUresult)cudaErrorInvalidDeviceFunction;
    CUfunction *f = s ? &s->function[rt_device()] : NULL;
    if (!r && !*f)
        r = DRIVER(cuModuleGetFunction)(f, s->image->module[rt_device()], s->name);
    if (!r) {
        enter_session(s->image);
        *out = *f;
    }
    pthread_mutex_unlock(&lock);
    return rt_result((int)r);
}

const void *rt_host_of(CUfunction f)
{
    const void *host = NULL;
    pthread_mutex_lock(&lock);
    for (int b = 0; !host && b < BUCKETS; b++)
        for (struct symbol *s = symbols[b]; !host && s; s = s->next)
            host = s->function[rt_device()] == f ? s->host : NULL;
    pthread_mutex_unlock(&lock);
    return host ? host : f;
}

cudaError_t rt_variable(const void *host, CUdeviceptr *at, size_t *bytes)
{
    RT_BEGIN;
    pthread_mutex_lock(&lock);
    struct symbol *s = find(host);
    CUresult r = s ? load(s->image) : (CUresult)cudaErrorInvalidSymbol;
    if (!r)
        r = DRIVER(cuModuleGetGlobal)(at, bytes, s->image->module[rt_device()], s->name);
    pthread_mutex_unlock(&lock);
    return rt_result((int)r);
}

/* ---- launches -------------------------------------------------------------------------------------------------------- */

enum { NESTED = 8 };
static __thread struct {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
} pushed[NESTED];
static __thread int n_pushed;

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream)
{
    if (n_pushed == NESTED)
        return 1;
    pushed[n_pushed].grid = grid;
    pushed[n_pushed].block = block;
    pushed[n_pushed].shared = shared;
    pushed[n_pushed++].stream = stream;
    return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream)
{
    if (!n_pushed)
        return rt_result(cudaErrorMissingConfiguration);
    n_pushed--;
    *grid = pushed[n_pushed].grid;
    *block = pushed[n_pushed].block;
    *shared = pushed[n_pushed].shared;
    *(cudaStream_t *)stream = pushed[n_pushed].stream;
    return cudaSuccess;
}

/* A grid or a block of no or of too many threads is a wrong configuration here, and a wrong argument for the driver. */
static cudaError_t launched(CUresult r)
{
    return rt_result(r == CUDA_ERROR_INVALID_VALUE ? cudaErrorInvalidConfiguration : (int)r);
}

cudaError_t cudaLaunchKernel(const void *host, dim3 g, dim3 b, void **args, size_t shared, cudaStream_t stream)
{
    CUfunction f;
    cudaError_t e = rt_function(host, &f);
    return e ? e : launched(DRIVER(cuLaunchKernel)(f, g.x, g.y, g.z, b.x, b.y, b.z, (unsigned)shared, stream, args, NULL));
}

cudaError_t cudaLaunchCooperativeKernel(const void *host, dim3 g, dim3 b, void **args, size_t shared, cudaStream_t stream)
{
    CUfunction f;
    cudaError_t e = rt_function(host, &f);
    return e ? e : launched(DRIVER(cuLaunchCooperativeKernel)(f, g.x, g.y, g.z, b.x, b.y, b.z, (unsigned)shared, stream, args));
}

/* Of the attributes, all but clusters of several blocks say how a GPU places blocks, which changes no result. */
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *c, const void *host, void **args)
{
    int cooperative = 0;
    for (unsigned k = 0; k < c->numAttrs; k++) {
        cooperative |= c->attrs[k].id == cudaLaunchAttributeCooperative && c->attrs[k].val.cooperative;
        if (c->attrs[k].id == cudaLaunchAttributeClusterDimension &&
            (c->attrs[k].val.clusterDim.x > 1 || c->attrs[k].val.clusterDim.y > 1 || c->attrs[k].val.clusterDim.z > 1))
            return rt_result(cudaErrorNotSupported);
    }
    return (cooperative ? cudaLaunchCooperativeKernel : cudaLaunchKernel)(host, c->gridDim, c->blockDim, args, c->dynamicSmemBytes, c->stream);
}

cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *host)
{
    *kernel = (cudaKernel_t)(size_t)host;
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
    return cudaLaunchKernel((const void *)kernel, grid, block, args, shared, stream);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t *out, const void *host)
{
    return rt_function(host, (CUfunction *)out);
}

/* ---- functions ------------------------------------------------------------------------------------------------------- */

cudaError_t cudaFuncSetAttribute(const void *host, enum cudaFuncAttribute a, int value)
{
    CUfunction f;
    cudaError_t e = rt_function(host, &f);
    return e ? e : CALL(cuFuncSetAttribute, f, (CUfunction_attribute)a, value);
}

/* A hint. */
cudaError_t cudaFuncSetCacheConfig(const void *host, enum cudaFuncCache config)
{
    CUfunction f;
    (void)config;
    return rt_function(host, &f);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *host)
{
    CUfunction f;
    int v[9] = {0};
    cudaError_t e = rt_function(host, &f);
    for (int k = 0; !e && k < 9; k++)
        e = CALL(cuFuncGetAttribute, &v[k], (CUfunction_attribute)k, f);
    memset(a, 0, sizeof *a);
    a->maxThreadsPerBlock = v[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
    a->sharedSizeBytes = (size_t)v[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
    a->constSizeBytes = (size_t)v[CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES];
    a->localSizeBytes = (size_t)v[CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES];
    a->numRegs = v[CU_FUNC_ATTRIBUTE_NUM_REGS];
    a->ptxVersion = v[CU_FUNC_ATTRIBUTE_PTX_VERSION];
    a->maxDynamicSharedSizeBytes = v[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
    a->binaryVersion = v[CU_FUNC_ATTRIBUTE_BINARY_VERSION];
    return e;
}

/* libcuda_cpu.so has no limit; a program that multiplies it by the processors would launch millions of blocks. */
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *n, const void *host, int items, size_t shared, unsigned flags)
{
    enum { BLOCKS = 32, THREADS = 2048 };
    CUfunction f;
    cudaError_t e = rt_function(host, &f);
    (void)flags;
    if (!e && items < 1)
        e = rt_result(cudaErrorInvalidValue);
    if (!e)
        e = CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor, n, f, items, shared);
    if (!e && *n > BLOCKS)
        *n = BLOCKS < THREADS / items ? BLOCKS : THREADS / items;
    return e;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *host, int items, size_t shared)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(n, host, items, shared, 0);
}
