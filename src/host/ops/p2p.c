/* p2p.c - wait for, or test, words that other PEs update; every load is an acquire. */
#include "host/ops/p2p.h"

#include "host/net/node/progress.h"
#include "host/ops/address.h"
#include "host/ops/caller.h"
#include "host/ops/dheap.h"
#include "host/ops/span.h"
#include "host/ops/wait.h"
#include "host/util/log.h"
#include "host/util/tsan.h"

static const uint64_t sign = 1ull << 63;

static inline size_t width(enum shi_word k)
{
    return k < SHI_S32 ? 2 : k < SHI_S64 ? 4 : 8;
}

/* The word, mapped so that unsigned comparison orders it as its type does. */
static inline uint64_t load(enum shi_word k, const void *p)
{
    switch (k) {
    case SHI_S16: return (uint64_t)(int64_t)__atomic_load_n((const int16_t *)p, __ATOMIC_ACQUIRE) ^ sign;
    case SHI_U16: return __atomic_load_n((const uint16_t *)p, __ATOMIC_ACQUIRE);
    case SHI_S32: return (uint64_t)(int64_t)__atomic_load_n((const int32_t *)p, __ATOMIC_ACQUIRE) ^ sign;
    case SHI_U32: return __atomic_load_n((const uint32_t *)p, __ATOMIC_ACQUIRE);
    case SHI_S64: return (uint64_t)__atomic_load_n((const int64_t *)p, __ATOMIC_ACQUIRE) ^ sign;
    default: return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
    }
}

uint64_t shi_p2p_bits(enum shi_word k, const void *p)
{
    return load(k, p) ^ (k % 2 ? 0 : sign);
}

/* The same of a word to wait for, which may be in device memory: a copy of the device comes after the data that another
 * agent's copies brought before the word. */
static inline uint64_t load_awaited(const char *routine, enum shi_word k, const void *p)
{
    uint64_t copy = 0;
    if (shi_likely(!shi_dheap_hides(p, width(k))))
        return load(k, p);
    shi_dheap_copy(routine, &copy, p, width(k));
    return load(k, &copy);
}

uint64_t shi_p2p_fetch_signal(const char *routine, const uint64_t *sig)
{
    uint64_t now = load_awaited(routine, SHI_U64, sig);
    shi_tsan_acquire();
    if (shi_unlikely(shi_wait_rules.tests)) {
        static _Thread_local struct { const uint64_t *sig; uint64_t value; } last;
        shi_wait_tested(sig != last.sig || now != last.value); /* a fetch that brings nothing new is a failed test */
        last.sig = sig;
        last.value = now;
    }
    return now;
}

static inline int holds(uint64_t a, int cmp, uint64_t b)
{
    switch (cmp) {
    case SHMEM_CMP_EQ: return a == b;
    case SHMEM_CMP_NE: return a != b;
    case SHMEM_CMP_GT: return a > b;
    case SHMEM_CMP_LE: return a <= b;
    case SHMEM_CMP_LT: return a < b;
    default: return a >= b;
    }
}

static void check(const struct shi_cond *c)
{
    shi_need_up(c->routine);
    if (c->cmp < SHMEM_CMP_EQ || c->cmp > SHMEM_CMP_LE)
        shi_die(c->routine, "cmp = %d is not a SHMEM_CMP_ operator", c->cmp);
    const struct shi_peer *me = &shi_world.peer[shi_world.pe];
    size_t bytes = c->n <= SIZE_MAX / 8 ? c->n * width(c->word) : SIZE_MAX;
    if (shi_unlikely(shi_world.check))
        shi_caller_check(c->routine);
    if (shi_unlikely(bytes && !shi_reach(me, c->ivars, bytes) && !shi_dheap_hides(c->ivars, bytes)))
        shi_die(c->routine, "ivar = %p, %zu elements, is not symmetric (pe = %d)", c->ivars, c->n, shi_world.pe);
    shi_check_block(c->routine, "ivar", c->ivars, bytes, shi_world.pe);
}

static void check_wait(const struct shi_cond *c)
{
    shi_wait_allow(c->routine);
    check(c);
}

