/*
 * shmemx.h - Fulmar's extensions to OpenSHMEM, and the host's part of the GPU auxiliary draft (shmemg_).
 *
 * Allocation is collective over SHMEM_TEAM_WORLD, as in shmem.h.
 */
#ifndef SHMEMX_H
#define SHMEMX_H
#include "shmem.h"
#include "shmemx_tag.h"
#include "shmemx_gpc.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/*
 * The device symmetric heap (GPU auxiliary draft 0.1, memory management): SHMEM_DEVICE_SYMMETRIC_SIZE bytes of each PE's
 * device. Addresses serve in host routines too: put and get always, everything else where the host can load and store
 * the device's memory. NULL for no bytes, or on every PE when there is no room or no device; shmemg_calloc's memory is
 * zero; shmemg_align takes a power of two. All end in a barrier; shmemg_free begins with one.
 */
void *shmemg_malloc(size_t size);
void *shmemg_calloc(size_t count, size_t size);
void *shmemg_align(size_t alignment, size_t size);
void shmemg_free(void *ptr);

/*
 * Device memory of the program's own as the device symmetric heap, instead of shmemg_malloc's: shmemx_heap_preinit or
 * _preinit_thread, which are shmem_init and shmem_init_thread; then shmemx_heap_create on every PE with as many bytes;
 * then shmemx_heap_postinit, which is collective. From there on routines take addresses in it. The memory is the
 * program's to free, after shmem_finalize. device_index is not looked at. Errors end the job.
 */
enum { SHMEMX_EXTERNAL_HEAP_ZE };
void shmemx_heap_preinit(void);
int shmemx_heap_preinit_thread(int requested, int *provided);
void shmemx_heap_create(void *base, size_t bytes, int device_type, int device_index);
void shmemx_heap_postinit(void);

/* Names that other libraries gave routines of 1.6 before it. */
#define SHMEMX_FN_(R, NAME, N, T, PARAMS) R shmemx_##N##NAME PARAMS;
#define SHMEMX_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, ...)                                              \
    SHMEM_IF_##RMA(SHMEM_API_BLOCK(F, , N, T)) SHMEM_IF_##SUM(SHMEM_API_SCAN(, F, N, T))
SHMEM_TYPES(SHMEMX_ROW_, SHMEMX_FN_)

/*
 * The i-th device that SHMEM_DEVICE can name here, as "ze:0 NAME": 0, or -1 past the last. Needs no shmem_init. Only the
 * kinds that one process can use together are told: with a GPU's Level Zero driver there is no cpu.
 */
int shmemx_device_describe(int i, char *text, size_t bytes);

/*
 * Kernels. oshcc compiles .cl files among its arguments to SPIR-V, .cu files to a CUDA fatbin, and registers them with the
 * program; those in a form that the device takes are built for it at the first launch. None of these is collective;
 * shmemg_malloc must have come before the first launch.
 *
 * shmemx_launch starts `groups` work-groups of `items` work-items each, in three dimensions, behind the kernels started
 * before. Argument i is the arg_bytes[i] bytes at args[i]; they are copied. 0, or a negative errno after one line that
 * says why: -ENOENT when there is no such kernel.
 * shmemx_device_sync waits for all kernels and completes all that they started; a PE, address or operator that the
 * device library refused ends the job here. Several threads may launch and wait; each waits for what was launched before.
 * shmemx_kernels_register adds an image of one's own, SPIR-V, a fatbin, a cubin or PTX with a zero byte behind it; it is
 * not copied and must stay.
 */
int shmemx_launch(const char *kernel, const size_t groups[3], const size_t items[3], void *const *args,
                  const size_t *arg_bytes, int n_args);
int shmemx_device_sync(void);
void shmemx_kernels_register(const void *image, size_t bytes);

/*
 * Contexts and teams for kernels, which get them as pointer arguments and take them for shmem_ctx_t and shmem_team_t.
 * None of these is collective; shmemg_malloc must have come before.
 *
 * shmemx_device_ctx is the default context, which shmemg_ routines without one use too.
 * shmemx_device_ctx_create makes one whose PE numbers count in the team, with order and completion of its own: fence and
 * quiet by it concern what was asked by it. With SHMEM_CTX_SERIALIZED or SHMEM_CTX_PRIVATE no two calls by it may
 * overlap, and it costs no atomic operation; a _tg or _htg call is one call. SHMEM_CTX_NOSTORE is accepted. 0, or a
 * negative errno with *ctx = NULL.
 * shmemx_device_ctx_destroy completes what was asked by it; no kernel may use it any more. What is left goes with
 * shmem_finalize.
 * shmemx_device_team is the team for shmemg_team_ routines, good until the team is destroyed, or NULL for
 * SHMEM_TEAM_INVALID. One work-item, or one group by a _tg or _htg call, at a time may sync a team.
 */
void *shmemx_device_ctx(void);
int shmemx_device_ctx_create(shmem_team_t team, long options, void **ctx);
void shmemx_device_ctx_destroy(void *ctx);
void *shmemx_device_team(shmem_team_t team);

/*
 * Calls of the host in order with the kernels of shmemx_launch: each begins when all that was started before has ended,
 * and what is started afterwards waits for it. They run one after the other on a thread of the library's, which may be
 * in them whatever the thread level; a function of the program's own must not use shmemx_launch or these. Arguments are
 * copied, what they point to is not. shmemx_device_sync waits for them. 0, or a negative errno after one line.
 */
int shmemx_host_on_queue(void (*fn)(void *), void *arg);
int shmemx_putmem_on_queue(void *dest, const void *source, size_t nelems, int pe);
int shmemx_getmem_on_queue(void *dest, const void *source, size_t nelems, int pe);
int shmemx_putmem_signal_on_queue(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
                                  int sig_op, int pe);
int shmemx_signal_wait_until_on_queue(uint64_t *sig_addr, int cmp, uint64_t cmp_value);
int shmemx_quiet_on_queue(void);
int shmemx_barrier_all_on_queue(void);
int shmemx_team_sync_on_queue(shmem_team_t team);
int shmemx_broadcastmem_on_queue(shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root);
int shmemx_collectmem_on_queue(shmem_team_t team, void *dest, const void *source, size_t nelems);
int shmemx_fcollectmem_on_queue(shmem_team_t team, void *dest, const void *source, size_t nelems);
int shmemx_alltoallmem_on_queue(shmem_team_t team, void *dest, const void *source, size_t nelems);
#define SHMEMX_ON_QUEUE_(R, NAME, N, T, PARAMS) R shmemx_##N##NAME##_on_queue PARAMS;
#define SHMEMX_REDUCE_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, ...)                                       \
    SHMEM_IF_##AND(SHMEM_API_AND(, F, N, T)) SHMEM_IF_##MAX(SHMEM_API_MAX(, F, N, T))                                 \
    SHMEM_IF_##SUM(SHMEM_API_SUM(, F, N, T))
SHMEM_TYPES(SHMEMX_REDUCE_ROW_, SHMEMX_ON_QUEUE_)

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
