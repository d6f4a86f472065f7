/*
 * proxy.c - the proxy thread of a PE: polls the ring, yields and then sleeps when nothing comes, notices kernels that
 * died between ticket and slot.
 *
 *   word     written by          read by    order
 *   stop     shi_proxy_down      thread     relaxed: the join orders everything else
 */
#include "proxy/proxy.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "device/device.h"
#include "device/lib/state.h"
#include "host/ops/dheap.h"
#include "host/ops/wait.h"
#include "host/ops/world.h"
#include "host/util/log.h"
#include "proxy/request.h"

enum { LOG_SLOTS = 10, MAX_OPS = 4096 };
static const uint64_t patience_ns = 2000000000;

_Static_assert(2 * SHI_DEV_TEAM_WORDS * sizeof(uint64_t) <= SHI_DHEAP_HEAD_BYTES, "two teams' flags head the heap");

/* Everything that host and device share, in one allocation. */
struct shared {
    struct shi_ring ring;
    struct shi_ring_line line;
    struct shi_dev_ctx ctx;
    struct shi_dev_team world, node;
    uint64_t fault;
    struct shi_ring_cell cells[1 << LOG_SLOTS];
    uint64_t slots[1 << LOG_SLOTS][SHI_RING_WORDS];
    uint64_t peer_heap[]; /* [n_pes] */
};

static struct shared *shared;
static struct shi_engine *engine;
static struct shi_proxy_place place;
static pthread_t thread;
static int stop;

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *serve(void *arg)
{
    struct shi_wait w = SHI_WAIT_INIT;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        int n = shi_engine_poll(engine);
        if (n < 0)
            shi_die("proxy", "a request of a kernel failed: %s", strerror(-n));
        if (n > 0) {
            w = SHI_WAIT_INIT;
            continue;
        }
        shi_wait_step(&w);
        int64_t stuck = w.sleep_us ? shi_engine_stuck(engine, now_ns(), patience_ns) : -1;
        if (stuck >= 0)
            shi_die("proxy", "a kernel took ticket %ld of the ring and never filled its slot: it was killed or has hung",
                    (long)stuck);
    }
    return arg;
}

/* Signals are the program's: none is delivered here. */
static int start_thread(void)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int err = pthread_create(&thread, NULL, serve, NULL);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return -err;
}

static void fill_team(struct shi_dev_team *t, uint64_t flags)
{
    *t = (struct shi_dev_team){.stride = 1, .n = shi_world.n_pes, .me = shi_world.pe, .flags = flags};
}

static void fill_shared(void)
{
    struct shared *s = shared;
    s->ring = (struct shi_ring){.slots = (uint64_t)s->slots, .cells = (uint64_t)s->cells, .line = (uint64_t)&s->line,
                                .log_n = LOG_SLOTS};
    fill_team(&s->world, 0);
    fill_team(&s->node, SHI_DEV_TEAM_WORDS * sizeof(uint64_t));
    for (int i = 0; i < shi_world.n_pes; i++)
        s->peer_heap[i] = shi_world.config.device_direct ? (uint64_t)shi_dheap_of(i) : 0;
    s->ctx = (struct shi_dev_ctx){.version = SHI_DEV_VERSION, .ring = (uint64_t)&s->ring, .heap = shi_world.dev_lo,
                                  .heap_bytes = shi_world.config.device_heap_bytes,
                                  .peer_heap = (uint64_t)s->peer_heap, .world = (uint64_t)&s->world,
                                  .shared = (uint64_t)&s->node, .me = shi_world.pe, .n_pes = shi_world.n_pes,
                                  .fault = (uint64_t)&s->fault};
}

int shi_proxy_up(void)
{
    if (shared)
        return 0;
    void *p;
    int err = shi_device->alloc_shared(sizeof *shared + (size_t)shi_world.n_pes * sizeof(uint64_t), &p);
    if (err)
        return err;
    shared = p;
    shi_dheap_on_down(shi_proxy_quiet, shi_proxy_down);
    fill_shared();
    place.ring = &shared->ring;
    const struct shi_engine_exec exec = {shi_proxy_issue, NULL, &place};
    engine = shi_engine_up(&shared->ring, &exec, shi_world.n_pes, MAX_OPS);
    stop = 0;
    err = engine ? start_thread() : -ENOMEM;
    if (err)
        shi_log_error("the proxy thread cannot start: %s", strerror(-err));
    return err;
}

void shi_proxy_quiet(void)
{
    struct shi_wait w = SHI_WAIT_INIT;
    uint64_t head = shi_load_relaxed(&shared->ring.head);
    while ((uint64_t)(shi_load_acquire(&shared->line.done) - head) >> 63) /* A3 */
        shi_wait_step(&w);
}

void shi_proxy_down(void)
{
    if (!engine)
        return;
    __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    shi_engine_down(engine);
    engine = NULL;
    shared = NULL; /* the device frees it */
}

void *shi_proxy_ctx(void)
{
    return &shared->ctx;
}

uint64_t shi_proxy_fault(void)
{
    return __atomic_exchange_n(&shared->fault, 0, __ATOMIC_ACQ_REL);
}

const char *shi_proxy_fault_words(uint64_t fault)
{
    static char text[128];
    static const char *const words[] = {
        [SHI_FAULT_PE] = "PE %ld does not exist",
        [SHI_FAULT_ADDRESS] = "address %#lx is not in the device symmetric heap",
        [SHI_FAULT_OPERATOR] = "%ld is no comparison or signal operator",
        [SHI_FAULT_CONTEXT] = "context %#lx is none of this library's",
        [SHI_FAULT_TEAM] = "team %#lx is none of this PE's",
    };
    unsigned kind = fault & 0xff;
    if (!fault)
        return NULL;
    snprintf(text, sizeof text, kind < sizeof words / sizeof *words && words[kind] ? words[kind] : "fault %#lx",
             (long)(fault >> 8));
    return text;
}
