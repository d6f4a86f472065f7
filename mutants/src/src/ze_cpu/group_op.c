/*
 * group_op.c - operations of sub-groups and work-groups: reductions, scans, votes, ballots, broadcasts, shuffles.
 *
 * The active work-items of an operation are those of the scope that wait at its instruction. It runs when no other work-item of
 * the scope can still arrive: all others have ended or wait elsewhere. If work-items wait at several instructions, the
 * first instruction in the code runs first, so that diverged work-items can converge.
 */
#include "ze_cpu/group_op.h"

#include <math.h>
#include <string.h>

#include "ze_cpu/op.h"

struct set {
    struct zc_group *g;
    const struct zc_ins *i;
    uint32_t n;                     /* active work-items */
    uint16_t item[ZC_GROUP_MAX];    /* their indices, ascending */
    uint16_t lane[ZC_GROUP_MAX];    /* their lanes */
    uint16_t of_lane[ZC_GROUP_MAX]; /* index into item; n: the lane is not active */
};

static uint8_t *frame(const struct set *s, uint32_t k)
{
    return s->g->item[s->item[k]].f;
}

static uint64_t get(const struct set *s, uint32_t k, uint32_t slot, unsigned width)
{
    uint64_t v = 0;
    memcpy(&v, frame(s, k) + slot, width);
    return v;
}

