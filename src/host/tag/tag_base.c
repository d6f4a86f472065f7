/* tag_base.c - what the parts of tagged messages use: state, requests, buffers, notes to PEs, windows. */
#include "host/tag/tag.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/policy/limits.h"
#include "host/util/log.h"
#include "host/util/table.h"

enum { POOL_STEP = 32 };

struct shi_tag shi_tag;
int (*shi_tag_has_failed)(struct shmemx_tag_request *r);
struct shi_kept shi_tag_kept = {.most = SHI_KEPT_TAGS};

static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

/* Free requests, in blocks that stay allocated while the process is in the job. The program's threads, and functions of GPCs, which
 * also run on a thread of the library's, take them and put them back. */
static struct {
    uint8_t lock;
    struct shmemx_tag_request *free;
    struct shmemx_tag_request *released; /* some of them are not done */
    struct block {
        struct block *next;
        struct shmemx_tag_request request[POOL_STEP];
    } *blocks;
} pool;

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static void lock_pool(void)
{
    if (shi_world.threads)
        shi_spin_lock(&pool.lock);
}

/* Under the lock: the released requests that are done are free. */
static void collect_released(void)
{
    struct shmemx_tag_request **at = &pool.released;
    while (*at) {
        struct shmemx_tag_request *r = *at;
        if (!shi_tag_is_done(r)) {
            at = &r->next;
            continue;
        }
        *at = r->next;
        r->next = pool.free;
        pool.free = r;
    }
}

struct shmemx_tag_request *shi_tag_request_get(const char *routine)
{
    lock_pool();
    if (!pool.free)
        collect_released();
    if (!pool.free) {
        struct block *b = malloc(sizeof *b);
        if (!b)
            shi_die(routine, "out of memory for requests");
        b->next = pool.blocks;
        pool.blocks = b;
        for (int i = 0; i < POOL_STEP; i++) {
            b->request[i].next = pool.free;
            pool.free = &b->request[i];
        }
    }
    struct shmemx_tag_request *r = pool.free;
    pool.free = r->next;
    shi_spin_unlock(&pool.lock);
    r->owned = 1;
    r->persistent = NULL;
    return r;
}

void shi_tag_requests_leave(void)
{
    for (struct block *b; (b = pool.blocks); free(b))
        pool.blocks = b->next;
    memset(&pool, 0, sizeof pool);
}

/* To the front of a list of the pool. */
static void push(struct shmemx_tag_request **list, struct shmemx_tag_request *r)
{
    r->owned = 0;
    lock_pool();
    r->next = *list;
    *list = r;
    shi_spin_unlock(&pool.lock);
}

void shi_tag_request_put(struct shmemx_tag_request *r)
{
    push(&pool.free, r);
}

void shi_tag_request_release(struct shmemx_tag_request *r)
{
    push(&pool.released, r);
}

/* ---- buffers ----------------------------------------------------------------------------------------------------- */

void *shi_tag_piece(const struct shi_tag_data *d, size_t at, size_t *bytes)
{
    const shmemx_tag_iov_t *v = d->iov ? d->iov : &d->one;
    for (; at >= v->bytes && at; v++)
        at -= v->bytes;
    while (v->bytes == 0 && d->iov && v + 1 < d->iov + d->n)
        v++;
    *bytes = v->bytes - at;
    return (char *)v->base + at;
}

void shi_tag_gather_pieces(const struct shi_tag_data *d, size_t at, void *to, size_t bytes)
{
    for (size_t some; bytes; bytes -= some, at += some, to = (char *)to + some) {
        const void *from = shi_tag_piece(d, at, &some);
        some = some < bytes ? some : bytes;
        shi_dheap_memcpy(to, from, some);
    }
}

void shi_tag_scatter_pieces(const struct shi_tag_data *d, size_t at, const void *from, size_t bytes)
{
    for (size_t some; bytes; bytes -= some, at += some, from = (const char *)from + some) {
        void *to = shi_tag_piece(d, at, &some);
        some = some < bytes ? some : bytes;
        shi_dheap_memcpy(to, from, some);
    }
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

/* A note that waits for a free message slot. Rare. */
struct kept_note {
    struct shi_am_pending_send pending_send;
    int pe;
    struct shi_tag_note note;
};

static int send_note(int pe, const struct shi_tag_note *note)
{
    void *room = shi_am_begin(pe, SHI_AM_TAG, sizeof *note);
    if (!room)
        return -EAGAIN;
    memcpy(room, note, sizeof *note);
    shi_am_end(pe, sizeof *note);
    return 0;
}

static int retry_note(struct shi_am_pending_send *pending_send)
{
    struct kept_note *k = (struct kept_note *)pending_send;
    int err = send_note(k->pe, &k->note);
    if (!err)
        shi_kept_put(&shi_tag_kept, k, sizeof *k);
    return err;
}

void shi_tag_notify(int pe, const struct shi_tag_note *note)
{
    if (send_note(pe, note) == 0)
        return;
    struct kept_note *k = shi_kept_get(&shi_tag_kept, sizeof *k);
    if (!k)
        shi_die("shmemx_tag", "out of memory for a note to PE %d", pe);
    *k = (struct kept_note){.pending_send.retry = retry_note, .pe = pe, .note = *note};
    shi_am_queue(pe, &k->pending_send);
}

/* ---- windows and tables ------------------------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* All windows are equal: the limits of a PE, divided by the number of PEs that may send to it. */
static void open_windows(struct shi_tag_peer *p, int pe)
{
    const struct shi_config *c = &shi_world.config;
    size_t n = (size_t)shi_world.n_pes, headers;
    p->window = least(c->tag_unexpected_bytes / n, c->tag_unexpected_per_peer);
    headers = least((size_t)c->tag_unexpected_headers / n, (size_t)c->tag_unexpected_headers_per_peer);
    p->eager = (uint32_t)shi_am_lengths(pe)->eager;
    p->eager_symmetric = (uint32_t)shi_am_lengths(pe)->symmetric;
    if (c->tag_eager_bytes != SHI_CONFIG_AUTO)
        p->eager = p->eager_symmetric = (uint32_t)least((size_t)c->tag_eager_bytes, UINT32_MAX);
    __atomic_store_n(&p->header_window, headers ? headers : 1, __ATOMIC_RELEASE); /* R3; with 0 no header could be sent */
}

struct shi_tag_peer *shi_tag_meet(int pe)
{
    static uint8_t meeting;
    struct shi_tag_peer *p = &shi_tag.peer[pe];
    shi_spin_lock(&meeting);
    if (!p->header_window)
        open_windows(p, pe);
    shi_spin_unlock(&meeting);
    return p;
}

static void make_tables(const char *routine)
{
    shi_tag.peer = shi_table((size_t)shi_world.n_pes, sizeof *shi_tag.peer);
    if (!shi_tag.peer)
        shi_die(routine, "out of memory for %d PEs", shi_world.n_pes);
    shi_match_up(&shi_tag.posted, 0);
    shi_match_up(&shi_tag.arrived, 1);
}

void shi_tag_start_slow(const char *routine)
{
    shi_need_up(routine);
    pthread_mutex_lock(&starting);
    if (!shi_tag.up) {
        if (shi_am_start())
            shi_die(routine, "messages cannot start");
        make_tables(routine);
        __atomic_store_n(&shi_tag.up, 1, __ATOMIC_RELEASE); /* R2 */
    }
    pthread_mutex_unlock(&starting);
}
