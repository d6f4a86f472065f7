/*
 * tag_payload.c - the payload of a matched message: copied from parts as they arrive, or fetched, into the receive's buffers; and the memory
 * of unexpected messages.
 */
#include "host/tag/tag.h"

#include <errno.h>

struct shmemx_tag_request shi_tag_discard;

void shi_tag_send_fin(int pe, uint64_t send)
{
    const struct shi_tag_note note = {.kind = SHI_TAG_FIN, .send = send};
    shi_tag_notify(pe, &note);
}

/* ---- fetches ----------------------------------------------------------------------------------------------------- */

/* Bytes of the message that fit the receive's buffers. */
static size_t wanted(const struct shmemx_tag_request *r)
{
    return r->status.bytes < r->data.bytes ? r->status.bytes : r->data.bytes;
}

/* The rest cannot be fetched: request it by CLEAR. */
static void ask_for_rest(struct shmemx_tag_request *r)
{
    size_t at = r->flow.got;
    r->flow.total = wanted(r);
    const struct shi_tag_note note = {.kind = SHI_TAG_CLEAR, .send = r->send, .recv = (uint64_t)r, .at = at,
                                      .bytes = r->flow.total - at};
    shi_tag_notify(r->pe, &note);
    __atomic_store_n(&r->awaits, 1, __ATOMIC_RELEASE); /* R5 */
}

/* Fetch the rest, piece by piece. 0: complete; -EINPROGRESS: `fetched` will be called; another -errno. */
static int fetch(struct shmemx_tag_request *r)
{
    size_t want = wanted(r), most = shi_am_fetch_bytes(r->pe), some;
    while (r->flow.got < want) {
        void *to = shi_tag_piece(&r->data, r->flow.got, &some);
        r->end = some < want - r->flow.got ? some : want - r->flow.got;
        r->end = r->end < most ? r->end : most;
        int err = shi_tag_is_added(to, r->end) ? -EOPNOTSUPP : shi_am_fetch(r->pe, &r->src, r->flow.got, to, r->end, &r->fetch);
        if (err)
            return err;
        r->flow.got += r->end;
    }
    return 0;
}

static int fetch_on(struct shmemx_tag_request *r)
{
    int err = fetch(r);
    if (err == 0)
        shi_tag_received(r);
    else if (err != -EINPROGRESS && err != -EAGAIN)
        ask_for_rest(r);
    return err;
}

static int fetch_again(struct shi_am_pending_send *pending_send)
{
    struct shmemx_tag_request *r = shi_container_of(pending_send, struct shmemx_tag_request, pending_send);
    return fetch_on(r) == -EAGAIN ? -EAGAIN : 0;
}

static void start_fetch(struct shmemx_tag_request *r)
{
    r->pending_send.retry = fetch_again;
    if (fetch_on(r) == -EAGAIN)
        shi_am_queue(r->pe, &r->pending_send);
}

static void fetched(struct shi_am_fetch *f, int err)
{
    struct shmemx_tag_request *r = shi_container_of(f, struct shmemx_tag_request, fetch);
    if (err) {
        ask_for_rest(r);
        return;
    }
    r->flow.got += r->end;
    start_fetch(r);
}

void shi_tag_receive_header(struct shmemx_tag_request *r, uint64_t send, const struct shi_am_src *src)
{
    r->send = send;
    r->flow.got = 0;
    r->fetch.done = fetched;
    r->src = *src;
    if (src->bytes || !wanted(r))
        start_fetch(r);
    else
        ask_for_rest(r);
}

