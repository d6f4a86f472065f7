/* thread.c - start a thread of the library: signals blocked, named. */
#include "host/util/thread.h"

#include <signal.h>

int shi_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg, const char *name)
{
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* a new thread inherits the mask */
    int err = pthread_create(thread, NULL, fn, arg);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!err)
        pthread_setname_np(*thread, name);
    return -err;
}
