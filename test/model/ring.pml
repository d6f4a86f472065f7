/*
 * ring.pml - models the request ring of src/device/lib/ring.h: many producers, one proxy, slots whose words are
 * validated one by one, and credit from the proxy's tail.
 *
 *   model        protocol
 *   head         next ticket; one fetch-add takes one
 *   bit_of, body the slot's words: the lap's phase bit and the rest; one load or store accesses both
 *   tail         published by the proxy: number of slots that it has taken
 *   seen         a value of tail that a producer read and stored for the others; reader.pml models who reads tail
 *   ticket       a producer's ticket; the body of its words, so that a stale or wrong word shows
 *
 * A producer's words become visible in any order and the proxy reads them in any order, which is more than any memory
 * model allows: the words need no order among themselves. Two edges remain:
 * E1  a word with the phase of lap p / N is the word of p (checked for each word alone)
 * E2  R2 tail is published after the last word was read -> A2 the owner of p writes when p < tail + N, or
 *     R7 seen holds an earlier tail -> A7 when p < seen + N: the stores depend on the load, whose order needs no fence
 * Asserted: every word of ticket k is k's. A ticket that is never taken is an invalid end state.
 * Bound: 3 producers, 2 tickets each, 2 slots of 3 words (the code: 8): 3 laps.
 *
 * mutant 1  assert  the phase bit of word 0 vouches for the whole slot
 * mutant 2  assert  no credit check
 * mutant 3  end     credit for one slot too many: words are overwritten, and the proxy waits for the lost lap
 * mutant 4  end     tail is published when the first word has been read (R2 weakened): as mutant 3
 * mutant 5  assert  a valid bit that is the same on each lap
 * mutant 6  assert  tickets by load and store
 * mutant 7  assert  a short operation does not write its last word, and the proxy, as word 0 says so, does not check it
 * mutant 8  end     a producer with credit stores its own ticket + 1 in seen: as mutant 3
 */
#define M(n) (MUTANT == n)
#define N 2
#define WORDS 3
#define WHOLE 7 /* a mask of words */
#define PRODUCERS 3
#define TURNS 2
#define TICKETS (PRODUCERS * TURNS)

byte head, tail, seen;
bit bit_of[N * WORDS];
byte body[N * WORDS];
bit brief[N]; /* mutant 7, part of word 0 */

#define phase(t) (M(5) -> 1 : 1 - (t / N) % 2)
#define at(t, w) ((t % N) * WORDS + w)

inline write(w) {
    d_step {
        (todo & (1 << w)) ->
        body[at(ticket, w)] = ticket;
        bit_of[at(ticket, w)] = phase(ticket);
        if :: M(7) && w == 0 -> brief[ticket % N] = turn == 1 :: else fi;
        todo = todo & ~(1 << w)
    }
}

inline read(w) {
    d_step {
        (todo & (1 << w)) && (bit_of[at(k, w)] == phase(k) || M(1) && w && !(todo & 1)) ->
        assert(body[at(k, w)] == k);
        todo = todo & ~(1 << w);
        if :: M(7) && w == 0 && brief[k % N] -> todo = todo & ~4 :: else fi;
        if :: M(4) -> tail = k + 1 :: else fi
    }
}

proctype producer() {
    byte ticket, todo, turn, last;
    for (turn : 0 .. TURNS - 1) {
        if :: M(6) -> ticket = head; head = ticket + 1 :: else -> d_step { ticket = head; head++ } fi;
        if
        :: ticket < seen + N -> skip /* A7 */
        :: else ->
            d_step { (ticket < tail + N || M(2) || M(3) && ticket == tail + N); last = (M(8) -> ticket + 1 : tail) } /* A2 */
            seen = last; /* R7 */
            last = 0
        fi;
        todo = (M(7) && turn == 1 -> WHOLE & ~4 : WHOLE);
        do
        :: write(0) :: write(1) :: write(2)
        :: todo == 0 -> break
        od;
        ticket = 0
    }
}

proctype proxy() {
    byte k, todo;
    for (k : 0 .. TICKETS - 1) {
        todo = WHOLE;
        do
        :: read(0) :: read(1) :: read(2)
        :: todo == 0 -> break
        od;
        tail = k + 1 /* R2 */
    }
}

init { atomic { run producer(); run producer(); run producer(); run proxy() } }
