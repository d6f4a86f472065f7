/* tag_send.c - the sender's side of tagged messages: what goes at once, what waits for room or for a window. */
#include <errno.h>
#include <string.h>

#include "host/ops/tag.h"
#include "host/util/log.h"

/* What became of a send. Once it is ANSWERED, FIN or CLEAR may come on another thread, and r is no longer ours. */
enum { GONE, ANSWERED, NO_WINDOW = -ENOBUFS /* a header more than the receiver keeps */ };

static struct shi_tag_head head_of(const struct shmemx_tag_request *r, enum shi_tag_kind kind)
{
    return (struct shi_tag_head){.kind = kind, .team = r->team, .source = r->source, .id = r->id, .tag = r->tag};
}

static struct shi_tag_long_head long_head_of(const struct shmemx_tag_request *r, enum shi_tag_kind kind)
{
    return (struct shi_tag_long_head){.head = head_of(r, kind), .total = r->data.bytes,
                                      .send = r->sync || kind == SHI_TAG_READY ? (uint64_t)r : 0};
}

/* Counters of a peer change between begin and end, where one thread at a time is: plain additions, read by others. */
static void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static uint64_t unreturned(const uint64_t *given, const uint64_t *back)
{
    return __atomic_load_n(given, __ATOMIC_RELAXED) - __atomic_load_n(back, __ATOMIC_RELAXED);
}

/* Is there room in its unexpected memory? Threads that ask at the same time may overdraw it by a message each. */
static int has_window(const struct shi_tag_peer *p, size_t bytes)
{
    return unreturned(&p->used, &p->returned) + shi_tag_cost(bytes) <= p->window;
}

/* The payload, behind a head of so many bytes, which the caller writes next. A receiver looks at the first line of a
 * message all the time, and takes it away from a sender who is not done with it: that line is written last. */
static void fill(char *room, size_t head, const struct shi_tag_data *d)
{
    size_t bytes = d->bytes, first = SHI_AM_SHORT_BYTES - head;
    if (bytes > first) {
        shi_tag_gather(d, first, room + SHI_AM_SHORT_BYTES, bytes - first);
        bytes = first;
        __atomic_signal_fence(__ATOMIC_RELEASE);
    }
    shi_tag_gather(d, 0, room + head, bytes);
}

/* ---- one active message each: GONE, ANSWERED, or -EAGAIN when there is no room for it ---------------------------------- */

static int send_eager(struct shmemx_tag_request *r, struct shi_tag_peer *p)
{
    int pe = r->pe, sync = r->sync;
    size_t head = sync ? sizeof(struct shi_tag_long_head) : sizeof(struct shi_tag_head), bytes = r->data.bytes;
    char *room = shi_am_begin(pe, SHI_AM_TAG, head + bytes);
    if (!room)
        return -EAGAIN;
    count(&p->used, shi_tag_cost(bytes));
    fill(room, head, &r->data);
    if (sync)
        *(struct shi_tag_long_head *)room = long_head_of(r, SHI_TAG_EAGER_SYNC);
    else
        *(struct shi_tag_head *)room = head_of(r, SHI_TAG_EAGER);
    shi_am_end(pe, head + bytes);
    return sync ? ANSWERED : GONE;
}

/* What is left of [at, end), in parts. The receiver answers a synchronous send after the last of them. */
static int send_parts(struct shmemx_tag_request *r)
{
    int pe = r->pe, sync = r->sync && !r->recv;
    size_t head = sizeof(struct shi_tag_part), at = r->at, end = r->end;
    while (at < end) {
        size_t bytes = end - at < SHI_AM_MAX_BYTES - head ? end - at : SHI_AM_MAX_BYTES - head;
        char *room = shi_am_begin(pe, SHI_AM_TAG, head + bytes);
        if (!room)
            return -EAGAIN;
        *(struct shi_tag_part *)room = (struct shi_tag_part){.kind = SHI_TAG_PART, .id = r->id, .recv = r->recv,
                                                             .at = at};
        shi_tag_gather(&r->data, at, room + head, bytes);
        at += bytes;
        r->at = at;
        shi_am_end(pe, head + bytes);
    }
    return sync ? ANSWERED : GONE;
}

