/*
 * rounds.pml - models the rounds between nodes of src/host/coll/barrier.c (shi_team_rounds) with the schedules of plan.c: exchanges of
 * pairs, and dissemination, between the four nodes of one team.
 *
 *   model          code
 *   slot[pe]       struct shi_slot of a node's first: from, and in `block` the two halves of the exchange buffers
 *   net[]          the stream from one PE to another, in order; streams overtake each other
 *   pairs          rounds of SHI_PLAN_GATHER: the partner of round r differs in bit r
 *   dissemination  rounds of SHI_PLAN_SCAN or SHI_PLAN_INDEX: to 2^r above, from 2^r below
 *   which          the half: exchanges & 1
 *   plan, step     ghost: operations of the job; the first PE to enter one chooses its kind, for all
 *   came[pe]       ghost: operations this PE has begun
 *
 * Asserted: when a PE leaves an operation, all have entered it, and after an exchange of pairs it has the blocks of all. A PE that
 * waits for ever is an invalid end state.
 * Bound: 4 PEs, 3 operations, each a gather by pairs or rounds of dissemination.
 *
 * mutant 1  assert  a word for each round, which pairs and dissemination use for different partners: a late store takes it back
 * mutant 2  assert  one word for all partners
 * mutant 3  assert  notified before the blocks are stored (R4 weakened)
 * mutant 4  assert  one half instead of two: a PE one exchange ahead overwrites it
 */
#define M(n) (MUTANT == n)
#define PES 4
#define ALL 3

mtype = { none, pairs, dissemination };
mtype = { word, blocks, blocks_and_word };
typedef slots {
    byte round[2], from[PES], block[2 * PES]
};
slots slot[PES];
chan net[PES * PES] = [4] of { mtype, byte, byte, byte, byte }; /* kind, round, epoch, half, value */
mtype plan[ALL] = none;
byte came[PES];

#define distance (r + 1)
#define other (me ^ distance)
#define to(pe) net[me * PES + (pe)]
#define from(pe) net[(pe) * PES + me]
#define notified(pe) (M(1) -> slot[me].round[r] >= epoch : slot[me].from[(M(2) -> 0 : pe)] >= epoch)

/* Apply the next message of a stream. */
inline apply(pe) {
    from(pe) ? kind, round, number, half, value;
    if
    :: kind == blocks || kind == blocks_and_word ->
        slot[me].block[half * PES + pe] = value;
        if :: round == 1 -> slot[me].block[half * PES + (pe ^ 1)] = value :: else fi
    :: else
    fi;
    if
    :: kind != blocks && M(1) -> slot[me].round[round] = number
    :: kind != blocks && !M(1) -> slot[me].from[(M(2) -> 0 : pe)] = number /* R4 */
    :: else
    fi;
    kind = none; round = 0; number = 0; half = 0; value = 0
}

#define PROGRESS \
    :: atomic { nempty(from(0)) -> apply(0) } \
    :: atomic { nempty(from(1)) -> apply(1) } \
    :: atomic { nempty(from(2)) -> apply(2) } \
    :: atomic { nempty(from(3)) -> apply(3) }

inline gather() {
    do
    :: r < 2 ->
        if
        :: M(3) -> to(other) ! word, r, epoch, which, step + 1; to(other) ! blocks, r, epoch, which, step + 1
        :: else -> to(other) ! blocks_and_word, r, epoch, which, step + 1
        fi;
        do :: notified(other) -> break /* A4 */ PROGRESS od;
        r++
    :: else -> break
    od;
    do
    :: atomic {
            assert(slot[me].block[which * PES] == step + 1 && slot[me].block[which * PES + 1] == step + 1 &&
                   slot[me].block[which * PES + 2] == step + 1 && slot[me].block[which * PES + 3] == step + 1); break }
    PROGRESS
    od
}

inline disseminate() {
    do
    :: r < 2 ->
        to((me + distance) % PES) ! word, r, epoch, 0, 0;
        do :: notified((me + PES - distance) % PES) -> break /* A4 */ PROGRESS od;
        r++
    :: else -> break
    od
}

proctype pe(byte me) {
    mtype kind = none;
    byte epoch, exchanges, step, which, r, round, number, half, value;
    do
    :: step < ALL ->
        atomic {
            if
            :: plan[step] == none -> if :: plan[step] = pairs :: plan[step] = dissemination fi
            :: else
            fi;
            came[me] = step + 1;
            epoch++;
            if
            :: plan[step] == pairs ->
                exchanges++;
                which = (M(4) -> 0 : exchanges & 1);
                slot[me].block[which * PES + me] = step + 1
            :: else
            fi
        }
        if :: plan[step] == pairs -> gather() :: else -> disseminate() fi;
        atomic {
            assert(came[0] > step && came[1] > step && came[2] > step && came[3] > step);
            r = 0; which = 0; step++
        }
    :: else -> break
    od
}

init { atomic { run pe(0); run pe(1); run pe(2); run pe(3) } }
