/*
 * oshrun_io.c - forward the PEs' output line by line, and standard input to PE 0.
 *
 * Output of several PEs does not mix within a line of up to LINE bytes. A longer line is written in pieces; output of
 * another stream then starts on a new line. A slow reader blocks the PEs but never the event loop.
 */
#include "oshrun.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LINE = 64 << 10,
    QUEUE_FULL = 1 << 20, /* stop reading from the PEs above it */
    ATOMIC_WRITE = 4096,  /* a pipe that polls writable accepts this many bytes without blocking */
};

struct sink {
    int fd;
    int error; /* errno of the failed write; no further write is tried */
    bool regular;
    struct stream *midline; /* the stream whose line has no end yet */
    char *queue;
    size_t head, len, cap; /* queue[head .. head + len) is to be written */
};

struct stream {
    int fd;
    int rank;
    struct sink *sink;
    char *buf;
    size_t len;
};

static struct sink sinks[2] = {{.fd = 1}, {.fd = 2}};
struct sink *const sink_out = &sinks[0], *const sink_err = &sinks[1];
static struct stream *streams;
static struct pollfd *polled;
static struct stream **polled_stream;
static int first_rank, nstreams, open_streams;
static bool labels;
static bool (*heard)(const char *line, size_t n);

/* Input of a terminal for PE 0. to < 0: nothing to forward. */
static struct {
    int to;
    size_t head, len;
    char buf[4096];
} typed = {.to = -1};

static void *need(void *p)
{
    if (!p)
        out_of_memory();
    return p;
}

void io_up(int first, int npes, bool label, bool (*listener)(const char *line, size_t n))
{
    struct stat st;

    first_rank = first;
    labels = label;
    heard = listener;
    nstreams = 2 * npes;
    streams = need(calloc(nstreams, sizeof *streams));
    polled = need(calloc(nstreams + 16, sizeof *polled));
    polled_stream = need(calloc(nstreams, sizeof *polled_stream));
    for (int i = 0; i < nstreams; i++)
        streams[i] = (struct stream){.fd = -1, .rank = first + i / 2, .sink = &sinks[i % 2]};
    for (int i = 0; i < 2; i++)
        sinks[i].regular = !fstat(sinks[i].fd, &st) && S_ISREG(st.st_mode);
}

int stream_open(int rank, int which)
{
    struct stream *s = &streams[2 * (rank - first_rank) + which];
    int fd[2];

    if (pipe2(fd, O_CLOEXEC))
        return -errno;
    fcntl(fd[0], F_SETFL, O_NONBLOCK);
    s->fd = fd[0];
    open_streams++;
    return fd[1];
}

int streams_left(void)
{
    return open_streams;
}

int out_error(void)
{
    return sink_out->error;
}

bool output_lost(void)
{
    return (sink_out->error && sink_out->error != EPIPE) || (sink_err->error && sink_err->error != EPIPE);
}

static void sink_add(struct sink *k, const char *data, size_t n)
{
    if (k->error)
        return;
    if (k->head + k->len + n > k->cap) {
        if (k->head)
            memmove(k->queue, k->queue + k->head, k->len);
        k->head = 0;
        if (k->len + n > k->cap) {
            k->cap = 2 * (k->len + n);
            k->queue = need(realloc(k->queue, k->cap));
        }
    }
    memcpy(k->queue + k->head + k->len, data, n);
    k->len += n;
}

