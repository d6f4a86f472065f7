/* thread.h - start a thread of the library. */
#ifndef SHI_THREAD_H
#define SHI_THREAD_H

#include <pthread.h>

/* Run fn(arg) on a new thread with all signals blocked: the program's own threads handle them. Debuggers and top show
 * the name, of at most 15 characters. 0 or -errno. */
int shi_thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg, const char *name);

#endif
