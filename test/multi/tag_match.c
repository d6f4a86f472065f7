/*
 * tag_match.c - random sends, receives, probes and cancels of both with windows of a few messages, against a plain list.
 *
 * Every PE sends to every PE. Both sides know the tags of a pair's messages, and a message contains its number, so that
 * the receiver knows which message a receive got. It records its receives in the order of posting. At the end it checks
 * for each sender the receives from that sender, and the any-source receives that got one of its messages: they must
 * have got the messages that a list gives. Each message, in the order of sending, goes to the first free receive that
 * matches. Some messages may be cancelled by their sender, which tells the receiver at the end which ones were; no receive
 * waits for one of these.
 *
 * Built twice: with OVER_NETWORK the PEs communicate through libfabric.
 */
#include "../tap_pes.h"

#include <shmemx.h>

#ifndef OVER_NETWORK
#define OVER_NETWORK 0
#endif

enum { PHASES = 5, BURST = 120, ALL = PHASES * BURST, CLASSES = 5, PENDING = 24, SHORT = 8, MIDDLE = 1000, LONG = 9000 };

/* One of this PE's receives or mprobes. */
struct receive {
    shmemx_tag_request_t request;
    uint64_t tag, mask;
    int source, cancelled;
    int persistent;
    int from; /* source of its message, -1: none */
    int number;
    int got[2]; /* sender and number, as sent */
};

/* A message, without the tail of a long one. */
struct message {
    int head[2];
    char rest[MIDDLE - 2 * sizeof(int)];
    shmemx_tag_iov_t pieces[2];
};

static const shmem_team_t world = SHMEM_TEAM_WORLD;
static struct receive *receive;
static int n_receives, room;
static int pending[PENDING], n_pending; /* receives that have not completed */
static unsigned char *taken;            /* [n_pes * ALL] */
static int n_taken, n_sent;             /* from all PEs; least number that each PE has sent to this one */
static unsigned char *cancelled;        /* [n_pes * ALL], symmetric: messages that their senders have cancelled */
static shmemx_tag_request_t *sends;     /* [PHASES][BURST][n_pes] */
static unsigned char *cancels;          /* which of them this PE has tried to cancel */
static long n_cancelled, n_tried;
static int cancelling;                  /* PEs may cancel sends */
static unsigned state;

/* The tag of message `number` from one PE to another: a class, a few bits that many tags share, and the number. */
static uint64_t tag_of(int from, int to, int number)
{
    unsigned h = (unsigned)(from * 7919 + to * 104729 + number) * 2654435761u;
    return (uint64_t)number << 16 | (h >> 20) % 4 << 8 | (h >> 12) % CLASSES;
}

static size_t bytes_of(int number)
{
    return number % 11 == 3 && number % 17 != 3 ? LONG : number % 5 == 2 ? MIDDLE : SHORT;
}

static int may_be_cancelled(int number)
{
    return number % 7 == 3;
}

static int matches(const struct receive *r, int from, int number)
{
    return (r->source < 0 || r->source == from) && ((tag_of(from, me, number) ^ r->tag) & r->mask) == 0;
}

/* ---- what a receive got ---------------------------------------------------------------------------------------------- */

static void check_got(struct receive *r, const shmemx_tag_status_t *s)
{
    r->cancelled = s->cancelled;
    r->from = -1;
    if (s->cancelled)
        return;
    r->from = r->got[0];
    r->number = r->got[1];
    int is_one = r->from >= 0 && r->from < n_pes && r->number >= 0 && r->number < ALL;
    if (!CHECKF(is_one && s->source == r->from && s->tag == tag_of(r->from, me, r->number) && s->bytes == bytes_of(r->number),
                "got message %d of PE %d, status %d %lx %zu", r->number, r->from, s->source, (long)s->tag, s->bytes))
        return;
    CHECKF(matches(r, r->from, r->number), "message %d of PE %d does not match", r->number, r->from);
    CHECKF(!taken[r->from * ALL + r->number]++, "message %d of PE %d was received twice", r->number, r->from);
    n_taken++;
}

static void end_receive(struct receive *r, const shmemx_tag_status_t *s)
{
    check_got(r, s);
    CHECKF(r->persistent == (r->request != SHMEMX_TAG_REQUEST_NULL), "a request of kind %d after its end", r->persistent);
    if (r->persistent)
        shmemx_tag_request_free(&r->request);
}

