/* cpu.h - a core for the proxy thread. */
#ifndef SHI_PROXY_CPU_H
#define SHI_PROXY_CPU_H

/* Bind the calling thread to a core that no PE needs, if there is one (host/policy/place.h) and the system permits it. */
void shi_cpu_leave_busy(void);

#endif
