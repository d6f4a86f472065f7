/* program_other.cu - a second file of program.cu, with variables of the same names. */
#include "program.h"

#include <shmemg.h>

__device__ int scale = 42;

__global__ void read_scale(int *p)
{
    *p = scale;
}

__global__ void send_1000(uint64_t *word, int to)
{
    shmemg_uint64_atomic_add(word, 1000, to);
    shmemg_quiet();
}

int from_other_file(int *p)
{
    int v = 0;
    read_scale<<<1, 1>>>(p);
    return cudaMemcpy(&v, p, sizeof v, cudaMemcpyDefault) ? -1 : v;
}

void send_from_other_file(uint64_t *word, int to, cudaStream_t stream)
{
    send_1000<<<1, 1, 0, stream>>>(word, to);
}
