/*
 * order.pml - models the decisions of order.h: fence, quiet and a signal after its data, when writes go beside a stream
 * of messages, on a transport with any order; and messages that follow writes (written.h).
 *
 *   model        protocol
 *   source       a lane of one PE that sends to another: the functions of order.h, with the same names
 *   network      messages are applied in the order of sending; with SHI_NET_SAW after earlier writes. Writes land, with
 *                SHI_NET_WAW after earlier writes, else at any time. They complete at any time with SHI_NET_SAW, else
 *                once they have landed; a flush completes when they have
 *   by           how the target knows which writes are in place (enum shi_written_by)
 *   follows[k]   the writes that message k follows: a count; first[n]: a mask of the first n writes
 *   reported     writes whose immediate data the target has read; counter: as in the target's memory
 *   op[k]        a write, a record, or a record after all writes (put-with-signal); epoch[k]: fences before it;
 *                after[k]: the writes before its first try
 *   landed       operations that are visible at the target: a mask
 *   waits        of other threads that have begun, each for the operations in waits_for; round_of, served, seq, flush_no: struct shi_wait_round
 *
 * Asserted: when an operation lands, those before the last fence have landed, and for a signal all earlier writes;
 * whenever shi_order_is_complete returns true, all operations have landed; once a message that shi_stream_after waits for is
 * acknowledged, all operations before it; once a wait is served, all operations before it. A quiet that never returns is an invalid end
 * state. The choice of the next stream that waits for buffers is always a valid one.
 * Bound: 5 records, writes, fences or checks for completion, then quiet; each record in its own message.
 *
 * mutant 1  assert  shi_order_is_complete forgets the flush
 * mutant 2  assert  shi_order_may_go: records start after writes where only writes may (SHI_NET_WAW)
 * mutant 3  assert  a transport with SHI_NET_SAW but without SHI_NET_WAW is assumed to have both
 * mutant 4  assert  shi_order_write_behind forgets the records of the epoch before the last fence
 * mutant 5  assert  the end of a flush ends writes that were posted after it began
 * mutant 6  assert  shi_order_close clears writes_unconfirmed without setting placed_seq
 * mutant 7  end     shi_order_flush_started does not count the writes before the flush
 * mutant 8  assert  shi_order_first: the count of tries is signed, and overflows
 * mutant 9  end     shi_order_must_ask checks the last message sent, not the last one that requested an acknowledgement
 * mutant 10 assert  shi_order_behind: a signal follows only the writes before the last fence
 * mutant 11 assert  shi_order_behind: a record follows no write that is not the last fence's
 * mutant 12 assert  the target counts the writes that are in place, whatever their numbers
 * mutant 13 assert  the counter is written ahead of the writes that it announces
 * mutant 14 assert  shi_stream_after waits for the records only
 * mutant 15 assert  shi_order_begin_round forgets the writes since the last flush
 * mutant 16 assert  shi_order_round_ended serves waits that began after the round
 * mutant 17 assert  a round waits for the records only
 */
#define M(n) (MUTANT == n)
#define OPERATIONS 5
#define MESSAGES 10
#define SAW 1
#define WAW 2
#define WRITE 1
#define RECORD 2
#define SIGNAL 3
#define END 0
#define IMMEDIATE 1
#define COUNTER 2

byte ordered, real; /* the promised order; the network's order */
byte sent_seq, flush_seq, placed_seq, ack_req_seq, acked_seq, fence_seq, record_epoch, fences;
byte flushing_writes, ended_writes; /* posted before the last flush; before the last one that has ended */
bit writes_unconfirmed, rma_unflushed, returned;
byte flushes, flushes_ended, waits, waits_for[3], round_of, served, seq, flush_no;

byte n_ops, op[OPERATIONS + 1], epoch[OPERATIONS + 1], after[OPERATIONS + 1], must, landed, writes, covered, applied;
byte of_message[MESSAGES + 1], behind[MESSAGES + 1]; /* the operation in the message, or 0; writes posted before it */
bit asks[MESSAGES + 1], queued, others; /* others: another thread has started a write beside a record that waits */
byte by, posted, fenced, last_write_epoch, follows[MESSAGES + 1], first[OPERATIONS + 1], reported, announced, counter;
byte after_seq, after_ops; /* shi_stream_after: the message that it waits for, the operations before it */

