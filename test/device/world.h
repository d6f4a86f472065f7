/*
 * world.h - PEs in one process for tests of the device library: each has a heap, a ring and an engine. One proxy thread
 * serves all, and a transport carries requests out on the other heap, at once or later and in any order.
 *
 * Threads of the test act as work-items; on_pe makes the calling thread a work-item of a PE.
 */
#ifndef WORLD_H
#define WORLD_H

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "../tap.h"
#include "proxy/engine.h"
#include "shmemg.h"

enum { WORLD_MAX = 5, STAGE_BYTES = 1 << 10, HEAP_BYTES = 1 << 16, FLAGS_AT = HEAP_BYTES - 2 * SHI_DEV_TEAM_WORDS * 8, LATE = 8, OPS = 64 };

struct pe {
    _Alignas(64) char heap[HEAP_BYTES];
    _Alignas(64) char stage[2][STAGE_BYTES]; /* of team and some */
    struct shi_ring ring;
    _Alignas(64) struct shi_ring_line line;
    struct shi_dev_ctx ctx, even;   /* all PEs; the even ones, on the same ring */
    struct shi_dev_team team, some; /* all PEs; the even ones */
    int list[WORLD_MAX];            /* the even ones, if given as a list */
    uint64_t peers[WORLD_MAX], fault;
    struct shi_dev_added added[SHI_DEV_ADDED]; /* none */
    struct shi_engine *engine;
    struct shi_engine_op *late[LATE]; /* in progress */
    int asked[SHI_OP_GET_INLINE + 1]; /* requests by op */
};

static struct pe *world;
static int world_n, world_late, world_bad, world_lists; /* lists: the even PEs as a list, not start and stride */
static int world_held; /* no late request ends while it is 1 */
static unsigned world_random = 9;
static int world_stop;
static pthread_t world_proxy;

static uint64_t world_amo(void *p, const struct shi_request_view *v)
{
    if (v->amo == SHI_AMO_FADD)
        return shi_amo_fadd_direct((shi_u64)p, v->bytes, v->value);
    return shi_amo_direct(p, v->amo, v->bytes, v->value, v->cond);
}

/* Carry out a request of PE `from`. Returns 0, or -EAGAIN while the result slot holds a result. */
static int perform(struct pe *from, const struct shi_engine_op *op)
{
    struct shi_request_view v;
    if (shi_request_view(&op->request, &v) || v.target + v.bytes > HEAP_BYTES) {
        world_bad++;
        return 0;
    }
    char *target = world[op->request.pe].heap + v.target;
    uint64_t mask = (1ull << from->ring.log_n) - 1;
    struct shi_ring_result *result = (struct shi_ring_result *)from->ring.results + (op->ticket & mask);
    int by_slot = op->request.op == SHI_OP_GET_INLINE || v.result == SHI_RESULT_SLOT;
    if (by_slot && shi_load_acquire(&result->tag)) /* A5 */
        return -EAGAIN;
    if (op->request.op == SHI_OP_GET) {
        memcpy((void *)v.local, target, v.bytes);
    } else if (op->request.op == SHI_OP_GET_INLINE) {
        result->value = shi_gather(target, v.bytes);
    } else if (op->request.op == SHI_OP_AMO) {
        uint64_t before = world_amo(target, &v);
        if (v.result == SHI_RESULT_ADDRESS)
            memcpy((void *)v.local, &before, v.bytes);
        if (by_slot)
            result->value = before;
    } else {
        memcpy(target, v.payload ? v.payload : (void *)v.local, v.bytes);
        uint64_t *signal = (uint64_t *)(world[op->request.pe].heap + v.signal);
        if (v.sig_op == SHMEM_SIGNAL_SET)
            shi_store_release(signal, v.signal_value);
        if (v.sig_op == SHMEM_SIGNAL_ADD)
            shi_add_release(signal, v.signal_value);
    }
    if (by_slot)
        shi_store_release(&result->tag, op->ticket + 1); /* R4 */
    __atomic_fetch_add(&from->asked[op->request.op], 1, __ATOMIC_RELAXED);
    return 0;
}

static int issue_now_or_late(void *arg, struct shi_engine_op *op)
{
    struct pe *from = arg;
    for (int i = 0; world_late && i < LATE; i++)
        if (!from->late[i]) {
            from->late[i] = op;
            return -EINPROGRESS;
        }
    return world_late ? -EAGAIN : perform(from, op);
}

static void end_some(void *arg)
{
    struct pe *from = arg;
    struct shi_engine_op *op = from->late[tap_random(&world_random) % LATE];
    if (!op || __atomic_load_n(&world_held, __ATOMIC_ACQUIRE) || tap_random(&world_random) % 2 || perform(from, op))
        return;
    for (int i = 0; i < LATE; i++)
        if (from->late[i] == op)
            from->late[i] = NULL;
    shi_engine_complete(from->engine, op, 0);
}

static void *proxy(void *arg)
{
    (void)arg;
    while (!__atomic_load_n(&world_stop, __ATOMIC_ACQUIRE)) {
        int idle = 1;
        for (int i = 0; i < world_n; i++)
            idle &= shi_engine_poll(world[i].engine) == 0;
        if (idle)
            sched_yield();
    }
    return NULL;
}

static void ring_up(struct pe *pe, unsigned log_n)
{
    size_t n = (size_t)1 << log_n;
    pe->ring = (struct shi_ring){.slots = (uint64_t)aligned_alloc(64, n * 64), .line = (uint64_t)&pe->line,
                                 .results = (uint64_t)calloc(n, sizeof(struct shi_ring_result)), .log_n = log_n};
    for (size_t i = 0; i < n * SHI_RING_WORDS; i++)
        ((uint64_t *)pe->ring.slots)[i] = ~shi_ring_phase(0, log_n) & 1;
}

