/* coll.c - collectives that move data: broadcast, collect, fcollect, alltoall, alltoalls. */
#include "host/coll/coll.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/coll/agree.h"
#include "host/ops/dheap.h"
#include "host/ops/remote.h"
#include "host/ops/rma.h"
#include "host/ops/span.h"
#include "host/util/log.h"

enum {
    PULL_BYTES = 8192, /* from this length on members read a broadcast, all at the same time */
    INLINE_BYTES = 1032 /* longest block that a collect between nodes sends with its length */
};

void shi_coll_check(const char *routine, struct shmem_team *t, enum shi_use use, const char *arg, const void *addr,
                    size_t bytes)
{
    shi_need_up(routine);
    if (!t)
        shi_die(routine, "team is SHMEM_TEAM_INVALID");
    t->routine = routine;
    if (bytes && !shi_reach(&shi_world.peer[shi_world.pe], addr, bytes) && !shi_dheap_hides(addr, bytes))
        shi_resolve_slow(routine, SHI_CTX_DEFAULT, use, arg, addr, bytes, shi_world.pe);
    shi_check_block(routine, arg, addr, bytes, shi_world.pe);
}

/* SHMEM_CHECK=1: die when source and dest of a collective share memory. */
static void check_apart(const char *routine, const void *dest, size_t dest_bytes, const void *source, size_t bytes)
{
    uintptr_t d = (uintptr_t)dest, s = (uintptr_t)source;
    if (shi_unlikely(shi_world.check) && d < s + bytes && s < d + dest_bytes)
        shi_die(routine, "dest and source overlap: %p, %zu bytes, and %p, %zu bytes (pe = %d)", dest, dest_bytes, source,
                bytes, shi_world.pe);
}

void *shi_coll_at(const struct shmem_team *t, const void *addr, int pe)
{
    void *device = shi_unlikely(shi_world.dev_private) ? shi_reach_device(&t->peer[pe], addr, 1) : NULL;
    return device ? device : (void *)shi_reach_read(&t->peer[pe], addr, 1);
}

void shi_coll_copy(void *to, const void *from, size_t bytes)
{
    if (to != from)
        shi_dheap_copy_any("collective", to, from, bytes);
}

/* The same of a part of a transfer, in which all PEs of the node read and write `of` bytes in total. */
static void copy_part(void *to, const void *from, size_t bytes, size_t of)
{
    if (shi_likely(of < shi_copy_cache_bytes) || shi_world.dev_private || to == from)
        shi_coll_copy(to, from, bytes);
    else
        shi_copy_part(to, from, bytes, of);
}

static struct shi_remote_addr remote_addr(const struct shmem_team *t, const void *addr, size_t bytes, int pe)
{
    struct shi_remote_addr s;
    if (shi_remote_addr_of(&t->peer[pe], SHI_READ, addr, bytes, &s))
        shi_not_symmetric("collective", SHI_READ, "address", addr, bytes, pe);
    return s;
}

static void put_part(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe, size_t of)
{
    if (!t->peer[pe].remote) {
        copy_part(shi_coll_at(t, dest, pe), source, bytes, of);
    } else if (bytes) {
        struct shi_remote_addr to = remote_addr(t, dest, bytes, pe);
        shi_remote_put(shi_world.lane, &to, source, bytes, SHI_NBI | SHI_MORE);
    }
}

void shi_coll_put(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe)
{
    put_part(t, dest, source, bytes, pe, 2 * bytes);
}

void shi_coll_get(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe)
{
    const void *at = shi_coll_at(t, source, pe);
    if (at) {
        shi_coll_copy(dest, at, bytes);
    } else if (bytes) {
        struct shi_remote_addr from = remote_addr(t, source, bytes, pe);
        shi_remote_get(shi_world.lane, &from, dest, bytes, SHI_NBI);
    }
}

void shi_coll_local(const struct shmem_team *t)
{
    if (t->n_nodes > 1)
        shi_remote_local(shi_world.lane);
}

