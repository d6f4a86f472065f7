/*
 * litmus_more.c - programs as in litmus.c for routines beyond OpenSHMEM's memory model: completion in parts, teams of any PEs, tagged messages, GPCs,
 * several signals and counted ones, additions to floats, memory that becomes symmetric, atomics of the language.
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

#include "litmus.h"

static int x, y;
static double d;
static uint64_t flag;
static int sums[4], spread[8];
static volatile int sink;

static void read_x(void)
{
    sink = x;
}

/* ---- completion in parts ------------------------------------------------------------------------------------------------ */

static void o15(void)
{
    int pe = mended ? 1 : 2;
    if (me == 0) {
        shmem_int_p(&x, 1, 1);
        shmem_pe_quiet(&pe, 1);
    }
    shmem_sync_all();
    if (me == 1)
        read_x();
}

static void o15_fence(void)
{
    int pe = mended ? 1 : 2;
    if (me == 0) {
        shmem_int_p(&x, 1, 1);
        shmemx_pe_fence(&pe, 1);
        shmem_uint64_atomic_set(&flag, 1, 1);
    }
    if (me == 1) {
        shmem_uint64_wait_until(&flag, SHMEM_CMP_EQ, 1);
        read_x();
    }
}

static void o16_private(void)
{
    int value = 1;
    if (me == 0) {
        shmem_int_put_nbi(&x, &value, 1, 1);
        if (mended)
            shmemx_flush();
        value = 2;
        sink = value;
        shmem_quiet();
    }
}

/* A flush does not complete puts. */
static void o16(void)
{
    static int one = 1;
    if (me == 0) {
        shmem_int_put_nbi(&x, &one, 1, 1);
        if (mended)
            shmem_quiet();
        else
            shmemx_flush();
    }
    shmem_sync_all();
    if (me == 1)
        read_x();
}

static void o16_get(void)
{
    if (me == 0) {
        shmem_int_get_nbi(&x, &y, 1, 1);
        if (mended)
            shmemx_flush();
        read_x();
    }
}

static void o17(void)
{
    shmemx_req_t r = SHMEMX_REQ_NULL;
    if (me == 0) {
        shmem_int_p(&x, 1, 1);
        shmemx_quiet_nb(&r);
        if (mended)
            shmemx_req_wait(&r);
    }
    shmem_sync_all();
    if (me == 1)
        read_x();
}

/* A request says nothing of what was issued after it. */
static void o17_later(void)
{
    shmemx_req_t r = SHMEMX_REQ_NULL;
    if (me == 0) {
        if (mended)
            shmem_int_p(&x, 1, 1);
        shmemx_pe_quiet_nb(1, &r);
        if (!mended)
            shmem_int_p(&x, 1, 1);
        while (!shmemx_req_test(&r))
            ;
    }
    shmem_sync_all();
    if (me == 1)
        read_x();
}

/* A store to what shmem_ptr gives is one at the other PE's memory. */
static void o4_pointer(void)
{
    int *there = shmem_ptr(&x, 1);
    if (me == 0 && there)
        *there = 1;
    if (me == 0 && !there)
        shmem_int_p(&x, 1, 1);
    if (mended)
        shmem_barrier_all();
    if (me == 1)
        read_x();
}

/* Atomics of the language at what shmem_ptr gives are of a type of their own, and order as in C11. Over the network there is no pointer. */
static void c2_language(void)
{
    int *there = shmem_ptr(&x, 1);
    if (me != 1 && there && (mended || me == 0))
        __atomic_fetch_add(there, 1, __ATOMIC_RELAXED);
    else if (me != 1 && (there || me == 0 || mended))
        shmem_int_atomic_add(&x, 1, 1);
    else if (me == 2)
        shmem_int_p(&x, 1, 1);
}

