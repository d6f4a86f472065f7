/*
 * oshrun_engine.c - jobs on several hosts: select the launcher (engine), build its command line, interpret its messages.
 *
 * The engine starts one `oshrun --as-pe` for each PE, with the options and programs of the user's command line. So labels,
 * whole lines, -x, --wdir, several programs and exit statuses do not depend on the engine, which gets only the number of
 * PEs, the hosts and --bind-to. The oshrun of a PE that fails writes a line to standard error that begins with a mark and
 * the status. The first such line to arrive decides the job's status.
 */
#include "oshrun.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define MARK "\036oshrun "
#define RULE "--------------------------------------------------------------------------"
#define NO_FINALIZE "a PE ended without shmem_finalize"
#define ABORTED "a PE aborted it"
#define NO_PLUGIN "this Slurm has a plugin neither for PMIx nor for PMI-2 (srun --mpi=list)"
#define HOST_LOST "a host was lost, or cannot be reached"

/* Messages of engines to drop: a line that contains `part`, or the block between two rules whose first words are on such a line.
 * reason: printed when no PE reported a failure, or NULL; known_failure: dropped only after a PE has reported one. */
struct words {
    const char *part, *reason;
};

static const char known_failure[] = "";

static const struct words of_srun[] = {
    {"srun: job ", NULL},
    {"srun: Job step aborted", NULL},
    {"srun: forcing job termination", NULL},
    {"srun: Terminating StepId", NULL},
    {"srun: got SIG", NULL},
    {"srun: launch/slurm: _step_signal", NULL},
    {"srun: error: Timed out waiting for job step", NULL},
    {"srun: Force Terminated", NULL},
    {" aborted before step completely launched", NULL},
    {"srun: error: Node failure on", HOST_LOST},
    {" for mpi/pmix", NO_PLUGIN},
    {"srun: error: MPI: Unable to load", NO_PLUGIN},
    {"srun: error: Invalid MPI type", NO_PLUGIN},
    {": task", NULL},
    {"_errhandler: ", NO_FINALIZE},
    {" CANCELLED AT ", NULL},
    {NULL, NULL},
};

static const struct words of_mpirun[] = {
    {"Primary job ", NULL},
    {" noticed that process rank ", NULL},
    {" detected that one or more processes exited", NULL},
    {": Forwarding signal", NULL},
    {"Abort is in progress", NULL},
    {": Warning: setpgid", NULL},
    {"PMIX ERROR: PMIX_ERR_UNREACH in file", NULL}, /* a PE left without finalize */
    {" calling", ABORTED},
    {" has exited due to process rank ", NO_FINALIZE},
    {" was unable to start the specified application", known_failure}, /* PRRTE, when a PE ends while others start */
    {"PMIx_Spawn failed", known_failure},
    {" was unable to reliably start one or more daemons", HOST_LOST},
    {" has lost communication with a remote daemon", HOST_LOST},
    {NULL, NULL},
};

static const char *srun_missing(void);
static const char *mpirun_missing(void);
static const char *prterun_missing(void);
static void srun_command(const struct options *opt, struct app *app);
static void mpirun_command(const struct options *opt, struct app *app);

/* In the order in which they are tried. missing returns the reason why the engine cannot be used, or NULL. own[]: how its
 * own lines begin, except lines in blocks; # is a digit. */
static const struct engine {
    const char *name;
    const char *(*missing)(void);
    void (*command)(const struct options *opt, struct app *app);
    const struct words *words;
    const char *own[5];
    bool blocks;
} engines[] = {
    {"srun", srun_missing, srun_command, of_srun, {"srun: ", "slurmstepd", "[####-##-##T"}, false},
    {"prterun", prterun_missing, mpirun_command, of_mpirun, {"mpirun: ", "prterun: ", "(null): ", "Abort is in progress", "["}, true},
    {"mpirun", mpirun_missing, mpirun_command, of_mpirun, {"mpirun: ", "prterun: ", "(null): ", "Abort is in progress", "["}, true},
};
enum { NENGINES = sizeof engines / sizeof *engines };

static const struct engine *engine;
static int failure;
static const char *reason;
static bool hushed;
static enum { OUTSIDE, RULE_SEEN, INSIDE } block;
static int blanks; /* empty lines after the rule of RULE_SEEN */

