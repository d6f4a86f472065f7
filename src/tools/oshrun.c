/*
 * oshrun.c - start, watch and end an OpenSHMEM job: the event loop.
 *
 * One thread does all work except answering PMIx clients. Signals arrive through a signalfd, so no code here runs in a
 * signal handler. In ROLE_FRONT the only child is the engine, in ROLE_PE the only child is the PE.
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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/util/libc.h"

#define OUTPUT_S 0.25 /* for output of children of PEs after all PEs exited */

static int signal_fd;

/* Report the first connection of another user; the job continues. */
static void report_refused(void)
{
    static bool reported;

    if (!reported && accept_refused() >= 0)
        say("oshrun: warning: refused a connection of user %lld to this job's PMIx server", (long long)accept_refused());
    reported |= accept_refused() >= 0;
}

/* A call without which the loop cannot go on. */
static _Noreturn void cannot(const char *call)
{
    fprintf(stderr, "oshrun: %s: %s; does a sandbox refuse it?\n", call, strerror(errno));
    signal_groups(SIGKILL);
    _exit(1);
}

/* Find the PEs that exited. Do not reap them: while a zombie exists, its process group's number is not reused. */
static void look_at_pes(void)
{
    for (int i = 0; i < job.npes; i++) {
        siginfo_t how = {.si_pid = 0};
        if (!job.pes[i].pid || job.pes[i].ended)
            continue;
        if (waitid(P_PID, job.pes[i].pid, &how, WEXITED | WNOHANG | WNOWAIT) && errno != EINTR)
            cannot("waitid");
        if (!how.si_pid)
            continue;
        job.pes[i].ended = END_SEEN;
        job.pes[i].end = how;
        job.live--;
    }
    judge();
}

/* The PEs that live have reached the end of shmem_init. They go on if these are all; else the job is ended, now or once the exit of the
 * others is found. */
static void let_start(void)
{
    bool all = true;

    look_at_pes();
    for (int i = 0; i < job.npes && all; i++)
        all = job.pes[i].ended || !pe_is_dying(&job.pes[i]);
    if (all && !job.ending)
        server_start_all();
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
        if (job.ending)
            job.kill_at = now();
        if (job.opt.role == ROLE_JOB)
            end_job(128 + sig, sig, USER_GRACE_S);
        else /* the engine ended the PE: the PE did not fail */
            end_job(job.opt.role == ROLE_PE ? 0 : 128 + sig, SIGTERM, GRACE_S);
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
    signal(SIGXFSZ, SIG_IGN); /* the write of standard output fails instead */
    signal(SIGTTIN, SIG_IGN);
    signal(SIGTTOU, SIG_IGN);
    signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signal_fd < 0)
        cannot("signalfd"); /* nothing would tell that a PE has ended */
    if (sigprocmask(SIG_SETMASK, &set, NULL))
        cannot("sigprocmask");
}

static int wait_ms(double until)
{
    double left = until - now();

    return left < 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1e3) + 1;
}

/* The earlier of two times, of which 0 is none. */
static double sooner(double a, double b)
{
    return !a || (b && b < a) ? b : a;
}

