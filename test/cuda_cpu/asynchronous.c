/*
 * asynchronous.c - barriers in shared memory, copies that they count, clusters of one group, accesses of 16 bytes, and
 * frees during kernels, by small PTX programs.
 */
#include "ct.h"

static uint32_t *out;
enum { OUT = 4096 };

/* A module with a kernel k of this body; %i: the thread in its group, %all: in the grid; %r0 is its result. */
static CUmodule build(const char *before, const char *body)
{
    CUmodule m = NULL;
    ct_text.n = 0;
    ct_add(".version 8.6\n.target sm_90\n.address_size 64\n%s\n.visible .entry k(.param .u64 out, .param .u64 data)\n{\n.reg .pred %%p<9>;\n"
           ".reg .b32 %%r<20>, %%i, %%all;\n.reg .b64 %%rd<20>, %%out, %%data;\n.reg .b128 %%w<9>;\nld.param.u64 %%out, [out];\n"
           "ld.param.u64 %%data, [data];\nmov.u32 %%i, %%tid.x;\nmov.u32 %%r19, %%ntid.x; mov.u32 %%r18, %%ctaid.x;\n"
           "mad.lo.u32 %%all, %%r18, %%r19, %%i;\nmov.u32 %%r0, 0;\n%s\nmul.wide.u32 %%rd19, %%all, 4;\nadd.s64 %%out, %%out, %%rd19;\n"
           "st.global.u32 [%%out], %%r0;\nret;\n}\n",
           before, body);
    CHECKF(!ct_build(&m, ct_text.s), "%s", ct_log);
    return m;
}

/* Run it with `groups` groups of `items`. */
static int run(unsigned groups, unsigned items, void *data, const char *before, const char *body)
{
    CUmodule m = build(before, body);
    memset(out, 0xff, OUT * sizeof *out);
    int good = m && !ct_run(m, "k", groups, items, 0, (void *[]){&out, &data});
    if (m)
        CHECK(!cuModuleUnload(m));
    return CHECK(good);
}

#define EACH(n, condition)                                                                                            \
    for (unsigned i = 0; i < (n); i++)                                                                                \
        CHECKF(condition, "thread %u: %#x", i, out[i])

#define INIT(count) "setp.ne.u32 %p0, %i, 0; @%p0 bra begun; mbarrier.init.shared::cta.b64 [b], " count "; fence.mbarrier_init.release.cluster;\n" \
                    "begun: bar.sync 0;\n"

/*
 * Each thread adds to a sum in each of 20 phases, and reads it after the phase.
 * Catches: a phase that ends early or never, a state or a parity that is compared with the wrong phase.
 */
static void phases(void)
{
    static const char variables[] = ".shared .align 8 .b64 b; .shared .b32 sum;";
    if (run(3, 70, out, variables,
            INIT("70") "st.shared.u32 [sum], 0; bar.sync 0; mov.u32 %r1, 0;\n"
            "again: atom.shared.add.u32 %r2, [sum], 1;\n"
            "mbarrier.arrive.release.cta.shared::cta.b64 %rd0, [b];\n"
            "wait: mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [b], %rd0; @!%p1 bra wait;\n"
            "ld.shared.u32 %r3, [sum]; add.u32 %r1, %r1, 1; mul.lo.u32 %r4, %r1, 70; sub.u32 %r3, %r3, %r4; or.b32 %r0, %r0, %r3;\n"
            "bar.sync 0; setp.lt.u32 %p1, %r1, 20; @%p1 bra again;"))
        EACH(210, out[i] == 0);
    if (run(1, 64, out, variables, /* by parity, and each of 32 threads arrives for two */
            INIT("64") "st.shared.u32 [sum], 0; bar.sync 0; mov.u32 %r1, 0; setp.lt.u32 %p2, %i, 32;\n"
            "again: atom.shared.add.u32 %r2, [sum], 1; bar.sync 1;\n"
            "@%p2 mbarrier.arrive.shared.b64 _, [b], 2;\n"
            "and.b32 %r5, %r1, 1;\nwait: mbarrier.try_wait.parity.shared::cta.b64 %p1, [b], %r5, 1000; @!%p1 bra wait;\n"
            "ld.shared.u32 %r3, [sum]; add.u32 %r1, %r1, 1; mul.lo.u32 %r4, %r1, 64; sub.u32 %r3, %r3, %r4; or.b32 %r0, %r0, %r3;\n"
            "bar.sync 0; setp.lt.u32 %p1, %r1, 21; @%p1 bra again;"))
        EACH(64, out[i] == 0);
    if (run(1, 4, out, variables, /* one thread leaves: the later phases need 3 */
            INIT("4") "setp.eq.u32 %p2, %i, 3; mov.u32 %r0, 1; @%p2 bra leave;\n"
            "mbarrier.arrive.shared.b64 %rd0, [b]; mbarrier.pending_count.b64 %r0, %rd0;\n"
            "wait: mbarrier.test_wait.shared.b64 %p1, [b], %rd0; @!%p1 bra wait;\n"
            "mbarrier.arrive.shared.b64 %rd0, [b];\nagain: mbarrier.test_wait.shared.b64 %p1, [b], %rd0; @!%p1 bra again; bra done;\n"
            "leave: mbarrier.arrive_drop.shared.b64 %rd0, [b];\ndone:"))
        EACH(4, out[i] >= 1 && out[i] <= 4);
}

