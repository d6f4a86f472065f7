/*
 * ze_patch.c - see ze_patch.h. The library exports zeModuleCreate, which the program's SYCL runtime then finds before the loader's: the
 * dynamic linker looks in the program and its libraries first. The loader's function does the work.
 *
 * The address differs between Level Zero contexts, in each of which the state is allocated, because a device may access only memory of
 * the context.
 */
#include "device/ze_patch.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/util/log.h"

enum { OP_CONSTANT = 43, OP_FUNCTION = 54, HEAD_WORDS = 5, MAX_STATES = 64, STATE_BYTES = 4096 };

/* A state for each Level Zero context and device that made a module with the device library. */
static struct {
    ze_context_handle_t context;
    ze_device_handle_t device;
    struct shi_sycl_state *at;
} states[MAX_STATES];
static int n_states;
static struct shi_dev_ctx now; /* version 0: none */
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

/* Memory that the host writes and the device reads. */
static struct shi_sycl_state *allocate(ze_context_handle_t context, ze_device_handle_t device)
{
    __typeof__(&zeMemAllocShared) alloc = (__typeof__(alloc))loader("zeMemAllocShared");
    __typeof__(&zeMemAllocHost) alloc_host = (__typeof__(alloc_host))loader("zeMemAllocHost");
    ze_device_mem_alloc_desc_t d = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    ze_host_mem_alloc_desc_t h = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *p = NULL;
    if (!alloc || alloc(context, &d, &h, STATE_BYTES, 64, device, &p))
        if (!alloc_host || alloc_host(context, &h, STATE_BYTES, 64, &p))
            return NULL;
    return memset(p, 0, STATE_BYTES);
}

static struct shi_sycl_state *state_of(ze_context_handle_t context, ze_device_handle_t device)
{
    for (int i = 0; i < n_states; i++)
        if (states[i].context == context && states[i].device == device)
            return states[i].at;
    struct shi_sycl_state *s = n_states < MAX_STATES ? allocate(context, device) : NULL;
    if (!s) {
        shi_log_error("kernels of a Level Zero context have no default context: %s", n_states < MAX_STATES ? "out of memory" : "too many contexts");
        return NULL;
    }
    states[n_states].context = context;
    states[n_states].device = device;
    states[n_states++].at = s;
    s->ctx = now;
    return s;
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
        states[i].at->ctx = now;
    pthread_mutex_unlock(&lock);
}

uint64_t shi_ze_patch_fault(void)
{
    uint64_t fault = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; !fault && i < n_states; i++)
        fault = __atomic_exchange_n(&states[i].at->fault, 0, __ATOMIC_RELAXED);
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
