/* count.h - what kernels do (ZE_CPU_COUNT): instructions of the interpreter; loads, stores and atomic updates, by the memory that they
 * reach; fences; the longest chain of loads. */
#ifndef ZC_COUNT_H
#define ZC_COUNT_H

#include <stddef.h>
#include <stdint.h>

struct zc_ins;
struct zc_item;
struct zc_module;

/* Of this process's devices; opened by an IPC handle; of the host; frames, local memory and the module's variables. */
enum zc_memory { MEMORY_OWN, MEMORY_PEER, MEMORY_HOST, MEMORY_OTHER, MEMORIES };

/* A release, of a store or an update, is a fence, too. Copies of whole objects (OP_COPY, ASYNC_COPY) are not counted. */
struct zc_counts {
    const char *before; /* the last access, and the address behind it */
    uint64_t next, instructions, loads[MEMORIES], atomic_loads[MEMORIES], stores[MEMORIES], updates[MEMORIES], fences;
    uint64_t chain; /* of loads and updates, except of other memory, each at an address or with a value that needs the one before it */
};

/* Count an instruction, before the work-item executes it, and follow its operands: it->chain has for each byte of the frame how many loads
 * its value needs, one after the other. Through memory and from one work-item to another these are not followed. */
void zc_count_step(struct zc_counts *c, const struct zc_module *m, const struct zc_item *it, const struct zc_ins *i);
/* Count the access of an instruction to an address; what: as in guard.h. Elements of a vector of 16 bytes or less are one access. */
void zc_count_access(struct zc_counts *c, const struct zc_item *it, const struct zc_ins *i, uint64_t addr, size_t bytes, const char *what);
/* Add to what the kernel of this name has done. The sums of all kernels are printed when the process ends. */
void zc_count_add(const char *kernel, const struct zc_counts *c);

#endif
