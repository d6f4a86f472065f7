/*
 * soak_coll.c - teams, collectives, locks and the heap in the soak test; only thread 0 runs them.
 *
 * Up to TEAMS random teams exist at a time, split from the world or from each other and destroyed again; each PE keeps
 * the members of all of them. Each team has its own buffers.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"

enum { TEAMS = 4, MOST = 24 << 10, LOCKS = 3, BEHIND = 48 << 10 };

static struct team {
    shmem_team_t handle;
    int live, n, pe[MAX_PES]; /* members, as world PEs */
    char *source, *dest;      /* symmetric: MOST and n * MOST bytes */
} team[TEAMS];
static char *want;

static long *lock;
static uint64_t *guarded, guarded_due[LOCKS]; /* number of acquisitions of each lock */
static char *behind; /* LOCKS * BEHIND: the block of the last holder */

/* The block that the nth holder of a lock puts. */
static const char *put_by(uint64_t nth)
{
    return soak.pattern[0] + nth % 1000 * 64;
}

void soak_coll_up(struct worker *w)
{
    (void)w;
    for (int i = 0; i < TEAMS; i++) {
        team[i].source = shmem_calloc(2, MOST);
        team[i].dest = shmem_malloc(((size_t)soak.n + 1) * 2 * MOST);
        memset(team[i].dest, 0x5a, ((size_t)soak.n + 1) * 2 * MOST);
    }
    want = malloc(((size_t)soak.n + 1) * 2 * MOST);
    lock = shmem_calloc(LOCKS, sizeof *lock);
    guarded = shmem_calloc(LOCKS, sizeof *guarded);
    behind = shmem_malloc(LOCKS * BEHIND);
    for (int i = 0; i < LOCKS; i++)
        memcpy(behind + i * BEHIND, put_by(0), BEHIND);
}

/* ---- teams ---------------------------------------------------------------------------------------------------------- */

static int rank_in(const struct team *t, int pe)
{
    for (int i = 0; i < t->n; i++)
        if (t->pe[i] == pe)
            return i;
    return -1;
}

/* Create team t from every stride-th member of the parent. */
static void make(struct worker *w, struct team *t, const struct team *parent, struct dice *d)
{
    int start = (int)roll(d, (size_t)parent->n), stride = 1 + (int)roll(d, 2);
    int size = 1 + (int)roll(d, (size_t)((parent->n - 1 - start) / stride + 1));
    t->live = 1;
    t->n = 0;
    t->handle = SHMEM_TEAM_INVALID;
    for (int i = 0; i < size; i++)
        t->pe[t->n++] = parent->pe[start + i * stride];
    if (rank_in(parent, soak.me) < 0)
        return;
    int rc = shmem_team_split_strided(parent->handle, start, stride, size, NULL, 0, &t->handle);
    if (rc || shmem_team_my_pe(t->handle) != rank_in(t, soak.me) ||
        (rank_in(t, soak.me) >= 0 && shmem_team_n_pes(t->handle) != size))
        soak_fail(w, "a split of %d PEs from %d by %d, %d of them, gave %d and PE %d", parent->n, start, stride, size, rc,
                  shmem_team_my_pe(t->handle));
    w->ops++;
}

static void change_teams(struct worker *w)
{
    struct dice d = dice(ROLL_TEAM, 0, 0, 0);
    struct team world = {.handle = SHMEM_TEAM_WORLD, .live = 1, .n = soak.n}, *t = &team[roll(&d, TEAMS)];
    struct team *parent = &team[roll(&d, TEAMS)];
    for (int pe = 0; pe < soak.n; pe++)
        world.pe[pe] = pe;
    if (t->live) {
        if (t->handle != SHMEM_TEAM_INVALID)
            shmem_team_destroy(t->handle);
        t->live = 0;
    } else {
        make(w, t, parent->live && roll(&d, 2) ? parent : &world, &d);
    }
}

/* ---- collectives ---------------------------------------------------------------------------------------------------- */

enum { BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, BYTES, SUM_LONG = BYTES, MAX_INT, XOR_UINT64, PROD_DOUBLE, MIN_SHORT,
       INSCAN, EXSCAN, SYNC, KINDS };

struct coll {
    int kind, root;
    size_t n;      /* elements, or bytes */
    uint64_t salt;
    int in_place, sync; /* sync: a team sync comes before */
};

/* Element i of PE pe's (world number) source: small enough for exact sums and products. */
static uint64_t element(const struct coll *c, int pe, size_t i)
{
    uint64_t v = mix(c->salt ^ mix((uint64_t)pe << 32 | i));
    return c->kind == PROD_DOUBLE ? v % 3 : c->kind == XOR_UINT64 ? v : v % 30000;
}

