/*
 * kept.c - blocks that are kept for later operations: their sizes, the bound on unused ones, and which of them a trim frees.
 */
#include "host/util/kept.h"

#include <stdlib.h>
#include <string.h>

#include "../tap.h"

#ifdef __SANITIZE_ADDRESS__
enum { KEEPS = 0 }; /* kept.c keeps nothing then */
#else
enum { KEEPS = 1 };
#endif
enum { MOST = 1 << 20 };

/* Catches: a block that is shorter than requested, or one of another size; a count of bytes that drifts. */
static void sizes(void)
{
    for (size_t bytes = 1; bytes < 3 * MOST; bytes += 1 + bytes / 7) {
        struct shi_kept k = {.most = MOST};
        char *block = shi_kept_get(&k, bytes);
        if (!block)
            continue;
        memset(block, 1, bytes);
        shi_kept_put(&k, block, bytes);
        int kept = k.bytes > 0;
        CHECKF(!kept || (k.bytes >= bytes && k.bytes <= MOST && k.bytes <= 64 + bytes + bytes / 16), "%zu bytes: a block of %zu", bytes,
               k.bytes);
        CHECKF(kept || !KEEPS || bytes > MOST - MOST / 16, "%zu bytes are not kept", bytes);
        char *again = shi_kept_get(&k, bytes);
        CHECKF((!kept || again == block) && k.bytes == 0, "%zu bytes: another block, or %zu left", bytes, k.bytes);
        shi_kept_put(&k, again, bytes);
        shi_kept_clear(&k);
        CHECK(k.bytes == 0);
    }
}

/* Catches: a trim that frees what was used since the last one, or keeps what was not. */
static void trims(void)
{
    if (!KEEPS)
        return;
    struct shi_kept k = {.most = MOST};
    void *block[4];
    for (int i = 0; i < 4; i++)
        block[i] = shi_kept_get(&k, 5000);
    for (int i = 0; i < 4; i++)
        shi_kept_put(&k, block[i], 5000);
    size_t four = k.bytes;
    shi_kept_trim(&k);
    CHECK(k.bytes == four); /* all were in use since the start */
    for (int i = 0; i < 3; i++) {
        void *used = shi_kept_get(&k, 5000);
        shi_kept_put(&k, used, 5000);
        shi_kept_trim(&k);
        CHECKF(k.bytes == four / 4, "after a trim %zu of %zu bytes, one block was used", k.bytes, four);
    }
    shi_kept_trim(&k);
    CHECK(k.bytes == 0);
}

int main(void)
{
    RUN(sizes, "blocks are as long as requested, are used again, and are freed beyond the bound");
    RUN(trims, "a trim frees the blocks that nothing has used since the last one");
    return tap_end();
}
