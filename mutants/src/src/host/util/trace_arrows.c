/*
 * trace_arrows.c - find, in the parts of a trace, the call that ended a wait: an arrow is right or absent.
 *
 * A call changes the word at some time between its start and its end, over the network at some time after its start. A PE executes a
 * full fence before it takes the time of a call's end, because stores may become visible later than that, and after it has taken the
 * time of a wait's look. A wait has read the word's value between the last time at which it did not satisfy (or the wait's start)
 * and its end. So a call can have ended a wait unless
 *   - it started after the wait had ended, or had certainly changed the word before that last time: by the clocks, which for two
 *     nodes have an error, or because a barrier of all PEs lies between;
 *   - it wrote another value than the wait has read;
 *   - another call certainly changed the word later, and before the wait read it.
 * Where one call remains, and it has ended no earlier wait, there is an arrow. A call that has an arrow had changed the word by the end
 * of that wait. Calls that the trace lost could be others, so waits of that time have no arrow. Stores that are no calls of the library
 * (by kernels, or through shmem_ptr) are not in the trace: a wait in the device heap, where kernels store, has an arrow only if its word
 * did not satisfy it at first.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/util/trace_join.h"

enum { LONGEST_SEARCH = 1000 }; /* calls that are looked at for one wait; beyond, there is no arrow */

/* A word of a PE that a wait of it has named. */
struct word {
    int pe;
    uint64_t place;
};

/* A call that may have changed the word. Times are the trace's, seen from the waiting PE's node. */
struct call {
    size_t word;
    int64_t from_ns, until_ns; /* it changed the word between these */
    uint32_t started_after;    /* so many barriers of all PEs had ended when it started */
    uint32_t done_by;          /* and when this one, counted from 0, ended, it had changed the word */
    uint64_t event, value;
    int part;
    uint8_t bytes, has_value, used; /* used: has an arrow */
};

struct wait {
    size_t word;
    uint64_t event;
};

struct search {
    const struct shi_trace_part *parts;
    int n;
    struct word *words;
    struct wait *waits;
    struct call *calls;
    size_t n_words, n_waits, n_calls, room;
    struct barriers *barriers; /* [n] */
};

/* The barriers of all PEs that a PE called, by its own clock. */
struct barriers {
    uint32_t n;
    struct barrier {
        uint64_t enter_ns, exit_ns;
        int completes; /* the puts before it, too */
    } *at;
};

static int is_wait(const struct shi_trace_event *e)
{
    return shi_trace_is_event(e) && e->family == SHI_WAITS && e->word && e->has_value && e->word_bytes >= 1 && e->word_bytes <= 8;
}

static int compare_words(const void *a, const void *b)
{
    const struct word *x = a, *y = b;
    return x->pe != y->pe ? x->pe < y->pe ? -1 : 1 : (x->place > y->place) - (x->place < y->place);
}