/* Catches: a copy that brings other bytes, or whose bytes the barrier does not count; a phase that ends without them. */
static void copies(void)
{
    uint32_t *data = ct_memory(1024);
    for (unsigned k = 0; k < 256; k++)
        data[k] = k * k;
    if (run(2, 64, data, ".shared .align 8 .b64 b; .shared .align 16 .b32 s[64];",
            INIT("1") "mov.u32 %r5, s; mov.u32 %r6, b; @%p0 bra wait;\n"
            "mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], 256;\n"
            "mbarrier.test_wait.parity.shared.b64 %p1, [b], 0; selp.u32 %r0, 1000, 0, %p1;\n"
            "mul.wide.u32 %rd1, %r18, 256; add.s64 %rd1, %rd1, %data;\n"
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd1], 128, [%r6];\n"
            "mbarrier.test_wait.parity.shared.b64 %p1, [b], 0; selp.u32 %r7, 1000, 0, %p1; add.u32 %r0, %r0, %r7;\n"
            "add.s64 %rd1, %rd1, 128; add.u32 %r5, %r5, 128; mov.u32 %r8, 128;\n"
            "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r5], [%rd1], %r8, [%r6];\n"
            "wait: mbarrier.try_wait.parity.shared.b64 %p1, [b], 0; @!%p1 bra wait;\n"
            "mul.lo.u32 %r9, %i, 4; mov.u32 %r10, s; add.u32 %r9, %r9, %r10; ld.shared.u32 %r11, [%r9]; add.u32 %r0, %r0, %r11;"))
        EACH(128, out[i] == i * i);
    if (run(1, 32, data, ".shared .align 16 .b32 s[32];", /* back to global memory */
            "mul.lo.u32 %r9, %i, 4; mov.u32 %r10, s; add.u32 %r9, %r9, %r10; add.u32 %r1, %i, 7; st.shared.u32 [%r9], %r1;\n"
            "fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %i, 0; @%p1 bra done;\n"
            "cp.async.bulk.global.shared::cta.bulk_group [%data], [%r10], 128; cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 0;\ndone:"))
        for (unsigned k = 0; k < 32; k++)
            CHECK(data[k] == k + 7);
    if (run(1, 32, data, ".shared .align 8 .b64 b; .shared .align 16 .b32 s[128];", /* as many bytes as the thread's number / 2, then zeros */
            INIT("32") "mul.lo.u32 %r9, %i, 16; mov.u32 %r10, s; add.u32 %r9, %r9, %r10; st.shared.u32 [%r9+12], -1; shr.u32 %r1, %i, 1;\n"
            "cp.async.cg.shared.global [%r9], [%data+512], 16, %r1; cp.async.mbarrier.arrive.noinc.shared.b64 [b];\n"
            "wait: mbarrier.try_wait.parity.shared.b64 %p1, [b], 0; @!%p1 bra wait; ld.shared.u32 %r0, [%r9+12];"))
        EACH(32, out[i] == (131u * 131u & ((i / 2 > 12 ? 1ull << (i / 2 - 12) * 8 : 1) - 1)));
    CHECK(!cuMemFreeHost(data));
}

