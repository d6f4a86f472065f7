/*
 * replace.c - for replace.sh: PEs work, some are killed at a time that the seed gives, also while they join; the others let in those that oshrun has started
 * again, and all go on.
 *
 * usage: replace SEED VICTIMS MOST_US STEPS [all]. Each of VICTIMS PEs is killed within MOST_US microseconds after the start of the steps; one of four
 * processes that are started again, at some time of its start. Each PE that lives prints one line that begins with "right", with the number of PEs, or says
 * what was wrong and ends with 1. all: they grow until no PE is missing.
 *
 * With REPLACE_ID=FILE REPLACE_PE=PE REPLACE_PES=PES in the environment the processes meet by a unique id, which PE 0 writes to the file and which the processes that
 * are started again read from it; with REPLACE_ID=file=FILE by SHMEM_UNIQUEID. PE 0 does not die; it runs the command REPLACE_BESIDE, if there is one.
 */
#include <pthread.h>
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 16, WAIT_MS = 40000, WORDS = 100 };

static uint64_t seed;
static int me, n, needs_all, team_me, team_n, grown, joined;
static shmem_team_t team;
static uint64_t added[MOST];          /* this PE's completed updates of each PE's counter[me] */
static uint64_t counter[MOST];        /* symmetric: by the PE that updates it */
static long step, latest, sums[2], parts[2], held, lock, *block;

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static _Noreturn void wrong(const char *format, ...)
{
    char text[200];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    printf("wrong: PE %d, step %ld, %d times grown: %s\n", me, step, grown, text);
    fflush(stdout);
    shmem_global_exit(1);
    _exit(1);
}

/* ---- the end of a PE -------------------------------------------------------------------------------------------------- */

static int dies; /* it does so before the end, when nothing would replace it any more, however late its thread is scheduled */

static void *kill_later(void *arg)
{
    uint64_t us = *(uint64_t *)arg;
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000) * 1000};
    nanosleep(&t, NULL);
    kill(getpid(), SIGKILL);
    return arg;
}

static void end_within(uint64_t most_us, uint64_t *state)
{
    static uint64_t us;
    pthread_t t;
    us = next(state) % most_us;
    dies = pthread_create(&t, NULL, kill_later, &us) == 0;
}

/* By the unique id in the file. */
static void init_by_id(const char *path, int pe, int pes)
{
    static shmemx_uniqueid_t id = SHMEMX_UNIQUEID_INITIALIZER;
    static shmemx_init_attr_t attr = SHMEMX_INIT_ATTR_INITIALIZER;
    char part[1000];
    FILE *f = NULL;
    snprintf(part, sizeof part, "%s.part", path);
    int makes = pe == 0 && access(path, F_OK);
    if (makes && (shmemx_get_uniqueid(&id) || !(f = fopen(part, "w")) || fwrite(&id, sizeof id, 1, f) != 1 || fclose(f) || rename(part, path)))
        exit(9);
    for (size_t n = 0; !makes && n != 1; usleep(1000))
        if ((f = fopen(path, "r"))) {
            n = fread(&id, sizeof id, 1, f);
            fclose(f);
        }
    shmemx_set_attr_uniqueid_args(pe, pes, &id, &attr);
    if (shmemx_init_attr(SHMEMX_INIT_WITH_UNIQUEID, &attr))
        exit(9);
}

static void start(void)
{
    const char *id = getenv("REPLACE_ID"), *pe = getenv("REPLACE_PE"), *pes = getenv("REPLACE_PES");
    char file[1000];
    int by_file = id && strncmp(id, "file=", 5) == 0;
    if (id && !by_file) {
        init_by_id(id, atoi(pe), atoi(pes));
        return;
    }
    if (by_file) {
        snprintf(file, sizeof file, "%s/%s@%s", pe, pes, id + 5);
        setenv("SHMEM_UNIQUEID", file, 1);
    }
    shmem_init();
}

static void choose_victims(int victims, uint64_t most_us)
{
    uint64_t state = seed;
    int pe[MOST];
    for (int i = 0; i < n; i++)
        pe[i] = i;
    for (int i = 0; i < victims; i++) {
        int k = i + (int)(next(&state) % (uint64_t)(n - i)), chosen = pe[k];
        pe[k] = pe[i];
        pe[i] = chosen;
        uint64_t own = seed * 100 + (uint64_t)i;
        if (chosen == me && !(me == 0 && getenv("REPLACE_ID")))
            end_within(most_us, &own);
    }
}

