/*
 * proxy.h - what kernels need on the host: the context they are given, the ring behind it, the thread that serves it.
 */
#ifndef SHI_PROXY_H
#define SHI_PROXY_H

#include <stdint.h>

/* Bring up this PE's ring, context and proxy thread, once; the device heap must be up. 0 or -errno after one line. */
int shi_proxy_up(void);

/* Wait until all that kernels have asked for so far is complete. A kernel's end alone does not mean that. */
void shi_proxy_quiet(void);

/* Stop the thread. All kernels must have ended. */
void shi_proxy_down(void);

/* The context that kernels are given: struct shi_dev_ctx in memory that host and device share. */
void *shi_proxy_ctx(void);

/* What kernels complained of through the context since the last call: a fault word of device/lib/state.h, or 0. */
uint64_t shi_proxy_fault(void);

/* The same in words for one line; NULL for 0. Not for two threads at once. */
const char *shi_proxy_fault_words(uint64_t fault);

#endif
