/*
 * tag_match.c - random sends, receives, probes and cancels with windows of a few messages, against a plain list.
 *
 * Every PE sends to every PE. Both sides know the tags of a pair's messages, and a message contains its number, so that
 * the receiver knows which message a receive got. It records its receives in the order of posting. At the end it checks
 * for each sender the receives from that sender, and the any-source receives that got one of its messages: they must
 * have got the messages that a list gives. Each message, in the order of sending, goes to the first free receive that
 * matches.
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
static unsigned state;

/* The tag of message `number` from one PE to another: a class, a few bits that many tags share, and the number. */
static uint64_t tag_of(int from, int to, int number)
{
    unsigned h = (unsigned)(from * 7919 + to * 104729 + number) * 2654435761u;
    return (uint64_t)number << 16 | (h >> 20) % 4 << 8 | (h >> 12) % CLASSES;
}

static size_t bytes_of(int number)
{
    return number % 11 == 3 ? LONG : number % 5 == 2 ? MIDDLE : SHORT;
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

static void sweep(void)
{
    for (int i = 0; i < n_pending;) {
        shmemx_tag_status_t s;
        struct receive *r = &receive[pending[i]];
        if (shmemx_tag_test(&r->request, &s)) {
            check_got(r, &s);
            memmove(&pending[i], &pending[i + 1], (size_t)(--n_pending - i) * sizeof *pending);
        } else {
            i++;
        }
    }
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
        if (!wanted && !taken[*from * ALL + number])
            return number;
    }
    return -1;
}

/* Make a receive that matches at least one sent message, and wait for it: it must complete. */
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
    shmemx_tag_irecv(world, r->got, sizeof r->got, r->tag, r->mask, r->source, &r->request);
}

static void cancel_one(void)
{
    if (n_pending)
        shmemx_tag_cancel(&receive[pending[tap_random(&state) % (unsigned)n_pending]].request);
}

static void receive_some(int operations)
{
    for (int i = 0; i < operations; i++) {
        unsigned what = tap_random(&state) % 16;
        if (what < 5)
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
            if (bytes == LONG)
                shmemx_tag_isendv(world, m->pieces, 2, tag_of(me, pe, number), pe, s);
            else if (number % 13 == 5)
                shmemx_tag_issend(world, m, bytes, tag_of(me, pe, number), pe, s);
            else
                shmemx_tag_isend(world, m, bytes, tag_of(me, pe, number), pe, s);
        }
}

/* Cancel receives that have not matched, and receive all remaining messages. */
static void take_rest(void)
{
    for (int i = 0; i < n_pending; i++)
        shmemx_tag_cancel(&receive[pending[i]].request);
    while (n_pending)
        sweep();
    while (n_taken < n_pes * ALL)
        take(0, 0, SHMEMX_TAG_ANY_SOURCE);
}

/* Catches: a message that is expected and never arrives; messages or receives out of order, messages lost or doubled,
 * while they are eager, headers or waiting at their senders, and change between these at any time. */
static void test_matching(void)
{
    int n = n_pes * BURST, operations = 3 * BURST;
    struct message *m = malloc((size_t)n * PHASES * sizeof *m);
    shmemx_tag_request_t *s = malloc((size_t)n * PHASES * sizeof *s);
    room = PHASES * operations + n_pes * ALL;
    receive = malloc((size_t)room * sizeof *receive);
    taken = calloc((size_t)n_pes, ALL);
    n_receives = n_taken = n_sent = 0;
    for (int phase = 0; phase < PHASES; phase++) {
        send_burst(phase, m + phase * n, s + phase * n);
        if (phase % 2)
            shmem_barrier_all(); /* in the other phases messages arrive while PEs receive */
        n_sent += BURST;
        receive_some(operations);
    }
    take_rest();
    shmemx_tag_wait_all(n * PHASES, s, NULL);
    CHECK(!shmemx_tag_iprobe(world, 0, 0, SHMEMX_TAG_ANY_SOURCE, NULL));
    for (int from = 0; from < n_pes; from++)
        check_matching(from);
    free(m);
    free(s);
    free(receive);
    free(taken);
    shmem_barrier_all();
}

int main(void)
{
    setenv("SHMEM_TAG_UNEXPECTED_PER_PEER", "12000", 1);
    setenv("SHMEM_TAG_UNEXPECTED_HEADERS_PER_PEER", "4", 1);
    if (OVER_NETWORK)
        setenv("SHMEM_TRANSPORT", "ofi", 1);
    shmem_init();
    tap_pes_begin();
    for (unsigned seed = 1; seed <= 3; seed++) {
        state = seed * 100 + (unsigned)me;
        RUN(test_matching, "random receives, probes and cancels against a list");
    }
    int status = tap_end();
    shmem_finalize();
    return status;
}
