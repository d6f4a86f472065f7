/*
 * sycl.cpp - Intel SHMEM's API in SYCL, each routine against a value that does not depend on the library: by a work-item, by
 * sub-groups and groups of one to three dimensions, on the host, and on a queue. The typed routines are run for the types of SOME_TYPES; no
 * test instantiates them for the others. `sycl [PART]...` runs these parts.
 */
#include <ishmem.h>
#include <ishmemx.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static int failed;
static int me, n, next_pe, before;
static sycl::queue *queue;

#define EXPECT(x)                                                                                                     \
    do {                                                                                                              \
        if (!(x)) {                                                                                                   \
            failed++;                                                                                                 \
            printf("PE %d: line %d: %s\n", me, __LINE__, #x);                                                         \
        }                                                                                                             \
    } while (0)

/* In kernels: the line of the first failed check. */
#define CHECK(x)                                                                                                      \
    do {                                                                                                              \
        if (!(x) && *bad == 0)                                                                                        \
            *bad = __LINE__;                                                                                          \
    } while (0)

enum { N = 40, GROUP = 32 };

/* Symmetric memory for elements, and words. */
static char *heap;
static int *bad;
static uint64_t *flag;
static ishmem_team_t pairs; /* every second PE, from PE 0 or 1 */

static void expect_good(const char *what)
{
    if (*bad) {
        failed++;
        printf("PE %d: %s: line %d\n", me, what, *bad);
    }
    *bad = 0;
}

/* Element i of what PE p has. */
template <typename T>
T value(int p, int i)
{
    return (T)(p * 7 + i + 1);
}

template <typename T>
void fill(T *s, T *d)
{
    int pe = me;
    queue->parallel_for(sycl::range<1>{N}, [=](sycl::id<1> at) {
             int i = (int)at[0];
             s[i] = value<T>(pe, i);
             d[i] = d[N + i] = d[2 * N + i] = d[3 * N + i] = (T)0;
         }).wait();
    ishmem_barrier_all();
}

/* ---- put, get, strided, signals: a caller of each kind runs the same body --------------------------------------------------- */

/* The forms of a caller: BY(name)(arguments LAST). */
#define RMA_BODY(T, NAME, X, S, LAST, FIRST)                                                                          \
    {                                                                                                                 \
        X##_##NAME##_put##S(d, s, N, to LAST);                                                                        \
        X##_##NAME##_get##S(d + N, s, N, to LAST);                                                                    \
        X##_##NAME##_iput##S(d + 2 * N, s, 2, 3, N / 3, to LAST);                                                     \
        X##_##NAME##_put_nbi##S(d + 3 * N, s, N, to LAST);                                                            \
        X##_##NAME##_put_signal##S(d, s, N, flag, 1, ISHMEM_SIGNAL_ADD, to LAST);                                     \
        FIRST                                                                                                         \
    }

template <typename T>
void check_rma(const char *what, T *d, bool alone)
{
    T *host = (T *)malloc(4 * N * sizeof(T));
    queue->memcpy(host, d, 4 * N * sizeof(T)).wait();
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        wrong += host[i] != value<T>(before, i);
        wrong += host[N + i] != value<T>(next_pe, i);
        wrong += host[3 * N + i] != value<T>(before, i);
        T strided = i % 2 == 0 && i / 2 < N / 3 ? value<T>(before, i / 2 * 3) : (T)0;
        wrong += host[2 * N + i] != strided;
    }
    uint64_t seen;
    queue->memcpy(&seen, flag, 8).wait();
    if (wrong || (alone && seen != 1)) {
        failed++;
        printf("PE %d: %s: %d elements are wrong, the signal is %lu\n", me, what, wrong, (unsigned long)seen);
    }
    free(host);
    ishmem_barrier_all();
    queue->memset(flag, 0, 8).wait();
    ishmem_barrier_all();
}

