/* library.cu - kernels of library.c: functions of CUDA's math library, and intrinsics. */
#include "library.h"

extern "C" __global__ void d1(double *out, const double *a, const double *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = a[i];
    (void)b;
    out += i * FUNCTIONS;
#define X(name, ulp) *out++ = name(x);
    ONE(X)
#undef X
}

extern "C" __global__ void f1(float *out, const float *a, const float *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i];
    (void)b;
    out += i * FUNCTIONS;
#define X(name, ulp) *out++ = name##f(x);
    ONE(X)
#undef X
}

extern "C" __global__ void d2(double *out, const double *a, const double *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    double x = a[i], y = b[i];
    out += i * FUNCTIONS;
#define X(name, ulp) *out++ = name(x, y);
    TWO(X)
#undef X
}

extern "C" __global__ void f2(float *out, const float *a, const float *b)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float x = a[i], y = b[i];
    out += i * FUNCTIONS;
#define X(name, ulp) *out++ = name##f(x, y);
    TWO(X)
#undef X
}
