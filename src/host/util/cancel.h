/*
 * cancel.h - no call of the library is a cancellation point, but those that wait for words (p2p.c): a thread that pthread_cancel ended
 * inside another one would leave locks held, or a collective call half made. So calls that enter the kernel disable cancellation.
 */
#ifndef SHI_CANCEL_H
#define SHI_CANCEL_H

#include <pthread.h>

/* Disable cancellation of the calling thread; what to give to shi_cancel_restore. */
static inline int shi_cancel_off(void)
{
    int old;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    return old;
}

static inline void shi_cancel_restore(int old)
{
    int off;
    if (old != PTHREAD_CANCEL_DISABLE)
        pthread_setcancelstate(old, &off);
}

static inline void shi_cancel_end_scope(const int *old)
{
    shi_cancel_restore(*old);
}

/* The calling thread cannot be cancelled in the rest of the scope. */
#define SHI_UNCANCELLED int uncancelled_ __attribute__((cleanup(shi_cancel_end_scope), unused)) = shi_cancel_off()

#endif
