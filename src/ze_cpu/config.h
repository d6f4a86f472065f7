/* config.h - settings, read from the environment once by zeInit, and the clock. */
#ifndef ZC_CONFIG_H
#define ZC_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

enum { ZC_DEVICES = 16 };

struct zc_race;
struct zc_config {
    unsigned devices, threads;  /* that are visible; ZE_CPU_THREADS */
    unsigned device[ZC_DEVICES]; /* the visible ones among ZE_CPU_DEVICES */
    bool check, private_memory; /* ZE_CPU_CHECK, ZE_CPU_PRIVATE */
    bool count;                 /* ZE_CPU_COUNT */
    bool reorder;               /* ZE_CPU_REORDER */
    bool locals;                /* CUDA_CPU_LOCALS: programs find variables that are local to a PTX module */
    bool peers;                 /* ZE_CPU_PEERS: a device accesses the memory of others */
    bool lanes;                 /* ZE_CPU_LANES: translated kernels run 8 work-items at once where they can */
    const struct zc_race *race; /* race.h: a library that looks for races; or NULL */
    bool native;                /* ZE_CPU_NATIVE, where neither check, count, race nor a sanitizer needs the interpreter */
};
extern struct zc_config zc_config; /* constant after zc_config_up */

/* affinity: the name of the variable that lists the devices that are visible, ZE_AFFINITY_MASK or CUDA_VISIBLE_DEVICES. */
void zc_config_up(const char *affinity);

/* CLOCK_MONOTONIC in nanoseconds: the time of events, timestamps and timeouts. */
uint64_t zc_now_ns(void);

#endif
