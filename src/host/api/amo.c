/* amo.c - entry points of the atomic memory operations, with their deprecated names and the extensions of shmemx_amo.h. */
#include "host/api/def.h"

#include <shmemx_amo.h>

#include "host/net/node/doorbell.h"
#include "host/ops/amo.h"

#define ORDER __ATOMIC_SEQ_CST

/* Convert a value to a word of the same bytes, and back. */
#define WORD(x) __extension__({ uint64_t w_ = 0; memcpy(&w_, &(x), sizeof(x)); w_; })
#define VALUE(T, word) __extension__({ T v_; uint64_t w_ = (word); memcpy(&v_, &w_, sizeof v_); v_; })
#define CALL(ADDR, OP, V, C) (&(const struct shi_amo_call){__func__, #ADDR, SHI_AMO_##OP, V, C})

/* On a mapped word the update is one instruction; else the slow path does it. */
#define UPDATE(T, OP, V, NEAR)                                                                                       \
    T *at = shi_fast_word(c, dest, sizeof *at, pe);                                                                       \
    if (shi_likely(at != NULL)) {                                                                                    \
        NEAR;                                                                                                        \
        shi_doorbell_ring_word(&c->peer[pe].rank);                                                                   \
    } else                                                                                                           \
        shi_amo_update(c, dest, sizeof *at, pe, CALL(dest, OP, V, 0));
#define FETCH(T, ADDR, OP, V, C, NEAR)                                                                               \
    READ(T, ADDR, OP, V, C, NEAR; shi_doorbell_ring_word(&c->peer[pe].rank))
#define READ(T, ADDR, OP, V, C, NEAR)                                                                                \
    T old, *at = shi_fast_word(c, ADDR, sizeof *at, pe);                                                                  \
    if (shi_likely(at != NULL)) {                                                                                    \
        NEAR;                                                                                                        \
    } else                                                                                                           \
        old = VALUE(T, shi_amo_fetch(c, (void *)(ADDR), sizeof *at, pe, CALL(ADDR, OP, V, C)));                            \
    return old;
#define FETCH_NBI(T, ADDR, OP, V, C) shi_amo_fetch_nbi(c, (void *)(ADDR), sizeof(T), pe, CALL(ADDR, OP, V, C), fetch);

static const uint64_t one = 1;

#define DO_atomic_inc(T, E) UPDATE(T, ADD, one, __atomic_fetch_add(at, 1, ORDER))
#define DO_atomic_add(T, E) UPDATE(T, ADD, WORD(value), __atomic_fetch_add(at, value, ORDER))
#define DO_atomic_and(T, E) UPDATE(T, AND, WORD(value), __atomic_fetch_and(at, value, ORDER))
#define DO_atomic_or(T, E) UPDATE(T, OR, WORD(value), __atomic_fetch_or(at, value, ORDER))
#define DO_atomic_xor(T, E) UPDATE(T, XOR, WORD(value), __atomic_fetch_xor(at, value, ORDER))
#define DO_atomic_set(T, E) UPDATE(T, SET, WORD(value), __atomic_store(at, &value, ORDER))

#define DO_atomic_fetch_inc(T, E) FETCH(T, dest, ADD, one, 0, old = __atomic_fetch_add(at, 1, ORDER))
#define DO_atomic_fetch_add(T, E) FETCH(T, dest, ADD, WORD(value), 0, old = __atomic_fetch_add(at, value, ORDER))
#define DO_atomic_fetch_and(T, E) FETCH(T, dest, AND, WORD(value), 0, old = __atomic_fetch_and(at, value, ORDER))
#define DO_atomic_fetch_or(T, E) FETCH(T, dest, OR, WORD(value), 0, old = __atomic_fetch_or(at, value, ORDER))
#define DO_atomic_fetch_xor(T, E) FETCH(T, dest, XOR, WORD(value), 0, old = __atomic_fetch_xor(at, value, ORDER))
#define DO_atomic_swap(T, E) FETCH(T, dest, SWAP, WORD(value), 0, __atomic_exchange(at, &value, &old, ORDER))
#define DO_atomic_fetch(T, E) READ(T, source, FETCH, 0, 0, __atomic_load(at, &old, ORDER))
#define DO_atomic_compare_swap(T, E)                                                                                 \
    FETCH(T, dest, CSWAP, WORD(value), WORD(cond),                                                                   \
          (__atomic_compare_exchange_n(at, &cond, value, 0, ORDER, ORDER), old = cond))

