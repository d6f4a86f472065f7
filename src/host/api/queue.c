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
#define ENQUEUE(BODY, ...) enqueue(__func__, &(const struct call){.run = BODY, __VA_ARGS__})

static void do_function(const struct call *c)
{
    c->fn(c->dest);
}

int shmemx_host_on_queue(void (*fn)(void *), void *arg)
{
    return ENQUEUE(do_function, .fn = fn, .dest = arg);
}

/* ---- one-sided --------------------------------------------------------------------------------------------------- */

static void do_put(const struct call *c)
{
    pshmem_putmem(c->dest, c->source, c->n, c->pe);
}

int shmemx_putmem_on_queue(void *dest, const void *source, size_t nelems, int pe)
{
    return ENQUEUE(do_put, .dest = dest, .source = source, .n = nelems, .pe = pe);
}

static void do_get(const struct call *c)
{
    pshmem_getmem(c->dest, c->source, c->n, c->pe);
}

int shmemx_getmem_on_queue(void *dest, const void *source, size_t nelems, int pe)
{
    return ENQUEUE(do_get, .dest = dest, .source = source, .n = nelems, .pe = pe);
}

static void do_put_signal(const struct call *c)
{
    pshmem_putmem_signal(c->dest, c->source, c->n, c->sig_addr, c->signal, c->op, c->pe);
}

int shmemx_putmem_signal_on_queue(void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal,
                                  int sig_op, int pe)
{
    return ENQUEUE(do_put_signal, .dest = dest, .source = source, .n = nelems, .sig_addr = sig_addr, .signal = signal,
                   .op = sig_op, .pe = pe);
}

static void do_signal_wait(const struct call *c)
{
    pshmem_signal_wait_until(c->sig_addr, c->op, c->signal);
}

int shmemx_signal_wait_until_on_queue(uint64_t *sig_addr, int cmp, uint64_t cmp_value)
{
    return ENQUEUE(do_signal_wait, .sig_addr = sig_addr, .op = cmp, .signal = cmp_value);
}

static void do_quiet(const struct call *c)
{
    (void)c;
    pshmem_quiet();
}

int shmemx_quiet_on_queue(void)
{
    return ENQUEUE(do_quiet, .n = 0);
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

static void do_barrier_all(const struct call *c)
{
    (void)c;
    pshmem_barrier_all();
}

int shmemx_barrier_all_on_queue(void)
{
    return ENQUEUE(do_barrier_all, .n = 0);
}

static void do_team_sync(const struct call *c)
{
    pshmem_team_sync(c->team);
}

int shmemx_team_sync_on_queue(shmem_team_t team)
{
    return ENQUEUE(do_team_sync, .team = team);
}

static void do_broadcastmem(const struct call *c)
{
    pshmem_broadcastmem(c->team, c->dest, c->source, c->n, c->pe);
}

int shmemx_broadcastmem_on_queue(shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root)
{
    return ENQUEUE(do_broadcastmem, .team = team, .dest = dest, .source = source, .n = nelems, .pe = PE_root);
}

/* The collectives of (team, dest, source, count). */
#define COLLECTIVE(NAME, FN, T)                                                                                      \
    static void do_##NAME(const struct call *c)                                                                      \
    {                                                                                                                \
        FN(c->team, c->dest, c->source, c->n);                                                                       \
    }                                                                                                                \
    int shmemx_##NAME##_on_queue(shmem_team_t team, T *dest, const T *source, size_t nelems)                         \
    {                                                                                                                \
        return ENQUEUE(do_##NAME, .team = team, .dest = dest, .source = source, .n = nelems);                        \
    }
COLLECTIVE(collectmem, pshmem_collectmem, void)
COLLECTIVE(fcollectmem, pshmem_fcollectmem, void)
COLLECTIVE(alltoallmem, pshmem_alltoallmem, void)
#define REDUCTION(R, NAME, N, T, PARAMS) COLLECTIVE(N##NAME, pshmem_##N##NAME, T)
SHMEM_TYPES(SHMEMX_REDUCE_ROW_, REDUCTION)
