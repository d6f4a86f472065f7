/*
 * page.c - see page.h. A table by pages finds the cells of an address that is not in the PE's own ranges: of private memory, in blocks of this
 * process, and of peers' memory that shmem_ptr gave.
 */
#include "race/page.h"

#define SHMEM_NO_GENERICS
#include <linux/membarrier.h>
#include <pshmem.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MID_BITS = RACE_MID_BITS, PRIVATE = RACE_PRIVATE, NO_CELLS = RACE_NO_CELLS };
enum { BLOCK = 2 * RACE_PAGE_CELLS + RACE_PAGE, BLOCKS = 64 };

uintptr_t *race_page_root[1 << RACE_ROOT_BITS];

int race_alone = 1;
uint32_t race_page_changes;
struct race_ranges race_ranges;
uint8_t race_filter[RACE_FILTER];
extern RACE_API uint8_t __fulmar_filter_18_16[RACE_FILTER] __attribute__((alias("race_filter"))); /* for link/as */
_Static_assert(RACE_BLOCK_BITS == 18 && RACE_FILTER == 1 << 16, "the name in link/as has the dimensions");
struct race_holder *race_own_holder;
static struct peer {
    uintptr_t lo[RACE_SEGMENTS]; /* where this process sees their segments, 0: nowhere */
    int visible;                 /* the filter has those of the program's start */
} * peer;

/* Memory at these addresses has cells, and so has an access that begins before it. */
static void unfilter(uintptr_t lo, uintptr_t end)
{
    lo -= lo < RACE_WIDEST ? lo : RACE_WIDEST - 1;
    for (uintptr_t block = lo >> RACE_BLOCK_BITS, n = 0; n < RACE_FILTER && block <= (end - 1) >> RACE_BLOCK_BITS; block++, n++)
        __atomic_store_n(&race_filter[block % RACE_FILTER], 1, __ATOMIC_RELAXED);
}

static void range(struct race_range *r, int segment)
{
    r->lo = race_node.lo[segment], r->bytes = race_node.bytes[segment];
    r->pairs = (uintptr_t)race_node.cells + race_node_page(race_node.me, segment, 0) * RACE_PAGE_CELLS - r->lo * (RACE_PAIR / RACE_GRANULE);
    unfilter(r->lo, r->lo + r->bytes);
}

/* Where this process sees the PE's segment, 0: nowhere. Its first pages may be none that PEs share: those of the program that are read only. */
static uintptr_t seen_at(int segment, int pe)
{
    for (uintptr_t at = race_node.lo[segment]; at - race_node.lo[segment] < race_node.bytes[segment]; at += RACE_PAGE) {
        uintptr_t there = (uintptr_t)pshmem_ptr((void *)at, pe);
        if (there || segment != RACE_STATICS)
            return there ? there - (at - race_node.lo[segment]) : 0;
    }
    return 0;
}

void race_page_up(void)
{
    peer = calloc((size_t)race_node.pes, sizeof *peer);
    for (int pe = 0; peer && pe < race_node.pes; pe++)
        for (int s = 0; s < RACE_DEVICE && pe != race_node.me; s++)
            peer[pe].lo[s] = seen_at(s, pe);
    range(&race_ranges.heap, RACE_HEAP);
    range(&race_ranges.statics, RACE_STATICS);
    if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED, 0, 0) != 0)
        __atomic_store_n(&race_node.shared->unbiased, 1, __ATOMIC_RELAXED);
    pshmem_barrier_all();
    if (!__atomic_load_n(&race_node.shared->unbiased, __ATOMIC_RELAXED))
        race_own_holder = (struct race_holder *)race_node.holders + race_node.me;
}

/* What the table says of these addresses is not true any more. */
static void unlearn(uintptr_t lo, uintptr_t bytes)
{
    for (uintptr_t at = lo; at < lo + bytes; at += RACE_PAGE) {
        uintptr_t *mid = at >> (RACE_PAGE_BITS + MID_BITS + RACE_ROOT_BITS) ? NULL : race_page_root[at >> (RACE_PAGE_BITS + MID_BITS)];
        if (mid)
            __atomic_store_n(&mid[at >> RACE_PAGE_BITS & ((1 << MID_BITS) - 1)], 0, __ATOMIC_RELEASE);
        else
            at |= ((uintptr_t)1 << (RACE_PAGE_BITS + MID_BITS)) - RACE_PAGE;
    }
}

