/*
 * gpc_tree.c - trees of chained GPCs as ranges of a list: the built-in trees of every size, random trees of programs,
 * and every invalid list or tree.
 */
#include "host/gpc/gpc_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "../tap.h"

enum { MOST = 300, TREES = 4000 };

/* Results of a walk over the ranges. */
static int visits[MOST + 1], parent_of[MOST + 1], deepest, slowest, widest;

static int log2_down(int x)
{
    int l = 0;
    while (x > 1) {
        x /= 2;
        l++;
    }
    return l;
}

static int log2_up(int x)
{
    int l = log2_down(x);
    return (1 << l) < x ? l + 1 : l;
}

/* Walk the list [at, + n) of ids below `id`, which was reached in `depth` hops at step `step`; a parent sends one
 * message per step. */
static void walk(int tree, const int *ids, const int *below, int n, int id, int depth, int step)
{
    struct shi_gpc_part p = SHI_GPC_PART_INIT;
    int k = 0;
    deepest = depth > deepest ? depth : deepest;
    slowest = step > slowest ? step : slowest;
    while (shi_gpc_part_next(tree, below, n, &p)) {
        k++;
        if (!CHECKF(p.at >= 0 && p.n >= 0 && p.at + 1 + p.n <= n, "range [%d, + %d) of %d", p.at, p.n, n))
            return;
        visits[ids[p.at]]++;
        parent_of[ids[p.at]] = id;
        walk(tree, ids + p.at + 1, below ? below + p.at + 1 : NULL, p.n, ids[p.at], depth + 1, step + k);
    }
    widest = k > widest ? k : widest;
}

static void walk_all(int tree, const int *ids, const int *below, int n, int root)
{
    memset(visits, 0, sizeof visits);
    deepest = slowest = widest = 0;
    walk(tree, ids, below, n, root, 0, 0);
}

/* Catches: an id that is lost or called twice for some size; a tree that has become a chain or a star. */
static void built_in(void)
{
    int ids[MOST];
    for (int i = 0; i < MOST; i++)
        ids[i] = i + 1;
    for (int n = 0; n <= MOST; n++) {
        for (int tree = SHMEMX_GPC_BINARY; tree <= SHMEMX_GPC_BINOMIAL; tree++) {
            walk_all(tree, ids, NULL, n, 0);
            for (int i = 1; i <= n; i++)
                CHECKF(visits[i] == 1, "tree %d of %d: id %d reached %d times", tree, n, i, visits[i]);
            CHECKF(deepest == log2_down(n + 1), "tree %d of %d: depth %d", tree, n, deepest);
        }
        CHECKF(slowest <= log2_up(n + 1) && widest == (n ? log2_up(n + 1) : 0),
               "binomial of %d: %d steps, %d children", n, slowest, widest);
        walk_all(SHMEMX_GPC_BINARY, ids, NULL, n, 0);
        CHECKF(widest <= 2, "binary of %d: %d children", n, widest);
    }
}

/* ---- trees of programs ---------------------------------------------------------------------------------------------- */

static int wanted_parent[MOST]; /* of each PE; -1: none */

static int by_parents(int root, int id, int idlen, const int *idlst, int *children)
{
    int k = 0;
    (void)root;
    for (int i = 0; i < idlen; i++)
        if (wanted_parent[idlst[i]] == id)
            children[k++] = idlst[i];
    return k;
}

static int shuffled(unsigned *state, int n_pes, int n, int *out)
{
    int all[MOST];
    for (int i = 0; i < n_pes; i++)
        all[i] = i;
    for (int i = 0; i < n; i++) {
        int j = i + (int)(tap_random(state) % (unsigned)(n_pes - i)), x = all[j];
        all[j] = all[i];
        out[i] = all[i] = x;
    }
    return n;
}

