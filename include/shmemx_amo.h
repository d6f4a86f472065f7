/*
 * shmemx_amo.h - atomic additions to float and double, and compare-and-swap of 16 bytes; included by shmemx.h. Nothing here is collective.
 *
 * They are atomic with the operations of shmem.h on the same type and domain, shmem_double_atomic_swap for example, wherever the PEs are.
 */
#ifndef SHMEMX_AMO_H
#define SHMEMX_AMO_H
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Each is one addition, rounded as the processor's, or the device's if a kernel makes it directly; the order of additions is not defined. */
#define SHMEMX_API_FLOAT(C, N, T)                                                                                    \
    C(void, _atomic_add, N, T, (T *dest, T value, int pe))                                                           \
    C(T, _atomic_fetch_add, N, T, (T *dest, T value, int pe))                                                        \
    C(void, _atomic_fetch_add_nbi, N, T, (T *fetch, T *dest, T value, int pe))
#define SHMEMX_FOR_EACH_FLOAT(C) SHMEMX_API_FLOAT(C, float, float) SHMEMX_API_FLOAT(C, double, double)

/*
 * 16 bytes. shmemx_uint128_atomic_compare_swap stores value in dest on the PE if both its words equal those of cond, and returns what it
 * was; with cond equal to value it only reads. dest is aligned to 16 bytes and not in device memory. The processor needs an instruction
 * for it: cmpxchg16b, or arm64; on another one the call ends the job with one line. No other routine is atomic with it.
 */
#ifdef __GNUC__
typedef struct __attribute__((aligned(16))) {
#else
typedef struct {
#endif
    uint64_t word[2];
} shmemx_uint128_t;
#define SHMEMX_FOR_EACH_WIDE(C)                                                                                      \
    C(shmemx_uint128_t, _atomic_compare_swap, uint128, shmemx_uint128_t,                                             \
      (shmemx_uint128_t * dest, shmemx_uint128_t cond, shmemx_uint128_t value, int pe))

#define SHMEMX_FN_(R, NAME, N, T, PARAMS)                                                                            \
    R shmemx_##N##NAME PARAMS;                                                                                       \
    R pshmemx_##N##NAME PARAMS;                                                                                      \
    R shmemx_ctx_##N##NAME(shmem_ctx_t ctx, SHMEM_UNWRAP PARAMS);                                                    \
    R pshmemx_ctx_##N##NAME(shmem_ctx_t ctx, SHMEM_UNWRAP PARAMS);
SHMEMX_FOR_EACH_FLOAT(SHMEMX_FN_)
SHMEMX_FOR_EACH_WIDE(SHMEMX_FN_)
#undef SHMEMX_FN_

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

/* ---- shmemx_atomic_add and the like by the type of the first pointer, with a context before it or without ------------------------ */

#ifndef SHMEM_NO_GENERICS
#ifdef __cplusplus
#define SHMEMX_CXX_(R, NAME, N, T, PARAMS)                                                                           \
    template <class... A> inline R shmemx##NAME(T *first, A... rest)                                                 \
    {                                                                                                                \
        return shmemx_##N##NAME(first, rest...);                                                                     \
    }                                                                                                                \
    template <class... A> inline R shmemx##NAME(shmem_ctx_t ctx, T *first, A... rest)                                \
    {                                                                                                                \
        return shmemx_ctx_##N##NAME(ctx, first, rest...);                                                            \
    }
#if __cplusplus >= 201103L
SHMEMX_FOR_EACH_FLOAT(SHMEMX_CXX_)
SHMEMX_FOR_EACH_WIDE(SHMEMX_CXX_)
#endif
#undef SHMEMX_CXX_
#elif defined(SHMEM_GENERIC_H)
#define SHMEMX_FLOAT_(P, NAME, sel)                                                                                  \
    _Generic((sel), float * : P##float##NAME, double * : P##double##NAME, default : shmem_no_such_type_)
#define SHMEMX_WIDE_(P, NAME, sel) _Generic((sel), shmemx_uint128_t * : P##uint128##NAME, default : shmem_no_such_type_)
#define SHMEMX_BOTH_(SELECT, NAME, ...)                                                                              \
    _Generic((SHMEM_ARG1_(__VA_ARGS__, 0)),                                                                          \
        shmem_ctx_t : SELECT(shmemx_ctx_, NAME, SHMEM_ARG2_(__VA_ARGS__, 0, 0)),                                     \
        default : SELECT(shmemx_, NAME, SHMEM_ARG1_(__VA_ARGS__, 0)))(__VA_ARGS__)
#define shmemx_atomic_add(...) SHMEMX_BOTH_(SHMEMX_FLOAT_, _atomic_add, __VA_ARGS__)
#define shmemx_atomic_fetch_add(...) SHMEMX_BOTH_(SHMEMX_FLOAT_, _atomic_fetch_add, __VA_ARGS__)
#define shmemx_atomic_fetch_add_nbi(...) SHMEMX_BOTH_(SHMEMX_FLOAT_, _atomic_fetch_add_nbi, __VA_ARGS__)
#define shmemx_atomic_compare_swap(...) SHMEMX_BOTH_(SHMEMX_WIDE_, _atomic_compare_swap, __VA_ARGS__)
#endif
#endif
#endif
