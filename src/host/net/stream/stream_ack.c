/* stream_ack.c - acknowledgements of messages, in and out: see stream_ack.h. */
#include "host/net/stream/stream_ack.h"

#include "host/net/stream/batch.h"
#include "host/util/log.h"

void shi_ack_queue(const struct head *h)
{
    if (shi_acks_queue(&shi_stream_net.peer_rx[h->pe].acks, h->lane, h->flags, shi_stream_net.polls))
        shi_stream_net.ack_queue[shi_stream_net.n_ack_queue++] = (int)h->pe;
}

void shi_ack_end_message(const struct head *h)
{
    struct shi_acks *a = &shi_stream_net.peer_rx[h->pe].acks;
    if (a->applied_seq[h->lane] >= h->seq)
        return;
    shi_acks_applied(a, h->lane, h->seq);
    if (h->flags & ACK_ANY)
        shi_ack_queue(h);
}

void shi_ack_take(const struct head *h)
{
    if (h->ack_lane >= shi_stream_n_lanes())
        shi_die("network", "protocol error: PE %u acknowledges a message of lane %u, which is not in use", h->pe, h->ack_lane);
    struct shi_lane *l = shi_stream_net.lane[h->ack_lane];
    struct stream *s = &l->to[h->pe];
    struct shi_after *ready = NULL, **end = &ready;
    if (!shi_order_is_news(&s->order, h->ack))
        return;
    if (!shi_order_was_sent(&s->order, h->ack))
        shi_die("network", "protocol error: PE %u acknowledges message %lu of lane %u, which was not sent", h->pe,
                (unsigned long)h->ack, h->ack_lane);
    shi_lane_lock(l);
    shi_order_acked(&s->order, h->ack);
    while (s->after && s->after->seq <= h->ack) {
        *end = s->after;
        end = &s->after->next;
        s->after = s->after->next;
    }
    *end = NULL;
    if (!s->after)
        s->last_after = NULL;
    shi_lane_unlock(l);
    while (ready) {
        struct shi_after *a = ready;
        ready = a->next;
        a->done(a);
    }
}

void shi_ack_send(void)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    int *queue = shi_stream_net.ack_queue;
    for (int i = 0; i < shi_stream_net.n_ack_queue;) {
        uint32_t lanes;
        if (!shi_acks_due(&shi_stream_net.peer_rx[queue[i]].acks, shi_stream_net.polls, &lanes)) {
            i++;
            continue;
        }
        shi_lane_lock(l);
        for (; lanes; lanes &= lanes - 1)
            shi_batch_send(l, queue[i], 0);
        shi_lane_unlock(l);
        queue[i] = queue[--shi_stream_net.n_ack_queue];
    }
}

void shi_ack_forget(int pe)
{
    int *queue = shi_stream_net.ack_queue, n = 0;
    for (int i = 0; i < shi_stream_net.n_ack_queue; i++)
        if (queue[i] != pe)
            queue[n++] = queue[i];
    shi_stream_net.n_ack_queue = n;
    shi_stream_net.peer_rx[pe].acks = (struct shi_acks){.queued = 0};
}
