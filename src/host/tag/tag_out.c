/* tag_out.c - one tagged message to a PE: whole, in parts, or only its header, as the receiver's window allows. */
#include "host/tag/tag.h"

#include <errno.h>

#include "host/util/tsan.h"

static struct shi_tag_head head_of(const struct shmemx_tag_request *r, enum shi_tag_kind kind)
{
    const struct shi_match_key *k = &r->entry.key;
    return (struct shi_tag_head){.kind = kind, .team = k->team, .source = k->source, .id = r->id, .tag = k->tag};
}

static struct shi_tag_long_head long_head_of(const struct shmemx_tag_request *r, enum shi_tag_kind kind)
{
    return (struct shi_tag_long_head){.head = head_of(r, kind), .total = r->data.bytes,
                                      .send = r->sync || kind >= SHI_TAG_READY ? (uint64_t)r : 0};
}

/* 1: the window has room. Threads that send at the same time may overdraw it by one message each. */
static int has_window(const struct shi_tag_peer *p, size_t bytes)
{
    return shi_tag_unreturned(&p->used, &p->returned) + shi_tag_cost(bytes) <= p->window;
}

/* Up to which length data is sent before it is matched: data in the symmetric heap has a limit of its own, which is no greater. */
static size_t eager_bytes(const struct shi_tag_peer *p, const struct shi_tag_data *d)
{
    if (shi_likely(d->bytes <= p->eager_symmetric))
        return p->eager_symmetric;
    return d->iov || (uintptr_t)d->one.base - shi_world.heap_lo >= shi_world.heap_bytes ? p->eager : p->eager_symmetric;
}

/* Write the payload behind a head of `head` bytes, which the caller writes next. A receiver polls the first cache line of a
 * message, and each poll takes the line away from the sender: so that line is written last. */
static void fill(char *room, size_t head, const struct shi_tag_data *d)
{
    SHI_TSAN_WRITES_IGNORED; /* the slots of a FIFO are handed over by atomics */
    size_t bytes = d->bytes, first = SHI_AM_SHORT_BYTES - head;
    if (bytes > first) {
        shi_tag_gather(d, first, room + SHI_AM_SHORT_BYTES, bytes - first);
        bytes = first;
        __atomic_signal_fence(__ATOMIC_RELEASE);
    }
    shi_tag_gather(d, 0, room + head, bytes);
}

/* ---- one active message each: GONE, ANSWERED, or -EAGAIN when no message slot is free ---------------------------- */

static int send_eager(struct shmemx_tag_request *r, struct shi_tag_peer *p)
{
    int pe = r->pe, sync = r->sync;
    size_t head = sync ? sizeof(struct shi_tag_long_head) : sizeof(struct shi_tag_head), bytes = r->data.bytes;
    char *room = shi_am_begin(pe, SHI_AM_TAG, head + bytes);
    if (!room)
        return -EAGAIN;
    shi_tag_count(&p->used, shi_tag_cost(bytes));
    fill(room, head, &r->data);
    if (sync)
        *(struct shi_tag_long_head *)room = long_head_of(r, SHI_TAG_EAGER_SYNC);
    else
        *(struct shi_tag_head *)room = head_of(r, SHI_TAG_EAGER);
    shi_am_end(pe, head + bytes);
    return sync ? SHI_TAG_ANSWERED : SHI_TAG_GONE;
}

/* Parts have about the same length: the receiver copies one while the sender copies the next. */
static size_t part_bytes(int pe, size_t total)
{
    size_t most = shi_am_lengths(pe)->whole / SHI_LINE_BYTES * SHI_LINE_BYTES, parts = total > most ? (total + most - 1) / most : 1;
    return shi_round_up((total + parts - 1) / parts, SHI_LINE_BYTES);
}

