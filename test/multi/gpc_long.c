/*
 * gpc_long.c - which thread runs the functions of GPCs while the program computes, and what a long function delays:
 * later calls to that PE, and nothing else. With -DNO_THREAD the library has no thread for them.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <shmemx.h>

#include "../tap_pes.h"

#ifdef NO_THREAD
enum { THREAD = 0 };
#else
enum { THREAD = 1 };
#endif

static pthread_t main_thread;
static int h_where, h_long, h_quick, h_tree;
static int *word, *started, *release, *quick_ran;
static uint64_t *sig;

/* Does the function run on the program's own thread? */
static int where(shmemx_gpc_call_t *c)
{
    *(int *)c->rhdr = !!pthread_equal(pthread_self(), main_thread);
    c->rhsize = sizeof(int);
    shmem_int_atomic_set(started, 1, me);
    return 0;
}

/* Runs until another PE puts a word. */
static int long_one(shmemx_gpc_call_t *c)
{
    shmem_int_atomic_set(started, 1, me);
    while (!shmem_int_atomic_fetch(release, me))
        sched_yield();
    return where(c);
}

static int quick(shmemx_gpc_call_t *c)
{
    (void)c;
    shmem_int_atomic_set(quick_ran, 1, me);
    return 0;
}

static int to_all(shmemx_gpc_call_t *c)
{
    *(long *)c->rdata = 1;
    c->rdsize = sizeof(long);
    return 0;
}

static int sum_up(shmemx_gpc_call_t *c)
{
    *(long *)c->rdata += *(const long *)c->cdata;
    return 0;
}
static int h_sum;

static void clear(void)
{
    shmem_barrier_all();
    *started = *release = *quick_ran = *word = 0;
    *sig = 0;
    shmem_barrier_all();
}

static int exec(int func, int pe, int *reply, shmemx_gpc_nbh_t *nbh)
{
    return shmemx_gpc_exec(SHMEM_TEAM_WORLD, func, pe, NULL, 0, NULL, 0, reply, sizeof *reply, NULL, 0, nbh);
}

/* Compute until a function has begun here. No library call, for which PE 0 waits: a barrier's last poll would run
 * it. */
static void compute(void)
{
    shmem_int_atomic_set(word, 1, 0);
    while (!__atomic_load_n(started, __ATOMIC_ACQUIRE))
        sched_yield();
}

/* Catches: calls to a PE that computes that get no answer; a function on the wrong thread. Without the library's thread
 * the target must wait in the library. */
static void computing_target(void)
{
    int on_main = -1, last = n_pes - 1;
    clear();
    if (me == 0 && n_pes > 1) {
        if (THREAD)
            shmem_int_wait_until(word, SHMEM_CMP_EQ, 1);
        CHECK(exec(h_where, last, &on_main, NULL) == 0);
        CHECKF(on_main == !THREAD, "a function on %s thread", on_main ? "the program's" : "the library's");
    } else if (me == last && n_pes > 1) {
        if (THREAD)
            compute();
        else
            shmem_int_wait_until(started, SHMEM_CMP_NE, 0);
    }
    shmem_barrier_all();
}

/* Other operations of another PE meanwhile: all but GPCs complete. */
static void beside_a_long_one(int at)
{
    int value = 17, reply, quick_reply;
    shmemx_gpc_nbh_t first, second;
    shmemx_gpc_nbh_init(&first);
    shmemx_gpc_nbh_init(&second);
    shmem_int_wait_until(word, SHMEM_CMP_EQ, 1);
    CHECK(exec(h_long, at, &reply, &first) == 0);
    while (!shmem_int_atomic_fetch(started, at))
        sched_yield();
    CHECK(exec(h_quick, at, &quick_reply, &second) == 0);
    shmem_int_put_signal(word, &value, 1, sig, 5, SHMEM_SIGNAL_SET, at);
    shmem_quiet();
    CHECK(shmem_int_atomic_fetch_add(word, 1, at) == 17);
    CHECK(shmem_int_g(word, at) == 18);
    shmem_uint64_wait_until(sig, SHMEM_CMP_EQ, 6); /* the busy PE has the answers to its own calls */
    CHECK(!shmemx_gpc_test(&first) && !shmemx_gpc_test(&second));
    CHECK(shmem_int_atomic_fetch(quick_ran, at) == 0);
    shmem_int_atomic_set(release, 1, at);
    CHECK(shmemx_gpc_wait(&second) == 0 && shmem_int_atomic_fetch(quick_ran, at) == 1);
    CHECK(!first.busy); /* one after the other */
    CHECK(shmemx_gpc_wait(&first) == 0);
}

