/*
 * ishmem_device.h - the device's part of ishmem.h: one body per routine, and emitters for all its names.
 *
 * A body ISHMEM_DO_name(G, N, T, E) uses the context and the parameters by their names in shmem_table.h; G is the group
 * of work-items that call it together, N and T the type, E the element's bytes. It is the body of ishmem_N_name, of the
 * overload ishmem_name, and of the _work_group forms of ishmemx.h.
 */
#if !defined(ISHMEM_DEVICE_H) && (defined(__OPENCL_C_VERSION__) || defined(__CUDACC__) || defined(SHI_SYCL))
#define ISHMEM_DEVICE_H

#include "shmemg.h"

#include "device/lib/coll.h"
#include "device/lib/many.h"
#include "device/lib/strided.h"

typedef shmem_team_t ishmem_team_t;
typedef struct {
    int num_contexts;
} ishmem_team_config_t;

#ifndef SHI_SYCL
#define ISHMEM_TEAM_WORLD SHMEM_DEVICE_TEAM_WORLD
#define ISHMEM_TEAM_SHARED SHMEM_DEVICE_TEAM_SHARED
#define ISHMEMX_TEAM_NODE SHMEM_DEVICE_TEAM_SHARED
#endif

#if defined(__OPENCL_C_VERSION__)
#define ISHMEM_FN SHI_FN __attribute__((overloadable))
#define ISHMEM_TWICE_longlong ~, 0 /* in OpenCL C the same type as long: one overload for both */
#define ISHMEM_TWICE_ulonglong ~, 0
#else
#define ISHMEM_FN SHI_FN
#endif
#define ISHMEM_ONCE_(N) SHMEMG_SPELL_1_(ISHMEM_TWICE_##N, 1, )

/* ---- bodies -------------------------------------------------------------------------------------------------------- */

#define ISHMEM_BITS_(N, V) shmemg_bits_##N##_(V)
#define ISHMEM_VALUE_(N) shmemg_value_##N##_
#define ISHMEM_SIGNED_(T) ((T)-1 < (T)1)

#define ISHMEM_DO_p(G, N, T, E) shi_p(ctx, dest, ISHMEM_BITS_(N, value), E, pe)
#define ISHMEM_DO_g(G, N, T, E) return ISHMEM_VALUE_(N)(shi_g(ctx, source, E, pe))
#define ISHMEM_DO_put(G, N, T, E) shi_put(ctx, G, dest, source, nelems * (E), pe, 0)
#define ISHMEM_DO_get(G, N, T, E) shi_get(ctx, G, dest, source, nelems * (E), pe, 0)
#define ISHMEM_DO_put_nbi(G, N, T, E) shi_put(ctx, G, dest, source, nelems * (E), pe, 1)
#define ISHMEM_DO_get_nbi(G, N, T, E) shi_get(ctx, G, dest, source, nelems * (E), pe, 1)
#define ISHMEM_DO_iput(G, N, T, E) shi_strided(ctx, G, 0, dest, source, dst, sst, 1, nelems, E, pe)
#define ISHMEM_DO_iget(G, N, T, E) shi_strided(ctx, G, 1, dest, source, dst, sst, 1, nelems, E, pe)
#define ISHMEM_DO_ibput(G, N, T, E) shi_strided(ctx, G, 0, dest, source, dst, sst, bsize, nblocks, E, pe)
#define ISHMEM_DO_ibget(G, N, T, E) shi_strided(ctx, G, 1, dest, source, dst, sst, bsize, nblocks, E, pe)
#define ISHMEM_DO_put_signal(G, N, T, E)                                                                              \
    shi_put_signal(ctx, G, dest, source, nelems * (E), sig_addr, signal, sig_op, pe, 0)
#define ISHMEM_DO_put_signal_nbi(G, N, T, E)                                                                          \
    shi_put_signal(ctx, G, dest, source, nelems * (E), sig_addr, signal, sig_op, pe, 1)

