/*
 * pull.pml - models a job of src/host/net/am/am_pull.c: a PE reads another's memory in pieces; both PEs claim and copy
 * them.
 *
 *   model         code
 *   left          job.left: pieces that are not claimed
 *   what, piece   job.from and its neighbours: the number of the job, so that a stale or wrong one shows
 *   done          job.done
 *   to[k]         piece k of the reader's memory: the number of the job that was copied there
 *   over          number of jobs that the reader has ended: their memory belongs to the program again
 *
 * The words of a job become visible in any order before left; the owner reads them in any order after it claims a
 * piece. E1  R1 the reader writes left after the job -> A1 the owner reads the job after it claims a piece
 * E2  R2 the owner adds to done after it has copied the piece -> A2 the reader reads done before the memory
 * Asserted: a piece is copied for the job for which it was claimed, and while that job lasts; at its end all pieces
 * have arrived, of this job. A reader that waits for ever is an invalid end state; the owner may stop between any two
 * pieces. Bound: 3 jobs of 2 pieces, an owner that polls 5 times.
 *
 * mutant 1  assert  left is written with the job (R1 weakened)
 * mutant 2  assert  the job is read before the piece is claimed (A1 weakened)
 * mutant 3  assert  done is incremented before the piece is copied (R2 weakened)
 * mutant 4  assert  the reader reads its memory before done (A2 weakened)
 * mutant 5  end     done is cleared after left is written
 * mutant 6  assert  the reader ends when all pieces are claimed
 * mutant 7  end     pieces are claimed by a load and a store
 */
#define M(n) (MUTANT == n)
#define LIVES 3
#define PIECES 2
#define LOOKS 5

byte left, what, done, over, to[PIECES];

proctype reader() {
    byte life, ours, l, todo, seen;
    for (life : 1 .. LIVES) {
        todo = (M(5) -> 1 : 3) | (M(1) -> 4 : 0);
        do
        :: d_step { todo & 1 -> what = life; todo = todo & ~1 }
        :: d_step { todo & 2 -> done = 0; todo = todo & ~2 }
        :: d_step { todo & 4 -> left = PIECES; todo = todo & ~4 }
        :: todo == 0 -> break
        od;
        if :: !M(1) -> left = PIECES :: else fi; /* R1 */
        if :: M(5) -> done = 0 :: else fi;
        ours = 0;
        do
        :: l = left;
           if
           :: l == 0 -> break
           :: else ->
              if
              :: M(7) -> left = l - 1; to[l - 1] = life; ours++
              :: else ->
                 if
                 :: atomic { left == l -> left = l - 1 }; to[l - 1] = life; ours++
                 :: left != l
                 fi
              fi
           fi
        od;
        if :: M(4) -> seen = (to[0] == life && to[1] == life) :: else fi;
        if
        :: M(6)
        :: !M(6) && done == PIECES - ours /* A2 */
        fi;
        if :: M(4) -> assert(seen) :: else fi;
        d_step { assert(to[0] == life && to[1] == life); over = life; to[0] = 0; to[1] = 0 }
        seen = 0
    }
}

proctype owner() {
    byte look, l, life;
    for (look : 1 .. LOOKS) {
        l = left;
        if
        :: l == 0
        :: l ->
           if :: M(2) -> life = what :: else fi;
           if
           :: atomic { left == l || M(7) -> left = l - 1 };
              if :: !M(2) -> life = what :: else fi; /* A1 */
              if :: M(3) -> done++ :: else fi;
              d_step { assert(life == over + 1); to[l - 1] = life }
              if :: !M(3) -> done++ :: else fi /* R2 */
           :: left != l
           fi
        :: break /* the program computes */
        fi;
        l = 0; life = 0
    }
}

init { atomic { run reader(); run owner() } }
