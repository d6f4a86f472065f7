/*
 * am.pml - models a FIFO of active messages between two PEs of a node (src/host/net/am/am_shm.c): slots that contain their
 * ticket, and cells of the sender's pool for the contiguous bodies of longer messages.
 *
 *   model                  code
 *   head                   slot.head: ticket + 1
 *   body, cells_of, at_of  the rest of the slot; a message's content is its ticket, so that stale or wrong data shows
 *   data                   the cells, which also contain the ticket
 *   taken                  fifo.taken
 *   free                   pool.free
 *   used_at, _n, _of, back out.cells, by slot, and out.reclaimed
 *
 * The words of a message become visible in any order before its head; the receiver reads them in any order after it.
 * E1  R1 the sender writes the head after the message -> A1 the receiver reads the message after the head
 * E2  R2 the receiver updates taken after reading the message -> A2 the sender writes only where taken allows it
 * Asserted: all words read of message k are k's. A sender or receiver that waits for ever is an invalid end state.
 * Bound: 6 messages of 0 (in the slot), 1 or 2 cells, 2 slots (3 laps), 3 cells; the receiver updates taken at once or,
 * if the next message has arrived, later.
 *
 * mutant 1  assert  the head is written with the message (R1 weakened)
 * mutant 2  assert  the message is read with the head (A1 weakened)
 * mutant 3  assert  the sender writes before it has checked for a free slot (A2 weakened)
 * mutant 4  assert  cells are reclaimed before their message is taken (A2 weakened)
 * mutant 5  assert  taken is updated before the message is read (R2 weakened)
 * mutant 6  end     a slot's cells are forgotten when a later message uses it
 * mutant 7  assert  a head that is a flag instead of its ticket
 * mutant 8  end     a message longer than the pool
 * mutant 9  end     taken is updated only after all slots
 * mutant 10 assert  cells are reclaimed with an earlier message of their slot
 */
#define M(n) (MUTANT == n)
#define N 2
#define CELLS 3
#define MESSAGES 6
#define MOST (M(8) -> 4 : 2)

byte head[N], body[N], cells_of[N], at_of[N];
byte data[CELLS + 1];
byte taken;
byte free = 7, used_at[N], used_n[N], used_of[N], back;

#define slot(k) ((k) % N)
#define mask(at, l) (((1 << (l)) - 1) << (at))
#define fits(at, l) ((free & mask(at, l)) == mask(at, l))
#define some(l) (fits(0, l) || fits(1, l) || fits(2, l))

/* Messages before `taken`, or, wrongly, all before k. */
inline reclaim() {
    atomic {
        do
        :: back < (M(4) -> k : taken) ->
            if
            :: used_n[slot(back)] && (used_of[slot(back)] < (M(4) -> k : taken) || M(10)) ->
                free = free | mask(used_at[slot(back)], used_n[slot(back)]);
                used_n[slot(back)] = 0
            :: else
            fi;
            back++
        :: else -> break
        od
    }
}

proctype sender() {
    byte k, l, at, todo;
    for (k : 0 .. MESSAGES - 1) {
        select(l : 0 .. MOST);
        (k - taken < N || M(3)); /* A2 */
        if
        :: l == 0
        :: l > 0 ->
            if
            :: !M(6) -> reclaim() /* of the slot's last message, or after some cells */
            :: !used_n[slot(k)] || M(6) -> skip
            fi;
            do
            :: some(l) -> break
            :: else -> (back < (M(4) -> k : taken)); reclaim() /* A2 */
            od;
            if :: fits(0, l) -> at = 0 :: else -> if :: fits(1, l) -> at = 1 :: else -> at = 2 fi fi;
            d_step {
                free = free & ~mask(at, l); used_at[slot(k)] = at; used_n[slot(k)] = l; used_of[slot(k)] = k;
                if :: M(6) && k >= N && back < k - N + 1 -> back = k - N + 1 :: else fi
            }
        fi;
        todo = (M(1) -> 3 : 1) | (l > 0 -> 4 : 0) | (l > 1 -> 8 : 0);
        do
        :: d_step { todo & 1 -> body[slot(k)] = k; cells_of[slot(k)] = l; at_of[slot(k)] = at; todo = todo & ~1 }
        :: d_step { todo & 2 -> head[slot(k)] = k + 1; todo = todo & ~2 }
        :: d_step { todo & 4 -> data[at] = k; todo = todo & ~4 }
        :: d_step { todo & 8 -> data[at + 1] = k; todo = todo & ~8 }
        :: todo == 0 -> break
        od;
        if :: !M(1) -> head[slot(k)] = k + 1 :: else fi; /* R1 */
        at = 0; l = 0
    }
}

#define is_there(k) (M(7) && head[slot(k)] || head[slot(k)] == k + 1)

proctype receiver() {
    byte k, l, at, todo;
    for (k : 0 .. MESSAGES - 1) {
        if :: M(2) -> l = cells_of[slot(k)]; at = at_of[slot(k)]; todo = body[slot(k)] :: else fi;
        is_there(k); /* A1 */
        if :: M(2) -> assert(todo == k) :: else -> l = cells_of[slot(k)]; at = at_of[slot(k)] fi;
        if :: M(5) -> taken = k + 1 :: else fi;
        todo = 1 | (l > 0 -> 4 : 0) | (l > 1 -> 8 : 0);
        do
        :: d_step { todo & 1 -> assert(body[slot(k)] == k); todo = todo & ~1 }
        :: d_step { todo & 4 -> assert(data[at] == k); todo = todo & ~4 }
        :: d_step { todo & 8 -> assert(data[at + 1] == k); todo = todo & ~8 }
        :: todo == 0 -> break
        od;
        if
        :: !M(9) || k % N == 0 && k -> taken = k + 1 /* R2 */
        :: head[slot(k + 1)] == k + 2 || M(9) /* the next has arrived: update later */
        fi;
        l = 0; at = 0
    }
}

init { atomic { run sender(); run receiver() } }