/* ---- broadcast --------------------------------------------------------------------------------------------------- */

/* Data from one member of a node to its others: pushed, or, when long, read by all at the same time while the sender waits.
 * `source` is the sender's address of the data, symmetric. */
struct chunk {
    void *dest;
    const void *source;
    size_t bytes;
    int sender;
    uint64_t epoch, after; /* after: 0, or store only into members that have come to the broadcast of that epoch */
    void *own; /* of the sender, which copies the data there, too, while the others read; or NULL */
};

static int overlap(const struct shi_set_dest *a, const struct shi_set_dest *b)
{
    return a->dest < b->dest + b->bytes && b->dest < a->dest + a->bytes;
}

/*
 * Over active sets, programs broadcast to a few dests in turns, with as many pSyncs and no barrier between the calls. So a dest that comes
 * again may be stored into only on members that have come to the broadcast after its last one. Dests from before a barrier, or another
 * collective, are forgotten: those wait for all.
 */
static void begin_over_set(const char *routine, struct shmem_team *t, struct chunk *g)
{
    struct shi_set_dest now = {g->dest, g->bytes, 0};
    int k = 0, n = t->n_set_dests && t->set_dest[0].epoch == t->epoch ? t->n_set_dests : 0;
    while (k < n && !overlap(&t->set_dest[k], &now))
        k++;
    int again = k > 0 && k < n;
    if (again && t->n_nodes > 1) {
        shi_team_barrier(routine, t);
        n = 0;
    } else if (again) {
        g->after = t->set_dest[k - 1].epoch;
    }
    now.epoch = t->epoch + 2;
    n = n < SHI_SET_DESTS ? n : SHI_SET_DESTS - 1;
    memmove(t->set_dest + 1, t->set_dest, (size_t)n * sizeof now);
    t->set_dest[0] = now;
    t->n_set_dests = n + 1;
    shi_team_come(t, now.epoch);
}

static void push_node(struct shmem_team *t, const struct chunk *g)
{
    const struct shi_node *here = &t->node[t->my_node];
    int pulled = g->bytes >= PULL_BYTES;
    for (int k = 0; k < here->n; k++) {
        int i = here->member[k];
        if (i == t->me)
            continue;
        if (!pulled && g->after)
            shi_team_await_come(t, i, g->after);
        if (!pulled)
            shi_coll_copy(shi_coll_at(t, g->dest, i), g->source, g->bytes);
        shi_team_notify(t, i, g->epoch);
    }
    if (g->own)
        shi_coll_copy(g->own, g->source, g->bytes);
    for (int k = 0; pulled && k < here->n; k++)
        if (here->member[k] != t->me)
            shi_team_wait_notify(t, here->member[k], g->epoch);
}

static void pull_chunk(struct shmem_team *t, const struct chunk *g)
{
    shi_team_wait_notify(t, g->sender, g->epoch);
    if (g->bytes >= PULL_BYTES) {
        shi_coll_copy(g->dest, shi_coll_at(t, g->source, g->sender), g->bytes);
        shi_team_notify(t, g->sender, g->epoch);
    }
}

/* The member that receives the data for its node: the root for its own node, else the node's first member. */
static int agent_of(const struct shmem_team *t, int node, int root_node, int root)
{
    return node == root_node ? root : t->node[node].member[0];
}

/* The nodes of a broadcast in positions: the root's node has position 0. */
struct between {
    struct shmem_team *t;
    void *dest;
    const void *source;
    size_t bytes, block;
    int root, root_node, me; /* me: this node's position */
    uint64_t epoch;
};

static int agent_at(const struct between *b, int position)
{
    return agent_of(b->t, (position + b->root_node) % b->t->n_nodes, b->root_node, b->root);
}

/* Put blocks first to last - 1 to a position's agent. */
static void put_blocks(const struct between *b, int first, int last, int position)
{
    size_t from = b->block * (size_t)first, to = b->block * (size_t)last;
    to = to < b->bytes ? to : b->bytes;
    const char *data = b->me ? b->dest : b->source;
    if (from < to)
        shi_coll_put(b->t, (char *)b->dest + from, data + from, to - from, agent_at(b, position));
}

