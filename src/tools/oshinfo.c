/*
 * oshinfo.c - print the features of this build, the devices, networks and processors of this machine; plot traces of jobs; gather
 * what a report of an error needs.
 *
 * Variables come from config.def, with the values that a program would read here; devices come from the library.
 */
#include <errno.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "device/device.h"
#include "host/coll/rules.h"
#include "host/util/config.h"
#include "host/util/own_file.h"
#include "host/util/trace_format.h"
#include "oshinfo_net.h"
#include "tools/topology.h"

struct variable {
    const char *name, *old, *kind, *standard, *help;
};

static const struct variable variables[] = {
#define X(field, kind, name, old, def, help) {name, old, #kind, def, help},
#include "host/util/config.def"
#undef X
};
enum { N_VARIABLES = sizeof variables / sizeof *variables };

/* Print a JSON string: quotes and backslashes escaped, control characters omitted. */
static void print_string(const char *before, const char *text)
{
    printf("%s\"", before);
    for (; *text; text++)
        if ((unsigned char)*text >= ' ')
            printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    putchar('"');
}

/* ---- sections: as text or as members of a JSON object -------------------------------------------------------------- */

#ifdef HAVE_ZE
#define WITH_ZE 1
#else
#define WITH_ZE 0
#endif

/* Features of this build; for those it lacks, what to install. */
static const struct {
    const char *name;
    int is;
    const char *what, *without;
} features[] = {
    {"shared memory", 1, "between PEs of a node, by loads and stores", ""},
    {"network", 1, "between nodes, over libfabric", ""},
    {"launchers", 1, "oshrun; any PMIx server (Open MPI's mpirun, prterun, srun --mpi=pmix); MPICH's mpiexec, srun --mpi=pmi2; a single PE needs none", ""},
    {"CUDA", 1, "device memory and kernels on NVIDIA GPUs (last run on an H200, driver 580.159.04, 2026-11-27), or on the CPU", ""},
    {"Level Zero", WITH_ZE, "device memory and kernels on GPUs (run on none yet), or on the CPU", "built without libze-dev"},
    {"statistics", 1, "SHMEM_STATS, SHMEM_TRACE, oshinfo --plot", ""},
    {"threads", 1, "SHMEM_THREAD_MULTIPLE", ""},
};
enum { N_FEATURES = sizeof features / sizeof *features };

static void print_features(int json)
{
    for (int i = 0; i < N_FEATURES; i++) {
        const char *words = features[i].is ? features[i].what : features[i].without;
        if (json) {
            print_string(i ? ", " : "", features[i].name);
            printf(": %s", features[i].is ? "true" : "false");
        } else {
            printf("%s %-14s %s%s\n", i ? "          " : "features  ", features[i].name, features[i].is ? "" : "no: ", words);
        }
    }
}

static void print_devices(int json)
{
    char text[256];
    int n = 0;
    for (; shmemx_device_describe(n, text, sizeof text) == 0; n++) {
        if (json)
            print_string(n ? ", " : "", text);
        else
            printf("%s%s\n", n ? "           " : "devices    ", text);
    }
    if (n == 0 && !json)
        printf("devices    none\n");
}

/* How data of other hosts reaches memory of this device. A provider with FI_HMEM may still refuse to register it. */
static const char *way_between_hosts(const char *device)
{
    if (!oshinfo_net_chosen.provider[0])
        return "not reached";
    if (strstr(device, SHI_DEVICE_STORES))
        return "host access: the network registers it as memory of the host";
    return oshinfo_net_chosen.hmem ? "registered: the network accesses it (FI_HMEM); where it refuses, a pipeline through host memory"
                                   : "pipeline: through host memory";
}

/* After the devices and the network. */
static void print_ways(int json)
{
    const char *over = oshinfo_net_chosen.provider[0] ? oshinfo_net_chosen.provider : "none";
    char text[256];
    for (int n = 0; shmemx_device_describe(n, text, sizeof text) == 0; n++) {
        const char *way = way_between_hosts(text);
        text[strcspn(text, " ")] = 0;
        if (json) {
            print_string(n ? ", " : "", text);
            print_string(": ", way);
        } else {
            printf("%s%s between hosts, over %s: %s\n", n ? "           " : "reach      ", text, over, way);
        }
    }
}

