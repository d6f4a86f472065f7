/*
 * wrap_tag.c - tagged messages, sent and received by blocking calls, and probes. What the receiver does is after what the sender had done when it
 * sent; a synchronous send is after what the receiver had done when it posted a receive.
 */
#include "race/wrap_tag.h"

/* ---- blocking ------------------------------------------------------------------------------------------------------------ */

static void send_now(const struct end *e, const struct race_piece *piece, int n, uint64_t tag, int pe)
{
    for (int i = 0; i < n; i++)
        race_op_reads(&e->op, piece[i].at, piece[i].bytes, 0);
    sends(e, tag, pe);
}

static void sent(const struct end *e, int pe, int how)
{
    if (e->op.u && how & SYNCHRONOUS)
        race_sync_take(e->op.u, posted_key(e->group, pe));
}

static void fill(const struct race_op *op, const struct race_piece *piece, int n, size_t bytes)
{
    for (int i = 0; i < n && bytes; i++) {
        size_t part = piece[i].bytes < bytes ? piece[i].bytes : bytes;
        race_op_writes(op, piece[i].at, part, 0);
        bytes -= part;
    }
}

#define SEND(NAME, HOW)                                                                                                \
    RACE_WRAP(void, NAME, (shmem_team_t team, const void *source, size_t bytes, uint64_t tag, int pe))                 \
    {                                                                                                                  \
        RACE_NEXT(void, NAME, (shmem_team_t, const void *, size_t, uint64_t, int))                                     \
        END(team);                                                                                                     \
        const struct race_piece one = {source, bytes};                                                                 \
        send_now(&e, &one, 1, tag, pe);                                                                                \
        next(team, source, bytes, tag, pe);                                                                            \
        sent(&e, pe, HOW);                                                                                             \
    }
#define SENDV(NAME, HOW)                                                                                               \
    RACE_WRAP(void, NAME, (shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, int pe))               \
    {                                                                                                                  \
        RACE_NEXT(void, NAME, (shmem_team_t, const shmemx_tag_iov_t *, int, uint64_t, int))                            \
        END(team);                                                                                                     \
        send_now(&e, pieces(iov), n, tag, pe);                                                                         \
        next(team, iov, n, tag, pe);                                                                                   \
        sent(&e, pe, HOW);                                                                                             \
    }
SEND(shmemx_tag_send, 0)
SEND(shmemx_tag_ssend, SYNCHRONOUS)
SENDV(shmemx_tag_sendv, 0)
SENDV(shmemx_tag_ssendv, SYNCHRONOUS)

RACE_WRAP(void, shmemx_tag_recv, (shmem_team_t team, void *dest, size_t bytes, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status))
{
    RACE_NEXT(void, shmemx_tag_recv, (shmem_team_t, void *, size_t, uint64_t, uint64_t, int, shmemx_tag_status_t *))
    END(team);
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    const struct race_piece one = {dest, bytes};
    posts(&e);
    next(team, dest, bytes, tag, mask, pe, st);
    received(e.op.u, e.group, e.me, st);
    fill(&e.op, &one, 1, st->bytes);
}

RACE_WRAP(void, shmemx_tag_recvv,
          (shmem_team_t team, const shmemx_tag_iov_t *iov, int n, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status))
{
    RACE_NEXT(void, shmemx_tag_recvv, (shmem_team_t, const shmemx_tag_iov_t *, int, uint64_t, uint64_t, int, shmemx_tag_status_t *))
    END(team);
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    posts(&e);
    next(team, iov, n, tag, mask, pe, st);
    received(e.op.u, e.group, e.me, st);
    fill(&e.op, pieces(iov), n, st->bytes);
}

/* ---- probes -------------------------------------------------------------------------------------------------------------- */

RACE_WRAP(int, shmemx_tag_iprobe, (shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status))
{
    RACE_NEXT(int, shmemx_tag_iprobe, (shmem_team_t, uint64_t, uint64_t, int, shmemx_tag_status_t *))
    END(team);
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    int yes = next(team, tag, mask, pe, st);
    if (yes)
        received(e.op.u, e.group, e.me, st);
    return yes;
}

RACE_WRAP(void, shmemx_tag_probe, (shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_status_t *status))
{
    RACE_NEXT(void, shmemx_tag_probe, (shmem_team_t, uint64_t, uint64_t, int, shmemx_tag_status_t *))
    END(team);
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    next(team, tag, mask, pe, st);
    received(e.op.u, e.group, e.me, st);
}

RACE_WRAP(int, shmemx_tag_improbe,
          (shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_message_t *message, shmemx_tag_status_t *status))
{
    RACE_NEXT(int, shmemx_tag_improbe, (shmem_team_t, uint64_t, uint64_t, int, shmemx_tag_message_t *, shmemx_tag_status_t *))
    END(team);
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    posts(&e);
    int yes = next(team, tag, mask, pe, message, st);
    if (yes)
        received(e.op.u, e.group, e.me, st);
    return yes;
}

RACE_WRAP(void, shmemx_tag_mprobe,
          (shmem_team_t team, uint64_t tag, uint64_t mask, int pe, shmemx_tag_message_t *message, shmemx_tag_status_t *status))
{
    RACE_NEXT(void, shmemx_tag_mprobe, (shmem_team_t, uint64_t, uint64_t, int, shmemx_tag_message_t *, shmemx_tag_status_t *))
    END(team);
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    posts(&e);
    next(team, tag, mask, pe, message, st);
    received(e.op.u, e.group, e.me, st);
}

RACE_WRAP(void, shmemx_tag_mrecv, (shmemx_tag_message_t * message, void *dest, size_t bytes, shmemx_tag_status_t *status))
{
    RACE_NEXT(void, shmemx_tag_mrecv, (shmemx_tag_message_t *, void *, size_t, shmemx_tag_status_t *))
    OF_MESSAGE;
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    const struct race_piece one = {dest, bytes};
    next(message, dest, bytes, st);
    fill(&e.op, &one, 1, st->bytes);
}

RACE_WRAP(void, shmemx_tag_mrecvv, (shmemx_tag_message_t * message, const shmemx_tag_iov_t *iov, int n, shmemx_tag_status_t *status))
{
    RACE_NEXT(void, shmemx_tag_mrecvv, (shmemx_tag_message_t *, const shmemx_tag_iov_t *, int, shmemx_tag_status_t *))
    OF_MESSAGE;
    shmemx_tag_status_t mine, *st = status ? status : &mine;
    next(message, iov, n, st);
    fill(&e.op, pieces(iov), n, st->bytes);
}
