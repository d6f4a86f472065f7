/* kernel.c - modules, kernels and their launches. */
#include "cuda_cpu/kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda_cpu/command.h"
#include "cuda_cpu/fatbin.h"
#include "cuda_cpu/jit.h"
#include "cuda_cpu/linked.h"
#include "cuda_cpu/ptx.h"
#include "cuda_cpu/stream.h"
#include "ze_cpu/config.h"
#include "ze_cpu/launch.h"

struct CUfunc_st {
    const struct zc_module *m;
    uint32_t target; /* as in struct cc_image */
    const struct zc_kernel_info *info;
};

struct CUmod_st {
    struct cc_image *image;
    struct CUfunc_st *functions; /* one for each kernel */
};

enum { SHARED_MAX = 228 << 10 };

/* ---- modules ---------------------------------------------------------------------------------------------------- */

/* Build the units. If they cannot be, the log has the reason. */
static CUresult build(CUmodule *out, const struct cc_unit *units, uint32_t n, struct cc_jit_log *log)
{
    char *why;
    struct CUmod_st *m = calloc(1, sizeof *m);
    struct cc_image *built = m ? cc_image_build(units, n, &why) : NULL;
    if (!built) {
        if (m)
            cc_jit_refuse(log, why);
        free(m);
        return m ? CC_ERROR_INVALID_PTX : CUDA_ERROR_OUT_OF_MEMORY;
    }
    n = built->m->kernels.n;
    m->image = built;
    m->functions = calloc(n + 1, sizeof *m->functions);
    for (uint32_t k = 0; m->functions && k < n; k++)
        m->functions[k] = (struct CUfunc_st){built->m, built->target, &built->m->kernels.v[k]};
    *out = m;
    return m->functions ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult load(CUmodule *out, const void *image, struct cc_jit_log *log)
{
    const char *why;
    uint32_t n;
    if (cc_is_linked(image)) {
        struct cc_unit *units = cc_linked_units(image, &n);
        CUresult r = units ? build(out, units, n, log) : CUDA_ERROR_OUT_OF_MEMORY;
        free(units);
        return r;
    }
    struct cc_unit unit = {0};
    char *text = cc_ptx_of(image, &unit.bytes, &why);
    if (!text) {
        cc_jit_say(log, "the image cannot run on the CPU: %s", why);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    unit.text = text;
    CUresult r = build(out, &unit, 1, log);
    free(text);
    return r;
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned n, CUjit_option *option, void **value)
{
    struct cc_jit_log log;
    CUresult r = cc_check_context();
    cc_jit_log(&log, n, option, value);
    return r ? r : load(module, image, &log);
}

CUresult cuModuleLoadData(CUmodule *module, const void *image)
{
    return cuModuleLoadDataEx(module, image, 0, NULL, NULL);
}

CUresult cuModuleLoad(CUmodule *module, const char *file)
{
    struct stat st;
    int fd = open(file, O_RDONLY | O_CLOEXEC);
    char *image = fd >= 0 && !fstat(fd, &st) ? calloc(1, (size_t)st.st_size + 1) : NULL;
    bool got = image && read(fd, image, (size_t)st.st_size) == st.st_size;
    CUresult r = got ? cuModuleLoadData(module, image) : CC_ERROR_FILE_NOT_FOUND;
    if (fd >= 0)
        close(fd);
    free(image);
    return r;
}

CUresult cuModuleUnload(CUmodule m)
{
    CUresult r = cc_check_context();
    if (r)
        return r;
    cc_stream_wait_all(); /* its kernels may run */
    cc_image_free(m->image);
    free(m->functions);
    free(m);
    return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
    CUresult r = cc_check_context();
    if (r)
        return r;
    for (uint32_t k = 0; k < m->image->m->kernels.n; k++)
        if (strcmp(m->functions[k].info->name, name) == 0) {
            *out = &m->functions[k];
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

CUresult cuModuleGetFunctionCount(unsigned *n, CUmodule m)
{
    *n = m->image->m->kernels.n;
    return cc_check_context();
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule m)
{
    for (uint32_t k = 0; k < n && k < m->image->m->kernels.n; k++)
        functions[k] = &m->functions[k];
    return cc_check_context();
}

/* A module is built when it is loaded. */
CUresult cuFuncLoad(CUfunction f)
{
    (void)f;
    return cc_check_context();
}

CUresult cuModuleGetGlobal(CUdeviceptr *at, size_t *bytes, CUmodule m, const char *name)
{
    CUresult r = cc_check_context();
    if (r)
        return r;
    for (uint32_t k = 0; k < m->image->symbols; k++)
        if (strcmp(m->image->symbol[k].name, name) == 0) {
            if (at)
                *at = (CUdeviceptr)(uintptr_t)m->image->symbol[k].at;
            if (bytes)
                *bytes = m->image->symbol[k].bytes;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

/* The last argument, shared memory, is not the program's. */
CUresult cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *bytes)
{
    size_t at = 0;
    if (i + 1 >= f->info->nargs)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t k = 0; k <= i; k++) {
        size_t size = f->info->arg[k].size, align = size >= 8 ? 8 : size ? size : 1;
        at = (at + align - 1) / align * align;
        *offset = at;
        at += size;
    }
    if (bytes)
        *bytes = f->info->arg[i].size;
    return CUDA_SUCCESS;
}

enum { FUNC_MAX_THREADS = 0, FUNC_SHARED_BYTES = 1, FUNC_LOCAL_BYTES = 3, FUNC_REGISTERS = 4, FUNC_PTX = 5, FUNC_BINARY = 6, FUNC_DYNAMIC_BYTES = 8 };
/* The device's architecture; a number of registers that fits any block; shared memory that any launch may ask for: the static variables of all
 * kernels of a module have a place of their own here. */
enum { BINARY = 90, REGISTERS = 32, DYNAMIC = 48 << 10 };

CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f)
{
    int left = SHARED_MAX - (int)f->m->local_bytes;
    *value = attribute == FUNC_MAX_THREADS     ? ZC_GROUP_MAX
             : attribute == FUNC_SHARED_BYTES  ? (int)f->m->local_bytes
             : attribute == FUNC_LOCAL_BYTES   ? (int)f->info->frame
             : attribute == FUNC_REGISTERS     ? REGISTERS
             : attribute == FUNC_PTX           ? (int)f->target
             : attribute == FUNC_BINARY        ? BINARY
             : attribute == FUNC_DYNAMIC_BYTES ? (left > DYNAMIC ? left : DYNAMIC)
                                               : 0;
    return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value)
{
    (void)f, (void)attribute, (void)value;
    return CUDA_SUCCESS;
}

/* A group that others wait for is started: there is no limit. */
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int items, size_t shared_bytes)
{
    (void)f, (void)items, (void)shared_bytes;
    *n = 1 << 20;
    return CUDA_SUCCESS;
}

CUresult cc_kernel_launch(CUfunction f, const unsigned *groups, const unsigned *items, unsigned shared_bytes, void **args, bool cooperative,
                          struct zc_launch **out)
{
    const struct zc_kernel_info *info = f->info;
    uint64_t total = (uint64_t)items[0] * items[1] * items[2];
    if (!total || total > ZC_GROUP_MAX || shared_bytes > SHARED_MAX || !groups[0] || !groups[1] || !groups[2])
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; k < 3; k++)
        if (info->group[0] && info->group[k] != items[k])
            return CUDA_ERROR_INVALID_VALUE;
    struct zc_launch *l = cc_launch_new(f->m, info, args, shared_bytes);
    if (!l)
        return CUDA_ERROR_OUT_OF_MEMORY;
    l->cooperative = cooperative;
    for (unsigned k = 0; k < 3; k++) {
        l->group[k] = items[k];
        l->count[k] = groups[k];
    }
    *out = l;
    return CUDA_SUCCESS;
}

static CUresult launch(CUfunction f, const unsigned *groups, const unsigned *items, unsigned shared_bytes, CUstream stream,
                       void **args, bool cooperative)
{
    struct zc_launch *l;
    CUresult r = cc_kernel_launch(f, groups, items, shared_bytes, args, cooperative, &l);
    return r ? r : cc_stream_launch(stream, f, l);
}

/* `extra`, arguments in a buffer, is not supported. */
CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z,
                        unsigned shared_bytes, CUstream stream, void **args, void **extra)
{
    const unsigned groups[] = {gx, gy, gz}, items[] = {x, y, z};
    if (extra)
        return CUDA_ERROR_NOT_SUPPORTED;
    return launch(f, groups, items, shared_bytes, stream, args, false);
}

CUresult cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z,
                                   unsigned shared_bytes, CUstream stream, void **args)
{
    const unsigned groups[] = {gx, gy, gz}, items[] = {x, y, z};
    return launch(f, groups, items, shared_bytes, stream, args, true);
}
