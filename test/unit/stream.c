/*
 * stream.c - the streams of a few PEs against an oracle, over a network inside this process (fabric.h).
 *
 * Random operations, polls and deliveries. After every operation that lands, and whenever a call reports a completion,
 * the oracle (oracle.h) checks the targets' memory. It asserts:
 *
 *   quiet    1: all operations of the lane to that PE before its first call are in place, all fetched data has arrived
 *   fence    no later operation is in place while an earlier one to the same PE is not
 *   signal   AFTER_WRITES: not in place before its data; a store to the sync area: not before any earlier operation
 *   after    called back, or 0: all earlier operations of the lane to that PE are in place
 *   idle     1: likewise
 *   local    1: no buffer of a write or read is in use
 *   records  applied once, in order; active messages likewise; replies have the requested data
 *   strangers  a message that is changed, cut, sent again or meant for another PE is dropped and counted
 *   at the end, when the network accepts all posts, all operations complete
 *   a transfer that fails, at once or later, ends the job with a line that names the PE and the cause
 *
 * stream [STEPS [SEED]]: steps over each network; by default as many as fit into a few seconds.
 */
#include "stream_ops.h"

#include <limits.h>
#include <setjmp.h>
#include <time.h>
#include <unistd.h>

#include "host/net/node/progress.h"
#include "host/net/stream/am_remote.h"
#include "host/net/stream/batch.h"
#include "host/util/log.h"

enum { STEPS = 2500000, SECONDS = TAP_SANITIZER ? 1 : 3, DRAIN = 20000, PHASE = 1000, FAILURES = 200, CHUNK_BYTES = 64 };

static int n_replies;
static int asleep; /* a PE that does not poll */
static long asleep_until;

/* ---- stubs of the library ----------------------------------------------------------------------------------------- */

static char last_words[300];
static jmp_buf died;
static int may_die;

void shi_log_debug(const char *fmt, ...)
{
    (void)fmt;
}

void shi_log_error(const char *fmt, ...)
{
    (void)fmt;
}

void shi_die(const char *routine, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(last_words, sizeof last_words, fmt, ap);
    va_end(ap);
    if (may_die)
        longjmp(died, 1);
    printf("Bail out! %s: %s\n", routine, last_words);
    exit(1);
}

void shi_am_remote_arrived(int pe, unsigned id, const void *msg, size_t bytes)
{
    uint64_t n;
    for (size_t i = 1; bytes > 8 && i < bytes / 8 - 1; i++)
        CHECKF(((const uint64_t *)msg)[i] == pattern_of(came[pe][fabric.pe], i), "word %zu of message %lu", i, came[pe][fabric.pe]);
    memcpy(&n, (const char *)msg + bytes - sizeof n, sizeof n);
    CHECKF(id == 1 && memcmp(msg, &n, sizeof n) == 0 && n == came[pe][fabric.pe], "message %lu of PE %d came as number %lu", n, pe,
           came[pe][fabric.pe]);
    came[pe][fabric.pe]++;
}

/* ---- runs --------------------------------------------------------------------------------------------------------- */

/* Every phase has its own mixture and network: few kinds of operations expose mistakes that others would hide. */
static void new_phase(void)
{
    static const unsigned most[ACTIONS] = {[PUT] = 12, [ADD] = 5, [FETCH_ADD] = 4, [GET] = 4, [READ_WORDS] = 4,
                                           [SYNC_STORE] = 4, [SEND] = 3, [AFTER] = 3, [FENCE] = 4, [LOCAL] = 3, [PING] = 3,
                                           [SESSION] = 1, [IDLE] = 4, [QUIET] = 6};
    unsigned kinds = 1 + fabric_below(6);
    deck[0] = PUT;
    deck[1] = QUIET;
    n_deck = 2;
    for (int a = 0; a < ACTIONS; a++)
        for (unsigned k = fabric_below(7) < kinds ? fabric_below(most[a] + 1) : 0; k > 0; k--)
            deck[n_deck++] = (enum action)a;
    for (int i = 0; i < 4; i++)
        ways[i] = fabric_below(3);
    fabric.pace = 1 << fabric_below(7);
    fabric.patience = 1 << fabric_below(14);
    fabric.refusals = 1 << (4 + fabric_below(10));
    asleep = (int)fabric_below(PES);
    asleep_until = fabric_below(4) ? 0 : fabric.now + fabric_below(2000);
}

static void step(void)
{
    unsigned what = fabric_below(8);
    int pe = (int)fabric_below(PES);
    if (what < 3) {
        fabric_tick();
        return;
    }
    fabric_be(pe);
    if (fabric_below(512) == 0)
        shi_batch_trim(shi_stream_net.lane[fabric_below(LANES)]);
    if (what < 6)
        act(pe);
    else if (pe != asleep || fabric.now > asleep_until)
        fabric_poll();
}

static int all_quiet(void)
{
    int all = 1;
    for (int pe = 0; pe < PES; pe++) {
        fabric_be(pe);
        for (int lane = 0; lane < LANES; lane++)
            all &= quiet(shi_stream_net.lane[lane], pe, lane, -1);
        all &= memcmp(sent, came, sizeof sent) == 0;
    }
    for (int i = 0; i < WATCHES; i++)
        all &= !watches[i].used;
    for (int i = 0; i < PES * LANES * FETCHES; i++)
        all &= !(&fetches[0][0][0])[i].used;
    for (size_t i = 0; i < sizeof flows / sizeof flows[0][0][0]; i++) {
        all &= (&flows[0][0][0])[i].n == 0;
        for (int slot = 0; slot < SLOTS; slot++)
            all &= !(&flows[0][0][0])[i].staged[slot].used;
    }
    return all;
}

