/* trace_join.c - join the parts of a trace into one file, in Chrome's trace-event format. */
#include "host/util/trace_join.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/util/own_file.h"

/* ---- parts -------------------------------------------------------------------------------------------------------- */

static int is_whole(const struct shi_trace_head *h, size_t bytes)
{
    if (memcmp(h->magic, "FULMARTR", 8) || h->version != SHI_TRACE_VERSION ||
        h->event_bytes != sizeof(struct shi_trace_event) || h->pe < 0 || h->pe >= h->n_pes || h->node < 0 || !h->room)
        return 0;
    uint64_t kept = h->written < h->room ? h->written : h->room;
    return h->node < h->n_pes && kept <= (bytes - SHI_TRACE_HEAD_BYTES) / sizeof(struct shi_trace_event);
}

/* Map PE pe's part. 0, or -errno. */
static int part_open(const char *path, int pe, struct shi_trace_part *out)
{
    char *name = shi_trace_part_name(path, pe);
    int fd = name ? shi_own_file_open(name, O_RDONLY) : -ENOMEM, err = fd < 0 ? fd : 0;
    struct stat st;
    free(name);
    if (err)
        return err;
    void *p = MAP_FAILED;
    if (fstat(fd, &st) == 0 && st.st_size >= SHI_TRACE_HEAD_BYTES)
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return -EINVAL;
    *out = (struct shi_trace_part){.head = p, .bytes = (size_t)st.st_size};
    if (is_whole(p, out->bytes))
        return 0;
    munmap(p, out->bytes);
    out->head = NULL;
    return -EINVAL;
}

static void part_close(const struct shi_trace_part *p)
{
    free(p->lane);
    munmap((void *)p->head, p->bytes);
}

static void part_remove(const char *path, int pe)
{
    char *name = shi_trace_part_name(path, pe);
    if (name)
        unlink(name);
    free(name);
}

/* The number of PEs, from the first part that exists; -ENOENT when none does. */
static int count_pes(const char *path, int most)
{
    struct shi_trace_part p;
    for (int pe = 0; pe < most; pe++)
        if (part_open(path, pe, &p) == 0) {
            int n = p.head->n_pes;
            munmap((void *)p.head, p.bytes);
            return n;
        }
    return -ENOENT;
}

/* ---- lanes -------------------------------------------------------------------------------------------------------- */

/* Events on the tracks of kernels and of their requests overlap, and a thread's events in the file must not: those that overlap get
 * different lanes. Lanes have numbers above those of the program's threads. */
enum { FIRST_LANE = 1 << 17 };

static unsigned first_lane(uint16_t thread)
{
    return FIRST_LANE + (thread == SHI_TRACE_REQUESTS ? SHI_TRACE_LANES : 0);
}

static int is_on_lane(const struct shi_trace_event *e)
{
    return e->thread == SHI_TRACE_KERNELS || e->thread == SHI_TRACE_REQUESTS;
}

/* The number of event i's thread or lane in the joined file. */
static unsigned tid(const struct shi_trace_part *p, uint64_t i)
{
    const struct shi_trace_event *e = shi_trace_at(p, i);
    return is_on_lane(e) ? first_lane(e->thread) + (p->lane ? p->lane[i - shi_trace_first(p->head)] : 0) : e->thread;
}

static const struct shi_trace_part *sorted; /* for compare_starts; the join has one thread */

static int compare_starts(const void *a, const void *b)
{
    uint64_t x = shi_trace_at(sorted, *(const uint64_t *)a)->start_ns, y = shi_trace_at(sorted, *(const uint64_t *)b)->start_ns;
    return (x > y) - (x < y);
}

