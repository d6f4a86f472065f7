/*
 * oshinfo.c - say what this build of Fulmar is: version, what it can reach, every environment variable.
 *
 *   oshinfo          for people      oshinfo --json   for programs      oshinfo --man   the manual page's source
 *
 * Variables come from config.def, with the values that a program started here would see; devices from the library.
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "host/util/config.h"
#include "oshinfo_net.h"
#include "host/util/telling.h"

struct variable {
    const char *name, *old, *kind, *standard, *help;
};

static const struct variable variables[] = {
#define X(field, kind, name, old, def, help) {name, old, #kind, def, help},
#include "host/util/config.def"
#undef X
};
enum { N_VARIABLES = sizeof variables / sizeof *variables };

/* Each device, after `first` or, from the second on, `next`, and before `end`. How many. */
static int print_devices(const char *first, const char *next, const char *end)
{
    char text[256];
    int n = 0;
    for (; shmemx_device_describe(n, text, sizeof text) == 0; n++)
        printf("%s%s%s", n ? next : first, text, end);
    return n;
}

static int print_people(void)
{
    struct shi_config c;
    char why[512];
    printf("Fulmar %s, OpenSHMEM %d.%d\n", PACKAGE_VERSION, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
    printf("reach      PEs of one node, by loads and stores through shared memory; others by libfabric\n");
    oshinfo_net_people("network    ");
    printf("launchers  oshrun; any PMIx server (Open MPI's mpirun, prterun, srun --mpi=pmix); none for one PE\n");
    if (print_devices("devices    ", "           ", "\n") == 0)
        printf("devices    none\n");
    printf("\nEnvironment, as a program started here would see it:\n");
    if (shi_config_read(&c, why, sizeof why)) {
        fprintf(stderr, "oshinfo: %s\n", why);
        return 1;
    }
    shi_config_print(&c, stdout);
    return 0;
}

static void print_json(void)
{
    printf("{\"version\": \"%s\", \"openshmem\": \"%d.%d\", \"transports\": [\"shm\", \"ofi\"], \"providers\": ",
           PACKAGE_VERSION, SHMEM_MAJOR_VERSION, SHMEM_MINOR_VERSION);
    oshinfo_net_json();
    printf(", \"devices\": [");
    print_devices("\"", ", \"", "\"");
    printf("],\n");
    printf(" \"environment\": [\n");
    for (int i = 0; i < N_VARIABLES; i++) {
        const struct variable *v = &variables[i];
        printf("  {\"name\": \"%s\", \"deprecated_name\": ", v->name);
        printf(v->old ? "\"%s\"" : "null", v->old);
        printf(", \"kind\": \"%s\", \"default\": \"%s\", \"help\": \"%s\"}%s\n", v->kind, v->standard, v->help,
               i + 1 < N_VARIABLES ? "," : "");
    }
    printf(" ]}\n");
}

/* man/shmem_environment.7 is this; test/lint compares them. */
static void print_man(void)
{
    printf(".\\\" Written by oshinfo --man from config.def.\n"
           ".TH SHMEM_ENVIRONMENT 7 \"\" \"Fulmar\" \"OpenSHMEM\"\n"
           ".SH NAME\nshmem_environment \\- environment variables of the Fulmar OpenSHMEM library\n"
           ".SH DESCRIPTION\nThe library reads these variables once, in\n.BR shmem_init (3).\n"
           "A value that is not accepted ends the job with one line before it starts.\n"
           "A flag is on unless it is unset, empty, 0, n, no, off or false; a bool takes 0 and 1 and their words only;\n"
           "a size is in bytes, may have a fraction, and takes the suffixes K, M, G and T; a count is a whole number.\n");
    for (int i = 0; i < N_VARIABLES; i++) {
        const struct variable *v = &variables[i];
        printf(".TP\n.BR %s \" (%s, default %s)\"\n%s.\n", v->name, v->kind, v->standard, v->help);
        if (v->old)
            printf("The deprecated name\n.B %s\nis read when this one is not set.\n", v->old);
    }
    printf(".SH SEE ALSO\n.BR oshinfo (1),\n.BR oshrun (1)\n");
}

static int join(const char *path)
{
    int n_pes;
    uint64_t lost;
    int found = shi_trace_join(path, &n_pes, &lost);
    if (found < 0)
        fprintf(stderr, "oshinfo: %s: no parts of a trace that can be joined: %s\n", path, strerror(-found));
    else
        printf("%s: %d of %d PEs\n", path, found, n_pes);
    return found < 0;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return print_people();
    if (argc == 2 && strcmp(argv[1], "--json") == 0) {
        print_json();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "--man") == 0) {
        print_man();
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "--join") == 0)
        return join(argv[2]);
    int help = argc == 2 && strcmp(argv[1], "--help") == 0;
    fprintf(help ? stdout : stderr, "usage: oshinfo [--json | --man | --help]\n");
    return help ? 0 : 2;
}
