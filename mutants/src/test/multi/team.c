/* team.c - teams and contexts: members, numbers, and the reuse of destroyed ones. */
#include "../tap_pes.h"

#include <pthread.h>
#include <sched.h>
#include <shmemx.h>
#include <unistd.h>

static unsigned rnd = 99;

/* Catches: wrong members or order for negative strides, stride 0, sub-teams of sub-teams. */
static void test_strided(void)
{
    for (int trial = 0; trial < 200; trial++) {
        int start = (int)(tap_random(&rnd) % (unsigned)n_pes), stride = (int)(tap_random(&rnd) % 7) - 3;
        int room = stride > 0 ? (n_pes - 1 - start) / stride : stride < 0 ? start / -stride : 0;
        int size = 1 + (int)(tap_random(&rnd) % (unsigned)(room + 1)), mine = -1;
        for (int i = 0; i < size; i++)
            if (start + i * stride == me)
                mine = i;
        shmem_team_t team = SHMEM_TEAM_WORLD, half;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, stride, size, NULL, 0, &team) == 0);
        CHECKF(shmem_team_my_pe(team) == mine, "split %d %d %d: number %d, not %d", start, stride, size,
               shmem_team_my_pe(team), mine);
        CHECK(shmem_team_n_pes(team) == (mine < 0 ? -1 : size));
        CHECK(shmem_team_translate_pe(team, mine < 0 ? 0 : mine, SHMEM_TEAM_WORLD) == (mine < 0 ? -1 : me));
        CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, me, team) == mine);
        if (mine < 0)
            continue;
        CHECK(shmem_team_split_strided(team, size - 1, -1, (size + 1) / 2, NULL, 0, &half) == 0);
        CHECK(shmem_team_my_pe(half) == (size - 1 - mine < (size + 1) / 2 ? size - 1 - mine : -1));
        shmem_team_destroy(half);
        shmem_team_destroy(team);
    }
}

/* Catches: an invalid triplet that creates a team, or that fails on some members only. */
static void test_invalid(void)
{
    const int bad[][3] = {{0, 1, n_pes + 1}, {-1, 1, 1}, {n_pes, 1, 1}, {0, 1, 0}, {0, -1, 2}, {0, 0, 2}, {n_pes - 1, 1, 2}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        shmem_team_t team = SHMEM_TEAM_WORLD;
        int err = shmem_team_split_strided(SHMEM_TEAM_WORLD, bad[i][0], bad[i][1], bad[i][2], NULL, 0, &team);
        CHECKF(err != 0 && team == SHMEM_TEAM_INVALID, "split %d %d %d was accepted", bad[i][0], bad[i][1], bad[i][2]);
    }
    shmem_team_t x = SHMEM_TEAM_WORLD, y = SHMEM_TEAM_WORLD;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_INVALID, 0, 1, 1, NULL, 0, &x) != 0 && x == SHMEM_TEAM_INVALID);
    CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, 0, NULL, 0, &x, NULL, 0, &y) != 0);
    CHECK(x == SHMEM_TEAM_INVALID && y == SHMEM_TEAM_INVALID);
    CHECK(shmem_team_my_pe(SHMEM_TEAM_INVALID) == -1 && shmem_team_n_pes(SHMEM_TEAM_INVALID) == -1);
    CHECK(shmem_team_translate_pe(SHMEM_TEAM_WORLD, n_pes, SHMEM_TEAM_WORLD) == -1);
    shmem_team_destroy(SHMEM_TEAM_INVALID);
}

