/*
 * survive.c - for survive.sh: PEs work, some are killed at a time that the seed gives, the others find out, agree, shrink and go on.
 *
 * usage: survive SEED VICTIMS MOST_US STEPS. Each of VICTIMS PEs is killed within MOST_US microseconds after the start of the steps; wVICTIMS: the
 * test kills them, at any time. Each PE that lives prints one line that begins
 * with "right", or says what was wrong and ends with 1.
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

enum { MOST = 64 };

static uint64_t seed;
static int me, n;
static shmem_team_t team;         /* of those that live, as all agree */
static int team_me, team_n, step, recoveries, gone;
static int far; /* a dead PE's memory cannot be reached */
static uint64_t added[MOST];      /* this PE's completed updates of each PE's counter[me] */
static uint64_t counter[MOST], signals[MOST]; /* symmetric: by the PE that updates it */
static long sums[2], parts[2], all[MOST], lock, held;

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
    printf("wrong: PE %d, step %d, %d recoveries: %s\n", me, step, recoveries, text);
    fflush(stdout);
    shmem_global_exit(1);
    _exit(1);
}

/* ---- the end of a PE -------------------------------------------------------------------------------------------------- */

static void *kill_later(void *arg)
{
    uint64_t ns = *(uint64_t *)arg;
    struct timespec t = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    nanosleep(&t, NULL);
    kill(getpid(), SIGKILL);
    return arg;
}

static void prepare_end(int victims, uint64_t most_us)
{
    static uint64_t ns;
    uint64_t state = seed;
    int pe[MOST];
    pthread_t t;
    for (int i = 0; i < n; i++)
        pe[i] = i;
    for (int i = 0; i < victims; i++) {
        int k = i + (int)(next(&state) % (uint64_t)(n - i)), chosen = pe[k];
        uint64_t after = next(&state) % (most_us * 1000);
        pe[k] = pe[i];
        pe[i] = chosen;
        if (chosen != me)
            continue;
        ns = after;
        pthread_create(&t, NULL, kill_later, &ns);
    }
}

/* ---- after a failure ---------------------------------------------------------------------------------------------------- */

static void enter(shmem_team_t t)
{
    team = t;
    team_me = shmem_team_my_pe(team);
    team_n = shmem_team_n_pes(team);
    shmemx_wait_team(team);
}

static int world_pe(int member)
{
    return shmem_team_translate_pe(team, member, SHMEM_TEAM_WORLD);
}

static int is_failed(int pe)
{
    int failed[MOST], count = shmemx_failed_pes(failed, MOST);
    for (int i = 0; i < count; i++)
        if (failed[i] == pe)
            return 1;
    return 0;
}

/* What this PE has completed at PEs that live is there. */
static void check_counters(void)
{
    for (int i = 0; i < team_n; i++) {
        int pe = world_pe(i);
        uint64_t is = shmem_uint64_atomic_fetch(&counter[me], pe);
        if (is != added[pe] && !(far && is_failed(pe)))
            wrong("PE %d has %lu of %lu updates", pe, (unsigned long)is, (unsigned long)added[pe]);
    }
}