/* ---- after a failure ---------------------------------------------------------------------------------------------------- */

static int world_pe(int member)
{
    return shmem_team_translate_pe(team, member, SHMEM_TEAM_WORLD);
}

static void enter(shmem_team_t t)
{
    team = t;
    team_me = shmem_team_my_pe(team);
    team_n = shmem_team_n_pes(team);
    shmemx_wait_team(team);
}

static int has_failed(int pe)
{
    int failed[MOST], count = shmemx_failed_pes(failed, MOST), i = 0;
    while (i < count && failed[i] != pe)
        i++;
    return i < count;
}

/* Over the network, what a PE that has failed meanwhile returns is not defined. */
static void check_counters(void)
{
    for (int i = 0; i < team_n; i++) {
        int pe = world_pe(i);
        uint64_t is = shmem_uint64_atomic_fetch(&counter[me], pe);
        if (is != added[pe] && !has_failed(pe))
            wrong("PE %d has %lu of %lu updates", pe, (unsigned long)is, (unsigned long)added[pe]);
    }
}

/* All members of the new team: what each has is the same where it must be, and new PEs get it. 0, or one has failed. */
static int restore(int is_new)
{
    static long news[MOST], mine[1];
    mine[0] = is_new;
    int err = shmem_long_fcollect(team, news, mine, 1), old = 0;
    if (err)
        return err;
    while (old < team_n && news[old])
        old++;
    if (old == team_n)
        wrong("all PEs are new");
    if (is_new) {
        shmem_getmem(&block, &block, sizeof block, world_pe(old));
        if (!block)
            return 1; /* that PE has failed */
        for (int i = 0; i < WORDS; i++)
            if (block[i])
                wrong("a new PE's block is not 0");
    }
    for (int i = 0; i < team_n; i++) {
        if (is_new) /* another process has updated them */
            added[world_pe(i)] = shmem_uint64_atomic_fetch(&counter[me], world_pe(i));
        else if (news[i])
            added[world_pe(i)] = 0;
    }
    parts[0] = 1;
    parts[1] = team_me;
    err = shmem_long_sum_reduce(team, sums, parts, 2);
    if (!err && (sums[0] != team_n || sums[1] != (long)team_n * (team_n - 1) / 2))
        wrong("a sum of %d PEs is %ld, %ld", team_n, sums[0], sums[1]);
    static long my_step;
    my_step = step;
    err = err ? err : shmem_long_max_reduce(team, &latest, &my_step, 1);
    if (!err)
        step = latest;
    return err;
}

static int agree(uint64_t well)
{
    return shmemx_agree(team, &well, NULL, 0) == 0 && well;
}

static void grow(int is_new)
{
    int well = 0;
    while (!well || (needs_all && team_n < n)) { /* a new PE that has not got everything stays one for the others */
        is_new &= !well;
        shmem_team_t t;
        int count = shmemx_grow(WAIT_MS, &t);
        if (count < 0)
            wrong("shmemx_grow");
        if (shmemx_is_new())
            wrong("a PE stays new");
        enter(t);
        grown++;
        joined += count;
        well = agree(!restore(is_new));
    }
    check_counters();
}

/* All members come here at the same agreement of the team; who gives 0 has met a failure. 1: all go on; 0: they have grown. */
static int all_well(uint64_t well)
{
    if (agree(well))
        return 1;
    grow(0);
    return 0;
}

static void recover(void)
{
    shmemx_team_revoke(team);
    all_well(0);
}

/* ---- steps: 0, or a failure was met ---------------------------------------------------------------------------------------- */

static int sum(void)
{
    parts[0] = team_me + step;
    parts[1] = 1;
    int err = shmem_long_sum_reduce(team, sums, parts, 2);
    long want = (long)team_n * (team_n - 1) / 2 + (long)team_n * step;
    if (!err && (sums[0] != want || sums[1] != team_n))
        wrong("a sum is %ld, not %ld", sums[0], want);
    return err;
}

