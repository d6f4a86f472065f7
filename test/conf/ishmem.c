/*
 * ishmem.c - Intel SHMEM's names on the host; compiled as C11 here and as C++11 by test/lint/ishmem.sh.
 */
#include <ishmemx.h>

#include "../tap_pes.h"

/* ---- names ---------------------------------------------------------------------------------------------------------- */

typedef void (*any_function)(void);
typedef void (*signal_function)(uint64_t *, uint64_t, int);
struct pair {
    const char *name;
    any_function ours, standard;
};
#define PAIR(A, B) {#A, (any_function)A, (any_function)B},
#define PAIR_C(R, NAME, N, T, PARAMS) PAIR(ishmem_##N##NAME, shmem_##N##NAME)
#define PAIR_X(R, NAME, N, T, PARAMS) PAIR(ishmemx_##N##NAME, shmem_##N##NAME)
#define PAIR_S(R, NAME, KEY, B, PARAMS) PAIR(ishmem_##NAME, shmem_##NAME)
#define PAIR_XS(R, NAME, KEY, B, PARAMS) PAIR(ishmemx_##NAME, shmem_##NAME)
#define PAIR_U(R, NAME, PARAMS) PAIR(i##NAME, NAME)
#define ROW(F, N, T, RMA, AMO, EXT, BIT, WT, ...)                                                                    \
    SHMEM_IF_##RMA(SHMEM_API_ONE(F##_C, , N, T) SHMEM_API_PUTGET(F##_C, , N, T) SHMEM_API_BLOCK(F##_X, , N, T))      \
    SHMEM_IF_##AMO(SHMEM_API_AMO(F##_C, , N, T)) SHMEM_IF_##EXT(SHMEM_API_EXT(F##_C, , N, T))                        \
    SHMEM_IF_##BIT(SHMEM_API_BIT(F##_C, , N, T))                                                                     \
    SHMEM_IF_##WT(SHMEM_API_WT(, F##_C, N, T) SHMEM_API_SYN(, F##_C, N, T))

static const volatile struct pair pairs[] = {
    SHMEM_TYPES(ROW, PAIR) SHMEM_API_SIZED_PUTGET(PAIR_S) SHMEM_API_SIZED_BLOCK(PAIR_XS) SHMEM_API_TEAM(PAIR_U)
    PAIR(ishmem_init, shmem_init) PAIR(ishmem_init_thread, shmem_init_thread) PAIR(ishmem_finalize, shmem_finalize)
    PAIR(ishmem_query_thread, shmem_query_thread) PAIR(ishmemx_query_initialized, shmem_query_initialized)
    PAIR(ishmem_my_pe, shmem_my_pe) PAIR(ishmem_n_pes, shmem_n_pes) PAIR(ishmem_ptr, shmem_ptr)
    PAIR(ishmem_info_get_version, shmem_info_get_version) PAIR(ishmem_info_get_name, shmem_info_get_name)
    PAIR(ishmem_fence, shmem_fence) PAIR(ishmem_quiet, shmem_quiet) PAIR(ishmem_barrier_all, shmem_barrier_all)
    PAIR(ishmem_sync_all, shmem_sync_all) PAIR(ishmem_team_sync, shmem_team_sync)
    PAIR(ishmem_signal_fetch, shmem_signal_fetch) PAIR(ishmem_signal_wait_until, shmem_signal_wait_until)
    PAIR(ishmemx_signal_add, (signal_function)shmem_signal_add) /* overloaded in C++ */
    PAIR(ishmemx_signal_set, (signal_function)shmem_signal_set)
};

/* Catches: a name bound to another type's routine, or to another routine. */
static void names(void)
{
    enum { PAIRS = sizeof pairs / sizeof *pairs };
    CHECK(PAIRS > 700);
    for (int i = 0; i < PAIRS; i++)
        CHECKF(pairs[i].ours == pairs[i].standard, "%s is not its shmem_ routine", pairs[i].name);
    ishmemx_attr_t attr;
    int up = 0;
    attr.runtime = ISHMEMX_RUNTIME_OPENSHMEM;
    attr.use_uid = 0;
    ishmemx_init_attr(&attr); /* the second call has no effect */
    ishmemx_query_initialized(&up);
    CHECK(up == 1 && ishmem_my_pe() == me && ishmemx_runtime_get_type() == ISHMEMX_RUNTIME_OPENSHMEM);
}

/* ---- collectives ---------------------------------------------------------------------------------------------------- */

