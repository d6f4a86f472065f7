/* tag_request.c - entry points for requests of tagged messages: completion, cancellation, persistent requests. */
#include <stdlib.h>

#include "host/api/tag_calls.h"

/* The arguments of a persistent request. The owner of the request accesses them. */
struct shi_tag_persistent {
    int active;
    int sync; /* of a send */
    shmem_team_t team;
    struct shi_tag_data data;
    uint64_t tag, mask;
    int is_send, pe;
};

struct shmemx_tag_request shi_tag_gone = {.done = SHI_TAG_DONE, .owned = 1, .is_send = 1};

static const shmemx_tag_status_t empty_status = {.source = SHMEMX_TAG_ANY_SOURCE};
static const char no_tag_done[] = "no tagged message has been sent, or has come";

/* Die on a copy of a handle whose request was completed before. Its memory stays, but may serve another message. */
static inline void check_request(const char *routine, const struct shmemx_tag_request *r)
{
    if (shi_unlikely(r && !r->owned))
        shi_die(routine, "request = %p was completed before", (const void *)r);
}

/* There is an operation to complete: the request is neither null nor inactive. */
static inline int is_active(const char *routine, const struct shmemx_tag_request *r)
{
    check_request(routine, r);
    return r && !(r->persistent && !r->persistent->active);
}

/* ---- complete ---------------------------------------------------------------------------------------------------- */

static void get_status(const struct shmemx_tag_request *r, shmemx_tag_status_t *status)
{
    shi_tsan_acquire();
    if (!status)
        return;
    if (!r || (r->persistent && !r->persistent->active))
        *status = empty_status;
    else if (r->is_send)
        *status = (shmemx_tag_status_t){.source = SHMEMX_TAG_ANY_SOURCE, .cancelled = r->done == SHI_TAG_CANCELLED, .failed = shi_tag_failed(r)};
    else
        *status = r->status;
}

/* The request has completed, or is null or inactive. */
static void finish(shmemx_tag_request_t *request, shmemx_tag_status_t *status)
{
    struct shmemx_tag_request *r = *request;
    get_status(r, status);
    if (r && !(r->persistent && !r->persistent->active))
        shi_tag_met(shi_tag_failed(r));
    if (r && r->persistent) {
        r->persistent->active = 0;
        return;
    }
    if (r && r != &shi_tag_gone)
        shi_tag_request_put(r);
    *request = SHMEMX_TAG_REQUEST_NULL;
}

int shmemx_tag_request_get_status(shmemx_tag_request_t request, shmemx_tag_status_t *status)
{
    shi_tag_start(__func__);
    int active = is_active(__func__, request);
    if (active && !shi_tag_is_done(request))
        shi_progress_poll();
    if (active && !shi_tag_is_done(request))
        return shi_wait_tested(0);
    get_status(request, status);
    return 1;
}

int shmemx_tag_test(shmemx_tag_request_t *request, shmemx_tag_status_t *status)
{
    shi_tag_start(__func__);
    int active = is_active(__func__, *request);
    if (active && !shi_tag_is_done(*request))
        shi_progress_poll();
    if (active && !shi_tag_is_done(*request))
        return shi_wait_tested(0);
    finish(request, status);
    return 1;
}

static void wait_one(const char *routine, shmemx_tag_request_t *request, shmemx_tag_status_t *status)
{
    shi_tag_start(routine);
    if (is_active(routine, *request))
        shi_tag_wait_for(routine, *request);
    finish(request, status);
}

void shmemx_tag_wait(shmemx_tag_request_t *request, shmemx_tag_status_t *status)
{
    wait_one(__func__, request, status);
}

/* The first of the requests from `from` on that has completed, or n; *open: one has not. */
static int next_done(const char *routine, int n, shmemx_tag_request_t *requests, int from, int *open)
{
    for (int i = from; i < n; i++) {
        if (!is_active(routine, requests[i]))
            continue;
        if (shi_tag_is_done(requests[i]))
            return i;
        *open = 1;
    }
    return n;
}

