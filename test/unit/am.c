/* am.c - active messages of one node: forked processes are the PEs, and threads of one PE send while another polls. */
#include "am_node.h"

#include <errno.h>
#include <pthread.h>

/* ---- every PE floods every PE ------------------------------------------------------------------------------------ */

enum { EACH = 3000 };

struct stream {
    struct shi_am_pending_send pending_send;
    unsigned random;
    int pe, sent;
    int queued;
};
static unsigned expect_random[MOST];
static int arrived[MOST];

static size_t length(unsigned r)
{
    return r % 4 == 0 ? r / 4 % (SHI_AM_MAX_BYTES + 1) : r / 4 % 100;
}

static int is_message(const unsigned char *p, size_t bytes, unsigned r)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != (unsigned char)(r + i * 7))
            return 0;
    return bytes == length(r);
}

enum { TAKEN = SHI_AM_GPC + 1 }; /* the ids that the programs take */

static void take(int pe, const void *msg, size_t bytes, enum shi_am_id id)
{
    unsigned r = tap_random(&expect_random[pe]);
    CHECKF(is_message(msg, bytes, r) && (r >> 8) % TAKEN == id && (uintptr_t)msg % 8 == 0,
           "message %d of PE %d: %zu bytes of id %d", arrived[pe], pe, bytes, id);
    arrived[pe]++;
}

static void take_tag(int pe, const void *msg, size_t bytes)
{
    take(pe, msg, bytes, SHI_AM_TAG);
}

static void take_gpc(int pe, const void *msg, size_t bytes)
{
    take(pe, msg, bytes, SHI_AM_GPC);
}

/* Send until refused; 0 when all are sent. Every third message reserves more bytes than it uses. */
static int send_on(struct stream *s)
{
    for (; s->sent < EACH; s->sent++) {
        unsigned random = s->random, r = tap_random(&random);
        size_t bytes = length(r), ask = s->sent % 3 || bytes > SHI_AM_MAX_BYTES - 100 ? bytes : bytes + 100;
        void *room = shi_am_begin(s->pe, (r >> 8) % TAKEN, ask);
        if (!room)
            return -EAGAIN;
        write_message(room, bytes, r);
        shi_am_end(s->pe, bytes);
        s->random = random;
    }
    return 0;
}

static int retry_stream(struct shi_am_pending_send *pending_send)
{
    struct stream *s = (struct stream *)pending_send;
    int err = send_on(s);
    s->queued = err != 0;
    return err;
}

static unsigned seed(int from, int to)
{
    return 1u + (unsigned)from * 1000 + (unsigned)to;
}

static void flood(void)
{
    struct stream s[MOST];
    int left = shm.n * EACH;
    shi_am_handle(SHI_AM_TAG, take_tag);
    shi_am_handle(SHI_AM_GPC, take_gpc);
    CHECK(shi_am_start() == 0 && shi_am_start() == 0);
    for (int i = 0; i < shm.n; i++) {
        s[i] = (struct stream){.pending_send.retry = retry_stream, .pe = i, .random = seed(me, i)};
        expect_random[i] = seed(i, me);
    }
    for (int unsent = 1, idle = 0; unsent || left;) {
        unsent = 0;
        for (int i = 0; i < shm.n; i++) {
            unsent |= s[i].sent < EACH;
            if (s[i].queued || send_on(&s[i]) == 0)
                continue;
            if ((me + i) % 2) { /* half of the pairs queue, the others retry themselves */
                s[i].queued = 1;
                shi_am_queue(i, &s[i].pending_send);
            }
        }
        idle = source.poll() ? 0 : idle + 1;
        if (idle > 10)
            sched_yield();
        left = shm.n * EACH;
        for (int i = 0; i < shm.n; i++)
            left -= arrived[i];
    }
    sync_phase(1);
    CHECK(source.poll() == 0);
}

/* Catches: a message torn, lost, doubled, overtaken or with the wrong sender; a slot or bytes reused too early; a full
 * FIFO that blocks both sides; a sender that is never polled; the same with fewer cores than PEs. */
static void floods(void)
{
    static const int sizes[] = {1, 2, 3, 9};
    for (int i = 0; i < 4; i++)
        as_pes(sizes[i], flood);
}

/* ---- messages about as long as a slot -------------------------------------------------------------------------------------- */

enum { LENGTHS = 500 };
static size_t next_bytes;