static bool on_path(const char *name)
{
    const char *p = getenv("PATH");
    char file[4096];

    while (p && *p) {
        int n = strcspn(p, ":");
        snprintf(file, sizeof file, "%.*s/%s", n, p, name);
        if (!access(file, X_OK))
            return true;
        p += n + (p[n] == ':');
    }
    return false;
}

static const char *srun_missing(void)
{
    if (!on_path("srun"))
        return "not on PATH";
    if (getenv("SLURM_JOB_ID") || getenv("SLURM_CONF") || !access("/etc/slurm/slurm.conf", R_OK) ||
        !access("/run/slurm/conf/slurm.conf", R_OK))
        return NULL;
    return "Slurm is not configured";
}

static const char *prterun_missing(void)
{
    return on_path("prterun") ? NULL : "not on PATH";
}

/* What a command prints, up to 2 KiB, or ""; valid until the next call. */
static char *output_of(const char *command)
{
    static char text[2048];
    FILE *f = popen(command, "re");

    text[f ? fread(text, 1, sizeof text - 1, f) : 0] = '\0';
    if (f)
        pclose(f);
    return text;
}

static const char *mpirun_version(void)
{
    char *text = output_of("mpirun --version 2>/dev/null");

    text[strcspn(text, "\n")] = '\0'; /* the first line */
    return text;
}

static const char *mpirun_missing(void)
{
    if (!on_path("mpirun"))
        return "not on PATH";
    const char *version = mpirun_version();
    return strstr(version, "Open MPI") || strstr(version, "PRTE") || strstr(version, "PRRTE") ? NULL : "not Open MPI's";
}

static bool is_prrte(void)
{
    return !strcmp(engine->name, "prterun") || !strstr(mpirun_version(), "Open MPI) 4");
}

/* Append a word to the command line of app. */
__attribute__((format(printf, 2, 3))) static void add(struct app *app, const char *format, ...)
{
    int n = 0;
    va_list ap;

    while (app->argv && app->argv[n])
        n++;
    app->argv = realloc(app->argv, (n + 2) * sizeof *app->argv);
    va_start(ap, format);
    if (!app->argv || vasprintf(&app->argv[n], format, ap) < 0)
        out_of_memory();
    va_end(ap);
    app->argv[n + 1] = NULL;
}

/* Write a file with one host for each PE, the only way to place PEs that all engines accept, and return its name. It is a
 * memfd, so no file remains. */
static const char *places(const struct options *opt)
{
    static char name[32];
    int fd = memfd_create("hosts", 0);

    const int *host = hosts_of_pes(opt);
    for (int i = 0; i < opt->npes; i++)
        if (dprintf(fd, "%s\n", opt->hosts[host[i]].name) < 0)
            usage_error("cannot write a list of hosts: %s", strerror(errno));
    snprintf(name, sizeof name, "/dev/fd/%d", fd);
    return name;
}

/* Does the oshrun of each PE bind it? Else the engine does, in its own way. */
static bool binds_itself(const struct place *p)
{
    return p->bind != LEVEL_DEFAULT || (p->map != LEVEL_DEFAULT && p->map != LEVEL_NODE && p->map != LEVEL_SLOT);
}

static const char *input_name(const struct options *opt)
{
    static char text[16];

    snprintf(text, sizeof text, "%d", opt->input);
    return opt->input == INPUT_ALL ? "all" : opt->input == INPUT_NONE ? "none" : text;
}

static void mpirun_command(const struct options *opt, struct app *app)
{
    add(app, "-n");
    add(app, "%d", opt->npes);
    if (geteuid() == 0)
        add(app, "--allow-run-as-root");
    if (opt->input) {
        add(app, "--stdin");
        add(app, "%s", input_name(opt));
    }
    if (opt->nhosts) {
        add(app, "--hostfile");
        add(app, "%s", places(opt));
        add(app, "--map-by");
        add(app, "seq");
    } else if (opt->per_host) {
        add(app, "--map-by");
        add(app, "ppr:%d:node", opt->per_host);
    } else if (opt->place.map == LEVEL_NODE || opt->place.map == LEVEL_SLOT) {
        add(app, "--map-by");
        add(app, "%s", level_name(opt->place.map));
    }
    if (binds_itself(&opt->place)) {
        add(app, "--bind-to");
        add(app, "none");
    } else if (opt->nhosts && is_prrte()) { /* by default it refuses more PEs on a host than cores */
        add(app, "--bind-to");
        add(app, "core:if-supported:overload-allowed");
    }
}