/* Complete the first that can be: its index, n for none, -1 if there is none to complete. */
static int finish_any(const char *routine, int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *status)
{
    int open = 0, i = next_done(routine, n, requests, 0, &open);
    if (i < n)
        finish(&requests[i], status);
    else if (!open && status)
        *status = empty_status;
    return i < n || open ? i : -1;
}

int shmemx_tag_test_any(int n, shmemx_tag_request_t *requests, int *index, shmemx_tag_status_t *status)
{
    shi_tag_start(__func__);
    int i = finish_any(__func__, n, requests, status);
    if (i == n && shi_progress_poll())
        i = finish_any(__func__, n, requests, status);
    if (i == n)
        return shi_wait_tested(0);
    *index = i;
    return 1;
}

int shmemx_tag_wait_any(int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *status)
{
    shi_tag_start(__func__);
    struct shi_wait w __attribute__((cleanup(shi_wait_end))) = SHI_WAIT_INIT;
    shi_wait_allow(__func__);
    for (;;) {
        int i = finish_any(__func__, n, requests, status);
        if (i < n)
            return i;
        shi_tag_step(&w);
        SHI_WAIT_REGISTER(&w, .routine = __func__, .kind = SHI_FOR_OTHER, .words = no_tag_done);
    }
}

/* Complete all that can be: how many; -1 if there are none to complete. */
static int finish_some(const char *routine, int n, shmemx_tag_request_t *requests, int *indices,
                       shmemx_tag_status_t *statuses)
{
    int open = 0, count = 0;
    for (int i = 0; (i = next_done(routine, n, requests, i, &open)) < n; i++, count++) {
        indices[count] = i;
        finish(&requests[i], statuses ? &statuses[count] : NULL);
    }
    return count || open ? count : -1;
}

int shmemx_tag_test_some(int n, shmemx_tag_request_t *requests, int *indices, shmemx_tag_status_t *statuses)
{
    shi_tag_start(__func__);
    int count = finish_some(__func__, n, requests, indices, statuses);
    if (count == 0 && shi_progress_poll())
        count = finish_some(__func__, n, requests, indices, statuses);
    return count ? count : shi_wait_tested(0);
}

int shmemx_tag_wait_some(int n, shmemx_tag_request_t *requests, int *indices, shmemx_tag_status_t *statuses)
{
    shi_tag_start(__func__);
    struct shi_wait w __attribute__((cleanup(shi_wait_end))) = SHI_WAIT_INIT;
    shi_wait_allow(__func__);
    for (;;) {
        int count = finish_some(__func__, n, requests, indices, statuses);
        if (count)
            return count > 0 ? count : 0;
        shi_tag_step(&w);
        SHI_WAIT_REGISTER(&w, .routine = __func__, .kind = SHI_FOR_OTHER, .words = no_tag_done);
    }
}

static int are_done(const char *routine, int n, shmemx_tag_request_t *requests)
{
    for (int i = 0; i < n; i++)
        if (is_active(routine, requests[i]) && !shi_tag_is_done(requests[i]))
            return 0;
    return 1;
}

int shmemx_tag_test_all(int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *statuses)
{
    shi_tag_start(__func__);
    if (!are_done(__func__, n, requests) && !(shi_progress_poll() && are_done(__func__, n, requests)))
        return shi_wait_tested(0);
    for (int i = 0; i < n; i++)
        finish(&requests[i], statuses ? &statuses[i] : NULL);
    return 1;
}

void shmemx_tag_wait_all(int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *statuses)
{
    for (int i = 0; i < n; i++)
        wait_one(__func__, &requests[i], statuses ? &statuses[i] : NULL);
}

void shmemx_tag_cancel(shmemx_tag_request_t *request)
{
    shi_tag_start(__func__);
    if (!is_active(__func__, *request) || *request == &shi_tag_gone)
        return;
    if ((*request)->is_send)
        shi_tag_cancel_send(*request);
    else
        shi_tag_cancel(*request);
}