enum { N = 3, MAX_PES = 64 };
static long double from_[N * MAX_PES], to_[N * MAX_PES];

#define EACH(T, COUNT, EXPRESSION)                                                                                   \
    for (int i = 0; i < (COUNT); i++)                                                                                \
        ((T *)from_)[i] = (T)(EXPRESSION);                                                                           \
    memset(to_, 0, sizeof to_);                                                                                      \
    ishmem_barrier_all()
#define SAME(T, NAME, COUNT, EXPRESSION)                                                                             \
    for (int i = 0; i < (COUNT); i++)                                                                                \
        CHECKF(((T *)to_)[i] == (T)(EXPRESSION), "%s: element %d", NAME, i);                                         \
    ishmem_barrier_all()
#define MOVES(n, T)                                                                                                  \
    EACH(T, N, me * 10 + i);                                                                                         \
    ishmem_##n##_broadcast((T *)to_, (T *)from_, N, n_pes - 1);                                                      \
    SAME(T, #n "_broadcast", N, (n_pes - 1) * 10 + i);                                                               \
    EACH(T, N, me * 10 + i);                                                                                         \
    ishmem_##n##_fcollect((T *)to_, (T *)from_, N);                                                                  \
    SAME(T, #n "_fcollect", N * n_pes, i / N * 10 + i % N);                                                          \
    EACH(T, N, me * 10 + i);                                                                                         \
    ishmem_##n##_collect((T *)to_, (T *)from_, me == 0 ? 1 : N);                                                     \
    SAME(T, #n "_collect", 1 + N * (n_pes - 1), i ? (i + N - 1) / N * 10 + (i + N - 1) % N : 0);                     \
    EACH(T, N * n_pes, me * 10 + i);                                                                                 \
    ishmem_##n##_alltoall((T *)to_, (T *)from_, N);                                                                  \
    SAME(T, #n "_alltoall", N * n_pes, i / N * 10 + me * N + i % N);
#define FOLD(n, T, OP, MINE, EXPRESSION)                                                                             \
    EACH(T, N, MINE);                                                                                                \
    ishmem_##n##OP((T *)to_, (T *)from_, N);                                                                         \
    SAME(T, #n #OP, N, EXPRESSION);
#define FOLDS(n, T)                                                                                                  \
    FOLD(n, T, _max_reduce, me + i, n_pes - 1 + i) FOLD(n, T, _min_reduce, me + i, i)                                \
    FOLD(n, T, _sum_reduce, me + i, n_pes * (n_pes - 1) / 2 + n_pes * i)                                             \
    FOLD(n, T, _prod_reduce, i + 1, power(i + 1, n_pes))                                                             \
    FOLD(n, T, _sum_inscan, i + 1, (i + 1) * (me + 1)) FOLD(n, T, _sum_exscan, i + 1, (i + 1) * me)
#define BITS(n, T)                                                                                                   \
    FOLD(n, T, _and_reduce, me ? 7 : 5 + i, n_pes > 1 || !me ? 7 & (5 + i) : 0)                                      \
    FOLD(n, T, _or_reduce, 1 << me % 4, (1 << (n_pes < 4 ? n_pes : 4)) - 1)                                          \
    FOLD(n, T, _xor_reduce, i + 1, n_pes % 2 ? i + 1 : 0)
#define COLL(F, n, T, RMA, AMO, EXT, BIT, WT, AND, ...)                                                              \
    SHMEM_IF_##RMA({ MOVES(n, T) FOLDS(n, T) }) SHMEM_IF_##AND({ BITS(n, T) })

static long power(int base, int exponent)
{
    long p = 1;
    while (exponent--)
        p *= base;
    return p;
}

/* Catches: a collective on the wrong team, with swapped arguments, or of another type or operation. */
static void collectives(void)
{
    SHMEM_TYPES(COLL, )
    BITS(schar, signed char)
}

static void bytes(void)
{
    EACH(char, N, me * 10 + i);
    ishmem_broadcastmem(to_, from_, N, 0);
    SAME(char, "broadcastmem", N, i);
    EACH(char, N, me * 10 + i);
    ishmem_fcollectmem(to_, from_, N);
    SAME(char, "fcollectmem", N * n_pes, i / N * 10 + i % N);
    EACH(char, N, me * 10 + i);
    ishmem_collectmem(to_, from_, N);
    SAME(char, "collectmem", N * n_pes, i / N * 10 + i % N);
    EACH(char, N * n_pes, me * 10 + i);
    ishmem_alltoallmem(to_, from_, N);
    SAME(char, "alltoallmem", N * n_pes, i / N * 10 + me * N + i % N);
}

/* ---- templates, generics --------------------------------------------------------------------------------------------- */

static long cell[12];
static float real[8];
static uint64_t sig;

/* Catches: a generic name that calls another type's routine or another routine. */
static void any_type(void)
{
    long three[] = {1, 2, 3}, back[3], old = 0;
    int to = next_pe(), none[3] = {0, 0, 0};
    size_t where[3];
    ishmem_put(cell, three, 2, to);
    ishmem_p(cell + 2, 3L, to);
    ishmem_iput(cell + 3, three, 2, 1, 2, to);
    ishmemx_ibput(cell + 7, three, 2, 2, 1, 2, to);
    ishmem_put_signal(cell + 10, three, 1, &sig, 4, ISHMEM_SIGNAL_ADD, to);
    CHECK(ISHMEM_CMP_EQ == 1 && ISHMEM_CMP_NE == 2 && ISHMEM_CMP_GT == 3 && ISHMEM_CMP_GE == 4 && ISHMEM_CMP_LT == 5 && ISHMEM_CMP_LE == 6);
    ishmem_signal_wait_until(&sig, ISHMEM_CMP_GE, 4);
    ishmem_barrier_all();
    CHECK(cell[0] == 1 && cell[1] == 2 && cell[2] == 3 && cell[3] == 1 && cell[5] == 2 && cell[7] == 1 && cell[9] == 3);
    CHECK(cell[10] == 1 && ishmem_signal_fetch(&sig) == 4);
    ishmem_get(back, cell, 3, to);
    CHECK(back[2] == 3 && ishmem_g(cell + 1, to) == 2);
    ishmem_barrier_all();
    ishmem_atomic_add(cell, 4L, to);
    ishmem_atomic_inc(cell, to);
    ishmem_barrier_all();
    CHECK(ishmem_atomic_fetch(cell, me) == 6 && ishmem_atomic_swap(cell + 1, 9L, me) == 2);
    CHECK(ishmem_atomic_compare_swap(cell + 1, 9L, 8L, me) == 9 && cell[1] == 8);
    ishmem_atomic_fetch_add_nbi(&old, cell + 1, 1L, me);
    ishmem_quiet();
    CHECK(old == 8 && ishmem_test(cell + 1, ISHMEM_CMP_EQ, 9L));
    ishmem_wait_until(cell + 1, ISHMEM_CMP_GT, 8L);
    CHECK(ishmem_wait_until_any(cell, 3, none, ISHMEM_CMP_EQ, 9L) == 1);
    CHECK(ishmem_test_some(cell, 3, where, none, ISHMEM_CMP_LT, 9L) == 2 && where[1] == 2);
    real[0] = (float)me;
    ishmem_barrier_all();
    CHECK(ishmem_sum_reduce(real + 1, real, 1) == 0 && real[1] == (float)(n_pes * (n_pes - 1) / 2));
    CHECK(ishmem_max_reduce(ISHMEM_TEAM_WORLD, real + 2, real, 1) == 0 && real[2] == (float)(n_pes - 1));
    ishmem_barrier_all();
    CHECK(ishmem_broadcast(real + 3, real, 1, n_pes - 1) == 0 && real[3] == (float)(n_pes - 1));
    ishmem_barrier_all();
}

#ifdef __cplusplus
/* Explicit template types, and teams under the typed names: C++ only. */
static void cxx(void)
{
    ishmem_put<float>(real + 4, real, 1, me);
    ishmem_p<float>(real + 5, 2, me);
    CHECK(real[4] == real[0] && ishmem_g<float>(real + 5, me) == 2);
    CHECK(ishmem_float_sum_reduce(ISHMEM_TEAM_WORLD, real + 6, real + 5, 1) == 0 && real[6] == 2 * n_pes);
    CHECK(ishmem_sum_reduce<float>(ISHMEM_TEAM_SHARED, real + 7, real + 5, 1) == 0 && real[7] == real[6]);
}
#endif

int main(void)
{
    ishmem_init();
    tap_pes_begin();
    RUN(names, "typed, sized and untyped names");
    RUN(collectives, "collectives of all PEs, every type");
    RUN(bytes, "collectives of bytes");
    RUN(any_type, "generic names");
#ifdef __cplusplus
    RUN(cxx, "explicit types and teams");
#endif
    int status = tap_end();
    ishmem_finalize();
    return status;
}
