/*
 * litmus.c - a racy and a mended program for each rule of doc/memory-model.md; run by litmus.sh with 3 PEs.
 *
 * litmus CASE racy|mended runs one; without arguments it prints the cases: name, rule. The object that races is `x`, a static variable,
 * unless the name of the case ends with _private or _heap.
 */
#include <pthread.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "litmus.h"

static int x, y;
static long n;
static double d;
static uint64_t flag, other;
static long lock;
static int sums[4], parts[4];
int me, mended;
static volatile int sink;

static void read_x(void)
{
    sink = x;
}

/* ---- conflicts ------------------------------------------------------------------------------------------------------ */

static void c1(void)
{
    int one = 1;
    if (me == 0)
        shmem_int_put(&x, &one, 1, 1);
    if (me == 1 && !mended)
        read_x();
    if (me == 1 && mended)
        sink = y;
}

static void c2(void)
{
    if (me == 0)
        shmem_int_atomic_add(&x, 1, 1);
    if (me == 2 && !mended)
        shmem_int_p(&x, 5, 1);
    if (me == 2 && mended)
        shmem_int_atomic_add(&x, 5, 1);
}

static void c2_type_d(void)
{
    if (me == 0)
        shmem_double_atomic_set(&d, 1, 1);
    if (me == 2 && !mended)
        shmem_long_atomic_set((long *)&d, 1, 1);
    if (me == 2 && mended)
        shmem_double_atomic_set(&d, 2, 1);
}

static void c2_domain(void)
{
    shmem_team_t all;
    shmem_ctx_t of_all;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, shmem_n_pes(), NULL, 0, &all);
    shmem_team_create_ctx(all, 0, &of_all);
    if (me == 0)
        shmem_int_atomic_add(&x, 1, 1);
    if (me == 2)
        shmem_ctx_int_atomic_add(mended ? SHMEM_CTX_DEFAULT : of_all, &x, 1, 1);
    shmem_ctx_destroy(of_all);
    shmem_team_destroy(all);
}

static void c3_source_private(void)
{
    int value = 1;
    if (me == 0) {
        shmem_int_put_nbi(&x, &value, 1, 1);
        if (mended)
            shmem_quiet();
        value = 2;
        sink = value;
        shmem_quiet();
    }
}

static void c3_dest(void)
{
    if (me == 0) {
        shmem_int_get_nbi(&x, &y, 1, 1);
        if (mended)
            shmem_quiet();
        read_x();
    }
}

static void c4(void)
{
    if (me == 0)
        shmem_int_atomic_set(&x, 1, 1);
    if (me == 1 && mended)
        shmem_int_wait_until(&x, SHMEM_CMP_EQ, 1);
    while (me == 1 && !mended && *(volatile int *)&x != 1)
        ;
}

/* ---- order ---------------------------------------------------------------------------------------------------------- */

static void o1(void)
{
    int one = 1;
    if (me == 0) {
        if (mended)
            shmem_int_get(&one, &x, 1, 1);
        shmem_int_put(&x, &one, 1, 1);
        if (!mended)
            shmem_int_get(&one, &x, 1, 1);
    }
}

static void o2(void)
{
    int one = 1;
    if (me == 0) {
        shmem_int_put(&x, &one, 1, 1);
        if (mended)
            shmem_quiet();
        else
            shmem_fence();
        sink = shmem_int_g(&x, 1);
    }
}

static void o3(void)
{
    if (me == 0) {
        shmem_int_p(&x, 1, 1);
        if (mended)
            shmem_fence();
        shmem_int_p(&x, 2, 1);
    }
}

static void o3_get(void)
{
    if (me == 0) {
        shmem_int_get_nbi(&y, &x, 1, 1);
        if (mended)
            shmem_quiet();
        else
            shmem_fence();
        shmem_int_p(&x, 2, 1);
    }
}

/* The fence is for what goes to PE 1, the flag goes to PE 2. */
static void o3_target(void)
{
    if (me == 0) {
        shmem_int_p(&x, 1, 1);
        if (mended)
            shmem_quiet();
        else
            shmem_fence();
        shmem_uint64_atomic_set(&flag, 1, 2);
    }
    if (me == 2) {
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, 1);
        sink = shmem_int_g(&x, 1);
    }
}

