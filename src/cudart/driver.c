/* driver.c - opens the driver, keeps the device and the last error of each thread; names of errors. */
#include "runtime.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult get_t(const char *, void **, int, uint64_t, void *);
static get_t *get;
static int is_cpu;
static cudaError_t opened;
static CUcontext primary[RT_DEVICES];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of primary */
static __thread struct {
    int device;
    cudaError_t last;
} self;

static CUresult unsupported(void)
{
    return CUDA_ERROR_NOT_SUPPORTED;
}

/* The header of the driver API may have made cuMemAlloc_v2 of a name: the driver knows it as cuMemAlloc, of the version of the header. */
static void *look_up(const char *name)
{
    char base[128];
    void *at = NULL;
    snprintf(base, sizeof base, "%s", name);
    size_t n = strlen(base);
    if (n > 3 && base[n - 3] == '_' && base[n - 2] == 'v')
        base[n - 3] = 0;
    return get && get(base, &at, CUDA_VERSION, 0, NULL) == CUDA_SUCCESS ? at : NULL;
}

/* Where the library is that the program has loaded as libfulmar.so, beside which libcuda_cpu.so lies. */
static void *open_cpu(void)
{
    Dl_info of;
    char path[4096];
    void *at = dlsym(RTLD_DEFAULT, "shmemx_launch");
    const char *slash = at && dladdr(at, &of) && of.dli_fname ? strrchr(of.dli_fname, '/') : NULL;
    void *so = NULL;
    if (slash) {
        snprintf(path, sizeof path, "%.*s/libcuda_cpu.so", (int)(slash - of.dli_fname), of.dli_fname);
        so = dlopen(path, RTLD_NOW);
    }
    so = so ? so : dlopen(FULMAR_LIBDIR "/libcuda_cpu.so", RTLD_NOW);
    if (!so)
        fprintf(stderr, "fulmar cudart: SHMEM_DEVICE=cuda-cpu: libcuda_cpu.so found neither next to libfulmar.so nor in " FULMAR_LIBDIR "\n");
    return so;
}

static void open_driver(void)
{
    const char *choice = getenv("SHMEM_DEVICE");
    int n = 0;
    is_cpu = choice && strncmp(choice, "cuda-cpu", 8) == 0;
    void *so = is_cpu ? open_cpu() : dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&get = so ? dlsym(so, "cuGetProcAddress_v2") : NULL;
    CUresult (*init)(unsigned) = NULL, (*count)(int *) = NULL;
    *(void **)&init = look_up("cuInit");
    *(void **)&count = look_up("cuDeviceGetCount");
    opened = !init || !count ? cudaErrorInsufficientDriver : (cudaError_t)init(0);
    if (!opened && !count(&n) && !n)
        opened = cudaErrorNoDevice;
    if (opened && !is_cpu)
        fprintf(stderr, "fulmar cudart: no GPU of CUDA was found; with SHMEM_DEVICE=cuda-cpu the kernels run on the processor\n");
}

cudaError_t rt_open(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_driver);
    return rt_result((int)opened);
}

int rt_is_cpu(void)
{
    rt_open();
    return is_cpu;
}

void *rt_driver(const char *name)
{
    rt_open();
    void *at = look_up(name);
    if (!at && !opened)
        fprintf(stderr, "fulmar cudart: the driver%s has no %s\n", is_cpu ? " on the CPU" : "", name);
    return at ? at : (void *)unsupported;
}

int rt_device(void)
{
    return self.device;
}

cudaError_t rt_result(int r)
{
    if (r && r != CUDA_ERROR_NOT_READY)
        self.last = (cudaError_t)r;
    return (cudaError_t)r;
}

static cudaError_t use_primary(int device)
{
    CUdevice d;
    int r = 0;
    pthread_mutex_lock(&lock);
    if (!primary[device]) {
        r = DRIVER(cuDeviceGet)(&d, device);
        r = r ? r : (int)DRIVER(cuDevicePrimaryCtxRetain)(&primary[device], d);
    }
    pthread_mutex_unlock(&lock);
    return rt_result(r ? r : (int)DRIVER(cuCtxSetCurrent)(primary[device]));
}

cudaError_t rt_ready(void)
{
    CUcontext now = NULL;
    cudaError_t e = rt_open();
    if (e)
        return e;
    DRIVER(cuCtxGetCurrent)(&now);
    return now ? cudaSuccess : use_primary(self.device);
}

cudaError_t cudaGetDeviceCount(int *n)
{
    cudaError_t e = rt_open();
    *n = 0;
    return e ? e : CALL(cuDeviceGetCount, n);
}

cudaError_t cudaSetDevice(int device)
{
    int n;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e)
        return e;
    if (device < 0 || device >= n || device >= RT_DEVICES)
        return rt_result(cudaErrorInvalidDevice);
    e = use_primary(device);
    self.device = e ? self.device : device;
    return e;
}

cudaError_t cudaGetDevice(int *device)
{
    cudaError_t e = rt_open();
    *device = self.device;
    return e;
}

cudaError_t cudaGetLastError(void)
{
    cudaError_t e = self.last;
    self.last = cudaSuccess;
    return e;
}

cudaError_t cudaPeekAtLastError(void)
{
    return self.last;
}

/* ---- names --------------------------------------------------------------------------------------------------------- */

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
#define E(error, text) {error, #error, text}
    E(cudaSuccess, "no error"),
    E(cudaErrorInvalidValue, "invalid argument"),
    E(cudaErrorMemoryAllocation, "out of memory"),
    E(cudaErrorInitializationError, "initialization error"),
    E(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    E(cudaErrorInvalidSymbol, "invalid device symbol"),
    E(cudaErrorInvalidChannelDescriptor, "invalid channel descriptor"),
    E(cudaErrorInvalidMemcpyDirection, "invalid direction of a copy"),
    E(cudaErrorInsufficientDriver, "there is no CUDA driver, or one that is too old"),
    E(cudaErrorInvalidDeviceFunction, "invalid device function"),
    E(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    E(cudaErrorInvalidDevice, "invalid device ordinal"),
    E(cudaErrorInvalidKernelImage, "the kernel image is invalid"),
    E(cudaErrorDeviceUninitialized, "invalid device context"),
    E(cudaErrorNoKernelImageForDevice, "no kernel image is available for the device"),
    E(cudaErrorPeerAccessUnsupported, "peer access is not supported between these two devices"),
    E(cudaErrorInvalidPtx, "a PTX compilation failed"),
    E(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    E(cudaErrorSymbolNotFound, "named symbol not found"),
    E(cudaErrorNotReady, "device not ready"),
    E(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    E(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    E(cudaErrorCooperativeLaunchTooLarge, "too many blocks in a cooperative launch"),
    E(cudaErrorLaunchFailure, "a kernel failed"),
    E(cudaErrorNotPermitted, "operation not permitted"),
    E(cudaErrorNotSupported, "operation not supported"),
    E(cudaErrorUnknown, "unknown error"),
#undef E
};

/* Its place in the table, or the table's length. */
static size_t find(cudaError_t e)
{
    size_t k = 0;
    while (k < sizeof errors / sizeof *errors && errors[k].error != e)
        k++;
    return k;
}

const char *cudaGetErrorName(cudaError_t e)
{
    size_t k = find(e);
    return k < sizeof errors / sizeof *errors ? errors[k].name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t e)
{
    size_t k = find(e);
    return k < sizeof errors / sizeof *errors ? errors[k].text : "unrecognized error code";
}
