/*
 * wait.h - how to wait: poll briefly, then yield the core, then sleep; notice an abort on the way.
 *
 * Writers of the awaited words are plain stores of other PEs, which wake nobody, so the sleep is timed. A waiter costs
 * a core only for the first milliseconds.
 */
#ifndef SHI_WAIT_H
#define SHI_WAIT_H

#include <stdint.h>

#include "host/net/progress.h"
#include "host/util/base.h"

struct shi_wait {
    unsigned polls;    /* since the last look at the network */
    unsigned looks;    /* at the network, in vain */
    uint32_t sleep_us; /* 0 while yielding */
    uint64_t since_ns; /* first yield, 0 before */
};

#define SHI_WAIT_INIT ((struct shi_wait){0, 0, 0, 0})

extern unsigned shi_wait_polls[2]; /* between two looks at the messages, set once at init; [0]: none are in use */

/* From SHMEM_SPIN, from whether PEs outnumber cores, and from whether there is a network. */
void shi_wait_set(long configured, int crowded, int network);

/* What this PE does for others while the program's threads wait, outside progress: how much went on. NULL: nothing.
 * Changes only when nobody waits. */
extern int (*shi_wait_work)(void);

/* Not NULL while this thread runs something of the program's inside shi_wait_work, and its name: a wait for what other
 * PEs' programs do might then never end. shi_wait_allow, at the start of each such wait, ends the job there. */
extern _Thread_local const char *shi_wait_inside __attribute__((tls_model("initial-exec")));
void shi_wait_refuse(const char *routine) __attribute__((noreturn));

static inline void shi_wait_allow(const char *routine)
{
    if (shi_unlikely(shi_wait_inside != NULL))
        shi_wait_refuse(routine);
}

/* Make progress and work; without any, yield or sleep once. Leaves the process when the job was aborted. Wait loops for
 * what only progress brings call it directly. */
void shi_wait_slow(struct shi_wait *w);

/* One step of a wait loop whose condition was found false. */
static inline void shi_wait_step(struct shi_wait *w)
{
    if (shi_likely(w->polls < shi_wait_polls[shi_progress_on])) {
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
