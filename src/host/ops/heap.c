/*
 * heap.c - symmetric heap: the offsets of blocks; their contents are never read or written.
 *
 * Every PE makes the same calls in the same order, so equal inputs must give equal offsets: the search may depend
 * only on sizes and past calls, never on addresses, time or thread. The span list lives in private memory, so a stray
 * remote put cannot break the allocator.
 *
 * Spans tile the heap in address order. Free ones also hang in bins, eight to a power of two; a request takes from
 * the first bin whose every span is long enough, so the time does not grow with the number of blocks. Blocks in use
 * are found by a hash of their offset, and the one in which an offset is by a search in the array `order`, which the next
 * shi_heap_find makes anew after a change: only SHMEM_CHECK=1 calls it, and it finds far more often than blocks change.
 */
#include "host/ops/heap.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "host/util/base.h"
#include "host/util/log.h"

struct span {
    size_t off, bytes;
    size_t asked;               /* used: the bytes that were requested */
    struct span *below, *above; /* in address order */
    struct span *prev, *next;   /* in its bin when free, in its hash chain when used */
    int used;
};

enum { STEPS = 8, BINS = 64 * STEPS };

struct shi_heap {
    struct span *bins[BINS];
    uint64_t bin_full[BINS / 64];
    struct span **chains;
    size_t n_chains, n_used;
    struct span *first;
    size_t gap;                 /* behind each block */
    pthread_mutex_t lock;       /* held by calls that change spans, and by shi_heap_find */
    const struct span **order;  /* n_order: all spans in address order; 0: to be made anew */
    size_t n_order;
};

/* The bin of spans of this length: bins are ordered, and equal bins differ by less than an eighth. */
static int bin_of(size_t bytes)
{
    size_t units = bytes / SHI_HEAP_ALIGN;
    if (units < STEPS)
        return (int)units;
    int log = 63 - __builtin_clzl(units);
    return (log - 2) * STEPS + (int)((units >> (log - 3)) & (STEPS - 1));
}

static void list_add(struct span **head, struct span *s)
{
    s->prev = NULL;
    s->next = *head;
    if (*head)
        (*head)->prev = s;
    *head = s;
}

static void list_remove(struct span **head, struct span *s)
{
    if (s->prev)
        s->prev->next = s->next;
    else
        *head = s->next;
    if (s->next)
        s->next->prev = s->prev;
}

static void bin_add(struct shi_heap *h, struct span *s)
{
    int b = bin_of(s->bytes);
    list_add(&h->bins[b], s);
    h->bin_full[b / 64] |= 1ull << (b % 64);
}

static void bin_remove(struct shi_heap *h, struct span *s)
{
    int b = bin_of(s->bytes);
    list_remove(&h->bins[b], s);
    if (!h->bins[b])
        h->bin_full[b / 64] &= ~(1ull << (b % 64));
}

static size_t hash(const struct shi_heap *h, size_t off)
{
    return (off / SHI_HEAP_ALIGN * 0x9e3779b97f4a7c15) >> 20 & (h->n_chains - 1);
}

static struct span *find_used(const struct shi_heap *h, size_t off)
{
    struct span *s = h->chains[hash(h, off)];
    while (s && s->off != off)
        s = s->next;
    return s;
}

/* Keep chains short. Failing to grow costs time, nothing else. */
static void grow_chains(struct shi_heap *h)
{
    struct span **old = h->chains;
    size_t n_old = h->n_chains;
    struct span **wider = calloc(n_old * 2, sizeof *wider);
    if (!wider)
        return;
    h->chains = wider;
    h->n_chains = n_old * 2;
    for (size_t i = 0; i < n_old; i++) {
        for (struct span *s = old[i], *next; s; s = next) {
            next = s->next;
            list_add(&h->chains[hash(h, s->off)], s);
        }
    }
    free(old);
}

static void mark_used(struct shi_heap *h, struct span *s, size_t asked)
{
    s->used = 1;
    s->asked = asked;
    if (++h->n_used > h->n_chains * 2)
        grow_chains(h);
    list_add(&h->chains[hash(h, s->off)], s);
}

