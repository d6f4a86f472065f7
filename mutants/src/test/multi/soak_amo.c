/*
 * soak_amo.c - atomics of the soak test. Words that all writers add to, or xor, must end at the total; words of one
 * writer take every operation, and every fetch must return the writer's last value.
 *
 * An operation on an own word follows a fence if the previous one was not fetching, and a quiet if it was a nonblocking
 * fetch.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"

/* All operations; those up to SUMS add, those from XORS on xor. */
enum { INC, ADD, FETCH_INC, FETCH_ADD, FETCH_INC_NBI, FETCH_ADD_NBI, SUMS, SET = SUMS, AND, OR, FETCH, SWAP, CSWAP, FETCH_AND,
       FETCH_OR, FETCH_NBI, SWAP_NBI, CSWAP_NBI, FETCH_AND_NBI, FETCH_OR_NBI, XORS, XOR = XORS, FETCH_XOR, FETCH_XOR_NBI, WHATS };
static const char *const name[] = {
    "inc", "add", "fetch_inc", "fetch_add", "fetch_inc_nbi", "fetch_add_nbi", "set", "and", "or", "fetch", "swap",
    "compare_swap", "fetch_and", "fetch_or", "fetch_nbi", "swap_nbi", "compare_swap_nbi", "fetch_and_nbi", "fetch_or_nbi",
    "xor", "fetch_xor", "fetch_xor_nbi"};

static int is_nbi(int what)
{
    return what == FETCH_INC_NBI || what == FETCH_ADD_NBI || (what >= FETCH_NBI && what < XORS) || what == FETCH_XOR_NBI;
}

static int fetches(int what)
{
    return what != INC && what != ADD && what != SET && what != AND && what != OR && what != XOR;
}

void soak_amo_up(struct worker *w)
{
    struct plane *p = &w->at;
    p->own64 = shmem_calloc((size_t)soak.n * WORDS, sizeof *p->own64);
    p->own32 = shmem_calloc((size_t)soak.n * WORDS, sizeof *p->own32);
}

void soak_amo_make(struct dice *d, struct op *op)
{
    op->own = (int)roll(d, 2);
    op->wide = (int)roll(d, 2);
    op->word = (int)roll(d, WORDS);
    op->what = (int)(op->own ? roll(d, WHATS) : roll(d, 4) ? roll(d, SUMS) : XORS + roll(d, WHATS - XORS));
    op->value = roll(d, 4) ? any(d) : roll(d, 3);
    op->cond = roll(d, 2); /* compare_swap: succeeds */
}

/* The word's value afterwards. */
static uint64_t after(const struct op *op, uint64_t old)
{
    switch (op->what) {
    case INC: case FETCH_INC: case FETCH_INC_NBI: return old + 1;
    case ADD: case FETCH_ADD: case FETCH_ADD_NBI: return old + op->value;
    case SET: case SWAP: case SWAP_NBI: return op->value;
    case CSWAP: case CSWAP_NBI: return op->cond ? op->value : old;
    case AND: case FETCH_AND: case FETCH_AND_NBI: return old & op->value;
    case OR: case FETCH_OR: case FETCH_OR_NBI: return old | op->value;
    case XOR: case FETCH_XOR: case FETCH_XOR_NBI: return old ^ op->value;
    default: return old;
    }
}

