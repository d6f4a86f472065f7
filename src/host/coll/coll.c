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

enum { PULL_BYTES = 8192 }; /* from this length on members read a broadcast, all at the same time */

void shi_coll_check(const char *routine, struct shmem_team *t, enum shi_use use, const char *arg, const void *addr,
                    size_t bytes)
{
    shi_need_up(routine);
    if (!t)
        shi_die(routine, "team is SHMEM_TEAM_INVALID");
    t->routine = routine;
    if (bytes && !shi_reach(&shi_world.peer[shi_world.pe], addr, bytes) && !shi_dheap_hides(addr, bytes))
        shi_resolve_slow(routine, SHI_CTX_DEFAULT, use, arg, addr, bytes, shi_world.pe);
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

static struct shi_remote_addr remote_addr(const struct shmem_team *t, const void *addr, size_t bytes, int pe)
{
    struct shi_remote_addr s;
    if (shi_remote_addr_of(&t->peer[pe], SHI_READ, addr, bytes, &s))
        shi_not_symmetric("collective", SHI_READ, "address", addr, bytes, pe);
    return s;
}

void shi_coll_put(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe)
{
    if (!t->peer[pe].remote) {
        shi_coll_copy(shi_coll_at(t, dest, pe), source, bytes);
    } else if (bytes) {
        struct shi_remote_addr to = remote_addr(t, dest, bytes, pe);
        shi_remote_put(shi_world.lane, &to, source, bytes, 1);
    }
}

void shi_coll_get(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe)
{
    const void *at = shi_coll_at(t, source, pe);
    if (at) {
        shi_coll_copy(dest, at, bytes);
    } else if (bytes) {
        struct shi_remote_addr from = remote_addr(t, source, bytes, pe);
        shi_remote_get(shi_world.lane, &from, dest, bytes, 1);
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
    uint64_t epoch;
    void *own; /* of the sender, which copies the data there, too, while the others read; or NULL */
};

static void push_node(struct shmem_team *t, const struct chunk *g)
{
    const struct shi_node *here = &t->node[t->my_node];
    int pulled = g->bytes >= PULL_BYTES;
    for (int k = 0; k < here->n; k++) {
        int i = here->member[k];
        if (i == t->me)
            continue;
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

/* A binomial tree over the nodes' agents, from dest to dest; position 0 is the root's node. */
static void broadcast_nodes(struct shmem_team *t, void *dest, const void *source, size_t bytes, int root, uint64_t epoch)
{
    int n = t->n_nodes, root_node = 0, low = 1;
    for (int k = 0; k < n; k++)
        for (int j = 0; j < t->node[k].n; j++)
            if (t->node[k].member[j] == root)
                root_node = k;
    int me = (t->my_node - root_node + n) % n;
    while (low < n && !(me & low))
        low *= 2;
    if (me)
        shi_team_wait_notify(t, agent_of(t, (me - low + root_node) % n, root_node, root), epoch);
    for (int step = low / 2; step > 0; step /= 2) {
        if (me + step >= n)
            continue;
        int to = agent_of(t, (me + step + root_node) % n, root_node, root);
        shi_coll_put(t, dest, me ? dest : source, bytes, to);
        shi_team_notify(t, to, epoch);
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
    struct chunk g = {.dest = dest, .source = source, .bytes = bytes, .sender = root, .epoch = ++t->epoch};
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
        broadcast_nodes(t, dest, source, bytes, root, g.epoch);
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
    size_t off = start_of(l, t->me), bytes = start_of(l, t->me + 1) - off;
    for (int k = 0; k < t->n && bytes; k++) {
        int i = t->me + k < t->n ? t->me + k : t->me + k - t->n;
        shi_coll_copy(shi_coll_at(t, (char *)dest + off, i), source, bytes);
    }
    shi_team_notify_and_wait(t, epoch);
}

/* The member that receives member i's block over the network for its node. */
static int agent_for(const struct shmem_team *t, int node, int i)
{
    return t->node[node].member[t->local_rank[i] % t->node[node].n];
}

/* Copy the blocks that came over the network to me to the node's other members. */
static void hand_on(struct shmem_team *t, void *dest, const struct layout *l, uint64_t epoch)
{
    const struct shi_node *here = &t->node[t->my_node];
    for (int i = 0; i < t->n; i++) {
        if (!t->peer[i].remote || agent_for(t, t->my_node, i) != t->me)
            continue;
        const char *block = (char *)dest + start_of(l, i);
        shi_team_wait_notify(t, i, epoch);
        for (int k = 0; k < here->n; k++)
            shi_coll_copy(shi_coll_at(t, block, here->member[k]), block, start_of(l, i + 1) - start_of(l, i));
    }
}

/* The same with remote members: a block crosses the network once for each node, to an agent, which copies it to the
 * others. */
static void store_nodes(struct shmem_team *t, void *dest, const void *source, const struct layout *l)
{
    const struct shi_node *here = &t->node[t->my_node];
    uint64_t epoch = t->epoch + 1;
    size_t off = start_of(l, t->me), bytes = start_of(l, t->me + 1) - off;
    t->epoch += 2;
    for (int k = 1; k < t->n_nodes; k++) {
        int to = agent_for(t, (t->my_node + k) % t->n_nodes, t->me);
        shi_coll_put(t, (char *)dest + off, source, bytes, to);
        shi_team_notify(t, to, epoch);
    }
    for (int k = 0; k < here->n; k++)
        shi_coll_copy(shi_coll_at(t, (char *)dest + off, here->member[k]), source, bytes);
    hand_on(t, dest, l, epoch);
    for (int k = 0; k < here->n; k++)
        if (here->member[k] != t->me)
            shi_team_notify(t, here->member[k], t->epoch);
    for (int k = 0; k < here->n; k++)
        if (here->member[k] != t->me)
            shi_team_wait_notify(t, here->member[k], t->epoch);
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

void shi_coll_collect(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes)
{
    shi_coll_check(routine, t, SHI_READ, "source", source, bytes);
    SHI_AGREE(routine, t, {0});
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    size_t *at = malloc(((size_t)t->n + 1) * sizeof *at);
    if (!at)
        shi_die(routine, "out of memory for the lengths of %d PEs", t->n);
    shi_team_exchange(t, &bytes, sizeof bytes);
    at[0] = 0;
    for (int i = 0; i < t->n; i++)
        at[i + 1] = at[i] + *(const size_t *)shi_team_buffer(t, t->me, i);
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, at[t->n]);
    check_apart(routine, dest, at[t->n], source, bytes);
    (t->n_nodes > 1 ? store_nodes : store_everywhere)(t, dest, source, &(struct layout){.at = at});
    free(at);
}

void shi_coll_alltoall(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes)
{
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, shi_bytes(bytes, t ? (size_t)t->n : 0));
    shi_coll_check(routine, t, SHI_READ, "source", source, shi_bytes(bytes, (size_t)t->n));
    check_apart(routine, dest, bytes * (size_t)t->n, source, bytes * (size_t)t->n);
    SHI_AGREE(routine, t, {"bytes", (int64_t)bytes});
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    uint64_t epoch = ++t->epoch;
    for (int k = 0; k < t->n && bytes; k++) {
        int i = t->me + k < t->n ? t->me + k : t->me + k - t->n;
        shi_coll_put(t, (char *)dest + bytes * (size_t)t->me, (const char *)source + bytes * (size_t)i, bytes, i);
    }
    shi_team_notify_and_wait(t, epoch);
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
    uint64_t epoch = ++t->epoch;
    size_t to_me = nelems * elem * (size_t)t->me * (size_t)dst, from_him = nelems * elem * (size_t)sst;
    const struct shi_strided s = {dst, sst, 1, nelems, elem};
    for (int k = 0; k < t->n && nelems; k++) {
        int i = t->me + k < t->n ? t->me + k : t->me + k - t->n;
        put_strided(t, (char *)dest + to_me, (const char *)source + from_him * (size_t)i, &s, i);
    }
    shi_team_notify_and_wait(t, epoch);
    shi_coll_local(t);
}
