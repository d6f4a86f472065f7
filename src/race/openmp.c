/*
 * openmp.c - what gcc's OpenMP runtime orders: regions, barriers, ordered, critical, locks and tasks.
 *
 * libgomp is not instrumented. Its entry points, which the compiler calls, are defined here over its own. The barriers of all teams of a
 * PE have one clock, as do its critical sections without a name.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "race/clock.h"
#include "race/page.h"
#include "race/sync.h"

static char barriers, ordered, critical, atomics, depends;

static void give(const void *object)
{
    struct race_thread *u = race_self();
    if (u)
        race_sync_give_to(u, race_sync_local(object));
}

static void take(const void *object)
{
    struct race_thread *u = race_self();
    if (u)
        race_sync_take_from(u, race_sync_local(object));
}

/* REAL is libgomp's routine of this name and type. */
#define FIND(R, NAME, PARAMS)                                                                                        \
    static R(*real) PARAMS;                                                                                          \
    if (!real)                                                                                                       \
        real = (R(*) PARAMS)dlsym(RTLD_NEXT, #NAME);
#define DEFINE(R, NAME, PARAMS)                                                                                      \
    RACE_API R NAME PARAMS;                                                                                          \
    R NAME PARAMS

/* ---- regions ------------------------------------------------------------------------------------------------------------ */

struct region {
    void (*run)(void *);
    void *data;
    struct race_clock *begins, *ends; /* NULL: the job does not run */
};

static struct region region_of(void (*run)(void *), void *data)
{
    struct race_thread *u = race_self();
    struct region r = {.run = run, .data = data};
    if (u) {
        r.begins = calloc(1, race_dim.bytes), r.ends = calloc(1, race_dim.bytes);
        if (!r.begins || !r.ends)
            abort();
        race_sync_give_to(u, r.begins);
        race_page_crowd();
    }
    return r;
}

static void in_region(void *arg)
{
    const struct region *r = arg;
    struct race_thread *u = r->begins ? race_self() : NULL;
    if (u)
        race_sync_take_from(u, r->begins);
    r->run(r->data);
    u = r->begins ? race_self() : NULL;
    if (u)
        race_sync_give_to(u, r->ends);
}

static void region_ends(struct region *r)
{
    struct race_thread *u = race_self();
    if (u && r->ends)
        race_sync_take_from(u, r->ends);
    take(&barriers); /* tasks */
    free(r->begins);
    free(r->ends);
}

#define REGION(NAME, PARAMS, ARGUMENTS)                                                                              \
    DEFINE(void, NAME, PARAMS)                                                                                       \
    {                                                                                                                \
        FIND(void, NAME, PARAMS)                                                                                     \
        struct region r = region_of(run, data);                                                                      \
        real ARGUMENTS;                                                                                              \
        region_ends(&r);                                                                                             \
    }
#define HEAD void (*run)(void *), void *data, unsigned threads
REGION(GOMP_parallel, (HEAD, unsigned flags), (in_region, &r, threads, flags))
REGION(GOMP_parallel_sections, (HEAD, unsigned count, unsigned flags), (in_region, &r, threads, count, flags))
#define LOOP(KIND)                                                                                                   \
    REGION(GOMP_parallel_loop_##KIND, (HEAD, long start, long end, long incr, long chunk, unsigned flags),           \
           (in_region, &r, threads, start, end, incr, chunk, flags))
#define LOOP_RUNTIME(KIND)                                                                                           \
    REGION(GOMP_parallel_loop_##KIND, (HEAD, long start, long end, long incr, unsigned flags),                       \
           (in_region, &r, threads, start, end, incr, flags))
LOOP(static)
LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)
LOOP_RUNTIME(runtime)
LOOP_RUNTIME(nonmonotonic_runtime)
LOOP_RUNTIME(maybe_nonmonotonic_runtime)

DEFINE(unsigned, GOMP_parallel_reductions, (HEAD, unsigned flags))
{
    FIND(unsigned, GOMP_parallel_reductions, (HEAD, unsigned))
    struct region r = region_of(run, data);
    unsigned n = real(in_region, &r, threads, flags);
    region_ends(&r);
    return n;
}

/* ---- inside them ---------------------------------------------------------------------------------------------------------- */

#define AROUND(NAME, GIVES, TAKES)                                                                                   \
    DEFINE(void, NAME, (void))                                                                                       \
    {                                                                                                                \
        FIND(void, NAME, (void))                                                                                     \
        if (GIVES)                                                                                                   \
            give(GIVES);                                                                                             \
        real();                                                                                                      \
        if (TAKES)                                                                                                   \
            take(TAKES);                                                                                             \
    }
