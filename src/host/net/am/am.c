/*
 * am.c - active messages over any carrier: handlers, pending sends, one poll at a time.
 *
 *   word                    written by              read by         order
 *   peer.lock               senders, poll           the same        spin.h; guards the rest of struct peer and the carrier's
 *                                                                   begin and end
 *   waiting.lock            senders, poll           the same        spin.h; guards the list of PEs with pending sends
 *   waiting.n               under waiting.lock      poll            relaxed: a hint, seen by a later poll at the latest
 *   polling                 thread that calls       the same        spin.h; a try-lock: only shi_am_return waits for it
 *                           handlers
 *   started                 the first to start      all             R1 -> A1 tables are whole
 *   peer.state, losing      shi_am_lose, poll       all            R3 -> A3 the functions for a loss have returned
 *   peer.by                 the first use of it,    all             R2 -> A2 the rest of struct peer is set
 *                           under peer.lock
 */
#include "host/net/am/am.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/node/doorbell.h"
#include "host/net/node/progress.h"
#include "host/policy/limits.h"
#include "host/util/log.h"
#include "host/util/spin.h"
#include "host/util/table.h"

struct peer {
    uint8_t lock;
    uint8_t running;           /* its queue's first is being retried */
    uint8_t listed;            /* among those waiting */
    uint8_t id;                /* of the message begun */
    uint8_t state;             /* LIVES... */
    int pe;
    const struct shi_am_carrier *by;
    struct shi_am_pending_send *first, **last;
    struct peer *next_waiting;
} __attribute__((aligned(SHI_LINE_BYTES)));

enum { LIVES, DIED, DRAINED, LOST };

static struct shi_am_world world;
static shi_am_handler *handlers[SHI_AM_IDS];
static void (*losses[SHI_AM_IDS])(int pe), (*returns[SHI_AM_IDS])(int pe);
static int losing; /* PEs that have DIED */
static const struct shi_am_carrier *node, *remote;
static int all_remote;
static struct peer *peers; /* [n_pes] */
static uint8_t polling;
static int started;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static struct {
    uint8_t lock;
    int n;
    struct peer *first, **last;
} waiting;
static _Thread_local int retrying_pe = -1; /* PE whose queue this thread retries */

void shi_am_handle(enum shi_am_id id, shi_am_handler *handler)
{
    handlers[id] = handler;
}

void shi_am_set_remote(const struct shi_am_carrier *carrier, int all)
{
    remote = carrier;
    all_remote = all;
}

void shi_am_refuse(int pe, const char *what)
{
    shi_die("network", "protocol error: PE %d sends %s", pe, what);
}

void shi_am_deliver(int pe, enum shi_am_id id, const void *msg, size_t bytes)
{
    if (shi_unlikely(id >= SHI_AM_IDS || !handlers[id]))
        shi_am_refuse(pe, "an active message that has no handler");
    handlers[id](pe, msg, bytes);
}

/* The first message to PE pe, or from it. */
static struct peer *meet(int pe)
{
    struct peer *p = &peers[pe];
    shi_spin_lock(&p->lock);
    if (!p->by) {
        p->pe = pe;
        p->last = &p->first;
        __atomic_store_n(&p->by, pe == world.pe || (!all_remote && node->reaches(pe)) ? node : remote, __ATOMIC_RELEASE); /* R2 */
    }
    shi_spin_unlock(&p->lock);
    return p;
}

static struct peer *peer_of(int pe)
{
    struct peer *p = &peers[pe];
    return shi_likely(__atomic_load_n(&p->by, __ATOMIC_ACQUIRE) != NULL) ? p : meet(pe); /* A2 */
}

/* ---- sending ------------------------------------------------------------------------------------------------------ */

static int has_pending(const struct peer *p)
{
    return p->first || p->running;
}

void *shi_am_begin(int pe, enum shi_am_id id, size_t bytes)
{
    struct peer *p = peer_of(pe);
    shi_spin_lock(&p->lock);
    if (shi_likely(!has_pending(p)) || retrying_pe == pe) {
        void *room = p->by->begin(pe, bytes);
        if (shi_likely(room != NULL)) {
            p->id = (uint8_t)id;
            return room;
        }
    }
    shi_spin_unlock(&p->lock);
    return NULL;
}

void shi_am_end(int pe, size_t bytes)
{
    struct peer *p = peer_of(pe);
    p->by->end(pe, p->id, bytes);
    shi_spin_unlock(&p->lock);
}

