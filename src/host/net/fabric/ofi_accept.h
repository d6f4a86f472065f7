/*
 * ofi_accept.h - libfabric accepts connections from this job's hosts and, on this host, from this user only.
 *
 * libfabric's TCP providers believe what a connection says. Any process that connects can take the place of a PE, occupy
 * descriptors, or crash the PE (an acknowledgement of nothing, libfabric 1.17), before a message is there to be checked.
 * They offer no hook, so this replaces accept(2) in the libfabric libraries of this process, for its own endpoints.
 */
#ifndef SHI_OFI_ACCEPT_H
#define SHI_OFI_ACCEPT_H

#include <sys/socket.h>

/* Replace accept in libfabric and its providers, which are loaded. How many places; 0: connections are not checked. *close_on_exec:
 * 1 when they, and the sockets that libfabric opens, are close-on-exec. */
int shi_ofi_accept_install(int *close_on_exec);

/* An endpoint of this PE listens at this address. */
void shi_ofi_accept_at(const struct sockaddr *own);

/* PEs of this job connect from the host of this address. Until there are n_pes such calls no connection is accepted. */
void shi_ofi_accept_from(const struct sockaddr *peer, int n_pes);

/* Forget all addresses: this process has no endpoint and no peer any more. */
void shi_ofi_accept_leave(void);

#endif
