/*
 * gpc_calls.c - global procedure calls one by one: every length, many at once, inside functions, on new teams, with wrong
 * arguments, and handles. gpc.c has random trees.
 */
#include "gpc.h"

static int h_callback, h_chain, h_bad;

/* Catches: data truncated, swapped or delivered late, at all lengths around that of a message and of a piece. */
static int echo(shmemx_gpc_call_t *c)
{
    if (c->dlen > c->rdlen || c->hlen > c->rhlen)
        return -1;
    if (c->hlen)
        memcpy(c->rhdr, c->hdr, c->hlen);
    if (c->dlen)
        memcpy(c->rdata, c->data, c->dlen);
    c->rhsize = c->hlen;
    c->rdsize = c->dlen;
    return c->from == c->root ? SHMEMX_GPC_DONE : -1;
}
static int h_echo;

static void plain(void)
{
    static char hdr[1024], rhdr[1024];
    static const size_t around[] = {0, 8, 56, 7000, 8192, 16270, 16300, 16384, 65530, 65560, 131070, 250000};
    char *data = malloc(DATA), *reply = malloc(DATA);
    for (size_t k = 0; k < sizeof around / sizeof *around; k++)
        for (int d = -2; d <= 2; d++) {
            size_t dlen = around[k] + (size_t)(d + 2), hlen = (dlen * 7 + (size_t)d + 2) % 1025;
            unsigned seed = tap_random(&state);
            shmemx_gpc_nbh_t nbh;
            shmemx_gpc_nbh_init(&nbh);
            for (size_t i = 0; i < dlen; i++)
                data[i] = pattern(seed, i);
            for (size_t i = 0; i < hlen; i++)
                hdr[i] = pattern(seed + 1, i);
            memset(reply, 0, dlen);
            CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_echo, (me + (int)k) % n_pes, hdr, hlen, data, dlen, rhdr, 1024,
                                  reply, DATA, &nbh) == 0);
            CHECK(shmemx_gpc_wait(&nbh) == 0);
            CHECKF(nbh.rhsize == hlen && nbh.rdsize == dlen && !differs(seed, reply, dlen) &&
                       !differs(seed + 1, rhdr, hlen), "%zu and %zu bytes, %zu and %zu back", hlen, dlen, nbh.rhsize,
                   nbh.rdsize);
            int too_short = shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_echo, (me + (int)k) % n_pes, hdr, hlen, data, dlen, rhdr,
                                            1024, reply, dlen ? dlen - 1 : 0, NULL);
            CHECKF(too_short == (dlen ? -EIO : 0), "a reply longer than its buffer: %d", too_short);
        }
    free(data);
    free(reply);
    shmem_barrier_all();
}

/* Catches: a call that never starts, among more calls than may be in flight, with more data than FIFOs hold. */
static int count(shmemx_gpc_call_t *c)
{
    unsigned sum = 0;
    for (size_t i = 0; i < c->dlen; i++)
        sum = hash(sum, ((const unsigned char *)c->data)[i]);
    memcpy(c->rdata, &sum, sizeof sum);
    c->rdsize = sizeof sum;
    return 0;
}
static int h_count;

static void many(void)
{
    enum { N = 300, BYTES = 5000 };
    static shmemx_gpc_nbh_t nbh[N];
    static unsigned sum[N], wanted[N];
    unsigned char *data = malloc(N * BYTES);
    for (int i = 0; i < N; i++) {
        wanted[i] = 0;
        for (int k = 0; k < BYTES; k++) {
            data[i * BYTES + k] = (unsigned char)tap_random(&state);
            wanted[i] = hash(wanted[i], data[i * BYTES + k]);
        }
        shmemx_gpc_nbh_init(&nbh[i]);
        CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_count, below(n_pes), NULL, 0, data + i * BYTES, BYTES, NULL, 0,
                              &sum[i], sizeof sum[i], &nbh[i]) == 0);
    }
    for (int i = 0; i < N; i++) {
        while (i % 2 && !shmemx_gpc_test(&nbh[i]))
            ;
        CHECK(shmemx_gpc_wait(&nbh[i]) == 0 && nbh[i].rdsize == sizeof(unsigned) && sum[i] == wanted[i]);
    }
    free(data);
    shmem_barrier_all();
}

