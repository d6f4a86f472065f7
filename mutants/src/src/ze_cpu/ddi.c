/*
 * ddi.c - the function tables that the loader requests. The loader rejects a driver without one of them, so all tables of all
 * loader versions are exported; tables of parts that this driver does not have stay empty.
 *
 * A loader may have shorter tables than this driver: only entries of the requested API version are written.
 */
#include <level_zero/ze_ddi.h>
#include <level_zero/zes_api.h>
#include <level_zero/zes_ddi.h>
#include <level_zero/zet_api.h>
#include <level_zero/zet_ddi.h>
#include <string.h>

#include "ze_cpu/entries.h"

#define EXPORT __attribute__((visibility("default")))

static ze_result_t check(ze_api_version_t version, const void *table)
{
    if (!table)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    return ZE_MAJOR_VERSION(version) == 1 ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_UNSUPPORTED_VERSION;
}

/* Set an entry that the headers lack: it follows the last entry that they have. */
static void set_behind(ze_api_version_t version, ze_api_version_t since, void *last, const void *fn)
{
    if (version >= since)
        memcpy((char *)last + sizeof(void *), &fn, sizeof fn);
}
#define BEHIND(minor, last, fn) set_behind(version, ZE_MAKE_VERSION(1, minor), &table->last, (const void *)fn)

#define SET(T, name, major, minor)                                                                                    \
    if (version >= ZE_MAKE_VERSION(major, minor))                                                                     \
        table->pfn##name = zc_##T##name;

/* later: statements for entries that the headers lack */
#define TABLE(T, type, later)                                                                                         \
    EXPORT ze_result_t ZE_APICALL zeGet##T##ProcAddrTable(ze_api_version_t version, type *table)                      \
    {                                                                                                                 \
        ze_result_t r = check(version, table);                                                                        \
        if (r)                                                                                                        \
            return r;                                                                                                 \
        ZC_##T(SET, T) later;                                                                                         \
        return ZE_RESULT_SUCCESS;                                                                                     \
    }
#define EMPTY(ns, T, type)                                                                                            \
    EXPORT ze_result_t ZE_APICALL ns##Get##T##ProcAddrTable(ze_api_version_t version, type *table)                    \
    {                                                                                                                 \
        return check(version, table);                                                                                 \
    }

EXPORT ze_result_t ZE_APICALL zeGetGlobalProcAddrTable(ze_api_version_t version, ze_global_dditable_t *table)
{
    ze_result_t r = check(version, table);
    if (r)
        return r;
    table->pfnInit = zc_Init;
    BEHIND(10, pfnInit, zc_InitDrivers);
    return ZE_RESULT_SUCCESS;
}

TABLE(Driver, ze_driver_dditable_t, )
TABLE(Device, ze_device_dditable_t, )
TABLE(Context, ze_context_dditable_t, )
TABLE(CommandQueue, ze_command_queue_dditable_t, )
TABLE(CommandList, ze_command_list_dditable_t,
      BEHIND(6, pfnAppendImageCopyFromMemoryExt, zc_CommandListHostSynchronize))
TABLE(Fence, ze_fence_dditable_t, )
TABLE(EventPool, ze_event_pool_dditable_t, )
TABLE(Event, ze_event_dditable_t, )
TABLE(Module, ze_module_dditable_t, )
TABLE(ModuleBuildLog, ze_module_build_log_dditable_t, )
TABLE(Kernel, ze_kernel_dditable_t, )
TABLE(KernelExp, ze_kernel_exp_dditable_t, )
TABLE(Mem, ze_mem_dditable_t, BEHIND(6, pfnFreeExt, zc_MemPutIpcHandle))

EMPTY(ze, DeviceExp, ze_device_exp_dditable_t)
EMPTY(ze, Image, ze_image_dditable_t)
EMPTY(ze, ImageExp, ze_image_exp_dditable_t)
EMPTY(ze, EventExp, ze_event_exp_dditable_t)
EMPTY(ze, Sampler, ze_sampler_dditable_t)
EMPTY(ze, PhysicalMem, ze_physical_mem_dditable_t)
EMPTY(ze, VirtualMem, ze_virtual_mem_dditable_t)
EMPTY(ze, FabricVertexExp, ze_fabric_vertex_exp_dditable_t)
EMPTY(ze, FabricEdgeExp, ze_fabric_edge_exp_dditable_t)
EMPTY(zet, Device, zet_device_dditable_t)
EMPTY(zet, Context, zet_context_dditable_t)
EMPTY(zet, CommandList, zet_command_list_dditable_t)
EMPTY(zet, Module, zet_module_dditable_t)
EMPTY(zet, Kernel, zet_kernel_dditable_t)
EMPTY(zet, MetricGroup, zet_metric_group_dditable_t)
EMPTY(zet, MetricGroupExp, zet_metric_group_exp_dditable_t)
EMPTY(zet, Metric, zet_metric_dditable_t)
EMPTY(zet, MetricStreamer, zet_metric_streamer_dditable_t)
EMPTY(zet, MetricQueryPool, zet_metric_query_pool_dditable_t)
EMPTY(zet, MetricQuery, zet_metric_query_dditable_t)
EMPTY(zet, TracerExp, zet_tracer_exp_dditable_t)
EMPTY(zet, Debug, zet_debug_dditable_t)
EMPTY(zes, Driver, zes_driver_dditable_t)
EMPTY(zes, Device, zes_device_dditable_t)
EMPTY(zes, Scheduler, zes_scheduler_dditable_t)
EMPTY(zes, PerformanceFactor, zes_performance_factor_dditable_t)
EMPTY(zes, Power, zes_power_dditable_t)
EMPTY(zes, Frequency, zes_frequency_dditable_t)
EMPTY(zes, Engine, zes_engine_dditable_t)
EMPTY(zes, Standby, zes_standby_dditable_t)
EMPTY(zes, Firmware, zes_firmware_dditable_t)
EMPTY(zes, Memory, zes_memory_dditable_t)
EMPTY(zes, FabricPort, zes_fabric_port_dditable_t)
EMPTY(zes, Temperature, zes_temperature_dditable_t)
EMPTY(zes, Psu, zes_psu_dditable_t)
EMPTY(zes, Fan, zes_fan_dditable_t)
EMPTY(zes, Led, zes_led_dditable_t)
EMPTY(zes, Ras, zes_ras_dditable_t)
EMPTY(zes, Diagnostics, zes_diagnostics_dditable_t)
