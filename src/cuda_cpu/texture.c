/* texture.c - see texture.h. */
#include "cuda_cpu/texture.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "ze_cpu/convert.h"

/* ---- handles ---------------------------------------------------------------------------------------------------- */

enum { HANDLES = 1 << 16 };
static struct cc_texture *table[HANDLES]; /* written under the lock; a handle reaches kernels after it */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t cc_texture_new(const struct cc_texture *t)
{
    static uint64_t next;
    struct cc_texture *own = malloc(sizeof *own);
    uint64_t handle = 0;
    if (!own)
        return 0;
    *own = *t;
    pthread_mutex_lock(&lock);
    for (unsigned k = 0; k < HANDLES && !handle; k++, next++) /* a handle that has ended comes back late */
        if (next % HANDLES && !table[next % HANDLES])
            handle = next % HANDLES;
    if (handle)
        table[handle] = own;
    pthread_mutex_unlock(&lock);
    if (!handle)
        free(own);
    return handle;
}

bool cc_texture_end(uint64_t handle)
{
    pthread_mutex_lock(&lock);
    struct cc_texture *t = handle < HANDLES ? table[handle] : NULL;
    if (t)
        table[handle] = NULL;
    pthread_mutex_unlock(&lock);
    free(t);
    return t;
}

static const struct cc_texture *find(uint64_t handle)
{
    return table[handle < HANDLES ? handle : 0];
}

/* ---- texels ----------------------------------------------------------------------------------------------------- */

unsigned cc_format_bytes(enum cc_format f)
{
    switch (f) {
    case CC_U8:
    case CC_S8:
        return 1;
    case CC_U16:
    case CC_S16:
    case CC_F16:
        return 2;
    case CC_U32:
    case CC_S32:
    case CC_F32:
        return 4;
    }
    return 0;
}

/* A channel as kernels read it: bits of a float, or an integer. */
static uint32_t channel(const struct cc_texture *t, const uint8_t *at)
{
    uint32_t u = 0, bytes = cc_format_bytes(t->t.format);
    memcpy(&u, at, bytes);
    if (t->t.format >= CC_S8 && t->t.format <= CC_S32 && bytes < 4)
        u = (uint32_t)((int32_t)(u << (32 - 8 * bytes)) >> (32 - 8 * bytes));
    if (t->t.format == CC_F32 || bytes == 4 || (t->integer && t->t.format < CC_F16))
        return u;
    float most = (float)((1u << (8 * bytes - (t->t.format >= CC_S8))) - 1);
    float f = t->t.format == CC_F16 ? (float)zc_half_to((uint16_t)u) : t->t.format >= CC_S8 ? fmaxf((float)(int32_t)u / most, -1) : (float)u / most;
    memcpy(&u, &f, sizeof f);
    return u;
}

static bool reads_float(const struct cc_texture *t)
{
    return t->t.format >= CC_F16 || (!t->integer && cc_format_bytes(t->t.format) < 4);
}

