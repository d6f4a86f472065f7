/*
 * am.pml - models a FIFO of active messages between two PEs of a node (src/host/net/am_shm.c): slots that carry their
 * ticket, and cells in which longer messages lie in one piece.
 *
 *   model                  code
 *   head                   slot.head: ticket + 1
 *   body, cells_of, at_of  the rest of the slot; the message is its ticket, so that a stale or foreign one shows
 *   data                   the cells, holding the ticket too
 *   slots, cells           taken.slots and taken.cells
 *
 * The words of a message become visible in any order before its head, and are read in any order after it.
 * E1  R1 the head is written after the message -> A1 it is read before the message
 * E2  R2 taken is written after the message was read -> A2 the sender writes where taken says that it may
 * Asserted: all that is read of message k is k's. A sender or receiver that waits for ever is an invalid end state.
 * Bound: 6 messages of 0 (in the slot), 1 or 2 cells, 2 slots (3 laps), 4 cells; taken is told now or, where the
 * next message is there, later.
 *
 * mutant 1  assert  the head is written with the message (R1 weakened)
 * mutant 2  assert  the message is read with the head (A1 weakened)
 * mutant 3  assert  the sender writes before it has looked for a slot (A2 weakened)
 * mutant 4  assert  the same for cells
 * mutant 5  assert  taken.slots is told before the message was read (R2 weakened)
 * mutant 6  assert  the same for taken.cells
 * mutant 7  assert  a head that says "there" instead of its ticket
 * mutant 8  end     messages longer than half of the cells: skipping to the edge leaves too little, for ever
 * mutant 9  end     taken is told only when all slots are
 */
#define M(n) (MUTANT == n)
#define N 2
#define CELLS 4
#define MESSAGES 6
#define MOST (M(8) -> 3 : 2)

byte head[N], body[N], cells_of[N], at_of[N];
byte data[CELLS];
byte slots, cells;

#define slot(k) ((k) % N)
#define need(at, l) (at + (l <= CELLS - at % CELLS -> 0 : CELLS - at % CELLS)) /* where it lies in one piece */

proctype sender() {
    byte k, l, sent, at, todo;
    for (k : 0 .. MESSAGES - 1) {
        select(l : 0 .. MOST);
        (k - slots < N || M(3)); /* A2 */
        at = need(sent, l);
        (l == 0 || at + l - cells <= CELLS || M(4)); /* A2 */
        todo = (M(1) -> 3 : 1) | (l > 0 -> 4 : 0) | (l > 1 -> 8 : 0) | (l > 2 -> 16 : 0);
        do
        :: d_step { todo & 1 -> body[slot(k)] = k; cells_of[slot(k)] = l; at_of[slot(k)] = at; todo = todo & ~1 }
        :: d_step { todo & 2 -> head[slot(k)] = k + 1; todo = todo & ~2 }
        :: d_step { todo & 4 -> data[at % CELLS] = k; todo = todo & ~4 }
        :: d_step { todo & 8 -> data[(at + 1) % CELLS] = k; todo = todo & ~8 }
        :: d_step { todo & 16 -> data[(at + 2) % CELLS] = k; todo = todo & ~16 }
        :: todo == 0 -> break
        od;
        if :: !M(1) -> head[slot(k)] = k + 1 :: else fi; /* R1 */
        if :: l -> sent = at + l :: else fi;
        at = 0; l = 0
    }
}

#define is_there(k) (M(7) && head[slot(k)] || head[slot(k)] == k + 1)

proctype receiver() {
    byte k, l, at, used, todo;
    for (k : 0 .. MESSAGES - 1) {
        if :: M(2) -> l = cells_of[slot(k)]; at = at_of[slot(k)]; todo = body[slot(k)] :: else fi;
        is_there(k); /* A1 */
        if :: M(2) -> assert(todo == k) :: else -> l = cells_of[slot(k)]; at = at_of[slot(k)] fi;
        if :: M(5) -> slots = k + 1 :: else fi;
        if :: M(6) && l -> cells = at + l :: else fi;
        todo = 1 | (l > 0 -> 4 : 0) | (l > 1 -> 8 : 0) | (l > 2 -> 16 : 0);
        do
        :: d_step { todo & 1 -> assert(body[slot(k)] == k); todo = todo & ~1 }
        :: d_step { todo & 4 -> assert(data[at % CELLS] == k); todo = todo & ~4 }
        :: d_step { todo & 8 -> assert(data[(at + 1) % CELLS] == k); todo = todo & ~8 }
        :: d_step { todo & 16 -> assert(data[(at + 2) % CELLS] == k); todo = todo & ~16 }
        :: todo == 0 -> break
        od;
        if :: l -> used = at + l :: else fi;
        if
        :: !M(9) || k % N == 0 && k -> cells = used; slots = k + 1 /* R2 */
        :: head[slot(k + 1)] == k + 2 || M(9) /* the next is there: tell later */
        fi;
        l = 0; at = 0
    }
}

init { atomic { run sender(); run receiver() } }
