/* report.c - see report.h. */
#include "race/report.h"

#define SHMEM_NO_GENERICS
#include <fnmatch.h>
#include <pshmem.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "race/clock.h"
#include "race/node.h"
#include "race/object.h"
#include "race/place.h"
#include "race/record.h"
#include "race/source.h"
#include "race/sync.h"
#include "race/trace.h"

enum { LINE = 256, PATTERNS = 256 };
static enum { REPORT, JSON, ABORT } mode;
static uint32_t of_gpc; /* threads of this PE that run functions of GPCs */
static char *pattern[PATTERNS];
static int patterns;
static pid_t process; /* a child of it is no PE */
static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

/* A launcher ends the job at the first PE that fails: a PE waits for the others to come here, for a while. */
static void at_exit(int status, void *arg)
{
    (void)arg;
    enum { NAPS = 2000, NAP_US = 1000 };
    struct race_shared *s = race_node.shared;
    if (!s || status != 0 || getpid() != process)
        return;
    fflush(NULL);
    __atomic_fetch_add(&s->leaving, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < NAPS && __atomic_load_n(&s->leaving, __ATOMIC_RELAXED) < (unsigned)race_node.pes; i++)
        usleep(NAP_US);
    if (__atomic_load_n(&s->races, __ATOMIC_RELAXED))
        _exit(RACE_STATUS);
}

/* From a constructor of a library: after every other handler and destructor. */
__attribute__((constructor)) static void enter(void)
{
    on_exit(at_exit, NULL);
}

static void read_patterns(const char *path)
{
    char line[LINE];
    FILE *f = fopen(path, "re");
    if (!f) {
        fprintf(stderr, "fulmar race: PE %d: SHMEM_RACE_SUPPRESS: cannot read %s\n", race_node.me, path);
        pshmem_global_exit(1);
    }
    while (fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = 0;
        if (*line && *line != '#' && patterns < PATTERNS)
            pattern[patterns++] = strdup(line);
    }
    fclose(f);
}

void race_report_up(void)
{
    const char *how = getenv("SHMEM_RACE"), *file = getenv("SHMEM_RACE_SUPPRESS");
    process = getpid();
    if (how && strcmp(how, "json") == 0)
        mode = JSON;
    else if (how && strcmp(how, "abort") == 0)
        mode = ABORT;
    else if (how && *how && strcmp(how, "report") != 0) {
        fprintf(stderr, "fulmar race: PE %d: SHMEM_RACE=%s: is none of report, json, abort\n", race_node.me, how);
        pshmem_global_exit(1);
    }
    if (file)
        read_patterns(file);
}

void race_report_gpc(unsigned thread)
{
    __atomic_fetch_or(&of_gpc, 1u << thread, __ATOMIC_RELAXED);
}

/* ---- what is said ----------------------------------------------------------------------------------------------- */

struct side {
    int pe;
    unsigned thread, kind;
    int request; /* pending until a request is complete */
    const char *routine; /* NULL: a load or store */
    int kernel;          /* an access of a kernel */
    uint32_t item;       /* 1 + the work-item's number, 0: not known */
    char name[LINE];     /* of the routine, or what the access is */
    char function[LINE], source[LINE];
};

/* The access of a kernel's place; its function is the kernel, the offset the line or the instruction. */
static void describe_kernel(struct side *s, const char *file, uint64_t offset)
{
    static const char *const name[RACE_KINDS] = {
        [RACE_LOAD] = "load", [RACE_STORE] = "store", [RACE_GET] = "get", [RACE_PUT] = "put", [RACE_GET_NBI] = "get_nbi",
        [RACE_AMO] = "atomic", [RACE_AMO_READ] = "atomic fetch", [RACE_AMO_FETCH] = "atomic", [RACE_AMO_NBI_READ] = "atomic fetch_nbi",
        [RACE_AMO_NBI] = "atomic_nbi", [RACE_SOURCE] = "put_nbi", [RACE_DEST] = "get_nbi"};
    s->kernel = 1;
    snprintf(s->name, sizeof s->name, "%s", name[s->kind] ? name[s->kind] : "call");
    snprintf(s->function, sizeof s->function, "%s", s->routine);
    snprintf(s->source, sizeof s->source, *file ? "%s:%lu" : "%sinstruction %lu", file, (unsigned long)offset);
}

