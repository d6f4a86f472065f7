/*
 * by_nodes.pml - models alltoalls of short blocks between nodes, src/host/coll/by_nodes.c: 2 nodes of 2 PEs, on each of which one PE,
 * the handler, sends a message to the handler of the other node.
 *
 *   model              code
 *   met[node]          shi_team_node_barrier, only its effect: no member leaves before all members of the node have entered
 *   from[node]         slot.from[] of the node's handler: the number of the alltoall of which it has the other node's message
 *   place[].half[k]      the places of the message in the two halves of the exchange buffer of the node's handler
 *   source[p], dest[p] the program's arrays on PE p; it stores the number of the alltoall into its source before, and 0 after the call
 *
 * E1  the node's barrier before the gather       its members have stored their sources before the handler reads them
 * E2  R4 the other handler, after its message -> A4 the handler, before it reads the place
 * E3  the node's barrier after the scatter       the members find their dests complete, and may change their sources
 * E4  the halves take turns                      a message of the next alltoall does not overwrite one that is not scattered
 * Asserted: what the handler gathers, and each dest after the call, is of this alltoall. A PE that waits for ever is an invalid end state.
 * Bound: 4 PEs, 3 alltoalls.
 *
 * mutant 1  assert  no barrier before the gather
 * mutant 2  assert  no barrier after the scatter
 * mutant 3  assert  one place for all alltoalls
 * mutant 4  assert  the notification precedes the message (R4 weakened)
 * mutant 5  assert  the handler reads the place before it has the notification (A4 weakened)
 * mutant 6  end     the notification is a flag, and the handler clears it after it has waited and scattered
 */
#define M(n) (MUTANT == n)
#define CALLS 3
#define PLACE(n) (M(3) -> 0 : (n) % 2)

typedef places { byte half[2] };
byte met[2], from[2], source[4], dest[4];
places place[2];

inline node_barrier() {
    met[node]++;
    entered = entered + 2;
    (met[node] >= entered)
}

proctype pe(byte node; byte number) {
    byte n, entered, got;
    byte me = 2 * node + number;
    for (n : 1 .. CALLS) {
        source[me] = n;
        if
        :: M(1) -> skip
        :: else -> node_barrier()
        fi;
        if
        :: number == 1 - node -> /* member (k mod 2) of a node handles node k */
           assert(source[2 * node] == n);
           assert(source[2 * node + 1] == n);
           if :: M(4) -> from[1 - node] = n :: else fi;
           place[1 - node].half[PLACE(n)] = n;
           if :: !M(4) -> from[1 - node] = (M(6) -> 1 : n) :: else fi;
           if :: M(5) -> got = place[node].half[PLACE(n)] :: else fi;
           (from[node] >= (M(6) -> 1 : n));
           if :: !M(5) -> got = place[node].half[PLACE(n)] :: else fi;
           dest[2 * node] = got;
           dest[2 * node + 1] = got;
           if :: M(6) -> from[node] = 0 :: else fi
        :: else
        fi;
        if
        :: M(2) -> skip
        :: else -> node_barrier()
        fi;
        assert(dest[me] == n);
        source[me] = 0
    }
}

init {
    atomic { run pe(0, 0); run pe(0, 1); run pe(1, 0); run pe(1, 1) }
}
