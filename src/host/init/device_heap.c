/* device_heap.c - take this PE's device and bring the device symmetric heap up and down. */
#include "host/init/device_heap.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/device.h"
#include "host/coll/team.h"
#include "host/init/peers.h"
#include "host/net/node/progress.h"
#include "host/net/stream/pipeline.h"
#include "host/net/stream/stream_device.h"
#include "host/ops/dheap.h"
#include "host/ops/heap.h"
#include "host/ops/launched.h"
#include "host/ops/wait.h"
#include "host/util/copying.h"
#include "host/util/log.h"

static struct shi_dheap own; /* base: also before it comes up, when the program has given memory */
static int adopted; /* base is the program's memory: not divided, not freed */
static int taken;
static int tried, result; /* of the collective start, which happens once: the result is the same on all PEs */
static shi_config_device choice; /* good when chosen */
static int chosen;
static struct {
    void (*finish)(void), (*stop)(void);
} above[8]; /* registered by the proxy and by kernel launches */
static int n_above;

/* The record that each PE sends to the others. */
struct offer {
    struct shi_device_share share;
    int16_t err;
    int8_t indirect; /* this PE's device does not access the heaps of all PEs */
    int8_t kind;     /* shi_device_kind */
    struct shi_net_memory memory; /* for PEs of other nodes */
    size_t bytes;
};
_Static_assert(sizeof(struct offer) <= SHI_EXCHANGE_BYTES, "one exchange suffices");

/* Exchange the records. 0 when every err is 0, else the first that is not. */
static int agree(struct offer *mine)
{
    struct shmem_team *world = &shi_team_world;
    world->routine = "shmemg_malloc";
    shi_team_exchange(world, mine, sizeof *mine);
    for (int i = 0; i < world->n; i++) {
        const struct offer *o = shi_team_buffer(world, world->me, i);
        if (o->err)
            return o->err;
        own.indirect |= o->indirect;
    }
    return 0;
}

int shi_device_heap_take(void)
{
    if (taken)
        return 0;
    cpu_set_t before;
    int restore = sched_getaffinity(0, sizeof before, &before) == 0;
    if (restore) /* threads that run kernels start here and inherit the affinity: not this PE's core */
        shi_shm_spread(&shi_world.shm);
    int err = shi_device_take(chosen ? &choice : &shi_world.config.device, shi_world.boot.local_index, shi_world.boot.n_local,
                              &own.host_access);
    taken = !err;
    if (restore)
        sched_setaffinity(0, sizeof before, &before);
    return err;
}

int shi_device_heap_choose(const shi_config_device *c)
{
    if (taken)
        return -EBUSY;
    if (c) {
        choice = *c;
        chosen = 1;
    }
    return 0;
}

/* Take this PE's device, and allocate its memory unless the program gave some. 0 or -errno. */
static int take_memory(void)
{
    int err = shi_device_heap_take();
    if (err || adopted)
        return err;
    void *p;
    err = shi_device->alloc(shi_world.config.device_heap_bytes, &p);
    if (err)
        return err;
    own.base = p;
    own.bytes = shi_world.config.device_heap_bytes;
    return 0;
}

/* Set up the allocator, with its first block: the device library's words, or all of the program's memory. */
static int bring(struct shi_device_share *share)
{
    int err = take_memory();
    if (!err && adopted && shi_device->adopt)
        err = shi_device->adopt(own.base, own.bytes);
    if (err)
        return err;
    size_t off, head = adopted ? own.bytes : SHI_DHEAP_HEAD_BYTES;
    own.blocks = shi_heap_up(adopted ? shi_round_up(own.bytes, SHI_HEAP_ALIGN) : own.bytes);
    own.mapped = calloc((size_t)shi_world.n_pes, sizeof *own.mapped);
    own.way = calloc((size_t)shi_world.n_pes, sizeof *own.way);
    if (!own.blocks || !own.mapped || !own.way || (head && shi_heap_get(own.blocks, head, 1, &off))) {
        shi_log_error("SHMEM_DEVICE_SYMMETRIC_SIZE=%zu: no room for the device library's %d bytes", own.bytes,
                      SHI_DHEAP_HEAD_BYTES);
        return -ENOMEM;
    }
    shi_heap_gap(own.blocks, shi_world.check ? SHI_HEAP_ALIGN : 0);
    shi_dheap_set(&own);
    if (!adopted)
        shi_dheap_clear("shmemg_malloc", own.base, head);
    return shi_world.n_pes > 1 ? shi_device->share(own.base, share) : 0; /* not every system lets a device share */
}

static unsigned char way_to(int pe, const struct offer *o, int copies_only)
{
    if (pe != shi_world.pe && shi_world.peer[pe].remote)
        return o->memory.handle ? SHI_DHEAP_REGISTERED : SHI_DHEAP_STAGED;
    return copies_only ? SHI_DHEAP_COPIES : own.host_access ? SHI_DHEAP_STORES : SHI_DHEAP_KERNELS;
}

static void log_ways(void)
{
    char text[160];
    shi_dheap_describe_ways(text, sizeof text);
    shi_log_debug("device memory of PEs:%s", text);
}

static int of_other_kind(int pe)
{
    shi_log_error("this PE's device is %s's, PE %d of this node has one of another kind: set SHMEM_DEVICE for all, or SHMEM_TRANSPORT=ofi, "
                  "by which such PEs communicate", shi_device->name, pe);
    return -EINVAL;
}