/* The network now accepts all posts: all operations must complete, none lost and none done twice. */
static int drain(void)
{
    int rounds = 0;
    fabric.pace = 1;
    for (fabric.calm = 1; !all_quiet() && rounds < DRAIN; rounds++)
        for (int k = 0; k < 20; k++) {
            fabric_tick();
            fabric_be(k % PES);
            fabric_poll();
        }
    fabric.calm = 0;
    CHECKF(rounds < DRAIN, "an operation never completes");
    for (int pe = 0; pe < PES; pe++)
        for (int lane = 0; lane < LANES; lane++)
            for (int to = 0; to < PES; to++) {
                const struct area *a = &memory[to].area[pe][lane];
                const struct flow *f = &flows[pe][lane][to];
                CHECKF(a->count == f->counted && a->fetched == f->fetched && a->signal == f->signalled &&
                           memory[to].sync[pe][lane] == f->synced,
                       "PE %d lane %d to PE %d: %lu, %lu, %lu, %lu updates, not %lu, %lu, %lu, %lu", pe, lane, to, a->count,
                       a->fetched, a->signal, memory[to].sync[pe][lane], f->counted, f->fetched, f->signalled, f->synced);
            }
    return rounds < DRAIN;
}

static long n_steps = STEPS, n_done;
static unsigned seed = 1;
static clock_t limit; /* of processor time for one network; 0: none */

static struct shi_stream_region own[PES][SHI_REGIONS];

static void open_all(const struct shi_net_limits *limits)
{
    for (int pe = 0; pe < PES; pe++) {
        own[pe][SHI_REGION_HEAP] = (struct shi_stream_region){.base = (char *)memory[pe].area, .bytes = sizeof memory[pe].area};
        own[pe][SHI_REGION_DATA] = (struct shi_stream_region){.base = (char *)memory[pe].pattern, .bytes = sizeof memory[pe].pattern};
        own[pe][SHI_REGION_SYNC] = (struct shi_stream_region){.base = (char *)memory[pe].sync, .bytes = sizeof memory[pe].sync};
        own[pe][SHI_REGION_DEVICE] = (struct shi_stream_region){.base = (char *)&memory[pe], .bytes = sizeof memory[pe]};
        if (on_devices)
            fabric_hide(pe, &own[pe][SHI_REGION_DEVICE]);
    }
    fabric_open(limits, seed, own);
    for (int pe = 0; on_devices && pe < PES; pe++) {
        static char *chunks[PES];
        fabric_be(pe);
        chunks[pe] = chunks[pe] ? chunks[pe] : malloc(shi_pipeline_bytes(CHUNK_BYTES));
        if (!chunks[pe] || shi_pipeline_up(chunks[pe], CHUNK_BYTES))
            abort();
    }
}

/* failing, late: as in fabric.h. */
static void play(const struct shi_net_limits *limits, long steps, long failing, int late)
{
    memset(memory, 0, sizeof memory);
    memset(flows, 0, sizeof flows);
    memset(fetches, 0, sizeof fetches);
    memset(watches, 0, sizeof watches);
    memset(quiets, 0, sizeof quiets);
    memset(epoch, 0, sizeof epoch);
    memset(in_session, 0, sizeof in_session);
    memset(sent, 0, sizeof sent);
    memset(came, 0, sizeof came);
    asleep_until = 0;
    for (int pe = 0; pe < PES; pe++)
        for (int i = 0; i < FROM; i++)
            memory[pe].pattern[i] = (uint64_t)(pe * FROM + i) * 0x9e3779b97f4a7c15;
    open_all(limits);
    uint64_t dropped = shi_admit_dropped();
    fabric.strangers = 8;
    fabric.failing = failing;
    fabric.late = late;
    for (int pe = 0; pe < PES; pe++) /* as after 2^31 and 2^32 tries of streams that wait for buffers */
        for (int lane = 0; lane < LANES; lane++)
            fabric.net[pe].lane[lane]->failed_retries = lane ? UINT_MAX - 100 : INT_MAX - 100;
    clock_t began = clock();
    for (long i = 0; i < steps && (!limit || clock() - began < limit); i += PHASE, n_done += PHASE) {
        new_phase();
        for (int k = 0; k < PHASE; k++)
            step();
        if (!drain())
            return;
    }
    CHECKF(fabric.attacks && shi_admit_dropped() - dropped == fabric.attacks, "%lu of %lu forged messages are dropped",
           (unsigned long)(shi_admit_dropped() - dropped), fabric.attacks);
}

static void run(const struct shi_net_limits *limits)
{
    play(limits, n_steps, 0, 0);
}

/* Catches: a put that quiet, fence, after or a signal consider complete too early, with a provider that keeps order. */
static void ordered(void)
{
    run(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .ordered = SHI_NET_SAW | SHI_NET_WAW,
                                 .lane_cap = 32, .peer_cap = 12});
}

/* Catches: the same when only the completion of a write shows that it is in place. */
static void unordered(void)
{
    run(&(struct shi_net_limits){.short_bytes = 0, .rma_bytes = 1 << 20, .ordered = 0, .lane_cap = 48, .peer_cap = 24});
}

/* Catches: the same when immediate data shows at the target that a write is in place. */
static void reported(void)
{
    run(&(struct shi_net_limits){.short_bytes = 0, .rma_bytes = 1 << 20, .ordered = SHI_NET_IMMEDIATE, .lane_cap = 48,
                                 .peer_cap = 24});
}

