/*
 * device_any.c - random operations of the host on device memory and host memory against an oracle: every family of
 * routines, every width, either memory on either side.
 *
 * Each PE owns one row of both symmetric arrays (`mem`) at every PE, operates on its rows in random order and keeps a copy
 * of what they must contain (`sent`); the target computes the same content from the same dice (`due`). All operations of a
 * PE are completed one by one, so that the oracle is sequential; what PEs do at the same time are additions to common words.
 * Catches: a routine that refuses device memory or accesses it by loads and stores; an update that is lost or torn; a
 * neighbour that is overwritten; a wait that does not see the word; a collective that reads a member's stale data.
 *
 * Built twice: PRIVATE_MEMORY makes the driver on the CPU allocate memory that the host cannot access.
 */
#include "../tap_pes.h"

#include <shmemx.h>
#include <unistd.h>

#ifndef PRIVATE_MEMORY
#define PRIVATE_MEMORY 0
#endif

enum { ROW = 4096, WORDS_AT = 3072, MOST = 1024, ROUNDS = 12, STEPS = 40, SUMS = 4, COLL = 400000 };
enum { HOST, DEVICE, KINDS };
static char *mem[KINDS];              /* n_pes rows, by writer */
static char *local[KINDS];            /* ROW bytes of private memory, and of this PE's device heap */
static uint64_t *sums[KINDS];         /* words to which all PEs add */
static uint64_t *flag[KINDS];         /* written by the previous PE */
static char *from[KINDS], *into[KINDS]; /* of collectives: COLL bytes each, several times what a record or a message takes */
static char *sent[KINDS], *due[KINDS]; /* n_pes rows: my rows by target; rows here by writer */
static uint64_t sum_due[KINDS][SUMS];
static unsigned dice;

static size_t roll(size_t n)
{
    return tap_random(&dice) % n;
}

/* The dice of what PE pe does in a round; the same on every PE. */
static void set_dice(int round, int pe)
{
    dice = 12345u + 7919u * (unsigned)round + 104729u * (unsigned)pe;
    tap_random(&dice);
}

/* Copies that device_private.pes tests: to and from own memory of either kind. */
static void store(void *to, const void *value, size_t bytes)
{
    if (to == local[HOST])
        memcpy(to, value, bytes);
    else
        shmem_putmem(to, value, bytes, me);
    shmem_quiet();
}

static void load(void *to, const void *value, size_t bytes)
{
    if (value == local[HOST])
        memcpy(to, value, bytes);
    else
        shmem_getmem(to, value, bytes, me);
}

static void fill(char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = (char)tap_random(&dice);
}

/* ---- one operation ---------------------------------------------------------------------------------------------------- */

enum { PUT, PUT_NBI, P, IPUT, IBPUT, SIGNAL, GET, GET_NBI, G, IGET, IBGET, AMO, OPS };
static const char *const op_name[] = {"put", "put_nbi", "p", "iput", "ibput", "put_signal", "get", "get_nbi", "g", "iget", "ibget",
                                      "atomic"};
struct op {
    int kind, pe, there, here, what, nbi; /* there, here: kind of memory */
    size_t elem, block, count, at;        /* at: offset in the row */
    ptrdiff_t dst, sst;
    uint64_t value, cond;
    char data[ROW];
};

static size_t span(const struct op *o, ptrdiff_t stride)
{
    return ((o->count - 1) * (size_t)stride + o->block) * o->elem;
}

