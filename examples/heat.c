/*
 * heat.c - heat flow in a square plate, computed by all PEs together and checked against one PE's own solution.
 *
 * Each PE owns a band of rows. Before every step it stores its outer rows into its neighbours' halo rows with
 * put-with-signal and waits for theirs: no barrier, no receive. Two grids alternate, and so do the halos, so a
 * neighbour one step ahead cannot overwrite what is still read.
 *
 *   usage: oshrun -n 4 heat [SIZE [STEPS]]        SIZE x SIZE inner points, default 512; STEPS default 400
 */
#include <math.h>
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t from_above, from_below; /* steps whose halo row has arrived; static data is symmetric */

/* The plate starts cold; its upper edge is kept at 100 degrees in the middle third. */
static void set_edge(double *row, int size)
{
    for (int x = 0; x < size + 2; x++)
        row[x] = x > size / 3 && x <= 2 * size / 3 ? 100.0 : 0.0;
}

/* One step of rows [1, rows]; row 0 and row rows + 1 are edges or halos. */
static void step(double *restrict to, const double *restrict from, int rows, int width)
{
    for (int y = 1; y <= rows; y++) {
        const double *r = from + (size_t)y * width;
        double *t = to + (size_t)y * width;
        for (int x = 1; x < width - 1; x++)
            t[x] = r[x] + 0.2 * (r[x - 1] + r[x + 1] + r[x - width] + r[x + width] - 4 * r[x]);
    }
}

/* The whole plate on one PE. */
static double *serial(int size, int steps)
{
    int width = size + 2;
    double *a = calloc((size_t)width * width, sizeof *a), *b = calloc((size_t)width * width, sizeof *b);
    set_edge(a, size);
    set_edge(b, size);
    for (int s = 0; s < steps; s++) {
        step(b, a, size, width);
        double *t = a;
        a = b, b = t;
    }
    free(b);
    return a;
}

static void exchange(double *grid, int rows, int width, uint64_t done, int me, int n)
{
    if (me > 0)
        shmem_double_put_signal(grid + (size_t)(rows + 1) * width, grid + width, (size_t)width, &from_below, done,
                                SHMEM_SIGNAL_SET, me - 1);
    if (me < n - 1)
        shmem_double_put_signal(grid, grid + (size_t)rows * width, (size_t)width, &from_above, done, SHMEM_SIGNAL_SET,
                                me + 1);
    if (me > 0)
        shmem_signal_wait_until(&from_above, SHMEM_CMP_GE, done);
    if (me < n - 1)
        shmem_signal_wait_until(&from_below, SHMEM_CMP_GE, done);
}

/* The largest difference between this PE's rows and the serial solution. */
static double compare(const double *grid, int rows, int width, const double *all, int first_row)
{
    double worst = 0;
    for (int y = 1; y <= rows; y++)
        for (int x = 0; x < width; x++)
            worst = fmax(worst, fabs(grid[(size_t)y * width + x] - all[(size_t)(first_row + y) * width + x]));
    return worst;
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int size = argc > 1 ? atoi(argv[1]) : 512, steps = argc > 2 ? atoi(argv[2]) : 400;
    if (size < n || size % n || steps < 1) {
        if (me == 0)
            fprintf(stderr, "heat: SIZE must be a multiple of the %d PEs, STEPS at least 1\n", n);
        shmem_finalize();
        return 2;
    }
    int rows = size / n, width = size + 2;
    double *a = shmem_calloc((size_t)(rows + 2) * width, sizeof *a), *b = shmem_calloc((size_t)(rows + 2) * width, sizeof *b);
    double *worst = shmem_malloc(sizeof *worst);
    if (me == 0) {
        set_edge(a, size);
        set_edge(b, size);
    }
    for (int s = 1; s <= steps; s++) {
        exchange(a, rows, width, (uint64_t)s, me, n);
        step(b, a, rows, width);
        double *t = a;
        a = b, b = t;
        if (me == 0 && s % (steps >= 4 ? steps / 4 : 1) == 0)
            printf("step %d of %d\n", s, steps);
    }
    double *all = serial(size, steps);
    *worst = compare(a, rows, width, all, me * rows);
    shmem_double_max_reduce(SHMEM_TEAM_WORLD, worst, worst, 1);
    if (me == 0)
        printf("heat: %d x %d points, %d steps, %d PEs: largest difference from the serial solution %g: %s\n", size,
               size, steps, n, *worst, *worst == 0 ? "equal" : "WRONG");
    int status = *worst == 0 ? 0 : 1;
    free(all);
    shmem_finalize();
    return status;
}
