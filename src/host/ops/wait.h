/*
 * wait.h - wait loops: poll briefly, then yield the core, then sleep, as host/policy/wait.h says; notice an abort; register long waits
 * so that SIGUSR1 can report them.
 *
 * Other PEs change the awaited words by plain stores, which wake no sleeper. The routines that complete or announce such
 * stores ring the sleeper's doorbell (net/node/doorbell.h); sleeps are timed, because not all stores are followed by a ring.
 * SHMEM_WAIT says how long a wait yields before it sleeps.
 */
#ifndef SHI_WAIT_H
#define SHI_WAIT_H

#include <stdint.h>

#include "host/net/node/progress.h"
#include "host/policy/wait.h"
#include "host/util/base.h"

struct shmem_team;

/* What a wait waits for, for reports. PEs are world PEs. */
struct shi_wait_for {
    const char *routine;
    enum { SHI_FOR_WORDS, SHI_FOR_BARRIER, SHI_FOR_MEMBERS, SHI_FOR_LOCK, SHI_FOR_NETWORK, SHI_FOR_KERNELS,
           SHI_FOR_OTHER } kind;
    int word, cmp;                 /* WORDS: enum shi_word, SHMEM_CMP_* */
    const void *addr;              /* WORDS: the first; LOCK: the lock */
    size_t n;                      /* WORDS: how many, one of which has to satisfy the condition */
    uint64_t value;                /* WORDS: wanted, extended to 64 bits */
    struct shmem_team *team;       /* BARRIER, MEMBERS; NETWORK: of a collective, or NULL */
    uint64_t epoch;                /* BARRIER, MEMBERS: the value that the others' words have to reach */
    int of;                        /* MEMBERS: the member awaited now; LOCK: the PE ahead in the queue;
                                    * NETWORK: the PE that has to receive or to answer, or -1 */
    const char *words;             /* OTHER: the event that has not happened yet, in words */
};

struct shi_wait {
    unsigned polls;    /* of the condition, since progress was last polled */
    unsigned rounds;   /* polls of progress that brought nothing */
    int sleeps;        /* 0 while yielding */
    uint64_t since_ns; /* first yield, 0 before */
    int registered;    /* its index in the table of blocked waits, plus 1; -1: the table was full; 0: not registered */
};

#define SHI_WAIT_INIT ((struct shi_wait){.polls = 0})

/* Progress was made: poll, yield and sleep as at the start. */
static inline void shi_wait_anew(struct shi_wait *w)
{
    *w = (struct shi_wait){.registered = w->registered};
}

/* Set at init; before, waits yield. */
extern struct shi_wait_rules shi_wait_rules;
void shi_wait_set(enum shi_wait_mode mode, long spin, int oversubscribed, int network);

/* The process leaves the job: as before the first shi_wait_set. */
void shi_wait_leave(void);

/* Work that waiting threads of the program do besides progress; returns how much was done. NULL: none. Set and cleared with
 * release while other threads may wait (W1); a wait loads it with acquire (W2). */
extern int (*shi_wait_work)(void);

/* While this thread runs a function of the program inside shi_wait_work: the name of that kind of function, else NULL. A wait
 * for other PEs' programs might then never end: shi_wait_allow, at the start of each such wait, ends the job. */
extern _Thread_local const char *shi_wait_inside __attribute__((tls_model("initial-exec")));
void shi_wait_refuse(const char *routine) __attribute__((noreturn));

static inline void shi_wait_allow(const char *routine)
{
    if (shi_unlikely(shi_wait_inside != NULL))
        shi_wait_refuse(routine);
}

/* What becomes of a wait that lasts. in_vain: the last look has found the same, and the condition was false since; then it ends the job. Asks:
 * look again soon, another PE has to answer. NULL: nobody looks. Set once, before waits look. */
enum shi_wait_prospect { SHI_WAIT_GOES_ON, SHI_WAIT_ASKS, SHI_WAIT_IN_VAIN };
extern enum shi_wait_prospect (*shi_wait_look)(const struct shi_wait_for *what, int in_vain);

/* A PE has failed and the job goes on (host/survive): does this wait end, with its condition false? NULL: no wait does. Set with release,
 * loaded with acquire. */
extern int (*shi_wait_fails)(const struct shi_wait_for *what);
static inline int shi_wait_has_failed(const struct shi_wait_for *what)
{
    int (*fails)(const struct shi_wait_for *) = __atomic_load_n(&shi_wait_fails, __ATOMIC_ACQUIRE);
    return fails && fails(what);
}

