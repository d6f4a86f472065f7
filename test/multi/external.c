/*
 * external.c - the program's own device memory becomes the device symmetric heap; Intel SHMEM uses this.
 *
 * With -DCUDA=1 the program allocates CUDA memory, always on device 0. Its argument is the device number that it passes to
 * shmemx_heap_create, by default 0; another number is an error that a test expects.
 */
#include "../tap_pes.h"

#include <dlfcn.h>
#include <shmemx.h>

#ifdef CUDA
#include "device/cuda_driver.h"

enum { HEAP = SHMEMX_EXTERNAL_HEAP_CUDA };
static CUdeviceptr allocated;
static CUcontext context; /* current while the program calls CUDA, as the library expects no context */
#define X(call, params) static CUresult(*call) params;
X(cuInit, (unsigned flags))
X(cuDevicePrimaryCtxRetain, (CUcontext * context, CUdevice device))
X(cuDevicePrimaryCtxRelease, (CUdevice device))
X(cuCtxPushCurrent, (CUcontext context))
X(cuCtxPopCurrent, (CUcontext * context))
X(cuMemAlloc, (CUdeviceptr * at, size_t bytes))
X(cuMemFree, (CUdeviceptr at))
#undef X

static void need(int so)
{
    if (so)
        return;
    printf("Bail out! CUDA's memory cannot be allocated\n");
    exit(1);
}

static char *allocate(size_t bytes)
{
    const char *device = getenv("SHMEM_DEVICE");
    void *so = dlopen(device && !strcmp(device, "cuda-cpu") ? "libcuda_cpu.so" : "libcuda.so.1", RTLD_NOW), *at;
    cuGetProcAddress_v2_t *get = so ? (cuGetProcAddress_v2_t *)dlsym(so, "cuGetProcAddress_v2") : NULL;
    need(get != NULL);
#define X(call) need(!get(#call, &at, CU_API_VERSION, 0, NULL)); call = (__typeof__(call))at;
    X(cuInit) X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxPushCurrent) X(cuCtxPopCurrent) X(cuMemAlloc)
    X(cuMemFree)
#undef X
    need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxPushCurrent(context) && !cuMemAlloc(&allocated, bytes) &&
         !cuCtxPopCurrent(&context));
    return (char *)allocated;
}

static void give_back(void)
{
    CHECK(!cuCtxPushCurrent(context) && !cuMemFree(allocated) && !cuCtxPopCurrent(&context) && !cuDevicePrimaryCtxRelease(0));
}
#else
#include "../ze_cpu/zt.h"

enum { HEAP = SHMEMX_EXTERNAL_HEAP_ZE };
static void *allocated;

static char *allocate(size_t bytes)
{
    ze_device_mem_alloc_desc_t d = {.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC};
    zt_up();
    ZE(zeMemAllocDevice(zt_context, &d, bytes, 1 << 16, zt_device, &allocated));
    return allocated;
}

static void give_back(void)
{
    ZE(zeMemFree(zt_context, allocated));
}
#endif

enum { WORDS = (1 << 16) - 3, BEFORE = 1 << 17 }; /* WORDS: not a multiple of the allocator's unit; BEFORE: bytes */
static long *ours; /* WORDS words of the device */
static int provided, device;

/* Catches: a heap that PEs cannot reach, that is shifted by data of the library, or that ends too early. */
static void transfers(void)
{
    static long sent[WORDS], got[WORDS];
    for (int i = 0; i < WORDS; i++)
        sent[i] = me * 1000000L + i;
    shmem_long_put(ours, sent, WORDS, next_pe());
    shmem_barrier_all();
    shmem_long_get(got, ours, WORDS, me);
    for (int i = 0; i < WORDS; i++)
        CHECKF(got[i] == (me + n_pes - 1) % n_pes * 1000000L + i, "word %d", i);
    shmem_barrier_all();
    long *last = ours + WORDS - 1;
    shmem_long_p(last, 5, next_pe());
    shmem_barrier_all();
    CHECK(shmem_long_g(last, me) == 5 && shmem_addr_accessible(last, next_pe()) && !shmem_addr_accessible(last + 1, me));
}

/* Catches: memory of the program that the network reads or writes at other places than the device's, as the source and the dest of a
 * put and of a message that its receiver fetches. */