/* The plugin by which Slurm serves the PEs. Debian's Slurm since 26 has none for PMIx; pmi2 speaks PMI-1, too: boot_pmi.c. */
static const char *srun_plugin(void)
{
    const char *list = output_of("srun --mpi=list 2>&1");

    return strstr(list, "pmix") || !strstr(list, "pmi2") ? "pmix" : "pmi2";
}

static void srun_command(const struct options *opt, struct app *app)
{
    add(app, "--mpi=%s", srun_plugin());
    add(app, "--input=%s", input_name(opt));
    add(app, "--ntasks=%d", opt->npes);
    if (binds_itself(&opt->place))
        add(app, "--cpu-bind=none");
    if (!opt->nhosts && opt->per_host)
        add(app, "--ntasks-per-node=%d", opt->per_host);
    if (opt->nhosts || opt->place.map == LEVEL_NODE || opt->place.map == LEVEL_SLOT)
        add(app, "--distribution=%s", opt->nhosts ? "arbitrary" : opt->place.map == LEVEL_NODE ? "cyclic" : "block");
    app->env = calloc(2, sizeof *app->env);
    if (!app->env || asprintf(&app->env[app->nenv++], "SLURM_KILL_BAD_EXIT=1") < 0 || /* the PEs see it: boot_pmi.c */
        (opt->nhosts && asprintf(&app->env[app->nenv++], "SLURM_HOSTFILE=%s", places(opt)) < 0))
        out_of_memory();
}

/* The options that each PE's oshrun carries out. */
static void add_options(const struct options *opt, struct app *app)
{
    const struct { bool given; const char *option, *value; } options[] = {
        {opt->label, "-l", NULL},
        {opt->report, "--report-bindings", NULL},
        {opt->output, "--output-filename", opt->output},
        {opt->input, "--stdin", input_name(opt)},
        {opt->place.bind != LEVEL_DEFAULT, "--bind-to", level_name(opt->place.bind)},
        {opt->place.map != LEVEL_DEFAULT, "--map-by", level_name(opt->place.map)},
    };

    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        if (options[i].given)
            add(app, "=%s", options[i].option);
        if (options[i].given && options[i].value)
            add(app, "=%s", options[i].value);
    }
    if (!binds_itself(&opt->place))
        return;
    for (int h = 0; h < opt->nhosts; h++) {
        add(app, "=-H");
        add(app, "=%s:%d", opt->hosts[h].name, opt->hosts[h].slots);
    }
}

/* The variables that PEs get without -x, whatever the engine forwards by itself. */
static bool is_ours(const char *pair)
{
    static const char *const names[] = {"SHMEM_", "SMA_", "FI_", "ZE_", "LD_LIBRARY_PATH="};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strncmp(pair, names[i], strlen(names[i])))
            return true;
    return false;
}

/* Append words, encoded for engine_decode: a '=' before each, so that the engine takes none for an option or a ':'. */
static void add_program(const struct app *program, struct app *app)
{
    add(app, "=-n");
    add(app, "=%d", program->npes);
    for (char **e = environ; *e; e++)
        if (is_ours(*e)) {
            add(app, "=-x");
            add(app, "=%s", *e);
        }
    for (int i = 0; i < program->nenv; i++) {
        add(app, "=-x");
        add(app, "=%s", program->env[i]);
    }
    if (program->wdir) {
        add(app, "=--wdir");
        add(app, "=%s", program->wdir);
    }
    add(app, "=--");
    for (char **word = program->argv; *word; word++)
        add(app, "=%s", *word);
}

void engine_decode(int argc, char **argv)
{
    for (int i = 0; i < argc; i++)
        argv[i] += argv[i][0] == '=';
}

