/* config.c - settings from the environment. A value that does not parse ends the job at start. */
#include "host/util/config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The value of the variable *name, or of its old name; NULL when neither has one. *name becomes the one that is set. */
static const char *lookup(const char **name, const char *old)
{
    const char *v = getenv(*name);
    if (!v && old && (v = getenv(old)))
        *name = old;
    return v && *v ? v : NULL;
}

/* 0 for a word such as "no" or "off", 1 for one such as "yes" or "on", -1 for another. */
static int truth(const char *v)
{
    static const char *const no[] = {"0", "n", "no", "off", "false"}, *const yes[] = {"1", "y", "yes", "on", "true"};
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        if (strcasecmp(v, no[i]) == 0)
            return 0;
        if (strcasecmp(v, yes[i]) == 0)
            return 1;
    }
    return -1;
}

int shi_config_parse_size(const char *text, size_t *bytes)
{
    char *end;
    if (!isdigit((unsigned char)*text) && *text != '.')
        return -EINVAL; /* strtod accepts signs, blanks, inf, nan and hexadecimal */
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return -EINVAL;
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0); /* the decimal point is '.' whatever the program's locale */
    if (!c)
        return -ENOMEM;
    errno = 0;
    double v = strtod_l(text, &end, c);
    freelocale(c);
    if (end == text || errno)
        return -EINVAL;
    static const char units[] = "kmgt";
    if (*end) {
        const char *u = strchr(units, tolower((unsigned char)*end));
        if (!u)
            return -EINVAL;
        v = ldexp(v, 10 * (int)(u - units + 1));
    }
    if (!(v < ldexp(1, 62)))
        return -EINVAL;
    *bytes = (size_t)ceil(v);
    return 0;
}

static int parse_flag(const char *v, int *out)
{
    *out = truth(v) != 0;
    return 0;
}

static int parse_bool(const char *v, int *out)
{
    int t = truth(v);
    if (t < 0)
        return -EINVAL;
    *out = t;
    return 0;
}

static int parse_size(const char *v, size_t *out)
{
    return shi_config_parse_size(v, out);
}

static int parse_count(const char *v, long *out)
{
    char *end;
    if (strcmp(v, "auto") == 0) {
        *out = SHI_CONFIG_AUTO;
        return 0;
    }
    errno = 0;
    long n = strtol(v, &end, 10);
    if (!isdigit((unsigned char)*v) || errno || *end || n > INT_MAX)
        return -EINVAL;
    *out = n;
    return 0;
}

static int parse_text(const char *v, shi_config_text *out)
{
    if (strlen(v) >= sizeof out->text)
        return -EINVAL;
    strcpy(out->text, v);
    return 0;
}

static const char *const transports[] = {"auto", "ofi", NULL};
static const char *const faults[] = {"end", "continue", NULL};
static const char *const wait_modes[] = {"auto", "active", "passive", "doorbell", NULL};

/* The place of v in names, or -EINVAL. */
static int find_name(const char *v, const char *const names[])
{
    for (int i = 0; names[i]; i++)
        if (strcmp(v, names[i]) == 0)
            return i;
    return -EINVAL;
}

static int parse_transport(const char *v, enum shi_transport *out)
{
    int i = find_name(v, transports);
    if (i >= 0)
        *out = (enum shi_transport)i;
    return i < 0 ? i : 0;
}

static int parse_wait(const char *v, enum shi_wait_mode *out)
{
    int i = find_name(v, wait_modes);
    if (i >= 0)
        *out = (enum shi_wait_mode)i;
    return i < 0 ? i : 0;
}

static int parse_faults(const char *v, enum shi_faults *out)
{
    int i = find_name(v, faults);
    if (i >= 0)
        *out = (enum shi_faults)i;
    return i < 0 ? i : 0;
}

