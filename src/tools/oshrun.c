/*
 * oshrun.c - start, watch and end an OpenSHMEM job: the job's state and the event loop.
 *
 * One thread does all work except answering PMIx clients. Signals arrive through a signalfd, so no code here runs in a
 * signal handler. The first failure decides the exit status; failures while the job is being ended are not reported.
 *
 * In ROLE_FRONT the only child is the engine, in ROLE_PE the only child is the PE.
 */
#include "oshrun.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/util/libc.h"

extern char **environ;

#define GRACE_S 0.4      /* from SIGTERM to SIGKILL after a failure */
#define REPORT_S 0.3     /* for PEs to report where they wait, before --timeout ends them */
#define USER_GRACE_S 2.0 /* the same when a signal to oshrun ends the job */
#define ENGINE_GRACE_S 6.0 /* the same for an engine, which ends the job on all hosts */
#define ENGINE_KILL_US 300000 /* between an engine's signal to a PE and the one to the PE's oshrun, at most */
#define START_S 60            /* SHMEM_START_TIMEOUT's default, as in host/util/config.def */
#define LEAVE_MS 1000         /* between a PE's exit and the server's news that it has left the job, at most */
#define DYING_S 2.0        /* for the exit of a PE that is dying */
#define OUTPUT_S 0.25    /* for output of children of PEs after all PEs exited */

static struct options opt;
static struct pe *pes;
static int npes, live, status; /* npes: PEs that this process starts, 1 except in ROLE_JOB */
static bool ending;
static double kill_at, timeout_at; /* 0: not set */
static double report_at;           /* PEs may report until then; 0: not set */
static double start_at;            /* PEs should have called shmem_init by then; 0: no PE has called it, or this was checked */
static double dying_until;         /* wait until then for the exit of a PE that is dying; 0: not set */
static int signal_fd;
static int wake_fd = -1; /* readable after a PE called PMIx_Abort; in ROLE_PE after the engine's daemon exited */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int pmix_of(const struct pe *pe)
{
    return atomic_load_explicit(&pe->pmix, memory_order_acquire); /* M1 of oshrun_pmix.c */
}

static void signal_groups(int sig)
{
    for (int i = 0; i < npes; i++)
        if (pes[i].pid)
            kill(-pes[i].pid, sig);
}

/* End the job with this exit status: sig now, SIGKILL after grace seconds. The first call decides the status. */
static void end_job(int exit_status, int sig, double grace_s)
{
    if (ending)
        return;
    ending = true;
    if (opt.role == ROLE_FRONT)
        engine_hush();
    status = exit_status;
    kill_at = now() + (opt.role == ROLE_FRONT ? ENGINE_GRACE_S : grace_s);
    signal_groups(sig);
    signal_groups(SIGCONT);
}

/* End the job after a failure and print the reason. */
__attribute__((format(printf, 2, 3))) static void fail(int exit_status, const char *format, ...)
{
    char text[1024];
    va_list ap;

    if (ending)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (opt.role == ROLE_PE)
        engine_report(exit_status, text);
    else
        say("oshrun: %s", text);
    if (opt.role == ROLE_JOB)
        debug_aborting(text);
    end_job(exit_status, SIGTERM, GRACE_S);
}

/* End the job with EXIT_TIMEOUT. On one machine, PEs that have initialised the library first report where they wait. */
static void time_out(void)
{
    static const char words[] = "the job ran longer than --timeout and is ended";

    timeout_at = 0;
    if (opt.role != ROLE_JOB) {
        fail(EXIT_TIMEOUT, "%s", words);
        return;
    }
    say("oshrun: %s", words);
    ending = true; /* later exits are consequences, not failures */
    status = EXIT_TIMEOUT;
    report_at = now() + REPORT_S;
    for (int i = 0; i < npes; i++)
        if (pes[i].pid && pmix_of(&pes[i]) == PMIX_CONNECTED)
            kill(-pes[i].pid, SIGUSR1);
}

/* What the kernel says of a process. */
struct process {
    char state;     /* 0: it is gone */
    unsigned flags; /* PF_ */
};

static struct process process(const struct pe *pe)
{
    struct process p = {0};
    char path[32], text[512];

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pe->pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *behind_name = strrchr(text, ')');
    if (!behind_name || sscanf(behind_name, ") %c %*d %*d %*d %*d %*d %u", &p.state, &p.flags) != 2)
        return (struct process){0};
    return p;
}

