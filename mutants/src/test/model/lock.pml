/*
 * lock.pml - models src/host/ops/lock.c: one PE at a time in the critical section, in queue order, no lost wake-up.
 *
 *   model       code
 *   tail        home->tail, PE + 1
 *   place[pe]   mine->place: WAITS, plus the next PE + 1
 *   queue       ghost: PEs in the order in which they took the tail; a PE leaves it with its section
 *   take        take: of test, and of the polls with which set may begin
 *   set, test, clear   shi_lock_set, shi_lock_test, shi_lock_clear; a wait loop is a statement that blocks
 *
 * Asserted: the PE that enters is first in the queue (mutual exclusion and FIFO); next is a PE. A lost wake-up is an
 * invalid end state.
 * Bound: 3 PEs, 3 sections each, each by set or test.
 *
 * mutant 1  end     place is set to WAITS after the swap: it may overwrite the next PE, which then waits for ever
 * mutant 2  end     clear does not wait for a next PE that has swapped but not yet added its number
 * mutant 3  assert  test ignores that its compare-swap lost
 * mutant 4  end     set with a free lock stores 0 instead of clearing WAITS: it may overwrite the next PE
 * mutant 5  assert  the next PE stores its number instead of adding it: the predecessor stops waiting
 * mutant 6  assert  neither clear nor test empties the place (one would suffice): the next PE adds to an old value
 * mutant 7  assert  clear reads the tail and empties it in two steps: it drops a PE that queues in between
 * mutant 8  assert  set stores WAITS before it polls, and a poll that takes the lock leaves it: it is taken for the next PE
 */
#define M(n) (MUTANT == n)
#define PES 3
#define TURNS 3
#define WAITS 128

byte tail;
byte place[PES + 1];
chan queue = [PES] of { byte };

inline take(waits) {
    place[me] = (M(6) -> place[me] : waits);
    atomic { /* A1 */
        if :: tail == 0 -> tail = me; queue!me; in = 1 :: else -> in = M(3) fi
    }
}

inline set() {
    if :: take(M(8) * WAITS) :: skip fi; /* a failed poll has no effect, so one is all */
    if
    :: in -> skip
    :: else ->
        if :: M(1) -> skip :: else -> place[me] = WAITS fi;
        atomic { before = tail; tail = me; queue!me } /* R1, A1 */
        if :: M(1) -> place[me] = WAITS :: else fi;
        if
        :: before -> place[before] = (M(5) -> me : place[before] + me); /* R2 */
            (place[me] & WAITS) == 0 /* A3 */
        :: else -> place[me] = (M(4) -> 0 : place[me] & ~WAITS)
        fi;
        before = 0;
        in = 1
    fi
}

inline test() {
    if
    :: tail == 0 -> take(0)
    :: tail != 0 -> in = 0
    fi
}

inline clear() {
    queue?eval(me);
    if
    :: M(7) && tail == me -> tail = 0
    :: atomic { !M(7) && tail == me -> tail = 0 } /* R1 */
    :: tail != me ->
        (place[me] || M(2)); /* A2 */
        next = place[me];
        assert(next <= PES);
        place[me] = (M(6) -> place[me] : 0);
        if
        :: next -> place[next] = place[next] & ~WAITS /* R3 */
        :: next == 0 && M(2) -> skip
        fi;
        next = 0
    fi;
    in = 0
}

proctype pe(byte me) {
    byte before, next, turn;
    bit in;
    for (turn : 1 .. TURNS) {
        if :: set() :: test() fi;
        if :: in -> assert(queue?[eval(me)]); clear() :: else fi
    }
}

init { atomic { run pe(1); run pe(2); run pe(3) } }
