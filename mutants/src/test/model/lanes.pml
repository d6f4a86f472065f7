/*
 * lanes.pml - models a sub-group that posts to the ring in lockstep (src/device/lib/group.h).
 *
 *   model        protocol
 *   head         tickets; a sub-group takes those of all its active lanes with ONE fetch-add
 *   tail         number of slots that the proxy has taken; here also of completed operations (done)
 *   slot[i]      the ticket written there + 1
 *   sub_group    one program counter for its lanes. A lane that spins prevents the others from running: the hardware
 *                runs the lanes of a branch one after another, in its own order, or all until the last has left
 *
 * Asserted: a slot is written only after the proxy has taken it. A sub-group that spins for ever is an invalid end
 * state. Bound: 2 sub-groups, 2 posts each of 1 or 2 active lanes that wait for their operation's end or do not; 2
 * slots.
 *
 * mutant 1  end     a ticket per lane: other sub-groups interleave, and all lanes spin until the last has credit
 * mutant 2  end     a ticket per lane, and lanes spin for credit one after another, in any order
 * mutant 3  end     more tickets at once than the ring has slots
 * mutant 4  assert  credit is checked for the first ticket only
 * mutant 5  end     lanes write and wait for their own operation one after another
 */
#define M(n) (MUTANT == n)
#define N 2
#define GROUPS 2
#define TURNS 2
#define WIDTH (M(3) -> 3 : 2)

byte head, tail, groups_out;
byte slot[N];

inline write(t) {
    d_step {
        assert(slot[(t) % N] == 0);
        slot[(t) % N] = t + 1
    }
}

#define credit(t) ((t) < tail + N)
#define complete(t) (tail > (t))

/* The protocol: one fetch-add, one wait for the last ticket's credit, all lanes write, one wait for the last. */
inline together() {
    d_step { first = head; head = head + n; last = head - 1 };
    credit((M(4) -> first : last));
    for (lane : 0 .. n - 1) { write(first + lane) }
    if :: true -> complete(last) :: skip fi
}

inline own_tickets() {
    d_step { first = head; head++ };
    d_step { last = (n == 2 -> head : first); head = head + n - 1 };
    if
    :: M(1) -> credit(first) && credit(last);
        write(first);
        if :: n == 2 -> write(last) :: else fi
    :: M(2) -> credit(first); write(first);
        if :: n == 2 -> credit(last); write(last) :: else fi
    :: M(2) && n == 2 -> credit(last); write(last); credit(first); write(first)
    fi
}

inline one_by_one() {
    d_step { first = head; head = head + n; last = head - 1 };
    credit(last);
    if
    :: write(first); complete(first);
        if :: n == 2 -> write(last); complete(last) :: else fi
    :: n == 2 -> write(last); complete(last); write(first); complete(first)
    fi
}

proctype sub_group() {
    byte first, last, lane, n, turn;
    for (turn : 1 .. TURNS) {
        if :: n = 1 :: n = WIDTH fi;
        if
        :: M(1) || M(2) -> own_tickets()
        :: M(5) -> one_by_one()
        :: else -> together()
        fi;
        d_step { first = 0; last = 0; lane = 0 }
    }
    groups_out++
}

proctype proxy() {
    do
    :: d_step { slot[tail % N] == tail + 1 -> slot[tail % N] = 0; tail++ }
    :: groups_out == GROUPS && tail == head -> break
    od
}

init { atomic { run sub_group(); run sub_group(); run proxy() } }