const struct shi_message_lengths *shi_am_lengths(int pe)
{
    return &peer_of(pe)->by->lengths;
}

/* ---- pending sends ------------------------------------------------------------------------------------------------ */

static void list(struct peer *p)
{
    shi_spin_lock(&waiting.lock);
    p->next_waiting = NULL;
    *waiting.last = p;
    waiting.last = &p->next_waiting;
    __atomic_store_n(&waiting.n, waiting.n + 1, __ATOMIC_RELAXED);
    shi_spin_unlock(&waiting.lock);
}

static struct peer *unlist(void)
{
    shi_spin_lock(&waiting.lock);
    struct peer *p = waiting.first;
    if (p) {
        waiting.first = p->next_waiting;
        if (!waiting.first)
            waiting.last = &waiting.first;
        __atomic_store_n(&waiting.n, waiting.n - 1, __ATOMIC_RELAXED);
    }
    shi_spin_unlock(&waiting.lock);
    return p;
}

void shi_am_queue(int pe, struct shi_am_pending_send *pending_send)
{
    struct peer *p = peer_of(pe);
    pending_send->next = NULL;
    shi_spin_lock(&p->lock);
    *p->last = pending_send;
    p->last = &pending_send->next;
    int is_listed = p->listed;
    p->listed = 1;
    shi_spin_unlock(&p->lock);
    if (!is_listed)
        list(p);
}

/* Retry the first of a PE's queue, which is not empty. It is out of the queue meanwhile, for it may free itself. 0: it has
 * sent everything; *more: the queue is not empty. */
static int run_first(struct peer *p, int *more)
{
    shi_spin_lock(&p->lock);
    struct shi_am_pending_send *pending_send = p->first;
    p->first = pending_send->next;
    if (!p->first)
        p->last = &p->first;
    p->running = 1;
    shi_spin_unlock(&p->lock);
    retrying_pe = p->pe;
    int err = pending_send->retry(pending_send);
    retrying_pe = -1;
    shi_spin_lock(&p->lock);
    p->running = 0;
    if (err) {
        pending_send->next = p->first;
        if (!p->first)
            p->last = &pending_send->next;
        p->first = pending_send;
    }
    *more = p->listed = p->first != NULL;
    shi_spin_unlock(&p->lock);
    return err;
}

/* Retry for every waiting PE. How many sends are complete. */
static int retry_all(void)
{
    int complete = 0;
    for (int n = __atomic_load_n(&waiting.n, __ATOMIC_RELAXED); n > 0; n--) {
        struct peer *p = unlist();
        int more = 1, err = 0;
        for (int i = 0; i < SHI_AM_RETRIES && more && !err; i++) {
            err = run_first(p, &more);
            complete += !err;
        }
        if (more)
            list(p);
    }
    return complete;
}

/* ---- PEs that die -------------------------------------------------------------------------------------------------- */

void shi_am_on_loss(enum shi_am_id id, void (*lost)(int pe))
{
    losses[id] = lost;
}

void shi_am_on_return(enum shi_am_id id, void (*returned)(int pe))
{
    returns[id] = returned;
}

void shi_am_return(int pe)
{
    struct peer *p = peer_of(pe);
    shi_spin_lock(&polling);
    for (int id = 0; id < SHI_AM_IDS; id++)
        if (returns[id])
            returns[id](pe);
    shi_spin_lock(&p->lock);
    p->by->renew(pe);
    shi_spin_unlock(&p->lock);
    __atomic_store_n(&p->state, LIVES, __ATOMIC_SEQ_CST);
    shi_spin_unlock(&polling);
}

void shi_am_lose(int pe)
{
    __atomic_store_n(&peer_of(pe)->state, DIED, __ATOMIC_RELAXED);
    __atomic_fetch_add(&losing, 1, __ATOMIC_RELEASE);
}

int shi_am_loses(int pe)
{
    return __atomic_load_n(&peer_of(pe)->state, __ATOMIC_SEQ_CST) >= DRAINED;
}

int shi_am_is_lost(int pe)
{
    return __atomic_load_n(&peer_of(pe)->state, __ATOMIC_ACQUIRE) == LOST; /* A3 */
}

static int is_queue_empty(struct peer *p)
{
    shi_spin_lock(&p->lock);
    int empty = !has_pending(p);
    shi_spin_unlock(&p->lock);
    return empty;
}

