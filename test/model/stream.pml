/*
 * stream.pml - models what shmem_quiet over the network rests on: writes beside a stream of messages, acknowledged in the
 * head of every message the other way (stream.c, stream_rx.c).
 *
 *   model        protocol
 *   source       a lane of one PE: made, asked, need, placed, wrote, acked of struct stream; then quiet
 *   poller       the target's thread that applies messages: records, then heard.seq, then a bit in owed_lanes
 *   sender       a thread of the target that sends messages of its own, with acknowledgements in their heads
 *   applied      the last message whose records the poller has stored
 *   in_place[k]  which of these stores sender (0) and anybody else, as the network's hardware, (1) can see: a mask
 *   seq, seen    heard.seq as the poller has stored it, and as sender sees it
 *   owed         the bit of this lane; owed_seq: ghost, seq when it was set
 *
 * E2  a message is acknowledged only when anybody can see its records: heard.seq is released (R2) after them, and acquired
 *     (A2) before the head is written.
 * E3  the sender that takes the bit sees the seq that was stored before it (R3 -> A3), so that no acknowledgement is lost.
 * Asserted: when quiet returns all writes and records before it are in place. No end state in which it has not returned.
 * Bound: 3 writes or messages, each message with or without a record and a request to acknowledge it; quiet; 2 messages
 * of the sender.
 *
 * mutant 1  assert  a message that asks for an acknowledgement clears wrote, and nothing remembers it for quiet
 * mutant 2  assert  R2 is weakened: seq can be seen before the records
 * mutant 3  assert  A2 is weakened: the acknowledgement leaves before the records are seen by others
 * mutant 4  end     R3 or A3 is weakened: the bit can be seen before seq
 * mutant 5  end     the sender reads seq, then takes the bit
 * mutant 6  assert  messages overtake writes
 */
#define M(n) (MUTANT == n)
#define OPERATIONS 3
#define SENT 2
#define MESSAGES (OPERATIONS + 1)
#define UP_TO(k) ((1 << ((k) + 1)) - 2) /* messages 1 to k */

byte made, asked, need, placed, acked, writes, landed, records;
byte before[MESSAGES + 1]; /* writes posted before the message */
bit asks[MESSAGES + 1], wrote, returned;
byte applied, in_place[2], seq, seen, owed_seq;
bit owed;

#define COMPLETE_AT (wrote -> made + 1 : (need > placed -> need : placed))

inline post(record, ask) {
    d_step {
        made++;
        before[made] = writes;
        asks[made] = ask;
        if :: record -> need = made; records = records | 1 << made :: else fi;
        if
        :: ask ->
            asked = made;
            placed = (wrote && !M(1) -> made : placed);
            wrote = 0
        :: else
        fi
    }
}

proctype source() {
    byte n, count;
    for (n : 1 .. OPERATIONS) {
        if
        :: d_step { writes = writes | 1 << count; count++; wrote = 1 }
        :: post(1, 0)
        :: post(1, 1)
        :: post(0, 1)
        fi
    }
    if :: acked < COMPLETE_AT && asked < COMPLETE_AT -> post(0, 1) :: else fi;
    acked >= COMPLETE_AT -> /* nothing changes it any more */
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
    d_step { acked = (k > acked -> k : acked) }
}

proctype poller() {
    byte own;
    do
    :: d_step { applied < made && (M(6) || !(before[applied + 1] & ~landed)) -> applied++ };
        seq = applied;
        if :: asks[applied] -> d_step { owed = 1; owed_seq = seq } :: else fi
    :: atomic { owed -> owed = 0; own = seq };
        !(UP_TO(own) & ~in_place[1]) -> acknowledge(own)
    :: returned -> break
    od
}

/* Stores of the poller are seen by others, each in its own time. */
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
        :: M(5) -> k = seen; if :: owed -> owed = 0 :: !owed fi
        :: atomic { !M(5) && owed && (M(4) || seen >= owed_seq) -> owed = 0; k = seen }
        :: !M(5) && !owed -> k = seen
        fi;
        M(2) || M(3) || !(UP_TO(k) & ~in_place[1]) -> acknowledge(k)
    }
}

init { atomic { run source(); run network(); run poller(); run memory(); run sender() } }
