/*
 * streams.c - kernels in two streams of a driver, which an event orders (mended) or nothing (racy); run by kernels.sh with 1 PE.
 *
 * streams cuda LIBRARY CASE racy|mended, or streams ze MODULE CASE racy|mended; CASE: kernels, or host, which reads after waiting.
 */
#include <dlfcn.h>
#include <level_zero/ze_api.h>
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int *x, *y;
static volatile int sink;

static void must(int good, const char *what)
{
    if (!good) {
        printf("%s failed\n", what);
        shmem_global_exit(3);
    }
}

/* ---- CUDA ------------------------------------------------------------------------------------------------------------- */

static const char ptx[] = "//\n.version 8.0\n.target sm_80\n.address_size 64\n"
                          ".visible .entry write(.param .u64 p)\n{ .reg .b64 %a; .reg .b32 %v; ld.param.u64 %a, [p]; mov.u32 %v, 4;\n"
                          "st.global.u32 [%a], %v; ret; }\n"
                          ".visible .entry read(.param .u64 p, .param .u64 q)\n{ .reg .b64 %a, %b; .reg .b32 %v; ld.param.u64 %a, [p];\n"
                          "ld.param.u64 %b, [q]; ld.global.u32 %v, [%a]; st.global.u32 [%b], %v; ret; }\n";

/* The driver's routines: their types, in which all handles are pointers. */
#define CUDA(NAME, TYPES, ...)                                                                                       \
    do {                                                                                                             \
        int(*call_) TYPES = (int(*) TYPES)dlsym(lib, #NAME);                                                         \
        must(call_ && call_(__VA_ARGS__) == 0, #NAME);                                                               \
    } while (0)
#define LAUNCH(FUNCTION, STREAM)                                                                                     \
    CUDA(cuLaunchKernel,                                                                                             \
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **),   \
         FUNCTION, 1, 1, 1, 1, 1, 1, 0, STREAM, args, NULL)

static void by_cuda(const char *library, int host, int mended)
{
    void *lib = dlopen(library, RTLD_NOW), *context, *module, *write, *read, *a, *b, *event, *args[] = {&x, &y};
    must(lib != NULL, library);
    CUDA(cuDevicePrimaryCtxRetain, (void **, int), &context, 0);
    CUDA(cuCtxSetCurrent, (void *), context);
    CUDA(cuModuleLoadData, (void **, const void *), &module, ptx);
    CUDA(cuModuleGetFunction, (void **, void *, const char *), &write, module, "write");
    CUDA(cuModuleGetFunction, (void **, void *, const char *), &read, module, "read");
    CUDA(cuStreamCreate, (void **, unsigned), &a, 1);
    CUDA(cuStreamCreate, (void **, unsigned), &b, 1);
    CUDA(cuEventCreate, (void **, unsigned), &event, 0);
    LAUNCH(write, a);
    CUDA(cuEventRecord, (void *, void *), event, a);
    if (host && mended)
        CUDA(cuEventSynchronize, (void *), event);
    else if (host)
        CUDA(cuStreamSynchronize, (void *), b);
    if (host)
        sink = *x;
    if (!host && mended)
        CUDA(cuStreamWaitEvent, (void *, void *, unsigned), b, event, 0);
    if (!host)
        LAUNCH(read, b);
    CUDA(cuStreamSynchronize, (void *), a);
    CUDA(cuStreamSynchronize, (void *), b);
}

/* ---- Level Zero ------------------------------------------------------------------------------------------------------- */

#define ZE(CALL) must((CALL) == ZE_RESULT_SUCCESS, #CALL)

static ze_module_handle_t load(ze_context_handle_t context, ze_device_handle_t device, const char *path)
{
    enum { MOST = 1 << 20 };
    static uint8_t image[MOST];
    FILE *f = fopen(path, "rb");
    must(f != NULL, path);
    const ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
                                   .format = ZE_MODULE_FORMAT_IL_SPIRV,
                                   .inputSize = fread(image, 1, MOST, f),
                                   .pInputModule = image};
    fclose(f);
    ze_module_handle_t module;
    ZE(zeModuleCreate(context, device, &desc, &module, NULL));
    return module;
}

static ze_kernel_handle_t kernel(ze_module_handle_t module, const char *name)
{
    const ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_handle_t k;
    ZE(zeKernelCreate(module, &desc, &k));
    ZE(zeKernelSetGroupSize(k, 1, 1, 1));
    ZE(zeKernelSetArgumentValue(k, 0, sizeof x, &x));
    return k;
}

static void by_ze(const char *path, int host, int mended)
{
    uint32_t one = 1;
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
    const ze_context_desc_t of_context = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ZE(zeDriverGet(&one, &driver));
    ZE(zeDeviceGet(driver, &one, &device));
    ZE(zeContextCreate(driver, &of_context, &context));
    ze_module_handle_t module = load(context, device, path);
    ze_kernel_handle_t write = kernel(module, "write"), read = kernel(module, "read");
    ZE(zeKernelSetArgumentValue(read, 1, sizeof y, &y));
    const ze_command_queue_desc_t of_list = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS};
    ze_command_list_handle_t a, b;
    ZE(zeCommandListCreateImmediate(context, device, &of_list, &a));
    ZE(zeCommandListCreateImmediate(context, device, &of_list, &b));
    const ze_event_pool_desc_t of_pool = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 2};
    const ze_event_desc_t first = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 0}, second = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 1};
    ze_event_pool_handle_t pool;
    ze_event_handle_t written, finished;
    ZE(zeEventPoolCreate(context, &of_pool, 1, &device, &pool));
    ZE(zeEventCreate(pool, &first, &written));
    ZE(zeEventCreate(pool, &second, &finished));
    const ze_group_count_t groups = {1, 1, 1};
    ZE(zeCommandListAppendLaunchKernel(a, write, &groups, written, 0, NULL));
    if (host && mended)
        ZE(zeEventHostSynchronize(written, UINT64_MAX));
    if (host)
        sink = *x;
    else
        ZE(zeCommandListAppendLaunchKernel(b, read, &groups, finished, (uint32_t)mended, mended ? &written : NULL));
    if (!host)
        ZE(zeEventHostSynchronize(finished, UINT64_MAX));
    ZE(zeEventHostSynchronize(written, UINT64_MAX));
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    shmem_init();
    x = shmemg_calloc(64, 1), y = shmemg_calloc(64, 1);
    (strcmp(argv[1], "cuda") == 0 ? by_cuda : by_ze)(argv[2], strcmp(argv[3], "host") == 0, strcmp(argv[4], "mended") == 0);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