/* Give the events of a track, of the n that are in `order`, the lowest lanes that are free. Returns the number of lanes. */
static unsigned fill_lanes(struct shi_trace_part *p, const uint64_t *order, size_t n, uint16_t thread)
{
    uint64_t free_ns[SHI_TRACE_LANES] = {0};
    unsigned used = 0;
    for (size_t k = 0; k < n; k++) {
        const struct shi_trace_event *e = shi_trace_at(p, order[k]);
        unsigned lane = 0;
        if (e->thread != thread)
            continue;
        while (lane + 1 < SHI_TRACE_LANES && free_ns[lane] > e->start_ns)
            lane++;
        free_ns[lane] = e->start_ns + e->took_ns;
        p->lane[order[k] - shi_trace_first(p->head)] = (uint16_t)lane;
        used = lane + 1 > used ? lane + 1 : used;
    }
    return used;
}

static void name_lanes(FILE *f, const struct shi_trace_part *p, uint16_t thread, unsigned n)
{
    for (unsigned lane = 0; lane < n; lane++)
        fprintf(f, ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"args\":{\"name\":\"%s\"}}", p->head->pe,
                first_lane(thread) + lane, thread == SHI_TRACE_KERNELS ? "kernels" : "requests of kernels");
}

/* Without memory all events of a track are on its first lane. */
static void assign_lanes(FILE *f, struct shi_trace_part *p)
{
    uint64_t first = shi_trace_first(p->head), kept = p->head->written - first, n = 0;
    for (uint64_t i = first; i < p->head->written; i++)
        n += (uint64_t)is_on_lane(shi_trace_at(p, i));
    uint64_t *order = n ? malloc(n * sizeof *order) : NULL;
    p->lane = order ? calloc(kept, sizeof *p->lane) : NULL;
    if (p->lane) {
        n = 0;
        for (uint64_t i = first; i < p->head->written; i++)
            if (is_on_lane(shi_trace_at(p, i)))
                order[n++] = i;
        sorted = p;
        qsort(order, n, sizeof *order, compare_starts);
        name_lanes(f, p, SHI_TRACE_KERNELS, fill_lanes(p, order, n, SHI_TRACE_KERNELS));
        name_lanes(f, p, SHI_TRACE_REQUESTS, fill_lanes(p, order, n, SHI_TRACE_REQUESTS));
    }
    free(order);
}

/* ---- the file ----------------------------------------------------------------------------------------------------- */

static void print_event(FILE *f, const struct shi_trace_part *p, uint64_t i)
{
    const struct shi_trace_event *e = shi_trace_at(p, i);
    int64_t at = shi_trace_start_ns(p, e);
    int is_kernel = e->thread == SHI_TRACE_KERNELS;
    fprintf(f, ",\n{\"name\":\"%.*s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%" PRId64 ".%03d,\"dur\":%" PRIu64
               ".%03d,\"args\":{\"bytes\":%" PRIu64,
            SHI_TRACE_NAME_BYTES, e->name, is_kernel ? "kernel" : shi_family_name[e->family], p->head->pe, tid(p, i),
            at / 1000, (int)(at % 1000), e->took_ns / 1000, (int)(e->took_ns % 1000), e->bytes);
    if (e->to >= 0)
        fprintf(f, ",\"to\":%d", e->to);
    if (e->family < SHI_TARGETED)
        fprintf(f, ",\"to_all\":%s,\"by\":\"%s\"", e->to == SHI_TO_ALL ? "true" : "false", shi_way_name[e->way]);
    fputs("}}", f);
}

static void print_part(FILE *f, struct shi_trace_part *p)
{
    const struct shi_trace_head *h = p->head;
    fprintf(f, ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"PE %d on %.64s\"}}", h->pe, h->pe,
            h->host);
    fprintf(f, ",\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"sort_index\":%d}}", h->pe, h->pe);
    assign_lanes(f, p);
    for (uint64_t i = shi_trace_first(h); i < h->written; i++)
        if (shi_trace_is_event(shi_trace_at(p, i)))
            print_event(f, p, i);
}

/* Where the arrows of shi_trace_arrows go. */
struct arrows {
    FILE *f;
    const struct shi_trace_part *parts;
    uint64_t n;
};

