/* trace_reader.c - read statistics and traces. The first pass finds the number of PEs and the time span, the second sums up. */
#include "tools/trace_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json.h"

/* One event of a trace, in seconds. */
struct event {
    int pe, to, to_all, family;
    double start, took, bytes;
};

struct pass {
    struct trace_summary *t;
    int measuring;      /* the first pass */
    int stats, traces;  /* files of each kind */
    double first, last; /* seconds of the trace */
};

static int family_of(const char *name)
{
    for (int k = 0; k < SHI_FAMILIES; k++)
        if (strcmp(name, shi_family_name[k]) == 0)
            return k;
    return -1;
}

static void sent(struct trace_summary *t, int from, int to, int family, double bytes)
{
    if (from < 0 || to < 0 || from >= t->n_pes || to >= t->n_pes)
        return;
    int of = family == SHI_GETS ? to : from; /* the PE that the data came from */
    t->sent[trace_cell(t, of) * t->cells + trace_cell(t, family == SHI_GETS ? from : to)] += bytes;
    t->bytes += bytes;
}

/* ---- statistics --------------------------------------------------------------------------------------------------- */

static void read_counter(struct json *j, double *bytes, double *ns)
{
    char key[32];
    if (!json_enter(j, '{'))
        return;
    while (json_next(j, key, sizeof key)) {
        if (strcmp(key, "bytes") == 0)
            *bytes = json_number(j);
        else if (strcmp(key, "ns") == 0)
            *ns = json_number(j);
        else
            json_skip(j);
    }
}

static void read_families(struct json *j, struct pass *p, int pe)
{
    char key[32];
    if (!json_enter(j, '{'))
        return;
    while (json_next(j, key, sizeof key)) {
        double bytes = 0, ns = 0;
        int k = family_of(key);
        read_counter(j, &bytes, &ns);
        if (!p->measuring && !p->traces && k >= 0 && pe >= 0 && pe < p->t->n_pes)
            p->t->spent[trace_lane(p->t, pe)][k] += ns * 1e-9;
    }
}

static void read_target(struct json *j, struct pass *p, int pe)
{
    char key[32];
    int to = -1;
    if (!json_enter(j, '{'))
        return;
    while (json_next(j, key, sizeof key)) {
        double bytes = 0, ns = 0;
        if (strcmp(key, "pe") == 0) {
            to = (int)json_number(j);
            continue;
        }
        read_counter(j, &bytes, &ns);
        if (!p->measuring)
            sent(p->t, pe, to, family_of(key), bytes);
    }
}

/* A member of a PE's object. stats.c writes the PE's number first. */
static void read_member(struct json *j, struct pass *p, const char *key, int *pe)
{
    if (strcmp(key, "pe") == 0) {
        *pe = (int)json_number(j);
    } else if (strcmp(key, "n_pes") == 0) {
        int n = (int)json_number(j);
        p->t->n_pes = n > p->t->n_pes && p->measuring ? n : p->t->n_pes;
    } else if (strcmp(key, "ns") == 0) {
        double s = json_number(j) * 1e-9;
        p->t->span_s = s > p->t->span_s ? s : p->t->span_s;
    } else if (strcmp(key, "families") == 0) {
        read_families(j, p, *pe);
    } else if (strcmp(key, "to") == 0 && json_enter(j, '[')) {
        while (json_next(j, NULL, 0))
            read_target(j, p, *pe);
    } else if (strcmp(key, "to") != 0) {
        json_skip(j);
    }
}

/* ---- traces ------------------------------------------------------------------------------------------------------- */

static void read_args(struct json *j, struct pass *p, struct event *e)
{
    char key[32];
    if (!json_enter(j, '{'))
        return;
    while (json_next(j, key, sizeof key)) {
        if (strcmp(key, "bytes") == 0) {
            e->bytes = json_number(j);
        } else if (strcmp(key, "to") == 0) {
            e->to = (int)json_number(j);
        } else if (strcmp(key, "to_all") == 0) {
            e->to_all = json_true(j);
        } else if (strcmp(key, "n_pes") == 0) {
            int n = (int)json_number(j);
            p->t->n_pes = n > p->t->n_pes && p->measuring ? n : p->t->n_pes;
        } else {
            json_skip(j);
        }
    }
}

/* Add an event's time to the columns of its lane. */
static void draw(struct pass *p, const struct event *e)
{
    struct trace_summary *t = p->t;
    double column_s = (p->last - p->first) / TRACE_COLUMNS, at = e->start - p->first, end = at + e->took;
    int lane = trace_lane(t, e->pe);
    t->spent[lane][e->family] += e->took;
    for (int c = (int)(at / column_s); c < TRACE_COLUMNS && c * column_s <= end; c++) {
        double from = at > c * column_s ? at : c * column_s, to = end < (c + 1) * column_s ? end : (c + 1) * column_s;
        t->busy[lane][c][e->family] += (float)(to - from);
    }
}

