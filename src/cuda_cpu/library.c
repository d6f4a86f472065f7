/* library.c - libraries of the driver: images that are loaded without a context; each device has a module of its own of them. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/fatbin.h"
#include "cuda_cpu/jit.h"
#include "cuda_cpu/linked.h"
#include "ze_cpu/config.h"

struct CUlib_st {
    void *image; /* own copy, in the format of linked.h */
    CUmodule module[ZC_DEVICES]; /* made at the first use on the device, under the lock */
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A copy of any image; NULL and the reason in the log, or no memory and an empty log. */
static void *copy(const void *image, struct cc_jit_log *log)
{
    const char *why;
    uint32_t n = 1;
    size_t bytes;
    struct cc_unit one = {.name = "library"}, *units = &one;
    char *text = NULL;
    if (cc_is_linked(image)) {
        units = cc_linked_units(image, &n);
    } else {
        text = cc_ptx_of(image, &one.bytes, &why);
        one.text = text;
        if (!text) {
            cc_jit_say(log, "the image cannot run on the CPU: %s", why);
            return NULL;
        }
    }
    void *made = units ? cc_linked_image(units, n, &bytes) : NULL;
    free(text);
    if (units != &one)
        free(units);
    return made;
}

CUresult cuLibraryLoadData(CUlibrary *out, const void *image, CUjit_option *option, void **value, unsigned n, int *library_option,
                           void **library_value, unsigned n_library)
{
    (void)library_option, (void)library_value, (void)n_library; /* hints */
    struct cc_jit_log log;
    cc_jit_log(&log, n, option, value);
    struct CUlib_st *l = calloc(1, sizeof *l);
    if (l)
        l->image = copy(image, &log);
    if (!l || !l->image) {
        free(l);
        return l ? CUDA_ERROR_INVALID_IMAGE : CUDA_ERROR_OUT_OF_MEMORY;
    }
    *out = l;
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule *out, CUlibrary l)
{
    CUresult r = cc_check_context();
    if (r)
        return r;
    pthread_mutex_lock(&lock);
    CUmodule *m = &l->module[cc_current_device()];
    if (!*m)
        r = cuModuleLoadData(m, l->image);
    *out = *m;
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult cuLibraryUnload(CUlibrary l)
{
    CUresult r = cc_check_context();
    for (int k = 0; !r && k < ZC_DEVICES; k++)
        if (l->module[k])
            r = cuModuleUnload(l->module[k]);
    if (r)
        return r;
    free(l->image);
    free(l);
    return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *at, size_t *bytes, CUlibrary l, const char *name)
{
    CUmodule m;
    CUresult r = cuLibraryGetModule(&m, l);
    return r ? r : cuModuleGetGlobal(at, bytes, m, name);
}

/* A kernel is the function of the device that is current. */
CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary l, const char *name)
{
    CUmodule m;
    CUfunction f;
    CUresult r = cuLibraryGetModule(&m, l);
    if (!r)
        r = cuModuleGetFunction(&f, m, name);
    if (!r)
        *out = (CUkernel)f;
    return r;
}

CUresult cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
    *out = (CUfunction)kernel;
    return cc_check_context();
}
