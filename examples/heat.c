/*
 * heat.c - heat flow in a square plate, computed by kernels on every PE's device and checked against a serial solution (heat.h).
 *
 * Each PE owns a band of rows in its device heap. Each step is one kernel (heat.cl or heat.cu): it puts its outer rows with signal into
 * the halo rows of its neighbours, waits for their rows, and computes. The host only launches kernels. Two grids with their
 * halos alternate, so a neighbour that is one step ahead does not overwrite a halo that is still read.
 *
 *   usage: oshrun -n 4 heat [SIZE [STEPS [PICTURE.png]]]     SIZE x SIZE inner points, default 192; STEPS default 400
 */
#include <shmem.h>
#include <shmemx.h>

#include "heat.h"

enum { GROUPS = 4, ITEMS = 16 };

static int launch_step(double *from, double *to, uint64_t *arrived, int rows, int width, uint64_t step)
{
    const size_t groups[3] = {GROUPS, 1, 1}, items[3] = {ITEMS, 1, 1};
    void *const args[] = {&from, &to, &arrived, &rows, &width, &step};
    const size_t bytes[] = {sizeof from, sizeof to, sizeof arrived, sizeof rows, sizeof width, sizeof step};
    return shmemx_launch("heat_step", groups, items, args, bytes, 6);
}

/* PE 0 collects the bands. */
static int finish(const double *band, int rows, int size, int steps, const char *picture)
{
    int me = shmem_my_pe(), n = shmem_n_pes(), width = size + 2;
    if (me != 0)
        return 1;
    double *plate = calloc((size_t)width * width, sizeof *plate);
    set_edge(plate, size);
    for (int pe = 0; pe < n; pe++)
        shmem_double_get(plate + (size_t)(pe * rows + 1) * width, band + width, (size_t)rows * width, pe);
    int ok = judge(plate, size, steps, n, picture);
    free(plate);
    return ok;
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    int size = argc > 1 ? atoi(argv[1]) : 192, steps = argc > 2 ? atoi(argv[2]) : 400;
    const char *picture = argc > 3 ? argv[3] : "heat.png";
    if (size < n || size % n || steps < 1) {
        if (me == 0)
            fprintf(stderr, "heat: SIZE must be a multiple of the %d PEs, STEPS at least 1\n", n);
        shmem_finalize();
        return 2;
    }
    int rows = size / n, width = size + 2;
    size_t bytes = (size_t)(rows + 2) * width * sizeof(double);
    double *a = shmemg_calloc(1, bytes), *b = shmemg_calloc(1, bytes), *edge = malloc(width * sizeof *edge);
    uint64_t *arrived = shmemg_calloc(2, sizeof *arrived);
    if (!a || !b || !arrived)
        shmem_global_exit(1); /* the library has printed the reason */
    if (me == 0) {
        set_edge(edge, size);
        shmem_double_put(a, edge, (size_t)width, 0);
        shmem_double_put(b, edge, (size_t)width, 0);
        shmem_quiet(); /* the kernels read it */
    }
    for (int s = 1; s <= steps; s++) {
        if (launch_step(a, b, arrived, rows, width, (uint64_t)s))
            shmem_global_exit(1);
        double *t = a;
        a = b, b = t;
        if (s % (steps >= 4 ? steps / 4 : 1) == 0) {
            shmemx_device_sync();
            if (me == 0)
                printf("step %d of %d\n", s, steps);
        }
    }
    shmemx_device_sync();
    shmem_barrier_all();
    int ok = finish(a, rows, size, steps, picture);
    free(edge);
    shmem_finalize();
    return !ok;
}
