/* ofi_poll.h - completion and arrival over libfabric. */
#ifndef SHI_OFI_POLL_H
#define SHI_OFI_POLL_H

#include "host/net/fabric/net.h"

struct shi_ofi_receiver {
    shi_net_arrive *arrive;
    shi_net_written *written;
    shi_net_failed *failed;
    int me;
    size_t message_bytes;
    int polls_again; /* fi_cq_read polls the network after each entry that it has found, for the next one */
};

/* Post the receives of lane 0. 0, or libfabric's error. */
int shi_ofi_receive(const struct shi_ofi_receiver *r);

/* Lane 0 is closed: free the buffers. */
void shi_ofi_poll_leave(void);

/* poll of shi_net_ops. */
int shi_ofi_poll(void);

/* Does another thread poll? A poll may last for milliseconds: tcp copies all that peers have requested. A wait would take its
 * work, and libfabric's lock, from it. */
int shi_ofi_is_polled(void);

#endif
