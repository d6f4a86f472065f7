/* gpc_tree.c - check lists of ids, and walk a program's tree once, at the root, before any message is sent. */
#include "host/gpc/gpc_tree.h"

#include <errno.h>
#include <stdlib.h>

enum { LISTED = 1, FOUND = 2 };

static int refuse(struct shi_gpc_fault *fault, const char *words, int id)
{
    *fault = (struct shi_gpc_fault){words, id};
    return -EINVAL;
}

int shi_gpc_list(int n_pes, int root, int idlen, const int *idlst, int *out, struct shi_gpc_fault *fault)
{
    int n = 0, err = 0;
    char *mark = calloc((size_t)n_pes, 1);
    if (!mark)
        return -ENOMEM;
    for (int i = 0; i < idlen && !err; i++) {
        int id = idlst[i];
        if (id < 0 || id >= n_pes)
            err = refuse(fault, "id %d is not a PE of the team", id);
        else if (mark[id])
            err = refuse(fault, "id %d is in idlst twice", id);
        else
            mark[id] = LISTED;
        if (!err && id != root)
            out[n++] = id;
    }
    free(mark);
    return err ? err : n;
}

/* A walk in preorder. Each id is visited once, when its parent names it, and then waits on the stack for its place. */
struct walk {
    shmemx_gpc_tree_t tree;
    int root, n, n_pes;
    const int *list;
    char *mark;     /* [n_pes] */
    int *children;  /* [n]: output of the tree function */
    int *stack;     /* [n]: ids that wait */
    int *over;      /* [n]: the place of the parent of each, -1 for the root's children */
    int *parent;    /* [n]: the same, of those that have a place */
    int waiting;
};

/* Push the children of id, which has this place. */
static int push_children(struct walk *w, int id, int place, struct shi_gpc_fault *fault)
{
    int k = w->tree(w->root, id, w->n, w->list, w->children);
    if (k < 0 || k > w->n)
        return refuse(fault, "the tree gives no list of children for id %d", id);
    for (int i = k - 1; i >= 0; i--) { /* so that the first is on top */
        int child = w->children[i];
        if (child == w->root)
            return refuse(fault, "the tree has a cycle through the root, a child of id %d", id);
        if (child < 0 || child >= w->n_pes || !w->mark[child])
            return refuse(fault, "the tree names id %d, which is not in idlst", child);
        if (w->mark[child] == FOUND)
            return refuse(fault, "the tree has two parents or a cycle for id %d", child);
        w->mark[child] = FOUND;
        w->stack[w->waiting] = child;
        w->over[w->waiting++] = place;
    }
    return 0;
}

static int walk(struct walk *w, int *ids, int *below, struct shi_gpc_fault *fault)
{
    int placed = 0;
    for (int i = 0; i < w->n; i++)
        w->mark[w->list[i]] = LISTED;
    int err = push_children(w, w->root, -1, fault);
    while (!err && w->waiting > 0) {
        int id = w->stack[--w->waiting];
        w->parent[placed] = w->over[w->waiting];
        below[placed] = 0;
        ids[placed++] = id;
        err = push_children(w, id, placed - 1, fault);
    }
    for (int i = 0; i < w->n && !err; i++)
        if (w->mark[w->list[i]] != FOUND)
            err = refuse(fault, "the tree does not reach id %d", w->list[i]);
    for (int i = placed - 1; i >= 0; i--)
        if (w->parent[i] >= 0)
            below[w->parent[i]] += 1 + below[i];
    return err;
}

int shi_gpc_tree(shmemx_gpc_tree_t tree, int n_pes, int root, int n, const int *list, int *ids, int *below,
                 struct shi_gpc_fault *fault)
{
    struct walk w = {.tree = tree, .root = root, .n = n, .n_pes = n_pes, .list = list};
    size_t row = (size_t)n + 1;
    int *rows = malloc(4 * row * sizeof *rows);
    w.mark = calloc((size_t)n_pes, 1);
    int err = -ENOMEM;
    if (rows && w.mark) {
        w.children = rows;
        w.stack = rows + row;
        w.over = rows + 2 * row;
        w.parent = rows + 3 * row;
        err = walk(&w, ids, below, fault);
    }
    free(rows);
    free(w.mark);
    return err;
}
