/*
 * carryless.h - products without carries, of words of 64 bits, with the processor's instruction for them.
 *
 * No state, no I/O.
 */
#ifndef SHI_CARRYLESS_H
#define SHI_CARRYLESS_H

#include <stddef.h>
#include <stdint.h>

/* Does this processor have the instruction? */
int shi_carryless_here(void);

/* Only there: the sum in GF(2)[x], in 128 bits, of the products (m[0] + key[0]) (m[1] + key[1]), (m[2] + key[2]) (m[3] + key[3]) and so on
 * of the words m of a message of `bytes` bytes, which needs no alignment and is padded with zeros to pairs of words. key: as many words
 * as m, aligned to 16 bytes. */
void shi_carryless_sum(const char *message, const uint64_t *key, size_t bytes, uint64_t out[2]);

#endif