static void o13_pointer(void)
{
    static int ready;
    int *there = shmem_ptr(&x, 1), *flag_there = shmem_ptr(&ready, 1);
    if (me == 0 && there) {
        if (mended)
            *there = 1;
        __atomic_store_n(flag_there, 1, __ATOMIC_RELEASE);
        if (!mended)
            *there = 1;
    } else if (me == 0 && !mended)
        shmem_int_p(&x, 1, 1);
    while (me == 1 && shmem_ptr(&x, 0) && !__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
        ;
    if (me == 1)
        read_x();
}

/* ---- memory that becomes symmetric ----------------------------------------------------------------------------------------- */

/* The second time the memory has the first one's place, without its accesses. */
static void put_and_load(int *word)
{
    shmem_barrier_all();
    if (me == 0)
        shmem_int_p(word, 1, 1);
    if (mended)
        shmem_barrier_all();
    else
        shmem_sync_all();
    if (me == 1)
        sink = *word;
    shmem_barrier_all();
}

static void o4_added(void)
{
    enum { BYTES = 1 << 16 };
    for (int i = 0; i < 2; i++) {
        int *m = aligned_alloc(4096, BYTES);
        m[3] = me;
        if (shmemx_symmetric_add(m, BYTES, SHMEMX_MEMORY_HOST))
            shmem_global_exit(3);
        put_and_load(&m[3]);
        shmemx_symmetric_remove(m);
        sink = m[3];
        free(m);
    }
}

static void o4_space(void)
{
    const shmemx_space_config_t config = {.memory = SHMEMX_MEMORY_HOST, .size = 1 << 20};
    for (int i = 0; i < 2; i++) {
        shmemx_space_t space;
        if (shmemx_space_create(SHMEM_TEAM_WORLD, &config, &space))
            shmem_global_exit(3);
        shmemx_space_malloc(space, 8000);
        int *block = shmemx_space_malloc(space, 256);
        put_and_load(&block[3]);
        shmemx_space_destroy(space);
    }
}

/* ---- teams of any PEs, strided collectives ---------------------------------------------------------------------------------- */

static void o12_list(void)
{
    const int pes[] = {2, 0};
    shmem_team_t team;
    shmemx_team_split_list(SHMEM_TEAM_WORLD, pes, 2, NULL, 0, &team);
    if (me == 2)
        x = 1;
    if (team != SHMEM_TEAM_INVALID && mended)
        shmem_team_sync(team);
    if (me == 0)
        sink = shmem_int_g(&x, 2);
    shmem_team_destroy(team);
}

static void o12_create(void)
{
    static long psync[3] = {SHMEM_SYNC_VALUE, SHMEM_SYNC_VALUE, SHMEM_SYNC_VALUE};
    const int pes[] = {2, 0};
    shmem_team_t team = SHMEM_TEAM_INVALID;
    if (me != 1)
        shmemx_team_create(pes, 2, psync, NULL, 0, &team);
    if (me == 2)
        x = 1;
    if (me != 1 && mended)
        shmem_team_sync(team);
    if (me == 0)
        sink = shmem_int_g(&x, 2);
    shmem_team_destroy(team);
}

static void o12_color(void)
{
    shmem_team_t team, same;
    shmemx_team_split_color(SHMEM_TEAM_WORLD, me != (mended ? 1 : 2), -me, NULL, 0, &team);
    shmemx_team_dup(team, &same);
    if (me == 2)
        x = 1;
    shmem_team_sync(same);
    if (me == 0)
        sink = shmem_int_g(&x, 2);
    shmem_team_destroy(same);
    shmem_team_destroy(team);
}

/* Between the elements that a strided collective reads, others may write. */
static void o10_strided_spread(void)
{
    static int to[3];
    shmem_int_alltoalls(SHMEM_TEAM_WORLD, to, spread, 1, 2, 1);
    if (me == 0)
        shmem_int_p(&spread[mended ? 1 : 2], 5, 1);
}

/* ---- tagged messages -------------------------------------------------------------------------------------------------------- */

static void o18(void)
{
    if (me == 0) {
        shmem_int_p(&x, 1, 1);
        if (mended)
            shmem_quiet();
        shmemx_tag_send(SHMEM_TEAM_WORLD, &y, sizeof y, 7, 1);
    }
    if (me == 1) {
        shmemx_tag_recv(SHMEM_TEAM_WORLD, sums, sizeof y, 7, SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, NULL);
        read_x();
    }
}

static void o18_store(void)
{
    if (me == 0) {
        if (mended)
            x = 1;
        shmemx_tag_send(SHMEM_TEAM_WORLD, &y, sizeof y, 7, 1);
        if (!mended)
            x = 1;
    }
    if (me == 1) {
        shmemx_tag_recv(SHMEM_TEAM_WORLD, sums, sizeof y, 7, SHMEMX_TAG_EXACT, 0, NULL);
        sink = shmem_int_g(&x, 0);
    }
}

/* A synchronous send is after the receive. */
static void o18_synchronous(void)
{
    if (me == 0) {
        if (mended)
            shmemx_tag_ssend(SHMEM_TEAM_WORLD, &y, sizeof y, 7, 1);
        else
            shmemx_tag_send(SHMEM_TEAM_WORLD, &y, sizeof y, 7, 1);
        sink = shmem_int_g(&x, 1);
    }
    if (me == 1) {
        x = 1;
        shmemx_tag_recv(SHMEM_TEAM_WORLD, sums, sizeof y, 7, SHMEMX_TAG_EXACT, 0, NULL);
    }
}

static void o18_request(void)
{
    shmemx_tag_request_t r, s;
    shmemx_tag_irecv(SHMEM_TEAM_WORLD, &x, sizeof x, 7, SHMEMX_TAG_EXACT, (me + 2) % 3, &r);
    shmemx_tag_isend(SHMEM_TEAM_WORLD, &y, sizeof y, 7, (me + 1) % 3, &s);
    if (mended)
        shmemx_tag_wait(&r, NULL);
    read_x();
    shmemx_tag_wait(&r, NULL);
    shmemx_tag_wait(&s, NULL);
}

static void o18_source_private(void)
{
    shmemx_tag_request_t s;
    int value = me;
    shmemx_tag_isend(SHMEM_TEAM_WORLD, &value, sizeof value, 7, (me + 1) % 3, &s);
    if (mended)
        while (!shmemx_tag_test(&s, NULL))
            ;
    value = 5;
    shmemx_tag_recv(SHMEM_TEAM_WORLD, sums, sizeof value, 7, SHMEMX_TAG_EXACT, (me + 2) % 3, NULL);
    shmemx_tag_wait(&s, NULL);
}

/* ---- GPCs ------------------------------------------------------------------------------------------------------------------- */

static int reads_at_root(shmemx_gpc_call_t *call)
{
    sink = shmem_int_g(&x, call->root);
    return SHMEMX_GPC_DONE;
}

static int stores(shmemx_gpc_call_t *call)
{
    (void)call;
    x = 4;
    return SHMEMX_GPC_DONE;
}

static void o19(void)
{
    int func = shmemx_gpc_register(reads_at_root);
    shmemx_gpc_nbh_t h;
    shmemx_gpc_nbh_init(&h);
    if (me == 0) {
        if (mended)
            x = 1;
        shmemx_gpc_exec(SHMEM_TEAM_WORLD, func, 1, NULL, 0, NULL, 0, NULL, 0, NULL, 0, &h);
        if (!mended)
            x = 1;
        shmemx_gpc_wait(&h);
    }
    shmem_barrier_all();
    shmemx_gpc_release(func);
}

static void o19_end(void)
{
    int func = shmemx_gpc_register(stores);
    shmemx_gpc_nbh_t h;
    shmemx_gpc_nbh_init(&h);
    if (me == 0) {
        shmemx_gpc_exec(SHMEM_TEAM_WORLD, func, 1, NULL, 0, NULL, 0, NULL, 0, NULL, 0, &h);
        if (mended)
            shmemx_gpc_wait(&h);
        sink = shmem_int_g(&x, 1);
        shmemx_gpc_wait(&h);
    }
    shmem_barrier_all();
    shmemx_gpc_release(func);
}

static void o19_data(void)
{
    int func = shmemx_gpc_register(stores);
    shmemx_gpc_nbh_t h;
    shmemx_gpc_nbh_init(&h);
    if (me == 0) {
        shmemx_gpc_exec(SHMEM_TEAM_WORLD, func, 1, NULL, 0, &x, sizeof x, NULL, 0, NULL, 0, &h);
        if (mended)
            shmemx_gpc_wait(&h);
        x = 2;
        shmemx_gpc_wait(&h);
    }
    shmem_barrier_all();
    shmemx_gpc_release(func);
}

/* ---- signals, additions to floats ----------------------------------------------------------------------------------------- */

static void c2_add_d(void)
{
    if (me != 1)
        me && !mended ? shmem_double_p(&d, 1, 1) : shmemx_double_atomic_add(&d, 1, 1);
}

static void o6_count(void)
{
    if (me != 1) {
        shmem_int_p(me ? &y : &x, 1, 1);
        if (mended || me)
            shmem_fence();
        shmem_signal_add(&flag, 1, 1);
    }
    if (me == 1) {
        shmemx_signal_wait_count(&flag, 2);
        read_x();
    }
}

static void o7_all(void)
{
    static uint64_t sig[2];
    const int first[2] = {0, 1}, one = 1;
    if (me != 1)
        shmem_int_put_signal(me ? &x : &y, &one, 1, &sig[me / 2], 1, SHMEM_SIGNAL_SET, 1);
    if (me == 1) {
        shmemx_signal_wait_until_all(sig, 2, mended ? NULL : first, SHMEM_CMP_EQ, 1, NULL);
        read_x();
    }
}

const struct litmus litmus_more[] = {
    {"c2_add_d", "C2", c2_add_d},
    {"o6_count", "O6", o6_count},
    {"o7_all", "O7", o7_all},
    {"o15", "O15", o15},
    {"o15_fence", "O15", o15_fence},
    {"o16_private", "O16", o16_private},
    {"o16", "O16", o16},
    {"o16_get", "O16", o16_get},
    {"o17", "O17", o17},
    {"o17_later", "O17", o17_later},
    {"o4_pointer", "O4", o4_pointer},
    {"o4_added", "O4", o4_added},
    {"o4_space", "O4", o4_space},
    {"c2_language", "C2", c2_language},
    {"o13_pointer", "O13", o13_pointer},
    {"o12_list", "O12", o12_list},
    {"o12_create", "O12", o12_create},
    {"o12_color", "O12", o12_color},
    {"o10_strided_spread", "O10", o10_strided_spread},
    {"o18", "O18", o18},
    {"o18_store", "O18", o18_store},
    {"o18_synchronous", "O18", o18_synchronous},
    {"o18_request", "O18", o18_request},
    {"o18_source_private", "O18", o18_source_private},
    {"o19", "O19", o19},
    {"o19_end", "O19", o19_end},
    {"o19_data", "O19", o19_data},
    {NULL, NULL, NULL},
};
