/*
 * soak_msg.c - tagged messages and global procedure calls of the soak test.
 *
 * Thread t sends to thread t of other PEs. The tag holds step, thread, source and number, so that a receive for any
 * message of its thread can identify it; messages of one source must arrive in the order of sending.
 */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"

enum { MOST = 6, MOST_BYTES = 200 << 10, CALLS = 4, CALL_BYTES = 3000 };
static const uint64_t of_thread = ~(uint64_t)0xffff; /* mask: the bits of step and thread */

/* ---- tagged messages: what is sent ---------------------------------------------------------------------------------- */

struct message {
    size_t bytes, from;
    int way;
};

static int messages(int source, int thread, int pe)
{
    struct dice d = dice(ROLL_TAG, source, thread, (uint64_t)pe);
    return roll(&d, 2) ? (int)roll(&d, MOST + 1) : 0;
}

static struct message message_of(int source, int thread, int pe, int i)
{
    struct dice d = dice(ROLL_TAG, source, thread, 1000 + (uint64_t)pe * MOST + (uint64_t)i);
    struct message m = {soak_length(&d, MOST_BYTES), roll(&d, PATTERN_BYTES - MOST_BYTES), (int)roll(&d, 4)};
    m.bytes -= roll(&d, 20) == 0 ? m.bytes : 0;
    return m;
}

static uint64_t tag_of(int thread, int source, int i)
{
    return soak.step << 24 | (uint64_t)thread << 16 | (uint64_t)source << 8 | (uint64_t)i;
}

struct sends {
    shmemx_tag_request_t request[MAX_PES * MOST];
    shmemx_tag_iov_t piece[MAX_PES * MOST][3];
    int n;
};

static void send_one(struct worker *w, struct sends *s, int pe, int i)
{
    struct message m = message_of(soak.me, w->id, pe, i);
    const char *data = soak.pattern[soak.me] + m.from;
    uint64_t tag = tag_of(w->id, soak.me, i);
    shmemx_tag_request_t *request = &s->request[s->n];
    shmemx_tag_iov_t *piece = s->piece[s->n++];
    switch (m.way) {
    case 0: shmemx_tag_issend(SHMEM_TEAM_WORLD, data, m.bytes, tag, pe, request); break;
    case 1:
        piece[0] = (shmemx_tag_iov_t){(void *)data, m.bytes / 3};
        piece[1] = (shmemx_tag_iov_t){NULL, 0};
        piece[2] = (shmemx_tag_iov_t){(void *)(data + m.bytes / 3), m.bytes - m.bytes / 3};
        shmemx_tag_isendv(SHMEM_TEAM_WORLD, piece, 3, tag, pe, request);
        break;
    default: shmemx_tag_isend(SHMEM_TEAM_WORLD, data, m.bytes, tag, pe, request);
    }
    w->ops++;
}

static void send_all(struct worker *w, struct sends *s)
{
    s->n = 0;
    for (int i = 0; i < MOST; i++)
        for (int k = 1; k <= soak.n; k++) {
            int pe = (soak.me + k) % soak.n;
            if (i < messages(soak.me, w->id, pe))
                send_one(w, s, pe, i);
        }
}

/* ---- tagged messages: what is received ------------------------------------------------------------------------------ */

/* Check that this is the next message of its source, complete or truncated to `room`. */
static void came(struct worker *w, const shmemx_tag_status_t *st, const char *data, size_t room, int next[])
{
    int source = (int)(st->tag >> 8 & 0xff), i = (int)(st->tag & 0xff);
    if (st->source != source || source >= soak.n || st->cancelled || st->tag != tag_of(w->id, source, i))
        soak_fail(w, "a message: tag %lx of PE %d in step %lx", (unsigned long)st->tag, st->source, (unsigned long)soak.step);
    if (next && next[source]++ != i)
        soak_fail(w, "message %d of PE %d arrived instead of %d", i, source, next[source] - 1);
    struct message m = message_of(source, w->id, soak.me, i);
    if (st->bytes != m.bytes || st->truncated != (m.bytes > room))
        soak_fail(w, "message %d of PE %d: %zu bytes, truncated %d; expected %zu into %zu", i, source, st->bytes,
                  st->truncated, m.bytes, room);
    soak_same(w, "a tagged message", (uint64_t)i, data, soak.pattern[source] + m.from, m.bytes < room ? m.bytes : room);
    w->ops++;
}

