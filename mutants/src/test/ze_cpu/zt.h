/*
 * zt.h - helpers of the tests of ze_cpu: open the driver through the real loader, compile kernels and launch them.
 *
 * ZE_ENABLE_ALT_DRIVERS names the driver; the default is the one in the build tree. Every wait has a limit, so that a lack
 * of progress is a failure and not a hang.
 */
#ifndef ZT_H
#define ZT_H

#include <level_zero/ze_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../tap.h"

#define ZE(call)                                                                                                      \
    do {                                                                                                              \
        ze_result_t r_ = (call);                                                                                      \
        if (r_) {                                                                                                     \
            fprintf(stderr, "# %s:%d: %s: 0x%x\n", __FILE__, __LINE__, #call, (unsigned)r_);                          \
            exit(1);                                                                                                  \
        }                                                                                                             \
    } while (0)
#define LIMIT_NS 20000000000ull

static ze_driver_handle_t zt_driver;
static ze_device_handle_t zt_device;
static ze_context_handle_t zt_context;

__attribute__((unused)) static double zt_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void zt_up(void)
{
    const char *top = getenv("top_builddir");
    char path[4096];
    snprintf(path, sizeof path, "%s/.libs/libze_cpu.so", top ? top : ".");
    setenv("ZE_ENABLE_ALT_DRIVERS", path, 0);
    uint32_t n = 1;
    ZE(zeInit(ZE_INIT_FLAG_GPU_ONLY));
    ZE(zeDriverGet(&n, &zt_driver));
    n = 1;
    ZE(zeDeviceGet(zt_driver, &n, &zt_device));
    ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    ZE(zeContextCreate(zt_driver, &desc, &zt_context));
}

/* ---- memory, lists, events -------------------------------------------------------------------------------------- */

__attribute__((unused)) static void *zt_host(size_t bytes)
{
    ze_host_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    void *p = NULL;
    ZE(zeMemAllocHost(zt_context, &desc, bytes, 64, &p));
    return p;
}

__attribute__((unused)) static void *zt_device_mem(size_t bytes)
{
    ze_device_mem_alloc_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *p = NULL;
    ZE(zeMemAllocDevice(zt_context, &desc, bytes, 64, zt_device, &p));
    return p;
}

static ze_command_list_handle_t zt_immediate(void)
{
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_handle_t l;
    ZE(zeCommandListCreateImmediate(zt_context, zt_device, &desc, &l));
    return l;
}

static ze_event_handle_t zt_event(void)
{
    ze_event_pool_desc_t pool = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
                                 .count = 1};
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_pool_handle_t p;
    ze_event_handle_t e;
    ZE(zeEventPoolCreate(zt_context, &pool, 1, &zt_device, &p));
    ZE(zeEventCreate(p, &desc, &e));
    return e;
}

__attribute__((unused)) static void zt_copy(void *to, const void *from, size_t bytes)
{
    static ze_command_list_handle_t l;
    if (!l)
        l = zt_immediate();
    ze_event_handle_t e = zt_event();
    ZE(zeCommandListAppendMemoryCopy(l, to, from, bytes, e, 0, NULL));
    ZE(zeEventHostSynchronize(e, LIMIT_NS));
}

/* ---- modules and kernels ---------------------------------------------------------------------------------------- */

/* Compile a file to SPIR-V. Without a compiler, the program ends and is skipped. */
static uint8_t *zt_spirv_of(const char *file, size_t *bytes)
{
    const char *top = getenv("top_srcdir");
    char out[] = "/tmp/ztXXXXXX", cmd[8192];
    int fd = mkstemp(out);
    snprintf(cmd, sizeof cmd, "sh %s/test/ze_cpu/cl.sh %s %s", top ? top : ".", file, out);
    int status = fd < 0 ? -1 : system(cmd);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        printf("1..0 # SKIP LLVM with llvm-spirv is not installed\n");
        unlink(out);
        exit(0);
    }
    off_t n = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
    uint8_t *b = malloc((size_t)n + 1);
    if (status || !b || n <= 0 || pread(fd, b, (size_t)n, 0) != n) {
        fprintf(stderr, "# %s does not compile\n", file);
        exit(1);
    }
    close(fd);
    unlink(out);
    *bytes = (size_t)n;
    return b;
}

/* Compile test/ze_cpu/NAME.cl. */
__attribute__((unused)) static uint8_t *zt_spirv(const char *name, size_t *bytes)
{
    const char *top = getenv("top_srcdir");
    char file[4096];
    snprintf(file, sizeof file, "%s/test/ze_cpu/%s.cl", top ? top : ".", name);
    return zt_spirv_of(file, bytes);
}

static ze_result_t zt_build(const void *spirv, size_t bytes, ze_module_handle_t *out, char *log, size_t room)
{
    ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV,
                             .inputSize = bytes, .pInputModule = spirv};
    ze_module_build_log_handle_t l;
    ze_result_t r = zeModuleCreate(zt_context, zt_device, &desc, out, &l);
    if (room)
        ZE(zeModuleBuildLogGetString(l, &room, log));
    ZE(zeModuleBuildLogDestroy(l));
    return r;
}

/* Build a module that is valid. */
__attribute__((unused)) static ze_module_handle_t zt_module_of(const uint8_t *spirv, size_t bytes)
{
    char log[1000];
    ze_module_handle_t m;
    if (zt_build(spirv, bytes, &m, log, sizeof log)) {
        fprintf(stderr, "# the module: %s", log);
        exit(1);
    }
    return m;
}

__attribute__((unused)) static ze_module_handle_t zt_module(const char *name)
{
    size_t bytes;
    uint8_t *spirv = zt_spirv(name, &bytes);
    ze_module_handle_t m = zt_module_of(spirv, bytes);
    free(spirv);
    return m;
}

__attribute__((unused)) static ze_kernel_handle_t zt_kernel(ze_module_handle_t m, const char *name)
{
    ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_kernel_handle_t k;
    ZE(zeKernelCreate(m, &desc, &k));
    return k;
}

__attribute__((unused)) static void zt_arg(ze_kernel_handle_t k, uint32_t i, size_t size, const void *value)
{
    ZE(zeKernelSetArgumentValue(k, i, size, value));
}

/* Launch a kernel; the event is signaled when it ends. */
__attribute__((unused)) static ze_event_handle_t zt_start(ze_kernel_handle_t k, uint32_t items, uint32_t group)
{
    ze_command_list_handle_t l = zt_immediate();
    ze_event_handle_t e = zt_event();
    ze_group_count_t n = {items / group, 1, 1};
    ZE(zeKernelSetGroupSize(k, group, 1, 1));
    ZE(zeCommandListAppendLaunchKernel(l, k, &n, e, 0, NULL));
    return e;
}

/* Launch a kernel and wait for its end. Returns the result of the wait. */
__attribute__((unused)) static ze_result_t zt_run(ze_kernel_handle_t k, uint32_t items, uint32_t group)
{
    ze_event_handle_t e = zt_start(k, items, group);
    ze_result_t r = zeEventHostSynchronize(e, LIMIT_NS);
    if (r == ZE_RESULT_NOT_READY) {
        fprintf(stderr, "# the kernel does not end\n");
        _exit(1);
    }
    return r;
}

#endif
