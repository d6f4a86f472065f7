/* node.c - see node.h. */
#include "race/node.h"

#define SHMEM_NO_GENERICS
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pshmem.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "race/clock.h"

struct race_node race_node;

/* Writable segments of the program: the first object of the list is the program itself. */
static int find_statics(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size, (void)arg;
    uintptr_t *lo = &race_node.lo[RACE_STATICS], *hi = &race_node.hi[RACE_STATICS];
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_W))
            continue;
        uintptr_t from = (info->dlpi_addr + p->p_vaddr) & ~(uintptr_t)(RACE_PAGE - 1);
        uintptr_t to = (info->dlpi_addr + p->p_vaddr + p->p_memsz + RACE_PAGE - 1) & ~(uintptr_t)(RACE_PAGE - 1);
        *lo = *lo && *lo < from ? *lo : from;
        *hi = *hi > to ? *hi : to;
    }
    return 1;
}

/* The heap is the mapping with its first block. */
static void find_heap(uintptr_t block)
{
    char line[512];
    FILE *f = fopen("/proc/self/maps", "re");
    while (f && fgets(line, sizeof line, f)) {
        unsigned long lo, hi;
        if (sscanf(line, "%lx-%lx", &lo, &hi) == 2 && lo <= block && block < hi)
            race_node.lo[RACE_HEAP] = lo, race_node.hi[RACE_HEAP] = hi;
    }
    if (f)
        fclose(f);
}

int race_node_find(uintptr_t addr, uint64_t *offset)
{
    for (int s = 0; s < RACE_SEGMENTS; s++)
        if (addr - race_node.lo[s] < race_node.hi[s] - race_node.lo[s])
            return *offset = addr - race_node.lo[s], s;
    return -1;
}

static void fail(const char *what)
{
    fprintf(stderr, "fulmar race: PE %d: %s: %s; a program compiled with --race runs on one host, whose PEs can open each other's memory\n",
            race_node.me, what, strerror(errno));
    pshmem_global_exit(1);
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + RACE_PAGE - 1) & ~(size_t)(RACE_PAGE - 1);
}

/* The parts of the file, in this order. */
static size_t layout(void)
{
    struct race_node *n = &race_node;
    size_t at = whole_pages(sizeof *n->shared), pes = (size_t)n->pes;
    n->statics_pages = (n->hi[RACE_STATICS] - n->lo[RACE_STATICS]) / RACE_PAGE;
    n->pe_pages = n->statics_pages + whole_pages(n->hi[RACE_HEAP] - n->lo[RACE_HEAP]) / RACE_PAGE;
    n->syncs = (char *)at, at += whole_pages(RACE_SYNCS * race_dim.bytes);
    n->rings = (char *)at, at += whole_pages(sizeof(struct race_ring) << race_dim.actor_bits);
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
    dl_iterate_phdr(find_statics, NULL);
    struct where {
        long pid, fd;
    } *where = pshmem_malloc(sizeof *where);
    if (!where)
        fail("no symmetric memory");
    find_heap((uintptr_t)where);
    race_clock_dimensions((unsigned)n->pes);
    size_t bytes = layout();
    int fd = -1;
    if (n->me == 0) {
        fd = memfd_create("fulmar-race", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
            fail("memfd_create");
        *where = (struct where){getpid(), fd};
    }
    pshmem_barrier_all();
    if (n->me != 0) {
        struct where of;
        char path[64];
        pshmem_getmem(&of, where, sizeof of, 0);
        snprintf(path, sizeof path, "/proc/%ld/fd/%ld", of.pid, of.fd);
        fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            fail(path);
    }
    char *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (map == MAP_FAILED)
        fail("mmap");
    madvise(map, bytes, MADV_DONTDUMP);
    n->shared = (struct race_shared *)map;
    char **part[] = {&n->syncs, &n->rings, &n->holders, &n->pages, &n->cells};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        *part[i] += (size_t)map;
    race_dim.rows = &n->shared->rows;
    pshmem_barrier_all();
    close(fd);
    pshmem_free(where);
}
