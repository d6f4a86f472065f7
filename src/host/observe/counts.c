/*
 * counts.c - count this PE's calls, and pass them on to the trace.
 *
 *   word           written by               read by                 order
 *   counters       all threads, fetch-add   finalize, after them    relaxed
 *   routine.name   all threads, once        the same                relaxed: a constant string
 *   ring.deepest   proxy thread             finalize                relaxed
 */
#include "host/observe/counts.h"

#include "host/coll/team.h"
#include "host/observe/trace.h"
#include "host/util/log.h"

struct shi_counts shi_counts;
#define all shi_counts

static void add(struct shi_counter *c, size_t bytes, uint64_t ns)
{
    __atomic_fetch_add(&c->calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&c->bytes, bytes, __ATOMIC_RELAXED);
    __atomic_fetch_add(&c->ns, ns, __ATOMIC_RELAXED);
}

static int world_pe(const struct shi_span *s)
{
    return s->team && s->pe >= 0 ? shi_team_world_pe(s->team, s->pe) : s->pe;
}

static enum shi_way way_to(const struct shi_span *s, int pe)
{
    return pe >= 0 && s->way == SHI_BY_STORES && shi_world.peer[pe].remote ? SHI_BY_NETWORK : s->way;
}

static void count_target(const struct shi_span *s, int pe, uint64_t ns)
{
    add(&all.way[way_to(s, pe)], s->bytes, ns);
    add(&all.to[pe][s->family], s->bytes, ns);
}

/* The counter of a routine; NULL: the table is full. */
static struct shi_routine *find_routine(const char *name)
{
    for (size_t i = 0, at = (uintptr_t)name / 16; i < SHI_ROUTINES; i++) {
        struct shi_routine *r = &all.routine[(at + i) % SHI_ROUTINES];
        const char *old = NULL;
        if (__atomic_compare_exchange_n(&r->name, &old, name, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) || old == name)
            return r;
    }
    return NULL;
}

static void count_routine(const char *name, uint64_t ns)
{
    struct shi_routine *r = find_routine(name);
    if (!r)
        return;
    __atomic_fetch_add(&r->calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&r->ns, ns, __ATOMIC_RELAXED);
    uint64_t longest = __atomic_load_n(&r->longest_ns, __ATOMIC_RELAXED);
    while (ns > longest && !__atomic_compare_exchange_n(&r->longest_ns, &longest, ns, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

static void count(const struct shi_span *s, uint64_t ns)
{
    size_t targets = s->pe == SHI_TO_ALL ? (size_t)s->team->n - 1 : s->pe >= 0;
    add(&all.family[s->family], s->bytes * targets, ns);
    if (s->pe >= 0)
        count_target(s, world_pe(s), ns);
    for (int i = 0; s->pe == SHI_TO_ALL && i < s->team->n; i++)
        if (i != s->team->me)
            count_target(s, shi_team_world_pe(s->team, i), 0);
}

/* The place of an own address in symmetric memory; 0: it is not there. */
static uint64_t place_of(const void *addr)
{
    uintptr_t a = (uintptr_t)addr;
    if (!addr)
        return 0;
    if (a - shi_world.heap_lo < shi_world.heap_bytes)
        return (a - shi_world.heap_lo) | (uint64_t)SHI_PLACE_HEAP << SHI_PLACE_SHIFT;
    if (a - shi_world.data_lo < shi_world.data_bytes)
        return (a - shi_world.data_lo) | (uint64_t)SHI_PLACE_DATA << SHI_PLACE_SHIFT;
    if (a - shi_world.dev_lo < shi_world.dev_bytes)
        return (a - shi_world.dev_lo) | (uint64_t)SHI_PLACE_DEVICE << SHI_PLACE_SHIFT;
    return 0;
}

static void trace_span(const struct shi_span *s, const char *name, uint64_t took)
{
    int pe = world_pe(s);
    shi_trace_add(name, &(struct shi_trace_event){.start_ns = s->began_ns, .took_ns = took, .bytes = s->bytes, .at = place_of(s->at),
                                                  .extent = s->at ? s->extent : 0, .word = place_of(s->word), .value = s->value,
                                                  .false_ns = s->false_ns, .to = (int32_t)pe, .thread = s->track,
                                                  .family = (uint8_t)s->family, .way = (uint8_t)way_to(s, pe),
                                                  .word_bytes = (uint8_t)s->word_bytes, .has_value = (uint8_t)s->has_value});
}

void shi_counts_span(const struct shi_span *s)
{
    if (all.traces)
        __atomic_thread_fence(__ATOMIC_SEQ_CST); /* other PEs see what the call has stored before its end: util/trace_arrows.c */
    uint64_t took = shi_now_ns() - s->began_ns;
    const char *name = shi_log_routine(s->routine);
    if (all.up)
        count(s, s->track ? 0 : took); /* requests of kernels take no time of the program */
    if (all.up && (s->family == SHI_COLLECTIVES || s->family == SHI_BARRIERS))
        count_routine(name, took);
    trace_span(s, name, took);
}

void shi_counts_ring(uint64_t n, uint64_t deep)
{
    __atomic_fetch_add(&all.ring.requests, n, __ATOMIC_RELAXED);
    __atomic_fetch_add(&all.ring.rounds, 1, __ATOMIC_RELAXED);
    if (deep > __atomic_load_n(&all.ring.deepest, __ATOMIC_RELAXED))
        __atomic_store_n(&all.ring.deepest, deep, __ATOMIC_RELAXED);
}

void shi_counts_kernel(const char *kernel, uint64_t start_ns, uint64_t end_ns)
{
    shi_trace_add(kernel, &(struct shi_trace_event){.start_ns = start_ns, .took_ns = end_ns - start_ns, .to = SHI_TO_NONE,
                                                    .thread = SHI_TRACE_KERNELS, .family = SHI_WAITS});
}
