/*
 * info.c - queries and life cycle: version, name, thread levels, repeated init and finalize.
 */
#include "../tap_pes.h"

/* Catches: version and name that differ from the header; a name that is not terminated inside its array. */
static void version_and_name(void)
{
    int major = -1, minor = -1;
    char name[SHMEM_MAX_NAME_LEN + 1];
    memset(name, 'x', sizeof name);
    shmem_info_get_version(&major, &minor);
    shmem_info_get_name(name);
    CHECK(major == SHMEM_MAJOR_VERSION && major == 1);
    CHECK(minor == SHMEM_MINOR_VERSION && minor == 6);
    CHECK(memchr(name, '\0', SHMEM_MAX_NAME_LEN) != NULL && strcmp(name, SHMEM_VENDOR_STRING) == 0);
    CHECK(name[SHMEM_MAX_NAME_LEN] == 'x');
}

/* Catches: two PEs with one number, or a missing number. */
static void numbers(void)
{
    static int there[1024];
    CHECK(me >= 0 && me < n_pes);
    if (me < 1024)
        shmem_int_atomic_inc(&there[me], 0);
    shmem_barrier_all();
    for (int i = 0; me == 0 && i < n_pes && i < 1024; i++)
        CHECKF(there[i] == 1, "%d PEs have number %d", there[i], i);
    CHECK(_my_pe() == me && _num_pes() == n_pes);
}

/* Catches: a second init that restarts the library: the heap would be empty, the thread level another. */
static void init_twice(void)
{
    int before = -1, after = -1, provided = -1;
    long *word = shmem_malloc(sizeof *word);
    *word = 42;
    shmem_query_thread(&before);
    shmem_init();
    CHECK(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided) == 0);
    start_pes(0);
    shmem_query_thread(&after);
    CHECK(before == after && provided == before);
    CHECK(*word == 42 && shmem_ptr(word, me) == word);
    long *other = shmem_malloc(sizeof *other);
    CHECK(other && other != word);
    shmem_finalize();
    shmem_free(other);
    shmem_finalize();
    shmem_free(word);
}

/* Catches: an inner shmem_finalize that ends the library, frees memory or teams, or is no barrier or quiet; start_pes
 * that is counted. */
static void inner_finalize(void)
{
    enum { DEPTH = 3, N = 20000 };
    static long from[N];
    long *to = shmem_calloc(N, sizeof *to);
    shmem_team_t all;
    CHECK(shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n_pes, NULL, 0, &all) == 0);
    for (int depth = 0; depth < DEPTH; depth++) {
        shmem_init();
        start_pes(0);
    }
    for (int depth = 0; depth < DEPTH; depth++) {
        int up = -1, wrong = 0;
        for (int i = 0; i < N; i++)
            from[i] = depth * N + i + me;
        shmem_long_put_nbi(to, from, N, next_pe());
        shmem_finalize();
        shmem_query_initialized(&up);
        for (int i = 0; i < N; i++)
            wrong += to[i] != depth * N + i + (me + n_pes - 1) % n_pes;
        CHECK(up == 1 && wrong == 0);
        shmem_team_sync(all);
    }
    shmem_team_destroy(all);
    shmem_free(to);
}

/* Catches: state of the first session that the second one uses: barrier words, heap contents, addresses of peers; pages of
 * the heap that the network does not use because they were replaced since it registered them. */
static void lives(void)
{
    static long kept, many[12500];
    for (int life = 0; life < 6; life++) {
        int level = life % 4, provided = -1, up = -1;
        kept = life * 10 + me;
        long *old = shmem_malloc(100000);
        memset(old, 0xff, 100000);
        shmem_finalize();
        shmem_query_initialized(&up);
        CHECK(up == 0);
        CHECK(kept == life * 10 + me);
        if (life < 4) {
            CHECK(shmem_init_thread(level, &provided) == 0 && provided >= level);
        } else {
            level = provided = SHMEM_THREAD_SINGLE;
            if (life == 4)
                start_pes(0);
            shmem_init(); /* in session 4, a pair inside that of start_pes */
            if (life == 4)
                shmem_finalize();
        }
        shmem_query_initialized(&up);
        CHECK(up == 1 && shmem_my_pe() == me && shmem_n_pes() == n_pes);
        shmem_query_thread(&level);
        CHECK(level == provided);
        long *word = shmem_calloc(1, sizeof *word), *wide = shmem_malloc(sizeof many);
        many[12499] = life - me;
        shmem_long_p(word, life + me, next_pe());
        shmem_long_put(wide, many, 12500, next_pe());
        shmem_barrier_all();
        CHECK(*word == life + (me + n_pes - 1) % n_pes);
        CHECK(wide[12499] == life - (me + n_pes - 1) % n_pes);
        shmem_free(wide);
        CHECK(shmem_long_g(&kept, next_pe()) == life * 10 + next_pe());
        shmem_free(word);
    }
}

static int up_before = -1;

/* Catches: query_initialized that works only after init. */
static void before_init(void)
{
    CHECK(up_before == 0);
    int up = -1;
    shmem_query_initialized(&up);
    CHECK(up == 1);
}

int main(void)
{
    shmem_query_initialized(&up_before);
    shmem_init();
    tap_pes_begin();
    RUN(before_init, "query_initialized before and after init");
    RUN(version_and_name, "version and name");
    RUN(numbers, "PE numbers");
    RUN(init_twice, "init when already initialized");
    RUN(inner_finalize, "finalize of an inner init");
    RUN(lives, "finalize and init again, every thread level");
    shmem_finalize();
    return tap_end();
}
