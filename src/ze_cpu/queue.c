/*
 * queue.c - command queues. Each has a thread, so that queues do not block each other. A copy of a synchronous immediate list
 * that has nothing to wait for is made by the caller's thread: a switch to the queue's thread and back would cost more than a
 * short copy, and far more where kernels occupy all cores.
 *
 * Commands run in list order, each after the events it waits for. Under ZE_CPU_REORDER, commands between two barriers run in
 * random order, as far as their events allow. Level Zero permits that to a device, and it exposes a missing barrier
 * or event. A queue then waits GATHER_NS before it takes work, to have several commands to choose from.
 */
#include "ze_cpu/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "ze_cpu/clocks.h"
#include "ze_cpu/config.h"
#include "ze_cpu/entries.h"
#include "ze_cpu/event.h"
#include "ze_cpu/mem.h"
#include "ze_cpu/pool.h"
#include "ze_cpu/run.h"

enum { WINDOW = 64, GATHER_NS = 200000 };

struct work {
    struct work *next;
    struct zc_command *first;
    ze_fence_handle_t fence;
    bool owned;
    void *clock; /* of the thread that submitted it */
};

/* All fields but thread, worker and clock: under `lock`. */
struct zc_queue {
    pthread_t thread;
    struct zc_worker worker; /* of the thread */
    void *clock;             /* of what it has executed, see clocks.h */
    pthread_mutex_t lock;
    pthread_cond_t more, idle;
    struct work *head, **tail;
    uint64_t submitted, finished;
    bool stop, synchronous, lost; /* lost: a kernel faulted */
    unsigned seed;
};

void zc_command_free(struct zc_command *c)
{
    free(c->pattern);
    free(c->launch);
    free(c->wait);
    free(c->query);
    free(c);
}

/* ---- one command ------------------------------------------------------------------------------------------------ */

/* Copy to memory that kernels may poll: one aligned word of 4 or 8 bytes is stored atomically, with release order. */
static void move_bytes(void *to, const void *from, size_t size)
{
    uint32_t w4;
    uint64_t w8;
    if (size == sizeof w8 && !((uintptr_t)to % sizeof w8)) {
        memcpy(&w8, from, sizeof w8);
        __atomic_store_n((u64 *)to, w8, __ATOMIC_RELEASE);
    } else if (size == sizeof w4 && !((uintptr_t)to % sizeof w4)) {
        memcpy(&w4, from, sizeof w4);
        __atomic_store_n((u32 *)to, w4, __ATOMIC_RELEASE);
    } else {
        memmove(to, from, size);
    }
}

static void copy_region(const struct zc_command *c)
{
    uint8_t *to = zc_mem_device_view(c->to);
    const uint8_t *from = zc_mem_device_view((void *)(uintptr_t)c->from);
    for (size_t z = 0; z < c->slices; z++)
        for (size_t y = 0; y < c->rows; y++)
            memmove(to + z * c->to_slice_pitch + y * c->to_pitch, from + z * c->from_slice_pitch + y * c->from_pitch,
                    c->size);
}

static void fill(const struct zc_command *c)
{
    uint8_t *to = zc_mem_device_view(c->to);
    if (c->pattern_size == 1) {
        memset(to, c->pattern[0], c->size);
        return;
    }
    for (size_t at = 0; at < c->size; at += c->pattern_size)
        move_bytes(to + at, c->pattern, c->pattern_size < c->size - at ? c->pattern_size : c->size - at);
}

static int launch(struct zc_queue *q, const struct zc_command *c)
{
    struct zc_launch l;
    memcpy(&l, c->launch, sizeof l);
    l.after = &q->clock;
    if (c->indirect) {
        ze_group_count_t n;
        memcpy(&n, zc_mem_device_view((void *)(uintptr_t)c->indirect), sizeof n);
        l.count[0] = n.groupCountX;
        l.count[1] = n.groupCountY;
        l.count[2] = n.groupCountZ;
    }
    int bad = zc_pool_run(&q->worker, &l);
    zc_clock_join(&q->clock, &l.done);
    zc_clock_drop(&l.done);
    return bad;
}

static void query(const struct zc_command *c)
{
    uint8_t *to = zc_mem_device_view(c->to);
    for (uint32_t i = 0; i < c->queries; i++) {
        ze_kernel_timestamp_result_t t;
        memset(&t, 0, sizeof t);
        zc_EventQueryKernelTimestamp(c->query[i], &t);
        memcpy(to + (c->offsets ? c->offsets[i] : i * sizeof t), &t, sizeof t);
    }
}

