/*
 * oshrun_opt.c - parse the command line of oshrun: options and programs.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include "oshrun.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef PACKAGE_VERSION
#define PACKAGE_VERSION "(not configured)"
#endif

enum key {
    NP, PER_HOST, LABEL, OUTPUT, INPUT, GDB, MPS, SURVIVE, REPLACE, ENV, ENV_ALL, BIND, MAP, REPORT, VERBOSE, DRY_RUN, TIMEOUT, WDIR, HOST, HOSTFILE,
    ENGINE, HELP, SHOW_VERSION, UNUSED, REFUSED
};

#define OPTIONAL "[=N]"

/* One row for each option. Names of several letters take one or two dashes; the value of one that takes a number may follow
 * without a space. The first two names are in --help; the others, and rows without help, are spellings of other launchers. */
static const struct row {
    enum key key;
    const char *names[4];
    const char *arg; /* with a space: two words; OPTIONAL: in the option's own word or not at all */
    const char *help;
    const char *note; /* UNUSED: why it has no effect; REFUSED: what to use */
} rows[] = {
    {NP, {"n", "np"}, "N", "number of PEs of this program (default: one per slot, or one per core)", NULL},
    {PER_HOST, {"N", "ppn", "npernode", "ntasks-per-node"}, "N", "number of PEs on each host", NULL},
    {LABEL, {"l", "label", "tag-output", "prepend-rank"}, NULL, "prefix each line of output with the PE's number, as in \"[3] \"", NULL},
    {OUTPUT, {"output-filename"}, "DIR", "write each PE's output to files of this folder, too: pe.3.out and pe.3.err", NULL},
    {INPUT, {"stdin", NULL, "input"}, "N|all|none", "the PE that gets standard input (default: 0)", NULL},
    {GDB, {"gdb"}, "N", "start this PE under gdb, in this terminal; all PEs are on this machine", NULL},
    {MPS, {"mps"}, NULL, "run NVIDIA's Multi-Process Service for this job; all PEs are on this machine", NULL},
    {SURVIVE, {"survive"}, OPTIONAL, "when PEs die, go on while at least N (default: 1) are left; all PEs are on this machine", NULL},
    {REPLACE, {"replace"}, OPTIONAL, "the same, and start PEs that die again, N times (default: as many as there are PEs)", NULL},
    {ENV, {"x"}, "VAR[=VALUE]", "set this environment variable for the PEs of this program (repeatable)", NULL},
    {MAP, {"map-by"}, "slot|node|socket|numa|core|hwthread", "PEs go to these in turn, node: to the hosts; slot: fill host after host (default)", NULL},
    {BIND, {"bind-to"}, "core|hwthread|numa|socket|none", "to what each PE is bound (default: core for 2 PEs or more, if there are enough)", NULL},
    {REPORT, {"report-bindings"}, NULL, "print a line with the host and the CPUs of each PE", NULL},
    {VERBOSE, {"v", "verbose"}, NULL, "the same, and the command line of the engine", NULL},
    {DRY_RUN, {"dry-run", NULL, "display-map"}, NULL, "print that, and start nothing", NULL},
    {TIMEOUT, {"timeout"}, "S", "after S seconds report where each PE waits, and end the job with status 124", NULL},
    {WDIR, {"wdir", "wd"}, "DIR", "directory in which this program starts", NULL},
    {HOST, {"H", "host", "hosts"}, "HOST[:SLOTS],...", "hosts of the job, filled in this order (default: 1 slot each)", NULL},
    {HOSTFILE, {"hostfile", "machinefile", "f"}, "FILE", "file of hosts, one per line: HOST, HOST:SLOTS or HOST slots=SLOTS", NULL},
    {ENGINE, {"engine"}, "srun|prterun|mpirun", "launcher of jobs on several hosts (default: the first one found)", NULL},
    {HELP, {"h", "help"}, NULL, "print this help and exit", NULL},
    {SHOW_VERSION, {"V", "version"}, NULL, "print the version and exit", NULL},
    {ENV, {"env"}, "VAR VALUE", NULL, NULL},
    {ENV_ALL, {"genv"}, "VAR VALUE", NULL, NULL},
    {UNUSED, {"oversubscribe"}, NULL, NULL, "oshrun starts any number of PEs"},
    {UNUSED, {"allow-run-as-root"}, NULL, NULL, "oshrun runs as any user"},
    {UNUSED, {"genvall"}, NULL, NULL, "the PEs get all variables"},
    {REFUSED, {"mca", "gmca", "pmixmca", "prtemca"}, "NAME VALUE", NULL, "SHMEM_ variables set Fulmar's parameters, see oshinfo"},
};
enum { NROWS = sizeof rows / sizeof *rows, NNAMES = sizeof rows->names / sizeof *rows->names, NSHOWN = 2 };

