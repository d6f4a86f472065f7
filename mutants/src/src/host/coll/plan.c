/* plan.c - the schedules of collectives. */
#include "host/coll/plan.h"

const char *shi_plan_name(enum shi_plan plan)
{
    static const char *const name[SHI_PLANS] = {"barrier", "gather", "merge", "scan", "tree", "scatter", "doubling", "halving",
                                                "index", "pairwise"};
    return name[plan];
}

int shi_plan_log2(int n)
{
    int k = 0;
    while (n > 1 && (1u << k) < (unsigned)n)
        k++;
    return k;
}

/* Of DOUBLING and HALVING: the largest power of two up to n, and its logarithm. */
static int power_of(int n, int *log)
{
    *log = shi_plan_log2(n + 1);
    *log -= (1 << *log) > n;
    return 1 << *log;
}

int shi_plan_rounds(enum shi_plan plan, int n)
{
    int log, fold = power_of(n, &log) != n ? 2 : 0;
    switch (plan) {
    case SHI_PLAN_DOUBLING: return log + fold;
    case SHI_PLAN_HALVING: return 2 * log + fold;
    case SHI_PLAN_PAIRWISE: return n - 1;
    default: return shi_plan_log2(n);
    }
}

int shi_plan_blocks(enum shi_plan plan, int n)
{
    int log;
    switch (plan) {
    case SHI_PLAN_GATHER:
    case SHI_PLAN_SCATTER:
    case SHI_PLAN_INDEX:
    case SHI_PLAN_PAIRWISE: return n;
    case SHI_PLAN_HALVING: return power_of(n, &log);
    default: return 1;
    }
}

/* ---- dissemination: to the rank 2^r above, from the rank 2^r below ------------------------------------------------- */

static struct shi_round disseminate(enum shi_plan plan, int n, int me, int r)
{
    int step = 1 << r, part = step < n - step ? step : n - step;
    struct shi_round x = {.to = (me + step) % n, .from = (me - step + n) % n};
    switch (plan) {
    case SHI_PLAN_GATHER: /* the last blocks up to the sender's own */
        x.send = (struct shi_run){(me - part + 1 + n) % n, part};
        x.recv = (struct shi_run){(x.from - part + 1 + n) % n, part};
        break;
    case SHI_PLAN_MERGE:
        x.send.n = x.recv.n = 1;
        x.take = SHI_TAKE_UNDER;
        break;
    case SHI_PLAN_SCAN:
        x.send.n = me + step < n;
        x.recv.n = me >= step;
        x.take = SHI_TAKE_UNDER;
        break;
    case SHI_PLAN_INDEX:
        x.send.first = x.recv.first = step;
        for (int low = step; low < n; low += 2 * step) /* runs of `step` blocks that have the bit */
            x.send.n += low + step <= n ? step : n - low;
        x.recv.n = x.send.n;
        break;
    default: break;
    }
    return x;
}

/* Of a power of two of ranks: in round r each exchanges with the rank whose number differs in bit r. */
static struct shi_round exchange_pairs(enum shi_plan plan, int me, int r)
{
    int step = 1 << r, other = me ^ step;
    struct shi_round x = {.to = other, .from = other};
    if (plan == SHI_PLAN_GATHER) { /* all that the two have */
        x.send = (struct shi_run){me & -step, step};
        x.recv = (struct shi_run){other & -step, step};
    } else if (plan == SHI_PLAN_MERGE) {
        x.send.n = x.recv.n = 1;
        x.take = SHI_TAKE_UNDER;
    }
    return x;
}

int shi_plan_index_places(int n, int round)
{
    int places = n - 1;
    for (int r = 0; r < round; r++)
        places += disseminate(SHI_PLAN_INDEX, n, 0, r).recv.n;
    return places;
}

/* ---- trees from rank 0 ------------------------------------------------------------------------------------------------ */

static struct shi_round descend(enum shi_plan plan, int n, int me, int r)
{
    int step = 1 << (shi_plan_log2(n) - 1 - r);
    struct shi_round x = {.to = -1, .from = -1};
    if (me % (2 * step) == 0 && me + step < n) {
        x.to = me + step;
        x.send = (struct shi_run){me + step, n - me - step < step ? n - me - step : step};
    } else if (me % (2 * step) == step) {
        x.from = me - step;
        x.recv = (struct shi_run){me, n - me < step ? n - me : step};
    }
    if (plan == SHI_PLAN_TREE) {
        x.send = (struct shi_run){0, x.to >= 0};
        x.recv = (struct shi_run){0, x.from >= 0};
    }
    return x;
}

/* ---- recursive doubling and halving ------------------------------------------------------------------------------------ */

/* The blocks that rank s of a power of two is left with after h halvings. */
static struct shi_run segment(int blocks, int s, int h)
{
    struct shi_run g = {0, blocks};
    for (int i = 0; i < h; i++) {
        g.n /= 2;
        g.first += (s >> i & 1) * g.n;
    }
    return g;
}

/* Before and after: rank 2i + 1 gives its array to rank 2i, and gets the result, for the first ranks. */
static struct shi_round fold(int me, int extra, int blocks, int last)
{
    struct shi_round x = {.to = -1, .from = -1};
    const struct shi_run all = {0, blocks};
    if (me >= 2 * extra)
        return x;
    if (me % 2 != last) {
        x.to = me ^ 1;
        x.send = all;
    } else {
        x.from = me ^ 1;
        x.recv = all;
        x.take = last ? SHI_TAKE_STORE : SHI_TAKE_OVER;
    }
    return x;
}

static struct shi_round exchange(enum shi_plan plan, int n, int me, int r)
{
    int log, power = power_of(n, &log), extra = n - power, blocks = shi_plan_blocks(plan, n);
    int rounds = shi_plan_rounds(plan, n);
    if (extra && (r == 0 || r == rounds - 1))
        return fold(me, extra, blocks, r > 0);
    if (me < 2 * extra && me % 2)
        return (struct shi_round){.to = -1, .from = -1};
    r -= extra > 0;
    int s = me < 2 * extra ? me / 2 : me - extra, bit = r < log ? r : 2 * log - 1 - r, other = s ^ (1 << bit);
    int partner = other < extra ? 2 * other : other + extra;
    struct shi_round x = {.to = partner, .from = partner, .take = other < s ? SHI_TAKE_UNDER : SHI_TAKE_OVER};
    x.send = x.recv = (struct shi_run){0, 1};
    if (plan == SHI_PLAN_HALVING) {
        struct shi_run own = segment(blocks, s, bit + 1), his = segment(blocks, other, bit + 1);
        x.send = r < log ? his : own;
        x.recv = r < log ? own : his;
    }
    if (r >= log)
        x.take = SHI_TAKE_STORE;
    return x;
}

struct shi_round shi_plan_round(enum shi_plan plan, int n, int me, int r)
{
    switch (plan) {
    case SHI_PLAN_TREE:
    case SHI_PLAN_SCATTER: return descend(plan, n, me, r);
    case SHI_PLAN_DOUBLING:
    case SHI_PLAN_HALVING: return exchange(plan, n, me, r);
    case SHI_PLAN_PAIRWISE: {
        int to = (me + r + 1) % n;
        return (struct shi_round){.to = to, .from = (me - r - 1 + n) % n, .send = {to, 1}, .recv = {me, 1}};
    }
    case SHI_PLAN_BARRIER:
    case SHI_PLAN_GATHER:
    case SHI_PLAN_MERGE: return (n & (n - 1)) == 0 ? exchange_pairs(plan, me, r) : disseminate(plan, n, me, r);
    default: return disseminate(plan, n, me, r);
    }
}
