/*
 * sweep_gpc.c - global procedure calls of PE 0 to PE 1 with data from 1 B to 64 MiB (or to the argument, at most the limit of a call) in
 * steps of the square root of 2. Fulmar only. gpc: round trip with data in the call and an answer of 8 B; gpc_reply: with data in the
 * answer; burst_gpc: GB/s of nonblocking calls with data.
 */
#include "sweep.h"

#include <shmemx.h>

enum { BYTES_MAX = 64 << 20 };

static int h_take, h_give;

/* Data arrives; the answer is its length. */
static int take(shmemx_gpc_call_t *c)
{
    *(uint64_t *)c->rhdr = c->dlen;
    c->rhsize = sizeof(uint64_t);
    return SHMEMX_GPC_DONE;
}

static int give(shmemx_gpc_call_t *c)
{
    c->rdsize = c->rdlen;
    return SHMEMX_GPC_DONE;
}

static void check(int good)
{
    if (good)
        return;
    fprintf(stderr, "sweep_gpc: a call failed\n");
    shmem_global_exit(2);
}

static void loop_gpc(void *arg, long calls)
{
    const struct sweep *s = arg;
    uint64_t reply[SWEEP_BURST];
    shmemx_gpc_nbh_t nbh[SWEEP_BURST];

    for (long i = 0; i < s->burst; i++)
        shmemx_gpc_nbh_init(&nbh[i]);
    while (calls--) {
        for (long i = 0; i < s->burst; i++)
            check(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_take, 1, NULL, 0, s->local, s->bytes, &reply[i], 8, NULL, 0,
                                  s->burst > 1 ? &nbh[i] : NULL) == 0);
        for (long i = 0; i < s->burst; i++)
            check((s->burst == 1 || shmemx_gpc_wait(&nbh[i]) == 0) && reply[i] == s->bytes);
    }
}

static void loop_gpc_reply(void *arg, long calls)
{
    const struct sweep *s = arg;

    while (calls--)
        check(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_give, 1, NULL, 0, NULL, 0, NULL, 0, s->local, s->bytes, NULL) == 0);
}

int main(int argc, char **argv)
{
    shmemx_gpc_limits_t limits;

    bench_init("sweep_gpc", 2);
    shmemx_gpc_limits(&limits);

    size_t limit = sweep_limit(argc, argv, BYTES_MAX);
    limit = limit < limits.dlen ? limit : limits.dlen;
    char *local = bench_private(limit);

    h_take = shmemx_gpc_register(take);
    h_give = shmemx_gpc_register(give);
    sweep_run("gpc", BENCH_US, limit, NULL, local, 0, 1, loop_gpc);
    sweep_run("gpc_reply", BENCH_US, limit, NULL, local, 0, 1, loop_gpc_reply);
    sweep_run("burst_gpc", BENCH_GB_PER_S, limit, NULL, local, 0, 1, loop_gpc);
    free(local);
    shmem_finalize();
    return 0;
}
