/*
 * by_nodes.c - alltoalls of a team with several PEs on its nodes: the members of a node share the other nodes among themselves.
 *
 * Member (k mod its members) of a node handles node k. It gathers what its node's members send to those of node k from their sources,
 * and sends it
 * - short: in one message, to the exchange buffer of the member of node k that handles this node, which scatters it into the
 *   dests of its node's members;
 * - longer: in one message for each member of node k, straight into its dest, where the blocks of this node's members lie side by side.
 * A pairwise alltoall sends a message from each member to each. Blocks within a node are copied straight into dest.
 *
 *   word       written by                        read by                 order
 *   from[i]    handler i of another node         short: the handler of   R4 -> A4 (team.h): the message of i is in its place, or dest
 *                                                its node; longer: every
 *                                                member
 *   place      handler of another node           handler of its node     plain, before R4, after A4
 *   source     member                            handlers of its node    plain, before the node's first barrier, after it
 *   source     program, after the call           handlers of its node    they read it before the node's second barrier
 *   dest       members and handlers of the node  member                  plain, before a barrier of the node, after it
 *
 * Each handler waits for something from each node that it handles, and a node's members for all its handlers. So no member
 * leaves before all have entered, as exchanges demand that take the two halves of the buffers in turn: the places are free.
 */
#include "host/coll/coll.h"

#include <stdlib.h>

#include "host/net/stream/stream.h"
#include "host/ops/dheap.h"
#include "host/policy/limits.h"
#include "host/util/log.h"

/* From one node's members to another's: for each receiver in the order of its node, what each sender in the order of theirs
 * sends to it. */
struct message {
    const struct shi_node *from, *to;
    size_t part, bytes;
};

static struct message message(const struct shmem_team *t, const struct shi_all_to_all *a, int from, int to)
{
    const struct shi_node *f = &t->node[from], *r = &t->node[to];
    size_t part = a->nelems * a->elem;
    return (struct message){f, r, part, part * (size_t)f->n * (size_t)r->n};
}

/* The member of a node that handles another node. */
static int handler(const struct shmem_team *t, int node, int other)
{
    return t->node[node].member[other % t->node[node].n];
}

static size_t place_bytes(const struct shmem_team *t, int members)
{
    return shi_coll_place_bytes(shi_world.n_pes, t->n_nodes, members);
}

/* Where the PE of `node` that handles `other` has that node's message, as an address in this PE's slot. */
static char *place(const struct shmem_team *t, int node, int other)
{
    int members = t->node[node].n;
    return shi_team_records(t, t->me) + (size_t)(other / members) * place_bytes(t, members);
}

static int is_short(const struct shmem_team *t, size_t part)
{
    return part <= place_bytes(t, t->least_local) / (size_t)t->most_local / (size_t)t->most_local && part <= SHI_STREAM_PUT_BYTES;
}

int shi_coll_by_nodes_fits(const struct shmem_team *t, const struct shi_all_to_all *a)
{
    return is_short(t, a->nelems * a->elem) || (t->ordered && a->dst == 1);
}

/* Copy the elements that one member sends to another, from and to strides in elements. */
static void copy(const struct shi_all_to_all *a, char *to, ptrdiff_t dst, const char *from, ptrdiff_t sst)
{
    if (dst == 1 && sst == 1)
        shi_coll_copy(to, from, a->nelems * a->elem);
    else if (a->nelems)
        shi_dheap_copy_strided("collective", to, from, &(const struct shi_strided){dst, sst, 1, a->nelems, a->elem});
}

/* Parts first to last - 1 of a message. */
static void gather(const struct shmem_team *t, const struct shi_all_to_all *a, const struct message *m, size_t first, size_t last, char *to)
{
    for (size_t k = first; k < last; k++, to += m->part) {
        int sender = m->from->member[k % (size_t)m->from->n], receiver = m->to->member[k / (size_t)m->from->n];
        const char *source = (const char *)a->source + m->part * (size_t)receiver * (size_t)a->sst;
        copy(a, to, 1, shi_coll_at(t, source, sender), a->sst);
    }
}

static void scatter(const struct shmem_team *t, const struct shi_all_to_all *a, const struct message *m, const char *from)
{
    for (int r = 0; r < m->to->n; r++)
        for (int s = 0; s < m->from->n; s++, from += m->part) {
            char *dest = (char *)a->dest + m->part * (size_t)m->from->member[s] * (size_t)a->dst;
            copy(a, shi_coll_at(t, dest, m->to->member[r]), a->dst, from, 1);
        }
}

