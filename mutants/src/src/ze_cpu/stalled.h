/* stalled.h - kernels whose work-items only poll. */
#ifndef ZC_STALLED_H
#define ZC_STALLED_H

#include <stddef.h>
#include <stdint.h>

struct zc_worker;
struct zc_launch;

/* Record that the work-items of the thread's groups only poll. Returns what zc_stalled_leave takes; 0: the table is full. */
unsigned zc_stalled_enter(const struct zc_launch *l, const struct zc_worker *w);
void zc_stalled_leave(unsigned entered);

/*
 * The extension zexCpuStalled: the next recorded thread at or after *at, which advances; 0: none. Outputs: its kernel, the
 * number of its work-items, and up to *words words that the first of them polls (address 0: not known). Async-signal-safe.
 */
int zc_stalled(int *at, char *kernel, size_t room, uint32_t *items, uint64_t *addr, uint64_t *value, uint32_t *words);

#endif
