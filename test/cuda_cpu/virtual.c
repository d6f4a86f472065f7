/*
 * virtual.c - memory that the program maps to addresses itself, in one process and in two; managed memory; what is left of the memory.
 *
 * In a second process the device's memory is hidden from the host (ZE_CPU_PRIVATE).
 */
#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "ct.h"

enum { GRAIN = 2 << 20, NONE = CU_MEM_ACCESS_FLAGS_PROT_NONE, READ = CU_MEM_ACCESS_FLAGS_PROT_READ, READWRITE = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
static const CUmemAllocationProp of_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                              .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
static const CUmemAllocationProp of_host = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0}};

#define INVALID(call) CHECKF((call) == CUDA_ERROR_INVALID_VALUE, "%s is no error", #call)

static CUresult allow(CUdeviceptr at, size_t bytes, CUmemAccess_flags flags)
{
    const CUmemAccessDesc d = {{CU_MEM_LOCATION_TYPE_DEVICE, 0}, flags};
    return cuMemSetAccess(at, bytes, &d, 1);
}

/* Memory of `bytes` at new addresses, with access. */
static CUdeviceptr mapped(const CUmemAllocationProp *prop, size_t bytes, CUmemGenericAllocationHandle *h)
{
    CUdeviceptr at;
    CT(cuMemCreate(h, bytes, prop, 0));
    CT(cuMemAddressReserve(&at, bytes, 0, 0, 0));
    CT(cuMemMap(at, bytes, 0, *h, 0));
    CT(allow(at, bytes, READWRITE));
    return at;
}

static void forget(CUdeviceptr at, size_t bytes)
{
    CHECK(!cuMemUnmap(at, bytes) && !cuMemAddressFree(at, bytes));
}

/* Run a kernel that adds n to each of 32 words. */
static CUresult add(CUdeviceptr at, uint32_t n)
{
    static CUmodule m;
    if (!m)
        CT(ct_build(&m, CT_HEAD ".visible .entry add(.param .u64 p, .param .u32 n)\n{ .reg .b64 %a; .reg .b32 %i, %n, %v;\n"
                        "ld.param.u64 %a, [p]; ld.param.u32 %n, [n]; mov.u32 %i, %tid.x; mad.wide.u32 %a, %i, 4, %a;\n"
                        "ld.global.u32 %v, [%a]; add.u32 %v, %v, %n; st.global.u32 [%a], %v; ret; }\n"));
    return ct_run(m, "add", 1, 32, 0, (void *[]){&at, &n});
}

static uint32_t word(CUdeviceptr at)
{
    uint32_t *w = ct_memory(4), v;
    CT(cuMemcpyAsync((CUdeviceptr)(uintptr_t)w, at, 4, NULL));
    CT(cuStreamSynchronize(NULL));
    v = *w;
    CT(cuMemFreeHost(w));
    return v;
}

/* Catches: memory that is lost when its handle is released, or that a second mapping does not show; zero pages; lengths of the wrong part. */
static void mappings(void)
{
    CUmemGenericAllocationHandle h, again;
    CUdeviceptr at = mapped(&of_device, 2 * GRAIN, &h), other, base = 0;
    size_t bytes = 0;
    int device = -1;
    CHECK(!add(at, 5) && !add(at, 1) && word(at + 4) == 6);
    CHECK(!cuMemRelease(h));
    INVALID(cuMemRelease(h));
    CHECK(!cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(at + GRAIN + 1)) && again == h);
    CT(cuMemAddressReserve(&other, 4 * GRAIN, 4 * GRAIN, 0, 0));
    CHECK(other % (4 * GRAIN) == 0);
    CT(cuMemMap(other + GRAIN, 2 * GRAIN, 0, again, 0));
    CT(allow(other + GRAIN, 2 * GRAIN, READWRITE));
    CHECK(!cuMemRelease(again));
    CHECK(!add(other + GRAIN, 10) && word(at + 4) == 16 && word(other + GRAIN) == 16);
    CHECK(!cuMemGetAddressRange(&base, &bytes, other + GRAIN + 100) && base == other + GRAIN && bytes == 2 * GRAIN);
    CHECK(!cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at) && device == 0);
    forget(at, 2 * GRAIN);
    CHECK(word(other + GRAIN) == 16);
    CHECK(!cuMemUnmap(other + GRAIN, 2 * GRAIN) && !cuMemAddressFree(other, 4 * GRAIN));
    CHECK(cuMemGetAddressRange(&base, &bytes, other + GRAIN) == CUDA_ERROR_NOT_FOUND);
    INVALID(cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)other));
}

