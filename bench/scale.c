/*
 * scale.c - rounds, messages, bytes, memory and time of the collectives between up to a million PEs, in one process.
 *
 * It runs the library's schedules and its choice among them (src/host/coll/plan.c) for every node, with one PE a node or several, and
 * computes each PE's clock under LogGP: a message of k bytes costs the sender o + (k - 1) G and at least g since its last one,
 * travels for L, and costs the receiver o. Where several PEs of a node send to others at once, they share its G and g. Before, between
 * and after the rounds a node's PEs store into each other's memory: l for each store that another PE waits for, one after the other,
 * and m for each byte copied or combined. Where all nodes do the same, only the first is run beyond CHECKED nodes. Up to there, every
 * message has to meet a receiver that expects it.
 *
 * Rounds are those of the schedule; messages and bytes are what the worst node sends to other nodes; memory is of its first PE.
 *
 * The row "tables" is the memory of the library's tables at one PE of n, with EACH PEs on a node, which talks to PEERS that no two
 * neighbour in a table; what the transport takes for a connection comes on top.
 *
 *   scale [-L us] [-o us] [-g us] [-G ns] [-l us] [-m ns] [-p PES] [NODES...]   a table; -p: PEs a node
 *   scale --json ...                                   one line of JSON for each row
 *   scale --plot FILE ...                              time over nodes as SVG
 *   scale --check FILE                                 the rows of FILE, none of which may exceed its bounds
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/coll/coll.h"
#include "host/coll/plan.h"
#include "host/net/stream/lane.h"
#include "host/net/stream/stream.h"
#include "host/ops/state.h"
#include "host/policy/schedule.h"
#include "host/tag/tag.h"

enum { EACH = 64, PEERS = 64, TABLES = -2, SCAN = -3, COLLECT = -4 };
enum { CHECKED = 8192, MOST = 1000000, PHASES = 3, NAME_BYTES = 24, BLOCK = 131072, PULLED = 8192 };

static double latency = 3, overhead = 1.5, gap = 0.5, ns_a_byte = 0.4; /* measured over tcp on one host */
static double store = 0.1, ns_a_copied_byte = 0.1;

struct shape {
    int nodes, pes; /* a node */
};

/* Which PEs have the ranks of a phase: the nodes' first ones; PEs of the same number in their nodes, each for a part of the array;
 * those that handle the other node, PE (other node mod PEs) of each node; all. ON_NODE: no ranks, stores within each node. */
enum participants { FIRSTS, HOLDERS, HANDLERS, MEMBERS, ON_NODE };

/* A phase of a collective: a plan whose blocks have so many bytes; `extra` empty messages a round that are waited for; `more` messages
 * with a block to other PEs of the node. ON_NODE: so many stores, and bytes that are copied. */
struct phase {
    enum shi_plan plan;
    double block;
    int extra, more;
    enum participants participants;
    int stores;
};

struct row {
    char name[NAME_BYTES];
    int collective; /* enum shi_collective, SCAN or COLLECT; -1: a plan for itself; or TABLES */
    size_t bytes;
    struct phase alone;
};