/* Catches: a signal that waits until its data is in place, where the network lets it follow. */
static void follows(void)
{
    static const int orders[] = {SHI_NET_SAW | SHI_NET_WAW, SHI_NET_WAW, SHI_NET_IMMEDIATE, 0};
    for (int i = 0; i < 4; i++) {
        static uint64_t data[WORDS];
        struct shi_net_limits limits = {.short_bytes = 128, .rma_bytes = 1 << 20, .ordered = orders[i], .lane_cap = 48,
                                        .peer_cap = 24};
        open_all(&limits);
        fabric.calm = 1;
        fabric_be(0);
        struct shi_lane *l = shi_stream_net.lane[0];
        struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, memory[1].area[0][0].slot[0]);
        struct shi_remote_addr word = at_remote(1, SHI_REGION_HEAP, &memory[1].area[0][0].signal);
        CHECK(shi_stream_write(l, &there, data, sizeof data, NULL, NULL) == -EINPROGRESS);
        int rc = shi_stream_amo(l, &word, 8, SHI_AMO_ADD, 1, 0, NULL, SHI_STREAM_AFTER_WRITES, NULL);
        CHECKF(rc == (orders[i] ? 0 : -EAGAIN), "order %d: a signal behind a write returns %d", orders[i], rc);
    }
}

/* Is the lane quiet now? */
static int is_quiet(struct shi_lane *l, int pe)
{
    uint64_t wait = 0;
    return shi_stream_quiet(l, pe, &wait);
}

#include "stream_copies.h"

/* PE 0 starts something, if there is room. */
static void start(enum action what, struct shi_lane *l)
{
    static uint64_t data[WORDS], got;
    struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, memory[1].area[0][0].slot[0]);
    struct shi_reply reply = {.to = (char *)&got, .block = 8};
    switch (what) {
    case PUT: shi_stream_put(l, &there, data, sizeof data, 0, NULL); break;
    case SYNC_STORE: shi_stream_write(l, &there, data, sizeof data, NULL, NULL); break;
    case FETCH_ADD: shi_stream_amo(l, &there, 8, SHI_AMO_ADD, 1, 0, &reply, 0, NULL); break;
    default: shi_stream_read(l, &there, data, sizeof data, NULL);
    }
}

/* Catches: a quiet, or a wait for buffers, that waits for what is started after it. */
static void endless(void)
{
    static const int orders[] = {SHI_NET_SAW | SHI_NET_WAW, SHI_NET_WAW, SHI_NET_IMMEDIATE, 0};
    static const enum action kinds[] = {PUT, SYNC_STORE, FETCH_ADD, READ_WORDS};
    for (int i = 0; i < 32; i++) {
        open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .ordered = orders[i % 4], .lane_cap = 48,
                                          .peer_cap = 24});
        fabric.calm = 1;
        fabric_be(0);
        struct shi_lane *l = shi_stream_net.lane[0];
        uint64_t wait = 0;
        int tries = 0, done = 0;
        for (; !done && tries < DRAIN; tries++) {
            start(kinds[i / 4 % 4], l);
            done = i < 16 ? shi_stream_quiet(l, -1, &wait) : shi_stream_local(l, &wait);
            fabric_tick();
            fabric_be(tries & 1);
            fabric_poll();
            fabric_be(0);
        }
        CHECKF(done, "order %d, action %d: %s never ends", orders[i % 4], kinds[i / 4 % 4], i < 16 ? "quiet" : "local");
    }
}

enum waiting { SIGNAL_BEHIND, RECORD_BEHIND, WRITE_BEHIND, CONFIRMATION, WAITINGS };

static int try_behind(enum waiting what, struct shi_lane *l, struct shi_after *a, struct shi_stream_wait *w)
{
    static uint64_t data[WORDS];
    struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, memory[1].area[0][0].slot[0]);
    struct shi_remote_addr word = at_remote(1, SHI_REGION_HEAP, &memory[1].area[0][0].signal);
    switch (what) {
    case SIGNAL_BEHIND: return shi_stream_amo(l, &word, 8, SHI_AMO_ADD, 1, 0, NULL, SHI_STREAM_AFTER_WRITES, w);
    case RECORD_BEHIND: return shi_stream_put(l, &word, data, 8, 0, w);
    case WRITE_BEHIND: return shi_stream_write(l, &there, data, sizeof data, NULL, w);
    default: return shi_stream_after(l, 1, a, 0, w);
    }
}

static void confirmed_at_last(struct shi_after *a)
{
    (void)a;
}

/* Catches: a signal, a record or write behind a fence, or a confirmation, that waits for what other threads start later. */
static void served(void)
{
    static const int orders[] = {SHI_NET_SAW | SHI_NET_WAW, SHI_NET_WAW, SHI_NET_IMMEDIATE, 0};
    static const enum action kinds[] = {PUT, SYNC_STORE, READ_WORDS};
    static struct shi_after a;
    for (int i = 0; i < 4 * 3 * 2 * WAITINGS; i++) {
        int order = orders[i % 4], fences = i / 12 % 2;
        enum action kind = kinds[i / 4 % 3];
        enum waiting what = (enum waiting)(i / 24);
        open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .ordered = order, .lane_cap = 48,
                                          .peer_cap = 24});
        fabric.calm = 1;
        fabric_be(0);
        struct shi_lane *l = shi_stream_net.lane[0];
        struct shi_stream_wait w = {0};
        int rc = -EAGAIN, tries = 0;
        a = (struct shi_after){.done = confirmed_at_last};
        start(SYNC_STORE, l);
        start(PUT, l);
        shi_stream_fence(l);
        for (; rc == -EAGAIN && tries < DRAIN; tries++) {
            rc = try_behind(what, l, &a, &w);
            if (fences)
                shi_stream_fence(l);
            start(kind, l);
            fabric_tick();
            fabric_be(tries & 1);
            fabric_poll();
            fabric_be(0);
        }
        CHECKF(rc != -EAGAIN, "order %d, others start %d, fences %d: call %d is refused for ever", order, kind, fences, what);
    }
}

/* Three threads put as much as there is room for, and one tries after them. Catches: one that never finds room; more messages that
 * wait than the limit and one for each thread. */