/* Complete receives by one of the tests: statuses[i] is that of indices[i]. */
static int test_some(shmemx_tag_request_t *requests, int *indices, shmemx_tag_status_t *statuses)
{
    unsigned how = tap_random(&state) % 5;
    if (how == 0)
        return shmemx_tag_test_some(n_pending, requests, indices, statuses);
    if (how == 1)
        return shmemx_tag_test_any(n_pending, requests, indices, statuses) ? *indices >= 0 : 0;
    if (how == 2 && shmemx_tag_test_all(n_pending, requests, statuses)) {
        for (int i = 0; i < n_pending; i++)
            indices[i] = i;
        return n_pending;
    }
    int n = 0;
    for (int i = 0; i < n_pending && how > 2; i++)
        if ((how == 3 || shmemx_tag_request_get_status(requests[i], &statuses[n])) &&
            shmemx_tag_test(&requests[i], &statuses[n]))
            indices[n++] = i;
    return n;
}

static void sweep(void)
{
    shmemx_tag_request_t requests[PENDING];
    shmemx_tag_status_t statuses[PENDING];
    int indices[PENDING], done[PENDING] = {0}, left = 0;
    for (int i = 0; i < n_pending; i++)
        requests[i] = receive[pending[i]].request;
    int n = test_some(requests, indices, statuses);
    for (int i = 0; i < n_pending; i++)
        receive[pending[i]].request = requests[i];
    for (int i = 0; i < n; i++) {
        done[indices[i]] = 1;
        end_receive(&receive[pending[indices[i]]], &statuses[i]);
    }
    for (int i = 0; i < n_pending; i++)
        if (!done[i])
            pending[left++] = pending[i];
    n_pending = left;
}

static struct receive *next_receive(uint64_t tag, uint64_t mask, int source)
{
    if (n_receives == room) {
        fprintf(stderr, "PE %d: the table of receives is full\n", me);
        shmem_global_exit(1);
    }
    struct receive *r = &receive[n_receives++];
    *r = (struct receive){.tag = tag, .mask = mask, .source = source, .from = -1, .got = {-1, -1}};
    return r;
}

/* ---- operations -------------------------------------------------------------------------------------------------------- */

static int random_pe(void)
{
    return (int)(tap_random(&state) % (unsigned)n_pes);
}

/* A message that has been sent and that no receive has got or matches, or -1. */
static int free_message(int *from)
{
    for (int tries = 0; tries < 20; tries++) {
        int number = (int)(tap_random(&state) % (unsigned)n_sent), wanted = 0;
        *from = random_pe();
        for (int i = 0; i < n_pending; i++)
            wanted |= matches(&receive[pending[i]], *from, number);
        if (!wanted && !taken[*from * ALL + number] && !may_be_cancelled(number))
            return number;
    }
    return -1;
}

/* Make a receive that matches at least one sent message that is not cancelled, and wait for it: it must complete. */
static void take(uint64_t tag, uint64_t mask, int source)
{
    int way = (int)(tap_random(&state) % 4);
    shmemx_tag_status_t probed, s;
    if (way == 0) {
        shmemx_tag_message_t m;
        shmemx_tag_mprobe(world, tag, mask, source, &m, &probed);
        struct receive *r = next_receive(tag, mask, source);
        shmemx_tag_mrecv(&m, r->got, sizeof r->got, &s);
        check_got(r, &s);
    } else if (way == 1) {
        shmemx_tag_probe(world, tag, mask, source, &probed);
        if (may_be_cancelled((int)(probed.tag >> 16)) && cancelling)
            return; /* its sender may cancel it before a receive is posted */
        struct receive *r = next_receive(probed.tag, SHMEMX_TAG_EXACT, probed.source);
        shmemx_tag_recv(world, r->got, sizeof r->got, r->tag, r->mask, r->source, &s);
        check_got(r, &s);
    } else {
        struct receive *r = next_receive(tag, mask, source);
        shmemx_tag_recv(world, r->got, sizeof r->got, tag, mask, source, &s);
        check_got(r, &s);
        return;
    }
    CHECKF(probed.tag == s.tag && probed.source == s.source && probed.bytes == s.bytes, "probed %lx of PE %d, got %lx of PE %d",
           (long)probed.tag, probed.source, (long)s.tag, s.source);
}

static void take_one(void)
{
    static const uint64_t masks[] = {SHMEMX_TAG_EXACT, SHMEMX_TAG_EXACT, 0xff, 0xffff};
    int from, number = free_message(&from), any = tap_random(&state) % 2;
    if (number >= 0)
        take(tag_of(from, me, number), masks[tap_random(&state) % 4], any ? SHMEMX_TAG_ANY_SOURCE : from);
}

