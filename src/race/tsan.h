/*
 * tsan.h - loads and stores of the program.
 */
#ifndef RACE_TSAN_H
#define RACE_TSAN_H

#include "race/race.h"

void race_tsan_range(enum race_kind kind, const void *at, size_t bytes, const void *pc);

#endif
