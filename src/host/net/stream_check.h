/* stream_check.h - which records of a message may be applied. */
#ifndef SHI_STREAM_CHECK_H
#define SHI_STREAM_CHECK_H

#include "host/net/stream_wire.h"

/* What is invalid in a record, in a few words; NULL: nothing, it may be applied. left: bytes of the message from the record
 * on. A reply is only measured here: its receiver compares it with the request. Needs no lock. */
const char *shi_stream_check(const struct record *r, size_t left);

#endif
