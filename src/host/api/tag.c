/* tag.c - entry points of tagged messages. */
#include <shmemx.h>

#include "host/net/progress.h"
#include "host/ops/wait.h"
#include "host/tag/tag.h"
#include "host/util/log.h"

/* ---- arguments --------------------------------------------------------------------------------------------------- */

static const struct shmem_team *team_of(const char *routine, shmem_team_t team)
{
    shi_tag_start(routine);
    const struct shmem_team *t = shi_team_of(routine, "team", team);
    if (shi_unlikely(!t))
        shi_die(routine, "team is SHMEM_TEAM_INVALID");
    return t;
}

static struct shi_tag_data one(const char *routine, const void *base, size_t bytes)
{
    if (shi_unlikely(!base && bytes))
        shi_die(routine, "the buffer of %zu bytes is NULL", bytes);
    return (struct shi_tag_data){.one = {(void *)base, bytes}, .n = 1, .bytes = bytes};
}

static struct shi_tag_data many(const char *routine, const shmemx_tag_iov_t *iov, int n)
{
    size_t sum = 0;
    if (n < 0 || (n && !iov))
        shi_die(routine, "n = %d pieces at %p", n, (const void *)iov);
    for (int i = 0; i < n; i++) {
        if (!iov[i].base && iov[i].bytes)
            shi_die(routine, "piece %d of %zu bytes is NULL", i, iov[i].bytes);
        if (__builtin_add_overflow(sum, iov[i].bytes, &sum))
            shi_die(routine, "the lengths of %d pieces overflow", n);
    }
    return (struct shi_tag_data){.iov = n ? iov : NULL, .n = n, .bytes = sum};
}

static struct shi_tag_params params(const char *routine, shmem_team_t team, uint64_t tag, uint64_t mask, int pe)
{
    const struct shmem_team *t = team_of(routine, team);
    if (shi_unlikely((unsigned)pe >= (unsigned)t->n && pe != SHMEMX_TAG_ANY_SOURCE))
        shi_die(routine, "pe = %d: neither a PE of the team, which has PEs 0 to %d, nor SHMEMX_TAG_ANY_SOURCE", pe,
                t->n - 1);
    return (struct shi_tag_params){.key = {.tag = tag, .mask = mask, .team = t->number, .source = pe},
                                   .pe = pe == SHMEMX_TAG_ANY_SOURCE ? SHI_MATCH_ANY : shi_team_world_pe(t, pe)};
}

/* ---- waiting ----------------------------------------------------------------------------------------------------- */

static const char no_tag_done[] = "no tagged message has been sent, or has come";

enum { POLLS = 64 }; /* back to back, before a wait step, which checks for an abort and may yield */

static void step(struct shi_wait *w)
{
    if (w->polls++ < POLLS && shi_progress_poll())
        shi_wait_anew(w);
    else if (w->polls > POLLS)
        shi_wait_slow(w);
}

static void wait_for(const char *routine, const struct shmemx_tag_request *r)
{
    shi_wait_allow(routine);
    SHI_WAIT_LOOP(step, shi_tag_is_done(r), .routine = routine, .kind = SHI_FOR_OTHER,
                  .words = "a tagged message has not been sent, or has not come");
}

/* ---- send -------------------------------------------------------------------------------------------------------- */

static struct shmemx_tag_request gone = {.done = 1, .owned = 1, .is_send = 1}; /* of sends that completed at once */

/* The team, if the message needs a request; NULL when it is sent. */
static const struct shmem_team *try_send(const char *routine, shmem_team_t team, const struct shi_tag_data *data,
                                         uint64_t tag, int pe, int sync)
{
    const struct shmem_team *t = team_of(routine, team);
    if (shi_unlikely((unsigned)pe >= (unsigned)t->n))
        shi_die(routine, "pe = %d: not a PE of the team, which has PEs 0 to %d", pe, t->n - 1);
    return !sync && shi_tag_send_now(t, data, tag, pe) ? NULL : t;
}

static void init_request(struct shmemx_tag_request *r, int is_send)
{
    r->done = 0;
    r->posted = 0;
    r->is_send = is_send;
}

static void start_send(struct shmemx_tag_request *r, const struct shmem_team *t, const struct shi_tag_data *data,
                       uint64_t tag, int pe, int sync)
{
    init_request(r, 1);
    shi_tag_send(r, t, data, tag, pe, sync);
}

static void send_and_wait(const char *routine, shmem_team_t team, const struct shi_tag_data *data, uint64_t tag, int pe,
                          int sync)
{
    struct shmemx_tag_request r;
    const struct shmem_team *t = try_send(routine, team, data, tag, pe, sync);
    if (!t)
        return;
    start_send(&r, t, data, tag, pe, sync);
    wait_for(routine, &r);
}

