/* team.c - making and unmaking teams: membership, slots, configuration. What members do together is in barrier.c. */
#include "host/coll/team.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/ops/amo.h"
#include "host/ops/ctx.h"
#include "host/ops/p2p.h"
#include "host/ops/remote.h"
#include "host/ops/wait.h"
#include "host/util/log.h"
#include "host/util/pool.h"

struct shmem_team shi_team_world, shi_team_shared;
struct shmem_team *const shi_team_small[3] = {NULL, &shi_team_world, &shi_team_shared};

/* Threads may split different teams at the same time; collectives use none of these. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t slot_free[SHI_SLOTS / 64];
static int leaving[SHI_SLOTS]; /* members of this node that have to destroy a team of this PE's slot before it is free */
static int n_leaving; /* slots with such members; for a moment one more */
static uint64_t clock_max; /* the highest epoch of a destroyed team */
static uint64_t generations; /* the highest there has been here */
static uint64_t newest[SHI_SLOTS]; /* number of the newest team in each slot here */
static struct shmem_team *teams;
static struct shmem_team *sets; /* R5 -> A5: a set is complete before it is listed; added under lock, removed by shi_team_down */

enum { MAX_HOOKS = 4 };
static const struct shi_team_hooks *hooks[MAX_HOOKS]; /* set at init */
static int n_hooks;

/* Handles of teams; a dead one has no members. */
static struct shi_pool pool = SHI_POOL_OF(struct shmem_team);

