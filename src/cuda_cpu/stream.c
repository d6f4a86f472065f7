/*
 * stream.c - streams and events. Each stream has a thread that runs its commands in order: copies, kernels, host functions. Where
 * the stream is idle, the caller makes a copy of at most INLINE_BYTES itself: where processes share cores, that is much faster.
 *
 * A command of the default stream waits for earlier ones of all streams that were not created with CU_STREAM_NON_BLOCKING, and theirs
 * for it. After a fault of a kernel, all calls on its stream fail.
 * All state is under `lock`, except what only the stream's thread uses.
 */
#include "cuda_cpu/stream.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "ze_cpu/config.h"
#include "ze_cpu/mem.h"
#include "ze_cpu/pool.h"
#include "ze_cpu/run.h"

enum { INLINE_BYTES = 256 << 10 };
enum what { COPY, FILL, KERNEL, HOST, RECORD, WAIT };

struct command {
    struct command *next;
    uint64_t number; /* of all commands of all streams */
    enum what what;
    void *to;
    const void *from; /* or the argument of fn */
    size_t bytes;
    int value;
    CUhostFn fn;
    CUevent event;
    uint64_t turn; /* of the event */
    struct zc_launch *launch;
};

struct CUstream_st {
    struct CUstream_st *next;
    pthread_t thread;
    pthread_cond_t more;     /* commands for the thread, or stop */
    struct zc_worker worker; /* of the thread */
    struct command *head, **tail;
    uint64_t submitted, finished;
    uint64_t running; /* the number of the command that executes, or 0 */
    bool blocking;    /* waits for the default stream, and that for it */
    bool stop;
    bool by_caller; /* a thread that called executes a command: the stream's thread waits */
    CUresult error;
};

