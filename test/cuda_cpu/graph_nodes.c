/*
 * graph_nodes.c - graphs of the driver on the CPU: nodes that allocate and free memory, conditional nodes, edges, captures into a graph; pools.
 *
 * Oracles: the host counts the steps of the Collatz sequence, which a graph computes with a condition inside a loop; the bytes that are live.
 *
 * Catches: a body that runs too often or not at all; a condition that is read early or keeps its value; memory that ends while something uses it, or never.
 */
#include <stdbool.h>

#include "ct.h"
#include "cuda_cpu/link_calls.h"
#include "cuda_cpu/pool_calls.h"

#define MORE(X)                                                                                                       \
    X(cuMemcpyDtoH, (void *to, CUdeviceptr from, size_t bytes))                                                       \
    X(cuMemsetD8, (CUdeviceptr to, unsigned char value, size_t bytes))
#define X(call, params) __attribute__((unused)) static CUresult(*call) params;
MORE(X) CC_GRAPH_CALLS(X) CC_LINK_CALLS(X) CC_POOL_CALLS(X)
#undef X

/* x[0] is the number, x[1] counts steps, x[2] the odd ones. */
#define NUMBER ".reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<3>;\nld.param.u64 %rd0, [x];\nld.global.u32 %r0, [%rd0];\n"
#define SET_TO_R1 "{ .param .b64 h0; .param .b32 v0; st.param.b64 [h0], %rd1; st.param.b32 [v0], %r1; call.uni cudaGraphSetConditional, (h0, v0); }\n"
static const char text[] = CT_HEAD
    ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n"
    /* handle = x[0] * mul + add */
    ".visible .entry set(.param .u64 x, .param .u64 handle, .param .u32 mul, .param .u32 add)\n{\n" NUMBER
    "ld.param.u64 %rd1, [handle];\nld.param.u32 %r2, [mul];\nld.param.u32 %r3, [add];\nmad.lo.u32 %r1, %r0, %r2, %r3;\n" SET_TO_R1 "ret;\n}\n"
    /* the handle is 1 for an odd number */
    ".visible .entry parity(.param .u64 x, .param .u64 handle)\n{\n" NUMBER "ld.param.u64 %rd1, [handle];\nand.b32 %r1, %r0, 1;\n" SET_TO_R1 "ret;\n}\n"
    /* count, and go on while it is not 1 */
    ".visible .entry step(.param .u64 x, .param .u64 handle)\n{\n" NUMBER "ld.global.u32 %r2, [%rd0+4];\nadd.u32 %r2, %r2, 1;\nst.global.u32 [%rd0+4], %r2;\n"
    "ld.param.u64 %rd1, [handle];\nsetp.ne.u32 %p0, %r0, 1;\nselp.u32 %r1, 1, 0, %p0;\n" SET_TO_R1 "ret;\n}\n"
    ".visible .entry odd(.param .u64 x)\n{\n" NUMBER "mad.lo.u32 %r0, %r0, 3, 1;\nst.global.u32 [%rd0], %r0;\nld.global.u32 %r2, [%rd0+8];\n"
    "add.u32 %r2, %r2, 1;\nst.global.u32 [%rd0+8], %r2;\nret;\n}\n"
    ".visible .entry even(.param .u64 x)\n{\n" NUMBER "shr.u32 %r0, %r0, 1;\nst.global.u32 [%rd0], %r0;\nret;\n}\n"
    ".visible .entry fail()\n{\ntrap;\n}\n"
    ".visible .entry put(.param .u64 x, .param .u32 v)\n{\n.reg .b32 %r;\n.reg .b64 %rd;\nld.param.u64 %rd, [x];\nld.param.u32 %r, [v];\n"
    "st.global.u32 [%rd], %r;\nret;\n}\n";

static CUmodule module;
static uint32_t *x;

static CUDA_KERNEL_NODE_PARAMS kernel(const char *name, void **args)
{
    CUDA_KERNEL_NODE_PARAMS p = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .params = args};
    CT(cuModuleGetFunction(&p.func, module, name));
    return p;
}

static CUgraphNode add_kernel(CUgraph g, CUgraphNode after, const char *name, void **args)
{
    CUgraphNode node;
    CUgraphNodeParams p = {.type = CC_NODE_KERNEL, .kernel = kernel(name, args)};
    CT(cuGraphAddNode_v2(&node, g, &after, NULL, after != NULL, &p));
    return node;
}

