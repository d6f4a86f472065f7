/*
 * gpc_run.h - what a PE has to do for GPCs, and who does it: queues, filled by progress, emptied by one thread at a time
 * outside progress.
 */
#ifndef SHI_GPC_RUN_H
#define SHI_GPC_RUN_H

#include <stdint.h>

#include <shmemx_gpc.h>

#include "host/ops/wait.h"

enum { SHI_GPC_IN_FLIGHT = 64 }; /* GPCs that a PE has under way as their root, nested ones aside */

/* Something to do. run returns 1, or 0 when it could not go on yet and has called shi_gpc_post_pending. */
struct shi_gpc_task {
    struct shi_gpc_task *next, **prev; /* prev: in the list of pending tasks only */
    int (*run)(struct shi_gpc_task *self);
    uint64_t team; /* number of the team that it is for */
    int woken;
};

/* To the end of the queue. Any thread, handlers too. The task may be gone when this returns. */
void shi_gpc_post(struct shi_gpc_task *t);

/* The same once this PE has the task's team: a PE that has returned from a split may call one that has not. Tasks of one
 * team keep their order. The roots bound how many wait for a team, as they bound how many wait for their turn. */
void shi_gpc_post_on_team(struct shi_gpc_task *t);

/* Run again in a while, after what can go on at once; shi_gpc_wake: at once, if it is still pending or running. */
void shi_gpc_post_pending(struct shi_gpc_task *t);
void shi_gpc_wake(struct shi_gpc_task *t);

/* Run what is in the queue now and some of what is pending, unless somebody else does or this thread is inside a task.
 * How much went on. */
int shi_gpc_dispatch(void);

/*
 * Around a wait inside a task: other tasks may run between the two, on this thread too, nested to a limit; beyond it the
 * library's threads run them, one more where all are that deep. 1: shi_gpc_resume must follow; 0: this thread is not
 * inside a task; -EDEADLK after one line: too deep, and there can be no further thread.
 */
int shi_gpc_pause(const char *routine);
void shi_gpc_resume(void);

/* A look has found this GPC unfinished: a task that looks again and again waits for a moment, in which others may run. */
void shi_gpc_looked(const shmemx_gpc_nbh_t *nbh);

/* One step of waiting for a GPC: progress, tasks. */
int shi_gpc_step(void);
void shi_gpc_wait_step(struct shi_wait *w); /* and, without any, one of shi_wait_step */

/* In every init: have tasks of a new team run. 0. */
int shi_gpc_prepare(void);

/* Begin to dispatch in wait loops and, if the configuration wants it, on a thread. 0 or -errno after one line. */
int shi_gpc_run_up(void);
void shi_gpc_run_down(void);

#endif
