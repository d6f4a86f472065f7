/* vm.h - the virtual machine: runs one work-item. */
#ifndef ZC_VM_H
#define ZC_VM_H

#include "ze_cpu/launch.h"

/* Run a work-item until it stops; its pc is where it continues. */
enum zc_stop zc_vm_run(struct zc_vm *x, struct zc_item *it);
/* Note that instruction i polled `value`. Other than STOP_NOT: the work-item yields, and its pc is after i. */
enum zc_stop zc_vm_polled(struct zc_item *it, const struct zc_ins *i, uint64_t value);
/* The address a if it belongs to that storage class for the work-item, else 0. */
uint64_t zc_vm_to_space(const struct zc_item *it, uint64_t a, uint32_t storage);
/* Translated code, called by OP_NATIVE. left: what remains of the quantum. Either returns the instruction that the interpreter
 * continues with and the rest of the quantum, or sets pc and returns no instruction and an enum zc_stop. */
struct zc_resume {
    const struct zc_ins *next;
    uint64_t left; /* or enum zc_stop */
};
typedef struct zc_resume (*zc_native_code)(uint8_t *frame, struct zc_item *it, uint64_t left);

#endif
