/*
 * reader.pml - models the waits of src/device/lib/ring.h for a word of the proxy's line: one of those that wait reads the line, the others
 * look at the copy that it stores.
 *
 *   model        protocol
 *   done         the word, of which the proxy's loads and stores are many and a device's are slow; tail is the same
 *   aborted      abort, which the same load reads
 *   copy         completed, or seen: a value of done, stored by a reader
 *   reader       done_reader, or tail_reader: 1 while one that waits reads the line
 *   view         of a waiter: the stores of the requests below it are visible to it. A fence extends it to what the waiter has read
 *   copy_view    the view of the copy's writer when it stored the copy
 *   readers      ghost: how many read the line as its reader
 *
 * A3, A8  behind the fence at a wait's end the stores of all requests up to the ticket are visible
 * R8      the copy is stored behind a fence
 * Asserted: no wait ends before its request is complete and visible, unless aborted; there is one reader at most. A waiter that is never
 * served is an invalid end state.
 * Bound: 3 waiters, one of which waits twice, for any of 2 tickets; an abort at any time, or none. The two stores of a reader that leaves are seen in
 * any order.
 *
 * mutant 1  end     a reader that leaves stays the reader
 * mutant 2  end     the same, because of an abort
 * mutant 3  assert  election by load and store
 * mutant 4  assert  the copy is stored before the fence
 * mutant 5  assert  no fence at the end of a wait that the copy ends
 * mutant 6  assert  the reader stores the ticket for which it waits
 * mutant 7  end     a waiter that was not elected once does not try again
 * mutant 8  assert  a waiter that is not the reader clears reader when it leaves
 */
#define M(n) (MUTANT == n)
#define WAITERS 3
#define TICKETS 2

byte done, copy, copy_view, readers;
bit aborted, reader;

/* There is something new to see; else a look changes nothing. */
#define news (reads && (done >= least || aborted || done != before) || !reads && (copy >= least || !reader && !(M(7) && lost)))

inline publish(v) {
    d_step { copy = v; copy_view = view }
}

inline fence() {
    view = ((read_view > view) -> read_view : view)
}

inline leave() {
    if
    :: reads -> publish(value); if :: M(1) || M(2) && stop -> skip :: else -> d_step { reader = 0; readers-- } fi
    :: reads && !M(1) && !M(2) -> d_step { reader = 0; readers-- }; publish(value)
    :: !reads && M(8) -> reader = 0
    :: else
    fi
}

proctype waiter(byte turns) {
    byte least, turn, value, before, view, read_view;
    bit reads, stop, won, lost;
    for (turn : 1 .. turns) {
        if :: least < TICKETS -> least++ :: turn == 1 -> least = TICKETS :: turn > 1 fi;
        do
        :: news ->
            if
            :: reads || !reader ->
                won = reads;
                if
                :: !reads && M(3) -> won = !reader; if :: won -> d_step { reader = 1; readers++ } :: else fi
                :: !reads && !M(3) -> d_step { won = !reader; reader = 1; readers = readers + won }
                :: else
                fi;
                lost = !won;
                d_step { value = done; stop = aborted; read_view = done; reads = won }
            :: else -> d_step { value = copy; stop = 0; read_view = copy_view }
            fi;
            assert(readers <= 1);
            if
            :: value >= least -> stop = 0; break
            :: value < least && stop -> break
            :: value < least && !stop ->
                if
                :: reads && value != before ->
                    if :: M(4) -> skip :: else -> fence() fi;
                    d_step { copy = (M(6) -> least : value); copy_view = view };
                    before = value
                :: else
                fi
            fi
        od;
        if :: M(5) && !reads -> skip :: else -> fence() fi;
        assert(stop || view >= least);
        leave();
        atomic {
            turn = (stop -> turns : turn);
            value = 0; before = 0; read_view = 0; reads = 0; stop = 0; won = 0; lost = 0
        }
    }
    atomic { least = 0; view = 0; turn = 0 }
}

proctype proxy() {
    do
    :: done < TICKETS -> done++
    :: done < TICKETS -> aborted = 1; break
    :: done == TICKETS -> break
    od
}

init {
    atomic {
        byte i;
        for (i : 1 .. WAITERS) { run waiter((i == 1 -> 2 : 1)) }
        run proxy()
    }
}
