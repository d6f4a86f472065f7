/*
 * agree.pml - models the agreement of the members of a team, which may die (src/host/survive).
 *
 *   model               code
 *   dead, knows[i]      the members that are dead, and those that member i knows to be dead: it learns of each at any later time
 *   q[], send, receive  the active messages of each pair, in order. Of a dead member's messages to another, the first few
 *                       arrive, or all: so it may have died between any two sends. Over the network the rest is what the member
 *                       has not taken when it learns of the death (src/host/net/stream/lost.h)
 *   at[i], within[i]    the number of agreements that i has decided; whether it has begun the next one
 *   adopted[i]          the proposal that i has adopted, or 0
 *   votes, asked,       what i has received for the agreement `at`, or, at the index NEXT, for the one after it
 *   merged
 *   decision[i]         the result of agreement at - 1, for later requests
 *   receive             a handler, which also runs outside of the call
 *   proceed             an iteration of the call's loop
 *
 * The coordinator is the lowest member that i does not know to be dead. Member i sends VOTE to it, with its contribution and
 * the deaths that it knows, when it begins and when its coordinator changes. A coordinator that has the votes of all members
 * but those that it knows to be dead sends PROPOSE: with the proposal that it has adopted itself, or else with the merge of
 * the votes. When it has ACCEPT from all such members, it decides. VOTE and ASK request the decision, which answers them as soon
 * as it is there, in whatever way the receiver gets it. A coordinator other than member 0 sends ASK to all.
 * Votes contain no proposals: all living members have adopted what is decided, also the next coordinator. ACCEPT contains
 * no number: it arrives before the member's vote for the next agreement.
 * Asserted: all decisions are the same, also those of members that died later (agreed). They contain each member's
 * contribution, or list it as dead; they list all deaths that a living member knew when it began, and no living member. A
 * living member that waits for ever is an invalid end state: members do not die in a state where nothing else can happen.
 * Bound: 3 members, 3 agreements, 2 deaths; 4 members, 2 agreements, 1 death; 4 members, 1 agreement, 3 deaths.
 *
 * mutant 1  assert  a coordinator decides without waiting for ACCEPT
 * mutant 2  assert  a coordinator does not propose what it has adopted
 * mutant 3  assert  a member does not keep its contribution when it adopts a proposal
 * mutant 4  assert  a proposal of a coordinator that is known to be dead is adopted
 * mutant 5  end     a member that has decided does not answer ASK
 * mutant 6  end     a member that has decided does not answer VOTE
 * mutant 7  end     an ASK that comes before the decision is forgotten
 * mutant 8  end     a member that receives the decision does not answer earlier requests
 * mutant 9  assert  a coordinator does not wait for one vote
 * mutant 10 assert  a coordinator does not wait for one ACCEPT
 * mutant 11 end     a vote for the next agreement is ignored
 * mutant 12 end     a member votes only when it begins
 * mutant 13 end     a new coordinator does not send ASK
 * mutant 14 assert  the decision has only the deaths that the coordinator knows
 * mutant 15 assert  a proposal of the previous agreement is adopted
 * mutant 16 assert  a decision of the previous agreement is taken
 * mutant 17 assert  the decision has only the deaths that the votes list
 */
#define M(n) (MUTANT == n)
#define N 4
#define ROOM 6
#define CURRENT(i) (i)
#define NEXT(i) (N + (i))

mtype = { VOTE, ASK, PROPOSE, ACCEPT, DECIDE };

byte n, agreements, deaths; /* the bounds; deaths counts down */
byte dead, flying;          /* flying: messages under way to living members */
byte agreed[3];
byte knows[N], at[N], coordinator[N], adopted[N], accepts[N], decision[N], began[N];
bit within[N], proposed[N], moved[N]; /* moved: something has happened since the last iteration */
byte votes[2 * N], asked[2 * N], merged[2 * N];

chan q[N * N] = [ROOM] of { mtype, byte, byte };

hidden byte c, k, r, s, v;
hidden mtype what;

#define bit_of(i) (1 << (i))
#define all (bit_of(n) - 1)
#define in(i, set) ((set) & bit_of(i))
#define alive(i) ((i) < n && !in(i, dead))
#define link(from, to) q[(from) * N + (to)]
#define as_dead(set) ((set) << 4) /* a value: contributions, and dead members */
#define lowest(set) (!((set) & 1) -> 0 : (!((set) & 2) -> 1 : (!((set) & 4) -> 2 : 3)))
#define one_of(set) ((set) & -(set))
#define waits_for(set, rule) (set && !(rule && set == one_of(set)))

#define unfinished(i) (alive(i) && (at[i] < agreements && !within[i] || dead & ~knows[i] || moved[i]))
#define busy (flying || unfinished(0) || unfinished(1) || unfinished(2) || unfinished(3))
#define returned(i) (!alive(i) || at[i] == agreements)

inline send(from, to, message, number, content) {
    if
    :: alive(to) -> assert(len(link(from, to)) < ROOM); link(from, to)!message, number, content; flying++
    :: else
    fi
}

inline send_all(from, set, message, number, content) {
    for (k : 0 .. N - 1) {
        if
        :: k != from && in(k, set) -> send(from, k, message, number, content)
        :: else
        fi
    }
}

#define contribution(i) ((M(3) && adopted[i] -> 0 : bit_of(i)) | as_dead(knows[i]))

inline collect(from, content) { /* into r */
    votes[r] = votes[r] | bit_of(from);
    merged[r] = merged[r] | (content & (M(14) -> 15 : 255))
}

