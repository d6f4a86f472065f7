/*
 * lock.c - distributed locks: an MCS queue inside the symmetric long itself.
 *
 * One PE is the lock's home; its upper half holds the last PE in the queue. Every PE's lower half is its place in the
 * queue: who comes next, and whether it still waits. A PE polls its own memory only.
 *
 *   word                written by                               read by     order
 *   tail (home's high)  PEs, swap and compare-swap               PEs         R1 -> A1 a free lock's last section -> ours
 *   next (own low)      the PE that queued behind us, add        owner       R2 -> A2 none needed beyond the number
 *   waits (own low)     owner, before it queues; predecessor     owner       R3 -> A3 predecessor's section -> ours
 *
 * A clear completes the section's operations (quiet) before it passes the lock on.
 */
#include "host/ops/lock.h"

#include "host/ops/amo.h"
#include "host/ops/wait.h"
#include "host/util/log.h"

static const uint32_t waits = 1u << 31; /* the other bits: next PE + 1, or 0 */

struct halves {
    uint32_t place, tail;
};
_Static_assert(sizeof(struct halves) == sizeof(long), "a lock is a long");

static struct halves *lock_of(const char *routine, long *lock, int pe)
{
    return shi_amo_at(routine, SHI_CTX_DEFAULT, "lock", lock, sizeof *lock, pe);
}

/* Locks spread over the PEs by their offset, which is the same everywhere; addresses need not be. */
static struct halves *home_of(const char *routine, long *lock)
{
    uintptr_t a = (uintptr_t)lock, off = a - shi_world.heap_lo;
    if (off >= shi_world.heap_bytes)
        off = a - shi_world.data_lo;
    return lock_of(routine, lock, (int)(off / sizeof *lock % (unsigned)shi_world.n_pes));
}

void shi_lock_set(const char *routine, long *lock)
{
    struct halves *mine = lock_of(routine, lock, shi_world.pe), *home = home_of(routine, lock);
    uint32_t me = (uint32_t)shi_world.pe + 1;
    __atomic_store_n(&mine->place, waits, __ATOMIC_RELAXED);
    uint32_t before = __atomic_exchange_n(&home->tail, me, __ATOMIC_ACQ_REL); /* R1, A1 */
    if (before == me)
        shi_die(routine, "lock = %p is held by this PE already", (void *)lock);
    if (before) {
        __atomic_fetch_add(&lock_of(routine, lock, (int)before - 1)->place, me, __ATOMIC_ACQ_REL); /* R2 */
        struct shi_wait w = SHI_WAIT_INIT;
        while (__atomic_load_n(&mine->place, __ATOMIC_ACQUIRE) & waits) /* A3 */
            shi_wait_step(&w);
    } else {
        __atomic_fetch_and(&mine->place, ~waits, __ATOMIC_ACQ_REL);
    }
}

int shi_lock_test(const char *routine, long *lock)
{
    struct halves *mine = lock_of(routine, lock, shi_world.pe), *home = home_of(routine, lock);
    uint32_t none = 0;
    if (__atomic_load_n(&home->tail, __ATOMIC_RELAXED))
        return 1;
    __atomic_store_n(&mine->place, 0, __ATOMIC_RELAXED);
    return !__atomic_compare_exchange_n(&home->tail, &none, (uint32_t)shi_world.pe + 1, 0, __ATOMIC_ACQ_REL, /* A1 */
                                        __ATOMIC_RELAXED);
}

void shi_lock_clear(const char *routine, long *lock)
{
    struct halves *mine = lock_of(routine, lock, shi_world.pe), *home = home_of(routine, lock);
    uint32_t me = (uint32_t)shi_world.pe + 1, last = me, next;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_compare_exchange_n(&home->tail, &last, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) /* R1 */
        return;
    if (last == 0)
        shi_die(routine, "lock = %p is not held", (void *)lock);
    struct shi_wait w = SHI_WAIT_INIT; /* somebody swapped the tail and is about to say who */
    while ((next = __atomic_load_n(&mine->place, __ATOMIC_ACQUIRE)) == 0) /* A2 */
        shi_wait_step(&w);
    __atomic_store_n(&mine->place, 0, __ATOMIC_RELAXED);
    __atomic_fetch_and(&lock_of(routine, lock, (int)next - 1)->place, ~waits, __ATOMIC_ACQ_REL); /* R3 */
}