static size_t bytes_of(const struct coll *c, const struct team *t, int pe)
{
    (void)t;
    return c->kind == COLLECT ? c->n * (mix(c->salt + (uint64_t)pe) % 4) / 3 : c->n; /* collect: the lengths differ */
}

static const char *given(const struct coll *c, int pe)
{
    return soak.pattern[pe] + c->salt % (PATTERN_BYTES - MAX_PES * MOST);
}

/* Compute the result of a byte-wise collective at `rank`; return its length. */
static size_t expect_bytes(const struct team *t, const struct coll *c, int rank)
{
    size_t at = 0;
    for (int i = 0; i < t->n; i++) {
        int pe = t->pe[i];
        size_t n = bytes_of(c, t, pe);
        if (c->kind == COLLECT || c->kind == FCOLLECT)
            memcpy(want + at, given(c, pe), n);
        else if (c->kind == ALLTOALL)
            memcpy(want + at, given(c, pe) + (size_t)rank * n, n);
        else if (c->kind == ALLTOALLS) /* bytes; destination stride 2, source stride 3 */
            for (size_t k = 0; k < n; k++)
                want[((size_t)i * n + k) * 2] = given(c, pe)[((size_t)rank * n + k) * 3];
        at += n;
    }
    if (c->kind == BROADCAST) {
        memcpy(want, given(c, t->pe[c->root]), c->n);
        return c->n;
    }
    return c->kind == ALLTOALLS ? 2 * at : at;
}

static void do_bytes(const struct team *t, const struct coll *c)
{
    shmem_team_t h = t->handle;
    size_t mine = c->kind == ALLTOALL ? c->n * (size_t)t->n : c->kind == ALLTOALLS ? 3 * c->n * (size_t)t->n : c->n;
    memcpy(t->source, given(c, soak.me), mine);
    memset(want, 0x5a, (size_t)t->n * 2 * MOST);
    if (c->sync)
        shmem_team_sync(h);
    switch (c->kind) {
    case BROADCAST: shmem_broadcastmem(h, t->dest, t->source, c->n, c->root); break;
    case COLLECT: shmem_collectmem(h, t->dest, t->source, bytes_of(c, t, soak.me)); break;
    case FCOLLECT: shmem_fcollectmem(h, t->dest, t->source, c->n); break;
    case ALLTOALL: shmem_alltoallmem(h, t->dest, t->source, c->n); break;
    default: shmem_alltoallsmem(h, t->dest, t->source, 2, 3, c->n);
    }
    memset(t->source, 0x33, mine); /* the source may be overwritten as soon as the call returns */
}