#define DO_atomic_fetch_inc_nbi(T, E) FETCH_NBI(T, dest, ADD, one, 0)
#define DO_atomic_fetch_add_nbi(T, E) FETCH_NBI(T, dest, ADD, WORD(value), 0)
#define DO_atomic_fetch_and_nbi(T, E) FETCH_NBI(T, dest, AND, WORD(value), 0)
#define DO_atomic_fetch_or_nbi(T, E) FETCH_NBI(T, dest, OR, WORD(value), 0)
#define DO_atomic_fetch_xor_nbi(T, E) FETCH_NBI(T, dest, XOR, WORD(value), 0)
#define DO_atomic_swap_nbi(T, E) FETCH_NBI(T, dest, SWAP, WORD(value), 0)
#define DO_atomic_fetch_nbi(T, E) FETCH_NBI(T, source, FETCH, 0, 0)
#define DO_atomic_compare_swap_nbi(T, E) FETCH_NBI(T, dest, CSWAP, WORD(value), WORD(cond))

#define ON_DEFAULT(BODY)                                                                                             \
    const struct shmem_ctx *const c = SHI_CTX_DEFAULT;                                                               \
    BODY
#define DO_inc(T, E) ON_DEFAULT(DO_atomic_inc(T, E))
#define DO_add(T, E) ON_DEFAULT(DO_atomic_add(T, E))
#define DO_finc(T, E) ON_DEFAULT(DO_atomic_fetch_inc(T, E))
#define DO_fadd(T, E) ON_DEFAULT(DO_atomic_fetch_add(T, E))
#define DO_cswap(T, E) ON_DEFAULT(DO_atomic_compare_swap(T, E))
#define DO_fetch(T, E) ON_DEFAULT(DO_atomic_fetch(T, E))
#define DO_set(T, E) ON_DEFAULT(DO_atomic_set(T, E))
#define DO_swap(T, E) ON_DEFAULT(DO_atomic_swap(T, E))

#define ROW(F, N, T, RMA, AMO, EXT, BIT, ...)                                                                        \
    SHMEM_IF_##AMO(SHMEM_API_AMO(F##_C, F##_P, N, T) SHMEM_API_OA(F##_C, F##_P, N, T))                               \
    SHMEM_IF_##EXT(SHMEM_API_EXT(F##_C, F##_P, N, T) SHMEM_API_OX(F##_C, F##_P, N, T))                               \
    SHMEM_IF_##BIT(SHMEM_API_BIT(F##_C, F##_P, N, T))
SHMEM_TYPES(ROW, SHI_DEF)

/* ---- extensions -------------------------------------------------------------------------------------------------- */

#define NEAR_FADD(T) shi_amo_word(at, sizeof *at, SHI_AMO_FADD, WORD(value), 0)
#define DOX_atomic_add(T) UPDATE(T, FADD, WORD(value), NEAR_FADD(T))
#define DOX_atomic_fetch_add(T) FETCH(T, dest, FADD, WORD(value), 0, old = VALUE(T, NEAR_FADD(T)))
#define DOX_atomic_fetch_add_nbi(T) FETCH_NBI(T, dest, FADD, WORD(value), 0)
#define DOX_atomic_compare_swap(T)                                                                                   \
    T old;                                                                                                           \
    shi_amo_wide(c, __func__, dest, value.word, cond.word, pe, old.word);                                            \
    return old;
#define EXTENSION(R, NAME, N, T, PARAMS) SHI_DEF_BOTH(R, shmemx_##N##NAME, shmemx_ctx_##N##NAME, PARAMS, DOX##NAME(T))
SHMEMX_FOR_EACH_FLOAT(EXTENSION)
SHMEMX_FOR_EACH_WIDE(EXTENSION)
