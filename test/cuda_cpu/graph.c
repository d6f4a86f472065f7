/*
 * graph.c - graphs of the driver on the CPU: built node by node, and captured from streams.
 *
 * The oracle: random graphs whose nodes each write one cell from the cells of the nodes that they wait for. The cells are cleared before
 * each launch, and some nodes are slow, so a node that runs early gives another result than the host's.
 *
 * Catches: an order that is lost, parameters that are not those of the launch, a capture that ends well and lacks a node.
 */
#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "ct.h"
#include "cuda_cpu/graph_calls.h"

#define MORE_CALLS(X)                                                                                                 \
    X(cuStreamWaitEvent, (CUstream stream, CUevent event, unsigned flags))                                            \
    X(cuEventSynchronize, (CUevent event))                                                                            \
    X(cuLaunchHostFunc, (CUstream stream, CUhostFn fn, void *arg))
#define X(call, params) static CUresult(*call) params;
MORE_CALLS(X) CC_GRAPH_CALLS(X)
#undef X
static CUresult (*add_dependencies_13)(CUgraph, const CUgraphNode *, const CUgraphNode *, const void *, size_t);

enum { NODES = 40, AFTER = 3, STREAMS = 5 };
enum kind { KERNEL, COPY, FILL, HOST, EMPTY, EVENT, KINDS };

/* out[0] = 3 * (sum of the cells that `after` names) + add, after so many rounds. */
static const char text[] = CT_HEAD
    ".visible .entry sum(.param .u64 cells, .param .u32 at, .param .u32 n, .param .u32 a0, .param .u32 a1, .param .u32 a2, .param .u32 add, .param .u32 rounds)\n{\n"
    ".reg .pred %p<9>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<9>;\n"
    "ld.param.u64 %rd0, [cells];\nld.param.u32 %r0, [at];\nld.param.u32 %r1, [n];\nld.param.u32 %r2, [a0];\nld.param.u32 %r3, [a1];\n"
    "ld.param.u32 %r4, [a2];\nld.param.u32 %r5, [add];\nld.param.u32 %r6, [rounds];\n"
    "L: setp.eq.u32 %p0, %r6, 0; @%p0 bra D; sub.u32 %r6, %r6, 1; bra L; D:\nmov.u32 %r7, 0;\n"
    "setp.lt.u32 %p1, %r1, 1; @%p1 bra E; mad.wide.u32 %rd1, %r2, 4, %rd0; ld.global.u32 %r8, [%rd1]; add.u32 %r7, %r7, %r8;\n"
    "setp.lt.u32 %p1, %r1, 2; @%p1 bra E; mad.wide.u32 %rd1, %r3, 4, %rd0; ld.global.u32 %r8, [%rd1]; add.u32 %r7, %r7, %r8;\n"
    "setp.lt.u32 %p1, %r1, 3; @%p1 bra E; mad.wide.u32 %rd1, %r4, 4, %rd0; ld.global.u32 %r8, [%rd1]; add.u32 %r7, %r7, %r8;\n"
    "E: mad.lo.u32 %r7, %r7, 3, %r5; mad.wide.u32 %rd1, %r0, 4, %rd0; st.global.u32 [%rd1], %r7;\nret;\n}\n"
    /* Wait until a word is not 0; set a word. */
    ".visible .entry wait_for(.param .u64 at)\n{\n.reg .pred %p;\n.reg .b32 %r;\n.reg .b64 %rd;\nld.param.u64 %rd, [at];\n"
    "L: ld.volatile.global.u32 %r, [%rd]; setp.eq.u32 %p, %r, 0; @%p bra L;\nret;\n}\n"
    ".visible .entry set(.param .u64 at)\n{\n.reg .b64 %rd;\nld.param.u64 %rd, [at];\nst.volatile.global.u32 [%rd], 1;\nret;\n}\n";

static CUfunction sum, wait_kernel, set_kernel;

static struct node {
    enum kind kind;
    uint32_t n, after[AFTER], add, rounds, at;
} nodes[NODES];
static unsigned count;
static uint32_t *cells;
static CUevent event;

static uint32_t number(uint32_t below)
{
    return (uint32_t)(ct_random() >> 8) % below;
}