/* ---- persistent requests ----------------------------------------------------------------------------------------- */

static void init(const char *routine, const struct shi_tag_persistent *arguments, shmemx_tag_request_t *request)
{
    struct shmemx_tag_request *r = shi_tag_request_get(routine);
    r->persistent = malloc(sizeof *r->persistent);
    if (!r->persistent)
        shi_die(routine, "out of memory for a persistent request");
    *r->persistent = *arguments;
    *request = r;
}

static void init_send(const char *routine, shmem_team_t team, const struct shi_tag_data *data, uint64_t tag, int pe, int sync,
                      shmemx_tag_request_t *request)
{
    shi_tag_target(routine, team, pe);
    const struct shi_tag_persistent p = {.is_send = 1, .sync = sync, .team = team, .data = *data, .tag = tag, .pe = pe};
    init(routine, &p, request);
}

SHI_TAG_BUFFERS(shmemx_tag_send_init, shmemx_tag_sendv_init, shmem_team_t team, const void,
                (uint64_t tag, int pe, shmemx_tag_request_t *request), init_send(__func__, team, &d, tag, pe, 0, request))
SHI_TAG_BUFFERS(shmemx_tag_ssend_init, shmemx_tag_ssendv_init, shmem_team_t team, const void,
                (uint64_t tag, int pe, shmemx_tag_request_t *request), init_send(__func__, team, &d, tag, pe, 1, request))

static void init_recv(const char *routine, shmem_team_t team, const struct shi_tag_data *data, uint64_t tag, uint64_t mask,
                      int pe, shmemx_tag_request_t *request)
{
    shi_tag_accepts(routine, team, tag, mask, pe);
    const struct shi_tag_persistent p = {.team = team, .data = *data, .tag = tag, .mask = mask, .pe = pe};
    init(routine, &p, request);
}

SHI_TAG_BUFFERS(shmemx_tag_recv_init, shmemx_tag_recvv_init, shmem_team_t team, void, (uint64_t tag, uint64_t mask, int pe, shmemx_tag_request_t *request),
                init_recv(__func__, team, &d, tag, mask, pe, request))

static void start(const char *routine, struct shmemx_tag_request *r)
{
    struct shi_tag_persistent *p = r ? r->persistent : NULL;
    check_request(routine, r);
    if (!p)
        shi_die(routine, "request = %p is not persistent", (const void *)r);
    if (p->active)
        shi_die(routine, "request = %p is active: complete it first", (const void *)r);
    p->active = 1;
    if (p->is_send) {
        const struct shmem_team *t = shi_tag_target(routine, p->team, p->pe);
        shi_tag_init_request(r, 1);
        if (!p->sync && shi_tag_send_now(t, &p->data, p->tag, p->pe))
            r->done = SHI_TAG_DONE;
        else
            shi_tag_send(r, t, &p->data, p->tag, p->pe, p->sync);
    } else {
        const struct shi_tag_params accepted = shi_tag_accepts(routine, p->team, p->tag, p->mask, p->pe);
        shi_tag_init_request(r, 0);
        shi_tag_recv(r, &accepted, &p->data);
    }
}

void shmemx_tag_start(shmemx_tag_request_t *request)
{
    shi_tag_start(__func__);
    start(__func__, *request);
}

void shmemx_tag_start_all(int n, shmemx_tag_request_t *requests)
{
    shi_tag_start(__func__);
    for (int i = 0; i < n; i++)
        start(__func__, requests[i]);
}

void shmemx_tag_request_free(shmemx_tag_request_t *request)
{
    shi_tag_start(__func__);
    struct shmemx_tag_request *r = *request;
    check_request(__func__, r);
    *request = SHMEMX_TAG_REQUEST_NULL;
    if (!r || r == &shi_tag_gone)
        return;
    if (!is_active(__func__, r))
        r->done = SHI_TAG_DONE;
    free(r->persistent);
    r->persistent = NULL;
    shi_tag_request_release(r);
}
