/*
 * nbc.c - collectives of shmemx_coll.h in random programs, against the result by definition: random teams, kinds, lengths and roots, several
 * under way on each team, completed in an order of each PE's own, blocking collectives between them. All PEs draw a program from the same
 * numbers; delays, and the order and the kind of completion, are each PE's own. NBC_SEED=N: another program.
 */
#include "../tap_pes.h"

#include "nbc_calls.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CALLS = 14, ROUNDS = 40, BUFFER = 1 << 19, LONGEST = 24000 };

static struct call calls[CALLS];

/* ---- programs ----------------------------------------------------------------------------------------------------------- */

static void delay(void)
{
    static volatile unsigned sink;
    for (size_t i = draw_own(4) ? 0 : draw_own(200000); i > 0; i--)
        sink++;
}

/* Kinds whose dest may be source. */
static int may_be_in_place(enum kind k)
{
    return k == SUM || k == FLOATS || k == BITS || k == PROD || k == EXTREMA || k == SCAN || k == EXSCAN || k == SCATTER || k == LOC ||
           k == HALF || k == BFLOAT;
}

static void draw_call(struct call *c)
{
    static const size_t lengths[] = {0, 1, 2, 7, 100, 1000, LONGEST};
    c->kind = (enum kind)draw(KINDS);
    c->team = (int)draw(TEAMS);
    c->seed = draw(SIZE_MAX);
    c->variant = (int)draw(2);
    c->blocking = draw(4) == 0;
    c->in_place = draw(3) == 0 && may_be_in_place(c->kind);
    c->n = draw(3) ? draw(lengths[draw(5)] + 1) : draw(lengths[draw(7)] + 1);
    if (c->kind == BARRIER && c->variant)
        c->n = LONGEST;
    c->root = (int)draw((size_t)size_of(c));
    size_t most = BUFFER / 8 / (3 * (size_t)size_of(c) + 3);
    if (c->kind == BROADCAST && draw(3) == 0)
        c->n = LONGEST - draw(100), most = LONGEST;
    c->n = c->n < most ? c->n : most;
}

static void check_call(struct call *c)
{
    long at = wrong(c);
    CHECKF(at < 0, "kind %d, %zu elements, team %d of %d PEs, variant %d, in place %d, blocking %d: element %ld", c->kind, c->n, c->team,
           size_of(c), c->variant, c->in_place, c->blocking, at);
    c->done = 1;
}

/* Complete one call that is open, chosen by this PE alone; 0: there is none. */
static int complete_one(int n)
{
    int open = 0, k;
    for (int i = 0; i < n; i++)
        open += !calls[i].done;
    if (!open)
        return 0;
    for (k = (int)draw_own((size_t)n); calls[k].done; k = (k + 1) % n)
        ;
    struct call *c = &calls[k];
    shmemx_req_t copy = c->req;
    if (draw_own(2)) {
        shmemx_req_wait(&c->req);
    } else {
        while (!shmemx_req_test(&c->req))
            ;
    }
    CHECK(shmemx_req_test(&c->req) == 1 && shmemx_req_test(&copy) == 1);
    check_call(c);
    return 1;
}

/* A blocking collective on the team, between others. */
static void between(int team)
{
    static long in, out;
    size_t which = draw(4);
    if (teams[team].me < 0)
        return;
    in = teams[team].me + 1;
    if (which == 0)
        shmem_team_sync(teams[team].team);
    if (which == 1) {
        shmem_long_sum_reduce(teams[team].team, &out, &in, 1);
        CHECK(out == (long)teams[team].n * (teams[team].n + 1) / 2);
    }
}

static void run_round(void)
{
    int n = 1 + (int)draw(CALLS);
    for (int i = 0; i < n; i++) {
        struct call *c = &calls[i];
        draw_call(c);
        c->done = teams[c->team].me < 0;
        if (!c->done) {
            fill(c);
            memset(c->dest, 0x5a, BUFFER);
            if (c->in_place)
                memcpy(c->dest, c->source, BUFFER);
        }
    }
    shmem_barrier_all();
    for (int i = 0; i < n; i++) {
        struct call *c = &calls[i];
        char *source = c->source;
        if (!c->done) {
            delay();
            c->req = (shmemx_req_t)SHMEMX_REQ_NULL;
            if (c->in_place)
                c->source = c->dest;
            begin(c);
            c->source = source;
        }
        between(c->team);
        if (draw_own(3) == 0)
            complete_one(i + 1);
    }
    while (complete_one(n))
        delay();
    shmem_barrier_all();
}

