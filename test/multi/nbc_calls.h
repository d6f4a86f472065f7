/*
 * nbc_calls.h - for nbc.c: random numbers, calls of the collectives of shmemx_coll.h, their sources, and their results by definition.
 */
#ifndef NBC_CALLS_H
#define NBC_CALLS_H

#include <shmemx.h>
#include <stdint.h>

enum { TEAMS = 5, PES = 64 };

static uint64_t shared_state, own_state; /* of the program; of this PE */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static size_t draw(size_t n)
{
    return mix(shared_state += 0x9e3779b97f4a7c15) % n;
}

static size_t draw_own(size_t n)
{
    return mix(own_state += 0x9e3779b97f4a7c15) % n;
}

static struct {
    shmem_team_t team;
    int n, me; /* me -1: not a member */
} teams[TEAMS];

enum kind { SYNC, BARRIER, BROADCAST, COLLECT, FCOLLECT, ALLTOALL, ALLTOALLS, ALLTOALLV, SUM, FLOATS, BITS, PROD, EXTREMA, SCAN, EXSCAN, SCATTER,
            SCATTERV, LOC, HALF, BFLOAT, KINDS };

/* A call: `n` elements, of 8 bytes but for LOC and the 16-bit ones. */
struct call {
    enum kind kind;
    int team, root, variant;
    int in_place, blocking;
    size_t n;
    uint64_t seed;
    char *dest, *source;
    size_t counts[PES], at[PES], back[PES], back_at[PES];
    shmemx_req_t req;
    int done;
};

/* Element i that member pe contributes; small for sums of floating point, so that they are exact. */
static uint64_t element(const struct call *c, int pe, size_t i)
{
    return mix(c->seed + (uint64_t)pe * 1000003 + i);
}

static size_t count_of(const struct call *c, int from, int to)
{
    return mix(c->seed ^ (uint64_t)(from * 131 + to)) % 4 ? mix(c->seed + (uint64_t)(from * 77 + to)) % (c->n + 1) : 0;
}

static int size_of(const struct call *c)
{
    return teams[c->team].n;
}

/* ---- sources ------------------------------------------------------------------------------------------------------------ */

static double number(const struct call *c, int pe, size_t i)
{
    return (double)(element(c, pe, i) % 100000) / 7 - 5000;
}

static const uint16_t halves[] = {0x6800 /* 2048 */, 0x3c00 /* 1 */, 0x3c00, 0xc000 /* -2 */, 0x0001 /* 2^-24 */, 0x3555};
static const float half_values[] = {2048, 1, 1, -2, 0x1p-24f, 0x1.554p-2f};
static int half_of(const struct call *c, int pe, size_t i)
{
    return pe == 0 ? 0 : (int)(element(c, pe, i) % 6);
}

static void fill(struct call *c)
{
    int n = size_of(c), me = teams[c->team].me;
    uint64_t *words = (uint64_t *)c->source;
    size_t most = c->n * (size_t)n;
    switch (c->kind) {
    case FLOATS:
        for (size_t i = 0; i < c->n; i++)
            ((double *)c->source)[i] = number(c, me, i);
        break;
    case HALF:
    case BFLOAT:
        for (size_t i = 0; i < c->n; i++)
            ((uint16_t *)c->source)[i] = c->kind == HALF ? halves[half_of(c, me, i)] : (uint16_t)(0x4000 + element(c, me, i) % 256 - 128);
        break;
    case LOC:
        for (size_t i = 0; i < c->n; i++)
            ((shmemx_long_loc_t *)c->source)[i] = (shmemx_long_loc_t){(long)(element(c, me, i) % 5) - 2, (int64_t)(me * 7 % n)};
        break;
    case ALLTOALLS:
        for (size_t i = 0; i < most; i++)
            words[i * 2] = element(c, me, i);
        break;
    case ALLTOALLV: {
        size_t at = 0, back = 0;
        for (int k = n - 1; k >= 0; k--) { /* blocks in the order of falling numbers */
            c->counts[k] = count_of(c, me, k);
            c->at[k] = at;
            at += c->counts[k];
        }
        for (int k = 0; k < n; k++) {
            c->back[k] = count_of(c, k, me);
            c->back_at[k] = back + 1;
            back += c->back[k] + 1;
        }
        for (int k = 0; k < n; k++)
            for (size_t i = 0; i < c->counts[k]; i++)
                words[c->at[k] + i] = element(c, me, (size_t)k * 100000 + i);
        break;
    }
    case SCATTERV:
        most = 0;
        for (int k = 0; k < n; k++)
            most += c->counts[k] = count_of(c, n, k);
        /* fall through */
    default:
        for (size_t i = 0; i < most; i++)
            words[i] = element(c, me, i);
    }
}

/* ---- calls -------------------------------------------------------------------------------------------------------------- */

