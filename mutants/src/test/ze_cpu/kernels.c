/* kernels.c - each feature of kernels, against results of the host. */
#include <limits.h>
#include <math.h>
#include <stdbool.h>

#include "zt.h"

#include "both.h"

enum { N = 256, GROUP = 32 };
static ze_module_handle_t module;
static uint32_t *in;
static unsigned seed = 12345;

static void *run1(const char *name, size_t bytes)
{
    ze_kernel_handle_t k = zt_kernel(module, name);
    void *out = zt_host(bytes);
    memset(out, 0, bytes);
    zt_arg(k, 0, sizeof in, &in);
    zt_arg(k, 1, sizeof out, &out);
    CHECK(!zt_run(k, N, GROUP));
    return out;
}

/* Catches: wrong widths, signs, shifts, switches, calls, or phis. */
static void integers(void)
{
    uint64_t *a = run1("ints", N * 8), *b = run1("loops", N * 8);
    for (uint32_t i = 0; i < N; i++) {
        CHECKF(a[i] == both_ints(in[i], in[i + 1]), "ints %u", i);
        CHECKF(b[i] == both_loops(in[i], in[i + 1]), "loops %u", i);
    }
}

/* Catches: wrong rounding, comparisons with NaN, conversions. */
static void floating(void)
{
    double *o = run1("floats", N * 8);
    for (uint32_t i = 0; i < N; i++)
        CHECKF(o[i] == both_floats(in[i], in[i + 1]), "item %u: %.17g, not %.17g", i, o[i],
               both_floats(in[i], in[i + 1]));
}

static int64_t clamp(int64_t v, int64_t least, int64_t most)
{
    return v < least ? least : v > most ? most : v;
}

static void bit_functions(void)
{
    uint32_t *out = run1("bits", N * 24 * 4);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t *o = out + i * 24, x = in[i], y = in[i + 1], r = y & 31;
        int64_t a = (int32_t)x, b = (int32_t)y;
        const int64_t want[24] = {
            __builtin_popcount(x), x ? __builtin_clz(x) : 32, a > b ? a : b, x < y ? x : y,
            (int64_t)((uint64_t)x * y >> 32), a * b >> 32, a < 0 ? -a : a, r ? x << r | x >> (32 - r) : x,
            clamp((int64_t)x + y, 0, UINT_MAX), clamp(a + b, INT_MIN, INT_MAX), clamp(a - b, INT_MIN, INT_MAX),
            ((int64_t)x + y) >> 1, (a + b + 1) >> 1, a > b ? a - b : b - a, clamp(a, -1000, 1000),
            (x & ~0xff00ffu) | (y & 0xff00ffu), clamp(a * b + 7, INT_MIN, INT_MAX), (x & 0xffff) << 16 | (y & 0xffff),
            clamp(a, -128, 127) & 0xff, clamp(a, 0, 65535), lrintf((float)(int)x * 0.25f / 1048576.f),
            __builtin_popcount(x) + __builtin_popcount(y), x ? __builtin_ctz(x) : 32,
            clamp((int8_t)x + (int8_t)y, -128, 127) & 0xff};
        for (int k = 0; k < 24; k++)
            CHECKF(o[k] == (uint32_t)want[k], "item %u, function %d: %x, not %x", i, k, o[k], (uint32_t)want[k]);
    }
}

/* Catches: components in the wrong place, conversions of the wrong width. */
static void vectors(void)
{
    struct {
        int a;
        float b;
        int64_t c;
        short d[3];
    } s = {5, 1.5f, 77, {1, 2, 3}};
    ze_kernel_handle_t k = zt_kernel(module, "vectors");
    uint32_t *out = zt_host(N * 16);
    zt_arg(k, 0, sizeof in, &in);
    zt_arg(k, 1, sizeof out, &out);
    zt_arg(k, 2, sizeof s, &s);
    CHECK(!zt_run(k, N, GROUP));
    for (uint32_t i = 0; i < N; i++) {
        uint32_t v[4], w[4], r[4], c[4], any = 0, all = 1;
        memcpy(v, in + 4 * i, sizeof v);
        for (uint32_t j = 0; j < 4; j++) {
            w[j] = v[3 - j] + j + 1;
            c[j] = (int32_t)v[j] > (int32_t)w[j];
            any |= c[j];
            all &= c[j];
            r[j] = c[j] ? w[j] : v[j];
        }
        for (uint32_t j = 0; j < 3; j++)
            r[j + 1] ^= v[j] * 3;
        r[2] += 5;
        r[0] ^= 77 + (uint32_t)s.d[i % 3];
        for (uint32_t j = 0; j < 4; j++)
            r[j] += (uint16_t)((v[j] & 0xff) * 300);
        uint32_t odd[4] = {r[1], r[3], v[1], v[3]};
        for (uint32_t j = 0; j < 4; j++)
            r[j] ^= odd[j];
        r[1] += any;
        r[2] -= all;
        uint32_t at = in[i] & 3;
        r[0] += r[at];
        r[at] ^= 0x55;
        uint32_t mixed[4] = {r[2], r[0], r[3], r[1]};
        mixed[at] += 5;
        CHECKF(!memcmp(out + 4 * i, mixed, sizeof mixed), "item %u", i);
    }
}

