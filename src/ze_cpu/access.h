/* access.h - which bytes of the frame an instruction reads and writes. */
#ifndef ZC_ACCESS_H
#define ZC_ACCESS_H

#include "ze_cpu/module.h"

/* Bytes of the frame that an instruction reads or writes. */
struct zc_access {
    uint32_t slot, size;
    bool read, write;
};
enum { ZC_ACCESSES = 4 };

/* What i accesses in the frame. -1: 8 work-items cannot execute it at once. */
int zc_accesses(const struct zc_ins *i, struct zc_access v[ZC_ACCESSES]);

#endif
