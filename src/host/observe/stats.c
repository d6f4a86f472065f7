/* stats.c - SHMEM_STATS and SHMEM_TRACE from init to finalize: which files, who writes them, what happens when that fails. */
#include "host/observe/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/coll/team.h"
#include "host/net/stream/copies.h"
#include "host/observe/counts.h"
#include "host/observe/trace.h"
#include "host/ops/dheap.h"
#include "host/ops/span.h"
#include "host/util/libc.h"
#include "host/util/log.h"
#include "host/util/own_file.h"

#define all shi_counts

enum { TRACE_BYTES = 256 << 20 }; /* of a PE, unless SHMEM_TRACE says another size */

static char *stats_file, *trace_file; /* as the settings name them; "1" and "all" print statistics; NULL: off */

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void print_counter(FILE *f, const char *before, const char *name, const struct shi_counter *c)
{
    fprintf(f, "%s\"%s\":{\"calls\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"ns\":%" PRIu64 "}", before, name, c->calls, c->bytes,
            c->ns);
}

static void print_json(FILE *f)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    fprintf(f, "{\"pe\":%d,\"n_pes\":%d,\"host\":\"%s\",\"ns\":%" PRIu64 ",\n \"families\":{", shi_world.pe, shi_world.n_pes, host,
            shi_now_ns() - all.start_ns);
    for (int k = 0; k < SHI_FAMILIES; k++)
        print_counter(f, k ? "," : "", shi_family_name[k], &all.family[k]);
    fputs("},\n \"ways\":{", f);
    for (int k = 0; k < SHI_WAYS; k++)
        print_counter(f, k ? "," : "", shi_way_name[k], &all.way[k]);
    int n_pes[SHI_DHEAP_WAYS];
    shi_dheap_count(n_pes);
    fputs("},\n \"device_memory\":{", f);
    for (int k = 0; k < SHI_DHEAP_WAYS; k++)
        fprintf(f, "%s\"%s\":%d", k ? "," : "", shi_dheap_way_name[k], n_pes[k]);
    fputs("},\n \"device_copies\":{", f);
    for (int k = 0; k < SHI_COPIES_AGENTS; k++) {
        const struct shi_copies_counts c = shi_copies_counted((enum shi_copies_agent)k);
        fprintf(f, "%s\"%s\":{\"copies\":%" PRIu64 ",\"submissions\":%" PRIu64 ",\"updates\":%" PRIu64 ",\"rounds\":%" PRIu64 "}", k ? "," : "",
                shi_copies_agent_name[k], c.copies, c.submissions, c.updates, c.rounds);
    }
    fprintf(f, "},\n \"ring\":{\"requests\":%" PRIu64 ",\"rounds\":%" PRIu64 ",\"deepest\":%" PRIu64 "},\n \"to\":[", all.ring.requests,
            all.ring.rounds, all.ring.deepest);
    for (int pe = 0, n = 0; pe < shi_world.n_pes; pe++) {
        int any = 0;
        for (int k = 0; k < SHI_TARGETED; k++)
            any |= all.to[pe][k].calls != 0;
        if (!any)
            continue;
        fprintf(f, "%s\n  {\"pe\":%d", n++ ? "," : "", pe);
        for (int k = 0; k < SHI_TARGETED; k++)
            if (all.to[pe][k].calls)
                print_counter(f, ",", shi_family_name[k], &all.to[pe][k]);
        fputc('}', f);
    }
    fputs("]}", f);
}

/* ---- up and down ------------------------------------------------------------------------------------------------- */

/* The file that SHMEM_STATS names for this PE, in malloc'd memory. *shared: one for all PEs. */
static char *file_name(const char *setting, int *shared)
{
    const char *mark = strstr(setting, "%p");
    char *name;
    *shared = !mark;
    int n = mark ? asprintf(&name, "%.*s%d%s", (int)(mark - setting), setting, shi_world.pe, mark + 2)
                 : asprintf(&name, "%s", setting);
    return n < 0 ? NULL : name;
}

