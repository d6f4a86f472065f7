/* amo_wide.h - compare-and-swap of 16 bytes by an instruction of the CPU, which no other update of the node's memory is atomic with. */
#ifndef SHI_AMO_WIDE_H
#define SHI_AMO_WIDE_H

#include <stdint.h>

enum { SHI_WIDE_BYTES = 16 };

/* 1: this processor has the instruction. */
int shi_wide_is_there(void);

/* If the two words at `at`, aligned to 16 bytes, equal cond, store value. old: what they were. Sequentially consistent. */
void shi_wide_cswap(void *at, const uint64_t value[2], const uint64_t cond[2], uint64_t old[2]);

#endif