static _Noreturn void help(void)
{
    printf("usage: oshrun [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...\n"
           "Start an OpenSHMEM job, on this machine or on several.\n\n");
    for (int i = 0; i < NROWS; i++) {
        if (!rows[i].help)
            continue;
        char left[96] = "";
        size_t n = 0;
        for (int k = 0; k < NSHOWN && rows[i].names[k]; k++)
            n += snprintf(left + n, sizeof left - n, "%s%s%s", k ? ", " : "", rows[i].names[k][1] ? "--" : "-",
                          rows[i].names[k]);
        n += snprintf(left + n, sizeof left - n, "%s%s", rows[i].arg && strcmp(rows[i].arg, OPTIONAL) ? " " : "",
                      rows[i].arg ? rows[i].arg : "");
        printf("  %-31s %s%s\n", left, n > 31 ? " " : "", rows[i].help);
    }
    printf("  %-31s %s\n", "--", "end of options");
    printf("\nThe exit status is that of the first PE that failed: 128 + N if signal N ended it,\n"
           "%d if a program cannot be executed, %d if it is not found, %d after --timeout, %d for a usage error.\n",
           EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND, EXIT_TIMEOUT, EXIT_USAGE);
    printf("\nSlurm's srun, prterun or Open MPI's mpirun starts a job on other hosts, where oshrun must have the same path.\n"
           "Labels, exit status and the end of the job are as on one host. oshrun passes the SHMEM_, SMA_, FI_ and ZE_ variables\n"
           "and LD_LIBRARY_PATH to the PEs. In a Slurm job of several nodes, oshrun without -H uses all nodes.\n");
    printed();
}

