/* rules.c - the rules of SHMEM_COLLECTIVES: text in, rules out, and their text. policy/schedule.h applies them. */
#include "host/coll/rules.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "host/util/config.h"

enum { MOST_GIVEN = 256, FILE_BYTES = 16384, FIELDS = 5 };

static struct shi_rule given[MOST_GIVEN]; /* set at init */
static int n_given;

/* Names in rules. */
static const char *const collective_words[SHI_COLLECTIVES_N] = {"broadcast", "reduce", "alltoall"};
static const char *const way_words[SHI_SCHEDULES] = {"tree", "scatter", "doubling", "halving", "index", "nodes", "pairwise"};

const struct shi_rule *shi_rules_given(int *n)
{
    *n = n_given;
    return given;
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

/* The five words of a rule. 0, or -EINVAL and why. */
static int parse_rule(char *const *word, struct shi_rule *r, char *why, size_t bytes)
{
    static const char *const what[] = {"nodes", "PEs a node", "bytes"};
    struct shi_limits *const limits[] = {&r->nodes, &r->pes, &r->bytes};
    int of = find(word[0], collective_words, SHI_COLLECTIVES_N), way = find(word[4], way_words, SHI_SCHEDULES);
    if (of < 0)
        return refuse(why, bytes, "\"%s\" is no collective: give broadcast, reduce or alltoall", word[0]);
    for (int i = 0; i < 3; i++) {
        char copy[32];
        snprintf(copy, sizeof copy, "%s", word[1 + i]);
        if (parse_limits(copy, limits[i]))
            return refuse(why, bytes, "\"%s\" is no number of %s: give *, N, N-M, N- or -M", word[1 + i], what[i]);
    }
    r->of = (enum shi_collective)of;
    if (way < 0 || !shi_schedule_has(r->of, (enum shi_schedule)way)) {
        int n = snprintf(why, bytes, "\"%s\" is no schedule of %s: give", word[4], word[0]);
        for (int i = 0; i < SHI_SCHEDULES && n > 0 && (size_t)n < bytes; i++)
            if (shi_schedule_has(r->of, (enum shi_schedule)i))
                n += snprintf(why + n, bytes - (size_t)n, " %s", way_words[i]);
        return -EINVAL;
    }
    r->way = (enum shi_schedule)way;
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
    return collective_words[of];
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
    static const char *const way[SHI_SCHEDULES] = {"binomial tree", "binomial scatter, then allgather", "recursive doubling",
                                                   "recursive halving, then doubling", "Bruck's index", "pairwise between nodes", "pairwise"};
    char limits[128] = "";
    add_limits(limits, sizeof limits, r->bytes, "bytes");
    if (!limits[0])
        strcpy(limits, "any length");
    add_limits(limits, sizeof limits, r->nodes, "nodes");
    add_limits(limits, sizeof limits, r->pes, "PEs a node");
    snprintf(text, bytes, "%s: %s", limits, way[r->way]);
}
