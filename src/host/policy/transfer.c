/* transfer.c - see transfer.h. Figures: bench/README.md. */
#include "host/policy/transfer.h"

/* Two messages of the usual length, or a longer one. Over tcp;ofi_rxm 2 and 4 PEs send 24 KB in two messages 1.35 and 1.8 times as fast as
 * they are read, 33 KB in three messages 0.7 times as fast in bursts. Over net 33 KB in one message go 1.4 and 2 times as fast. On a node one
 * copy from symmetric memory beats two by a factor of three from 8 KiB on. */
enum { EAGER_BYTES = 32768, SYMMETRIC_BYTES = 8152 };

/* The system copies private memory page by page, so a second core pays: 1 and 4 MiB one way 1.6 and 1.9 times as fast with 2 PEs, 4 MiB 1.5 and 1.2
 * times with 4 and 8 PEs on two cores. Symmetric memory is copied at the speed of the caches: with 4 PEs two cores took 1.7 times as long.
 * With long pieces the reader waits for the owner's last one, short ones cost calls. */
enum { SHARED_BYTES = 256 << 10, PIECES = 4, PIECE_LEAST = 128 << 10, PIECE_MOST = 512 << 10, PAGE = 4096 };

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
    size_t whole = f->longest - SHI_MESSAGE_HEAD_BYTES, eager = f->node || whole > EAGER_BYTES ? whole : EAGER_BYTES;
    return (struct shi_message_lengths){f->longest, whole, eager, f->node ? SYMMETRIC_BYTES : eager};
}

size_t shi_shared_read_piece(size_t bytes)
{
    size_t piece = (bytes / PIECES + PAGE - 1) / PAGE * PAGE;
    if (bytes < SHARED_BYTES)
        return 0;
    return piece < PIECE_LEAST ? PIECE_LEAST : piece > PIECE_MOST ? PIECE_MOST : piece;
}
