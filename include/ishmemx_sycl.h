/*
 * ishmemx_sycl.h - ishmemx.h for SYCL, see ishmem_sycl.h: block transfers, signals, the _work_group forms, whose last argument is a
 * sycl::group or sycl::sub_group, the _on_queue forms, and what depends on the runtime.
 *
 * An _on_queue form submits a kernel of one work-item that makes the call. A result goes to *ret, in memory that the kernel can
 * access. A queue's device is that of ishmem_init, see shi_sycl_native.
 */
#if !defined(ISHMEMX_SYCL_H) && defined(SHI_SYCL)
#define ISHMEMX_SYCL_H

#include "ishmem.h"

#include <vector>

typedef enum : uint8_t {
    ISHMEMX_RUNTIME_MPI,
    ISHMEMX_RUNTIME_OPENSHMEM,
    ISHMEMX_RUNTIME_PMI,
    ISHMEMX_RUNTIME_INVALID
} ishmemx_runtime_type_t;

/* Ignored: this library is the runtime, and initialises itself once. */
typedef struct ishmemx_attr_t {
    ishmemx_runtime_type_t runtime = ISHMEMX_RUNTIME_OPENSHMEM;
    bool initialize_runtime = true;
    bool gpu = true;
    void *mpi_comm = nullptr;
} ishmemx_attr_t;

typedef enum { DEBUG, WARNING, ERROR, STDOUT, STDERR } ishmemx_print_msg_type_t;

