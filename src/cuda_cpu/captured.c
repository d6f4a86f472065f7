/* captured.c - see captured.h. */
#include "cuda_cpu/captured.h"

#include <stdlib.h>
#include <string.h>

void cc_captured_leave(struct cc_captured *c)
{
    if (c->of && !--c->of->users)
        free(c->of);
    free(c->after);
    *c = (struct cc_captured){0};
}

static bool has(const struct cc_captured *c, CUgraphNode node)
{
    for (size_t k = 0; k < c->n; k++)
        if (c->after[k] == node)
            return true;
    return false;
}

CUresult cc_captured_wait_for(struct cc_captured *c, const CUgraphNode *after, size_t n, bool alone)
{
    size_t before = alone ? 0 : c->n;
    CUgraphNode *all = realloc(c->after, (before + n + 1) * sizeof *all);
    if (!all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    c->after = all;
    c->n = before;
    for (size_t k = 0; k < n; k++)
        if (!has(c, after[k]))
            c->after[c->n++] = after[k];
    return CUDA_SUCCESS;
}

CUresult cc_captured_join(struct cc_captured *c, const struct cc_captured *other)
{
    CUresult r = cc_captured_wait_for(c, other->after, other->n, false);
    if (!r && !c->of) {
        c->of = other->of;
        c->of->users++;
    }
    return r;
}

CUresult cc_captured_add(struct cc_captured *at, struct cc_command *c)
{
    CUgraphNode node = cc_graph_add(at->of->graph, at->after, at->n, cc_graph_type(c), c);
    CUgraphNode *one = node ? realloc(at->after, sizeof *one) : NULL;
    if (!one)
        return at->of->invalid = CUDA_ERROR_OUT_OF_MEMORY;
    one[0] = node;
    at->after = one;
    at->n = 1;
    return CUDA_SUCCESS;
}

static void reach(CUgraphNode node)
{
    if (node->mark)
        return;
    node->mark = 1;
    for (size_t k = 0; k < node->n; k++)
        reach(node->after[k]);
}

bool cc_captured_is_whole(const struct cc_captured *c)
{
    CUgraphNode node;
    size_t k = 0;
    for (node = c->of->graph->first; node; node = node->next)
        node->mark = k++ < c->of->before;
    for (k = 0; k < c->n; k++)
        reach(c->after[k]);
    for (node = c->of->graph->first; node && node->mark; node = node->next)
        ;
    return !node;
}