static const char *whereabouts(const struct pe *pe)
{
    static char text[512], host[256];

    gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, "PE %d (pid %d on %s, %s)", pe->rank, (int)pe->pid, host, pe->app->argv[0]);
    return text;
}

/* The limit of each step of the start; 0: none. The library reports a value that is not a number. */
static long start_limit_s(void)
{
    const char *text = getenv("SHMEM_START_TIMEOUT");
    char *end;
    long n = text ? strtol(text, &end, 10) : START_S;

    return text && (end == text || *end || n < 0) ? START_S : n;
}

/* A PE has waited in shmem_init for as long as it may, and ends the job a second later. Name the PEs for which it waits. */
static void report_absent(void)
{
    start_at = 0;
    if (server_fenced())
        return;
    for (int i = 0; i < npes; i++) {
        bool never = pmix_of(&pes[i]) == PMIX_NEVER, stopped = !pes[i].ended && (process(&pes[i]).state | 32) == 't';
        if (never || stopped)
            say("oshrun: %s%s%s%s", whereabouts(&pes[i]), never ? " has not called shmem_init" : "",
                never && (stopped || pes[i].ended) ? " and" : "", stopped ? " is stopped" : pes[i].ended ? " has ended" : "");
    }
}

static void judge_abort(const struct abort_record *a)
{
    int exit_status = a->status & 0xff ? a->status & 0xff : a->status != 0;

    if (a->status)
        fail(exit_status, "%s ended the job with status %d%s%s", whereabouts(&pes[a->rank]), a->status,
             *a->words ? ": " : "", a->words);
    else
        end_job(exit_status, SIGTERM, GRACE_S);
}

/* The engine exited and its output was read. Its status is the job's when no PE's oshrun reported a failure. */
static void engine_ended(void)
{
    if (ending)
        return;
    status = pes[0].end.si_code == CLD_EXITED ? pes[0].end.si_status : 128 + pes[0].end.si_status;
    const char *reason = engine_reason();
    if (reason && !status) /* the engine ended the remaining PEs: they did not fail */
        status = 1;
    if (status)
        fail(status, "%s ended the job with status %d%s%s", opt.engine, status, reason ? ": " : "", reason ? reason : "");
}

/* Engines signal all processes of a step, in any order. A PE that died by such a signal did not fail. After SIGKILL its
 * oshrun cannot report it. */
static bool ended_by_engine(int sig)
{
    sigset_t pending;

    if (sig != SIGKILL && sig != SIGTERM)
        return false;
    usleep(ENGINE_KILL_US);
    return !sigpending(&pending) && sigismember(&pending, SIGTERM);
}

/* Has the PE left the server? libpmix's clients stop waiting for the server after 2 s, on a machine with too much to do, and the
 * PE's exit may be known here before the server reads that it leaves. */
static bool has_left(const struct pe *pe)
{
    for (int ms = 0; pmix_of(pe) == PMIX_CONNECTED && ms < LEAVE_MS; ms += 10)
        usleep(10000);
    return pmix_of(pe) != PMIX_CONNECTED;
}

static void judge_exit(struct pe *pe)
{
    const char *rest = live || opt.role == ROLE_PE ? "; ending the others" : "";
    const siginfo_t *how = &pe->end;

    if (ending)
        return;
    pe->ended = END_JUDGED;
    if (how->si_code != CLD_EXITED) {
        if (opt.role == ROLE_PE && ended_by_engine(how->si_status)) {
            end_job(0, SIGTERM, GRACE_S);
            return;
        }
        const char *name = sigabbrev_np(how->si_status), *words = sigdescr_np(how->si_status);
        fail(128 + how->si_status, "%s was killed by SIG%s (%s)%s", whereabouts(pe), name ? name : "?",
             words ? words : "unknown", rest);
    } else if (how->si_status)
        fail(how->si_status, "%s exited with status %d%s", whereabouts(pe), how->si_status, rest);
    else if (live && !has_left(pe))
        fail(1, "%s exited with status 0 but without shmem_finalize%s", whereabouts(pe), rest);
}

/* End the job: writing standard output failed. A closed pipe needs no message. */
static void lose_output(void)
{
    if (out_error() == EPIPE)
        end_job(128 + SIGPIPE, SIGTERM, GRACE_S);
    else
        fail(1, "cannot write standard output: %s%s", strerror(out_error()), live ? "; ending the job" : "");
}

