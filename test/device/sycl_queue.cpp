/*
 * sycl_queue.cpp - Intel SHMEM's _on_queue forms, a call of each family and of each shape of arguments, submitted to a queue in order, where
 * each depends on the event of the one before, and to a queue that may run commands in any order, where the host waits for each event.
 * sycl_api.cpp has all forms and types, but calls them in a kernel. Atomics and tests of words have no such forms.
 */
#include <ishmem.h>
#include <ishmemx.h>

#include <cstdio>
#include <vector>

enum { N = 100, ROOM = 256 }; /* N: more than one work-item moves */

static int me, n, to, from, failed;
static int *s, *d, *got;
static uint64_t *flag;
static ishmem_team_t pairs; /* every second PE, from PE 0 or 1 */

#define EXPECT(x)                                                                                                     \
    do {                                                                                                              \
        if (!(x)) {                                                                                                   \
            failed++;                                                                                                 \
            printf("PE %d: line %d: %s\n", me, __LINE__, #x);                                                         \
        }                                                                                                             \
    } while (0)

static int value(int pe, int i)
{
    return pe * 1000 + i + 1;
}

/* A queue, and the event of what was submitted last. */
struct line {
    sycl::queue q;
    bool any_order; /* AdaptiveCpp 24.06 then forgets which events a command of Level Zero depends on */
    sycl::event last;

    void next(sycl::event e)
    {
        last = e;
        if (any_order)
            end();
    }
    void end()
    {
        last.wait();
        EXPECT(last.get_info<sycl::info::event::command_execution_status>() == sycl::info::event_command_status::complete);
    }
};
#define QUEUED(F, ...) l.next(ishmemx_##F##_on_queue(__VA_ARGS__, l.q, {l.last}))
#define QUEUED0(F) l.next(ishmemx_##F##_on_queue(l.q, {l.last}))

static void begin(line &l)
{
    int pe = me, *s = ::s, *d = ::d, *got = ::got;
    uint64_t *flag = ::flag;
    l.next(l.q.parallel_for(sycl::range<1>{ROOM}, [=](sycl::id<1> at) {
        s[at[0]] = pe * 1000 + (int)at[0] + 1;
        d[at[0]] = got[at[0]] = 0;
        if (at[0] < 2)
            flag[at[0]] = 0;
    }));
    QUEUED0(barrier_all);
}

static std::vector<int> copy(line &l, const int *of)
{
    std::vector<int> to(ROOM);
    l.next(l.q.submit([&](sycl::handler &h) {
        h.depends_on(l.last);
        h.memcpy(to.data(), of, ROOM * sizeof(int));
    }));
    l.end();
    return to;
}

static void expect_same(const char *what, const std::vector<int> &is, const std::vector<int> &want)
{
    for (int i = 0; i < ROOM; i++)
        if (is[i] != want[i]) {
            failed++;
            printf("PE %d: %s: element %d is %d, should be %d\n", me, what, i, is[i], want[i]);
            return;
        }
}

static void puts(line &l)
{
    begin(l);
    QUEUED(int_put, d, s, N, to);
    QUEUED(put, d + 100, s, 5, to);
    QUEUED(put32, d + 105, s + 1, 3, to);
    QUEUED(putmem, d + 108, s + 2, 8, to);
    QUEUED(int_iput, d + 110, s, 2, 3, 4, to);
    QUEUED(ibput, d + 120, s, 4, 5, 2, 3, to);
    QUEUED(int_put_nbi, d + 140, s, 40, to);
    QUEUED(putmem_nbi, d + 180, s, 20, to);
    QUEUED0(quiet);
    QUEUED0(sync_all);
    std::vector<int> want(ROOM);
    for (int i = 0; i < N; i++)
        want[i] = value(from, i);
    for (int i = 0; i < 5; i++)
        want[100 + i] = want[180 + i] = value(from, i);
    for (int i = 0; i < 3; i++)
        want[105 + i] = value(from, 1 + i);
    for (int i = 0; i < 2; i++)
        want[108 + i] = value(from, 2 + i);
    for (int i = 0; i < 4; i++)
        want[110 + 2 * i] = value(from, 3 * i);
    for (int i = 0; i < 6; i++)
        want[120 + i / 2 * 4 + i % 2] = value(from, i / 2 * 5 + i % 2);
    for (int i = 0; i < 40; i++)
        want[140 + i] = value(from, i);
    expect_same("puts", copy(l, d), want);
}

static void gets(line &l)
{
    begin(l);
    QUEUED(int_get, got, s, N, to);
    QUEUED(get, got + 100, s, 5, to);
    QUEUED(get64, got + 106, s + 2, 2, to);
    QUEUED(getmem, got + 110, s + 1, 8, to);
    QUEUED(iget, got + 112, s, 2, 3, 4, to);
    QUEUED(int_ibget, got + 120, s, 4, 5, 2, 3, to);
    QUEUED(get32_nbi, got + 140, s, 40, to);
    QUEUED0(quiet);
    std::vector<int> want(ROOM);
    for (int i = 0; i < N; i++)
        want[i] = value(to, i);
    for (int i = 0; i < 5; i++)
        want[100 + i] = value(to, i);
    for (int i = 0; i < 4; i++) {
        want[106 + i] = value(to, 2 + i);
        want[112 + 2 * i] = value(to, 3 * i);
    }
    for (int i = 0; i < 2; i++)
        want[110 + i] = value(to, 1 + i);
    for (int i = 0; i < 6; i++)
        want[120 + i / 2 * 4 + i % 2] = value(to, i / 2 * 5 + i % 2);
    for (int i = 0; i < 40; i++)
        want[140 + i] = value(to, i);
    expect_same("gets", copy(l, got), want);
}

/* The host of the next PE waits for a signal of this queue, for which no host waits. */
static void signals(line &l)
{
    uint64_t *seen = sycl::malloc_host<uint64_t>(1, l.q);
    *seen = 0;
    begin(l);
    QUEUED(int_put_signal, d, s, N, flag, 5, ISHMEM_SIGNAL_ADD, to);
    QUEUED(signal_wait_until, flag, ISHMEM_CMP_EQ, 5, seen);
    QUEUED(putmem_signal_nbi, d + N, s, 20, flag + 1, 9, ISHMEM_SIGNAL_SET, to);
    EXPECT(ishmem_signal_wait_until(flag + 1, ISHMEM_CMP_NE, 0) == 9);
    std::vector<int> want(ROOM);
    for (int i = 0; i < N; i++)
        want[i] = value(from, i);
    for (int i = 0; i < 5; i++)
        want[N + i] = value(from, i);
    expect_same("puts with signals", copy(l, d), want);
    EXPECT(*seen == 5);
    sycl::free(seen, l.q);
}

static void waits(line &l)
{
    size_t *ret = sycl::malloc_host<size_t>(8, l.q), *which = ret + 4;
    int *values = sycl::malloc_host<int>(4, l.q);
    for (int i = 0; i < 8; i++)
        ret[i] = 99;
    for (int i = 0; i < 4; i++)
        values[i] = i == 1 ? value(from, 1) : -1;
    begin(l);
    QUEUED(int_put, d, s, 4, to);
    QUEUED(int_wait_until, d, ISHMEM_CMP_EQ, value(from, 0));
    QUEUED(int_wait_until_all, d, 4, nullptr, ISHMEM_CMP_GT, 0);
    QUEUED(wait_until_any, d, 4, nullptr, ISHMEM_CMP_EQ, value(from, 2), ret);
    QUEUED(int_wait_until_some, d, 4, which, nullptr, ISHMEM_CMP_GE, value(from, 3), ret + 1);
    QUEUED(int_wait_until_all_vector, d, 4, nullptr, ISHMEM_CMP_GE, values);
    QUEUED(int_wait_until_any_vector, d, 4, nullptr, ISHMEM_CMP_EQ, values, ret + 2);
    QUEUED(wait_until_some_vector, d, 4, which + 1, nullptr, ISHMEM_CMP_LE, values, ret + 3);
    l.end();
    EXPECT(ret[0] == 2 && ret[1] == 1 && which[0] == 3 && ret[2] == 1 && ret[3] == 1 && which[1] == 1);
    sycl::free(ret, l.q);
    sycl::free(values, l.q);
}

static void collectives(line &l)
{
    int *ret = sycl::malloc_host<int>(12, l.q), members = ishmem_team_n_pes(pairs);
    for (int i = 0; i < 12; i++)
        ret[i] = 99;
    begin(l);
    QUEUED(int_broadcast, d, s, 5, n - 1, ret);
    QUEUED(broadcastmem, pairs, d + 5, s, 8, 0, ret + 1);
    QUEUED(int_collect, d + 8, s, me % 2 + 1, ret + 2);
    QUEUED(fcollect, pairs, d + 24, s, 2, ret + 3);
    QUEUED(int_alltoall, d + 40, s, 2, ret + 4);
    QUEUED(int_sum_reduce, d + 60, s, N, ret + 5);
    QUEUED(int_max_reduce, pairs, d + 160, s, 3, ret + 6);
    QUEUED(uint_xor_reduce, (unsigned *)d + 164, (unsigned *)s, 3, ret + 7);
    QUEUED(int_sum_inscan, d + 168, s, 3, ret + 8);
    QUEUED(sum_exscan, d + 172, s, 3, ret + 9);
    QUEUED(team_sync, pairs, ret + 10);
    QUEUED0(barrier_all);
    std::vector<int> want(ROOM);
    int last = ishmem_team_translate_pe(pairs, members - 1, ISHMEM_TEAM_WORLD), at = 8;
    for (int i = 0; i < 5; i++)
        want[i] = value(n - 1, i);
    for (int i = 0; i < 2; i++)
        want[5 + i] = value(me % 2, i);
    for (int pe = 0; pe < n; pe++) {
        for (int i = 0; i < pe % 2 + 1; i++)
            want[at++] = value(pe, i);
        for (int i = 0; i < 2; i++)
            want[40 + 2 * pe + i] = value(pe, 2 * me + i);
        for (int i = 0; i < N; i++)
            want[60 + i] += value(pe, i);
        for (int i = 0; i < 3; i++) {
            want[164 + i] ^= value(pe, i);
            want[168 + i] += pe <= me ? value(pe, i) : 0;
            want[172 + i] += pe < me ? value(pe, i) : 0;
        }
    }
    for (int i = 0; i < 2 * members; i++)
        want[24 + i] = value(me % 2 + i / 2 * 2, i % 2);
    for (int i = 0; i < 3; i++)
        want[160 + i] = value(last, i);
    expect_same("collectives", copy(l, d), want);
    for (int i = 0; i < 11; i++)
        EXPECT(ret[i] == 0);
    sycl::free(ret, l.q);
}

int main()
{
    ishmem_init();
    me = ishmem_my_pe();
    n = ishmem_n_pes();
    to = (me + 1) % n;
    from = (me + n - 1) % n;
    s = (int *)ishmem_malloc(ROOM * sizeof *s);
    d = (int *)ishmem_malloc(ROOM * sizeof *d);
    got = (int *)ishmem_malloc(ROOM * sizeof *got);
    flag = (uint64_t *)ishmem_malloc(2 * sizeof *flag);
    ishmem_team_t even, odd = ISHMEM_TEAM_INVALID;
    EXPECT(ishmem_team_split_strided(ISHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &even) == 0);
    if (n > 1)
        EXPECT(ishmem_team_split_strided(ISHMEM_TEAM_WORLD, 1, 2, n / 2, NULL, 0, &odd) == 0);
    pairs = me % 2 ? odd : even;
    line lines[] = {{sycl::queue{sycl::property::queue::in_order()}, false, {}}, {sycl::queue{}, true, {}}};
    for (line &l : lines)
        for (auto run : {puts, gets, signals, waits, collectives}) {
            run(l);
            ishmem_barrier_all();
        }
    ishmem_finalize();
    if (!failed && me == 0)
        printf("all as expected\n");
    return failed != 0;
}