/* Write as much as the sink accepts without blocking. */
static void sink_flush(struct sink *k)
{
    while (k->len && !k->error) {
        struct pollfd p = {.fd = k->fd, .events = POLLOUT};
        size_t n = k->regular || k->len < ATOMIC_WRITE ? k->len : ATOMIC_WRITE;
        ssize_t done;
        if (!k->regular && poll(&p, 1, 0) < 1)
            return;
        done = write(k->fd, k->queue + k->head, n);
        if (done < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (done < 0) {
            k->error = errno;
            k->len = 0;
            return;
        }
        k->head += done;
        k->len -= done;
    }
    k->head = 0;
}

/* Queue a piece of stream s: the end of a line, or the first part of a line longer than LINE. */
static void emit(struct stream *s, const char *data, size_t n)
{
    struct sink *k = s->sink;
    char label[16];

    if (k->midline && k->midline != s) {
        sink_add(k, "\n", 1);
        k->midline = NULL;
    }
    if (labels && !k->midline)
        sink_add(k, label, snprintf(label, sizeof label, "[%d] ", s->rank));
    sink_add(k, data, n);
    k->midline = data[n - 1] == '\n' ? NULL : s;
}

void say(const char *format, ...)
{
    static struct stream own = {.fd = -1, .sink = &sinks[1]};
    char line[1024];
    va_list ap;
    bool labelled = labels;

    va_start(ap, format);
    vsnprintf(line, sizeof line - 1, format, ap);
    va_end(ap);
    strcat(line, "\n");
    labels = false;
    emit(&own, line, strlen(line));
    labels = labelled;
    sink_flush(sink_err);
}

static void emit_lines(struct stream *s)
{
    char *from = s->buf, *end = s->buf + s->len, *last = memrchr(s->buf, '\n', s->len), *newline;

    if (last && !labels && !(heard && s->sink == sink_err)) {
        emit(s, from, last + 1 - from);
        from = last + 1;
    }
    for (; last && from <= last; from = newline + 1) {
        newline = memchr(from, '\n', end - from);
        if (labels || !heard(from, newline - from))
            emit(s, from, newline + 1 - from);
    }
    if (end - from == LINE) {
        emit(s, from, LINE);
        from = end;
    }
    s->len = end - from;
    memmove(s->buf, from, s->len);
}

static void stream_close(struct stream *s)
{
    if (s->len && !(heard && s->sink == sink_err && heard(s->buf, s->len)))
        emit(s, s->buf, s->len);
    s->len = 0;
    if (s->sink->midline == s)
        emit(s, "\n", 1);
    close(s->fd);
    s->fd = -1;
    free(s->buf);
    s->buf = NULL;
    open_streams--;
}

/* Read once; the next poll reports what remains. Returns the bytes read, 0 when there are none now. */
static ssize_t stream_read(struct stream *s)
{
    ssize_t n;

    if (!s->buf)
        s->buf = need(malloc(LINE));
    n = read(s->fd, s->buf + s->len, LINE - s->len);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0) {
        stream_close(s);
        return 0;
    }
    s->len += n;
    emit_lines(s);
    return n;
}

int stdin_open(void)
{
    int fd[2];

    if (!isatty(0))
        return 0;
    if (pipe2(fd, O_CLOEXEC))
        return -errno;
    fcntl(fd[1], F_SETFL, O_NONBLOCK);
    typed.to = fd[1];
    return fd[0];
}

static void typed_close(void)
{
    close(typed.to);
    typed.to = -1;
}

/* What to poll for the terminal: room in the pipe, or input while oshrun is in the foreground. */
static void typed_poll(struct pollfd *p)
{
    p->fd = -1;
    if (typed.to >= 0 && typed.len)
        *p = (struct pollfd){.fd = typed.to, .events = POLLOUT};
    else if (typed.to >= 0 && tcgetpgrp(0) == getpgrp())
        *p = (struct pollfd){.fd = 0, .events = POLLIN};
}

static void typed_move(short revents)
{
    ssize_t n;

    if (!revents)
        return;
    if (!typed.len) {
        n = read(0, typed.buf, sizeof typed.buf);
        if (n < 0 && (errno == EINTR || errno == EAGAIN || (errno == EIO && tcgetpgrp(0) != getpgrp())))
            return;
        if (n <= 0) {
            typed_close();
            return;
        }
        typed.head = 0;
        typed.len = n;
    }
    n = write(typed.to, typed.buf + typed.head, typed.len);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        typed_close();
    else if (n > 0) {
        typed.head += n;
        typed.len -= n;
    }
}

void io_wait(struct pollfd *fds, int nfds, int timeout_ms)
{
    int n = 0, first, m = 0;

    for (int i = 0; i < nfds; i++)
        polled[n++] = fds[i];
    typed_poll(&polled[n++]);
    for (int i = 0; i < 2; i++)
        polled[n++] = (struct pollfd){.fd = sinks[i].len ? sinks[i].fd : -1, .events = POLLOUT};
    first = n;
    for (int i = 0; i < nstreams; i++)
        if (streams[i].fd >= 0 && streams[i].sink->len < QUEUE_FULL) {
            polled_stream[m++] = &streams[i];
            polled[n++] = (struct pollfd){.fd = streams[i].fd, .events = POLLIN};
        }
    /* no event reports the return of oshrun to the foreground */
    if (typed.to >= 0 && polled[nfds].fd < 0 && (timeout_ms < 0 || timeout_ms > 500))
        timeout_ms = 500;
    if (poll(polled, n, timeout_ms) < 0) {
        for (int i = 0; i < nfds; i++)
            fds[i].revents = 0;
        return;
    }
    for (int i = 0; i < nfds; i++)
        fds[i].revents = polled[i].revents;
    typed_move(polled[nfds].revents);
    for (int i = 0; i < m; i++)
        if (polled[first + i].revents)
            stream_read(polled_stream[i]);
    for (int i = 0; i < 2; i++)
        sink_flush(&sinks[i]);
}

void io_drain(void)
{
    for (int i = 0; i < nstreams; i++) {
        struct stream *s = &streams[i];
        while (s->fd >= 0 && stream_read(s) > 0)
            sink_flush(s->sink);
        if (s->fd >= 0)
            stream_close(s);
    }
    sink_flush(sink_out);
    sink_flush(sink_err);
}

bool output_left(void)
{
    return sink_out->len || sink_err->len;
}
