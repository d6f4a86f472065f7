/*
 * nvshmem_device.h - kernels' side of NVSHMEM's routines: templates over the device library, by type and group of threads.
 *
 * The device library is in namespace shi_device, because shmem.h has types of the same names for the host. Teams are numbers: see
 * fulmar_team. Values of 8, 16, 32 and 64 bits travel as bits.
 */
#ifndef NVSHMEM_DEVICE_H
#define NVSHMEM_DEVICE_H

#ifdef SHMEMG_H
#error "A file includes shmemg.h or nvshmem.h: each brings the device library under names of its own"
#endif

#include <cooperative_groups.h> /* as NVSHMEM's headers do, and programs rely on it */
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nvshmem_table.h"
#include "nvshmem_types.h"

#define SHI_NAMESPACE shi_device
#define SHI_SELF_ANYWHERE 1
namespace shi_device {
#include "device/lib/amo.h"
#include "device/lib/many.h"
#include "device/lib/sync.h"
#if SHI_RACE /* oshcc --race: calls of the library are reported, also those that collectives and strided calls make */
#include "device/lib/race.h"
#endif
#include "device/lib/coll.h"
#include "device/lib/strided.h"
#undef SHI_CTX_DEFAULT_
#define SHI_CTX_DEFAULT_ ((shi_device::shmem_ctx_t)&shi_device::SHMEMG_DEFAULT_)

/* The structure of a team: the world's, the node's, those of the same PE of each node, or the program's. */
SHI_FN shmem_team_t fulmar_team(shmem_ctx_t ctx, int team)
{
    if (!shi_ctx_good(ctx) || team < 0 || (team > NVSHMEMX_TEAM_SAME_MYPE_NODE && team < NVSHMEM_TEAMS_MIN))
        return 0;
    shmem_team_t world = (shmem_team_t)ctx->world;
    return team == NVSHMEM_TEAM_WORLD             ? world
           : team == NVSHMEMX_TEAM_SAME_MYPE_NODE ? world + FULMAR_SAME_INDEX
           : team < NVSHMEM_TEAMS_MIN             ? (shmem_team_t)ctx->shared
                                                  : world + (team - FULMAR_TEAM_FIRST);
}

template <typename T> SHI_FN shi_u64 fulmar_bits(T v)
{
    shi_u64 bits = 0;
    memcpy(&bits, &v, sizeof v);
    return bits;
}
template <typename T> SHI_FN T fulmar_value(shi_u64 bits)
{
    T v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
template <typename T> SHI_FN constexpr int fulmar_is_signed()
{
    return (T)-1 < (T)1;
}

SHI_FN int fulmar_signal_op(int op)
{
    return op == NVSHMEM_SIGNAL_SET ? SHI_SIGNAL_SET : op == NVSHMEM_SIGNAL_ADD ? SHI_SIGNAL_ADD : -1;
}
SHI_FN int fulmar_cmp(int cmp)
{
    return cmp >= NVSHMEM_CMP_LE && cmp <= NVSHMEM_CMP_GE ? SHI_CMP_LE - (cmp - NVSHMEM_CMP_LE) : cmp + SHI_CMP_EQ;
}

/* ---- waits ------------------------------------------------------------------------------------------------------------- */

template <typename T> SHI_FN int fulmar_holds(const T *p, int cmp, T than)
{
    return shi_test(SHI_CTX_DEFAULT_, SHI_THREAD, p, sizeof(T), fulmar_is_signed<T>(), fulmar_cmp(cmp), fulmar_bits(than));
}
template <typename T> SHI_FN void fulmar_wait(T *p, int cmp, T than)
{
    shi_wait_until(SHI_CTX_DEFAULT_, SHI_THREAD, p, sizeof(T), fulmar_is_signed<T>(), fulmar_cmp(cmp), fulmar_bits(than));
}
template <typename T>
SHI_FN size_t fulmar_many(int wait, int kind, const T *p, size_t n, size_t *indices, const int *status, int cmp, T value, const T *values)
{
    return shi_many(SHI_CTX_DEFAULT_, SHI_THREAD, wait, kind, p, sizeof(T), fulmar_is_signed<T>(), n, indices, status, fulmar_cmp(cmp),
                    fulmar_bits(value), values, 0);
}

/* ---- collectives ------------------------------------------------------------------------------------------------------- */

SHI_FN int fulmar_barrier(int g, int team)
{
    shmem_ctx_t ctx = SHI_CTX_DEFAULT_;
    return shi_quiet_sync(ctx, g, fulmar_team(ctx, team));
}

/* Of a warpgroup, 128 threads of a block, by a hardware barrier of its own, from the ninth on. */
SHI_FN int fulmar_barrier_warpgroup(int number)
{
    enum { THREADS = 128, FIRST = 8 };
    shmem_ctx_t ctx = SHI_CTX_DEFAULT_;
    unsigned rank = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z), barrier = FIRST + rank / THREADS, bad = 0, any;
    asm volatile("bar.sync %0, 128;" : : "r"(barrier) : "memory");
    if (rank % THREADS == 0)
        bad = shi_quiet_sync(ctx, SHI_THREAD, fulmar_team(ctx, number)) != 0;
    asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %1, 0; bar.red.or.pred q, %2, 128, p; selp.u32 %0, 1, 0, q; }"
                 : "=r"(any) : "r"(bad), "r"(barrier) : "memory");
    return -(int)any;
}

