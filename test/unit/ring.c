/*
 * ring.c - the ring and the proxy's engine: threads act as work-items, a scripted transport as the network.
 *
 * The transport can complete at once, later or out of order, refuse requests, or never complete those to one PE.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "../tap.h"
#include "proxy/engine.h"

enum { PRODUCERS = 8, PES = 4 };

static struct shi_ring ring;
static struct shi_ring_line line;

/* A ring of 2^log_n slots whose first ticket is `first`. */
static void ring_up(unsigned log_n, uint64_t first)
{
    size_t n = (size_t)1 << log_n;
    uint64_t *slots = aligned_alloc(64, n * 64);
    for (size_t i = 0; i < n; i++) { /* each slot has its content after the lap before its first ticket */
        uint64_t ticket = first + ((i - first) & (n - 1));
        for (int w = 0; w < SHI_RING_WORDS; w++)
            slots[i * SHI_RING_WORDS + w] = ~shi_ring_phase(ticket, log_n) & 1;
    }
    memset(&line, 0, sizeof line);
    line.tail = line.done = first;
    ring = (struct shi_ring){.head = first, .completed = first, .seen = first, .slots = (uint64_t)slots, .line = (uint64_t)&line, .log_n = log_n,
                             .results = (uint64_t)calloc(n, sizeof(struct shi_ring_result))};
}

static void ring_down(void)
{
    free((void *)ring.slots);
    free((void *)ring.results);
}

/* ---- many producers, a transport that completes at once ------------------------------------------------------------ */

enum { POSTS = TAP_SANITIZER ? 5000 : 20000 };

static uint64_t expected[PRODUCERS];
static int wrong;

/* Argument 0: producer and number; the others: a pattern of both, so that a torn request is detected. */
static uint64_t pattern(uint64_t who, uint64_t i, int k)
{
    static const uint64_t fixed[] = {0, ~0ull, 0x5555555555555555, 1ull << 63};
    return i % 5 < 4 ? fixed[(i + (uint64_t)k) % 4] : who * 0x9e3779b97f4a7c15 + i * 0x2545f4914f6cdd1d + (uint64_t)k;
}

static int check_at_once(void *arg, struct shi_engine_op *op)
{
    (void)arg;
    const uint64_t *a = op->request.arg;
    uint64_t who = a[0] >> 32, i = a[0] & 0xffffffff;
    wrong += who >= PRODUCERS || i != expected[who]++ || op->request.pe != who % PES || op->request.op != i % 6;
    for (int k = 1; k < SHI_RING_ARGS; k++)
        wrong += a[k] != pattern(who, i, k);
    return 0;
}

static void *produce(void *arg)
{
    uint64_t who = (uintptr_t)arg, a[SHI_RING_ARGS], ticket;
    for (uint64_t i = 0; i < POSTS; i++) {
        a[0] = who << 32 | i;
        for (int k = 1; k < SHI_RING_ARGS; k++)
            a[k] = pattern(who, i, k);
        if (shi_ring_post(&ring, 0, (shi_u32)(i % 6), (shi_u32)(who % PES), a, NULL, &ticket))
            return NULL;
        if (i % 1000 == 999)
            shi_ring_fence(&ring, 0);
        if (i % 5000 == 4999)
            shi_ring_quiet(&ring, 0);
    }
    return NULL;
}

static void run_producers(unsigned log_n, uint64_t first)
{
    ring_up(log_n, first);
    wrong = 0;
    memset(expected, 0, sizeof expected);
    const struct shi_engine_exec exec = {check_at_once, NULL, NULL, NULL};
    struct shi_engine *e = shi_engine_up(&ring, &exec, PES, 32);
    pthread_t t[PRODUCERS];
    for (uintptr_t i = 0; i < PRODUCERS; i++)
        pthread_create(&t[i], NULL, produce, (void *)i);
    while (line.done - first < (uint64_t)PRODUCERS * POSTS) {
        int n = shi_engine_poll(e);
        if (n < 0)
            break;
        if (n == 0)
            shi_pause();
    }
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(t[i], NULL);
    CHECKF(wrong == 0, "%d requests torn, lost or out of order from ticket %#lx", wrong, (unsigned long)first);
    CHECK(shi_engine_pending(e) == 0);
    shi_engine_down(e);
    ring_down();
}