/* Returns 0, or does not return when the job was aborted. Also a source of progress, for PEs that do not wait. */
int shi_wait_aborted(void);

/* Make progress and do work; when there was none, yield or sleep once. Ends the process when the job was aborted. Loops that
 * wait for something that only progress brings call it directly. */
void shi_wait_slow(struct shi_wait *w);

int shi_wait_test_ended(int passed);

/* The result of a routine that tests and does not wait, and whose callers repeat it in loops: passed. Where PEs share cores, a
 * thread whose tests keep failing yields the core to the PE that has to act, and after 2 ms of yields it sleeps for 20 us at a
 * time, unless the program computes between its tests. */
static inline int shi_wait_tested(int passed)
{
    return shi_likely(!shi_wait_rules.tests) ? passed : shi_wait_test_ended(passed);
}

/* The same, and then the thread may be cancelled: its registration ends, and it calls undo(arg). Otherwise no wait can be cancelled. */
void shi_wait_slow_or_end(struct shi_wait *w, void (*undo)(void *arg), void *arg);

/* One poll of the condition, before the next one; 0: it is time for shi_wait_slow. */
static inline int shi_wait_relax(struct shi_wait *w)
{
    if (shi_unlikely(w->polls >= shi_wait_rules.polls[__atomic_load_n(&shi_progress_on, __ATOMIC_RELAXED)]))
        return 0;
    w->polls++;
    shi_relax();
    return 1;
}

/* One step of a wait loop whose condition was found false. */
static inline void shi_wait_step(struct shi_wait *w)
{
    if (shi_unlikely(!shi_wait_relax(w)))
        shi_wait_slow(w);
}

/* Register a long wait for reports and, if it sleeps, for the doorbell; remove it. */
void shi_wait_register(struct shi_wait *w, const struct shi_wait_for *what);
void shi_wait_unregister(struct shi_wait *w);

/* The next registered wait at or after place *at, which moves on; 0 when there is none. Async-signal-safe; a read while the
 * wait ends may mix two waits, but names mapped memory. */
int shi_wait_next_blocked(int *at, struct shi_wait_for *out, uint64_t *since_ns);

/* Wait until CONDITION, which loads with acquire. The other arguments initialise a struct shi_wait_for and are evaluated
 * only once the wait sleeps. */
#define SHI_WAIT_UNTIL(CONDITION, ...) SHI_WAIT_LOOP(shi_wait_step, CONDITION, __VA_ARGS__)

/* The same for a condition that only progress makes true. */
#define SHI_WAIT_PROGRESS(CONDITION, ...) SHI_WAIT_LOOP(shi_wait_slow, CONDITION, __VA_ARGS__)

#define SHI_WAIT_LOOP(STEP, CONDITION, ...) SHI_WAIT_LOOP_OR(STEP, CONDITION, (void)0, __VA_ARGS__)

/* FAILED: a statement, where shi_wait_fails ends the wait. */
#define SHI_WAIT_LOOP_OR(STEP, CONDITION, FAILED, ...)                                                               \
    do {                                                                                                             \
        struct shi_wait w_ = SHI_WAIT_INIT;                                                                          \
        while (!(CONDITION)) {                                                                                       \
            STEP(&w_);                                                                                               \
            if (SHI_WAIT_FAILS(__VA_ARGS__)) {                                                                       \
                FAILED;                                                                                              \
                break;                                                                                               \
            }                                                                                                        \
            SHI_WAIT_REGISTER(&w_, __VA_ARGS__);                                                                     \
        }                                                                                                            \
        shi_wait_end(&w_);                                                                                           \
    } while (0)

/* Its parts, for other loops: after each step, and at the end. */
#define SHI_WAIT_FAILS(...)                                                                                          \
    (shi_unlikely(__atomic_load_n(&shi_wait_fails, __ATOMIC_RELAXED) != NULL) &&                                     \
     shi_wait_has_failed(&(const struct shi_wait_for){__VA_ARGS__}))

#define SHI_WAIT_REGISTER(W, ...)                                                                                    \
    do {                                                                                                             \
        if (shi_unlikely((W)->sleeps && !(W)->registered))                                                         \
            shi_wait_register(W, &(const struct shi_wait_for){__VA_ARGS__});                                         \
    } while (0)

static inline void shi_wait_end(struct shi_wait *w)
{
    if (shi_unlikely(w->registered))
        shi_wait_unregister(w);
}

#endif