/* Catches: an exec or a test that is refused inside a function. gpc_nest.c has more. */
static shmemx_gpc_nbh_t inner;
static int inner_started, inner_reply;

static int hop(shmemx_gpc_call_t *c)
{
    *(int *)c->rdata = 4711 + my_id(c);
    c->rdsize = sizeof(int);
    return 0;
}
static int h_hop;

static int chain(shmemx_gpc_call_t *c)
{
    if (c->stage == SHMEMX_GPC_INIT) {
        inner_started = shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_hop, next_pe(), NULL, 0, NULL, 0, NULL, 0, &inner_reply,
                                        sizeof inner_reply, &inner);
        if (inner_started != 0)
            return -1;
    }
    if (!shmemx_gpc_test(&inner))
        return SHMEMX_GPC_PENDING;
    memcpy(c->rdata, &inner_reply, sizeof inner_reply);
    c->rdsize = sizeof inner_reply;
    return inner.status;
}

static void nested(void)
{
    int reply = 0, at = (me + 1) % n_pes;
    shmemx_gpc_nbh_init(&inner);
    shmem_barrier_all();
    int err = shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_chain, at, NULL, 0, NULL, 0, NULL, 0, &reply, sizeof reply, NULL);
    CHECKF(err == 0 && reply == 4711 + (at + 1) % n_pes, "%d, reply %d", err, reply);
    shmem_barrier_all();
}

static int nothing_ran;

static int ran(shmemx_gpc_call_t *c)
{
    (void)c;
    __atomic_store_n(&nothing_ran, 0, __ATOMIC_RELAXED);
    return 0;
}
static int h_ran;

/* Catches: on a team from whose split the called PEs have not returned, a call that fails, overtakes an earlier one, is
 * lost, or runs on the team that had the same slot before. */
struct visit {
    int order, target;
};
static int h_visit;
static int visited; /* number of the last call of this round */

static int visit(shmemx_gpc_call_t *c)
{
    struct visit v;
    memcpy(&v, c->hdr, sizeof v);
    int right = my_id(c) == v.target && c->from == c->root && v.order == visited + 1;
    visited = v.order;
    return right ? 0 : -1;
}

static void call_new_team(shmem_team_t team)
{
    enum { EACH = 3 };
    static shmemx_gpc_nbh_t nbh[EACH * MOST];
    int all[MOST], n = shmem_team_n_pes(team), k = 0;
    for (int order = 1; order <= EACH; order++)
        for (int i = 0; i < n; i++) {
            const struct visit v = {order, i};
            shmemx_gpc_nbh_init(&nbh[k]);
            CHECK(shmemx_gpc_exec(team, h_visit, i, &v, sizeof v, NULL, 0, NULL, 0, NULL, 0, &nbh[k++]) == 0);
        }
    while (k > 0) {
        k--;
        CHECKF(shmemx_gpc_wait(&nbh[k]) == 0, "call %d to PE %d of a new team: %d", k / n, k % n, nbh[k].status);
    }
    for (int i = 0; i < n; i++)
        all[i] = i;
    CHECK(shmemx_gpc_chained_exec(team, h_ran, SHMEMX_GPC_NONE, NULL, 0, NULL, 0, NULL, 0, NULL, 0, n, all, NULL, 0) == 0);
}

static void new_teams(void)
{
    for (int r = 0; r < rounds(60); r++) {
        shmem_team_t team;
        int caller = r % n_pes;
        visited = 0;
        shmem_barrier_all();
        if (me == caller && r % 2)
            usleep(3000); /* the other PEs wait in the split and wake up later than this one */
        shmem_team_split_strided(SHMEM_TEAM_WORLD, r % 3 ? n_pes - 1 : 0, r % 3 ? -1 : 1, n_pes, NULL, 0, &team);
        if (me == caller)
            call_new_team(team);
        shmem_barrier_all();
        shmem_team_destroy(team);
    }
}

/* ---- refused calls -------------------------------------------------------------------------------------------------- */

