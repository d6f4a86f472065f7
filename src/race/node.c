/* node.c - see node.h. */
#include "race/node.h"

#define SHMEM_NO_GENERICS
#include <fcntl.h>
#include <link.h>
#include <pshmem.h>
#include <sched.h>
#include <shmemx.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "race/clock.h"

struct race_node race_node;

/* Writable segments of the program: the first object of the list is the program itself. */
static int find_statics(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    uintptr_t *lo = &race_node.lo[RACE_STATICS], *bytes = &race_node.bytes[RACE_STATICS];
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
            continue;
        uintptr_t from = (info->dlpi_addr + p->p_vaddr) & ~(uintptr_t)(RACE_PAGE - 1);
        uintptr_t to = (info->dlpi_addr + p->p_vaddr + p->p_memsz + RACE_PAGE - 1) & ~(uintptr_t)(RACE_PAGE - 1);
        uintptr_t hi = *lo + *bytes > to ? *lo + *bytes : to;
        *lo = *lo && *lo < from ? *lo : from;
        *bytes = hi - *lo;
    }
    return 1;
}

/* Other threads may look for an address at the same time. */
static void set_segment(int segment, uintptr_t lo, size_t bytes)
{
    __atomic_store_n(&race_node.lo[segment], lo, __ATOMIC_RELAXED);
    __atomic_store_n(&race_node.bytes[segment], bytes, __ATOMIC_RELEASE);
    if (race_node.segments <= segment)
        __atomic_store_n(&race_node.segments, segment + 1, __ATOMIC_RELEASE);
}

/* A heap is the mapping with its first block. */
static void find_heap(int segment, uintptr_t block, size_t most)
{
    char line[512];
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && fgets(line, sizeof line, f)) {
        unsigned long lo, hi;
        if (sscanf(line, "%lx-%lx", &lo, &hi) == 2 && lo <= block && block < hi)
            set_segment(segment, lo, hi - lo < most ? hi - lo : most);
    }
    if (f)
        fclose(f);
}

void race_node_device(uintptr_t block)
{
    find_heap(RACE_DEVICE, block, RACE_DEVICE_BYTES);
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + RACE_PAGE - 1) & ~(size_t)(RACE_PAGE - 1);
}

/* ---- added memory --------------------------------------------------------------------------------------------------------- */

static void lock_added(void)
{
    while (__atomic_exchange_n(&race_node.shared->adding, 1, __ATOMIC_ACQUIRE)) /* A5 */
        sched_yield();
}

static void unlock_added(void)
{
    __atomic_store_n(&race_node.shared->adding, 0, __ATOMIC_RELEASE); /* R5 */
}

int race_node_add(uint64_t key, uintptr_t lo, size_t bytes)
{
    int segment = -1;
    lock_added();
    for (int i = RACE_ADDED_MOST - 1; i >= 0; i--)
        if (!race_node.shared->added[i].key || race_node.shared->added[i].key == key)
            segment = segment >= 0 && race_node.shared->added[segment - RACE_ADDED].key == key ? segment : RACE_ADDED + i;
    if (segment >= 0) {
        race_node.shared->added[segment - RACE_ADDED].key = key;
        race_node.shared->added[segment - RACE_ADDED].pes++;
    }
    unlock_added();
    if (segment >= 0)
        set_segment(segment, lo, bytes < RACE_ADDED_BYTES ? bytes : RACE_ADDED_BYTES);
    return segment;
}

void race_node_remove(int segment)
{
    size_t cells = whole_pages(race_node.bytes[segment]) / RACE_PAGE * RACE_PAGE_CELLS;
    char *first = race_node.cells + race_node_page(race_node.me, segment, 0) * RACE_PAGE_CELLS;
    __atomic_store_n(&race_node.bytes[segment], 0, __ATOMIC_RELEASE);
    if (madvise(first, cells, MADV_REMOVE) != 0 || madvise(first + race_node.second, cells, MADV_REMOVE) != 0) {
        memset(first, 0, cells);
        memset(first + race_node.second, 0, cells);
    }
    lock_added();
    if (--race_node.shared->added[segment - RACE_ADDED].pes == 0)
        race_node.shared->added[segment - RACE_ADDED].key = 0;
    unlock_added();
}

