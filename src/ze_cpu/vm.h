/* vm.h - the virtual machine: runs one work-item. */
#ifndef ZC_VM_H
#define ZC_VM_H

#include "ze_cpu/launch.h"

/* Run an item until it stops. */
enum zc_stop zc_vm_run(struct zc_vm *x, struct zc_item *it);
/* i has polled value: whether the item gives up its turn. Then its pc is behind i. */
enum zc_stop zc_vm_polled(struct zc_item *it, const struct zc_ins *i, uint64_t value);
/* The address a if it is of that storage class for the item, or 0. */
uint64_t zc_vm_to_space(const struct zc_item *it, uint64_t a, uint32_t storage);
/* What OP_NATIVE calls. Returns the instruction to go on with and the jumps left; or none, and why it stopped, pc set. */
struct zc_resume {
    const struct zc_ins *next;
    uint64_t left; /* or enum zc_stop */
};
typedef struct zc_resume (*zc_native_code)(uint8_t *frame, struct zc_item *it, uint64_t left);

#endif
