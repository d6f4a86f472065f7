/*
 * split.c - splitting and destroying teams: all members of the parent agree on a slot that is free on each of them, an epoch and a number.
 *
 * Threads may split different teams at the same time; the words below are changed under the lock.
 */
#include "host/coll/team.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/util/log.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t slot_free[SHI_SLOTS / 64];
static int leaving[SHI_SLOTS]; /* members of this node that have to destroy a team of this PE's slot before it is free */
static int n_leaving; /* slots with such members; for a moment one more */
static uint64_t generations; /* the highest there has been here */

/* ---- slots ------------------------------------------------------------------------------------------------------- */

/* The slots of destroyed teams whose records no other member of the node reads any more. all: nobody does, in finalize. */
static void free_left_slots(int all)
{
    for (int i = 0; i < SHI_SLOTS && __atomic_load_n(&n_leaving, __ATOMIC_RELAXED); i++) {
        int n = __atomic_load_n(&leaving[i], __ATOMIC_RELAXED);
        struct shi_slot *s = n ? shi_team_slot(shi_world.pe, i) : NULL;
        if (!n || (!all && __atomic_load_n(&s->arrived, __ATOMIC_ACQUIRE) != (uint64_t)n)) /* A2 */
            continue;
        __atomic_store_n(&s->arrived, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&leaving[i], 0, __ATOMIC_RELAXED);
        __atomic_sub_fetch(&n_leaving, 1, __ATOMIC_RELAXED);
        slot_free[i / 64] |= 1ull << (i % 64);
    }
}

void shi_split_up(void)
{
    memset(slot_free, 0xff, sizeof slot_free);
    memset(leaving, 0, sizeof leaving);
    n_leaving = 0;
    slot_free[0] &= ~(1ull << SHI_SLOT_WORLD | 1ull << SHI_SLOT_SHARED);
}

void shi_split_down(void)
{
    free_left_slots(1);
}

void shi_split_leave(void)
{
    memset(slot_free, 0, sizeof slot_free);
    generations = 0;
}

/* ---- agreement --------------------------------------------------------------------------------------------------- */

_Static_assert(SHI_SLOT_WORLD == 0, "the world's slot begins a sync area");
_Static_assert(sizeof(struct shi_offer) <= SHI_EXCHANGE_BYTES, "a split needs one merge");

static int contains(const struct shi_subset *s, int pe)
{
    int d = pe - s->start, at = 0;
    if (s->member) {
        while (at < s->size && s->member[at] != pe)
            at++;
        return at < s->size;
    }
    if (s->size == 1)
        return d == 0;
    return d % s->stride == 0 && d / s->stride >= 0 && d / s->stride < s->size;
}

static void merge_offers(void *to, const void *from)
{
    struct shi_offer *all = to;
    const struct shi_offer *o = from;
    for (int w = 0; w < SHI_SLOTS / 64; w++)
        all->slot_free[w] &= o->slot_free[w];
    all->clock = o->clock > all->clock ? o->clock : all->clock;
    all->generation = o->generation > all->generation ? o->generation : all->generation;
    all->ok &= o->ok;
    all->threads |= o->threads;
}

static int gather(struct shmem_team *parent, struct shi_offer *all, void *arg)
{
    (void)arg;
    shi_team_merge(parent, all, sizeof *all, merge_offers);
    return parent->failed ? -EIO : 0;
}

/* Merge the members' records. 0, or -EINVAL when one of them is not ok, or another -errno. */
static int all_of(struct shmem_team *parent, const struct shi_gather *g, const struct shi_offer *mine, struct shi_offer *all)
{
    *all = *mine;
    int err = g->gather(parent, all, g->arg);
    return err ? err : all->ok ? 0 : -EINVAL;
}

/* The lowest free slots. 0 or -ENOSPC. */
static int choose(const struct shi_offer *all, int n_slots, int *index)
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
static void claim(const int *index, int n_slots, uint64_t generation, struct shi_offer *mine)
{
    mine->ok = 1;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n_slots; i++)
        mine->ok &= (int)(slot_free[index[i] / 64] >> (index[i] % 64) & 1);
    for (int i = 0; mine->ok && i < n_slots; i++)
        slot_free[index[i] / 64] &= ~(1ull << (index[i] % 64));
    generations = generation > generations ? generation : generations + 1;
    mine->generation = generations;
    mine->clock = shi_team_clock();
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
 * or -errno, the same on all. Only where a member may have several threads can a slot be gone between offer and claim: then all try again.
 * They also do when no slot is free, as members of this node may have destroyed a team after this PE made its offer. */
static int agree(struct shmem_team *parent, const struct shi_gather *g, int n_slots, int ok, int *index, struct shi_offer *all)
{
    for (int full = 0;;) {
        struct shi_offer mine = {.ok = ok, .threads = shi_world.thread_level == SHMEM_THREAD_MULTIPLE}, again;
        pthread_mutex_lock(&lock);
        free_left_slots(0);
        mine.clock = shi_team_clock();
        mine.generation = generations;
        memcpy(mine.slot_free, slot_free, sizeof slot_free);
        pthread_mutex_unlock(&lock);
        int err = all_of(parent, g, &mine, all);
        if (!err)
            err = choose(all, n_slots, index);
        if (err == -ENOSPC && !full++)
            continue;
        if (err)
            return err;
        claim(index, n_slots, ++all->generation, &mine);
        int claimed = mine.ok;
        if (!all->threads)
            return 0;
        err = all_of(parent, g, &mine, &again);
        if (!err) {
            all->clock = again.clock;
            all->generation = again.generation;
            note_generation(all->generation);
            return 0;
        }
        for (int i = 0; claimed && i < n_slots; i++)
            give_back(index[i]);
        if (err != -EINVAL)
            return err;
    }
}