#define ISHMEM_AMO_(OP, E, V) shi_amo(ctx, OP, dest, E, V, 0, pe, SHI_RESULT_NONE)
#define ISHMEM_AMO_FETCH_(OP, N, O, E, V, C)                                                                          \
    return ISHMEM_VALUE_(N)(shi_amo(ctx, OP, O, E, V, C, pe, SHI_RESULT_SLOT))
#define ISHMEM_AMO_NBI_(OP, O, E, V, C) shi_amo_nbi(ctx, OP, fetch, O, E, V, C, pe)
#define ISHMEM_OPERAND_(N) ISHMEM_BITS_(N, value)
#define ISHMEM_DO_atomic_inc(G, N, T, E) ISHMEM_AMO_(SHI_AMO_ADD, E, 1)
#define ISHMEM_DO_atomic_add(G, N, T, E) ISHMEM_AMO_(SHI_AMO_ADD, E, ISHMEM_OPERAND_(N))
#define ISHMEM_DO_atomic_set(G, N, T, E) ISHMEM_AMO_(SHI_AMO_SET, E, ISHMEM_OPERAND_(N))
#define ISHMEM_DO_atomic_and(G, N, T, E) ISHMEM_AMO_(SHI_AMO_AND, E, ISHMEM_OPERAND_(N))
#define ISHMEM_DO_atomic_or(G, N, T, E) ISHMEM_AMO_(SHI_AMO_OR, E, ISHMEM_OPERAND_(N))
#define ISHMEM_DO_atomic_xor(G, N, T, E) ISHMEM_AMO_(SHI_AMO_XOR, E, ISHMEM_OPERAND_(N))
#define ISHMEM_DO_atomic_fetch(G, N, T, E) ISHMEM_AMO_FETCH_(SHI_AMO_FETCH, N, source, E, 0, 0)
#define ISHMEM_DO_atomic_fetch_inc(G, N, T, E) ISHMEM_AMO_FETCH_(SHI_AMO_ADD, N, dest, E, 1, 0)
#define ISHMEM_DO_atomic_fetch_add(G, N, T, E) ISHMEM_AMO_FETCH_(SHI_AMO_ADD, N, dest, E, ISHMEM_OPERAND_(N), 0)
#define ISHMEM_DO_atomic_swap(G, N, T, E) ISHMEM_AMO_FETCH_(SHI_AMO_SWAP, N, dest, E, ISHMEM_OPERAND_(N), 0)
#define ISHMEM_DO_atomic_fetch_and(G, N, T, E) ISHMEM_AMO_FETCH_(SHI_AMO_AND, N, dest, E, ISHMEM_OPERAND_(N), 0)
#define ISHMEM_DO_atomic_fetch_or(G, N, T, E) ISHMEM_AMO_FETCH_(SHI_AMO_OR, N, dest, E, ISHMEM_OPERAND_(N), 0)
#define ISHMEM_DO_atomic_fetch_xor(G, N, T, E) ISHMEM_AMO_FETCH_(SHI_AMO_XOR, N, dest, E, ISHMEM_OPERAND_(N), 0)
#define ISHMEM_DO_atomic_compare_swap(G, N, T, E)                                                                     \
    ISHMEM_AMO_FETCH_(SHI_AMO_CSWAP, N, dest, E, ISHMEM_OPERAND_(N), ISHMEM_BITS_(N, cond))
