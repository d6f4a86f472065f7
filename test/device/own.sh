#!/usr/bin/env bash
# own.sh - a program with its own Level Zero objects: its own modules and queues, on Fulmar's context and device or on
# its own ones, with kernels that communicate.
. "${top_srcdir:=.}/test/device/run.sh"
export ZE_CPU_DEVICES=2

cat > "$work/own.cl" << 'END'
#include <shmemg.h>
__kernel void pass_on(__global ulong *w, __global void *given, int to)
{
    if (get_global_id(0) == 0) {
        shmemg_uint64_p(w, 100 + shmemg_my_pe(), to);
        shmemg_ctx_uint64_atomic_add((shmem_ctx_t)given, w + 1, 7, to);
    }
    shmemg_sync_all_tg();
}
__kernel void wrong(__global ulong *w) { shmemg_uint64_p(w, 1, 1000); }
END
echo '__kernel void plain(__global ulong *w) { w[0] = 1; }' > "$work/plain.cl"
cat > "$work/own.c" << 'END'
#include <errno.h>
#include <level_zero/ze_api.h>
#include <shmem.h>
#include <shmemx_ze.h>
#include <stdio.h>
#include <stdlib.h>
#define NEED(so) ((so) ? (void)0 : (printf("PE %d: line %d: %s\n", shmem_my_pe(), __LINE__, #so), shmem_global_exit(1)))
static ze_driver_handle_t driver;
static ze_context_handle_t context;
static ze_device_handle_t device;

