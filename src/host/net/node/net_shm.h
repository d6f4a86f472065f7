/*
 * net_shm.h - the memory that the PEs of one node share: all heaps and static data, the words of barriers and messages.
 *
 * A node has one memfd: a control block, then a region for each PE (sync area, messages, heap, static data). A PE maps the
 * whole file once, so a peer's memory is an offset away, and nothing outlives the last process.
 */
#ifndef SHI_NET_SHM_H
#define SHI_NET_SHM_H

#include <stddef.h>
#include <stdint.h>

#include "host/net/node/shm_region.h"

struct shi_shm {
    int fd;                       /* close-on-exec; kept open for fork and for peers that still attach */
    char *base;                   /* the whole file, mapped */
    size_t bytes;
    int n;                        /* PEs of this node */
    const struct shi_shm_region *region; /* [n], in the order of boot->local_pe */
    char *record;                 /* [n_pes][SHI_SHM_RECORD_BYTES], zero: what the node knows of each PE of the job (stream_up.c) */
    uint64_t peers_off;           /* in the file, what params.fill_peers has written; where all PEs are on this node, nothing */
    uintptr_t heap_lo;            /* this PE's heap, at an address of its own outside base */
    int oversubscribed;                  /* more PEs than the cores they may run on together */
};

/* Collective over the node, but for a process that takes the place of one that has died: that waits for shmemx_grow. 0 and *out, or -errno after one logged line. The memory stays mapped until the process ends or joins another
 * job, as the program uses its static data after shmem_finalize, and a later shmem_init the heap. */
int shi_shm_up(const struct shi_boot *boot, const struct shi_shm_params *params, struct shi_shm *out);

/* The process leaves the job, and its static data is not in the file any more: unmap all. */
void shi_shm_leave(struct shi_shm *s, int local_index);

/* Barrier over the PEs of the node, during start-up: sleeps, and does not see the abort flag. */
void shi_shm_barrier(const struct shi_shm *s);

/* A phase of shmem_init in which this PE waits for all of the node (util/startup.h). All PEs call it as often. */
void shi_shm_phase(const struct shi_shm *s, const char *text);

/* Let the calling thread run on every core that any PE of the node may run on, where the system allows that. */
void shi_shm_spread(const struct shi_shm *s);

/* Return the pages of this PE's heap from offset `from` on, a page's start, to the system; they then read as zeros. */
void shi_shm_drop_heap(const struct shi_shm *s, size_t from, size_t heap_bytes);

/* A further range of the node's file for this PE, which reads as zeros; off is a page's start. 0, or -ENOMEM without a line. release: its pages,
 * and its place for a later one. */
int shi_shm_reserve(const struct shi_shm *s, size_t bytes, uint64_t *off);
void shi_shm_release(const struct shi_shm *s, uint64_t off, size_t bytes);

/* Map such a range, at `at` or, with NULL, anywhere, aligned for huge pages if it has room for one. The address or NULL. own: as in a forked child. */
void *shi_shm_map(const struct shi_shm *s, void *at, uint64_t off, size_t bytes, int own);

/* In a child that the node's PE number `local` has forked: its stores to the heap, and to what the PEs share, are its own from here on. What it
 * has not stored to may show later stores of the PEs. 0 or -errno. */
int shi_shm_forked(const struct shi_shm *s, int local);

/* Words of struct shi_shm_region of the node's i-th PE, that PEs change. */
static inline uint64_t *shi_shm_held(const struct shi_shm *s, int i)
{
    return (uint64_t *)&s->region[i].held;
}

static inline uint64_t *shi_shm_waited(const struct shi_shm *s, int i)
{
    return (uint64_t *)&s->region[i].waited_ns;
}

static inline uint32_t *shi_shm_left_job(const struct shi_shm *s, int i)
{
    return (uint32_t *)&s->region[i].left_job;
}

static inline struct shi_shm_join *shi_shm_join_of(const struct shi_shm *s, int i)
{
    return (struct shi_shm_join *)&s->region[i].join;
}

/* Node-wide abort flag, polled by wait loops: 0, or the exit status plus 1. */
int shi_shm_aborted(const struct shi_shm *s);
/* 1: this call sets it, 0: it is set already. */
int shi_shm_abort(const struct shi_shm *s, int status);

#endif