/* Catches: rows and columns mixed up, an incomplete last row counted as full. */
static void test_2d(void)
{
    for (int xrange = 1; xrange <= n_pes + 1; xrange++) {
        int width = xrange < n_pes ? xrange : n_pes, x = me % width, y = me / width;
        shmem_team_t xteam, yteam;
        CHECK(shmem_team_split_2d(SHMEM_TEAM_WORLD, xrange, NULL, 0, &xteam, NULL, 0, &yteam) == 0);
        CHECK(shmem_team_my_pe(xteam) == x && shmem_team_my_pe(yteam) == y);
        CHECK(shmem_team_n_pes(xteam) == ((y + 1) * width <= n_pes ? width : n_pes - y * width));
        CHECK(shmem_team_n_pes(yteam) == (n_pes - 1 - x) / width + 1);
        CHECK(shmem_team_translate_pe(yteam, 0, SHMEM_TEAM_WORLD) == x);
        static int v[2], sum[2];
        v[0] = v[1] = me;
        sum[0] = sum[1] = 0;
        shmem_barrier_all();
        shmem_int_sum_reduce(xteam, &sum[0], &v[0], 1);
        shmem_int_sum_reduce(yteam, &sum[1], &v[1], 1);
        int want_x = 0, want_y = 0;
        for (int p = 0; p < n_pes; p++)
            want_x += p / width == y ? p : 0, want_y += p % width == x ? p : 0;
        CHECKF(sum[0] == want_x && sum[1] == want_y, "sums over row and column of %d", xrange);
        shmem_team_destroy(xteam);
        shmem_team_destroy(yteam);
    }
}

/* Catches: a lost configuration, an ignored mask, predefined teams without a configuration. */
static void test_config(void)
{
    shmem_team_config_t c = {.num_contexts = 3}, got = {.num_contexts = -1};
    shmem_team_t team;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, &c, SHMEM_TEAM_NUM_CONTEXTS, &team) == 0);
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 3);
    shmem_team_destroy(team);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, &c, 0, &team) == 0);
    CHECK(shmem_team_get_config(team, SHMEM_TEAM_NUM_CONTEXTS, &got) == 0 && got.num_contexts == 0);
    CHECK(shmem_team_get_config(team, 0, NULL) == 0);
    CHECK(shmem_team_get_config(SHMEM_TEAM_INVALID, 0, NULL) != 0);
    shmem_team_destroy(team);
    int *heap = shmem_malloc(sizeof *heap), reached = 0;
    for (int pe = 0; pe < n_pes; pe++)
        reached += shmem_ptr(heap, pe) != NULL;
    CHECK(shmem_team_n_pes(SHMEM_TEAM_SHARED) == reached);
    CHECK(shmem_team_ptr(SHMEM_TEAM_WORLD, heap, next_pe()) == shmem_ptr(heap, next_pe()));
    CHECK(shmem_team_ptr(SHMEM_TEAM_INVALID, heap, 0) == NULL);
    shmem_free(heap);
}

/* Catches: a slot reused while another team still counts in it, epochs that start below an old team's, slots that are
 * never freed. Members leave each team at different times. */
static void test_many(void)
{
    enum { ROUNDS = 3000 };
    static long one = 1, sum;
    for (int i = 0; i < ROUNDS; i++) {
        int size = 1 + i % n_pes, start = i % (n_pes - size + 1);
        shmem_team_t team;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, start, 1, size, NULL, 0, &team) == 0);
        if (team == SHMEM_TEAM_INVALID)
            continue;
        for (int k = 0; k < i % 4; k++) {
            random_delay(&rnd);
            shmem_team_sync(team);
        }
        sum = 0;
        shmem_team_sync(team);
        shmem_long_sum_reduce(team, &sum, &one, 1);
        CHECKF(sum == size, "round %d: sum %ld of %d members", i, sum, size);
        shmem_team_destroy(team);
    }
}

/* Catches: a limit that fails on some members only, teams lost after the failure, slots of teams that members of the node destroy
 * late. */
static void test_limit(void)
{
    enum { TRIES = 600 };
    static shmem_team_t team[TRIES];
    int made = 0;
    while (made < TRIES && shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &team[made]) == 0)
        made++;
    CHECKF(made >= 256 && made < TRIES, "%d teams at the same time", made);
    static int mine, most;
    mine = made;
    shmem_barrier_all();
    shmem_int_max_reduce(SHMEM_TEAM_WORLD, &most, &mine, 1);
    CHECK(most == made);
    if (me % 2) /* the others split before these have destroyed their teams */
        usleep(50000);
    for (int i = 0; i < made; i++)
        shmem_team_destroy(team[i]);
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &team[0]) == 0);
    shmem_team_destroy(team[0]);
}

