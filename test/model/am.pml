/*
 * am.pml - models a FIFO of active messages between two PEs of a node (src/host/net/am_shm.c): slots that contain their
 * ticket, and cells for the contiguous bodies of longer messages.
 *
 *   model                  code
 *   head                   slot.head: ticket + 1
 *   body, cells_of, at_of  the rest of the slot; a message's content is its ticket, so that stale or wrong data shows
 *   data                   the cells, which also contain the ticket
 *   slots, cells           taken.slots and taken.cells
 *
 * The words of a message become visible in any order before its head, and are read in any order after it.
 * The words of a message become visible in any order before its head; the receiver reads them in any order after it.
 * E1  R1 the sender writes the head after the message -> A1 the receiver reads the message after the head
 * E2  R2 the receiver updates taken after reading the message -> A2 the sender writes only where taken allows it
 * Asserted: all words read of message k are k's. A sender or receiver that waits for ever is an invalid end state.
 * Bound: 6 messages of 0 (in the slot), 1 or 2 cells, 2 slots (3 laps), 4 cells; the receiver updates taken at once or,
 * if the next message has arrived, later.
 *
 * mutant 1  assert  the head is written with the message (R1 weakened)
 * mutant 2  assert  the message is read with the head (A1 weakened)
 * mutant 3  assert  the sender writes before it has checked for a free slot (A2 weakened)
 * mutant 4  assert  the same for cells
 * mutant 5  assert  taken.slots is updated before the message is read (R2 weakened)
 * mutant 6  assert  the same for taken.cells
 * mutant 7  assert  a head that is a flag instead of its ticket
 * mutant 8  end     messages longer than half of the cells: after skipping to the edge they never fit
 * mutant 9  end     taken is updated only after all slots
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
#define need(at, l) (at + (l <= CELLS - at % CELLS -> 0 : CELLS - at % CELLS)) /* start of a contiguous body */

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
        :: head[slot(k + 1)] == k + 2 || M(9) /* the next has arrived: update later */
        fi;
        l = 0; at = 0
    }
}

init { atomic { run sender(); run receiver() } }
