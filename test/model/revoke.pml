/*
 * revoke.pml - models the revocation of a team whose members may die (src/host/survive).
 *
 *   model              code
 *   made               the members that have created the team
 *   error              the members whose team has an error: a dead member, or the revocation
 *   revoked            the members that have marked the team as revoked
 *   kept               the members that received REVOKE before they created the team
 *   todo[i]            the members to which i has yet to send REVOKE
 *   wire(from, to)     room for one message: REVOKE, another message (OTHER), or nothing
 *
 * A member that revokes the team, or receives REVOKE for the first time, marks the team and sends REVOKE to all other members.
 * Progress repeats a send that finds no room. Of the messages of a dead member, some arrive.
 * Asserted: at the end all living members have the mark, or none has it; nobody has it if nobody has revoked the team. A message
 * that is never received or sent is an invalid end state: members do not die in a state where nothing else can happen.
 * Bound: 3 members that create the team at any time, with or without other messages on all wires; one may die, two may revoke
 * the team. 4 members that have created it, without other messages; two may die, one may revoke the team.
 *
 * mutant 1  assert  a member that receives it does not send it on
 * mutant 2  assert  a member sends it to the next member only
 * mutant 3  assert  a member that receives it before it creates the team drops it
 * mutant 4  assert  a member that has found a dead member does not send it on
 * mutant 5  assert  a send that finds no room is dropped
 * mutant 6  end     a handler waits until it has sent all messages
 */
#define M(n) (MUTANT == n)
#define N 4
#define OTHER 1
#define REVOKE 2

byte n, deaths, dead, made, revoked, kept, error, todo[N], on[N * N];
bit begun; /* a member has revoked the team */

#define bit_of(i) (1 << (i))
#define all (bit_of(n) - 1)
#define in(i, set) ((set) & bit_of(i))
#define alive(i) ((i) < n && !in(i, dead))
#define wire(from, to) on[(from) * N + (to)]

hidden byte k;

inline mark(i) {
    if
    :: !in(i, revoked) ->
        todo[i] = (M(2) -> bit_of((i + 1) % n) : all & ~bit_of(i));
        if :: M(4) && in(i, error) -> todo[i] = 0 :: else fi
    :: else
    fi;
    revoked = revoked | bit_of(i);
    error = error | bit_of(i)
}

inline receive(i) {
    if
    :: !in(i, made) && !M(3) -> kept = kept | bit_of(i)
    :: in(i, made) && !in(i, revoked) ->
        mark(i);
        if :: M(1) -> todo[i] = 0 :: else fi
    :: else
    fi
}

#define waits(i) (M(6) && todo[i])
#define arrives(from, i) (alive(i) && wire(from, i))
#define takes(from, i) (arrives(from, i) && !waits(i))
#define any(what, i) (what(0, i) || what(1, i) || what(2, i) || what(3, i))
#define can_send(i, to) (alive(i) && in(to, todo[i]) && (!wire(i, to) || M(5)))
#define sends(i) (can_send(i, 0) || can_send(i, 1) || can_send(i, 2) || can_send(i, 3))
#define moves(i) (any(takes, i) || sends(i) || alive(i) && !in(i, made))
#define busy (moves(0) || moves(1) || moves(2) || moves(3))
#define left(i) (any(arrives, i) || alive(i) && todo[i])

inline die(i) {
    deaths--;
    todo[i] = 0; made = made & ~bit_of(i); revoked = revoked & ~bit_of(i); kept = kept & ~bit_of(i); error = error & ~bit_of(i);
    for (k : 0 .. N - 1) { wire(k, i) = 0; todo[k] = todo[k] & ~bit_of(i) }
    dead = dead | bit_of(i)
}

#define events_of(j)                                                                                                         \
    :: d_step { takes(j, i) && wire(j, i) == OTHER -> wire(j, i) = 0 }                                                       \
    :: d_step { takes(j, i) && wire(j, i) == REVOKE -> wire(j, i) = 0; receive(i); k = 0 }                                      \
    :: d_step { arrives(j, i) && in(j, dead) -> wire(j, i) = 0 }                                                             \
    :: d_step { can_send(i, j) -> todo[i] = todo[i] & ~bit_of(j); wire(i, j) = (wire(i, j) -> wire(i, j) : REVOKE) }

proctype member(byte i) {
end:
    do
    :: d_step { alive(i) && !in(i, made) ->
        made = made | bit_of(i);
        if :: in(i, kept) -> kept = kept & ~bit_of(i); receive(i) :: else fi;
        k = 0 }
    :: d_step { i < 5 - n && in(i, made) && !in(i, revoked) -> begun = 1; mark(i); k = 0 }
    :: d_step { in(i, made) && !in(i, error) && dead -> error = error | bit_of(i) }
    events_of(0)
    events_of(1)
    events_of(2)
    events_of(3)
    :: d_step { alive(i) && deaths && busy -> die(i) }
    od
}

init {
    byte from, to, first;
    if
    :: n = 3; first = OTHER
    :: n = 3
    :: n = 4; made = all
    fi;
    atomic {
        deaths = n - 2;
        for (from : 0 .. n - 1) {
            for (to : 0 .. n - 1) { wire(from, to) = (from == to -> 0 : first) }
        }
        for (from : 0 .. n - 1) { run member(from) }
    };
    d_step {
        !left(0) && !left(1) && !left(2) && !left(3) && made == (all & ~dead) ->
        assert(!revoked || begun && revoked == (all & ~dead)) }
}
