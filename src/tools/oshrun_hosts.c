/*
 * oshrun_hosts.c - the hosts of a job: lists and files of hosts, slots, and how many PEs each host gets.
 */
#include "oshrun.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool host_is_here(const char *host)
{
    char own[256] = "";
    size_t len = strlen(host);

    gethostname(own, sizeof own - 1);
    return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, "::1") || !strcmp(host, own) ||
           (len && !strncmp(host, own, len) && own[len] == '.');
}

/* Add a host, or add slots to a host in the list. slots 0: not given. */
static void host_add(struct options *opt, const char *name, int slots)
{
    int h = 0;

    while (h < opt->nhosts && strcmp(opt->hosts[h].name, name))
        h++;
    if (h == opt->nhosts) {
        if (!(opt->hosts = realloc(opt->hosts, (h + 1) * sizeof *opt->hosts)) || !(opt->hosts[h].name = strdup(name)))
            out_of_memory();
        opt->hosts[opt->nhosts++].slots = 0;
    }
    opt->hosts[h].slots += slots;
}

/* Cut ":SLOTS" off host and return the slots; without it return `slots`. */
static int host_slots(char *host, int slots)
{
    char *colon = strrchr(host, ':');

    if (!colon || colon == host || colon[-1] == ':')
        return slots;
    *colon = 0;
    return opt_count("the slots of a host", colon + 1);
}

void hosts_add(struct options *opt, const char *text)
{
    char *list = strdup(text), *next = list, *host;
    int before = opt->nhosts;

    if (!list)
        out_of_memory();
    while ((host = strsep(&next, ",")))
        if (*host) {
            int slots = host_slots(host, 1);
            host_add(opt, host, slots);
        }
    free(list);
    if (opt->nhosts == before)
        usage_error("--host names no host");
}

/* Lines are HOST[:SLOTS] or HOST slots=N; other words are ignored, '#' begins a comment. */
void hosts_read(struct options *opt, const char *path)
{
    FILE *f = fopen(path, "re");
    char line[1024];
    int before = opt->nhosts;

    if (!f)
        usage_error("cannot read the host file '%s': %s", path, strerror(errno));
    while (fgets(line, sizeof line, f)) {
        char *save, *host, *word;
        line[strcspn(line, "#\n")] = 0;
        if (!(host = strtok_r(line, " \t", &save)))
            continue;
        int slots = host_slots(host, 0);
        while ((word = strtok_r(NULL, " \t", &save)))
            if (!strncmp(word, "slots=", 6))
                slots = opt_count("slots=", word + 6);
        host_add(opt, host, slots);
    }
    fclose(f);
    if (opt->nhosts == before)
        usage_error("the host file '%s' names no host", path);
}

/* Slots when oshrun runs inside a Slurm job of several nodes: its --ntasks, or its CPUs, as in "4,2(x3)". Else 0, also for
 * an oshrun that is a task of such a job, which starts a local job. */
static int slurm_slots(void)
{
    const char *nodes = getenv("SLURM_JOB_NUM_NODES"), *tasks = getenv("SLURM_NTASKS"), *p = getenv("SLURM_JOB_CPUS_PER_NODE");
    int total = 0;

    if (!getenv("SLURM_JOB_ID") || !nodes || atoi(nodes) < 2 || getenv("PMIX_RANK"))
        return 0;
    if (tasks)
        return opt_count("SLURM_NTASKS", tasks);
    while (p && isdigit((unsigned char)*p)) {
        char *end;
        int cpus = strtol(p, &end, 10), times = strncmp(end, "(x", 2) ? 1 : strtol(end + 2, &end, 10);
        total += cpus * times;
        p = end + strcspn(end, ",");
        p += *p == ',';
    }
    return total ? total : atoi(nodes);
}

int hosts_choose_role(struct options *opt)
{
    int slots = 0, elsewhere = 0, tasks = opt->nhosts ? 0 : slurm_slots();

    for (int h = 0; h < opt->nhosts; h++)
        elsewhere += !host_is_here(opt->hosts[h].name);
    for (int h = 0; h < opt->nhosts; h++) {
        if (!opt->hosts[h].slots)
            opt->hosts[h].slots = elsewhere ? 1 : cores_count();
        slots += opt->hosts[h].slots;
    }
    if (opt->engine || elsewhere || tasks)
        opt->role = ROLE_FRONT;
    if (tasks && !opt->engine)
        opt->engine = "srun";
    return slots ? slots : tasks ? tasks : cores_count();
}

void hosts_spread(struct options *opt)
{
    int left = opt->npes;

    for (int h = 0; h < opt->nhosts; h++) {
        if (opt->hosts[h].slots > left)
            opt->hosts[h].slots = left;
        left -= opt->hosts[h].slots;
    }
    for (int h = 0; opt->nhosts && left; left--, h = (h + 1) % opt->nhosts)
        opt->hosts[h].slots++;
    while (opt->nhosts && !opt->hosts[opt->nhosts - 1].slots)
        opt->nhosts--;
}
