/*
 * space.c - spaces (shmemx_space_create): random creation and destruction with puts, gets and atomics into them, against an oracle.
 *
 * All PEs roll the same dice, so each knows what every other does. Built twice: PRIVATE_MEMORY makes the driver on the CPU allocate device
 * memory that the host cannot access.
 */
#include "../tap_pes.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <shmemx.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#ifndef PRIVATE_MEMORY
#define PRIVATE_MEMORY 0
#endif

enum { SPACES = 6, BLOCKS = 3, STEPS = 60, FEWER = 30, WORDS_MAX = 4000, MOST = 32, HUGE_PAGE = 2 << 20 };

static unsigned dice = 4711;

static unsigned roll(unsigned n)
{
    return tap_random(&dice) % n;
}

/* ---- what the system knows of an address ------------------------------------------------------------------------- */

/* KiB of huge pages in the mapping that begins at `at`. */
static long huge_kib(const void *at)
{
    char line[512];
    long kib = 0, value;
    unsigned long from, to;
    int inside = 0;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = from == (unsigned long)at;
        else if (inside && sscanf(line, "ShmemPmdMapped: %ld", &value) == 1)
            kib = value;
    if (f)
        fclose(f);
    return kib;
}

/* The memory policy of the page: 0 the default, 2 of one node, 3 of all in turn; -1: the system does not say. */
static int policy_of(const void *at)
{
    int mode = -1;
    return syscall(SYS_get_mempolicy, &mode, NULL, 0, at, 2) ? -1 : mode & 7;
}

