/*
 * cuda_clang.h - what CUDA's headers define, for clang without a CUDA toolkit: oshcc includes it before a file with kernels. It has
 * qualifiers, built-in variables, barriers, shuffles, votes and functions of bits; no textures and no math library.
 */
#ifndef SHI_CUDA_CLANG_H
#define SHI_CUDA_CLANG_H

#define __CUDACC__ 1
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
};
struct __attribute__((aligned(16))) ulonglong2 {
    unsigned long long x, y;
};
#include <__clang_cuda_builtin_vars.h>

/* __syncthreads is a builtin. */
#define SHI_CLANG_FN static inline __attribute__((device, always_inline, unused))
SHI_CLANG_FN void __syncwarp(unsigned mask = ~0u)
{
    asm volatile("bar.warp.sync %0;" ::"r"(mask) : "memory");
}
SHI_CLANG_FN void __nanosleep(unsigned ns)
{
    asm volatile("nanosleep.u32 %0;" ::"r"(ns) : "memory");
}
SHI_CLANG_FN bool __isGlobal(const void *p)
{
    unsigned is;
    asm("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(is) : "l"(p));
    return is;
}
SHI_CLANG_FN unsigned __activemask(void)
{
    unsigned mask;
    asm volatile("activemask.b32 %0;" : "=r"(mask)::"memory");
    return mask;
}
SHI_CLANG_FN unsigned __match_any_sync(unsigned mask, unsigned long long v)
{
    unsigned equal;
    asm volatile("match.any.sync.b64 %0, %1, %2;" : "=r"(equal) : "l"(v), "r"(mask) : "memory");
    return equal;
}
SHI_CLANG_FN unsigned __ballot_sync(unsigned mask, int yes)
{
    unsigned all;
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote.sync.ballot.b32 %0, p, %2; }" : "=r"(all) : "r"(yes), "r"(mask) : "memory");
    return all;
}
SHI_CLANG_FN int __any_sync(unsigned mask, int yes)
{
    return __ballot_sync(mask, yes) != 0;
}
SHI_CLANG_FN int __all_sync(unsigned mask, int yes)
{
    return __ballot_sync(mask, !yes) == 0;
}
SHI_CLANG_FN int __shfl_sync(unsigned mask, int v, int lane)
{
    int got;
    asm volatile("shfl.sync.idx.b32 %0, %1, %2, 0x1f, %3;" : "=r"(got) : "r"(v), "r"(lane), "r"(mask) : "memory");
    return got;
}
SHI_CLANG_FN unsigned __shfl_sync(unsigned mask, unsigned v, int lane)
{
    return (unsigned)__shfl_sync(mask, (int)v, lane);
}
SHI_CLANG_FN unsigned long long __shfl_sync(unsigned mask, unsigned long long v, int lane)
{
    unsigned low = __shfl_sync(mask, (unsigned)v, lane), high = __shfl_sync(mask, (unsigned)(v >> 32), lane);
    return (unsigned long long)high << 32 | low;
}
SHI_CLANG_FN int __popc(unsigned v)
{
    return __builtin_popcount(v);
}
SHI_CLANG_FN int __ffs(int v)
{
    return __builtin_ffs(v);
}
SHI_CLANG_FN int __clz(int v)
{
    return v ? __builtin_clz((unsigned)v) : 32;
}
SHI_CLANG_FN void __threadfence_system(void)
{
    asm volatile("fence.sc.sys;" ::: "memory");
}
SHI_CLANG_FN void __threadfence(void)
{
    asm volatile("fence.sc.gpu;" ::: "memory");
}

#endif