#define ISHMEM_DO_atomic_fetch_nbi(G, N, T, E) ISHMEM_AMO_NBI_(SHI_AMO_FETCH, source, E, 0, 0)
#define ISHMEM_DO_atomic_fetch_inc_nbi(G, N, T, E) ISHMEM_AMO_NBI_(SHI_AMO_ADD, dest, E, 1, 0)
#define ISHMEM_DO_atomic_fetch_add_nbi(G, N, T, E) ISHMEM_AMO_NBI_(SHI_AMO_ADD, dest, E, ISHMEM_OPERAND_(N), 0)
#define ISHMEM_DO_atomic_swap_nbi(G, N, T, E) ISHMEM_AMO_NBI_(SHI_AMO_SWAP, dest, E, ISHMEM_OPERAND_(N), 0)
#define ISHMEM_DO_atomic_fetch_and_nbi(G, N, T, E) ISHMEM_AMO_NBI_(SHI_AMO_AND, dest, E, ISHMEM_OPERAND_(N), 0)
#define ISHMEM_DO_atomic_fetch_or_nbi(G, N, T, E) ISHMEM_AMO_NBI_(SHI_AMO_OR, dest, E, ISHMEM_OPERAND_(N), 0)
#define ISHMEM_DO_atomic_fetch_xor_nbi(G, N, T, E) ISHMEM_AMO_NBI_(SHI_AMO_XOR, dest, E, ISHMEM_OPERAND_(N), 0)
#define ISHMEM_DO_atomic_compare_swap_nbi(G, N, T, E)                                                                 \
    ISHMEM_AMO_NBI_(SHI_AMO_CSWAP, dest, E, ISHMEM_OPERAND_(N), ISHMEM_BITS_(N, cond))

#define ISHMEM_DO_wait_until(G, N, T, E)                                                                              \
    shi_wait_until(ctx, G, ivar, E, ISHMEM_SIGNED_(T), cmp, ISHMEM_BITS_(N, cmp_value))
#define ISHMEM_DO_test(G, N, T, E)                                                                                    \
    return shi_test(ctx, G, ivar, E, ISHMEM_SIGNED_(T), cmp, ISHMEM_BITS_(N, cmp_value))
#define ISHMEM_ONE_VALUE_(G, WAIT, KIND, N, T, E, INDICES)                                                            \
    shi_many(ctx, G, WAIT, SHI_MANY_##KIND, ivars, E, ISHMEM_SIGNED_(T), nelems, INDICES, status, cmp,                \
             ISHMEM_BITS_(N, cmp_value), 0, 0)