static void make(struct op *o)
{
    *o = (struct op){.kind = (int)roll(OPS), .pe = (int)roll((size_t)n_pes), .there = (int)roll(2), .here = (int)roll(2),
                     .what = (int)roll(24), .nbi = (int)roll(2), .block = 1, .count = 1, .dst = 1, .sst = 1};
    o->elem = (size_t)1 << roll(5);
    if (o->kind == P || o->kind == G)
        o->elem = (size_t)1 << roll(4);
    if (o->kind == AMO || o->kind == SIGNAL)
        o->elem = o->kind == AMO && roll(2) ? 4 : 8;
    if (o->kind == IPUT || o->kind == IBPUT || o->kind == IGET || o->kind == IBGET) {
        o->block = o->kind == IBPUT || o->kind == IBGET ? 1 + roll(4) : 1;
        o->count = 1 + roll(8);
        o->dst = (ptrdiff_t)(o->block + roll(3));
        o->sst = (ptrdiff_t)(o->block + roll(3));
    } else if (o->kind != P && o->kind != G && o->kind != AMO) {
        o->block = 1 + roll(MOST / o->elem);
    }
    o->at = o->kind == AMO ? WORDS_AT + 8 * roll(16) : roll(WORDS_AT - MOST) / o->elem * o->elem;
    o->value = (uint64_t)tap_random(&dice) << 32 | tap_random(&dice);
    o->cond = o->value ^ 5;
    fill(o->data, sizeof o->data);
}

static void copy(char *to, const char *source, const struct op *o)
{
    for (size_t i = 0; i < o->count; i++)
        memcpy(to + i * (size_t)o->dst * o->elem, source + i * (size_t)o->sst * o->elem, o->block * o->elem);
}

enum { INC, ADD, SET, AND, OR, XOR, FETCH, SWAP, CSWAP, FETCH_INC, FETCH_ADD, FETCH_AND, FETCH_OR, FETCH_XOR, AMOS };

/* The word after the atomic. */
static uint64_t updated(const struct op *o, uint64_t old)
{
    uint64_t v = o->value;
    switch (o->what % AMOS) {
    case INC: case FETCH_INC: return old + 1;
    case ADD: case FETCH_ADD: return old + v;
    case SET: case SWAP: return v;
    case AND: case FETCH_AND: return old & v;
    case OR: case FETCH_OR: return old | v;
    case XOR: case FETCH_XOR: return old ^ v;
    case CSWAP: return (o->elem == 4 ? (uint32_t)old == (uint32_t)o->cond : old == o->cond) ? v : old;
    default: return old;
    }
}

/* The effect of an operation on the writer's row at its target. */
static void apply(char *row, const struct op *o)
{
    uint64_t word = 0;
    if (o->kind < GET && o->kind != SIGNAL) {
        copy(row + o->at, o->data, o);
    } else if (o->kind == SIGNAL) {
        memcpy(row + o->at, o->data, o->block * o->elem);
        memcpy(&word, row + ROW - 8, 8);
        word = o->what % 3 == 1 ? word + o->value : o->value;
        memcpy(row + ROW - 8, &word, 8);
    } else if (o->kind == AMO) {
        memcpy(&word, row + o->at, o->elem);
        word = updated(o, word);
        memcpy(row + o->at, &word, o->elem);
    }
}

#define BY_SIZE(CALL, ...)                                                                                           \
    switch (o->elem) {                                                                                               \
    case 1: CALL##8(__VA_ARGS__); break;                                                                             \
    case 2: CALL##16(__VA_ARGS__); break;                                                                            \
    case 4: CALL##32(__VA_ARGS__); break;                                                                            \
    case 8: CALL##64(__VA_ARGS__); break;                                                                            \
    default: CALL##128(__VA_ARGS__);                                                                                 \
    }
#define BY_TYPE(DO)                                                                                                  \
    switch (o->elem) {                                                                                               \
    case 1: DO(schar, signed char); break;                                                                           \
    case 2: DO(short, short); break;                                                                                 \
    case 4: DO(float, float); break;                                                                                 \
    default: DO(double, double);                                                                                     \
    }
#define DO_P(N, T) do { T v_; memcpy(&v_, o->data, sizeof v_); shmem_##N##_p((T *)to, v_, o->pe); } while (0)
#define DO_G(N, T) do { T v_ = shmem_##N##_g((const T *)to, o->pe); memcpy(got, &v_, sizeof v_); } while (0)

