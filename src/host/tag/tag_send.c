/*
 * tag_send.c - the sender's side of tagged messages: keep a message until a message slot and a window are free (tag_out.c sends it) or
 * the receiver claims it; handle answers; cancel sends.
 *
 * A cancel: the owner sets request.done from OPEN to CANCELLING; from then on shi_tag_finish does not complete the request, so that
 * its memory serves no other send before the cancel has ended. A retry, which no handler and no other retry interrupts, then
 * removes a kept message, or asks the receiver by CANCEL, which it sends after all of the message. The receiver discards the
 * message if it is unmatched. Its answer ends the cancel: the send is CANCELLED, complete if it has finished meanwhile, or open.
 * Checked by test/model/tag_cancel.pml.
 */
#include "host/tag/tag.h"

#include <errno.h>
#include <stdlib.h>

#include "host/util/log.h"

/* ---- sends that wait for a PE ------------------------------------------------------------------------------------ */

/* The first send that may go, or NULL, which ends the retry. An offered message and those behind it wait for the
 * answer: a later one might match the same receive, or, if the offer is refused, one that must get the offered one first. */
static struct shmemx_tag_request *first_pending(struct shi_tag_peer *p)
{
    struct shi_tag_pending *l = p->pending;
    shi_spin_lock(&p->lock);
    struct shmemx_tag_request *r = (struct shmemx_tag_request *)l->kept.first;
    if (r == l->offered)
        r = NULL;
    l->queued = r != NULL;
    shi_spin_unlock(&p->lock);
    return r;
}

static void dequeue_pending(struct shi_tag_peer *p, struct shmemx_tag_request *r)
{
    struct shi_tag_pending *l = p->pending;
    shi_spin_lock(&p->lock);
    shi_match_remove(&l->kept, &r->entry);
    r->kept = 0;
    if (!l->kept.first) {
        shi_match_down(&l->kept);
        __atomic_store_n(&p->waits, 0, __ATOMIC_RELAXED);
    }
    shi_spin_unlock(&p->lock);
}

/* No window: FIN, CREDIT or an answer to an offer queues the retry again. Their handlers do not run during a retry. */
static void pause_pending(struct shi_tag_peer *p)
{
    shi_spin_lock(&p->lock);
    p->pending->queued = 0;
    shi_spin_unlock(&p->lock);
}

/* Retry: send the messages that wait for a PE. Other sends to the PE get no message slot meanwhile, and queue after
 * them. */
static int send_pending(struct shi_am_pending_send *pending_send)
{
    struct shi_tag_pending *l = shi_container_of(pending_send, struct shi_tag_pending, pending_send);
    struct shi_tag_peer *p = shi_tag_peer_of(l->pe);
    for (struct shmemx_tag_request *r; (r = first_pending(p));) {
        int what = shi_tag_out(r, p);
        if (what == SHI_TAG_NO_WINDOW) {
            pause_pending(p);
            return 0;
        }
        if (what == -EAGAIN && !r->started)
            return -EAGAIN;
        dequeue_pending(p, r);
        if (what == SHI_TAG_GONE)
            shi_tag_finish(r);
        if (what == -EAGAIN) { /* its remaining parts first, then the others */
            shi_tag_queue_rest(r);
            shi_am_queue(l->pe, pending_send);
            return 0;
        }
    }
    return 0;
}

/* Under the lock: the PE's pending sends, allocated at first use. */
static struct shi_tag_pending *pending_of(struct shi_tag_peer *p, int pe)
{
    if (p->pending)
        return p->pending;
    struct shi_tag_pending *l = calloc(1, sizeof *l);
    if (!l)
        shi_die("shmemx_tag", "out of memory for messages that wait to be sent to PE %d", pe);
    l->pe = pe;
    l->pending_send.retry = send_pending;
    shi_match_up(&l->kept, 1);
    return p->pending = l;
}

/* Nothing is kept for a PE that has died: shi_tag_end_failed completes the send. */
static void enqueue_pending(struct shi_tag_peer *p, struct shmemx_tag_request *r)
{
    static const struct shi_tag_note news = {.kind = SHI_TAG_NEWS};
    int pe = r->pe;
    shi_spin_lock(&p->lock);
    if (shi_unlikely(shi_am_loses(pe))) {
        shi_spin_unlock(&p->lock);
        return;
    }
    struct shi_tag_pending *l = pending_of(p, pe);
    int wakes = !l->kept.first && !l->queued, awaited = p->awaited;
    shi_match_add(&l->kept, &r->entry);
    r->kept = 1;
    __atomic_store_n(&p->waits, 1, __ATOMIC_RELAXED);
    l->queued |= wakes;
    p->awaited = 0;
    shi_spin_unlock(&p->lock);
    if (wakes)
        shi_am_queue(pe, &l->pending_send);
    if (awaited)
        shi_tag_notify(pe, &news);
}

