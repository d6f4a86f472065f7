/*
 * stream_memory.c - the memory that transfers name: this PE's regions, those of peers, memory that is exposed for messages.
 *
 *   word      written by                     read by                               order
 *   exposed   threads in collective calls    shi_stream_expose, _registered        under `lock`, spin.h
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "host/net/stream/lane.h"
#include "host/util/base.h"
#include "host/util/log.h"
#include "host/util/memory.h"
#include "host/util/spin.h"
#include "host/util/table.h"

#define NET (shi_stream_net.ops)

static uint8_t lock;
static struct exposed { /* this PE's regions, the heap several times; the latest first */
    struct exposed *next;
    enum shi_region region;
    const char *base;
    size_t bytes;
    struct shi_net_memory memory;
} *exposed;

static const char *own_memory(int region)
{
    const struct shi_stream_region *r = &shi_stream_net.own[region];
    return r->registered ? r->registered : r->base;
}

int shi_stream_pins(void)
{
    return shi_stream_net.limits.pins;
}

void shi_stream_cannot_register(enum shi_region region, size_t bytes, int err)
{
    static const char *const names[SHI_REGION_ADDED + 1] = {"symmetric heap (SHMEM_SYMMETRIC_SIZE)", "static data", "sync area",
                                                            "device heap (SHMEM_DEVICE_SYMMETRIC_SIZE)", "memory beside the heaps"};
    struct rlimit locked = {.rlim_cur = RLIM_INFINITY};
    char most[32] = "unlimited";
    getrlimit(RLIMIT_MEMLOCK, &locked);
    if (locked.rlim_cur != RLIM_INFINITY)
        snprintf(most, sizeof most, "%llu bytes", (unsigned long long)locked.rlim_cur);
    shi_log_error("network: %s cannot register %zu bytes of the %s: %s; available memory: %zu bytes for %d PEs, locked memory "
                  "(ulimit -l): %s", NET->provider(), bytes, names[region < SHI_REGION_ADDED ? region : SHI_REGION_ADDED], NET->error(err), shi_memory_room(""), shi_stream_net.n_local, most);
}

static int expose_memory(const struct shi_stream_region *r, const char *at, size_t bytes, struct shi_net_memory *out)
{
    return r->memory ? NET->expose_device(at, bytes, r->memory, out)
                     : NET->expose(at, bytes, SHI_NET_READ | SHI_NET_WRITE, out);
}

/* Register a region's first `bytes`, until shi_stream_forget. 0, or an error that is not logged. */
static int expose_region(enum shi_region region, size_t bytes, struct shi_net_memory *out)
{
    struct exposed *e = malloc(sizeof *e);
    int err = e ? expose_memory(&shi_stream_net.own[region], own_memory(region), bytes, out) : -ENOMEM;
    if (err) {
        free(e);
        return err;
    }
    *e = (struct exposed){.region = region, .base = shi_stream_net.own[region].base, .bytes = bytes, .memory = *out};
    shi_spin_lock(&lock);
    e->next = exposed;
    exposed = e;
    shi_spin_unlock(&lock);
    return 0;
}

/* Take the entries of a region out of the list. */
static struct exposed *take_exposed(enum shi_region region)
{
    struct exposed *taken = NULL;
    shi_spin_lock(&lock);
    for (struct exposed **at = &exposed, *e; (e = *at);) {
        if (e->region != region) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        e->next = taken;
        taken = e;
    }
    shi_spin_unlock(&lock);
    return taken;
}

static struct shi_net_memory *memory_of(int pe, enum shi_region region)
{
    return region < SHI_REGION_ADDED ? &shi_stream_net.memory[pe][region] : &shi_stream_net.added[region - SHI_REGION_ADDED][pe];
}

void shi_stream_forget(enum shi_region region)
{
    for (struct exposed *e = take_exposed(region), *next; e; e = next) {
        next = e->next;
        NET->withdraw(&e->memory);
        free(e);
    }
    if (region >= SHI_REGION_ADDED)
        shi_stream_net.own[region] = (struct shi_stream_region){.bytes = 0};
    if (region < SHI_REGION_ADDED || shi_stream_net.added[region - SHI_REGION_ADDED])
        memory_of(shi_stream_net.me, region)->handle = 0;
}

/* The table of an added region, which stays for a later one. */
static int make_table(enum shi_region region)
{
    struct shi_net_memory **at = &shi_stream_net.added[region - SHI_REGION_ADDED];
    if (!*at)
        *at = shi_table((size_t)shi_stream_net.n_pes, sizeof **at);
    return *at ? 0 : -ENOMEM;
}

void shi_stream_memory_leave(void)
{
    for (struct exposed *e; (e = exposed); free(e))
        exposed = e->next;
}

/* 1: a registration contains [addr, + bytes), and *out describes it. Memory in a transfer is not withdrawn. */
static int find_exposed(const char *addr, size_t bytes, struct shi_am_src *out)
{
    shi_spin_lock(&lock);
    const struct exposed *e = exposed;
    size_t off = 0;
    for (; e; e = e->next) {
        off = (uintptr_t)addr - (uintptr_t)e->base;
        if (off < e->bytes && bytes <= e->bytes - off)
            break;
    }
    if (e)
        *out = (struct shi_am_src){.addr = e->memory.base + off, .key = e->memory.key, .bytes = bytes};
    shi_spin_unlock(&lock);
    return e != NULL;
}

