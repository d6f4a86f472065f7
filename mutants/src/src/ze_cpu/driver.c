/* driver.c - driver, devices and contexts, and their properties. Nothing here changes after zeInit. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ze_cpu/config.h"
#include "ze_cpu/entries.h"
#include "ze_cpu/guard.h"
#include "ze_cpu/kernel.h"
#include "ze_cpu/mem.h"
#include "ze_cpu/module.h"
#include "ze_cpu/queue.h"
#include "ze_cpu/run.h"
#include "ze_cpu/stalled.h"

struct _ze_driver_handle_t {
    int unused;
};
struct _ze_device_handle_t {
    uint32_t index;
};
struct _ze_context_handle_t {
    int unused;
};

enum { MEMORY_BITS = 34 };

static struct _ze_driver_handle_t driver;
static struct _ze_device_handle_t devices[ZC_DEVICES];

static void up(void)
{
    zc_config_up("ZE_AFFINITY_MASK");
    for (uint32_t i = 0; i < ZC_DEVICES; i++)
        devices[i].index = i;
    zc_mem_up();
    zc_guard_up();
}

ze_result_t zc_Init(ze_init_flags_t flags)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (flags & ZE_INIT_FLAG_VPU_ONLY && !(flags & ZE_INIT_FLAG_GPU_ONLY))
        return ZE_RESULT_ERROR_UNINITIALIZED;
    pthread_once(&once, up);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DriverGet(uint32_t *count, ze_driver_handle_t *drivers)
{
    if (!count)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (*count && drivers)
        drivers[0] = &driver;
    *count = 1;
    return ZE_RESULT_SUCCESS;
}

/* ze_init_driver_type_desc_t of specification 1.10; older headers lack it. */
struct init_desc {
    uint32_t stype;
    const void *next;
    uint32_t flags;
};
enum { INIT_TYPE_GPU = 1 };

ze_result_t zc_InitDrivers(uint32_t *count, ze_driver_handle_t *drivers, const void *desc)
{
    if (!count || !desc)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!(((const struct init_desc *)desc)->flags & INIT_TYPE_GPU)) {
        *count = 0;
        return ZE_RESULT_ERROR_UNINITIALIZED;
    }
    zc_Init(0);
    return zc_DriverGet(count, drivers);
}