static CUgraphNode add_condition(CUgraph g, CUgraphNode after, CUgraphConditionalHandle handle, int kind, unsigned size, CUgraph *body)
{
    CUgraphNode node;
    CUgraphNodeParams p = {.type = CC_NODE_CONDITIONAL, .conditional = {.handle = handle, .kind = kind, .size = size}};
    CT(cuGraphAddNode(&node, g, &after, after != NULL, &p));
    memcpy(body, p.conditional.body, size * sizeof *body);
    return node;
}

static void launch(CUgraphExec e, CUstream s)
{
    CHECK(!cuGraphLaunch(e, s) && !cuStreamSynchronize(s));
}

/* The words live in the graph, so the graph may go before the executable one. */
static void collatz(void)
{
    CUgraph g, loop, branch[2];
    CUgraphExec e;
    CUgraphNode node;
    CUgraphConditionalHandle outer, inner;
    CT(cuGraphCreate(&g, 0));
    CT(cuGraphConditionalHandleCreate(&outer, g, NULL, 1, CC_ASSIGN_DEFAULT));
    CT(cuGraphConditionalHandleCreate(&inner, g, NULL, 0, 0));
    add_condition(g, NULL, outer, CC_WHILE, 1, &loop);
    node = add_kernel(loop, NULL, "parity", (void *[]){&x, &inner});
    node = add_condition(loop, node, inner, CC_IF, 2, branch);
    add_kernel(branch[0], NULL, "odd", (void *[]){&x});
    add_kernel(branch[1], NULL, "even", (void *[]){&x});
    add_kernel(loop, node, "step", (void *[]){&x, &outer});
    CHECK(cuGraphClone(&(CUgraph){0}, g) == CUDA_ERROR_NOT_SUPPORTED);
    CT(cuGraphInstantiate(&e, g, 0));
    CHECK(!cuGraphDestroy(g));
    for (int k = 0; k < 20; k++) {
        uint32_t n = 2 + (uint32_t)(ct_random() >> 8) % 60, steps = 0, odd = 0;
        x[0] = n, x[1] = x[2] = 0;
        for (uint32_t m = n; m != 1; steps++, m = m % 2 ? 3 * m + 1 : m / 2)
            odd += m % 2;
        launch(e, NULL);
        CHECKF(x[0] == 1 && x[1] == steps && x[2] == odd, "from %u: %u after %u steps, %u odd; expected %u and %u", n, x[0], x[1], x[2], steps, odd);
    }
    CHECK(!cuGraphExecDestroy(e));
}

static void kinds(void)
{
    CUgraph g, body[4], one;
    CUgraphExec e;
    CUgraphConditionalHandle h, w;
    uint32_t *out = x + 1, mul = 1, add = 0, zero = 0;
    CT(cuGraphCreate(&g, 0));
    CT(cuGraphConditionalHandleCreate(&h, g, NULL, 0, 0));
    CT(cuGraphConditionalHandleCreate(&w, g, NULL, 1, 0)); /* without the flag it has no first value */
    CUgraphNode node = add_kernel(g, NULL, "set", (void *[]){&x, &h, &mul, &add});
    node = add_condition(g, node, h, CC_SWITCH, 4, body);
    for (uint32_t k = 0; k < 4; k++)
        add_kernel(body[k], NULL, "put", (void *[]){&out, &(uint32_t){100 + k}});
    node = add_kernel(g, node, "set", (void *[]){&x, &w, &mul, &add});
    node = add_condition(g, node, w, CC_IF, 1, &one);
    node = add_kernel(one, NULL, "set", (void *[]){&x, &w, &zero, &zero});
    uint32_t *seen = x + 2;
    add_kernel(one, node, "put", (void *[]){&seen, &(uint32_t){1}});
    CT(cuGraphInstantiate(&e, g, 0));
    for (uint32_t k = 0; k < 6; k++) {
        x[0] = k, x[1] = x[2] = 7;
        launch(e, NULL);
        CHECKF(x[1] == (k < 4 ? 100 + k : 7) && x[2] == (k ? 1 : 7), "%u: %u %u", k, x[1], x[2]);
    }
    /* What cannot be. */
    CUgraphNodeParams p = {.type = CC_NODE_CONDITIONAL, .conditional = {.handle = h, .kind = CC_WHILE, .size = 2}};
    CHECK(cuGraphAddNode(&node, g, NULL, 0, &p) == CUDA_ERROR_INVALID_VALUE);
    p.conditional.size = 1, p.conditional.handle = h + 4;
    CHECK(cuGraphAddNode(&node, g, NULL, 0, &p) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuGraphConditionalHandleCreate(&h, g, NULL, 1, 2) == CUDA_ERROR_INVALID_VALUE);
    CUgraphExecUpdateResultInfo info;
    CHECK(cuGraphExecUpdate(e, g, &info) == CC_ERROR_EXEC_UPDATE && info.result == CC_UPDATE_NOT_SUPPORTED);
    CHECK(!cuGraphExecDestroy(e) && !cuGraphDestroy(g));
}

