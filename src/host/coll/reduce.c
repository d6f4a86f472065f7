/*
 * reduce.c - reductions and prefix sums of a team.
 *
 * Short ones: every member sends its elements to all, and each combines them. Long ones: each member combines one part of the
 * array from all sources and stores the result into all dests; no other member accesses that part, so dest may be source.
 * Between nodes both work in two levels, on the node first; plan.h says in which rounds.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/coll/agree.h"
#include "host/coll/coll.h"
#include "host/ops/dheap.h"
#include "host/ops/rma.h"
#include "host/ops/span.h"
#include "host/util/log.h"

enum {
    BLOCK_BYTES = 8192,      /* combined at a time: stays in the first-level cache */
    REMOTE_BLOCK_BYTES = 131072 /* with remote members: long enough for the network, short enough for the second level */
};

/* The elements at `from`, or a copy of them in `room` when the host cannot load them. */
static const void *readable(void *room, const void *from, size_t bytes)
{
    if (!shi_dheap_is_private(from))
        return from;
    shi_dheap_copy("reduction", room, from, bytes);
    return room;
}

static const char *buffer(const struct shmem_team *t, int of)
{
    return shi_team_buffer(t, t->me, of);
}

/* ---- reduction --------------------------------------------------------------------------------------------------- */

static void reduce_short(struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r)
{
    _Alignas(16) char acc[SHI_EXCHANGE_TOTAL_BYTES];
    size_t bytes = n * r->elem;
    shi_team_exchange(t, readable(acc, source, bytes), bytes);
    memcpy(acc, buffer(t, 0), bytes);
    for (int i = 1; i < t->n; i++)
        r->combine(acc, buffer(t, i), n);
    shi_coll_copy(dest, acc, bytes);
}

/* A short reduction of nodes. In the half of a node's first: the sources of the node's members, then places for what comes
 * from other nodes, `each` bytes apart. */
struct between {
    const struct shi_reduction *r;
    size_t n, bytes, each;
    uint64_t epoch;
    char *acc, *places;
};

/* Every first gets the nodes' elements and combines them in the order of nodes. */
static void gather_nodes(struct shmem_team *t, const struct between *b)
{
    memcpy(b->places + (size_t)t->my_node * b->each, b->acc, b->bytes);
    shi_team_gather(t, b->epoch, b->places, b->each);
    memcpy(b->acc, b->places, b->bytes);
    for (int k = 1; k < t->n_nodes; k++)
        b->r->combine(b->acc, b->places + (size_t)k * b->each, b->n);
}

