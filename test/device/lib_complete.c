/*
 * lib_complete.c - quiet and fence for some PEs, and flush, of the device library as C11: PE 0 stores to PE 1, and sends requests to PE 2,
 * which a transport carries out late and in any order, or not while they are held.
 */
#define SHMEMG_HOST_ITEMS
#include "world.h"

enum { NEAR = 1, FAR, BYTES = 512, PE_ROUNDS = 300 };

/* PE 2 is on another node. */
static void up(void)
{
    world_up(3, 1, 4, 1);
    for (int i = 0; i < 3; i++) {
        world[i].peers[FAR] = 0;
        world[i].ctx.near_n = world[i].even.near_n = 2;
    }
    world[0].even.near_n = 1;
    on_pe(0);
    mine = world[0].heap;
}

static void hold(int on)
{
    __atomic_store_n(&world_held, on, __ATOMIC_RELEASE);
}

static char source[BYTES];

static void put_far(int with)
{
    memset(source, with, BYTES);
    shmemg_putmem_nbi(AT(char, 1024), source, BYTES, FAR);
}
static int arrived(int what)
{
    const char *p = there(FAR, AT(char, 1024));
    for (int i = 0; i < BYTES; i++)
        if (p[i] != what)
            return 0;
    return 1;
}

static void *let_go(void *arg)
{
    for (int i = 0; i < 300; i++)
        sched_yield();
    hold(0);
    return arg;
}

/* A call that is to wait for the held request; after it the request is not held any more. */
#define WAITS(...)                                                                                                   \
    do {                                                                                                             \
        pthread_t t_;                                                                                                \
        hold(1);                                                                                                     \
        put_far(++round);                                                                                            \
        pthread_create(&t_, NULL, let_go, NULL);                                                                     \
        __VA_ARGS__;                                                                                                 \
        CHECKF(!__atomic_load_n(&world_held, __ATOMIC_ACQUIRE) && arrived(round), "returns too early: " #__VA_ARGS__); \
        pthread_join(t_, NULL);                                                                                      \
    } while (0)

#define EACH(S)                                                                                                      \
    WAITS(shmemg_pe_quiet##S(&far, 1));                                                                              \
    WAITS(shmemg_ctx_pe_quiet##S(ctx, both, 2));                                                                     \
    WAITS(shmemg_ctx_pe_quiet##S(&world[0].even, &member, 1));                                                       \
    WAITS(shmemxg_flush##S());                                                                                       \
    WAITS(shmemxg_ctx_flush##S(ctx));                                                                                \
    hold(1);                                                                                                         \
    put_far(++round);                                                                                                \
    shmemg_long_p(AT(long, 0), round, NEAR);                                                                         \
    shmemg_pe_quiet##S(&near, 1);                                                                                    \
    shmemg_ctx_pe_quiet##S(ctx, &near, 1);                                                                           \
    shmemg_pe_quiet##S(both, 0);                                                                                     \
    shmemxg_pe_fence##S(both, 2);                                                                                    \
    CHECK(*(long *)there(NEAR, AT(long, 0)) == round && !arrived(round));                                            \
    epoch = world[0].ring.epoch;                                                                                     \
    shmemxg_pe_fence##S(&near, 1);                                                                                   \
    shmemxg_ctx_pe_fence##S(ctx, &near, 1);                                                                          \
    CHECK(world[0].ring.epoch == epoch);                                                                             \
    shmemxg_pe_fence##S(&far, 1);                                                                                    \
    shmemxg_ctx_pe_fence##S(ctx, &far, 1);                                                                           \
    CHECK(world[0].ring.epoch == epoch + 2);                                                                         \
    hold(0);                                                                                                         \
    shmemg_quiet();                                                                                                  \
    CHECK(arrived(round));

/* Catches: a quiet or flush that does not wait for a request, one for a near PE that waits for another PE's, or starts an epoch. */
static void waits_alone(void)
{
    shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;
    const int near = NEAR, far = FAR, both[2] = {NEAR, FAR}, member = 1;
    uint64_t epoch;
    int round = 0;
    EACH()
    EACH(_htg)
    EACH(_tg)
}
static void test_waits(void)
{
    up();
    run_lanes(1, 1, 1, waits_alone);
    world_down();
}

/* Catches: a near PE whose updates, or whose memory beside the heap, are reached by requests, taken for one without requests. */
static void test_near(void)
{
    const int near = NEAR;
    int round = 0;
    uint64_t none[WORLD_MAX] = {0};
    up();
    shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;
    ctx->ring_updates = 1;
    WAITS(shmemg_pe_quiet(&near, 1));
    ctx->ring_updates = 0;
    world[0].added[3] = (struct shi_dev_added){.lo = 64, .end = 128, .peer = (uint64_t)none};
    WAITS(shmemg_pe_quiet(&near, 1));
    uint64_t epoch = world[0].ring.epoch;
    hold(1);
    put_far(++round);
    shmemxg_pe_fence(&near, 1);
    CHECK(world[0].ring.epoch == epoch + 1);
    hold(0);
    shmemg_quiet();
    none[NEAR] = 4096;
    hold(1);
    put_far(++round);
    shmemg_pe_quiet(&near, 1); /* all its memory is mapped: does not wait */
    CHECK(!arrived(round));
    hold(0);
    world_down();
}

/* Catches: a pe_fence without effect on requests, a flush before the source was read, or before what a get fetches is there. */
static void test_order(void)
{
    const int far = FAR;
    up();
    for (int i = 1; i <= PE_ROUNDS; i++) {
        long got[64];
        put_far(i);
        shmemxg_flush();
        put_far(i + 1); /* changes the source */
        shmemxg_pe_fence(&far, 1);
        shmemg_long_p(AT(long, 0), i, FAR);
        shmemxg_pe_fence(&far, 1);
        shmemg_long_p(AT(long, 0), i + 1, FAR);
        shmemg_pe_quiet(&far, 1);
        CHECK(*(long *)there(FAR, AT(long, 0)) == i + 1 && arrived((char)(i + 1)));
        for (int k = 0; k < 64; k++)
            ((long *)there(FAR, AT(long, 4096)))[k] = i + k;
        shmemg_long_get_nbi(got, AT(long, 4096), 64, FAR);
        shmemxg_flush();
        CHECK(got[0] == i && got[63] == i + 63);
    }
    world_down();
}

/* Catches: a PE that is none, or one of the world that is none of the context's team. */
static void test_wrong(void)
{
    const int wrong[2] = {1, 3}, member[1] = {2};
    up();
    uint64_t epoch = world[0].ring.epoch;
    hold(1);
    put_far(1);
    shmemg_pe_quiet(wrong, 2);
    CHECK(world[0].fault == (3 << 8 | SHI_FAULT_PE));
    world[0].fault = 0;
    shmemxg_ctx_pe_fence_tg(&world[0].even, member, 1);
    CHECK(world[0].fault == (2 << 8 | SHI_FAULT_PE) && world[0].ring.epoch == epoch);
    world[0].fault = 0;
    world[0].ctx.version++;
    shmemxg_ctx_flush(&world[0].ctx);
    CHECK(shmemg_fault_ == (((uint64_t)&world[0].ctx) << 8 | SHI_FAULT_CONTEXT));
    world[0].ctx.version--;
    hold(0);
    shmemg_quiet();
    world_down();
}

int main(void)
{
    RUN(test_waits, "what each call waits for");
    RUN(test_near, "near PEs with requests");
    RUN(test_order, "order of operations on a PE, sources and results");
    RUN(test_wrong, "a PE that is none, a context that is none");
    return tap_end();
}
