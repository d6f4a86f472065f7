/* survive.c - entry points of shmemx_survive.h. */
#include "host/survive/survive.h"

#include <shmemx.h>
#include <stdlib.h>

#include "host/api/def.h"
#include "host/net/stream/lost.h"
#include "host/ops/ctx.h"
#include "host/survive/agree.h"
#include "host/survive/failed.h"
#include "host/survive/grow.h"
#include "host/util/cancel.h"
#include "host/util/log.h"
#include "proxy/proxy.h"

static void need(const char *routine)
{
    shi_need_up(routine);
    if (!shi_survive_is_on())
        shi_die(routine, "SHMEM_FAULTS is not continue: start the job with oshrun --survive");
}

SHI_DEF(int, shmemx_failed_pes, (int *pes, int max))
{
    shi_need_up(__func__);
    int n = shi_failed_count();
    for (int i = 0; i < n && i < max; i++)
        pes[i] = shi_failed_nth(i);
    return n;
}

SHI_DEF(int, shmemx_ack_failed, (void))
{
    shi_need_up(__func__);
    int n = shi_failed_ack();
    shi_proxy_tell_failures();
    return n;
}

SHI_DEF(int, shmemx_status, (void))
{
    return shi_survive_status();
}

SHI_DEF(int, shmemx_ctx_status, (shmem_ctx_t ctx))
{
    struct shmem_ctx *c = shi_ctx_checked(__func__, ctx);
    unsigned now = c->lane ? shi_stream_dropped(c->lane) : 0;
    return __atomic_exchange_n(&c->dropped, now, __ATOMIC_RELAXED) == now ? 0 : SHMEMX_ERR_PE_FAILED;
}

SHI_DEF(void, shmemx_wait_team, (shmem_team_t team))
{
    shi_need_up(__func__);
    shi_survive_wait_for(shi_team_of(__func__, "team", team));
}

SHI_DEF(int, shmemx_team_revoke, (shmem_team_t team))
{
    SHI_UNCANCELLED;
    need(__func__);
    struct shmem_team *t = shi_team_of(__func__, "team", team);
    if (!t)
        return -1;
    shi_survive_revoke(t);
    return 0;
}

SHI_DEF(int, shmemx_agree, (shmem_team_t team, uint64_t *value, int *pes, int max))
{
    SHI_UNCANCELLED;
    need(__func__);
    struct shmem_team *t = shi_team_of(__func__, "team", team);
    if (!t)
        return -1;
    struct shi_agree_record r = {.all = {*value}};
    char *dead = malloc((size_t)t->n);
    if (!dead)
        shi_die(__func__, "out of memory for a team of %d PEs", t->n);
    int n = shi_agree_members(__func__, t, &r, dead);
    *value = r.all[0];
    for (int i = 0, k = 0; i < t->n && k < max; i++)
        if (dead[i])
            pes[k++] = i;
    free(dead);
    return n;
}

SHI_DEF(int, shmemx_team_shrink, (shmem_team_t team, shmem_team_t *new_team))
{
    SHI_UNCANCELLED;
    need(__func__);
    struct shmem_team *t = shi_team_of(__func__, "team", team), *living = NULL;
    *new_team = SHMEM_TEAM_INVALID;
    if (!t)
        return -1;
    int err = shi_survive_shrink(__func__, t, &living);
    *new_team = living ? shi_team_handle(living) : SHMEM_TEAM_INVALID;
    return err;
}

SHI_DEF(int, shmemx_is_new, (void))
{
    shi_need_up(__func__);
    return shi_grow_is_new();
}

SHI_DEF(int, shmemx_grow, (long wait_ms, shmem_team_t *new_team))
{
    SHI_UNCANCELLED;
    need(__func__);
    struct shmem_team *t = NULL;
    int n = shi_survive_grow(__func__, wait_ms < 0 ? UINT64_MAX : (uint64_t)wait_ms * 1000000, &t);
    *new_team = t ? shi_team_handle(t) : SHMEM_TEAM_INVALID;
    return t ? n : -1;
}
