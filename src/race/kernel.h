/*
 * kernel.h - work-groups of kernels, which libze_cpu.so and libcuda_cpu.so run on this PE's threads and report (ze_cpu/race.h).
 *
 * Actors. A group is two actors while it runs: its first work-item, which makes the calls for the others, and all others together, which a cell
 * tells apart by their numbers. A meeting of the group (a barrier) orders both; a work-item that has synchronised by itself has a clock of its
 * own until then. Who is ordered after one work-item of an actor counts as ordered after what the others have done since the last meeting.
 *
 * Atomics and fences of the kernel's language order as in C11: a release store or update gives the clock of the work-item to the word, a
 * relaxed one that of its last release fence; an acquire load takes it, a relaxed one takes it at the next acquire fence. It is taken with the
 * work-item's next access, when the load is over. Scopes are not told apart.
 */
#ifndef RACE_KERNEL_H
#define RACE_KERNEL_H

#include "race/race.h"

enum { RACE_CALL_WORDS = 16 };

struct race_item {
    struct race_clock *own;     /* NULL: that of its actor */
    struct race_clock *release; /* of its last release fence, or NULL */
    struct race_clock *acquire; /* what its next acquire fence takes, or NULL */
    uint64_t looked;            /* the word of its last atomic load or update, to be taken; 0: none */
    uint32_t after, before;     /* of race.h */
    uint8_t looked_how;         /* __ATOMIC_ACQUIRE or __ATOMIC_RELAXED */
    uint8_t inside;             /* in a call of the device library */
    uint64_t word[RACE_CALL_WORDS];
};

struct race_group_of_items {
    struct race_thread half[2]; /* the first work-item, the others; their clocks */
    uint32_t met[2];            /* the epoch of each at the last meeting */
    uint64_t first;
    uint32_t items;
    struct race_item item[];
};

/* The work-item as an actor, until the next call of this. What changes its epoch is followed by race_kernel_done. */
struct race_thread *race_kernel_item(struct race_group_of_items *g, uint32_t item);
void race_kernel_done(struct race_group_of_items *g, uint32_t item, const struct race_thread *u);
/* The same, with a clock of its own, which is about to learn something. */
struct race_thread *race_kernel_learns(struct race_group_of_items *g, uint32_t item);
/* It is after what this clock knows of its own actor: of other work-items of the group, of an earlier user. */
void race_kernel_learned(struct race_group_of_items *g, uint32_t item, const struct race_clock *from);
/* Its last atomic load is over: what it saw is known, or will be after a fence. */
void race_kernel_look(struct race_group_of_items *g, uint32_t item);
/* Is the address this PE's or a peer's symmetric memory? */
int race_kernel_symmetric(uint64_t addr);

/* The object of the clock of calls on the queue (shmemx_*_on_queue) that have ended. A thread that submits a kernel is after them. */
extern RACE_HIDDEN char race_queue_ended;

/* The functions of ze_cpu/race.h's table. */
struct zc_race_access;
void race_kernel_now(void **clock);
void race_kernel_reach(void *const *clock);
void race_kernel_join(void **clock, void *const *other);
void race_kernel_drop(void **clock);
void *race_kernel_group(void *const *clock, uint64_t first, uint32_t items);
void race_kernel_group_end(void *group, void **clock);
void race_kernel_meet(void *group, uint32_t first, uint32_t end);
void race_kernel_access(void *group, const struct zc_race_access *a);
void race_kernel_fence(void *group, uint32_t item, int order);

#endif