/* Is the process exiting? Its sockets are closed, which other PEs may notice, before waitid reports its exit. */
static bool dying(const struct pe *pe)
{
    enum { PF_EXITING = 4 }; /* Linux, include/linux/sched.h */

    return process(pe).flags & PF_EXITING;
}

/* Is a PE exiting that did not call PMIx_Abort? It may be the cause of other PEs' failures, so wait for its exit. */
static bool cause_is_dying(void)
{
    bool found = false;

    for (int i = 0; i < npes && !found; i++)
        found = pes[i].pid && !pes[i].ended && pmix_of(&pes[i]) != PMIX_ABORTED && dying(&pes[i]);
    if (found && !dying_until)
        dying_until = now() + DYING_S;
    return found && now() < dying_until;
}

static bool killed(const struct pe *pe)
{
    return pe->end.si_code != CLD_EXITED;
}

/* Decide the job's status from the PEs that exited and the first PMIx_Abort. When several are new, a PE that died without
 * PMIx_Abort counts first, as its death may have caused the abort, and among those one killed by a signal. */
static void judge(void)
{
    const struct abort_record *a = server_aborted();
    bool failed = a;

    for (int i = 0; i < npes; i++)
        failed |= pes[i].ended == END_SEEN && (killed(&pes[i]) || pes[i].end.si_status);
    if (opt.role == ROLE_FRONT || ending || (failed && cause_is_dying()))
        return;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < npes; i++)
            if (pes[i].ended == END_SEEN && pmix_of(&pes[i]) != PMIX_ABORTED && (pass || killed(&pes[i])))
                judge_exit(&pes[i]);
    if (a && !ending)
        judge_abort(a);
}

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
    for (int i = 0; i < npes; i++) {
        siginfo_t how = {.si_pid = 0};
        if (!pes[i].pid || pes[i].ended)
            continue;
        if (waitid(P_PID, pes[i].pid, &how, WEXITED | WNOHANG | WNOWAIT) && errno != EINTR)
            cannot("waitid");
        if (!how.si_pid)
            continue;
        pes[i].ended = END_SEEN;
        pes[i].end = how;
        live--;
    }
    judge();
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
        if (opt.role == ROLE_JOB)
            end_job(128 + sig, sig, USER_GRACE_S);
        else /* the engine ended the PE: the PE did not fail */
            end_job(opt.role == ROLE_PE ? 0 : 128 + sig, SIGTERM, GRACE_S);
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

static void *need(void *p)
{
    if (!p)
        out_of_memory();
    return p;
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

/* gdb has oshrun's terminal, the PE's output included. */
static int pe_start(struct pe *pe, int input)
{
    bool gdb = pe->rank == opt.gdb;
    int fd[3] = {gdb ? 0 : input, gdb ? 1 : stream_open(pe->rank, 0), gdb ? 2 : stream_open(pe->rank, 1)};
    const char *what = "pipe";
    char **env = env_of(pe->app);
    int err = fd[0] < 0 ? fd[0] : fd[1] < 0 ? fd[1] : fd[2] < 0 ? fd[2] : 0;

    if (!err && opt.role == ROLE_JOB) {
        what = "environment";
        err = server_env(pe, &env);
    }
    if (!err)
        err = pe_spawn(pe, fd, env, &what);
    for (char **e = env; *e; e++)
        free(*e);
    free(env);
    if (fd[1] > 2)
        close(fd[1]);
    if (fd[2] > 2)
        close(fd[2]);
    if (!err) {
        live++;
        return 0;
    }
    bool program = what == pe->app->argv[0], here = program && err == -ENOENT && !strchr(what, '/') && !access(what, X_OK);
    fail(!program ? 1 : err == -ENOENT || err == -ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE, "cannot start PE %d: %s: %s%s%s%s",
         pe->rank, what, strerror(-err), here ? " on PATH; the program in this folder is ./" : "", here ? what : "", "");
    return err;
}

static bool gets_input(const struct pe *pe)
{
    return opt.role == ROLE_FRONT || opt.input == INPUT_ALL || opt.input == pe->rank;
}

static void start_all(void)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), err = 0;

    for (int i = 0; i < npes && !err; i++) {
        int input = gets_input(&pes[i]) ? stdin_open(opt.role == ROLE_JOB && opt.input == INPUT_ALL) : nothing;
        err = pe_start(&pes[i], input);
        if (input > 2 && input != nothing)
            close(input);
    }
    if (nothing > 2)
        close(nothing);
    if (!err && opt.role == ROLE_JOB)
        debug_started(pes, npes);
}

