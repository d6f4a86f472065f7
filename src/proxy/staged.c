/*
 * staged.c - requests on device memory that the host cannot load and store. Each is a sequence of copies; the device makes
 * copies in order, and the proxy polls for their end.
 *
 * A put with a signal that is set is two copies. An update that depends on the old value (atomics, signals that are added)
 * is a copy to the host, then a copy back. Between the two the proxy holds the target PE's lock word `held`, as for every
 * update of a word that another proxy, a record of the network (net/stream/stream_device.h) or a host's call (host/ops/amo.c) may
 * update: it excludes these from each other (test/model/words.pml). It does not exclude the atomics that kernels execute
 * themselves, see amo.h. Signals that this proxy sets on one PE, which need no old value, hold the lock together, so that a stream of puts with
 * signals does not wait for each copy; after some of them another agent gets its turn.
 *
 *   word   written by                                       read by   order
 *   held   proxies, threads that poll, threads of the       the same  R8 (release) -> A8 (acquire): the previous update has ended
 *          program; compare-and-swap
 */
#include "proxy/staged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "host/net/node/amo_word.h"
#include "host/ops/dheap.h"
#include "host/util/copying.h"
#include "host/util/log.h"
#include "host/util/tracer.h"

enum { N_STAGED = 512, OLD = 6, NEW = 7 }; /* indices into `data`: the word before and after an update */
enum { N_SHARED = 16, MOST_JOINED = 64 };

/* A lock that this proxy holds for signals that it sets. */
struct shared {
    uint64_t *held;
    int sets, joined; /* in progress; since the lock was taken. sets 0: not in use */
};

/* A request in progress. */
struct staged {
    struct shi_proxy_ring *ring;
    struct shi_engine_op *op;
    struct shi_request_view v;
    enum { LAST, SIGNAL_ADD, AMO, DELIVER } next_step; /* when its copies have ended */
    uint64_t after;                                 /* that is when this many copies in all have ended */
    char *at;
    uint64_t *signal, *held, *data; /* data: 8 words in memory that the device can access */
    struct shared *shared;          /* how `held` is held; NULL: by this request alone */
    struct staged *next;
};

static struct staged *all, *free_list, *first, **last = &first; /* first to last: in the order of `after` */
static struct shared shared[N_SHARED];
static uint64_t n_started;
static uint64_t checked, checked_ns; /* 1 + how many copies had ended at the last check, 0: no request was in progress; when it last changed */

int shi_staged_up(void)
{
    void *data;
    if (!shi_world.dev_private)
        return 0;
    int err = shi_device->alloc_shared(N_STAGED * 8 * sizeof(uint64_t), &data);
    if (err)
        return err;
    all = calloc(N_STAGED, sizeof *all);
    if (!all)
        return -ENOMEM;
    for (int i = 0; i < N_STAGED; i++) {
        all[i].data = (uint64_t *)data + 8 * i;
        all[i].next = free_list;
        free_list = &all[i];
    }
    n_started = 0;
    memset(shared, 0, sizeof shared);
    return 0;
}

void shi_staged_down(void)
{
    free(all);
    checked = 0;
    all = free_list = first = NULL;
    last = &first;
}

static int start(void *to, const void *from, size_t bytes)
{
    struct shi_copying *c = shi_copying_begin("proxy", bytes);
    int err = shi_device->copy_start(SHI_DEVICE_REQUESTS, to, from, bytes);
    shi_copying_end(c);
    n_started += !err;
    return err;
}

/* Take next_step when all copies started so far have ended. Returns err, and does nothing if it is not 0. */
static int then(int err, struct staged *s, int next_step)
{
    if (err)
        return err;
    s->next_step = next_step;
    s->after = n_started;
    s->next = NULL;
    *last = s;
    last = &s->next;
    return 0;
}

static void release(struct staged *s)
{
    if (s->held && (!s->shared || --s->shared->sets == 0))
        shi_amo_unlock(s->held); /* R8 */
    s->next = free_list;
    free_list = s;
}

/* Take the lock for a signal that is set, or join others that hold it. 0: another agent has it, or comes first. *out: NULL: alone. */
static int hold_together(uint64_t *held, struct shared **out)
{
    struct shared *unused = NULL;
    for (int i = 0; i < N_SHARED; i++) {
        struct shared *h = &shared[i];
        if (h->sets && h->held == held) {
            *out = h;
            h->sets += h->joined < MOST_JOINED;
            return h->joined++ < MOST_JOINED;
        }
        unused = h->sets ? unused : h;
    }
    if (!shi_amo_try_lock(held)) /* A8 */
        return 0;
    if (unused)
        *unused = (struct shared){.held = held, .sets = 1};
    *out = unused;
    return 1;
}

/* ---- first step --------------------------------------------------------------------------------------------------- */