/* The generic form of C11 here and there: they choose the same routines. */
static void begin(struct call *c)
{
    shmem_team_t t = teams[c->team].team;
    int me = teams[c->team].me, n = size_of(c);
    shmemx_req_t *r = &c->req;
    uint64_t *d = (uint64_t *)c->dest;
    const uint64_t *s = (uint64_t *)c->source;
    int64_t *sd = (int64_t *)d;
    const int64_t *ss = (const int64_t *)s;
    switch (c->kind) {
    case SYNC: shmemx_sync_nb(t, r); break;
    case BARRIER:
        shmem_uint64_put_nbi(d, s, c->n, shmem_team_translate_pe(t, (me + 1) % n, SHMEM_TEAM_WORLD));
        shmemx_barrier_nb(t, r);
        break;
    case BROADCAST:
        if (c->variant)
            shmemx_broadcast_nb(t, d, s, c->n, c->root, r);
        else
            shmemx_broadcastmem_nb(t, d, s, c->n * 8, c->root, r);
        break;
    case COLLECT: shmemx_uint64_collect_nb(t, d, s, count_of(c, me, n), r); break;
    case FCOLLECT: shmemx_fcollectmem_nb(t, d, s, c->n * 8, r); break;
    case ALLTOALL: shmemx_alltoall_nb(t, d, s, c->n, r); break;
    case ALLTOALLS: shmemx_uint64_alltoalls_nb(t, d, s, 3, 2, c->n, r); break;
    case ALLTOALLV:
        if (c->blocking)
            shmemx_alltoallv(t, d, c->back_at, c->back, s, c->at, c->counts);
        else
            shmemx_uint64_alltoallv_nb(t, d, c->back_at, c->back, s, c->at, c->counts, r);
        break;
    case SUM: shmemx_sum_reduce_nb(t, sd, ss, c->n, r); break;
    case FLOATS: shmemx_double_sum_reduce_nb(t, (double *)d, (double *)s, c->n, r); break;
    case BITS:
        if (c->variant)
            shmemx_uint64_xor_reduce_nb(t, d, s, c->n, r);
        else
            shmemx_uint64_and_reduce_nb(t, d, s, c->n, r);
        break;
    case PROD: shmemx_uint64_prod_reduce_nb(t, d, s, c->n, r); break;
    case EXTREMA:
        if (c->variant)
            shmemx_max_reduce_nb(t, sd, ss, c->n, r);
        else
            shmemx_uint64_min_reduce_nb(t, d, s, c->n, r);
        break;
    case SCAN: shmemx_uint64_sum_inscan_nb(t, d, s, c->n, r); break;
    case EXSCAN: shmemx_uint64_sum_exscan_nb(t, d, s, c->n, r); break;
    case SCATTER:
        if (c->blocking)
            shmemx_sum_reducescatter(t, d, s, c->n);
        else
            shmemx_uint64_sum_reducescatter_nb(t, d, s, c->n, r);
        break;
    case SCATTERV:
        if (c->blocking)
            shmemx_uint64_max_reducescatterv(t, d, s, c->counts);
        else
            shmemx_uint64_max_reducescatterv_nb(t, d, s, c->counts, r);
        break;
    case LOC:
        if (c->blocking)
            shmemx_minloc_reduce(t, (shmemx_long_loc_t *)d, (shmemx_long_loc_t *)s, c->n);
        else
            shmemx_long_maxloc_reduce_nb(t, (shmemx_long_loc_t *)d, (shmemx_long_loc_t *)s, c->n, r);
        break;
    case HALF:
        if (c->blocking)
            shmemx_half_sum_reduce(t, d, s, c->n);
        else
            shmemx_half_sum_reduce_nb(t, d, s, c->n, r);
        break;
    default: shmemx_bfloat16_max_reduce_nb(t, d, s, c->n, r);
    }
}

/* ---- the results by definition ------------------------------------------------------------------------------------------- */

/* The order of sums: of 2^k <= n ranks, the first n - 2^k pairs are combined, then a perfect tree. first: a position after the pairs. */
static double tree(const struct call *c, int pairs, int first, int width, size_t i)
{
    if (width > 1)
        return tree(c, pairs, first, width / 2, i) + tree(c, pairs, first + width / 2, width / 2, i);
    return first < pairs ? number(c, 2 * first, i) + number(c, 2 * first + 1, i) : number(c, first + pairs, i);
}

static float half_tree(const struct call *c, int pairs, int first, int width, size_t i)
{
    if (width > 1)
        return half_tree(c, pairs, first, width / 2, i) + half_tree(c, pairs, first + width / 2, width / 2, i);
    return first < pairs ? half_values[half_of(c, 2 * first, i)] + half_values[half_of(c, 2 * first + 1, i)]
                         : half_values[half_of(c, first + pairs, i)];
}

static int power_below(int n)
{
    int p = 1;
    while (2 * p <= n)
        p *= 2;
    return p;
}

