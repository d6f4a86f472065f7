/*
 * ofi_local.h - libfabric's connections within this host use TCP's oldest congestion control, reno, which does not pace.
 *
 * bbr, the default of some hosts, sends what its estimate of the bandwidth allows, and sets a timer for the rest. Between two
 * processes of a host there is no queue to spare, and in a virtual machine each timer leaves the machine. A connection that has
 * used bbr stays paced, so a listening socket, whose control connections inherit, uses reno, and connections from other hosts get
 * the host's default back.
 */
#ifndef SHI_OFI_LOCAL_H
#define SHI_OFI_LOCAL_H

#include <sys/socket.h>

/* Replace listen and connect in libfabric and its providers, which are loaded. is_local: is a PE of this host at this address? */
void shi_ofi_local_install(int (*is_local)(const struct sockaddr *));

/* A connection was accepted: from this host, or not. */
void shi_ofi_local_accepted(int fd, int local);

#endif