enum { LAUNCH_FAILED = 719, ILLEGAL_STATE = 401 };

/* A fault in a body is the stream's. */
static void faults(void)
{
    CUgraph g, body;
    CUgraphExec e;
    CUstream s;
    CUgraphConditionalHandle h;
    CT(cuGraphCreate(&g, 0));
    CT(cuGraphConditionalHandleCreate(&h, g, NULL, 1, CC_ASSIGN_DEFAULT));
    add_condition(g, NULL, h, CC_WHILE, 1, &body);
    add_kernel(body, NULL, "fail", NULL);
    CT(cuGraphInstantiate(&e, g, 0));
    CT(cuStreamCreate(&s, 1));
    CHECK(!cuGraphLaunch(e, s) && cuStreamSynchronize(s) == LAUNCH_FAILED);
    CHECK(!cuGraphExecDestroy(e) && !cuGraphDestroy(g) && !cuStreamDestroy(s));
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

enum { BYTES = 1 << 20 };

static uint64_t bytes(int attribute)
{
    uint64_t v = 1;
    CHECK(!cuDeviceGetGraphMemAttribute(0, attribute, &v));
    return v;
}

static CUgraphNode add_alloc(CUgraph g, CUgraphNode after, CUdeviceptr *at)
{
    CUgraphNode node;
    CUDA_MEM_ALLOC_NODE_PARAMS p = {.pool = {.type = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}}, .bytes = BYTES}, got;
    CT(cuGraphAddMemAllocNode(&node, g, &after, after != NULL, &p));
    CHECK(!cuGraphMemAllocNodeGetParams(node, &got) && got.at == p.at && got.bytes == BYTES && got.pool.location.id == 0);
    *at = p.at;
    return node;
}

static CUgraphNode add_fill(CUgraph g, CUgraphNode after, CUdeviceptr at, unsigned value)
{
    CUgraphNode node;
    CUDA_MEMSET_NODE_PARAMS p = {at, 0, value, 4, BYTES / 4, 1};
    CT(cuGraphAddMemsetNode(&node, g, &after, 1, &p, NULL));
    return node;
}

static uint32_t last_word(CUdeviceptr at)
{
    uint32_t v = 0;
    CHECK(!cuMemcpyDtoH(&v, at + BYTES - 4, 4));
    return v;
}

