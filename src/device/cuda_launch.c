/*
 * cuda_launch.c - modules and kernels of the CUDA backend, and host calls between kernels.
 *
 * Kernels run in one stream. Host calls make CUDA calls, which cuLaunchHostFunc forbids, and a stream that waited for the host
 * could hold up other streams that share its hardware queue, the call's own copies among them. So no command of a stream waits
 * for a host call: while one is outstanding, launches wait in `queue`, and a thread starts them after it.
 */
#include "device/cuda_launch.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/cuda_loader.h"
#include "device/lib/state.h"
#include "host/util/base.h"
#include "host/util/log.h"
#include "host/util/thread.h"

enum { LONG_S = 10, MARKS = 4, MARK_EVERY = 64, YIELDS = 200 };

static CUstream kernels;

/* The driver's queue of launches is finite. A launch into the full queue blocks inside the driver, with the context's lock,
 * for which the proxy's copies would wait, for which the kernels wait. So at most MARKS * MARK_EVERY launches are in it: an
 * event behind each MARK_EVERY-th, awaited outside of the driver MARKS later. */
static CUevent marks[MARKS];
static uint64_t n_launches;

/* What the driver has reported of a kernel: each query is made once for a kernel of our modules. */
struct kernel {
    struct kernel *next;
    CUfunction function;
    size_t items, room; /* room: groups of `items` that the device runs at once; items 0: not queried */
    int n_params;       /* entries in param; -1: the driver does not report them */
    size_t *param;      /* bytes */
    char name[];
};

/* Modules to unload when the device goes down. */
enum { SYMBOLS = 2 };
struct loaded {
    CUmodule module;
    uint64_t symbol[SYMBOLS]; /* addresses that the module's kernel has reported, or 0 */
    struct kernel *kernels;
    struct loaded *next;
};
static struct loaded *modules;
static uint64_t *reported; /* pinned: SYMBOLS words that a kernel writes */

/* A launch since the last sync with more work-groups than can be resident at once. */
static struct {
    char kernel[64];
    size_t groups, room;
} oversized;

/* A host call, or a launch behind one. */
struct item {
    struct item *next;
    void (*fn)(void *); /* NULL: a launch */
    void *arg;
    CUfunction function;
    struct shi_device_grid grid;
    void **args; /* copies, after this structure */
};

static struct {
    pthread_mutex_t lock; /* for all of this file; not held while a call runs or a stream is awaited */
    pthread_cond_t changed;
    pthread_t thread;
    struct item *first, **last;
    uint64_t entered, ended; /* items; atomic, written under the lock */
    int up, stop, err;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- modules ------------------------------------------------------------------------------------------------------ */

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
    pthread_mutex_lock(&queue.lock);
    *l = (struct loaded){.module = m, .next = modules};
    modules = l;
    pthread_mutex_unlock(&queue.lock);
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
    CUresult r = SHI_CU(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, kernels, args, NULL));
    if (!r)
        r = SHI_CU(cuStreamSynchronize(kernels));
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

int shi_cuda_variable(void *module, const char *name, void **addr)
{
    CUdeviceptr at;
    size_t bytes;
    if (SHI_CU(cuModuleGetGlobal(&at, &bytes, module, name)) == CUDA_SUCCESS) {
        *addr = (void *)at;
        return 0;
    }
    pthread_mutex_lock(&queue.lock);
    int err = find_symbol(module, name, addr);
    pthread_mutex_unlock(&queue.lock);
    return err;
}

/* ---- what the driver reports of a kernel --------------------------------------------------------------------------- */

static void drop_kernel(struct kernel *k)
{
    free(k->param);
    free(k);
}

/* Query the sizes of the parameters. 0 or -ENOMEM. */
static int find_params(struct kernel *k)
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

static int make_kernel(CUfunction f, const char *name, struct kernel **out)
{
    struct kernel *k = calloc(1, sizeof *k + strlen(name) + 1);
    if (!k)
        return -ENOMEM;
    k->function = f;
    strcpy(k->name, name);
    int err = find_params(k);
    if (err)
        drop_kernel(k);
    else
        *out = k;
    return err;
}

/* *foreign: the caller drops *out. A program can unload its own modules, so their kernels are not kept. */
static int find_kernel(void *module, const char *name, struct kernel **out, int *foreign)
{
    struct loaded *l = modules;
    CUfunction f;
    while (l && l->module != module)
        l = l->next;
    *foreign = !l;
    for (struct kernel *k = l ? l->kernels : NULL; k; k = k->next)
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

/* cuLaunchKernel copies as many bytes as the kernel's parameter has: check the sizes given. */
static int check_args(const struct kernel *k, const size_t *arg_bytes, int n_args)
{
    for (int i = 0; k->n_params >= 0 && (i < n_args || i < k->n_params); i++)
        if (shi_device_check_argument(k->name, i, i < n_args ? &arg_bytes[i] : NULL, i < k->n_params ? &k->param[i] : NULL))
            return -EINVAL;
    return 0;
}

/* Work-groups that wait for each other or for other PEs must all be resident. Whether they wait is unknown here, so the
 * warning is printed only when the kernel runs long. */
static void note_oversized(struct kernel *k, const struct shi_device_grid *g)
{
    size_t groups = g->groups[0] * g->groups[1] * g->groups[2], items = g->items[0] * g->items[1] * g->items[2];
    int each = 0;
    if (k->items != items) {
        k->items = items;
        k->room = SIZE_MAX;
        if (SHI_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&each, k->function, (int)items, 0)) == CUDA_SUCCESS)
            k->room = (size_t)each * (size_t)shi_cuda_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    }
    if (groups <= k->room)
        return;
    shi_log_debug("kernel %s: %zu work-groups of %zu, of which the device runs at most %zu at once", k->name, groups, items,
                  k->room);
    snprintf(oversized.kernel, sizeof oversized.kernel, "%s", k->name);
    oversized.groups = groups;
    oversized.room = k->room;
}

