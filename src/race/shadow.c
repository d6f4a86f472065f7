/*
 * shadow.c - see shadow.h and, for the rules, race.h.
 *
 * One thread alone orders its loads and stores of private memory, so these are checked and not recorded there.
 */
#include "race/shadow.h"

#include <string.h>

#include "race/clock.h"
#include "race/page.h"
#include "race/record.h"
#include "race/report.h"

/* An access that is under way. */
struct check {
    const struct race_access *a;
    uint64_t cell; /* without a mask */
    int owner;     /* PE whose memory it is */
    int asked;     /* it is not recorded */
};

/* ---- two accesses ------------------------------------------------------------------------------------------------- */

static int fence_orders(unsigned kind)
{
    return kind == RACE_PUT || kind == RACE_AMO;
}

/* Complete after a flush: what fetches, and local buffers. */
static int flush_completes(unsigned kind)
{
    const unsigned those = 1u << RACE_SOURCE | 1u << RACE_DEST | 1u << RACE_GET_NBI | 1u << RACE_AMO_NBI | 1u << RACE_AMO_NBI_READ;
    return those >> kind & 1;
}

/* Is this work-item after what its own actor did in this epoch? */
static int is_after(const struct race_thread *u, uint32_t epoch)
{
    if (epoch < u->born)
        return epoch <= u->before;
    uint32_t item = race_record_item(u->actor, epoch);
    return !item || item == u->item || epoch <= u->after;
}

/* What is missing between the recorded access and the new one at this address of the owner? */
static enum race_missing missing(const struct race_access *a, uint64_t bits, uint64_t when, int owner)
{
    const struct race_thread *u = a->u;
    unsigned actor = RACE_ACTOR_OF(bits), stream = RACE_STREAM_OF(bits), kind = RACE_KIND_OF(bits);
    if (actor == u->actor ? u->item && !is_after(u, (uint32_t)when) : *race_t(u->clock, actor) < (uint32_t)when)
        return RACE_NO_ORDER;
    uint32_t epoch = (uint32_t)(when >> 32);
    if (!stream-- || *race_q(u->clock, stream) >= epoch)
        return RACE_NOTHING;
    if (flush_completes(kind) && *race_l(u->clock, stream) >= epoch)
        return RACE_NOTHING;
    if (kind == RACE_SOURCE) { /* delivered anywhere: it was read */
        const uint32_t *d = race_d(u->clock, stream);
        for (unsigned pe = 0; pe < race_dim.pes; pe++)
            if (d[pe] >= epoch)
                return RACE_NOTHING;
        return race_clock_has(u->clock, stream, epoch) ? RACE_NOTHING : RACE_NO_COMPLETION;
    }
    if (fence_orders(kind)) {
        if (race_d(u->clock, stream)[owner] >= epoch || race_clock_has(u->clock, stream, epoch))
            return RACE_NOTHING;
        unsigned later = RACE_KIND_OF(a->bits);
        if (RACE_STREAM_OF(a->bits) == stream + 1 && fence_orders(later) &&
            race_clock_fenced(u->clock, stream, (unsigned)owner) >= epoch)
            return RACE_NOTHING;
    }
    return RACE_NO_COMPLETION;
}

int race_shadow_known(struct race_thread *u, uint64_t cell)
{
    const struct race_access load = {.u = u, .bits = (uint64_t)RACE_LOAD << RACE_KIND_AT | (uint64_t)u->actor << RACE_ACTOR_AT};
    uint64_t bits, when;
    if (race_cell_read(cell, &bits, &when) && missing(&load, bits, when, race_node.me))
        return 0;
    *race_near_cell(u, cell) = cell;
    return 1;
}

static int conflict(uint64_t a, uint64_t b)
{
    if (!(RACE_MASK_OF(a) & RACE_MASK_OF(b)) || !(race_kind_writes(RACE_KIND_OF(a)) || race_kind_writes(RACE_KIND_OF(b))))
        return 0;
    return !RACE_ATOMIC_OF(a) || RACE_ATOMIC_OF(a) != RACE_ATOMIC_OF(b);
}

