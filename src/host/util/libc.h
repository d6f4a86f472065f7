/*
 * libc.h - functions of glibc that other C libraries (musl) lack.
 *
 * Without on_exit a handler cannot know the exit status, and gets 0: a PE that exits with an error waits for the others as
 * one that returns from main, until oshrun ends the job.
 */
#ifndef SHI_LIBC_H
#define SHI_LIBC_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef __GLIBC__
/* One handler a file. */
static void (*shi_exit_handler)(int status, void *arg);

static inline void shi_exit_call(void)
{
    shi_exit_handler(0, NULL);
}

static inline int on_exit(void (*handler)(int status, void *arg), void *arg)
{
    (void)arg;
    shi_exit_handler = handler;
    return atexit(shi_exit_call);
}

enum { CLOSE_RANGE_CLOEXEC = 1 << 2 };

static inline int close_range(unsigned first, unsigned last, int flags)
{
    return (int)syscall(436, first, last, flags); /* the same number on all processors */
}

/* The caller prints SIG before it. */
static inline const char *sigabbrev_np(int number)
{
    (void)number;
    return NULL;
}

static inline const char *sigdescr_np(int number)
{
    return strsignal(number);
}
#define PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP PTHREAD_MUTEX_INITIALIZER
#endif

#endif
