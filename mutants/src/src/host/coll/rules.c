/* rules.c - which schedule a collective between nodes takes: built-in rules, and those of SHMEM_COLLECTIVES. */
#include "host/coll/rules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/util/config.h"

enum { MOST_GIVEN = 256, FILE_BYTES = 16384, FIELDS = 5 };

/* Lengths measured over tcp on one host; see src/DECISIONS.md. */
static const struct shi_rule built_in[] = {
    {.of = SHI_COLL_BROADCAST, .way = SHI_BY_TREE, .nodes = {0, 2}},
    {.of = SHI_COLL_BROADCAST, .way = SHI_BY_TREE, .nodes = {3, 0}, .bytes = {0, 65536}},
    {.of = SHI_COLL_BROADCAST, .way = SHI_BY_SCATTER_GATHER},
    {.of = SHI_COLL_REDUCE, .way = SHI_BY_GATHER, .most_total = 8192},
    {.of = SHI_COLL_REDUCE, .way = SHI_BY_DOUBLING, .bytes = {0, 2048}},
    {.of = SHI_COLL_REDUCE, .way = SHI_BY_DOUBLING, .pes = {0, 8}, .bytes = {0, 8192}},
    {.of = SHI_COLL_REDUCE, .way = SHI_BY_PIECES, .nodes = {0, 4}},
    {.of = SHI_COLL_REDUCE, .way = SHI_BY_HALVING},
    {.of = SHI_COLL_SCAN, .way = SHI_BY_GATHER, .most_total = 8192},
    {.of = SHI_COLL_SCAN, .way = SHI_BY_NODES},
    {.of = SHI_COLL_SCAN, .way = SHI_BY_READ},
    {.of = SHI_COLL_COLLECT, .way = SHI_BY_GATHER},
    {.of = SHI_COLL_ALLTOALL, .way = SHI_BY_INDEX, .pes = {0, 1}, .bytes = {0, 2048}},
    {.of = SHI_COLL_ALLTOALL, .way = SHI_BY_INDEX, .bytes = {0, 128}},
    {.of = SHI_COLL_ALLTOALL, .way = SHI_BY_NODES, .pes = {2, 0}, .bytes = {0, 65536}},
    {.of = SHI_COLL_ALLTOALL, .way = SHI_BY_PAIRWISE},
};
enum { BUILT_IN = sizeof built_in / sizeof *built_in };

static struct shi_rule given[MOST_GIVEN]; /* set at init */
static int n_given;

/* Names in rules. */
static const char *const collective_words[SHI_COLLECTIVES_N] = {"broadcast", "reduce", "scan", "collect", "alltoall"};
static const char *const way_words[SHI_ALGORITHMS] = {"tree", "scatter", "gather", "doubling", "pieces", "halving", "read",
                                                      "index", "nodes", "pairwise"};

const struct shi_rule *shi_rules_at(int i)
{
    return i < n_given ? &given[i] : i < n_given + BUILT_IN ? &built_in[i - n_given] : NULL;
}

int shi_rules_given(void)
{
    return n_given;
}

/* FNV-1a, of numbers. */
uint64_t shi_rules_digest(void)
{
    uint64_t digest = 14695981039346656037u;
    for (const struct shi_rule *r = given; r < given + n_given; r++) {
        const uint64_t number[] = {r->of, r->way, r->nodes.least, r->nodes.most, r->pes.least, r->pes.most, r->bytes.least,
                                   r->bytes.most};
        for (size_t i = 0; i < sizeof number / sizeof *number; i++)
            digest = (digest ^ number[i]) * 1099511628211u;
    }
    return n_given ? digest : 0;
}

/* ---- choice -------------------------------------------------------------------------------------------------------- */

static int within(struct shi_limits limits, size_t n)
{
    return n >= limits.least && (!limits.most || n <= limits.most);
}

static int holds(const struct shi_rule *r, const struct shi_shape *s, size_t bytes)
{
    return within(r->nodes, (size_t)s->nodes) && within(r->pes, (size_t)s->pes) && within(r->bytes, bytes) &&
           (!r->most_total || bytes <= r->most_total / (size_t)s->ranks);
}

