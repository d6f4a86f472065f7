/*
 * admit.h - which messages a PE takes from the network: whole ones of this job, once each. All others are dropped; the
 * first of each kind is reported, and their number when the job ends.
 *
 * Called by the thread that polls, for each message before a byte of it is used.
 */
#ifndef SHI_ADMIT_H
#define SHI_ADMIT_H

#include "host/net/stream/stream_wire.h"

/* Is this a message of `bytes` bytes from a PE of this job to this PE? 0: it is dropped. */
int shi_admit(const void *msg, size_t bytes);

/* Drop a message of this job that has come before. */
void shi_admit_again(const struct head *h);

/* Messages dropped so far. */
uint64_t shi_admit_dropped(void);

/* Report how many were dropped, if there were more than the reports of single ones said. */
void shi_admit_report(void);

/* Of the next job. */
void shi_admit_leave(void);

#endif
