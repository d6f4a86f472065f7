/*
 * virtual.c - memory without an address, and addresses to which the program maps it (cuMemCreate, cuMemAddressReserve, cuMemMap).
 *
 * Memory is a memfd, so that its descriptor is the handle for other processes. A page behind the memory describes it: an import needs
 * no more than the descriptor. Errors are those of the CUDA driver API's reference. All state is under `lock`.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda_cpu/entries.h"
#include "ze_cpu/config.h"
#include "ze_cpu/mem.h"

enum { GRAIN = 2 << 20, LABEL = 64 << 10 }; /* LABEL: a page of any system */

/* Of a memory's file, behind the memory. */
struct label {
    uint64_t magic, bytes;
    CUmemAllocationProp prop;
    uint32_t device; /* that prop names, among all of the machine; location.id is this process's number */
};
static const uint64_t magic = 0x306d766d5f637563ull;

struct memory {
    int fd;
    struct label label;
    unsigned holders; /* creations, imports, retained handles, and mappings */
    unsigned handles; /* those without the mappings */
    struct memory *next;
};

struct part {
    CUdeviceptr at;
    size_t bytes;
    struct memory *of;
    uint8_t access[ZC_DEVICES + 1]; /* by device, and of the host: CU_MEM_ACCESS_FLAGS_ */
    struct part *next;
};

