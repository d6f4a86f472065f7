/*
 * place.h - places: where an access is in the program, and by which routine it is made. All PEs number them alike.
 */
#ifndef RACE_PLACE_H
#define RACE_PLACE_H

#include "race/race.h"

/* A place is a return address in the program, and the routine that was called there, NULL for a load or store. 0: no room. */
uint32_t race_place_of(const void *pc, const char *routine);

/* What the cell's place says: the routine or NULL, the module's file and the offset of the return address in it. */
void race_place_read(uint32_t place, const char **routine, const char **module, uint64_t *offset);

#endif