static void memory(void)
{
    CUgraph g, h;
    CUgraphExec e, f, a;
    CUgraphNode node, frees;
    CUdeviceptr p, q, got;
    CUstream s;
    CT(cuStreamCreate(&s, 1));
    CT(cuGraphCreate(&g, 0));
    node = add_alloc(g, NULL, &p);
    node = add_fill(g, node, p, 5);
    CHECK(cuGraphAddMemFreeNode(&frees, g, &node, 1, p + 4) == CUDA_ERROR_INVALID_VALUE);
    node = add_alloc(g, node, &q);
    node = add_fill(g, node, q, 6);
    CT(cuGraphAddMemFreeNode(&frees, g, &node, 1, p));
    CHECK(!cuGraphMemFreeNodeGetParams(frees, &got) && got == p);
    CHECK(cuGraphAddMemFreeNode(&frees, g, &node, 1, p) == CUDA_ERROR_INVALID_VALUE); /* twice */
    CHECK(cuGraphClone(&h, g) == CUDA_ERROR_NOT_SUPPORTED);
    CT(cuGraphInstantiate(&e, g, 0));
    CT(cuGraphInstantiate(&a, g, CC_AUTO_FREE));
    CHECK(!cuGraphDestroy(g));
    CHECK(bytes(CC_GRAPH_LIVE) == 0 && bytes(CC_GRAPH_TAKEN) == 0);
    launch(e, s);
    CHECK(last_word(q) == 6 && bytes(CC_GRAPH_LIVE) == BYTES && bytes(CC_GRAPH_LIVE_MOST) == 2 * BYTES && bytes(CC_GRAPH_TAKEN) == 2 * BYTES);
    CHECK(cuGraphLaunch(e, s) == CUDA_ERROR_INVALID_VALUE); /* q is live */
    CHECK(!cuMemFree(q) && bytes(CC_GRAPH_LIVE) == 0 && cuMemFree(q) == CUDA_ERROR_INVALID_VALUE);
    launch(e, s);
    CHECK(!cuMemFreeAsync(q, s) && !cuGraphLaunch(e, s)); /* in the order of the calls */
    CHECK(!cuStreamSynchronize(s) && last_word(q) == 6);
    launch(a, s); /* frees q itself */
    CT(cuGraphCreate(&h, 0));
    CT(cuGraphAddMemFreeNode(&frees, h, NULL, 0, q));
    CT(cuGraphInstantiate(&f, h, 0));
    launch(f, s);
    CHECK(cuGraphLaunch(f, s) == CUDA_ERROR_INVALID_VALUE && bytes(CC_GRAPH_LIVE) == 0);
    CHECK(bytes(CC_GRAPH_TAKEN) == 2 * BYTES && !cuDeviceGraphMemTrim(0) && bytes(CC_GRAPH_TAKEN) == 0);
    CHECK(bytes(CC_GRAPH_TAKEN_MOST) == 2 * BYTES && !cuDeviceSetGraphMemAttribute(0, CC_GRAPH_TAKEN_MOST, &(uint64_t){0}) && bytes(CC_GRAPH_TAKEN_MOST) == 0);
    CHECK(last_word(q) == 0); /* its pages are gone, its address is not */
    launch(e, s);
    CHECK(!cuGraphExecDestroy(e) && !cuGraphExecDestroy(a) && last_word(q) == 6); /* without a graph it stays until it is freed */
    CHECK(!cuGraphExecDestroy(f) && !cuGraphDestroy(h) && !cuMemFree(q) && cuMemFree(q) == CUDA_ERROR_INVALID_VALUE && bytes(CC_GRAPH_TAKEN) == 0);
    CT(cuStreamDestroy(s));
}

static void captured_memory(void)
{
    CUgraph g;
    CUgraphExec e;
    CUstream s;
    CUdeviceptr p, other;
    CUgraphNode list[4];
    CUgraphNodeType type[4] = {-1, -1, -1, -1};
    size_t n = 4;
    CT(cuStreamCreate(&s, 1));
    CT(cuMemAlloc(&other, 64));
    CT(cuStreamBeginCapture(s, CC_CAPTURE_GLOBAL));
    CT(cuMemAllocAsync(&p, BYTES, s));
    CHECK(bytes(CC_GRAPH_LIVE) == 0);
    CT(cuMemsetD8Async(p, 9, BYTES, s));
    CT(cuMemcpyAsync((CUdeviceptr)(uintptr_t)x, p + BYTES - 4, 4, s));
    CHECK(cuMemFreeAsync(other, s) == CUDA_ERROR_INVALID_VALUE); /* not a graph's */
    CT(cuMemFreeAsync(p, s));
    CHECK(!cuStreamEndCapture(s, &g) && !cuGraphGetNodes(g, list, &n) && n == 4);
    for (size_t k = 0; k < n; k++)
        CHECK(!cuGraphNodeGetType(list[k], &type[k]));
    CHECK(type[0] == CC_NODE_MEM_ALLOC && type[3] == CC_NODE_MEM_FREE);
    CT(cuGraphInstantiate(&e, g, 0));
    for (int k = 0; k < 2; k++) {
        x[0] = 0;
        launch(e, s);
        CHECK(x[0] == 0x09090909 && bytes(CC_GRAPH_LIVE) == 0);
    }
    CHECK(!cuGraphExecDestroy(e) && !cuGraphDestroy(g) && !cuMemFree(other));
    CT(cuStreamDestroy(s));
}

