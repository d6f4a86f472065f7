/*
 * ishmem_sycl.h - ishmem.h for SYCL in single source: every routine is one function, for the host and for kernels.
 *
 * In a kernel it calls the device library, which is in namespace shi_device; on the host a routine of shmem.h. DPC++ compiles twice,
 * AdaptiveCpp once, with a condition that its passes resolve. A team is a number, its slot, the same for both. Routines are emitted from
 * shmem_table.h into namespace ishmem_sycl; their shmem_team_t is that number.
 */
#if !defined(ISHMEM_SYCL_H) && (defined(SYCL_LANGUAGE_VERSION) || defined(__ACPP__) || defined(__ADAPTIVECPP__))
#define ISHMEM_SYCL_H

#include <sycl/sycl.hpp>
#if __has_include(<sycl/ext/oneapi/experimental/address_cast.hpp>) /* DPC++ */
#include <sycl/ext/oneapi/experimental/address_cast.hpp>
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ishmem_sycl_args.h"
#include "shmem.h"
#include "shmemx.h"
#include "shmemx_ze.h"

#define SHI_SYCL 1

#if defined(__ACPP__) && !defined(__ACPP_ENABLE_LLVM_SSCP_TARGET__)
#error "ishmem.h: AdaptiveCpp has to compile with --acpp-targets=generic, which runs on every device; kernels of its other targets cannot communicate"
#endif

typedef int ishmem_team_t;
typedef shmem_team_config_t ishmem_team_config_t;
#define ISHMEM_TEAM_INVALID (-1)
#define ISHMEM_TEAM_WORLD 0
#define ISHMEM_TEAM_SHARED 1
#define ISHMEMX_TEAM_NODE ISHMEM_TEAM_SHARED

namespace shi_device {
#include "ishmem_device.h"
#include "ishmemx_device.h"
inline shmem_team_t ishmem_world_(void)
{
    return shi_team_world(SHI_CTX_DEFAULT_);
}
}

/* What is executed in a kernel, and what on the host. */
#if SHI_ACPP
#define ISHMEM_EITHER_(DEVICE, HOST)                                                                                  \
    if (__acpp_sscp_is_device) {                                                                                      \
        DEVICE;                                                                                                       \
    } else {                                                                                                          \
        HOST;                                                                                                         \
    }
#elif defined(__SYCL_DEVICE_ONLY__)
#define ISHMEM_EITHER_(DEVICE, HOST) DEVICE;
#else
#define ISHMEM_EITHER_(DEVICE, HOST) HOST;
#endif

#include "ishmem_sycl_native.h"

