/*
 * oshrun_spawn.c - start processes: the PEs, and the guardian that ends them when oshrun is
 * killed. oshrun.c watches them.
 */
#include "oshrun.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/util/libc.h"

static pid_t guardian;
static int guardian_fd = -1;
static struct rlimit inherited; /* of open files */
static bool raised;

static void end_groups(const pid_t *group, size_t n, double grace_s)
{
    size_t left = n;

    for (size_t i = 0; i < n; i++)
        kill(-group[i], SIGTERM);
    for (int i = 0; left && i < grace_s * 20; i++) {
        usleep(50000);
        left = 0;
        for (size_t k = 0; k < n; k++)
            left += !kill(-group[k], 0);
    }
    for (size_t i = 0; i < n; i++)
        kill(-group[i], SIGKILL);
}

/* Read process groups from fd. A 0 means that oshrun exits normally; end of file means that it was killed. */
static _Noreturn void guard(int fd, double grace_s)
{
    pid_t *group = NULL, pid;
    size_t n = 0;

    setsid();
    prctl(PR_SET_NAME, "oshrun-guard");
    while (read(fd, &pid, sizeof pid) == sizeof pid) {
        pid_t *more = realloc(group, (n + 1) * sizeof *group);
        if (pid == 0 || !more)
            _exit(0);
        group = more;
        group[n++] = pid;
    }
    end_groups(group, n, grace_s);
    _exit(0);
}

int guardian_up(double grace_s)
{
    sigset_t all, old;
    int fd[2];

    if (pipe2(fd, O_CLOEXEC))
        return -errno;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &old);
    guardian = fork();
    if (guardian == 0) {
        if (dup2(fd[0], 0) < 0)
            _exit(1);
        close_range(1, ~0U, 0);
        guard(0, grace_s);
    }
    int err = errno;
    sigprocmask(SIG_SETMASK, &old, NULL);
    close(fd[0]);
    guardian_fd = fd[1];
    return guardian < 0 ? -err : 0;
}

int files_up(int npes, int of_pe)
{
    enum { OWN = 15, OF_PE = 3 }; /* OWN: mostly libpmix's; OF_PE: two pipes and a connection */
    struct rlimit most;
    rlim_t need = OWN + (OF_PE + (rlim_t)of_pe) * (rlim_t)npes;

    for (int fd = 3; fd < 256; fd++)
        need += fcntl(fd, F_GETFD) >= 0;
    if (getrlimit(RLIMIT_NOFILE, &inherited) || inherited.rlim_cur >= need)
        return 0;
    most = inherited;
    most.rlim_cur = need < most.rlim_max ? need : most.rlim_max;
    if (most.rlim_cur < need || setrlimit(RLIMIT_NOFILE, &most)) {
        say("oshrun: %d PEs need %d open files, and only %d are allowed: raise that with ulimit -n", npes, (int)need,
            (int)most.rlim_max);
        return -EMFILE;
    }
    raised = true;
    return 0;
}

static void guardian_tell(pid_t pid)
{
    while (write(guardian_fd, &pid, sizeof pid) < 0 && errno == EINTR)
        ;
}

void guardian_down(void)
{
    guardian_tell(0);
    waitpid(guardian, NULL, 0);
}

static bool on_one_core(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) == 1;
}

/* The child's part of pe_spawn. It shares the parent's memory until exec and writes only *error and *what. */
static _Noreturn void become(struct pe *pe, const int fd[3], char **env, pid_t parent, volatile int *error,
                             const char *volatile *what)
{
    static const int defaults[] = {SIGPIPE, SIGTTIN, SIGTTOU, SIGXFSZ};
    sigset_t none;

    if (pe->nmask)
        sched_setaffinity(0, pe->nmask, pe->mask);
    if (!pe->own_session || pe->foreground || !on_one_core() || setsid() < 0)
        setpgid(0, 0);
    if (pe->foreground) /* oshrun ignores SIGTTOU, and so does this child, until below */
        tcsetpgrp(0, getpid());
    prctl(PR_SET_PDEATHSIG, pe->death_sig); /* a sandbox may refuse it: the guardian remains */
    if (getppid() != parent)
        _exit(1);
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        signal(defaults[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (raised)
        setrlimit(RLIMIT_NOFILE, &inherited);
    *what = NULL;
    for (int i = 0; i < 3; i++)
        if (fd[i] != i && dup2(fd[i], i) < 0)
            *what = "dup2";
    if (pe->app->wdir && chdir(pe->app->wdir))
        *what = pe->app->wdir;
    if (!*what) {
        *what = pe->app->argv[0];
        execvpe(pe->app->argv[0], pe->app->argv, env);
    }
    *error = errno;
    _exit(EXIT_NOT_FOUND);
}

int pe_spawn(struct pe *pe, const int fd[3], char **env, const char **what)
{
    volatile int error = 0;
    const char *volatile failed = NULL;
    pid_t parent = getpid(), pid = vfork();

    if (pid == 0)
        become(pe, fd, env, parent, &error, &failed);
    if (pid < 0) {
        *what = "vfork";
        return -errno;
    }
    if (error) {
        waitpid(pid, NULL, 0);
        *what = failed;
        return -error;
    }
    pe->pid = pid;
    guardian_tell(pid);
    return 0;
}