static int count_files(void)
{
    int n = 0;
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

/* Mappings of the node's file, and the KiB that it has. */
static int count_maps(long *kib)
{
    char line[512], file[64], name[256];
    int n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    while (f && fgets(line, sizeof line, f))
        n += strstr(line, "memfd:") || strstr(line, "/dev/shm/");
    if (f)
        fclose(f);
    *kib = 0;
    for (int i = 0; i < 100; i++) {
        struct stat st;
        snprintf(file, sizeof file, "/proc/self/fd/%d", i);
        ssize_t length = readlink(file, name, sizeof name - 1);
        if (length > 0 && (name[length] = 0, strstr(name, "memfd:")) && fstat(i, &st) == 0)
            *kib += (long)st.st_blocks / 2;
    }
    return n;
}

/* ---- random spaces ----------------------------------------------------------------------------------------------- */

static struct one {
    shmemx_space_t space;
    shmem_team_t team;
    int n, mine;      /* members, this PE's number */
    int device;
    struct {
        uint64_t *at, *due; /* due: what it has to contain here */
        int words;
    } block[BLOCKS];
    int exists; /* on some PE */
    int parts;  /* teams that have one */
} spaces[SPACES];

static int steps_now;

static void verify(struct one *s, int b)
{
    static uint64_t got[WORDS_MAX];
    shmem_getmem(got, s->block[b].at, (size_t)s->block[b].words * 8, me); /* the host may not load device memory */
    for (int i = 0, bad = 0; i < s->block[b].words && bad < 3; i++)
        bad += !CHECKF(got[i] == s->block[b].due[i], "word %d of %d is %#lx, not %#lx", i, s->block[b].words, (long)got[i],
                       (long)s->block[b].due[i]);
}

static void allocate(struct one *s, int words, unsigned how)
{
    int b = 0;
    while (b < BLOCKS && s->block[b].at)
        b++;
    if (b == BLOCKS || s->space == SHMEMX_SPACE_INVALID)
        return;
    size_t bytes = (size_t)words * 8;
    uint64_t *at = how == 0   ? shmemx_space_malloc(s->space, bytes)
                   : how == 1 ? shmemx_space_calloc(s->space, (size_t)words, 8)
                              : shmemx_space_align(s->space, 4096, bytes);
    CHECK(at != NULL && (uintptr_t)at % (how == 2 ? 4096 : 64) == 0);
    s->block[b].at = at;
    s->block[b].words = words;
    s->block[b].due = calloc((size_t)words, 8);
    if (how != 1) { /* its contents are not defined: give it some */
        for (int i = 0; i < words; i++)
            s->block[b].due[i] = (uint64_t)i * 3;
        shmem_putmem(at, s->block[b].due, bytes, me);
        shmem_quiet();
    }
    shmem_team_sync(s->team);
}

/* Each member puts words to the next, and adds to words of the one after; all from one member's view. */
static void operate(struct one *s, int b, uint64_t stamp)
{
    static uint64_t from[WORDS_MAX];
    uint64_t *at = s->block[b].at, *due = s->block[b].due;
    int words = s->block[b].words, half = words / 2, n = s->n;
    int next = shmem_team_translate_pe(s->team, (s->mine + 1) % n, SHMEM_TEAM_WORLD);
    int after = shmem_team_translate_pe(s->team, (s->mine + 2) % n, SHMEM_TEAM_WORLD);
    for (int i = 0; i < half; i++)
        from[i] = stamp << 32 | (uint64_t)(s->mine * 10000 + i);
    if (stamp % 2)
        shmem_putmem(at, from, (size_t)half * 8, next);
    else
        shmem_put64_nbi(at, from, (size_t)half, next);
    shmem_uint64_atomic_add(&at[half], 5 + (uint64_t)s->mine, after);
    uint64_t before = shmem_uint64_atomic_fetch_add(&at[half + 1], 1, after);
    CHECKF(before >= due[half + 1], "%ld before an addition", (long)before);
    shmem_quiet();
    shmem_team_sync(s->team);
    int left = (s->mine + n - 1) % n, second = (s->mine + 2 * n - 2) % n;
    for (int i = 0; i < half; i++)
        due[i] = stamp << 32 | (uint64_t)(left * 10000 + i);
    due[half] += 5 + (uint64_t)second;
    due[half + 1]++;
    verify(s, b);
    shmem_team_sync(s->team);
}

static void release(struct one *s, int b)
{
    verify(s, b);
    shmemx_space_free(s->space, s->block[b].at);
    free(s->block[b].due);
    s->block[b].at = s->block[b].due = NULL;
}

static void destroy(struct one *s)
{
    if (s->exists && s->space != SHMEMX_SPACE_INVALID) {
        for (int b = 0; b < BLOCKS; b++) {
            if (s->block[b].at)
                verify(s, b);
            free(s->block[b].due);
        }
        CHECK(shmemx_space_destroy(s->space) == 0);
    }
    *s = (struct one){.space = SHMEMX_SPACE_INVALID};
}

/* A space of all PEs, or one each of those with even and with odd numbers, or of the first ones alone. */
static void create(struct one *s)
{
    unsigned who = roll(3), kind = roll(6);
    int first = 1 + (int)roll((unsigned)n_pes), device = kind == 5;
    shmemx_space_config_t got, c = {.size = 200000 + roll(3000000), .memory = device ? SHMEMX_MEMORY_DEVICE : SHMEMX_MEMORY_HOST};
    shmem_team_t team = SHMEM_TEAM_WORLD;
    c.flags = kind == 1 ? SHMEMX_SPACE_HUGE : kind == 2 ? SHMEMX_SPACE_READ_MOSTLY : kind == 3 ? SHMEMX_SPACE_HUGE | SHMEMX_SPACE_READ_MOSTLY : 0;
    *s = (struct one){.space = SHMEMX_SPACE_INVALID, .exists = 1, .device = device};
    if (who)
        shmemx_team_split_color(SHMEM_TEAM_WORLD, who == 1 ? me % 2 : me < first ? 0 : -1, 0, NULL, 0, &team);
    if (team == SHMEM_TEAM_INVALID)
        return;
    CHECK(shmemx_space_create(team, &c, &s->space) == 0 && s->space != SHMEMX_SPACE_INVALID);
    if (who)
        shmem_team_destroy(team); /* the space has one of its own */
    CHECK(shmemx_space_get_team(s->space, &s->team) == 0);
    CHECK(shmemx_space_get_config(s->space, &got) == 0 && got.memory == c.memory && got.flags == c.flags && got.size >= c.size);
    s->n = shmem_team_n_pes(s->team);
    s->mine = shmem_team_my_pe(s->team);
}

static void random_steps(void)
{
    for (int step = 1; step <= steps_now; step++) {
        struct one *s = &spaces[roll(SPACES)];
        unsigned what = roll(8), words = 4 + roll(WORDS_MAX - 4), how = roll(3);
        int b = (int)roll(BLOCKS);
        if (!s->exists)
            create(s);
        else if (what == 0)
            destroy(s);
        else if (s->space != SHMEMX_SPACE_INVALID && (what < 4 || !s->block[b].at))
            allocate(s, (int)words, how);
        else if (s->space != SHMEMX_SPACE_INVALID && what == 4)
            release(s, b);
        else if (s->space != SHMEMX_SPACE_INVALID)
            operate(s, b, (uint64_t)step);
    }
    for (int i = 0; i < SPACES; i++)
        destroy(&spaces[i]);
    shmem_barrier_all();
}

/* Each PE with each other one. */
static void meet_all(void)
{
    static int word;
    for (int pe = 0; pe < n_pes; pe++)
        shmem_int_atomic_fetch(&word, pe);
    shmem_barrier_all();
}

/* Catches: a space whose memory is another's, on another node too; contents that change when other spaces come and go; a place or a handle
 * that is used twice; an end that leaves mappings, pages or descriptors. */
static void test_random(void)
{
    long kib, kib_after;
    shmemg_free(shmemg_malloc(64)); /* the device heap is there now, and stays */
    random_steps();
    meet_all(); /* the network's connections are there, too */
    int files = count_files(), maps = count_maps(&kib);
    random_steps();
    int maps_after = count_maps(&kib_after);
    CHECKF(count_files() == files, "%d files, %d before", count_files(), files);
    CHECKF(maps_after == maps, "%d mappings of the node's file, %d before", maps_after, maps);
    CHECKF(kib_after <= kib + 2048, "the node's file has %ld KiB, %ld before", kib_after, kib);
}

/* ---- kinds ------------------------------------------------------------------------------------------------------- */

static shmemx_space_t space_of(long flags, int node, size_t size)
{
    const shmemx_space_config_t c = {.memory = SHMEMX_MEMORY_HOST, .flags = flags, .size = size, .numa_node = node};
    shmemx_space_t s = SHMEMX_SPACE_INVALID;
    CHECK(shmemx_space_create(SHMEM_TEAM_WORLD, &c, &s) == 0);
    return s;
}

/* Catches: pages that are not of the kind, at this PE or in a peer's mapping; a range that keeps its kind for the next space. */
static void test_kinds(void)
{
    shmemx_space_t s = space_of(SHMEMX_SPACE_HUGE, 0, 2 * HUGE_PAGE);
    char *at = shmemx_space_malloc(s, 2 * HUGE_PAGE - 4096), *peer = shmem_ptr(at, next_pe());
    CHECK(at && (uintptr_t)at % HUGE_PAGE == 0 && huge_kib(at) == 4096);
    if (peer) {
        peer[me] = 1;
        peer[HUGE_PAGE] = 1;
        CHECKF(huge_kib(peer) == 4096, "%ld KiB of a peer's space are mapped as huge pages", huge_kib(peer));
    }
    shmem_barrier_all();
    CHECK(shmemx_space_destroy(s) == 0);
    for (int k = 0; k < 3; k++) {
        static const long flags[] = {SHMEMX_SPACE_NUMA, SHMEMX_SPACE_READ_MOSTLY, 0};
        static const int policy[] = {2, 3, 0};
        s = space_of(flags[k], 0, 1 << 20);
        at = shmemx_space_calloc(s, 1, 1000);
        CHECKF(policy_of(at) == policy[k] || policy_of(at) == -1, "policy %d for flags %ld", policy_of(at), flags[k]);
        CHECK(shmemx_space_destroy(s) == 0);
    }
}

/* Catches: a refusal on one PE that others do not see; a space that is half there; a place that is lost. */
static void test_refused(void)
{
    static const shmemx_space_config_t wrong[] = {
        {.memory = SHMEMX_MEMORY_HOST, .flags = SHMEMX_SPACE_NUMA, .size = 4096, .numa_node = 900},
        {.memory = SHMEMX_MEMORY_HOST, .flags = SHMEMX_SPACE_NUMA, .size = 4096, .numa_node = -1},
        {.memory = SHMEMX_MEMORY_HOST, .flags = 64, .size = 4096},
        {.memory = SHMEMX_MEMORY_HOST, .flags = SHMEMX_SPACE_NUMA | SHMEMX_SPACE_READ_MOSTLY, .size = 4096},
        {.memory = SHMEMX_MEMORY_HOST, .flags = SHMEMX_SPACE_HUGE, .size = (size_t)1 << 44},
        {.memory = SHMEMX_MEMORY_HOST, .size = 0},
        {.memory = SHMEMX_MEMORY_HOST, .size = SIZE_MAX},
        {.memory = SHMEMX_MEMORY_DEVICE, .flags = SHMEMX_SPACE_HUGE, .size = 4096},
        {.memory = 7, .size = 4096},
    };
    static const int err[] = {-19, -19, -22, -22, -12, -22, -22, -22, -22}; /* ENODEV EINVAL ENOMEM */
    shmemx_space_t s;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int got = shmemx_space_create(SHMEM_TEAM_WORLD, &wrong[i], &s);
        CHECKF(got == err[i] && s == SHMEMX_SPACE_INVALID, "case %d: %d", (int)i, got);
    }
    const shmemx_space_config_t one_wrong = {.memory = SHMEMX_MEMORY_HOST, .flags = SHMEMX_SPACE_NUMA, .size = 1 << 16,
                                             .numa_node = me == n_pes - 1 ? 900 : 0};
    CHECK(shmemx_space_create(SHMEM_TEAM_WORLD, &one_wrong, &s) == -19 && s == SHMEMX_SPACE_INVALID);
    CHECK(shmemx_space_create(SHMEM_TEAM_INVALID, &one_wrong, &s) == -22);
    shmemx_space_t all[MOST];
    for (int i = 0; i < MOST; i++)
        all[i] = space_of(0, 0, 4096);
    const shmemx_space_config_t more = {.memory = SHMEMX_MEMORY_HOST, .size = 4096};
    CHECK(shmemx_space_create(SHMEM_TEAM_WORLD, &more, &s) == -28); /* ENOSPC */
    for (int i = 0; i < MOST; i++)
        CHECK(shmemx_space_destroy(all[i]) == 0);
    CHECK(shmemx_space_destroy(SHMEMX_SPACE_INVALID) == 0 && shmemx_space_malloc(SHMEMX_SPACE_INVALID, 8) == NULL);
    shmem_team_t team;
    CHECK(shmemx_space_get_team(SHMEMX_SPACE_INVALID, &team) == -1 && team == SHMEM_TEAM_INVALID);
}

