/*
 * ze_launch.c - kernels of the Level Zero backend: one queue, which also orders host calls between them. Each launch or call is a
 * command list of its own.
 */
#include "device/ze_launch.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/ze_loader.h"
#include "host/util/log.h"
#include "host/util/thread.h"

static struct shi_ze_device used;
static ze_command_queue_handle_t kernels;
static ze_result_t (*argument_bytes)(ze_kernel_handle_t, uint32_t, uint32_t *); /* an extension of some drivers, else NULL */

/* Objects to destroy when the queue is idle, or when the device goes down. */
struct kept {
    enum { KEPT_LIST, KEPT_KERNEL, KEPT_MODULE, KEPT_EVENT, KEPT_POOL } kind;
    void *handle;
    struct kept *next;
};
static struct kept *launched, *owned;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER; /* while free, all of `launched` is in the queue */

static int keep(struct kept **list, int kind, void *handle)
{
    struct kept *k = malloc(sizeof *k);
    if (!k)
        return -ENOMEM;
    *k = (struct kept){.kind = kind, .handle = handle, .next = *list};
    *list = k;
    return 0;
}

static void let_go(struct kept **list)
{
    for (struct kept *k; (k = *list); free(k)) {
        *list = k->next;
        switch (k->kind) {
        case KEPT_LIST: shi_ze.zeCommandListDestroy(k->handle); break;
        case KEPT_KERNEL: shi_ze.zeKernelDestroy(k->handle); break;
        case KEPT_MODULE: shi_ze.zeModuleDestroy(k->handle); break;
        case KEPT_EVENT: shi_ze.zeEventDestroy(k->handle); break;
        case KEPT_POOL: shi_ze.zeEventPoolDestroy(k->handle); break;
        }
    }
}

/* ---- modules and kernels ------------------------------------------------------------------------------------------- */

static void log_build(ze_module_build_log_handle_t log)
{
    char text[700];
    size_t n = 0;
    if (shi_ze.zeModuleBuildLogGetString(log, &n, NULL) || n == 0)
        return;
    char *all = malloc(n);
    if (all && shi_ze.zeModuleBuildLogGetString(log, &n, all) == ZE_RESULT_SUCCESS) {
        snprintf(text, sizeof text, "%s", all);
        shi_log_error("the driver cannot build the kernels: %s", text);
    }
    free(all);
}

int shi_ze_is_spirv(const void *image, size_t bytes)
{
    static const unsigned magic = 0x07230203;
    return bytes >= sizeof magic && memcmp(image, &magic, sizeof magic) == 0;
}

int shi_ze_load_module(const void *image, size_t bytes, void **module)
{
    if (!shi_ze_is_spirv(image, bytes))
        return -ENOEXEC;
    ze_module_desc_t d = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV,
                          .inputSize = bytes, .pInputModule = image, .pBuildFlags = ""};
    ze_module_handle_t m;
    ze_module_build_log_handle_t log = NULL;
    int err = SHI_ZE(zeModuleCreate, used.context, used.device, &d, &m, &log);
    if (err && log)
        log_build(log);
    if (log)
        shi_ze.zeModuleBuildLogDestroy(log);
    if (err)
        return err;
    *module = m;
    return keep(&owned, KEPT_MODULE, m);
}

int shi_ze_variable(void *module, const char *name, void **addr)
{
    size_t bytes;
    return shi_ze.zeModuleGetGlobalPointer(module, name, &bytes, addr) ? -ENOENT : 0;
}

/* Each launch or host call is a list of its own; the queue executes them in order. */
static int open_list(ze_command_list_handle_t *list)
{
    ze_command_list_desc_t d = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    int err = SHI_ZE(zeCommandListCreate, used.context, used.device, &d, list);
    return err ? err : keep(&launched, KEPT_LIST, *list);
}

static int execute(ze_command_list_handle_t list)
{
    int err = SHI_ZE(zeCommandListClose, list);
    return err ? err : SHI_ZE(zeCommandQueueExecuteCommandLists, kernels, 1, &list, NULL);
}