/* Catches: a word of the previous lap accepted, a slot overwritten before it was read, the displaced bits of all-ones
 * and all-zero arguments lost, tickets compared as signed or cut to 32 bits when counters wrap around. */
static void test_producers(void)
{
    run_producers(4, 0);
    run_producers(4, (1ull << 16) - 5);
    run_producers(10, (1ull << 32) - 300);
    run_producers(1, ~0ull - 1000);
    run_producers(4, ~0ull - 7);
}

/* Catches: a validity bit taken for more than its own word. The words of a slot arrive in any order. */
static void test_torn(void)
{
    static struct shi_ring scratch;
    static struct shi_ring_line scratch_line;
    static uint64_t words[SHI_RING_WORDS];
    unsigned random = 5;
    ring_up(2, 0);
    wrong = 0;
    memset(expected, 0, sizeof expected);
    const struct shi_engine_exec exec = {check_at_once, NULL, NULL, NULL};
    struct shi_engine *e = shi_engine_up(&ring, &exec, PES, 16);
    for (uint64_t i = 0; i < 2000; i++) {
        uint64_t a[SHI_RING_ARGS] = {i}, ticket;
        for (int k = 1; k < SHI_RING_ARGS; k++)
            a[k] = pattern(0, i, k);
        scratch = (struct shi_ring){.head = i, .epoch = ring.epoch, .slots = (uint64_t)words - (i & 3) * 64,
                                    .line = (uint64_t)&scratch_line, .log_n = 2};
        scratch_line.tail = i;
        shi_ring_post(&scratch, 0, (shi_u32)(i % 6), 0, a, NULL, &ticket); /* makes the words; the test stores them one by one */
        ring.head++;
        for (unsigned left = 0xff; left;) {
            unsigned w = tap_random(&random) % 8;
            if (!(left >> w & 1))
                continue;
            CHECKF(shi_engine_poll(e) == 0, "request %lu was taken before all its words were there", (unsigned long)i);
            shi_ring_slot(shi_ring_slots(&ring), i)[w] = words[w];
            left &= ~(1u << w);
        }
        CHECK(shi_engine_poll(e) > 0);
    }
    CHECKF(wrong == 0, "%d requests differ from the posted ones", wrong);
    shi_engine_down(e);
    ring_down();
}

/* ---- a transport that delays and refuses ------------------------------------------------------------------------------ */

enum { HELD = 256 };

static struct transport {
    struct shi_engine *engine;
    struct shi_engine_op *held[HELD]; /* issued, not complete */
    int n_held;
    unsigned random;
    int refuse;       /* so many of 8 issues return -EAGAIN */
    int stalled_pe;   /* requests to it never complete; -1: none */
    uint32_t issued_epoch[PES];
    int outstanding[PES];
    int bad_order;
    uint64_t n_complete;
    unsigned char complete[1 << 16]; /* by ticket */
} net;

static int issue(void *arg, struct shi_engine_op *op)
{
    (void)arg;
    int pe = (int)op->request.pe;
    if ((int)(tap_random(&net.random) % 8) < net.refuse || net.n_held == HELD)
        return -EAGAIN;
    net.bad_order += net.outstanding[pe] && net.issued_epoch[pe] != op->request.epoch;
    net.bad_order += op->request.epoch < net.issued_epoch[pe]; /* one producer: a later epoch was issued earlier */
    net.issued_epoch[pe] = op->request.epoch;
    if (pe != net.stalled_pe && tap_random(&net.random) % 4 == 0) {
        net.complete[op->ticket & 0xffff] = 1;
        net.n_complete++;
        return 0;
    }
    net.outstanding[pe]++;
    net.held[net.n_held++] = op;
    return -EINPROGRESS;
}