/* Catches: an allocation that does not end where the space does; blocks that overlap; a query that finds the wrong space. */
static void test_full(void)
{
    shmemx_space_t s = space_of(0, 0, 1 << 16), found;
    char *a = shmemx_space_malloc(s, 40000), *b = shmemx_space_malloc(s, 20000);
    CHECK(a && b && (b >= a + 40000 || a >= b + 20000));
    CHECK(shmemx_space_malloc(s, 20000) == NULL && shmemx_space_calloc(s, SIZE_MAX / 2, 16) == NULL && shmemx_space_malloc(s, 0) == NULL);
    CHECK(shmemx_space_align(s, 24, 8) == NULL);
    shmemx_space_free(s, a);
    shmemx_space_free(s, NULL);
    CHECK(shmemx_space_malloc(s, 40000) != NULL);
    CHECK(shmemx_get_space(b + 100, &found) == 0 && found == s);
    CHECK(shmemx_get_space(&found, &found) == -1 && found == SHMEMX_SPACE_INVALID);
    CHECK(shmemx_space_destroy(s) == 0);
    CHECK(shmemx_get_space(b, &found) == -1);
}

/* Catches: a lock whose home PE is not in the space; waits and collectives that do not find the memory. */
static void test_uses(void)
{
    shmem_team_t team;
    shmemx_space_t s = SHMEMX_SPACE_INVALID;
    const shmemx_space_config_t c = {.memory = SHMEMX_MEMORY_HOST, .size = 1 << 16};
    int members = n_pes > 1 ? n_pes - 1 : 1; /* without PE 0 */
    shmemx_team_split_color(SHMEM_TEAM_WORLD, n_pes == 1 || me > 0 ? 0 : -1, 0, NULL, 0, &team);
    if (team != SHMEM_TEAM_INVALID) {
        CHECK(shmemx_space_create(team, &c, &s) == 0);
        long *locks = shmemx_space_calloc(s, 64, sizeof *locks), *sum = shmemx_space_calloc(s, 2, sizeof *sum);
        int root = n_pes - members;
        for (int i = 0; i < 64; i += 7) {
            shmem_set_lock(&locks[i]);
            shmem_long_p(sum, shmem_long_g(sum, root) + 1, root);
            shmem_quiet();
            shmem_clear_lock(&locks[i]);
            shmem_team_sync(team); /* the next lock is another one */
        }
        CHECK(me != root || *sum == 10L * members);
        shmem_set_lock(&locks[0]);
        shmem_long_atomic_add(&sum[1], 1, root);
        shmem_clear_lock(&locks[0]);
        if (me == root)
            shmem_long_wait_until(&sum[1], SHMEM_CMP_EQ, members);
        shmem_team_sync(team);
        long *from = shmemx_space_malloc(s, sizeof *from), *to = shmemx_space_malloc(s, sizeof *to);
        *from = me + 1;
        shmem_long_sum_reduce(team, to, from, 1);
        CHECK(*to == (n_pes == 1 ? 1 : (long)n_pes * (n_pes + 1) / 2 - 1));
        CHECK(shmemx_space_destroy(s) == 0);
        shmem_team_destroy(team);
    }
    shmem_barrier_all();
}

