/*
 * staged.c - requests of kernels on memory that only the device can access (proxy/staged.c), against an oracle: a device that copies
 * late, result slots that are not free, word locks that other agents hold.
 *
 * It asserts: puts and gets of different words, and updates of one word in the order of their issue, leave and fetch what they do one by
 * one; an update reads and writes its word under the lock; fetched values come once, to a free slot; no request is lost; all locks are
 * free at the end; how many copies and submissions requests of one round take.
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

static struct shi_device_copy copies[COPIES];
static uint64_t started, ended, submissions, held[PES];
static int calm, stopped;
static uint64_t may_end = UINT64_MAX; /* so many copies */

static int copies_start(enum shi_device_queue q, const struct shi_device_copy *c, int n)
{
    CHECK(q == SHI_DEVICE_REQUESTS && n > 0 && started - ended + (uint64_t)n <= COPIES && !c->beside);
    for (int i = 0; i < n; i++)
        copies[started++ % COPIES] = c[i];
    submissions++;
    return 0;
}

/* The copy that is next, or the one that may overlap with it. */
static void copy_next(void)
{
    struct shi_device_copy *c = &copies[ended % COPIES], *next = &copies[(ended + 1) % COPIES], first = *c;
    if (ended + 1 < started && next->beside && below(2)) {
        *c = *next;
        *next = first;
        c->beside = first.beside;
        next->beside = 1;
    }
    memcpy(c->to, c->from, c->bytes);
    ended++;
}

static int copies_ended(enum shi_device_queue q, uint64_t *n)
{
    CHECK(q == SHI_DEVICE_REQUESTS);
    while (ended < started && ended < may_end && !stopped && (calm || below(3)))
        copy_next();
    *n = ended;
    return 0;
}

static int alloc_shared(size_t bytes, void **addr)
{
    *addr = calloc(1, bytes);
    return *addr ? 0 : -ENOMEM;
}

static const struct shi_device_ops device = {.copies_start = copies_start, .copies_ended = copies_ended, .alloc_shared = alloc_shared};

uint64_t *shi_dheap_word_lock(int pe)
{
    return &held[pe];
}

/* ---- requests ------------------------------------------------------------------------------------------------------ */

static uint64_t word[PES][WORDS], expected[PES][WORDS]; /* in device memory */
static struct request {
    struct shi_engine_op op;
    uint64_t source, dest, fetched; /* fetched: what it has to fetch */
    uint64_t *touches[2];           /* words */
    int updates;                    /* bit i: as others in progress may, it updates touches[i] */
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

/* Do requests in progress touch the word, other than by updates? */
static int is_touched(const uint64_t *at, int updates_too)
{
    for (const struct request *r = requests; r < requests + OPS; r++)
        for (int i = 0; i < 2; i++)
            if (r->used == 1 && r->touches[i] == at && (updates_too || !(r->updates >> i & 1)))
                return 1;
    return 0;
}

static const uint64_t *of_others[PES]; /* the word that another agent updates under the lock; NULL: none has it */

/* Updates of half of the word: fetched is what that half was. */
static void expect_update(struct request *r, uint64_t *expected_word, size_t half, const struct shi_request_view *v)
{
    char *at = (char *)expected_word + half;
    r->fetched = 0;
    memcpy(&r->fetched, at, v->bytes);
    if (v->bytes == 8)
        shi_amo_word(at, 8, v->amo, v->value, v->cond);
    else
        shi_amo_word(at, 4, v->amo, v->value, v->cond);
}

/* Issue a random request to words that others in progress at most update as it does. */
static void issue(struct request *r)
{
    int pe = (int)below(PES), kind = (int)below(6), a = (int)below(WORDS), s = (int)below(WORDS), updates = kind >= 4;
    uint64_t *at = &word[pe][a], *sig = &word[pe][s], value = tap_random(&random_state), old = expected[pe][a];
    struct shi_request_view v = {.bytes = 8, .value = value, .cond = below(2) ? old : value, .signal_value = value * 3};
    int signals = kind < 2 && a != s && below(2);
    size_t half = updates && below(3) == 0 ? 4 * below(2) : 8;
    if (is_touched(at, !updates) || (signals && is_touched(sig, 0)) || (!updates && of_others[pe] == at))
        return;
    *r = (struct request){.source = value, .fetched = old, .touches = {at, signals ? sig : NULL}, .updates = 2 | updates};
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
        v.bytes = half == 8 ? 8 : 4;
        half %= 8;
        v.amo = (int)below(SHI_AMOS);
        if (v.amo == SHI_AMO_FETCH && of_others[pe] == at)
            return; /* it takes no lock, so it may come before the other agent's update */
        v.result = v.amo == SHI_AMO_SET ? SHI_RESULT_NONE : (int)below(SHI_RESULTS);
        r->to_memory = v.result == SHI_RESULT_ADDRESS;
    }
    v.sig_op = !signals ? 0 : below(2) ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
    r->to_slot = v.result == SHI_RESULT_SLOT;
    if (kind >= 4)
        expect_update(r, &expected[pe][a], half, &v);
    int err = shi_staged_issue(&proxy, &r->op, &v, (char *)at + (updates ? half : 0), signals ? sig : NULL);
    CHECKF(err == -EINPROGRESS, "issue returns %d", err);
    r->used = 1;
    tickets++;
    if (kind < 2)
        expected[pe][a] = value;
    if (signals)
        expected[pe][s] = v.sig_op == SHMEM_SIGNAL_SET ? v.signal_value : expected[pe][s] + v.signal_value;
}