static int perform(struct zc_queue *q, const struct zc_command *c)
{
    uint64_t now;
    switch (c->kind) {
    case COMMAND_COPY:
        move_bytes(zc_mem_device_view(c->to), zc_mem_device_view((void *)(uintptr_t)c->from), c->size);
        return 0;
    case COMMAND_REGION:
        copy_region(c);
        return 0;
    case COMMAND_FILL:
        fill(c);
        return 0;
    case COMMAND_KERNEL:
        return launch(q, c);
    case COMMAND_RESET:
        zc_flag_set(&c->reset->state->flag, FLAG_CLEAR);
        return 0;
    case COMMAND_TIME:
        now = zc_now_ns();
        memcpy(zc_mem_device_view(c->to), &now, sizeof now);
        return 0;
    case COMMAND_QUERY:
        query(c);
        return 0;
    case COMMAND_BARRIER:
    case COMMAND_NOTHING:
        return 0;
    }
    return 0;
}

/* Returns whether a kernel faulted. */
static bool execute(struct zc_queue *q, const struct zc_command *c)
{
    for (uint32_t i = 0; i < c->waits; i++) {
        zc_flag_wait(&c->wait[i]->state->flag, UINT64_MAX);
        zc_clock_join(&q->clock, &c->wait[i]->clock);
    }
    struct zc_event_state *e = c->signal ? c->signal->state : NULL;
    uint64_t began = e ? zc_now_ns() : 0;
    bool bad = perform(q, c) != 0;
    if (e) {
        e->began_ns = began;
        e->ended_ns = zc_now_ns();
        zc_clock_join(&c->signal->clock, &q->clock);
        zc_flag_set(&e->flag, bad ? FLAG_LOST : FLAG_DONE);
    }
    return bad;
}

/* ---- a chain of commands ---------------------------------------------------------------------------------------- */

static bool is_ready(const struct zc_command *c)
{
    for (uint32_t i = 0; i < c->waits; i++)
        if (zc_flag_get(&c->wait[i]->state->flag) == FLAG_CLEAR)
            return false;
    return true;
}

/* Whether c may be reordered: not if it defines an order itself. */
static bool is_reorderable(const struct zc_command *c)
{
    return c->kind != COMMAND_BARRIER && c->kind != COMMAND_RESET && c->kind != COMMAND_NOTHING;
}

/* Execute n commands in random order, those whose events are signaled first. */
static bool shuffled(struct zc_queue *q, const struct zc_command **c, unsigned n)
{
    bool bad = false;
    while (n) {
        q->seed = q->seed * 1103515245u + 12345u;
        unsigned first = (q->seed >> 16) % n, next = 0;
        for (unsigned k = 0; k < n; k++) /* none is ready: take the oldest, which waits */
            if (is_ready(c[(first + k) % n])) {
                next = (first + k) % n;
                break;
            }
        bad |= execute(q, c[next]);
        memmove(c + next, c + next + 1, (--n - next) * sizeof *c);
    }
    return bad;
}

static bool chain(struct zc_queue *q, const struct zc_command *c)
{
    const struct zc_command *some[WINDOW];
    bool bad = false;
    while (c) {
        unsigned n = 0;
        for (; zc_config.reorder && c && is_reorderable(c) && n < WINDOW; c = c->next)
            some[n++] = c;
        bad |= shuffled(q, some, n);
        if (c && !(zc_config.reorder && is_reorderable(c))) {
            bad |= execute(q, c);
            c = c->next;
        }
    }
    return bad;
}

/* ---- the thread ------------------------------------------------------------------------------------------------- */

/* Take the next work. Under ZE_CPU_REORDER, the commands of immediate lists that have been submitted form one chain. */
static struct work *take(struct zc_queue *q)
{
    struct work *w = q->head;
    struct work **end = &w->next;
    uint64_t n = 1;
    while (zc_config.reorder && w->owned && *end && (*end)->owned && n < WINDOW) {
        end = &(*end)->next;
        n++;
    }
    q->head = *end;
    *end = NULL;
    if (!q->head)
        q->tail = &q->head;
    return w;
}

static void gather(struct zc_queue *q)
{
    struct timespec ts = {0, GATHER_NS};
    pthread_mutex_unlock(&q->lock);
    nanosleep(&ts, NULL);
    pthread_mutex_lock(&q->lock);
}

static bool run_work(struct zc_queue *q, struct work *w)
{
    for (struct work *k = w; k; k = k->next) {
        zc_clock_join(&q->clock, &k->clock);
        if (k->next)
            k->first->next = k->next->first;
    }
    bool bad = chain(q, w->first);
    for (struct work *k = w; k; k = k->next)
        if (k->fence) {
            zc_clock_join(&k->fence->clock, &q->clock);
            zc_flag_set(&k->fence->flag, bad ? FLAG_LOST : FLAG_DONE);
        }
    return bad;
}

static uint64_t free_work(struct work *w)
{
    uint64_t n = 0;
    for (struct work *next; w; w = next, n++) {
        next = w->next;
        zc_clock_drop(&w->clock);
        if (w->owned)
            zc_command_free(w->first);
        free(w);
    }
    return n;
}

