/* lost.c - see lost.h. */
#include "host/net/stream/lost.h"

#include <errno.h>

#include "host/net/stream/batch.h"
#include "host/net/stream/written.h"
#include "host/util/base.h"

#define NET (shi_stream_net.ops)

static struct shi_net_req *failed; /* the polling thread's */

void shi_stream_goes_on(void (*suspect)(int pe))
{
    shi_stream_net.suspect = suspect;
}

void shi_stream_lose(int pe)
{
    if (pe == shi_stream_net.me || __atomic_exchange_n(&shi_stream_net.peer_rx[pe].lost, SHI_LOST, __ATOMIC_RELAXED))
        return;
    __atomic_store_n(&shi_stream_net.lost_work, 1, __ATOMIC_RELEASE); /* R5 */
    NET->wake();
}

int shi_stream_return(int pe)
{
    uint8_t lost = SHI_LOST;
    if (!__atomic_load_n(&shi_stream_net.peer_rx[pe].lost, __ATOMIC_ACQUIRE)) /* A6 */
        return 1;
    if (__atomic_compare_exchange_n(&shi_stream_net.peer_rx[pe].lost, &lost, SHI_RETURNS, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
        __atomic_store_n(&shi_stream_net.lost_work, 1, __ATOMIC_RELEASE); /* R5 */
        NET->wake();
    }
    return 0;
}

int shi_stream_is_gone(int pe)
{
    return shi_stream_is_lost(pe);
}

/* One fetch of the lane from pe, whose cookie becomes free. NULL: there is none at or after *cookie. */
static struct shi_reply *claim(struct shi_lane *l, int pe, int *cookie, struct shi_reply *copy, int *half)
{
    struct shi_reply *reply = NULL;
    shi_lane_lock(l);
    for (; !reply && *cookie < MAX_REPLIES; ++*cookie) {
        struct outstanding *o = &l->outstanding[*cookie];
        if (!o->reply || o->pe != (uint32_t)pe)
            continue;
        reply = o->reply;
        *copy = *reply;
        *half = o->half;
        o->reply = NULL;
        l->free_reply[l->n_free_replies++] = *cookie;
        shi_lane_count_drop(l);
    }
    shi_lane_unlock(l);
    return reply;
}

static void end_fetches(struct shi_lane *l, int pe)
{
    struct shi_reply copy, *reply;
    for (int cookie = 0, half = 0; (reply = claim(l, pe, &cookie, &copy, &half));) {
        if (copy.done)
            copy.done(reply);
        else
            __atomic_fetch_sub(&l->fetches.outstanding[half], 1, __ATOMIC_RELEASE); /* R2 */
    }
}

/* Drop what waits to be sent; call back what waits for an acknowledgement. */
static void end_stream(struct shi_lane *l, int pe)
{
    struct stream *s = &l->to[pe];
    shi_lane_lock(l);
    shi_batch_drop(l, pe);
    struct shi_after *a = s->after;
    s->after = s->last_after = NULL;
    shi_lane_unlock(l);
    for (struct shi_after *next; a; a = next) {
        next = a->next;
        a->done(a);
    }
}

void shi_stream_end_later(struct shi_net_req *req, struct shi_lane *l)
{
    shi_lane_count_drop(l);
    req->next = failed;
    failed = req;
    __atomic_store_n(&shi_stream_net.lost_work, 1, __ATOMIC_RELEASE); /* R5 */
}

static void end_failed(void)
{
    for (struct shi_net_req **at = &failed, *r; (r = *at);) {
        if (!shi_stream_is_lost(r->pe)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        r->done(r, 0);
    }
}

/* ---- a new process in place of a lost one --------------------------------------------------------------------------------- */

static int is_any_in_flight(struct shi_lane *l, int pe)
{
    shi_lane_lock(l);
    int any = !shi_order_flushed(&l->to[pe].order);
    for (unsigned what = SHI_NET_SENDS; what <= SHI_NET_READS; what++)
        any |= NET->in_flight(l->net, pe, what) != 0;
    shi_lane_unlock(l);
    return any;
}

/* The lists of the lane stay as they are. */
static void begin_stream(struct shi_lane *l, int pe)
{
    struct stream *s = &l->to[pe];
    shi_lane_lock(l);
    *s = (struct stream){.listed = s->listed, .dirty = s->dirty, .waiting = s->waiting, .used = s->used, .announcement = s->announcement};
    shi_lane_unlock(l);
}

/* 0: something is in flight to the dead process, or waits for a device. */
static int begin_anew(int pe, int (*forget)(int pe))
{
    uint8_t returns = SHI_RETURNS;
    int n = shi_stream_n_lanes();
    for (int i = 0; i < n; i++)
        if (is_any_in_flight(shi_stream_net.lane[i], pe))
            return 0;
    if (!forget(pe))
        return 0;
    for (int i = 0; i < n; i++)
        begin_stream(shi_stream_net.lane[i], pe);
    shi_written_forget(pe);
    NET->renew(pe);
    __atomic_compare_exchange_n(&shi_stream_net.peer_rx[pe].lost, &returns, SHI_HERE, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED); /* R6 */
    return 1;
}

static void look_at(int pe, int (*forget)(int pe))
{
    int state = shi_stream_is_lost(pe);
    for (int i = 0; state && i < shi_stream_n_lanes(); i++) {
        end_stream(shi_stream_net.lane[i], pe);
        end_fetches(shi_stream_net.lane[i], pe);
    }
    if (state == SHI_RETURNS && !begin_anew(pe, forget))
        __atomic_store_n(&shi_stream_net.lost_work, 1, __ATOMIC_RELEASE); /* R5: the next poll tries again */
}

void shi_lost_poll(int (*forget)(int pe))
{
    if (shi_likely(!__atomic_load_n(&shi_stream_net.lost_work, __ATOMIC_RELAXED)))
        return;
    __atomic_exchange_n(&shi_stream_net.lost_work, 0, __ATOMIC_ACQUIRE); /* A5 */
    for (int pe = 0; pe < shi_stream_net.n_pes; pe++)
        look_at(pe, forget);
    end_failed();
}

int shi_stream_delivered(uint64_t *seq)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    int all = 1;
    shi_lane_lock(l);
    for (int i = 0; i < l->n_used; i++) {
        int pe = l->used[i];
        struct shi_order *o = &l->to[pe].order;
        if (!seq[pe]) {
            shi_batch_send(l, pe, ACK_NOW);
            seq[pe] = o->sent_seq;
        }
        all &= o->acked_seq >= seq[pe];
    }
    shi_lane_unlock(l);
    return all;
}

unsigned shi_stream_dropped(const struct shi_lane *l)
{
    return __atomic_load_n(&l->dropped, __ATOMIC_RELAXED);
}

int shi_stream_socket_address(struct shi_net_address *out)
{
    return shi_stream_net.limits.sockets && NET->address(out) == 0 ? 0 : -ENOTSUP;
}
