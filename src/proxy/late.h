/*
 * late.h - SHMEM_CHECK=1: kernels' puts and gets are late where the program does not wait for them, so that a missing fence or quiet
 * shows on machines whose memory keeps the order of operations, too.
 *
 * Of the requests to a PE one at a time is held back for SHI_LATE_NS, while later ones that no fence separates from it overtake it. A
 * quiet, a fence and a blocking operation wait for it as for any other.
 */
#ifndef SHI_PROXY_LATE_H
#define SHI_PROXY_LATE_H

#include "proxy/result.h"

/* 1: the request is held back; perform(ring, op), which returns what shi_engine_exec.issue does, will be called for it. 0: it is not. */
int shi_late_hold(struct shi_proxy_ring *p, struct shi_engine_op *op, int (*perform)(void *ring, struct shi_engine_op *op));

#endif
