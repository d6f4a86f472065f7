/*
 * remote.c - requests of kernels on PEs that only the network reaches: each is a remote operation (net/stream/remote_op.h), which
 * the proxy thread advances, and a result that it delivers.
 *
 * A put is complete, for the device's quiet, when the target has acknowledged all of it; a get when its data is in place.
 *
 *   word       written by                       read by             order
 *   ready      callbacks, any thread (push)     proxy thread        R1 -> A1: what the callback brought is there
 *   the rest   proxy thread                     proxy thread
 */
#include "proxy/remote.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/node/progress.h"
#include "host/net/stream/remote_op.h"
#include "host/ops/dheap.h"
#include "host/ops/remote.h"
#include "host/ops/state.h"
#include "proxy/staged.h"

struct pending {
    struct shi_remote_op op;
    struct shi_proxy_ring *ring;
    struct shi_engine_op *request;
    enum shi_amo_result result; /* where the fetched value goes */
    void *address;              /* RESULT_ADDRESS */
    uint64_t value;
    struct pending *next;
    struct pending *next_first; /* of `first` */
    int goes_first;             /* is in that list */
};

static struct pending *ready; /* operations whose callback was called; in any order, because they are independent */
/* To be advanced again, in the order of issue: the network was full, or the result slot was not free. */
static struct pending *stalled, **last_stalled = &stalled;
static struct pending *first; /* which later requests to the same PE must not overtake, and do not follow by themselves */
static struct pending *free_list;
static int in_progress; /* number of operations */

static void push(struct shi_remote_op *op)
{
    struct pending *p = shi_container_of(op, struct pending, op);
    p->next = __atomic_load_n(&ready, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&ready, &p->next, p, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) /* R1 */
        ;
}

/* 0: the request is complete; 1: staged.c completes it; -EAGAIN. */
static int deliver(const struct pending *p)
{
    if (p->result == SHI_RESULT_ADDRESS && shi_world.dev_private)
        return shi_staged_deliver(p->ring, p->request, p->address, p->value, p->op.bytes) ? -EAGAIN : 1;
    if (p->result == SHI_RESULT_ADDRESS)
        memcpy(p->address, &p->value, p->op.bytes);
    if (p->result != SHI_RESULT_SLOT)
        return 0;
    if (!shi_result_free(p->ring, p->request->ticket))
        return -EAGAIN;
    shi_result_publish(p->ring, p->request->ticket, p->value);
    return 0;
}

/* advance returned err: until its data and signal are posted, a request that the network refused, or a staged put, goes first. */
static void note_order(struct pending *p, int err)
{
    int put = p->op.kind == SHI_REMOTE_PUT && p->op.way == SHI_REMOTE_STAGED;
    int goes_first = !shi_remote_op_posted(&p->op) && (err == -EAGAIN || put);
    if (goes_first == p->goes_first)
        return;
    p->goes_first = goes_first;
    struct pending **at = &first;
    while (!goes_first && *at != p)
        at = &(*at)->next_first;
    if (goes_first) {
        p->next_first = first;
        first = p;
    } else {
        *at = p->next_first;
    }
}

/* 0, 1: as deliver; -EINPROGRESS: push will be called; -EAGAIN: queued as stalled. */
static int advance(struct pending *p)
{
    int err = shi_remote_op_advance(&p->op);
    note_order(p, err);
    if (!err)
        err = deliver(p);
    if (err == -EAGAIN) {
        p->next = NULL;
        *last_stalled = p;
        last_stalled = &p->next;
    }
    return err;
}

/* Must a request to this PE wait for an earlier one? */
static int must_wait(int pe)
{
    for (const struct pending *p = first; p; p = p->next_first)
        if (p->op.at.pe == pe)
            return 1;
    return 0;
}

static int find(uint32_t pe, uint64_t off, size_t bytes, struct shi_remote_addr *out)
{
    return shi_remote_addr_of(&shi_world.peer[pe], SHI_WRITE, (const char *)shi_world.dev_lo + off, bytes, out);
}

