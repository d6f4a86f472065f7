/*
 * hmem.c - registered memory of devices. The program must not touch it, so the double maps it elsewhere, from the file that the
 * driver exports: ze_cpu's device memory is a memfd.
 *
 * A write to it lands in `late` first, like data that a NIC has sent and that PCI Express still holds. It becomes visible when
 * this process's memory of devices is read over the network, or after some polls; nothing else does that: no completion, no
 * message.
 *
 * FABRIC_HMEM: "iface": FI_HMEM_ZE can be registered; "dmabuf": only file descriptors can (FI_MR_DMABUF); "refuse": nothing can;
 * "refuse1": nothing can by rank 1. Not set: the profiles have no FI_HMEM.
 */
#include "double.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LATE_ODDS = 2, LATE_POLLS = 3000 };

/* In newer headers than this system may have. */
#define MR_DMABUF (1ULL << 40)
struct dmabuf {
    int fd;
    uint64_t offset;
    size_t len;
    void *base_addr;
};

static struct late {
    struct late *next;
    char *to;
    uint64_t due;
    size_t bytes;
    char data[];
} *first, **last = &first;
static uint64_t polls;

static const char *setting(void)
{
    const char *text = getenv("FABRIC_HMEM");
    return text ? text : "";
}

int hmem_is_offered(const struct profile *p)
{
    return p->hmem && setting()[0];
}

static int is_refused(int is_dmabuf)
{
    const char *s = setting();
    if (strncmp(s, "refuse", 6) == 0)
        return !s[6] || number("PMIX_RANK") == (uint64_t)(s[6] - '0');
    return strcmp(s, is_dmabuf ? "dmabuf" : "iface") != 0;
}

/* Level Zero, whose headers this system may not have. */
struct ze_context_desc {
    int stype;
    const void *next;
    uint32_t flags;
};
struct ze_calls {
    int (*drivers)(uint32_t *n, void **driver);
    int (*create)(void *driver, const struct ze_context_desc *desc, void **context);
    int (*handle)(void *context, const void *addr, int handle[16]); /* its first int is a file descriptor */
    int (*range)(void *context, const void *addr, char **base, size_t *bytes);
};

/* The file of a Level Zero allocation, and where it starts. As libfabric does: by the loader that the program has opened. */
static int ze_file(const void *addr, char **base)
{
    void *so = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_NOLOAD);
    struct ze_calls z = {0};
    const struct ze_context_desc desc = {.stype = 13};
    static void *context;
    void *driver;
    uint32_t n = 1;
    size_t bytes;
    int handle[16];
    if (!so)
        return -1;
    z.drivers = (__typeof__(z.drivers))dlsym(so, "zeDriverGet");
    z.create = (__typeof__(z.create))dlsym(so, "zeContextCreate");
    z.handle = (__typeof__(z.handle))dlsym(so, "zeMemGetIpcHandle");
    z.range = (__typeof__(z.range))dlsym(so, "zeMemGetAddressRange");
    if ((!context && (z.drivers(&n, &driver) || z.create(driver, &desc, &context))) ||
        z.range(context, addr, base, &bytes) || z.handle(context, addr, handle))
        return -1;
    return handle[0];
}

int hmem_map(const struct fi_mr_attr *a, uint64_t flags, char **base, size_t *bytes, char **view)
{
    const struct dmabuf *d = (const struct dmabuf *)a->mr_iov;
    int is_dmabuf = (flags & MR_DMABUF) != 0, fd = is_dmabuf ? d->fd : -1;
    if (flags & ~MR_DMABUF || a->iov_count != 1 || a->offset)
        misuse("fi_mr_regattr with flags %lx, %zu segments, offset %lx: not in this double", flags, a->iov_count, a->offset);
    if (a->iface != FI_HMEM_ZE && a->iface != FI_HMEM_CUDA)
        misuse("fi_mr_regattr with interface %d", a->iface);
    if (is_refused(is_dmabuf))
        return -FI_ENOSYS;
    char *start = is_dmabuf ? (char *)d->base_addr : a->mr_iov->iov_base, *allocation = start;
    uint64_t off = is_dmabuf ? d->offset : 0;
    *bytes = is_dmabuf ? d->len : a->mr_iov->iov_len;
    *base = start + off;
    if (!is_dmabuf) {
        fd = ze_file(start, &allocation);
        off = (uint64_t)(start - allocation);
    }
    if (off % 4096)
        misuse("fi_mr_regattr: offset %lx is within a page: not in this double", off);
    *view = mmap(NULL, *bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)off);
    return *view == MAP_FAILED ? -FI_EINVAL : 0;
}

void hmem_unmap(char *view, size_t bytes)
{
    hmem_flush();
    munmap(view, bytes);
}

void hmem_write(char *to, const void *from, size_t bytes)
{
    struct late *l = malloc(sizeof *l + bytes);
    if (!l)
        misuse("out of memory");
    *l = (struct late){.to = to, .due = polls + (below(LATE_ODDS) ? 0 : below(LATE_POLLS)), .bytes = bytes};
    memcpy(l->data, from, bytes);
    *last = l;
    last = &l->next;
}

static void show_first(void)
{
    struct late *l = first;
    memcpy(l->to, l->data, l->bytes);
    first = l->next;
    if (!first)
        last = &first;
    free(l);
}

void hmem_progress(void)
{
    polls++;
    while (first && first->due <= polls)
        show_first();
}

void hmem_flush(void)
{
    while (first)
        show_first();
}
