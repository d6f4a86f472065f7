/*
 * oshrun_io.c - forward the PEs' output line by line, and standard input to PEs.
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

/* A destination of lines: standard output or standard error of oshrun. */
struct sink {
    int fd;
    int error; /* errno of the failed write; no further write is tried */
    bool regular;
    struct stream *midline; /* the stream whose line has no end yet */
    char *queue;
    size_t head, len, cap; /* queue[head .. head + len) is to be written */
};

/* A pipe from one PE, cut into lines. */
struct stream {
    int fd;
    int rank;
    int file; /* -1: none */
    struct sink *sink;
    char *buf;
    size_t len;
};

static struct sink sinks[2] = {{.fd = 1}, {.fd = 2}};
static struct sink *const sink_out = &sinks[0], *const sink_err = &sinks[1];
static struct stream *streams;
static struct pollfd *polled;
static struct stream **polled_stream;
static int first_rank, nstreams, open_streams;
static bool labels;
static bool (*heard)(const char *line, size_t n);

static int file_err; /* of the first write to a PE's file that failed */

/* Input for PEs that oshrun reads: each gets buf[0 .. len) before the next read. */
static struct {
    bool terminal;
    size_t len;
    char buf[4096];
    struct reader {
        int fd; /* -1: closed */
        size_t done;
    } *reader;
    int nreaders, nopen;
} typed;

void io_up(int first, int npes, bool label, bool (*listener)(const char *line, size_t n))
{
    struct stat st;

    first_rank = first;
    labels = label;
    heard = listener;
    nstreams = 2 * npes;
    streams = need(calloc(nstreams, sizeof *streams));
    polled = need(calloc(nstreams + npes + 16, sizeof *polled));
    polled_stream = need(calloc(nstreams, sizeof *polled_stream));
    for (int i = 0; i < nstreams; i++)
        streams[i] = (struct stream){.fd = -1, .rank = first + i / 2, .file = -1, .sink = &sinks[i % 2]};
    for (int i = 0; i < 2; i++)
        sinks[i].regular = !fstat(sinks[i].fd, &st) && S_ISREG(st.st_mode);
}

int io_files_up(const char *folder, int last, const char **failed)
{
    static char path[4096];
    int digits = snprintf(NULL, 0, "%d", last);

    *failed = folder;
    if (mkdir(folder, 0777) && errno != EEXIST)
        return -errno;
    *failed = path;
    for (int i = 0; i < nstreams; i++) {
        snprintf(path, sizeof path, "%s/pe.%0*d.%s", folder, digits, streams[i].rank, i % 2 ? "err" : "out");
        streams[i].file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        if (streams[i].file < 0)
            return -errno;
    }
    return 0;
}

static void file_add(struct stream *s, const char *data, size_t n)
{
    while (s->file >= 0 && n) {
        ssize_t done = write(s->file, data, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0) {
            if (!file_err)
                say("oshrun: cannot write the output of PE %d to its file: %s", s->rank, strerror(errno));
            file_err = errno;
            close(s->file);
            s->file = -1;
            return;
        }
        data += done;
        n -= done;
    }
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
    return file_err || (sink_out->error && sink_out->error != EPIPE) || (sink_err->error && sink_err->error != EPIPE);
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
    static struct stream own = {.fd = -1, .file = -1, .sink = &sinks[1]};
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
    if (s->file >= 0)
        close(s->file);
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
    file_add(s, s->buf + s->len, n);
    s->len += n;
    emit_lines(s);
    return n;
}

int stdin_open(bool several)
{
    int fd[2];

    typed.terminal = isatty(0);
    if (!typed.terminal && !several)
        return 0;
    if (pipe2(fd, O_CLOEXEC))
        return -errno;
    fcntl(fd[1], F_SETFL, O_NONBLOCK);
    typed.reader = need(realloc(typed.reader, (typed.nreaders + 1) * sizeof *typed.reader));
    typed.reader[typed.nreaders++] = (struct reader){.fd = fd[1]};
    typed.nopen++;
    return fd[0];
}

