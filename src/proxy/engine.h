/*
 * engine.h - the proxy's engine: takes requests from a ring, issues them in the order that fences ask for, retires them
 * in the order of their tickets. One thread calls it; it never blocks.
 */
#ifndef SHI_ENGINE_H
#define SHI_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "device/lib/ring.h"

struct shi_engine;
struct shi_cohort;

/* A request on its way. */
struct shi_engine_op {
    struct shi_request request;
    uint64_t ticket;
    struct shi_cohort *cohort;
    struct shi_engine_op *next; /* in the free list, or behind its PE's others */
};

/* What carries requests out. issue returns 0 (complete), -EINPROGRESS (shi_engine_complete will be called once),
 * -EAGAIN (nothing was kept; it is tried again), or another -errno, which ends the job. It never blocks, and may be
 * called for one PE while another's requests wait. poll drives completions; NULL where there are none. */
struct shi_engine_exec {
    int (*issue)(void *arg, struct shi_engine_op *op);
    void (*poll)(void *arg);
    void *arg;
};

/* An engine for a ring of n_pes. At most max_ops requests are on their way; more stay in the ring. NULL without
 * memory. Pair: shi_engine_down. */
struct shi_engine *shi_engine_up(struct shi_ring *ring, const struct shi_engine_exec *exec, int n_pes, int max_ops);
void shi_engine_down(struct shi_engine *e);

/* Take, issue, complete, retire, publish: one round. The number of requests taken, issued or retired; 0 is idle.
 * -errno when a request failed: the abort word is set, and every waiter of the ring leaves. */
int shi_engine_poll(struct shi_engine *e);

/* A request that was in progress has ended; `err` 0 or -errno. Called from exec->poll or between rounds. */
void shi_engine_complete(struct shi_engine *e, struct shi_engine_op *op, int err);

/* Make every waiter of the ring leave with this status. */
void shi_engine_abort(struct shi_engine *e, int status);

/* How many tickets have been taken from the ring so far. */
uint64_t shi_engine_taken(const struct shi_engine *e);

/* Requests on their way or in the ring, as far as the host's copy of the ring's head tells: 0 when all that was posted
 * has completed. */
uint64_t shi_engine_pending(const struct shi_engine *e);

/* A ticket that was taken long ago and whose slot is still not written, or -1: its kernel died between the two.
 * now_ns is the caller's clock; the time counts from the first look that found it so. */
int64_t shi_engine_stuck(struct shi_engine *e, uint64_t now_ns, uint64_t patience_ns);

#endif
