/*
 * lib_types.c - the device library as C11: every routine for every type against C's own results, by loads and stores,
 * and through the ring, with requests that complete at once or late.
 */
#define SHMEMG_HOST_ITEMS
#include "world.h"

enum { N = 20 };
#define SAY(N, what) "%s of %s", what, #N

/* Put, get and put_signal in one of their forms, with every count up to 20, on the other PE and on itself. */
#define TEST_RMA(S, G, N_, T)                                                                                        \
    for (int pe = 0; pe < 2; pe++)                                                                                   \
        for (size_t n = 0; n <= N; n++) {                                                                            \
            T *a = AT(T, 0), *b = AT(T, 1024), *back = AT(T, 2048), *r = there(pe, b);                               \
            uint64_t *s = AT(uint64_t, 4096), *rs = there(pe, s);                                                    \
            for (size_t i = 0; i <= N; i++)                                                                          \
                a[i] = (T)(i * 37 + n + 5), r[i] = back[i] = (T)3;                                                   \
            *rs = 10;                                                                                                \
            shmemg_##N_##_put##S(b, a, n, pe);                                                                       \
            shmemg_quiet##S();                                                                                       \
            CHECKF(!memcmp(r, a, n * sizeof *a) && r[n] == (T)3, SAY(N_, "put" #S));                                 \
            shmemg_##N_##_get##S(back, b, n, pe);                                                                    \
            CHECKF(!memcmp(back, a, n * sizeof *a) && back[n] == (T)3, SAY(N_, "get" #S));                           \
            memset(r, 0, sizeof(T) * N), memset(back, 0, sizeof(T) * N);                                             \
            shmemg_ctx_##N_##_put_nbi##S(ctx, b, a, n, pe);                                                          \
            shmemg_ctx_quiet##S(ctx);                                                                                \
            shmemg_ctx_##N_##_get_nbi##S(ctx, back, b, n, pe);                                                       \
            shmemg_ctx_quiet##S(ctx);                                                                                \
            CHECKF(!memcmp(r, a, n * sizeof *a) && !memcmp(back, a, n * sizeof *a), SAY(N_, "nbi" #S));              \
            memset(r, 0, sizeof(T) * N);                                                                             \
            shmemg_##N_##_put_signal##S(b, a, n, s, n, SHMEM_SIGNAL_SET, pe);                                        \
            shmemg_quiet##S();                                                                                       \
            CHECKF(!memcmp(r, a, n * sizeof *a) && *rs == n, SAY(N_, "put_signal" #S));                              \
            memset(r, 0, sizeof(T) * N);                                                                             \
            shmemg_ctx_##N_##_put_signal_nbi##S(ctx, b, a, n, s, 7, SHMEM_SIGNAL_ADD, pe);                           \
            shmemg_ctx_quiet##S(ctx);                                                                                \
            CHECKF(!memcmp(r, a, n * sizeof *a) && *rs == n + 7, SAY(N_, "put_signal_nbi" #S));                      \
        }

#define TEST_PG(N_, T)                                                                                               \
    for (int pe = 0; pe < 2; pe++) {                                                                                 \
        T *b = AT(T, 1024), *r = there(pe, b);                                                                       \
        r[0] = r[2] = (T)3;                                                                                          \
        shmemg_##N_##_p(b + 1, (T)-7, pe);                                                                           \
        shmemg_ctx_##N_##_p(ctx, b + 3, (T)8, pe);                                                                   \
        shmemg_quiet();                                                                                              \
        CHECKF(r[0] == (T)3 && r[1] == (T)-7 && r[2] == (T)3 && r[3] == (T)8, SAY(N_, "p"));                         \
        CHECKF(shmemg_##N_##_g(b + 1, pe) == (T)-7 && shmemg_ctx_##N_##_g(ctx, b + 3, pe) == (T)8, SAY(N_, "g"));    \
    }

/* One operation in its three forms, each with and without a context. V0 before, V1 after; ARGS as ", x". */
#define TEST_FETCHING(N_, T, NAME, ARGS, V0, V1)                                                                     \
    for (int pe = 0; pe < 2; pe++) {                                                                                 \
        T *x = AT(T, 1024), *r = there(pe, x), *f = AT(T, 2048);                                                     \
        *r = (V0);                                                                                                   \
        T got = shmemg_##N_##_atomic##NAME(x SHMEM_UNWRAP ARGS, pe);                                                 \
        CHECKF(got == (V0) && *r == (V1), SAY(N_, "atomic" #NAME));                                                  \
        *r = (V0);                                                                                                   \
        got = shmemg_ctx_##N_##_atomic##NAME(ctx, x SHMEM_UNWRAP ARGS, pe);                                          \
        CHECKF(got == (V0) && *r == (V1), SAY(N_, "ctx_atomic" #NAME));                                              \
        *r = (V0), f[0] = f[1] = (T)99;                                                                              \
        shmemg_##N_##_atomic##NAME##_nbi(f, x SHMEM_UNWRAP ARGS, pe);                                                \
        shmemg_quiet();                                                                                              \
        CHECKF(f[0] == (V0) && f[1] == (T)99 && *r == (V1), SAY(N_, "atomic" #NAME "_nbi"));                         \
        *r = (V0), f[0] = (T)99;                                                                                     \
        shmemg_ctx_##N_##_atomic##NAME##_nbi(ctx, f, x SHMEM_UNWRAP ARGS, pe);                                       \
        shmemg_ctx_quiet(ctx);                                                                                       \
        CHECKF(f[0] == (V0) && *r == (V1), SAY(N_, "ctx_atomic" #NAME "_nbi"));                                      \
    }
#define TEST_PLAIN(N_, T, NAME, ARGS, V0, V1)                                                                        \
    for (int pe = 0; pe < 2; pe++) {                                                                                 \
        T *x = AT(T, 1024), *r = there(pe, x);                                                                       \
        r[0] = (V0), r[1] = (T)99;                                                                                   \
        shmemg_##N_##_atomic##NAME(x SHMEM_UNWRAP ARGS, pe);                                                         \
        shmemg_quiet();                                                                                              \
        CHECKF(r[0] == (V1) && r[1] == (T)99, SAY(N_, "atomic" #NAME));                                              \
        *r = (V0);                                                                                                   \
        shmemg_ctx_##N_##_atomic##NAME(ctx, x SHMEM_UNWRAP ARGS, pe);                                                \
        shmemg_quiet();                                                                                              \
        CHECKF(*r == (V1), SAY(N_, "ctx_atomic" #NAME));                                                             \
    }
#define TEST_BOTH(N_, T, NAME, ARGS, V0, V1)                                                                         \
    TEST_PLAIN(N_, T, NAME, ARGS, V0, V1) TEST_FETCHING(N_, T, _fetch##NAME, ARGS, V0, V1)

#define TEST_EXT(N_, T)                                                                                              \
    TEST_PLAIN(N_, T, _set, (, (T)-5), (T)7, (T)-5)                                                                  \
    TEST_FETCHING(N_, T, _swap, (, (T)-5), (T)7, (T)-5)                                                              \
    TEST_FETCHING(N_, T, _fetch, (), (T)-7, (T)-7)
#define TEST_AMO(N_, T)                                                                                              \
    TEST_BOTH(N_, T, _inc, (), (T)-1, (T)0)                                                                          \
    TEST_BOTH(N_, T, _add, (, (T)-9), (T)4, (T)-5)                                                                   \
    TEST_BOTH(N_, T, _and, (, (T)12), (T)-6, (T)8)                                                                   \
    TEST_BOTH(N_, T, _or, (, (T)12), (T)-6, (T)((T)-6 | 12))                                                         \
    TEST_BOTH(N_, T, _xor, (, (T)-1), (T)5, (T)~5)                                                                   \
    TEST_FETCHING(N_, T, _compare_swap, (, (T)-2, (T)6), (T)-2, (T)6)                                                \
    TEST_FETCHING(N_, T, _compare_swap, (, (T)2, (T)6), (T)-2, (T)-2)

/* The condition, by C's operators. */
#define HOLDS(a, cmp, b)                                                                                             \
    ((cmp) == SHMEM_CMP_EQ   ? (a) == (b)                                                                            \
     : (cmp) == SHMEM_CMP_NE ? (a) != (b)                                                                            \
     : (cmp) == SHMEM_CMP_GT ? (a) > (b)                                                                             \
     : (cmp) == SHMEM_CMP_LE ? (a) <= (b)                                                                            \
     : (cmp) == SHMEM_CMP_LT ? (a) < (b)                                                                             \
                             : (a) >= (b))
#define TEST_WAIT(S, G, N_, T)                                                                                       \
    for (int cmp = SHMEM_CMP_EQ; cmp <= SHMEM_CMP_LE; cmp++)                                                         \
        for (int i = 0; i < 25; i++) {                                                                               \
            const T v[] = {(T)-1, 0, 1, (T)((T)1 << (sizeof(T) * 8 - 2)), (T)~((T)1 << (sizeof(T) * 8 - 2))};        \
            T *x = AT(T, 1024), a = v[i / 5], b = v[i % 5];                                                          \
            x[0] = a, x[1] = (T)~a;                                                                                  \
            int so = HOLDS(a, cmp, b);                                                                               \
            CHECKF(shmemg_##N_##_test##S(x, cmp, b) == so, SAY(N_, "test" #S));                                      \
            CHECKF(shmemg_ctx_##N_##_test##S(ctx, x, cmp, b) == so, SAY(N_, "ctx_test" #S));                         \
            if (so)                                                                                                  \
                shmemg_##N_##_wait_until##S(x, cmp, b), shmemg_ctx_##N_##_wait_until##S(ctx, x, cmp, b);             \
        }

#define TEST_RMA_ROW(N_, T)                                                                                          \
    static void rma_##N_(shmem_ctx_t ctx)                                                                            \
    {                                                                                                                \
        TEST_RMA(, 0, N_, T) TEST_RMA(_htg, 0, N_, T) TEST_RMA(_tg, 0, N_, T) TEST_PG(N_, T)                         \
    }
#define TEST_EXT_ROW(N_, T)                                                                                          \
    static void ext_##N_(shmem_ctx_t ctx)                                                                            \
    {                                                                                                                \
        TEST_EXT(N_, T)                                                                                              \
    }
#define TEST_AMO_ROW(N_, T)                                                                                          \
    static void amo_##N_(shmem_ctx_t ctx)                                                                            \
    {                                                                                                                \
        TEST_AMO(N_, T) TEST_WAIT(, 0, N_, T) TEST_WAIT(_htg, 0, N_, T) TEST_WAIT(_tg, 0, N_, T)                     \
    }
#define ROW(F, N_, T, RMA, AMO, EXT, ...)                                                                            \
    SHMEMG_IF_(SHMEMG_HAS_(N_))(SHMEM_IF_##RMA(TEST_RMA_ROW(N_, T)) SHMEM_IF_##EXT(TEST_EXT_ROW(N_, T))              \
                                SHMEM_IF_##AMO(TEST_AMO_ROW(N_, T)))
SHMEM_TYPES(ROW, )
#define CALL_ROW(F, N_, T, RMA, AMO, EXT, ...)                                                                       \
    SHMEMG_IF_(SHMEMG_HAS_(N_))(SHMEM_IF_##RMA(rma_##N_(ctx);) SHMEM_IF_##EXT(ext_##N_(ctx);)                        \
                                SHMEM_IF_##AMO(amo_##N_(ctx);))

/* The words of an array, in their places, and what a wait for several signals says of them. */
#define TEST_SIGNALS(S, V, ONE, EACH)                                                                                \
    for (int k = 0; k < 4; k++) {                                                                                    \
        const uint64_t words[4] = {5, 9, 2, 7}, least = 6, each[4] = {5, 10, 3, 7};                                   \
        const int except[4] = {0, k == 1, 0, k == 2};                                                                \
        int none[4] = {1, 1, 1, 1}, holds = 0, same = 1;                                                             \
        uint64_t *s = AT(uint64_t, 1024), seen[4] = {1, 1, 1, 1};                                                    \
        size_t at[4], n = 0, want[4];                                                                                \
        for (int i = 0; i < 4; i++) {                                                                                \
            s[i] = words[i];                                                                                         \
            if (words[i] >= (#V[0] ? each[i] : least) && !except[i])                                                 \
                want[n++] = (size_t)i, none[i] = 0;                                                                  \
        }                                                                                                            \
        (void)least, (void)each;                                                                                     \
        holds = (int)shmemxg_signal_wait_until_some##V##S(s, 4, at, except, SHMEM_CMP_GE, ONE EACH, seen);           \
        for (size_t i = 0; i < n; i++)                                                                               \
            same = same && at[i] == want[i] && seen[i] == words[want[i]];                                            \
        CHECKF((size_t)holds == n && same && (n == 4 || seen[n] == 1), "signal_wait_until_some" #V #S);              \
        shmemxg_ctx_signal_wait_until_all##V##S(ctx, s, 4, none, SHMEM_CMP_GE, ONE EACH, seen);                      \
        for (size_t i = 0; i < n; i++)                                                                               \
            CHECKF(seen[want[i]] == words[want[i]], "signal_wait_until_all" #V #S);                                  \
        at[0] = shmemxg_signal_wait_until_any##V##S(s, 4, none, SHMEM_CMP_GE, ONE EACH, seen);                       \
        CHECKF(n == 0 ? at[0] == SIZE_MAX : at[0] < 4 && !none[at[0]] && seen[0] == words[at[0]],                    \
               "signal_wait_until_any" #V #S);                                                                       \
        CHECK(n == 0 || shmemxg_signal_wait_until_any##V##S(s, 4, none, SHMEM_CMP_GE, ONE EACH, NULL) < 4);          \
    }
#define TEST_COUNTS(S)                                                                                               \
    {                                                                                                                \
        uint64_t *s = AT(uint64_t, 1024);                                                                            \
        s[0] = 10, s[1] = 99;                                                                                        \
        CHECKF(shmemxg_signal_test_count##S(s, 11) == 0 && s[0] == 10, "signal_test_count" #S " takes too many");    \
        CHECKF(shmemxg_ctx_signal_test_count##S(ctx, s, 3) == 1 && s[0] == 7, "signal_test_count" #S);               \
        CHECKF(shmemxg_signal_wait_count##S(s, 5) == 7 && s[0] == 2 && s[1] == 99, "signal_wait_count" #S);          \
        CHECKF(shmemxg_ctx_signal_wait_count##S(ctx, s, 2) == 2 && s[0] == 0, "ctx_signal_wait_count" #S);           \
    }
/* Additions to float and double, in all forms. */
#define TEST_FLOAT(T, N_)                                                                                            \
    for (int pe = 0; pe < 2; pe++) {                                                                                 \
        T *x = AT(T, 1024), *r = there(pe, x), *f = AT(T, 2048);                                                     \
        r[0] = (T)1.5, r[1] = f[0] = f[1] = f[2] = (T)99;                                                            \
        shmemxg_##N_##_atomic_add(x, (T)0.25, pe);                                                                   \
        shmemg_quiet();                                                                                              \
        CHECKF(r[0] == (T)1.75 && r[1] == (T)99, SAY(N_, "atomic_add"));                                             \
        shmemxg_ctx_##N_##_atomic_add(ctx, x, (T)-2, pe);                                                            \
        shmemg_ctx_quiet(ctx);                                                                                       \
        CHECKF(shmemxg_##N_##_atomic_fetch_add(x, (T)8, pe) == (T)-0.25, SAY(N_, "ctx_atomic_add"));                 \
        CHECKF(shmemxg_ctx_##N_##_atomic_fetch_add(ctx, x, (T)1, pe) == (T)7.75, SAY(N_, "atomic_fetch_add"));       \
        shmemxg_##N_##_atomic_fetch_add_nbi(f, x, (T)0.5, pe);                                                       \
        shmemg_quiet();                                                                                              \
        shmemxg_ctx_##N_##_atomic_fetch_add_nbi(ctx, f + 1, x, (T)4, pe);                                            \
        shmemg_ctx_quiet(ctx);                                                                                       \
        CHECKF(f[0] == (T)8.75 && f[1] == (T)9.25 && f[2] == (T)99 && r[0] == (T)13.25 && r[1] == (T)99,             \
               SAY(N_, "atomic_fetch_add_nbi"));                                                                     \
    }
static void floats(shmem_ctx_t ctx)
{
    TEST_FLOAT(float, float) TEST_FLOAT(double, double)
}

static void signals(shmem_ctx_t ctx)
{
    TEST_SIGNALS(, , least, ) TEST_SIGNALS(, _vector, , each) TEST_SIGNALS(_htg, , least, )
    TEST_SIGNALS(_htg, _vector, , each) TEST_SIGNALS(_tg, , least, ) TEST_SIGNALS(_tg, _vector, , each)
    TEST_COUNTS() TEST_COUNTS(_htg) TEST_COUNTS(_tg)
}

static void all_types(void)
{
    on_pe(0);
    mine = world[0].heap;
    shmem_ctx_t ctx = &world[0].ctx;
    SHMEM_TYPES(CALL_ROW, )
    floats(ctx);
    signals(ctx);
    CHECK(shmemg_my_pe() == 0 && shmemg_n_pes() == 2 && shmemg_ctx_my_pe(&world[1].ctx) == 1);
}

/* Catches: a wrong operation, width, sign or operand of one type in one form; a request where none is needed. */
static void test_types_direct(void)
{
    world_up(2, 1, 4, 0);
    all_types();
    CHECK(shmemg_ptr(mine + 40, 1) == world[1].heap + 40 && shmemg_ptr(mine, 0) == mine);
    CHECK(all_asked() == 0);
    world_down();
}

/* Catches: an argument in the wrong place of a request, a result in the wrong result slot, an incomplete quiet. */
static void test_types_ring(void)
{
    world_up(2, 0, 4, 0);
    all_types();
    CHECK(shmemg_ptr(mine, 1) == NULL);
    for (int op = 0; op <= SHI_OP_GET_INLINE; op++)
        CHECKF(asked(0, op) > 0, "request %d was never made", op);
    world_down();
}

/* Catches: a ticket or an epoch that a context for one caller at a time loses or uses twice. */
static void test_types_single(void)
{
    world_up(2, 0, 4, 1);
    world[0].ctx.single = 1;
    all_types();
    CHECK(world[0].ring.head == (uint64_t)all_asked());
    world_down();
}

int main(void)
{
    RUN(test_types_direct, "every routine and type by loads and stores");
    RUN(test_types_ring, "every routine and type through the ring");
    RUN(test_types_single, "every routine and type with a context for one caller at a time");
    return tap_end();
}