/* Its queue is sent, to nowhere, by retry_all. */
static int lose(struct peer *p)
{
    if (p->by->lose)
        p->by->lose(p->pe);
    if (!is_queue_empty(p))
        return 0;
    __atomic_store_n(&p->state, DRAINED, __ATOMIC_SEQ_CST);
    for (int id = 0; id < SHI_AM_IDS; id++)
        if (losses[id])
            losses[id](p->pe);
    __atomic_store_n(&p->state, LOST, __ATOMIC_RELEASE); /* R3 */
    __atomic_fetch_sub(&losing, 1, __ATOMIC_RELAXED);
    shi_doorbell_ring_own();
    return 1;
}

static int lose_all(void)
{
    int n = 0;
    for (int pe = 0; pe < world.n_pes; pe++)
        if (peers[pe].state == DIED)
            n += lose(&peers[pe]);
    return n;
}

/* ---- receiving ---------------------------------------------------------------------------------------------------- */

static int poll_once(void)
{
    if (!shi_spin_try(&polling))
        return 0;
    int n = node->poll(SHI_AM_BUDGET);
    if (remote)
        n += remote->poll(SHI_AM_BUDGET);
    if (__atomic_load_n(&waiting.n, __ATOMIC_RELAXED))
        n += retry_all();
    if (shi_unlikely(__atomic_load_n(&losing, __ATOMIC_ACQUIRE)))
        n += lose_all();
    shi_spin_unlock(&polling);
    return n;
}

int shi_am_deliver_now(int pe, enum shi_am_id id, const void *msg, size_t bytes)
{
    if (!__atomic_load_n(&started, __ATOMIC_ACQUIRE) || !shi_spin_try(&polling)) /* A1 */
        return 0;
    shi_am_deliver(pe, id, msg, bytes);
    shi_spin_unlock(&polling);
    return 1;
}

/* ---- rendezvous --------------------------------------------------------------------------------------------------- */

int shi_am_expose(int pe, const void *addr, size_t bytes, struct shi_am_src *out)
{
    return peer_of(pe)->by->expose(pe, addr, bytes, out);
}

void shi_am_withdraw(int pe, const struct shi_am_src *src)
{
    peer_of(pe)->by->withdraw(pe, src);
}

size_t shi_am_fetch_bytes(int pe)
{
    return peer_of(pe)->by->fetch_bytes;
}

int shi_am_fetch(int pe, const struct shi_am_src *src, size_t off, void *to, size_t bytes, struct shi_am_fetch *f)
{
    return peer_of(pe)->by->fetch(pe, src, off, to, bytes, f);
}

/* ---- up and down -------------------------------------------------------------------------------------------------- */

void shi_am_up(const struct shi_am_world *w, const struct shi_am_carrier *on_node)
{
    world = *w;
    node = on_node;
}

/* Tables of all PEs. 0 or -errno. */
static int make_tables(void)
{
    peers = shi_table((size_t)world.n_pes, sizeof *peers);
    if (!peers) {
        shi_log_error("out of memory for messages between %d PEs", world.n_pes);
        return -ENOMEM;
    }
    waiting.n = 0;
    waiting.first = NULL;
    waiting.last = &waiting.first;
    return 0;
}

int shi_am_start(void)
{
    if (shi_likely(__atomic_load_n(&started, __ATOMIC_ACQUIRE))) /* A1 */
        return 0;
    static struct shi_progress_source source = {.poll = poll_once, .every_ms = 1, .rings = 1};
    int err = 0;
    pthread_mutex_lock(&starting);
    if (!started) {
        err = node->up(&world);
        if (!err)
            err = make_tables();
        if (!err)
            err = shi_progress_add(&source);
        __atomic_store_n(&started, !err, __ATOMIC_RELEASE); /* R1 */
    }
    pthread_mutex_unlock(&starting);
    return err;
}

void shi_am_down(void)
{
    node->drop(&world);
    shi_table_free(peers, (size_t)world.n_pes, sizeof *peers);
    peers = NULL;
    started = all_remote = losing = 0;
    remote = NULL;
}

void shi_am_leave(void)
{
    node = NULL;
    memset(handlers, 0, sizeof handlers);
    memset(losses, 0, sizeof losses);
    memset(returns, 0, sizeof returns);
    memset(&waiting, 0, sizeof waiting);
    memset(&world, 0, sizeof world);
}
