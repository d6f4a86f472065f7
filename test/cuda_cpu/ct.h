/*
 * ct.h - helpers of the tests of cuda_cpu: open libcuda_cpu.so by its path, build PTX, launch kernels.
 *
 * CT_LIBRARY names another build of it; the default is the one in the build tree.
 */
#ifndef CT_H
#define CT_H

#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "device/cuda_driver.h"

#define X(call, params) __attribute__((unused)) static CUresult(*call) params;
CUDA_CALLS(X) CUDA_CALLS_VIRTUAL(X) CUDA_CALLS_SINCE_12_4(X)
#undef X

#define CT(call)                                                                                                      \
    do {                                                                                                              \
        CUresult r_ = (call);                                                                                         \
        if (r_) {                                                                                                     \
            printf("Bail out! %s:%d: %s: %d\n", __FILE__, __LINE__, #call, r_);                                       \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)

static char ct_log[700];
static cuGetProcAddress_v2_t *ct_get;

static void ct_up(void)
{
    const char *top = getenv("top_builddir"), *path = getenv("CT_LIBRARY");
    char own[4096];
    snprintf(own, sizeof own, "%s/.libs/libcuda_cpu.so", top ? top : ".");
    void *so = dlopen(path ? path : own, RTLD_NOW | RTLD_LOCAL), *at = so ? dlsym(so, "cuGetProcAddress_v2") : NULL;
    ct_get = (cuGetProcAddress_v2_t *)at;
    if (!ct_get) {
        printf("Bail out! %s\n", dlerror());
        exit(1);
    }
#define X(call, params)                                                                                               \
    CT(ct_get(#call, &at, CU_API_VERSION, 0, NULL));                                                                     \
    call = (__typeof__(call))at;
    CUDA_CALLS(X) CUDA_CALLS_VIRTUAL(X) CUDA_CALLS_SINCE_12_4(X)
#undef X
    CUdevice d;
    CUcontext c;
    CT(cuInit(0));
    CT(cuDeviceGet(&d, 0));
    CT(cuDevicePrimaryCtxRetain(&c, d));
    CT(cuCtxPushCurrent(c));
}

/* Build PTX; on failure ct_log has the reason. */
static CUresult ct_build(CUmodule *m, const char *text)
{
    int option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {ct_log, (void *)(sizeof ct_log)};
    ct_log[0] = 0;
    return cuModuleLoadDataEx(m, text, 2, option, value);
}

/* Run a kernel in groups of items, with these arguments, to its end. */
__attribute__((unused)) static CUresult ct_run(CUmodule m, const char *kernel, unsigned groups, unsigned items,
                                               unsigned shared_bytes, void **args)
{
    CUfunction f;
    CT(cuModuleGetFunction(&f, m, kernel));
    CT(cuLaunchKernel(f, groups, 1, 1, items, 1, 1, shared_bytes, NULL, args, NULL));
    return cuStreamSynchronize(NULL);
}

/* Host memory that kernels access. */
__attribute__((unused)) static void *ct_memory(size_t bytes)
{
    void *at;
    CT(cuMemHostAlloc(&at, bytes, 0));
    memset(at, 0, bytes);
    return at;
}

/* A growing text. */
static struct {
    char *s;
    size_t n, room;
} ct_text;

__attribute__((unused, format(printf, 1, 2))) static void ct_add(const char *fmt, ...)
{
    va_list ap;
    if (ct_text.room - ct_text.n < 4096) {
        ct_text.room = 2 * ct_text.room + 65536;
        ct_text.s = realloc(ct_text.s, ct_text.room);
    }
    va_start(ap, fmt);
    ct_text.n += (size_t)vsnprintf(ct_text.s + ct_text.n, ct_text.room - ct_text.n, fmt, ap);
    va_end(ap);
}

/* The result of fn, up to 255, in a process of its own with this setting, which the library reads once. */
__attribute__((unused)) static int ct_child(int (*fn)(void), const char *name, const char *value)
{
    int status = -1;
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        setenv(name, value, 1);
        int r = fn();
        fflush(stdout);
        _exit(r > 255 ? 255 : r);
    }
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static uint64_t ct_state = 1;

/* A random number; often one at the border of a type. */
__attribute__((unused)) static uint64_t ct_random(void)
{
    static const uint64_t borders[] = {0, 1, 2, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff,
                                       0x80000000, 0xffffffff, 0x100000000, INT64_MAX, 1ull << 63, UINT64_MAX};
    ct_state ^= ct_state << 13;
    ct_state ^= ct_state >> 7;
    ct_state ^= ct_state << 17;
    return ct_state % 4 ? ct_state : borders[ct_state / 4 % (sizeof borders / sizeof *borders)];
}

#define CT_HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

#endif
