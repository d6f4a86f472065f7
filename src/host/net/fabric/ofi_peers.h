/*
 * ofi_peers.h - the addresses of PEs as libfabric has them: each is inserted at the first transfer to its PE.
 *
 *   word                     written by                        read by     order
 *   shi_ofi_handles[pe]      first to send, shi_ofi_peer_renew senders     relaxed: a number; the provider's table has its own lock
 */
#ifndef SHI_OFI_PEERS_H
#define SHI_OFI_PEERS_H

#include <rdma/fi_domain.h>
#include <stdint.h>

#include "host/net/fabric/net.h"
#include "host/util/base.h"

/* Use the addresses of the n PEs, `stride` bytes apart, which stay. 0 or -ENOMEM. */
int shi_ofi_peers_up(struct fid_av *av, const struct shi_net_address *first, size_t stride, int n);
void shi_ofi_peers_leave(int n);

/* Not inserted yet: do so. Ends the job when libfabric refuses it. */
fi_addr_t shi_ofi_peer_insert(int pe);

/* The address of PE pe is another one: insert it at the next transfer. */
void shi_ofi_peer_renew(int pe);

extern uint64_t *shi_ofi_handles; /* [n] libfabric's handle of the address plus 1; 0: not inserted */

static inline fi_addr_t shi_ofi_peer(int pe)
{
    uint64_t handle = __atomic_load_n(&shi_ofi_handles[pe], __ATOMIC_RELAXED);
    return shi_likely(handle != 0) ? handle - 1 : shi_ofi_peer_insert(pe);
}

#endif