/* Find the engine that --engine names, or the first usable one. */
static const struct engine *choose(const struct options *opt)
{
    char why[512] = "";
    const char *missing;
    size_t n = 0;

    for (int i = 0; i < NENGINES; i++)
        if (opt->engine && !strcmp(opt->engine, engines[i].name)) {
            if (!on_path(opt->engine))
                usage_error("--engine %s: not on PATH", opt->engine);
            return &engines[i];
        }
    for (int i = 0; i < NENGINES; i++) {
        if (!(missing = engines[i].missing()))
            return &engines[i];
        n += snprintf(why + n, sizeof why - n, "%s%s (%s)", i ? ", " : "", engines[i].name, missing);
    }
    usage_error("no launcher for a job on %s: tried %s", opt->hosts[opt->nhosts - 1].name, why);
}

const char *engine_command(const struct options *opt, struct app *app)
{
    char self[4096] = "";

    engine = choose(opt);
    add(app, "%s", engine->name);
    engine->command(opt, app);
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        usage_error("/proc is not mounted");
    add(app, "%s", self);
    add(app, AS_PE);
    for (int a = 0; a < opt->napps; a++) {
        if (a)
            add(app, "=:");
        else
            add_options(opt, app);
        add_program(&opt->apps[a], app);
    }
    return engine->name;
}

void engine_show(FILE *f, const struct app *app)
{
    for (int i = 0; i < app->nenv; i++)
        fprintf(f, "%s ", app->env[i]);
    for (char **word = app->argv; *word; word++) {
        const char *special = strpbrk(*word, " \t\n\"'\\$&|;<>()*?[]#~`!{}");
        fprintf(f, special || !**word ? "'" : "");
        for (const char *c = *word; *c; c++)
            fprintf(f, *c == '\'' ? "'\\''" : "%c", *c);
        fprintf(f, "%s%s", special || !**word ? "'" : "", word[1] ? " " : "\n");
    }
}

void engine_report(int status, const char *text)
{
    say(MARK "%d %s", status, text);
}

/* A PE's report: only the first is printed. */
static void heard_report(const char *text)
{
    int status = atoi(text);

    if (failure || status < 1)
        return;
    failure = status;
    text += strcspn(text, " ");
    say("oshrun:%s", text);
}

/* Print the rule and the empty lines that were withheld. */
static void say_rule(void)
{
    say(RULE);
    for (; blanks; blanks--)
        say("%s", "");
}

static bool begins(const char *text, const char *with)
{
    for (; *with; with++, text++)
        if (*with == '#' ? !isdigit((unsigned char)*text) : *with != *text)
            return false;
    return true;
}

/* The entry for a line of the engine, or for the first line of a block; NULL: print it. */
static const struct words *known(const char *text, bool opened)
{
    static const struct words noise = {"", NULL};
    bool own = false;

    for (int i = 0; i < 5 && engine->own[i] && !own; i++)
        own = begins(text, engine->own[i]);
    for (const struct words *w = engine->words; (own || opened) && w->part; w++)
        if (strstr(text, w->part) && (failure || w->reason != known_failure))
            return w;
    return own && hushed && *text != '[' ? &noise : NULL; /* PEs' labels begin with '[', too */
}

bool engine_heard(const char *line, size_t n)
{
    char text[1024];
    const struct words *w;
    bool rule = engine->blocks && n == strlen(RULE) && !memcmp(line, RULE, n);
    bool opened = block == RULE_SEEN;

    snprintf(text, sizeof text, "%.*s", (int)n, line);
    if (block == INSIDE) {
        block = rule ? OUTSIDE : INSIDE;
        return true;
    }
    if (opened && !*text) {
        blanks++;
        return true;
    }
    if (engine->blocks && n && !*text) /* a NUL, with which PRRTE 3 reports a lost host */
        return true;
    if (!strncmp(text, MARK, strlen(MARK))) {
        heard_report(text + strlen(MARK));
        return true;
    }
    if ((w = known(text, opened))) {
        block = opened ? INSIDE : OUTSIDE;
        blanks = 0;
        reason = reason || w->reason == known_failure ? reason : w->reason;
        return true;
    }
    if (opened)
        say_rule();
    block = rule ? RULE_SEEN : OUTSIDE;
    return rule;
}

void engine_hush(void)
{
    hushed = true;
}

int engine_failure(void)
{
    return failure;
}

const char *engine_reason(void)
{
    if (block == RULE_SEEN)
        say_rule();
    return reason;
}