/* Catches: results of another call or of another member's data; a call that is complete too early, or never; calls that match those of
 * another team; parts of short and long schedules that mix; sums in another order than the blocking ones. */
static void test_programs(void)
{
    for (int r = 0; r < ROUNDS; r++)
        run_round();
}

/* Catches: a call beyond the limit that never begins, or overwrites one that is under way; requests that are dropped and keep a call. */
static void test_many(void)
{
    enum { MANY = 600 };
    static long in[MANY], out[MANY];
    static shmemx_req_t req[MANY];
    static long last;
    shmem_team_t copy;
    CHECK(shmemx_team_dup(SHMEM_TEAM_WORLD, &copy) == 0);
    for (int i = 0; i < MANY; i++) {
        in[i] = me + i;
        shmemx_long_sum_reduce_nb(copy, &out[i], &in[i], 1, &req[i]);
    }
    for (int i = MANY - 1; i > 0; i -= 2) {
        shmemx_req_wait(&req[i]);
        CHECKF(out[i] == (long)n_pes * (n_pes - 1) / 2 + (long)i * n_pes, "call %d", i);
    }
    if (me == n_pes - 1)
        usleep(30000); /* the others wait for it in the next call */
    shmemx_long_sum_reduce_nb(copy, &last, &in[1], 1, &req[0]);
    shmem_team_destroy(copy);
    CHECK(last == (long)n_pes * (n_pes - 1) / 2 + n_pes);
    for (int i = 0; i < MANY; i++)
        CHECKF(out[i] == (long)n_pes * (n_pes - 1) / 2 + (long)i * n_pes, "call %d, after the team", i);
    shmem_barrier_all();
}

/* Catches: a collective that needs a call of each PE for its progress. The PEs compute until a word says that PE 0 has the result, which all
 * have to pass on. */
static void test_computing(void)
{
    static long in[4096], out[4096];
    static uint64_t come;
    static volatile unsigned sink;
    shmemx_req_t req;
    shmem_barrier_all();
    shmemx_sum_reduce_nb(SHMEM_TEAM_WORLD, out, in, 4096, &req);
    if (me == 0) {
        shmemx_req_wait(&req);
        for (int pe = 1; pe < n_pes; pe++)
            shmem_uint64_p(&come, 1, pe);
        shmem_quiet();
    } else {
        while (!__atomic_load_n(&come, __ATOMIC_ACQUIRE))
            for (int i = 0; i < 10000; i++)
                sink++;
        shmemx_req_wait(&req);
    }
    shmem_barrier_all();
}

static void make_teams(void)
{
    int order[PES];
    teams[0].team = SHMEM_TEAM_WORLD;
    CHECK(shmemx_team_dup(SHMEM_TEAM_WORLD, &teams[1].team) == 0);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, n_pes > 1 ? 2 : 1, (n_pes + 1) / 2, NULL, 0, &teams[2].team);
    for (int i = 0; i < n_pes; i++)
        order[i] = i;
    for (int i = n_pes - 1; i > 0; i--) {
        int k = (int)draw((size_t)i + 1), swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    CHECK(shmemx_team_split_list(SHMEM_TEAM_WORLD, order, n_pes, NULL, 0, &teams[3].team) == 0);
    shmemx_team_split_list(SHMEM_TEAM_WORLD, order, 1 + (int)draw((size_t)n_pes), NULL, 0, &teams[4].team);
    for (int i = 0; i < TEAMS; i++) {
        teams[i].me = teams[i].team == SHMEM_TEAM_INVALID ? -1 : shmem_team_my_pe(teams[i].team);
        long size = teams[i].me == 0 ? shmem_team_n_pes(teams[i].team) : 0;
        static long in, out;
        in = size;
        shmem_long_max_reduce(SHMEM_TEAM_WORLD, &out, &in, 1);
        teams[i].n = (int)out;
    }
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    const char *seed = getenv("NBC_SEED");
    shared_state = seed ? strtoull(seed, NULL, 0) : 20261128;
    own_state = shared_state + (uint64_t)me * 7919 + 1;
    for (int i = 0; i < CALLS; i++) {
        calls[i].dest = shmem_malloc(BUFFER);
        calls[i].source = shmem_malloc(BUFFER);
    }
    make_teams();
    RUN(test_programs, "random programs");
    RUN(test_many, "more calls than can be under way");
    RUN(test_computing, "progress of PEs that compute");
    int status = tap_end();
    shmem_finalize();
    return status;
}