static void o4(void)
{
    if (me == 0)
        shmem_int_p(&x, 1, 1);
    if (mended)
        shmem_barrier_all();
    if (me == 1)
        read_x();
}

static void o5(void)
{
    if (me == 0)
        shmem_int_p(&x, 1, 1);
    if (mended)
        shmem_quiet();
    shmem_sync_all();
    if (me == 1)
        read_x();
}

static void o5_store(void)
{
    if (me == 1)
        x = 1;
    if (mended)
        shmem_sync_all();
    if (me == 0)
        sink = shmem_int_g(&x, 1);
}

/* A nonblocking one orders from its call to the end of the wait. */
static void o5_request(void)
{
    shmemx_req_t req, sum;
    if (me == 1)
        x = 3;
    shmemx_sync_nb(SHMEM_TEAM_WORLD, &req);
    shmemx_int_sum_reduce_nb(SHMEM_TEAM_WORLD, sums, parts, 1, &sum);
    if (mended)
        shmemx_req_wait(&req);
    if (me == 0)
        sink = shmem_int_g(&x, 1);
    while (!shmemx_req_test(&sum))
        ;
}

static void o6(void)
{
    if (me == 0) {
        shmem_int_p(&x, 1, 1);
        if (mended)
            shmem_fence();
        shmem_uint64_p(&flag, 1, 1);
    }
    if (me == 1) {
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, 1);
        read_x();
        flag = 0;
    }
}

static void o6_test(void)
{
    if (me == 0) {
        shmem_int_p(&x, 1, 1);
        shmem_fence();
        shmem_uint64_atomic_set(&flag, 1, 1);
    }
    if (me == 1) {
        if (!mended)
            read_x();
        while (!shmem_uint64_test(&flag, SHMEM_CMP_EQ, 1))
            ;
        read_x();
    }
}

/* PE 2 is after PE 0 through PE 1. */
static void o6_chain(void)
{
    if (me == 0) {
        x = 1;
        if (mended)
            shmem_uint64_atomic_set(&flag, 1, 1);
        else
            shmem_uint64_atomic_set(&other, 1, 1);
    }
    if (me == 1) {
        shmem_uint64_wait_until(mended ? &flag : &other, SHMEM_CMP_EQ, 1);
        shmem_uint64_atomic_set(&flag, 2, 2);
    }
    if (me == 2) {
        if (mended)
            shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, 2);
        sink = shmem_int_g(&x, 0);
    }
}

static void o7(void)
{
    int one = 1;
    if (me == 0) {
        if (!mended)
            shmem_int_p(&x, 1, 1);
        shmem_int_put_signal(mended ? &x : &y, &one, 1, &flag, 1, SHMEM_SIGNAL_SET, 1);
    }
    if (me == 1) {
        shmem_signal_wait_until(&flag, SHMEM_CMP_EQ, 1);
        read_x();
    }
}

/* Two signals: each is for its own data. */
static void o7_two(void)
{
    int one = 1;
    if (me == 0) {
        shmem_int_put_signal(&x, &one, 1, &flag, 1, SHMEM_SIGNAL_SET, 1);
        shmem_int_put_signal(&y, &one, 1, &other, 1, SHMEM_SIGNAL_SET, 1);
    }
    if (me == 1) {
        shmem_signal_wait_until(mended ? &flag : &other, SHMEM_CMP_EQ, 1);
        read_x();
    }
}

/* The answer says that the put was delivered, so that its source was read. */
static void o7_answer(void)
{
    if (me == 0) {
        x = 7;
        shmem_int_put_signal_nbi(&y, &x, 1, &flag, 1, SHMEM_SIGNAL_SET, 1);
        if (mended)
            shmem_signal_wait_until(&other, SHMEM_CMP_EQ, 1);
        x = 8;
    }
    if (me == 1) {
        shmem_signal_wait_until(&flag, SHMEM_CMP_EQ, 1);
        shmem_signal_set(&other, 1, 0);
    }
}

static void o8(void)
{
    if (me == 0) {
        shmem_int_p(&x, 1, 1);
        shmem_quiet();
        shmem_long_atomic_inc(&n, 2);
    }
    if (me == 1) {
        long seen = 0;
        while (!seen)
            seen = mended ? shmem_long_atomic_fetch(&n, 2) : shmem_long_g(&n, 2) + 1;
        read_x();
    }
}