/* The PE's segment is at lo in this process. */
static void segment_at(int pe, int segment, uintptr_t lo)
{
    if (peer && pe != race_node.me)
        peer[pe].lo[segment] = lo;
    if (!lo)
        return;
    unlearn(lo, race_node.bytes[segment]);
    unfilter(lo, lo + race_node.bytes[segment]);
    race_page_changes++;
}

void race_page_segment_up(int segment)
{
    for (int pe = 0; pe < race_node.pes; pe++)
        segment_at(pe, segment, pe == race_node.me ? race_node.lo[segment] : seen_at(segment, pe));
}

void race_page_segment_down(int segment)
{
    for (int pe = 0; peer && pe < race_node.pes; pe++) {
        uintptr_t lo = pe == race_node.me ? race_node.lo[segment] : peer[pe].lo[segment];
        peer[pe].lo[segment] = 0;
        if (lo)
            unlearn(lo, race_node.bytes[segment]);
    }
    race_page_changes++;
}

void race_page_peer(int pe, uintptr_t object, uintptr_t at)
{
    uint64_t offset;
    int segment = race_node_find(object, &offset);
    if (segment >= RACE_DEVICE && peer && pe >= 0 && pe < race_node.pes && pe != race_node.me && peer[pe].lo[segment] != at - offset)
        segment_at(pe, segment, at - offset);
}

