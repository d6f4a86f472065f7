/* op.c - see op.h. */
#include "race/op.h"

#include "race/clock.h"
#include "race/node.h"
#include "race/shadow.h"
#include "race/sync.h"

enum { WORD = 8, FLAGS = 64 /* bytes: longer puts have one clock for all from one PE to another */ };

__thread struct race_on_behalf race_on_behalf;

struct race_op race_op_begin(const char *routine, const void *pc, shmem_ctx_t ctx, int pe)
{
    struct race_op op = {.u = race_self(), .pc = pc, .routine = routine};
    if (!op.u || ctx == SHMEM_CTX_INVALID)
        return (struct race_op){0};
    if (race_unlikely(race_on_behalf.routine != NULL))
        op.routine = race_on_behalf.routine, op.pc = race_on_behalf.pc;
    op.s = race_stream_of(ctx);
    op.pe = op.s->team == SHMEM_TEAM_WORLD ? pe : pshmem_team_translate_pe(op.s->team, pe, SHMEM_TEAM_WORLD);
    op.epoch = __atomic_load_n(&op.s->epoch, __ATOMIC_RELAXED);
    return op.pe >= 0 && op.pe < race_node.pes ? op : (struct race_op){0};
}

void race_op_single(struct race_op *op)
{
    if (op->u)
        op->epoch = __atomic_fetch_add(&op->s->epoch, 2, __ATOMIC_RELAXED) + 1;
}

static struct race_access access_of(const struct race_op *op, enum race_kind kind, int pending, unsigned atomic)
{
    return (struct race_access){.u = op->u,
                                .bits = (uint64_t)kind << RACE_KIND_AT | (uint64_t)op->u->actor << RACE_ACTOR_AT |
                                        (pending ? (uint64_t)(op->s->id + 1) << RACE_STREAM_AT : 0) |
                                        (uint64_t)atomic << RACE_ATOMIC_AT,
                                .when = op->u->epoch | (pending ? (uint64_t)op->epoch << 32 : 0),
                                .pc = op->pc,
                                .routine = op->routine,
                                .place = op->place};
}

static void local(const struct race_op *op, enum race_kind kind, const void *at, size_t bytes, int pending)
{
    if (!op->u || !bytes)
        return;
    struct race_access a = access_of(op, kind, pending, 0);
    race_shadow_here(&a, (uintptr_t)at, bytes);
}

void race_op_reads(const struct race_op *op, const void *at, size_t bytes, int nonblocking)
{
    local(op, nonblocking ? RACE_SOURCE : RACE_LOAD, at, bytes, nonblocking);
}

void race_op_writes(const struct race_op *op, const void *at, size_t bytes, int nonblocking)
{
    local(op, nonblocking ? RACE_DEST : RACE_STORE, at, bytes, nonblocking);
}

void race_op_collective(const struct race_op *op, enum race_kind kind, const void *at, size_t bytes)
{
    local(op, kind, at, bytes, 0);
}

static uint64_t key_of(int pe, uintptr_t at)
{
    uint64_t offset = 0;
    int segment = race_node_find(at, &offset);
    return race_sync_word(pe, segment, offset);
}

void race_op_remote(const struct race_op *op, enum race_kind kind, const void *at, size_t bytes, unsigned atomic)
{
    if (!op->u || !bytes)
        return;
    const unsigned pending =
        1u << RACE_PUT | 1u << RACE_GET_NBI | 1u << RACE_AMO | 1u << RACE_AMO_NBI | 1u << RACE_AMO_NBI_READ;
    struct race_access a = access_of(op, kind, pending >> kind & 1, atomic);
    if (race_kind_is_atomic(kind))
        race_sync_prefetch(key_of(op->pe, (uintptr_t)at));
    race_shadow_at(&a, op->pe, (uintptr_t)at, bytes);
}

unsigned race_op_atomic(const struct race_op *op, size_t bytes, int floating)
{
    return op->u ? op->s->domain << 4 | (unsigned)(bytes == 16) << 2 | (unsigned)(bytes == 8) << 1 | (unsigned)floating | 8 : 0;
}

/* ---- clocks ------------------------------------------------------------------------------------------------------------ */

static uint64_t long_puts(int from, int to)
{
    return race_sync_key((uint64_t)from, (uint64_t)to, 6);
}

void race_op_give(const struct race_op *op, const void *at, size_t bytes, int single)
{
    if (!op->u)
        return;
    struct race_also also = {op->s->id, (unsigned)op->pe, race_clock_fenced(op->u->clock, op->s->id, (unsigned)op->pe),
                               single ? op->epoch : 0};
    if (bytes > FLAGS)
        race_sync_give(op->u, long_puts(race_node.me, op->pe), &also);
    else
        for (uintptr_t from = (uintptr_t)at, a = from; a < from + bytes; a = (a | (WORD - 1)) + 1)
            race_sync_give(op->u, key_of(op->pe, a), &also);
}

void race_op_take(const struct race_op *op, const void *at)
{
    if (op->u)
        race_sync_take(op->u, key_of(op->pe, (uintptr_t)at));
}

void race_op_seen(const struct race_op *op, const void *at, size_t bytes)
{
    if (!op->u)
        return;
    race_sync_take(op->u, key_of(race_node.me, (uintptr_t)at));
    for (int pe = 0; pe < race_node.pes; pe++)
        if (race_shadow_put_by((uintptr_t)at, pe))
            race_sync_take(op->u, long_puts(pe, race_node.me));
    race_shadow_complete(op->u, (uintptr_t)at, bytes);
}

struct race_group *race_op_barrier(const struct race_op *op, shmem_team_t team)
{
    if (!op->u || team == SHMEM_TEAM_INVALID)
        return NULL;
    struct race_group *g = race_group_of_team(team);
    race_stream_quiet(op->u, op->s);
    race_group_give(op->u, g, -1);
    return g;
}

void race_op_barrier_end(const struct race_op *op, struct race_group *g)
{
    if (g)
        race_group_take(op->u, g, -1);
}
