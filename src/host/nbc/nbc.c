/*
 * nbc.c - the engine of nonblocking collectives: which calls are under way, their steps, requests.
 *
 *   word                        written by                 read by             order
 *   free, fresh, blocks,        under lock                 under lock          spin.h
 *   n_blocks
 *   .serial of a call           the caller of begin, with  tests and waits     R1 -> A1 the call's results are stored, and .failed, .err
 *                               lock; 0 at its end
 *   the rest of a call          the caller of begin, then  the same            lock, from fresh to active; turn
 *                               the thread with turn
 *   active                      the thread with turn       the same            turn: a try-lock held while steps run
 *   n_open, team.nbc_open       begin; the end of a call   begin, poll, waits  R2 -> A2 results, as above
 *   up                          the first begin            begin, poll         R3 -> A3 the source of progress is there
 */
#include "host/nbc/nbc.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/node/progress.h"
#include "host/ops/wait.h"
#include "host/policy/limits.h"
#include "host/util/cancel.h"
#include "host/util/log.h"
#include "host/util/tsan.h"

enum { STEP = 8, BLOCKS = 4096 };

static uint8_t lock, turn;
static struct shi_nbc *free_calls, *fresh, **last_fresh = &fresh;
static struct shi_nbc *active;
static struct shi_nbc *blocks[BLOCKS]; /* of STEP calls each; they stay until shi_nbc_down */
static int n_blocks, n_open, up;
static uint64_t serials; /* never repeat, so that a request of an earlier call is complete */
static struct shi_kept rooms = {.most = SHI_KEPT_TAGS};
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

char *shi_nbc_room(struct shi_nbc_call *c, size_t bytes)
{
    c->room_bytes = bytes ? bytes : 1;
    c->room = shi_kept_get(&rooms, c->room_bytes);
    if (!c->room)
        shi_die(c->routine, "out of memory for %zu bytes", bytes);
    return c->room;
}

/* Under the lock: more calls. 0 or -ENOMEM. */
static int add_block(void)
{
    struct shi_nbc *b = n_blocks < BLOCKS ? calloc(STEP, sizeof *b) : NULL;
    if (!b)
        return -ENOMEM;
    for (int i = STEP; i-- > 0; free_calls = &b[i]) {
        b[i].index = n_blocks * STEP + i;
        b[i].next = free_calls;
    }
    __atomic_store_n(&blocks[n_blocks], b, __ATOMIC_RELEASE);
    __atomic_store_n(&n_blocks, n_blocks + 1, __ATOMIC_RELEASE);
    return 0;
}

static struct shi_nbc *take_call(const char *routine)
{
    shi_spin_lock(&lock);
    int err = free_calls ? 0 : add_block();
    struct shi_nbc *q = free_calls;
    if (!err)
        free_calls = q->next;
    shi_spin_unlock(&lock);
    if (err)
        shi_die(routine, "out of memory for nonblocking collectives: %d are under way", __atomic_load_n(&n_open, __ATOMIC_RELAXED));
    return q;
}

static void end_call(struct shi_nbc *q)
{
    struct shmem_team *t = q->c.team;
    if (q->c.room)
        shi_kept_put(&rooms, q->c.room, q->c.room_bytes);
    int failed = q->err != 0;
    __atomic_store_n(&q->failed, failed ? q->serial : 0, __ATOMIC_RELAXED);
    __atomic_store_n(&q->serial, 0, __ATOMIC_RELEASE); /* R1 */
    if (!failed) {
        shi_spin_lock(&lock);
        q->next = free_calls;
        free_calls = q;
        shi_spin_unlock(&lock);
    }
    __atomic_fetch_sub(&t->nbc_open, 1, __ATOMIC_RELEASE); /* R2 */
    __atomic_fetch_sub(&n_open, 1, __ATOMIC_RELEASE);      /* R2 */
}

/* ---- messages -------------------------------------------------------------------------------------------------------- */

static struct shmemx_tag_request *add_message(struct shi_nbc *q, int is_send, size_t bytes)
{
    struct shi_nbc_message *m = &q->message[q->n_messages++];
    m->bytes = bytes;
    m->request.done = SHI_TAG_OPEN;
    m->request.posted = 0;
    m->request.is_send = is_send;
    return &m->request;
}