#define TEST_RMA(T, NAME)                                                                                             \
    static void rma_##NAME(void)                                                                                      \
    {                                                                                                                 \
        T *s = (T *)heap, *d = (T *)heap + N;                                                                         \
        int to = next_pe;                                                                                             \
        int *bad = ::bad;                                                                                             \
        uint64_t *flag = ::flag;                                                                                      \
        fill(s, d);                                                                                                   \
        queue->single_task([=] RMA_BODY(T, NAME, ishmem, , , CHECK(ishmem_##NAME##_g(s + 3, to) == value<T>(to, 3));)).wait(); \
        ishmem_barrier_all();                                                                                         \
        check_rma(#NAME " by a work-item", d, true);                                                                  \
        fill(s, d);                                                                                                   \
        RMA_BODY(T, NAME, ishmem, , , EXPECT(ishmem_##NAME##_g(s + 3, to) == value<T>(to, 3));)                       \
        ishmem_barrier_all();                                                                                         \
        check_rma(#NAME " by the host", d, true);                                                                     \
        fill(s, d);                                                                                                   \
        queue->parallel_for(sycl::nd_range<1>{GROUP, GROUP}, [=](sycl::nd_item<1> it) {                               \
                 auto g = it.get_group();                                                                             \
                 RMA_BODY(T, NAME, ishmemx, _work_group, COMMA g, )                                                   \
             }).wait();                                                                                               \
        ishmem_barrier_all();                                                                                         \
        check_rma(#NAME " by a group", d, true);                                                                      \
        fill(s, d);                                                                                                   \
        queue->parallel_for(sycl::nd_range<3>{{2, 2, GROUP / 2}, {2, 2, GROUP / 2}}, [=](sycl::nd_item<3> it) {       \
                 auto g = it.get_group();                                                                             \
                 RMA_BODY(T, NAME, ishmemx, _work_group, COMMA g, )                                                   \
             }).wait();                                                                                               \
        ishmem_barrier_all();                                                                                         \
        check_rma(#NAME " by a group of three dimensions", d, true);                                                  \
        fill(s, d);                                                                                                   \
        queue->parallel_for(sycl::nd_range<1>{GROUP, GROUP}, [=](sycl::nd_item<1> it) {                               \
                 auto g = it.get_sub_group();                                                                         \
                 RMA_BODY(T, NAME, ishmemx, _work_group, COMMA g, )                                                   \
             }).wait();                                                                                               \
        ishmem_barrier_all();                                                                                         \
        check_rma(#NAME " by sub-groups", d, false);                                                                  \
        fill(s, d);                                                                                                   \
        RMA_BODY(T, NAME, ishmemx, _on_queue, COMMA *queue, )                                                         \
        queue->wait();                                                                                                \
        ishmem_barrier_all();                                                                                         \
        check_rma(#NAME " on a queue", d, true);                                                                      \
    }
#define COMMA ,
TEST_RMA(int, int)
TEST_RMA(double, double)
TEST_RMA(unsigned char, uchar)

static void rma(void)
{
    rma_int();
    rma_double();
    rma_uchar();
}

/* Templates, sizes, blocks, memory of a work-item, ptr. */
static void rma_others(void)
{
    long *s = (long *)heap, *d = s + N;
    int to = next_pe, from = before, *bad = ::bad;
    fill(s, d);
    queue->single_task([=] {
             long mine[12];
             for (int i = 0; i < 12; i++)
                 mine[i] = 100 + i;
             ishmem_put(d, mine, 12, to);
             ishmem_put<long>(d + 12, s, 3, to);
             ishmem_put64(d + 15, s, 2, to);
             ishmem_putmem(d + 17, s, 8, to);
             ishmemx_ibput(d + 18, s, 3, 2, 2, 2, to);
             ishmem_p(d + 30, 77l, to);
             ishmem_get(mine, s, 12, to);
             CHECK(mine[11] == value<long>(to, 11));
             CHECK(ishmem_g(s, to) == value<long>(to, 0));
             ishmem_barrier_all();
             for (int i = 0; i < 12; i++)
                 CHECK(d[i] == 100 + i);
             for (int i = 0; i < 3; i++)
                 CHECK(d[12 + i] == value<long>(from, i));
             CHECK(d[16] == value<long>(from, 1) && d[17] == value<long>(from, 0) && d[30] == 77);
             CHECK(d[18] == value<long>(from, 0) && d[19] == value<long>(from, 1) && d[20] == 0 && d[21] == value<long>(from, 2));
             long *direct = (long *)ishmem_ptr(s, to);
             CHECK(!direct || direct[2] == value<long>(to, 2));
         }).wait();
    expect_good("templates, sizes and blocks");
    ishmem_barrier_all();
    ishmem_put<long>(d + 3, s, 3, to); /* host */
    ishmemx_ibget(d + 10, s, 2, 2, 2, 3, to);
    ishmem_barrier_all();
    long host[16];
    queue->memcpy(host, d, sizeof host).wait();
    EXPECT(host[3] == value<long>(from, 0) && host[5] == value<long>(from, 2));
    EXPECT(host[10] == value<long>(to, 0) && host[13] == value<long>(to, 3));
    ishmem_barrier_all();
}

/* ---- atomics ---------------------------------------------------------------------------------------------------------------- */

#define AMO_TESTS(T, NAME)                                                                                            \
    ishmem_##NAME##_atomic_set(w, (T)5, to);                                                                          \
    CHECK(ishmem_##NAME##_atomic_fetch(w, to) == (T)5);                                                               \
    CHECK(ishmem_##NAME##_atomic_swap(w, (T)9, to) == (T)5);
#define AMO_TESTS_INT(T, NAME)                                                                                        \
    CHECK(ishmem_##NAME##_atomic_fetch_add(w, (T)3, to) == (T)9);                                                     \
    ishmem_##NAME##_atomic_add(w, (T)1, to);                                                                          \
    CHECK(ishmem_##NAME##_atomic_fetch_inc(w, to) == (T)13);                                                          \
    ishmem_##NAME##_atomic_inc(w, to);                                                                                \
    CHECK(ishmem_##NAME##_atomic_compare_swap(w, (T)1, (T)2, to) == (T)15);                                           \
    CHECK(ishmem_##NAME##_atomic_compare_swap(w, (T)15, (T)6, to) == (T)15);                                          \
    CHECK(ishmem_##NAME##_atomic_fetch(w, to) == (T)6);
#define AMO_TESTS_BITS(T, NAME)                                                                                       \
    CHECK(ishmem_##NAME##_atomic_fetch_or(w, (T)9, to) == (T)6);                                                      \
    ishmem_##NAME##_atomic_and(w, (T)12, to);                                                                         \
    CHECK(ishmem_##NAME##_atomic_fetch_xor(w, (T)4, to) == (T)12);                                                    \
    ishmem_##NAME##_atomic_or(w, (T)1, to);                                                                           \
    ishmem_##NAME##_atomic_xor(w, (T)2, to);                                                                          \
    CHECK(ishmem_##NAME##_atomic_fetch_and(w, (T)3, to) == (T)11);                                                    \
    CHECK(ishmem_atomic_fetch_add(w, (T)1, to) == (T)3);                                                              \
    ishmem_##NAME##_atomic_fetch_inc_nbi(s, w, to);                                                                   \
    ishmem_quiet();                                                                                                   \
    CHECK(*s == (T)4 && ishmem_##NAME##_atomic_fetch(w, to) == (T)5);
#define TEST_AMO(T, NAME, MORE)                                                                                       \
    static void amo_##NAME(void)                                                                                      \
    {                                                                                                                 \
        T *w = (T *)heap, *s = w + 1;                                                                                 \
        int to = next_pe, *bad = ::bad;                                                                               \
        ishmem_barrier_all();                                                                                         \
        queue->single_task([=] { MORE(T, NAME) }).wait();                                                             \
        expect_good(#NAME " atomics in a kernel");                                                                    \
        ishmem_barrier_all();                                                                                         \
        { MORE(T, NAME) }                                                                                             \
        expect_good(#NAME " atomics on the host");                                                                    \
        ishmem_barrier_all();                                                                                         \
    }
#define AMO_ALL(T, NAME) AMO_TESTS(T, NAME) AMO_TESTS_INT(T, NAME) AMO_TESTS_BITS(T, NAME)
#define AMO_NO_BITS(T, NAME) AMO_TESTS(T, NAME) AMO_TESTS_INT(T, NAME)
TEST_AMO(unsigned, uint, AMO_ALL)
TEST_AMO(uint64_t, uint64, AMO_ALL)
TEST_AMO(long, long, AMO_NO_BITS)
TEST_AMO(float, float, AMO_TESTS)

static void amo(void)
{
    amo_uint();
    amo_uint64();
    amo_long();
    amo_float();
    int *w = (int *)heap, all = 64 * n;
    queue->memset(w, 0, 8).wait();
    ishmem_barrier_all();
    queue->parallel_for(sycl::nd_range<1>{64, 16}, [=](sycl::nd_item<1>) { ishmem_int_atomic_inc(w, 0); }).wait();
    ishmem_barrier_all();
    EXPECT(ishmem_int_atomic_fetch(w, 0) == all);
    ishmem_barrier_all();
}

/* ---- collectives, teams ------------------------------------------------------------------------------------------------------ */

/* X, S, LAST as above. */
#define COLL_BODY(X, S, LAST)                                                                                         \
    CHECK(X##_int_broadcast##S(d, s, 5, n - 1 LAST) == 0);                                                            \
    CHECK(X##_int_fcollect##S(d + 5, s, 2 LAST) == 0);                                                                \
    CHECK(X##_int_collect##S(ISHMEM_TEAM_WORLD, d + 25, s, 2 LAST) == 0);                                             \
    CHECK(X##_int_alltoall##S(d + 45, s, 2 LAST) == 0);                                                               \
    CHECK(X##_int_sum_reduce##S(d + 65, s, 3 LAST) == 0);                                                             \
    CHECK(X##_max_reduce##S(d + 70, s, 3 LAST) == 0);                                                                 \
    CHECK(X##_int_sum_inscan##S(d + 75, s, 2 LAST) == 0);                                                             \
    CHECK(X##_int_sum_exscan##S(d + 80, s, 2 LAST) == 0);                                                             \
    CHECK(X##_broadcastmem##S(team, d + 85, s, 8, 0 LAST) == 0);                                                      \
    CHECK(X##_int_sum_reduce##S(team, d + 90, s, 2 LAST) == 0);                                                       \
    CHECK(X##_uint_xor_reduce##S((unsigned *)d + 95, (unsigned *)s, 2 LAST) == 0);

static void check_coll(const char *what, const int *d)
{
    int h[100], sum = 0, of_team = 0, bits = 0, in_team = ishmem_team_n_pes(pairs), wrong = 0;
    queue->memcpy(h, d, sizeof h).wait();
    for (int p = 0; p < n; p++) {
        sum += value<int>(p, 1);
        bits ^= value<int>(p, 1);
        wrong += h[5 + 2 * p] != value<int>(p, 0) || h[5 + 2 * p + 1] != value<int>(p, 1) || h[25 + 2 * p + 1] != value<int>(p, 1);
        wrong += h[45 + 2 * p] != value<int>(p, 2 * me) || h[45 + 2 * p + 1] != value<int>(p, 2 * me + 1);
    }
    for (int i = 0; i < in_team; i++)
        of_team += value<int>(ishmem_team_translate_pe(pairs, i, ISHMEM_TEAM_WORLD), 1);
    int until = 0;
    for (int p = 0; p < me; p++)
        until += value<int>(p, 1);
    wrong += h[4] != value<int>(n - 1, 4) || h[66] != sum || h[71] != value<int>(n - 1, 1);
    wrong += h[76] != until + value<int>(me, 1) || h[81] != until;
    wrong += h[86] != value<int>(ishmem_team_translate_pe(pairs, 0, ISHMEM_TEAM_WORLD), 1) || h[91] != of_team || h[96] != bits;
    if (wrong) {
        failed++;
        printf("PE %d: collectives %s: %d wrong\n", me, what, wrong);
    }
    ishmem_barrier_all();
}

static void coll(void)
{
    int *s = (int *)heap, *d = s + N, *bad = ::bad, n = ::n;
    ishmem_team_t team = pairs;
    fill(s, d);
    queue->single_task([=] { COLL_BODY(ishmem, , ) }).wait();
    expect_good("collectives by a work-item");
    check_coll("by a work-item", d);
    fill(s, d);
    COLL_BODY(ishmem, , )
    expect_good("collectives by the host");
    check_coll("by the host", d);
    fill(s, d);
    queue->parallel_for(sycl::nd_range<2>{{4, GROUP / 4}, {4, GROUP / 4}}, [=](sycl::nd_item<2> it) {
             auto g = it.get_group();
             COLL_BODY(ishmemx, _work_group, COMMA g)
         }).wait();
    expect_good("collectives by a group");
    check_coll("by a group", d);
    fill(s, d);
    queue->parallel_for(sycl::nd_range<1>{16, 16}, [=](sycl::nd_item<1> it) {
             auto g = it.get_sub_group();
             COLL_BODY(ishmemx, _work_group, COMMA g)
         }).wait();
    expect_good("collectives by a sub-group");
    check_coll("by a sub-group", d);
    fill(s, d);
    int *ret = sycl::malloc_shared<int>(2, *queue);
    ret[0] = ret[1] = 5;
    sycl::event e = ishmemx_int_sum_reduce_on_queue(d + 65, s, 3, ret, *queue);
    sycl::event f = ishmemx_fcollect_on_queue(team, d + 5, s, 2, ret + 1, *queue, {e});
    f.wait();
    EXPECT(ret[0] == 0 && ret[1] == 0);
    int h[10];
    queue->memcpy(h, d + 5, sizeof h).wait();
    EXPECT(h[1] == value<int>(ishmem_team_translate_pe(team, 0, ISHMEM_TEAM_WORLD), 1));
    ishmem_barrier_all();
    sycl::free(ret, *queue);
}

static void teams(void)
{
    int *bad = ::bad, me = ::me, n = ::n, mine = ishmem_team_my_pe(pairs), members = ishmem_team_n_pes(pairs);
    ishmem_team_t team = pairs, rows, columns;
    EXPECT(members == (n + 1 - me % 2) / 2 && mine == me / 2);
    EXPECT(ishmem_team_my_pe(ISHMEM_TEAM_WORLD) == me && ishmem_team_n_pes(ISHMEM_TEAM_INVALID) == -1);
    EXPECT(ishmem_team_split_2d(ISHMEM_TEAM_WORLD, 2, NULL, 0, &rows, NULL, 0, &columns) == 0);
    queue->single_task([=] {
             CHECK(ishmem_team_my_pe(team) == mine && ishmem_team_n_pes(team) == members);
             CHECK(ishmem_team_translate_pe(team, mine, ISHMEM_TEAM_WORLD) == me);
             CHECK(ishmem_team_my_pe(ISHMEM_TEAM_INVALID) == -1 && ishmem_team_n_pes(ISHMEM_TEAM_WORLD) == n);
             CHECK(ishmem_team_my_pe(rows) == me % 2 && ishmem_team_my_pe(columns) == me / 2);
             CHECK(ishmem_team_sync(team) == 0 && ishmem_team_sync(ISHMEM_TEAM_SHARED) == 0);
             ishmem_sync_all();
             int major, minor;
             ishmem_info_get_version(&major, &minor);
             CHECK(major == ISHMEM_MAJOR_VERSION && minor == ISHMEM_MINOR_VERSION);
         }).wait();
    queue->single_task([=] { /* llvm-spirv 15 crashes where NULL is all that a pointer can be */
             CHECK(ishmem_team_translate_pe(ISHMEM_TEAM_WORLD, ishmem_my_pe(), team) == mine);
             CHECK(ishmem_team_translate_pe(ISHMEM_TEAM_WORLD, me, rows) == me % 2);
         }).wait();
    queue->single_task([=] { CHECK(ishmem_team_translate_pe(ISHMEM_TEAM_WORLD, me, ISHMEM_TEAM_INVALID) == -1); }).wait();
    queue->single_task([=] { CHECK(ishmem_team_translate_pe(rows, me % 2, columns) == me / 2); }).wait();
    expect_good("teams");
    ishmem_team_destroy(rows);
    ishmem_team_destroy(columns);
}

/* Reductions that a compiler would vectorise, which llvm-spirv 15 cannot translate. */
static void small_types(void)
{
    int *bad = ::bad, n = ::n, me = ::me;
    short *s = (short *)heap, *d = s + 64;
    unsigned char *b = (unsigned char *)(s + 128), *c = b + 64;
    queue->single_task([=] {
             for (int i = 0; i < 4; i++)
                 s[i] = (short)(me + i), b[i] = (unsigned char)(i << me);
         }).wait();
    ishmem_barrier_all();
    queue->single_task([=] {
             CHECK(ishmem_short_sum_inscan(d, s, 4) == 0 && d[3] == me * (me + 1) / 2 + 3 * (me + 1));
             CHECK(ishmem_short_sum_exscan(d, s, 4) == 0 && d[3] == me * (me - 1) / 2 + 3 * me);
             CHECK(ishmem_short_max_reduce(d, s, 4) == 0 && d[2] == n + 1);
         }).wait();
    queue->single_task([=] { CHECK(ishmem_uchar_and_reduce(c, b, 4) == 0 && c[1] == (n == 1) && c[0] == 0); }).wait();
    queue->single_task([=] { CHECK(ishmem_uchar_or_reduce(c, b, 4) == 0 && c[1] == (1 << n) - 1); }).wait();
    queue->single_task([=] { CHECK(ishmem_uchar_xor_reduce(c, b, 4) == 0 && c[2] == (2 << n) - 2); }).wait();
    expect_good("reductions of small types");
}

/* ---- waits ------------------------------------------------------------------------------------------------------------------- */

static void waits(void)
{
    int *w = (int *)heap, to = next_pe, *bad = ::bad;
    uint64_t *flag = ::flag;
    queue->memset(w, 0, 64 * sizeof *w).wait();
    ishmem_barrier_all();
    queue->single_task([=] {
             size_t which[4];
             CHECK(ishmem_int_test(w + 40, ISHMEM_CMP_EQ, 1) == 0);
             ishmem_int_p(w, 1, to);
             ishmem_int_p(w + 2, 7, to);
             ishmem_wait_until(w, ISHMEM_CMP_EQ, 1);
             CHECK(ishmem_int_wait_until_any(w + 1, 3, nullptr, ISHMEM_CMP_GT, 3) == 1);
             CHECK(ishmem_wait_until_some(w + 1, 3, which, nullptr, ISHMEM_CMP_EQ, 7) == 1 && which[0] == 1);
             CHECK(ishmem_int_test_all(w, 3, nullptr, ISHMEM_CMP_GE, 0) == 1);
             for (size_t i = 0; i < 3; i++) /* fair: behind the one that was found last */
                 CHECK(ishmem_int_test_any(w, 3, nullptr, ISHMEM_CMP_GE, 0) == (i + 2) % 3);
             ishmemx_signal_set(flag, 4, to);
             CHECK(ishmem_signal_wait_until(flag, ISHMEM_CMP_GE, 4) == 4);
             ishmem_sync_all();
             ishmemx_signal_add(flag, 2, to);
             CHECK(ishmem_signal_wait_until(flag, ISHMEM_CMP_EQ, 6) == 6 && ishmem_signal_fetch(flag) == 6);
         }).wait();
    expect_good("waits in a kernel");
    ishmem_barrier_all();
    /* A kernel waits for the host of the PE before, and a queue for another word. */
    uint64_t *ret = sycl::malloc_shared<uint64_t>(1, *queue);
    sycl::event e = ishmemx_signal_wait_until_on_queue(flag, ISHMEM_CMP_EQ, 9, ret, *queue);
    sycl::event f = ishmemx_int_wait_until_on_queue(w + 5, ISHMEM_CMP_NE, 0, *queue, {e});
    ishmemx_signal_set(flag, 9, to);
    ishmem_int_p(w + 5, 3, to);
    ishmem_quiet();
    f.wait();
    EXPECT(*ret == 9);
    ishmemx_barrier_all_on_queue(*queue).wait();
    ishmemx_quiet_on_queue(*queue).wait();
    queue->parallel_for(sycl::nd_range<1>{GROUP, GROUP}, [=](sycl::nd_item<1> it) {
             auto g = it.get_group();
             CHECK(ishmemx_signal_wait_until_work_group(flag, ISHMEM_CMP_EQ, 9, g) == 9);
             CHECK(ishmemx_int_test_work_group(w + 5, ISHMEM_CMP_EQ, 3, g) == 1);
             ishmemx_fence_work_group(g);
             ishmemx_quiet_work_group(g);
             ishmemx_sync_all_work_group(g);
             ishmemx_barrier_all_work_group(it.get_group());
         }).wait();
    expect_good("waits by a group");
    ishmem_barrier_all();
    queue->memset(flag, 0, 8).wait();
    ishmem_barrier_all();
    sycl::free(ret, *queue);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } parts[] = {{"rma", rma}, {"others", rma_others}, {"amo", amo}, {"coll", coll}, {"small types", small_types}, {"teams", teams}, {"waits", waits}};
    sycl::queue q; /* before ishmem_init, as programs have it */
    queue = &q;
    ishmem_init();
    me = ishmem_my_pe();
    n = ishmem_n_pes();
    next_pe = (me + 1) % n;
    before = (me + n - 1) % n;
    heap = (char *)ishmem_malloc(64 * N * sizeof(double));
    flag = (uint64_t *)ishmem_calloc(1, sizeof *flag);
    bad = sycl::malloc_shared<int>(1, q);
    *bad = 0;
    ishmem_team_t even, odd = ISHMEM_TEAM_INVALID;
    EXPECT(ishmem_team_split_strided(ISHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &even) == 0);
    if (n > 1)
        EXPECT(ishmem_team_split_strided(ISHMEM_TEAM_WORLD, 1, 2, n / 2, NULL, 0, &odd) == 0);
    pairs = me % 2 ? odd : even;
    for (auto &part : parts) {
        bool wanted = argc < 2;
        for (int i = 1; i < argc; i++)
            wanted |= !strcmp(argv[i], part.name);
        if (wanted)
            part.run();
    }
    sycl::free(bad, q);
    ishmem_free(heap);
    ishmem_free(flag);
    ishmem_finalize();
    if (!failed && me == 0)
        printf("all as expected\n");
    return failed != 0;
}
