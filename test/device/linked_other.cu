/* linked_other.cu - the other file of linked.cu. */
#include "linked.h"

__device__ int counter = 1;
__constant__ float weights[4] = {1, 2, 3, 4};
static __device__ int local = 7;

static __device__ __noinline__ int mine(int i)
{
    return i * local;
}

__device__ int next_count()
{
    return ++counter;
}

extern "C" __device__ double twice(double v)
{
    return v + v;
}

__device__ pair both(pair p, const int *more)
{
    return pair{p.a + more[1], p.b + p.a};
}

__device__ void send_from(uint64_t *word, uint64_t v, int to)
{
    shmemg_uint64_atomic_add(word, v, to);
    shmemg_quiet();
}

__global__ void ten(int *p)
{
    *p = mine(10);
}

__managed__ int there = 20;

__global__ void add_there()
{
    there++;
}

void other_file_adds()
{
    add_there<<<1, 1>>>();
    cudaDeviceSynchronize();
}

int other_file(int *p)
{
    int v = 0, w = 0;
    ten<<<1, 1>>>(p);
    if (cudaMemcpy(&v, p, sizeof v, cudaMemcpyDefault))
        return -1;
    fill<int><<<1, 1>>>(p, 0);
    return cudaMemcpy(&w, p, sizeof w, cudaMemcpyDefault) ? -1 : v + w;
}
