/*
 * coll_long.c - collectives of long arrays, which are cut into blocks, against the result by definition, in the world and in a
 * team in reverse order; and the bits of floating-point reductions on all PEs.
 */
#include <shmem.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tap_pes.h"

enum {
    MOST = 40000,
    BLOCKS = 200001, /* a part of a long reduction between nodes has more than a block */
    COLD_BYTES = 26 << 20
};

static shmem_team_t team;
static int n;
static size_t most = MOST;
static int64_t *source, *dest; /* [n * most + 1], at least BLOCKS + 1 */
static double *real;           /* [2 * MOST] */

static int64_t value(int pe, size_t i)
{
    return (int64_t)(((uint64_t)pe * 1000003 + i) * 2654435761u % 100000);
}

static void fill(size_t words, int64_t rest)
{
    for (size_t i = 0; i < words; i++)
        source[i] = value(me, i);
    for (size_t i = 0; i < (size_t)n * most + 1; i++)
        dest[i] = rest;
    dest[words] = rest;
    shmem_team_sync(team);
}

/* Catches: a block that is not sent on, or lands beside its place; a root's source that is sent too late. */
static void broadcasts(size_t words)
{
    for (int root = 0; root < n; root++) {
        fill(words, -1);
        shmem_int64_broadcast(team, dest, source, words, root);
        memset(source, 0x55, words * 8);
        size_t bad = dest[words] != -1;
        for (size_t i = 0; i < words; i++)
            bad += dest[i] != value(root, i);
        CHECKF(bad == 0, "broadcast of %zu words from %d: %zu are wrong", words, root, bad);
    }
}

/* Catches: blocks in the wrong place, blocks of different lengths, blocks for other members. */
static void moves(size_t words)
{
    size_t bad = 0, at = 0, mine = words / (size_t)(me + 1);
    fill(words, -1);
    shmem_int64_fcollect(team, dest, source, words);
    for (size_t i = 0; i < words * (size_t)n; i++)
        bad += dest[i] != value((int)(i / words), i % words);
    CHECKF(bad == 0, "fcollect of %zu words: %zu are wrong", words, bad);
    fill(words, -1);
    shmem_int64_collect(team, dest, source, mine);
    for (int pe = 0; pe < n; pe++)
        for (size_t i = 0; i < words / (size_t)(pe + 1); i++)
            bad += dest[at++] != value(pe, i);
    CHECKF(bad == 0 && dest[at] == -1, "collect of up to %zu words: %zu are wrong", words, bad);
    fill(words * (size_t)n, -1);
    shmem_int64_alltoall(team, dest, source, words);
    for (size_t i = 0; i < words * (size_t)n; i++)
        bad += dest[i] != value((int)(i / words), (size_t)me * words + i % words);
    CHECKF(bad == 0, "alltoall of %zu words: %zu are wrong", words, bad);
}

static const char *const kind_name[] = {"reduction", "inscan", "exscan"};

static void call(int64_t *to, size_t words, int kind)
{
    if (kind == 0)
        shmem_int64_sum_reduce(team, to, source, words);
    else if (kind == 1)
        shmem_int64_sum_inscan(team, to, source, words);
    else
        shmem_int64_sum_exscan(team, to, source, words);
}

/* Element i of the result, of sources that are `more` larger than value(). */
static int64_t combined(size_t i, int kind, int64_t more)
{
    int64_t sum = 0;
    for (int pe = 0; pe < (kind == 0 ? n : kind == 1 ? me + 1 : me); pe++)
        sum += value(pe, i) + more;
    return sum;
}

/* Catches: another result; a source that is changed. */
static void combine(size_t words, int kind, int in_place)
{
    size_t bad = 0;
    fill(words, -1);
    int64_t *to = in_place ? source : dest;
    call(to, words, kind);
    for (size_t i = 0; i < words; i++)
        bad += to[i] != combined(i, kind, 0) || (!in_place && source[i] != value(me, i));
    bad += !in_place && dest[words] != -1;
    CHECKF(bad == 0, "%s of %zu words: %zu are wrong", kind_name[kind], words, bad);
    shmem_team_sync(team);
}

/* Catches: PEs that combine in different orders. */
static void same_bits(size_t words)
{
    for (size_t i = 0; i < words; i++)
        real[i] = 1.0 / (double)(value(me, i) + 3) * (i % 3 ? 1e9 : 1e-9);
    shmem_team_sync(team);
    shmem_double_sum_reduce(team, real + MOST, real, words);
    memcpy(source, real + MOST, words * sizeof *real);
    shmem_team_sync(team);
    shmem_int64_fcollect(team, dest, source, words);
    size_t bad = 0;
    for (int pe = 0; pe < n; pe++)
        bad += memcmp(dest, dest + (size_t)pe * words, words * 8) != 0;
    CHECKF(bad == 0, "%zu PEs have other bits than PE 0 in a sum of %zu doubles", bad, words);
    shmem_team_sync(team);
}