/* The call of an atomic on 4 or 8 bytes; the old value, or 0 where it does not fetch. fetch: for the nonblocking ones. */
#define ATOMIC(N, T)                                                                                                 \
    static T atomic_##N(const struct op *o, T *to, T *fetch)                                                         \
    {                                                                                                                \
        T v = (T)o->value, c = (T)o->cond;                                                                           \
        switch (o->what % AMOS) {                                                                                    \
        case INC: shmem_##N##_atomic_inc(to, o->pe); return 0;                                                       \
        case ADD: shmem_##N##_atomic_add(to, v, o->pe); return 0;                                                    \
        case SET: shmem_##N##_atomic_set(to, v, o->pe); return 0;                                                    \
        case AND: shmem_##N##_atomic_and(to, v, o->pe); return 0;                                                    \
        case OR: shmem_##N##_atomic_or(to, v, o->pe); return 0;                                                      \
        case XOR: shmem_##N##_atomic_xor(to, v, o->pe); return 0;                                                    \
        }                                                                                                            \
        if (!o->nbi)                                                                                                 \
            switch (o->what % AMOS) {                                                                                \
            case FETCH: return shmem_##N##_atomic_fetch(to, o->pe);                                                  \
            case SWAP: return shmem_##N##_atomic_swap(to, v, o->pe);                                                 \
            case CSWAP: return shmem_##N##_atomic_compare_swap(to, c, v, o->pe);                                     \
            case FETCH_INC: return shmem_##N##_atomic_fetch_inc(to, o->pe);                                          \
            case FETCH_ADD: return shmem_##N##_atomic_fetch_add(to, v, o->pe);                                       \
            case FETCH_AND: return shmem_##N##_atomic_fetch_and(to, v, o->pe);                                       \
            case FETCH_OR: return shmem_##N##_atomic_fetch_or(to, v, o->pe);                                         \
            default: return shmem_##N##_atomic_fetch_xor(to, v, o->pe);                                              \
            }                                                                                                        \
        switch (o->what % AMOS) {                                                                                    \
        case FETCH: shmem_##N##_atomic_fetch_nbi(fetch, to, o->pe); break;                                           \
        case SWAP: shmem_##N##_atomic_swap_nbi(fetch, to, v, o->pe); break;                                          \
        case CSWAP: shmem_##N##_atomic_compare_swap_nbi(fetch, to, c, v, o->pe); break;                              \
        case FETCH_INC: shmem_##N##_atomic_fetch_inc_nbi(fetch, to, o->pe); break;                                   \
        case FETCH_ADD: shmem_##N##_atomic_fetch_add_nbi(fetch, to, v, o->pe); break;                                \
        case FETCH_AND: shmem_##N##_atomic_fetch_and_nbi(fetch, to, v, o->pe); break;                                \
        case FETCH_OR: shmem_##N##_atomic_fetch_or_nbi(fetch, to, v, o->pe); break;                                  \
        default: shmem_##N##_atomic_fetch_xor_nbi(fetch, to, v, o->pe);                                              \
        }                                                                                                            \
        shmem_quiet();                                                                                               \
        T old;                                                                                                       \
        load(&old, fetch, sizeof old);                                                                               \
        return old;                                                                                                  \
    }
ATOMIC(uint32, uint32_t)
ATOMIC(uint64, uint64_t)

static void do_amo(const struct op *o, char *to)
{
    uint64_t want = 0, got;
    memcpy(&want, sent[o->there] + (size_t)o->pe * ROW + o->at, o->elem);
    got = o->elem == 4 ? atomic_uint32(o, (uint32_t *)to, (uint32_t *)local[o->here])
                       : atomic_uint64(o, (uint64_t *)to, (uint64_t *)local[o->here]);
    want = o->what % AMOS < FETCH ? 0 : want;
    CHECKF(got == want, "atomic %d on %zu bytes of memory %d, nbi %d, result in memory %d: %#lx, not %#lx", o->what % AMOS,
           o->elem, o->there, o->nbi, o->here, (unsigned long)got, (unsigned long)want);
}

