/*
 * kill_at.c - run a program as a PE, and kill it before or after its n-th system call.
 *
 * usage: kill_at PE N FILE PROGRAM... Other PEs than PE run the program as it is. N 0: kill nothing, and write to FILE how often the process entered or
 * left a system call, counting all its threads, from the program's start on; sched_yield, of which waits make any number, does not count. A child traces the process, which stays the child of the launcher.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef PR_SET_PTRACER
#define PR_SET_PTRACER 0x59616d61
#endif

static void write_count(const char *file, long n)
{
    FILE *f = fopen(file, "w");
    if (f) {
        fprintf(f, "%ld\n", n);
        fclose(f);
    }
}

/* The thread has entered a system call, or leaves it; it counts. */
static int counts(pid_t thread)
{
    static char yields[4096];
    struct __ptrace_syscall_info is;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof is, &is) > 0 && is.op == PTRACE_SYSCALL_INFO_ENTRY)
        yields[thread % 4096] = is.entry.nr == SYS_sched_yield;
    return !yields[thread % 4096];
}

/* The tracer: until the process ends. */
static _Noreturn void trace(pid_t pid, long at, const char *file, int ready)
{
    long n = 0, started = 0;
    if (ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)) {
        fprintf(stderr, "kill_at: ptrace: %s\n", strerror(errno));
        _exit(9);
    }
    ptrace(PTRACE_INTERRUPT, pid, 0, 0);
    if (write(ready, "", 1) != 1)
        _exit(9);
    for (;;) {
        int status;
        pid_t of = waitpid(-1, &status, __WALL);
        if (of < 0 && errno == EINTR)
            continue;
        if (of < 0 || (of == pid && (WIFEXITED(status) || WIFSIGNALED(status))))
            break;
        if (!WIFSTOPPED(status))
            continue;
        int sig = WSTOPSIG(status), event = status >> 16;
        if (event == PTRACE_EVENT_EXEC)
            started = 1;
        if (sig == (SIGTRAP | 0x80) && started && counts(of) && ++n == at)
            kill(pid, SIGKILL);
        ptrace(PTRACE_SYSCALL, of, 0, sig == (SIGTRAP | 0x80) || event ? 0 : sig);
    }
    if (!at)
        write_count(file, n);
    _exit(0);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("PMIX_RANK");
    int ready[2];
    char byte;
    if (argc < 5 || !rank || pipe(ready))
        return 2;
    if (atoi(rank) == atoi(argv[1])) {
        pid_t me = getpid();
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        if (fork() == 0) {
            close(ready[0]);
            trace(me, atol(argv[2]), argv[3], ready[1]);
        }
        close(ready[1]);
        if (read(ready[0], &byte, 1) != 1)
            return 9;
    }
    execv(argv[4], argv + 4);
    return 2;
}
