/*
 * heap.c - symmetric allocation across PEs: a block has the same place on every PE and overlaps no other block.
 */
#include <sys/mman.h>

#include "../tap_pes.h"

#include <shmemx.h>

enum { HEAP = 64 << 20, LIVE = 40 };

static struct block {
    unsigned char *at;
    size_t bytes;
    unsigned char tag;
} live[LIVE];

/* Half of the calls use the deprecated names. */
static void *(*const aligned[])(size_t, size_t) = {shmem_align, shmemalign}, *(*const plain[])(size_t) = {shmem_malloc, shmalloc},
    *(*const resize[])(void *, size_t) = {shmem_realloc, shrealloc};
static void (*const release[])(void *) = {shmem_free, shfree};

/* Write this PE's mark to the next PE's block at the same address; then the own block must have the previous PE's
 * mark. */
static int is_symmetric(unsigned char *at, size_t bytes)
{
    unsigned char mark = (unsigned char)(me + 1), got = (unsigned char)((me + n_pes - 1) % n_pes + 1);
    shmem_barrier_all();
    shmem_putmem(at, &mark, 1, next_pe());
    shmem_putmem(at + bytes - 1, &mark, 1, next_pe());
    shmem_barrier_all();
    return at[0] == got && at[bytes - 1] == got;
}

static void allocate(struct block *b, unsigned r, size_t bytes)
{
    size_t align = (size_t)8 << r / 8 % 16;
    if (r % 5 == 0)
        b->at = aligned[r / 128 % 2](align, bytes);
    else if (r % 5 == 1)
        b->at = shmem_calloc(bytes, 1);
    else if (r % 5 == 2)
        b->at = shmem_malloc_with_hints(bytes, (long)r / 8);
    else
        b->at = plain[r / 128 % 2](bytes);
    if (!CHECK(b->at != NULL))
        return;
    CHECKF(r % 5 || (uintptr_t)b->at % align == 0, "shmem_align(%zu) gave %p", align, (void *)b->at);
    CHECKF(r % 5 != 1 || (b->at[0] == 0 && memcmp(b->at, b->at + 1, bytes - 1) == 0), "calloc of %zu bytes", bytes);
    CHECKF(is_symmetric(b->at, bytes), "a block of %zu bytes has another place on another PE", bytes);
}

/* Do the first `bytes` of b still have their pattern? */
static int is_whole(const struct block *b, size_t bytes)
{
    return b->at[0] == b->tag && memcmp(b->at, b->at + 1, bytes - 1) == 0;
}

/* Catches: PEs that place a block differently, blocks that overlap, calloc that returns nonzero memory, realloc that
 * loses bytes. */
static void random_calls(void)
{
    unsigned state = 321; /* equal on all PEs: allocation is collective */
    for (int i = 0; i < 1500; i++) {
        struct block *b = &live[tap_random(&state) % LIVE];
        unsigned r = tap_random(&state);
        size_t bytes = 2 + r / 16 % (r % 7 ? 3000 : 300000);
        if (!b->at) {
            allocate(b, r, bytes);
        } else if (CHECKF(is_whole(b, b->bytes), "a block of %zu bytes was overwritten", b->bytes) && r % 2) {
            release[r / 128 % 2](b->at);
            *b = (struct block){0};
            continue;
        } else {
            b->at = resize[r / 128 % 2](b->at, bytes);
            CHECKF(b->at && is_whole(b, bytes < b->bytes ? bytes : b->bytes), "realloc from %zu to %zu", b->bytes, bytes);
            CHECK(is_symmetric(b->at, bytes));
        }
        b->bytes = bytes;
        b->tag = (unsigned char)i;
        memset(b->at, b->tag, bytes);
    }
    for (int i = 0; i < LIVE; i++, shmem_barrier_all()) {
        shmem_free(live[i].at); /* some are NULL */
        live[i].at = NULL;
    }
}

