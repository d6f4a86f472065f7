/*
 * handle.c - contexts and teams for kernels: filled in here, read by the device, served by the proxy.
 *
 * Ring heads, contexts and teams are accessed by kernels only, so they belong in device memory. Where the host cannot access
 * that, it keeps a copy here and copies each change to the device. Slots, results and the line, which kernels share with the
 * proxy, are always in host memory. `at` below is the device's address of a structure here.
 *
 * A new context takes the memory of a destroyed one: its tickets and epochs continue, so nothing has to be cleared and the
 * proxy serves a ring for ever.
 */
#include "proxy/handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "device/device.h"
#include "device/lib/state.h"
#include "host/init/device_heap.h"
#include "host/ops/added.h"
#include "host/ops/dheap.h"
#include "host/util/log.h"
#include "proxy/proxy.h"

enum { FLAG_BYTES = SHI_DEV_TEAM_WORDS * sizeof(uint64_t), MIN_SLOTS = 2, MAX_SLOTS = 1 << 20 };
_Static_assert((int)SHI_DEV_ADDED == (int)SHI_ADDED, "kernels find all");
_Static_assert(SHI_SLOTS * FLAG_BYTES <= SHI_DHEAP_HEAD_BYTES, "every team's flags head the heap");

/* A context and its ring. */
struct one {
    struct shown {
        _Alignas(64) struct shi_ring ring;
        struct shi_dev_ctx ctx;
    } shown, *at;
    _Alignas(64) struct shi_ring_line line;
    struct one *next, *next_free;
    _Alignas(64) uint64_t slots[]; /* [n][SHI_RING_WORDS], then struct shi_ring_result [n] */
};

/* Shared by all contexts. */
struct common {
    uint64_t fault;
    struct shi_dev_team team[SHI_SLOTS]; /* by the team's slot */
    struct shi_dev_added added[SHI_DEV_ADDED];
    uint64_t peer_heap[];                /* [n_pes] */
};

static struct common *common, *common_at;
/* Stages of teams, for SLOTS_OF_PART neighbouring slots each: together a page of 2 MiB, which an allocation on a device takes, unless there are
 * thousands of PEs. */
enum { SLOTS_OF_PART = 32, STAGE_BYTES = 64 << 10 };
static void *stages[SHI_SLOTS / SLOTS_OF_PART];
static int *list_of[SHI_SLOTS]; /* for kernels: the members of a team that is not evenly spaced, or NULL */
static uint64_t *peers_of[SHI_DEV_ADDED], *peers_at[SHI_DEV_ADDED]; /* for common->added; they stay for later memory */
static struct one *standard, *all, *free_ones;
/* Device copies of contexts: in the allocation of common_at, because each of its own would take a page of 2 MiB and, made while
 * kernels run, might wait for them. */
enum { COPIES = 256 };
static struct shown *copies;
static int n_copies; /* used */
static unsigned log_slots;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held to create and destroy contexts and stages, never on the data path */

/* Allocate the device's copy of the structure `here`, if it needs one. 0 or -errno after one line. */
static int alloc_copy(void *here, size_t bytes, void **at)
{
    *at = here;
    return shi_world.dev_private ? shi_device->alloc(bytes, at) : 0;
}

/* The device's copy of a context. */
static int take_copy(struct one *o)
{
    void *at = copies + n_copies;
    int err = copies && n_copies < COPIES ? 0 : alloc_copy(&o->shown, sizeof o->shown, &at);
    n_copies += copies && n_copies < COPIES;
    o->at = at;
    return err;
}

static void release_copy(void *here, void *at)
{
    if (at && at != here)
        shi_device->release(at);
}

/* Copy bytes of a structure here to the device's copy `at`, if there is one. */
static void show(const void *here, void *at, size_t bytes)
{
    if (at != here)
        shi_dheap_copy("shmemx_device_ctx", at, here, bytes);
}

