/*
 * soak_sig.c - data with a signal: every way to put data before a signal, and every way to wait for words.
 *
 * Each writer has SLOTS slots at each PE, with a signal each, which is set to the number of the step. VIA puts the data
 * at a third PE, from which the signalled PE gets it: only quiet makes that correct.
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"

enum { SIGNAL_SET, SIGNAL_ADD, SIGNAL_NBI, FENCE_P, FENCE_SET, FENCE_ADD, QUIET_SET, VIA, WAYS };
static const char *const way_name[] = {"put_signal", "put_signal, adding", "put_signal_nbi", "put, fence, p",
                                       "put_nbi, fence, atomic_set", "iput, fence, signal_add",
                                       "put_nbi, quiet, signal_set", "put to another PE, quiet, signal_set"};

struct slot {
    int used, way, via;
    size_t bytes, from;
};

void soak_sig_up(struct worker *w)
{
    size_t n = (size_t)soak.n;
    w->at.slot = shmem_calloc(n * SLOTS, SLOT_BYTES);
    w->at.via = shmem_calloc(n * n * SLOTS, VIA_BYTES);
    w->at.sig = shmem_calloc(n * SLOTS, sizeof *w->at.sig);
}

static struct slot slot_of(int writer, int thread, int pe, int i)
{
    struct dice d = dice(ROLL_SLOT, writer, thread, (uint64_t)pe * SLOTS + (uint64_t)i);
    struct slot s = {.used = roll(&d, 3) == 0, .way = (int)roll(&d, WAYS), .via = (int)roll(&d, (size_t)soak.n)};
    s.bytes = soak_length(&d, SLOT_BYTES) & ~(size_t)1; /* iput copies pairs */
    if (roll(&d, 2)) /* long ones take another path than the signal */
        s.bytes = roll(&d, s.way == VIA ? VIA_BYTES : SLOT_BYTES) & ~(size_t)1;
    s.from = roll(&d, PATTERN_BYTES - VIA_BYTES) & ~(size_t)1;
    return s;
}

static void issue(struct worker *w, int pe, int i)
{
    struct slot s = slot_of(soak.me, w->id, pe, i);
    size_t at = (size_t)soak.me * SLOTS + (size_t)i;
    char *to = w->at.slot + at * SLOT_BYTES;
    char *via = w->at.via + (((size_t)soak.me * (size_t)soak.n + (size_t)pe) * SLOTS + (size_t)i) * VIA_BYTES;
    const char *from = soak.pattern[soak.me] + s.from;
    uint64_t *sig = &w->at.sig[at], before = w->signalled[pe][i];
    w->signalled[pe][i] = soak.step;
    switch (s.way) {
    case SIGNAL_SET: shmem_ctx_putmem_signal(w->ctx, to, from, s.bytes, sig, soak.step, SHMEM_SIGNAL_SET, pe); break;
    case SIGNAL_ADD:
        shmem_ctx_putmem_signal(w->ctx, to, from, s.bytes, sig, soak.step - before, SHMEM_SIGNAL_ADD, pe);
        break;
    case SIGNAL_NBI: shmem_ctx_putmem_signal_nbi(w->ctx, to, from, s.bytes, sig, soak.step, SHMEM_SIGNAL_SET, pe); break;
    case FENCE_P:
        shmem_ctx_putmem(w->ctx, to, from, s.bytes, pe);
        shmem_ctx_fence(w->ctx);
        shmem_ctx_uint64_p(w->ctx, sig, soak.step, pe);
        break;
    case FENCE_SET:
        shmem_ctx_putmem_nbi(w->ctx, to, from, s.bytes, pe);
        shmem_ctx_fence(w->ctx);
        shmem_ctx_uint64_atomic_set(w->ctx, sig, soak.step, pe);
        break;
    case FENCE_ADD:
        shmem_ctx_iput16(w->ctx, to, from, 1, 1, s.bytes / 2, pe);
        shmem_ctx_fence(w->ctx);
        shmem_ctx_signal_add(w->ctx, sig, soak.step - before, pe);
        break;
    case QUIET_SET:
        shmem_ctx_putmem_nbi(w->ctx, to, from, s.bytes, pe);
        soak_quiet(w);
        shmem_ctx_signal_set(w->ctx, sig, soak.step, pe);
        break;
    default:
        shmem_ctx_putmem_nbi(w->ctx, via, from, s.bytes, s.via);
        for (size_t k = s.bytes % 64; k > 0; k--) /* answers to other PEs leave meanwhile */
            shmem_signal_fetch(sig);
        soak_quiet(w);
        shmem_ctx_signal_set(w->ctx, sig, soak.step, pe);
    }
    w->ops++;
}

/* Choose this step's slots, each at a random position in the sequence of `of` operations; issue those of position
 * nth. */
