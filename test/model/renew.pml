/*
 * renew.pml - models how messages over the network begin anew when another process has the number of a PE that died (src/host/net/stream/lost.h,
 * src/host/survive/grow.c).
 *
 *   model             code
 *   live              the PEs that live: 0 and 1, which know of the death, and the new process
 *   joined            the new process's word in the node's file: READY, then IN
 *   lost[i]           peer_rx.lost of the dead PE's number at PE i
 *   life[i]           peer_rx.life: messages whose tag is that of another process are dropped
 *   applied[i]        the number of the last message that i has applied; sent[i]: the last that i has sent to this number
 *   flight[i]         a flush to the dead process that has not ended; started[i], ended[i]: order.flushes, order.flushes_ended
 *   late[i]           a message of the dead process, on its way to i
 *   from_new[i]       the message of the new process to i; to_new[i]: that of i to it
 *   called, decided   the agreement of those that live before IN
 *
 * Asserted: no PE applies a message of the dead process, or counts its flush. A message between the new process and a PE that lives which is not applied is an invalid
 * end state.
 * Bound: 2 PEs and a new process, one message each way between them and one of the dead process to each, which is its first or a later one; one may die.
 *
 * mutant 1  end     the new process sends when it is READY, before it is IN
 * mutant 2  assert  the tag does not cover which process has the number
 * mutant 3  assert  the streams are cleared while a flush has not ended
 * mutant 4  end     what a PE has applied is not cleared
 * mutant 5  end     what a PE has sent is not cleared
 * mutant 6  end     IN is stored without an agreement
 * mutant 7  end     only PE 0 stores IN
 */
#define M(n) (MUTANT == n)
#define N 2
#define NEW 2
#define READY 1
#define IN 2
#define HERE 0
#define LOST 1
#define RETURNS 2

mtype = { AWAIT, RETURN, AGREE, ENTER, RUN };
mtype pc[N];
byte live, deaths, joined, called, was[N];
byte lost[N], life[N], applied[N], sent[N], started[N], ended[N], from_new[N], to_new[N];
bit decided, flight[N], late[N], got[N], has_got[N], has_sent[N];

#define bit_of(i) (1 << (i))
#define alive(i) ((live & bit_of(i)) != 0)
#define lowest (live & 1 -> 0 : 1)
#define leads(i) ((M(7) -> 0 : lowest) == i)

inline take(i, whose, number) {
    if
    :: lost[i] == HERE && (whose == life[i] || M(2)) && number == applied[i] + 1 -> assert(whose == 1); applied[i]++; got[i] = 1
    :: else
    fi
}

proctype pe(byte i) {
end:
    do
    /* the program's thread, in shmemx_grow */
    :: d_step { alive(i) && pc[i] == AWAIT && (joined >= READY || !alive(NEW)) -> life[i] = 1; lost[i] = RETURNS; pc[i] = RETURN }
    :: d_step { alive(i) && pc[i] == RETURN && (lost[i] == HERE || !alive(NEW)) -> called = called | bit_of(i); pc[i] = AGREE }
    :: d_step { alive(i) && pc[i] == AGREE && (decided || !(live & 3 & ~called) || M(6)) -> decided = 1; pc[i] = ENTER }
    :: d_step { alive(i) && pc[i] == ENTER && joined == READY && alive(NEW) && leads(i) -> joined = IN }
    :: d_step { alive(i) && pc[i] == ENTER && (joined == IN || !alive(NEW)) -> pc[i] = RUN }
    :: d_step { alive(i) && pc[i] == RUN && !has_sent[i] -> has_sent[i] = 1; sent[i]++; to_new[i] = sent[i] }
    /* the thread that polls */
    :: d_step { alive(i) && lost[i] == RETURNS && (!flight[i] || M(3)) ->
        if :: M(4) :: else -> applied[i] = 0 fi;
        if :: M(5) :: else -> sent[i] = 0 fi;
        started[i] = 0; ended[i] = 0; lost[i] = HERE }
    :: d_step { alive(i) && flight[i] -> flight[i] = 0; ended[i]++; assert(ended[i] <= started[i]) }
    :: d_step { alive(i) && late[i] -> late[i] = 0; take(i, 0, was[i] + 1) }
    :: d_step { alive(i) && from_new[i] == 1 -> from_new[i] = 2; take(i, 1, 1) }
    od
}

proctype new_process() {
end:
    do
    :: d_step { alive(NEW) && joined == 0 -> joined = READY }
    :: d_step { alive(NEW) && (joined == IN || M(1) && joined == READY) && !from_new[0] -> from_new[0] = 1 }
    :: d_step { alive(NEW) && (joined == IN || M(1) && joined == READY) && !from_new[1] -> from_new[1] = 1 }
    :: d_step { alive(NEW) && to_new[0] == 1 && !has_got[0] -> has_got[0] = 1 }
    :: d_step { alive(NEW) && to_new[1] == 1 && !has_got[1] -> has_got[1] = 1 }
    od
}

proctype death() {
    do
    :: d_step { deaths && alive(0) -> deaths--; live = live & ~1 }
    :: d_step { deaths && alive(1) -> deaths--; live = live & ~2 }
    :: d_step { deaths && alive(NEW) -> deaths--; live = live & ~4 }
    :: deaths = 0; break
    od
}

#define is_done(i) (!alive(i) || pc[i] == RUN && (!alive(NEW) || got[i] && has_got[i]))

init {
    byte p;
    atomic {
        live = 7; deaths = 1;
        for (p : 0 .. N - 1) {
            pc[p] = AWAIT; lost[p] = LOST; started[p] = 1; flight[p] = 1; late[p] = 1;
            if :: was[p] = 0 :: was[p] = 1 fi;
            applied[p] = was[p]; sent[p] = 1
        };
        run pe(0); run pe(1); run new_process(); run death()
    };
    is_done(0) && is_done(1)
}