static void random_graph(void)
{
    count = 1 + number(NODES);
    for (uint32_t i = 0; i < count; i++) {
        struct node *d = &nodes[i];
        *d = (struct node){.kind = number(KINDS), .add = 1 + number(1000), .rounds = number(4) ? 0 : 20000, .at = i};
        uint32_t most = i < AFTER ? i : AFTER;
        d->n = number(most + 1);
        for (uint32_t k = 0; k < d->n; k++)
            d->after[k] = (i - 1 - number(i < 6 ? i : 6) + i) % i;
        for (uint32_t k = 1; k < d->n; k++)
            for (uint32_t j = 0; j < k; j++)
                if (d->after[j] == d->after[k])
                    d->n = k; /* no node twice */
    }
}

static uint32_t sum_of(const struct node *d, const uint32_t *of)
{
    uint32_t s = 0;
    for (uint32_t k = 0; k < d->n; k++)
        s += of[d->after[k]];
    return s;
}

static void run_host(void *arg)
{
    const struct node *d = arg;
    if (d->rounds)
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    cells[d->at] = sum_of(d, cells) + d->add;
}

/* What the cells hold at the end. EMPTY and EVENT write nothing; a copy of nothing copies the cell itself. */
static void check(const char *how)
{
    uint32_t want[NODES] = {0};
    for (uint32_t i = 0; i < count; i++) {
        const struct node *d = &nodes[i];
        want[i] = d->kind == KERNEL ? 3 * sum_of(d, want) + d->add
                  : d->kind == COPY ? (d->n ? want[d->after[0]] : 0)
                  : d->kind == FILL ? d->add % 256 * 0x01010101u
                  : d->kind == HOST ? sum_of(d, want) + d->add
                                    : 0;
    }
    for (uint32_t i = 0; i < count; i++)
        CHECKF(cells[i] == want[i], "%s: node %u of %u, kind %d: %u, expected %u", how, i, count, nodes[i].kind, cells[i], want[i]);
}

#define ARGUMENTS(d) (void *[]){&cells, &(d)->at, &(d)->n, &(d)->after[0], &(d)->after[1], &(d)->after[2], &(d)->add, &(d)->rounds}

static CUDA_KERNEL_NODE_PARAMS kernel_params(CUfunction f, void **args)
{
    return (CUDA_KERNEL_NODE_PARAMS){.func = f, .grid = {1, 1, 1}, .block = {1, 1, 1}, .params = args};
}

static CUDA_MEMCPY3D copy_params(const void *to, const void *from, size_t bytes)
{
    CUDA_MEMCPY3D p = {.width_bytes = bytes, .height = 1, .depth = 1};
    p.to.memory = p.from.memory = 2;
    p.to.device = (CUdeviceptr)(uintptr_t)to;
    p.from.device = (CUdeviceptr)(uintptr_t)from;
    return p;
}

static CUgraphNode add_node(CUgraph g, struct node *d, const CUgraphNode *after)
{
    CUgraphNode node = NULL;
    CUDA_KERNEL_NODE_PARAMS kernel = kernel_params(sum, ARGUMENTS(d));
    CUDA_MEMCPY3D copy = copy_params(&cells[d->at], &cells[d->n ? d->after[0] : d->at], 4);
    CUDA_MEMSET_NODE_PARAMS fill = {(CUdeviceptr)(uintptr_t)&cells[d->at], 0, d->add % 256 * 0x01010101u, 4, 1, 1};
    CUDA_HOST_NODE_PARAMS host = {run_host, d};
    if (d->kind == KERNEL)
        CT(cuGraphAddKernelNode(&node, g, after, d->n, &kernel));
    else if (d->kind == COPY)
        CT(cuGraphAddMemcpyNode(&node, g, after, d->n, &copy, NULL));
    else if (d->kind == FILL)
        CT(cuGraphAddMemsetNode(&node, g, after, d->n, &fill, NULL));
    else if (d->kind == HOST)
        CT(cuGraphAddHostNode(&node, g, after, d->n, &host));
    else if (d->kind == EMPTY)
        CT(cuGraphAddEmptyNode(&node, g, after, d->n));
    else
        CT(cuGraphAddEventRecordNode(&node, g, after, d->n, event));
    return node;
}

