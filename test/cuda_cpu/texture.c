/*
 * texture.c - arrays, textures and surfaces of the driver on the CPU.
 *
 * The oracle: for random sizes, formats, address modes, filters and coordinates the host computes in double precision what CUDA's guide says of a
 * fetch, from the values that it stored.
 *
 * Catches: a wrong neighbour, weight or address mode; a format that is read wrongly; a row or a plane that a copy misses; a store outside a surface.
 */
#include <math.h>
#include <stdbool.h>

#include "ct.h"
#include "cuda_cpu/array_calls.h"

#define X(call, params) __attribute__((unused)) static CUresult(*call) params;
CC_ARRAY_CALLS(X) CC_GRAPH_CALLS(X)
#undef X

enum { U8 = 1, U16, U32, S8 = 8, S16, S32, F16 = 16, F32 = 32, LAYERED = 1, SURFACE = 2, CUBEMAP = 4 };
enum { WRAP, CLAMP, MIRROR, BORDER };
enum { HOST = 1, DEVICE, ARRAY };
enum { FETCHES = 64 };

/* Kernels fNAME and uNAME: fetch k takes in[4 k ...] and writes out[4 k ...], as floats or integers. */
#define FLOATS(name, geometry, place)                                                                                 \
    ".visible .entry f" name "(.param .u64 t, .param .u64 in, .param .u64 out)\n{\n" HEAD                               \
    "tex." geometry ".v4.f32.f32 {%f4, %f5, %f6, %f7}, [%rd0, " place "];\nst.global.v4.f32 [%rd2], {%f4, %f5, %f6, %f7};\nret;\n}\n"       \
    ".visible .entry u" name "(.param .u64 t, .param .u64 in, .param .u64 out)\n{\n" HEAD                               \
    "tex." geometry ".v4.u32.f32 {%r4, %r5, %r6, %r7}, [%rd0, " place "];\nst.global.v4.u32 [%rd2], {%r4, %r5, %r6, %r7};\nret;\n}\n"
#define HEAD                                                                                                          \
    ".reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd0, [t];\nld.param.u64 %rd1, [in];\nld.param.u64 %rd2, [out];\n"        \
    "mov.u32 %r0, %tid.x;\nmul.wide.u32 %rd3, %r0, 16;\nadd.u64 %rd1, %rd1, %rd3;\nadd.u64 %rd2, %rd2, %rd3;\n"          \
    "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1];\nmov.b32 %r0, %f0;\nmov.b32 %r1, %f1;\nmov.b32 %r2, %f2;\n"
static const char text[] = CT_HEAD
    FLOATS("1d", "1d", "{%f0}") FLOATS("2d", "2d", "{%f0, %f1}") FLOATS("3d", "3d", "{%f0, %f1, %f2, %f2}")
    FLOATS("a1d", "a1d", "{%r0, %f1}") FLOATS("a2d", "a2d", "{%r0, %f1, %f2, %f2}") FLOATS("cube", "cube", "{%f0, %f1, %f2, %f2}")
    ".visible .entry fetch(.param .u64 t, .param .u64 in, .param .u64 out)\n{\n" HEAD
    "tex.1d.v4.u32.s32 {%r4, %r5, %r6, %r7}, [%rd0, {%r0}];\nst.global.v4.u32 [%rd2], {%r4, %r5, %r6, %r7};\nret;\n}\n"
    /* What lies at (x, y), doubled, at (x, y) of the next layer. */
    ".visible .entry twice(.param .u64 t, .param .u64 in, .param .u64 out)\n{\n" HEAD
    "suld.b.a2d.v2.b32.zero {%r4, %r5}, [%rd0, {0, %r0, %r1, %r1}];\nadd.u32 %r4, %r4, %r4;\nadd.u32 %r5, %r5, %r5;\n"
    "sust.b.a2d.v2.b32.zero [%rd0, {1, %r0, %r1, %r1}], {%r4, %r5};\nst.global.v2.u32 [%rd2], {%r4, %r5};\nret;\n}\n"
    ".visible .entry clamped(.param .u64 t, .param .u64 in, .param .u64 out)\n{\n" HEAD
    "suld.b.a2d.b8.clamp %r4, [%rd0, {0, %r0, %r1, %r1}];\nst.global.u32 [%rd2], %r4;\nret;\n}\n";

