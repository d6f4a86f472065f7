/*
 * cost.c - what a kernel's call does to memory: loads, stores, atomic updates and fences, by the memory that they reach. On a GPU they are
 * the call's time. The counts are those of the device library as C11; plain accesses (contexts, tables, data) are not among them.
 *
 * cost -v prints each call's time as an H200's primitives predict it. They were measured on 2026-11-27, as the time of one more operation of
 * one thread: load of host memory 1,110 ns, of own memory from L2 110, system fence or release 500, update 290, store 5 (16 bytes to host memory, too); a
 * call's loop and plain loads 120.
 */
#include <stddef.h>
#include <stdint.h>

enum access { load, store, update, fence };
enum order { relaxed, acquire, release, acq_rel, seq_cst };
static void note(enum access a, enum order o, const void *p);
#define SHI_COUNT_(access, order, p) note(access, order, p)
#define SHMEMG_HOST_ITEMS
#include "world.h"

/* own: device memory; host: the line, slots and results of a ring. A release is a fence, too. */
struct cost {
    int own_loads, host_loads, stores, host_stores, updates, fences;
};
static _Thread_local struct cost *counted;

static int is_in(const void *p, const void *from, size_t bytes)
{
    return (uintptr_t)p - (uintptr_t)from < bytes;
}

static void note(enum access a, enum order o, const void *p)
{
    if (!counted)
        return;
    int host = 0;
    for (int i = 0; p && i < world_n; i++) {
        size_t n = (size_t)1 << world[i].ring.log_n;
        host |= is_in(p, &world[i].line, sizeof world[i].line) || is_in(p, (void *)world[i].ring.slots, n * 64) ||
                is_in(p, (void *)world[i].ring.results, n * sizeof(struct shi_ring_result));
    }
    counted->fences += a == fence || (o == release && a != load);
    counted->own_loads += a == load && !host;
    counted->host_loads += a == load && host;
    counted->stores += a == store && !host;
    counted->host_stores += a == store && host;
    counted->updates += a == update;
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

static uint64_t *word, *sig, from[8];

static void nothing(void) {}
static void p(void) { shmemg_uint64_p(word, 1, 1); }
static void g(void) { (void)shmemg_uint64_g(word, 1); }
static void put(void) { shmemg_uint64_put(word, from, 1, 1); }
static void put_signal(void) { shmemg_uint64_put_signal(word, from, 1, sig, 1, SHMEM_SIGNAL_SET, 1); }
static void put_signal_nbi(void) { shmemg_uint64_put_signal_nbi(word, from, 1, sig, 1, SHMEM_SIGNAL_SET, 1); }
static void fetch_add(void) { (void)shmemg_uint64_atomic_fetch_add(word, 1, 1); }
static void add(void) { shmemg_uint64_atomic_add(word, 1, 1); }
static void fence_call(void) { shmemg_fence(); }
static void quiet(void) { shmemg_quiet(); }
static void p_fence(void) { p(), shmemg_fence(); }
static void p_quiet(void) { p(), shmemg_quiet(); }

/* before: what is outstanding; its requests have completed, but no call has looked. h200: us of the base, 5bdcd21, where it was measured. */
struct row {
    const char *name;
    void (*call)(void), (*before)(void);
    struct cost at_most;
    double h200;
};

static const struct row direct[] = {
    {"p", p, nothing, {0, 0, 1, 0, 0, 0}, 0.326},
    {"g", g, nothing, {1, 0, 0, 0, 0, 0}, 0.461},
    {"put 8 B", put, nothing, {0, 0, 0, 0, 0, 0}, 0.895},
    {"put_signal 8 B", put_signal, nothing, {0, 0, 1, 0, 0, 1}, 1.41},
    {"fetch_add", fetch_add, nothing, {0, 0, 0, 0, 1, 0}, 0.600},
    {"add", add, nothing, {0, 0, 0, 0, 1, 0}, 0.373},
    {"fence", fence_call, nothing, {1, 0, 0, 0, 0, 1}, 1.11},
    {"quiet", quiet, nothing, {1, 0, 0, 0, 0, 1}, 2.93},
    {"p + quiet", p_quiet, nothing, {1, 0, 1, 0, 0, 1}, 3.41},
}, ring[] = {
    {"p", p, nothing, {2, 0, 0, 4, 1, 0}, 3.15},
    {"put 8 B", put, nothing, {2, 0, 0, 4, 1, 0}, 3.08},
    {"put_signal_nbi 8 B", put_signal_nbi, nothing, {2, 0, 0, 4, 1, 0}, 11.9},
    {"fence", fence_call, nothing, {1, 0, 0, 0, 0, 1}, 1.10},
    {"fence after a p", fence_call, p, {1, 0, 0, 0, 1, 1}, 0},
    {"p, fence", p_fence, nothing, {3, 0, 0, 4, 2, 1}, 0},
    {"quiet", quiet, nothing, {1, 0, 0, 0, 0, 1}, 2.78},
    {"quiet after a p", quiet, p, {1, 1, 1, 0, 0, 1}, 0},
};

static void measure(const char *way, const struct row *r, int is_direct, int tells)
{
    struct cost is = {0}, most = r->at_most;
    world_up(2, is_direct, 4, 0);
    on_pe(0);
    mine = world[0].heap;
    word = AT(uint64_t, 0), sig = AT(uint64_t, 64);
    r->before();
    while (__atomic_load_n(&world[0].line.done, __ATOMIC_ACQUIRE) != world[0].ring.head)
        sched_yield();
    counted = &is;
    r->call();
    counted = NULL;
    shmemg_quiet();
    double us = 0.12 + is.own_loads * 0.11 + is.host_loads * 1.11 + is.stores * 0.005 + is.host_stores * 0.005 + is.updates * 0.29 + is.fences * 0.5;
    if (tells)
        printf("# %-6s %-20s %d loads, %d of host memory, %d stores, %d to it, %d updates, %d fences: %.2f us; measured before: %.2f\n", way, r->name,
               is.own_loads, is.host_loads, is.stores, is.host_stores, is.updates, is.fences, us, r->h200);
    CHECKF(is.own_loads <= most.own_loads && is.host_loads <= most.host_loads && is.stores <= most.stores && is.host_stores <= most.host_stores &&
               is.updates <= most.updates && is.fences <= most.fences,
           "%s, %s: %d loads, %d of host memory, %d stores, %d to it, %d updates, %d fences", way, r->name, is.own_loads, is.host_loads, is.stores,
           is.host_stores, is.updates, is.fences);
    world_down();
}

static int tells;

/* Catches: a load of host memory, a fence or an update more than a call needs. */
static void test_direct(void)
{
    for (size_t i = 0; i < sizeof direct / sizeof *direct; i++)
        measure("direct", &direct[i], 1, tells);
}

static void test_ring(void)
{
    for (size_t i = 0; i < sizeof ring / sizeof *ring; i++)
        measure("ring", &ring[i], 0, tells);
}

int main(int argc, char **argv)
{
    tells = argc > 1 && argv[1][0] == '-';
    RUN(test_direct, "calls by loads and stores");
    RUN(test_ring, "calls by the ring");
    return tap_end();
}
