/*
 * ze_patch.c - see ze_patch.h. The library exports zeModuleCreate and zeContextDestroy, which the program's SYCL runtime then finds before
 * the loader's: the dynamic linker looks in the program and its libraries first. The loader's functions do the work.
 *
 * The address differs between Level Zero contexts, in each of which the state is allocated, because a device may access only memory of
 * the context. Each call of a kernel reads the state, so it is in device memory; the word for errors is in host memory.
 */
#include "device/ze_patch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "device/ze_loader.h"
#include "host/util/log.h"

enum { OP_CONSTANT = 43, OP_FUNCTION = 54, HEAD_WORDS = 5, MAX_STATES = 64 };

/* A state for each Level Zero context and device that made a module with the device library. */
static struct state {
    ze_context_handle_t context;
    ze_device_handle_t device;
    struct shi_sycl_state *at; /* device memory */
    uint64_t *fault;           /* host memory */
} states[MAX_STATES];
static int n_states;
static struct shi_dev_ctx now; /* version 0: none */
static ze_context_handle_t heap_context; /* of the symmetric heap's memory; NULL: not known */
static ze_device_handle_t heap_device;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all above */

static void *loader(const char *name)
{
    void *so = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL); /* the caller's, which is loaded */
    return so ? dlsym(so, name) : NULL;
}

/* Replace the constants in SPIR-V of n words; their number. *other: set if the kernels are of another version. */
static int patch_words(uint32_t *words, size_t n, uint64_t address, int *other)
{
    int found = 0;
    for (size_t i = HEAD_WORDS, length; i < n && (words[i] & 0xffff) != OP_FUNCTION; i += length) {
        length = words[i] >> 16;
        if (!length || length > n - i)
            break;
        if ((words[i] & 0xffff) != OP_CONSTANT || length != 5) /* of 64 bits */
            continue;
        uint64_t v = words[i + 3] | (uint64_t)words[i + 4] << 32, offset = v - SHI_SYCL_PLACE;
        if ((v - SHI_SYCL_PLACES) >> 16)
            continue;
        if (offset >= sizeof(struct shi_sycl_state)) {
            *other = 1;
            continue;
        }
        v = address + offset;
        words[i + 3] = (uint32_t)v;
        words[i + 4] = (uint32_t)(v >> 32);
        found++;
    }
    return found;
}

