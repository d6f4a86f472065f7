/*
 * oshrun_start.c - what this process starts: PEs or an engine, their environment, cores and standard streams.
 */
#include "oshrun.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host/boot/boot.h"

extern char **environ;

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

/* Tell a PE that it is started again. */
static void env_again(char ***env)
{
    int n = 0;

    while ((*env)[n])
        n++;
    *env = need(realloc(*env, (n + 2) * sizeof **env));
    if (asprintf(&(*env)[n], "%s=%s", SHI_REPLACE_ENV, server_job()) < 0)
        out_of_memory();
    (*env)[n + 1] = NULL;
}

/* gdb has oshrun's terminal, the PE's output included. */
static int pe_start(struct pe *pe, int input)
{
    bool gdb = pe->rank == job.opt.gdb;
    int fd[3] = {gdb ? 0 : input, gdb ? 1 : stream_open(pe->rank, 0), gdb ? 2 : stream_open(pe->rank, 1)};
    const char *what = "pipe";
    char **env = env_of(pe->app);
    int err = fd[0] < 0 ? fd[0] : fd[1] < 0 ? fd[1] : fd[2] < 0 ? fd[2] : 0;

    if (!err && job.opt.role == ROLE_JOB) {
        what = "environment";
        err = server_env(pe, &env);
    }
    if (!err && pe->replaced)
        env_again(&env);
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
        job.live++;
        return 0;
    }
    bool program = what == pe->app->argv[0], here = program && err == -ENOENT && !strchr(what, '/') && !access(what, X_OK);
    fail(!program ? 1 : err == -ENOENT || err == -ENOTDIR ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE, "cannot start PE %d: %s: %s%s%s%s",
         pe->rank, what, strerror(-err), here ? " on PATH; the program in this folder is ./" : "", here ? what : "", "");
    return err;
}

static bool gets_input(const struct pe *pe)
{
    return job.opt.role == ROLE_FRONT || job.opt.input == INPUT_ALL || job.opt.input == pe->rank;
}

void start_all(void)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC), err = 0;

    for (int i = 0; i < job.npes && !err; i++) {
        int input = gets_input(&job.pes[i]) ? stdin_open(job.opt.role == ROLE_JOB && job.opt.input == INPUT_ALL) : nothing;
        err = pe_start(&job.pes[i], input);
        if (input > 2 && input != nothing)
            close(input);
    }
    if (nothing > 2)
        close(nothing);
    if (!err && job.opt.role == ROLE_JOB)
        debug_started(job.pes, job.npes);
}

void start_again(void)
{
    for (int i = 0; i < job.npes; i++) {
        struct pe *pe = &job.pes[i];
        if (!pe->again || job.ending)
            continue;
        int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        pe->again = false;
        pe->replaced++;
        pe->ended = END_NOT;
        atomic_store_explicit(&pe->pmix, PMIX_NEVER, memory_order_release);
        streams_close(pe->rank);
        pe_start(pe, nothing);
        if (nothing > 2)
            close(nothing);
    }
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

void pes_up(void)
{
    static struct app engine;
    const char *own = hosts_rank();
    int rank = 0, mine = job.opt.role == ROLE_PE && own ? atoi(own) : 0;

    job.npes = job.opt.role == ROLE_JOB ? job.opt.npes : 1;
    job.pes = need(calloc(job.npes, sizeof *job.pes));
    if (job.opt.role == ROLE_FRONT) {
        job.opt.engine = engine_command(&job.opt, &engine);
        job.pes[0].app = &engine;
        return;
    }
    for (int a = 0; a < job.opt.napps; a++)
        for (int i = 0; i < job.opt.apps[a].npes; i++, rank++)
            if (job.opt.role == ROLE_JOB || rank == mine)
                job.pes[job.opt.role == ROLE_JOB ? rank : 0] = (struct pe){
                    .app = &job.opt.apps[a], .appnum = a, .rank = rank, .death_sig = SIGKILL,
                    .own_session = job.opt.role == ROLE_PE};
    if (job.opt.gdb >= 0)
        gdb_up(&job.pes[job.opt.gdb]);
    if (!job.pes[0].app || (job.opt.role == ROLE_PE && !own))
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
    for (int a = 0; a < job.opt.napps; a++)
        stay |= !job.opt.apps[a].wdir;
    if (stay && !getcwd(folder, sizeof folder) && errno == ENOENT)
        say("oshrun: warning: the current directory was removed: change to one that exists, or use --wdir");
    return files_up(job.opt.npes, (job.opt.output ? 2 : 0) + (job.opt.input == INPUT_ALL));
}

void *cores_up(void)
{
    int first = job.opt.role == ROLE_PE ? hosts_local_index(&job.opt, job.pes[0].rank) : 0;

    if (job.opt.role == ROLE_FRONT)
        return NULL;
    if (first < 0 && job.opt.place.bind != LEVEL_DEFAULT && job.opt.place.bind != LEVEL_NONE)
        say("oshrun: warning: PE %d is not bound: its launcher does not give its index on the host; name the hosts (-H)",
            job.pes[0].rank);
    return cores_assign(job.pes, job.npes, first, &job.opt.place);
}

/* The hosts and programs of a job that an engine starts. */
static void show_hosts(FILE *f)
{
    const int *host = hosts_of_pes(&job.opt);
    int rank = 0;

    for (int a = 0; a < job.opt.napps; a++)
        for (int i = 0; i < job.opt.apps[a].npes; i++, rank++)
            fprintf(f, "PE %d on %s: %s\n", rank, host ? job.opt.hosts[host[rank]].name : "a host that the engine chooses",
                    job.opt.apps[a].argv[0]);
}

void show(void)
{
    FILE *f = job.opt.dry_run ? stdout : stderr;

    if (!job.opt.dry_run && !job.opt.verbose && (!job.opt.report || job.opt.role == ROLE_FRONT))
        return;
    if (job.opt.role == ROLE_FRONT && job.opt.dry_run)
        show_hosts(f);
    if (job.opt.role == ROLE_FRONT)
        engine_show(f, job.pes[0].app);
    for (int i = 0; i < job.npes && job.opt.role != ROLE_FRONT; i++)
        place_report(f, &job.pes[i]);
    if (job.opt.dry_run)
        printed();
}

static void on_late(int sig)
{
    (void)sig;
    server_is_late();
}

int start_ready(void *topology)
{
    const char *file;
    int err = job.opt.role == ROLE_JOB ? machine_check() : 0;

    if (err)
        return err;
    if (job.opt.output && job.opt.role != ROLE_FRONT && (err = io_files_up(job.opt.output, job.opt.npes - 1, &file))) {
        fail(1, "--output-filename: cannot write '%s': %s", file, strerror(-err));
        return err;
    }
    if (job.opt.role != ROLE_JOB)
        return 0;
    signal(SIGALRM, on_late);
    alarm(start_limit_s() < INT_MAX ? (unsigned)start_limit_s() : 0);
    err = server_up(job.pes, job.npes, job.opt.napps, topology, job.opt.survive, job.opt.replace, &job.wake_fd);
    alarm(0);
    return err;
}
