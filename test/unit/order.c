/*
 * order.c - the decisions of order.h against an oracle that records every event of a stream and searches all of them.
 *
 * Random sequences of records, closed messages, writes, reads, fences, flushes and acknowledgements, for each order that a
 * transport may promise. The oracle has no counters: "every write has ended" is a search for one that has not. So it
 * detects a counter that is set too early or too late, or not at all in some case.
 *
 * In a third of the sequences some writes are to late memory. Several choices are right there, so the oracle checks the two
 * promises instead: where a record is applied, and where a stream is complete, the data of all writes before it is visible.
 *
 * Waits (struct shi_wait_round) begin at random, are tried at random, and must end although records and writes go on.
 */
#include "host/net/stream/order.h"

#include <limits.h>

#include "../tap.h"

enum { EVENTS = 300, SEQUENCES = 20000 };
enum kind { RECORD, CLOSE, WRITE, READ, FENCE, AWAIT };

static struct event {
    enum kind kind;
    uint64_t seq;     /* RECORD, CLOSE: of the message; AWAIT: the caller waits for it; WRITE: its number, from 1 */
    uint32_t flags;   /* CLOSE */
    uint64_t epoch;   /* WRITE, RECORD: fences before it */
    int flush;        /* WRITE, READ: number of its flush, or 0 */
    int ended;        /* WRITE: at this event it was known to have ended; 0: never */
    int late;         /* WRITE: to late memory */
    int after_writes; /* RECORD: it must not overtake any write */
    int settles;      /* CLOSE */
    uint64_t follows; /* CLOSE: so many writes, by their count */
} events[EVENTS];
static int n, n_flushes, flushes_ended, ordered, has_records, has_late;
static uint64_t fences, acked, n_writes, follows;
static uint32_t ack_wanted;
static uint64_t waits;
static int began[EVENTS]; /* events before each wait */
static struct shi_order o;
static unsigned state = 1;

static unsigned below(unsigned most)
{
    return tap_random(&state) % most;
}

static struct event *add(enum kind kind)
{
    events[n] = (struct event){.kind = kind, .epoch = fences};
    return &events[n++];
}

/* ---- the oracle --------------------------------------------------------------------------------------------------- */

static uint64_t sent(void)
{
    uint64_t count = 0;
    for (int i = 0; i < n; i++)
        count += events[i].kind == CLOSE;
    return count;
}

static int is_rma(const struct event *e)
{
    return e->kind == WRITE || e->kind == READ;
}

static int under_way(const struct event *e)
{
    return is_rma(e) && (!e->flush || e->flush > flushes_ended);
}

/* SHI_NET_SAW: is a message behind it acknowledged? */
static int is_confirmed(int i)
{
    while (++i < n && !(events[i].kind == CLOSE && events[i].seq <= acked))
        ;
    return i < n;
}

static int any_under_way(void)
{
    for (int i = 0; i < n; i++)
        if (under_way(&events[i]))
            return 1;
    return 0;
}

/* The last event of this kind before the end-th, or -1. */
static int last(enum kind kind, int end)
{
    while (--end >= 0 && events[end].kind != kind)
        ;
    return end;
}

static uint64_t last_record(int end)
{
    int i = last(RECORD, end);
    return i < 0 ? 0 : events[i].seq;
}

/* The first message after event i that asks for an acknowledgement; the open message if none does. */
static uint64_t asked_behind(int i)
{
    for (; i < n; i++)
        if (events[i].kind == CLOSE && events[i].flags)
            return events[i].seq;
    return sent() + 1;
}

static uint64_t complete_seq(void)
{
    int write = last(WRITE, n);
    uint64_t records = last_record(n), writes = write < 0 || !(ordered & SHI_NET_SAW) ? 0 : asked_behind(write);
    return records > writes ? records : writes;
}

static uint64_t last_asked(void)
{
    for (int i = n - 1; i >= 0; i--)
        if (events[i].kind == CLOSE && events[i].flags)
            return events[i].seq;
    return 0;
}

/* Have all writes ended that an operation must follow: all, or those before the last fence? */
static int beside(int after_writes)
{
    for (int i = 0; i < n; i++)
        if (events[i].kind == WRITE && under_way(&events[i]) && (after_writes || events[i].epoch != fences))
            return 0;
    return 1;
}

/* How many writes a record must follow. */
static uint64_t writes_before(int after_writes)
{
    uint64_t count = 0;
    for (int i = 0; i < n; i++)
        count += events[i].kind == WRITE && (after_writes || events[i].epoch != fences);
    return count;
}

/* Does the caller's wait at event i end a run, which is all that quiet waits for? */
static int ends_run(int i)
{
    int record = last(RECORD, i);
    return events[i].kind == AWAIT && (record < 0 || events[i].seq >= events[record].seq);
}

