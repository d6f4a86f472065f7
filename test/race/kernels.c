/*
 * kernels.c - races of kernels, racy and mended, of the rules K of doc/memory-model.md; run by kernels.sh with 3 PEs.
 *
 * kernels CASE racy|mended runs one; without arguments it prints the cases: name, rule.
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <string.h>

static int me, mended;
static int *x, *y;
static uint64_t *flag, *other;
static volatile int sink;

static const int to_1 = 1, to_2 = 2;

/* Arguments: pointers to them, their sizes. */
#define LAUNCH(NAME, GROUPS, ITEMS, ...)                                                                             \
    do {                                                                                                             \
        const size_t groups_[3] = {GROUPS, 1, 1}, items_[3] = {ITEMS, 1, 1};                                         \
        void *args_[] = {__VA_ARGS__};                                                                               \
        size_t bytes_[sizeof args_ / sizeof *args_];                                                                 \
        for (size_t i_ = 0; i_ < sizeof args_ / sizeof *args_; i_++)                                                 \
            bytes_[i_] = args_[i_] == &x || args_[i_] == &y || args_[i_] == &flag || args_[i_] == &other ? 8 : 4;    \
        if (shmemx_launch(NAME, groups_, items_, args_, bytes_, sizeof args_ / sizeof *args_))                       \
            shmem_global_exit(3);                                                                                    \
    } while (0)
#define PE_1 ((void *)&to_1)
#define PE_2 ((void *)&to_2)

static void wait_for(uint64_t *word)
{
    shmem_signal_wait_until(word, SHMEM_CMP_EQ, 1);
}

static void k1_host_reads(void)
{
    if (me == 0)
        LAUNCH("write", 1, 1, &x);
    if (mended)
        shmemx_device_sync();
    if (me == 0)
        sink = *x;
}

static void k1_host_stores(void)
{
    if (me == 0 && mended)
        *x = 1;
    if (me == 0)
        LAUNCH("read", 1, 1, &x, &y);
    if (me == 0 && !mended)
        *x = 1;
}

static void k1_put(void)
{
    if (me == 0)
        LAUNCH("amo", 1, 1, &x, PE_1, &mended);
    if (mended) {
        shmemx_device_sync();
        shmem_barrier_all();
    }
    if (me == 1)
        sink = *x;
}

static void k1_peer_puts(void)
{
    if (me == 0)
        LAUNCH("read", 1, 1, &x, &y);
    if (mended)
        shmemx_device_sync();
    if (mended)
        shmem_sync_all();
    if (me == 1)
        shmem_int_p(x, 5, 0);
}

static void k2_groups(void)
{
    if (me == 0)
        LAUNCH("groups", 2, 1, &x, &y, &mended);
}

static void k2_launches(void)
{
    if (me == 0)
        LAUNCH("write", 1, 1, &x);
    if (me == 0 && mended)
        LAUNCH("read", 1, 1, &x, &y);
    if (me == 0 && !mended)
        LAUNCH("groups", 2, 1, &x, &y, &mended);
}

/* A put after a kernel, in the queue or by the host. */
static void k2_call(void)
{
    if (me == 0)
        LAUNCH("write", 1, 1, &x);
    if (me == 0 && mended)
        shmemx_putmem_on_queue(y, x, sizeof *x, 1);
    if (me == 0 && !mended)
        shmem_putmem(y, x, sizeof *x, 1);
}

/* Calls between kernels, and between kernels of two PEs. */
static void k2_barrier(void)
{
    if (me == 1)
        LAUNCH("write", 1, 1, &x);
    if (mended)
        shmemx_barrier_all_on_queue();
    if (me == 0)
        shmemx_getmem_on_queue(y, x, sizeof *x, 1);
    if (me == 0)
        LAUNCH("read", 1, 1, &y, &x);
}

static void k3_items(void)
{
    if (me == 0)
        LAUNCH("items", 1, 8, &x, &y, &mended);
}

static void k3_leader(void)
{
    if (me == 0)
        LAUNCH("leader", 1, 8, &x, &flag, PE_1, &mended);
    if (me == 1) {
        wait_for(flag);
        sink = shmem_int_g(x, 0);
    }
}

static void k3_waits(void)
{
    if (me == 0)
        shmem_int_put_signal(x, y, 1, flag, 1, SHMEM_SIGNAL_SET, 1);
    if (me == 1)
        LAUNCH("group_waits", 1, 4, &x, &other, &flag, &mended);
}

static void k3_group_puts(void)
{
    if (me == 0)
        LAUNCH("group_puts", 1, 4, &x, &y, PE_1, &mended);
}