struct CUevent_st {
    uint64_t recorded, reached; /* records submitted, executed */
    uint64_t reached_ns;        /* when the last was executed */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct CUstream_st *streams, *default_stream;
static uint64_t n_commands;

/* ---- the thread ------------------------------------------------------------------------------------------------- */

typedef uint32_t __attribute__((may_alias)) word32;
typedef uint64_t __attribute__((may_alias)) word64;

/* Copy to memory that kernels may poll: one aligned word of 4 or 8 bytes is stored atomically, with release order. */
static void move_bytes(void *to, const void *from, size_t bytes)
{
    uint32_t w4;
    uint64_t w8;
    if (bytes == sizeof w8 && !((uintptr_t)to % sizeof w8)) {
        memcpy(&w8, from, sizeof w8);
        __atomic_store_n((word64 *)to, w8, __ATOMIC_RELEASE);
    } else if (bytes == sizeof w4 && !((uintptr_t)to % sizeof w4)) {
        memcpy(&w4, from, sizeof w4);
        __atomic_store_n((word32 *)to, w4, __ATOMIC_RELEASE);
    } else {
        memmove(to, from, bytes);
    }
}

static CUresult execute(struct CUstream_st *s, struct command *c)
{
    switch (c->what) {
    case COPY:
        move_bytes(zc_mem_device_view(c->to), zc_mem_device_view((void *)(uintptr_t)c->from), c->bytes);
        break;
    case FILL:
        memset(zc_mem_device_view(c->to), c->value, c->bytes);
        break;
    case KERNEL:
        return zc_pool_run(&s->worker, c->launch) ? CC_ERROR_LAUNCH_FAILED : CUDA_SUCCESS;
    case HOST:
        c->fn((void *)(uintptr_t)c->from);
        break;
    case RECORD:
        pthread_mutex_lock(&lock);
        c->event->reached = c->turn > c->event->reached ? c->turn : c->event->reached;
        c->event->reached_ns = zc_now_ns();
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
        break;
    case WAIT:
        pthread_mutex_lock(&lock);
        while (c->event->reached < c->turn)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        break;
    }
    return CUDA_SUCCESS;
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

static void *work(void *arg)
{
    struct CUstream_st *s = arg;
    pthread_mutex_lock(&lock);
    for (;;) {
        while ((!s->head && !s->stop) || s->by_caller)
            pthread_cond_wait(&s->more, &lock);
        if (!s->head)
            break;
        struct command *c = s->head;
        while (must_wait(s, c->number))
            pthread_cond_wait(&changed, &lock);
        CUresult r = s->error;
        s->running = c->number;
        s->head = c->next;
        if (!s->head)
            s->tail = &s->head;
        pthread_mutex_unlock(&lock);
        if (!r || c->what == RECORD)
            r = execute(s, c);
        free(c->launch);
        free(c);
        pthread_mutex_lock(&lock);
        s->error = s->error ? s->error : r;
        s->running = 0;
        s->finished++;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&lock);
    zc_worker_free(&s->worker);
    return NULL;
}

/* ---- streams ---------------------------------------------------------------------------------------------------- */

static CUresult start(bool blocking, CUstream *out)
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
    pthread_mutex_lock(&lock);
    s->next = streams;
    streams = s;
    pthread_mutex_unlock(&lock);
    *out = s;
    return CUDA_SUCCESS;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

static void start_default(void)
{
    CUstream s;
    if (start(false, &s))
        return;
    pthread_mutex_lock(&lock);
    default_stream = s;
    pthread_mutex_unlock(&lock);
}

static struct CUstream_st *stream_of(CUstream s)
{
    enum { PER_THREAD = 2 }; /* CUDA has handles for the default stream: 1, and 2 for one of each thread, which is the same here */
    if ((uintptr_t)s > PER_THREAD)
        return s;
    pthread_once(&once, start_default);
    return default_stream;
}

/* Execute the command in an idle stream on this thread; with the lock, which is released. */
static CUresult execute_now(struct CUstream_st *s, struct command *c)
{
    s->by_caller = true;
    s->running = c->number;
    s->submitted++;
    pthread_mutex_unlock(&lock);
    CUresult r = execute(s, c);
    free(c);
    pthread_mutex_lock(&lock);
    s->by_caller = false;
    s->running = 0;
    s->finished++;
    pthread_cond_signal(&s->more);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return r;
}

/* Takes over c, which calloc made; NULL: it had no memory. */
static CUresult submit(CUstream stream, struct command *c)
{
    CUresult r = cc_check_context();
    struct CUstream_st *s = c ? stream_of(stream) : NULL;
    if (!r && !s)
        r = CUDA_ERROR_OUT_OF_MEMORY;
    if (r) {
        if (c)
            free(c->launch);
        free(c);
        return r;
    }
    pthread_mutex_lock(&lock);
    r = s->error;
    c->number = ++n_commands;
    bool is_short = c->what == RECORD || (c->what == COPY && c->bytes <= INLINE_BYTES);
    if (!r && is_short && s->submitted == s->finished && !must_wait(s, c->number))
        return execute_now(s, c);
    *s->tail = c;
    s->tail = &c->next;
    s->submitted++;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&lock);
    return r;
}

static struct command *command(enum what what)
{
    struct command *c = calloc(1, sizeof *c);
    if (c)
        c->what = what;
    return c;
}

CUresult cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    CUresult r = cc_check_context();
    (void)priority;
    return r ? r : start(!(flags & CU_STREAM_NON_BLOCKING), out);
}

CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
    return cuStreamCreateWithPriority(out, flags, 0);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    if (least)
        *least = 0;
    if (greatest)
        *greatest = -1;
    return CUDA_SUCCESS;
}

CUresult cuStreamDestroy(CUstream s)
{
    CUresult r = cc_check_context();
    if (r)
        return r;
    pthread_mutex_lock(&lock);
    s->stop = true;
    pthread_cond_signal(&s->more);
    pthread_mutex_unlock(&lock);
    pthread_join(s->thread, NULL);
    pthread_mutex_lock(&lock);
    struct CUstream_st **at = &streams;
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    pthread_mutex_unlock(&lock);
    pthread_cond_destroy(&s->more);
    free(s);
    return CUDA_SUCCESS;
}