/* Call a function of the loader, and the same result as shi_ze_checked. */
#define LOADER(call, ...)                                                                     \
    ({                                                                                        \
        __typeof__(&call) f = (__typeof__(f))loader(#call);                                   \
        shi_ze_checked(#call, f ? f(__VA_ARGS__) : ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);      \
    })

/* Copy the default context to the device. 0 or -errno. */
static int tell(const struct state *s)
{
    struct shi_sycl_state new = {.ctx = now, .fault = (uint64_t)s->fault};
    ze_command_queue_desc_t d = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_command_list_handle_t copies;
    int err = LOADER(zeCommandListCreateImmediate, s->context, s->device, &d, &copies);
    if (err)
        return err;
    err = LOADER(zeCommandListAppendMemoryCopy, copies, s->at, &new, sizeof new, NULL, 0, NULL);
    LOADER(zeCommandListDestroy, copies);
    return err;
}

static void free_state(const struct state *s)
{
    if (s->at)
        LOADER(zeMemFree, s->context, s->at);
    if (s->fault)
        LOADER(zeMemFree, s->context, s->fault);
}

static int make_state(ze_context_handle_t context, ze_device_handle_t device, struct state *out)
{
    ze_device_mem_alloc_desc_t d = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t h = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *at = NULL, *fault = NULL;
    int err = LOADER(zeMemAllocDevice, context, &d, sizeof(struct shi_sycl_state), 64, device, &at);
    err = err ? err : LOADER(zeMemAllocHost, context, &h, sizeof(uint64_t), sizeof(uint64_t), &fault);
    *out = (struct state){context, device, at, fault};
    if (fault)
        *out->fault = 0;
    err = err ? err : tell(out);
    if (err)
        free_state(out);
    return err;
}

/* Level Zero has memory for the kernels of its context alone, and of its device and those that can access it. */
static void warn_of_heap(const struct state *s)
{
    ze_bool_t can = 1;
    if (!heap_context)
        return;
    if (s->context != heap_context)
        shi_log_error("a kernel's Level Zero context is another one than that of SYCL's default device: it may have no access to symmetric memory");
    else if (s->device != heap_device && !LOADER(zeDeviceCanAccessPeer, s->device, heap_device, &can) && !can)
        shi_log_error("a kernel's device is another one than SYCL's default device, whose memory it cannot access: it has no symmetric memory");
}

static struct shi_sycl_state *state_of(ze_context_handle_t context, ze_device_handle_t device)
{
    for (int i = 0; i < n_states; i++)
        if (states[i].context == context && states[i].device == device)
            return states[i].at;
    if (n_states == MAX_STATES || make_state(context, device, &states[n_states])) {
        shi_log_error("kernels of a Level Zero context have no default context: %s",
                      n_states < MAX_STATES ? "no memory for it on the device" : "too many contexts");
        return NULL;
    }
    warn_of_heap(&states[n_states]);
    return states[n_states++].at;
}

struct shi_sycl_state *shi_ze_patch_state(ze_context_handle_t context, ze_device_handle_t device)
{
    pthread_mutex_lock(&lock);
    struct shi_sycl_state *s = state_of(context, device);
    pthread_mutex_unlock(&lock);
    return s;
}

void shi_ze_patch_tell(const struct shi_dev_ctx *ctx)
{
    pthread_mutex_lock(&lock);
    now = ctx ? *ctx : (struct shi_dev_ctx){0};
    for (int i = 0; i < n_states; i++)
        tell(&states[i]);
    pthread_mutex_unlock(&lock);
}

void shi_ze_patch_heap(ze_context_handle_t context, ze_device_handle_t device)
{
    pthread_mutex_lock(&lock);
    heap_context = context;
    heap_device = device;
    for (int i = 0; i < n_states; i++)
        warn_of_heap(&states[i]);
    pthread_mutex_unlock(&lock);
}

uint64_t shi_ze_patch_fault(void)
{
    uint64_t fault = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; !fault && i < n_states; i++)
        fault = __atomic_exchange_n(states[i].fault, 0, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&lock);
    return fault;
}

/* Does the SPIR-V have such a constant? The state is only allocated for modules that do. */
static int has_place(const uint32_t *words, size_t n)
{
    for (size_t i = HEAD_WORDS; i + 1 < n; i++)
        if (words[i + 1] == (uint32_t)(SHI_SYCL_PLACES >> 32) && words[i] >> 16 == (uint32_t)SHI_SYCL_PLACES >> 16)
            return 1;
    return 0;
}

/* The module of patched SPIR-V. 0 and *patched, which the caller frees; nonzero: the module does not contain the device library. */
static int patch(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *d, uint32_t **patched)
{
    size_t n = d->inputSize / 4;
    if (d->format != ZE_MODULE_FORMAT_IL_SPIRV || !has_place((const uint32_t *)(const void *)d->pInputModule, n))
        return -1;
    struct shi_sycl_state *s = shi_ze_patch_state(context, device);
    uint32_t *words = s ? malloc(n * 4) : NULL;
    int other = 0;
    if (!words)
        return -1;
    memcpy(words, d->pInputModule, n * 4);
    patch_words(words, n, (uint64_t)s, &other);
    if (other)
        shi_log_error("kernels were compiled with another version of ishmem.h than this library's: compile the program again");
    *patched = words;
    return 0;
}

__attribute__((visibility("default")))
ze_result_t zeModuleCreate(ze_context_handle_t context, ze_device_handle_t device, const ze_module_desc_t *desc, ze_module_handle_t *module,
                           ze_module_build_log_handle_t *log)
{
    __typeof__(&zeModuleCreate) create = (__typeof__(create))loader("zeModuleCreate");
    uint32_t *words = NULL;
    if (!create)
        return ZE_RESULT_ERROR_UNINITIALIZED;
    ze_module_desc_t d;
    if (desc && desc->pInputModule && !patch(context, device, desc, &words)) {
        d = *desc;
        d.pInputModule = (const uint8_t *)words;
        desc = &d;
    }
    ze_result_t r = create(context, device, desc, module, log);
    free(words);
    return r;
}

__attribute__((visibility("default")))
ze_result_t zeContextDestroy(ze_context_handle_t context)
{
    __typeof__(&zeContextDestroy) destroy = (__typeof__(destroy))loader("zeContextDestroy");
    if (!destroy)
        return ZE_RESULT_ERROR_UNINITIALIZED;
    pthread_mutex_lock(&lock);
    for (int i = n_states - 1; i >= 0; i--)
        if (states[i].context == context) {
            free_state(&states[i]);
            states[i] = states[--n_states];
        }
    pthread_mutex_unlock(&lock);
    return destroy(context);
}
