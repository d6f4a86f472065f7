/* record.c - see record.h. */
#include "race/record.h"

#include "race/clock.h"
#include "race/node.h"
#include "race/place.h"

#define PENDING ((uint64_t)1 << 15)
#define ALL_ONES UINT32_MAX

static struct race_ring *ring_of(unsigned actor)
{
    return (struct race_ring *)(race_node.rings + actor * sizeof(struct race_ring));
}

static int is(const struct race_record *r, unsigned stream, uint32_t epoch, uint32_t place)
{
    return r->stream == stream && r->stream_epoch == epoch && r->place == place;
}

/* The index of the actor's record with these fields; < 0: none. */
static int record_of(struct race_thread *u, unsigned stream, uint32_t epoch, uint32_t place)
{
    struct race_ring *ring = ring_of(u->actor);
    uint16_t *near = &u->record[place % RACE_NEAR_RECORDS];
    if (is(&ring->record[*near], stream, epoch, place))
        return *near;
    uint32_t n = __atomic_fetch_add(&ring->next, 1, __ATOMIC_RELAXED);
    struct race_record *r = &ring->record[n % RACE_RECORDS];
    if (n >= RACE_RECORDS) {
        if (u->number == RACE_ROWS - 1 || !race_clock_tick(u))
            return -1; /* epochs of threads that share a row, or the last one, do not tell its cells apart */
        __atomic_store_n(&r->first, ALL_ONES, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_RELEASE); /* R1 */
    }
    __atomic_store_n(&r->stream_epoch, epoch, __ATOMIC_RELAXED);
    __atomic_store_n(&r->stream, (uint16_t)stream, __ATOMIC_RELAXED);
    __atomic_store_n(&r->place, (uint16_t)place, __ATOMIC_RELAXED);
    __atomic_store_n(&r->first, n < RACE_RECORDS ? 0 : u->epoch, __ATOMIC_RELEASE); /* R2 */
    *near = (uint16_t)(n % RACE_RECORDS);
    return *near;
}

static struct race_turn *turn_of(unsigned actor, uint32_t epoch)
{
    return (struct race_turn *)race_node.turns + (size_t)actor * RACE_TURNS + epoch % RACE_TURNS;
}

void race_record_turn(unsigned actor, uint32_t epoch, uint32_t item)
{
    struct race_turn *t = turn_of(actor, epoch);
    __atomic_store_n(&t->item, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&t->epoch, epoch, __ATOMIC_RELEASE);
    __atomic_store_n(&t->item, item, __ATOMIC_RELEASE);
}

uint32_t race_record_item(unsigned actor, uint32_t epoch)
{
    const struct race_turn *t = turn_of(actor, epoch);
    uint32_t item = __atomic_load_n(&t->item, __ATOMIC_ACQUIRE);
    return __atomic_load_n(&t->epoch, __ATOMIC_ACQUIRE) == epoch ? item : 0;
}

uint32_t race_record_place(const struct race_access *a)
{
    unsigned atomic = RACE_ATOMIC_OF(a->bits);
    return !a->place ? race_place_of(a->pc, a->routine, atomic) : atomic ? race_place_atomic(a->place, atomic) : a->place;
}

uint64_t race_cell_of(const struct race_access *a)
{
    unsigned stream = RACE_STREAM_OF(a->bits), kind = RACE_KIND_OF(a->bits), atomic = RACE_ATOMIC_OF(a->bits);
    uint64_t reference = race_record_place(a);
    if (atomic && !reference)
        return 0;
    uint32_t epoch = (uint32_t)a->when;
    if (stream) {
        int r = record_of(a->u, stream, (uint32_t)(a->when >> 32), (uint32_t)reference);
        if (r < 0)
            return 0;
        reference = PENDING | (unsigned)r;
        epoch = a->u->epoch;
    }
    return race_moment(epoch, RACE_ACTOR_OF(a->bits)) | (uint64_t)kind << RACE_CELL_KIND_AT | reference;
}

int race_cell_read(uint64_t cell, uint64_t *bits, uint64_t *when)
{
    unsigned kind = RACE_CELL_KIND_OF(cell), actor = race_moment_actor(cell);
    uint32_t place = cell & (PENDING - 1), stream = 0, stream_epoch = 0, epoch = race_moment_epoch(cell);
    if (cell & PENDING) {
        const struct race_record *r = &ring_of(actor)->record[place];
        uint32_t first = __atomic_load_n(&r->first, __ATOMIC_ACQUIRE); /* A2 */
        stream_epoch = __atomic_load_n(&r->stream_epoch, __ATOMIC_RELAXED);
        stream = __atomic_load_n(&r->stream, __ATOMIC_RELAXED);
        place = __atomic_load_n(&r->place, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE); /* A1 */
        if (epoch < first || __atomic_load_n(&r->first, __ATOMIC_RELAXED) != first)
            return 0;
    }
    uint64_t atomic = race_kind_is_atomic(kind) ? race_node.shared->place[place].atomic : 0;
    *bits = place | (cell & RACE_CELL_MASK) >> RACE_CELL_MASK_AT << RACE_MASK_AT | (uint64_t)kind << RACE_KIND_AT |
            (uint64_t)actor << RACE_ACTOR_AT | (uint64_t)stream << RACE_STREAM_AT | atomic << RACE_ATOMIC_AT;
    *when = epoch | (uint64_t)stream_epoch << 32;
    return 1;
}

uint64_t race_cell_completed(uint64_t cell, uint64_t bits)
{
    return (cell & ~RACE_CELL_REFERENCE) | RACE_PLACE_OF(bits);
}