static CUmodule module;
static float *in;
static uint32_t *out;

static uint32_t number(uint32_t below)
{
    return (uint32_t)(ct_random() >> 8) % below;
}

/* ---- the host's texture ----------------------------------------------------------------------------------------- */

struct tex {
    size_t w, h, d; /* elements; 1: no such dimension */
    int format, mode[3];
    unsigned channels;
    bool linear, integer, normalized;
    float border[4];
    uint8_t data[1 << 16];
};

static unsigned width_of(int format)
{
    return format == U8 || format == S8 ? 1 : format == U16 || format == S16 || format == F16 ? 2 : 4;
}

static bool is_float(const struct tex *t)
{
    return t->format >= F16 || (!t->integer && width_of(t->format) < 4);
}

static double half(unsigned h)
{
    double m = h & 0x3ff;
    int e = h >> 10 & 31;
    return (h & 0x8000 ? -1 : 1) * (e ? ldexp(1 + m / 1024, e - 15) : ldexp(m / 1024, -14));
}

/* Channel k of an element, where it lies inside. */
static double stored(const struct tex *t, int64_t x, int64_t y, int64_t z, unsigned k)
{
    unsigned w = width_of(t->format);
    const uint8_t *at = t->data + (((size_t)z * t->h + (size_t)y) * t->w + (size_t)x) * w * t->channels + k * w;
    uint32_t u = 0;
    float f;
    memcpy(&u, at, w);
    memcpy(&f, at, 4);
    switch (t->format) {
    case U8:
        return t->integer ? u : u / 255.;
    case U16:
        return t->integer ? u : u / 65535.;
    case S8:
        return t->integer ? (int8_t)u : fmax((int8_t)u / 127., -1);
    case S16:
        return t->integer ? (int16_t)u : fmax((int16_t)u / 32767., -1);
    case U32:
        return u;
    case S32:
        return (int32_t)u;
    case F16:
        return half(u);
    }
    return f;
}

static double texel(const struct tex *t, const int64_t at[3], unsigned dimensions, unsigned k)
{
    const size_t size[] = {t->w, t->h, t->d};
    int64_t i[3] = {at[0], at[1], at[2]};
    if (k >= t->channels)
        return k == 3;
    for (unsigned n = 0; n < dimensions; n++) {
        int64_t s = (int64_t)size[n];
        int mode = !t->normalized && t->mode[n] != BORDER ? CLAMP : t->mode[n];
        if (mode == BORDER && (i[n] < 0 || i[n] >= s))
            return is_float(t) ? (double)t->border[k] : (double)(int32_t)t->border[k];
        if (mode == CLAMP)
            i[n] = i[n] < 0 ? 0 : i[n] >= s ? s - 1 : i[n];
        while (mode == WRAP && i[n] < 0)
            i[n] += s;
        while (mode == WRAP && i[n] >= s)
            i[n] -= s;
        while (mode == MIRROR && (i[n] < 0 || i[n] >= s))
            i[n] = i[n] < 0 ? -1 - i[n] : 2 * s - 1 - i[n];
    }
    return stored(t, i[0], i[1], i[2], k);
}

/* In units of elements; a layer or a face is z. */
static double fetched(const struct tex *t, const double x[3], unsigned dimensions, int64_t z, unsigned k)
{
    double sum = 0;
    int64_t at[3] = {0, 0, z};
    if (!t->linear || !is_float(t)) {
        for (unsigned n = 0; n < dimensions; n++)
            at[n] = (int64_t)floor(x[n]);
        return texel(t, at, dimensions, k);
    }
    for (unsigned corner = 0; corner < 1u << dimensions; corner++) {
        double w = 1;
        for (unsigned n = 0; n < dimensions; n++) {
            double y = x[n] - 0.5, a = floor((y - floor(y)) * 256 + 0.5) / 256;
            at[n] = (int64_t)floor(y) + (corner >> n & 1);
            w *= corner >> n & 1 ? a : 1 - a;
        }
        if (w > 0)
            sum += w * texel(t, at, dimensions, k);
    }
    return sum;
}

