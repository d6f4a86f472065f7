/* on_stream.cu - NVSHMEM's operations in the order of a stream: a kernel each, of one block. */
#include <nvshmemx.h>

namespace shi_device {
#include "device/lib/on_stream.h"
}

enum { THREADS = 64 };
using namespace shi_device;

static __global__ void move(int what, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, size_t bytes, int pe)
{
    shi_device::shmem_ctx_t ctx = SHI_CTX_DEFAULT_;
    if (what == FULMAR_MOVE_PUT)
        shi_put(ctx, SHI_TG, dest, source, nelems * bytes, pe, 0);
    else if (what == FULMAR_MOVE_GET)
        shi_get(ctx, SHI_TG, dest, source, nelems * bytes, pe, 0);
    else
        shi_strided(ctx, SHI_TG, what == FULMAR_MOVE_IGET, dest, source, dst, sst, 1, nelems, bytes, pe);
    shi_quiet(ctx, SHI_TG);
}

static __global__ void put_value(void *dest, uint64_t bits, size_t bytes, int pe)
{
    shi_p(SHI_CTX_DEFAULT_, dest, bits, bytes, pe);
    shi_quiet(SHI_CTX_DEFAULT_, SHI_THREAD);
}

static __global__ void put_signal(void *dest, const void *source, size_t bytes, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe)
{
    shi_device::shmem_ctx_t ctx = SHI_CTX_DEFAULT_;
    shi_put_signal(ctx, SHI_TG, dest, source, bytes, sig_addr, signal, fulmar_signal_op(sig_op), pe, 0);
    shi_quiet(ctx, SHI_TG);
}

static __global__ void quiet()
{
    shi_quiet(SHI_CTX_DEFAULT_, SHI_THREAD);
}

static __global__ void wait_all(const void *ivars, size_t bytes, int is_signed, size_t n, const int *status, int cmp, uint64_t value, const void *values)
{
    shi_many(SHI_CTX_DEFAULT_, SHI_THREAD, 1, SHI_MANY_ALL, ivars, bytes, is_signed, n, 0, status, fulmar_cmp(cmp), value, values, 0);
}

static __global__ void collective(int kind, int number, void *dest, const void *source, size_t bytes, int root)
{
    shi_device::shmem_ctx_t ctx = SHI_CTX_DEFAULT_;
    shi_device::shmem_team_t team = fulmar_team(ctx, number);
    switch (kind) {
    case FULMAR_COLL_ALLTOALL:
        shi_alltoall(ctx, SHI_TG, team, dest, source, bytes);
        break;
    case FULMAR_COLL_FCOLLECT:
        shi_fcollect(ctx, SHI_TG, team, dest, source, bytes);
        break;
    case FULMAR_COLL_COLLECT:
        shi_collect(ctx, SHI_TG, team, dest, source, bytes);
        break;
    case FULMAR_COLL_BROADCAST:
        shi_broadcast(ctx, SHI_TG, team, dest, source, bytes, root);
        break;
    case FULMAR_COLL_BARRIER:
        shi_quiet_sync(ctx, SHI_TG, team);
        break;
    default:
        shi_sync(ctx, SHI_TG, team);
    }
}

/* One kernel for all types: a reduction kernel of each type would take the compiler half a minute. Elements travel as bits. */
static __device__ shi_u64 combine(int type, int op, shi_u64 a, shi_u64 b)
{
#define FULMAR_COMBINE_(N, T, ...)                                                                                    \
    case FULMAR_TYPE_##N:                                                                                             \
        return fulmar_bits(shi_combine_##N##_(op, fulmar_value<T>(a), fulmar_value<T>(b)));
    switch (type) {
        NVSHMEM_TYPES_REDUCE_(FULMAR_COMBINE_, )
    }
    return 0;
}

struct combine_values {
    int type, op;
    __device__ shi_u64 operator()(shi_u64 a, shi_u64 b) const
    {
        return combine(type, op, a, b);
    }
};

static __global__ void reduce(int type, int op, int number, char *dest, const char *source, size_t n, size_t bytes, int scatter)
{
    shi_device::shmem_ctx_t ctx = SHI_CTX_DEFAULT_;
    shi_device::shmem_team_t team = fulmar_team(ctx, number);
    if (!shi_team_good(ctx, team))
        return;
    if (scatter && dest + n * bytes > source && dest < source + n * bytes * team->n) {
        shi_fault(ctx, SHI_FAULT_ADDRESS, (shi_u64)dest);
        return;
    }
    source += scatter ? team->me * n * bytes : 0;
    shi_reduce_bits(ctx, SHI_TG, team, dest, source, n, bytes, combine_values{type, op});
}

static int launched(const char *routine)
{
    cudaError_t e = cudaGetLastError();
    if (e)
        fprintf(stderr, "%s: %s\n", routine, cudaGetErrorString(e));
    return e ? NVSHMEMX_ERROR_INTERNAL : 0;
}

extern "C" {
void fulmar_nvshmem_move(int what, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, size_t bytes, int pe, cudaStream_t s)
{
    move<<<1, THREADS, 0, s>>>(what, dest, source, dst, sst, nelems, bytes, pe);
    launched("an operation on a stream");
}

void fulmar_nvshmem_value(void *dest, uint64_t bits, size_t bytes, int pe, cudaStream_t s)
{
    put_value<<<1, 1, 0, s>>>(dest, bits, bytes, pe);
    launched("a put on a stream");
}

void fulmar_nvshmem_signal(void *dest, const void *source, size_t bytes, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, cudaStream_t s)
{
    put_signal<<<1, bytes ? THREADS : 1, 0, s>>>(dest, source, bytes, sig_addr, signal, sig_op, pe);
    launched("a signal on a stream");
}

void fulmar_nvshmem_wait(const void *ivars, size_t bytes, int is_signed, size_t n, const int *status, int cmp, uint64_t value, const void *values, cudaStream_t s)
{
    wait_all<<<1, 1, 0, s>>>(ivars, bytes, is_signed, n, status, cmp, value, values);
    launched("a wait on a stream");
}

void nvshmemx_quiet_on_stream(cudaStream_t s)
{
    quiet<<<1, 1, 0, s>>>();
    launched(__func__);
}

int fulmar_nvshmem_coll(int kind, nvshmem_team_t team, void *dest, const void *source, size_t bytes, int root, cudaStream_t s)
{
    if (team == NVSHMEM_TEAM_WORLD)
        fulmar_nvshmem_begin();
    collective<<<1, kind >= FULMAR_COLL_BARRIER ? 1 : THREADS, 0, s>>>(kind, team, dest, source, bytes, root);
    return launched("a collective on a stream");
}

int fulmar_nvshmem_reduce(int type, int op, nvshmem_team_t team, void *dest, const void *source, size_t n, int scatter, cudaStream_t s, int wait)
{
#define FULMAR_REDUCE_BYTES_(N, T, ...) sizeof(T),
    static const unsigned char bytes[] = {NVSHMEM_TYPES_REDUCE_(FULMAR_REDUCE_BYTES_, )};
    reduce<<<1, THREADS, 0, s>>>(type, op, team, (char *)dest, (const char *)source, n, bytes[type], scatter);
    int err = launched("a reduction");
    return err || !wait ? err : cudaStreamSynchronize(s) ? NVSHMEMX_ERROR_INTERNAL : 0;
}
}
