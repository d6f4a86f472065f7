/*
 * exec.c - executable graphs: steps in an order that the graph allows, in chains. A launch submits the first chain to its stream and
 * each other one to a stream of the graph's own; events connect them. Chains run at once, so nodes may wait for each other.
 *
 * A step goes to the chain that ends with a step which it waits for, or begins a chain. Steps of a graph inside the graph lie between
 * two empty steps. Launches of one executable graph run one after the other.
 *
 * A conditional step is a call on the thread of its stream: it reads its word, launches a graph of its own in a stream of its own, waits for it.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/graph.h"
#include "cuda_cpu/queue.h"
#include "cuda_cpu/stream.h"
#include "ze_cpu/mem.h"

enum { CHAINS = 16 };

/* What a conditional step runs. */
struct conditional {
    const unsigned *word;
    int kind;
    unsigned n;
    CUstream stream;
    CUgraphExec body[];
};

struct step {
    CUgraphNode node;            /* of the graph from which it was made, which may be gone */
    CUgraphNodeType type;
    struct cc_command *command;  /* NULL: nothing to execute */
    unsigned *after, n;          /* steps that it waits for */
    unsigned chain;
    CUevent done;                /* for steps of other chains, or NULL */
    struct conditional *conditional; /* or NULL */
};

struct CUgraphExec_st {
    struct step *step;
    unsigned steps, chains;
    unsigned last[CHAINS];       /* the last step of each chain */
    CUstream stream[CHAINS];     /* of chains but the first */
    CUevent begin, end[CHAINS], all; /* the launch has begun; the chain, and the launch, has ended */
    struct cc_command **word;    /* the words of its conditions, which have their first values at each launch */
    unsigned words;
    bool auto_free;              /* a launch frees what the one before has allocated */
    pthread_mutex_t launching;
};

/* ---- making ----------------------------------------------------------------------------------------------------- */

static struct step *append(CUgraphExec x, CUgraphNode node, const unsigned *after, unsigned n)
{
    struct step *more = realloc(x->step, (x->steps + 1) * sizeof *more);
    if (!more)
        return NULL;
    x->step = more;
    struct step *s = &x->step[x->steps];
    *s = (struct step){.node = node, .type = node->type, .after = malloc((n + 1) * sizeof *s->after), .n = n};
    if (!s->after)
        return NULL;
    memcpy(s->after, after, n * sizeof *after);
    x->steps++;
    return s;
}

static CUresult add_graph(CUgraphExec x, CUgraph graph, int before);
static CUresult make(CUgraphExec *out, CUgraph graph, bool auto_free);
static CUresult run_conditional(void *arg);

static CUresult make_conditional(struct step *s, const struct cc_condition *from)
{
    struct conditional *c = s->conditional = calloc(1, sizeof *c + from->n * sizeof *c->body);
    CUresult r = c ? cc_stream_start(false, &c->stream) : CUDA_ERROR_OUT_OF_MEMORY;
    for (unsigned k = 0; !r && k < from->n; k++, c->n += !r)
        r = make(&c->body[k], from->body[k], false);
    s->command = r ? NULL : cc_command_new(CC_CALL);
    if (!s->command)
        return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
    c->word = zc_mem_device_view(from->word->at);
    c->kind = from->kind;
    s->command->call = run_conditional;
    s->command->from = c;
    s->command->owned = from->word;
    cc_owned_hold(from->word);
    return CUDA_SUCCESS;
}

/* Its step follows those of the nodes that it waits for, and the step `before` unless that is -1. */
static CUresult add_node(CUgraphExec x, CUgraphNode node, int before)
{
    enum { NEW, OPEN, DONE };
    if (node->mark == DONE)
        return CUDA_SUCCESS;
    if (node->mark == OPEN)
        return CUDA_ERROR_INVALID_VALUE; /* a cycle */
    node->mark = OPEN;
    for (size_t k = 0; k < node->n; k++) {
        CUresult r = add_node(x, node->after[k], before);
        if (r)
            return r;
    }
    unsigned *after = malloc((node->n + 1) * sizeof *after), n = 0;
    for (size_t k = 0; after && k < node->n; k++)
        after[n++] = node->after[k]->step;
    if (after && !n && before >= 0)
        after[n++] = (unsigned)before;
    struct step *s = after ? append(x, node, after, n) : NULL;
    free(after);
    if (s && node->command)
        s->command = cc_command_copy(node->command);
    if (!s || (node->command && !s->command))
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (node->condition) {
        CUresult r = make_conditional(s, node->condition);
        if (r)
            return r;
    }
    node->step = x->steps - 1;
    node->mark = DONE;
    return node->child ? add_graph(x, node->child, (int)node->step) : CUDA_SUCCESS;
}

