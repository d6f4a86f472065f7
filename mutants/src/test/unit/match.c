/*
 * match.c - the matching of tagged messages against a plain list, which defines the matching.
 */
#include <stdlib.h>
#include <string.h>

#include "../tap.h"

static unsigned refuse; /* one of so many allocations fails; 0: none */

static int refused(void)
{
    static unsigned n;
    return refuse && ++n % refuse == 0;
}
#define malloc(bytes) (refused() ? NULL : malloc(bytes))
#define calloc(n, bytes) (refused() ? NULL : calloc(n, bytes))
#define realloc(at, bytes) (refused() ? NULL : realloc(at, bytes))
#include "host/tag/match.c"
#undef malloc
#undef calloc
#undef realloc

enum { MOST = 6000 };

struct item {
    struct shi_match_entry entry; /* first */
    int waits;
};

/* ---- the oracle: every entry in the order of arrival ------------------------------------------------------------------- */

static struct item *list[MOST];
static int n_list;

static struct item *oracle(const struct shi_match_key *k)
{
    for (int i = 0; i < n_list; i++) {
        const struct shi_match_key *e = &list[i]->entry.key;
        int source = e->source == k->source || e->source == SHI_MATCH_ANY || k->source == SHI_MATCH_ANY;
        if (source && e->team == k->team && (e->tag & e->mask & k->mask) == (k->tag & e->mask & k->mask))
            return list[i];
    }
    return NULL;
}

static void oracle_remove(const struct item *x)
{
    int i = 0;
    while (list[i] != x)
        i++;
    memmove(&list[i], &list[i + 1], (size_t)(--n_list - i) * sizeof *list);
}

/* ---- fuzz -------------------------------------------------------------------------------------------------------------- */

static const uint64_t masks[] = {~0ull, ~0ull, ~0ull, ~0xffull, 0xff, 0, ~0xf0ull, 1ull << 63 | 3};

static int phase; /* not 0: all keys that may have a mask have the one of this phase */

static struct shi_match_key random_key(unsigned *random, int wild, int tags)
{
    unsigned r = tap_random(random), s = tap_random(random);
    struct shi_match_key k = {.tag = r % (unsigned)tags | (uint64_t)(s & 1) << 63, .mask = ~0ull, .team = (uint64_t)(s >> 1 & 1) << 40,
                              .source = (int)(s >> 2 & 3)};
    if (wild) {
        k.mask = s >> 4 & 64 ? masks[s >> 5 & 7] : s >> 11 & 7 ? ~0ull : ~(uint64_t)(1u << (s >> 14) % 30);
        k.source = s >> 25 & 3 ? k.source : SHI_MATCH_ANY;
        if (phase)
            k.mask = masks[phase & 7];
    }
    return k;
}

/* Entries come and go around `level`; half of the searches remove the entry that they find, a few entries are
 * cancelled. */
static void fuzz(int arrived, int tags, int level, int operations, int phases)
{
    static struct item items[MOST];
    struct shi_match m;
    unsigned random = 17 + (unsigned)(arrived + tags);
    int found = 0, next = 0;
    memset(items, 0, sizeof items);
    n_list = 0;
    shi_match_up(&m, arrived);
    for (int i = 0; i < operations; i++) {
        phase = phases ? 1 + i / 6000 : 0;
        int want = i / 20000 % 3 == 2 ? 3 : level; /* sometimes nearly empty */
        unsigned r = tap_random(&random) % 100;
        if (n_list < MOST && (int)(r % 50) < (n_list < want ? 35 : 10)) {
            while (items[next].waits)
                next = (next + 1) % MOST;
            struct item *x = &items[next];
            x->entry.key = random_key(&random, !arrived, tags);
            x->waits = 1;
            shi_match_add(&m, &x->entry);
            list[n_list++] = x;
        } else if (r < 90 || !n_list) {
            struct shi_match_key k = random_key(&random, arrived, tags);
            struct item *a = oracle(&k), *b = (struct item *)shi_match_find(&m, &k);
            if (!CHECKF(a == b, "operation %d: entry %td instead of %td", i, b ? b - items : -1, a ? a - items : -1))
                return;
            if (a && r & 1) {
                shi_match_remove(&m, &a->entry);
                oracle_remove(a);
                a->waits = 0;
                found++;
            }
        } else {
            struct item *x = list[tap_random(&random) % (unsigned)n_list];
            shi_match_remove(&m, &x->entry);
            oracle_remove(x);
            x->waits = 0;
        }
        CHECK(m.n == (size_t)n_list);
    }
    CHECKF(found > operations / 50, "only %d of %d operations matched", found, operations);
    shi_match_down(&m);
}

/* Catches: a later entry found before an earlier one of another class, an entry lost when a table grows or found after
 * its removal, masks applied to one side, mixed-up teams or sources, a class not searched, or searched when it is
 * empty. */
static void posted(void)
{
    fuzz(0, 40, 12, 300000, 0); /* around the change from list to tables */
    fuzz(0, 3, 400, 100000, 0);
    fuzz(0, 600, 1000, 300000, 0);
}

