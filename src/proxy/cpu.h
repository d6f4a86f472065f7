/* cpu.h - which core the proxy thread should have. */
#ifndef SHI_PROXY_CPU_H
#define SHI_PROXY_CPU_H

#include "host/net/net_shm.h"

/* A core that PE number `me` of the n in region[], in the node's order, may give its proxy; `near` are the cores of its
 * processor, 0 to look at its own cores only. Best is one that no PE is bound to; else one of those that the PE shares
 * with others, from the end, when these are twice as many as they. -1 where there is none to spare. PEs that ask alike
 * get different ones. */
int shi_cpu_choose(const struct shi_shm_region *region, int n, int me, const uint64_t near[SHI_CPU_WORDS]);

/* Move the calling thread to such a core, where the system lets us. */
void shi_cpu_leave_busy(void);

#endif
