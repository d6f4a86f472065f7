/*
 * heat.cl - one step of heat flow on this PE's band of rows; the kernel itself exchanges the outer rows.
 *
 * Each work-group owns some rows. The first and the last group put this PE's outer rows into the neighbours' halo rows and
 * wait for their rows; the other groups do not wait. Rows are `width` doubles; row 0 and row rows + 1 are halos or edges.
 * The macros of shmemg.h make this file OpenCL C and CUDA C++ (oshcc --kernels=spirv,cuda).
 */
#include <shmemg.h>

/* arrived[0]: the last step whose row has arrived from above; arrived[1]: from below. */
SHMEMG_KERNEL void heat_step(SHMEMG_GLOBAL double *from, SHMEMG_GLOBAL double *to, SHMEMG_GLOBAL uint64_t *arrived,
                             int rows, int width, uint64_t step)
{
    int group = (int)shmemg_group_id(0), groups = (int)shmemg_num_groups(0);
    int first = rows * group / groups + 1, last = rows * (group + 1) / groups;
    int above = shmemg_my_pe() - 1, below = shmemg_my_pe() + 1;
    size_t bytes = (size_t)width * sizeof(double);
    if (below == shmemg_n_pes())
        below = -1;
    if (first == 1 && above >= 0)
        shmemg_putmem_signal_tg(from + (rows + 1) * width, from + width, bytes, arrived + 1, step, SHMEM_SIGNAL_SET,
                                above);
    if (last == rows && below >= 0)
        shmemg_putmem_signal_tg(from, from + rows * width, bytes, arrived, step, SHMEM_SIGNAL_SET, below);
    if (first == 1 && above >= 0)
        shmemg_signal_wait_until_tg(arrived, SHMEM_CMP_GE, step);
    if (last == rows && below >= 0)
        shmemg_signal_wait_until_tg(arrived + 1, SHMEM_CMP_GE, step);
    for (int y = first; y <= last; y++) {
        SHMEMG_GLOBAL const double *r = from + y * width;
        SHMEMG_GLOBAL double *t = to + y * width;
        for (int x = 1 + (int)shmemg_local_id(0); x < width - 1; x += (int)shmemg_local_size(0))
            t[x] = r[x] + 0.2 * (r[x - 1] + r[x + 1] + r[x - width] + r[x + width] - 4 * r[x]);
    }
}
