/* stream_wire.h - the messages of the streams as they travel, in host byte order: PEs compare theirs at start-up. */
#ifndef SHI_STREAM_WIRE_H
#define SHI_STREAM_WIRE_H

#include <string.h>

#include "host/net/am/am_carrier.h"
#include "host/net/node/amo_wide.h"
#include "host/net/stream/auth.h"
#include "host/net/stream/stream.h"
#include "host/util/base.h"

enum { WIRE_VERSION = 16 }; /* changes with the formats of this file, of active messages, and the rounds of coll/plan.h */

struct head {
    uint64_t tag;     /* of all that follows, and of the receiver (auth.h) */
    uint32_t job;     /* shi_auth_job */
    uint32_t pe;      /* sender */
    uint32_t bytes;   /* of the message, this head included */
    uint8_t version;  /* WIRE_VERSION */
    uint8_t flags;    /* ACK_ of order.h, FOLLOWS_WRITES, SETTLES, TRACED, a level of BULK_ */
    uint8_t lane;     /* the sender's stream */
    uint8_t ack_lane;
    uint64_t seq;     /* messages of this stream count from 1 */
    uint64_t ack;     /* the sender has applied the messages of the receiver's stream ack_lane up to this one */
};

/* Of head.flags. FOLLOWS_WRITES: the message's last 8 bytes are a count n; its records follow the first n writes of the stream.
 * SETTLES: they follow writes to device memory whose data must be made visible first (settle.h). TRACED: a debugger is attached
 * to the sender, which may be stopped for any time. The highest two bits: how much data of the sender is on its way to the
 * receiver. */
enum { FOLLOWS_WRITES = 4, SETTLES = 8, TRACED = 16, BULK_SHIFT = 6, FOLLOWS_BYTES = 8 };

/* Messages of a PE may arrive behind its data, and its silence then does not show that it is dead. So it sends a message before
 * a write with which more than BULK_BYTES are on their way. Level i: at most BULK_BYTES * 8^i; the last one: any number. */
enum { BULK_BYTES = 16 << 20, BULK_LEVELS = 4 };

static inline unsigned bulk_level(size_t bytes)
{
    unsigned level = 0;
    while (level < BULK_LEVELS - 1 && bytes > (size_t)BULK_BYTES << 3 * level)
        level++;
    return level;
}

static inline size_t bulk_bytes(unsigned level)
{
    return level ? (size_t)BULK_BYTES << 3 * level : 0;
}

/* Fill in all but the tag, in whole words, as message_tag reads it: a load of a word waits for the stores of its parts. */
static inline void write_head(struct head *h, uint32_t pe, size_t bytes, uint32_t flags, int lane, int ack_lane,
                              uint64_t seq, uint64_t ack)
{
    const uint64_t word[] = {shi_auth_job() | (uint64_t)pe << 32,
                             bytes | (uint64_t)WIRE_VERSION << 32 | (uint64_t)flags << 40 | (uint64_t)lane << 48 |
                                 (uint64_t)ack_lane << 56, seq, ack};
    memcpy((char *)h + sizeof h->tag, word, sizeof word);
}

/* quiet does not wait for the last two. PULL: the target reads the data from the sender's memory. PUSH: it writes the data into
 * the sender's memory, then replies. */
enum { OP_PUT, OP_PUT_BLOCKS, OP_AMO, OP_GET_BLOCKS, OP_PULL, OP_PUSH, OP_REPLY, OP_AM };

/* A record; its payload follows, 8-byte aligned, its length rounded up to 8. */
struct record {
    uint8_t op, region;
    uint8_t what;    /* OP_AMO: enum shi_amo; OP_AM: enum shi_am_id; OP_REPLY: lane of the request */
    uint8_t width;   /* OP_AMO: bytes of the word, and WIDTH_FETCHES; on device memory WIDTH_CONTINUES */
    uint32_t bytes;  /* of the payload */
    uint64_t off;    /* OP_REPLY: the cookie */
};

/* Parts of record.width. FETCHES: return the old value. CONTINUES: no fence is between this record and the one before. */
enum { WIDTH_BYTES = 0x3f, WIDTH_CONTINUES = 0x40, WIDTH_FETCHES = 0x80 };

/* The tag of a message to PE `to` by the life-th process that has the sender's number, from 0: see auth.h. A message of a process that has died is
 * not taken for one of its successor. */
static inline uint64_t message_tag(const struct head *h, unsigned life, int to)
{
    return shi_auth_tag(h->seq, h->pe | (uint32_t)life << SHI_PE_BITS, (uint32_t)to, &h->tag + 1, (h->bytes - sizeof h->tag) / 8);
}

/* With its payload. */
static inline size_t record_bytes(const struct record *r)
{
    return sizeof *r + shi_round_up(r->bytes, 8);
}

struct amo_payload {
    uint64_t value, cond, cookie; /* sent as far as the operation needs them */
};

/* Of a compare-and-swap of 16 bytes: OP_AMO with this width. */
struct wide_payload {
    uint64_t value[2], cond[2], cookie;
};

struct blocks_payload {
    struct shi_blocks blocks;
    uint64_t cookie; /* OP_GET_BLOCKS */
};

struct served_payload {
    uint64_t addr, key; /* of the sender's memory */
    uint64_t bytes;
    uint64_t cookie;    /* OP_PUSH */
};

_Static_assert(sizeof(struct head) == 40 && sizeof(struct record) == 16, "the wire has no holes");
_Static_assert(SHI_NET_LANES <= UINT8_MAX, "the head has room for these");
/* Records fill a message up to here; a longer one has a message of its own. */
enum { MESSAGE_RECORD_BYTES = SHI_NET_MESSAGE_BYTES - FOLLOWS_BYTES };

_Static_assert(sizeof(struct head) + sizeof(struct record) + sizeof(struct blocks_payload) + SHI_STREAM_PUT_BYTES <=
                   MESSAGE_RECORD_BYTES, "the longest record fits into a message");
_Static_assert(SHI_AM_MAX_BYTES + sizeof(struct head) + sizeof(struct record) <= MESSAGE_RECORD_BYTES, "and so does "
               "an active message");
_Static_assert(SHI_AM_LONGEST_BYTES + sizeof(struct head) + sizeof(struct record) + FOLLOWS_BYTES == SHI_NET_LONGEST_BYTES,
               "a long one fills a long message");

#endif
