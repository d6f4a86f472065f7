/* wrap_amo.c - atomics, and the updates of signals. */
#include "race/wrap.h"

#include <shmemx_amo.h>

#define FLOATING(T) ((T)0.5 != (T)0)
#define ATOMIC(T, E) race_op_atomic(&op, E, FLOATING(T))

/* An update gives the clock before it, what fetches takes the word's after it. */
#define UPDATE(KIND, T, E)                                                                                           \
    race_op_remote(&op, KIND, dest, E, ATOMIC(T, E));                                                                \
    race_op_give(&op, dest, E, 0);
#define FETCHED(T, WORD, CALL)                                                                                       \
    T got = CALL;                                                                                                    \
    race_op_take(&op, WORD);                                                                                         \
    return got;
#define NBI(T, E)                                                                                                    \
    race_op_writes(&op, fetch, E, 1);                                                                                \
    UPDATE(RACE_AMO_NBI, T, E)

#define DO_atomic_inc(F, T, E) UPDATE(RACE_AMO, T, E) F(c, dest, pe);
#define DO_atomic_add(F, T, E) UPDATE(RACE_AMO, T, E) F(c, dest, value, pe);
#define DO_atomic_set(F, T, E) UPDATE(RACE_AMO, T, E) F(c, dest, value, pe);
#define DO_atomic_and(F, T, E) UPDATE(RACE_AMO, T, E) F(c, dest, value, pe);
#define DO_atomic_or(F, T, E) UPDATE(RACE_AMO, T, E) F(c, dest, value, pe);
#define DO_atomic_xor(F, T, E) UPDATE(RACE_AMO, T, E) F(c, dest, value, pe);
#define DO_atomic_fetch_inc(F, T, E) UPDATE(RACE_AMO_FETCH, T, E) FETCHED(T, dest, F(c, dest, pe))
#define DO_atomic_fetch_add(F, T, E) UPDATE(RACE_AMO_FETCH, T, E) FETCHED(T, dest, F(c, dest, value, pe))
#define DO_atomic_swap(F, T, E) UPDATE(RACE_AMO_FETCH, T, E) FETCHED(T, dest, F(c, dest, value, pe))
#define DO_atomic_fetch_and(F, T, E) UPDATE(RACE_AMO_FETCH, T, E) FETCHED(T, dest, F(c, dest, value, pe))
#define DO_atomic_fetch_or(F, T, E) UPDATE(RACE_AMO_FETCH, T, E) FETCHED(T, dest, F(c, dest, value, pe))
#define DO_atomic_fetch_xor(F, T, E) UPDATE(RACE_AMO_FETCH, T, E) FETCHED(T, dest, F(c, dest, value, pe))
#define DO_atomic_compare_swap(F, T, E) UPDATE(RACE_AMO_FETCH, T, E) FETCHED(T, dest, F(c, dest, cond, value, pe))
#define DO_atomic_fetch(F, T, E)                                                                                     \
    race_op_remote(&op, RACE_AMO_READ, source, E, ATOMIC(T, E));                                                     \
    FETCHED(T, source, F(c, source, pe))
#define DO_atomic_fetch_nbi(F, T, E)                                                                                 \
    race_op_writes(&op, fetch, E, 1);                                                                                \
    race_op_remote(&op, RACE_AMO_NBI_READ, source, E, ATOMIC(T, E));                                                 \
    F(c, fetch, source, pe);
#define DO_atomic_fetch_inc_nbi(F, T, E) NBI(T, E) F(c, fetch, dest, pe);
#define DO_atomic_fetch_add_nbi(F, T, E) NBI(T, E) F(c, fetch, dest, value, pe);
#define DO_atomic_swap_nbi(F, T, E) NBI(T, E) F(c, fetch, dest, value, pe);
#define DO_atomic_fetch_and_nbi(F, T, E) NBI(T, E) F(c, fetch, dest, value, pe);
#define DO_atomic_fetch_or_nbi(F, T, E) NBI(T, E) F(c, fetch, dest, value, pe);
#define DO_atomic_fetch_xor_nbi(F, T, E) NBI(T, E) F(c, fetch, dest, value, pe);
#define DO_atomic_compare_swap_nbi(F, T, E) NBI(T, E) F(c, fetch, dest, cond, value, pe);

/* Deprecated names. */
#define OLD RACE_OP(SHMEM_CTX_DEFAULT, pe);
#define DO_inc(F, T, E) OLD UPDATE(RACE_AMO, T, E) F(dest, pe);
#define DO_add(F, T, E) OLD UPDATE(RACE_AMO, T, E) F(dest, value, pe);
#define DO_set(F, T, E) OLD UPDATE(RACE_AMO, T, E) F(dest, value, pe);
#define DO_finc(F, T, E) OLD UPDATE(RACE_AMO_FETCH, T, E) FETCHED(T, dest, F(dest, pe))
#define DO_fadd(F, T, E) OLD UPDATE(RACE_AMO_FETCH, T, E) FETCHED(T, dest, F(dest, value, pe))
#define DO_swap(F, T, E) OLD UPDATE(RACE_AMO_FETCH, T, E) FETCHED(T, dest, F(dest, value, pe))
#define DO_cswap(F, T, E) OLD UPDATE(RACE_AMO_FETCH, T, E) FETCHED(T, dest, F(dest, cond, value, pe))
#define DO_fetch(F, T, E)                                                                                            \
    OLD race_op_remote(&op, RACE_AMO_READ, source, E, ATOMIC(T, E));                                                 \
    FETCHED(T, source, F(source, pe))

#define ROW(F, N, T, RMA, AMO, EXT, BIT, ...)                                                                        \
    SHMEM_IF_##AMO(SHMEM_API_AMO(F##_C, F##_P, N, T) SHMEM_API_OA(F##_C, F##_P, N, T))                               \
        SHMEM_IF_##EXT(SHMEM_API_EXT(F##_C, F##_P, N, T) SHMEM_API_OX(F##_C, F##_P, N, T))                           \
            SHMEM_IF_##BIT(SHMEM_API_BIT(F##_C, F##_P, N, T))
SHMEM_TYPES(ROW, RACE_DEF)

#define SIGNAL(NAME)                                                                                                 \
    RACE_BOTH(void, shmem_##NAME, shmem_ctx_##NAME, (uint64_t * sig_addr, uint64_t signal, int pe),                  \
              race_op_remote(&op, RACE_AMO, sig_addr, sizeof *sig_addr, race_op_atomic(&op, sizeof *sig_addr, 0));   \
              race_op_give(&op, sig_addr, sizeof *sig_addr, 0); pshmem_ctx_##NAME(c, sig_addr, signal, pe);)
SIGNAL(signal_add)
SIGNAL(signal_set)

#define EXTENSION(R, NAME, N, T, PARAMS)                                                                             \
    RACE_BOTH(R, shmemx_##N##NAME, shmemx_ctx_##N##NAME, PARAMS, DO##NAME(pshmemx_ctx_##N##NAME, T, sizeof(T)))
SHMEMX_FOR_EACH_FLOAT(EXTENSION)
#undef FLOATING
#define FLOATING(T) 0
SHMEMX_FOR_EACH_WIDE(EXTENSION)
