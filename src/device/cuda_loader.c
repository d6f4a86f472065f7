/*
 * cuda_loader.c - open a CUDA driver, find its functions and its devices.
 *
 * The driver library of the system is opened at first use; neither building nor running needs the toolkit.
 */
#include "device/cuda_loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "host/util/log.h"

struct shi_cu shi_cu;
struct shi_cuda shi_cuda;
static char opened[512]; /* the driver that is open, or empty */

static const char *error_name(CUresult r)
{
    const char *name = NULL;
    return shi_cu.cuGetErrorName(r, &name) == CUDA_SUCCESS && name ? name : "an unknown error";
}

/* MPS is NVIDIA's daemon by which processes use a GPU at the same time. "" for other errors. */
static const char *advice_on_mps(CUresult r)
{
    if (r == CUDA_ERROR_MPS_MAX_CLIENTS_REACHED || r == CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED)
        return ": MPS, by which processes use the GPU at the same time, takes no more of them; run fewer PEs or jobs, or end MPS "
               "(echo quit | nvidia-cuda-mps-control), after which PEs take turns";
    if (r >= CUDA_ERROR_MPS_CONNECTION_FAILED && r <= CUDA_ERROR_MPS_SERVER_NOT_READY)
        return ": MPS, by which processes use the GPU at the same time, does not answer; start it again (nvidia-cuda-mps-control -d), or "
               "end it (echo quit | nvidia-cuda-mps-control)";
    return "";
}

int shi_cuda_failed(const char *call, CUresult r)
{
    shi_log_error("CUDA: %s failed with %d, %s%s", call, r, error_name(r), advice_on_mps(r));
    return r == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
}

static void no_device(CUresult r)
{
    if (r == CUDA_ERROR_STUB_LIBRARY)
        shi_log_debug("no CUDA device: libcuda.so.1 is the toolkit's stub (error %d)", r);
    else if (*advice_on_mps(r))
        shi_cuda_failed("cuInit", r);
    else
        shi_log_debug("no CUDA device: cuInit failed with %d, %s", r, error_name(r));
}

/* The toolkit's stub already fails here. */
static int find_calls(void *so)
{
    void *at = dlsym(so, "cuGetProcAddress_v2");
    cuGetProcAddress_v2_t *get = (cuGetProcAddress_v2_t *)at;
    const char *missing = get ? NULL : "cuGetProcAddress_v2, so it is older than 12.0";
    CUresult r = CUDA_SUCCESS;
#define X(call, params)                                                                                              \
    if (!missing && ((r = get(#call, &at, CU_API_VERSION, 0, NULL)) || !at))                                         \
        missing = #call;                                                                                             \
    shi_cu.call = (__typeof__(shi_cu.call))at;
    CUDA_CALLS(X)
#undef X
#define X(call, params) shi_cu.call = missing || get(#call, &at, CU_API_VERSION, 0, NULL) ? NULL : (__typeof__(shi_cu.call))at;
    CUDA_CALLS_OPTIONAL(X) CUDA_CALLS_VIRTUAL(X) CUDA_CALLS_CPU(X)
#undef X
#define X(call, params) shi_cu.call = missing || get(#call, &at, CU_API_VERSION_12_4, 0, NULL) ? NULL : (__typeof__(shi_cu.call))at;
    CUDA_CALLS_SINCE_12_4(X)
#undef X
    if (r == CUDA_ERROR_STUB_LIBRARY)
        no_device(r);
    else if (missing)
        shi_log_debug("no CUDA device: the driver has no %s", missing);
    return missing != NULL;
}

/* Lazy loading of a module can wait for a running kernel, which may wait for a kernel of that module. Streams that share a
 * hardware queue wait for each other. */
static int find_devices(void)
{
    int n = 0;
    setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    CUresult r = shi_cu.cuInit(0);
    if (!r)
        r = shi_cu.cuDeviceGetCount(&n);
    if (r)
        no_device(r);
    else if (n == 0)
        shi_log_debug("no CUDA device: the driver found none");
    return r ? 0 : n;
}

int shi_cuda_open(const char *path)
{
    static char failed[512]; /* the driver without devices */
    if (*opened || strcmp(failed, path) == 0)
        return strcmp(opened, path) == 0 ? shi_cuda.n_devices : 0;
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so)
        shi_log_debug("no CUDA device: %s", dlerror());
    shi_cuda.n_devices = so && !find_calls(so) ? find_devices() : 0;
    snprintf(shi_cuda.n_devices ? opened : failed, sizeof opened, "%s", path);
    return shi_cuda.n_devices;
}

void shi_cuda_identify(int i, char *id, int bytes)
{
    CUdevice d;
    if (shi_cu.cuDeviceGet(&d, i) || shi_cu.cuDeviceGetPCIBusId(id, bytes, d))
        snprintf(id, (size_t)bytes, "?");
}

int shi_cuda_attribute(int which)
{
    int value = 0;
    shi_cu.cuDeviceGetAttribute(&value, which, shi_cuda.device);
    return value;
}