/* Send the rest of [at, end), in parts. The receiver answers a synchronous send after the last one. */
static int send_parts(struct shmemx_tag_request *r)
{
    int pe = r->pe, sync = r->sync && !r->recv;
    size_t head = sizeof(struct shi_tag_part), at = r->at, end = r->end, most = part_bytes(pe, r->data.bytes);
    while (at < end) {
        size_t bytes = end - at < most ? end - at : most;
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
    return sync ? SHI_TAG_ANSWERED : SHI_TAG_GONE;
}

static int send_long(struct shmemx_tag_request *r, struct shi_tag_peer *p)
{
    size_t head = sizeof(struct shi_tag_long_head), bytes = part_bytes(r->pe, r->data.bytes);
    char *room = shi_am_begin(r->pe, SHI_AM_TAG, head + bytes);
    if (!room)
        return -EAGAIN;
    shi_tag_count(&p->used, shi_tag_cost(r->data.bytes));
    r->id = p->next_id++;
    *(struct shi_tag_long_head *)room = long_head_of(r, SHI_TAG_EAGER_LONG);
    shi_tag_gather(&r->data, 0, room + head, bytes);
    r->started = 1;
    r->at = bytes;
    shi_am_end(r->pe, head + bytes);
    return send_parts(r);
}

struct shi_tag_rts shi_tag_rts_of(struct shmemx_tag_request *r, enum shi_tag_kind kind)
{
    struct shi_tag_rts rts = {.head = long_head_of(r, kind)};
    size_t whole;
    const void *addr = shi_tag_piece(&r->data, 0, &whole);
    if (!r->exposed && whole == r->data.bytes && !shi_tag_is_added(addr, whole))
        r->exposed = shi_am_expose(r->pe, addr, whole, &r->src) == 0;
    if (r->exposed)
        rts.src = r->src;
    return rts;
}

static int send_header(struct shmemx_tag_request *r, struct shi_tag_peer *p)
{
    const struct shi_tag_rts rts = shi_tag_rts_of(r, SHI_TAG_READY);
    int pe = r->pe;
    struct shi_tag_rts *room = shi_am_begin(pe, SHI_AM_TAG, sizeof rts);
    if (!room)
        return -EAGAIN;
    shi_tag_count(&p->headers, 1);
    r->headed = 1;
    *room = rts;
    shi_am_end(pe, sizeof rts);
    return SHI_TAG_ANSWERED;
}

int shi_tag_out(struct shmemx_tag_request *r, struct shi_tag_peer *p)
{
    size_t bytes = r->data.bytes;
    enum shi_message_way way = shi_message_way(bytes, shi_am_lengths(r->pe)->whole, eager_bytes(p, &r->data));
    if (way != SHI_MESSAGE_READ && has_window(p, bytes))
        return way == SHI_MESSAGE_PARTS ? send_long(r, p) : send_eager(r, p);
    if (shi_tag_unreturned(&p->headers, &p->matched) >= p->header_window)
        return SHI_TAG_NO_WINDOW;
    return send_header(r, p);
}

void shi_tag_withdraw(struct shmemx_tag_request *r)
{
    if (r->exposed)
        shi_am_withdraw(r->pe, &r->src);
    r->exposed = 0;
}

void shi_tag_finish(struct shmemx_tag_request *r)
{
    int open = SHI_TAG_OPEN;
    shi_tag_withdraw(r);
    r->finished = 1;
    __atomic_compare_exchange_n(&r->done, &open, SHI_TAG_DONE, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED); /* R1 */
}

int shi_tag_out_rest(struct shi_am_pending_send *pending_send)
{
    struct shmemx_tag_request *r = shi_container_of(pending_send, struct shmemx_tag_request, pending_send);
    int what = send_parts(r);
    if (what >= 0)
        shi_tag_unqueue(r, SHI_TAG_REST_QUEUED);
    if (what == SHI_TAG_GONE)
        shi_tag_finish(r);
    return what < 0 ? what : 0;
}

void shi_tag_queue_rest(struct shmemx_tag_request *r)
{
    r->pending_send.retry = shi_tag_out_rest;
    shi_am_queue(r->pe, &r->pending_send);
}

int shi_tag_send_now(const struct shmem_team *t, const struct shi_tag_data *data, uint64_t tag, int pe)
{
    int world_pe = shi_team_world_pe(t, pe);
    struct shi_tag_peer *p = shi_tag_peer_of(world_pe);
    size_t bytes = data->bytes, all = sizeof(struct shi_tag_head) + bytes;
    if (shi_message_way(bytes, shi_am_lengths(world_pe)->whole, eager_bytes(p, data)) != SHI_MESSAGE_WHOLE || __atomic_load_n(&p->waits, __ATOMIC_RELAXED) ||
        !has_window(p, bytes))
        return 0;
    struct shi_tag_head *room = shi_am_begin(world_pe, SHI_AM_TAG, all);
    if (!room)
        return 0;
    shi_tag_count(&p->used, shi_tag_cost(bytes));
    fill((char *)room, sizeof *room, data);
    *room = (struct shi_tag_head){.kind = SHI_TAG_EAGER, .team = t->number, .source = t->me, .tag = tag};
    shi_am_end(world_pe, all);
    return 1;
}
