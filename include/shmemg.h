/*
 * shmemg.h - OpenSHMEM for GPU kernels: puts, gets, signals, atomics, waiting, ordering and sync, called by the device.
 *
 * Source: OpenSHMEM GPU auxiliary specification, draft 0.1. The names follow it:
 *   shmemg_NAME(...)           on the default context, which the host writes into the module
 *   shmemg_ctx_NAME(ctx, ...)  on a context that is an argument of the kernel; here every routine has this form
 *                              of type shmem_ctx_t; in CUDA C++ that is shmemg_ctx_t, and a team shmemg_team_t, where shmem.h is included, too
 *   NAME_tg, NAME_htg          all work-items of the work-group (_tg) or sub-group (_htg) call together with equal arguments
 *                              and return together
 * Beyond the draft: typed put, get and put_signal; signal_set and signal_add; fetch, set and swap of float and double;
 * team_my_pe, team_n_pes, team_translate_pe. Contexts and teams come from the host, see shmemx_device_ctx_create.
 * Not supported: longdouble_p and _g. OpenCL C has no such type, and CUDA's differs from the host's.
 *
 * dest of a put, source of a get, and the operands of atomics and signals are in the device symmetric heap. With an invalid
 * argument (a PE out of range, another address, an unknown operator, no context) a routine does nothing; the host reports the
 * first such error.
 *
 * The language is OpenCL C 2.0 or CUDA C++. With SHMEMG_HOST_ITEMS defined it is C11, with threads as work-items (for tests).
 * Otherwise this header is empty.
 *
 * A file that compiles as both languages uses these macros in place of keywords and built-ins (oshcc --kernels=spirv,cuda):
 *   SHMEMG_KERNEL void f(...)     a kernel, launched by its name
 *   SHMEMG_GLOBAL, SHMEMG_LOCAL   before the type: memory of the device, of the work-group
 *   shmemg_global_id(d), _local_id, _group_id, _global_size, _local_size, _num_groups   of dimension d, 0 to 2
 *   shmemg_barrier()              barrier of the work-items of a work-group
 *   uint64_t and the like         OpenCL C has no long long, CUDA no ulong
 */
#ifndef SHMEMG_H
#define SHMEMG_H

#if defined(__OPENCL_C_VERSION__) || defined(__CUDACC__) || defined(SHMEMG_HOST_ITEMS) || defined(SHI_SYCL)

#ifdef NVSHMEM_DEVICE_H
#error "A file includes shmemg.h or nvshmem.h: each brings the device library under names of its own"
#endif
#include "shmem_table.h"

/* In CUDA C++ of one source shmem.h has types of these names for the host; these names hold until it is included. */
#if defined(__CUDACC__) && !defined(SHI_NAMESPACE)
#define shmem_ctx_t shmemg_ctx_t
#define shmem_team_t shmemg_team_t
#endif

