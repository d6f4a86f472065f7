/*
 * scale.c - rounds, messages, bytes, memory and time of the collectives between up to a million nodes, in one process.
 *
 * It runs the library's schedules and its choice among them (src/host/coll/plan.c) for every node, one PE a node, and computes
 * each node's clock under LogGP: a message of k bytes costs the sender o + (k - 1) G and at least g since its last one, travels
 * for L, and costs the receiver o. Where all nodes do the same, only the first is run beyond CHECKED nodes. Up to there, every
 * message has to meet a receiver that expects it.
 *
 * The row "tables" is the memory of the library's tables at one PE of n, with EACH PEs on a node, which talks to PEERS that no two
 * neighbour in a table; what the transport takes for a connection comes on top.
 *
 *   scale [-L us] [-o us] [-g us] [-G ns] [NODES...]   a table
 *   scale --json ...                                   one line of JSON for each row
 *   scale --plot FILE ...                              time over nodes as SVG
 *   scale --check FILE                                 the rows of FILE, none of which may exceed its bounds
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/coll/plan.h"
#include "host/coll/rules.h"
#include "host/coll/team.h"
#include "host/net/lane.h"
#include "host/ops/state.h"
#include "host/tag/tag.h"

enum { EACH = 64, PEERS = 64, TABLES = -2 };
enum { CHECKED = 8192, MOST = 1000000, PHASES = 3, NAME_BYTES = 24 };

static double latency = 3, overhead = 1.5, gap = 0.5, ns_a_byte = 0.4; /* measured over tcp on one host */

/* A phase of a collective: a plan whose blocks have so many bytes; `extra` empty messages a round that are waited for. */
struct phase {
    enum shi_plan plan;
    size_t block;
    int extra;
};

struct row {
    char name[NAME_BYTES];
    int collective; /* enum shi_collective, or -1: a plan for itself, or TABLES */
    size_t bytes;
    struct phase alone;
};

