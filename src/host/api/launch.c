/* launch.c - entry points of kernels: register, launch, wait. */
#include "host/api/launch.h"

#include <errno.h>
#include <pthread.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "device/lib/state.h"
#include "host/api/def.h"
#include "host/coll/team.h"
#include "host/init/device_heap.h"
#include "host/observe/counts.h"
#include "host/ops/dheap.h"
#include "host/ops/launched.h"
#include "host/survive/survive.h"
#include "host/util/log.h"
#include "host/util/trace_format.h"
#include "proxy/handle.h"
#include "proxy/proxy.h"

/* Code that oshcc adds to the program registers images before main; modules are built at the first launch, or the program
 * supplies them. */
static struct image {
    const void *bytes; /* NULL: the module is the program's */
    size_t n;
    void *module;
    struct image *next;
} *images;
static int registered; /* forget_modules is, for when the device goes down */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all above */

void shmemx_kernels_register(const void *image, size_t bytes)
{
    struct image *i = malloc(sizeof *i);
    if (!i)
        shi_die(__func__, "out of memory");
    pthread_mutex_lock(&lock);
    *i = (struct image){.bytes = image, .n = bytes, .next = images};
    images = i;
    pthread_mutex_unlock(&lock);
    shi_device_registered(image, bytes);
}

/* The device goes down, and its modules with it: after a later shmem_init they are built anew. */
static void forget_modules(void)
{
    for (struct image *i, **at = &images; (i = *at);) {
        i->module = NULL;
        if (i->bytes) {
            at = &i->next;
        } else {
            *at = i->next;
            free(i);
        }
    }
    registered = 0;
}

static const char ctx_name[] = SHMEMG_DEFAULT_NAME_;

/* Store the default context in a module. 0, or -ENOENT when the module does not contain the device library. */
static int tell_module(const char *routine, void *module)
{
    void *at;
    int err = shi_device->variable(module, ctx_name, &at);
    if (!err)
        shi_dheap_copy(routine, at, shi_handle_default(), sizeof(struct shi_dev_ctx));
    return err;
}

/* Build the modules that are not built; modules without communication need nothing more. */
static void build_modules(const char *routine)
{
    for (struct image *i = images; i; i = i->next) {
        if (i->module)
            continue;
        int err = shi_device->load(i->bytes, i->n, &i->module);
        if (err == -ENOEXEC)
            continue;
        if (err)
            shi_die(routine, "%zu bytes of kernels were refused by the device", i->n);
        if (tell_module(routine, i->module) && memmem(i->bytes, i->n, ctx_name, sizeof ctx_name - 1))
            shi_log_error("%s: the device does not find %s, which the kernels contain, so they have no default context: compile "
                          "them with symbols that the driver can look up (nvcc -rdc=true)", routine, ctx_name);
    }
}

void shi_need_device(const char *routine)
{
    shi_need_up(routine);
    if (!shi_world.dev_lo)
        shi_die(routine, "no device memory yet: shmemg_malloc, which is collective, comes first");
    if (shi_device_heap_adopted())
        shi_die(routine, "the device heap is the program's own (shmemx_heap_create), which has no room for kernels' words");
    pthread_mutex_lock(&lock);
    if (shi_handle_up())
        shi_die(routine, "the device is not ready");
    if (!registered)
        shi_device_heap_on_down(NULL, forget_modules);
    registered = 1;
    pthread_mutex_unlock(&lock);
}

void *shmemx_device_ctx(void)
{
    shi_need_device(__func__);
    return shi_handle_ctx();
}

int shmemx_device_ctx_create(shmem_team_t team, long options, void **ctx)
{
    shi_need_device(__func__);
    const struct shmem_team *t = shi_team_of(__func__, "team", team);
    *ctx = NULL;
    if (!t || (options & ~(SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE)))
        return -EINVAL;
    return shi_handle_ctx_create(t, options, ctx);
}

void shmemx_device_ctx_destroy(void *ctx)
{
    shi_need_device(__func__);
    if (ctx == shi_handle_ctx())
        shi_die(__func__, "the default context cannot be destroyed");
    if (ctx)
        shi_handle_ctx_destroy(ctx);
}

void *shmemx_device_team(shmem_team_t team)
{
    shi_need_device(__func__);
    const struct shmem_team *t = shi_team_of(__func__, "team", team);
    return t ? shi_handle_team(t) : NULL;
}

/* A kernel in the device's queue, for SHMEM_TRACE. */
struct traced {
    uint64_t launched_ns;
    char name[SHI_TRACE_NAME_BYTES];
};

/* The queue runs this after the kernel. The kernel has started when it was launched or, later, when the one before had ended. */
static void kernel_ended(void *arg)
{
    static uint64_t before_ns; /* the queue runs one call at a time */
    struct traced *t = arg;
    uint64_t now = shi_now_ns(), before = __atomic_exchange_n(&before_ns, now, __ATOMIC_RELAXED);
    shi_counts_kernel(t->name, t->launched_ns > before ? t->launched_ns : before, now);
    free(t);
}