/* All members come here at the same agreement of the team; who gives 0 has met a failure. 1: all go on. */
static int all_well(uint64_t well)
{
    int dead[MOST], n_dead = shmemx_agree(team, &well, dead, MOST);
    if (well && n_dead == 0)
        return 1;
    for (;;) {
        shmem_team_t t;
        if (shmemx_team_shrink(team, &t))
            wrong("shrink");
        shmem_team_t old = team;
        enter(t);
        for (int i = 0; i < n_dead && old != SHMEM_TEAM_INVALID; i++)
            if (shmem_team_translate_pe(old, dead[i], team) >= 0)
                wrong("a dead member is in the new team");
        if (old != SHMEM_TEAM_WORLD)
            shmem_team_destroy(old);
        recoveries++;
        /* the new team works: a sum of ones; its members are the same everywhere: a digest */
        uint64_t digest = 0;
        for (int i = 0; i < team_n; i++)
            digest = digest * 31 + (uint64_t)world_pe(i);
        parts[0] = 1;
        parts[1] = (long)(digest >> 1);
        int err = shmem_long_sum_reduce(team, sums, parts, 2);
        if (!err && (sums[0] != team_n || sums[1] != (long)((unsigned long)parts[1] * (unsigned long)team_n)))
            wrong("the members of the new team differ: %ld of %d", sums[0], team_n);
        /* some have done the step in which others met the failure */
        static long mine, latest;
        mine = step;
        err = err ? err : shmem_long_max_reduce(team, &latest, &mine, 1);
        if (!err)
            step = (int)latest;
        check_counters();
        well = err == 0;
        n_dead = shmemx_agree(team, &well, dead, MOST);
        if (well && n_dead == 0)
            return 0;
    }
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

static int collect(void)
{
    long mine = 100 * step + team_me;
    parts[0] = mine;
    int err = shmem_long_collect(team, all, parts, 1);
    for (int i = 0; !err && i < team_n; i++)
        if (all[i] != 100 * step + i)
            wrong("collect: %ld of member %d", all[i], i);
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

static int ring(void)
{
    int to = world_pe((team_me + 1) % team_n), from = world_pe((team_me + team_n - 1) % team_n);
    shmem_uint64_atomic_set(&signals[me], (uint64_t)step, to);
    shmem_quiet();
    shmem_uint64_wait_until(&signals[from], SHMEM_CMP_GE, (uint64_t)step);
    return shmemx_status();
}

static int under_lock(void)
{
    shmemx_status();
    shmem_set_lock(&lock);
    int inherited = shmemx_status();
    if (inherited == SHMEMX_ERR_REVOKED) { /* the PE that kept its state has died */
        gone++;
        return 0;
    }
    int home = 0; /* its memory may be a dead PE's */
    long was = shmem_long_g(&held, home);
    if (was != 0 && !inherited && !(far && is_failed(home)))
        wrong("the lock is held twice");
    shmem_long_p(&held, me + 1, home);
    shmem_quiet();
    if (shmem_long_g(&held, home) != me + 1 && !(far && is_failed(home)))
        wrong("the lock was held twice");
    shmem_long_p(&held, 0, home);
    shmem_quiet();
    shmem_clear_lock(&lock);
    return 0;
}

/* The heap's routines are collective over all that live: only where all go on. */
static int heap(void)
{
    if (!all_well(1))
        return 0; /* all have recovered */
    uint64_t *p = shmem_malloc(4096 + 64 * (size_t)(step % 7));
    if (!p)
        wrong("shmem_malloc");
    memset(p, 0xff, 4096);
    shmem_free(p);
    return 0;
}

static int agree(void)
{
    all_well(1);
    return 0;
}

static int split(void)
{
    shmem_team_t t;
    int half = (team_n + 1) / 2, err = shmem_team_split_strided(team, 0, 1, half, NULL, 0, &t);
    int well = all_well(!err); /* some may have the new team, and others not */
    err = 0;
    if (well && t != SHMEM_TEAM_INVALID)
        err = shmem_team_sync(t);
    if (t != SHMEM_TEAM_INVALID)
        shmem_team_destroy(t);
    return err;
}

/* ---- messages, nonblocking collectives, calls of procedures ---------------------------------------------------------------- */

enum { LONGEST = 300000 };
static char out[LONGEST], in[LONGEST]; /* not symmetric: read by process_vm_readv, and parts of it sent where it fails */

static size_t length(void)
{
    static const size_t lengths[] = {8, 600, 40000, LONGEST};
    uint64_t state = seed + 7 * (uint64_t)step;
    return lengths[next(&state) % 4];
}

static void fill(char *data, size_t bytes, int from)
{
    memset(data, 1 + (step + 31 * from) % 255, bytes);
}

static void check_data(const char *data, size_t bytes, int from)
{
    char want = (char)(1 + (step + 31 * from) % 255);
    for (size_t i = 0; i < bytes; i++)
        if (data[i] != want)
            wrong("byte %zu of %zu from member %d is %d, not %d", i, bytes, from, data[i], want);
}

static uint64_t tag_of(int of)
{
    return (uint64_t)step * 16 + (uint64_t)of;
}

/* A failure of the receive: the others get to know of it, so that the send ends at once, whatever its receiver does. */
static int messages(void)
{
    size_t bytes = length();
    int to = (team_me + 1) % team_n, from = (team_me + team_n - 1) % team_n;
    shmemx_tag_request_t send;
    shmemx_tag_status_t is, sent;
    shmemx_status();
    fill(out, bytes, team_me);
    (step % 2 ? shmemx_tag_isend : shmemx_tag_issend)(team, out, bytes, tag_of(0), to, &send);
    if (step % 3 == 0)
        shmemx_tag_probe(team, tag_of(0), SHMEMX_TAG_EXACT, from, NULL);
    shmemx_tag_recv(team, in, sizeof in, tag_of(0), SHMEMX_TAG_EXACT, from, &is);
    if (is.failed)
        shmemx_team_revoke(team);
    else
        check_data(in, bytes, from);
    shmemx_tag_wait(&send, &sent);
    int err = shmemx_status();
    if ((is.failed || sent.failed) != (err != 0) || (is.failed && is.failed != SHMEMX_ERR_PE_FAILED && is.failed != SHMEMX_ERR_REVOKED))
        wrong("the receive has failed with %d, the send with %d, the status is %d", is.failed, sent.failed, err);
    return err;
}

/* Member 0 receives one message of each other member; many of its senders wait for room there. */
static int from_any(void)
{
    enum { MANY = 5 };
    size_t bytes = length();
    shmemx_tag_request_t send[MANY];
    shmemx_tag_status_t is = {.failed = 0};
    int seen[MOST] = {0};
    shmemx_status();
    if (team_me) {
        fill(out, bytes, team_me);
        for (int i = 0; i < MANY; i++)
            shmemx_tag_isend(team, out, bytes, tag_of(1), 0, &send[i]);
        shmemx_tag_wait_all(MANY, send, NULL);
        return shmemx_status();
    }
    for (int i = 0; i < MANY * (team_n - 1) && !is.failed; i++) {
        shmemx_tag_recv(team, in, sizeof in, tag_of(1), SHMEMX_TAG_EXACT, SHMEMX_TAG_ANY_SOURCE, &is);
        if (is.failed)
            break;
        check_data(in, bytes, is.source);
        if (seen[is.source]++ == MANY)
            wrong("member %d has sent one too many", is.source);
    }
    return shmemx_status();
}

static int later(void)
{
    enum { N = 3000 };
    static long parts[2][N], sums[2][N];
    static char from_all[MOST][64];
    static char mine[64];
    shmemx_req_t req[4];
    int err = 0;
    memset(mine, 1 + team_me, sizeof mine);
    for (int i = 0; i < N; i++) {
        parts[0][i] = team_me + i + step;
        parts[1][i] = 1;
    }
    shmemx_status();
    shmemx_long_sum_reduce_nb(team, sums[0], parts[0], N, &req[0]);
    shmemx_fcollectmem_nb(team, from_all, mine, sizeof mine, &req[1]);
    shmemx_long_sum_reduce_nb(team, sums[1], parts[1], 1, &req[2]);
    shmemx_barrier_nb(team, &req[3]);
    for (int i = 0; i < 4; i++) {
        while (step % 2 && !shmemx_req_test(&req[i]))
            ;
        shmemx_req_wait(&req[i]);
        err |= shmemx_status();
    }
    for (int i = 0; !err && i < N; i++)
        if (sums[0][i] != (long)team_n * (team_n - 1) / 2 + (long)team_n * (i + step) || sums[1][0] != team_n)
            wrong("sum %d is %ld", i, sums[0][i]);
    for (int i = 0; !err && i < team_n; i++)
        if (from_all[i][0] != 1 + i || from_all[i][63] != 1 + i)
            wrong("fcollect: %d from member %d", from_all[i][0], i);
    return err;
}

/* A procedure adds up the data of all members; one member calls it, of which the others know nothing. */
static int procedure;

static int add_up(shmemx_gpc_call_t *c)
{
    uint64_t *mine = c->rdata;
    if (c->stage == SHMEMX_GPC_INIT)
        *mine = 1;
    else
        *mine += *(const uint64_t *)c->cdata;
    for (size_t i = 0; i < c->dlen; i += 997)
        if (((const char *)c->data)[i] != 77)
            return -1;
    c->rdsize = c->rdlen; /* more than the number: a long reply is fetched */
    return SHMEMX_GPC_DONE;
}

static int is_dead(int pe)
{
    int failed[MOST], n_failed = shmemx_failed_pes(failed, MOST), i = 0;
    while (i < n_failed && failed[i] != pe)
        i++;
    return i < n_failed;
}

static int calls(void)
{
    static uint64_t reply[LONGEST / 8];
    shmemx_gpc_nbh_t nbh;
    int ids[MOST];
    size_t bytes = length();
    if (step % team_n != team_me)
        return 0;
    for (int i = 0; i < team_n; i++)
        ids[i] = i;
    memset(out, 77, bytes);
    shmemx_gpc_nbh_init(&nbh);
    int plain = step % 4 == 0;
    int err = plain ? shmemx_gpc_exec(team, procedure, (team_me + 1) % team_n, NULL, 0, out, bytes, NULL, 0, reply, bytes, &nbh)
                    : shmemx_gpc_chained_exec(team, procedure, SHMEMX_GPC_NONE, NULL, 0, out, bytes, NULL, 0, reply, bytes, team_n, ids, &nbh,
                                              step % 2 ? SHMEMX_GPC_BINOMIAL : SHMEMX_GPC_BINARY);
    if (err)
        wrong("a call begins with %d", err);
    err = shmemx_gpc_wait(&nbh);
    if (!err && reply[0] != (plain ? 1u : (unsigned)team_n))
        wrong("%lu of %d members have been called", (unsigned long)reply[0], team_n);
    while (err && !is_dead(world_pe(nbh.failed))) /* else the test's limit of time ends it */
        usleep(1000);
    return err;
}

int main(int argc, char **argv)
{
    static int (*const steps[])(void) = {sum, collect, update, ring, under_lock, heap, split, agree, update, messages, from_any, later, calls};
    if (argc != 5)
        return 2;
    seed = strtoull(argv[1], NULL, 10);
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    procedure = shmemx_gpc_register(add_up);
    enter(SHMEM_TEAM_WORLD);
    all_well(1); /* in place of a barrier, which ends early when a PE dies: all that live have registered the procedure */
    int by_test = argv[2][0] == 'w', victims = atoi(argv[2] + by_test);
    if (by_test && me == 0) {
        printf("begun\n");
        fflush(stdout);
    }
    prepare_end(by_test ? 0 : victims, strtoull(argv[3], NULL, 10));
    int n_steps = atoi(argv[4]);
    const char *only = getenv("STEP"); /* of a failure that is looked for */
    for (int pe = 0; pe < n; pe++)
        far |= shmem_ptr(&held, pe) == NULL;
    for (step = 1; step <= n_steps; step++) {
        uint64_t state = seed + (uint64_t)step;
        int of = only ? atoi(only) : (int)(next(&state) % (sizeof steps / sizeof *steps));
        if (steps[of]())
            recover();
    }
    while (shmemx_failed_pes(NULL, 0) < victims) /* the last victims die here */
        usleep(1000);
    while (!all_well(1)) /* some have met a failure in the last step */
        ;
    check_counters();
    int left = team_n;
    shmem_finalize();
    printf("right: %d PEs are left, %d recoveries\n", left, recoveries);
    return 0;
}
