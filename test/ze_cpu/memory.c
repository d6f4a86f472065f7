/* memory.c - USM, IPC, command lists, events, and the modes ZE_CPU_PRIVATE, ZE_CPU_DEVICES, ZE_CPU_REORDER. */
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "zt.h"

enum { BYTES = 1 << 20 };

/* Run `body` in a child process with a driver of its own. Returns its wait status. */
static int child(void (*body)(int), int arg)
{
    fflush(NULL);
    pid_t p = fork();
    if (!p) {
        alarm(60);
        body(arg);
        _exit(tap_bad_now_ ? 1 : 0);
    }
    int status = -1;
    waitpid(p, &status, 0);
    return status;
}

/* ---- USM -------------------------------------------------------------------------------------------------------- */

static void is_type(void *p, ze_memory_type_t type, ze_device_handle_t device)
{
    ze_memory_allocation_properties_t m = {.stype = ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES};
    ze_device_handle_t d = NULL;
    ZE(zeMemGetAllocProperties(zt_context, p, &m, &d));
    CHECKF(m.type == type && d == device, "type %d", m.type);
    CHECKF(m.pageSize == (type ? (uint64_t)sysconf(_SC_PAGESIZE) : 0), "page size %lu", (unsigned long)m.pageSize);
}

static void kinds(int unused)
{
    (void)unused;
    zt_up();
    ze_host_mem_alloc_desc_t hd = {.stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC};
    ze_device_mem_alloc_desc_t dd = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    void *s, *big, *base;
    char *h = zt_host(5000), *d = zt_device_mem(5000);
    size_t size;
    ZE(zeMemAllocShared(zt_context, &dd, &hd, 100, 8, zt_device, &s));
    ZE(zeMemAllocDevice(zt_context, &dd, 100, 1 << 16, zt_device, &big));
    CHECK((uintptr_t)big % (1 << 16) == 0);
    is_type(h + 4999, ZE_MEMORY_TYPE_HOST, NULL);
    is_type(d + 4999, ZE_MEMORY_TYPE_DEVICE, zt_device);
    is_type(s, ZE_MEMORY_TYPE_SHARED, zt_device);
    is_type(&size, ZE_MEMORY_TYPE_UNKNOWN, NULL);
    ZE(zeMemGetAddressRange(zt_context, d + 777, &base, &size));
    CHECK(base == d && size == 5000);
    ZE(zeMemFree(zt_context, d));
    is_type(d, ZE_MEMORY_TYPE_UNKNOWN, NULL);
    CHECK(zeMemFree(zt_context, d) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
    CHECK(zeMemAllocDevice(zt_context, &dd, 0, 0, zt_device, &big) != ZE_RESULT_SUCCESS);
    CHECK(zeMemAllocDevice(zt_context, &dd, 8, 24, zt_device, &big) != ZE_RESULT_SUCCESS);
}

/* ---- IPC -------------------------------------------------------------------------------------------------------- */

struct letter {
    ze_ipc_mem_handle_t mem;
    ze_ipc_event_pool_handle_t pool;
};

static void send_fd(int s, int fd)
{
    char b = 0, c[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec v = {&b, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = c, .msg_controllen = sizeof c};
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    h->cmsg_level = SOL_SOCKET;
    h->cmsg_type = SCM_RIGHTS;
    h->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(h), &fd, sizeof fd);
    CHECK(sendmsg(s, &m, 0) == 1);
}

static int take_fd(int s)
{
    char b, c[CMSG_SPACE(sizeof(int))];
    struct iovec v = {&b, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = c, .msg_controllen = sizeof c};
    int fd = -1;
    if (CHECK(recvmsg(s, &m, 0) == 1))
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    return fd;
}

static void importer(int s)
{
    struct letter l;
    zt_up();
    uint32_t *h = zt_host(BYTES), *d;
    CHECK(recv(s, &l, sizeof l, MSG_WAITALL) == sizeof l);
    int mem = take_fd(s), pool = take_fd(s);
    memcpy(&l.mem, &mem, sizeof mem);
    memcpy(&l.pool, &pool, sizeof pool);
    ZE(zeMemOpenIpcHandle(zt_context, zt_device, l.mem, 0, (void **)&d));
    close(mem);
    is_type(d, ZE_MEMORY_TYPE_DEVICE, zt_device);
    zt_copy(h, d, BYTES);
    for (uint32_t i = 0; i < BYTES / 4; i++)
        CHECKF(h[i] == i * 3, "word %u", i);
    ze_kernel_handle_t k = zt_kernel(zt_module("progress"), "inc");
    zt_arg(k, 0, sizeof d, &d);
    CHECK(!zt_run(k, BYTES / 4, 64));
    ze_event_pool_handle_t p;
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_handle_t e;
    ZE(zeEventPoolOpenIpcHandle(zt_context, l.pool, &p));
    ZE(zeEventCreate(p, &desc, &e));
    ZE(zeEventHostSignal(e));
    ZE(zeMemCloseIpcHandle(zt_context, d));
    CHECK(zeMemCloseIpcHandle(zt_context, h) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

static void exporter(int s)
{
    struct letter l;
    zt_up();
    uint32_t *h = zt_host(BYTES), *d = zt_device_mem(BYTES);
    for (uint32_t i = 0; i < BYTES / 4; i++)
        h[i] = i * 3;
    zt_copy(d, h, BYTES);
    ze_event_pool_desc_t pool = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_IPC, .count = 2};
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC};
    ze_event_pool_handle_t p;
    ze_event_handle_t e;
    ZE(zeEventPoolCreate(zt_context, &pool, 1, &zt_device, &p));
    ZE(zeEventCreate(p, &desc, &e));
    ZE(zeMemGetIpcHandle(zt_context, d, &l.mem));
    ZE(zeEventPoolGetIpcHandle(p, &l.pool));
    CHECK(zeMemGetIpcHandle(zt_context, h, &l.mem) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
    int mem, evs;
    memcpy(&mem, &l.mem, sizeof mem);
    memcpy(&evs, &l.pool, sizeof evs);
    CHECK(write(s, &l, sizeof l) == sizeof l);
    send_fd(s, mem);
    send_fd(s, evs);
    CHECK(!zeEventHostSynchronize(e, LIMIT_NS));
    ZE(zeEventDestroy(e));
    ZE(zeEventCreate(p, &desc, &e));
    CHECK(zeEventQueryStatus(e) == ZE_RESULT_NOT_READY);
    zt_copy(h, d, BYTES);
    for (uint32_t i = 0; i < BYTES / 4; i++)
        CHECKF(h[i] == i * 3 + 1, "word %u: %u", i, h[i]);
}

/* Catches: events with one index of a pool, which AdaptiveCpp makes, that are one; an index that stays taken. */
static void same_index(void)
{
    zt_up();
    ze_event_pool_desc_t pool = {.stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE, .count = 2};
    ze_event_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_EVENT_DESC, .index = 1};
    ze_event_pool_handle_t p;
    ze_event_handle_t a, b;
    ZE(zeEventPoolCreate(zt_context, &pool, 1, &zt_device, &p));
    ZE(zeEventCreate(p, &desc, &a));
    ZE(zeEventHostSignal(a));
    ZE(zeEventCreate(p, &desc, &b));
    CHECK(zeEventQueryStatus(a) == ZE_RESULT_SUCCESS && zeEventQueryStatus(b) == ZE_RESULT_NOT_READY);
    ZE(zeEventHostReset(a));
    ZE(zeEventHostSignal(b));
    CHECK(zeEventQueryStatus(a) == ZE_RESULT_NOT_READY && zeEventQueryStatus(b) == ZE_RESULT_SUCCESS);
    ZE(zeEventDestroy(b));
    ZE(zeEventDestroy(a));
    ZE(zeEventPoolDestroy(p));
}

/* Catches: the importer maps other memory or too little of it; an event that does not wake the other process. */
static void ipc(void)
{
    int s[2];
    CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
    fflush(NULL);
    pid_t p = fork();
    if (!p) {
        alarm(60);
        importer(s[1]);
        _exit(tap_bad_now_ ? 1 : 0);
    }
    int status = -1, mine = child(exporter, s[0]);
    waitpid(p, &status, 0);
    CHECK(!status && !mine);
    close(s[0]);
    close(s[1]);
}

/* ---- lists ------------------------------------------------------------------------------------------------------ */

static void lists(int unused)
{
    (void)unused;
    zt_up();
    ze_command_queue_desc_t qd = {.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC};
    ze_command_list_desc_t ld = {.stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC};
    ze_fence_desc_t fd = {.stype = ZE_STRUCTURE_TYPE_FENCE_DESC};
    ze_command_queue_handle_t q;
    ze_command_list_handle_t l;
    ze_fence_handle_t f;
    ze_event_handle_t e = zt_event();
    uint8_t *h = zt_host(4096), *d = zt_device_mem(4096), pattern[3] = {1, 2, 3};
    ze_copy_region_t from = {2, 1, 0, 4, 3, 1}, to = {0, 0, 0, 4, 3, 1};
    uint64_t *time = zt_host(8);
    ZE(zeCommandQueueCreate(zt_context, zt_device, &qd, &q));
    ZE(zeCommandListCreate(zt_context, zt_device, &ld, &l));
    ZE(zeFenceCreate(q, &fd, &f));
    ZE(zeCommandListAppendMemoryFill(l, d, pattern, 3, 100, e, 0, NULL));
    ZE(zeCommandListAppendMemoryCopyRegion(l, h, &to, 4, 0, d, &from, 10, 0, NULL, 1, &e));
    ZE(zeCommandListAppendBarrier(l, NULL, 0, NULL));
    ZE(zeCommandListAppendMemoryCopy(l, h + 100, d, 100, NULL, 0, NULL));
    ZE(zeCommandListAppendWriteGlobalTimestamp(l, time, NULL, 0, NULL));
    CHECK(zeCommandQueueExecuteCommandLists(q, 1, &l, f) == ZE_RESULT_ERROR_INVALID_ARGUMENT); /* not closed */
    ZE(zeCommandListClose(l));
    for (int i = 0; i < 3; i++) {
        memset(h, 0, 4096);
        ZE(zeCommandQueueExecuteCommandLists(q, 1, &l, f));
        CHECK(!zeFenceHostSynchronize(f, LIMIT_NS) && !zeCommandQueueSynchronize(q, LIMIT_NS));
        for (int y = 0; y < 3; y++)
            for (int x = 0; x < 4; x++)
                CHECKF(h[y * 4 + x] == ((y + 1) * 10 + x + 2) % 3 + 1, "row %d, column %d", y, x);
        CHECK(h[199] == 99 % 3 + 1 && *time);
        ZE(zeFenceReset(f));
        ZE(zeEventHostReset(e));
    }
    ze_kernel_timestamp_result_t t;
    CHECK(zeEventQueryKernelTimestamp(e, &t) == ZE_RESULT_NOT_READY);
    CHECK(zeEventHostSynchronize(e, 1000000) == ZE_RESULT_NOT_READY);
    ZE(zeCommandListReset(l));
    ZE(zeCommandListDestroy(l));
    ZE(zeFenceDestroy(f));
    ZE(zeCommandQueueDestroy(q));
}

/* ---- modes ------------------------------------------------------------------------------------------------------ */

static void touch(int unused)
{
    (void)unused;
    setenv("ZE_CPU_PRIVATE", "1", 1);
    zt_up();
    volatile char *d = zt_device_mem(64);
    signal(SIGSEGV, SIG_DFL);
    *d = 1;
}

/* A quarter of the window's 2 TiB. */
static void touch_limited(int unused)
{
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = (rlim_t)1 << 39;
    setrlimit(RLIMIT_AS, &limit);
    touch(unused);
}

static void private_works(int unused)
{
    (void)unused;
    setenv("ZE_CPU_PRIVATE", "1", 1);
    zt_up();
    uint32_t *h = zt_host(4096), *d = zt_device_mem(4096);
    ze_kernel_handle_t k = zt_kernel(zt_module("progress"), "inc");
    for (uint32_t i = 0; i < 1024; i++)
        h[i] = i;
    zt_copy(d, h, 4096);
    zt_arg(k, 0, sizeof d, &d);
    CHECK(!zt_run(k, 1024, 64));
    zt_copy(h, d, 4096);
    for (uint32_t i = 0; i < 1024; i++)
        CHECK(h[i] == i + 1);
}

static void many(int unused)
{
    (void)unused;
    setenv("ZE_CPU_DEVICES", "3", 1);
    zt_up();
    uint32_t n = 0;
    ZE(zeDeviceGet(zt_driver, &n, NULL));
    CHECK(n == 3);
}

/* Two fills of one word without a barrier: either may be the last. */
static void races(int unused)
{
    (void)unused;
    setenv("ZE_CPU_REORDER", "1", 1);
    zt_up();
    ze_command_list_handle_t l = zt_immediate();
    uint32_t *h = zt_host(64), seen = 0, ordered = 0;
    for (uint32_t i = 0; i < 60; i++) {
        ze_event_handle_t e[2] = {zt_event(), zt_event()};
        uint32_t one = 1, two = 2;
        ZE(zeCommandListAppendMemoryFill(l, h, &one, 4, 4, e[0], 0, NULL));
        if (i & 1)
            ZE(zeCommandListAppendBarrier(l, NULL, 0, NULL));
        ZE(zeCommandListAppendMemoryFill(l, h, &two, 4, 4, e[1], 0, NULL));
        ZE(zeEventHostSynchronize(e[0], LIMIT_NS));
        ZE(zeEventHostSynchronize(e[1], LIMIT_NS));
        if (i & 1)
            ordered += h[0] == 2;
        else
            seen |= h[0];
    }
    CHECKF(ordered == 30 && seen == 3, "with barriers %u, without %u", ordered, seen);
}

static void usm(void)
{
    CHECK(!child(kinds, 0));
}

static void command_lists(void)
{
    CHECK(!child(lists, 0));
}

static void private_memory(void)
{
    int status = child(touch, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    status = child(touch_limited, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(!child(private_works, 0));
}

static void devices(void)
{
    CHECK(!child(many, 0));
}

static void reorder(void)
{
    CHECK(!child(races, 0));
}

int main(void)
{
    size_t bytes;
    free(zt_spirv("progress", &bytes)); /* skips without a compiler */
    RUN(usm, "types of memory, alignment, properties");
    RUN(ipc, "memory and events shared by two processes");
    RUN(command_lists, "lists, fences, regions, patterns, timestamps");
    RUN(private_memory, "ZE_CPU_PRIVATE: the host cannot access device memory");
    RUN(devices, "ZE_CPU_DEVICES");
    RUN(reorder, "ZE_CPU_REORDER: only barriers order commands");
    RUN(same_index, "two events with one index of a pool"); /* the last: forked children start without a driver */
    return tap_end();
}
