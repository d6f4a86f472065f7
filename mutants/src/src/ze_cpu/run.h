/* run.h - runs work-groups on one thread. */
#ifndef ZC_RUN_H
#define ZC_RUN_H

#include "ze_cpu/launch.h"

/* Work on a launch until no group is left for this thread. */
void zc_run_groups(struct zc_worker *w, struct zc_launch *l);
/* The extension zexCpuLanes: how often 8 work-items that ran at once have ended so, and how often they diverged. */
void zc_lanes_count(uint64_t *ended, uint64_t *left);
void zc_worker_free(struct zc_worker *w);
/* The extension zexCpuWhileIdle: a thread whose work-items all poll memory that does not change calls fn after each such
 * round; fn returns whether it did anything. NULL removes the hook. */
void zc_while_idle(int (*fn)(void));

#endif
