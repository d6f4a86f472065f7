/*
 * tag_wire.h - the wire format of tagged messages: active messages of id SHI_AM_TAG.
 *
 * Each begins with its kind, in one byte. `send` and `recv` identify requests of the PE that receives the message: it sent
 * them before. tag.c checks lengths and ranges of every message, the handlers what depends on their state.
 */
#ifndef SHI_TAG_WIRE_H
#define SHI_TAG_WIRE_H

#include "host/coll/team.h"
#include "host/net/am/am.h"

enum shi_tag_kind {
    SHI_TAG_EAGER,      /* head, payload */
    SHI_TAG_EAGER_SYNC, /* long head without total, payload; answered by FIN when it has matched */
    SHI_TAG_EAGER_LONG, /* long head, the first of the payload; the rest follows in parts */
    SHI_TAG_READY,      /* rts: the receiver fetches the payload and sends FIN, or requests it by CLEAR */
    SHI_TAG_PART,       /* part, more payload of an EAGER_LONG, or of a CLEAR */
    SHI_TAG_FIN,        /* note: send has been received, or, if it was eager, has matched */
    SHI_TAG_CLEAR,      /* note: send the payload in parts */
    SHI_TAG_CREDIT,     /* note: `bytes` of the window are free again */
    SHI_TAG_CLAIM,      /* claim: the receiver requests a message that the sender keeps; answered by OFFER or NONE */
    SHI_TAG_OFFER,      /* offer: answered by TAKEN or REFUSED */
    SHI_TAG_NONE,       /* note: nothing kept matches the claim */
    SHI_TAG_TAKEN,      /* note: the offered send has matched */
    SHI_TAG_REFUSED,    /* note: it has not; the sender keeps it in its place */
    SHI_TAG_NEWS,       /* note: the sender keeps messages that came after its last answer to a claim */
    SHI_TAG_CANCEL,     /* note: discard the message of send if it is unmatched; answered by CANCEL_ACK */
    SHI_TAG_CANCEL_ACK  /* note: bytes = 1: it is discarded; 0: it was matched, or its team has ended */
};

struct shi_tag_head {
    uint64_t kind : 8;
    uint64_t team : SHI_TEAM_NUMBER_BITS;
    int32_t source; /* PE of the team */
    uint32_t id;    /* of an EAGER_LONG and its parts */
    uint64_t tag;
};
_Static_assert(sizeof(struct shi_tag_head) == 24, "32 bytes of payload fit into a line with it");

struct shi_tag_long_head {
    struct shi_tag_head head;
    uint64_t total; /* bytes of the message */
    uint64_t send;  /* 0: no FIN */
};
_Static_assert(sizeof(struct shi_tag_long_head) == SHI_MESSAGE_HEAD_BYTES, "no padding");

struct shi_tag_rts {
    struct shi_tag_long_head head;
    struct shi_am_src src; /* bytes 0: the receiver cannot read the payload, which needs CLEAR */
};
_Static_assert(sizeof(struct shi_tag_rts) == 72, "with the stream's heads 128 bytes, which tcp sends without a request");

/* Unmatched receives, in the order of posting. */
enum { SHI_TAG_QUERIES = 32 };
struct shi_tag_query {
    uint64_t tag, mask;
    uint64_t team;
    uint64_t seq; /* of the receive, or SHI_TAG_PROBE */
};
#define SHI_TAG_PROBE UINT64_MAX
struct shi_tag_claim {
    uint8_t kind;
    uint8_t pad[3];
    uint32_t n;
    struct shi_tag_query query[SHI_TAG_QUERIES];
};
_Static_assert(sizeof(struct shi_tag_query) == 32 && sizeof(struct shi_tag_claim) == 1032, "no padding");

/* The first kept message that matches the first query that has a match. */
struct shi_tag_offer {
    struct shi_tag_rts rts;
    uint64_t seq; /* the query's */
};
_Static_assert(sizeof(struct shi_tag_offer) == 80, "no padding");

struct shi_tag_part {
    uint8_t kind;
    uint8_t pad[3];
    uint32_t id;   /* of the EAGER_LONG that it belongs to, if recv is 0 */
    uint64_t recv;
    uint64_t at;   /* offset in the message */
};
_Static_assert(sizeof(struct shi_tag_part) == 24, "no padding");

struct shi_tag_note {
    uint8_t kind;
    uint8_t pad[7];
    uint64_t send, recv;
    uint64_t at, bytes; /* CLEAR: which; CREDIT: how many */
};
_Static_assert(sizeof(struct shi_tag_note) == 40, "no padding");

#endif