#define ISHMEM_VALUES_(G, WAIT, KIND, N, T, E, INDICES)                                                               \
    shi_many(ctx, G, WAIT, SHI_MANY_##KIND, ivars, E, ISHMEM_SIGNED_(T), nelems, INDICES, status, cmp, 0, cmp_values, 0)
#define ISHMEM_DO_wait_until_all(G, N, T, E) ISHMEM_ONE_VALUE_(G, 1, ALL, N, T, E, 0)
#define ISHMEM_DO_wait_until_any(G, N, T, E) return ISHMEM_ONE_VALUE_(G, 1, ANY, N, T, E, 0)
#define ISHMEM_DO_wait_until_some(G, N, T, E) return ISHMEM_ONE_VALUE_(G, 1, SOME, N, T, E, indices)
#define ISHMEM_DO_wait_until_all_vector(G, N, T, E) ISHMEM_VALUES_(G, 1, ALL, N, T, E, 0)
#define ISHMEM_DO_wait_until_any_vector(G, N, T, E) return ISHMEM_VALUES_(G, 1, ANY, N, T, E, 0)
#define ISHMEM_DO_wait_until_some_vector(G, N, T, E) return ISHMEM_VALUES_(G, 1, SOME, N, T, E, indices)
#define ISHMEM_DO_test_all(G, N, T, E) return (int)ISHMEM_ONE_VALUE_(G, 0, ALL, N, T, E, 0)
#define ISHMEM_DO_test_any(G, N, T, E) return ISHMEM_ONE_VALUE_(G, 0, ANY, N, T, E, 0)
#define ISHMEM_DO_test_some(G, N, T, E) return ISHMEM_ONE_VALUE_(G, 0, SOME, N, T, E, indices)
#define ISHMEM_DO_test_all_vector(G, N, T, E) return (int)ISHMEM_VALUES_(G, 0, ALL, N, T, E, 0)
#define ISHMEM_DO_test_any_vector(G, N, T, E) return ISHMEM_VALUES_(G, 0, ANY, N, T, E, 0)
#define ISHMEM_DO_test_some_vector(G, N, T, E) return ISHMEM_VALUES_(G, 0, SOME, N, T, E, indices)

#define ISHMEM_DO_broadcast(G, N, T, E) return shi_broadcast(ctx, G, team, dest, source, nelems * (E), PE_root)
#define ISHMEM_DO_collect(G, N, T, E) return shi_collect(ctx, G, team, dest, source, nelems * (E))
#define ISHMEM_DO_fcollect(G, N, T, E) return shi_fcollect(ctx, G, team, dest, source, nelems * (E))
#define ISHMEM_DO_alltoall(G, N, T, E) return shi_alltoall(ctx, G, team, dest, source, nelems * (E))
#define ISHMEM_FOLD_(G, N, OP, COUNT, LAST)                                                                           \
    return shi_fold_##N##_(ctx, G, team, dest, source, COUNT, SHI_FOLD_##OP, team ? (LAST) : 0)
#define ISHMEM_DO_and_reduce(G, N, T, E) ISHMEM_FOLD_(G, N, AND, nreduce, team->n)
#define ISHMEM_DO_or_reduce(G, N, T, E) ISHMEM_FOLD_(G, N, OR, nreduce, team->n)
#define ISHMEM_DO_xor_reduce(G, N, T, E) ISHMEM_FOLD_(G, N, XOR, nreduce, team->n)
#define ISHMEM_DO_max_reduce(G, N, T, E) ISHMEM_FOLD_(G, N, MAX, nreduce, team->n)
#define ISHMEM_DO_min_reduce(G, N, T, E) ISHMEM_FOLD_(G, N, MIN, nreduce, team->n)
#define ISHMEM_DO_sum_reduce(G, N, T, E) ISHMEM_FOLD_(G, N, SUM, nreduce, team->n)
#define ISHMEM_DO_prod_reduce(G, N, T, E) ISHMEM_FOLD_(G, N, PROD, nreduce, team->n)
#define ISHMEM_DO_sum_inscan(G, N, T, E) ISHMEM_FOLD_(G, N, SUM, nelems, team->me + 1)
#define ISHMEM_DO_sum_exscan(G, N, T, E) ISHMEM_FOLD_(G, N, SUM, nelems, team->me)

/* ---- emitters -------------------------------------------------------------------------------------------------------- */

#define ISHMEM_BODY_(NAME, G, N, T, E)                                                                                \
    {                                                                                                                 \
        shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;                                                                   \
        ISHMEM_DO##NAME(G, N, T, E);                                                                                  \
    }
/* For a work-item: typed, and the overload for all types. */
#define ISHMEM_TYPED(R, NAME, N, T, PARAMS)                                                                           \
    SHI_FN R ishmem_##N##NAME PARAMS ISHMEM_BODY_(NAME, SHI_THREAD, N, T, sizeof(T))
#define ISHMEM_ANY(R, NAME, N, T, PARAMS)                                                                             \
    ISHMEM_FN R ishmem##NAME PARAMS ISHMEM_BODY_(NAME, SHI_THREAD, N, T, sizeof(T))

/* Collectives: over a team, and over all PEs. */
#define ISHMEM_WITHOUT_TEAM_(TEAM, ...) (__VA_ARGS__)
#define ISHMEM_COLL_(R, FULL, NAME, N, T, E, PARAMS)                                                                  \
    ISHMEM_FN R FULL PARAMS ISHMEM_BODY_(NAME, SHI_THREAD, N, T, E)                                                   \
    ISHMEM_FN R FULL ISHMEM_WITHOUT_TEAM_ PARAMS                                                                      \
    {                                                                                                                 \
        shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;                                                                   \
        shmem_team_t team = shi_team_world(ctx);                                                                      \
        ISHMEM_DO##NAME(SHI_THREAD, N, T, E);                                                                         \
    }
#define ISHMEM_COLL_TYPED(R, NAME, N, T, PARAMS) ISHMEM_COLL_(R, ishmem_##N##NAME, NAME, N, T, sizeof(T), PARAMS)
#define ISHMEM_COLL_ANY(R, NAME, N, T, PARAMS) ISHMEM_COLL_(R, ishmem##NAME, NAME, N, T, sizeof(T), PARAMS)

/* The routines of a row: M for one-sided and waits, K for collectives. The device waits for words that it has atomics
 * for. */
#define ISHMEM_ONE_SIDED_(M, N, T, AMO, EXT, BIT)                                                                     \
    SHMEM_API_PUTGET(M, M, N, T)                                                                                      \
    SHMEM_IF_##AMO(SHMEM_API_WT(M, M, N, T) SHMEM_API_SYN(M, M, N, T))
#define ISHMEM_ATOMIC_(M, N, T, AMO, EXT, BIT)                                                                        \
    SHMEM_API_ONE(M, M, N, T)                                                                                         \
    SHMEM_IF_##AMO(SHMEM_API_AMO(M, M, N, T)) SHMEM_IF_##EXT(SHMEM_API_EXT(M, M, N, T))                               \
    SHMEM_IF_##BIT(SHMEM_API_BIT(M, M, N, T))
#define ISHMEM_COLLECTIVE_(K, N, T, AND)                                                                              \
    SHMEM_API_BROADCAST(K, K, N, T) SHMEM_API_GATHER(K, K, N, T) SHMEM_IF_##AND(SHMEM_API_AND(K, K, N, T))            \
    SHMEM_API_MAX(K, K, N, T) SHMEM_API_SUM(K, K, N, T)

#define ISHMEM_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                                  \
    SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(                                                                        \
        SHI_FOLD_(N, SHMEMG_SPELL_(N, T), ISHMEM_VALUE_(N), AND)                                                      \
        ISHMEM_ONE_SIDED_(ISHMEM_TYPED, N, SHMEMG_SPELL_(N, T), AMO, EXT, BIT)                                        \
        ISHMEM_ATOMIC_(ISHMEM_TYPED, N, SHMEMG_SPELL_(N, T), AMO, EXT, BIT)                                           \
        ISHMEM_COLLECTIVE_(ISHMEM_COLL_TYPED, N, SHMEMG_SPELL_(N, T), AND)                                            \
        SHMEM_IF_##GEN(SHMEMG_IF_(ISHMEM_ONCE_(N))(                                                                   \
            ISHMEM_ONE_SIDED_(ISHMEM_ANY, N, T, AMO, EXT, BIT) ISHMEM_ATOMIC_(ISHMEM_ANY, N, T, AMO, EXT, BIT)        \
            ISHMEM_COLLECTIVE_(ISHMEM_COLL_ANY, N, T, AND)))))