static uint64_t seen_by_others[PES];

static void others_write(unsigned pe)
{
    *(uint64_t *)of_others[pe] = seen_by_others[pe] + 1;
    of_others[pe] = NULL;
    shi_amo_unlock(&held[pe]);
}

/* Another agent takes a lock and reads a word that no request in progress touches, or writes it and releases the lock. */
static void other_agent(void)
{
    unsigned pe = below(PES), a = below(WORDS);
    if (of_others[pe]) {
        others_write(pe);
    } else if (!is_touched(&word[pe][a], 1) && shi_amo_try_lock(&held[pe])) {
        of_others[pe] = &word[pe][a];
        seen_by_others[pe] = word[pe][a];
        expected[pe][a]++; /* updates that are issued from now on come after it */
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
            if (!is_touched(&word[pe][i], 1) && of_others[pe] != &word[pe][i])
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
 * that is lost, updates of one word that lose each other or are out of order, parts of a word taken for another word. */
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
    for (unsigned pe = 0; pe < PES; pe++)
        if (of_others[pe])
            others_write(pe);
    for (int i = 0; i < 1000 && in_progress(); i++) {
        shi_staged_poll();
        take_results();
        reuse();
    }
    CHECKF(!in_progress() && tickets == n_ended && tickets > STEPS / 20, "%d of %lu requests never end", in_progress(), tickets);
    check_words();
    for (unsigned pe = 0; pe < PES; pe++)
        CHECK(!held[pe]);
}

/* ---- counts -------------------------------------------------------------------------------------------------------- */

enum { MANY = 32, ROOM = 4 * MANY };
static uint64_t table[ROOM];
enum form { PUT_EACH, PUT_ROW, SET_EACH, ADD_ONE, UPDATE_EACH, UPDATE_ONE, FETCH_EACH, FETCH_ONE };

/* Issue the i-th request of this form. */
static void issue_form(enum form form, int i)
{
    struct request *r = &requests[i];
    struct shi_request_view v = {.bytes = 8, .payload = &r->source, .value = 1};
    int updates = form >= UPDATE_EACH, signals = form == SET_EACH || form == ADD_ONE;
    uint64_t *at = &table[form == PUT_ROW ? i : form == UPDATE_ONE || form == FETCH_ONE ? 0 : 2 * i];
    *r = (struct request){.used = 1, .source = (uint64_t)i};
    r->op.ticket = (uint64_t)i;
    r->op.request.op = updates ? SHI_OP_AMO : signals ? SHI_OP_PUT_SIGNAL_INLINE : SHI_OP_PUT_INLINE;
    v.amo = SHI_AMO_ADD;
    v.result = form < FETCH_EACH ? SHI_RESULT_NONE : SHI_RESULT_ADDRESS;
    v.local = (uint64_t)&r->dest;
    v.sig_op = !signals ? 0 : form == SET_EACH ? SHMEM_SIGNAL_SET : SHMEM_SIGNAL_ADD;
    v.signal_value = form == SET_EACH ? (uint64_t)i + 1 : 1;
    CHECK(shi_staged_issue(&proxy, &r->op, &v, (char *)at, signals ? &table[ROOM - 1] : NULL) == -EINPROGRESS);
}

/* Catches: requests of one round that are submitted one by one, words that are copied for each update, signals that are written one by
 * one, a wait between a signal and its data; puts of neighbouring words that are copied one by one. */
static void counts(void)
{
    static const struct {
        enum form form;
        const char *name;
        int n;
        uint64_t copies, submissions;
    } rows[] = {{PUT_EACH, "a put", 1, 1, 1},
                {PUT_EACH, "puts", MANY, MANY, 1},
                {PUT_ROW, "puts in a row", MANY, 1, 1},
                {SET_EACH, "a put with a signal", 1, 2, 1},
                {SET_EACH, "puts with a signal", MANY, MANY + 1, 1},
                {ADD_ONE, "a put with an addition", 1, 3, 2},
                {ADD_ONE, "puts with an addition", MANY, MANY + 2, 2},
                {UPDATE_EACH, "an update", 1, 2, 2},
                {UPDATE_EACH, "updates of a word each", MANY, 2 * MANY, 2},
                {UPDATE_ONE, "updates of one word", MANY, 2, 2},
                {FETCH_EACH, "fetching updates", MANY, 3 * MANY, 2}, /* the third is the value's, to device memory */
                {FETCH_ONE, "fetching updates of one word", MANY, 2 + MANY, 2}};
    calm = 1;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        memset(table, 0, sizeof table);
        uint64_t copies_before = started, before = submissions, all = n_ended + (uint64_t)rows[k].n;
        for (int i = 0; i < rows[k].n; i++)
            issue_form(rows[k].form, i);
        for (int i = 0; i < 10 && n_ended < all; i++)
            shi_staged_poll();
        CHECKF(!held[0], "%s: the lock is held when all have ended", rows[k].name);
        CHECKF(started - copies_before == rows[k].copies && submissions - before == rows[k].submissions, "%d x %s: %lu copies, %lu submissions",
               rows[k].n, rows[k].name, started - copies_before, submissions - before);
        for (int i = 0; i < rows[k].n; i++) {
            CHECKF(requests[i].used == 2, "%s: request %d has not ended", rows[k].name, i);
            CHECK(rows[k].form != FETCH_ONE || requests[i].dest == (uint64_t)i);
            CHECK(rows[k].form != PUT_ROW || table[i] == (uint64_t)i);
        }
        CHECK((rows[k].form != SET_EACH && rows[k].form != ADD_ONE) || table[ROOM - 1] == (uint64_t)rows[k].n);
        CHECK((rows[k].form != UPDATE_ONE && rows[k].form != FETCH_ONE) || table[0] == (uint64_t)rows[k].n);
    }
    memset(requests, 0, sizeof requests);
}

