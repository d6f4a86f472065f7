/*
 * progress.h - progress is made by blocking calls and by a helper thread for programs that compute.
 *
 * Put, get and atomics on one node need none of this. Once messages or a network are in use, sources of progress are
 * registered here, wait loops poll them, and the thread polls them when the program has not done so lately.
 */
#ifndef SHI_PROGRESS_H
#define SHI_PROGRESS_H

#include <stdint.h>

/*
 * A source of progress, in memory of its owner until shi_progress_stop.
 *
 * poll       handles what has come and returns how much that was, without waiting. Calls overlap: while another thread
 *            polls the source, it returns 0.
 * idle_wait  NULL, or sleeps until something may have come, at most timeout_ms, and returns 1; 0 at once where it cannot.
 *            At most one source has one.
 * wake       NULL, or ends an idle_wait of another thread.
 * every_ms   how long the thread may leave the source alone meanwhile.
 * rings      1: a store of what the source polls for is followed by a ring of this PE's doorbell (doorbell.h).
 * trim       NULL, or gives memory back that nothing has used since its last call. The thread calls it every SHI_TRIM_NS.
 */
struct shi_progress_source {
    int (*poll)(void);
    int (*idle_wait)(int timeout_ms);
    void (*wake)(void);
    int every_ms, rings;
    void (*trim)(void);
    struct shi_progress_source *next; /* of progress.c */
};

/* Add a source and start the thread with the first. 0 or -errno. */
int shi_progress_add(struct shi_progress_source *source);

/* Stop the thread and forget the sources. */
void shi_progress_stop(void);

/* This thread is the library's. */
extern _Thread_local int shi_progress_own __attribute__((tls_model("initial-exec")));

extern int shi_progress_on; /* there is a source; relaxed: a poll that sees it early or late reads the list itself */

/* For the program's threads: poll every source once. How much was handled; 0 is idle. */
int shi_progress_poll(void);

/* How many threads of the program sleep until a doorbell rings: while there are any, the thread does their polling. */
extern int shi_progress_left;

/* For tests (SHMEM_WAIT=doorbell without a network): the thread does nothing, so that its polls and rings hide no missing ring. */
extern int shi_progress_thread_off;

/* A thread of the program begins to wait: the helper thread leaves the transport's wait or the doorbell now, not when the awaited message
 * comes, whose handling it would interrupt on the waiting thread's core. It stays where it polls for other threads. */
extern int shi_progress_asleep; /* 1: the helper thread is in the transport's wait or at the doorbell, and no wake has been called since */
void shi_progress_wake_thread(void);
static inline void shi_progress_begin_wait(void)
{
    if (__builtin_expect(__atomic_load_n(&shi_progress_asleep, __ATOMIC_RELAXED), 0) &&
        !__atomic_load_n(&shi_progress_left, __ATOMIC_RELAXED))
        shi_progress_wake_thread();
}

/* Sleep until something comes over the network, at most timeout_ms: 1. 0 at once without a network. */
int shi_progress_idle_wait(int timeout_ms);

/* shi_progress_poll, cheap without a source. */
static inline int shi_progress(void)
{
    return __builtin_expect(__atomic_load_n(&shi_progress_on, __ATOMIC_RELAXED), 0) ? shi_progress_poll() : 0;
}

#endif
