/*
 * staged.c - requests of kernels on memory that only the device can access (proxy/staged.c), against an oracle: a device that copies
 * late, result slots that are not free, word locks that other agents hold.
 *
 * It asserts: requests that are issued one after the other for the same words leave what they leave one by one; an update reads and
 * writes its word under the lock; fetched values come once, to a free slot; no request is lost; all locks are free at the end.
 */
#include "proxy/staged.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "device/device.h"
#include "host/net/node/amo_word.h"
#include "host/ops/dheap.h"
#include "host/util/copying.h"
#include "host/util/log.h"

enum { WORDS = 8, OPS = 64, STEPS = 300000, COPIES = 4096, SLOTS = 16, PES = 2 };

struct shi_world shi_world;
const struct shi_device_ops *shi_device;
static unsigned random_state = 1;

static unsigned below(unsigned n)
{
    return tap_random(&random_state) % n;
}

/* ---- stubs --------------------------------------------------------------------------------------------------------- */

static char last_words[200];
static int may_die;

void shi_die(const char *routine, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(last_words, sizeof last_words, fmt, ap);
    va_end(ap);
    printf("%s! %s: %s\n", may_die ? "# died" : "Bail out", routine, last_words);
    exit(!may_die);
}

static struct {
    void *to;
    const void *from;
    size_t bytes;
} copies[COPIES];
static uint64_t started, ended, held[PES];
static int calm, stopped;
static uint64_t may_end = UINT64_MAX; /* so many copies */

static int copy_start(enum shi_device_queue q, void *to, const void *from, size_t bytes)
{
    CHECK(q == SHI_DEVICE_REQUESTS && started - ended < COPIES);
    copies[started % COPIES].to = to;
    copies[started % COPIES].from = from;
    copies[started++ % COPIES].bytes = bytes;
    return 0;
}

static int copies_ended(enum shi_device_queue q, uint64_t *n)
{
    CHECK(q == SHI_DEVICE_REQUESTS);
    for (; ended < started && ended < may_end && !stopped && (calm || below(3)); ended++)
        memcpy(copies[ended % COPIES].to, copies[ended % COPIES].from, copies[ended % COPIES].bytes);
    *n = ended;
    return 0;
}

static int alloc_shared(size_t bytes, void **addr)
{
    *addr = calloc(1, bytes);
    return *addr ? 0 : -ENOMEM;
}

static const struct shi_device_ops device = {.copy_start = copy_start, .copies_ended = copies_ended, .alloc_shared = alloc_shared};

uint64_t *shi_dheap_word_lock(int pe)
{
    return &held[pe];
}

/* ---- requests ------------------------------------------------------------------------------------------------------ */

static uint64_t word[PES][WORDS], expected[PES][WORDS]; /* in device memory */
static struct request {
    struct shi_engine_op op;
    uint64_t source, dest, fetched; /* fetched: what it has to fetch */
    uint64_t *touches[2];           /* words: no other request in progress touches them */
    int used, to_slot, to_memory;
} requests[OPS];
static struct shi_ring_result slots[SLOTS];
static struct shi_ring ring;
static struct shi_proxy_ring proxy = {.ring = &ring};
static uint64_t tickets, n_ended;

/* Kernels take the results of the slots that are full. */
static void take_results(void)
{
    for (int i = 0; i < SLOTS; i++) {
        uint64_t ticket = slots[i].tag - 1;
        if (!slots[i].tag || (!calm && below(4)))
            continue;
        int found = 0;
        for (struct request *r = requests; r < requests + OPS; r++)
            if (r->used && r->to_slot && r->op.ticket == ticket) {
                CHECKF(slots[i].value == r->fetched, "ticket %lu fetched %#lx, not %#lx", ticket, slots[i].value, r->fetched);
                found = 1;
                r->to_slot = 0;
            }
        CHECKF(found, "a result of ticket %lu, which expects none", ticket);
        slots[i].tag = 0;
    }
}

void shi_engine_complete(struct shi_engine *e, struct shi_engine_op *op, int err)
{
    struct request *r = (struct request *)op;
    CHECK(!e && err == 0 && r->used == 1);
    if (r->to_memory)
        CHECKF(r->dest == r->fetched, "ticket %lu fetched %#lx to memory, not %#lx", op->ticket, r->dest, r->fetched);
    r->used = 2;
    n_ended++;
}

