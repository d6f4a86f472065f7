/*
 * lib_host.c - the device library as C11: teams, lengths, groups, order, synchronisation and errors, by loads and stores and
 * through the ring, with requests that complete at once, or late and in any order.
 */
#define SHMEMG_HOST_ITEMS
#include "../torn.h"
#include "world.h"

/* ---- contexts of teams ------------------------------------------------------------------------------------------ */

/* Each kind of operation on member 1 of the even PEs, which is PE 2 of the world. */
static void by_team(void)
{
    shmem_ctx_t even = &world[0].even;
    long *x = AT(long, 0), *r = there(2, x), *other = there(1, x), from[100] = {0}, back[100], f;
    uint64_t *s = AT(uint64_t, 2048);
    for (int i = 0; i < 100; i++)
        from[i] = i + 1, other[i] = -1;
    shmemg_ctx_long_p(even, x, 4, 1);
    shmemg_ctx_quiet(even);
    CHECK(r[0] == 4 && shmemg_ctx_long_g(even, x, 1) == 4);
    shmemg_ctx_long_put(even, x, from, 100, 1);
    shmemg_ctx_fence(even);
    shmemg_ctx_long_put_signal(even, x, from, 3, s, 6, SHMEM_SIGNAL_SET, 1);
    shmemg_ctx_fence(even);
    shmemg_ctx_long_atomic_add(even, x, 5, 1);
    shmemg_ctx_fence(even);
    shmemg_ctx_long_get(even, back, x, 100, 1);
    CHECK(shmemg_ctx_long_atomic_fetch_add(even, x, 7, 1) == 6 && back[99] == 100);
    shmemg_ctx_long_atomic_fetch_add_nbi(even, &f, x, 1, 1);
    shmemg_ctx_quiet(even);
    CHECK(f == 13 && r[0] == 14 && r[99] == 100 && *(uint64_t *)there(2, s) == 6);
    for (int i = 0; i < 100; i++)
        CHECK(other[i] == -1);
    CHECK(shmemg_ctx_my_pe(even) == 0 && shmemg_ctx_n_pes(even) == 3);
    CHECK(shmemg_ctx_ptr(even, x, 1) == shmemg_ptr(x, 2));
}

/* Catches: a team's PE number taken for the world's, in loads and stores, in requests, or in checks; members given as a
 * list taken for evenly spaced ones. */
static void test_teams(void)
{
    for (int way = 0; way < 4; way++) {
        world_lists = way / 2;
        world_up(5, way % 2, 4, 1);
        on_pe(0);
        mine = world[0].heap;
        by_team();
        shmemg_ctx_long_p(&world[0].even, AT(long, 0), 1, 3);
        CHECK(world[0].fault == (3 << 8 | SHI_FAULT_PE));
        world[0].fault = 0;
        shmem_team_t all = SHMEM_DEVICE_TEAM_WORLD, even = SHMEM_DEVICE_TEAM_SHARED;
        CHECK(shmemg_team_n_pes(even) == 3 && shmemg_team_my_pe(even) == 0 && shmemg_team_n_pes(NULL) == -1);
        CHECK(shmemg_team_translate_pe(even, 2, all) == 4 && shmemg_team_translate_pe(all, 2, even) == 1);
        CHECK(shmemg_team_translate_pe(all, 1, even) == -1 && shmemg_team_translate_pe(even, 3, all) == -1);
        CHECK(shmemg_team_translate_pe(all, -1, all) == -1 && shmemg_team_translate_pe(all, 0, NULL) == -1);
        struct shi_dev_team back = {.start = 4, .stride = -2, .n = 2, .me = -1};
        CHECK(shmemg_team_translate_pe(&back, 1, even) == 1 && shmemg_team_translate_pe(even, 0, &back) == -1);
        CHECK(shmemg_team_translate_pe(even, 2, &back) == 0);
        world_down();
    }
    world_lists = 0;
}

/* ---- lengths and alignments ------------------------------------------------------------------------------------- */

