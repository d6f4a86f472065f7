/*
 * tag_cancel.pml - models the cancel of a send against its completion (src/host/tag/tag_send.c, tag_recv.c).
 *
 *   model                      code
 *   done, kept, offered        request.done, .kept, peer.pending.offered
 *   finished, matched, asked,  request.finished, .matched, .asked, .parked
 *   parked
 *   queued                     request.cancel is in the queue of pending sends
 *   HEAD's send number         the message; CANCEL names the request only, whose memory serves one send after the other
 *
 * The owner starts two sends with the same request, may cancel each at any time, and waits for each. Handlers and retries
 * run one at a time. The receiver matches messages at any time. Asserted: a send that completes as cancelled is never
 * received, one that completes otherwise is; each answer of the receiver is to a cancel under way. A state without
 * successor is a send that never completes.
 * Bound: 2 sends, of which each is sent at once or kept.
 *
 * mutant 1  assert  the end of a send completes it while a cancel is under way
 * mutant 2  end     the end of a cancel forgets that the send has finished meanwhile
 * mutant 3  assert  a cancel removes a message that is offered
 * mutant 4  end     a cancel that waits for the answer to an offer is not continued
 * mutant 5  assert  the receiver claims to have discarded a message that was matched
 * mutant 6  assert  the end of a send writes to the request after its completion
 */
#define M(n) (MUTANT == n)
#define SENDS 2
#define IS_DONE (done == DONE || done == CANCELLED)

mtype = { OPEN, DONE, CANCELLING, CANCELLED };
mtype = { HEAD, OFFER, CANCEL, FIN, TAKEN, REFUSED, ACK };

mtype done;
bool kept, offered, finished, matched, asked, parked, queued;
byte now;                 /* number of the current send */
bool received[SENDS], discarded[SENDS], arrived[SENDS];

chan to_receiver = [4] of { mtype, byte };
chan to_sender = [4] of { mtype, byte };

proctype owner() {
    byte n = 0;
    do
    :: n < SENDS ->
        atomic {
            now = n; done = OPEN;
            finished = 0; matched = 0; asked = 0; parked = 0;
            if :: to_receiver!HEAD, n :: kept = 1 fi }
        if
        :: atomic { done == OPEN -> done = CANCELLING; queued = 1 }
        :: skip
        fi;
        atomic {
            IS_DONE;
            assert(received[n] == (done == DONE));
            assert(!(received[n] && discarded[n])) }
        n++
    :: else -> break
    od
}

inline end_cancel() {
    asked = 0;
    if :: finished && !M(2) -> done = DONE :: else -> done = OPEN fi
}

inline answered() {
    offered = 0;
    if :: parked && !M(4) -> queued = 1 :: else fi;
    parked = 0
}

/* Handlers and retries: one at a time; the owner runs between their steps. */
proctype progress() {
    byte x;
end:
    do
    :: atomic { kept && !offered -> kept = 0; to_receiver!HEAD, now } /* the window has opened */
    :: atomic { kept && !offered -> offered = 1; to_receiver!OFFER, now } /* a claim has come */
    :: atomic { queued ->
        queued = 0;
        if
        :: finished || matched -> end_cancel()
        :: else ->
            if
            :: kept && (!offered || M(3)) -> kept = 0; done = CANCELLED
            :: kept && offered && !M(3) -> parked = 1
            :: !kept -> asked = 1; to_receiver!CANCEL, 0
            fi
        fi }
    :: atomic { to_sender?TAKEN, x -> kept = 0; matched = 1; answered() }
    :: atomic { to_sender?REFUSED, x -> answered() }
    :: to_sender?FIN, x ->
        if :: !M(6) -> finished = 1 :: else fi;
        atomic { if :: done == OPEN || M(1) -> done = DONE :: else fi };
        if :: M(6) -> finished = 1 :: else fi
    :: atomic { to_sender?ACK, x ->
        assert(asked && !(x && (finished || matched)));
        if :: x -> done = CANCELLED :: else -> end_cancel() fi }
    od
}

proctype receiver() {
    byte x, m;
end:
    do
    :: atomic { to_receiver?HEAD, m -> arrived[m] = 1 }
    :: atomic { to_receiver?OFFER, m ->
        if
        :: received[m] = 1; to_sender!TAKEN, 0; to_sender!FIN, 0
        :: to_sender!REFUSED, 0
        fi }
    :: atomic { to_receiver?CANCEL, x ->
        if
        :: arrived[0] -> arrived[0] = 0; discarded[0] = 1; to_sender!ACK, 1
        :: !arrived[0] && arrived[1] -> arrived[1] = 0; discarded[1] = 1; to_sender!ACK, 1
        :: else -> to_sender!ACK, M(5)
        fi }
    :: atomic { arrived[0] -> arrived[0] = 0; received[0] = 1; to_sender!FIN, 0 }
    :: atomic { arrived[1] -> arrived[1] = 0; received[1] = 1; to_sender!FIN, 0 }
    od
}

init {
    atomic { run owner(); run progress(); run receiver() }
}
