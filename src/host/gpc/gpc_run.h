/*
 * gpc_run.h - the dispatcher: queues of tasks, which progress fills and one thread at a time, outside progress, runs.
 */
#ifndef SHI_GPC_RUN_H
#define SHI_GPC_RUN_H

#include <stdint.h>

#include <shmemx_gpc.h>

#include "host/ops/wait.h"

enum { SHI_GPC_IN_FLIGHT = 64 }; /* GPCs that a PE has under way as their root, nested ones aside */

/* A task. run returns 1, or 0 when it cannot continue yet and has called shi_gpc_post_pending. */
struct shi_gpc_task {
    struct shi_gpc_task *next, **prev; /* prev: in the list of pending tasks only */
    int (*run)(struct shi_gpc_task *self);
    uint64_t team; /* number of the team that it is for */
    int woken;
};

/* Append to the queue. Any thread, handlers too. The task may be freed when this returns. */
void shi_gpc_post(struct shi_gpc_task *t);

/* shi_gpc_post, but the task waits until this PE has the task's team: a PE that has returned from a split may call one that
 * has not. Tasks of one team keep their order. The roots limit the number of tasks that wait for a team. */
void shi_gpc_post_on_team(struct shi_gpc_task *t);

/* Run again later, after the tasks that are ready; shi_gpc_wake: at once, if it is still pending or running. */
void shi_gpc_post_pending(struct shi_gpc_task *t);
void shi_gpc_wake(struct shi_gpc_task *t);

/*
 * Before and after a wait inside a task: in between other tasks may run, also on this thread, nested up to a limit; beyond it
 * threads of the library run them, and a further thread is started when all have reached the limit. 1: shi_gpc_resume must
 * follow; 0: this thread is not inside a task; -EDEADLK after one line: the limit is reached, and no thread can be started.
 */
int shi_gpc_pause(const char *routine);
void shi_gpc_resume(void);

/* A test has found this GPC unfinished: a task that tests repeatedly waits for a moment, in which others may run. */
void shi_gpc_test_failed(const shmemx_gpc_nbh_t *nbh);

/* Make progress and run tasks; returns the number of actions. shi_gpc_wait_step is a step of a wait loop: the same,
 * then, if that number is 0, shi_wait_step. */
int shi_gpc_step(void);
void shi_gpc_wait_step(struct shi_wait *w);

/* In every init: register for new teams, whose tasks can then run. 0. */
int shi_gpc_prepare(void);

/* Begin to dispatch in wait loops and, if the configuration enables it, on a thread. 0 or -errno after one line. */
int shi_gpc_run_up(void);
void shi_gpc_run_down(void);

#endif