static void take_event(struct pass *p, const struct event *e)
{
    struct trace_summary *t = p->t;
    if (p->measuring) {
        p->first = e->start < p->first ? e->start : p->first;
        p->last = e->start + e->took > p->last ? e->start + e->took : p->last;
        return;
    }
    if (e->pe < 0 || e->pe >= t->n_pes)
        return;
    draw(p, e);
    if (p->stats || e->family >= SHI_TARGETED)
        return;
    if (e->to >= 0)
        sent(t, e->pe, e->to, e->family, e->bytes);
    for (int pe = 0; e->to_all && pe < t->n_pes; pe++) /* a trace does not record the team */
        if (pe != e->pe)
            sent(t, e->pe, pe, e->family, e->bytes);
}

static void read_event(struct json *j, struct pass *p)
{
    struct event e = {.pe = -1, .to = -1, .family = -1};
    char key[32], text[32], kind[4] = "";
    if (!json_enter(j, '{'))
        return;
    while (json_next(j, key, sizeof key)) {
        if (strcmp(key, "pid") == 0)
            e.pe = (int)json_number(j);
        else if (strcmp(key, "ts") == 0)
            e.start = json_number(j) * 1e-6;
        else if (strcmp(key, "dur") == 0)
            e.took = json_number(j) * 1e-6;
        else if (strcmp(key, "ph") == 0)
            json_string(j, kind, sizeof kind);
        else if (strcmp(key, "cat") == 0)
            json_string(j, text, sizeof text), e.family = family_of(text);
        else if (strcmp(key, "args") == 0)
            read_args(j, p, &e);
        else
            json_skip(j);
    }
    if (kind[0] == 'X' && e.family >= 0)
        take_event(p, &e);
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

/* An object is a trace or the statistics of one PE. */
static void read_object(struct json *j, struct pass *p)
{
    char key[32];
    int pe = -1, is_trace = 0;
    if (!json_enter(j, '{'))
        return;
    while (json_next(j, key, sizeof key)) {
        if (strcmp(key, "traceEvents") == 0 && json_enter(j, '[')) {
            is_trace = 1;
            while (json_next(j, NULL, 0))
                read_event(j, p);
        } else if (strcmp(key, "traceEvents") != 0) {
            read_member(j, p, key, &pe);
        }
    }
    if (p->measuring) {
        p->traces += is_trace;
        p->stats += pe >= 0;
    }
}

static int read_text(const char *path, char *text, size_t bytes, struct pass *p)
{
    struct json j = {.at = text, .end = text + bytes};
    int before = p->stats + p->traces;
    if (strspn(text, " \t\r\n") < bytes && text[strspn(text, " \t\r\n")] == '[') {
        json_enter(&j, '[');
        while (json_next(&j, NULL, 0))
            read_object(&j, p);
    } else {
        read_object(&j, p);
    }
    if (!j.bad && (!p->measuring || p->stats + p->traces > before))
        return 0;
    fprintf(stderr, "oshinfo: %s: not a file of SHMEM_STATS or SHMEM_TRACE (byte %td)\n", path,
            j.at - text);
    return -1;
}

static int read_file(const char *path, struct pass *p)
{
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t bytes = 0;
    int bad = !f || fseek(f, 0, SEEK_END);
    if (!bad) {
        bytes = (size_t)ftell(f);
        rewind(f);
        text = malloc(bytes + 1);
        bad = !text || fread(text, 1, bytes, f) != bytes;
    }
    if (bad)
        fprintf(stderr, "oshinfo: %s: %s\n", path, strerror(errno));
    else
        text[bytes] = 0;
    bad = bad || read_text(path, text, bytes, p);
    free(text);
    if (f)
        fclose(f);
    return bad ? -1 : 0;
}

static int allocate(struct trace_summary *t)
{
    t->cells = t->n_pes < TRACE_CELLS ? t->n_pes : TRACE_CELLS;
    t->lanes = t->n_pes < TRACE_LANES ? t->n_pes : TRACE_LANES;
    t->sent = calloc((size_t)t->cells * (size_t)t->cells, sizeof *t->sent);
    t->spent = calloc((size_t)t->lanes, sizeof *t->spent);
    t->busy = calloc((size_t)t->lanes, sizeof *t->busy);
    if (t->sent && t->spent && t->busy)
        return 0;
    fputs("oshinfo: out of memory\n", stderr);
    return -1;
}

int trace_read(char **paths, int n, struct trace_summary *out)
{
    struct trace_summary t = {.n_pes = 0};
    struct pass p = {.t = &t, .measuring = 1, .first = 1e300, .last = -1e300};
    for (int i = 0; i < n; i++)
        if (read_file(paths[i], &p))
            return -1;
    if (t.n_pes < 1 || allocate(&t))
        return -1;
    t.has_line = p.last > p.first;
    if (t.has_line)
        t.span_s = p.last - p.first;
    p.measuring = 0;
    for (int i = 0; i < n; i++)
        if (read_file(paths[i], &p))
            return -1;
    *out = t;
    return 0;
}