static void overtaken(void)
{
    enum { THREADS = 3, READY = 4 };
    static uint64_t data[WORDS];
    struct shi_stream_wait other[THREADS] = {{0}}, w = {0};
    open_all(&(struct shi_net_limits){.short_bytes = 0, .rma_bytes = 1 << 20, .ordered = SHI_NET_SAW | SHI_NET_WAW,
                                      .lane_cap = 3, .peer_cap = 2});
    fabric.calm = 1;
    fabric_be(0);
    struct shi_lane *l = shi_stream_net.lane[0];
    struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, memory[1].area[0][0].slot[0]);
    int rc = 0, refused = 0, found = 0;
    for (int tries = 0; tries < DRAIN; tries++) {
        for (int i = 0; i < THREADS; i++)
            while ((rc = shi_stream_put(l, &there, data, sizeof data, 0, &other[i])) == 0)
                other[i] = (struct shi_stream_wait){0};
        rc = shi_stream_put(l, &there, data, sizeof data, 0, &w);
        refused += rc != 0;
        found += rc == 0 && w.since;
        if (rc == 0)
            w = (struct shi_stream_wait){0};
        CHECKF(l->to[1].n_ready <= READY + THREADS + 1, "%d messages wait", l->to[1].n_ready);
        fabric_tick();
        fabric_be(tries & 1);
        fabric_poll();
        fabric_be(0);
    }
    CHECKF(refused && found, "a put was refused %d times and found room %d times", refused, found);
}

/* Catches: puts to a PE that cannot apply them without end, so that it keeps them until it has no memory; one that then waits for ever. */
static void far_ahead(void)
{
    enum { THREADS = 3 };
    static uint64_t data[WORDS];
    struct shi_stream_wait w[THREADS] = {{0}};
    open_all(&(struct shi_net_limits){.short_bytes = 0, .rma_bytes = 1 << 20, .ordered = SHI_NET_SAW | SHI_NET_WAW,
                                      .lane_cap = 48, .peer_cap = 24});
    fabric.calm = 1;
    fabric_be(0);
    struct shi_lane *l = shi_stream_net.lane[0];
    const struct shi_order *o = &l->to[1].order;
    struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, memory[1].area[0][0].slot[0]);
    uint64_t stopped = 0, put[THREADS] = {0}, before = 0;
    for (int i = 0; i < 2 * DRAIN; i++) {
        int polls = i >= DRAIN; /* does PE 1? */
        for (int t = THREADS - 1; t >= 0; t--) /* thread 0 comes last, and tries once */
            while (shi_stream_put(l, &there, data, sizeof data, 0, &w[t]) == 0) {
                w[t] = (struct shi_stream_wait){0};
                put[t]++;
                if (t == 0)
                    break;
            }
        CHECKF(o->sent_seq - o->acked_seq <= SHI_ORDER_MOST + THREADS, "%lu messages are not acknowledged", o->sent_seq - o->acked_seq);
        stopped = i == DRAIN - 1 ? o->sent_seq : stopped;
        fabric_tick();
        fabric_be(i & polls);
        fabric_poll();
        fabric_be(0);
        before = i == DRAIN - 1 ? put[0] : before;
    }
    CHECKF(stopped >= SHI_ORDER_MOST && o->sent_seq > 2 * stopped, "%lu messages sent, then %lu", stopped, o->sent_seq);
    for (int t = 0; t < THREADS; t++)
        CHECKF(put[t] > before, "thread %d has put %lu times", t, put[t]);
}

/* Messages that PE 0 sends for n puts and a quiet. */
static uint64_t messages_for(int n)
{
    static uint64_t data[WORDS];
    fabric_be(0);
    struct shi_lane *l = shi_stream_net.lane[0];
    struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, memory[1].area[0][0].slot[0]);
    uint64_t before = l->to[1].order.sent_seq;
    for (int i = 0; i < n; i++)
        CHECK(shi_stream_put(l, &there, data, sizeof data, 0, NULL) == 0);
    for (int i = 0; !is_quiet(l, 1) && i < DRAIN; i++) {
        fabric_tick();
        fabric_be(i & 1);
        fabric_poll();
        fabric_be(0);
    }
    CHECK(is_quiet(l, 1));
    return l->to[1].order.sent_seq - before;
}

/* Catches: a quiet that sends a message of its own, although earlier ones show that it will follow the put. */
static void expected(void)
{
    open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24,
                                      .ordered = SHI_NET_SAW | SHI_NET_WAW});
    fabric.calm = 1;
    for (int turn = 0; turn < 6; turn++) {
        int n = turn < 3 ? 1 : 3;
        uint64_t messages = messages_for(n);
        CHECKF(turn % 3 == 0 || messages == (uint64_t)n, "%d puts and a quiet take %lu messages", n, messages);
    }
}

static void ignore_read(struct shi_net_req *r, int err)
{
    (void)r;
    CHECK(err == 0);
}

static void count_reply(struct shi_reply *r)
{
    (void)r;
    n_replies++;
}

