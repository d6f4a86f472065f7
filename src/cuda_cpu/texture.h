/*
 * texture.h - arrays, textures and surfaces: what handles name, and the functions by which kernels read and write them (each is a zc_split).
 *
 * Filtering is linear with weights of 8 bits, as on a GPU; across the edges of a cubemap's faces it stays in the face.
 */
#ifndef CC_TEXTURE_H
#define CC_TEXTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cc_format { CC_U8 = 1, CC_U16, CC_U32, CC_S8 = 8, CC_S16, CC_S32, CC_F16 = 16, CC_F32 = 32 }; /* CU_AD_FORMAT_ */
enum { CC_LAYERED = 1, CC_SURFACE = 2, CC_CUBEMAP = 4, CC_GATHER = 8 };                          /* CUDA_ARRAY3D_ */

/* Elements in memory: an array, or memory of the program. */
struct cc_texels {
    uint8_t *at;
    size_t width, height, depth; /* in elements; height and depth are 1 where there are fewer dimensions; depth: also layers, faces */
    size_t pitch, plane;         /* bytes from row to row, and from plane to plane */
    enum cc_format format;
    unsigned channels;
};

struct CUarray_st {
    struct cc_texels t;
    size_t height, depth; /* as the program gave them: 0 where there are fewer dimensions */
    unsigned flags;
};

struct cc_texture {
    struct cc_texels t;
    int mode[3]; /* CC_WRAP ... */
    bool linear; /* filter */
    bool integer, normalized;
    float border[4];
};
enum { CC_WRAP, CC_CLAMP, CC_MIRROR, CC_BORDER };

unsigned cc_format_bytes(enum cc_format f); /* 0: there is no such format */
/* A handle, or 0: out of memory. Kernels that use a handle that has ended access an invalid address. */
uint64_t cc_texture_new(const struct cc_texture *t);
bool cc_texture_end(uint64_t handle);

/* ---- called by kernels ------------------------------------------------------------------------------------------- */

/* What an instruction is: its geometry, and for surfaces what happens outside, and the bytes that move. */
enum { CC_1D, CC_2D, CC_3D, CC_A1D, CC_A2D, CC_CUBE, CC_ACUBE, CC_GEOMETRIES };
enum { CC_OUTSIDE_TRAP, CC_OUTSIDE_CLAMP, CC_OUTSIDE_ZERO };
struct cc_access {
    uint8_t geometry;
    uint8_t outside;
    uint8_t bytes;
    bool index; /* the coordinate is an integer: tex1Dfetch */
};
/* What it is given. */
struct cc_place {
    uint64_t handle;
    union {
        float f;
        uint32_t u;
        int32_t s;
    } c[4]; /* a layer first; of surfaces, x is in bytes */
    uint8_t data[16];
};

void cc_texture_fetch(void *d, const void *place, const void *access, void *unused); /* d: four words */
void cc_surface_load(void *d, const void *place, const void *access, void *unused);
void cc_surface_store(void *unused, const void *place, const void *access, void *unused_too);

#endif
