/*
 * wait.h - how to wait: poll briefly, then yield the core, then sleep; notice an abort on the way; tell a wait that lasts,
 * so that a signal can have it reported.
 *
 * Writers of the awaited words are plain stores of other PEs, which wake nobody, so the sleep is timed. A waiter costs
 * a core only for the first milliseconds.
 */
#ifndef SHI_WAIT_H
#define SHI_WAIT_H

#include <stdint.h>

#include "host/net/progress.h"
#include "host/util/base.h"

struct shmem_team;

/* What a wait is for. PEs are world PEs. */
struct shi_wait_for {
    const char *routine;
    enum { SHI_FOR_WORDS, SHI_FOR_BARRIER, SHI_FOR_MEMBERS, SHI_FOR_LOCK, SHI_FOR_NETWORK, SHI_FOR_KERNELS,
           SHI_FOR_OTHER } kind;
    int word, cmp;                 /* WORDS: enum shi_word, SHMEM_CMP_* */
    const void *addr;              /* WORDS: the first; LOCK: the lock */
    size_t n;                      /* WORDS: how many of which one is to satisfy */
    uint64_t value;                /* WORDS: wanted, extended to 64 bits */
    const struct shmem_team *team; /* BARRIER, MEMBERS */
    uint64_t epoch;                /* BARRIER, MEMBERS: what the others' words have to reach */
    int of;                        /* MEMBERS: the member that is heard now; LOCK: the PE ahead in the queue;
                                    * NETWORK: the PE that is to take or to answer, or -1 */
    const char *words;             /* OTHER: what has not happened yet */
};

struct shi_wait {
    unsigned polls;    /* since the last look at the network */
    unsigned looks;    /* at the network, in vain */
    uint32_t sleep_us; /* 0 while yielding */
    uint64_t since_ns; /* first yield, 0 before */
    int told;          /* its place among the waits that are told, plus 1; -1: there was none left; 0: not told */
};

#define SHI_WAIT_INIT ((struct shi_wait){.polls = 0})

/* Something went on: poll, yield and sleep as at the start. */
static inline void shi_wait_anew(struct shi_wait *w)
{
    *w = (struct shi_wait){.told = w->told};
}

extern unsigned shi_wait_polls[2]; /* between two looks at the messages, set once at init; [0]: none are in use */

/* From SHMEM_SPIN, from whether PEs outnumber cores, and from whether there is a network. */
void shi_wait_set(long configured, int crowded, int network);

/* What this PE does for others while the program's threads wait, outside progress: how much went on. NULL: nothing. Set and
 * cleared with release while other threads may wait (W1); a wait loads it with acquire (W2). */
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

/* 0, or does not return: the job was aborted. A source of progress, for PEs that do not wait. */
int shi_wait_aborted(void);

/* Make progress and work; without any, yield or sleep once. Leaves the process when the job was aborted. Wait loops for
 * what only progress brings call it directly. */
void shi_wait_slow(struct shi_wait *w);

/* One step of a wait loop whose condition was found false. */
static inline void shi_wait_step(struct shi_wait *w)
{
    if (shi_likely(w->polls < shi_wait_polls[__atomic_load_n(&shi_progress_on, __ATOMIC_RELAXED)])) {
        w->polls++;
        shi_relax();
    } else {
        shi_wait_slow(w);
    }
}

/* Enter a wait that lasts among those that are told, and take it out again. */
void shi_wait_tell(struct shi_wait *w, const struct shi_wait_for *what);
void shi_wait_untell(struct shi_wait *w);

/* The next wait told at or after place *at, which moves on; 0 when there is none. Async-signal-safe; what is read while
 * the wait ends may mix two waits, but names memory that is mapped. */
int shi_wait_told(int *at, struct shi_wait_for *out, uint64_t *since_ns);

/* Wait until CONDITION, which loads with acquire. The rest initialises a struct shi_wait_for, and is evaluated only
 * once the wait sleeps. */
#define SHI_WAIT_UNTIL(CONDITION, ...) SHI_WAIT_LOOP(shi_wait_step, CONDITION, __VA_ARGS__)

/* The same for what only progress brings. */
#define SHI_WAIT_PROGRESS(CONDITION, ...) SHI_WAIT_LOOP(shi_wait_slow, CONDITION, __VA_ARGS__)

#define SHI_WAIT_LOOP(STEP, CONDITION, ...)                                                                          \
    do {                                                                                                             \
        struct shi_wait w_ = SHI_WAIT_INIT;                                                                          \
        while (!(CONDITION)) {                                                                                       \
            STEP(&w_);                                                                                               \
            SHI_WAIT_TELL(&w_, __VA_ARGS__);                                                                         \
        }                                                                                                            \
        shi_wait_end(&w_);                                                                                           \
    } while (0)

/* The parts of it, for loops of other forms: after each step, and at the end. */
#define SHI_WAIT_TELL(W, ...)                                                                                        \
    do {                                                                                                             \
        if (shi_unlikely((W)->sleep_us && !(W)->told))                                                               \
            shi_wait_tell(W, &(const struct shi_wait_for){__VA_ARGS__});                                             \
    } while (0)

static inline void shi_wait_end(struct shi_wait *w)
{
    if (shi_unlikely(w->told))
        shi_wait_untell(w);
}

#endif
