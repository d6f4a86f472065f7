/*
 * queue.c - queues of streams. Each stream has a thread that runs its commands in order: copies, kernels, host functions. Where
 * the stream is idle, the caller makes a copy of at most INLINE_BYTES itself: where processes share cores, that is much faster.
 *
 * A command of the default stream waits for earlier ones of all streams that were not created with CU_STREAM_NON_BLOCKING, and theirs
 * for it. After a fault of a kernel, all calls on its stream fail.
 * A command of a stream that is captured becomes a node of a graph (captured.h) instead.
 * All state is under cc_lock, except what only the stream's thread uses.
 */
#include "cuda_cpu/queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>

#include "ze_cpu/clocks.h"
#include "ze_cpu/config.h"
#include "ze_cpu/pool.h"
#include "ze_cpu/run.h"

enum { INLINE_BYTES = 256 << 10 };

pthread_mutex_t cc_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t cc_changed = PTHREAD_COND_INITIALIZER;
static struct CUstream_st *streams, *default_stream;
static uint64_t n_commands;

/* ---- the thread ------------------------------------------------------------------------------------------------- */

static CUresult run_kernel(struct CUstream_st *s, struct zc_launch *l)
{
    l->after = &s->clock;
    l->done = NULL;
    int bad = zc_pool_run(&s->worker, l);
    zc_clock_join(&s->clock, &l->done);
    zc_clock_drop(&l->done);
    return bad ? CC_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
}

/* The function may be the program's: what it does is after the stream's commands and before later ones. */
static void call_host(struct CUstream_st *s, const struct cc_command *c)
{
    zc_clock_reach(&s->clock);
    c->fn((void *)(uintptr_t)c->from);
    zc_clock_now(&s->clock);
}

static CUresult execute(struct CUstream_st *s, struct cc_command *c)
{
    CUresult r = CUDA_SUCCESS;
    zc_clock_join(&s->clock, &c->clock);
    switch (c->what) {
    case CC_COPY:
        cc_command_copy_bytes(c);
        break;
    case CC_FILL:
        cc_command_fill(c);
        break;
    case CC_KERNEL:
        return run_kernel(s, c->launch);
    case CC_HOST:
        call_host(s, c);
        break;
    case CC_ALLOC:
        break;
    case CC_FREE:
        return cc_command_free_memory(c);
    case CC_CALL:
        return c->call((void *)(uintptr_t)c->from);
    case CC_RECORD:
        pthread_mutex_lock(&cc_lock);
        c->event->reached = c->turn > c->event->reached ? c->turn : c->event->reached;
        c->event->reached_ns = zc_now_ns();
        zc_clock_join(&c->event->clock, &s->clock);
        pthread_cond_broadcast(&cc_changed);
        pthread_mutex_unlock(&cc_lock);
        break;
    case CC_WAIT:
        pthread_mutex_lock(&cc_lock);
        while (c->event->reached < c->turn)
            pthread_cond_wait(&cc_changed, &cc_lock);
        zc_clock_join(&s->clock, &c->event->clock);
        if (c->joined)
            r = c->joined->error;
        pthread_mutex_unlock(&cc_lock);
        break;
    }
    return r;
}

/* Has the stream a command before this number? */
static bool is_behind(const struct CUstream_st *s, uint64_t number)
{
    return (s->running && s->running < number) || (s->head && s->head->number < number);
}

/* Does a command of this number have to wait for one of another stream? */
static bool must_wait(const struct CUstream_st *s, uint64_t number)
{
    if (s->blocking)
        return default_stream && is_behind(default_stream, number);
    for (const struct CUstream_st *other = s == default_stream ? streams : NULL; other; other = other->next)
        if (other->blocking && is_behind(other, number))
            return true;
    return false;
}

/* The stream's next command is after those that must_wait was for. */
static void join_waited(struct CUstream_st *s)
{
    if (s->blocking && default_stream)
        zc_clock_join(&s->clock, &default_stream->clock);
    for (const struct CUstream_st *other = s == default_stream ? streams : NULL; other; other = other->next)
        if (other->blocking)
            zc_clock_join(&s->clock, &other->clock);
}

static void end(struct cc_command *c)
{
    if (c->event)
        cc_event_drop(c->event);
    cc_command_free(c);
}

static void *work(void *arg)
{
    struct CUstream_st *s = arg;
    pthread_mutex_lock(&cc_lock);
    for (;;) {
        while ((!s->head && !s->stop) || s->by_caller)
            pthread_cond_wait(&s->more, &cc_lock);
        if (!s->head)
            break;
        struct cc_command *c = s->head;
        while (must_wait(s, c->number))
            pthread_cond_wait(&cc_changed, &cc_lock);
        join_waited(s);
        CUresult r = s->error;
        s->running = c->number;
        s->head = c->next;
        if (!s->head)
            s->tail = &s->head;
        pthread_mutex_unlock(&cc_lock);
        if (!r || c->what == CC_RECORD)
            r = execute(s, c);
        pthread_mutex_lock(&cc_lock);
        end(c);
        s->error = s->error ? s->error : r;
        s->running = 0;
        s->finished++;
        pthread_cond_broadcast(&cc_changed);
    }
    pthread_mutex_unlock(&cc_lock);
    zc_worker_free(&s->worker);
    return NULL;
}

/* ---- streams ---------------------------------------------------------------------------------------------------- */