/* Catches: access of a part that changes another's, that is reported as something else, or of a place that does not exist. */
static void access_flags(void)
{
    const CUmemLocation first = {CU_MEM_LOCATION_TYPE_DEVICE, 0}, second = {CU_MEM_LOCATION_TYPE_DEVICE, 1}, host = {CU_MEM_LOCATION_TYPE_HOST, 0};
    const CUmemAccessDesc none = {{CU_MEM_LOCATION_TYPE_DEVICE, 1000}, READ}, wrong = {first, 7}, both[] = {{first, READ}, {second, READWRITE}};
    CUmemGenericAllocationHandle a, b;
    CUdeviceptr at;
    unsigned long long f = 99;
    CT(cuMemCreate(&a, GRAIN, &of_device, 0));
    CT(cuMemCreate(&b, GRAIN, &of_host, 0));
    CT(cuMemAddressReserve(&at, 2 * GRAIN, 0, 0, 0));
    CT(cuMemMap(at, GRAIN, 0, a, 0));
    CHECK(!cuMemGetAccess(&f, &first, at) && f == NONE);
    INVALID(allow(at, 2 * GRAIN, READ));
    CT(cuMemMap(at + GRAIN, GRAIN, 0, b, 0));
    CHECK(!allow(at, 2 * GRAIN, READWRITE) && !allow(at, GRAIN, READ));
    CHECK(!cuMemGetAccess(&f, &first, at + GRAIN - 1) && f == READ && !cuMemGetAccess(&f, &first, at + GRAIN) && f == READWRITE);
    CHECK(!cuMemGetAccess(&f, &second, at) && f == NONE && !cuMemGetAccess(&f, &host, at) && f == NONE);
    CHECK(!cuMemSetAccess(at, GRAIN, both, 2) && !cuMemGetAccess(&f, &second, at) && f == READWRITE);
    CHECK(cuMemSetAccess(at, GRAIN, &none, 1) == CUDA_ERROR_INVALID_DEVICE);
    INVALID(cuMemSetAccess(at, GRAIN, &wrong, 1));
    INVALID(cuMemSetAccess(at + GRAIN / 2, GRAIN, both, 1));
    INVALID(cuMemSetAccess(at, GRAIN, both, 0));
    INVALID(cuMemUnmap(at, GRAIN / 2));
    INVALID(cuMemAddressFree(at, 2 * GRAIN));
    CHECK(!cuMemUnmap(at, 2 * GRAIN)); /* two mappings at once */
    INVALID(cuMemGetAccess(&f, &first, at));
    INVALID(cuMemAddressFree(at, GRAIN));
    CHECK(!cuMemAddressFree(at, 2 * GRAIN) && !cuMemRelease(a) && !cuMemRelease(b));
}

