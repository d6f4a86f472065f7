/* cuda_launch.c - modules and kernels of the CUDA backend: one stream, in which kernels run in order. */
#include "device/cuda_launch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/cuda_loader.h"
#include "host/util/log.h"

enum { LONG_S = 10, MARKS = 4, MARK_EVERY = 64 };

static CUstream kernels;

/* The driver's queue of launches is finite. A launch into the full queue blocks inside the driver, with the context's lock,
 * for which the proxy's copies would wait, for which the kernels wait. So at most MARKS * MARK_EVERY launches are in it: an
 * event behind each MARK_EVERY-th, awaited outside of the driver MARKS later. */
static CUevent marks[MARKS];
static uint64_t n_launches;

/* Modules to unload when the device goes down. */
struct loaded {
    CUmodule module;
    struct loaded *next;
};
static struct loaded *modules;

/* A launch since the last sync with more work-groups than can be resident at once. */
static struct {
    char kernel[64];
    size_t groups, room;
} oversized;


int shi_cuda_launch_up(void)
{
    CUresult r = SHI_CU(cuStreamCreate(&kernels, CU_STREAM_NON_BLOCKING));
    for (int i = 0; !r && i < MARKS; i++)
        r = SHI_CU(cuEventCreate(&marks[i], CU_EVENT_DISABLE_TIMING));
    if (!r)
        return 0;
    shi_cuda_launch_down();
    return shi_cuda_failed("cuStreamCreate", r);
}

void shi_cuda_launch_down(void)
{
    if (kernels)
        SHI_CU(cuStreamSynchronize(kernels));
    for (struct loaded *m; (m = modules); free(m)) {
        modules = m->next;
        SHI_CU(cuModuleUnload(m->module));
    }
    for (int i = 0; i < MARKS; i++) {
        if (marks[i])
            SHI_CU(cuEventDestroy(marks[i]));
        marks[i] = NULL;
    }
    if (kernels)
        SHI_CU(cuStreamDestroy(kernels));
    kernels = NULL;
    n_launches = 0;
    oversized.groups = 0;
}

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
    if (r == CUDA_ERROR_NO_BINARY_FOR_GPU) {
        shi_log_error("CUDA: the kernel image of %zu bytes has no code for this GPU (sm_%d%d)", bytes,
                      shi_cuda_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
                      shi_cuda_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
        free(l);
        return -EINVAL;
    }
    if (r && log[0])
        shi_log_error("CUDA: the driver cannot build the kernels: %s", log);
    if (r) {
        free(l);
        return shi_cuda_failed("cuModuleLoadDataEx", r);
    }
    *l = (struct loaded){.module = m, .next = modules};
    modules = l;
    *module = m;
    return 0;
}

int shi_cuda_variable(void *module, const char *name, void **addr)
{
    CUdeviceptr at;
    size_t bytes;
    if (SHI_CU(cuModuleGetGlobal(&at, &bytes, module, name)))
        return -ENOENT;
    *addr = (void *)at;
    return 0;
}

/* cuLaunchKernel copies as many bytes as the kernel's parameter has: check the sizes given. */
static int check_args(const char *kernel, CUfunction f, const size_t *arg_bytes, int n_args)
{
    size_t offset, bytes = 0;
    for (int i = 0; shi_cu.cuFuncGetParamInfo && i <= n_args; i++) {
        int takes = SHI_CU(cuFuncGetParamInfo(f, (size_t)i, &offset, &bytes)) == CUDA_SUCCESS;
        if (shi_device_check_argument(kernel, i, i < n_args ? &arg_bytes[i] : NULL, takes ? &bytes : NULL))
            return -EINVAL;
    }
    return 0;
}

/* Work-groups that wait for each other or for other PEs must all be resident. Whether they wait is unknown here, so the
 * warning is printed only when the kernel runs long. */
static void note_oversized(const char *kernel, CUfunction f, size_t groups, size_t items)
{
    int each = 0;
    if (SHI_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, f, (int)items, 0)))
        return;
    size_t room = (size_t)each * (size_t)shi_cuda_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    if (groups <= room)
        return;
    shi_log_debug("kernel %s: %zu work-groups of %zu, of which the device runs at most %zu at once", kernel, groups,
                  items, room);
    snprintf(oversized.kernel, sizeof oversized.kernel, "%s", kernel);
    oversized.groups = groups;
    oversized.room = room;
}

/* Wait until the queue of launches has room, and mark the place of the next one. */
static CUresult make_room(void)
{
    static const struct timespec nap = {.tv_nsec = 20000};
    CUevent e = marks[n_launches / MARK_EVERY % MARKS];
    CUresult r = CUDA_SUCCESS;
    if (n_launches++ % MARK_EVERY)
        return r;
    while (n_launches > MARKS * MARK_EVERY && (r = SHI_CU(cuEventQuery(e))) == CUDA_ERROR_NOT_READY)
        nanosleep(&nap, NULL);
    return r ? r : SHI_CU(cuEventRecord(e, kernels));
}

int shi_cuda_launch(void *module, const char *kernel, const struct shi_device_grid *g, void *const *args,
                  const size_t *arg_bytes, int n_args)
{
    CUfunction f;
    if (SHI_CU(cuModuleGetFunction(&f, module, kernel)))
        return -ENOENT;
    int err = check_args(kernel, f, arg_bytes, n_args);
    if (err)
        return err;
    note_oversized(kernel, f, g->groups[0] * g->groups[1] * g->groups[2], g->items[0] * g->items[1] * g->items[2]);
    CUresult r = make_room();
    if (r)
        return shi_cuda_failed("a kernel launched earlier", r);
    r = SHI_CU(cuLaunchKernel(f, (unsigned)g->groups[0], (unsigned)g->groups[1], (unsigned)g->groups[2],
                                          (unsigned)g->items[0], (unsigned)g->items[1], (unsigned)g->items[2], 0,
                                          kernels, (void **)args, NULL));
    return r ? shi_cuda_failed("cuLaunchKernel", r) : 0;
}

/* Warn when a kernel runs long and not all its work-groups can be resident. */
static void warn_oversized(void)
{
    static const struct timespec nap = {.tv_nsec = 20000000};
    for (int i = 0; i < LONG_S * 50; i++) {
        if (SHI_CU(cuStreamQuery(kernels)) != CUDA_ERROR_NOT_READY)
            return;
        nanosleep(&nap, NULL);
    }
    shi_log_error("kernel %s has run for %d s: it has %zu work-groups and the device runs at most %zu at once; if they "
                  "wait for each other or for other PEs, it never ends: launch fewer", oversized.kernel, LONG_S,
                  oversized.groups, oversized.room);
}

int shi_cuda_finish(void)
{
    if (oversized.groups)
        warn_oversized();
    oversized.groups = 0;
    CUresult r = SHI_CU(cuStreamSynchronize(kernels));
    return r ? shi_cuda_failed("cuStreamSynchronize, which waits for kernels,", r) : 0;
}

int shi_cuda_busy(void)
{
    return SHI_CU(cuStreamQuery(kernels)) == CUDA_ERROR_NOT_READY;
}
