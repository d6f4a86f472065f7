/* heat.cu - heat.cl in CUDA C++: one step of heat flow on this PE's band of rows; see there. oshcc heat.c heat.cu */
#include <shmemg.h>

/* arrived[0]: the last step whose row has arrived from above; arrived[1]: from below. */
extern "C" __global__ void heat_step(double *from, double *to, uint64_t *arrived, int rows, int width, uint64_t step)
{
    int group = (int)blockIdx.x, groups = (int)gridDim.x;
    int first = rows * group / groups + 1, last = rows * (group + 1) / groups;
    int above = shmemg_my_pe() - 1, below = shmemg_my_pe() + 1;
    size_t bytes = (size_t)width * sizeof(double);
    if (below == shmemg_n_pes())
        below = -1;
    if (first == 1 && above >= 0)
        shmemg_putmem_signal_tg(from + (rows + 1) * width, from + width, bytes, arrived + 1, step, SHMEM_SIGNAL_SET, above);
    if (last == rows && below >= 0)
        shmemg_putmem_signal_tg(from, from + rows * width, bytes, arrived, step, SHMEM_SIGNAL_SET, below);
    if (first == 1 && above >= 0)
        shmemg_signal_wait_until_tg(arrived, SHMEM_CMP_GE, step);
    if (last == rows && below >= 0)
        shmemg_signal_wait_until_tg(arrived + 1, SHMEM_CMP_GE, step);
    for (int y = first; y <= last; y++) {
        const double *r = from + y * width;
        double *t = to + y * width;
        for (int x = 1 + (int)threadIdx.x; x < width - 1; x += (int)blockDim.x)
            t[x] = r[x] + 0.2 * (r[x - 1] + r[x + 1] + r[x - width] + r[x + width] - 4 * r[x]);
    }
}