/* The window has grown, or an offer was answered: retry. */
static void wake_pending(struct shi_tag_peer *p, int pe)
{
    if (shi_likely(!__atomic_load_n(&p->waits, __ATOMIC_RELAXED)))
        return;
    shi_spin_lock(&p->lock);
    struct shi_tag_pending *l = p->pending;
    int wakes = l->kept.first && !l->queued;
    l->queued |= wakes;
    shi_spin_unlock(&p->lock);
    if (wakes)
        shi_am_queue(pe, &l->pending_send);
}

/* ---- sends ------------------------------------------------------------------------------------------------------- */

void shi_tag_send(struct shmemx_tag_request *r, const struct shmem_team *t, const struct shi_tag_data *data, uint64_t tag,
                  int pe, int sync)
{
    r->pe = shi_team_world_pe(t, pe);
    struct shi_tag_peer *p = shi_tag_peer_of(r->pe);
    r->entry.key = (struct shi_match_key){.tag = tag, .mask = ~0ull, .team = t->number, .source = t->me};
    r->data = *data;
    r->sync = sync;
    r->id = 0;
    r->started = r->headed = r->exposed = 0;
    r->kept = r->matched = r->finished = r->asked = r->parked = r->queued = 0;
    r->status.failed = 0;
    r->at = 0;
    r->end = data->bytes;
    r->recv = 0;
    if (shi_likely(!__atomic_load_n(&p->waits, __ATOMIC_RELAXED))) {
        int what = shi_tag_out(r, p);
        if (what == SHI_TAG_GONE)
            shi_tag_complete(r);
        if (what >= 0)
            return;
        if (r->started) { /* its head is sent */
            shi_tag_queued(r, SHI_TAG_REST_QUEUED);
            shi_tag_queue_rest(r);
            return;
        }
    }
    enqueue_pending(p, r);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* The header is matched: it no longer counts in the window. */
static void matched(struct shmemx_tag_request *r)
{
    struct shi_tag_peer *p = shi_tag_peer_of(r->pe);
    if (!r->headed)
        return;
    r->headed = 0;
    shi_tag_count(&p->matched, 1);
    wake_pending(p, r->pe);
}

/* The send that an answer is for. */
static struct shmemx_tag_request *answered_send(int pe, const struct shi_tag_note *note)
{
    struct shmemx_tag_request *r = (struct shmemx_tag_request *)note->send;
    if (!r || !r->is_send || r->pe != pe)
        shi_am_refuse(pe, "an answer to no tagged message of this PE");
    return r;
}

void shi_tag_on_fin(int pe, const struct shi_tag_note *note)
{
    struct shmemx_tag_request *r = answered_send(pe, note);
    matched(r);
    shi_tag_finish(r);
}

void shi_tag_on_clear(int pe, const struct shi_tag_note *note)
{
    struct shmemx_tag_request *r = answered_send(pe, note);
    if (note->at > r->data.bytes || note->bytes > r->data.bytes - note->at)
        shi_am_refuse(pe, "a request for more than a tagged message has");
    matched(r);
    r->matched = 1;
    r->recv = note->recv;
    r->at = note->at;
    r->end = note->at + note->bytes;
    r->pending_send.retry = shi_tag_out_rest;
    if (shi_tag_out_rest(&r->pending_send))
        shi_am_queue(pe, &r->pending_send);
}

void shi_tag_on_credit(int pe, const struct shi_tag_note *note)
{
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    if (note->bytes > shi_tag_unreturned(&p->used, &p->returned))
        shi_am_refuse(pe, "a credit for more than was used");
    shi_tag_count(&p->returned, note->bytes);
    wake_pending(p, pe);
}

/* ---- claims ------------------------------------------------------------------------------------------------------ */

/* Send the offer of a message; also its retry. */
static int offer(struct shi_am_pending_send *pending_send)
{
    struct shmemx_tag_request *r = shi_container_of(pending_send, struct shmemx_tag_request, pending_send);
    const struct shi_tag_offer o = {.rts = shi_tag_rts_of(r, SHI_TAG_OFFER), .seq = r->recv};
    struct shi_tag_offer *room = shi_am_begin(r->pe, SHI_AM_TAG, sizeof o);
    if (!room)
        return -EAGAIN;
    *room = o;
    shi_am_end(r->pe, sizeof o);
    return 0;
}

void shi_tag_on_claim(int pe, const struct shi_tag_claim *claim)
{
    static const struct shi_tag_note none = {.kind = SHI_TAG_NONE};
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    struct shmemx_tag_request *r = NULL;
    shi_spin_lock(&p->lock);
    int has_offer = p->pending && p->pending->offered;
    for (uint32_t i = 0; p->pending && !has_offer && !r && i < claim->n; i++) {
        const struct shi_tag_query *q = &claim->query[i];
        const struct shi_match_key k = {.tag = q->tag, .mask = q->mask, .team = q->team, .source = SHI_MATCH_ANY};
        r = (struct shmemx_tag_request *)shi_match_find(&p->pending->kept, &k);
        if (r)
            r->recv = q->seq;
    }
    if (r)
        p->pending->offered = r;
    p->awaited = 1; /* a later message may match a query that has no match now */
    shi_spin_unlock(&p->lock);
    if (has_offer)
        shi_am_refuse(pe, "a claim before it has answered an offer");
    if (!r) {
        shi_tag_notify(pe, &none);
        return;
    }
    r->pending_send.retry = offer;
    if (offer(&r->pending_send))
        shi_am_queue(pe, &r->pending_send);
}

/* The offered send, of which this is the answer. */
static struct shmemx_tag_request *offered_send(int pe, const struct shi_tag_note *note)
{
    const struct shi_tag_peer *p = shi_tag_peer_of(pe);
    struct shmemx_tag_request *r = p->pending ? p->pending->offered : NULL;
    if (!r || (uint64_t)r != note->send)
        shi_am_refuse(pe, "an answer to no offer of this PE");
    return r;
}

static void answered(struct shmemx_tag_request *r, int pe)
{
    struct shi_tag_peer *p = shi_tag_peer_of(pe);
    p->pending->offered = NULL;
    if (r->parked)
        shi_am_queue(pe, &r->cancel);
    r->parked = 0;
    wake_pending(p, pe);
}

void shi_tag_on_taken(int pe, const struct shi_tag_note *note)
{
    struct shmemx_tag_request *r = offered_send(pe, note);
    dequeue_pending(shi_tag_peer_of(pe), r); /* FIN or CLEAR will follow */
    r->matched = 1;
    answered(r, pe);
}

void shi_tag_on_refused(int pe, const struct shi_tag_note *note)
{
    struct shmemx_tag_request *r = offered_send(pe, note);
    r->recv = 0;
    shi_tag_withdraw(r);
    answered(r, pe);
}

/* ---- cancels: in retries and handlers, but for the first step ---------------------------------------------------- */

/* The cancel has ended and has not taken the message back. */
static void end_cancel(struct shmemx_tag_request *r)
{
    r->asked = 0;
    __atomic_store_n(&r->done, r->finished ? SHI_TAG_DONE : SHI_TAG_OPEN, __ATOMIC_RELEASE); /* R1 */
}

static void complete_cancelled(struct shmemx_tag_request *r)
{
    shi_tag_withdraw(r);
    __atomic_store_n(&r->done, SHI_TAG_CANCELLED, __ATOMIC_RELEASE); /* R1 */
}

static int ask_receiver(struct shmemx_tag_request *r)
{
    struct shi_tag_note *room = shi_am_begin(r->pe, SHI_AM_TAG, sizeof *room);
    if (!room)
        return -EAGAIN;
    *room = (struct shi_tag_note){.kind = SHI_TAG_CANCEL, .send = (uint64_t)r};
    r->asked = 1;
    shi_am_end(r->pe, sizeof *room);
    return 0;
}

/* Retry. */
static int cancel(struct shi_am_pending_send *pending_send)
{
    struct shmemx_tag_request *r = shi_container_of(pending_send, struct shmemx_tag_request, cancel);
    struct shi_tag_peer *p = shi_tag_peer_of(r->pe);
    int offered = r->kept && p->pending->offered == r, sends_parts = r->started && r->at < r->end;
    int ends = r->finished || r->matched, taken_back = !ends && r->kept && !offered;
    if (!ends && !r->kept && sends_parts) { /* a retry, which comes before this one the next time */
        shi_am_queue(r->pe, pending_send);
        return 0;
    }
    if (!ends && !r->kept && ask_receiver(r))
        return -EAGAIN;
    shi_tag_unqueue(r, SHI_TAG_CANCEL_QUEUED);
    if (ends) {
        end_cancel(r);
    } else if (taken_back) {
        dequeue_pending(p, r);
        complete_cancelled(r);
    } else if (offered) {
        r->parked = 1;
    }
    return 0;
}

void shi_tag_cancel_send(struct shmemx_tag_request *r)
{
    int open = SHI_TAG_OPEN;
    if (!__atomic_compare_exchange_n(&r->done, &open, SHI_TAG_CANCELLING, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return; /* complete, or being cancelled */
    shi_tag_queued(r, SHI_TAG_CANCEL_QUEUED);
    r->cancel.retry = cancel;
    shi_am_queue(r->pe, &r->cancel);
}

void shi_tag_on_cancel_ack(int pe, const struct shi_tag_note *note)
{
    struct shmemx_tag_request *r = answered_send(pe, note);
    if (!r->asked || (note->bytes && (r->finished || r->matched)))
        shi_am_refuse(pe, "an answer to no cancel of this PE");
    if (!note->bytes) {
        end_cancel(r);
        return;
    }
    matched(r); /* its header no longer counts */
    complete_cancelled(r);
}
