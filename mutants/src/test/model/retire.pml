/*
 * retire.pml - models completion in src/proxy/engine.c: cohorts, quiet without a message, release by an abort.
 *
 *   model        protocol
 *   head, there  tickets and written slots, never reused here (ring.pml models the slots)
 *   tail, done   the published line: number of operations taken, of operations complete; done is published last
 *   cohort[c]    a batch: its last ticket, the number of unfinished transfers, whether it is closed; a ring of COHORTS
 *   oldest, open the cohort that done waits for, and the one that takes operations
 *   pending[t]   transfers of ticket t that the network has not completed; they complete in any order
 *   seen[t]      the GPU can see what ticket t fetched: after a flush that follows its completion
 *   abort        the job is aborted: nothing completes any more, and every waiter must return
 *
 * quiet takes a snapshot of head and waits for done. The engine (src/proxy/engine.c) merges each finished cohort but
 * the oldest into the previous one, so done takes the same steps, some of them at once. The flush is for devices whose
 * memory the network writes directly; the engine has no such transport yet.
 * Asserted: after quiet all operations before the snapshot are complete and visible, and tail is not less than done, or
 * the job is aborted. A quiet that waits for ever is an invalid end state.
 * Bound: 2 producers, 2 operations of 0 or 1 transfer each, with or without a quiet after each; 3 cohorts, so that they
 * are reused; batches of any length; an abort at any time or never.
 *
 * mutant 1  assert  done counts complete operations in any order
 * mutant 2  assert  a finished cohort is retired before an older unfinished one
 * mutant 3  assert  the open cohort is retired, so that its later operations are not waited for
 * mutant 4  assert  quiet waits for tail
 * mutant 5  assert  quiet takes its snapshot of tail
 * mutant 6  assert  the next cohort is opened although it is not retired
 * mutant 7  assert  done is published before fetched data is flushed
 * mutant 8  assert  done is published before tail
 * mutant 9  end     quiet does not check for an abort
 * mutant 10 end     a batch closes only with two operations: the last one's quiet never returns
 */
#define M(n) (MUTANT == n)
#define PRODUCERS 2
#define TURNS 2
#define TICKETS (PRODUCERS * TURNS)
#define COHORTS 3

byte head, tail, done;
bit there[TICKETS], pending[TICKETS], seen[TICKETS], abort;
byte cohort_of[TICKETS];
typedef cohorts {
    byte last, left;
    bit closed
};
cohorts cohort[COHORTS];
byte taken; /* the proxy's own tail */

inline quiet() {
    snapshot = (M(5) -> tail : head);
    (M(4) -> tail : done) >= snapshot || abort && !M(9);
    atomic {
        if
        :: abort
        :: else ->
            assert(tail >= done);
            for (i : 0 .. TICKETS - 1) { assert(seen[i] || i >= snapshot && i != ticket) }
        fi;
        i = 0; snapshot = 0
    }
}

proctype producer() {
    byte ticket, snapshot, i, turn;
    for (turn : 1 .. TURNS) {
        d_step { ticket = head; head++ };
        there[ticket] = 1;
        if :: quiet() :: skip fi;
        ticket = 0
    }
}

/* Makes all complete operations visible. */
inline flush() {
    d_step {
        for (t : 1 .. taken) { seen[t - 1] = seen[t - 1] || !pending[t - 1] }
        t = 0
    }
}

#define retirable(c, rule) (rule && cohort[c].closed && !cohort[c].left && !abort)

inline retire(c) {
    last = (M(1) -> last : cohort[c].last);
    if
    :: M(7) -> tail = taken; done = last; flush()
    :: M(8) -> flush(); done = last; tail = taken
    :: else -> flush(); tail = taken; done = last
    fi;
    d_step { cohort[c].closed = 0; last = 0 }
}

inline count() {
    d_step {
        for (t : 1 .. taken) { last = last + !pending[t - 1] }
        t = 0
    }
}

proctype proxy() {
    byte oldest, open, t, last;
end:
    do
    :: atomic { /* take */
        taken < TICKETS && there[taken] && !abort ->
        if :: pending[taken] = 0 :: pending[taken] = 1 fi;
        cohort_of[taken] = open;
        cohort[open].left = cohort[open].left + pending[taken];
        taken++;
        cohort[open].last = taken
       }
    :: tail < taken && !abort && !M(8) -> tail = taken
    :: d_step { /* close the batch when there is a cohort for the next */
        cohort[open].last > done && !cohort[open].closed && !abort && (M(6) || !cohort[(open + 1) % COHORTS].closed) &&
        (!M(10) || cohort[open].last > done + 1) ->
        cohort[open].closed = 1;
        open = (open + 1) % COHORTS
       }
    :: retirable(oldest, !M(1)) -> retire(oldest); oldest = (oldest + 1) % COHORTS
    :: retirable((oldest + 1) % COHORTS, M(2)) -> retire((oldest + 1) % COHORTS)
    :: oldest == open && M(3) && cohort[open].last > done && !cohort[open].left && !abort -> retire(open);
        oldest = (oldest + 1) % COHORTS
    :: done < taken && M(1) && !abort -> count(); retire(oldest)
    od
}

inline complete(t) {
    d_step { pending[t] && !abort -> pending[t] = 0; cohort[cohort_of[t]].left-- }
}

proctype network() {
end:
    do
    :: complete(0) :: complete(1) :: complete(2) :: complete(3)
    od
}

proctype trouble() {
    if :: abort = 1 :: skip fi
}

init { atomic { run producer(); run producer(); run proxy(); run network(); run trouble() } }
