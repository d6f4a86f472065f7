/* guard.h - checked and translated addresses; reports of faults and crashes. */
#ifndef ZC_GUARD_H
#define ZC_GUARD_H

#include "ze_cpu/launch.h"

/* The address to access for addr of the kernel, or 0 after recording a fault in x. what: the kind of access, for the report. */
uint64_t zc_guard_address(struct zc_vm *x, const struct zc_item *it, uint64_t addr, uint64_t bytes, const char *what);
/* Write the recorded fault to stderr. */
void zc_guard_report(const struct zc_vm *x, const struct zc_item *it);

/* Install handlers that report in which kernel a crash (SIGSEGV, SIGBUS) happened, and then let it happen. */
void zc_guard_up(void);
/* This thread runs l; NULL: no kernel. */
void zc_guard_run(const struct zc_launch *l);

#endif
