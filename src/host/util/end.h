/* end.h - how a process that ends its job ends itself: exit handlers and stdio are given some time, not for ever. */
#ifndef SHI_END_H
#define SHI_END_H

enum {
    SHI_END_HANDLERS_S = 4, /* for exit handlers, destructors and stdio after shmem_global_exit and exit */
    SHI_END_FLUSH_S = 1,    /* for stdio alone, after an error */
    SHI_END_LAUNCHER_S = 2  /* the longest that a launcher takes to end the PEs of a job that failed */
};

/*
 * The calling thread ends the process. Stdio is flushed before this returns; the thread then runs exit handlers, if any,
 * and calls shi_end_finish. After grace_s, or a crash on the way, a thread of this file finishes for it.
 * The first call decides: a further one on the same thread finishes at once, one on another thread does not return.
 */
void shi_end_begin(int status, int grace_s, void (*last)(int status));

/* Flush stdio, call `last` and leave with the status, all as given to shi_end_begin. */
_Noreturn void shi_end_finish(void);

/* 1: the calling thread ends this process; does not return on another thread meanwhile. 0: nobody ends it. */
int shi_end_under_way(void);

#endif