static void random_texture(struct tex *t)
{
    static const int formats[] = {U8, U16, U32, S8, S16, S32, F16, F32};
    memset(t, 0, sizeof *t);
    t->format = formats[number(8)];
    t->channels = 1u << number(3);
    t->linear = number(2);
    t->integer = number(2);
    if (width_of(t->format) < 4 && t->format < F16 && t->integer)
        t->linear = false; /* CUDA filters floats only */
    if (t->format == U32 || t->format == S32)
        t->linear = false, t->integer = true;
    t->normalized = number(2);
    for (int k = 0; k < 3; k++)
        t->mode[k] = (int)number(4);
    for (int k = 0; k < 4; k++)
        t->border[k] = (float)number(5);
    for (size_t k = 0; k < sizeof t->data; k++)
        t->data[k] = (uint8_t)number(256);
    for (size_t k = 0; k < sizeof t->data; k += 4) {
        float f = (float)number(2000) / 100 - 10;
        if (t->format == F32)
            memcpy(t->data + k, &f, 4);
        if (t->format == F16)
            t->data[k + 1] &= 0xbf, t->data[k + 3] &= 0xbf; /* no infinity */
    }
}

static CUDA_TEXTURE_DESC desc_of(const struct tex *t)
{
    CUDA_TEXTURE_DESC d = {.filter = t->linear, .flags = (t->integer ? CC_READ_INTEGER : 0u) | (t->normalized ? CC_NORMALIZED : 0u)};
    memcpy(d.mode, t->mode, sizeof d.mode);
    memcpy(d.border, t->border, sizeof d.border);
    return d;
}

/* An array with the texture's data, by a copy of rows and planes. */
static CUarray array_of(struct tex *t, unsigned flags)
{
    CUarray a;
    size_t row = t->w * width_of(t->format) * t->channels;
    const CUDA_ARRAY3D_DESCRIPTOR d = {t->w, t->h > 1 ? t->h : 0, t->d > 1 || flags & LAYERED ? t->d : 0, t->format, t->channels, flags};
    CUDA_ARRAY3D_DESCRIPTOR got;
    CUDA_MEMCPY3D c = {.width_bytes = row, .height = t->h, .depth = t->d};
    CT(cuArray3DCreate(&a, &d));
    CHECK(!cuArray3DGetDescriptor(&got, a) && got.width == d.width && got.height == d.height && got.depth == d.depth);
    CHECK(got.format == d.format && got.channels == d.channels && got.flags == flags);
    c.from = (cc_copy_end){.memory = HOST, .host = t->data, .pitch = row, .height = t->h};
    c.to = (cc_copy_end){.memory = ARRAY, .array = a};
    CHECK(!cuMemcpy3D(&c));
    return a;
}

static CUtexObject object_of(struct tex *t, CUarray a)
{
    CUtexObject o = 0;
    const CUDA_RESOURCE_DESC r = {.type = CC_RESOURCE_ARRAY, .array = a};
    const CUDA_TEXTURE_DESC d = desc_of(t);
    CHECK(!cuTexObjectCreate(&o, &r, &d, NULL) && o);
    return o;
}

/* Random coordinates, some of them outside; first: the first of them that is one. */
static void coordinates(const struct tex *t, unsigned first, unsigned n)
{
    const size_t size[] = {t->w, t->h, t->d};
    for (unsigned k = 0; k < FETCHES; k++)
        for (unsigned i = 0; i < n; i++) {
            float x = ((float)number(1 << 16) / 65536 * 3 - 1) * (float)size[i];
            if (number(4) == 0)
                x = floorf(x) + 0.5f; /* a centre */
            in[4 * k + first + i] = t->normalized ? x / (float)size[i] : x;
        }
}