static void take_next(int pe, const void *msg, size_t bytes)
{
    const unsigned char *p = msg;
    size_t wrong_bytes = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong_bytes += p[i] != (unsigned char)(bytes + i * 7);
    CHECKF(pe == 0 && bytes == next_bytes && !wrong_bytes, "message of %zu bytes: %zu bytes, %zu of them wrong", next_bytes, bytes,
           wrong_bytes);
    next_bytes++;
}

/* PE 0 sends to itself messages of 0 to LENGTHS bytes, as many as there is room for before it receives them. */
static void all_lengths(void)
{
    if (me)
        return;
    shi_am_handle(SHI_AM_TAG, take_next);
    CHECK(shi_am_start() == 0);
    for (size_t sent = 0; next_bytes <= LENGTHS;) {
        for (void *room; sent <= LENGTHS && (room = shi_am_begin(0, SHI_AM_TAG, sent)); sent++) {
            write_message(room, sent, (unsigned)sent);
            shi_am_end(0, sent);
        }
        int some = source.poll();
        CHECKF(some > 0, "message of %zu bytes does not come", next_bytes);
        if (!some)
            return;
    }
}

/* Catches: a message that is longer than its slot, so that it and the next one overwrite each other; slots of few and of many PEs. */
static void lengths(void)
{
    as_pes(1, all_lengths);
    as_pes(MANY, all_lengths);
}

/* ---- many senders, few of them active ---------------------------------------------------------------------------- */

static void count(int pe, const void *msg, size_t bytes)
{
    (void)msg;
    (void)bytes;
    arrived[pe]++;
}

static void send_one(int pe)
{
    while (!shi_am_begin(pe, SHI_AM_TAG, 8))
        source.poll();
    shi_am_end(pe, 8);
}

/* All send once; the receiver polls until it considers the others idle; then the last one sends again. */
static void go_cold(void)
{
    shi_am_handle(SHI_AM_TAG, count);
    CHECK(shi_am_start() == 0);
    if (me) {
        send_one(0);
        sync_phase(1);
        sync_phase(2);
        send_one(0);
        sync_phase(3);
        return;
    }
    sync_phase(1);
    for (int i = 0; i < 5000; i++)
        source.poll();
    for (int i = 1; i < shm.n; i++)
        CHECKF(arrived[i] == 1, "PE %d: %d messages", i, arrived[i]);
    sync_phase(2);
    sync_phase(3);
    for (int i = 0; i < 100; i++)
        source.poll();
    for (int i = 1; i < shm.n; i++)
        CHECKF(arrived[i] == 2, "PE %d after a pause: %d messages", i, arrived[i]);
    send_one(0);
    source.poll();
    CHECK(arrived[0] == 1);
}

/* Catches: a FIFO that is no longer polled after a long idle time, or is polled twice or never after a move. */
static void cold(void)
{
    as_pes(2, go_cold);
    as_pes(MOST, go_cold);
}

/* ---- pending sends ----------------------------------------------------------------------------------------------- */

static int order[64], n_order, may_pass[MOST];
struct numbered {
    struct shi_am_pending_send pending_send;
    int pe, number;
};

static int pass(struct shi_am_pending_send *pending_send)
{
    struct numbered *x = (struct numbered *)pending_send;
    if (!may_pass[x->pe])
        return -EAGAIN;
    void *room = shi_am_begin(x->pe, SHI_AM_TAG, 1);
    CHECK(room != NULL);
    shi_am_end(x->pe, 1);
    order[n_order++] = x->pe * 100 + x->number;
    memset(x, 0xff, sizeof *x); /* the buffer is free: later reads of it are errors */
    return 0;
}