struct reservation {
    CUdeviceptr at;
    size_t bytes;
    struct reservation *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct memory *memories;
static struct part *parts;
static struct reservation *reservations;

#define LOCKED(CALL)                                                                                                  \
    ({                                                                                                                \
        pthread_mutex_lock(&lock);                                                                                    \
        CUresult r_ = CALL;                                                                                           \
        pthread_mutex_unlock(&lock);                                                                                  \
        r_;                                                                                                           \
    })

static bool is_whole(size_t bytes)
{
    return bytes && bytes % GRAIN == 0;
}

static bool of_host(const CUmemLocation *l)
{
    return l->type >= CU_MEM_LOCATION_TYPE_HOST && l->type <= CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT;
}

static CUresult check_location(const CUmemLocation *l)
{
    if (of_host(l))
        return CUDA_SUCCESS;
    return l->type != CU_MEM_LOCATION_TYPE_DEVICE                   ? CUDA_ERROR_INVALID_VALUE
           : l->id < 0 || l->id >= (int)zc_config.devices ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

static CUresult check_prop(const CUmemAllocationProp *p)
{
    if (!p || p->type != CU_MEM_ALLOCATION_TYPE_PINNED || p->win32HandleMetaData)
        return CUDA_ERROR_INVALID_VALUE;
    if (p->requestedHandleTypes & ~CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return CUDA_ERROR_NOT_SUPPORTED;
    return check_location(&p->location);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* A handle, or NULL. */
static struct memory *find(CUmemGenericAllocationHandle handle)
{
    struct memory *m = memories;
    while (m && (CUmemGenericAllocationHandle)(uintptr_t)m != handle)
        m = m->next;
    return m && m->handles ? m : NULL;
}

static void let_go(struct memory *m)
{
    struct memory **at = &memories;
    if (--m->holders)
        return;
    while (*at != m)
        at = &(*at)->next;
    *at = m->next;
    close(m->fd);
    free(m);
}

/* A handle of the file, which it takes. */
static CUresult enter(int fd, const struct label *label, CUmemGenericAllocationHandle *out)
{
    struct memory *m = malloc(sizeof *m);
    if (!m) {
        close(fd);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *m = (struct memory){.fd = fd, .label = *label, .holders = 1, .handles = 1, .next = memories};
    memories = m;
    *out = (CUmemGenericAllocationHandle)(uintptr_t)m;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *bytes, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags which)
{
    if (!bytes || which < CU_MEM_ALLOC_GRANULARITY_MINIMUM || which > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return CUDA_ERROR_INVALID_VALUE;
    *bytes = GRAIN;
    return check_prop(prop);
}

CUresult cuMemCreate(CUmemGenericAllocationHandle *out, size_t bytes, const CUmemAllocationProp *prop, unsigned long long flags)
{
    CUresult r = check_prop(prop);
    if (r)
        return r;
    if (!out || !is_whole(bytes) || flags)
        return CUDA_ERROR_INVALID_VALUE;
    struct label label = {magic, bytes, *prop, of_host(&prop->location) ? 0 : zc_config.device[prop->location.id]};
    int fd = memfd_create("cuda_cpu", MFD_CLOEXEC);
    if (fd >= 0 && (ftruncate(fd, (off_t)(bytes + LABEL)) || pwrite(fd, &label, sizeof label, (off_t)bytes) != sizeof label)) {
        close(fd);
        fd = -1;
    }
    return fd < 0 ? CUDA_ERROR_OUT_OF_MEMORY : LOCKED(enter(fd, &label, out));
}

static CUresult release(CUmemGenericAllocationHandle handle)
{
    struct memory *m = find(handle);
    if (!m)
        return CUDA_ERROR_INVALID_VALUE;
    m->handles--;
    let_go(m);
    return CUDA_SUCCESS;
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle)
{
    return LOCKED(release(handle));
}

static CUresult properties(CUmemAllocationProp *out, CUmemGenericAllocationHandle handle)
{
    const struct memory *m = find(handle);
    if (!m || !out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = m->label.prop;
    return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out, CUmemGenericAllocationHandle handle)
{
    return LOCKED(properties(out, handle));
}

/* ---- other processes -------------------------------------------------------------------------------------------- */

static CUresult export(int *out, CUmemGenericAllocationHandle handle)
{
    const struct memory *m = find(handle);
    if (!m || !(m->label.prop.requestedHandleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return CUDA_ERROR_INVALID_VALUE;
    *out = fcntl(m->fd, F_DUPFD_CLOEXEC, 0);
    return *out < 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

CUresult cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type, unsigned long long flags)
{
    return !out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ? CUDA_ERROR_INVALID_VALUE : LOCKED(export(out, handle));
}

/* This process's number of the device; the first one's of a device that is not visible here, whose memory it may map all the same. */
static int number_of(uint32_t device)
{
    for (unsigned i = 0; i < zc_config.devices; i++)
        if (zc_config.device[i] == device)
            return (int)i;
    return 0;
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *from, CUmemAllocationHandleType type)
{
    struct label label;
    struct stat st;
    int fd = (int)(intptr_t)from;
    if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= LABEL ||
        pread(fd, &label, sizeof label, st.st_size - LABEL) != sizeof label || label.magic != magic || (off_t)label.bytes != st.st_size - LABEL)
        return CUDA_ERROR_INVALID_VALUE;
    fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!of_host(&label.prop.location))
        label.prop.location.id = number_of(label.device);
    return LOCKED(enter(fd, &label, out));
}

/* ---- addresses -------------------------------------------------------------------------------------------------- */

CUresult cuMemAddressReserve(CUdeviceptr *out, size_t bytes, size_t align, CUdeviceptr hint, unsigned long long flags)
{
    struct reservation *r;
    CUresult c = cc_check_context();
    if (c)
        return c;
    if (!out || !is_whole(bytes) || flags || align & (align - 1))
        return CUDA_ERROR_INVALID_VALUE;
    if (!(r = malloc(sizeof *r)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    void *at = zc_mem_reserve(bytes, align > GRAIN ? align : GRAIN, (void *)(uintptr_t)hint);
    if (!at) {
        free(r);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&lock);
    *r = (struct reservation){(CUdeviceptr)(uintptr_t)at, bytes, reservations};
    reservations = r;
    pthread_mutex_unlock(&lock);
    *out = r->at;
    return CUDA_SUCCESS;
}

/* A mapping that has addresses of the range, or NULL. */
static struct part *part_in(CUdeviceptr at, size_t bytes)
{
    struct part *p = parts;
    while (p && (p->at >= at + bytes || at >= p->at + p->bytes))
        p = p->next;
    return p;
}

static CUresult unreserve(CUdeviceptr at, size_t bytes)
{
    struct reservation **r = &reservations, *gone;
    while (*r && ((*r)->at != at || (*r)->bytes != bytes))
        r = &(*r)->next;
    if (!(gone = *r) || part_in(at, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    *r = gone->next;
    free(gone);
    zc_mem_unreserve((void *)(uintptr_t)at, bytes);
    return CUDA_SUCCESS;
}

CUresult cuMemAddressFree(CUdeviceptr at, size_t bytes)
{
    return LOCKED(unreserve(at, bytes));
}

static bool is_reserved(CUdeviceptr at, size_t bytes)
{
    const struct reservation *r = reservations;
    while (r && (at < r->at || at - r->at >= r->bytes || bytes > r->bytes - (at - r->at)))
        r = r->next;
    return r != NULL;
}

static CUresult map(CUdeviceptr at, size_t bytes, CUmemGenericAllocationHandle handle)
{
    struct memory *m = find(handle);
    struct part *p;
    if (!m || at % GRAIN || !is_whole(bytes) || bytes > m->label.bytes || !is_reserved(at, bytes) || part_in(at, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    if (!(p = malloc(sizeof *p)))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!zc_mem_part_map((void *)(uintptr_t)at, bytes, m->fd, of_host(&m->label.prop.location))) {
        free(p);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    *p = (struct part){.at = at, .bytes = bytes, .of = m, .next = parts};
    parts = p;
    m->holders++;
    return CUDA_SUCCESS;
}

/* CUDA, too, wants an offset of 0. */
CUresult cuMemMap(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    return offset || flags ? CUDA_ERROR_INVALID_VALUE : LOCKED(map(at, bytes, handle));
}

/* Is the range one or more whole mappings, without a gap? */
static bool is_parts(CUdeviceptr at, size_t bytes)
{
    size_t mapped = 0;
    for (const struct part *p = parts; p; p = p->next) {
        bool begins = p->at >= at && p->at < at + bytes, ends = p->at + p->bytes > at && p->at + p->bytes <= at + bytes;
        if (begins != ends || (!begins && p->at < at && p->at + p->bytes > at))
            return false;
        mapped += begins ? p->bytes : 0;
    }
    return bytes && mapped == bytes;
}

static CUresult unmap(CUdeviceptr at, size_t bytes)
{
    if (!is_parts(at, bytes))
        return CUDA_ERROR_INVALID_VALUE;
    for (struct part **p = &parts, *gone; (gone = *p);) {
        if (gone->at < at || gone->at >= at + bytes) {
            p = &gone->next;
            continue;
        }
        *p = gone->next;
        zc_mem_part_unmap((void *)(uintptr_t)gone->at, gone->bytes);
        let_go(gone->of);
        free(gone);
    }
    return CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr at, size_t bytes)
{
    return LOCKED(unmap(at, bytes));
}

/* ---- access ----------------------------------------------------------------------------------------------------- */

/* The protection of a mapping is that of the device that may do most: all run on these cores. */
static CUresult protect(struct part *p)
{
    const CUmemLocation *l = &p->of->label.prop.location;
    unsigned most = 0;
    for (unsigned i = 0; i <= ZC_DEVICES; i++)
        most |= p->access[i];
    int prot = (most & CU_MEM_ACCESS_FLAGS_PROT_READ ? PROT_READ : 0) | (most & 2 ? PROT_WRITE : 0);
    return zc_mem_part_access((void *)(uintptr_t)p->at, p->bytes, prot, of_host(l) ? NULL : (ze_device_handle_t)(uintptr_t)(1 + l->id),
                              of_host(l)) ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult check_access(const CUmemAccessDesc *d, size_t n)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; !r && i < n; i++) {
        CUmemAccess_flags f = d[i].flags;
        r = f != CU_MEM_ACCESS_FLAGS_PROT_NONE && f != CU_MEM_ACCESS_FLAGS_PROT_READ && f != CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                ? CUDA_ERROR_INVALID_VALUE : check_location(&d[i].location);
    }
    return r;
}

static unsigned index_of(const CUmemLocation *l)
{
    return of_host(l) ? ZC_DEVICES : (unsigned)l->id;
}

static CUresult set_access(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *d, size_t n)
{
    CUresult r = is_parts(at, bytes) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (struct part *p = parts; !r && p; p = p->next) {
        if (p->at < at || p->at >= at + bytes)
            continue;
        for (size_t i = 0; i < n; i++)
            p->access[index_of(&d[i].location)] = (uint8_t)d[i].flags;
        r = protect(p);
    }
    return r;
}

CUresult cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *d, size_t n)
{
    CUresult r = d && n ? check_access(d, n) : CUDA_ERROR_INVALID_VALUE;
    return r ? r : LOCKED(set_access(at, bytes, d, n));
}

static CUresult get_access(unsigned long long *flags, const CUmemLocation *l, CUdeviceptr at)
{
    const struct part *p = part_in(at, 1);
    if (!p)
        return CUDA_ERROR_INVALID_VALUE;
    *flags = p->access[index_of(l)];
    return CUDA_SUCCESS;
}

CUresult cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr at)
{
    CUresult r = flags && location ? check_location(location) : CUDA_ERROR_INVALID_VALUE;
    return r ? r : LOCKED(get_access(flags, location, at));
}

static CUresult retain(CUmemGenericAllocationHandle *out, CUdeviceptr at)
{
    struct part *p = part_in(at, 1);
    if (!p || !out)
        return CUDA_ERROR_INVALID_VALUE;
    p->of->handles++;
    p->of->holders++;
    *out = (CUmemGenericAllocationHandle)(uintptr_t)p->of;
    return CUDA_SUCCESS;
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *at)
{
    return LOCKED(retain(out, (CUdeviceptr)(uintptr_t)at));
}
