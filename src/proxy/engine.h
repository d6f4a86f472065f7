/*
 * engine.h - the proxy's engine: takes requests from a ring, issues them in the order that fences demand, and retires them
 * in ticket order. One thread calls it; it never blocks.
 */
#ifndef SHI_ENGINE_H
#define SHI_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "device/lib/ring.h"

struct shi_engine;
struct shi_cohort;

/* A request in progress. */
struct shi_engine_op {
    struct shi_request request;
    uint64_t ticket;
    struct shi_cohort *cohort;
    struct shi_engine_op *next; /* in the free list, or in the queue of its PE */
    uint64_t since_ns;          /* of the executor: 0 at first */
};

/* The executor of requests. issue returns 0 (complete), -EINPROGRESS (shi_engine_complete will be called once), -EAGAIN
 * (nothing was kept; the engine tries again), or another -errno, which ends the job. It never blocks, and may be called
 * for one PE while requests for another PE wait. poll advances the requests in progress; NULL: there are none. */
struct shi_engine_exec {
    int (*issue)(void *arg, struct shi_engine_op *op);
    void (*poll)(void *arg);
    void *arg;
    void (*ended)(void *arg, const struct shi_engine_op *op); /* a request is complete; NULL: of no interest */
};

/* An engine for a ring, with targets 0 to n_pes - 1. At most max_ops requests are in progress; further ones stay in the
 * ring. NULL: out of memory. Pair: shi_engine_down. */
struct shi_engine *shi_engine_up(struct shi_ring *ring, const struct shi_engine_exec *exec, int n_pes, int max_ops);
void shi_engine_down(struct shi_engine *e);

/* One round: take, issue, complete, retire, publish. Returns the number of requests taken, issued or retired; 0: idle;
 * -errno: a request failed, the abort word is set, and every waiter of the ring returns. */
int shi_engine_poll(struct shi_engine *e);

/* A request that was in progress has ended, with 0 or -errno. Called from exec->poll or between rounds. */
void shi_engine_complete(struct shi_engine *e, struct shi_engine_op *op, int err);

/* Make every waiter of the ring return with this status. */
void shi_engine_abort(struct shi_engine *e, int status);

/* why: an error, and waits of the ring for what PEs do end from now on; 0: they do not. */
void shi_engine_end_waits(struct shi_engine *e, int why);

/* How many tickets have been taken from the ring so far. */
uint64_t shi_engine_taken(const struct shi_engine *e);

/* Requests in progress or in the ring, by the host's copy of the ring's head; 0: all posted requests are complete. */
uint64_t shi_engine_pending(const struct shi_engine *e);

/* A ticket whose slot has stayed empty for patience_ns, or -1: its kernel died after it had taken the ticket. now_ns is the
 * caller's clock; the time counts from the first call that found the slot empty. */
int64_t shi_engine_stuck(struct shi_engine *e, uint64_t now_ns, uint64_t patience_ns);

#endif
