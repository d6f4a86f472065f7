/* linked.h - what the two files of linked.cu share: functions and variables of the device, and a template. */
#ifndef LINKED_H
#define LINKED_H
#include <cuda_runtime.h>
#include <shmem.h>
#include <shmemx.h>
#include <shmemg.h>
#include <stdint.h>

extern __device__ int counter;
extern __constant__ float weights[4];
extern __device__ int *pointer;
__device__ int next_count();
extern "C" __device__ double twice(double v);
__device__ void send_from(uint64_t *word, uint64_t v, int to);

struct pair {
    int a;
    double b;
};
__device__ pair both(pair p, const int *more);

template <typename T, int N> __device__ __noinline__ T sum(const T *p)
{
    T s = 0;
    for (int i = 0; i < N; i++)
        s += p[i];
    return s;
}
template <typename T> __global__ void fill(T *p, T v)
{
    p[threadIdx.x] = v + (T)next_count();
}
extern __managed__ int there;
int other_file(int *p);
void other_file_adds();
#endif
