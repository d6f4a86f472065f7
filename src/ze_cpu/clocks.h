/* clocks.h - clocks of host threads, commands, queues and events, for race.h: what has happened before. Without race.h's library they stay NULL. */
#ifndef ZC_CLOCKS_H
#define ZC_CLOCKS_H

#include "ze_cpu/config.h"
#include "ze_cpu/race.h"

/* The calling thread's past becomes part of the clock. */
static inline void zc_clock_now(void **clock)
{
    if (zc_config.race)
        zc_config.race->now(clock);
}

/* The calling thread is after the clock. */
static inline void zc_clock_reach(void *const *clock)
{
    if (zc_config.race)
        zc_config.race->reach(clock);
}

static inline void zc_clock_join(void **clock, void *const *other)
{
    if (zc_config.race)
        zc_config.race->join(clock, other);
}

static inline void zc_clock_drop(void **clock)
{
    if (zc_config.race)
        zc_config.race->drop(clock);
}

#endif
