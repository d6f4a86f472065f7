/*
 * gpc_handle.c - handles of functions, callbacks and trees.
 *
 *   word          written by             read by          order
 *   entry.what    the registering PE     its dispatcher   plain, before kind
 *   entry.kind    the same               the same         R1 -> A1; between PEs the barrier orders
 */
#include "host/gpc/gpc_handle.h"

#include <errno.h>
#include <string.h>

#include "host/coll/team.h"
#include "host/util/log.h"

static struct {
    union shi_gpc_entry what;
    int kind;
} entries[SHI_GPC_HANDLES];

static int lowest_free(void)
{
    for (int h = SHI_GPC_FIRST_HANDLE; h < SHI_GPC_HANDLES; h++)
        if (entries[h].kind == SHI_GPC_FREE)
            return h;
    return -ENOSPC;
}

/* Die unless all PEs register or release the same. Not known where one has failed (host/survive). */
static void agree(const char *routine, int kind, int handle)
{
    const int mine[2] = {kind, handle};
    shi_team_exchange(&shi_team_world, mine, sizeof mine);
    for (int i = 0; i < shi_world.n_pes && !shi_team_failed(&shi_team_world); i++) {
        const int *other = shi_team_buffer(&shi_team_world, shi_world.pe, i);
        if (memcmp(other, mine, sizeof mine) != 0)
            shi_die(routine, "PE %d registers or releases something else, handle %d: all PEs do so in the same order", i,
                    other[1]);
    }
}

int shi_gpc_register(const char *routine, enum shi_gpc_kind kind, union shi_gpc_entry entry)
{
    int handle = lowest_free();
    agree(routine, kind, handle);
    if (handle > 0) {
        entries[handle].what = entry;
        __atomic_store_n(&entries[handle].kind, kind, __ATOMIC_RELEASE); /* R1 */
    }
    shi_team_barrier(routine, &shi_team_world); /* no PE calls a function before all have registered it */
    return handle;
}

int shi_gpc_release(const char *routine, int handle)
{
    agree(routine, SHI_GPC_FREE, handle);
    shi_team_barrier(routine, &shi_team_world);
    if (handle < SHI_GPC_FIRST_HANDLE || handle >= SHI_GPC_HANDLES || entries[handle].kind == SHI_GPC_FREE)
        return -EINVAL;
    __atomic_store_n(&entries[handle].kind, SHI_GPC_FREE, __ATOMIC_RELEASE);
    return 0;
}

int shi_gpc_find(int handle, enum shi_gpc_kind kind, union shi_gpc_entry *out)
{
    if (handle < SHI_GPC_FIRST_HANDLE || handle >= SHI_GPC_HANDLES ||
        __atomic_load_n(&entries[handle].kind, __ATOMIC_ACQUIRE) != (int)kind) /* A1 */
        return 0;
    *out = entries[handle].what;
    return 1;
}

void shi_gpc_forget(void)
{
    memset(entries, 0, sizeof entries);
}