static void put(const struct set *s, uint32_t k, uint64_t v, unsigned width)
{
    memcpy(frame(s, k) + s->i->d, &v, width);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

static double real(uint64_t v, unsigned width)
{
    float f;
    double d;
    uint32_t low = (uint32_t)v;
    memcpy(&f, &low, 4);
    memcpy(&d, &v, 8);
    return width == 4 ? (double)f : d;
}

static uint64_t bits_of(double v, unsigned width)
{
    float f = (float)v;
    uint32_t low;
    uint64_t all;
    memcpy(&low, &f, 4);
    memcpy(&all, &v, 8);
    return width == 4 ? low : all;
}

static uint64_t combine(unsigned what, uint64_t a, uint64_t b, unsigned w)
{
    switch (what) {
    case GROUP_ADD:
        return a + b;
    case GROUP_MUL:
        return a * b;
    case GROUP_SMIN:
        return zc_sign(a, w) < zc_sign(b, w) ? a : b;
    case GROUP_UMIN:
        return a < b ? a : b;
    case GROUP_SMAX:
        return zc_sign(a, w) > zc_sign(b, w) ? a : b;
    case GROUP_UMAX:
        return a > b ? a : b;
    case GROUP_AND:
        return a & b;
    case GROUP_OR:
        return a | b;
    case GROUP_XOR:
        return a ^ b;
    case GROUP_FADD:
        return bits_of(real(a, w) + real(b, w), w);
    case GROUP_FMUL:
        return bits_of(real(a, w) * real(b, w), w);
    case GROUP_FMIN:
        return bits_of(fmin(real(a, w), real(b, w)), w);
    default:
        return bits_of(fmax(real(a, w), real(b, w)), w);
    }
}

static uint64_t identity(unsigned what, unsigned w, bool boolean)
{
    uint64_t top = 1ull << (8 * w - 1);
    switch (what) {
    case GROUP_MUL:
        return 1;
    case GROUP_SMIN:
        return top - 1;
    case GROUP_SMAX:
        return top;
    case GROUP_UMIN:
        return UINT64_MAX;
    case GROUP_AND:
        return boolean ? 1 : UINT64_MAX;
    case GROUP_FMUL:
        return bits_of(1, w);
    case GROUP_FMIN:
        return bits_of(INFINITY, w);
    case GROUP_FMAX:
        return bits_of(-INFINITY, w);
    }
    return 0;
}

static void arithmetic(const struct set *s)
{
    const struct zc_ins *i = s->i;
    unsigned what = i->u[0] & 255, mode = i->u[0] >> 8 & 127, w = i->w;
    uint64_t one = identity(what, w, (i->u[0] >> 16 & 255) == KIND_BOOL), acc = one;
    uint64_t cluster = mode == GROUP_CLUSTERED ? get(s, 0, i->b, i->u[1] & 255) : 0;
    uint32_t from = 0;
    for (uint32_t k = 0; k < s->n; k++) {
        uint64_t before = acc, v = get(s, k, i->a, w);
        acc = combine(what, acc, v, w);
        if (mode == GROUP_INCLUSIVE)
            put(s, k, acc, w);
        if (mode == GROUP_EXCLUSIVE)
            put(s, k, before, w);
        bool last = k + 1 == s->n || (cluster && s->lane[k + 1] / cluster != s->lane[k] / cluster);
        if (last && mode != GROUP_INCLUSIVE && mode != GROUP_EXCLUSIVE) {
            for (; from <= k; from++)
                put(s, from, acc, w);
            acc = one;
        }
    }
}

/* ---- votes ------------------------------------------------------------------------------------------------------ */

static void vote(const struct set *s, unsigned what)
{
    const struct zc_ins *i = s->i;
    bool all = true, any = false, equal = true;
    uint32_t ballot[4] = {0, 0, 0, 0}, bytes = i->w * (i->u[0] >> 24);
    for (uint32_t k = 0; k < s->n && what != GROUP_ELECT; k++) {
        bool v = frame(s, k)[i->a];
        all &= v;
        any |= v;
        equal &= !memcmp(frame(s, k) + i->a, frame(s, 0) + i->a, bytes);
        if (v && s->lane[k] < 128)
            ballot[s->lane[k] / 32] |= 1u << s->lane[k] % 32;
    }
    for (uint32_t k = 0; k < s->n; k++) {
        if (what == GROUP_BALLOT)
            memcpy(frame(s, k) + i->d, ballot, sizeof ballot);
        else
            frame(s, k)[i->d] = what == GROUP_ELECT ? k == 0
                                : what == GROUP_ALL ? all
                                : what == GROUP_ANY ? any
                                                    : equal;
    }
}

/* ---- broadcasts and shuffles ------------------------------------------------------------------------------------ */

/* The source lane of a broadcast; in a work-group, its operand has up to three coordinates. */
static uint64_t named_lane(const struct set *s, const struct zc_launch *l)
{
    unsigned width = s->i->u[1] & 255, n = s->i->u[1] >> 8;
    uint64_t x[3] = {0, 0, 0};
    for (unsigned k = 0; k < n && k < 3; k++)
        x[k] = get(s, 0, s->i->b + k * width, width);
    return x[0] + l->group[0] * (x[1] + l->group[1] * x[2]);
}

/* The lane whose value active work-item k gets, and the slot of the operand in *slot. */
static uint64_t source(const struct set *s, uint32_t k, unsigned what, uint64_t broadcast, uint32_t *slot)
{
    uint64_t lane = s->lane[k], v = what == GROUP_FIRST ? 0 : get(s, k, s->i->b, s->i->u[1] & 255);
    *slot = s->i->a;
    switch (what) {
    case GROUP_BROADCAST:
        return broadcast;
    case GROUP_FIRST:
        return s->lane[0];
    case GROUP_SHUFFLE:
        return v;
    case GROUP_SHUFFLE_XOR:
        return lane ^ v;
    case GROUP_SHUFFLE_UP:
        return lane - v;
    case GROUP_SHUFFLE_DOWN:
        return lane + v;
    case GROUP_SHUFFLE_UP2: /* a: the previous value, c: the current one */
        *slot = lane >= v ? s->i->c : s->i->a;
        return lane >= v ? lane - v : lane - v + ZC_SUBGROUP;
    default: /* a: the current value, c: the next one */
        *slot = lane + v < ZC_SUBGROUP ? s->i->a : s->i->c;
        return lane + v < ZC_SUBGROUP ? lane + v : lane + v - ZC_SUBGROUP;
    }
}

static void exchange(const struct set *s, unsigned what, const struct zc_launch *l)
{
    uint32_t bytes = s->i->w * (s->i->u[0] >> 24);
    uint64_t broadcast = what == GROUP_BROADCAST ? named_lane(s, l) : 0;
    for (uint32_t k = 0; k < s->n; k++) {
        uint32_t slot, from = k;
        uint64_t lane = source(s, k, what, broadcast, &slot);
        if (lane < ZC_GROUP_MAX && s->of_lane[lane] < s->n)
            from = s->of_lane[lane];
        memmove(frame(s, k) + s->i->d, frame(s, from) + slot, bytes);
    }
}

static void compute(const struct set *s, const struct zc_launch *l)
{
    unsigned what = s->i->u[0] & 255;
    if (what >= GROUP_ADD)
        arithmetic(s);
    else if (what >= GROUP_BROADCAST)
        exchange(s, what, l);
    else if (what != GROUP_BARRIER)
        vote(s, what);
}

/* ---- results of a ballot ---------------------------------------------------------------------------------------- */

void zc_group_ballot(const struct zc_item *it, const struct zc_ins *i)
{
    uint32_t lane = it->index % ZC_SUBGROUP, mask, bit, r;
    memcpy(&mask, it->f + i->a, sizeof mask);
    mask &= (1u << ZC_SUBGROUP) - 1;
    switch (i->w) {
    case BALLOT_INVERSE:
        it->f[i->d] = mask >> lane & 1;
        return;
    case BALLOT_EXTRACT:
        memcpy(&bit, it->f + i->b, sizeof bit);
        it->f[i->d] = bit < 32 && mask >> bit & 1;
        return;
    case BALLOT_COUNT:
        mask &= i->n == GROUP_INCLUSIVE ? (2u << lane) - 1 : i->n == GROUP_EXCLUSIVE ? (1u << lane) - 1 : ~0u;
        r = (uint32_t)__builtin_popcount(mask);
        break;
    case BALLOT_LOW:
        r = mask ? (uint32_t)__builtin_ctz(mask) : 0;
        break;
    default:
        r = mask ? 31u - (uint32_t)__builtin_clz(mask) : 0;
    }
    memcpy(it->f + i->d, &r, sizeof r);
}

/* ---- active work-items ------------------------------------------------------------------------------------------ */

bool zc_group_pass(struct zc_group *g, const struct zc_launch *l, uint32_t first, uint32_t end, unsigned scope,
                   bool stalled)
{
    const struct zc_ins *at = NULL;
    bool polls = false;
    for (uint32_t k = first; k < end && !polls; k++)
        polls = g->item[k].state == ITEM_RUN;
    if (polls && !stalled)
        return false;
    for (uint32_t k = first; k < end; k++) {
        const struct zc_item *it = &g->item[k];
        if (it->state == ITEM_GROUP && it->pc->n == scope && (!at || it->pc < at) &&
            !(polls && it->pc->u[0] >> 8 & GROUP_UNIFORM))
            at = it->pc;
    }
    if (!at)
        return false;
    struct set s;
    s.g = g;
    s.i = at;
    s.n = 0;
    for (uint32_t k = first; k < end; k++)
        if (g->item[k].state == ITEM_GROUP && g->item[k].pc == at) {
            s.item[s.n] = (uint16_t)k;
            s.lane[s.n++] = (uint16_t)(k - first);
        }
    for (uint32_t k = 0; k < ZC_GROUP_MAX; k++)
        s.of_lane[k] = (uint16_t)s.n;
    for (uint32_t k = 0; k < s.n; k++)
        s.of_lane[s.lane[k]] = (uint16_t)k;
    compute(&s, l);
    for (uint32_t k = 0; k < s.n; k++) {
        g->item[s.item[k]].pc++;
        g->item[s.item[k]].state = ITEM_RUN;
    }
    return true;
}
