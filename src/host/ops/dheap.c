/* dheap.c - the device symmetric heap. Peers' heaps enter the tables of state.h, so host routines reach them too. */
#include "host/ops/dheap.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "host/net/stream.h"
#include "host/ops/heap.h"
#include "host/ops/launched.h"
#include "host/coll/team.h"
#include "host/ops/wait.h"
#include "host/util/log.h"

static struct shi_heap *heap;
static char *base;
static size_t base_bytes;
static int adopted; /* base is the program's, not ours to divide or to free */
static void **mapped; /* [n_pes], this PE's own among them */
static int host_access, taken;
static shi_config_device choice; /* good when chosen */
static int chosen;
static struct {
    void (*finish)(void), (*stop)(void);
} above[4]; /* what the layers above have running */
static int n_above;

/* What PEs tell each other; err as of the teller. */
struct offer {
    struct shi_device_share share;
    struct shi_net_memory memory; /* for PEs of other nodes */
    int err;
    size_t bytes;
};
_Static_assert(sizeof(struct offer) <= SHI_BOX_BYTES, "one exchange tells all");

/* 0 when everybody's err is 0, else the first of them. */
static int agree(struct offer *mine)
{
    struct shmem_team *world = &shi_team_world;
    world->routine = "shmemg_malloc";
    shi_team_exchange(world, mine, sizeof *mine);
    for (int i = 0; i < world->n; i++) {
        const struct offer *o = shi_team_box(world, world->me, i);
        if (o->err)
            return o->err;
    }
    return 0;
}

int shi_dheap_take(void)
{
    if (taken)
        return 0;
    cpu_set_t own;
    int restore = sched_getaffinity(0, sizeof own, &own) == 0;
    if (restore) /* threads that run kernels start here, and would share this PE's core with it */
        shi_shm_spread(&shi_world.shm);
    int err = shi_device_take(chosen ? &choice : &shi_world.config.device, shi_world.boot.local_index, &host_access);
    taken = !err;
    if (restore)
        sched_setaffinity(0, sizeof own, &own);
    return err;
}

int shi_dheap_choose(const shi_config_device *c)
{
    if (taken)
        return -EBUSY;
    if (c) {
        choice = *c;
        chosen = 1;
    }
    return 0;
}

/* This PE's device, and memory of it unless the program gave some. 0 or -errno. */
static int take_memory(void)
{
    int err = shi_dheap_take();
    if (err || adopted)
        return err;
    void *p;
    err = shi_device->alloc(shi_world.config.device_heap_bytes, &p);
    if (err)
        return err;
    base = p;
    base_bytes = shi_world.config.device_heap_bytes;
    return 0;
}

/* The allocator and what is taken from the start: the device library's words, or all of the program's memory. */
static int bring(struct shi_device_share *share)
{
    int err = take_memory();
    if (err)
        return err;
    size_t off, head = adopted ? base_bytes / SHI_HEAP_ALIGN * SHI_HEAP_ALIGN : SHI_DHEAP_HEAD_BYTES;
    heap = shi_heap_up(base_bytes);
    mapped = calloc((size_t)shi_world.n_pes, sizeof *mapped);
    if (!heap || !mapped || (head && shi_heap_get(heap, head, 1, &off))) {
        shi_log_error("SHMEM_DEVICE_SYMMETRIC_SIZE=%zu: no room for the device library's %d bytes", base_bytes,
                      SHI_DHEAP_HEAD_BYTES);
        return -ENOMEM;
    }
    if (!adopted)
        shi_dheap_clear("shmemg_malloc", base, head);
    return shi_world.n_pes > 1 ? shi_device->share(base, share) : 0; /* not every system lets a device share */
}

/* Everybody's, from the boxes of the exchange that has just been. */
static int map_peers(void)
{
    const struct shmem_team *world = &shi_team_world;
    for (int i = 0; i < world->n; i++) {
        const struct offer *o = shi_team_box(world, world->me, i);
        int err = 0;
        if (o->bytes != base_bytes) {
            shi_log_error("the device heap has %zu bytes here and %zu on PE %d", base_bytes, o->bytes, i);
            return -EINVAL;
        }
        if (i == world->me)
            mapped[i] = base;
        else if (shi_world.peer[i].far)
            shi_stream_learn(i, SHI_REGION_DEVICE, &o->memory);
        else
            err = shi_device->map(&o->share, &mapped[i]);
        if (err)
            return err;
    }
    return 0;
}

