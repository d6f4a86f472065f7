/* ring.cl - the kernels of ring.c. */
#include <shmemg.h>

/* Every work-item puts n words. */
__kernel void puts(__global void *c, __global ulong *w, ulong n, int pe)
{
    shmem_ctx_t ctx = c;
    __global ulong *mine = w + get_global_id(0);
    for (ulong i = 0; i < n; i++)
        shmemg_ctx_uint64_p(ctx, mine, i, pe);
    shmemg_ctx_quiet_tg(ctx);
}

/* Every work-item asks for words and waits for each, n times. They differ: a driver may take a word that stays the same
 * for one that is waited for. */
__kernel void trips(__global void *c, __global ulong *w, ulong n, int pe)
{
    shmem_ctx_t ctx = c;
    ulong sum = 0;
    for (ulong i = 0; i < n; i++)
        sum += shmemg_ctx_uint64_g(ctx, w + 64 + (i + get_global_id(0)) % 64, pe);
    if (sum == 1)
        w[0] = sum; /* so that it is not for nothing */
}

/* One work-item: n round trips of data with a signal; the signal counts on from `from`. */
__kernel void ping(__global void *c, __global ulong *w, __global ulong *signal, ulong from, ulong n, int first)
{
    shmem_ctx_t ctx = c;
    int peer = 1 - shmemg_ctx_my_pe(ctx);
    for (ulong i = from + 1; i <= from + n; i++) {
        if (!first)
            shmemg_ctx_signal_wait_until(ctx, signal, SHMEM_CMP_GE, i);
        shmemg_ctx_putmem_signal(ctx, w, w + 1, 8, signal, i, SHMEM_SIGNAL_SET, peer);
        if (first)
            shmemg_ctx_signal_wait_until(ctx, signal, SHMEM_CMP_GE, i);
    }
}
