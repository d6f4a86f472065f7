/* stream_rx.h - records in: what the transport hands over. Runs inside its poll. */
#ifndef SHI_STREAM_RX_H
#define SHI_STREAM_RX_H

#include <stddef.h>

/* shi_net_arrive of the streams. */
void shi_stream_arrive(const void *msg, size_t bytes);

/* Ready for messages of n_pes PEs. 0 or -ENOMEM. */
int shi_stream_receive(int n_pes);
void shi_stream_rx_leave(void);

#endif
