/* uid_meet.c - see uid_meet.h. Waits here end with the time limit of shmem_init's phase (util/startup.h). */
#include "host/boot/uid_meet.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/boot/uid_data.h"
#include "host/util/base.h"
#include "host/util/log.h"

/* Wait for the socket, until end_ns at most; 0: without limit. 0, -ETIMEDOUT or -errno. */
static int wait_for(int fd, short events, uint64_t end_ns)
{
    for (;;) {
        uint64_t now = shi_now_ns();
        int ms = !end_ns ? -1 : now < end_ns ? (int)((end_ns - now) / 1000000) + 1 : 0;
        int n = poll(&(struct pollfd){.fd = fd, .events = events}, 1, ms);
        if (n > 0)
            return 0;
        if (n == 0 || errno != EINTR)
            return n == 0 ? -ETIMEDOUT : -errno;
    }
}

/* A connected socket, or -errno. */
static int connect_to(const struct shi_tcp_end *to, uint64_t end_ns)
{
    struct sockaddr_storage at;
    socklen_t bytes = shi_tcp_end_to(to, &at), err_bytes = sizeof(int);
    int err = 0, on = 1, fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (connect(fd, (void *)&at, bytes)) {
        err = errno == EINPROGRESS || errno == EINTR ? wait_for(fd, POLLOUT, end_ns) : -errno;
        int late = 0;
        if (!err && getsockopt(fd, SOL_SOCKET, SO_ERROR, &late, &err_bytes) == 0)
            err = -late;
    }
    if (err)
        close(fd);
    return err ? err : fd;
}

/* Send what is to be sent and receive, until the link is open, or, with a frame, until one is here. 0 or -errno. */
static int exchange(struct shi_uid_link *l, struct shi_uid_frame *frame, uint64_t end_ns)
{
    for (;;) {
        int err = shi_uid_link_write(l), is = frame ? shi_uid_link_next(l, frame) : 0;
        if (is)
            return is < 0 ? is : 0;
        if (!err && !frame && l->state == SHI_UID_OPEN && shi_uid_link_events(l) == POLLIN)
            return 0;
        err = err ? err : wait_for(l->fd, shi_uid_link_events(l), end_ns);
        int broken = err ? 0 : shi_uid_link_read(l);
        if (broken && frame && shi_uid_link_next(l, frame) == 1)
            return 0; /* the other end has sent it and closed the connection */
        err = err ? err : broken;
        if (err)
            return err;
    }
}

/* Connect and prove. limit_ms 0: no limit. 0, or -errno; -EACCES: the other end does not know the secret. */
static int dial(const struct shi_tcp_end *to, const uint64_t secret[2], int limit_ms, struct shi_uid_link *out)
{
    uint64_t end = limit_ms ? shi_now_ns() + (uint64_t)limit_ms * 1000000 : 0;
    int fd = connect_to(to, end), err = fd < 0 ? fd : shi_uid_link_open(out, fd, 1, secret);
    if (err)
        return err;
    err = exchange(out, NULL, end);
    if (err)
        shi_uid_link_close(out);
    return err;
}

int shi_uid_reach(const struct shi_uid *id, int limit_ms, struct shi_uid_link *up)
{
    struct shi_tcp_end at[SHI_UID_ADDRS];
    uint64_t secret[2];
    int n = shi_uid_addresses(id, at), refused = 0, err = -ECONNREFUSED;
    shi_uid_secret(id, secret);
    for (int i = 0; i < n && err; i++) {
        err = dial(&at[i], secret, limit_ms, up);
        refused += err == -ECONNREFUSED;
    }
    explicit_bzero(secret, sizeof secret);
    return !err ? 0 : refused == n ? -ECONNREFUSED : -ETIMEDOUT;
}

