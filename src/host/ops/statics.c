/*
 * statics.c - remap the executable's .data and .bss onto shared memory in place, and find its constants.
 *
 * After the remap a peer loads, stores and updates a global exactly as it does a heap word. Constants never change, so peers
 * read a copy of RELRO in shared memory, and every PE reads .rodata in its own process. A child made by fork would
 * write into its parent's globals, so the fork handler gives it a private copy before fork returns in it.
 *
 *   word      written by              read by    order
 *   copied    child, after its copy   parent     R1 -> A1: the parent continues once the child has its copy
 */
#include "host/ops/statics.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "host/util/base.h"
#include "host/util/log.h"

/* Segments with constants but without addresses; linkers make one or two, with large code models more. */
enum { MAX_CONSTANTS = 16 };
struct constants {
    uintptr_t lo;
    size_t bytes;
    uint64_t file_off;
    int code; /* holds the code, too */
};

/* The writable segments, without RELRO, in the order of their addresses, in pages: [lo, file_hi) has initial values, [file_hi, hi) is
 * .bss. Between two of them there may be nothing, or memory that is not the program's. The file has the same gaps. */
enum { MAX_SEGMENTS = 16 };
static struct segment {
    uintptr_t lo, file_hi, hi;
} segment[MAX_SEGMENTS];
static int n_segments;

static struct shi_statics range; /* from the first one to the end of the last one */
static struct constants constants[MAX_CONSTANTS];
static int n_constants;
static size_t relro_file_bytes; /* without the gap behind it */
static struct {
    int fd;
    uint64_t off;
    uint32_t *copied; /* in a page that parent and child share */
} place;
static int handles_forks; /* the handlers are registered */
static pthread_mutex_t forking = PTHREAD_MUTEX_INITIALIZER; /* one fork at a time uses `copied` */

static uint64_t mix(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ p[i]) * 0x100000001b3; /* FNV-1a */
    return h;
}

/* *h with the build-id mixed in, if these notes have one. */
static void mix_build_id(uint64_t *h, int *found, const char *note, size_t bytes)
{
    while (bytes >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *n = (const void *)note;
        size_t name = shi_round_up(n->n_namesz, 4), desc = shi_round_up(n->n_descsz, 4);
        if (sizeof *n + name + desc > bytes)
            break;
        if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 && memcmp(note + sizeof *n, "GNU", 4) == 0)
            *h = mix(*h, note + sizeof *n + name, n->n_descsz), *found = 1;
        note += sizeof *n + name + desc;
        bytes -= sizeof *n + name + desc;
    }
}

/* Programs without a build-id are distinguished by their constants, read from the file, since memory may hold a debugger's
 * breakpoints; without the file by layout alone. */
static uint64_t mix_constants(uint64_t h)
{
    uint64_t words[8192];
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    for (int i = 0; fd >= 0 && i < n_constants; i++) {
        const struct constants *c = &constants[i];
        for (size_t done = 0, n; done < c->bytes; done += n) {
            memset(words, 0, sizeof words);
            n = c->bytes - done < sizeof words ? c->bytes - done : sizeof words;
            if (pread(fd, words, n, (off_t)(c->file_off + done)) != (ssize_t)n)
                break;
            for (size_t k = 0; k < (n + 7) / 8; k++) {
                h = (h ^ words[k]) * 0x100000001b3;
                h ^= h >> 32;
            }
        }
    }
    if (fd >= 0)
        close(fd);
    return h;
}

/* From the program headers; the addresses are page-aligned. */
struct found {
    uintptr_t page, relro_lo, relro_hi;
    uint64_t id;
    int has_id, too_many;
};

/* Constants lie in segments without code, and with it only where the linker has made no other. */
static void add_constants(const ElfW(Phdr) *p, uintptr_t at)
{
    struct constants c = {at, p->p_filesz, p->p_offset, (p->p_flags & PF_X) != 0};
    if (n_constants > 0 && constants[0].code && !c.code)
        n_constants = 0;
    if ((n_constants == 0 || constants[0].code == c.code) && n_constants < MAX_CONSTANTS)
        constants[n_constants++] = c;
}

/* A writable segment begins with RELRO, or is all of it: lld makes that a segment of its own, and may leave a gap. Program headers are in
 * the order of addresses. */
