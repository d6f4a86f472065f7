/* shm_region.h - what the file of a node has of each PE, and what a PE brings to it (net_shm.h). */
#ifndef SHI_SHM_REGION_H
#define SHI_SHM_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "host/boot/boot.h"
#include "host/policy/place.h"
#include "host/util/config.h"

enum { SHI_SHM_RECORD_BYTES = 448 };

/* A process that takes the place of the node's i-th PE, which has died (host/survive/grow.h). `who` is shi_shm_joiner of the process and a state.
 * It stores WAITS and READY; a PE that lives replaces WAITS by GO and, over the network, READY by IN. What the others store is there before GO (R2 -> A2).
 * Model: test/model/join.pml. */
enum shi_shm_join_state { SHI_JOIN_NONE, SHI_JOIN_WAITS, SHI_JOIN_GO, SHI_JOIN_READY, SHI_JOIN_IN };
struct shi_shm_join {
    uint64_t who;        /* R2 -> A2; R3 -> A3: what a READY process has done; R4 -> A4: all that live begin anew with its messages before IN */
    uint32_t round;      /* of the last shmemx_grow that chose a process for this place */
    uint32_t times;      /* how many processes have taken the place */
    uint64_t off, bytes; /* in the file: what the process gets */
};

static inline uint64_t shi_shm_joiner(int pid, enum shi_shm_join_state state)
{
    return (uint64_t)pid << 8 | state;
}

/* What one PE brings. Addresses are its own; offsets count from the start of the node's file. */
struct shi_shm_region {
    uint64_t sync_off, am_off, heap_off, data_off;
    uint64_t heap_bytes, data_bytes;
    uint64_t exe_id;    /* equal where static data has the same layout */
    uint64_t cpus[SHI_CPU_WORDS]; /* affinity mask */
    int pe, pid;
    struct shi_config_equal settings;
    uint32_t waits;     /* how many waits for all PEs of the node the PE has begun in shmem_init (net_shm.c) */
    uint64_t held;      /* held by the agent that changes a word of this PE's device heap: a proxy of the node
                         * (proxy/staged.c), or this PE's thread that polls the network (stream_device.c) */
    uint32_t left_job;  /* 1: the PE's process may end, and has not failed (host/survive/survive.h) */
    struct shi_shm_join join;
    uint64_t waited_ns; /* the last time at which the PE waited, or half a millisecond earlier; the end of the sleep in which it waits (ops/wait.c) */
};

/* By which a new process finds the node's file: other PEs of the node publish it. */
#define SHI_SHM_FILE_NAME "fulmar.file"
struct shi_shm_file {
    int pid, fd;
};

/* Parameters of a PE. remap puts the static data [data_lo, + data_bytes) onto the file: 0 or -errno. fill_peers writes n entries of
 * peer_bytes, by the first PE of the node, before another opens the file. */
struct shi_shm_params {
    size_t sync_bytes, am_bytes, heap_bytes, data_bytes;
    uint64_t exe_id;
    struct shi_config_equal settings; /* a job whose PEs differ in one does not start */
    int prefault;
    int (*remap)(int fd, uint64_t off);
    size_t peer_bytes;
    void (*fill_peers)(void *peers, int n);
};

#endif