struct shi_heap *shi_heap_up(size_t bytes)
{
    struct shi_heap *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    pthread_mutex_init(&h->lock, NULL);
    h->n_chains = 256;
    h->chains = calloc(h->n_chains, sizeof *h->chains);
    h->first = calloc(1, sizeof *h->first);
    if (!h->chains || !h->first) {
        shi_heap_down(h);
        return NULL;
    }
    h->first->bytes = bytes / SHI_HEAP_ALIGN * SHI_HEAP_ALIGN;
    if (h->first->bytes)
        bin_add(h, h->first);
    return h;
}

void shi_heap_down(struct shi_heap *h)
{
    if (!h)
        return;
    for (struct span *s = h->first, *above; s; s = above) {
        above = s->above;
        free(s);
    }
    free(h->chains);
    free(h->order);
    free(h);
}

void shi_heap_gap(struct shi_heap *h, size_t bytes)
{
    h->gap = bytes;
}

/* Before a change of the spans; at its end: unlock. */
static void lock(struct shi_heap *h)
{
    pthread_mutex_lock(&h->lock);
    h->n_order = 0;
}

static void unlock(struct shi_heap *h)
{
    pthread_mutex_unlock(&h->lock);
}

/* Cut s after `bytes` and return the new upper part, in no list yet. Without memory the job ends: other PEs cut theirs. */
static struct span *cut(struct span *s, size_t bytes)
{
    struct span *up = calloc(1, sizeof *up);
    if (!up)
        shi_die("symmetric heap", "out of memory for the record of a block of %zu bytes", bytes);
    *up = (struct span){.off = s->off + bytes, .bytes = s->bytes - bytes, .below = s, .above = s->above};
    if (s->above)
        s->above->below = up;
    s->above = up;
    s->bytes = bytes;
    return up;
}

/* Append the span above to s; both are in no list. */
static void join(struct span *s)
{
    struct span *up = s->above;
    s->bytes += up->bytes;
    s->above = up->above;
    if (up->above)
        up->above->below = s;
    free(up);
}

static int fits(const struct span *s, size_t bytes, size_t align)
{
    size_t skip = shi_round_up(s->off, align) - s->off;
    return s->bytes >= bytes && s->bytes - bytes >= skip;
}

/* A free span that fits, or NULL: the first of the lowest bin in which every span fits, else a search of the bins below. */
static struct span *find_free(const struct shi_heap *h, size_t bytes, size_t align)
{
    size_t most = bytes + (align > SHI_HEAP_ALIGN ? align : 0);
    int sure = bin_of(most) + 1;
    for (int w = sure / 64; w < BINS / 64; w++) {
        uint64_t full = h->bin_full[w] & (w == sure / 64 ? ~0ull << (sure % 64) : ~0ull);
        if (full)
            return h->bins[w * 64 + __builtin_ctzll(full)];
    }
    for (int b = bin_of(bytes); b < sure; b++)
        for (struct span *s = h->bins[b]; s; s = s->next)
            if (fits(s, bytes, align))
                return s;
    return NULL;
}

int shi_heap_get(struct shi_heap *h, size_t bytes, size_t align, size_t *off)
{
    if (bytes > SIZE_MAX / 4 || align > SIZE_MAX / 4)
        return -ENOMEM;
    size_t asked = bytes;
    bytes = shi_round_up(bytes + h->gap, SHI_HEAP_ALIGN);
    align = align > SHI_HEAP_ALIGN ? align : SHI_HEAP_ALIGN;
    struct span *s = find_free(h, bytes, align);
    if (!s)
        return -ENOMEM;
    lock(h);
    bin_remove(h, s);
    size_t skip = shi_round_up(s->off, align) - s->off;
    struct span *mine = skip ? cut(s, skip) : s;
    if (mine != s)
        bin_add(h, s);
    struct span *rest = mine->bytes > bytes ? cut(mine, bytes) : NULL;
    if (rest)
        bin_add(h, rest);
    mark_used(h, mine, asked);
    unlock(h);
    *off = mine->off;
    return 0;
}

void shi_heap_room(const struct shi_heap *h, size_t *free_bytes, size_t *largest)
{
    *free_bytes = *largest = 0;
    for (const struct span *s = h->first; s; s = s->above) {
        if (s->used)
            continue;
        *free_bytes += s->bytes;
        *largest = s->bytes > *largest ? s->bytes : *largest;
    }
}