static void reader_close(struct reader *r)
{
    close(r->fd);
    r->fd = -1;
    typed.nopen--;
}

static bool foreground(void)
{
    return !typed.terminal || tcgetpgrp(0) == getpgrp();
}

/* What to poll: room in the pipes of those that have not got all of buf; else input, while oshrun may read it. Fills 1 +
 * nreaders entries. */
static void typed_poll(struct pollfd *p)
{
    int behind = 0;

    for (int i = 0; i < typed.nreaders; i++) {
        struct reader *r = &typed.reader[i];
        bool waits = r->fd >= 0 && r->done < typed.len;
        p[1 + i] = (struct pollfd){.fd = waits ? r->fd : -1, .events = POLLOUT};
        behind += waits;
    }
    p->fd = -1;
    if (typed.nopen && !behind && foreground())
        *p = (struct pollfd){.fd = 0, .events = POLLIN};
}

static void typed_read(void)
{
    ssize_t n = read(0, typed.buf, sizeof typed.buf);

    if (n < 0 && (errno == EINTR || errno == EAGAIN || (errno == EIO && !foreground())))
        return;
    typed.len = n > 0 ? n : 0;
    for (int i = 0; i < typed.nreaders; i++) {
        typed.reader[i].done = 0;
        if (!typed.len && typed.reader[i].fd >= 0)
            reader_close(&typed.reader[i]);
    }
}

static void typed_write(struct reader *r)
{
    ssize_t n = write(r->fd, typed.buf + r->done, typed.len - r->done);

    if (n < 0 && errno != EAGAIN && errno != EINTR)
        reader_close(r);
    else if (n > 0)
        r->done += n;
}

/* p: as filled by typed_poll, after poll. */
static void typed_move(const struct pollfd *p)
{
    if (p->revents)
        typed_read();
    for (int i = 0; i < typed.nreaders; i++)
        if (p[1 + i].revents)
            typed_write(&typed.reader[i]);
}

bool io_wait(struct pollfd *fds, int nfds, int timeout_ms)
{
    int n = 0, first, m = 0;

    for (int i = 0; i < nfds; i++)
        polled[n++] = fds[i];
    typed_poll(&polled[n]);
    n += 1 + typed.nreaders;
    for (int i = 0; i < 2; i++)
        polled[n++] = (struct pollfd){.fd = sinks[i].len ? sinks[i].fd : -1, .events = POLLOUT};
    first = n;
    for (int i = 0; i < nstreams; i++)
        if (streams[i].fd >= 0 && streams[i].sink->len < QUEUE_FULL) {
            polled_stream[m++] = &streams[i];
            polled[n++] = (struct pollfd){.fd = streams[i].fd, .events = POLLIN};
        }
    /* no event reports the return of oshrun to the foreground */
    if (typed.nopen && !foreground() && (timeout_ms < 0 || timeout_ms > 500))
        timeout_ms = 500;
    if (poll(polled, n, timeout_ms) < 0) {
        for (int i = 0; i < nfds; i++)
            fds[i].revents = 0;
        return errno == EINTR || errno == ENOMEM;
    }
    for (int i = 0; i < nfds; i++)
        fds[i].revents = polled[i].revents;
    typed_move(&polled[nfds]);
    for (int i = 0; i < m; i++)
        if (polled[first + i].revents)
            stream_read(polled_stream[i]);
    for (int i = 0; i < 2; i++)
        sink_flush(&sinks[i]);
    return true;
}

static void stream_drain(struct stream *s)
{
    while (s->fd >= 0 && stream_read(s) > 0)
        sink_flush(s->sink);
    if (s->fd >= 0)
        stream_close(s);
}

void streams_close(int rank)
{
    stream_drain(&streams[2 * (rank - first_rank)]);
    stream_drain(&streams[2 * (rank - first_rank) + 1]);
}

void io_drain(void)
{
    for (int i = 0; i < nstreams; i++)
        stream_drain(&streams[i]);
    sink_flush(sink_out);
    sink_flush(sink_err);
}

bool output_left(void)
{
    return sink_out->len || sink_err->len;
}
