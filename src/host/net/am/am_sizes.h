/* am_sizes.h - for am_shm.c: how many slots and cells the PEs of a node have for messages, and of what size. */
#ifndef SHI_AM_SIZES_H
#define SHI_AM_SIZES_H

#include "host/util/base.h"

enum {
    SLOT_BYTES = 5 * SHI_LINE_BYTES, /* a tagged message of 256 bytes with its header */
    FEW_PES = 32, SHORT_SLOT_BYTES = 2 * SHI_LINE_BYTES, /* of nodes with more PEs than that, to save memory */
    MOST_SLOTS = 128,   /* few: the lines of a FIFO that is emptied as it fills stay in the caches */
    CELL_BYTES = 4096,  /* a page, beyond which no processor prefetches */
    PAIR_CELLS = 64, MOST_CELLS = 256, NODE_CELLS = 8192 /* of a pair and of a PE, at most; of a node */
};

/* The more PEs a node has, the fewer slots a pair has: FIFOs take memory with the square of the PEs. */
static inline int slots_of(int n_local)
{
    return n_local <= 16 ? MOST_SLOTS : n_local <= 64 ? MOST_SLOTS / 4 : n_local <= 256 ? MOST_SLOTS / 8 : MOST_SLOTS / 16;
}

static inline size_t slot_bytes_of(int n_local)
{
    return n_local <= FEW_PES ? SLOT_BYTES : SHORT_SLOT_BYTES;
}

static inline int cells_of(int n_local)
{
    int each = NODE_CELLS / n_local / 64 * 64, pairs = (n_local - 1) * PAIR_CELLS;
    each = each < MOST_CELLS ? each : MOST_CELLS;
    each = each < pairs ? each : pairs;
    return each < PAIR_CELLS ? PAIR_CELLS : each;
}

#endif
