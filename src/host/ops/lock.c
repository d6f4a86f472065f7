/*
 * lock.c - distributed locks: an MCS queue inside the symmetric long itself.
 *
 * One PE is the lock's home; its upper half holds the last PE in the queue. Every PE's lower half is its queue node: the
 * next PE, whether this PE is in the queue, and whether it still waits. A PE polls its own memory only.
 *
 *   word                written by                               read by     order
 *   tail (home's high)  PEs, swap and compare-swap               PEs         R1 -> A1 a free lock's last section -> ours
 *   next (own low)      the PE that queued behind us, add        owner       R2 -> A2 none needed beyond the number
 *   waits (own low)     owner, before it queues; predecessor     owner       R3 -> A3 predecessor's section -> ours
 *   queued (own low)    owner                                    owner       none
 *
 * A clear completes the section's operations (quiet) before it passes the lock on.
 *
 * A PE polls a lock of its node for SHI_LOCK_POLLS_NS before it queues. Until then the PE that has cleared the lock may take it again,
 * which saves a switch of processes where PEs share cores; no PE can tell such a poll from a call that comes later.
 *
 * With SHMEM_FAULTS=continue PEs do not queue: they poll until the lock is free, or the PE that holds it has failed. If its home has failed, and
 * not all PEs share its memory, no PE gets the lock any more: PEs learn of that at different times, so another home could be a second lock.
 */
#include "host/ops/lock.h"

#include "host/ops/amo.h"
#include "host/ops/remote.h"
#include "host/ops/span.h"
#include "host/ops/wait.h"
#include "host/policy/limits.h"
#include "host/util/log.h"
#include "host/util/tsan.h"

static const uint32_t waits = 1u << 31, queued = 1u << 30; /* the other bits: next PE + 1, or 0 */

struct halves {
    uint32_t place, tail;
};
_Static_assert(sizeof(struct halves) == sizeof(long), "a lock is a long");

/* One update of a half of PE pe's copy; the old value. */
static uint32_t update(const char *routine, long *lock, int pe, int tail, int op, uint32_t value, uint32_t cond)
{
    struct halves *h = (struct halves *)lock;
    const struct shi_amo_call call = {routine, "lock", op, value, cond};
    return (uint32_t)shi_amo_fetch(SHI_CTX_DEFAULT, tail ? &h->tail : &h->place, sizeof(uint32_t), pe, &call);
}

static struct halves *mine_of(const char *routine, long *lock)
{
    return shi_at(routine, SHI_CTX_DEFAULT, "lock", lock, sizeof *lock, shi_world.pe);
}

/* Locks spread over the PEs that have them by their offset, which is the same everywhere; addresses need not be. */
static int home_of(long *lock)
{
    uintptr_t a = (uintptr_t)lock;
    uint64_t off = a - shi_world.heap_lo;
    int outside = off >= shi_world.heap_bytes, i = outside && shi_added_any() ? shi_added_find(lock, sizeof *lock, &off) : -1;
    if (outside && i < 0)
        off = a - shi_world.dev_lo < shi_world.dev_bytes ? a - shi_world.dev_lo : a - shi_world.data_lo;
    int home = (int)(off / sizeof *lock % (unsigned)shi_world.n_pes);
    while (i >= 0 && !shi_added_has(i, home))
        home = (home + 1) % shi_world.n_pes;
    return home;
}

const struct shi_lock_faults *shi_lock_faults;

/* This PE in a tail. */
static uint32_t holder(void)
{
    return shi_unlikely(shi_lock_faults != NULL) ? shi_lock_faults->holder() : (uint32_t)shi_world.pe + 1;
}

/* Has the lock's home failed, whose memory not all PEs can access? An update of it may have done nothing. */
static int is_gone(int home)
{
    if (shi_likely(!shi_lock_faults) || !shi_world.lane || !shi_lock_faults->has_failed(home))
        return 0;
    shi_lock_faults->gone();
    return 1;
}

/* Take the lock if its tail is this one. 1, or 0 and what it is now. */
static int take_from(const char *routine, long *lock, struct halves *mine, uint32_t *tail)
{
    uint32_t was = *tail;
    __atomic_store_n(&mine->place, queued, __ATOMIC_RELAXED);
    *tail = update(routine, lock, home_of(lock), 1, SHI_AMO_CSWAP, holder(), was); /* A1 */
    if (*tail == was && !is_gone(home_of(lock)))
        return 1;
    __atomic_fetch_and(&mine->place, ~queued, __ATOMIC_RELAXED);
    return 0;
}

static const uint32_t gone = UINT32_MAX;

/* Take the lock if it is free, or its PE has failed. The tail that was found; 0: taken; or `gone`. */
static uint32_t take(const char *routine, long *lock, struct halves *mine)
{
    uint32_t tail;
    do {
        tail = 0;
        if (shi_unlikely(is_gone(home_of(lock))))
            return gone;
        if (take_from(routine, lock, mine, &tail))
            return 0;
        if (shi_unlikely(!tail))
            return gone;
        if (!shi_lock_faults || !shi_lock_faults->has_holder_failed(tail))
            break;
        if (take_from(routine, lock, mine, &tail)) {
            shi_lock_faults->inherited();
            return 0;
        }
    } while (!tail); /* another PE has taken it before, and is done with it */
    return tail;
}

