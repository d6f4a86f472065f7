/*
 * reduce.c - reductions of a team.
 *
 * Short ones of few PEs: every member sends its elements to all, and each combines them. Other short ones: a node's first member combines
 * for its node, and the firsts in rounds. Long ones: each member combines one part of the array from all sources and stores the result into
 * all dests; no other member accesses that part, so dest may be source. Between nodes they do that on the node first. plan.h says in which
 * rounds, policy/schedule.h which way. tree.h says which operands are combined with which.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/coll/agree.h"
#include "host/coll/coll.h"
#include "host/coll/share.h"
#include "host/coll/tree.h"
#include "host/ops/dheap.h"
#include "host/ops/span.h"
#include "host/policy/limits.h"
#include "host/util/log.h"

/* ---- reduction --------------------------------------------------------------------------------------------------- */

static void reduce_short(struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r)
{
    _Alignas(16) char acc[SHI_EXCHANGE_TOTAL_BYTES];
    size_t bytes = n * r->elem;
    struct shi_tree tree;
    shi_tree_begin(&tree, r, n, t->n);
    shi_team_exchange(t, shi_coll_readable(acc, source, bytes), bytes);
    for (int i = 0; i < t->n; i++)
        shi_tree_add_copy(&tree, shi_coll_record(t, i), acc, shi_round_up(bytes, 16));
    shi_coll_copy(dest, acc, bytes);
}

/* A short reduction of nodes. In the half of a node's first: the sources of the node's members, unless it has only one, then places for
 * what comes from other nodes, `each` bytes apart. The result is made in acc. */
struct between {
    const struct shi_reduction *r;
    size_t n, bytes, each;
    uint64_t epoch;
    const char *of_node; /* the node's elements; may be acc */
    char *acc, *places;
};

/* The firsts combine in rounds; the lower nodes' elements are the left operand. */
static void double_nodes(struct shmem_team *t, const struct between *b)
{
    if (b->of_node != b->acc)
        memcpy(b->acc, b->of_node, b->bytes);
    for (int k = 0; k < shi_plan_rounds(SHI_PLAN_DOUBLING, t->n_nodes); k++) {
        struct shi_round x = shi_plan_round(SHI_PLAN_DOUBLING, t->n_nodes, t->my_node, k);
        char *in = b->places + (size_t)k * b->each;
        if (x.to >= 0) {
            int to = t->node[x.to].member[0];
            shi_team_carry(t, to, in, b->acc, b->bytes);
            shi_team_notify(t, to, b->epoch);
        }
        if (x.from < 0)
            continue;
        shi_team_wait_notify(t, t->node[x.from].member[0], b->epoch);
        if (x.take == SHI_TAKE_OVER) {
            b->r->combine(b->acc, in, b->n);
        } else {
            if (x.take == SHI_TAKE_UNDER)
                b->r->combine(in, b->acc, b->n);
            memcpy(b->acc, in, b->bytes);
        }
    }
}

/* The members of a node give their elements to its first, which combines them, combines with the other firsts, and leaves the
 * result to its node. A node's only member does without these copies. */
static void reduce_gathered(struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r)
{
    _Alignas(16) char acc[SHI_EXCHANGE_TOTAL_BYTES];
    const struct shi_node *here = &t->node[t->my_node];
    size_t bytes = n * r->elem, each = shi_round_up(bytes, 16);
    t->exchanges++;
    char *of_node = shi_team_records(t, here->member[0]), *result = of_node + (size_t)t->most_local * each;
    struct between b = {r, n, bytes, each, ++t->epoch, acc, acc, result};
    if (here->n == 1) {
        b.of_node = shi_coll_readable(acc, source, bytes);
        shi_team_enter(t, b.epoch);
        double_nodes(t, &b);
        shi_team_release(t, b.epoch);
        shi_coll_copy(dest, acc, bytes);
        return;
    }
    shi_coll_copy(of_node + (size_t)t->local_rank[t->me] * each, source, bytes);
    if (shi_team_enter(t, b.epoch)) {
        struct shi_tree tree;
        shi_tree_begin(&tree, r, n, here->n);
        for (int k = 0; k < here->n; k++)
            shi_tree_add(&tree, of_node + (size_t)k * each);
        memcpy(acc, of_node, bytes);
        double_nodes(t, &b);
        memcpy(result, acc, bytes);
        shi_team_release(t, b.epoch);
    }
    shi_coll_copy(dest, result, bytes);
}