static ze_module_handle_t load(const char *name)
{
    static char image[1 << 20];
    FILE *f = fopen(name, "rb");
    NEED(f);
    ze_module_desc_t d = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV,
                          .inputSize = fread(image, 1, sizeof image, f), .pInputModule = (uint8_t *)image};
    ze_module_handle_t m;
    fclose(f);
    NEED(zeModuleCreate(context, device, &d, &m, NULL) == 0);
    return m;
}
static void start(ze_module_handle_t m, const char *name, void *const *arg, const size_t *bytes, uint32_t n)
{
    ze_kernel_desc_t d = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = name};
    ze_command_queue_desc_t q = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, .mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS};
    ze_group_count_t one = {1, 1, 1};
    ze_command_list_handle_t list;
    ze_kernel_handle_t k;
    NEED(zeCommandListCreateImmediate(context, device, &q, &list) == 0 && zeKernelCreate(m, &d, &k) == 0);
    NEED(zeKernelSetGroupSize(k, 8, 1, 1) == 0);
    NEED(zeKernelSetIndirectAccess(k, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST | ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE) == 0);
    for (uint32_t i = 0; i < n; i++)
        NEED(zeKernelSetArgumentValue(k, i, bytes[i], arg[i]) == 0);
    NEED(zeCommandListAppendLaunchKernel(list, k, &one, NULL, 0, NULL) == 0);
    NEED(zeKernelDestroy(k) == 0 && zeCommandListDestroy(list) == 0);
}
static void session(const char *folder, int wrong)
{
    char own[500], plain[500];
    snprintf(own, sizeof own, "%s/own.spv", folder);
    snprintf(plain, sizeof plain, "%s/plain.spv", folder);
    int me = shmem_my_pe(), n = shmem_n_pes(), to = (me + 1) % n;
    uint64_t *w = shmemg_calloc(2, 8);
    ze_module_handle_t m = load(own), without = load(plain);
    NEED(w && shmemx_ze_module_leave(m) == -EINVAL);
    NEED(shmemx_ze_module_enter(m) == 0 && shmemx_ze_module_enter(m) == -EALREADY);
    NEED(shmemx_ze_module_enter(without) == -EINVAL);
    if (wrong)
        start(m, "wrong", (void *[]){&w}, (size_t[]){8}, 1);
    void *ctx;
    NEED(shmemx_device_ctx_create(SHMEM_TEAM_WORLD, SHMEM_CTX_PRIVATE, &ctx) == 0);
    start(m, "pass_on", (void *[]){&w, &ctx, &to}, (size_t[]){8, 8, 4}, 3);
    NEED(shmemx_device_sync() == 0);
    shmem_barrier_all();
    NEED(shmem_uint64_g(w, me) == 100u + (unsigned)((me + n - 1) % n) && shmem_uint64_g(w + 1, me) == 7);
    shmem_barrier_all();
    const size_t eight[3] = {8, 1, 1}, one[3] = {1, 1, 1}; /* and by Fulmar's queue */
    NEED(shmemx_launch("pass_on", one, eight, (void *[]){&w, &ctx, &to}, (size_t[]){8, 8, 4}, 3) == 0);
    NEED(shmemx_device_sync() == 0);
    shmem_barrier_all();
    NEED(shmem_uint64_g(w + 1, me) == 14);
    NEED(shmemx_ze_module_leave(m) == 0 && shmemx_ze_module_leave(m) == -EINVAL);
    NEED(zeModuleDestroy(m) == 0 && zeModuleDestroy(without) == 0);
}
static ze_memory_type_t type_of(const void *p)
{
    ze_memory_allocation_properties_t a = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    NEED(zeMemGetAllocProperties(context, p, &a, NULL) == 0);
    return a.type;
}
static void sycl_state(void) /* what kernels in SYCL read is in device memory, and ends with their context */
{
    ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
    for (int i = 0; i < 100; i++) {
        ze_context_handle_t c;
        NEED(zeContextCreate(driver, &desc, &c) == 0);
        void *at = shmemx_sycl_state(c, device);
        NEED(at && shmemx_sycl_state(c, device) == at && type_of(at) == ZE_MEMORY_TYPE_DEVICE);
        NEED(zeContextDestroy(c) == 0 && type_of(at) == ZE_MEMORY_TYPE_UNKNOWN);
    }
}
int main(int argc, char **argv)
{
    const char *how = argv[argc - 1];
    shmem_init();
    if (how[0] == 'u') { /* the last device, and a context, of one's own */
        ze_driver_handle_t d;
        ze_device_handle_t all[8];
        ze_context_handle_t c;
        uint32_t n = 1, n_all = 8;
        ze_context_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC};
        NEED(shmemx_ze_init() == 0 && zeInit(0) == 0 && zeDriverGet(&n, &d) == 0 && zeDeviceGet(d, &n_all, all) == 0);
        NEED(n_all == 2 && zeContextCreate(d, &desc, &c) == 0 && shmemx_ze_use(d, c, all[1]) == 0);
        NEED(shmemx_ze_get(&driver, &context, &device) == 0 && driver == d && context == c && device == all[1]);
        NEED(shmemx_ze_use(d, c, all[0]) == -EBUSY);
        session(argv[1], 0);
        shmem_finalize();
        void *p; /* the context is still good */
        ze_host_mem_alloc_desc_t mem = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
        if (zeMemAllocHost(c, &mem, 64, 64, &p) || zeMemFree(c, p) || zeContextDestroy(c))
            return 1;
        shmem_init();
        NEED(shmemx_ze_get(&driver, &context, &device) == 0 && device != all[1]); /* SHMEM_DEVICE counts again */
        shmem_finalize();
        return 0;
    }
    NEED(shmemx_ze_get(&driver, &context, &device) == 0);
    session(argv[1], how[0] == 'w');
    sycl_state();
    shmem_finalize();
    return 0;
}
END
for f in own plain; do
    sh "$top_srcdir/test/ze_cpu/cl.sh" "$work/$f.cl" "$work/$f.spv" "-I$top_srcdir/include" "-I$top_srcdir/src" > "$work/log" 2>&1
    ok $? "$f.cl becomes SPIR-V" "$work/log"
done
$OSHCC "$work/own.c" -o "$work/own" -lfulmar -lze_loader > "$work/log" 2>&1
ok $? "the program compiles" "$work/log"

# Catches: handles of another context than the memory's, a module whose contexts are not set, an own device or context
# that is not used, or is destroyed with Fulmar's, a module forgotten or kept too long; memory of a context that has ended.
for direct in $directs; do
    SHMEM_DEVICE=cpu:0 run 2 $direct "$work/own" "$work" get
    ok $? "own modules and queues on Fulmar's context, direct=$direct" "$work/log"
    SHMEM_DEVICE=cpu:0 run 2 $direct "$work/own" "$work" use
    ok $? "own context and device, direct=$direct" "$work/log"
done

# Catches: a lost error of a kernel that Fulmar did not launch.
run 1 1 "$work/own" "$work" wrong
[ $? != 0 ] && grep -q 'PE 1000 does not exist' "$work/log"
ok $? "an invalid request of an own module's kernel ends the job with one line" "$work/log"
plan
