/* gpc_shape.c - the list of ids and the tree of a chained GPC, for programs and for kernels. */
#include "host/gpc/gpc_shape.h"

#include <errno.h>
#include <stdio.h>

#include "host/gpc/gpc_handle.h"
#include "host/gpc/gpc_tree.h"
#include "host/util/log.h"

int shi_gpc_shape(const char *routine, struct shi_gpc_params *w, const int *idlst, int *scratch)
{
    struct shi_gpc_fault fault = {"out of memory for %d ids", w->idlen};
    union shi_gpc_entry e;
    int *ids = scratch, *below = scratch + w->idlen, *list = below + w->idlen, err = 0;
    int built_in = w->tree == SHMEMX_GPC_BINARY || w->tree == SHMEMX_GPC_BINOMIAL;
    if (!built_in && !shi_gpc_find(w->tree, SHI_GPC_TREE, &e)) {
        shi_log_error("%s: tree = %d is not a handle of a tree", routine, w->tree);
        return -EINVAL;
    }
    int n = shi_gpc_list(w->team->n, w->team->me, w->idlen, idlst, built_in ? ids : list, &fault);
    if (n >= 0 && !built_in)
        err = shi_gpc_tree(e.tree, w->team->n, w->team->me, n, list, ids, below, &fault);
    w->ids = ids;
    w->below = built_in ? NULL : below;
    w->idlen = n;
    if (n >= 0 && !err)
        return 0;
    char words[160];
    snprintf(words, sizeof words, fault.words, fault.id);
    shi_log_error("%s: %s", routine, words);
    return n < 0 ? n : err;
}