static void do_get(const struct op *o, char *to)
{
    char got[ROW], want[ROW];
    memset(got, 0x5a, sizeof got);
    store(local[o->here], got, sizeof got);
    memcpy(want, got, sizeof got);
    copy(want, sent[o->there] + (size_t)o->pe * ROW + o->at, o);
    char *in = local[o->here];
    switch (o->kind) {
    case GET: BY_SIZE(shmem_get, in, to, o->block, o->pe) break;
    case GET_NBI: BY_SIZE(shmem_get, in, to, o->block, o->pe) break;
    case IGET: BY_SIZE(shmem_iget, in, to, o->dst, o->sst, o->count, o->pe) break;
    case IBGET: BY_SIZE(shmem_ibget, in, to, o->dst, o->sst, o->block, o->count, o->pe) break;
    default: BY_TYPE(DO_G)
    }
    shmem_quiet();
    if (o->kind != G)
        load(got, in, sizeof got);
    CHECKF(!memcmp(got, want, sizeof got), "%s, %zu x %zu of %zu bytes, from memory %d to %d", op_name[o->kind], o->count,
           o->block, o->elem, o->there, o->here);
}

static void do_put(const struct op *o, char *to)
{
    char *row = mem[o->there] + (size_t)me * ROW;
    store(local[o->here], o->data, span(o, o->sst));
    const char *source = local[o->here];
    int op = o->what % 3 == 1 ? SHMEM_SIGNAL_ADD : SHMEM_SIGNAL_SET;
    switch (o->kind) {
    case PUT: BY_SIZE(shmem_put, to, source, o->block, o->pe) break;
    case PUT_NBI: shmem_putmem_nbi(to, source, o->block * o->elem, o->pe); break;
    case IPUT: BY_SIZE(shmem_iput, to, source, o->dst, o->sst, o->count, o->pe) break;
    case IBPUT: BY_SIZE(shmem_ibput, to, source, o->dst, o->sst, o->block, o->count, o->pe) break;
    case SIGNAL:
        (o->nbi ? shmem_putmem_signal_nbi : shmem_putmem_signal)(to, source, o->block * o->elem, (uint64_t *)(row + ROW - 8),
                                                                 o->value, op, o->pe);
        break;
    default: BY_TYPE(DO_P)
    }
}

static void act(struct op *o)
{
    char *to = mem[o->there] + (size_t)me * ROW + o->at;
    if (o->kind == AMO)
        do_amo(o, to);
    else if (o->kind >= GET)
        do_get(o, to);
    else
        do_put(o, to);
    shmem_quiet();
    apply(sent[o->there] + (size_t)o->pe * ROW, o);
}

static void test_rows(void)
{
    static struct op o;
    static char now[ROW];
    for (int round = 0; round < ROUNDS; round++) {
        set_dice(round, me);
        for (int k = 0; k < STEPS; k++) {
            make(&o);
            act(&o);
        }
        shmem_barrier_all();
        for (int pe = 0; pe < n_pes; pe++) {
            set_dice(round, pe);
            for (int k = 0; k < STEPS; k++) {
                make(&o);
                if (o.pe == me)
                    apply(due[o.there] + (size_t)pe * ROW, &o);
            }
            for (int kind = 0; kind < KINDS; kind++) {
                load(now, mem[kind] + (size_t)pe * ROW, ROW);
                CHECKF(!memcmp(now, due[kind] + (size_t)pe * ROW, ROW), "round %d: the row of PE %d in memory %d", round, pe,
                       kind);
            }
        }
        shmem_barrier_all();
    }
}

/* ---- common words, waits ---------------------------------------------------------------------------------------------- */