static const struct row rows[] = {
    {"barrier", -1, 0, {SHI_PLAN_BARRIER, 0, 0}},
    {"split", -1, 0, {SHI_PLAN_MERGE, 96, 0}},
    {"broadcast-8", SHI_COLL_BROADCAST, 8, {0}},
    {"broadcast-1M", SHI_COLL_BROADCAST, 1 << 20, {0}},
    {"reduce-8", SHI_COLL_REDUCE, 8, {0}},
    {"reduce-1M", SHI_COLL_REDUCE, 1 << 20, {0}},
    {"scan-8", SHI_COLL_SCAN, 8, {0}},
    {"scan-1M", SHI_COLL_SCAN, 1 << 20, {0}},
    {"fcollect-8", SHI_COLL_COLLECT, 8, {0}},
    {"fcollect-1K", SHI_COLL_COLLECT, 1024, {0}},
    {"alltoall-8", SHI_COLL_ALLTOALL, 8, {0}},
    {"alltoall-1K", SHI_COLL_ALLTOALL, 1024, {0}},
    {"tables", TABLES, 0, {0}},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Bytes of the pages of a table of n entries that PEERS PEs touch. */
static double touched(int n, size_t entry)
{
    double all = ((double)n * (double)entry + SHI_PAGE_BYTES - 1) / SHI_PAGE_BYTES;
    return SHI_PAGE_BYTES * (all < PEERS ? all : PEERS);
}

/* Entries of all PEs: program and node, slot and place in the world's team, FIFO number, and once a node address and record; of the
 * PEs of the node, which are neighbours: address; and of peers: stream, what it sent, the state of active messages (one line), tags,
 * operations of the transport, and three lists. */
static double tables(int n)
{
    double all = (double)n * (8 + sizeof(void *) + 5 * sizeof(int) + (double)(SHI_SHM_RECORD_BYTES + sizeof(struct shi_peer)) / EACH);
    all += shi_round_up(EACH * sizeof(struct shi_peer), SHI_PAGE_BYTES);
    return all + touched(n, 3 * sizeof(void *)) + touched(n, sizeof(struct stream)) + touched(n, sizeof(struct peer_rx)) + touched(n, SHI_LINE_BYTES) +
           touched(n, sizeof(struct shi_tag_peer)) + touched(n, sizeof(uint64_t)) + 7 * touched(PEERS, sizeof(int));
}

/* What the worst node has to do. memory: what the library needs beside the program's arrays. */
struct cost {
    long rounds;
    double messages, bytes, memory, us;
};

static double *now, *due, *sent, *volume; /* [nodes] */

/* The phases of a row between n nodes, and the memory that they need. Returns their number. */
static int phases_of(const struct row *r, int n, struct phase *p, double *memory)
{
    double count = n;
    size_t all = r->bytes, part = (all + (size_t)n - 1) / (size_t)n, power;
    p[0] = r->alone;
    *memory = r->alone.plan == SHI_PLAN_MERGE ? 2.0 * 128 * (shi_plan_log2(n) + 1) : 0;
    if (r->collective < 0)
        return 1;
    switch (shi_rules_choose((enum shi_collective)r->collective, &(const struct shi_shape){n, 1, n}, all, 0)) {
    case SHI_BY_TREE: p[0] = (struct phase){SHI_PLAN_TREE, all, 0}; return 1;
    case SHI_BY_SCATTER_GATHER:
        p[0] = (struct phase){SHI_PLAN_SCATTER, part, 0};
        p[1] = (struct phase){SHI_PLAN_GATHER, part, 0};
        return 2;
    case SHI_BY_GATHER:
        p[0] = (struct phase){SHI_PLAN_GATHER, all, 0};
        *memory = r->collective == SHI_COLL_COLLECT ? 0 : 2.0 * 16 * count;
        return 1;
    case SHI_BY_DOUBLING:
        p[0] = (struct phase){SHI_PLAN_DOUBLING, all, 0};
        *memory = 2.0 * (double)all * shi_plan_rounds(SHI_PLAN_DOUBLING, n);
        return 1;
    case SHI_BY_PIECES: /* reads of all pieces, then writes */
        p[0] = (struct phase){SHI_PLAN_BARRIER, 0, 0};
        p[1] = p[2] = (struct phase){SHI_PLAN_PAIRWISE, part, 0};
        *memory = (double)all;
        return 3;
    case SHI_BY_HALVING:
        power = (size_t)shi_plan_blocks(SHI_PLAN_HALVING, n);
        p[0] = (struct phase){SHI_PLAN_HALVING, (all + power - 1) / power, 1}; /* reads */
        *memory = (double)all / 2;
        return 1;
    case SHI_BY_READ:
        p[0] = (struct phase){SHI_PLAN_SCAN, all, 2};
        *memory = (double)all;
        return 1;
    case SHI_BY_INDEX:
        *memory = (double)all * shi_plan_index_places(n, shi_plan_log2(n));
        if (*memory <= (double)(shi_team_half_bytes(n) - SHI_LANDING_BYTES)) {
            *memory *= 2; /* the two halves of the exchange buffers */
            p[0] = (struct phase){SHI_PLAN_INDEX, all, 0};
            return 1;
        }
        *memory = 0;
        p[0] = (struct phase){SHI_PLAN_PAIRWISE, all, 0};
        return 1;
    default: p[0] = (struct phase){SHI_PLAN_PAIRWISE, all, 0}; return 1;
    }
}

static void fail(const char *what, enum shi_plan plan, int n, int me, int r)
{
    fprintf(stderr, "scale: %s: %s, %d nodes, node %d, round %d\n", what, shi_plan_name(plan), n, me, r);
    exit(1);
}

/* Do all nodes send and receive as much as each other in each round? */
static int uniform(enum shi_plan plan)
{
    return plan == SHI_PLAN_BARRIER || plan == SHI_PLAN_GATHER || plan == SHI_PLAN_MERGE || plan == SHI_PLAN_INDEX ||
           plan == SHI_PLAN_PAIRWISE;
}

static void send(const struct phase *p, int n, int me, int r, int one)
{
    struct shi_round x = shi_plan_round(p->plan, n, me, r);
    if (x.to < 0)
        return;
    if (!one && shi_plan_round(p->plan, n, x.to, r).from != me)
        fail("a message that its receiver does not expect", p->plan, n, me, r);
    double bytes = (double)x.send.n * (double)p->block, busy = overhead + (bytes > 1 ? (bytes - 1) * ns_a_byte / 1000 : 0);
    now[me] += busy > gap ? busy : gap;
    due[one ? me : x.to] = now[me] + latency + p->extra * (latency + 2 * overhead);
    sent[me] += 1 + p->extra;
    volume[me] += bytes;
}

static void receive(const struct phase *p, int n, int me, int r, int one)
{
    struct shi_round x = shi_plan_round(p->plan, n, me, r);
    if (x.from < 0)
        return;
    if (!one && shi_plan_round(p->plan, n, x.from, r).to != me)
        fail("a message that is not sent", p->plan, n, me, r);
    now[me] = (due[me] > now[me] ? due[me] : now[me]) + overhead;
}

/* The worst node's cost; 0 when the schedule would need more than a minute to run. */
static struct cost run(const struct row *row, int n)
{
    struct phase p[PHASES];
    struct cost c = {0};
    if (row->collective == TABLES) {
        c.memory = tables(n);
        return c;
    }
    int n_phases = phases_of(row, n, p, &c.memory), nodes = 1;
    memset(now, 0, (size_t)n * sizeof *now);
    memset(sent, 0, (size_t)n * sizeof *sent);
    memset(volume, 0, (size_t)n * sizeof *volume);
    for (int k = 0; k < n_phases; k++) {
        int one = uniform(p[k].plan) && n > (p[k].plan == SHI_PLAN_PAIRWISE ? 256 : CHECKED);
        int many = one ? 1 : n;
        nodes = many > nodes ? many : nodes;
        for (int i = 1; one && i < n; i++) /* every node is as late as the latest before */
            now[0] = now[i] > now[0] ? now[i] : now[0];
        for (int r = 0; r < shi_plan_rounds(p[k].plan, n); r++, c.rounds++) {
            for (int me = 0; me < many; me++)
                send(&p[k], n, me, r, one);
            for (int me = 0; me < many; me++)
                receive(&p[k], n, me, r, one);
        }
    }
    for (int me = 0; me < nodes; me++) {
        c.us = now[me] > c.us ? now[me] : c.us;
        c.messages = sent[me] > c.messages ? sent[me] : c.messages;
        c.bytes = volume[me] > c.bytes ? volume[me] : c.bytes;
    }
    return c;
}

/* ---- output ------------------------------------------------------------------------------------------------------------- */

static void print_row(const struct row *r, int n, int json)
{
    struct cost c = run(r, n);
    printf(json ? "{\"bench\": \"scale\", \"case\": \"%s\", \"nodes\": %d, \"rounds\": %ld, \"messages\": %.0f, \"bytes\": %.0f, "
                  "\"memory\": %.0f, \"us\": %.1f}\n"
                : "%-14s %8d %8ld %10.0f %12.0f %12.0f %12.1f\n",
           r->name, n, c.rounds, c.messages, c.bytes, c.memory, c.us);
}

static int log10_of(double v, double scale)
{
    int tenths = 0;
    for (; v >= 1.122018454; v /= 1.122018454) /* 10^(1/20) */
        tenths++;
    return (int)(tenths * scale / 20);
}

/* Time over nodes, both logarithmic, a line for each row. */
static void plot(const char *file)
{
    FILE *f = fopen(file, "w");
    if (!f) {
        perror(file);
        exit(1);
    }
    fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' width='860' height='560' font-family='sans-serif' font-size='12'>\n"
               "<rect width='860' height='560' fill='white'/>\n");
    for (int k = 0, n = 1; k <= 6; k++, n *= 10)
        fprintf(f, "<text x='%d' y='545'>%d</text><path d='M%d 20V530' stroke='#ddd'/>\n", 60 + k * 100 - 8, n, 60 + k * 100);
    for (int k = 0; k <= 8; k++)
        fprintf(f, "<text x='5' y='%d'>1e%d us</text><path d='M60 %dH660' stroke='#ddd'/>\n", 530 - k * 62, k, 530 - k * 62);
    for (int i = 0; i < ROWS; i++) {
        int y = 0;
        if (rows[i].collective == TABLES) /* takes no time */
            continue;
        fprintf(f, "<path fill='none' stroke='hsl(%d,70%%,45%%)' d='", i * 360 / ROWS);
        for (int n = 2; n <= MOST; n = n < MOST && n * 2 > MOST ? MOST : n * 2) {
            y = 530 - log10_of(run(&rows[i], n).us, 62);
            fprintf(f, "%c%d %d", n == 2 ? 'M' : 'L', 60 + log10_of(n, 100), y);
            if (n == MOST)
                break;
        }
        fprintf(f, "'/><text x='665' y='%d' fill='hsl(%d,70%%,40%%)'>%s</text>\n", y, i * 360 / ROWS, rows[i].name);
    }
    fprintf(f, "<text x='300' y='14'>time over nodes, one PE a node</text></svg>\n");
    fclose(f);
}

