/* cuda_module.c - modules of the CUDA backend, and what the driver reports of their variables and kernels. */
#include "device/cuda_module.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cuda_loader.h"
#include "device/device.h"
#include "device/lib/state.h"
#include "host/util/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all of this file */
static CUstream stream;

/* Modules to unload when the device goes down. */
enum { SYMBOLS = 2 };
struct loaded {
    CUmodule module;
    uint64_t symbol[SYMBOLS]; /* addresses that the module's kernel has reported, or 0 */
    struct shi_cuda_kernel *kernels;
    struct loaded *next;
};
static struct loaded *modules;
static uint64_t *reported; /* pinned: SYMBOLS words that a kernel writes */

/* Is the image a fatbin, a cubin, or PTX, which begins with comments and a line .version? */
static int is_image(const unsigned char *image, size_t bytes)
{
    static const unsigned char fatbin[] = {0x50, 0xed, 0x55, 0xba}, elf[] = {0x7f, 'E', 'L', 'F'};
    enum { MACHINE_AT = 18, MACHINE_CUDA = 190 };
    if (bytes < 32)
        return 0;
    if (memcmp(image, elf, sizeof elf) == 0)
        return image[MACHINE_AT] == MACHINE_CUDA && image[MACHINE_AT + 1] == 0;
    return memcmp(image, fatbin, sizeof fatbin) == 0 || memmem(image, bytes < 4096 ? bytes : 4096, "\n.version ", 10);
}

/* Load all kernels of a module now: if the program has initialized CUDA, lazy loading may be on, and a first launch would load
 * the kernel's code while another kernel runs, and wait for it. Drivers before 12.4 cannot be asked. */
static CUresult load_kernels(CUmodule m)
{
    unsigned n = 0;
    if (!shi_cu.cuModuleGetFunctionCount || !shi_cu.cuModuleEnumerateFunctions || !shi_cu.cuFuncLoad)
        return CUDA_SUCCESS;
    CUresult r = SHI_CU(cuModuleGetFunctionCount(&n, m));
    CUfunction *f = calloc(n + 1, sizeof *f);
    if (!f)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!r && n)
        r = SHI_CU(cuModuleEnumerateFunctions(f, n, m));
    for (unsigned i = 0; !r && i < n; i++)
        r = SHI_CU(cuFuncLoad(f[i]));
    free(f);
    return r;
}

static int refused(CUresult r, const char *log, size_t bytes)
{
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU) {
        shi_log_error("CUDA: the kernel image of %zu bytes has no code for this GPU (sm_%d%d)", bytes,
                      shi_cuda_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                      shi_cuda_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
        return -EINVAL;
    }
    if (log[0])
        shi_log_error("CUDA: the driver cannot build the kernels: %s", log);
    return shi_cuda_failed("cuModuleLoadDataEx", r);
}

int shi_cuda_load(const void *image, size_t bytes, void **module)
{
    char log[700] = "";
    int option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {log, (void *)(sizeof log - 1)};
    CUmodule m;
    if (!is_image(image, bytes))
        return -ENOEXEC;
    struct loaded *l = malloc(sizeof *l);
    if (!l)
        return -ENOMEM;
    CUresult r = SHI_CU(cuModuleLoadDataEx(&m, image, 2, option, value));
    if (r) {
        free(l);
        return refused(r, log, bytes);
    }
    *module = m;
    pthread_mutex_lock(&lock);
    *l = (struct loaded){.module = m, .next = modules};
    modules = l;
    pthread_mutex_unlock(&lock);
    r = load_kernels(m);
    return r ? shi_cuda_failed("cuFuncLoad", r) : 0;
}

/* nvcc makes variables local to a module that is not compiled with -rdc=true, and the driver need not find local ones. Kernels
 * are always found: the device library has one that reports the addresses of its variables (SHI_SYMBOLS). */
static int ask_module(CUmodule module, uint64_t symbol[SYMBOLS])
{
    CUfunction f;
    void *args[] = {&reported};
    if (SHI_CU(cuModuleGetFunction(&f, module, "shmemg_symbols_")))
        return -ENOENT;
    CUresult r = SHI_CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, args, NULL));
    if (!r)
        r = SHI_CU(cuStreamSynchronize(stream));
    memcpy(symbol, reported, SYMBOLS * sizeof *symbol);
    return r ? shi_cuda_failed("a kernel that reports addresses", r) : 0;
}

