/*
 * gpc_run.h - what a PE has to do for GPCs, and who does it: a queue, filled by progress, emptied by one thread at a
 * time outside progress.
 */
#ifndef SHI_GPC_RUN_H
#define SHI_GPC_RUN_H

/* Something to do. run returns 1, or 0 when it could not go on yet and has posted itself again. */
struct shi_gpc_task {
    struct shi_gpc_task *next;
    int (*run)(struct shi_gpc_task *self);
};

/* To the end of the queue. Any thread, handlers too. The task may be gone when this returns. */
void shi_gpc_post(struct shi_gpc_task *t);

/* Run what is in the queue now, unless somebody else does or this thread is inside a task. How much went on. */
int shi_gpc_dispatch(void);

/* Begin to dispatch in wait loops and, if the configuration wants it, on a thread. 0 or -errno after one line. */
int shi_gpc_run_up(void);
void shi_gpc_run_down(void);

#endif
