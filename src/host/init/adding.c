/* adding.c - memory becomes symmetric beside the heaps: each PE of a team brings its own, then all map what they reach. */
#include "host/init/adding.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <shmemx_memory.h>

#include "host/coll/team.h"
#include "host/init/device_heap.h"
#include "host/net/stream/stream.h"
#include "host/ops/added.h"
#include "host/ops/dheap.h"
#include "host/ops/heap.h"
#include "host/util/log.h"

_Static_assert((int)SHI_ADDED == (int)SHI_STREAM_ADDED, "each has a region of the stream");

/* What each PE sends to the others: first how to map its memory, then how the network reaches it. */
struct offer {
    int err;
    int numa_node; /* of all its pages, or SHI_ADDED_HERE */
    size_t bytes;
    union shi_brought brought;
};
struct answer {
    int err;
    struct shi_net_memory memory;
};
_Static_assert(sizeof(struct offer) <= SHI_EXCHANGE_BYTES && sizeof(struct answer) <= SHI_EXCHANGE_BYTES, "one exchange each");

/* What an entry of the table needs for its end, of those of the host also for a fork: offsets in the node's file. */
static struct kept {
    struct shi_adding what;
    uint64_t *off; /* [n_pes]; NULL: device memory */
} kept[SHI_ADDED];

/* Held by a thread that changes entries and mappings, not while it waits for PEs. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t places; /* a bit for each index that is taken */
_Static_assert(SHI_ADDED == 32, "they have as many bits");

/* ---- places ------------------------------------------------------------------------------------------------------ */

struct seat {
    uint32_t taken;
    int32_t ok;
};

static void merge_seats(void *to, const void *from)
{
    struct seat *all = to;
    const struct seat *s = from;
    all->taken |= s->taken;
    all->ok &= s->ok;
}

static int claim(int i)
{
    pthread_mutex_lock(&lock);
    int was_free = !(places >> i & 1);
    places |= 1u << i;
    pthread_mutex_unlock(&lock);
    return was_free;
}

static void give_back(int i)
{
    pthread_mutex_lock(&lock);
    places &= ~(1u << i);
    pthread_mutex_unlock(&lock);
}

/* Take an index that is free on all members, or -ENOSPC. Another thread of one may claim it for another team: then all try again. */
static int take_place(struct shmem_team *team)
{
    for (;;) {
        struct seat all = {.ok = 1};
        pthread_mutex_lock(&lock);
        all.taken = places;
        pthread_mutex_unlock(&lock);
        shi_team_merge(team, &all, sizeof all, merge_seats);
        if (all.taken == UINT32_MAX)
            return -ENOSPC;
        int i = __builtin_ctz(~all.taken), mine = claim(i);
        all.ok = mine;
        shi_team_merge(team, &all, sizeof all, merge_seats);
        if (all.ok)
            return i;
        if (mine)
            give_back(i);
    }
}

/* ---- peers ------------------------------------------------------------------------------------------------------- */

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
}

/* The first error of the exchanged records, each of which begins with one. */
static int first_error(const struct shmem_team *team)
{
    int err = shi_team_failed(team) ? -EIO : 0; /* then not all members have answered (host/survive) */
    for (int i = 0; i < team->n && !err; i++)
        err = *(const int *)shi_team_buffer(team, team->me, i);
    return err;
}

/* Map a peer's memory, which its kernels' loads and stores reach, too. */
static int map_peer(struct shi_added *a, int pe, const struct offer *o, uint64_t *off)
{
    int copies_only = 0;
    if (a->device) {
        int err = shi_device->map(&o->brought.share, a->bytes, &a->at[pe], &copies_only);
        if (!err && copies_only) {
            shi_log_error("the device does not access the memory of PE %d's device: it cannot be symmetric beside the heap", pe);
            return -ENOTSUP;
        }
        return err;
    }
    off[pe] = o->brought.off;
    a->at[pe] = shi_shm_map(&shi_world.shm, NULL, off[pe], a->bytes, 0);
    return a->at[pe] ? 0 : -ENOMEM;
}

