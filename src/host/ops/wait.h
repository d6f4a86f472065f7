/*
 * wait.h - how to wait: poll briefly, then yield the core, then sleep; notice an abort on the way.
 *
 * Writers of the awaited words are plain stores of other PEs, which wake nobody, so the sleep is timed. A waiter costs
 * a core only for the first milliseconds.
 */
#ifndef SHI_WAIT_H
#define SHI_WAIT_H

#include <stdint.h>

#include "host/util/base.h"

struct shi_wait {
    unsigned polls;    /* since the last look at the network */
    unsigned looks;    /* at the network, in vain */
    uint32_t sleep_us; /* 0 while yielding */
    uint64_t since_ns; /* first yield, 0 before */
};

#define SHI_WAIT_INIT ((struct shi_wait){0, 0, 0, 0})

extern unsigned shi_wait_polls; /* set once at init */

/* Set shi_wait_polls from SHMEM_SPIN, from whether PEs outnumber cores, and from whether a network is in use, which wait
 * loops then look at every few polls. */
void shi_wait_set(long configured, int crowded, int network);

/* Make progress; without any, yield or sleep once. Leaves the process when the job was aborted. Wait loops for what
 * only progress brings call it directly. */
void shi_wait_slow(struct shi_wait *w);

/* One step of a wait loop whose condition was found false. */
static inline void shi_wait_step(struct shi_wait *w)
{
    if (shi_likely(w->polls < shi_wait_polls)) {
        w->polls++;
        shi_relax();
    } else {
        shi_wait_slow(w);
    }
}

/* Wait until *word >= value, by acquire loads. */
static inline void shi_wait_ge(const uint64_t *word, uint64_t value)
{
    struct shi_wait w = SHI_WAIT_INIT;
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) < value)
        shi_wait_step(&w);
}

#endif
