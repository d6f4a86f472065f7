/* on_stream.cu - operations in the order of a CUDA stream: kernels of one group each, which the Python package launches. src/tools/bitcode.sh
 * makes libfulmar_on_stream.ptx of them. Arguments are checked by the caller; addresses and PEs also by the device library. */
#define __CUDACC_RDC__ 1 /* variables that the host finds in every module, and no kernel that reports them */
#include <shmemg.h>

#include "device/lib/on_stream.h"

#define KERNEL extern "C" __global__ void

KERNEL fulmar_put(void *dest, const void *source, size_t bytes, int pe)
{
    shi_put(SHI_CTX_DEFAULT_, SHI_TG, dest, source, bytes, pe, 0);
    shi_quiet(SHI_CTX_DEFAULT_, SHI_TG);
}

KERNEL fulmar_get(void *dest, const void *source, size_t bytes, int pe)
{
    shi_get(SHI_CTX_DEFAULT_, SHI_TG, dest, source, bytes, pe, 0);
}

KERNEL fulmar_p(void *dest, shi_u64 value, size_t bytes, int pe)
{
    shi_p(SHI_CTX_DEFAULT_, dest, value, bytes, pe);
    shi_quiet(SHI_CTX_DEFAULT_, SHI_THREAD);
}

KERNEL fulmar_put_signal(void *dest, const void *source, size_t bytes, void *signal, shi_u64 value, int op, int pe)
{
    shi_put_signal(SHI_CTX_DEFAULT_, SHI_TG, dest, source, bytes, signal, value, op, pe, 0);
    shi_quiet(SHI_CTX_DEFAULT_, SHI_TG);
}

KERNEL fulmar_wait_until(const void *ivar, size_t bytes, int is_signed, int comparison, shi_u64 value)
{
    shi_wait_until(SHI_CTX_DEFAULT_, SHI_THREAD, ivar, bytes, is_signed, comparison, value);
}

KERNEL fulmar_quiet()
{
    shi_quiet(SHI_CTX_DEFAULT_, SHI_THREAD);
}

KERNEL fulmar_sync(shmem_team_t team)
{
    shi_sync(SHI_CTX_DEFAULT_, SHI_THREAD, team);
}

KERNEL fulmar_barrier(shmem_team_t team)
{
    shi_quiet_sync(SHI_CTX_DEFAULT_, SHI_THREAD, team);
}

KERNEL fulmar_broadcast(shmem_team_t team, void *dest, const void *source, size_t bytes, int root)
{
    shi_broadcast(SHI_CTX_DEFAULT_, SHI_TG, team, dest, source, bytes, root);
}

KERNEL fulmar_fcollect(shmem_team_t team, void *dest, const void *source, size_t bytes)
{
    shi_fcollect(SHI_CTX_DEFAULT_, SHI_TG, team, dest, source, bytes);
}

KERNEL fulmar_collect(shmem_team_t team, void *dest, const void *source, size_t bytes)
{
    shi_collect(SHI_CTX_DEFAULT_, SHI_TG, team, dest, source, bytes);
}

KERNEL fulmar_alltoall(shmem_team_t team, void *dest, const void *source, size_t bytes)
{
    shi_alltoall(SHI_CTX_DEFAULT_, SHI_TG, team, dest, source, bytes);
}

/* ---- reductions ------------------------------------------------------------------------------------------------------- */

template <typename T> static __device__ T value_of(shi_u64 bits)
{
    T value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T> static __device__ shi_u64 bits_of(T value)
{
    shi_u64 bits = 0;
    __builtin_memcpy(&bits, &value, sizeof value);
    return bits;
}

/* X(NumPy's kind of the type, name, type, has bitwise operations) */
#define TYPES(X)                                                                                                      \
    X('i', int8, int8_t, 1) X('i', int16, int16_t, 1) X('i', int32, int32_t, 1) X('i', int64, int64_t, 1)             \
    X('u', uint8, uint8_t, 1) X('u', uint16, uint16_t, 1) X('u', uint32, uint32_t, 1) X('u', uint64, uint64_t, 1)     \
    X('f', float, float, 0) X('f', double, double, 0)
#define FOLD(K, N, T, BITWISE) SHI_FOLD_(N, T, value_of<T>, BITWISE)
TYPES(FOLD)

struct combine {
    int kind, bytes, op;
    __device__ shi_u64 operator()(shi_u64 a, shi_u64 b) const
    {
#define COMBINE(K, N, T, BITWISE)                                                                                     \
    case K << 8 | sizeof(T):                                                                                          \
        return bits_of(shi_combine_##N##_(op, value_of<T>(a), value_of<T>(b)));
        switch (kind << 8 | bytes) {
            TYPES(COMBINE)
        }
        return 0;
    }
};

KERNEL fulmar_reduce(shmem_team_t team, char *dest, const char *source, size_t n, int kind, int bytes, int op)
{
    shi_reduce_bits(SHI_CTX_DEFAULT_, SHI_TG, team, dest, source, n, bytes, combine{kind, bytes, op});
}
