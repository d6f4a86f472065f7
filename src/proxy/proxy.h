/* proxy.h - the thread that serves the rings of this PE's kernels. */
#ifndef SHI_PROXY_H
#define SHI_PROXY_H

#include "device/lib/ring.h"

/* Serve a ring until shi_proxy_down; the first call starts the thread. device_ring is the ring that kernels use: the same,
 * or a copy in memory that the host cannot access. 0, or -errno after one line. */
int shi_proxy_serve(struct shi_ring *ring, const struct shi_ring *device_ring);

/* Wait until all requests posted so far, on all rings or on this one, are complete. The end of a kernel does not imply
 * that. */
void shi_proxy_quiet(void);
void shi_proxy_quiet_ring(const struct shi_ring *ring);

/* Waits of kernels that start from now on regard what is acknowledged now. */
void shi_proxy_tell_failures(void);

/* The program launches kernels itself, so the device's busy() does not cover all kernels. */
void shi_proxy_others_launch(void);

/* Stop the thread. All kernels must have ended. */
void shi_proxy_down(void);

#endif