/* The world's numbers of a subset's members; the caller frees them. */
static int *world_pes(const struct shmem_team *parent, const struct shi_subset *s)
{
    int *pe = malloc((size_t)s->size * sizeof *pe);
    if (!pe)
        shi_die(parent->routine, "out of memory for a team of %d PEs", s->size);
    for (int i = 0; i < s->size; i++)
        pe[i] = shi_team_world_pe(parent, s->member ? s->member[i] : s->start + i * s->stride);
    return pe;
}

static struct shmem_team *create(const struct shmem_team *parent, const struct shi_subset *s, int index, const struct shi_offer *all)
{
    int *list = s->member || parent->list ? world_pes(parent, s) : NULL;
    struct shmem_team like = {.start = parent->start + s->start * parent->stride, .stride = s->size > 1 ? s->stride * parent->stride : 1,
                              .n = s->size};
    if (list)
        like = shi_team_listed(list, s->size);
    like.index = index;
    like.epoch = all->clock;
    like.number = all->generation * SHI_SLOTS + (uint64_t)index;
    if (s->mask & SHMEM_TEAM_NUM_CONTEXTS)
        like.config.num_contexts = s->config->num_contexts;
    struct shmem_team *t = shi_team_make(&like);
    free(list);
    return t;
}

struct shmem_team *shi_split_join(const struct shmem_team *like)
{
    pthread_mutex_lock(&lock);
    slot_free[like->index / 64] &= ~(1ull << (like->index % 64));
    pthread_mutex_unlock(&lock);
    note_generation(like->number / SHI_SLOTS);
    return shi_team_make(like);
}

int shi_team_split(struct shmem_team *parent, const struct shi_subset *subset, int n_subsets, int ok)
{
    return shi_team_split_with(parent, &(const struct shi_gather){gather, NULL}, subset, n_subsets, ok);
}

int shi_team_split_with(struct shmem_team *parent, const struct shi_gather *g, const struct shi_subset *subset, int n_subsets, int ok)
{
    int index[2];
    struct shi_offer all;
    parent->routine = "shmem_team_split";
    for (int i = 0; i < n_subsets; i++)
        *subset[i].out = NULL;
    int err = agree(parent, g, n_subsets, ok, index, &all);
    for (int i = 0; !err && i < n_subsets; i++) {
        if (!contains(&subset[i], parent->me)) {
            give_back(index[i]);
            continue;
        }
        *subset[i].out = create(parent, &subset[i], index[i], &all);
    }
    return err;
}

struct pick {
    int32_t color, key;
};

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The members of the parent with this color, by key and number in the parent. Returns their number. */
static int pick_members(const struct shmem_team *parent, int color, uint64_t *order, int *member)
{
    int n = 0;
    for (int i = 0; i < parent->n; i++) {
        const struct pick *p = shi_team_buffer(parent, parent->me, i);
        if (p->color == color)
            order[n++] = (uint64_t)((int64_t)p->key - INT32_MIN) << 32 | (uint32_t)i;
    }
    qsort(order, (size_t)n, sizeof *order, ascending);
    for (int i = 0; i < n; i++)
        member[i] = (int)(uint32_t)order[i];
    return n;
}

/* One slot serves all colors: no PE is in two of the teams. */
int shi_team_split_color(struct shmem_team *parent, int color, int key, const struct shi_subset *like, int ok)
{
    const struct pick mine = {color, key};
    struct shi_subset s = *like;
    uint64_t *order = malloc((size_t)parent->n * (sizeof *order + sizeof *s.member));
    if (!order)
        shi_die("shmemx_team_split_color", "out of memory for the colors of %d PEs", parent->n);
    int *member = (int *)(order + parent->n);
    parent->routine = "shmemx_team_split_color";
    shi_team_exchange(parent, &mine, sizeof mine);
    s.member = member;
    s.size = color < 0 || parent->failed ? 0 : pick_members(parent, color, order, member);
    int err = parent->failed ? -EIO : shi_team_split(parent, &s, 1, ok);
    free(order);
    return err;
}

/* The slot of a failed team stays taken: a member that is in another operation may still store to it. */
void shi_team_destroy(struct shmem_team *t)
{
    int index = t->index, others = t->gathered ? t->node[t->my_node].n - 1 : 0;
    if (t->failed) {
        shi_team_unmake(t);
        return;
    }
    struct shi_slot *first = t->gathered ? t->slot[shi_team_first(t)] : NULL, *mine = t->slot[t->me];
    shi_team_unmake(t);
    if (first && first != mine) {
        __atomic_add_fetch(&first->arrived, 1, __ATOMIC_ACQ_REL); /* R2: this PE no longer reads the records there */
    } else if (others) {
        __atomic_add_fetch(&n_leaving, 1, __ATOMIC_RELAXED);
        __atomic_store_n(&leaving[index], others, __ATOMIC_RELAXED); /* under no lock: the slot is this thread's */
    }
    if (!others || first != mine)
        give_back(index);
}
