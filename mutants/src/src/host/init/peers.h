/* peers.h - the tables of peers: for each PE, the distance from our heaps and static data to its mapped ones. */
#ifndef SHI_PEERS_H
#define SHI_PEERS_H

#include "host/ops/state.h"
#include "host/ops/statics.h"

/* Entries of n PEs of other nodes that run the same program, for the node's memory: a PE has a page of its own of them only where
 * it has other entries. */
void shi_peers_fill(void *entries, int n);

/* Make the tables from shi_world, whose memory and network are up. 0 or -ENOMEM. */
int shi_peers_up(const struct shi_statics *st);
void shi_peers_down(void);

/* The table for the fast path: shi_world.peer, or one in which nothing is reachable (shi_all_slow). */
const struct shi_peer *shi_peers_fast(void);

/* Add the device heaps to the tables: base is this PE's, mapped[pe] that of each PE or NULL. From now on host routines reach
 * them by load and store, or, without host access, by copies on the slow path, which all operations then take. */
void shi_peers_add_device(void *base, size_t bytes, void *const *mapped, int host_access);

#endif