/* Catches: a fetch whose reply does not acknowledge it, so that every eighth one costs a message more. */
static void reply_acknowledges(void)
{
    enum { FETCHED = 4 * SHI_ORDER_ACK_EVERY };
    static uint64_t old;
    open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24,
                                      .ordered = SHI_NET_SAW | SHI_NET_WAW});
    fabric.calm = 1;
    n_replies = 0;
    for (int n = 0; n < FETCHED; n++) {
        struct shi_lane *l = shi_stream_net.lane[0];
        struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, &memory[1].area[0][0].signal);
        struct shi_reply r = {.to = (char *)&old, .block = 8, .done = count_reply};
        struct shi_blocks b = {8, 1, 8};
        fabric_be(0);
        CHECK((n % 2 ? shi_stream_amo(l, &there, 8, SHI_AMO_ADD, 1, 0, &r, 0, NULL) : shi_stream_get_blocks(l, &there, &b, &r, NULL)) == 0);
        for (int i = 0; i < DRAIN && n_replies == n; i++) {
            fabric_tick();
            fabric_be(i & 1);
            fabric_poll();
        }
        fabric_be(0);
        CHECKF(n_replies == n + 1 && l->to[1].order.acked_seq == (uint64_t)n + 1, "%d fetches: %d replies, which acknowledge %lu of the messages",
               n + 1, n_replies, l->to[1].order.acked_seq);
    }
    fabric_be(1);
    CHECKF(shi_stream_net.lane[0]->to[0].order.sent_seq == FETCHED, "%d fetches are answered with %lu messages", FETCHED,
           shi_stream_net.lane[0]->to[0].order.sent_seq);
}

/* Catches: reads of which no message tells the waiting target, so that it sleeps between them; a message to the target with every read. */
static void reads_keep_awake(void)
{
    static uint64_t words[4];
    static struct shi_net_req req;
    for (int pins = 0; pins < 2; pins++) {
        open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24, .pins = pins,
                                          .ordered = SHI_NET_SAW | SHI_NET_WAW});
        fabric.calm = 1;
        fabric_be(0);
        struct shi_lane *l = shi_stream_net.lane[0];
        struct shi_remote_addr there = at_remote(1, SHI_REGION_DATA, memory[1].pattern);
        for (int round = 0; round < 3; round++) {
            uint64_t before = l->to[1].order.sent_seq, begun = shi_coarse_ns();
            for (int i = 0; i < 8; i++) {
                req = (struct shi_net_req){.done = ignore_read};
                CHECK(shi_stream_read(l, &there, words, sizeof words, &req) == -EINPROGRESS);
                for (int k = 0; k < DRAIN && !req.ended; k++) {
                    fabric_tick();
                    fabric_be(k & 1);
                    fabric_poll();
                }
                fabric_be(0);
            }
            uint64_t n = l->to[1].order.sent_seq - before;
            uint64_t most = 2 + (shi_coarse_ns() - begun) / 20000000;
            CHECKF(pins ? n == 0 : n >= 1 && n <= most, "8 reads, pins: %d: %lu messages, at most %lu", pins, n, most);
            usleep(40000);
        }
    }
}

/* Catches: a message that waits for a slow write and is believed lost, or is applied before the write is in place. */
static void held(void)
{
    static uint64_t data[WORDS];
    uint64_t *signal = &memory[1].area[0][0].signal;
    may_die = fabric_heartbeat = 1;
    if (setjmp(died) != 0) {
        CHECKF(0, "a message that waits for a write ends the job: %s", last_words);
        return;
    }
    memset(memory, 0, sizeof memory);
    open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .ordered = SHI_NET_IMMEDIATE, .lane_cap = 48,
                                      .peer_cap = 24});
    fabric.calm = 1;
    fabric_be(0);
    struct shi_lane *l = shi_stream_net.lane[0];
    struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, memory[1].area[0][0].slot[0]);
    struct shi_remote_addr word = at_remote(1, SHI_REGION_HEAP, signal);
    CHECK(shi_stream_write(l, &there, data, sizeof data, NULL, NULL) == -EINPROGRESS);
    CHECK(shi_stream_amo(l, &word, 8, SHI_AMO_ADD, 1, 0, NULL, SHI_STREAM_AFTER_WRITES, NULL) == 0);
    for (time_t from = time(NULL); time(NULL) - from < 4; usleep(1000))
        for (int pe = 0; pe < 2; pe++) {
            struct fabric_queue *q = &fabric.lane[pe][0].queue[1 - pe];
            fabric_be(pe);
            fabric_poll();
            for (int i = q->n_wire - 1; i >= 0; i--)
                if (q->wire[i]->kind == MESSAGE)
                    fabric_land(pe, 0, 1 - pe, i);
        }
    CHECKF(*signal == 0, "a signal is there before its data");
    for (int i = 0; i < 1000; i++) {
        fabric_tick();
        fabric_be(i & 1);
        fabric_poll();
    }
    CHECKF(*signal == 1, "a signal whose data is in place is missing");
    may_die = fabric_heartbeat = 0;
}

/* Catches: a number of a write that is counted twice, for another one, or not at all, in any order and beyond 2^bits. */
static void numbers(void)
{
    enum { BITS = 9, TOTAL = 5000, AHEAD = 200 };
    struct shi_written w = {0};
    static unsigned char seen[TOTAL + AHEAD + 1];
    uint64_t first = 0;
    unsigned random = 1;
    while (first < TOTAL) {
        uint64_t number = first + 1 + tap_random(&random) % AHEAD;
        int is_new = !seen[number];
        seen[number] = 1;
        CHECKF(!is_new || shi_written_add(&w, (uint32_t)number & ((1U << BITS) - 1), BITS), "number %lu is refused", number);
        while (seen[first + 1])
            first++;
        CHECKF(w.first == first, "the first %lu writes are in place, not %lu", first, w.first);
    }
    CHECK(!shi_written_add(&w, (uint32_t)first, BITS) && !shi_written_add(&w, (uint32_t)first + SHI_WRITTEN_AHEAD + 1, BITS));
    CHECK(w.first == first);
}

/* Catches: the same in memory that only devices access: a copy that is not waited for, a record that overtakes one, a buffer
 * or chunk reused under a copy or transfer, an update lost to a proxy, a pull that overtakes a fence, transfers that block
 * each other. */
