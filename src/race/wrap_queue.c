/*
 * wrap_queue.c - routines in order with kernels (shmemx_*_on_queue): the queue's thread calls the routine that is checked, for the place that
 * entered it, after what the entering thread had done then.
 *
 * On CUDA's devices the queue's order of kernels and calls is the library's. So a thread that launches a kernel is after the calls that have ended,
 * as if it had waited for them, and the calls are after the kernels that the queue's thread has waited for.
 */
#include <dlfcn.h>
#include <errno.h>
#include <shmemx.h>
#include <stdlib.h>

#include "race/clock.h"
#include "race/kernel.h"
#include "race/sync.h"
#include "race/wrap.h"

struct call {
    void (*run)(const struct call *);
    void (*fn)(void *);
    void *dest;
    const void *source;
    size_t n;
    uint64_t *sig_addr;
    uint64_t signal;
    int op, pe; /* signal operator or comparison; PE or root */
    shmem_team_t team;
    struct race_on_behalf of; /* routine NULL: of nothing */
    struct race_clock *after;
};

static char used; /* a call was entered */

static void take_ended(void)
{
    if (race_self() && __atomic_load_n(&used, __ATOMIC_RELAXED))
        race_sync_take_from(race_self(), race_sync_local(&race_queue_ended));
}

static void run(void *p)
{
    struct call *c = p;
    struct race_thread *u = race_self();
    if (u && c->after)
        race_sync_take_from(u, c->after);
    take_ended();
    race_on_behalf = c->of;
    c->run(c);
    race_on_behalf = (struct race_on_behalf){0};
    if (u)
        race_sync_give_to(u, race_sync_local(&race_queue_ended));
    free(c->after);
    free(c);
}

static int enter(const struct call *c)
{
    RACE_NEXT(int, shmemx_host_on_queue, (void (*)(void *), void *))
    struct race_thread *u = race_self();
    struct call *kept = malloc(sizeof *kept);
    struct race_clock *after = u ? calloc(1, race_dim.bytes) : NULL;
    int err = !kept || (u && !after) ? -ENOMEM : 0;
    if (!err) {
        if (u)
            race_sync_give_to(u, after);
        __atomic_store_n(&used, 1, __ATOMIC_RELAXED);
        *kept = *c;
        kept->after = after;
        err = next(run, kept);
    }
    if (err) {
        free(after);
        free(kept);
    }
    return err;
}

/* NAME: CALL is done with the arguments in *c, which the initializers fill. */
#define ON_QUEUE_OF(NAME, ROUTINE, PARAMS, CALL, ...)                                                                \
    static void do_##NAME(const struct call *c)                                                                      \
    {                                                                                                                \
        CALL;                                                                                                        \
    }                                                                                                                \
    RACE_WRAP(int, NAME, PARAMS)                                                                                     \
    {                                                                                                                \
        return enter(&(const struct call){.run = do_##NAME, .of = {ROUTINE, RACE_CALLER}, __VA_ARGS__});             \
    }
#define ON_QUEUE(NAME, PARAMS, CALL, ...) ON_QUEUE_OF(NAME, #NAME, PARAMS, CALL, __VA_ARGS__)

ON_QUEUE_OF(shmemx_host_on_queue, NULL, (void (*fn)(void *), void *arg), c->fn(c->dest), .fn = fn, .dest = arg)
ON_QUEUE(shmemx_putmem_on_queue, (void *dest, const void *source, size_t nelems, int pe), shmem_putmem(c->dest, c->source, c->n, c->pe), .dest = dest,
         .source = source, .n = nelems, .pe = pe)
ON_QUEUE(shmemx_getmem_on_queue, (void *dest, const void *source, size_t nelems, int pe), shmem_getmem(c->dest, c->source, c->n, c->pe), .dest = dest,
         .source = source, .n = nelems, .pe = pe)
ON_QUEUE(shmemx_putmem_signal_on_queue, (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe),
         shmem_putmem_signal(c->dest, c->source, c->n, c->sig_addr, c->signal, c->op, c->pe), .dest = dest, .source = source, .n = nelems,
         .sig_addr = sig_addr, .signal = signal, .op = sig_op, .pe = pe)
ON_QUEUE(shmemx_signal_wait_until_on_queue, (uint64_t *sig_addr, int cmp, uint64_t cmp_value),
         shmem_signal_wait_until(c->sig_addr, c->op, c->signal), .sig_addr = sig_addr, .op = cmp, .signal = cmp_value)
ON_QUEUE(shmemx_quiet_on_queue, (void), (void)c; shmem_quiet(), .n = 0)
ON_QUEUE(shmemx_barrier_all_on_queue, (void), (void)c; shmem_barrier_all(), .n = 0)
ON_QUEUE(shmemx_team_sync_on_queue, (shmem_team_t team), shmem_team_sync(c->team), .team = team)
ON_QUEUE(shmemx_broadcastmem_on_queue, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root),
         shmem_broadcastmem(c->team, c->dest, c->source, c->n, c->pe), .team = team, .dest = dest, .source = source, .n = nelems, .pe = PE_root)

#define COLLECTIVE(NAME, T)                                                                                          \
    ON_QUEUE(shmemx_##NAME##_on_queue, (shmem_team_t team, T *dest, const T *source, size_t nelems),                 \
             shmem_##NAME(c->team, c->dest, c->source, c->n), .team = team, .dest = dest, .source = source, .n = nelems)
COLLECTIVE(collectmem, void)
COLLECTIVE(fcollectmem, void)
COLLECTIVE(alltoallmem, void)
#define REDUCTION(R, NAME, N, T, PARAMS) COLLECTIVE(N##NAME, T)
SHMEM_TYPES(SHMEMX_REDUCE_ROW_, REDUCTION)

static void nothing(const struct call *c)
{
    (void)c;
}

RACE_WRAP(int, shmemx_launch,
          (const char *kernel, const size_t groups[3], const size_t items[3], void *const *args, const size_t *arg_bytes, int n_args))
{
    RACE_NEXT(int, shmemx_launch, (const char *, const size_t *, const size_t *, void *const *, const size_t *, int))
    take_ended();
    if (__atomic_load_n(&used, __ATOMIC_RELAXED))
        enter(&(const struct call){.run = nothing}); /* the queue's thread, which may launch it, is after the calling one */
    return next(kernel, groups, items, args, arg_bytes, n_args);
}

RACE_WRAP(int, shmemx_device_sync, (void))
{
    RACE_NEXT(int, shmemx_device_sync, (void))
    int err = next();
    take_ended();
    return err;
}
