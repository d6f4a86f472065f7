/*
 * balance.c - move a waiting PE to a core on which fewer PEs wait.
 *
 *   word        written by                  read by            order
 *   core        its PE, the thread of mine  PEs of the node    relaxed: a hint; an old value costs a needless move
 *   taken       threads of the PE           same               exchange, relaxed: one of them finds 0
 *   yields      the thread of mine          same               plain
 *   next_ns     same                        same               plain
 */
#include "host/ops/balance.h"

#include <sched.h>
#include <stdint.h>

#include "host/ops/state.h"

enum { CORES = 1024, YIELDS = 128, PAUSE_NS = 5000000 };

/* One thread of a PE moves: the one that waits first. */
static int is_mover(void)
{
    static int taken;
    static _Thread_local int mine; /* 1: this thread, -1: another one */
    if (mine == 0)
        mine = __atomic_exchange_n(&taken, 1, __ATOMIC_RELAXED) ? -1 : 1;
    return mine > 0;
}

/* Count the PEs that have waited on each core. 0: a later PE of this node has waited on this core, too. */
static int count(int here, unsigned short on[CORES])
{
    int me = shi_world.boot.local_index, last = me;
    __atomic_store_n(shi_shm_core(&shi_world.shm, me), (uint32_t)here + 1, __ATOMIC_RELAXED);
    for (int i = 0; i < shi_world.shm.n; i++) {
        uint32_t core = __atomic_load_n(shi_shm_core(&shi_world.shm, i), __ATOMIC_RELAXED);
        if (core == 0 || core > CORES)
            continue;
        on[core - 1]++;
        if (core == (uint32_t)here + 1)
            last = i;
    }
    return last == me;
}

static void move(int here, const unsigned short on[CORES])
{
    cpu_set_t may, there;
    int best = here;
    if (sched_getaffinity(0, sizeof may, &may))
        return;
    for (int core = 0; core < CORES; core++)
        if (CPU_ISSET(core, &may) && on[core] < on[best])
            best = core;
    if (on[here] < on[best] + 2)
        return;
    CPU_ZERO(&there);
    CPU_SET(best, &there);
    if (sched_setaffinity(0, sizeof there, &there))
        return;
    sched_setaffinity(0, sizeof may, &may);
    __atomic_store_n(shi_shm_core(&shi_world.shm, shi_world.boot.local_index), (uint32_t)best + 1, __ATOMIC_RELAXED);
}

static void weigh(int here)
{
    static uint64_t next_ns;
    unsigned short on[CORES] = {0};
    if (!count(here, on) || on[here] < 2 || shi_now_ns() < next_ns)
        return;
    next_ns = shi_now_ns() + PAUSE_NS;
    move(here, on);
}

void shi_balance(void)
{
    static unsigned yields;
    int here;
    if (is_mover() && ++yields % YIELDS == 0 && shi_world.shm.region && (here = sched_getcpu()) >= 0 && here < CORES)
        weigh(here);
}