/* The records of a half: the elements of a node's members, and places for other nodes'. */
static enum shi_schedule reduce_way(const struct shmem_team *t, size_t bytes)
{
    int fits = shi_team_fits(shi_world.n_pes, bytes, t->most_local + shi_plan_rounds(SHI_PLAN_DOUBLING, t->n_nodes));
    return shi_coll_choose(t, SHI_COLL_REDUCE, bytes, fits ? 0 : 1 << SHI_BY_DOUBLING);
}

void shi_coll_reduce_part(const struct shmem_team *t, void *dest, const void *source, struct shi_range part,
                          const struct shi_reduction *r, int to)
{
    _Alignas(64) char acc[2 * SHI_BLOCK_BYTES], room[SHI_BLOCK_BYTES];
    const struct shi_node *here = &t->node[t->my_node];
    size_t rooms = (size_t)shi_tree_rooms(r, here->n), each = rooms > 2 ? 2 * SHI_BLOCK_BYTES / rooms & -64 : SHI_BLOCK_BYTES, block = each / r->elem;
    for (size_t at = part.first; at < part.last; at += block) {
        size_t n = part.last - at < block ? part.last - at : block, off = at * r->elem;
        struct shi_tree tree;
        shi_tree_begin(&tree, r, n, here->n);
        for (int k = 0; k < here->n; k++) {
            const char *from = (char *)shi_coll_at(t, source, here->member[k]) + off;
            char *left = acc + (size_t)tree.depth * each;
            if (shi_tree_ends(&tree)) {
                shi_tree_add(&tree, (void *)shi_coll_readable(room, from, n * r->elem));
            } else {
                shi_coll_copy(left, from, n * r->elem);
                shi_tree_add(&tree, left);
            }
        }
        for (int k = 0; k < here->n; k++)
            if (to < 0 || here->member[k] == to)
                shi_coll_copy((char *)shi_coll_at(t, dest, here->member[k]) + off, acc, n * r->elem);
    }
}

static void reduce_long(struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r)
{
    shi_team_barrier(t->routine, t); /* every source is ready */
    shi_coll_reduce_part(t, dest, source, shi_coll_cut((struct shi_range){0, n}, t->n, t->me, r->elem), r, -1);
    shi_team_barrier(t->routine, t); /* every dest is complete, every source read */
}

/*
 * How a long reduction is shared between nodes, with any number of members each: in parts of the same length, as many as the smallest node
 * has members. On each node one member, the holder of part k, has the node's result of it in its dest.
 */
static struct shi_range part_of(const struct shmem_team *t, size_t n, int k, size_t elem)
{
    return shi_coll_cut((struct shi_range){0, n}, t->least_local, k, elem);
}

/* Combine this node's sources into the dests of the holders; the members of the node share the work. */
static void reduce_node(const struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r)
{
    const struct shi_node *here = &t->node[t->my_node];
    struct shi_range mine = shi_coll_cut((struct shi_range){0, n}, here->n, t->local_rank[t->me], r->elem);
    for (int k = 0; k < t->least_local; k++) {
        struct shi_range part = part_of(t, n, k, r->elem);
        part.first = part.first > mine.first ? part.first : mine.first;
        part.last = part.last < mine.last ? part.last : mine.last;
        if (part.first < part.last)
            shi_coll_reduce_part(t, dest, source, part, r, here->member[k]);
    }
}

/* Combine what has come from another member into mine. */
static void combine_in(char *mine, char *in, size_t n, const struct shi_reduction *r, enum shi_take take, char *room)
{
    char *own = (char *)shi_coll_readable(room, mine, n * r->elem), *result = take == SHI_TAKE_OVER ? own : in;
    r->combine(result, take == SHI_TAKE_OVER ? in : own, n);
    shi_coll_copy(mine, result, n * r->elem);
}

/* Combine a range of member `of`'s dest into mine. */
static void combine_from(const struct shmem_team *t, char *dest, int of, struct shi_range part, const struct shi_reduction *r,
                         enum shi_take take)
{
    size_t block = SHI_REMOTE_BLOCK_BYTES / r->elem, all = part.last - part.first;
    block = all < block ? all : block;
    char *in = shi_coll_room(t->routine, 2 * block * r->elem + 1), *room = in + block * r->elem;
    for (size_t at = part.first; at < part.last; at += block) {
        size_t n = part.last - at < block ? part.last - at : block;
        char *mine = dest + at * r->elem;
        shi_coll_get(t, in, mine, n * r->elem, of);
        shi_coll_local(t);
        combine_in(mine, in, n, r, take, room);
    }
    free(in);
}

