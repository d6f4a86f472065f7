/*
 * batch.h - batches: records to one PE are filled into a message, which is sent or waits until the transport has room.
 *
 * The caller holds the lane's lock for every call but those of replies.
 */
#ifndef SHI_BATCH_H
#define SHI_BATCH_H

#include "host/net/stream/lane.h"
#include "host/net/stream/stream_wire.h"

struct batch {
    struct shi_net_req req;
    struct batch *next;
    struct shi_lane *lane;
    size_t bytes;
    unsigned char is_long; /* its length: that of a long message */
    unsigned char trimmed; /* in the list free: its pages are given back */
    _Alignas(16) char data[]; /* struct head, records */
};

/* Room for the payload of a record at the end of the open batch, which the record enters with shi_batch_commit. NULL: no
 * room. */
enum shi_batch_room {
    SHI_ROOM,           /* the stream's limit of messages that wait for room in the transport */
    SHI_ROOM_OVERTAKEN, /* not that one: see shi_order_is_overtaken */
    SHI_ROOM_REPLY      /* no limit: replies must not wait for the requests that they answer */
};
void *shi_batch_append(struct shi_lane *l, int pe, const struct record *r, enum shi_batch_room room);

/* The record is written: send it now, or with later ones. more: another one follows at once, as for SHI_STREAM_MORE. */
void shi_batch_commit(struct shi_lane *l, int pe, int more);

/* A reply of `bytes` to fill in, to a request in the message h: on the first lane, which stays locked until it ends. */
void *shi_batch_begin_reply(const struct head *h, uint64_t cookie, size_t bytes);
void shi_batch_end_reply(const struct head *h);

/* Close the open batch, empty or not, and send it behind those that wait for room. flags: ACK_. */
void shi_batch_send(struct shi_lane *l, int pe, uint32_t flags);

/* The PE is lost (lost.h): give up all that waits to be sent to it. All messages to it count as acknowledged. */
void shi_batch_drop(struct shi_lane *l, int pe);

/* Let the next message to pe carry these ACK_ flags; the next poll sends it at the latest. */
void shi_batch_ask(struct shi_lane *l, int pe, uint32_t flags);

/* The endpoints are closed: free all batches of the lane. */
void shi_batch_leave(struct shi_lane *l);

/* Give back the pages of batches that nothing has used since the last call. */
void shi_batch_trim(struct shi_lane *l);

#endif
