/* racing.h - report what a kernel does to the library of race.h. All of it is called only where there is one. */
#ifndef ZC_RACING_H
#define ZC_RACING_H

#include "ze_cpu/launch.h"

/* Before an access; what: as in guard.h. Returns the address to access: another one for words that the device library reports. */
uint64_t zc_racing_access(const struct zc_vm *x, const struct zc_item *it, const struct zc_ins *i, uint64_t addr, size_t bytes, const char *what);
void zc_racing_fence(const struct zc_vm *x, const struct zc_item *it, int order);

#endif