/* A reduction by halves of a part of the array. */
struct halves {
    char *dest;
    const struct shi_reduction *r;
    struct shi_range part;
    int n, blocks;      /* nodes; blocks of the plan, */
    size_t block_bytes; /* of at most so many bytes */
};

/* Do all messages of the rounds before the results go back have places in a half of the exchange buffers? */
static int halves_fit(const struct halves *h)
{
    return h->block_bytes * (size_t)h->blocks * (h->blocks < h->n ? 2 : 1) <= shi_team_half_bytes(shi_world.n_pes) - SHI_LANDING_BYTES;
}

/* The place of what comes in round i: behind the largest messages of the rounds before. */
static char *halves_place(const struct shmem_team *t, const struct halves *h, int i)
{
    int fold = h->blocks < h->n, before = i < fold ? 0 : h->blocks * (1 + fold) - (h->blocks >> (i - fold));
    return shi_team_records(t, t->me) + (size_t)before * h->block_bytes;
}

static struct shi_range halves_range(const struct halves *h, const struct shi_run *run)
{
    return (struct shi_range){shi_coll_cut(h->part, h->blocks, run->first, h->r->elem).first,
                              shi_coll_cut(h->part, h->blocks, run->first + run->n - 1, h->r->elem).last};
}

/* Give member `to` the elements that it combines in round i: short ones with the notification, long ones are read. */
static void give_half(const struct shmem_team *t, const struct halves *h, int i, const struct shi_run *run, int to, uint64_t epoch)
{
    struct shi_range of = halves_range(h, run);
    size_t bytes = (of.last - of.first) * h->r->elem;
    if (halves_fit(h)) {
        char *from = h->dest + of.first * h->r->elem, *room = shi_dheap_is_private(from) ? shi_coll_room(t->routine, bytes + 1) : NULL;
        shi_team_carry(t, to, halves_place(t, h, i), shi_coll_readable(room, from, bytes), bytes);
        free(room);
    }
    shi_team_notify(t, to, epoch);
}

static void take_half(struct shmem_team *t, const struct halves *h, int i, const struct shi_round *x, int from, uint64_t epoch)
{
    struct shi_range of = halves_range(h, &x->recv);
    shi_team_wait_notify(t, from, epoch);
    if (!halves_fit(h)) {
        combine_from(t, h->dest, from, of, h->r, x->take);
        return;
    }
    char *mine = h->dest + of.first * h->r->elem;
    size_t n = of.last - of.first;
    char *room = shi_dheap_is_private(mine) ? shi_coll_room(t->routine, n * h->r->elem + 1) : NULL;
    combine_in(mine, halves_place(t, h, i), n, h->r, x->take, room);
    free(room);
}

/* Between the holders of part k: in each round half of what is left goes to another node and is combined there; then the results go back the
 * same way. */
static void reduce_halves(struct shmem_team *t, void *dest, int k, struct shi_range part, const struct shi_reduction *r,
                          uint64_t epoch)
{
    int n = t->n_nodes, blocks = shi_plan_blocks(SHI_PLAN_HALVING, n), rounds = shi_plan_rounds(SHI_PLAN_HALVING, n);
    const struct halves h = {dest, r, part, n, blocks, shi_coll_part(part, blocks, r->elem) * r->elem};
    for (int i = 0; i < rounds; i++) {
        struct shi_round x = shi_plan_round(SHI_PLAN_HALVING, n, t->my_node, i);
        int to = x.to < 0 ? -1 : t->node[x.to].member[k], from = x.from < 0 ? -1 : t->node[x.from].member[k];
        if (i < rounds / 2) {
            if (to >= 0)
                give_half(t, &h, i, &x.send, to, epoch);
            if (from >= 0)
                take_half(t, &h, i, &x, from, epoch);
            continue;
        }
        if (to >= 0) {
            struct shi_range of = halves_range(&h, &x.send);
            size_t off = of.first * r->elem;
            shi_coll_put(t, (char *)dest + off, (char *)dest + off, (of.last - of.first) * r->elem, to);
            shi_team_notify(t, to, epoch + 1);
        }
        if (from >= 0)
            shi_team_wait_notify(t, from, epoch + 1);
    }
    shi_coll_local(t);
}

