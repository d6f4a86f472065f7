/*
 * nvshmemx.h - NVSHMEM's extensions on the host: operations in the order of a CUDA stream, collective launches, start by attributes,
 * modules, buffers. Kernels' extensions come with nvshmem.h.
 *
 * An operation on a stream is a kernel of src/nvshmem in that stream.
 */
#ifndef NVSHMEMX_H
#define NVSHMEMX_H

#include <cuda.h>

#include "nvshmem.h"

#ifdef __cplusplus
extern "C" {
#endif
struct CUlib_st;

int nvshmemx_get_uniqueid(nvshmemx_uniqueid_t *uniqueid);
int nvshmemx_set_attr_uniqueid_args(const int myrank, const int nranks, const nvshmemx_uniqueid_t *uniqueid, nvshmemx_init_attr_t *attr);
int nvshmemx_set_attr_mpi_comm_args(void *mpi_comm, nvshmemx_init_attr_t *attr);
int nvshmemx_collective_launch(const void *func, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream);
int nvshmemx_collective_launch_query_gridsize(const void *func, dim3 block, void **args, size_t shared, int *gridsize);
int nvshmemx_cumodule_init(struct CUmod_st *module);
int nvshmemx_cumodule_finalize(struct CUmod_st *module);
int nvshmemx_culibrary_init(struct CUlib_st *library);
int nvshmemx_culibrary_finalize(struct CUlib_st *library);
int nvshmemx_qp_create(int num_qps, nvshmemx_qp_handle_t **out_qp_array);
int nvshmemx_buffer_register(void *addr, size_t length);
int nvshmemx_buffer_unregister(void *addr);
void nvshmemx_buffer_unregister_all(void);
void *nvshmemx_buffer_register_symmetric(void *buf_ptr, size_t size, int flags);
int nvshmemx_buffer_unregister_symmetric(void *mmap_ptr, size_t size);

/* Fulmar's own: one kernel each. B: bytes of an element. */
enum { FULMAR_MOVE_PUT, FULMAR_MOVE_GET, FULMAR_MOVE_IPUT, FULMAR_MOVE_IGET };
enum { FULMAR_COLL_ALLTOALL, FULMAR_COLL_FCOLLECT, FULMAR_COLL_COLLECT, FULMAR_COLL_BROADCAST, FULMAR_COLL_BARRIER, FULMAR_COLL_SYNC };
void fulmar_nvshmem_move(int move, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, size_t bytes, int pe, cudaStream_t stream);
void fulmar_nvshmem_value(void *dest, uint64_t bits, size_t bytes, int pe, cudaStream_t stream);
void fulmar_nvshmem_signal(void *dest, const void *source, size_t bytes, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, cudaStream_t stream);
void fulmar_nvshmem_wait(const void *ivars, size_t bytes, int is_signed, size_t n, const int *status, int cmp, uint64_t value,
                         const void *values, cudaStream_t stream);
int fulmar_nvshmem_coll(int kind, nvshmem_team_t team, void *dest, const void *source, size_t bytes, int root, cudaStream_t stream);
void nvshmemx_quiet_on_stream(cudaStream_t stream);
#ifdef __cplusplus
}
#endif

#define FULMAR_STREAM_ static inline

/* Lines of programs that use NVSHMEM's own macros. */
#define NVSHMEMI_ERROR_PRINT(...) (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), fprintf(stderr, "\n"))
#define NVSHMEMI_WARN_PRINT(...) (printf("WARN: "), printf(__VA_ARGS__), printf("\n"))
#define NVSHMEMI_ERROR_EXIT(...) (NVSHMEMI_ERROR_PRINT(__VA_ARGS__), exit(-1))

/* ---- moves --------------------------------------------------------------------------------------------------------------------- */