static int compare_calls(const void *a, const void *b)
{
    const struct call *x = a, *y = b;
    return x->word != y->word ? x->word < y->word ? -1 : 1 : (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* The first word of PE pe at or after the place. */
static size_t find_word(const struct search *s, int pe, uint64_t place)
{
    size_t low = 0, high = s->n_words;
    const struct word key = {pe, place};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_words(&s->words[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- collect ------------------------------------------------------------------------------------------------------ */

#define FOR_EVENTS(s, i, k, e)                                                                                       \
    for (int i = 0; i < (s)->n; i++)                                                                                 \
        for (uint64_t k = (s)->parts[i].head ? shi_trace_first((s)->parts[i].head) : 0;                              \
             (s)->parts[i].head && k < (s)->parts[i].head->written; k++)                                             \
            for (const struct shi_trace_event *e = shi_trace_at(&(s)->parts[i], k); e; e = NULL)

static int collect_waits(struct search *s)
{
    size_t n = 0, unique = 0;
    FOR_EVENTS(s, i, k, e)
        n += is_wait(e);
    s->words = malloc((n + 1) * sizeof *s->words);
    s->waits = malloc((n + 1) * sizeof *s->waits);
    if (!s->words || !s->waits)
        return -ENOMEM;
    FOR_EVENTS(s, i, k, e)
        if (is_wait(e))
            s->words[s->n_words++] = (struct word){i, e->word};
    qsort(s->words, s->n_words, sizeof *s->words, compare_words);
    for (size_t w = 0; w < s->n_words; w++)
        if (w == 0 || compare_words(&s->words[w], &s->words[w - 1]))
            s->words[unique++] = s->words[w];
    s->n_words = unique;
    FOR_EVENTS(s, i, k, e)
        if (is_wait(e))
            s->waits[s->n_waits++] = (struct wait){find_word(s, i, e->word), k};
    return 0;
}

static int is_barrier(const struct shi_trace_event *e)
{
    return shi_trace_is_event(e) && e->family == SHI_BARRIERS && (!strcmp(e->name, "shmem_barrier_all") || !strcmp(e->name, "shmem_sync_all"));
}

/* Where events are lost, barriers cannot be counted: then there are none. */
static int collect_barriers(struct search *s)
{
    s->barriers = calloc((unsigned)s->n, sizeof *s->barriers);
    if (!s->barriers)
        return -ENOMEM;
    for (int i = 0; i < s->n; i++)
        if (!s->parts[i].head || shi_trace_first(s->parts[i].head))
            return 0;
    FOR_EVENTS(s, i, k, e)
        s->barriers[i].n += (uint32_t)is_barrier(e);
    for (int i = 0; i < s->n; i++) {
        struct barriers *b = &s->barriers[i];
        b->at = malloc((b->n + 1) * sizeof *b->at);
        b->n = 0;
        if (!b->at)
            return -ENOMEM;
    }
    FOR_EVENTS(s, i, k, e)
        if (is_barrier(e)) {
            struct barriers *b = &s->barriers[i];
            b->at[b->n++] = (struct barrier){e->start_ns, e->start_ns + e->took_ns, !strcmp(e->name, "shmem_barrier_all")};
        }
    return 0;
}

/* How many of them were entered before this time; how many had ended. */
static uint32_t entered(const struct barriers *b, uint64_t ns)
{
    uint32_t low = 0, high = b->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (b->at[middle].enter_ns < ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint32_t ended(const struct barriers *b, uint64_t ns)
{
    uint32_t n = entered(b, ns);
    return n && b->at[n - 1].exit_ns > ns ? n - 1 : n;
}

/* The first barrier after this call that completes it. */
static uint32_t completed_by(const struct barriers *b, const struct shi_trace_event *e)
{
    uint32_t i = entered(b, e->start_ns + e->took_ns);
    while (i < b->n && !b->at[i].completes)
        i++;
    return i < b->n && strncmp(e->name, "shmem_ctx_", 10) ? i : UINT32_MAX; /* contexts have a quiet of their own */
}

/* How wrong the time of a part may be, seen from another. */
static int64_t error_ns(const struct shi_trace_part *p, const struct shi_trace_part *of)
{
    return p->head->node == of->head->node ? 0 : p->error_ns + of->error_ns;
}

static int add_call(struct search *s, size_t w, int part, uint64_t k)
{
    const struct shi_trace_part *p = &s->parts[part], *of = &s->parts[s->words[w].pe];
    const struct shi_trace_event *e = shi_trace_at(p, k);
    if (s->n_calls == s->room) {
        size_t room = s->room ? 2 * s->room : 4096;
        struct call *more = realloc(s->calls, room * sizeof *more);
        if (!more)
            return -ENOMEM;
        s->calls = more;
        s->room = room;
    }
    int64_t error = error_ns(p, of), start = shi_trace_start_ns(p, e);
    int is_done = e->way == SHI_BY_STORES || e->way == SHI_BY_DEVICE || e->thread == SHI_TRACE_REQUESTS; /* at its end */
    s->calls[s->n_calls++] = (struct call){
        .word = w, .event = k, .part = part, .from_ns = start - error,
        .until_ns = is_done ? start + (int64_t)e->took_ns + error : SHI_TRACE_UNKNOWN,
        .started_after = ended(&s->barriers[part], e->start_ns), .done_by = completed_by(&s->barriers[part], e),
        .value = e->value, .bytes = e->word_bytes, .has_value = e->has_value && e->word == s->words[w].place};
    return 0;
}

/* The calls that may have changed an awaited word. Waits are of words of at most 8 bytes. */
static int collect_calls(struct search *s)
{
    int err = 0;
    FOR_EVENTS(s, i, k, e) {
        if (!shi_trace_is_event(e) || e->to < 0 || e->to >= s->n || !s->parts[e->to].head)
            continue;
        size_t w;
        for (w = find_word(s, e->to, e->word > 7 ? e->word - 7 : 0); !err && e->word && w < s->n_words && s->words[w].pe == e->to &&
             s->words[w].place < e->word + e->word_bytes; w++)
            err = add_call(s, w, i, k);
        for (w = find_word(s, e->to, e->at > 7 ? e->at - 7 : 0); !err && e->extent && w < s->n_words && s->words[w].pe == e->to &&
             s->words[w].place < e->at + e->extent; w++)
            if (s->words[w].place != e->word)
                err = add_call(s, w, i, k);
        if (err)
            return err;
    }
    return 0;
}

/* ---- decide ------------------------------------------------------------------------------------------------------- */

/* What a wait has read, and when. */
struct reading {
    int64_t from_ns, until_ns;
    uint64_t value;
    uint8_t bytes;
    int waited; /* the word did not satisfy at from_ns */
    uint32_t ended_before; /* the barrier of all PEs of this number had not been entered at until_ns, nor later ones */
    uint32_t after;        /* so many had ended at from_ns */
};

static struct reading reading_of(const struct shi_trace_part *p, const struct shi_trace_event *e, const struct barriers *b)
{
    uint64_t from = e->false_ns ? e->false_ns : e->start_ns, until = e->start_ns + e->took_ns;
    return (struct reading){(int64_t)from + p->shift_ns, (int64_t)until + p->shift_ns, e->value, e->word_bytes, e->false_ns != 0,
                            b->n ? entered(b, until) : UINT32_MAX, ended(b, from)};
}

/* The call had changed the word when the wait began to read it. */
static int is_before(const struct call *c, const struct reading *r)
{
    return c->until_ns < r->from_ns || c->done_by < r->after;
}

static int may_be(const struct call *c, const struct reading *r)
{
    if (c->started_after > r->ended_before || (r->waited && is_before(c, r)))
        return 0;
    uint64_t unequal = (c->value ^ r->value) << (64 - 8 * r->bytes);
    return !c->has_value || c->bytes != r->bytes || !unequal;
}

/* The only one of the calls up to `last`, which are of one word and in the order of their starts, that the reading can be of. */
static struct call *only_call(struct call *first, struct call *last, const struct reading *r)
{
    struct call *found = NULL;
    int64_t replaced_ns = INT64_MIN; /* what had changed the word before was changed again before it was read */
    uint32_t replaced_after = 0;     /* the same, by the number of barriers */
    int looked = 0;
    for (struct call *c = last; c >= first; c--) {
        if (++looked > LONGEST_SEARCH)
            return NULL;
        if (c->until_ns >= replaced_ns && c->done_by >= replaced_after && may_be(c, r)) {
            if (found)
                return NULL;
            found = c;
        }
        if (!is_before(c, r))
            continue;
        replaced_ns = c->from_ns > replaced_ns ? c->from_ns : replaced_ns;
        replaced_after = c->started_after > replaced_after ? c->started_after : replaced_after;
    }
    return found && !found->used ? found : NULL;
}

/* The time until which parts have lost events, seen from PE pe; INT64_MAX: a part is missing. */
static int64_t lost_until_ns(const struct search *s, int pe)
{
    int64_t until = INT64_MIN;
    for (int i = 0; i < s->n; i++) {
        const struct shi_trace_part *p = &s->parts[i];
        if (!p->head)
            return INT64_MAX;
        if (p->head->written <= p->head->room)
            continue;
        const struct shi_trace_event *e = shi_trace_at(p, shi_trace_first(p->head));
        int64_t end = shi_trace_start_ns(p, e) + (int64_t)e->took_ns + error_ns(p, &s->parts[pe]);
        until = end > until ? end : until;
    }
    return until;
}

static const struct search *sorted; /* for compare_waits; the join has one thread */

static int64_t end_of(const struct wait *w)
{
    const struct shi_trace_part *p = &sorted->parts[sorted->words[w->word].pe];
    const struct shi_trace_event *e = shi_trace_at(p, w->event);
    return shi_trace_start_ns(p, e) + (int64_t)e->took_ns;
}

static int compare_waits(const void *a, const void *b)
{
    const struct wait *x = a, *y = b;
    if (x->word != y->word)
        return x->word < y->word ? -1 : 1;
    int64_t p = end_of(x), q = end_of(y);
    return (p > q) - (p < q);
}

/* The arrows to the waits of one word, whose calls are the n from `first` on. */
static void decide_word(const struct search *s, const struct wait *waits, size_t n_waits, struct call *first, size_t n,
                        int64_t lost_until, void (*each)(void *arg, const struct shi_trace_arrow *a), void *arg)
{
    struct call *end = first;
    const struct word *word = &s->words[waits->word];
    const struct shi_trace_part *p = &s->parts[word->pe];
    for (const struct wait *w = waits; w < waits + n_waits; w++) {
        struct reading r = reading_of(p, shi_trace_at(p, w->event), &s->barriers[word->pe]);
        while (end < first + n && end->from_ns <= r.until_ns)
            end++;
        if (r.from_ns <= lost_until || (!r.waited && word->place >> SHI_PLACE_SHIFT == SHI_PLACE_DEVICE))
            continue;
        struct call *c = end > first ? only_call(first, end - 1, &r) : NULL;
        if (!c)
            continue;
        c->used = 1;
        c->until_ns = r.until_ns < c->until_ns ? r.until_ns : c->until_ns;
        each(arg, &(const struct shi_trace_arrow){c->part, word->pe, c->event, w->event});
    }
}

static void decide(struct search *s, void (*each)(void *arg, const struct shi_trace_arrow *a), void *arg)
{
    int pe = -1;
    int64_t lost_until = 0;
    sorted = s;
    if (s->calls)
        qsort(s->calls, s->n_calls, sizeof *s->calls, compare_calls);
    qsort(s->waits, s->n_waits, sizeof *s->waits, compare_waits);
    for (size_t w = 0, c = 0, n_waits, n_calls; w < s->n_waits; w += n_waits, c += n_calls) {
        size_t word = s->waits[w].word;
        for (n_waits = 1; w + n_waits < s->n_waits && s->waits[w + n_waits].word == word; n_waits++)
            ;
        while (c < s->n_calls && s->calls[c].word < word)
            c++;
        for (n_calls = 0; c + n_calls < s->n_calls && s->calls[c + n_calls].word == word; n_calls++)
            ;
        if (s->words[word].pe != pe)
            lost_until = lost_until_ns(s, pe = s->words[word].pe);
        decide_word(s, &s->waits[w], n_waits, s->calls + c, n_calls, lost_until, each, arg);
    }
}

int shi_trace_arrows(const struct shi_trace_part *parts, int n, void (*each)(void *arg, const struct shi_trace_arrow *a),
                     void *arg)
{
    struct search s = {.parts = parts, .n = n};
    int err = collect_waits(&s);
    if (!err)
        err = collect_barriers(&s);
    if (!err)
        err = collect_calls(&s);
    if (!err)
        decide(&s, each, arg);
    for (int i = 0; s.barriers && i < n; i++)
        free(s.barriers[i].at);
    free(s.barriers);
    free(s.words);
    free(s.waits);
    free(s.calls);
    return err;
}
