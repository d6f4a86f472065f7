/*
 * collect.pml - models shi_collect of src/device/lib/coll.h: each member sends the start of the next member's block to
 * it.
 *
 *   model            code
 *   word[pe]         the offset word after the team's flags
 *   synced[pe]       the sync at the end, only its effect: no member leaves before all have entered
 *   size[], wanted   ghost: the length of each member's block in each collect, and this one's expected start
 *
 * A store to another PE's memory is one step, and so is each load. Asserted: a member's block starts where the previous
 * blocks end. A member that waits for ever is an invalid end state.
 * Bound: 3 PEs, 3 collects, blocks of 0 or 1 element; the last member's lengths have no effect.
 *
 * mutant 1  end     offsets are stored without adding 1, so that 0 looks like no value
 * mutant 2  assert  the word is not cleared: the next collect reads this one's
 * mutant 3  end     the word is cleared after the sync, when it may hold the next collect's offset
 * mutant 4  assert  no sync at the end: an offset of the next collect overwrites one that was not read
 */
#define M(n) (MUTANT == n)
#define PES 3
#define ALL 3
#define SHIFT (M(1) -> 0 : 1)

byte word[PES], synced[PES], size[PES * ALL];
byte chosen;

inline sync() {
    if
    :: M(4)
    :: else -> synced[me]++; (synced[0] > step && synced[1] > step && synced[2] > step)
    fi
}

proctype pe(byte me) {
    byte step, at, wanted;
    for (step : 0 .. ALL - 1) {
        at = SHIFT;
        if
        :: me > 0 ->
            atomic { (word[me] != 0) -> at = word[me] }
            if
            :: !M(2) && !M(3) -> word[me] = 0
            :: else
            fi
        :: else
        fi
        if
        :: me + 1 < PES -> word[me + 1] = at + size[step * PES + me]
        :: else
        fi
        d_step {
            wanted = (me > 0 -> size[step * PES] : 0) + (me > 1 -> size[step * PES + 1] : 0);
            assert(at - SHIFT == wanted)
        }
        sync();
        if
        :: M(3) -> word[me] = 0
        :: else
        fi
    }
}

init {
    for (chosen : 0 .. PES * ALL - 1) {
        if
        :: chosen % PES < PES - 1 -> size[chosen] = 1
        :: size[chosen] = 0
        fi
    }
    chosen = 0;
    atomic { run pe(0); run pe(1); run pe(2) }
}