static void look_for_one(void)
{
    shmemx_tag_status_t probed, s;
    shmemx_tag_message_t m;
    uint64_t tag = tap_random(&state) % CLASSES, mask = tap_random(&state) % 2 ? 0xff : 0xff00;
    int source = tap_random(&state) % 2 ? random_pe() : SHMEMX_TAG_ANY_SOURCE;
    if (tap_random(&state) % 2) {
        shmemx_tag_iprobe(world, tag, mask, source, NULL);
    } else if (shmemx_tag_improbe(world, tag, mask, source, &m, &probed)) {
        struct receive *r = next_receive(tag, mask, source);
        shmemx_tag_mrecv(&m, r->got, sizeof r->got, &s);
        check_got(r, &s);
    }
}

static void post_one(void)
{
    static const uint64_t masks[] = {0xff, 0xff00, 0xffff, SHMEMX_TAG_EXACT};
    if (n_pending == PENDING)
        return;
    int number = (int)(tap_random(&state) % ALL), from = random_pe(); /* it may be received already, or not sent yet */
    uint64_t mask = tap_random(&state) % 64 ? masks[tap_random(&state) % 4] : 0;
    pending[n_pending++] = n_receives;
    struct receive *r = next_receive(tag_of(from, me, number), mask, tap_random(&state) % 3 ? from : SHMEMX_TAG_ANY_SOURCE);
    r->persistent = tap_random(&state) % 3 == 0;
    if (r->persistent) {
        shmemx_tag_recv_init(world, r->got, sizeof r->got, r->tag, r->mask, r->source, &r->request);
        shmemx_tag_start(&r->request);
    } else {
        shmemx_tag_irecv(world, r->got, sizeof r->got, r->tag, r->mask, r->source, &r->request);
    }
}

static void cancel_one(void)
{
    if (n_pending)
        shmemx_tag_cancel(&receive[pending[tap_random(&state) % (unsigned)n_pending]].request);
}

/* Cancel a send of this PE, which is complete, kept, sent and unmatched, or matched. */
static void cancel_send(void)
{
    int number = (int)(tap_random(&state) % (unsigned)n_sent), i = number * n_pes + random_pe();
    if (!may_be_cancelled(number) || cancels[i])
        return;
    cancels[i] = 1;
    shmemx_tag_cancel(&sends[i]);
}

static void receive_some(int operations)
{
    for (int i = 0; i < operations; i++) {
        unsigned what = tap_random(&state) % 24;
        if (what >= 16)
            cancel_send();
        else if (what < 5)
            take_one();
        else if (what < 7)
            look_for_one();
        else if (what < 13)
            post_one();
        else if (what < 15)
            cancel_one();
        sweep();
    }
}

/* ---- the list ------------------------------------------------------------------------------------------------------------ */

/* Could the receive have got a message of PE `from`? */
static int concerns(const struct receive *r, int from)
{
    return !r->cancelled && (r->source == from || r->from == from);
}

static void check_matching(int from)
{
    unsigned char *used = calloc((size_t)n_receives, 1);
    for (int number = 0; number < ALL; number++) {
        int i = 0;
        CHECKF(!cancelled[from * ALL + number] || !taken[from * ALL + number], "message %d of PE %d was cancelled and received",
               number, from);
        if (cancelled[from * ALL + number])
            continue;
        while (i < n_receives && (used[i] || !concerns(&receive[i], from) || !matches(&receive[i], from, number)))
            i++;
        int ok = i < n_receives && receive[i].from == from && receive[i].number == number;
        if (!CHECKF(ok, "message %d of PE %d did not go to the first receive that matches, %d of %d", number, from, i,
                    n_receives))
            break;
        used[i] = 1;
    }
    free(used);
}

/* ---- the run ------------------------------------------------------------------------------------------------------------- */

static void send_burst(int phase, struct message *m, shmemx_tag_request_t *s)
{
    static char tail[LONG];
    for (int i = 0; i < BURST; i++)
        for (int pe = 0; pe < n_pes; pe++, m++, s++) {
            int number = phase * BURST + i;
            size_t bytes = bytes_of(number);
            m->head[0] = me;
            m->head[1] = number;
            m->pieces[0] = (shmemx_tag_iov_t){m, MIDDLE};
            m->pieces[1] = (shmemx_tag_iov_t){tail, LONG - MIDDLE};
            if (number % 17 == 3) {
                shmemx_tag_ssend_init(world, m, bytes < LONG ? bytes : MIDDLE, tag_of(me, pe, number), pe, s);
                shmemx_tag_start(s);
            } else if (bytes == LONG && number % 2)
                shmemx_tag_issendv(world, m->pieces, 2, tag_of(me, pe, number), pe, s);
            else if (bytes == LONG)
                shmemx_tag_isendv(world, m->pieces, 2, tag_of(me, pe, number), pe, s);
            else if (number % 13 == 5)
                shmemx_tag_issend(world, m, bytes, tag_of(me, pe, number), pe, s);
            else
                shmemx_tag_isend(world, m, bytes, tag_of(me, pe, number), pe, s);
        }
}

