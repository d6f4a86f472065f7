/* compare.cl - the kernels of compare.h for Fulmar: OpenCL C and CUDA C++. */
#include <ishmemx.h>
#include <shmemg.h>
#define KERNEL SHMEMG_KERNEL
#define GLOBAL SHMEMG_GLOBAL
#define GLOBAL_ID shmemg_global_id(0)
#define GROUP shmemg_group_id(0)
#define GROUPS shmemg_num_groups(0)
#define ITEMS shmemg_local_size(0)
#define P shmemg_uint64_p
#define G shmemg_uint64_g
#define PUT shmemg_uint64_put
#define GET shmemg_uint64_get
#define PUT_GROUP shmemg_putmem_tg
#define GET_GROUP shmemg_getmem_tg
#define PUT_SIGNAL shmemg_uint64_put_signal
#define PUT_SIGNAL_NBI shmemg_uint64_put_signal_nbi
#define SIGNAL_SET SHMEM_SIGNAL_SET
#define FETCH_ADD shmemg_uint64_atomic_fetch_add
#define ADD shmemg_uint64_atomic_add
#define FENCE shmemg_fence
#define QUIET shmemg_quiet
#define WAIT(s, v) shmemg_signal_wait_until(s, SHMEM_CMP_GE, v)
#define SYNC_ALL_GROUP shmemg_sync_all_tg
#define BROADCAST_GROUP(d, s, n) ishmemx_uint64_broadcast_work_group(ISHMEM_TEAM_WORLD, d, s, n, 0, SHI_TG)
#define FCOLLECT_GROUP(d, s, n) ishmemx_uint64_fcollect_work_group(ISHMEM_TEAM_WORLD, d, s, n, SHI_TG)
#define ALLTOALL_GROUP(d, s, n) ishmemx_uint64_alltoall_work_group(ISHMEM_TEAM_WORLD, d, s, n, SHI_TG)
#define SUM_GROUP(d, s, n) ishmemx_uint64_sum_reduce_work_group(ISHMEM_TEAM_WORLD, d, s, n, SHI_TG)
#include "compare.h"
