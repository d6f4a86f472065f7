/* words.c - rounds of updates of words in device memory: see words.h. */
#include "host/net/stream/words.h"

#include <stddef.h>

#include "host/net/node/amo_word.h"
#include "host/policy/limits.h"

/* The old value does not matter. */
static int sets(const struct shi_word_update *u)
{
    return u->op == SHI_AMO_SET && !u->fetches;
}

void shi_words_join(struct shi_words *w, struct shi_word_update *u)
{
    u->next = NULL;
    *(w->open ? &w->last->next : &w->open) = u;
    w->last = u;
    w->storing += u->op != SHI_AMO_FETCH;
    shi_copies_count(&shi_copies_counts[w->copies->agent].updates, 1);
}

/* The first update of a word that overlaps with that of u, among n; else firsts + n. */
static struct shi_word_update **find(struct shi_word_update **firsts, int n, const struct shi_word_update *u)
{
    struct shi_word_update **f = firsts;
    while (f < firsts + n && (u->at >= (*f)->at + (*f)->width || (*f)->at >= u->at + u->width))
        f++;
    return f;
}

/* Remove the updates of the next round from `open`: up to one whose word overlaps with a different word of the round. */
static struct shi_word_update *take(struct shi_words *w)
{
    struct shi_word_update *firsts[SHI_WORDS_JOINED], **f, *all = w->open, *u = all, *before = NULL;
    int n = 0;
    for (; u && w->joined < SHI_WORDS_JOINED; before = u, u = u->next, w->joined++) {
        f = find(firsts, n, u);
        if (f == firsts + n) {
            firsts[n++] = u;
            u->stores = 0;
        } else if ((*f)->at != u->at || (*f)->width != u->width) {
            break;
        }
        u->first = *f;
        u->first->stores |= u->op != SHI_AMO_FETCH;
        w->storing -= u->op != SHI_AMO_FETCH;
    }
    w->open = u;
    if (!before)
        return NULL;
    before->next = NULL;
    return all;
}

/* Compute the updates in order; gather a copy of each word. */
static void write_words(struct shi_words *w, struct shi_word_update *all)
{
    uint64_t after = 0;
    for (struct shi_word_update *u = all; u; u = u->next) {
        struct shi_word_update *f = u->first;
        f->word[1] = u == f ? u->word[0] : f->word[1];
        u->word[0] = f->word[1];
        shi_amo_word(&f->word[1], u->width, u->op, u->value, u->cond);
    }
    for (struct shi_word_update *u = all; u; u = u->next)
        if (u == u->first && u->stores)
            after = shi_copies_add(w->copies, u->at, &u->word[1], u->width, after != 0);
    w->writes = after ? after : w->writes;
    for (struct shi_word_update *u = all; u; u = u->next)
        u->after = u->first->stores ? after : 0;
    for (struct shi_word_update *u = all, *next; u; u = next) { /* the owner may reuse it */
        next = u->next;
        w->written(u);
    }
}

/* Write the words whose first update sets them, read the others. Returns whether words were written. */
static int begin(struct shi_words *w)
{
    struct shi_word_update *all = take(w), *now = NULL, **end_now = &now, **end_reading = &w->reading;
    int n = 0;
    for (struct shi_word_update *u = all, *next; u; u = next) {
        next = u->next;
        u->next = NULL;
        u->word[0] = 0;
        if (u == u->first && !sets(u))
            w->reads = shi_copies_add(w->copies, &u->word[0], u->at, u->width, n++ > 0);
        struct shi_word_update ***end = sets(u->first) ? &end_now : &end_reading;
        **end = u;
        *end = &u->next;
    }
    shi_copies_count(&shi_copies_counts[w->copies->agent].rounds, n > 0);
    if (now)
        write_words(w, now);
    return now != NULL;
}

int shi_words_poll(struct shi_words *w)
{
    struct shi_word_update *read = w->reading;
    int went_on = 0;
    if (read && w->reads <= w->copies->ended) {
        w->reading = NULL;
        write_words(w, read);
        went_on = 1;
    }
    if (w->held && !w->reading && w->writes <= w->copies->ended) { /* else the next round has begun behind these copies */
        w->held = 0;
        w->rest = w->open && w->joined >= SHI_WORDS_JOINED ? SHI_WORDS_REST : 0;
        shi_amo_unlock(w->lock); /* R8 */
    }
    if (!w->open || w->reading || w->rest > 0 || (w->held && w->joined >= SHI_WORDS_JOINED)) {
        w->rest -= w->rest > 0;
        return went_on;
    }
    if (!w->held) {
        w->joined = 0;
        if (w->storing && !shi_amo_try_lock(w->lock)) /* A8 */
            return went_on;
        w->held = w->storing > 0;
    }
    return begin(w) | went_on;
}