static CUgraph build(void)
{
    CUgraph g;
    CUgraphNode made[NODES], after[AFTER];
    CT(cuGraphCreate(&g, 0));
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < nodes[i].n; k++)
            after[k] = made[nodes[i].after[k]];
        made[i] = add_node(g, &nodes[i], after);
    }
    return g;
}

/* Submit the nodes to streams, each behind events of those that it waits for; the first stream waits for all at the end. */
static void submit(CUstream *s, CUevent *done)
{
    CT(cuEventRecord(event, s[0]));
    for (unsigned k = 1; k < STREAMS; k++)
        CT(cuStreamWaitEvent(s[k], event, 0));
    for (uint32_t i = 0; i < count; i++) {
        struct node *d = &nodes[i];
        CUstream own = s[number(STREAMS)];
        for (uint32_t k = 0; k < d->n; k++)
            CT(cuStreamWaitEvent(own, done[d->after[k]], 0));
        if (d->kind == KERNEL)
            CT(cuLaunchKernel(sum, 1, 1, 1, 1, 1, 1, 0, own, ARGUMENTS(d), NULL));
        else if (d->kind == COPY)
            CT(cuMemcpyAsync((CUdeviceptr)(uintptr_t)&cells[i], (CUdeviceptr)(uintptr_t)&cells[d->n ? d->after[0] : i], 4, own));
        else if (d->kind == FILL)
            CT(cuMemsetD8Async((CUdeviceptr)(uintptr_t)&cells[i], (unsigned char)d->add, 4, own));
        else if (d->kind == HOST)
            CT(cuLaunchHostFunc(own, run_host, d));
        CT(cuEventRecord(done[i], own));
    }
    for (uint32_t i = 0; i < count; i++)
        CT(cuStreamWaitEvent(s[0], done[i], 0));
    for (unsigned k = 1; k < STREAMS; k++) {
        CT(cuEventRecord(event, s[k]));
        CT(cuStreamWaitEvent(s[0], event, 0));
    }
}

static void launch(CUgraph g, CUstream s, const char *how)
{
    CUgraphExec x;
    CT(cuGraphInstantiate(&x, g, 0));
    CT(cuGraphDestroy(g));
    for (int k = 0; k < 3; k++) {
        memset(cells, 0, NODES * sizeof *cells);
        CHECK(!cuGraphLaunch(x, s) && !cuStreamSynchronize(s));
        check(how);
    }
    CHECK(!cuGraphExecDestroy(x));
}

static void random_graphs(void)
{
    CUstream s[STREAMS];
    CUevent done[NODES];
    for (unsigned k = 0; k < STREAMS; k++)
        CT(cuStreamCreate(&s[k], k % 2));
    for (unsigned k = 0; k < NODES; k++)
        CT(cuEventCreate(&done[k], 0));
    for (int round = 0; round < 40; round++) {
        CUgraph g, copy;
        random_graph();
        g = build();
        CT(cuGraphClone(&copy, g));
        launch(g, round % 2 ? s[0] : NULL, "a graph of nodes");
        launch(copy, s[1], "a copy of the graph");
        CT(cuStreamBeginCapture(s[0], CC_CAPTURE_THREAD_LOCAL));
        submit(s, done);
        CHECK(!cuStreamEndCapture(s[0], &g));
        launch(g, s[0], "a graph that was captured");
        memset(cells, 0, NODES * sizeof *cells);
        submit(s, done);
        CHECK(!cuStreamSynchronize(s[0]));
        check("one by one");
    }
    for (unsigned k = 0; k < NODES; k++)
        CT(cuEventDestroy(done[k]));
    for (unsigned k = 0; k < STREAMS; k++)
        CT(cuStreamDestroy(s[k]));
}

/* A kernel may wait for one that the graph does not order. */
static void chains(void)
{
    CUgraph g;
    CUgraphNode a, b;
    CUgraphExec x;
    uint32_t *word = &cells[1];
    CUDA_KERNEL_NODE_PARAMS p = kernel_params(wait_kernel, (void *[]){&word}), q = kernel_params(set_kernel, (void *[]){&word});
    *word = 0;
    CT(cuGraphCreate(&g, 0));
    CT(cuGraphAddKernelNode(&a, g, NULL, 0, &p));
    CT(cuGraphAddKernelNode(&b, g, NULL, 0, &q));
    CT(cuGraphInstantiate(&x, g, 0));
    CHECK(!cuGraphLaunch(x, NULL) && !cuStreamSynchronize(NULL) && *word == 1);
    CHECK(!cuGraphExecDestroy(x) && !cuGraphDestroy(g));
}