void shi_nbc_send(struct shi_nbc *q, int to, int part, const void *data, size_t bytes)
{
    const struct shi_tag_data d = {.one = {(void *)data, bytes}, .n = 1, .bytes = bytes};
    if (!shi_tag_send_now(&q->as, &d, q->tag | (uint64_t)part, to))
        shi_tag_send(add_message(q, 1, bytes), &q->as, &d, q->tag | (uint64_t)part, to, 0);
}

void shi_nbc_recv(struct shi_nbc *q, int from, int part, void *data, size_t bytes)
{
    const struct shi_tag_data d = {.one = {data, bytes}, .n = 1, .bytes = bytes};
    const struct shi_tag_params p = {.key = {.tag = q->tag | (uint64_t)part, .mask = ~0ull, .team = q->as.number, .source = from},
                                     .pe = shi_team_world_pe(&q->as, from)};
    shi_tag_recv(add_message(q, 0, bytes), &p, &d);
}

/* All messages of the last step are complete; those received have the length that this PE expects. */
static int are_done(struct shi_nbc *q)
{
    for (int i = 0; i < q->n_messages; i++)
        if (!shi_tag_is_done(&q->message[i].request))
            return 0;
    for (int i = 0; i < q->n_messages; i++) {
        const struct shmemx_tag_request *r = &q->message[i].request;
        if (!r->is_send && r->status.bytes != q->message[i].bytes)
            shi_die(q->c.routine, "PE %d of the team sends %zu bytes, this PE expects %zu: the PEs call different collectives, or with different lengths",
                    r->status.source, r->status.bytes, q->message[i].bytes);
    }
    return 1;
}

/* The team has failed: end the open messages. Those that are matched complete, also because their PE has died. 1: all have ended. */
static int is_taken_back(struct shi_nbc *q)
{
    int open = 0;
    for (int i = 0; i < q->n_messages; i++) {
        struct shmemx_tag_request *r = &q->message[i].request;
        if (shi_tag_is_done(r))
            continue;
        if (r->is_send)
            shi_tag_cancel_send(r);
        else
            shi_tag_cancel(r);
        open |= !shi_tag_is_done(r);
    }
    return !open;
}

/* ---- progress -------------------------------------------------------------------------------------------------------- */

/* With turn: run the steps that can run. 1: the call is complete. */
static int advance(struct shi_nbc *q, int *steps)
{
    const struct shi_team_faults *faults = shi_team_faults_now();
    if (faults && (q->err || (q->err = faults->error(q->c.team))))
        return is_taken_back(q);
    while (are_done(q)) {
        q->n_messages = 0;
        enum shi_nbc_step is = q->c.step(q);
        if (is == SHI_NBC_LATER)
            return 0;
        ++*steps;
        q->round++;
        if (is == SHI_NBC_OVER)
            return 1;
    }
    return 0;
}

/* With turn: calls that have begun since the last time join the end of those under way. */
static void take_fresh(void)
{
    struct shi_nbc **at = &active;
    while (*at)
        at = &(*at)->next;
    shi_spin_lock(&lock);
    *at = fresh;
    fresh = NULL;
    last_fresh = &fresh;
    shi_spin_unlock(&lock);
}

static int poll_once(void)
{
    int steps = 0;
    if (!__atomic_load_n(&n_open, __ATOMIC_RELAXED) || !shi_spin_try(&turn))
        return 0;
    take_fresh();
    for (struct shi_nbc **at = &active; *at;) {
        struct shi_nbc *q = *at;
        if (advance(q, &steps)) {
            *at = q->next;
            end_call(q);
        } else {
            at = &q->next;
        }
    }
    shi_spin_unlock(&turn);
    return steps;
}

static void trim(void)
{
    shi_kept_trim(&rooms);
}

static void start(const char *routine)
{
    static struct shi_progress_source source = {.poll = poll_once, .every_ms = 1, .trim = trim};
    shi_tag_start(routine);
    if (shi_likely(__atomic_load_n(&up, __ATOMIC_ACQUIRE))) /* A3 */
        return;
    pthread_mutex_lock(&starting);
    if (!up && shi_progress_add(&source))
        shi_die(routine, "the progress thread cannot start");
    __atomic_store_n(&up, 1, __ATOMIC_RELEASE); /* R3 */
    pthread_mutex_unlock(&starting);
}