struct shmem_team *shi_team_checked(const char *routine, const char *arg, shmem_team_t handle)
{
    shi_need_up(routine);
    enum shi_pool_state is = shi_pool_state_of(&pool, handle);
    if (is == SHI_HANDLE_DEAD)
        shi_die(routine, "%s = %p was destroyed", arg, (void *)handle);
    if (is == SHI_HANDLE_NONE)
        shi_die(routine, "%s = %p is not a team", arg, (void *)handle);
    return handle;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static size_t slot_bytes(int n_pes)
{
    size_t from = shi_round_up(n_pes * sizeof(uint64_t), SHI_LINE_BYTES);
    return shi_round_up(sizeof(struct shi_slot) + from + 2 * shi_team_half_bytes(n_pes), SHI_PAGE_BYTES);
}

size_t shi_team_sync_bytes(int n_pes)
{
    return slot_bytes(n_pes) * (SHI_SLOTS + SHI_SETS);
}

/* NULL: that PE is remote. */
static struct shi_slot *slot_of(int world_pe, int index)
{
    const struct shi_shm *shm = &shi_world.shm;
    const struct shi_peer *p = &shi_world.peer[world_pe];
    if (p->remote)
        return NULL;
    return (struct shi_slot *)(shm->base + shm->region[p->rank].sync_off + index * slot_bytes(shi_world.n_pes));
}

/* The slots of destroyed teams whose records no other member of the node reads any more. all: nobody does, in finalize. */
static void free_left_slots(int all)
{
    for (int i = 0; i < SHI_SLOTS && __atomic_load_n(&n_leaving, __ATOMIC_RELAXED); i++) {
        int n = __atomic_load_n(&leaving[i], __ATOMIC_RELAXED);
        struct shi_slot *s = n ? slot_of(shi_world.pe, i) : NULL;
        if (!n || (!all && __atomic_load_n(&s->arrived, __ATOMIC_ACQUIRE) != (uint64_t)n)) /* A2 */
            continue;
        __atomic_store_n(&s->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&leaving[i], 0, __ATOMIC_RELAXED);
        __atomic_sub_fetch(&n_leaving, 1, __ATOMIC_RELAXED);
        slot_free[i / 64] |= 1ull << (i % 64);
    }
}

struct shmem_team *shi_team_find(uint64_t number, int *later)
{
    if (number <= SHI_SLOT_SHARED)
        return number ? &shi_team_shared : &shi_team_world;
    pthread_mutex_lock(&lock);
    struct shmem_team *t = teams;
    while (t && t->number != number)
        t = t->next;
    *later = number > newest[shi_team_slot_of(number)];
    pthread_mutex_unlock(&lock);
    return t;
}

/* ---- membership -------------------------------------------------------------------------------------------------- */

int shi_team_member(const struct shmem_team *t, int world_pe)
{
    for (int i = 0; t->list && i < t->n; i++)
        if (shi_team_world_pe(t, i) == world_pe)
            return i;
    if (t->list)
        return -1;
    int d = world_pe - t->start;
    if (t->n == 1)
        return d == 0 ? 0 : -1;
    return d % t->stride == 0 && d / t->stride >= 0 && d / t->stride < t->n ? d / t->stride : -1;
}

shmem_team_t shi_team_handle(struct shmem_team *t)
{
    return t == &shi_team_world ? SHMEM_TEAM_WORLD : t == &shi_team_shared ? SHMEM_TEAM_SHARED : t;
}

/* The number of a PE's node; PEs that only the network reaches from each other are nodes of their own. */
static int node_of(int world_pe)
{
    int forced = shi_world.config.transport == SHI_TRANSPORT_OFI;
    return !shi_world.lane ? 0 : forced ? world_pe : shi_stream_node(world_pe);
}

/* Number the nodes by their first member, and count their members. node_at[number] becomes the index plus 1. */
static void count_nodes(struct shmem_team *t, int *node_at)
{
    for (int i = 0; i < t->n; i++) {
        int *at = &node_at[node_of(shi_team_world_pe(t, i))];
        if (!*at)
            *at = ++t->n_nodes;
        t->local_rank[i] = t->node[*at - 1].n++;
        if (i == t->me)
            t->my_node = *at - 1;
    }
}

/* Sort the members by node. 0 or -ENOMEM. */
static int find_nodes(struct shmem_team *t)
{
    int one = 0, placed = 0;
    int *node_at = shi_world.lane ? calloc((size_t)shi_world.n_pes, sizeof *node_at) : &one;
    if (!node_at)
        return -ENOMEM;
    count_nodes(t, node_at);
    for (int k = 0; k < t->n_nodes; placed += t->node[k++].n) {
        t->node[k].member = t->members + placed;
        t->most_local = t->node[k].n > t->most_local ? t->node[k].n : t->most_local;
        t->least_local = k == 0 || t->node[k].n < t->least_local ? t->node[k].n : t->least_local;
    }
    t->ordered = 1;
    for (int i = 0; i < t->n; i++) {
        const struct shi_node *k = &t->node[node_at[node_of(shi_team_world_pe(t, i))] - 1];
        k->member[t->local_rank[i]] = i;
        t->position[i] = (int)(k->member - t->members) + t->local_rank[i];
        t->ordered &= t->position[i] == i;
    }
    t->gathered = t->n_nodes > 1 || t->n > SHI_DIRECT;
    if (node_at != &one)
        free(node_at);
    return 0;
}

/* Allocate the tables of a team in one block, since allocations are a third of what a split costs; all but peer are 0. The world's
 * peers have a table already. 0 or -ENOMEM. */
static int allocate_tables(struct shmem_team *t)
{
    size_t n = (size_t)t->n, peers = t == &shi_team_world ? 0 : n * sizeof *t->peer;
    size_t bytes = n * (sizeof *t->slot + sizeof *t->node + 3 * sizeof *t->members);
    t->tables = malloc(peers + bytes + SHI_LINE_BYTES);
    if (!t->tables)
        return -ENOMEM;
    char *at = (char *)shi_round_up((uintptr_t)t->tables, SHI_LINE_BYTES);
    memset(at + peers, 0, bytes);
    t->peer = peers ? (struct shi_peer *)at : shi_world.peer;
    t->slot = (struct shi_slot **)(at + peers);
    t->node = (struct shi_node *)(t->slot + n);
    t->members = (int *)(t->node + n);
    t->local_rank = t->members + n;
    t->position = t->local_rank + n;
    return 0;
}

/* Fill the tables of a team whose members, number and slot are set. 0 or -ENOMEM. */
static int fill(struct shmem_team *t)
{
    if (allocate_tables(t))
        return -ENOMEM;
    struct shi_peer *own = t == &shi_team_world ? NULL : (struct shi_peer *)t->peer;
    for (int i = 0; i < t->n; i++) {
        int pe = shi_team_world_pe(t, i);
        if (own)
            own[i] = shi_world.peer[pe];
        t->slot[i] = slot_of(pe, t->index);
    }
    t->me = shi_team_member(t, shi_world.pe);
    t->oversubscribed = shi_world.shm.oversubscribed;
    t->buffer_bytes = SHI_EXCHANGE_TOTAL_BYTES / t->n / SHI_LINE_BYTES * SHI_LINE_BYTES;
    if (t->buffer_bytes < SHI_EXCHANGE_BYTES)
        t->buffer_bytes = SHI_EXCHANGE_BYTES;
    return find_nodes(t);
}

int shi_team_ctx_create(struct shmem_team *t, long options, struct shmem_ctx **out)
{
    const struct shmem_ctx like = {.peer = t->peer, .peers = t->peer, .n_pes = (unsigned)t->n, .options = options,
                                   .team = t, .list = &t->ctxs};
    return shi_ctx_create(&like, out);
}

void shi_team_ctx_destroy(struct shmem_ctx *c)
{
    shi_ctx_session(c, 0);
    shi_remote_quiet(c->lane);
    shi_ctx_destroy(c);
}

static void empty(struct shmem_team *t)
{
    while (t->ctxs)
        shi_team_ctx_destroy(t->ctxs);
    free(t->tables);
    t->tables = NULL;
    t->node = NULL;
    t->members = NULL;
    t->n_nodes = 0;
    t->peer = NULL;
    t->slot = NULL;
    t->n = 0;
}

static void refresh(struct shmem_team *t)
{
    struct shi_peer *peer = (struct shi_peer *)t->peer;
    for (int i = 0; i < t->n && peer != shi_world.peer; i++)
        peer[i] = shi_world.peer[shi_team_world_pe(t, i)];
    for (struct shmem_ctx *c = t->ctxs; c; c = c->next)
        c->peer = shi_world.dev_private ? SHI_CTX_DEFAULT->peer : c->peer;
}

void shi_team_refresh(void)
{
    refresh(&shi_team_world);
    refresh(&shi_team_shared);
    for (struct shmem_team *t = teams; t; t = t->next)
        refresh(t);
    for (struct shmem_team *t = sets; t; t = t->next)
        refresh(t);
}

/* The PEs that load and store each other's memory. Their numbers need not be evenly spaced. */
static struct shmem_team shared(void)
{
    const struct shi_boot *b = &shi_world.boot;
    if (shi_world.config.transport == SHI_TRANSPORT_OFI)
        return (struct shmem_team){.n = 1, .start = shi_world.pe, .stride = 1};
    struct shmem_team t = {.n = b->n_local, .stride = 1, .start = b->local_pe[0]};
    if (t.n > 1)
        t.stride = b->local_pe[1] - b->local_pe[0];
    for (int i = 0; i < t.n; i++)
        if (b->local_pe[i] != t.start + i * t.stride)
            return (struct shmem_team){.n = b->n_local, .stride = 1, .list = b->local_pe};
    return t;
}

int shi_team_up(void)
{
    memset(slot_free, 0xff, sizeof slot_free);
    memset(leaving, 0, sizeof leaving);
    n_leaving = 0;
    slot_free[0] &= ~(1ull << SHI_SLOT_WORLD | 1ull << SHI_SLOT_SHARED);
    struct shmem_team *t[] = {&shi_team_world, &shi_team_shared};
    struct shmem_team is[] = {{.n = shi_world.n_pes, .stride = 1, .index = SHI_SLOT_WORLD}, shared()};
    is[1].index = SHI_SLOT_SHARED;
    is[1].number = SHI_SLOT_SHARED;
    for (int i = 0; i < 2; i++) { /* epochs continue from those of an earlier shmem_init */
        is[i].epoch = t[i]->epoch;
        is[i].exchanges = t[i]->exchanges;
        *t[i] = is[i];
        if (fill(t[i]))
            return -ENOMEM;
    }
    return 0;
}

static void unmake(struct shmem_team *t);

void shi_team_on_change(const struct shi_team_hooks *h)
{
    assert(n_hooks < MAX_HOOKS);
    hooks[n_hooks++] = h;
}

void shi_team_down(void)
{
    free_left_slots(1);
    while (teams)
        unmake(teams);
    while (sets) {
        struct shmem_team *t = sets;
        sets = t->next;
        empty(t);
        free(t);
    }
    empty(&shi_team_world);
    empty(&shi_team_shared);
    n_hooks = 0;
}

/* ---- split ------------------------------------------------------------------------------------------------------- */

/* The record of each member of the parent, and of all of them together. */
struct offer {
    uint64_t slot_free[SHI_SLOTS / 64];
    uint64_t clock;
    uint64_t generation;
    int32_t ok;
};
_Static_assert(SHI_SLOT_WORLD == 0, "the world's slot begins a sync area");
_Static_assert(sizeof(struct offer) <= SHI_EXCHANGE_BYTES, "a split needs one merge");

/* A team this PE is a member of, or NULL without memory. */
static struct shmem_team *create(const struct shmem_team *parent, const struct shi_subset *s, int index,
                                 const struct offer *all)
{
    struct shmem_team *t = shi_pool_get(&pool);
    if (!t)
        return NULL;
    t->list = parent->list;
    t->start = parent->start + s->start * parent->stride;
    t->stride = s->size > 1 ? s->stride * parent->stride : 1;
    t->n = s->size;
    t->index = index;
    t->epoch = all->clock;
    t->number = all->generation * SHI_SLOTS + (uint64_t)index;
    if (s->mask & SHMEM_TEAM_NUM_CONTEXTS)
        t->config.num_contexts = s->config->num_contexts;
    if (fill(t)) {
        empty(t);
        shi_pool_put(&pool, t);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    t->next = teams;
    teams = t;
    newest[index] = t->number;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n_hooks; i++)
        if (hooks[i]->made)
            hooks[i]->made(t);
    return t;
}

static int contains(const struct shi_subset *s, int pe)
{
    int d = pe - s->start;
    if (s->size == 1)
        return d == 0;
    return d % s->stride == 0 && d / s->stride >= 0 && d / s->stride < s->size;
}

static void merge_offers(void *to, const void *from)
{
    struct offer *all = to;
    const struct offer *o = from;
    for (int w = 0; w < SHI_SLOTS / 64; w++)
        all->slot_free[w] &= o->slot_free[w];
    all->clock = o->clock > all->clock ? o->clock : all->clock;
    all->generation = o->generation > all->generation ? o->generation : all->generation;
    all->ok &= o->ok;
}

/* Merge the members' records. 0, or -EINVAL when one of them is not ok. */
static int gather(struct shmem_team *parent, const struct offer *mine, struct offer *all)
{
    *all = *mine;
    shi_team_merge(parent, all, sizeof *all, merge_offers);
    return all->ok ? 0 : -EINVAL;
}

/* The lowest free slots. 0 or -ENOSPC. */
static int choose(const struct offer *all, int n_slots, int *index)
{
    for (int s = 0, found = 0; s < SHI_SLOTS; s++) {
        if (all->slot_free[s / 64] >> (s % 64) & 1)
            index[found++] = s;
        if (found == n_slots)
            return 0;
    }
    return -ENOSPC;
}

/* Take the slots, all or none; another thread's split may have taken one first. `mine` gets the result, and a clock and a
 * generation that are above those of all teams that have had the slots, even since the offer. */
static void claim(const int *index, int n_slots, uint64_t generation, struct offer *mine)
{
    mine->ok = 1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_slots; i++)
        mine->ok &= (int)(slot_free[index[i] / 64] >> (index[i] % 64) & 1);
    for (int i = 0; mine->ok && i < n_slots; i++)
        slot_free[index[i] / 64] &= ~(1ull << (index[i] % 64));
    generations = generation > generations ? generation : generations + 1;
    mine->generation = generations;
    mine->clock = clock_max;
    pthread_mutex_unlock(&lock);
}

