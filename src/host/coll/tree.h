/*
 * tree.h - the order in which a reduction combines the elements of its ranks.
 *
 * It depends on the number of ranks alone, so that all schedules, transports and kernels give the same bits: DOUBLING's (plan.h), whose
 * runs of neighbouring ranks form a binary tree. With 2^k <= n < 2^(k+1), the first n - 2^k pairs of ranks are combined, the 2^k results
 * and other ranks then as a perfect tree. With 2^j neighbouring ranks on each of m nodes it is the tree of a node's ranks below that
 * of the nodes.
 */
#ifndef SHI_TREE_H
#define SHI_TREE_H

#include <string.h>

#include "host/coll/coll.h"

enum { SHI_TREE_DEPTH = 32 };

/* The ranks are added in their order; then stack[0] has the result. */
struct shi_tree {
    const struct shi_reduction *r;
    size_t n; /* elements */
    int pairs, at, depth;
    char *stack[SHI_TREE_DEPTH]; /* of subtrees that are complete */
};

static inline void shi_tree_begin(struct shi_tree *t, const struct shi_reduction *r, size_t n, int ranks)
{
    t->r = r;
    t->n = n;
    t->pairs = ranks - (1 << (31 - __builtin_clz((unsigned)ranks)));
    t->at = t->depth = 0;
}

/* How many subtrees end with the next rank; 0: it is the left operand of a later one, so its elements are overwritten. An operator whose
 * result does not depend on the order goes from left to right, which writes one array only. */
static inline int shi_tree_ends(const struct shi_tree *t)
{
    if (!t->r->ordered)
        return t->at > 0;
    if (t->at < 2 * t->pairs)
        return t->at % 2 ? 1 + __builtin_ctz((unsigned)t->at / 2 + 1) : 0;
    return __builtin_ctz((unsigned)(t->at - t->pairs) + 1);
}

static inline void shi_tree_add(struct shi_tree *t, void *elements)
{
    int ends = shi_tree_ends(t);
    t->at++;
    if (!ends) {
        t->stack[t->depth++] = elements;
        return;
    }
    t->r->combine(t->stack[t->depth - 1], elements, t->n);
    for (; ends > 1; ends--, t->depth--)
        t->r->combine(t->stack[t->depth - 2], t->stack[t->depth - 1], t->n);
}

/* Add elements that must not change: a left operand is copied to room + depth * each. */
static inline void shi_tree_add_copy(struct shi_tree *t, const void *elements, char *room, size_t each)
{
    if (!shi_tree_ends(t))
        elements = memcpy(room + (size_t)t->depth * each, elements, t->n * t->r->elem);
    shi_tree_add(t, (void *)elements);
}

/* The most left operands that are there at the same time. */
static inline int shi_tree_rooms(const struct shi_reduction *r, int ranks)
{
    return r->ordered && ranks > 1 ? 32 - __builtin_clz((unsigned)ranks - 1) : 1;
}

#endif
