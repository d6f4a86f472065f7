/*
 * nodes.c - exchanges of short records: in the members' slots, or gathered by the nodes' firsts.
 *
 * Gathered: the members of a node store into the slot of its first, the firsts run the rounds of a plan, then the others read
 * what the first has. So a node sends ceil(log2 nodes) messages, and only the slots of firsts hold records.
 */
#include <string.h>

#include "host/coll/team.h"
#include "host/net/stream/stream.h"

void shi_team_carry(const struct shmem_team *t, int to, const char *mine, const void *from, size_t bytes)
{
    for (size_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < SHI_STREAM_PUT_BYTES ? bytes - at : SHI_STREAM_PUT_BYTES;
        shi_team_store_remote(t, to, mine + at, (const char *)from + at, n, 1);
    }
}

/* Blocks of nodes in this PE's slot: of `each` bytes, or with each 0 the records of a node's members. */
struct blocks {
    char *base;
    size_t each;
};

static char *block_start(const struct shmem_team *t, const struct blocks *b, int node)
{
    size_t before = node < t->n_nodes ? (size_t)(t->node[node].member - t->members) : (size_t)t->n;
    return b->base + (b->each ? b->each * (size_t)node : t->record_stride * before);
}

/* A run of nodes' blocks is one range of memory, or two where it passes the last node. */
static void send_blocks(struct shmem_team *t, const struct shi_round *x, int r, void *arg)
{
    (void)r;
    int to = t->node[x->to].member[0], first = x->send.first, end = first + x->send.n, last = end < t->n_nodes ? end : t->n_nodes;
    char *at = block_start(t, arg, first);
    shi_team_carry(t, to, at, at, (size_t)(block_start(t, arg, last) - at));
    if (end > last) {
        at = block_start(t, arg, 0);
        shi_team_carry(t, to, at, at, (size_t)(block_start(t, arg, end - last) - at));
    }
}

/* Between the firsts: node k's block, of `each` bytes from base + k * each in this PE's slot, to all. */
static void gather_nodes(struct shmem_team *t, uint64_t epoch, char *base, size_t each)
{
    struct blocks b = {base, each};
    shi_team_rounds(t, epoch, &(const struct shi_carry){SHI_PLAN_GATHER, send_blocks, NULL, &b});
}

/* The next member first, so that not all write to the same one at once. */
static void exchange_direct(struct shmem_team *t, const void *data, size_t bytes, uint64_t epoch)
{
    memcpy(shi_team_buffer(t, t->me, t->me), data, bytes);
    for (int k = 1; k < t->n; k++) {
        int to = t->me + k < t->n ? t->me + k : t->me + k - t->n;
        memcpy(shi_team_buffer(t, to, t->me), data, bytes);
        shi_team_notify(t, to, epoch);
    }
    for (int i = 0; i < t->n; i++)
        if (i != t->me)
            shi_team_wait_notify(t, i, epoch);
}

void shi_team_exchange(struct shmem_team *t, const void *data, size_t bytes)
{
    uint64_t epoch = ++t->epoch;
    t->exchanges++;
    if (!t->gathered) {
        exchange_direct(t, data, bytes, epoch);
        return;
    }
    t->record_stride = shi_round_up(bytes, 16);
    memcpy(shi_team_buffer(t, t->me, t->me), data, bytes);
    if (shi_team_enter(t, epoch)) {
        gather_nodes(t, epoch, shi_team_records(t, t->me), 0);
        shi_team_release(t, epoch);
    }
}

struct merge {
    void (*merge)(void *to, const void *from);
    void *record;
    size_t bytes;
};

static char *landing(const struct shmem_team *t, int r)
{
    return shi_team_half(t, t->me) + r * SHI_EXCHANGE_BYTES;
}

static void send_record(struct shmem_team *t, const struct shi_round *x, int r, void *arg)
{
    const struct merge *m = arg;
    shi_team_carry(t, t->node[x->to].member[0], landing(t, r), m->record, m->bytes);
}

static void take_record(struct shmem_team *t, const struct shi_round *x, int r, void *arg)
{
    (void)x;
    const struct merge *m = arg;
    m->merge(m->record, landing(t, r));
}

static void merge_gathered(struct shmem_team *t, struct merge *m)
{
    const struct shi_node *here = &t->node[t->my_node];
    uint64_t epoch = ++t->epoch;
    t->exchanges++;
    t->record_stride = SHI_EXCHANGE_BYTES;
    memcpy(shi_team_buffer(t, t->me, t->me), m->record, m->bytes);
    if (shi_team_enter(t, epoch)) {
        for (int k = 1; k < here->n; k++)
            m->merge(m->record, shi_team_buffer(t, t->me, here->member[k]));
        shi_team_rounds(t, epoch, &(const struct shi_carry){SHI_PLAN_MERGE, send_record, take_record, m});
        memcpy(shi_team_buffer(t, t->me, t->me), m->record, m->bytes);
        shi_team_release(t, epoch);
    } else {
        memcpy(m->record, shi_team_buffer(t, t->me, here->member[0]), m->bytes);
    }
}

void shi_team_merge(struct shmem_team *t, void *record, size_t bytes, void (*merge)(void *to, const void *from))
{
    if (t->gathered) {
        merge_gathered(t, &(struct merge){merge, record, bytes});
        return;
    }
    shi_team_exchange(t, record, bytes);
    for (int i = 0; i < t->n; i++)
        if (i != t->me)
            merge(record, shi_team_buffer(t, t->me, i));
}

static void and_int(void *to, const void *from)
{
    *(int *)to &= *(const int *)from;
}

int shi_team_all(const char *routine, struct shmem_team *t, int holds)
{
    t->routine = routine;
    shi_team_merge(t, &holds, sizeof holds, and_int);
    return holds;
}