/* The short message to a node, whose parts are at most a record each. */
static void send_short(const struct shmem_team *t, const struct shi_all_to_all *a, int other)
{
    const struct message m = message(t, a, t->my_node, other);
    size_t parts = (size_t)m.from->n * (size_t)m.to->n, at_once = m.part ? SHI_STREAM_PUT_BYTES / m.part : parts;
    char record[SHI_STREAM_PUT_BYTES], *to = place(t, other, t->my_node);
    int pe = handler(t, other, t->my_node);
    for (size_t at = 0, n; at < parts && m.part; at += n, to += n * m.part) {
        n = parts - at < at_once ? parts - at : at_once;
        gather(t, a, &m, at, at + n, record);
        shi_team_store_remote(t, pe, to, record, n * m.part, 1);
    }
    shi_team_notify(t, pe, t->epoch); /* R4 */
}

static void take_short(struct shmem_team *t, const struct shi_all_to_all *a, int other)
{
    const struct message m = message(t, a, other, t->my_node);
    shi_team_wait_notify(t, handler(t, other, t->my_node), t->epoch); /* A4 */
    scatter(t, a, &m, place(t, t->my_node, other));
}

/* The messages to all members of a node, built at `buffer`. */
static void send_long(const struct shmem_team *t, const struct shi_all_to_all *a, int other, char *buffer)
{
    const struct message m = message(t, a, t->my_node, other);
    size_t row = m.part * (size_t)m.from->n, senders = (size_t)m.from->n;
    char *dest = (char *)a->dest + m.part * (size_t)m.from->member[0];
    for (int k = 0; k < m.to->n; k++, buffer += row) {
        gather(t, a, &m, senders * (size_t)k, senders * (size_t)(k + 1), buffer);
        shi_coll_put(t, dest, buffer, row, m.to->member[k]);
        shi_team_notify(t, m.to->member[k], t->epoch); /* R4 */
    }
}

/* The next node after `node` that this PE handles, or my_node after the last. They come in the order of their distance above this
 * node, so that not all send to the same one at once. */
static int next_handled(const struct shmem_team *t, int node)
{
    do
        node = node + 1 < t->n_nodes ? node + 1 : 0;
    while (node != t->my_node && handler(t, t->my_node, node) != t->me);
    return node;
}

static void run_short(struct shmem_team *t, const struct shi_all_to_all *a)
{
    for (int k = next_handled(t, t->my_node); k != t->my_node; k = next_handled(t, k))
        send_short(t, a, k);
    for (int k = next_handled(t, t->my_node); k != t->my_node; k = next_handled(t, k))
        take_short(t, a, k);
    shi_team_node_barrier(t); /* the dests of the node are complete, the sources have been read */
}

/* Do not send to a node before the messages have come that were due SHI_STEPS_AHEAD nodes of each member ago, so that none is flooded. Each wait
 * is for a message to a node at a shorter distance. */
static void keep_pace(struct shmem_team *t, int other)
{
    int n = t->n_nodes, distance = (other - t->my_node + n) % n, due = distance - SHI_STEPS_AHEAD * t->node[t->my_node].n;
    if (due > 0)
        shi_team_wait_notify(t, handler(t, (t->my_node - due + n) % n, t->my_node), t->epoch); /* A4 */
}

static void run_long(struct shmem_team *t, const struct shi_all_to_all *a)
{
    size_t bytes = 0;
    for (int k = next_handled(t, t->my_node); k != t->my_node; k = next_handled(t, k))
        bytes += message(t, a, t->my_node, k).bytes;
    char *buffer = bytes ? malloc(bytes) : NULL, *at = buffer;
    if (bytes && !buffer)
        shi_die(t->routine, "out of memory for messages of %zu bytes", bytes);
    for (int k = next_handled(t, t->my_node); k != t->my_node; k = next_handled(t, k)) {
        keep_pace(t, k);
        send_long(t, a, k, at);
        at += message(t, a, t->my_node, k).bytes;
    }
    for (int k = 0; k < t->n_nodes; k++)
        if (k != t->my_node)
            shi_team_wait_notify(t, handler(t, k, t->my_node), t->epoch); /* A4 */
    shi_coll_local(t);
    free(buffer);
    shi_team_node_barrier(t); /* the sources of the node have been read */
}

void shi_coll_by_nodes(struct shmem_team *t, const struct shi_all_to_all *a)
{
    const struct shi_node *here = &t->node[t->my_node];
    size_t part = a->nelems * a->elem;
    t->exchanges++;
    for (int k = 0; k < here->n; k++) {
        char *dest = shi_coll_at(t, (char *)a->dest + part * (size_t)t->me * (size_t)a->dst, here->member[k]);
        copy(a, dest, a->dst, (const char *)a->source + part * (size_t)here->member[k] * (size_t)a->sst, a->sst);
    }
    shi_team_node_barrier(t); /* the sources of the node are ready */
    t->epoch++;
    (is_short(t, part) ? run_short : run_long)(t, a);
}
