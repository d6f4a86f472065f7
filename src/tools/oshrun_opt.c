/*
 * oshrun_opt.c - parse the command line of oshrun: options and programs.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "oshrun.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "(not configured)"
#endif

enum { MAX_PES = 1 << 15 };

enum key { NP, LABEL, ENV, BIND, TIMEOUT, WDIR, HOST, HOSTFILE, ENGINE, HELP, SHOW_VERSION };

/* One row for each option, also for --help. Names of several letters take one or two dashes. */
static const struct row {
    enum key key;
    const char *names[3];
    const char *arg;
    const char *help;
} rows[] = {
    {NP, {"n", "np"}, "N", "number of PEs of this program (default: one per slot, or one per core)"},
    {LABEL, {"l", "label"}, NULL, "prefix each line of output with the PE's number, as in \"[3] \""},
    {ENV, {"x"}, "VAR[=VALUE]", "set this environment variable for the PEs of this program (repeatable)"},
    {BIND, {"bind-to"}, "core|none", "bind each PE to its own core, or none (default: core for 2 PEs or more, if there are enough)"},
    {TIMEOUT, {"timeout"}, "S", "after S seconds report where each PE waits, and end the job with status 124"},
    {WDIR, {"wdir", "wd"}, "DIR", "directory in which this program starts"},
    {HOST, {"H", "host"}, "HOST[:SLOTS],...", "hosts of the job, filled in this order (default: 1 slot each)"},
    {HOSTFILE, {"hostfile", "machinefile"}, "FILE", "file of hosts, one per line: HOST, HOST:SLOTS or HOST slots=SLOTS"},
    {ENGINE, {"engine"}, "srun|prterun|mpirun", "launcher of jobs on several hosts (default: the first one found)"},
    {HELP, {"h", "help"}, NULL, "print this help and exit"},
    {SHOW_VERSION, {"V", "version"}, NULL, "print the version and exit"},
};
enum { NROWS = sizeof rows / sizeof *rows };

void usage_error(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fprintf(stderr, "oshrun: ");
    vfprintf(stderr, format, ap);
    fprintf(stderr, " (oshrun --help lists the options)\n");
    va_end(ap);
    exit(EXIT_USAGE);
}

void out_of_memory(void)
{
    fprintf(stderr, "oshrun: out of memory\n");
    exit(1);
}

/* Exit after --help or --version. */
static _Noreturn void printed(void)
{
    if (fflush(stdout)) {
        fprintf(stderr, "oshrun: cannot write standard output: %s\n", strerror(errno));
        exit(1);
    }
    exit(0);
}

static _Noreturn void help(void)
{
    printf("usage: oshrun [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...\n"
           "Start an OpenSHMEM job, on this machine or on several.\n\n");
    for (int i = 0; i < NROWS; i++) {
        char left[64] = "";
        size_t n = 0;
        for (int k = 0; k < 3 && rows[i].names[k]; k++)
            n += snprintf(left + n, sizeof left - n, "%s%s%s", k ? ", " : "", rows[i].names[k][1] ? "--" : "-",
                          rows[i].names[k]);
        snprintf(left + n, sizeof left - n, " %s", rows[i].arg ? rows[i].arg : "");
        printf("  %-31s %s\n", left, rows[i].help);
    }
    printf("  %-31s %s\n", "--", "end of options");
    printf("\nStandard input goes to PE 0. The exit status is that of the first PE that failed: 128 + N if signal N ended it,\n"
           "%d if a program cannot be executed, %d if it is not found, %d after --timeout, %d for a usage error.\n",
           EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND, EXIT_TIMEOUT, EXIT_USAGE);
    printf("\nSlurm's srun --mpi=pmix, prterun or Open MPI's mpirun starts a job on other hosts, where oshrun must have the same path.\n"
           "Labels, exit status and the end of the job are as on one host. oshrun passes the SHMEM_, SMA_, FI_ and ZE_ variables\n"
           "and LD_LIBRARY_PATH to the PEs. In a Slurm job of several nodes, oshrun without -H uses all nodes.\n");
    printed();
}

/* Return the row of an argument that begins with '-'; *value is the text after '=', or NULL. */
static const struct row *find(const char *arg, const char **value)
{
    const char *name = arg + 1 + (arg[1] == '-');
    const char *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    bool two_dashes = arg[1] == '-';

    for (int i = 0; i < NROWS; i++)
        for (int k = 0; k < 3 && rows[i].names[k]; k++)
            if (strlen(rows[i].names[k]) == len && !strncmp(rows[i].names[k], name, len) &&
                (len > 1 || (!two_dashes && !equals))) {
                *value = equals ? equals + 1 : NULL;
                return &rows[i];
            }
    return NULL;
}

