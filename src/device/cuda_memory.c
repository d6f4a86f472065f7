/*
 * cuda_memory.c - memory of the CUDA backend: allocations, peers' memory, copies, the streams and buffers of copies.
 *
 * Streams do not synchronise with the default stream: a kernel that waits for the proxy must not block the proxy's copies. They
 * have the highest priority: the driver then gives them hardware queues other than those of kernels.
 */
#include "device/cuda_memory.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/cuda_launch.h"
#include "device/cuda_loader.h"
#include "device/cuda_virtual.h"
#include "device/marks.h"
#include "device/places.h"
#include "host/util/log.h"

/* Allocations are whole pages: an IPC handle maps pages, and a peer must not map other data with them. */
enum { PAGE_BYTES = 2 << 20, BOUNCE_BYTES = 1 << 18, COPIERS = 4 };

/* Streams for copies that a thread waits for. While one has none of its own, it waits for other threads' copies, too.
 * in_use: the thread that sets it has the stream; compare-and-swap, acquire; cleared with release. */
static struct copier {
    CUstream stream;
    char *bounce;
    int in_use;
} copiers[COPIERS];

/* Copies of copies_start. */
static struct queue {
    CUstream stream;
    char *bounce;
    CUevent event[SHI_MARKS];
    struct shi_marks marks;
} queues[SHI_DEVICE_QUEUES];

/* Pinned memory to free when the device goes down. */
struct pinned {
    void *at;
    struct pinned *next;
};
static struct pinned *pinned;

/* A peer's memory. Where our device cannot access its device, it is mapped in that device's primary context: for copies, which the
 * driver then stages through host memory. */
struct mapping {
    CUdeviceptr at;    /* of the whole allocation */
    uint64_t offset;   /* of the peer's memory in it */
    CUdevice device;
    CUcontext context; /* of the device; NULL: mapped in ours */
    size_t bytes;      /* of memory of cuda_virtual.h; else 0 */
    struct mapping *next;
};
static struct mapping *mappings;

/* ---- streams ------------------------------------------------------------------------------------------------------ */

static int make_streams(void)
{
    int least, greatest = 0;
    CUresult r = SHI_CU(cuCtxGetStreamPriorityRange(&least, &greatest));
    for (int i = 0; !r && i < COPIERS; i++)
        r = SHI_CU(cuStreamCreateWithPriority(&copiers[i].stream, CU_STREAM_NON_BLOCKING, greatest));
    for (int i = 0; !r && i < SHI_DEVICE_QUEUES; i++) {
        r = SHI_CU(cuStreamCreateWithPriority(&queues[i].stream, CU_STREAM_NON_BLOCKING, greatest));
        for (int k = 0; !r && k < SHI_MARKS; k++)
            r = SHI_CU(cuEventCreate(&queues[i].event[k], CU_EVENT_DISABLE_TIMING));
    }
    return r ? shi_cuda_failed("cuStreamCreate", r) : 0;
}

static void drop_stream(CUstream *s)
{
    if (*s)
        SHI_CU(cuStreamDestroy(*s));
    *s = NULL;
}

static int make_bounces(void)
{
    int err = 0;
    for (int i = 0; !err && i < COPIERS; i++)
        err = shi_cuda_alloc_shared(BOUNCE_BYTES, (void **)&copiers[i].bounce);
    for (int i = 0; !err && i < SHI_DEVICE_QUEUES; i++)
        err = shi_cuda_alloc_shared(BOUNCE_BYTES, (void **)&queues[i].bounce);
    return err;
}

static void drop_event(CUevent *e)
{
    if (*e)
        SHI_CU(cuEventDestroy(*e));
    *e = NULL;
}

static void drop_streams(void)
{
    for (int i = 0; i < COPIERS; i++)
        drop_stream(&copiers[i].stream);
    for (int i = 0; i < SHI_DEVICE_QUEUES; i++) {
        drop_stream(&queues[i].stream);
        for (int k = 0; k < SHI_MARKS; k++)
            drop_event(&queues[i].event[k]);
        queues[i] = (struct queue){0};
    }
}

static void drop_pinned(void)
{
    for (struct pinned *p; (p = pinned); free(p)) {
        pinned = p->next;
        SHI_CU(cuMemFreeHost(p->at));
    }
    shi_places_down();
}

int shi_cuda_memory_up(void)
{
    int err = make_streams();
    if (!err)
        err = make_bounces();
    if (err)
        shi_cuda_memory_down();
    return err;
}

void shi_cuda_memory_down(void)
{
    drop_pinned();
    drop_streams();
}

/* ---- allocations -------------------------------------------------------------------------------------------------- */

/* Copies and fills by which the program changes the memory itself: those that wait for their end do so within a device, too, before
 * the network or another stream reads the data. */
