/*
 * index.c - short alltoalls between nodes, by Bruck's index algorithm.
 *
 * The block of distance d of a node holds what its members send to the members of the node d above: first the sender's number in
 * its node, then the receiver's. The members of a node write their parts into the half of its first, between members of the node
 * straight into dest. The firsts run the rounds: in round r all blocks whose distance has bit r set move to the node 2^r above,
 * in one message. So the block of distance d ends where it has to be, in the place of the same distance, and the members copy
 * their parts from there into dest.
 *
 * A half has a place for each distance from 1 on, then for each round the places where that round's blocks land: a sender may be
 * some rounds ahead of its receiver.
 */
#include "host/coll/coll.h"

#include <string.h>

#include "host/net/stream/stream.h"
#include "host/ops/dheap.h"

struct places {
    char *base;    /* of distance 1, in the half of this node's first */
    size_t part;   /* bytes from one member to another */
    size_t stride; /* from one place to the next: the longest block */
};

static size_t part_of(const struct shi_all_to_all *a)
{
    return a->nelems * a->elem;
}

static size_t stride_of(const struct shmem_team *t, size_t part)
{
    return part * (size_t)t->most_local * (size_t)t->most_local;
}

int shi_coll_index_fits(const struct shmem_team *t, const struct shi_all_to_all *a)
{
    size_t part = part_of(a), room = shi_team_half_bytes(shi_world.n_pes) - SHI_LANDING_BYTES;
    return part <= room &&
           stride_of(t, part) <= room / (size_t)shi_plan_index_places(t->n_nodes, shi_plan_log2(t->n_nodes));
}

static char *place(const struct places *p, int distance)
{
    return p->base + p->stride * (size_t)(distance - 1);
}

static char *landing(const struct shmem_team *t, const struct places *p, int round)
{
    return p->base + p->stride * (size_t)shi_plan_index_places(t->n_nodes, round);
}

/* The node `distance` above or, when negative, below a node. */
static int node_at(const struct shmem_team *t, int node, int distance)
{
    return (node + distance + t->n_nodes) % t->n_nodes;
}

/* The bytes of the block of a distance at this node, before round r: it has come from below by the bits below r. */
static size_t block_bytes(const struct shmem_team *t, const struct places *p, int node, int distance, int r)
{
    int from = node_at(t, node, -(distance & ((1 << r) - 1)));
    return p->part * (size_t)t->node[from].n * (size_t)t->node[node_at(t, from, distance)].n;
}

static void send_blocks(struct shmem_team *t, const struct shi_round *x, int r, void *arg)
{
    const struct places *p = arg;
    char message[SHI_STREAM_PUT_BYTES], *to = landing(t, p, r);
    size_t used = 0;
    for (int d = x->send.first; d < t->n_nodes; d = shi_plan_index_next(d, x->send.first)) {
        size_t bytes = block_bytes(t, p, t->my_node, d, r);
        for (size_t at = 0, n; at < bytes; at += n) {
            n = bytes - at < sizeof message - used ? bytes - at : sizeof message - used;
            memcpy(message + used, place(p, d) + at, n);
            used += n;
            if (used == sizeof message) {
                shi_team_carry(t, t->node[x->to].member[0], to, message, used);
                to += used;
                used = 0;
            }
        }
    }
    shi_team_carry(t, t->node[x->to].member[0], to, message, used);
}

static void take_blocks(struct shmem_team *t, const struct shi_round *x, int r, void *arg)
{
    const struct places *p = arg;
    const char *from = landing(t, p, r);
    for (int d = x->recv.first; d < t->n_nodes; d = shi_plan_index_next(d, x->recv.first)) {
        size_t bytes = block_bytes(t, p, x->from, d, r);
        memcpy(place(p, d), from, bytes);
        from += bytes;
    }
}

/* Elements of a member, from and to strides in elements. */
static void copy(const struct shi_all_to_all *a, void *to, ptrdiff_t dst, const void *from, ptrdiff_t sst)
{
    if (dst == 1 && sst == 1)
        shi_coll_copy(to, from, part_of(a));
    else if (a->nelems)
        shi_dheap_copy_strided("collective", to, from, &(const struct shi_strided){dst, sst, 1, a->nelems, a->elem});
}

static const char *source_for(const struct shi_all_to_all *a, int member)
{
    return (const char *)a->source + part_of(a) * (size_t)a->sst * (size_t)member;
}

static char *dest_of(const struct shi_all_to_all *a, int member)
{
    return (char *)a->dest + part_of(a) * (size_t)a->dst * (size_t)member;
}

/* The parts of this PE in the node's blocks, and those of members of this node in their dest. */
static void give(const struct shmem_team *t, const struct places *p, const struct shi_all_to_all *a)
{
    for (int d = 0; d < t->n_nodes; d++) {
        const struct shi_node *node = &t->node[node_at(t, t->my_node, d)];
        for (int k = 0; k < node->n; k++) {
            int to = node->member[k];
            if (d == 0)
                copy(a, shi_coll_at(t, dest_of(a, t->me), to), a->dst, source_for(a, to), a->sst);
            else
                copy(a, place(p, d) + p->part * (size_t)(t->local_rank[t->me] * node->n + k), 1, source_for(a, to), a->sst);
        }
    }
}

static void take(const struct shmem_team *t, const struct places *p, const struct shi_all_to_all *a)
{
    int mine = t->node[t->my_node].n, me = t->local_rank[t->me];
    for (int d = 1; d < t->n_nodes; d++) {
        const struct shi_node *node = &t->node[node_at(t, t->my_node, -d)];
        for (int k = 0; k < node->n; k++)
            copy(a, dest_of(a, node->member[k]), a->dst, place(p, d) + p->part * (size_t)(k * mine + me), 1);
    }
}

void shi_coll_index(struct shmem_team *t, const struct shi_all_to_all *a)
{
    uint64_t epoch = ++t->epoch;
    t->exchanges++;
    struct places p = {.base = shi_team_records(t, shi_team_first(t)), .part = part_of(a)};
    p.stride = stride_of(t, p.part);
    give(t, &p, a);
    if (shi_team_enter(t, epoch)) {
        shi_team_rounds(t, epoch, &(const struct shi_carry){SHI_PLAN_INDEX, send_blocks, take_blocks, &p});
        shi_team_release(t, epoch);
    }
    take(t, &p, a);
}
