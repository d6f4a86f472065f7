/*
 * sycl.h - SYCL in dialect.h's terms, for single source. Its includer has included <sycl/sycl.hpp> and opens a namespace for the library.
 *
 * Two compilers. DPC++ (__SYCL_DEVICE_ONLY__ in its pass for the device) has all of this in SYCL 2020 or its extensions. AdaptiveCpp
 * compiles one program for host and device, and lacks fences, broadcasts and casts of address spaces; there they are SPIR-V's
 * instructions, which its translator knows by their names, see SHI_SPIRV_.
 *
 * The default context. Kernels find it without an argument:
 *   DPC++        a device_global holds its address, which ishmem_init stores.
 *   AdaptiveCpp  has none. The address is a constant, SHI_SYCL_PLACE, plus offsets of fields, and the library replaces these constants
 *                in the SPIR-V while the module is made, see ../ze_patch.c.
 */
#if defined(SYCL_IMPLEMENTATION_ACPP) || defined(__ACPP__) || defined(__ADAPTIVECPP__)
#define SHI_ACPP 1
#else
#define SHI_ACPP 0
#endif

#define SHI_GLOBAL
#if SHI_RACE /* oshcc --race: what is inlined has the line of the program's call */
#define SHI_NO_LINES __attribute__((nodebug))
#define SHI_CALL inline SHI_NO_LINES __attribute__((always_inline))
#else
#define SHI_NO_LINES
#define SHI_CALL inline
#endif
#ifndef SHI_FN /* a test has functions that are not inlined */
#define SHI_FN inline SHI_NO_LINES
#endif
#define SHI_NOINLINE inline SHI_NO_LINES __attribute__((noinline))
#define SHI_HOT inline __attribute__((always_inline))
#define SHI_ROLLED
#define SHI_SCALAR _Pragma("clang loop vectorize(disable) unroll(disable)")
#define SHI_ASSUME(x) __builtin_assume(x)
typedef uint64_t shi_u64;
typedef uint32_t shi_u32;
typedef uint8_t __attribute__((may_alias)) shi_a8;
typedef uint16_t __attribute__((may_alias)) shi_a16;
typedef uint32_t __attribute__((may_alias)) shi_a32;
typedef uint64_t __attribute__((may_alias)) shi_a64;
typedef uint64_t __attribute__((ext_vector_type(2), may_alias)) shi_a128; /* one load and one store; of a structure, a copy of memory */

/* ---- what AdaptiveCpp lacks --------------------------------------------------------------------------------------------- */

