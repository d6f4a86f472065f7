/* cuda_loader.h - the CUDA driver in use: its functions, the device and its context. */
#ifndef SHI_DEVICE_CUDA_LOADER_H
#define SHI_DEVICE_CUDA_LOADER_H

#include "device/cuda_driver.h"

/* The driver's functions, after shi_cuda_open; optional ones may be NULL. */
extern struct shi_cu {
#define X(call, params) CUresult(*call) params;
    CUDA_CALLS(X) CUDA_CALLS_OPTIONAL(X) CUDA_CALLS_VIRTUAL(X) CUDA_CALLS_SINCE_12_4(X) CUDA_CALLS_CPU(X)
#undef X
} shi_cu;

/* device, context: between up and down of the backend. */
extern struct shi_cuda {
    int n_devices;
    CUdevice device;
    CUcontext context;
} shi_cuda;

/* Call a function of the driver with our context, or another one, current: SHI_CU(cuMemFree(at)). */
#define SHI_CU(call) SHI_CU_OF(shi_cuda.context, call)
#define SHI_CU_OF(owner, call)                                                                                       \
    ({                                                                                                               \
        CUcontext gone_;                                                                                             \
        CUresult r_ = shi_cu.cuCtxPushCurrent(owner);                                                                \
        if (!r_) {                                                                                                   \
            r_ = shi_cu.call;                                                                                        \
            shi_cu.cuCtxPopCurrent(&gone_);                                                                          \
        }                                                                                                            \
        r_;                                                                                                          \
    })

/* Open the driver library of that path and return the number of its devices. A process uses one driver: the first with devices. */
int shi_cuda_open(const char *path);

/* Log that a call failed, and return -ENOMEM or -EIO. */
int shi_cuda_failed(const char *call, CUresult r);

/* The PCI address of device i, or "?". */
void shi_cuda_identify(int i, char *id, int bytes);

/* An attribute of the device in use; 0 if the driver does not know it. */
int shi_cuda_attribute(int which);

#endif