/* Catches: registers of a cluster that are not those of one group; a barrier of it that does not wait. */
static void clusters(void)
{
    if (run(3, 64, out, ".shared .b32 sum;",
            "st.shared.u32 [sum], 0; bar.sync 0; atom.shared.add.u32 %r1, [sum], 1;\n"
            "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;\n"
            "mov.u32 %r2, sum; mapa.shared::cluster.u32 %r3, %r2, 0; ld.shared::cluster.u32 %r0, [%r3];\n"
            "mov.u32 %r4, %cluster_nctarank; mov.u32 %r5, %cluster_ctarank; mov.u32 %r6, %clusterid.x; mad.lo.u32 %r0, %r0, %r4, %r5;\n"
            "mad.lo.u32 %r0, %r6, 1000, %r0; mov.u32 %r7, %nclusterid.x; mad.lo.u32 %r0, %r7, 10000, %r0;"))
        EACH(192, out[i] == 64 + i / 64 * 1000 + 30000);
    CUmodule m = NULL;
    CHECK(ct_build(&m, CT_HEAD ".visible .entry k() .explicitcluster .reqnctapercluster 2, 1, 1\n{\nret;\n}\n") && strstr(ct_log, "clusters of several"));
}

/*
 * Groups write a number into both halves of 16 bytes, or all parts of 8, and others read them.
 * Catches: halves of different writes, on which CUB's scans of pairs depend; a lost update; a carry between the halves that is lost.
 */
static void wide(void)
{
    uint64_t *data = ct_memory(64);
    memset(data, 0, 64);
    if (run(8, 32, data, "",
            "mov.u32 %r1, 0; and.b32 %r2, %r18, 1; setp.eq.u32 %p1, %r2, 0; cvt.u64.u32 %rd3, %all;\n"
            "again: @%p1 bra writes;\n"
            "ld.relaxed.gpu.v2.u64 {%rd1, %rd2}, [%data]; setp.ne.u64 %p2, %rd1, %rd2; selp.u32 %r3, 1, 0, %p2; or.b32 %r0, %r0, %r3;\n"
            "ld.acquire.gpu.v4.u32 {%r4, %r5, %r6, %r7}, [%data+16]; sub.u32 %r5, %r5, %r4; sub.u32 %r6, %r6, %r4; sub.u32 %r7, %r7, %r4;\n"
            "or.b32 %r0, %r0, %r5; or.b32 %r0, %r0, %r6; or.b32 %r0, %r0, %r7;\n"
            "ld.volatile.v2.u32 {%r4, %r5}, [%data+32]; sub.u32 %r5, %r5, %r4; or.b32 %r0, %r0, %r5; bra next;\n"
            "writes: st.relaxed.gpu.v2.u64 [%data], {%rd3, %rd3}; cvt.u32.u64 %r8, %rd3; st.release.gpu.v4.u32 [%data+16], {%r8, %r8, %r8, %r8};\n"
            "st.volatile.v2.u32 [%data+32], {%r8, %r8}; add.s64 %rd3, %rd3, 1000;\n"
            "next: add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 3000; @%p2 bra again;"))
        EACH(256, out[i] == 0);
    memset(data, 0xff, 8);
    memset(data + 1, 0, 8);
    if (run(4, 32, data, "", /* 128 threads add 1 a hundred times to a number of 128 bits, which begins at 2^64 - 1 */
            "mov.u32 %r1, 0;\nagain: ld.relaxed.gpu.b128 %w0, [%data];\n"
            "try: mov.b128 {%rd1, %rd2}, %w0; add.cc.u64 %rd1, %rd1, 1; addc.u64 %rd2, %rd2, 0; mov.b128 %w1, {%rd1, %rd2};\n"
            "atom.relaxed.gpu.cas.b128 %w2, [%data], %w0, %w1; mov.b128 {%rd3, %rd4}, %w2; mov.b128 {%rd5, %rd6}, %w0; mov.b128 %w0, %w2;\n"
            "setp.ne.u64 %p1, %rd3, %rd5; @%p1 bra try; setp.ne.u64 %p1, %rd4, %rd6; @%p1 bra try;\n"
            "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 100; @%p1 bra again;"))
        CHECKF(data[0] == 12799 && data[1] == 1, "%llu and %llu", (unsigned long long)data[0], (unsigned long long)data[1]);
    data[0] = data[1] = 1000;
    if (run(1, 64, data, "", /* each takes what another one has put */
            "cvt.u64.u32 %rd1, %i; mov.b128 %w0, {%rd1, %rd1}; atom.exch.b128 %w1, [%data], %w0; mov.b128 {%rd2, %rd3}, %w1;\n"
            "sub.u64 %rd4, %rd2, %rd3; add.u64 %rd2, %rd2, %rd4; cvt.u32.u64 %r0, %rd2;")) {
        unsigned seen[64] = {0}, first = 0;
        EACH(64, out[i] == 1000 || out[i] < 64);
        for (unsigned k = 0; k < 64; k++)
            out[k] == 1000 ? first++ : seen[out[k] % 64]++;
        seen[data[0] % 64]++;
        for (unsigned k = 0; k < 64; k++)
            CHECK(seen[k] == 1);
        CHECK(first == 1 && data[0] == data[1]);
    }
    CHECK(!cuMemFreeHost(data));
}