/* ---- begin and wait ---------------------------------------------------------------------------------------------------- */

static void step(struct shi_wait *w)
{
    if (w->polls++ < SHI_TAG_POLLS && shi_progress_poll())
        shi_wait_anew(w);
    else if (w->polls > SHI_TAG_POLLS)
        shi_wait_slow(w);
}

#define AWAIT(ROUTINE, CONDITION)                                                                                    \
    do {                                                                                                             \
        shi_wait_allow(ROUTINE);                                                                                     \
        SHI_WAIT_LOOP(step, CONDITION, .routine = (ROUTINE), .kind = SHI_FOR_OTHER,                                  \
                      .words = "a nonblocking collective is not complete");                                          \
        shi_tsan_acquire();                                                                                          \
    } while (0)

static int open_of(const struct shmem_team *t)
{
    return __atomic_load_n(t ? &t->nbc_open : &n_open, __ATOMIC_ACQUIRE); /* A2 */
}

void shi_nbc_begin(const struct shi_nbc_call *c, shmemx_req_t *req)
{
    SHI_UNCANCELLED;
    struct shmem_team *t = c->team;
    start(c->routine);
    if (shi_unlikely(open_of(t) >= SHI_NBC_OPEN))
        AWAIT(c->routine, open_of(t) < SHI_NBC_OPEN);
    struct shi_nbc *q = take_call(c->routine);
    int index = q->index;
    q->c = *c;
    q->round = q->n_messages = q->err = 0;
    q->as = (struct shmem_team){.n = t->n, .me = t->me, .start = t->start, .stride = t->stride, .list = t->list,
                                .number = t->number | SHI_TEAM_NUMBER_COLL};
    q->tag = ++t->nbc_calls << 16;
    q->next = NULL;
    shi_tsan_release();
    __atomic_fetch_add(&t->nbc_open, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&n_open, 1, __ATOMIC_RELAXED);
    uint64_t serial = __atomic_add_fetch(&serials, 1, __ATOMIC_RELAXED);
    shi_spin_lock(&lock);
    __atomic_store_n(&q->serial, serial, __ATOMIC_RELAXED);
    *last_fresh = q;
    last_fresh = &q->next;
    shi_spin_unlock(&lock);
    *req = (shmemx_req_t){serial, -1, index};
    poll_once();
}

static const struct shi_nbc *call_of(const shmemx_req_t *req)
{
    return &__atomic_load_n(&blocks[req->pe_ / STEP], __ATOMIC_ACQUIRE)[req->pe_ % STEP];
}

/* Of a complete call. */
static int error_of(const struct shi_nbc *q, const shmemx_req_t *req)
{
    return __atomic_load_n(&q->failed, __ATOMIC_RELAXED) == req->wait_ ? q->err : 0;
}

int shi_nbc_is_complete(const char *routine, const shmemx_req_t *req)
{
    int block = req->pe_ / STEP;
    if (req->pe_ < 0 || block >= __atomic_load_n(&n_blocks, __ATOMIC_ACQUIRE) || req->wait_ > __atomic_load_n(&serials, __ATOMIC_RELAXED))
        shi_die(routine, "req has no request of this job");
    const struct shi_nbc *q = call_of(req);
    if (__atomic_load_n(&q->serial, __ATOMIC_ACQUIRE) == req->wait_) /* A1 */
        return 0;
    if (shi_unlikely(error_of(q, req)))
        shi_team_faults->met(q->err);
    return 1;
}

int shi_nbc_wait(const char *routine, const shmemx_req_t *req)
{
    if (!req->wait_)
        return 0;
    AWAIT(routine, shi_nbc_is_complete(routine, req));
    return error_of(call_of(req), req);
}

void shi_nbc_finish_team(const char *routine, const struct shmem_team *t)
{
    if (open_of(t))
        AWAIT(routine, !open_of(t));
}

/* ---- the end ----------------------------------------------------------------------------------------------------------- */

void shi_nbc_finish(void)
{
    shi_nbc_finish_team("shmem_finalize", NULL);
}

void shi_nbc_down(void)
{
    for (; n_blocks > 0; blocks[n_blocks] = NULL)
        free(blocks[--n_blocks]);
    free_calls = NULL;
    shi_kept_clear(&rooms);
    up = 0;
}

void shi_nbc_leave(void)
{
    serials = 0;
}