/* Listen where this process has met the one that made the id, for children. 0 or -errno. */
static int listen_beside(const struct shi_uid_link *l, struct shi_uid_own *own, struct shi_tcp_end *at)
{
    struct sockaddr_storage a;
    socklen_t bytes = sizeof a;
    if (getsockname(l->fd, (void *)&a, &bytes))
        return -errno;
    int err = shi_tcp_end_of((void *)&a, at);
    at->port = 0;
    int fd = err ? err : shi_uid_listen(at);
    if (fd < 0)
        return fd;
    own->fd[0] = fd;
    own->n = 1;
    return 0;
}

static int ask(struct shi_uid_link *l, uint32_t type, const void *payload, size_t bytes, struct shi_uid_frame *answer)
{
    int err = shi_uid_link_put(l, type, payload, bytes);
    return err ? err : exchange(l, answer, 0);
}

/* As the text of a refusal says. */
static int refused(const struct shi_uid_frame *f)
{
    shi_log_error("shmem_init: %.*s", (int)f->bytes, (const char *)f->payload);
    return -EPROTO;
}

static int broken(const char *whose, int err)
{
    shi_log_error("shmem_init: the connection to %s failed: %s", whose, strerror(-err));
    return err;
}

static int join_parent(struct shi_uid_tree *t, const struct shi_uid_seat *seat)
{
    struct shi_tcp_end at;
    struct shi_uid_join j = {.seat = seat->seat, .who = t->self};
    struct shi_uid_frame f;
    uint64_t secret[2];
    char where[80];
    if (seat->seat > 1) {
        shi_uid_link_close(&t->up);
        shi_uid_unpack(seat->parent_at, &at);
        shi_uid_print(&at, where, sizeof where);
        shi_uid_secret(&t->own.id, secret);
        int err = dial(&at, secret, 0, &t->up);
        explicit_bzero(secret, sizeof secret);
        if (!err)
            err = shi_uid_link_put(&t->up, SHI_UID_JOIN, &j, sizeof j);
        if (err)
            return broken(where, err);
    }
    int err = exchange(&t->up, &f, 0);
    if (!err && f.type == SHI_UID_REFUSED)
        return refused(&f);
    if (!err && (f.type != SHI_UID_JOINED || f.bytes != sizeof t->parent))
        err = -EPROTO;
    if (err)
        return broken("another PE, the parent of this one,", err);
    memcpy(&t->parent, f.payload, sizeof t->parent);
    shi_uid_clip(&t->parent);
    return 0;
}

/* This process comes after the start. */
static int take_table(struct shi_uid_tree *t, const struct shi_uid_frame *f)
{
    int err = shi_uid_data_up(t->self.pe, t->n_pes);
    err = err ? err : shi_uid_data_learn(f->payload, f->bytes);
    if (err)
        return broken("the process that made the unique id", err);
    shi_uid_link_close(&t->up);
    close(t->own.fd[0]);
    t->own.n = 0;
    t->is_new = 1;
    return 0;
}

int shi_uid_sit(struct shi_uid_tree *t)
{
    struct shi_uid_meet m = {.n_pes = t->n_pes, .who = t->self};
    struct shi_uid_seat seat;
    struct shi_uid_frame f;
    struct shi_tcp_end at;
    int err = listen_beside(&t->up, &t->own, &at);
    if (err) {
        shi_log_error("shmem_init: cannot listen for other PEs: %s", strerror(-err));
        return err;
    }
    shi_uid_pack(&at, m.at);
    err = ask(&t->up, SHI_UID_MEET, &m, sizeof m, &f);
    if (!err && f.type == SHI_UID_REFUSED)
        return refused(&f);
    if (!err && f.type == SHI_UID_TABLE)
        return take_table(t, &f);
    if (!err && (f.type != SHI_UID_SEAT || f.bytes != sizeof seat))
        err = -EPROTO;
    if (err)
        return broken("the process that made the unique id", err);
    memcpy(&seat, f.payload, sizeof seat);
    t->seat = seat.seat;
    return join_parent(t, &seat);
}