/* Catches: arguments that CUDA refuses and this driver takes. */
static void errors(void)
{
    CUmemAllocationProp p = of_device;
    CUmemGenericAllocationHandle h = 0, wide;
    CUdeviceptr at, at2 = 0, part;
    size_t grain = 0;
    CHECK(!cuMemGetAllocationGranularity(&grain, &p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) && grain == GRAIN);
    INVALID(cuMemGetAllocationGranularity(&grain, &p, 2));
    INVALID(cuMemCreate(&h, GRAIN + 4096, &p, 0));
    INVALID(cuMemCreate(&h, 0, &p, 0));
    INVALID(cuMemCreate(&h, GRAIN, &p, 1));
    p.location.id = 1000;
    CHECK(cuMemCreate(&h, GRAIN, &p, 0) == CUDA_ERROR_INVALID_DEVICE);
    p = of_device;
    p.type = 0;
    INVALID(cuMemCreate(&h, GRAIN, &p, 0));
    p = of_device;
    p.requestedHandleTypes = 8; /* of a fabric */
    CHECK(cuMemCreate(&h, GRAIN, &p, 0) == CUDA_ERROR_NOT_SUPPORTED);
    INVALID(cuMemAddressReserve(&at, GRAIN / 2, 0, 0, 0));
    INVALID(cuMemAddressReserve(&at, GRAIN, 3, 0, 0));
    CHECK(cuMemAddressReserve(&at, (size_t)1 << 60, 0, 0, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    at = mapped(&of_device, GRAIN, &h);
    INVALID(cuMemMap(at, GRAIN, 0, h, 0)); /* it is mapped already */
    INVALID(cuMemFree(at));
    CHECK(!cuMemAddressReserve(&part, 2 * GRAIN, 0, 0, 0));
    INVALID(cuMemMap(part, GRAIN, GRAIN, h, 0));
    INVALID(cuMemMap(part, 2 * GRAIN, 0, h, 0));
    INVALID(cuMemMap(part + 2 * GRAIN, GRAIN, 0, h, 0));
    INVALID(cuMemMap(part, GRAIN, 0, h + 8, 0));
    INVALID(cuMemUnmap(part, GRAIN));
    CHECK(!cuMemMap(part + GRAIN, GRAIN, 0, h, 0));
    INVALID(cuMemUnmap(part, 2 * GRAIN)); /* a part of it is not mapped */
    CHECK(!cuMemCreate(&wide, 2 * GRAIN, &of_device, 0) && !cuMemAddressReserve(&at2, 4 * GRAIN, 0, 0, 0));
    CHECK(!cuMemMap(at2 + GRAIN, GRAIN, 0, h, 0) && !cuMemMap(at2 + 2 * GRAIN, 2 * GRAIN, 0, wide, 0));
    INVALID(cuMemUnmap(at2, 3 * GRAIN)); /* as many bytes as it has parts, one of which ends behind it */
    CHECK(!cuMemUnmap(at2 + GRAIN, 3 * GRAIN) && !cuMemAddressFree(at2, 4 * GRAIN) && !cuMemRelease(wide) && !cuMemUnmap(part + GRAIN, GRAIN));
    CHECK(!cuMemAddressFree(part, 2 * GRAIN) && !cuMemRelease(h));
    forget(at, GRAIN);
}

/* ---- two processes ---------------------------------------------------------------------------------------------- */

/* One byte, and a descriptor with it. */
static void send_fd(int to, int fd)
{
    char byte = 1, space[CMSG_SPACE(sizeof fd)] = "";
    struct iovec one = {&byte, 1};
    struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    CHECK(sendmsg(to, &m, 0) == 1);
}

static int receive_fd(int from)
{
    char byte, space[CMSG_SPACE(sizeof(int))];
    struct iovec one = {&byte, 1};
    struct msghdr m = {.msg_iov = &one, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    int fd = -1;
    if (recvmsg(from, &m, 0) == 1 && CMSG_FIRSTHDR(&m))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

static int ends[2];

/* A driver of its own: import, compare, change. */
static int importer(void)
{
    CUmemGenericAllocationHandle h;
    CUmemAllocationProp p;
    CUdeviceptr at;
    ct_up();
    int fd = receive_fd(ends[1]);
    if (fd < 0 || cuMemImportFromShareableHandle(&h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) || close(fd))
        return 1;
    if (cuMemGetAllocationPropertiesFromHandle(&p, h) || p.location.type != CU_MEM_LOCATION_TYPE_DEVICE || p.type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return 2;
    if (cuMemAddressReserve(&at, GRAIN, 0, 0, 0) || cuMemMap(at, GRAIN, 0, h, 0) || allow(at, GRAIN, READWRITE))
        return 3;
    if (word(at) != 70 || add(at, 7) || cuMemRelease(h) || cuMemUnmap(at, GRAIN) || cuMemAddressFree(at, GRAIN))
        return 4;
    return 0;
}

static pid_t begin_importer(const char *private_memory)
{
    fflush(stdout);
    pid_t pid = socketpair(AF_UNIX, SOCK_STREAM, 0, ends) ? -1 : fork();
    if (pid == 0) {
        setenv("ZE_CPU_PRIVATE", private_memory, 1);
        close(ends[0]);
        _exit(importer());
    }
    close(ends[1]);
    return pid;
}

static pid_t children[2];
static int to_child[2];

/* Catches: an export that is a copy, a descriptor that the driver keeps or closes, an import without size or properties. */
static void sharing(void)
{
    CUmemGenericAllocationHandle h, host, wrong;
    int fd = -1, status = -1;
    FILE *other = tmpfile();
    const uint64_t label[2] = {0, GRAIN};
    CHECK(!ftruncate(fileno(other), GRAIN + (64 << 10)) && pwrite(fileno(other), label, sizeof label, GRAIN) == sizeof label);
    for (int i = 0; i < 2; i++) {
        CUdeviceptr at = mapped(&of_device, GRAIN, &h);
        CHECK(!add(at, 70) && !cuMemExportToShareableHandle(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0) && fd >= 0);
        send_fd(to_child[i], fd);
        CHECK(!close(fd));
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
        CHECK(word(at) == 77 && !cuMemRelease(h));
        forget(at, GRAIN);
    }
    CUdeviceptr at = mapped(&of_host, GRAIN, &host);
    INVALID(cuMemExportToShareableHandle(&fd, host, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0)); /* not requested */
    INVALID(cuMemImportFromShareableHandle(&wrong, (void *)(intptr_t)fileno(other), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    INVALID(cuMemImportFromShareableHandle(&wrong, (void *)(intptr_t)-1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    fclose(other);
    forget(at, GRAIN);
    CHECK(!cuMemRelease(host));
}

/* Catches: memory of the host that kernels or the host do not access where device memory is hidden; a kernel's bad access without a report. */
static int hidden(void)
{
    CUmemGenericAllocationHandle h;
    ct_up();
    CUdeviceptr at = mapped(&of_device, GRAIN, &h), host = mapped(&of_host, GRAIN, &h);
    uint32_t *w = (uint32_t *)(uintptr_t)host;
    *w = 30;
    if (add(host, 2) || *w != 32 || add(at, 3) || word(at) != 3)
        return 1;
    int probe[2];
    if (pipe(probe) || write(probe[1], (void *)(uintptr_t)at, 1) != -1 || errno != EFAULT) /* the host sees nothing there */
        return 2;
    return allow(at, GRAIN, NONE) || add(at, 1) != 719 ? 3 : 0;
}

/* ---- managed memory --------------------------------------------------------------------------------------------- */

static CUresult (*cuMemAllocManaged)(CUdeviceptr *, size_t, unsigned);
static CUresult (*cuMemPrefetchAsync)(CUdeviceptr, size_t, CUdevice, CUstream);
static CUresult (*cuMemAdvise)(CUdeviceptr, size_t, int, CUmemLocation);
static CUresult (*cuMemGetInfo)(size_t *, size_t *);

/* Catches: a form of a call that is not the version's; hints about memory of a device, about places that do not exist; managed memory
 * that does not say so. */
static void managed(void)
{
    enum { SET_READ_MOSTLY = 1, SET_PREFERRED = 3, MEMORY_TYPE = 2, IS_MANAGED = 8 };
    CUdeviceptr at, device;
    unsigned type = 0;
    char is = 0;
    CT(ct_get("cuMemAllocManaged", (void **)&cuMemAllocManaged, 12000, 0, NULL));
    CT(ct_get("cuMemPrefetchAsync", (void **)&cuMemPrefetchAsync, 12000, 0, NULL));
    CT(ct_get("cuMemAdvise", (void **)&cuMemAdvise, 13000, 0, NULL));
    INVALID(cuMemAllocManaged(&at, 4096, 0));
    CT(cuMemAllocManaged(&at, 4096, 1));
    CT(cuMemAlloc(&device, 4096));
    uint32_t *w = (uint32_t *)(uintptr_t)at;
    *w = 1;
    CHECK(!add(at, 4) && *w == 5);
    CHECK(!cuPointerGetAttribute(&is, IS_MANAGED, at) && is == 1 && !cuPointerGetAttribute(&is, IS_MANAGED, device) && is == 0);
    CHECK(!cuPointerGetAttribute(&type, MEMORY_TYPE, at) && type == 2);
    CHECK(!cuMemPrefetchAsync(at, 4096, 0, NULL) && !cuMemPrefetchAsync(at, 100, -1, NULL) && !cuMemPrefetchAsync((CUdeviceptr)(uintptr_t)&is, 1, 0, NULL));
    CHECK(cuMemPrefetchAsync(at, 4096, 1000, NULL) == CUDA_ERROR_INVALID_DEVICE);
    INVALID(cuMemPrefetchAsync(at, 8192, 0, NULL));
    INVALID(cuMemPrefetchAsync(device, 4096, 0, NULL));
    CHECK(!cuMemAdvise(at, 4096, SET_PREFERRED, (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0}));
    CHECK(!cuMemAdvise(at, 4096, SET_READ_MOSTLY, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 1000})); /* names no place */
    CHECK(cuMemAdvise(at, 4096, SET_PREFERRED, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 1000}) == CUDA_ERROR_INVALID_DEVICE);
    INVALID(cuMemAdvise(at, 4096, 7, (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, 0}));
    CHECK(!cuMemFree(at) && !cuMemFree(device));
}

static size_t available(void)
{
    char line[128];
    size_t kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f) && sscanf(line, "MemAvailable: %zu", &kib) != 1)
        ;
    if (f)
        fclose(f);
    return kib * 1024;
}

/* Catches: figures that are invented. Other processes take and free memory meanwhile. */
static void info(void)
{
    enum { NOISE = 8 << 20, TRIES = 200 };
    size_t left = 0, all = 0, before, after;
    int tries = 0;
    CT(ct_get("cuMemGetInfo", (void **)&cuMemGetInfo, 12000, 0, NULL));
    do {
        before = available();
        CT(cuMemGetInfo(&left, &all));
        after = available();
    } while ((left + NOISE < before || left > before + NOISE || left + NOISE < after || left > after + NOISE) && ++tries < TRIES && !usleep(1000));
    CHECKF(tries < TRIES, "%zu bytes are left, the system says %zu, then %zu", left, before, after);
    CHECK(all == (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE));
}

static void hides(void)
{
    int r = ct_child(hidden, "ZE_CPU_PRIVATE", "1");
    CHECKF(r == 0, "%d", r);
}

int main(void)
{
    setenv("ZE_CPU_CHECK", "1", 1);
    setenv("ZE_CPU_DEVICES", "2", 1);
    RUN(hides, "memory of host and device where the host has no access to the device's");
    for (int i = 0; i < 2; i++) {
        children[i] = begin_importer(i ? "1" : "0");
        to_child[i] = ends[0];
    }
    ct_up();
    RUN(mappings, "memory outlives its handle, two mappings of one memory");
    RUN(access_flags, "access of devices and of the host");
    RUN(errors, "arguments that are refused");
    RUN(sharing, "a descriptor for another process");
    RUN(managed, "managed memory, hints");
    RUN(info, "what is left");
    return tap_end();
}
