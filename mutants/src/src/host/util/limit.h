/*
 * limit.h - at most `most` items at a time; the others wait in a FIFO. Nothing blocks: the item that ends returns the next.
 *
 *   word   written by                         read by    order
 *   all    threads that begin or end items    the same   lock
 */
#ifndef SHI_LIMIT_H
#define SHI_LIMIT_H

#include "host/util/spin.h"

/* A member of each item. NULL before begin and after end; else the next item that waits, or itself when none follows. */
struct shi_limited {
    struct shi_limited *next;
};

struct shi_limit {
    uint8_t lock;
    int most, n;
    struct shi_limited *first, **last; /* items that wait */
};
#define SHI_LIMIT_INIT(limit, limit_most) {.most = (limit_most), .last = &(limit).first}

/* 1: the item begins now; 0: later, when shi_limit_end returns it. */
static inline int shi_limit_begin(struct shi_limit *l, struct shi_limited *item)
{
    item->next = item;
    shi_spin_lock(&l->lock);
    int now = l->n < l->most;
    l->n += now;
    if (!now) {
        *l->last = item;
        l->last = &item->next;
    }
    shi_spin_unlock(&l->lock);
    return now;
}

/* The item ends. Returns the item that begins in its place, or NULL; NULL also when the item had not begun. */
static inline struct shi_limited *shi_limit_end(struct shi_limit *l, struct shi_limited *item)
{
    if (!item->next)
        return NULL;
    item->next = NULL;
    shi_spin_lock(&l->lock);
    struct shi_limited *next = l->first;
    l->n -= !next;
    if (next && next->next != next) {
        l->first = next->next;
    } else {
        l->first = NULL;
        l->last = &l->first;
    }
    shi_spin_unlock(&l->lock);
    return next;
}

#endif
