/*
 * queue.c - entry points of routines that run in order with the kernels of shmemx_launch, on a thread of the device.
 *
 * A call's arguments are allocated and kept until the queue runs it.
 */
#include "host/api/def.h"

#include <errno.h>
#include <shmemx.h>
#include <stdlib.h>

#include "device/device.h"
#include "host/api/launch.h"
#include "host/util/log.h"

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
};

static void run(void *p)
{
    struct call *c = p;
    shi_allow_thread();
    c->run(c);
    free(c);
}

static int enqueue(const char *routine, const struct call *c)
{
    shi_need_device(routine);
    struct call *kept = malloc(sizeof *kept);
    int err = !kept ? -ENOMEM : shi_device->host_call ? 0 : -ENOTSUP;
    if (err) {
        shi_log_error("%s: %s", routine,
                      kept ? "this kind of device runs no calls of the host in its queue" : "out of memory");
        free(kept);
        return err;
    }
    *kept = *c;
    err = shi_device->host_call(run, kept);
    if (err)
        free(kept);
    return err;
}

/* NAME: CALL is done with the arguments in *c, which the initializers fill. */
#define ON_QUEUE(NAME, PARAMS, CALL, ...)                                                                            \
    static void do_##NAME(const struct call *c)                                                                      \
    {                                                                                                                \
        (void)c;                                                                                                     \
        CALL;                                                                                                        \
    }                                                                                                                \
    int NAME PARAMS                                                                                                  \
    {                                                                                                                \
        return enqueue(__func__, &(const struct call){.run = do_##NAME, __VA_ARGS__});                               \
    }

ON_QUEUE(shmemx_host_on_queue, (void (*fn)(void *), void *arg), c->fn(c->dest), .fn = fn, .dest = arg)

/* ---- one-sided --------------------------------------------------------------------------------------------------- */

ON_QUEUE(shmemx_putmem_on_queue, (void *dest, const void *source, size_t nelems, int pe),
         pshmem_putmem(c->dest, c->source, c->n, c->pe), .dest = dest, .source = source, .n = nelems, .pe = pe)
ON_QUEUE(shmemx_getmem_on_queue, (void *dest, const void *source, size_t nelems, int pe),
         pshmem_getmem(c->dest, c->source, c->n, c->pe), .dest = dest, .source = source, .n = nelems, .pe = pe)
ON_QUEUE(shmemx_putmem_signal_on_queue,
         (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe),
         pshmem_putmem_signal(c->dest, c->source, c->n, c->sig_addr, c->signal, c->op, c->pe), .dest = dest,
         .source = source, .n = nelems, .sig_addr = sig_addr, .signal = signal, .op = sig_op, .pe = pe)
ON_QUEUE(shmemx_signal_wait_until_on_queue, (uint64_t *sig_addr, int cmp, uint64_t cmp_value),
         pshmem_signal_wait_until(c->sig_addr, c->op, c->signal), .sig_addr = sig_addr, .op = cmp, .signal = cmp_value)
ON_QUEUE(shmemx_quiet_on_queue, (void), pshmem_quiet(), .n = 0)

/* ---- collectives ------------------------------------------------------------------------------------------------- */

ON_QUEUE(shmemx_barrier_all_on_queue, (void), pshmem_barrier_all(), .n = 0)
ON_QUEUE(shmemx_team_sync_on_queue, (shmem_team_t team), pshmem_team_sync(c->team), .team = team)
ON_QUEUE(shmemx_broadcastmem_on_queue, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root),
         pshmem_broadcastmem(c->team, c->dest, c->source, c->n, c->pe), .team = team, .dest = dest, .source = source,
         .n = nelems, .pe = PE_root)

/* The collectives of (team, dest, source, count). */
#define COLLECTIVE(NAME, T)                                                                                          \
    ON_QUEUE(shmemx_##NAME##_on_queue, (shmem_team_t team, T *dest, const T *source, size_t nelems),                 \
             pshmem_##NAME(c->team, c->dest, c->source, c->n), .team = team, .dest = dest, .source = source, .n = nelems)
COLLECTIVE(collectmem, void)
COLLECTIVE(fcollectmem, void)
COLLECTIVE(alltoallmem, void)
#define REDUCTION(R, NAME, N, T, PARAMS) COLLECTIVE(N##NAME, T)
SHMEM_TYPES(SHMEMX_REDUCE_ROW_, REDUCTION)
