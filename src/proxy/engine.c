/*
 * engine.c - the proxy's engine. The ring's owner table is in device/lib/ring.h; one thread accesses everything else.
 *
 * Order. A request whose epoch differs from that of the last request issued to its PE waits until all earlier requests to
 * that PE are complete; so does every later request to that PE. Requests to other PEs are not affected.
 *
 * Retirement. The requests of a round form a cohort with its last ticket and a count. `done` advances past the oldest
 * cohort when its count is zero; counting completions against a snapshot would be wrong when they come out of order.
 * Any other cohort whose count is zero is merged into the one before it. So every cohort in the list has a request in
 * progress, and requests bound the number of cohorts.
 */
#include "proxy/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/policy/limits.h"

struct shi_cohort {
    uint64_t end; /* the ticket after its last */
    int left;
    struct shi_cohort *older, *newer;
};

/* The requests of one PE. All zero until it has one: a job has more PEs than a kernel talks to. */
struct target {
    uint32_t epoch;                    /* of the last request issued */
    int outstanding;                   /* in progress */
    struct shi_engine_op *first, *last; /* waiting, in ticket order; last is valid while first is not NULL */
    struct target *next;               /* of those with a queue */
};

struct shi_engine {
    struct shi_ring *ring;
    struct shi_engine_exec exec;
    uint64_t next;                 /* the ticket to take next */
    uint64_t done;
    struct shi_engine_op *ops, *free_ops;
    struct target *targets;
    int n_targets;
    struct target *waiting, **last_waiting; /* targets with a queue; the first one is served first */
    struct shi_cohort *cohorts, *free_cohorts; /* the free ones by their `newer` */
    struct shi_cohort *newest, *open;          /* open: the cohort of this round */
    int progress, error;
    uint64_t stuck_ticket, stuck_since_ns;
};

struct shi_engine *shi_engine_up(struct shi_ring *ring, const struct shi_engine_exec *exec, int n_pes, int max_ops)
{
    struct shi_engine *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    *e = (struct shi_engine){.ring = ring, .exec = *exec, .next = ring->head, .done = ring->head, .n_targets = n_pes};
    e->last_waiting = &e->waiting;
    e->ops = calloc((size_t)max_ops, sizeof *e->ops);
    e->targets = calloc((size_t)n_pes, sizeof *e->targets);
    e->cohorts = calloc((size_t)max_ops + 1, sizeof *e->cohorts);
    if (!e->ops || !e->targets || !e->cohorts) {
        shi_engine_down(e);
        return NULL;
    }
    for (int i = 0; i < max_ops; i++) {
        e->ops[i].next = e->free_ops;
        e->free_ops = &e->ops[i];
    }
    for (int i = 0; i <= max_ops; i++) {
        e->cohorts[i].newer = e->free_cohorts;
        e->free_cohorts = &e->cohorts[i];
    }
    return e;
}

void shi_engine_down(struct shi_engine *e)
{
    free(e->ops);
    free(e->targets);
    free(e->cohorts);
    free(e);
}

void shi_engine_abort(struct shi_engine *e, int status)
{
    struct shi_ring_line *line = shi_ring_line(e->ring);
    uint64_t word = (uint64_t)(status & 0xff) + 1;
    shi_store_relaxed(&line->abort, word);
    shi_store_relaxed(&line->abort_beside_tail, word);
}

void shi_engine_end_waits(struct shi_engine *e, int why)
{
    uint64_t *abort = &shi_ring_line(e->ring)->abort;
    shi_store_relaxed(abort, (uint32_t)*abort | (uint64_t)why << 32);
}

static void fail(struct shi_engine *e, int err)
{
    if (!e->error) {
        e->error = err;
        shi_engine_abort(e, 1);
    }
}

/* ---- retire --------------------------------------------------------------------------------------------------------- */

static void cohort_open(struct shi_engine *e)
{
    struct shi_cohort *c = e->free_cohorts;
    e->free_cohorts = c->newer;
    *c = (struct shi_cohort){.older = e->newest};
    if (e->newest)
        e->newest->newer = c;
    e->newest = e->open = c;
}

/* Remove the cohort from the list once it is closed and all its requests are complete. */
static void cohort_settle(struct shi_engine *e, struct shi_cohort *c)
{
    if (c->left || c == e->open)
        return;
    if (c->older) {
        c->older->end = c->end;
        c->older->newer = c->newer;
    } else {
        e->done = c->end;
    }
    if (c->newer)
        c->newer->older = c->older;
    else
        e->newest = c->older;
    c->newer = e->free_cohorts;
    e->free_cohorts = c;
}

/* ---- issue ---------------------------------------------------------------------------------------------------------- */

static void finish(struct shi_engine *e, struct shi_engine_op *op)
{
    if (e->exec.ended)
        e->exec.ended(e->exec.arg, op);
    op->cohort->left--;
    cohort_settle(e, op->cohort);
    op->next = e->free_ops;
    e->free_ops = op;
    e->progress++;
}

/* Issue one request. 0, or -EAGAIN: try again. */
static int issue(struct shi_engine *e, struct target *t, struct shi_engine_op *op)
{
    t->outstanding++; /* it may complete inside the call */
    int err = e->exec.issue(e->exec.arg, op);
    if (err == -EINPROGRESS) {
        t->epoch = op->request.epoch;
        e->progress++;
        return 0;
    }
    t->outstanding--;
    if (err == -EAGAIN)
        return err;
    t->epoch = op->request.epoch;
    if (err)
        fail(e, err);
    finish(e, op);
    return 0;
}