/* After X, is O, which is ordered before it, no longer needed for X's bytes: does everything that races with O there race with X? */
static int covers(uint64_t x, uint64_t o)
{
    return (race_kind_writes(RACE_KIND_OF(x)) || !race_kind_writes(RACE_KIND_OF(o))) &&
           (!RACE_ATOMIC_OF(x) || RACE_ATOMIC_OF(x) == RACE_ATOMIC_OF(o));
}

/* Were both issued by the thread as the same kind, without a fence or quiet of their context between them? Then what is ordered after the later one
 * is after the earlier one, too, although the two are not ordered. */
static int same_issue(const struct race_access *a, uint64_t o, uint64_t when)
{
    return RACE_STREAM_OF(o) && a->bits >> RACE_KIND_AT == o >> RACE_KIND_AT && a->when >> 32 == when >> 32 && !a->u->item;
}

static uint64_t bits_of(const struct check *c, uint64_t mask)
{
    return c->a->bits | mask << RACE_MASK_AT | race_record_place(c->a);
}

/* addr is in the granule: of this process, or the symmetric address of the owner. */
static void report(const struct check *c, uint64_t x, const uint64_t *old, enum race_missing what, uintptr_t addr)
{
    struct race_where w;
    race_page_find(addr, &w);
    w.pe = c->owner;
    uint64_t both = RACE_MASK_OF(x) & RACE_MASK_OF(old[0]);
    w.offset = (w.offset & ~(uint64_t)(RACE_GRANULE - 1)) + (unsigned)__builtin_ctzll(both);
    w.bytes = (size_t)__builtin_popcountll(both);
    race_report(c->a, x, old[0], old[1], what, &w);
}

/* ---- a granule ------------------------------------------------------------------------------------------------------ */

/* The first cell is of what writes, the second one of what reads, while they are free; loads and stores take them in any case: the shortest way
 * looks there. */
static int first_choice(unsigned kind)
{
    return !race_kind_writes(kind);
}

static int free_cell(const uint64_t *cell, int first)
{
    if (!cell[first])
        return first;
    for (int i = 0; i < RACE_CELLS; i++)
        if (!cell[i])
            return i;
    return -1;
}

/* Which cell is forgotten for this access where none is free: what is ordered before it, since most of that is ordered before later accesses of
 * others, too: of other actors, of which it has learned by then; then its own, the earliest one. Then one of its kind. */
static int least(const struct check *c, const uint64_t *cell, unsigned ordered)
{
    unsigned me = c->a->u->actor, kind = RACE_KIND_OF(c->a->bits);
    int slot = 0;
    uint64_t best = 0;
    for (int i = 0; i < RACE_CELLS; i++) {
        unsigned actor = race_moment_actor(cell[i]);
        uint64_t worth = ordered >> i & 1 ? actor == me ? (uint64_t)1 + race_moment_epoch(cell[i]) : 0
                                          : ((uint64_t)1 << 40) + (actor != me) + (RACE_CELL_KIND_OF(cell[i]) != kind);
        if (i == 0 || worth < best)
            slot = i, best = worth;
    }
    return slot;
}

/* The cells after this access of the bytes of the mask; `old` is one that races with it, of its words, the epochs second, if there is one. */
static enum race_missing settle(const struct check *c, uint64_t mask, uint64_t *cell, uint64_t *old)
{
    const struct race_access *a = c->a;
    uint64_t x = c->cell | mask << RACE_CELL_MASK_AT, bits = a->bits | mask << RACE_MASK_AT;
    enum race_missing what = RACE_NOTHING;
    unsigned ordered = 0;
    for (int i = 0; i < RACE_CELLS; i++) {
        uint64_t o, when;
        if (!cell[i])
            continue;
        if (!race_cell_read(cell[i], &o, &when)) {
            cell[i] = 0;
            continue;
        }
        enum race_missing m = missing(a, o, when, c->owner);
        ordered |= (unsigned)!m << i;
        if (m && conflict(o, bits))
            what = m, old[0] = o, old[1] = when;
        if (!c->cell)
            continue;
        if (!((cell[i] ^ x) & ~RACE_CELL_MASK))
            x |= cell[i], cell[i] = 0;
        else if ((!m || same_issue(a, o, when)) && covers(bits, o) && !((cell[i] &= ~(mask << RACE_CELL_MASK_AT)) & RACE_CELL_MASK))
            cell[i] = 0;
    }
    if (!c->cell)
        return what;
    unsigned kind = RACE_KIND_OF(a->bits);
    int first = first_choice(kind), slot = free_cell(cell, first);
    if (slot < 0)
        slot = least(c, cell, ordered);
    if ((kind == RACE_LOAD || kind == RACE_STORE) && slot != first)
        cell[slot] = cell[first], slot = first;
    cell[slot] = x;
    return what;
}