/* Set up n PEs that access each other directly, or through rings of 2^log_n slots whose requests end at once or
 * late. */
static void world_up(int n, int direct, unsigned log_n, int late)
{
    world = aligned_alloc(64, (size_t)n * sizeof *world);
    memset(world, 0, (size_t)n * sizeof *world);
    world_n = n;
    world_late = late;
    world_bad = world_stop = 0;
    for (int i = 0; i < n; i++) {
        struct pe *pe = &world[i];
        ring_up(pe, log_n);
        for (int k = 0; direct && k < n; k++)
            pe->peers[k] = (uint64_t)world[k].heap;
        pe->team = (struct shi_dev_team){.stride = 1, .n = n, .me = i, .flags = FLAGS_AT,
                                         .stage = (uint64_t)pe->stage[0], .stage_bytes = STAGE_BYTES};
        pe->some = (struct shi_dev_team){.stride = 2, .n = (n + 1) / 2, .me = i / 2,
                                         .flags = FLAGS_AT + SHI_DEV_TEAM_WORDS * 8,
                                         .stage = (uint64_t)pe->stage[1], .stage_bytes = STAGE_BYTES};
        pe->ctx = (struct shi_dev_ctx){.version = SHI_DEV_VERSION, .ring = (uint64_t)&pe->ring,
                                       .heap = (uint64_t)pe->heap, .heap_bytes = HEAP_BYTES,
                                       .peer_heap = (uint64_t)pe->peers, .added = (uint64_t)pe->added, .world = (uint64_t)&pe->team,
                                       .shared = (uint64_t)&pe->some, .me = i, .n_pes = n, .stride = 1,
                                       .fault = (uint64_t)&pe->fault};
        pe->even = pe->ctx;
        for (int k = 0; direct && k < n && k < SHI_DEV_NEAR; k++) {
            pe->ctx.near[pe->ctx.near_n++] = pe->peers[k];
            if (k % 2 == 0)
                pe->even.near[pe->even.near_n++] = pe->peers[k];
        }
        pe->even.me = i / 2;
        pe->even.n_pes = (n + 1) / 2;
        pe->even.stride = world_lists ? 0 : 2;
        pe->some.stride = pe->even.stride;
        pe->some.list = pe->even.list = (uint64_t)pe->list;
        for (int k = 0; k < pe->some.n; k++)
            pe->list[k] = 2 * k;
        const struct shi_engine_exec exec = {.issue = issue_now_or_late, .poll = end_some, .arg = pe};
        pe->engine = shi_engine_up(&pe->ring, &exec, n, OPS);
    }
    pthread_create(&world_proxy, NULL, proxy, NULL);
}

static void world_down(void)
{
    __atomic_store_n(&world_stop, 1, __ATOMIC_RELEASE);
    pthread_join(world_proxy, NULL);
    CHECKF(world_bad == 0, "%d invalid requests", world_bad);
    for (int i = 0; i < world_n; i++) {
        CHECKF(world[i].fault == 0, "PE %d complains: %#lx", i, (unsigned long)world[i].fault);
        shi_engine_down(world[i].engine);
        free((void *)world[i].ring.slots);
        free((void *)world[i].ring.results);
    }
    free(world);
}

static void on_pe(int pe)
{
    SHMEMG_DEFAULT_ = world[pe].ctx;
}

/* The same object on another PE. */
static void *there(int pe, const void *mine)
{
    return world[pe].heap + ((const char *)mine - (const char *)SHMEMG_DEFAULT_.heap);
}

static int asked(int pe, int op)
{
    return __atomic_load_n(&world[pe].asked[op], __ATOMIC_RELAXED);
}

/* Run a thread for each work-item of `n_pes` PEs: `lanes` in a work-group, in sub-groups of `width`. */
struct lane {
    pthread_t thread;
    struct shi_item item[3];
    int pe;
    void (*work)(void);
};
static _Thread_local int my_lane;

static void *lane(void *arg)
{
    struct lane *l = arg;
    on_pe(l->pe);
    memcpy(shi_item, l->item, sizeof shi_item);
    my_lane = (int)l->item[SHI_TG].rank;
    l->work();
    return NULL;
}

static inline void run_lanes(int n_pes, int lanes, int width, void (*work)(void))
{
    struct lane l[WORLD_MAX * 16];
    struct shi_group_state tg[WORLD_MAX] = {{0, 0}}, htg[WORLD_MAX * 16] = {{0, 0}};
    for (int i = 0; i < n_pes * lanes; i++) {
        int pe = i / lanes, k = i % lanes, sub = k / width;
        l[i] = (struct lane){.pe = pe, .work = work};
        l[i].item[SHI_THREAD] = (struct shi_item){0, 1, 0};
        l[i].item[SHI_HTG] = (struct shi_item){(shi_u32)(k % width), (shi_u32)width, &htg[pe * 16 + sub]};
        l[i].item[SHI_TG] = (struct shi_item){(shi_u32)k, (shi_u32)lanes, &tg[pe]};
        pthread_create(&l[i].thread, NULL, lane, &l[i]);
    }
    for (int i = 0; i < n_pes * lanes; i++)
        pthread_join(l[i].thread, NULL);
}

static char *mine; /* scratch of PE 0: objects at fixed places of its heap */
#define AT(T, place) ((T *)(mine + (place)))

static inline int all_asked(void)
{
    int n = 0;
    for (int op = 0; op <= SHI_OP_GET_INLINE; op++)
        n += asked(0, op);
    return n;
}

#endif