static inline int excluded(const struct shi_cond *c, size_t i)
{
    return c->status && c->status[i];
}

/* Does word i satisfy the condition? *now: what it holds, mapped as above. */
static inline int satisfied(const struct shi_cond *c, size_t i, uint64_t *now)
{
    size_t w = width(c->word);
    uint64_t value = load(c->word, (const char *)c->values + (c->vector ? i * w : 0));
    return holds(*now = load_awaited(c->routine, c->word, (const char *)c->ivars + i * w), c->cmp, value);
}

/* For SHMEM_TRACE: word i has ended the wait, with this value. */
static inline void ended_by(struct shi_span *s, const struct shi_cond *c, size_t i, uint64_t now)
{
    shi_span_ended_by(s, (const char *)c->ivars + i * width(c->word), width(c->word), now ^ (c->word % 2 ? 0 : sign));
}

/* For reports: a wait for the words from i on. */
#define FOR_WORDS(i, count)                                                                                          \
    .routine = c->routine, .kind = SHI_FOR_WORDS, .word = (int)c->word, .cmp = c->cmp,                               \
    .addr = (const char *)c->ivars + (i) * width(c->word), .n = (count),                                             \
    .value = shi_p2p_bits(c->word, (const char *)c->values + (c->vector ? (i) * width(c->word) : 0))

/* A wait for a word may never end, so its thread can be cancelled. */
static void cancelled(void *span)
{
    struct shi_span *s = span;
    s->began_ns = 0;
    shi_span_end(s);
}

/* When this thread's waits return though their condition is false; 0: never. */
static _Thread_local uint64_t limit_ns;

void shi_p2p_limit(uint64_t ns)
{
    limit_ns = ns ? shi_now_ns() + ns : 0;
}

static inline void step(struct shi_wait *w, struct shi_span *s, int *late)
{
    if (shi_likely(shi_wait_relax(w)))
        return;
    shi_wait_slow_or_end(w, cancelled, s);
    *late = shi_unlikely(limit_ns != 0) && shi_now_ns() >= limit_ns;
}

/* late: set when the limit, or the failure of a PE, has ended the wait. */
#define STEP(W) step(W, &span, &late)
#define WAIT_UNTIL(CONDITION, ...) SHI_WAIT_LOOP_OR(STEP, (CONDITION) || late || shi_span_in_vain(&span), late = 1, __VA_ARGS__)

static int all_excluded(const struct shi_cond *c)
{
    for (size_t i = 0; i < c->n; i++)
        if (!excluded(c, i))
            return 0;
    return 1;
}

void shi_p2p_wait(const struct shi_cond *c)
{
    check_wait(c);
    SHI_SPAN(span, SHI_WAITS, c->routine, NULL, SHI_TO_NONE, 0);
    uint64_t value = load(c->word, c->values), now;
    int late = 0;
    WAIT_UNTIL(holds(now = load_awaited(c->routine, c->word, c->ivars), c->cmp, value), FOR_WORDS(0, 1));
    if (shi_likely(!late))
        ended_by(&span, c, 0, now);
}

uint64_t shi_p2p_wait_signal(const char *routine, const uint64_t *sig, int cmp, uint64_t value)
{
    check_wait(&(struct shi_cond){.routine = routine, .ivars = sig, .n = 1, .cmp = cmp, .word = SHI_U64});
    SHI_SPAN(span, SHI_WAITS, routine, NULL, SHI_TO_NONE, 0);
    uint64_t now;
    int late = 0;
    WAIT_UNTIL(holds(now = load_awaited(routine, SHI_U64, sig), cmp, value), .routine = routine, .kind = SHI_FOR_WORDS, .word = SHI_U64,
               .cmp = cmp, .addr = sig, .n = 1, .value = value);
    if (shi_likely(!late))
        shi_span_ended_by(&span, sig, sizeof *sig, now);
    return now;
}

/* The result of a test: passed. */
static inline int tested(int passed)
{
    if (passed)
        shi_tsan_acquire();
    return shi_wait_tested(passed);
}

