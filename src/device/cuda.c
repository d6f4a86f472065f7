/*
 * cuda.c - the CUDA backend: one device's primary context, with streams for copies and one for kernels.
 *
 * The runtime API uses the primary context, too, so the program's own CUDA code can use our memory. The context is current
 * only during a call of the backend.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/cuda_launch.h"
#include "device/cuda_loader.h"
#include "device/cuda_memory.h"
#include "device/cuda_module.h"
#include "device/cuda_virtual.h"
#include "device/device.h"
#include "host/util/log.h"
#include "host/util/numa.h"

static int probe(void)
{
    return shi_cuda_open("libcuda.so.1");
}

static int probe_cpu(void)
{
    char path[512];
    if (shi_device_library("libcuda_cpu.so", path, sizeof path)) {
        shi_log_error("libcuda_cpu.so (CUDA on the CPU) found neither next to libfulmar.so nor in " SHI_LIBDIR);
        return 0;
    }
    return shi_cuda_open(path);
}

static void describe(int i, char *text, size_t bytes)
{
    CUdevice d;
    char name[128] = "?", id[32];
    shi_cuda_identify(i, id, sizeof id);
    if (shi_cu.cuDeviceGet(&d, i) == CUDA_SUCCESS)
        shi_cu.cuDeviceGetName(name, sizeof name, d);
    snprintf(text, bytes, "%s%s%s; " SHI_DEVICE_COPIES, name, shi_cu.cuxCpuStalled ? "" : ", PCI ",
             shi_cu.cuxCpuStalled ? "" : id);
}

static int is_near(int i)
{
    char id[32];
    shi_cuda_identify(i, id, sizeof id);
    return shi_numa_is_local("/sys", id);
}

static int take_context(void)
{
    CUresult r = shi_cu.cuDevicePrimaryCtxRetain(&shi_cuda.context, shi_cuda.device);
    if (r && shi_cuda_attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) == CU_COMPUTEMODE_EXCLUSIVE_PROCESS) {
        shi_log_error("CUDA: the GPU is in exclusive mode and another process uses it: run one PE for each GPU, or "
                      "start MPS (nvidia-cuda-mps-control -d), or set the compute mode to default");
        return -EBUSY;
    }
    return r ? shi_cuda_failed("cuDevicePrimaryCtxRetain", r) : 0;
}

static int up(int i, int *host_access)
{
    CUresult r = shi_cu.cuDeviceGet(&shi_cuda.device, i);
    if (r)
        return shi_cuda_failed("cuDeviceGet", r);
    if (!shi_cuda_attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)) {
        shi_log_error("CUDA: the device has no unified addressing");
        return -ENODEV;
    }
    int err = take_context();
    if (err)
        return err;
    err = shi_cuda_launch_up();
    if (!err && (err = shi_cuda_memory_up()))
        shi_cuda_launch_down();
    if (err)
        shi_cu.cuDevicePrimaryCtxRelease(shi_cuda.device);
    *host_access = 0;
    return err;
}

static void down(void)
{
    shi_cuda_launch_down();
    shi_cuda_memory_down();
    shi_cu.cuDevicePrimaryCtxRelease(shi_cuda.device);
}

static void while_idle(int (*fn)(void))
{
    if (shi_cu.cuxCpuWhileIdle)
        shi_cu.cuxCpuWhileIdle(fn);
}

static int stalled(int *at, struct shi_device_stalled *out)
{
    out->words = sizeof out->addr / sizeof *out->addr;
    return shi_cu.cuxCpuStalled && shi_cu.cuxCpuStalled(at, out->kernel, sizeof out->kernel, &out->items, out->addr, out->value,
                                                        &out->words) == CUDA_SUCCESS;
}

/* The control daemon of NVIDIA's Multi-Process Service has a pipe here. */
static int takes_turns(const char **how)
{
    char path[4096];
    const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
    snprintf(path, sizeof path, "%s/control", folder && *folder ? folder : "/tmp/nvidia-mps");
    *how = "with NVIDIA's Multi-Process Service they run at the same time; oshrun --mps starts it";
    return access(path, F_OK) != 0;
}

#define CUDA_OPS                                                                                                     \
    describe, up, down, shi_cuda_alloc, shi_cuda_release, shi_cuda_share, shi_cuda_map, shi_cuda_unmap, shi_cuda_export_memory, \
        shi_cuda_copy, shi_cuda_copies_start, shi_cuda_copies_ended, shi_cuda_clear, shi_cuda_alloc_shared, shi_cuda_load, \
        shi_cuda_variable, shi_cuda_launch, shi_cuda_finish, shi_cuda_busy, shi_cuda_host_call
const struct shi_device_ops shi_device_cuda = {"cuda", probe, CUDA_OPS, is_near, NULL, NULL, NULL, shi_cuda_adopt, takes_turns,
                                               shi_cuda_disown, shi_cuda_virtual_shared},
                            shi_device_cuda_cpu = {"cuda-cpu", probe_cpu, CUDA_OPS, NULL, while_idle, stalled, NULL, shi_cuda_adopt, NULL,
                                                   shi_cuda_disown, shi_cuda_virtual_shared};
