/*
 * spin.h - a lock of one byte for critical sections of a few dozen instructions; 0 is unlocked.
 *
 *   word   written by   read by   order
 *   lock   all          all       R1 -> A1  the holder's writes are visible to the next holder
 *
 * The holder may be preempted, so waiters yield their core after 100 polls.
 */
#ifndef SHI_SPIN_H
#define SHI_SPIN_H

#include <sched.h>
#include <stdint.h>

#include "host/util/base.h"

/* 1 when the lock was taken, 0 when another thread holds it. */
static inline int shi_spin_try(uint8_t *lock)
{
    return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); /* A1 */
}

static inline void shi_spin_lock(uint8_t *lock)
{
    for (unsigned polls = 0; shi_unlikely(!shi_spin_try(lock));)
        while (__atomic_load_n(lock, __ATOMIC_RELAXED)) {
            if (++polls < 100)
                shi_relax();
            else
                sched_yield();
        }
}

static inline void shi_spin_unlock(uint8_t *lock)
{
    __atomic_store_n(lock, 0, __ATOMIC_RELEASE); /* R1 */
}

#endif
