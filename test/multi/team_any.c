/* team_any.c - teams of any PEs in any order (shmemx_team.h), against members computed here: numbers, collectives, contexts, tags. */
#include "../tap_pes.h"

#include <shmemx.h>
#include <stdlib.h>

enum { MAX_PES = 64, TRIALS = 40, WORDS = 24 };

static unsigned rnd = 7; /* the same on all PEs */
static long cell[WORDS], from[MAX_PES * WORDS], into[MAX_PES * WORDS];

/* A random order of PEs 0 to n - 1. */
static void shuffle(int *pe, int n)
{
    for (int i = 0; i < n; i++) {
        int k = (int)(tap_random(&rnd) % (unsigned)(i + 1));
        pe[i] = pe[k];
        pe[k] = i;
    }
}

static int place(const int *pe, int n, int of)
{
    for (int i = 0; i < n; i++)
        if (pe[i] == of)
            return i;
    return -1;
}

/* The team has these world PEs as members, in this order; each operation reaches the PE that the list gives. */
static void check_team(const char *what, shmem_team_t team, const int *pe, int n)
{
    int mine = place(pe, n, me), got[MAX_PES];
    CHECKF(shmem_team_my_pe(team) == mine, "%s: number %d, not %d", what, shmem_team_my_pe(team), mine);
    if (mine < 0) {
        CHECK(team == SHMEM_TEAM_INVALID);
        return;
    }
    CHECK(shmem_team_n_pes(team) == n);
    CHECK(shmemx_team_translate_pes(team, NULL, n, SHMEM_TEAM_WORLD, got) == 0);
    for (int i = 0; i < n; i++)
        CHECKF(got[i] == pe[i] && shmem_team_translate_pe(SHMEM_TEAM_WORLD, pe[i], team) == i, "%s: PE %d is %d, not %d", what, i, got[i],
               pe[i]);
    for (int i = 0; i < n * WORDS; i++) {
        from[i] = me * 1000 + i;
        into[i] = -1;
    }
    CHECK(shmem_team_sync(team) == 0);
    shmem_long_fcollect(team, into, from, WORDS);
    for (int i = 0; i < n * WORDS; i++)
        CHECKF(into[i] == pe[i / WORDS] * 1000 + i % WORDS, "%s: fcollect: word %d is %ld", what, i, into[i]);
    shmem_team_sync(team);
    shmem_long_alltoall(team, into, from, WORDS);
    for (int i = 0; i < n * WORDS; i++)
        CHECKF(into[i] == pe[i / WORDS] * 1000 + mine * WORDS + i % WORDS, "%s: alltoall: word %d is %ld", what, i, into[i]);
    shmem_team_sync(team);
    shmem_long_sum_exscan(team, into, from, 1);
    long before = 0;
    for (int i = 0; i < mine; i++)
        before += pe[i] * 1000;
    CHECKF(into[0] == before, "%s: exscan is %ld, not %ld", what, into[0], before);
    shmem_team_sync(team);
    shmem_long_broadcast(team, into, from, 3, n - 1);
    CHECKF(into[2] == pe[n - 1] * 1000 + 2, "%s: broadcast brings %ld", what, into[2]);

    shmem_ctx_t ctx;
    CHECK(shmem_team_create_ctx(team, 0, &ctx) == 0);
    cell[0] = -1;
    shmem_team_sync(team);
    shmem_ctx_long_p(ctx, &cell[0], me, (mine + 1) % n);
    shmem_ctx_quiet(ctx);
    shmem_team_sync(team);
    CHECKF(cell[0] == pe[(mine + n - 1) % n], "%s: a put through the context came from %ld", what, cell[0]);
    long word = -1, tagged = me;
    shmemx_tag_request_t r;
    shmemx_tag_irecv(team, &word, sizeof word, 5, SHMEMX_TAG_EXACT, (mine + n - 1) % n, &r);
    shmemx_tag_send(team, &tagged, sizeof tagged, 5, (mine + 1) % n);
    shmemx_tag_wait(&r, NULL);
    CHECKF(word == pe[(mine + n - 1) % n], "%s: a message came from %ld", what, word);
}

/* Catches: a list that is sorted, reversed or taken for an evenly spaced one; members mixed up between nodes; a list that dies with
 * the parent; children of a list that count in the world. */
