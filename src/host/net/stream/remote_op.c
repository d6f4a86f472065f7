/* remote_op.c - one operation on a PE of another node, in steps that never wait. The states are in remote_op.h. */
#include "host/net/stream/remote_op.h"

#include <errno.h>

#include "host/util/base.h"

/* ---- ways --------------------------------------------------------------------------------------------------------- */

enum shi_remote_way shi_remote_way(const struct shi_remote_addr *at, const void *local, size_t bytes, int hidden)
{
    struct shi_am_src own;
    struct shi_way_facts f = {.bytes = bytes, .copied = shi_stream_bcopy_bytes(), .reached = shi_stream_reaches(at->pe, at->region),
                              .hidden = hidden != 0};
    if (f.hidden)
        f.accessed = shi_stream_sends(local, bytes);
    else if (!f.reached)
        f.registered = shi_stream_registered(local, bytes, &own);
    f.chunks = !f.reached && shi_pipeline_is_up();
    return shi_way_of(&f);
}

/* The same for a piece in a chunk, which peers have the key of. */
static enum shi_remote_way chunk_way(const struct shi_remote_op *o, const struct shi_remote_addr *s)
{
    return shi_way_of(&(struct shi_way_facts){.bytes = o->bytes, .copied = shi_stream_bcopy_bytes(),
                                              .reached = shi_stream_reaches(s->pe, s->region), .accessed = 1, .registered = 1});
}

/* ---- callbacks ---------------------------------------------------------------------------------------------------- */

static void call_ready(void *wait)
{
    struct shi_remote_op *o = shi_container_of(wait, struct shi_remote_op, wait);
    o->ready(o); /* the last access here */
}

static void transfer_ended(struct shi_net_req *req, int err)
{
    if (err) {
        shi_stream_fail(req->pe, err);
        shi_stream_end_later(req, shi_container_of((void *)req, struct shi_remote_op, wait)->lane);
    } else {
        call_ready(req);
    }
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
    int err = o->kind == SHI_REMOTE_PUT ? shi_stream_write(o->lane, s, local, n, req, &o->turn)
                                        : shi_stream_read(o->lane, s, local, n, req);
    return err == -EINPROGRESS && !req ? 0 : err;
}

static int get_record(struct shi_remote_op *o, const struct shi_remote_addr *s, char *local, size_t n)
{
    struct shi_blocks one = {(uint32_t)n, 1, 0};
    const struct shi_blocks *b = o->blocks ? o->blocks : &one;
    return fetching(o, shi_stream_get_blocks(o->lane, s, b, reply_to(o, local, b->block), &o->turn));
}

/* Peers have the key of local memory already. */
static int rendezvous(struct shi_remote_op *o)
{
    struct shi_am_src own;
    if (!shi_stream_registered(o->local, o->bytes, &own))
        return -EFAULT;
    return o->kind == SHI_REMOTE_PUT ? shi_stream_pull(o->lane, &o->at, &own, o->bytes, NULL, &o->turn)
                                     : fetching(o, shi_stream_push(o->lane, &o->at, &own, o->bytes, reply_to(o, o->local, 0), &o->turn));
}

/* Flags of a record. Until TARGET, the record that asks for the acknowledgement follows at once, and perhaps records of further
 * operations before the caller's next poll sends the message. */
static int flags_of(const struct shi_remote_op *o)
{
    return o->until == SHI_REMOTE_TARGET ? SHI_STREAM_MORE : 0;
}

static int update(struct shi_remote_op *o)
{
    struct shi_reply *r = o->local ? reply_to(o, o->local, o->bytes) : NULL;
    int err = shi_stream_amo(o->lane, &o->at, (int)o->bytes, o->amo.op, o->amo.value, o->amo.cond, r, flags_of(o),
                             &o->turn);
    return r ? fetching(o, err) : err;
}

static int post_piece(struct shi_remote_op *o)
{
    size_t left = o->bytes - o->moved, most = o->way == SHI_REMOTE_DIRECT       ? shi_stream_rma_bytes()
                                              : o->way == SHI_REMOTE_RENDEZVOUS ? left
                                                                                : SHI_RECORD_BYTES;
    size_t n = left < most ? left : most;
    struct shi_remote_addr s = o->at;
    char *local = o->local + o->moved;
    s.off += o->moved;
    int err = o->kind == SHI_REMOTE_AMO         ? update(o)
              : o->way == SHI_REMOTE_DIRECT     ? direct_piece(o, &s, local, n)
              : o->way == SHI_REMOTE_RENDEZVOUS ? rendezvous(o)
              : o->kind == SHI_REMOTE_PUT       ? shi_stream_put(o->lane, &s, local, n, flags_of(o), &o->turn)
                                                : get_record(o, &s, local, n);
    if (err != -EAGAIN)
        o->turn = (struct shi_stream_wait){0};
    o->moved += err ? 0 : n;
    o->piece = err == -EINPROGRESS ? n : 0;
    return err;
}

/* ---- through chunks ----------------------------------------------------------------------------------------------- */