static void send_later(const char *routine, shmem_team_t team, const struct shi_tag_data *data, uint64_t tag, int pe,
                       int sync, shmemx_tag_request_t *request)
{
    const struct shmem_team *t = try_send(routine, team, data, tag, pe, sync);
    struct shmemx_tag_request *r = t ? shi_tag_request_get(routine) : &gone;
    if (t)
        start_send(r, t, data, tag, pe, sync);
    *request = r;
}

void shmemx_tag_send(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe)
{
    const struct shi_tag_data d = one(__func__, source, bytes);
    send_and_wait(__func__, team, &d, tag, pe, 0);
}

void shmemx_tag_ssend(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe)
{
    const struct shi_tag_data d = one(__func__, source, bytes);
    send_and_wait(__func__, team, &d, tag, pe, 1);
}

void shmemx_tag_sendv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe)
{
    const struct shi_tag_data d = many(__func__, iov, n);
    send_and_wait(__func__, team, &d, tag, pe, 0);
}

void shmemx_tag_isend(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe,
                      shmemx_tag_request_t *request)
{
    const struct shi_tag_data d = one(__func__, source, bytes);
    send_later(__func__, team, &d, tag, pe, 0, request);
}

void shmemx_tag_issend(shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe,
                       shmemx_tag_request_t *request)
{
    const struct shi_tag_data d = one(__func__, source, bytes);
    send_later(__func__, team, &d, tag, pe, 1, request);
}

void shmemx_tag_isendv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe,
                       shmemx_tag_request_t *request)
{
    const struct shi_tag_data d = many(__func__, iov, n);
    send_later(__func__, team, &d, tag, pe, 0, request);
}

/* ---- receive ----------------------------------------------------------------------------------------------------- */

static void recv_and_wait(const char *routine, const struct shi_tag_params *w, const struct shi_tag_data *data,
                          shmemx_tag_status_t *status)
{
    struct shmemx_tag_request r;
    init_request(&r, 0);
    shi_tag_recv(&r, w, data);
    wait_for(routine, &r);
    if (status)
        *status = r.status;
}

static void recv_later(const char *routine, const struct shi_tag_params *w, const struct shi_tag_data *data,
                       shmemx_tag_request_t *request)
{
    struct shmemx_tag_request *r = shi_tag_request_get(routine);
    init_request(r, 0);
    shi_tag_recv(r, w, data);
    *request = r;
}

void shmemx_tag_recv(shmem_team_t team, void *dest, size_t bytes, uint64_t tag, uint64_t mask, int pe,
                     shmemx_tag_status_t *status)
{
    const struct shi_tag_params w = params(__func__, team, tag, mask, pe);
    const struct shi_tag_data d = one(__func__, dest, bytes);
    recv_and_wait(__func__, &w, &d, status);
}

void shmemx_tag_recvv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, uint64_t mask, int pe,
                      shmemx_tag_status_t *status)
{
    const struct shi_tag_params w = params(__func__, team, tag, mask, pe);
    const struct shi_tag_data d = many(__func__, iov, n);
    recv_and_wait(__func__, &w, &d, status);
}

void shmemx_tag_irecv(shmem_team_t team, void *dest, size_t bytes, uint64_t tag, uint64_t mask, int pe,
                      shmemx_tag_request_t *request)
{
    const struct shi_tag_params w = params(__func__, team, tag, mask, pe);
    const struct shi_tag_data d = one(__func__, dest, bytes);
    recv_later(__func__, &w, &d, request);
}

void shmemx_tag_irecvv(shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, uint64_t mask, int pe,
                       shmemx_tag_request_t *request)
{
    const struct shi_tag_params w = params(__func__, team, tag, mask, pe);
    const struct shi_tag_data d = many(__func__, iov, n);
    recv_later(__func__, &w, &d, request);
}

/* ---- complete ---------------------------------------------------------------------------------------------------- */

static const shmemx_tag_status_t empty_status = {.source = SHMEMX_TAG_ANY_SOURCE};

/* Die on a copy of a handle whose request was completed before. Its memory stays, but may serve another message. */
static inline void check_request(const char *routine, const struct shmemx_tag_request *r)
{
    if (shi_unlikely(r && !r->owned))
        shi_die(routine, "request = %p was completed before", (const void *)r);
}

/* The status of a request that has completed, or is null. */
static void finish(shmemx_tag_request_t *request, shmemx_tag_status_t *status)
{
    struct shmemx_tag_request *r = *request;
    if (status)
        *status = r && !r->is_send ? r->status : empty_status;
    if (r && r != &gone)
        shi_tag_request_put(r);
    *request = SHMEMX_TAG_REQUEST_NULL;
}

int shmemx_tag_test(shmemx_tag_request_t *request, shmemx_tag_status_t *status)
{
    shi_tag_start(__func__);
    check_request(__func__, *request);
    if (*request && !shi_tag_is_done(*request))
        shi_progress_poll();
    if (*request && !shi_tag_is_done(*request))
        return 0;
    finish(request, status);
    return 1;
}