static int is_touched(const uint64_t *at)
{
    for (const struct request *r = requests; r < requests + OPS; r++)
        if (r->used == 1 && (r->touches[0] == at || r->touches[1] == at))
            return 1;
    return 0;
}

/* Issue a random request to words that no other one in progress touches; a refused one changes nothing. */
static void issue(struct request *r)
{
    int pe = (int)below(PES), kind = (int)below(6), a = (int)below(WORDS), s = (int)below(WORDS);
    uint64_t *at = &word[pe][a], *sig = &word[pe][s], value = tap_random(&random_state), old = expected[pe][a];
    struct shi_request_view v = {.bytes = 8, .value = value, .cond = below(2) ? old : value, .signal_value = value * 3};
    int signals = kind < 2 && a != s && below(2);
    if (is_touched(at) || (signals && is_touched(sig)))
        return;
    *r = (struct request){.source = value, .fetched = old, .touches = {at, signals ? sig : NULL}};
    r->op.request.pe = (uint32_t)pe;
    r->op.ticket = tickets;
    v.local = (uint64_t)(kind < 2 ? &r->source : &r->dest);
    switch (kind) {
    case 0: r->op.request.op = signals ? SHI_OP_PUT_SIGNAL : SHI_OP_PUT; break;
    case 1:
        r->op.request.op = signals ? SHI_OP_PUT_SIGNAL_INLINE : SHI_OP_PUT_INLINE;
        v.payload = &r->source;
        break;
    case 2:
        r->op.request.op = SHI_OP_GET;
        r->to_memory = 1;
        break;
    case 3:
        r->op.request.op = SHI_OP_GET_INLINE;
        v.result = SHI_RESULT_SLOT;
        break;
    default:
        r->op.request.op = SHI_OP_AMO;
        v.amo = (int)below(SHI_AMOS);
        v.result = v.amo == SHI_AMO_SET ? SHI_RESULT_NONE : (int)below(SHI_RESULTS);
        r->to_memory = v.result == SHI_RESULT_ADDRESS;
    }
    v.sig_op = !signals ? 0 : below(2) ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
    r->to_slot = v.result == SHI_RESULT_SLOT;
    uint64_t before = held[pe];
    int err = shi_staged_issue(&proxy, &r->op, &v, (char *)at, signals ? sig : NULL);
    CHECKF(err == -EINPROGRESS || (err == -EAGAIN && held[pe] == before), "issue returns %d", err);
    if (err != -EINPROGRESS)
        return;
    r->used = 1;
    tickets++;
    if (kind < 2)
        expected[pe][a] = value;
    if (kind >= 4)
        shi_amo_word(&expected[pe][a], 8, v.amo, value, v.cond);
    if (signals)
        expected[pe][s] = v.sig_op == SHMEM_SIGNAL_SET ? v.signal_value : expected[pe][s] + v.signal_value;
}

static uint64_t others; /* bit pe: another agent holds that lock */

/* Another agent takes or releases a lock, and under it updates words that no request in progress touches. */
static void other_agent(void)
{
    unsigned pe = below(PES), a = below(WORDS);
    if (others >> pe & 1) {
        shi_amo_unlock(&held[pe]);
        others ^= 1ull << pe;
    } else if (shi_amo_try_lock(&held[pe])) {
        for (const struct request *r = requests; r < requests + OPS; r++)
            CHECK(r->used != 1 || !r->touches[1] || r->op.request.pe != pe);
        others ^= 1ull << pe;
        if (!is_touched(&word[pe][a]))
            expected[pe][a] = ++word[pe][a];
    }
}

static void reuse(void)
{
    for (struct request *r = requests; r < requests + OPS; r++)
        if (r->used == 2 && !r->to_slot)
            r->used = 0;
}

static void check_words(void)
{
    for (int pe = 0; pe < PES; pe++)
        for (int i = 0; i < WORDS; i++)
            if (!is_touched(&word[pe][i]))
                CHECKF(word[pe][i] == expected[pe][i], "PE %d, word %d: %#lx, not %#lx", pe, i, word[pe][i], expected[pe][i]);
}

static int in_progress(void)
{
    int n = 0;
    for (const struct request *r = requests; r < requests + OPS; r++)
        n += r->used != 0;
    return n;
}

/* Catches: a step taken before its copy has ended, a lock that is kept or not taken, a result twice or into a full slot, a request
 * that is lost. */