void shi_tag_accept_header(struct shmemx_tag_request *r, int pe, const struct shi_tag_rts *rts)
{
    const struct shi_match_key k = shi_tag_key_of(&rts->head.head);
    shi_tag_set_match(r, pe, &k, rts->head.total);
    shi_tag_receive_header(r, rts->head.send, &rts->src);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

void shi_tag_begin_flow(struct shi_tag_flow *f, int pe, uint32_t id, size_t total, size_t got)
{
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    f->next = p->flows;
    f->id = id;
    f->total = total;
    f->got = got;
    p->flows = f;
}

void shi_tag_deliver(struct shmemx_tag_request *r, struct shmemx_tag_message *m)
{
    if (r == &shi_tag_discard) {
        if (m->send)
            shi_tag_send_fin(m->pe, m->send);
        shi_tag_free_message(m);
        return;
    }
    r->send = m->send;
    shi_tag_scatter(&r->data, 0, m->payload, m->total);
    shi_tag_free_message(m);
    shi_tag_received(r);
}

static void end_flow(struct shi_tag_flow *f)
{
    struct shmemx_tag_message *m = f->to;
    if (f->recv) {
        shi_tag_received(f->recv);
        return;
    }
    shi_spin_lock(&shi_tag.lock);
    m->whole = 1;
    struct shmemx_tag_request *r = m->claimed;
    shi_spin_unlock(&shi_tag.lock);
    if (r)
        shi_tag_deliver(r, m);
}

/* Parts arrive in order. */
static void check_part(int pe, const struct shi_tag_flow *f, const struct shi_tag_part *part, size_t bytes)
{
    if (part->at != f->got || bytes > f->total - f->got)
        shi_am_refuse(pe, "a part of a tagged message that does not follow the one before");
}

void shi_tag_on_part(int pe, const struct shi_tag_part *part, size_t bytes)
{
    const char *payload = (const char *)(part + 1);
    struct shmemx_tag_request *r = (struct shmemx_tag_request *)part->recv;
    bytes -= sizeof *part;
    if (r) { /* sent for a CLEAR: the sender needs no FIN */
        if (r->is_send || r->pe != pe)
            shi_am_refuse(pe, "a part of another PE's tagged message");
        check_part(pe, &r->flow, part, bytes);
        shi_tag_scatter(&r->data, part->at, payload, bytes);
        r->flow.got += bytes;
        if (r->flow.got == r->flow.total)
            shi_tag_complete(r);
        return;
    }
    struct shi_tag_flow **at = &shi_tag_peer_of(pe)->flows;
    while (*at && (*at)->id != part->id)
        at = &(*at)->next;
    struct shi_tag_flow *f = *at;
    if (!f)
        return; /* of a team that has ended */
    check_part(pe, f, part, bytes);
    if (f->recv)
        shi_tag_scatter(&f->recv->data, part->at, payload, bytes);
    else
        shi_copy_lines(f->to->payload + part->at, payload, bytes);
    f->got += bytes;
    if (f->got == f->total) {
        *at = f->next;
        end_flow(f);
    }
}

/* ---- unexpected messages ------------------------------------------------------------------------------------------ */

struct shmemx_tag_message *shi_tag_new_message(int pe, const struct shi_tag_head *h, size_t total, uint64_t send,
                                               const struct shi_tag_rts *rts)
{
    struct shmemx_tag_message *m = shi_kept_get(&shi_tag_kept, sizeof *m + (rts ? 0 : total));
    if (!m)
        return NULL;
    m->entry.key = shi_tag_key_of(h);
    m->pe = pe;
    m->kind = rts ? SHI_TAG_READY : h->kind;
    m->total = total;
    m->cost = rts ? 0 : shi_tag_cost(total);
    m->send = send;
    m->whole = m->kind != SHI_TAG_EAGER_LONG;
    m->held = 0;
    m->claimed = NULL;
    if (rts)
        m->src = rts->src;
    return m;
}

void shi_tag_free_message(struct shmemx_tag_message *m)
{
    if (m)
        shi_kept_put(&shi_tag_kept, m, sizeof *m + (m->kind == SHI_TAG_READY ? 0 : m->total));
}

struct shmemx_tag_message *shi_tag_message_of(int pe, const struct shi_tag_rts *rts)
{
    return shi_tag_new_message(pe, &rts->head.head, rts->head.total, rts->head.send, rts);
}
