/*
 * shmemx.h - Fulmar's extensions to OpenSHMEM, and the host's part of the GPU auxiliary draft (shmemg_).
 *
 * All routines here are collective over SHMEM_TEAM_WORLD unless they say otherwise.
 */
#ifndef SHMEMX_H
#define SHMEMX_H
#include "shmem.h"

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

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