/* auto, BACKEND, BACKEND:N or N. */
static int parse_device(const char *v, shi_config_device *out)
{
    static const char *const kinds[] = {"ze", "cuda", "cpu", "cuda-cpu"};
    shi_config_device d = {"", SHI_CONFIG_AUTO};
    size_t n = strcspn(v, ":");
    const char *number = v[n] ? v + n + 1 : isdigit((unsigned char)*v) ? v : NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == n && strncasecmp(v, kinds[i], n) == 0)
            snprintf(d.backend, sizeof d.backend, "%s", kinds[i]);
    if (!d.backend[0] && number != v && strcmp(v, "auto") != 0)
        return -EINVAL;
    long index = SHI_CONFIG_AUTO;
    if (number && (!isdigit((unsigned char)*number) || parse_count(number, &index)))
        return -EINVAL;
    d.index = (int)index;
    *out = d;
    return 0;
}

static const char what_flag[] = "any value";
static const char what_bool[] = "0 or 1";
static const char what_size[] = "bytes, with an optional suffix K, M, G or T, as in 512M or 1.5G";
static const char what_count[] = "a whole number or auto";
static const char what_text[] = "at most 199 characters";
static const char what_transport[] = "auto or ofi";
static const char what_wait[] = "auto, active, passive or doorbell";
static const char what_faults[] = "end or continue";
static const char what_device[] = "auto, ze, cuda or cpu, one of these and a number as in ze:1, or a number";

int shi_config_read(struct shi_config *out, char *why, size_t bytes)
{
    struct shi_config c;
    const char *v, *named;
#define X(field, kind, name, old, def, help)                                                                         \
    named = name;                                                                                                    \
    v = lookup(&named, old);                                                                                         \
    if (parse_##kind(v ? v : def, &c.field)) {                                                                       \
        snprintf(why, bytes, "%s=%s: not accepted; give %s (default " def ")", named, v, what_##kind);               \
        return -EINVAL;                                                                                              \
    }
#include "host/util/config.def"
#undef X
    *out = c;
    return 0;
}

/* ---- values that all PEs need --------------------------------------------------------------------------------- */

static uint64_t is_set(const shi_config_text *t)
{
    return *t->text && strcmp(t->text, "0") != 0;
}

/* A table, a text and files are written by different collective calls; names of files may differ. */
static uint64_t kind_of_stats(const shi_config_text *t)
{
    return !is_set(t) ? 0 : strcmp(t->text, "1") == 0 ? 1 : strcmp(t->text, "all") == 0 ? 2 : 3;
}

void shi_config_equal(const struct shi_config *c, struct shi_config_equal *out)
{
    *out = (struct shi_config_equal){{c->transport, c->check != 0, kind_of_stats(&c->stats), is_set(&c->trace), c->heap_bytes,
                                      c->device_heap_bytes, c->reproducible, c->faults}};
}

const char *shi_config_differs(const struct shi_config_equal *a, const struct shi_config_equal *b)
{
    static const char *const names[SHI_CONFIG_EQUAL] = {"SHMEM_TRANSPORT", "SHMEM_CHECK", "SHMEM_STATS", "SHMEM_TRACE",
                                                        "SHMEM_SYMMETRIC_SIZE", "SHMEM_DEVICE_SYMMETRIC_SIZE", "SHMEM_REPRODUCIBLE", "SHMEM_FAULTS"};
    for (int i = 0; i < SHI_CONFIG_EQUAL; i++)
        if (a->value[i] != b->value[i])
            return names[i];
    return NULL;
}

/* ---- names that config.def does not list ----------------------------------------------------------------------- */

enum { NAME_MOST = 64 };

/* The edit distance of a and b (Levenshtein 1966), both shorter than NAME_MOST. */
static int distance(const char *a, const char *b)
{
    int row[NAME_MOST + 1], n = (int)strlen(b);
    for (int j = 0; j <= n; j++)
        row[j] = j;
    for (int i = 0; a[i]; i++) {
        int corner = row[0];
        row[0] = i + 1;
        for (int j = 0; j < n; j++) {
            int change = corner + (a[i] != b[j]), skip = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            corner = row[j + 1];
            row[j + 1] = change < skip ? change : skip;
        }
    }
    return row[n];
}

static int is_known(const char *name)
{
#define X(field, kind, listed, ...) || strcmp(name, listed) == 0
    return strcmp(name, "SHMEM_RACE") == 0 || strcmp(name, "SHMEM_RACE_SUPPRESS") == 0 /* of libfulmar_race */
#include "host/util/config.def"
        ;
#undef X
}

/* The name in config.def at the least edit distance, at most a fifth of its letters after SHMEM_; or NULL. */
static const char *nearest_name(const char *name)
{
    static const char *const list[] = {
#define X(field, kind, listed, ...) listed,
#include "host/util/config.def"
#undef X
    };
    const char *best = NULL;
    int least = NAME_MOST;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        int d = distance(name, list[i]), letters = (int)(strlen(list[i]) - strlen("SHMEM_"));
        if (d < least && d <= (letters + 4) / 5) {
            least = d;
            best = list[i];
        }
    }
    return best;
}