/* How many messages with records the run has that ends before the end-th event. *begin: its first event. */
static unsigned run_before(int end, int *begin)
{
    unsigned count = 0;
    for (; end > 0 && !ends_run(end - 1); end--) {
        const struct event *e = &events[end - 1];
        int record = last(RECORD, end - 1);
        count += e->kind == CLOSE && record >= 0 && events[record].seq == e->seq;
    }
    *begin = end;
    return count;
}

/* Will the caller probably wait after the last message? The run before this one was as long. */
static int expects_wait(void)
{
    int begin;
    unsigned now = run_before(n, &begin), before = 0;
    while (begin > 0 && before == 0)
        before = run_before(begin - 1, &begin);
    return now == before;
}

/* ---- the oracle of late memory ------------------------------------------------------------------------------------ */

/* Has the write's data come before message m, that of a CLOSE event, is applied? */
static int comes_before(const struct event *w, const struct event *m)
{
    return w < m && (ordered & SHI_NET_SAW || m->follows >= w->seq || (w->ended && events + w->ended <= m));
}

/* Does a message up to number seq make the write's data visible? */
static int is_visible(const struct event *w, uint64_t seq)
{
    for (int i = 0; i < n; i++)
        if (events[i].kind == CLOSE && events[i].settles && events[i].seq <= seq && comes_before(w, &events[i]))
            return 1;
    return 0;
}

static int precedes(const struct event *w, const struct event *r)
{
    return w < r && (r->after_writes || r->epoch != w->epoch);
}

/* Message seq is closed: when its records are applied, all data that they must follow is visible. */
static void check_records(uint64_t seq)
{
    for (int r = 0; r < n; r++)
        for (int w = 0; events[r].kind == RECORD && events[r].seq == seq && w < r; w++)
            if (events[w].kind == WRITE && events[w].late && precedes(&events[w], &events[r]))
                CHECKF(is_visible(&events[w], seq), "a record of message %lu overtakes write %lu", seq, events[w].seq);
}

static void check_complete(void)
{
    if (shi_order_is_complete(&o))
        for (int w = 0; w < n; w++)
            if (events[w].kind == WRITE && events[w].late)
                CHECKF(is_visible(&events[w], acked), "complete, but not write %lu", events[w].seq);
}

/* ---- a sequence --------------------------------------------------------------------------------------------------- */

static void end_flush(void)
{
    shi_order_flush_ended(&o);
    flushes_ended = n_flushes;
    for (int i = 0; i < n; i++)
        if (is_rma(&events[i]) && !events[i].ended && !under_way(&events[i]))
            events[i].ended = n;
}

static void start_flush(void)
{
    if (!shi_order_must_flush(&o))
        return;
    n_flushes++;
    for (int i = 0; i < n; i++)
        if (is_rma(&events[i]) && !events[i].flush)
            events[i].flush = n_flushes;
    shi_order_flush_started(&o, 1);
    if (below(2))
        end_flush();
}

static void record(void)
{
    int after_writes = (int)below(2);
    uint64_t behind = shi_order_behind(&o, fences, after_writes), writes = writes_before(after_writes);
    CHECKF(behind == writes, "a record follows %lu writes, not %lu, after_writes %d", behind, writes, after_writes);
    int may = shi_order_may_go(&o, behind, ordered & SHI_NET_SAW), right = ordered & SHI_NET_SAW ? 1 : beside(after_writes);
    CHECKF(may == right, "a record may be sent: %d, not %d, after_writes %d", may, right, after_writes);
    if (!may && has_late && below(2)) {
        may = 1;
        follows = behind > follows ? behind : follows;
    }
    if (!may) {
        start_flush();
        return;
    }
    shi_order_record(&o, fences);
    has_records = 1;
    struct event *e = add(RECORD);
    e->seq = sent() + 1;
    e->after_writes = after_writes;
}

static void close_message(uint32_t flags)
{
    uint64_t seq = sent() + 1, asked = last_asked();
    struct event *e = add(CLOSE);
    e->seq = seq;
    uint32_t wanted = flags | ack_wanted | (has_records && expects_wait() ? ACK_NOW : 0);
    if (!wanted && has_records && seq - (asked > acked ? asked : acked) >= SHI_ORDER_ACK_EVERY)
        wanted = ACK_SOON;
    uint32_t got = shi_order_close(&o, flags, has_records);
    CHECKF(got == wanted, "a message requests with flags %u, not %u", got, wanted);
    e->flags = got;
    e->follows = follows;
    e->settles = shi_order_settles(&o, ordered, follows);
    CHECKF(has_late || !e->settles, "message %lu settles no write", seq);
    has_records = ack_wanted = 0;
    follows = 0;
    check_records(seq);
}