static void tree_nodes(const struct between *b, enum shi_plan plan)
{
    int n = b->t->n_nodes;
    for (int r = 0; r < shi_plan_rounds(plan, n); r++) {
        struct shi_round x = shi_plan_round(plan, n, b->me, r);
        if (x.to >= 0) {
            put_blocks(b, x.send.first, x.send.first + x.send.n, x.to);
            shi_team_notify(b->t, agent_at(b, x.to), b->epoch);
        }
        if (x.from >= 0)
            shi_team_wait_notify(b->t, agent_at(b, x.from), b->epoch);
    }
}

/* After the scatter. Position 0 has all blocks: nothing is sent to it. */
static void spread_nodes(const struct between *b, uint64_t epoch)
{
    int n = b->t->n_nodes;
    for (int r = 0; r < shi_plan_rounds(SHI_PLAN_GATHER, n); r++) {
        struct shi_round x = shi_plan_round(SHI_PLAN_GATHER, n, b->me, r);
        int end = x.send.first + x.send.n;
        if (x.to) {
            put_blocks(b, x.send.first, end < n ? end : n, x.to);
            put_blocks(b, 0, end > n ? end - n : 0, x.to);
            shi_team_notify(b->t, agent_at(b, x.to), epoch);
        }
        if (b->me)
            shi_team_wait_notify(b->t, agent_at(b, x.from), epoch);
    }
}

static void broadcast_nodes(struct shmem_team *t, const struct chunk *g, void *dest, const void *source, int root)
{
    int n = t->n_nodes, root_node = 0;
    while (t->position[root] - t->local_rank[root] != t->node[root_node].member - t->members)
        root_node++;
    struct between b = {t, dest, source, g->bytes, g->bytes, root, root_node, (t->my_node - root_node + n) % n, g->epoch - 1};
    if (shi_coll_choose(t, SHI_COLL_BROADCAST, g->bytes, 0) == SHI_BY_TREE) {
        tree_nodes(&b, SHI_PLAN_TREE);
    } else {
        b.block = shi_round_up((g->bytes + (size_t)n - 1) / (size_t)n, SHI_LINE_BYTES);
        tree_nodes(&b, SHI_PLAN_SCATTER);
        spread_nodes(&b, g->epoch);
    }
}

void shi_coll_broadcast(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes,
                        int root, int with_root)
{
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, bytes);
    shi_coll_check(routine, t, SHI_READ, "source", source, bytes);
    if (root < 0 || root >= t->n)
        shi_die(routine, "PE_root = %d: not a PE of the team, which has PEs 0 to %d", root, t->n - 1);
    if (dest != source)
        check_apart(routine, dest, bytes, source, bytes);
    SHI_AGREE(routine, t, {"PE_root", root}, {"bytes", (int64_t)bytes});
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, t->me == root ? bytes : 0);
    struct chunk g = {.dest = dest, .source = source, .bytes = bytes, .sender = root};
    if (!with_root)
        begin_over_set(routine, t, &g);
    g.epoch = t->epoch += 2;
    if (bytes == 0)
        return;
    if (t->peer[root].remote) {
        g.sender = t->node[t->my_node].member[0];
        g.source = dest;
    }
    if (t->me != g.sender) {
        pull_chunk(t, &g);
        return;
    }
    if (t->n_nodes > 1)
        broadcast_nodes(t, &g, dest, source, root);
    g.own = with_root && t->me == root ? dest : NULL;
    push_node(t, &g);
    shi_coll_local(t);
}

/* ---- all to all -------------------------------------------------------------------------------------------------- */

/* The members' blocks in dest: member i's from at[i] to at[i + 1], or all of `each` bytes. */
struct layout {
    const size_t *at;
    size_t each;
};

static size_t start_of(const struct layout *l, int i)
{
    return l->at ? l->at[i] : l->each * (size_t)i;
}