static void *queue_thread(void *arg)
{
    struct zc_queue *q = arg;
    prctl(PR_SET_TIMERSLACK, ZC_TIMER_SLACK_NS);
    pthread_mutex_lock(&q->lock);
    for (;;) {
        while (!q->head && !q->stop)
            pthread_cond_wait(&q->more, &q->lock);
        if (!q->head)
            break;
        if (zc_config.reorder)
            gather(q);
        struct work *w = take(q);
        pthread_mutex_unlock(&q->lock);
        bool bad = run_work(q, w);
        uint64_t n = free_work(w);
        pthread_mutex_lock(&q->lock);
        q->lost |= bad;
        q->finished += n;
        pthread_cond_broadcast(&q->idle);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

struct zc_queue *zc_queue_new(bool synchronous)
{
    struct zc_queue *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->more, NULL);
    pthread_cond_init(&q->idle, &attr);
    pthread_condattr_destroy(&attr);
    q->tail = &q->head;
    q->synchronous = synchronous;
    q->seed = (unsigned)zc_now_ns();
    if (pthread_create(&q->thread, NULL, queue_thread, q)) {
        free(q);
        return NULL;
    }
    return q;
}

void zc_queue_free(struct zc_queue *q)
{
    pthread_mutex_lock(&q->lock);
    q->stop = true;
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    zc_worker_free(&q->worker);
    zc_clock_drop(&q->clock);
    pthread_mutex_destroy(&q->lock);
    pthread_cond_destroy(&q->more);
    pthread_cond_destroy(&q->idle);
    free(q);
}

/* A copy that the caller's thread makes: a synchronous queue is idle, and the copy is all that is submitted. Other threads'
 * submissions to a queue at the same time have no order with it. */
static bool is_for_caller(const struct zc_queue *q, const struct zc_command *c, ze_fence_handle_t fence, bool owned)
{
    return q->synchronous && c && (owned || (!c->next && !fence)) && c->kind == COMMAND_COPY && q->finished == q->submitted &&
           !q->lost && !zc_config.reorder && is_ready(c);
}

ze_result_t zc_queue_submit(struct zc_queue *q, struct zc_command *c, ze_fence_handle_t fence, bool owned)
{
    pthread_mutex_lock(&q->lock);
    bool at_once = is_for_caller(q, c, fence, owned);
    pthread_mutex_unlock(&q->lock);
    if (at_once) {
        zc_clock_now(&q->clock);
        execute(q, c);
        if (owned)
            zc_command_free(c);
        return ZE_RESULT_SUCCESS;
    }
    struct work *w = calloc(1, sizeof *w);
    if (!w)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    *w = (struct work){NULL, c, fence, owned, NULL};
    zc_clock_now(&w->clock);
    pthread_mutex_lock(&q->lock);
    *q->tail = w;
    q->tail = &w->next;
    q->submitted++;
    pthread_cond_signal(&q->more);
    pthread_mutex_unlock(&q->lock);
    return q->synchronous ? zc_queue_wait(q, UINT64_MAX) : ZE_RESULT_SUCCESS;
}

ze_result_t zc_queue_wait(struct zc_queue *q, uint64_t timeout_ns)
{
    uint64_t now = zc_now_ns(), end = timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
    struct timespec ts = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
    pthread_mutex_lock(&q->lock);
    uint64_t goal = q->submitted;
    int late = !timeout_ns;
    while (q->finished < goal && !late)
        late = pthread_cond_timedwait(&q->idle, &q->lock, &ts);
    ze_result_t r = q->finished < goal ? ZE_RESULT_NOT_READY : ZE_RESULT_SUCCESS;
    if (q->lost)
        r = ZE_RESULT_ERROR_DEVICE_LOST;
    pthread_mutex_unlock(&q->lock);
    if (r != ZE_RESULT_NOT_READY)
        zc_clock_reach(&q->clock);
    return r;
}

/* ---- entry points ----------------------------------------------------------------------------------------------- */

ze_result_t zc_CommandQueueCreate(ze_context_handle_t c, ze_device_handle_t d, const ze_command_queue_desc_t *desc,
                                  ze_command_queue_handle_t *out)
{
    (void)c, (void)d;
    if (desc->ordinal > 1)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    struct _ze_command_queue_handle_t *h = malloc(sizeof *h);
    if (h)
        h->q = zc_queue_new(desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
    if (!h || !h->q) {
        free(h);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    *out = h;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_CommandQueueDestroy(ze_command_queue_handle_t h)
{
    zc_queue_free(h->q);
    free(h);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_CommandQueueSynchronize(ze_command_queue_handle_t h, uint64_t timeout)
{
    return zc_queue_wait(h->q, timeout);
}
