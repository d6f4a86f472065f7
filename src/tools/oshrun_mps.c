/*
 * oshrun_mps.c - NVIDIA's Multi-Process Service (MPS) for one job: processes of a GPU run at the same time, not in turns of milliseconds.
 *
 * A keeper, a process in a session of its own, starts the control daemon in the foreground, with a private folder for its pipes and logs, and
 * ends it and removes the folder when oshrun has ended, however that happened: then the pipe between them has no writer.
 */
#include "oshrun.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define DAEMON "nvidia-cuda-mps-control"
enum { START_S = 20, QUIT_S = 10, LOOKS_A_S = 20 };

static char folder[64]; /* names of sockets are short */
static pid_t keeper;
static int keeper_fd = -1;

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    remove(path);
    return 0;
}

/* Start the daemon's program with these files as standard input and as the other two. */
static pid_t run(char *const argv[], const char *in, int in_fd, const char *out)
{
    pid_t pid = fork();

    if (pid)
        return pid;
    int fd = in ? open(in, O_RDONLY) : in_fd, log = open(out, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0 || log < 0 || dup2(fd, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0)
        _exit(126);
    close_range(3, ~0U, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execvp(argv[0], argv);
    fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* Wait for at most limit_s. 1: it has ended. */
static int ends(pid_t pid, int limit_s)
{
    for (int i = 0; i < limit_s * LOOKS_A_S; i++) {
        if (waitpid(pid, NULL, WNOHANG))
            return 1;
        usleep(1000000 / LOOKS_A_S);
    }
    return 0;
}

static void quit(pid_t control, const char *log)
{
    char *const ask[] = {DAEMON, NULL};
    int fd[2];

    if (!waitpid(control, NULL, WNOHANG) && !pipe2(fd, O_CLOEXEC)) {
        pid_t asks = run(ask, NULL, fd[0], log);
        if (write(fd[1], "quit\n", 5) < 0) /* it has ended: the daemon gets a signal */
            asks = -1;
        close(fd[0]);
        close(fd[1]);
        if (asks > 0 && !ends(asks, QUIT_S))
            kill(asks, SIGKILL);
        if (!ends(control, QUIT_S))
            kill(control, SIGTERM);
        if (!ends(control, 1))
            kill(control, SIGKILL);
    }
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Tell oshrun through `ready` once the daemon's pipe is there, or that it has ended; serve until the other end of `alive` is closed. */
static _Noreturn void keep(int alive, int ready)
{
    char *const start[] = {DAEMON, "-f", NULL};
    char log[PATH_MAX], pipe[PATH_MAX], word = 0;

    enum { ALIVE = 3, READY };
    int none = open("/dev/null", O_RDWR);

    setsid(); /* a signal from the terminal ends the job first */
    prctl(PR_SET_NAME, "oshrun-mps");
    for (int i = 0; i < 3; i++)
        dup2(none, i);
    alive = fcntl(alive, F_DUPFD, READY + 1);
    ready = fcntl(ready, F_DUPFD, READY + 1);
    if (dup2(alive, ALIVE) < 0 || dup2(ready, READY) < 0)
        _exit(1);
    close_range(READY + 1, ~0U, 0); /* among them the guardian's pipe */
    alive = ALIVE;
    ready = READY;
    signal(SIGPIPE, SIG_IGN);
    snprintf(log, sizeof log, "%s/oshrun.log", folder);
    snprintf(pipe, sizeof pipe, "%s/control", folder);
    pid_t control = run(start, "/dev/null", -1, log);
    for (int i = 0; i < START_S * LOOKS_A_S && !word && control > 0 && !waitpid(control, NULL, WNOHANG); i++) {
        word = access(pipe, F_OK) == 0;
        usleep(1000000 / LOOKS_A_S);
    }
    if (write(ready, &word, 1) < 0)
        word = 0;
    close(ready);
    while (read(alive, &word, 1) < 0 && errno == EINTR)
        ;
    quit(control, log);
    _exit(0);
}

/* Why the daemon did not start: its last line. */
static void explain(void)
{
    char path[PATH_MAX], line[256] = "", last[256] = "no answer";
    snprintf(path, sizeof path, "%s/oshrun.log", folder);
    FILE *f = fopen(path, "r");

    while (f && fgets(line, sizeof line, f))
        snprintf(last, sizeof last, "%.*s", (int)strcspn(line, "\n"), line);
    if (f)
        fclose(f);
    say("oshrun: --mps: " DAEMON " does not start: %s (it is part of NVIDIA's driver, for some distributions in a package of its own)", last);
}

int mps_up(void)
{
    const char *tmp = getenv("TMPDIR");
    int alive[2], ready[2];
    char word = 0;

    if (getenv("CUDA_MPS_PIPE_DIRECTORY"))
        say("oshrun: note: --mps: the job has a daemon of its own, not that of CUDA_MPS_PIPE_DIRECTORY");
    snprintf(folder, sizeof folder, "%s/oshrun-mps.XXXXXX", tmp && strlen(tmp) < sizeof folder / 2 ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        int err = -errno;
        say("oshrun: --mps: no folder %s: %s", folder, strerror(-err));
        return err;
    }
    setenv("CUDA_MPS_PIPE_DIRECTORY", folder, 1);
    setenv("CUDA_MPS_LOG_DIRECTORY", folder, 1);
    if (pipe2(alive, O_CLOEXEC) || pipe2(ready, O_CLOEXEC) || (keeper = fork()) < 0) {
        int err = -errno;
        say("oshrun: --mps: no process to keep " DAEMON ": %s", strerror(-err));
        rmdir(folder);
        return err;
    }
    if (keeper == 0) {
        close(alive[1]);
        keep(alive[0], ready[1]);
    }
    close(alive[0]);
    close(ready[1]);
    keeper_fd = alive[1];
    while (read(ready[0], &word, 1) < 0 && errno == EINTR)
        ;
    close(ready[0]);
    if (word)
        return 0;
    explain();
    mps_down();
    return -ECHILD;
}

void mps_down(void)
{
    if (keeper <= 0)
        return;
    close(keeper_fd);
    waitpid(keeper, NULL, 0);
    keeper = 0;
}