int opt_count(const char *what, const char *text)
{
    char *end;
    long n;

    errno = 0;
    n = strtol(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || n < 1 || n > MAX_PES)
        usage_error("%s must be a number from 1 to %d, not '%s'", what, MAX_PES, text);
    return n;
}

static double seconds(const char *text)
{
    char *end;
    double s;

    errno = 0;
    s = strtod(text, &end);
    if (!isdigit((unsigned char)*text) || *end || errno || !(s > 0 && s < 1e9))
        usage_error("--timeout takes a number of seconds greater than 0, not '%s'", text);
    return s;
}

const char *bind_name(enum bind bind)
{
    return bind == BIND_CORE ? "core" : bind == BIND_NONE ? "none" : NULL;
}

static void add_env(struct app *app, const char *text)
{
    const char *value = strchr(text, '=') ? "" : getenv(text);
    char *pair;

    if (!*text || *text == '=')
        usage_error("-x takes VAR or VAR=VALUE, not '%s'", text);
    if (!value) {
        fprintf(stderr, "oshrun: warning: -x %s: the variable is not set, so the PEs do not get it\n", text);
        return;
    }
    if (asprintf(&pair, strchr(text, '=') ? "%s%s" : "%s=%s", text, value) < 0 ||
        !(app->env = realloc(app->env, (app->nenv + 1) * sizeof *app->env)))
        out_of_memory();
    app->env[app->nenv++] = pair;
}

static void apply(struct options *opt, struct app *app, const struct row *row, const char *value)
{
    switch (row->key) {
    case NP:
        app->npes = opt_count("-n", value);
        break;
    case LABEL:
        opt->label = true;
        break;
    case ENV:
        add_env(app, value);
        break;
    case BIND:
        opt->bind = !strcmp(value, "core") ? BIND_CORE : BIND_NONE;
        if (strcmp(value, bind_name(opt->bind)))
            usage_error("--bind-to takes core or none, not '%s'", value);
        break;
    case TIMEOUT:
        opt->timeout_s = seconds(value);
        break;
    case WDIR:
        app->wdir = strdup(value);
        break;
    case HOST:
        hosts_add(opt, value);
        break;
    case HOSTFILE:
        hosts_read(opt, value);
        break;
    case ENGINE:
        if (strcmp(value, "srun") && strcmp(value, "prterun") && strcmp(value, "mpirun"))
            usage_error("--engine takes srun, prterun or mpirun, not '%s'", value);
        opt->engine = strdup(value);
        break;
    case HELP:
        help();
    case SHOW_VERSION:
        printf("oshrun (Fulmar) %s\n", PACKAGE_VERSION);
        printed();
    }
}

/* Parse one program from argv[i] to the next ':' and return the index after it. */
static int parse_app(struct options *opt, struct app *app, int argc, char **argv, int i)
{
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        const char *value, *arg = argv[i];
        if (!strcmp(arg, "--")) {
            i++;
            break;
        }
        const struct row *row = find(arg, &value);
        if (!row)
            usage_error("unknown option '%s'", arg);
        if (value && !row->arg)
            usage_error("option '%s' takes no value", arg);
        if (row->arg && !value && !(value = argv[++i]))
            usage_error("option '%s' needs a value: %s", arg, row->arg);
        apply(opt, app, row, value);
    }
    if (i >= argc || !*argv[i] || !strcmp(argv[i], ":"))
        usage_error("no program to run");
    app->argv = &argv[i];
    while (i < argc && strcmp(argv[i], ":"))
        i++;
    if (i == argc)
        return i;
    argv[i] = NULL;
    if (i + 1 == argc)
        usage_error("no program after ':'");
    return i + 1;
}

void opt_parse(struct options *opt, int argc, char **argv)
{
    int i = 1, slots = 0;

    memset(opt, 0, sizeof *opt);
    if (argc > 1 && !strcmp(argv[1], AS_PE)) {
        opt->role = ROLE_PE;
        i++;
        engine_decode(argc - i, argv + i);
    }
    do {
        if (!(opt->apps = realloc(opt->apps, (opt->napps + 1) * sizeof *opt->apps)))
            out_of_memory();
        struct app *app = &opt->apps[opt->napps++];
        memset(app, 0, sizeof *app);
        i = parse_app(opt, app, argc, argv, i);
    } while (i < argc);
    if (opt->role != ROLE_PE)
        slots = hosts_choose_role(opt);
    for (int a = 0; a < opt->napps; a++) {
        if (!opt->apps[a].npes && opt->napps > 1)
            usage_error("with several programs each needs its own -n; '%s' has none", opt->apps[a].argv[0]);
        if (!opt->apps[a].npes)
            opt->apps[a].npes = slots;
        opt->npes += opt->apps[a].npes;
        if (opt->npes > MAX_PES)
            usage_error("more than %d PEs in all", MAX_PES);
    }
    hosts_spread(opt);
}
