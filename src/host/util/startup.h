/* startup.h - the phases of shmem_init, and the time limit of each: SHMEM_START_TIMEOUT. */
#ifndef SHI_STARTUP_H
#define SHI_STARTUP_H

#include <stddef.h>

struct shi_phase {
    const char *text; /* what this PE does or waits for, after "shmem_init: " */
    /* For a wait for other PEs: write to text[bytes] which ones have not come. May be NULL. Called on another thread. */
    void (*missing)(char *text, size_t bytes, const void *arg);
    const void *arg;
    int patience_s; /* seconds more; for a wait for other PEs, so that the PE at fault reports first */
};

/* Start a thread that ends the job with one line when a phase lasts longer than limit_s seconds; 0: no limit. Without room for the
 * thread, there is no limit. Pair: shi_startup_down. */
void shi_startup_up(long limit_s);

/* A phase begins; *phase must remain until the next one begins. NULL: other steps of this PE. Does nothing outside of
 * shi_startup_up and shi_startup_down. */
void shi_startup_phase(const struct shi_phase *phase);

void shi_startup_down(void);

/* Does a debugger or a signal such as SIGSTOP stop the process? */
int shi_startup_stopped(int pid);

#endif