static void hidden(void)
{
    on_devices = 1;
    run(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .ordered = SHI_NET_SAW | SHI_NET_WAW,
                                 .lane_cap = 32, .peer_cap = 12});
    run(&(struct shi_net_limits){.short_bytes = 0, .rma_bytes = 1 << 20, .ordered = SHI_NET_IMMEDIATE, .lane_cap = 48,
                                 .peer_cap = 24});
    on_devices = 0;
}

/* Catches: a pull that starts beside one of the message before, though a fence is behind that one. */
static void pulls_in_order(void)
{
    static uint64_t data[2][WORDS];
    struct shi_am_src src[2] = {own_memory(data[0]), own_memory(data[1])};
    on_devices = 1;
    memset(data, 1, sizeof data);
    for (int trial = 0; trial < 300; trial++) {
        memset(memory, 0, sizeof memory);
        open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .ordered = SHI_NET_SAW | SHI_NET_WAW,
                                          .lane_cap = 48, .peer_cap = 24});
        fabric.random = (unsigned)trial + 1;
        fabric_be(0);
        struct shi_lane *l = shi_stream_net.lane[1];
        uint64_t *first = &memory[1].area[0][1].slot[0][WORDS - 1], *last = &memory[1].area[0][1].slot[1][0];
        struct shi_remote_addr there[2] = {at_remote(1, SHI_REGION_DEVICE, memory[1].area[0][1].slot[0]),
                                           at_remote(1, SHI_REGION_DEVICE, memory[1].area[0][1].slot[1])};
        struct shi_remote_addr word = at_remote(1, SHI_REGION_DEVICE, &memory[1].area[0][1].count);
        fabric.calm = 1;
        shi_stream_session(l, 1);
        CHECK(shi_stream_pull(l, &there[0], &src[0], sizeof data[0], NULL, NULL) == 0);
        shi_stream_fence(l);
        CHECK(shi_stream_amo(l, &word, 8, SHI_AMO_ADD, 1, 0, NULL, 0, NULL) == 0);
        shi_stream_session(l, -1);
        CHECK(shi_stream_pull(l, &there[1], &src[1], 8, NULL, NULL) == 0);
        fabric.calm = 0;
        fabric.refusals = 4;
        fabric.patience = 50;
        for (int i = 0; i < 20000 && !*last; i++) {
            fabric_tick();
            fabric_be(i & 1);
            fabric_poll();
            CHECKF(!*last || *first, "trial %d: a pull is in place before one ahead of a fence", trial);
        }
        CHECKF(*last, "trial %d: a pull never ends", trial);
    }
    on_devices = 0;
}

/* Catches: the same when writes are ordered after writes, but messages are not. */
static void writes_ordered(void)
{
    run(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .ordered = SHI_NET_WAW, .lane_cap = 48,
                                 .peer_cap = 24});
}

/* Catches: messages that wait for buffers for long and get lost, overtake each other, or delay others. */
static void narrow(void)
{
    run(&(struct shi_net_limits){.short_bytes = 0, .rma_bytes = 1 << 20, .ordered = SHI_NET_SAW | SHI_NET_WAW,
                                 .lane_cap = 3, .peer_cap = 2});
}

/* Catches: a transfer that cannot be started, or fails, and is ignored or waited for. */
static void failures(void)
{
    static const struct shi_net_limits limits = {.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24,
                                                 .ordered = SHI_NET_SAW | SHI_NET_WAW};
    may_die = 1;
    for (volatile int i = 0; i < FAILURES; i++) {
        if (setjmp(died) == 0) {
            play(&limits, 20 * PHASE, 10 + 3 * i / 2, i & 1);
            CHECKF(0, "failure %d did not end the job", i);
        } else {
            CHECKF(strncmp(last_words, "a transfer with PE ", 19) == 0 && strstr(last_words, strerror(EHOSTUNREACH)),
                   "failure %d: %s", i, last_words);
        }
    }
    may_die = 0;
}

/* Catches: a copy of the device that fails and is ignored or waited for. */
static void copies_fail(void)
{
    static const struct shi_net_limits limits = {.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24,
                                                 .ordered = SHI_NET_SAW | SHI_NET_WAW};
    may_die = on_devices = 1;
    for (volatile int i = 0; i < 40; i++) {
        fabric_copies_until_failure = 1 + 7 * i;
        fabric_fails_late = i & 1;
        if (setjmp(died) == 0) {
            play(&limits, 20 * PHASE, 0, 0);
            CHECKF(0, "failure %d did not end the job", i);
        } else {
            CHECKF(strncmp(last_words, "the device cannot", 17) == 0 && strstr(last_words, strerror(EIO)), "failure %d: %s", i,
                   last_words);
        }
    }
    may_die = on_devices = 0;
    fabric_copies_until_failure = 0;
}

/* Catches: a message of another PE that does not fit the memory in which it would wait for copies. */
static void long_with_device_record(void)
{
    enum { BYTES = SHI_NET_MESSAGE_BYTES + 8 };
    static _Alignas(8) char message[BYTES];
    struct head *h = (struct head *)message;
    struct record *r = (struct record *)(h + 1);
    may_die = on_devices = 1;
    if (setjmp(died) == 0) {
        open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20,
                                          .lane_cap = 48, .peer_cap = 24, .ordered = SHI_NET_SAW | SHI_NET_WAW});
        fabric_be(1);
        *r = (struct record){.op = OP_PUT, .region = SHI_REGION_DEVICE, .bytes = BYTES - sizeof *h - sizeof *r};
        write_head(h, 0, BYTES, 0, 0, 0, 1, 0);
        h->tag = message_tag(h, 0, 1);
        shi_stream_arrive(message, BYTES);
        shi_stream_arrive(NULL, 0);
        CHECKF(0, "it is accepted");
    } else {
        CHECKF(strstr(last_words, "sends records on device memory in a message of 16392 bytes"), "%s", last_words);
    }
    may_die = on_devices = 0;
}

