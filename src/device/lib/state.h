/*
 * state.h - contexts and teams for kernels: written by the host before the launch, read by the device.
 *
 * Addresses are the device's, as integers, so that the layout does not depend on the pointer size of an address space. All
 * but the ring and the sync words is constant while a kernel runs.
 */
#ifndef SHI_STATE_H
#define SHI_STATE_H

#include "device/lib/ring.h"

/* The default context's variable in a module. Its name has the version, so that kernels of another version of the structure are refused. */
#define SHMEMG_DEFAULT_ shmemg_default_10_
#define SHMEMG_DEFAULT_NAME_ "shmemg_default_10_"

/* A team has SHI_DEV_ROUNDS flags and after them the offset word of coll.h. */
enum { SHI_DEV_VERSION = 10, SHI_DEV_ROUNDS = 24, SHI_DEV_TEAM_WORDS, SHI_DEV_NEAR = 32, SHI_DEV_ADDED = 32 };

/* A team on the device: the world PE of member i is start + i * stride, or list[i] where stride is 0. One work-item at a
 * time may sync a team. Flags are never cleared: a later team with the same flags continues from their values in `seen`. */
struct shi_dev_team {
    int start, stride, n, me;
    shi_u64 flags; /* offset in every PE's device heap of shi_u64 [SHI_DEV_TEAM_WORDS], this team's dissemination flags:
                    * flag r counts the syncs that the member 2^r before this one has entered. Zero at first */
    shi_u64 list;  /* int [n], for members without a constant stride */
    shi_u64 stage, stage_bytes;   /* memory of this PE for parts of other members' sources in a reduction, at least 16 bytes for each member;
                                   * stage_bytes is equal on all PEs */
    shi_u64 seen[SHI_DEV_ROUNDS]; /* the value of flag r after this PE's last sync */
};

/* Symmetric memory of this PE that is not in its heap. */
struct shi_dev_added {
    shi_u64 lo, end; /* end 0: none */
    shi_u64 peer;    /* shi_u64 [], as peer_heap */
};

/* A context: its team, whose PE numbers it uses, the ring that orders and completes its operations, and what all contexts
 * have in common. The default context of a kernel is a copy that the host writes into the module: its address is known when the kernel is
 * compiled, and where the language has constant memory, so that reading it is free, it is there. */
struct shi_dev_ctx {
    shi_u32 version;    /* SHI_DEV_VERSION; another value: the host did not write the context */
    shi_u32 near_n;     /* PEs in near */
    shi_u64 ring;       /* struct shi_ring, in host-visible memory */
    shi_u64 heap;       /* this PE's device heap */
    shi_u64 heap_bytes;
    shi_u64 peer_heap;  /* shi_u64 []: address of world PE i's heap on this device, 0: only through the ring */
    shi_u64 added;      /* struct shi_dev_added [SHI_DEV_ADDED] */
    shi_u64 world;      /* struct shi_dev_team, of all PEs */
    int me, n_pes, start, stride; /* of its team, as in struct shi_dev_team */
    shi_u64 fault;      /* shi_u64: the device's first error, see SHI_FAULT_ below; 0: none */
    shi_u64 shared;     /* struct shi_dev_team, of the PEs on this node */
    shi_u64 list;
    int ring_updates;   /* nonzero: updates of words are requests even where the word is mapped, see amo.h */
    int single;         /* nonzero: no two calls with it overlap, see ring.h */
    int lockstep;       /* nonzero: the lanes of a sub-group run in lock step, see group.h */
    shi_u32 near_first, pad;    /* a PE of the context's team: the first that this device reaches */
    shi_u64 near[SHI_DEV_NEAR]; /* address of the heap of near_first, and of those after it that this device reaches as well */
};

/* What a kernel in SYCL finds without an argument, see sycl.h: the default context, where in host memory the first error of a routine
 * goes that was called without a valid one, and where the next search for any word starts. It is in device memory. The constant stands for its address; it has the version, as
 * SHMEMG_DEFAULT_. */
struct shi_sycl_state {
    struct shi_dev_ctx ctx;
    shi_u64 fault; /* address of a shi_u64 */
    shi_u64 turn;
};
#define SHI_SYCL_PLACES 0x46756c6d61720000 /* of all versions: the next 64 KiB */
#define SHI_SYCL_PLACE (SHI_SYCL_PLACES + (SHI_DEV_VERSION << 10))

/* Errors of device routines, which the host reports. Bits 0-7: the kind; bits 8-63: the offending value. */
enum { SHI_FAULT_NONE, SHI_FAULT_PE, SHI_FAULT_ADDRESS, SHI_FAULT_OPERATOR, SHI_FAULT_CONTEXT, SHI_FAULT_TEAM };

#ifndef __OPENCL_C_VERSION__
#ifndef __cplusplus
_Static_assert(sizeof(struct shi_sycl_state) <= 1 << 10, "places of two versions differ");
_Static_assert(sizeof(struct shi_dev_team) == 48 + 8 * SHI_DEV_ROUNDS, "host and device agree");
_Static_assert(sizeof(struct shi_dev_ctx) == 120 + 8 * SHI_DEV_NEAR, "host and device agree");
#endif
#endif

#endif
