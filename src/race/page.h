/*
 * page.h - the cells of a page of memory, and their holder: the actor that may read and write them.
 *
 * A granule has two pairs of cells: the first one has loads and stores of the memory's own PE, and others while there is room; the second one is
 * used from the first access on that has no room there (`wide`).
 *
 * A page has a lock. The owner is the only thread of the page's PE (race_alone); until another PE accesses the page, the owner holds it without
 * the lock, by plain stores. The first other PE takes the lock, sets `shared`, has all processors execute a barrier (membarrier of Linux, which takes the
 * place of a fence in each of the owner's accesses), and waits until the owner is not `in`. From then on the owner takes the lock too. The thread that ends
 * race_alone does the same for all pages of its PE.
 *
 *   word               written by                     read by              order
 *   lock               all, exchange                  all                  R1 (release) -> A1 (lock)
 *   shared             the lock's holder, once        owner                M (membarrier): the owner's store of `in` and load of
 *   in, of each PE     owner                          the lock's holder,   `shared` are ordered by it as by a fence
 *                                                     the thread that ends race_alone
 *                                                                          R2 (in = 0, release) -> A2 (acquire)
 *   race_alone         the thread that ends it, once  owner                M, R2 -> A2
 *   cells, wide        the page's holder              all                  R1 -> A1, R2 -> A2
 *   race_filter        the only thread, 0 to 1        the PE's threads     relaxed: an access may be missed
 *
 * E1  Two threads do not hold a page at the same time.
 * E2  What a holder has stored is visible to the next one.
 * Checked by test/model/page.pml, which must fail without any of M, A1, A2, R2.
 */
#ifndef RACE_PAGE_H
#define RACE_PAGE_H

#include "race/node.h"

struct race_state {
    uint32_t lock, shared, wide, unused[13];
};

struct race_holder {
    uint32_t in, unused[15];
};

struct race_page {
    uint64_t *cells; /* first pair of its first granule */
    size_t second;   /* words from there to its second pair */
    struct race_state *state;
    int owner;      /* PE */
    int is_private; /* of this process */
};

extern RACE_HIDDEN int race_alone; /* this PE has had one thread until now */

/* Own ranges, to find cells without the table. */
struct race_range {
    uintptr_t lo, bytes;
    uintptr_t pairs; /* where the pair of address 0 would be */
};
extern RACE_HIDDEN struct race_ranges {
    struct race_range heap, statics;
} race_ranges;

/* Most loads and stores of a PE with one thread are of memory without cells: private memory that is no buffer of a nonblocking call. The filter
 * has a byte for each block of addresses, by the low bits of the block's number. 0: no access that begins in the blocks with this byte touches
 * memory with cells. The only thread sets bytes before the memory has cells, and all of them before there is a second thread; none is cleared. */
enum { RACE_BLOCK_BITS = 18, RACE_FILTER = 1 << 16, RACE_WIDEST = 16 /* bytes of a load or store */ };
extern RACE_HIDDEN uint8_t race_filter[RACE_FILTER];

static inline int race_filtered(uintptr_t addr)
{
    return !__atomic_load_n(&race_filter[(addr >> RACE_BLOCK_BITS) % RACE_FILTER], __ATOMIC_RELAXED);
}

static inline int race_filtered_range(uintptr_t addr, size_t bytes)
{
    for (uintptr_t block = addr >> RACE_BLOCK_BITS; block <= (addr + bytes) >> RACE_BLOCK_BITS; block++)
        if (!race_filtered(block << RACE_BLOCK_BITS))
            return 0;
    return 1;
}

void race_page_up(void);
/* The segment of the device heap or of added memory has come up, or goes. A kernel accesses the object of it at this address of the PE. */
void race_page_segment_up(int segment);
void race_page_segment_down(int segment);
void race_page_peer(int pe, uintptr_t object, uintptr_t at);
extern RACE_HIDDEN uint32_t race_page_changes; /* by these */
/* The program may access the PE's memory by addresses of this process. */
void race_page_visible(int pe);
/* The PE has more than one thread from now on. */
void race_page_crowd(void);