/* One end of an arrow; `kind`: s or f, in the event that is there at that time. */
static void print_end(const struct arrows *a, char kind, const struct shi_trace_part *p, uint64_t event, int64_t at)
{
    fprintf(a->f, ",\n{\"name\":\"put to wait\",\"cat\":\"arrow\",\"ph\":\"%c\",%s\"id\":%" PRIu64 ",\"pid\":%d,\"tid\":%u,\"ts\":%" PRId64
                  ".%03d}", kind, kind == 'f' ? "\"bp\":\"e\"," : "", a->n, p->head->pe, tid(p, event), at / 1000,
            (int)(at % 1000));
}

/* From the start of the call to the end of the wait. */
static void print_arrow(void *arg, const struct shi_trace_arrow *arrow)
{
    struct arrows *a = arg;
    const struct shi_trace_part *from = &a->parts[arrow->from], *to = &a->parts[arrow->to];
    const struct shi_trace_event *wait = shi_trace_at(to, arrow->to_event);
    a->n++;
    print_end(a, 's', from, arrow->from_event, shi_trace_start_ns(from, shi_trace_at(from, arrow->from_event)));
    print_end(a, 'f', to, arrow->to_event, shi_trace_start_ns(to, wait) + (int64_t)wait->took_ns - (wait->took_ns > 0));
}

/* ---- races -------------------------------------------------------------------------------------------------------- */

/* A race of the program, which libfulmar_race has reported, is a slice at each of its accesses and an arrow from the earlier one to the later one.
 * The time of an access is taken before its call, so the thread's next call is the access if it has its name: then the slice lasts as long. */
enum { ACCESS_NS = 1 };

/* The call that the thread began first at or after this time; NULL: none. */
static const struct shi_trace_event *next_call(const struct shi_trace_part *p, uint16_t thread, uint64_t ns)
{
    const struct shi_trace_event *next = NULL;
    for (uint64_t i = shi_trace_first(p->head); i < p->head->written; i++) {
        const struct shi_trace_event *e = shi_trace_at(p, i);
        if (shi_trace_is_event(e) && e->thread == thread && e->start_ns >= ns && (!next || e->start_ns < next->start_ns))
            next = e;
    }
    return next;
}

/* The rest of the routine's name: libfulmar_race makes typed calls by the routine with a context. */
static const char *without_context(const char *routine)
{
    const char *const start[] = {"shmem_", "ctx_"};
    for (size_t i = 0; i < sizeof start / sizeof *start; i++)
        routine += strncmp(routine, start[i], strlen(start[i])) == 0 ? strlen(start[i]) : 0;
    return routine;
}

/* text: a line of the source, a space, the routine, or as much of it as there was room for. */
static void print_access(FILE *f, const struct shi_trace_part *p, uint16_t thread, uint64_t ns, const char *text, int most, uint64_t bytes)
{
    const struct shi_trace_event *call = next_call(p, thread, ns);
    char copy[SHI_TRACE_NAME_BYTES + 1];
    snprintf(copy, sizeof copy, "%.*s", most, text);
    const char *space = strrchr(copy, ' '), *routine = space ? without_context(space + 1) : "";
    int is_call = call && *routine && strncmp(routine, without_context(call->name), strlen(routine)) == 0;
    uint64_t took = is_call ? call->start_ns + call->took_ns - ns : ACCESS_NS;
    int64_t at = (int64_t)ns + p->shift_ns;
    fprintf(f, ",\n{\"name\":\"race: %s\",\"cat\":\"race\",\"ph\":\"X\",\"pid\":%d,\"tid\":%u,\"ts\":%" PRId64 ".%03d,\"dur\":%" PRIu64
               ".%03d,\"args\":{\"bytes\":%" PRIu64 "}}", copy, p->head->pe, thread, at / 1000, (int)(at % 1000), took / 1000, (int)(took % 1000), bytes);
}