#define flushing (flushes_ended != flushes)
#define rma_ended (!rma_unflushed && !flushing)
#define must_flush (rma_unflushed && !flushing)
#define complete_seq (writes_unconfirmed -> sent_seq + 1 : (flush_seq > placed_seq -> flush_seq : placed_seq))
#define is_complete (acked_seq >= complete_seq && (M(1) || rma_ended))
#define must_ask(s) (acked_seq < (s) && (M(9) -> sent_seq : ack_req_seq) < (s))
#define record_may_go(n) ((ordered & (M(2) -> WAW : SAW)) || ended_writes >= (n))
#define write_behind (record_epoch != fences && !M(4) -> flush_seq : fence_seq)
#define write_may_go ((ordered & WAW) || ended_writes >= record_behind(0))

#define record_behind(after) (((after) && !M(10)) || last_write_epoch != fences -> posted : (M(11) -> 0 : fenced))
#define bits(m) (((m) >> 1 & 1) + ((m) >> 2 & 1) + ((m) >> 3 & 1) + ((m) >> 4 & 1) + ((m) >> 5 & 1))
#define in_place(n) (by == COUNTER -> counter >= (n) : (M(12) -> bits(reported) >= (n) : !(first[n] & ~reported)))

inline close(operation, ask, n) {
    sent_seq++;
    follows[sent_seq] = n;
    of_message[sent_seq] = operation;
    behind[sent_seq] = writes;
    asks[sent_seq] = ask;
    if
    :: ask ->
        ack_req_seq = sent_seq;
        placed_seq = (writes_unconfirmed && !M(6) -> sent_seq : placed_seq);
        writes_unconfirmed = 0
    :: else
    fi
}

inline flush() {
    d_step { covered = writes; flushing_writes = (M(7) -> 0 : posted); flushes++; rma_unflushed = 0 }
}

inline ask() {
    d_step { close(0, 1, 0) }
}

/* What a record must follow is fixed at its first try; another thread may start writes later. */
inline record(kind, asking) {
    d_step { n = record_behind(kind == SIGNAL); must = (kind == SIGNAL -> writes : 0) }
    do
    :: d_step { by != END || record_may_go(n) ->
        n = (record_may_go(n) -> 0 : n);
        announced = (n -> posted : announced);
        n_ops++;
        op[n_ops] = kind;
        epoch[n_ops] = fences;
        after[n_ops] = must;
        if :: record_epoch != fences -> fence_seq = flush_seq; record_epoch = fences :: else fi;
        flush_seq = sent_seq + 1;
        close(n_ops, asking, n);
        n = 0;
        must = 0 }
        break
    :: by == END && !record_may_go(n) && must_flush -> flush()
    :: d_step { by == END && !record_may_go(n) && !others && n_ops < OPERATIONS - 1 && record_epoch == fences && acked_seq >= fence_seq && write_may_go ->
        others = 1;
        post_write() }
    od
}

inline post_write() {
    n_ops++;
    op[n_ops] = WRITE;
    epoch[n_ops] = fences;
    writes = writes | 1 << n_ops;
    if :: last_write_epoch != fences -> fenced = posted; last_write_epoch = fences :: else fi;
    posted++;
    first[posted] = writes;
    writes_unconfirmed = ordered & SAW;
    rma_unflushed = 1
}

inline write() {
    do
    :: d_step { acked_seq >= write_behind && write_may_go ->
        post_write() }
        break
    :: must_ask(write_behind) -> ask()
    :: acked_seq >= write_behind && !write_may_go && must_flush -> flush()
    od
}

/* Where the network keeps no order; with SHI_NET_SAW it is quiet's decision. */
inline confirm() {
    d_step { by != END && after_seq == 0 ->
        after_ops = (2 << n_ops) - 2;
        n = (rma_ended || M(14) -> 0 : posted);
        announced = (n -> posted : announced);
        close(0, 1, n);
        after_seq = sent_seq }
}