/* One call; compare_swap compares with `if_is`. Returns the old value, 0 unless it was fetched here. */
#define CALL(N, T)                                                                                                   \
    static T call_##N(const struct worker *w, T *at, const struct op *op, T if_is, T *later)                         \
    {                                                                                                                \
        T v = (T)op->value;                                                                                          \
        switch (op->what) {                                                                                          \
        case INC: shmem_ctx_##N##_atomic_inc(w->ctx, at, op->pe); return 0;                                          \
        case ADD: shmem_ctx_##N##_atomic_add(w->ctx, at, v, op->pe); return 0;                                       \
        case SET: shmem_ctx_##N##_atomic_set(w->ctx, at, v, op->pe); return 0;                                       \
        case AND: shmem_ctx_##N##_atomic_and(w->ctx, at, v, op->pe); return 0;                                       \
        case OR: shmem_ctx_##N##_atomic_or(w->ctx, at, v, op->pe); return 0;                                         \
        case XOR: shmem_ctx_##N##_atomic_xor(w->ctx, at, v, op->pe); return 0;                                       \
        case FETCH_INC: return shmem_ctx_##N##_atomic_fetch_inc(w->ctx, at, op->pe);                                 \
        case FETCH_ADD: return shmem_ctx_##N##_atomic_fetch_add(w->ctx, at, v, op->pe);                              \
        case FETCH: return shmem_ctx_##N##_atomic_fetch(w->ctx, at, op->pe);                                         \
        case SWAP: return shmem_ctx_##N##_atomic_swap(w->ctx, at, v, op->pe);                                        \
        case CSWAP: return shmem_ctx_##N##_atomic_compare_swap(w->ctx, at, if_is, v, op->pe);                        \
        case FETCH_AND: return shmem_ctx_##N##_atomic_fetch_and(w->ctx, at, v, op->pe);                              \
        case FETCH_OR: return shmem_ctx_##N##_atomic_fetch_or(w->ctx, at, v, op->pe);                                \
        case FETCH_XOR: return shmem_ctx_##N##_atomic_fetch_xor(w->ctx, at, v, op->pe);                              \
        case FETCH_INC_NBI: shmem_ctx_##N##_atomic_fetch_inc_nbi(w->ctx, later, at, op->pe); return 0;               \
        case FETCH_ADD_NBI: shmem_ctx_##N##_atomic_fetch_add_nbi(w->ctx, later, at, v, op->pe); return 0;            \
        case FETCH_NBI: shmem_ctx_##N##_atomic_fetch_nbi(w->ctx, later, at, op->pe); return 0;                       \
        case SWAP_NBI: shmem_ctx_##N##_atomic_swap_nbi(w->ctx, later, at, v, op->pe); return 0;                      \
        case CSWAP_NBI: shmem_ctx_##N##_atomic_compare_swap_nbi(w->ctx, later, at, if_is, v, op->pe); return 0;      \
        case FETCH_AND_NBI: shmem_ctx_##N##_atomic_fetch_and_nbi(w->ctx, later, at, v, op->pe); return 0;            \
        case FETCH_OR_NBI: shmem_ctx_##N##_atomic_fetch_or_nbi(w->ctx, later, at, v, op->pe); return 0;              \
        default: shmem_ctx_##N##_atomic_fetch_xor_nbi(w->ctx, later, at, v, op->pe); return 0;                       \
        }                                                                                                            \
    }
CALL(uint64, uint64_t)
CALL(uint32, uint32_t)

static struct pending *pending_of(struct worker *w, const struct op *op, uint64_t want)
{
    if (w->n_pending == PENDING)
        soak_quiet(w);
    struct pending *p = &w->pending[w->n_pending++];
    p->kind = op->own ? op->wide ? 2 : 3 : 0;
    p->k = op->k;
    p->want = want;
    p->got64 = ~want;
    p->got32 = (uint32_t)~want;
    return p;
}

/* The word at the target. */
static void *word_of(struct worker *w, const struct op *op)
{
    struct plane *p = &w->at;
    size_t own = (size_t)soak.me * WORDS + (size_t)op->word;
    if (op->own)
        return op->wide ? (void *)&p->own64[own] : (void *)&p->own32[own];
    if (op->what >= XORS)
        return op->wide ? (void *)&p->xor64[op->word] : (void *)&p->xor32[op->word];
    return op->wide ? (void *)&p->sum64[op->word] : (void *)&p->sum32[op->word];
}

