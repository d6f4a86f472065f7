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

CUresult cc_captured_join(struct cc_captured *c, const struct cc_captured *other)
{
    CUgraphNode *all = realloc(c->after, (c->n + other->n + 1) * sizeof *all);
    if (!all)
        return CUDA_ERROR_OUT_OF_MEMORY;
    c->after = all;
    if (!c->of) {
        c->of = other->of;
        c->of->users++;
    }
    for (size_t k = 0; k < other->n; k++)
        if (!has(c, other->after[k]))
            c->after[c->n++] = other->after[k];
    return CUDA_SUCCESS;
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

static size_t reach(CUgraphNode node)
{
    size_t n = !node->mark;
    if (node->mark)
        return 0;
    node->mark = 1;
    for (size_t k = 0; k < node->n; k++)
        n += reach(node->after[k]);
    return n;
}

bool cc_captured_is_whole(const struct cc_captured *c)
{
    size_t n = 0;
    for (CUgraphNode node = c->of->graph->first; node; node = node->next)
        node->mark = 0;
    for (size_t k = 0; k < c->n; k++)
        n += reach(c->after[k]);
    return n == c->of->graph->nodes;
}