#if defined(__OPENCL_C_VERSION__)
typedef char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;
#ifndef UINT64_MAX
#define UINT64_MAX ULONG_MAX
#endif
#define SHMEMG_DEVICE
#define SHMEMG_KERNEL __kernel
#define SHMEMG_GLOBAL __global
#define SHMEMG_LOCAL __local
#define shmemg_global_id(d) get_global_id(d)
#define shmemg_local_id(d) get_local_id(d)
#define shmemg_group_id(d) get_group_id(d)
#define shmemg_global_size(d) get_global_size(d)
#define shmemg_local_size(d) get_local_size(d)
#define shmemg_num_groups(d) get_num_groups(d)
#define shmemg_barrier() work_group_barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE)
#define SHMEMG_SPELL_longlong ~, long /* OpenCL C's long long would have 128 bits */
#define SHMEMG_SPELL_ulonglong ~, unsigned long
#elif defined(__CUDACC__)
#include <stddef.h>
#include <stdint.h>
#define SHMEMG_DEVICE __device__
#define SHMEMG_KERNEL extern "C" __global__ __launch_bounds__(1024) /* else groups of 1,024 may lack registers */
#define SHMEMG_GLOBAL
#define SHMEMG_LOCAL __shared__
#define shmemg_dim_(v, d) ((size_t)((d) == 0 ? (v).x : (d) == 1 ? (v).y : (v).z))
#define shmemg_global_id(d) (shmemg_group_id(d) * shmemg_local_size(d) + shmemg_local_id(d))
#define shmemg_local_id(d) shmemg_dim_(threadIdx, d)
#define shmemg_group_id(d) shmemg_dim_(blockIdx, d)
#define shmemg_global_size(d) (shmemg_num_groups(d) * shmemg_local_size(d))
#define shmemg_local_size(d) shmemg_dim_(blockDim, d)
#define shmemg_num_groups(d) shmemg_dim_(gridDim, d)
#define shmemg_barrier() __syncthreads()
#else
#include <stddef.h>
#include <stdint.h>
#define SHMEMG_DEVICE
#endif

#include "device/lib/amo.h"
#include "device/lib/complete.h"
#include "device/lib/gpc.h"
#include "device/lib/many.h"
#include "device/lib/sync.h"
#include "device/lib/tag.h"
#if SHI_RACE /* oshcc --race: calls of the library are reported */
#include "device/lib/race.h"
#define SHMEMG_SIZE_(T) SHI_RACE_SIZE_(T)
#else
#define SHMEMG_SIZE_(T) sizeof(T)
#endif

/* As in shmem.h; test/device/compile.sh compares them. */
#define SHMEM_CMP_EQ 1
#define SHMEM_CMP_NE 2
#define SHMEM_CMP_GT 3
#define SHMEM_CMP_GE 4
#define SHMEM_CMP_LT 5
#define SHMEM_CMP_LE 6
#define SHMEM_SIGNAL_SET 1
#define SHMEM_SIGNAL_ADD 2

#define SHMEM_DEVICE_CTX_DEFAULT SHI_CTX_DEFAULT_
#define SHMEM_DEVICE_TEAM_WORLD shi_team_world(SHMEM_DEVICE_CTX_DEFAULT)
#define SHMEM_DEVICE_TEAM_SHARED shi_team_shared(SHMEM_DEVICE_CTX_DEFAULT)

/* ---- emitters --------------------------------------------------------------------------------------------------- */

#ifndef SHMEMG_API_
#define SHMEMG_API_ SHI_FN /* src/device/lib/bitcode.cu makes functions with C names of them */
#endif

/* Both forms of a routine; the body uses ctx and the parameters. NAME begins with an underscore, so that and, or and
 * xor stay out of the token stream. */
#define SHMEMG_FN0_(R, NAME, ...)                                                                                     \
    SHMEMG_API_ R shmemg_ctx##NAME(shmem_ctx_t ctx)                                                                   \
    {                                                                                                                 \
        __VA_ARGS__;                                                                                                  \
    }                                                                                                                 \
    SHMEMG_API_ R shmemg##NAME(void)                                                                                  \
    {                                                                                                                 \
        shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;                                                                   \
        __VA_ARGS__;                                                                                                  \
    }
#define SHMEMG_FN_(R, NAME, PARAMS, ...)                                                                              \
    SHMEMG_API_ R shmemg_ctx##NAME(shmem_ctx_t ctx, SHMEM_UNWRAP PARAMS)                                              \
    {                                                                                                                 \
        __VA_ARGS__;                                                                                                  \
    }                                                                                                                 \
    SHMEMG_API_ R shmemg##NAME PARAMS                                                                                 \
    {                                                                                                                 \
        shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;                                                                   \
        __VA_ARGS__;                                                                                                  \
    }

