/*
 * node.h - the file that all PEs of the job map: counters, places, clocks of words, and the cells of each PE's symmetric memory.
 *
 * It is a memfd of PE 0, sparse: only what is accessed takes memory. Its PEs are those of one host, whatever the transport is.
 */
#ifndef RACE_NODE_H
#define RACE_NODE_H

#include "race/cell.h"

enum { RACE_STATICS, RACE_HEAP, RACE_DEVICE, RACE_ADDED, RACE_ADDED_MOST = 32, RACE_SEGMENTS = RACE_ADDED + RACE_ADDED_MOST };
/* The device heap may come up at any time, and added memory and spaces come and go: their parts of the file have room for so many bytes, behind
 * which nothing is checked. */
#define RACE_DEVICE_BYTES ((size_t)1 << 30)
#define RACE_ADDED_BYTES ((size_t)1 << 28)
enum { RACE_MODULES = 64, RACE_MODULE_NAME = 256, RACE_PLACES = 1 << 15, RACE_SYNCS = 1 << 14, RACE_SEEN = 1 << 12 };

struct race_place {
    uint64_t key;     /* 0: free; a hash of the rest, 1: being filled */
    uint64_t offset;  /* of the return address in its module's file */
    uint16_t module;  /* index of `module` */
    uint16_t routine; /* 0: a load or store of the program; else index + 1 of `routine` */
    uint32_t atomic;  /* as in RACE_ATOMIC_OF */
};

/* Of pending accesses, by actor, as record.h says. */
enum { RACE_RECORDS = 1 << 15 };
struct race_record {
    uint32_t first; /* epoch of the actor: cells before it are forgotten */
    uint32_t stream_epoch;
    uint16_t stream, place;
    uint32_t unused;
};
struct race_ring {
    uint32_t next; /* records taken until now */
    uint32_t unused[15];
    struct race_record record[RACE_RECORDS];
};

/* Of actors that are work-items, as record.h says: by epoch. */
enum { RACE_TURNS = 1 << 14 };
struct race_turn {
    uint32_t epoch, item;
};

/* When an actor made the first access of an epoch from a place, as of trace.h. */
enum { RACE_TIMES = 1 << 13 };
struct race_times {
    uint32_t lock, unused[15];
    struct race_time {
        uint32_t epoch;
        uint16_t place, thread;
        uint64_t ns; /* 0: none */
    } at[RACE_TIMES];
};

struct race_shared {
    uint64_t job; /* at random */
    uint32_t rows, races, leaving, unbiased;
    uint64_t seen[RACE_SEEN];
    uint64_t module_key[RACE_MODULES];
    char module[RACE_MODULES][RACE_MODULE_NAME];
    uint64_t routine_key[1024 * 8];
    char routine[1024 * 8][64];
    uint64_t sync_key[RACE_SYNCS];
    struct {
        uint64_t key; /* 0: free */
        uint32_t pes; /* that have it */
    } added[RACE_ADDED_MOST];
    uint32_t adding; /* lock of these */
    struct race_place place[RACE_PLACES];
};

extern RACE_HIDDEN struct race_node {
    int me, pes;
    struct race_shared *shared;
    uintptr_t lo[RACE_SEGMENTS], bytes[RACE_SEGMENTS]; /* of this process; lo on a page */
    int segments;                                      /* those from this one on have no memory */
    char *cells;                                    /* first pairs: of PE 0; by page of symmetric memory, statics before heap */
    char *pages;                                    /* states of pages, as of page.h, in the same order */
    char *turns;                                    /* of actors, as of record.h */
    char *times;                                    /* of actors, as of trace.h */
    size_t segment_pages[RACE_SEGMENTS];            /* before those of the segment in a PE's */
    size_t pe_pages, second;                        /* second: bytes from a granule's first pair of cells to its second one */
    char *rings;                                    /* of actors, as of record.h */
    char *holders;                                  /* of PEs, as of page.h */
    char *syncs;
} race_node;

/* After pshmem_init: find the symmetric segments, make or map the file. Ends the job where a PE cannot map it. */
void race_node_up(void);

/* The device heap, with its first block, has come up. */
void race_node_device(uintptr_t block);

/* Added memory and spaces: PEs find the segment by a key that they have in common. -1: there is no room. A PE gives it up when no other PE
 * accesses its memory of it. */
int race_node_add(uint64_t key, uintptr_t lo, size_t bytes);
void race_node_remove(int segment);

/* The segment of an address of this process and the offset in it; -1: private memory. */
int race_node_find_any(uintptr_t addr, uint64_t *offset);
static inline int race_node_find(uintptr_t addr, uint64_t *offset)
{
    *offset = addr - race_node.lo[RACE_HEAP];
    return *offset < race_node.bytes[RACE_HEAP] ? RACE_HEAP : race_node_find_any(addr, offset);
}

enum { RACE_PAGE_BITS = 12, RACE_PAGE = 1 << RACE_PAGE_BITS, RACE_PAIR = 16, RACE_PAGE_CELLS = RACE_PAGE / RACE_GRANULE * RACE_PAIR, RACE_LINE = 64 };

/* The number of a page of symmetric memory in the job. */
static inline size_t race_node_page(int pe, int segment, uint64_t offset)
{
    return (size_t)pe * race_node.pe_pages + race_node.segment_pages[segment] + (offset >> RACE_PAGE_BITS);
}

#endif