static void compare(const struct tex *t, const char *geometry, unsigned k, unsigned c, double want)
{
    float f;
    memcpy(&f, &out[4 * k + c], 4);
    double got = is_float(t) ? (double)f : t->format >= S8 ? (double)(int32_t)out[4 * k + c] : (double)out[4 * k + c];
    double near = is_float(t) ? 1e-3 * (fabs(want) + 1) : 0;
    CHECKF(fabs(got - want) <= near, "%s, format %d, %u channels, %s, %s, modes %d %d %d, %zux%zux%zu, at %g %g %g: channel %u is %g, expected %g", geometry,
           t->format, t->channels, t->linear ? "linear" : "point", t->normalized ? "normalized" : "not normalized", t->mode[0], t->mode[1], t->mode[2], t->w,
           t->h, t->d, (double)in[4 * k], (double)in[4 * k + 1], (double)in[4 * k + 2], c, got, want);
}

/* Near the border between two texels, or two weights, the host's doubles and the driver's floats may differ. */
static bool is_clear(const struct tex *t, const double x[3], unsigned n)
{
    bool clear = true;
    for (unsigned k = 0; k < n; k++) {
        double y = x[k] - (t->linear ? 0.5 : 0);
        clear &= t->linear || fabs(y - floor(y + 0.5)) > 1e-3;
    }
    return clear;
}

static void run(struct tex *t, CUtexObject o, const char *geometry, unsigned dimensions, unsigned layers)
{
    char name[16];
    snprintf(name, sizeof name, "%c%s", is_float(t) ? 'f' : 'u', geometry);
    coordinates(t, layers != 0, dimensions);
    for (unsigned k = 0; layers && k < FETCHES; k++)
        memcpy(&in[4 * k], &(uint32_t){number(layers + 2)}, 4);
    CHECK(!ct_run(module, name, 1, FETCHES, 0, (void *[]){&o, &in, &out}));
    for (unsigned k = 0; k < FETCHES; k++) {
        const size_t size[] = {t->w, t->h, t->d};
        double x[3] = {0, 0, 0};
        uint32_t layer = 0;
        for (unsigned n = 0; n < dimensions; n++)
            x[n] = (double)in[4 * k + n + (layers != 0)] * (t->normalized ? (double)size[n] : 1);
        if (layers)
            memcpy(&layer, &in[4 * k], 4);
        layer = layers && layer >= layers ? layers - 1 : layer;
        if (is_clear(t, x, dimensions))
            for (unsigned c = 0; c < 4; c++)
                compare(t, geometry, k, c, fetched(t, x, dimensions, layer, c));
    }
}

static struct tex t;

static void arrays(void)
{
    for (int round = 0; round < 120; round++) {
        random_texture(&t);
        unsigned dimensions = 1 + number(3), layers = dimensions < 3 && number(2) ? 1 + number(4) : 0;
        static const char *const names[] = {"1d", "2d", "3d"}, *const layered[] = {"a1d", "a2d"};
        t.w = 1 + number(15);
        t.h = dimensions > 1 ? 2 + number(12) : 1;
        t.d = layers ? layers : dimensions > 2 ? 2 + number(6) : 1;
        CUarray a = array_of(&t, layers ? LAYERED : 0);
        CUtexObject o = object_of(&t, a);
        run(&t, o, layers ? layered[dimensions - 1] : names[dimensions - 1], dimensions, layers);
        CHECK(!cuTexObjectDestroy(o) && cuTexObjectDestroy(o) == CUDA_ERROR_INVALID_VALUE && !cuArrayDestroy(a));
    }
}