enum shi_algorithm shi_rules_choose(enum shi_collective of, const struct shi_shape *shape, size_t bytes, unsigned without)
{
    const struct shi_rule *r = NULL, *last = NULL;
    for (int i = shape->nodes > 1 ? 0 : n_given; (r = shi_rules_at(i)); i++) {
        if (r->of != of)
            continue;
        last = r;
        if (holds(r, shape, bytes) && !(without >> r->way & 1))
            break;
    }
    return r ? r->way : last->way;
}

/* ---- SHMEM_COLLECTIVES ------------------------------------------------------------------------------------------------ */

/* What is wrong: `text` in a rule, or the rule. */
static int refuse(char *why, size_t bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(why, bytes, format, args);
    va_end(args);
    return -EINVAL;
}

/* The place of a word in a list, or -1. */
static int find(const char *word, const char *const *list, int n)
{
    int i = 0;
    while (i < n && strcmp(word, list[i]) != 0)
        i++;
    return i < n ? i : -1;
}

/* *, N, N-, -N or N-M, which changes the text; N and M are sizes. 0 or -EINVAL. */
static int parse_limits(char *text, struct shi_limits *out)
{
    char *high = strchr(text, '-');
    struct shi_limits l = {0, 0};
    if (strcmp(text, "*") == 0) {
        *out = l;
        return 0;
    }
    if (high)
        *high++ = 0;
    if (high && !*text && !*high)
        return -EINVAL;
    if ((*text || !high) && shi_config_parse_size(text, &l.least))
        return -EINVAL;
    if (!high)
        l.most = l.least;
    else if (*high && shi_config_parse_size(high, &l.most))
        return -EINVAL;
    if ((!high || *high) && (!l.most || l.most < l.least))
        return -EINVAL;
    *out = l;
    return 0;
}

/* Does the library have such a schedule of this collective? */
static int has(enum shi_collective of, enum shi_algorithm way)
{
    static const unsigned ways[SHI_COLLECTIVES_N] = {
        [SHI_COLL_BROADCAST] = 1 << SHI_BY_TREE | 1 << SHI_BY_SCATTER_GATHER,
        [SHI_COLL_REDUCE] = 1 << SHI_BY_GATHER | 1 << SHI_BY_DOUBLING | 1 << SHI_BY_PIECES | 1 << SHI_BY_HALVING,
        [SHI_COLL_SCAN] = 1 << SHI_BY_GATHER | 1 << SHI_BY_NODES | 1 << SHI_BY_READ,
        [SHI_COLL_COLLECT] = 1 << SHI_BY_GATHER,
        [SHI_COLL_ALLTOALL] = 1 << SHI_BY_INDEX | 1 << SHI_BY_NODES | 1 << SHI_BY_PAIRWISE};
    return ways[of] >> way & 1;
}

/* The five words of a rule. 0, or -EINVAL and why. */
static int parse_rule(char *const *word, struct shi_rule *r, char *why, size_t bytes)
{
    static const char *const what[] = {"nodes", "PEs a node", "bytes"};
    struct shi_limits *const limits[] = {&r->nodes, &r->pes, &r->bytes};
    int of = find(word[0], collective_words, SHI_COLLECTIVES_N), way = find(word[4], way_words, SHI_ALGORITHMS);
    if (of < 0)
        return refuse(why, bytes, "\"%s\" is no collective: give broadcast, reduce, scan, collect or alltoall", word[0]);
    for (int i = 0; i < 3; i++) {
        char copy[32];
        snprintf(copy, sizeof copy, "%s", word[1 + i]);
        if (parse_limits(copy, limits[i]))
            return refuse(why, bytes, "\"%s\" is no number of %s: give *, N, N-M, N- or -M", word[1 + i], what[i]);
    }
    r->of = (enum shi_collective)of;
    if (way < 0 || !has(r->of, (enum shi_algorithm)way)) {
        int n = snprintf(why, bytes, "\"%s\" is no schedule of %s: give", word[4], word[0]);
        for (int i = 0; i < SHI_ALGORITHMS && n > 0 && (size_t)n < bytes; i++)
            if (has(r->of, (enum shi_algorithm)i))
                n += snprintf(why + n, bytes - (size_t)n, " %s", way_words[i]);
        return -EINVAL;
    }
    r->way = (enum shi_algorithm)way;
    return 0;
}

/* Parse one line, which changes it: rules with commas between them, words with blanks or colons, then perhaps #, a comment. 0,
 * or -EINVAL and why. */