/* 0, or 1 after one line. */
static int read_rules(void)
{
    char why[512];
    const char *value = getenv("SHMEM_COLLECTIVES");
    int err = shi_rules_read(value ? value : "", why, sizeof why);
    if (err)
        fprintf(stderr, "oshinfo: %s\n", why);
    return err != 0;
}

/* How collectives between nodes are carried out: the first line of a collective that applies. */
static void print_collectives(int json)
{
    int n;
    const struct shi_rule *given = shi_rules_given(&n), *r, *before = NULL;
    for (int i = 0; (r = i < n ? &given[i] : shi_schedule_rule(i - n)); before = r, i++) {
        char text[160];
        shi_rules_describe(r, text, sizeof text);
        if (json) {
            print_string(i ? ",\n  {\"collective\": " : "  {\"collective\": ", shi_rules_collective(r->of));
            print_string(", \"algorithm\": ", text);
            print_string(", \"from\": ", i < n ? "SHMEM_COLLECTIVES" : "built in");
            printf("}");
        } else {
            printf("  %-18s %s%s\n", before && before->of == r->of ? "" : shi_rules_collective(r->of), text, i < n ? " (SHMEM_COLLECTIVES)" : "");
        }
    }
}

static void print_environment_json(void)
{
    int n = 0;
    for (int i = 0; i < N_VARIABLES; i++) {
        const struct variable *v = &variables[i];
        if (shi_config_is_of_tests(v->name))
            continue;
        print_string(n++ ? ",\n  {\"name\": " : "  {\"name\": ", v->name);
        printf(", \"deprecated_name\": ");
        printf(v->old ? "\"%s\"" : "null", v->old);
        print_string(", \"kind\": ", v->kind);
        print_string(", \"default\": ", v->standard);
        print_string(", \"help\": ", v->help);
        const char *now = getenv(v->name);
        if (!now && v->old)
            now = getenv(v->old);
        if (now)
            print_string(", \"set\": ", now);
        printf("}");
    }
}

