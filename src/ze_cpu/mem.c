/*
 * mem.c - USM allocations.
 *
 * Device memory is a memfd, so that other processes can map it. Under ZE_CPU_PRIVATE, its addresses are in a window of the
 * address space without access rights, and the memory is mapped at a constant distance, which kernels and copies add: a host
 * access faults, as with a discrete GPU.
 *
 * All state is under `lock`, except:
 *   word     written by               read by        order
 *   changes  take, by fetch-add       guard.c        relaxed: a kernel must not use memory while it is freed
 *   window,  zc_mem_up, once          all threads    plain: zeInit precedes all other calls
 *   page
 */
#include "ze_cpu/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ze_cpu/config.h"
#include "ze_cpu/entries.h"

enum { ALIGN_MAX = 1 << 21, WINDOW_BITS = 40, SLOT = 1 << 21 };

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct zc_alloc *table; /* by address */
static size_t count, room;
static uint64_t last_id;
static _Atomic uint64_t changes;
static size_t page; /* the system's page size: 4 KiB, on arm64 also 16 or 64 KiB */
static struct {
    uint64_t lo, hi, delta, next;
} window;

void zc_mem_up(void)
{
    size_t size = (size_t)2 << WINDOW_BITS;
    void *at = MAP_FAILED;
    page = (size_t)sysconf(_SC_PAGESIZE);
    if (!zc_config.private_memory)
        return;
    while (at == MAP_FAILED && size > 4 * SLOT) { /* `ulimit -v` may allow a smaller window only */
        size /= 2;
        at = mmap(NULL, 2 * size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    }
    if (at == MAP_FAILED)
        return;
    window.lo = window.next = ((uint64_t)(uintptr_t)at + SLOT - 1) & ~(uint64_t)(SLOT - 1);
    window.delta = size;
    window.hi = window.lo + size - SLOT;
}

struct zc_window zc_mem_window(void)
{
    return (struct zc_window){window.lo, window.hi - window.lo, window.delta};
}

void *zc_mem_device_view(void *p)
{
    uint64_t a = (uint64_t)(uintptr_t)p;
    return (void *)(uintptr_t)(a - window.lo < window.hi - window.lo ? a + window.delta : a);
}

uint64_t zc_mem_changes(void)
{
    return atomic_load_explicit(&changes, memory_order_relaxed) + 1;
}

/* ---- the table -------------------------------------------------------------------------------------------------- */

/* Number of allocations that start at or below p. */
static size_t place(const void *p)
{
    size_t lo = 0, hi = count;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (table[mid].base <= (const uint8_t *)p)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

bool zc_mem_find(const void *p, struct zc_alloc *out)
{
    pthread_rwlock_rdlock(&lock);
    size_t i = place(p);
    bool found = i && (size_t)((const uint8_t *)p - table[i - 1].base) < table[i - 1].size;
    if (found)
        *out = table[i - 1];
    pthread_rwlock_unlock(&lock);
    return found;
}

static bool insert(struct zc_alloc *a)
{
    pthread_rwlock_wrlock(&lock);
    if (count == room) {
        size_t more = room ? 2 * room : 64;
        struct zc_alloc *grown = realloc(table, more * sizeof *grown);
        if (!grown) {
            pthread_rwlock_unlock(&lock);
            return false;
        }
        table = grown;
        room = more;
    }
    size_t i = place(a->base);
    memmove(table + i + 1, table + i, (count - i) * sizeof *table);
    a->id = ++last_id;
    table[i] = *a;
    count++;
    pthread_rwlock_unlock(&lock);
    return true;
}

enum which { ALLOCATED, IMPORTED, PART };

static bool is_one(const struct zc_alloc *a, enum which which)
{
    return a->part == (which == PART) && (which != IMPORTED || a->imported);
}

/* Remove the allocation that starts at p from the table. */
static bool take(const void *p, enum which which, struct zc_alloc *out)
{
    pthread_rwlock_wrlock(&lock);
    size_t i = place(p);
    bool found = i && table[i - 1].base == p && is_one(&table[i - 1], which);
    if (found) {
        *out = table[i - 1];
        memmove(table + i - 1, table + i, (count - i) * sizeof *table);
        count--;
        atomic_fetch_add_explicit(&changes, 1, memory_order_relaxed);
    }
    pthread_rwlock_unlock(&lock);
    return found;
}

/* ---- mapping ---------------------------------------------------------------------------------------------------- */

/* Aligned addresses without access, near `hint` if they are free there, or NULL. */
static uint8_t *addresses(void *hint, size_t bytes, size_t align)
{
    size_t all = bytes + (align > page ? align : 0);
    uint8_t *p = mmap(hint, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return NULL;
    size_t before = align > page ? (align - (uintptr_t)p % align) % align : 0, after = all - before - bytes;
    if (before)
        munmap(p, before);
    if (after)
        munmap(p + before + bytes, after);
    return p + before;
}

/* Map a file, or anonymous memory (fd -1), at an aligned address. */
static uint8_t *map_aligned(size_t mapped, size_t align, int fd)
{
    int flags = MAP_FIXED | (fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED);
    uint8_t *p = addresses(NULL, mapped, align);
    if (!p || mmap(p, mapped, PROT_READ | PROT_WRITE, flags, fd, 0) != MAP_FAILED)
        return p;
    munmap(p, mapped);
    return NULL;
}

/* Addresses in the window, or NULL. They are not reused: there are 2^40, or fewer with `ulimit -v`. */
static uint8_t *take_window(size_t bytes, size_t align)
{
    pthread_rwlock_wrlock(&lock);
    uint64_t at = (window.next + align - 1) & ~(uint64_t)(align - 1), step = (bytes + SLOT - 1) & ~(uint64_t)(SLOT - 1);
    bool fits = at <= window.hi && step <= window.hi - at;
    window.next = fits ? at + step : window.next;
    pthread_rwlock_unlock(&lock);
    return fits ? (uint8_t *)(uintptr_t)at : NULL;
}

/* Map a file for an address in the window. */
static uint8_t *map_private(size_t mapped, int fd)
{
    uint8_t *at = take_window(mapped, SLOT);
    void *p = at ? mmap(at + window.delta, mapped, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) : MAP_FAILED;
    return p == MAP_FAILED ? NULL : at;
}

static bool map_nothing(void *at, size_t bytes)
{
    return mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static void unmap(const struct zc_alloc *a)
{
    if (a->type == ZE_MEMORY_TYPE_DEVICE && window.lo)
        map_nothing(zc_mem_device_view(a->base), a->mapped);
    else
        munmap(a->base, a->mapped);
    if (a->fd >= 0)
        close(a->fd);
}

static ze_result_t map_file(struct zc_alloc *a, size_t align, int import)
{
    a->fd = import >= 0 ? fcntl(import, F_DUPFD_CLOEXEC, 0) : memfd_create("ze_cpu", MFD_CLOEXEC);
    if (a->fd < 0)
        return import >= 0 ? ZE_RESULT_ERROR_INVALID_ARGUMENT : ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    if (import < 0 && ftruncate(a->fd, (off_t)a->mapped)) {
        close(a->fd);
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    a->base = zc_config.private_memory ? map_private(a->mapped, a->fd) : map_aligned(a->mapped, align, a->fd);
    if (!a->base) {
        close(a->fd);
        return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    return ZE_RESULT_SUCCESS;
}

static ze_result_t allocate(ze_memory_type_t type, size_t size, size_t align, ze_device_handle_t device, int import,
                            void **out)
{
    if (!out)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!size || size > (size_t)1 << WINDOW_BITS)
        return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    if (align & (align - 1) || align > ALIGN_MAX)
        return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
    struct zc_alloc a = {.size = size, .mapped = (size + page - 1) & ~(size_t)(page - 1), .type = type, .fd = -1,
                         .imported = import >= 0, .device = device};
    if (type == ZE_MEMORY_TYPE_DEVICE) {
        ze_result_t r = map_file(&a, align, import);
        if (r)
            return r;
    } else {
        a.base = map_aligned(a.mapped, align, -1);
        if (!a.base)
            return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    if (!insert(&a)) {
        unmap(&a);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    *out = a.base;
    return ZE_RESULT_SUCCESS;
}

/* ---- reservations ------------------------------------------------------------------------------------------------ */

void *zc_mem_reserve(size_t bytes, size_t align, void *hint)
{
    return zc_config.private_memory ? take_window(bytes, align > SLOT ? align : SLOT) : addresses(hint, bytes, align);
}

void zc_mem_unreserve(void *at, size_t bytes)
{
    if (!zc_config.private_memory)
        munmap(at, bytes);
}

/* Under ZE_CPU_PRIVATE memory of the host is at the host's address, too. */
bool zc_mem_part_map(void *at, size_t bytes, int fd, bool of_host)
{
    void *view = zc_mem_device_view(at);
    if (mmap(view, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
        return false;
    if (view == at || !of_host || mmap(at, bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED)
        return true;
    map_nothing(view, bytes);
    return false;
}

static void forget_part(void *at)
{
    struct zc_alloc a;
    take(at, PART, &a);
}

void zc_mem_part_unmap(void *at, size_t bytes)
{
    forget_part(at);
    map_nothing(zc_mem_device_view(at), bytes);
    if (zc_mem_device_view(at) != at)
        map_nothing(at, bytes);
}

bool zc_mem_part_access(void *at, size_t bytes, int prot, ze_device_handle_t device, bool of_host)
{
    struct zc_alloc a = {.base = at, .size = bytes, .mapped = bytes, .fd = -1, .part = true, .device = device,
                         .type = of_host ? ZE_MEMORY_TYPE_HOST : ZE_MEMORY_TYPE_DEVICE};
    void *view = zc_mem_device_view(at);
    forget_part(at);
    if (mprotect(view, bytes, prot) || (view != at && of_host && mprotect(at, bytes, prot)))
        return false;
    return prot == PROT_NONE || insert(&a);
}

/* ---- entry points ----------------------------------------------------------------------------------------------- */

ze_result_t zc_MemAllocHost(ze_context_handle_t c, const ze_host_mem_alloc_desc_t *desc, size_t size, size_t align,
                            void **out)
{
    (void)c, (void)desc;
    return allocate(ZE_MEMORY_TYPE_HOST, size, align, NULL, -1, out);
}

ze_result_t zc_MemAllocShared(ze_context_handle_t c, const ze_device_mem_alloc_desc_t *desc,
                              const ze_host_mem_alloc_desc_t *host, size_t size, size_t align,
                              ze_device_handle_t device, void **out)
{
    (void)c, (void)desc, (void)host;
    return allocate(ZE_MEMORY_TYPE_SHARED, size, align, device, -1, out);
}

ze_result_t zc_MemAllocDevice(ze_context_handle_t c, const ze_device_mem_alloc_desc_t *desc, size_t size, size_t align,
                              ze_device_handle_t device, void **out)
{
    (void)c;
    int import = -1;
    for (const ze_base_desc_t *n = desc ? desc->pNext : NULL; n; n = n->pNext)
        if (n->stype == ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMPORT_FD)
            import = ((const ze_external_memory_import_fd_t *)(const void *)n)->fd;
    return allocate(ZE_MEMORY_TYPE_DEVICE, size, align, device, import, out);
}

static ze_result_t release(const void *p, enum which which)
{
    struct zc_alloc a;
    if (!take(p, which, &a))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    unmap(&a);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_MemFree(ze_context_handle_t c, void *p)
{
    (void)c;
    return release(p, ALLOCATED);
}

ze_result_t zc_MemFreeExt(ze_context_handle_t c, const ze_memory_free_ext_desc_t *desc, void *p)
{
    (void)desc;
    return zc_MemFree(c, p);
}

ze_result_t zc_MemGetAllocProperties(ze_context_handle_t c, const void *p, ze_memory_allocation_properties_t *out,
                                     ze_device_handle_t *device)
{
    (void)c;
    struct zc_alloc a = {.type = ZE_MEMORY_TYPE_UNKNOWN, .fd = -1};
    bool known = zc_mem_find(p, &a);
    out->type = a.type;
    out->id = a.id;
    out->pageSize = known ? page : 0;
    if (device)
        *device = a.device;
    for (ze_base_properties_t *n = out->pNext; n; n = n->pNext) {
        if (n->stype != ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD)
            continue;
        if (a.fd < 0)
            return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
        ((ze_external_memory_export_fd_t *)(void *)n)->fd = a.fd;
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_MemGetAddressRange(ze_context_handle_t c, const void *p, void **base, size_t *size)
{
    (void)c;
    struct zc_alloc a;
    if (!zc_mem_find(p, &a))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (base)
        *base = a.base;
    if (size)
        *size = a.size;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_MemCloseIpcHandle(ze_context_handle_t c, const void *p)
{
    (void)c;
    return release(p, IMPORTED);
}