static int send_long(struct shmemx_tag_request *r, struct shi_tag_peer *p)
{
    size_t head = sizeof(struct shi_tag_long_head), bytes = SHI_AM_MAX_BYTES - head;
    char *room = shi_am_begin(r->pe, SHI_AM_TAG, SHI_AM_MAX_BYTES);
    if (!room)
        return -EAGAIN;
    count(&p->used, shi_tag_cost(r->data.bytes));
    r->id = p->next_id++;
    *(struct shi_tag_long_head *)room = long_head_of(r, SHI_TAG_EAGER_LONG);
    shi_tag_gather(&r->data, 0, room + head, bytes);
    r->started = 1;
    r->at = bytes;
    shi_am_end(r->pe, SHI_AM_MAX_BYTES);
    return send_parts(r);
}

static int send_header(struct shmemx_tag_request *r, struct shi_tag_peer *p)
{
    struct shi_tag_rts rts = {.head = long_head_of(r, SHI_TAG_READY)};
    int pe = r->pe;
    size_t whole;
    const void *addr = shi_tag_piece(&r->data, 0, &whole);
    if (!r->exposed && whole == r->data.bytes)
        r->exposed = shi_am_expose(pe, addr, whole, &r->src) == 0;
    if (r->exposed) {
        rts.fetchable = 1;
        rts.src = r->src;
    }
    struct shi_tag_rts *room = shi_am_begin(pe, SHI_AM_TAG, sizeof rts);
    if (!room)
        return -EAGAIN;
    count(&p->headers, 1);
    r->headed = 1;
    *room = rts;
    shi_am_end(pe, sizeof rts);
    return ANSWERED;
}

/* Send what can go. GONE, ANSWERED, -EAGAIN or NO_WINDOW. */
static int send_on(struct shmemx_tag_request *r, struct shi_tag_peer *p)
{
    size_t bytes = r->data.bytes;
    if (r->started)
        return send_parts(r);
    if (bytes <= p->eager && has_window(p, bytes))
        return bytes + sizeof(struct shi_tag_long_head) <= SHI_AM_MAX_BYTES ? send_eager(r, p) : send_long(r, p);
    if (unreturned(&p->headers, &p->matched) >= p->header_window)
        return NO_WINDOW;
    return send_header(r, p);
}

/* ---- the line of those that wait for a PE ------------------------------------------------------------------------------ */

static struct shmemx_tag_request *leave_line(struct shi_tag_peer *p)
{
    shi_spin_lock(&p->lock);
    struct shmemx_tag_request *r = p->first;
    if (r) {
        __atomic_store_n(&p->first, r->next, __ATOMIC_RELAXED);
        if (!r->next)
            p->last = &p->first;
    } else {
        p->queued = 0;
    }
    shi_spin_unlock(&p->lock);
    return r;
}

/* Back to the head of the line. Without a window only FIN or CREDIT brings its turn. */
static void go_back(struct shi_tag_peer *p, struct shmemx_tag_request *r, int queued)
{
    shi_spin_lock(&p->lock);
    r->next = p->first;
    if (!r->next)
        p->last = &r->next;
    __atomic_store_n(&p->first, r, __ATOMIC_RELAXED);
    p->queued = (uint8_t)queued;
    shi_spin_unlock(&p->lock);
}

/* The turn of a PE's line. While it runs nobody else gets room, so that nobody overtakes who has left the line. */
static int send_line(struct shi_am_turn *turn)
{
    struct shi_tag_peer *p = (struct shi_tag_peer *)((char *)turn - offsetof(struct shi_tag_peer, turn));
    for (struct shmemx_tag_request *r; (r = leave_line(p));) {
        int what = send_on(r, p);
        if (what < 0) {
            go_back(p, r, what == -EAGAIN);
            return what == -EAGAIN ? -EAGAIN : 0;
        }
        if (what == GONE)
            shi_tag_complete(r);
    }
    return 0;
}

static void stand_in_line(struct shi_tag_peer *p, struct shmemx_tag_request *r)
{
    r->next = NULL;
    shi_spin_lock(&p->lock);
    int was_empty = !p->first, was_queued = p->queued;
    *p->last = r;
    p->last = &r->next;
    p->queued |= (uint8_t)was_empty;
    shi_spin_unlock(&p->lock);
    if (was_empty && !was_queued)
        shi_am_queue(r->pe, &p->turn);
}