static void random_requests(void)
{
    for (long i = 0; i < STEPS; i++) {
        struct request *r = &requests[below(OPS)];
        if (!r->used)
            issue(r);
        if (below(4) == 0)
            other_agent();
        shi_staged_poll();
        shi_staged_check(0);
        take_results();
        reuse();
        check_words();
    }
    calm = 1;
    for (int i = 0; i < 1000 && in_progress(); i++) {
        shi_staged_poll();
        take_results();
        reuse();
    }
    CHECKF(!in_progress() && tickets == n_ended && tickets > STEPS / 20, "%d of %lu requests never end", in_progress(), tickets);
    check_words();
    for (unsigned pe = 0; pe < PES; pe++)
        CHECK(!held[pe] == !(others >> pe & 1));
}

/* A put of 8 bytes with a signal to PE 0. */
static int put_signal(struct request *r, int sig_op)
{
    struct shi_request_view v = {.bytes = 8, .payload = &r->source, .sig_op = sig_op, .signal_value = 1};
    *r = (struct request){.used = 1, .op.request.op = SHI_OP_PUT_SIGNAL_INLINE};
    int err = shi_staged_issue(&proxy, &r->op, &v, (char *)&word[0][0], &word[0][1]);
    r->used = err == -EINPROGRESS;
    return err;
}

/* Catches: puts with signals one by one, an addition among them, others that wait for ever behind a stream of them. */
static void sets_together(void)
{
    int n = 0;
    stopped = 1;
    others = 0;
    memset(held, 0, sizeof held);
    CHECK(put_signal(&requests[0], SHMEM_SIGNAL_SET) == -EINPROGRESS && put_signal(&requests[1], SHMEM_SIGNAL_SET) == -EINPROGRESS);
    CHECK(put_signal(&requests[2], SHMEM_SIGNAL_ADD) == -EAGAIN && !shi_amo_try_lock(&held[0]));
    stopped = 0;
    for (; n < 1000 && !shi_amo_try_lock(&held[0]); n++) { /* there is always one in progress, until joining is refused */
        for (int i = 0; i < 2; i++)
            if (requests[i].used != 1)
                put_signal(&requests[i], SHMEM_SIGNAL_SET);
        may_end = ended + 2;
        shi_staged_poll();
    }
    may_end = UINT64_MAX;
    CHECKF(n > 1 && n < 1000, "another agent has its turn after %d rounds", n);
    CHECK(put_signal(&requests[2], SHMEM_SIGNAL_SET) == -EAGAIN);
    shi_amo_unlock(&held[0]);
    for (int i = 0; i < 1000 && (requests[0].used == 1 || requests[1].used == 1); i++)
        shi_staged_poll();
    CHECK(requests[0].used != 1 && requests[1].used != 1 && !held[0]);
    memset(requests, 0, sizeof requests);
}

/* Catches: a copy that never ends and is not found, or is found early, or one that follows others taken for one that lasts. */
static void late_copies(void)
{
    const uint64_t second = 1000000000;
    struct request *r = requests;
    struct shi_request_view v = {.bytes = 8, .payload = &r->source};
    shi_copying_limit(3 * second);
    for (uint64_t now = second; now < 20 * second; now += second) { /* one is in progress at each check, another one each time */
        *r = (struct request){.used = 1};
        r->op.request.op = SHI_OP_PUT_INLINE;
        CHECK(shi_staged_issue(&proxy, &r->op, &v, (char *)&word[0][0], NULL) == -EINPROGRESS);
        stopped = 1;
        shi_staged_check(now);
        stopped = 0;
        shi_staged_poll();
        CHECK(r->used == 2);
    }
    stopped = 1;
    r->used = 1;
    CHECK(shi_staged_issue(&proxy, &r->op, &v, (char *)&word[0][0], NULL) == -EINPROGRESS);
    for (uint64_t now = 20 * second; now < 23 * second; now += second)
        shi_staged_check(now);
    CHECK(!last_words[0]);
    fflush(stdout);
    pid_t child = fork(); /* shi_die does not return */
    if (child == 0) {
        may_die = 1;
        shi_staged_check(24 * second);
        exit(1);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    stopped = 0;
    shi_staged_poll();
}

int main(void)
{
    shi_device = &device;
    shi_world.dev_private = 1;
    ring.log_n = 4;
    ring.results = (uint64_t)slots;
    if (shi_staged_up())
        return 1;
    RUN(random_requests, "random requests");
    RUN(sets_together, "signals that are set hold the lock together, for some time");
    RUN(late_copies, "a copy that never ends ends the job with a line");
    shi_staged_down();
    return tap_end();
}
