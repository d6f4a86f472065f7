/*
 * nvshmem_device.h - kernels' side of NVSHMEM's routines: templates over the device library, by type and group of threads.
 *
 * The device library is in namespace shi_device, because shmem.h has types of the same names for the host. Teams are numbers: see
 * fulmar_team. Values of 8, 16, 32 and 64 bits travel as bits.
 */
#ifndef NVSHMEM_DEVICE_H
#define NVSHMEM_DEVICE_H

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
#include "device/lib/coll.h"
#include "device/lib/many.h"
#include "device/lib/strided.h"
#include "device/lib/sync.h"
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

/* float and double: until no other update came between. The old value. */
template <typename T, typename B> SHI_FN T fulmar_add_float(T *dest, T value, int pe)
{
    shmem_ctx_t ctx = SHI_CTX_DEFAULT_;
    shi_u64 seen = shi_amo(ctx, SHI_AMO_FETCH, dest, sizeof(T), 0, 0, pe, SHI_RESULT_SLOT), before;
    for (;;) {
        T sum = fulmar_value<T>(seen) + value;
        before = shi_amo(ctx, SHI_AMO_CSWAP, dest, sizeof(T), fulmar_bits(sum), seen, pe, SHI_RESULT_SLOT);
        if ((B)before == (B)seen || shi_aborted(ctx))
            return fulmar_value<T>(before);
        seen = before;
    }
}

/* ---- waits ------------------------------------------------------------------------------------------------------------- */

/* Words of 2 bytes, for which there are no atomics: by looks at the 4 bytes around them. */
template <typename T> SHI_FN T fulmar_look_short(const T *p)
{
    shi_u64 at = (shi_u64)p & 2;
    return (T)(shi_load32_acquire((const shi_u32 *)((const char *)p - at)) >> (8 * at));
}
template <typename T> SHI_FN int fulmar_holds(const T *p, int cmp, T than)
{
    if (sizeof(T) == 2)
        return shi_compare(shi_rankable((shi_u64)(unsigned short)fulmar_look_short(p), 2, fulmar_is_signed<T>()), fulmar_cmp(cmp),
                           shi_rankable((shi_u64)(unsigned short)than, 2, fulmar_is_signed<T>()));
    return shi_compare(shi_rankable(shi_watch(p, sizeof(T)), sizeof(T), fulmar_is_signed<T>()), fulmar_cmp(cmp),
                       shi_rankable(fulmar_bits(than), sizeof(T), fulmar_is_signed<T>()));
}
template <typename T> SHI_FN void fulmar_wait(T *p, int cmp, T than)
{
    shmem_ctx_t ctx = SHI_CTX_DEFAULT_;
    shi_u32 looks = 0;
    if (sizeof(T) > 2)
        shi_wait_until(ctx, SHI_THREAD, p, sizeof(T), fulmar_is_signed<T>(), fulmar_cmp(cmp), fulmar_bits(than));
    else
        while (!fulmar_holds(p, cmp, than) && !shi_aborted_sometimes(ctx, &looks))
            shi_pause();
}

/* The words of a list for which the condition holds; kind and result as shi_many's, without what has no words to test. */
template <typename T>
SHI_FN size_t fulmar_many(int wait, int kind, const T *p, size_t n, size_t *indices, const int *status, int cmp, T value, const T *values)
{
    shmem_ctx_t ctx = SHI_CTX_DEFAULT_;
    if (sizeof(T) > 2)
        return shi_many(ctx, SHI_THREAD, wait, kind, p, sizeof(T), fulmar_is_signed<T>(), n, indices, status, fulmar_cmp(cmp),
                        fulmar_bits(value), values);
    shi_u32 looks = 0;
    for (;;) {
        size_t tested = 0, held = 0, first = n;
        for (size_t i = 0; i < n; i++) {
            if (status && status[i])
                continue;
            tested++;
            if (!fulmar_holds(p + i, cmp, values ? values[i] : value))
                continue;
            if (kind == SHI_MANY_SOME)
                indices[held] = i;
            first = held++ ? first : i;
        }
        int enough = kind == SHI_MANY_ALL ? held == tested : held || !tested;
        if (enough || !wait || shi_aborted_sometimes(ctx, &looks))
            return kind == SHI_MANY_ALL ? enough : kind == SHI_MANY_SOME ? held : held ? first : SIZE_MAX;
        shi_pause();
    }
}

/* ---- collectives ------------------------------------------------------------------------------------------------------- */

SHI_FN int fulmar_barrier(int g, int team)
{
    shmem_ctx_t ctx = SHI_CTX_DEFAULT_;
    return shi_quiet_sync(ctx, g, fulmar_team(ctx, team));
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
