/*
 * dialect.h - the differences of OpenCL C, CUDA C++, SYCL (sycl.h) and C11, so that the rest of the device library is one source.
 *
 * C11 is for the host: the proxy's side of shared words, and threads that act as work-items in tests.
 * Atomics and fences have system scope: the other side is a host thread or another device.
 *
 *   SHI_GLOBAL         address space of memory that peers and the host can access; a pointer without it is generic
 *   SHI_FN             a function of the library; SHI_NOINLINE: never inlined, to save its callers' registers; SHI_HOT:
 *                      always inlined, which keeps its request in registers
 *   SHI_ROLLED         before a loop: it is not unrolled, for few registers
 *   SHI_SCALAR         before a loop: it is not vectorised, as AdaptiveCpp cannot translate reductions of vectors to SPIR-V
 *   SHI_ASSUME         a condition that holds, for the compiler
 *   SHI_PROGRAM_SCOPE  a variable of the module, which the host finds by its name
 *   SHI_CONSTANT       the same, of which kernels only read; in CUDA's constant memory. OpenCL C has none that a host can write
 *   SHI_SYMBOLS        a kernel that reports the addresses of two such variables, where compilers may hide them from the host
 *   shi_a8 .. shi_a128 types for copies of memory of any type
 *   SHI_LOAD_ to SHI_CSWAP_  an atomic operation on W bits in the given order (CSWAP: relaxed); the functions at the end of the
 *                      file are made of them
 *   shi_fence_release  a release fence; _acquire: an acquire fence, for relaxed loads before it; _acq_rel: both; _total: earlier stores are visible
 *                      to all before later loads and stores
 *   shi_to_global      NULL for private and local memory, which neither proxy nor peer can access
 *   shi_address        the same as an integer; any value outside of global memory instead of NULL
 *   SHI_CHOSEN_        a value that becomes a pointer, NULL or another
 *   shi_atom32_, 64_   relaxed; they return the old value; _fadd: of float and double, by their bits
 *   shi_prefetch_write a hint to fetch a cache line for writing
 *   shi_store_pair     two relaxed stores, 16-byte aligned, unordered; one packet where the device has such a store
 *   shi_load_pair      two relaxed loads, the same
 */
#ifndef SHI_DIALECT_H
#define SHI_DIALECT_H

#ifndef SHI_RACE
#define SHI_RACE 0 /* 1: race.h reports the calls */
#endif

#if defined(__OPENCL_C_VERSION__)

#define SHI_GLOBAL __global
#if SHI_RACE /* reports name the calls of the program, which are those of functions */
#define SHI_FN static __attribute__((noinline, unused))
#else
#define SHI_FN static inline
#endif
#define SHI_HOT static inline __attribute__((always_inline))
#define SHI_NOINLINE static __attribute__((noinline, unused))
#define SHI_ROLLED
#define SHI_SCALAR
#define SHI_ASSUME(x) __builtin_assume(x)
#define SHI_PROGRAM_SCOPE __global
#define SHI_CONSTANT __global
#define SHI_SYMBOLS(a, b)
typedef ulong shi_u64;
typedef uint shi_u32;
typedef uchar __attribute__((may_alias)) shi_a8;
typedef ushort __attribute__((may_alias)) shi_a16;
typedef uint __attribute__((may_alias)) shi_a32;
typedef ulong __attribute__((may_alias)) shi_a64;
typedef ulong2 __attribute__((may_alias)) shi_a128;
#define SHI_SYSTEM_ memory_scope_all_svm_devices
#define SHI_ATOM32_(p) ((volatile __global atomic_uint *)(p))
#define SHI_ATOM64_(p) ((volatile __global atomic_ulong *)(p))
#define SHI_LOAD_(W, p, order) atomic_load_explicit(SHI_ATOM##W##_(p), memory_order_##order, SHI_SYSTEM_)
#define SHI_STORE_(W, p, v, order) atomic_store_explicit(SHI_ATOM##W##_(p), v, memory_order_##order, SHI_SYSTEM_)
#define SHI_UPDATE_(W, op, p, v, order) atomic_##op##_explicit(SHI_ATOM##W##_(p), v, memory_order_##order, SHI_SYSTEM_)
#define SHI_CSWAP_(W, p, seen, v)                                                                                    \
    atomic_compare_exchange_strong_explicit(SHI_ATOM##W##_(p), seen, v, memory_order_relaxed, memory_order_relaxed, SHI_SYSTEM_)
SHI_FN void shi_prefetch_write(SHI_GLOBAL shi_u64 *p)
{
    prefetch(p, 0);
}
SHI_FN void shi_store_pair(SHI_GLOBAL shi_u64 *p, shi_u64 v0, shi_u64 v1)
{
    SHI_STORE_(64, p, v0, relaxed);
    SHI_STORE_(64, p + 1, v1, relaxed);
}
SHI_FN void shi_load_pair(const SHI_GLOBAL shi_u64 *p, shi_u64 *v0, shi_u64 *v1)
{
    *v0 = SHI_LOAD_(64, p, relaxed);
    *v1 = SHI_LOAD_(64, p + 1, relaxed);
}
SHI_FN void shi_fence_release(void)
{
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_release, SHI_SYSTEM_);
}
SHI_FN void shi_fence_acquire(void)
{
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acquire, SHI_SYSTEM_);
}
SHI_FN void shi_fence_acq_rel(void)
{
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, SHI_SYSTEM_);
}
SHI_FN void shi_fence_total(void)
{
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_seq_cst, SHI_SYSTEM_);
}
SHI_FN void shi_pause(void)
{
}
SHI_FN SHI_GLOBAL void *shi_to_global(const void *p)
{
    return to_global((void *)p);
}
SHI_FN shi_u64 shi_address(const void *p)
{
    return (shi_u64)shi_to_global(p);
}

