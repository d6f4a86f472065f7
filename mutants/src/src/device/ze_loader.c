/*
 * ze_loader.c - Level Zero's loader, the drivers that it loads, and the names of result codes.
 *
 * The system's loader is opened at first use, so programs without devices do not load it. It loads drivers once in a
 * process: the system's drivers or our libze_cpu.so. The choice is made before zeInit: loaders crash in calls after a failed
 * zeInit.
 */
#include "device/ze_loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/device.h"
#include "host/util/log.h"

struct shi_ze shi_ze;

/* Names in the specification without ZE_RESULT_, except those of experimental extensions. */
#define RESULTS(X)                                                                                                   \
    X(SUCCESS) X(NOT_READY) X(ERROR_DEVICE_LOST) X(ERROR_OUT_OF_HOST_MEMORY) X(ERROR_OUT_OF_DEVICE_MEMORY)           \
    X(ERROR_MODULE_BUILD_FAILURE) X(ERROR_MODULE_LINK_FAILURE) X(ERROR_DEVICE_REQUIRES_RESET)                        \
    X(ERROR_DEVICE_IN_LOW_POWER_STATE) X(ERROR_INSUFFICIENT_PERMISSIONS) X(ERROR_NOT_AVAILABLE)                      \
    X(ERROR_DEPENDENCY_UNAVAILABLE) X(WARNING_DROPPED_DATA) X(ERROR_UNINITIALIZED) X(ERROR_UNSUPPORTED_VERSION)      \
    X(ERROR_UNSUPPORTED_FEATURE) X(ERROR_INVALID_ARGUMENT) X(ERROR_INVALID_NULL_HANDLE)                              \
    X(ERROR_HANDLE_OBJECT_IN_USE) X(ERROR_INVALID_NULL_POINTER) X(ERROR_INVALID_SIZE) X(ERROR_UNSUPPORTED_SIZE)      \
    X(ERROR_UNSUPPORTED_ALIGNMENT) X(ERROR_INVALID_SYNCHRONIZATION_OBJECT) X(ERROR_INVALID_ENUMERATION)              \
    X(ERROR_UNSUPPORTED_ENUMERATION) X(ERROR_UNSUPPORTED_IMAGE_FORMAT) X(ERROR_INVALID_NATIVE_BINARY)                \
    X(ERROR_INVALID_GLOBAL_NAME) X(ERROR_INVALID_KERNEL_NAME) X(ERROR_INVALID_FUNCTION_NAME)                         \
    X(ERROR_INVALID_GROUP_SIZE_DIMENSION) X(ERROR_INVALID_GLOBAL_WIDTH_DIMENSION)                                    \
    X(ERROR_INVALID_KERNEL_ARGUMENT_INDEX) X(ERROR_INVALID_KERNEL_ARGUMENT_SIZE)                                     \
    X(ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE) X(ERROR_INVALID_MODULE_UNLINKED) X(ERROR_INVALID_COMMAND_LIST_TYPE)      \
    X(ERROR_OVERLAPPING_REGIONS) X(WARNING_ACTION_REQUIRED) X(ERROR_UNKNOWN)

static const char *result_name(ze_result_t r)
{
    switch (r) {
#define X(NAME) case ZE_RESULT_##NAME: return #NAME;
        RESULTS(X)
#undef X
    default: return "unknown result";
    }
}

int shi_ze_checked(const char *call, ze_result_t r)
{
    if (!r)
        return 0;
    shi_log_error("Level Zero: %s failed: ZE_RESULT_%s (%#x)", call, result_name(r), (unsigned)r);
    return r == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY || r == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY ? -ENOMEM : -EIO;
}

static int find_cpu_driver(char *path, size_t bytes)
{
    return shi_device_library("libze_cpu.so", path, bytes);
}

/* Does the loader's variable of drivers name libze_cpu.so? */
static int names_cpu_driver(const char *set)
{
    return set && strstr(set, "libze_cpu.so");
}

int shi_ze_has_driver(void)
{
    const char *set = getenv("ZE_ENABLE_ALT_DRIVERS");
    if (set)
        return !names_cpu_driver(set);
    void *so = access("/dev/dri", R_OK) ? NULL : dlopen("libze_intel_gpu.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (so)
        dlclose(so);
    return so != NULL;
}

/* Before main, is it certain that the device will be the CPU? */
static int will_be_cpu(int kernels)
{
    const char *d = getenv("SHMEM_DEVICE");
    if (d && strncmp(d, "cpu", 3) == 0)
        return 1;
    return kernels && !(d && (strncmp(d, "ze", 2) == 0 || strncmp(d, "cuda", 4) == 0)) && !shi_ze_has_driver() &&
           access("/dev/nvidiactl", F_OK);
}

void shi_ze_claim(int kernels)
{
    char path[512];
    if (!getenv("ZE_ENABLE_ALT_DRIVERS") && will_be_cpu(kernels) && find_cpu_driver(path, sizeof path) == 0)
        setenv("ZE_ENABLE_ALT_DRIVERS", path, 0);
}

__attribute__((constructor)) static void claim_before_main(void)
{
    shi_ze_claim(0);
}

/* Make the loader use libze_cpu.so. 0 or -errno. */
static int choose_cpu_driver(void)
{
    char path[512];
    if (names_cpu_driver(getenv("ZE_ENABLE_ALT_DRIVERS")))
        return 0;
    if (find_cpu_driver(path, sizeof path)) {
        shi_log_error("libze_cpu.so (Level Zero on the CPU) found neither next to libfulmar.so nor in " SHI_LIBDIR);
        return -ENODEV;
    }
    setenv("ZE_ENABLE_ALT_DRIVERS", path, 1);
    shi_log_debug("kernels run on the CPU by %s", path);
    return 0;
}

static int open_loader(void)
{
    void *so = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!so) {
        shi_log_error("the Level Zero loader is missing (install libze1): %s", dlerror());
        return -ENOENT;
    }
#define X(call)                                                                                                      \
    shi_ze.call = (__typeof__(shi_ze.call))dlsym(so, #call);                                                         \
    if (!shi_ze.call) {                                                                                              \
        shi_log_error("the Level Zero loader has no " #call);                                                        \
        return -ENOSYS;                                                                                              \
    }
    ZE_CALLS(X)
#undef X
    return 0;
}

int shi_ze_load(int cpu)
{
    int err = cpu ? choose_cpu_driver() : 0;
    return err ? err : open_loader();
}
