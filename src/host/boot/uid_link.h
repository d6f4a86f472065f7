/*
 * uid_link.h - a connection between two processes of a job that is started by a unique id: proof of the secret, then frames.
 *
 * Both ends know the id's secret and never send it. nc and ns are 16 random bytes each; MAC is two SipHash-2-4 with the secret as their key
 * and different labels.
 *
 *     client                                   server
 *     HELLO  "FULMARU1", nc            ->      HELLO
 *     PROOF                            <-      ns, MAC(server, nc, ns)         PROOF
 *     OPEN   MAC(client, nc, ns)       ->                                      OPEN
 *     frames                          <->      frames
 *
 * A frame is its tag, its number, its type, its length and the payload; the tag is SipHash over the rest, with a key of this connection
 * and direction, which MAC(key, nc, ns) gives. So a stranger who connects, listens, changes or repeats bytes is found at the first wrong one;
 * a server keeps 24 bytes of a client before its proof. Payloads are not encrypted.
 *
 * All calls return at once. The caller polls `fd` for shi_uid_link_events; a link belongs to one thread at a time.
 */
#ifndef SHI_UID_LINK_H
#define SHI_UID_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "host/boot/uid_bytes.h"

enum shi_uid_state { SHI_UID_CLOSED, SHI_UID_HELLO, SHI_UID_PROOF, SHI_UID_OPEN };

struct shi_uid_link {
    int fd; /* -1 when closed */
    enum shi_uid_state state;
    int is_client;
    uint64_t secret[2], nonce[4]; /* of the client, then of the server */
    uint64_t key_out[2], key_in[2], n_out, n_in;
    struct shi_uid_bytes in, out;
};

struct shi_uid_frame {
    uint32_t type, bytes;
    const unsigned char *payload; /* until the next shi_uid_link_next or _read */
};

/* 128 bits that follow from the key and a label, and from which neither can be computed. */
void shi_uid_derive(const uint64_t key[2], uint64_t label, const uint64_t nonce[4], uint64_t out[2]);

/* fd is connected and does not block; the link closes it, here if this fails. 0 or -errno. */
int shi_uid_link_open(struct shi_uid_link *l, int fd, int is_client, const uint64_t secret[2]);
void shi_uid_link_close(struct shi_uid_link *l);

static inline int shi_uid_link_is(const struct shi_uid_link *l)
{
    return l->state != SHI_UID_CLOSED;
}

/* An error of the connection is to come after this many seconds in which the other host says nothing; 0: never. */
void shi_uid_link_keep(struct shi_uid_link *l, long silence_s);

/* What to poll for. */
short shi_uid_link_events(const struct shi_uid_link *l);

/* Append a frame to what is to be sent; the link is open. 0, -ENOMEM, or -EMSGSIZE: more than 256 MiB. */
int shi_uid_link_put(struct shi_uid_link *l, uint32_t type, const void *payload, size_t bytes);

/* Send what is to be sent, as far as the socket takes it. 0 or -errno. */
int shi_uid_link_write(struct shi_uid_link *l);

/* Receive. 0; -ENODATA: the other end has closed the connection; -EACCES: it does not know the secret, or bytes were changed; or another
 * -errno. What came before is still there for shi_uid_link_next. */
int shi_uid_link_read(struct shi_uid_link *l);

/* 1: the next frame; 0: none is whole; -EACCES. */
int shi_uid_link_next(struct shi_uid_link *l, struct shi_uid_frame *out);

#endif
