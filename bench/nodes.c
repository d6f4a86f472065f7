/*
 * nodes.c - barrier, sum reduction, broadcast and alltoall of all PEs, a few calls of each: for jobs on many hosts, where a call of some
 * implementations takes milliseconds. bench/hosts runs it.
 *
 * PE 0 prints the median over BATCHES of the time of a call, with a barrier before each batch and calls back to back in it.
 * With the name of a collective: only that one, with lengths from 8 B on in steps of 4. bench/tune does that. `node` is the number of PEs that share memory with PE 0.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 7, LONGS = 1 << 17, SYNCS = 4, SYNC_LONGS = 256 };

static long sync_area[SYNCS][SYNC_LONGS];
static long *source, *dest, *work;
static int n, next_set, work_longs, of_node; /* of_node: PEs that share memory with this one */

static long *take_set(void)
{
    next_set = (next_set + 1) % SYNCS;
    return sync_area[next_set];
}

static void barrier(int nelems)
{
    (void)nelems;
    shmem_barrier_all();
}

static void reduce(int nelems)
{
    long *set = take_set();
    shmem_long_sum_to_all(dest, source, nelems, 0, 0, n, work + (size_t)next_set * (size_t)work_longs, set);
}

static void broadcast(int nelems)
{
    shmem_broadcast64(dest, source, (size_t)nelems, 0, 0, 0, n, take_set());
}

static void alltoall(int nelems)
{
    shmem_alltoall64(dest, source, (size_t)nelems, 0, 0, n, take_set());
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void time_row(const char *name, void (*call)(int), int nelems, int calls)
{
    double us[BATCHES];
    for (int b = -1; b < BATCHES; b++) { /* the first one connects */
        shmem_barrier_all();
        double begin = now_us();
        for (int i = 0; i < calls; i++) {
            call(nelems);
            if (call != barrier && i % 2) /* a set is used again after a barrier */
                shmem_barrier_all();
        }
        us[b < 0 ? 0 : b] = (now_us() - begin) / calls;
    }
    qsort(us, BATCHES, sizeof *us, compare);
    if (shmem_my_pe() == 0)
        printf("{\"bench\": \"nodes\", \"case\": \"%s\", \"bytes\": %d, \"pes\": %d, \"node\": %d, \"us\": %.1f}\n", name, nelems * 8, n,
               of_node, us[BATCHES / 2]);
    fflush(stdout);
}

/* All lengths of one collective, up to 1 MiB, or in all of an alltoall. */
static int sweep(const char *name)
{
    static const struct {
        const char *name;
        void (*call)(int);
    } rows[] = {
        {"reduce", reduce},
        {"broadcast", broadcast},
        {"alltoall", alltoall},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].name, name) == 0) {
            int most = rows[i].call == alltoall ? LONGS / n : LONGS;
            for (int nelems = 1; nelems <= most; nelems *= 4)
                time_row(name, rows[i].call, nelems, nelems < 4096 ? 10 : 2);
            return 0;
        }
    return 1;
}

int main(int argc, char **argv)
{
    shmem_init();
    n = shmem_n_pes();
    work_longs = LONGS / 2 + SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1;
    source = shmem_malloc(LONGS * sizeof *source);
    dest = shmem_malloc(LONGS * sizeof *dest);
    work = shmem_malloc(SYNCS * (size_t)work_longs * sizeof *work);
    if (!source || !dest || !work)
        shmem_global_exit(1);
    for (int i = 0; i < n; i++)
        of_node += shmem_ptr(source, i) != NULL;
    for (int i = 0; i < LONGS; i++)
        source[i] = i;
    for (int i = 0; i < SYNCS; i++)
        for (int k = 0; k < SYNC_LONGS; k++)
            sync_area[i][k] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    if (argc > 1) {
        if (sweep(argv[1]))
            shmem_global_exit(2);
        shmem_finalize();
        return 0;
    }
    time_row("barrier", barrier, 0, 10);
    time_row("reduce", reduce, 1, 10);
    time_row("reduce", reduce, LONGS, 2);
    time_row("broadcast", broadcast, 1, 10);
    time_row("broadcast", broadcast, LONGS, 2);
    time_row("alltoall", alltoall, 1, 10);
    shmem_finalize();
    return 0;
}
