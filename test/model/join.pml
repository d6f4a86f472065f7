/*
 * join.pml - models how new processes take the places of PEs that have died (src/host/survive/grow.c, src/host/net/node/shm_join.c).
 *
 *   model               code
 *   live, inc[p]        the places whose process lives; the number of the place's latest process, in place of its pid
 *   who[p], owner[p],   the words of place p in the node's file: struct shi_shm_join, and the pid of the region
 *   round[p], off[p],
 *   size[p]
 *   net                 the job uses the network: new processes are READY, then IN
 *   AGREE1 .. AGREE5    the agreements of shmemx_grow, AGREE4 over the network only (agree.pml is their model): here one step decides, once all members that live have
 *                       called. The result has all members that did not call, and maybe those that died after their call
 *   knows[i]            the members that i knows to have failed; it learns of each death at any later time
 *   watched             the process that i has found at place p; from then on i takes its messages, and learns of its death
 *   hears[i]            the places whose new process i takes messages from; in `watched` the process is known
 *   gift                the PEs that have stored in the file what a new process gets
 *   cleared             the new processes that have cleared their range of the file
 *
 * Asserted: all PEs that live read the same choice; only the process that was chosen gets GO, once all PEs that live take its messages; it finds a whole gift
 * in the file; a PE that goes on has found each new process ready, or it has died; the word of a process that waits stays its own. A process that waits for ever
 * is an invalid end state.
 * Bound: 3 places, of which 1 or 2 have lost their process at the start; 2 calls of shmemx_grow; up to 2 deaths, and 3 processes that are started.
 *
 * mutant 1  assert  GO goes to any process that waits, not only to the chosen one
 * mutant 2  assert  GO is stored over whatever the word contains
 * mutant 3  assert  GO is stored before the gift's place
 * mutant 4  end     no other PE stores GO when the one that does has died
 * mutant 5  assert  each PE takes the processes that it finds waiting
 * mutant 6  assert  PEs read the choice without an agreement after it
 * mutant 7  assert  a process that has got GO counts as ready
 * mutant 8  assert  the gift is released once GO is stored
 * mutant 9  assert  GO is stored before all PEs take messages of the new process
 * mutant 10 end     a waiting process takes others that wait for PEs that could let it in
 * mutant 11 end     a new PE waits for one that no PE is left to let in
 * mutant 12 assert  over the network IN is stored before all PEs take messages of the new process
 * mutant 13 end     over the network a new PE waits for IN when no PE is left to store it
 */
#define M(n) (MUTANT == n)
#define N 3
#define ROUNDS 2
#define NONE N
#define WAITS 1
#define GO 2
#define READY 3
#define IN 4
#define word(process, state) ((process) * 8 + (state))

mtype = { RUN, AGREE1, CHOOSE, CHOOSE_ROUND, AGREE2, AGREE3, AWAIT, GIVE_OFF, GIVE_SIZE, GIVE_GO, AGREE4, AWAIT_IN, AGREE5, LEFT,
          COMES, WAITING, READ_OFF, READ_SIZE, CLEAR };

mtype pc[N];
byte live, fresh, left, gift, cleared, list; /* fresh: live processes that are not PEs yet; list: the new team */
byte deaths, starts;                         /* both count down */
byte inc[N], who[N], owner[N], round[N], off[N], size[N];
byte rounds[N], knows[N], at[N], got[N], watched[N * N];
byte called[2], result[2], hears[N];
bit net, now[N]; /* now: the agreement that i has called last */
bit decided[2];

hidden byte k;

#define bit_of(i) (1 << (i))
#define all (bit_of(N) - 1)
#define in(i, set) ((set) & bit_of(i))
#define alive(i) (in(i, live))
#define lowest(set) (!((set) & 7) -> NONE : ((set) & 1 -> 0 : ((set) & 2 -> 1 : 2)))

/* ---- agreements: two words of state, used in turn */