static void pending_sends(void)
{
    struct numbered x[2][12];
    shi_am_handle(SHI_AM_TAG, count);
    CHECK(shi_am_start() == 0);
    for (int i = 0; i < 12; i++)
        for (int pe = 0; pe < 2; pe++) {
            x[pe][i] = (struct numbered){.pending_send.retry = pass, .pe = pe, .number = i};
            shi_am_queue(pe, &x[pe][i].pending_send);
        }
    CHECK(source.poll() == 0 && n_order == 0);
    CHECK(shi_am_begin(0, SHI_AM_TAG, 1) == NULL); /* a slot is free, but earlier sends wait */
    may_pass[1] = 1;
    while (n_order < 12)
        CHECK(source.poll() > 0);
    for (int i = 0; i < 12; i++)
        CHECKF(order[i] == 100 + i, "send %d is %d: a PE without slots delays another, or a queue is out of order", i,
               order[i]);
    CHECK(shi_am_begin(0, SHI_AM_TAG, 1) == NULL);
    send_one(1);
    may_pass[0] = 1;
    while (n_order < 24)
        CHECK(source.poll() > 0);
    for (int i = 0; i < 12; i++)
        CHECKF(order[12 + i] == i, "send %d is %d", i, order[12 + i]);
    send_one(0);
    while (arrived[me] < 13 && source.poll() >= 0)
        ;
    shi_am_down(); /* PE 1 or this PE drops messages on their way to PE 1 */
}

static void turns_alone(void)
{
    if (me == 0)
        pending_sends();
}

/* Catches: a send that overtakes pending ones, a PE without slots that delays the others, a pending send used after its
 * end. */
static void pending(void)
{
    as_pes(2, turns_alone);
}

/* ---- down and up again ------------------------------------------------------------------------------------------- */

static void end_and_begin(void)
{
    shi_am_handle(SHI_AM_TAG, count);
    if (me == 0) {
        CHECK(shi_am_start() == 0);
        for (int i = 0; i < 90; i++) /* more than half of a FIFO, long and short */
            if (shi_am_begin(1, SHI_AM_TAG, i % 50 ? 8 : 8000))
                shi_am_end(1, i % 50 ? 8 : 8000);
    }
    sync_phase(1);
    shi_am_down(); /* PE 1 has never started */
    sync_phase(2);
    be(me);
    CHECK(shi_am_start() == 0);
    CHECKF(source.poll() == 0 && arrived[0] == 0, "%d messages of the previous session", arrived[0]);
    sync_phase(3);
    if (me == 0)
        for (int i = 0; i < 120; i++) {
            CHECKF(shi_am_begin(1, SHI_AM_TAG, 8) != NULL, "no room for message %d", i);
            shi_am_end(1, 8);
        }
    sync_phase(4);
    while (me == 1 && arrived[0] < 120)
        source.poll();
}

/* Catches: messages from before shmem_finalize that arrive after the next shmem_init, or keep their slots. */
static void again(void)
{
    as_pes(2, end_and_begin);
}

/* ---- threads: the same PE sends and polls ------------------------------------------------------------------------ */

enum { THREADS = 4, POSTS = 20000 };
static long sums[THREADS];
static uint64_t last[THREADS], wrong;

static void add(int pe, const void *msg, size_t bytes)
{
    uint64_t x[2];
    (void)pe;
    memcpy(x, msg, sizeof x);
    const unsigned char *tail = msg;
    for (size_t i = sizeof x; i < bytes; i++)
        wrong += tail[i] != (unsigned char)x[1];
    wrong += x[1] != last[x[0]]++;
    __atomic_fetch_add(&sums[x[0]], 1, __ATOMIC_RELAXED);
}

struct poster {
    struct shi_am_pending_send pending_send;
    uint64_t who, next;
    int queued; /* written by the poster and by its retry; R1 -> A1, because the queue returns the pending send */
};

static int post(struct poster *p)
{
    size_t bytes = p->next % 5 == 0 ? 2000 : 16;
    uint64_t x[2] = {p->who, p->next};
    void *room = shi_am_begin(0, SHI_AM_TAG, bytes);
    if (!room)
        return -EAGAIN;
    memset(room, (int)(p->next & 0xff), bytes);
    memcpy(room, x, sizeof x);
    shi_am_end(0, bytes);
    p->next++;
    return 0;
}

static int retry_post(struct shi_am_pending_send *pending_send)
{
    struct poster *p = (struct poster *)pending_send;
    int err = post(p);
    if (!err)
        __atomic_store_n(&p->queued, 0, __ATOMIC_RELEASE);
    return err;
}

static void *poster(void *arg)
{
    struct poster *p = arg;
    while (p->next < POSTS) {
        if (post(p)) {
            __atomic_store_n(&p->queued, 1, __ATOMIC_RELAXED);
            shi_am_queue(0, &p->pending_send);
            while (__atomic_load_n(&p->queued, __ATOMIC_ACQUIRE))
                sched_yield();
        }
    }
    return NULL;
}