/* Complete the sends that this PE has tried to cancel, which needs no receive, and exchange which have been. */
static void await_cancels(void)
{
    for (int i = 0; i < n_pes * ALL; i++)
        if (cancels[i]) {
            shmemx_tag_status_t status;
            shmemx_tag_wait(&sends[i], &status);
            n_tried++;
            n_cancelled += status.cancelled;
            if (status.cancelled)
                shmem_uchar_p(&cancelled[me * ALL + i / n_pes], 1, i % n_pes);
        }
    shmem_barrier_all();
    cancelling = 0;
}

/* Cancel receives that have not matched, and receive all remaining messages. */
static void take_rest(void)
{
    for (int i = 0; i < n_pending; i++)
        shmemx_tag_cancel(&receive[pending[i]].request);
    while (n_pending)
        sweep();
    await_cancels();
    int all = n_pes * ALL;
    for (int i = 0; i < n_pes * ALL; i++)
        all -= cancelled[i];
    while (n_taken < all)
        take(0, 0, SHMEMX_TAG_ANY_SOURCE);
}

/* Catches: a message that is expected and never arrives; messages or receives out of order, messages lost or doubled,
 * while they are eager, headers or waiting at their senders, and change between these at any time. */
static void test_matching(void)
{
    int n = n_pes * BURST, operations = 3 * BURST;
    struct message *m = malloc((size_t)n * PHASES * sizeof *m);
    sends = calloc((size_t)n * PHASES, sizeof *sends);
    cancels = calloc((size_t)n * PHASES, 1);
    cancelled = shmem_calloc((size_t)n_pes, ALL);
    room = PHASES * operations + n_pes * ALL;
    receive = malloc((size_t)room * sizeof *receive);
    taken = calloc((size_t)n_pes, ALL);
    n_receives = n_taken = n_sent = 0;
    cancelling = 1;
    for (int phase = 0; phase < PHASES; phase++) {
        send_burst(phase, m + phase * n, sends + phase * n);
        if (phase % 2)
            shmem_barrier_all(); /* in the other phases messages arrive while PEs receive */
        n_sent += BURST;
        receive_some(operations);
    }
    take_rest();
    shmemx_tag_wait_all(n * PHASES, sends, NULL);
    for (int i = 0; i < n * PHASES; i++)
        shmemx_tag_request_free(&sends[i]); /* persistent ones are inactive, others null */
    CHECK(!shmemx_tag_iprobe(world, 0, 0, SHMEMX_TAG_ANY_SOURCE, NULL));
    for (int from = 0; from < n_pes; from++)
        check_matching(from);
    free(m);
    free(sends);
    free(cancels);
    free(receive);
    free(taken);
    shmem_barrier_all();
    shmem_free(cancelled);
}

/* Catches: a cancel that never takes a message back, so that the test above shows nothing. */
static void test_cancelled(void)
{
    static long here, all;
    here = n_cancelled;
    shmem_barrier_all();
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all, &here, 1);
    CHECKF(all > n_pes * 10, "only %ld sends were cancelled", all);
    printf("# PE %d: %ld of %ld sends were cancelled\n", me, n_cancelled, n_tried);
}

int main(void)
{
    setenv("SHMEM_TEST_TAG_UNEXPECTED_PER_PEER", "12000", 1);
    setenv("SHMEM_TEST_TAG_UNEXPECTED_HEADERS_PER_PEER", "4", 1);
    if (OVER_NETWORK)
        setenv("SHMEM_TRANSPORT", "ofi", 1);
    shmem_init();
    tap_pes_begin();
    for (unsigned seed = 1; seed <= 3; seed++) {
        state = seed * 100 + (unsigned)me;
        RUN(test_matching, "random sends, receives, probes and cancels against a list");
    }
    RUN(test_cancelled, "sends were cancelled");
    int status = tap_end();
    shmem_finalize();
    return status;
}
