/*
 * oshrun.c - start an OpenSHMEM job on this machine, watch it, and end it: the job and its event loop.
 *
 * One thread does everything but answer PMIx clients. Signals arrive through a signalfd, so nothing here runs in a
 * handler. The first failure in time decides the exit status; whatever fails while the job is being ended is silent.
 */
#include "oshrun.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

#define GRACE_S 0.4      /* from SIGTERM to SIGKILL after a failure */
#define USER_GRACE_S 2.0 /* the same when a signal to oshrun ends the job */
#define OUTPUT_S 0.25    /* for children of PEs that still hold a pipe when all PEs are gone */

static struct options opt;
static struct pe *pes;
static int live, status;
static bool ending;
static double kill_at, timeout_at; /* 0: not set */
static int signal_fd, wake_fd;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void signal_groups(int sig)
{
    for (int i = 0; i < opt.npes; i++)
        if (pes[i].pid)
            kill(-pes[i].pid, sig);
}

/* End the job with this exit status: sig now, SIGKILL after the grace. Only the first call decides the status. */
static void end_job(int exit_status, int sig, double grace_s)
{
    if (ending)
        return;
    ending = true;
    status = exit_status;
    kill_at = now() + grace_s;
    signal_groups(sig);
    signal_groups(SIGCONT);
}

static const char *whereabouts(const struct pe *pe)
{
    static char text[512], host[256];

    gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, "PE %d (pid %d on %s, %s)", pe->rank, (int)pe->pid, host, pe->app->argv[0]);
    return text;
}

static bool check_abort(void)
{
    const char *words;
    int rank, code;

    if (ending || !server_aborted(&rank, &code, &words))
        return false;
    if (code)
        say("oshrun: %s ended the job with status %d%s%s", whereabouts(&pes[rank]), code, *words ? ": " : "", words);
    end_job(code & 0xff ? code & 0xff : code != 0, SIGTERM, GRACE_S);
    return true;
}

static void pe_exited(struct pe *pe, const siginfo_t *how)
{
    const char *rest = live ? "; ending the others" : "";

    if (check_abort() || ending)
        return;
    if (how->si_code != CLD_EXITED) {
        const char *name = sigabbrev_np(how->si_status), *words = sigdescr_np(how->si_status);
        say("oshrun: %s was killed by SIG%s (%s)%s", whereabouts(pe), name ? name : "?", words ? words : "unknown", rest);
        end_job(128 + how->si_status, SIGTERM, GRACE_S);
    } else if (how->si_status) {
        say("oshrun: %s exited with status %d%s", whereabouts(pe), how->si_status, rest);
        end_job(how->si_status, SIGTERM, GRACE_S);
    } else if (live && atomic_load_explicit(&pe->pmix, memory_order_acquire) == PMIX_CONNECTED) { /* M1 of oshrun_pmix.c */
        say("oshrun: %s exited with status 0 but without shmem_finalize%s", whereabouts(pe), rest);
        end_job(1, SIGTERM, GRACE_S);
    }
}

/* See who exited, and leave the zombies: their process groups can then be signalled without hitting a stranger. */
static void look_at_pes(void)
{
    for (int i = 0; i < opt.npes; i++) {
        siginfo_t how = {.si_pid = 0};
        if (!pes[i].pid || pes[i].exited || waitid(P_PID, pes[i].pid, &how, WEXITED | WNOHANG | WNOWAIT) || !how.si_pid)
            continue;
        pes[i].exited = true;
        live--;
        pe_exited(&pes[i], &how);
    }
}

static void on_signal(int sig)
{
    switch (sig) {
    case SIGCHLD:
        look_at_pes();
        break;
    case SIGINT:
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT:
        if (ending)
            kill_at = now();
        end_job(128 + sig, sig, USER_GRACE_S);
        break;
    case SIGTSTP:
        signal_groups(SIGTSTP);
        raise(SIGSTOP);
        break;
    default:
        signal_groups(sig);
    }
}