static int synchronise_copies(CUdeviceptr at)
{
    const unsigned on = 1;
    CUresult r = SHI_CU(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, at));
    return r ? shi_cuda_failed("cuPointerSetAttribute (SYNC_MEMOPS)", r) : 0;
}

int shi_cuda_alloc(size_t bytes, void **addr)
{
    CUdeviceptr at;
    CUresult r = SHI_CU(cuMemAlloc(&at, (bytes + PAGE_BYTES - 1) & -(size_t)PAGE_BYTES));
    if (r)
        return shi_cuda_failed("cuMemAlloc (SHMEM_DEVICE_SYMMETRIC_SIZE)", r);
    int err = synchronise_copies(at);
    if (err) {
        SHI_CU(cuMemFree(at));
        return err;
    }
    *addr = (void *)at;
    shi_places_learn(*addr, bytes, SHI_PLACE_OWN);
    return 0;
}

int shi_cuda_adopt(void *addr, size_t bytes)
{
    CUdeviceptr at = (CUdeviceptr)addr, base = 0;
    size_t all = 0;
    int device = -1, here = 0, mapped = shi_cuda_is_virtual(addr, &here);
    if (!mapped)
        here = !SHI_CU(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at)) && device == shi_cuda.device;
    if (!here || SHI_CU(cuMemGetAddressRange(&base, &all, at)) || bytes > all - (at - base)) {
        shi_log_error("CUDA: %zu bytes at %p are not memory of one allocation on device %d", bytes, addr, shi_cuda.device);
        return -EINVAL;
    }
    if (mapped && base != at) {
        shi_log_error("CUDA: %p is not where its mapping begins (cuMemMap)", addr);
        return -EINVAL;
    }
    int err = mapped ? 0 : synchronise_copies(at); /* CUDA sets SYNC_MEMOPS for memory of cuMemAlloc */
    if (!err)
        shi_places_learn(addr, bytes, SHI_PLACE_OWN);
    return err;
}

void shi_cuda_disown(void *addr)
{
    shi_places_forget(addr);
}

void shi_cuda_release(void *addr)
{
    shi_places_forget(addr);
    SHI_CU(cuMemFree((CUdeviceptr)addr));
}

