/* stalled.h - kernels whose work-items only poll. */
#ifndef ZC_STALLED_H
#define ZC_STALLED_H

#include <stddef.h>
#include <stdint.h>

struct zc_worker;
struct zc_launch;
/* The items of the thread's groups have only polled for some time, until leave of what enter returned. */
unsigned zc_stalled_enter(const struct zc_launch *l, const struct zc_worker *w);
void zc_stalled_leave(unsigned entered);
/* The extension zexCpuStalled: the next such thread at or after *at, which moves on; 0: there is none. Its kernel, how many
 * items it has, and the words that the first of them polls, up to *words; address 0: not known. Async-signal-safe. */
int zc_stalled(int *at, char *kernel, size_t room, uint32_t *items, uint64_t *addr, uint64_t *value, uint32_t *words);

#endif