static void parameters(void)
{
    CUgraph g, h, inner;
    CUgraphNode kernel, fill, copy, list[9];
    CUgraphExec x;
    CUgraphNodeType type;
    size_t n = 9;
    uint32_t *to = cells + 20;
    static uint8_t from[3][8] = {{1, 2, 3, 4, 5, 6, 7, 8}, {9, 10, 11, 12, 13, 14, 15, 16}, {17, 18, 19, 20, 21, 22, 23, 24}};
    memset(cells, 0, NODES * sizeof *cells);
    struct node d = {.n = 1, .after = {5}, .add = 10, .at = 0};
    CUDA_KERNEL_NODE_PARAMS k = kernel_params(sum, ARGUMENTS(&d)), got;
    CUDA_MEMSET_NODE_PARAMS f = {(CUdeviceptr)(uintptr_t)(cells + 5), 0, 7, 4, 1, 1};
    CUDA_MEMCPY3D c = copy_params(to, from, 2); /* 2 rows of 2 bytes, from byte 1 of row 1 on */
    c.from.pitch = 8, c.to.pitch = 4, c.height = 2, c.from.x = 1, c.from.y = 1;
    CT(cuGraphCreate(&g, 0));
    CT(cuGraphAddKernelNode(&kernel, g, NULL, 0, &k));
    CT(cuGraphAddMemsetNode(&fill, g, NULL, 0, &f, NULL));
    CT(cuGraphAddMemcpyNode(&copy, g, &kernel, 1, &c, NULL));
    CT(cuGraphAddDependencies(g, &fill, &kernel, 1));
    CHECK(!cuGraphGetNodes(g, list, &n) && n == 3 && list[0] == kernel && list[1] == fill && list[2] == copy && !list[3]);
    CHECK(!cuGraphGetRootNodes(g, NULL, &n) && n == 1);
    n = 1;
    CHECK(!cuGraphNodeGetDependencies(kernel, list, &n) && n == 1 && list[0] == fill);
    CHECK(!cuGraphNodeGetType(fill, &type) && type == CC_NODE_MEMSET);
    d.add = 1000; /* the node has its own copy */
    CHECK(!cuGraphKernelNodeGetParams(kernel, &got) && got.func == sum && got.block[0] == 1 && *(uint32_t *)got.params[6] == 10);
    CT(cuGraphInstantiate(&x, g, 0));
    CHECK(!cuGraphLaunch(x, NULL) && !cuStreamSynchronize(NULL));
    CHECKF(cells[0] == 31 && to[0] == (10 | 11 << 8) && to[1] == (18 | 19 << 8), "%u %#x %#x", cells[0], to[0], to[1]);
    CHECK(!cuGraphExecKernelNodeSetParams(x, kernel, &k));
    f.value = 9;
    CHECK(!cuGraphExecMemsetNodeSetParams(x, fill, &f, NULL));
    CHECK(cuGraphExecMemsetNodeSetParams(x, kernel, &f, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(!cuGraphLaunch(x, NULL) && !cuStreamSynchronize(NULL) && cells[0] == 1027);
    /* From the graph, whose own parameters have not changed; in a graph of its own. */
    CUgraphExecUpdateResultInfo info;
    CHECK(!cuGraphExecUpdate(x, g, &info) && !info.result);
    CHECK(!cuGraphLaunch(x, NULL) && !cuStreamSynchronize(NULL) && cells[0] == 31);
    CT(cuGraphCreate(&h, 0));
    CT(cuGraphAddChildGraphNode(&list[0], h, NULL, 0, g));
    CUDA_HOST_NODE_PARAMS host = {run_host, &(struct node){.n = 1, .after = {0}, .add = 1, .at = 3}};
    CT(cuGraphAddHostNode(&list[1], h, list, 1, &host));
    CHECK(cuGraphExecUpdate(x, h, &info) == CC_ERROR_EXEC_UPDATE && info.result == CC_UPDATE_TOPOLOGY);
    CHECK(!cuGraphDestroyNode(copy) && !cuGraphGetNodes(g, NULL, &n) && n == 2);
    CUgraphExec y;
    CT(cuGraphInstantiate(&y, h, 0));
    CHECK(!cuGraphDestroy(h) && !cuGraphLaunch(y, NULL) && !cuStreamSynchronize(NULL) && !cuGraphExecDestroy(y));
    CHECKF(cells[3] == 32 && cells[0] == 31, "%u", cells[3]);
    CHECK(add_dependencies_13(g, &kernel, &fill, NULL, 1) == CUDA_SUCCESS);
    CHECK(cuGraphInstantiate(&(CUgraphExec){0}, g, 0) == CUDA_ERROR_INVALID_VALUE); /* a cycle */
    CHECK(cuGraphCreate(&inner, 0) == 0 && cuGraphAddEmptyNode(&list[0], inner, &kernel, 1) == CUDA_ERROR_INVALID_VALUE);
    CHECK(!cuGraphDestroy(inner) && !cuGraphDestroy(g) && !cuGraphExecDestroy(x));
}

static void *end_elsewhere(void *arg)
{
    CUgraph g;
    CUcontext c;
    CT(cuDevicePrimaryCtxRetain(&c, 0));
    CT(cuCtxPushCurrent(c));
    return (void *)(intptr_t)cuStreamEndCapture(*(CUstream *)arg, &g);
}

static void errors(void)
{
    CUstream s, t;
    CUevent e, f;
    CUgraph g;
    CUstreamCaptureStatus status;
    void *got;
    pthread_t thread;
    CT(cuStreamCreate(&s, 0));
    CT(cuStreamCreate(&t, 1));
    CT(cuEventCreate(&e, 0));
    CT(cuEventCreate(&f, 0));
#define BEGIN CT(cuStreamBeginCapture(s, CC_CAPTURE_GLOBAL))
#define ENDS(want)                                                                                                    \
    do {                                                                                                              \
        CUresult r_ = cuStreamEndCapture(s, &g);                                                                      \
        CHECKF(r_ == (want) && !g == !!r_, "%d, expected %d", r_, want);                                              \
        if (!r_)                                                                                                      \
            CT(cuGraphDestroy(g));                                                                                    \
        CHECK(!cuStreamIsCapturing(s, &status) && status == CC_CAPTURE_NONE);                                         \
    } while (0)
    CHECK(cuStreamBeginCapture(NULL, CC_CAPTURE_RELAXED) == CC_ERROR_CAPTURE_UNSUPPORTED);
    BEGIN;
    CHECK(cuStreamBeginCapture(s, CC_CAPTURE_GLOBAL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(!cuStreamIsCapturing(s, &status) && status == CC_CAPTURE_ACTIVE);
    CHECK(!cuStreamIsCapturing(t, &status) && status == CC_CAPTURE_NONE);
    ENDS(0);
    BEGIN;
    CHECK(cuStreamSynchronize(s) == CC_ERROR_CAPTURE_UNSUPPORTED);
    CHECK(!cuStreamIsCapturing(s, &status) && status == CC_CAPTURE_INVALIDATED);
    CHECK(cuMemsetD8Async((CUdeviceptr)(uintptr_t)cells, 0, 4, s) == CC_ERROR_CAPTURE_INVALIDATED);
    ENDS(CC_ERROR_CAPTURE_INVALIDATED);
    BEGIN; /* a fork that does not come back */
    CT(cuEventRecord(e, s));
    CT(cuStreamWaitEvent(t, e, 0));
    CT(cuMemsetD8Async((CUdeviceptr)(uintptr_t)cells, 0, 4, t));
    CHECK(cuStreamEndCapture(t, &g) == CC_ERROR_CAPTURE_UNMATCHED);
    ENDS(CC_ERROR_CAPTURE_INVALIDATED);
    BEGIN;
    CT(cuEventRecord(e, s));
    CT(cuStreamWaitEvent(t, e, 0));
    CT(cuMemsetD8Async((CUdeviceptr)(uintptr_t)cells, 0, 4, t));
    ENDS(CC_ERROR_CAPTURE_UNJOINED);
    CHECK(!cuStreamIsCapturing(t, &status) && status == CC_CAPTURE_NONE);
    CT(cuEventRecord(f, t));
    BEGIN;
    CHECK(cuStreamWaitEvent(s, f, 0) == CC_ERROR_CAPTURE_ISOLATION);
    ENDS(CC_ERROR_CAPTURE_INVALIDATED);
    BEGIN;
    CHECK(cuMemsetD8Async((CUdeviceptr)(uintptr_t)cells, 0, 4, NULL) == CC_ERROR_CAPTURE_IMPLICIT);
    ENDS(CC_ERROR_CAPTURE_INVALIDATED);
    BEGIN;
    CT(cuEventRecord(e, s));
    CHECK(cuEventSynchronize(e) == CC_ERROR_CAPTURED_EVENT);
    ENDS(CC_ERROR_CAPTURE_INVALIDATED);
    CHECK(!cuEventSynchronize(e)); /* the capture has ended */
    BEGIN;
    pthread_create(&thread, NULL, end_elsewhere, &s);
    pthread_join(thread, &got);
    CHECK((intptr_t)got == CC_ERROR_CAPTURE_WRONG_THREAD);
    ENDS(0);
    CHECK(cuStreamEndCapture(s, &g) == CUDA_ERROR_INVALID_VALUE);
    CUstreamCaptureMode mode = CC_CAPTURE_RELAXED;
    CHECK(!cuThreadExchangeStreamCaptureMode(&mode) && mode == CC_CAPTURE_GLOBAL);
    CHECK(!cuThreadExchangeStreamCaptureMode(&mode) && mode == CC_CAPTURE_RELAXED);
    CT(cuEventDestroy(e));
    CT(cuEventDestroy(f));
    CT(cuStreamDestroy(s));
    CT(cuStreamDestroy(t));
}

/* An event may be destroyed while streams wait for it. */
static void destroyed_events(void)
{
    CUstream s, t;
    uint32_t *word = cells;
    CT(cuStreamCreate(&s, 1));
    CT(cuStreamCreate(&t, 1));
    *word = 0;
    CT(cuLaunchKernel(wait_kernel, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){&word}, NULL));
    for (int k = 0; k < 100; k++) {
        CUevent e;
        CT(cuEventCreate(&e, 0));
        CT(cuEventRecord(e, s));
        CT(cuStreamWaitEvent(t, e, 0));
        CT(cuEventDestroy(e)); /* does not wait for the kernel */
    }
    CHECK(cuStreamQuery(t) == CUDA_ERROR_NOT_READY);
    __atomic_store_n(word, 1, __ATOMIC_RELEASE);
    CHECK(!cuStreamSynchronize(t));
    CT(cuStreamDestroy(s));
    CT(cuStreamDestroy(t));
}

int main(void)
{
    void *at;
    CUmodule m;
    ct_up();
#define X(call, params)                                                                                               \
    CT(ct_get(#call, &at, CU_API_VERSION, 0, NULL));                                                                  \
    call = (__typeof__(call))at;
    MORE_CALLS(X) CC_GRAPH_CALLS(X)
#undef X
    CT(ct_get("cuGraphAddDependencies", &at, 13000, 0, NULL));
    add_dependencies_13 = (__typeof__(add_dependencies_13))at;
    cells = ct_memory(NODES * sizeof *cells);
    CUresult r = ct_build(&m, text);
    if (r) {
        printf("Bail out! %s\n", ct_log);
        return 1;
    }
    CT(cuModuleGetFunction(&sum, m, "sum"));
    CT(cuModuleGetFunction(&wait_kernel, m, "wait_for"));
    CT(cuModuleGetFunction(&set_kernel, m, "set"));
    CT(cuEventCreate(&event, 0));
    RUN(random_graphs, "random graphs: built, copied, captured, one by one");
    RUN(chains, "nodes that the graph does not order run at once");
    RUN(parameters, "parameters, updates, graphs inside graphs");
    RUN(errors, "captures that end badly");
    RUN(destroyed_events, "events that are destroyed in use");
    return tap_end();
}
