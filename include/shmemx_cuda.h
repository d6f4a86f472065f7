/*
 * shmemx_cuda.h - Fulmar for programs with their own CUDA modules and streams, of the runtime API or the driver API.
 *
 *   shmem_init();
 *   shmemx_cuda_use(device);                 optional: the device of the program's kernels
 *   data = shmemg_malloc(bytes);
 *   cuModuleLoadData(&module, image);        from sources that include shmemg.h
 *   shmemx_cuda_module_enter(module);
 *   ... launch kernels in any stream, synchronise ...
 *   shmemx_device_sync();                    completes the operations of the kernels, reports their errors
 *   shmemx_cuda_module_leave(module);
 *
 * In a program that oshcc has compiled as CUDA C++ of one source, the launch <<<>>> enters modules itself.
 *
 * The context is the device's primary one, which is that of the runtime API. The routines are not collective. They return 0, or a
 * negative errno after one line that gives the reason; -ENODEV if this PE's device is not one of CUDA.
 */
#ifndef SHMEMX_CUDA_H
#define SHMEMX_CUDA_H

#include "shmemx.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

struct CUmod_st; /* CUmodule points to one */

/*
 * Use the device of this ordinal for this PE's device symmetric heap and kernels, whichever SHMEM_DEVICE selects. Call it before the
 * first shmemg_malloc, else it returns -EBUSY.
 */
int shmemx_cuda_use(int device);

/*
 * Write the default context into a module of this PE's device, so that its kernels may call shmemg_ routines without a context
 * argument. Call it after the first shmemg_malloc. -ENOENT, without a line, for a module without shmemg_ routines; -EALREADY for
 * a module that was already entered. Before the module is unloaded, when none of its kernels runs, call shmemx_cuda_module_leave: it
 * completes the operations of the kernels. With shmem_finalize all modules leave.
 */
int shmemx_cuda_module_enter(struct CUmod_st *module);
int shmemx_cuda_module_leave(struct CUmod_st *module);

/*
 * A positive number while the device symmetric heap is on the CUDA device of this ordinal and modules can be entered: another one
 * after each shmem_init. Else 0.
 */
int shmemx_cuda_session(int device);

/* The address of PE pe's object for kernels of this PE's device, or NULL. */
void *shmemx_cuda_ptr(const void *dest, int pe);

/* The index of a team: kernels find its structure so many structures after that of SHMEM_DEVICE_TEAM_WORLD, once shmemx_device_team has been
 * called for it. -1 for SHMEM_TEAM_INVALID. */
int shmemx_cuda_team_index(shmem_team_t team);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
