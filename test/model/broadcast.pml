/*
 * broadcast.pml - models broadcasts over an active set of one node, src/host/coll/broadcast.c, of short messages to two dests in turns,
 * with no barrier between them.
 *
 *   model         code
 *   came[p]       slot.came of PE p: the number of the broadcast to which it has come
 *   from[p]       slot.from[], of the PE that is not p
 *   dest[p].d[k]  the program's two dests on PE p: the number of the broadcast that stored there, 0 once the program has cleared it
 *
 * E1  R6 the member writes came after it has used the dest of the broadcast before -> A6 the root reads came before it stores there
 * E2  R4 the root writes from after the data -> A4 the member reads from before the data
 * Asserted: the program finds its data in the dest of each broadcast. A PE that waits for ever is an invalid end state.
 * Bound: 6 broadcasts of 2 PEs, each root any PE.
 *
 * mutant 1  assert  the root does not wait
 * mutant 2  assert  the root waits for the broadcast that is two before its own
 * mutant 3  assert  came is written before the last dest has been used (R6 weakened)
 * mutant 4  assert  the root stores before it reads came (A6 weakened)
 */
#define M(n) (MUTANT == n)
#define CALLS 6

typedef dests { byte d[2] };
byte came[2], from[2], root[CALLS + 1];
dests dest[2];

proctype pe(byte me) {
    byte n, used;
    for (n : 1 .. CALLS) {
        came[me] = n; /* R6 */
        if
        :: M(3) && n > 1 && root[n - 1] != me -> d_step { assert(dest[me].d[(n - 1) % 2] == n - 1); dest[me].d[(n - 1) % 2] = 0 }
        :: else
        fi;
        if
        :: root[n] == me ->
           if :: M(4) -> dest[1 - me].d[n % 2] = n :: else fi;
           if
           :: M(1)
           :: M(2) -> n < 3 || came[1 - me] >= n - 2
           :: !M(1) && !M(2) -> came[1 - me] >= n - 1 /* A6 */
           fi;
           if :: !M(4) -> dest[1 - me].d[n % 2] = n :: else fi;
           from[1 - me] = n /* R4 */
        :: else ->
           from[me] >= n; /* A4 */
           if
           :: !M(3) -> d_step { used = dest[me].d[n % 2]; assert(used == n) }; dest[me].d[n % 2] = 0
           :: else
           fi
        fi
    }
}

init {
    byte n;
    for (n : 1 .. CALLS) {
        if :: root[n] = 0 :: root[n] = 1 fi
    }
    n = 0;
    atomic { run pe(0); run pe(1) }
}