#define FULMAR_MOVE_(MOVE, NAME, D, B)                                                                                \
    FULMAR_STREAM_ void NAME(D *dest, const D *source, size_t nelems, int pe, cudaStream_t stream)                    \
    {                                                                                                                 \
        fulmar_nvshmem_move(FULMAR_MOVE_##MOVE, dest, source, 1, 1, nelems * (B), 1, pe, stream);                     \
    }
#define FULMAR_IMOVE_(MOVE, NAME, D, B)                                                                               \
    FULMAR_STREAM_ void NAME(D *dest, const D *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe, cudaStream_t stream) \
    {                                                                                                                 \
        fulmar_nvshmem_move(FULMAR_MOVE_##MOVE, dest, source, dst, sst, nelems, B, pe, stream);                       \
    }
#define FULMAR_SIGNAL_(NAME, D, B)                                                                                    \
    FULMAR_STREAM_ void NAME(D *dest, const D *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, cudaStream_t stream) \
    {                                                                                                                 \
        fulmar_nvshmem_signal(dest, source, nelems * (B), sig_addr, signal, sig_op, pe, stream);                      \
    }
#define FULMAR_STREAM_MOVES_(P, V, D, B)                                                                              \
    FULMAR_MOVE_(PUT, P##put##V##_on_stream, D, B) FULMAR_MOVE_(PUT, P##put##V##_nbi_on_stream, D, B)                 \
    FULMAR_MOVE_(GET, P##get##V##_on_stream, D, B) FULMAR_MOVE_(GET, P##get##V##_nbi_on_stream, D, B)                 \
    FULMAR_SIGNAL_(P##put##V##_signal_on_stream, D, B) FULMAR_SIGNAL_(P##put##V##_signal_nbi_on_stream, D, B)
#define FULMAR_STREAM_IMOVES_(P, V, D, B)                                                                             \
    FULMAR_IMOVE_(IPUT, P##iput##V##_on_stream, D, B) FULMAR_IMOVE_(IGET, P##iget##V##_on_stream, D, B)
#define FULMAR_STREAM_TYPED_(N, T, ...)                                                                               \
    FULMAR_STREAM_MOVES_(nvshmemx_##N##_, , T, sizeof(T)) FULMAR_STREAM_IMOVES_(nvshmemx_##N##_, , T, sizeof(T))      \
    FULMAR_STREAM_ void nvshmemx_##N##_p_on_stream(T *dest, const T value, int pe, cudaStream_t stream)               \
    {                                                                                                                 \
        uint64_t bits = 0;                                                                                            \
        memcpy(&bits, &value, sizeof value);                                                                          \
        fulmar_nvshmem_value(dest, bits, sizeof value, pe, stream);                                                   \
    }                                                                                                                 \
    FULMAR_STREAM_ T nvshmemx_##N##_g_on_stream(const T *source, int pe, cudaStream_t stream)                         \
    {                                                                                                                 \
        T value;                                                                                                      \
        cudaStreamSynchronize(stream);                                                                                \
        shmem_getmem(&value, source, sizeof value, pe);                                                               \
        return value;                                                                                                 \
    }
#define FULMAR_STREAM_SIZED_(BITS, B, ...) FULMAR_STREAM_MOVES_(nvshmemx_, BITS, void, B)
#define FULMAR_STREAM_SIZED_I_(BITS, B, ...) FULMAR_STREAM_IMOVES_(nvshmemx_, BITS, void, B)
NVSHMEM_TYPES_RMA_(FULMAR_STREAM_TYPED_, )
NVSHMEM_SIZES_(FULMAR_STREAM_SIZED_, )
NVSHMEM_SIZES_(FULMAR_STREAM_SIZED_I_, )
FULMAR_STREAM_SIZED_(mem, 1)

/* ---- signals, waits --------------------------------------------------------------------------------------------------------------- */

FULMAR_STREAM_ void nvshmemx_signal_op_on_stream(uint64_t *sig_addr, uint64_t signal, int sig_op, int pe, cudaStream_t stream)
{
    fulmar_nvshmem_signal(sig_addr, sig_addr, 0, sig_addr, signal, sig_op, pe, stream);
}
FULMAR_STREAM_ void nvshmemx_signal_wait_until_on_stream(uint64_t *sig_addr, int cmp, uint64_t cmp_value, cudaStream_t stream)
{
    fulmar_nvshmem_wait(sig_addr, 8, 0, 1, NULL, cmp, cmp_value, NULL, stream);
}
#define FULMAR_STREAM_WAITS_(N, T, ...)                                                                               \
    FULMAR_STREAM_ void nvshmemx_##N##_wait_until_all_on_stream(T *ivars, size_t nelems, const int *status, int cmp, T cmp_value, cudaStream_t stream) \
    {                                                                                                                 \
        uint64_t bits = 0;                                                                                            \
        memcpy(&bits, &cmp_value, sizeof cmp_value);                                                                  \
        fulmar_nvshmem_wait(ivars, sizeof(T), (T)-1 < (T)1, nelems, status, cmp, bits, NULL, stream);                 \
    }                                                                                                                 \
    FULMAR_STREAM_ void nvshmemx_##N##_wait_until_on_stream(T *ivar, int cmp, T cmp_value, cudaStream_t stream)       \
    {                                                                                                                 \
        nvshmemx_##N##_wait_until_all_on_stream(ivar, 1, NULL, cmp, cmp_value, stream);                               \
    }                                                                                                                 \
    FULMAR_STREAM_ void nvshmemx_##N##_wait_until_all_vector_on_stream(T *ivars, size_t nelems, const int *status, int cmp, T *cmp_values, \
                                                                       cudaStream_t stream)                           \
    {                                                                                                                 \
        fulmar_nvshmem_wait(ivars, sizeof(T), (T)-1 < (T)1, nelems, status, cmp, 0, cmp_values, stream);              \
    }
NVSHMEM_TYPES_WAIT_(FULMAR_STREAM_WAITS_, )

/* ---- collectives ------------------------------------------------------------------------------------------------------------------ */

FULMAR_STREAM_ int nvshmemx_barrier_on_stream(nvshmem_team_t team, cudaStream_t stream)
{
    return fulmar_nvshmem_coll(FULMAR_COLL_BARRIER, team, NULL, NULL, 0, 0, stream);
}
FULMAR_STREAM_ void nvshmemx_barrier_all_on_stream(cudaStream_t stream)
{
    nvshmemx_barrier_on_stream(NVSHMEM_TEAM_WORLD, stream);
}
FULMAR_STREAM_ int nvshmemx_team_sync_on_stream(nvshmem_team_t team, cudaStream_t stream)
{
    return fulmar_nvshmem_coll(FULMAR_COLL_SYNC, team, NULL, NULL, 0, 0, stream);
}
#define nvshmemx_sync_on_stream nvshmemx_team_sync_on_stream
FULMAR_STREAM_ void nvshmemx_sync_all_on_stream(cudaStream_t stream)
{
    nvshmemx_team_sync_on_stream(NVSHMEM_TEAM_WORLD, stream);
}
#define FULMAR_STREAM_COLL_(KIND, NAME, T, B)                                                                         \
    FULMAR_STREAM_ int NAME(nvshmem_team_t team, T *dest, const T *source, size_t nelems, cudaStream_t stream)        \
    {                                                                                                                 \
        return fulmar_nvshmem_coll(FULMAR_COLL_##KIND, team, dest, source, nelems * (B), 0, stream);                  \
    }
#define FULMAR_STREAM_COLLS_(N, T, B, MEM)                                                                            \
    FULMAR_STREAM_COLL_(ALLTOALL, nvshmemx_##N##alltoall##MEM##_on_stream, T, B)                                      \
    FULMAR_STREAM_COLL_(FCOLLECT, nvshmemx_##N##fcollect##MEM##_on_stream, T, B)                                      \
    FULMAR_STREAM_COLL_(COLLECT, nvshmemx_##N##collect##MEM##_on_stream, T, B)                                        \
    FULMAR_STREAM_ int nvshmemx_##N##broadcast##MEM##_on_stream(nvshmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root, \
                                                                cudaStream_t stream)                                  \
    {                                                                                                                 \
        return fulmar_nvshmem_coll(FULMAR_COLL_BROADCAST, team, dest, source, nelems * (B), PE_root, stream);         \
    }
#define FULMAR_STREAM_COLLS_TYPED_(N, T, ...) FULMAR_STREAM_COLLS_(N##_, T, sizeof(T), )
NVSHMEM_TYPES_RMA_(FULMAR_STREAM_COLLS_TYPED_, )
FULMAR_STREAM_COLLS_(, void, 1, mem)

#define FULMAR_STREAM_REDUCE_(N, T, NAME, OP)                                                                         \
    FULMAR_STREAM_ int nvshmemx_##N##_##NAME##_reduce_on_stream(nvshmem_team_t team, T *dest, const T *source, size_t nreduce, cudaStream_t stream) \
    {                                                                                                                 \
        return fulmar_nvshmem_reduce(FULMAR_TYPE_##N, FULMAR_OP_##OP, team, dest, source, nreduce, 0, stream, 0);     \
    }                                                                                                                 \
    FULMAR_STREAM_ int nvshmemx_##N##_##NAME##_reducescatter_on_stream(nvshmem_team_t team, T *dest, const T *source, size_t nreduce, cudaStream_t stream) \
    {                                                                                                                 \
        return fulmar_nvshmem_reduce(FULMAR_TYPE_##N, FULMAR_OP_##OP, team, dest, source, nreduce, 1, stream, 0);     \
    }
#define FULMAR_STREAM_BITWISE_(N, T, ...)                                                                             \
    FULMAR_STREAM_REDUCE_(N, T, and, AND) FULMAR_STREAM_REDUCE_(N, T, or, OR) FULMAR_STREAM_REDUCE_(N, T, xor, XOR)
#define FULMAR_STREAM_ARITH_(N, T, ...)                                                                               \
    FULMAR_STREAM_REDUCE_(N, T, max, MAX) FULMAR_STREAM_REDUCE_(N, T, min, MIN)                                       \
    FULMAR_STREAM_REDUCE_(N, T, sum, SUM) FULMAR_STREAM_REDUCE_(N, T, prod, PROD)
NVSHMEM_TYPES_BITWISE_REDUCE_(FULMAR_STREAM_BITWISE_, )
NVSHMEM_TYPES_REDUCE_(FULMAR_STREAM_ARITH_, )

#endif
