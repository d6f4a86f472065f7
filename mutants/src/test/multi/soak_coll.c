/*
 * soak_coll.c - teams, collectives, locks and the heap in the soak test; only thread 0 runs them.
 *
 * Up to TEAMS random teams exist at a time, split from the world or from each other and destroyed again; each PE keeps
 * the members of those that it took part in splitting off. Each team has its own buffers. In a burst the teams' collectives follow each other without
 * a barrier, some over active sets, and each PE is late at random; so a PE can be several calls ahead of another. Each
 * call has a part of the buffers of its own, or two parts take turns where every call waits for all members.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "soak.h"

enum { TEAMS = 4, MOST = 24 << 10, BURST = 16, LOCKS = 3, BEHIND = 48 << 10 };

static struct team {
    shmem_team_t handle;
    int live, n, pe[MAX_PES]; /* members, as world PEs; none where this PE was not in the parent */
    size_t most;              /* bytes of a call */
    char *source, *dest;      /* symmetric: 2 * most and (n + 1) * 2 * most bytes */
} team[TEAMS];
static char *want;
static long psync[BURST][SHMEM_SYNC_SIZE], pwrk[BURST][MOST / 2 / sizeof(long)]; /* active sets: of each call of a burst */

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
        team[i].most = MOST;
    }
    for (int i = 0; i < BURST * SHMEM_SYNC_SIZE; i++)
        psync[i / SHMEM_SYNC_SIZE][i % SHMEM_SYNC_SIZE] = SHMEM_SYNC_VALUE;
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

/* Create team t from the parent's rows or columns: each PE has its own. */
static void make_2d(struct worker *w, struct team *t, const struct team *parent, struct dice *d)
{
    int columns = 1 + (int)roll(d, (size_t)parent->n), by_column = (int)roll(d, 2), rank = rank_in(parent, soak.me);
    shmem_team_t axis[2];
    int rc = shmem_team_split_2d(parent->handle, columns, NULL, 0, &axis[0], NULL, 0, &axis[1]);
    for (int i = 0; i < parent->n; i++)
        if (by_column ? i % columns == rank % columns : i / columns == rank / columns)
            t->pe[t->n++] = parent->pe[i];
    t->handle = axis[by_column];
    shmem_team_destroy(axis[!by_column]);
    if (rc || shmem_team_my_pe(t->handle) != rank_in(t, soak.me) || shmem_team_n_pes(t->handle) != t->n)
        soak_fail(w, "a split of %d PEs into %d columns gave %d, PE %d of %d", parent->n, columns, rc, shmem_team_my_pe(t->handle),
                  shmem_team_n_pes(t->handle));
    w->ops++;
}

/* Create team t from every stride-th member of the parent. */
static void make(struct worker *w, struct team *t, const struct team *parent, struct dice *d)
{
    int start = (int)roll(d, (size_t)parent->n), stride = 1 + (int)roll(d, 2);
    int size = 1 + (int)roll(d, (size_t)((parent->n - 1 - start) / stride + 1));
    for (int i = 0; i < size; i++)
        t->pe[t->n++] = parent->pe[start + i * stride];
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
        parent = parent->live && roll(&d, 2) ? parent : &world;
        t->live = 1;
        t->n = 0;
        t->handle = SHMEM_TEAM_INVALID;
        if (rank_in(parent, soak.me) >= 0)
            (roll(&d, 4) ? make : make_2d)(w, t, parent, &d);
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
    int set, call;      /* set: over the active set of the same PEs, as `call` of its burst */
};

/* Element i of PE pe's (world number) source: small enough for exact sums and products. */
static uint64_t element(const struct coll *c, int pe, size_t i)
{
    uint64_t v = mix(c->salt ^ mix((uint64_t)pe << 32 | i));
    return c->kind == PROD_DOUBLE ? v % 3 : c->kind == XOR_UINT64 ? v : v % 30000;
}