static void print_race_end(FILE *f, char kind, const struct shi_trace_part *p, uint16_t thread, uint64_t ns, uint64_t id)
{
    int64_t at = (int64_t)ns + p->shift_ns;
    fprintf(f, ",\n{\"name\":\"race\",\"cat\":\"race\",\"ph\":\"%c\",%s\"id\":%" PRIu64 ",\"pid\":%d,\"tid\":%u,\"ts\":%" PRId64 ".%03d}", kind,
            kind == 'f' ? "\"bp\":\"e\"," : "", id, p->head->pe, thread, at / 1000, (int)(at % 1000));
}

/* Where the earlier access's time is not known, or its part is missing, the later one has no arrow. */
static void print_races(FILE *f, const struct shi_trace_part *parts, int n)
{
    uint64_t id = 0;
    for (const struct shi_trace_part *p = parts; p < parts + n; p++)
        for (uint64_t i = p->head ? shi_trace_first(p->head) : 0; p->head && i < p->head->written; i++) {
            const struct shi_trace_event *e = shi_trace_at(p, i);
            if (e->family != SHI_TRACE_RACE)
                continue;
            print_access(f, p, e->thread, e->start_ns, e->name, SHI_TRACE_NAME_BYTES, e->bytes);
            if (!e->earlier_ns || e->to < 0 || e->to >= n || !parts[e->to].head)
                continue;
            print_access(f, &parts[e->to], e->earlier_thread, e->earlier_ns, e->earlier, SHI_TRACE_EARLIER_BYTES, e->bytes);
            print_race_end(f, 's', &parts[e->to], e->earlier_thread, e->earlier_ns, ++id);
            print_race_end(f, 'f', p, e->thread, e->start_ns, id);
        }
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

/* Write the parts that exist to `path`. 0, or -errno. */
static int print_all(const char *path, struct shi_trace_part *parts, int n)
{
    int fd = shi_own_file_open(path, O_WRONLY | O_TRUNC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f)
        return fd < 0 ? fd : -errno;
    shi_trace_align(parts, n);
    fprintf(f, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"n_pes\":%d},\"traceEvents\":[\n"
               "{\"name\":\"fulmar\",\"ph\":\"M\",\"pid\":0,\"args\":{\"n_pes\":%d}}", n, n);
    for (int pe = 0; pe < n; pe++)
        if (parts[pe].head)
            print_part(f, &parts[pe]);
    print_races(f, parts, n);
    int err = shi_trace_arrows(parts, n, print_arrow, &(struct arrows){f, parts, 0});
    fputs("\n]}\n", f);
    if (!err && (fflush(f) || ferror(f)))
        err = -(errno ? errno : EIO);
    return fclose(f) && !err ? -errno : err;
}

int shi_trace_join(const char *path, int *n_pes, uint64_t *lost)
{
    enum { MOST_PES = 1 << 20, LOOK = 4096 };
    int n = count_pes(path, LOOK), found = 0;
    if (n < 0)
        return n;
    struct shi_trace_part *parts = n <= MOST_PES ? calloc((size_t)n, sizeof *parts) : NULL;
    if (!parts)
        return -ENOMEM;
    *lost = 0;
    for (int pe = 0; pe < n; pe++) {
        struct shi_trace_part p;
        if (part_open(path, pe, &p))
            continue;
        if (p.head->n_pes != n || p.head->pe != pe) { /* of an earlier job */
            munmap((void *)p.head, p.bytes);
            continue;
        }
        parts[pe] = p;
        found++;
        *lost += p.head->written > p.head->room ? p.head->written - p.head->room : 0;
    }
    int err = print_all(path, parts, n);
    for (int pe = 0; pe < n; pe++) {
        if (!parts[pe].head)
            continue;
        part_close(&parts[pe]);
        if (!err)
            part_remove(path, pe);
    }
    free(parts);
    *n_pes = n;
    return err ? err : found;
}
