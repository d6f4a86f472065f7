/*
 * dialect.h - the differences of OpenCL C, CUDA C++ and C11, so that the rest of the device library is one source.
 *
 * C11 is for the host: the proxy's side of shared words, and threads that act as work-items in tests.
 * Atomics and fences have system scope: the other side is a host thread or another device.
 *
 *   SHI_GLOBAL         address space of memory that peers and the host can access; a pointer without it is generic
 *   SHI_FN             a function of the library; SHI_NOINLINE: never inlined, to save its callers' registers; SHI_HOT:
 *                      always inlined, which keeps its request in registers
 *   SHI_PROGRAM_SCOPE  a variable of the module, which the host finds by its name
 *   shi_a8 .. shi_a128 types for copies of memory of any type
 *   shi_fence_release  a release fence; shi_fence_total: earlier stores are visible to all before later loads and stores
 *   shi_to_global      NULL for private and local memory, which neither proxy nor peer can access
 *   shi_atom32_, 64_   relaxed; they return the old value
 *   shi_prefetch_write a hint to fetch a cache line for writing
 *   shi_store_pair     two relaxed stores, 16-byte aligned, unordered; one packet where the device has such a store
 */
#ifndef SHI_DIALECT_H
#define SHI_DIALECT_H

#if defined(__OPENCL_C_VERSION__)

