/*
 * entries.h - the entry points of this driver, by table: the name without the table's prefix, and the API version that
 * introduced it. Other entry points of Level Zero are not supported: they stay NULL in the tables, and the loader returns
 * ZE_RESULT_ERROR_UNSUPPORTED_FEATURE. These are: images, samplers, virtual and physical memory, fabric, cache
 * reservation and advice, native binaries, function pointers, link inspection, multiple indirect launches, scheduling
 * hints, tools (zet) and system management (zes).
 */
#ifndef ZC_ENTRIES_H
#define ZC_ENTRIES_H

#include <level_zero/ze_api.h>

/* clang-format off */
#define ZC_Driver(X, T)                                                                                               \
    X(T, Get, 1, 0) X(T, GetApiVersion, 1, 0) X(T, GetProperties, 1, 0) X(T, GetIpcProperties, 1, 0)                  \
    X(T, GetExtensionProperties, 1, 0) X(T, GetExtensionFunctionAddress, 1, 1)
#define ZC_Device(X, T)                                                                                               \
    X(T, Get, 1, 0) X(T, GetSubDevices, 1, 0) X(T, GetProperties, 1, 0) X(T, GetComputeProperties, 1, 0)              \
    X(T, GetModuleProperties, 1, 0) X(T, GetCommandQueueGroupProperties, 1, 0) X(T, GetMemoryProperties, 1, 0)        \
    X(T, GetMemoryAccessProperties, 1, 0) X(T, GetCacheProperties, 1, 0) X(T, GetExternalMemoryProperties, 1, 0)      \
    X(T, GetP2PProperties, 1, 0) X(T, CanAccessPeer, 1, 0) X(T, GetStatus, 1, 0) X(T, GetGlobalTimestamps, 1, 1)      \
    X(T, PciGetPropertiesExt, 1, 2)
#define ZC_Context(X, T)                                                                                              \
    X(T, Create, 1, 0) X(T, Destroy, 1, 0) X(T, GetStatus, 1, 0) X(T, SystemBarrier, 1, 0)                            \
    X(T, MakeMemoryResident, 1, 0) X(T, EvictMemory, 1, 0) X(T, CreateEx, 1, 1)
#define ZC_CommandQueue(X, T)                                                                                         \
    X(T, Create, 1, 0) X(T, Destroy, 1, 0) X(T, ExecuteCommandLists, 1, 0) X(T, Synchronize, 1, 0)
#define ZC_CommandList(X, T)                                                                                          \
    X(T, Create, 1, 0) X(T, CreateImmediate, 1, 0) X(T, Destroy, 1, 0) X(T, Close, 1, 0) X(T, Reset, 1, 0)            \
    X(T, AppendWriteGlobalTimestamp, 1, 0) X(T, AppendBarrier, 1, 0) X(T, AppendMemoryRangesBarrier, 1, 0)            \
    X(T, AppendMemoryCopy, 1, 0) X(T, AppendMemoryFill, 1, 0) X(T, AppendMemoryCopyRegion, 1, 0)                      \
    X(T, AppendMemoryCopyFromContext, 1, 0) X(T, AppendMemoryPrefetch, 1, 0) X(T, AppendMemAdvise, 1, 0)              \
    X(T, AppendSignalEvent, 1, 0) X(T, AppendWaitOnEvents, 1, 0) X(T, AppendEventReset, 1, 0)                         \
    X(T, AppendQueryKernelTimestamps, 1, 0) X(T, AppendLaunchKernel, 1, 0)                                            \
    X(T, AppendLaunchCooperativeKernel, 1, 0) X(T, AppendLaunchKernelIndirect, 1, 0)
#define ZC_Fence(X, T)                                                                                                \
    X(T, Create, 1, 0) X(T, Destroy, 1, 0) X(T, HostSynchronize, 1, 0) X(T, QueryStatus, 1, 0) X(T, Reset, 1, 0)