static void math_functions(void)
{
    ze_kernel_handle_t k = zt_kernel(module, "math");
    float *x = zt_host((N + 1) * 4);
    double *out = zt_host(N * 40 * 8);
    for (int i = 0; i <= N; i++)
        x[i] = (float)(tap_random(&seed) % 3000) / 1000.f + 0.01f;
    zt_arg(k, 0, sizeof x, &x);
    zt_arg(k, 1, sizeof out, &out);
    CHECK(!zt_run(k, N, GROUP));
    for (int i = 0; i < N; i++) {
        double a = (double)x[i], b = (double)x[i + 1], ip, t = fmin(fmax(a / 2, 0), 1);
        int n;
        const double want[40] = {sqrt(a),
                                 sin(a),
                                 cos(a),
                                 exp(a),
                                 log(a),
                                 pow(a, b),
                                 a * b + 1.5,
                                 floor(b),
                                 ceil(a),
                                 fmax(a, b),
                                 fmin(a, b),
                                 trunc(a),
                                 round(b),
                                 rint(a),
                                 b,
                                 tan(a),
                                 atan2(a, b),
                                 hypot(a, b),
                                 exp2(b),
                                 log2(a),
                                 log10(a),
                                 1 / sqrt(a),
                                 a,
                                 fmod(a, b),
                                 cbrt(a),
                                 sinh(b),
                                 erf(a),
                                 a * 8,
                                 a * a * a,
                                 frexp(a, &n),
                                 frexp(a, &n) * 0 + n,
                                 modf(b, &ip),
                                 floor(b),
                                 a + (b - a) * 0.25,
                                 fmin(fmax(a, (double)0.1f), (double)0.6f),
                                 sin(a),
                                 2 * a * b + 11,
                                 sqrt(a * a + b * b),
                                 a * 3 - b * 2,
                                 ilogb(a) + t * t * (3 - 2 * t) + 1};
        for (int j = 0; j < 40; j++) {
            double o = out[i * 40 + j], err = fabs(o - want[j]) / fmax(1e-3, fabs(want[j]));
            CHECKF(err < (j == 15 || j == 38 ? 1e-3 : 1e-5), "item %d, function %d: %g, not %g", i, j, o, want[j]);
        }
    }
}

/* Catches: a barrier that releases a work-item early, local memory shared by groups. */
static void local_memory(void)
{
    ze_kernel_handle_t k = zt_kernel(module, "locals");
    uint32_t *out = zt_host(N * 4);
    zt_arg(k, 0, sizeof in, &in);
    zt_arg(k, 1, sizeof out, &out);
    zt_arg(k, 2, GROUP * 4, NULL);
    CHECK(!zt_run(k, N, GROUP));
    for (uint32_t i = 0; i < N; i++) {
        uint32_t s = 0, *v = in + i / GROUP * GROUP, count = 0;
        for (uint32_t j = 0; j < GROUP; j++) {
            s += v[(j + i) % GROUP] * (j + 1) + v[j] * 3;
            count += v[j] & 3;
        }
        CHECKF(out[i] == s + count, "item %u", i);
    }
}

/* Catches: an update that is lost, or of the wrong width or sign. */
static void atomics(void)
{
    enum { TIMES = 50 };
    ze_kernel_handle_t k = zt_kernel(module, "atoms");
    uint32_t *c = zt_host(4096), n = TIMES, sum = N * (N - 1) / 2, x = 0;
    uint64_t *d = (uint64_t *)(c + 512);
    memset(c, 0, 4096);
    c[3] = c[8] = 0xffffffff;
    c[10] = 0x80000000;
    zt_arg(k, 0, sizeof c, &c);
    zt_arg(k, 1, sizeof d, &d);
    zt_arg(k, 2, 4, &n);
    CHECK(!zt_run(k, N, GROUP));
    for (uint32_t g = 0; g < N; g++)
        for (uint32_t i = 0; i < TIMES; i++)
            x ^= g + i;
    CHECK(c[0] == N * TIMES && c[1] == sum * TIMES && c[2] == 255 * 7 + 49 && c[3] == 3 && c[4] == 0xffffffff);
    CHECK(c[5] == x && c[6] == 3 * N * TIMES && c[7] == 0u - N * TIMES && c[8] == 0xffff0000);
    CHECK(c[9] == 0u - 2 * N * TIMES && (int)c[10] == -745 && (int)c[11] == -1000);
    CHECK(d[0] == ((uint64_t)sum * TIMES) << 33 && d[1] == (255ull << 40) + 49 && d[2] >> 32 == (d[2] & 0xffffffff));
    CHECK((int64_t)d[3] == -255 && d[4] == 5ull * N * TIMES && d[5] == UINT64_MAX);
}

