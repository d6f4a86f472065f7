/* sweep_kernel.cl - the kernel of sweep_kernel.c: one work-item puts n times, a quiet after each. */
#include <shmemg.h>

SHMEMG_KERNEL void put_quiet(shmem_ctx_t ctx, SHMEMG_GLOBAL char *to, SHMEMG_GLOBAL char *from, uint64_t bytes, uint64_t n)
{
    for (uint64_t i = 0; i < n; i++) {
        shmemg_ctx_putmem(ctx, to, from, bytes, 1);
        shmemg_ctx_quiet(ctx);
    }
}
