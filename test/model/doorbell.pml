/*
 * doorbell.pml - models src/host/net/node/doorbell.c and how src/host/ops/wait.c sleeps: two threads of a PE that await a word
 * each, and an agent for each word that stores and rings.
 *
 *   model          code
 *   word[i]        the awaited word of thread i, which waits for the value STORES
 *   buffer[a]      the store of agent a that is still in its store buffer; 0: none
 *   counts         shi_doorbell_counts.words
 *   rings, armed   bell.word
 *   off, seen      bell.off, .seen; off is thread + 1, or ANY
 *   asleep[i]      thread i sleeps in futex wait
 *   early[a]       ghost: agent a read counts as 0 while its store was in its store buffer
 *
 * Loads and stores are single steps in program order, but a store reaches memory later; a fence waits for it. Sleeps have
 * no time limit, except the first after the announcement and those after a ring for something else. The first one lasts
 * until the stores of early agents have arrived (E3).
 * A thread that is never woken is an invalid end state.
 * Bound: two threads, two agents, two stores each.
 *
 * mutant 1  end     the ringer has no fence (F2)
 * mutant 2  end     the sleeper checks its condition before it arms the doorbell (F1)
 * mutant 3  end     a ring disarms the doorbell but does not count (E2)
 * mutant 4  end     no short sleep after the announcement (E3)
 * mutant 5  end     seen is read after the condition
 * mutant 6  end     the second thread's word replaces the first's
 * mutant 7  end     a thread that ends its wait retracts the other's word, too
 */
#define M(n) (MUTANT == n)
#define STORES 2
#define NONE 0
#define ANY 3

byte word[2], buffer[2], counts, n_words, rings, off, seen;
bit armed, asleep[2], early[2];

#define fence(a) (buffer[a] == 0)

active [2] proctype store_buffer() {
    byte a = _pid;
end:
    do
    :: atomic { buffer[a] != 0 -> word[a] = buffer[a]; buffer[a] = 0; early[a] = 0 }
    od
}

inline ring() {
    do
    :: atomic { armed -> was = rings }
        if
        :: atomic { armed && rings == was -> /* the compare-swap */
            armed = 0;
            if :: !M(3) -> rings++ :: else fi }
            d_step { asleep[0] = 0; asleep[1] = 0 }
            break
        :: else
        fi
    :: !armed -> break
    od
}

proctype agent(byte a) {
    byte k, was, at, saw;
    for (k : 1 .. STORES) {
        fence(a);
        buffer[a] = k;
        if
        :: counts > 0 ->
            if :: !M(1) -> fence(a) :: else fi;
            if
            :: armed ->
                at = off;
                saw = seen;
                if
                :: at == ANY || (at != NONE && word[at - 1] != saw) -> ring()
                :: else
                fi
            :: !armed
            fi
        :: atomic { counts == 0 -> early[a] = (buffer[a] != 0) }
        fi
    }
}

inline arm() {
    if :: off == i + 1 && !M(5) -> seen = word[i] :: else fi;
    d_step { armed = 1; was = rings }
}

proctype thread(byte i) {
    byte was;
    atomic { /* announce, under a lock */
        n_words++;
        off = (n_words > 1 && !M(6) -> ANY : i + 1) }
    counts++;
    if :: !M(4) -> !early[0] && !early[1] :: else fi;
    if :: M(2) -> word[i] != STORES :: else fi;
    arm();
    do
    :: word[i] == STORES -> break
    :: word[i] != STORES ->
        if :: M(5) && off == i + 1 -> seen = word[i] :: else fi;
sleep:  atomic {
            if
            :: armed && (rings == was) -> asleep[i] = 1
            :: else
            fi }
        !asleep[i];
        if
        :: M(2) && word[i] == STORES -> break
        :: else -> arm()
        fi;
        if :: M(2) -> goto sleep :: else fi
    od;
    atomic { /* retract, under a lock */
        counts--;
        n_words--;
        if :: n_words == 0 || M(7) -> off = NONE :: else fi;
        if :: n_words == 0 -> armed = 0 :: else fi }
}

init {
    atomic { run agent(0); run agent(1); run thread(0); run thread(1) }
}
