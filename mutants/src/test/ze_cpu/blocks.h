/* blocks.h - shuffles the basic blocks of a SPIR-V module. */
#ifndef BLOCKS_H
#define BLOCKS_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

enum { BLOCKS_LABEL = 248, BLOCKS_FUNCTION_END = 56 };

/* Shuffle the blocks between w[at] and w[end], which start at the labels given. */
static void shuffle_range(uint32_t *w, const uint32_t *start, uint32_t n, uint32_t end, unsigned *random)
{
    uint32_t *order = malloc(n * sizeof *order), *copy = malloc((end - start[0]) * 4u), at = 0;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        uint32_t j = tap_random(random) % i, t = order[j];
        order[j] = order[i - 1];
        order[i - 1] = t;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t from = start[order[i]], to = order[i] + 1 < n ? start[order[i] + 1] : end;
        memcpy(copy + at, w + from, (to - from) * 4u);
        at += to - from;
    }
    memcpy(w + start[0], copy, at * 4u);
    free(order);
    free(copy);
}

/* Shuffle all blocks but the entry block of each function in w[0..n). */
static void shuffle_blocks(uint32_t *w, uint32_t n, unsigned *random)
{
    uint32_t *start = malloc(n * sizeof *start), labels = 0;
    for (uint32_t i = 5; i < n && w[i] >> 16 && w[i] >> 16 <= n - i; i += w[i] >> 16) {
        if ((w[i] & 0xffff) == BLOCKS_LABEL)
            start[labels++] = i;
        if ((w[i] & 0xffff) != BLOCKS_FUNCTION_END)
            continue;
        if (labels > 2)
            shuffle_range(w, start + 1, labels - 1, i, random);
        labels = 0;
    }
    free(start);
}

#endif