#define lacks(i) (!in(i, result | result >> 4) || alive(i) && as_dead(began[i]) & ~result)

inline decide(i, result, received) {
    assert(!agreed[at[i]] || agreed[at[i]] == result);
    assert(agreed[at[i]] || !lacks(0) && !lacks(1) && !lacks(2) && (n < 4 || !lacks(3)));
    assert(!(result & as_dead(all & ~dead)));
    agreed[at[i]] = result; decision[i] = result;
    if
    :: !received || !M(8) -> send_all(i, asked[CURRENT(i)], DECIDE, at[i], result)
    :: else
    fi;
    at[i]++; within[i] = 0;
    adopted[i] = 0; coordinator[i] = N; proposed[i] = 0; accepts[i] = 0; began[i] = 0; moved[i] = 0;
    votes[CURRENT(i)] = votes[NEXT(i)]; votes[NEXT(i)] = 0;
    asked[CURRENT(i)] = asked[NEXT(i)]; asked[NEXT(i)] = 0;
    merged[CURRENT(i)] = merged[NEXT(i)]; merged[NEXT(i)] = 0
}

inline proceed(i) {
    c = lowest(knows[i]);
    if
    :: coordinator[i] != c && (!M(12) || coordinator[i] == N) ->
        coordinator[i] = c;
        if
        :: c == i ->
            r = CURRENT(i);
            collect(i, contribution(i));
            if
            :: i > 0 && !M(13) -> send_all(i, all & ~knows[i], ASK, at[i], 0)
            :: else
            fi
        :: else -> send(i, c, VOTE, at[i], contribution(i))
        fi
    :: else
    fi;
    s = all & ~knows[i] & ~votes[CURRENT(i)];
    if
    :: coordinator[i] == i && !proposed[i] && !waits_for(s, M(9)) ->
        proposed[i] = 1;
        adopted[i] = (adopted[i] && !M(2) -> adopted[i] : merged[CURRENT(i)] | (M(17) -> 0 : as_dead(knows[i])));
        accepts[i] = bit_of(i);
        send_all(i, all & ~knows[i], PROPOSE, at[i], adopted[i])
    :: else
    fi;
    s = all & ~knows[i] & ~accepts[i];
    if
    :: proposed[i] && (M(1) || !waits_for(s, M(10))) -> decide(i, adopted[i], 0)
    :: else
    fi;
    moved[i] = 0
}

inline request(i, from) {
    if
    :: s + 1 == at[i] && !(M(5) && what == ASK) && !(M(6) && what == VOTE) -> send(i, from, DECIDE, s, decision[i])
    :: s >= at[i] && !(M(11) && s > at[i]) && !(M(7) && what == ASK) ->
        assert(s <= at[i] + 1);
        r = (s == at[i] -> CURRENT(i) : NEXT(i));
        asked[r] = asked[r] | bit_of(from);
        if
        :: what == VOTE -> collect(from, v)
        :: else
        fi
    :: else
    fi
}

inline receive(i, from) {
    link(from, i)?what, s, v; flying--;
    moved[i] = within[i];
    if
    :: what == VOTE || what == ASK -> request(i, from)
    :: what == PROPOSE && within[i] && (s == at[i] || M(15)) && (from == coordinator[i] || M(4)) ->
        adopted[i] = v;
        send(i, from, ACCEPT, s, 0)
    :: what == ACCEPT && proposed[i] -> accepts[i] = accepts[i] | bit_of(from)
    :: what == DECIDE && within[i] && (s == at[i] || M(16)) -> decide(i, v, 1)
    :: else
    fi;
    r = 0
}

inline drop(from, to) {
    do
    :: len(link(from, to)) > 0 -> link(from, to)?what, s, v; flying--
    :: else -> break
    od;
    v = 0
}

inline forget(i) {
    knows[i] = 0; within[i] = 0; adopted[i] = 0; coordinator[i] = N; proposed[i] = 0; accepts[i] = 0;
    at[i] = 0; decision[i] = 0; began[i] = 0; moved[i] = 0;
    for (r : 0 .. 1) { votes[r * N + i] = 0; asked[r * N + i] = 0; merged[r * N + i] = 0 }
    for (k : 0 .. N - 1) { drop(k, i) }
}

#define events_of(from)                                                                        \
    :: d_step { alive(i) && nempty(link(from, i)) -> receive(i, from) }                        \
    :: d_step { alive(i) && in(from, dead) && nempty(link(from, i)) -> drop(from, i) }         \
    :: d_step { alive(i) && in(from, dead & ~knows[i]) -> knows[i] = knows[i] | bit_of(from); moved[i] = within[i] }

proctype member(byte i) {
end:
    do
    :: d_step { alive(i) && at[i] < agreements && !within[i] -> within[i] = 1; began[i] = knows[i]; moved[i] = 1 }
    :: d_step { alive(i) && moved[i] -> proceed(i) }
    events_of(0)
    events_of(1)
    events_of(2)
    events_of(3)
    :: d_step { alive(i) && deaths && busy -> deaths--; forget(i); dead = dead | bit_of(i) }
    od
}

init {
    if
    :: n = 3; agreements = 3; deaths = 2
    :: n = 4; agreements = 2; deaths = 1
    :: n = 4; agreements = 1; deaths = 3
    fi;
    atomic {
        for (k : 0 .. N - 1) { coordinator[k] = N; run member(k) }
    };
    !busy && returned(0) && returned(1) && returned(2) && returned(3)
}
