/*
 * ishmemx_sycl.h - ishmemx.h for SYCL, see ishmem_sycl.h: block transfers, signals, the _work_group forms, whose last argument is a
 * sycl::group or sycl::sub_group, the _on_queue forms, and what depends on the runtime.
 *
 * An _on_queue form submits a kernel in which one group makes the call. A result goes to *ret, in memory that the kernel can access.
 * A queue's device is that of ishmem_init, see shi_sycl_native.
 */
#if !defined(ISHMEMX_SYCL_H) && defined(SHI_SYCL)
#define ISHMEMX_SYCL_H

#include "ishmem.h"
#include "ishmemx_attr.h"

#include <time.h>

#include <vector>

typedef enum { DEBUG, WARNING, ERROR, STDOUT, STDERR } ishmemx_print_msg_type_t;

namespace ishmem_sycl {

#define shmem_team_t ishmem_team_t /* in the parameters of the table */

inline void ishmemx_init_attr(ishmemx_attr_t *attr)
{
    if (ishmemx_init_by_uid_(attr))
        shi_up();
    else
        ishmem_init();
}
inline ishmemx_runtime_type_t ishmemx_runtime_get_type(void)
{
    return ISHMEMX_RUNTIME_OPENSHMEM;
}
inline void ishmemx_query_initialized(int *initialized)
{
    ::shmem_query_initialized(initialized);
}

/* ---- host and kernels ---------------------------------------------------------------------------------------------------- */

ISHMEM_SYCL_FN_(void, ishmemx_signal_add, (uint64_t * sig_addr, uint64_t signal, int pe), ishmemx_signal_add(sig_addr, signal, pe),
                ::shmem_signal_add(sig_addr, signal, pe))
ISHMEM_SYCL_FN_(void, ishmemx_signal_set, (uint64_t * sig_addr, uint64_t signal, int pe), ishmemx_signal_set(sig_addr, signal, pe),
                ::shmem_signal_set(sig_addr, signal, pe))

/* Time stamps in ns: a kernel's are of the host's thread that serves it, and dst is memory of the host. */
typedef uintptr_t ishmemx_ts_handle_t;
inline ishmemx_ts_handle_t ishmemx_ts_handle(unsigned long *at)
{
    return (ishmemx_ts_handle_t)at;
}
inline void shi_host_clock(ishmemx_ts_handle_t dst)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    *(unsigned long *)dst = (unsigned long)t.tv_sec * 1000000000ul + (unsigned long)t.tv_nsec;
}
ISHMEM_SYCL_FN_(void, ishmemx_timestamp, (ishmemx_ts_handle_t dst), ishmemx_timestamp(dst), shi_host_clock(dst))
ISHMEM_SYCL_FN_(void, ishmemx_timestamp_nbi, (ishmemx_ts_handle_t dst), ishmemx_timestamp_nbi(dst), shi_host_clock(dst))
/* For tests: a request that does nothing; with an answer, and without. */
ISHMEM_SYCL_FN_(void, ishmemx_nop, (void), ishmemx_nop(), (void)0)
ISHMEM_SYCL_FN_(void, ishmemx_nop_no_r, (void), ishmemx_nop_no_r(), (void)0)

