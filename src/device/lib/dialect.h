/*
 * dialect.h - what OpenCL C, CUDA C++ and C11 spell differently, so that the rest of the device library is one source.
 *
 * C11 is the host: the proxy's side of every shared word, and threads that stand for work-items in tests.
 * Scope is the system everywhere: the other side of a word is a host thread or another device.
 */
#ifndef SHI_DIALECT_H
#define SHI_DIALECT_H

#if defined(__OPENCL_VERSION__)

#define SHI_GLOBAL __global
#define SHI_FN static inline
typedef ulong shi_u64;
typedef uint shi_u32;
#define SHI_ATOM_(p) ((volatile __global atomic_ulong *)(p))
#define SHI_SYSTEM_ memory_scope_all_svm_devices
SHI_FN shi_u64 shi_load_relaxed(const SHI_GLOBAL shi_u64 *p)
{
    return atomic_load_explicit(SHI_ATOM_(p), memory_order_relaxed, SHI_SYSTEM_);
}
SHI_FN shi_u64 shi_load_acquire(const SHI_GLOBAL shi_u64 *p)
{
    return atomic_load_explicit(SHI_ATOM_(p), memory_order_acquire, SHI_SYSTEM_);
}
SHI_FN void shi_store_relaxed(SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    atomic_store_explicit(SHI_ATOM_(p), v, memory_order_relaxed, SHI_SYSTEM_);
}
SHI_FN void shi_store_release(SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    atomic_store_explicit(SHI_ATOM_(p), v, memory_order_release, SHI_SYSTEM_);
}
SHI_FN shi_u64 shi_add_relaxed(SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    return atomic_fetch_add_explicit(SHI_ATOM_(p), v, memory_order_relaxed, SHI_SYSTEM_);
}
SHI_FN void shi_fence_release(void)
{
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, SHI_SYSTEM_);
}
SHI_FN void shi_pause(void)
{
}

#elif defined(__CUDACC__)

#include <cuda/atomic>
#define SHI_GLOBAL
#define SHI_FN static inline __device__
typedef unsigned long long shi_u64;
typedef unsigned int shi_u32;
typedef cuda::atomic_ref<shi_u64, cuda::thread_scope_system> shi_ref_;
SHI_FN shi_u64 shi_load_relaxed(const shi_u64 *p)
{
    return shi_ref_(*const_cast<shi_u64 *>(p)).load(cuda::memory_order_relaxed);
}
SHI_FN shi_u64 shi_load_acquire(const shi_u64 *p)
{
    return shi_ref_(*const_cast<shi_u64 *>(p)).load(cuda::memory_order_acquire);
}
SHI_FN void shi_store_relaxed(shi_u64 *p, shi_u64 v)
{
    shi_ref_(*p).store(v, cuda::memory_order_relaxed);
}
SHI_FN void shi_store_release(shi_u64 *p, shi_u64 v)
{
    shi_ref_(*p).store(v, cuda::memory_order_release);
}
SHI_FN shi_u64 shi_add_relaxed(shi_u64 *p, shi_u64 v)
{
    return shi_ref_(*p).fetch_add(v, cuda::memory_order_relaxed);
}
SHI_FN void shi_fence_release(void)
{
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
}
SHI_FN void shi_pause(void)
{
    __nanosleep(20);
}

#else

#include <sched.h>
#include <stdint.h>
#define SHI_GLOBAL
#define SHI_FN static inline
typedef uint64_t shi_u64;
typedef uint32_t shi_u32;
SHI_FN shi_u64 shi_load_relaxed(const shi_u64 *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}
SHI_FN shi_u64 shi_load_acquire(const shi_u64 *p)
{
    return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}
SHI_FN void shi_store_relaxed(shi_u64 *p, shi_u64 v)
{
    __atomic_store_n(p, v, __ATOMIC_RELAXED);
}
SHI_FN void shi_store_release(shi_u64 *p, shi_u64 v)
{
    __atomic_store_n(p, v, __ATOMIC_RELEASE);
}
SHI_FN shi_u64 shi_add_relaxed(shi_u64 *p, shi_u64 v)
{
    return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}
SHI_FN void shi_fence_release(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}
SHI_FN void shi_pause(void)
{
    sched_yield();
}

#endif
#endif
