/*
 * stats_text.c - the statistics as text: a table of all PEs, or a list of each PE's counters.
 *
 * For the table every PE sends its counters by exchanges, all PEs the same number of them; PE 0 keeps what it prints.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "host/coll/team.h"
#include "host/net/stream/copies.h"
#include "host/observe/counts.h"
#include "host/ops/dheap.h"
#include "host/ops/state.h"

#define all shi_counts

static const char *human(uint64_t bytes, char text[16])
{
    static const char units[] = " KMGTPE";
    double v = (double)bytes;
    int u = 0;
    for (; v >= 1000 && units[u + 1]; u++)
        v /= 1024;
    snprintf(text, 16, u ? "%.3g %ciB" : "%.0f B", v, units[u]);
    return text;
}

/* By which ways the PE reaches the PEs' device memory, its own included. */
static void print_device_ways(FILE *f, int pe)
{
    char text[160];
    shi_dheap_describe_ways(text, sizeof text);
    if (*text)
        fprintf(f, "fulmar: PE %d: device memory of PEs:%s\n", pe, text);
}

/* The targets of a family that received most bytes, in descending order. */
static void print_targets(FILE *f, int family)
{
    enum { SHOWN = 4 };
    int top[SHOWN], n = 0, shown = 0;
    char text[16];
    for (int pe = 0; pe < shi_world.n_pes; pe++) {
        uint64_t bytes = all.to[pe][family].bytes;
        if (!all.to[pe][family].calls)
            continue;
        n++;
        int at = shown < SHOWN ? shown++ : bytes > all.to[top[SHOWN - 1]][family].bytes ? SHOWN - 1 : SHOWN;
        for (; at < SHOWN && at > 0 && bytes > all.to[top[at - 1]][family].bytes; at--)
            top[at] = top[at - 1];
        if (at < SHOWN)
            top[at] = pe;
    }
    for (int i = 0; i < shown; i++)
        fprintf(f, "%s PE %d %s", i ? "," : "   to", top[i], human(all.to[top[i]][family].bytes, text));
    if (n > shown)
        fprintf(f, ", %d more", n - shown);
}

void shi_stats_text(FILE *f)
{
    char text[16];
    int pe = shi_world.pe;
    fprintf(f, "fulmar: PE %d: %.3f ms from init to finalize\n", pe, (double)(shi_now_ns() - all.start_ns) * 1e-6);
    fprintf(f, "fulmar: PE %d: %-12s %12s %10s %14s\n", pe, "what", "calls", "bytes", "time");
    for (int k = 0; k < SHI_FAMILIES; k++) {
        const struct shi_counter *c = &all.family[k];
        if (!c->calls)
            continue;
        fprintf(f, "fulmar: PE %d: %-12s %12" PRIu64 " %10s %11.3f ms", pe, shi_family_name[k], c->calls,
                k < SHI_TARGETED ? human(c->bytes, text) : "-", (double)c->ns * 1e-6);
        if (k < SHI_TARGETED)
            print_targets(f, k);
        fputc('\n', f);
    }
    for (int k = 0; k < SHI_WAYS; k++)
        if (all.way[k].calls)
            fprintf(f, "fulmar: PE %d: by %-9s %12" PRIu64 " %10s\n", pe, shi_way_name[k], all.way[k].calls,
                    human(all.way[k].bytes, text));
    if (all.ring.requests)
        fprintf(f, "fulmar: PE %d: the ring brought %" PRIu64 " requests in %" PRIu64 " rounds, at most %" PRIu64 " at a time\n",
                pe, all.ring.requests, all.ring.rounds, all.ring.deepest);
    print_device_ways(f, pe);
    for (int k = 0; k < SHI_COPIES_AGENTS; k++) {
        const struct shi_copies_counts c = shi_copies_counted((enum shi_copies_agent)k);
        if (c.copies)
            fprintf(f, "fulmar: PE %d: %s on device memory made %" PRIu64 " copies in %" PRIu64 " submissions, with %" PRIu64
                    " updates that read words in %" PRIu64 " rounds\n", pe, shi_copies_agent_name[k], c.copies, c.submissions, c.updates, c.rounds);
    }
}

