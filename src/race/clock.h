/*
 * clock.h - the vector clocks of race.h: T, Q, F, L and D in rows, and the single operations that are known to be delivered.
 *
 * Actors and streams have numbers of the form k << bits | PE: row k of a clock has the entries of the k-th thread and the k-th context of
 * every PE. Only rows that are in use are read and written, so a clock is as short as the program's threads and contexts are few.
 */
#ifndef RACE_CLOCK_H
#define RACE_CLOCK_H

#include "race/cell.h"

enum { RACE_ROW_BITS = 4, RACE_ROWS = 1 << RACE_ROW_BITS, RACE_EXACT = 8 }; /* threads, and contexts, of a PE that are told apart */

struct race_exact {
    uint16_t stream, target;
    uint32_t epoch;
};

struct race_clock {
    uint32_t lock; /* of clocks that actors share */
    uint32_t exacts;
    uint64_t giver, version; /* the clock that this thread (race_thread.self) had at this version is in it; 0: none */
    uint64_t inside;         /* all of it is in the clock of this thread; 0: of none */
    uint32_t word[];         /* RACE_ROWS rows, then the exact ones */
};

/* Dimensions, set once at init. */
enum { RACE_PE_BITS = 7, RACE_PES = 1 << RACE_PE_BITS, RACE_REQUESTS = RACE_ROWS - 1 /* the stream of requests, see pending.h: no context has it */ };

extern RACE_HIDDEN struct race_dimensions {
    unsigned pes, bits;
    unsigned actor_bits;
    size_t row, bytes; /* words of a row, bytes of a clock */
    uint32_t *rows;    /* in use in the job, in the shared file */
} race_dim;

void race_clock_dimensions(unsigned pes);

/* The thread's epoch: this one, and the next one, unless it is the last one that a cell can hold: then 0, and later accesses count as
 * earlier ones. */
void race_clock_epoch(struct race_thread *u, uint32_t epoch);
int race_clock_tick(struct race_thread *u);

/* Row k is in use from now on. */
void race_clock_use(unsigned k);

/* All that the PE, which does nothing more, has done is before what the thread does later. */
void race_clock_all_of(struct race_thread *u, unsigned pe);

/* of |= from. 1: it has changed. */
int race_clock_join(struct race_clock *of, const struct race_clock *from);
/* D[stream][target] of the clock is at least epoch. */
void race_clock_deliver(struct race_clock *c, unsigned stream, unsigned target, uint32_t epoch);
void race_clock_exact(struct race_clock *c, struct race_exact one);
int race_clock_has(const struct race_clock *c, unsigned stream, uint32_t epoch);

/* The thread's clock has changed in more than its epoch. */
static inline void race_clock_changed(struct race_thread *u)
{
    u->version++;
}

static inline uint32_t *race_clock_row(const struct race_clock *c, unsigned id)
{
    return (uint32_t *)c->word + (id >> race_dim.bits) * race_dim.row;
}

/* A cell's moment, of cell.h. */
static inline uint64_t race_moment(uint32_t epoch, unsigned actor)
{
    return ((uint64_t)epoch << race_dim.actor_bits | actor) << RACE_MOMENT_AT;
}

static inline unsigned race_moment_actor(uint64_t cell)
{
    return (unsigned)(cell >> RACE_MOMENT_AT & ((1u << race_dim.actor_bits) - 1));
}

static inline uint32_t race_moment_epoch(uint64_t cell)
{
    return (uint32_t)(cell >> (RACE_MOMENT_AT + race_dim.actor_bits));
}

static inline unsigned race_pe_of(unsigned id)
{
    return id & ((1u << race_dim.bits) - 1);
}

static inline uint32_t *race_t(const struct race_clock *c, unsigned actor)
{
    return race_clock_row(c, actor) + race_pe_of(actor);
}

static inline uint32_t *race_q(const struct race_clock *c, unsigned stream)
{
    return race_clock_row(c, stream) + race_dim.pes + race_pe_of(stream);
}

static inline uint32_t *race_f(const struct race_clock *c, unsigned stream)
{
    return race_clock_row(c, stream) + (size_t)2 * race_dim.pes + race_pe_of(stream);
}

static inline uint32_t *race_l(const struct race_clock *c, unsigned stream)
{
    return race_clock_row(c, stream) + (size_t)3 * race_dim.pes + race_pe_of(stream);
}

static inline uint32_t *race_d(const struct race_clock *c, unsigned stream)
{
    return race_clock_row(c, stream) + (size_t)(4 + race_pe_of(stream)) * race_dim.pes;
}

/* Up to which epoch a stream of this PE was fenced for one PE, shmemx_pe_fence; F is for all PEs. By row and PE. */
extern RACE_HIDDEN uint32_t race_pe_fenced[RACE_ROWS][RACE_PES];

static inline uint32_t race_clock_fenced(const struct race_clock *c, unsigned stream, unsigned pe)
{
    uint32_t all = *race_f(c, stream), one = race_pe_fenced[stream >> race_dim.bits][pe];
    return all > one ? all : one;
}

#endif