SHMEM_TYPES(ISHMEM_ROW_, )

/* Fixed-width signed types, and here signed char, have bitwise operations; their base types do not. */
SHI_FOLD_(schar_bits, signed char, ISHMEM_VALUE_(schar), 1)
#define ISHMEM_SCHAR(R, NAME, N, T, PARAMS) ISHMEM_COLL_(R, ishmem_schar##NAME, NAME, N, T, 1, PARAMS)
SHMEM_API_AND(, ISHMEM_SCHAR, schar_bits, signed char)
SHMEM_API_AND(, ISHMEM_COLL_ANY, int8, int8_t)
SHMEM_API_AND(, ISHMEM_COLL_ANY, int16, int16_t)
SHMEM_API_AND(, ISHMEM_COLL_ANY, int32, int32_t)
SHMEM_API_AND(, ISHMEM_COLL_ANY, int64, int64_t)
SHMEM_API_BIT(ISHMEM_ANY, , int32, int32_t)
SHMEM_API_BIT(ISHMEM_ANY, , int64, int64_t)

#define ISHMEM_SIZED(R, NAME, KEY, B, PARAMS)                                                                         \
    SHI_FN R ishmem_##NAME PARAMS                                                                                     \
    {                                                                                                                 \
        shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;                                                                   \
        ISHMEM_DO##KEY(SHI_THREAD, , void, B);                                                                        \
    }
