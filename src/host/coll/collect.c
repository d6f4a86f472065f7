/* collect.c - collects and fcollects of a team. */
#include "host/coll/coll.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/coll/agree.h"
#include "host/ops/rma.h"
#include "host/ops/span.h"
#include "host/policy/limits.h"
#include "host/util/log.h"

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
        shi_coll_copy_part(shi_coll_at(t, (char *)dest + off, i), source, bytes, of);
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
    int first = here->member[0], pulled = shi_schedule_pulls(all);
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
    shi_coll_check_apart(routine, dest, bytes * (size_t)t->n, source, bytes);
    SHI_AGREE(routine, t, {"bytes", (int64_t)bytes});
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    (t->n_nodes > 1 ? store_nodes : store_everywhere)(t, dest, source, &(struct layout){.each = bytes});
}

/* What the members exchange in a collect: the length of a block, and the block if it is short. */
struct collected {
    size_t bytes;
    char block[SHI_INLINE_BYTES];
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
    if (shi_unlikely(shi_team_failed(t))) { /* the lengths are not valid */
        free(at);
        return;
    }
    at[0] = 0;
    for (int i = 0; i < t->n; i++) {
        size_t length = ((const struct collected *)shi_team_buffer(t, t->me, i))->bytes;
        most = length > most ? length : most;
        at[i + 1] = at[i] + length;
    }
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, at[t->n]);
    shi_coll_check_apart(routine, dest, at[t->n], source, bytes);
    if (most <= record - sizeof mine.bytes)
        copy_records(t, dest, at);
    else
        (t->n_nodes > 1 ? store_nodes : store_everywhere)(t, dest, source, &(struct layout){.at = at});
    free(at);
}