/* Catches: PE numbers of a context taken for the world's, options refused, a context of a subset that reaches other
 * PEs. */
static void test_ctx(void)
{
    const long options[] = {0, SHMEM_CTX_SERIALIZED, SHMEM_CTX_PRIVATE, SHMEM_CTX_NOSTORE,
                            SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE};
    static long word;
    shmem_team_t team, of;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, n_pes - 1, -1, n_pes, NULL, 0, &team) == 0);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        shmem_ctx_t ctx;
        CHECK(shmem_team_create_ctx(team, options[i], &ctx) == 0);
        CHECK(shmem_ctx_get_team(ctx, &of) == 0 && of == team);
        word = -1;
        shmem_barrier_all();
        shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
        shmem_ctx_long_p(ctx, &word, me, me); /* reversed team: goes to n_pes - 1 - me */
        shmem_ctx_session_stop(ctx);
        shmem_ctx_fence(ctx);
        shmem_ctx_pe_quiet(ctx, &me, 1);
        shmem_ctx_quiet(ctx);
        shmem_barrier_all();
        CHECKF(word == n_pes - 1 - me, "word is %ld", word);
        CHECK(shmem_ctx_long_atomic_fetch_add(ctx, &word, 0, shmem_team_my_pe(team)) == word);
        shmem_barrier_all();
        shmem_ctx_destroy(ctx);
    }
    shmem_ctx_t left;
    CHECK(shmem_team_create_ctx(team, 0, &left) == 0); /* destroyed with the team */
    shmem_team_destroy(team);
    CHECK(shmem_team_create_ctx(SHMEM_TEAM_INVALID, 0, &left) != 0 && left == SHMEM_CTX_INVALID);
    CHECK(shmem_ctx_create(0x100, &left) != 0 && left == SHMEM_CTX_INVALID);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_DEFAULT, &of) == 0 && of == SHMEM_TEAM_WORLD);
    CHECK(shmem_ctx_get_team(SHMEM_CTX_INVALID, &of) != 0 && of == SHMEM_TEAM_INVALID);
    shmem_ctx_quiet(SHMEM_CTX_INVALID);
    shmem_ctx_destroy(SHMEM_CTX_INVALID);
}

/* Catches: operations that a session holds back for ever, or past a fence, when the PE makes no more calls; a session
 * that outlives its context or the library; unknown hints refused. */
static void test_session(void)
{
    static long word[3];
    const int to = (me + 1) % n_pes;
    shmem_ctx_t ctx;
    CHECK(shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx) == 0);
    shmem_barrier_all();
    shmem_ctx_session_start(ctx, SHMEM_CTX_SESSION_BATCH, NULL, 0);
    shmem_ctx_session_start(SHMEM_CTX_DEFAULT, SHMEM_CTX_SESSION_BATCH,
                            &(shmem_ctx_session_config_t){.total_ops = 2}, SHMEM_CTX_SESSION_TOTAL_OPS);
    shmem_ctx_session_start(ctx, ~0L, NULL, ~0L);
    shmem_ctx_session_start(SHMEM_CTX_INVALID, ~0L, NULL, ~0L);
    shmem_long_p(&word[0], 1, to);
    shmem_fence();
    shmem_long_atomic_add(&word[1], 1, to);
    shmem_ctx_long_p(ctx, &word[2], 1, to);
    while (!__atomic_load_n(&word[1], __ATOMIC_ACQUIRE) || !__atomic_load_n(&word[2], __ATOMIC_ACQUIRE))
        sched_yield();
    CHECK(word[0] == 1);
    shmem_ctx_destroy(ctx);
    shmem_barrier_all();
}