/* The members of a node combine its sources, then members of all nodes combine the nodes' results, then the node's other members
 * read them. So an element crosses between two nodes once each way. In each step only one member accesses what it changes, so
 * dest may be source. Between nodes a member waits for those alone with which it exchanges data: nobody accesses its dest before it
 * has notified them, nor after they have notified it. */
static void reduce_long_nodes(struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r)
{
    const struct shi_node *here = &t->node[t->my_node];
    int me = t->local_rank[t->me];
    shi_team_node_barrier(t); /* every source of the node is ready */
    reduce_node(t, dest, source, n, r);
    shi_team_node_barrier(t); /* its results are ready */
    t->epoch += 2;
    t->exchanges++;
    if (me < t->least_local)
        reduce_halves(t, dest, me, part_of(t, n, me, r->elem), r, t->epoch - 1);
    shi_team_node_barrier(t); /* all nodes' results are here */
    for (int k = 0; k < t->least_local; k++) {
        struct shi_range part = part_of(t, n, k, r->elem);
        size_t off = part.first * r->elem;
        if (k != me)
            shi_coll_get(t, (char *)dest + off, (char *)dest + off, (part.last - part.first) * r->elem, here->member[k]);
    }
    shi_team_node_barrier(t); /* all have read them */
}

/* Does the tree of the nodes' trees equal that of the team's members? */
static int nodes_fit_tree(const struct shmem_team *t)
{
    int each = t->node[0].n;
    if (each & (each - 1))
        return 0;
    for (int i = 0; i < t->n_nodes; i++)
        for (int k = 0; k < each; k++)
            if (t->node[i].n != each || t->node[i].member[k] != i * each + k)
                return 0;
    return 1;
}

/* A long reduction in the team's order where the nodes' results do not give it: each member combines a part of all sources, which it reads
 * from all nodes, and stores the result into all dests. */
static void reduce_flat(struct shmem_team *t, void *dest, const void *source, size_t elements, const struct shi_reduction *r)
{
    struct shi_range part = shi_coll_cut((struct shi_range){0, elements}, t->n, t->me, r->elem);
    size_t most = (SHI_REMOTE_BLOCK_BYTES / (size_t)t->n + SHI_BLOCK_BYTES) / r->elem, each = most * r->elem;
    char *in = shi_coll_room(t->routine, (size_t)t->n * each);
    shi_team_barrier(t->routine, t); /* every source is ready */
    for (size_t at = part.first; at < part.last; at += most) {
        size_t n = part.last - at < most ? part.last - at : most, off = at * r->elem;
        struct shi_tree tree;
        shi_tree_begin(&tree, r, n, t->n);
        for (int i = 0; i < t->n; i++)
            shi_coll_get(t, in + (size_t)i * each, (const char *)source + off, n * r->elem, i);
        shi_coll_local(t);
        for (int i = 0; i < t->n; i++)
            shi_tree_add(&tree, in + (size_t)i * each);
        for (int i = 0; i < t->n; i++)
            shi_coll_put(t, (char *)dest + off, in, n * r->elem, i);
        shi_coll_local(t);
    }
    free(in);
    shi_team_quiet_barrier(t->routine, t); /* every dest is complete, every source read */
}

void shi_coll_check_elements(const char *routine, struct shmem_team *t, const void *dest, const void *source, size_t n, size_t elem)
{
    size_t bytes = shi_bytes(n, elem);
    shi_coll_check_both(routine, t, dest, bytes, source, bytes);
    SHI_AGREE(routine, t, {"elements", (int64_t)n}, {"bytes an element", (int64_t)elem});
}

void shi_coll_reduce(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n,
                     const struct shi_reduction *r)
{
    shi_coll_check_elements(routine, t, dest, source, n, r->elem);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, n * r->elem);
    if (n == 0)
        return;
    size_t bytes = n * r->elem;
    int flat = r->ordered && shi_world.config.reproducible && t->n_nodes > 1 && !nodes_fit_tree(t);
    if (t->n == 1) {
        shi_coll_copy(dest, source, bytes);
        t->epoch++;
    } else if (flat || !t->gathered) {
        (bytes <= t->buffer_bytes ? reduce_short : flat ? reduce_flat : reduce_long)(t, dest, source, n, r);
    } else if (reduce_way(t, bytes) == SHI_BY_DOUBLING) {
        reduce_gathered(t, dest, source, n, r);
    } else {
        (t->n_nodes > 1 ? reduce_long_nodes : reduce_long)(t, dest, source, n, r);
    }
}