static int read_ring_slots(void)
{
    long n = shi_world.config.device_ring;
    if (n < MIN_SLOTS || n > MAX_SLOTS) {
        shi_log_error("SHMEM_TEST_DEVICE_RING=%ld: give %d to %d slots", n, MIN_SLOTS, MAX_SLOTS);
        return -EINVAL;
    }
    for (log_slots = 1; 1l << log_slots < n; log_slots++)
        ;
    return 0;
}

/* A later team in the slot uses the same memory. 0 or -errno after one line. */
static int fill_list(const struct shmem_team *t)
{
    void *p = list_of[t->index];
    int err = p ? 0 : shi_device->alloc_shared((size_t)shi_world.n_pes * sizeof(int), &p);
    if (err)
        return err;
    list_of[t->index] = p;
    for (int i = 0; i < t->n; i++)
        list_of[t->index][i] = shi_team_world_pe(t, i);
    return 0;
}

/* Every PE of a team computes the same. */
static size_t stage_bytes(void)
{
    size_t least = (size_t)shi_world.n_pes * 16;
    return least < STAGE_BYTES ? STAGE_BYTES : least;
}

/* A later team in the slot uses the same memory. 0 or -errno after one line. */
static int fill_stage(struct shi_dev_team *d, int slot)
{
    void **part = &stages[slot / SLOTS_OF_PART];
    size_t bytes = SLOTS_OF_PART * stage_bytes();
    pthread_mutex_lock(&lock);
    int err = *part ? 0 : shi_world.dev_private ? shi_device->alloc(bytes, part) : shi_device->alloc_shared(bytes, part);
    pthread_mutex_unlock(&lock);
    d->stage = (uint64_t)*part + (uint64_t)(slot % SLOTS_OF_PART) * stage_bytes();
    d->stage_bytes = stage_bytes();
    return err;
}

/* The team as kernels see it, or NULL after one line. */
static const struct shi_dev_team *fill_team(const struct shmem_team *t)
{
    struct shi_dev_team *d = &common->team[t->index];
    if ((t->list && fill_list(t)) || fill_stage(d, t->index))
        return NULL;
    d->start = t->start;
    d->stride = t->list ? 0 : t->n == 1 ? 1 : t->stride;
    d->n = t->n;
    d->me = t->me;
    d->flags = (uint64_t)t->index * FLAG_BYTES;
    d->list = t->list ? (uint64_t)list_of[t->index] : 0;
    show(d, &common_at->team[t->index], offsetof(struct shi_dev_team, seen));
    return d;
}

/* The table of PEs' addresses for entry i of common->added. 0 or -errno after one line. */
static int need_peers(int i)
{
    void *p, *at;
    size_t bytes = (size_t)shi_world.n_pes * sizeof(uint64_t);
    int err = peers_of[i] ? 0 : shi_device->alloc_shared(bytes, &p);
    if (err || peers_of[i])
        return err;
    err = alloc_copy(p, bytes, &at);
    if (err)
        return err;
    peers_of[i] = p;
    peers_at[i] = at;
    return 0;
}

/* Where kernels load and store memory that this PE has mapped at `at`, or 0: only through the ring. */
static uint64_t direct(const void *at)
{
    return shi_world.config.device_direct && !shi_world.check ? (uint64_t)at : 0;
}

/* Kernels that run find either nothing or all. */
static int show_added(int i)
{
    const struct shi_added *a = shi_added_at(i);
    int err = need_peers(i);
    if (err)
        return err;
    for (int pe = 0; pe < shi_world.n_pes; pe++)
        peers_of[i][pe] = direct(a->at[pe]);
    show(peers_of[i], peers_at[i], (size_t)shi_world.n_pes * sizeof(uint64_t));
    common->added[i] = (struct shi_dev_added){.lo = a->lo, .peer = (uint64_t)peers_at[i]};
    show(&common->added[i], &common_at->added[i], sizeof common->added[i]);
    common->added[i].end = a->lo + a->bytes;
    show(&common->added[i].end, &common_at->added[i].end, sizeof common->added[i].end);
    return 0;
}

