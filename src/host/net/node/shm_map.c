/* shm_map.c - see shm_map.h. */
#include "host/net/node/shm_map.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "host/util/base.h"
#include "host/util/log.h"
#include "host/util/memory.h"

int shi_shm_failed(const char *what)
{
    int err = -errno;
    shi_log_error("%s: %s", what, strerror(-err));
    return err;
}

/* Log that the heaps of the node's n PEs do not fit into this PE's addresses. */
int shi_shm_no_addresses(size_t heap_bytes, int n)
{
    int err = -errno;
    struct rlimit most;
    if (getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur != RLIM_INFINITY)
        shi_log_error("SHMEM_SYMMETRIC_SIZE=%zu: the heaps of this node's %d PEs do not fit into %llu KiB of addresses, the limit of ulimit -v",
                      heap_bytes, n, (unsigned long long)most.rlim_cur >> 10);
    else
        shi_log_error("SHMEM_SYMMETRIC_SIZE=%zu: no addresses for the heaps of this node's %d PEs: %s", heap_bytes, n, strerror(-err));
    return err;
}

size_t shi_shm_heap_mapping(size_t heap_bytes)
{
    return heap_bytes ? heap_bytes : SHI_PAGE_BYTES;
}

/* Map a range of the file anywhere, but aligned for huge pages and shmem_align. MAP_FAILED: there is no room. */
void *shi_shm_map_aligned(int fd, uint64_t off, size_t bytes)
{
    void *space = mmap(NULL, bytes + SHI_HUGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED)
        return space;
    char *at = (char *)shi_round_up((uintptr_t)space, SHI_HUGE_BYTES), *end = (char *)space + bytes + SHI_HUGE_BYTES;
    void *p = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, (off_t)off);
    size_t used = p == MAP_FAILED ? 0 : shi_round_up(bytes, SHI_PAGE_BYTES);
    munmap(space, used ? (size_t)(at - (char *)space) : bytes + SHI_HUGE_BYTES); /* what was reserved for the alignment */
    if (used)
        munmap(at + used, (size_t)(end - at) - used);
    return p;
}

/* Map this PE's heap, at the same address on every PE where that is free: programs that send symmetric pointers to other
 * PEs then work, though the specification does not promise it. */
int shi_shm_map_heap(int fd, const struct shi_shm_params *params, uint64_t off, int n, uintptr_t *lo)
{
    static const uintptr_t candidates[] = {0x200000000000, 0x300000000000, 0x100000000000, 0x7e0000000000};
    void *p = MAP_FAILED;
    size_t bytes = shi_shm_heap_mapping(params->heap_bytes);
    for (size_t i = 0; p == MAP_FAILED && i < sizeof candidates / sizeof *candidates; i++) {
        /* A hint replaces no mapping, on any kernel; those before 4.17 ignore MAP_FIXED_NOREPLACE. */
        p = mmap((void *)candidates[i], bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, (off_t)off);
        if (p != MAP_FAILED && (uintptr_t)p != candidates[i]) {
            munmap(p, bytes);
            p = MAP_FAILED;
        }
    }
    if (p == MAP_FAILED)
        p = shi_shm_map_aligned(fd, off, bytes);
    if (p == MAP_FAILED)
        return shi_shm_no_addresses(bytes, n);
    madvise(p, bytes, MADV_HUGEPAGE); /* a hint: kernels without huge pages use small ones */
    int err = params->prefault ? shi_memory_populate(p, bytes, n) : 0;
    if (err) {
        shi_log_error("SHMEM_PREFAULT=1: not enough memory for the symmetric heaps of this node's %d PEs "
                      "(SHMEM_SYMMETRIC_SIZE=%zu each)", n, bytes);
        return err;
    }
    *lo = (uintptr_t)p;
    return 0;
}
