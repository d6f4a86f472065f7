/*
 * state.h - what a kernel knows of its PE: written by the host before the launch, read by the device.
 *
 * Addresses are the device's, as integers, so that host and device agree on the layout whatever the pointer size of
 * an address space. Everything is constant during a kernel but the ring and the sync words.
 */
#ifndef SHI_STATE_H
#define SHI_STATE_H

#include "device/lib/ring.h"

/* A team has SHI_DEV_ROUNDS flags and, behind them, the offset word of coll.h. */
enum { SHI_DEV_VERSION = 4, SHI_DEV_ROUNDS = 24, SHI_DEV_TEAM_WORDS };

/* A team as the device sees it: world PE of member i is start + i * stride, or list[i] where stride is 0. One
 * work-item at a time may sync a team. Flags are never cleared: a later team of the same flags goes on with what this PE
 * has seen of them. */
struct shi_dev_team {
    int start, stride, n, me;
    shi_u64 flags; /* offset in every PE's device heap of shi_u64 [SHI_DEV_TEAM_WORDS], this team's dissemination flags:
                    * flag r counts the syncs that the member 2^r before this one has come to. All zero at first */
    shi_u64 list;  /* int [n], where the members' numbers are not evenly spaced */
    shi_u64 seen[SHI_DEV_ROUNDS]; /* flag r has reached this in the syncs that this PE has left */
};

/* A context: whose PE numbers it counts, the ring that orders and completes what goes by it, and what is the same in
 * all. SHMEM_CTX_DEFAULT of a kernel is the one that the host passes or patches in. */
struct shi_dev_ctx {
    shi_u64 version;    /* SHI_DEV_VERSION; anything else: the module was not patched */
    shi_u64 ring;       /* struct shi_ring, in host-visible memory */
    shi_u64 heap;       /* this PE's device heap */
    shi_u64 heap_bytes;
    shi_u64 peer_heap;  /* shi_u64 []: where world PE i's heap is for loads and stores of this device, 0: only by ring */
    shi_u64 world;      /* struct shi_dev_team, of all PEs */
    int me, n_even, start, stride; /* of its team, as in struct shi_dev_team; n_even: n_pes, or 0 where list is to be used */
    shi_u64 fault;      /* shi_u64: the device's first complaint, see SHI_FAULT_ below; 0: none */
    shi_u64 shared;     /* struct shi_dev_team, of the PEs on this node */
    shi_u64 list;
    int n_pes, pad;
    int single;         /* nonzero: no two calls by it overlap, see ring.h */
    int lockstep;       /* nonzero: the lanes of a sub-group wait for each other at branches, see group.h */
};

/* What a device routine complains of; the host prints it in words. Bits 0-7 the kind, the rest the culprit. */
enum { SHI_FAULT_NONE, SHI_FAULT_PE, SHI_FAULT_ADDRESS, SHI_FAULT_OPERATOR, SHI_FAULT_CONTEXT, SHI_FAULT_TEAM };

#ifndef __OPENCL_C_VERSION__
#ifndef __CUDACC__
_Static_assert(sizeof(struct shi_dev_team) == 32 + 8 * SHI_DEV_ROUNDS, "host and device agree");
_Static_assert(sizeof(struct shi_dev_ctx) == 104, "host and device agree");
#endif
#endif

#endif
