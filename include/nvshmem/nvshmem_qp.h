/*
 * nvshmem_qp.h - NVSHMEM's queue pairs in kernels: the routines of nvshmem.h and nvshmem_kernel.h with a handle as the last argument.
 *
 * Every handle is the default context, as in NVSHMEM with a transport that has no queue pairs. So a fence or quiet of some handles, or for
 * one PE, orders or completes the operations of all: more than a program may rely on.
 */
#ifndef NVSHMEM_QP_H
#define NVSHMEM_QP_H

#include "nvshmem_kernel.h"

/* The routine P##NAME with a handle. */
#define FULMAR_QP_(R, P, NAME, PARAMS, ...)                                                                           \
    FULMAR_DEVICE_ R nvshmemx_qp_##NAME(FULMAR_QP_LIST_ PARAMS, nvshmemx_qp_handle_t qp_index)                        \
    {                                                                                                                 \
        (void)qp_index;                                                                                               \
        return P##NAME(__VA_ARGS__);                                                                                  \
    }
#define FULMAR_QP_LIST_(...) __VA_ARGS__
#define FULMAR_QP_MOVE_(P, N, T, NAME) FULMAR_QP_(void, P, N##_##NAME, (T * dest, const T *source, size_t nelems, int pe), dest, source, nelems, pe)
#define FULMAR_QP_SIGNAL_(P, N, T, NAME)                                                                              \
    FULMAR_QP_(void, P, N##_##NAME, (T * dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe), dest, \
               source, nelems, sig_addr, signal, sig_op, pe)
#define FULMAR_QP_GROUP_(P, S, N, T)                                                                                  \
    FULMAR_QP_MOVE_(P, N, T, put##S) FULMAR_QP_MOVE_(P, N, T, put_nbi##S)                                             \
    FULMAR_QP_MOVE_(P, N, T, get##S) FULMAR_QP_MOVE_(P, N, T, get_nbi##S)                                             \
    FULMAR_QP_SIGNAL_(P, N, T, put_signal##S) FULMAR_QP_SIGNAL_(P, N, T, put_signal_nbi##S)
#define FULMAR_QP_TYPE_(N, T, ...)                                                                                    \
    FULMAR_QP_GROUP_(nvshmem_, , N, T) FULMAR_QP_GROUP_(nvshmemx_, _warp, N, T) FULMAR_QP_GROUP_(nvshmemx_, _block, N, T) \
    FULMAR_QP_(void, nvshmem_, N##_p, (T * dest, const T value, int pe), dest, value, pe)                             \
    FULMAR_QP_(T, nvshmem_, N##_g, (const T *source, int pe), source, pe)
NVSHMEM_TYPES_RMA_(FULMAR_QP_TYPE_, )
FULMAR_QP_(void, nvshmemx_, signal_op, (uint64_t * sig_addr, uint64_t signal, int sig_op, int pe), sig_addr, signal, sig_op, pe)

#define FULMAR_QP_ORDER_(G, S, ...)                                                                                   \
    FULMAR_DEVICE_ void nvshmemx_qp_fence##S(int pe, nvshmemx_qp_handle_t *qp_handle, int num_qps)                    \
    {                                                                                                                 \
        (void)pe, (void)qp_handle, (void)num_qps;                                                                     \
        shi_device::shi_fence(FULMAR_CTX_, shi_device::G);                                                            \
    }                                                                                                                 \
    FULMAR_DEVICE_ void nvshmemx_qp_quiet##S(int pe, nvshmemx_qp_handle_t *qp_handle, int num_qps)                    \
    {                                                                                                                 \
        (void)pe, (void)qp_handle, (void)num_qps;                                                                     \
        (void)shi_device::shi_quiet(FULMAR_CTX_, shi_device::G);                                                      \
    }
FULMAR_QP_ORDER_(SHI_THREAD, )
FULMAR_GROUPS_(FULMAR_QP_ORDER_, )

#endif
