/*
 * shmemx_complete.h - completion: of sources alone, without waiting, and order for some PEs; included by shmemx.h. Nothing here is collective.
 */
#ifndef SHMEMX_COMPLETE_H
#define SHMEMX_COMPLETE_H
#include "shmem.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* The completion of operations that were issued before the call which filled it in, or of a collective (shmemx_coll.h). It takes no memory, needs no end, may be copied,
 * and may be dropped at any time; it ends with shmem_finalize. Its members belong to the library. */
typedef struct {
    uint64_t wait_;
    int lane_, pe_;
} shmemx_req_t;
#define SHMEMX_REQ_NULL {0, 0, 0} /* as an initial value: complete */

/*
 * shmemx_flush: the sources of the nonblocking puts that this PE issued on the context may change, and the dests of its nonblocking gets
 * and fetches are there. Puts need not be visible yet: shmem_quiet completes them.
 * shmemx_quiet_nb: what shmem_quiet waits for, as a request. shmemx_pe_quiet_nb: the same for operations on PE pe of the context's team;
 * right after a nonblocking call it is a handle of that call, and of the earlier ones on the PE.
 * shmemx_req_test returns 1 if all of it is complete, then *req is SHMEMX_REQ_NULL; else 0 after some progress. shmemx_req_wait waits.
 * Later operations are not waited for. Any thread that may call the library may test or wait.
 * shmemx_pe_fence: shmem_fence for operations on the npes PEs in target_pes.
 *
 * The forms without ctx apply to SHMEM_CTX_DEFAULT. On SHMEM_CTX_INVALID nothing is issued, and a request is complete.
 */
#define SHMEMX_FOR_EACH_COMPLETE(U)                                                                                  \
    U(void, shmemx_flush, (void))                                                                                    \
    U(void, shmemx_ctx_flush, (shmem_ctx_t ctx))                                                                     \
    U(void, shmemx_quiet_nb, (shmemx_req_t * req))                                                                   \
    U(void, shmemx_ctx_quiet_nb, (shmem_ctx_t ctx, shmemx_req_t * req))                                              \
    U(void, shmemx_pe_quiet_nb, (int pe, shmemx_req_t *req))                                                         \
    U(void, shmemx_ctx_pe_quiet_nb, (shmem_ctx_t ctx, int pe, shmemx_req_t *req))                                    \
    U(int, shmemx_req_test, (shmemx_req_t * req))                                                                    \
    U(void, shmemx_req_wait, (shmemx_req_t * req))                                                                   \
    U(void, shmemx_pe_fence, (const int *target_pes, size_t npes))                                                   \
    U(void, shmemx_ctx_pe_fence, (shmem_ctx_t ctx, const int *target_pes, size_t npes))

#define SHMEMX_FN_(R, NAME, PARAMS) R NAME PARAMS; R p##NAME PARAMS;
SHMEMX_FOR_EACH_COMPLETE(SHMEMX_FN_)
#undef SHMEMX_FN_

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
