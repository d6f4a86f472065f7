/*
 * sync.h - clocks that actors share: of words that atomics and signals update, of locks, of members of collectives.
 *
 * A key finds a clock in the shared file. Keys that find no free entry share one: what they order is then considered ordered by each of them.
 */
#ifndef RACE_SYNC_H
#define RACE_SYNC_H

#include "race/clock.h"

uint64_t race_sync_key(uint64_t a, uint64_t b, uint64_t c);

/* The key of the word of 8 bytes at this offset of a PE's segment. */
uint64_t race_sync_word(int pe, int segment, uint64_t offset);

/* Join the thread's clock into the key's; its later accesses are of a new epoch. `also`, if any, is added under the key's lock. */
struct race_also {
    unsigned stream, target;
    uint32_t delivered; /* D[stream][target] is at least this */
    uint32_t exact;     /* 0: none */
};
void race_sync_give(struct race_thread *u, uint64_t key, const struct race_also *also);
void race_sync_prefetch(uint64_t key); /* the word is given or taken soon */
void race_sync_take(struct race_thread *u, uint64_t key);

/* The same with a clock of this process. */
void race_sync_give_to(struct race_thread *u, struct race_clock *c);
void race_sync_take_from(struct race_thread *u, struct race_clock *c);
struct race_clock *race_sync_local(const void *object); /* of an object of this process: a mutex, an atomic variable, a thread's end */

#endif