/* ---- gathering ---------------------------------------------------------------------------------------------------- */

enum { TOP_TARGETS = 5, TOP_ROUTINES = 4, SHOWN_ROUTINES = 5 };

struct target {
    int32_t pe, from;
    uint64_t bytes;
};
struct targets {
    struct target top[TOP_TARGETS];
};
struct routine {
    char name[SHI_TRACE_NAME_BYTES];
    uint64_t calls, ns, longest_ns;
    int32_t pe, longest_pe; /* where ns and longest_ns are greatest */
};

/* What each PE sends. */
struct record {
    struct shi_counter family[SHI_FAMILIES], way[SHI_WAYS];
    uint64_t ns, waited_ns; /* from init to finalize; of that in calls that wait for other PEs */
    uint64_t requests, rounds, deepest;
    struct targets targets;
    struct routine routine[TOP_ROUTINES];
};
static struct record *of;       /* [among->n] */
static struct shmem_team *among; /* all PEs, or those that live */
struct shmem_team *(*shi_stats_team)(void);

/* Send `mine`; the first member gets those of all. */
static void gather(const struct record *mine)
{
    among->routine = "shmem_finalize";
    for (size_t at = 0, some; at < sizeof *mine; at += some) {
        some = sizeof *mine - at < SHI_EXCHANGE_BYTES ? sizeof *mine - at : SHI_EXCHANGE_BYTES;
        shi_team_exchange(among, (const char *)mine + at, some);
        for (int i = 0; i < among->n && among->me == 0; i++)
            memcpy((char *)&of[i] + at, shi_team_buffer(among, shi_world.pe, i), some);
    }
}

/* Keep t if it is among those with most bytes, which are in descending order. */
static void keep_top(struct targets *best, struct target t)
{
    int at = TOP_TARGETS;
    while (at > 0 && t.bytes > best->top[at - 1].bytes)
        at--;
    if (at == TOP_TARGETS)
        return;
    memmove(&best->top[at + 1], &best->top[at], (size_t)(TOP_TARGETS - 1 - at) * sizeof *best->top);
    best->top[at] = t;
}

/* The targets that this PE's calls name most bytes for. */
static struct targets top_targets(void)
{
    struct targets best = {0};
    for (int pe = 0; pe < shi_world.n_pes; pe++) {
        struct target t = {.pe = pe, .from = shi_world.pe};
        for (int k = 0; k < SHI_TARGETED; k++)
            t.bytes += all.to[pe][k].bytes;
        keep_top(&best, t);
    }
    return best;
}

static int by_time(const void *a, const void *b)
{
    uint64_t x = ((const struct shi_routine *)a)->ns, y = ((const struct shi_routine *)b)->ns;
    return x < y ? 1 : x > y ? -1 : 0;
}

static struct routine describe(const struct shi_routine *from)
{
    struct routine r = {.calls = from->calls, .ns = from->ns, .longest_ns = from->longest_ns, .pe = shi_world.pe,
                        .longest_pe = shi_world.pe};
    snprintf(r.name, sizeof r.name, "%s", from->name ? from->name : "");
    return r;
}

/* Do these calls wait for other PEs? */
static int waits(int family)
{
    return family == SHI_COLLECTIVES || family == SHI_BARRIERS || family == SHI_WAITS || family == SHI_LOCKS || family == SHI_ORDERS;
}

