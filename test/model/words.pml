/*
 * words.pml - models updates of a word in device memory that the host cannot load and store: by the proxy of a kernel's PE
 * (proxy/staged.c) and by the thread that applies records of the network (net/stream/stream_device.c).
 *
 *   model      protocol
 *   agent      a proxy of the node, the thread that polls, or a thread in a call of the host (ops/amo.c): takes word_lock,
 *              has the word copied to the host, computes, has the new value copied back, releases the lock when that copy
 *              has ended
 *   device     makes each agent's copies in order, at any time after their start
 *   word       in device memory; old[], new[]: in the agent's own host memory
 *   right      ghost: the word after the updates in the order of the lock
 *
 * Asserted: at the end the word has the value of these updates, so none is lost. A lock that is never released is an invalid
 * end state.
 * Assignments of one agent, whose copies the device makes in order, hold the lock together.
 * Bound: an agent that adds twice, and one that assigns twice and then adds.
 *
 * mutant 1  assert  an agent does not take the lock
 * mutant 2  assert  an assignment, which needs no old value, does not take the lock
 * mutant 3  assert  the lock is released when the copy back has started
 * mutant 4  assert  the new value is computed before the old one has come
 * mutant 5  assert  of two assignments the first that ends releases the lock
 */
#define M(n) (MUTANT == n)
#define AGENTS 2
#define SET 8

byte word, right, old[AGENTS], new[AGENTS];
bit locked, done[AGENTS], fetches[AGENTS], stores[AGENTS]; /* the last two: copies under way */

#define unlocked(me, sets) ((M(1) && me == 1) || (M(2) && sets))

inline update(me, sets) {
    atomic { unlocked(me, sets) || !locked ->
        locked = (unlocked(me, sets) -> locked : 1);
        right = (sets -> SET : right + 1) };
    if
    :: !sets -> fetches[me] = 1; (M(4) || !fetches[me]); new[me] = old[me] + 1
    :: sets -> new[me] = SET
    fi;
    stores[me] = 1;
    M(3) || !stores[me];
    if
    :: unlocked(me, sets)
    :: else -> locked = 0
    fi;
    !stores[me] && !fetches[me]
}

/* Two assignments. The copy of the second may begin when that of the first has ended, as they are in order; the other agent cannot get between. */
inline assign_twice(me) {
    atomic { !locked || unlocked(me, 1) -> locked = (unlocked(me, 1) -> locked : 1); right = SET - 1 };
    new[me] = SET - 1;
    stores[me] = 1;
    !stores[me];
    if :: M(5) -> locked = 0 :: else fi;
    atomic { right = SET; new[me] = SET };
    stores[me] = 1;
    M(3) || !stores[me];
    if :: M(5) || unlocked(me, 1) :: else -> locked = 0 fi;
    !stores[me]
}

proctype agent(byte me) {
    if :: me == 1 -> assign_twice(me) :: else -> update(me, 0) fi;
    update(me, 0);
    done[me] = 1
}

proctype device() {
    do
    :: atomic { fetches[0] -> old[0] = word; fetches[0] = 0 }
    :: atomic { fetches[1] -> old[1] = word; fetches[1] = 0 }
    :: atomic { stores[0] && !fetches[0] -> word = new[0]; stores[0] = 0 }
    :: atomic { stores[1] && !fetches[1] -> word = new[1]; stores[1] = 0 }
    :: done[0] && done[1] -> break
    od
}

init {
    atomic { run agent(0); run agent(1); run device() };
    _nr_pr == 1;
    assert(word == right)
}