int shi_handle_added(int i)
{
    return common ? show_added(i) : 0;
}

void shi_handle_removed(int i)
{
    if (!common)
        return;
    common->added[i].end = 0;
    show(&common->added[i].end, &common_at->added[i].end, sizeof common->added[i].end);
}

/* Allocate a context and serve its ring. NULL after one line. */
static struct one *make(void)
{
    size_t n = (size_t)1 << log_slots;
    void *p;
    if (shi_device->alloc_shared(sizeof(struct one) + n * (SHI_RING_WORDS * 8 + sizeof(struct shi_ring_result)), &p))
        return NULL;
    struct one *o = p;
    o->next = all;
    all = o;
    if (take_copy(o))
        return NULL;
    o->shown.ring = (struct shi_ring){.slots = (uint64_t)o->slots, .results = (uint64_t)(o->slots + n * SHI_RING_WORDS),
                                      .line = (uint64_t)&o->line, .log_n = log_slots};
    show(&o->shown.ring, &o->at->ring, sizeof o->shown.ring);
    return shi_proxy_serve(&o->shown.ring, &o->at->ring) ? NULL : o;
}

/* The first run of PEs of the team that the device reaches. */
static void fill_near(struct shi_dev_ctx *ctx, const struct shmem_team *t)
{
    int first = 0, n = 0;
    while (first < t->n && !common->peer_heap[shi_team_world_pe(t, first)])
        first++;
    for (; n < SHI_DEV_NEAR && first + n < t->n && common->peer_heap[shi_team_world_pe(t, first + n)]; n++)
        ctx->near[n] = common->peer_heap[shi_team_world_pe(t, first + n)];
    ctx->near_first = (uint32_t)first;
    ctx->near_n = (uint32_t)n;
}

/* Sets every field: the memory may be that of a destroyed context. */
static void fill(struct one *o, const struct shmem_team *team, const struct shi_dev_team *t, long options)
{
    o->shown.ctx = (struct shi_dev_ctx){
        .version = SHI_DEV_VERSION, .ring = (uint64_t)&o->at->ring, .heap = shi_world.dev_lo,
        .heap_bytes = shi_world.dev_bytes, .peer_heap = (uint64_t)common_at->peer_heap, .added = (uint64_t)common_at->added,
        .world = (uint64_t)&common_at->team[SHI_SLOT_WORLD], .shared = (uint64_t)&common_at->team[SHI_SLOT_SHARED],
        .me = t->me, .n_pes = t->n, .start = t->start, .stride = t->stride, .list = t->list,
        .fault = (uint64_t)&common_at->fault,
        .ring_updates = shi_dheap_ring_updates(),
        .single = (options & (SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED)) != 0};
    fill_near(&o->shown.ctx, team);
    show(&o->shown.ctx, &o->at->ctx, sizeof o->shown.ctx);
}

/* The device is about to go down, and its memory with it. */
static void down(void)
{
    shi_proxy_down();
    for (struct one *o = all; o; o = o->next)
        if (!copies || o->at < copies || o->at >= copies + COPIES)
            release_copy(&o->shown, o->at);
    release_copy(common, common_at);
    for (int i = 0; i < SHI_DEV_ADDED; i++) {
        release_copy(peers_of[i], peers_at[i]);
        peers_of[i] = peers_at[i] = NULL;
    }
    common = common_at = NULL;
    copies = NULL;
    n_copies = 0;
    for (int i = 0; i < SHI_SLOTS / SLOTS_OF_PART; i++)
        if (shi_world.dev_private && stages[i])
            shi_device->release(stages[i]);
    memset(stages, 0, sizeof stages);
    memset(list_of, 0, sizeof list_of);
    standard = all = free_ones = NULL;
}

