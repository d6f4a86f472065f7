/*
 * heartbeat.c - PEs that no longer answer, messages that are lost, debuggers. Only the thread that polls runs this; it takes a
 * lane's lock to send.
 */
#include "host/net/stream/heartbeat.h"

#include <stdio.h>

#include "host/net/stream/batch.h"
#include "host/net/stream/device_copy.h"
#include "host/net/stream/stream_device.h"
#include "host/net/stream/stream_wire.h"
#include "host/policy/limits.h"
#include "host/util/log.h"
#include "host/util/tracer.h"

#define NET (shi_stream_net.ops)

int shi_is_stashed(const struct peer_rx *x, int lane, uint64_t seq)
{
    const struct stashed *s = x->early;
    while (s && (((const struct head *)s->data)->lane != lane || ((const struct head *)s->data)->seq != seq))
        s = s->next;
    return s != NULL;
}

/* The next message of one of these lanes that is lost, which stashed ones wait for. 0: there is none. */
static uint64_t missing(const struct peer_rx *x, int *lane)
{
    *lane = SHI_NET_LANES;
    for (const struct stashed *s = x->early; s; s = s->next) {
        int of = ((const struct head *)s->data)->lane;
        if (of < *lane && !shi_is_stashed(x, of, x->acks.applied_seq[of] + 1))
            *lane = of;
    }
    return *lane < SHI_NET_LANES ? x->acks.applied_seq[*lane] + 1 : 0;
}

/* End the job when messages of a PE wait for `limit` for one that is lost. Any process may have caused a receive to fail, so
 * that alone is no reason. */
static void check_gap(int pe, struct peer_rx *x, uint64_t now, uint64_t limit)
{
    int lane;
    uint64_t seq = missing(x, &lane);
    if (seq != x->gap.seq || lane != x->gap.lane) {
        x->gap.seq = seq;
        x->gap.lane = lane;
        x->gap.since_ns = now;
    }
    if (seq && now - x->gap.since_ns > limit && !shi_stream_closing() && !shi_stream_suspect(pe))
        shi_die("network", "a message of PE %d is lost (number %lu); the last receive that failed here: %s (%s)", pe,
                (unsigned long)seq, shi_stream_net.receive_err ? NET->error(shi_stream_net.receive_err) : "none",
                NET->provider());
}

void shi_heartbeat_know(int pe)
{
    struct peer_rx *x = &shi_stream_net.peer_rx[pe];
    if (!x->known)
        shi_stream_net.known[shi_stream_net.n_known++] = pe;
    x->known = 1;
}

/* Operations of peers that a debugger has stopped may fill the network's queues. */
static int any_traced(void)
{
    for (int i = 0; i < shi_stream_net.n_known; i++)
        if (shi_stream_net.peer_rx[shi_stream_net.known[i]].traced)
            return 1;
    return 0;
}

/* Has pe been silent for so long that the network may refuse operations because of it? Its heartbeat decides. */
static int may_be_dead(int pe, uint64_t limit)
{
    const struct peer_rx *x = &shi_stream_net.peer_rx[pe];
    return x->known && shi_stream_net.now_ns - x->alive_ns > limit / 2;
}

static const char *text_of(const struct shi_net_overdue *o, char *out, size_t bytes)
{
    static const char *const names[] = {[SHI_NET_SENDS] = "a message", [SHI_NET_WRITES] = "a write", [SHI_NET_READS] = "a read",
                                        [SHI_NET_RECEIVES] = "receives"};
    int n = snprintf(out, bytes, "%s of %zu bytes", names[o->what], o->bytes);
    if (o->what != SHI_NET_RECEIVES)
        snprintf(out + n, bytes - (size_t)n, " %s PE %d", o->what == SHI_NET_READS ? "from" : "to", o->pe);
    return out;
}

/* End the job when the network does not end an operation, or does not accept it, although its PE answers, or the device does not end
 * its copies. A PE that a debugger has stopped may delay the network. */
static void check_operations(uint64_t limit)
{
    char text[96];
    double s = (double)limit / 1e9;
    struct shi_net_overdue o;
    if (NET->overdue(SHI_CHECKS, &o) && !shi_stream_net.peer_rx[o.pe].traced && !shi_stream_closing() && !shi_stream_suspect(o.pe))
        shi_die("network", "%s has not ended for %g s (SHMEM_HEARTBEAT, %s)", text_of(&o, text, sizeof text), s, NET->provider());
    if (NET->refused(SHI_REFUSED_CHECKS, &o) && !any_traced() && !may_be_dead(o.pe, limit) && !shi_stream_closing() && !shi_stream_suspect(o.pe))
        shi_die("network", "libfabric has refused %s for want of room for %g s (SHMEM_HEARTBEAT, %s)",
                text_of(&o, text, sizeof text), s * SHI_REFUSED_CHECKS / SHI_CHECKS, NET->provider());
    uint64_t copies = shi_device_copies_overdue(SHI_CHECKS);
    if (copies && !shi_stream_net.traced && !shi_stream_closing()) /* a debugger may stop the device */
        shi_die("network", "the device has ended none of %lu copies for %g s (SHMEM_HEARTBEAT)", (unsigned long)copies, s);
}