static void transfer(enum kind kind)
{
    uint64_t behind = shi_order_write_behind(&o, fences), right = last_record(last(FENCE, n) + 1);
    if (kind == WRITE) {
        CHECKF(behind == right, "a write follows message %lu, not %lu", behind, right);
        int may = shi_order_may_go(&o, shi_order_behind(&o, fences, 0), ordered & SHI_NET_WAW);
        int beside_writes = ordered & SHI_NET_WAW ? 1 : beside(0);
        CHECKF(may == beside_writes, "a write may start: %d, not %d", may, beside_writes);
        if (acked < behind || !may) {
            start_flush();
            return;
        }
        shi_order_write(&o, fences, ordered);
    } else {
        shi_order_read(&o);
    }
    struct event *e = add(kind);
    if (kind != WRITE)
        return;
    e->seq = ++n_writes;
    e->late = has_late && below(2);
    if (e->late)
        shi_order_write_late(&o);
}

/* The caller waits for all so far, or for what was sent before the last fence. */
static void await(void)
{
    uint64_t all = has_late ? shi_order_complete_seq(&o) : complete_seq(), seq = below(3) ? all : last_record(last(FENCE, n) + 1);
    if (shi_order_must_ask(&o, seq))
        close_message(ACK_NOW);
    shi_order_awaited(&o, seq);
    add(AWAIT)->seq = seq;
}

static void acknowledge(uint64_t most)
{
    uint64_t seq = acked + below((unsigned)(most - acked) + 1);
    CHECKF(shi_order_is_news(&o, seq) == (seq > acked), "message %lu of %lu is new", seq, acked);
    if (seq > acked)
        shi_order_acked(&o, acked = seq);
}

static void compare(void)
{
    uint64_t seq = complete_seq(), is = shi_order_complete_seq(&o);
    int complete = acked >= seq && !any_under_way(), is_complete = shi_order_is_complete(&o);
    CHECKF(has_late ? is >= seq && is <= sent() + 1 : is == seq, "complete at %lu, not %lu", is, seq);
    CHECKF(has_late ? is_complete <= complete : is_complete == complete, "complete: %d", is_complete);
    check_complete();
    seq = is;
    CHECKF(shi_order_rma_ended(&o) == !any_under_way(), "all transfers have ended: %d", shi_order_rma_ended(&o));
    CHECKF(shi_order_must_ask(&o, seq) == (acked < seq && last_asked() < seq), "must ask: %d", shi_order_must_ask(&o, seq));
    CHECKF(shi_order_in_window(&o) == (sent() < acked + SHI_ORDER_WINDOW), "in the window: %d", shi_order_in_window(&o));
}

static void begin_wait(void)
{
    began[++waits] = n;
}

/* All before the wait must be complete; for a wait for buffers, transfers must have ended and records be acknowledged. */
static void check_served(uint64_t wait, int is_quiet)
{
    for (int i = 0; i < began[wait]; i++) {
        const struct event *e = &events[i];
        int write = is_quiet && e->kind == WRITE;
        CHECKF(!under_way(e), "wait %lu is served while transfer %d is under way", wait, i);
        CHECKF(e->kind != RECORD || e->seq <= acked, "wait %lu is served before message %lu", wait, e->seq);
        CHECKF(!write || !(ordered & SHI_NET_SAW) || is_confirmed(i), "wait %lu is served before write %d", wait, i);
        CHECKF(!write || !e->late || is_visible(e, acked), "wait %lu is served, but write %lu is not visible", wait, e->seq);
    }
}

/* One try of a wait. */
static void look(struct shi_wait_round *r, int is_quiet)
{
    uint64_t served = r->served;
    if (served == waits)
        return;
    start_flush();
    shi_order_begin_round(&o, r, waits, is_quiet ? shi_order_complete_seq(&o) : last_record(n), is_quiet);
    int ended = shi_order_round_ended(&o, r);
    if (shi_order_must_ask(&o, r->seq))
        close_message(ACK_NOW);
    CHECKF(ended == (r->served > served) && r->served <= waits, "of %lu waits %lu are served", waits, r->served);
    if (ended)
        check_served(r->served, is_quiet);
}

/* Others record and write before each look and each completion. */
static void endless(void)
{
    begin_wait();
    for (int i = 0; i < 8 && (o.quiet.served < waits || o.local.served < waits); i++) {
        record();
        transfer(WRITE);
        look(&o.quiet, 1);
        look(&o.local, 0);
        transfer(WRITE);
        record();
        if (!shi_order_flushed(&o))
            end_flush();
        if (acked < last_asked())
            shi_order_acked(&o, acked = last_asked());
    }
    CHECKF(o.quiet.served == waits && o.local.served == waits, "waits last for ever: %lu, %lu of %lu are served", o.quiet.served,
           o.local.served, waits);
}

