/* wide.h - accesses and updates of 16 bytes that no other access divides. The address is aligned to 16 bytes. */
#ifndef ZC_WIDE_H
#define ZC_WIDE_H

#include <stdint.h>

struct zc_wide {
    uint64_t word[2];
};

/* Each is sequentially consistent. */
struct zc_wide zc_wide_load(const void *at);
void zc_wide_store(void *at, struct zc_wide v);
struct zc_wide zc_wide_exchange(void *at, struct zc_wide v);
/* If the memory equals cond, store v. Returns what it was. */
struct zc_wide zc_wide_swap(void *at, struct zc_wide cond, struct zc_wide v);

#endif
