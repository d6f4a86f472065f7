/*
 * am.c - active messages of one node: forked processes are the PEs, and threads of one PE send while another polls.
 *
 * No launcher and no library: the test makes the node's file, polls itself, and sees inside.
 */
#include "host/net/am.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "host/net/am_shm.h"
#include "host/net/progress.h"
#include "host/util/base.h"

enum { MOST = 9, HEAP = 2 << 20 };

/* What the linked sources want of the rest: the test itself is the one who polls. */
static struct shi_progress_source source;
int shi_progress_add(struct shi_progress_source *s)
{
    source = *s;
    return 0;
}

static struct shi_shm shm;
static int me;
static char *shared; /* counters of the test, seen by all PEs */

static int in_device(const void *addr, size_t bytes)
{
    (void)addr;
    (void)bytes;
    return 0;
}

static void *device_of(int pe)
{
    (void)pe;
    return NULL;
}

static void device_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* A node of n PEs, in memory that forked children share: regions, each PE's inbox and heap. */
static void make_node(int n)
{
    size_t am = shi_round_up(shi_am_shared_bytes(n), SHI_PAGE_BYTES), each = am + HEAP;
    shm = (struct shi_shm){.n = n, .bytes = SHI_HUGE_BYTES + n * each};
    shm.base = mmap(NULL, shm.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct shi_shm_region *r = (struct shi_shm_region *)shm.base;
    shared = shm.base + SHI_HUGE_BYTES / 2;
    for (int i = 0; i < n; i++)
        r[i] = (struct shi_shm_region){.am_off = SHI_HUGE_BYTES + i * each, .heap_off = SHI_HUGE_BYTES + i * each + am,
                                       .heap_bytes = HEAP, .pe = n - 1 - i, .pid = getpid()};
    shm.region = r;
}

/* This process is PE pe; places run against the numbers, so that the two cannot be confused. */
static void be(int pe)
{
    struct shi_shm_region *r = (struct shi_shm_region *)shm.region;
    me = pe;
    int local = shm.n - 1 - pe;
    r[local].pid = getpid();
    shm.heap_lo = (uintptr_t)shm.base + r[local].heap_off;
    const struct shi_am_world w = {.pe = pe, .n_pes = shm.n, .local = local, .shm = &shm, .in_device = in_device,
                                   .device_of = device_of, .device_copy = device_copy};
    shi_am_up(&w, &shi_am_shm);
}

/* Run as n PEs; their failures are this process's. */
static void as_pes(int n, void (*program)(void))
{
    make_node(n);
    pid_t child[MOST];
    fflush(stdout);
    for (int i = 0; i < n; i++)
        if ((child[i] = fork()) == 0) {
            tap_pe_ = i;
            be(i);
            program();
            _exit(tap_bad_now_ != 0);
        }
    for (int i = 0; i < n; i++) {
        int status;
        waitpid(child[i], &status, 0);
        CHECKF(status == 0, "%d PEs: status %#x of PE %d", n, status, i);
    }
    munmap(shm.base, shm.bytes);
}

static void meet(int phase)
{
    int *came = (int *)shared;
    __atomic_fetch_add(came, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(came, __ATOMIC_ACQUIRE) < shm.n * phase)
        sched_yield();
}

/* ---- every PE floods every PE --------------------------------------------------------------------------------------- */

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

static void write_message(unsigned char *p, size_t bytes, unsigned r)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = (unsigned char)(r + i * 7);
}

static int is_message(const unsigned char *p, size_t bytes, unsigned r)
{
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != (unsigned char)(r + i * 7))
            return 0;
    return bytes == length(r);
}

