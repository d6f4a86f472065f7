/* ring.cl - the kernels of ring.c. */
#include <shmemg.h>

/* Every work-item puts n words. */
SHMEMG_KERNEL void post(shmem_ctx_t ctx, SHMEMG_GLOBAL uint64_t *w, uint64_t n, int pe)
{
    SHMEMG_GLOBAL uint64_t *mine = w + shmemg_global_id(0);
    for (uint64_t i = 0; i < n; i++)
        shmemg_ctx_uint64_p(ctx, mine, i, pe);
    shmemg_ctx_quiet_tg(ctx);
}

/* Every work-item fetches a word and waits for it, n times. The words differ: a driver may take an unchanged word for
 * one that a kernel polls. */
SHMEMG_KERNEL void trips(shmem_ctx_t ctx, SHMEMG_GLOBAL uint64_t *w, uint64_t n, int pe)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++)
        sum += shmemg_ctx_uint64_g(ctx, w + 64 + (i + shmemg_global_id(0)) % 64, pe);
    if (sum == 1)
        w[0] = sum; /* keeps the loop from being optimized away */
}

/* One work-item: n round trips of data with a signal; the signal's values continue from `from`. */
SHMEMG_KERNEL void ping(shmem_ctx_t ctx, SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *signal, uint64_t from,
                        uint64_t n, int first)
{
    int peer = 1 - shmemg_ctx_my_pe(ctx);
    for (uint64_t i = from + 1; i <= from + n; i++) {
        if (!first)
            shmemg_ctx_signal_wait_until(ctx, signal, SHMEM_CMP_GE, i);
        shmemg_ctx_putmem_signal(ctx, w, w + 1, 8, signal, i, SHMEM_SIGNAL_SET, peer);
        if (first)
            shmemg_ctx_signal_wait_until(ctx, signal, SHMEM_CMP_GE, i);
    }
}

/* One work-item: n windows of puts, a quiet after each. */
SHMEMG_KERNEL void stream_put(shmem_ctx_t ctx, SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *signal, uint64_t n,
                              uint64_t window, uint64_t bytes)
{
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t b = 0; b < window; b++)
            shmemg_ctx_putmem_nbi(ctx, w + b * bytes / 8, w + b * bytes / 8, bytes, 1);
        shmemg_ctx_quiet(ctx);
    }
}

/* The same with signals. */
SHMEMG_KERNEL void stream_put_signal(shmem_ctx_t ctx, SHMEMG_GLOBAL uint64_t *w, SHMEMG_GLOBAL uint64_t *signal, uint64_t n,
                                     uint64_t window, uint64_t bytes)
{
    for (uint64_t i = 0; i < n; i++) {
        for (uint64_t b = 0; b < window; b++)
            shmemg_ctx_putmem_signal_nbi(ctx, w + b * bytes / 8, w + b * bytes / 8, bytes, signal, 1, SHMEM_SIGNAL_ADD, 1);
        shmemg_ctx_quiet(ctx);
    }
}
