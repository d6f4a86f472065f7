/*
 * libc.h - functions of glibc that other C libraries (musl) lack.
 */
#ifndef SHI_LIBC_H
#define SHI_LIBC_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef __GLIBC__
/* As of glibc, for a few handlers of the library: on_exit.c. */
int on_exit(void (*handler)(int status, void *arg), void *arg);

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
