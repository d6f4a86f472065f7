/*
 * plan.c - every schedule of collectives, for each number of ranks up to MOST, carried out by copies in memory.
 *
 * A reduction's value is the run of ranks that it combines, [low, high]; two values combine only if they are neighbours in
 * order. Catches: a wrong partner or block, an operand that is missing, counted twice or out of order, a block sent by a
 * rank that does not have it yet, more rounds than promised.
 */
#include "host/coll/plan.h"

#include <stdlib.h>
#include <string.h>

#include "../tap.h"

enum { MOST = 70 };

static int n, wrong;
static struct value {
    int low, high; /* high -1: none */
} now[MOST][MOST], before[MOST][MOST];

/* Does what rank me sends in a round have a receiver that expects the same? */
static int paired(enum shi_plan plan, int me, int r)
{
    struct shi_round x = shi_plan_round(plan, n, me, r);
    if (x.to >= 0) {
        struct shi_round y = shi_plan_round(plan, n, x.to, r);
        if (y.from != me || x.to == me || y.recv.n != x.send.n || (x.send.n && y.recv.first != x.send.first))
            return 0;
    }
    return x.from < 0 || shi_plan_round(plan, n, x.from, r).to == me;
}

/* Block number k of a run. */
static int block(enum shi_plan plan, struct shi_run run, int k)
{
    int blocks = shi_plan_blocks(plan, n);
    if (plan != SHI_PLAN_INDEX)
        return (run.first + k) % blocks;
    int b = run.first;
    while (k-- > 0)
        b = shi_plan_index_next(b, run.first);
    return b;
}

static void take(struct value *at, struct value in, enum shi_take how)
{
    struct value low = how == SHI_TAKE_UNDER ? in : *at, high = how == SHI_TAKE_UNDER ? *at : in;
    if (how == SHI_TAKE_STORE)
        *at = in;
    else if (low.high < 0 || high.high < 0 || low.high + 1 != high.low)
        wrong++;
    else
        *at = (struct value){low.low, high.high};
}

/* Begin with what `start` says, then carry out every round. */
static void carry_out(enum shi_plan plan, struct value (*start)(int me, int block))
{
    int blocks = shi_plan_blocks(plan, n);
    for (int me = 0; me < n; me++)
        for (int b = 0; b < blocks; b++)
            now[me][b] = start(me, b);
    for (int r = 0; r < shi_plan_rounds(plan, n); r++) {
        memcpy(before, now, sizeof now);
        for (int me = 0; me < n; me++) {
            struct shi_round x = shi_plan_round(plan, n, me, r);
            wrong += !paired(plan, me, r);
            for (int k = 0; x.from >= 0 && k < x.recv.n; k++) {
                int b = block(plan, x.recv, k);
                take(&now[me][b], before[x.from][b], x.take);
            }
        }
    }
}

static struct value own(int me, int b)
{
    (void)b;
    return (struct value){me, me};
}
static struct value own_block(int me, int b)
{
    return (struct value){b, me == b ? b : -1};
}
static struct value of_root(int me, int b)
{
    return (struct value){b, me == 0 ? 1000 + b : -1};
}
static struct value by_distance(int me, int b)
{
    return (struct value){me, (me + b) % n};
}

/* Count the wrong values in [me][b], which should be {low, high}. */
#define EXPECT(PLAN, ME, B, LOW, HIGH)                                                                               \
    for (int me = 0; me < n; me++)                                                                                   \
        for (int b = 0; b < shi_plan_blocks(PLAN, n); b++)                                                           \
            wrong += now[ME][B].low != (LOW) || now[ME][B].high != (HIGH)

static void reductions(void)
{
    carry_out(SHI_PLAN_DOUBLING, own);
    EXPECT(SHI_PLAN_DOUBLING, me, b, 0, n - 1);
    carry_out(SHI_PLAN_HALVING, own);
    EXPECT(SHI_PLAN_HALVING, me, b, 0, n - 1);
    CHECKF(wrong == 0, "%d ranks: doubling and halving combine all ranks in order", n);
    wrong = 0;
    carry_out(SHI_PLAN_SCAN, own);
    EXPECT(SHI_PLAN_SCAN, me, b, 0, me);
    CHECKF(wrong == 0, "%d ranks: a scan combines the ranks up to each", n);
}