int shi_p2p_test(const struct shi_cond *c)
{
    uint64_t now;
    check(c);
    return tested(satisfied(c, 0, &now) || (shi_progress() && satisfied(c, 0, &now)));
}

static int all_satisfied(const struct shi_cond *c)
{
    uint64_t now;
    for (size_t i = 0; i < c->n; i++)
        if (!excluded(c, i) && !satisfied(c, i, &now))
            return 0;
    return 1;
}

/* Fair: the search starts behind the last one found, so that no word starves. */
static size_t any_satisfied(const struct shi_cond *c, uint64_t *now)
{
    static _Thread_local size_t turn;
    size_t start = c->n ? turn % c->n : 0;
    for (size_t k = 0; k < c->n; k++) {
        size_t i = start + k < c->n ? start + k : start + k - c->n;
        if (!excluded(c, i) && satisfied(c, i, now)) {
            turn = i + 1;
            return i;
        }
    }
    return SIZE_MAX;
}

static inline void see(const struct shi_cond *c, size_t i, uint64_t now)
{
    if (c->seen)
        c->seen[i] = now;
}

/* *now: what the first of them holds. */
static size_t some_satisfied(const struct shi_cond *c, size_t *indices, uint64_t *now)
{
    size_t n = 0;
    uint64_t other;
    for (size_t i = 0; i < c->n; i++)
        if (!excluded(c, i) && satisfied(c, i, n ? &other : now)) {
            see(c, n, n ? other : *now);
            indices[n++] = i;
        }
    return n;
}

/* A word that held once counts, even if it changes while the others are awaited. */
void shi_p2p_wait_all(const struct shi_cond *c)
{
    check_wait(c);
    SHI_SPAN(span, SHI_WAITS, c->routine, NULL, SHI_TO_NONE, 0);
    uint64_t now;
    int late = 0;
    for (size_t i = 0; i < c->n && !late; i++) {
        if (excluded(c, i))
            continue;
        uint64_t false_ns = span.began_ns ? span.false_ns : 0;
        WAIT_UNTIL(satisfied(c, i, &now), FOR_WORDS(i, 1));
        see(c, i, now);
        if (span.began_ns && span.false_ns != false_ns && !late) /* the last word that was awaited ended the wait */
            ended_by(&span, c, i, now);
    }
}

size_t shi_p2p_wait_any(const struct shi_cond *c)
{
    check_wait(c);
    if (all_excluded(c))
        return SIZE_MAX;
    SHI_SPAN(span, SHI_WAITS, c->routine, NULL, SHI_TO_NONE, 0);
    size_t i;
    uint64_t now;
    int late = 0;
    WAIT_UNTIL((i = any_satisfied(c, &now)) != SIZE_MAX, FOR_WORDS(0, c->n));
    if (shi_likely(!late)) {
        see(c, 0, now);
        ended_by(&span, c, i, now);
    }
    return i;
}

size_t shi_p2p_wait_some(const struct shi_cond *c, size_t *indices)
{
    check_wait(c);
    if (all_excluded(c))
        return 0;
    SHI_SPAN(span, SHI_WAITS, c->routine, NULL, SHI_TO_NONE, 0);
    size_t n;
    uint64_t now;
    int late = 0;
    WAIT_UNTIL((n = some_satisfied(c, indices, &now)) != 0, FOR_WORDS(0, c->n));
    if (shi_likely(!late))
        ended_by(&span, c, indices[0], now);
    return n;
}

int shi_p2p_test_all(const struct shi_cond *c)
{
    check(c);
    shi_progress(); /* programs test in loops */
    return tested(all_satisfied(c));
}

size_t shi_p2p_test_any(const struct shi_cond *c)
{
    uint64_t now;
    check(c);
    shi_progress();
    size_t i = any_satisfied(c, &now);
    tested(i != SIZE_MAX);
    return i;
}

size_t shi_p2p_test_some(const struct shi_cond *c, size_t *indices)
{
    uint64_t now;
    check(c);
    shi_progress();
    size_t n = some_satisfied(c, indices, &now);
    tested(n != 0);
    return n;
}
