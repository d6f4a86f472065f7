/* broadcast.c - broadcasts of a team. */
#include "host/coll/coll.h"

#include <stdint.h>
#include <string.h>

#include "host/coll/agree.h"
#include "host/ops/span.h"
#include "host/util/log.h"

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
    int pulled = shi_schedule_pulls(g->bytes);
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
    if (shi_schedule_pulls(g->bytes)) {
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
    shi_coll_check_both(routine, t, dest, bytes, source, bytes);
    shi_coll_check_root(routine, t, root);
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