/* Return the row of an argument that begins with '-'; *value is the text after '=', or a number after the name, or NULL. */
static const struct row *find(const char *arg, const char **value)
{
    const char *name = arg + 1 + (arg[1] == '-');
    const char *equals = strchr(name, '=');
    size_t letters = strcspn(name, "0123456789"), len = equals ? (size_t)(equals - name) : strlen(name);
    bool two_dashes = arg[1] == '-', number = letters < len && !equals && !two_dashes;

    *value = equals ? equals + 1 : number ? name + letters : NULL;
    len = number ? letters : len;
    for (int i = 0; i < NROWS; i++)
        for (int k = 0; k < NNAMES; k++)
            if (rows[i].names[k] && strlen(rows[i].names[k]) == len && !strncmp(rows[i].names[k], name, len) &&
                (len > 1 || (!two_dashes && !equals)) && (!number || (rows[i].arg && !strcmp(rows[i].arg, "N"))))
                return &rows[i];
    return NULL;
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

static enum level level_of(const char *option, const char *text, enum level first, enum level last)
{
    for (enum level l = first; l <= last; l++)
        if (!strcmp(text, level_name(l)))
            return l;
    if (!strcmp(text, "package"))
        return LEVEL_SOCKET;
    usage_error("%s takes %shwthread, core, numa%s, not '%s'", option, first == LEVEL_NONE ? "none, " : "",
                last == LEVEL_SLOT ? ", socket, node, slot or ppr:N:node" : " or socket", text);
}

/* "ppr:N:node" also sets the number of PEs on each host. */
static void map_by(struct options *opt, const char *text)
{
    char number[16];
    int end = 0;

    if (sscanf(text, "ppr:%15[0-9]:node%n", number, &end) == 1 && end && !text[end])
        opt->per_host = opt_count("ppr", number);
    else
        opt->place.map = level_of("--map-by", text, LEVEL_HWTHREAD, LEVEL_SLOT);
}

static int input_of(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (!strcmp(text, "all") || !strcmp(text, "none"))
        return *text == 'a' ? INPUT_ALL : INPUT_NONE;
    if (!isdigit((unsigned char)*text) || *end || n >= MAX_PES)
        usage_error("--stdin takes the number of a PE, all or none, not '%s'", text);
    return n;
}

static int gdb_of(const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (!isdigit((unsigned char)*text) || *end || n >= MAX_PES)
        usage_error("--gdb takes the number of a PE, not '%s'", text);
    return n;
}

/* The PE under gdb is on this machine, and gdb has the standard input. */
static void check_gdb(struct options *opt)
{
    if (opt->gdb < 0)
        return;
    if (opt->gdb >= opt->npes)
        usage_error("--gdb %d: the job has %d PEs", opt->gdb, opt->npes);
    if (opt->role != ROLE_JOB)
        usage_error("--gdb: the PEs must be on this machine; gdb -p attaches to one on another host");
    opt->input = INPUT_NONE;
}

static void check_survive(struct options *opt)
{
    if (opt->replace < 0)
        opt->replace = opt->npes;
    if (opt->replace && !opt->survive)
        opt->survive = 1;
    if (opt->survive > opt->npes)
        usage_error("--survive=%d: the job has %d PEs", opt->survive, opt->npes);
    if (opt->survive && opt->role != ROLE_JOB)
        usage_error("--survive: the PEs must be on this machine");
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

static void set_engine(struct options *opt, const char *text)
{
    if (strcmp(text, "srun") && strcmp(text, "prterun") && strcmp(text, "mpirun"))
        usage_error("--engine takes srun, prterun or mpirun, not '%s'", text);
    opt->engine = strdup(text);
}

static void apply(struct options *opt, struct app *app, const struct row *row, const char *value)
{
    switch (row->key) {
    case NP: app->npes = opt_count("-n", value); break;
    case PER_HOST: opt->per_host = opt_count("-N", value); break;
    case LABEL: opt->label = true; break;
    case OUTPUT: opt->output = strdup(value); break;
    case INPUT: opt->input = input_of(value); break;
    case GDB: opt->gdb = gdb_of(value); break;
    case MPS: opt->mps = true; break;
    case SURVIVE: opt->survive = value ? opt_count("--survive", value) : 1; break;
    case REPLACE: opt->replace = value ? opt_count("--replace", value) : -1; break;
    case ENV: add_env(app, value); break;
    case ENV_ALL: add_env(&opt->all, value); break;
    case MAP: map_by(opt, value); break;
    case BIND: opt->place.bind = level_of("--bind-to", value, LEVEL_NONE, LEVEL_SOCKET); break;
    case REPORT: opt->report = true; break;
    case VERBOSE: opt->report = opt->verbose = true; break;
    case DRY_RUN: opt->dry_run = true; break;
    case TIMEOUT: opt->timeout_s = seconds(value); break;
    case WDIR: app->wdir = strdup(value); break;
    case HOST: hosts_add(opt, value); break;
    case HOSTFILE: hosts_read(opt, value); break;
    case ENGINE: set_engine(opt, value); break;
    case HELP: help();
    case SHOW_VERSION:
        printf("oshrun (Fulmar) %s\n", PACKAGE_VERSION);
        printed();
    case UNUSED: fprintf(stderr, "oshrun: note: --%s has no effect: %s\n", row->names[0], row->note); break;
    case REFUSED: usage_error("--%s: %s", row->names[0], row->note);
    }
}

/* Apply the option argv[i] and return the index of its last word. */
static int parse_option(struct options *opt, struct app *app, char **argv, int i)
{
    const char *value, *arg = argv[i];
    char *pair = NULL;
    const struct row *row = find(arg, &value);

    if (!row)
        usage_error("unknown option '%s'", arg);
    if (value && !row->arg)
        usage_error("option '%s' takes no value", arg);
    if (row->arg && strcmp(row->arg, OPTIONAL) && !value && !(value = argv[++i]))
        usage_error("option '%s' needs a value: %s", arg, row->arg);
    if (row->arg && strchr(row->arg, ' ') && row->key != REFUSED) {
        if (!argv[i + 1])
            usage_error("option '%s' needs two values: %s", arg, row->arg);
        if (asprintf(&pair, "%s=%s", value, argv[++i]) < 0)
            out_of_memory();
    }
    apply(opt, app, row, pair ? pair : value);
    free(pair);
    return i;
}

/* Parse one program from argv[i] to the next ':' and return the index after it. */
static int parse_app(struct options *opt, struct app *app, int argc, char **argv, int i)
{
    for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
        if (!strcmp(argv[i], "--")) {
            i++;
            break;
        }
        i = parse_option(opt, app, argv, i);
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

/* Put the variables for all programs before those of each. */
static void share_env(struct options *opt)
{
    for (int a = 0; a < opt->napps; a++) {
        struct app *app = &opt->apps[a];
        char **env = calloc(opt->all.nenv + app->nenv + 1, sizeof *env);
        if (!env)
            out_of_memory();
        for (int i = 0; i < opt->all.nenv + app->nenv; i++)
            env[i] = i < opt->all.nenv ? opt->all.env[i] : app->env[i - opt->all.nenv];
        app->env = env;
        app->nenv += opt->all.nenv;
    }
}

void opt_parse(struct options *opt, int argc, char **argv)
{
    int i = 1, slots = 0;

    memset(opt, 0, sizeof *opt);
    opt->gdb = -1;
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
    share_env(opt);
    if (opt->role != ROLE_PE)
        slots = hosts_choose_role(opt, batch_hosts(opt));
    for (int a = 0; a < opt->napps; a++) {
        if (!opt->apps[a].npes && opt->napps > 1)
            usage_error("with several programs each needs its own -n; '%s' has none", opt->apps[a].argv[0]);
        if (!opt->apps[a].npes)
            opt->apps[a].npes = slots;
        opt->npes += opt->apps[a].npes;
        if (opt->npes > MAX_PES)
            usage_error("more than %d PEs in all", MAX_PES);
    }
    if (opt->input >= opt->npes)
        usage_error("--stdin %d: the job has %d PEs", opt->input, opt->npes);
    check_gdb(opt);
    check_survive(opt);
    if (opt->mps && opt->role != ROLE_JOB)
        usage_error("--mps: the PEs must be on this machine; on other hosts start nvidia-cuda-mps-control before the job");
    hosts_spread(opt);
}