#define is_member(p) (in(p, live) && (!in(p, fresh) || in(p, list) && owner[p] == inc[p]))
#define members (is_member(0) | is_member(1) << 1 | is_member(2) << 2)
#define callers(last) (last -> members : live & ~fresh)
#define can_decide(w, last, early) (decided[w] || early || !(callers(last) & ~called[w]))

inline decide(w, last) {
    if
    :: decided[w] -> skip
    :: !decided[w] ->
        decided[w] = 1;
        if
        :: result[w] = all & ~called[w]
        :: result[w] = all & ~called[w] | called[w] & ~callers(last)
        fi;
        if :: last -> fresh = fresh & ~members :: else fi;
        called[1 - w] = 0; decided[1 - w] = 0; result[1 - w] = 0
    fi
}

inline call(i, next) {
    now[i] = 1 - now[i];
    called[now[i]] = called[now[i]] | bit_of(i);
    at[i] = 0;
    pc[i] = next
}

/* ---- the team, as PE i sees it */

#define is_chosen(i, p) (round[p] == rounds[i])
#define chosen(i) (is_chosen(i, 0) | is_chosen(i, 1) << 1 | is_chosen(i, 2) << 2)
#define is_in(p) (who[p] == word(owner[p], READY) || who[p] == word(owner[p], IN) || M(7) && who[p] == word(owner[p], GO))
#define missing(i, p) (in(p, list & chosen(i) & ~knows[i]) && !is_in(p))
#define all_in(i) (!missing(i, 0) && !missing(i, 1) && !missing(i, 2))
#define leader(i) lowest(list & ~chosen(i) & ~(M(4) -> 0 : knows[i]))
#define waits(p) (who[p] == word(owner[p], WAITS) || M(1) && (who[p] & 7) == WAITS)
#define is_not(i, p, state) (in(p, list & chosen(i) & ~knows[i]) && who[p] != word(owner[p], state))
#define all_are(i, state) (!is_not(i, 0, state) && !is_not(i, 1, state) && !is_not(i, 2, state))
#define lets_on(i, p) (in(p, list & chosen(i)) && who[p] == word(owner[p], READY))
#define hears_it(m, i) (!alive(m) || in(m, fresh) || in(m, left) || in(i, hears[m]))
#define lets_in(i, p) (p < N && in(p, list & chosen(i)) && waits(p))
#define is_shut_out(i, p) (missing(i, p) && who[p] == word(owner[p], WAITS))
#define any_shut_out(i) (is_shut_out(i, 0) || is_shut_out(i, 1) || is_shut_out(i, 2))
#define has_died(i, p) (!alive(p) || inc[p] != watched[(i) * N + p])
#define helps(p) (alive(p) && inc[p] == owner[p] && (M(10) || who[p] != word(owner[p], WAITS)))
#define any_helps(i) (i != 0 && helps(0) || i != 1 && helps(1) || i != 2 && helps(2))

inline vanish(i) {
    live = live & ~bit_of(i); fresh = fresh & ~bit_of(i); cleared = cleared & ~bit_of(i);
    rounds[i] = 0; knows[i] = 0; hears[i] = 0; now[i] = 0; at[i] = 0; got[i] = 0;
    watched[(i) * N] = 0; watched[(i) * N + 1] = 0; watched[(i) * N + 2] = 0
}

inline take_back(i) {
    for (k : 0 .. N - 1) {
        if
        :: in(k, list & chosen(i)) -> knows[i] = knows[i] & ~bit_of(k); hears[i] = hears[i] & ~bit_of(k); watched[(i) * N + k] = owner[k]
        :: else
        fi
    }
    k = 0
}

#define takes_its_messages(m, i) (!alive(m) || in(m, fresh) || in(m, left) || watched[(m) * N + i] == inc[i])

