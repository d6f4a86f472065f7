/*
 * cell.h - what a cell of the shadow holds, and an access that is checked against cells.
 */
#ifndef RACE_CELL_H
#define RACE_CELL_H

#include "race/race.h"

/* Bytes of a granule; its cells; bytes of cells for a byte of memory. */
enum { RACE_GRANULE = 8, RACE_CELLS = 4, RACE_SHADOW = 8 };

/* A cell is two words: epoch | stream's epoch << 32, and these fields. */
enum {
    RACE_MASK_AT = 20,   /* below: the place */
    RACE_KIND_AT = 28,   /* 4 bits */
    RACE_ACTOR_AT = 32,  /* 11 bits */
    RACE_STREAM_AT = 43, /* 12 bits: 1 + stream, 0: complete */
    RACE_ATOMIC_AT = 55, /* 8 bits: type and atomicity domain of an atomic, 0: not atomic */
    RACE_LOCK_AT = 63
};
#define RACE_FIELD(BITS, AT, WIDTH) ((unsigned)((BITS) >> (AT) & ((1u << (WIDTH)) - 1)))
#define RACE_KIND_OF(BITS) RACE_FIELD(BITS, RACE_KIND_AT, 4)
#define RACE_ACTOR_OF(BITS) RACE_FIELD(BITS, RACE_ACTOR_AT, 11)
#define RACE_STREAM_OF(BITS) RACE_FIELD(BITS, RACE_STREAM_AT, 12)
#define RACE_ATOMIC_OF(BITS) RACE_FIELD(BITS, RACE_ATOMIC_AT, 8)
#define RACE_PLACE_OF(BITS) RACE_FIELD(BITS, 0, 20)

struct race_access {
    struct race_thread *u;
    uint64_t bits; /* kind, actor, stream, atomic */
    uint64_t when; /* the first word of a cell */
    const void *pc;
    const char *routine;
};

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

#endif
