/*
 * ishmemx_device.h - the device's part of ishmemx.h: block transfers, signals, and the _work_group forms, whose last
 * argument is the group of work-items that calls together.
 */
#if !defined(ISHMEMX_DEVICE_H) && (defined(__OPENCL_C_VERSION__) || defined(__CUDACC__) || defined(SHI_SYCL))
#define ISHMEMX_DEVICE_H

#include "ishmem.h"

/* In place of SYCL's group and sub_group. */
#define ISHMEMX_WORK_GROUP SHI_TG
#define ISHMEMX_SUB_GROUP SHI_HTG

#define ISHMEMX_TYPED(R, NAME, N, T, PARAMS)                                                                          \
    SHI_FN R ishmemx_##N##NAME PARAMS ISHMEM_BODY_(NAME, SHI_THREAD, N, T, sizeof(T))
#define ISHMEMX_ANY(R, NAME, N, T, PARAMS)                                                                            \
    ISHMEM_FN R ishmemx##NAME PARAMS ISHMEM_BODY_(NAME, SHI_THREAD, N, T, sizeof(T))
#define ISHMEMX_GROUP_TYPED(R, NAME, N, T, PARAMS)                                                                    \
    SHI_FN R ishmemx_##N##NAME##_work_group(SHMEM_UNWRAP PARAMS, int group) ISHMEM_BODY_(NAME, group, N, T, sizeof(T))
#define ISHMEMX_GROUP_ANY(R, NAME, N, T, PARAMS)                                                                      \
    ISHMEM_FN R ishmemx##NAME##_work_group(SHMEM_UNWRAP PARAMS, int group) ISHMEM_BODY_(NAME, group, N, T, sizeof(T))

#define ISHMEMX_COLL_(R, FULL, NAME, N, T, E, PARAMS)                                                                 \
    ISHMEM_FN R FULL(SHMEM_UNWRAP PARAMS, int group) ISHMEM_BODY_(NAME, group, N, T, E)                               \
    ISHMEM_FN R FULL(ISHMEMX_UNWRAP_(ISHMEM_WITHOUT_TEAM_ PARAMS), int group)                                         \
    {                                                                                                                 \
        shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;                                                                   \
        shmem_team_t team = shi_team_world(ctx);                                                                      \
        ISHMEM_DO##NAME(group, N, T, E);                                                                              \
    }
#define ISHMEMX_UNWRAP_(LIST) SHMEM_UNWRAP LIST
#define ISHMEMX_COLL_TYPED(R, NAME, N, T, PARAMS)                                                                     \
    ISHMEMX_COLL_(R, ishmemx_##N##NAME##_work_group, NAME, N, T, sizeof(T), PARAMS)
#define ISHMEMX_COLL_ANY(R, NAME, N, T, PARAMS)                                                                       \
    ISHMEMX_COLL_(R, ishmemx##NAME##_work_group, NAME, N, T, sizeof(T), PARAMS)

#define ISHMEMX_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                                 \
    SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(                                                                        \
        SHMEM_API_BLOCK(ISHMEMX_TYPED, , N, SHMEMG_SPELL_(N, T))                                                      \
        SHMEM_API_BLOCK(ISHMEMX_GROUP_TYPED, , N, SHMEMG_SPELL_(N, T))                                                \
        ISHMEM_ONE_SIDED_(ISHMEMX_GROUP_TYPED, N, SHMEMG_SPELL_(N, T), AMO, EXT, BIT)                                 \
        ISHMEM_COLLECTIVE_(ISHMEMX_COLL_TYPED, N, SHMEMG_SPELL_(N, T), AND)                                           \
        SHMEM_IF_##GEN(SHMEMG_IF_(ISHMEM_ONCE_(N))(                                                                   \
            SHMEM_API_BLOCK(ISHMEMX_ANY, , N, T) SHMEM_API_BLOCK(ISHMEMX_GROUP_ANY, , N, T)                           \
            ISHMEM_ONE_SIDED_(ISHMEMX_GROUP_ANY, N, T, AMO, EXT, BIT)                                                 \
            ISHMEM_COLLECTIVE_(ISHMEMX_COLL_ANY, N, T, AND)))))
SHMEM_TYPES(ISHMEMX_ROW_, )

