/*
 * beyond.c - calls that OpenSHMEM 1.6 does not have, between PE 0 and 1 or of all PEs; with bench/mpi the nearest calls of MPI, of windows and
 * communicators. Needs shmemx.h. Each row ends what it begins: memory is removed again, a put is complete at its target unless its name says
 * otherwise.
 */
#include "bench.h"

#include <shmemx.h>

enum { MEMORY = 64 << 10, PART = 8 << 10 };

static int n_pes, ranks[1024], downwards[1024], found[1024];
static size_t offsets[1024], counts[1024];
static char *memory;
static long *dest, *source, *far; /* far: in a space; MPI: a window's memory */

/* BODY(NAME, ours, MPI's) is a loop of one of them. */
#ifdef BENCH_MPI_SHMEM_H
static MPI_Win win;
static MPI_Comm made;
static MPI_Group all, reversed;
static int int_offsets[1024], int_counts[1024];
static struct {
    long value;
    int place;
} pair_in, pair_out;
#define BODY(NAME, OURS, ...)                                                                                        \
    static void loop_##NAME(void *arg, long calls)                                                                   \
    {                                                                                                                \
        for (; calls > 0; calls--) {                                                                                 \
            __VA_ARGS__;                                                                                             \
        }                                                                                                            \
        (void)arg;                                                                                                   \
    }
#else
static shmem_team_t made, reversed;
static shmemx_space_t space;
static const shmemx_space_config_t kind = {.memory = SHMEMX_MEMORY_HOST, .size = MEMORY};
static shmemx_req_t req;
static double sum;
static shmemx_long_loc_t *pair_in, *pair_out;
#define BODY(NAME, OURS, ...)                                                                                        \
    static void loop_##NAME(void *arg, long calls)                                                                   \
    {                                                                                                                \
        for (; calls > 0; calls--) {                                                                                 \
            OURS;                                                                                                    \
        }                                                                                                            \
        (void)arg;                                                                                                   \
    }
#endif

/* clang-format off */
BODY(add, (shmemx_symmetric_add(memory, MEMORY, SHMEMX_MEMORY_HOST), shmemx_symmetric_remove(memory)),
     MPI_Win w; MPI_Win_create(memory, MEMORY, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w); MPI_Win_free(&w))
BODY(space, (shmemx_space_create(SHMEM_TEAM_WORLD, &kind, &space), shmemx_space_destroy(space)),
     MPI_Win w; void *p; MPI_Win_allocate(MEMORY, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &p, &w); MPI_Win_free(&w))
BODY(split, (shmemx_team_split_color(SHMEM_TEAM_WORLD, shmem_my_pe() % 2, 0, NULL, 0, &made), shmem_team_destroy(made)),
     MPI_Comm_split(MPI_COMM_WORLD, shmem_my_pe() % 2, 0, &made); MPI_Comm_free(&made))
BODY(dup, (shmemx_team_dup(SHMEM_TEAM_WORLD, &made), shmem_team_destroy(made)),
     MPI_Comm_dup(MPI_COMM_WORLD, &made); MPI_Comm_free(&made))
BODY(translate, shmemx_team_translate_pes(SHMEM_TEAM_WORLD, ranks, n_pes, reversed, found),
     MPI_Group_translate_ranks(all, n_pes, ranks, reversed, found))
BODY(reducescatter_8, shmemx_long_sum_reducescatter(SHMEM_TEAM_WORLD, dest, source, 1),
     MPI_Reduce_scatter_block(source, dest, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD))
BODY(reducescatter_8k, shmemx_long_sum_reducescatter(SHMEM_TEAM_WORLD, dest, source, PART / sizeof(long)),
     MPI_Reduce_scatter_block(source, dest, PART / sizeof(long), MPI_LONG, MPI_SUM, MPI_COMM_WORLD))
BODY(alltoallv, shmemx_alltoallvmem(SHMEM_TEAM_WORLD, dest, offsets, counts, source, offsets, counts),
     MPI_Alltoallv(source, int_counts, int_offsets, MPI_BYTE, dest, int_counts, int_offsets, MPI_BYTE, MPI_COMM_WORLD))
