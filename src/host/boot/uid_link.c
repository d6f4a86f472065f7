/* uid_link.c - see uid_link.h. */
#include "host/boot/uid_link.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/util/random.h"
#include "host/util/siphash.h"

enum {
    FRAME_BYTES_MAX = 256 << 20,
    READ_BYTES = 64 << 10 /* at least so many are asked for at once, of an open link */
};

/* Labels of shi_uid_derive. */
enum { OF_SERVER = 1, OF_CLIENT, KEY_TO_SERVER, KEY_TO_CLIENT };

static const char magic[8] = "FULMARU1";

struct hello {
    char magic[8];
    uint64_t nonce[2];
};

struct answer {
    uint64_t nonce[2], proof[2];
};

struct head {
    uint64_t tag, number; /* the tag covers what follows it */
    uint32_t type, bytes;
};

void shi_uid_derive(const uint64_t key[2], uint64_t label, const uint64_t nonce[4], uint64_t out[2])
{
    uint64_t word[6] = {0, label, nonce[0], nonce[1], nonce[2], nonce[3]};
    for (word[0] = 0; word[0] < 2; word[0]++)
        out[word[0]] = shi_sip_words(key, word, 6, 0, 0);
}

/* ---- buffers ------------------------------------------------------------------------------------------------------ */

static int take(struct shi_uid_bytes *b, void *to, size_t bytes)
{
    if (shi_uid_bytes_used(b) < bytes)
        return 0;
    memcpy(to, b->at + b->from, bytes);
    b->from += bytes;
    return 1;
}

/* ---- proof -------------------------------------------------------------------------------------------------------- */

static int same(const uint64_t a[2], const uint64_t b[2])
{
    return ((a[0] ^ b[0]) | (a[1] ^ b[1])) == 0;
}

static void open_now(struct shi_uid_link *l)
{
    shi_uid_derive(l->secret, l->is_client ? KEY_TO_SERVER : KEY_TO_CLIENT, l->nonce, l->key_out);
    shi_uid_derive(l->secret, l->is_client ? KEY_TO_CLIENT : KEY_TO_SERVER, l->nonce, l->key_in);
    explicit_bzero(l->secret, sizeof l->secret);
    l->state = SHI_UID_OPEN;
}

/* The server has the client's hello. */
static int answer_hello(struct shi_uid_link *l)
{
    struct hello h;
    struct answer a;
    if (!take(&l->in, &h, sizeof h))
        return 0;
    if (memcmp(h.magic, magic, sizeof magic) != 0)
        return -EACCES;
    memcpy(l->nonce, h.nonce, sizeof h.nonce);
    memcpy(a.nonce, l->nonce + 2, sizeof a.nonce);
    shi_uid_derive(l->secret, OF_SERVER, l->nonce, a.proof);
    l->state = SHI_UID_PROOF;
    return shi_uid_bytes_append(&l->out, &a, sizeof a);
}

static int take_client_proof(struct shi_uid_link *l)
{
    uint64_t proof[2], right[2];
    if (!take(&l->in, proof, sizeof proof))
        return 0;
    shi_uid_derive(l->secret, OF_CLIENT, l->nonce, right);
    if (!same(proof, right))
        return -EACCES;
    open_now(l);
    return 0;
}

static int take_server_proof(struct shi_uid_link *l)
{
    struct answer a;
    uint64_t right[2], proof[2];
    if (!take(&l->in, &a, sizeof a))
        return 0;
    memcpy(l->nonce + 2, a.nonce, sizeof a.nonce);
    shi_uid_derive(l->secret, OF_SERVER, l->nonce, right);
    if (!same(a.proof, right))
        return -EACCES;
    shi_uid_derive(l->secret, OF_CLIENT, l->nonce, proof);
    open_now(l);
    return shi_uid_bytes_append(&l->out, proof, sizeof proof);
}

static int advance(struct shi_uid_link *l)
{
    int err = 0;
    if (l->state == SHI_UID_HELLO && !l->is_client)
        err = answer_hello(l);
    else if (l->state == SHI_UID_HELLO)
        err = take_server_proof(l);
    if (!err && l->state == SHI_UID_PROOF)
        err = take_client_proof(l);
    return err;
}

/* ---- calls -------------------------------------------------------------------------------------------------------- */

