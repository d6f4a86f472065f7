/*
 * sweep_tag.c - tagged messages between PE 0 and PE 1 from 1 B to 64 MiB (or to the argument) in steps of the square root of 2: time
 * one way, GB/s of bursts. Needs shmemx_tag, or MPI by bench/mpi.
 */
#include "sweep.h"

#include <shmemx.h>

enum { BYTES_MAX = 64 << 20 };

/* One call is a round trip. */
static void loop_tag(void *arg, long calls)
{
    const struct sweep *s = arg;
    int me = shmem_my_pe();

    for (; me < 2 && calls > 0; calls--) {
        if (me == 0)
            shmemx_tag_send(SHMEM_TEAM_WORLD, s->local, s->bytes, 1, 1 - me);
        shmemx_tag_recv(SHMEM_TEAM_WORLD, s->remote, s->bytes, 1, SHMEMX_TAG_EXACT, 1 - me, NULL);
        if (me == 1)
            shmemx_tag_send(SHMEM_TEAM_WORLD, s->local, s->bytes, 1, 1 - me);
    }
}

/* One call is a burst from PE 0 to PE 1 and a reply. */
static void loop_tag_burst(void *arg, long calls)
{
    const struct sweep *s = arg;
    shmemx_tag_request_t r[SWEEP_BURST];
    int me = shmem_my_pe();

    for (; me < 2 && calls > 0; calls--) {
        for (long i = 0; i < s->burst; i++) {
            if (me == 0)
                shmemx_tag_isend(SHMEM_TEAM_WORLD, s->local, s->bytes, 1, 1, &r[i]);
            else
                shmemx_tag_irecv(SHMEM_TEAM_WORLD, s->remote, s->bytes, 1, SHMEMX_TAG_EXACT, 0, &r[i]);
        }
        shmemx_tag_wait_all((size_t)s->burst, r, NULL);
        if (me == 0)
            shmemx_tag_recv(SHMEM_TEAM_WORLD, s->remote, 1, 2, SHMEMX_TAG_EXACT, 1, NULL);
        else
            shmemx_tag_send(SHMEM_TEAM_WORLD, s->local, 1, 2, 0);
    }
}

int main(int argc, char **argv)
{
    setenv("SHMEM_SYMMETRIC_SIZE", "256M", 0);
    bench_init("sweep_tag", 2);

    size_t limit = sweep_limit(argc, argv, BYTES_MAX);
    char *heap = bench_symmetric(2 * limit);

    sweep_run("tag", BENCH_US, limit, heap, heap + limit, 1, 2, loop_tag);
    sweep_run("burst_tag", BENCH_GB_PER_S, limit, heap, heap + limit, 1, 1, loop_tag_burst);
    shmem_free(heap);
    shmem_finalize();
    return 0;
}
