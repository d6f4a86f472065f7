/* am_shm.h - active messages between PEs of one node, through shared memory: a carrier of am.h. */
#ifndef SHI_AM_SHM_H
#define SHI_AM_SHM_H

#include "host/net/am/am_carrier.h"

extern struct shi_am_carrier shi_am_shm;

/* Bytes of shared memory each PE of a node of n must bring (struct shi_shm_params); touched only when used. */
size_t shi_am_shared_bytes(int n);

/* The process leaves the job, after shi_am_down. */
void shi_am_shm_leave(void);

#endif
