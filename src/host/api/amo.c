/* amo.c - entry points of the atomic memory operations, with their deprecated names. */
#include "host/api/def.h"

#include "host/ops/amo.h"
#include "host/util/log.h"

void *shi_amo_miss(const char *routine, const struct shmem_ctx *ctx, const char *arg, const void *addr, size_t bytes,
                   int pe)
{
    void *at = shi_miss(routine, ctx, arg, addr, bytes, pe);
    if ((uintptr_t)addr % bytes)
        shi_die(routine, "%s = %p is not aligned to %zu bytes, so no update of it is atomic (pe = %d)", arg, addr,
                bytes, pe);
    return at;
}

#define AT(T, arg) ((T *)shi_amo_at(__func__, c, #arg, arg, sizeof *arg, pe))
#define ORDER __ATOMIC_SEQ_CST


/* An nbi form has its result when it returns. */
#define DO_atomic_inc(T, E) __atomic_fetch_add(AT(T, dest), 1, ORDER);
#define DO_atomic_add(T, E) __atomic_fetch_add(AT(T, dest), value, ORDER);
#define DO_atomic_fetch_inc(T, E) return __atomic_fetch_add(AT(T, dest), 1, ORDER);
#define DO_atomic_fetch_add(T, E) return __atomic_fetch_add(AT(T, dest), value, ORDER);
#define DO_atomic_compare_swap(T, E)                                                                                 \
    __atomic_compare_exchange_n(AT(T, dest), &cond, value, 0, ORDER, ORDER);                                         \
    return cond;
#define DO_atomic_fetch_inc_nbi(T, E) *fetch = __atomic_fetch_add(AT(T, dest), 1, ORDER);
#define DO_atomic_fetch_add_nbi(T, E) *fetch = __atomic_fetch_add(AT(T, dest), value, ORDER);
#define DO_atomic_compare_swap_nbi(T, E)                                                                             \
    __atomic_compare_exchange_n(AT(T, dest), &cond, value, 0, ORDER, ORDER);                                         \
    *fetch = cond;
#define DO_atomic_fetch(T, E)                                                                                        \
    T now;                                                                                                           \
    __atomic_load(AT(T, source), &now, ORDER);                                                                       \
    return now;
#define DO_atomic_set(T, E) __atomic_store(AT(T, dest), &value, ORDER);
#define DO_atomic_swap(T, E)                                                                                         \
    T old;                                                                                                           \
    __atomic_exchange(AT(T, dest), &value, &old, ORDER);                                                             \
    return old;
#define DO_atomic_fetch_nbi(T, E)                                                                                    \
    T now;                                                                                                           \
    __atomic_load(AT(T, source), &now, ORDER);                                                                       \
    *fetch = now;
#define DO_atomic_swap_nbi(T, E)                                                                                     \
    T old;                                                                                                           \
    __atomic_exchange(AT(T, dest), &value, &old, ORDER);                                                             \
    *fetch = old;
#define DO_atomic_and(T, E) __atomic_fetch_and(AT(T, dest), value, ORDER);
#define DO_atomic_or(T, E) __atomic_fetch_or(AT(T, dest), value, ORDER);
#define DO_atomic_xor(T, E) __atomic_fetch_xor(AT(T, dest), value, ORDER);
#define DO_atomic_fetch_and(T, E) return __atomic_fetch_and(AT(T, dest), value, ORDER);
#define DO_atomic_fetch_or(T, E) return __atomic_fetch_or(AT(T, dest), value, ORDER);
#define DO_atomic_fetch_xor(T, E) return __atomic_fetch_xor(AT(T, dest), value, ORDER);
#define DO_atomic_fetch_and_nbi(T, E) *fetch = __atomic_fetch_and(AT(T, dest), value, ORDER);
#define DO_atomic_fetch_or_nbi(T, E) *fetch = __atomic_fetch_or(AT(T, dest), value, ORDER);
#define DO_atomic_fetch_xor_nbi(T, E) *fetch = __atomic_fetch_xor(AT(T, dest), value, ORDER);

#define ON_DEFAULT(BODY)                                                                                             \
    const struct shmem_ctx *const c = SHI_CTX_DEFAULT;                                                                 \
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