/* Map the peers' heaps, from the records that `agree` has exchanged. */
static int map_peers(int8_t *indirect)
{
    const struct shmem_team *world = &shi_team_world;
    for (int i = 0; i < world->n; i++) {
        const struct offer *o = shi_team_buffer(world, world->me, i);
        int err = 0, copies_only = 0;
        if (o->bytes != own.bytes) {
            shi_log_error("the device heap has %zu bytes here and %zu on PE %d", own.bytes, o->bytes, i);
            return -EINVAL;
        }
        if (i == world->me)
            own.mapped[i] = own.base;
        else if (shi_world.peer[i].remote)
            shi_stream_learn(i, SHI_REGION_DEVICE, &o->memory);
        else if (o->kind != shi_device_kind())
            err = of_other_kind(i);
        else
            err = shi_device->map(&o->share, own.bytes, &own.mapped[i], &copies_only);
        if (err)
            return err;
        own.way[i] = way_to(i, o, copies_only);
        *indirect |= copies_only || !own.mapped[i];
    }
    return 0;
}

static int start_copies(const struct shi_device_copy *c, int n)
{
    return shi_device->copies_start(SHI_DEVICE_RECORDS, c, n);
}

static int copies_ended(uint64_t *n)
{
    return shi_device->copies_ended(SHI_DEVICE_RECORDS, n);
}

static struct shi_stream_device copier; /* of memory that the host cannot access */

static int copier_up(void)
{
    enum { MESSAGES = 32 };
    void *memory, *chunks;
    size_t chunk = shi_round_up(shi_world.config.device_staging_bytes / SHI_PIPELINE_SERVED, SHI_STREAM_PUT_BYTES);
    int err = shi_device->alloc_shared(shi_stream_device_bytes(MESSAGES), &memory);
    if (!err)
        err = shi_device->alloc_shared(shi_pipeline_bytes(chunk), &chunks);
    if (err)
        return err;
    copier = (struct shi_stream_device){.start = start_copies, .ended = copies_ended, .memory = memory,
                                        .word_lock = shi_shm_held(&shi_world.shm, shi_world.boot.local_index)};
    shi_stream_device_up(&copier, MESSAGES);
    return shi_pipeline_up(chunks, chunk);
}

int shi_device_heap_region(struct shi_stream_region *region, struct shi_device_memory *how)
{
    *how = (struct shi_device_memory){.fd = -1};
    if (own.host_access)
        return 0;
    region->device = &copier;
    region->memory = shi_world.config.ofi_hmem ? how : NULL;
    return shi_device->export_memory(region->base, region->bytes, how);
}

/* Describe the heap to PEs of other nodes. 0 or -errno. */
static int describe(struct shi_net_memory *out)
{
    struct shi_stream_region mine = {.base = own.base, .bytes = own.bytes};
    struct shi_device_memory how;
    int err = own.host_access ? 0 : copier_up();
    if (!err)
        err = shi_device_heap_region(&mine, &how);
    if (err)
        return err;
    err = shi_stream_describe(SHI_REGION_DEVICE, &mine, out);
    if (how.fd >= 0)
        close(how.fd);
    return err;
}

static int bring_all(void)
{
    struct offer mine = {0};
    static struct shi_progress_source copying = {.poll = shi_copying_poll, .every_ms = 100};
    mine.err = (int16_t)bring(&mine.share);
    mine.bytes = own.bytes;
    mine.kind = (int8_t)shi_device_kind();
    shi_copying_limit((uint64_t)shi_world.config.heartbeat * 1000000000);
    if (!mine.err && !own.host_access)
        mine.err = (int16_t)shi_progress_add(&copying);
    if (!mine.err && shi_world.lane)
        mine.err = (int16_t)describe(&mine.memory);
    int err = agree(&mine);
    if (err)
        return err;
    mine.err = (int16_t)map_peers(&mine.indirect);
    err = agree(&mine);
    shi_dheap_set(&own);
    if (err)
        return err;
    log_ways();
    shi_peers_add_device(own.base, own.bytes, own.mapped, own.host_access);
    return err;
}

int shi_device_heap_up(void)
{
    if (!tried)
        result = bring_all();
    tried = 1;
    return result;
}

int shi_device_heap_adopt(void *addr, size_t bytes)
{
    if (tried || adopted)
        return -EBUSY;
    own.base = addr;
    own.bytes = bytes;
    adopted = 1;
    return 0;
}

int shi_device_heap_adopted(void)
{
    return adopted;
}

int shi_device_heap_sync(const char *routine)
{
    struct shi_wait w = {.since_ns = shi_now_ns()};
    shi_wait_register(&w, &(struct shi_wait_for){.routine = routine, .kind = SHI_FOR_KERNELS});
    int err = shi_device->sync();
    shi_wait_end(&w);
    return err;
}

void shi_device_heap_finish(void)
{
    if (!taken)
        return;
    uint64_t launched = shi_launched_count();
    shi_device_heap_sync("shmem_finalize");
    for (int i = n_above - 1; i >= 0; i--)
        if (above[i].finish)
            above[i].finish();
    shi_launched_ended(launched);
}

void shi_device_heap_stop(void)
{
    while (n_above)
        above[--n_above].stop();
}

void shi_device_heap_down(void)
{
    if (own.blocks) {
        for (int i = 0; i < shi_world.n_pes; i++)
            if (own.mapped[i] && own.mapped[i] != own.base)
                shi_device->unmap(own.mapped[i]);
        if (shi_world.lane)
            shi_stream_forget(SHI_REGION_DEVICE);
        if (!adopted)
            shi_device->release(own.base);
        shi_heap_down(own.blocks);
        free(own.mapped);
        free(own.way);
    }
    adopted = 0;
    own = (struct shi_dheap){.base = NULL};
    shi_dheap_set(&own);
    shi_pipeline_down();
    if (taken)
        shi_device->down();
    taken = chosen = tried = result = 0;
}

void shi_device_heap_on_down(void (*finish)(void), void (*stop)(void))
{
    above[n_above].finish = finish;
    above[n_above++].stop = stop;
}
