/* end.h - end this process with a given status, with a time limit on exit handlers and on the flush of stdio. */
#ifndef SHI_END_H
#define SHI_END_H

enum {
    SHI_END_HANDLERS_S = 4, /* limit for exit handlers, destructors and stdio after shmem_global_exit and exit */
    SHI_END_FLUSH_S = 1,    /* limit for stdio alone, after an error */
    SHI_END_LAUNCHER_S = 2  /* a launcher ends the PEs of a failed job within this time */
};

/*
 * Start the end of the process on the calling thread: flush stdio. The thread then runs exit handlers, if any, and calls
 * shi_end_finish. After grace_s seconds, or when the thread crashes, the watchdog thread calls `last` in its place.
 * The first call decides: a second call on the same thread finishes at once, one on another thread does not return.
 */
void shi_end_begin(int status, int grace_s, void (*last)(int status));

/* End this process as a launcher ends a PE when another one has failed: SIGTERM, if the program handles it, and some time for that; then the
 * end with this status. */
_Noreturn void shi_end_terminated(int status);

/* Flush stdio, call `last` and leave with the status, all as given to shi_end_begin. */
_Noreturn void shi_end_finish(void);

/* 0 when shi_end_begin has not been called. Afterwards 1 on the thread that called it; does not return on others. */
int shi_end_under_way(void);

#endif
