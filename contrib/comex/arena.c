/* arena.c - give out parts of this process's arena: first fit, blocks in the order of their addresses, neighbours that are free become one. */
#if HAVE_CONFIG_H
#include "config.h"
#endif
#include <stdint.h>
#include <stdlib.h>

#include "comex_impl.h"

enum { ALIGN = 64 };

/* Before each block. The sum of all sizes is the arena's. */
struct head {
    size_t bytes; /* with the head */
    struct head *before;
    int used;
    char pad[ALIGN - sizeof(size_t) - sizeof(void *) - sizeof(int)];
};

static struct head *first;
static char *end;

static struct head *after(const struct head *h)
{
    char *next = (char *)h + h->bytes;
    return next < end ? (struct head *)next : NULL;
}

void comex_arena_init(void *at, size_t bytes)
{
    first = at;
    end = (char *)at + bytes / ALIGN * ALIGN;
    *first = (struct head){.bytes = (size_t)(end - (char *)at)};
}

static void split(struct head *h, size_t bytes)
{
    if (h->bytes < bytes + 2 * sizeof *h)
        return;
    struct head *rest = (struct head *)((char *)h + bytes);
    *rest = (struct head){.bytes = h->bytes - bytes, .before = h};
    h->bytes = bytes;
    if (after(rest))
        after(rest)->before = rest;
}

void *comex_arena_alloc(size_t bytes)
{
    if (bytes == 0 || bytes > (size_t)(end - (char *)first))
        return NULL;
    bytes = (bytes + sizeof(struct head) + ALIGN - 1) / ALIGN * ALIGN;
    struct head *h = first;
    while (h && (h->used || h->bytes < bytes))
        h = after(h);
    if (!h)
        return NULL;
    split(h, bytes);
    h->used = 1;
    return h + 1;
}

/* h takes the block after it. */
static void join(struct head *h)
{
    struct head *next = after(h);
    if (!next || next->used || h->used)
        return;
    h->bytes += next->bytes;
    if (after(h))
        after(h)->before = h;
}

void comex_arena_free(void *block)
{
    if (!block)
        return;
    struct head *h = (struct head *)block - 1;
    if ((char *)h < (char *)first || (char *)h >= end || !h->used)
        COMEX_DIE("%p is not a block of comex_malloc or comex_malloc_local", block);
    h->used = 0;
    join(h);
    if (h->before)
        join(h->before);
}
