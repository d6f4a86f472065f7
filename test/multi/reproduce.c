/*
 * reproduce.c - floating-point reductions have the bits that tree.h promises: those of a tree over the team's members, which is computed
 * here by its definition, for every length, type, schedule and place of the PEs.
 */
#include <math.h>
#include <shmem.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../tap_pes.h"

enum { MOST = 40000 };

static int n;
static char *source, *dest; /* MOST of the longest type */
static shmem_team_t team;

/* The elements i of all members, and the node (item, 2^level items) of the tree: the first `pairs` items have two members. */
#define TREE(NAME, T, OP)                                                                                            \
    static T tree_##NAME(const T *x, int pairs, int item, int items)                                                 \
    {                                                                                                                \
        T a, b;                                                                                                      \
        if (items > 1) {                                                                                             \
            a = tree_##NAME(x, pairs, item, items / 2);                                                              \
            b = tree_##NAME(x, pairs, item + items / 2, items / 2);                                                  \
        } else if (item < pairs) {                                                                                   \
            a = x[2 * item];                                                                                         \
            b = x[2 * item + 1];                                                                                     \
        } else {                                                                                                     \
            return x[item + pairs];                                                                                  \
        }                                                                                                            \
        return OP;                                                                                                   \
    }                                                                                                                \
    static size_t wrong_##NAME(const void *got, size_t words)                                                        \
    {                                                                                                                \
        const T *result = got;                                                                                       \
        size_t bad = 0;                                                                                              \
        int items = 1;                                                                                               \
        while (2 * items <= n)                                                                                       \
            items *= 2;                                                                                              \
        T *x = malloc((size_t)n * sizeof *x);                                                                        \
        for (size_t i = 0; i < words; i++) {                                                                         \
            for (int pe = 0; pe < n; pe++)                                                                           \
                x[pe] = (T)number(pe, i);                                                                            \
            T all = tree_##NAME(x, n - items, 0, items);                                                             \
            bad += memcmp(&all, result + i, sizeof all) != 0;                                                        \
        }                                                                                                            \
        free(x);                                                                                                     \
        return bad;                                                                                                  \
    }                                                                                                                \
    static void fill_##NAME(void *to, size_t words)                                                                  \
    {                                                                                                                \
        for (size_t i = 0; i < words; i++)                                                                           \
            ((T *)to)[i] = (T)number(me, i);                                                                         \
    }

/* Of all magnitudes, and a few that are no numbers or zeros of both signs. */
static double number(int pe, size_t i)
{
    uint64_t r = (uint64_t)(pe + 1) * 0x9e3779b97f4a7c15u ^ (i + 1) * 0xc2b2ae3d27d4eb4fu;
    r ^= r >> 31, r *= 0xff51afd7ed558ccdu, r ^= r >> 33;
    if (r % 101 == 0)
        return r & 1024 ? (double)NAN : -0.0;
    return ((double)(int64_t)r / 9.3e18 + 1.5) * (r & 64 ? -1 : 1) * (r & 256 ? 1 : i % 2 ? 1e-4 : 1e3);
}

TREE(float_sum, float, a + b)
TREE(double_sum, double, a + b)
TREE(double_prod, double, a * b)
TREE(float_max, float, b > a ? b : a)
TREE(double_min, double, b < a ? b : a)
TREE(complexf_sum, float _Complex, a + b)

static void check(const char *name, size_t words, size_t elem, void (*fill)(void *, size_t), size_t (*wrong)(const void *, size_t),
                  int (*reduce)(size_t, void *, const void *))
{
    for (int in_place = 0; in_place < 2; in_place++) {
        void *to = in_place ? source : dest;
        memset(dest, 0, words * elem);
        fill(source, words);
        shmem_team_sync(team);
        CHECK(reduce(words, to, source) == 0);
        size_t bad = wrong(to, words);
        CHECKF(bad == 0, "%s of %zu elements%s: %zu have other bits", name, words, in_place ? " in place" : "", bad);
        shmem_team_sync(team);
    }
}

#define REDUCE(TYPE, OP)                                                                                             \
    static int reduce_##TYPE##_##OP(size_t words, void *to, const void *from)                                        \
    {                                                                                                                \
        return shmem_##TYPE##_##OP##_reduce(team, to, from, words);                                                  \
    }
REDUCE(float, sum) REDUCE(double, sum) REDUCE(double, prod) REDUCE(float, max) REDUCE(double, min) REDUCE(complexf, sum)
#define ONE(TYPE, OP, T) check(#TYPE " " #OP, words, sizeof(T), fill_##TYPE##_##OP, wrong_##TYPE##_##OP, reduce_##TYPE##_##OP)

/* Catches: a schedule that combines from left to right, or whose nodes' results are combined in another order than the members. */
static void all_lengths(void)
{
    static const size_t lengths[] = {1, 2, 17, 130, 513, 2000, 4100, MOST};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        size_t words = lengths[k];
        ONE(float, sum, float);
        ONE(double, sum, double);
        if (words > 2000 && words < MOST)
            continue;
        ONE(double, prod, double);
        ONE(float, max, float);
        ONE(double, min, double);
        ONE(complexf, sum, float _Complex);
    }
}

static void test_world(void)
{
    team = SHMEM_TEAM_WORLD;
    all_lengths();
}

/* Members in reverse order, whose nodes have other members first. */
static void test_reverse(void)
{
    shmem_team_t reverse;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n - 1, -1, n, NULL, 0, &reverse) == 0);
    team = reverse;
    me = n - 1 - me;
    all_lengths();
    me = n - 1 - me;
    shmem_team_destroy(reverse);
}

int main(void)
{
    int level;
    shmem_init_thread(getenv("REPRODUCE_THREADS") ? SHMEM_THREAD_MULTIPLE : SHMEM_THREAD_SINGLE, &level);
    tap_pes_begin();
    n = n_pes;
    source = shmem_malloc(MOST * 8 + 16);
    dest = shmem_malloc(MOST * 8 + 16);
    RUN(test_world, "bits of reductions of 1 to 40,000 elements in the world");
    RUN(test_reverse, "the same in a team of all PEs in reverse order");
    shmem_finalize();
    return tap_end();
}