/* An index after the address mode; -1: the border. */
static int64_t fold(int64_t i, size_t size, int mode)
{
    int64_t n = (int64_t)size, m;
    switch (mode) {
    case CC_WRAP:
        return (i % n + n) % n;
    case CC_MIRROR:
        m = (i % (2 * n) + 2 * n) % (2 * n);
        return m < n ? m : 2 * n - 1 - m;
    case CC_BORDER:
        return i < 0 || i >= n ? -1 : i;
    }
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* The texel at indices that may lie outside. */
static void texel(const struct cc_texture *t, const int64_t at[3], const int mode[3], uint32_t d[4])
{
    const size_t size[] = {t->t.width, t->t.height, t->t.depth};
    int64_t i[3];
    bool border = false;
    for (int k = 0; k < 3; k++) {
        i[k] = fold(at[k], size[k], mode[k]);
        border |= i[k] < 0;
    }
    const float one = reads_float(t);
    uint32_t unit = 1;
    if (one)
        memcpy(&unit, &one, sizeof unit);
    unsigned bytes = cc_format_bytes(t->t.format);
    const uint8_t *p = border ? NULL : t->t.at + (size_t)i[2] * t->t.plane + (size_t)i[1] * t->t.pitch + (size_t)i[0] * bytes * t->t.channels;
    for (unsigned k = 0; k < 4; k++)
        if (k >= t->t.channels)
            d[k] = k == 3 ? unit : 0;
        else if (p)
            d[k] = channel(t, p + k * bytes);
        else if (reads_float(t))
            memcpy(&d[k], &t->border[k], sizeof d[k]);
        else
            d[k] = (uint32_t)(int32_t)t->border[k];
}

/* ---- fetches ---------------------------------------------------------------------------------------------------- */

/* A coordinate as an index, which need not lie inside; not a number, or far away: 0. */
static int64_t index_of(float x)
{
    return fabsf(x) < 1e9f ? (int64_t)floorf(x) : 0;
}

/* In units of texels, n of the three filtered; the others are indices of planes. */
static void sample(const struct cc_texture *t, const float x[3], unsigned n, const int64_t plane[3], const int mode[3], uint32_t d[4])
{
    int64_t at[3] = {plane[0], plane[1], plane[2]};
    float weight[3] = {0, 0, 0}, sum[4] = {0, 0, 0, 0};
    for (unsigned k = 0; k < n; k++) {
        float y = t->linear ? x[k] - 0.5f : x[k];
        at[k] = index_of(y);
        weight[k] = floorf((y - floorf(y)) * 256 + 0.5f) / 256; /* 8 bits */
    }
    if (!t->linear || !reads_float(t)) {
        texel(t, at, mode, d);
        return;
    }
    for (unsigned corner = 0; corner < 1u << n; corner++) {
        int64_t i[3] = {at[0], at[1], at[2]};
        uint32_t bits[4];
        float v, w = 1;
        for (unsigned k = 0; k < n; k++) {
            i[k] += corner >> k & 1;
            w *= corner >> k & 1 ? weight[k] : 1 - weight[k];
        }
        if (w == 0)
            continue;
        texel(t, i, mode, bits);
        for (unsigned k = 0; k < 4; k++) {
            memcpy(&v, &bits[k], sizeof v);
            sum[k] += w * v;
        }
    }
    memcpy(d, sum, sizeof sum);
}

/* The face of a direction, and where in it, from 0 to 1. */
static unsigned face_of(const float v[3], float at[2])
{
    float x = fabsf(v[0]), y = fabsf(v[1]), z = fabsf(v[2]);
    unsigned axis = x >= y && x >= z ? 0 : y >= z ? 1 : 2;
    bool minus = v[axis] < 0;
    float m = fabsf(v[axis]);
    float s = axis == 0 ? (minus ? v[2] : -v[2]) : axis == 1 ? v[0] : (minus ? -v[0] : v[0]);
    float t = axis == 1 ? (minus ? -v[2] : v[2]) : -v[1];
    at[0] = (s / m + 1) / 2;
    at[1] = (t / m + 1) / 2;
    return 2 * axis + minus;
}

static int64_t layer_of(uint32_t layer, size_t layers)
{
    return layer < layers ? layer : layers - 1;
}

void cc_texture_fetch(void *out, const void *place, const void *access, void *unused)
{
    static const uint8_t dimensions[] = {[CC_1D] = 1, [CC_2D] = 2, [CC_3D] = 3, [CC_A1D] = 1, [CC_A2D] = 2, [CC_CUBE] = 2, [CC_ACUBE] = 2};
    struct cc_place p;
    struct cc_access a;
    (void)unused;
    memcpy(&p, place, sizeof p);
    memcpy(&a, access, sizeof a);
    const struct cc_texture *t = find(p.handle);
    const size_t size[] = {t->t.width, t->t.height, t->t.depth};
    bool is_layered = a.geometry == CC_A1D || a.geometry == CC_A2D || a.geometry == CC_ACUBE;
    bool is_cube = a.geometry == CC_CUBE || a.geometry == CC_ACUBE;
    int64_t plane[3] = {0, 0, is_layered ? layer_of(p.c[0].u, is_cube ? t->t.depth / 6 : t->t.depth) : 0};
    int mode[3] = {t->mode[0], t->mode[1], t->mode[2]};
    float x[3], v[3];
    for (unsigned k = 0; k < 3; k++)
        v[k] = p.c[k + is_layered < 4 ? k + is_layered : 3].f;
    if (a.index) { /* outside of memory there is nothing */
        plane[0] = p.c[0].s;
        texel(t, plane, (const int[]){CC_BORDER, CC_CLAMP, CC_CLAMP}, out);
        return;
    }
    if (is_cube)
        plane[2] = plane[2] * 6 + face_of(v, x);
    for (unsigned k = 0; k < dimensions[a.geometry]; k++) {
        x[k] = is_cube ? x[k] * (float)size[k] : t->normalized ? v[k] * (float)size[k] : v[k];
        if (is_cube || (!t->normalized && (mode[k] == CC_WRAP || mode[k] == CC_MIRROR)))
            mode[k] = CC_CLAMP;
    }
    if (dimensions[a.geometry] < 3)
        mode[2] = CC_CLAMP;
    if (dimensions[a.geometry] < 2)
        mode[1] = CC_CLAMP;
    sample(t, x, dimensions[a.geometry], plane, mode, out);
}

/* ---- surfaces --------------------------------------------------------------------------------------------------- */

/* Where the bytes are, or NULL: outside, where nothing is read or stored. */
static uint8_t *surface(const struct cc_place *p, const struct cc_access *a)
{
    const struct cc_texels *t = &find(p->handle)->t;
    bool is_layered = a->geometry == CC_A1D || a->geometry == CC_A2D;
    int64_t element = (int64_t)cc_format_bytes(t->format) * t->channels;
    int64_t x = p->c[is_layered].s, y = a->geometry == CC_1D || a->geometry == CC_A1D ? 0 : p->c[1 + is_layered].s;
    int64_t z = is_layered ? layer_of(p->c[0].u, t->depth) : a->geometry == CC_3D ? p->c[2].s : 0;
    int64_t last[] = {(int64_t)t->width * element - a->bytes, (int64_t)t->height - 1, (int64_t)t->depth - 1};
    int64_t *at[] = {&x, &y, &z};
    bool outside = false;
    for (int k = 0; k < 3; k++) {
        outside |= *at[k] < 0 || *at[k] > last[k];
        if (a->outside == CC_OUTSIDE_CLAMP)
            *at[k] = *at[k] < 0 ? 0 : *at[k] > last[k] ? last[k] : *at[k];
    }
    if (outside && a->outside == CC_OUTSIDE_TRAP)
        return (uint8_t *)1; /* an invalid address, as for other memory */
    return outside && a->outside == CC_OUTSIDE_ZERO ? NULL : t->at + (size_t)z * t->plane + (size_t)y * t->pitch + (size_t)x;
}

void cc_surface_load(void *d, const void *place, const void *access, void *unused)
{
    struct cc_place p;
    struct cc_access a;
    (void)unused;
    memcpy(&p, place, sizeof p);
    memcpy(&a, access, sizeof a);
    const uint8_t *at = surface(&p, &a);
    memset(d, 0, a.bytes);
    if (at)
        memcpy(d, at, a.bytes);
}

void cc_surface_store(void *unused, const void *place, const void *access, void *unused_too)
{
    struct cc_place p;
    struct cc_access a;
    (void)unused, (void)unused_too;
    memcpy(&p, place, sizeof p);
    memcpy(&a, access, sizeof a);
    uint8_t *at = surface(&p, &a);
    if (at)
        memcpy(at, p.data, a.bytes);
}
