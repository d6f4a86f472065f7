/*
 * ofi_throttle.h - bound the time that refused connections cost: while they come too fast, the kernel drops requests for new
 * connections, except from the job's other hosts. Connections that exist are not affected; a process of this host connects
 * later, as its kernel repeats the request.
 */
#ifndef SHI_OFI_THROTTLE_H
#define SHI_OFI_THROTTLE_H

#include <netinet/in.h>
#include <stdint.h>

/* Never drop requests from this address (IPv4 in its IPv6 form). Calls precede the first refusal. */
void shi_ofi_throttle_exempt(const struct in6_addr *host);

/* A connection to this listener, the index-th of SHI_NET_LANES, was refused, which took this time. */
void shi_ofi_throttle_refused(int index, int listener, uint64_t ns);

/* For each poll: take new connections again where it is time. */
extern int shi_ofi_throttled;
void shi_ofi_throttle_end(void);
static inline void shi_ofi_throttle_poll(void)
{
    if (__atomic_load_n(&shi_ofi_throttled, __ATOMIC_RELAXED))
        shi_ofi_throttle_end();
}

#endif
