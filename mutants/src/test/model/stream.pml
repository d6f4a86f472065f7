/*
 * stream.pml - models shmem_quiet over the network: writes beside a stream of messages, which the head of every message
 * in the other direction acknowledges (order.h).
 *
 *   model        protocol
 *   source       a lane of one PE: shi_order_write, shi_order_close, shi_order_complete_seq; then quiet
 *   poller       the target's thread that applies messages: records, then applied_seq, then a bit of acks.queued
 *   sender       a thread of the target that sends its own messages, with acknowledgements in their heads
 *   applied      the last message whose records the poller has stored
 *   in_place[k]  masks of these stores: [0] visible to sender, [1] visible to all, such as the network's hardware
 *   seq, seen    applied_seq as stored by poller, and as visible to sender
 *   whole        a lane is initialized, and counted in n_lanes; seen_whole, seen_counted: as visible to the poller
 *   queued       the bit of this lane; queued_seq: ghost, seq when it was set
 *
 * E1  an acknowledgement for a lane that is counted finds it initialized (R1 -> A1 of lane.h).
 * E2  a message is acknowledged only when its records are visible to all: applied_seq is released (R2) after them, and
 *     acquired (A2) before the head is written.
 * E3  the sender that takes the bit reads the seq that was stored before it (R3 -> A3), so that no acknowledgement is
 * lost. Asserted: when quiet returns, all earlier writes and records have landed. A quiet that never returns is an
 * invalid end state.
 * Bound: 3 writes or messages, each message with or without a record and a request to acknowledge it; quiet; 2 messages
 * of the sender.
 *
 * mutant 1  assert  shi_order_close clears writes_unconfirmed without setting placed_seq
 * mutant 2  assert  R2 is weakened: seq becomes visible before the records
 * mutant 3  assert  A2 is weakened: the acknowledgement leaves before the records are visible to all
 * mutant 4  end     R3 or A3 is weakened: the bit becomes visible before seq
 * mutant 5  end     shi_acks_take reads seq, then takes the bit
 * mutant 6  assert  a transport is assumed to order messages after writes (SHI_NET_SAW) and does not
 * mutant 7  assert  R1 or A1 of lane.h is weakened: a lane is counted before its initialization is visible
 */
#define M(n) (MUTANT == n)
#define OPERATIONS 3
#define SENT 2
#define MESSAGES (OPERATIONS + 1)
#define UP_TO(k) ((1 << ((k) + 1)) - 2) /* messages 1 to k */

byte sent_seq, ack_req_seq, flush_seq, placed_seq, acked_seq, writes, landed, records;
byte before[MESSAGES + 1]; /* writes posted before the message */
bit asks[MESSAGES + 1], writes_unconfirmed, returned;
byte applied, in_place[2], seq, seen, queued_seq;
bit queued;

#define COMPLETE_AT (writes_unconfirmed -> sent_seq + 1 : (flush_seq > placed_seq -> flush_seq : placed_seq))

inline post(record, ask) {
    d_step {
        sent_seq++;
        before[sent_seq] = writes;
        asks[sent_seq] = ask;
        if :: record -> flush_seq = sent_seq; records = records | 1 << sent_seq :: else fi;
        if
        :: ask ->
            ack_req_seq = sent_seq;
            placed_seq = (writes_unconfirmed && !M(1) -> sent_seq : placed_seq);
            writes_unconfirmed = 0
        :: else
        fi
    }
}

proctype source() {
    byte n, count;
    for (n : 1 .. OPERATIONS) {
        if
        :: d_step { writes = writes | 1 << count; count++; writes_unconfirmed = 1 }
        :: post(1, 0)
        :: post(1, 1)
        :: post(0, 1)
        fi
    }
    if :: acked_seq < COMPLETE_AT && ack_req_seq < COMPLETE_AT -> post(0, 1) :: else fi;
    acked_seq >= COMPLETE_AT -> /* no later step changes this */
    assert(landed == writes && !(records & ~in_place[1]));
    returned = 1
}

/* Writes land at any time. */
proctype network() {
    do
    :: writes & ~landed & 1 -> landed = landed | 1
    :: writes & ~landed & 2 -> landed = landed | 2
    :: writes & ~landed & 4 -> landed = landed | 4
    :: returned -> break
    od
}

inline acknowledge(k) {
    d_step { acked_seq = (k > acked_seq -> k : acked_seq) }
}

proctype poller() {
    byte own;
    do
    :: d_step { applied < sent_seq && (M(6) || !(before[applied + 1] & ~landed)) -> applied++ };
        seq = applied;
        if :: asks[applied] -> d_step { queued = 1; queued_seq = seq } :: else fi
    :: atomic { queued -> queued = 0; own = seq };
        !(UP_TO(own) & ~in_place[1]) -> acknowledge(own)
    :: returned -> break
    od
}

/* The poller's stores become visible to others, each at any time. */
proctype memory() {
    byte k;
end:
    do
    :: d_step { UP_TO(applied) & ~in_place[0] ->
        k = 1;
        do :: in_place[0] & 1 << k -> k++ :: else -> break od;
        in_place[0] = in_place[0] | 1 << k }
    :: d_step { UP_TO(applied) & ~in_place[1] ->
        k = 1;
        do :: in_place[1] & 1 << k -> k++ :: else -> break od;
        in_place[1] = in_place[1] | 1 << k }
    :: seen < seq && (M(2) || !(UP_TO(seen + 1) & ~in_place[0])) -> seen++
    od
}

/* Messages of the target's program. */
proctype sender() {
    byte k, n;
    for (n : 1 .. SENT) {
        if :: break :: skip fi;
        if
        :: M(5) -> k = seen; if :: queued -> queued = 0 :: !queued fi
        :: atomic { !M(5) && queued && (M(4) || seen >= queued_seq) -> queued = 0; k = seen }
        :: !M(5) && !queued -> k = seen
        fi;
        M(2) || M(3) || !(UP_TO(k) & ~in_place[1]) -> acknowledge(k)
    }
}

/* Before that: a lane is created while an acknowledgement for it may arrive. */
bit whole, counted, seen_whole, seen_counted, taken;

proctype maker() {
    d_step { whole = 1; counted = 1 } /* they become visible one by one */
}

proctype maker_memory() {
    do
    :: counted && !seen_counted && (M(7) || seen_whole) -> seen_counted = 1
    :: whole && !seen_whole -> seen_whole = 1
    :: taken -> break
    od
}

proctype taker() {
    seen_counted -> assert(seen_whole);
    taken = 1
}

init {
    atomic { run maker(); run maker_memory(); run taker() };
    _nr_pr == 1;
    d_step { whole = 0; counted = 0; seen_whole = 0; seen_counted = 0; taken = 0 };
    atomic { run source(); run network(); run poller(); run memory(); run sender() }
}
