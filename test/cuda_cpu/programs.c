/*
 * programs.c - the driver on the CPU with small PTX programs: warps, barriers, calls, memory, images, streams, refusals.
 *
 * `ptx` builds a module from kernels whose first parameter %out points to results, one of 4 bytes for each thread, and whose
 * %i is the thread's number in its group.
 */
#include <errno.h>
#include <stdbool.h>

#include "ct.h"

static uint32_t *out;
enum { OUT = 4096 };

/* A module with one kernel k of this body; `before`: declarations in front of it. */
static CUmodule ptx(const char *before, const char *body)
{
    CUmodule m = NULL;
    ct_text.n = 0;
    ct_add(CT_HEAD "%s\n.visible .entry k(.param .u64 out)\n{\n.reg .pred %%p<9>;\n.reg .b32 %%r<20>, %%i;\n"
           ".reg .b16 %%h<9>;\n.reg .b64 %%rd<20>, %%out;\nld.param.u64 %%out, [out];\nmov.u32 %%i, %%tid.x;\nmul.wide.u32 %%rd0, %%i, 4;\n"
           "%s\nadd.s64 %%out, %%out, %%rd0;\nst.global.u32 [%%out], %%r0;\nret;\n}\n",
           before, body);
    CHECKF(!ct_build(&m, ct_text.s), "%s", ct_log);
    return m;
}

static bool run(CUmodule m, unsigned groups, unsigned items, unsigned shared_bytes)
{
    memset(out, 0xff, OUT * sizeof *out);
    bool good = m && !ct_run(m, "k", groups, items, shared_bytes, (void *[]){&out});
    if (m)
        CHECK(!cuModuleUnload(m));
    return CHECK(good);
}

#define EACH(n, condition)                                                                                            \
    for (unsigned i = 0; i < (n); i++)                                                                                \
        CHECKF(condition, "thread %u: %#x", i, out[i])

/* ---- warps ------------------------------------------------------------------------------------------------------ */

/* Catches: lanes of the wrong warp, a segment or clamp that is ignored, a predicate that is not set. */
static void shuffles(void)
{
    if (run(ptx("", "shfl.sync.bfly.b32 %r0, %i, 5, 0x1f, -1;"), 1, 64, 0))
        EACH(64, out[i] == (i ^ 5));
    if (run(ptx("", "shfl.sync.up.b32 %r0|%p0, %i, 3, 0x0, -1; @!%p0 mov.u32 %r0, 1000;"), 1, 64, 0))
        EACH(64, out[i] == (i % 32 >= 3 ? i - 3 : 1000));
    if (run(ptx("", "shfl.sync.down.b32 %r0|%p0, %i, 2, 0x181f, -1; @!%p0 mov.u32 %r0, 1000;"), 1, 64, 0)) /* width 8 */
        EACH(64, out[i] == (i % 8 < 6 ? i + 2 : 1000));
    if (run(ptx("", "and.b32 %r1, %i, 3; shfl.sync.idx.b32 %r0, %i, %r1, 0x1c1f, -1;"), 1, 64, 0)) /* width 4 */
        EACH(64, out[i] == i);
}

/* Catches: votes of lanes that the mask does not name, or of those that have ended. */
static void votes(void)
{
    if (run(ptx("", "setp.lt.u32 %p0, %i, 40; vote.sync.ballot.b32 %r0, %p0, -1;"), 1, 48, 0))
        EACH(48, out[i] == (i < 32 ? UINT32_MAX : 0xff));
    if (run(ptx("", "mov.u32 %r0, 7; setp.lt.u32 %p0, %i, 8; @%p0 bra A; bra B; A: setp.eq.u32 %p1, %i, 3;"
                    "vote.sync.any.pred %p2, %p1, 0xff; selp.b32 %r0, 1, 0, %p2; B:"), 1, 32, 0))
        EACH(32, out[i] == (i < 8 ? 1 : 7));
    if (run(ptx("", "shr.u32 %r1, %i, 2; match.any.sync.b32 %r0, %r1, -1;"), 1, 32, 0))
        EACH(32, out[i] == 15u << (i & ~3u));
    if (run(ptx("", "mov.b64 %rd1, 5; match.all.sync.b64 %r0|%p0, %rd1, -1; @!%p0 mov.u32 %r0, 3;"), 1, 32, 0))
        EACH(32, out[i] == UINT32_MAX);
    if (run(ptx("", "redux.sync.add.u32 %r0, %i, -1;"), 1, 32, 0))
        EACH(32, out[i] == 31 * 16);
    if (run(ptx("", "neg.s32 %r1, %i; redux.sync.min.s32 %r0, %r1, -1;"), 1, 32, 0))
        EACH(32, (int)out[i] == -31);
    if (run(ptx("", "setp.ge.u32 %p0, %i, 24; @%p0 bra E; bar.warp.sync 0xffffff; setp.eq.u32 %p1, 0, 0;"
                    "vote.sync.ballot.b32 %r0, %p1, -1; bra D; E: ret; D:"), 1, 32, 0))
        EACH(24, out[i] == 0xffffff);
}