/* A shared file is an array to which each PE adds its object; a PE's own file is the object. 0, or -errno. */
static int write_json(const char *setting)
{
    int shared, first = shi_world.pe == 0, last = shi_world.pe == shi_world.n_pes - 1;
    char *name = file_name(setting, &shared);
    int append = shared && !first;
    int fd = name ? shi_own_file_open(name, O_WRONLY | (append ? O_APPEND : O_TRUNC)) : -ENOMEM;
    FILE *f = fd < 0 ? NULL : fdopen(fd, append ? "a" : "w");
    int err = fd < 0 ? fd : f ? 0 : -errno;
    if (f) {
        if (shared)
            fputs(first ? "[" : ",\n", f);
        print_json(f);
        fputs(shared && last ? "]\n" : shared ? "" : "\n", f);
        err = fflush(f) || ferror(f) ? -(errno ? errno : EIO) : 0;
        err = fclose(f) && !err ? -errno : err;
    }
    free(name);
    return err;
}

/* What `print` prints goes to standard error. 0, or -errno; a closed pipe is no error. */
static int write_text(void (*print)(FILE *f))
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (!f)
        return -errno;
    print(f);
    fclose(f);
    int err = 0;
    for (size_t done = 0; done < bytes && !err;) {
        ssize_t n = write(STDERR_FILENO, text + done, bytes - done);
        if (n > 0)
            done += (size_t)n;
        else if (n == 0 || errno != EINTR)
            err = n ? -errno : -EIO;
    }
    free(text);
    return err == -EPIPE ? 0 : err;
}

static const char *set(const char *text)
{
    return *text && strcmp(text, "0") ? text : NULL;
}

/* The file of a process's nth init and finalize: later ones end in .2, .3 ... so that none overwrites another. NULL without
 * memory. */
static char *of_round(const char *file, int round)
{
    char *name;
    int n = round == 1 ? asprintf(&name, "%s", file) : asprintf(&name, "%s.%d", file, round);
    return n < 0 ? NULL : name;
}

/* The number of this init: one more than the highest that any PE has had, as processes may have been in different numbers of jobs. */
static int agree_on_round(void)
{
    static int round;
    shi_team_world.routine = "shmem_init";
    shi_team_exchange(&shi_team_world, &round, sizeof round);
    for (int i = 0; i < shi_world.n_pes; i++) {
        const int *of = shi_team_buffer(&shi_team_world, shi_world.pe, i);
        round = *of > round ? *of : round;
    }
    return ++round;
}

/* Cut :SIZE off the name of a trace and return it; without it the usual one. */
static size_t cut_size(char *name)
{
    size_t bytes = TRACE_BYTES;
    char *colon = strrchr(name, ':');
    if (colon && shi_config_parse_size(colon + 1, &bytes) == 0)
        *colon = 0;
    return bytes;
}

/* *trace_bytes: of each PE's events. */
static int name_files(struct shi_config *c, size_t *trace_bytes)
{
    *trace_bytes = cut_size(c->trace.text);
    const char *stats = set(c->stats.text), *trace = set(c->trace.text);
    if (trace && strcmp(trace, "1") == 0)
        trace = "shmem_trace.json";
    int round = stats || trace ? agree_on_round() : 0;
    stats_file = !stats ? NULL : of_round(stats, strcmp(stats, "1") && strcmp(stats, "all") ? round : 1);
    trace_file = trace ? of_round(trace, round) : NULL;
    return !stats_file == !stats && !trace_file == !trace ? 0 : -ENOMEM;
}