static int may_go(const struct target *t, const struct shi_engine_op *op)
{
    return t->outstanding == 0 || t->epoch == op->request.epoch;
}

static void list(struct shi_engine *e, struct target *t)
{
    t->next = NULL;
    *e->last_waiting = t;
    e->last_waiting = &t->next;
}

static void queue(struct shi_engine *e, struct target *t, struct shi_engine_op *op)
{
    op->next = NULL;
    if (t->first) {
        t->last->next = op;
    } else {
        t->first = op;
        list(e, t);
    }
    t->last = op;
}

static void drain(struct shi_engine *e, struct target *t)
{
    while (t->first && may_go(t, t->first)) {
        struct shi_engine_op *op = t->first, *next = op->next; /* issue may put op into the free list */
        if (issue(e, t, op))
            return;
        t->first = next;
    }
}

/* Serve the queues, and begin the next round with another one. */
static void drain_all(struct shi_engine *e)
{
    struct target *t = e->waiting, *first = t, *next;
    e->waiting = NULL;
    e->last_waiting = &e->waiting;
    for (; t; t = next) {
        next = t->next;
        drain(e, t);
        if (t->first && t != first)
            list(e, t);
    }
    if (first && first->first)
        list(e, first);
}

static void submit(struct shi_engine *e, struct shi_engine_op *op)
{
    if (op->request.pe >= (uint32_t)e->n_targets) {
        fail(e, -EINVAL);
        finish(e, op);
        return;
    }
    struct target *t = &e->targets[op->request.pe];
    if (t->first || !may_go(t, op) || issue(e, t, op))
        queue(e, t, op);
}

void shi_engine_complete(struct shi_engine *e, struct shi_engine_op *op, int err)
{
    e->targets[op->request.pe].outstanding--;
    if (err)
        fail(e, err);
    finish(e, op);
}

/* ---- take ----------------------------------------------------------------------------------------------------------- */

/* Copy the request of the next ticket. 0: a word of its slot is not written yet; out is unchanged. */
static int read_slot(const struct shi_engine *e, struct shi_request *out)
{
    const uint64_t *slot = shi_ring_slot(shi_ring_slots(e->ring), e->next);
    uint64_t word[SHI_RING_WORDS], phase = shi_ring_phase(e->next, e->ring->log_n);
    for (int i = 0; i < SHI_RING_WORDS; i++) {
        word[i] = shi_load_acquire(&slot[i]); /* A1 */
        if ((word[i] & 1) != phase)
            return 0;
    }
    uint64_t header = word[0] >> 8;
    out->epoch = (uint32_t)(header & ((1u << SHI_EPOCH_BITS) - 1));
    out->pe = (uint32_t)(header >> SHI_EPOCH_BITS & ((1u << SHI_PE_BITS) - 1));
    out->op = (uint32_t)(header >> (SHI_EPOCH_BITS + SHI_PE_BITS));
    for (int i = 0; i < SHI_RING_ARGS; i++)
        out->arg[i] = (word[i + 1] & ~1ull) | (word[0] >> (i + 1) & 1);
    return 1;
}

static void take(struct shi_engine *e)
{
    for (int n = 0; n < SHI_PROXY_BATCH && e->free_ops && read_slot(e, &e->free_ops->request); n++) {
        if (!e->open)
            cohort_open(e);
        struct shi_engine_op *op = e->free_ops;
        e->free_ops = op->next;
        op->ticket = e->next++;
        op->since_ns = 0;
        op->cohort = e->open;
        e->open->left++;
        e->open->end = e->next;
        submit(e, op);
        e->progress++;
    }
    struct shi_cohort *c = e->open;
    e->open = NULL;
    if (c)
        cohort_settle(e, c);
}

static void publish(struct shi_engine *e)
{
    struct shi_ring_line *line = shi_ring_line(e->ring);
    if (line->tail != e->next)
        shi_store_release(&line->tail, e->next); /* R2 */
    if (!e->error && line->done != e->done)
        shi_store_release(&line->done, e->done); /* R3 */
}

int shi_engine_poll(struct shi_engine *e)
{
    e->progress = 0;
    take(e);
    publish(e); /* a poll of the network takes longer than all the rest */
    if (e->exec.poll)
        e->exec.poll(e->exec.arg);
    drain_all(e);
    publish(e);
    return e->error ? e->error : e->progress;
}

uint64_t shi_engine_taken(const struct shi_engine *e)
{
    return e->next;
}

/* Where kernels increment a head in device memory, the host's copy may lag behind e->next. */
uint64_t shi_engine_pending(const struct shi_engine *e)
{
    uint64_t head = shi_load_relaxed(&e->ring->head);
    return ((head - e->next) >> 63 ? e->next : head) - e->done;
}

int64_t shi_engine_stuck(struct shi_engine *e, uint64_t now_ns, uint64_t patience_ns)
{
    struct shi_request r;
    int waits = shi_load_relaxed(&e->ring->head) != e->next && e->free_ops && !read_slot(e, &r);
    if (!waits || e->stuck_ticket != e->next || !e->stuck_since_ns) {
        e->stuck_ticket = e->next;
        e->stuck_since_ns = waits ? now_ns : 0;
        return -1;
    }
    return now_ns - e->stuck_since_ns > patience_ns ? (int64_t)e->next : -1;
}