namespace ishmem_sycl {

enum { SHI_TEAMS_ = 512 };
inline ::shmem_team_t shi_teams[SHI_TEAMS_]; /* by number; of the program's own teams */
static const int shi_claimed = (shmemx_sycl_claim(), 0); /* before main, and before static objects behind this header */

inline ::shmem_team_t shi_host_team(ishmem_team_t team)
{
    return team == ISHMEM_TEAM_WORLD    ? SHMEM_TEAM_WORLD
           : team == ISHMEM_TEAM_SHARED ? SHMEM_TEAM_SHARED
           : team > 0 && team < SHI_TEAMS_ ? shi_teams[team] : SHMEM_TEAM_INVALID;
}

/* Teams are in the order of their numbers, the world first. */
inline shi_device::shmem_team_t shi_kernel_team(ishmem_team_t team)
{
    uint64_t world = shi_device::ishmem_world_().at;
    uint64_t at = world + (uint64_t)team * sizeof(struct shi_device::shi_dev_team);
    return shi_device::shmem_team_t(world && team >= 0 && team < SHI_TEAMS_ ? at : 0);
}

/* The number of a team of the host, which is from now on known by it. */
inline ishmem_team_t shi_number(::shmem_team_t team)
{
    if (team == SHMEM_TEAM_INVALID)
        return ISHMEM_TEAM_INVALID;
    typedef struct shi_device::shi_dev_team *kernel_team;
    int number = (int)((kernel_team)shmemx_device_team(team) - (kernel_team)shmemx_device_team(SHMEM_TEAM_WORLD));
    shi_teams[number] = team;
    return number;
}

/* ---- setup, memory, teams: host ------------------------------------------------------------------------------------------ */

inline int shi_inits; /* nested pairs of ishmem_init and ishmem_finalize */

inline void shi_up(void)
{
    if (shi_inits++)
        return;
    ze_driver_handle_t driver = nullptr;
    ze_context_handle_t context = nullptr;
    ze_device_handle_t device = nullptr;
    shi_sycl_native(&driver, &context, &device);
    shmemx_sycl_up(driver, context, device);
    shi_sycl_tell(context, device);
}
inline void ishmem_init(void)
{
    ::shmem_init();
    shi_up();
}
inline int ishmem_init_thread(int requested, int *provided)
{
    int err = ::shmem_init_thread(requested, provided);
    if (!err)
        shi_up();
    return err;
}
inline void ishmem_query_thread(int *provided)
{
    ::shmem_query_thread(provided);
}
inline void ishmem_finalize(void)
{
    shi_inits--;
    ::shmem_finalize();
}
SHI_CALL void *ishmem_malloc(size_t size)
{
    return ::shmemg_malloc(size);
}
SHI_CALL void *ishmem_calloc(size_t count, size_t size)
{
    return ::shmemg_calloc(count, size);
}
SHI_CALL void *ishmem_align(size_t alignment, size_t size)
{
    return ::shmemg_align(alignment, size);
}
SHI_CALL void ishmem_free(void *ptr)
{
    ::shmemg_free(ptr);
}
inline int ishmem_team_split_strided(ishmem_team_t parent_team, int start, int stride, int size, const ishmem_team_config_t *config,
                                     long config_mask, ishmem_team_t *new_team)
{
    ::shmem_team_t team;
    int err = ::shmem_team_split_strided(shi_host_team(parent_team), start, stride, size, config, config_mask, &team);
    *new_team = shi_number(team);
    return err;
}
inline int ishmem_team_split_2d(ishmem_team_t parent_team, int xrange, const ishmem_team_config_t *xaxis_config, long xaxis_mask,
                                ishmem_team_t *xaxis_team, const ishmem_team_config_t *yaxis_config, long yaxis_mask,
                                ishmem_team_t *yaxis_team)
{
    ::shmem_team_t x, y;
    int err = ::shmem_team_split_2d(shi_host_team(parent_team), xrange, xaxis_config, xaxis_mask, &x, yaxis_config, yaxis_mask, &y);
    *xaxis_team = shi_number(x);
    *yaxis_team = shi_number(y);
    return err;
}
inline void ishmem_team_destroy(ishmem_team_t team)
{
    ::shmem_team_destroy(shi_host_team(team));
    if (team > ISHMEM_TEAM_SHARED && team < SHI_TEAMS_)
        shi_teams[team] = SHMEM_TEAM_INVALID;
}

#define shmem_team_t ishmem_team_t /* in the parameters of the table */

/* Complete what kernels that have ended left in progress. */
inline void shi_complete(void)
{
    ::shmemx_device_sync();
}

/* ---- untyped ------------------------------------------------------------------------------------------------------------- */

#define ISHMEM_SYCL_FN_(R, NAME, PARAMS, DEVICE, HOST)                                                                \
    SHI_CALL R NAME PARAMS                                                                                            \
    {                                                                                                                 \
        ISHMEM_EITHER_(return shi_device::DEVICE, return HOST)                                                        \
    }
#define ISHMEM_SYCL_SAME_(R, NAME, PARAMS, ARGS) ISHMEM_SYCL_FN_(R, i##NAME, PARAMS, i##NAME ARGS, ::NAME ARGS)

ISHMEM_SYCL_SAME_(int, shmem_my_pe, (void), ())
ISHMEM_SYCL_SAME_(int, shmem_n_pes, (void), ())
ISHMEM_SYCL_SAME_(void *, shmem_ptr, (const void *dest, int pe), (dest, pe))
ISHMEM_SYCL_SAME_(uint64_t, shmem_signal_fetch, (uint64_t * sig_addr), (sig_addr))
ISHMEM_SYCL_SAME_(uint64_t, shmem_signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value), (sig_addr, cmp, cmp_value))
ISHMEM_SYCL_FN_(void, ishmem_fence, (void), ishmem_fence(), (shi_complete(), ::shmem_fence()))
ISHMEM_SYCL_FN_(void, ishmem_quiet, (void), ishmem_quiet(), (shi_complete(), ::shmem_quiet()))
ISHMEM_SYCL_FN_(void, ishmem_barrier_all, (void), ishmem_barrier_all(), (shi_complete(), ::shmem_barrier_all()))
ISHMEM_SYCL_FN_(void, ishmem_sync_all, (void), ishmem_sync_all(), ::shmem_sync_all())
ISHMEM_SYCL_FN_(int, ishmem_team_sync, (ishmem_team_t team), ishmem_team_sync(shi_kernel_team(team)), ::shmem_team_sync(shi_host_team(team)))
ISHMEM_SYCL_FN_(int, ishmem_team_my_pe, (ishmem_team_t team), ishmem_team_my_pe(shi_kernel_team(team)),
                ::shmem_team_my_pe(shi_host_team(team)))
ISHMEM_SYCL_FN_(int, ishmem_team_n_pes, (ishmem_team_t team), ishmem_team_n_pes(shi_kernel_team(team)),
                ::shmem_team_n_pes(shi_host_team(team)))
ISHMEM_SYCL_FN_(int, ishmem_team_translate_pe, (ishmem_team_t src_team, int src_pe, ishmem_team_t dest_team),
                ishmem_team_translate_pe(shi_kernel_team(src_team), src_pe, shi_kernel_team(dest_team)),
                ::shmem_team_translate_pe(shi_host_team(src_team), src_pe, shi_host_team(dest_team)))
