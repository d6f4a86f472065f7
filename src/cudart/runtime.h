/*
 * runtime.h - the CUDA runtime API on the driver API, of a GPU or of libcuda_cpu.so: one program runs on both.
 *
 * oshcc compiles these files with the headers of the toolkit that compiles the program, so that structures such as cudaDeviceProp
 * are those of its version. NVIDIA's runtime cannot take this place on libcuda_cpu.so: it takes private tables from the driver.
 *
 * A call of the driver is looked up by name at its first use: DRIVER(name)(arguments). A driver without it: one line, and
 * CUDA_ERROR_NOT_SUPPORTED.
 */
#ifndef FULMAR_CUDART_RUNTIME_H
#define FULMAR_CUDART_RUNTIME_H

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <stddef.h>

enum { RT_DEVICES = 64 };

/* The address of a call; of one that returns CUDA_ERROR_NOT_SUPPORTED, where the driver has none. The driver is opened and initialised. */
void *rt_driver(const char *name);
#define DRIVER(name)                                                                                                  \
    ({                                                                                                                \
        static __typeof__(&name) at_;                                                                                 \
        if (!at_)                                                                                                     \
            at_ = (__typeof__(&name))rt_driver(#name);                                                                \
        at_;                                                                                                          \
    })

/* Is the driver libcuda_cpu.so? */
int rt_is_cpu(void);
/* cudaSuccess, or why there is no device to use. */
cudaError_t rt_open(void);
/* rt_open, and the primary context of this thread's device is current, unless the program has made another one current. */
cudaError_t rt_ready(void);
/* The ordinal of this thread's device. */
int rt_device(void);
/* Note the error for cudaGetLastError, and return it. */
cudaError_t rt_result(int driver_result);

/* Make a call of the driver, and the same. */
#define CALL(name, ...) rt_result((int)DRIVER(name)(__VA_ARGS__))

/* The module's function for the kernel with this host address, in the current device. */
cudaError_t rt_function(const void *host, CUfunction *out);
cudaError_t rt_variable(const void *host, CUdeviceptr *at, size_t *bytes);

/* The kernel of the program that is this function, or the function itself where it is none. */
const void *rt_host_of(CUfunction f);

/* The driver's structure for this copy. */
CUDA_MEMCPY3D rt_copy_of(const struct cudaMemcpy3DParms *p);

/* Begin a call that needs a context. */
#define RT_BEGIN                                                                                                      \
    do {                                                                                                              \
        cudaError_t bad_ = rt_ready();                                                                                \
        if (bad_)                                                                                                     \
            return bad_;                                                                                              \
    } while (0)

/* A call that the driver has under another name. */
#define SAME(name, driver, params, ...)                                                                               \
    cudaError_t name params                                                                                           \
    {                                                                                                                 \
        RT_BEGIN;                                                                                                     \
        return CALL(driver, __VA_ARGS__);                                                                             \
    }

#endif