int shi_stats_gather(void)
{
    struct record mine = {.ns = shi_now_ns() - all.start_ns, .requests = all.ring.requests, .rounds = all.ring.rounds,
                          .deepest = all.ring.deepest, .targets = top_targets()};
    among = shi_stats_team ? shi_stats_team() : &shi_team_world;
    of = among->me == 0 ? calloc((size_t)among->n, sizeof *of) : NULL;
    if (!shi_team_all("shmem_finalize", among, of || among->me) && !shi_team_failed(among)) {
        free(of);
        return -ENOMEM;
    }
    memcpy(mine.family, all.family, sizeof mine.family);
    memcpy(mine.way, all.way, sizeof mine.way);
    for (int k = 0; k < SHI_FAMILIES; k++)
        mine.waited_ns += waits(k) ? all.family[k].ns : 0;
    qsort(all.routine, SHI_ROUTINES, sizeof *all.routine, by_time);
    for (int i = 0; i < TOP_ROUTINES; i++)
        mine.routine[i] = describe(&all.routine[i]);
    gather(&mine);
    if (!shi_team_failed(among))
        return among->me == 0;
    free(of);
    return -ECANCELED;
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

struct spread {
    double least, median, most, mean;
    int pe; /* of the most */
};

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Sorts v, one value for each PE. */
static struct spread spread_of(double *v, int n)
{
    struct spread s = {.most = -1};
    for (int i = 0; i < n; i++) {
        s.mean += v[i] / n;
        if (v[i] > s.most) {
            s.most = v[i];
            s.pe = shi_team_world_pe(among, i);
        }
    }
    qsort(v, (size_t)n, sizeof *v, ascending);
    s.least = v[0];
    s.median = n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
    return s;
}

/* Of all PEs: the counter that the first one has there. */
static struct shi_counter sum(const struct shi_counter *of_pe_0)
{
    struct shi_counter s = {0, 0, 0};
    for (int pe = 0; pe < among->n; pe++) {
        const struct shi_counter *c = (const void *)((const char *)of_pe_0 + (size_t)pe * sizeof *of);
        s.calls += c->calls;
        s.bytes += c->bytes;
        s.ns += c->ns;
    }
    return s;
}

static void print_families(FILE *f, double *v)
{
    char text[16];
    fprintf(f, "fulmar: %-10s %12s %10s | ms of a PE: %10s %10s %10s %8s %10s\n", "what", "calls", "bytes", "least", "median", "most",
            "by PE", "most/mean");
    for (int k = 0; k < SHI_FAMILIES; k++) {
        struct shi_counter total = sum(&of->family[k]);
        if (!total.calls)
            continue;
        for (int pe = 0; pe < among->n; pe++)
            v[pe] = (double)of[pe].family[k].ns * 1e-6;
        struct spread s = spread_of(v, among->n);
        fprintf(f, "fulmar: %-10s %12" PRIu64 " %10s | %11s %10.3f %10.3f %10.3f %8d %10.2f\n", shi_family_name[k], total.calls,
                k < SHI_TARGETED ? human(total.bytes, text) : "-", "", s.least, s.median, s.most, s.pe,
                s.mean > 0 ? s.most / s.mean : 1);
    }
}

static void print_ways(FILE *f)
{
    char text[16];
    uint64_t requests = 0, rounds = 0, deepest = 0;
    for (int k = 0, n = 0; k < SHI_WAYS; k++) {
        struct shi_counter total = sum(&of->way[k]);
        if (total.calls)
            fprintf(f, "%s %" PRIu64 " calls by %s with %s", n++ ? "," : "fulmar: ways:", total.calls, shi_way_name[k],
                    human(total.bytes, text));
        if (k == SHI_WAYS - 1 && n)
            fputc('\n', f);
    }
    for (int pe = 0; pe < among->n; pe++) {
        requests += of[pe].requests;
        rounds += of[pe].rounds;
        deepest = of[pe].deepest > deepest ? of[pe].deepest : deepest;
    }
    if (requests)
        fprintf(f, "fulmar: rings: %" PRIu64 " requests of kernels in %" PRIu64 " rounds, at most %" PRIu64 " at a time\n",
                requests, rounds, deepest);
}

static void print_pairs(FILE *f)
{
    char text[16];
    struct targets best = {0};
    for (int i = 0; i < among->n * TOP_TARGETS; i++)
        keep_top(&best, of[i / TOP_TARGETS].targets.top[i % TOP_TARGETS]);
    for (int i = 0; i < TOP_TARGETS && best.top[i].bytes; i++)
        fprintf(f, "%s PE %d with PE %d %s", i ? "," : "fulmar: most bytes:", best.top[i].from, best.top[i].pe,
                human(best.top[i].bytes, text));
    if (best.top[0].bytes)
        fputc('\n', f);
}

/* Add the routines of all PEs by name. Returns their number. */
static int merge_routines(struct routine *merged)
{
    int n = 0;
    for (int i = 0; i < among->n * TOP_ROUTINES; i++) {
        const struct routine *r = &of[i / TOP_ROUTINES].routine[i % TOP_ROUTINES];
        int at = 0;
        while (at < n && strcmp(merged[at].name, r->name) != 0)
            at++;
        struct routine *to = &merged[at];
        if (!*r->name)
            continue;
        if (at == n) {
            merged[n++] = *r;
            continue;
        }
        to->calls += r->calls;
        if (r->ns > to->ns) {
            to->ns = r->ns;
            to->pe = r->pe;
        }
        if (r->longest_ns > to->longest_ns) {
            to->longest_ns = r->longest_ns;
            to->longest_pe = r->longest_pe;
        }
    }
    return n;
}

static int routines_by_time(const void *a, const void *b)
{
    uint64_t x = ((const struct routine *)a)->ns, y = ((const struct routine *)b)->ns;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void print_routines(FILE *f)
{
    struct routine *merged = calloc((size_t)among->n * TOP_ROUTINES, sizeof *merged);
    int n = merged ? merge_routines(merged) : 0;
    if (merged)
        qsort(merged, (size_t)n, sizeof *merged, routines_by_time);
    for (int i = 0; i < n && i < SHOWN_ROUTINES; i++) {
        const struct routine *r = &merged[i];
        fprintf(f, "fulmar: %-32s %8" PRIu64 " calls, %.3f ms in PE %d, the longest %.3f ms in PE %d\n", r->name, r->calls,
                (double)r->ns * 1e-6, r->pe, (double)r->longest_ns * 1e-6, r->longest_pe);
    }
    free(merged);
}

static void print_failed(FILE *f)
{
    fprintf(f, "fulmar: %d of %d PEs died, the table is of the others:", shi_world.n_pes - among->n, shi_world.n_pes);
    for (int pe = 0, n = 0; pe < shi_world.n_pes; pe++)
        if (shi_team_member(among, pe) < 0)
            fprintf(f, "%s %d", n++ ? "," : "", pe);
    fputc('\n', f);
}

void shi_stats_table(FILE *f)
{
    int n = among->n;
    double *v = calloc((size_t)n, sizeof *v);
    for (int pe = 0; v && pe < n; pe++)
        v[pe] = (double)of[pe].ns * 1e-6;
    if (v) {
        struct spread s = spread_of(v, n);
        fprintf(f, "fulmar: %d PE%s, %.3f ms from init to finalize\n", n, n == 1 ? "" : "s", s.most);
        if (n < shi_world.n_pes)
            print_failed(f);
        print_families(f, v);
        for (int pe = 0; pe < n; pe++)
            v[pe] = 100.0 * (double)of[pe].waited_ns / (double)(of[pe].ns + 1);
        s = spread_of(v, n);
        fprintf(f, "fulmar: waiting for other PEs (collective, barrier, wait, lock, order): %.1f %% of the time in the median, "
                   "%.1f %% to %.1f %% (PE %d)\n", s.median, s.least, s.most, s.pe);
        print_ways(f);
        print_device_ways(f, shi_world.pe);
        print_pairs(f);
        print_routines(f);
    }
    free(v);
    free(of);
}
