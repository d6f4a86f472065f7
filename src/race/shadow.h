/*
 * shadow.h - the cells: check an access against those that were recorded, and record it.
 */
#ifndef RACE_SHADOW_H
#define RACE_SHADOW_H

#include "race/cell.h"

/* The access at an address of this process: its own memory, or what shmem_ptr gave of a peer's. */
void race_shadow_here(const struct race_access *a, uintptr_t addr, size_t bytes);
/* The access at symmetric memory of another PE; addr is the symmetric address in this process. */
void race_shadow_at(const struct race_access *a, int pe, uintptr_t addr, size_t bytes);
/* The operations whose effect on this word of its own PE the thread has seen are complete. */
void race_shadow_complete(const struct race_thread *u, uintptr_t addr, size_t bytes);
/* Is one of the cells of this word a put of the PE? */
int race_shadow_put_by(uintptr_t addr, int pe);
/* Private memory that is given back. */
void race_shadow_forget(uintptr_t addr, size_t bytes);

/* Up: addresses at which this process sees the peers' segments. */
void race_shadow_up(void);
extern RACE_HIDDEN int race_alone; /* this PE has had one thread until now */

/* ---- the table, and the shortest way of a load or store ------------------------------------------------------------- */

enum { RACE_PAGE_BITS = 12, RACE_PAGE = 1 << RACE_PAGE_BITS, RACE_MID_BITS = 20, RACE_ROOT_BITS = 15 };

/* An entry: the page's cells; + PRIVATE for private memory; NO_CELLS where that has none yet, 0 before anybody asked. */
extern RACE_HIDDEN uint64_t **race_shadow_root[1 << RACE_ROOT_BITS];
enum { RACE_PRIVATE = 1 };
#define RACE_NO_CELLS ((uint64_t *)2)

static inline uint64_t *race_shadow_page(uintptr_t addr)
{
    if (race_unlikely(addr >> (RACE_PAGE_BITS + RACE_MID_BITS + RACE_ROOT_BITS)))
        return NULL;
    uint64_t **mid = __atomic_load_n(&race_shadow_root[addr >> (RACE_PAGE_BITS + RACE_MID_BITS)], __ATOMIC_ACQUIRE);
    return mid ? __atomic_load_n(&mid[addr >> RACE_PAGE_BITS & ((1 << RACE_MID_BITS) - 1)], __ATOMIC_ACQUIRE) : NULL;
}

static inline uint64_t *race_shadow_cells(const uint64_t *page, uintptr_t addr)
{
    return (uint64_t *)((uintptr_t)page & ~(uintptr_t)RACE_PRIVATE) + addr % RACE_PAGE / RACE_GRANULE * RACE_CELLS * 2;
}

/* Is there nothing to do for this load or store of a granule: a cell says that this actor has made it in this epoch, or stored there,
 * or the memory is private, of a PE with one thread, and no routine's buffer? */
__attribute__((always_inline)) static inline int race_shadow_known(const struct race_thread *u, enum race_kind kind,
                                                                   uintptr_t addr, size_t bytes)
{
    const uint64_t *page = race_shadow_page(addr);
    if (page <= RACE_NO_CELLS)
        return page && race_alone;
    const uint64_t *cell = race_shadow_cells(page, addr);
    if ((uintptr_t)page & RACE_PRIVATE && race_alone)
        return !(cell[1] | cell[3] | cell[5] | cell[7]);
    uint64_t mask = (uint64_t)((1u << bytes) - 1) << (addr % RACE_GRANULE);
    uint64_t want = (uint64_t)u->actor << RACE_ACTOR_AT | mask << RACE_MASK_AT;
    uint64_t fields = (((uint64_t)1 << RACE_LOCK_AT) - ((uint64_t)1 << RACE_ACTOR_AT)) | mask << RACE_MASK_AT;
    for (int i = 0; i < RACE_CELLS; i++) {
        uint64_t o = __atomic_load_n(&cell[2 * i + 1], __ATOMIC_RELAXED);
        if (((o ^ want) & fields) == 0 && __atomic_load_n(&cell[2 * i], __ATOMIC_RELAXED) == u->epoch &&
            (RACE_KIND_OF(o) == kind || RACE_KIND_OF(o) == RACE_STORE))
            return 1;
    }
    return 0;
}

#endif
