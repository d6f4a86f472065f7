/* wrap_tag_request.c - tagged messages by requests, which keep their buffers in use. */
#include <stdlib.h>

#include "race/wrap_tag.h"

/* ---- requests ------------------------------------------------------------------------------------------------------------ */

static void start(struct race_thread *u, struct race_pending *p)
{
    if (p->kind == RACE_SOURCE)
        race_sync_give(u, p->message, NULL);
    else if (p->group)
        race_sync_give(u, posted_key(p->group, p->me), NULL);
    race_pending_begin(u, p);
}

/* Where the library gives no request back, the operation is complete. */
static void entered(const struct end *e, struct race_pending *p, const shmemx_tag_request_t *request)
{
    if (p && *request)
        race_pending_enter(*request, request, p);
    else if (p) {
        race_pending_end(e->op.u, p, SIZE_MAX);
        free(p);
    }
}

static struct race_pending *new_send(const struct end *e, const struct race_piece *piece, int n, uint64_t tag, int pe, int how)
{
    if (!e->op.u)
        return NULL;
    struct race_pending *p = race_pending_new(&e->op, RACE_SOURCE, piece, n);
    p->message = message_key(e->group, e->me, pe, tag);
    p->posted = how & SYNCHRONOUS ? posted_key(e->group, pe) : 0;
    p->persistent = how & PERSISTENT;
    if (!p->persistent)
        start(e->op.u, p);
    return p;
}

/* group 0: of a message that was taken from matching, whose order its probe has given. */
static struct race_pending *new_receive(const struct end *e, const struct race_piece *piece, int n, int how)
{
    if (!e->op.u)
        return NULL;
    struct race_pending *p = race_pending_new(&e->op, RACE_DEST, piece, n);
    p->group = e->group, p->me = e->me;
    p->persistent = how & PERSISTENT;
    if (!p->persistent)
        start(e->op.u, p);
    return p;
}

#define ISEND(NAME, HOW)                                                                                               \
    RACE_WRAP(void, NAME,                                                                                              \
              (shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe, shmemx_tag_request_t *request)) \
    {                                                                                                                  \
        RACE_NEXT(void, NAME, (shmem_team_t, const void *, size_t, uint64_t, int, shmemx_tag_request_t *))             \
        END(team);                                                                                                     \
        const struct race_piece one = {source, bytes};                                                                 \
        struct race_pending *p = new_send(&e, &one, 1, tag, pe, HOW);                                                  \
        next(team, source, bytes, tag, pe, request);                                                                   \
        entered(&e, p, request);                                                                                      \
    }
#define ISENDV(NAME, HOW)                                                                                              \
    RACE_WRAP(void, NAME,                                                                                              \
              (shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe, shmemx_tag_request_t *request)) \
    {                                                                                                                  \
        RACE_NEXT(void, NAME, (shmem_team_t, const shmemx_tag_iov_t *, int, uint64_t, int, shmemx_tag_request_t *))    \
        END(team);                                                                                                     \
        struct race_pending *p = new_send(&e, pieces(iov), n, tag, pe, HOW);                                           \
        next(team, iov, n, tag, pe, request);                                                                          \
        entered(&e, p, request);                                                                                      \
    }
#define IRECV(NAME, HOW)                                                                                               \
    RACE_WRAP(void, NAME,                                                                                              \
              (shmem_team_t team, void *dest, size_t bytes, uint64_t tag, uint64_t mask, int pe,                       \
               shmemx_tag_request_t *request))                                                                         \
    {                                                                                                                  \
        RACE_NEXT(void, NAME, (shmem_team_t, void *, size_t, uint64_t, uint64_t, int, shmemx_tag_request_t *))         \
        END(team);                                                                                                     \
        const struct race_piece one = {dest, bytes};                                                                   \
        struct race_pending *p = new_receive(&e, &one, 1, HOW);                                                        \
        next(team, dest, bytes, tag, mask, pe, request);                                                               \
        entered(&e, p, request);                                                                                      \
    }
#define IRECVV(NAME, HOW)                                                                                              \
    RACE_WRAP(void, NAME,                                                                                              \
              (shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, uint64_t mask, int pe,             \
               shmemx_tag_request_t *request))                                                                         \
    {                                                                                                                  \
        RACE_NEXT(void, NAME, (shmem_team_t, const shmemx_tag_iov_t *, int, uint64_t, uint64_t, int, shmemx_tag_request_t *)) \
        END(team);                                                                                                     \
        struct race_pending *p = new_receive(&e, pieces(iov), n, HOW);                                                 \
        next(team, iov, n, tag, mask, pe, request);                                                                    \
        entered(&e, p, request);                                                                                      \
    }