static void *poller(void *arg)
{
    for (long all = 0; all < (long)THREADS * POSTS;) {
        if (!source.poll())
            sched_yield();
        all = 0;
        for (int i = 0; i < THREADS; i++)
            all += __atomic_load_n(&sums[i], __ATOMIC_RELAXED);
    }
    return arg;
}

/* Catches, mainly under ThreadSanitizer: a missing ordering edge of the FIFO, two senders or two pollers at the same
 * time. */
static void threads(void)
{
    make_node(1);
    be(0);
    shi_am_handle(SHI_AM_TAG, add);
    CHECK(shi_am_start() == 0);
    pthread_t t[THREADS + 2];
    static struct poster p[THREADS];
    for (int i = 0; i < THREADS; i++) {
        p[i] = (struct poster){.pending_send.retry = retry_post, .who = (uint64_t)i};
        pthread_create(&t[i], NULL, poster, &p[i]);
    }
    for (int i = THREADS; i < THREADS + 2; i++)
        pthread_create(&t[i], NULL, poller, NULL);
    for (int i = 0; i < THREADS + 2; i++)
        pthread_join(t[i], NULL);
    CHECKF(wrong == 0, "%lu wrong", (unsigned long)wrong);
    shi_am_down();
}

/* Catches: memory that grows with the pairs of a node: 272 KiB each took 1.1 GB for 64 PEs. */
static void memory(void)
{
    size_t all = 64 * shi_am_shared_bytes(64), half = 32 * shi_am_shared_bytes(32), few = 4 * shi_am_shared_bytes(4);
    CHECKF(all <= (size_t)52 << 20, "64 PEs take %zu bytes", all);
    CHECKF(half <= (size_t)52 << 20, "32 PEs take %zu bytes", half);
    CHECKF(few <= (size_t)8 << 20, "4 PEs take %zu bytes", few);
}

enum { LONG = 8000 };

static void take_long(int pe, const void *msg, size_t bytes)
{
    CHECKF(is_message(msg, bytes, LONG * 4), "message %d is %zu bytes that were not sent", arrived[pe], bytes);
    arrived[pe]++;
}

/* Send long messages until there is no room. How many. */
static int fill(int pe)
{
    int n = 0;
    for (void *room; (room = shi_am_begin(pe, SHI_AM_TAG, LONG)); n++) {
        write_message(room, LONG, LONG * 4);
        shi_am_end(pe, LONG);
    }
    return n;
}

/* PE 0 fills its pool with messages to the others, which take them; then it sends one to itself. */
static void take_back(void)
{
    shi_am_handle(SHI_AM_TAG, take_long);
    CHECK(shi_am_start() == 0);
    for (int pe = 1; pe < 3 && me == 0; pe++)
        CHECK(fill(pe) > 0);
    CHECK(me != 0 || fill(0) == 0);
    sync_phase(1);
    while (me && source.poll() > 0)
        ;
    sync_phase(2);
    CHECK(me ? arrived[0] > 0 : fill(0) > 0);
}

/* Catches: memory of messages to some PEs that stays taken after they have read them, so that a message to another PE waits for
 * ever. */
static void others(void)
{
    as_pes(3, take_back);
}

/* Catches: more PEs of a node than an inbox has bits for, which would share them. */
static void too_many(void)
{
    enum { PES = 32769 };
    make_node(1);
    struct shi_shm large = shm;
    large.n = PES;
    const struct shi_am_world w = {.n_pes = PES, .shm = &large, .in_device = in_device, .device_of = device_of,
                                   .device_copy = device_copy};
    shi_am_up(&w, &shi_am_shm);
    CHECK(shi_am_start() == -ENOMEM);
}

int main(void)
{
    RUN(too_many, "more than 32,768 PEs of a node are refused");
    RUN(memory, "all messages of 32 and of 64 PEs of a node take at most 52 MiB");
    RUN(floods, "1, 2, 3 and 9 PEs, all to all, until every FIFO is full");
    RUN(lengths, "messages of every length up to 500 bytes, with 1 and with 33 PEs");
    RUN(cold, "FIFOs that are idle for long");
    RUN(pending, "pending sends go first");
    RUN(again, "messages of an earlier session");
    RUN(others, "a message takes the memory of messages that other PEs have read");
    RUN(threads, "4 threads send, 2 poll");
    return tap_end();
}