BODY(minloc, shmemx_long_minloc_reduce(SHMEM_TEAM_WORLD, pair_out, pair_in, 1),
     MPI_Allreduce(&pair_in, &pair_out, 1, MPI_LONG_INT, MPI_MINLOC, MPI_COMM_WORLD))
BODY(put, (shmem_long_p(far, calls, 1), shmem_quiet()),
     MPI_Put(source, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win); MPI_Win_flush(1, win))
BODY(put_flush, (shmem_long_put_nbi(far, source, 1, 1), shmemx_flush()),
     MPI_Put(source, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win); MPI_Win_flush_local(1, win))
BODY(put_request, (shmem_long_put_nbi(far, source, 1, 1), shmemx_pe_quiet_nb(1, &req), shmemx_req_wait(&req)),
     MPI_Request r; MPI_Rput(source, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win, &r); MPI_Wait(&r, MPI_STATUS_IGNORE))
BODY(add_double, (shmemx_double_atomic_add((double *)far, 1, 1), shmem_quiet()),
     MPI_Accumulate(source, 1, MPI_DOUBLE, 1, 0, 1, MPI_DOUBLE, MPI_SUM, win); MPI_Win_flush(1, win))
BODY(fetch_add_double, sum += shmemx_double_atomic_fetch_add((double *)far, 1, 1),
     MPI_Fetch_and_op(source, dest, MPI_DOUBLE, 1, 0, MPI_SUM, win); MPI_Win_flush(1, win))
/* clang-format on */

static void make(void)
{
    for (int i = 0; i < n_pes; i++) {
        ranks[i] = i;
        downwards[i] = n_pes - 1 - i;
        counts[i] = PART;
        offsets[i] = (size_t)i * PART;
    }
#ifdef BENCH_MPI_SHMEM_H
    MPI_Win_allocate(MEMORY, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &far, &win);
    MPI_Win_lock_all(0, win);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, n_pes, downwards, &reversed);
    for (int i = 0; i < n_pes; i++) {
        int_counts[i] = PART;
        int_offsets[i] = i * PART;
    }
#else
    shmemx_space_t s;
    if (shmemx_space_create(SHMEM_TEAM_WORLD, &kind, &s) || !(far = shmemx_space_calloc(s, 1, sizeof *far)))
        shmem_global_exit(2);
    shmemx_team_split_list(SHMEM_TEAM_WORLD, downwards, n_pes, NULL, 0, &reversed);
    pair_in = shmem_calloc(2, sizeof *pair_in);
    pair_out = pair_in + 1;
#endif
}

int main(void)
{
#define ALL(NAME, BYTES) {#NAME, "heap", NULL, BENCH_US, BYTES, 1, loop_##NAME, NULL, 0, {0}}
    struct bench_case joint[] = {ALL(add, MEMORY), ALL(space, MEMORY), ALL(split, 0), ALL(dup, 0), ALL(reducescatter_8, 8), ALL(reducescatter_8k, PART),
                                 ALL(alltoallv, PART), ALL(minloc, 16)};
    struct bench_case alone[] = {ALL(translate, 0), ALL(put, 8), ALL(put_flush, 8), ALL(put_request, 8), ALL(add_double, 8), ALL(fetch_add_double, 8)};

    bench_init("beyond", 2);
    n_pes = shmem_n_pes();
    memory = aligned_alloc(4096, MEMORY);
    memset(memory, 1, MEMORY);
    source = bench_symmetric((size_t)n_pes * PART);
    dest = bench_symmetric((size_t)n_pes * PART);
    make();
    shmem_barrier_all();
    if (shmem_my_pe() == 0)
        bench_local(alone, sizeof alone / sizeof *alone);
    shmem_barrier_all();
    bench_joint(joint, sizeof joint / sizeof *joint);
    shmem_finalize();
    return 0;
}