static int bad_tree(int root, int id, int idlen, const int *idlst, int *children)
{
    (void)idlen;
    children[0] = idlst[0];
    return id != root || root < 0; /* no id is reached */
}

#define CHAINED(FUNC, CALLBACK, HLEN, DLEN, RHLEN, RDLEN, N, LIST, TREE)                                             \
    shmemx_gpc_chained_exec(SHMEM_TEAM_WORLD, FUNC, CALLBACK, buf, HLEN, buf, DLEN, buf, RHLEN, buf, RDLEN, N, LIST, \
                            NULL, TREE)

static void refused(void)
{
    static char buf[2048];
    shmemx_gpc_limits_t most;
    const int twice[] = {0, n_pes > 1 ? 1 : 0, 0}, outside[] = {n_pes}, negative[] = {-1}, one[] = {next_pe()};
    shmemx_gpc_limits(&most);
    nothing_ran = 1;
    shmem_barrier_all();
    CHECK(CHAINED(h_ran, -1, 0, 0, 0, 0, 3, twice, 0) == -EINVAL);
    CHECK(CHAINED(h_ran, -1, 0, 0, 0, 0, 1, outside, 1) == -EINVAL);
    CHECK(CHAINED(h_ran, -1, 0, 0, 0, 0, 1, negative, 1) == -EINVAL);
    CHECK(CHAINED(h_ran, -1, 0, 0, 0, 0, -1, one, 1) == -EINVAL);
    CHECK(CHAINED(h_ran, -1, 0, 0, 0, 0, 1, NULL, 1) == -EINVAL);
    CHECK(CHAINED(h_ran, -1, most.hlen + 1, 0, 0, 0, 1, one, 0) == -EINVAL);
    CHECK(CHAINED(h_ran, -1, 0, most.dlen + 1, 0, 0, 1, one, 0) == -EINVAL);
    CHECK(CHAINED(h_ran, -1, 0, 0, most.rhlen + 1, 0, 1, one, 0) == -EINVAL);
    CHECK(CHAINED(h_ran, -1, 0, 0, 0, most.rdlen + 1, 1, one, 0) == -EINVAL);
    CHECK(CHAINED(h_callback, -1, 0, 0, 0, 0, 1, one, 0) == -EINVAL);
    CHECK(CHAINED(h_ran, h_ran, 0, 0, 0, 0, 1, one, 0) == -EINVAL);
    CHECK(CHAINED(h_ran, -1, 0, 0, 0, 0, 1, one, h_ran) == -EINVAL);
    CHECK(CHAINED(h_ran, -1, 0, 0, 0, 0, 1, one, 200) == -EINVAL);
    CHECK(n_pes == 1 || CHAINED(h_ran, -1, 0, 0, 0, 0, 1, one, h_bad) == -EINVAL);
    CHECK(shmemx_gpc_chained_exec(SHMEM_TEAM_WORLD, h_ran, -1, NULL, 5, NULL, 0, NULL, 0, NULL, 0, 1, one, NULL, 0) ==
          -EINVAL);
    CHECK(shmemx_gpc_chained_exec(SHMEM_TEAM_INVALID, h_ran, -1, NULL, 0, NULL, 0, NULL, 0, NULL, 0, 1, one, NULL, 0) ==
          -EINVAL);
    CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_ran, n_pes, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL) == -EINVAL);
    CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_ran, -1, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL) == -EINVAL);
    CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, 12345, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL) == -EINVAL);
    shmem_barrier_all();
    CHECK(nothing_ran);
    shmem_barrier_all();
}

