/*
 * staged.c - requests on device memory that the host cannot load and store. Each is a few copies; those of the requests that the proxy takes
 * in one round are submitted together (host/net/stream/copies.h), and the proxy polls for their end.
 *
 * A put is a copy, its signal an update behind it. Updates (atomics, signals) of one PE go in rounds, under the lock of its words
 * (host/net/stream/words.h), which excludes other proxies, records of the network (net/stream/stream_device.h) and calls of the host (host/ops/amo.c). No
 * fence is between two requests of one PE that are in progress: the engine issues none behind a fence before the others are complete.
 */
#include "proxy/staged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "host/net/stream/words.h"
#include "host/ops/dheap.h"
#include "host/util/base.h"
#include "host/util/copying.h"
#include "host/util/log.h"
#include "host/util/tracer.h"

enum { N_STAGED = 512, N_PES = 16 };
enum { UPDATED = 64, WORDS = UPDATED + 2 }; /* of the memory of a request: payloads, then the words of its update */

/* A request in progress. */
struct staged {
    struct shi_proxy_ring *ring;
    struct shi_engine_op *op;
    struct shi_request_view v;
    enum { LAST, DELIVER } next_step; /* when its copies have ended */
    uint64_t after;                   /* that is when this many copies in all have ended */
    uint64_t *data;                   /* WORDS words in memory that the device can access */
    struct shi_word_update update;
    struct staged *next;
};

static struct staged *all, *free_list, *first, **last = &first; /* first to last: whose copies are gathered, in that order */
static struct shi_copies copies;
static struct shi_words words[N_PES]; /* of PEs that are being updated, in any order; idle ones are reused */
static uint64_t checked, checked_ns; /* 1 + how many copies had ended at the last check, 0: none was in progress; when it last changed */

static int start(const struct shi_device_copy *c, int n)
{
    return shi_device->copies_start(SHI_DEVICE_REQUESTS, c, n);
}

static int look(uint64_t *n)
{
    return shi_device->copies_ended(SHI_DEVICE_REQUESTS, n);
}

int shi_staged_up(void)
{
    void *data;
    if (!shi_world.dev_private)
        return 0;
    int err = shi_device->alloc_shared(N_STAGED * WORDS * sizeof(uint64_t), &data);
    if (err)
        return err;
    all = calloc(N_STAGED, sizeof *all);
    if (!all)
        return -ENOMEM;
    for (int i = 0; i < N_STAGED; i++) {
        all[i].data = (uint64_t *)data + WORDS * i;
        all[i].next = free_list;
        free_list = &all[i];
    }
    copies = (struct shi_copies){.start = start, .look = look, .routine = "proxy", .agent = SHI_COPIES_REQUESTS};
    return 0;
}

void shi_staged_down(void)
{
    free(all);
    checked = checked_ns = 0;
    memset(&copies, 0, sizeof copies);
    memset(words, 0, sizeof words);
    all = free_list = first = NULL;
    last = &first;
}

/* Take next_step when the copy with this number has ended. */
static void then(struct staged *s, int next_step, uint64_t after)
{
    s->next_step = next_step;
    s->after = after;
    s->next = NULL;
    *last = s;
    last = &s->next;
}

static uint64_t copy(void *to, const void *from, size_t bytes)
{
    return shi_copies_add(&copies, to, from, bytes, 0);
}

/* ---- updates ------------------------------------------------------------------------------------------------------ */

/* The word is written, by copies that are gathered. */
static void written(struct shi_word_update *u)
{
    struct staged *s = shi_container_of(u, struct staged, update);
    uint64_t after = u->after;
    if (s->op->request.op == SHI_OP_AMO && s->v.result == SHI_RESULT_ADDRESS)
        after = copy((void *)s->v.local, &u->word[0], u->width);
    then(s, s->op->request.op == SHI_OP_AMO && s->v.result == SHI_RESULT_SLOT ? DELIVER : LAST, after);
}

/* The updates of a PE's words; NULL: of too many PEs are in progress. */
static struct shi_words *words_of(int pe)
{
    uint64_t *lock = shi_dheap_word_lock(pe);
    struct shi_words *unused = NULL;
    for (struct shi_words *w = words; w < words + N_PES; w++) {
        if (w->lock == lock)
            return w;
        unused = shi_words_idle(w) ? w : unused;
    }
    if (unused)
        *unused = (struct shi_words){.lock = lock, .copies = &copies, .written = written};
    return unused;
}

static void join(struct shi_words *w, struct staged *s, const struct shi_word_update *u)
{
    s->update = *u;
    s->update.word = &s->data[UPDATED];
    shi_words_join(w, &s->update);
}

/* ---- requests ----------------------------------------------------------------------------------------------------- */

