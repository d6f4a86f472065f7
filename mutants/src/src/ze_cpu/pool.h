/* pool.h - threads that run a launch. */
#ifndef ZC_POOL_H
#define ZC_POOL_H

#include "ze_cpu/launch.h"

/* Run a launch to its end on this thread and helpers. Returns 0, or -1 after a fault. */
int zc_pool_run(struct zc_worker *w, struct zc_launch *l);

#endif