int race_node_find_any(uintptr_t addr, uint64_t *offset)
{
    int segments = __atomic_load_n(&race_node.segments, __ATOMIC_ACQUIRE);
    for (int s = 0; s < segments; s++)
        if (addr - race_node.lo[s] < __atomic_load_n(&race_node.bytes[s], __ATOMIC_ACQUIRE))
            return *offset = addr - race_node.lo[s], s;
    *offset = 0;
    return -1;
}

static void fail(const char *what)
{
    fprintf(stderr, "fulmar race: PE %d: %s; a program compiled with --race runs on one host, whose PEs can open each other's memory\n",
            race_node.me, what);
    pshmem_global_exit(1);
}

/* The parts of the file, in this order. */
static size_t layout(void)
{
    struct race_node *n = &race_node;
    size_t at = whole_pages(sizeof *n->shared), pes = (size_t)n->pes;
    for (int s = 0; s < RACE_SEGMENTS; s++) {
        size_t room = s < RACE_DEVICE ? n->bytes[s] : s == RACE_DEVICE ? RACE_DEVICE_BYTES : RACE_ADDED_BYTES;
        n->segment_pages[s] = n->pe_pages;
        n->pe_pages += whole_pages(room) / RACE_PAGE;
    }
    n->syncs = (char *)at, at += whole_pages(RACE_SYNCS * race_dim.bytes);
    n->rings = (char *)at, at += whole_pages(sizeof(struct race_ring) << race_dim.actor_bits);
    n->turns = (char *)at, at += whole_pages(sizeof(struct race_turn[RACE_TURNS]) << race_dim.actor_bits);
    n->times = (char *)at, at += whole_pages(sizeof(struct race_times) << race_dim.actor_bits);
    n->holders = (char *)at, at += whole_pages(pes * RACE_LINE);
    n->pages = (char *)at, at += whole_pages(pes * n->pe_pages * RACE_LINE);
    n->second = pes * n->pe_pages * RACE_PAGE_CELLS;
    n->cells = (char *)at, at += 2 * n->second;
    return at;
}

void race_node_up(void)
{
    struct race_node *n = &race_node;
    n->me = pshmem_my_pe();
    n->pes = pshmem_n_pes();
    if (pshmemx_is_new()) {
        fprintf(stderr, "fulmar race: PE %d: a program compiled with --race takes in no new processes in place of PEs that have died\n", n->me);
        pshmem_global_exit(1);
    }
    dl_iterate_phdr(find_statics, NULL);
    n->segments = RACE_STATICS + 1;
    struct where {
        long pid, fd;
        uint64_t job; /* a random number, which is in the file, too: another host may have this process id and descriptor */
    } *where = pshmem_malloc(sizeof *where);
    if (!where)
        fail("no symmetric memory");
    find_heap(RACE_HEAP, (uintptr_t)where, SIZE_MAX);
    if (n->pes > RACE_PES) {
        if (n->me == 0)
            fprintf(stderr, "fulmar race: %d PEs: a program compiled with --race runs with at most %d\n", n->pes, RACE_PES);
        pshmem_barrier_all();
        pshmem_global_exit(1);
    }
    race_clock_dimensions((unsigned)n->pes);
    size_t bytes = layout();
    int fd = -1;
    if (n->me == 0) {
        fd = memfd_create("fulmar-race", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
            fail("memfd_create");
        *where = (struct where){getpid(), fd, 0};
        if (getrandom(&where->job, sizeof where->job, 0) != sizeof where->job ||
            pwrite(fd, &where->job, sizeof where->job, offsetof(struct race_shared, job)) < 0)
            fail("getrandom");
    }
    pshmem_barrier_all();
    if (n->me != 0) {
        struct where of;
        char path[64];
        pshmem_getmem(&of, where, sizeof of, 0);
        snprintf(path, sizeof path, "/proc/%ld/fd/%ld", of.pid, of.fd);
        fd = open(path, O_RDWR | O_CLOEXEC);
        uint64_t job = 0;
        if (fd < 0 || pread(fd, &job, sizeof job, offsetof(struct race_shared, job)) < 0 || job != of.job)
            fail("cannot open the memory of PE 0, or it is on another host");
    }
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED)
        fail("mmap");
    madvise(map, bytes, MADV_DONTDUMP);
    n->shared = (struct race_shared *)map;
    char **part[] = {&n->syncs, &n->rings, &n->turns, &n->times, &n->holders, &n->pages, &n->cells};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        *part[i] += (size_t)map;
    race_dim.rows = &n->shared->rows;
    pshmem_barrier_all();
    close(fd);
    pshmem_free(where);
}