static uint64_t fold(const struct call *c, int from, int to, size_t i)
{
    uint64_t all = element(c, from, i);
    for (int pe = from + 1; pe < to; pe++) {
        uint64_t x = element(c, pe, i);
        switch (c->kind) {
        case BITS: all = c->variant ? all ^ x : all & x; break;
        case PROD: all *= x; break;
        case EXTREMA: all = c->variant ? ((int64_t)x > (int64_t)all ? x : all) : x < all ? x : all; break;
        case SCATTERV: all = x > all ? x : all; break;
        default: all += x;
        }
    }
    return all;
}

static int same_loc(const struct call *c, size_t i)
{
    const shmemx_long_loc_t *d = (shmemx_long_loc_t *)c->dest;
    shmemx_long_loc_t best = {0, -1};
    int n = size_of(c);
    for (int pe = 0; pe < n; pe++) {
        shmemx_long_loc_t x = {(long)(element(c, pe, i) % 5) - 2, pe * 7 % n};
        int better = c->blocking ? x.value < best.value : x.value > best.value;
        if (best.place < 0 || better || (x.value == best.value && x.place < best.place))
            best = x;
    }
    return d[i].value == best.value && d[i].place == best.place;
}

/* A half that is the float, which is representable or is rounded as the processor rounds float to a coarser grid. */
static float half_value(uint16_t h)
{
    float f = (float)(h & 0x3ff), sign = h & 0x8000 ? -1.f : 1.f;
    int e = h >> 10 & 31;
    return sign * (e ? __builtin_ldexpf(f + 1024, e - 25) : __builtin_ldexpf(f, -24));
}

static int same_half(const struct call *c, size_t i)
{
    int n = size_of(c), p = power_below(n);
    float exact = half_tree(c, n - p, 0, p, i), is = half_value(((uint16_t *)c->dest)[i]);
    float below = half_value((uint16_t)(((uint16_t *)c->dest)[i] - 1)), above = half_value((uint16_t)(((uint16_t *)c->dest)[i] + 1));
    float off = __builtin_fabsf(is - exact);
    return !(off > __builtin_fabsf(below - exact)) && !(off > __builtin_fabsf(above - exact)); /* next to 0 and infinity there is no number */
}

static int same_bfloat(const struct call *c, size_t i)
{
    uint16_t most = 0;
    for (int pe = 0; pe < size_of(c); pe++) {
        uint16_t x = (uint16_t)(0x4000 + element(c, pe, i) % 256 - 128);
        most = x > most ? x : most;
    }
    return ((uint16_t *)c->dest)[i] == most;
}

/* The first wrong element, or -1. */
static long wrong(const struct call *c)
{
    const uint64_t *d = (uint64_t *)c->dest;
    int n = size_of(c), me = teams[c->team].me, p = power_below(n);
    size_t at = 0;
    switch (c->kind) {
    case SYNC: return -1;
    case COLLECT:
        for (int pe = 0; pe < n; pe++)
            for (size_t i = 0; i < count_of(c, pe, n); i++, at++)
                if (d[at] != element(c, pe, i))
                    return (long)at;
        return -1;
    case FCOLLECT:
        for (size_t i = 0; i < c->n * (size_t)n; i++)
            if (d[i] != element(c, (int)(i / c->n), i % c->n))
                return (long)i;
        return -1;
    case ALLTOALL:
    case ALLTOALLS:
        for (size_t i = 0; i < c->n * (size_t)n; i++)
            if (d[c->kind == ALLTOALL ? i : 3 * i] != element(c, (int)(i / c->n), c->n * (size_t)me + i % c->n))
                return (long)i;
        return -1;
    case ALLTOALLV:
        for (int pe = 0; pe < n; pe++)
            for (size_t i = 0; i < c->back[pe]; i++)
                if (d[c->back_at[pe] + i] != element(c, pe, (size_t)me * 100000 + i))
                    return (long)(c->back_at[pe] + i);
        return -1;
    case SCATTER:
    case SCATTERV:
        for (int k = 0; k < me; k++)
            at += c->kind == SCATTER ? c->n : c->counts[k];
        for (size_t i = 0; i < (c->kind == SCATTER ? c->n : c->counts[me]); i++)
            if (d[i] != fold(c, 0, n, at + i))
                return (long)i;
        return -1;
    default: break;
    }
    for (size_t i = 0; i < c->n; i++) {
        int same;
        switch (c->kind) {
        case BARRIER: same = d[i] == element(c, (me + n - 1) % n, i); break; /* what the member before has put */
        case BROADCAST: same = d[i] == element(c, c->root, i); break;
        case FLOATS: same = ((const double *)d)[i] == tree(c, n - p, 0, p, i); break;
        case SCAN: same = d[i] == fold(c, 0, me + 1, i); break;
        case EXSCAN: same = d[i] == (me ? fold(c, 0, me, i) : 0); break;
        case LOC: same = same_loc(c, i); break;
        case HALF: same = same_half(c, i); break;
        case BFLOAT: same = same_bfloat(c, i); break;
        default: same = d[i] == fold(c, 0, n, i);
        }
        if (!same)
            return (long)i;
    }
    return -1;
}

#endif
