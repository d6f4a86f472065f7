/* guard.h - checked addresses, and reports of faults and crashes. */
#ifndef ZC_GUARD_H
#define ZC_GUARD_H

#include "ze_cpu/launch.h"

/* The address to use for one that the kernel named, or 0 after noting a fault. */
uint64_t zc_vm_guard(struct zc_vm *x, const struct zc_item *it, uint64_t addr, uint64_t bytes, const char *what);
void zc_vm_report(const struct zc_vm *x, const struct zc_item *it);
/* Say of a crash (SIGSEGV, SIGBUS) whose kernel's it was, and let it happen. From now on; this thread runs l, NULL: none. */
void zc_guard_up(void);
void zc_guard_run(const struct zc_launch *l);

#endif
