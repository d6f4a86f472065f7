/*
 * oshrun_debug.c - the interface by which parallel debuggers find the PEs (MPIR Process Acquisition Interface 1.0).
 *
 * A debugger that starts oshrun sets MPIR_being_debugged and a breakpoint in MPIR_Breakpoint; one that attaches reads the
 * table. The names are exported, so that they are there in a stripped oshrun. While oshrun is stopped in MPIR_Breakpoint, its
 * PMIx server answers no PE, so no PE passes shmem_init.
 */
#include "oshrun.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default"), used))

typedef struct {
    char *host_name;
    char *executable_name;
    int pid;
} MPIR_PROCDESC;

enum { NOT_STARTED = 0, SPAWNED = 1, ABORTING = 2 }; /* of MPIR_debug_state */

EXPORT MPIR_PROCDESC *MPIR_proctable;
EXPORT int MPIR_proctable_size;
EXPORT volatile int MPIR_being_debugged;
EXPORT volatile int MPIR_debug_state = NOT_STARTED;
EXPORT char *MPIR_debug_abort_string;
EXPORT int MPIR_i_am_starter;      /* its presence says that oshrun is no PE */
EXPORT int MPIR_partial_attach_ok; /* that PEs which no debugger attaches to run by themselves */

EXPORT __attribute__((noinline)) void MPIR_Breakpoint(void)
{
    __asm__ volatile("" ::: "memory"); /* the call is not optimised away */
}

/* The file that a PE runs, or its name on the command line. */
static char *executable_of(const struct pe *pe)
{
    char link[64], path[PATH_MAX];

    snprintf(link, sizeof link, "/proc/%d/exe", (int)pe->pid);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n > 0)
        path[n] = 0;
    return strdup(n > 0 ? path : pe->app->argv[0]);
}

void debug_started(const struct pe *pe, int npes)
{
    static char host[HOST_NAME_MAX + 1];
    MPIR_PROCDESC *table = calloc((size_t)npes, sizeof *table);

    if (!table)
        out_of_memory();
    gethostname(host, sizeof host - 1);
    for (int i = 0; i < npes; i++) {
        table[i] = (MPIR_PROCDESC){.host_name = host, .executable_name = executable_of(&pe[i]), .pid = (int)pe[i].pid};
        if (!table[i].executable_name)
            out_of_memory();
    }
    MPIR_proctable = table;
    MPIR_proctable_size = npes;
    MPIR_debug_state = SPAWNED;
    if (MPIR_being_debugged)
        MPIR_Breakpoint();
}

void debug_aborting(const char *why)
{
    if (MPIR_debug_state != SPAWNED || !MPIR_being_debugged)
        return;
    MPIR_debug_abort_string = strdup(why);
    MPIR_debug_state = ABORTING;
    MPIR_Breakpoint();
}

char **debug_command(char **argv)
{
    static char *const gdb[] = {"gdb", "-q", "--args"};
    enum { WORDS = sizeof gdb / sizeof *gdb };
    size_t n = 0;

    while (argv[n])
        n++;
    char **command = calloc(WORDS + n + 1, sizeof *command);
    if (!command)
        out_of_memory();
    memcpy(command, gdb, sizeof gdb);
    memcpy(command + WORDS, argv, n * sizeof *argv);
    return command;
}