static void note_generation(uint64_t generation)
{
    pthread_mutex_lock(&lock);
    generations = generation > generations ? generation : generations;
    pthread_mutex_unlock(&lock);
}

static void give_back(int index)
{
    pthread_mutex_lock(&lock);
    slot_free[index / 64] |= 1ull << (index % 64);
    pthread_mutex_unlock(&lock);
}

/* Agree on slots that are free on every member, and take them; *all has a clock above every member's, and a generation. 0
 * or -errno, the same on all. Only with several threads can a slot be gone between offer and claim: then all try again. They
 * also do when no slot is free, as members of this node may have destroyed a team after this PE made its offer. */
static int agree(struct shmem_team *parent, int n_slots, int ok, int *index, struct offer *all)
{
    for (int full = 0;;) {
        struct offer mine = {.ok = ok}, again;
        pthread_mutex_lock(&lock);
        free_left_slots(0);
        mine.clock = clock_max;
        mine.generation = generations;
        memcpy(mine.slot_free, slot_free, sizeof slot_free);
        pthread_mutex_unlock(&lock);
        int err = gather(parent, &mine, all);
        if (!err)
            err = choose(all, n_slots, index);
        if (err == -ENOSPC && !full++)
            continue;
        if (err)
            return err;
        claim(index, n_slots, ++all->generation, &mine);
        int claimed = mine.ok;
        if (shi_world.thread_level < SHMEM_THREAD_MULTIPLE)
            return 0;
        if (gather(parent, &mine, &again) == 0) {
            all->clock = again.clock;
            all->generation = again.generation;
            note_generation(all->generation);
            return 0;
        }
        for (int i = 0; claimed && i < n_slots; i++)
            give_back(index[i]);
    }
}