/* With unified addressing, pinned memory has the same address on the host and on every device. */
int shi_cuda_alloc_shared(size_t bytes, void **addr)
{
    struct pinned *p = malloc(sizeof *p);
    void *at;
    if (!p)
        return -ENOMEM;
    CUresult r = SHI_CU(cuMemHostAlloc(&at, bytes, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
    if (r) {
        free(p);
        return shi_cuda_failed("cuMemHostAlloc", r);
    }
    memset(at, 0, bytes);
    *p = (struct pinned){.at = at, .next = pinned};
    pinned = p;
    shi_places_learn(at, bytes, SHI_PLACE_PINNED);
    *addr = at;
    return 0;
}

/* ---- peers -------------------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(CUipcMemHandle) <= sizeof((struct shi_device_share *)0)->handle, "a handle fits");

static int share_by_handle(void *addr, struct shi_device_share *out)
{
    CUipcMemHandle h;
    CUdeviceptr base;
    CUresult r = SHI_CU(cuMemGetAddressRange(&base, NULL, (CUdeviceptr)addr));
    if (!r)
        r = SHI_CU(cuIpcGetMemHandle(&h, base));
    if (r)
        return shi_cuda_failed("cuIpcGetMemHandle, by which PEs of a node map each other's device memory,", r);
    memcpy(out->handle, &h, sizeof h);
    out->offset = (CUdeviceptr)addr - base;
    return 0;
}

int shi_cuda_share(void *addr, struct shi_device_share *out)
{
    int here, err = shi_cuda_is_virtual(addr, &here) ? shi_cuda_virtual_share(addr, out) : share_by_handle(addr, out);
    if (err)
        return err;
    if (shi_cu.cuDeviceGetPCIBusId(out->device, sizeof out->device, shi_cuda.device))
        out->device[0] = 0;
    out->pid = getpid();
    return 0;
}

/* The index of the device, or -1: not visible here. */
static int index_of(const char *wanted)
{
    char id[32];
    for (int i = 0; i < shi_cuda.n_devices; i++) {
        shi_cuda_identify(i, id, sizeof id);
        if (strcmp(id, wanted) == 0)
            return i;
    }
    return -1;
}

/* Map the handle in the primary context of its owner's device, if that is another one and visible here. 0 or -errno, not
 * logged. */
static int map_far(const char *owner, CUipcMemHandle h, struct mapping *m)
{
    int i = index_of(owner);
    if (i < 0 || shi_cu.cuDeviceGet(&m->device, i) || m->device == shi_cuda.device ||
        shi_cu.cuDevicePrimaryCtxRetain(&m->context, m->device))
        return -ENODEV;
    if (SHI_CU_OF(m->context, cuIpcOpenMemHandle(&m->at, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS))) {
        shi_cu.cuDevicePrimaryCtxRelease(m->device);
        m->context = NULL;
        return -ENODEV;
    }
    return 0;
}

static void unmap(const struct mapping *m)
{
    if (m->bytes) {
        shi_cuda_virtual_unmap(m->at, m->bytes);
    } else if (m->context) {
        SHI_CU_OF(m->context, cuIpcCloseMemHandle(m->at));
        shi_cu.cuDevicePrimaryCtxRelease(m->device);
    } else {
        SHI_CU(cuIpcCloseMemHandle(m->at));
    }
}

static int map_by_handle(const struct shi_device_share *s, struct mapping *m, int *copies_only)
{
    CUipcMemHandle h;
    memcpy(&h, s->handle, sizeof h);
    CUresult r = SHI_CU(cuIpcOpenMemHandle(&m->at, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
    *copies_only = r && map_far(s->device, h, m) == 0;
    if (r && !*copies_only && index_of(s->device) < 0)
        return shi_device_not_visible(s->pid, s->device, "CUDA_VISIBLE_DEVICES");
    if (r && !*copies_only)
        return shi_cuda_failed("cuIpcOpenMemHandle, for a peer's device memory (SHMEM_TRANSPORT=ofi does without),", r);
    if (*copies_only)
        shi_log_debug("the device cannot access the memory of device %s (error %d): copies only", s->device, r);
    return 0;
}

/* A process cannot open a handle that it made. */
int shi_cuda_map(const struct shi_device_share *s, size_t bytes, void **addr, int *copies_only)
{
    struct mapping m = {.offset = s->offset, .bytes = shi_cuda_virtual_is(s) ? bytes : 0, .next = mappings}, *kept;
    char id[sizeof s->device] = "";
    *copies_only = 0;
    if (s->pid == getpid()) {
        shi_log_error("CUDA: a process cannot map its own device memory");
        return -EINVAL;
    }
    int err = m.bytes ? shi_cuda_virtual_map(s, bytes, &m.at) : map_by_handle(s, &m, copies_only);
    if (err)
        return err;
    if (!(kept = malloc(sizeof *kept))) {
        unmap(&m);
        return -ENOMEM;
    }
    *kept = m;
    mappings = kept;
    *addr = (void *)(m.at + m.offset);
    shi_cu.cuDeviceGetPCIBusId(id, sizeof id, shi_cuda.device);
    shi_places_learn(*addr, bytes, strcmp(id, s->device) ? SHI_PLACE_OTHER : SHI_PLACE_OWN);
    return 0;
}

void shi_cuda_unmap(void *addr)
{
    struct mapping **m = &mappings, *gone;
    shi_places_forget(addr);
    while (*m && (*m)->at + (*m)->offset != (CUdeviceptr)addr)
        m = &(*m)->next;
    if (!(gone = *m))
        return;
    *m = gone->next;
    unmap(gone);
    free(gone);
}

/* A dma-buf of the pages in which the memory lies, since the driver takes whole pages only, and the memory's offset in it. -1: there
 * is none. */
static int dma_buf(CUdeviceptr at, size_t bytes, uint64_t *off)
{
    CUdeviceptr page = (CUdeviceptr)sysconf(_SC_PAGESIZE), begin = at & -page, end = (at + bytes + page - 1) & -page;
    int fd = -1;
    *off = at - begin;
    if (!shi_cu.cuMemGetHandleForAddressRange || !shi_cuda_attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED) ||
        SHI_CU(cuMemGetHandleForAddressRange(&fd, begin, end - begin, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0)))
        return -1;
    return fd;
}

/* Kernels of the owner see a NIC's data in order, unless the device says otherwise. */
int shi_cuda_export_memory(void *addr, size_t bytes, struct shi_device_memory *out)
{
    *out = (struct shi_device_memory){.interface = SHI_DEVICE_MEMORY_CUDA, .index = shi_cuda.device,
                                      .late = shi_cuda_attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING) <
                                              CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER};
    out->fd = dma_buf((CUdeviceptr)addr, bytes, &out->fd_off);
    return 0;
}

/* ---- copies ------------------------------------------------------------------------------------------------------- */

/* Make our context current for several calls; the pair of leave. */
static CUresult enter(void)
{
    return shi_cu.cuCtxPushCurrent(shi_cuda.context);
}

static void leave(void)
{
    CUcontext gone;
    shi_cu.cuCtxPopCurrent(&gone);
}

/* Start a copy in the stream, through `bounce` unless that is NULL: the stream's order protects it. Our context is current. */
static CUresult start(CUstream stream, char *bounce, void *to, const void *from, size_t bytes)
{
    CUresult r = CUDA_SUCCESS;
    if (!bounce)
        return shi_cu.cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
    for (size_t done = 0, n; !r && done < bytes; done += n) {
        n = bytes - done < BOUNCE_BYTES ? bytes - done : BOUNCE_BYTES;
        r = shi_cu.cuMemcpyAsync((CUdeviceptr)bounce, (CUdeviceptr)from + done, n, stream);
        if (!r)
            r = shi_cu.cuMemcpyAsync((CUdeviceptr)to + done, (CUdeviceptr)bounce, n, stream);
    }
    return r;
}

static struct copier *take_copier(void)
{
    for (int i = 0;; i = (i + 1) % COPIERS) {
        int unused = 0;
        if (__atomic_compare_exchange_n(&copiers[i].in_use, &unused, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return &copiers[i];
        if (i == COPIERS - 1)
            sched_yield();
    }
}

int shi_cuda_copy(void *to, const void *from, size_t bytes)
{
    struct copier *c = take_copier();
    int within = shi_places_find(to) == SHI_PLACE_OWN && shi_places_find(from) == SHI_PLACE_OWN && shi_cuda_busy();
    CUresult r = enter();
    if (!r) {
        r = start(c->stream, within ? c->bounce : NULL, to, from, bytes);
        if (!r)
            r = shi_cu.cuStreamSynchronize(c->stream);
        leave();
    }
    __atomic_store_n(&c->in_use, 0, __ATOMIC_RELEASE);
    return r ? shi_cuda_failed("cuMemcpyAsync", r) : 0;
}

/* The driver fills by a kernel: as for copies, not while kernels run. */
int shi_cuda_clear(void *addr, size_t bytes)
{
    static const char zeros[65536];
    if (shi_cuda_busy()) {
        int err = 0;
        for (size_t done = 0; !err && done < bytes; done += sizeof zeros)
            err = shi_cuda_copy((char *)addr + done, zeros, bytes - done < sizeof zeros ? bytes - done : sizeof zeros);
        return err;
    }
    struct copier *c = take_copier();
    CUresult r = SHI_CU(cuMemsetD8Async((CUdeviceptr)addr, 0, bytes, c->stream));
    if (!r)
        r = SHI_CU(cuStreamSynchronize(c->stream));
    __atomic_store_n(&c->in_use, 0, __ATOMIC_RELEASE);
    return r ? shi_cuda_failed("cuMemsetD8Async", r) : 0;
}

/* Through the bounce buffer where both sides are memory of this device; of unknown memory: the program's, probably of the device. */
static int is_within(const struct shi_device_copy *c)
{
    enum shi_place t = shi_places_find(c->to), f = shi_places_find(c->from);
    return t != SHI_PLACE_PINNED && t != SHI_PLACE_OTHER && f != SHI_PLACE_PINNED && f != SHI_PLACE_OTHER;
}

/* Place an event behind what has been started, if one is free. Our context is current. */
static CUresult mark(struct queue *q)
{
    int i = shi_marks_place(&q->marks);
    CUresult r = i < 0 ? CUDA_SUCCESS : shi_cu.cuEventRecord(q->event[i], q->stream);
    if (i >= 0 && !r)
        shi_marks_placed(&q->marks);
    return r;
}

/* A stream makes its copies in order, also those that need not be. */
int shi_cuda_copies_start(enum shi_device_queue which, const struct shi_device_copy *c, int n)
{
    struct queue *q = &queues[which];
    CUresult r = enter();
    if (r)
        return shi_cuda_failed("cuCtxPushCurrent", r);
    for (int i = 0; !r && i < n; i++)
        r = start(q->stream, is_within(&c[i]) ? q->bounce : NULL, c[i].to, c[i].from, c[i].bytes);
    q->marks.started += r ? 0 : (uint64_t)n;
    if (!r)
        r = mark(q);
    leave();
    return r ? shi_cuda_failed("cuMemcpyAsync, for a request,", r) : 0;
}

int shi_cuda_copies_ended(enum shi_device_queue which, uint64_t *n)
{
    struct queue *q = &queues[which];
    CUresult r = q->marks.ended == q->marks.started ? CUDA_SUCCESS : enter();
    *n = q->marks.ended;
    if (r || *n == q->marks.started)
        return r ? shi_cuda_failed("cuCtxPushCurrent", r) : 0;
    for (int i; !r && (i = shi_marks_first(&q->marks)) >= 0;) {
        r = shi_cu.cuEventQuery(q->event[i]);
        if (!r)
            shi_marks_passed(&q->marks);
    }
    if (!r || r == CUDA_ERROR_NOT_READY)
        r = mark(q);
    leave();
    *n = q->marks.ended;
    return r ? shi_cuda_failed("cuEventQuery, for requests,", r) : 0;
}
