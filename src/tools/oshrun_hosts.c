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
    size_t len;

    gethostname(own, sizeof own - 1);
    for (len = 0; host[len] && host[len] == own[len]; len++)
        ;
    return !strcmp(host, "localhost") || !strncmp(host, "127.", 4) || !strcmp(host, "::1") ||
           (len && (!host[len] || host[len] == '.') && (!own[len] || own[len] == '.')); /* one may have a domain */
}

void hosts_put(struct options *opt, const char *name, int slots)
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
            hosts_put(opt, host, slots);
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
        hosts_put(opt, host, slots);
    }
    fclose(f);
    if (opt->nhosts == before)
        usage_error("the host file '%s' names no host", path);
}

/* Slots when oshrun runs inside a Slurm job of several nodes: its --ntasks, or its CPUs, as in "4,2(x3)". */
static int slurm_slots(void)
{
    const char *tasks = getenv("SLURM_NTASKS"), *p = getenv("SLURM_JOB_CPUS_PER_NODE");
    int total = 0;

    if (tasks)
        return opt_count("SLURM_NTASKS", tasks);
    while (p && isdigit((unsigned char)*p)) {
        char *end;
        int cpus = strtol(p, &end, 10), times = strncmp(end, "(x", 2) ? 1 : strtol(end + 2, &end, 10);
        total += cpus * times;
        p = end + strcspn(end, ",");
        p += *p == ',';
    }
    return total;
}

const char *hosts_rank(void)
{
    const char *rank = getenv("PMIX_RANK");

    return rank ? rank : getenv("PMI_RANK");
}

/* The number of hosts of a Slurm job that oshrun uses all of, else 0. */
static int hosts_of_slurm(const struct options *opt)
{
    const char *nodes = getenv("SLURM_JOB_NUM_NODES");

    /* an oshrun that is a task of such a job starts a local job */
    if (opt->nhosts || !getenv("SLURM_JOB_ID") || !nodes || atoi(nodes) < 2 || hosts_rank())
        return 0;
    return atoi(nodes);
}

int hosts_choose_role(struct options *opt, int here)
{
    int slots = 0, elsewhere = 0, nodes = hosts_of_slurm(opt);

    for (int h = 0; h < opt->nhosts; h++)
        elsewhere += !host_is_here(opt->hosts[h].name);
    for (int h = 0; h < opt->nhosts; h++) {
        if (opt->per_host)
            opt->hosts[h].slots = opt->per_host;
        if (!opt->hosts[h].slots)
            opt->hosts[h].slots = elsewhere ? 1 : cores_count();
        slots += opt->hosts[h].slots;
    }
    if (opt->engine || elsewhere || nodes)
        opt->role = ROLE_FRONT;
    if (nodes && !opt->engine)
        opt->engine = "srun";
    if (opt->nhosts)
        return slots;
    if (opt->per_host)
        return opt->per_host * (nodes ? nodes : 1);
    slots = nodes ? slurm_slots() : here ? here : cores_count();
    return slots ? slots : nodes;
}

/* Give each host a PE in turn. full: also those whose slots are all taken. Returns the PEs that are left. */
static int deal(struct options *opt, int *given, int left, bool full)
{
    int before;

    do {
        before = left;
        for (int h = 0; h < opt->nhosts && left; h++)
            if (full || given[h] < opt->hosts[h].slots) {
                given[h]++;
                left--;
            }
    } while (left && left < before);
    return left;
}

void hosts_spread(struct options *opt)
{
    int *given = calloc(opt->nhosts + 1, sizeof *given), left = opt->npes;

    if (!given)
        out_of_memory();
    if (opt->place.map == LEVEL_NODE)
        left = deal(opt, given, left, false);
    else
        for (int h = 0; h < opt->nhosts; left -= given[h++])
            given[h] = opt->hosts[h].slots < left ? opt->hosts[h].slots : left;
    if (!opt->nhosts && opt->role == ROLE_JOB)
        left -= left < opt->per_host ? left : opt->per_host;
    if (opt->per_host && opt->role != ROLE_PE && left && !hosts_of_slurm(opt))
        usage_error("-N %d has no place for %d of the %d PEs: give more hosts (-H), or a greater -N", opt->per_host, left,
                    opt->npes);
    if (opt->nhosts)
        deal(opt, given, left, true);
    for (int h = 0; h < opt->nhosts; h++)
        opt->hosts[h].slots = given[h];
    while (opt->nhosts && !opt->hosts[opt->nhosts - 1].slots)
        opt->nhosts--;
    free(given);
}

const int *hosts_of_pes(const struct options *opt)
{
    int *host = opt->nhosts ? calloc(opt->npes, sizeof *host) : NULL, rank = 0;

    if (!opt->nhosts)
        return NULL;
    if (!host)
        out_of_memory();
    if (opt->place.map == LEVEL_NODE)
        for (int round = 0; rank < opt->npes; round++)
            for (int h = 0; h < opt->nhosts; h++) {
                if (round < opt->hosts[h].slots)
                    host[rank++] = h;
            }
    else
        for (int h = 0; h < opt->nhosts; h++)
            for (int i = 0; i < opt->hosts[h].slots; i++)
                host[rank++] = h;
    return host;
}

int hosts_local_index(const struct options *opt, int rank)
{
    static const char *const names[] = {"SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK"};
    const int *host = hosts_of_pes(opt);
    int index = 0;

    for (int i = 0; host && i < rank; i++)
        index += host[i] == host[rank];
    for (int i = 0; !host && i < 2; i++)
        if (getenv(names[i]))
            return atoi(getenv(names[i]));
    return host ? index : -1;
}