namespace ishmem_sycl {

inline void ishmemx_init_attr(ishmemx_attr_t *attr)
{
    (void)attr;
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
    inline R NAME PARAMS                                                                                              \
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

/* Submit the call. AdaptiveCpp would submit it at the next wait for the queue; but other PEs may wait for it. */
template <class Queue, class Call>
inline sycl::event shi_on_queue(Queue &q, const std::vector<sycl::event> &deps, Call call)
{
    sycl::event e = q.submit([&](sycl::handler &h) {
        h.depends_on(deps);
        h.single_task(call);
    });
#if SHI_ACPP
    q.get_context().AdaptiveCpp_runtime()->dag().flush_sync();
#endif
    return e;
}

/* Templates, so that DPC++ makes only the kernels that are used. */
#define ISHMEM_QUEUE_FN_(NAME, PARAMS, TEMPLATE, ...)                                                                 \
    template <SHMEM_UNWRAP TEMPLATE class Queue>                                                                      \
    inline sycl::event NAME##_on_queue(SHMEM_UNWRAP PARAMS Queue &q, const std::vector<sycl::event> &deps = {})       \
    {                                                                                                                 \
        return shi_on_queue(q, deps, [=] { __VA_ARGS__; });                                                           \
    }
#define ISHMEM_QUEUE_void(TYPE, X, FULL, CALL, PARAMS, TEMPLATE) ISHMEM_QUEUE_FN_(X##FULL, (SHMEM_UNWRAP PARAMS, ), TEMPLATE, CALL)
#define ISHMEM_QUEUE_int(TYPE, X, FULL, CALL, PARAMS, TEMPLATE)                                                       \
    ISHMEM_QUEUE_FN_(X##FULL, (SHMEM_UNWRAP PARAMS, int *ret, ), TEMPLATE, int r = CALL; if (ret) *ret = r)
#define ISHMEM_QUEUE_size_t(TYPE, X, FULL, CALL, PARAMS, TEMPLATE)                                                    \
    ISHMEM_QUEUE_FN_(X##FULL, (SHMEM_UNWRAP PARAMS, size_t *ret, ), TEMPLATE, size_t r = CALL; if (ret) *ret = r)

#define ISHMEMX_SYCL_QUEUE_C(R, NAME, N, T, PARAMS)                                                                   \
    ISHMEM_QUEUE_##R(, ishmemx, _##N##NAME, ishmem_##N##NAME(ISHMEM_ARGS##NAME), PARAMS, ())
#define ISHMEMX_SYCL_QUEUE_X(R, NAME, N, T, PARAMS)                                                                   \
    ISHMEM_QUEUE_##R(, ishmemx, _##N##NAME, ishmemx_##N##NAME(ISHMEM_ARGS##NAME), PARAMS, ())
#define ISHMEMX_SYCL_QUEUE_S(R, NAME, KEY, B, PARAMS)                                                                 \
    ISHMEM_QUEUE_##R(, ishmemx, _##NAME, ishmem_##NAME(ISHMEM_ARGS##KEY), PARAMS, ())
#define ISHMEMX_SYCL_QUEUE_SX(R, NAME, KEY, B, PARAMS)                                                                \
    ISHMEM_QUEUE_##R(, ishmemx, _##NAME, ishmemx_##NAME(ISHMEM_ARGS##KEY), PARAMS, ())
#define ISHMEMX_SYCL_QUEUE_ANY(R, NAME, N, T, PARAMS)                                                                 \
    ISHMEM_QUEUE_##R(, ishmemx, NAME, ishmem##NAME<TYPE>(ISHMEM_ARGS##NAME), PARAMS, (typename TYPE, ))
#define ISHMEMX_SYCL_QUEUE_ANY_X(R, NAME, N, T, PARAMS)                                                               \
    ISHMEM_QUEUE_##R(, ishmemx, NAME, ishmemx##NAME<TYPE>(ISHMEM_ARGS##NAME), PARAMS, (typename TYPE, ))
#define ISHMEMX_SYCL_QUEUE_T_(R, FULL, CALL, KEY, PARAMS, TEMPLATE)                                                   \
    ISHMEM_QUEUE_##R(, ishmemx, FULL, CALL(team, ISHMEM_ARGS##KEY), PARAMS, TEMPLATE)                                 \
    ISHMEM_QUEUE_##R(, ishmemx, FULL, CALL(ISHMEM_ARGS##KEY), (ISHMEMX_UNWRAP_(ISHMEM_WITHOUT_TEAM_ PARAMS)), TEMPLATE)
#define ISHMEMX_SYCL_QUEUE_T(R, NAME, N, T, PARAMS) ISHMEMX_SYCL_QUEUE_T_(R, _##N##NAME, ishmem_##N##NAME, NAME, PARAMS, ())
#define ISHMEMX_SYCL_QUEUE_MEM(R, NAME, N, T, PARAMS) ISHMEMX_SYCL_QUEUE_T_(R, NAME##mem, ishmem##NAME##mem, NAME, PARAMS, ())
#define ISHMEMX_SYCL_QUEUE_ANY_T(R, NAME, N, T, PARAMS)                                                               \
    ISHMEMX_SYCL_QUEUE_T_(R, NAME, ishmem##NAME<TYPE>, NAME, PARAMS, (typename TYPE, ))

template <class Queue>
inline sycl::event ishmemx_signal_wait_until_on_queue(uint64_t *sig_addr, int cmp, uint64_t cmp_value, uint64_t *ret, Queue &q,
                                                      const std::vector<sycl::event> &deps = {})
{
    return shi_on_queue(q, deps, [=] {
        uint64_t r = ishmem_signal_wait_until(sig_addr, cmp, cmp_value);
        if (ret)
            *ret = r;
    });
}
ISHMEM_QUEUE_FN_(ishmemx_barrier_all, (), (), ishmem_barrier_all())
ISHMEM_QUEUE_FN_(ishmemx_sync_all, (), (), ishmem_sync_all())
ISHMEM_QUEUE_FN_(ishmemx_quiet, (), (), ishmem_quiet())
ISHMEM_QUEUE_FN_(ishmemx_team_sync, (ishmem_team_t team, int *ret, ), (), int r = ishmem_team_sync(team); if (ret) *ret = r)

/* ---- all types ----------------------------------------------------------------------------------------------------------- */

#define ISHMEMX_SYCL_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                            \
    SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(                                                                        \
        SHMEM_API_BLOCK(ISHMEMX_SYCL_C, , N, T) SHMEM_API_BLOCK(ISHMEMX_SYCL_GROUP_C, , N, T)                         \
        SHMEM_API_BLOCK(ISHMEMX_SYCL_QUEUE_X, , N, T)                                                                 \
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
SHMEM_API_SIZED_BLOCK(ISHMEMX_SYCL_QUEUE_SX)
SHMEM_API_SIZED_PUTGET(ISHMEMX_SYCL_GROUP_S)
SHMEM_API_SIZED_PUTGET(ISHMEMX_SYCL_QUEUE_S)

SHMEM_API_BLOCK(ISHMEMX_SYCL_ANY, , , TYPE)
SHMEM_API_BLOCK(ISHMEMX_SYCL_GROUP_ANY, , , TYPE)
SHMEM_API_BLOCK(ISHMEMX_SYCL_QUEUE_ANY_X, , , TYPE)
ISHMEM_ONE_SIDED_(ISHMEMX_SYCL_GROUP_ANY, , TYPE, 1, 1, 1)
ISHMEM_ONE_SIDED_(ISHMEMX_SYCL_QUEUE_ANY, , TYPE, 1, 1, 1)
ISHMEM_COLLECTIVE_(ISHMEMX_SYCL_GROUP_ANY_T, , TYPE, 1)
ISHMEM_COLLECTIVE_(ISHMEMX_SYCL_QUEUE_ANY_T, , TYPE, 1)

/* ---- print --------------------------------------------------------------------------------------------------------------- */

inline void ishmemx_print(const char *out)
{
#if SHI_ACPP
    ISHMEM_EITHER_(__acpp_sscp_print(out), fputs(out, stderr))
#elif defined(__SYCL_DEVICE_ONLY__)
    sycl::ext::oneapi::experimental::printf("%s", out);
#else
    fputs(out, stderr);
#endif
}

}
#endif