static void test_list(void)
{
    int pe[MAX_PES], child[MAX_PES];
    for (int trial = 0; trial < TRIALS; trial++) {
        shmem_team_t team = SHMEM_TEAM_WORLD, half = SHMEM_TEAM_INVALID;
        shuffle(pe, n_pes);
        int n = 1 + (int)(tap_random(&rnd) % (unsigned)n_pes), odd = n / 2;
        CHECK(shmemx_team_split_list(SHMEM_TEAM_WORLD, pe, n, NULL, 0, &team) == 0);
        check_team("list", team, pe, n);
        if (team != SHMEM_TEAM_INVALID && odd) {
            for (int i = 0; i < odd; i++)
                child[i] = pe[n - 1 - 2 * i];
            CHECK(shmem_team_split_strided(team, n - 1, -2, odd, NULL, 0, &half) == 0);
        }
        shmem_team_destroy(team);
        if (odd && place(pe, n, me) >= 0)
            check_team("every second of a list, backwards", half, child, odd);
        shmem_team_destroy(half);
    }
}

/* Catches: a team that waits for PEs that are not in it, members that take the slot of another list with the same first PE, a list that is taken
 * for an evenly spaced one; a second team of a list that is the first one. */
static void test_create(void)
{
    static long psync[MAX_PES];
    int pe[MAX_PES];
    for (int i = 0; i < n_pes; i++)
        psync[i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    for (int trial = 0; trial < TRIALS; trial++) {
        shmem_team_t team = SHMEM_TEAM_INVALID, again = SHMEM_TEAM_INVALID;
        shuffle(pe, n_pes);
        int n = 1 + (int)(tap_random(&rnd) % (unsigned)n_pes);
        if (place(pe, n, me) < 0) {
            CHECK(shmemx_team_create(pe, n, psync, NULL, 0, &team) == -1 && team == SHMEM_TEAM_INVALID);
            continue; /* and is ahead of the members */
        }
        CHECK(shmemx_team_create(pe, n, psync, NULL, 0, &team) == 0);
        CHECK(shmemx_team_create(pe, n, psync, NULL, 64, &again) != 0 && again == SHMEM_TEAM_INVALID);
        CHECK(shmemx_team_create(pe, n, psync, NULL, 0, &again) == 0 && again != team);
        check_team("create", team, pe, n);
        shmem_team_destroy(team);
        check_team("create, again", again, pe, n);
        shmem_team_destroy(again);
    }
    shmem_barrier_all();
    for (int i = 0; i < n_pes; i++)
        CHECK(psync[i] == SHMEM_SYNC_VALUE);
}

/* Catches: an order by number where keys decide, unstable equal keys, keys compared without a sign, a color mixed with another, a PE
 * without a color in a team. */
static void test_color(void)
{
    int order[MAX_PES], color[MAX_PES], key[MAX_PES], pe[MAX_PES];
    for (int trial = 0; trial < TRIALS; trial++) {
        int n = 0;
        shmem_team_t parent, team = SHMEM_TEAM_WORLD;
        shuffle(order, n_pes);
        for (int i = 0; i < n_pes; i++) {
            color[i] = (int)(tap_random(&rnd) % 4) - 1;
            key[i] = trial % 4 == 0 ? 3 : (int)(tap_random(&rnd) % 5) * (trial % 2 ? 1 : 500000000) - (trial % 2 ? 2 : 1000000000);
        }
        CHECK(shmemx_team_split_list(SHMEM_TEAM_WORLD, order, n_pes, NULL, 0, &parent) == 0);
        CHECK(shmemx_team_split_color(parent, color[me], key[me], NULL, 0, &team) == 0);
        for (int i = 0; color[me] >= 0 && i < n_pes; i++) { /* insertion sort, in the parent's order */
            int at = n;
            if (color[order[i]] != color[me])
                continue;
            for (; at > 0 && key[pe[at - 1]] > key[order[i]]; at--)
                pe[at] = pe[at - 1];
            pe[at] = order[i];
            n++;
        }
        check_team("color", team, pe, n);
        shmem_team_destroy(parent);
        shmem_team_destroy(team);
    }
}

/* Catches: a copy whose collectives meet those of the original, a configuration that is lost, a wrong comparison. */
static void test_dup(void)
{
    int pe[MAX_PES], turned[MAX_PES];
    shmem_team_t team, copy, other, small = SHMEM_TEAM_INVALID;
    shmem_team_config_t config = {.num_contexts = 3};
    for (int i = 0; i < n_pes; i++)
        turned[i] = pe[n_pes - 1 - i] = i;
    CHECK(shmemx_team_split_list(SHMEM_TEAM_WORLD, pe, n_pes, &config, SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
    config.num_contexts = 0;
    CHECK(shmemx_team_dup(team, &copy) == 0);
    CHECK(shmem_team_get_config(copy, SHMEM_TEAM_NUM_CONTEXTS, &config) == 0 && config.num_contexts == 3);
    CHECK(shmemx_team_split_list(SHMEM_TEAM_WORLD, turned, n_pes, NULL, 0, &other) == 0);
    CHECK(shmemx_team_split_list(SHMEM_TEAM_WORLD, turned, 1, NULL, 0, &small) == 0);
    check_team("copy", copy, pe, n_pes);
    CHECK(shmemx_team_compare(team, team) == SHMEMX_TEAM_IDENT && shmemx_team_compare(team, copy) == SHMEMX_TEAM_CONGRUENT);
    CHECK(shmemx_team_compare(other, SHMEM_TEAM_WORLD) == SHMEMX_TEAM_CONGRUENT);
    CHECK(shmemx_team_compare(team, other) == (n_pes > 1 ? SHMEMX_TEAM_SIMILAR : SHMEMX_TEAM_CONGRUENT));
    CHECK(shmemx_team_compare(team, SHMEM_TEAM_INVALID) == SHMEMX_TEAM_UNEQUAL);
    if (small != SHMEM_TEAM_INVALID)
        CHECK(shmemx_team_compare(team, small) == (n_pes > 1 ? SHMEMX_TEAM_UNEQUAL : SHMEMX_TEAM_CONGRUENT));
    shmem_team_destroy(team);
    check_team("copy, the original destroyed", copy, pe, n_pes);
    shmem_team_destroy(copy);
    shmem_team_destroy(other);
    shmem_team_destroy(small);
}

/* Catches: an invalid list that creates a team on some members, or reads beyond its end. */
static void test_invalid(void)
{
    int pe[MAX_PES + 1];
    shmem_team_t team;
    for (int kind = 0; kind < 5; kind++) {
        for (int i = 0; i <= n_pes; i++)
            pe[i] = i;
        int n = kind == 0 ? 0 : kind == 1 ? n_pes + 1 : n_pes;
        if (kind == 2)
            pe[n_pes - 1] = n_pes;
        if (kind == 3)
            pe[0] = -1;
        if (kind == 4 && n_pes > 1)
            pe[1] = pe[0];
        team = SHMEM_TEAM_WORLD;
        int err = shmemx_team_split_list(SHMEM_TEAM_WORLD, pe, n, NULL, 0, &team);
        if (kind < 4 || n_pes > 1)
            CHECKF(err != 0 && team == SHMEM_TEAM_INVALID, "list %d was accepted", kind);
        else
            shmem_team_destroy(team);
    }
    team = SHMEM_TEAM_WORLD;
    CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, SHMEMX_TEAM_NO_COLOR, 0, NULL, 0, &team) == 0 && team == SHMEM_TEAM_INVALID);
    CHECK(shmemx_team_split_color(SHMEM_TEAM_INVALID, 0, 0, NULL, 0, &team) != 0 && team == SHMEM_TEAM_INVALID);
    CHECK(shmemx_team_split_color(SHMEM_TEAM_WORLD, 0, 0, NULL, me == 0 ? 64 : 0, &team) != 0 && team == SHMEM_TEAM_INVALID);
    CHECK(shmemx_team_dup(SHMEM_TEAM_INVALID, &team) != 0 && team == SHMEM_TEAM_INVALID);
    CHECK(shmemx_team_translate_pes(SHMEM_TEAM_INVALID, NULL, 1, SHMEM_TEAM_WORLD, pe) == -1);
    int out = n_pes;
    CHECK(shmemx_team_translate_pes(SHMEM_TEAM_WORLD, &out, 1, SHMEM_TEAM_WORLD, pe) == 0 && pe[0] == -1);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    if (n_pes > MAX_PES) {
        printf("Bail out! at most %d PEs\n", MAX_PES);
        shmem_global_exit(1);
    }
    RUN(test_list, "lists in any order, and their children");
    RUN(test_create, "teams that their members make alone");
    RUN(test_color, "colors and keys");
    RUN(test_dup, "duplicates and comparisons");
    if (!getenv("SHMEM_CHECK")) /* it ends the job where config_mask differs */
        RUN(test_invalid, "invalid lists fail on every member");
    int status = tap_end();
    shmem_finalize();
    return status;
}