/* Complete some held requests, in any order. */
static void poll_net(void *arg)
{
    (void)arg;
    for (int k = (int)(tap_random(&net.random) % 8); k > 0 && net.n_held; k--) {
        int i = (int)(tap_random(&net.random) % (unsigned)net.n_held);
        struct shi_engine_op *op = net.held[i];
        if ((int)op->request.pe == net.stalled_pe)
            continue;
        net.held[i] = net.held[--net.n_held];
        net.outstanding[op->request.pe]--;
        net.complete[op->ticket & 0xffff] = 1;
        net.n_complete++;
        shi_engine_complete(net.engine, op, 0);
    }
}

static const struct shi_engine_exec odd = {issue, poll_net, NULL, NULL};

static void net_up(int refuse, int stalled_pe, int max_ops)
{
    memset(&net, 0, sizeof net);
    net.random = 4711;
    net.refuse = refuse;
    net.stalled_pe = stalled_pe;
    net.engine = shi_engine_up(&ring, &odd, PES, max_ops);
}

/* Post without a proxy thread: the caller makes sure that a slot is free. */
static void post(int pe)
{
    uint64_t a[SHI_RING_ARGS] = {1}, ticket;
    shi_ring_post(&ring, 0, SHI_OP_PUT, (shi_u32)pe, a, NULL, &ticket);
}

/* Catches: a request after a fence issued while the PE's earlier ones are under way; `done` past a request that has not
 * completed; requests lost or repeated after a refusal; reordered requests. */
static void test_order(void)
{
    for (int refuse = 0; refuse < 8; refuse += 3) {
        unsigned random = 99;
        ring_up(8, 0);
        net_up(refuse, -1, 48);
        uint64_t posted = 0, early = 0;
        while (posted < 30000 || line.done < posted) {
            while (posted < 30000 && ring.head - line.tail < 256 && tap_random(&random) % 16) {
                post((int)(tap_random(&random) % PES));
                posted++;
                if (tap_random(&random) % 5 == 0)
                    shi_ring_fence(&ring, 0);
            }
            if (shi_engine_poll(net.engine) < 0)
                break;
            for (; early < line.done; early++)
                CHECKF(net.complete[early], "done is %lu but ticket %lu has not completed", (unsigned long)line.done,
                       (unsigned long)early);
        }
        CHECKF(net.bad_order == 0, "%d requests overtook a fence", net.bad_order);
        CHECKF(net.n_complete == posted, "%lu completions of %lu", (unsigned long)net.n_complete, (unsigned long)posted);
        CHECK(shi_engine_pending(net.engine) == 0);
        shi_engine_down(net.engine);
        ring_down();
    }
}

/* Catches: a PE that does not answer and so delays requests to other PEs. */
static void test_stall(void)
{
    ring_up(8, 0);
    net_up(0, 2, 64);
    uint64_t others = 0;
    for (int i = 0; i < 4000; i++) {
        int pe = i % 100 == 0 ? 2 : i % 2;
        others += pe != 2;
        post(pe);
        shi_ring_fence(&ring, 0);
        for (int k = 0; k < 4; k++)
            shi_engine_poll(net.engine);
    }
    for (int k = 0; k < 1000; k++)
        shi_engine_poll(net.engine);
    CHECKF(net.n_complete == others, "%lu of %lu requests to other PEs completed", (unsigned long)net.n_complete,
           (unsigned long)others);
    CHECKF(line.done == 0, "done is %lu, past a request that never completes", (unsigned long)line.done);
    net.stalled_pe = -1;
    for (int k = 0; k < 1000; k++)
        shi_engine_poll(net.engine);
    CHECK(line.done == 4000 && shi_engine_pending(net.engine) == 0);
    shi_engine_down(net.engine);
    ring_down();
}

/* ---- results, aborts, dead kernels ------------------------------------------------------------------------------------ */

