/* remote_op.c - one operation on a PE of another node, in steps that never wait. The states are in remote_op.h. */
#include "host/net/remote_op.h"

#include <errno.h>

#include "host/util/base.h"

_Static_assert((int)SHI_REMOTE_BOUNCE_BYTES <= (int)SHI_STREAM_PUT_BYTES &&
               (int)SHI_REMOTE_BOUNCE_BYTES <= (int)SHI_STREAM_REPLY_BYTES, "a piece through a bounce buffer is a record");

/* ---- callbacks ---------------------------------------------------------------------------------------------------- */

static void call_ready(void *wait)
{
    struct shi_remote_op *o = shi_container_of(wait, struct shi_remote_op, wait);
    o->ready(o); /* the last access here */
}

static void transfer_ended(struct shi_net_req *req, int err)
{
    if (err)
        shi_stream_fail(req->pe, err);
    call_ready(req);
}

static void reply_came(struct shi_reply *reply)
{
    call_ready(reply);
}

static void confirmed(struct shi_after *after)
{
    call_ready(after);
}

/* ---- pieces: 0 posted, -EINPROGRESS a callback follows, -EAGAIN refused ------------------------------------------- */

static struct shi_reply *reply_to(struct shi_remote_op *o, char *to, size_t block)
{
    o->wait.reply = (struct shi_reply){.to = to, .block = block, .stride = o->stride,
                                       .done = o->until == SHI_REMOTE_POSTED ? NULL : reply_came};
    return &o->wait.reply;
}

/* What to return for a record that fetches: a callback will come, unless the operation is complete when posted. */
static int fetching(const struct shi_remote_op *o, int err)
{
    return err || o->until == SHI_REMOTE_POSTED ? err : -EINPROGRESS;
}

/* Callbacks of a PE come in the order of posting, so only the last piece needs one. */
static int direct_piece(struct shi_remote_op *o, const struct shi_remote_addr *s, char *local, size_t n)
{
    struct shi_net_req *req = o->until == SHI_REMOTE_LOCAL && o->moved + n == o->bytes ? &o->wait.req : NULL;
    if (req)
        *req = (struct shi_net_req){.done = transfer_ended};
    int err = o->kind == SHI_REMOTE_PUT ? shi_stream_write(o->lane, s, local, n, req)
                                        : shi_stream_read(o->lane, s, local, n, req);
    return err == -EINPROGRESS && !req ? 0 : err;
}

static int put_record(struct shi_remote_op *o, const struct shi_remote_addr *s, const char *local, size_t n)
{
    if (o->way != SHI_REMOTE_BOUNCED)
        return shi_stream_put(o->lane, s, local, n, 0);
    if (o->bounced == o->moved) /* else this is another try */
        o->copy(o->bounce, local, n);
    o->bounced = o->moved + n;
    return shi_stream_put(o->lane, s, o->bounce, n, 0);
}

static int get_record(struct shi_remote_op *o, const struct shi_remote_addr *s, char *local, size_t n)
{
    struct shi_blocks one = {(uint32_t)n, 1, 0};
    const struct shi_blocks *b = o->blocks ? o->blocks : &one;
    char *to = o->way == SHI_REMOTE_BOUNCED ? o->bounce : local;
    return fetching(o, shi_stream_get_blocks(o->lane, s, b, reply_to(o, to, b->block)));
}

static int update(struct shi_remote_op *o)
{
    struct shi_reply *r = o->local ? reply_to(o, o->local, o->bytes) : NULL;
    int err = shi_stream_amo(o->lane, &o->at, (int)o->bytes, o->amo.op, o->amo.value, o->amo.cond, r, 0);
    return r ? fetching(o, err) : err;
}

static int post_piece(struct shi_remote_op *o)
{
    size_t left = o->bytes - o->moved, most = o->way == SHI_REMOTE_DIRECT ? shi_stream_rma_bytes() : SHI_REMOTE_BOUNCE_BYTES;
    size_t n = left < most ? left : most;
    struct shi_remote_addr s = o->at;
    char *local = o->local + o->moved;
    s.off += o->moved;
    int err = o->kind == SHI_REMOTE_AMO     ? update(o)
              : o->way == SHI_REMOTE_DIRECT ? direct_piece(o, &s, local, n)
              : o->kind == SHI_REMOTE_PUT   ? put_record(o, &s, local, n)
                                            : get_record(o, &s, local, n);
    o->moved += err ? 0 : n;
    o->piece = err == -EINPROGRESS ? n : 0;
    return err;
}

/* ---- steps -------------------------------------------------------------------------------------------------------- */

static int move_data(struct shi_remote_op *o)
{
    int err = 0;
    if (o->piece && o->kind == SHI_REMOTE_GET && o->way == SHI_REMOTE_BOUNCED)
        o->copy(o->local + o->moved, o->bounce, o->piece);
    o->moved += o->piece; /* its callback has come */
    o->piece = 0;
    while (!err && o->moved < o->bytes)
        err = post_piece(o);
    return err;
}

static int post_signal(const struct shi_remote_op *o)
{
    return o->signal.op == SHI_AMO_FETCH ? 0 : shi_stream_amo(o->lane, &o->signal.at, sizeof o->signal.value, o->signal.op,
                                                              o->signal.value, 0, NULL, SHI_STREAM_AFTER_WRITES);
}

static int confirm(struct shi_remote_op *o)
{
    if (o->until != SHI_REMOTE_TARGET)
        return 0;
    o->wait.after = (struct shi_after){.done = confirmed};
    return shi_stream_after(o->lane, o->at.pe, &o->wait.after);
}

int shi_remote_op_advance(struct shi_remote_op *o)
{
    int err = 0;
    if (o->step == SHI_REMOTE_DATA && !(err = move_data(o)))
        o->step = SHI_REMOTE_SIGNAL;
    if (o->step == SHI_REMOTE_SIGNAL && !(err = post_signal(o)))
        o->step = SHI_REMOTE_CONFIRM;
    if (o->step == SHI_REMOTE_CONFIRM && (err = confirm(o)) != -EAGAIN)
        o->step = SHI_REMOTE_COMPLETE;
    return err;
}
