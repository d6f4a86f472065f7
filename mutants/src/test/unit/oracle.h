/*
 * oracle.h - stream.c's record of the operations that its PEs have started, and the checks of the order in which they
 * land.
 *
 * Each lane of each PE writes to its own area on every other PE, so that the oracle detects in memory whether an
 * operation is in place: slots hold one value at a time, counting words only grow.
 */
#ifndef TEST_UNIT_ORACLE_H
#define TEST_UNIT_ORACLE_H

#include "fabric.h"

enum { SLOTS = 10, WORDS = 64, MOST = 48, FETCHES = 24, WATCHES = 8, FROM = 512 };

/* The memory of a PE that the lanes of another PE write. Slots hold one value at a time, counting words only grow. */
struct area {
    uint64_t slot[SLOTS][WORDS];
    uint64_t count, fetched, signal;
};

static struct memory {
    struct area area[PES][LANES];
    uint64_t sync[PES][LANES];
    uint64_t pattern[FROM];
} memory[PES];

/* An operation that was not in place at the last check. */
struct pending {
    const uint64_t *first, *last;
    uint64_t value;
    long index, epoch;
    enum { SLOT, COUNT, SIGNAL, SYNC } kind;
    long data; /* SIGNAL: index of the operation that it must not precede */
    int slot, pulled;
};

/* A put through chunks: no operation yet. */
struct staged_put {
    struct shi_transfer transfer;
    int used, pe, lane, to, n;
    struct shi_remote_addr there;
    uint64_t *at;
};

/* From a lane to a PE. */
struct flow {
    struct pending pending[MOST + SLOTS];
    struct staged_put staged[SLOTS];
    int n;
    long index;
    uint64_t counted, fetched, signalled, synced;
    unsigned char busy[SLOTS];
    uint64_t source[SLOTS][WORDS];
};

/* Fetched data, which arrives by a reply, a read or chunks. */
struct fetch {
    struct shi_transfer transfer;
    struct shi_remote_addr there;
    int lane;
    union {
        struct shi_reply reply;
        struct shi_net_req req;
    };
    enum { NO, ANSWERED, ALONE } used; /* ANSWERED: completes by a callback; ALONE: by quiet */
    uint64_t got[WORDS], want[WORDS];
    int n, of;
    uint64_t number;
};

/* A quiet that has begun: what it waits for. */
struct quiet {
    uint64_t wait, fetches;
    long index[PES];
};

struct watch {
    struct shi_after after;
    int used, pe, lane, to;
    long index;
};

static struct flow flows[PES][LANES + 1][PES]; /* the last lane is beside the first: its flow stays empty */
static struct fetch fetches[PES][LANES][FETCHES];
static struct watch watches[WATCHES];
static struct quiet quiets[PES][LANES][PES + 1]; /* of one PE, or of all */
static uint64_t n_fetches;
static long epoch[PES][LANES];
static int in_session[PES][LANES];
static uint64_t sent[PES][PES], came[PES][PES]; /* active messages */
static uint64_t values;
static long n_operations;

static int in_place(const struct pending *p)
{
    uint64_t a = *p->first, b = *p->last;
    return p->kind == SLOT ? a == p->value && b == p->value : a >= p->value;
}

/* x is in place, y is not: may that be? */
static int may_precede(const struct pending *x, const struct pending *y)
{
    if (x->kind == SYNC)
        return y->index > x->index;
    if (x->kind == SIGNAL && y->index == x->data)
        return 0;
    return y->kind == SYNC || y->epoch >= x->epoch;
}

static void fabric_landed(int from, int lane, int to)
{
    struct flow *f = &flows[from][lane][to];
    int left = 0;
    for (int i = 0; i < f->n; i++)
        for (int k = 0; in_place(&f->pending[i]) && k < f->n; k++)
            CHECKF(may_precede(&f->pending[i], &f->pending[k]) || in_place(&f->pending[k]),
                   "PE %d lane %d to PE %d: operation %ld (epoch %ld, kind %d) is in place, %ld (epoch %ld, kind %d) is not",
                   from, lane, to, f->pending[i].index, f->pending[i].epoch, f->pending[i].kind, f->pending[k].index,
                   f->pending[k].epoch, f->pending[k].kind);
    for (int i = 0; i < f->n; i++) {
        if (!in_place(&f->pending[i]))
            f->pending[left++] = f->pending[i];
        else if (f->pending[i].kind == SLOT)
            f->busy[f->pending[i].slot] = 0;
    }
    f->n = left;
}

static int on_devices; /* words, and some data, are in memory that only devices access: those of lane 1 */

static uint64_t *fabric_word(int pe)
{
    struct area *a = &memory[pe].area[fabric_below(PES)][1];
    unsigned which = fabric_below(3);
    return !on_devices ? NULL : which == 0 ? &a->count : which == 1 ? &a->fetched : &a->signal;
}

/* Is all up to the operation `index` in place? */
static void must_be_there(const char *says, int from, int lane, int to, long index)
{
    const struct flow *f = &flows[from][lane][to];
    for (int i = 0; i < f->n; i++)
        CHECKF(f->pending[i].kind == SYNC || f->pending[i].index > index || in_place(&f->pending[i]),
               "%s: PE %d lane %d to PE %d: operation %ld of %ld, kind %d, is not in place", says, from, lane, to,
               f->pending[i].index, index, f->pending[i].kind);
}

static void must_have_come(const char *says, int pe, int lane, int of, uint64_t most)
{
    for (int i = 0; i < FETCHES; i++) {
        struct fetch *f = &fetches[pe][lane][i];
        if (f->used != ALONE || (of >= 0 && f->of != of) || f->number > most)
            continue;
        CHECKF(memcmp(f->got, f->want, (size_t)f->n * sizeof *f->got) == 0, "%s: PE %d lane %d lacks its words", says,
               pe, lane);
        f->used = NO;
    }
}

static struct pending *expect_in_place(struct flow *f, int pe, int lane, uint64_t *at, uint64_t value)
{
    struct pending *p = &f->pending[f->n++];
    n_operations++;
    *p = (struct pending){.first = at, .last = at, .value = value, .index = ++f->index, .epoch = epoch[pe][lane],
                          .kind = COUNT};
    return p;
}

#endif