int shi_handle_up(void)
{
    if (common)
        return 0;
    void *p, *at;
    size_t bytes = sizeof *common + (size_t)shi_world.n_pes * sizeof(uint64_t);
    int err = read_ring_slots();
    if (!err)
        err = shi_device->alloc_shared(bytes, &p);
    size_t head = (bytes + 63) & ~(size_t)63;
    if (!err)
        err = alloc_copy(p, head + COPIES * sizeof *copies, &at);
    if (err)
        return err;
    if (shi_world.dev_private)
        copies = (struct shown *)((char *)at + head);
    common = p;
    common_at = at;
    shi_device_heap_on_down(shi_proxy_quiet, down);
    for (int i = 0; i < shi_world.n_pes; i++)
        common->peer_heap[i] = direct(shi_dheap_direct(i));
    show(common, common_at, bytes);
    for (int i = 0; i < SHI_DEV_ADDED && !err; i++)
        err = shi_added_at(i)->bytes && shi_added_at(i)->device ? show_added(i) : 0;
    if (err)
        return err;
    const struct shi_dev_team *world = fill_team(&shi_team_world);
    standard = fill_team(&shi_team_shared) ? make() : NULL;
    if (!standard)
        return -ENOMEM;
    fill(standard, &shi_team_world, world, 0);
    return 0;
}

void *shi_handle_ctx(void)
{
    return &standard->at->ctx;
}

const struct shi_dev_ctx *shi_handle_default(void)
{
    return &standard->shown.ctx;
}

int shi_handle_ctx_create(const struct shmem_team *t, long options, void **out)
{
    pthread_mutex_lock(&lock);
    struct one *o = free_ones;
    if (o)
        free_ones = o->next_free;
    else
        o = make();
    pthread_mutex_unlock(&lock);
    const struct shi_dev_team *team = o ? fill_team(t) : NULL;
    if (!team)
        return -ENOMEM;
    fill(o, t, team, options);
    *out = &o->at->ctx;
    return 0;
}

void shi_handle_ctx_destroy(void *ctx)
{
    pthread_mutex_lock(&lock);
    struct one *o = all;
    while (o && &o->at->ctx != ctx)
        o = o->next;
    pthread_mutex_unlock(&lock);
    if (!o)
        shi_die("shmemx_device_ctx_destroy", "ctx = %p is no context for kernels (pe = %d)", ctx, shi_world.pe);
    shi_proxy_quiet_ring(&o->shown.ring);
    o->shown.ctx.version = 0; /* a kernel that still uses it reports a fault */
    show(&o->shown.ctx.version, &o->at->ctx.version, sizeof o->shown.ctx.version);
    pthread_mutex_lock(&lock);
    o->next_free = free_ones;
    free_ones = o;
    pthread_mutex_unlock(&lock);
}

void *shi_handle_team(const struct shmem_team *t)
{
    if (t->index >= SHI_SLOTS)
        return NULL; /* an active set of the deprecated routines has no handle */
    return fill_team(t) ? &common_at->team[t->index] : NULL;
}

uint64_t shi_handle_fault(void)
{
    static const uint64_t none = 0;
    if (common_at == common)
        return __atomic_exchange_n(&common->fault, 0, __ATOMIC_ACQ_REL);
    uint64_t fault = 0;
    shi_dheap_copy("shmemx_device_sync", &fault, &common_at->fault, sizeof fault);
    if (fault)
        shi_dheap_copy("shmemx_device_sync", &common_at->fault, &none, sizeof none);
    return fault;
}

const char *shi_handle_fault_words(uint64_t fault)
{
    static char text[128];
    static const char *const words[] = {
        [SHI_FAULT_PE] = "PE %ld does not exist",
        [SHI_FAULT_ADDRESS] = "address %#lx is not in the device symmetric heap",
        [SHI_FAULT_OPERATOR] = "%ld is no comparison or signal operator",
        [SHI_FAULT_CONTEXT] = "context %#lx is none of this library's",
        [SHI_FAULT_TEAM] = "team %#lx is none of this PE's",
    };
    unsigned kind = fault & 0xff;
    if (!fault)
        return NULL;
    snprintf(text, sizeof text, kind < sizeof words / sizeof *words && words[kind] ? words[kind] : "fault %#lx",
             (long)(fault >> 8));
    return text;
}