/* Private memory of a PE with one thread: what is ordered is not needed again. */
static enum race_missing look(const struct check *c, uint64_t mask, uint64_t *cell, uint64_t *old)
{
    const struct race_access *a = c->a;
    uint64_t bits = a->bits | mask << RACE_MASK_AT;
    enum race_missing what = RACE_NOTHING;
    for (int i = 0; i < RACE_CELLS; i++) {
        uint64_t o, when;
        if (!cell[i])
            continue;
        enum race_missing m = race_cell_read(cell[i], &o, &when) ? missing(a, o, when, c->owner) : RACE_NOTHING;
        if (!m)
            cell[i] = 0;
        else if (conflict(o, bits))
            what = m, old[0] = o, old[1] = when;
    }
    return what;
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

static uintptr_t page_end(uintptr_t addr, uintptr_t end)
{
    uintptr_t to = (addr | (RACE_PAGE - 1)) + 1;
    return to < end ? to : end;
}

static uint64_t *first_pair(const struct race_page *p, uint64_t offset)
{
    return p->cells + offset % RACE_PAGE / RACE_GRANULE * 2;
}

static void store_cell(uint64_t *at, uint64_t value)
{
    __atomic_store_n(at, value, __ATOMIC_RELAXED);
}

/* The holder's cells of a granule, those of a second pair that nobody has used as free ones. */
static void read_cells(const struct race_page *p, const uint64_t *pair, int wide, uint64_t *cell)
{
    memcpy(cell, pair, RACE_PAIR);
    if (wide)
        memcpy(cell + 2, pair + p->second, RACE_PAIR);
    else
        cell[2] = cell[3] = 0;
}

static void write_cells(const struct race_page *p, uint64_t *pair, const uint64_t *cell, const uint64_t *was)
{
    for (int i = 0; i < 2; i++)
        if (cell[i] != was[i])
            store_cell(pair + i, cell[i]);
    for (int i = 2; i < RACE_CELLS; i++)
        if (cell[i] != was[i]) {
            __atomic_store_n(&p->state->wide, 1, __ATOMIC_RELAXED);
            store_cell(pair + p->second + i - 2, cell[i]);
        }
}

/* Is it recorded, with all bytes, by a cell that does not race with its like? */
static int recorded(const struct check *c, const struct race_page *p, uint64_t *pair, uint64_t mask)
{
    uint64_t x = c->cell | mask << RACE_CELL_MASK_AT;
    uint64_t fields = RACE_CELL_WHO_AND_KIND | mask << RACE_CELL_MASK_AT | (RACE_STREAM_OF(c->a->bits) ? RACE_CELL_REFERENCE : 0);
    for (int i = 0; i < RACE_CELLS; i++) {
        if (i == 2 && !__atomic_load_n(&p->state->wide, __ATOMIC_RELAXED))
            return 0;
        uint64_t o = __atomic_load_n(&pair[i < 2 ? (size_t)i : p->second + (size_t)i - 2], __ATOMIC_RELAXED);
        if (!((o ^ x) & fields))
            return 1;
    }
    return 0;
}

/* The part of an access in one page, at an offset of its memory. Granules that have the cells of the one before have its result. */
static void in_page(const struct check *c, const struct race_page *p, uint64_t offset, uintptr_t addr, uintptr_t end)
{
    enum race_missing what, reported = RACE_NOTHING;
    uint64_t before[RACE_CELLS], after[RACE_CELLS], old[2], found[2] = {0}, found_mask = 0;
    uintptr_t found_at = 0;
    int known = 0, again = RACE_STREAM_OF(c->a->bits) && race_kind_writes(RACE_KIND_OF(c->a->bits)) && !RACE_ATOMIC_OF(c->a->bits);
    if (!again && !c->asked && granule_end(addr, end) == end && recorded(c, p, first_pair(p, offset), mask_of(addr, end)))
        return;
    enum race_hold how = race_page_hold(c->a->u, p);
    if (how == RACE_NOT_HELD)
        return;
    unsigned kind = RACE_KIND_OF(c->a->bits);
    int alone = p->is_private && race_alone && (kind == RACE_LOAD || kind == RACE_STORE);
    for (uintptr_t to; addr < end; offset += to - addr, addr = to) {
        to = granule_end(addr, end);
        uint64_t *pair = first_pair(p, offset), cell[RACE_CELLS], was[RACE_CELLS], mask = mask_of(addr, to);
        read_cells(p, pair, (int)p->state->wide, was);
        if (mask == 255 && known && memcmp(was, before, sizeof was) == 0) {
            write_cells(p, pair, after, was);
            continue;
        }
        memcpy(cell, was, sizeof cell);
        what = (alone ? look : settle)(c, mask, cell, old);
        write_cells(p, pair, cell, was);
        if (what)
            reported = what, memcpy(found, old, sizeof found), found_mask = mask, found_at = addr;
        known = mask == 255 && !what;
        memcpy(before, was, sizeof was);
        memcpy(after, cell, sizeof cell);
    }
    race_page_done(c->a->u, p->state, how);
    if (reported)
        report(c, bits_of(c, found_mask), found, reported, found_at);
}

void race_shadow_here(const struct race_access *a, uintptr_t addr, size_t bytes)
{
    unsigned kind = RACE_KIND_OF(a->bits);
    int one = race_alone && (kind == RACE_LOAD || kind == RACE_STORE);
    struct check c = {.a = a};
    struct race_page p;
    for (uintptr_t end = addr + bytes, to; addr < end; addr = to) {
        to = page_end(addr, end);
        if (!race_page_here(addr, !one, &p))
            continue;
        if (!c.cell && !(one && p.is_private))
            c.cell = race_cell_of(a);
        c.owner = p.owner;
        in_page(&c, &p, addr, addr, to);
    }
}

void race_shadow_at(const struct race_access *a, int pe, uintptr_t addr, size_t bytes)
{
    uint64_t offset;
    int segment = race_node_find(addr, &offset);
    if (segment < 0 || bytes > race_node.bytes[segment] - offset)
        return; /* pshmem_ reports it */
    struct check c = {.a = a, .owner = pe};
    struct race_page p;
    if (!RACE_STREAM_OF(a->bits) && granule_end(addr, addr + bytes) == addr + bytes) { /* without its place, which takes longer */
        c.cell = race_moment((uint32_t)a->when, RACE_ACTOR_OF(a->bits)) | (uint64_t)RACE_KIND_OF(a->bits) << RACE_CELL_KIND_AT;
        race_page_at(pe, segment, offset, &p);
        if (recorded(&c, &p, first_pair(&p, offset), mask_of(addr, addr + bytes)))
            return;
        c.asked = 1;
    }
    c.cell = race_cell_of(a);
    for (uintptr_t end = addr + bytes, to; addr < end; offset += to - addr, addr = to) {
        to = page_end(addr, end);
        race_page_at(pe, segment, offset, &p);
        in_page(&c, &p, offset, addr, to);
    }
}

void race_shadow_first(struct race_thread *u, enum race_kind kind, uintptr_t addr, size_t bytes, const void *pc)
{
    const struct race_access a = {.u = u,
                                  .bits = (uint64_t)kind << RACE_KIND_AT | (uint64_t)u->actor << RACE_ACTOR_AT,
                                  .when = u->epoch,
                                  .pc = pc};
    race_shadow_here(&a, addr, bytes);
}

/* ---- others ----------------------------------------------------------------------------------------------------------- */

void race_shadow_complete(struct race_thread *u, uintptr_t addr, size_t bytes)
{
    struct race_page p;
    if (!race_page_here(addr, 0, &p))
        return;
    uint64_t mask = mask_of(addr, granule_end(addr, addr + bytes)), cell[RACE_CELLS], was[RACE_CELLS], *pair = first_pair(&p, addr);
    enum race_hold how = race_page_hold(u, &p);
    if (how == RACE_NOT_HELD)
        return;
    read_cells(&p, pair, (int)p.state->wide, was);
    memcpy(cell, was, sizeof cell);
    for (int i = 0; i < RACE_CELLS; i++) {
        uint64_t o, when;
        if (was[i] && race_cell_read(was[i], &o, &when) && RACE_MASK_OF(o) & mask && RACE_STREAM_OF(o) &&
            *race_t(u->clock, RACE_ACTOR_OF(o)) >= (uint32_t)when)
            cell[i] = race_cell_completed(was[i], o);
    }
    write_cells(&p, pair, cell, was);
    race_page_done(u, p.state, how);
}

int race_shadow_put_by(uintptr_t addr, int pe)
{
    struct race_page p;
    if (!race_page_here(addr, 0, &p))
        return 0;
    const uint64_t *pair = first_pair(&p, addr);
    for (size_t i = 0; i < RACE_CELLS; i++) {
        if (i == 2 && !__atomic_load_n(&p.state->wide, __ATOMIC_RELAXED))
            break;
        uint64_t cell = __atomic_load_n(&pair[i < 2 ? i : p.second + i - 2], __ATOMIC_RELAXED);
        if (RACE_CELL_KIND_OF(cell) == RACE_PUT && race_pe_of(race_moment_actor(cell)) == (unsigned)pe)
            return 1;
    }
    return 0;
}

void race_shadow_end(struct race_thread *u, uintptr_t addr, size_t bytes, unsigned stream, uint32_t epoch)
{
    struct race_page p;
    for (uintptr_t end = addr + bytes, to; addr < end; addr = to) {
        to = page_end(addr, end);
        enum race_hold how = race_page_here(addr, 0, &p) ? race_page_hold(u, &p) : RACE_NOT_HELD;
        for (uintptr_t at = addr; how != RACE_NOT_HELD && at < to; at = granule_end(at, to)) {
            uint64_t cell[RACE_CELLS], was[RACE_CELLS], bits, when, *pair = first_pair(&p, at);
            read_cells(&p, pair, (int)p.state->wide, was);
            memcpy(cell, was, sizeof cell);
            for (int i = 0; i < RACE_CELLS; i++)
                if (was[i] && race_cell_read(was[i], &bits, &when) && RACE_STREAM_OF(bits) == stream + 1 && when >> 32 == epoch)
                    cell[i] = 0;
            write_cells(&p, pair, cell, was);
        }
        race_page_done(u, p.state, how);
    }
}

void race_shadow_forget(struct race_thread *u, uintptr_t addr, size_t bytes)
{
    struct race_page p;
    const uint64_t none[RACE_CELLS] = {0};
    if (race_filtered_range(addr, bytes))
        return;
    for (uintptr_t end = addr + bytes, to; addr < end; addr = to) {
        to = page_end(addr, end);
        enum race_hold how = race_page_here(addr, 0, &p) ? race_page_hold(u, &p) : RACE_NOT_HELD;
        for (uintptr_t at = addr; how != RACE_NOT_HELD && at < to; at = granule_end(at, to)) {
            uint64_t was[RACE_CELLS], *pair = first_pair(&p, at);
            read_cells(&p, pair, (int)p.state->wide, was);
            write_cells(&p, pair, none, was);
        }
        race_page_done(u, p.state, how);
    }
}
