/*
 * order.h - order and completion of what a lane sends to one PE: sequence numbers in, decisions out.
 *
 * No I/O, no locks, no calls of a transport: the caller sends, flushes and polls as these functions decide. Sequence
 * numbers count the messages of one stream, from 1. `fences` is the number of fences of the lane so far, `ordered` is
 * SHI_NET_SAW and SHI_NET_WAW as the transport promises them. The lane's lock guards everything here, except
 *
 *   word                     written by               read by             order
 *   order.sent_seq           holder of the lock       polling thread      relaxed: heartbeats need only whether it is 0;
 *                                                                        an acknowledgement follows its message
 *   order.acked_seq          polling thread, locked   it, without lock    relaxed: its own store
 *   order.flushes_ended      callback of the flush    holders of the lock R1 -> A1
 *   acks.applied_seq[lane]   polling thread           senders             R2 -> A2
 *   acks.queued              polling thread, fetch-or senders, fetch-and  R3 -> A3
 *   the rest of acks         polling thread           polling thread      plain
 *
 * E1 (R1 -> A1)  a flush has ended: the buffers of the transfers before it are the caller's again.
 * E2 (R2 -> A2)  a message's records are applied before any message acknowledges it.
 * E3 (R3 -> A3)  the message that clears the bit carries the applied_seq that was stored before the bit was set.
 * Checked by test/unit/order.c against an oracle, and by test/model/stream.pml (quiet, E2, E3) and test/model/order.pml
 * (fences and writes), whose mutants are one-line changes here and in order.c.
 */
#ifndef SHI_ORDER_H
#define SHI_ORDER_H

#include "host/net/fabric/net.h"
#include "host/policy/limits.h"

/* What a message asks of its receiver: an acknowledgement soon, in the head of any message; or at once. */
enum { ACK_SOON = 1, ACK_NOW = 2, ACK_ANY = 3 };

/*
 * A wait for what was issued before it began: quiet, or a wait for buffers. Other threads may issue more meanwhile, without end.
 * So a lane numbers its waits from 1, and a stream serves them in rounds. A round notes what is outstanding when it begins,
 * ends when that is complete, and serves all waits that began before it. A wait lasts for two rounds at most.
 */
struct shi_wait_round {
    uint64_t of;     /* the lane's last wait when the round began; 0: no round is in progress */
    uint64_t served; /* all that was issued before this wait began is complete */
    uint64_t seq, flush; /* the message that must be acknowledged, the flush that must have ended */
    uint64_t late;   /* a write to late memory that must be settled; 0: none */
};

/* What a lane has sent to one PE. */
struct shi_order {
    uint64_t sent_seq;     /* last message that is closed; the open one is sent_seq + 1 */
    uint64_t flush_seq;    /* last message with a record that quiet waits for */
    uint64_t placed_seq;   /* its acknowledgement confirms all writes but those of writes_unconfirmed */
    uint64_t ack_req_seq;  /* last message that asked for an acknowledgement */
    uint64_t acked_seq;    /* the target has applied all messages up to this one */
    uint64_t fence_seq;    /* flush_seq when record_epoch began: what a write must not overtake */
    uint64_t record_epoch; /* fences when the last record came */
    uint64_t writes;       /* posted */
    uint64_t writes_fenced;    /* posted when last_write_epoch began */
    uint64_t last_write_epoch; /* fences when the last write was posted */
    uint32_t run, last_run;    /* messages with a record since the caller last waited for all; until it did */
    uint64_t late_write;   /* the last write to late memory that no message settles yet; 0: none */
    uint64_t settle_seq;     /* last message that settles writes to late memory */
    uint64_t settled_writes; /* how many writes it settles */
    uint64_t flushes, flushes_ended; /* started, one at a time; ended */
    uint64_t flush_writes[2];   /* writes posted before flush number n: [n % 2] */
    uint8_t writes_unconfirmed; /* with SHI_NET_SAW: writes since the last message with ACK_ flags */
    uint8_t rma_unflushed;      /* writes or reads since the last flush */
    uint8_t ack_wanted;         /* ACK_ flags that the next message must carry */
    struct shi_wait_round quiet, local;
};

/* What this PE has applied of the streams of another one, and has to acknowledge. */
struct shi_acks {
    uint64_t applied_seq[SHI_NET_LANES];
    uint64_t queued_at; /* the poll that last queued an acknowledgement; 0: none is queued */
    uint32_t queued;    /* a bit for each lane */
    uint8_t now;        /* ACK_NOW was among what asked */
};

/* ---- sending ------------------------------------------------------------------------------------------------------ */

/* A record that quiet waits for enters the open message. */
static inline void shi_order_record(struct shi_order *o, uint64_t fences)
{
    if (o->record_epoch != fences) {
        o->fence_seq = o->flush_seq;
        o->record_epoch = fences;
    }
    o->flush_seq = o->sent_seq + 1;
}