int shi_uid_link_open(struct shi_uid_link *l, int fd, int is_client, const uint64_t secret[2])
{
    *l = (struct shi_uid_link){.fd = fd, .state = SHI_UID_HELLO, .is_client = is_client, .secret = {secret[0], secret[1]}};
    int err = shi_random_bytes(l->nonce + (is_client ? 0 : 2), 2 * sizeof *l->nonce);
    if (!err && is_client) {
        struct hello h = {.nonce = {l->nonce[0], l->nonce[1]}};
        memcpy(h.magic, magic, sizeof magic);
        err = shi_uid_bytes_append(&l->out, &h, sizeof h);
    }
    if (err)
        shi_uid_link_close(l);
    return err;
}

void shi_uid_link_close(struct shi_uid_link *l)
{
    if (!shi_uid_link_is(l))
        return;
    close(l->fd);
    shi_uid_bytes_free(&l->in);
    shi_uid_bytes_free(&l->out);
    explicit_bzero(l, sizeof *l);
    l->fd = -1;
}

void shi_uid_link_keep(struct shi_uid_link *l, long silence_s)
{
    int on = 1, probes = 4, idle = (int)(silence_s / 2 + 1), each = (int)(silence_s / (2 * probes) + 1);
    unsigned ms = (unsigned)silence_s * 1000;
    if (silence_s <= 0 || !shi_uid_link_is(l))
        return;
    setsockopt(l->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(l->fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(l->fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof each);
    setsockopt(l->fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(l->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

short shi_uid_link_events(const struct shi_uid_link *l)
{
    return (short)(POLLIN | (shi_uid_bytes_used(&l->out) ? POLLOUT : 0));
}

int shi_uid_link_put(struct shi_uid_link *l, uint32_t type, const void *payload, size_t bytes)
{
    struct head h = {.number = l->n_out, .type = type, .bytes = (uint32_t)bytes};
    size_t at = shi_uid_bytes_used(&l->out);
    int err = bytes <= FRAME_BYTES_MAX ? shi_uid_bytes_reserve(&l->out, sizeof h + bytes) : -EMSGSIZE;
    if (err)
        return err;
    shi_uid_bytes_append(&l->out, &h, sizeof h);
    shi_uid_bytes_append(&l->out, payload, bytes);
    unsigned char *begin = l->out.at + at;
    h.tag = shi_sip_bytes(l->key_out, begin + sizeof h.tag, sizeof h - sizeof h.tag + bytes);
    memcpy(begin, &h.tag, sizeof h.tag);
    l->n_out++;
    return 0;
}

int shi_uid_link_write(struct shi_uid_link *l)
{
    while (shi_uid_bytes_used(&l->out)) {
        ssize_t n = send(l->fd, l->out.at + l->out.from, shi_uid_bytes_used(&l->out), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN ? 0 : -errno;
        l->out.from += (size_t)n;
    }
    return 0;
}

/* How many more bytes the other end may send before it is heard: without a proof, what that takes. */
static size_t wanted(const struct shi_uid_link *l)
{
    size_t all = l->state == SHI_UID_OPEN ? shi_uid_bytes_used(&l->in) + READ_BYTES : l->state == SHI_UID_PROOF ? 2 * sizeof(uint64_t)
                 : l->is_client ? sizeof(struct answer) : sizeof(struct hello);
    return all > shi_uid_bytes_used(&l->in) ? all - shi_uid_bytes_used(&l->in) : 0;
}

int shi_uid_link_read(struct shi_uid_link *l)
{
    for (;;) {
        size_t want = wanted(l);
        int err = shi_uid_bytes_reserve(&l->in, want);
        if (err)
            return err;
        ssize_t n = recv(l->fd, l->in.at + l->in.to, want, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 ? -ENODATA : errno == EAGAIN ? 0 : -errno;
        l->in.to += (size_t)n;
        err = advance(l);
        if (err)
            return err;
    }
}

int shi_uid_link_next(struct shi_uid_link *l, struct shi_uid_frame *out)
{
    struct head h;
    if (l->state != SHI_UID_OPEN || shi_uid_bytes_used(&l->in) < sizeof h)
        return 0;
    const unsigned char *begin = l->in.at + l->in.from;
    memcpy(&h, begin, sizeof h);
    if (h.bytes > FRAME_BYTES_MAX || h.number != l->n_in)
        return -EACCES;
    if (shi_uid_bytes_used(&l->in) < sizeof h + h.bytes)
        return 0;
    if (h.tag != shi_sip_bytes(l->key_in, begin + sizeof h.tag, sizeof h - sizeof h.tag + h.bytes))
        return -EACCES;
    l->in.from += sizeof h + h.bytes;
    l->n_in++;
    *out = (struct shi_uid_frame){h.type, h.bytes, begin + sizeof h};
    return 1;
}