static void describe(uint64_t bits, uint64_t when, struct side *s)
{
    const char *module;
    uint64_t offset;
    s->pe = (int)race_pe_of(RACE_ACTOR_OF(bits));
    s->thread = RACE_ACTOR_OF(bits) >> race_dim.bits;
    s->kind = RACE_KIND_OF(bits);
    s->request = RACE_STREAM_OF(bits) && (RACE_STREAM_OF(bits) - 1) >> race_dim.bits == RACE_REQUESTS;
    race_place_read(RACE_PLACE_OF(bits), &s->routine, &module, &offset);
    s->kernel = 0;
    if (s->routine && strncmp(s->routine, RACE_IN_KERNEL, sizeof RACE_IN_KERNEL - 1) == 0) {
        s->item = race_record_item(RACE_ACTOR_OF(bits), (uint32_t)when);
        describe_kernel(s, module, offset);
        return;
    }
    snprintf(s->name, sizeof s->name, "%s",
             s->routine                 ? s->routine
             : s->kind == RACE_LOAD     ? "load"
             : s->kind == RACE_STORE    ? "store"
             : s->kind == RACE_AMO_READ ? "atomic load"
                                        : "atomic of the language");
    race_source_of(module, offset, s->function, s->source, LINE);
}

static const char *does(const struct side *s)
{
    int nonblocking = s->kind == RACE_SOURCE || s->kind == RACE_DEST;
    if (race_kind_writes(s->kind))
        return s->request                                         ? "writes it until the request is complete"
               : nonblocking                                      ? "writes it until the quiet"
               : s->kind == RACE_AMO || s->kind == RACE_AMO_FETCH ? "updates"
                                                                  : "writes";
    return s->request ? "reads it until the request is complete" : nonblocking ? "reads it until the quiet" : "reads";
}

static int in_gpc(unsigned thread)
{
    return __atomic_load_n(&of_gpc, __ATOMIC_RELAXED) >> thread & 1;
}

static const char *mend(const struct side *x, const struct side *o, enum race_missing what, int same_stream)
{
    if (what == RACE_NO_ORDER && x->pe == o->pe && x->kernel && o->kernel)
        return "nothing orders the two work-items: a barrier of their group, another launch, or an event between two streams; or a flag that one"
               " releases and the other acquires";
    if (what == RACE_NO_ORDER && x->pe == o->pe && (x->kernel || o->kernel))
        return "nothing orders the kernel and the host: a wait for the kernel, or a launch after the host's access; or a signal";
    if (what == RACE_NO_ORDER && x->pe == o->pe && x->thread != o->thread && (in_gpc(x->thread) || in_gpc(o->thread)))
        return "nothing orders the function of a GPC and the PE where it runs: a wait for the GPC at its root and a barrier, or a lock that both take";
    if (what == RACE_NO_ORDER && x->pe == o->pe)
        return "nothing orders the two threads: a barrier of the threads, a join or a lock between the accesses";
    if (what == RACE_NO_ORDER)
        return "nothing orders the two PEs: a barrier between the accesses, or a wait for a signal that the other PE sends after its access";
    if (o->request)
        return "the request may not be complete: a wait for it, or a test that succeeds, before the other access or what announces it";
    if (o->kind == RACE_SOURCE || o->kind == RACE_DEST || o->kind == RACE_GET_NBI || o->kind == RACE_AMO_NBI ||
        o->kind == RACE_AMO_NBI_READ)
        return "the nonblocking call may not be complete: a shmem_quiet of its context after it, before the other access or what announces it";
    if (same_stream && (x->kind == RACE_PUT || x->kind == RACE_AMO))
        return "nothing orders the deliveries: a shmem_fence of the context between the two calls";
    if (x->pe == o->pe)
        return "the first call may not be complete at the other PE: a shmem_quiet of its context between the two";
    return "the synchronisation does not include the data: a shmem_quiet of the context between the call and the synchronisation, a shmem_fence"
           " before the flag, or put-with-signal";
}

static int matches(const char *text)
{
    for (int i = 0; i < patterns; i++)
        if (fnmatch(pattern[i], text, 0) == 0)
            return 1;
    return 0;
}

static int suppressed(const struct side *s, int n, const char *object)
{
    for (int i = 0; i < n; i++) {
        const char *base = strrchr(s[i].source, '/');
        char file[LINE];
        snprintf(file, sizeof file, "%s", base ? base + 1 : s[i].source);
        file[strcspn(file, ":")] = 0;
        if (matches(s[i].name) || matches(s[i].function) || matches(file))
            return 1;
    }
    return matches(object);
}

/* The thread in the PE, or the work-item in the launch: "thread 0", or "thread": 0 for JSON. */
static const char *who(const struct side *s, int json, char text[LINE])
{
    if (s->kernel && !s->item)
        snprintf(text, LINE, json ? "\"item\": null" : "work-item");
    else
        snprintf(text, LINE, json ? "\"%s\": %u" : "%s %u", !s->kernel ? "thread" : json ? "item" : "work-item",
                 s->kernel ? s->item - 1 : s->thread);
    return text;
}