inline begin_wait() {
    d_step { waits < 2 -> waits++; waits_for[waits] = (2 << n_ops) - 2 }
}

/* One try of a wait, by any thread. */
inline look() {
    d_step { (!round_of && served < waits) || (round_of && flushes_ended >= flush_no && acked_seq >= seq) ->
        if
        :: !round_of && served < waits ->
            round_of = waits;
            seq = (M(17) -> flush_seq : complete_seq);
            flush_no = flushes + (M(15) -> 0 : rma_unflushed)
        :: else
        fi;
        if
        :: round_of && flushes_ended >= flush_no && acked_seq >= seq ->
            served = (M(16) -> waits : round_of);
            assert(!(waits_for[served] & ~landed));
            round_of = 0
        :: else
        fi }
}

#define all_landed (landed == (2 << n_ops) - 2)

proctype source() {
    byte i, n;
    for (i : 1 .. OPERATIONS) {
        if :: i + others > OPERATIONS -> break :: else fi;
        if
        :: fences++
        :: record(RECORD, 0)
        :: record(RECORD, 1)
        :: record(SIGNAL, 0)
        :: write()
        :: atomic { is_complete -> assert(all_landed) }
        :: confirm()
        :: begin_wait()
        :: look()
        fi
    }
    do
    :: d_step { is_complete && served == waits -> assert(all_landed); returned = 1 }; break
    :: look()
    :: round_of && must_ask(seq) -> ask()
    :: !is_complete && must_flush -> flush()
    :: !is_complete && must_ask(complete_seq) -> ask()
    od
}

inline land(k) {
    d_step {
        i = 1;
        do
        :: i < k ->
            assert(landed & 1 << i || (epoch[i] == epoch[k] && !(after[k] & 1 << i)));
            i++
        :: else -> break
        od;
        landed = landed | 1 << k;
        i = 0
    }
}

#define earlier(k) (writes & ((1 << (k)) - 1))

proctype network() {
    byte i, k;
    do
    :: atomic { applied < sent_seq && (!(real & SAW) || !(behind[applied + 1] & ~landed)) &&
                (!follows[applied + 1] || in_place(follows[applied + 1])) ->
        applied++;
        queued = queued | asks[applied];
        if :: of_message[applied] -> land(of_message[applied]) :: else fi }
    :: atomic { writes & ~landed ->
        k = 0;
        if
        :: writes & ~landed & 2 -> k = 1
        :: writes & ~landed & 4 -> k = 2
        :: writes & ~landed & 8 -> k = 3
        :: writes & ~landed & 16 -> k = 4
        :: writes & ~landed & 32 -> k = 5
        fi;
        if
        :: !(real & WAW) || !(earlier(k) & ~landed) -> land(k)
        :: else
        fi;
        k = 0 }
    :: d_step { queued ->
        queued = 0;
        acked_seq = applied;
        assert(!after_seq || acked_seq < after_seq || !(after_ops & ~landed)) }
    :: d_step { by == IMMEDIATE && landed & writes & ~reported -> reported = landed & writes }
    :: d_step { counter < announced && (M(13) || !(first[announced] & ~landed)) -> counter = announced }
    :: d_step { flushing && (real & SAW || !(covered & ~landed)) -> flushes_ended = flushes; ended_writes = (M(5) -> posted : flushing_writes) }
    :: returned -> break
    od
}

/* Counts of 3 bits, of two streams. */
inline fairness() {
    byte failed;
    d_step {
        do
        :: failed < 8 ->
            assert((M(8) && failed > 3 -> failed - 8 : failed) % 2 >= 0);
            failed++
        :: else -> break
        od
    }
}

init {
    if
    :: skip /* END, no order */
    :: by = IMMEDIATE
    :: ordered = WAW; by = COUNTER
    :: ordered = SAW | WAW
    fi;
    real = (M(3) && ordered & SAW -> SAW : ordered);
    fairness();
    atomic { run source(); run network() }
}