void soak_sig_issue(struct worker *w, int nth, int of)
{
    if (nth == 0) {
        struct dice d = dice(ROLL_HERE, soak.me, w->id, 1);
        w->n_slots = 0;
        for (int pe = 0; pe < soak.n; pe++)
            for (int i = 0; i < SLOTS; i++)
                if (slot_of(soak.me, w->id, pe, i).used)
                    w->slots[w->n_slots++] = (struct due_slot){(int)roll(&d, (size_t)of + 1), pe, i};
    }
    for (int i = 0; i < w->n_slots; i++)
        if (w->slots[i].nth == nth)
            issue(w, w->slots[i].pe, w->slots[i].i);
}

/* ---- waiting ------------------------------------------------------------------------------------------------------ */

/* Check the data of signal `at`, which is here or at the third PE. */
static void arrived(struct worker *w, size_t at)
{
    int writer = (int)(at / SLOTS), i = (int)(at % SLOTS);
    struct slot s = slot_of(writer, w->id, soak.me, i);
    const char *data = w->at.slot + at * SLOT_BYTES;
    char what[80];
    if (s.way == VIA) {
        size_t via = ((size_t)writer * (size_t)soak.n + (size_t)soak.me) * SLOTS + (size_t)i;
        memset(w->in, 0x5a, s.bytes);
        shmem_ctx_getmem(w->ctx, w->in, w->at.via + via * VIA_BYTES, s.bytes, s.via);
        data = w->in;
    }
    snprintf(what, sizeof what, "the data of PE %d before a signal (%s)", writer, way_name[s.way]);
    soak_same(w, what, at, data, soak.pattern[writer] + s.from, s.bytes);
}

/* Wait for one of the words, in one of several ways; return its index. */
static size_t one_of(struct worker *w, struct dice *d, size_t n, const int *status, const uint64_t *values)
{
    size_t at;
    switch (roll(d, 4)) {
    case 0: return shmem_uint64_wait_until_any(w->at.sig, n, status, SHMEM_CMP_EQ, soak.step);
    case 1: return shmem_uint64_wait_until_any_vector(w->at.sig, n, status, SHMEM_CMP_GE, values);
    case 2:
        while ((at = shmem_uint64_test_any(w->at.sig, n, status, SHMEM_CMP_EQ, soak.step)) == SIZE_MAX)
            ;
        return at;
    default:
        for (at = 0; status[at]; at++)
            ;
        if (roll(d, 2))
            shmem_signal_wait_until(&w->at.sig[at], SHMEM_CMP_EQ, soak.step);
        else
            shmem_uint64_wait_until(&w->at.sig[at], SHMEM_CMP_GT, soak.step - 1);
        return at;
    }
}

static void await_some(struct worker *w, struct dice *d, size_t n, int *status, const uint64_t *values, size_t left)
{
    size_t found[MAX_PES * SLOTS], n_found;
    while (left) {
        switch (roll(d, 4)) {
        case 0: n_found = shmem_uint64_wait_until_some(w->at.sig, n, found, status, SHMEM_CMP_EQ, soak.step); break;
        case 1: n_found = shmem_uint64_wait_until_some_vector(w->at.sig, n, found, status, SHMEM_CMP_EQ, values); break;
        case 2: n_found = shmem_uint64_test_some(w->at.sig, n, found, status, SHMEM_CMP_EQ, soak.step); break;
        default:
            n_found = 1;
            found[0] = one_of(w, d, n, status, values);
        }
        for (size_t i = 0; i < n_found; i++) {
            if (found[i] >= n || status[found[i]])
                soak_fail(w, "a wait returned word %zu, which its status excludes", found[i]);
            status[found[i]] = 1;
            arrived(w, found[i]);
        }
        left -= n_found;
    }
}

void soak_sig_await(struct worker *w)
{
    struct dice d = dice(ROLL_HERE, soak.me, w->id, 2);
    size_t n = (size_t)soak.n * SLOTS, left = 0;
    int status[MAX_PES * SLOTS];
    uint64_t values[MAX_PES * SLOTS];
    w->doing = "waiting for signals";
    for (size_t at = 0; at < n; at++) {
        status[at] = !slot_of((int)(at / SLOTS), w->id, soak.me, (int)(at % SLOTS)).used;
        values[at] = status[at] ? UINT64_MAX : soak.step;
        left += !status[at];
    }
    if (roll(&d, 3)) {
        await_some(w, &d, n, status, values, left);
        return;
    }
    if (roll(&d, 2))
        shmem_uint64_wait_until_all(w->at.sig, n, status, SHMEM_CMP_EQ, soak.step);
    else
        shmem_uint64_wait_until_all_vector(w->at.sig, n, status, SHMEM_CMP_EQ, values);
    for (size_t at = 0; at < n; at++)
        if (!status[at])
            arrived(w, at);
}
