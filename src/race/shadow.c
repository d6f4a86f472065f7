/*
 * shadow.c - see shadow.h and, for the rules, race.h.
 *
 * A table by pages finds the cells of an address: of this PE's segments and of peers' that shmem_ptr gave in the shared file, of private memory
 * in pages of this process, which exist only where a routine's buffer was. One thread alone orders its loads and stores of private
 * memory, so these are checked and not recorded there.
 */
#include "race/shadow.h"

#define SHMEM_NO_GENERICS
#include <pshmem.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "race/clock.h"
#include "race/node.h"
#include "race/place.h"
#include "race/report.h"

#define LOCK ((uint64_t)1 << RACE_LOCK_AT)
#define MASK_OF(BITS) ((BITS) >> RACE_MASK_AT & 255)
/* Everything but mask, place and lock. */
#define SAME (((uint64_t)1 << RACE_LOCK_AT) - ((uint64_t)1 << RACE_KIND_AT))

enum { PAGE_BITS = RACE_PAGE_BITS, PAGE = RACE_PAGE, MID_BITS = RACE_MID_BITS, ROOT_BITS = RACE_ROOT_BITS };

int race_alone = 1;
uint64_t **race_shadow_root[1 << ROOT_BITS];
static struct peer {
    uintptr_t lo[RACE_SEGMENTS];
} * peer; /* where this process sees their segments, 0: nowhere */

void race_shadow_up(void)
{
    peer = calloc((size_t)race_node.pes, sizeof *peer);
    for (int pe = 0; peer && pe < race_node.pes; pe++)
        for (int s = 0; s < RACE_SEGMENTS && pe != race_node.me; s++)
            peer[pe].lo[s] = (uintptr_t)pshmem_ptr((void *)race_node.lo[s], pe);
}

/* ---- the table ---------------------------------------------------------------------------------------------------- */

static void find(uintptr_t addr, struct race_where *w)
{
    w->pe = race_node.me;
    w->segment = race_node_find(addr, &w->offset);
    for (int pe = 0; w->segment < 0 && pe < race_node.pes; pe++)
        for (int s = 0; s < RACE_SEGMENTS; s++)
            if (peer[pe].lo[s] && addr - peer[pe].lo[s] < race_node.hi[s] - race_node.lo[s])
                w->pe = pe, w->segment = s, w->offset = addr - peer[pe].lo[s];
    if (w->segment < 0)
        w->offset = addr;
}