/* Describe the request as a remote operation. signal: of its word, or NULL. */
static void describe(struct pending *p, const struct shi_remote_addr *at, const struct shi_remote_addr *signal,
                     const struct shi_request_view *v)
{
    uint32_t kind = p->request->request.op;
    int get = kind == SHI_OP_GET || kind == SHI_OP_GET_INLINE, amo = kind == SHI_OP_AMO;
    p->result = kind == SHI_OP_GET_INLINE ? SHI_RESULT_SLOT : (enum shi_amo_result)v->result;
    p->address = (void *)v->local;
    int fetches = p->result != SHI_RESULT_NONE, outside = !fetches && !amo && !v->payload; /* data outside the request */
    const void *local = fetches ? &p->value : amo ? NULL : v->payload ? v->payload : (const void *)v->local;
    int hidden = outside && shi_world.dev_private;
    enum shi_remote_way way = !outside                                  ? SHI_REMOTE_RECORDS
                              : hidden && !shi_dheap_holds(local, 1) ? SHI_REMOTE_STAGED /* perhaps not registered */
                                                                     : shi_remote_way(at, local, v->bytes, hidden);
    p->op = (struct shi_remote_op){
        .kind = amo ? SHI_REMOTE_AMO : get ? SHI_REMOTE_GET : SHI_REMOTE_PUT,
        .way = way,
        .until = get || fetches ? SHI_REMOTE_LOCAL : SHI_REMOTE_TARGET,
        .lane = shi_world.proxy_lane,
        .at = *at,
        .local = (char *)local,
        .bytes = v->bytes,
        .amo = {(enum shi_amo)v->amo, v->value, v->cond},
        .hidden = hidden,
        .ready = push,
    };
    if (signal) {
        p->op.signal.at = *signal;
        p->op.signal.op = v->sig_op == SHMEM_SIGNAL_SET ? SHI_AMO_SET : SHI_AMO_ADD;
        p->op.signal.value = v->signal_value;
    }
}

static void release(struct pending *p)
{
    p->next = free_list;
    free_list = p;
    in_progress--;
}

int shi_remote_issue(struct shi_proxy_ring *ring, struct shi_engine_op *request, const struct shi_request_view *v)
{
    const struct shi_request *q = &request->request;
    struct shi_remote_addr at = {.pe = (int)q->pe}, signal = at;
    if ((v->bytes && find(q->pe, v->target, v->bytes, &at)) || (v->sig_op && find(q->pe, v->signal, 8, &signal)))
        return -EFAULT;
    if (must_wait(at.pe))
        return -EAGAIN;
    struct pending *p = free_list;
    if (p)
        free_list = p->next;
    else if (!(p = aligned_alloc(SHI_LINE_BYTES, shi_round_up(sizeof *p, SHI_LINE_BYTES))))
        return -ENOMEM;
    if (!shi_world.proxy_lane)
        shi_world.proxy_lane = shi_stream_lane_beside();
    p->ring = ring;
    p->request = request;
    p->value = 0; /* results may be shorter */
    p->goes_first = 0;
    in_progress++;
    describe(p, &at, v->sig_op ? &signal : NULL, v);
    int err = advance(p);
    if (err < 0)
        return -EINPROGRESS;
    release(p);
    return err ? -EINPROGRESS : 0;
}

static void advance_all(struct pending *list)
{
    for (struct pending *p = list, *next; p; p = next) {
        next = p->next;
        int err = advance(p);
        if (err < 0)
            continue;
        if (!err)
            shi_engine_complete(p->ring->engine, p->request, 0);
        release(p);
    }
}

int shi_remote_poll(void)
{
    if (!in_progress)
        return -1;
    shi_stream_send(shi_world.proxy_lane); /* requests of this round */
    int came = shi_progress();
    struct pending *called = __atomic_exchange_n(&ready, NULL, __ATOMIC_ACQUIRE), *again = stalled; /* A1 */
    stalled = NULL;
    last_stalled = &stalled;
    advance_all(again);
    advance_all(called);
    return came;
}

void shi_remote_leave(void)
{
    for (struct pending *p; (p = free_list); free(p))
        free_list = p->next;
    ready = stalled = first = NULL;
    last_stalled = &stalled;
    in_progress = 0;
}
