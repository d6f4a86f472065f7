/*
 * barrier.pml - models src/host/coll/barrier.c, nodes.c and the slot of team.h: barriers, exchanges, and a slot that a later
 * team reuses.
 *
 *   model            code
 *   slot[pe]         struct shi_slot of one index on each PE: flag, arrived, released, from, buffer (half)
 *   offer            struct offer.clock: the highest epoch of a destroyed team
 *   oversubscribed   the same; counting barrier or dissemination
 *   gathered         the same; exchanges in the slot of the first, PE 0, or in all slots
 *   leaving          shi_team_destroy, free_left_slots: PEs 1 and 2 have left the first team, counted in arrived
 *   epoch, exchanges struct shmem_team, the same names
 *   step, plan       ghost: operations of the job; the first PE to enter one chooses its kind, for all
 *   came[pe]         ghost: operations this PE has begun
 *
 * PE 1 has been in another team, which left high epochs in its slot. PEs 0 1 2 create a team, then PEs 0 1 create one,
 * which they may finish while PE 2 is still in the first. Creating a team is an exchange on its parent; the model has
 * only its effect: no PE continues before all have made their offer. A store to another PE's memory is one step, and so
 * is each load, in program order, as release and acquire give; mutant 9 drops one edge.
 * Asserted: when a PE leaves a barrier, all have entered; an exchange buffer holds this exchange's value; a broadcast
 * has arrived. A member that waits for ever is an invalid end state.
 * Bound: 3 operations of the first team, 2 of the second; each a barrier, an exchange or a broadcast.
 *
 * mutant 1  end     counting barrier: released is set before arrived is reset, so that an early arrival is lost
 * mutant 2  end     waits compare with == and miss the epoch that a faster member has overwritten
 * mutant 3  assert  dissemination: one flag for all rounds, so that one member counts twice and another never
 * mutant 4  assert  one buffer instead of two: a member one exchange ahead overwrites it
 * mutant 5  assert  the epoch selects the buffer: the same one before and after a broadcast
 * mutant 6  assert  a new team counts from 0: the slot's old epochs release members
 * mutant 7  end     a new team counts from each PE's own clock, not from the highest of all
 * mutant 8  end     a new team clears its slot: a faster member's store is lost
 * mutant 9  assert  notified before the value is stored (R4 weakened)
 * mutant 10 end     gathered: the first gives the slot to a new team before all members have left the old one
 * mutant 11 assert  gathered: released before all members have stored their records
 */
#define M(n) (MUTANT == n)
#define PES 3
#define FIRST 3 /* operations of the first team */
#define ALL 5
#define OLD 2 /* epoch in PE 1's slot */

mtype = { none, barrier, exchange, broadcast };
typedef slots {
    byte flag[2], arrived, released, from[PES], buffer[2 * PES], dest
};
slots slot[PES];
mtype plan[ALL] = none;
byte came[PES], offer[2 * PES], offers[2];
bit oversubscribed, gathered;

#define round(i) (M(3) -> 0 : i - 1) /* i is the distance: 1, then 2 */
#define buffer_store(to) slot[to].buffer[which * PES + me] = step + 1
#define notify(to) slot[to].from[me] = epoch /* R4 */
#define wait_ge(word, value) (word == value || !M(2) && word > value)

inline all_came() { assert(came[0] > step && came[1] > step && (n == 2 || came[2] > step)) }

inline buffer_store_all() {
    do
    :: atomic { i < n -> buffer_store((me + i) % n); i++ }
    :: else -> i = 1; break
    od
}

inline notify_all() {
    do
    :: atomic { i < n -> notify((me + i) % n); i++ }
    :: else -> i = 1; break
    od
}

inline barrier_counting() {
    atomic { /* R2, A2 */
        slot[0].arrived++;
        last = slot[0].arrived == n
    }
    if
    :: last && M(1) -> slot[0].released = epoch; slot[0].arrived = 0
    :: last && !M(1) -> slot[0].arrived = 0; slot[0].released = epoch /* R3 */
    :: !last -> wait_ge(slot[0].released, epoch) /* A3 */
    fi
}

inline barrier_dissemination() {
    do
    :: atomic { i < n -> slot[(me + i) % n].flag[round(i)] = epoch } /* R1 */
        atomic { wait_ge(slot[me].flag[round(i)], epoch); i = i * 2 } /* A1 */
    :: else -> break
    od
}