#define SHI_GLOBAL __global
#define SHI_FN static inline
#define SHI_HOT static inline __attribute__((always_inline))
#define SHI_NOINLINE static __attribute__((noinline, unused))
#define SHI_PROGRAM_SCOPE __global
typedef ulong shi_u64;
typedef uint shi_u32;
typedef uchar __attribute__((may_alias)) shi_a8;
typedef ushort __attribute__((may_alias)) shi_a16;
typedef uint __attribute__((may_alias)) shi_a32;
typedef ulong __attribute__((may_alias)) shi_a64;
typedef ulong2 __attribute__((may_alias)) shi_a128;
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
SHI_FN void shi_prefetch_write(SHI_GLOBAL shi_u64 *p)
{
    prefetch(p, 0);
}
SHI_FN void shi_store_pair(SHI_GLOBAL shi_u64 *p, shi_u64 v0, shi_u64 v1)
{
    shi_store_relaxed(p, v0);
    shi_store_relaxed(p + 1, v1);
}
SHI_FN shi_u64 shi_add_relaxed(SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    return atomic_fetch_add_explicit(SHI_ATOM_(p), v, memory_order_relaxed, SHI_SYSTEM_);
}
SHI_FN shi_u64 shi_add_release(SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    return atomic_fetch_add_explicit(SHI_ATOM_(p), v, memory_order_release, SHI_SYSTEM_);
}
SHI_FN void shi_fence_release(void)
{
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, SHI_SYSTEM_);
}
SHI_FN void shi_fence_total(void)
{
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, SHI_SYSTEM_);
}
SHI_FN void shi_pause(void)
{
}
SHI_FN shi_u32 shi_load32_acquire(const SHI_GLOBAL shi_u32 *p)
{
    return atomic_load_explicit((volatile __global atomic_uint *)p, memory_order_acquire, SHI_SYSTEM_);
}
SHI_FN SHI_GLOBAL void *shi_to_global(const void *p)
{
    return to_global((void *)p);
}
#define SHI_ATOMICS_(W, T, A)                                                                                         \
    SHI_FN T shi_atom##W##_fetch(SHI_GLOBAL T *p)                                                                     \
    {                                                                                                                 \
        return atomic_load_explicit((volatile __global A *)p, memory_order_relaxed, SHI_SYSTEM_);                     \
    }                                                                                                                 \
    SHI_FN void shi_atom##W##_set(SHI_GLOBAL T *p, T v)                                                               \
    {                                                                                                                 \
        atomic_store_explicit((volatile __global A *)p, v, memory_order_relaxed, SHI_SYSTEM_);                        \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_swap(SHI_GLOBAL T *p, T v)                                                                 \
    {                                                                                                                 \
        return atomic_exchange_explicit((volatile __global A *)p, v, memory_order_relaxed, SHI_SYSTEM_);              \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_add(SHI_GLOBAL T *p, T v)                                                                  \
    {                                                                                                                 \
        return atomic_fetch_add_explicit((volatile __global A *)p, v, memory_order_relaxed, SHI_SYSTEM_);             \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_and(SHI_GLOBAL T *p, T v)                                                                  \
    {                                                                                                                 \
        return atomic_fetch_and_explicit((volatile __global A *)p, v, memory_order_relaxed, SHI_SYSTEM_);             \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_or(SHI_GLOBAL T *p, T v)                                                                   \
    {                                                                                                                 \
        return atomic_fetch_or_explicit((volatile __global A *)p, v, memory_order_relaxed, SHI_SYSTEM_);              \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_xor(SHI_GLOBAL T *p, T v)                                                                  \
    {                                                                                                                 \
        return atomic_fetch_xor_explicit((volatile __global A *)p, v, memory_order_relaxed, SHI_SYSTEM_);             \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_cswap(SHI_GLOBAL T *p, T cond, T v)                                                        \
    {                                                                                                                 \
        atomic_compare_exchange_strong_explicit((volatile __global A *)p, &cond, v, memory_order_relaxed,             \
                                                memory_order_relaxed, SHI_SYSTEM_);                                   \
        return cond;                                                                                                  \
    }
SHI_ATOMICS_(32, shi_u32, atomic_uint)
SHI_ATOMICS_(64, shi_u64, atomic_ulong)

#elif defined(__CUDACC__)

#include <cuda/atomic>
#include <stddef.h>
#define SHI_GLOBAL
#define SHI_FN static inline __device__
#define SHI_HOT SHI_FN
#define SHI_NOINLINE static __noinline__ __device__
#ifdef __CUDACC_RDC__
#define SHI_PROGRAM_SCOPE inline __device__ /* one copy in all linked files */
#else
#define SHI_PROGRAM_SCOPE __device__
#endif
typedef unsigned long long shi_u64;
typedef unsigned int shi_u32;
typedef unsigned char shi_a8;
typedef unsigned short shi_a16;
typedef unsigned int shi_a32;
typedef unsigned long long shi_a64;
typedef ulonglong2 shi_a128;
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
SHI_FN void shi_prefetch_write(const shi_u64 *p)
{
    (void)p;
}
SHI_FN void shi_store_pair(shi_u64 *p, shi_u64 v0, shi_u64 v1)
{
    asm volatile("st.relaxed.sys.v2.b64 [%0], {%1, %2};" ::"l"(p), "l"(v0), "l"(v1) : "memory");
}
SHI_FN shi_u64 shi_add_relaxed(shi_u64 *p, shi_u64 v)
{
    return shi_ref_(*p).fetch_add(v, cuda::memory_order_relaxed);
}
SHI_FN shi_u64 shi_add_release(SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    return shi_ref_(*p).fetch_add(v, cuda::memory_order_release);
}
SHI_FN void shi_fence_release(void)
{
    cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_system);
}
SHI_FN void shi_fence_total(void)
{
    cuda::atomic_thread_fence(cuda::memory_order_seq_cst, cuda::thread_scope_system);
}
SHI_FN void shi_pause(void)
{
    __nanosleep(20);
}
typedef cuda::atomic_ref<shi_u32, cuda::thread_scope_system> shi_ref32_;
SHI_FN shi_u32 shi_load32_acquire(const shi_u32 *p)
{
    return shi_ref32_(*const_cast<shi_u32 *>(p)).load(cuda::memory_order_acquire);
}
SHI_FN void *shi_to_global(const void *p)
{
    return __isGlobal(p) ? const_cast<void *>(p) : 0;
}
#define SHI_ATOMICS_(W, T, A)                                                                                         \
    SHI_FN T shi_atom##W##_fetch(T *p)                                                                                \
    {                                                                                                                 \
        return A(*p).load(cuda::memory_order_relaxed);                                                                \
    }                                                                                                                 \
    SHI_FN void shi_atom##W##_set(T *p, T v)                                                                          \
    {                                                                                                                 \
        A(*p).store(v, cuda::memory_order_relaxed);                                                                   \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_swap(T *p, T v)                                                                            \
    {                                                                                                                 \
        return A(*p).exchange(v, cuda::memory_order_relaxed);                                                         \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_add(T *p, T v)                                                                             \
    {                                                                                                                 \
        return A(*p).fetch_add(v, cuda::memory_order_relaxed);                                                        \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_and(T *p, T v)                                                                             \
    {                                                                                                                 \
        return A(*p).fetch_and(v, cuda::memory_order_relaxed);                                                        \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_or(T *p, T v)                                                                              \
    {                                                                                                                 \
        return A(*p).fetch_or(v, cuda::memory_order_relaxed);                                                         \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_xor(T *p, T v)                                                                             \
    {                                                                                                                 \
        return A(*p).fetch_xor(v, cuda::memory_order_relaxed);                                                        \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_cswap(T *p, T cond, T v)                                                                   \
    {                                                                                                                 \
        A(*p).compare_exchange_strong(cond, v, cuda::memory_order_relaxed, cuda::memory_order_relaxed);               \
        return cond;                                                                                                  \
    }
SHI_ATOMICS_(32, shi_u32, shi_ref32_)
SHI_ATOMICS_(64, shi_u64, shi_ref_)

#else

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#define SHI_GLOBAL
#define SHI_FN static inline
#define SHI_HOT SHI_FN
#define SHI_NOINLINE static __attribute__((noinline, unused))
#define SHI_PROGRAM_SCOPE static _Thread_local __attribute__((unused)) /* each thread is a work-item of a PE */
typedef uint64_t shi_u64;
typedef uint32_t shi_u32;
typedef uint8_t __attribute__((may_alias)) shi_a8;
typedef uint16_t __attribute__((may_alias)) shi_a16;
typedef uint32_t __attribute__((may_alias)) shi_a32;
typedef uint64_t __attribute__((may_alias)) shi_a64;
typedef struct {
    uint64_t x, y;
} __attribute__((may_alias, aligned(16))) shi_a128;
SHI_FN shi_u64 shi_load_relaxed(const shi_u64 *p)
{
    return __atomic_load_n((const shi_a64 *)p, __ATOMIC_RELAXED);
}
SHI_FN shi_u64 shi_load_acquire(const shi_u64 *p)
{
    return __atomic_load_n((const shi_a64 *)p, __ATOMIC_ACQUIRE);
}
SHI_FN void shi_store_relaxed(shi_u64 *p, shi_u64 v)
{
    __atomic_store_n((shi_a64 *)p, v, __ATOMIC_RELAXED);
}
SHI_FN void shi_store_release(shi_u64 *p, shi_u64 v)
{
    __atomic_store_n((shi_a64 *)p, v, __ATOMIC_RELEASE);
}
SHI_FN void shi_prefetch_write(const shi_u64 *p)
{
    __builtin_prefetch(p, 1);
}
SHI_FN void shi_store_pair(shi_u64 *p, shi_u64 v0, shi_u64 v1)
{
    shi_store_relaxed(p, v0);
    shi_store_relaxed(p + 1, v1);
}
SHI_FN shi_u64 shi_add_relaxed(shi_u64 *p, shi_u64 v)
{
    return __atomic_fetch_add((shi_a64 *)p, v, __ATOMIC_RELAXED);
}
SHI_FN shi_u64 shi_add_release(SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    return __atomic_fetch_add((shi_a64 *)p, v, __ATOMIC_RELEASE);
}
SHI_FN void shi_fence_release(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}
SHI_FN void shi_fence_total(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
SHI_FN void shi_pause(void)
{
    sched_yield();
}
SHI_FN shi_u32 shi_load32_acquire(const shi_u32 *p)
{
    return __atomic_load_n((const shi_a32 *)p, __ATOMIC_ACQUIRE);
}
/* The range that acts as private memory: empty unless the thread sets it. */
static _Thread_local __attribute__((unused)) struct {
    uintptr_t from, to;
} shi_private;
SHI_FN void *shi_to_global(const void *p)
{
    return (uintptr_t)p >= shi_private.from && (uintptr_t)p < shi_private.to ? (void *)0 : (void *)p;
}
#define SHI_ATOMICS_(W, T, A)                                                                                         \
    SHI_FN T shi_atom##W##_fetch(T *p)                                                                                \
    {                                                                                                                 \
        return __atomic_load_n((A *)p, __ATOMIC_RELAXED);                                                             \
    }                                                                                                                 \
    SHI_FN void shi_atom##W##_set(T *p, T v)                                                                          \
    {                                                                                                                 \
        __atomic_store_n((A *)p, v, __ATOMIC_RELAXED);                                                                \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_swap(T *p, T v)                                                                            \
    {                                                                                                                 \
        return __atomic_exchange_n((A *)p, v, __ATOMIC_RELAXED);                                                      \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_add(T *p, T v)                                                                             \
    {                                                                                                                 \
        return __atomic_fetch_add((A *)p, v, __ATOMIC_RELAXED);                                                       \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_and(T *p, T v)                                                                             \
    {                                                                                                                 \
        return __atomic_fetch_and((A *)p, v, __ATOMIC_RELAXED);                                                       \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_or(T *p, T v)                                                                              \
    {                                                                                                                 \
        return __atomic_fetch_or((A *)p, v, __ATOMIC_RELAXED);                                                        \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_xor(T *p, T v)                                                                             \
    {                                                                                                                 \
        return __atomic_fetch_xor((A *)p, v, __ATOMIC_RELAXED);                                                       \
    }                                                                                                                 \
    SHI_FN T shi_atom##W##_cswap(T *p, T cond, T v)                                                                   \
    {                                                                                                                 \
        A seen = cond;                                                                                                \
        __atomic_compare_exchange_n((A *)p, &seen, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);                         \
        return seen;                                                                                                  \
    }
SHI_ATOMICS_(32, shi_u32, shi_a32)
SHI_ATOMICS_(64, shi_u64, shi_a64)

#endif
#endif
