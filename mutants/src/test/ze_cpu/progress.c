/* progress.c - forward progress: work-items, work-groups and queues that wait for each other. Prints timings to stderr. */
#include <sched.h>

#include "zt.h"

static ze_module_handle_t module;
static _Atomic uint32_t *words;

static void peers(const char *name)
{
    static const uint32_t shape[][2] = {{64, 64}, {8, 1}, {256, 16}, {1024, 4}};
    ze_kernel_handle_t k = zt_kernel(module, name);
    zt_arg(k, 0, sizeof words, &words);
    for (int i = 0; i < 4; i++) {
        memset((void *)words, 0, 65536);
        CHECKF(!zt_run(k, shape[i][0], shape[i][1]), "%s", name);
        for (uint32_t j = 0; j < shape[i][0]; j++)
            CHECKF(words[j], "%s, item %u", name, j);
    }
}

/* Catches: a work-item that polls and does not yield; a group that others wait for and that does not start. */
static void peers_wait(void)
{
    peers("peer");
    peers("peer_volatile");
    peers("peer_busy");
}

/* A kernel with two arguments: `words`, set to 0, and *second, words that no kernel polls. */
static ze_kernel_handle_t with_words(const char *name, _Atomic uint32_t **second)
{
    ze_kernel_handle_t k = zt_kernel(module, name);
    *second = words + 64;
    memset((void *)words, 0, 4096);
    zt_arg(k, 0, sizeof words, &words);
    zt_arg(k, 1, sizeof *second, second);
    return k;
}

static void groups_wait(void)
{
    const char *const name[] = {"last", "half_group"};
    for (int i = 0; i < 2; i++) {
        _Atomic uint32_t *done;
        ze_kernel_handle_t k = with_words(name[i], &done);
        CHECKF(!zt_run(k, 2048, 16), "%s", name[i]);
        CHECKF(*done == 2048, "%s: %u items", name[i], *done);
    }
}

/* Catches: a loop that polls two words alternately and is not recognized as a poll: it does not yield for thousands of loads. */
static void two_words(void)
{
    _Atomic uint32_t *loads;
    ze_kernel_handle_t k = with_words("two_words", &loads);
    CHECK(!zt_run(k, 2, 2));
    CHECKF(*loads < 20, "%u loads in one quantum", *loads);
}

/* Catches: an operation of all work-items that runs without those that poll. */
static void uniform_operations(void)
{
    _Atomic uint32_t *seen;
    ze_kernel_handle_t k = with_words("uniform_ops", &seen);
    ze_event_handle_t e = zt_start(k, 16, 8);
    for (uint32_t i = 1; i <= 3; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
        atomic_store(words, i);
    }
    CHECK(!zeEventHostSynchronize(e, LIMIT_NS));
    for (int i = 0; i < 16; i++)
        CHECKF(seen[i] == 3097, "work-item %d: %u", i, seen[i]);
}

/* Yield, or sleep while other processes use the core, which would keep it for milliseconds after each yield. */
static void yield(void)
{
    static _Thread_local double busy_until;
    double before = zt_now();
    if (before < busy_until) {
        usleep(1);
        return;
    }
    sched_yield();
    double after = zt_now();
    busy_until = after - before > 1e-3 ? after + 0.1 : 0;
}

/* Stores of the host and of the kernel become visible to the other while the kernel runs. */
static void host_and_kernel(void)
{
    enum { TIMES = 2000 };
    uint32_t n = TIMES;
    _Atomic uint32_t *reply;
    ze_kernel_handle_t k = with_words("answer", &reply);
    zt_arg(k, 2, sizeof n, &n);
    ze_event_handle_t e = zt_start(k, 1, 1);
    double t = zt_now();
    for (uint32_t i = 1; i <= TIMES; i++) {
        atomic_store(words, i);
        while (atomic_load(reply) != i && zt_now() - t < 20)
            yield();
    }
    CHECK(!zeEventHostSynchronize(e, LIMIT_NS));
    fprintf(stderr, "# host to kernel and back: %.2f us\n", (zt_now() - t) / TIMES * 1e6);
}

