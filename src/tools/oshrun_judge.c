/*
 * oshrun_judge.c - decide how and when the job ends, from the exits of PEs, PMIx_Abort, limits of time and failed output.
 *
 * The first failure decides the exit status; failures while the job is being ended are not reported.
 */
#include "oshrun.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "host/util/libc.h"

#define REPORT_S 0.3          /* for PEs to report where they wait, before --timeout ends them */
#define ENGINE_KILL_US 300000 /* between an engine's signal to a PE and the one to the PE's oshrun, at most */
#define START_S 60            /* SHMEM_START_TIMEOUT's default, as in host/util/config.def */
#define LEAVE_MS 1000         /* between a PE's exit and the server's news that it has left the job, at most */
#define DYING_S 2.0           /* for the exit of a PE that is dying */

struct job job = {.wake_fd = -1};

double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int pmix_of(const struct pe *pe)
{
    return atomic_load_explicit(&pe->pmix, memory_order_acquire); /* M1 of oshrun_pmix.c */
}

void signal_groups(int sig)
{
    for (int i = 0; i < job.npes; i++)
        if (job.pes[i].pid)
            kill(-job.pes[i].pid, sig);
}

void end_job(int exit_status, int sig, double grace_s)
{
    if (job.ending)
        return;
    job.ending = true;
    if (job.opt.role == ROLE_FRONT)
        engine_hush();
    job.status = exit_status;
    job.kill_at = now() + (job.opt.role == ROLE_FRONT ? ENGINE_GRACE_S : grace_s);
    signal_groups(sig);
    signal_groups(SIGCONT);
}

void fail(int exit_status, const char *format, ...)
{
    char text[1024];
    va_list ap;

    if (job.ending)
        return;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (job.opt.role == ROLE_PE)
        engine_report(exit_status, text);
    else
        say("oshrun: %s", text);
    if (job.opt.role == ROLE_JOB)
        debug_aborting(text);
    end_job(exit_status, SIGTERM, GRACE_S);
}

