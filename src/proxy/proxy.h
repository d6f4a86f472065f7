/* proxy.h - the thread that serves the rings of this PE's kernels. */
#ifndef SHI_PROXY_H
#define SHI_PROXY_H

#include "device/lib/ring.h"

/* Serve a ring from now on until shi_proxy_down; the first starts the thread. device_ring is where kernels have it: the
 * same, or in memory that the host cannot touch. 0, or -errno after one line. */
int shi_proxy_serve(struct shi_ring *ring, const struct shi_ring *device_ring);

/* Wait until all that was posted so far, on any ring or on this one, is complete. A kernel's end alone does not mean
 * that. */
void shi_proxy_quiet(void);
void shi_proxy_quiet_ring(const struct shi_ring *ring);

/* The program launches kernels itself, of which the device cannot say here whether they have ended. */
void shi_proxy_others_launch(void);

/* Stop the thread. All kernels must have ended. */
void shi_proxy_down(void);

#endif