static void add_variables(struct found *f, const ElfW(Phdr) *p, uintptr_t at)
{
    struct segment s = {at & -f->page, shi_round_up(at + p->p_filesz, f->page), shi_round_up(at + p->p_memsz, f->page)};
    f->id = mix(f->id, &p->p_vaddr, sizeof p->p_vaddr);
    f->id = mix(f->id, &p->p_memsz, sizeof p->p_memsz);
    if (s.lo >= f->relro_lo && s.lo < f->relro_hi)
        s.lo = f->relro_hi;
    struct segment *last = n_segments ? &segment[n_segments - 1] : NULL;
    if (s.file_hi < s.lo || p->p_filesz == 0)
        s.file_hi = s.lo;
    if (last && s.lo < last->hi) { /* they share a page */
        last->file_hi = s.file_hi > last->hi ? s.file_hi : last->hi;
        last->hi = s.hi > last->hi ? s.hi : last->hi;
    } else if (s.hi > s.lo && n_segments < MAX_SEGMENTS) {
        segment[n_segments++] = s;
    } else if (s.hi > s.lo) {
        f->too_many = 1;
    }
}

/* dl_iterate_phdr names the executable first. */
static int examine_executable(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    const ElfW(Phdr) *p = info->dlpi_phdr, *end = p + info->dlpi_phnum;
    struct found f = {.page = (uintptr_t)sysconf(_SC_PAGESIZE), .id = 0xcbf29ce484222325};
    for (p = info->dlpi_phdr; p < end; p++)
        if (p->p_type == PT_GNU_RELRO) {
            f.relro_lo = (info->dlpi_addr + p->p_vaddr) & -f.page;
            f.relro_hi = (info->dlpi_addr + p->p_vaddr + p->p_memsz) & -f.page;
        }
    for (p = info->dlpi_phdr; p < end; p++) {
        uintptr_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_W))
            add_variables(&f, p, at);
        else if (p->p_type == PT_LOAD && (p->p_flags & PF_R))
            add_constants(p, at);
        else if (p->p_type == PT_NOTE)
            mix_build_id(&f.id, &f.has_id, (const char *)at, p->p_memsz);
    }
    if (!f.has_id)
        f.id = mix_constants(f.id);
    if (f.too_many)
        shi_log_error("warning: the program has more than %d writable segments; those behind are not symmetric", MAX_SEGMENTS);
    range.exe_id = f.id;
    if (n_segments) {
        range.lo = segment[0].lo;
        range.bytes = segment[n_segments - 1].hi - range.lo;
    }
    if (f.relro_hi > f.relro_lo && range.lo >= f.relro_hi) {
        range.relro_bytes = range.lo - f.relro_lo;
        relro_file_bytes = f.relro_hi - f.relro_lo;
    }
    return 1;
}

const struct shi_statics *shi_statics_find(void)
{
    if (!range.lo && !n_constants)
        dl_iterate_phdr(examine_executable, NULL);
    return &range;
}

int shi_statics_same(const void *addr, size_t bytes)
{
    for (int i = 0; i < n_constants; i++) {
        size_t off = (uintptr_t)addr - constants[i].lo;
        if (off < constants[i].bytes && bytes <= constants[i].bytes - off)
            return 1;
    }
    return 0;
}

/* write(2) by its system call: under AddressSanitizer the wrapper refuses the red zones between globals. */
static int write_out(int fd, uint64_t off, uintptr_t from, size_t bytes)
{
    while (bytes > 0) {
        ssize_t n = syscall(SYS_pwrite64, fd, from, bytes, off);
        if (n < 0)
            return -errno;
        from += n, off += n, bytes -= n;
    }
    return 0;
}

/* Copy those pages of .bss that were ever touched: a large untouched array must stay sparse. */
static int write_out_bss(int fd, uint64_t off, uintptr_t from, size_t bytes)
{
    enum { BATCH = 512 };
    static const uint64_t present_or_swapped = 3ull << 62;
    uint64_t entry[BATCH];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC), err = 0;
    for (size_t done = 0; !err && done < bytes;) {
        size_t n = (bytes - done) / page < BATCH ? (bytes - done) / page : BATCH;
        ssize_t got = map < 0 ? -1 : pread(map, entry, n * sizeof *entry, (off_t)((from + done) / page * sizeof *entry));
        int known = got == (ssize_t)(n * sizeof *entry);
        for (size_t i = 0; !err && i < n; i++, done += page)
            if (!known || (entry[i] & present_or_swapped))
                err = write_out(fd, off + done, from + done, page);
    }
    if (map >= 0)
        close(map);
    return err;
}