static int print_people(void)
{
    struct shi_config c;
    char why[512];
    static char all[65536];
    if (!isatty(STDOUT_FILENO)) /* a single write: a reader of the first line, such as head, does not end oshinfo by SIGPIPE */
        setvbuf(stdout, all, _IOFBF, sizeof all);
    if (read_rules())
        return 1;
    printf("Fulmar %s, OpenSHMEM %d.%d\n\n", PACKAGE_VERSION, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
    print_features(0);
    print_devices(0); /* before libfabric, which may open the loader of Level Zero without our driver */
    oshinfo_net_people("network    ");
    print_ways(0);
    topology_print(0);
    printf("\nCollectives between nodes, by the bytes of a node:\n");
    print_collectives(0);
    printf("\nEnvironment, as a program would read it here:\n");
    if (shi_config_read(&c, why, sizeof why)) {
        fprintf(stderr, "oshinfo: %s\n", why);
        return 1;
    }
    shi_config_print(&c, stdout);
    return 0;
}

static int print_json(void)
{
    if (read_rules())
        return 1;
    printf("{\"version\": \"%s\", \"openshmem\": \"%d.%d\",\n \"features\": {", PACKAGE_VERSION, SHMEM_MAJOR_VERSION,
           SHMEM_MINOR_VERSION);
    print_features(1);
    printf("},\n \"devices\": [");
    print_devices(1);
    printf("],\n \"providers\": ");
    oshinfo_net_json();
    printf(",\n \"device_memory_between_hosts\": {");
    print_ways(1);
    printf("},\n \"node\": {");
    topology_print(1);
    printf("},\n \"collectives\": [\n");
    print_collectives(1);
    printf("\n ],\n \"environment\": [\n");
    print_environment_json();
    printf("\n ]}\n");
    return 0;
}

/* Print man/shmem_environment.7; test/lint compares them. */
static int print_man(void)
{
    printf(".\\\" Written by oshinfo --man from config.def.\n"
           ".TH SHMEM_ENVIRONMENT 7 \"2026-11-23\" \"Fulmar\" \"Fulmar Manual\"\n"
           ".SH NAME\nshmem_environment \\- environment variables of the Fulmar OpenSHMEM library\n"
           ".SH DESCRIPTION\nThe library reads these variables once, in\n.BR shmem_init (3).\n"
           "An invalid value ends the job at start-up with a one-line error.\n"
           "A flag is on unless it is unset, empty, 0, n, no, off or false; a bool is 0, n, no, off, false, 1, y, yes, on or true;\n"
           "a size is a number of bytes, may have a fraction and one of the suffixes K, M, G and T, after which characters are ignored; a count is a whole number.\n");
    for (int i = 0; i < N_VARIABLES; i++) {
        const struct variable *v = &variables[i];
        if (shi_config_is_of_tests(v->name))
            continue;
        printf(".TP\n.BR %s \" (%s, default %s)\"\n%s.\n", v->name, v->kind, *v->standard ? v->standard : "empty", v->help);
        if (v->old)
            printf("The deprecated name\n.B %s\nis read when this one is not set.\n", v->old);
    }
    printf(".SH SEE ALSO\n.BR oshinfo (1),\n.BR oshrun (1)\n");
    return 0;
}

static int join(const char *path)
{
    int n_pes;
    uint64_t lost;
    int found = shi_trace_join(path, &n_pes, &lost);
    if (found < 0)
        fprintf(stderr, "oshinfo: %s: cannot join the parts of the trace: %s\n", path, shi_own_file_error(found));
    else
        printf("%s: %d of %d PEs\n", path, found, n_pes);
    return found < 0;
}

/* Write the path of a script of the folder PLOT_DIR, which is relative to this program's; libtool puts the program of the build tree
 * one folder deeper. */
static void find_script(const char *self, const char *name, char *path, size_t room)
{
    const char *slash = strrchr(self, '/') ? strrchr(self, '/') : self;
    int length = (int)(slash - self), in_build = length >= 6 && memcmp(slash - 6, "/.libs", 6) == 0;
    snprintf(path, room, "%.*s/%s/%s", length, self, in_build ? ".." : PLOT_DIR, name);
}

/* Run plot.py with the arguments from argv[2] on. Returns only after an error. */
static int plot(const char *self, char **argv)
{
    char script[4096];
    find_script(self, "plot.py", script, sizeof script);
    argv[0] = "python3";
    argv[1] = script;
    execvp(argv[0], argv);
    fprintf(stderr, "oshinfo: --plot needs python3 (package python3): %s\n", strerror(errno));
    return 1;
}

/* Run report.sh with the path of this program. Returns only after an error. */
static int report(const char *self)
{
    char script[4096];
    find_script(self, "report.sh", script, sizeof script);
    execlp("sh", "sh", script, self, (char *)NULL);
    fprintf(stderr, "oshinfo: --report needs sh: %s\n", strerror(errno));
    return 1;
}

static int usage(FILE *f)
{
    fprintf(f, "usage: oshinfo [OPTION]\n"
               "Print the version, features, devices, node and environment of the OpenSHMEM library.\n\n"
               "  --json                        print the same as JSON\n"
               "  --plot PICTURE FILE...        plot files of SHMEM_STATS and SHMEM_TRACE, as .svg or .png\n"
               "  --join TRACE                  join the trace files of the PEs of a job that did not finish\n"
               "  --report                      print what a report of an error should contain\n"
               "  --man                         print the source of the manual page shmem_environment(7)\n"
               "  --help                        print this help\n");
    return f == stdout ? 0 : 2;
}

/* An option without values, after which no other may follow. */
static int known(const char *option)
{
    return strcmp(option, "--json") == 0 || strcmp(option, "--report") == 0 || strcmp(option, "--man") == 0 || strcmp(option, "--help") == 0;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    char self[2048] = "";
    if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        self[0] = '\0';
    if (argc == 1)
        return print_people();
    if (argc == 2 && strcmp(what, "--json") == 0)
        return print_json();
    if (argc == 2 && strcmp(what, "--man") == 0)
        return print_man();
    if (argc == 3 && strcmp(what, "--join") == 0)
        return join(argv[2]);
    if (argc > 3 && strcmp(what, "--plot") == 0)
        return plot(self, argv);
    if (argc == 2 && strcmp(what, "--report") == 0)
        return report(self);
    if (argc == 2 && strcmp(what, "--help") == 0)
        return usage(stdout);
    if (strcmp(what, "--join") == 0)
        fprintf(stderr, "oshinfo: --join takes one file\n");
    else if (strcmp(what, "--plot") == 0)
        fprintf(stderr, "oshinfo: --plot takes a picture's name, which ends in .svg or .png, and files to plot\n");
    else
        fprintf(stderr, "oshinfo: unknown option '%s'\n", known(what) ? argv[2] : what);
    return usage(stderr);
}