void time_out(void)
{
    static const char words[] = "the job ran longer than --timeout and is ended";

    job.timeout_at = 0;
    if (job.opt.role != ROLE_JOB) {
        fail(EXIT_TIMEOUT, "%s", words);
        return;
    }
    say("oshrun: %s", words);
    job.ending = true; /* later exits are consequences, not failures */
    job.status = EXIT_TIMEOUT;
    job.report_at = now() + REPORT_S;
    for (int i = 0; i < job.npes; i++)
        if (job.pes[i].pid && pmix_of(&job.pes[i]) == PMIX_CONNECTED)
            kill(-job.pes[i].pid, SIGUSR1);
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

long start_limit_s(void)
{
    const char *text = getenv("SHMEM_START_TIMEOUT");
    char *end;
    long n = text ? strtol(text, &end, 10) : START_S;

    return text && (end == text || *end || n < 0) ? START_S : n;
}

void report_absent(void)
{
    job.start_at = 0;
    if (server_fenced())
        return;
    for (int i = 0; i < job.npes; i++) {
        bool never = pmix_of(&job.pes[i]) == PMIX_NEVER, stopped = !job.pes[i].ended && (process(&job.pes[i]).state | 32) == 't';
        if (never || stopped)
            say("oshrun: %s%s%s%s", whereabouts(&job.pes[i]), never ? " has not called shmem_init" : "",
                never && (stopped || job.pes[i].ended) ? " and" : "", stopped ? " is stopped" : job.pes[i].ended ? " has ended" : "");
    }
}

static void judge_abort(const struct abort_record *a)
{
    int exit_status = a->status & 0xff ? a->status & 0xff : a->status != 0;

    if (a->status)
        fail(exit_status, "%s ended the job with status %d%s%s", whereabouts(&job.pes[a->rank]), a->status,
             *a->words ? ": " : "", a->words);
    else
        end_job(exit_status, SIGTERM, GRACE_S);
}

void engine_ended(void)
{
    if (job.ending)
        return;
    job.status = job.pes[0].end.si_code == CLD_EXITED ? job.pes[0].end.si_status : 128 + job.pes[0].end.si_status;
    const char *reason = engine_reason();
    if (reason && !job.status) /* the engine ended the remaining PEs: they did not fail */
        job.status = 1;
    if (job.status)
        fail(job.status, "%s ended the job with status %d%s%s", job.opt.engine, job.status, reason ? ": " : "", reason ? reason : "");
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

/* A PE failed: the job ends, or with --survive goes on. In shmem_init the others need it. */
static void lose_pe(struct pe *pe, int status, const char *how)
{
    const char *rest = job.live || job.opt.role == ROLE_PE ? "; ending the others" : "";
    int left = job.npes - job.ndied - 1;

    if (!job.opt.survive || !server_started()) {
        fail(status, "%s %s%s", whereabouts(pe), how, rest);
        return;
    }
    kill(-pe->pid, SIGKILL); /* its program, if a script started that */
    if (job.live && job.nreplaced < job.opt.replace) {
        job.nreplaced++;
        say("oshrun: %s %s; it is started again (%d of %d)", whereabouts(pe), how, job.nreplaced, job.opt.replace);
        pe->again = true;
        return;
    }
    pe->died = true;
    if (!job.ndied++)
        job.first_death = status;
    if (left < job.opt.survive)
        fail(job.first_death, "%s %s; %d of %d PEs left, --survive needs %d%s", whereabouts(pe), how, left, job.npes, job.opt.survive,
             rest);
    else
        say("oshrun: %s %s; the job goes on with %d of %d PEs", whereabouts(pe), how, left, job.npes);
}

enum { NAMED = 20 };

static bool has_died(const struct pe *pe)
{
    return pe->died;
}

static bool was_replaced(const struct pe *pe)
{
    return pe->replaced;
}

/* "1, 4, ..."; not freed. How many there are. */
static int list_pes(bool (*is)(const struct pe *pe), char list[NAMED * 8 + 8])
{
    int n = 0, at = 0;

    list[0] = 0;
    for (int i = 0; i < job.npes; i++) {
        if (!is(&job.pes[i]))
            continue;
        if (n < NAMED)
            at += snprintf(list + at, NAMED * 8 - at, "%s%d", n ? ", " : "", job.pes[i].rank);
        else if (n == NAMED)
            strcat(list, ", ...");
        n++;
    }
    return n;
}

void report_deaths(void)
{
    char list[NAMED * 8 + 8];

    if (list_pes(was_replaced, list))
        say("oshrun: PEs started again: %s (%d in all)", list, job.nreplaced);
    if (list_pes(has_died, list))
        say("oshrun: %d of %d PEs died: %s", job.ndied, job.npes, list);
}

static void judge_exit(struct pe *pe)
{
    const siginfo_t *how = &pe->end;
    char text[96];

    if (job.ending)
        return;
    pe->ended = END_JUDGED;
    if (how->si_code != CLD_EXITED) {
        if (job.opt.role == ROLE_PE && ended_by_engine(how->si_status)) {
            end_job(0, SIGTERM, GRACE_S);
            return;
        }
        const char *name = sigabbrev_np(how->si_status), *words = sigdescr_np(how->si_status);
        snprintf(text, sizeof text, "was killed by SIG%s (%s)", name ? name : "?", words ? words : "unknown");
        lose_pe(pe, 128 + how->si_status, text);
    } else if (how->si_status) {
        snprintf(text, sizeof text, "exited with status %d", how->si_status);
        lose_pe(pe, how->si_status, text);
    } else if (job.live && !has_left(pe))
        lose_pe(pe, 1, "exited with status 0 but without shmem_finalize");
}

void lose_output(void)
{
    if (out_error() == EPIPE)
        end_job(128 + SIGPIPE, SIGTERM, GRACE_S);
    else
        fail(1, "cannot write standard output: %s%s", strerror(out_error()), job.live ? "; ending the job" : "");
}

bool pe_is_dying(const struct pe *pe)
{
    enum { PF_EXITING = 4 }; /* Linux, include/linux/sched.h */

    return process(pe).flags & PF_EXITING;
}

/* Is a PE exiting that did not call PMIx_Abort? It may be the cause of other PEs' failures, so wait for its exit. */
static bool cause_is_dying(void)
{
    bool found = false;

    for (int i = 0; i < job.npes && !found; i++)
        found = job.pes[i].pid && !job.pes[i].ended && pmix_of(&job.pes[i]) != PMIX_ABORTED && pe_is_dying(&job.pes[i]);
    if (!found)
        job.dying_until = 0;
    else if (!job.dying_until)
        job.dying_until = now() + DYING_S;
    return found && now() < job.dying_until;
}

static bool killed(const struct pe *pe)
{
    return pe->end.si_code != CLD_EXITED;
}

void judge(void)
{
    const struct abort_record *a = server_aborted();
    bool failed = a;

    for (int i = 0; i < job.npes; i++)
        failed |= job.pes[i].ended == END_SEEN && (killed(&job.pes[i]) || job.pes[i].end.si_status);
    if (job.opt.role == ROLE_FRONT || job.ending || (failed && cause_is_dying()))
        return;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < job.npes; i++)
            if (job.pes[i].ended == END_SEEN && pmix_of(&job.pes[i]) != PMIX_ABORTED && (pass || killed(&job.pes[i])))
                judge_exit(&job.pes[i]);
    if (a && !job.ending)
        judge_abort(a);
}