static void print_json(const struct side *s, const char *object, const struct race_where *w, const char *how)
{
    char text[4096], text_of[LINE];
    int n = snprintf(text, sizeof text, "{\"race\": {\"object\": \"%s\", \"pe\": %d, \"bytes\": %zu, \"accesses\": [",
                     object, w->pe, w->bytes);
    for (int i = 0; i < 2; i++)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s{\"pe\": %d, %s, \"routine\": \"%s\", \"writes\": %s, \"function\": \"%s\", \"at\": \"%s\"}",
                      i ? ", " : "", s[i].pe, who(&s[i], 1, text_of), s[i].name, race_kind_writes(s[i].kind) ? "true" : "false",
                      s[i].function, s[i].source);
    n += snprintf(text + n, sizeof text - (size_t)n, "], \"missing\": \"%s\"}}\n", how);
    fwrite(text, 1, (size_t)n, stderr);
}

static void print_text(const struct side *s, const char *object, const struct race_where *w, const char *how)
{
    char text[4096], text_of[LINE];
    int n = snprintf(text, sizeof text, "fulmar race: %s of PE %d, %zu byte%s\n", object, w->pe, w->bytes,
                     w->bytes == 1 ? "" : "s");
    for (int i = 0; i < 2; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "    PE %d %s: %s %s, in %s at %s\n", s[i].pe,
                      who(&s[i], 0, text_of), s[i].name, does(&s[i]), s[i].function, s[i].source);
    n += snprintf(text + n, sizeof text - (size_t)n, "    missing: %s\n", how);
    fwrite(text, 1, (size_t)n, stderr);
}

/* The first report of the pair in the job? */
static int first(uint64_t a, uint64_t b)
{
    uint64_t key = race_sync_key(a < b ? a : b, a < b ? b : a, 4);
    uint64_t *seen = race_node.shared->seen;
    for (uint64_t i = 0; i < 64; i++) {
        uint64_t *at = &seen[((key >> 16) + i) & (RACE_SEEN - 1)], was = 0;
        if (__atomic_compare_exchange_n(at, &was, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return 1;
        if (was == key)
            return 0;
    }
    return 0;
}

/* What the report says of an access, and of the object without its elements' numbers. A line of the source may have several places, for instance
 * where the compiler has unrolled a loop. */
static uint64_t line_of(const struct side *s, const char *object)
{
    uint64_t h = 14695981039346656037u;
    for (const char *text[] = {s->source, s->name, object}, **t = text; t < text + 3; t++)
        for (const char *c = *t; *c; c++)
            if (*t != object || !strchr(" +0123456789", *c))
                h = (h ^ (unsigned char)*c) * 1099511628211u;
    return h;
}

void race_report(const struct race_access *a, uint64_t x, uint64_t old, uint64_t old_when, enum race_missing what,
                 const struct race_where *w)
{
    const char *routine, *module;
    uint64_t offset;
    race_place_read(RACE_PLACE_OF(old), &routine, &module, &offset);
    if (race_pe_of(RACE_ACTOR_OF(x)) == race_pe_of(RACE_ACTOR_OF(old)) && !a->routine && !routine &&
        !in_gpc(RACE_ACTOR_OF(x) >> race_dim.bits) && !in_gpc(RACE_ACTOR_OF(old) >> race_dim.bits))
        return; /* of two threads: ThreadSanitizer's */
    if (!first(RACE_PLACE_OF(x), RACE_PLACE_OF(old)))
        return;
    uint64_t now = race_trace_now();
    pthread_mutex_lock(&one_at_a_time);
    struct side s[2];
    char object[LINE];
    describe(old, old_when, &s[0]);
    describe(x, a->when, &s[1]);
    race_object_name(w, object, sizeof object);
    if (!suppressed(s, 2, object) && first(line_of(&s[0], object), line_of(&s[1], object))) {
        __atomic_fetch_add(&race_node.shared->races, 1, __ATOMIC_RELAXED);
        const char *how = mend(&s[1], &s[0], what, RACE_STREAM_OF(x) == RACE_STREAM_OF(old));
        (mode == JSON ? print_json : print_text)(s, object, w, how);
        race_trace_add(&(struct race_trace_access){s[0].pe, old, old_when, s[0].source, s[0].name},
                       &(struct race_trace_access){s[1].pe, x, a->when, s[1].source, s[1].name}, w->bytes, now);
        if (mode == ABORT)
            pshmem_global_exit(RACE_STATUS);
    }
    pthread_mutex_unlock(&one_at_a_time);
}
