/* set.c - active sets: teams that their members make alone, at first use; of the deprecated routines, and parents of shmemx_team_create. */
#include "host/coll/team.h"

#include <stdlib.h>

#include "host/ops/amo.h"
#include "host/ops/p2p.h"
#include "host/ops/remote.h"
#include "host/ops/wait.h"
#include "host/util/log.h"

/* The first member takes a slot that no other set has and sends its index through pSync, which keeps its initial value. */
static int agree_on_set(const char *routine, const struct shmem_team *t, long *psync)
{
    if (t->me > 0) {
        long index;
        shi_wait_allow(routine);
        SHI_WAIT_UNTIL((index = __atomic_load_n(psync, __ATOMIC_ACQUIRE)) != SHMEM_SYNC_VALUE, .routine = routine,
                       .kind = SHI_FOR_WORDS, .word = SHI_S64, .cmp = SHMEM_CMP_NE, .addr = psync, .n = 1,
                       .value = (uint64_t)SHMEM_SYNC_VALUE);
        __atomic_store_n(psync, SHMEM_SYNC_VALUE, __ATOMIC_RELAXED);
        return (int)index;
    }
    struct shi_slot *first = shi_team_slot(0, SHI_SLOT_WORLD);
    const struct shi_remote_addr remote = {0, SHI_REGION_SYNC, offsetof(struct shi_slot, sets_used)};
    uint64_t n = first ? __atomic_fetch_add(&first->sets_used, 1, __ATOMIC_RELAXED)
                       : shi_remote_fetch(shi_world.lane, &remote, sizeof first->sets_used, SHI_AMO_ADD, 1, 0);
    if (n >= SHI_SETS)
        shi_die(routine, "more than %d different active sets in one job; use teams", SHI_SETS);
    long index = SHI_SLOTS + (long)n;
    for (int i = 1; i < t->n; i++)
        shi_amo_update(SHI_CTX_DEFAULT, psync, sizeof *psync, shi_team_world_pe(t, i),
                       &(struct shi_amo_call){routine, "pSync", SHI_AMO_SET, (uint64_t)index, 0});
    return (int)index;
}

/* The set with these members, which the calling PE is one of. */
static struct shmem_team *set_like(const char *routine, const struct shmem_team *like, long *psync)
{
    struct shmem_team *t = shi_team_find_set(like);
    if (t)
        return t;
    t = malloc(sizeof *t);
    if (!t)
        shi_die(routine, "out of memory for an active set of %d PEs", like->n);
    *t = *like;
    t->me = shi_team_member(t, shi_world.pe);
    t->index = agree_on_set(routine, t, psync);
    shi_team_fill(routine, t);
    shi_team_list_set(t);
    return t;
}

struct shmem_team *shi_team_of_set(const char *routine, int start, int log_stride, int size, long *psync)
{
    shi_need_up(routine);
    int bad = start < 0 || log_stride < 0 || log_stride > 30 || size < 1;
    if (bad || start + ((int64_t)(size - 1) << log_stride) >= shi_world.n_pes)
        shi_die(routine, "PE_start = %d, logPE_stride = %d, PE_size = %d is not an active set of %d PEs", start, log_stride,
                size, shi_world.n_pes);
    int stride = size > 1 ? 1 << log_stride : 1;
    if (start == 0 && stride == 1 && size == shi_world.n_pes)
        return &shi_team_world;
    const struct shmem_team like = {.start = start, .stride = stride, .n = size};
    if (shi_team_member(&like, shi_world.pe) < 0)
        shi_die(routine, "PE %d is not in the active set PE_start = %d, logPE_stride = %d, PE_size = %d", shi_world.pe,
                start, log_stride, size);
    return set_like(routine, &like, psync);
}

struct shmem_team *shi_team_of_list(const char *routine, const int *list, int n, long *psync)
{
    const struct shmem_team like = shi_team_listed(list, n);
    return set_like(routine, &like, psync);
}