static const struct row rows[] = {
    {"barrier", -1, 0, {.plan = SHI_PLAN_BARRIER}},
    {"split", -1, 96, {.plan = SHI_PLAN_MERGE, .block = 96}},
    {"broadcast-8", SHI_COLL_BROADCAST, 8, {0}},
    {"broadcast-1M", SHI_COLL_BROADCAST, 1 << 20, {0}},
    {"reduce-8", SHI_COLL_REDUCE, 8, {0}},
    {"reduce-1M", SHI_COLL_REDUCE, 1 << 20, {0}},
    {"scan-8", SCAN, 8, {0}},
    {"scan-1M", SCAN, 1 << 20, {0}},
    {"fcollect-8", COLLECT, 8, {0}},
    {"fcollect-1K", COLLECT, 1024, {0}},
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

/* Entries of all n PEs, `each` on a node: program and node, slot and place in the world's team, FIFO number, and once a node address and record; of the
 * PEs of the node, which are neighbours: address; and of peers: stream, what it sent, the state of active messages (one line), tags,
 * operations of the transport, and three lists. */
static double tables(int n, int each)
{
    double all = (double)n * (8 + sizeof(void *) + 5 * sizeof(int) + (double)(SHI_SHM_RECORD_BYTES + sizeof(struct shi_peer)) / each);
    all += shi_round_up((size_t)each * sizeof(struct shi_peer), SHI_PAGE_BYTES);
    return all + touched(n, 3 * sizeof(void *)) + touched(n, sizeof(struct stream)) + touched(n, sizeof(struct peer_rx)) + touched(n, SHI_LINE_BYTES) +
           touched(n, sizeof(struct shi_tag_peer)) + touched(n, sizeof(uint64_t)) + 7 * touched(PEERS, sizeof(int));
}

/* What the worst node has to do. memory: what the library needs beside the program's arrays. */
struct cost {
    long rounds;
    double messages, bytes, memory, us;
};

static double *now, *due, *sent, *volume; /* [PEs]; the last two [nodes] */

/* What a node's PEs do together: each waits for the first, or the first for all. */
static struct phase on_node(int stores, double bytes)
{
    return (struct phase){.participants = ON_NODE, .stores = stores, .block = bytes};
}

/* The members give their first so many bytes, the firsts run a plan, the members take so many. */
static int by_firsts(struct phase *p, int pes, double given, enum shi_plan plan, double block, double taken)
{
    p[0] = on_node(pes - 1, pes > 1 ? given : 0);
    p[1] = (struct phase){.plan = plan, .block = block};
    p[2] = on_node(pes > 1, pes > 1 ? taken : 0);
    return 3;
}

/* Two barriers of the node, with what it combines between them; the rounds of a plan; the members read the result. */
static int by_holders(struct phase *p, int pes, double all, const struct phase *between)
{
    p[0] = on_node(pes > 1 ? 2 * pes : 0, pes > 1 ? all * (pes + 1) : 0);
    p[1] = *between;
    p[1].participants = HOLDERS;
    p[2] = on_node(pes > 1 ? 2 * pes : 0, all * (pes - 1));
    return 3;
}

static enum shi_schedule choose(enum shi_collective of, const struct shape *s, size_t bytes, unsigned without)
{
    return shi_schedule_choose(of, &(const struct shi_schedule_facts){s->nodes, s->pes, bytes, without}, NULL, 0);
}

/* The phases of a reduction, and the memory that they need. Returns their number. */
static int reduce_phases(const struct shape *s, size_t bytes, struct phase *p, double *memory)
{
    int n = s->nodes, pes = s->pes, doublings = shi_plan_rounds(SHI_PLAN_DOUBLING, n);
    double all = (double)bytes, record = (double)shi_round_up(bytes, 16), part = all / pes / shi_plan_blocks(SHI_PLAN_HALVING, n);
    int fits = shi_team_fits(n * pes, bytes, pes + doublings);
    if (choose(SHI_COLL_REDUCE, s, bytes, fits ? 0 : 1 << SHI_BY_DOUBLING) == SHI_BY_DOUBLING) {
        *memory = 2 * record * (pes + doublings);
        return by_firsts(p, pes, all * (2 * pes - 1), SHI_PLAN_DOUBLING, all, all * pes);
    }
    *memory = 2 * (all / pes / 2 < BLOCK ? all / pes / 2 : BLOCK);
    return by_holders(p, pes, all, &(const struct phase){.plan = SHI_PLAN_HALVING, .block = part, .extra = 1}); /* reads */
}

static int alltoall_phases(const struct shape *s, size_t bytes, struct phase *p, double *memory)
{
    int n = s->nodes, pes = s->pes;
    double block = (double)bytes * pes * pes, copied = block * n, handled = block * ((n + pes - 1) / pes);
    double places = block * shi_plan_index_places(n, shi_plan_log2(n));
    int fits = places <= (double)(shi_team_half_bytes(n * pes) - SHI_LANDING_BYTES);
    int is_short = block <= (double)shi_coll_place_bytes(n * pes, n, pes) && bytes <= SHI_STREAM_PUT_BYTES;
    switch (choose(SHI_COLL_ALLTOALL, s, bytes, fits ? 0 : 1 << SHI_BY_INDEX)) {
    case SHI_BY_INDEX:
        *memory = 2 * places; /* the two halves of the exchange buffers */
        return by_firsts(p, pes, copied, SHI_PLAN_INDEX, block, copied);
    case SHI_BY_NODES:
        *memory = is_short ? 2 * handled : handled;
        p[0] = on_node(pes, (double)bytes * pes + handled);
        p[1] = (struct phase){.plan = SHI_PLAN_PAIRWISE, .block = is_short ? block : block / pes, .participants = HANDLERS,
                              .more = is_short ? 0 : pes - 1};
        p[2] = on_node(pes, is_short ? handled : 0);
        return 3;
    default:
        *memory = 0;
        p[0] = (struct phase){.plan = SHI_PLAN_PAIRWISE, .block = (double)bytes, .participants = MEMBERS};
        return 1;
    }
}

static int broadcast_phases(const struct shape *s, size_t bytes, struct phase *p)
{
    int n = s->nodes, others = s->pes - 1, phases = 1;
    double all = (double)bytes;
    p[0] = (struct phase){.plan = SHI_PLAN_TREE, .block = all};
    if (choose(SHI_COLL_BROADCAST, s, bytes, 0) != SHI_BY_TREE) {
        p[0] = (struct phase){.plan = SHI_PLAN_SCATTER, .block = (double)((bytes + (size_t)n - 1) / (size_t)n)};
        p[1] = (struct phase){.plan = SHI_PLAN_GATHER, .block = p[0].block};
        phases = 2;
    }
    p[phases] = on_node(bytes < PULLED ? others : 2 * others, all * others);
    return phases + 1;
}

static int scan_phases(const struct shape *s, size_t bytes, struct phase *p, double *memory)
{
    int n = s->nodes, pes = s->pes, ranks = n * pes, records = pes + 1 + shi_plan_rounds(SHI_PLAN_SCAN, n);
    double record = (double)shi_round_up(bytes, 16), all = (double)bytes;
    if (shi_schedule_scan(&(const struct shi_scan_facts){1, 1, 0, shi_team_fits(ranks, bytes, records)}) == SHI_SCAN_FIRSTS) {
        *memory = 2 * record * records;
        return by_firsts(p, pes, all * 2 * pes, SHI_PLAN_SCAN, all, all * pes * pes);
    }
    *memory = 2 * all / pes; /* what comes in a round, and what the nodes below have; the source in place is not counted */
    p[0] = on_node(pes > 1 ? 2 * pes : 0, pes > 1 ? all * (pes + 1) : 0);
    p[1] = (struct phase){.plan = SHI_PLAN_SCAN, .block = all / pes, .extra = 2, .participants = HOLDERS};
    p[2] = on_node(pes > 1 ? 2 * pes : 0, 2 * all * pes);
    return 3;
}

/* The phases of a row, and the memory that they need. Returns their number. */
static int phases_of(const struct row *r, const struct shape *s, struct phase *p, double *memory)
{
    double each = (double)r->bytes * s->pes;
    *memory = 0;
    switch (r->collective) {
    case SHI_COLL_REDUCE: return reduce_phases(s, r->bytes, p, memory);
    case SHI_COLL_ALLTOALL: return alltoall_phases(s, r->bytes, p, memory);
    case SHI_COLL_BROADCAST: return broadcast_phases(s, r->bytes, p);
    case SCAN: return scan_phases(s, r->bytes, p, memory);
    case COLLECT: return by_firsts(p, s->pes, each, SHI_PLAN_GATHER, each, each * s->nodes * (s->pes - 1));
    default:
        if (r->alone.plan == SHI_PLAN_MERGE)
            *memory = 2.0 * SHI_EXCHANGE_BYTES * (shi_plan_log2(s->nodes) + s->pes);
        return by_firsts(p, s->pes, 2 * each, r->alone.plan, r->alone.block, each);
    }
}

static void fail(const char *what, enum shi_plan plan, int n, int me, int r)
{
    fprintf(stderr, "scale: %s: %s, %d ranks, rank %d, round %d\n", what, shi_plan_name(plan), n, me, r);
    exit(1);
}

/* Do all nodes send and receive as much as each other in each round? */
static int uniform(enum shi_plan plan)
{
    return plan == SHI_PLAN_BARRIER || plan == SHI_PLAN_GATHER || plan == SHI_PLAN_MERGE || plan == SHI_PLAN_INDEX ||
           plan == SHI_PLAN_PAIRWISE;
}

/* The ranks of a phase: n, of which rank i is PE i * apart. one: only rank 0 is run. */
struct ranks {
    int n, apart, pes, one;
};

/* How many PEs of a node send to other nodes at the same time as this rank. */
static int senders(const struct phase *p, const struct ranks *of, int me, int to)
{
    int up = (to - me + of->n) % of->n, distance = up < of->n - up ? up : of->n - up;
    if (p->participants == HANDLERS)
        return of->n - 1 < of->pes ? of->n - 1 : of->pes;
    return p->participants == FIRSTS ? 1 : p->participants == HOLDERS || distance > of->pes ? of->pes : distance;
}

/* The PE of a rank in its messages with another. */
static int pe_of(const struct phase *p, const struct ranks *of, int me, int other)
{
    return me * of->apart + (p->participants == HANDLERS ? other % of->pes : 0);
}

static void send(const struct phase *p, const struct ranks *of, int me, int r)
{
    struct shi_round x = shi_plan_round(p->plan, of->n, me, r);
    if (x.to < 0)
        return;
    if (!of->one && shi_plan_round(p->plan, of->n, x.to, r).from != me)
        fail("a message that its receiver does not expect", p->plan, of->n, me, r);
    double bytes = (double)x.send.n * p->block * (1 + p->more), *at = &now[pe_of(p, of, me, x.to)];
    double *to = &due[of->one ? pe_of(p, of, me, x.from) : pe_of(p, of, x.to, me)];
    int node = me * of->apart / of->pes, share = senders(p, of, me, x.to);
    int messages = 1 + p->more, times = p->participants == HOLDERS || (p->participants == MEMBERS && of->one) ? of->pes : 1;
    if (x.to * of->apart / of->pes == node) {
        *at += store + bytes * ns_a_copied_byte / 1000;
        *to = *at;
        return;
    }
    double busy = messages * overhead + (bytes * share > 1 ? (bytes * share - 1) * ns_a_byte / 1000 : 0);
    *at += busy > messages * gap * share ? busy : messages * gap * share;
    double then = *at + latency + p->extra * (latency + 2 * overhead);
    *to = p->participants == HANDLERS && *to > then ? *to : then;
    sent[node] += times * (messages + p->extra);
    volume[node] += times * bytes;
}

static void receive(const struct phase *p, const struct ranks *of, int me, int r)
{
    struct shi_round x = shi_plan_round(p->plan, of->n, me, r);
    if (x.from < 0)
        return;
    double *at = &now[pe_of(p, of, me, x.from)], came = due[pe_of(p, of, me, x.from)];
    if (!of->one && shi_plan_round(p->plan, of->n, x.from, r).to != me)
        fail("a message that is not sent", p->plan, of->n, me, r);
    *at = came > *at ? came : *at;
    *at += x.from * of->apart / of->pes == me * of->apart / of->pes ? 0 : overhead;
}

/* All PEs of a node are as late as its last, and what they do in its memory later. */
static void meet_on_node(const struct phase *p, const struct shape *s)
{
    for (int node = 0; node < s->nodes; node++) {
        double *of = now + (size_t)node * (size_t)s->pes, last = of[0];
        for (int i = 1; i < s->pes; i++)
            last = of[i] > last ? of[i] : last;
        for (int i = 0; i < s->pes; i++)
            of[i] = last + p->stores * store + p->block * ns_a_copied_byte / 1000;
    }
}

/* Run the rounds of a phase. Returns their number. */
static int run_rounds(const struct phase *p, const struct shape *s)
{
    struct ranks of = {s->nodes, s->pes, s->pes, 0};
    if (p->participants == MEMBERS)
        of = (struct ranks){s->nodes * s->pes, 1, s->pes, 0};
    of.one = uniform(p->plan) && of.n > (p->plan == SHI_PLAN_PAIRWISE ? 256 : CHECKED);
    int many = of.one ? 1 : of.n, rounds = shi_plan_rounds(p->plan, of.n);
    for (int i = 1; of.one && i < s->nodes * s->pes; i++) /* every node is as late as the latest before */
        now[0] = now[i] > now[0] ? now[i] : now[0];
    for (int i = 1; of.one && p->participants == HANDLERS && i < s->pes; i++)
        now[i] = now[0];
    int sent_first = p->participants == HANDLERS ? rounds : 1; /* a handler sends all its messages before it waits */
    if (sent_first > 1)
        memset(due, 0, (size_t)s->nodes * (size_t)s->pes * sizeof *due);
    for (int r = 0; r < rounds; r += sent_first) {
        for (int me = 0; me < many * sent_first; me++)
            send(p, &of, me % many, r + me / many);
        for (int me = 0; me < many * sent_first; me++)
            receive(p, &of, me % many, r + me / many);
    }
    return p->participants == HANDLERS ? (rounds + s->pes - 1) / s->pes : rounds;
}

static struct cost run(const struct row *row, const struct shape *s)
{
    struct phase p[PHASES];
    struct cost c = {0};
    int pes = s->nodes * s->pes;
    if (row->collective == TABLES) {
        c.memory = tables(pes, s->pes > 1 ? s->pes : EACH);
        return c;
    }
    int n_phases = phases_of(row, s, p, &c.memory);
    memset(now, 0, (size_t)pes * sizeof *now);
    memset(sent, 0, (size_t)pes * sizeof *sent);
    memset(volume, 0, (size_t)pes * sizeof *volume);
    for (int k = 0; k < n_phases; k++) {
        if (p[k].participants == ON_NODE)
            meet_on_node(&p[k], s);
        else
            c.rounds += run_rounds(&p[k], s);
    }
    for (int i = 0; i < pes; i++) {
        c.us = now[i] > c.us ? now[i] : c.us;
        c.messages = sent[i] > c.messages ? sent[i] : c.messages;
        c.bytes = volume[i] > c.bytes ? volume[i] : c.bytes;
    }
    return c;
}

/* ---- output ------------------------------------------------------------------------------------------------------------- */

static void print_row(const struct row *r, const struct shape *s, int json)
{
    struct cost c = run(r, s);
    printf(json ? "{\"bench\": \"scale\", \"case\": \"%s\", \"nodes\": %d, \"pes\": %d, \"rounds\": %ld, \"messages\": %.0f, \"bytes\": %.0f, "
                  "\"memory\": %.0f, \"us\": %.1f}\n"
                : "%-14s %8d %6d %8ld %10.0f %12.0f %12.0f %12.1f\n",
           r->name, s->nodes, s->pes, c.rounds, c.messages, c.bytes, c.memory, c.us);
}

static int log10_of(double v, double scale)
{
    int tenths = 0;
    for (; v >= 1.122018454; v /= 1.122018454) /* 10^(1/20) */
        tenths++;
    return (int)(tenths * scale / 20);
}

/* Time over nodes, both logarithmic, a line for each row. */
static void plot(const char *file, int pes)
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
        for (int n = 2, most = MOST / pes; n <= most; n = n < most && n * 2 > most ? most : n * 2) {
            y = 530 - log10_of(run(&rows[i], &(const struct shape){n, pes}).us, 62);
            fprintf(f, "%c%d %d", n == 2 ? 'M' : 'L', 60 + log10_of(n, 100), y);
            if (n == most)
                break;
        }
        fprintf(f, "'/><text x='665' y='%d' fill='hsl(%d,70%%,40%%)'>%s</text>\n", y, i * 360 / ROWS, rows[i].name);
    }
    fprintf(f, "<text x='300' y='14'>time over nodes, PEs a node: %d</text></svg>\n", pes);
    fclose(f);
}

