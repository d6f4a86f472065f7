/*
 * cell.h - an access: as it is checked, and as a cell of the shadow holds it.
 */
#ifndef RACE_CELL_H
#define RACE_CELL_H

#include "race/race.h"

/* Bytes of a granule; its cells. */
enum { RACE_GRANULE = 8, RACE_CELLS = 4 };

/* ---- two words, to check: epoch | stream's epoch << 32, and these fields -------------------------------------------------- */

enum {
    RACE_MASK_AT = 20,   /* below: the place */
    RACE_KIND_AT = 28,   /* 4 bits */
    RACE_ACTOR_AT = 32,  /* 11 bits */
    RACE_STREAM_AT = 43, /* 12 bits: 1 + stream, 0: complete */
    RACE_ATOMIC_AT = 55  /* 8 bits: type and atomicity domain of an atomic, 0: not atomic */
};
#define RACE_FIELD(BITS, AT, WIDTH) ((unsigned)((BITS) >> (AT) & ((1u << (WIDTH)) - 1)))
#define RACE_MASK_OF(BITS) RACE_FIELD(BITS, RACE_MASK_AT, 8)
#define RACE_KIND_OF(BITS) RACE_FIELD(BITS, RACE_KIND_AT, 4)
#define RACE_ACTOR_OF(BITS) RACE_FIELD(BITS, RACE_ACTOR_AT, 11)
#define RACE_STREAM_OF(BITS) RACE_FIELD(BITS, RACE_STREAM_AT, 12)
#define RACE_ATOMIC_OF(BITS) RACE_FIELD(BITS, RACE_ATOMIC_AT, 8)
#define RACE_PLACE_OF(BITS) RACE_FIELD(BITS, 0, 20)

struct race_access {
    struct race_thread *u;
    uint64_t bits; /* kind, actor, stream, atomic */
    uint64_t when; /* the first word */
    const void *pc;
    const char *routine;
    uint32_t place; /* in a kernel; 0: pc and routine say it */
};

/* ---- one word, in the shadow ---------------------------------------------------------------------------------------------
 * From the low bits: 16 of a reference, to the place or to a record of a pending access (record.h), 8 of the mask, 4 of the kind, and the
 * moment: the actor, in as many bits as the job has actors, and its epoch in the rest. 0: free.
 */
enum { RACE_CELL_MASK_AT = 16, RACE_CELL_KIND_AT = 24, RACE_MOMENT_AT = 28, RACE_MOMENT_BITS = 64 - RACE_MOMENT_AT };
#define RACE_CELL_REFERENCE ((uint64_t)0xffff)
#define RACE_CELL_MASK ((uint64_t)0xff << RACE_CELL_MASK_AT)
#define RACE_CELL_WHO_AND_KIND (~(uint64_t)0 << RACE_CELL_KIND_AT)
#define RACE_CELL_KIND_OF(CELL) RACE_FIELD(CELL, RACE_CELL_KIND_AT, 4)

/* A byte range of memory: of a PE's segment, or private (segment -1, offset is the address). */
struct race_where {
    int pe, segment;
    uint64_t offset;
    size_t bytes;
};

/* What the older access lacks. */
enum race_missing { RACE_NOTHING, RACE_NO_ORDER, RACE_NO_COMPLETION };

static inline int race_kind_writes(unsigned kind)
{
    const unsigned writes = 1u << RACE_STORE | 1u << RACE_PUT | 1u << RACE_AMO | 1u << RACE_AMO_FETCH |
                            1u << RACE_AMO_NBI | 1u << RACE_DEST | 1u << RACE_COLL_WRITE;
    return writes >> kind & 1;
}

static inline int race_kind_is_atomic(unsigned kind)
{
    const unsigned atomic = 1u << RACE_AMO | 1u << RACE_AMO_READ | 1u << RACE_AMO_FETCH | 1u << RACE_AMO_NBI_READ | 1u << RACE_AMO_NBI;
    return atomic >> kind & 1;
}

#endif