/* The same for an extension. */
#define SHMEMG_FN_X_(R, NAME, PARAMS, ...)                                                                            \
    SHMEMG_API_ R shmemxg_ctx_##NAME(shmem_ctx_t ctx, SHMEM_UNWRAP PARAMS)                                            \
    {                                                                                                                 \
        __VA_ARGS__;                                                                                                  \
    }                                                                                                                 \
    SHMEMG_API_ R shmemxg_##NAME PARAMS                                                                               \
    {                                                                                                                 \
        shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;                                                                   \
        __VA_ARGS__;                                                                                                  \
    }

/* E for the work-item, the sub-group and the work-group: suffix and enum shi_group before its other arguments. */
#define SHMEMG_GROUPS_(E, ...)                                                                                        \
    E(, SHI_THREAD, __VA_ARGS__) E(_htg, SHI_HTG, __VA_ARGS__) E(_tg, SHI_TG, __VA_ARGS__)

/* The spelling of the type N here: T, or the dialect's exception. */
#define SHMEMG_SECOND_(A, B, ...) B
#define SHMEMG_SPELL_1_(...) SHMEMG_SECOND_(__VA_ARGS__)
#define SHMEMG_SPELL_(N, T) SHMEMG_SPELL_1_(SHMEMG_SPELL_##N, T, )
/* 1 for a type that the device has. */
#define SHMEMG_LACKS_longdouble ~, 0
#define SHMEMG_HAS_(N) SHMEMG_SPELL_1_(SHMEMG_LACKS_##N, 1, )
#define SHMEMG_IF_1_(BIT) SHMEM_IF_##BIT
#define SHMEMG_IF_(BIT) SHMEMG_IF_1_(BIT)

/* ---- global procedure calls, beyond the draft ------------------------------------------------------------------- */

/*
 * Run func, a handle of shmemx_gpc_register, at PE pe of the context's team; see shmemx_gpc.h. hdr has at most 40 bytes.
 * shmemxg_gpc_exec waits and returns 0, with the reply header in rhdr (device memory), or a negative number; it does not
 * return the reply's size. shmemxg_gpc_exec_nbi does not wait; the next quiet does.
 */
SHMEMG_API_ int shmemxg_ctx_gpc_exec(shmem_ctx_t ctx, int func, int pe, const void *hdr, size_t hlen, void *rhdr, size_t rhlen)
{
    return shi_gpc(ctx, func, pe, hdr, hlen, rhdr, rhlen, 1);
}

SHMEMG_API_ int shmemxg_gpc_exec(int func, int pe, const void *hdr, size_t hlen, void *rhdr, size_t rhlen)
{
    return shmemxg_ctx_gpc_exec(SHMEM_DEVICE_CTX_DEFAULT, func, pe, hdr, hlen, rhdr, rhlen);
}

SHMEMG_API_ void shmemxg_ctx_gpc_exec_nbi(shmem_ctx_t ctx, int func, int pe, const void *hdr, size_t hlen)
{
    shi_gpc(ctx, func, pe, hdr, hlen, 0, 0, 0);
}

SHMEMG_API_ void shmemxg_gpc_exec_nbi(int func, int pe, const void *hdr, size_t hlen)
{
    shmemxg_ctx_gpc_exec_nbi(SHMEM_DEVICE_CTX_DEFAULT, func, pe, hdr, hlen);
}

/*
 * The same along a tree, with this PE as root; see shmemx_gpc_chained_exec. idlst is in the device symmetric heap: idlen PEs of
 * SHMEM_TEAM_WORLD, or NULL: all PEs. hdr has at most 24 bytes. -EIO: *failed, unless failed is NULL, is then the PE that failed
 * (-1 with any other result). A tree function of the program runs on a thread of the library.
 */
