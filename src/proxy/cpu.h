/* cpu.h - choose a core for the proxy thread. */
#ifndef SHI_PROXY_CPU_H
#define SHI_PROXY_CPU_H

#include "host/net/node/net_shm.h"

/* A core for the proxy thread of PE number `me` of the n in region[], in the node's order; `near` are the cores of its
 * processor, or 0: consider only its own cores. The first choice is a core that no PE is bound to; the second, if the PE's
 * cores are at least twice as many as the PEs that share them, is one of these, counted from the end. -1: no core to spare.
 * PEs of one node get different cores. */
int shi_cpu_choose(const struct shi_shm_region *region, int n, int me, const uint64_t near[SHI_CPU_WORDS]);

/* Bind the calling thread to such a core, if the system permits it. */
void shi_cpu_leave_busy(void);

#endif
