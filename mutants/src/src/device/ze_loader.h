/* ze_loader.h - open Level Zero's loader and choose the drivers that it loads. */
#ifndef SHI_DEVICE_ZE_LOADER_H
#define SHI_DEVICE_ZE_LOADER_H

#include <level_zero/ze_api.h>

#define ZE_CALLS(X)                                                                                                  \
    X(zeInit) X(zeDriverGet) X(zeDriverGetExtensionFunctionAddress) X(zeDeviceGet) X(zeDeviceGetProperties)          \
    X(zeDeviceGetCommandQueueGroupProperties) X(zeCommandListAppendBarrier) X(zeEventQueryStatus) X(zeEventHostReset) \
    X(zeContextCreate) X(zeContextDestroy)                                                                           \
    X(zeCommandListCreateImmediate) X(zeCommandListDestroy) X(zeCommandListAppendMemoryCopy) X(zeMemAllocDevice)     \
    X(zeMemFree) X(zeMemGetAddressRange) X(zeMemGetAllocProperties) X(zeMemGetIpcHandle) X(zeMemOpenIpcHandle)       \
    X(zeMemCloseIpcHandle) X(zeMemAllocHost)                                                                         \
    X(zeModuleCreate) X(zeModuleDestroy) X(zeModuleBuildLogGetString) X(zeModuleBuildLogDestroy)                     \
    X(zeModuleGetGlobalPointer) X(zeKernelCreate) X(zeKernelDestroy) X(zeKernelGetProperties)                        \
    X(zeKernelSetGroupSize) X(zeKernelSetArgumentValue) X(zeKernelSetIndirectAccess) X(zeCommandListAppendLaunchKernel)\
    X(zeCommandQueueCreate) X(zeCommandQueueDestroy) X(zeCommandQueueExecuteCommandLists)                            \
    X(zeCommandQueueSynchronize) X(zeCommandListCreate) X(zeCommandListClose)                                        \
    X(zeCommandListAppendSignalEvent) X(zeCommandListAppendWaitOnEvents) X(zeEventPoolCreate) X(zeEventPoolDestroy)  \
    X(zeEventCreate) X(zeEventDestroy) X(zeEventHostSynchronize) X(zeEventHostSignal) X(zeDeviceCanAccessPeer)

/* The loader's functions, after shi_ze_load. */
extern struct shi_ze {
#define X(call) __typeof__(&call) call;
    ZE_CALLS(X)
#undef X
} shi_ze;

/* Open the loader, cpu: with libze_cpu.so as its driver. Once in a process, before zeInit. 0, or -errno after one line. */
int shi_ze_load(int cpu);

/*
 * Name libze_cpu.so to the loader, which reads that variable once, when the first library of the process opens it: perhaps
 * hwloc or libfabric inside MPI_Init, before shmem_init. This happens before main, and only if the device will be the CPU:
 * with SHMEM_DEVICE=cpu, and for programs with kernels on a machine without a GPU. Other users of Level Zero in the process
 * must not find this driver.
 */
void shi_ze_claim(int kernels);

/* 1: the system has a driver other than libze_cpu.so. */
int shi_ze_has_driver(void);

/* The result of a call: 0, or -ENOMEM or -EIO after one line. */
int shi_ze_checked(const char *call, ze_result_t r);

/* Call a function of the loader, and the same. */
#define SHI_ZE(call, ...) shi_ze_checked(#call, shi_ze.call(__VA_ARGS__))

#endif
