/* fault.c - ZE_CPU_CHECK=1: an access outside the kernel's memory is reported and ends the kernel, not the process. */
#include <fcntl.h>
#include <stdbool.h>

#include "zt.h"

static ze_module_handle_t module;
static char report[4096]; /* what the driver wrote to stderr */

/* Run 16 work-items, of which one faults; sets `report`. */
static ze_result_t run(const char *name, void *p, uint64_t off)
{
    ze_kernel_handle_t k = zt_kernel(module, name);
    char path[] = "/tmp/ztXXXXXX";
    int fd = mkstemp(path), keep = dup(2);
    dup2(fd, 2);
    zt_arg(k, 0, sizeof p, &p);
    zt_arg(k, 1, sizeof off, &off);
    ze_result_t r = zt_run(k, 16, 4);
    dup2(keep, 2);
    ssize_t n = pread(fd, report, sizeof report - 1, 0);
    report[n < 0 ? 0 : n] = 0;
    close(fd);
    close(keep);
    unlink(path);
    return r;
}

static void stray(const char *kernel, void *p, uint64_t off, const char *what)
{
    CHECKF(run(kernel, p, off) == ZE_RESULT_ERROR_DEVICE_LOST, "%s", kernel);
    CHECKF(strstr(report, kernel) && strstr(report, "work-item (1,0,0) of group (1,0,0)") && strstr(report, what), "%s",
           report);
}

static void outside(void)
{
    uint32_t *p = zt_host(4096), *h = malloc(4096);
    stray("store_at", p, 1 << 20, "store of 4 bytes");
    stray("load_at", p, 0ull - 8, "load of 4 bytes");
    stray("load_at", p, 4094, "load of 4 bytes"); /* half inside */
    stray("store_at", h, 0, "no memory of this device");
    stray("atomic_at", p, 2, "not aligned");
    stray("store_at", NULL, 0, "at 0x0");
    free(h);
}

static void freed(void)
{
    uint32_t *p = zt_host(4096), *q = zt_host(4096);
    CHECK(!run("store_at", p, 64) && p[16] == 1);
    ZE(zeMemFree(zt_context, p));
    stray("store_at", q, (uint64_t)p - (uint64_t)q, "store of 4 bytes");
}

/* Catches: a kernel with an assertion that cannot be created, or that goes on behind one that failed. */
static void assertion(void)
{
    uint32_t *p = zt_host(4096);
    CHECKF(!run("asserts", p, 0) && p[0] == 7, "%s", report);
    p[0] = 0;
    stray("asserts", p, 1, "an assertion failed");
    CHECK(p[0] == 0);
}

/* Catches: a check that is too strict. */
static void allowed(void)
{
    void **p = zt_host(4096);
    uint32_t *inside = zt_device_mem(4096);
    *p = inside;
    CHECKF(!run("lawful", p, 0), "%s", report);
    CHECK(!report[0]);
}

/* A queue whose kernel faulted returns device lost from then on. */
static void queue_status(void)
{
    ze_command_queue_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t list = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_fence_desc_t fence = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_command_queue_handle_t q;
    ze_command_list_handle_t l;
    ze_fence_handle_t f;
    ze_group_count_t n = {4, 1, 1};
    void *p = NULL;
    uint64_t off = 0;
    ze_kernel_handle_t k = zt_kernel(module, "store_at");
    ZE(zeCommandQueueCreate(zt_context, zt_device, &desc, &q));
    ZE(zeCommandListCreate(zt_context, zt_device, &list, &l));
    ZE(zeFenceCreate(q, &fence, &f));
    zt_arg(k, 0, sizeof p, &p);
    zt_arg(k, 1, sizeof off, &off);
    ZE(zeKernelSetGroupSize(k, 4, 1, 1));
    ZE(zeCommandListAppendLaunchKernel(l, k, &n, NULL, 0, NULL));
    ZE(zeCommandListClose(l));
    int keep = dup(2), null = open("/dev/null", O_WRONLY);
    dup2(null, 2);
    ZE(zeCommandQueueExecuteCommandLists(q, 1, &l, f));
    ze_result_t r = zeCommandQueueSynchronize(q, LIMIT_NS), r2 = zeFenceHostSynchronize(f, LIMIT_NS);
    dup2(keep, 2);
    CHECK(r == ZE_RESULT_ERROR_DEVICE_LOST && r2 == ZE_RESULT_ERROR_DEVICE_LOST);
}

int main(void)
{
    setenv("ZE_CPU_CHECK", "1", 1);
    zt_up();
    module = zt_module("fault");
    RUN(outside, "accesses outside USM");
    RUN(freed, "an access to freed memory");
    RUN(assertion, "an assertion that fails ends its kernel");
    RUN(allowed, "accesses that are allowed");
    RUN(queue_status, "queue and fence return device lost after a fault");
    return tap_end();
}
