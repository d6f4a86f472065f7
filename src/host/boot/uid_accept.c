/* uid_accept.c - see uid_accept.h. */
#include "host/boot/uid_accept.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/boot/uid_data.h"
#include "host/util/base.h"

enum {
    PENDING_MAX = SHI_UID_ACCEPT_POLLS - SHI_UID_ADDRS,
    PENDING_MS = 10000, /* for the proof and the frame */
    CROWDED_MS = 1000   /* the same when others wait for a place */
};

static struct {
    struct shi_uid_own own;
    uint64_t secret[2];
    struct pending {
        struct shi_uid_link link;
        uint64_t since_ns;
    } pending[PENDING_MAX];
} s;

void shi_uid_accept_up(const struct shi_uid_own *own)
{
    s.own = *own;
    shi_uid_secret(&own->id, s.secret);
    for (int i = 0; i < PENDING_MAX; i++)
        s.pending[i].link = (struct shi_uid_link){.fd = -1};
}

void shi_uid_accept_down(void)
{
    for (int i = 0; i < s.own.n; i++)
        close(s.own.fd[i]);
    for (int i = 0; i < PENDING_MAX; i++)
        shi_uid_link_close(&s.pending[i].link);
    explicit_bzero(&s.own, sizeof s.own);
    explicit_bzero(s.secret, sizeof s.secret);
}

int shi_uid_accept_is_up(void)
{
    return s.own.n > 0;
}

static int age_ms(const struct pending *p, uint64_t now)
{
    return (int)((now - p->since_ns) / 1000000);
}

/* A free place; else the oldest one's, if it has had time enough, or NULL. */
static struct pending *place(uint64_t now)
{
    struct pending *oldest = s.pending;
    for (struct pending *p = s.pending; p < s.pending + PENDING_MAX; p++) {
        if (!shi_uid_link_is(&p->link))
            return p;
        if (p->since_ns < oldest->since_ns)
            oldest = p;
    }
    return age_ms(oldest, now) >= CROWDED_MS ? oldest : NULL;
}

int shi_uid_accept_polls(struct pollfd *fds, int *limit_ms)
{
    uint64_t now = shi_now_ns();
    int n = 0;
    *limit_ms = -1;
    for (struct pending *p = s.pending; p < s.pending + PENDING_MAX; p++) {
        int left = PENDING_MS - age_ms(p, now);
        if (!shi_uid_link_is(&p->link))
            continue;
        fds[n++] = (struct pollfd){.fd = p->link.fd, .events = shi_uid_link_events(&p->link)};
        if (*limit_ms < 0 || left < *limit_ms)
            *limit_ms = left < 0 ? 0 : left;
    }
    if (!place(now))
        *limit_ms = CROWDED_MS / 10; /* listens again when one has had its time */
    for (int i = 0; i < s.own.n && place(now); i++)
        fds[n++] = (struct pollfd){.fd = s.own.fd[i], .events = POLLIN};
    return n;
}

static void accept_one(int listener, uint64_t now)
{
    struct pending *p = place(now);
    int fd = p ? accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1, on = 1;
    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    shi_uid_link_close(&p->link);
    p->since_ns = now;
    shi_uid_link_open(&p->link, fd, 0, s.secret);
}

static void serve(struct shi_uid_link *l, int (*frame)(struct shi_uid_link *l, const struct shi_uid_frame *f))
{
    struct shi_uid_frame f;
    int err = shi_uid_link_read(l), bad = 0;
    while (!bad && shi_uid_link_is(l)) {
        int is = shi_uid_link_next(l, &f);
        if (!is)
            break;
        bad = is < 0 ? is : frame(l, &f);
    }
    if (!err && !bad && shi_uid_link_is(l))
        err = shi_uid_link_write(l);
    if (err || bad)
        shi_uid_link_close(l);
}

void shi_uid_accept_serve(const struct pollfd *fds, int n, int (*frame)(struct shi_uid_link *l, const struct shi_uid_frame *f))
{
    uint64_t now = shi_now_ns();
    for (int k = 0; k < n; k++)
        for (struct pending *p = s.pending; fds[k].revents && p < s.pending + PENDING_MAX; p++)
            if (shi_uid_link_is(&p->link) && p->link.fd == fds[k].fd) {
                serve(&p->link, frame);
                break;
            }
    for (struct pending *p = s.pending; p < s.pending + PENDING_MAX; p++)
        if (shi_uid_link_is(&p->link) && age_ms(p, now) >= PENDING_MS)
            shi_uid_link_close(&p->link);
    for (int k = 0; k < n; k++)
        for (int i = 0; i < s.own.n; i++)
            if (fds[k].revents && fds[k].fd == s.own.fd[i])
                accept_one(s.own.fd[i], now);
}

void shi_uid_accept_forked(void)
{
    for (int i = 0; i < s.own.n; i++)
        close(s.own.fd[i]);
    for (int i = 0; i < PENDING_MAX; i++)
        if (shi_uid_link_is(&s.pending[i].link))
            close(s.pending[i].link.fd);
}

int shi_uid_accept_late(struct shi_uid_link *l, const struct shi_uid_meet *m, int n_pes)
{
    char why[100];
    struct shi_uid_bytes all = {.at = NULL};
    if (m->n_pes != n_pes || m->who.pe < 0 || m->who.pe >= n_pes) {
        snprintf(why, sizeof why, "this process is PE %d of %d, and the job has %d PEs", m->who.pe, m->n_pes, n_pes);
        return shi_uid_link_put(l, SHI_UID_REFUSED, why, strlen(why));
    }
    int err = shi_uid_data_take_all(&all);
    err = err ? err : shi_uid_link_put(l, SHI_UID_TABLE, all.at, shi_uid_bytes_used(&all));
    shi_uid_bytes_free(&all);
    return err;
}