/* Catches: handles that differ between PEs, that are not reused after release, or that still work after it. */
static void handles(void)
{
    static int first, of_all[MOST];
    first = shmemx_gpc_register(ran);
    int second = shmemx_gpc_register_callback(ran), third = shmemx_gpc_register_tree(bad_tree);
    CHECK(first >= 2 && second == first + 1 && third == first + 2);
    shmem_int_fcollect(SHMEM_TEAM_WORLD, of_all, &first, 1);
    for (int i = 0; i < n_pes; i++)
        CHECK(of_all[i] == first);
    CHECK(shmemx_gpc_release(first) == 0);
    CHECK(shmemx_gpc_release(first) == -EINVAL);
    CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, first, 0, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL) == -EINVAL);
    CHECK(shmemx_gpc_register_tree(bad_tree) == first);
    CHECK(shmemx_gpc_release(first) == 0 && shmemx_gpc_release(second) == 0 && shmemx_gpc_release(third) == 0);
    int got = 0, some[256];
    shmemx_gpc_limits_t most;
    shmemx_gpc_limits(&most);
    while (got < 256 && (some[got] = shmemx_gpc_register(ran)) > 0)
        got++;
    CHECKF(got > 200 && got < most.handles && some[got] == -ENOSPC, "%d handles", got);
    while (got > 0)
        CHECK(shmemx_gpc_release(some[--got]) == 0);
}

/* Catches: a handle that is reused at once after a failure and receives replies of the old tree. */
static int slow_or_bad(shmemx_gpc_call_t *c)
{
    size_t calls = (size_t)c->state;
    c->state = (void *)(calls + 1);
    if (my_id(c) == c->root)
        return 0;
    if (my_id(c) == *(const int *)c->hdr)
        return -1;
    return calls < 20 ? SHMEMX_GPC_PENDING : 0;
}
static int h_slow;

static int holding; /* loads and stores are relaxed: another thread may run the function */

static int held(shmemx_gpc_call_t *c)
{
    (void)c;
    return __atomic_load_n(&holding, __ATOMIC_RELAXED) ? SHMEMX_GPC_PENDING : 0;
}
static int h_held;

static void reuse(void)
{
    int list[MOST], reply, bad = next_pe();
    shmemx_gpc_nbh_t nbh;
    shmemx_gpc_nbh_init(&nbh);
    __atomic_store_n(&holding, 1, __ATOMIC_RELAXED);
    CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_held, me, NULL, 0, NULL, 0, NULL, 0, NULL, 0, &nbh) == 0);
    CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_hop, 0, NULL, 0, NULL, 0, NULL, 0, &reply, sizeof reply, &nbh) == -EBUSY);
    __atomic_store_n(&holding, 0, __ATOMIC_RELAXED);
    CHECK(shmemx_gpc_wait(&nbh) == 0);
    for (int i = 0; i < n_pes; i++)
        list[i] = i;
    for (int r = 0; n_pes > 1 && r < rounds(100); r++) {
        CHECK(shmemx_gpc_chained_exec(SHMEM_TEAM_WORLD, h_slow, SHMEMX_GPC_NONE, &bad, sizeof bad, NULL, 0, NULL, 0,
                                      &reply, sizeof reply, n_pes, list, &nbh, r % 2) == 0);
        CHECK(shmemx_gpc_wait(&nbh) == -EIO && nbh.rdsize == 0);
        reply = 0;
        int at = below(n_pes);
        CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_hop, at, NULL, 0, NULL, 0, NULL, 0, &reply, sizeof reply, &nbh) == 0);
        CHECK(shmemx_gpc_wait(&nbh) == 0 && nbh.rdsize == sizeof reply && reply == 4711 + at);
    }
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    state = 12345u + 7919u * (unsigned)me;
    h_callback = shmemx_gpc_register_callback(count);
    h_echo = shmemx_gpc_register(echo);
    h_count = shmemx_gpc_register(count);
    h_hop = shmemx_gpc_register(hop);
    h_chain = shmemx_gpc_register(chain);
    h_ran = shmemx_gpc_register(ran);
    h_slow = shmemx_gpc_register(slow_or_bad);
    h_held = shmemx_gpc_register(held);
    h_bad = shmemx_gpc_register_tree(bad_tree);
    h_visit = shmemx_gpc_register(visit);
    RUN(plain, "an echo of every length");
    RUN(many, "more calls than may be in flight");
    RUN(nested, "calls inside a function");
    RUN(new_teams, "calls on teams that have just been created");
    RUN(refused, "calls with invalid arguments send nothing");
    RUN(handles, "register and release");
    RUN(reuse, "a handle is reused at once");
    shmem_finalize();
    return tap_end();
}