/* Catches: memory that is freed while a kernel uses it. The kernel counts for a while before it sets *out. */
static void frees(void)
{
    CUmodule m = build("", "mov.u32 %r1, 0; again: add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 3000000; @%p0 bra again; mov.u32 %r0, %r1;");
    CUfunction f;
    CUstream s;
    if (!m)
        return;
    CT(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CT(cuModuleGetFunction(&f, m, "k"));
    for (unsigned k = 0; k < 2; k++) {
        CUdeviceptr at;
        void *host = k ? ct_memory(64) : NULL;
        CT(cuMemAlloc(&at, 64));
        *(volatile uint32_t *)out = 0;
        CT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){&out, &out}, NULL));
        CHECK(!(host ? cuMemFreeHost(host) : cuMemFree(at)));
        CHECKF(*(volatile uint32_t *)out == 3000000, "the free came before the end of the kernel: %u", *out);
        CHECK(!cuStreamSynchronize(s) && (!host || !cuMemFree(at)));
    }
    CHECK(!cuStreamDestroy(s) && !cuModuleUnload(m));
}

/* Catches: a program that asks for which architecture its kernel was compiled, as CUB does, and gets no or another one. */
static void architectures(void)
{
    static const char *const texts[] = {".version 8.0\n.target sm_80\n", ".version 8.5\n.target sm_90a, debug\n"};
    for (unsigned k = 0; k < 2; k++) {
        CUmodule m = NULL;
        CUfunction f;
        void *call;
        CT(ct_get("cuFuncGetAttribute", &call, 12000, 0, NULL));
        CUresult (*get)(int *, int, CUfunction) = (CUresult (*)(int *, int, CUfunction))call;
        int ptx_version = 0, binary = 0, bytes = 0;
        ct_text.n = 0;
        ct_add("%s.address_size 64\n.visible .entry k()\n{\nret;\n}\n", texts[k]);
        CHECKF(!ct_build(&m, ct_text.s), "%s", ct_log);
        CT(cuModuleGetFunction(&f, m, "k"));
        CHECK(!get(&ptx_version, 5, f) && ptx_version == (k ? 90 : 80));
        CHECK(!get(&binary, 6, f) && binary == 90);
        CHECK(!get(&bytes, 8, f) && bytes >= 48 << 10);
        CHECK(!cuModuleUnload(m));
    }
}

int main(void)
{
    ct_up();
    out = ct_memory(OUT * sizeof *out);
    RUN(phases, "mbarrier: phases, states, parities, threads that leave");
    RUN(copies, "copies that an mbarrier counts, to and from shared memory");
    RUN(clusters, "clusters of one group");
    RUN(wide, "accesses and atomics of 16 bytes");
    RUN(frees, "a free waits for kernels");
    RUN(architectures, "attributes of kernels");
    return tap_end();
}