proctype place(byte i) {
end:
    do
    /* a PE */
    :: d_step { alive(i) && pc[i] == RUN && rounds[i] < ROUNDS -> rounds[i]++; call(i, AGREE1) }
    :: d_step { alive(i) && pc[i] == RUN && rounds[i] == ROUNDS -> left = left | bit_of(i); pc[i] = LEFT }
    :: atomic { alive(i) && pc[i] == AGREE1 && can_decide(now[i], 0, 0) ->
        if :: !decided[now[i]] -> list = 0 :: else fi;
        decide(now[i], 0);
        if
        :: lowest(all & ~result[now[i]]) == i -> pc[i] = CHOOSE
        :: else -> call(i, AGREE2)
        fi }
    :: d_step { alive(i) && pc[i] == CHOOSE ->
        if
        :: at[i] == N -> call(i, AGREE2)
        :: at[i] < N && in(at[i], result[now[i]]) && (who[at[i]] & 7) == WAITS -> owner[at[i]] = who[at[i]] / 8; pc[i] = CHOOSE_ROUND
        :: else -> at[i]++
        fi }
    :: d_step { alive(i) && pc[i] == CHOOSE_ROUND -> round[at[i]] = rounds[i]; at[i]++; pc[i] = CHOOSE }
    :: atomic { alive(i) && pc[i] == AGREE2 && can_decide(now[i], 0, M(6)) ->
        decide(now[i], 0);
        got[i] = all & ~result[now[i]] | chosen(i);
        if :: M(5) -> got[i] = got[i] | (who[0] & 7) == WAITS | ((who[1] & 7) == WAITS) << 1 | ((who[2] & 7) == WAITS) << 2 :: else fi;
        assert(!list || list == got[i]);
        list = got[i]; got[i] = 0;
        take_back(i);
        call(i, AGREE3) }
    :: atomic { alive(i) && pc[i] == AGREE3 && can_decide(now[i], 0, M(9)) -> decide(now[i], 0); pc[i] = AWAIT }
    :: atomic { alive(i) && pc[i] == AGREE4 && can_decide(now[i], 0, M(12)) -> decide(now[i], 0); pc[i] = AWAIT_IN }
    /* a PE, and a new process that is ready */
    :: d_step { alive(i) && pc[i] == AWAIT && all_in(i) ->
        for (k : 0 .. N - 1) { assert(!in(k, list & chosen(i)) || in(k, cleared) || has_died(i, k)) }
        k = 0;
        if
        :: !net -> call(i, AGREE5)
        :: net && in(i, fresh) -> hears[i] = all; pc[i] = AWAIT_IN
        :: else -> hears[i] = hears[i] | (list & chosen(i)); call(i, AGREE4)
        fi }
    :: d_step { alive(i) && pc[i] == AWAIT_IN && all_are(i, IN) ->
        assert(!in(i, fresh) || hears_it(0, i) && hears_it(1, i) && hears_it(2, i));
        call(i, AGREE5) }
    :: d_step { alive(i) && pc[i] == AWAIT_IN && leader(i) == i && (lets_on(i, 0) || lets_on(i, 1) || lets_on(i, 2)) ->
        at[i] = (lets_on(i, 0) -> 0 : (lets_on(i, 1) -> 1 : 2));
        who[at[i]] = word(owner[at[i]], IN) }
    :: d_step { alive(i) && pc[i] == AWAIT_IN && leader(i) == NONE && !all_are(i, IN) && !M(13) -> vanish(i) }
    :: d_step { alive(i) && pc[i] == AWAIT && !all_in(i) && leader(i) == i && (lets_in(i, 0) || lets_in(i, 1) || lets_in(i, 2)) ->
        at[i] = (lets_in(i, 0) -> 0 : (lets_in(i, 1) -> 1 : 2));
        gift = gift | bit_of(i);
        pc[i] = (M(3) -> GIVE_GO : GIVE_OFF) }
    :: d_step { alive(i) && pc[i] == AWAIT && !all_in(i) && leader(i) == NONE && any_shut_out(i) && !M(11) -> vanish(i) }
    :: d_step { alive(i) && pc[i] == GIVE_OFF -> off[at[i]] = i + 1; pc[i] = GIVE_SIZE }
    :: d_step { alive(i) && pc[i] == GIVE_SIZE -> size[at[i]] = i + 1; pc[i] = (M(3) -> AWAIT : GIVE_GO) }
    :: d_step { alive(i) && pc[i] == GIVE_GO ->
        if
        :: M(2) || who[at[i]] == word(owner[at[i]], WAITS) -> who[at[i]] = word(owner[at[i]], GO)
        :: M(1) -> who[at[i]] = word(inc[at[i]], GO)
        :: else
        fi;
        if :: M(8) -> gift = gift & ~bit_of(i) :: else fi;
        pc[i] = (M(3) -> GIVE_OFF : AWAIT) }
    :: atomic { alive(i) && pc[i] == AGREE5 && can_decide(now[i], 1, 0) ->
        decide(now[i], 1);
        gift = gift & ~bit_of(i);
        pc[i] = RUN }
    /* a new process */
    :: d_step { alive(i) && pc[i] == COMES -> who[i] = word(inc[i], WAITS); pc[i] = WAITING }
    :: d_step { alive(i) && pc[i] == WAITING && who[i] == word(inc[i], GO) ->
        assert(owner[i] == inc[i]);
        assert(takes_its_messages(0, i) && takes_its_messages(1, i) && takes_its_messages(2, i));
        pc[i] = READ_OFF }
    :: d_step { alive(i) && pc[i] == WAITING && who[i] != word(inc[i], GO) && (left || !any_helps(i)) ->
        assert(who[i] == word(inc[i], WAITS));
        vanish(i) }
    :: d_step { alive(i) && pc[i] == READ_OFF -> got[i] = off[i]; pc[i] = READ_SIZE }
    :: d_step { alive(i) && pc[i] == READ_SIZE ->
        assert(got[i] && got[i] == size[i] && in(got[i] - 1, gift));
        got[i] = 0; rounds[i] = round[i]; now[i] = (net -> round[i] & 1 : 0);
        for (k : 0 .. N - 1) { watched[(i) * N + k] = owner[k] }
        k = 0;
        cleared = cleared | bit_of(i);
        pc[i] = CLEAR }
    :: d_step { alive(i) && pc[i] == CLEAR -> who[i] = word(inc[i], READY); pc[i] = AWAIT }
    /* deaths, and what follows */
    :: d_step { alive(i) && watched[(i) * N] && !in(0, left | knows[i]) && has_died(i, 0) -> knows[i] = knows[i] | 1 }
    :: d_step { alive(i) && watched[(i) * N + 1] && !in(1, left | knows[i]) && has_died(i, 1) -> knows[i] = knows[i] | 2 }
    :: d_step { alive(i) && watched[(i) * N + 2] && !in(2, left | knows[i]) && has_died(i, 2) -> knows[i] = knows[i] | 4 }
    :: d_step { alive(i) && pc[i] != LEFT && deaths -> deaths--; vanish(i) }
    :: d_step { !alive(i) && starts && !left -> starts--; inc[i]++; live = live | bit_of(i); fresh = fresh | bit_of(i); pc[i] = COMES }
    od
}

#define is_done(i) (!alive(i) || pc[i] == LEFT)

init {
    byte p;
    if
    :: live = 1
    :: live = 4
    :: live = 3
    :: live = 6
    fi;
    if :: net = 0 :: net = 1 fi;
    if :: deaths = 0 :: deaths = 1 :: deaths = 2 fi;
    if :: starts = 1 :: starts = 2 :: starts = 3 fi;
    atomic {
        for (p : 0 .. N - 1) {
            inc[p] = 1; owner[p] = 1; pc[p] = RUN; now[p] = 1;
            if
            :: in(p, live) -> knows[p] = all & ~live; watched[p * N] = 1; watched[p * N + 1] = 1; watched[p * N + 2] = 1
            :: else
            fi
        }
        for (p : 0 .. N - 1) { run place(p) }
    };
    is_done(0) && is_done(1) && is_done(2)
}