ze_result_t zc_DriverGetApiVersion(ze_driver_handle_t d, ze_api_version_t *version)
{
    (void)d;
    *version = ZE_API_VERSION_1_4;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DriverGetProperties(ze_driver_handle_t d, ze_driver_properties_t *p)
{
    (void)d;
    memset(&p->uuid, 0, sizeof p->uuid);
    memcpy(p->uuid.id, "ze_cpu driver", 13);
    p->driverVersion = 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DriverGetIpcProperties(ze_driver_handle_t d, ze_driver_ipc_properties_t *p)
{
    (void)d;
    p->flags = ZE_IPC_PROPERTY_FLAG_MEMORY | ZE_IPC_PROPERTY_FLAG_EVENT_POOL;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DriverGetExtensionProperties(ze_driver_handle_t d, uint32_t *count, ze_driver_extension_properties_t *p)
{
    (void)d, (void)p;
    *count = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DriverGetExtensionFunctionAddress(ze_driver_handle_t d, const char *name, void **fn)
{
    (void)d;
    static const struct {
        const char *name;
        uintptr_t fn;
    } all[] = {
        {"zexCpuWhileIdle", (uintptr_t)zc_while_idle},
        {"zexCpuLanes", (uintptr_t)zc_lanes_count},
        {"zexCpuStalled", (uintptr_t)zc_stalled},
        {"zexKernelGetArgumentSize", (uintptr_t)zc_kernel_argument_size},
    };
    *fn = NULL;
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(name, all[i].name))
            *fn = (void *)all[i].fn;
    return *fn ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_ARGUMENT;
}

/* ---- devices ---------------------------------------------------------------------------------------------------- */

ze_result_t zc_DeviceGet(ze_driver_handle_t d, uint32_t *count, ze_device_handle_t *out)
{
    (void)d;
    if (!*count || *count > zc_config.devices)
        *count = zc_config.devices;
    for (uint32_t i = 0; out && i < *count; i++)
        out[i] = &devices[zc_config.device[i]];
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceGetSubDevices(ze_device_handle_t d, uint32_t *count, ze_device_handle_t *out)
{
    (void)d, (void)out;
    *count = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceGetProperties(ze_device_handle_t d, ze_device_properties_t *p)
{
    const ze_device_properties_t head = *p;
    memset(p, 0, sizeof *p);
    p->stype = head.stype;
    p->pNext = head.pNext;
    p->type = ZE_DEVICE_TYPE_GPU; /* the type that applications look for */
    p->flags = zc_config.private_memory ? 0 : ZE_DEVICE_PROPERTY_FLAG_INTEGRATED; /* the host can access its memory */
    p->vendorId = 0x8086;
    p->deviceId = 0xc9c0;
    p->coreClockRate = 1000;
    p->maxMemAllocSize = 1ull << MEMORY_BITS;
    p->maxHardwareContexts = 64;
    p->numThreadsPerEU = 1;
    p->physicalEUSimdWidth = ZC_SUBGROUP;
    p->numEUsPerSubslice = zc_config.threads;
    p->numSubslicesPerSlice = p->numSlices = 1;
    p->timerResolution = head.stype == ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2 ? 1000000000 : 1; /* 1.2: in Hz */
    p->timestampValidBits = p->kernelTimestampValidBits = 64;
    memcpy(p->uuid.id, "ze_cpu device", 13);
    p->uuid.id[15] = (uint8_t)d->index;
    snprintf(p->name, sizeof p->name, "ze_cpu device %u", d->index);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceGetComputeProperties(ze_device_handle_t d, ze_device_compute_properties_t *p)
{
    (void)d;
    p->maxTotalGroupSize = p->maxGroupSizeX = p->maxGroupSizeY = p->maxGroupSizeZ = ZC_GROUP_MAX;
    p->maxGroupCountX = p->maxGroupCountY = p->maxGroupCountZ = UINT32_MAX;
    p->maxSharedLocalMemory = 65536;
    memset(p->subGroupSizes, 0, sizeof p->subGroupSizes);
    p->numSubGroupSizes = 1;
    p->subGroupSizes[0] = ZC_SUBGROUP;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceGetModuleProperties(ze_device_handle_t d, ze_device_module_properties_t *p)
{
    (void)d;
    p->spirvVersionSupported = ZE_MAKE_VERSION(1, 4);
    p->flags = ZE_DEVICE_MODULE_FLAG_FP64 | ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS;
    p->fp16flags = 0;
    p->fp32flags = p->fp64flags = ZE_DEVICE_FP_FLAG_DENORM | ZE_DEVICE_FP_FLAG_INF_NAN |
                                  ZE_DEVICE_FP_FLAG_ROUND_TO_NEAREST | ZE_DEVICE_FP_FLAG_FMA;
    p->maxArgumentsSize = 4096;
    p->printfBufferSize = 0; /* printf has no buffer */
    memset(&p->nativeKernelSupported, 0, sizeof p->nativeKernelSupported);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceGetCommandQueueGroupProperties(ze_device_handle_t d, uint32_t *count,
                                                    ze_command_queue_group_properties_t *p)
{
    (void)d;
    if (!*count || *count > 2)
        *count = 2;
    for (uint32_t i = 0; p && i < *count; i++) {
        p[i].flags = ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
        if (!i)
            p[i].flags |= ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE |
                          ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COOPERATIVE_KERNELS;
        p[i].maxMemoryFillPatternSize = ZC_PATTERN;
        p[i].numQueues = 8;
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceGetMemoryProperties(ze_device_handle_t d, uint32_t *count, ze_device_memory_properties_t *p)
{
    (void)d;
    *count = 1;
    if (p) {
        p->flags = 0;
        p->maxClockRate = 1000;
        p->maxBusWidth = 64;
        p->totalSize = 1ull << MEMORY_BITS;
        snprintf(p->name, sizeof p->name, "memory of the host");
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceGetMemoryAccessProperties(ze_device_handle_t d, ze_device_memory_access_properties_t *p)
{
    (void)d;
    ze_memory_access_cap_flags_t all = ZE_MEMORY_ACCESS_CAP_FLAG_RW | ZE_MEMORY_ACCESS_CAP_FLAG_ATOMIC |
                                       ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT |
                                       ZE_MEMORY_ACCESS_CAP_FLAG_CONCURRENT_ATOMIC;
    p->hostAllocCapabilities = p->deviceAllocCapabilities = all;
    p->sharedSingleDeviceAllocCapabilities = p->sharedCrossDeviceAllocCapabilities = all;
    p->sharedSystemAllocCapabilities = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceGetCacheProperties(ze_device_handle_t d, uint32_t *count, ze_device_cache_properties_t *p)
{
    (void)d, (void)p;
    *count = 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceGetExternalMemoryProperties(ze_device_handle_t d, ze_device_external_memory_properties_t *p)
{
    (void)d;
    p->memoryAllocationImportTypes = p->memoryAllocationExportTypes = ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF;
    p->imageImportTypes = p->imageExportTypes = 0;
    return ZE_RESULT_SUCCESS;
}

uint32_t zc_device_index(ze_device_handle_t d)
{
    return d ? d->index : 0;
}

ze_result_t zc_DeviceGetP2PProperties(ze_device_handle_t d, ze_device_handle_t peer, ze_device_p2p_properties_t *p)
{
    p->flags = d == peer || zc_config.peers ? ZE_DEVICE_P2P_PROPERTY_FLAG_ACCESS | ZE_DEVICE_P2P_PROPERTY_FLAG_ATOMICS : 0;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceCanAccessPeer(ze_device_handle_t d, ze_device_handle_t peer, ze_bool_t *can)
{
    *can = d == peer || zc_config.peers;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceGetStatus(ze_device_handle_t d)
{
    (void)d;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DeviceGetGlobalTimestamps(ze_device_handle_t d, uint64_t *host, uint64_t *device)
{
    (void)d;
    *host = *device = zc_now_ns();
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_DevicePciGetPropertiesExt(ze_device_handle_t d, ze_pci_ext_properties_t *p)
{
    p->address = (ze_pci_address_ext_t){.bus = 0xc0, .device = d->index};
    p->maxSpeed = (ze_pci_speed_ext_t){.genVersion = -1, .width = -1, .maxBandwidth = -1}; /* not known */
    return ZE_RESULT_SUCCESS;
}

/* ---- contexts --------------------------------------------------------------------------------------------------- */

ze_result_t zc_ContextCreate(ze_driver_handle_t d, const ze_context_desc_t *desc, ze_context_handle_t *out)
{
    (void)d, (void)desc;
    *out = calloc(1, sizeof **out);
    return *out ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
}

ze_result_t zc_ContextCreateEx(ze_driver_handle_t d, const ze_context_desc_t *desc, uint32_t n, ze_device_handle_t *v,
                               ze_context_handle_t *out)
{
    (void)n, (void)v;
    return zc_ContextCreate(d, desc, out);
}

ze_result_t zc_ContextDestroy(ze_context_handle_t c)
{
    free(c);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_ContextGetStatus(ze_context_handle_t c)
{
    (void)c;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_ContextSystemBarrier(ze_context_handle_t c, ze_device_handle_t d)
{
    (void)c, (void)d;
    return ZE_RESULT_SUCCESS;
}

/* All memory is always resident. */
ze_result_t zc_ContextMakeMemoryResident(ze_context_handle_t c, ze_device_handle_t d, void *p, size_t size)
{
    (void)c, (void)d, (void)p, (void)size;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_ContextEvictMemory(ze_context_handle_t c, ze_device_handle_t d, void *p, size_t size)
{
    (void)c, (void)d, (void)p, (void)size;
    return ZE_RESULT_SUCCESS;
}