static void chunk_replied(struct shi_reply *reply)
{
    shi_chunk_arrived(shi_container_of(reply, struct shi_chunk, wait.reply));
}

static void chunk_confirmed(struct shi_after *after)
{
    shi_chunk_arrived(shi_container_of(after, struct shi_chunk, wait.after));
}

static int put_chunk(const struct shi_remote_op *o, const struct shi_remote_addr *s, struct shi_chunk *c)
{
    struct shi_am_src own = shi_chunk_src(c);
    enum shi_remote_way way = chunk_way(o, s);
    if (way == SHI_REMOTE_RECORDS)
        return shi_stream_put(o->lane, s, c->memory, c->bytes, 0, NULL);
    if (way == SHI_REMOTE_DIRECT)
        return shi_stream_write(o->lane, s, c->memory, c->bytes, shi_chunk_req(c), NULL);
    c->wait.after = (struct shi_after){.done = chunk_confirmed};
    int err = shi_stream_pull(o->lane, s, &own, c->bytes, &c->wait.after, NULL);
    return err ? err : -EINPROGRESS;
}

static int get_chunk(const struct shi_remote_op *o, const struct shi_remote_addr *s, struct shi_chunk *c)
{
    struct shi_am_src own = shi_chunk_src(c);
    struct shi_blocks b = {(uint32_t)c->bytes, 1, 0};
    enum shi_remote_way way = chunk_way(o, s);
    if (way == SHI_REMOTE_DIRECT)
        return shi_stream_read(o->lane, s, c->memory, c->bytes, shi_chunk_req(c));
    c->wait.reply = (struct shi_reply){.to = c->memory, .block = c->bytes, .done = chunk_replied};
    int err = way == SHI_REMOTE_RECORDS ? shi_stream_get_blocks(o->lane, s, &b, &c->wait.reply, NULL)
                                       : shi_stream_push(o->lane, s, &own, c->bytes, &c->wait.reply, NULL);
    return err ? err : -EINPROGRESS;
}

static int stage_piece(struct shi_transfer *t, struct shi_chunk *c)
{
    const struct shi_remote_op *o = shi_container_of(t, struct shi_remote_op, wait.transfer);
    struct shi_remote_addr s = o->at;
    s.off += c->off;
    return o->kind == SHI_REMOTE_PUT ? put_chunk(o, &s, c) : get_chunk(o, &s, c);
}

static void staged(struct shi_transfer *t)
{
    call_ready(t);
}

static int stage(struct shi_remote_op *o)
{
    if (o->piece || !o->bytes) { /* its callback has come */
        o->piece = 0;
        return 0;
    }
    o->piece = o->bytes;
    o->wait.transfer = (struct shi_transfer){.wire = stage_piece, .done = staged, .local = o->local, .bytes = o->bytes,
                                             .pool = o->bytes <= SHI_RECORD_BYTES ? SHI_POOL_SHORT : SHI_POOL_OWN,
                                             .in = o->kind == SHI_REMOTE_GET, .hidden = (unsigned char)o->hidden,
                                             .detached = o->kind == SHI_REMOTE_PUT};
    shi_pipeline_start(&o->wait.transfer);
    return -EINPROGRESS;
}

/* ---- steps -------------------------------------------------------------------------------------------------------- */

static int move_data(struct shi_remote_op *o)
{
    int err = 0;
    if (o->way == SHI_REMOTE_STAGED && o->kind != SHI_REMOTE_AMO)
        return stage(o);
    o->moved += o->piece; /* its callback has come */
    o->piece = 0;
    while (!err && o->moved < o->bytes)
        err = post_piece(o);
    return err;
}

static int post_signal(struct shi_remote_op *o)
{
    return o->signal.op == SHI_AMO_FETCH ? 0 : shi_stream_amo(o->lane, &o->signal.at, sizeof o->signal.value, o->signal.op,
                                                              o->signal.value, 0, NULL, SHI_STREAM_AFTER_WRITES | flags_of(o), &o->turn);
}

static int confirm(struct shi_remote_op *o)
{
    int reads_source = o->way == SHI_REMOTE_RENDEZVOUS && o->kind == SHI_REMOTE_PUT && o->until == SHI_REMOTE_LOCAL;
    if (o->until != SHI_REMOTE_TARGET && !reads_source)
        return 0;
    o->wait.after = (struct shi_after){.done = confirmed};
    return shi_stream_after(o->lane, o->at.pe, &o->wait.after, o->until == SHI_REMOTE_TARGET, &o->turn);
}

int shi_remote_op_advance(struct shi_remote_op *o)
{
    int err = 0;
    if (o->step == SHI_REMOTE_DATA && !(err = move_data(o)))
        o->step = SHI_REMOTE_SIGNAL;
    if (o->step == SHI_REMOTE_SIGNAL && !(err = post_signal(o))) {
        o->step = SHI_REMOTE_CONFIRM;
        o->turn = (struct shi_stream_wait){0};
    }
    if (o->step == SHI_REMOTE_CONFIRM && (err = confirm(o)) != -EAGAIN)
        o->step = SHI_REMOTE_COMPLETE;
    return err;
}