/* Where the queue runs no calls of the host, kernels are not in the trace. */
static void trace_kernel(const char *name, uint64_t launched_ns)
{
    struct traced *t = shi_device->host_call ? malloc(sizeof *t) : NULL;
    if (!t)
        return;
    t->launched_ns = launched_ns;
    snprintf(t->name, sizeof t->name, "%s", name);
    if (shi_device->host_call(kernel_ended, t))
        free(t);
}

/* Say why no module has the kernel. usable, others: there are images for this device, for others. */
static int not_found(const char *kernel, int usable, int others)
{
    if (others && !usable)
        shi_log_error("shmemx_launch: all kernels are for another kind of device than %s: see oshcc --kernels", shi_device->name);
    else if (others)
        shi_log_error("shmemx_launch: no kernel \"%s\" among those for %s; the program has others, for another kind of device: see "
                      "oshcc --kernels", kernel, shi_device->name);
    else
        shi_log_error("shmemx_launch: no kernel \"%s\" among those that were compiled in or registered", kernel);
    return -ENOENT;
}

int shmemx_launch(const char *kernel, const size_t groups[3], const size_t items[3], void *const *args,
                  const size_t *arg_bytes, int n_args)
{
    shi_need_device(__func__);
    const struct shi_device_grid g = {{groups[0], groups[1], groups[2]}, {items[0], items[1], items[2]}};
    int usable = 0, others = 0, err = -ENOENT;
    uint64_t launched_ns = shi_unlikely(shi_world.watched) && shi_counts.traces ? shi_now_ns() : 0;
    pthread_mutex_lock(&lock);
    build_modules(__func__);
    for (const struct image *i = images; i && err == -ENOENT; i = i->next) {
        err = i->module ? shi_device->launch(i->module, kernel, &g, args, arg_bytes, n_args) : -ENOENT;
        usable |= i->module != NULL;
        others |= i->module == NULL;
    }
    if (!err)
        shi_launched_add(kernel);
    if (!err && launched_ns)
        trace_kernel(kernel, launched_ns);
    pthread_mutex_unlock(&lock);
    return err == -ENOENT ? not_found(kernel, usable, others) : err;
}

/* The link to the module, or to the end of the list. */
static struct image **find_module(const void *module)
{
    struct image **at = &images;
    while (*at && (*at)->module != module)
        at = &(*at)->next;
    return at;
}

static int enter(const char *routine, void *module)
{
    if (*find_module(module)) {
        shi_log_error("%s: the module was entered before", routine);
        return -EALREADY;
    }
    struct image *i = malloc(sizeof *i);
    if (!i)
        return -ENOMEM;
    if (tell_module(routine, module)) {
        free(i);
        shi_log_error("%s: the module has no %s: it includes no shmemg.h or that of another version, or calls nothing of it", routine, ctx_name);
        return -EINVAL;
    }
    *i = (struct image){.module = module, .next = images};
    images = i;
    shi_proxy_others_launch();
    return 0;
}

int shi_module_enter(const char *routine, void *module)
{
    pthread_mutex_lock(&lock);
    int err = enter(routine, module);
    pthread_mutex_unlock(&lock);
    return err;
}

/* The fault that a module's kernels recorded because they had no valid context to report it to. */
static uint64_t module_fault(const char *routine, const struct image *i)
{
    uint64_t fault = 0;
    void *at;
    if (i->module && shi_device->variable(i->module, "shmemg_fault_", &at) == 0)
        shi_dheap_copy(routine, &fault, at, sizeof fault);
    return fault;
}

static uint64_t (*others_fault)(void); /* of modules that the library does not know; NULL: none */

void shi_module_faults(uint64_t (*fault)(void))
{
    others_fault = fault;
}

/* Complete requests of kernels that have ended; die if one was refused. */
static void complete(const char *routine)
{
    shi_proxy_quiet();
    uint64_t fault = shi_handle_fault();
    pthread_mutex_lock(&lock);
    for (const struct image *i = images; !fault && i; i = i->next)
        fault = module_fault(routine, i);
    pthread_mutex_unlock(&lock);
    if (!fault && others_fault)
        fault = others_fault();
    if (fault)
        shi_die(routine, "a kernel was refused: %s", shi_handle_fault_words(fault));
}

int shi_module_leave(const char *routine, void *module)
{
    pthread_mutex_lock(&lock);
    struct image **at = find_module(module), *i = *at;
    int known = i && !i->bytes;
    pthread_mutex_unlock(&lock);
    if (!known) {
        shi_log_error("%s: the module was not entered", routine);
        return -EINVAL;
    }
    complete(routine);
    pthread_mutex_lock(&lock);
    at = find_module(module); /* the list may have changed meanwhile */
    *at = i->next;
    pthread_mutex_unlock(&lock);
    free(i);
    return 0;
}

int shmemx_device_sync(void)
{
    shi_need_device(__func__);
    uint64_t launched = shi_launched_count();
    int err = shi_device_heap_sync(__func__);
    complete(__func__);
    shi_launched_ended(launched);
    shi_survive_note_kernels();
    return err;
}