#define ISHMEMX_SCHAR(R, NAME, N, T, PARAMS) ISHMEMX_COLL_(R, ishmemx_schar##NAME##_work_group, NAME, N, T, 1, PARAMS)
SHMEM_API_AND(, ISHMEMX_SCHAR, schar_bits, signed char)
SHMEM_API_AND(, ISHMEMX_COLL_ANY, int8, int8_t)
SHMEM_API_AND(, ISHMEMX_COLL_ANY, int16, int16_t)
SHMEM_API_AND(, ISHMEMX_COLL_ANY, int32, int32_t)
SHMEM_API_AND(, ISHMEMX_COLL_ANY, int64, int64_t)

#define ISHMEMX_SIZED(R, NAME, KEY, B, PARAMS)                                                                        \
    ISHMEM_UNTYPED_(R, ishmemx_##NAME, PARAMS, ISHMEM_DO##KEY(SHI_THREAD, , void, B))
#define ISHMEMX_GROUP_SIZED(R, NAME, KEY, B, PARAMS)                                                                  \
    ISHMEM_UNTYPED_(R, ishmemx_##NAME##_work_group, (SHMEM_UNWRAP PARAMS, int group), ISHMEM_DO##KEY(group, , void, B))
SHMEM_API_SIZED_BLOCK(ISHMEMX_SIZED)
SHMEM_API_SIZED_BLOCK(ISHMEMX_GROUP_SIZED)
SHMEM_API_SIZED_PUTGET(ISHMEMX_GROUP_SIZED)

#define ISHMEMX_BYTES(R, NAME, N, T, PARAMS) ISHMEMX_COLL_(R, ishmemx##NAME##mem_work_group, NAME, N, T, 1, PARAMS)
SHMEM_API_BROADCAST(, ISHMEMX_BYTES, , void)
SHMEM_API_GATHER(, ISHMEMX_BYTES, , void)

ISHMEM_UNTYPED_(void, ishmemx_signal_add, (uint64_t * sig_addr, uint64_t signal, int pe),
                shi_put_signal(ctx, SHI_THREAD, sig_addr, sig_addr, 0, sig_addr, signal, SHI_SIGNAL_ADD, pe, 1))
ISHMEM_UNTYPED_(void, ishmemx_signal_set, (uint64_t * sig_addr, uint64_t signal, int pe),
                shi_put_signal(ctx, SHI_THREAD, sig_addr, sig_addr, 0, sig_addr, signal, SHI_SIGNAL_SET, pe, 1))
ISHMEM_UNTYPED_(uint64_t, ishmemx_signal_wait_until_work_group,
                (uint64_t * sig_addr, int cmp, uint64_t cmp_value, int group),
                return shi_wait_until(ctx, group, sig_addr, 8, 0, cmp, cmp_value))
ISHMEM_UNTYPED_(void, ishmemx_fence_work_group, (int group), shi_fence(ctx, group))
ISHMEM_UNTYPED_(void, ishmemx_quiet_work_group, (int group), shi_quiet(ctx, group))
ISHMEM_UNTYPED_(void, ishmemx_sync_all_work_group, (int group), shi_sync(ctx, group, shi_team_world(ctx)))
ISHMEM_UNTYPED_(void, ishmemx_barrier_all_work_group, (int group), shi_quiet_sync(ctx, group, shi_team_world(ctx)))
ISHMEM_UNTYPED_(int, ishmemx_team_sync_work_group, (ishmem_team_t team, int group), return shi_sync(ctx, group, team))

/* The proxy stores its time in ns at dst, in memory of the host, or nowhere if it is 0. */
typedef uint64_t ishmemx_ts_handle_t;
SHI_FN void shi_clock(shmem_ctx_t ctx, ishmemx_ts_handle_t dst, int wait)
{
    struct shi_request q;
    shi_request_clock(&q, dst);
    if (shi_ctx_good(ctx))
        shi_post_and_wait(ctx, &q, shi_team_world(ctx)->me, 0, wait);
}
ISHMEM_UNTYPED_(void, ishmemx_timestamp, (ishmemx_ts_handle_t dst), shi_clock(ctx, dst, 1))
ISHMEM_UNTYPED_(void, ishmemx_timestamp_nbi, (ishmemx_ts_handle_t dst), shi_clock(ctx, dst, 0))
ISHMEM_UNTYPED_(void, ishmemx_nop, (void), shi_clock(ctx, 0, 1))
ISHMEM_UNTYPED_(void, ishmemx_nop_no_r, (void), shi_clock(ctx, 0, 0))

#endif
