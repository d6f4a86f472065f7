/*
 * coll.c - every collective of the table, in team and active-set form, against a model that one PE computes from all
 * inputs.
 *
 * All PEs draw the same random numbers, so each PE knows the sources of all. Teams are the world, strided, reversed and
 * single-PE teams; the lengths lie on both sides of every change of algorithm.
 */
#include "../tap_pes.h"

#include <limits.h>
#include <math.h>

enum { MAX_PES = 16, MOST = 6000 };

static unsigned rnd = 12345;
static const size_t lengths[] = {0, 1, 2, 7, 33, 130, 1025, 5000};
enum { N_LENGTHS = sizeof lengths / sizeof *lengths };

static char *dest, *source; /* symmetric, room for MOST elements of 32 bytes, and for MAX_PES times a short one */

/* ---- teams ----------------------------------------------------------------------------------------------------- */

struct group {
    shmem_team_t team;
    int start, stride, size, mine; /* mine: this PE's number in the team, or -1 */
};

static struct group groups[6];
static int n_groups;

static void add_group(int start, int stride, int size)
{
    struct group *g = &groups[n_groups++];
    *g = (struct group){.start = start, .stride = stride, .size = size, .mine = -1};
    for (int i = 0; i < size; i++)
        if (start + i * stride == me)
            g->mine = i;
    int err = shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &g->team);
    CHECKF(err == 0, "split %d %d %d", start, stride, size);
    CHECK((g->team != SHMEM_TEAM_INVALID) == (g->mine >= 0));
}

static int world_pe(const struct group *g, int i)
{
    return g->start + i * g->stride;
}

/* ---- reductions and scans, every operator and type ----------------------------------------------------------------- */

enum kind { REDUCE, INSCAN, EXSCAN, TO_ALL };

struct reduction {
    const char *name;
    size_t elem;
    enum kind kind;
    int (*team)(shmem_team_t, void *dest, const void *source, size_t n);
    void (*set)(void *dest, const void *source, int n, int start, int log_stride, int size, void *work, long *sync);
    void (*model)(void *acc, const void *in, size_t n);
    void (*fill)(void *to, size_t n, unsigned seed);
};

/* Small numbers, also negative ones for signed types, so that products over 7 PEs neither overflow nor round. */
#define FILL(F, N, T, ...)                                                                                           \
    static void fill_##N(void *to, size_t n, unsigned seed)                                                          \
    {                                                                                                                \
        for (size_t i = 0; i < n; i++)                                                                               \
            ((T *)to)[i] = (T)((int)(tap_random(&seed) % 9) - 4);                                                    \
    }
SHMEM_TYPES(FILL, )

#define OP_and_reduce(a, b) a & b
#define OP_or_reduce(a, b) a | b
#define OP_xor_reduce(a, b) a ^ b
#define OP_max_reduce(a, b) a > b ? a : b
#define OP_min_reduce(a, b) a < b ? a : b
#define OP_sum_reduce(a, b) a + b
#define OP_prod_reduce(a, b) 1u * a * b /* unsigned for 16-bit operands: as int it could overflow */
#define OP_sum_inscan(a, b) a + b
#define OP_sum_exscan(a, b) a + b
#define OP_and_to_all(a, b) a & b
#define OP_or_to_all(a, b) a | b
#define OP_xor_to_all(a, b) a ^ b
#define OP_max_to_all(a, b) a > b ? a : b
#define OP_min_to_all(a, b) a < b ? a : b
#define OP_sum_to_all(a, b) a + b
#define OP_prod_to_all(a, b) OP_prod_reduce(a, b)

