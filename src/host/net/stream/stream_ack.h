/* stream_ack.h - acknowledgements of messages, in and out; order.h decides when one is due. By the thread that polls, without a lane's lock. */
#ifndef SHI_STREAM_ACK_H
#define SHI_STREAM_ACK_H

#include "host/net/stream/lane.h"
#include "host/net/stream/stream_wire.h"

/* That PE has applied our messages up to h->ack: call back what waits for it. */
void shi_ack_take(const struct head *h);

/* The message asks for an acknowledgement. */
void shi_ack_queue(const struct head *h);

/* All records are applied. The reply to the last one calls this first, so that it acknowledges the message. */
void shi_ack_end_message(const struct head *h);

/* PE pe is another process, which has sent nothing. */
void shi_ack_forget(int pe);

/* Send the acknowledgements that no other message has carried in time. */
void shi_ack_send(void);

#endif
