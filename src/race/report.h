/*
 * report.h - one report for each pair of places that race.
 *
 * SHMEM_RACE=report, the default, prints to stderr and goes on, json prints an object a line, abort ends the job after the first one.
 * SHMEM_RACE_SUPPRESS names a file: a race is not reported if a line of it, a pattern as of fnmatch, matches the object, or an
 * access's routine, function or file. The exit status of a program with races is 66, unless it is another one than 0.
 */
#ifndef RACE_REPORT_H
#define RACE_REPORT_H

#include "race/cell.h"

enum { RACE_STATUS = 66 };

void race_report_up(void);
/* The thread runs functions of GPCs: its races with other threads of the PE are reported, too. */
void race_report_gpc(unsigned thread);
/* old, old_when: the cell of the older access. */
void race_report(const struct race_access *a, uint64_t x, uint64_t old, uint64_t old_when, enum race_missing what,
                 const struct race_where *w);

#endif