SHMEM_API_SIZED_PUTGET(ISHMEM_SIZED)

#define ISHMEM_BYTES(R, NAME, N, T, PARAMS) ISHMEM_COLL_(R, ishmem##NAME##mem, NAME, N, T, 1, PARAMS)
SHMEM_API_BROADCAST(, ISHMEM_BYTES, , void)
SHMEM_API_GATHER(, ISHMEM_BYTES, , void)

/* ---- untyped --------------------------------------------------------------------------------------------------------- */

/* A routine under its name, with the context in the body. */
#define ISHMEM_UNTYPED_(R, NAME, PARAMS, ...)                                                                         \
    SHI_FN R NAME PARAMS                                                                                              \
    {                                                                                                                 \
        shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;                                                                   \
        __VA_ARGS__;                                                                                                  \
    }

ISHMEM_UNTYPED_(int, ishmem_my_pe, (void), return shi_my_pe(ctx))
ISHMEM_UNTYPED_(int, ishmem_n_pes, (void), return shi_n_pes(ctx))
ISHMEM_UNTYPED_(void *, ishmem_ptr, (const void *dest, int pe), return shi_ptr(ctx, dest, pe))
ISHMEM_UNTYPED_(void, ishmem_fence, (void), shi_fence(ctx, SHI_THREAD))
ISHMEM_UNTYPED_(void, ishmem_quiet, (void), shi_quiet(ctx, SHI_THREAD))
ISHMEM_UNTYPED_(void, ishmem_sync_all, (void), shi_sync(ctx, SHI_THREAD, shi_team_world(ctx)))
ISHMEM_UNTYPED_(void, ishmem_barrier_all, (void), shi_quiet_sync(ctx, SHI_THREAD, shi_team_world(ctx)))
ISHMEM_UNTYPED_(int, ishmem_team_sync, (ishmem_team_t team), return shi_sync(ctx, SHI_THREAD, team))
ISHMEM_UNTYPED_(uint64_t, ishmem_signal_fetch, (uint64_t * sig_addr), return shi_signal_fetch(ctx, sig_addr))
ISHMEM_UNTYPED_(uint64_t, ishmem_signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value),
                return shi_wait_until(ctx, SHI_THREAD, sig_addr, 8, 0, cmp, cmp_value))

SHI_FN int ishmem_team_my_pe(ishmem_team_t team)
{
    return team ? team->me : -1;
}

SHI_FN int ishmem_team_n_pes(ishmem_team_t team)
{
    return team ? team->n : -1;
}

SHI_FN int ishmem_team_translate_pe(ishmem_team_t src_team, int src_pe, ishmem_team_t dest_team)
{
    if (!src_team || !dest_team || src_pe < 0 || src_pe >= src_team->n)
        return -1;
    return shi_member_of(dest_team, shi_member(src_team, src_pe));
}

/* Kernels can use only the predefined teams, which were created without contexts. */
SHI_FN int ishmem_team_get_config(ishmem_team_t team, long config_mask, ishmem_team_config_t *config)
{
    if (!team || (config_mask & ~ISHMEM_TEAM_NUM_CONTEXTS))
        return -1;
    if (config_mask)
        config->num_contexts = 0;
    return 0;
}

SHI_FN void ishmem_info_get_version(int *major, int *minor)
{
    *major = ISHMEM_MAJOR_VERSION;
    *minor = ISHMEM_MINOR_VERSION;
}

SHI_FN void ishmem_info_get_name(char *name)
{
    const char text[] = ISHMEM_VENDOR_STRING;
    for (size_t i = 0; i < sizeof text; i++)
        name[i] = text[i];
}

#endif