static void step(void)
{
    switch (below(15)) {
    case 0: case 1: record(); break;
    case 2: close_message(0); break;
    case 3: close_message(below(3) ? 0 : ACK_NOW); break;
    case 4: transfer(WRITE); break;
    case 5: transfer(below(3) ? WRITE : READ); break;
    case 6: fences++, add(FENCE); break;
    case 7: acknowledge(sent()); break;
    case 8: case 9: await(); break;
    case 11: begin_wait(); break;
    case 12: look(&o.quiet, 1); break;
    case 13: look(&o.local, 0); break;
    case 10: o.ack_wanted = (uint8_t)(ack_wanted |= below(8) ? 0 : 1 + below(2)); break;
    default:
        start_flush();
        if (!shi_order_flushed(&o) && below(2))
            end_flush();
    }
}

/* Act as quiet until all is complete, which must happen. */
static void finish(void)
{
    start_flush();
    if (!shi_order_flushed(&o))
        end_flush();
    start_flush();
    if (!shi_order_flushed(&o))
        end_flush();
    if (shi_order_must_ask(&o, shi_order_complete_seq(&o)))
        close_message(ACK_NOW);
    CHECKF(last_asked() >= complete_seq() || acked >= complete_seq(), "no message requests quiet's acknowledgement");
    if (acked < last_asked())
        shi_order_acked(&o, acked = last_asked());
    compare();
    CHECK(shi_order_is_complete(&o));
}

/* Catches: any counter of the sender that differs from the events; a wait that ends early, or never while others go on. */
static void sending(void)
{
    static const int orders[] = {0, SHI_NET_WAW, SHI_NET_SAW | SHI_NET_WAW};
    for (int i = 0; i < SEQUENCES; i++) {
        ordered = orders[i % 3];
        has_late = i / 3 % 3 == 0;
        n = n_flushes = flushes_ended = has_records = ack_wanted = 0;
        fences = acked = n_writes = follows = waits = 0;
        o = (struct shi_order){0};
        for (unsigned k = below(EVENTS / 2 - 34); k > 0; k--) {
            step();
            compare();
        }
        endless();
        finish();
    }
}

/* Catches: an acknowledgement that is lost, sent twice, sent too early, or sent too late. */
static void acknowledging(void)
{
    struct shi_acks a = {0};
    uint64_t applied[SHI_NET_LANES] = {0}, seq, poll = 1, queued_at = 0;
    unsigned queued = 0, now = 0, is_queued = 0;
    for (int i = 0; i < 100000; i++) {
        int lane = (int)below(SHI_NET_LANES);
        uint32_t flags = below(8) ? ACK_SOON : ACK_NOW, lanes;
        switch (below(4)) {
        case 0:
            CHECK(shi_acks_is_next(&a, lane, applied[lane] + 1) && !shi_acks_is_next(&a, lane, applied[lane] + 2));
            shi_acks_applied(&a, lane, ++applied[lane]);
            CHECK(shi_acks_queue(&a, lane, flags, poll) == !is_queued);
            queued |= 1U << lane;
            now |= flags == ACK_NOW;
            queued_at = poll;
            is_queued = 1;
            break;
        case 1:
            lane = shi_acks_take(&a, &seq);
            CHECKF(seq == applied[lane] && (!queued || queued >> lane & 1), "lane %d is acknowledged up to %lu", lane, seq);
            queued &= ~(1U << lane);
            break;
        case 2:
            poll++;
            break;
        default:
            if (!is_queued)
                break;
            int due = shi_acks_due(&a, poll, &lanes), right = !queued || now || poll - queued_at > 1;
            CHECKF(due == right && lanes == queued, "acknowledgements are due: %d, not %d", due, right);
            if (due)
                now = is_queued = 0;
            for (; due && lanes; lanes &= lanes - 1)
                queued &= ~(1U << shi_acks_take(&a, &seq));
        }
    }
}

/* Catches: a counter of tries that overflows, after which a stream that waits for buffers is never tried; an invalid
 * stream chosen. */
static void fairness(void)
{
    for (int streams = 1; streams <= 5; streams++) {
        unsigned failed = UINT_MAX - 20, seen[5] = {0};
        for (unsigned i = 1; i < 60; i++, failed++) {
            int first = shi_order_first(failed, streams);
            if (!CHECKF(first >= 0 && first < streams, "chose stream %d of %d", first, streams))
                return;
            seen[first] = i;
            for (int k = 0; k < streams; k++)
                CHECKF(i - seen[k] < 2 * (unsigned)streams, "stream %d of %d waits for %u tries", k, streams, i - seen[k]);
        }
    }
}

int main(void)
{
    RUN(sending, "records, writes, fences, flushes and acknowledgements");
    RUN(acknowledging, "acknowledgements queued, piggybacked, and sent alone");
    RUN(fairness, "streams that wait for buffers are tried in rotation, beyond 2^32 tries");
    return tap_end();
}
