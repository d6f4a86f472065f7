/*
 * complete.c - entry points of completion beyond fence and quiet: of sources alone, and as requests.
 *
 * A request is a wait that a lane has numbered: the lane serves its waits in rounds, and remembers the last one that each stream has
 * served, so a request needs no memory here. On a node nothing is left to wait for. With a negative lane it is the number of a nonblocking
 * collective (host/nbc), which ends without the request.
 */
#include "host/api/def.h"

#include <shmemx_complete.h>

#include "host/coll/team.h"
#include "host/nbc/nbc.h"
#include "host/net/node/doorbell.h"
#include "host/net/node/progress.h"
#include "host/ops/caller.h"
#include "host/ops/ctx.h"
#include "host/ops/remote.h"
#include "host/ops/span.h"
#include "host/ops/wait.h"
#include "host/util/log.h"
#include "host/util/tsan.h"

/* The context, or NULL for SHMEM_CTX_INVALID. */
static const struct shmem_ctx *live(const char *routine, shmem_ctx_t ctx)
{
    shi_need_up(routine);
    const struct shmem_ctx *c = ctx == SHMEM_CTX_INVALID ? NULL : shi_ctx_checked(routine, ctx);
    if (c && shi_unlikely(shi_world.check))
        shi_caller_check_ctx(routine, c);
    return c;
}

static void flush(const char *routine, const struct shmem_ctx *c)
{
    if (!c)
        return;
    SHI_SPAN(span, SHI_ORDERS, routine, NULL, SHI_TO_NONE, 0);
    shi_remote_local(c->lane);
}

/* pe: of the context's team, or -1 for all. */
static void begin(const struct shmem_ctx *c, int pe, shmemx_req_t *req)
{
    *req = (shmemx_req_t)SHMEMX_REQ_NULL;
    if (!c)
        return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    shi_doorbell_ring_words();
    int world_pe = pe < 0 ? -1 : shi_team_world_pe(c->team, pe);
    uint64_t wait = 0;
    if (c->lane && !shi_stream_quiet(c->lane, world_pe, &wait))
        *req = (shmemx_req_t){wait, shi_stream_lane_index(c->lane), world_pe};
}

/* The lane of a request that is under way, or NULL. */
static struct shi_lane *lane_of(const char *routine, const shmemx_req_t *req)
{
    shi_need_up(routine);
    struct shi_lane *l = req->wait_ && shi_world.lane && req->lane_ >= 0 ? shi_stream_lane_made(req->lane_) : NULL;
    if (req->wait_ && !l)
        shi_die(routine, "req has no request of this job");
    return l;
}

SHI_DEF(void, shmemx_flush, (void))
{
    flush(__func__, live(__func__, SHMEM_CTX_DEFAULT));
}

SHI_DEF(void, shmemx_ctx_flush, (shmem_ctx_t ctx))
{
    flush(__func__, live(__func__, ctx));
}

SHI_DEF(void, shmemx_quiet_nb, (shmemx_req_t * req))
{
    begin(live(__func__, SHMEM_CTX_DEFAULT), -1, req);
}

SHI_DEF(void, shmemx_ctx_quiet_nb, (shmem_ctx_t ctx, shmemx_req_t *req))
{
    begin(live(__func__, ctx), -1, req);
}

static void begin_pe(const char *routine, const struct shmem_ctx *c, int pe, shmemx_req_t *req)
{
    if (c)
        shi_check_call(routine, c, pe);
    begin(c, pe, req);
}

SHI_DEF(void, shmemx_pe_quiet_nb, (int pe, shmemx_req_t *req))
{
    begin_pe(__func__, live(__func__, SHMEM_CTX_DEFAULT), pe, req);
}

SHI_DEF(void, shmemx_ctx_pe_quiet_nb, (shmem_ctx_t ctx, int pe, shmemx_req_t *req))
{
    begin_pe(__func__, live(__func__, ctx), pe, req);
}

SHI_DEF(int, shmemx_req_test, (shmemx_req_t * req))
{
    if (req->lane_ < 0 && req->wait_) {
        shi_need_up(__func__);
        if (!shi_nbc_is_complete(__func__, req) && (!shi_progress() || !shi_nbc_is_complete(__func__, req)))
            return shi_wait_tested(0);
        shi_tsan_acquire();
        *req = (shmemx_req_t)SHMEMX_REQ_NULL;
        return 1;
    }
    struct shi_lane *l = lane_of(__func__, req);
    if (!l)
        return 1;
    shi_progress();
    if (!shi_stream_quiet(l, req->pe_, &req->wait_))
        return 0;
    *req = (shmemx_req_t)SHMEMX_REQ_NULL;
    return 1;
}

SHI_DEF(void, shmemx_req_wait, (shmemx_req_t * req))
{
    if (req->lane_ < 0 && req->wait_) {
        shi_need_up(__func__);
        SHI_SPAN(span, SHI_WAITS, __func__, NULL, SHI_TO_NONE, 0);
        shi_nbc_wait(__func__, req);
        *req = (shmemx_req_t)SHMEMX_REQ_NULL;
        return;
    }
    struct shi_lane *l = lane_of(__func__, req);
    if (!l)
        return;
    SHI_SPAN(span, SHI_ORDERS, __func__, NULL, SHI_TO_NONE, 0);
    shi_remote_quiet_wait(l, req->pe_, &req->wait_);
    *req = (shmemx_req_t)SHMEMX_REQ_NULL;
}

/* A fence of all costs the network a counter and no message, one for some PEs could cost no less. */
static void pe_fence(const char *routine, const struct shmem_ctx *c, const int *target_pes, size_t npes)
{
    for (size_t i = 0; c && i < npes; i++)
        shi_check_call(routine, c, target_pes[i]);
    if (!c)
        return;
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
    shi_remote_fence(c->lane);
}

SHI_DEF(void, shmemx_pe_fence, (const int *target_pes, size_t npes))
{
    pe_fence(__func__, live(__func__, SHMEM_CTX_DEFAULT), target_pes, npes);
}

SHI_DEF(void, shmemx_ctx_pe_fence, (shmem_ctx_t ctx, const int *target_pes, size_t npes))
{
    pe_fence(__func__, live(__func__, ctx), target_pes, npes);
}