/* Catches: threads whose work-items all poll do not call the hook of zexCpuWhileIdle, or still call it after its removal. */
static _Atomic uint32_t calls;

static int store_later(void)
{
    uint32_t n = atomic_fetch_add(&calls, 1);
    if (n == 100)
        atomic_store((_Atomic uint32_t *)words + 1, 1);
    return n == 100;
}

static void while_idle(void)
{
    void (*set)(int (*)(void)) = NULL;
    CHECK(zeDriverGetExtensionFunctionAddress(zt_driver, "zexNone", (void **)&set) && !set);
    ZE(zeDriverGetExtensionFunctionAddress(zt_driver, "zexCpuWhileIdle", (void **)&set));
    set(store_later);
    memset(words, 0, 8);
    ze_kernel_handle_t k = zt_kernel(module, "peer_volatile");
    zt_arg(k, 0, sizeof words, &words);
    ze_event_handle_t e = zt_start(k, 1, 1); /* does not wait */
    ZE(zeEventHostSynchronize(e, LIMIT_NS));
    CHECK(calls == 0);
    k = zt_kernel(module, "until_one");
    zt_arg(k, 0, sizeof words, &words);
    CHECK(!zt_run(k, 1, 1));
    CHECK(calls > 100);
    set(NULL);
    calls = 0;
    memset(words, 0, 8);
    e = zt_start(k, 1, 1);
    usleep(2000);
    CHECK(calls == 0);
    atomic_store((_Atomic uint32_t *)words + 1, 1);
    ZE(zeEventHostSynchronize(e, LIMIT_NS));
}

/* Catches: a kernel that waits in one queue and blocks copies and kernels in other queues. */
static void queues(void)
{
    enum { SPINNERS = 4 };
    _Atomic uint32_t *done, *data = words + 128;
    ze_kernel_handle_t spin = with_words("spin", &done), inc = zt_kernel(module, "inc");
    ze_event_handle_t e[SPINNERS];
    zt_arg(inc, 0, sizeof data, &data);
    for (int i = 0; i < SPINNERS; i++)
        e[i] = zt_start(spin, 64, 8);
    CHECK(!zt_run(inc, 64, 16));
    CHECK(zeEventQueryStatus(e[0]) == ZE_RESULT_NOT_READY);
    uint32_t one = 1;
    ze_event_handle_t filled = zt_event();
    ZE(zeCommandListAppendMemoryFill(zt_immediate(), (void *)words, &one, 4, 4, filled, 0, NULL));
    for (int i = 0; i < SPINNERS; i++)
        CHECK(!zeEventHostSynchronize(e[i], LIMIT_NS));
    CHECK(*done == SPINNERS * 64 && data[63] == 1);
}

/* ---- a command ring --------------------------------------------------------------------------------------------- */

struct command {
    uint64_t op, dst, val, len, addr, sig;
    uint32_t pe, item;
    _Atomic uint64_t turn;
};
struct ring {
    _Atomic uint64_t *head;
    struct command *slot;
    _Atomic uint64_t *done;
    uint64_t mask;
};
static struct ring *ring;
static uint64_t total, wrong;

static void *proxy(void *unused)
{
    unsigned idle = 0;
    double began = zt_now();
    for (uint64_t t = 0; t < total;) {
        struct command *c = &ring->slot[t & ring->mask];
        if (atomic_load_explicit(&c->turn, memory_order_acquire) != t + 1) {
            if (++idle % 256 == 0) {
                yield();
                if (zt_now() - began > 20)
                    return unused;
            }
            continue;
        }
        uint64_t *to = (uint64_t *)c->dst;
        wrong += c->sig != (t ^ 0x5555) || c->op != 1 || *to + 1 != c->val;
        *to = c->val;
        uint32_t item = c->item;
        atomic_store_explicit(&c->turn, t + ring->mask + 1, memory_order_release);
        atomic_fetch_add_explicit(&ring->done[item * 8], 1, memory_order_release);
        t++;
    }
    return unused;
}

