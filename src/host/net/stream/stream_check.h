/* stream_check.h - which records of a message may be applied. */
#ifndef SHI_STREAM_CHECK_H
#define SHI_STREAM_CHECK_H

#include "host/net/stream/lane.h"
#include "host/net/stream/stream_wire.h"

/* What is invalid in a record, in a few words; NULL: nothing, it may be applied. left: bytes of the message from the record
 * on. A reply is only measured here: its receiver compares it with the request. Needs no lock. */
const char *shi_stream_check(const struct record *r, size_t left);

/* 1: a valid put to the heap, the most frequent record; 0: ask shi_stream_check. */
static inline int shi_stream_is_heap_put(const struct record *r, size_t left)
{
    const struct shi_stream_region *heap = &shi_stream_net.own[SHI_REGION_HEAP];
    return left >= sizeof *r && r->op == OP_PUT && r->region == SHI_REGION_HEAP && left >= record_bytes(r) &&
           r->off < heap->bytes && r->bytes <= heap->bytes - r->off;
}

#endif
