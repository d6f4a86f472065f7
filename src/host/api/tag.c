/* tag.c - entry points of tagged messages: send, receive, probe. tag_request.c has those of requests. */
#include "host/api/tag_calls.h"

/* ---- send -------------------------------------------------------------------------------------------------------- */

/* The team, if the message needs a request; NULL when it is sent. */
static const struct shmem_team *try_send(const char *routine, shmem_team_t team, const struct shi_tag_data *data,
                                         uint64_t tag, int pe, int sync)
{
    const struct shmem_team *t = shi_tag_target(routine, team, pe);
    return !sync && shi_tag_send_now(t, data, tag, pe) ? NULL : t;
}

static void send_and_wait(const char *routine, shmem_team_t team, const struct shi_tag_data *data, uint64_t tag, int pe,
                          int sync)
{
    struct shmemx_tag_request r;
    const struct shmem_team *t = try_send(routine, team, data, tag, pe, sync);
    if (!t)
        return;
    shi_tag_start_send(&r, t, data, tag, pe, sync);
    shi_tag_wait_for(routine, &r);
}

static void send_later(const char *routine, shmem_team_t team, const struct shi_tag_data *data, uint64_t tag, int pe,
                       int sync, shmemx_tag_request_t *request)
{
    const struct shmem_team *t = try_send(routine, team, data, tag, pe, sync);
    struct shmemx_tag_request *r = t ? shi_tag_request_get(routine) : &shi_tag_gone;
    if (t)
        shi_tag_start_send(r, t, data, tag, pe, sync);
    *request = r;
}

SHI_TAG_BUFFERS(shmemx_tag_send, shmemx_tag_sendv, shmem_team_t team, const void, (uint64_t tag, int pe),
                send_and_wait(__func__, team, &d, tag, pe, 0))
SHI_TAG_BUFFERS(shmemx_tag_ssend, shmemx_tag_ssendv, shmem_team_t team, const void, (uint64_t tag, int pe),
                send_and_wait(__func__, team, &d, tag, pe, 1))
SHI_TAG_BUFFERS(shmemx_tag_isend, shmemx_tag_isendv, shmem_team_t team, const void, (uint64_t tag, int pe, shmemx_tag_request_t *request),
                send_later(__func__, team, &d, tag, pe, 0, request))
SHI_TAG_BUFFERS(shmemx_tag_issend, shmemx_tag_issendv, shmem_team_t team, const void, (uint64_t tag, int pe, shmemx_tag_request_t *request),
                send_later(__func__, team, &d, tag, pe, 1, request))

/* ---- receive ----------------------------------------------------------------------------------------------------- */

/* Receive the message that a probe has taken, or, without one, what w accepts. */
static inline void begin_recv(struct shmemx_tag_request *r, const struct shi_tag_params *w, struct shmemx_tag_message *taken,
                              const struct shi_tag_data *data)
{
    shi_tag_init_request(r, 0);
    if (taken)
        shi_tag_recv_message(r, taken, data);
    else
        shi_tag_recv(r, w, data);
}

static inline void recv_and_wait(const char *routine, const struct shi_tag_params *w, struct shmemx_tag_message *taken,
                                 const struct shi_tag_data *data, shmemx_tag_status_t *status)
{
    struct shmemx_tag_request r;
    begin_recv(&r, w, taken, data);
    shi_tag_wait_for(routine, &r);
    if (status)
        *status = r.status;
}

static inline void recv_later(const char *routine, const struct shi_tag_params *w, struct shmemx_tag_message *taken,
                              const struct shi_tag_data *data, shmemx_tag_request_t *request)
{
    struct shmemx_tag_request *r = shi_tag_request_get(routine);
    begin_recv(r, w, taken, data);
    *request = r;
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

#define ACCEPTED (&(const struct shi_tag_params[]){shi_tag_accepts(__func__, team, tag, mask, pe)}[0])
SHI_TAG_BUFFERS(shmemx_tag_recv, shmemx_tag_recvv, shmem_team_t team, void, (uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status),
                recv_and_wait(__func__, ACCEPTED, NULL, &d, status))
SHI_TAG_BUFFERS(shmemx_tag_irecv, shmemx_tag_irecvv, shmem_team_t team, void, (uint64_t tag, uint64_t mask, int pe, shmemx_tag_request_t *request),
                recv_later(__func__, ACCEPTED, NULL, &d, request))
SHI_TAG_BUFFERS(shmemx_tag_mrecv, shmemx_tag_mrecvv, shmemx_tag_message_t *message, void, (shmemx_tag_status_t *status),
                recv_and_wait(__func__, NULL, message_of(__func__, message), &d, status))
SHI_TAG_BUFFERS(shmemx_tag_imrecv, shmemx_tag_imrecvv, shmemx_tag_message_t *message, void, (shmemx_tag_request_t *request),
                recv_later(__func__, NULL, message_of(__func__, message), &d, request))

/* ---- probe ------------------------------------------------------------------------------------------------------- */

/* Probe once, after making progress. */
static int probe(const struct shi_tag_params *w, shmemx_tag_message_t *taken, shmemx_tag_status_t *status)
{
    shmemx_tag_status_t unwanted;
    shi_progress_poll();
    if (shi_tag_probe(w, taken, status ? status : &unwanted))
        return 1;
    int err = shi_tag_why_none(w);
    if (shi_likely(!err))
        return 0;
    *(status ? status : &unwanted) = (shmemx_tag_status_t){.source = SHMEMX_TAG_ANY_SOURCE, .failed = err};
    shi_tag_met(err);
    return 1;
}

static void probe_until(const char *routine, const struct shi_tag_params *w, shmemx_tag_message_t *taken,
                       shmemx_tag_status_t *status)
{
    shi_wait_allow(routine);
    SHI_WAIT_LOOP(shi_tag_step, probe(w, taken, status), .routine = routine, .kind = SHI_FOR_OTHER,
                  .words = "no such tagged message has come");
}

int shmemx_tag_iprobe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status)
{
    const struct shi_tag_params w = shi_tag_accepts(__func__, team, tag, mask, pe);
    return shi_wait_tested(probe(&w, NULL, status));
}

void shmemx_tag_probe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status)
{
    const struct shi_tag_params w = shi_tag_accepts(__func__, team, tag, mask, pe);
    probe_until(__func__, &w, NULL, status);
}

int shmemx_tag_improbe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_message_t *message,
                       shmemx_tag_status_t *status)
{
    const struct shi_tag_params w = shi_tag_accepts(__func__, team, tag, mask, pe);
    return shi_wait_tested(probe(&w, message, status));
}

void shmemx_tag_mprobe(shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_message_t *message,
                       shmemx_tag_status_t *status)
{
    const struct shi_tag_params w = shi_tag_accepts(__func__, team, tag, mask, pe);
    probe_until(__func__, &w, message, status);
}
