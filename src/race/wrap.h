/*
 * wrap.h - for wrap_*.c: every routine of shmem_table.h, defined over its pshmem_ name.
 *
 * A file's routines are macros DO_<routine>(F, T, E): F the pshmem_ routine, T the type, E its bytes; `op` is the call, `c` the context.
 * Typed routines, and those by element size, are made over the form with a context, which both have.
 */
#ifndef RACE_WRAP_H
#define RACE_WRAP_H

#include "race/op.h"

#define RACE_WRAP(R, NAME, PARAMS)                                                                                   \
    RACE_API R NAME PARAMS;                                                                                          \
    R NAME PARAMS

/* The next definition of the routine: of routines of libfulmar without a pshmem_ name, which it does not call itself. */
#define RACE_NEXT(R, NAME, PARAMS)                                                                                   \
    static R(*next) PARAMS;                                                                                          \
    if (!next)                                                                                                       \
        next = (R(*) PARAMS)dlsym(RTLD_NEXT, #NAME);

#define RACE_OP(C, PE) struct race_op op __attribute__((unused)) = race_op_begin(__func__, RACE_CALLER, C, PE)

#define RACE_BOTH(R, PLAIN, CTX, PARAMS, BODY)                                                                       \
    RACE_WRAP(R, PLAIN, PARAMS)                                                                                      \
    {                                                                                                                \
        const shmem_ctx_t c = SHMEM_CTX_DEFAULT;                                                                     \
        RACE_OP(c, pe);                                                                                              \
        BODY                                                                                                         \
    }                                                                                                                \
    RACE_WRAP(R, CTX, (shmem_ctx_t c, SHMEM_UNWRAP PARAMS))                                                          \
    {                                                                                                                \
        RACE_OP(c, pe);                                                                                              \
        BODY                                                                                                         \
    }
#define RACE_DEF_C(R, NAME, N, T, PARAMS)                                                                            \
    RACE_BOTH(R, shmem_##N##NAME, shmem_ctx_##N##NAME, PARAMS, DO##NAME(pshmem_ctx_##N##NAME, T, sizeof(T)))
#define RACE_DEF_P(R, NAME, N, T, PARAMS)                                                                            \
    RACE_WRAP(R, shmem_##N##NAME, PARAMS)                                                                            \
    {                                                                                                                \
        DO##NAME(pshmem_##N##NAME, T, sizeof(T))                                                                     \
    }
#define RACE_DEF_S(R, NAME, KEY, B, PARAMS)                                                                          \
    RACE_BOTH(R, shmem_##NAME, shmem_ctx_##NAME, PARAMS, DO##KEY(pshmem_ctx_##NAME, void, B))

#endif