#define REDUCE(N, T, CALL, START, STEP)                                                                              \
    {                                                                                                                \
        T *source = (T *)t->source, *dest = c->in_place ? source : (T *)t->dest, *due = (T *)want;                   \
        for (size_t i = 0; i < c->n; i++) {                                                                          \
            source[i] = (T)element(c, soak.me, i);                                                                   \
            T all = START;                                                                                           \
            for (int k = 0; k < t->n; k++) {                                                                         \
                T v = (T)element(c, t->pe[k], i);                                                                    \
                STEP;                                                                                                \
            }                                                                                                        \
            due[i] = all;                                                                                            \
        }                                                                                                            \
        if (c->sync)                                                                                                 \
            shmem_team_sync(t->handle);                                                                              \
        shmem_##N##_##CALL(t->handle, dest, source, c->n);                                                           \
        if (!c->in_place)                                                                                            \
            memset(source, 0x33, c->n * sizeof(T));                                                                  \
        soak_same(w, #N "_" #CALL, c->n, dest, due, c->n * sizeof(T));                                               \
    }                                                                                                                \
    break;

static void do_numbers(struct worker *w, const struct team *t, const struct coll *c, int rank)
{
    switch (c->kind) {
    case SUM_LONG: REDUCE(long, long, sum_reduce, 0, all += v)
    case MAX_INT: REDUCE(int, int, max_reduce, 0, all = all > v ? all : v)
    case XOR_UINT64: REDUCE(uint64, uint64_t, xor_reduce, 0, all ^= v)
    case PROD_DOUBLE: REDUCE(double, double, prod_reduce, 1, all *= v)
    case MIN_SHORT: REDUCE(short, short, min_reduce, 32767, all = all < v ? all : v)
    case INSCAN: REDUCE(long, long, sum_inscan, 0, all += k <= rank ? v : 0)
    case EXSCAN: REDUCE(uint32, uint32_t, sum_exscan, 0, all += k < rank ? v : 0)
    default: shmem_team_sync(t->handle);
    }
}

static void collective(struct worker *w, const struct team *t, int which)
{
    struct dice d = dice(ROLL_COLL, which, 0, 0);
    int rank = rank_in(t, soak.me);
    struct coll c = {(int)roll(&d, KINDS), (int)roll(&d, (size_t)t->n), 0, any(&d), (int)roll(&d, 2), (int)roll(&d, 2)};
    size_t most = c.kind < BYTES ? c.kind >= ALLTOALL ? MOST / (size_t)(2 * t->n) : MOST : MOST / sizeof(long);
    size_t how = roll(&d, 6);
    c.n = how > 1 ? soak_length(&d, most) : how ? 1 + roll(&d, most) : most < 8192 ? most : 8192; /* a chunk's length */
    w->doing = "a collective";
    w->k = (uint64_t)c.kind;
    if (c.kind < BYTES) {
        do_bytes(t, &c);
        size_t n = expect_bytes(t, &c, rank);
        soak_same(w, c.kind == BROADCAST ? "broadcast" : c.kind == COLLECT ? "collect" : c.kind == FCOLLECT ? "fcollect"
                  : c.kind == ALLTOALL ? "alltoall" : "alltoalls", c.n, t->dest, want, n);
    } else {
        do_numbers(w, t, &c, rank);
    }
    memset(t->dest, 0x5a, (size_t)t->n * 2 * MOST); /* a barrier precedes the next collective */
    w->ops++;
}

/* Allocate and free a block: the neighbour's put to it must arrive. */
static void heap(struct worker *w)
{
    struct dice d = dice(ROLL_HEAP, 0, 0, 0);
    if (roll(&d, 8))
        return;
    size_t bytes = soak_length(&d, 1 << 19), from = roll(&d, PATTERN_BYTES - (1 << 19));
    int left = (soak.me + soak.n - 1) % soak.n;
    char *block = roll(&d, 2) ? shmem_malloc(bytes) : shmem_align((size_t)64 << roll(&d, 8), bytes);
    w->doing = "the heap";
    shmem_putmem(block, soak.pattern[soak.me] + from, bytes, (soak.me + 1) % soak.n);
    shmem_barrier_all();
    soak_same(w, "a block of the heap", bytes, block, soak.pattern[left] + from, bytes);
    shmem_free(block);
    w->ops++;
}

void soak_coll(struct worker *w)
{
    struct dice d = dice(ROLL_COLL, 0, 0, 1);
    w->doing = "teams";
    change_teams(w);
    for (int round = 0, rounds = 1 + (int)roll(&d, 3); round < rounds; round++) {
        for (int i = 0; i < TEAMS; i++)
            if (team[i].live && rank_in(&team[i], soak.me) >= 0)
                collective(w, &team[i], round * TEAMS + i);
        shmem_barrier_all();
    }
    heap(w);
}

/* ---- locks ---------------------------------------------------------------------------------------------------------- */

static size_t times(int pe, int which)
{
    struct dice d = dice(ROLL_LOCK, pe, 0, (uint64_t)which);
    return roll(&d, 2) ? 0 : roll(&d, 5);
}

/* Under a lock, add one to a word and put a block at another PE, in several steps; the previous holder's block must be
 * there. */
static void guard(struct worker *w, int which, int tries)
{
    int at = which % soak.n, other = (which + 1) % soak.n;
    char *block = behind + which * BEHIND;
    if (tries)
        while (shmem_test_lock(&lock[which]))
            ;
    else
        shmem_set_lock(&lock[which]);
    uint64_t v = shmem_uint64_g(&guarded[which], at) + 1;
    shmem_getmem(w->in, block, BEHIND, other);
    soak_same(w, "a block protected by a lock", v, w->in, put_by(v - 1), BEHIND);
    shmem_putmem_nbi(block, put_by(v), BEHIND, other);
    if (v % 2)
        shmem_uint64_p(&guarded[which], v, at);
    else
        shmem_putmem_nbi(&guarded[which], &v, sizeof v, at);
    shmem_clear_lock(&lock[which]);
    w->ops++;
}

void soak_lock(struct worker *w)
{
    w->doing = "locks";
    for (int which = 0; which < LOCKS; which++)
        for (size_t n = times(soak.me, which); n-- > 0;)
            guard(w, which, (n + soak.step) % 2);
}

void soak_lock_verify(struct worker *w)
{
    for (int which = 0; which < LOCKS; which++) {
        for (int pe = 0; pe < soak.n; pe++)
            guarded_due[which] += times(pe, which);
        if (which % soak.n == soak.me)
            soak_same(w, "a word protected by a lock", (uint64_t)which, &guarded[which], &guarded_due[which], 8);
    }
}