static void from_device(void)
{
    enum { HALF = WORDS / 2, BYTES = HALF * (int)sizeof(long) };
    static long words[WORDS];
    int before = (me + n_pes - 1) % n_pes;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < HALF; i++)
            words[i] = round * 7 + me * 1000000L + i;
        shmem_long_put(ours, words, HALF, me);
        shmem_barrier_all();
        if (round == 0) {
            shmem_putmem(ours + HALF, ours, BYTES, next_pe());
        } else {
            shmemx_tag_request_t sent;
            shmemx_tag_isend(SHMEM_TEAM_WORLD, ours, BYTES, 3, next_pe(), &sent);
            shmemx_tag_recv(SHMEM_TEAM_WORLD, ours + HALF, BYTES, 3, ~(uint64_t)0, before, NULL);
            shmemx_tag_wait(&sent, NULL);
        }
        shmem_barrier_all();
        shmem_long_get(words, ours + HALF, HALF, me);
        for (int i = 0; i < HALF; i++)
            CHECKF(words[i] == round * 7 + before * 1000000L + i, "round %d, word %d: %ld", round, i, words[i]);
        shmem_barrier_all();
    }
}

/* Catches: the same for loads and stores of the host, where it can access the memory. */
static void updates(void)
{
    if (!shmem_ptr(ours, me))
        return;
    shmem_long_atomic_set(ours, 0, me);
    shmem_barrier_all();
    shmem_long_atomic_add(ours, me + 1, 0);
    shmem_uint8_put_signal((uint8_t *)(ours + 1), (uint8_t *)&me, 1, (uint64_t *)ours + 2, 9, SHMEM_SIGNAL_SET, next_pe());
    shmem_signal_wait_until((uint64_t *)ours + 2, SHMEM_CMP_EQ, 9);
    shmem_barrier_all();
    CHECK(shmem_long_atomic_fetch(ours, 0) == n_pes * (n_pes + 1) / 2);
    shmem_barrier_all();
    ours[4] = me;
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, ours + 5, ours + 4, 1);
    CHECK(ours[5] == n_pes * (n_pes - 1) / 2);
}

/* Catches: the program's memory reported as the library's, handles that dlsym does not find, an older name with another
 * type. */
static void around(void)
{
    CHECK(shmemg_malloc(8) == NULL);
    int on_node = 0, below = 0, *host = shmem_malloc(sizeof *host);
    for (int pe = 0; pe < n_pes; pe++)
        if (shmem_ptr(host, pe)) {
            on_node++;
            below += pe < me;
        }
    shmem_free(host);
    static const char *const names[] = {"SHMEM_TEAM_WORLD", "SHMEM_TEAM_SHARED", "SHMEMX_TEAM_NODE"};
    for (int i = 0; i < 3; i++) {
        shmem_team_t *handle = (shmem_team_t *)dlsym(RTLD_DEFAULT, names[i]);
        CHECKF(handle && shmem_team_n_pes(*handle) == (i ? on_node : n_pes) &&
                   shmem_team_my_pe(*handle) == (i ? below : me),
               "%s", names[i]);
    }
    static uint32_t from[4] = {1, 2, 3, 4}, to[8];
    shmemx_uint32_ibput(to, from, 3, 2, 2, 2, next_pe());
    shmem_barrier_all();
    CHECK(to[0] == 1 && to[1] == 2 && to[2] == 0 && to[3] == 3 && to[4] == 4);
    shmemx_uint32_sum_exscan(SHMEM_TEAM_WORLD, to + 5, from + 1, 1);
    CHECK(to[5] == 2u * (unsigned)me);
    shmemx_uint32_sum_inscan(SHMEM_TEAM_WORLD, to + 5, from + 1, 1);
    CHECK(to[5] == 2u * (unsigned)me + 2);
}

static void begin(void)
{
    CHECK(provided == SHMEM_THREAD_MULTIPLE && shmem_n_pes() == n_pes); /* before the heap exists */
    shmemx_heap_create(ours, WORDS * sizeof *ours, HEAP, device);
    shmemx_heap_postinit();
}

/* Catches: a session that keeps the memory of the previous one. */
static void afterwards(void)
{
    long *p = shmemg_calloc(4, sizeof *p);
    CHECK(p && !(p >= ours && p < ours + WORDS) && !shmem_addr_accessible(ours, me));
    if (p)
        shmem_long_p(p, 1, next_pe());
    shmemg_free(p);
    give_back(); /* it is still the program's; freed sooner, its addresses could become the library's */
}

int main(int argc, char **argv)
{
    device = argc > 1 ? atoi(argv[1]) : 0;
    /* The heap lies inside the allocation: another process maps all of it. */
    ours = (long *)(allocate(BEFORE + WORDS * sizeof *ours) + BEFORE);
    shmemx_heap_preinit_thread(SHMEM_THREAD_MULTIPLE, &provided);
    tap_pes_begin();
    RUN(begin, "preinit, create, postinit");
    RUN(transfers, "put and get");
    RUN(from_device, "a put and a message between devices");
    RUN(updates, "atomics, signals, reductions");
    RUN(around, "handles, older names, shmemg_malloc");
    shmem_finalize();
    memset(&tap_sum_, 0, sizeof tap_sum_);
    shmemx_heap_preinit();
    tap_pes_begin();
    RUN(afterwards, "a session without external memory");
    int status = tap_end();
    shmem_finalize();
    return status;
}