static int begin_put(struct staged *s)
{
    const struct shi_request_view *v = &s->v;
    if (v->payload)
        memcpy(s->data, v->payload, v->bytes);
    int err = v->bytes ? start(s->at, v->payload ? s->data : (const void *)v->local, v->bytes) : 0;
    if (err || !s->signal)
        return then(err, s, LAST);
    if (v->sig_op == SHMEM_SIGNAL_ADD)
        return then(start(&s->data[OLD], s->signal, sizeof *s->signal), s, SIGNAL_ADD);
    s->data[NEW] = v->signal_value;
    return then(start(s->signal, &s->data[NEW], sizeof *s->signal), s, LAST);
}

static int begin(struct staged *s)
{
    const struct shi_request_view *v = &s->v;
    s->data[OLD] = 0;
    switch (s->op->request.op) {
    case SHI_OP_GET: return then(start((void *)v->local, s->at, v->bytes), s, LAST);
    case SHI_OP_GET_INLINE: return then(start(&s->data[OLD], s->at, v->bytes), s, DELIVER);
    case SHI_OP_AMO: return then(start(&s->data[OLD], s->at, v->bytes), s, AMO);
    default: return begin_put(s);
    }
}

int shi_staged_issue(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v, char *at,
                     uint64_t *signal)
{
    uint64_t *held = NULL;
    struct shared *together = NULL;
    struct staged *s = free_list;
    int sets = signal && v->sig_op == SHMEM_SIGNAL_SET;
    if (v->bytes == 0 && !signal)
        return 0;
    if (!s)
        return -EAGAIN;
    if (signal || (op->request.op == SHI_OP_AMO && v->amo != SHI_AMO_FETCH))
        held = shi_dheap_word_lock((int)op->request.pe);
    if (held && !(sets ? hold_together(held, &together) : shi_amo_try_lock(held))) /* A8 */
        return -EAGAIN;
    free_list = s->next;
    *s = (struct staged){.ring = p, .op = op, .v = *v, .at = at, .signal = signal, .held = held, .data = s->data, .shared = together};
    int err = begin(s);
    if (err)
        release(s);
    return err ? err : -EINPROGRESS;
}

/* ---- further steps ------------------------------------------------------------------------------------------------ */

static int update(struct staged *s)
{
    const struct shi_request_view *v = &s->v;
    int err = 0;
    s->data[NEW] = s->data[OLD];
    if (s->next_step == SIGNAL_ADD) {
        s->data[NEW] += v->signal_value;
        return then(start(s->signal, &s->data[NEW], sizeof *s->signal), s, LAST);
    }
    shi_amo_word(&s->data[NEW], v->bytes, v->amo, v->value, v->cond);
    if (v->amo != SHI_AMO_FETCH)
        err = start(s->at, &s->data[NEW], v->bytes);
    if (!err && v->result == SHI_RESULT_ADDRESS)
        err = start((void *)v->local, &s->data[OLD], v->bytes);
    return then(err, s, v->result == SHI_RESULT_SLOT ? DELIVER : LAST);
}

/* Take the next step of the first request. 0 when the result slot is not free: try again. */
static int advance(struct staged *s, int err)
{
    if (!err && s->next_step == DELIVER && !shi_result_free(s->ring, s->op->ticket))
        return 0;
    first = s->next;
    if (!first)
        last = &first;
    int more = s->next_step == SIGNAL_ADD || s->next_step == AMO;
    if (!err && more && !(err = update(s)))
        return 1;
    if (!err && s->next_step == DELIVER)
        shi_result_publish(s->ring, s->op->ticket, s->data[OLD]);
    struct shi_engine_op *op = s->op;
    struct shi_engine *engine = s->ring->engine;
    release(s);
    shi_engine_complete(engine, op, err);
    return 1;
}

void shi_staged_poll(void)
{
    uint64_t ended = 0;
    if (!first)
        return;
    int err = shi_device->copies_ended(SHI_DEVICE_REQUESTS, &ended);
    while (first && (err || first->after <= ended) && advance(first, err))
        ;
}

void shi_staged_check(uint64_t now_ns)
{
    uint64_t ended = 0, limit = shi_copying_limit_ns();
    if (first && shi_device->copies_ended(SHI_DEVICE_REQUESTS, &ended))
        return; /* the next poll ends the job */
    if (!first || first->after <= ended || ended + 1 != checked) {
        checked = first ? ended + 1 : 0;
        checked_ns = now_ns;
    } else if (limit && now_ns - checked_ns > limit && !shi_is_traced()) { /* a debugger may stop the device */
        shi_die("proxy", "the device has ended none of %lu copies for %g s (SHMEM_HEARTBEAT)", (unsigned long)(n_started - ended),
                (double)limit / 1e9);
    }
}
