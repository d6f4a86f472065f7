/*
 * am_pull.h - memory of a PE that another PE of its node reads: where it is, and who of the two copies it.
 *
 * A PE is known by its place among those of the node (struct shi_shm). Any thread may expose and fetch; polls come one
 * at a time.
 */
#ifndef SHI_AM_PULL_H
#define SHI_AM_PULL_H

#include "host/net/am.h"
#include "host/util/base.h"

enum { SHI_AM_PULL_BYTES = SHI_PAGE_BYTES }; /* shared, at the start of each PE's am_off; zeros at first */

/* 0 or -errno after one logged line. */
int shi_am_pull_up(const struct shi_am_world *w);

/* Nobody copies any more, here or there. */
void shi_am_pull_drop(void);

/* See shi_am_expose. Nothing is to be withdrawn. */
int shi_am_pull_expose(int place, const void *addr, size_t bytes, struct shi_am_src *out);

/* See shi_am_fetch: 0, -EINPROGRESS or another -errno. */
int shi_am_pull_fetch(int place, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f);

/* End what others have helped us with. How many. */
int shi_am_pull_poll(void);

#endif
