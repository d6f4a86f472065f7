/* adding.c - make memory of the program symmetric: each PE brings its own, then all map what they reach. */
#include "host/init/adding.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device/device.h"
#include "host/coll/team.h"
#include "host/init/device_heap.h"
#include "host/net/stream/stream.h"
#include "host/ops/added.h"
#include "host/ops/dheap.h"
#include "host/util/log.h"

_Static_assert((int)SHI_ADDED == (int)SHI_STREAM_ADDED, "each has a region of the stream");

/* What each PE sends to the others: first how to map its memory, then how the network reaches it. */
struct offer {
    int err;
    size_t bytes;
    union {
        struct shi_device_share share;
        uint64_t off; /* of host memory, in the node's file */
    };
};
struct answer {
    int err;
    struct shi_net_memory memory;
};
_Static_assert(sizeof(struct offer) <= SHI_EXCHANGE_BYTES && sizeof(struct answer) <= SHI_EXCHANGE_BYTES, "one exchange each");

/* What an entry of the table needs for its end, of those of the host also for a fork: offsets in the node's file. */
static struct kept {
    uint64_t *off; /* [n_pes]; NULL: device memory */
} kept[SHI_ADDED];

/* ---- memory of the host ------------------------------------------------------------------------------------------ */

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

static int check_host(const char *routine, const void *addr, size_t bytes)
{
    uintptr_t lo = (uintptr_t)addr, page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (lo % page || bytes % page) {
        shi_log_error("%s: %zu bytes at %p are not whole pages of %zu bytes (mmap, posix_memalign)", routine, bytes, addr, (size_t)page);
        return -EINVAL;
    }
    if (!is_private(lo, lo + bytes)) {
        shi_log_error("%s: %zu bytes at %p are not all private memory of this process that it can write", routine, bytes, addr);
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

static int bring_host(const char *routine, void *addr, size_t bytes, uint64_t *off)
{
    int err = check_host(routine, addr, bytes);
    if (err)
        return err;
    void *pages = shi_shm_reserve(&shi_world.shm, bytes, off) ? NULL : shi_shm_map(&shi_world.shm, NULL, *off, bytes, 0);
    err = pages ? move(addr, pages, bytes) : -ENOMEM;
    if (err && pages)
        munmap(pages, bytes);
    if (err)
        shi_log_error("%s: no memory for %zu bytes that the PEs of the node share", routine, bytes);
    return err;
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

/* ---- memory of the device ---------------------------------------------------------------------------------------- */

static int bring_device(void *addr, size_t bytes, struct shi_device_share *share)
{
    int err = shi_device->adopt ? shi_device->adopt(addr, bytes) : 0;
    if (err || shi_world.n_pes == 1)
        return err;
    err = shi_device->share(addr, share);
    if (err && shi_device->disown)
        shi_device->disown(addr);
    return err;
}

/* ---- both -------------------------------------------------------------------------------------------------------- */

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

static void bring(const char *routine, void *addr, size_t bytes, int device, struct offer *mine)
{
    mine->bytes = bytes;
    if (!addr || !bytes) {
        shi_log_error("%s: addr = %p, bytes = %zu: no memory", routine, addr, bytes);
        mine->err = -EINVAL;
    } else if (is_symmetric(addr, bytes)) {
        shi_log_error("%s: %zu bytes at %p: some of it is symmetric already", routine, bytes, addr);
        mine->err = -EEXIST;
    } else {
        mine->err = device ? bring_device(addr, bytes, &mine->share) : bring_host(routine, addr, bytes, &mine->off);
    }
}

static void take_back(void *addr, const struct offer *mine, int device)
{
    if (mine->err)
        return;
    if (!device)
        take_back_host(addr, mine->bytes, mine->off);
    else if (shi_device->disown)
        shi_device->disown(addr);
}

static void unmap(const struct shi_added *a)
{
    for (int k = 0; a->at && k < shi_world.shm.n; k++) {
        int pe = shi_world.shm.region[k].pe;
        if (pe == shi_world.pe || !a->at[pe])
            continue;
        if (a->device)
            shi_device->unmap(a->at[pe]);
        else
            munmap(a->at[pe], a->bytes);
    }
    free(a->at);
}

/* The first error of the exchanged records, each of which begins with one. */
static int first_error(void)
{
    const struct shmem_team *world = &shi_team_world;
    int err = 0;
    for (int i = 0; i < world->n && !err; i++)
        err = *(const int *)shi_team_buffer(world, world->me, i);
    return err;
}

/* Map a peer's memory; *direct: its kernels' loads and stores reach it. */
static int map_peer(struct shi_added *a, int pe, const struct offer *o, uint64_t *off)
{
    int copies_only = 0;
    if (a->device) {
        int err = shi_device->map(&o->share, a->bytes, &a->at[pe], &copies_only);
        if (!err && copies_only) {
            shi_log_error("the device does not access the memory of PE %d's device: it cannot be symmetric beside the heap", pe);
            return -ENOTSUP;
        }
        return err;
    }
    off[pe] = o->off;
    a->at[pe] = shi_shm_map(&shi_world.shm, NULL, o->off, a->bytes, 0);
    return a->at[pe] ? 0 : -ENOMEM;
}

/* Map the memory of the node's PEs, from the offers that have been exchanged. */
static int map_peers(const char *routine, struct shi_added *a, uint64_t *off)
{
    const struct shmem_team *world = &shi_team_world;
    int err = 0;
    for (int pe = 0; pe < world->n && !err; pe++) {
        const struct offer *o = shi_team_buffer(world, world->me, pe);
        if (o->bytes != a->bytes) {
            shi_log_error("%s: %zu bytes here and %zu on PE %d", routine, a->bytes, o->bytes, pe);
            err = -EINVAL;
        } else if (pe == shi_world.pe) {
            a->at[pe] = (void *)a->lo;
            if (off)
                off[pe] = o->off;
        } else if (!shi_world.peer[pe].remote) {
            err = map_peer(a, pe, o, off);
        }
    }
    return err;
}

/* Describe the memory to the network, if there is one. */
static int describe(int i, const struct shi_added *a, struct shi_net_memory *out)
{
    struct shi_stream_region mine = {.base = (char *)a->lo, .bytes = a->bytes};
    struct shi_device_memory how = {.fd = -1};
    if (!shi_world.lane)
        return 0;
    int err = a->device ? shi_device_heap_region(&mine, &how) : 0;
    if (!err)
        err = shi_stream_describe(SHI_REGION_ADDED + (enum shi_region)i, &mine, out);
    if (how.fd >= 0)
        close(how.fd);
    return err;
}

static void learn(int i)
{
    const struct shmem_team *world = &shi_team_world;
    for (int pe = 0; pe < world->n && shi_world.lane; pe++)
        if (pe != shi_world.pe)
            shi_stream_learn(pe, SHI_REGION_ADDED + (enum shi_region)i, &((const struct answer *)shi_team_buffer(world, world->me, pe))->memory);
}

int shi_adding_add(const char *routine, void *addr, size_t bytes, int device)
{
    struct shmem_team *world = &shi_team_world;
    struct shi_added a = {.lo = (uintptr_t)addr, .bytes = bytes, .device = device, .at = calloc((size_t)shi_world.n_pes, sizeof *a.at)};
    uint64_t *off = device ? NULL : calloc((size_t)shi_world.n_pes, sizeof *off);
    struct offer mine = {.err = !a.at || (!device && !off) ? -ENOMEM : 0};
    struct answer second = {0};
    int i = 0;
    while (i < SHI_ADDED && shi_added_at(i)->bytes)
        i++;
    if (i == SHI_ADDED) { /* on all PEs */
        shi_log_error("%s: there is memory at %d places already, which is all that this version can", routine, SHI_ADDED);
        free(a.at);
        free(off);
        return -ENOSPC;
    }
    if (!mine.err)
        bring(routine, addr, bytes, device, &mine);
    world->routine = routine;
    shi_team_exchange(world, &mine, sizeof mine);
    int err = first_error();
    if (!err) {
        second.err = map_peers(routine, &a, off);
        if (!second.err)
            second.err = describe(i, &a, &second.memory);
        shi_team_exchange(world, &second, sizeof second);
        err = first_error();
        if (shi_world.n_pes > 1 && device && shi_device->shared)
            shi_device->shared(&mine.share);
        if (!err)
            learn(i);
        else if (shi_world.lane)
            shi_stream_forget(SHI_REGION_ADDED + (enum shi_region)i);
    } else if (!mine.err && device && shi_world.n_pes > 1 && shi_device->shared) {
        shi_device->shared(&mine.share);
    }
    if (err) {
        unmap(&a);
        take_back(addr, &mine, device);
        free(off);
        return err;
    }
    kept[i].off = off;
    shi_added_set(i, &a);
    return i;
}

static void remove_one(int i)
{
    const struct shi_added a = *shi_added_at(i);
    shi_added_clear(i);
    if (shi_world.lane)
        shi_stream_forget(SHI_REGION_ADDED + (enum shi_region)i);
    const struct offer mine = {.bytes = a.bytes, .off = a.device ? 0 : kept[i].off[shi_world.pe]};
    unmap(&a);
    take_back((void *)a.lo, &mine, a.device);
    free(kept[i].off);
    kept[i].off = NULL;
}

int shi_adding_remove(const char *routine, int i)
{
    struct shmem_team *world = &shi_team_world;
    struct offer mine = {.err = i < 0 ? i : 0, .bytes = (size_t)i};
    world->routine = routine;
    shi_team_exchange(world, &mine, sizeof mine);
    int err = first_error();
    for (int pe = 0; pe < world->n && !err; pe++)
        err = ((const struct offer *)shi_team_buffer(world, world->me, pe))->bytes != (size_t)i ? -EINVAL : 0;
    if (!err)
        remove_one(i);
    return err;
}

int shi_adding_local(const char *routine, void *addr, size_t bytes)
{
    int err = !addr || !bytes ? -EINVAL : 0;
    if (!err && shi_world.dev_lo && shi_device->adopt)
        err = shi_device->adopt(addr, bytes);
    if (!err)
        err = shi_added_local(addr, bytes);
    if (err == -ENOMEM)
        shi_log_error("%s: there are %d local buffers already, which is all that this version can", routine, SHI_ADDED_LOCAL);
    return err;
}

int shi_adding_forget_local(void *addr)
{
    int err = shi_added_forget_local(addr);
    if (!err && addr && shi_world.dev_lo && shi_device->disown)
        shi_device->disown(addr);
    return err;
}

void shi_adding_down(void)
{
    for (int i = 0; i < SHI_ADDED; i++)
        if (shi_added_at(i)->bytes)
            remove_one(i);
    shi_adding_forget_local(NULL);
}

int shi_adding_forked(void)
{
    int err = 0;
    for (int i = 0; i < SHI_ADDED; i++) {
        const struct shi_added *a = shi_added_at(i);
        for (int pe = 0; a->bytes && !a->device && pe < shi_world.n_pes; pe++)
            if (a->at[pe] && !shi_shm_map(&shi_world.shm, a->at[pe], kept[i].off[pe], a->bytes, 1))
                err = -ENOMEM;
    }
    return err;
}