int shi_stats_up(void)
{
    size_t trace_bytes;
    if (name_files(&shi_world.config, &trace_bytes))
        return -ENOMEM;
    memset(&all, 0, sizeof all);
    all.traces = trace_file != NULL;
    memset(shi_copies_counts, 0, sizeof shi_copies_counts);
    if (stats_file) {
        all.to = calloc((size_t)shi_world.n_pes, sizeof *all.to);
        if (!all.to)
            return -ENOMEM;
        all.up = 1;
        all.start_ns = shi_now_ns();
    }
    int err = trace_file ? shi_trace_up(trace_file, trace_bytes) : 0;
    if (err) {
        if (shi_world.pe != 0)
            sleep(1); /* PE 0 writes the line, and ends the job, before the others do */
        shi_log_error("SHMEM_TRACE=%s: %s", trace_file, shi_own_file_error(err));
    }
    shi_span_on_end(shi_counts_span);
    if (!err && trace_file && shi_team_world.n_nodes > 1)
        shi_trace_compare_clocks(SHI_TRACE_AT_START);
    shi_world.watched = !err && (stats_file || trace_file);
    return err;
}

/* The first failure of this PE to write statistics or trace; err 0: none. */
struct trouble {
    int32_t err, of_trace;
};

static void note(struct trouble *t, int err, int of_trace)
{
    if (!t->err)
        *t = (struct trouble){err, of_trace};
}

/* A program that returned 0 ends with 1. The C library continues with the remaining handlers. */
static void end_failed(int status, void *arg)
{
    (void)arg;
    if (!status)
        exit(EXIT_FAILURE);
}

/* The lowest PE that could not write reports it, and fails. No PE returns before all have closed the files. */
static void report_trouble(const struct trouble *mine)
{
    shi_team_exchange(&shi_team_world, mine, sizeof *mine);
    for (int pe = 0; pe < shi_world.pe; pe++)
        if (((const struct trouble *)shi_team_buffer(&shi_team_world, shi_world.pe, pe))->err)
            return;
    if (!mine->err)
        return;
    if (mine->of_trace)
        shi_log_error("SHMEM_TRACE=%s: %s: the trace is not complete", trace_file,
                      shi_own_file_error(mine->err));
    else
        shi_log_error("SHMEM_STATS=%s: %s", stats_file, shi_own_file_error(mine->err));
    on_exit(end_failed, NULL);
}

/* The table of all PEs, or what each PE counted, in turn. 0, or -errno. */
static int write_stats(void)
{
    int err = 0, table = strcmp(stats_file, "1") == 0;
    if (table) {
        err = shi_stats_gather();
        if (err == -ECANCELED)
            shi_log_error("SHMEM_STATS=1: a PE died in shmem_finalize, so there is no table");
        if (err == 1)
            err = write_text(shi_stats_table);
        shi_team_barrier("shmem_finalize", &shi_team_world);
        return err == -ECANCELED ? 0 : err;
    }
    for (int pe = 0; pe < shi_world.n_pes; pe++) {
        if (pe == shi_world.pe)
            err = strcmp(stats_file, "all") == 0 ? write_text(shi_stats_text) : write_json(stats_file);
        shi_team_barrier("shmem_finalize", &shi_team_world);
    }
    return err;
}

void shi_stats_stop(void)
{
    struct trouble mine = {0, 0};
    if (!shi_world.watched)
        return;
    shi_world.watched = 0;
    if (stats_file)
        note(&mine, write_stats(), 0);
    all.up = 0;
    free(all.to);
    all.to = NULL;
    if (trace_file && shi_team_world.n_nodes > 1)
        shi_trace_compare_clocks(SHI_TRACE_AT_END);
    if (trace_file) {
        note(&mine, shi_trace_down(), 1);
        shi_team_barrier("shmem_finalize", &shi_team_world);
        if (shi_world.pe == 0)
            note(&mine, shi_trace_join_all(trace_file), 1);
    }
    report_trouble(&mine);
    free(stats_file);
    free(trace_file);
    stats_file = trace_file = NULL;
}

void shi_stats_abort(void)
{
    if (shi_world.watched && trace_file)
        shi_log_error("the trace is left in parts: oshinfo --join %s", trace_file);
}