/* Post all receives, exact or for any message of this thread, and complete them in one of several ways. */
static void receive_posted(struct worker *w, struct dice *d, int n, int exact)
{
    shmemx_tag_request_t request[MAX_PES * MOST];
    shmemx_tag_status_t status[MAX_PES * MOST];
    int index[MAX_PES * MOST], next[MAX_PES] = {0}, posted = 0, found;
    char *buffer = malloc((size_t)n * MOST_BYTES + 1);
#define BUFFER(I) (buffer + (size_t)(I) * MOST_BYTES)
    for (int source = 0; exact && source < soak.n; source++)
        for (int i = messages(source, w->id, soak.me); i-- > 0; posted++)
            shmemx_tag_irecv(SHMEM_TEAM_WORLD, BUFFER(posted), MOST_BYTES, tag_of(w->id, source, i), SHMEMX_TAG_EXACT, source,
                             &request[posted]);
    for (; posted < n; posted++)
        shmemx_tag_irecv(SHMEM_TEAM_WORLD, BUFFER(posted), MOST_BYTES, tag_of(w->id, 0, 0), of_thread, SHMEMX_TAG_ANY_SOURCE,
                         &request[posted]);
    if (roll(d, 3) == 0) {
        shmemx_tag_wait_all(n, request, status);
    } else {
        for (int left = n; left; left -= found) {
            if (roll(d, 2)) {
                shmemx_tag_status_t st[MAX_PES * MOST];
                found = shmemx_tag_wait_some(n, request, index, st);
                for (int i = 0; i < found; i++)
                    status[index[i]] = st[i];
            } else {
                shmemx_tag_status_t st;
                int i = shmemx_tag_wait_any(n, request, &st);
                status[i] = st;
                found = 1;
            }
        }
    }
    for (int i = 0; i < n; i++)
        came(w, &status[i], BUFFER(i), MOST_BYTES, exact ? NULL : next);
    free(buffer);
}

/* Receive one message after the other, with or without a probe before. */
static void receive_each(struct worker *w, struct dice *d, int n)
{
    int next[MAX_PES] = {0};
    uint64_t tag = tag_of(w->id, 0, 0);
    for (int i = 0; i < n; i++) {
        shmemx_tag_status_t st, probed;
        shmemx_tag_message_t message;
        shmemx_tag_request_t request;
        size_t room = roll(d, 4) ? MOST_BYTES : soak_length(d, MOST_BYTES);
        switch (roll(d, 4)) {
        case 0:
            shmemx_tag_probe(SHMEM_TEAM_WORLD, tag, of_thread, SHMEMX_TAG_ANY_SOURCE, &probed);
            shmemx_tag_recv(SHMEM_TEAM_WORLD, w->in, room, probed.tag, SHMEMX_TAG_EXACT, probed.source, &st);
            break;
        case 1:
            shmemx_tag_mprobe(SHMEM_TEAM_WORLD, tag, of_thread, SHMEMX_TAG_ANY_SOURCE, &message, &probed);
            shmemx_tag_mrecv(&message, w->in, room, &st);
            break;
        case 2:
            while (!shmemx_tag_improbe(SHMEM_TEAM_WORLD, tag, of_thread, SHMEMX_TAG_ANY_SOURCE, &message, &probed))
                ;
            shmemx_tag_imrecv(&message, w->in, room, &request);
            while (!shmemx_tag_test(&request, &st))
                ;
            break;
        default: shmemx_tag_recv(SHMEM_TEAM_WORLD, w->in, room, tag, of_thread, SHMEMX_TAG_ANY_SOURCE, &st);
        }
        came(w, &st, w->in, room, next);
    }
}

/* A receive that no message matches must end when it is cancelled. */
static void cancel(struct worker *w)
{
    shmemx_tag_request_t request;
    shmemx_tag_status_t st = {0};
    shmemx_tag_irecv(SHMEM_TEAM_WORLD, w->want, 8, UINT64_MAX, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &request);
    shmemx_tag_cancel(&request);
    shmemx_tag_wait(&request, &st);
    if (!st.cancelled)
        soak_fail(w, "a receive that no message matches was not cancelled");
    w->ops++;
}

void soak_tag(struct worker *w)
{
    struct dice d = dice(ROLL_HERE, soak.me, w->id, 5);
    struct sends s;
    int n = 0;
    w->doing = "tagged messages";
    for (int source = 0; source < soak.n; source++)
        n += messages(source, w->id, soak.me);
    send_all(w, &s);
    if (roll(&d, 4) == 0)
        cancel(w);
    if (roll(&d, 2))
        receive_each(w, &d, n);
    else
        receive_posted(w, &d, n, (int)roll(&d, 2));
    shmemx_tag_wait_all(s.n, s.request, NULL);
}

/* ---- global procedure calls ----------------------------------------------------------------------------------------- */

static int handle_echo, handle_count, handle_add;
static uint64_t ran, due; /* sum of the headers that func got here, and the expected sum */