ISEND(shmemx_tag_isend, 0)
ISEND(shmemx_tag_issend, SYNCHRONOUS)
ISEND(shmemx_tag_send_init, PERSISTENT)
ISEND(shmemx_tag_ssend_init, PERSISTENT | SYNCHRONOUS)
ISENDV(shmemx_tag_isendv, 0)
ISENDV(shmemx_tag_issendv, SYNCHRONOUS)
ISENDV(shmemx_tag_sendv_init, PERSISTENT)
ISENDV(shmemx_tag_ssendv_init, PERSISTENT | SYNCHRONOUS)
IRECV(shmemx_tag_irecv, 0)
IRECV(shmemx_tag_recv_init, PERSISTENT)
IRECVV(shmemx_tag_irecvv, 0)
IRECVV(shmemx_tag_recvv_init, PERSISTENT)

static void starts(int n, shmemx_tag_request_t *requests)
{
    struct race_thread *u = race_self();
    for (int i = 0; i < n && u; i++) {
        struct race_pending *p = race_pending_idle(requests[i]);
        if (p)
            start(u, p);
    }
}

RACE_WRAP(void, shmemx_tag_start, (shmemx_tag_request_t * request))
{
    RACE_NEXT(void, shmemx_tag_start, (shmemx_tag_request_t *))
    starts(1, request);
    next(request);
}

RACE_WRAP(void, shmemx_tag_start_all, (int n, shmemx_tag_request_t *requests))
{
    RACE_NEXT(void, shmemx_tag_start_all, (int, shmemx_tag_request_t *))
    starts(n, requests);
    next(n, requests);
}

RACE_WRAP(void, shmemx_tag_imrecv, (shmemx_tag_message_t * message, void *dest, size_t bytes, shmemx_tag_request_t *request))
{
    RACE_NEXT(void, shmemx_tag_imrecv, (shmemx_tag_message_t *, void *, size_t, shmemx_tag_request_t *))
    OF_MESSAGE;
    const struct race_piece one = {dest, bytes};
    struct race_pending *p = new_receive(&e, &one, 1, 0);
    next(message, dest, bytes, request);
    entered(&e, p, request);
}

RACE_WRAP(void, shmemx_tag_imrecvv, (shmemx_tag_message_t * message, const shmemx_tag_iov_t *iov, int n, shmemx_tag_request_t *request))
{
    RACE_NEXT(void, shmemx_tag_imrecvv, (shmemx_tag_message_t *, const shmemx_tag_iov_t *, int, shmemx_tag_request_t *))
    OF_MESSAGE;
    struct race_pending *p = new_receive(&e, pieces(iov), n, 0);
    next(message, iov, n, request);
    entered(&e, p, request);
}

/* ---- completion ---------------------------------------------------------------------------------------------------------- */

static void ends(struct race_thread *u, struct race_pending *p, const void *arg)
{
    const shmemx_tag_status_t *status = arg;
    if (p->kind == RACE_DEST)
        received(u, p->group, p->me, status);
    else if (p->posted && !status->cancelled)
        race_sync_take(u, p->posted);
    race_pending_end(u, p, status->cancelled ? 0 : p->kind == RACE_DEST ? status->bytes : SIZE_MAX);
}

/* `at` has had the request, and the call has left `now` of it; null: it is no more. */
static void done(shmemx_tag_request_t was, const shmemx_tag_request_t *at, shmemx_tag_request_t now, const shmemx_tag_status_t *status)
{
    struct race_thread *u = race_self();
    if (u && was)
        race_pending_done(u, was, at, now == NULL, ends, status);
}

/* Copies of n requests, and statuses if the program gives none; both of one allocation, or on the stack. */
struct many {
    shmemx_tag_request_t few[16], *was;
    shmemx_tag_status_t mine[16], *status;
    void *block;
};

static void copy_of(struct many *m, int n, const shmemx_tag_request_t *requests, shmemx_tag_status_t *statuses)
{
    size_t count = n > 0 ? (size_t)n : 0;
    m->was = m->few, m->status = statuses ? statuses : m->mine, m->block = NULL;
    if (count > sizeof m->few / sizeof *m->few) {
        m->block = malloc(count * (sizeof *m->was + sizeof *m->status));
        if (!m->block)
            abort();
        m->was = (shmemx_tag_request_t *)((shmemx_tag_status_t *)m->block + count);
        if (!statuses)
            m->status = m->block;
    }
    for (size_t i = 0; i < count; i++)
        m->was[i] = requests[i];
}