static int wait_ms(double until)
{
    double left = until - now();

    return left < 0 ? 0 : left > 1e6 ? 1000000000 : (int)(left * 1e3) + 1;
}

/* Wait for events and handle them, until the time `until` (0: no limit) or the next deadline of the job. */
static void step(double until)
{
    struct pollfd fds[2] = {{.fd = signal_fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    struct signalfd_siginfo info;
    uint64_t count;

    if (kill_at && (!until || kill_at < until))
        until = kill_at;
    if (report_at && (!until || report_at < until))
        until = report_at;
    if (!ending && timeout_at && (!until || timeout_at < until))
        until = timeout_at;
    if (!ending && dying_until > now() && (!until || dying_until < until))
        until = dying_until;
    if (!ending && start_at && (!until || start_at < until))
        until = start_at;
    if (!io_wait(fds, 2, until ? wait_ms(until) : -1))
        cannot("poll");
    if (opt.role == ROLE_FRONT && engine_failure())
        end_job(engine_failure(), 0, GRACE_S); /* the engine ends the others */
    if (opt.role == ROLE_PE && fds[1].revents)
        end_job(0, SIGTERM, GRACE_S); /* the engine's daemon is gone */
    else if (fds[1].revents && read(wake_fd, &count, sizeof count) > 0) {
        report_refused();
        if (accept_failure())
            fail(1, "accept: %s; does a sandbox refuse it?", strerror(accept_failure()));
        if (server_connected() && !start_at && !server_fenced() && start_limit_s())
            start_at = now() + start_limit_s();
        judge();
    }
    if (!ending && start_at && now() >= start_at)
        report_absent();
    while (fds[0].revents && read(signal_fd, &info, sizeof info) == sizeof info)
        on_signal(info.ssi_signo);
    if (out_error())
        lose_output();
    if (!ending && dying_until && now() >= dying_until)
        judge();
    if (!ending && timeout_at && now() >= timeout_at)
        time_out();
    if (report_at && now() >= report_at) {
        report_at = 0;
        ending = false;
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
    if (opt.role == ROLE_FRONT)
        engine_ended();
    for (last = now() + USER_GRACE_S; output_left() && (!ending || now() < last);)
        step(ending ? last : 0);
    if (out_error())
        lose_output();
    if (!status && output_lost())
        status = 1;
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

/* This PE runs under gdb. */
static void gdb_up(struct pe *pe)
{
    static struct app gdb;

    gdb = *pe->app;
    gdb.argv = debug_command(pe->app->argv);
    pe->app = &gdb;
    pe->foreground = isatty(0);
}

static void pes_up(void)
{
    static struct app engine;
    const char *own = hosts_rank();
    int rank = 0, mine = opt.role == ROLE_PE && own ? atoi(own) : 0;

    npes = opt.role == ROLE_JOB ? opt.npes : 1;
    pes = need(calloc(npes, sizeof *pes));
    if (opt.role == ROLE_FRONT) {
        opt.engine = engine_command(&opt, &engine);
        pes[0].app = &engine;
        return;
    }
    for (int a = 0; a < opt.napps; a++)
        for (int i = 0; i < opt.apps[a].npes; i++, rank++)
            if (opt.role == ROLE_JOB || rank == mine)
                pes[opt.role == ROLE_JOB ? rank : 0] = (struct pe){
                    .app = &opt.apps[a], .appnum = a, .rank = rank, .death_sig = SIGKILL,
                    .own_session = opt.role == ROLE_PE};
    if (opt.gdb >= 0)
        gdb_up(&pes[opt.gdb]);
    if (!pes[0].app || (opt.role == ROLE_PE && !own))
        usage_error("--as-pe: the launcher set no valid rank (PMIX_RANK, PMI_RANK)");
}

/* Check what libpmix needs, for a clearer message than its own. 0, or -errno after one line. */
static int machine_check(void)
{
    enum { STACK_LEAST = 256 << 10 }; /* libpmix 4.2's PMIx_server_setup_fork has 192 KiB of variables */
    char folder[PATH_MAX];
    bool stay = false;
    struct rlimit stack;

    if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur < STACK_LEAST) {
        say("oshrun: ulimit -s %llu: libpmix needs a stack of at least %d KiB", (unsigned long long)stack.rlim_cur >> 10, STACK_LEAST >> 10);
        return -ENOMEM;
    }
    for (int a = 0; a < opt.napps; a++)
        stay |= !opt.apps[a].wdir;
    if (stay && !getcwd(folder, sizeof folder) && errno == ENOENT)
        say("oshrun: warning: the current directory was removed: change to one that exists, or use --wdir");
    return files_up(opt.npes, (opt.output ? 2 : 0) + (opt.input == INPUT_ALL));
}

/* Choose the cores of the PEs that this process starts. Returns the hwloc topology. */
static void *cores_up(void)
{
    int first = opt.role == ROLE_PE ? hosts_local_index(&opt, pes[0].rank) : 0;

    if (first < 0 && opt.place.bind != LEVEL_DEFAULT && opt.place.bind != LEVEL_NONE)
        say("oshrun: warning: PE %d is not bound: its launcher does not give its index on the host; name the hosts (-H)",
            pes[0].rank);
    return cores_assign(pes, npes, first, &opt.place);
}

/* The hosts and programs of a job that an engine starts. */
static void show_hosts(FILE *f)
{
    const int *host = hosts_of_pes(&opt);
    int rank = 0;

    for (int a = 0; a < opt.napps; a++)
        for (int i = 0; i < opt.apps[a].npes; i++, rank++)
            fprintf(f, "PE %d on %s: %s\n", rank, host ? opt.hosts[host[rank]].name : "a host that the engine chooses",
                    opt.apps[a].argv[0]);
}

/* Print what this process starts; f: standard output for --dry-run, which ends here. */
static void show(FILE *f)
{
    if (opt.role == ROLE_FRONT && opt.dry_run)
        show_hosts(f);
    if (opt.role == ROLE_FRONT)
        engine_show(f, pes[0].app);
    for (int i = 0; i < npes && opt.role != ROLE_FRONT; i++)
        place_report(f, &pes[i]);
    if (opt.dry_run)
        printed();
}

static void on_late(int sig)
{
    (void)sig;
    server_is_late();
}

/* What must be there before the first PE starts. 0, or -errno after one line. */
static int ready(void *topology)
{
    const char *file;
    int err = opt.role == ROLE_JOB ? machine_check() : 0;

    if (err)
        return err;
    if (opt.output && opt.role != ROLE_FRONT && (err = io_files_up(opt.output, opt.npes - 1, &file))) {
        fail(1, "--output-filename: cannot write '%s': %s", file, strerror(-err));
        return err;
    }
    if (opt.role != ROLE_JOB)
        return 0;
    signal(SIGALRM, on_late);
    alarm(start_limit_s() < INT_MAX ? (unsigned)start_limit_s() : 0);
    err = server_up(pes, npes, opt.napps, topology, &wake_fd);
    alarm(0);
    return err;
}

int main(int argc, char **argv)
{
    void *topology = NULL;
    int err;

    standard_files();
    opt_parse(&opt, argc, argv);
    timeout_at = opt.timeout_s ? now() + opt.timeout_s : 0;
    if (opt.gdb >= 0)
        setenv("SHMEM_START_TIMEOUT", "0", 0); /* PEs wait while the user steps through another one */
    pes_up();
    io_up(pes[0].rank, npes, opt.label && opt.role != ROLE_FRONT, opt.role == ROLE_FRONT ? engine_heard : NULL);
    if (opt.role != ROLE_FRONT)
        topology = cores_up();
    if (opt.dry_run || opt.verbose || (opt.report && opt.role != ROLE_FRONT))
        show(opt.dry_run ? stdout : stderr);
    signals_up();
    if ((err = guardian_up(opt.role == ROLE_FRONT ? ENGINE_GRACE_S : 0))) {
        say("oshrun: cannot fork: %s", strerror(-err));
        return 1;
    }
    if (opt.role == ROLE_PE) {
        const char *pmi = getenv("PMI_FD");
        close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* Slurm's step daemon leaves a socket open to its children */
        if (pmi)
            fcntl(atoi(pmi), F_SETFD, 0);
        wake_fd = syscall(SYS_pidfd_open, getppid(), 0);
    }
    if ((opt.mps && mps_up()) || ready(topology))
        status = 1;
    else {
        start_all();
        run();
    }
    if (opt.gdb >= 0 && isatty(0))
        tcsetpgrp(0, getpgrp());
    guardian_down();
    mps_down();
    for (int i = 0; i < npes; i++) /* reap them, so that time(1) counts their processor time */
        if (pes[i].pid)
            waitpid(pes[i].pid, NULL, 0);
    _exit(status);
}