/* Wait for events and handle them, until the time `until` (0: no limit) or the next deadline of the job. */
static void step(double until)
{
    struct pollfd fds[2] = {{.fd = signal_fd, .events = POLLIN}, {.fd = job.wake_fd, .events = POLLIN}};
    struct signalfd_siginfo info;
    uint64_t count;

    until = sooner(until, job.kill_at);
    until = sooner(until, job.report_at);
    if (!job.ending) {
        until = sooner(until, job.timeout_at);
        until = sooner(until, job.dying_until > now() ? job.dying_until : 0);
        until = sooner(until, job.start_at);
    }
    if (!io_wait(fds, 2, until ? wait_ms(until) : -1))
        cannot("poll");
    if (job.opt.role == ROLE_FRONT && engine_failure())
        end_job(engine_failure(), 0, GRACE_S); /* the engine ends the others */
    if (job.opt.role == ROLE_PE && fds[1].revents)
        end_job(0, SIGTERM, GRACE_S); /* the engine's daemon is gone */
    else if (fds[1].revents && read(job.wake_fd, &count, sizeof count) > 0) {
        report_refused();
        if (accept_failure())
            fail(1, "accept: %s; does a sandbox refuse it?", strerror(accept_failure()));
        if (server_connected() && !job.start_at && !server_fenced() && start_limit_s())
            job.start_at = now() + start_limit_s();
        judge();
    }
    if (!job.ending && job.start_at && now() >= job.start_at)
        report_absent();
    while (fds[0].revents && read(signal_fd, &info, sizeof info) == sizeof info)
        on_signal(info.ssi_signo);
    start_again();
    if (server_asks())
        let_start();
    if (out_error())
        lose_output();
    if (!job.ending && job.dying_until && now() >= job.dying_until)
        judge();
    if (!job.ending && job.timeout_at && now() >= job.timeout_at)
        time_out();
    if (job.report_at && now() >= job.report_at) {
        job.report_at = 0;
        job.ending = false;
        end_job(EXIT_TIMEOUT, SIGTERM, GRACE_S);
    }
    if (job.kill_at && now() >= job.kill_at) {
        signal_groups(SIGKILL);
        job.kill_at = now() + 1e9;
    }
}

static void run(void)
{
    double last;

    while (job.live)
        step(0);
    for (last = now() + OUTPUT_S; streams_left() && now() < last;)
        step(last);
    signal_groups(SIGKILL);
    io_drain();
    if (job.opt.role == ROLE_FRONT)
        engine_ended();
    report_deaths();
    for (last = now() + USER_GRACE_S; output_left() && (!job.ending || now() < last);)
        step(job.ending ? last : 0);
    if (out_error())
        lose_output();
    if (!job.status && output_lost())
        job.status = 1;
}

/* Descriptors 0 to 2 must exist, else the first pipe would become a standard stream. */
static void standard_files(void)
{
    int fd;

    while ((fd = open("/dev/null", O_RDWR)) >= 0 && fd <= 2)
        ;
    if (fd > 2)
        close(fd);
}

int main(int argc, char **argv)
{
    void *topology;
    int err;

    standard_files();
    unsetenv("SHMEM_UNIQUEID"); /* of the job that this one may be started from */
    opt_parse(&job.opt, argc, argv);
    job.timeout_at = job.opt.timeout_s ? now() + job.opt.timeout_s : 0;
    if (job.opt.gdb >= 0)
        setenv("SHMEM_START_TIMEOUT", "0", 0); /* PEs wait while the user steps through another one */
    if (job.opt.survive)
        setenv("SHMEM_FAULTS", "continue", 1);
    pes_up();
    io_up(job.pes[0].rank, job.npes, job.opt.label && job.opt.role != ROLE_FRONT, job.opt.role == ROLE_FRONT ? engine_heard : NULL);
    topology = cores_up();
    show();
    signals_up();
    if ((err = guardian_up(job.opt.role == ROLE_FRONT ? ENGINE_GRACE_S : 0))) {
        say("oshrun: cannot fork: %s", strerror(-err));
        return 1;
    }
    if (job.opt.role == ROLE_PE) {
        const char *pmi = getenv("PMI_FD");
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* Slurm's step daemon leaves a socket open to its children */
        if (pmi)
            fcntl(atoi(pmi), F_SETFD, 0);
        job.wake_fd = syscall(SYS_pidfd_open, getppid(), 0);
    }
    if ((job.opt.mps && mps_up()) || start_ready(topology))
        job.status = 1;
    else {
        start_all();
        run();
    }
    if (job.opt.gdb >= 0 && isatty(0))
        tcsetpgrp(0, getpgrp());
    guardian_down();
    mps_down();
    for (int i = 0; i < job.npes; i++) /* reap them, so that time(1) counts their processor time */
        if (job.pes[i].pid)
            waitpid(job.pes[i].pid, NULL, 0);
    while (waitpid(-1, NULL, WNOHANG) > 0) /* those that were started again */
        ;
    _exit(job.status);
}