#elif defined(__CUDACC__)

#include <stddef.h>
#define SHI_GLOBAL
#if SHI_RACE /* as in OpenCL C */
#define SHI_FN static __noinline__ __device__ __attribute__((unused))
#else
#define SHI_FN static inline __device__
#endif
#define SHI_HOT SHI_FN
#define SHI_NOINLINE static __noinline__ __device__
#define SHI_ROLLED _Pragma("unroll 1")
#define SHI_SCALAR
#define SHI_ASSUME(x) __builtin_assume(x)
#ifdef __CUDACC_RDC__
#define SHI_PROGRAM_SCOPE inline __device__ /* one copy in all linked files, which the host finds */
#define SHI_CONSTANT inline __constant__
#define SHI_SYMBOLS(a, b)
#else
#define SHI_PROGRAM_SCOPE __device__
#define SHI_CONSTANT __constant__
#define SHI_SYMBOLS(a, b)                                                                                            \
    extern "C" __attribute__((weak, used)) __global__ void shmemg_symbols_(shi_u64 *out)                             \
    {                                                                                                                \
        out[0] = (shi_u64)&a;                                                                                        \
        out[1] = (shi_u64)&b;                                                                                        \
    }
#endif
typedef unsigned long long shi_u64;
typedef unsigned int shi_u32;
typedef unsigned char shi_a8;
typedef unsigned short shi_a16;
typedef unsigned int shi_a32;
typedef unsigned long long shi_a64;
typedef ulonglong2 shi_a128;
/* Instructions of PTX, because <cuda/atomic> takes a second to compile and clang does not have it. */
#define SHI_PTX_(W, R)                                                                                                \
    SHI_PTX_LOAD_(W, R, relaxed) SHI_PTX_LOAD_(W, R, acquire) SHI_PTX_STORE_(W, R, relaxed) SHI_PTX_STORE_(W, R, release)  \
    SHI_PTX_UPDATE_(W, R, exchange, exch, b, relaxed) SHI_PTX_UPDATE_(W, R, fetch_add, add, u, relaxed)               \
    SHI_PTX_UPDATE_(W, R, fetch_add, add, u, release) SHI_PTX_UPDATE_(W, R, fetch_and, and, b, relaxed)               \
    SHI_PTX_UPDATE_(W, R, fetch_or, or, b, relaxed) SHI_PTX_UPDATE_(W, R, fetch_xor, xor, b, relaxed)                 \
    SHI_FN void shi_ptx_cas##W(shi_u##W *p, shi_u##W *seen, shi_u##W v)                                               \
    {                                                                                                                 \
        asm volatile("atom.cas.relaxed.sys.b" #W " %0, [%1], %2, %3;"                                                 \
                     : "=" R(*seen) : "l"(p), R(*seen), R(v) : "memory");                                             \
    }
