/*
 * kept.h - memory blocks of operations that are in progress: a block that is put back is kept for the next operation, so that
 * operations call malloc only while more are in progress than ever before.
 *
 * Blocks have few sizes, each at most a sixteenth longer than what was requested (with quarters, messages of 1 KiB had 1280 B, and were
 * copied 8 % more slowly). Beyond `most` bytes in unused blocks, blocks are freed: malloc returns the memory of long ones to the kernel,
 * which clears it page by page for the next one.
 *
 *   word             written by    read by       order
 *   size[], bytes    under lock    under lock    lock
 *   a block          its holder from shi_kept_get to shi_kept_put; in between, its first word is the list's
 */
#ifndef SHI_KEPT_H
#define SHI_KEPT_H

#include <stddef.h>
#include <stdint.h>

enum { SHI_KEPT_LOG = 27, SHI_KEPT_SIZES = 16 * (SHI_KEPT_LOG - 6) + 1 }; /* longer blocks are not kept */

struct shi_kept {
    size_t most; /* bytes that it keeps; the rest is 0 at first */
    uint8_t lock;
    size_t bytes;
    struct shi_kept_size {
        void *free;
        uint32_t n, least; /* unused blocks; since the last shi_kept_trim, at least so many */
    } size[SHI_KEPT_SIZES];
};

/* A block, or NULL without memory. Any thread. Pair: shi_kept_put with the same number of bytes. */
void *shi_kept_get(struct shi_kept *k, size_t bytes);
void shi_kept_put(struct shi_kept *k, void *block, size_t bytes);

/* Free the blocks that nothing has used since the last call. Any thread. */
void shi_kept_trim(struct shi_kept *k);

/* Free all unused blocks. */
void shi_kept_clear(struct shi_kept *k);

#endif
