/*
 * progress.h - who moves messages on: every waiting call, and a thread for programs that compute and never call.
 *
 * Put, get and atomics on one node need none of this. Once messages or a network are in use, sources of progress are
 * registered here, wait loops poll them, and the thread polls them whenever the program has not done so lately.
 */
#ifndef SHI_PROGRESS_H
#define SHI_PROGRESS_H

#include <stdint.h>

/* A source: poll handles what has come and returns how much that was, without waiting. Calls overlap: a source that
 * somebody else polls right now returns 0. rest, which may be NULL, sleeps until something may have come, at most
 * timeout_ms, and returns 1, or 0 at once where that cannot be done; the thread calls it, and at most one source has
 * one. every_ms: how long the thread may leave the source alone meanwhile. */
struct shi_progress_source {
    int (*poll)(void);
    int (*rest)(int timeout_ms);
    int every_ms;
};

/* Add a source and start the thread with the first. 0 or -errno. */
int shi_progress_add(const struct shi_progress_source *source);

/* Stop the thread and forget the sources. */
void shi_progress_stop(void);

extern _Thread_local int shi_progress_own; /* this thread is one of the library's, not of the program's */

extern int shi_progress_on; /* there is a source; relaxed: a poll that sees it early or late finds what is counted */

/* For the program's threads: poll every source once. How much was handled; 0 is idle. */
int shi_progress_poll(void);

/* The program starts something in the network, with locks that the thread would contend for. */
extern unsigned long shi_progress_posts;
static inline void shi_progress_post(void)
{
    __atomic_store_n(&shi_progress_posts, __atomic_load_n(&shi_progress_posts, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

/* Sleep a millisecond, or less when something comes over the network; 0 at once without one. */
int shi_progress_rest(void);

/* The same where most programs have no source. */
static inline int shi_progress(void)
{
    return __builtin_expect(__atomic_load_n(&shi_progress_on, __ATOMIC_RELAXED), 0) ? shi_progress_poll() : 0;
}

#endif