/* Other libraries' names of the heap's size. */
static const char *const heap_names[] = {"SHMEM_SYMMETRIC_HEAP_SIZE", "XT_SYMMETRIC_HEAP_SIZE"};

static int is_heap_name(const char *name)
{
    for (size_t i = 0; i < sizeof heap_names / sizeof *heap_names; i++)
        if (strcmp(name, heap_names[i]) == 0)
            return !getenv("SHMEM_SYMMETRIC_SIZE");
    return 0;
}

void shi_config_unknown(int all, void (*report)(const char *name, const char *nearest))
{
    for (char **e = environ; *e; e++) {
        char name[NAME_MOST];
        size_t n = strcspn(*e, "=");
        if (n >= sizeof name)
            continue;
        memcpy(name, *e, n);
        name[n] = 0;
        int heap = is_heap_name(name);
        if (!heap && (strncmp(name, "SHMEM_", 6) != 0 || is_known(name)))
            continue;
        const char *near = heap ? "SHMEM_SYMMETRIC_SIZE" : nearest_name(name);
        if (near || all)
            report(name, near);
    }
}

static void print_flag(FILE *f, int v)
{
    fprintf(f, "%d", v);
}

static void print_bool(FILE *f, int v)
{
    fprintf(f, "%d", v);
}

static void print_size(FILE *f, size_t v)
{
    fprintf(f, "%zu", v);
}

static void print_count(FILE *f, long v)
{
    if (v == SHI_CONFIG_AUTO)
        fputs("auto", f);
    else
        fprintf(f, "%ld", v);
}

static void print_text(FILE *f, shi_config_text v)
{
    fputs(v.text, f);
}

static void print_transport(FILE *f, enum shi_transport v)
{
    fputs(transports[v], f);
}

static void print_wait(FILE *f, enum shi_wait_mode v)
{
    fputs(wait_modes[v], f);
}

static void print_faults(FILE *f, enum shi_faults v)
{
    fputs(faults[v], f);
}

static void print_device(FILE *f, shi_config_device d)
{
    const char *kind = d.backend[0] || d.index != SHI_CONFIG_AUTO ? d.backend : "auto";
    fputs(kind, f);
    if (d.index != SHI_CONFIG_AUTO)
        fprintf(f, "%s%d", d.backend[0] ? ":" : "", d.index);
}

void shi_config_print(const struct shi_config *c, FILE *f)
{
#define X(field, kind, name, old, def, help)                                                                         \
    if (!shi_config_is_of_tests(name)) {                                                                             \
        fprintf(f, "%-22s ", name);                                                                                  \
        print_##kind(f, c->field);                                                                                   \
        fprintf(f, " (default %s): %s\n", *def ? def : "empty", help);                                               \
    }
#include "host/util/config.def"
#undef X
}
