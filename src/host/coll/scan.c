/*
 * scan.c - prefix sums of a team.
 */
#include <stdlib.h>
#include <string.h>

#include "host/coll/coll.h"
#include "host/coll/share.h"
#include "host/ops/span.h"

static void scan_short(struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r,
                       int last)
{
    _Alignas(16) char acc[SHI_EXCHANGE_TOTAL_BYTES];
    size_t bytes = n * r->elem;
    shi_team_exchange(t, shi_coll_readable(acc, source, bytes), bytes);
    if (last < 0)
        memset(acc, 0, bytes); /* all-zero bytes are zero in every type of the table */
    else
        memcpy(acc, shi_coll_record(t, 0), bytes);
    for (int i = 1; i <= last; i++)
        r->combine(acc, shi_coll_record(t, i), n);
    shi_coll_copy(dest, acc, bytes);
}

/* Combine member i's source into sum; member 0's begins it. */
static void add_source(const char *routine, const struct shmem_team *t, char *sum, const void *source, size_t n,
                       const struct shi_reduction *r, int i)
{
    const char *from = t->peer[i].remote || shi_dheap_hides(source, 1) ? NULL : shi_coll_at(t, source, i);
    char *copy = from ? NULL : malloc(n * r->elem);
    if (!from && !copy)
        shi_die(routine, "out of memory for %zu bytes of a scan", n * r->elem);
    if (!from) {
        shi_coll_get(t, copy, source, n * r->elem, i);
        shi_coll_local(t);
        from = copy;
    }
    if (i == 0)
        memcpy(sum, from, n * r->elem);
    else
        r->combine(sum, from, n);
    free(copy);
}

/* Others read my source until all are done, so a scan in place keeps its sums in private memory until then. */
static void scan_long(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n,
                      const struct shi_reduction *r, int last)
{
    size_t bytes = n * r->elem;
    char *sum = dest == source || shi_dheap_hides(dest, 1) ? malloc(bytes) : dest;
    if (!sum)
        shi_die(routine, "out of memory for %zu bytes of a scan", bytes);
    shi_team_barrier(t->routine, t);
    if (last < 0)
        memset(sum, 0, bytes);
    else
        add_source(routine, t, sum, source, n, r, 0);
    for (int i = 1; i <= last; i++)
        add_source(routine, t, sum, source, n, r, i);
    shi_team_barrier(t->routine, t);
    if (sum != dest) {
        shi_coll_copy(dest, sum, bytes);
        free(sum);
    }
}

/* Get member `of`'s dest when it has announced it; it is told when it may change it. */
static void fetch(struct shmem_team *t, char *to, const void *dest, size_t bytes, int of, uint64_t announced)
{
    shi_team_wait_notify(t, of, announced);
    shi_coll_get(t, to, dest, bytes, of);
    shi_coll_local(t);
    shi_team_notify(t, of, announced + 1);
}

/* In round r each member adds, from the left, what the member 2^r below has combined so far, which it reads from its dest. */
static void scan_rounds(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n,
                        const struct shi_reduction *r, int exclusive)
{
    size_t bytes = n * r->elem;
    char *in = shi_coll_room(routine, 2 * bytes), *room = in + bytes;
    int rounds = shi_plan_log2(t->n);
    uint64_t base = t->epoch;
    t->epoch += 2 * (uint64_t)(rounds + 1);
    shi_coll_copy(dest, source, bytes);
    for (int k = 0; k < rounds + exclusive; k++) { /* one more, of 1, for exclusive ones */
        int step = k < rounds ? 1 << k : 1, below = t->me - step, above = t->me + step < t->n ? t->me + step : -1;
        uint64_t announced = base + 2 * (uint64_t)k + 1;
        if (above >= 0)
            shi_team_notify(t, above, announced);
        if (below >= 0)
            fetch(t, in, dest, bytes, below, announced);
        else
            memset(in, 0, bytes); /* all-zero bytes are zero in every type of the table */
        if (above >= 0)
            shi_team_wait_notify(t, above, announced + 1);
        if (below >= 0 && k < rounds)
            r->combine(in, shi_coll_readable(room, dest, bytes), n);
        if (below >= 0 || k == rounds)
            shi_coll_copy(dest, in, bytes);
    }
    free(in);
}

void shi_coll_scan(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n,
                   const struct shi_reduction *r, int exclusive)
{
    shi_coll_check_both(routine, t, dest, source, n, r->elem);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, n * r->elem);
    if (n == 0)
        return;
    int last = exclusive ? t->me - 1 : t->me;
    if (n * r->elem <= t->buffer_bytes && (!t->gathered || shi_coll_choose(t, SHI_COLL_SCAN, n * r->elem, 0) == SHI_BY_GATHER))
        scan_short(t, dest, source, n, r, last);
    else if (t->gathered)
        scan_rounds(routine, t, dest, source, n, r, exclusive);
    else
        scan_long(routine, t, dest, source, n, r, last);
}