/* The page of an address of this process. 0: it has no cells; private ones that are not there are made if `make`. */
int race_page_here(uintptr_t addr, int make, struct race_page *p);
void race_page_at(int pe, int segment, uint64_t offset, struct race_page *p);
void race_page_find(uintptr_t addr, struct race_where *w);
/* Is the address this PE's or a peer's symmetric memory? */
int race_page_symmetric(uintptr_t addr);

enum race_hold { RACE_NOT_HELD /* by a handler of a signal, of a thread that holds one */, RACE_OWN, RACE_LOCKED };
enum race_hold race_page_hold(struct race_thread *u, const struct race_page *p);

/* ---- the table -------------------------------------------------------------------------------------------------------- */

/* An entry: the page's cells; + RACE_PRIVATE for private memory; RACE_NO_CELLS where that has none yet, 0 before anybody asked. */
enum { RACE_MID_BITS = 20, RACE_ROOT_BITS = 15, RACE_PRIVATE = 1, RACE_NO_CELLS = 2 };
extern RACE_HIDDEN uintptr_t *race_page_root[1 << RACE_ROOT_BITS];

static inline uintptr_t race_page_entry(uintptr_t addr)
{
    if (race_unlikely(addr >> (RACE_PAGE_BITS + RACE_MID_BITS + RACE_ROOT_BITS)))
        return RACE_NO_CELLS;
    uintptr_t *mid = __atomic_load_n(&race_page_root[addr >> (RACE_PAGE_BITS + RACE_MID_BITS)], __ATOMIC_ACQUIRE);
    return mid ? __atomic_load_n(&mid[addr >> RACE_PAGE_BITS & ((1 << RACE_MID_BITS) - 1)], __ATOMIC_ACQUIRE) : 0;
}

/* ---- the owner's shortest way ------------------------------------------------------------------------------------------- */

extern RACE_HIDDEN struct race_holder *race_own_holder; /* NULL: there is no membarrier */

/* 1: the owner holds the page of its own memory; 0: it does not, or does already, in code that a handler of a signal has interrupted. */
static inline int race_page_enter(const struct race_state *state)
{
    struct race_holder *h = race_own_holder;
    if (!h || __atomic_load_n(&h->in, __ATOMIC_RELAXED))
        return 0;
    __atomic_store_n(&h->in, 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* M */
    if (race_unlikely(__atomic_load_n(&state->shared, __ATOMIC_RELAXED) || !__atomic_load_n(&race_alone, __ATOMIC_RELAXED))) {
        __atomic_store_n(&h->in, 0, __ATOMIC_RELEASE);
        return 0;
    }
    return 1;
}

static inline void race_page_leave(void)
{
    __atomic_store_n(&race_own_holder->in, 0, __ATOMIC_RELEASE); /* R2 */
}

/* The same, or the lock if it is free. */
static inline enum race_hold race_page_try(struct race_thread *u, struct race_state *state)
{
    if (race_page_enter(state))
        return RACE_OWN;
    if (u->busy || (race_own_holder && __atomic_load_n(&race_own_holder->in, __ATOMIC_RELAXED) && race_alone))
        return RACE_NOT_HELD;
    u->busy = 1;
    if (!__atomic_exchange_n(&state->lock, 1, __ATOMIC_ACQUIRE)) /* A1 */
        return RACE_LOCKED;
    u->busy = 0;
    return RACE_NOT_HELD;
}

static inline void race_page_done(struct race_thread *u, struct race_state *state, enum race_hold how)
{
    if (how == RACE_OWN) {
        race_page_leave();
    } else if (how == RACE_LOCKED) {
        __atomic_store_n(&state->lock, 0, __ATOMIC_RELEASE); /* R1 */
        u->busy = 0;
    }
}

#endif
