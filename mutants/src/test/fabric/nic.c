/*
 * nic.c - packets between endpoints.
 *
 *   SEND          a message                                 initiator to target
 *   WRITE         a part of a write; LONG_WRITE: beyond WAW  initiator to target
 *   READ          the request; answered by DATA             initiator to target
 *   PLACED        a part of a confirmed operation is in memory  target to initiator
 *   HELLO         answered by WELCOME                       with `greets`
 *
 * An operation is transmitted in the order of posting to its peer, some ticks after its post and, with a fence, after all
 * before it are in place; a tick is one poll of the queue. A packet lands some ticks after its arrival, after those of its
 * endpoint that the profile's message order names.
 */
#include "double.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { PART_BYTES = 32768, HELD = 512, TICKS = 6, THREAD_US = 200 };

/* ---- sockets ------------------------------------------------------------------------------------------------------ */

static socklen_t name_of(uint64_t address, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(out->sun_path + 1, "fabric-double", 13);
    memcpy(out->sun_path + 14, &address, sizeof address);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 14 + sizeof address);
}

/* With FABRIC_RATE: is the wire still in use? Packets leave in groups of 10 ms, as the endpoint may be polled no more often. */
static int is_busy(struct endpoint *e, size_t bytes)
{
    enum { GROUP_NS = 10000000 };
    struct timespec t;
    if (!e->rate)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    uint64_t now = (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
    if (now < e->free_ns)
        return 1;
    e->free_ns = (now - e->free_ns > GROUP_NS ? now - GROUP_NS : e->free_ns) + bytes * 1000000000 / e->rate;
    return 0;
}

/* 0: sent; 1: the socket is full, or the wire in use; or -errno. */
static int transmit(struct endpoint *e, uint64_t to, const struct head *h, const void *data)
{
    struct sockaddr_un name;
    struct head own = *h;
    struct iovec v[2] = {{&own, sizeof own}, {(void *)data, h->bytes}};
    struct msghdr m = {.msg_name = &name, .msg_namelen = name_of(to, &name), .msg_iov = v, .msg_iovlen = 2};
    own.job = e->job;
    if (is_busy(e, h->bytes))
        return 1;
    if (sendmsg(e->fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
        return 0;
    return errno == EAGAIN || errno == ENOBUFS || errno == EINTR ? 1 : -errno;
}

/* A random delay, 0 in four of five cases, so that the order varies without loss of speed. */
static uint64_t later(const struct endpoint *e)
{
    return e->cq->tick + (below(5) ? 0 : below(TICKS));
}

/* ---- completions -------------------------------------------------------------------------------------------------- */

static struct completion *complete(struct endpoint *e, void *context, uint64_t flags, size_t bytes, int err)
{
    struct cq *q = e->cq;
    struct completion *c = calloc(1, sizeof *c);
    if (!c)
        misuse("out of memory");
    *c = (struct completion){.due = later(e),
                             .entry = {.op_context = context, .flags = flags, .len = bytes, .err = err}};
    *q->last = c;
    q->last = &c->next;
    return c;
}

/* A random one of the due completions, moved to the front. NULL: none. */
struct completion *nic_completion(struct cq *q)
{
    struct completion **choice = NULL;
    uint32_t n = 0;
    int in_order = 0;
    for (struct completion **at = &q->first; *at; at = &(*at)->next) {
        if ((*at)->due <= q->tick && !((*at)->in_order && in_order) && below(++n) == 0)
            choice = at;
        in_order |= (*at)->in_order;
    }
    if (!choice)
        return NULL;
    struct completion *c = *choice;
    if (choice != &q->first) {
        *choice = c->next;
        if (!c->next)
            q->last = choice;
        c->next = q->first;
        q->first = c;
    }
    return c;
}

/* The operation has ended. */
static void finish(struct endpoint *e, struct op *o, int err)
{
    if (!o->silent)
        e->in_flight--;
    if (!o->silent || err)
        complete(e, o->context, o->flags, 0, err);
    free(o->owned);
    free(o);
}

/* ---- peers -------------------------------------------------------------------------------------------------------- */

static struct peer *peer_of(struct endpoint *e, uint64_t address)
{
    for (struct peer *p = e->peers; p; p = p->next)
        if (p->address == address)
            return p;
    struct peer *p = calloc(1, sizeof *p);
    if (!p)
        misuse("out of memory");
    *p = (struct peer){.next = e->peers, .address = address, .state = e->profile->greets ? UNKNOWN : MET,
                       .posted.last = &p->posted.first, .answers.last = &p->answers.first, .arrived_last = &p->arrived};
    e->peers = p;
    return p;
}

static void append(struct op_queue *q, struct op *o)
{
    *q->last = o;
    q->last = &o->next;
}

static uint64_t sum_of(const struct op *o)
{
    uint64_t sum = 14695981039346656037u;
    for (size_t i = 0; i < o->head.total && i < MESSAGE_BYTES; i++)
        sum = (sum ^ (unsigned char)o->buf[i]) * 1099511628211u;
    return sum;
}

void nic_post(struct endpoint *e, uint64_t to, struct op *o)
{
    o->head.from = e->address;
    o->head.op = ++e->ops;
    o->due = later(e);
    o->sum = o->head.kind == SEND ? sum_of(o) : 0;
    append(&peer_of(e, to)->posted, o);
}

/* ---- out ---------------------------------------------------------------------------------------------------------- */

/* The first operation of the queue has been transmitted. One that is confirmed only for a later fence completes now. */
static void transmitted(struct endpoint *e, struct peer *p, struct op_queue *q, int err)
{
    struct op *o = q->first;
    q->first = o->next;
    if (!q->first)
        q->last = &q->first;
    o->next = NULL;
    if (o->head.kind >= KINDS) { /* an answer */
        free(o->owned);
        free(o);
    } else if (err || !(o->head.confirm || o->head.kind == READ || e->fences)) {
        finish(e, o, err);
    } else {
        if (!o->silent && !o->head.confirm && o->head.kind != READ) {
            e->in_flight--;
            complete(e, o->context, o->flags, 0, 0);
            o->silent = 1;
        }
        o->next = e->waiting;
        e->waiting = o;
        p->waiting++;
    }
}

/* Transmit parts of the first operation of the queue. 0: all of it; 1: the socket is full. */
static int send_parts(struct endpoint *e, struct peer *p, struct op_queue *q)
{
    struct op *o = q->first;
    int carries = o->head.kind != READ && o->head.kind != PLACED, rc;
    size_t part = o->head.kind == SEND ? MESSAGE_BYTES : PART_BYTES;
    if (o->head.kind == SEND && sum_of(o) != o->sum)
        misuse("the buffer at %p of a message of %zu bytes was changed before its completion", (void *)o->buf,
               (size_t)o->head.total);
    if (o->fails) {
        transmitted(e, p, q, FI_EIO);
        return 0;
    }
    do {
        size_t left = o->head.total - o->sent;
        struct head h = o->head;
        h.off = o->sent;
        h.bytes = carries ? (uint32_t)(left < part ? left : part) : 0;
        h.confirm |= e->fences && h.kind < KINDS;
        rc = transmit(e, p->address, &h, carries ? o->buf + o->sent : NULL);
        if (rc > 0)
            return 1;
        o->sent += h.bytes;
    } while (!rc && carries && o->sent < o->head.total);
    transmitted(e, p, q, rc < 0 ? -rc : 0);
    return 0;
}

static int may_leave(const struct endpoint *e, const struct peer *p, const struct op *o, int at_once)
{
    return o && (at_once || o->due <= e->cq->tick) && !(o->fence && p->waiting);
}

static void send_to(struct endpoint *e, struct peer *p, int at_once)
{
    struct head hello = {.kind = HELLO, .from = e->address}, welcome = {.kind = WELCOME, .from = e->address};
    if (p->owes_welcome && transmit(e, p->address, &welcome, NULL) == 0)
        p->owes_welcome = 0;
    if (p->posted.first && p->state == UNKNOWN && transmit(e, p->address, &hello, NULL) == 0)
        p->state = ASKED;
    while (may_leave(e, p, p->answers.first, at_once) && !send_parts(e, p, &p->answers))
        ;
    while (p->state == MET && may_leave(e, p, p->posted.first, at_once) && !send_parts(e, p, &p->posted))
        ;
}

static void answer(struct endpoint *e, struct peer *p, enum kind kind, const struct head *to, size_t bytes, const void *data)
{
    struct op *o = calloc(1, sizeof *o);
    if (!o)
        misuse("out of memory");
    *o = (struct op){.head = {.kind = kind, .op = to->op, .from = e->address, .total = bytes}, .due = later(e)};
    if (data && !(o->buf = o->owned = malloc(bytes + 1)))
        misuse("out of memory");
    if (data)
        memcpy(o->buf, data, bytes);
    append(&p->answers, o);
}

/* ---- in ----------------------------------------------------------------------------------------------------------- */

static void copy(char *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* A part of the answer to operation h->op has arrived; the last part ends the operation. */
static void answered(struct endpoint *e, struct peer *p, const struct packet *k)
{
    struct op **at = &e->waiting;
    while (*at && (*at)->head.op != k->head.op)
        at = &(*at)->next;
    struct op *o = *at ? *at : p->posted.first; /* some of its parts may not have left yet */
    if (!o || o->head.op != k->head.op)
        misuse("an answer to no operation: a defect of the double itself");
    if (k->head.kind == DATA)
        (o->on_device ? hmem_write : copy)(o->buf + k->head.off, k->data, k->head.bytes);
    o->answered += k->head.kind == DATA ? k->head.bytes : k->head.total;
    if (o->answered < o->head.total)
        return;
    *at = o->next;
    p->waiting--;
    finish(e, o, 0);
}

/* A part of a write with immediate data is in memory: the last one makes the event. It has the order of the messages where
 * messages stay behind writes. */
static void count_part(struct endpoint *e, struct peer *p, const struct head *h)
{
    struct partial **at = &p->partials, *c;
    while (*at && (*at)->op != h->op)
        at = &(*at)->next;
    if (!(c = *at) && !(c = *at = calloc(1, sizeof *c)))
        misuse("out of memory");
    c->op = h->op;
    c->bytes += h->bytes;
    if (c->bytes < h->total)
        return;
    *at = c->next;
    free(c);
    struct completion *event = complete(e, NULL, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, h->total, 0);
    event->entry.data = h->data;
    event->in_order = (e->profile->order & FI_ORDER_SAW) != 0;
}

/* 0, or 1: no receive is posted for it. */
static int land(struct endpoint *e, struct peer *p, struct packet *k)
{
    const struct head *h = &k->head;
    struct receive *r = e->receives;
    char *at;
    if (h->kind == SEND) {
        if (!r)
            return 1;
        if (h->total > r->bytes)
            misuse("a message of %zu bytes for a receive of %zu", (size_t)h->total, r->bytes);
        memcpy(r->buf, k->data, h->total);
        e->receives = r->next;
        if (!e->receives)
            e->receives_last = &e->receives;
        complete(e, r->context, FI_RECV | FI_MSG, h->total, 0)->in_order = 1;
        free(r);
        if (h->confirm)
            answer(e, p, PLACED, h, h->total, NULL);
    } else if (h->kind == READ) {
        if (memory_of(e, h, FI_REMOTE_READ, &at)->view)
            hmem_flush();
        answer(e, p, DATA, h, h->total, at);
    } else {
        struct memory *m = memory_of(e, h, FI_REMOTE_WRITE, &at);
        (m->view ? hmem_write : copy)(at + h->off, k->data, h->bytes);
        if (h->has_data)
            count_part(e, p, h);
        if (h->confirm)
            answer(e, p, PLACED, h, h->bytes, NULL);
    }
    return 0;
}

/* The kinds that packets of one kind do not overtake: a bit for each. */
static unsigned stays_behind(uint64_t order, enum kind kind)
{
    static const uint64_t after[KINDS][KINDS] = {
        [SEND] = {FI_ORDER_SAS, FI_ORDER_SAW, FI_ORDER_SAW, FI_ORDER_SAR},
        [WRITE] = {FI_ORDER_WAS, FI_ORDER_WAW, 0, FI_ORDER_WAR},
        [LONG_WRITE] = {FI_ORDER_WAS, 0, 0, FI_ORDER_WAR},
        [READ] = {FI_ORDER_RAS, FI_ORDER_RAW, 0, FI_ORDER_RAR}};
    unsigned kinds = 0;
    for (int k = 0; k < KINDS; k++)
        kinds |= order & after[kind][k] ? 1u << k : 0;
    return kinds;
}

/* Land all packets that are due; where packets are unordered, later ones sometimes land first. */
static void land_all(struct endpoint *e, struct peer *p)
{
    unsigned before = 0; /* kinds of packets that have not landed */
    for (struct packet **at = &p->arrived, *k; (k = *at);) {
        int ready = k->due <= e->cq->tick && !(before & stays_behind(e->profile->order, k->head.kind));
        if (!ready || land(e, p, k)) {
            before |= 1u << k->head.kind;
            at = &k->next;
            continue;
        }
        *at = k->next;
        if (!k->next)
            p->arrived_last = at;
        e->held--;
        free(k);
    }
}

static void arrived(struct endpoint *e, struct packet *k)
{
    struct peer *p = peer_of(e, k->head.from);
    p->state = MET;
    p->owes_welcome |= k->head.kind == HELLO;
    if (k->head.kind == DATA || k->head.kind == PLACED)
        answered(e, p, k);
    if (k->head.kind >= KINDS) {
        free(k);
        return;
    }
    k->next = NULL;
    k->due = later(e);
    *p->arrived_last = k;
    p->arrived_last = &k->next;
    e->held++;
}

static void receive_all(struct endpoint *e)
{
    static _Thread_local char buf[sizeof(struct head) + MESSAGE_BYTES];
    ssize_t n;
    while (e->held < HELD && (n = recv(e->fd, buf, sizeof buf, MSG_DONTWAIT)) >= (ssize_t)sizeof(struct head)) {
        struct packet *k = malloc(sizeof *k + (size_t)n);
        if (!k)
            misuse("out of memory");
        memcpy(&k->head, buf, (size_t)n);
        if (k->head.job != e->job)
            misuse("a packet of an endpoint with the key of another job");
        arrived(e, k);
    }
}

/* ---- progress ----------------------------------------------------------------------------------------------------- */

static void progress(struct endpoint *e, int at_once)
{
    if (at_once || e->cq->tick % (uint64_t)(e->skips_polls + 1) == 0)
        receive_all(e);
    for (struct peer *p = e->peers; p; p = p->next) {
        land_all(e, p);
        send_to(e, p, at_once);
    }
}

void nic_progress(struct cq *q)
{
    q->tick++;
    hmem_progress();
    for (struct endpoint *e = q->endpoints; e; e = e->next)
        if (e->enabled)
            progress(e, 0);
}

/* Will the next ticks change anything? */
static int is_pending(const struct cq *q)
{
    int pending = q->first != NULL;
    for (const struct endpoint *e = q->endpoints; e; e = e->next) {
        pending |= e->held > 0;
        for (const struct peer *p = e->peers; p; p = p->next)
            pending |= p->posted.first || p->answers.first || p->owes_welcome;
    }
    return pending;
}

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int nic_wait(struct cq *q, int timeout_ms)
{
    for (long end = now_ms() + timeout_ms, left; nic_progress(q), !nic_completion(q);) {
        struct pollfd fd = {.fd = q->endpoints ? q->endpoints->fd : -1, .events = POLLIN};
        if ((left = end - now_ms()) <= 0)
            return 0;
        int ms = is_pending(q) ? 1 : (int)left;
        pthread_mutex_unlock(&fabric_lock);
        poll(&fd, 1, ms);
        pthread_mutex_lock(&fabric_lock);
    }
    return 1;
}

/* Progress without polls, for profiles with `has_thread`; it ends with the endpoint. */
static void *thread(void *arg)
{
    struct endpoint *e = arg;
    for (;;) {
        struct pollfd fd = {.fd = e->fd, .events = POLLIN};
        poll(&fd, 1, 10);
        pthread_mutex_lock(&fabric_lock);
        if (!e->enabled)
            break;
        e->cq->tick++;
        progress(e, 0);
        pthread_mutex_unlock(&fabric_lock);
        usleep(THREAD_US);
    }
    pthread_mutex_unlock(&fabric_lock);
    return NULL;
}

int nic_open(struct endpoint *e)
{
    static uint32_t endpoints;
    struct sockaddr_un name;
    e->address = (uint64_t)getpid() << 16 | endpoints++;
    e->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (e->fd < 0 || bind(e->fd, (struct sockaddr *)&name, name_of(e->address, &name)))
        return -errno;
    return e->profile->has_thread && pthread_create(&e->thread, NULL, thread, e) ? -FI_EAGAIN : 0;
}

/* Posted operations leave first, within a second, because the caller may already have their completions. The lists are
 * not freed, because the process ends soon. */
void nic_close(struct endpoint *e)
{
    for (long end = now_ms() + 1000; now_ms() < end && is_pending(e->cq);) {
        int left = 0;
        progress(e, 1);
        for (const struct peer *p = e->peers; p; p = p->next)
            left |= p->posted.first || p->answers.first;
        if (!left)
            break;
        pthread_mutex_unlock(&fabric_lock);
        usleep(THREAD_US);
        pthread_mutex_lock(&fabric_lock);
    }
    e->enabled = 0;
    if (e->profile->has_thread) {
        pthread_mutex_unlock(&fabric_lock);
        pthread_join(e->thread, NULL);
        pthread_mutex_lock(&fabric_lock);
    }
    close(e->fd);
}
