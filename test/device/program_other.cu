/* program_other.cu - a second file of program.cu, with variables of the same names. */
#include "program.h"

#include <shmemg.h>

#include <cstdio>
#include <cstring>

__device__ int scale = 42;

__global__ void read_scale(int *p)
{
    *p = scale;
}

__global__ void send_1000(uint64_t *word, int to)
{
    shmemg_uint64_atomic_add(word, 1000, to);
    shmemg_quiet();
}

int from_other_file(int *p)
{
    int v = 0;
    read_scale<<<1, 1>>>(p);
    return cudaMemcpy(&v, p, sizeof v, cudaMemcpyDefault) ? -1 : v;
}

void send_from_other_file(uint64_t *word, int to, cudaStream_t stream)
{
    send_1000<<<1, 1, 0, stream>>>(word, to);
}

/* ---- textures -------------------------------------------------------------------------------------------------------- */

/* out: 0 filtered between four; 1 wrapped; 2, 3 bytes as numbers from 0 to 1; 4 of a layer; 5 from memory; 6 outside of it. The surface's rows change places. */
__global__ void textures(cudaTextureObject_t linear, cudaTextureObject_t bytes, cudaTextureObject_t layers, cudaTextureObject_t memory, cudaSurfaceObject_t s, float *out)
{
    out[0] = tex2D<float>(linear, 0.5f, 0.5f);
    out[1] = tex2D<float>(linear, 1.25f, -0.75f);
    float4 c = tex2D<float4>(bytes, 1.5f, 0.5f);
    out[2] = c.x, out[3] = c.w;
    out[4] = tex2DLayered<float>(layers, 1.5f, 0.5f, 1);
    out[5] = tex1Dfetch<float>(memory, 2);
    out[6] = tex1Dfetch<float>(memory, 4);
    float a = surf2Dread<float>(s, 0, 0), b = surf2Dread<float>(s, 4, 1);
    surf2Dwrite(b, s, 0, 0);
    surf2Dwrite(a, s, 4, 1);
}

static cudaTextureObject_t texture_of(cudaArray_t a, bool filtered, bool normalized, cudaTextureReadMode mode)
{
    cudaTextureObject_t t = 0;
    cudaResourceDesc r = {};
    cudaTextureDesc d = {};
    r.resType = cudaResourceTypeArray, r.res.array.array = a;
    d.addressMode[0] = d.addressMode[1] = cudaAddressModeWrap;
    d.filterMode = filtered ? cudaFilterModeLinear : cudaFilterModePoint;
    d.normalizedCoords = normalized, d.readMode = mode;
    return cudaCreateTextureObject(&t, &r, &d, NULL) ? 0 : t;
}

int wrong_textures()
{
    static const float numbers[2][2] = {{1, 2}, {3, 4}};
    static const float planes[2][2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
    static const unsigned char colors[2][4] = {{0, 1, 2, 3}, {51, 0, 0, 255}};
    cudaArray_t a, b, l;
    float *out, *four, got[7], rows[2][2];
    int wrong = 0;
    cudaChannelFormatDesc f = cudaCreateChannelDesc<float>(), c = cudaCreateChannelDesc<uchar4>(), is;
    cudaExtent size;
    wrong += cudaMallocArray(&a, &f, 2, 2, cudaArraySurfaceLoadStore) || cudaMallocArray(&b, &c, 2, 1) ||
             cudaMalloc3DArray(&l, &f, make_cudaExtent(2, 2, 2), cudaArrayLayered) || cudaMalloc(&out, sizeof got) || cudaMalloc(&four, 16);
    wrong += cudaArrayGetInfo(&is, &size, NULL, l) || is.x != 32 || is.f != cudaChannelFormatKindFloat || size.depth != 2;
    wrong += cudaMemcpy2DToArray(a, 0, 0, numbers, 8, 8, 2, cudaMemcpyHostToDevice) || cudaMemcpy2DToArray(b, 0, 0, colors, 8, 8, 1, cudaMemcpyHostToDevice) ||
             cudaMemcpy(four, numbers, 16, cudaMemcpyHostToDevice);
    cudaMemcpy3DParms p = {};
    p.srcPtr = make_cudaPitchedPtr((void *)planes, 8, 2, 2), p.dstArray = l, p.extent = make_cudaExtent(2, 2, 2), p.kind = cudaMemcpyHostToDevice;
    wrong += cudaMemcpy3D(&p) != cudaSuccess;
    cudaTextureObject_t t[4] = {texture_of(a, true, true, cudaReadModeElementType), texture_of(b, false, false, cudaReadModeNormalizedFloat),
                                texture_of(l, false, false, cudaReadModeElementType), 0};
    cudaResourceDesc r = {};
    cudaTextureDesc d = {};
    cudaSurfaceObject_t s;
    r.resType = cudaResourceTypeLinear, r.res.linear.devPtr = four, r.res.linear.desc = f, r.res.linear.sizeInBytes = 16;
    wrong += cudaCreateTextureObject(&t[3], &r, &d, NULL) != cudaSuccess;
    r.resType = cudaResourceTypeArray, r.res.array.array = a;
    wrong += cudaCreateSurfaceObject(&s, &r) || !t[0] || !t[1] || !t[2];
    textures<<<1, 1>>>(t[0], t[1], t[2], t[3], s, out);
    wrong += cudaMemcpy(got, out, sizeof got, cudaMemcpyDeviceToHost) || cudaMemcpy2DFromArray(rows, 8, a, 0, 0, 8, 2, cudaMemcpyDeviceToHost);
    const float want[] = {2.5f, 1, 0.2f, 1, 6, 3, 0}, swapped[2][2] = {{4, 2}, {3, 1}};
    for (int k = 0; k < 7; k++)
        if (got[k] != want[k] && ++wrong)
            fprintf(stderr, "texture %d: %g, expected %g\n", k, got[k], want[k]);
    wrong += memcmp(rows, swapped, sizeof rows) != 0;
    for (int k = 0; k < 4; k++)
        wrong += cudaDestroyTextureObject(t[k]) != cudaSuccess;
    wrong += cudaDestroySurfaceObject(s) || cudaFreeArray(a) || cudaFreeArray(b) || cudaFreeArray(l) || cudaFree(out) || cudaFree(four);
    return wrong;
}