/* Catches: a long function that delays puts, atomics, signals, or the answers that its own PE waits for; a later GPC
 * that overtakes it. */
static void long_function(void)
{
    int last = n_pes - 1, reply = -1;
    clear();
    if (me == 0 && n_pes > 1) {
        beside_a_long_one(last);
    } else if (me == last && n_pes > 1) {
        compute();
        shmem_signal_wait_until(sig, SHMEM_CMP_EQ, 5);
        CHECK(exec(h_where, 0, &reply, NULL) == 0); /* while its own dispatcher is busy */
        CHECKF(reply >= 0, "no reply");
        shmem_signal_set(sig, 6, 0);
    }
    shmem_barrier_all();
}

/* Catches: deadlock with calls through a PE that repeatedly computes for a while: a function or an answer waits for the
 * program's next call, and the program waits for it. */
static void through_all(void)
{
    int list[64];
    for (int i = 0; i < n_pes; i++)
        list[i] = i;
    clear();
    for (int r = 0; r < 20; r++) {
        long reply = 0;
        CHECK(shmemx_gpc_chained_exec(SHMEM_TEAM_WORLD, h_tree, h_sum, NULL, 0, NULL, 0, NULL, 0, &reply, sizeof reply,
                                      n_pes, list, NULL, r % 2) == 0);
        CHECKF(reply == n_pes, "%ld ids, not %d", reply, n_pes);
        for (volatile int i = 0; i < 100000 * (me % 3); i++)
            ;
    }
    shmem_barrier_all();
}

/* Catches: a hang when functions wait inside each other, more than one stack holds, without a thread for the others. */
static int h_descend;

static int call_below(int left)
{
    return shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_descend, next_pe(), &left, sizeof left, NULL, 0, NULL, 0, NULL, 0, NULL);
}

static int descend(shmemx_gpc_call_t *c)
{
    int left;
    memcpy(&left, c->hdr, sizeof left);
    return left && call_below(left - 1) ? -1 : 0;
}

static void too_deep(void)
{
    clear();
    if (me == 0) {
        int err = call_below(40 * n_pes);
        CHECKF(err == (THREAD ? 0 : -EIO), "%d", err);
        CHECK(call_below(3) == 0);
    }
    shmem_barrier_all();
}

int main(void)
{
    setenv("SHMEM_GPC_THREAD", THREAD ? "1" : "0", 1);
    shmem_init();
    tap_pes_begin();
    main_thread = pthread_self();
    word = shmem_calloc(4, sizeof *word);
    started = word + 1;
    release = word + 2;
    quick_ran = word + 3;
    sig = shmem_calloc(1, sizeof *sig);
    h_where = shmemx_gpc_register(where);
    h_long = shmemx_gpc_register(long_one);
    h_quick = shmemx_gpc_register(quick);
    h_tree = shmemx_gpc_register(to_all);
    h_sum = shmemx_gpc_register_callback(sum_up);
    h_descend = shmemx_gpc_register(descend);
    RUN(computing_target, "a call to a PE that computes");
    if (THREAD)
        RUN(long_function, "a long function beside other operations");
    RUN(too_deep, "functions that wait inside each other");
    RUN(through_all, "trees through PEs that compute");
    shmem_finalize();
    return tap_end();
}