/* May a message leave before it is full? */
static inline int shi_order_in_window(const struct shi_order *o)
{
    return o->sent_seq - o->acked_seq < SHI_ORDER_WINDOW;
}

/* Must a record wait until the target has applied earlier messages? */
static inline int shi_order_is_far(const struct shi_order *o)
{
    return o->sent_seq - o->acked_seq >= SHI_ORDER_MOST;
}

/* Message seq is being closed. Will the caller probably wait for it at once? It will if it waited after as many messages
 * before: a put and its quiet then take one message each way, and a burst of puts saves the message that asks. */
static inline int shi_order_expects_wait(struct shi_order *o, uint64_t seq)
{
    return o->flush_seq == seq && ++o->run == o->last_run;
}

/* The caller waits for the acknowledgement of seq, and has asked for it. */
static inline void shi_order_awaited(struct shi_order *o, uint64_t seq)
{
    if (o->run && seq >= o->flush_seq) {
        o->last_run = o->run;
        o->run = 0;
    }
}

/* Close the open message, for which the caller requests `flags`. Returns the flags that it must carry. */
static inline uint32_t shi_order_close(struct shi_order *o, uint32_t flags, int has_records)
{
    uint64_t seq = o->sent_seq + 1;
    __atomic_store_n(&o->sent_seq, seq, __ATOMIC_RELAXED);
    flags |= o->ack_wanted;
    if (shi_order_expects_wait(o, seq))
        flags |= ACK_NOW;
    else if (!flags && has_records && seq - (o->ack_req_seq > o->acked_seq ? o->ack_req_seq : o->acked_seq) >= SHI_ORDER_ACK_EVERY)
        flags = ACK_SOON;
    if (flags) {
        o->ack_req_seq = seq;
        o->placed_seq = o->writes_unconfirmed ? seq : o->placed_seq;
        o->ack_wanted = o->writes_unconfirmed = 0;
    }
    return flags;
}

/* The receiver has applied all messages up to seq. 0: known before. */
static inline int shi_order_is_news(const struct shi_order *o, uint64_t seq)
{
    return seq > __atomic_load_n(&o->acked_seq, __ATOMIC_RELAXED);
}

/* Has message seq been closed? Needs no lock: an acknowledgement follows its message. */
static inline int shi_order_was_sent(const struct shi_order *o, uint64_t seq)
{
    return seq <= __atomic_load_n(&o->sent_seq, __ATOMIC_RELAXED);
}

static inline void shi_order_acked(struct shi_order *o, uint64_t seq)
{
    __atomic_store_n(&o->acked_seq, seq, __ATOMIC_RELAXED);
}

static inline uint64_t shi_order_writes_ended(const struct shi_order *o);

/* The message whose acknowledgement confirms all records and writes so far: the next one while writes are unconfirmed.
 * A write to late memory that has not ended is not among them. */
static inline uint64_t shi_order_complete_seq(const struct shi_order *o)
{
    uint64_t seq = o->flush_seq > o->placed_seq ? o->flush_seq : o->placed_seq;
    int open = o->writes_unconfirmed || (o->late_write && shi_order_writes_ended(o) >= o->late_write);
    return open ? o->sent_seq + 1 : seq > o->settle_seq ? seq : o->settle_seq;
}

/* Must a message be sent that asks for an acknowledgement of seq? */
static inline int shi_order_must_ask(const struct shi_order *o, uint64_t seq)
{
    return o->acked_seq < seq && o->ack_req_seq < seq;
}

/* ---- writes and reads --------------------------------------------------------------------------------------------- */

/* Is no flush under way? */
static inline int shi_order_flushed(const struct shi_order *o)
{
    return __atomic_load_n(&o->flushes_ended, __ATOMIC_ACQUIRE) == o->flushes; /* A1 */
}

/* Have all writes and reads ended? */
static inline int shi_order_rma_ended(const struct shi_order *o)
{
    return !o->rma_unflushed && shi_order_flushed(o);
}

/* How many writes, from the first, are known to have ended. */
static inline uint64_t shi_order_writes_ended(const struct shi_order *o)
{
    return o->flush_writes[__atomic_load_n(&o->flushes_ended, __ATOMIC_ACQUIRE) % 2]; /* A1 */
}

/* Must a flush be started for that? */
static inline int shi_order_must_flush(const struct shi_order *o)
{
    return o->rma_unflushed && shi_order_flushed(o);
}

/* A flush has been started; under_way 0: there was nothing to wait for. */
void shi_order_flush_started(struct shi_order *o, int under_way);

/* The flush has ended. Needs no lock. */
void shi_order_flush_ended(struct shi_order *o);

