/*
 * sycl.cpp - races of kernels in SYCL, with calls of Intel SHMEM in kernels and on queues. sycl CASE racy|mended; without arguments: the cases.
 */
#include <ishmem.h>
#include <ishmemx.h>

#include <cstdio>
#include <cstring>

static int *x, me, mended;
static uint64_t *flag;
static volatile int sink;

static sycl::event store(sycl::queue &q, int value)
{
    int *at = x;
    return q.single_task([=] { *at = value; });
}

/* The host's load after a kernel's store. */
static void host(sycl::queue &a, sycl::queue &b)
{
    sycl::event last = store(a, 4);
    if (mended)
        last.wait();
    sink = *x;
    store(b, 5);
    if (mended)
        b.wait();
    sink = *x;
}

/* Kernels of two queues. */
static void queues(sycl::queue &a, sycl::queue &b)
{
    sycl::event first = store(a, 4);
    if (mended)
        first.wait();
    store(b, 5);
    a.wait();
    b.wait();
}

/* The work-items of a group. */
static void items(sycl::queue &a, sycl::queue &)
{
    int *at = x, meet = mended;
    a.parallel_for(sycl::nd_range<1>{4, 4}, [=](sycl::nd_item<1> item) {
         if (item.get_local_id(0) == 1)
             at[1] = 4;
         if (meet)
             sycl::group_barrier(item.get_group());
         if (item.get_local_id(0) == 2)
             at[2] = at[1];
     }).wait();
}

/* A kernel's put, and the store of another PE's kernel. */
static void pes(sycl::queue &a, sycl::queue &)
{
    int *at = x;
    if (me == 0)
        a.single_task([=] {
            ishmem_int_p(at, 5, 1);
        });
    a.wait();
    if (mended)
        ishmem_barrier_all();
    if (me == 1)
        store(a, 4);
    a.wait();
}

/* A kernel's flag without a fence. */
static void fence(sycl::queue &a, sycl::queue &)
{
    int *at = x, fenced = mended;
    uint64_t *sig = flag;
    if (me == 0)
        a.single_task([=] {
            ishmem_int_p(at, 5, 1);
            if (fenced)
                ishmem_fence();
            ishmem_uint64_atomic_set(sig, 1, 1);
        });
    if (me == 1)
        a.single_task([=] {
            ishmem_signal_wait_until(sig, ISHMEM_CMP_EQ, 1);
            *at += 1;
        });
    a.wait();
}

/* A put on a queue, and the store of a kernel of the target. */
static void on_queue(sycl::queue &a, sycl::queue &)
{
    if (me == 0)
        ishmemx_int_put_on_queue(x, x + 8, 1, 1, a);
    if (mended)
        ishmemx_barrier_all_on_queue(a);
    if (me == 1)
        store(a, 4);
    a.wait();
}

static const struct {
    const char *name;
    void (*run)(sycl::queue &a, sycl::queue &b);
} program[] = {{"host", host}, {"queues", queues}, {"items", items}, {"pes", pes}, {"fence", fence}, {"on_queue", on_queue}};

int main(int argc, char **argv)
{
    for (const auto &p : program)
        if (argc < 3)
            puts(p.name);
    if (argc < 3)
        return 0;
    mended = strcmp(argv[2], "mended") == 0;
    ishmem_init();
    me = ishmem_my_pe();
    x = (int *)ishmem_calloc(16, sizeof *x), flag = (uint64_t *)ishmem_calloc(1, sizeof *flag);
    sycl::queue a{sycl::property::queue::in_order{}}, b;
    for (const auto &p : program)
        if (strcmp(p.name, argv[1]) == 0)
            p.run(a, b);
    ishmem_barrier_all();
    ishmem_finalize();
    return 0;
}