int shi_team_split(struct shmem_team *parent, const struct shi_subset *subset, int n_subsets, int ok)
{
    int index[2];
    struct offer all;
    parent->routine = "shmem_team_split";
    for (int i = 0; i < n_subsets; i++)
        *subset[i].out = NULL;
    int err = agree(parent, n_subsets, ok, index, &all);
    for (int i = 0; !err && i < n_subsets; i++) {
        if (!contains(&subset[i], parent->me)) {
            give_back(index[i]);
            continue;
        }
        *subset[i].out = create(parent, &subset[i], index[i], &all);
        if (!*subset[i].out)
            shi_die("shmem_team_split", "out of memory for a team of %d PEs", subset[i].size);
    }
    return err;
}

static void unmake(struct shmem_team *t)
{
    pthread_mutex_lock(&lock);
    clock_max = t->epoch > clock_max ? t->epoch : clock_max;
    struct shmem_team **at = &teams;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n_hooks; i++)
        if (hooks[i]->ended)
            hooks[i]->ended(t);
    empty(t);
    shi_pool_put(&pool, t);
}

void shi_team_destroy(struct shmem_team *t)
{
    int index = t->index, others = t->gathered ? t->node[t->my_node].n - 1 : 0;
    struct shi_slot *first = t->gathered ? t->slot[shi_team_first(t)] : NULL, *mine = t->slot[t->me];
    unmake(t);
    if (first && first != mine) {
        __atomic_add_fetch(&first->arrived, 1, __ATOMIC_ACQ_REL); /* R2: this PE no longer reads the records there */
    } else if (others) {
        __atomic_add_fetch(&n_leaving, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&leaving[index], others, __ATOMIC_RELAXED); /* under no lock: the slot is this thread's */
    }
    if (!others || first != mine)
        give_back(index);
}

