/*
 * def.h - how an entry point is defined: strong under its pshmem_ name, weak under its shmem_ name.
 *
 * Bodies of typed routines are macros DO_<routine>(T, E): T the type, E the element's bytes, `c` the context.
 */
#ifndef SHI_DEF_H
#define SHI_DEF_H

#define SHMEM_NO_GENERICS
#include <pshmem.h>

#include "host/ops/address.h"

#define SHI_DEF(R, NAME, PARAMS)                                                                                     \
    R NAME PARAMS __attribute__((weak, alias("p" #NAME)));                                                           \
    R p##NAME PARAMS

#define SHI_DEF_BOTH(R, PLAIN, CTX, PARAMS, BODY)                                                                    \
    SHI_DEF(R, PLAIN, PARAMS)                                                                                        \
    {                                                                                                                \
        const struct shmem_ctx *const c = SHI_CTX_DEFAULT;                                                           \
        BODY                                                                                                         \
    }                                                                                                                \
    SHI_DEF(R, CTX, (shmem_ctx_t ctx, SHMEM_UNWRAP PARAMS))                                                          \
    {                                                                                                                \
        const struct shmem_ctx *const c = shi_ctx_of(ctx);                                                           \
        BODY                                                                                                         \
    }

/* Emitters for the table. */
#define SHI_DEF_C(R, NAME, N, T, PARAMS)                                                                             \
    SHI_DEF_BOTH(R, shmem_##N##NAME, shmem_ctx_##N##NAME, PARAMS, DO##NAME(T, sizeof(T)))
#define SHI_DEF_P(R, NAME, N, T, PARAMS)                                                                             \
    SHI_DEF(R, shmem_##N##NAME, PARAMS)                                                                              \
    {                                                                                                                \
        DO##NAME(T, sizeof(T))                                                                                       \
    }
#define SHI_DEF_S(R, NAME, KEY, B, PARAMS) SHI_DEF_BOTH(R, shmem_##NAME, shmem_ctx_##NAME, PARAMS, DO##KEY(void, B))

/* mem.c: an allocation fails on all PEs, because heap h of h_bytes, whose size `setting` gives, has no room. PE 0 reports it
 * with SHMEM_DEBUG=1 or SHMEM_CHECK=1. */
struct shi_heap;
void shi_report_full(const char *routine, size_t bytes, size_t align, const char *heap, const struct shi_heap *h,
                     size_t h_bytes, const char *setting);

#endif
