/*
 * doorbell.c - the doorbells of a node: futex words, and the words that sleepers await.
 *
 *   word (shared)    written by                      read by    order
 *   counts           announce, retract: fetch-add    ringers    relaxed; see E3
 *   watchers[w]      announce, retract: fetch-or     ringers    relaxed; a bit for each PE that awaits a word
 *   bell.word        sleepers: fetch-or ARMED;       all        F1, F2
 *                    ringers: compare-swap, + 1
 *   bell.off, .seen  the PE's sleepers, before F1    ringers    relaxed; a stale pair leads to F1's other case
 *
 * E1  The sleeper arms, then checks its condition; a ringer stores, then looks whether the doorbell is armed. F1 and F2, a
 *     fence each (on ARM64 a load may pass even a sequentially consistent update before it), order both pairs, so the
 *     sleeper finds the store, or the ringer finds the doorbell armed, with the sleeper's off and seen.
 * E2  A ring adds 1 to the armed word, so a sleeper that sleeps only on the value which it armed cannot sleep after it, even
 *     if another thread of its PE has armed the doorbell again.
 * E3  A ringer reads counts before its fence, to pay for none while all are awake: it may read them while its store is still
 *     in its store buffer. So a sleeper's first sleep after the announcement is short and without the doorbell: by the
 *     check after it, that store has arrived.
 * Checked by test/model/doorbell.pml, which must fail when one of these is missing.
 */
#include "host/net/node/doorbell.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/util/spin.h"

static const uint32_t ARMED = 1;

struct bell {
    _Alignas(SHI_LINE_BYTES) uint32_t word; /* ARMED, and twice the number of rings */
    uint64_t off, seen;
};

static const struct shi_doorbell_counts no_counts;
const struct shi_doorbell_counts *shi_doorbell_counts = &no_counts;

/* The node's: a line of counts, watchers, then bells. */
static struct shi_doorbell_counts *counts;
static uint64_t *watchers;
static struct bell *bells;
static int n, me;
static const char *base;

/* This PE's announced threads, and those that await words. */
static uint8_t lock;
static uint32_t n_threads, n_words;

static size_t watchers_bytes(int pes)
{
    return shi_round_up((size_t)(pes + 63) / 64 * sizeof *watchers, SHI_LINE_BYTES);
}

size_t shi_doorbell_bytes(int pes)
{
    return SHI_LINE_BYTES + watchers_bytes(pes) + (size_t)pes * sizeof(struct bell);
}

void shi_doorbell_up(void *memory, int pes, int rank, const char *file)
{
    counts = memory;
    watchers = (uint64_t *)((char *)memory + SHI_LINE_BYTES);
    bells = (struct bell *)((char *)watchers + watchers_bytes(pes));
    n = pes;
    me = rank;
    base = file;
    shi_doorbell_counts = counts;
}

void shi_doorbell_leave(void)
{
    shi_doorbell_counts = &no_counts;
    counts = NULL;
    watchers = NULL;
    bells = NULL;
    base = NULL;
    n = me = 0;
    n_threads = n_words = 0;
}

/* ---- sleeping ----------------------------------------------------------------------------------------------------- */

static uint64_t look(uint64_t off)
{
    return __atomic_load_n((const uint64_t *)(base + (off & ~7ull)), __ATOMIC_RELAXED);
}

/* Threads that await several words share ANY_WORD. */
static void announce_word(uint64_t off)
{
    __atomic_store_n(&bells[me].off, n_words++ ? SHI_DOORBELL_ANY_WORD : off, __ATOMIC_RELAXED);
    __atomic_fetch_or(&watchers[me / 64], 1ull << me % 64, __ATOMIC_RELAXED);
    __atomic_fetch_add(&counts->words, 1, __ATOMIC_RELAXED);
}

static void retract_word(void)
{
    __atomic_fetch_sub(&counts->words, 1, __ATOMIC_RELAXED);
    if (--n_words)
        return;
    __atomic_fetch_and(&watchers[me / 64], ~(1ull << me % 64), __ATOMIC_RELAXED);
    __atomic_store_n(&bells[me].off, SHI_DOORBELL_NO_WORD, __ATOMIC_RELAXED);
}

int shi_doorbell_announce(uint64_t off)
{
    if (!bells)
        return 0;
    shi_spin_lock(&lock);
    n_threads++;
    if (off != SHI_DOORBELL_NO_WORD)
        announce_word(off);
    __atomic_fetch_add(&counts->threads, 1, __ATOMIC_RELAXED);
    shi_spin_unlock(&lock);
    return 1;
}

void shi_doorbell_retract(uint64_t off)
{
    shi_spin_lock(&lock);
    __atomic_fetch_sub(&counts->threads, 1, __ATOMIC_RELAXED);
    if (off != SHI_DOORBELL_NO_WORD)
        retract_word();
    if (--n_threads == 0) /* no ringer has to enter the kernel for it */
        __atomic_fetch_and(&bells[me].word, ~ARMED, __ATOMIC_RELAXED);
    shi_spin_unlock(&lock);
}

uint32_t shi_doorbell_arm(uint64_t off)
{
    struct bell *b = &bells[me];
    if (off > SHI_DOORBELL_ANY_WORD && __atomic_load_n(&b->off, __ATOMIC_RELAXED) == off)
        __atomic_store_n(&b->seen, look(off), __ATOMIC_RELAXED);
    uint32_t armed = __atomic_fetch_or(&b->word, ARMED, __ATOMIC_RELAXED) | ARMED;
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* F1 */
    return armed;
}

int shi_doorbell_sleep(uint32_t armed, uint64_t ns)
{
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    return syscall(SYS_futex, &bells[me].word, FUTEX_WAIT, armed, &t, NULL, 0) == 0 || errno != ETIMEDOUT;
}

/* ---- ringing ------------------------------------------------------------------------------------------------------ */

static int has_changed(const struct bell *b)
{
    uint64_t off = __atomic_load_n(&b->off, __ATOMIC_RELAXED);
    return off == SHI_DOORBELL_ANY_WORD ||
           (off != SHI_DOORBELL_NO_WORD && look(off) != __atomic_load_n(&b->seen, __ATOMIC_RELAXED));
}

static void ring(struct bell *b)
{
    uint32_t w = __atomic_load_n(&b->word, __ATOMIC_RELAXED);
    while (w & ARMED)
        if (__atomic_compare_exchange_n(&b->word, &w, w + 1, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            syscall(SYS_futex, &b->word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
            return;
        }
}

void shi_doorbell_ring_pe_now(int rank)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* F2 */
    if (rank >= 0)
        ring(&bells[rank]);
}

void shi_doorbell_ring_own_now(void)
{
    shi_doorbell_ring_pe_now(me);
}

static void ring_if_changed(struct bell *b)
{
    if (__atomic_load_n(&b->word, __ATOMIC_RELAXED) & ARMED && has_changed(b))
        ring(b);
}

void shi_doorbell_ring_word_now(int rank)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* F2 */
    if (rank >= 0)
        ring_if_changed(&bells[rank]);
}

void shi_doorbell_ring_words_now(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST); /* F2 */
    for (int w = 0; w < (n + 63) / 64; w++)
        for (uint64_t some = __atomic_load_n(&watchers[w], __ATOMIC_RELAXED); some; some &= some - 1)
            ring_if_changed(&bells[w * 64 + __builtin_ctzll(some)]);
}