/* ---- active sets ------------------------------------------------------------------------------------------------- */

/* The first member takes a slot that no other set has and sends its index through pSync, which keeps its initial value. */
static int agree_on_set(const char *routine, const struct shmem_team *t, long *psync)
{
    if (t->me > 0) {
        long index;
        shi_wait_allow(routine);
        SHI_WAIT_UNTIL((index = __atomic_load_n(psync, __ATOMIC_ACQUIRE)) != SHMEM_SYNC_VALUE, .routine = routine,
                       .kind = SHI_FOR_WORDS, .word = SHI_S64, .cmp = SHMEM_CMP_NE, .addr = psync, .n = 1,
                       .value = (uint64_t)SHMEM_SYNC_VALUE);
        __atomic_store_n(psync, SHMEM_SYNC_VALUE, __ATOMIC_RELAXED);
        return (int)index;
    }
    struct shi_slot *first = slot_of(0, SHI_SLOT_WORLD);
    const struct shi_remote_addr remote = {0, SHI_REGION_SYNC, offsetof(struct shi_slot, sets_used)};
    uint64_t n = first ? __atomic_fetch_add(&first->sets_used, 1, __ATOMIC_RELAXED)
                       : shi_remote_fetch(shi_world.lane, &remote, sizeof first->sets_used, SHI_AMO_ADD, 1, 0);
    if (n >= SHI_SETS)
        shi_die(routine, "more than %d different active sets in one job; use teams", SHI_SETS);
    long index = SHI_SLOTS + (long)n;
    for (int i = 1; i < t->n; i++)
        shi_amo_update(SHI_CTX_DEFAULT, psync, sizeof *psync, shi_team_world_pe(t, i),
                       &(struct shi_amo_call){routine, "pSync", SHI_AMO_SET, (uint64_t)index, 0});
    return (int)index;
}

