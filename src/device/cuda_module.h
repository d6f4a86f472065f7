/* cuda_module.h - modules of the CUDA backend, and what the driver reports of their kernels. */
#ifndef SHI_DEVICE_CUDA_MODULE_H
#define SHI_DEVICE_CUDA_MODULE_H

#include <stddef.h>

#include "device/cuda_driver.h"

/* Of struct shi_device_ops. */
int shi_cuda_load(const void *image, size_t bytes, void **module);
int shi_cuda_variable(void *module, const char *name, void **addr);

/* What the driver has reported of a kernel: each query is made once for a kernel of our modules. */
struct shi_cuda_kernel {
    struct shi_cuda_kernel *next;
    CUfunction function;
    size_t items, room; /* room: groups of `items` that the device runs at once; items 0: not queried */
    int n_params;       /* entries in param; -1: the driver does not report them */
    size_t *param;      /* bytes */
    char name[];
};

/* 0, -ENOENT or -ENOMEM. *foreign: the caller drops *out. A program can unload its own modules, so their kernels are not kept. */
int shi_cuda_kernel_find(void *module, const char *name, struct shi_cuda_kernel **out, int *foreign);
void shi_cuda_kernel_drop(struct shi_cuda_kernel *k);

/* kernels: the stream in which kernels run. Down unloads the modules; no kernel runs. */
CUresult shi_cuda_modules_up(CUstream kernels);
void shi_cuda_modules_down(void);

#endif