static void wait_one(const char *routine, shmemx_tag_request_t *request, shmemx_tag_status_t *status)
{
    shi_tag_start(routine);
    check_request(routine, *request);
    if (*request)
        wait_for(routine, *request);
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
        if (!requests[i])
            continue;
        check_request(routine, requests[i]);
        if (shi_tag_is_done(requests[i]))
            return i;
        *open = 1;
    }
    return n;
}

int shmemx_tag_wait_any(int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *status)
{
    shi_tag_start(__func__);
    struct shi_wait w __attribute__((cleanup(shi_wait_end))) = SHI_WAIT_INIT;
    shi_wait_allow(__func__);
    for (;;) {
        int open = 0, i = next_done(__func__, n, requests, 0, &open);
        if (i < n) {
            finish(&requests[i], status);
            return i;
        }
        if (!open) {
            if (status)
                *status = empty_status;
            return -1;
        }
        step(&w);
        SHI_WAIT_REGISTER(&w, .routine = __func__, .kind = SHI_FOR_OTHER, .words = no_tag_done);
    }
}

int shmemx_tag_wait_some(int n, shmemx_tag_request_t *requests, int *indices, shmemx_tag_status_t *statuses)
{
    shi_tag_start(__func__);
    struct shi_wait w __attribute__((cleanup(shi_wait_end))) = SHI_WAIT_INIT;
    shi_wait_allow(__func__);
    for (;;) {
        int open = 0, count = 0;
        for (int i = 0; (i = next_done(__func__, n, requests, i, &open)) < n; i++, count++) {
            indices[count] = i;
            finish(&requests[i], statuses ? &statuses[count] : NULL);
        }
        if (count || !open)
            return count;
        step(&w);
        SHI_WAIT_REGISTER(&w, .routine = __func__, .kind = SHI_FOR_OTHER, .words = no_tag_done);
    }
}

void shmemx_tag_wait_all(int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *statuses)
{
    for (int i = 0; i < n; i++)
        wait_one(__func__, &requests[i], statuses ? &statuses[i] : NULL);
}

void shmemx_tag_cancel(shmemx_tag_request_t *request)
{
    shi_tag_start(__func__);
    check_request(__func__, *request);
    if (*request)
        shi_tag_cancel(*request);
}

/* ---- probe ------------------------------------------------------------------------------------------------------- */

/* Probe once, after making progress. */
static int probe(const struct shi_tag_params *w, shmemx_tag_message_t *taken, shmemx_tag_status_t *status)
{
    shmemx_tag_status_t unwanted;
    shi_progress_poll();
    return shi_tag_probe(w, taken, status ? status : &unwanted);
}

static void probe_until(const char *routine, const struct shi_tag_params *w, shmemx_tag_message_t *taken,
                       shmemx_tag_status_t *status)
{
    shi_wait_allow(routine);
    SHI_WAIT_LOOP(step, probe(w, taken, status), .routine = routine, .kind = SHI_FOR_OTHER,
                  .words = "no such tagged message has come");
}

int shmemx_tag_iprobe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status)
{
    const struct shi_tag_params w = params(__func__, team, tag, mask, pe);
    return probe(&w, NULL, status);
}

void shmemx_tag_probe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status)
{
    const struct shi_tag_params w = params(__func__, team, tag, mask, pe);
    probe_until(__func__, &w, NULL, status);
}

int shmemx_tag_improbe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_message_t *message,
                       shmemx_tag_status_t *status)
{
    const struct shi_tag_params w = params(__func__, team, tag, mask, pe);
    return probe(&w, message, status);
}

void shmemx_tag_mprobe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_message_t *message,
                       shmemx_tag_status_t *status)
{
    const struct shi_tag_params w = params(__func__, team, tag, mask, pe);
    probe_until(__func__, &w, message, status);
}

static struct shmemx_tag_message *message_of(const char *routine, shmemx_tag_message_t *message)
{
    struct shmemx_tag_message *m = *message;
    shi_tag_start(routine);
    if (!m)
        shi_die(routine, "message is SHMEMX_TAG_MESSAGE_NULL: no probe has taken one");
    *message = SHMEMX_TAG_MESSAGE_NULL;
    return m;
}

void shmemx_tag_mrecv(shmemx_tag_message_t *message, void *dest, size_t bytes, shmemx_tag_status_t *status)
{
    const struct shi_tag_data d = one(__func__, dest, bytes);
    struct shmemx_tag_message *m = message_of(__func__, message);
    struct shmemx_tag_request r;
    init_request(&r, 0);
    shi_tag_recv_message(&r, m, &d);
    wait_for(__func__, &r);
    if (status)
        *status = r.status;
}

void shmemx_tag_imrecv(shmemx_tag_message_t *message, void *dest, size_t bytes, shmemx_tag_request_t *request)
{
    const struct shi_tag_data d = one(__func__, dest, bytes);
    struct shmemx_tag_message *m = message_of(__func__, message);
    struct shmemx_tag_request *r = shi_tag_request_get(__func__);
    init_request(r, 0);
    shi_tag_recv_message(r, m, &d);
    *request = r;
}