/* Rows with a pitch, and memory without rows, on the device. */
static void memory(void)
{
    CUdeviceptr at;
    CUtexObject o;
    for (int round = 0; round < 30; round++) {
        random_texture(&t);
        t.w = 1 + number(15), t.h = 2 + number(9), t.d = 1;
        size_t row = t.w * width_of(t.format) * t.channels, pitch = row + 32 * number(3);
        CUDA_MEMCPY2D c = {.from_memory = HOST, .from_host = t.data, .from_pitch = row, .to_memory = DEVICE, .to_pitch = pitch, .width_bytes = row, .height = t.h};
        CT(cuMemAlloc(&at, pitch * t.h));
        c.to_device = at;
        CHECK(!cuMemcpy2D(&c));
        CUDA_RESOURCE_DESC r = {.type = CC_RESOURCE_PITCH2D, .pitch2D = {at, t.format, t.channels, t.w, t.h, pitch}};
        CUDA_TEXTURE_DESC d = desc_of(&t);
        CHECK(!cuTexObjectCreate(&o, &r, &d, NULL));
        run(&t, o, "2d", 2, 0);
        CHECK(!cuTexObjectDestroy(o));
        t.integer = true, t.h = 1, t.linear = false;
        r = (CUDA_RESOURCE_DESC){.type = CC_RESOURCE_LINEAR, .linear = {at, t.format, t.channels, row}};
        d = desc_of(&t);
        CHECK(!cuTexObjectCreate(&o, &r, &d, NULL));
        for (int k = 0; k < FETCHES; k++)
            memcpy(&in[4 * k], &(int32_t){(int32_t)number(40) - 10}, 4);
        CHECK(!ct_run(module, "fetch", 1, FETCHES, 0, (void *[]){&o, &in, &out}));
        for (unsigned k = 0; k < FETCHES; k++) {
            int32_t i;
            memcpy(&i, &in[4 * k], 4);
            for (unsigned n = 0; n < t.channels; n++)
                compare(&t, "fetch", k, n, i < 0 || i >= (int32_t)t.w ? is_float(&t) ? (double)t.border[n] : (double)(int32_t)t.border[n] : stored(&t, i, 0, 0, n));
        }
        CHECK(!cuTexObjectDestroy(o) && !cuMemFree(at));
    }
}

/* One value for each face, so the face of a direction is what counts; then where in it: its corners differ. */
static void cubemap(void)
{
    static const float axis[6][3] = {{1, 0, 0}, {-1, 0, 0}, {0, 1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}};
    /* The directions in which s and t of each face grow. */
    static const float s[6][3] = {{0, 0, -1}, {0, 0, 1}, {1, 0, 0}, {1, 0, 0}, {1, 0, 0}, {-1, 0, 0}};
    static const float down[6][3] = {{0, -1, 0}, {0, -1, 0}, {0, 0, 1}, {0, 0, -1}, {0, -1, 0}, {0, -1, 0}};
    memset(&t, 0, sizeof t);
    t.w = t.h = 4, t.d = 6, t.format = F32, t.channels = 1, t.integer = true, t.normalized = true;
    for (int k = 0; k < 96; k++) {
        float f = (float)k;
        memcpy(t.data + 4 * k, &f, 4);
    }
    CUarray a = array_of(&t, CUBEMAP);
    CUtexObject o = object_of(&t, a);
    for (int round = 0; round < 4; round++) {
        uint32_t want[FETCHES];
        for (unsigned k = 0; k < FETCHES; k++) {
            uint32_t face = number(6), x = number(4), y = number(4);
            float scale = 1 + (float)number(5), u = ((float)x + 0.5f) / 2 - 1, v = ((float)y + 0.5f) / 2 - 1;
            want[k] = face * 16 + y * 4 + x;
            for (int n = 0; n < 3; n++)
                in[4 * k + (unsigned)n] = scale * (axis[face][n] + u * s[face][n] + v * down[face][n]);
        }
        CHECK(!ct_run(module, "fcube", 1, FETCHES, 0, (void *[]){&o, &in, &out}));
        for (unsigned k = 0; k < FETCHES; k++)
            compare(&t, "cube", k, 0, want[k]);
    }
    CHECK(!cuTexObjectDestroy(o) && !cuArrayDestroy(a));
}

