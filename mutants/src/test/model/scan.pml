/*
 * scan.pml - models the rounds of the holders of a part in long scans between nodes, src/host/coll/scan.c: 4 nodes, one holder each.
 *
 *   model              code
 *   dest[p]            the part in holder p's dest: 16 times the number of the scan, and a bit for each node whose elements it has
 *   from[4 * p + q]    slot.from[q] of holder p: the last epoch that q has notified p of
 *
 * E1  R4 the holder, after it has stored into dest -> A4 the holder of the higher node, before it reads
 * E2  R4 the reader, after it has read -> A4 the holder, before it stores into dest again, in the next round or after the scan
 * Asserted: what a holder reads is of this scan and has the nodes that the round needs, each once; at the end all lower nodes are there.
 * A holder that waits for ever is an invalid end state.
 * Bound: 4 nodes, 3 scans.
 *
 * mutant 1  assert  the holder stores without waiting for the reader (A4 of E2 weakened)
 * mutant 2  assert  the reader does not wait for the announcement (A4 of E1 weakened)
 * mutant 3  assert  the announcement precedes the store of the node's sum (R4 of E1 weakened)
 * mutant 4  assert  the reader notifies before it reads (R4 of E2 weakened)
 * mutant 5  assert  each scan counts its epochs from the same one
 */
#define M(n) (MUTANT == n)
#define NODES 4
#define ROUNDS 2
#define SCANS 3

/* The bits of the nodes that node q has heard of after `round` rounds, its own among them. */
#define UP_TO(q) ((2 << (q)) - 1)
#define HAS(q, step) (UP_TO(q) & ~((q) >= (step) -> UP_TO((q) - (step)) : 0))

byte dest[NODES], from[NODES * NODES];

inline announce() {
    if
    :: me + step < NODES -> from[NODES * (me + step) + me] = announced
    :: else
    fi
}

proctype holder(byte me) {
    byte n, i, step, announced, got, below;
    for (n : 1 .. SCANS) {
        below = 0;
        if
        :: M(3) -> step = 1; announced = 2 * ROUNDS * (n - 1) + 1; announce()
        :: else
        fi;
        dest[me] = 16 * n + (1 << me);
        for (i : 0 .. ROUNDS - 1) {
            step = 1 << i;
            announced = (M(5) -> 0 : 2 * ROUNDS * (n - 1)) + 2 * i + 1;
            announce();
            if
            :: me >= step ->
               if :: M(4) -> from[NODES * (me - step) + me] = announced + 1 :: else fi;
               if :: !M(2) -> (from[NODES * me + me - step] >= announced) :: else fi;
               got = dest[me - step];
               assert(got == 16 * n + HAS(me - step, step));
               if :: !M(4) -> from[NODES * (me - step) + me] = announced + 1 :: else fi
            :: else
            fi;
            if
            :: me + step < NODES && !M(1) -> (from[NODES * me + me + step] >= announced + 1)
            :: else
            fi;
            if
            :: me >= step ->
               assert((dest[me] & got & 15) == 0);
               below = below | (got & 15);
               dest[me] = dest[me] | (got & 15)
            :: else
            fi
        }
        assert(below == UP_TO(me) - (1 << me));
        dest[me] = 0 /* the program uses its array again */
    }
}

init {
    atomic { run holder(0); run holder(1); run holder(2); run holder(3) }
}