/* Order the previous operation on this own word before the next; record the order that the next one requires. */
static void order(struct worker *w, const struct op *op)
{
    uint64_t *settled = op->wide ? &w->settled64[op->pe][op->word] : &w->settled32[op->pe][op->word];
    uint64_t needs = *settled >> 1, quiet = *settled & 1;
    if (quiet && w->quiets < needs) {
        soak_quiet(w);
    } else if (!quiet && w->fences < needs) {
        shmem_ctx_fence(w->ctx);
        w->fences++;
    }
    *settled = is_nbi(op->what) ? (w->quiets + 1) << 1 | 1 : fetches(op->what) ? 0 : (w->fences + 1) << 1;
}

void soak_amo_issue(struct worker *w, const struct op *op)
{
    uint64_t mask = op->wide ? UINT64_MAX : UINT32_MAX, old = 0, got;
    uint64_t *kept = op->wide ? &w->out[op->pe].own64[op->word] : &w->out[op->pe].own32[op->word];
    if (op->own) {
        order(w, op);
        old = *kept;
        *kept = after(op, old) & mask;
    }
    struct pending *p = is_nbi(op->what) ? pending_of(w, op, old) : NULL;
    uint64_t if_is = op->cond ? old : ~old;
    if (op->wide)
        got = call_uint64(w, word_of(w, op), op, if_is, p ? &p->got64 : NULL);
    else
        got = call_uint32(w, word_of(w, op), op, (uint32_t)if_is, p ? &p->got32 : NULL);
    if (op->own && fetches(op->what) && !p && got != old)
        soak_fail(w, "operation %lu, atomic %s of %d bits on word %d at PE %d: expected %lx, got %lx", (unsigned long)op->k,
                  name[op->what], op->wide ? 64 : 32, op->word, op->pe, (unsigned long)old, (unsigned long)got);
}

void soak_amo_replay(struct worker *w, int writer, const struct op *op)
{
    struct words *h = &w->here[writer];
    uint64_t *at;
    if (op->own)
        at = op->wide ? &h->own64[op->word] : &h->own32[op->word];
    else if (op->what >= XORS)
        at = op->wide ? &h->xor64[op->word] : &h->xor32[op->word];
    else
        at = op->wide ? &h->sum64[op->word] : &h->sum32[op->word];
    *at = after(op, *at) & (op->wide ? UINT64_MAX : UINT32_MAX);
}

void soak_amo_verify(struct worker *w)
{
    char what[64];
    for (int writer = 0; writer < soak.n; writer++)
        for (int i = 0; i < WORDS; i++) {
            size_t at = (size_t)writer * WORDS + (size_t)i;
            uint64_t narrow = w->at.own32[at];
            snprintf(what, sizeof what, "word %d that only PE %d changes", i, writer);
            soak_same(w, what, 64, &w->at.own64[at], &w->here[writer].own64[i], 8);
            soak_same(w, what, 32, &narrow, &w->here[writer].own32[i], 8);
        }
}

void soak_amo_verify_sums(struct worker *all)
{
    struct words sum = {0};
    for (int t = 0; t < soak.threads; t++)
        for (int writer = 0; writer < soak.n; writer++)
            for (int i = 0; i < WORDS; i++) {
                sum.sum64[i] += all[t].here[writer].sum64[i];
                sum.sum32[i] += all[t].here[writer].sum32[i];
                sum.xor64[i] ^= all[t].here[writer].xor64[i];
                sum.xor32[i] ^= all[t].here[writer].xor32[i];
            }
    for (int i = 0; i < WORDS; i++) {
        uint64_t sum32 = sum.sum32[i] & UINT32_MAX, got_sum = all->at.sum32[i], got_xor = all->at.xor32[i];
        soak_same(all, "a word that all add to", 64, &all->at.sum64[i], &sum.sum64[i], 8);
        soak_same(all, "a word that all xor", 64, &all->at.xor64[i], &sum.xor64[i], 8);
        soak_same(all, "a word that all add to", 32, &got_sum, &sum32, 8);
        soak_same(all, "a word that all xor", 32, &got_xor, &sum.xor32[i], 8);
    }
}