RACE_WRAP(int, shmemx_tag_test, (shmemx_tag_request_t * request, shmemx_tag_status_t *status))
{
    RACE_NEXT(int, shmemx_tag_test, (shmemx_tag_request_t *, shmemx_tag_status_t *))
    shmemx_tag_request_t was = *request;
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    int yes = next(request, st);
    if (yes)
        done(was, request, *request, st);
    return yes;
}

RACE_WRAP(void, shmemx_tag_wait, (shmemx_tag_request_t * request, shmemx_tag_status_t *status))
{
    RACE_NEXT(void, shmemx_tag_wait, (shmemx_tag_request_t *, shmemx_tag_status_t *))
    shmemx_tag_request_t was = *request;
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    next(request, st);
    done(was, request, *request, st);
}

RACE_WRAP(int, shmemx_tag_request_get_status, (shmemx_tag_request_t request, shmemx_tag_status_t *status))
{
    RACE_NEXT(int, shmemx_tag_request_get_status, (shmemx_tag_request_t, shmemx_tag_status_t *))
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    int yes = next(request, st);
    if (yes)
        done(request, NULL, request, st);
    return yes;
}

RACE_WRAP(int, shmemx_tag_test_any, (int n, shmemx_tag_request_t *requests, int *index, shmemx_tag_status_t *status))
{
    RACE_NEXT(int, shmemx_tag_test_any, (int, shmemx_tag_request_t *, int *, shmemx_tag_status_t *))
    struct many m;
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    copy_of(&m, n, requests, NULL);
    int yes = next(n, requests, index, st);
    if (yes && *index >= 0)
        done(m.was[*index], &requests[*index], requests[*index], st);
    free(m.block);
    return yes;
}

RACE_WRAP(int, shmemx_tag_wait_any, (int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *status))
{
    RACE_NEXT(int, shmemx_tag_wait_any, (int, shmemx_tag_request_t *, shmemx_tag_status_t *))
    struct many m;
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    copy_of(&m, n, requests, NULL);
    int index = next(n, requests, st);
    if (index >= 0)
        done(m.was[index], &requests[index], requests[index], st);
    free(m.block);
    return index;
}

#define SOME(NAME)                                                                                                     \
    RACE_WRAP(int, NAME, (int n, shmemx_tag_request_t *requests, int *indices, shmemx_tag_status_t *statuses))         \
    {                                                                                                                  \
        RACE_NEXT(int, NAME, (int, shmemx_tag_request_t *, int *, shmemx_tag_status_t *))                              \
        struct many m;                                                                                                 \
        copy_of(&m, n, requests, statuses);                                                                            \
        int count = next(n, requests, indices, m.status);                                                              \
        for (int i = 0; i < count; i++)                                                                                \
            done(m.was[indices[i]], &requests[indices[i]], requests[indices[i]], &m.status[i]);                        \
        free(m.block);                                                                                                 \
        return count;                                                                                                  \
    }
SOME(shmemx_tag_test_some)
SOME(shmemx_tag_wait_some)

static void all_done(struct many *m, int n, const shmemx_tag_request_t *requests, int yes)
{
    for (int i = 0; i < n && yes; i++)
        done(m->was[i], &requests[i], requests[i], &m->status[i]);
    free(m->block);
}

RACE_WRAP(int, shmemx_tag_test_all, (int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *statuses))
{
    RACE_NEXT(int, shmemx_tag_test_all, (int, shmemx_tag_request_t *, shmemx_tag_status_t *))
    struct many m;
    copy_of(&m, n, requests, statuses);
    int yes = next(n, requests, m.status);
    all_done(&m, n, requests, yes);
    return yes;
}

RACE_WRAP(void, shmemx_tag_wait_all, (int n, shmemx_tag_request_t *requests, shmemx_tag_status_t *statuses))
{
    RACE_NEXT(void, shmemx_tag_wait_all, (int, shmemx_tag_request_t *, shmemx_tag_status_t *))
    struct many m;
    copy_of(&m, n, requests, statuses);
    next(n, requests, m.status);
    all_done(&m, n, requests, 1);
}

/* The buffer stays in use until the program knows otherwise that it is free, which nothing here can know: it counts as free. */
RACE_WRAP(void, shmemx_tag_request_free, (shmemx_tag_request_t * request))
{
    RACE_NEXT(void, shmemx_tag_request_free, (shmemx_tag_request_t *))
    const shmemx_tag_status_t none = {.cancelled = 1};
    shmemx_tag_request_t was = *request;
    next(request);
    done(was, request, NULL, &none);
}