/* A window has opened. */
static void wake_line(struct shi_tag_peer *p, int pe)
{
    if (shi_likely(!__atomic_load_n(&p->first, __ATOMIC_RELAXED)))
        return;
    shi_spin_lock(&p->lock);
    int wakes = p->first && !p->queued;
    p->queued |= (uint8_t)wakes;
    shi_spin_unlock(&p->lock);
    if (wakes)
        shi_am_queue(pe, &p->turn);
}

/* ---- sends ------------------------------------------------------------------------------------------------------------- */

int shi_tag_send_now(const struct shmem_team *t, const struct shi_tag_data *data, uint64_t tag, int pe)
{
    int world_pe = shi_team_world_pe(t, pe);
    struct shi_tag_peer *p = &shi_tag.peer[world_pe];
    size_t bytes = data->bytes, all = sizeof(struct shi_tag_head) + bytes;
    if (bytes > p->eager || all > SHI_AM_MAX_BYTES || __atomic_load_n(&p->first, __ATOMIC_RELAXED) || !has_window(p, bytes))
        return 0;
    struct shi_tag_head *room = shi_am_begin(world_pe, SHI_AM_TAG, all);
    if (!room)
        return 0;
    count(&p->used, shi_tag_cost(bytes));
    fill((char *)room, sizeof *room, data);
    *room = (struct shi_tag_head){.kind = SHI_TAG_EAGER, .team = t->number, .source = t->me, .tag = tag};
    shi_am_end(world_pe, all);
    return 1;
}

void shi_tag_send(struct shmemx_tag_request *r, const struct shmem_team *t, const struct shi_tag_data *data, uint64_t tag,
                  int pe, int sync)
{
    r->pe = shi_team_world_pe(t, pe);
    struct shi_tag_peer *p = &shi_tag.peer[r->pe];
    r->team = t->number;
    r->source = t->me;
    r->tag = tag;
    r->data = *data;
    r->sync = sync;
    r->id = 0;
    r->started = r->headed = r->exposed = 0;
    r->at = 0;
    r->end = data->bytes;
    r->recv = 0;
    p->turn.retry = send_line;
    if (shi_likely(!__atomic_load_n(&p->first, __ATOMIC_RELAXED))) {
        int what = send_on(r, p);
        if (what == GONE)
            shi_tag_complete(r);
        if (what >= 0)
            return;
    }
    stand_in_line(p, r);
}

/* ---- answers ----------------------------------------------------------------------------------------------------------- */

/* The header is no longer among the unmatched. */
static void matched(struct shmemx_tag_request *r)
{
    struct shi_tag_peer *p = &shi_tag.peer[r->pe];
    if (!r->headed)
        return;
    r->headed = 0;
    count(&p->matched, 1);
    wake_line(p, r->pe);
}

static void finish(struct shmemx_tag_request *r)
{
    if (r->exposed)
        shi_am_withdraw(r->pe, &r->src);
    shi_tag_complete(r);
}

void shi_tag_on_fin(int pe, const struct shi_tag_note *note)
{
    (void)pe;
    struct shmemx_tag_request *r = (struct shmemx_tag_request *)note->send;
    matched(r);
    finish(r);
}

static int send_rest(struct shi_am_turn *turn)
{
    struct shmemx_tag_request *r = (struct shmemx_tag_request *)((char *)turn - offsetof(struct shmemx_tag_request, turn));
    int what = send_parts(r);
    if (what == GONE)
        finish(r);
    return what == GONE ? 0 : what;
}

void shi_tag_on_clear(int pe, const struct shi_tag_note *note)
{
    struct shmemx_tag_request *r = (struct shmemx_tag_request *)note->send;
    matched(r);
    r->recv = note->recv;
    r->at = note->at;
    r->end = note->at + note->bytes;
    r->turn.retry = send_rest;
    if (send_rest(&r->turn) == -EAGAIN)
        shi_am_queue(pe, &r->turn);
}

void shi_tag_on_credit(int pe, const struct shi_tag_note *note)
{
    struct shi_tag_peer *p = &shi_tag.peer[pe];
    count(&p->returned, note->bytes);
    wake_line(p, pe);
}