static int parse_line(char *line, char *why, size_t bytes)
{
    line[strcspn(line, "#")] = 0;
    for (char *rule, *next = line; (rule = strsep(&next, ","));) {
        char *word[FIELDS + 1], *rest = rule;
        int n = 0;
        for (char *w; n <= FIELDS && (w = strsep(&rest, ": \t\r"));)
            if (*w)
                word[n++] = w;
        if (n == 0)
            continue;
        if (n != FIELDS)
            return refuse(why, bytes, "the rule of \"%s\" has not 5 words: collective, nodes, PEs a node, bytes, schedule",
                          word[0]);
        if (n_given == MOST_GIVEN)
            return refuse(why, bytes, "more than %d rules", MOST_GIVEN);
        struct shi_rule r = {0};
        if (parse_rule(word, &r, why, bytes))
            return -EINVAL;
        given[n_given++] = r;
    }
    return 0;
}

/* 0 and the file's text, or -EINVAL and why. */
static int read_file(const char *name, char text[FILE_BYTES], char *why, size_t bytes)
{
    FILE *f = fopen(name, "re");
    size_t n = f ? fread(text, 1, FILE_BYTES, f) : 0;
    int err = !f || ferror(f) ? errno : 0;
    if (f)
        fclose(f);
    if (err)
        return refuse(why, bytes, "SHMEM_COLLECTIVES=%s: the file cannot be read: %s", name, strerror(err));
    if (n == FILE_BYTES || memchr(text, 0, n))
        return refuse(why, bytes, "SHMEM_COLLECTIVES=%s: not a file of rules: at most %d bytes of text", name, FILE_BYTES - 1);
    text[n] = 0;
    return 0;
}

int shi_rules_read(const char *value, char *why, size_t bytes)
{
    char text[FILE_BYTES], reason[256];
    int is_file = strchr(value, '/') != NULL, number = 0;
    n_given = 0;
    if (is_file && read_file(value, text, why, bytes))
        return -EINVAL;
    if (!is_file)
        snprintf(text, sizeof text, "%s", value);
    for (char *line, *next = text; (line = strsep(&next, "\n"));) {
        number++;
        if (parse_line(line, reason, sizeof reason) == 0)
            continue;
        n_given = 0;
        if (is_file)
            return refuse(why, bytes, "SHMEM_COLLECTIVES=%s: line %d: %s", value, number, reason);
        return refuse(why, bytes, "SHMEM_COLLECTIVES: %s", reason);
    }
    return 0;
}

/* ---- text ------------------------------------------------------------------------------------------------------------ */

const char *shi_rules_collective(enum shi_collective of)
{
    return of == SHI_COLL_COLLECT ? "collect, fcollect" : collective_words[of];
}

static void add_limits(char *text, size_t bytes, struct shi_limits l, const char *unit)
{
    size_t n = strlen(text);
    const char *comma = n ? ", " : "";
    if (l.least && l.least == l.most)
        snprintf(text + n, bytes - n, "%s%zu %s", comma, l.least, unit);
    else if (l.least && l.most)
        snprintf(text + n, bytes - n, "%s%zu to %zu %s", comma, l.least, l.most, unit);
    else if (l.least)
        snprintf(text + n, bytes - n, "%s%zu %s or more", comma, l.least, unit);
    else if (l.most)
        snprintf(text + n, bytes - n, "%sup to %zu %s", comma, l.most, unit);
}

void shi_rules_describe(const struct shi_rule *r, char *text, size_t bytes)
{
    static const char *const way[] = {"binomial tree", "binomial scatter, then allgather", "allgather, then each combines",
                                      "recursive doubling", "each combines a piece of all", "recursive halving, then doubling",
                                      "dissemination by reads", "Bruck's index", "pairwise between nodes", "pairwise"};
    char limits[128] = "";
    add_limits(limits, sizeof limits, r->bytes, "bytes");
    add_limits(limits, sizeof limits, (struct shi_limits){0, r->most_total}, "bytes of all nodes");
    if (!limits[0])
        strcpy(limits, "any length");
    add_limits(limits, sizeof limits, r->nodes, "nodes");
    add_limits(limits, sizeof limits, r->pes, "PEs a node");
    const char *name = r->of == SHI_COLL_COLLECT ? "allgather by dissemination"
                     : r->of == SHI_COLL_SCAN && r->way == SHI_BY_NODES ? "on each node, then dissemination between nodes"
                     : way[r->way];
    snprintf(text, bytes, "%s: %s", limits, name);
}
