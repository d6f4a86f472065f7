/*
 * soak.h - declarations that the files of the soak test share.
 *
 * The soak test runs random operations against an oracle. Every random choice comes from dice(), a hash of the seed,
 * the step, the PE, the thread and the operation's number. So each PE can compute what any other PE has done to its
 * memory in a step, and compares. A step: each thread issues operations, waits for signals, exchanges messages and so
 * on; all contexts call quiet; a barrier; each PE verifies; a barrier.
 *
 * Each byte that threads write has one writer: thread t of PE p writes only its own area at each PE, in plane t.
 */
#ifndef SOAK_H
#define SOAK_H

#include <shmemx.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MAX_PES = 32,
    MAX_THREADS = 8,
    PATTERN_BYTES = 2 << 20, /* of each PE: the source of all data */
    AREA_BYTES = 3 << 19,    /* per writer and PE */
    WORDS = 16,              /* atomics: per kind and width */
    SLOTS = 4,               /* data with a signal: per writer and PE */
    SLOT_BYTES = 32 << 10,
    VIA_BYTES = 256 << 10,   /* the same through a third PE: quiet must also wait for long writes */
    PENDING = 32             /* nonblocking gets and fetches that one thread has under way */
};

struct soak {
    uint64_t seed, step;
    size_t longest;
    int me, n, threads, stop, kernels;
    char *pattern[MAX_PES]; /* the data that PE p sends; read only */
    char *constant;         /* symmetric: pattern[me] */
};
extern struct soak soak;

/* Symmetric memory of one thread number. */
struct plane {
    char *area;                    /* n * AREA_BYTES, by writer */
    char *slot;                    /* n * SLOTS * SLOT_BYTES, by writer */
    char *via;                     /* n * n * SLOTS * VIA_BYTES, by writer, then by signalled PE */
    uint64_t *sig;                 /* n * SLOTS, by writer */
    uint64_t *own64, *sum64, *xor64; /* own: n * WORDS, by writer; sum and xor: WORDS for all writers */
    uint32_t *own32, *sum32, *xor32;
    char *in;                      /* destination of gets: AREA_BYTES */
};

/* A copy of `count` blocks of `block` elements of `elem` bytes; strides in elements. */
struct shape {
    size_t elem, block, count;
    ptrdiff_t dst, sst;
};

/* One operation of the stream. */
struct op {
    uint64_t k, value, cond; /* k: its number in the step */
    struct shape shape;
    size_t to, from;         /* offsets in bytes */
    int kind, pe;
    int wraps;               /* a put that restarts at the area's begin: 0 no, 1 after a fence, 2 after a quiet */
    struct over {            /* a second put over the first, after a fence; bytes 0: none */
        size_t bytes, to, from;
        int nbi;
    } over;
    int what, word, wide, own;
    int spin;                /* selects one of several equivalent calls */
};

/* A writer's position in its area at one PE, and the range that a get may read: [low, high). */
struct reach {
    size_t cursor, low, high;
    int wrapped;
};

struct words {
    uint64_t own64[WORDS], own32[WORDS], sum64[WORDS], sum32[WORDS], xor64[WORDS], xor32[WORDS];
};

struct pending {
    uint64_t got64, want, k;
    uint32_t got32;
    int kind; /* 0: a fetch of an unknown value, 1: a get, 2: fetch of 8 bytes, 3: fetch of 4 bytes */
    struct op op;
    char *buffer;
};

struct worker {
    int id;
    shmem_ctx_t ctx;
    struct plane at;
    char *sent, *due;           /* n * AREA_BYTES: expected: this PE's area at each PE, each writer's here */
    struct reach to[MAX_PES], by[MAX_PES];
    struct words out[MAX_PES];  /* own words at each PE after the last operation; the sums are unused */
    struct words here[MAX_PES]; /* each writer's effect on this PE's words: own words now, sums since the start */
    uint64_t settled64[MAX_PES][WORDS], settled32[MAX_PES][WORDS]; /* the order that an own word still requires */
    uint64_t fences, quiets;
    int session;                /* the context is in a session */
    struct pending pending[PENDING];
    int n_pending;
    char *in, *want;            /* for gets: AREA_BYTES each */
    uint64_t signalled[MAX_PES][SLOTS]; /* the last signal sent */
    struct due_slot {
        int nth, pe, i;
    } slots[MAX_PES * SLOTS];
    int n_slots;
    uint64_t ops, k;            /* operations so far; number of the current one */
    const char *doing;
};

/* ---- dice ------------------------------------------------------------------------------------------------------- */

struct dice {
    uint64_t state;
};

static inline uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/* The dice of thread `thread` of PE pe, for purpose `what` and number k. */
static inline struct dice dice(int what, int pe, int thread, uint64_t k)
{
    uint64_t who = (uint64_t)what << 32 | (uint64_t)pe << 16 | (uint64_t)thread;
    return (struct dice){mix(mix(mix(soak.seed) ^ soak.step) ^ mix(who ^ mix(k)))};
}

static inline uint64_t any(struct dice *d)
{
    return d->state = mix(d->state);
}

/* 0 .. n-1 */
static inline size_t roll(struct dice *d, size_t n)
{
    return (size_t)((any(d) >> 32) * (uint64_t)n >> 32);
}

enum { ROLL_OP = 1, ROLL_SLOT, ROLL_STEP, ROLL_TEAM, ROLL_COLL, ROLL_LOCK, ROLL_TAG, ROLL_GPC, ROLL_HEAP, ROLL_HERE };

/* 1 .. most bytes: mostly short lengths, often close to a power of two. */
size_t soak_length(struct dice *d, size_t most);

/* ---- failures ---------------------------------------------------------------------------------------------------- */

/* Print one line with the seed, the step and the text of `format`; end the job. */
_Noreturn void soak_fail(const struct worker *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* End the job unless got[bytes] is want[bytes]. */
void soak_same(const struct worker *w, const char *what, uint64_t k, const void *got, const void *want, size_t bytes);

/* ---- the parts --------------------------------------------------------------------------------------------------- */

/* Called once for each worker. */
void soak_rma_up(struct worker *w);
void soak_amo_up(struct worker *w);
void soak_sig_up(struct worker *w);

/* soak_rma.c: the operations of a step; check of all writers' effects on this PE's memory; completion. */
void soak_rma_issue(struct worker *w);
void soak_rma_verify(struct worker *w);
void soak_quiet(struct worker *w);
void soak_copy(char *to, const char *from, const struct shape *s);

/* soak_amo.c */
void soak_amo_make(struct dice *d, struct op *op);
void soak_amo_issue(struct worker *w, const struct op *op);
void soak_amo_replay(struct worker *w, int writer, const struct op *op);
void soak_amo_settle(struct worker *w);
void soak_amo_verify(struct worker *w);       /* own words */
void soak_amo_verify_sums(struct worker *all); /* words of all threads */

/* soak_sig.c */
void soak_sig_issue(struct worker *w, int nth, int of);
void soak_sig_await(struct worker *w);

/* soak_msg.c: tagged messages and global procedure calls */
void soak_msg_up(void);
void soak_tag(struct worker *w);
void soak_gpc(struct worker *w);
void soak_gpc_verify(struct worker *w);

/* soak_coll.c, by thread 0: teams, collectives, locks, the heap */
void soak_coll_up(struct worker *w);
void soak_coll(struct worker *w);
void soak_lock(struct worker *w);
void soak_lock_verify(struct worker *w);

/* soak_kernel.c: operations of kernels; no effect without soak.kernels */
void soak_kernel_up(struct worker *w);
void soak_kernel(struct worker *w);

#endif
