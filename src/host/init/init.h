/* init.h - the library's start and end: the order in which its parts come up and go down. */
#ifndef SHI_INIT_H
#define SHI_INIT_H

#include "host/ops/state.h"

/* Bring the library up. Ends the job after one line when it cannot. */
void shi_world_up(int thread_level);

/* Collective: complete all operations and bring the library down. by_exit: the program has ended without shmem_finalize. */
void shi_world_down(const char *routine, int by_exit);

/* After the last shmem_finalize of a job: give back all that lasts until a later shmem_init, so that another job can be joined. The process is then as
 * it was before its first shmem_init (test/launch/again.c compares the library's variables). Local. */
void shi_world_leave(void);

/* Run this process's exit handlers, then end the job with this status, from any PE at any time. */
_Noreturn void shi_world_exit(int status);

#endif