/* Return argument 1 through the ticket's result slot, unless the slot holds a result that was not read. */
static int answer(void *arg, struct shi_engine_op *op)
{
    (void)arg;
    struct shi_ring_result *result = (struct shi_ring_result *)ring.results + (op->ticket & ((1u << ring.log_n) - 1));
    if (shi_load_acquire(&result->tag)) /* A5 */
        return -EAGAIN;
    result->value = op->request.arg[1];
    shi_store_release(&result->tag, op->ticket + 1); /* R4 */
    return 0;
}

static void *ask(void *arg)
{
    uint64_t who = (uintptr_t)arg, a[SHI_RING_ARGS] = {0}, ticket, value;
    for (uint64_t i = 0; i < 5000; i++) {
        a[1] = who << 40 | i;
        if (shi_ring_post(&ring, 0, SHI_OP_AMO, (shi_u32)(who % PES), a, NULL, &ticket) ||
            shi_ring_take_result(&ring, ticket, &value))
            return NULL;
        if (value != a[1])
            __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    }
    __atomic_fetch_add(&expected[0], 1, __ATOMIC_RELAXED);
    return NULL;
}

/* Catches: a result overwritten by that of a later lap before its owner read it. */
static void test_results(void)
{
    ring_up(2, 0);
    const struct shi_engine_exec exec = {answer, NULL, NULL, NULL};
    struct shi_engine *e = shi_engine_up(&ring, &exec, PES, 16);
    wrong = 0;
    expected[0] = 0;
    pthread_t t[PRODUCERS];
    for (uintptr_t i = 0; i < PRODUCERS; i++)
        pthread_create(&t[i], NULL, ask, (void *)i);
    while (__atomic_load_n(&expected[0], __ATOMIC_RELAXED) < PRODUCERS)
        if (shi_engine_poll(e) == 0)
            shi_pause();
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(t[i], NULL);
    CHECKF(wrong == 0, "%d results belong to another producer", wrong);
    shi_engine_down(e);
    ring_down();
}

static void *fill_and_wait(void *arg)
{
    uint64_t a[SHI_RING_ARGS] = {0}, ticket, why = 0;
    while (!why)
        why = shi_ring_post(&ring, 0, SHI_OP_PUT, 0, a, NULL, &ticket);
    *(uint64_t *)arg = why;
    return NULL;
}

static void *wait_for_requests(void *arg)
{
    *(uint64_t *)arg = shi_ring_quiet(&ring, 0);
    return NULL;
}

static void *wait_for_result(void *arg)
{
    *(uint64_t *)arg = shi_ring_take_result(&ring, 0, &(uint64_t){0});
    return NULL;
}

/* Catches: a producer that waits for credit, completion or a result for ever after the job was aborted; one whose quiet or fetch ends when a PE has failed. */
static void test_abort(void)
{
    ring_up(4, 0);
    net_up(8, -1, 4); /* refuses everything */
    static void *(*const wait[4])(void *) = {fill_and_wait, fill_and_wait, wait_for_requests, wait_for_result};
    uint64_t why[4] = {0};
    pthread_t t[4];
    post(0), shi_engine_end_waits(net.engine, 101);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, wait[i], &why[i]);
    for (int i = 0; i < 200; i++, shi_pause())
        shi_engine_poll(net.engine);
    shi_engine_abort(net.engine, 7);
    for (int i = 0; i < 4; i++) {
        pthread_join(t[i], NULL);
        CHECKF(why[i] == 8, "producer %d returned with %lu", i, (unsigned long)why[i]);
    }
    CHECK(shi_ring_quiet(&ring, 0) == 8);
    shi_engine_down(net.engine);
    ring_down();
}

static int fail_third(void *arg, struct shi_engine_op *op)
{
    (void)arg;
    return op->ticket == 2 ? -EIO : 0;
}

/* Catches: an error that is lost, or a `done` that includes the failed request; an invalid PE number used as an
 * index. */
