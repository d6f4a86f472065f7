/*
 * thread.c - threads of this PE as actors, and what orders them: creation, join, mutexes, barriers, semaphores.
 *
 * oshcc links programs with --wrap for these routines, so that only the program's own calls count, not those of libraries. Creation is
 * taken over by its name, since C++'s threads are created in a library.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "race/clock.h"
#include "race/node.h"
#include "race/page.h"
#include "race/sync.h"

__thread struct race_thread *race_thread;
int race_running;

static __thread struct race_clock *born; /* the creator's clock */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static int taken[RACE_ROWS];
static uint32_t last[RACE_ROWS]; /* the epoch of the row's last thread */
static pthread_key_t at_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

void race_thread_leave(const struct race_thread *u)
{
    pthread_mutex_lock(&changing);
    taken[u->number]--;
    last[u->number] = u->epoch > last[u->number] ? u->epoch : last[u->number];
    pthread_mutex_unlock(&changing);
}

/* The lowest free row. Threads beyond the rows share the last one. */
void race_thread_enter(struct race_thread *u)
{
    pthread_mutex_lock(&changing);
    unsigned k = 0;
    while (k < RACE_ROWS - 1 && taken[k])
        k++;
    taken[k]++;
    uint32_t before = last[k];
    pthread_mutex_unlock(&changing);
    if (k > 0)
        race_page_crowd();
    race_clock_use(k);
    u->number = k;
    u->actor = k << race_dim.bits | (unsigned)race_node.me;
    uint32_t now = *race_t(u->clock, u->actor);
    race_clock_epoch(u, now > before ? now : before);
    race_clock_tick(u);
}

static void ended(void *arg)
{
    struct race_thread *u = arg;
    race_thread = NULL;
    if (!race_running)
        return;
    race_sync_give_to(u, race_sync_local((void *)pthread_self()));
    race_thread_leave(u);
    free(u->clock);
    free(u);
}

/* A child process is no PE. */
static void forked(void)
{
    race_running = 0;
    race_thread = NULL;
}

static void make_key(void)
{
    pthread_key_create(&at_end, ended);
    pthread_atfork(NULL, NULL, forked);
}

/* The thread's clock is one that no other clock knows anything of. */
static void new_self(struct race_thread *u)
{
    static uint64_t selves;
    u->self = __atomic_add_fetch(&selves, 1, __ATOMIC_RELAXED) << RACE_PE_BITS | (unsigned)race_node.me;
    memset(u->known, 0, sizeof u->known);
}

struct race_thread *race_thread_attach(void)
{
    pthread_once(&once, make_key);
    struct race_thread *u = calloc(1, sizeof *u);
    if (!u || !(u->clock = calloc(1, race_dim.bytes)))
        abort();
    new_self(u);
    if (born)
        race_sync_take_from(u, born);
    race_thread_enter(u);
    race_thread = u;
    pthread_setspecific(at_end, u);
    return u;
}

void race_thread_turn(struct race_thread *u, const struct race_clock *after)
{
    struct race_thread old = *u;
    memset(u->clock, 0, race_dim.bytes);
    new_self(u);
    race_clock_join(u->clock, after);
    race_thread_enter(u); /* before the old one is free: another one */
    race_thread_leave(&old);
}

/* ---- creation and join ------------------------------------------------------------------------------------------------ */

struct start {
    void *(*run)(void *);
    void *arg;
    struct race_clock *clock;
};

static void *begin(void *arg)
{
    struct start s = *(struct start *)arg;
    free(arg);
    born = s.clock; /* kept: the thread may take part at any time */
    return s.run(s.arg);
}

RACE_API int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *arg)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (!real)
        real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    struct race_thread *u = race_thread;
    struct start *s = u && race_running ? malloc(sizeof *s) : NULL;
    if (!s)
        return real(thread, attr, run, arg);
    *s = (struct start){run, arg, calloc(1, race_dim.bytes)};
    if (!s->clock)
        abort();
    race_page_crowd();
    race_sync_give_to(u, s->clock);
    return real(thread, attr, begin, s);
}

RACE_API int pthread_join(pthread_t thread, void **result)
{
    static int (*real)(pthread_t, void **);
    if (!real)
        real = (int (*)(pthread_t, void **))dlsym(RTLD_NEXT, "pthread_join");
    int error = real(thread, result);
    struct race_thread *u = race_thread;
    if (!error && u && race_running)
        race_sync_take_from(u, race_sync_local((void *)thread));
    return error;
}

/* ---- the program's calls ----------------------------------------------------------------------------------------------- */

static void give(const volatile void *object)
{
    struct race_thread *u = race_self();
    if (u)
        race_sync_give_to(u, race_sync_local((const void *)object));
}

static void take(const volatile void *object)
{
    struct race_thread *u = race_self();
    if (u)
        race_sync_take_from(u, race_sync_local((const void *)object));
}

#define BEFORE(NAME, TYPE)                                                                                           \
    RACE_API int __wrap_##NAME(TYPE *object);                                                                        \
    RACE_API int __wrap_##NAME(TYPE *object)                                                                         \
    {                                                                                                                \
        give(object);                                                                                                \
        return NAME(object);                                                                                         \
    }
#define AFTER(NAME, TYPE)                                                                                            \
    RACE_API int __wrap_##NAME(TYPE *object);                                                                        \
    RACE_API int __wrap_##NAME(TYPE *object)                                                                         \
    {                                                                                                                \
        int error = NAME(object);                                                                                    \
        if (!error)                                                                                                  \
            take(object);                                                                                            \
        return error;                                                                                                \
    }
AFTER(pthread_mutex_lock, pthread_mutex_t)
AFTER(pthread_mutex_trylock, pthread_mutex_t)
BEFORE(pthread_mutex_unlock, pthread_mutex_t)
AFTER(pthread_spin_lock, pthread_spinlock_t)
AFTER(pthread_spin_trylock, pthread_spinlock_t)
BEFORE(pthread_spin_unlock, pthread_spinlock_t)
AFTER(pthread_rwlock_rdlock, pthread_rwlock_t)
AFTER(pthread_rwlock_wrlock, pthread_rwlock_t)
AFTER(pthread_rwlock_tryrdlock, pthread_rwlock_t)
AFTER(pthread_rwlock_trywrlock, pthread_rwlock_t)
BEFORE(pthread_rwlock_unlock, pthread_rwlock_t)
BEFORE(sem_post, sem_t)
AFTER(sem_wait, sem_t)
AFTER(sem_trywait, sem_t)

RACE_API int __wrap_pthread_barrier_wait(pthread_barrier_t *barrier);
RACE_API int __wrap_pthread_barrier_wait(pthread_barrier_t *barrier)
{
    give(barrier);
    int result = pthread_barrier_wait(barrier);
    take(barrier);
    return result;
}

RACE_API int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex);
RACE_API int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    give(mutex);
    int error = pthread_cond_wait(cond, mutex);
    take(mutex);
    return error;
}

RACE_API int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until);
RACE_API int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex, const struct timespec *until)
{
    give(mutex);
    int error = pthread_cond_timedwait(cond, mutex, until);
    take(mutex);
    return error;
}
