/*
 * scan.c - prefix sums of a team.
 *
 * policy/schedule.h chooses. Short ones of few PEs: every member sends its elements to all, and each combines those up to its own. Else,
 * where the PEs of each node are neighbours in the team, in two levels: a node's elements are combined, the nodes combine what the nodes
 * below them have in rounds (SHI_PLAN_SCAN), and the members add their own node's elements to that. Short: the node's first does it. Long:
 * member (k mod members), the holder of part k, does it for that part of the array, for all members of its node. Where they are no
 * neighbours, all members take part in the rounds.
 *
 *   long ones     written by                 read by                    order
 *   source        member                     holders of its node        plain, before the node's first barrier, after it
 *   dest, part k  holder k: what the nodes   holder k of a higher       R4 -> A4 (team.h): holder k announces it; R4 -> A4: the
 *                 up to its own have         node, over the network     reader has it, so that it may change
 *                 holder k of its node       member                     plain, before the node's last barrier, after it
 *
 * Only the holder of a part accesses it on its node, so dest may be source; the holder keeps a copy of its own source then.
 * Checked by test/model/scan.
 */
#include <stdlib.h>
#include <string.h>

#include "host/coll/coll.h"
#include "host/coll/share.h"
#include "host/ops/span.h"
#include "host/policy/limits.h"

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

/* ---- in two levels, short --------------------------------------------------------------------------------------------- */

/* In the half of a node's first: the elements of the node's members, what the nodes below have together, then a place for what
 * comes in each round, `each` bytes apart. */
struct short_scan {
    const struct shi_reduction *r;
    size_t n, bytes, each;
    const char *sum; /* of the node */
    char *below;
};

static char *landing(const struct short_scan *s, int round)
{
    return s->below + (size_t)(1 + round) * s->each;
}

static void send_sum(struct shmem_team *t, const struct shi_round *x, int round, void *arg)
{
    const struct short_scan *s = arg;
    _Alignas(16) char all[SHI_EXCHANGE_TOTAL_BYTES];
    if (!x->send.n)
        return;
    int some = t->my_node > 0 && round > 0; /* nodes below, of which this one has heard */
    memcpy(all, some ? s->below : s->sum, s->bytes);
    if (some)
        s->r->combine(all, s->sum, s->n);
    shi_team_carry(t, t->node[x->to].member[0], landing(s, round), all, s->bytes);
}

static void take_sum(struct shmem_team *t, const struct shi_round *x, int round, void *arg)
{
    const struct short_scan *s = arg;
    (void)t;
    if (!x->recv.n)
        return;
    if (round > 0)
        s->r->combine(landing(s, round), s->below, s->n);
    memcpy(s->below, landing(s, round), s->bytes);
}

static int is_short(const struct shmem_team *t, size_t bytes)
{
    return shi_team_fits(shi_world.n_pes, bytes, t->most_local + 1 + shi_plan_rounds(SHI_PLAN_SCAN, t->n_nodes));
}

static void nodes_short(struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r, int exclusive)
{
    _Alignas(16) char sum[SHI_EXCHANGE_TOTAL_BYTES];
    const struct shi_node *here = &t->node[t->my_node];
    size_t bytes = n * r->elem, each = shi_round_up(bytes, 16);
    uint64_t epoch = ++t->epoch;
    t->exchanges++;
    char *records = shi_team_records(t, here->member[0]);
    struct short_scan s = {r, n, bytes, each, sum, records + (size_t)t->most_local * each};
    shi_coll_copy(records + (size_t)t->local_rank[t->me] * each, source, bytes);
    if (shi_team_enter(t, epoch)) {
        memcpy(sum, records, bytes);
        for (int k = 1; k < here->n; k++)
            r->combine(sum, records + (size_t)k * each, n);
        shi_team_rounds(t, epoch, &(const struct shi_carry){SHI_PLAN_SCAN, send_sum, take_sum, &s});
        shi_team_release(t, epoch);
    }
    int some = t->my_node > 0, members = t->local_rank[t->me] + !exclusive;
    if (some)
        memcpy(sum, s.below, bytes);
    else
        memset(sum, 0, bytes); /* all-zero bytes are zero in every type of the table */
    for (int k = 0; k < members; k++, some = 1) {
        if (some)
            r->combine(sum, records + (size_t)k * each, n);
        else
            memcpy(sum, records, bytes);
    }
    shi_coll_copy(dest, sum, bytes);
}

/* ---- in two levels, long ---------------------------------------------------------------------------------------------- */

/* Wait until member `of` announces its dest, get it, and notify that member, which may change it then. */
static void fetch(struct shmem_team *t, char *to, const void *dest, size_t bytes, int of, uint64_t announced)
{
    shi_team_wait_notify(t, of, announced);
    shi_coll_get(t, to, dest, bytes, of);
    shi_coll_local(t);
    shi_team_notify(t, of, announced + 1);
}

/* Add what came from below to n elements at dest; `below` is what has come in all rounds. */
static void add_below(char *dest, char *in, char *below, size_t n, const struct shi_reduction *r, int first)
{
    _Alignas(64) char acc[SHI_BLOCK_BYTES], room[SHI_BLOCK_BYTES];
    size_t block = SHI_BLOCK_BYTES / r->elem;
    for (size_t at = 0, part; at < n; at += part) {
        part = n - at < block ? n - at : block;
        size_t off = at * r->elem, bytes = part * r->elem;
        memcpy(acc, in + off, bytes);
        if (!first)
            r->combine(acc, below + off, part);
        memcpy(below + off, acc, bytes);
        r->combine(in + off, shi_coll_readable(room, dest + off, bytes), part);
        shi_coll_copy(dest + off, in + off, bytes);
    }
}