/* All PEs add to the same words at the same time, by atomics and by signals. */
static void test_sums(void)
{
    for (int pe = 0; pe < n_pes; pe++) {
        set_dice(1000, pe);
        for (int k = 0; k < 60; k++) {
            int kind = (int)roll(2), to = (int)roll((size_t)n_pes), how = (int)roll(4), word = (int)roll(SUMS);
            uint64_t v = tap_random(&dice) % 1000, *at = sums[kind] + word;
            if (to == me)
                sum_due[kind][word] += v;
            if (pe != me)
                continue;
            switch (how) {
            case 0: shmem_uint64_atomic_add(at, v, to); break;
            case 1: shmem_uint64_atomic_fetch_add(at, v, to); break;
            case 2: shmem_signal_add(at, v, to); break;
            default: shmem_putmem_signal(mem[kind] + (size_t)me * ROW, &v, 0, at, v, SHMEM_SIGNAL_ADD, to);
            }
        }
    }
    shmem_barrier_all();
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < SUMS; i++)
            CHECKF(shmem_signal_fetch(sums[kind] + i) == sum_due[kind][i], "sum %d in memory %d: %lu, not %lu", i, kind,
                   (unsigned long)shmem_signal_fetch(sums[kind] + i), (unsigned long)sum_due[kind][i]);
    shmem_barrier_all();
}

/* Wait for round i in one of the words of `flag`, in one of the ways. */
static void await(uint64_t *f, uint64_t i, size_t how)
{
    size_t found[2];
    int out[2] = {0, 1};
    uint64_t want[2] = {i, i};
    unsigned *low = (unsigned *)f;
    switch (how) {
    case 0: shmem_uint64_wait_until(f, SHMEM_CMP_EQ, i); break;
    case 1: CHECK(shmem_signal_wait_until(f, SHMEM_CMP_GE, i) == i); break;
    case 2: shmem_uint64_wait_until_all(f, 2, out, SHMEM_CMP_EQ, i); break;
    case 3: CHECK(shmem_uint64_wait_until_any(f, 2, NULL, SHMEM_CMP_EQ, i) == 0); break;
    case 4: CHECK(shmem_uint64_wait_until_some(f, 2, found, NULL, SHMEM_CMP_EQ, i) == 1 && found[0] == 0); break;
    case 5: shmem_uint64_wait_until_all_vector(f, 2, out, SHMEM_CMP_EQ, want); break;
    case 6: shmem_uint_wait_until(low, SHMEM_CMP_GE, (unsigned)i); break;
    case 7: while (!shmem_uint64_test(f, SHMEM_CMP_EQ, i)) ; break;
    case 8: while (shmem_uint64_test_any(f, 2, NULL, SHMEM_CMP_EQ, i) == SIZE_MAX) ; break;
    case 9: while (!shmem_uint64_test_all(f, 2, out, SHMEM_CMP_EQ, i)) ; break;
    case 10: while (!shmem_uint64_test_some_vector(f, 2, found, NULL, SHMEM_CMP_EQ, want)) ; break;
    case 11: while (shmem_signal_fetch(f) != i) ; break;
    default: shmem_ushort_wait_until((unsigned short *)f, SHMEM_CMP_EQ, (unsigned short)i);
    }
}

static void test_waits(void)
{
    enum { WAYS = 13 };
    for (uint64_t i = 1; i <= 4 * WAYS; i++) {
        int kind = (int)(i % 2);
        uint64_t got, v = 100 * i + (uint64_t)me;
        if (i % 3 == 0)
            usleep(100u * (unsigned)(i % 7));
        shmem_putmem_signal(mem[kind] + (size_t)me * ROW, &v, 8, flag[kind], i, SHMEM_SIGNAL_SET, next_pe());
        await(flag[kind], i, (i / 2) % WAYS);
        int prev = (me + n_pes - 1) % n_pes;
        load(&got, mem[kind] + (size_t)prev * ROW, 8);
        CHECKF(got == 100 * i + (uint64_t)prev, "way %d, memory %d: the data before the signal", (int)(i / 2 % WAYS), kind);
        shmem_barrier_all();
    }
}

