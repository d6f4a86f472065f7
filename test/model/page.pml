/*
 * page.pml - models the holding of a page of cells by its owner, without the lock, and by other PEs (race/page.h).
 *
 *   model      protocol
 *   owner      race_page_enter, an update of the page's cells, race_page_leave; where the page is shared, the lock in their place
 *   other      another PE: race_page_hold, an update, race_page_release; the thread that ends race_alone does the same with
 *              race_alone in the place of shared
 *   q          the owner's stores that others do not see yet, in order; drain makes them visible at any time
 *   cell       the page's cells; an update adds 1
 *   empty(q)   the membarrier: at one time during it the owner's stores are visible
 *
 * Asserted: at the end the cell counts all updates, so two did not hold the page at a time (E1), and each has seen the one before (E2).
 * A wait that does not end is an invalid end state.
 * Bound: an owner that updates three times, and two other PEs that update once each.
 *
 * mutant 1  assert  there is no membarrier
 * mutant 2  assert  the first other PE does not wait for the owner to leave
 * mutant 3  assert  the wait for the owner precedes the membarrier
 * mutant 4  assert  the owner leaves before its update is visible (R2)
 * mutant 5  assert  the lock is released before the update is visible (R1)
 * mutant 6  assert  an other PE reads the cells before it has the lock (A1)
 * mutant 7  assert  the first other PE reads the cells before the owner has left (A2)
 * mutant 8  assert  shared is set before the lock is taken, so that a second PE does not wait for the owner
 * mutant 9  assert  the owner looks at shared before it is in
 * mutant 10 end     the owner does not leave
 * mutant 11 end     the owner waits for the lock while it is in
 */
#define M(n) (MUTANT == n)
#define OTHERS 2
#define TIMES 3
#define CELL 0
#define IN 1
#define LOCK 2

byte cell, done;
bit shared, in, lock;
chan q = [6] of { byte, byte }; /* word, value */
byte of_owner = 255;            /* the owner's newest store of the cell in q; 255: none */

inline see(word, value) {
    if
    :: word == CELL -> cell = value; if :: of_owner == value -> of_owner = 255 :: else fi
    :: word == IN -> in = value
    :: word == LOCK -> lock = value
    fi
}

active proctype drain() {
    byte word, value;
end:
    do
    :: atomic { q?word, value -> see(word, value) }
    od
}

inline update() {
    value = (of_owner != 255 -> of_owner : cell);
    if
    :: M(4) && !locked -> q!IN(0)
    :: else
    fi;
    atomic { value = value + 1; of_owner = value; q!CELL(value) }
}

active proctype owner() {
    byte times, value;
    bit locked, saw;
    do
    :: times < TIMES ->
        saw = shared;
        q!IN(1);
        if
        :: M(9)
        :: else -> saw = shared
        fi;
        locked = saw;
        if
        :: !locked
        :: else ->
            if
            :: M(11)
            :: else -> q!IN(0)
            fi;
            atomic { !lock -> lock = 1 };
            if
            :: M(11) -> q!IN(0)
            :: else
            fi
        fi;
        update();
        if
        :: locked -> q!LOCK(0)
        :: !locked && !M(4) && !M(10) -> q!IN(0)
        :: else
        fi;
        times++
    :: else -> break
    od;
    done++
}

active [OTHERS] proctype other() {
    byte value;
    bit first;
    if
    :: M(8) -> atomic { first = !shared; shared = 1 }
    :: else
    fi;
    if
    :: M(6) -> value = cell
    :: else
    fi;
    atomic { !lock -> lock = 1 };
    if
    :: M(8)
    :: else -> first = !shared; shared = 1
    fi;
    if
    :: M(7) -> value = cell
    :: else
    fi;
    if
    :: first && M(1) -> !in
    :: first && M(2) -> empty(q)
    :: first && M(3) -> !in; empty(q)
    :: first && !M(1) && !M(2) && !M(3) -> empty(q); !in
    :: else
    fi;
    if
    :: M(6) || M(7)
    :: else -> value = cell
    fi;
    if
    :: M(5) -> lock = 0; cell = value + 1
    :: else -> cell = value + 1; lock = 0
    fi;
    done++
}

active proctype judge() {
    done == OTHERS + 1 && empty(q) -> assert(cell == TIMES + OTHERS)
}