/* Put, get and put-with-signal between odd addresses; the source is overwritten once a blocking put returns. */
static void bytes(size_t n, size_t from, size_t to)
{
    static const size_t edge = 16;
    char *a = mine + 4096 + from, *b = mine + 8192 + to, *back = mine + 12288 + from, *r = there(1, b);
    uint64_t *s = AT(uint64_t, 0), *rs = there(1, s);
    for (int signalled = 0; signalled < 2; signalled++) {
        memset(r - edge, 1, n + 2 * edge), memset(back - edge, 1, n + 2 * edge);
        for (size_t i = 0; i < n; i++)
            a[i] = (char)(i * 7 + n);
        if (signalled)
            shmemg_putmem_signal(b, a, n, s, n, SHMEM_SIGNAL_SET, 1);
        else
            shmemg_putmem(b, a, n, 1);
        memset(a, 0x55, n);
        shmemg_quiet();
        int wrong = r[-1] != 1 || r[n] != 1 || (signalled && *rs != n);
        for (size_t i = 0; i < n; i++)
            wrong |= r[i] != (char)(i * 7 + n);
        CHECKF(!wrong, "%zu bytes from %zu to %zu, signal %d", n, from, to, signalled);
        shmemg_getmem(back, b, n, 1);
        CHECKF(!memcmp(back, r, n) && back[-1] == 1 && back[n] == 1, "get of %zu bytes to %zu from %zu", n, from, to);
    }
}

static void lengths(int direct)
{
    static const size_t length[] = {0, 1, 7, 8, 15, 31, 32, 33, 47, 48, 49, 64, 100, 1000};
    world_up(2, direct, 4, 1);
    on_pe(0);
    mine = world[0].heap;
    for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
        int before[4] = {asked(0, 0), asked(0, 1), asked(0, 2), asked(0, 3)};
        size_t n = length[i];
        for (size_t k = 0; k < 36; k++)
            bytes(n, k % 6 * 3, 16 + k / 6 * 3);
        int want[4] = {n > 48, n && n <= 48, n > 32, n <= 32};
        for (int op = 0; op < 4; op++)
            CHECKF(asked(0, op) - before[op] == (direct ? 0 : want[op] * 36), "%zu bytes: request %d", n, op);
    }
    world_down();
}

/* Catches: the first or last bytes of a copy lost, a copy one byte too long, payloads truncated at 48 or 32, a blocking
 * put that returns before its source was read, requests of 0 bytes. */
static void test_lengths(void)
{
    lengths(1);
    lengths(0);
}

static void put_watched(size_t n, size_t word, size_t from, size_t to)
{
    char *a = mine + 4096 + from * word, *b = mine + 8192 + to * word, *r = there(1, b);
    memset(mine + 4096, 1, 2048), memset(mine + 6144, 2, 2048), memset(r, 1, n * word);
    if (!CHECK(torn_watch(r, n * word, word)))
        return;
    for (int i = 0; i < 1000; i++)
        shmemg_putmem(b, a + i % 2 * 2048, n * word, 1);
    if (word == 2)
        for (int i = 0; i < 1000; i++)
            shmemg_short_p((short *)b, i % 2 ? 0x101 : 0x202, 1);
    size_t found = torn_found();
    CHECKF(found == 0, "%zu words of %zu bytes from %zu to %zu: %zu were half written", n, word, from, to, found);
}

/* Catches: elements before or behind the largest aligned units copied byte by byte: another PE may wait for each. */
static void test_words(void)
{
    world_up(2, 1, 4, 1);
    on_pe(0);
    mine = world[0].heap;
    for (size_t word = 2; word <= 8; word *= 2)
        for (size_t n = 1; n < 9; n++)
            for (size_t k = 0; k < 16; k++)
                put_watched(n, word, k / 4, k % 4);
    world_down();
}

/* ---- groups ----------------------------------------------------------------------------------------------------- */

enum { LANES = 8, WIDTH = 4 };

static char group_source[2][1024]; /* one per sub-group; the work-group uses the first */

static void fill(char *p, size_t n, int seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (char)((int)i * 3 + seed);
}
static int is_filled(const char *p, size_t n, int seed)
{
    int wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong |= p[i] != (char)((int)i * 3 + seed);
    return !wrong;
}

