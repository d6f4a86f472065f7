/*
 * oshrun_batch.c - the hosts of a job of PBS, LSF or Grid Engine, from the list that the batch system gives it. Slurm's jobs are started by
 * srun, which knows them: oshrun_hosts.c.
 */
#include "oshrun.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Formats: PBS and LSF have a line for each slot of a host; LSF's variables have "h1 h1 h2" or "h1 2 h2 1"; Grid Engine's lines are
 * "host slots queue processors". So a number is the slots of the host before it, and a host without one has one slot. */
static const struct batch {
    const char *system, *job, *list;
    bool file; /* list: the variable has the path of a file */
} batches[] = {
    {"PBS", "PBS_JOBID", "PBS_NODEFILE", true},
    {"LSF", "LSB_JOBID", "LSB_DJOB_HOSTFILE", true},
    {"LSF", "LSB_JOBID", "LSB_MCPU_HOSTS", false},
    {"LSF", "LSB_JOBID", "LSB_HOSTS", false},
    {"Grid Engine", "JOB_ID", "PE_HOSTFILE", true},
};
enum { NBATCHES = sizeof batches / sizeof *batches };

static void add_words(struct options *opt, const struct batch *b, char *text)
{
    char *save, *host = strtok_r(text, " \t\n", &save);

    while (host) {
        char *word = strtok_r(NULL, " \t\n", &save);
        bool counted = word && isdigit((unsigned char)*word) && !word[strspn(word, "0123456789")];
        hosts_put(opt, host, counted ? opt_count(b->list, word) : 1);
        host = counted ? strtok_r(NULL, " \t\n", &save) : word;
        if (b->file && counted)
            break; /* the queue */
    }
}

static void read_file(struct options *opt, const struct batch *b, const char *path)
{
    FILE *f = fopen(path, "re");
    char line[4096];

    if (!f)
        usage_error("cannot read the hosts of this %s job: %s=%s: %s; -H gives them", b->system, b->list, path, strerror(errno));
    while (fgets(line, sizeof line, f))
        add_words(opt, b, line);
    fclose(f);
}

/* Flux has no list in a file. Its own flux run starts PEs on all of its hosts. */
static void refuse_flux(void)
{
    int hosts;

    if (!getenv("FLUX_URI"))
        return;
    FILE *f = popen("flux getattr size 2>/dev/null", "re");
    if (f && fscanf(f, "%d", &hosts) == 1 && hosts > 1)
        usage_error("this Flux job has %d hosts, and oshrun starts no PEs by Flux: use 'flux run -n N PROGRAM', or give hosts with -H", hosts);
    if (f)
        pclose(f);
}

int batch_hosts(struct options *opt)
{
    int slots = 0;

    if (opt->nhosts || getenv("SLURM_JOB_ID") || hosts_rank())
        return 0;
    for (int i = 0; i < NBATCHES && !opt->nhosts; i++) {
        const struct batch *b = &batches[i];
        const char *list = getenv(b->list);
        if (!list || !*list || !getenv(b->job))
            continue;
        if (b->file) {
            read_file(opt, b, list);
            continue;
        }
        char *text = strdup(list);
        if (!text)
            out_of_memory();
        add_words(opt, b, text);
        free(text);
    }
    if (!opt->nhosts)
        refuse_flux();
    for (int h = 0; h < opt->nhosts; h++)
        slots += opt->hosts[h].slots;
    if (opt->nhosts == 1) /* this one, whatever it is called */
        opt->nhosts = 0;
    return slots;
}