#define NOTHING ((char *)NULL)
static char *const barrier = &barriers, *const order = &ordered, *const section = &critical, *const update = &atomics;
AROUND(GOMP_barrier, barrier, barrier)
AROUND(GOMP_loop_end, barrier, barrier)
AROUND(GOMP_ordered_start, NOTHING, order)
AROUND(GOMP_ordered_end, order, NOTHING)
AROUND(GOMP_critical_start, NOTHING, section)
AROUND(GOMP_critical_end, section, NOTHING)
AROUND(GOMP_atomic_start, NOTHING, update)
AROUND(GOMP_atomic_end, update, NOTHING)

DEFINE(void, GOMP_critical_name_start, (void **name))
{
    FIND(void, GOMP_critical_name_start, (void **))
    real(name);
    take(name);
}

DEFINE(void, GOMP_critical_name_end, (void **name))
{
    FIND(void, GOMP_critical_name_end, (void **))
    give(name);
    real(name);
}

/* ---- sections ---------------------------------------------------------------------------------------------------------------
 * Two sections are not ordered, even where one thread runs both: each is an actor of its own, which begins as the construct did.
 */

static __thread struct race_clock *section_begins, *sections_end;

static struct race_clock *fresh(struct race_clock **c)
{
    if (!*c)
        *c = calloc(1, race_dim.bytes);
    else
        memset(*c, 0, race_dim.bytes);
    if (!*c)
        abort();
    return *c;
}

static __thread int sections_run; /* of this construct by this thread */

/* `number` is the section that comes, 0: none. */
static unsigned next_section(unsigned number)
{
    struct race_thread *u = race_self();
    if (!u)
        return number;
    if (sections_run == 0) {
        race_clock_join(fresh(&section_begins), u->clock);
        fresh(&sections_end);
    } else {
        race_clock_join(sections_end, u->clock);
        if (number)
            race_thread_turn(u, section_begins);
        else if (race_clock_join(u->clock, sections_end))
            race_clock_changed(u);
    }
    sections_run = number ? sections_run + 1 : 0;
    return number;
}

DEFINE(unsigned, GOMP_sections_start, (unsigned count))
{
    FIND(unsigned, GOMP_sections_start, (unsigned))
    return next_section(real(count));
}

DEFINE(unsigned, GOMP_sections_next, (void))
{
    FIND(unsigned, GOMP_sections_next, (void))
    return next_section(real());
}

AROUND(GOMP_sections_end, barrier, barrier)

/* ---- tasks --------------------------------------------------------------------------------------------------------------- */

static __thread char of_thread; /* the tasks that this thread has created */

struct task {
    void (*run)(void *);
    struct race_clock *begins;
    const void *creator;
    int depends;
    size_t align;
    char data[];
};

static void *data_of(struct task *t)
{
    return (void *)(((uintptr_t)t->data + t->align - 1) & ~(uintptr_t)(t->align - 1));
}

static void in_task(void *arg)
{
    struct task *t = *(struct task **)arg;
    struct race_thread *u = race_self();
    if (u)
        race_sync_take_from(u, t->begins);
    if (t->depends)
        take(&depends);
    t->run(data_of(t));
    give(t->creator);
    give(&barriers);
    if (t->depends)
        give(&depends);
    free(t->begins);
    free(t);
}

DEFINE(void, GOMP_task,
       (void (*run)(void *), void *data, void (*copy)(void *, void *), long bytes, long align, _Bool deferred,
        unsigned flags, void **depend, int priority, void *detach))
{
    FIND(void, GOMP_task,
         (void (*)(void *), void *, void (*)(void *, void *), long, long, _Bool, unsigned, void **, int, void *))
    struct race_thread *u = race_self();
    struct task *t = u ? malloc(sizeof *t + (size_t)bytes + (size_t)align) : NULL;
    if (!t) {
        real(run, data, copy, bytes, align, deferred, flags, depend, priority, detach);
        return;
    }
    *t = (struct task){.run = run,
                       .begins = calloc(1, race_dim.bytes),
                       .creator = &of_thread,
                       .depends = depend != NULL,
                       .align = align > 0 ? (size_t)align : 1};
    if (!t->begins)
        abort();
    if (copy)
        copy(data_of(t), data);
    else
        memcpy(data_of(t), data, (size_t)bytes);
    race_sync_give_to(u, t->begins);
    real(in_task, &t, NULL, sizeof t, _Alignof(struct task *), deferred, flags, depend, priority, detach);
}

DEFINE(void, GOMP_taskwait, (void))
{
    FIND(void, GOMP_taskwait, (void))
    real();
    take(&of_thread);
}

DEFINE(void, GOMP_taskgroup_end, (void))
{
    FIND(void, GOMP_taskgroup_end, (void))
    real();
    take(&barriers);
}