/* The reply is the data, each byte inverted. */
static int echo(shmemx_gpc_call_t *c)
{
    uint64_t value;
    memcpy(&value, c->hdr, sizeof value);
    __atomic_fetch_add(&ran, value, __ATOMIC_RELAXED);
    for (size_t i = 0; i < c->dlen; i++)
        ((char *)c->rdata)[i] = (char)~((const char *)c->data)[i];
    c->rdsize = c->dlen;
    return 0;
}

static int count(shmemx_gpc_call_t *c)
{
    *(long *)c->rdata = 1;
    c->rdsize = sizeof(long);
    return 0;
}

static int add(shmemx_gpc_call_t *c)
{
    *(long *)c->rdata += *(const long *)c->cdata;
    return 0;
}

void soak_msg_up(void)
{
    handle_echo = shmemx_gpc_register(echo);
    handle_count = shmemx_gpc_register(count);
    handle_add = shmemx_gpc_register_callback(add);
}

struct call {
    int used, pe;
    uint64_t value;
    size_t bytes, from;
};

static struct call call_of(int root, int thread, int i)
{
    struct dice d = dice(ROLL_GPC, root, thread, (uint64_t)i);
    struct call c = {roll(&d, 4) == 0, (int)roll(&d, (size_t)soak.n), any(&d), 0, 0};
    c.bytes = soak_length(&d, CALL_BYTES);
    c.from = roll(&d, PATTERN_BYTES - CALL_BYTES);
    return c;
}

/* One tree over random PEs; the reply is the number of ids that ran. */
static void chained(struct worker *w, struct dice *d)
{
    int list[MAX_PES], n = 0, with_root = 0;
    long reply = 0;
    for (int pe = 0; pe < soak.n; pe++)
        if (roll(d, 2)) {
            list[n++] = pe;
            with_root |= pe == soak.me;
        }
    int rc = shmemx_gpc_chained_exec(SHMEM_TEAM_WORLD, handle_count, handle_add, NULL, 0, NULL, 0, NULL, 0, &reply,
                                     sizeof reply, n, list, NULL, roll(d, 2) ? SHMEMX_GPC_BINARY : SHMEMX_GPC_BINOMIAL);
    if (rc || reply != n + !with_root)
        soak_fail(w, "a chained GPC to %d PEs%s returned %d, and %ld ran it", n, with_root ? "" : " and the root", rc, reply);
    w->ops++;
}

void soak_gpc(struct worker *w)
{
    struct dice d = dice(ROLL_HERE, soak.me, w->id, 6);
    shmemx_gpc_nbh_t nbh[CALLS];
    char reply[CALLS][CALL_BYTES], want[CALL_BYTES];
    w->doing = "GPCs";
    for (int i = 0; i < CALLS; i++) {
        struct call c = call_of(soak.me, w->id, i);
        shmemx_gpc_nbh_init(&nbh[i]);
        int rc = c.used ? shmemx_gpc_exec(SHMEM_TEAM_WORLD, handle_echo, c.pe, &c.value, sizeof c.value,
                                          soak.pattern[soak.me] + c.from, c.bytes, NULL, 0, reply[i], CALL_BYTES, &nbh[i])
                        : 0;
        if (rc)
            soak_fail(w, "a GPC to PE %d returned %d", c.pe, rc);
    }
    if (roll(&d, 16) == 0)
        chained(w, &d);
    for (int i = 0; i < CALLS; i++) {
        struct call c = call_of(soak.me, w->id, i);
        if (!c.used)
            continue;
        while (roll(&d, 2) && !shmemx_gpc_test(&nbh[i]))
            ;
        int rc = shmemx_gpc_wait(&nbh[i]);
        if (rc || nbh[i].rdsize != c.bytes)
            soak_fail(w, "a GPC to PE %d ended with %d and %zu bytes of %zu", c.pe, rc, nbh[i].rdsize, c.bytes);
        for (size_t k = 0; k < c.bytes; k++)
            want[k] = (char)~soak.pattern[soak.me][c.from + k];
        soak_same(w, "the reply of a GPC", (uint64_t)i, reply[i], want, c.bytes);
        w->ops++;
    }
}

void soak_gpc_verify(struct worker *w)
{
    for (int root = 0; w->id == 0 && root < soak.n; root++)
        for (int t = 0; t < soak.threads; t++)
            for (int i = 0; i < CALLS; i++) {
                struct call c = call_of(root, t, i);
                due += c.used && c.pe == soak.me ? c.value : 0;
            }
    uint64_t sum = __atomic_load_n(&ran, __ATOMIC_RELAXED);
    if (w->id == 0)
        soak_same(w, "the functions that GPCs ran here", 0, &sum, &due, sizeof sum);
}