/* Catches: a list in which a child's descendants do not follow the child. */
static void random_trees(void)
{
    unsigned state = 77;
    for (int t = 0; t < TREES; t++) {
        int n_pes = 1 + (int)(tap_random(&state) % 40), n = (int)(tap_random(&state) % (unsigned)n_pes);
        int chosen[MOST], ids[MOST], below[MOST], parent[MOST];
        struct shi_gpc_fault fault;
        shuffled(&state, n_pes, n + 1, chosen); /* chosen[0] is the root; each parent is an earlier one */
        for (int i = 1; i <= n; i++)
            wanted_parent[chosen[i]] = chosen[tap_random(&state) % (unsigned)i];
        memcpy(parent, wanted_parent, sizeof parent);
        int list[MOST], at[MOST];
        shuffled(&state, n, n, at); /* in any order */
        for (int i = 0; i < n; i++)
            list[i] = chosen[1 + at[i]];
        if (!CHECK(shi_gpc_tree(by_parents, n_pes, chosen[0], n, list, ids, below, &fault) == 0))
            return;
        walk_all(SHI_GPC_PART_INIT.n + 2, ids, below, n, chosen[0]);
        for (int i = 1; i <= n; i++)
            CHECKF(visits[chosen[i]] == 1 && parent_of[chosen[i]] == parent[chosen[i]],
                   "id %d: %d visits, parent %d, not %d", chosen[i], visits[chosen[i]], parent_of[chosen[i]],
                   parent[chosen[i]]);
    }
}

/* ---- faults --------------------------------------------------------------------------------------------------------- */

static int (*bad_children)(int id, int *children);

static int bad_tree(int root, int id, int idlen, const int *idlst, int *children)
{
    (void)root;
    (void)idlen;
    (void)idlst;
    return bad_children(id, children);
}

static int cycle(int id, int *c) /* 0: 1, 1: 2, 2: 1 */
{
    c[0] = id == 2 ? 1 : id + 1;
    return id <= 2;
}

static int of_itself(int id, int *c)
{
    c[0] = id ? id : 1;
    return 1;
}

static int of_root(int id, int *c)
{
    c[0] = (id + 1) % 4;
    return 1;
}

static int two_parents(int id, int *c)
{
    c[0] = id == 0 ? 1 : 3;
    c[1] = 2;
    return id == 0 ? 2 : id < 3;
}

static int out_of_reach(int id, int *c)
{
    c[0] = 1;
    return id == 0;
}

static int not_listed(int id, int *c)
{
    c[0] = 4;
    return id == 0;
}

static int no_pe(int id, int *c)
{
    c[0] = id == 0 ? 1000 : -1;
    return 1;
}

static int refused_by_tree(int id, int *c)
{
    c[0] = 1;
    return id == 1 ? -3 : 1;
}

static int too_many(int id, int *c)
{
    (void)id;
    (void)c;
    return 4;
}

/* Catches: a tree whose messages never end, or for whose answers the root waits for ever. */
static void faults(void)
{
    static int (*const all[])(int, int *) = {cycle, of_itself, of_root, two_parents, out_of_reach, not_listed, no_pe,
                                            refused_by_tree, too_many};
    const int list[] = {1, 2, 3};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        int ids[3], below[3];
        struct shi_gpc_fault fault = {NULL, 0};
        bad_children = all[i];
        CHECKF(shi_gpc_tree(bad_tree, 5, 0, 3, list, ids, below, &fault) == -EINVAL && fault.words,
               "invalid tree %zu accepted", i);
    }
}

/* Catches: a list accepted with an id twice or outside the team; a wrong result with the root in it, once or twice. */
static void lists(void)
{
    int out[8];
    struct shi_gpc_fault fault;
    CHECK(shi_gpc_list(5, 2, 0, NULL, out, &fault) == 0);
    CHECK(shi_gpc_list(5, 2, 1, (const int[]){2}, out, &fault) == 0);
    CHECK(shi_gpc_list(5, 2, 3, (const int[]){4, 2, 0}, out, &fault) == 2 && out[0] == 4 && out[1] == 0);
    CHECK(shi_gpc_list(5, 2, 3, (const int[]){4, 1, 4}, out, &fault) == -EINVAL && fault.id == 4);
    CHECK(shi_gpc_list(5, 2, 2, (const int[]){2, 2}, out, &fault) == -EINVAL && fault.id == 2);
    CHECK(shi_gpc_list(5, 2, 1, (const int[]){5}, out, &fault) == -EINVAL && fault.id == 5);
    CHECK(shi_gpc_list(5, 2, 1, (const int[]){-1}, out, &fault) == -EINVAL && fault.id == -1);
}

int main(void)
{
    RUN(built_in, "binary and binomial, 0 to 300 ids");
    RUN(random_trees, "4000 random trees of programs");
    RUN(faults, "invalid trees");
    RUN(lists, "lists of ids");
    return tap_end();
}