#define ISHMEMX_SYCL_C(R, NAME, N, T, PARAMS)                                                                         \
    ISHMEM_SYCL_FN_(R, ishmemx_##N##NAME, PARAMS, ishmemx_##N##NAME(ISHMEM_ARGS##NAME), ::shmem_##N##NAME(ISHMEM_ARGS##NAME))
#define ISHMEMX_SYCL_S(R, NAME, KEY, B, PARAMS)                                                                       \
    ISHMEM_SYCL_FN_(R, ishmemx_##NAME, PARAMS, ishmemx_##NAME(ISHMEM_ARGS##KEY), ::shmem_##NAME(ISHMEM_ARGS##KEY))
#define ISHMEMX_SYCL_ANY(R, NAME, N, T, PARAMS)                                                                       \
    template <typename TYPE>                                                                                          \
    ISHMEM_SYCL_FN_(R, ishmemx##NAME, PARAMS, ishmemx##NAME(ISHMEM_ARGS##NAME), ::shmem##NAME(ISHMEM_ARGS##NAME))

/* ---- groups: kernels ----------------------------------------------------------------------------------------------------- */

template <int D>
inline int shi_kind(const sycl::group<D> &)
{
    return shi_device::SHI_TG;
}
inline int shi_kind(const sycl::sub_group &)
{
    return shi_device::SHI_HTG;
}
#define ISHMEM_GROUP_FN_(R, NAME, PARAMS, DEVICE)                                                                     \
    SHI_CALL R NAME PARAMS                                                                                            \
    {                                                                                                                 \
        ISHMEM_EITHER_(return shi_device::DEVICE, return R())                                                         \
    }
#define ISHMEMX_SYCL_GROUP_(R, FULL, KEY, PARAMS)                                                                     \
    template <class Group>                                                                                            \
    ISHMEM_GROUP_FN_(R, FULL##_work_group, (SHMEM_UNWRAP PARAMS, const Group &group),                                 \
                     FULL##_work_group(ISHMEM_ARGS##KEY, shi_kind(group)))
#define ISHMEMX_SYCL_GROUP_C(R, NAME, N, T, PARAMS) ISHMEMX_SYCL_GROUP_(R, ishmemx_##N##NAME, NAME, PARAMS)
#define ISHMEMX_SYCL_GROUP_S(R, NAME, KEY, B, PARAMS) ISHMEMX_SYCL_GROUP_(R, ishmemx_##NAME, KEY, PARAMS)
#define ISHMEMX_SYCL_GROUP_ANY(R, NAME, N, T, PARAMS)                                                                 \
    template <typename TYPE, class Group>                                                                             \
    ISHMEM_GROUP_FN_(R, ishmemx##NAME##_work_group, (SHMEM_UNWRAP PARAMS, const Group &group),                        \
                     ishmemx##NAME##_work_group(ISHMEM_ARGS##NAME, shi_kind(group)))
#define ISHMEMX_SYCL_GROUP_T_(R, FULL, KEY, PARAMS, ...)                                                              \
    template <__VA_ARGS__>                                                                                            \
    ISHMEM_GROUP_FN_(R, FULL##_work_group, (SHMEM_UNWRAP PARAMS, const Group &group),                                 \
                     FULL##_work_group(shi_kernel_team(team), ISHMEM_ARGS##KEY, shi_kind(group)))                     \
    template <__VA_ARGS__>                                                                                            \
    ISHMEM_GROUP_FN_(R, FULL##_work_group, (ISHMEMX_UNWRAP_(ISHMEM_WITHOUT_TEAM_ PARAMS), const Group &group),        \
                     FULL##_work_group(ISHMEM_ARGS##KEY, shi_kind(group)))
#define ISHMEMX_SYCL_GROUP_T(R, NAME, N, T, PARAMS) ISHMEMX_SYCL_GROUP_T_(R, ishmemx_##N##NAME, NAME, PARAMS, class Group)
#define ISHMEMX_SYCL_GROUP_MEM(R, NAME, N, T, PARAMS) ISHMEMX_SYCL_GROUP_T_(R, ishmemx##NAME##mem, NAME, PARAMS, class Group)
#define ISHMEMX_SYCL_GROUP_ANY_T(R, NAME, N, T, PARAMS)                                                               \
    ISHMEMX_SYCL_GROUP_T_(R, ishmemx##NAME, NAME, PARAMS, typename TYPE, class Group)

template <class Group>
ISHMEM_GROUP_FN_(uint64_t, ishmemx_signal_wait_until_work_group, (uint64_t * sig_addr, int cmp, uint64_t cmp_value, const Group &group),
                 ishmemx_signal_wait_until_work_group(sig_addr, cmp, cmp_value, shi_kind(group)))
#define ISHMEMX_SYCL_GROUP_U_(NAME)                                                                                   \
    template <class Group>                                                                                            \
    ISHMEM_GROUP_FN_(void, NAME, (const Group &group), NAME(shi_kind(group)))
ISHMEMX_SYCL_GROUP_U_(ishmemx_fence_work_group)
ISHMEMX_SYCL_GROUP_U_(ishmemx_quiet_work_group)
ISHMEMX_SYCL_GROUP_U_(ishmemx_sync_all_work_group)
ISHMEMX_SYCL_GROUP_U_(ishmemx_barrier_all_work_group)
template <class Group>
ISHMEM_GROUP_FN_(int, ishmemx_team_sync_work_group, (ishmem_team_t team, const Group &group),
                 ishmemx_team_sync_work_group(shi_kernel_team(team), shi_kind(group)))

/* ---- queues: host -------------------------------------------------------------------------------------------------------- */

/* Submit the call, by a group that shares the work on count elements. AdaptiveCpp would submit it at the next wait for the queue; but
 * other PEs may wait for it. */
enum { SHI_QUEUE_ITEMS = 256, SHI_QUEUE_ALONE = 32 };
template <class Queue, class Call>
inline sycl::event shi_on_queue(Queue &q, const std::vector<sycl::event> &deps, size_t count, Call call)
{
    size_t items = count <= SHI_QUEUE_ALONE ? 1 : SHI_QUEUE_ITEMS;
    sycl::event e = q.submit([&](sycl::handler &h) {
        h.depends_on(deps);
        h.parallel_for(sycl::nd_range<1>{items, items}, [=](sycl::nd_item<1> it) { call(it.get_group()); });
    });
#if SHI_ACPP
    q.get_context().AdaptiveCpp_runtime()->dag().flush_sync();
#endif
    return e;
}

/* Templates, so that DPC++ makes only the kernels that are used. The result is a sycl::event. */
#define ISHMEM_QUEUE_FN_(NAME, PARAMS, TEMPLATE, COUNT, ...)                                                          \
    template <SHMEM_UNWRAP TEMPLATE class Queue>                                                                      \
    inline auto NAME##_on_queue(SHMEM_UNWRAP PARAMS Queue &q, const std::vector<sycl::event> &deps = {})       \
    {                                                                                                                 \
        return shi_on_queue(q, deps, COUNT, [=](const sycl::group<1> &group) { __VA_ARGS__; });                       \
    }
#define ISHMEM_QUEUE_RESULT_(TYPE, CALL) TYPE r = CALL; if (ret && group.leader()) *ret = r
#define ISHMEM_QUEUE_void(FULL, KEY, CALL, PARAMS, TEMPLATE)                                                          \
    ISHMEM_QUEUE_FN_(FULL, (SHMEM_UNWRAP PARAMS, ), TEMPLATE, ISHMEM_COUNT##KEY, CALL)
#define ISHMEM_QUEUE_int(FULL, KEY, CALL, PARAMS, TEMPLATE)                                                           \
    ISHMEM_QUEUE_FN_(FULL, (SHMEM_UNWRAP PARAMS, int *ret, ), TEMPLATE, ISHMEM_COUNT##KEY, ISHMEM_QUEUE_RESULT_(int, CALL))
#define ISHMEM_QUEUE_size_t(FULL, KEY, CALL, PARAMS, TEMPLATE)                                                        \
    ISHMEM_QUEUE_FN_(FULL, (SHMEM_UNWRAP PARAMS, size_t *ret, ), TEMPLATE, ISHMEM_COUNT##KEY, ISHMEM_QUEUE_RESULT_(size_t, CALL))

/* FULL##_on_queue runs CALL##_work_group. */
#define ISHMEM_QUEUE_(R, FULL, CALL, KEY, PARAMS, TEMPLATE)                                                           \
    ISHMEM_QUEUE_##R(FULL, KEY, CALL(ISHMEM_ARGS##KEY, group), PARAMS, TEMPLATE)
#define ISHMEMX_SYCL_QUEUE_C(R, NAME, N, T, PARAMS)                                                                   \
    ISHMEM_QUEUE_(R, ishmemx_##N##NAME, ishmemx_##N##NAME##_work_group, NAME, PARAMS, ())
#define ISHMEMX_SYCL_QUEUE_S(R, NAME, KEY, B, PARAMS)                                                                 \
    ISHMEM_QUEUE_(R, ishmemx_##NAME, ishmemx_##NAME##_work_group, KEY, PARAMS, ())
#define ISHMEMX_SYCL_QUEUE_ANY(R, NAME, N, T, PARAMS)                                                                 \
    ISHMEM_QUEUE_(R, ishmemx##NAME, ishmemx##NAME##_work_group<TYPE>, NAME, PARAMS, (typename TYPE, ))
#define ISHMEMX_SYCL_QUEUE_T_(R, FULL, CALL, KEY, PARAMS, TEMPLATE)                                                   \
    ISHMEM_QUEUE_##R(FULL, KEY, CALL(team, ISHMEM_ARGS##KEY, group), PARAMS, TEMPLATE)                                \
    ISHMEM_QUEUE_##R(FULL, KEY, CALL(ISHMEM_ARGS##KEY, group), (ISHMEMX_UNWRAP_(ISHMEM_WITHOUT_TEAM_ PARAMS)), TEMPLATE)
#define ISHMEMX_SYCL_QUEUE_T(R, NAME, N, T, PARAMS)                                                                   \
    ISHMEMX_SYCL_QUEUE_T_(R, ishmemx_##N##NAME, ishmemx_##N##NAME##_work_group, NAME, PARAMS, ())
#define ISHMEMX_SYCL_QUEUE_MEM(R, NAME, N, T, PARAMS)                                                                 \
    ISHMEMX_SYCL_QUEUE_T_(R, ishmemx##NAME##mem, ishmemx##NAME##mem_work_group, NAME, PARAMS, ())
#define ISHMEMX_SYCL_QUEUE_ANY_T(R, NAME, N, T, PARAMS)                                                               \
    ISHMEMX_SYCL_QUEUE_T_(R, ishmemx##NAME, ishmemx##NAME##_work_group<TYPE>, NAME, PARAMS, (typename TYPE, ))

ISHMEM_QUEUE_FN_(ishmemx_signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value, uint64_t *ret, ), (), 1,
                 ISHMEM_QUEUE_RESULT_(uint64_t, ishmemx_signal_wait_until_work_group(sig_addr, cmp, cmp_value, group)))
ISHMEM_QUEUE_FN_(ishmemx_barrier_all, (), (), 1, ishmemx_barrier_all_work_group(group))
ISHMEM_QUEUE_FN_(ishmemx_sync_all, (), (), 1, ishmemx_sync_all_work_group(group))
ISHMEM_QUEUE_FN_(ishmemx_quiet, (), (), 1, ishmemx_quiet_work_group(group))
ISHMEM_QUEUE_FN_(ishmemx_team_sync, (ishmem_team_t team, int *ret, ), (), 1,
                 ISHMEM_QUEUE_RESULT_(int, ishmemx_team_sync_work_group(team, group)))

/* ---- all types ----------------------------------------------------------------------------------------------------------- */

#define ISHMEMX_SYCL_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                            \
    SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(                                                                        \
        SHMEM_API_BLOCK(ISHMEMX_SYCL_C, , N, T) SHMEM_API_BLOCK(ISHMEMX_SYCL_GROUP_C, , N, T)                         \
        SHMEM_API_BLOCK(ISHMEMX_SYCL_QUEUE_C, , N, T)                                                                 \
        ISHMEM_ONE_SIDED_(ISHMEMX_SYCL_GROUP_C, N, T, AMO, EXT, BIT)                                                  \
        ISHMEM_ONE_SIDED_(ISHMEMX_SYCL_QUEUE_C, N, T, AMO, EXT, BIT)                                                  \
        ISHMEM_COLLECTIVE_(ISHMEMX_SYCL_GROUP_T, N, T, AND) ISHMEM_COLLECTIVE_(ISHMEMX_SYCL_QUEUE_T, N, T, AND)))
SHMEM_TYPES(ISHMEMX_SYCL_ROW_, )
SHMEM_API_AND(, ISHMEMX_SYCL_GROUP_T, schar, signed char)
SHMEM_API_AND(, ISHMEMX_SYCL_QUEUE_T, schar, signed char)
#define ISHMEMX_SYCL_MEMS_(M) SHMEM_API_BROADCAST(, M, , void) SHMEM_API_GATHER(, M, , void)
ISHMEMX_SYCL_MEMS_(ISHMEMX_SYCL_GROUP_MEM)
ISHMEMX_SYCL_MEMS_(ISHMEMX_SYCL_QUEUE_MEM)
SHMEM_API_SIZED_BLOCK(ISHMEMX_SYCL_S)
SHMEM_API_SIZED_BLOCK(ISHMEMX_SYCL_GROUP_S)
SHMEM_API_SIZED_BLOCK(ISHMEMX_SYCL_QUEUE_S)
SHMEM_API_SIZED_PUTGET(ISHMEMX_SYCL_GROUP_S)
SHMEM_API_SIZED_PUTGET(ISHMEMX_SYCL_QUEUE_S)

SHMEM_API_BLOCK(ISHMEMX_SYCL_ANY, , , TYPE)
SHMEM_API_BLOCK(ISHMEMX_SYCL_GROUP_ANY, , , TYPE)
SHMEM_API_BLOCK(ISHMEMX_SYCL_QUEUE_ANY, , , TYPE)
ISHMEM_ONE_SIDED_(ISHMEMX_SYCL_GROUP_ANY, , TYPE, 1, 1, 1)
ISHMEM_ONE_SIDED_(ISHMEMX_SYCL_QUEUE_ANY, , TYPE, 1, 1, 1)
ISHMEM_COLLECTIVE_(ISHMEMX_SYCL_GROUP_ANY_T, , TYPE, 1)
ISHMEM_COLLECTIVE_(ISHMEMX_SYCL_QUEUE_ANY_T, , TYPE, 1)

#undef shmem_team_t

/* ---- print: in kernels to printf's stream, on the host an ERROR ends the program ------------------------------------------- */

#if SHI_ACPP
#define ISHMEM_KERNEL_PRINTF_ __spirv_ocl_printf
#elif defined(__SYCL_DEVICE_ONLY__)
#define ISHMEM_KERNEL_PRINTF_ sycl::ext::oneapi::experimental::printf
#endif
inline void ishmemx_print(const char *file, long line, const char *func, const char *out, ishmemx_print_msg_type_t type)
{
    const char *kind = type == ERROR ? "ERROR" : type == WARNING ? "WARN" : "DEBUG";
    (void)file, (void)line;
    ISHMEM_EITHER_(if (type >= STDOUT) ISHMEM_KERNEL_PRINTF_("%s", out);
                   else ISHMEM_KERNEL_PRINTF_("[%04d] %s: %s: %s", ishmem_my_pe(), kind, func, out),
                   FILE *to = type == STDOUT ? stdout : stderr;
                   if (type < STDOUT) fprintf(to, "[%04d] %s: %s: ", ishmem_my_pe(), kind, func);
                   fputs(out, to); fflush(to);
                   if (type == ERROR) ::shmem_global_exit(1))
}
inline void ishmemx_print(const char *out, ishmemx_print_msg_type_t type)
{
    ishmemx_print("", 0, "ishmemx_print", out, type);
}
inline void ishmemx_print(const char *out)
{
    ishmemx_print(out, STDOUT);
}

}
#endif