int shi_heap_put(struct shi_heap *h, size_t off)
{
    struct span *s = find_used(h, off);
    if (!s)
        return -EINVAL;
    lock(h);
    list_remove(&h->chains[hash(h, off)], s);
    h->n_used--;
    s->used = 0;
    if (s->above && !s->above->used) {
        bin_remove(h, s->above);
        join(s);
    }
    if (s->below && !s->below->used) {
        s = s->below;
        bin_remove(h, s);
        join(s);
    }
    bin_add(h, s);
    unlock(h);
    return 0;
}

size_t shi_heap_length(const struct shi_heap *h, size_t off)
{
    struct span *s = find_used(h, off);
    return s ? s->asked : 0;
}

/* Without memory for it n_order stays 0. */
static void sort_spans(struct shi_heap *h)
{
    size_t n = 0;
    for (const struct span *s = h->first; s; s = s->above)
        n++;
    const struct span **order = realloc(h->order, n * sizeof *order);
    if (!order)
        return;
    h->order = order;
    for (const struct span *s = h->first; s; s = s->above)
        order[h->n_order++] = s;
}

int shi_heap_find(struct shi_heap *h, size_t off, struct shi_heap_part *out)
{
    pthread_mutex_lock(&h->lock);
    if (!h->n_order)
        sort_spans(h);
    size_t low = 0, end = h->n_order; /* the last span that begins at or before off is in [low, end) */
    while (end - low > 1) {
        size_t middle = low + (end - low) / 2;
        if (h->order[middle]->off <= off)
            low = middle;
        else
            end = middle;
    }
    const struct span *s = end ? h->order[low] : h->first;
    while (!h->n_order && s->above && s->above->off <= off)
        s = s->above;
    int inside = off - s->off < s->bytes;
    *out = (struct shi_heap_part){s->off, s->used ? s->asked : s->bytes, s->used};
    unlock(h);
    return inside;
}

int shi_heap_resize(struct shi_heap *h, size_t off, size_t bytes)
{
    struct span *s = find_used(h, off);
    if (!s)
        return -EINVAL;
    if (bytes > SIZE_MAX / 4)
        return -ENOMEM;
    size_t asked = bytes;
    bytes = shi_round_up(bytes + h->gap, SHI_HEAP_ALIGN);
    int above_free = s->above && !s->above->used;
    size_t room = s->bytes + (above_free ? s->above->bytes : 0);
    if (room < bytes)
        return -ENOMEM;
    lock(h);
    s->asked = asked;
    if (above_free) {
        bin_remove(h, s->above);
        join(s);
    }
    struct span *rest = s->bytes > bytes ? cut(s, bytes) : NULL;
    if (rest)
        bin_add(h, rest);
    unlock(h);
    return 0;
}

/* ---- for a process that joins the job --------------------------------------------------------------------------------- */

/* The order in a bin depends on past calls, which a new process has not made: by address from now on. */
static void order_bins(struct shi_heap *h)
{
    const struct span *last = h->first;
    memset(h->bins, 0, sizeof h->bins);
    memset(h->bin_full, 0, sizeof h->bin_full);
    while (last->above)
        last = last->above;
    for (const struct span *s = last; s; s = s->below)
        if (!s->used && s->bytes)
            bin_add(h, (struct span *)s);
}

size_t shi_heap_parts(const struct shi_heap *h)
{
    size_t n = 0;
    for (const struct span *s = h->first; s; s = s->above)
        n++;
    return n;
}

void shi_heap_give(const struct shi_heap *h, struct shi_heap_part *to)
{
    for (const struct span *s = h->first; s; s = s->above)
        *to++ = (struct shi_heap_part){s->off, s->used ? s->asked : s->bytes, s->used};
}

void shi_heap_order(struct shi_heap *h)
{
    lock(h);
    order_bins(h);
    unlock(h);
}

void shi_heap_take(struct shi_heap *h, const struct shi_heap_part *part, size_t n)
{
    struct span *s = h->first;
    lock(h);
    for (size_t i = 0; i < n; i++) {
        struct span *rest = i + 1 < n ? cut(s, part[i + 1].off - part[i].off) : NULL;
        if (part[i].used)
            mark_used(h, s, part[i].bytes);
        s = rest;
    }
    order_bins(h);
    unlock(h);
}