/* Catches: size 0 or NULL that does not give NULL, or that leaves a PE in a barrier that the others do not enter. */
static void nothing(void)
{
    CHECK(shmem_malloc(0) == NULL);
    CHECK(shmem_calloc(0, 8) == NULL && shmem_calloc(8, 0) == NULL);
    CHECK(shmem_align(64, 0) == NULL);
    CHECK(shmem_align(24, 64) == NULL); /* not a power of two */
    CHECK(shmem_malloc_with_hints(0, 0) == NULL);
    CHECK(shmem_realloc(NULL, 0) == NULL);
    if (me == 0)
        shmem_free(NULL);
    void *p = shmem_realloc(NULL, 100);
    CHECK(p != NULL);
    CHECK(shmem_realloc(p, 0) == NULL);
    shmem_barrier_all();
}

/* Catches: a size that overflows in the allocator, and a block that is lost when realloc finds no room. */
static void too_much(void)
{
    static const size_t sizes[] = {(size_t)HEAP + 1, SIZE_MAX / 2, SIZE_MAX - 63, SIZE_MAX};
    struct block b = {shmem_malloc(1000), 1000, 7};
    memset(b.at, b.tag, b.bytes);
    for (int i = 0; i < 4; i++) {
        CHECKF(shmem_malloc(sizes[i]) == NULL, "malloc of %zu bytes", sizes[i]);
        CHECKF(shmem_align(4096, sizes[i]) == NULL, "align of %zu bytes", sizes[i]);
        CHECKF(shmem_realloc(b.at, sizes[i]) == NULL && is_whole(&b, b.bytes), "realloc to %zu bytes", sizes[i]);
    }
    CHECK(shmem_calloc(SIZE_MAX / 8 + 2, 8) == NULL);
    CHECK(shmem_align((size_t)1 << 62, 64) == NULL);
    CHECK(is_symmetric(b.at, b.bytes));
    shmem_free(b.at);
}

/* Catches: a block that is not a multiple of an alignment above that of the heap's base, or that only some PEs get. */
static void alignments(void)
{
    static int got[64];
    for (int bit = 3; bit < 64; bit++) {
        size_t align = (size_t)1 << bit;
        char *p = shmem_align(align, 100);
        got[bit] = p != NULL;
        CHECKF((uintptr_t)p % align == 0, "shmem_align(2^%d) gave %p", bit, (void *)p);
        CHECKF(p || bit > 21, "shmem_align(2^%d) gave NULL", bit);
        CHECKF(!p || is_symmetric((unsigned char *)p, 100), "a block at a multiple of 2^%d", bit);
        shmem_free(p);
    }
    shmem_barrier_all();
    for (int bit = 3; bit < 64; bit++)
        CHECKF(shmem_int_g(&got[bit], next_pe()) == got[bit], "shmem_align(2^%d): NULL on some PEs", bit);
    shmem_barrier_all();
    CHECK(shmem_align(SIZE_MAX / 2 + 1, SIZE_MAX) == NULL && shmem_align(0, 64) == NULL);
    CHECK(shmem_malloc_with_hints(SIZE_MAX - 1, ~0L) == NULL);
}

/* Does the system do this for memory of its own? */
static int system_can(int advice)
{
    size_t bytes = 4 << 20;
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return 0;
    p[0] = p[bytes / 2] = 1;
    int can = madvise(p, bytes, advice) == 0;
    munmap(p, bytes);
    return can;
}

/* Pages of the block that exist, and all. */
static void count_pages(char *at, size_t bytes, int *present, int *all)
{
    static unsigned char is[HEAP / 4096];
    size_t off = (uintptr_t)at % 4096;
    *all = (int)((bytes + off + 4095) / 4096);
    *present = 0;
    CHECK(mincore(at - off, bytes + off, is) == 0);
    for (int i = 0; i < *all; i++)
        *present += is[i] & 1;
}

static long huge_kib(const void *at)
{
    char line[512];
    long kib = 0, value;
    unsigned long from, to;
    int inside = 0;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = from <= (unsigned long)at && (unsigned long)at < to;
        else if (inside && sscanf(line, "ShmemPmdMapped: %ld", &value) == 1)
            kib = value;
    if (f)
        fclose(f);
    return kib;
}

