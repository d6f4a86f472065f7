/*
 * copying.h - end the job when a thread stays in a copy that the device does not end.
 *
 * A thread that calls the device's driver for a copy is in a list until the call returns; threads that poll look at the list at
 * intervals. More threads at a time than the list has entries are not looked at.
 *
 *   word             written by                         read by            order
 *   entry.state      copying threads (compare-and-swap  threads that poll  A2: the entry is the claimer's; R1 -> A1: routine and
 *                    to claim, then its owner)                             bytes are those of this copy
 *   routine, bytes   owner, while it is claimed         threads that poll  relaxed, valid if state is unchanged after them
 *   n                copying threads                    threads that poll  relaxed: a poll looks early or late
 *   the checks       thread that holds `checking`       the same           mutex
 */
#ifndef SHI_COPYING_H
#define SHI_COPYING_H

#include <stddef.h>
#include <stdint.h>

struct shi_copying;

/* This thread calls the driver for a copy: `routine` is for the line. Pair: shi_copying_end with what it returns. */
struct shi_copying *shi_copying_begin(const char *routine, size_t bytes);
void shi_copying_end(struct shi_copying *c);

/* SHMEM_HEARTBEAT in ns; 0: no limit. */
void shi_copying_limit(uint64_t ns);
uint64_t shi_copying_limit_ns(void);

/* For every thread that polls: end the job with a line when another thread is in the same copy for half of the limit, and as long
 * again for each 256 MiB of it; a poll that the copy keeps from its work makes peers declare this PE dead after the limit. Returns 0. */
int shi_copying_poll(void);

/* For checks at regular intervals, one at a time: the routine of a copy that more than `checks` checks have found, and its bytes. NULL:
 * there is none. */
const char *shi_copying_overdue(unsigned checks, size_t *bytes);

#endif
