/*
 * kernel_call.c - calls of the device library by work-items: the rules of doc/memory-model.md, as wrap_*.c has them for the host; and the
 * table that the drivers look up.
 */
#include "race/kernel.h"

#include <stdlib.h>

#include "device/lib/race_words.h"
#include "race/clock.h"
#include "race/node.h"
#include "race/op.h"
#include "race/place.h"
#include "race/page.h"
#include "race/sync.h"
#include "ze_cpu/race.h"

/* One call, by a work-item that is given `u`. */
static struct race_op begin(struct race_thread *u, const uint64_t *w, uint32_t place)
{
    struct race_op op = {.u = u, .pe = (int)w[SHI_RACE_PE], .routine = "device library", .place = place};
    op.s = race_stream_of_kernels(w[SHI_RACE_RING]);
    race_op_single(&op);
    if (op.pe < 0 || op.pe >= race_node.pes)
        op.u = NULL;
    return op;
}

#define OBJECT ((const void *)(uintptr_t)w[SHI_RACE_OBJECT])
#define LOCAL ((const void *)(uintptr_t)w[SHI_RACE_LOCAL])
#define BYTES ((size_t)w[SHI_RACE_BYTES])

/* The local buffer where other PEs or the host may access it; private and other memory of the device is the kernel's. */
static void local(const struct race_op *op, const uint64_t *w, int writes)
{
    if (!LOCAL || !race_kernel_symmetric(w[SHI_RACE_LOCAL]))
        return;
    if (writes)
        race_op_writes(op, LOCAL, BYTES, (int)w[SHI_RACE_NBI]);
    else
        race_op_reads(op, LOCAL, BYTES, (int)w[SHI_RACE_NBI]);
}

static void put(const struct race_op *op, const uint64_t *w, int with_signal)
{
    local(op, w, 0);
    race_op_remote(op, RACE_PUT, OBJECT, BYTES, 0);
    if (!with_signal) {
        race_op_give(op, OBJECT, BYTES, 0);
        return;
    }
    const uint64_t *sig_addr = (const uint64_t *)(uintptr_t)w[SHI_RACE_SIGNAL];
    race_op_remote(op, RACE_AMO, sig_addr, sizeof *sig_addr, race_op_atomic(op, sizeof *sig_addr, 0));
    race_op_give(op, sig_addr, sizeof *sig_addr, 1);
}

static void amo(const struct race_op *op, const uint64_t *w)
{
    uint64_t how = w[SHI_RACE_FLAGS];
    unsigned type = race_op_atomic(op, BYTES, how & SHI_RACE_FLOATING ? 1 : 0);
    int nbi = w[SHI_RACE_LOCAL] != 0, fetches = how & SHI_RACE_FETCHES ? 1 : 0, updates = how & SHI_RACE_UPDATES ? 1 : 0;
    local(op, w, 1);
    race_op_remote(op,
                   updates ? nbi ? RACE_AMO_NBI : fetches ? RACE_AMO_FETCH : RACE_AMO
                   : nbi   ? RACE_AMO_NBI_READ
                           : RACE_AMO_READ,
                   OBJECT, BYTES, type);
    if (updates)
        race_op_give(op, OBJECT, BYTES, 0);
}

static uint64_t member_key(uint64_t flags, int pe)
{
    return race_sync_key(flags, (uint64_t)pe, 9);
}

/* What teaches the work-item something. */
static void learn(struct race_group_of_items *g, uint32_t item, const uint64_t *w, uint32_t place)
{
    struct race_thread *u = race_kernel_learns(g, item), into = *u;
    struct race_op op = {.u = &into, .place = place, .pe = (int)w[SHI_RACE_PE], .s = race_stream_of_kernels(w[SHI_RACE_RING])};
    into.clock = calloc(1, race_dim.bytes);
    if (!into.clock)
        abort();
    switch (w[SHI_RACE_CALL]) {
    case SHI_RACE_FENCE:
        race_stream_fence(u, op.s);
        break;
    case SHI_RACE_QUIET:
        race_stream_quiet(u, op.s);
        break;
    case SHI_RACE_PE_FENCE:
        __atomic_store_n(&race_pe_fenced[op.s->id >> race_dim.bits][op.pe], race_stream_mark(op.s), __ATOMIC_RELAXED);
        break;
    case SHI_RACE_PE_QUIET:
        race_stream_complete(u, op.s->id, race_stream_mark(op.s), op.pe);
        break;
    case SHI_RACE_FLUSH:
        *race_l(u->clock, op.s->id) = race_stream_mark(op.s);
        break;
    case SHI_RACE_SEEN: /* the operations that it completes are those that the work-item knows then */
        op.pe = race_node.me;
        race_op_take(&op, OBJECT);
        op.u = u;
        race_op_seen(&op, OBJECT, BYTES);
        break;
    case SHI_RACE_FETCHED:
        race_op_take(&op, OBJECT);
        break;
    case SHI_RACE_ENTER:
        race_sync_give(u, member_key(w[SHI_RACE_OBJECT], race_node.me), NULL);
        break;
    case SHI_RACE_POINTER:
        race_page_peer(op.pe, w[SHI_RACE_OBJECT], w[SHI_RACE_LOCAL]);
        break;
    case SHI_RACE_LEAVE:
        race_sync_take(&into, member_key(w[SHI_RACE_OBJECT], op.pe));
        break;
    }
    race_clock_join(u->clock, into.clock);
    race_kernel_learned(g, item, into.clock);
    free(into.clock);
    race_kernel_done(g, item, u);
}

static void access(struct race_group_of_items *g, uint32_t item, const uint64_t *w, uint32_t place)
{
    struct race_thread *u = race_kernel_item(g, item);
    struct race_op op = begin(u, w, place);
    switch (w[SHI_RACE_CALL]) {
    case SHI_RACE_PUT:
    case SHI_RACE_PUT_SIGNAL:
        put(&op, w, w[SHI_RACE_CALL] == SHI_RACE_PUT_SIGNAL);
        break;
    case SHI_RACE_GET:
        race_op_remote(&op, w[SHI_RACE_NBI] ? RACE_GET_NBI : RACE_GET, OBJECT, BYTES, 0);
        local(&op, w, 1);
        break;
    case SHI_RACE_AMO:
        amo(&op, w);
        break;
    }
    race_kernel_done(g, item, u);
}

static void call(void *group, uint32_t item, uint32_t place, unsigned k, uint64_t value)
{
    struct race_group_of_items *g = group;
    if (!g || !race_running)
        return;
    struct race_item *it = &g->item[item];
    it->word[k] = value;
    if (k != SHI_RACE_CALL)
        return;
    race_kernel_look(g, item);
    it->inside = value != SHI_RACE_END;
    if (value >= SHI_RACE_PUT && value <= SHI_RACE_AMO)
        access(g, item, it->word, place);
    else if (value > SHI_RACE_AMO && value < SHI_RACE_CALLS)
        learn(g, item, it->word, place);
}

/* What the drivers look up. */
RACE_API extern const struct zc_race fulmar_race_kernels_1;
const struct zc_race fulmar_race_kernels_1 = {.now = race_kernel_now,
                                              .reach = race_kernel_reach,
                                              .join = race_kernel_join,
                                              .drop = race_kernel_drop,
                                              .place = race_place_of_kernel,
                                              .group = race_kernel_group,
                                              .group_end = race_kernel_group_end,
                                              .meet = race_kernel_meet,
                                              .access = race_kernel_access,
                                              .fence = race_kernel_fence,
                                              .call = call};
