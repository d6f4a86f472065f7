/*
 * gpc_tree.h - the call tree of a chained GPC. A tree is a list in which an id is followed by all ids below it, so a child's
 * part is a range of the list, and only that part is sent to it.
 */
#ifndef SHI_GPC_TREE_H
#define SHI_GPC_TREE_H

#include <shmemx_gpc.h>

/* A child: it is list[at], and list[at + 1, + n) is below it. */
struct shi_gpc_part {
    int at, n;
};
#define SHI_GPC_PART_INIT ((struct shi_gpc_part){-1, 0})

/*
 * The next child of an id that has a list of n ids below it, the first after SHI_GPC_PART_INIT; 0 when there is none. below:
 * for a program's tree, the number of ids below each of the list; else NULL.
 * Binary: two children that share the list, so depth is floor(log2(n + 1)). Binomial: repeatedly half of the rest,
 * the largest part first: ceil(log2(n + 1)) children, and as many steps when an id sends one message a step.
 */
static inline int shi_gpc_part_next(int tree, const int *below, int n, struct shi_gpc_part *p)
{
    int at = p->at + 1 + p->n, left = n - at;
    if (left <= 0)
        return 0;
    p->at = at;
    if (below)
        p->n = below[at];
    else if (tree == SHMEMX_GPC_BINOMIAL)
        p->n = (left + 1) / 2 - 1;
    else
        p->n = at == 0 ? (left + 1) / 2 - 1 : left - 1;
    return 1;
}

/* The error in a list or a tree: a format with one %d, and the id for it. */
struct shi_gpc_fault {
    const char *words;
    int id;
};

/* Copy the list without the root. The number of ids left, or -EINVAL and *fault when one is outside [0, n_pes) or comes
 * twice; -ENOMEM. */
int shi_gpc_list(int n_pes, int root, int idlen, const int *idlst, int *out, struct shi_gpc_fault *fault);

/* Walk a program's tree over a list from shi_gpc_list: ids in tree order, and the number of ids below each. 0, or -EINVAL and
 * *fault, or -ENOMEM. */
int shi_gpc_tree(shmemx_gpc_tree_t tree, int n_pes, int root, int n, const int *list, int *ids, int *below,
                 struct shi_gpc_fault *fault);

#endif