struct shmem_team *shi_team_of_set(const char *routine, int start, int log_stride, int size, long *psync)
{
    shi_need_up(routine);
    int bad = start < 0 || log_stride < 0 || log_stride > 30 || size < 1;
    if (bad || start + ((int64_t)(size - 1) << log_stride) >= shi_world.n_pes)
        shi_die(routine, "PE_start = %d, logPE_stride = %d, PE_size = %d is not an active set of %d PEs", start, log_stride,
                size, shi_world.n_pes);
    int stride = size > 1 ? 1 << log_stride : 1;
    if (start == 0 && stride == 1 && size == shi_world.n_pes)
        return &shi_team_world;
    for (struct shmem_team *t = __atomic_load_n(&sets, __ATOMIC_ACQUIRE); t; t = t->next) /* A5 */
        if (t->start == start && t->stride == stride && t->n == size)
            return t;
    struct shmem_team *t = calloc(1, sizeof *t);
    if (!t)
        shi_die(routine, "out of memory for an active set of %d PEs", size);
    *t = (struct shmem_team){.start = start, .stride = stride, .n = size};
    t->me = shi_team_member(t, shi_world.pe);
    if (t->me < 0)
        shi_die(routine, "PE %d is not in the active set PE_start = %d, logPE_stride = %d, PE_size = %d", shi_world.pe,
                start, log_stride, size);
    t->index = agree_on_set(routine, t, psync);
    if (fill(t))
        shi_die(routine, "out of memory for an active set of %d PEs", size);
    pthread_mutex_lock(&lock);
    t->next = sets;
    __atomic_store_n(&sets, t, __ATOMIC_RELEASE); /* R5 */
    pthread_mutex_unlock(&lock);
    return t;
}