static void k4_release(void)
{
    if (me == 0)
        LAUNCH("publish", 2, 1, &x, &y, &flag, &mended);
}

static void k4_fence(void)
{
    if (me == 0)
        LAUNCH("publish_by_fence", 2, 1, &x, &y, &flag, &mended);
}

static void k5_signal(void)
{
    if (me == 0)
        LAUNCH("put_signal", 1, 1, &x, &y, &flag, PE_1, &mended);
    if (me == 1) {
        wait_for(flag);
        sink = *x;
    }
}

static void k5_fence(void)
{
    if (me == 0)
        LAUNCH("put_flag", 1, 1, &x, &flag, PE_1, &mended);
    if (me == 1) {
        shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, 1);
        sink = *x;
    }
}

static void k5_quiet(void)
{
    if (me == 0)
        LAUNCH("put_and_tell", 1, 1, &x, &flag, PE_1, PE_2, &mended);
    if (me == 2) {
        shmem_uint64_wait_until(flag, SHMEM_CMP_EQ, 1);
        sink = shmem_int_g(x, 1);
    }
}

static void k5_puts(void)
{
    if (me == 0)
        LAUNCH("put_put", 1, 1, &x, PE_1, &mended);
}

static void k5_get(void)
{
    if (me == 0)
        LAUNCH("put_get", 1, 1, &x, &y, PE_1, &mended);
}

static void k5_source(void)
{
    if (me == 0)
        LAUNCH("source", 1, 1, &x, &y, PE_1, &mended);
}

static void k5_atomic(void)
{
    if (me == 0)
        LAUNCH("amo", 1, 1, &x, PE_1, &mended);
    if (me == 2)
        shmem_int_atomic_add(x, 1, 1);
}

static void k5_sync(void)
{
    LAUNCH("put_sync_read", 1, 1, &x, &y, PE_1, &mended);
}

static void k6_kernels(void)
{
    static const int yes = 1;
    if (me == 0)
        LAUNCH("put_signal", 1, 1, &x, &y, &flag, PE_1, (void *)&yes);
    if (me == 1)
        LAUNCH("wait_and_read", 1, 1, &x, &y, &flag, &mended);
}

static void k6_direct(void)
{
    if (me == 0)
        LAUNCH("direct", 1, 1, &x, PE_1);
    if (mended) {
        shmemx_device_sync();
        shmem_barrier_all();
    }
    if (me == 1)
        sink = *x;
}

static const struct {
    const char *name, *rule;
    void (*run)(void);
} cases[] = {
    {"k1_host_reads", "K1", k1_host_reads},
    {"k1_host_stores", "K1", k1_host_stores},
    {"k1_put", "K1", k1_put},
    {"k1_peer_puts", "K1", k1_peer_puts},
    {"k2_groups", "K2", k2_groups},
    {"k2_launches", "K2", k2_launches},
    {"k2_call", "K2", k2_call},
    {"k2_barrier", "K2", k2_barrier},
    {"k3_items", "K3", k3_items},
    {"k3_leader", "K3", k3_leader},
    {"k3_waits", "K3", k3_waits},
    {"k3_group_puts", "K3", k3_group_puts},
    {"k4_release", "K4", k4_release},
    {"k4_fence", "K4", k4_fence},
    {"k5_signal", "K5", k5_signal},
    {"k5_fence", "K5", k5_fence},
    {"k5_quiet", "K5", k5_quiet},
    {"k5_puts", "K5", k5_puts},
    {"k5_get", "K5", k5_get},
    {"k5_source", "K5", k5_source},
    {"k5_atomic", "K5", k5_atomic},
    {"k5_sync", "K5", k5_sync},
    {"k6_kernels", "K6", k6_kernels},
    {"k6_direct", "K6", k6_direct},
};

int main(int argc, char **argv)
{
    enum { CASES = sizeof cases / sizeof *cases, BLOCK = 64 };
    for (int i = 0; i < CASES && argc < 3; i++)
        printf("%s %s\n", cases[i].name, cases[i].rule);
    if (argc < 3)
        return 0;
    mended = strcmp(argv[2], "mended") == 0;
    shmem_init();
    me = shmem_my_pe();
    x = shmemg_calloc(BLOCK, 1), y = shmemg_calloc(BLOCK, 1);
    flag = shmemg_calloc(BLOCK, 1), other = shmemg_calloc(BLOCK, 1);
    for (int i = 0; i < CASES; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            cases[i].run();
    shmemx_device_sync();
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
