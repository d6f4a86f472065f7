/* transfer.c - see transfer.h. Figures: bench/README.md. */
#include "host/policy/transfer.h"

/* 16 KiB go in two parts where messages are that short: a read takes 1.4 times as long. On a node one copy from symmetric memory beats
 * two by a factor of three from 8 KiB on. */
enum { EAGER_BYTES = 16384, SYMMETRIC_BYTES = 8152 };

enum shi_remote_way shi_way_of(const struct shi_way_facts *f)
{
    if (f->bytes > f->copied && f->reached && (!f->hidden || f->accessed))
        return SHI_REMOTE_DIRECT;
    if (f->hidden)
        return SHI_REMOTE_STAGED;
    if (f->reached || f->bytes <= SHI_RECORD_BYTES)
        return SHI_REMOTE_RECORDS;
    if (f->registered)
        return SHI_REMOTE_RENDEZVOUS;
    return f->chunks ? SHI_REMOTE_STAGED : SHI_REMOTE_RECORDS;
}

struct shi_message_lengths shi_message_lengths_of(const struct shi_message_facts *f)
{
    size_t whole = f->longest - SHI_MESSAGE_HEAD_BYTES, eager = f->node ? whole : f->eager ? f->eager : EAGER_BYTES;
    return (struct shi_message_lengths){f->longest, whole, eager, f->node ? SYMMETRIC_BYTES : eager};
}