/* The rounds of the holders of part k, whose dest has their nodes' sums, n elements from `dest` on. */
static void holders_rounds(struct shmem_team *t, int k, char *dest, char *in, char *below, size_t n, const struct shi_reduction *r,
                           uint64_t base)
{
    for (int i = 0; i < shi_plan_rounds(SHI_PLAN_SCAN, t->n_nodes); i++) {
        struct shi_round x = shi_plan_round(SHI_PLAN_SCAN, t->n_nodes, t->my_node, i);
        int above = x.send.n ? shi_coll_holder(&t->node[x.to], k) : -1, from = x.recv.n ? shi_coll_holder(&t->node[x.from], k) : -1;
        uint64_t announced = base + 2 * (uint64_t)i + 1;
        if (above >= 0)
            shi_team_notify(t, above, announced);
        if (from >= 0)
            fetch(t, in, dest, n * r->elem, from, announced);
        if (above >= 0)
            shi_team_wait_notify(t, above, announced + 1);
        if (from >= 0)
            add_below(dest, in, below, n, r, i == 0);
    }
}

/* The sums of this node's members, of a part. below: what the nodes below have of it, or NULL on the first node; own: a copy of this
 * PE's elements of it, or NULL where they are still in source. */
static void scan_part(const struct shmem_team *t, void *dest, const void *source, struct shi_range part, const struct shi_reduction *r,
                      int exclusive, const char *below, const char *own)
{
    _Alignas(64) char sums[2][SHI_BLOCK_BYTES], room[SHI_BLOCK_BYTES];
    const struct shi_node *here = &t->node[t->my_node];
    size_t block = SHI_BLOCK_BYTES / r->elem;
    for (size_t at = part.first, n; at < part.last; at += n) {
        n = part.last - at < block ? part.last - at : block;
        size_t off = at * r->elem, bytes = n * r->elem, in_part = (at - part.first) * r->elem;
        char *sum = sums[0], *next = sums[1];
        if (below)
            memcpy(sum, below + in_part, bytes);
        else
            memset(sum, 0, bytes); /* all-zero bytes are zero in every type of the table */
        for (int k = 0; k < here->n; k++) {
            int member = here->member[k];
            const char *from = own && member == t->me ? own + in_part : (char *)shi_coll_at(t, source, member) + off;
            from = shi_coll_readable(room, from, bytes);
            memcpy(next, below || k > 0 ? sum : from, bytes);
            if (below || k > 0)
                r->combine(next, from, n);
            shi_coll_copy((char *)shi_coll_at(t, dest, member) + off, exclusive ? sum : next, bytes);
            char *before = sum;
            sum = next;
            next = before;
        }
    }
}

/* As the holder of part k. */
static void hold_part(struct shmem_team *t, int k, void *dest, const void *source, size_t elements, const struct shi_reduction *r,
                      int exclusive, uint64_t base)
{
    const struct shi_range all = {0, elements}, part = shi_coll_cut(all, t->most_local, k, r->elem);
    size_t n = part.last - part.first, bytes = n * r->elem, off = part.first * r->elem;
    int between = t->n_nodes > 1 && n, kept = between && dest == source;
    char *in = between ? shi_coll_room(t->routine, (size_t)(2 + kept) * bytes) : NULL, *below = in ? in + bytes : NULL;
    char *own = kept ? below + bytes : NULL;
    if (kept)
        shi_coll_copy(own, (const char *)source + off, bytes);
    if (between) {
        shi_coll_reduce_part(t, dest, source, part, r, t->me);
        holders_rounds(t, k, (char *)dest + off, in, below, n, r, base);
    }
    scan_part(t, dest, source, part, r, exclusive, t->my_node ? below : NULL, own);
    free(in);
}

static void meet_on_node(struct shmem_team *t)
{
    if (t->n_nodes > 1)
        shi_team_node_barrier(t);
    else
        shi_team_barrier(t->routine, t);
}

/* There are as many parts as the largest node has members, so its members share the work; those of smaller nodes hold several, which they
 * take in the same order as the others: so no two wait for each other. */
static void nodes_long(struct shmem_team *t, void *dest, const void *source, size_t n, const struct shi_reduction *r, int exclusive)
{
    meet_on_node(t); /* every source of the node is ready */
    uint64_t base = t->epoch, each = 2 * (uint64_t)shi_plan_rounds(SHI_PLAN_SCAN, t->n_nodes);
    t->epoch += each * (uint64_t)t->most_local;
    for (int k = t->local_rank[t->me]; k < t->most_local; k += t->node[t->my_node].n)
        hold_part(t, k, dest, source, n, r, exclusive, base + each * (uint64_t)k);
    meet_on_node(t); /* every dest of the node is complete, every source read */
}

/* ---- all members in rounds -------------------------------------------------------------------------------------------- */

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
    shi_coll_check_elements(routine, t, dest, source, n, r->elem);
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, n * r->elem);
    if (n == 0)
        return;
    size_t bytes = n * r->elem;
    switch (shi_schedule_scan(&(const struct shi_scan_facts){t->gathered, t->ordered, bytes <= t->buffer_bytes, is_short(t, bytes)})) {
    case SHI_SCAN_EXCHANGE: scan_short(t, dest, source, n, r, exclusive ? t->me - 1 : t->me); break;
    case SHI_SCAN_FIRSTS: nodes_short(t, dest, source, n, r, exclusive); break;
    case SHI_SCAN_PARTS: nodes_long(t, dest, source, n, r, exclusive); break;
    case SHI_SCAN_READ: scan_rounds(routine, t, dest, source, n, r, exclusive); break;
    }
}