static void take(int pe, const void *msg, size_t bytes, enum shi_am_id id)
{
    unsigned r = tap_random(&expect_random[pe]);
    CHECKF(is_message(msg, bytes, r) && (r >> 8) % SHI_AM_PULL == id && (uintptr_t)msg % 8 == 0,
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

/* Send until refused; 0 when all are sent. Every third message asks for more room than it uses. */
static int send_on(struct stream *s)
{
    for (; s->sent < EACH; s->sent++) {
        unsigned random = s->random, r = tap_random(&random);
        size_t bytes = length(r), ask = s->sent % 3 || bytes > SHI_AM_MAX_BYTES - 100 ? bytes : bytes + 100;
        void *room = shi_am_begin(s->pe, (r >> 8) % SHI_AM_PULL, ask);
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
            if ((me + i) % 2) { /* half of the pairs queue, the others come again */
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
    meet(1);
    CHECK(source.poll() == 0);
}

/* Catches: a message torn, lost, doubled, overtaken or wrongly attributed; a slot or bytes reused too early; a full FIFO
 * that stops both sides; a sender that is never noticed; fewer cores than PEs. */
static void floods(void)
{
    static const int sizes[] = {1, 2, 3, 9};
    for (int i = 0; i < 4; i++)
        as_pes(sizes[i], flood);
}

/* ---- many senders, few of them active ------------------------------------------------------------------------------- */

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

/* All write once, then the receiver polls until the others have gone cold, then the last one writes again. */
static void go_cold(void)
{
    shi_am_handle(SHI_AM_TAG, count);
    CHECK(shi_am_start() == 0);
    if (me) {
        send_one(0);
        meet(1);
        meet(2);
        send_one(0);
        meet(3);
        return;
    }
    meet(1);
    for (int i = 0; i < 5000; i++)
        source.poll();
    for (int i = 1; i < shm.n; i++)
        CHECKF(arrived[i] == 1, "PE %d: %d messages", i, arrived[i]);
    meet(2);
    meet(3);
    for (int i = 0; i < 100; i++)
        source.poll();
    for (int i = 1; i < shm.n; i++)
        CHECKF(arrived[i] == 2, "PE %d after a pause: %d messages", i, arrived[i]);
    send_one(0);
    source.poll();
    CHECK(arrived[0] == 1);
}

/* Catches: a FIFO that is forgotten when it has long been idle, or moved and then looked at twice or never. */
static void cold(void)
{
    as_pes(2, go_cold);
    as_pes(MOST, go_cold);
}

/* ---- turns ---------------------------------------------------------------------------------------------------------- */

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
    memset(x, 0xff, sizeof *x); /* ours again: whoever looks at it now is wrong */
    return 0;
}

static void take_turns(void)
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
    CHECK(shi_am_begin(0, SHI_AM_TAG, 1) == NULL); /* there is room, but others were first */
    may_pass[1] = 1;
    while (n_order < 12)
        CHECK(source.poll() > 0);
    for (int i = 0; i < 12; i++)
        CHECKF(order[i] == 100 + i, "turn %d is %d: a PE that has no room holds up another, or a queue overtakes itself", i,
               order[i]);
    CHECK(shi_am_begin(0, SHI_AM_TAG, 1) == NULL);
    send_one(1);
    may_pass[0] = 1;
    while (n_order < 24)
        CHECK(source.poll() > 0);
    for (int i = 0; i < 12; i++)
        CHECKF(order[12 + i] == i, "turn %d is %d", i, order[12 + i]);
    send_one(0);
    while (arrived[me] < 13 && source.poll() >= 0)
        ;
    shi_am_down(); /* what is on its way to PE 1 is dropped there or here, nobody minds */
}

static void turns_alone(void)
{
    if (me == 0)
        take_turns();
}

/* Catches: a send that overtakes those that wait, a waiting PE that stops the others, a turn used after it was done. */
static void turns(void)
{
    as_pes(2, turns_alone);
}

/* ---- memory ---------------------------------------------------------------------------------------------------------- */

static char private_memory[300000];

static void read_memory(void)
{
    struct shi_am_src *src = (struct shi_am_src *)(shared + 4096);
    struct shi_am_fetch f;
    char *heap = (char *)shm.heap_lo;
    CHECK(shi_am_start() == 0);
    if (me == 1) {
        write_message((unsigned char *)private_memory, sizeof private_memory, 11);
        write_message((unsigned char *)heap + 100, 5000, 22);
        CHECK(shi_am_expose(0, heap + 100, 5000, &src[0]) == 0);
        CHECK(shi_am_expose(0, heap + HEAP - 10, 10, &src[1]) == 0);
        int err = shi_am_expose(0, private_memory, sizeof private_memory, &src[2]);
        CHECKF(err == 0 || err == -EOPNOTSUPP, "private memory: %d", err);
        src[3].key = err == 0;
    }
    if (me == 2) { /* nobody there to read it */
        CHECK(shi_am_expose(2, private_memory, 10, &src[4]) == 0);
        CHECK(shi_am_fetch(2, &src[4], 2, private_memory + 20, 5, &f) == 0);
        ((struct shi_shm_region *)shm.region)[shm.n - 1 - 3].pid = 0x7ffffff0;
        CHECK(shi_am_expose(3, private_memory, 10, &src[4]) == -EOPNOTSUPP);
    }
    meet(1);
    if (me == 0) {
        static unsigned char to[300000];
        CHECK(shi_am_fetch(1, &src[0], 0, to, 5000, &f) == 0);
        for (int i = 0; i < 5000; i++)
            CHECKF(to[i] == (unsigned char)(22 + i * 7), "byte %d", i);
        CHECK(shi_am_fetch(1, &src[0], 4000, to, 7, &f) == 0 && to[0] == (unsigned char)(22 + 4000 * 7));
        CHECK(shi_am_fetch(1, &src[1], 0, to, 10, &f) == 0);
        if (src[3].key) {
            CHECK(shi_am_fetch(1, &src[2], 1, to, sizeof to - 1, &f) == 0);
            for (size_t i = 0; i < sizeof to - 1; i++)
                CHECKF(to[i] == (unsigned char)(11 + (i + 1) * 7), "private byte %zu", i);
            shi_am_withdraw(1, &src[2]);
        }
    }
    meet(2);
}

/* Catches: an offset from the wrong start, a length cut, a peer that is said to read what it cannot. */
static void memory(void)
{
    as_pes(4, read_memory);
}

/* ---- much of it, copied by both sides ---------------------------------------------------------------------------------- */

enum { MUCH = 3 << 20, ROUNDS = 100, READS = 6 /* of a PE at a time: more than there are jobs */ };

static unsigned char from_private[MUCH], to_private[READS][MUCH + 2];

/* Nowhere the same a piece further on. */
static unsigned char byte_at(size_t i, unsigned pattern)
{
    return (unsigned char)(pattern + i * 7 + (i >> 12) * 31 + (i >> 17) * 101);
}

static void fill(unsigned char *p, size_t bytes, unsigned pattern)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = byte_at(i, pattern);
}

struct read {
    struct shi_am_fetch f;
    size_t off, bytes;
    int over, err;
};

static int helped; /* reads of this PE that ended when their owner was through */

static void note_end(struct shi_am_fetch *f, int err)
{
    struct read *r = (struct read *)f;
    r->err = err;
    r->over++;
}

static void begin_read(struct read *r, int owner, const struct shi_am_src *src, unsigned char *to)
{
    *r = (struct read){.f.done = note_end, .off = r->bytes % 5000, .bytes = r->bytes};
    memset(to, 0x5a, r->bytes + 2);
    int err = shi_am_fetch(owner, src, r->off, to + 1, r->bytes, &r->f);
    if (err != -EINPROGRESS)
        note_end(&r->f, err);
    helped += err == -EINPROGRESS;
}

static void end_read(struct read *r, int owner, const struct shi_am_src *from, const unsigned char *to)
{
    unsigned pattern = (from->bytes == HEAP ? 22 : 11) + (unsigned)owner;
    size_t wrong = 0;
    while (!r->over)
        if (!source.poll())
            sched_yield();
    CHECKF(r->over == 1 && r->err == 0, "%zu bytes: %d ends, %d", r->bytes, r->over, r->err);
    for (size_t i = 0; i < r->bytes; i++)
        wrong += to[1 + i] != byte_at(r->off + i, pattern);
    CHECKF(!wrong, "%zu of %zu bytes from %zu are wrong", wrong, r->bytes, r->off);
    CHECKF(to[0] == 0x5a && to[r->bytes + 1] == 0x5a, "a byte beside %zu", r->bytes);
}

/* What `reader` may read of `owner`: its private memory and its heap. */
static struct shi_am_src *src_of(int owner, int reader, int heap)
{
    return (struct shi_am_src *)(shared + 4096) + (owner * MOST + reader) * 2 + heap;
}

static void own_much(void)
{
    fill(from_private, MUCH, 11 + (unsigned)me);
    fill((unsigned char *)shm.heap_lo, HEAP, 22 + (unsigned)me);
    for (int i = 0; i < shm.n; i++) {
        CHECK(shi_am_expose(i, (char *)shm.heap_lo, HEAP, src_of(me, i, 1)) == 0);
        int err = shi_am_expose(i, from_private, MUCH, src_of(me, i, 0));
        CHECKF(err == 0 || err == -EOPNOTSUPP, "private memory: %d", err);
        if (err)
            *src_of(me, i, 0) = *src_of(me, i, 1);
    }
}

static void read_round(int owner, unsigned *random)
{
    static struct read r[READS];
    int n = 1 + (int)(tap_random(random) % READS);
    const struct shi_am_src *from = src_of(owner, me, tap_random(random) % 2);
    for (int i = 0; i < n; i++) {
        r[i].bytes = 1 + tap_random(random) % (from->bytes - 5000);
        begin_read(&r[i], owner, from, to_private[i]);
    }
    for (int i = 0; i < n; i++)
        end_read(&r[i], owner, from, to_private[i]);
}

/* PEs 0 and 2 read from PE 1 and each other, a few reads at a time. PE 1 polls, then it does not, then it may not write. */
static void read_much(void)
{
    int *done = (int *)shared + 1;
    cpu_set_t cores;
    uint64_t until = shi_now_ns() + 20000000000ull;
    unsigned random = 17u + (unsigned)me;
    sched_getaffinity(0, sizeof cores, &cores);
    CHECK(shi_am_start() == 0);
    own_much();
    meet(1);
    for (int phase = 0; phase < 3; phase++) {
        if (me == 1 && phase == 2)
            for (int i = 0; i < shm.n; i += 2)
                ((struct shi_shm_region *)shm.region)[shm.n - 1 - i].pid = 0x7ffffff0;
        meet(2 + 2 * phase);
        for (int round = 0; me != 1 && round < ROUNDS; round++)
            read_round(round % 2 && phase < 2 ? 2 - me : 1, &random);
        while (me != 1 && phase == 0 && !helped && CPU_COUNT(&cores) > 1 && shi_now_ns() < until)
            read_round(1, &random);
        if (me != 1)
            __atomic_fetch_add(done, 1, __ATOMIC_RELEASE);
        while (me == 1 && phase != 1 && __atomic_load_n(done, __ATOMIC_ACQUIRE) < 2 * (phase + 1))
            if (!source.poll())
                sched_yield();
        meet(3 + 2 * phase);
    }
    CHECKF(me == 1 || helped > 0 || CPU_COUNT(&cores) == 1, "nobody helped");
}

/* Catches: a piece forgotten, doubled or in the wrong place, bytes beside it; a reader that ends before its owner's pieces
 * are there, or waits for one who does not poll or may not write; a job reused too early; a bound on reads at a time. */
static void much(void)
{
    as_pes(3, read_much);
}

/* PE 1 hears late that PE 0 wants help, when the same job is a read from PE 2. */
static void read_late(void)
{
    int *turn = (int *)shared + 1;
    CHECK(shi_am_start() == 0);
    own_much();
    meet(1);
    for (int round = 1; round <= ROUNDS; round++) {
        for (int owner = 1; me == 0 && owner <= 2; owner++) {
            struct read r = {.bytes = MUCH - 5000};
            __atomic_store_n(turn, owner == 2 ? round : 0, __ATOMIC_RELEASE);
            begin_read(&r, owner, src_of(owner, 0, 0), to_private[0]);
            end_read(&r, owner, src_of(owner, 0, 0), to_private[0]);
        }
        while (me == 1 && __atomic_load_n(turn, __ATOMIC_ACQUIRE) < round)
            sched_yield();
        for (uint64_t until = shi_now_ns() + 50000u * (unsigned)(round % 16); shi_now_ns() < until;)
            shi_relax();
        if (me == 1)
            source.poll();
        meet(1 + round);
    }
}

/* Catches: help with a job that is another's by now. */
static void late(void)
{
    as_pes(3, read_late);
}

/* ---- an end and a new beginning ---------------------------------------------------------------------------------------- */

static void end_and_begin(void)
{
    shi_am_handle(SHI_AM_TAG, count);
    if (me == 0) {
        CHECK(shi_am_start() == 0);
        for (int i = 0; i < 90; i++) /* more than half of a FIFO, long and short */
            if (shi_am_begin(1, SHI_AM_TAG, i % 50 ? 8 : 8000))
                shi_am_end(1, i % 50 ? 8 : 8000);
    }
    meet(1);
    shi_am_down(); /* PE 1 has never started */
    meet(2);
    be(me);
    CHECK(shi_am_start() == 0);
    CHECKF(source.poll() == 0 && arrived[0] == 0, "%d messages of the last job", arrived[0]);
    meet(3);
    if (me == 0)
        for (int i = 0; i < 120; i++) {
            CHECKF(shi_am_begin(1, SHI_AM_TAG, 8) != NULL, "no room for message %d", i);
            shi_am_end(1, 8);
        }
    meet(4);
    while (me == 1 && arrived[0] < 120)
        source.poll();
}

/* Catches: messages of before shmem_finalize after the next shmem_init, room lost to them. */
static void again(void)
{
    as_pes(2, end_and_begin);
}

/* ---- threads: the same PE sends and polls ----------------------------------------------------------------------------- */

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
    int queued; /* written by the poster and by its retry; R1 -> A1 by atomics, since the queue gives the turn back */
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

/* Catches, above all under ThreadSanitizer: an edge of the FIFO that is none, senders or pollers that meet. */
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

int main(void)
{
    RUN(floods, "1, 2, 3 and 9 PEs, everyone to everyone, until every FIFO is full");
    RUN(cold, "FIFOs that are idle for long");
    RUN(turns, "who waits for room goes first");
    RUN(memory, "memory that others read");
    RUN(much, "2 PEs read much of one that helps, that does not, that cannot");
    RUN(late, "help that comes when it is no longer asked for");
    RUN(again, "down and up");
    RUN(threads, "4 threads send, 2 poll");
    return tap_end();
}
