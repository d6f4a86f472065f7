/*
 * share.h - for reductions and prefix sums: parts of an array that the members of a team share, and copies of elements for the
 * operators.
 */
#ifndef SHI_SHARE_H
#define SHI_SHARE_H

#include <stdlib.h>

#include "host/coll/coll.h"
#include "host/ops/dheap.h"
#include "host/util/log.h"

/* Elements [first, last) of an array. */
struct shi_range {
    size_t first, last;
};

/* The longest of so many parts. Parts begin on cache lines of the array, so that members do not store into the same line. */
static inline size_t shi_coll_part(struct shi_range all, int parts, size_t elem)
{
    size_t line = SHI_LINE_BYTES / elem ? SHI_LINE_BYTES / elem : 1, n = all.last - all.first;
    return shi_round_up((n + (size_t)parts - 1) / (size_t)parts, line);
}

/* Part i of so many. */
static inline struct shi_range shi_coll_cut(struct shi_range all, int parts, int i, size_t elem)
{
    size_t n = all.last - all.first, part = shi_coll_part(all, parts, elem), skip = part * (size_t)i;
    size_t first = all.first + (skip < n ? skip : n);
    return (struct shi_range){first, all.last - first < part ? all.last : first + part};
}

/* The member of a node that works on part k. */
static inline int shi_coll_holder(const struct shi_node *node, int k)
{
    return node->member[k % node->n];
}

/* Combine a part of every source on this node, block by block, into the dest of a member of it, or of all of them with `to` -1. */
void shi_coll_reduce_part(const struct shmem_team *t, void *dest, const void *source, struct shi_range part, const struct shi_reduction *r,
                          int to);

/* The elements at `from`, or a copy of them in `room` when the host cannot load them. */
static inline const void *shi_coll_readable(void *room, const void *from, size_t bytes)
{
    if (!shi_dheap_is_private(from))
        return from;
    shi_dheap_copy("reduction", room, from, bytes);
    return room;
}

/* Memory for so many bytes; dies without. Pair: free. */
static inline char *shi_coll_room(const char *routine, size_t bytes)
{
    char *room = malloc(bytes);
    if (!room)
        shi_die(routine, "out of memory for %zu bytes", bytes);
    return room;
}

/* Of the last exchange: the record of member `of`. */
static inline const char *shi_coll_record(const struct shmem_team *t, int of)
{
    return shi_team_buffer(t, t->me, of);
}

#endif