static int start(ze_kernel_handle_t k, const struct shi_device_grid *g)
{
    ze_command_list_handle_t list;
    int err = open_list(&list);
    if (err)
        return err;
    ze_group_count_t groups = {(uint32_t)g->groups[0], (uint32_t)g->groups[1], (uint32_t)g->groups[2]};
    err = SHI_ZE(zeCommandListAppendLaunchKernel, list, k, &groups, NULL, 0, NULL);
    return err ? err : execute(list);
}

/* The driver checks each argument's size; some drivers report the expected size of a refused one. */
static int set_args(const char *kernel, ze_kernel_handle_t k, void *const *args, const size_t *arg_bytes, int n_args)
{
    ze_kernel_properties_t p = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
    ze_result_t r = ZE_RESULT_SUCCESS;
    if (SHI_ZE(zeKernelGetProperties, k, &p))
        return -EIO;
    int n_taken = (int)p.numKernelArgs;
    for (int i = 0; i < n_args || i < n_taken; i++) {
        size_t taken = i < n_args ? arg_bytes[i] : 0;
        uint32_t bytes;
        if (i < n_args && i < n_taken && !(r = shi_ze.zeKernelSetArgumentValue(k, (uint32_t)i, arg_bytes[i], args[i])))
            continue;
        if (argument_bytes && !argument_bytes(k, (uint32_t)i, &bytes))
            taken = bytes;
        if (shi_device_check_argument(kernel, i, i < n_args ? &arg_bytes[i] : NULL, i < n_taken ? &taken : NULL))
            return -EINVAL;
        shi_log_error("shmemx_launch: kernel %s: the device refuses argument %d of %zu bytes", kernel, i, arg_bytes[i]);
        return shi_ze_checked("zeKernelSetArgumentValue", r);
    }
    return 0;
}

static int start_kernel(void *module, const char *kernel, const struct shi_device_grid *grid, void *const *args,
                        const size_t *arg_bytes, int n_args)
{
    ze_kernel_desc_t d = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = kernel};
    ze_kernel_handle_t k;
    ze_result_t r = shi_ze.zeKernelCreate(module, &d, &k);
    if (r == ZE_RESULT_ERROR_INVALID_KERNEL_NAME)
        return -ENOENT;
    int err = shi_ze_checked("zeKernelCreate", r);
    if (err)
        return err;
    err = keep(&launched, KEPT_KERNEL, k);
    if (!err)
        err = SHI_ZE(zeKernelSetGroupSize, k, (uint32_t)grid->items[0], (uint32_t)grid->items[1], (uint32_t)grid->items[2]);
    if (!err)
        err = SHI_ZE(zeKernelSetIndirectAccess, k, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST | ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE);
    if (!err)
        err = set_args(kernel, k, args, arg_bytes, n_args);
    return err ? err : start(k, grid);
}

int shi_ze_launch(void *module, const char *kernel, const struct shi_device_grid *grid, void *const *args,
                  const size_t *arg_bytes, int n_args)
{
    pthread_mutex_lock(&starting);
    int err = start_kernel(module, kernel, grid, args, arg_bytes, n_args);
    pthread_mutex_unlock(&starting);
    return err;
}

/* ---- host calls between kernels -------------------------------------------------------------------------------------- */

/* The call waits for an event of the queue, the queue for an event of the call. */
struct call {
    void (*fn)(void *);
    void *arg;
    ze_event_handle_t reached, done;
    struct call *next;
};

static struct {
    pthread_mutex_t lock; /* for all fields below */
    pthread_cond_t changed;
    pthread_t thread;
    struct call *first, *last;
    int up, stop, busy;
} caller = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void *serve_calls(void *none)
{
    pthread_mutex_lock(&caller.lock);
    for (;;) {
        while (!caller.first && !caller.stop)
            pthread_cond_wait(&caller.changed, &caller.lock);
        struct call *c = caller.first;
        if (!c)
            break;
        caller.first = c->next;
        caller.busy = 1;
        pthread_mutex_unlock(&caller.lock);
        shi_ze.zeEventHostSynchronize(c->reached, UINT64_MAX);
        c->fn(c->arg);
        shi_ze.zeEventHostSignal(c->done);
        free(c);
        pthread_mutex_lock(&caller.lock);
        caller.busy = 0;
        pthread_cond_broadcast(&caller.changed);
    }
    pthread_mutex_unlock(&caller.lock);
    return none;
}