static void all_lengths(void)
{
    static const size_t lengths[] = {1, 3, 100, 513, 2049, 4097, 12345, MOST};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        broadcasts(lengths[k]);
        moves(lengths[k]);
        for (int kind = 0; kind < 3; kind++) {
            combine(lengths[k], kind, 0);
            combine(lengths[k], kind, 1);
        }
        same_bits(lengths[k]);
    }
}

static void test_world(void)
{
    team = SHMEM_TEAM_WORLD;
    all_lengths();
    combine(BLOCKS, 0, 0);
    combine(BLOCKS, 0, 1);
}

static void test_reverse(void)
{
    shmem_team_t reverse;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &reverse) == 0);
    team = reverse;
    me = n - 1 - me; /* in this team */
    all_lengths();
    me = n - 1 - me;
    shmem_team_destroy(reverse);
}

/* Copies and scans of all lengths among every second PE. Catches: a node's members taken for neighbours in the world; a node of one member. */
static void test_every_second(void)
{
    shmem_team_t second;
    int pe = me, all = n;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &second) == 0);
    if (second != SHMEM_TEAM_INVALID) {
        team = second;
        me = shmem_team_my_pe(second);
        n = shmem_team_n_pes(second);
        for (size_t words = 1; words <= 9000; words *= 3) {
            moves(words);
            combine(words, 1, 0);
            combine(words, 2, 1);
        }
        me = pe;
        n = all;
    }
    shmem_team_destroy(second);
}

/* Catches: a PE that reads what a later one has not combined yet, or that still reads or changes what another PE's program uses again. */
static void late(size_t words, int who, int kind)
{
    size_t bad = 0;
    int64_t *got = malloc(words * sizeof *got);
    fill(0, -1);
    if (me == who)
        usleep(2000);
    for (size_t i = 0; i < words; i++)
        source[i] = value(me, i) + who;
    call(dest, words, kind);
    memcpy(got, dest, words * sizeof *got);
    memset(dest, 0x55, words * sizeof *dest);
    memset(source, 0x55, words * sizeof *source);
    for (size_t i = 0; i < words; i++)
        bad += got[i] != combined(i, kind, who);
    free(got);
    CHECKF(bad == 0, "%s of %zu words, for which PE %d is late: %zu are wrong", kind_name[kind], words, who, bad);
    shmem_team_sync(team);
}

static void test_late(void)
{
    team = SHMEM_TEAM_WORLD;
    for (int who = 0; who < 3 * n; who++)
        for (int kind = 0; kind < 3; kind++) {
            late(513, who % n, kind);
            late(MOST, who % n, kind);
        }
}

/* With more data on the node than the caches of most processors hold, for which copies may bypass them. Catches: a notification that is
 * seen before the data. */
static void test_cold(void)
{
    team = SHMEM_TEAM_WORLD;
    most = COLD_BYTES / sizeof *source / ((size_t)n * (size_t)(n + 1)) + 1;
    int64_t *old_source = source, *old_dest = dest;
    if (most * (size_t)n > BLOCKS && most > MOST) {
        source = shmem_malloc((most * (size_t)n + 1) * sizeof *source);
        dest = shmem_malloc((most * (size_t)n + 1) * sizeof *dest);
    }
    if (CHECK(source && dest))
        moves(most);
    most = MOST;
    if (source != old_source) {
        shmem_free(source);
        shmem_free(dest);
    }
    source = old_source;
    dest = old_dest;
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    n = n_pes;
    size_t words = (size_t)n * MOST > BLOCKS ? (size_t)n * MOST : BLOCKS;
    source = shmem_malloc((words + 1) * sizeof *source);
    dest = shmem_malloc((words + 1) * sizeof *dest);
    real = shmem_malloc(2 * MOST * sizeof *real);
    RUN(test_world, "lengths up to 320,000 bytes, reductions up to 1,600,008 bytes in the world");
    RUN(test_reverse, "the same in a team of all PEs in reverse order");
    RUN(test_every_second, "copies and scans of up to 52,488 bytes in a team of every second PE");
    RUN(test_cold, "copies of 26 MiB on the node");
    RUN(test_late, "reductions and scans for which each PE in turn is late");
    shmem_finalize();
    return tap_end();
}
