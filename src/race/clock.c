/* clock.c - see clock.h. */
#include "race/clock.h"

#include <string.h>

enum { LANES = 4 };
typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t))));

struct race_dimensions race_dim;
uint32_t race_pe_fenced[RACE_ROWS][RACE_PES];

void race_clock_dimensions(unsigned pes)
{
    race_dim.pes = pes;
    race_dim.bits = 1; /* streams have 1 added: PE 0's first one must not be 0 */
    while (1u << race_dim.bits < pes)
        race_dim.bits++;
    race_dim.actor_bits = RACE_ROW_BITS + race_dim.bits;
    race_dim.row = ((size_t)(4 + pes) * pes + LANES - 1) / LANES * LANES;
    race_dim.bytes = (sizeof(struct race_clock) + RACE_ROWS * race_dim.row * sizeof(uint32_t) + RACE_EXACT * sizeof(struct race_exact) + 63) & ~(size_t)63;
}

/* The single operations that it knows to be delivered. They are behind the rows, so that a clock without any is in few lines. */
static struct race_exact *exact_of(const struct race_clock *c)
{
    return (struct race_exact *)(uintptr_t)(c->word + RACE_ROWS * race_dim.row);
}

void race_clock_epoch(struct race_thread *u, uint32_t epoch)
{
    u->epoch = *race_t(u->clock, u->actor) = epoch;
    u->load = race_moment(epoch, u->actor) | (uint64_t)RACE_LOAD << RACE_CELL_KIND_AT;
    u->store = race_moment(epoch, u->actor) | (uint64_t)RACE_STORE << RACE_CELL_KIND_AT;
}

int race_clock_tick(struct race_thread *u)
{
    if (u->epoch >= (1u << (RACE_MOMENT_BITS - race_dim.actor_bits)) - 1)
        return 0;
    race_clock_epoch(u, u->epoch + 1);
    return 1;
}

void race_clock_use(unsigned k)
{
    uint32_t now = __atomic_load_n(race_dim.rows, __ATOMIC_RELAXED);
    while (now <= k && !__atomic_compare_exchange_n(race_dim.rows, &now, k + 1, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
}

void race_clock_deliver(struct race_clock *c, unsigned stream, unsigned target, uint32_t epoch)
{
    uint32_t *d = race_d(c, stream) + target;
    if (*d < epoch)
        *d = epoch, c->inside = 0;
}

void race_clock_all_of(struct race_thread *u, unsigned pe)
{
    for (unsigned k = 0; k < *race_dim.rows; k++) {
        unsigned id = k << race_dim.bits | pe;
        *race_t(u->clock, id) = *race_q(u->clock, id) = *race_f(u->clock, id) = *race_l(u->clock, id) = UINT32_MAX;
        for (unsigned target = 0; target < race_dim.pes; target++)
            race_d(u->clock, id)[target] = UINT32_MAX;
    }
    race_clock_changed(u);
}

int race_clock_has(const struct race_clock *c, unsigned stream, uint32_t epoch)
{
    const struct race_exact *exact = exact_of(c);
    for (uint32_t i = 0; i < c->exacts; i++)
        if (exact[i].stream == stream && exact[i].epoch == epoch)
            return 1;
    return 0;
}

/* Where there is no room, the oldest one becomes a delivery of everything up to it. */
void race_clock_exact(struct race_clock *c, struct race_exact one)
{
    if (race_clock_has(c, one.stream, one.epoch) || *race_q(c, one.stream) >= one.epoch ||
        race_d(c, one.stream)[one.target] >= one.epoch)
        return;
    struct race_exact *exact = exact_of(c);
    if (c->exacts == RACE_EXACT) {
        race_clock_deliver(c, exact[0].stream, exact[0].target, exact[0].epoch);
        memmove(exact, exact + 1, --c->exacts * sizeof *exact);
    }
    exact[c->exacts++] = one, c->inside = 0;
}

int race_clock_join(struct race_clock *of, const struct race_clock *from)
{
    size_t n = __atomic_load_n(race_dim.rows, __ATOMIC_RELAXED) * race_dim.row;
    lanes grown = {0};
    for (size_t i = 0; i < n; i += LANES) {
        lanes a, b;
        memcpy(&a, of->word + i, sizeof a);
        memcpy(&b, from->word + i, sizeof b);
        lanes more = (lanes)(b > a);
        a = (b & more) | (a & ~more);
        grown |= more;
        memcpy(of->word + i, &a, sizeof a);
    }
    uint64_t inside = of->inside;
    of->inside = 1; /* race_clock_exact clears it */
    for (uint32_t i = 0; i < from->exacts; i++)
        race_clock_exact(of, exact_of(from)[i]);
    int changed = !of->inside || (grown[0] | grown[1] | grown[2] | grown[3]);
    of->inside = changed ? 0 : inside;
    return changed;
}