/* Store my block into every member's dest, notify all members, wait for all. */
static void store_everywhere(struct shmem_team *t, void *dest, const void *source, const struct layout *l)
{
    uint64_t epoch = ++t->epoch;
    size_t off = start_of(l, t->me), bytes = start_of(l, t->me + 1) - off, of = shi_bytes(start_of(l, t->n), (size_t)t->n + 1);
    for (int k = 0; k < t->n && bytes; k++) {
        int i = t->me + k < t->n ? t->me + k : t->me + k - t->n;
        copy_part(shi_coll_at(t, (char *)dest + off, i), source, bytes, of);
    }
    shi_team_notify_and_wait(t, epoch);
}

/* The gather between the nodes' firsts, in the first's dest. */
struct gather {
    char *dest;
    const struct layout *l;
};

/* Put the blocks of the members of node k; neighbours in one transfer. */
static void put_node(const struct shmem_team *t, const struct gather *g, int k, int to)
{
    const struct shi_node *node = &t->node[k];
    for (int first = 0, last; first < node->n; first = last) {
        last = first + 1;
        while (last < node->n && node->member[last] == node->member[last - 1] + 1)
            last++;
        size_t at = start_of(g->l, node->member[first]), end = start_of(g->l, node->member[last - 1] + 1);
        shi_coll_put(t, g->dest + at, g->dest + at, end - at, to);
    }
}

/* Where the members are sorted by node, a run of nodes is one transfer. */
static void put_nodes(const struct shmem_team *t, const struct gather *g, int first, int last, int to)
{
    if (first < last && t->ordered) {
        const struct shi_node *end = &t->node[last - 1];
        size_t at = start_of(g->l, t->node[first].member[0]), stop = start_of(g->l, end->member[end->n - 1] + 1);
        shi_coll_put(t, g->dest + at, g->dest + at, stop - at, to);
        return;
    }
    for (int k = first; k < last; k++)
        put_node(t, g, k, to);
}

static void send_nodes(struct shmem_team *t, const struct shi_round *x, int r, void *arg)
{
    (void)r;
    int end = x->send.first + x->send.n, to = t->node[x->to].member[0];
    put_nodes(t, arg, x->send.first, end < t->n_nodes ? end : t->n_nodes, to);
    put_nodes(t, arg, 0, end > t->n_nodes ? end - t->n_nodes : 0, to);
}

/* The same with remote members: the members of a node store into the dest of its first, the firsts gather, and the node's
 * members get all from there. */
static void store_nodes(struct shmem_team *t, void *dest, const void *source, const struct layout *l)
{
    const struct shi_node *here = &t->node[t->my_node];
    size_t off = start_of(l, t->me), bytes = start_of(l, t->me + 1) - off, all = start_of(l, t->n);
    uint64_t read = t->epoch += 2, epoch = read - 1;
    int first = here->member[0], pulled = all >= PULL_BYTES;
    struct gather g = {dest, l};
    if (bytes)
        shi_coll_copy(shi_coll_at(t, (char *)dest + off, first), source, bytes);
    if (!shi_team_enter(t, epoch)) {
        if (pulled) {
            shi_coll_copy(dest, shi_coll_at(t, dest, first), all);
            shi_team_notify(t, first, read);
        }
        return;
    }
    shi_team_rounds(t, epoch, &(const struct shi_carry){SHI_PLAN_GATHER, send_nodes, NULL, &g});
    for (int k = 1; k < here->n && !pulled && all; k++)
        shi_coll_copy(shi_coll_at(t, dest, here->member[k]), dest, all);
    shi_team_release(t, epoch);
    for (int k = 1; k < here->n && pulled; k++)
        shi_team_wait_notify(t, here->member[k], read);
    shi_coll_local(t);
}

void shi_coll_fcollect(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes)
{
    shi_coll_check(routine, t, SHI_READ, "source", source, bytes);
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, shi_bytes(bytes, (size_t)t->n));
    check_apart(routine, dest, bytes * (size_t)t->n, source, bytes);
    SHI_AGREE(routine, t, {"bytes", (int64_t)bytes});
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    (t->n_nodes > 1 ? store_nodes : store_everywhere)(t, dest, source, &(struct layout){.each = bytes});
}