/* Catches: a command that the host sees before all of its words. each: wait for every command. Returns the time in seconds. */
static double ring_time(uint32_t items, uint32_t group, uint32_t n, uint32_t each, uint32_t slots)
{
    ring = zt_host(sizeof *ring);
    *ring = (struct ring){zt_host(64), zt_host(slots * sizeof *ring->slot), zt_host(items * 64u), slots - 1};
    uint64_t *to = zt_host(items * 8u);
    for (uint32_t i = 0; i < slots; i++)
        ring->slot[i].turn = i;
    total = (uint64_t)items * n;
    wrong = 0;
    ze_kernel_handle_t k = zt_kernel(module, "ring");
    zt_arg(k, 0, sizeof ring, &ring);
    zt_arg(k, 1, sizeof n, &n);
    zt_arg(k, 2, sizeof to, &to);
    zt_arg(k, 3, sizeof each, &each);
    pthread_t t;
    pthread_create(&t, NULL, proxy, NULL);
    double began = zt_now();
    CHECK(!zt_run(k, items, group));
    double took = zt_now() - began;
    pthread_join(t, NULL);
    CHECK(!wrong);
    for (uint32_t i = 0; i < items; i++)
        CHECKF(to[i] == n, "item %u: %llu", i, (unsigned long long)to[i]);
    return took;
}

static void rings(void)
{
    double t = ring_time(64, 32, 10000, 0, 1024);
    fprintf(stderr, "# ring, 64 items: %.1f M commands/s\n", 64 * 10000 / t / 1e6);
    t = ring_time(1, 1, 4000, 1, 1024); /* on a busy machine, a round trip takes milliseconds */
    fprintf(stderr, "# ring, one item, round trip: %.2f us\n", t / 4000 * 1e6);
    ring_time(2048, 64, 4, 1, 16); /* far more items than slots */
}

static void loop_speed(void)
{
    enum { N = 65536, TIMES = 200 };
    float *x = zt_host(N * 4), *y = zt_host(N * 4), a = 2;
    int times = TIMES;
    for (int i = 0; i < N; i++)
        x[i] = 1, y[i] = (float)i;
    ze_kernel_handle_t k = zt_kernel(module, "saxpy");
    zt_arg(k, 0, sizeof y, &y);
    zt_arg(k, 1, sizeof x, &x);
    zt_arg(k, 2, sizeof a, &a);
    zt_arg(k, 3, sizeof times, &times);
    struct timespec c0, c1;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &c0);
    CHECK(!zt_run(k, N, 256));
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &c1);
    for (int i = 0; i < N; i++)
        CHECKF(y[i] == (float)i + 2 * TIMES, "item %d", i);
    double ns = (double)(c1.tv_sec - c0.tv_sec) * 1e9 + (double)(c1.tv_nsec - c0.tv_nsec);
    fprintf(stderr, "# saxpy: %.1f ns of one core an iteration\n", ns / N / TIMES);
}

static void build_time(void)
{
    size_t bytes;
    uint8_t *spirv = zt_spirv("progress", &bytes);
    ze_module_handle_t m;
    double best = 1;
    for (int i = 0; i < 20; i++) {
        double t = zt_now();
        CHECK(!zt_build(spirv, bytes, &m, NULL, 0));
        t = zt_now() - t;
        best = t < best ? t : best;
        ZE(zeModuleDestroy(m));
    }
    fprintf(stderr, "# module of %zu bytes: %.3f ms to build\n", bytes, best * 1e3);
    CHECK(best < 0.05);
}

int main(void)
{
    zt_up();
    module = zt_module("progress");
    words = zt_host(65536);
    RUN(peers_wait, "work-items wait for work-items of their group and of others");
    RUN(two_words, "a work-item that polls two words yields");
    RUN(uniform_operations, "operations of all work-items wait for those that poll");
    RUN(groups_wait, "groups wait for groups that have not started");
    RUN(host_and_kernel, "host and kernel exchange words");
    RUN(while_idle, "threads whose work-items all poll call the hook");
    RUN(queues, "queues do not wait for each other");
    RUN(rings, "a ring from all work-items to the host");
    RUN(loop_speed, "a loop of arithmetic");
    RUN(build_time, "building a module");
    return tap_end();
}
