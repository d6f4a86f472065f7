/*
 * heat_sycl.cpp - heat.c in SYCL, with Intel SHMEM's routines: host and kernel in one source, checked against the same serial solution.
 *
 *   usage: oshrun -n 4 heat_sycl [SIZE [STEPS [PICTURE.png]]]     as heat
 */
#include <ishmem.h>
#include <ishmemx.h>

#include <algorithm>
#include <utility>

#include "heat.h"

enum { GROUPS = 4, ITEMS = 16 };

/* arrived[0]: the last step whose row has arrived from above; arrived[1]: from below. */
static void launch_step(sycl::queue &q, const double *from, double *to, uint64_t *arrived, int rows, int width, uint64_t step)
{
    q.parallel_for(sycl::nd_range<1>(GROUPS * ITEMS, ITEMS), [=](sycl::nd_item<1> item) {
        auto group = item.get_group();
        int number = (int)item.get_group(0), first = rows * number / GROUPS + 1, last = rows * (number + 1) / GROUPS;
        int above = ishmem_my_pe() - 1, below = ishmem_my_pe() + 1;
        double *halo = const_cast<double *>(from);
        if (below == ishmem_n_pes())
            below = -1;
        if (first == 1 && above >= 0)
            ishmemx_double_put_signal_work_group(halo + (rows + 1) * width, from + width, width, arrived + 1, step,
                                                 ISHMEM_SIGNAL_SET, above, group);
        if (last == rows && below >= 0)
            ishmemx_double_put_signal_work_group(halo, from + rows * width, width, arrived, step, ISHMEM_SIGNAL_SET, below, group);
        if (first == 1 && above >= 0)
            ishmemx_signal_wait_until_work_group(arrived, ISHMEM_CMP_GE, step, group);
        if (last == rows && below >= 0)
            ishmemx_signal_wait_until_work_group(arrived + 1, ISHMEM_CMP_GE, step, group);
        for (int y = first; y <= last; y++) {
            const double *r = from + y * width;
            double *t = to + y * width;
            for (int x = 1 + (int)item.get_local_id(0); x < width - 1; x += (int)item.get_local_range(0))
                t[x] = r[x] + 0.2 * (r[x - 1] + r[x + 1] + r[x - width] + r[x + width] - 4 * r[x]);
        }
    });
}

/* PE 0 collects the bands. */
static int finish(sycl::queue &q, const double *band, int rows, int size, int steps, const char *picture)
{
    int me = ishmem_my_pe(), n = ishmem_n_pes(), width = size + 2;
    if (me != 0)
        return 1;
    double *plate = sycl::malloc_host<double>((size_t)width * width, q);
    std::fill_n(plate, (size_t)width * width, 0.0);
    set_edge(plate, size);
    for (int pe = 0; pe < n; pe++)
        ishmem_double_get(plate + (size_t)(pe * rows + 1) * width, band + width, (size_t)rows * width, pe);
    int ok = judge(plate, size, steps, n, picture);
    sycl::free(plate, q);
    return ok;
}

int main(int argc, char **argv)
{
    ishmem_init();
    int me = ishmem_my_pe(), n = ishmem_n_pes();
    int size = argc > 1 ? atoi(argv[1]) : 192, steps = argc > 2 ? atoi(argv[2]) : 400;
    const char *picture = argc > 3 ? argv[3] : "heat.png";
    if (size < n || size % n || steps < 1) {
        if (me == 0)
            fprintf(stderr, "heat_sycl: SIZE must be a multiple of the %d PEs, STEPS at least 1\n", n);
        ishmem_finalize();
        return 2;
    }
    sycl::queue q{sycl::property::queue::in_order()};
    int rows = size / n, width = size + 2;
    size_t points = (size_t)(rows + 2) * width;
    double *a = (double *)ishmem_calloc(points, sizeof *a), *b = (double *)ishmem_calloc(points, sizeof *b);
    uint64_t *arrived = (uint64_t *)ishmem_calloc(2, sizeof *arrived);
    if (me == 0) {
        double *edge = sycl::malloc_host<double>(width, q);
        set_edge(edge, size);
        ishmem_double_put(a, edge, width, 0);
        ishmem_double_put(b, edge, width, 0);
        ishmem_quiet();
        sycl::free(edge, q);
    }
    for (int s = 1; s <= steps; s++) {
        launch_step(q, a, b, arrived, rows, width, (uint64_t)s);
        std::swap(a, b);
        if (s % (steps >= 4 ? steps / 4 : 1) == 0) {
            q.wait();
            if (me == 0)
                printf("step %d of %d\n", s, steps);
        }
    }
    q.wait();
    ishmem_barrier_all();
    int ok = finish(q, a, rows, size, steps, picture);
    ishmem_finalize();
    return !ok;
}