int shi_stream_grow(enum shi_region region, size_t had, size_t bytes, struct shi_net_memory *out)
{
    int err = shi_stream_pins() ? shi_memory_populate((char *)own_memory(region) + had, bytes - had, shi_stream_net.n_local) : 0;
    return err ? err : expose_region(region, bytes, out);
}

int shi_stream_describe(enum shi_region region, const struct shi_stream_region *own, struct shi_net_memory *out)
{
    *out = (struct shi_net_memory){0};
    if (region >= SHI_REGION_ADDED && make_table(region))
        return -ENOMEM;
    shi_stream_forget(region); /* that of an earlier shmem_init */
    shi_stream_net.own[region] = *own;
    int err = !own->device || own->memory ? expose_region(region, own->bytes, out) : 0;
    shi_stream_net.own[region].memory = NULL; /* the caller's */
    shi_stream_learn(shi_stream_net.me, region, out);
    if (err && own->device)
        shi_log_debug("network: %s cannot register %zu bytes of device memory: %s; transfers are copied through host memory",
                      NET->provider(), own->bytes, NET->error(err));
    else if (err)
        shi_stream_cannot_register(region, own->bytes, err);
    return own->device ? 0 : err;
}

void shi_stream_learn(int pe, enum shi_region region, const struct shi_net_memory *memory)
{
    struct shi_net_memory *m = memory_of(pe, region);
    m->base = memory->base;
    __atomic_store_n(&m->key, memory->key, __ATOMIC_RELAXED); /* another thread may read the old one, which stays valid */
    __atomic_store_n(&m->handle, memory->handle, __ATOMIC_RELEASE); /* R4 */
}

int shi_stream_reaches(int pe, enum shi_region region)
{
    return __atomic_load_n(&shi_stream_memory(pe, region)->handle, __ATOMIC_RELAXED) != 0; /* it is registered */
}

int shi_stream_sends(const void *local, size_t bytes)
{
    for (enum shi_region r = SHI_REGION_DEVICE; r < SHI_REGIONS; r++) {
        const struct shi_stream_region *d = &shi_stream_net.own[r];
        uintptr_t off = (uintptr_t)local - (uintptr_t)d->base;
        if (d->device && off < d->bytes)
            return shi_stream_reaches(shi_stream_net.me, r) && bytes <= d->bytes - off;
    }
    return 1;
}

int shi_stream_expose(const void *addr, size_t bytes, struct shi_am_src *out)
{
    struct shi_net_memory m;
    if (find_exposed(addr, bytes, out)) /* symmetric memory: peers have the key already */
        return 0;
    int err = NET->expose(addr, bytes, SHI_NET_READ, &m);
    if (!err)
        *out = (struct shi_am_src){.addr = m.base, .key = m.key, .bytes = bytes, .handle = m.handle};
    return err;
}

int shi_stream_registered(const void *addr, size_t bytes, struct shi_am_src *out)
{
    return find_exposed(addr, bytes, out);
}

void shi_stream_withdraw(const struct shi_am_src *src)
{
    if (src->handle)
        NET->withdraw(&(struct shi_net_memory){.handle = src->handle});
}

/* ---- reads of exposed memory -------------------------------------------------------------------------------------- */

_Static_assert(sizeof(struct shi_net_req) + 16 <= sizeof ((struct shi_am_fetch *)0)->priv, "a fetch embeds a request");

/* The request inside a fetch, aligned for libfabric's contexts. */
static struct shi_net_req *req_of(struct shi_am_fetch *f)
{
    return (struct shi_net_req *)shi_round_up((uintptr_t)f->priv, 16);
}

static void fetched(struct shi_net_req *req, int err)
{
    struct shi_am_fetch *f;
    memcpy(&f, req + 1, sizeof f);
    f->done(f, err);
}

int shi_stream_fetch(int pe, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    struct shi_net_req *req = req_of(f);
    if (shi_unlikely(shi_stream_is_lost(pe)))
        return -ECANCELED; /* libfabric might say EAGAIN for ever */
    *req = (struct shi_net_req){.done = fetched};
    memcpy(req + 1, &f, sizeof f);
    shi_lane_lock(l);
    int rc = NET->read(l->net, pe, &(struct shi_net_memory){.base = src->addr, .key = src->key}, off, to, bytes, req);
    shi_lane_unlock(l);
    return rc;
}

/* ---- figures ------------------------------------------------------------------------------------------------------ */

size_t shi_stream_rma_bytes(void)
{
    return shi_stream_net.limits.rma_bytes < (size_t)1 << 30 ? shi_stream_net.limits.rma_bytes : (size_t)1 << 30;
}

size_t shi_stream_bcopy_bytes(void)
{
    return shi_stream_net.bcopy_bytes;
}