/* Catches: a mask of lanes in another branch; threads of a branch that never form one set again. */
static void active_masks(void)
{
    if (run(ptx("", "and.b32 %r1, %i, 1; setp.eq.u32 %p0, %r1, 0; @%p0 bra A; activemask.b32 %r0; bra B; A: activemask.b32 %r0; B:"),
            1, 64, 0))
        EACH(64, out[i] == (i & 1 ? 0xaaaaaaaa : 0x55555555));
    if (run(ptx("", "activemask.b32 %r0;"), 1, 40, 0))
        EACH(40, out[i] == (i < 32 ? UINT32_MAX : 0xff));
}

/* Catches: a thread that waits for another one of its warp, or for one at activemask, for ever. */
static void progress(void)
{
#define WAIT(before)                                                                                                  \
    "mov.u32 %r0, 1; setp.eq.u32 %p0, %i, 7; @%p0 bra SET; L: ld.acquire.gpu.global.u32 %r1, [flag];"                 \
    "setp.eq.u32 %p1, %r1, 0; @%p1 bra L; bra D; SET:" before "st.release.gpu.global.u32 [flag], 1; D:"
    if (run(ptx(".global .align 4 .u32 flag;", WAIT("")), 1, 64, 0))
        EACH(64, out[i] == 1);
    if (run(ptx(".global .align 4 .u32 flag;", WAIT("activemask.b32 %r5;")), 1, 64, 0))
        EACH(64, out[i] == 1);
    if (run(ptx(".global .align 4 .u32 lock;", "mov.u32 %r0, 1; L: atom.acquire.gpu.global.cas.b32 %r1, [lock], 0, 1;"
                                               "setp.ne.u32 %p0, %r1, 0; @%p0 bra L; atom.release.gpu.global.exch.b32 %r2, [lock], 0;"),
            1, 64, 0))
        EACH(64, out[i] == 1);
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

/* Catches: shared addresses of 32 and 64 bits that differ, dynamic memory over static one, a barrier that lets threads pass. */
static void shared(void)
{
    const char *body = "mov.u32 %r1, s; shl.b32 %r2, %i, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %i;"
                       "mov.u64 %rd1, dyn; cvta.shared.u64 %rd2, %rd1; add.s64 %rd3, %rd2, %rd0; mul.lo.u32 %r4, %i, 3;"
                       "st.u32 [%rd3], %r4; bar.sync 0; mov.u32 %r5, 508; sub.u32 %r6, %r5, %r2; mov.u64 %rd4, s;"
                       "cvt.u64.u32 %rd5, %r6; add.s64 %rd6, %rd4, %rd5; ld.shared.u32 %r7, [%rd6]; ld.shared.u32 %r8, [%r1+512];"
                       "cvta.to.shared.u64 %rd7, %rd3; ld.shared.u32 %r9, [%rd7]; mad.lo.u32 %r0, %r7, 1000, %r9;"
                       "isspacep.shared %p0, %rd2; @!%p0 mov.u32 %r0, 0; isspacep.global %p1, %rd2; @%p1 mov.u32 %r0, 1;";
    if (run(ptx(".shared .align 4 .b8 s[520];\n.extern .shared .align 16 .b8 dyn[];", body), 1, 128, 512))
        EACH(128, out[i] == (127 - i) * 1000 + i * 3);
    /* an address of 32 bits below 0, plus an offset */
    if (run(ptx(".shared .align 4 .b8 s[512];", "mov.u32 %r1, s; shl.b32 %r2, %i, 2; add.u32 %r3, %r1, %r2; sub.u32 %r4, %r3, 512;"
                                                "st.shared.u32 [%r4+512], %i; bar.sync 0; ld.shared.u32 %r0, [%r3];"),
            1, 128, 0))
        EACH(128, out[i] == i);
    /* memory that nvcc's headers reserve does not overlap variables */
    if (run(ptx(".shared .align 4 .b8 s[512];", "mov.u32 %r1, %reserved_smem_offset_1; shl.b32 %r2, %i, 2; add.u32 %r3, %r1, %r2;"
                                                "st.shared.u32 [%r3], %i; mov.u32 %r4, s; add.u32 %r5, %r4, %r2; mul.lo.u32 %r6, %i, 3;"
                                                "st.shared.u32 [%r5], %r6; bar.sync 0; cvt.u64.u32 %rd1, %r3; cvta.shared.u64 %rd2, %rd1;"
                                                "ld.u32 %r7, [%rd2]; ld.shared.u32 %r8, [%r5]; add.u32 %r0, %r7, %r8;"),
            1, 128, 0))
        EACH(128, out[i] == 4 * i);
}

static void reductions(void)
{
    if (run(ptx("", "setp.lt.u32 %p0, %i, 50; bar.red.popc.u32 %r0, 0, %p0;"), 1, 100, 0))
        EACH(100, out[i] == 50);
    if (run(ptx("", "setp.lt.u32 %p0, %i, 50; bar.red.and.pred %p1, 0, %p0; bar.red.or.pred %p2, 0, %p0;"
                    "selp.b32 %r1, 1, 0, %p1; selp.b32 %r2, 2, 0, %p2; or.b32 %r0, %r1, %r2;"), 1, 100, 0))
        EACH(100, out[i] == 2);
}

/* Catches: a barrier that lets threads pass, that waits for threads beyond its count, or that mixes two numbers. */
static void named_barriers(void)
{
    /* the warps of two halves of the group, each with a barrier of its own, which the other half does not reach at once */
    const char *body = "shr.u32 %r1, %i, 6; add.u32 %r2, %r1, 1; mov.u32 %r3, s; shl.b32 %r4, %i, 2; add.u32 %r3, %r3, %r4;"
                       "st.shared.u32 [%r3], %i; setp.eq.u32 %p0, %r1, 0; @%p0 bra A; barrier.cta.sync.aligned %r2, 64; bra B;"
                       "A: bar.sync 1, 64; bar.sync 1, 64; B: xor.b32 %r5, %i, 63; shl.b32 %r5, %r5, 2; mov.u32 %r6, s;"
                       "add.u32 %r6, %r6, %r5; ld.shared.u32 %r0, [%r6];";
    if (run(ptx(".shared .align 4 .b8 s[512];", body), 2, 128, 0))
        EACH(128, out[i] == (i ^ 63));
    /* producers arrive and do not wait; consumers wait for them; the last warp has 16 threads */
    body = "mov.u32 %r0, 1; setp.lt.u32 %p0, %i, 32; @%p0 bra C; st.shared.u32 [s], 7; bar.arrive 3, 96; bra E;"
           "C: bar.sync 3, 96; ld.shared.u32 %r0, [s]; E: bar.sync 0;";
    if (run(ptx(".shared .align 4 .u32 s;", body), 1, 80, 0))
        EACH(80, out[i] == (i < 32 ? 7 : 1));
    /* barrier 0 with and without a count is the same one; a number without count waits for all */
    body = "setp.lt.u32 %p0, %i, 32; st.shared.u32 [s], 0; bar.sync 0; @%p0 bra C; atom.shared.add.u32 %r1, [s], 1; bar.sync 0; bra E;"
           "C: atom.shared.add.u32 %r1, [s], 1; bar.sync 0, 96; E: bar.sync 5; ld.shared.u32 %r0, [s];";
    if (run(ptx(".shared .align 4 .u32 s;", body), 1, 96, 0))
        EACH(96, out[i] == 96);
    body = "setp.lt.u32 %p1, %i, 40; setp.lt.u32 %p0, %i, 64; @!%p0 bra E; bar.red.popc.u32 %r0, 2, 64, %p1;"
           "bar.red.or.pred %p2, 4, 64, !%p1; bar.red.and.pred %p3, 6, 64, %p1; @!%p2 mov.u32 %r0, 100; @%p3 mov.u32 %r0, 200; bra D;"
           "E: mov.u32 %r0, 3; D:";
    if (run(ptx("", body), 1, 96, 0))
        EACH(96, out[i] == (i < 64 ? 40 : 3));
}

/* Eight rounds: all threads add to the round's word, wait for all of the grid, and count the word if it is complete. The barrier
 * as nvcc writes it for compute capability 8.0: each group's first thread adds to a word of the launch, whose address is in two
 * special registers; the addition of the first group makes the top bit change once all have come. */
static const char grid_rounds[] =
    "mov.u32 %r0, 100; mov.u32 %r12, %ctaid.x; mov.u32 %r10, %envreg2; cvt.u64.u32 %rd7, %r10; mov.u32 %r11, %envreg1; cvt.u64.u32 %rd8, %r11;"
    "bfi.b64 %rd9, %rd8, %rd7, 32, 32; setp.eq.s64 %p7, %rd9, 0; @%p7 bra DONE;"
    "mov.u32 %r0, 0; add.s64 %rd10, %rd9, 4; setp.ne.u32 %p5, %i, 0; add.s64 %rd11, %out, 1024; mov.u32 %r9, 0;"
    "mov.u32 %r13, %nctaid.x; mov.u32 %r14, %ntid.x; mul.lo.s32 %r8, %r13, %r14;"
    "setp.eq.u32 %p6, %r12, 0; mov.u32 %r14, -2147483647; sub.s32 %r15, %r14, %r13; selp.b32 %r16, %r15, 1, %p6;"
    "AGAIN: atom.global.add.u32 %r1, [%rd11], 1; barrier.sync 0; @%p5 bra WAITED; atom.add.release.gpu.u32 %r17, [%rd10], %r16;"
    "WAIT: ld.acquire.gpu.u32 %r18, [%rd10]; xor.b32 %r19, %r18, %r17; setp.gt.s32 %p4, %r19, -1; @%p4 bra WAIT;"
    "WAITED: barrier.sync 0; ld.global.u32 %r2, [%rd11]; setp.eq.u32 %p3, %r2, %r8; @%p3 add.u32 %r0, %r0, 1;"
    "add.s64 %rd11, %rd11, 4; add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 8; @%p2 bra AGAIN; DONE:"
    "mul.wide.u32 %rd12, %r12, 160; add.s64 %out, %out, %rd12;";

/* Catches: no memory for the grid's barrier, or memory that two launches share; groups that are not resident together; checks
 * that refuse the address; an address where the launch is not cooperative. Returns the number of wrong results. */
static int grid_barriers(void)
{
    enum { GROUPS = 6, ITEMS = 40 };
    void *at = NULL;
    CUfunction f;
    CT(ct_get("cuLaunchCooperativeKernel", &at, 12000, 0, NULL));
    CUresult (*launch)(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **) =
        (__typeof__(launch))at;
    CUmodule m = ptx("", grid_rounds);
    if (!CHECK(m && !cuModuleGetFunction(&f, m, "k")))
        return 1;
    int bad = 0;
    for (unsigned turn = 0; turn < 3; turn++) {
        memset(out, 0, OUT * sizeof *out);
        CT(launch(f, GROUPS, 1, 1, ITEMS, 1, 1, 0, NULL, (void *[]){&out}));
        bad += !CHECK(!cuStreamSynchronize(NULL));
        for (unsigned i = 0; i < GROUPS * ITEMS; i++)
            bad += !CHECKF(out[i] == 8, "launch %u, thread %u: %u", turn, i, out[i]);
    }
    if (run(m, 1, ITEMS, 0))
        EACH(ITEMS, out[i] == 100);
    return bad;
}

static int grid_barriers_checked(void)
{
    ct_up();
    out = ct_memory(OUT * sizeof *out);
    return grid_barriers();
}

static void grids(void)
{
    grid_barriers();
}

/* ---- control ---------------------------------------------------------------------------------------------------- */

/* Catches: arguments in the wrong place, a result that is lost, frames that overlap. */
static void calls(void)
{
    const char *fns = ".func (.param .b32 r) twice(.param .b32 a) { .reg .b32 %x; ld.param.u32 %x, [a]; add.u32 %x, %x, %x;"
                      "st.param.b32 [r+0], %x; ret; }\n"
                      ".func (.param .align 8 .b8 r[16]) pair(.param .align 8 .b8 a[16]) { .reg .b64 %x<3>; .reg .b32 %y<3>;"
                      "ld.param.u64 %x0, [a]; ld.param.u64 %x1, [a+8]; cvt.u32.u64 %y0, %x0; { .param .b32 p; st.param.b32 [p], %y0;"
                      ".param .b32 q; call.uni (q), twice, (p); ld.param.b32 %y1, [q]; } cvt.u64.u32 %x2, %y1;"
                      "st.param.b64 [r], %x1; st.param.b64 [r+8], %x2; ret; }";
    const char *body = "cvt.u64.u32 %rd1, %i; { .param .align 8 .b8 p[16]; st.param.v2.b64 [p], {%rd1, %rd1}; .param .align 8 .b8 q[16];"
                       "call.uni (q), pair, (p); ld.param.v2.b64 {%rd2, %rd3}, [q]; } mad.lo.s64 %rd4, %rd2, 1000, %rd3;"
                       "cvt.u32.u64 %r0, %rd4;";
    if (run(ptx(fns, body), 2, 64, 0))
        EACH(64, out[i] == i * 1002);
}

static void jumps(void)
{
    if (run(ptx("", "and.b32 %r1, %i, 3; brx.idx %r1, T; T: .branchtargets A, B, C, D; A: mov.u32 %r0, 10; bra E;"
                    "B: mov.u32 %r0, 20; bra E; C: mov.u32 %r0, 30; bra E; D: mov.u32 %r0, 40; E:"), 1, 64, 0))
        EACH(64, out[i] == 10 * (i % 4 + 1));
    if (run(ptx("", "mov.u32 %r0, 0; mov.u32 %r1, 0; L: setp.ge.u32 %p0, %r1, %i; @%p0 bra E; add.u32 %r0, %r0, %r1;"
                    "add.u32 %r1, %r1, 1; bra.uni L; E:"), 1, 64, 0))
        EACH(64, out[i] == i * (i - 1) / 2);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* Catches: bytes in the wrong order, an address in an initializer that is not filled in, a vector load over its own address. */
static void variables(void)
{
    const char *vars = ".visible .const .align 4 .b32 table[4] = {1, 0x20, -3, 4U};\n.global .align 1 .b8 text[6] = {104, 97, 108, 108, 111};\n"
                       ".visible .global .align 8 .u64 there[2] = {generic(table), text+1};\n.global .f32 real = 0f3FC00000;\n"
                       ".visible .global .align 8 .u64 count = 5;";
    const char *body = "ld.global.v2.u64 {%rd1, %rd2}, [there]; ld.u32 %r1, [%rd1+4]; ld.u8 %r2, [%rd2]; ld.global.f32 %r3, [real];"
                       "mov.u64 %rd3, there; ld.global.v2.u64 {%rd3, %rd4}, [%rd3]; sub.s64 %rd5, %rd3, %rd1; cvt.u32.u64 %r4, %rd5;"
                       "ld.const.s32 %rd6, [table+8]; add.u32 %r0, %r1, %r2; add.u32 %r0, %r0, %r4; shr.u64 %rd7, %rd6, 32;"
                       "cvt.u32.u64 %r5, %rd7; add.u32 %r0, %r0, %r5; atom.global.add.u64 %rd8, [count], 1;";
    CUmodule m = ptx(vars, body);
    CUdeviceptr at = 0;
    size_t bytes = 0;
    uint64_t v = 0;
    if (!m)
        return;
    CHECK(!cuModuleGetGlobal(&at, &bytes, m, "count") && bytes == 8 && cuModuleGetGlobal(&at, NULL, m, "none"));
    CHECK(!cuModuleGetGlobal(&at, &bytes, m, "count"));
    CHECK(!ct_run(m, "k", 1, 64, 0, (void *[]){&out}));
    EACH(64, out[i] == 0x20 + 97 - 1);
    CHECK(!cuMemcpyAsync((CUdeviceptr)(uintptr_t)&v, at, 8, NULL) && !cuStreamSynchronize(NULL) && v == 5 + 64);
    CHECK(!cuModuleUnload(m));
}

static void local_memory(void)
{
    if (run(ptx("", ".local .align 16 .b8 depot[64]; mov.u64 %rd1, depot; cvta.local.u64 %rd2, %rd1; and.b32 %r1, %i, 15;"
                    "mul.wide.u32 %rd3, %r1, 4; add.s64 %rd4, %rd2, %rd3; st.u32 [%rd4], %i; add.s64 %rd5, %rd1, %rd3;"
                    "ld.local.u32 %r0, [%rd5]; isspacep.local %p0, %rd4; @!%p0 mov.u32 %r0, 0;"), 1, 64, 0))
        EACH(64, out[i] == i);
}

/* Catches: an update that is lost, a wrong old value. */
static void atomics(void)
{
    CUmodule m = ptx(".visible .global .align 8 .u32 w[6] = {0, 0, 1000, 0, 7, 9}; .visible .global .f64 d;",
                     "atom.global.add.f32 %r1, [w], 0f3F800000; atom.global.inc.u32 %r2, [w+4], 9; red.global.min.u32 [w+8], %i;"
                     "red.relaxed.sys.global.max.s32 [w+12], %i; atom.global.dec.u32 %r3, [w+16], 5; red.global.add.f64 [d], 0d3FE0000000000000;"
                     "atom.acq_rel.sys.global.xor.b32 %r4, [w+20], 3; fence.acq_rel.sys; fence.sc.gpu; membar.gl; mov.u32 %r0, %r2;");
    CUdeviceptr at = 0, sum = 0;
    uint32_t w[6];
    double d = 0;
    float f;
    if (!m)
        return;
    CHECK(!cuModuleGetGlobal(&at, NULL, m, "w") && !cuModuleGetGlobal(&sum, NULL, m, "d"));
    CHECK(!ct_run(m, "k", 4, 64, 0, (void *[]){&out}));
    memcpy(w, (void *)(uintptr_t)at, sizeof w);
    memcpy(&d, (void *)(uintptr_t)sum, sizeof d);
    memcpy(&f, &w[0], sizeof f);
    CHECKF(f == 256 && d == 128, "%g %g", (double)f, d);
    CHECKF(w[1] == 256 % 10 && w[2] == 0 && w[3] == 63 && w[4] <= 5 && w[5] == 9, "%u %u %u %u %u", w[1], w[2], w[3], w[4], w[5]);
    EACH(64, out[i] <= 9);
    CHECK(!cuModuleUnload(m));
}

/* Catches: an update of 16 bits that changes its neighbours, or that is lost. */
static void short_atomics(void)
{
    CUmodule m = ptx(".visible .global .align 8 .b16 w[8] = {0, 1, 2, 3, 4, 5, 6, 7};",
                     "mov.b16 %h0, 0x3C00; atom.global.add.noftz.f16 %h1, [w+2], %h0; mov.b32 %r1, 0x3C003C00; red.global.add.noftz.f16x2 [w+4], %r1;"
                     "L: ld.relaxed.gpu.global.u16 %h2, [w+14]; add.u16 %h3, %h2, 1; atom.global.cas.b16 %h4, [w+14], %h2, %h3;"
                     "setp.ne.u16 %p0, %h2, %h4; @%p0 bra L; cvt.u32.u16 %r0, %h4;");
    CUdeviceptr at = 0;
    uint16_t w[8];
    if (!m)
        return;
    CHECK(!cuModuleGetGlobal(&at, NULL, m, "w"));
    CHECK(!ct_run(m, "k", 4, 64, 0, (void *[]){&out}));
    memcpy(w, (void *)(uintptr_t)at, sizeof w);
    CHECKF(w[0] == 0 && w[1] == 0x5C00 && w[2] == 0x5C00 && w[3] == 0x5C00 && w[4] == 4 && w[5] == 5 && w[6] == 6 && w[7] == 7 + 256,
           "%#x %#x %#x %#x %#x %#x %#x %#x", w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]);
    EACH(64, out[i] >= 7 && out[i] < 7 + 256);
    CHECK(!cuModuleUnload(m));
}

/* Catches: an argument of the wrong size or place. */
static void prints(void)
{
    static const char want[] = "thread 1: -5 18446744073709551615 2.5 x abc 7%\n";
    char got[200] = "";
    int ends[2], keep = dup(1);
    CUmodule m = ptx(".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"
                     ".global .align 1 .b8 fmt[40] = {116,104,114,101,97,100,32,37,117,58,32,37,100,32,37,108,108,117,32,37,103,32,37,99,"
                     "32,37,115,32,37,100,37,37,10,0};\n.global .align 1 .b8 abc[4] = {97, 98, 99, 0};",
                     "setp.ne.u32 %p0, %i, 1; @%p0 bra E; .local .align 8 .b8 depot[56]; mov.b64 %rd1, depot; cvta.local.u64 %rd2, %rd1;"
                     "st.u32 [%rd2], %i; st.u32 [%rd2+4], -5; mov.b64 %rd3, -1; st.u64 [%rd2+8], %rd3; mov.f64 %rd4, 0d4004000000000000;"
                     "st.f64 [%rd2+16], %rd4; st.u32 [%rd2+24], 120; mov.u64 %rd5, abc; cvta.global.u64 %rd6, %rd5; st.u64 [%rd2+32], %rd6;"
                     "st.u32 [%rd2+40], 7; mov.u64 %rd7, fmt; cvta.global.u64 %rd8, %rd7;"
                     "{ .param .b64 p; st.param.b64 [p+0], %rd8; .param .b64 q; st.param.b64 [q+0], %rd2; .param .b32 r;"
                     "call.uni (r), vprintf, (p, q); ld.param.b32 %r0, [r+0]; } E:");
    fflush(stdout);
    if (!m || !CHECK(!pipe(ends)))
        return;
    dup2(ends[1], 1);
    bool good = run(m, 1, 2, 0);
    fflush(stdout);
    dup2(keep, 1);
    close(ends[1]);
    ssize_t n = read(ends[0], got, sizeof got - 1);
    close(ends[0]);
    close(keep);
    CHECKF(good && n > 0 && strcmp(got, want) == 0 && out[1] == 7, "\"%s\", %u arguments", got, out[1]);
}

/* ---- refusals --------------------------------------------------------------------------------------------------- */

static void refused(const char *text, const char *why)
{
    CUmodule m;
    char *all;
    if (asprintf(&all, CT_HEAD "%s", text) < 0)
        return;
    CHECKF(ct_build(&m, all) != CUDA_SUCCESS && strstr(ct_log, why), "%s: %s", why, ct_log);
    free(all);
}

/* Catches: a module that loads with an instruction that would do something else. */
static void refusals(void)
{
#define K(body) ".entry k() { .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p;\n" body "\nret; }"
    refused(K("wgmma.fence.sync.aligned;"), "line 5: the instruction wgmma.fence.sync.aligned is not supported");
    refused(K("add.sat.s32 %r0, %r1, %r2;"), "line 5: the instruction add.sat.s32 is not supported: sat");
    refused(K("add.s64 %rd0, %rd1, %r2;"), "line 5: a register of 4 bytes");
    refused(K("mov.u32 %r0, %tid.q;"), "special register %tid.q");
    refused(K("bra NOWHERE;"), "a jump to a label that the function lacks");
    refused(K("bar.arrive 1;"), "line 5: bar needs more than 1 operands");
    refused(K("bar.sync 1, 64, 3;"), "line 5: bar: too many operands");
    refused(K("add.s32 %r0, %r1;"), "add needs more than 2 operands");
    refused(K("ld.global.u32 %r0, [none];"), "no address");
    refused(K("add.s32 %r0, %r1, "), "line 5: add: an operand of the wrong kind");
    refused(K("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r0}, {%r0}, {%r0}, {%r0};"), "line 5: mma has more than 3 types");
    refused(K("tld4.r.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [%rd0, {%r0, %r1}];"), "line 5: the instruction tld4.r.2d.v4.f32.f32 is not");
    refused(".func f() { call f; ret; } .entry k() { call f; ret; }", "recursion");
    refused(".extern .func g(); .entry k() { call g; ret; }", "g is not defined");
    refused(".address_size 32", "address_size 64");
    refused(".entry k() { ret;", "no end");
    CUmodule m;
    CHECK(ct_build(&m, "\177ELF\2\1\1") && strstr(ct_log, "cubin"));
}

/* ---- images, streams -------------------------------------------------------------------------------------------- */

/* A fatbin with machine code and PTX, as is or as an LZ4 block of literals and one match. */
static void fatbins(void)
{
    static const char text[] = CT_HEAD ".entry k() { ret; }\n";
    for (int packed = 0; packed < 2; packed++) {
        struct {
            uint32_t magic;
            uint16_t version, head;
            uint64_t bytes;
            struct entry {
                uint16_t kind, version;
                uint32_t head;
                uint64_t bytes;
                uint32_t packed, unknown;
                uint32_t unused[4];
                uint64_t flags, zero, unpacked;
            } e;
            uint8_t payload[512];
        } image = {0xba55ed50, 1, 16, 64 + 512, {1, 0x101, 64, 512, 0, 0, {0}, packed ? 0x2000 : 0, 0, 0}, {0}};
        size_t n = sizeof text - 1, literals = n - 8;
        uint8_t *at = image.payload;
        if (packed) { /* literals; then 8 spaces are a match, with distance 1, after one literal space */
            *at++ = 0xf4;
            *at++ = (uint8_t)(literals + 1 - 15);
            memcpy(at, text, literals);
            at[literals] = ' ';
            at += literals + 1;
            *at++ = 1;
            *at++ = 0;
            *at++ = 0;
            image.e.packed = (uint32_t)(at - image.payload);
            image.e.unpacked = literals + 9;
        } else {
            memcpy(at, text, n);
        }
        CUmodule m = NULL;
        CUresult r = ct_build(&m, (const char *)&image);
        CUfunction f;
        if (packed) /* the text without its end */
            CHECKF(r && strstr(ct_log, "no end"), "%s", ct_log);
        else
            CHECKF(!r && !cuModuleGetFunction(&f, m, "k") && !cuModuleUnload(m), "%s", ct_log);
    }
}

/* Catches: commands out of order, an event that comes before its copy, arguments that are read at the start. */
static void streams(void)
{
    CUmodule m = ptx(".global .u32 turn;", "atom.global.add.u32 %r0, [turn], 1;");
    CUstream s;
    CUevent e;
    CUfunction f;
    uint32_t *copy = ct_memory(64);
    if (!m)
        return;
    CT(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CT(cuEventCreate(&e, 0));
    CT(cuModuleGetFunction(&f, m, "k"));
    CHECK(!cuEventQuery(e));
    for (unsigned i = 0; i < 100; i++) {
        uint32_t *other = out + i;
        CT(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, s, (void *[]){&other}, NULL));
        other = NULL;
    }
    CT(cuMemcpyAsync((CUdeviceptr)(uintptr_t)copy, (CUdeviceptr)(uintptr_t)(out + 99), 4, s));
    CT(cuEventRecord(e, s));
    while (cuEventQuery(e) == CUDA_ERROR_NOT_READY)
        usleep(100);
    CHECK(*copy == 99 && !cuStreamQuery(s));
    EACH(100, out[i] == i);
    CHECK(!cuEventDestroy(e) && !cuStreamDestroy(s) && !cuModuleUnload(m) && !cuMemFreeHost(copy));
    CUcontext c;
    CHECK(!cuCtxPopCurrent(&c) && cuStreamSynchronize(NULL) == CUDA_ERROR_INVALID_CONTEXT && !cuCtxPushCurrent(c));
}

/* A second process maps memory of this one by its handle. */
static void handles(void)
{
    CUdeviceptr at, own;
    CUipcMemHandle h;
    CT(cuMemAlloc(&at, 8192));
    CT(cuIpcGetMemHandle(&h, at));
    CHECK(cuIpcOpenMemHandle(&own, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    pid_t pid = fork();
    if (pid == 0) {
        CUdeviceptr theirs;
        int err = cuIpcOpenMemHandle(&theirs, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
        if (!err)
            *(int *)(uintptr_t)(theirs + 4096) = 17;
        _exit(err ? 1 : cuIpcCloseMemHandle(theirs) != 0);
    }
    int status = 1;
    waitpid(pid, &status, 0);
    CHECK(status == 0 && *(int *)(uintptr_t)(at + 4096) == 17);
    CHECK(!cuMemFree(at) && cuMemFree(at));
}

/* A fault ends the launch with one line, and the stream reports it. */
static int faults(void)
{
    ct_up();
    out = ct_memory(OUT * sizeof *out);
    CUmodule m = ptx("", "mov.u64 %rd1, 64; setp.eq.u32 %p0, %i, 9; @%p0 ld.global.u32 %r0, [%rd1];");
    if (!m)
        return 2;
    int ends[2];
    char text[400] = "";
    if (pipe(ends))
        return 3;
    dup2(ends[1], 2);
    CUresult r = ct_run(m, "k", 1, 32, 0, (void *[]){&out});
    if (read(ends[0], text, sizeof text - 1) < 0)
        return 4;
    return r != 719 || !strstr(text, "kernel k, work-item (9,0,0)") || !strstr(text, "at 0x40");
}

static void checks(void)
{
    int r = ct_child(faults, "ZE_CPU_CHECK", "1");
    CHECKF(r == 0, "%d", r);
    r = ct_child(grid_barriers_checked, "ZE_CPU_CHECK", "1");
    CHECKF(r == 0, "%d", r);
}

int main(void)
{
    RUN(checks, "a bad address is reported with kernel and thread, that of a grid's barrier is not");
    ct_up();
    out = ct_memory(OUT * sizeof *out);
    RUN(shuffles, "shuffles");
    RUN(votes, "votes, matches, reductions of a warp");
    RUN(active_masks, "activemask names the threads of a branch");
    RUN(progress, "threads of a warp wait for each other");
    RUN(shared, "static and dynamic shared memory");
    RUN(named_barriers, "barriers with numbers and counts");
    RUN(reductions, "barriers with a reduction");
    RUN(grids, "barriers of a cooperative grid");
    RUN(calls, "functions with arguments and results");
    RUN(jumps, "loops, jumps by a table");
    RUN(variables, "variables with initializers");
    RUN(local_memory, "local memory");
    RUN(atomics, "atomics and fences");
    RUN(short_atomics, "atomics on 16 bits");
    RUN(prints, "printf");
    RUN(refusals, "what is not supported is named with its line");
    RUN(fatbins, "fatbins");
    RUN(streams, "streams and events");
    RUN(handles, "handles of memory for other processes");
    return tap_end();
}
