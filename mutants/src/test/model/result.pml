/*
 * result.pml - models the result slots of src/device/lib/ring.h, which return the results of fetching
 * requests.
 *
 *   model        protocol
 *   head, tail   tickets, and the number that the proxy has taken from their slots, which are then free
 *   posted       bit t: the slot of ticket t is written
 *   under_way    bit t: issued, and its result has not arrived
 *   came         bit t: its result has arrived, but the result slot was in use
 *   value, tag   content of a result slot; the result of ticket t is t
 *
 * Credit counts slots, not result slots: while a request is under way, later laps of the ring are posted, and results
 * arrive in any order.
 * R4 value is written -> A4 the owner reads the tag; R5 the owner has read value -> A5 the proxy writes the result slot
 * again. Asserted: every owner reads its own result. A result that never arrives is an invalid end state.
 * Bound: 3 producers, 2 requests each, 2 result slots: 3 laps.
 *
 * mutant 1  end     the proxy checks the result slot when it issues the request, not when the result arrives
 * mutant 2  end     a result is written to a result slot that is in use
 * mutant 3  assert  the tag is published before the value (R4 weakened)
 * mutant 4  assert  the owner clears the tag before it has read the value (R5 weakened)
 */
#define M(n) (MUTANT == n)
#define N 2
#define PRODUCERS 3
#define TURNS 2
#define TICKETS (PRODUCERS * TURNS)
#define has(set, t) (set & (1 << (t)))

byte head, tail, posted, under_way, came, n_results;
byte value[N], tag[N];

#define is_free(t) (tag[(t) % N] == 0)

proctype producer() {
    byte ticket, turn, result;
    for (turn : 1 .. TURNS) {
        d_step { ticket = head; head++ };
        ticket < tail + N -> /* credit */
        d_step { posted = posted | (1 << ticket) };
        tag[ticket % N] == ticket + 1 -> /* A4 */
        if :: M(4) -> tag[ticket % N] = 0 :: else fi;
        result = value[ticket % N];
        assert(result == ticket);
        tag[ticket % N] = 0; /* R5 */
        d_step { ticket = 0; result = 0 }
    }
}

inline put_result(t) {
    if :: M(3) -> tag[t % N] = t + 1 :: else fi;
    value[t % N] = t;
    tag[t % N] = t + 1; /* R4 */
    n_results++
}

#define ready(t) (has(came, t) && is_free(t)) /* A5 */
#define on_its_way(t) has(under_way, t)
#define any(is) (is(0) || is(1) || is(2) || is(3) || is(4) || is(5))
#define choose(is) if :: is(0) -> t = 0 :: is(1) -> t = 1 :: is(2) -> t = 2 :: is(3) -> t = 3 :: is(4) -> t = 4 :: is(5) -> t = 5 fi

proctype proxy() {
    byte t;
    do
    :: d_step { has(posted, tail) && (!M(1) || is_free(tail)) -> under_way = under_way | (1 << tail); tail++ }
    :: any(on_its_way) -> /* any result arrives */
        choose(on_its_way);
        under_way = under_way & ~(1 << t);
        if
        :: M(1) || M(2) || is_free(t) -> put_result(t) /* A5 */
        :: else -> came = came | (1 << t)
        fi
    :: any(ready) -> choose(ready); came = came & ~(1 << t); put_result(t)
    :: n_results == TICKETS -> break
    od
}

init {
    atomic {
        byte i;
        for (i : 1 .. PRODUCERS) { run producer() }
        run proxy()
    }
}