#define MODEL(NAME, N, T)                                                                                            \
    static void model_##N##NAME(void *acc, const void *in, size_t n)                                                 \
    {                                                                                                                \
        for (size_t i = 0; i < n; i++) {                                                                             \
            T a = ((T *)acc)[i], b = ((const T *)in)[i];                                                             \
            ((T *)acc)[i] = (T)(OP##NAME(a, b));                                                                     \
        }                                                                                                            \
    }
#define TEAM_P(R, NAME, N, T, PARAMS)                                                                                \
    MODEL(NAME, N, T)                                                                                                \
    static int call_##N##NAME(shmem_team_t team, void *d, const void *s, size_t n)                                   \
    {                                                                                                                \
        return shmem_##N##NAME(team, d, s, n);                                                                       \
    }
#define SET_P(R, NAME, N, T, PARAMS)                                                                                 \
    MODEL(NAME, N, T)                                                                                                \
    static void call_##N##NAME(void *d, const void *s, int n, int start, int log_stride, int size, void *work,       \
                               long *sync)                                                                           \
    {                                                                                                                \
        shmem_##N##NAME(d, s, n, start, log_stride, size, work, sync);                                               \
    }
#define KIND_sum_inscan INSCAN
#define KIND_sum_exscan EXSCAN
#define KIND_and_reduce REDUCE
#define KIND_or_reduce REDUCE
#define KIND_xor_reduce REDUCE
#define KIND_max_reduce REDUCE
#define KIND_min_reduce REDUCE
#define KIND_sum_reduce REDUCE
#define KIND_prod_reduce REDUCE
#define LIST_P(R, NAME, N, T, PARAMS)                                                                                \
    {#N #NAME, sizeof(T), KIND##NAME, call_##N##NAME, NULL, model_##N##NAME, fill_##N},
#define LISTSET_P(R, NAME, N, T, PARAMS)                                                                             \
    {#N #NAME, sizeof(T), TO_ALL, NULL, call_##N##NAME, model_##N##NAME, fill_##N},

#define ROW(TEAM, SET, N, T, AND, MAX, SUM, OW, OM, OS)                                                              \
    SHMEM_IF_##AND(SHMEM_API_AND(, TEAM, N, T)) SHMEM_IF_##MAX(SHMEM_API_MAX(, TEAM, N, T))                          \
    SHMEM_IF_##SUM(SHMEM_API_SUM(, TEAM, N, T)) SHMEM_IF_##OW(SHMEM_API_OB(, SET, N, T))                             \
    SHMEM_IF_##OM(SHMEM_API_OM(, SET, N, T)) SHMEM_IF_##OS(SHMEM_API_OS(, SET, N, T))
#define DEFINE(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                                      \
    ROW(TEAM_P, SET_P, N, T, AND, MAX, SUM, OW, OM, OS)
#define LIST(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                                        \
    ROW(LIST_P, LISTSET_P, N, T, AND, MAX, SUM, OW, OM, OS)
SHMEM_TYPES(DEFINE, )
static const struct reduction reductions[] = {SHMEM_TYPES(LIST, )};

static long psync[2][SHMEM_REDUCE_SYNC_SIZE];
static char pwork[MOST * 32];

/* The result on member `mine`, computed from all sources in the order of the members. */
static void expect(const struct reduction *r, const struct group *g, size_t n, unsigned seed, char *out)
{
    static char in[MOST * 32];
    int first = 0, last = r->kind == INSCAN ? g->mine : r->kind == EXSCAN ? g->mine - 1 : g->size - 1;
    if (last < 0) {
        memset(out, 0, n * r->elem);
        return;
    }
    for (int i = first; i <= last; i++) {
        r->fill(i == 0 ? out : in, n, seed + (unsigned)world_pe(g, i) * 7919);
        if (i > 0)
            r->model(out, in, n);
    }
}

/* Ignore the padding of long double, and the sign of a complex zero, which depends on the order of operations. */
static int same(const struct reduction *r, const char *a, const char *b, size_t n)
{
    size_t significant = strncmp(r->name, "longdouble", 10) == 0 ? 10 : r->elem;
    int f = strncmp(r->name, "complexf", 8) == 0, d = strncmp(r->name, "complexd", 8) == 0;
    for (size_t i = 0; i < n; i++) {
        const void *x = a + i * r->elem, *y = b + i * r->elem;
        if (f ? *(const float _Complex *)x != *(const float _Complex *)y
              : d ? *(const double _Complex *)x != *(const double _Complex *)y : memcmp(x, y, significant))
            return 0;
    }
    return 1;
}

static void one_reduction(const struct reduction *r, const struct group *g, size_t n, int in_place, int which)
{
    static char want[MOST * 32];
    unsigned seed = tap_random(&rnd);
    int log_stride = g->stride == 1 ? 0 : g->stride == 2 ? 1 : -1;
    if (g->mine < 0 || (r->kind == TO_ALL && log_stride < 0))
        return;
    char *from = in_place ? dest : source;
    memset(dest, 0x5a, (n + 1) * r->elem);
    r->fill(from, n, seed + (unsigned)me * 7919);
    expect(r, g, n, seed, want);
    shmem_team_sync(g->team); /* dest is ready on all members */
    if (r->kind == TO_ALL)
        r->set(dest, from, (int)n, g->start, log_stride, g->size, pwork, psync[which]);
    else
        CHECK(r->team(g->team, dest, from, n) == 0);
    CHECKF(same(r, dest, want, n), "%s of %zu, %d members from %d by %d%s", r->name, n, g->size, g->start, g->stride,
           in_place ? ", in place" : "");
    if (!in_place)
        CHECKF((unsigned char)dest[n * r->elem] == 0x5a, "%s of %zu wrote past the end", r->name, n);
    shmem_team_sync(g->team);
}

/* Catches: an operator with the wrong sign or width for one type, a member left out, a wrong length where the algorithm
 * changes, in-place input overwritten before others read it. */
static void test_reductions(void)
{
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) {
        const struct reduction *r = &reductions[i];
        for (int k = 0; k < N_LENGTHS; k++) {
            const struct group *g = &groups[tap_random(&rnd) % (unsigned)n_groups];
            one_reduction(r, g, lengths[k], k % 2, k % 2);
        }
        one_reduction(r, &groups[0], lengths[tap_random(&rnd) % N_LENGTHS], 1, 0);
    }
    for (int i = 0; i < 2 * SHMEM_REDUCE_SYNC_SIZE; i++)
        CHECKF((&psync[0][0])[i] == SHMEM_SYNC_VALUE, "pSync[%d] is not restored", i);
}

/* Catches: members that combine in different orders, so that rounding or NaN differs between PEs. */
static void test_identical(void)
{
    static double mine[3000], sum[3000], first[3000];
    for (int i = 0; i < 3000; i++) {
        unsigned s = (unsigned)(me * 3000 + i + 1);
        mine[i] = i == 7 ? (me == n_pes - 1 ? NAN : 1) : i == 9 ? INFINITY : (double)tap_random(&s) / 3e5 - me * 1e-7;
    }
    for (int n = 10; n <= 3000; n *= 300) {
        shmem_barrier_all();
        shmem_double_sum_reduce(SHMEM_TEAM_WORLD, sum, mine, (size_t)n);
        shmem_barrier_all(); /* PE 0 has its result, too */
        shmem_getmem(first, sum, sizeof *sum * (size_t)n, 0);
        CHECKF(memcmp(first, sum, sizeof *sum * (size_t)n) == 0, "sums of %d doubles differ from PE 0's", n);
        shmem_barrier_all();
        shmem_double_max_reduce(SHMEM_TEAM_WORLD, sum, mine, (size_t)n);
        shmem_barrier_all();
        shmem_getmem(first, sum, sizeof *sum * (size_t)n, 0);
        CHECKF(memcmp(first, sum, sizeof *sum * (size_t)n) == 0, "maxima of %d doubles differ from PE 0's", n);
        CHECK(isinf(sum[9]));
    }
}

/* Catches: signed compared as unsigned, or the reverse. */
static void test_extremes(void)
{
    static int i, i_out;
    static unsigned u, u_out;
    static signed char c, c_out;
    static unsigned long long q, q_out;
    int last = me == n_pes - 1;
    i = last ? INT_MIN : 1, u = last ? UINT_MAX : 1, c = (signed char)(last ? -128 : 127), q = last ? 1ull << 63 : 5;
    shmem_barrier_all();
    shmem_int_min_reduce(SHMEM_TEAM_WORLD, &i_out, &i, 1);
    CHECK(i_out == INT_MIN);
    shmem_uint_max_reduce(SHMEM_TEAM_WORLD, &u_out, &u, 1);
    CHECK(u_out == UINT_MAX);
    shmem_schar_min_reduce(SHMEM_TEAM_WORLD, &c_out, &c, 1);
    CHECK(c_out == -128);
    shmem_ulonglong_max_reduce(SHMEM_TEAM_WORLD, &q_out, &q, 1);
    CHECK(q_out == 1ull << 63);
    shmem_barrier_all();
}

/* ---- data movement ---------------------------------------------------------------------------------------------------- */

enum move { BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, N_MOVES };

struct mover {
    const char *name;
    size_t elem;
    enum move move;
    int (*team)(shmem_team_t, void *d, const void *s, size_t n, int root, ptrdiff_t dst, ptrdiff_t sst);
    void (*set)(void *d, const void *s, size_t n, int root, ptrdiff_t dst, ptrdiff_t sst, int start, int log_stride,
                int size, long *sync);
};

#define MOVE_broadcast team, d, s, n, root
#define MOVE_collect team, d, s, n
#define MOVE_fcollect team, d, s, n
#define MOVE_alltoall team, d, s, n
#define MOVE_alltoalls team, d, s, dst, sst, n
#define WHICH_broadcast BROADCAST
#define WHICH_collect COLLECT
#define WHICH_fcollect FCOLLECT
#define WHICH_alltoall ALLTOALL
#define WHICH_alltoalls ALLTOALLS
#define MOVER(FUNC, NAME)                                                                                            \
    static int move_##FUNC(shmem_team_t team, void *d, const void *s, size_t n, int root, ptrdiff_t dst,             \
                           ptrdiff_t sst)                                                                            \
    {                                                                                                                \
        (void)root, (void)dst, (void)sst;                                                                            \
        return shmem_##FUNC(MOVE##NAME);                                                                             \
    }