#define ZC_EventPool(X, T)                                                                                            \
    X(T, Create, 1, 0) X(T, Destroy, 1, 0) X(T, GetIpcHandle, 1, 0) X(T, OpenIpcHandle, 1, 0) X(T, CloseIpcHandle, 1, 0)
#define ZC_Event(X, T)                                                                                                \
    X(T, Create, 1, 0) X(T, Destroy, 1, 0) X(T, HostSignal, 1, 0) X(T, HostSynchronize, 1, 0) X(T, QueryStatus, 1, 0) \
    X(T, HostReset, 1, 0) X(T, QueryKernelTimestamp, 1, 0)
#define ZC_Module(X, T)                                                                                               \
    X(T, Create, 1, 0) X(T, Destroy, 1, 0) X(T, DynamicLink, 1, 0) X(T, GetGlobalPointer, 1, 0)                       \
    X(T, GetKernelNames, 1, 0) X(T, GetProperties, 1, 0)
#define ZC_ModuleBuildLog(X, T) X(T, Destroy, 1, 0) X(T, GetString, 1, 0)
#define ZC_Kernel(X, T)                                                                                               \
    X(T, Create, 1, 0) X(T, Destroy, 1, 0) X(T, SetCacheConfig, 1, 0) X(T, SetGroupSize, 1, 0)                        \
    X(T, SuggestGroupSize, 1, 0) X(T, SuggestMaxCooperativeGroupCount, 1, 0) X(T, SetArgumentValue, 1, 0)             \
    X(T, SetIndirectAccess, 1, 0) X(T, GetIndirectAccess, 1, 0) X(T, GetSourceAttributes, 1, 0)                       \
    X(T, GetProperties, 1, 0) X(T, GetName, 1, 0)
#define ZC_KernelExp(X, T) X(T, SetGlobalOffsetExp, 1, 1)
#define ZC_Mem(X, T)                                                                                                  \
    X(T, AllocShared, 1, 0) X(T, AllocDevice, 1, 0) X(T, AllocHost, 1, 0) X(T, Free, 1, 0)                            \
    X(T, GetAllocProperties, 1, 0) X(T, GetAddressRange, 1, 0) X(T, GetIpcHandle, 1, 0) X(T, OpenIpcHandle, 1, 0)     \
    X(T, CloseIpcHandle, 1, 0) X(T, FreeExt, 1, 3)
/* clang-format on */

#define ZC_DECLARE(T, name, major, minor) __typeof__(ze##T##name) zc_##T##name;
ZC_Driver(ZC_DECLARE, Driver) ZC_Device(ZC_DECLARE, Device) ZC_Context(ZC_DECLARE, Context)
ZC_CommandQueue(ZC_DECLARE, CommandQueue) ZC_CommandList(ZC_DECLARE, CommandList) ZC_Fence(ZC_DECLARE, Fence)
ZC_EventPool(ZC_DECLARE, EventPool) ZC_Event(ZC_DECLARE, Event) ZC_Module(ZC_DECLARE, Module)
ZC_ModuleBuildLog(ZC_DECLARE, ModuleBuildLog) ZC_Kernel(ZC_DECLARE, Kernel) ZC_Mem(ZC_DECLARE, Mem)
ze_result_t zc_KernelExpSetGlobalOffsetExp(ze_kernel_handle_t kernel, uint32_t x, uint32_t y, uint32_t z);
ze_result_t zc_Init(ze_init_flags_t flags);

/* Entry points that older headers lack. */
ze_result_t zc_InitDrivers(uint32_t *count, ze_driver_handle_t *drivers, const void *desc);
ze_result_t zc_CommandListHostSynchronize(ze_command_list_handle_t list, uint64_t timeout);
ze_result_t zc_MemPutIpcHandle(ze_context_handle_t context, ze_ipc_mem_handle_t handle);

/* The number of a device; 0 for NULL. */
uint32_t zc_device_index(ze_device_handle_t d);

#endif