/* Lines "NAME NODES PES ROUNDS MESSAGES BYTES MEMORY US". Returns the number of rows above a bound, or unknown. */
static int check(const char *file)
{
    FILE *f = fopen(file, "r");
    char line[256], name[NAME_BYTES];
    int bad = 0, checked = 0;
    struct shape s;
    struct cost b;
    if (!f) {
        perror(file);
        return 1;
    }
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#')
            continue;
        const struct row *r = rows;
        int read = sscanf(line, "%23s %d %d %ld %lf %lf %lf %lf", name, &s.nodes, &s.pes, &b.rounds, &b.messages, &b.bytes, &b.memory, &b.us);
        while (r < rows + ROWS && strcmp(r->name, name) != 0)
            r++;
        int known = read == 8 && r < rows + ROWS && s.nodes > 1 && s.pes > 0 && s.nodes <= MOST / s.pes;
        struct cost c = known ? run(r, &s) : (struct cost){.rounds = -1};
        int over = c.rounds < 0 || c.rounds > b.rounds || c.messages > b.messages || c.bytes > b.bytes || c.memory > b.memory ||
                   c.us > b.us + 0.05; /* rounded */
        if (over)
            printf("# above its bounds: %s %d %d: %ld %.0f %.0f %.0f %.1f; bounds: %s", name, s.nodes, s.pes, c.rounds, c.messages, c.bytes, c.memory,
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
               : !strcmp(name, "-G") ? &ns_a_byte
               : !strcmp(name, "-l") ? &store : !strcmp(name, "-m") ? &ns_a_copied_byte : NULL;
    if (of)
        *of = number(value);
    return of != NULL;
}

int main(int argc, char **argv)
{
    static const int usual[] = {2, 16, 256, 4096, 65536, MOST};
    int nodes[64], n_nodes = 0, json = 0, pes = 1;
    const char *svg = NULL;
    now = calloc(4 * (size_t)MOST, sizeof *now);
    if (!now)
        return 1;
    due = now + MOST;
    sent = due + MOST;
    volume = sent + MOST;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--check") && i + 1 < argc)
            return check(argv[i + 1]) != 0;
        if (!strcmp(argv[i], "--plot") && i + 1 < argc)
            svg = argv[++i];
        else if (!strcmp(argv[i], "--json"))
            json = 1;
        else if (!strcmp(argv[i], "-p") && number(argv[i + 1]) >= 1 && number(argv[i + 1]) <= MOST / 2)
            pes = (int)number(argv[++i]);
        else if (model_option(argv[i], argv[i + 1]))
            i++;
        else if (n_nodes < 64 && number(argv[i]) >= 2 && number(argv[i]) <= MOST)
            nodes[n_nodes++] = (int)number(argv[i]);
        else
            return fprintf(stderr, "scale: %s: give at most 64 numbers of nodes from 2 to %d\n", argv[i], MOST), 2;
    }
    if (svg) {
        plot(svg, pes);
        return 0;
    }
    for (int k = 0; !n_nodes && k < 6; k++)
        nodes[k] = usual[k];
    n_nodes = n_nodes ? n_nodes : 6;
    if (!json)
        printf("L %g us, o %g us, g %g us, G %g ns, l %g us, m %g ns; the worst node\n%-14s %8s %6s %8s %10s %12s %12s %12s\n", latency,
               overhead, gap, ns_a_byte, store, ns_a_copied_byte, "case", "nodes", "PEs", "rounds", "messages", "bytes", "memory", "us");
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < n_nodes; k++)
            if (nodes[k] <= MOST / pes) /* the model has no more PEs */
                print_row(&rows[i], &(const struct shape){nodes[k], pes}, json);
    return 0;
}
