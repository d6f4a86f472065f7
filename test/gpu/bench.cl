/*
 * bench.cl - loops of device routines that the host times, written with shmemg.h's macros: OpenCL C and CUDA C++.
 *
 * An empty request requests no operation: its cost is that of the ring and the proxy alone.
 */
#include <shmemg.h>

enum { ISSUE, PUT, PUT_QUIET, PUT_SIGNAL, FETCH, EMPTY_WAIT }; /* bench.c */

static inline SHMEMG_DEVICE void post_empty(shmem_ctx_t ctx, int pe, int wait)
{
    struct shi_request q;
    for (int i = 0; i < 6; i++)
        q.arg[i] = 0;
    shi_request_put_inline(&q, 0, 0);
    shi_post_and_wait(ctx, &q, pe, 0, wait);
}

static inline SHMEMG_DEVICE void once(shmem_ctx_t ctx, SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *sig, int what,
                                      int pe, uint64_t i)
{
    switch (what) {
    case ISSUE: post_empty(ctx, pe, 0); break;
    case PUT: shmemg_ctx_uint64_p(ctx, w, i, pe); break;
    case PUT_QUIET:
        shmemg_ctx_uint64_p(ctx, w, i, pe);
        shmemg_ctx_quiet(ctx);
        break;
    case PUT_SIGNAL: shmemg_ctx_uint64_put_signal_nbi(ctx, w, &i, 1, sig, i, SHMEM_SIGNAL_SET, pe); break;
    case FETCH: shmemg_ctx_uint64_g(ctx, w, pe); break;
    default: post_empty(ctx, pe, 1); break;
    }
}

/* All work-items run the same loop, `rounds` times. */
SHMEMG_KERNEL void loop(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *sig, int what, int pe, uint64_t rounds)
{
    shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;
    for (uint64_t i = 1; i <= rounds; i++)
        once(ctx, w, sig, what, pe, i);
}

/* Group 0 runs the loop; the others post requests on the context `given` until it ends. */
SHMEMG_KERNEL void oversubscribed(SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *sig, SHMEMG_GLOBAL shi_u64 *given,
                           SHMEMG_GLOBAL uint64_t *over, int what, int pe, uint64_t rounds)
{
    if (shmemg_group_id(0) == 0) {
        for (uint64_t i = 1; i <= rounds; i++)
            once(SHMEM_DEVICE_CTX_DEFAULT, w, sig, what, pe, i);
        shi_store_release((SHMEMG_GLOBAL shi_u64 *)over, 1);
    } else {
        while (!shi_load_acquire((SHMEMG_GLOBAL shi_u64 *)over))
            once((shmem_ctx_t)given, w, sig, EMPTY_WAIT, pe, 1);
    }
}