/* ---- collectives ------------------------------------------------------------------------------------------------------ */

/* Element i of PE pe's source in a round: small, so that sums of floats are exact. */
static int element(int round, int pe, size_t i)
{
    return (int)((i * 7 + (size_t)pe * 13 + (size_t)round * 3) % 11);
}

enum { BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, SUM_INT, MAX_LONG, SUM_DOUBLE, XOR_UCHAR, PROD_SHORT, INSCAN, EXSCAN,
       COLLECTIVES };

#define SET_SOURCE(T) for (size_t i = 0; i < COLL / sizeof(T); i++) ((T *)source)[i] = (T)element(round, me, i)
#define WANT(T, START, COMBINE)                                                                                      \
    for (size_t i = 0; i < n; i++) {                                                                                 \
        T a = START;                                                                                                 \
        for (int pe = 0; pe < n_pes; pe++) {                                                                         \
            T b = (T)element(round, pe, i);                                                                          \
            COMBINE;                                                                                                 \
        }                                                                                                            \
        ((T *)want)[i] = a;                                                                                          \
    }                                                                                                                \
    bytes = n * sizeof(T)

/* One collective with n elements; `want` gets the due content of dest. Returns its bytes. */
static size_t collective(int which, int round, size_t n, char *d, char *s, char *source, char *want)
{
    size_t bytes = 0, parts = (size_t)n_pes;
    int root = round % n_pes, *w = (int *)want;
    const shmem_team_t team = SHMEM_TEAM_WORLD;
    switch (which) {
    case BROADCAST: case COLLECT: case FCOLLECT: case ALLTOALL: case ALLTOALLS: case SUM_INT: case INSCAN: case EXSCAN:
        SET_SOURCE(int); break;
    case MAX_LONG: SET_SOURCE(long); break;
    case SUM_DOUBLE: SET_SOURCE(double); break;
    case XOR_UCHAR: SET_SOURCE(unsigned char); break;
    default: SET_SOURCE(short);
    }
    store(s, source, COLL);
    shmem_barrier_all();
    switch (which) {
    case BROADCAST:
        shmem_int_broadcast(team, (int *)d, (int *)s, n, root);
        for (size_t i = 0; i < n; i++)
            w[i] = element(round, root, i);
        return n * sizeof(int);
    case COLLECT: case FCOLLECT:
        n = n / parts;
        which == COLLECT ? shmem_int_collect(team, (int *)d, (int *)s, n) : shmem_int_fcollect(team, (int *)d, (int *)s, n);
        for (size_t i = 0; i < n * parts; i++)
            w[i] = element(round, (int)(i / n), i % n);
        return n * parts * sizeof(int);
    case ALLTOALL: case ALLTOALLS:
        n = n / parts / 3;
        if (which == ALLTOALL)
            shmem_int_alltoall(team, (int *)d, (int *)s, n);
        else
            shmem_int_alltoalls(team, (int *)d, (int *)s, 2, 3, n);
        for (size_t i = 0; i < n * parts; i++)
            w[which == ALLTOALL ? i : 2 * i] =
                element(round, (int)(i / n), ((size_t)me * n + i % n) * (which == ALLTOALL ? 1 : 3));
        return n * parts * sizeof(int) * (which == ALLTOALL ? 1 : 2);
    case SUM_INT: shmem_int_sum_reduce(team, (int *)d, (int *)s, n); WANT(int, 0, a += b); break;
    case MAX_LONG: shmem_long_max_reduce(team, (long *)d, (long *)s, n); WANT(long, 0, a = a > b ? a : b); break;
    case SUM_DOUBLE: shmem_double_sum_reduce(team, (double *)d, (double *)s, n); WANT(double, 0, a += b); break;
    case XOR_UCHAR:
        shmem_uchar_xor_reduce(team, (unsigned char *)d, (unsigned char *)s, n);
        WANT(unsigned char, 0, a = (unsigned char)(a ^ b));
        break;
    case INSCAN: shmem_int_sum_inscan(team, (int *)d, (int *)s, n); WANT(int, 0, a += pe <= me ? b : 0); break;
    case EXSCAN: shmem_int_sum_exscan(team, (int *)d, (int *)s, n); WANT(int, 0, a += pe < me ? b : 0); break;
    default: shmem_short_prod_reduce(team, (short *)d, (short *)s, n); WANT(short, 1, a = (short)(a * b));
    }
    return bytes;
}