/* Catches: registered memory that no peer reads or writes directly, and a message's data that peers may overwrite; symmetric
 * memory that is registered again, or beyond whose end a message's data may lie. */
static void registered(void)
{
    struct shi_am_src src;
    open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24});
    CHECKF(fabric.n_exposed == 2 * PES, "%d regions of %d PEs, not heap and static data", fabric.n_exposed, PES);
    CHECK(fabric.last_exposed == memory[PES - 1].pattern && fabric.last_rights == (SHI_NET_READ | SHI_NET_WRITE));
    CHECK(shi_stream_expose(&seed, sizeof seed, &src) == 0 && fabric.last_exposed == &seed);
    CHECK(fabric.last_rights == SHI_NET_READ);
    int before = fabric.n_exposed;
    const char *inside = (const char *)memory[PES - 1].pattern + 8, *outside = inside + sizeof memory[0].pattern - 16;
    CHECK(shi_stream_expose(inside, 8, &src) == 0 && fabric.n_exposed == before);
    CHECK(src.addr == (uint64_t)inside && src.bytes == 8 && src.handle == 0);
    CHECK(shi_stream_expose(outside, 16, &src) == 0 && fabric.n_exposed == before + 1 && fabric.last_exposed == outside);
}

#include "stream_gone.h" /* a test of its own, over the functions above */

/* Catches: a lost message with nothing behind it, on a lane without pings or on the one with them, that is waited for
 * without end; a receive that failed and is not named. */
static void lost(void)
{
    may_die = 1;
    fabric_heartbeat = 1;
    for (volatile int lane = 0; lane < LANES; lane++) {
        if (setjmp(died) == 0) {
            open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24,
                                              .ordered = SHI_NET_SAW | SHI_NET_WAW});
            uint64_t value = 1;
            struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, &memory[1].area[0][lane].signal);
            fabric.calm = 1;
            fabric.losing = 1;
            fabric_be(1);
            fabric.failed(SHI_NET_RECEIVE, -EIO);
            fabric_be(0);
            CHECK(shi_stream_put(shi_stream_lane(lane), &there, &value, sizeof value, 0, NULL) == 0);
            for (time_t from = time(NULL); time(NULL) - from < 10; usleep(100))
                for (int i = 0; i < 100; i++) {
                    fabric_be(i % PES);
                    fabric_poll();
                    fabric_tick();
                }
            CHECKF(0, "a message of lane %d is lost, and no PE says so", lane);
        } else {
            CHECKF(strncmp(last_words, "a message of PE 0 is lost (number 1)", 36) == 0 && strstr(last_words, strerror(EIO)),
                   "lane %d: %s", lane, last_words);
        }
    }
    may_die = 0;
    fabric_heartbeat = 0;
}

static long now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (long)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* PE 1 is silent while PE 0 reads 160 MiB from it, each 32 MiB in 0.9 of the limit. Catches: a PE that is declared dead because less and
 * less is to be read, while its answer waits behind all of it; one that never is. */
static void read_slowly(void)
{
    static volatile int parts;
    uint64_t value = 1;
    may_die = fabric_heartbeat = 1;
    if (setjmp(died) == 0) {
        open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24,
                                          .ordered = SHI_NET_SAW | SHI_NET_WAW});
        struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, &memory[1].area[0][0].signal);
        fabric.calm = 1;
        fabric_be(0);
        shi_stream_net.silence_ns = 300000000;
        CHECK(shi_stream_put(shi_stream_net.lane[0], &there, &value, sizeof value, 0, NULL) == 0);
        for (parts = 5; parts >= 0; parts--) {
            fabric_reads = (size_t)parts << 25;
            for (long until = now_ms() + (parts ? 270 : 20000); now_ms() < until; usleep(1000))
                fabric_poll();
        }
        CHECKF(0, "a PE that never answers is not noticed");
    } else {
        CHECKF(parts == 0 && strstr(last_words, "PE 1 has not answered"), "%d parts are left: %s", parts, last_words);
    }
    may_die = fabric_heartbeat = 0;
    fabric_reads = 0;
}

/* Messages of a lane to a PE so far. */
static uint64_t n_sent(int lane, int pe)
{
    return shi_stream_net.lane[lane]->to[pe].order.sent_seq;
}

/* Catches: the memory of messages that is kept for ever, or taken from those that were in use since the last time. */
static void idle_messages(void)
{
    enum { MESSAGES = 8 };
    static char value[SHI_STREAM_PUT_BYTES];
    open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24,
                                      .ordered = SHI_NET_SAW | SHI_NET_WAW});
    fabric.calm = 1;
    fabric_be(0);
    struct shi_lane *l = shi_stream_lane(0);
    struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, &memory[1].area[0][0].signal);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MESSAGES; i++)
            CHECK(shi_stream_put(l, &there, value, sizeof value, 0, NULL) == 0);
        for (int pe = 0; pe || !is_quiet(l, 1); pe = !pe) {
            fabric_tick();
            fabric_be(!pe);
            fabric_poll();
        }
        int n = 0, trimmed = 0, used = l->pool->n_free - l->pool->least_free;
        shi_batch_trim(l);
        for (struct batch *b = l->pool->free; b; b = b->next, n++)
            trimmed += b->trimmed;
        CHECKF(n == l->pool->n_free && trimmed == n - used, "%d of %d messages have no memory, %d were in use", trimmed, n, used);
        shi_batch_trim(l);
        for (struct batch *b = l->pool->free; b; b = b->next)
            CHECK(b->trimmed);
    }
}

/* PE 0 of a job of 2^30 PEs puts to PE 1 on lane 1 and PE 2 on lane 0; their tables have PES entries. Catches: a walk over all PEs
 * of the job in heartbeats, in questions about lanes or in quiet; a PE that only another lane than the first has sent to, and that is not
 * watched; a quiet of one PE that asks another. */