static void lock(void)
{
    ze_kernel_handle_t k = zt_kernel(module, "flag");
    uint32_t *m = zt_host(64), *count = m + 8;
    memset(m, 0, 64);
    zt_arg(k, 0, sizeof m, &m);
    zt_arg(k, 1, sizeof count, &count);
    CHECK(!zt_run(k, 64, 16));
    CHECK(*count == 640);
}

static void sub_groups(void)
{
    enum { SIZE = 16 };
    ze_kernel_handle_t k = zt_kernel(module, "sub_group");
    uint32_t *out = zt_host(N * 64);
    zt_arg(k, 0, sizeof out, &out);
    CHECK(!zt_run(k, N, GROUP));
    for (uint32_t g = 0; g < N; g++) {
        uint32_t l = g % SIZE, first = g - l, *o = out + g * 16;
        const uint32_t want[16] = {SIZE * first + 120, first + 3, 15, l * (l - 1) / 2, 1, 0, g / SIZE % 2, SIZE, 0xaaaa,
                                   first + (l ^ 5), first + (l ^ 3), g - 2, 1000 - 10 * l, GROUP / SIZE,
                                   l & 1 ? 0xaaaa + 5 : l, l + 1};
        for (int j = 0; j < 16; j++)
            if (!(j == 11 && l < 2) && !(j == 15 && l == 15)) /* without a source lane, the result is undefined */
                CHECKF(o[j] == want[j], "item %u, operation %d: %u, not %u", g, j, o[j], want[j]);
    }
}

static void work_groups(void)
{
    ze_kernel_handle_t k = zt_kernel(module, "work_group");
    int64_t *out = zt_host(N * 64);
    zt_arg(k, 0, sizeof out, &out);
    CHECK(!zt_run(k, N, GROUP));
    for (int64_t g = 0; g < N; g++) {
        int64_t l = g % GROUP, first = g - l, *o = out + g * 8;
        CHECKF(o[0] == GROUP * first + 496 && o[1] == l * (l + 1) / 2 && o[2] == first + 7, "item %d", (int)g);
        CHECKF(!o[3] && o[4] && o[5] == 31 && o[6] == (l ? 0 : INT_MAX), "item %d", (int)g);
    }
}

/* Pointers to all address spaces; program-scope variables, also accessed by the host. */
static void spaces(void)
{
    ze_kernel_handle_t k = zt_kernel(module, "spaces");
    uint32_t *out = zt_host(64 * 4), *counter;
    size_t size = 0;
    zt_arg(k, 0, sizeof out, &out);
    ZE(zeModuleGetGlobalPointer(module, "counter", &size, (void **)&counter));
    CHECK(size == 4);
    for (uint32_t value = 5; value < 200; value += 100) {
        *counter = value;
        CHECK(!zt_run(k, 64, 64));
        for (uint32_t i = 0; i < 64; i++)
            CHECKF(out[i] == (i & 1 ? 7 : 63 - i) + value + (i & 3) + 1 + 2 + (i & 1) + (i & 1 ? 0 : 100) + 1000,
                   "item %u: %u", i, out[i]);
    }
    CHECK(zeModuleGetGlobalPointer(module, "absent", &size, (void **)&counter) == ZE_RESULT_ERROR_INVALID_GLOBAL_NAME);
}

static void pointers(void)
{
    struct node {
        struct node *next;
        int value;
    } *n = zt_host(10 * sizeof *n);
    int *out = zt_host(4);
    for (int i = 0; i < 10; i++)
        n[i] = (struct node){i < 9 ? &n[i + 1] : NULL, i * i};
    ze_kernel_handle_t k = zt_kernel(module, "chase");
    zt_arg(k, 0, sizeof n, &n);
    zt_arg(k, 1, sizeof out, &out);
    CHECK(!zt_run(k, 1, 1));
    CHECK(*out == 285);
}