/* Lines "NAME NODES ROUNDS MESSAGES BYTES MEMORY US". Returns the number of rows above a bound, or unknown. */
static int check(const char *file)
{
    FILE *f = fopen(file, "r");
    char line[256], name[NAME_BYTES];
    int bad = 0, n, checked = 0;
    struct cost b;
    if (!f) {
        perror(file);
        return 1;
    }
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#')
            continue;
        const struct row *r = rows;
        int read = sscanf(line, "%23s %d %ld %lf %lf %lf %lf", name, &n, &b.rounds, &b.messages, &b.bytes, &b.memory, &b.us);
        while (r < rows + ROWS && strcmp(r->name, name) != 0)
            r++;
        struct cost c = read == 7 && r < rows + ROWS && n > 1 && n <= MOST ? run(r, n) : (struct cost){.rounds = -1};
        int over = c.rounds < 0 || c.rounds > b.rounds || c.messages > b.messages || c.bytes > b.bytes || c.memory > b.memory ||
                   c.us > b.us + 0.05; /* rounded */
        if (over)
            printf("# above its bounds: %s %d: %ld %.0f %.0f %.0f %.1f; bounds: %s", name, n, c.rounds, c.messages, c.bytes, c.memory,
                   c.us, line);
        bad += over;
        checked++;
    }
    fclose(f);
    return bad + (checked < ROWS);
}