static CUresult wait_for(struct CUstream_st *s)
{
    uint64_t until = s->submitted;
    while (s->finished < until)
        pthread_cond_wait(&changed, &lock);
    return s->error;
}

CUresult cuStreamSynchronize(CUstream stream)
{
    CUresult r = cc_check_context();
    struct CUstream_st *s = stream_of(stream);
    if (r || !s)
        return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    r = wait_for(s);
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult cc_stream_wait_all(void)
{
    CUresult r = CUDA_SUCCESS;
    pthread_mutex_lock(&lock);
    for (struct CUstream_st *s = streams; s; s = s->next) {
        CUresult own = wait_for(s);
        r = r ? r : own;
    }
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult cuStreamQuery(CUstream stream)
{
    CUresult r = cc_check_context();
    struct CUstream_st *s = stream_of(stream);
    if (r || !s)
        return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&lock);
    r = s->error ? s->error : s->finished < s->submitted ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
    pthread_mutex_unlock(&lock);
    return r;
}

/* ---- commands --------------------------------------------------------------------------------------------------- */

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
    struct command *c = command(COPY);
    if (c) {
        c->to = (void *)(uintptr_t)to;
        c->from = (const void *)(uintptr_t)from;
        c->bytes = bytes;
    }
    return submit(stream, c);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
    struct command *c = command(FILL);
    if (c) {
        c->to = (void *)(uintptr_t)to;
        c->value = value;
        c->bytes = bytes;
    }
    return submit(stream, c);
}

CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes)
{
    CUresult r = cuMemsetD8Async(to, value, bytes, NULL);
    return r ? r : cuStreamSynchronize(NULL);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
    CUresult r = cuMemcpyAsync(to, from, bytes, NULL);
    return r ? r : cuStreamSynchronize(NULL);
}

CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
    return cuMemcpy(to, (CUdeviceptr)(uintptr_t)from, bytes);
}

CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
    return cuMemcpy((CUdeviceptr)(uintptr_t)to, from, bytes);
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *arg)
{
    struct command *c = command(HOST);
    if (c) {
        c->fn = fn;
        c->from = arg;
    }
    return submit(stream, c);
}

CUresult cc_stream_launch(CUstream stream, struct zc_launch *launch)
{
    struct command *c = command(KERNEL);
    if (c)
        c->launch = launch;
    else
        free(launch);
    return submit(stream, c);
}

/* ---- events ----------------------------------------------------------------------------------------------------- */

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
    CUresult r = cc_check_context();
    (void)flags;
    if (!r)
        *out = calloc(1, sizeof **out);
    return r ? r : *out ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuEventDestroy(CUevent e)
{
    CUresult r = cuEventSynchronize(e); /* the stream's thread still uses it */
    if (!r)
        free(e);
    return r;
}

CUresult cuEventRecord(CUevent e, CUstream stream)
{
    struct command *c = command(RECORD);
    if (c) {
        c->event = e;
        pthread_mutex_lock(&lock);
        c->turn = ++e->recorded;
        pthread_mutex_unlock(&lock);
    }
    return submit(stream, c);
}

CUresult cuEventQuery(CUevent e)
{
    pthread_mutex_lock(&lock);
    bool reached = e->reached == e->recorded;
    pthread_mutex_unlock(&lock);
    return reached ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent e)
{
    CUresult r = cc_check_context();
    if (r)
        return r;
    pthread_mutex_lock(&lock);
    while (e->reached < e->recorded)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
    pthread_mutex_lock(&lock);
    CUresult r = !from->recorded || !to->recorded ? CC_ERROR_INVALID_HANDLE
                 : from->reached < from->recorded || to->reached < to->recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
    if (!r)
        *ms = (float)((double)(int64_t)(to->reached_ns - from->reached_ns) * 1e-6);
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent e, unsigned flags)
{
    struct command *c = command(WAIT);
    (void)flags;
    if (c) {
        c->event = e;
        pthread_mutex_lock(&lock);
        c->turn = e->recorded;
        pthread_mutex_unlock(&lock);
    }
    return submit(stream, c);
}