static int find_symbol(CUmodule module, const char *name, void **addr)
{
    static const char *const names[SYMBOLS] = {SHMEMG_DEFAULT_NAME_, "shmemg_fault_"};
    struct loaded *l = modules, foreign = {0};
    int i = 0;
    while (i < SYMBOLS && strcmp(name, names[i]))
        i++;
    while (l && l->module != module)
        l = l->next;
    l = l ? l : &foreign;
    if (i == SYMBOLS || (!l->symbol[i] && ask_module(module, l->symbol)))
        return -ENOENT;
    *addr = (void *)l->symbol[i];
    return 0;
}

/* Where device code is linked, a variable of nvshmem.h has the name of C++ for shi_device::NAME: nvcc knows no C names in namespaces. */
int shi_cuda_variable(void *module, const char *name, void **addr)
{
    CUdeviceptr at;
    size_t bytes;
    char nested[80];
    snprintf(nested, sizeof nested, "_ZN10shi_device%zu%sE", strlen(name), name);
    if (SHI_CU(cuModuleGetGlobal(&at, &bytes, module, name)) == CUDA_SUCCESS ||
        SHI_CU(cuModuleGetGlobal(&at, &bytes, module, nested)) == CUDA_SUCCESS) {
        *addr = (void *)at;
        return 0;
    }
    pthread_mutex_lock(&lock);
    int err = find_symbol(module, name, addr);
    pthread_mutex_unlock(&lock);
    return err;
}

/* ---- what the driver reports of a kernel --------------------------------------------------------------------------- */

void shi_cuda_kernel_drop(struct shi_cuda_kernel *k)
{
    free(k->param);
    free(k);
}

/* Query the sizes of the parameters. 0 or -ENOMEM. */
static int find_params(struct shi_cuda_kernel *k)
{
    size_t offset, bytes, *more;
    k->n_params = shi_cu.cuFuncGetParamInfo ? 0 : -1;
    while (k->n_params >= 0 && SHI_CU(cuFuncGetParamInfo(k->function, (size_t)k->n_params, &offset, &bytes)) == CUDA_SUCCESS) {
        more = realloc(k->param, ((size_t)k->n_params + 1) * sizeof *more);
        if (!more)
            return -ENOMEM;
        k->param = more;
        k->param[k->n_params++] = bytes;
    }
    return 0;
}

static int make_kernel(CUfunction f, const char *name, struct shi_cuda_kernel **out)
{
    struct shi_cuda_kernel *k = calloc(1, sizeof *k + strlen(name) + 1);
    if (!k)
        return -ENOMEM;
    k->function = f;
    strcpy(k->name, name);
    int err = find_params(k);
    if (err)
        shi_cuda_kernel_drop(k);
    else
        *out = k;
    return err;
}

static int find(void *module, const char *name, struct shi_cuda_kernel **out, int *foreign)
{
    struct loaded *l = modules;
    CUfunction f;
    while (l && l->module != module)
        l = l->next;
    *foreign = !l;
    for (struct shi_cuda_kernel *k = l ? l->kernels : NULL; k; k = k->next)
        if (strcmp(k->name, name) == 0) {
            *out = k;
            return 0;
        }
    if (SHI_CU(cuModuleGetFunction(&f, module, name)))
        return -ENOENT;
    int err = make_kernel(f, name, out);
    if (!err && l) {
        (*out)->next = l->kernels;
        l->kernels = *out;
    }
    return err;
}

int shi_cuda_kernel_find(void *module, const char *name, struct shi_cuda_kernel **out, int *foreign)
{
    pthread_mutex_lock(&lock);
    int err = find(module, name, out, foreign);
    pthread_mutex_unlock(&lock);
    return err;
}

/* ---- start and end ------------------------------------------------------------------------------------------------- */

CUresult shi_cuda_modules_up(CUstream kernels)
{
    stream = kernels;
    return SHI_CU(cuMemHostAlloc((void **)&reported, SYMBOLS * sizeof *reported, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
}

static void drop_module(struct loaded *l)
{
    for (struct shi_cuda_kernel *k; (k = l->kernels); shi_cuda_kernel_drop(k))
        l->kernels = k->next;
    SHI_CU(cuModuleUnload(l->module));
    free(l);
}

void shi_cuda_modules_down(void)
{
    for (struct loaded *l; (l = modules);) {
        modules = l->next;
        drop_module(l);
    }
    if (reported)
        SHI_CU(cuMemFreeHost(reported));
    reported = NULL;
}