static void o9(void)
{
    if (me < 2) {
        if (mended || me == 0)
            shmem_set_lock(&lock);
        shmem_int_p(&x, me, 2);
        if (mended || me == 0)
            shmem_clear_lock(&lock);
    }
}

static void o10(void)
{
    static int one = 1;
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, &x, &one, 1);
    if (mended)
        shmem_barrier_all();
    if (me == 0)
        shmem_int_p(&x, 5, 1);
}

/* The result of the reduction says that all have come: what they stored before can be read. */
static void o10_result(void)
{
    if (me == 1)
        x = 3;
    if (mended)
        shmem_int_sum_reduce(SHMEM_TEAM_WORLD, sums, parts, 1);
    if (me == 0)
        sink = shmem_int_g(&x, 1);
}

static void o11(void)
{
    shmem_ctx_t ctx;
    shmem_ctx_create(0, &ctx);
    if (me == 0) {
        shmem_ctx_int_p(ctx, &x, 1, 1);
        if (mended)
            shmem_ctx_quiet(ctx);
        else
            shmem_quiet();
    }
    shmem_barrier_all();
    if (me == 1)
        read_x();
    shmem_ctx_destroy(ctx);
}

static void o12(void)
{
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, 2, NULL, 0, &team);
    if (me == 0) {
        shmem_int_p(&x, 1, mended ? 2 : 1);
        shmem_quiet();
    }
    if (team != SHMEM_TEAM_INVALID)
        shmem_team_sync(team);
    if (me == (mended ? 2 : 1))
        read_x();
    shmem_team_destroy(team);
}

static void *reads(void *arg)
{
    (void)arg;
    read_x();
    return NULL;
}

static void o13(void)
{
    pthread_t t;
    if (me == 0) {
        if (!mended)
            pthread_create(&t, NULL, reads, NULL);
        shmem_int_get_nbi(&x, &y, 1, 1);
        shmem_quiet();
        if (mended)
            pthread_create(&t, NULL, reads, NULL);
        pthread_join(t, NULL);
    }
}

static void o14_heap(void)
{
    int *a = shmem_malloc(64 * sizeof *a);
    if (me == 0)
        shmem_int_p(&a[3], 1, 1);
    int *b = mended ? shmem_malloc(64) : NULL;
    if (me == 1)
        sink = a[3];
    shmem_free(b);
    shmem_free(a);
}

static const struct litmus cases[] = {
    {"c1", "C1", c1},
    {"c2", "C2", c2},
    {"c2_type_d", "C2", c2_type_d},
    {"c2_domain", "C2", c2_domain},
    {"c3_source_private", "C3", c3_source_private},
    {"c3_dest", "C3", c3_dest},
    {"c4", "C4", c4},
    {"o1", "O1", o1},
    {"o2", "O2", o2},
    {"o3", "O3", o3},
    {"o3_get", "O3", o3_get},
    {"o3_target", "O3", o3_target},
    {"o4", "O4", o4},
    {"o5", "O5", o5},
    {"o5_store", "O5", o5_store},
    {"o5_request", "O5", o5_request},
    {"o6", "O6", o6},
    {"o6_test", "O6", o6_test},
    {"o6_chain", "O6", o6_chain},
    {"o7", "O7", o7},
    {"o7_two", "O7", o7_two},
    {"o7_answer", "O7", o7_answer},
    {"o8", "O8", o8},
    {"o9", "O9", o9},
    {"o10", "O10", o10},
    {"o10_result", "O10", o10_result},
    {"o11", "O11", o11},
    {"o12", "O12", o12},
    {"o13", "O13", o13},
    {"o14_heap", "O14", o14_heap},
    {NULL, NULL, NULL},
};

static int run(const struct litmus *list, const char *name)
{
    for (; list->name; list++) {
        if (!name)
            printf("%s %s\n", list->name, list->rule);
        else if (strcmp(name, list->name) == 0)
            list->run();
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return run(cases, NULL) + run(litmus_more, NULL) + run(litmus_again, NULL);
    int provided;
    mended = strcmp(argv[2], "mended") == 0;
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    me = shmem_my_pe();
    run(cases, argv[1]);
    run(litmus_more, argv[1]);
    run(litmus_again, argv[1]);
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
