/* uid_bytes.h - a buffer that grows: bytes are appended at its end and taken from its beginning. Zero: empty. */
#ifndef SHI_UID_BYTES_H
#define SHI_UID_BYTES_H

#include <stddef.h>

struct shi_uid_bytes {
    unsigned char *at;
    size_t from, to, room; /* of the bytes in use: at + from to at + to */
};

static inline size_t shi_uid_bytes_used(const struct shi_uid_bytes *b)
{
    return b->to - b->from;
}

/* Room for `more` bytes behind the used ones, which may move. 0 or -ENOMEM. */
int shi_uid_bytes_reserve(struct shi_uid_bytes *b, size_t more);

/* 0, or -ENOMEM with the buffer as it was. */
int shi_uid_bytes_append(struct shi_uid_bytes *b, const void *from, size_t bytes);

void shi_uid_bytes_free(struct shi_uid_bytes *b);

#endif