static void pools(void)
{
    enum { THRESHOLD = 4, TAKEN = 5, LIVE = 7, LIVE_MOST = 8 };
    CUmemoryPool p, other, now;
    CUmemPoolProps props = {.type = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUdeviceptr a, b;
    CUstream s;
    uint64_t v = UINT64_MAX;
    CT(cuStreamCreate(&s, 1));
    CHECK(!cuDeviceGetDefaultMemPool(&p, 0) && !cuDeviceGetMemPool(&now, 0) && p == now);
    CHECK(!cuMemPoolSetAttribute(p, THRESHOLD, &v) && cuMemPoolSetAttribute(p, LIVE, &v) == CUDA_ERROR_INVALID_VALUE);
    CT(cuMemPoolCreate(&other, &props));
    CT(cuMemAllocAsync(&a, BYTES, s));
    CT(cuMemAllocFromPoolAsync(&b, 3 * BYTES, other, s));
    CHECK(!cuMemPoolGetAttribute(p, LIVE, &v) && v == BYTES && !cuMemPoolGetAttribute(other, LIVE, &v) && v == 3 * BYTES);
    CHECK(!cuMemPoolGetAttribute(p, THRESHOLD, &v) && v == UINT64_MAX);
    /* The free is behind what uses the memory. */
    CT(cuMemsetD8Async(a, 3, BYTES, s));
    CT(cuMemcpyAsync((CUdeviceptr)(uintptr_t)x, a + BYTES - 4, 4, s));
    CHECK(!cuMemFreeAsync(a, s) && cuMemFreeAsync(a, s) == CUDA_ERROR_INVALID_VALUE);
    CHECK(!cuStreamSynchronize(s) && x[0] == 0x03030303);
    CHECK(!cuMemPoolGetAttribute(p, TAKEN, &v) && v == 0 && !cuMemPoolGetAttribute(p, LIVE_MOST, &v) && v == BYTES);
    CHECK(!cuDeviceSetMemPool(0, other) && !cuMemAllocAsync(&a, BYTES, s));
    CHECK(!cuMemPoolGetAttribute(other, LIVE, &v) && v == 4 * BYTES);
    CHECK(!cuMemPoolDestroy(other) && !cuDeviceGetMemPool(&now, 0) && now == p && cuMemPoolDestroy(p) == CUDA_ERROR_INVALID_VALUE);
    CHECK(!cuMemsetD8(b, 1, 3 * BYTES) && !cuMemFree(b) && !cuMemFreeAsync(a, s)); /* after the end of their pool */
    CT(cuMemAlloc(&a, 64));
    CHECK(!cuMemFreeAsync(a, s) && !cuStreamSynchronize(s) && cuMemFree(a) == CUDA_ERROR_INVALID_VALUE);
    props.handles = 1;
    CHECK(cuMemPoolCreate(&other, &props) == CUDA_ERROR_NOT_SUPPORTED);
    CT(cuStreamDestroy(s));
}

/* ---- edges and captures ----------------------------------------------------------------------------------------- */

static void edges(void)
{
    enum { NODES = 12 };
    CUgraph g;
    CUgraphNode node[NODES], from[NODES * NODES], to[NODES * NODES];
    bool has[NODES][NODES] = {{0}};
    size_t n = 0, want = 0, room = NODES * NODES;
    CT(cuGraphCreate(&g, 0));
    for (size_t k = 0; k < NODES; k++) {
        CUgraphNode after[NODES];
        n = 0;
        for (size_t i = 0; i < k; i++)
            if (ct_random() % 3 == 0) {
                has[i][k] = true;
                after[n++] = node[i];
            }
        CT(cuGraphAddEmptyNode(&node[k], g, after, n));
        want += n;
    }
    CHECK(!cuGraphGetEdges(g, NULL, NULL, &n) && n == want);
    CHECK(!cuGraphGetEdges_v2(g, from, to, NULL, &room) && room == want && (want == NODES * NODES || (!from[want] && !to[want])));
    for (size_t e = 0; e < want; e++) {
        size_t i = 0, k = 0;
        while (i < NODES && node[i] != from[e])
            i++;
        while (k < NODES && node[k] != to[e])
            k++;
        CHECK(i < NODES && k < NODES && has[i][k]);
        has[i % NODES][k % NODES] = false; /* once */
        n = NODES;
        CHECK(!cuGraphNodeGetDependentNodes(node[i % NODES], from + want, &n) && n > 0);
    }
    CHECK(!cuGraphDestroy(g));
}

/* The cell is 5 times 2 and 1: a node that the program adds between two that are captured; then the graph goes on in another capture. */
static void capture_into(void)
{
    CUgraph g, now;
    CUgraphExec e;
    CUstream s;
    CUgraphNode node;
    const CUgraphNode *after;
    CUstreamCaptureStatus status;
    uint64_t id = 0, again = 0;
    size_t n;
    CT(cuStreamCreate(&s, 1));
    CHECK(!cuStreamGetCaptureInfo(s, &status, &id, NULL, NULL, NULL) && status == CC_CAPTURE_NONE && !id);
    CHECK(cuStreamUpdateCaptureDependencies(s, NULL, 0, 1) == ILLEGAL_STATE);
    CT(cuStreamBeginCapture(s, CC_CAPTURE_GLOBAL));
    CHECK(!cuStreamGetCaptureInfo_v3(s, &status, &id, &g, &after, NULL, &n) && status == CC_CAPTURE_ACTIVE && id && n == 0);
    CT(cuMemsetD8Async((CUdeviceptr)(uintptr_t)x, 5, 4, s));
    CHECK(!cuStreamGetCaptureInfo(s, &status, &again, &now, &after, &n) && again == id && now == g && n == 1);
    node = add_kernel(g, after[0], "odd", (void *[]){&x}); /* 3 x + 1, counted in x[2] */
    CHECK(!cuStreamUpdateCaptureDependencies(s, &node, 1, 1) && !cuStreamGetCaptureInfo(s, &status, NULL, NULL, &after, &n) && n == 1 && after[0] == node);
    CT(cuMemcpyAsync((CUdeviceptr)(uintptr_t)&x[3], (CUdeviceptr)(uintptr_t)x, 4, s));
    CHECK(!cuStreamEndCapture(s, &now) && now == g);
    n = 1;
    CHECK(!cuGraphNodeGetDependentNodes(node, &node, &n) && n == 1);
    CT(cuStreamBeginCaptureToGraph(s, g, &node, NULL, 1, CC_CAPTURE_GLOBAL));
    CHECK(!cuStreamGetCaptureInfo(s, &status, &again, NULL, NULL, &n) && again != id && n == 1);
    CT(cuMemcpyAsync((CUdeviceptr)(uintptr_t)&x[4], (CUdeviceptr)(uintptr_t)&x[3], 4, s));
    CHECK(!cuStreamEndCapture(s, NULL));
    CT(cuStreamBeginCaptureToGraph(s, g, NULL, NULL, 0, CC_CAPTURE_GLOBAL)); /* behind none of its nodes */
    CT(cuMemsetD8Async((CUdeviceptr)(uintptr_t)&x[5], 1, 4, s));
    CHECK(!cuStreamEndCapture(s, NULL));
    n = 0;
    CHECK(!cuGraphGetNodes(g, NULL, &n) && n == 5);
    CT(cuGraphInstantiate(&e, g, 0));
    memset(x, 0, 24);
    launch(e, s);
    CHECKF(x[4] == 0x05050505u * 3 + 1 && x[2] == 1 && x[5] == 0x01010101, "%#x", x[4]);
    CHECK(!cuGraphExecDestroy(e) && !cuGraphDestroy(g));
    CT(cuStreamDestroy(s));
}

int main(void)
{
    void *at, *image;
    size_t size;
    CUlinkState link;
    ct_up();
#define X(call, params)                                                                                               \
    CT(ct_get(#call, &at, 12000, 0, NULL));                                                                           \
    call = (__typeof__(call))at;
    MORE(X) CC_GRAPH_CALLS(X) CC_LINK_CALLS(X) CC_POOL_CALLS(X)
#undef X
    x = ct_memory(64);
    CT(cuLinkCreate(0, NULL, NULL, &link));
    CT(cuLinkAddData(link, CC_INPUT_PTX, (char *)(uintptr_t)text, sizeof text, "the test", 0, NULL, NULL));
    CT(cuLinkComplete(link, &image, &size));
    CUresult r = ct_build(&module, image);
    if (r) {
        printf("Bail out! %s\n", ct_log);
        return 1;
    }
    CT(cuLinkDestroy(link));
    RUN(collatz, "a condition inside a loop: the Collatz sequence");
    RUN(kinds, "a switch, a condition without a first value, errors");
    RUN(faults, "a fault in the body of a loop ends it");
    RUN(memory, "memory of graphs: freed by nodes, calls, streams, launches, another graph");
    RUN(captured_memory, "memory of graphs, captured");
    RUN(pools, "pools of memory, frees in the order of a stream");
    RUN(edges, "edges");
    RUN(capture_into, "captures into a graph, and nodes that the program adds to one");
    return tap_end();
}