static int update(void)
{
    for (int i = 0; i < team_n; i++) {
        int pe = world_pe((team_me + i) % team_n);
        shmem_uint64_atomic_add(&counter[me], 1, pe);
        shmem_quiet();
        added[pe]++;
    }
    return 0;
}

static int under_lock(void)
{
    shmemx_status();
    shmem_set_lock(&lock);
    int inherited = shmemx_status();
    int home = world_pe(0);
    long was = shmem_long_g(&held, home);
    if (was != 0 && !inherited && shmemx_failed_pes(NULL, 0) == 0)
        wrong("the lock is held twice");
    shmem_long_p(&held, me + 1, home);
    shmem_quiet();
    shmem_long_p(&held, 0, home);
    shmem_quiet();
    shmem_clear_lock(&lock);
    return 0;
}

/* The heap's routines are collective over all that live: only where all go on. */
static int heap(void)
{
    static long offset, least, most;
    if (!all_well(1))
        return 0; /* all have grown */
    char *p = shmem_malloc(4096 + 64 * (size_t)(step % 7)), *q = shmem_malloc(64);
    if (!p || !q)
        wrong("shmem_malloc");
    memset(p, 0xff, 4096);
    offset = q - (char *)block;
    shmem_free(p);
    shmem_free(q);
    int err = shmem_long_min_reduce(team, &least, &offset, 1);
    err = err ? err : shmem_long_max_reduce(team, &most, &offset, 1);
    if (!err && least != most)
        wrong("blocks have different places");
    return err;
}

static int message(void)
{
    static char out[40000], in[40000];
    size_t bytes = step % 3 ? 8 : sizeof out;
    int to = (team_me + 1) % team_n, from = (team_me + team_n - 1) % team_n;
    shmemx_tag_request_t send;
    shmemx_tag_status_t is, sent;
    memset(out, 1 + (int)(step + team_me) % 100, bytes);
    shmemx_tag_isend(team, out, bytes, (uint64_t)step, to, &send);
    shmemx_tag_recv(team, in, sizeof in, (uint64_t)step, SHMEMX_TAG_EXACT, from, &is);
    if (is.failed)
        shmemx_team_revoke(team);
    else if (in[0] != 1 + (step + from) % 100 || in[bytes - 1] != in[0])
        wrong("a message of member %d has %d", from, in[0]);
    shmemx_tag_wait(&send, &sent);
    return is.failed || sent.failed;
}

int main(int argc, char **argv)
{
    static int (*const steps[])(void) = {sum, update, under_lock, heap, message, sum};
    if (argc != 5 && argc != 6)
        return 2;
    needs_all = argc == 6;
    seed = strtoull(argv[1], NULL, 10);
    uint64_t own = seed * 1000003 + (uint64_t)getpid();
    if (getenv("FULMAR_REPLACES") && next(&own) % 4 == 0)
        end_within(400000, &own);
    start();
    me = shmem_my_pe();
    n = shmem_n_pes();
    if (shmemx_is_new()) {
        grow(1);
        step++; /* as at the others */
    } else {
        void *two[2] = {shmem_malloc(200), shmem_malloc(64)}, *three[2] = {shmem_malloc(200), shmem_malloc(64)};
        if (!two[1] || !three[1])
            wrong("shmem_malloc");
        shmem_free(two[0]); /* two free parts of one size, whose order is that of these calls */
        shmem_free(three[0]);
        block = shmem_malloc(sizeof(long[WORDS]));
        enter(SHMEM_TEAM_WORLD);
        shmem_barrier_all();
        const char *beside = me == 0 ? getenv("REPLACE_BESIDE") : NULL;
        if (beside && system(beside) < 0)
            wrong("system");
        choose_victims(atoi(argv[2]), strtoull(argv[3], NULL, 10));
    }
    for (int n_steps = atoi(argv[4]);; step++) {
        uint64_t state = seed + (uint64_t)step;
        if (step >= n_steps && dies)
            pause();
        if (step >= n_steps && all_well(1))
            break;
        if (step < n_steps && steps[next(&state) % (sizeof steps / sizeof *steps)]())
            recover();
    }
    check_counters();
    shmem_finalize();
    printf("right: %d PEs, %d times grown, %d joined\n", team_n, grown, joined);
    return 0;
}