int shi_dheap_up(void)
{
    if (heap)
        return 0;
    struct offer mine = {.err = bring(&mine.share)};
    mine.bytes = base_bytes;
    const struct shi_stream_region mine_to_all = {.base = base, .bytes = base_bytes,
                                                  .copy = mine.err || host_access ? NULL : shi_device->copy};
    if (!mine.err && shi_world.lane)
        mine.err = shi_stream_describe(SHI_REGION_DEVICE, &mine_to_all, &mine.memory);
    int err = agree(&mine);
    if (err)
        return err;
    mine.err = map_peers();
    err = agree(&mine);
    if (!err)
        shi_world_add_device(base, base_bytes, mapped, host_access);
    return err;
}

int shi_dheap_adopt(void *addr, size_t bytes)
{
    if (heap || adopted)
        return -EBUSY;
    base = addr;
    base_bytes = bytes;
    adopted = 1;
    return 0;
}

int shi_dheap_adopted(void)
{
    return adopted;
}

int shi_dheap_sync(const char *routine)
{
    struct shi_wait w = {.since_ns = shi_now_ns()};
    shi_wait_tell(&w, &(struct shi_wait_for){.routine = routine, .kind = SHI_FOR_KERNELS});
    int err = shi_device->sync();
    shi_wait_end(&w);
    return err;
}

void shi_dheap_finish(void)
{
    if (!taken)
        return;
    uint64_t launched = shi_launched_count();
    shi_dheap_sync("shmem_finalize");
    for (int i = n_above - 1; i >= 0; i--)
        if (above[i].finish)
            above[i].finish();
    shi_launched_ended(launched);
}

void shi_dheap_stop(void)
{
    while (n_above)
        above[--n_above].stop();
}

void shi_dheap_down(void)
{
    if (heap) {
        for (int i = 0; i < shi_world.n_pes; i++)
            if (mapped[i] && mapped[i] != base)
                shi_device->unmap(mapped[i]);
        if (!adopted)
            shi_device->release(base);
        shi_heap_down(heap);
        free(mapped);
    }
    adopted = 0;
    heap = NULL;
    mapped = NULL;
    base = NULL;
    if (taken)
        shi_device->down();
    taken = chosen = 0;
}

void shi_dheap_on_down(void (*finish)(void), void (*stop)(void))
{
    above[n_above].finish = finish;
    above[n_above++].stop = stop;
}

void *shi_dheap_of(int pe)
{
    return mapped[pe];
}

int shi_dheap_get(size_t bytes, size_t align, void **addr)
{
    size_t off;
    int err = shi_heap_get(heap, bytes, align, &off);
    if (!err)
        *addr = base + off;
    return err;
}

const struct shi_heap *shi_dheap_blocks(void)
{
    return heap;
}

int shi_dheap_put(void *addr)
{
    return heap && shi_dheap_holds(addr, 1) ? shi_heap_put(heap, (size_t)((char *)addr - base)) : -EINVAL;
}

int shi_dheap_holds(const void *addr, size_t bytes)
{
    uintptr_t off = (uintptr_t)addr - (uintptr_t)base;
    return base && off < base_bytes && bytes <= base_bytes - off;
}

int shi_dheap_hides(const void *addr, size_t bytes)
{
    return shi_world.dev_private && shi_dheap_holds(addr, bytes);
}

void shi_dheap_copy(const char *routine, void *to, const void *from, size_t bytes)
{
    int err = shi_device->copy(to, from, bytes);
    if (err)
        shi_die(routine, "the device failed to copy %zu bytes from %p to %p: %s", bytes, from, to, strerror(-err));
}

void shi_dheap_move(void *to, const void *from, size_t bytes)
{
    if (host_access)
        memcpy(to, from, bytes);
    else
        shi_dheap_copy("message", to, from, bytes);
}

void shi_dheap_clear(const char *routine, void *addr, size_t bytes)
{
    static const char zeros[65536];
    if (host_access) {
        memset(addr, 0, bytes);
        return;
    }
    for (size_t done = 0; done < bytes; done += sizeof zeros)
        shi_dheap_copy(routine, (char *)addr + done, zeros, bytes - done < sizeof zeros ? bytes - done : sizeof zeros);
}