/* Catches: a slot, with high epochs, of a team that an earlier session left behind, used by a team of this one. */
static void test_left_behind(void)
{
    static shmem_team_t left, team;
    static long one = 1, sum;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &left) == 0);
    for (int i = 0; i < 500; i++)
        shmem_team_sync(left);
    shmem_finalize();
    shmem_init();
    for (int k = 0; k < 20; k++) {
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &team) == 0);
        for (int i = 0; i < 20; i++) {
            random_delay(&rnd);
            sum = -1;
            shmem_team_sync(team);
            shmem_long_sum_reduce(team, &sum, &one, 1);
            CHECKF(sum == n_pes, "sum %ld in round %d", sum, i);
            shmem_team_sync(team);
        }
    }
}

/* The threads of every PE split teams of their own at the same time. */
static shmem_team_t parents[3];
static long sums[3], ones = 1;

static void *split_often(void *arg)
{
    int id = (int)(intptr_t)arg, bad = 0;
    for (int i = 0; i < 300; i++) {
        shmem_team_t team;
        bad += shmem_team_split_strided(parents[id], n_pes - 1, -1, n_pes, NULL, 0, &team) != 0;
        sums[id] = 0;
        shmem_team_sync(team);
        shmem_long_sum_reduce(team, &sums[id], &ones, 1);
        bad += sums[id] != n_pes;
        shmem_team_sync(team);
        shmem_team_destroy(team);
    }
    return (void *)(intptr_t)bad;
}

/* Catches: two threads' splits with the same slot. */
static void test_threads(void)
{
    pthread_t t[3];
    int provided;
    shmem_finalize();
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < 3; i++)
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &parents[i]) == 0);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, split_often, (void *)(intptr_t)i);
    for (int i = 0; i < 3; i++) {
        void *bad;
        pthread_join(t[i], &bad);
        CHECKF(!bad, "thread %d: %d failures", i, (int)(intptr_t)bad);
    }
}

#if TAP_TSAN
enum { SPLITS = 1 << 12 }; /* with the sanitizer 2^23 take half a minute, and this is not a test of threads */
#else
enum { SPLITS = 1 << 23 }; /* more than the counter in a team's number holds */
#endif

/* Catches: a team whose number in messages equals an older team's, or seems older than that of an ended one. */
static void test_many_splits(void)
{
    shmem_team_t alone, kept, t;
    int splits = n_pes == 2 ? SPLITS : 100; /* seconds; one number of PEs shows it */
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, 1, NULL, 0, &alone) == 0);
    for (int round = 0; round < 2; round++) {
        int mine = me, got = -1;
        CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &t) == 0);
        shmemx_tag_send(t, &mine, sizeof mine, 5, next_pe());
        shmemx_tag_recv(t, &got, sizeof got, 5, ~0ull, SHMEMX_TAG_ANY_SOURCE, NULL);
        CHECKF(got == (me + n_pes - 1) % n_pes, "%d instead of a message from the previous PE", got);
        shmem_barrier_all();
        shmem_team_destroy(t);
        for (int i = 0; me == 0 && round == 0 && i < splits; i++) {
            shmem_team_split_strided(alone, 0, 1, 1, NULL, 0, &kept);
            shmem_team_destroy(kept);
        }
    }
    shmem_team_destroy(alone);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    RUN(test_strided, "strided splits, also of split teams");
    RUN(test_invalid, "invalid splits fail on every member");
    RUN(test_2d, "rows and columns of every width");
    RUN(test_config, "configuration and predefined teams");
    RUN(test_many, "teams created, used and destroyed without barriers");
    RUN(test_limit, "the limit is the same on every member, and splits succeed again below it");
    RUN(test_ctx, "contexts of a team");
    RUN(test_session, "sessions that batch");
    RUN(test_left_behind, "teams left behind by an earlier shmem_init");
    RUN(test_many_splits, "more splits than the counter in a team's number holds");
    RUN(test_threads, "threads that split at the same time");
    int status = tap_end();
    shmem_finalize();
    return status;
}