static void ids(void)
{
    ze_kernel_handle_t k = zt_kernel(module, "ids");
    uint32_t *out = zt_host(4 * 6 * 4 * 3), x, y, z;
    ze_group_count_t n = {3, 2, 3};
    ze_event_handle_t e = zt_event();
    zt_arg(k, 0, sizeof out, &out);
    ZE(zeKernelSetGroupSize(k, 2, 2, 1));
    ZE(zeKernelSetGlobalOffsetExp(k, 1, 2, 0));
    ZE(zeCommandListAppendLaunchKernel(zt_immediate(), k, &n, e, 0, NULL));
    CHECK(!zeEventHostSynchronize(e, LIMIT_NS));
    for (uint32_t i = 0; i < 72; i++) {
        x = i % 6, y = i / 6 % 4, z = i / 24;
        CHECKF(out[i] == (x * 10 + y) * 10 + z + 3000 + 200000 + 3000000 + 10000000, "item %u: %u", i, out[i]);
    }
}

/* Conversion of every half to float and back, and of floats that must round. */
static void halves(void)
{
    uint16_t *h = zt_host(65536 * 2), *back = zt_host(65536 * 2);
    float *f = zt_host(65536 * 4);
    ze_kernel_handle_t a = zt_kernel(module, "half_in"), b = zt_kernel(module, "half_out");
    for (uint32_t i = 0; i < 65536; i++)
        h[i] = (uint16_t)i;
    zt_arg(a, 0, sizeof h, &h);
    zt_arg(a, 1, sizeof f, &f);
    zt_arg(b, 0, sizeof f, &f);
    zt_arg(b, 1, sizeof back, &back);
    CHECK(!zt_run(a, 65536, 64) && !zt_run(b, 65536, 64));
    for (uint32_t i = 0; i < 65536; i++) {
        bool nan = (i & 0x7c00) == 0x7c00 && i & 0x3ff;
        CHECKF(nan ? isnan(f[i]) && (back[i] & 0x7c00) == 0x7c00 && back[i] & 0x3ff : back[i] == i, "half %x", i);
    }
    CHECK(f[0x3c00] == 1.f && f[0xc000] == -2.f && f[1] == 0x1p-24f && f[0x7bff] == 65504.f);
    const float from[] = {1.0004883f, 1.0014649f, 65519.f, 65520.f, 0x1p-25f, 0x1.8p-25f, -1e-9f};
    const uint16_t to[] = {0x3c00, 0x3c02, 0x7bff, 0x7c00, 0, 1, 0x8000};
    memcpy(f, from, sizeof from);
    CHECK(!zt_run(b, 64, 64));
    for (int i = 0; i < 7; i++)
        CHECKF(back[i] == to[i], "%g: %x, not %x", (double)from[i], back[i], to[i]);
}

static void async_copies(void)
{
    uint32_t *o = run1("copies", N * 4);
    for (uint32_t i = 0; i < N; i++)
        CHECKF(o[i] == in[i / GROUP * GROUP + 31 - i % GROUP], "item %u", i);
}

static void printing(void)
{
    char path[] = "/tmp/ztXXXXXX", text[200] = "";
    int fd = mkstemp(path), keep = dup(1), value = 42;
    fflush(stdout);
    dup2(fd, 1);
    ze_kernel_handle_t k = zt_kernel(module, "print");
    zt_arg(k, 0, sizeof value, &value);
    bool ran = !zt_run(k, 1, 1);
    fflush(stdout);
    dup2(keep, 1);
    CHECK(ran && pread(fd, text, sizeof text - 1, 0) > 0);
    CHECKF(!strcmp(text, "-42|   42|ff  |text|1.50|1,2,3,42|z|%|-5\n"), "%s", text);
    close(fd);
    close(keep);
    unlink(path);
}

int main(void)
{
    zt_up();
    module = zt_module("kernels");
    in = zt_host((N * 4 + 8) * 4);
    for (int i = 0; i < N * 4 + 8; i++)
        in[i] = i % 17 ? tap_random(&seed) : (unsigned)i & 7;
    RUN(integers, "integers of all widths, control flow, calls");
    RUN(floating, "single and double precision");
    RUN(bit_functions, "integer functions and saturation");
    RUN(vectors, "vectors and arguments by value");
    RUN(math_functions, "mathematical functions");
    RUN(local_memory, "local memory and barriers");
    RUN(atomics, "atomics of 32 and 64 bits");
    RUN(lock, "an atomic flag as a lock between groups");
    RUN(sub_groups, "sub-group operations");
    RUN(work_groups, "work-group operations");
    RUN(spaces, "address spaces and program-scope variables");
    RUN(pointers, "structures with pointers to themselves");
    RUN(ids, "three dimensions and an offset");
    RUN(halves, "half precision in memory");
    RUN(async_copies, "copies by a work-group");
    RUN(printing, "printf");
    return tap_end();
}