/* The steps of a graph; if it is inside another, after the step `before`, and an empty one at its end, which is that of its node. */
static CUresult add_graph(CUgraphExec x, CUgraph graph, int before)
{
    for (CUgraphNode node = graph->first; node; node = node->next)
        node->mark = 0;
    for (CUgraphNode node = graph->first; node; node = node->next) {
        CUresult r = add_node(x, node, before);
        if (r)
            return r;
    }
    if (before < 0)
        return CUDA_SUCCESS;
    CUgraphNode outer = x->step[before].node;
    unsigned *all = malloc((graph->nodes + 1) * sizeof *all), n = 0;
    for (CUgraphNode node = graph->first; all && node; node = node->next)
        all[n++] = node->step;
    if (all && !n)
        all[n++] = (unsigned)before;
    struct step *s = all ? append(x, outer, all, n) : NULL;
    free(all);
    outer->step = x->steps - 1;
    return s ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static void set_chain(CUgraphExec x, unsigned k)
{
    struct step *s = &x->step[k];
    s->chain = x->chains < CHAINS ? x->chains : k % CHAINS;
    for (unsigned i = 0; i < s->n; i++) {
        unsigned chain = x->step[s->after[i]].chain;
        if (x->last[chain] == s->after[i]) {
            s->chain = chain;
            break;
        }
    }
    if (s->chain == x->chains)
        x->chains++;
    x->last[s->chain] = k;
}

static CUresult connect(CUgraphExec x)
{
    CUresult r = cuEventCreate(&x->begin, 0);
    r = r ? r : cuEventCreate(&x->all, 0);
    for (unsigned k = 0; k < x->steps; k++)
        set_chain(x, k);
    for (unsigned k = 0; k < x->steps; k++)
        for (unsigned i = 0; !r && i < x->step[k].n; i++) {
            struct step *other = &x->step[x->step[k].after[i]];
            if (other->chain != x->step[k].chain && !other->done)
                r = cuEventCreate(&other->done, 0);
        }
    for (unsigned k = 1; !r && k < x->chains; k++) {
        r = cuEventCreate(&x->end[k], 0);
        r = r ? r : cc_stream_start(false, &x->stream[k]);
    }
    return r;
}

static void drop(CUevent e)
{
    if (e)
        cuEventDestroy(e);
}

static void destroy(CUgraphExec x);

static void destroy_conditional(struct conditional *c)
{
    if (c && c->stream)
        cc_stream_end(c->stream);
    for (unsigned k = 0; c && k < c->n; k++)
        destroy(c->body[k]);
    free(c);
}

static void destroy(CUgraphExec x)
{
    for (unsigned k = 1; k < x->chains; k++) {
        if (x->stream[k])
            cc_stream_end(x->stream[k]);
        drop(x->end[k]);
    }
    for (unsigned k = 0; k < x->steps; k++) {
        cc_command_free(x->step[k].command);
        free(x->step[k].after);
        drop(x->step[k].done);
        destroy_conditional(x->step[k].conditional);
    }
    for (unsigned k = 0; k < x->words; k++)
        cc_command_free(x->word[k]);
    free(x->word);
    drop(x->begin);
    drop(x->all);
    free(x->step);
    pthread_mutex_destroy(&x->launching);
    free(x);
}

static CUresult add_words(CUgraphExec x, CUgraph graph)
{
    x->word = calloc(graph->words + 1, sizeof *x->word);
    for (; x->word && x->words < graph->words; x->words++)
        if (!(x->word[x->words] = cc_command_copy(graph->word[x->words])))
            return CUDA_ERROR_OUT_OF_MEMORY;
    return x->word ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult make(CUgraphExec *out, CUgraph graph, bool auto_free)
{
    CUgraphExec x = calloc(1, sizeof *x);
    if (!x)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&x->launching, NULL);
    x->auto_free = auto_free;
    CUresult r = add_words(x, graph);
    r = r ? r : add_graph(x, graph, -1);
    r = r ? r : connect(x);
    if (r)
        destroy(x);
    else
        *out = x;
    return r;
}

CUresult cuGraphInstantiate(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    CUresult r = cc_check_context(); /* other flags: upload, launches by kernels, which are refused elsewhere, priorities */
    return r ? r : make(out, graph, flags & CC_AUTO_FREE);
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph graph, unsigned long long flags)
{
    return cuGraphInstantiate(out, graph, flags);
}

CUresult cuGraphExecDestroy(CUgraphExec x)
{
    CUresult r = cuEventSynchronize(x->all);
    if (!r)
        destroy(x);
    return r;
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

static CUresult event(enum cc_what what, CUevent e, CUstream stream, CUstream joined)
{
    struct cc_command *c = cc_command_new(what);
    if (c) {
        c->event = e;
        c->joined = joined;
    }
    return cc_stream_append(stream, c);
}

static CUresult submit_step(CUgraphExec x, struct step *s, CUstream first)
{
    CUstream stream = s->chain ? x->stream[s->chain] : first;
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; !r && i < s->n; i++)
        if (x->step[s->after[i]].chain != s->chain)
            r = event(CC_WAIT, x->step[s->after[i]].done, stream, NULL);
    if (!r && s->command)
        r = cc_stream_append(stream, cc_command_copy(s->command));
    return r || !s->done ? r : event(CC_RECORD, s->done, stream, NULL);
}

static bool allocates(const struct step *s)
{
    return s->type == CC_NODE_MEM_ALLOC;
}

/* In the order of the program's calls the launch allocates and frees at once. What the launch before has allocated must have been freed. */
static CUresult take_memory(CUgraphExec x)
{
    CUresult r = CUDA_SUCCESS;
    for (unsigned k = 0; !r && k < x->steps; k++)
        if (allocates(&x->step[k]) && cc_owned_is_live(x->step[k].command->owned))
            r = x->auto_free ? cc_owned_end(x->step[k].command->owned) : CUDA_ERROR_INVALID_VALUE;
    for (unsigned k = 0; !r && k < x->steps; k++)
        r = allocates(&x->step[k])                    ? cc_owned_begin(x->step[k].command->owned)
            : x->step[k].type == CC_NODE_MEM_FREE ? cc_owned_end(x->step[k].command->owned)
                                                      : CUDA_SUCCESS;
    return r;
}

static CUresult launch(CUgraphExec x, CUstream stream)
{
    CUresult r = take_memory(x);
    r = r ? r : event(CC_WAIT, x->all, stream, NULL); /* the launch before */
    for (unsigned k = 0; !r && k < x->words; k++)
        r = cc_stream_append(stream, cc_command_copy(x->word[k]));
    r = r ? r : event(CC_RECORD, x->begin, stream, NULL);
    for (unsigned k = 1; !r && k < x->chains; k++)
        r = event(CC_WAIT, x->begin, x->stream[k], NULL);
    for (unsigned k = 0; !r && k < x->steps; k++)
        r = submit_step(x, &x->step[k], stream);
    for (unsigned k = 1; !r && k < x->chains; k++) {
        r = event(CC_RECORD, x->end[k], x->stream[k], NULL);
        r = r ? r : event(CC_WAIT, x->end[k], stream, x->stream[k]);
    }
    return r ? r : event(CC_RECORD, x->all, stream, NULL);
}

/* On the thread of a stream. */
static CUresult run_body(struct conditional *c, unsigned k)
{
    if (k >= c->n)
        return CUDA_SUCCESS;
    CUresult r = launch(c->body[k], c->stream);
    return r ? r : cc_stream_wait(c->stream);
}

static CUresult run_conditional(void *arg)
{
    struct conditional *c = arg;
    unsigned value = __atomic_load_n(c->word, __ATOMIC_ACQUIRE);
    CUresult r = CUDA_SUCCESS;
    if (c->kind == CC_SWITCH)
        return run_body(c, value);
    if (c->kind == CC_IF)
        return run_body(c, value ? 0 : 1);
    while (!r && __atomic_load_n(c->word, __ATOMIC_ACQUIRE))
        r = run_body(c, 0);
    return r;
}

CUresult cuGraphLaunch(CUgraphExec x, CUstream stream)
{
    CUresult r = cc_check_context();
    struct CUstream_st *s = r ? NULL : cc_stream_of(stream);
    if (!s)
        return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_lock(&cc_lock);
    if (s->captured.of)
        r = cc_capture_spoil(&s->captured, CUDA_ERROR_NOT_SUPPORTED);
    pthread_mutex_unlock(&cc_lock);
    if (r)
        return r;
    pthread_mutex_lock(&x->launching);
    r = launch(x, stream);
    pthread_mutex_unlock(&x->launching);
    return r;
}

CUresult cuGraphUpload(CUgraphExec x, CUstream stream)
{
    (void)x, (void)stream;
    return cc_check_context();
}

/* ---- changes ---------------------------------------------------------------------------------------------------- */

/* Takes over c. */
static CUresult set(CUgraphExec x, CUgraphNode node, struct cc_command *c)
{
    unsigned k = 0;
    while (k < x->steps && x->step[k].node != node)
        k++;
    if (!c || k == x->steps || x->step[k].type != cc_graph_type(c)) {
        cc_command_free(c);
        return CUDA_ERROR_INVALID_VALUE;
    }
    pthread_mutex_lock(&x->launching);
    cc_command_free(x->step[k].command);
    x->step[k].command = c;
    pthread_mutex_unlock(&x->launching);
    return CUDA_SUCCESS;
}

CUresult cuGraphExecKernelNodeSetParams(CUgraphExec x, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
    return set(x, node, cc_graph_kernel(p));
}

CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec x, CUgraphNode node, const CUDA_MEMCPY3D *p, CUcontext context)
{
    (void)context;
    return set(x, node, cc_graph_memcpy(p));
}

CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec x, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p, CUcontext context)
{
    (void)context;
    return set(x, node, cc_graph_memset(p));
}

CUresult cuGraphExecHostNodeSetParams(CUgraphExec x, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
    return set(x, node, cc_graph_host(p));
}

/* Why the steps of two graphs are not the same but for their parameters; 0: they are. */
static int difference(const struct step *a, const struct step *b)
{
    if (a->n != b->n || memcmp(a->after, b->after, a->n * sizeof *a->after))
        return CC_UPDATE_TOPOLOGY;
    if (a->type == CC_NODE_MEM_ALLOC || a->type == CC_NODE_MEM_FREE || a->type == CC_NODE_CONDITIONAL)
        return CC_UPDATE_NOT_SUPPORTED;
    return a->type != b->type ? CC_UPDATE_TYPE : 0;
}

CUresult cuGraphExecUpdate(CUgraphExec x, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    CUgraphExec y = calloc(1, sizeof *y);
    if (!y)
        return CUDA_ERROR_OUT_OF_MEMORY;
    pthread_mutex_init(&y->launching, NULL);
    CUresult r = add_graph(y, graph, -1);
    *info = (CUgraphExecUpdateResultInfo){0};
    if (!r && x->steps != y->steps)
        info->result = CC_UPDATE_TOPOLOGY;
    for (unsigned k = 0; !r && !info->result && k < x->steps; k++) {
        info->result = difference(&x->step[k], &y->step[k]);
        info->node = info->result ? y->step[k].node : NULL;
    }
    pthread_mutex_lock(&x->launching);
    for (unsigned k = 0; !r && !info->result && k < x->steps; k++) {
        struct cc_command *old = x->step[k].command;
        x->step[k].command = y->step[k].command;
        y->step[k].command = old;
    }
    pthread_mutex_unlock(&x->launching);
    destroy(y);
    return r ? r : info->result ? CC_ERROR_EXEC_UPDATE : CUDA_SUCCESS;
}
