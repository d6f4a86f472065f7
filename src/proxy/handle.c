/*
 * handle.c - contexts and teams for kernels: filled in here, read by the device, served by the proxy.
 *
 * A destroyed context's memory serves the next one: tickets and epochs go on where they are, so that nothing has to be
 * cleared and the proxy never forgets a ring.
 */
#include "proxy/handle.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "device/device.h"
#include "device/lib/state.h"
#include "host/ops/dheap.h"
#include "host/util/log.h"
#include "proxy/proxy.h"

enum { FLAG_BYTES = SHI_DEV_TEAM_WORDS * sizeof(uint64_t), MIN_SLOTS = 2, MAX_SLOTS = 1 << 20 };
_Static_assert(SHI_SLOTS * FLAG_BYTES <= SHI_DHEAP_HEAD_BYTES, "every team's flags head the heap");

/* A context, with all that belongs to its ring behind it. */
struct one {
    struct shi_ring ring;
    struct shi_ring_line line;
    struct shi_dev_ctx ctx;
    struct one *next_free;
    _Alignas(64) uint64_t slots[]; /* [n][SHI_RING_WORDS], then struct shi_ring_cell [n] */
};

/* What all contexts share. */
struct common {
    uint64_t fault;
    struct shi_dev_team team[SHI_SLOTS]; /* by the team's slot */
    uint64_t peer_heap[];                /* [n_pes] */
};

static struct common *common;
static struct one *standard, *free_ones;
static unsigned log_slots;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* making and unmaking contexts; the data path never takes it */

static int read_ring_slots(void)
{
    long n = shi_world.config.device_ring;
    if (n < MIN_SLOTS || n > MAX_SLOTS) {
        shi_log_error("SHMEM_DEVICE_RING=%ld: give %d to %d slots", n, MIN_SLOTS, MAX_SLOTS);
        return -EINVAL;
    }
    for (log_slots = 1; 1l << log_slots < n; log_slots++)
        ;
    return 0;
}

static void fill_team(const struct shmem_team *t)
{
    struct shi_dev_team *d = &common->team[t->index];
    d->start = t->start;
    d->stride = t->stride;
    d->n = t->n;
    d->me = t->me;
    d->flags = (uint64_t)t->index * FLAG_BYTES;
}

/* A new context's memory, its ring already served. NULL after one line. */
static struct one *make(void)
{
    size_t n = (size_t)1 << log_slots;
    void *p;
    if (shi_device->alloc_shared(sizeof(struct one) + n * (SHI_RING_WORDS * 8 + sizeof(struct shi_ring_cell)), &p))
        return NULL;
    struct one *o = p;
    o->ring = (struct shi_ring){.slots = (uint64_t)o->slots, .cells = (uint64_t)(o->slots + n * SHI_RING_WORDS),
                                .line = (uint64_t)&o->line, .log_n = log_slots};
    return shi_proxy_serve(&o->ring) ? NULL : o;
}

/* Every field; what an earlier user of the memory left is overwritten. */
static void fill(struct one *o, const struct shmem_team *t, long options)
{
    o->ctx = (struct shi_dev_ctx){
        .version = SHI_DEV_VERSION, .ring = (uint64_t)&o->ring, .heap = shi_world.dev_lo,
        .heap_bytes = shi_world.config.device_heap_bytes, .peer_heap = (uint64_t)common->peer_heap,
        .world = (uint64_t)&common->team[SHI_SLOT_WORLD], .shared = (uint64_t)&common->team[SHI_SLOT_SHARED],
        .me = t->me, .n_pes = t->n, .start = t->start, .stride = t->stride, .fault = (uint64_t)&common->fault,
        .single = (options & (SHMEM_CTX_PRIVATE | SHMEM_CTX_SERIALIZED)) != 0};
}

/* The device, and the memory with it, is about to go. */
static void down(void)
{
    shi_proxy_down();
    common = NULL;
    standard = free_ones = NULL;
}

int shi_handle_up(void)
{
    if (common)
        return 0;
    void *p;
    int err = read_ring_slots();
    if (!err)
        err = shi_device->alloc_shared(sizeof *common + (size_t)shi_world.n_pes * sizeof(uint64_t), &p);
    if (err)
        return err;
    common = p;
    shi_dheap_on_down(shi_proxy_quiet, down);
    for (int i = 0; i < shi_world.n_pes; i++)
        common->peer_heap[i] = shi_world.config.device_direct ? (uint64_t)shi_dheap_of(i) : 0;
    fill_team(&shi_team_world);
    fill_team(&shi_team_shared);
    standard = make();
    if (!standard)
        return -ENOMEM;
    fill(standard, &shi_team_world, 0);
    return 0;
}

void *shi_handle_ctx(void)
{
    return &standard->ctx;
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
    if (!o)
        return -ENOMEM;
    fill(o, t, options);
    *out = &o->ctx;
    return 0;
}

void shi_handle_ctx_destroy(void *ctx)
{
    struct one *o = (struct one *)((char *)ctx - offsetof(struct one, ctx));
    shi_proxy_quiet_ring(&o->ring);
    o->ctx.version = 0; /* a kernel that still uses it is told */
    pthread_mutex_lock(&lock);
    o->next_free = free_ones;
    free_ones = o;
    pthread_mutex_unlock(&lock);
}

void *shi_handle_team(const struct shmem_team *t)
{
    if (t->index >= SHI_SLOTS)
        return NULL; /* an active set of the deprecated routines: no handle names one */
    fill_team(t);
    return &common->team[t->index];
}

uint64_t shi_handle_fault(void)
{
    return __atomic_exchange_n(&common->fault, 0, __ATOMIC_ACQ_REL);
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