/* Catches: a hint that has no effect, or one that takes another block's place. First, while the heap's pages are not there. */
static void hints(void)
{
    enum { POPULATE_WRITE = 23, COLLAPSE = 25 };
    int present, all, check = getenv("SHMEM_CHECK") && getenv("SHMEM_CHECK")[0] == '1';
    long kib = 0;
    char *plain_one = shmem_malloc(1 << 20);
    count_pages(plain_one, 1 << 20, &present, &all);
    CHECKF(present < all || has_remote_pes(), "%d of the %d pages of a block without hints exist", present, all); /* networks may pin */
    char *a = shmem_malloc_with_hints(8, SHMEM_MALLOC_SIGNAL_REMOTE), *next = shmem_malloc(8);
    CHECK(a && (uintptr_t)a % 128 == 0 && ((uintptr_t)next / 128 != (uintptr_t)a / 128 || check));
    char *b = shmem_malloc_with_hints(1 << 20, SHMEM_MALLOC_ATOMICS_REMOTE);
    CHECK(b && (uintptr_t)b % 128 == 0);
    count_pages(b, 1 << 20, &present, &all);
    CHECKF(present == all || !system_can(POPULATE_WRITE), "%d of %d pages exist", present, all);
    kib = huge_kib(b);
    char *c = shmem_malloc_with_hints(4 << 20, SHMEMX_MALLOC_HUGE_PAGES);
    CHECK(c && (uintptr_t)c % (2 << 20) == 0);
    CHECKF(huge_kib(c) == kib + 4096 || !system_can(COLLAPSE), "%ld KiB of huge pages, %ld before", huge_kib(c), kib);
    memset(c, 1, 4 << 20);
    shmem_barrier_all();
    CHECK(shmem_char_g(&c[(4 << 20) - 1], next_pe()) == 1);
    shmem_barrier_all();
    void *blocks[] = {plain_one, a, next, b, c};
    for (int i = 0; i < 5; i++)
        shmem_free(blocks[i]);
}

/* Catches: a heap that is full on one PE only; free neighbours that are not merged. */
static void full(void)
{
    static int count;
    static void *piece[64];
    for (int pass = 0; pass < 2; pass++) {
        size_t bytes = pass ? 3 << 20 : 1 << 20;
        for (count = 0; count < 64 && (piece[count] = shmem_malloc(bytes)); count++)
            ;
        CHECKF(count == (int)(HEAP / bytes), "%d blocks of %zu", count, bytes);
        shmem_barrier_all();
        CHECK(shmem_int_g(&count, next_pe()) == count);
        shmem_barrier_all();
        for (int i = 0; i < count; i++) /* odd ones first, so that later ones merge with both neighbours */
            shmem_free(piece[i * 2 + 1 < count ? i * 2 + 1 : (i - count / 2) * 2]);
    }
    void *all = shmem_malloc(HEAP);
    CHECK(all != NULL);
    shmem_free(all);
}

/* Map the preferred heap addresses on every other PE, so that the bases differ. */
static void spread_bases(void)
{
    static const uintptr_t preferred[] = {0x200000000000, 0x300000000000, 0x100000000000};
    const char *rank = getenv("PMIX_RANK");
    for (int i = 0; rank && atoi(rank) % 2 && i < 3; i++)
        mmap((void *)preferred[i], 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void)
{
    setenv("SHMEM_SYMMETRIC_SIZE", "64M", 1);
    spread_bases();
    shmem_init();
    tap_pes_begin();
    RUN(hints, "hints of shmem_malloc_with_hints");
    RUN(random_calls, "1500 collective calls, every block symmetric and whole");
    RUN(nothing, "size 0, free(NULL), bad alignment");
    RUN(too_much, "sizes above the free space: NULL on every PE, nothing lost");
    RUN(alignments, "every alignment: an aligned block or NULL, the same on every PE");
    RUN(full, "the heap filled, freed and filled again");
    shmem_finalize();
    return tap_end();
}