/* The memory of the request whose payload the last gathered copy begins with, if the next bytes continue that; else NULL. */
static char *continued(const char *at, size_t bytes)
{
    const struct shi_device_copy *c = copies.n ? &copies.gathered[copies.n - 1] : NULL;
    size_t off = c ? (size_t)((const char *)c->from - (const char *)all[0].data) : 0;
    if (!c || (const char *)c->from < (const char *)all[0].data || off >= N_STAGED * WORDS * sizeof(uint64_t) ||
        off % (WORDS * sizeof(uint64_t)) || (char *)c->to + c->bytes != at || c->bytes + bytes > UPDATED * sizeof(uint64_t))
        return NULL;
    return (char *)c->from + c->bytes;
}

/* Payloads that follow each other in device memory are one copy: no fence is between them. */
static uint64_t put(struct staged *s, char *at)
{
    const struct shi_request_view *v = &s->v;
    if (!v->payload)
        return copy(at, (const void *)v->local, v->bytes);
    char *more = continued(at, v->bytes);
    memcpy(more ? more : (char *)s->data, v->payload, v->bytes);
    if (!more)
        return copy(at, s->data, v->bytes);
    copies.gathered[copies.n - 1].bytes += v->bytes;
    return copies.started + (uint64_t)copies.n;
}

int shi_staged_issue(struct shi_proxy_ring *p, struct shi_engine_op *op, const struct shi_request_view *v, char *at,
                     uint64_t *signal)
{
    struct staged *s = free_list;
    struct shi_words *w = NULL;
    int kind = (int)op->request.op;
    if (v->bytes == 0 && !signal)
        return 0;
    if (!s || ((signal || kind == SHI_OP_AMO) && !(w = words_of((int)op->request.pe))))
        return -EAGAIN;
    free_list = s->next;
    *s = (struct staged){.ring = p, .op = op, .v = *v, .data = s->data};
    if (kind == SHI_OP_AMO) {
        join(w, s, &(struct shi_word_update){.at = at, .width = (unsigned char)v->bytes, .op = (unsigned char)v->amo, .value = v->value,
                                             .cond = v->cond, .fetches = v->result != SHI_RESULT_NONE});
    } else if (kind == SHI_OP_GET) {
        then(s, LAST, copy((void *)v->local, at, v->bytes));
    } else if (kind == SHI_OP_GET_INLINE) {
        s->data[UPDATED] = 0;
        then(s, DELIVER, copy(&s->data[UPDATED], at, v->bytes));
    } else {
        uint64_t after = v->bytes ? put(s, at) : 0;
        if (!signal)
            then(s, LAST, after);
        else
            join(w, s, &(struct shi_word_update){.at = (char *)signal, .width = sizeof *signal, .value = v->signal_value,
                                                 .op = v->sig_op == SHMEM_SIGNAL_SET ? SHI_AMO_SET : SHI_AMO_ADD});
    }
    return -EINPROGRESS;
}

int shi_staged_deliver(struct shi_proxy_ring *p, struct shi_engine_op *op, void *to, uint64_t value, size_t bytes)
{
    struct staged *s = free_list;
    if (!s)
        return -EAGAIN;
    free_list = s->next;
    *s = (struct staged){.ring = p, .op = op, .data = s->data};
    s->data[UPDATED] = value; /* little-endian: the low bytes */
    then(s, LAST, copy(to, &s->data[UPDATED], bytes));
    return 0;
}

/* Take the next step of the first request. 0 when the result slot is not free: try again. */
static int advance(struct staged *s)
{
    if (s->next_step == DELIVER && !shi_result_free(s->ring, s->op->ticket))
        return 0;
    first = s->next;
    if (!first)
        last = &first;
    if (s->next_step == DELIVER)
        shi_result_publish(s->ring, s->op->ticket, s->data[UPDATED]);
    struct shi_engine_op *op = s->op;
    struct shi_engine *engine = s->ring->engine;
    s->next = free_list;
    free_list = s;
    shi_engine_complete(engine, op, 0);
    return 1;
}

static void update_words(void)
{
    for (struct shi_words *w = words; w < words + N_PES; w++)
        if (!shi_words_idle(w))
            shi_words_poll(w);
}

void shi_staged_submit(void)
{
    update_words();
    int err = shi_copies_submit(&copies);
    if (err)
        shi_die("proxy", "a request of a kernel failed: %s", strerror(-err));
}

void shi_staged_poll(void)
{
    shi_staged_submit();
    int ended = shi_copies_look(&copies);
    if (ended < 0)
        shi_die("proxy", "a request of a kernel failed: %s", strerror(-ended));
    if (ended)
        update_words(); /* locks are released before requests are complete */
    while (first && first->after <= copies.ended && advance(first))
        ;
}

void shi_staged_check(uint64_t now_ns)
{
    uint64_t limit = shi_copying_limit_ns();
    if (shi_copies_look(&copies) < 0)
        return; /* the next poll ends the job */
    uint64_t left = copies.started - copies.ended;
    if (!left || copies.ended + 1 != checked) {
        checked = left ? copies.ended + 1 : 0;
        checked_ns = now_ns;
    } else if (limit && now_ns - checked_ns > limit && !shi_is_traced()) { /* a debugger may stop the device */
        shi_die("proxy", "the device has ended none of %lu copies for %g s (SHMEM_HEARTBEAT)", (unsigned long)left, (double)limit / 1e9);
    }
}