static double number(const char *text)
{
    char *end;
    double v = text ? strtod(text, &end) : -1;
    if (!text || *end || end == text || v < 0) {
        fprintf(stderr, "scale: not a number: %s\n", text ? text : "nothing");
        exit(2);
    }
    return v;
}

/* An option with a number of the model. Returns 1 when it is one. */
static int model_option(const char *name, const char *value)
{
    double *of = !strcmp(name, "-L") ? &latency : !strcmp(name, "-o") ? &overhead : !strcmp(name, "-g") ? &gap
               : !strcmp(name, "-G") ? &ns_a_byte : NULL;
    if (of)
        *of = number(value);
    return of != NULL;
}

int main(int argc, char **argv)
{
    static const int usual[] = {2, 16, 256, 4096, 65536, MOST};
    int nodes[64], n_nodes = 0, json = 0;
    now = calloc(4 * (size_t)MOST, sizeof *now);
    if (!now)
        return 1;
    due = now + MOST;
    sent = due + MOST;
    volume = sent + MOST;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--check") && i + 1 < argc)
            return check(argv[i + 1]) != 0;
        if (!strcmp(argv[i], "--plot") && i + 1 < argc) {
            plot(argv[i + 1]);
            return 0;
        }
        if (!strcmp(argv[i], "--json"))
            json = 1;
        else if (model_option(argv[i], argv[i + 1]))
            i++;
        else if (n_nodes < 64 && number(argv[i]) >= 2 && number(argv[i]) <= MOST)
            nodes[n_nodes++] = (int)number(argv[i]);
        else
            return fprintf(stderr, "scale: %s: give at most 64 numbers of nodes from 2 to %d\n", argv[i], MOST), 2;
    }
    for (int k = 0; !n_nodes && k < 6; k++)
        nodes[k] = usual[k];
    if (!json)
        printf("one PE a node; L %g us, o %g us, g %g us, G %g ns; the worst node\n%-14s %8s %8s %10s %12s %12s %12s\n", latency,
               overhead, gap, ns_a_byte, "case", "nodes", "rounds", "messages", "bytes", "memory", "us");
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < (n_nodes ? n_nodes : 6); k++)
            print_row(&rows[i], nodes[k], json);
    return 0;
}