static void moves(void)
{
    wrong = 0;
    carry_out(SHI_PLAN_GATHER, own_block);
    EXPECT(SHI_PLAN_GATHER, me, b, b, b);
    carry_out(SHI_PLAN_TREE, of_root);
    EXPECT(SHI_PLAN_TREE, me, b, 0, 1000);
    carry_out(SHI_PLAN_SCATTER, of_root);
    EXPECT(SHI_PLAN_SCATTER, b, b, b, 1000 + b);
    CHECKF(wrong == 0, "%d ranks: allgather, tree and scatter", n);
    wrong = 0;
    carry_out(SHI_PLAN_INDEX, by_distance); /* block b is left with what rank me - b had for me */
    EXPECT(SHI_PLAN_INDEX, me, b, (me - b + n) % n, me);
    CHECKF(wrong == 0, "%d ranks: the index plan brings each block to its rank", n);
    int places = n - 1, rounds = shi_plan_rounds(SHI_PLAN_INDEX, n);
    for (int r = 0; r < rounds; r++) {
        int moved = 0;
        for (int b = 1 << r; b < n; b = shi_plan_index_next(b, 1 << r), moved++)
            wrong += (b >> r) % 2 == 0;
        wrong += moved != shi_plan_round(SHI_PLAN_INDEX, n, 0, r).send.n || shi_plan_index_places(n, r) != places;
        places += moved;
    }
    CHECKF(wrong == 0 && shi_plan_index_places(n, rounds) == places, "%d ranks: a place for each block and each landing one", n);
}

/* Each rank hears of all others, each block comes once, in as few rounds as promised. */
static void counts(void)
{
    static unsigned char heard[2][MOST][MOST];
    int rounds = shi_plan_rounds(SHI_PLAN_BARRIER, n), blocks = 0, from_all = 1;
    memset(heard, 0, sizeof heard);
    wrong = 0;
    for (int me = 0; me < n; me++)
        heard[0][me][me] = heard[1][me][me] = 1;
    for (int r = 0; r < rounds; r++) {
        memcpy(heard[0], heard[1], sizeof heard[0]);
        for (int me = 0; me < n; me++) {
            struct shi_round x = shi_plan_round(SHI_PLAN_MERGE, n, me, r);
            for (int i = 0; i < n; i++)
                heard[1][me][i] |= heard[0][x.from][i];
            blocks += shi_plan_round(SHI_PLAN_GATHER, n, me, r).recv.n;
            wrong += x.recv.n != 1;
        }
    }
    for (int me = 0; me < n; me++)
        for (int i = 0; i < n; i++)
            from_all &= heard[1][me][i];
    CHECKF(from_all && wrong == 0, "%d ranks: dissemination reaches all", n);
    CHECKF(blocks == n * (n - 1) && (1 << rounds) >= n && (n == 1 || 1 << (rounds - 1) < n), "%d ranks: %d rounds, %d blocks", n,
           rounds, blocks);
    wrong = 0;
    memset(heard, 0, sizeof heard);
    for (int me = 0; me < n; me++)
        for (int r = 0; r < shi_plan_rounds(SHI_PLAN_PAIRWISE, n); r++) {
            struct shi_round x = shi_plan_round(SHI_PLAN_PAIRWISE, n, me, r);
            wrong += shi_plan_round(SHI_PLAN_PAIRWISE, n, x.to, r).from != me || x.send.first != x.to;
            wrong += heard[0][me][x.to]++;
        }
    CHECKF(wrong == 0, "%d ranks: pairwise names each other rank once", n);
}

static void every(void (*test)(void))
{
    for (n = 1; n <= MOST; n++) {
        wrong = 0;
        test();
    }
}
static void every_reduction(void)
{
    every(reductions);
}
static void every_move(void)
{
    every(moves);
}
static void every_count(void)
{
    every(counts);
}

int main(void)
{
    RUN(every_reduction, "doubling, halving and scans combine all ranks once, in order");
    RUN(every_move, "allgather, trees and alltoall bring each block to its rank");
    RUN(every_count, "dissemination and pairwise rounds reach all ranks, in as few rounds as promised");
    return tap_end();
}
