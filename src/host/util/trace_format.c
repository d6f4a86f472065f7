/* trace_format.c - names of the families, and the join of the parts of a trace into one file. */
#include "host/util/trace_format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/util/own_file.h"

#define X(WORD, NAME, ...) #NAME,
const char *const shi_family_name[SHI_FAMILIES] = {SHI_FOR_EACH_FAMILY(X)};
const char *const shi_way_name[SHI_WAYS] = {SHI_FOR_EACH_WAY(X)};
#undef X

struct part {
    const struct shi_trace_head *head; /* NULL: no such part */
    size_t bytes;
};

char *shi_trace_part(const char *path, int pe)
{
    char *name;
    return asprintf(&name, "%s.%d.part", path, pe) < 0 ? NULL : name;
}

static int is_whole(const struct shi_trace_head *h, size_t bytes)
{
    if (memcmp(h->magic, "FULMARTR", 8) || h->version != SHI_TRACE_VERSION ||
        h->event_bytes != sizeof(struct shi_trace_event) || h->pe < 0 || h->pe >= h->n_pes || h->node < 0)
        return 0;
    uint64_t kept = h->written < h->room ? h->written : h->room;
    return h->node < h->n_pes && kept <= (bytes - SHI_TRACE_HEAD_BYTES) / sizeof(struct shi_trace_event);
}

/* Map PE pe's part. 0, or -errno. */
static int part_open(const char *path, int pe, struct part *out)
{
    char *name = shi_trace_part(path, pe);
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
    *out = (struct part){p, (size_t)st.st_size};
    if (is_whole(p, out->bytes))
        return 0;
    munmap(p, out->bytes);
    out->head = NULL;
    return -EINVAL;
}

static void part_close(const char *path, int pe, struct part *p)
{
    char *name = shi_trace_part(path, pe);
    munmap((void *)p->head, p->bytes);
    if (name)
        unlink(name);
    free(name);
}

/* The number of PEs, from the first part that exists; -ENOENT when none does. */
static int count_pes(const char *path, int most)
{
    struct part p;
    for (int pe = 0; pe < most; pe++)
        if (part_open(path, pe, &p) == 0) {
            int n = p.head->n_pes;
            munmap((void *)p.head, p.bytes);
            return n;
        }
    return -ENOENT;
}

/* What to add to the PE's clock for the time in the joined trace. PEs of a node share a clock; nodes are aligned by the
 * time of day. */
static int64_t shift_of(const struct part *parts, const struct part *p, int64_t zero_real_ns)
{
    const struct shi_trace_head *first = parts[p->head->node].head;
    return (first ? first : p->head)->to_real_ns - zero_real_ns;
}

static void print_part(FILE *f, const struct part *p, int64_t shift_ns)
{
    const struct shi_trace_head *h = p->head;
    const struct shi_trace_event *event = (const void *)((const char *)h + SHI_TRACE_HEAD_BYTES);
    fprintf(f, ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"PE %d on %.64s\"}}", h->pe, h->pe,
            h->host);
    fprintf(f, ",\n{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"sort_index\":%d}}", h->pe, h->pe);
    for (uint64_t i = h->written > h->room ? h->written - h->room : 0; i < h->written; i++) {
        const struct shi_trace_event *e = &event[i % h->room];
        int64_t at = (int64_t)e->start_ns + shift_ns;
        if (e->family >= SHI_FAMILIES || e->way >= SHI_WAYS)
            continue; /* the PE was killed while it wrote this event */
        fprintf(f, ",\n{\"name\":\"%.*s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%" PRId64 ".%03d,\"dur\":%" PRIu64
                   ".%03d,\"args\":{\"bytes\":%" PRIu64,
                SHI_TRACE_NAME_BYTES, e->name, shi_family_name[e->family], h->pe, e->thread, at / 1000, (int)(at % 1000),
                e->took_ns / 1000, (int)(e->took_ns % 1000), e->bytes);
        if (e->to >= 0)
            fprintf(f, ",\"to\":%d", e->to);
        if (e->family < SHI_TARGETED)
            fprintf(f, ",\"to_all\":%s,\"by\":\"%s\"", e->to == SHI_TO_ALL ? "true" : "false", shi_way_name[e->way]);
        fputs("}}", f);
    }
}

/* Write the parts that exist to `path`. 0, or -errno. */
static int print_all(const char *path, const struct part *parts, int n)
{
    int64_t zero = INT64_MAX;
    for (int pe = 0; pe < n; pe++)
        if (parts[pe].head) {
            int64_t start = (int64_t)parts[pe].head->start_ns + shift_of(parts, &parts[pe], 0);
            zero = start < zero ? start : zero;
        }
    int fd = shi_own_file_open(path, O_WRONLY | O_TRUNC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f)
        return fd < 0 ? fd : -errno;
    fprintf(f, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"n_pes\":%d},\"traceEvents\":[\n"
               "{\"name\":\"fulmar\",\"ph\":\"M\",\"pid\":0,\"args\":{\"n_pes\":%d}}", n, n);
    for (int pe = 0; pe < n; pe++)
        if (parts[pe].head)
            print_part(f, &parts[pe], shift_of(parts, &parts[pe], zero));
    fputs("\n]}\n", f);
    int err = fflush(f) || ferror(f) ? -(errno ? errno : EIO) : 0;
    return fclose(f) && !err ? -errno : err;
}

int shi_trace_join(const char *path, int *n_pes, uint64_t *lost)
{
    enum { MOST_PES = 1 << 20, LOOK = 4096 };
    int n = count_pes(path, LOOK), found = 0;
    if (n < 0)
        return n;
    struct part *parts = n <= MOST_PES ? calloc((size_t)n, sizeof *parts) : NULL;
    if (!parts)
        return -ENOMEM;
    *lost = 0;
    for (int pe = 0; pe < n; pe++) {
        struct part p;
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
    for (int pe = 0; !err && pe < n; pe++)
        if (parts[pe].head)
            part_close(path, pe, &parts[pe]);
    free(parts);
    *n_pes = n;
    return err ? err : found;
}