/* ---- launches ----------------------------------------------------------------------------------------------------- */

static void nap(long ns)
{
    nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

/* Wait until the queue of launches has room, and mark the place of the next one. */
static CUresult make_room(void)
{
    CUevent e = marks[n_launches / MARK_EVERY % MARKS];
    CUresult r = CUDA_SUCCESS;
    if (n_launches++ % MARK_EVERY)
        return r;
    while (n_launches > MARKS * MARK_EVERY && (r = SHI_CU(cuEventQuery(e))) == CUDA_ERROR_NOT_READY)
        nap(20000);
    return r ? r : SHI_CU(cuEventRecord(e, kernels));
}

static int start(CUfunction f, const struct shi_device_grid *g, void *const *args)
{
    CUresult r = make_room();
    if (r)
        return shi_cuda_failed("a kernel launched earlier", r);
    r = SHI_CU(cuLaunchKernel(f, (unsigned)g->groups[0], (unsigned)g->groups[1], (unsigned)g->groups[2], (unsigned)g->items[0],
                              (unsigned)g->items[1], (unsigned)g->items[2], 0, kernels, (void **)args, NULL));
    return r ? shi_cuda_failed("cuLaunchKernel", r) : 0;
}

static void enter(struct item *i)
{
    *queue.last = i;
    queue.last = &i->next;
    __atomic_store_n(&queue.entered, queue.entered + 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&queue.changed);
}

/* Enter a launch with copies of its arguments. */
static int postpone(CUfunction f, const struct shi_device_grid *g, void *const *args, const size_t *arg_bytes, int n_args)
{
    enum { ALIGN = 16 };
    size_t bytes = sizeof(struct item) + (size_t)n_args * sizeof(void *) + ALIGN;
    for (int i = 0; i < n_args; i++)
        bytes += (arg_bytes[i] + ALIGN - 1) & -(size_t)ALIGN;
    struct item *it = calloc(1, bytes);
    if (!it)
        return -ENOMEM;
    *it = (struct item){.function = f, .grid = *g, .args = (void **)(it + 1)};
    char *at = (char *)(((uintptr_t)(it->args + n_args) + ALIGN - 1) & -(uintptr_t)ALIGN);
    for (int i = 0; i < n_args; i++) {
        it->args[i] = memcpy(at, args[i], arg_bytes[i]);
        at += (arg_bytes[i] + ALIGN - 1) & -(size_t)ALIGN;
    }
    enter(it);
    return 0;
}

static int launch(void *module, const char *name, const struct shi_device_grid *g, void *const *args, const size_t *arg_bytes,
                  int n_args)
{
    struct kernel *k;
    int foreign, err = find_kernel(module, name, &k, &foreign);
    if (err)
        return err;
    err = check_args(k, arg_bytes, n_args);
    if (!err) {
        note_oversized(k, g);
        err = queue.entered == queue.ended ? start(k->function, g, args) : postpone(k->function, g, args, arg_bytes, n_args);
    }
    if (foreign)
        drop_kernel(k);
    return err;
}

int shi_cuda_launch(void *module, const char *kernel, const struct shi_device_grid *g, void *const *args,
                    const size_t *arg_bytes, int n_args)
{
    pthread_mutex_lock(&queue.lock);
    int err = launch(module, kernel, g, args, arg_bytes, n_args);
    pthread_mutex_unlock(&queue.lock);
    return err;
}

/* ---- host calls --------------------------------------------------------------------------------------------------- */

/* Wait until all kernels in the stream have ended; do not block in the driver, nor use a core for long. */
static CUresult drain(void)
{
    CUresult r;
    for (int i = 0; (r = SHI_CU(cuStreamQuery(kernels))) == CUDA_ERROR_NOT_READY; i++)
        if (i < YIELDS)
            sched_yield();
        else
            nap(50000);
    return r;
}

static int carry_out(struct item *i)
{
    if (!i->fn) {
        pthread_mutex_lock(&queue.lock); /* for make_room */
        int err = start(i->function, &i->grid, i->args);
        pthread_mutex_unlock(&queue.lock);
        return err;
    }
    CUresult r = drain();
    i->fn(i->arg); /* after a failed kernel, too: it frees its arguments */
    return r ? shi_cuda_failed("a kernel before a host call", r) : 0;
}

static void *serve(void *none)
{
    pthread_mutex_lock(&queue.lock);
    for (;;) {
        while (!queue.first && !queue.stop)
            pthread_cond_wait(&queue.changed, &queue.lock);
        struct item *i = queue.first;
        if (!i)
            break;
        pthread_mutex_unlock(&queue.lock);
        int err = carry_out(i);
        pthread_mutex_lock(&queue.lock);
        queue.first = i->next;
        if (!queue.first)
            queue.last = &queue.first;
        queue.err = queue.err ? queue.err : err;
        __atomic_store_n(&queue.ended, queue.ended + 1, __ATOMIC_RELEASE);
        pthread_cond_broadcast(&queue.changed);
        free(i);
    }
    pthread_mutex_unlock(&queue.lock);
    return none;
}

static int start_thread(void)
{
    int err = queue.up ? 0 : shi_thread_start(&queue.thread, serve, NULL, "shmem-queue");
    queue.up |= !err;
    return err;
}

int shi_cuda_host_call(void (*fn)(void *), void *arg)
{
    struct item *i = malloc(sizeof *i);
    if (!i)
        return -ENOMEM;
    *i = (struct item){.fn = fn, .arg = arg};
    pthread_mutex_lock(&queue.lock);
    int err = start_thread();
    if (!err)
        enter(i);
    pthread_mutex_unlock(&queue.lock);
    if (err)
        free(i);
    return err;
}

/* Wait for the items entered so far; the first error of items. */
static int finish_items(void)
{
    pthread_mutex_lock(&queue.lock);
    uint64_t until = queue.entered;
    while ((int64_t)(queue.ended - until) < 0)
        pthread_cond_wait(&queue.changed, &queue.lock);
    int err = queue.err;
    queue.err = 0;
    pthread_mutex_unlock(&queue.lock);
    return err;
}

static void stop_thread(void)
{
    pthread_mutex_lock(&queue.lock);
    int was_up = queue.up;
    queue.stop = 1;
    pthread_cond_broadcast(&queue.changed);
    pthread_mutex_unlock(&queue.lock);
    if (was_up)
        pthread_join(queue.thread, NULL);
    queue.up = queue.stop = 0;
}

/* ---- the end of kernels ------------------------------------------------------------------------------------------- */

/* Warn when a kernel runs long and not all its work-groups can be resident. */
static void warn_oversized(void)
{
    for (uint64_t begin = shi_now_ns(); shi_now_ns() - begin < LONG_S * 1000000000ull; nap(20000000))
        if (!shi_cuda_busy())
            return;
    shi_log_error("kernel %s has run for %d s: it has %zu work-groups and the device runs at most %zu at once; if they "
                  "wait for each other or for other PEs, it never ends: launch fewer", oversized.kernel, LONG_S,
                  oversized.groups, oversized.room);
}

int shi_cuda_finish(void)
{
    if (oversized.groups)
        warn_oversized();
    oversized.groups = 0;
    int err = finish_items();
    CUresult r = SHI_CU(cuStreamSynchronize(kernels));
    return r ? shi_cuda_failed("cuStreamSynchronize, which waits for kernels,", r) : err;
}

int shi_cuda_busy(void)
{
    return __atomic_load_n(&queue.ended, __ATOMIC_ACQUIRE) != __atomic_load_n(&queue.entered, __ATOMIC_ACQUIRE) ||
           SHI_CU(cuStreamQuery(kernels)) == CUDA_ERROR_NOT_READY;
}

/* ---- start and end ------------------------------------------------------------------------------------------------- */

int shi_cuda_launch_up(void)
{
    queue.last = &queue.first;
    CUresult r = SHI_CU(cuStreamCreate(&kernels, CU_STREAM_NON_BLOCKING));
    for (int i = 0; !r && i < MARKS; i++)
        r = SHI_CU(cuEventCreate(&marks[i], CU_EVENT_DISABLE_TIMING));
    if (!r)
        r = SHI_CU(cuMemHostAlloc((void **)&reported, SYMBOLS * sizeof *reported, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    if (!r)
        return 0;
    shi_cuda_launch_down();
    return shi_cuda_failed("cuStreamCreate", r);
}

static void drop_module(struct loaded *l)
{
    for (struct kernel *k; (k = l->kernels); drop_kernel(k))
        l->kernels = k->next;
    SHI_CU(cuModuleUnload(l->module));
    free(l);
}

void shi_cuda_launch_down(void)
{
    stop_thread();
    if (kernels)
        SHI_CU(cuStreamSynchronize(kernels));
    for (struct loaded *l; (l = modules);) {
        modules = l->next;
        drop_module(l);
    }
    for (int i = 0; i < MARKS; i++) {
        if (marks[i])
            SHI_CU(cuEventDestroy(marks[i]));
        marks[i] = NULL;
    }
    if (kernels)
        SHI_CU(cuStreamDestroy(kernels));
    if (reported)
        SHI_CU(cuMemFreeHost(reported));
    kernels = NULL;
    reported = NULL;
    n_launches = 0;
    oversized.groups = 0;
}
