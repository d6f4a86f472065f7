/*
 * amo.c - every atomic of the table, deprecated names included: one PE against a model, then all PEs on one word.
 *
 * Operands are byte patterns, the same for integers and floating point: zero, one, all ones, least and greatest signed
 * value. They cover carries, signs and NaN payloads.
 */
#include "../tap_pes.h"
#include "args.h"

/* ---- one PE at a time -------------------------------------------------------------------------------------------- */

struct call {
    shmem_ctx_t ctx; /* NULL: the form without a context */
    void *dest;
    const void *old, *value, *cond;
    void *now, *got; /* the expected word; the value that the routine fetched */
    int pe;
};

struct routine {
    const char *name;
    size_t bytes;
    void (*run)(const struct call *);
};

#define BECOMES_inc __builtin_add_overflow(old, 1, &now);
#define BECOMES_add __builtin_add_overflow(old, value, &now);
#define BECOMES_cswap now = old == cond ? value : old;
#define BECOMES_fetch
#define BECOMES_set now = value;
#define BECOMES_finc BECOMES_inc
#define BECOMES_fadd BECOMES_add
#define BECOMES_swap BECOMES_set
#define BECOMES_atomic_inc BECOMES_inc
#define BECOMES_atomic_add BECOMES_add
#define BECOMES_atomic_fetch_inc BECOMES_inc
#define BECOMES_atomic_fetch_add BECOMES_add
#define BECOMES_atomic_compare_swap BECOMES_cswap
#define BECOMES_atomic_fetch_inc_nbi BECOMES_inc
#define BECOMES_atomic_fetch_add_nbi BECOMES_add
#define BECOMES_atomic_compare_swap_nbi BECOMES_cswap
#define BECOMES_atomic_fetch
#define BECOMES_atomic_set BECOMES_set
#define BECOMES_atomic_swap BECOMES_set
#define BECOMES_atomic_fetch_nbi
#define BECOMES_atomic_swap_nbi BECOMES_set
#define BECOMES_atomic_and now = old & value;
#define BECOMES_atomic_or now = old | value;
#define BECOMES_atomic_xor now = old ^ value;
#define BECOMES_atomic_fetch_and BECOMES_atomic_and
#define BECOMES_atomic_fetch_or BECOMES_atomic_or
#define BECOMES_atomic_fetch_xor BECOMES_atomic_xor
#define BECOMES_atomic_fetch_and_nbi BECOMES_atomic_and
#define BECOMES_atomic_fetch_or_nbi BECOMES_atomic_or
#define BECOMES_atomic_fetch_xor_nbi BECOMES_atomic_xor

#define RUN_BODY(NAME, T, ...)                                                                                       \
    T *dest = c->dest, *source = dest, old = *(const T *)c->old, now = old, result = 0, *fetch = &result;            \
    T value = *(const T *)c->value, cond = *(const T *)c->cond;                                                      \
    int pe = c->pe;                                                                                                  \
    (void)source, (void)fetch, (void)value, (void)cond;                                                              \
    __VA_ARGS__                                                                                                      \
    BECOMES##NAME                                                                                                    \
    shmem_quiet();                                                                                                   \
    *(T *)c->now = now;                                                                                              \
    *(T *)c->got = result;