static void test_errors(void)
{
    ring_up(4, 0);
    const struct shi_engine_exec exec = {fail_third, NULL, NULL, NULL};
    struct shi_engine *e = shi_engine_up(&ring, &exec, PES, 16);
    post(0), post(1);
    CHECK(shi_engine_poll(e) > 0 && line.done == 2);
    post(2), post(3);
    CHECK(shi_engine_poll(e) == -EIO && line.abort && line.done == 2);
    shi_engine_down(e);
    ring_down();
    ring_up(4, 0);
    e = shi_engine_up(&ring, &exec, PES, 16);
    post(PES);
    CHECK(shi_engine_poll(e) == -EINVAL && line.abort && line.done == 0);
    shi_engine_down(e);
    ring_down();
}

/* Catches: a kernel that was killed between taking a ticket and writing its slot, and is not reported; a slow one
 * reported. */
static void test_stuck(void)
{
    ring_up(4, 0);
    net_up(0, -1, 16);
    CHECK(shi_engine_stuck(net.engine, 1, 100) == -1);
    post(0);
    ring.head++; /* ticket 1 is taken and never written */
    shi_engine_poll(net.engine);
    CHECK(shi_engine_stuck(net.engine, 1000, 100) == -1);
    CHECK(shi_engine_stuck(net.engine, 1050, 100) == -1);
    CHECK(shi_engine_stuck(net.engine, 1101, 100) == 1);
    shi_engine_down(net.engine);
    ring_down();
}

/* KiB of page tables of this process. */
static long page_tables(void)
{
    char line[128];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        sscanf(line, "VmPTE: %ld", &kib);
    if (f)
        fclose(f);
    return kib;
}

static struct {
    struct shi_engine *engine;
    struct shi_engine_op *op[8];
    int n, issued;
} slow;

static int issue_later(void *arg, struct shi_engine_op *op)
{
    (void)arg;
    slow.op[slow.n++] = op;
    slow.issued++;
    return -EINPROGRESS;
}

static void complete_one(void *arg)
{
    (void)arg;
    if (slow.n)
        shi_engine_complete(slow.engine, slow.op[--slow.n], 0);
}

#if TAP_TSAN
enum { MOST_KIB = 8192 }; /* its shadow memory has page tables, too */
#else
enum { MOST_KIB = 200 };
#endif

/* Catches: a round, or the start of an engine, that walks over all PEs of the job: the entries of 2^24 PEs have page tables of more
 * than 1 MiB. */
static void test_many(void)
{
    enum { TURNS = 100 };
    static const uint64_t a[SHI_RING_ARGS];
    uint64_t ticket;
    ring_up(4, 0);
    long before = page_tables();
    slow.engine = shi_engine_up(&ring, &(struct shi_engine_exec){issue_later, complete_one, NULL, NULL}, 1 << 24, 8);
    for (int i = 0; i < TURNS; i++) {
        for (int k = 0; k < 2; k++) {
            CHECK(shi_ring_post(&ring, 0, 0, k ? (1 << 24) - 1 : 5, a, NULL, &ticket) == 0);
            shi_ring_fence(&ring, 0);
        }
        for (int k = 0; k < 3; k++)
            CHECK(shi_engine_poll(slow.engine) >= 0);
    }
    for (int k = 0; k < 8; k++)
        CHECK(shi_engine_poll(slow.engine) >= 0);
    CHECKF(slow.issued == 2 * TURNS && shi_engine_pending(slow.engine) == 0, "%d requests", slow.issued);
    long more = page_tables() - before;
    CHECKF(more < MOST_KIB, "page tables of %ld KiB for requests of two PEs", more);
    shi_engine_down(slow.engine);
    ring_down();
}

int main(void)
{
    RUN(test_producers, "eight producers, small rings, wrapping counters");
    RUN(test_torn, "words of a slot in any order");
    RUN(test_order, "fences and in-order retirement with a transport that delays, reorders and refuses");
    RUN(test_stall, "a stalled PE does not stop the others");
    RUN(test_results, "results of fetching requests reach their producers");
    RUN(test_abort, "an abort releases every waiter");
    RUN(test_errors, "a failed request ends the job");
    RUN(test_many, "the requests of two PEs of 2^24");
    RUN(test_stuck, "a reserved slot that is never written is reported");
    return tap_end();
}