#ifndef SHI_GPC_TREES_ /* of shmemx_gpc.h */
#define SHI_GPC_TREES_
enum { SHMEMX_GPC_BINARY = 0, SHMEMX_GPC_BINOMIAL = 1 };
enum { SHMEMX_GPC_NONE = -1 };
#endif
SHMEMG_FN_X_(int, gpc_chained_exec,
             (int func, int callback, const void *hdr, size_t hlen, void *rhdr, size_t rhlen, int idlen, const int *idlst,
              int tree, int *failed),
             return shi_gpc_chained(ctx, func, callback, hdr, hlen, rhdr, rhlen, idlen, idlst, tree, failed, 1))
SHMEMG_FN_X_(void, gpc_chained_exec_nbi,
             (int func, int callback, const void *hdr, size_t hlen, int idlen, const int *idlst, int tree),
             shi_gpc_chained(ctx, func, callback, hdr, hlen, 0, 0, idlen, idlst, tree, 0, 0))

/* ---- tagged messages, beyond the draft -------------------------------------------------------------------------- */

/*
 * Send `bytes` bytes to PE pe of the context's team; its host receives a message of SHMEM_TEAM_WORLD; see shmemx_tag.h. A
 * message of more than 40 bytes must be in the device symmetric heap. tag_send returns when source may be reused;
 * tag_send_nbi does not wait for that; the next quiet does. Messages of one work-item to one PE keep their order.
 */
SHMEMG_FN_X_(void, tag_send, (const void *source, size_t bytes, uint64_t tag, int pe),
             shi_tag_by_ring(ctx, source, bytes, tag, pe, 0))
SHMEMG_FN_X_(void, tag_send_nbi, (const void *source, size_t bytes, uint64_t tag, int pe),
             shi_tag_by_ring(ctx, source, bytes, tag, pe, 1))

/*
 * Receive and probe messages to this PE of SHMEM_TEAM_WORLD, from hosts and kernels; the host's receives match the same
 * messages. The arguments are those of shmemx_tag_recv and the like; pe and status->source are PEs of the context's team
 * (source is -1 for another PE). dest is in the device symmetric heap; status is in any memory, or NULL.
 *
 * tag_recv   return when the message is in dest
 * tag_irecv  return at once with a request, which tag_test or tag_wait of a work-item with this context must complete; the
 *            request is in any memory
 * tag_test   return 1 and the status if the request is complete, or none, else 0
 * tag_wait   return when it is complete
 * tag_iprobe return 1 and the status if there is a message that tag_recv would receive, else 0; the message stays
 * tag_probe  return when there is one
 *
 * Fences and quiet do not wait for receives. A work-item that waits for a message occupies the device: a sender that can run
 * only after it never does.
 */
typedef struct shi_tag_status shmemxg_tag_status_t;
typedef struct shi_tag_receive shmemxg_tag_request_t;
#define SHMEMX_TAG_ANY_SOURCE (-1)
#define SHMEMX_TAG_EXACT UINT64_MAX
SHMEMG_FN_X_(void, tag_recv,
             (void *dest, size_t bytes, uint64_t tag, uint64_t mask, int pe, shmemxg_tag_status_t *status),
             shi_tag_recv(ctx, dest, bytes, tag, mask, pe, status))
SHMEMG_FN_X_(void, tag_irecv,
             (void *dest, size_t bytes, uint64_t tag, uint64_t mask, int pe, shmemxg_tag_request_t *request),
             shi_tag_irecv(ctx, dest, bytes, tag, mask, pe, request))
SHMEMG_FN_X_(int, tag_test, (shmemxg_tag_request_t *request, shmemxg_tag_status_t *status),
             return shi_tag_test(ctx, request, status, 0))
SHMEMG_FN_X_(void, tag_wait, (shmemxg_tag_request_t *request, shmemxg_tag_status_t *status),
             shi_tag_test(ctx, request, status, 1))
SHMEMG_FN_X_(int, tag_iprobe, (uint64_t tag, uint64_t mask, int pe, shmemxg_tag_status_t *status),
             return shi_tag_probe(ctx, tag, mask, pe, status, 0) > 0)
