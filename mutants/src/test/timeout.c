/*
 * timeout.c - `timeout [-k KILL_AFTER] SECONDS COMMAND...` for the tests: as that of coreutils, but the limit is of the time in which the
 * command's processes run, or sleep. Time in which they wait for a processor counts by the share of the processors that they got, and
 * time in which this process is stopped, too, counts as one tick. So a slow machine does not look like a hang.
 *
 * `make check` puts it before coreutils' timeout in PATH. Where the kernel keeps no statistics
 * (CONFIG_SCHED_INFO) all time counts. Processes that daemons have started for the command are not seen.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_LIMITS = 20, /* of all time, in limits: for processes that neither end nor get a processor */
    MOST_PROCESSES = 4096
};

struct use {
    double run, wait; /* seconds of all threads, on a processor and waiting for one; a wait is added when it ends */
    int ready;        /* threads that have or want a processor now */
};

static int is_ready(int pid, const char *thread)
{
    char path[300], line[512] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/stat", pid, thread);
    FILE *f = fopen(path, "r");
    const char *name_end = f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
    if (f)
        fclose(f);
    return name_end && name_end[1] == ' ' && name_end[2] == 'R';
}

/* Add what the threads of a process have used since they began. */
static void add_use(int pid, struct use *u)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *d = opendir(path);
    for (struct dirent *e; d && (e = readdir(d));) {
        unsigned long long run, wait;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", pid, e->d_name);
        FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (f && fscanf(f, "%llu %llu", &run, &wait) == 2) {
            u->run += (double)run / 1e9;
            u->wait += (double)wait / 1e9;
            u->ready += is_ready(pid, e->d_name);
        }
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
}

/* The processes of /proc and their parents. Returns their number. */
static int list_processes(int *pid, int *parent)
{
    int n = 0;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && n < MOST_PROCESSES && (e = readdir(d));) {
        char path[300], line[512] = "";
        snprintf(path, sizeof path, "/proc/%.20s/stat", e->d_name);
        FILE *f = e->d_name[0] >= '1' && e->d_name[0] <= '9' ? fopen(path, "r") : NULL;
        if (f && fgets(line, sizeof line, f) && strrchr(line, ')') && sscanf(strrchr(line, ')'), ") %*c %d", &parent[n]) == 1)
            pid[n++] = atoi(e->d_name);
        if (f)
            fclose(f);
    }
    if (d)
        closedir(d);
    return n;
}

/* The same for a process and all its descendants. */
static void add_tree(int root, struct use *u)
{
    static int pid[MOST_PROCESSES], parent[MOST_PROCESSES], tree[MOST_PROCESSES];
    int n = list_processes(pid, parent), members = 1;
    tree[0] = root;
    for (int k = 0; k < members; k++) {
        add_use(tree[k], u);
        for (int i = 0; i < n && members < MOST_PROCESSES; i++)
            if (parent[i] == tree[k])
                tree[members++] = pid[i];
    }
}

static double cpus(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* How much of a tick counts, after this use in it. */
static double counts(double tick, double run, double wait, int ready_now)
{
    if (run < 0 || wait < 0) /* a thread has ended */
        return tick;
    if (ready_now && run + wait < tick) /* one may wait for a processor, and its wait is not added yet */
        return run;
    if (run + wait < tick / 100) /* all slept */
        return tick;
    double ready = (run + wait) / tick; /* threads on average */
    return ready > cpus() ? run / cpus() : tick * run / (run + wait);
}

/* Send a signal to the command and the group, of which this process, which blocks it, is a member. */
static void end_group(int child, int sig)
{
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, sig);
    kill(child, sig);
    kill(0, sig);
    sigtimedwait(&own, NULL, &(struct timespec){0, 0});
    kill(child, SIGCONT);
}

int main(int argc, char **argv)
{
    double kill_after = 0, counted = 0, all = 0;
    int at = 1, expired = 0, status;
    if (argc > 2 && !strcmp(argv[1], "-k")) {
        kill_after = strtod(argv[2], NULL);
        at = 3;
    }
    if (argc < at + 2) {
        fprintf(stderr, "usage: timeout [-k KILL_AFTER] SECONDS COMMAND...\n");
        return 125;
    }
    double limit = strtod(argv[at], NULL), tick = limit < 8 ? limit / 8 : 1;
    if (limit == 0)
        limit = 1e9, tick = 1;
    setpgid(0, 0);
    sigset_t set, old;
    sigemptyset(&set);
    for (const int *s = (const int[]){SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGQUIT, 0}; *s; s++)
        sigaddset(&set, *s);
    sigprocmask(SIG_BLOCK, &set, &old);
    int child = fork();
    if (child == 0) {
        sigprocmask(SIG_SETMASK, &old, NULL);
        execvp(argv[at + 1], argv + at + 1);
        int err = errno;
        perror(argv[at + 1]);
        _exit(err == ENOENT ? 127 : 126);
    }
    struct use before = {0, 0, 0};
    while (child > 0 && waitpid(child, &status, WNOHANG) == 0) {
        struct timespec t = {(time_t)tick, (long)((tick - (double)(time_t)tick) * 1e9)};
        int sig = sigtimedwait(&set, NULL, &t);
        if (sig > 0 && sig != SIGCHLD)
            end_group(child, sig);
        if (sig > 0)
            continue;
        struct use now = {0, 0, 0};
        add_tree(child, &now);
        counted += counts(tick, now.run - before.run, now.wait - before.wait, now.ready);
        all += tick;
        before = now;
        if (counted < limit && all < MOST_LIMITS * limit)
            continue;
        end_group(child, expired ? SIGKILL : SIGTERM);
        expired = 1;
        counted = all = 0;
        limit = kill_after > 0 ? kill_after : 1e9;
    }
    if (child < 0)
        return 125;
    return expired ? 124 : WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
