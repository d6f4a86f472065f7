/* uid_bytes.c - see uid_bytes.h. */
#include "host/boot/uid_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_MIN = 4096 };

int shi_uid_bytes_reserve(struct shi_uid_bytes *b, size_t more)
{
    if (b->from) {
        memmove(b->at, b->at + b->from, shi_uid_bytes_used(b));
        b->to -= b->from;
        b->from = 0;
    }
    if (b->to + more <= b->room)
        return 0;
    size_t room = b->to + more < ROOM_MIN ? ROOM_MIN : (b->to + more) * 2;
    unsigned char *at = realloc(b->at, room);
    if (!at)
        return -ENOMEM;
    b->at = at;
    b->room = room;
    return 0;
}

int shi_uid_bytes_append(struct shi_uid_bytes *b, const void *from, size_t bytes)
{
    int err = shi_uid_bytes_reserve(b, bytes);
    if (!err && bytes)
        memcpy(b->at + b->to, from, bytes);
    b->to += err ? 0 : bytes;
    return err;
}

void shi_uid_bytes_free(struct shi_uid_bytes *b)
{
    free(b->at);
    *b = (struct shi_uid_bytes){.at = NULL};
}