/* Poll a lock until it is taken, or gone. */
static void take_unqueued(const char *routine, long *lock, struct halves *mine)
{
    struct shi_wait w = SHI_WAIT_INIT;
    for (uint32_t before; (before = take(routine, lock, mine)) && before != gone;) {
        if (before == holder())
            shi_die(routine, "lock = %p is held by this PE already", (void *)lock);
        shi_wait_slow(&w);
        SHI_WAIT_REGISTER(&w, .routine = routine, .kind = SHI_FOR_LOCK, .addr = lock, .of = (int)(before & 0xffffff) - 1);
    }
    shi_wait_end(&w);
}

/* Poll a lock of this node until it is taken (1), or until it is time to queue (0). Only PEs that queue get a ring, so this wait is not
 * registered. */
static int take_soon(const char *routine, long *lock, struct halves *mine)
{
    int home = home_of(lock);
    const uint32_t *tail = shi_reach(&shi_world.peer[home], &((struct halves *)lock)->tail, sizeof *tail);
    struct shi_wait w = SHI_WAIT_INIT;
    for (uint64_t since_ns = 0; tail; shi_wait_step(&w)) {
        uint32_t before = since_ns ? __atomic_load_n(tail, __ATOMIC_RELAXED) : 0;
        if (!before)
            before = take(routine, lock, mine);
        if (!before)
            return 1;
        if (before == (uint32_t)shi_world.pe + 1)
            return 0;
        uint64_t now = shi_now_ns();
        since_ns = since_ns ? since_ns : now;
        if (now - since_ns > SHI_LOCK_POLLS_NS)
            return 0;
    }
    return 0;
}

/* A PE that takes a free lock of its own again and again makes no call that polls: PEs of other nodes could not queue. */
static void poll_seldom(void)
{
    static unsigned calls;
    unsigned n = __atomic_load_n(&calls, __ATOMIC_RELAXED) + 1;
    __atomic_store_n(&calls, n, __ATOMIC_RELAXED);
    if (n % SHI_LOCK_CALLS_A_POLL == 0)
        shi_progress();
}

void shi_lock_set(const char *routine, long *lock)
{
    shi_wait_allow(routine);
    poll_seldom();
    SHI_SPAN(span, SHI_LOCKS, routine, NULL, SHI_TO_NONE, 0);
    struct halves *mine = mine_of(routine, lock);
    uint32_t me = (uint32_t)shi_world.pe + 1;
    if (shi_unlikely(shi_lock_faults != NULL)) {
        take_unqueued(routine, lock, mine);
        return;
    }
    if (take_soon(routine, lock, mine))
        return;
    __atomic_store_n(&mine->place, waits | queued, __ATOMIC_RELAXED);
    uint32_t before = update(routine, lock, home_of(lock), 1, SHI_AMO_SWAP, me, 0); /* R1, A1 */
    if (before == me)
        shi_die(routine, "lock = %p is held by this PE already", (void *)lock);
    if (before) {
        update(routine, lock, (int)before - 1, 0, SHI_AMO_ADD, me, 0); /* R2 */
        SHI_WAIT_UNTIL(!(__atomic_load_n(&mine->place, __ATOMIC_ACQUIRE) & waits), /* A3 */
                       .routine = routine, .kind = SHI_FOR_LOCK, .addr = lock, .of = (int)before - 1);
    } else {
        __atomic_fetch_and(&mine->place, ~waits, __ATOMIC_ACQ_REL);
    }
}

int shi_lock_test(const char *routine, long *lock)
{
    struct halves *mine = mine_of(routine, lock);
    int free = shi_lock_faults || !update(routine, lock, home_of(lock), 1, SHI_AMO_FETCH, 0, 0);
    int held = !free || take(routine, lock, mine);
    shi_tsan_acquire();
    return held;
}

void shi_lock_clear(const char *routine, long *lock)
{
    shi_tsan_release();
    struct halves *mine = mine_of(routine, lock);
    uint32_t me = holder(), next;
    uint32_t place = __atomic_fetch_and(&mine->place, ~queued, __ATOMIC_RELAXED);
    if ((place & (queued | waits)) != queued && is_gone(home_of(lock)))
        return;
    if ((place & (queued | waits)) != queued)
        shi_die(routine, "lock = %p is not held by this PE", (void *)lock);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    shi_remote_quiet(shi_world.lane);
    uint32_t last = update(routine, lock, home_of(lock), 1, SHI_AMO_CSWAP, 0, me); /* R1 */
    if (last == me || is_gone(home_of(lock)))
        return;
    if (last == 0)
        shi_die(routine, "lock = %p was overwritten while it was held", (void *)lock);
    /* a PE has swapped the tail and is about to store its number in our word */
    SHI_WAIT_UNTIL((next = __atomic_load_n(&mine->place, __ATOMIC_ACQUIRE)) != 0, /* A2 */
                   .routine = routine, .kind = SHI_FOR_LOCK, .addr = lock, .of = (int)last - 1);
    __atomic_store_n(&mine->place, 0, __ATOMIC_RELAXED);
    update(routine, lock, (int)next - 1, 0, SHI_AMO_AND, ~waits, 0); /* R3 */
}
