/*
 * am_pull.h - rendezvous on a node: a PE reads another PE's memory, which may copy a part of it itself.
 *
 * PEs are named by their local rank, the index in struct shi_shm. Any thread may expose and fetch; one thread at a time
 * polls.
 */
#ifndef SHI_AM_PULL_H
#define SHI_AM_PULL_H

#include "host/net/am/am.h"
#include "host/util/base.h"

enum { SHI_AM_PULL_BYTES = SHI_PAGE_BYTES }; /* shared, at the start of each PE's am_off; zeros at first */

/* 0 or -errno after one logged line. */
int shi_am_pull_up(const struct shi_am_world *w);

/* Forget all reads; no PE of the node copies any more. */
void shi_am_pull_drop(void);

/* The process leaves the job. */
void shi_am_pull_leave(void);

/* See shi_am_expose. Nothing is to be withdrawn. */
int shi_am_pull_expose(int rank, const void *addr, size_t bytes, struct shi_am_src *out);

/* See shi_am_fetch: 0, -EINPROGRESS or another -errno. */
int shi_am_pull_fetch(int rank, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f);

/* The PE has died: reads with its help end with an error. As shi_am_pull_poll. */
void shi_am_pull_lose(int rank);
void shi_am_pull_renew(int rank); /* it is another process */

/* Complete the reads that owners have helped with. How many. */
int shi_am_pull_poll(void);

#endif