/* The firsts combine in rounds; the lower nodes' elements are the left operand. */
static void double_nodes(struct shmem_team *t, const struct between *b)
{
    for (int k = 0; k < shi_plan_rounds(SHI_PLAN_DOUBLING, t->n_nodes); k++) {
        struct shi_round x = shi_plan_round(SHI_PLAN_DOUBLING, t->n_nodes, t->my_node, k);
        char *in = b->places + (size_t)k * b->each;
        if (x.to >= 0) {
            shi_team_carry(t, x.to, in, b->acc, b->bytes);
            shi_team_notify(t, t->node[x.to].member[0], b->epoch);
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
 * result to its node. */
static void reduce_short_nodes(struct shmem_team *t, void *dest, const void *source, size_t n,
                               const struct shi_reduction *r, enum shi_algorithm way)
{
    _Alignas(16) char acc[SHI_EXCHANGE_TOTAL_BYTES];
    const struct shi_node *here = &t->node[t->my_node];
    size_t bytes = n * r->elem, each = shi_round_up(bytes, 16);
    t->exchanges++;
    char *of_node = shi_team_records(t, here->member[0]), *result = of_node + (size_t)t->most_local * each;
    const struct between b = {r, n, bytes, each, ++t->epoch, acc, result};
    shi_coll_copy(of_node + (size_t)t->local_rank[t->me] * each, source, bytes);
    if (shi_team_enter(t, b.epoch)) {
        memcpy(acc, of_node, bytes);
        for (int k = 1; k < here->n; k++)
            r->combine(acc, of_node + (size_t)k * each, n);
        (way == SHI_BY_GATHER ? gather_nodes : double_nodes)(t, &b);
        memcpy(result, acc, bytes);
        shi_team_release(t, b.epoch);
    }
    shi_coll_copy(dest, result, bytes);
}

/* Do the elements of a node's members and so many places for other nodes' fit into the records of a half? */
static int fits(const struct shmem_team *t, size_t bytes, int places)
{
    size_t room = shi_team_half_bytes(shi_world.n_pes) - SHI_LANDING_BYTES, each = shi_round_up(bytes, 16);
    return bytes <= SHI_EXCHANGE_TOTAL_BYTES && each <= room / (size_t)(t->most_local + places);
}

static enum shi_algorithm reduce_way(const struct shmem_team *t, size_t bytes)
{
    unsigned without = fits(t, bytes, t->n_nodes) ? 0 : 1 << SHI_BY_GATHER;
    if (!fits(t, bytes, shi_plan_rounds(SHI_PLAN_DOUBLING, t->n_nodes)))
        without |= 1 << SHI_BY_DOUBLING;
    return shi_coll_choose(t, SHI_COLL_REDUCE, bytes, without);
}

/* Elements [first, last) of an array. */
struct range {
    size_t first, last;
};

/* Part i of so many. Parts begin on cache lines of the array, so that members do not store into the same line. */
static struct range cut(struct range all, int parts, int i, size_t elem)
{
    size_t line = SHI_LINE_BYTES / elem ? SHI_LINE_BYTES / elem : 1, n = all.last - all.first;
    size_t part = shi_round_up((n + (size_t)parts - 1) / (size_t)parts, line), skip = part * (size_t)i;
    size_t first = all.first + (skip < n ? skip : n);
    return (struct range){first, all.last - first < part ? all.last : first + part};
}

/* Combine a part of every source on this node, block by block, into my dest, or into every dest on it. */
static void reduce_part(const struct shmem_team *t, void *dest, const void *source, struct range part,
                        const struct shi_reduction *r, int every)
{
    _Alignas(64) char acc[BLOCK_BYTES], room[BLOCK_BYTES];
    const struct shi_node *here = &t->node[t->my_node];
    size_t block = BLOCK_BYTES / r->elem;
    for (size_t at = part.first; at < part.last; at += block) {
        size_t n = part.last - at < block ? part.last - at : block, off = at * r->elem;
        shi_coll_copy(acc, (char *)shi_coll_at(t, source, here->member[0]) + off, n * r->elem);
        for (int k = 1; k < here->n; k++)
            r->combine(acc, readable(room, (char *)shi_coll_at(t, source, here->member[k]) + off, n * r->elem), n);
        for (int k = 0; k < here->n; k++)
            if (every || here->member[k] == t->me)
                shi_coll_copy((char *)shi_coll_at(t, dest, here->member[k]) + off, acc, n * r->elem);
    }
}

static void reduce_long(struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r)
{
    shi_team_barrier(t->routine, t); /* every source is ready */
    reduce_part(t, dest, source, cut((struct range){0, n}, t->n, t->me, r->elem), r, 1);
    shi_team_barrier(t->routine, t); /* every dest is complete, every source read */
}

static char *room_of(const char *routine, size_t bytes)
{
    char *room = malloc(bytes);
    if (!room)
        shi_die(routine, "out of memory for %zu bytes", bytes);
    return room;
}

/* Combine a part of the dests of the nodes' k-th members into all of them; all blocks of one step come at a time. */
static void reduce_pieces(const struct shmem_team *t, void *dest, int k, struct range part, const struct shi_reduction *r)
{
    part = cut(part, t->n_nodes, t->my_node, r->elem);
    size_t block = REMOTE_BLOCK_BYTES / r->elem, piece = part.last - part.first;
    block = piece < block ? piece : block;
    if (!piece)
        return;
    char *in = room_of(t->routine, (size_t)t->n_nodes * block * r->elem);
    for (size_t at = part.first; at < part.last; at += block) {
        size_t n = part.last - at < block ? part.last - at : block, off = at * r->elem;
        for (int i = 0; i < t->n_nodes; i++)
            shi_coll_get(t, in + (size_t)i * block * r->elem, (char *)dest + off, n * r->elem, t->node[i].member[k]);
        shi_coll_local(t);
        for (int i = 1; i < t->n_nodes; i++)
            r->combine(in, in + (size_t)i * block * r->elem, n);
        for (int i = 0; i < t->n_nodes; i++)
            shi_coll_put(t, (char *)dest + off, in, n * r->elem, t->node[i].member[k]);
        shi_coll_local(t);
    }
    free(in);
}

/* Combine a range of member `of`'s dest into mine. */
static void combine_from(const struct shmem_team *t, char *dest, int of, struct range part, const struct shi_reduction *r,
                         enum shi_take take)
{
    size_t block = REMOTE_BLOCK_BYTES / r->elem, all = part.last - part.first;
    block = all < block ? all : block;
    char *in = room_of(t->routine, 2 * block * r->elem + 1), *room = in + block * r->elem;
    for (size_t at = part.first; at < part.last; at += block) {
        size_t n = part.last - at < block ? part.last - at : block;
        char *mine = dest + at * r->elem, *under = in, *over = room;
        shi_coll_get(t, in, mine, n * r->elem, of);
        shi_coll_copy(room, mine, n * r->elem);
        shi_coll_local(t);
        if (take == SHI_TAKE_OVER) {
            under = room;
            over = in;
        }
        r->combine(under, over, n);
        shi_coll_copy(mine, under, n * r->elem);
    }
    free(in);
}

/* The same for many nodes: in each round half of what is left is read and combined; then the results go back the same way. */
static void reduce_halves(const struct shmem_team *t, void *dest, int k, struct range part, const struct shi_reduction *r,
                          uint64_t epoch)
{
    int n = t->n_nodes, blocks = shi_plan_blocks(SHI_PLAN_HALVING, n), rounds = shi_plan_rounds(SHI_PLAN_HALVING, n);
    for (int i = 0; i < rounds; i++) {
        struct shi_round x = shi_plan_round(SHI_PLAN_HALVING, n, t->my_node, i);
        const struct shi_run *run = i < rounds / 2 ? &x.recv : &x.send;
        struct range of = {cut(part, blocks, run->first, r->elem).first,
                           cut(part, blocks, run->first + run->n - 1, r->elem).last};
        size_t off = of.first * r->elem;
        int to = x.to < 0 ? -1 : t->node[x.to].member[k], from = x.from < 0 ? -1 : t->node[x.from].member[k];
        uint64_t step = i < rounds / 2 ? epoch : epoch + 1;
        if (to >= 0 && i >= rounds / 2)
            shi_coll_put(t, (char *)dest + off, (char *)dest + off, (of.last - of.first) * r->elem, to);
        if (to >= 0)
            shi_team_notify(t, to, step);
        if (from >= 0)
            shi_team_wait_notify(t, from, step);
        if (from >= 0 && i < rounds / 2)
            combine_from(t, dest, from, of, r, x.take);
    }
    shi_coll_local(t);
}

/* The k-th members of all nodes reduce part k: each combines it for its node, then each combines a piece of the node
 * results, then the node's other members read it. So an element crosses between two nodes once each way. In each step
 * only one member accesses what it changes, so dest may be source. */
static void reduce_long_nodes(struct shmem_team *t, void *dest, const void *source, size_t n,
                              const struct shi_reduction *r, enum shi_algorithm way)
{
    const struct shi_node *here = &t->node[t->my_node];
    const struct range all = {0, n};
    int workers = here->n, k = t->local_rank[t->me];
    for (int i = 0; i < t->n_nodes; i++)
        workers = t->node[i].n < workers ? t->node[i].n : workers;
    struct range part = k < workers ? cut(all, workers, k, r->elem) : (struct range){0, 0};
    shi_team_barrier(t->routine, t);
    reduce_part(t, dest, source, part, r, 0);
    shi_team_barrier(t->routine, t);
    t->epoch += 2;
    if (k < workers && way == SHI_BY_HALVING)
        reduce_halves(t, dest, k, part, r, t->epoch - 1);
    else if (k < workers)
        reduce_pieces(t, dest, k, part, r);
    shi_team_quiet_barrier(t->routine, t);
    for (int w = 0; w < workers; w++) {
        struct range theirs = cut(all, workers, w, r->elem);
        size_t off = theirs.first * r->elem;
        if (w != k)
            shi_coll_get(t, (char *)dest + off, (char *)dest + off, (theirs.last - theirs.first) * r->elem, here->member[w]);
    }
    shi_team_barrier(t->routine, t);
}

static void check_both(const char *routine, struct shmem_team *t, const void *dest, const void *source, size_t n,
                       size_t elem)
{
    size_t bytes = shi_bytes(n, elem);
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, bytes);
    shi_coll_check(routine, t, SHI_READ, "source", source, bytes);
    if (shi_world.check && dest != source)
        shi_rma_check(routine, dest, source, bytes, shi_world.pe);
    SHI_AGREE(routine, t, {"elements", (int64_t)n}, {"bytes an element", (int64_t)elem});
}

void shi_coll_reduce(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n,
                     const struct shi_reduction *r)
{
    check_both(routine, t, dest, source, n, r->elem);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, n * r->elem);
    if (n == 0)
        return;
    size_t bytes = n * r->elem;
    if (t->n == 1) {
        shi_coll_copy(dest, source, bytes);
        t->epoch++;
    } else if (t->n_nodes > 1) {
        enum shi_algorithm way = reduce_way(t, bytes);
        (way == SHI_BY_GATHER || way == SHI_BY_DOUBLING ? reduce_short_nodes : reduce_long_nodes)(t, dest, source, n, r, way);
    } else {
        (bytes <= t->buffer_bytes ? reduce_short : reduce_long)(t, dest, source, n, r);
    }
}

/* ---- prefix sums ------------------------------------------------------------------------------------------------- */

static void scan_short(struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r,
                       int last)
{
    _Alignas(16) char acc[SHI_EXCHANGE_TOTAL_BYTES];
    size_t bytes = n * r->elem;
    shi_team_exchange(t, readable(acc, source, bytes), bytes);
    if (last < 0)
        memset(acc, 0, bytes); /* all-zero bytes are zero in every type of the table */
    else
        memcpy(acc, buffer(t, 0), bytes);
    for (int i = 1; i <= last; i++)
        r->combine(acc, buffer(t, i), n);
    shi_coll_copy(dest, acc, bytes);
}

/* Combine member i's source into sum; member 0's begins it. */
static void add_source(const char *routine, const struct shmem_team *t, char *sum, const void *source, size_t n,
                       const struct shi_reduction *r, int i)
{
    const char *from = t->peer[i].remote || shi_dheap_hides(source, 1) ? NULL : shi_coll_at(t, source, i);
    char *copy = from ? NULL : malloc(n * r->elem);
    if (!from && !copy)
        shi_die(routine, "out of memory for %zu bytes of a scan", n * r->elem);
    if (!from) {
        shi_coll_get(t, copy, source, n * r->elem, i);
        shi_coll_local(t);
        from = copy;
    }
    if (i == 0)
        memcpy(sum, from, n * r->elem);
    else
        r->combine(sum, from, n);
    free(copy);
}

/* Others read my source until all are done, so a scan in place keeps its sums in private memory until then. */
static void scan_long(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n,
                      const struct shi_reduction *r, int last)
{
    size_t bytes = n * r->elem;
    char *sum = dest == source || shi_dheap_hides(dest, 1) ? malloc(bytes) : dest;
    if (!sum)
        shi_die(routine, "out of memory for %zu bytes of a scan", bytes);
    shi_team_barrier(t->routine, t);
    if (last < 0)
        memset(sum, 0, bytes);
    else
        add_source(routine, t, sum, source, n, r, 0);
    for (int i = 1; i <= last; i++)
        add_source(routine, t, sum, source, n, r, i);
    shi_team_barrier(t->routine, t);
    if (sum != dest) {
        shi_coll_copy(dest, sum, bytes);
        free(sum);
    }
}

/* Get member `of`'s dest when it has announced it; it is told when it may change it. */
static void fetch(struct shmem_team *t, char *to, const void *dest, size_t bytes, int of, uint64_t announced)
{
    shi_team_wait_notify(t, of, announced);
    shi_coll_get(t, to, dest, bytes, of);
    shi_coll_local(t);
    shi_team_notify(t, of, announced + 1);
}

/* In round r each member adds, from the left, what the member 2^r below has combined so far, which it reads from its dest. */
static void scan_rounds(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n,
                        const struct shi_reduction *r, int exclusive)
{
    size_t bytes = n * r->elem;
    char *in = room_of(routine, 2 * bytes), *room = in + bytes;
    int rounds = shi_plan_log2(t->n);
    uint64_t base = t->epoch;
    t->epoch += 2 * (uint64_t)(rounds + 1);
    shi_coll_copy(dest, source, bytes);
    for (int k = 0; k < rounds + exclusive; k++) { /* one more, of 1, for exclusive ones */
        int step = k < rounds ? 1 << k : 1, below = t->me - step, above = t->me + step < t->n ? t->me + step : -1;
        uint64_t announced = base + 2 * (uint64_t)k + 1;
        if (above >= 0)
            shi_team_notify(t, above, announced);
        if (below >= 0)
            fetch(t, in, dest, bytes, below, announced);
        else
            memset(in, 0, bytes); /* all-zero bytes are zero in every type of the table */
        if (above >= 0)
            shi_team_wait_notify(t, above, announced + 1);
        if (below >= 0 && k < rounds)
            r->combine(in, readable(room, dest, bytes), n);
        if (below >= 0 || k == rounds)
            shi_coll_copy(dest, in, bytes);
    }
    free(in);
}

void shi_coll_scan(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n,
                   const struct shi_reduction *r, int exclusive)
{
    check_both(routine, t, dest, source, n, r->elem);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, n * r->elem);
    if (n == 0)
        return;
    int last = exclusive ? t->me - 1 : t->me;
    if (n * r->elem <= t->buffer_bytes && (!t->gathered || shi_coll_choose(t, SHI_COLL_SCAN, n * r->elem, 0) == SHI_BY_GATHER))
        scan_short(t, dest, source, n, r, last);
    else if (t->gathered)
        scan_rounds(routine, t, dest, source, n, r, exclusive);
    else
        scan_long(routine, t, dest, source, n, r, last);
}