void race_page_visible(int pe)
{
    if (!peer || pe < 0 || pe >= race_node.pes || peer[pe].visible || !race_alone)
        return;
    for (int s = 0; s < race_node.segments; s++)
        if (peer[pe].lo[s])
            unfilter(peer[pe].lo[s], peer[pe].lo[s] + race_node.bytes[s]);
    peer[pe].visible = 1;
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

void race_page_find(uintptr_t addr, struct race_where *w)
{
    w->pe = race_node.me;
    w->segment = race_node_find(addr, &w->offset);
    for (int pe = 0; peer && w->segment < 0 && pe < race_node.pes; pe++)
        for (int s = 0; s < race_node.segments; s++)
            if (peer[pe].lo[s] && addr - peer[pe].lo[s] < race_node.bytes[s])
                w->pe = pe, w->segment = s, w->offset = addr - peer[pe].lo[s];
    if (w->segment < 0)
        w->offset = addr;
}

static void *fresh(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

static uintptr_t new_block(void)
{
    static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
    static char *block;
    static int left;
    pthread_mutex_lock(&changing);
    if (!left && (block = fresh((size_t)BLOCK * BLOCKS)))
        left = BLOCKS;
    char *got = left ? block : NULL;
    if (left)
        block += BLOCK, left--;
    pthread_mutex_unlock(&changing);
    return (uintptr_t)got;
}

static uintptr_t *mid_of(uintptr_t addr)
{
    uintptr_t **mid = &race_page_root[addr >> (RACE_PAGE_BITS + MID_BITS)], *have = __atomic_load_n(mid, __ATOMIC_ACQUIRE);
    if (have)
        return have;
    uintptr_t *new = fresh(sizeof *new << MID_BITS);
    if (!new)
        return NULL;
    if (__atomic_compare_exchange_n(mid, &have, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return new;
    munmap(new, sizeof *new << MID_BITS);
    return have;
}

/* The entry. One that two threads make at a time wastes a block. */
static uintptr_t entry_of(uintptr_t addr, int make)
{
    uintptr_t entry = race_page_entry(addr);
    if (entry > NO_CELLS || (entry && !make) || addr >> (RACE_PAGE_BITS + MID_BITS + RACE_ROOT_BITS))
        return entry;
    uintptr_t *mid = mid_of(addr);
    if (!mid)
        return NO_CELLS;
    uintptr_t *at = &mid[addr >> RACE_PAGE_BITS & ((1 << MID_BITS) - 1)];
    if (!entry) {
        struct race_where w;
        race_page_find(addr & ~(uintptr_t)(RACE_PAGE - 1), &w);
        uintptr_t first = w.segment >= 0 ? (uintptr_t)race_node.cells + race_node_page(w.pe, w.segment, w.offset) * RACE_PAGE_CELLS : NO_CELLS;
        if (__atomic_compare_exchange_n(at, &entry, first, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) /* another thread may have made cells */
            entry = first;
    }
    if (entry != NO_CELLS || !make)
        return entry;
    uintptr_t new = new_block();
    if (new && __atomic_compare_exchange_n(at, &entry, new + PRIVATE, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
        entry = new + PRIVATE;
        unfilter(addr & ~(uintptr_t)(RACE_PAGE - 1), (addr | (RACE_PAGE - 1)) + 1);
    }
    return entry;
}

static void page_of(size_t number, int owner, struct race_page *p)
{
    p->cells = (uint64_t *)(race_node.cells + number * RACE_PAGE_CELLS);
    p->second = race_node.second / sizeof *p->cells;
    p->state = (struct race_state *)(race_node.pages + number * RACE_LINE);
    p->owner = owner;
    p->is_private = 0;
}

void race_page_at(int pe, int segment, uint64_t offset, struct race_page *p)
{
    page_of(race_node_page(pe, segment, offset), pe, p);
}

int race_page_here(uintptr_t addr, int make, struct race_page *p)
{
    uint64_t offset;
    int segment = race_node_find(addr, &offset);
    if (segment >= 0) {
        race_page_at(race_node.me, segment, offset, p);
        return 1;
    }
    uintptr_t entry = entry_of(addr, make);
    if (entry <= NO_CELLS)
        return 0;
    if (!(entry & PRIVATE)) {
        size_t number = (entry - (uintptr_t)race_node.cells) / RACE_PAGE_CELLS;
        page_of(number, (int)(number / race_node.pe_pages), p);
        return 1;
    }
    char *block = (char *)(entry - PRIVATE);
    *p = (struct race_page){.cells = (uint64_t *)block,
                            .second = RACE_PAGE_CELLS / sizeof(uint64_t),
                            .state = (struct race_state *)(block + (size_t)2 * RACE_PAGE_CELLS),
                            .owner = race_node.me,
                            .is_private = 1};
    return 1;
}

int race_page_symmetric(uintptr_t addr)
{
    uint64_t offset;
    uintptr_t entry = race_node_find(addr, &offset) >= 0 ? 0 : entry_of(addr, 0);
    return entry == 0 || (entry > NO_CELLS && !(entry & PRIVATE));
}

/* ---- holding ---------------------------------------------------------------------------------------------------------- */

static void nap(int *tries)
{
    enum { SPINS = 200 };
    if (++*tries > SPINS)
        sched_yield();
}

/* The owner holds no page without its lock, unless it begins to after what was stored before this. */
static void wait_for_owner(int pe)
{
    struct race_holder *h = (struct race_holder *)race_node.holders + pe;
    syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0); /* M */
    for (int tries = 0; __atomic_load_n(&h->in, __ATOMIC_ACQUIRE);) /* A2 */
        nap(&tries);
}

void race_page_crowd(void)
{
    static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER; /* a thread that comes later waits for the end of it */
    pthread_mutex_lock(&changing);
    if (race_alone) {
        unfilter(0, UINTPTR_MAX);
        __atomic_store_n(&race_alone, 0, __ATOMIC_RELAXED);
        if (race_own_holder)
            wait_for_owner(race_node.me);
    }
    pthread_mutex_unlock(&changing);
}

enum race_hold race_page_hold(struct race_thread *u, const struct race_page *p)
{
    struct race_state *s = p->state;
    int tries = 0;
    if (u->busy)
        return RACE_NOT_HELD;
    if (p->owner == race_node.me && race_alone) {
        if (race_page_enter(s))
            return RACE_OWN;
        if (race_own_holder && __atomic_load_n(&race_own_holder->in, __ATOMIC_RELAXED))
            return RACE_NOT_HELD;
    }
    u->busy = 1;
    while (__atomic_exchange_n(&s->lock, 1, __ATOMIC_ACQUIRE)) /* A1 */
        nap(&tries);
    if (p->owner != race_node.me && race_own_holder && !s->shared) {
        __atomic_store_n(&s->shared, 1, __ATOMIC_RELAXED);
        wait_for_owner(p->owner);
    }
    return RACE_LOCKED;
}
