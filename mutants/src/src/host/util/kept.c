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

static size_t bytes_of(int i)
{
    return ((size_t)16 + (size_t)i % 16) << (i / 16 + 2);
}

/* Under lock. */
static void *take(struct shi_kept *k, int i, size_t bytes)
{
    struct shi_kept_size *s = &k->size[i];
    void *block = s->free;
    if (block) {
        memcpy(&s->free, block, sizeof s->free);
        k->bytes -= bytes;
        s->least = --s->n < s->least ? s->n : s->least;
    }
    return block;
}

void *shi_kept_get(struct shi_kept *k, size_t bytes)
{
    size_t requested = bytes;
    int i = size_of(&bytes);
    void *block = NULL;
    if (i < SHI_KEPT_SIZES) {
        shi_spin_lock(&k->lock);
        block = take(k, i, bytes);
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
            memcpy(block, &k->size[i].free, sizeof k->size[i].free);
            k->size[i].free = block;
            k->size[i].n++;
            k->bytes += bytes;
        }
        shi_spin_unlock(&k->lock);
    }
    if (!keeps)
        free(block);
}

/* Free all unused blocks, or those that nothing has used since the last trim. */
static void give_back(struct shi_kept *k, int all)
{
    for (int i = 0; i < SHI_KEPT_SIZES; i++) {
        struct shi_kept_size *s = &k->size[i];
        void *first = NULL, *block;
        shi_spin_lock(&k->lock);
        for (uint32_t n = all ? s->n : s->least; n > 0; n--) {
            block = take(k, i, bytes_of(i));
            memcpy(block, &first, sizeof first);
            first = block;
        }
        s->least = s->n;
        shi_spin_unlock(&k->lock);
        while ((block = first)) {
            memcpy(&first, block, sizeof first);
            free(block);
        }
    }
}

void shi_kept_trim(struct shi_kept *k)
{
    give_back(k, 0);
}

void shi_kept_clear(struct shi_kept *k)
{
    give_back(k, 1);
}