static void *fresh(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* The entry; private cells that are not there are made if `make` and there is memory. */
static uint64_t *page_slow(uintptr_t addr, int make)
{
    if (addr >> (PAGE_BITS + MID_BITS + ROOT_BITS))
        return RACE_NO_CELLS;
    uint64_t ***mid = &race_shadow_root[addr >> (PAGE_BITS + MID_BITS)], **have = __atomic_load_n(mid, __ATOMIC_ACQUIRE);
    if (!have) {
        uint64_t **new = fresh(sizeof *new << MID_BITS);
        if (!new)
            return RACE_NO_CELLS;
        if (__atomic_compare_exchange_n(mid, &have, new, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            have = new;
        else
            munmap(new, sizeof *new << MID_BITS);
    }
    uint64_t **entry = &have[addr >> PAGE_BITS & ((1 << MID_BITS) - 1)], *cells = __atomic_load_n(entry, __ATOMIC_ACQUIRE);
    if (cells > RACE_NO_CELLS)
        return cells;
    if (!cells) {
        struct race_where w;
        find(addr & ~(uintptr_t)(PAGE - 1), &w);
        cells = w.segment >= 0 ? (uint64_t *)race_node_cells(w.pe, w.segment, w.offset) : RACE_NO_CELLS;
        __atomic_store_n(entry, cells, __ATOMIC_RELEASE);
    }
    if (cells != RACE_NO_CELLS || !make)
        return cells;
    char *new = fresh((size_t)PAGE * RACE_SHADOW);
    if (!new)
        return cells;
    uint64_t *tagged = (uint64_t *)(new + RACE_PRIVATE);
    if (__atomic_compare_exchange_n(entry, &cells, tagged, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return tagged;
    munmap(new, (size_t)PAGE * RACE_SHADOW);
    return cells;
}

/* ---- two accesses ------------------------------------------------------------------------------------------------- */

static int fence_orders(unsigned kind)
{
    return kind == RACE_PUT || kind == RACE_AMO;
}

/* The PE whose memory this is; < 0: it is an address of this process. */
static int owner_of(int owner, uintptr_t addr)
{
    struct race_where w = {.pe = owner};
    if (owner < 0)
        find(addr, &w);
    return w.pe;
}

/* What is missing between the recorded access and the new one at this address of the owner? */
static enum race_missing missing(const struct race_access *a, uint64_t bits, uint64_t when, int owner, uintptr_t addr)
{
    const struct race_thread *u = a->u;
    unsigned actor = RACE_ACTOR_OF(bits), stream = RACE_STREAM_OF(bits), kind = RACE_KIND_OF(bits);
    if (actor != u->actor && *race_t(u->clock, actor) < (uint32_t)when)
        return RACE_NO_ORDER;
    uint32_t epoch = (uint32_t)(when >> 32);
    if (!stream-- || *race_q(u->clock, stream) >= epoch)
        return RACE_NOTHING;
    if (kind == RACE_SOURCE) { /* delivered anywhere: it was read */
        const uint32_t *d = race_d(u->clock, stream);
        for (unsigned pe = 0; pe < race_dim.pes; pe++)
            if (d[pe] >= epoch)
                return RACE_NOTHING;
        return race_clock_has(u->clock, stream, epoch) ? RACE_NOTHING : RACE_NO_COMPLETION;
    }
    if (fence_orders(kind)) {
        if (race_d(u->clock, stream)[owner_of(owner, addr)] >= epoch || race_clock_has(u->clock, stream, epoch))
            return RACE_NOTHING;
        unsigned later = RACE_KIND_OF(a->bits);
        if (RACE_STREAM_OF(a->bits) == stream + 1 && fence_orders(later) && *race_f(u->clock, stream) >= epoch)
            return RACE_NOTHING;
    }
    return RACE_NO_COMPLETION;
}

static int conflict(uint64_t a, uint64_t b)
{
    if (!(MASK_OF(a) & MASK_OF(b)) || !(race_kind_writes(RACE_KIND_OF(a)) || race_kind_writes(RACE_KIND_OF(b))))
        return 0;
    return !RACE_ATOMIC_OF(a) || RACE_ATOMIC_OF(a) != RACE_ATOMIC_OF(b);
}

/* After X, is O, which is ordered before it, no longer needed: does everything that races with O race with X? */
static int covers(uint64_t x, uint64_t o)
{
    return !(MASK_OF(o) & ~MASK_OF(x)) && (race_kind_writes(RACE_KIND_OF(x)) || !race_kind_writes(RACE_KIND_OF(o))) &&
           (!RACE_ATOMIC_OF(x) || RACE_ATOMIC_OF(x) == RACE_ATOMIC_OF(o));
}

static void lock(uint64_t *cell)
{
    while (__atomic_fetch_or(&cell[1], LOCK, __ATOMIC_ACQUIRE) & LOCK) /* A1 */
        ;
}

static void unlock(uint64_t *cell)
{
    __atomic_fetch_and(&cell[1], ~LOCK, __ATOMIC_RELEASE); /* R1 */
}

static void put_cell(uint64_t *cell, int i, uint64_t when, uint64_t bits)
{
    __atomic_store_n(&cell[2 * i], when, __ATOMIC_RELAXED);
    __atomic_store_n(&cell[2 * i + 1], bits | (i == 0 ? LOCK : 0), __ATOMIC_RELAXED);
}

/* addr is in the granule: of this process, or the symmetric address of `owner`. */
static void report(const struct race_access *a, uint64_t x, uint64_t old, enum race_missing what, int owner, uintptr_t addr)
{
    struct race_where w;
    find(addr, &w);
    w.pe = owner;
    uint64_t both = MASK_OF(x) & MASK_OF(old);
    w.offset = (w.offset & ~(uint64_t)(RACE_GRANULE - 1)) + (unsigned)__builtin_ctzll(both);
    w.bytes = (size_t)__builtin_popcountll(both);
    race_report(a, x, old, what, &w);
}

static void touch(const struct race_access *a, uint64_t *cell, uint64_t mask, int owner, uintptr_t addr)
{
    uint64_t x = a->bits | mask << RACE_MASK_AT;
    int again = RACE_STREAM_OF(x) && race_kind_writes(RACE_KIND_OF(x)) && !RACE_ATOMIC_OF(x); /* races with its like */
    for (int i = 0; i < RACE_CELLS && !again; i++) {
        uint64_t o = __atomic_load_n(&cell[2 * i + 1], __ATOMIC_RELAXED);
        if (!((o ^ x) & SAME) && !(mask & ~MASK_OF(o)) && __atomic_load_n(&cell[2 * i], __ATOMIC_RELAXED) == a->when)
            return;
    }
    x |= race_place_of(a->pc, a->routine);
    int slot = -1;
    enum race_missing what = RACE_NOTHING;
    uint64_t old = 0;
    lock(cell);
    for (int i = 0; i < RACE_CELLS; i++) {
        uint64_t o = cell[2 * i + 1] & ~LOCK;
        enum race_missing m = o ? missing(a, o, cell[2 * i], owner, addr) : RACE_NOTHING;
        if (m && conflict(o, x))
            what = m, old = o;
        else if (o && !m && covers(x, o))
            put_cell(cell, i, 0, 0), o = 0;
        if (!o && slot < 0)
            slot = i;
    }
    for (int i = 0; i < RACE_CELLS && slot < 0; i++) /* no room: an earlier one of this actor, or any */
        if (RACE_ACTOR_OF(cell[2 * i + 1]) == a->u->actor && !((cell[2 * i + 1] ^ x) & (uint64_t)15 << RACE_KIND_AT))
            slot = i;
    put_cell(cell, slot < 0 ? (int)(a->when % RACE_CELLS) : slot, a->when, x);
    unlock(cell);
    if (what)
        report(a, x, old, what, owner_of(owner, addr), addr);
}

/* Private memory of a PE with one thread: what is ordered is not needed again. */
static void look(const struct race_access *a, uint64_t *cell, uint64_t mask, int owner, uintptr_t addr)
{
    (void)owner;
    uint64_t x = a->bits | mask << RACE_MASK_AT;
    for (int i = 0; i < RACE_CELLS; i++) {
        uint64_t o = cell[2 * i + 1];
        enum race_missing m = o ? missing(a, o, cell[2 * i], race_node.me, addr) : RACE_NOTHING;
        if (o && !m)
            cell[2 * i] = cell[2 * i + 1] = 0;
        else if (m && conflict(o, x))
            report(a, x | race_place_of(a->pc, a->routine), o, m, race_node.me, addr);
    }
}

/* ---- ranges --------------------------------------------------------------------------------------------------------- */

static uint64_t mask_of(uintptr_t from, uintptr_t to)
{
    return (uint64_t)((1u << (to - from)) - 1) << (from % RACE_GRANULE);
}

static uintptr_t granule_end(uintptr_t addr, uintptr_t end)
{
    uintptr_t to = (addr | (RACE_GRANULE - 1)) + 1;
    return to < end ? to : end;
}

static inline uint64_t *page_of(uintptr_t addr, int make)
{
    uint64_t *page = race_shadow_page(addr);
    return page > RACE_NO_CELLS || (page && !make) ? page : page_slow(addr, make);
}

void race_shadow_here(const struct race_access *a, uintptr_t addr, size_t bytes)
{
    unsigned kind = RACE_KIND_OF(a->bits);
    int one = race_alone && (kind == RACE_LOAD || kind == RACE_STORE);
    for (uintptr_t end = addr + bytes, to; addr < end; addr = to) {
        uint64_t *page = page_of(addr, !one);
        if (page <= RACE_NO_CELLS) {
            to = (addr | (PAGE - 1)) + 1;
            continue;
        }
        to = granule_end(addr, end);
        int alone = one && (uintptr_t)page & RACE_PRIVATE;
        (alone ? look : touch)(a, race_shadow_cells(page, addr), mask_of(addr, to), -1, addr);
    }
}

void race_shadow_at(const struct race_access *a, int pe, uintptr_t addr, size_t bytes)
{
    uint64_t offset;
    int segment = race_node_find(addr, &offset);
    if (segment < 0 || bytes > race_node.hi[segment] - addr)
        return; /* pshmem_ reports it */
    for (uintptr_t end = addr + bytes, to; addr < end; offset += to - addr, addr = to) {
        to = granule_end(addr, end);
        touch(a, (uint64_t *)race_node_cells(pe, segment, offset), mask_of(addr, to), pe, addr);
    }
}

void race_shadow_complete(const struct race_thread *u, uintptr_t addr, size_t bytes)
{
    uint64_t *page = page_of(addr, 0);
    if (page <= RACE_NO_CELLS)
        return;
    uint64_t *cell = race_shadow_cells(page, addr), mask = mask_of(addr, granule_end(addr, addr + bytes));
    lock(cell);
    for (int i = 0; i < RACE_CELLS; i++) {
        uint64_t o = cell[2 * i + 1] & ~LOCK;
        if (MASK_OF(o) & mask && RACE_STREAM_OF(o) && *race_t(u->clock, RACE_ACTOR_OF(o)) >= (uint32_t)cell[2 * i])
            put_cell(cell, i, cell[2 * i], o & ~((uint64_t)4095 << RACE_STREAM_AT));
    }
    unlock(cell);
}

int race_shadow_put_by(uintptr_t addr, int pe)
{
    uint64_t *page = page_of(addr, 0);
    for (int i = 0; page > RACE_NO_CELLS && i < RACE_CELLS; i++) {
        uint64_t o = __atomic_load_n(&race_shadow_cells(page, addr)[2 * i + 1], __ATOMIC_RELAXED);
        if (RACE_KIND_OF(o) == RACE_PUT && race_pe_of(RACE_ACTOR_OF(o)) == (unsigned)pe)
            return 1;
    }
    return 0;
}

void race_shadow_forget(uintptr_t addr, size_t bytes)
{
    for (uintptr_t end = addr + bytes, to; addr < end; addr = to) {
        uint64_t *page = page_of(addr, 0);
        if (page <= RACE_NO_CELLS) {
            to = (addr | (PAGE - 1)) + 1;
            continue;
        }
        to = granule_end(addr, end);
        uint64_t *cell = race_shadow_cells(page, addr);
        lock(cell);
        for (int i = 0; i < RACE_CELLS; i++)
            put_cell(cell, i, 0, 0);
        unlock(cell);
    }
}
