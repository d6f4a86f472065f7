/*
 * fence.pml - models the fence of src/device/lib/ring.h: an epoch in each operation instead of a message in the ring.
 *
 *   model        protocol
 *   epoch        the context's epoch, which a fence increments. An operation reads it, then takes its ticket
 *   op[t]        slot of ticket t, never reused here (ring.pml models the slots): epoch, target PE, signal
 *   last[pe]     epoch of the PE's last operation; an operation with another epoch is ordered after all earlier ones
 *   wait[x]      transfers that must end before transfer x (a mask): those before the last ordered one of its PE
 *   landed       transfers that have landed at their PE (a mask), in any order that `wait` permits
 *   completed    a copy of done, which a producer makes after a wait: tickets below it have landed. The copy may be old
 *   fences       ghost: number of fences; `from` and `to`: its values when an operation began and was posted
 *   must[x]      ghost: transfers that the specification orders before x
 *   mapped       the device maps PE 0: a store to it lands at once, and an update by a request waits for its result (amo.h)
 *   returned     ghost: updates of PE 0 (a mask of tickets) whose calls have returned
 *
 * Asserted: for the same PE, operations posted before a fence land before those begun after it, from any of the
 * context's producers; a signal lands after its data; a store to a mapped PE lands after all updates that have returned. The
 * only valid end state is that all transfers have landed.
 * Bound: 2 producers, 2 operations each, to any of 2 PEs, with or without a fence before each; ticket 0 has a
 * signal, or PE 0 is mapped, or neither.
 *
 * mutant 1  assert  epochs are ignored
 * mutant 2  assert  fence waits until the proxy has taken all earlier ones (tail), and does not change the epoch
 * mutant 3  assert  one last epoch for all PEs
 * mutant 4  assert  ordered if newer than all earlier, with the epoch read after the ticket (each alone is harmless)
 * mutant 5  assert  fence increments by load and store: a slow producer decreases the epoch
 * mutant 6  assert  an ordered operation waits, later ones do not
 * mutant 7  assert  the signal is not ordered after its data
 * mutant 8  assert  an update of a mapped PE by a request does not wait for its result
 * mutant 9  assert  a fence has nothing to do where the proxy has taken all earlier operations: completed is a copy of tail
 * mutant 10 assert  a fence has nothing to do where one earlier operation has completed
 */
#define M(n) (MUTANT == n)
#define PRODUCERS 2
#define TURNS 2
#define TICKETS (PRODUCERS * TURNS)
#define TRANSFERS (TICKETS + 1)
#define PES 2

byte head, tail, epoch, fences;
typedef ops {
    byte epoch, pe, from, to, transfers; /* transfers: a mask */
    bit there
};
ops op[TICKETS];
byte last[PES], posted[PES], before[PES]; /* masks of transfers: posted to the PE; those before the last ordered one */
byte wait[TRANSFERS], must[TRANSFERS], transfers, landed;
bit signal, mapped;
byte returned, done, completed;

/* The end of a wait for requests. */
inline look() {
    seen = (M(9) -> tail : done);
    completed = seen;
    seen = 0
}

inline fence() {
    if :: look() :: skip fi;
    if
    :: M(2) -> seen = head; tail >= seen; fences++
    :: M(5) -> seen = epoch; atomic { epoch = seen + 1; fences++ }
    :: !M(2) && !M(5) ->
        if
        :: atomic { completed >= (M(10) && head -> 1 : head) -> fences++ }
        :: atomic { completed < (M(10) && head -> 1 : head) -> seen = 1 }; atomic { epoch++; fences++; seen = 0 }
        fi
    fi
}

/* Store to PE 0 directly. It changes nothing here; only what came before matters. */
inline store() {
    for (i : 0 .. TICKETS - 1) {
        assert(!(returned & 1 << i) || (op[i].transfers && !(op[i].transfers & ~landed)))
    }
    i = 0
}

inline issue() {
    if
    :: M(4) -> d_step { store(); began = fences; ticket = head; head++ }; seen = epoch
    :: else -> d_step { store(); began = fences; seen = epoch }; d_step { ticket = head; head++ }
    fi;
    atomic {
        op[ticket].epoch = seen;
        op[ticket].from = began;
        op[ticket].to = fences;
        if :: op[ticket].pe = 0 :: op[ticket].pe = 1 fi;
        op[ticket].there = 1;
        seen = 0; began = 0;
        if
        :: mapped && op[ticket].pe == 0 ->
            M(8) || (op[ticket].transfers && !(op[ticket].transfers & ~landed)); /* the result */
            returned = returned | 1 << ticket
        :: else
        fi;
        ticket = 0
    }
}

proctype producer() {
    byte ticket, seen, began, turn, i;
    for (turn : 1 .. TURNS) {
        if :: fence() :: skip fi;
        issue()
    }
}

/* Hand a transfer of op[k] to the network. */
inline post(ordered) {
    if :: ordered -> before[pe] = posted[pe] :: else fi;
    wait[transfers] = (M(6) && !ordered -> 0 : before[pe]);
    must[transfers] = op[k].transfers;
    for (i : 0 .. k) {
        must[transfers] = must[transfers] | (op[i].pe == pe && op[i].to < op[k].from -> op[i].transfers : 0)
    }
    op[k].transfers = op[k].transfers | 1 << transfers;
    posted[pe] = posted[pe] | 1 << transfers;
    transfers++
}

proctype proxy() {
    byte k, pe, i;
    bit other;
    do
    :: d_step {
        k < TICKETS && op[k].there ->
        pe = op[k].pe;
        i = (M(3) -> 0 : pe);
        other = (M(4) -> op[k].epoch > last[i] : op[k].epoch != last[i]) && !M(1);
        last[i] = (M(4) && !other -> last[i] : op[k].epoch);
        post(other);
        if :: k == 0 && signal -> post(!M(7)) :: else fi;
        k++;
        tail = k;
        pe = 0; i = 0; other = 0
       }
    :: k == TICKETS -> break
    od
}

inline land(x) {
    d_step {
        x < transfers && !(landed & 1 << x) && !(wait[x] & ~landed) ->
        assert(!(must[x] & ~landed));
        landed = landed | 1 << x;
        do
        :: done < TICKETS && op[done].transfers && !(op[done].transfers & ~landed) -> done++
        :: else -> break
        od
    }
}

proctype network() {
    do
    :: land(0) :: land(1) :: land(2) :: land(3) :: land(4)
    :: landed == (1 << (TICKETS + signal)) - 1 -> break
    od
}

init {
    atomic {
        if :: skip :: signal = 1 :: mapped = 1 fi;
        run producer(); run producer(); run proxy(); run network()
    }
}