static int start_caller(void)
{
    int err = shi_thread_start(&caller.thread, serve_calls, NULL, "shmem-queue");
    caller.up = !err;
    return err;
}

static void wait_for_calls(void)
{
    pthread_mutex_lock(&caller.lock);
    while (caller.first || caller.busy)
        pthread_cond_wait(&caller.changed, &caller.lock);
    pthread_mutex_unlock(&caller.lock);
}

static void stop_caller(void)
{
    if (!caller.up)
        return;
    pthread_mutex_lock(&caller.lock);
    caller.stop = 1;
    pthread_cond_broadcast(&caller.changed);
    pthread_mutex_unlock(&caller.lock);
    pthread_join(caller.thread, NULL);
    caller.up = caller.stop = 0;
}

static int make_events(struct call *c)
{
    ze_event_pool_desc_t d = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                              .count = 2};
    ze_event_desc_t e = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .signal = ZE_EVENT_SCOPE_FLAG_HOST,
                         .wait = ZE_EVENT_SCOPE_FLAG_HOST};
    ze_event_pool_handle_t pool;
    int err = SHI_ZE(zeEventPoolCreate, used.context, &d, 1, &used.device, &pool);
    if (!err)
        err = keep(&launched, KEPT_POOL, pool);
    for (e.index = 0; !err && e.index < 2; e.index++) {
        ze_event_handle_t *event = e.index ? &c->done : &c->reached;
        err = SHI_ZE(zeEventCreate, pool, &e, event);
        err = err ? err : keep(&launched, KEPT_EVENT, *event);
    }
    return err;
}

static int append_call(const struct call *c)
{
    ze_command_list_handle_t list;
    ze_event_handle_t done = c->done;
    int err = open_list(&list);
    if (!err)
        err = SHI_ZE(zeCommandListAppendSignalEvent, list, c->reached);
    if (!err)
        err = SHI_ZE(zeCommandListAppendWaitOnEvents, list, 1, &done);
    return err ? err : execute(list);
}

static int start_call(void (*fn)(void *), void *arg)
{
    struct call *c = malloc(sizeof *c);
    if (!c)
        return -ENOMEM;
    *c = (struct call){.fn = fn, .arg = arg};
    int err = caller.up ? 0 : start_caller();
    if (!err)
        err = make_events(c);
    if (!err)
        err = append_call(c);
    if (err) {
        free(c);
        return err;
    }
    pthread_mutex_lock(&caller.lock);
    if (caller.first)
        caller.last->next = c;
    else
        caller.first = c;
    caller.last = c;
    pthread_cond_broadcast(&caller.changed);
    pthread_mutex_unlock(&caller.lock);
    return 0;
}

int shi_ze_host_call(void (*fn)(void *), void *arg)
{
    pthread_mutex_lock(&starting);
    int err = start_call(fn, arg);
    pthread_mutex_unlock(&starting);
    return err;
}

int shi_ze_finish(void)
{
    pthread_mutex_lock(&starting);
    struct kept *before = launched; /* later launches of other threads are not waited for */
    launched = NULL;
    pthread_mutex_unlock(&starting);
    int err = SHI_ZE(zeCommandQueueSynchronize, kernels, UINT64_MAX);
    wait_for_calls();
    let_go(&before);
    return err;
}

int shi_ze_busy(void)
{
    return shi_ze.zeCommandQueueSynchronize(kernels, 0) == ZE_RESULT_NOT_READY;
}

int shi_ze_launch_up(const struct shi_ze_device *device)
{
    ze_command_queue_desc_t q = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    used = *device;
    int err = SHI_ZE(zeCommandQueueCreate, used.context, used.device, &q, &kernels);
    if (err)
        return err;
    if (shi_ze.zeDriverGetExtensionFunctionAddress(used.driver, "zexKernelGetArgumentSize", (void **)&argument_bytes))
        argument_bytes = NULL;
    return 0;
}

void shi_ze_launch_down(void)
{
    shi_ze_finish();
    stop_caller();
    let_go(&owned);
    shi_ze.zeCommandQueueDestroy(kernels);
}