inline exchange_buffers() {
    atomic {
        exchanges++;
        which = (M(4) -> 0 : (M(5) -> epoch & 1 : exchanges & 1));
        buffer_store(me)
    }
    if :: M(9) -> notify_all(); buffer_store_all() :: !M(9) -> buffer_store_all(); notify_all() fi;
    do
    :: atomic { i < n -> wait_ge(slot[me].from[(me + i) % n], epoch); i++ } /* A4 */
    :: else -> i = 0; break
    od;
    do
    :: atomic { i < n -> assert(slot[me].buffer[which * PES + i] == step + 1); i++ }
    :: else -> break
    od
}

/* The members of a node that is alone; rounds.pml has the firsts' rounds between nodes. */
inline exchange_gathered() {
    atomic {
        exchanges++;
        which = (M(4) -> 0 : (M(5) -> epoch & 1 : exchanges & 1));
        slot[0].buffer[which * PES + me] = step + 1
    }
    if
    :: me == 0 ->
        atomic { M(11) || slot[0].arrived == n - 1 -> slot[0].arrived = (M(11) -> slot[0].arrived : 0) } /* A2 */
        slot[0].released = epoch /* R3 */
    :: else ->
        slot[0].arrived++; /* R2 */
        wait_ge(slot[0].released, epoch) /* A3 */
    fi;
    i = 0;
    do
    :: i < n -> assert(slot[0].buffer[which * PES + i] == step + 1); i++
    :: else -> break
    od
}

inline broadcast_push() {
    do
    :: me == 0 && i < n -> slot[i].dest = step + 1; atomic { notify(i); i++ }
    :: me == 0 && i == n -> break
    :: me != 0 -> atomic { wait_ge(slot[me].from[0], epoch); assert(slot[me].dest >= step + 1); break }
    od
}

inline operation() {
    atomic {
        if
        :: plan[step] == none ->
            if
            :: plan[step] = barrier
            :: plan[step] = exchange
            :: plan[step] = broadcast
            fi
        :: else
        fi;
        came[me] = step + 1;
        epoch++;
        i = 1
    }
    if
    :: plan[step] == barrier && oversubscribed -> barrier_counting(); all_came()
    :: plan[step] == barrier && !oversubscribed -> barrier_dissemination(); all_came()
    :: plan[step] == exchange && gathered -> exchange_gathered()
    :: plan[step] == exchange && !gathered -> exchange_buffers()
    :: plan[step] == broadcast -> broadcast_push()
    fi;
    atomic { i = 0; which = 0; last = 0; step++ }
}

/* Join the team of PEs 0 to members - 1. The offers of the second team have their own buffers. */
inline join(members, team, old_clock) {
    atomic { offer[team * PES + me] = old_clock; offers[team]++ }
    offers[team] == members;
    d_step {
        epoch = offer[team * PES];
        if :: offer[team * PES + 1] > epoch -> epoch = offer[team * PES + 1] :: else fi;
        if :: M(6) || M(8) -> epoch = 0 :: M(7) -> epoch = old_clock :: else fi;
        n = members;
        exchanges = 0
    }
    if
    :: M(8) -> d_step {
        slot[me].flag[0] = 0; slot[me].flag[1] = 0; slot[me].arrived = 0; slot[me].released = 0;
        slot[me].from[0] = 0; slot[me].from[1] = 0; slot[me].from[2] = 0 }
    :: else
    fi
}

proctype pe(byte me) {
    byte n, epoch, exchanges, step, i, which;
    bit last;
    join(3, 0, (me == 1 -> OLD : 0));
    do :: step < FIRST -> operation() :: else -> break od;
    if
    :: gathered && me > 0 -> slot[0].arrived++ /* R2 */
    :: gathered && me == 0 && !M(10) -> atomic { slot[0].arrived == PES - 1 -> slot[0].arrived = 0 } /* A2 */
    :: gathered && me == 0 && M(10) -> slot[0].arrived = 0
    :: else
    fi;
    if
    :: me < 2 ->
        join(2, 1, epoch);
        do :: step < ALL -> operation() :: else -> break od
    :: else
    fi
}

init {
    atomic {
        slot[1].flag[0] = OLD; slot[1].flag[1] = OLD; slot[1].released = OLD;
        slot[1].from[0] = OLD; slot[1].from[1] = OLD; slot[1].from[2] = OLD;
        if :: oversubscribed = 0 :: oversubscribed = 1 fi;
        if :: gathered = 0 :: gathered = 1 fi;
        run pe(0); run pe(1); run pe(2)
    }
}