/* Map the memory of the node's members, from the offers that have been exchanged. */
static int map_peers(const char *routine, const struct shmem_team *team, struct shi_added *a, uint64_t *off)
{
    int err = 0;
    for (int i = 0; i < team->n && !err; i++) {
        const struct offer *o = shi_team_buffer(team, team->me, i);
        int pe = shi_team_world_pe(team, i);
        a->of[pe] = (int16_t)o->numa_node;
        if (o->bytes != a->bytes) {
            shi_log_error("%s: %zu bytes here and %zu on PE %d", routine, a->bytes, o->bytes, pe);
            err = -EINVAL;
        } else if (pe == shi_world.pe) {
            a->at[pe] = (void *)a->lo;
            if (off)
                off[pe] = o->brought.off;
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

static void learn(const struct shmem_team *team, int i)
{
    for (int k = 0; k < team->n && shi_world.lane; k++)
        if (k != team->me)
            shi_stream_learn(shi_team_world_pe(team, k), SHI_REGION_ADDED + (enum shi_region)i,
                             &((const struct answer *)shi_team_buffer(team, team->me, k))->memory);
}

/* ---- add, remove ------------------------------------------------------------------------------------------------- */

/* The entry's tables, empty. 0 or -ENOMEM. */
static int make_tables(struct shi_added *a, uint64_t **off)
{
    size_t n = (size_t)shi_world.n_pes;
    a->at = calloc(n, sizeof *a->at);
    a->of = calloc(n, sizeof *a->of);
    *off = a->device ? NULL : calloc(n, sizeof **off);
    for (size_t pe = 0; a->of && pe < n; pe++)
        a->of[pe] = SHI_ADDED_ABSENT;
    return a->at && a->of && (a->device || *off) ? 0 : -ENOMEM;
}

static void free_tables(const struct shi_added *a, uint64_t *off)
{
    free(a->at);
    free(a->of);
    free(off);
}

/* Both exchanges. 0, or the same -errno on all members; what this PE has mapped and brought then stays for the caller. */
static int exchange(const char *routine, struct shmem_team *team, int i, struct shi_added *a, struct offer *mine, uint64_t *off)
{
    struct answer second = {0};
    team->routine = routine;
    shi_team_exchange(team, mine, sizeof *mine);
    int err = first_error(team);
    if (err)
        return err;
    pthread_mutex_lock(&lock);
    second.err = map_peers(routine, team, a, off);
    if (!second.err)
        second.err = describe(i, a, &second.memory);
    pthread_mutex_unlock(&lock);
    shi_team_exchange(team, &second, sizeof second);
    err = first_error(team);
    if (!err)
        learn(team, i);
    return err;
}

int shi_adding_add(const char *routine, struct shmem_team *team, const struct shi_adding *given)
{
    struct shi_adding what = *given;
    struct shi_added a = {.bytes = what.bytes, .device = what.device};
    struct offer mine = {.bytes = what.bytes, .numa_node = what.flags & SHMEMX_SPACE_NUMA ? what.numa_node : SHI_ADDED_HERE};
    uint64_t *off;
    int i = take_place(team);
    if (i < 0) {
        shi_log_error("%s: there is memory at %d places already, which is all that this version can", routine, SHI_ADDED);
        return i;
    }
    int tables = make_tables(&a, &off);
    pthread_mutex_lock(&lock);
    mine.err = tables ? tables : shi_adding_bring(routine, &what, &mine.brought);
    pthread_mutex_unlock(&lock);
    a.lo = (uintptr_t)what.addr;
    int err = exchange(routine, team, i, &a, &mine, off);
    pthread_mutex_lock(&lock);
    if (!mine.err && shi_world.n_pes > 1 && what.device && shi_device->shared)
        shi_device->shared(&mine.brought.share);
    if (err && shi_world.lane)
        shi_stream_forget(SHI_REGION_ADDED + (enum shi_region)i);
    if (err)
        unmap(&a);
    if (err && !mine.err)
        shi_adding_take_back(&what, &mine.brought);
    if (!err) {
        kept[i] = (struct kept){what, off};
        shi_added_set(i, &a);
    }
    pthread_mutex_unlock(&lock);
    if (err) {
        free_tables(&a, off);
        give_back(i);
    }
    return err ? err : i;
}

/* The entry is free, and this PE does not use others' memory any more. */
static void let_go(int i)
{
    const struct shi_added a = *shi_added_at(i);
    shi_added_clear(i);
    if (shi_world.lane)
        shi_stream_forget(SHI_REGION_ADDED + (enum shi_region)i);
    unmap(&a);
}

/* The rest, when the others have let it go: the memory is as it was before. */
static void take_back(int i)
{
    const struct shi_added *a = shi_added_at(i);
    const union shi_brought brought = {.off = a->device ? 0 : kept[i].off[shi_world.pe]};
    shi_adding_take_back(&kept[i].what, &brought);
    if (a->space)
        shi_heap_down(a->space->blocks);
    free(a->space);
    free_tables(a, kept[i].off);
    kept[i] = (struct kept){.off = NULL};
}

int shi_adding_remove(const char *routine, struct shmem_team *team, int i)
{
    struct offer mine = {.err = i < 0 ? i : 0, .bytes = (size_t)i};
    team->routine = routine;
    shi_team_exchange(team, &mine, sizeof mine);
    int err = first_error(team);
    for (int k = 0; k < team->n && !err; k++)
        err = ((const struct offer *)shi_team_buffer(team, team->me, k))->bytes != (size_t)i ? -EINVAL : 0;
    if (err)
        return err;
    pthread_mutex_lock(&lock);
    let_go(i);
    pthread_mutex_unlock(&lock);
    shi_team_barrier(routine, team);
    pthread_mutex_lock(&lock);
    take_back(i);
    pthread_mutex_unlock(&lock);
    give_back(i);
    return 0;
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
        if (shi_added_at(i)->bytes) {
            let_go(i);
            take_back(i);
        }
    places = 0;
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