/* PEs that a lane has sent its first message. */
static void know_used(void)
{
    for (int i = 0, n = shi_stream_n_lanes(); i < n; i++) {
        struct shi_lane *l = shi_stream_net.lane[i];
        for (int used = __atomic_load_n(&l->n_used, __ATOMIC_ACQUIRE); l->n_known < used; l->n_known++) /* A3 */
            shi_heartbeat_know(l->used[l->n_known]);
    }
}

/* Ask about messages that have no acknowledgement: behind a lost one, the question is what shows the gap. Lane 0 needs none,
 * as it carries the pings. */
static void ask_lanes(void)
{
    for (int i = 1, n = shi_stream_n_lanes(); i < n; i++) {
        struct shi_lane *l = shi_stream_net.lane[i];
        shi_lane_lock(l);
        for (int k = 0; k < l->n_used; k++) {
            struct stream *s = &l->to[l->used[k]];
            if (!s->ready && s->order.acked_seq < s->order.sent_seq && s->order.acked_seq == s->stalled_seq)
                shi_batch_send(l, l->used[k], ACK_NOW);
            s->stalled_seq = s->order.acked_seq;
        }
        shi_lane_unlock(l);
    }
}

/* Look for a debugger now and then, and send all PEs a message when it comes or goes: a PE that it stops answers no heartbeat.
 * PEs that are not met yet get it too, as their first message could come to a stopped PE. The system calls take 10 us. */
static void look_for_tracer(void)
{
    uint64_t now = shi_stream_net.now_ns;
    if (!shi_stream_net.silence_ns || now - shi_stream_net.tracer_ns < SHI_TRACER_NS)
        return;
    uint32_t traced = shi_is_traced() ? TRACED : 0;
    shi_stream_net.tracer_ns = now;
    if (traced == shi_stream_net.traced)
        return;
    __atomic_store_n(&shi_stream_net.traced, traced, __ATOMIC_RELAXED);
    struct shi_lane *l = shi_stream_net.lane[0];
    for (int pe = 0; pe < shi_stream_net.n_pes && !shi_stream_closing(); pe++) {
        shi_lane_lock(l);
        if (pe != shi_stream_net.me)
            shi_batch_send(l, pe, ACK_NOW);
        shi_lane_unlock(l);
    }
}

/* Bytes that this PE reads from pe, on the lane of pings. */
static size_t reads_from(int pe)
{
    struct shi_lane *l = shi_stream_net.lane[0];
    shi_lane_lock(l);
    size_t bytes = NET->in_flight(l->net, pe, SHI_NET_READS);
    shi_lane_unlock(l);
    return bytes;
}

/* How long a PE may be silent: its messages may arrive behind data that it writes here, or that this PE reads. What was to be read when
 * it became silent counts until it answers: while the data arrives, less is to be read, but the silence grows. */
static uint64_t patience(int pe, struct peer_rx *x, uint64_t silent, uint64_t limit)
{
    size_t reads = silent > limit / 3 ? reads_from(pe) : 0;
    x->reads = silent <= limit / 3 ? 0 : reads > x->reads ? reads : x->reads;
    return limit * shi_net_patience(1, x->reads + bulk_bytes(x->bulk));
}

/* Ping a known peer after limit/3 of silence; declare it dead after limit or the longer patience, unless a debugger is attached to it. */
static void check_heartbeats(void)
{
    uint64_t now = shi_stream_net.now_ns, limit = shi_stream_net.silence_ns;
    if (!limit || now - shi_stream_net.checked_ns < limit / SHI_CHECKS)
        return;
    int overslept = now - shi_stream_net.checked_ns > limit / 3; /* this PE itself was stopped */
    int asks = now - shi_stream_net.asked_ns > limit / 3;
    shi_stream_net.checked_ns = now;
    shi_stream_net.asked_ns = asks ? now : shi_stream_net.asked_ns;
    know_used();
    if (asks)
        ask_lanes();
    check_operations(limit);
    for (int i = 0; i < shi_stream_net.n_known; i++) {
        int pe = shi_stream_net.known[i];
        struct peer_rx *x = &shi_stream_net.peer_rx[pe];
        if (shi_unlikely(x->lost))
            continue;
        if (overslept || x->alive_ns == 0)
            x->alive_ns = x->gap.since_ns = now;
        uint64_t silent = now - x->alive_ns, longest = patience(pe, x, silent, limit);
        if (silent > longest && !x->traced && !shi_stream_closing() && !shi_stream_suspect(pe))
            shi_die("network", "PE %d has not answered for %lu s (SHMEM_HEARTBEAT): its host or the link to it is down", pe,
                    (unsigned long)(longest / 1000000000));
        if (silent > limit / 3 && now - x->pinged_ns > limit / 3) {
            struct shi_lane *l = shi_stream_net.lane[0];
            x->pinged_ns = now;
            shi_lane_lock(l);
            shi_batch_send(l, pe, ACK_NOW);
            shi_lane_unlock(l);
        }
        if (!x->traced)
            check_gap(pe, x, now, limit);
    }
}

void shi_heartbeat_poll(void)
{
    look_for_tracer();
    check_heartbeats();
}