static void few_of_many(void)
{
    uint64_t value = 1;
    fabric_heartbeat = 1;
    open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24,
                                      .ordered = SHI_NET_SAW | SHI_NET_WAW});
    fabric.calm = 1;
    fabric_be(0);
    shi_stream_net.n_pes = 1 << 30;
    for (int pe = 1; pe < PES; pe++) {
        struct shi_remote_addr there = at_remote(pe, SHI_REGION_HEAP, &memory[pe].area[0][0].signal);
        CHECK(shi_stream_put(shi_stream_lane(2 - pe), &there, &value, sizeof value, 0, NULL) == 0);
    }
    CHECK(!is_quiet(shi_stream_net.lane[0], 2) && n_sent(0, 2) == 2 && n_sent(1, 1) == 1);
    CHECK(is_quiet(shi_stream_net.lane[0], 1));
    shi_stream_net.checked_ns = shi_stream_net.asked_ns = 0;
    shi_stream_arrive(NULL, 0);
    CHECK(shi_stream_net.n_known == 2 && shi_stream_net.peer_rx[1].alive_ns && shi_stream_net.peer_rx[2].alive_ns);
    shi_stream_net.checked_ns = shi_stream_net.asked_ns = 0;
    shi_stream_arrive(NULL, 0);
    CHECKF(n_sent(1, 1) > 1, "lane 1 has sent %lu message, and no question about it", (unsigned long)n_sent(1, 1));
    shi_stream_net.n_pes = PES;
    fabric_heartbeat = 0;
}

/* Catches: a lane beside lane 0 that is lane 0, or a context's; a quiet of one that waits for the other's records. */
static void beside(void)
{
    uint64_t value = 1;
    open_all(&(struct shi_net_limits){.short_bytes = 128, .rma_bytes = 1 << 20, .lane_cap = 48, .peer_cap = 24,
                                      .ordered = SHI_NET_SAW | SHI_NET_WAW});
    fabric.calm = 1;
    fabric_be(0);
    struct shi_lane *l = shi_stream_lane_beside(), *first = shi_stream_lane(0), *second = shi_stream_lane(1);
    struct shi_remote_addr there = at_remote(1, SHI_REGION_HEAP, &memory[1].area[0][0].signal);
    CHECK(l != first && l != second && first != second && l->net == first->net && second->net != first->net);
    CHECK(shi_stream_lane_made(LANES) == l && !shi_stream_lane_made(LANES + 1));
    CHECK(shi_stream_put(l, &there, &value, sizeof value, 0, NULL) == 0);
    CHECK(is_quiet(first, -1) && !is_quiet(l, -1));
    for (int i = 0; i < DRAIN && !is_quiet(l, -1); i++) {
        fabric_tick();
        fabric_be(i % 2);
        fabric_poll();
        fabric_be(0);
    }
    CHECK(is_quiet(l, -1) && memory[1].area[0][0].signal == value);
    for (int i = LANES + 1; i < SHI_NET_LANES; i++)
        CHECK(shi_stream_lane_beside() == shi_stream_lane_made(i));
    CHECK(shi_stream_lane_beside() == first);
}

/* Catches: a job with more PEs than requests of kernels can number, whose requests would go to other PEs. */
static void too_many(void)
{
    const struct shi_boot boot = {.n_pes = SHI_JOB_PES + 1};
    CHECK(shi_stream_up(&boot, NULL, NULL, NULL, 0) == -E2BIG);
}

int main(int argc, char **argv)
{
    limit = argc > 1 ? 0 : SECONDS * (clock_t)CLOCKS_PER_SEC;
    n_steps = argc > 1 ? atol(argv[1]) : n_steps;
    seed = argc > 2 ? (unsigned)atol(argv[2]) : seed;
    RUN(ordered, "messages after writes, writes after writes");
    RUN(unordered, "no order except by completion");
    RUN(writes_ordered, "only writes after writes");
    RUN(reported, "no order, and writes reported at the target");
    RUN(hidden, "device memory that the host cannot access");
    RUN(pulls_in_order, "pulls before and behind a fence");
    RUN(copies_of_a_message, "copies and submissions of the records of a message");
    RUN(follows, "a signal follows its data without waiting for it");
    RUN(endless, "a quiet ends while others go on");
    RUN(served, "calls behind writes are served while others go on");
    RUN(overtaken, "a put finds room although others overtake it");
    RUN(far_ahead, "puts wait for a PE that does not apply them");
    RUN(expected, "a quiet that is expected sends no message");
    RUN(reply_acknowledges, "a reply acknowledges the message with the fetch");
    RUN(reads_keep_awake, "reads keep a waiting target awake");
    RUN(held, "a message waits for a slow write");
    RUN(numbers, "numbers of writes");
    RUN(beside, "a lane beside the first shares its endpoint only");
    RUN(too_many, "more than 2^24 PEs are refused");
    RUN(few_of_many, "only PEs that were talked to are looked at");
    RUN(idle_messages, "memory of messages is given back when nothing uses it");
    RUN(narrow, "queues of two operations");
    RUN(failures, "a failed transfer ends the job with a line");
    RUN(copies_fail, "a failed copy of the device ends the job with a line");
    RUN(lost, "a message that is lost ends the job with a line");
    RUN(gone, "a PE that is gone: what is sent to it ends, what it has sent is not taken; another process in its place");
    RUN(read_slowly, "a silent PE from which much is read has time until all of it could have come");
    RUN(long_with_device_record, "a long message cannot wait for copies");
    RUN(registered, "registered memory and its rights");
    printf("# %ld steps, %ld operations\n", n_done, n_operations);
    return tap_end();
}