CUresult cc_stream_start(bool blocking, CUstream *out)
{
    struct CUstream_st *s = calloc(1, sizeof *s);
    sigset_t all, before;
    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    s->tail = &s->head;
    s->blocking = blocking;
    pthread_cond_init(&s->more, NULL);
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int err = pthread_create(&s->thread, NULL, work, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err) {
        free(s);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&cc_lock);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&cc_lock);
    *out = s;
    return CUDA_SUCCESS;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start_default(void)
{
    CUstream s;
    if (cc_stream_start(false, &s))
        return;
    pthread_mutex_lock(&cc_lock);
    default_stream = s;
    pthread_mutex_unlock(&cc_lock);
}

struct CUstream_st *cc_stream_of(CUstream s)
{
    enum { PER_THREAD = 2 }; /* CUDA has handles for the default stream: 1, and 2 for one of each thread, which is the same here */
    if ((uintptr_t)s > PER_THREAD)
        return s;
    pthread_once(&once, start_default);
    return default_stream;
}

/* Execute the command in an idle stream on this thread; with the lock, which is released. */
static CUresult execute_now(struct CUstream_st *s, struct cc_command *c)
{
    s->by_caller = true;
    join_waited(s);
    s->running = c->number;
    s->submitted++;
    pthread_mutex_unlock(&cc_lock);
    CUresult r = execute(s, c);
    pthread_mutex_lock(&cc_lock);
    end(c);
    s->by_caller = false;
    s->running = 0;
    s->finished++;
    pthread_cond_signal(&s->more);
    pthread_cond_broadcast(&cc_changed);
    pthread_mutex_unlock(&cc_lock);
    return r;
}

void cc_event_drop(CUevent e)
{
    if (--e->users)
        return;
    cc_captured_leave(&e->captured);
    zc_clock_drop(&e->clock);
    free(e);
}

/* ---- capture ---------------------------------------------------------------------------------------------------- */

CUresult cc_capture_spoil(struct cc_captured *c, CUresult why)
{
    if (!c->of->invalid)
        c->of->invalid = why;
    return why;
}

/* Takes over c. An event that is recorded names nodes; a stream that waits for it takes part. */
static CUresult capture(struct CUstream_st *s, struct cc_command *c)
{
    CUevent e = c->event;
    CUresult r = CUDA_SUCCESS;
    if (s->captured.of && s->captured.of->invalid)
        r = CC_ERROR_CAPTURE_INVALIDATED;
    else if (!e || c->external)
        return cc_captured_add(&s->captured, c);
    else if (c->what == CC_RECORD)
        cc_captured_leave(&e->captured), r = cc_captured_join(&e->captured, &s->captured);
    else if (!cc_is_captured(&e->captured))
        r = cc_capture_spoil(&s->captured, CC_ERROR_CAPTURE_ISOLATION);
    else if (s->captured.of && s->captured.of != e->captured.of)
        r = cc_capture_spoil(&s->captured, CC_ERROR_CAPTURE_MERGE);
    else
        r = cc_captured_join(&s->captured, &e->captured);
    cc_command_free(c);
    return r;
}

/* A command of the default stream would wait for streams that are captured. */
static CUresult check_default(const struct CUstream_st *s)
{
    CUresult r = CUDA_SUCCESS;
    for (struct CUstream_st *other = s == default_stream ? streams : NULL; other; other = other->next)
        if (other->blocking && other->captured.of)
            r = cc_capture_spoil(&other->captured, CC_ERROR_CAPTURE_IMPLICIT);
    return r;
}

/* ---- submission ------------------------------------------------------------------------------------------------- */

/* With the lock. An event's record gets a number, for which waits wait. */
static CUresult enter(struct CUstream_st *s, struct cc_command *c)
{
    CUresult r = check_default(s);
    if (r || !c->event)
        return r;
    if (c->what == CC_RECORD && !c->external)
        cc_captured_leave(&c->event->captured);
    c->turn = c->what == CC_RECORD ? ++c->event->recorded : c->event->recorded;
    c->event->users++;
    return CUDA_SUCCESS;
}

CUresult cc_stream_submit(CUstream stream, struct cc_command *c)
{
    CUresult r = cc_check_context();
    if (!r)
        return cc_stream_append(stream, c);
    cc_command_free(c);
    return r;
}

CUresult cc_stream_append(CUstream stream, struct cc_command *c)
{
    CUresult r = CUDA_SUCCESS;
    struct CUstream_st *s = c ? cc_stream_of(stream) : NULL;
    if (!s) {
        cc_command_free(c);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    pthread_mutex_lock(&cc_lock);
    if (s->captured.of || (c->what == CC_WAIT && !c->external && cc_is_captured(&c->event->captured))) {
        r = capture(s, c);
        pthread_mutex_unlock(&cc_lock);
        return r;
    }
    r = enter(s, c);
    if (r) {
        pthread_mutex_unlock(&cc_lock);
        cc_command_free(c);
        return r;
    }
    r = s->error;
    c->number = ++n_commands;
    zc_clock_now(&c->clock);
    bool is_short = c->what == CC_RECORD || (c->what == CC_COPY && !c->rows && !c->planes && c->bytes <= INLINE_BYTES);
    if (!r && is_short && s->submitted == s->finished && !must_wait(s, c->number))
        return execute_now(s, c);
    *s->tail = c;
    s->tail = &c->next;
    s->submitted++;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&cc_lock);
    return r;
}

struct CUstream_st *cc_streams(void)
{
    return streams;
}

void cc_stream_end(struct CUstream_st *s)
{
    pthread_mutex_lock(&cc_lock);
    s->stop = true;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&cc_lock);
    pthread_join(s->thread, NULL);
    pthread_mutex_lock(&cc_lock);
    struct CUstream_st **at = &streams;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    cc_captured_leave(&s->captured);
    pthread_mutex_unlock(&cc_lock);
    pthread_cond_destroy(&s->more);
    zc_clock_drop(&s->clock);
    free(s);
}