/* What the members exchange in a collect: the length of a block, and the block if it is short. */
struct collected {
    size_t bytes;
    char block[INLINE_BYTES];
};

/* Bytes of a record: the blocks of all members together fill one record of the stream, so that a large team does not pay for short ones. */
static size_t record_of(const struct shmem_team *t)
{
    size_t most = t->n_nodes > 1 ? sizeof(struct collected) : SHI_EXCHANGE_BYTES, block = SHI_EXCHANGE_TOTAL_BYTES / (size_t)t->n / 16 * 16;
    if (!block)
        return sizeof(size_t);
    return block + 16 < most ? block + 16 : most;
}

/* All blocks are in the records of the exchange. */
static void copy_records(const struct shmem_team *t, void *dest, const size_t *at)
{
    char all[2 * SHI_EXCHANGE_TOTAL_BYTES];
    for (int i = 0; i < t->n; i++)
        memcpy(all + at[i], ((const struct collected *)shi_team_buffer(t, t->me, i))->block, at[i + 1] - at[i]);
    shi_coll_copy(dest, all, at[t->n]);
}

void shi_coll_collect(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes)
{
    shi_coll_check(routine, t, SHI_READ, "source", source, bytes);
    SHI_AGREE(routine, t, {0});
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    size_t *at = malloc(((size_t)t->n + 1) * sizeof *at), record = record_of(t), most = 0;
    struct collected mine;
    if (!at)
        shi_die(routine, "out of memory for the lengths of %d PEs", t->n);
    memset(&mine, 0, record);
    mine.bytes = bytes;
    if (bytes <= record - sizeof mine.bytes)
        shi_coll_copy(mine.block, source, bytes);
    shi_team_exchange(t, &mine, record);
    at[0] = 0;
    for (int i = 0; i < t->n; i++) {
        size_t length = ((const struct collected *)shi_team_buffer(t, t->me, i))->bytes;
        most = length > most ? length : most;
        at[i + 1] = at[i] + length;
    }
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, at[t->n]);
    check_apart(routine, dest, at[t->n], source, bytes);
    if (most <= record - sizeof mine.bytes)
        copy_records(t, dest, at);
    else
        (t->n_nodes > 1 ? store_nodes : store_everywhere)(t, dest, source, &(struct layout){.at = at});
    free(at);
}

enum { STEPS_AHEAD = 8 };

/* No member is more than some steps ahead of those that send to it, so that none is flooded. Member me - k sends in step k. */
static void keep_step(const struct shmem_team *t, int k, uint64_t epoch)
{
    if (k > STEPS_AHEAD)
        shi_team_wait_notify(t, (t->me - (k - STEPS_AHEAD) + t->n) % t->n, epoch);
}

static void wait_last(const struct shmem_team *t, uint64_t epoch)
{
    for (int k = t->n > STEPS_AHEAD ? t->n - STEPS_AHEAD : 1; k < t->n; k++)
        shi_team_wait_notify(t, (t->me - k + t->n) % t->n, epoch);
}

/* Carry out an alltoall by a schedule between nodes. 0: the rules choose none for it. */
static int between_nodes(struct shmem_team *t, const struct shi_all_to_all *a)
{
    if (t->n_nodes == 1)
        return 0;
    unsigned without = (shi_coll_index_fits(t, a) ? 0 : 1 << SHI_BY_INDEX) |
                       (shi_coll_by_nodes_fits(t, a) ? 0 : 1 << SHI_BY_NODES);
    enum shi_algorithm way = shi_coll_choose(t, SHI_COLL_ALLTOALL, a->nelems * a->elem, without);
    if (way == SHI_BY_INDEX)
        shi_coll_index(t, a);
    else if (way == SHI_BY_NODES)
        shi_coll_by_nodes(t, a);
    return way != SHI_BY_PAIRWISE;
}

