/* kept.c - see kept.h. */
#include "host/util/kept.h"

#include <stdlib.h>
#include <string.h>

#include "host/util/spin.h"

enum { LEAST = 64 };

#ifdef __SANITIZE_ADDRESS__ /* it finds accesses beyond a block of malloc only */
enum { KEEPS = 0 };
#else
enum { KEEPS = 1 };
#endif

/* The size's number, and its bytes: LEAST * 2^i * (16 to 31) / 16. */
static int size_of(size_t *bytes)
{
    size_t n = *bytes < LEAST ? LEAST : *bytes;
    int log = 63 - __builtin_clzll(n);
    size_t step = (size_t)1 << (log - 4), parts = (n - ((size_t)1 << log) + step - 1) / step;
    *bytes = ((size_t)1 << log) + parts * step;
    return 16 * (log - 6) + (int)parts;
}

void *shi_kept_get(struct shi_kept *k, size_t bytes)
{
    size_t requested = bytes;
    int i = size_of(&bytes);
    void *block = NULL;
    if (i < SHI_KEPT_SIZES) {
        shi_spin_lock(&k->lock);
        if ((block = k->free[i])) {
            memcpy(&k->free[i], block, sizeof k->free[i]);
            k->bytes -= bytes;
        }
        shi_spin_unlock(&k->lock);
    }
    return block ? block : malloc(KEEPS ? bytes : requested);
}

void shi_kept_put(struct shi_kept *k, void *block, size_t bytes)
{
    int i = size_of(&bytes), keeps = 0;
    if (!block)
        return;
    if (i < SHI_KEPT_SIZES) {
        shi_spin_lock(&k->lock);
        if ((keeps = KEEPS && k->bytes + bytes <= k->most)) {
            memcpy(block, &k->free[i], sizeof k->free[i]);
            k->free[i] = block;
            k->bytes += bytes;
        }
        shi_spin_unlock(&k->lock);
    }
    if (!keeps)
        free(block);
}

void shi_kept_clear(struct shi_kept *k)
{
    shi_spin_lock(&k->lock);
    for (int i = 0; i < SHI_KEPT_SIZES; i++)
        for (void *block; (block = k->free[i]);) {
            memcpy(&k->free[i], block, sizeof k->free[i]);
            free(block);
        }
    k->bytes = 0;
    shi_spin_unlock(&k->lock);
}
