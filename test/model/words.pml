/*
 * words.pml - models updates of a word in device memory that the host cannot load and store, in rounds (net/stream/words.h): by the proxy of a
 * kernel's PE (proxy/staged.c) and by the thread that applies records of the network (net/stream/stream_device.c).
 *
 *   model      protocol
 *   agent      a proxy of the node, the thread that polls, or a thread in a call of the host (ops/amo.c): takes the lock, has the
 *              word copied to the host, computes, has the new value copied back, releases the lock when that copy has ended
 *   rounds     of one agent under one lock: a word that is set is not read; the next round's read is behind the copy back of the one
 *              before, and nothing waits between
 *   device     makes each agent's copies (q) in order, at any time after their start
 *   word       in device memory; old[], new[]: in the agent's own host memory
 *   right      ghost: the word after the updates in the order of the lock
 *
 * Asserted: at the end the word has the value of these updates, so none is lost. A lock that is never released is an invalid
 * end state.
 * Bound: an agent that adds twice, and one that sets and adds in two rounds under one lock, and then adds.
 *
 * mutant 1  assert  an agent does not take the lock
 * mutant 2  assert  a round of words that are set, which needs no old value, does not take the lock
 * mutant 3  assert  the lock is released when the copy back has started
 * mutant 4  assert  the new value is computed before the old one has come
 * mutant 5  assert  the next round's read precedes the copy back of the round before
 * mutant 6  assert  the lock is released when the copies back of the first round have ended, while the next one reads
 */
#define M(n) (MUTANT == n)
#define AGENTS 2
#define SET 8
#define READ 0
#define WRITE 1

byte word, right, old[AGENTS], new[AGENTS];
bit locked, done[AGENTS];
chan q[AGENTS] = [2] of { bit }; /* an agent's copies under way */

#define unlocked(me) (M(1) && me == 1)

inline take(me, without) {
    atomic { (unlocked(me) || without) || !locked -> locked = ((unlocked(me) || without) -> locked : 1) }
}

inline release(me, without) {
    if
    :: unlocked(me) || without
    :: else -> locked = 0
    fi
}

/* The round's read is started. */
inline finish(me) {
    M(4) || empty(q[me]);
    new[me] = old[me] + 1;
    q[me]!WRITE;
    M(3) || empty(q[me])
}

inline add(me) {
    take(me, 0);
    right = right + 1;
    q[me]!READ;
    finish(me);
    release(me, 0);
    empty(q[me])
}

inline set_and_add(me) {
    take(me, M(2));
    atomic { right = SET; new[me] = SET };
    if
    :: M(5) -> q[me]!READ; q[me]!WRITE
    :: else -> q[me]!WRITE; q[me]!READ
    fi;
    right = right + 1;
    if
    :: M(6) -> locked = 0
    :: else
    fi;
    finish(me);
    release(me, M(2) || M(6));
    empty(q[me])
}

proctype agent(byte me) {
    if :: me == 1 -> set_and_add(me) :: else -> add(me) fi;
    add(me);
    done[me] = 1
}

proctype device() {
    do
    :: atomic { q[0]?READ -> old[0] = word }
    :: atomic { q[0]?WRITE -> word = new[0] }
    :: atomic { q[1]?READ -> old[1] = word }
    :: atomic { q[1]?WRITE -> word = new[1] }
    :: done[0] && done[1] -> break
    od
}

init {
    atomic { run agent(0); run agent(1); run device() };
    _nr_pr == 1;
    assert(word == right)
}
