/*
 * sweep_kernel.c - puts with quiet by a kernel of PE 0 to PE 1, through the ring, from 1 B to 4 MiB (or to the argument) in steps of
 * the square root of 2. Fulmar only. A row contains a small part of the launch of its kernel.
 */
#include "sweep.h"

#include <shmemx.h>

enum { BYTES_MAX = 4 << 20, PUTS = 16 };

static void *ctx;

static void loop_kernel(void *arg, long calls)
{
    struct sweep *s = arg;
    uint64_t bytes = s->bytes, n = (uint64_t)calls * PUTS;
    const size_t one[3] = {1, 1, 1};

    if (shmemx_launch("put_quiet", one, one, (void *[]){&ctx, &s->remote, &s->local, &bytes, &n}, (size_t[]){8, 8, 8, 8, 8}, 5) ||
        shmemx_device_sync())
        shmem_global_exit(2);
}

int main(int argc, char **argv)
{
    setenv("SHMEM_TEST_DEVICE_DIRECT", "0", 0);
    bench_init("sweep_kernel", 2);

    size_t limit = sweep_limit(argc, argv, BYTES_MAX);
    char *to = shmemg_calloc(limit, 1), *from = shmemg_calloc(limit, 1);

    if (!to || !from || shmemx_device_ctx_create(SHMEM_TEAM_WORLD, SHMEM_CTX_PRIVATE, &ctx))
        shmem_global_exit(2);
    sweep_run("kernel_put", BENCH_US, limit, to, from, 0, PUTS, loop_kernel);
    shmem_finalize();
    return 0;
}