#define SHI_PTX_LOAD_(W, R, order)                                                                                    \
    SHI_FN shi_u##W shi_ptx_load##W##_##order(const shi_u##W *p)                                                      \
    {                                                                                                                 \
        shi_u##W v;                                                                                                   \
        asm volatile("ld." #order ".sys.b" #W " %0, [%1];" : "=" R(v) : "l"(p) : "memory");                           \
        return v;                                                                                                     \
    }
#define SHI_PTX_STORE_(W, R, order)                                                                                   \
    SHI_FN void shi_ptx_store##W##_##order(shi_u##W *p, shi_u##W v)                                                   \
    {                                                                                                                 \
        asm volatile("st." #order ".sys.b" #W " [%0], %1;" ::"l"(p), R(v) : "memory");                                \
    }
#define SHI_PTX_UPDATE_(W, R, op, ptx, type, order)                                                                   \
    SHI_FN shi_u##W shi_ptx_##op##W##_##order(shi_u##W *p, shi_u##W v)                                                \
    {                                                                                                                 \
        shi_u##W old;                                                                                                 \
        asm volatile("atom." #ptx "." #order ".sys." #type #W " %0, [%1], %2;" : "=" R(old) : "l"(p), R(v) : "memory"); \
        return old;                                                                                                   \
    }
SHI_PTX_(32, "r")
SHI_PTX_(64, "l")
#define SHI_LOAD_(W, p, order) shi_ptx_load##W##_##order(p)
#define SHI_STORE_(W, p, v, order) shi_ptx_store##W##_##order(p, v)
#define SHI_UPDATE_(W, op, p, v, order) shi_ptx_##op##W##_##order(p, v)
#define SHI_CSWAP_(W, p, seen, v) shi_ptx_cas##W(p, seen, v)
/* In place of the loop at the end of the file. */
#define SHI_FADD_(W, F, R)                                                                                            \
    SHI_FN shi_u##W shi_atom##W##_fadd(shi_u##W *p, shi_u##W v)                                                       \
    {                                                                                                                 \
        union {                                                                                                       \
            shi_u##W bits;                                                                                            \
            F value;                                                                                                  \
        } add, old;                                                                                                   \
        add.bits = v;                                                                                                 \
        asm volatile("atom.add.relaxed.sys.f" #W " %0, [%1], %2;" : "=" R(old.value) : "l"(p), R(add.value) : "memory"); \
        return old.bits;                                                                                              \
    }
SHI_FN void shi_prefetch_write(const shi_u64 *p)
{
    (void)p;
}
SHI_FN void shi_store_pair(shi_u64 *p, shi_u64 v0, shi_u64 v1)
{
    asm volatile("st.relaxed.sys.v2.b64 [%0], {%1, %2};" ::"l"(p), "l"(v0), "l"(v1) : "memory");
}
SHI_FN void shi_load_pair(const shi_u64 *p, shi_u64 *v0, shi_u64 *v1)
{
    asm volatile("ld.relaxed.sys.v2.b64 {%0, %1}, [%2];" : "=l"(*v0), "=l"(*v1) : "l"(p) : "memory");
}
SHI_FN void shi_fence_release(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}
SHI_FN void shi_fence_acquire(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}
SHI_FN void shi_fence_acq_rel(void)
{
    asm volatile("fence.acq_rel.sys;" ::: "memory");
}
SHI_FN void shi_fence_total(void)
{
    asm volatile("fence.sc.sys;" ::: "memory");
}
SHI_FN void shi_pause(void)
{
    __nanosleep(20);
}
SHI_FN void *shi_to_global(const void *p)
{
    return __isGlobal(p) ? const_cast<void *>(p) : 0;
}
SHI_FN shi_u64 shi_address(const void *p)
{
    return (shi_u64)p;
}

#elif defined(SHI_SYCL)

#include "device/lib/sycl.h"

#else

#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#define SHI_GLOBAL
#define SHI_FN static inline
#define SHI_HOT SHI_FN
#define SHI_NOINLINE static __attribute__((noinline, unused))
#define SHI_ROLLED
#define SHI_SCALAR
#define SHI_ASSUME(x) ((void)0)
#define SHI_PROGRAM_SCOPE static _Thread_local __attribute__((unused)) /* each thread is a work-item of a PE */
#define SHI_CONSTANT SHI_PROGRAM_SCOPE
#define SHI_SYMBOLS(a, b)
typedef uint64_t shi_u64;
typedef uint32_t shi_u32;
typedef uint8_t __attribute__((may_alias)) shi_a8;
typedef uint16_t __attribute__((may_alias)) shi_a16;
typedef uint32_t __attribute__((may_alias)) shi_a32;
typedef uint64_t __attribute__((may_alias)) shi_a64;
typedef struct {
    uint64_t x, y;
} __attribute__((may_alias, aligned(16))) shi_a128;
#ifdef __SANITIZE_THREAD__
#define SHI_TSAN_ 1
#elif defined(__has_feature)
#define SHI_TSAN_ __has_feature(thread_sanitizer)
#else
#define SHI_TSAN_ 0
#endif
#define SHI_ORDER_relaxed_ __ATOMIC_RELAXED
#define SHI_ORDER_acquire_ __ATOMIC_ACQUIRE
#define SHI_ORDER_release_ __ATOMIC_RELEASE
#define SHI_C_exchange __atomic_exchange_n
#define SHI_C_fetch_add __atomic_fetch_add
#define SHI_C_fetch_and __atomic_fetch_and
#define SHI_C_fetch_or __atomic_fetch_or
#define SHI_C_fetch_xor __atomic_fetch_xor
#if SHI_TSAN_ /* ThreadSanitizer knows no fences, one of which may follow a relaxed load */
#define SHI_LOAD_(W, p, order) __atomic_load_n((const shi_a##W *)(p), __ATOMIC_ACQUIRE)
#else
#define SHI_LOAD_(W, p, order) __atomic_load_n((const shi_a##W *)(p), SHI_ORDER_##order##_)
#endif
#define SHI_STORE_(W, p, v, order) __atomic_store_n((shi_a##W *)(p), v, SHI_ORDER_##order##_)
#define SHI_UPDATE_(W, op, p, v, order) SHI_C_##op((shi_a##W *)(p), v, SHI_ORDER_##order##_)
#define SHI_CSWAP_(W, p, seen, v)                                                                                    \
    __atomic_compare_exchange_n((shi_a##W *)(p), (shi_a##W *)(seen), v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)
SHI_FN void shi_prefetch_write(const shi_u64 *p)
{
    __builtin_prefetch(p, 1);
}
SHI_FN void shi_store_pair(shi_u64 *p, shi_u64 v0, shi_u64 v1)
{
    SHI_STORE_(64, p, v0, relaxed);
    SHI_STORE_(64, p + 1, v1, relaxed);
}
SHI_FN void shi_load_pair(const SHI_GLOBAL shi_u64 *p, shi_u64 *v0, shi_u64 *v1)
{
    *v0 = SHI_LOAD_(64, p, relaxed);
    *v1 = SHI_LOAD_(64, p + 1, relaxed);
}
SHI_FN void shi_fence_release(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}
SHI_FN void shi_fence_acquire(void)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}
SHI_FN void shi_fence_acq_rel(void)
{
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
}
SHI_FN void shi_fence_total(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
/* A yield that takes over 1 ms shows that other threads want the core, and they may be ones that have yielded as well. The next 512
 * pauses sleep for 20 us each, so that the threads with work get turns. */
SHI_FN void shi_pause(void)
{
    static _Thread_local int naps;
    if (naps) {
        naps--;
        nanosleep(&(struct timespec){.tv_nsec = 20000}, (void *)0);
        return;
    }
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    sched_yield();
    clock_gettime(CLOCK_MONOTONIC, &to);
    if ((to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec > 1000000)
        naps = 512;
}
/* The range that acts as private memory: empty unless the thread sets it. */
static _Thread_local __attribute__((unused)) struct {
    uintptr_t from, to;
} shi_private;
SHI_FN void *shi_to_global(const void *p)
{
    return (uintptr_t)p >= shi_private.from && (uintptr_t)p < shi_private.to ? (void *)0 : (void *)p;
}
SHI_FN shi_u64 shi_address(const void *p)
{
    return (shi_u64)shi_to_global(p);
}

#endif
#ifndef SHI_CHOSEN_
#define SHI_CHOSEN_(value) (value)
#endif

SHI_FN shi_u64 shi_load_relaxed(const SHI_GLOBAL shi_u64 *p)
{
    return SHI_LOAD_(64, p, relaxed);
}
SHI_FN shi_u64 shi_load_acquire(const SHI_GLOBAL shi_u64 *p)
{
    return SHI_LOAD_(64, p, acquire);
}
SHI_FN shi_u32 shi_load32_acquire(const SHI_GLOBAL shi_u32 *p)
{
    return SHI_LOAD_(32, p, acquire);
}
SHI_FN void shi_store_relaxed(SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    SHI_STORE_(64, p, v, relaxed);
}
SHI_FN void shi_store_release(SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    SHI_STORE_(64, p, v, release);
}
SHI_FN shi_u64 shi_add_relaxed(SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    return SHI_UPDATE_(64, fetch_add, p, v, relaxed);
}
SHI_FN shi_u64 shi_add_release(SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    return SHI_UPDATE_(64, fetch_add, p, v, release);
}
/* NAME: whole, because "and" and "or" are operators of C++. */
#define SHI_UPDATE_FN_(W, NAME, UPDATE)                                                                              \
    SHI_FN shi_u##W NAME(SHI_GLOBAL shi_u##W *p, shi_u##W v)                                                         \
    {                                                                                                                \
        return SHI_UPDATE_(W, UPDATE, p, v, relaxed);                                                                \
    }
#define SHI_ATOMICS_(W)                                                                                              \
    SHI_FN shi_u##W shi_atom##W##_fetch(SHI_GLOBAL shi_u##W *p)                                                      \
    {                                                                                                                \
        return SHI_LOAD_(W, p, relaxed);                                                                             \
    }                                                                                                                \
    SHI_FN void shi_atom##W##_set(SHI_GLOBAL shi_u##W *p, shi_u##W v)                                                \
    {                                                                                                                \
        SHI_STORE_(W, p, v, relaxed);                                                                                \
    }                                                                                                                \
    SHI_UPDATE_FN_(W, shi_atom##W##_swap, exchange)                                                                 \
    SHI_UPDATE_FN_(W, shi_atom##W##_add, fetch_add)                                                                  \
    SHI_UPDATE_FN_(W, shi_atom##W##_and, fetch_and)                                                                  \
    SHI_UPDATE_FN_(W, shi_atom##W##_or, fetch_or)                                                                    \
    SHI_UPDATE_FN_(W, shi_atom##W##_xor, fetch_xor)                                                                  \
    SHI_FN shi_u##W shi_atom##W##_cswap(SHI_GLOBAL shi_u##W *p, shi_u##W cond, shi_u##W v)                           \
    {                                                                                                                \
        SHI_CSWAP_(W, p, &cond, v);                                                                                  \
        return cond;                                                                                                 \
    }
SHI_ATOMICS_(32)
SHI_ATOMICS_(64)
/* The same of a float or double F: add to it, and return the bits of what it was. */
#ifndef SHI_FADD_
#define SHI_FADD_(W, F, R)                                                                                           \
    SHI_FN shi_u##W shi_atom##W##_fadd(SHI_GLOBAL shi_u##W *p, shi_u##W v)                                           \
    {                                                                                                                \
        union {                                                                                                      \
            shi_u##W bits;                                                                                           \
            F value;                                                                                                 \
        } add, sum;                                                                                                  \
        shi_u##W seen = shi_atom##W##_fetch(p), before;                                                              \
        add.bits = v;                                                                                                \
        for (;;) {                                                                                                   \
            sum.bits = seen;                                                                                         \
            sum.value += add.value;                                                                                  \
            before = shi_atom##W##_cswap(p, seen, sum.bits);                                                         \
            if (before == seen)                                                                                      \
                return before;                                                                                       \
            seen = before;                                                                                           \
        }                                                                                                            \
    }
#endif
SHI_FADD_(32, float, "f")
SHI_FADD_(64, double, "d")

#endif