/* ---- many, one after the other ---------------------------------------------------------------------------------- */

enum { MANY = 1000, WARM = 400, KEPT_BYTES = 16 << 10 }; /* before WARM the library keeps records of teams that have ended */

/* Bytes that this thread's malloc has given out; 0 where the C library does not say. */
static size_t allocated(void)
{
#ifdef __GLIBC__
    return mallinfo2().uordblks;
#else
    return 0;
#endif
}

/* Catches: what the end of a space leaves, such as its entry among the network's registrations. */
static void test_many(void)
{
    const shmemx_space_config_t c = {.memory = SHMEMX_MEMORY_HOST, .size = 4096};
    size_t before = 0;
    for (int i = 0; i < MANY; i++) {
        shmemx_space_t s;
        before = i == WARM ? allocated() : before;
        if (!CHECKF(shmemx_space_create(SHMEM_TEAM_WORLD, &c, &s) == 0, "space %d", i) || shmemx_space_destroy(s))
            return;
    }
    size_t after = allocated();
    CHECKF(after < before + KEPT_BYTES, "%zu bytes are allocated after %d spaces, %zu after %d", after, MANY, before, WARM);
}

/* ---- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 2 };
static shmem_team_t team_of_thread[THREADS];
static int thread_bad[THREADS];

static void *create_many(void *arg)
{
    int id = (int)(intptr_t)arg;
    const shmemx_space_config_t c = {.memory = SHMEMX_MEMORY_HOST, .size = 1 << 16};
    for (int i = 0; i < 12; i++) {
        shmemx_space_t s;
        shmem_team_t own;
        if (shmemx_space_create(team_of_thread[id], &c, &s)) {
            thread_bad[id]++;
            break;
        }
        shmemx_space_get_team(s, &own);
        long *at = shmemx_space_calloc(s, 1, sizeof *at);
        shmem_long_atomic_add(at, id + 1, next_pe());
        shmem_quiet();
        shmem_team_sync(own);
        thread_bad[id] += *at != id + 1;
        thread_bad[id] += shmemx_space_destroy(s) != 0;
    }
    return NULL;
}

/* Catches: threads that take the same place for different spaces, or change the tables at the same time. */
static void test_threads(void)
{
    pthread_t t[THREADS];
    for (int i = 0; i < THREADS; i++)
        shmemx_team_dup(SHMEM_TEAM_WORLD, &team_of_thread[i]);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&t[i], NULL, create_many, (void *)(intptr_t)i) == 0);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        CHECKF(thread_bad[i] == 0, "thread %d: %d failures", i, thread_bad[i]);
        shmem_team_destroy(team_of_thread[i]);
    }
}

int main(void)
{
    int provided;
    setenv("SHMEM_DEVICE", "cpu", 0);
    if (PRIVATE_MEMORY)
        setenv("ZE_CPU_PRIVATE", "1", 1);
    for (int k = 0; k < 2; k++) {
        shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
        tap_pes_begin();
        steps_now = has_remote_pes() ? FEWER : STEPS;
        if (k == 0) {
            RUN(test_random, "random spaces, operations and ends");
            RUN(test_kinds, "huge pages, NUMA nodes");
            RUN(test_refused, "refusals, all places");
            RUN(test_full, "a space's end, queries");
            RUN(test_uses, "locks, waits, collectives of a team");
            if (n_pes < 4 && !PRIVATE_MEMORY) /* nothing of it depends on either, and each space is a dozen exchanges */
                RUN(test_many, "1,000 spaces leave nothing");
            RUN(test_threads, "two threads");
        }
        shmemx_space_t left = space_of(SHMEMX_SPACE_READ_MOSTLY, 0, 1 << 16);
        CHECK(shmemx_space_malloc(left, 8) != NULL);
        shmem_barrier_all();
        shmem_finalize(); /* the space is there still */
    }
    return tap_end();
}
