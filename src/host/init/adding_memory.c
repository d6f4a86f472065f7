/* adding_memory.c - see adding_memory.h. */
#include "host/init/adding_memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <shmemx_memory.h>

#include "host/ops/added.h"
#include "host/ops/state.h"
#include "host/util/log.h"
#include "host/util/pages.h"

/* ---- the program's memory of the host ------------------------------------------------------------------------------ */

/* Is all of the range private memory that can be read and written? Pages of a file or a device would lose what they are. */
static int is_private(uintptr_t lo, uintptr_t hi)
{
    char line[512], perms[5];
    unsigned long from, to;
    uintptr_t upto = lo;
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && upto < hi && fgets(line, sizeof line, f))
        if (sscanf(line, "%lx-%lx %4s", &from, &to, perms) == 3 && from <= upto && upto < to)
            upto = strcmp(perms, "rw-p") == 0 ? to : hi + 1;
    if (f)
        fclose(f);
    return upto >= hi && upto != hi + 1;
}

static int check_host(const char *routine, const struct shi_adding *a)
{
    uintptr_t lo = (uintptr_t)a->addr, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (lo % page || a->bytes % page) {
        shi_log_error("%s: %zu bytes at %p are not whole pages of %zu bytes (mmap, posix_memalign)", routine, a->bytes, a->addr,
                      (size_t)page);
        return -EINVAL;
    }
    if (!is_private(lo, lo + a->bytes)) {
        shi_log_error("%s: %zu bytes at %p are not all private memory of this process that it can write", routine, a->bytes, a->addr);
        return -EFAULT;
    }
    return 0;
}

/* Copy `bytes` to other pages and put these in the place of addr's. 0 or -errno; addr is as before then. */
static int move(void *addr, void *pages, size_t bytes)
{
    memcpy(pages, addr, bytes);
    return mremap(pages, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, addr) == MAP_FAILED ? -errno : 0;
}

static int no_memory(const char *routine, size_t bytes)
{
    shi_log_error("%s: no memory for %zu bytes that the PEs of the node share", routine, bytes);
    return -ENOMEM;
}

/* Pages that the PEs of the node can share, or NULL. */
static void *shared_pages(size_t bytes, uint64_t *off)
{
    if (shi_shm_reserve(&shi_world.shm, bytes, off))
        return NULL;
    void *pages = shi_shm_map(&shi_world.shm, NULL, *off, bytes, 0);
    if (!pages)
        shi_shm_release(&shi_world.shm, *off, bytes);
    return pages;
}

static void give_up(void *pages, size_t bytes, uint64_t off)
{
    munmap(pages, bytes);
    shi_shm_release(&shi_world.shm, off, bytes);
}

static int bring_host(const char *routine, const struct shi_adding *a, uint64_t *off)
{
    int err = check_host(routine, a);
    if (err)
        return err;
    void *pages = shared_pages(a->bytes, off);
    err = pages ? move(a->addr, pages, a->bytes) : -ENOMEM;
    if (err && pages)
        give_up(pages, a->bytes, *off);
    return err ? no_memory(routine, a->bytes) : 0;
}

/* Make it private memory again. */
static void take_back_host(void *addr, size_t bytes, uint64_t off)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages != MAP_FAILED && !move(addr, pages, bytes))
        shi_shm_release(&shi_world.shm, off, bytes);
    else /* it stays on its pages, which no PE uses again */
        shi_log_error("no memory to make %zu bytes at %p private again", bytes, addr);
}

/* ---- allocated memory of the host ---------------------------------------------------------------------------------- */

static int make_kind(const char *routine, const struct shi_adding *a)
{
    const char *why;
    int err = a->flags & SHMEMX_SPACE_NUMA          ? shi_pages_of_node(routine, a->addr, a->bytes, a->numa_node)
              : a->flags & SHMEMX_SPACE_READ_MOSTLY ? shi_pages_in_turn(routine, a->addr, a->bytes)
                                                    : 0;
    if (err || !(a->flags & SHMEMX_SPACE_HUGE))
        return err;
    err = shi_pages_huge(a->addr, a->bytes, shi_world.shm.n, &why);
    if (err)
        shi_log_error("%s: no huge pages for %zu bytes: %s: %s", routine, a->bytes, why, strerror(-err));
    return err;
}

/* The range may serve again: it has no policy then. */
static void release(const struct shi_adding *a, uint64_t off)
{
    if (a->flags & (SHMEMX_SPACE_NUMA | SHMEMX_SPACE_READ_MOSTLY))
        shi_pages_anywhere(a->addr, a->bytes);
    give_up(a->addr, a->bytes, off);
}

static int allocate(const char *routine, struct shi_adding *a, uint64_t *off)
{
    a->addr = shared_pages(a->bytes, off);
    if (!a->addr)
        return no_memory(routine, a->bytes);
    madvise(a->addr, a->bytes, MADV_DODUMP);
    int err = make_kind(routine, a);
    if (err)
        release(a, *off);
    return err;
}

/* ---- memory of the device ---------------------------------------------------------------------------------------- */

static void take_back_device(const struct shi_adding *a)
{
    if (a->allocate)
        shi_device->release(a->addr);
    else if (shi_device->disown)
        shi_device->disown(a->addr);
}

static int bring_device(struct shi_adding *a, struct shi_device_share *share)
{
    int err = a->allocate ? shi_device->alloc(a->bytes, &a->addr) : shi_device->adopt ? shi_device->adopt(a->addr, a->bytes) : 0;
    if (err || shi_world.n_pes == 1)
        return err;
    err = shi_device->share(a->addr, share);
    if (err)
        take_back_device(a);
    return err;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

static int overlap(uintptr_t a, size_t n, uintptr_t b, size_t m)
{
    return m && a < b + m && b < a + n;
}

static int is_symmetric(const void *addr, size_t bytes)
{
    uintptr_t a = (uintptr_t)addr;
    int is = overlap(a, bytes, shi_world.heap_lo, shi_world.heap_bytes) || overlap(a, bytes, shi_world.data_lo, shi_world.data_bytes) ||
             overlap(a, bytes, shi_world.dev_lo, shi_world.dev_bytes);
    for (int i = 0; i < SHI_ADDED; i++)
        is |= overlap(a, bytes, shi_added_at(i)->lo, shi_added_at(i)->bytes);
    return is;
}

int shi_adding_bring(const char *routine, struct shi_adding *a, union shi_brought *out)
{
    if (!a->allocate && (!a->addr || !a->bytes)) {
        shi_log_error("%s: addr = %p, bytes = %zu: no memory", routine, a->addr, a->bytes);
        return -EINVAL;
    }
    if (!a->allocate && is_symmetric(a->addr, a->bytes)) {
        shi_log_error("%s: %zu bytes at %p: some of it is symmetric already", routine, a->bytes, a->addr);
        return -EEXIST;
    }
    return a->device ? bring_device(a, &out->share) : a->allocate ? allocate(routine, a, &out->off) : bring_host(routine, a, &out->off);
}

void shi_adding_take_back(const struct shi_adding *a, const union shi_brought *brought)
{
    if (a->device)
        take_back_device(a);
    else if (a->allocate)
        release(a, brought->off);
    else
        take_back_host(a->addr, a->bytes, brought->off);
}