static void signals_up(void)
{
    static const int taken[] = {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP};
    struct sigaction old;
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (taken[i] == SIGCHLD || (!sigaction(taken[i], NULL, &old) && old.sa_handler != SIG_IGN))
            sigaddset(&set, taken[i]);
    signal(SIGCHLD, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static void *need(void *p)
{
    if (p)
        return p;
    fputs("oshrun: out of memory\n", stderr);
    exit(1);
}

/* Return a copy of the environment with the -x variables of the program. */
static char **env_of(const struct app *app)
{
    int n = 0, inherited = 0;

    while (environ[inherited])
        inherited++;
    char **env = need(calloc(inherited + app->nenv + 1, sizeof *env));
    for (int i = 0; i < inherited + app->nenv; i++) {
        const char *pair = i < inherited ? environ[i] : app->env[i - inherited];
        size_t name = strcspn(pair, "=") + 1;
        int at = 0;
        while (at < n && strncmp(env[at], pair, name))
            at++;
        if (i < inherited)
            at = n;
        free(env[at]);
        env[at] = need(strdup(pair));
        n += at == n;
    }
    return env;
}

static int pe_start(struct pe *pe, int input)
{
    int fd[3] = {input, stream_open(pe->rank, 0), stream_open(pe->rank, 1)};
    const char *what = "pipe";
    char **env = env_of(pe->app);
    int err = fd[0] < 0 ? fd[0] : fd[1] < 0 ? fd[1] : fd[2] < 0 ? fd[2] : 0;

    if (!err) {
        what = "environment";
        err = server_env(pe, &env);
    }
    if (!err)
        err = pe_spawn(pe, fd, env, &what);
    for (char **e = env; *e; e++)
        free(*e);
    free(env);
    if (fd[1] >= 0)
        close(fd[1]);
    if (fd[2] >= 0)
        close(fd[2]);
    if (!err) {
        live++;
        return 0;
    }
    say("oshrun: cannot start PE %d: %s: %s", pe->rank, what, strerror(-err));
    end_job(what != pe->app->argv[0] ? 1 : err == -ENOENT || err == -ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE, SIGTERM,
            GRACE_S);
    return err;
}

static void start_all(void)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), input = stdin_open();

    for (int i = 0; i < opt.npes; i++)
        if (pe_start(&pes[i], i ? nothing : input))
            break;
    if (input > 2)
        close(input);
    if (nothing > 2)
        close(nothing);
}

static int wait_ms(double until)
{
    double left = until - now();

    return left < 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1e3) + 1;
}

/* Wait for what comes next and act on it, no longer than until (0: for ever) or the next deadline of the job. */
static void step(double until)
{
    struct pollfd fds[2] = {{.fd = signal_fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    struct signalfd_siginfo info;
    uint64_t count;

    if (kill_at && (!until || kill_at < until))
        until = kill_at;
    if (!ending && timeout_at && (!until || timeout_at < until))
        until = timeout_at;
    io_wait(fds, 2, until ? wait_ms(until) : -1);
    if (fds[1].revents && read(wake_fd, &count, sizeof count) > 0)
        check_abort();
    while (fds[0].revents && read(signal_fd, &info, sizeof info) == sizeof info)
        on_signal(info.ssi_signo);
    if (out_broken())
        end_job(128 + SIGPIPE, SIGTERM, GRACE_S);
    if (!ending && timeout_at && now() >= timeout_at) {
        say("oshrun: the job ran longer than --timeout and is ended");
        end_job(EXIT_TIMEOUT, SIGTERM, GRACE_S);
    }
    if (kill_at && now() >= kill_at) {
        signal_groups(SIGKILL);
        kill_at = now() + 1e9;
    }
}

static void run(void)
{
    double last;

    while (live)
        step(0);
    for (last = now() + OUTPUT_S; streams_left() && now() < last;)
        step(last);
    signal_groups(SIGKILL);
    io_drain();
    for (last = now() + USER_GRACE_S; output_left() && (!ending || now() < last);)
        step(ending ? last : 0);
}

/* Descriptors 0 to 2 must exist, or the first pipe would become somebody's standard output. */
static void standard_files(void)
{
    int fd;

    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= 2)
        ;
    if (fd > 2)
        close(fd);
}

static void pes_up(void)
{
    int rank = 0;

    pes = need(calloc(opt.npes, sizeof *pes));
    for (int a = 0; a < opt.napps; a++)
        for (int i = 0; i < opt.apps[a].npes; i++, rank++) {
            pes[rank].app = &opt.apps[a];
            pes[rank].appnum = a;
            pes[rank].rank = rank;
        }
}

int main(int argc, char **argv)
{
    void *topology;
    int err;

    standard_files();
    opt_parse(&opt, argc, argv);
    timeout_at = opt.timeout_s ? now() + opt.timeout_s : 0;
    pes_up();
    io_up(opt.npes, opt.label);
    signals_up();
    if ((err = guardian_up())) {
        say("oshrun: cannot fork: %s", strerror(-err));
        return 1;
    }
    topology = cores_assign(pes, opt.npes, opt.bind);
    if (server_up(pes, opt.npes, opt.napps, topology, &wake_fd))
        status = 1;
    else {
        start_all();
        run();
    }
    guardian_down();
    _exit(status);
}