#define BODY_C(R, NAME, N, T, PARAMS)                                                                                \
    static void run_##N##NAME(const struct call *c)                                                                  \
    {                                                                                                                \
        RUN_BODY(NAME, T, if (!c->ctx) RESULT(NAME) shmem_##N##NAME(ARGS##NAME);                                     \
                 else RESULT(NAME) shmem_ctx_##N##NAME(c->ctx, ARGS##NAME);)                                         \
    }
#define BODY_P(R, NAME, N, T, PARAMS)                                                                                \
    static void run_##N##NAME(const struct call *c)                                                                  \
    {                                                                                                                \
        RUN_BODY(NAME, T, RESULT(NAME) shmem_##N##NAME(ARGS##NAME);)                                                 \
    }
#define LIST_C(R, NAME, N, T, PARAMS) {"shmem_" #N #NAME, sizeof(T), run_##N##NAME},
#define LIST_P LIST_C
#define ROW(F, N, T, RMA, AMO, EXT, BIT, ...)                                                                        \
    SHMEM_IF_##AMO(SHMEM_API_AMO(F##_C, F##_P, N, T) SHMEM_API_OA(F##_C, F##_P, N, T))                               \
    SHMEM_IF_##EXT(SHMEM_API_EXT(F##_C, F##_P, N, T) SHMEM_API_OX(F##_C, F##_P, N, T))                               \
    SHMEM_IF_##BIT(SHMEM_API_BIT(F##_C, F##_P, N, T))
SHMEM_TYPES(ROW, BODY)
static const struct routine routines[] = {SHMEM_TYPES(ROW, LIST)};

enum { PATTERNS = 6, MOST = 8, N_ROUTINES = sizeof routines / sizeof *routines };

static void pattern(int k, size_t bytes, void *out)
{
    unsigned char *b = out;
    memset(b, k == 2 || k == 3 ? 0xff : k == 5 ? 0x5a : 0, bytes);
    if (k == 1)
        memset(b, 1, 1);
    if (k == 3 || k == 4)
        b[bytes - 1] = k == 3 ? 0x7f : 0x80;
}

static int fetches(const char *name)
{
    return strstr(name, "fetch") || strstr(name, "swap") || strstr(name, "_finc") || strstr(name, "_fadd");
}

/* Every step-th pair of operands, and rounds of the tests of all PEs: fewer over a network, where each call takes a round trip. */
static int step = 1, rounds = 400;

/* Call one routine with every pair of operands, or each step-th, on the middle one of three words of the next PE. */
static void every_operand(const struct routine *r, char *words, shmem_ctx_t ctx)
{
    _Alignas(MOST) unsigned char old[MOST], value[MOST], cond[MOST], now[MOST], got[MOST], seen[3 * MOST];
    for (int k = 0; k < PATTERNS * PATTERNS * 2; k += step) {
        pattern(k % PATTERNS, r->bytes, old);
        pattern(k / PATTERNS % PATTERNS, r->bytes, value);
        pattern((k + k / (PATTERNS * PATTERNS)) % PATTERNS, r->bytes, cond); /* the old value, then others */
        memset(seen, 0xc3, sizeof seen);
        memcpy(seen + r->bytes, old, r->bytes);
        shmem_putmem(words, seen, 3 * r->bytes, next_pe());
        shmem_quiet();
        r->run(&(struct call){ctx, words + r->bytes, old, value, cond, now, got, next_pe()});
        shmem_getmem(seen, words, 3 * r->bytes, next_pe());
        if (!CHECKF(memcmp(seen + r->bytes, now, r->bytes) == 0, "%s: wrong word after operands %d", r->name, k) ||
            !CHECKF(!fetches(r->name) || memcmp(got, old, r->bytes) == 0, "%s: fetched, operands %d", r->name, k) ||
            !CHECKF(seen[0] == 0xc3 && seen[r->bytes - 1] == 0xc3 && seen[2 * r->bytes] == 0xc3 &&
                        seen[3 * r->bytes - 1] == 0xc3, "%s: a neighbour changed", r->name))
            return;
    }
}

static _Alignas(64) char static_words[3 * MOST];
static char *heap_words;

/* Catches: a routine with another type's width, swapped operands, a wrong wrap-around or a wrong fetched value. */
static void model_heap(void)
{
    for (int i = 0; i < N_ROUTINES; i++)
        every_operand(&routines[i], heap_words, NULL);
}

/* Catches: the same in the ctx forms, and on static data. */
static void model_ctx_static(void)
{
    for (int i = 0; i < N_ROUTINES; i++)
        every_operand(&routines[i], static_words, SHMEM_CTX_DEFAULT);
}

/* ---- all PEs on the words of PE 0 ------------------------------------------------------------------------------- */


static uint64_t *words;     /* [8] on PE 0: static, then heap */
static uint64_t *heap_word, static_word[8];
static unsigned char *seen; /* [n_pes * rounds] */
static double *tokens;      /* [n_pes] */

static void begin_all(int on_heap)
{
    words = on_heap ? heap_word : static_word;
    shmem_barrier_all();
    memset(words, 0, 8 * sizeof *words);
    memset(seen, 0, (size_t)n_pes * rounds);
    shmem_barrier_all();
}

/* Each value was fetched; as there are as many fetches as values, none was fetched twice. */
static void all_seen(const char *name)
{
    shmem_barrier_all();
    for (int i = 0; me == 0 && i < n_pes * rounds; i++)
        if (!CHECKF(seen[i], "%s: value %d was never fetched", name, i))
            return;
}

#define HAMMER(N, T)                                                                                                 \
    static void hammer_##N(void)                                                                                     \
    {                                                                                                                \
        T *w = (T *)words, total = (T)(n_pes * rounds), sum = (T)(rounds * n_pes * (n_pes + 1) / 2), old, got;       \
        for (int i = 0; i < rounds; i++) {                                                                           \
            T mine = shmem_##N##_atomic_fetch_inc(&w[0], 0);                                                         \
            if (CHECKF(mine < total, "%s fetch_inc: result too large", #N))                                          \
                shmem_uchar_p(&seen[mine], 1, 0);                                                                    \
            shmem_##N##_atomic_add(&w[1], (T)(me + 1), 0);                                                           \
            shmem_##N##_atomic_inc(&w[2], 0);                                                                        \
            shmem_##N##_atomic_fetch_add(&w[3], (T)(me + 1), 0);                                                     \
            for (old = shmem_##N##_atomic_fetch(&w[4], 0);                                                           \
                 (got = shmem_##N##_atomic_compare_swap(&w[4], old, old + 1, 0)) != old; old = got)                  \
                ;                                                                                                    \
        }                                                                                                            \
        all_seen(#N);                                                                                                \
        CHECKF(me || (w[0] == total && w[1] == sum && w[2] == total && w[3] == sum && w[4] == total),                \
               "%s: updates lost: fetch_inc %ld, add %ld, inc %ld, fetch_add %ld, compare_swap %ld", #N, (long)w[0], \
               (long)w[1], (long)w[2], (long)w[3], (long)w[4]);                                                      \
    }

/* Catches: a swapped token that is lost or doubled; a set of a word that others see half done. */
#define EXCHANGE(N, T)                                                                                               \
    static void exchange_##N(void)                                                                                   \
    {                                                                                                                \
        T *w = (T *)words, token = (T)(me + 1), whole[2], got;                                                       \
        memset(&whole[0], 0x11, sizeof *whole);                                                                      \
        memset(&whole[1], 0x22, sizeof *whole);                                                                      \
        shmem_##N##_atomic_set(&w[1], whole[0], 0);                                                                  \
        shmem_barrier_all();                                                                                         \
        for (int i = 0; i < rounds; i++) {                                                                           \
            token = shmem_##N##_atomic_swap(&w[0], token, 0);                                                        \
            shmem_##N##_atomic_set(&w[1], whole[(i + me) % 2], 0);                                                   \
            got = shmem_##N##_atomic_fetch(&w[1], 0);                                                                \
            CHECKF(got == whole[0] || got == whole[1], "%s: a torn word", #N);                                       \
        }                                                                                                            \
        shmem_double_p(&tokens[me], (double)token, 0);                                                               \
        shmem_barrier_all();                                                                                         \
        double sum = (double)w[0];                                                                                   \
        for (int i = 0; i < n_pes; i++)                                                                              \
            sum += tokens[i];                                                                                        \
        CHECKF(me || sum == n_pes * (n_pes + 1) / 2., "%s: the swapped tokens' sum is %g", #N, sum);                 \
    }

#define BITS(N, T)                                                                                                   \
    static void bits_##N(void)                                                                                       \
    {                                                                                                                \
        T *w = (T *)words, bit = (T)1 << me, all = (T)((1ull << n_pes) - 1);                                         \
        for (int i = 0; i < rounds + 1; i++) {                                                                       \
            CHECKF(!(shmem_##N##_atomic_fetch_or(&w[0], bit, 0) & bit), "%s fetch_or: bit set before", #N);          \
            CHECKF(shmem_##N##_atomic_fetch_and(&w[0], (T)~bit, 0) & bit, "%s fetch_and: bit lost", #N);             \
            T was = shmem_##N##_atomic_fetch_xor(&w[1], bit, 0);                                                     \
            CHECKF(!!(was & bit) == i % 2, "%s fetch_xor: bit lost", #N);                                            \
            shmem_##N##_atomic_xor(&w[2], bit, 0);                                                                   \
            shmem_##N##_atomic_or(&w[3], bit, 0);                                                                    \
            shmem_##N##_atomic_and(&w[3], (T)~bit, 0);                                                               \
        }                                                                                                            \
        shmem_barrier_all();                                                                                         \
        CHECKF(me || (w[0] == 0 && w[1] == all && w[2] == all && w[3] == 0), "%s: bits lost", #N);                   \
    }

#define TYPE(F, N, T, RMA, AMO, EXT, BIT, ...)                                                                       \
    SHMEM_IF_##AMO(HAMMER(N, T)) SHMEM_IF_##EXT(EXCHANGE(N, T)) SHMEM_IF_##BIT(BITS(N, T))
SHMEM_TYPES(TYPE, )

#define ONCE(F) (begin_all(on_heap), F());
#define DO_HAMMER(F, N, T, RMA, AMO, ...) SHMEM_IF_##AMO(ONCE(hammer_##N))
#define DO_EXCHANGE(F, N, T, RMA, AMO, EXT, ...) SHMEM_IF_##EXT(ONCE(exchange_##N))
#define DO_BITS(F, N, T, RMA, AMO, EXT, BIT, ...) SHMEM_IF_##BIT(ONCE(bits_##N))

/* Catches: an add, inc or compare_swap that is a load and a store: counts are lost, values are fetched twice. */
static void counts(void)
{
    for (int on_heap = 0; on_heap < 2; on_heap++) {
        SHMEM_TYPES(DO_HAMMER, )
    }
}

/* Catches: a swap in two steps, a float that is stored as two words. */
static void swaps(void)
{
    for (int on_heap = 0; on_heap < 2; on_heap++) {
        SHMEM_TYPES(DO_EXCHANGE, )
    }
}

/* Catches: a bitwise update that changes a neighbouring bit. */
static void bits(void)
{
    for (int on_heap = 0; on_heap < 2; on_heap++) {
        SHMEM_TYPES(DO_BITS, )
    }
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    heap_words = shmem_align(64, 3 * MOST);
    heap_word = shmem_align(64, 8 * sizeof *heap_word);
    if (has_remote_pes()) {
        step = PATTERNS - 1; /* each pattern still occurs in each place */
        rounds /= 4;
    }
    seen = shmem_malloc((size_t)n_pes * rounds);
    tokens = shmem_malloc(n_pes * sizeof *tokens);
    RUN(model_heap, "every routine, every pair of operands, heap");
    RUN(model_ctx_static, "every routine with SHMEM_CTX_DEFAULT, static data");
    RUN(counts, "all PEs count on one word, every type");
    RUN(swaps, "all PEs swap tokens, every type");
    if (n_pes <= 31)
        RUN(bits, "all PEs flip a bit each, every type");
    else
        tap_skip("bits", "there are more PEs than bits in the narrowest word");
    shmem_finalize();
    return tap_end();
}