inline int ishmem_team_get_config(ishmem_team_t team, long config_mask, ishmem_team_config_t *config)
{
    ISHMEM_EITHER_(return shi_device::ishmem_team_get_config(shi_kernel_team(team), config_mask,
                                                             (shi_device::ishmem_team_config_t *)config),
                   return ::shmem_team_get_config(shi_host_team(team), config_mask, config))
}
inline void ishmem_info_get_version(int *major, int *minor)
{
    shi_device::ishmem_info_get_version(major, minor);
}
inline void ishmem_info_get_name(char *name)
{
    shi_device::ishmem_info_get_name(name);
}

/* ---- typed --------------------------------------------------------------------------------------------------------------- */

#define ISHMEM_SYCL_C(R, NAME, N, T, PARAMS)                                                                          \
    ISHMEM_SYCL_FN_(R, ishmem_##N##NAME, PARAMS, ishmem_##N##NAME(ISHMEM_ARGS##NAME), ::shmem_##N##NAME(ISHMEM_ARGS##NAME))
/* Collectives: over a team, and over all PEs. */
#define ISHMEM_SYCL_T_(R, NAME, N, H, KEY, PARAMS)                                                                    \
    ISHMEM_SYCL_FN_(R, ishmem##N##NAME, PARAMS, ishmem##N##NAME(shi_kernel_team(team), ISHMEM_ARGS##KEY),             \
                    ::shmem##H##NAME(shi_host_team(team), ISHMEM_ARGS##KEY))                                          \
    ISHMEM_SYCL_FN_(R, ishmem##N##NAME, ISHMEM_WITHOUT_TEAM_ PARAMS, ishmem##N##NAME(ISHMEM_ARGS##KEY),               \
                    ::shmem##H##NAME(shi_host_team(ISHMEM_TEAM_WORLD), ISHMEM_ARGS##KEY))
#define ISHMEM_SYCL_T(R, NAME, N, T, PARAMS) ISHMEM_SYCL_T_(R, NAME, _##N, _##N, NAME, PARAMS)
#define ISHMEM_SYCL_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                             \
    SHMEM_IF_##RMA(SHMEMG_IF_(SHMEMG_HAS_(N))(                                                                        \
        ISHMEM_ONE_SIDED_(ISHMEM_SYCL_C, N, T, AMO, EXT, BIT) ISHMEM_ATOMIC_(ISHMEM_SYCL_C, N, T, AMO, EXT, BIT)      \
        ISHMEM_COLLECTIVE_(ISHMEM_SYCL_T, N, T, AND)))
SHMEM_TYPES(ISHMEM_SYCL_ROW_, )
#define ISHMEM_SYCL_SCHAR(R, NAME, N, T, PARAMS) ISHMEM_SYCL_T_(R, NAME, _schar, _int8, NAME, PARAMS)
SHMEM_API_AND(, ISHMEM_SYCL_SCHAR, schar, signed char)
#define ISHMEM_SYCL_MEM(R, NAME, N, T, PARAMS) ISHMEM_SYCL_T_(R, NAME##mem, , , NAME, PARAMS)
SHMEM_API_BROADCAST(, ISHMEM_SYCL_MEM, , void)
SHMEM_API_GATHER(, ISHMEM_SYCL_MEM, , void)
#define ISHMEM_SYCL_S(R, NAME, KEY, B, PARAMS) ISHMEM_SYCL_SAME_(R, shmem_##NAME, PARAMS, (ISHMEM_ARGS##KEY))
SHMEM_API_SIZED_PUTGET(ISHMEM_SYCL_S)

/* ---- templates: TYPE from the first pointer, or ishmem_put<float>(...) ---------------------------------------------------- */

#define ISHMEM_SYCL_ANY(R, NAME, N, T, PARAMS)                                                                        \
    template <typename TYPE>                                                                                          \
    ISHMEM_SYCL_FN_(R, ishmem##NAME, PARAMS, ishmem##NAME(ISHMEM_ARGS##NAME), ::shmem##NAME(ISHMEM_ARGS##NAME))
#define ISHMEM_SYCL_ANY_T(R, NAME, N, T, PARAMS)                                                                      \
    template <typename TYPE>                                                                                          \
    ISHMEM_SYCL_FN_(R, ishmem##NAME, PARAMS, ishmem##NAME(shi_kernel_team(team), ISHMEM_ARGS##NAME),                  \
                    ::shmem##NAME(shi_host_team(team), ISHMEM_ARGS##NAME))                                            \
    template <typename TYPE>                                                                                          \
    ISHMEM_SYCL_FN_(R, ishmem##NAME, ISHMEM_WITHOUT_TEAM_ PARAMS, ishmem##NAME(ISHMEM_ARGS##NAME),                    \
                    ::shmem##NAME(shi_host_team(ISHMEM_TEAM_WORLD), ISHMEM_ARGS##NAME))
ISHMEM_ONE_SIDED_(ISHMEM_SYCL_ANY, , TYPE, 1, 1, 1)
ISHMEM_ATOMIC_(ISHMEM_SYCL_ANY, , TYPE, 1, 1, 1)
ISHMEM_COLLECTIVE_(ISHMEM_SYCL_ANY_T, , TYPE, 1)

#undef shmem_team_t
}
using namespace ishmem_sycl;

#endif
