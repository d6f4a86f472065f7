/*
 * older.c - entry points besides those of OpenSHMEM 1.6 that Intel SHMEM and others use: handles as symbols, heaps in the
 * caller's memory, and names that routines had before 1.6.
 */
#include "host/api/def.h"

#include <errno.h>
#include <shmemx.h>
#include <stdio.h>
#include <string.h>

#include "host/coll/agree.h"
#include "host/coll/team.h"
#include "host/init/device_heap.h"
#include "host/util/log.h"

/* ---- handles, for dlsym ------------------------------------------------------------------------------------------ */

#define HANDLE(NAME, VALUE)                                                                                          \
    extern const shmem_team_t NAME##_ __asm__(#NAME) __attribute__((visibility("default")));                         \
    const shmem_team_t NAME##_ = VALUE
HANDLE(SHMEM_TEAM_WORLD, SHMEM_TEAM_WORLD);
HANDLE(SHMEM_TEAM_SHARED, SHMEM_TEAM_SHARED);
HANDLE(SHMEMX_TEAM_NODE, SHMEM_TEAM_SHARED);

/* ---- a heap in the caller's memory ------------------------------------------------------------------------------- */

void shmemx_heap_preinit(void)
{
    pshmem_init();
}

int shmemx_heap_preinit_thread(int requested, int *provided)
{
    return pshmem_init_thread(requested, provided);
}

/* The backend and device of the program's CUDA memory; a device that is taken already has to be it. */
static void choose_cuda(int index)
{
    shi_config_device choice = shi_world.config.device;
    if (strcmp(choice.backend, "cuda-cpu"))
        snprintf(choice.backend, sizeof choice.backend, "cuda");
    choice.index = index;
    shi_device_heap_choose(&choice);
}

void shmemx_heap_create(void *base, size_t bytes, int device_type, int device_index)
{
    shi_need_up(__func__);
    if (!base || bytes == 0)
        shi_die(__func__, "base = %p, bytes = %zu: no memory", base, bytes);
    if (device_type != SHMEMX_EXTERNAL_HEAP_ZE && device_type != SHMEMX_EXTERNAL_HEAP_CUDA)
        shi_die(__func__, "device_type = %d is neither SHMEMX_EXTERNAL_HEAP_ZE (%d) nor SHMEMX_EXTERNAL_HEAP_CUDA (%d)", device_type,
                SHMEMX_EXTERNAL_HEAP_ZE, SHMEMX_EXTERNAL_HEAP_CUDA);
    if (device_type == SHMEMX_EXTERNAL_HEAP_CUDA && device_index < 0)
        shi_die(__func__, "device_index = %d: CUDA numbers devices from 0", device_index);
    if (shi_device_heap_adopt(base, bytes))
        shi_die(__func__, "base = %p: there is a device symmetric heap already", base);
    if (device_type == SHMEMX_EXTERNAL_HEAP_CUDA)
        choose_cuda(device_index);
}

void shmemx_heap_postinit(void)
{
    shi_need_up(__func__);
    SHI_AGREE(__func__, &shi_team_world, {0});
    if (shi_device_heap_adopted() && shi_device_heap_up())
        shi_die(__func__, "the memory that shmemx_heap_create was given cannot be shared (pe = %d)", shi_world.pe);
    shi_team_quiet_barrier(__func__, &shi_team_world);
}

/* ---- older names ------------------------------------------------------------------------------------------------- */

#define DO_ibput(N) pshmem_##N##_ibput(dest, source, dst, sst, bsize, nblocks, pe);
#define DO_ibget(N) pshmem_##N##_ibget(dest, source, dst, sst, bsize, nblocks, pe);
#define DO_sum_inscan(N) return pshmem_##N##_sum_inscan(team, dest, source, nelems);
#define DO_sum_exscan(N) return pshmem_##N##_sum_exscan(team, dest, source, nelems);
#define OLDER(R, NAME, N, T, PARAMS)                                                                                  \
    R shmemx_##N##NAME PARAMS                                                                                        \
    {                                                                                                                \
        DO##NAME(N)                                                                                                  \
    }
SHMEM_TYPES(SHMEMX_ROW_, OLDER)