static void surfaces(void)
{
    uint32_t data[2][3][4], got[2][3][4];
    CUarray a;
    CUsurfObject o;
    const CUDA_ARRAY3D_DESCRIPTOR d = {2, 3, 2, U32, 2, LAYERED | SURFACE};
    CUDA_MEMCPY3D c = {.width_bytes = 16, .height = 3, .depth = 2};
    for (int k = 0; k < 24; k++)
        (&data[0][0][0])[k] = (uint32_t)(ct_random() >> 8);
    CT(cuArray3DCreate(&a, &d));
    c.from = (cc_copy_end){.memory = HOST, .host = data, .pitch = 16, .height = 3};
    c.to = (cc_copy_end){.memory = ARRAY, .array = a};
    CHECK(!cuMemcpy3D(&c));
    c.width_bytes = 20;
    CHECK(cuMemcpy3D(&c) == CUDA_ERROR_INVALID_VALUE); /* more than the array has */
    c.width_bytes = 16;
    CUDA_RESOURCE_DESC r = {.type = CC_RESOURCE_ARRAY, .array = a};
    CHECK(!cuSurfObjectCreate(&o, &r));
    for (int k = 0; k < FETCHES; k++) { /* x in bytes: 0 and 8, some outside; y: -1 to 3 */
        memcpy(&in[4 * k], &(int32_t){8 * ((int32_t)number(4) - 1)}, 4);
        memcpy(&in[4 * k + 1], &(int32_t){(int32_t)number(5) - 1}, 4);
    }
    CHECK(!ct_run(module, "twice", 1, FETCHES, 0, (void *[]){&o, &in, &out}));
    for (int k = 0; k < FETCHES; k++) {
        int32_t at[2];
        memcpy(at, &in[4 * k], 8);
        bool inside = at[0] >= 0 && at[0] < 16 && at[1] >= 0 && at[1] < 3;
        for (int n = 0; n < 2 && inside; n++)
            data[1][at[1]][at[0] / 4 + n] = 2 * data[0][at[1]][at[0] / 4 + n];
        CHECK(out[4 * k] == (inside ? 2 * data[0][at[1]][at[0] / 4] : 0));
    }
    CHECK(!ct_run(module, "clamped", 1, FETCHES, 0, (void *[]){&o, &in, &out}));
    for (int k = 0; k < FETCHES; k++) {
        int32_t at[2];
        memcpy(at, &in[4 * k], 8);
        at[0] = at[0] < 0 ? 0 : at[0] > 15 ? 15 : at[0];
        at[1] = at[1] < 0 ? 0 : at[1] > 2 ? 2 : at[1];
        CHECK(out[4 * k] == ((uint8_t *)data[0][at[1]])[at[0]]);
    }
    c.from = c.to;
    c.to = (cc_copy_end){.memory = HOST, .host = got, .pitch = 16, .height = 3};
    CHECK(!cuMemcpy3D(&c) && !memcmp(got, data, sizeof got));
    CHECK(!cuSurfObjectDestroy(o) && !cuArrayDestroy(a));
    /* What cannot be. */
    const CUDA_ARRAY_DESCRIPTOR plain = {4, 4, F32, 1}, three = {4, 4, F32, 3}, other = {4, 4, 0x21, 1};
    CHECK(cuArrayCreate(&r.array, &three) == CUDA_ERROR_INVALID_VALUE && cuArrayCreate(&r.array, &other) == CUDA_ERROR_INVALID_VALUE);
    CT(cuArrayCreate(&r.array, &plain));
    CHECK(cuSurfObjectCreate(&o, &r) == CUDA_ERROR_INVALID_VALUE); /* without the flag */
    CUDA_TEXTURE_DESC texture = {.mode = {4, 0, 0}};
    CHECK(cuTexObjectCreate(&o, &r, &texture, NULL) == CUDA_ERROR_INVALID_VALUE);
    texture.mode[0] = 0, texture.flags = CC_SRGB;
    CHECK(cuTexObjectCreate(&o, &r, &texture, NULL) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(!cuArrayDestroy(r.array));
    r.type = CC_RESOURCE_MIPMAPPED, texture.flags = 0;
    CHECK(cuTexObjectCreate(&o, &r, &texture, NULL) == CUDA_ERROR_NOT_SUPPORTED);
}

int main(void)
{
    void *at;
    ct_up();
#define X(call, params)                                                                                               \
    CT(ct_get(#call, &at, 12000, 0, NULL));                                                                           \
    call = (__typeof__(call))at;
    CC_ARRAY_CALLS(X) CC_GRAPH_CALLS(X)
#undef X
    in = ct_memory(FETCHES * 16);
    out = ct_memory(FETCHES * 16);
    CUresult r = ct_build(&module, text);
    if (r) {
        printf("Bail out! %s\n", ct_log);
        return 1;
    }
    RUN(arrays, "textures of arrays: dimensions, layers, formats, filters, address modes");
    RUN(memory, "textures of memory: with a pitch, and without rows");
    RUN(cubemap, "faces of a cubemap");
    RUN(surfaces, "surfaces, and copies of planes");
    return tap_end();
}
