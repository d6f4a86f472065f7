/*
 * record.h - accesses as cells: what has no room in a cell's 64 bits is in the place, or for pending accesses in a record.
 *
 * Each actor has a ring of records in the shared file. A record that is taken again belongs to a later epoch than all its cells before, which
 * are forgotten by that.
 */
#ifndef RACE_RECORD_H
#define RACE_RECORD_H

#include "race/cell.h"

/* The cell of this access, without a mask. 0: there is no room for what it needs, it is not recorded. */
uint64_t race_cell_of(const struct race_access *a);

/* Which work-item of a kernel has this epoch of its actor. 0: not known. */
void race_record_turn(unsigned actor, uint32_t epoch, uint32_t item);
uint32_t race_record_item(unsigned actor, uint32_t epoch);

/* The place of the access, which says how it is atomic. */
uint32_t race_record_place(const struct race_access *a);

/* What the cell holds, as the words of cell.h. 0: it is forgotten. */
int race_cell_read(uint64_t cell, uint64_t *bits, uint64_t *when);

/* The cell of the same access after it is complete. */
uint64_t race_cell_completed(uint64_t cell, uint64_t bits);

#endif