void shi_coll_alltoall(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes)
{
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, shi_bytes(bytes, t ? (size_t)t->n : 0));
    shi_coll_check(routine, t, SHI_READ, "source", source, shi_bytes(bytes, (size_t)t->n));
    check_apart(routine, dest, bytes * (size_t)t->n, source, bytes * (size_t)t->n);
    SHI_AGREE(routine, t, {"bytes", (int64_t)bytes});
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    if (between_nodes(t, &(const struct shi_all_to_all){dest, source, 1, 1, bytes, 1}))
        return;
    uint64_t epoch = ++t->epoch;
    size_t of = shi_bytes(2 * bytes * (size_t)t->n, (size_t)t->node[t->my_node].n);
    for (int k = 1; k < t->n; k++) {
        int i = t->me + k < t->n ? t->me + k : t->me + k - t->n;
        put_part(t, (char *)dest + bytes * (size_t)t->me, (const char *)source + bytes * (size_t)i, bytes, i, of);
        shi_team_notify(t, i, epoch);
        keep_step(t, k, epoch);
    }
    if (bytes)
        copy_part((char *)dest + bytes * (size_t)t->me, (const char *)source + bytes * (size_t)t->me, bytes, of);
    wait_last(t, epoch);
    shi_coll_local(t);
}

static void put_strided(const struct shmem_team *t, char *dest, const char *source, const struct shi_strided *s, int pe)
{
    if (!t->peer[pe].remote) {
        shi_dheap_copy_strided("collective", shi_coll_at(t, dest, pe), source, s);
    } else {
        struct shi_remote_addr to = remote_addr(t, dest, ((s->count - 1) * (size_t)s->dst + 1) * s->elem, pe);
        shi_remote_put_strided(shi_world.lane, &to, source, s);
    }
}

/* 1: the elements of source lie in the gaps of dest. */
static int interleaved(const void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t elem)
{
    size_t every = (size_t)dst * elem, gap = ((uintptr_t)source - (uintptr_t)dest) % (every ? every : 1);
    return dst == sst && gap >= elem && gap <= every - elem;
}

void shi_coll_alltoalls(const char *routine, struct shmem_team *t, void *dest, const void *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t nelems, size_t elem)
{
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, 0);
    if (nelems && (dst < 1 || sst < 1))
        shi_die(routine, "strides dst = %td and sst = %td must be at least 1", dst, sst);
    size_t last = nelems ? shi_bytes(nelems, (size_t)t->n) - 1 : 0;
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, nelems ? shi_bytes(shi_bytes(last, (size_t)dst) + 1, elem) : 0);
    shi_coll_check(routine, t, SHI_READ, "source", source, nelems ? shi_bytes(shi_bytes(last, (size_t)sst) + 1, elem) : 0);
    if (!interleaved(dest, source, dst, sst, elem))
        check_apart(routine, dest, nelems ? (last * (size_t)dst + 1) * elem : 0, source,
                    nelems ? (last * (size_t)sst + 1) * elem : 0);
    SHI_AGREE(routine, t, {"nelems", (int64_t)nelems}, {"dst", dst}, {"sst", sst}, {"bytes an element", (int64_t)elem});
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, nelems * elem);
    if (between_nodes(t, &(const struct shi_all_to_all){dest, source, dst, sst, nelems, elem}))
        return;
    uint64_t epoch = ++t->epoch;
    size_t to_me = nelems * elem * (size_t)t->me * (size_t)dst, from_him = nelems * elem * (size_t)sst;
    const struct shi_strided s = {dst, sst, 1, nelems, elem};
    for (int k = 1; k <= t->n; k++) {
        int i = (t->me + k) % t->n;
        if (nelems)
            put_strided(t, (char *)dest + to_me, (const char *)source + from_him * (size_t)i, &s, i);
        if (i == t->me)
            break;
        shi_team_notify(t, i, epoch);
        keep_step(t, k, epoch);
    }
    wait_last(t, epoch);
    shi_coll_local(t);
}
