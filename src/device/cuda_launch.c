/*
 * cuda_launch.c - launches of kernels of the CUDA backend, and host calls between kernels.
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
#include "device/cuda_module.h"
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

/* cuLaunchKernel copies as many bytes as the kernel's parameter has: check the sizes given. */
static int check_args(const struct shi_cuda_kernel *k, const size_t *arg_bytes, int n_args)
{
    for (int i = 0; k->n_params >= 0 && (i < n_args || i < k->n_params); i++)
        if (shi_device_check_argument(k->name, i, i < n_args ? &arg_bytes[i] : NULL, i < k->n_params ? &k->param[i] : NULL))
            return -EINVAL;
    return 0;
}

/* Work-groups that wait for each other or for other PEs must all be resident. Whether they wait is unknown here, so the
 * warning is printed only when the kernel runs long. */
static void note_oversized(struct shi_cuda_kernel *k, const struct shi_device_grid *g)
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
    struct shi_cuda_kernel *k;
    int foreign, err = shi_cuda_kernel_find(module, name, &k, &foreign);
    if (err)
        return err;
    err = check_args(k, arg_bytes, n_args);
    if (!err) {
        note_oversized(k, g);
        err = queue.entered == queue.ended ? start(k->function, g, args) : postpone(k->function, g, args, arg_bytes, n_args);
    }
    if (foreign)
        shi_cuda_kernel_drop(k);
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
        r = shi_cuda_modules_up(kernels);
    if (!r)
        return 0;
    shi_cuda_launch_down();
    return shi_cuda_failed("cuStreamCreate", r);
}

void shi_cuda_launch_down(void)
{
    stop_thread();
    if (kernels)
        SHI_CU(cuStreamSynchronize(kernels));
    shi_cuda_modules_down();
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
