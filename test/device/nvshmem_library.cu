/*
 * nvshmem_library.cu - kernels with NVSHMEM's names that the program loads as a module or a library of the driver, for nvshmem.sh, which compiles
 * this file to PTX, too. Argument: the file of the PTX.
 */
#include <nvshmem.h>
#include <nvshmemx.h>

#include <cstdio>
#include <string>

extern "C" __global__ void pass(int *data, int value)
{
    nvshmem_int_p(data, value, (nvshmem_my_pe() + 1) % nvshmem_n_pes());
    nvshmem_barrier_all();
}

static int failed;
#define CHECK(x) ((x) ? (void)0 : (void)(failed++, fprintf(stderr, "nvshmem_library.cu:%d: PE %d: %s\n", __LINE__, nvshmem_my_pe(), #x)))

static void launch(CUfunction f, int *data, int value)
{
    int me = nvshmem_my_pe(), n = nvshmem_n_pes(), got = -1, mine = value * 100 + me;
    void *args[] = {&data, &mine};
    CHECK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, NULL) == CUDA_SUCCESS && cuCtxSynchronize() == CUDA_SUCCESS);
    cudaMemcpy(&got, data, sizeof got, cudaMemcpyDefault);
    CHECK(got == value * 100 + (me + n - 1) % n);
    nvshmem_barrier_all(); /* the next launch puts to data again */
}

/* Catches: a library whose kernels have no context, or keep it after the end. */
int main(int argc, char **argv)
{
    std::string ptx(argc > 1 ? 1 << 20 : 0, '\0');
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    ptx.resize(file ? fread(&ptx[0], 1, ptx.size(), file) : 0);
    nvshmem_init();
    cudaSetDevice(nvshmem_team_my_pe(NVSHMEMX_TEAM_NODE));
    int *data = (int *)nvshmem_calloc(1, sizeof *data);
    CUlibrary library;
    CUkernel kernel;
    CUmodule module;
    CUfunction f;
    CHECK(!ptx.empty() && cuLibraryLoadData(&library, ptx.c_str(), NULL, NULL, 0, NULL, NULL, 0) == CUDA_SUCCESS);
    CHECK(nvshmemx_culibrary_init(library) == 0 && nvshmemx_culibrary_init(library) != 0);
    CHECK(cuLibraryGetKernel(&kernel, library, "pass") == CUDA_SUCCESS && cuKernelGetFunction(&f, kernel) == CUDA_SUCCESS);
    launch(f, data, 1);
    CHECK(nvshmemx_culibrary_finalize(library) == 0 && nvshmemx_culibrary_finalize(library) != 0);
    CHECK(cuLibraryUnload(library) == CUDA_SUCCESS);
    CHECK(cuModuleLoadData(&module, ptx.c_str()) == CUDA_SUCCESS && nvshmemx_cumodule_init(module) == 0);
    CHECK(cuModuleGetFunction(&f, module, "pass") == CUDA_SUCCESS);
    launch(f, data, 2);
    CHECK(nvshmemx_cumodule_finalize(module) == 0 && cuModuleUnload(module) == CUDA_SUCCESS);
    nvshmem_free(data);
    nvshmem_finalize();
    printf("%d failed\n", failed);
    return failed != 0;
}