/* The pair with the largest x, of equal ones that of the first PE; dest may be source. */
SHI_FN int fulmar_maxloc(int g, int number, double2 *dest, const double2 *source, size_t n)
{
    shmem_ctx_t ctx = SHI_CTX_DEFAULT_;
    shmem_team_t team = fulmar_team(ctx, number);
    int more;
    struct shi_fold f = {team, (char *)dest, (const char *)source, sizeof *dest, n, team ? team->n : 0, 0, 0, 0, 0};
    if (shi_fold_begin(ctx, g, &f))
        return -1;
    while ((more = shi_fold_next(ctx, g, &f)) == 1)
        for (size_t at = shi_rank(g); at < f.length; at += shi_lanes(g)) {
            double2 best = {0, 0};
            for (int i = 0; i < f.last; i++) {
                shi_u64 from = shi_fold_at(ctx, &f, i, at);
                double2 other = from ? *(const double2 *)from : best;
                best = i == 0 || other.x > best.x ? other : best;
            }
            ((double2 *)f.to)[at] = best;
        }
    return more ? -1 : shi_sync(ctx, g, team);
}

#define FULMAR_FOLDS_(N, T, BITWISE) SHI_FOLD_(N, T, fulmar_value<T>, BITWISE)
NVSHMEM_TYPES_BITWISE_REDUCE_(FULMAR_FOLDS_, 1)
NVSHMEM_TYPES_OTHER_REDUCE_(FULMAR_FOLDS_, 0)

/* SCATTER: this PE's block of the result only, so that `source` has n elements for each PE. Another PE may still read source when
 * dest is written, so a dest within source needs a copy: it is refused. */
#define FULMAR_REDUCE_(N, T, ...)                                                                                     \
    SHI_FN int fulmar_reduce_##N(int g, int number, T *dest, const T *source, size_t n, int op, int scatter)          \
    {                                                                                                                 \
        shmem_ctx_t ctx = SHI_CTX_DEFAULT_;                                                                           \
        shmem_team_t team = fulmar_team(ctx, number);                                                                 \
        if (!shi_team_good(ctx, team))                                                                                \
            return -1;                                                                                                \
        if (scatter && dest + n > source && dest < source + n * team->n) {                                            \
            shi_fault(ctx, SHI_FAULT_ADDRESS, (shi_u64)dest);                                                         \
            return -1;                                                                                                \
        }                                                                                                             \
        return shi_fold_##N##_(ctx, g, team, dest, source + (scatter ? team->me * n : 0), n, op, team->n);            \
    }
NVSHMEM_TYPES_REDUCE_(FULMAR_REDUCE_, )

} // namespace shi_device
#endif