static void test_collectives(void)
{
    static char source[COLL], want[COLL], got[COLL];
    for (int round = 0; round < 8 * COLLECTIVES; round++) {
        int which = round % COLLECTIVES, s = round / COLLECTIVES % 2, d = round / COLLECTIVES / 2 % 2;
        int in_place = s == d && which >= SUM_INT && round / COLLECTIVES >= 4;
        set_dice(2000 + round, 0);
        size_t most = roll(4), n = 1 + roll(most == 0 ? 20 : most == 1 ? 700 : COLL / sizeof(double));
        char *dest = in_place ? from[s] : into[d];
        memset(want, 0x5a, sizeof want);
        store(into[d], want, sizeof want);
        shmem_barrier_all();
        size_t bytes = collective(which, round, n, dest, from[s], source, want);
        if (in_place)
            memcpy(want + bytes, source + bytes, sizeof want - bytes);
        load(got, dest, sizeof got);
        CHECKF(!memcmp(got, want, sizeof got), "collective %d of %zu elements from memory %d to %d, in place: %d", which, n, s, d,
               in_place);
        shmem_barrier_all();
    }
}

/* Catches: a lock that PEs look for at different places. */
static void test_locks(void)
{
    long *lock = shmemg_calloc(3, sizeof *lock);
    static long counter;
    if (!PRIVATE_MEMORY)
        for (int i = 0; i < 30; i++) {
            shmem_set_lock(lock + i % 3);
            if (i % 3 == 0)
                shmem_long_p(&counter, shmem_long_g(&counter, 0) + 1, 0);
            shmem_clear_lock(lock + i % 3);
        }
    shmem_barrier_all();
    CHECK(PRIVATE_MEMORY || shmem_long_g(&counter, 0) == 10L * n_pes);
    shmem_barrier_all();
    shmemg_free(lock);
}

int main(void)
{
    if (PRIVATE_MEMORY)
        setenv("ZE_CPU_PRIVATE", "1", 1);
    shmem_init();
    tap_pes_begin();
    size_t rows = (size_t)n_pes * ROW;
    for (int kind = 0; kind < KINDS; kind++) {
        void *(*alloc)(size_t, size_t) = kind == HOST ? shmem_calloc : shmemg_calloc;
        mem[kind] = alloc(rows, 1);
        local[kind] = kind == HOST ? calloc(1, ROW) : alloc(ROW, 1);
        sums[kind] = alloc(SUMS, 8);
        flag[kind] = alloc(2, 8);
        from[kind] = alloc(COLL, 1);
        into[kind] = alloc(COLL, 1);
        sent[kind] = calloc(rows, 1);
        due[kind] = calloc(rows, 1);
    }
    if (!into[DEVICE]) {
        printf("Bail out! no device memory\n");
        return 1;
    }
    RUN(test_rows, "puts, gets, strides, signals, atomics");
    RUN(test_sums, "words to which all PEs add");
    RUN(test_waits, "waits and tests");
    RUN(test_collectives, "collectives");
    RUN(test_locks, "locks");
    int status = tap_end();
    shmem_finalize();
    return status;
}
