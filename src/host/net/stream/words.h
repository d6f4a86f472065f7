/*
 * words.h - updates of words in device memory that the host cannot access: many words are read by one submission, updated by the host, and
 * written by another one.
 *
 * One agent's updates of the words of one PE go in rounds:
 *
 *   round       what is done                                                  host waits
 *   gathered    updates join, in order
 *   reading     a copy to the host of each word whose first update needs      until these copies have ended
 *               the old value; the agent holds the PE's word lock
 *   written     all updates are computed in order, those of a word one after  none: the lock is released when the copies have
 *               the other; a copy to the device of each word                  ended, or the next round reads behind them
 *
 * A word whose first update in the round sets it is not read: so a round of signals that are set is written at once. A round begins when
 * the one before is written; after some updates the lock is released and another agent gets its turn. Fetched values are valid, and their updates complete,
 * when the copies of `written` have ended: until then a third PE could see the old value.
 *
 * Order. Updates of one round have no order among each other, so a caller gives no update to a round behind a fence that is behind another
 * one of the round. Copies that the agent has gathered before are in place before any word of the round is.
 *
 * The lock (`held` of net_shm.h) excludes proxies, the thread that polls the network, and threads of the program from each other
 * (test/model/words.pml), not the atomics that kernels execute themselves, see device/lib/amo.h.
 *
 *   word   written by                                    read by    order
 *   lock   agents; compare-and-swap                      the same   R8 (release) -> A8 (acquire): the updates before have ended
 *   word[] agent, device: memory that it can access      the same   a copy has ended
 */
#ifndef SHI_WORDS_H
#define SHI_WORDS_H

#include "host/net/stream/copies.h"

/* An update, kept by its owner until its copies have ended. */
struct shi_word_update {
    struct shi_word_update *next;
    struct shi_word_update *first; /* of the same word in this round */
    char *at;                      /* in device memory, aligned */
    uint64_t value, cond;
    uint64_t *word; /* [2], which the device can access: the word before this update; of the first one: after all of the round */
    uint64_t after; /* when it is written: the copy that must have ended */
    unsigned char width, op, fetches, stores; /* op: SHI_AMO_; stores: of the first one: one of the word's updates does */
};

struct shi_words {
    uint64_t *lock;
    struct shi_copies *copies;
    void (*written)(struct shi_word_update *u); /* the copy of its word is gathered: later copies come after it */
    struct shi_word_update *open, *last, *reading;
    uint64_t reads, writes; /* copies that must have ended: of `reading`; before the lock is released */
    int held, joined;       /* the lock is held; updates since */
    int storing;            /* updates of `open` that store */
    int rest;               /* calls for which another agent may take the lock */
};

/* Let the update, of which the first part up to `fetches` is filled in, take part in the next round. */
void shi_words_join(struct shi_words *w, struct shi_word_update *u);

/* Go on with what copies that have ended allow, and begin a round; the caller then submits copies. 1: words were written. */
int shi_words_poll(struct shi_words *w);

/* 1: no update waits, and the agent does not hold the lock. */
static inline int shi_words_idle(const struct shi_words *w)
{
    return !w->open && !w->reading && !w->held;
}

#endif
