/*
 * wrap_complete.c - completion in parts: of some PEs, of local buffers alone, and by requests (shmemx_complete.h).
 *
 * A request is known by its address and, where the program has copied it, by its contents. One that is not known may be any: then all are complete.
 */
#include <pthread.h>
#include <string.h>

#include "race/clock.h"
#include "race/wrap.h"
#include "race/wrap_nb.h"

/* ---- some PEs ------------------------------------------------------------------------------------------------------------ */

static void complete_at(const char *routine, const void *pc, shmem_ctx_t ctx, const int *pes, size_t npes)
{
    struct race_op all = race_op_begin(routine, pc, ctx, 0);
    uint32_t mark = all.u ? race_stream_mark(all.s) : 0;
    for (size_t i = 0; i < npes && all.u; i++) {
        struct race_op op = race_op_begin(routine, pc, ctx, pes[i]);
        if (op.u)
            race_stream_complete(op.u, op.s->id, mark, op.pe);
    }
}

RACE_WRAP(void, shmem_pe_quiet, (const int *target_pes, size_t npes))
{
    pshmem_pe_quiet(target_pes, npes);
    complete_at(__func__, RACE_CALLER, SHMEM_CTX_DEFAULT, target_pes, npes);
}

RACE_WRAP(void, shmem_ctx_pe_quiet, (shmem_ctx_t ctx, const int *target_pes, size_t npes))
{
    pshmem_ctx_pe_quiet(ctx, target_pes, npes);
    complete_at(__func__, RACE_CALLER, ctx, target_pes, npes);
}

static void fence_at(const char *routine, const void *pc, shmem_ctx_t ctx, const int *pes, size_t npes)
{
    struct race_op all = race_op_begin(routine, pc, ctx, 0);
    uint32_t mark = all.u ? race_stream_mark(all.s) : 0;
    for (size_t i = 0; i < npes && all.u; i++) {
        struct race_op op = race_op_begin(routine, pc, ctx, pes[i]);
        if (op.u)
            __atomic_store_n(&race_pe_fenced[op.s->id >> race_dim.bits][op.pe], mark, __ATOMIC_RELAXED);
    }
}

RACE_WRAP(void, shmemx_pe_fence, (const int *target_pes, size_t npes))
{
    pshmemx_pe_fence(target_pes, npes);
    fence_at(__func__, RACE_CALLER, SHMEM_CTX_DEFAULT, target_pes, npes);
}

RACE_WRAP(void, shmemx_ctx_pe_fence, (shmem_ctx_t ctx, const int *target_pes, size_t npes))
{
    pshmemx_ctx_pe_fence(ctx, target_pes, npes);
    fence_at(__func__, RACE_CALLER, ctx, target_pes, npes);
}

/* ---- local buffers ------------------------------------------------------------------------------------------------------- */

static void flushed(const struct race_op *op)
{
    if (op->u) {
        *race_l(op->u->clock, op->s->id) = race_stream_mark(op->s);
        race_clock_changed(op->u);
    }
}

RACE_WRAP(void, shmemx_flush, (void))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    pshmemx_flush();
    flushed(&op);
}

RACE_WRAP(void, shmemx_ctx_flush, (shmem_ctx_t ctx))
{
    RACE_OP(ctx, 0);
    pshmemx_ctx_flush(ctx);
    flushed(&op);
}

/* ---- requests ------------------------------------------------------------------------------------------------------------ */

enum { REQUESTS = 256 };
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const shmemx_req_t *at; /* NULL: free */
    shmemx_req_t is;
    unsigned stream;
    uint32_t mark;
    int pe; /* -1: all */
} request[REQUESTS];

static void complete(struct race_thread *u, int i)
{
    race_stream_complete(u, request[i].stream, request[i].mark, request[i].pe);
    request[i].at = NULL;
}

static void begin(const struct race_op *op, const shmemx_req_t *req, int pe)
{
    if (!op->u)
        return;
    uint32_t mark = race_stream_mark(op->s);
    int i = 0;
    pthread_mutex_lock(&changing);
    for (int k = 0; k < REQUESTS; k++)
        if (request[k].at == req)
            request[k].at = NULL; /* its handle was dropped */
    while (i < REQUESTS && request[i].at)
        i++;
    if (i < REQUESTS) {
        request[i].at = req, request[i].is = *req;
        request[i].stream = op->s->id, request[i].mark = mark, request[i].pe = pe;
    } else
        race_stream_complete(op->u, op->s->id, mark, pe);
    pthread_mutex_unlock(&changing);
}

static int same(const shmemx_req_t *a, const shmemx_req_t *b)
{
    return a->wait_ == b->wait_ && a->lane_ == b->lane_ && a->pe_ == b->pe_;
}

/* `was`: its contents before the call. */
static void ends(struct race_thread *u, const shmemx_req_t *req, const shmemx_req_t *was)
{
    int found = -1;
    if (race_nb_is(was))
        race_nb_ends(u, was);
    if (!u || race_nb_is(was))
        return;
    pthread_mutex_lock(&changing);
    for (int i = 0; i < REQUESTS && found < 0; i++)
        if (request[i].at == req && same(&request[i].is, was))
            found = i;
    if (found >= 0)
        complete(u, found);
    for (int i = 0; i < REQUESTS && found < 0; i++)
        if (request[i].at && (!was->wait_ || same(&request[i].is, was)))
            complete(u, i);
    pthread_mutex_unlock(&changing);
}

RACE_WRAP(void, shmemx_quiet_nb, (shmemx_req_t * req))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    pshmemx_quiet_nb(req);
    begin(&op, req, -1);
}

RACE_WRAP(void, shmemx_ctx_quiet_nb, (shmem_ctx_t ctx, shmemx_req_t *req))
{
    RACE_OP(ctx, 0);
    pshmemx_ctx_quiet_nb(ctx, req);
    begin(&op, req, -1);
}

RACE_WRAP(void, shmemx_pe_quiet_nb, (int pe, shmemx_req_t *req))
{
    RACE_OP(SHMEM_CTX_DEFAULT, pe);
    pshmemx_pe_quiet_nb(pe, req);
    begin(&op, req, op.pe);
}

RACE_WRAP(void, shmemx_ctx_pe_quiet_nb, (shmem_ctx_t ctx, int pe, shmemx_req_t *req))
{
    RACE_OP(ctx, pe);
    pshmemx_ctx_pe_quiet_nb(ctx, pe, req);
    begin(&op, req, op.pe);
}

RACE_WRAP(int, shmemx_req_test, (shmemx_req_t * req))
{
    shmemx_req_t was = *req;
    int done = pshmemx_req_test(req);
    if (done)
        ends(race_self(), req, &was);
    return done;
}

RACE_WRAP(void, shmemx_req_wait, (shmemx_req_t * req))
{
    shmemx_req_t was = *req;
    pshmemx_req_wait(req);
    ends(race_self(), req, &was);
}