/* Catches: an agent that keeps the lock while it has updates without end, or releases it after each round; updates that do not wait for one
 * that has it. */
static void turns(void)
{
    int n = 0;
    for (; n < 1000 && (n < 2 || !shi_amo_try_lock(&held[0])); n++) { /* one joins at each poll */
        CHECK(requests[n % MANY].used != 1);
        issue_form(UPDATE_ONE, n % MANY);
        may_end = ended + 1;
        shi_staged_poll();
    }
    CHECKF(n > 40 && n < 1000, "another agent has its turn after %d rounds", n);
    may_end = UINT64_MAX;
    shi_staged_poll();
    uint64_t before = started;
    issue_form(UPDATE_ONE, n % MANY);
    for (int i = 0; i < 10; i++)
        shi_staged_poll();
    CHECKF(started == before && requests[n % MANY].used == 1, "%lu copies while another agent has the lock", started - before);
    shi_amo_unlock(&held[0]);
    for (int i = 0; i < 10; i++)
        shi_staged_poll();
    CHECK(requests[n % MANY].used == 2 && !held[0]);
    memset(requests, 0, sizeof requests);
}

/* Catches: a fetched value of another node that is lost, or whose request is complete before it is in place. */
static void delivered(void)
{
    uint64_t before = submissions;
    stopped = 1;
    for (int i = 0; i < MANY; i++) {
        requests[i] = (struct request){.used = 1};
        CHECK(shi_staged_deliver(&proxy, &requests[i].op, &requests[i].dest, 100 + (uint64_t)i, 8) == 0);
    }
    shi_staged_poll();
    CHECKF(submissions - before == 1 && requests[0].used == 1, "%lu submissions", submissions - before);
    stopped = 0;
    shi_staged_poll();
    for (int i = 0; i < MANY; i++)
        CHECK(requests[i].used == 2 && requests[i].dest == 100 + (uint64_t)i);
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
        shi_staged_submit();
        shi_staged_check(now);
        stopped = 0;
        shi_staged_poll();
        CHECK(r->used == 2);
    }
    stopped = 1;
    r->used = 1;
    CHECK(shi_staged_issue(&proxy, &r->op, &v, (char *)&word[0][0], NULL) == -EINPROGRESS);
    shi_staged_submit();
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
    RUN(counts, "copies and submissions of requests of one round");
    RUN(turns, "updates hold the lock together, for some time");
    RUN(delivered, "values of requests to other nodes are delivered by copies");
    RUN(late_copies, "a copy that never ends ends the job with a line");
    shi_staged_down();
    return tap_end();
}