#define MOVER_P(R, NAME, N, T, PARAMS) MOVER(N##NAME, NAME)
#define MOVER_LIST_P(R, NAME, N, T, PARAMS) {#N #NAME, sizeof(T), WHICH##NAME, move_##N##NAME, NULL},
#define MOVERS(F, N, T, RMA, ...) SHMEM_IF_##RMA(SHMEM_API_COLL(, F, N, T))
SHMEM_TYPES(MOVERS, MOVER_P)
MOVER(broadcastmem, _broadcast)
MOVER(collectmem, _collect)
MOVER(fcollectmem, _fcollect)
MOVER(alltoallmem, _alltoall)
MOVER(alltoallsmem, _alltoalls)

#define SET(FUNC, ...)                                                                                               \
    static void set_##FUNC(void *d, const void *s, size_t n, int root, ptrdiff_t dst, ptrdiff_t sst, int start,      \
                           int log_stride, int size, long *sync)                                                     \
    {                                                                                                                \
        (void)root, (void)dst, (void)sst;                                                                            \
        shmem_##FUNC(__VA_ARGS__, start, log_stride, size, sync);                                                    \
    }
#define SETS(Z)                                                                                                      \
    SET(broadcast##Z, d, s, n, root) SET(collect##Z, d, s, n) SET(fcollect##Z, d, s, n) SET(alltoall##Z, d, s, n)    \
    SET(alltoalls##Z, d, s, dst, sst, n)
#define SETS_LIST(Z)                                                                                                 \
    {"broadcast" #Z, Z / 8, BROADCAST, NULL, set_broadcast##Z}, {"collect" #Z, Z / 8, COLLECT, NULL, set_collect##Z},\
    {"fcollect" #Z, Z / 8, FCOLLECT, NULL, set_fcollect##Z}, {"alltoall" #Z, Z / 8, ALLTOALL, NULL, set_alltoall##Z},\
    {"alltoalls" #Z, Z / 8, ALLTOALLS, NULL, set_alltoalls##Z},
SETS(32)
SETS(64)
static const struct mover movers[] = {
    SHMEM_TYPES(MOVERS, MOVER_LIST_P) SETS_LIST(32) SETS_LIST(64)
    {"broadcastmem", 1, BROADCAST, move_broadcastmem, NULL}, {"collectmem", 1, COLLECT, move_collectmem, NULL},
    {"fcollectmem", 1, FCOLLECT, move_fcollectmem, NULL}, {"alltoallmem", 1, ALLTOALL, move_alltoallmem, NULL},
    {"alltoallsmem", 1, ALLTOALLS, move_alltoallsmem, NULL}};

/* Byte b of element i of the source of a world PE. */
static char byte_of(int pe, size_t i, size_t b, unsigned seed)
{
    return (char)((unsigned)pe * 31u + (unsigned)i * 7u + (unsigned)b * 3u + seed);
}

static void fill_bytes(size_t elems, size_t elem, unsigned seed)
{
    for (size_t i = 0; i < elems; i++)
        for (size_t b = 0; b < elem; b++)
            source[i * elem + b] = byte_of(me, i, b, seed);
}

/* Does dest, from element `at` in steps of `step`, equal the n elements of `pe` from element `from` on? */
static int holds(size_t at, size_t step, size_t n, int pe, size_t from, size_t from_step, size_t elem, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        for (size_t b = 0; b < elem; b++)
            if (dest[(at + i * step) * elem + b] != byte_of(pe, from + i * from_step, b, seed))
                return 0;
    return 1;
}

/* The number of elements that `pe` contributes to a collect: lengths differ, and may be 0. */
static size_t share(const struct mover *m, size_t n, int pe)
{
    return m->move == COLLECT ? n * (size_t)(pe % 3) / 2 : n;
}

static int arrived(const struct mover *m, const struct group *g, size_t n, int root, ptrdiff_t dst, ptrdiff_t sst,
                   unsigned seed)
{
    size_t at = 0;
    for (int i = 0; i < g->size; i++) {
        int pe = world_pe(g, i);
        switch (m->move) {
        case BROADCAST: return holds(0, 1, n, world_pe(g, root), 0, 1, m->elem, seed);
        case ALLTOALL:
            if (!holds((size_t)i * n, 1, n, pe, (size_t)g->mine * n, 1, m->elem, seed))
                return 0;
            break;
        case ALLTOALLS:
            if (!holds((size_t)i * n * (size_t)dst, (size_t)dst, n, pe, (size_t)g->mine * n * (size_t)sst, (size_t)sst,
                       m->elem, seed))
                return 0;
            break;
        default:
            if (!holds(at, 1, share(m, n, pe), pe, 0, 1, m->elem, seed))
                return 0;
            at += share(m, n, pe);
        }
    }
    return 1;
}

static void one_move(const struct mover *m, const struct group *g, size_t n, int which)
{
    static long sync[2][SHMEM_COLLECT_SYNC_SIZE];
    unsigned seed = tap_random(&rnd);
    int root = (int)(tap_random(&rnd) % (unsigned)g->size), log_stride = g->stride == 1 ? 0 : g->stride == 2 ? 1 : -1;
    ptrdiff_t dst = 1 + tap_random(&rnd) % 3, sst = 1 + tap_random(&rnd) % 3;
    if (g->mine < 0 || (m->set && log_stride < 0))
        return;
    size_t most = n * (size_t)g->size * 3;
    memset(dest, 0x5a, (most + 1) * m->elem);
    fill_bytes(most, m->elem, seed);
    shmem_team_sync(g->team);
    size_t mine = share(m, n, me);
    if (m->set)
        m->set(dest, source, mine, root, dst, sst, g->start, log_stride, g->size, sync[which]);
    else
        CHECK(m->team(g->team, dest, source, mine, root, dst, sst) == 0);
    int untouched = m->set && m->move == BROADCAST && g->mine == root; /* active sets leave the root's dest unwritten */
    if (untouched)
        CHECKF(n == 0 || dest[0] == 0x5a, "%s of %zu wrote the root's dest", m->name, n);
    else
        CHECKF(arrived(m, g, n, root, dst, sst, seed), "%s of %zu, %d members from %d by %d, root %d, strides %td %td",
               m->name, n, g->size, g->start, g->stride, root, dst, sst);
    CHECKF(dest[most * m->elem] == 0x5a, "%s of %zu wrote past the end", m->name, n);
    shmem_team_sync(g->team);
}

/* Catches: blocks in the wrong order, a wrong offset after an empty contribution, mixed-up strides, a root that copies
 * to its own dest where it must not, or does not where it must. */
static void test_moves(void)
{
    for (size_t i = 0; i < sizeof movers / sizeof *movers; i++)
        for (int k = 0; k < 4; k++)
            one_move(&movers[i], &groups[tap_random(&rnd) % (unsigned)n_groups],
                     lengths[tap_random(&rnd) % (k ? 6 : 7)], k % 2);
}

/* Catches: data of a fast PE's next collective taken for this one's, when roots change without a barrier. */
static void test_back_to_back(void)
{
    enum { ROUNDS = 2000 };
    static long in[ROUNDS], out[ROUNDS], sum[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        in[i] = i * 100L + me;
        out[i] = sum[i] = -1;
    }
    shmem_barrier_all();
    for (int i = 0; i < ROUNDS; i++) {
        random_delay(&rnd);
        shmem_long_broadcast(SHMEM_TEAM_WORLD, &out[i], &in[i], 1, i % n_pes);
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &sum[i], &in[i], 1);
        CHECKF(out[i] == i * 100L + i % n_pes, "broadcast %d delivered %ld", i, out[i]);
        CHECKF(sum[i] == i * 100L * n_pes + n_pes * (n_pes - 1L) / 2, "sum %d is %ld", i, sum[i]);
    }
}

/* Catches: an access to addresses when there are no elements. */
static void test_nothing(void)
{
    const shmem_team_t t = SHMEM_TEAM_WORLD;
    CHECK(shmem_int_broadcast(t, NULL, NULL, 0, n_pes - 1) == 0 && shmem_int_collect(t, NULL, NULL, 0) == 0 &&
          shmem_int_fcollect(t, NULL, NULL, 0) == 0 && shmem_int_alltoall(t, NULL, NULL, 0) == 0 &&
          shmem_int_alltoalls(t, NULL, NULL, 1, 1, 0) == 0 && shmem_int_sum_reduce(t, NULL, NULL, 0) == 0 &&
          shmem_int_sum_inscan(t, NULL, NULL, 0) == 0);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    size_t room = (size_t)MOST * 32 * (n_pes > 2 ? (size_t)n_pes : 3);
    dest = shmem_malloc(room);
    source = shmem_malloc(room);
    add_group(0, 1, n_pes);
    add_group(n_pes - 1, -1, n_pes);
    add_group(n_pes / 2, 1, n_pes - n_pes / 2);
    add_group(0, 2, (n_pes + 1) / 2);
    add_group(n_pes - 1, 0, 1);
    if (n_pes >= 5)
        add_group(1, 3, (n_pes + 1) / 3);
    RUN(test_nothing, "collectives of 0 elements with NULL addresses");
    RUN(test_reductions, "every reduction and scan against the model");
    RUN(test_identical, "all members get the same bits");
    RUN(test_extremes, "the extreme values of signed and unsigned types");
    RUN(test_moves, "every broadcast, collect and alltoall against the model");
    RUN(test_back_to_back, "collectives back to back with changing roots");
    int status = tap_end();
    shmem_finalize();
    return status;
}