/* A write or read without a request was posted. */
void shi_order_write(struct shi_order *o, uint64_t fences, int ordered);
void shi_order_read(struct shi_order *o);

/*
 * Late memory: device memory in which data of a write can become visible after a later message (SHI_NET_LATE). A message that
 * settles such writes is applied once all data that came before it is visible. A message does that which follows one of them or is
 * closed when one has ended, unless an earlier message has settled it.
 */

/* The write that shi_order_write has counted was one to late memory. */
static inline void shi_order_write_late(struct shi_order *o)
{
    o->late_write = o->writes;
}

/* Must the message that was closed last settle writes? follows: how many it follows by its count, or 0. */
int shi_order_settles(struct shi_order *o, int ordered, uint64_t follows);

/* How many writes a record or write must follow: all with after_writes, else those before the last fence. A call that waits asks
 * once, so that it does not wait for writes that other threads start later. */
static inline uint64_t shi_order_behind(const struct shi_order *o, uint64_t fences, int after_writes)
{
    return after_writes || o->last_write_epoch != fences ? o->writes : o->writes_fenced;
}

/* The message that must be acknowledged before a write may be posted: the last one with a record before the last fence. */
uint64_t shi_order_write_behind(const struct shi_order *o, uint64_t fences);

/* May a record (SHI_NET_SAW), a write (SHI_NET_WAW) that must follow n writes be started now, or must they end? 0: start a flush where
 * shi_order_must_flush says so, and ask again; a record may also be sent that the target applies behind them (written.h). */
static inline int shi_order_may_go(const struct shi_order *o, uint64_t n, int ordered)
{
    return ordered || shi_order_writes_ended(o) >= n;
}

/* Is all that was sent known to be complete at the target? */
int shi_order_is_complete(const struct shi_order *o);

/* Begin a round, unless one is in progress. wait: the lane's last; seq: the message that must be acknowledged; settle: writes to
 * late memory must be settled, too. */
void shi_order_begin_round(const struct shi_order *o, struct shi_wait_round *r, uint64_t wait, uint64_t seq, int settle);

/* Has the round ended? If not, the caller sees to it that an acknowledgement of r->seq is requested and that a flush is started
 * where shi_order_must_flush says so, and asks again. */
int shi_order_round_ended(const struct shi_order *o, struct shi_wait_round *r);

/* ---- acknowledging ------------------------------------------------------------------------------------------------ */

/* Is seq the next message of the lane to be applied? */
static inline int shi_acks_is_next(const struct shi_acks *a, int lane, uint64_t seq)
{
    return seq == a->applied_seq[lane] + 1;
}

/* All records of message seq are applied. */
static inline void shi_acks_applied(struct shi_acks *a, int lane, uint64_t seq)
{
    __atomic_store_n(&a->applied_seq[lane], seq, __ATOMIC_RELEASE); /* R2 */
}

/* That message asked for an acknowledgement with these flags, in the poll of this number. 1: it is the first one queued. */
int shi_acks_queue(struct shi_acks *a, int lane, uint32_t flags, uint64_t poll);

/* The lane that the next message acknowledges, which is one that is queued if there is any; and up to which message. */
static inline int shi_acks_take(struct shi_acks *a, uint64_t *seq)
{
    uint32_t lanes = __atomic_load_n(&a->queued, __ATOMIC_RELAXED);
    int lane = lanes ? __builtin_ctz(lanes) : 0;
    if (lanes)
        __atomic_fetch_and(&a->queued, ~(1U << lane), __ATOMIC_ACQUIRE); /* A3 */
    *seq = __atomic_load_n(&a->applied_seq[lane], __ATOMIC_ACQUIRE); /* A2 */
    return lane;
}

/* At the end of a poll: must separate messages carry the queued acknowledgements? They must if ACK_NOW was requested,
 * or if it was queued before the last poll, so that the program had time to send messages that would have carried it.
 * 1, and *lanes are queued no longer once a message was sent for each; 0: later. */
int shi_acks_due(struct shi_acks *a, uint64_t poll, uint32_t *lanes);

/* ---- fairness ----------------------------------------------------------------------------------------------------- */

/* Is a wait for room overtaken that began when `since` messages were closed? They have left and, at SHI_ORDER_MOST, are acknowledged, and
 * others have taken their room. Such a wait takes room beyond the limits, of at most one message for each wait of the messages before:
 * as many as threads wait. */
static inline int shi_order_is_overtaken(const struct shi_order *o, uint64_t since, int n_ready)
{
    return o->sent_seq - (uint64_t)n_ready >= since && (o->acked_seq >= since || !shi_order_is_far(o));
}

/* Which of n streams that wait for room tries first, given how many tries have failed: a count that may wrap. */
static inline int shi_order_first(unsigned failed, int n)
{
    return (int)(failed % (unsigned)n);
}

#endif