/* One lane writes the source just before all put it; another one checks the result just after. */
#define GROUP_ROUND(S, G, GROUP, PLACE)                                                                              \
    for (size_t n = 0; n < 700; n = n * 2 + 5) {                                                                     \
        char *dest = world[0].heap + (PLACE), *source = group_source[GROUP], *r = there(1, dest);                    \
        uint64_t *s = (uint64_t *)(world[0].heap + (PLACE) + 2048), *rs = there(1, s);                               \
        int first = shi_rank(G) == 0, last = shi_rank(G) == shi_lanes(G) - 1;                                        \
        if (last)                                                                                                    \
            fill(source, n, (int)n), *rs = 0;                                                                        \
        shmemg_putmem##S(dest, source, n, 1);                                                                        \
        shmemg_quiet##S();                                                                                           \
        if (last)                                                                                                    \
            CHECKF(is_filled(r, n, (int)n), "putmem" #S " of %zu", n), fill(source, n, 9);                           \
        shmemg_putmem_signal_nbi##S(dest, source, n, s, 5, SHMEM_SIGNAL_ADD, 1);                                     \
        shmemg_quiet##S();                                                                                           \
        if (first)                                                                                                   \
            CHECKF(is_filled(r, n, 9) && *rs == 5, "putmem_signal_nbi" #S " of %zu", n);                             \
        shmemg_getmem##S(source, dest, n, 1);                                                                        \
        if (last)                                                                                                    \
            CHECKF(is_filled(source, n, 9), "getmem" #S " of %zu", n), *(uint64_t *)(dest + 2056) = n;               \
        shmemg_fence##S();                                                                                           \
        CHECKF(shmemg_signal_wait_until##S((uint64_t *)(dest + 2056), SHMEM_CMP_EQ, n) == n, "wait" #S);             \
        CHECKF(shmemg_ulong_test##S((unsigned long *)(dest + 2056), SHMEM_CMP_GT, n) == 0, "test" #S);               \
    }

static void work_group(void)
{
    GROUP_ROUND(_tg, SHI_TG, 0, 4096)
}
static void sub_groups(void)
{
    GROUP_ROUND(_htg, SHI_HTG, my_lane / WIDTH, 8192 + my_lane / WIDTH * 4096)
}
static void private_source(void)
{
    shi_private.from = (uintptr_t)group_source;
    shi_private.to = (uintptr_t)(group_source + 2);
    sub_groups();
    shmemg_quiet_tg();
    work_group();
}

static void groups(int direct, unsigned log_n, int late, int lockstep)
{
    world_up(2, direct, log_n, late);
    world[0].ctx.lockstep = lockstep;
    run_lanes(1, LANES, WIDTH, lockstep ? sub_groups : work_group);
    run_lanes(1, LANES, WIDTH, sub_groups);
    world_down();
}

/* Catches: a part of a copy without a lane, a group that posts before all lanes have written, or leaves before the
 * end. */
static void test_groups(void)
{
    groups(1, 4, 0, 0);
    groups(0, 4, 1, 0);
    groups(0, 1, 1, 0);
}

/* Catches: an address sent to the proxy that it cannot read; more tickets of a group than the ring has slots. */
static void test_private(void)
{
    for (unsigned log_n = 1; log_n < 5; log_n++) {
        world_up(2, 0, log_n, 1);
        run_lanes(1, LANES, WIDTH, private_source);
        CHECK(asked(0, SHI_OP_PUT) == 0 && asked(0, SHI_OP_PUT_SIGNAL) == 0 && asked(0, SHI_OP_GET) == 0);
        world_down();
    }
}

static void alone(void)
{
    mine = world[0].heap;
    world[0].ctx.lockstep = 1;
    bytes(48, 0, 16);
    bytes(100, 3, 16);
    shi_private.from = (uintptr_t)world[0].heap + 4096;
    shi_private.to = shi_private.from + 4096;
    bytes(1000, 3, 16);
    long f = 0, *x = AT(long, 0);
    shi_private.from = (uintptr_t)&f;
    shi_private.to = shi_private.from + sizeof f;
    *(long *)there(1, x) = 3;
    shmemg_long_atomic_fetch_add_nbi(&f, x, 4, 1);
    CHECK(f == 3 && shmemg_long_atomic_fetch(x, 1) == 7);
}

/* Catches: lanes in lock step that take single tickets, a result for private memory sent to its address. */
static void test_lockstep(void)
{
    world_up(2, 0, 3, 1);
    run_lanes(1, 1, 1, alone);
    world_down();
}

/* ---- order ------------------------------------------------------------------------------------------------------ */

enum { ROUNDS = 400 };

/* PE 0 sends, PE 1 checks the data after the signal and answers. There are three ways to signal. */
static void ping(void)
{
    shmem_ctx_t ctx = SHMEM_DEVICE_CTX_DEFAULT;
    char *data = (char *)ctx->heap + 1024, *source = (char *)ctx->heap + 8192;
    uint64_t *there_is = (uint64_t *)ctx->heap, *answer = there_is + 1, *added = there_is + 2, sum = 0;
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        size_t n = 1 + i * 13 % 600;
        if (ctx->me == 0) {
            fill(source, n, (int)i);
            shi_private.from = (uintptr_t)source;
            shi_private.to = shi_private.from + i / 3 % 2 * 1024; /* in pieces, every second time */
            if (i % 3 == 0) {
                shmemg_putmem_signal(data, source, n, there_is, i, SHMEM_SIGNAL_SET, 1);
            } else if (i % 3 == 1) {
                shmemg_putmem_nbi(data, source, n, 1);
                shmemg_fence();
                shmemg_signal_set(there_is, i, 1);
                shmemg_quiet();
            } else {
                shmemg_putmem(data, source, n, 1);
                shmemg_quiet();
                shmemg_ctx_ulong_p(ctx, there_is, i, 1);
            }
            shmemg_signal_wait_until(answer, SHMEM_CMP_EQ, i);
        } else {
            CHECK(shmemg_signal_wait_until(there_is, SHMEM_CMP_GE, i) == i);
            CHECKF(is_filled(data, n, (int)i), "signal %lu before its data", (unsigned long)i);
            shmemg_signal_add(added, i, 0);
            shmemg_fence();
            shmemg_signal_set(answer, i, 0);
        }
        sum += i;
    }
    CHECK(ctx->me == 1 || shmemg_signal_fetch(added) == sum);
}

/* Catches: a signal visible before its data, or before all pieces of it, a fence without effect, a quiet that returns
 * too early. */
static void test_order(void)
{
    for (int how = 0; how < 3; how++) {
        world_up(2, how == 0, 3, how == 2);
        run_lanes(2, 1, 1, ping);
        world_down();
    }
}

/* ---- sync ------------------------------------------------------------------------------------------------------- */

static int came;

static void sync_all(void)
{
    int all = world_n, even = world_n / 2 + 1, me = shmemg_my_pe(), lanes = (int)shi_lanes(SHI_TG);
    for (int i = 1; i <= 60; i++) {
        int (*const sync[])(void) = {shmemg_sync_all, shmemg_sync_all_htg, shmemg_sync_all_tg};
        int (*const team[])(shmem_team_t) = {shmemg_team_sync, shmemg_team_sync_htg, shmemg_team_sync_tg};
        int form = lanes > 1 ? 2 : i % 3;
        __atomic_fetch_add(&came, 1, __ATOMIC_RELAXED);
        CHECK(sync[form]() == 0);
        CHECKF(__atomic_load_n(&came, __ATOMIC_RELAXED) >= i * all * lanes, "sync %d returned too early", i);
        CHECK(sync[form]() == 0);
        if (me % 2 == 0)
            CHECK(team[form](SHMEM_DEVICE_TEAM_SHARED) == 0 && even > 0);
        CHECK(team[form](SHMEM_DEVICE_TEAM_WORLD) == 0);
    }
}

/* A later team of all PEs, with the flags of the even PEs' team. */
static void sync_again(void)
{
    int me = shmemg_my_pe();
    struct shi_dev_team *later = &world[me].some;
    for (int i = 1; i <= 20; i++) {
        __atomic_fetch_add(&came, 1, __ATOMIC_RELAXED);
        CHECK(shmemg_team_sync(later) == 0);
        CHECKF(__atomic_load_n(&came, __ATOMIC_RELAXED) >= i * world_n, "sync %d of a later team was too early", i);
        CHECK(shmemg_team_sync(later) == 0);
    }
}

/* Catches: PEs that leave before all have entered, flags of one sync taken for the next one's, a wrong number of PEs,
 * flags of an earlier team taken for a later one's. */
static void test_sync(void)
{
    for (int how = 0; how < 3; how++)
        for (int n = 1; n <= WORLD_MAX; n += 2) {
            world_lists = how == 1;
            world_up(n, how == 0, 3, how == 2);
            came = 0;
            run_lanes(n, n == 3 ? 4 : 1, n == 3 ? 4 : 1, sync_all);
            came = 0;
            for (int i = 0; i < n; i++) {
                struct shi_dev_team *t = &world[i].some;
                t->start = n - 1, t->stride = -1, t->n = n, t->me = n - 1 - i;
            }
            run_lanes(n, 1, 1, sync_again);
            world_down();
        }
}

/* ---- refused calls ---------------------------------------------------------------------------------------------- */

/* The call records this error, changes no memory and posts no request. */
#define REFUSED(kind, culprit, call)                                                                                 \
    do {                                                                                                             \
        int asked_before = all_asked();                                                                              \
        world[0].fault = shmemg_fault_ = 0;                                                                          \
        (void)(call);                                                                                                \
        uint64_t fault = world[0].fault | shmemg_fault_, say = (uint64_t)(culprit) << 8 | (kind);                    \
        CHECKF(fault == say, #call ": %#lx, not %#lx", (unsigned long)fault, (unsigned long)say);                    \
        CHECK(all_asked() == asked_before);                                                                          \
        world[0].fault = shmemg_fault_ = 0;                                                                          \
    } while (0)

static void refuse(void)
{
    long stack = 0, *x = AT(long, 64), f = 4;
    uint64_t *s = AT(uint64_t, 0);
    char *end = mine + HEAP_BYTES, *low = mine - 1;
    REFUSED(SHI_FAULT_PE, 2, shmemg_long_p(x, 1, 2));
    REFUSED(SHI_FAULT_PE, 0xffffffff, shmemg_long_put(x, x, 1, -1));
    REFUSED(SHI_FAULT_PE, 1 << 30, shmemg_long_g(x, 1 << 30));
    REFUSED(SHI_FAULT_ADDRESS, (uint64_t)&stack, shmemg_long_put(&stack, x, 1, 1));
    REFUSED(SHI_FAULT_ADDRESS, (uint64_t)&stack, shmemg_long_get(x, &stack, 1, 1));
    REFUSED(SHI_FAULT_ADDRESS, (uint64_t)(end - 4), shmemg_putmem_nbi(end - 4, x, 5, 1));
    REFUSED(SHI_FAULT_ADDRESS, (uint64_t)low, shmemg_putmem_tg(low, x, 8, 1));
    REFUSED(SHI_FAULT_ADDRESS, (uint64_t)x, shmemg_putmem(x, x, SIZE_MAX, 1));
    REFUSED(SHI_FAULT_ADDRESS, (uint64_t)(mine + 2), shmemg_int_atomic_inc((int *)(mine + 2), 1));
    REFUSED(SHI_FAULT_ADDRESS, (uint64_t)end, shmemg_long_atomic_fetch_inc_nbi(&f, (long *)end, 1));
    REFUSED(SHI_FAULT_ADDRESS, (uint64_t)&stack, shmemg_long_wait_until(&stack, SHMEM_CMP_EQ, 1));
    REFUSED(SHI_FAULT_ADDRESS, (uint64_t)end, shmemg_putmem_signal(x, x, 8, (uint64_t *)end, 1, SHMEM_SIGNAL_SET, 1));
    REFUSED(SHI_FAULT_OPERATOR, 3, shmemg_putmem_signal(x, x, 8, s, 1, 3, 1));
    REFUSED(SHI_FAULT_OPERATOR, 7, shmemg_long_wait_until(x, 7, 1));
    REFUSED(SHI_FAULT_OPERATOR, 0, shmemg_signal_wait_until_htg(s, 0, 1));
    REFUSED(SHI_FAULT_TEAM, 0, shmemg_team_sync(NULL));
    CHECK(f == 4 && stack == 0);
    world[0].ctx.version++;
    REFUSED(SHI_FAULT_CONTEXT, (uint64_t)&world[0].ctx, shmemg_ctx_quiet(&world[0].ctx));
    REFUSED(SHI_FAULT_CONTEXT, (uint64_t)&world[0].ctx, CHECK(shmemg_ctx_long_atomic_fetch(&world[0].ctx, x, 1) == 0));
    world[0].ctx.version--;
    SHMEMG_DEFAULT_ = (struct shi_dev_ctx){0};
    REFUSED(SHI_FAULT_CONTEXT, (uint64_t)SHMEM_DEVICE_CTX_DEFAULT, CHECK(shmemg_my_pe() == -1));
    REFUSED(SHI_FAULT_CONTEXT, (uint64_t)SHMEM_DEVICE_CTX_DEFAULT, shmemg_long_p(x, 1, 1));
    REFUSED(SHI_FAULT_CONTEXT, (uint64_t)SHMEM_DEVICE_CTX_DEFAULT, shmemg_fence_tg());
    REFUSED(SHI_FAULT_CONTEXT, (uint64_t)SHMEM_DEVICE_CTX_DEFAULT, CHECK(shmemg_sync_all() == -1));
    REFUSED(SHI_FAULT_CONTEXT, (uint64_t)SHMEM_DEVICE_CTX_DEFAULT, shmemg_signal_wait_until(s, SHMEM_CMP_EQ, 1));
    REFUSED(SHI_FAULT_CONTEXT, 0, shmemg_ctx_putmem(NULL, x, x, 8, 1));
}

/* Catches: an invalid access instead of an error; a second error that replaces the first; a module without its
 * context. */
static void test_faults(void)
{
    for (int direct = 0; direct < 2; direct++) {
        world_up(2, direct, 4, 0);
        on_pe(0);
        mine = world[0].heap;
        refuse();
        on_pe(0);
        shmemg_long_p(AT(long, 0), 1, 5);
        shmemg_long_p(AT(long, 0), 1, 6);
        CHECK(world[0].fault == (5 << 8 | SHI_FAULT_PE));
        world[0].fault = 0;
        world_down();
    }
}

static void wait_for_ever(void)
{
    uint64_t *s = AT(uint64_t, 0);
    if (my_lane == 0)
        shmemg_signal_wait_until(s, SHMEM_CMP_EQ, 1);
    else if (my_lane == 1)
        CHECK(shmemg_sync_all() != 0);
    else if (my_lane == 2)
        shmemg_quiet();
    else
        shmemg_long_atomic_fetch(AT(long, 64), 1);
}

static void *abort_soon(void *arg)
{
    for (int i = 0; i < 200; i++)
        sched_yield();
    shi_engine_abort(world[0].engine, 3);
    return arg;
}

/* Catches: a work-item that waits for ever after an abort. */
static void test_abort(void)
{
    world_up(2, 0, 2, 0);
    mine = world[0].heap;
    world[0].ring.head = 1; /* a ticket whose slot is never written: no request completes after it */
    pthread_t t;
    pthread_create(&t, NULL, abort_soon, NULL);
    run_lanes(1, 4, 4, wait_for_ever);
    pthread_join(t, NULL);
    world_down();
}

int main(void)
{
    RUN(test_teams, "contexts and numbers of teams");
    RUN(test_lengths, "lengths around the inline limits, odd addresses");
    RUN(test_words, "aligned words are never half written");
    RUN(test_groups, "work-groups and sub-groups copy together");
    RUN(test_private, "memory that only a work-item or its group can access");
    RUN(test_lockstep, "lanes in lock step");
    RUN(test_order, "data before signal, fence and quiet");
    RUN(test_sync, "syncs of all PEs and of teams");
    RUN(test_faults, "refused calls are recorded and have no effect");
    RUN(test_abort, "an abort releases every waiter");
    return tap_end();
}
