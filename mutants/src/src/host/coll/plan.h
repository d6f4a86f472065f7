/*
 * plan.h - the schedules of collectives between ranks, as pure functions: to and from which rank, and which blocks, a rank
 * sends and receives in each round.
 *
 * A rank is a node of a team (its agent acts for it) or, for long alltoalls and scans of nodes whose members are no neighbours, a member. The library carries a round
 * out by puts, gets and notifications between PEs; bench/scale by counting, for any number of ranks in one process;
 * test/unit/plan by copies in memory, which it compares with the result by definition.
 *
 *   plan         rounds                what a round carries
 *   BARRIER      ceil(log2 n)          nothing; dissemination, or with a power of two of ranks exchanges of pairs, in which the answer
 *                                      acknowledges the message; so do GATHER and MERGE
 *   GATHER       ceil(log2 n)          the blocks that the rank has, at most those that the receiver lacks; each block goes to
 *                                      its final place, so every rank receives every block once
 *   MERGE        ceil(log2 n)          the whole record; for operators for which a op a is a, such as AND and MAX
 *   SCAN         ceil(log2 n)          the combination of the ranks so far, from lower to higher ranks; dissemination, so that
 *                                      no rank ends before all have begun
 *   TREE         ceil(log2 n)          everything, from rank 0; binomial
 *   SCATTER      ceil(log2 n)          the blocks of the receiver's subtree, from rank 0
 *   DOUBLING     floor(log2 n) (+ 2)   the whole array, combined so far; recursive doubling
 *   HALVING      2 floor(log2 n) (+ 2) half of the blocks of the round before, then the way back; each element is combined by
 *                                      one rank
 *   INDEX        ceil(log2 n)          alltoall: all blocks whose distance has the round's bit set
 *   PAIRWISE     n - 1                 alltoall: one block
 *
 * (+ 2): where n is no power of two, the first ranks combine in pairs before, and share the result after.
 * DOUBLING, HALVING and SCAN combine runs of neighbouring ranks, the lower rank's operand first. Which operands are combined with
 * which depends on n alone.
 */
#ifndef SHI_PLAN_H
#define SHI_PLAN_H

enum shi_plan { SHI_PLAN_BARRIER, SHI_PLAN_GATHER, SHI_PLAN_MERGE, SHI_PLAN_SCAN, SHI_PLAN_TREE, SHI_PLAN_SCATTER,
                SHI_PLAN_DOUBLING, SHI_PLAN_HALVING, SHI_PLAN_INDEX, SHI_PLAN_PAIRWISE, SHI_PLANS };

/* What the receiver does with the blocks. */
enum shi_take { SHI_TAKE_STORE, SHI_TAKE_UNDER, SHI_TAKE_OVER }; /* UNDER: they are the lower operand; OVER: the higher one */

/* Blocks first to first + n - 1, modulo the number of blocks. INDEX: every block whose number has the bit `first` set. */
struct shi_run {
    int first, n;
};

struct shi_round {
    int to, from; /* -1: none */
    struct shi_run send, recv;
    enum shi_take take;
};

const char *shi_plan_name(enum shi_plan plan);

/* ceil(log2 n). */
int shi_plan_log2(int n);

int shi_plan_rounds(enum shi_plan plan, int n);

/* The number of blocks that the plan cuts an array into. */
int shi_plan_blocks(enum shi_plan plan, int n);

/* Round r of rank me. */
struct shi_round shi_plan_round(enum shi_plan plan, int n, int me, int r);

/* INDEX: the block after b that round bit `step` moves; the first is `step`. */
static inline int shi_plan_index_next(int b, int step)
{
    return (b + 1) | step;
}

/* INDEX: the places that a rank needs for its own blocks but the one for itself, and for those that land in the rounds before
 * `round`, each in a place of its own. */
int shi_plan_index_places(int n, int round);

#endif