static size_t bytes_of(const struct coll *c, int pe)
{
    size_t n = c->kind == COLLECT ? c->n * (mix(c->salt + (uint64_t)pe) % 4) / 3 : c->n; /* collect: the lengths differ */
    return c->set ? n & ~(size_t)3 : n;
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
        size_t n = bytes_of(c, pe);
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

/* The distance of a team's members in the world as a power of two; -1 where they are no active set. */
static int log_stride(const struct team *t)
{
    int log = 0;
    while (t->n > 1 && 1 << log < t->pe[1] - t->pe[0])
        log++;
    for (int i = 1; i < t->n; i++)
        if (t->pe[i] != t->pe[0] + (i << log))
            return -1;
    return log;
}

/* A byte-wise collective over the active set of a team's members, in words of 4 bytes. */
static void do_set(const struct team *t, const struct coll *c)
{
    size_t words = bytes_of(c, soak.me) / 4;
    int first = t->pe[0], log = log_stride(t);
    long *sync = psync[c->call];
    switch (c->kind) {
    case BROADCAST: shmem_broadcast32(t->dest, t->source, words, c->root, first, log, t->n, sync); break;
    case COLLECT: shmem_collect32(t->dest, t->source, words, first, log, t->n, sync); break;
    case FCOLLECT: shmem_fcollect32(t->dest, t->source, words, first, log, t->n, sync); break;
    default: shmem_alltoall32(t->dest, t->source, words, first, log, t->n, sync);
    }
}

static void do_bytes(const struct team *t, const struct coll *c)
{
    shmem_team_t h = t->handle;
    size_t mine = c->kind == ALLTOALL ? c->n * (size_t)t->n : c->kind == ALLTOALLS ? 3 * c->n * (size_t)t->n : c->n;
    memcpy(t->source, given(c, soak.me), mine);
    memset(want, 0x5a, (size_t)t->n * 2 * t->most);
    if (c->sync)
        shmem_team_sync(h);
    if (c->set) {
        do_set(t, c);
        memset(t->source, 0x33, mine);
        return;
    }
    switch (c->kind) {
    case BROADCAST: shmem_broadcastmem(h, t->dest, t->source, c->n, c->root); break;
    case COLLECT: shmem_collectmem(h, t->dest, t->source, bytes_of(c, soak.me)); break;
    case FCOLLECT: shmem_fcollectmem(h, t->dest, t->source, c->n); break;
    case ALLTOALL: shmem_alltoallmem(h, t->dest, t->source, c->n); break;
    default: shmem_alltoallsmem(h, t->dest, t->source, 2, 3, c->n);
    }
    memset(t->source, 0x33, mine); /* the source may be overwritten as soon as the call returns */
}

#define REDUCE_BY(DO, N, T, CALL, START, STEP)                                                                       \
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
        DO;                                                                                                          \
        if (!c->in_place)                                                                                            \
            memset(source, 0x33, c->n * sizeof(T));                                                                  \
        soak_same(w, #N "_" #CALL, c->n, dest, due, c->n * sizeof(T));                                               \
    }                                                                                                                \
    break;
#define REDUCE(N, T, CALL, START, STEP)                                                                              \
    REDUCE_BY(shmem_##N##_##CALL(t->handle, dest, source, c->n), N, T, CALL, START, STEP)
#define REDUCE_SET(N, T, CALL, START, STEP)                                                                          \
    REDUCE_BY(shmem_##N##_##CALL(dest, source, (int)c->n, t->pe[0], log_stride(t), t->n, (T *)pwrk[c->call],         \
                                 psync[c->call]), N, T, CALL, START, STEP)

static void do_numbers_of_set(struct worker *w, const struct team *t, const struct coll *c)
{
    switch (c->kind) {
    case SUM_LONG: REDUCE_SET(long, long, sum_to_all, 0, all += v)
    case MAX_INT: REDUCE_SET(int, int, max_to_all, 0, all = all > v ? all : v)
    case PROD_DOUBLE: REDUCE_SET(double, double, prod_to_all, 1, all *= v)
    case MIN_SHORT: REDUCE_SET(short, short, min_to_all, 32767, all = all < v ? all : v)
    default: shmem_sync(t->pe[0], log_stride(t), t->n, psync[c->call]);
    }
}

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

static int has_set(const struct team *t, int kind)
{
    return kind != ALLTOALLS && kind != XOR_UINT64 && kind != INSCAN && kind != EXSCAN && log_stride(t) >= 0;
}

/* Call `which` on a team: its arguments come from the same dice on all members. */
static struct coll draw(const struct team *t, int which)
{
    struct dice d = dice(ROLL_COLL, which, 0, 0);
    struct coll c = {.kind = (int)roll(&d, KINDS), .root = (int)roll(&d, (size_t)t->n)};
    c.salt = any(&d);
    c.in_place = (int)roll(&d, 2);
    c.sync = (int)roll(&d, 2);
    size_t most = c.kind < BYTES ? c.kind >= ALLTOALL ? t->most / (size_t)(2 * t->n) : t->most : t->most / sizeof(long);
    size_t how = roll(&d, 6);
    c.n = how > 1 ? soak_length(&d, most) : how ? 1 + roll(&d, most) : most < 8192 ? most : 8192; /* a chunk's length */
    return c;
}

static void collective(struct worker *w, const struct team *t, const struct coll *c)
{
    int rank = rank_in(t, soak.me);
    w->doing = c->set ? "a collective over an active set" : "a collective";
    w->k = (uint64_t)c->kind;
    if (c->kind < BYTES) {
        do_bytes(t, c);
        size_t n = expect_bytes(t, c, rank);
        if (c->set && c->kind == BROADCAST && rank == c->root)
            memset(want, 0x5a, n); /* the root's dest stays */
        soak_same(w, c->kind == BROADCAST ? "broadcast" : c->kind == COLLECT ? "collect" : c->kind == FCOLLECT ? "fcollect"
                  : c->kind == ALLTOALL ? "alltoall" : "alltoalls", c->n, t->dest, want, n);
    } else if (c->set) {
        do_numbers_of_set(w, t, c);
    } else {
        do_numbers(w, t, c, rank);
    }
    memset(t->dest, 0x5a, (size_t)t->n * 2 * t->most);
    w->ops++;
}

/* Does each member's call end only after all members have begun theirs? */
static int waits_for_all(int kind)
{
    return kind != BROADCAST && kind != INSCAN && kind != EXSCAN;
}

static int member(const struct team *t)
{
    return t->live && rank_in(t, soak.me) >= 0;
}

/* One collective on each team; a barrier follows. */
static void singly(struct worker *w, int round)
{
    for (int i = 0; i < TEAMS; i++)
        if (member(&team[i])) {
            struct coll c = draw(&team[i], round * TEAMS + i);
            collective(w, &team[i], &c);
        }
}

/* Up to BURST collectives on random teams without a barrier; `turns`: two parts of the buffers take turns. */
static void burst(struct worker *w, int round)
{
    struct dice d = dice(ROLL_COLL, round, 0, 2), late = dice(ROLL_HERE, soak.me, 0, 4 + (uint64_t)round);
    int calls = 2 + (int)roll(&d, BURST - 1), turns = (int)roll(&d, 2), parts = turns ? 2 : calls, nth[TEAMS] = {0};
    for (int k = 0; k < calls; k++) {
        int which = (int)roll(&d, TEAMS), set = (int)roll(&d, 2);
        struct team part = team[which];
        if (!member(&part))
            continue;
        part.most = MOST / (size_t)parts & ~(size_t)63;
        struct coll c = draw(&part, (round * BURST + k) * TEAMS);
        c.set = set && has_set(&part, c.kind);
        c.call = k;
        c.n = c.set && c.kind < BYTES ? (c.n + 3) & ~(size_t)3 : c.n;
        if (turns && !waits_for_all(c.kind))
            continue;
        size_t at = (size_t)(nth[which]++ % parts);
        part.source += at * 2 * part.most;
        part.dest += at * ((size_t)soak.n + 1) * 2 * part.most;
        collective(w, &part, &c);
        if (roll(&late, 12) == 0)
            usleep((useconds_t)roll(&late, 3000));
    }
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
        if (roll(&d, 2))
            burst(w, round);
        else
            singly(w, round);
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
