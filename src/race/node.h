/*
 * node.h - the file that all PEs of the job map: counters, places, clocks of words, and the cells of each PE's symmetric memory.
 *
 * It is a memfd of PE 0, sparse: only what is accessed takes memory. Its PEs are those of one host, whatever the transport is.
 */
#ifndef RACE_NODE_H
#define RACE_NODE_H

#include "race/cell.h"

enum { RACE_STATICS, RACE_HEAP, RACE_SEGMENTS };
enum { RACE_MODULES = 64, RACE_MODULE_NAME = 256, RACE_PLACES = 1 << 20, RACE_SYNCS = 1 << 14, RACE_SEEN = 1 << 12 };

struct race_place {
    uint64_t key;     /* 0: free; a hash of the rest, 1: being filled */
    uint64_t offset;  /* of the return address in its module's file */
    uint32_t module;  /* index of `module` */
    uint32_t routine; /* 0: a load or store of the program; else index + 1 of `routine` */
};

struct race_shared {
    uint32_t rows, races, leaving;
    uint64_t seen[RACE_SEEN];
    uint64_t module_key[RACE_MODULES];
    char module[RACE_MODULES][RACE_MODULE_NAME];
    uint64_t routine_key[1024 * 8];
    char routine[1024 * 8][64];
    uint64_t sync_key[RACE_SYNCS];
    struct race_place place[RACE_PLACES];
};

extern RACE_HIDDEN struct race_node {
    int me, pes;
    struct race_shared *shared;
    uintptr_t lo[RACE_SEGMENTS], hi[RACE_SEGMENTS]; /* of this process; lo on a page */
    char *cells;                                    /* of PE 0 */
    size_t cells_bytes;                             /* of one PE */
    size_t heap_cells;                              /* where the heap's begin in a PE's */
    char *syncs;
} race_node;

/* After pshmem_init: find the symmetric segments, make or map the file. Ends the job where a PE cannot map it. */
void race_node_up(void);

/* The segment of an address of this process and the offset in it; -1: private memory. */
int race_node_find(uintptr_t addr, uint64_t *offset);

static inline char *race_node_cells(int pe, int segment, uint64_t offset)
{
    return race_node.cells + (size_t)pe * race_node.cells_bytes + (segment == RACE_HEAP ? race_node.heap_cells : 0) +
           offset / RACE_GRANULE * RACE_GRANULE * RACE_SHADOW;
}

#endif
