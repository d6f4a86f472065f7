/*
 * shmemx.h - Fulmar's extensions to OpenSHMEM, and the host's part of the GPU auxiliary draft (shmemg_).
 *
 * Allocation is collective over SHMEM_TEAM_WORLD, as in shmem.h.
 */
#ifndef SHMEMX_H
#define SHMEMX_H
#include "shmem.h"
#include "shmemx_amo.h"
#include "shmemx_coll.h"
#include "shmemx_complete.h"
#include "shmemx_signal.h"
#include "shmemx_tag.h"
#include "shmemx_gpc.h"
#include "shmemx_memory.h"
#include "shmemx_survive.h"
#include "shmemx_team.h"
#include "shmemx_uniqueid.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/*
 * The device symmetric heap (GPU auxiliary draft 0.1, memory management): SHMEM_DEVICE_SYMMETRIC_SIZE bytes of each PE's
 * device. Host put and get always accept its addresses, other host routines only if the host can load and store the device's
 * memory. The result is NULL for 0 bytes, or on every PE if there is no space or no device. shmemg_calloc sets the memory to
 * zero; the alignment of shmemg_align is a power of two. All end with a barrier; shmemg_free also begins with one.
 */
void *shmemg_malloc(size_t size);
void *shmemg_calloc(size_t count, size_t size);
void *shmemg_align(size_t alignment, size_t size);
void shmemg_free(void *ptr);

/*
 * Use the program's device memory as the device symmetric heap, in place of shmemg_malloc's. Call shmemx_heap_preinit or
 * _preinit_thread, which are shmem_init and shmem_init_thread; then shmemx_heap_create on every PE with the same number of
 * bytes; then shmemx_heap_postinit, which is collective. Afterwards addresses in this memory are symmetric. The program frees
 * the memory after shmem_finalize. device_index: of CUDA, the device that has the memory; else ignored. Errors end the job.
 */
enum { SHMEMX_EXTERNAL_HEAP_ZE, SHMEMX_EXTERNAL_HEAP_CUDA };
void shmemx_heap_preinit(void);
int shmemx_heap_preinit_thread(int requested, int *provided);
void shmemx_heap_create(void *base, size_t bytes, int device_type, int device_index);
void shmemx_heap_postinit(void);

/* Names that other libraries used for routines of OpenSHMEM 1.6 before it was published. */
#define SHMEMX_FN_(R, NAME, N, T, PARAMS) R shmemx_##N##NAME PARAMS;
#define SHMEMX_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, ...)                                              \
    SHMEM_IF_##RMA(SHMEM_API_BLOCK(F, , N, T)) SHMEM_IF_##SUM(SHMEM_API_SCAN(, F, N, T))
SHMEM_TYPES(SHMEMX_ROW_, SHMEMX_FN_)

/*
 * From now on for ns nanoseconds, shmem_wait_until* and shmem_signal_wait_until of the calling thread wait; then they return, and those that
 * follow return, too, whether their condition holds or not: _any with SIZE_MAX, _some with 0. ns = 0: they wait without a limit again. For
 * programs that have to look at other events, such as signals, during a wait.
 */
void shmemx_wait_limit(uint64_t ns);

/*
 * Describe the i-th device that SHMEM_DEVICE can select, as "ze:0 NAME": 0, or -1 if there is none. May be called before
 * shmem_init. Lists only backends that one process can use together: with the Level Zero driver of a GPU there is no cpu.
 */
int shmemx_device_describe(int i, char *text, size_t bytes);

/*
 * Kernels. oshcc compiles .cl files among its arguments to SPIR-V and .cu files to a CUDA fatbin, and links them into the
 * program; the first launch builds those in a format that the device accepts. These routines are not collective; call
 * shmemg_malloc before the first launch.
 *
 * shmemx_launch enqueues a kernel of `groups` work-groups of `items` work-items each, in three dimensions; kernels run in the
 * order of their launches. Argument i is a copy of the arg_bytes[i] bytes at args[i]. 0, or a negative errno after one line
 * that gives the reason: -ENOENT if there is no such kernel.
 * shmemx_device_sync waits for all kernels and completes their operations; if a kernel passed an invalid PE, address or
 * operator to a routine, it ends the job. Several threads may launch and wait; each waits for all earlier launches.
 * shmemx_kernels_register adds an image: SPIR-V, a fatbin, a cubin, or PTX followed by a zero byte. The library does not copy
 * the image, which must remain in memory.
 */
int shmemx_launch(const char *kernel, const size_t groups[3], const size_t items[3], void *const *args,
                  const size_t *arg_bytes, int n_args);
int shmemx_device_sync(void);
void shmemx_kernels_register(const void *image, size_t bytes);

/*
 * Contexts and teams for kernels. The host passes them as pointer arguments; kernels use them as shmem_ctx_t and
 * shmem_team_t. These routines are not collective; call shmemg_malloc before them.
 *
 * shmemx_device_ctx returns the default context, which is also that of shmemg_ routines without a context argument.
 * shmemx_device_ctx_create creates a context with the PE numbers of the team and separate ordering and completion: fence and
 * quiet on it apply to operations on it. With SHMEM_CTX_SERIALIZED or SHMEM_CTX_PRIVATE, calls on the context must not
 * overlap (a _tg or _htg call is one call) and need no atomic operation. SHMEM_CTX_NOSTORE is accepted. 0, or a negative
 * errno with *ctx = NULL.
 * shmemx_device_ctx_destroy completes the operations on the context; kernels must not use it afterwards. shmem_finalize
 * destroys the remaining contexts.
 * shmemx_device_team returns the handle for shmemg_team_ routines, valid until the team is destroyed, or NULL for
 * SHMEM_TEAM_INVALID. Only one work-item, or one group in a _tg or _htg call, at a time may sync on a team.
 */
void *shmemx_device_ctx(void);
int shmemx_device_ctx_create(shmem_team_t team, long options, void **ctx);
void shmemx_device_ctx_destroy(void *ctx);
void *shmemx_device_team(shmem_team_t team);

/*
 * Host calls in the queue of the kernels of shmemx_launch: a call begins when all earlier kernels and calls have ended, and
 * later ones begin after it. A library thread makes the calls one after the other; this is allowed at every thread level. The
 * function of shmemx_host_on_queue must not call shmemx_launch, shmemx_device_sync or these routines. Arguments are copied, the
 * memory to which they point is not. shmemx_device_sync waits for the calls. 0, or a negative errno after one line.
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