/* Copy what the file holds of the static data; holes stay holes. Runs in the child, on the stack only. */
static int copy_from_file(char *to)
{
    uint64_t end = place.off + range.bytes;
    for (off_t at = (off_t)place.off; (uint64_t)at < end;) {
        off_t data = lseek(place.fd, at, SEEK_DATA);
        if (data < 0 || (uint64_t)data >= end)
            break;
        off_t hole = lseek(place.fd, data, SEEK_HOLE);
        size_t n = (size_t)((uint64_t)hole < end ? hole - data : (off_t)end - data);
        char *dst = to + ((uint64_t)data - place.off);
        for (size_t done = 0; done < n;) {
            ssize_t got = syscall(SYS_pread64, place.fd, dst + done, n - done, data + (off_t)done);
            if (got <= 0)
                return -1;
            done += (size_t)got;
        }
        at = data + (off_t)n;
    }
    return 0;
}

/* A child of a child finds its data private already: place.copied is NULL there and the handlers do nothing. */
static void before_fork(void)
{
    pthread_mutex_lock(&forking);
    if (place.copied)
        __atomic_store_n(place.copied, 0, __ATOMIC_RELAXED);
}

/* Replace what is mapped from the file by memory of this process alone, with the same content. Allocates nothing else. 1, or 0: no memory. */
static int make_private(void)
{
    char *copy = mmap(NULL, range.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int ok = copy != MAP_FAILED && copy_from_file(copy) == 0;
    for (int i = 0, n = n_segments; ok && i < n; i++) { /* a copy of these variables may move, too */
        struct segment s = segment[i];
        ok = mremap(copy + (s.lo - range.lo), s.hi - s.lo, s.hi - s.lo, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)s.lo) != MAP_FAILED;
    }
    return ok;
}

static void in_child(void)
{
    if (!place.copied) {
        pthread_mutex_unlock(&forking);
        return;
    }
    int ok = make_private();
    __atomic_store_n(place.copied, 1, __ATOMIC_RELEASE); /* R1 */
    syscall(SYS_futex, place.copied, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    if (!ok) {
        shi_log_error("no memory for a forked child's copy of the static data; the child ends");
        _exit(127);
    }
    place.copied = NULL;
    pthread_mutex_unlock(&forking);
}

static void in_parent(void)
{
    /* A child killed before its copy never answers: two seconds are far beyond any copy of touched pages. */
    struct timespec most = {.tv_sec = 2};
    uint64_t until = shi_now_ns() + 2000000000u;
    /* The wake of an earlier child may come only now, and a signal ends the wait, too. */
    while (place.copied && __atomic_load_n(place.copied, __ATOMIC_ACQUIRE) == 0 && shi_now_ns() < until) /* A1 */
        syscall(SYS_futex, place.copied, FUTEX_WAIT, 0, &most, NULL, 0);
    pthread_mutex_unlock(&forking);
}

/* Copy a segment to its place in the file and map it from there. */
static int move(const struct segment *s, int fd, uint64_t off)
{
    size_t file = s->file_hi - s->lo, all = s->hi - s->lo;
    int err = write_out(fd, off, s->lo, file);
    if (!err)
        err = write_out_bss(fd, off + file, s->file_hi, all - file);
    if (!err && mmap((void *)s->lo, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, (off_t)off) == MAP_FAILED)
        err = -errno;
    return err;
}

int shi_statics_leave(void)
{
    int ok = 1;
    pthread_mutex_lock(&forking);
    if (place.copied) {
        ok = make_private();
        munmap(place.copied, SHI_PAGE_BYTES);
        memset(&place, 0, sizeof place);
    }
    pthread_mutex_unlock(&forking);
    if (!ok)
        shi_log_error("no memory for a private copy of the static data (%zu bytes)", range.bytes);
    return ok ? 0 : -ENOMEM;
}

int shi_statics_remap(int fd, uint64_t off)
{
    if (!place.copied) {
        void *page = mmap(NULL, SHI_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            return -errno;
        place.copied = page;
    }
    int err = write_out(fd, off, range.lo - range.relro_bytes, relro_file_bytes);
    off += range.relro_bytes;
    place.fd = fd; /* before the copy: in a static link these words move too */
    place.off = off;
    for (int i = 0; !err && i < n_segments; i++) {
        struct segment s = segment[i]; /* with a static link the move of one moves the words of this file */
        err = move(&s, fd, off + (s.lo - range.lo));
    }
    if (!err && !handles_forks)
        err = -pthread_atfork(before_fork, in_parent, in_child);
    handles_forks |= !err;
    if (err)
        shi_log_error("static data (%zu bytes) cannot become shared memory: %s", range.bytes, strerror(-err));
    return err;
}
