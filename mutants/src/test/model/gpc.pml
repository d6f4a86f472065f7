/*
 * gpc.pml - models src/host/gpc/gpc.c, gpc_call.c and gpc_run.c: functions that call GPCs, wait, and are called back.
 *
 *   model        code
 *   root_slots[pe]    SHI_GPC_IN_FLIGHT - roots.n of gpc_call.c
 *   fetches[pe]  fetches.n of gpc_wire.c
 *   ready[pe]    queue.ready
 *   running, resuming, nested, n, n_deep   the same names in gpc_run.c
 *   call         a GPC from start to end: its root slot, its message, its data, its reply
 *   thread       dispatches: the first of a PE is the program's thread, the others are the library's
 *
 * A chain is a root call and LEVELS - 1 calls inside its functions, alternating between the two PEs, so that each chain
 * comes back to its first PE. Every function but the last starts the next call, then becomes pending or waits, in any
 * choice. A pending function is posted again when its call ends (shi_gpc_wake).
 * Asserted: one function at a time runs on a PE. A call that never ends is an invalid end state.
 * Bound: one chain from each PE, one root slot and one fetch per PE, stacks of one function.
 *
 * mutant 1  end     a call inside a function waits for a root slot
 * mutant 2  end     a function that waits prevents others from running
 * mutant 3  end     no additional thread when all stacks are full
 * mutant 4  end     fetched data counts until the function has ended
 * mutant 5  assert  a function continues after its wait while another one runs
 */
#define M(n) (MUTANT == n)
#define LEVELS 3
#define CALLS 6 /* chain * LEVELS + level */
#define STACK 1
#define origin(c) ((c) / LEVELS)
#define target(c) ((origin(c) + (c) % LEVELS + 1) & 1)
#define source(c) ((origin(c) + (c) % LEVELS) & 1)
#define is_root(c) ((c) % LEVELS == 0)
#define is_leaf(c) ((c) % LEVELS == LEVELS - 1)

bit started[CALLS], done[CALLS], pending[CALLS];
byte root_slots[2] = 1, fetches[2], running[2], resuming[2], in_func[2], n_done;
byte n[2], n_deep[2];
chan ready[2] = [CALLS] of { byte };

proctype call(byte c) {
    bit counts = is_root(c) || M(1);
    started[c];
    if :: counts -> atomic { root_slots[source(c)] > 0 -> root_slots[source(c)]-- } :: else fi;
    atomic { fetches[target(c)] == 0 -> fetches[target(c)] = 1; ready[target(c)]!c }
    d_step {
        done[c];
        n_done++;
        if :: counts -> root_slots[source(c)]++ :: else fi;
        if :: !is_root(c) && pending[c - 1] -> ready[source(c)]!(c - 1) :: else fi
    }
}

inline ends() {
    if :: M(4) -> fetches[me] = 0 :: else fi;
    done[f] = 1;
    in_func[me]--;
    running[me] = 0
}

proctype thread(bit me, ours) {
    byte stack[STACK], depth, f;
    do
    :: atomic { depth < STACK && !running[me] && !resuming[me] && nempty(ready[me]) ->
            running[me] = 1; ready[me]?f; in_func[me]++; assert(in_func[me] == 1);
            if :: !M(4) && !pending[f] -> fetches[me] = 0 :: else fi }
        if
        :: is_leaf(f) || pending[f] -> atomic { ends(); f = 0 }
        :: else ->
            started[f + 1] = 1;
            if
            :: atomic { pending[f] = 1; /* SHMEMX_GPC_PENDING; woken at once if the call has ended */
                in_func[me]--; running[me] = 0;
                if :: done[f + 1] -> ready[me]!f :: else fi; f = 0 }
            :: atomic { stack[depth] = f; depth++; f = 0; in_func[me]--; /* shi_gpc_pause */
                running[me] = M(2);
                if
                :: depth == STACK ->
                    n_deep[me] = n_deep[me] + ours;
                    if :: n[me] == n_deep[me] && !M(3) -> n[me]++; run thread(me, 1) :: else fi
                :: else
                fi }
            fi
        fi
    :: atomic { depth > 0 && done[stack[depth - 1] + 1] -> resuming[me]++ }
        atomic { !running[me] || M(5) || M(2) -> /* shi_gpc_resume */
            running[me] = 1; resuming[me]--; in_func[me]++; assert(in_func[me] == 1);
            n_deep[me] = n_deep[me] - (depth == STACK && ours);
            depth--; f = stack[depth] }
        atomic { ends(); f = 0 }
    :: n_done == CALLS && depth == 0 -> break
    od
}

init {
    byte c;
    atomic {
        for (c : 0 .. CALLS - 1) { started[c] = is_root(c); run call(c) }
        n[0] = 1; n[1] = 1;
        run thread(0, 0); run thread(0, 1); run thread(1, 0); run thread(1, 1)
    }
}
