/*
 * shadow.h - the cells: check an access against those that were recorded, and record it.
 */
#ifndef RACE_SHADOW_H
#define RACE_SHADOW_H

#include "race/cell.h"

/* The access at an address of this process: its own memory, or what shmem_ptr gave of a peer's. */
void race_shadow_here(const struct race_access *a, uintptr_t addr, size_t bytes);
/* The access at symmetric memory of another PE; addr is the symmetric address in this process. */
void race_shadow_at(const struct race_access *a, int pe, uintptr_t addr, size_t bytes);
/* Where `known` has this cell, if it does. */
static inline uint64_t *race_near_cell(struct race_thread *u, uint64_t cell)
{
    return &u->known[(cell >> RACE_MOMENT_AT ^ cell) % RACE_NEAR_CELLS];
}
/* Are the thread's loads and stores after the access of this cell, at memory of its PE? If so it is entered in `known`. */
int race_shadow_known(struct race_thread *u, uint64_t cell);
/* A load or store of the thread. */
void race_shadow_first(struct race_thread *u, enum race_kind kind, uintptr_t addr, size_t bytes, const void *pc);
/* The operations whose effect on this word of its own PE the thread has seen are complete. */
void race_shadow_complete(struct race_thread *u, uintptr_t addr, size_t bytes);
/* Is one of the cells of this word a put of the PE? */
int race_shadow_put_by(uintptr_t addr, int pe);
/* The pending accesses of this stream and epoch are over. */
void race_shadow_end(struct race_thread *u, uintptr_t addr, size_t bytes, unsigned stream, uint32_t epoch);
/* Private memory that is given back. */
void race_shadow_forget(struct race_thread *u, uintptr_t addr, size_t bytes);

#endif