static void arrived(void)
{
    fuzz(1, 40, 12, 300000, 0);
    fuzz(1, 3, 400, 100000, 0);
    fuzz(1, 600, 1000, 300000, 0);
    fuzz(1, 40, 100, 100000, 1); /* classes are given up, and come back */
}

/* Catches: an entry lost, or found twice, where there is no memory for tables. */
static void no_memory(void)
{
    for (refuse = 1; refuse < 8; refuse++)
        for (int side = 0; side < 2; side++)
            fuzz(side, 40, 100, 20000, 0);
    refuse = 0;
}

/* ---- every order of exact, masked and any ----------------------------------------------------------------------------- */

static const struct shi_match_key kinds[4] = {{0x21, ~0ull, 7, 3},
                                              {0xff21, 0xff, 7, 3},
                                              {0x21, ~0ull, 7, SHI_MATCH_ANY},
                                              {0, 0, 7, SHI_MATCH_ANY}};

/* All four receives match the same messages; messages must take them in the order of posting. */
static void one_order(const int *order, int others)
{
    struct shi_match m;
    struct item x[4], other[40];
    const struct shi_match_key message = {0x21, ~0ull, 7, 3};
    shi_match_up(&m, 0);
    for (int i = 0; i < others; i++) {
        other[i].entry.key = (struct shi_match_key){100 + (uint64_t)i, ~0ull, 7, 3};
        shi_match_add(&m, &other[i].entry);
    }
    for (int i = 0; i < 4; i++) {
        x[i].entry.key = kinds[order[i]];
        shi_match_add(&m, &x[i].entry);
    }
    for (int i = 0; i < 4; i++) {
        struct item *got = (struct item *)shi_match_find(&m, &message);
        CHECKF(got == &x[i], "order %d%d%d%d: receive %td was found before %d", order[0], order[1], order[2], order[3],
               got ? got - x : -1, i);
        shi_match_remove(&m, &x[i].entry);
    }
    CHECK(shi_match_find(&m, &message) == NULL);
    shi_match_down(&m);
}

static void permutations(void)
{
    for (int i = 0; i < 256; i++) {
        int order[4] = {i & 3, i >> 2 & 3, i >> 4 & 3, i >> 6};
        if ((1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) == 15) {
            one_order(order, 0);
            one_order(order, 40);
        }
    }
}

/* Catches: a bit of the mask that is used on one side only. All masks, receive tags and message tags of 4 bits. */
static void every_mask(void)
{
    for (int side = 0; side < 2; side++)
        for (unsigned mask = 0; mask < 16; mask++)
            for (unsigned tag = 0; tag < 16; tag++) {
                struct shi_match m;
                struct item x[16];
                shi_match_up(&m, side);
                for (unsigned i = 0; i < 16; i++) { /* more entries than the list holds */
                    x[i].entry.key = (struct shi_match_key){side ? i : tag, side ? ~0ull : ~15ull | mask, 1, 1};
                    shi_match_add(&m, &x[i].entry);
                }
                for (unsigned t = 0; t < 16; t++) {
                    struct shi_match_key k = {t, side ? ~15ull | mask : ~0ull, 1, 1};
                    struct item *got = (struct item *)shi_match_find(&m, &k);
                    unsigned expect = side ? t & mask : 0; /* the smallest matching tag was added first */
                    if (side || ((t ^ tag) & mask) == 0)
                        CHECKF(got == &x[expect], "side %d: mask %x, tags %x and %x", side, mask, tag, t);
                    else
                        CHECKF(got == NULL, "mask %x, tags %x and %x do not match", mask, tag, t);
                }
                shi_match_down(&m);
            }
}

/* Catches: memory of many entries that is kept after their removal; a table that is wrong when it is reused. */
static void drained(void)
{
    struct shi_match m;
    struct item *x = calloc(50000, sizeof *x);
    for (int side = 0; side < 2; side++) {
        shi_match_up(&m, side);
        for (int turn = 0; turn < 2; turn++) {
            for (int i = 0; i < 50000; i++) {
                x[i].entry.key = (struct shi_match_key){(uint64_t)i * 1021, ~0ull, 0, i % 5};
                shi_match_add(&m, &x[i].entry);
            }
            for (int i = 49999; i >= 0; i--) {
                struct shi_match_key k = {(uint64_t)i * 1021, ~0ull, 0, side && i % 2 ? SHI_MATCH_ANY : i % 5};
                CHECK(shi_match_find(&m, &k) == &x[i].entry);
                shi_match_remove(&m, &x[i].entry);
            }
            CHECK(m.n == 0 && m.live == 0 && m.slabs == NULL && m.first == NULL && m.last == NULL);
        }
        shi_match_down(&m);
    }
    free(x);
}

int main(void)
{
    RUN(posted, "700,000 operations on posted receives equal those of a list");
    RUN(arrived, "800,000 operations on arrived messages equal those of a list");
    RUN(no_memory, "the same where allocations fail");
    RUN(permutations, "the earliest posted receive, in every order of exact, masked and any");
    RUN(every_mask, "all masks and tags of 4 bits");
    RUN(drained, "50,000 entries removed in reverse order, and their memory freed");
    return tap_end();
}