/* SHI_SPIRV_(x): x in its pass for the device; the host's pass removes it. */
#if SHI_ACPP
}
namespace __spv {
enum ScopeFlag : unsigned { CrossDevice = 0, Workgroup = 2, Subgroup = 3 };
}
typedef unsigned __attribute__((ext_vector_type(4))) shi_spirv_ballot_t;
extern "C++" { /* found by their mangled names; nomerge: the scope stays a constant where calls differ by it alone */
void __spirv_MemoryBarrier(__spv::ScopeFlag memory, unsigned semantics);
__attribute__((convergent, nomerge)) void __spirv_ControlBarrier(__spv::ScopeFlag execution, __spv::ScopeFlag memory, unsigned semantics);
__attribute__((convergent, nomerge)) unsigned long __spirv_GroupBroadcast(__spv::ScopeFlag execution, unsigned long value, unsigned long item);
__attribute__((convergent)) shi_spirv_ballot_t __spirv_GroupNonUniformBallot(__spv::ScopeFlag execution, bool hand);
__attribute__((convergent)) unsigned long __spirv_GroupNonUniformBroadcastFirst(__spv::ScopeFlag execution, unsigned long value);
__attribute__((convergent)) bool __spirv_GroupNonUniformElect(__spv::ScopeFlag execution);
__attribute__((address_space(1))) void *__spirv_GenericCastToPtrExplicit_ToGlobal(void *p, unsigned storage_class);
template <typename... Args>
int __spirv_ocl_printf(const char *format, Args... args);
}
namespace shi_device {
#define SHI_SPIRV_(...)                                                                                               \
    if (__acpp_sscp_is_device) {                                                                                      \
        __VA_ARGS__;                                                                                                  \
    }
enum { SHI_ACQUIRE_ = 0x2, SHI_RELEASE_ = 0x4, SHI_ACQ_REL_ = 0x8, SHI_SEQ_CST_ = 0x10, SHI_OF_LOCAL_ = 0x100, SHI_OF_GLOBAL_ = 0x200 };
SHI_HOT void shi_sycl_fence(unsigned semantics)
{
    SHI_SPIRV_(__spirv_MemoryBarrier(__spv::CrossDevice, semantics | SHI_OF_GLOBAL_))
}
#define SHI_SYCL_FENCE_(SPIRV, SYCL) shi_sycl_fence(SPIRV)
/* A value that becomes a pointer: its llvm-spirv crashes where a kernel stores a pointer for which LLVM sees a choice with NULL. */
SHI_FN shi_u64 shi_chosen(shi_u64 value)
{
    volatile shi_u64 kept = value;
    return kept;
}
#define SHI_CHOSEN_(value) shi_chosen(value)
SHI_FN SHI_GLOBAL void *shi_to_global(const void *p)
{
    SHI_SPIRV_(return (void *)__spirv_GenericCastToPtrExplicit_ToGlobal(const_cast<void *>(p), 5 /* CrossWorkgroup */))
    return const_cast<void *>(p);
}
#else
#define SHI_SYCL_FENCE_(SPIRV, SYCL) sycl::atomic_fence(sycl::memory_order::SYCL, sycl::memory_scope::system)
/* NULL for an address in private or local memory, for which sycl::address_space_cast is undefined. Earlier versions have one template argument
 * more; the earliest do not have this cast, and their address_space_cast returns NULL. */
#if __has_include(<sycl/ext/oneapi/experimental/address_cast.hpp>)
template <sycl::access::address_space Space, typename T>
SHI_FN auto shi_sycl_cast(T *p, int) -> decltype(sycl::ext::oneapi::experimental::dynamic_address_cast<Space>(p).get())
{
    return sycl::ext::oneapi::experimental::dynamic_address_cast<Space>(p).get();
}
template <sycl::access::address_space Space, typename T>
SHI_FN auto shi_sycl_cast(T *p, long)
    -> decltype(sycl::ext::oneapi::experimental::dynamic_address_cast<Space, sycl::access::decorated::no>(p).get())
{
    return sycl::ext::oneapi::experimental::dynamic_address_cast<Space, sycl::access::decorated::no>(p).get();
}
#else
template <sycl::access::address_space Space, typename T>
SHI_FN T *shi_sycl_cast(T *p, int)
{
    return sycl::address_space_cast<Space, sycl::access::decorated::no>(p).get();
}
#endif
SHI_FN SHI_GLOBAL void *shi_to_global(const void *p)
{
    return shi_sycl_cast<sycl::access::address_space::global_space>(static_cast<char *>(const_cast<void *>(p)), 0);
}
#endif

/* ---- atomics ------------------------------------------------------------------------------------------------------------ */

template <typename T>
using shi_sycl_ref = sycl::atomic_ref<T, sycl::memory_order::relaxed, sycl::memory_scope::system,
                                      sycl::access::address_space::global_space>;
#define SHI_SYCL_REF_(W, p) shi_sycl_ref<shi_u##W>(*const_cast<shi_u##W *>(p))
#define SHI_LOAD_(W, p, order) SHI_SYCL_REF_(W, p).load(sycl::memory_order::order)
#define SHI_STORE_(W, p, v, order) SHI_SYCL_REF_(W, p).store(v, sycl::memory_order::order)
#define SHI_UPDATE_(W, op, p, v, order) SHI_SYCL_REF_(W, p).op(v, sycl::memory_order::order)
#define SHI_CSWAP_(W, p, seen, v)                                                                                     \
    SHI_SYCL_REF_(W, p).compare_exchange_strong(*(seen), v, sycl::memory_order::relaxed, sycl::memory_order::relaxed)
SHI_FN void shi_prefetch_write(const shi_u64 *p)
{
    (void)p;
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
    SHI_SYCL_FENCE_(SHI_RELEASE_, release);
}
SHI_FN void shi_fence_acquire(void)
{
    SHI_SYCL_FENCE_(SHI_ACQUIRE_, acquire);
}
SHI_FN void shi_fence_acq_rel(void)
{
    SHI_SYCL_FENCE_(SHI_ACQ_REL_, acq_rel);
}
SHI_FN void shi_fence_total(void)
{
    SHI_SYCL_FENCE_(SHI_SEQ_CST_, seq_cst);
}
SHI_FN void shi_pause(void)
{
}
SHI_HOT shi_u64 shi_address(const void *p)
{
    return (shi_u64)p;
}