SHMEMG_FN_X_(void, tag_probe, (uint64_t tag, uint64_t mask, int pe, shmemxg_tag_status_t *status),
             shi_tag_probe(ctx, tag, mask, pe, status, 1))

/* ---- query, order, sync ----------------------------------------------------------------------------------------- */

SHMEMG_FN0_(int, _my_pe, return shi_my_pe(ctx))
SHMEMG_FN0_(int, _n_pes, return shi_n_pes(ctx))
SHMEMG_API_ int shmemg_team_my_pe(shmem_team_t team)
{
    return shi_team_my_pe(team);
}
SHMEMG_API_ int shmemg_team_n_pes(shmem_team_t team)
{
    return shi_team_n_pes(team);
}
SHMEMG_API_ int shmemg_team_translate_pe(shmem_team_t src_team, int src_pe, shmem_team_t dest_team)
{
    return shi_team_translate(src_team, src_pe, dest_team);
}
SHMEMG_FN_(void *, _ptr, (const void *dest, int pe), return shi_ptr(ctx, dest, pe))

#define SHMEMG_ORDER_(S, G, ...)                                                                                      \
    SHMEMG_FN0_(void, _fence##S, shi_fence(ctx, G))                                                                   \
    SHMEMG_FN0_(void, _quiet##S, shi_quiet(ctx, G))                                                                   \
    SHMEMG_FN0_(int, _sync_all##S, return shi_sync(ctx, G, shi_team_world(ctx)))                                      \
    SHMEMG_FN_(int, _team_sync##S, (shmem_team_t team), return shi_sync(ctx, G, team))
SHMEMG_GROUPS_(SHMEMG_ORDER_, )

/* For some PEs of the context's team, and local completion, beyond the draft; see shmem_pe_quiet and shmemx_complete.h. pe_quiet does not wait
 * for requests to other PEs where the device accesses these by loads and stores; procedure calls and tagged messages: quiet. */
#define SHMEMG_COMPLETE_(S, G, ...)                                                                                   \
    SHMEMG_FN_(void, _pe_quiet##S, (const int *target_pes, size_t npes), shi_pe_quiet(ctx, G, target_pes, npes))      \
    SHMEMG_FN_X_(void, pe_fence##S, (const int *target_pes, size_t npes), shi_pe_fence(ctx, G, target_pes, npes))     \
    SHMEMG_API_ void shmemxg_ctx_flush##S(shmem_ctx_t ctx)                                                            \
    {                                                                                                                 \
        shi_flush(ctx, G);                                                                                            \
    }                                                                                                                 \
    SHMEMG_API_ void shmemxg_flush##S(void)                                                                           \
    {                                                                                                                 \
        shi_flush(SHMEM_DEVICE_CTX_DEFAULT, G);                                                                       \
    }
SHMEMG_GROUPS_(SHMEMG_COMPLETE_, )

/* ---- memory and signals ----------------------------------------------------------------------------------------- */

/* N is `_put` and the like with its type or `mem`: P put, Q get, names; B bytes an element. */
#define SHMEMG_RMA_(S, G, N, P, Q, D, B)                                                                              \
    SHMEMG_FN_(void, N##P##S, (D * dest, const D *source, size_t nelems, int pe),                                     \
               shi_put(ctx, G, dest, source, nelems * (B), pe, 0))                                                    \
    SHMEMG_FN_(void, N##P##_nbi##S, (D * dest, const D *source, size_t nelems, int pe),                               \
               shi_put(ctx, G, dest, source, nelems * (B), pe, 1))                                                    \
    SHMEMG_FN_(void, N##Q##S, (D * dest, const D *source, size_t nelems, int pe),                                     \
               shi_get(ctx, G, dest, source, nelems * (B), pe, 0))                                                    \
    SHMEMG_FN_(void, N##Q##_nbi##S, (D * dest, const D *source, size_t nelems, int pe),                               \
               shi_get(ctx, G, dest, source, nelems * (B), pe, 1))                                                    \
    SHMEMG_FN_(void, N##P##_signal##S,                                                                                \
               (D * dest, const D *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe),   \
               shi_put_signal(ctx, G, dest, source, nelems * (B), sig_addr, signal, sig_op, pe, 0))                   \
    SHMEMG_FN_(void, N##P##_signal_nbi##S,                                                                            \
               (D * dest, const D *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe),   \
               shi_put_signal(ctx, G, dest, source, nelems * (B), sig_addr, signal, sig_op, pe, 1))
SHMEMG_GROUPS_(SHMEMG_RMA_, , _putmem, _getmem, void, 1)

SHMEMG_FN_(uint64_t, _signal_fetch, (const uint64_t *sig_addr), return shi_signal_fetch(ctx, sig_addr))
SHMEMG_FN_(void, _signal_set, (uint64_t *sig_addr, uint64_t signal, int pe),
           shi_put_signal(ctx, SHI_THREAD, sig_addr, sig_addr, 0, sig_addr, signal, SHI_SIGNAL_SET, pe, 1))
SHMEMG_FN_(void, _signal_add, (uint64_t *sig_addr, uint64_t signal, int pe),
           shi_put_signal(ctx, SHI_THREAD, sig_addr, sig_addr, 0, sig_addr, signal, SHI_SIGNAL_ADD, pe, 1))
#define SHMEMG_SIGNAL_WAIT_(S, G, ...)                                                                                \
    SHMEMG_FN_(uint64_t, _signal_wait_until##S, (uint64_t *sig_addr, int cmp, uint64_t cmp_value),                    \
               return shi_wait_until(ctx, G, sig_addr, 8, 0, cmp, cmp_value))
SHMEMG_GROUPS_(SHMEMG_SIGNAL_WAIT_, )

/* Several signals, and counted ones, beyond the draft; see shmemx_signal.h. One work-item of a group writes indices and values. */
#define SHMEMG_SIGNAL_FNS_(S, G, V, VALUE, ONE, EACH)                                                                 \
    SHMEMG_FN_X_(void, signal_wait_until_all##V##S,                                                                   \
                 (uint64_t * sig_addrs, size_t nelems, const int *status, int cmp, VALUE, uint64_t *values),          \
                 shi_many(ctx, G, 1, SHI_MANY_ALL, sig_addrs, 8, 0, nelems, 0, status, cmp, ONE, EACH, values))       \
    SHMEMG_FN_X_(size_t, signal_wait_until_any##V##S,                                                                 \
                 (uint64_t * sig_addrs, size_t nelems, const int *status, int cmp, VALUE, uint64_t *values),          \
                 return shi_many(ctx, G, 1, SHI_MANY_ANY, sig_addrs, 8, 0, nelems, 0, status, cmp, ONE, EACH, values)) \
    SHMEMG_FN_X_(size_t, signal_wait_until_some##V##S,                                                                \
                 (uint64_t * sig_addrs, size_t nelems, size_t *indices, const int *status, int cmp, VALUE, uint64_t *values), \
                 return shi_many(ctx, G, 1, SHI_MANY_SOME, sig_addrs, 8, 0, nelems, indices, status, cmp, ONE, EACH, values))
#define SHMEMG_SIGNALS_(S, G, ...)                                                                                    \
    SHMEMG_SIGNAL_FNS_(S, G, , uint64_t cmp_value, cmp_value, 0)                                                      \
    SHMEMG_SIGNAL_FNS_(S, G, _vector, const uint64_t *cmp_values, 0, cmp_values)                                      \
    SHMEMG_FN_X_(uint64_t, signal_wait_count##S, (uint64_t * sig_addr, uint64_t n), return shi_wait_count(ctx, G, sig_addr, n)) \
    SHMEMG_FN_X_(int, signal_test_count##S, (uint64_t * sig_addr, uint64_t n), return shi_test_count(ctx, G, sig_addr, n))
SHMEMG_GROUPS_(SHMEMG_SIGNALS_, )

/* ---- typed routines --------------------------------------------------------------------------------------------- */

/* A value as bits and back. */
#define SHMEMG_BITS_(N, T)                                                                                            \
    SHI_FN shi_u64 shmemg_bits_##N##_(T value)                                                                        \
    {                                                                                                                 \
        union {                                                                                                       \
            T value;                                                                                                  \
            shi_u64 bits;                                                                                             \
        } u;                                                                                                          \
        u.bits = 0;                                                                                                   \
        u.value = value;                                                                                              \
        return u.bits;                                                                                                \
    }                                                                                                                 \
    SHI_FN T shmemg_value_##N##_(shi_u64 bits)                                                                        \
    {                                                                                                                 \
        union {                                                                                                       \
            T value;                                                                                                  \
            shi_u64 bits;                                                                                             \
        } u;                                                                                                          \
        u.bits = bits;                                                                                                \
        return u.value;                                                                                               \
    }

#define SHMEMG_TYPED_RMA_(N, T)                                                                                       \
    SHMEMG_BITS_(N, T)                                                                                                \
    SHMEMG_FN_(void, _##N##_p, (T * dest, T value, int pe),                                                           \
               shi_p(ctx, dest, shmemg_bits_##N##_(value), sizeof(T), pe))                                            \
    SHMEMG_FN_(T, _##N##_g, (const T *source, int pe),                                                                \
               return shmemg_value_##N##_(shi_g(ctx, source, sizeof(T), pe)))                                         \
    SHMEMG_GROUPS_(SHMEMG_RMA_, _##N, _put, _get, T, sizeof(T))

/* An operation on dest: without fetch, with fetch, with nonblocking fetch. V: the operand, C: the condition, O:
 * what the draft calls the object, of type D. */
#define SHMEMG_AMO_(N, T, NAME, OP, PARAMS, V)                                                                        \
    SHMEMG_FN_(void, _##N##_atomic##NAME, (T * dest, SHMEM_UNWRAP PARAMS int pe),                                     \
               shi_amo(ctx, OP, dest, SHMEMG_SIZE_(T), V, 0, pe, SHI_RESULT_NONE))
#define SHMEMG_AMO_FETCH_(N, T, NAME, OP, D, O, PARAMS, V, C)                                                         \
    SHMEMG_FN_(T, _##N##_atomic##NAME, (D * O, SHMEM_UNWRAP PARAMS int pe),                                           \
               return shmemg_value_##N##_(shi_amo(ctx, OP, O, SHMEMG_SIZE_(T), V, C, pe, SHI_RESULT_SLOT)))                 \
    SHMEMG_FN_(void, _##N##_atomic##NAME##_nbi, (T * fetch, D * O, SHMEM_UNWRAP PARAMS int pe),                       \
               shi_amo_nbi(ctx, OP, fetch, O, SHMEMG_SIZE_(T), V, C, pe))
#define SHMEMG_VALUE_(N) shmemg_bits_##N##_(value)

#define SHMEMG_TYPED_EXT_(N, T)                                                                                       \
    SHMEMG_AMO_(N, T, _set, SHI_AMO_SET, (T value, ), SHMEMG_VALUE_(N))                                               \
    SHMEMG_AMO_FETCH_(N, T, _fetch, SHI_AMO_FETCH, const T, source, (), 0, 0)                                         \
    SHMEMG_AMO_FETCH_(N, T, _swap, SHI_AMO_SWAP, T, dest, (T value, ), SHMEMG_VALUE_(N), 0)

#define SHMEMG_BITWISE_(N, T, NAME, OP)                                                                               \
    SHMEMG_AMO_(N, T, NAME, OP, (T value, ), SHMEMG_VALUE_(N))                                                        \
    SHMEMG_AMO_FETCH_(N, T, _fetch##NAME, OP, T, dest, (T value, ), SHMEMG_VALUE_(N), 0)

#define SHMEMG_WAIT_(S, G, N, T)                                                                                      \
    SHMEMG_FN_(void, _##N##_wait_until##S, (T * ivar, int cmp, T cmp_value),                                          \
               shi_wait_until(ctx, G, ivar, sizeof(T), (T)-1 < (T)1, cmp, shmemg_bits_##N##_(cmp_value)))             \
    SHMEMG_FN_(int, _##N##_test##S, (T * ivar, int cmp, T cmp_value),                                                 \
               return shi_test(ctx, G, ivar, sizeof(T), (T)-1 < (T)1, cmp, shmemg_bits_##N##_(cmp_value)))

/* The types of column AMO have all atomics and all waits. */
#define SHMEMG_TYPED_AMO_(N, T)                                                                                       \
    SHMEMG_AMO_(N, T, _inc, SHI_AMO_ADD, (), 1)                                                                       \
    SHMEMG_AMO_FETCH_(N, T, _fetch_inc, SHI_AMO_ADD, T, dest, (), 1, 0)                                               \
    SHMEMG_AMO_FETCH_(N, T, _compare_swap, SHI_AMO_CSWAP, T, dest, (T cond, T value, ), SHMEMG_VALUE_(N),             \
                      shmemg_bits_##N##_(cond))                                                                       \
    SHMEMG_BITWISE_(N, T, _add, SHI_AMO_ADD)                                                                          \
    SHMEMG_BITWISE_(N, T, _and, SHI_AMO_AND)                                                                          \
    SHMEMG_BITWISE_(N, T, _or, SHI_AMO_OR)                                                                            \
    SHMEMG_BITWISE_(N, T, _xor, SHI_AMO_XOR)                                                                          \
    SHMEMG_GROUPS_(SHMEMG_WAIT_, N, T)

#define SHMEMG_ROW_(F, N, T, RMA, AMO, EXT, ...)                                                                      \
    SHMEMG_IF_(SHMEMG_HAS_(N))(SHMEM_IF_##RMA(SHMEMG_TYPED_RMA_(N, SHMEMG_SPELL_(N, T)))                              \
                               SHMEM_IF_##EXT(SHMEMG_TYPED_EXT_(N, SHMEMG_SPELL_(N, T)))                              \
                               SHMEM_IF_##AMO(SHMEMG_TYPED_AMO_(N, SHMEMG_SPELL_(N, T))))
SHMEM_TYPES(SHMEMG_ROW_, )

/* Additions to float and double, beyond the draft; see shmemx_amo.h. */
#define SHMEMG_FLOAT_(N, T)                                                                                           \
    SHMEMG_FN_X_(void, N##_atomic_add, (T * dest, T value, int pe),                                                   \
                 shi_amo_fadd(ctx, dest, sizeof(T), SHMEMG_VALUE_(N), pe, SHI_RESULT_NONE))                           \
    SHMEMG_FN_X_(T, N##_atomic_fetch_add, (T * dest, T value, int pe),                                                \
                 return shmemg_value_##N##_(shi_amo_fadd(ctx, dest, sizeof(T), SHMEMG_VALUE_(N), pe, SHI_RESULT_SLOT))) \
    SHMEMG_FN_X_(void, N##_atomic_fetch_add_nbi, (T * fetch, T * dest, T value, int pe),                              \
                 shi_amo_fadd_nbi(ctx, fetch, dest, sizeof(T), SHMEMG_VALUE_(N), pe))
SHMEMG_FLOAT_(float, float)
SHMEMG_FLOAT_(double, double)

#ifdef SHMEM_H
#undef shmem_ctx_t
#undef shmem_team_t
#endif
#endif
#endif
