/*
 * gpc_nest.c - functions that call GPCs that come back to the same PEs; they stay pending, wait, or test repeatedly. A
 * million calls; failures of the innermost function; callbacks that wait.
 */
#include <errno.h>
#include <shmemx.h>

#include "../tap_pes.h"

enum mode { PENDING, WAIT, LOOK, MODES };
enum { MOST = 1000 };

struct header {
    int left, fails; /* levels below; does the innermost one fail? */
    enum mode mode;
};

static int h_descend, h_nothing, h_visit, h_forget;
static int inside; /* functions on this PE that run and do not wait */

static int begin(void)
{
    return __atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED) == 1;
}

static void end(void)
{
    __atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
}

static int call(const struct header *h, long *reply, shmemx_gpc_nbh_t *nbh)
{
    return shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_descend, next_pe(), h, sizeof *h, NULL, 0, NULL, 0, reply, sizeof *reply,
                           nbh);
}

static int answer(shmemx_gpc_call_t *c, long levels)
{
    memcpy(c->rdata, &levels, sizeof levels);
    c->rdsize = sizeof levels;
    return 0;
}

/* State of a pending function. */
struct pending {
    shmemx_gpc_nbh_t nbh;
    long reply;
};

static int descend_pending(shmemx_gpc_call_t *c, const struct header *h)
{
    struct pending *p = c->state;
    if (c->stage == SHMEMX_GPC_INIT) {
        c->state = p = malloc(sizeof *p);
        shmemx_gpc_nbh_init(&p->nbh);
        return call(h, &p->reply, &p->nbh) == 0 ? SHMEMX_GPC_PENDING : -1;
    }
    if (!shmemx_gpc_test(&p->nbh))
        return SHMEMX_GPC_PENDING;
    int status = p->nbh.status;
    long reply = p->reply;
    free(p);
    return status ? -1 : answer(c, reply + 1);
}

static int descend_waiting(shmemx_gpc_call_t *c, const struct header *h)
{
    shmemx_gpc_nbh_t nbh;
    long reply = 0;
    shmemx_gpc_nbh_init(&nbh);
    end();
    int status = call(h, &reply, h->mode == WAIT ? NULL : &nbh);
    while (h->mode == LOOK && !shmemx_gpc_test(&nbh))
        ;
    if (!begin())
        return -1;
    status = h->mode == WAIT ? status : nbh.status;
    return status ? -1 : answer(c, reply + 1);
}

static int descend(shmemx_gpc_call_t *c)
{
    struct header h;
    memcpy(&h, c->hdr, sizeof h);
    int err = begin() ? 0 : -1;
    if (!err && h.left-- == 0)
        err = h.fails ? -1 : answer(c, 1);
    else if (!err)
        err = h.mode == PENDING ? descend_pending(c, &h) : descend_waiting(c, &h);
    end();
    return err;
}

/* Make `width` calls at a time, of `depth` levels each. */
static void tree(int depth, int width, enum mode mode, int fails)
{
    static shmemx_gpc_nbh_t nbh[MOST];
    static long reply[MOST];
    int bad = 0;
    for (int i = 0; i < width; i++) {
        const struct header h = {depth, fails && i % 3 == 0, mode};
        shmemx_gpc_nbh_init(&nbh[i]);
        CHECK(call(&h, &reply[i], &nbh[i]) == 0);
    }
    for (int i = 0; i < width; i++) {
        int status = shmemx_gpc_wait(&nbh[i]);
        bad += fails && i % 3 == 0 ? status != -EIO : status != 0 || reply[i] != depth + 1;
    }
    CHECKF(!bad, "%d of %d calls, %d deep, mode %d", bad, width, depth, mode);
}

/* Catches: deadlock of a call inside a function that waits for a free root call, while all root calls wait for it. */
static void roots(void)
{
    for (int mode = PENDING; mode < MODES; mode++) {
        tree(1, 64, mode, 0);
        shmem_barrier_all();
        tree(mode == PENDING ? 20 : 3, mode == PENDING ? 200 : 65, mode, 0);
        shmem_barrier_all();
    }
}

/* Catches: calls back to PEs whose functions wait, deeper than one stack holds; time that grows faster than their
 * number. */
static void deep(void)
{
    for (int mode = WAIT; mode < MODES; mode++) {
        tree(100, me == 0 ? 3 : 1, mode, 0);
        shmem_barrier_all();
    }
    int most = n_pes == 4 && !has_remote_pes() ? 1000 : 100; /* a million calls only with 4 PEs, as they take seconds */
    if (me == 0)
        tree(most, most, PENDING, 0);
    shmem_barrier_all();
}

/* Catches: a failure that does not reach the outermost call, or reaches another one. */
static void failures(void)
{
    for (int mode = PENDING; mode < MODES; mode++) {
        tree(mode == PENDING ? 300 : 20, 7, mode, 1);
        shmem_barrier_all();
    }
}

static int nothing(shmemx_gpc_call_t *c)
{
    (void)c;
    return 0;
}

/* Catches: a callback's object used for another child's answer while the callback waits; answers lost or out of
 * order. */
static int visit(shmemx_gpc_call_t *c)
{
    int id = shmem_team_my_pe(c->team), child, from = c->from;
    long sum, theirs;
    if (c->stage != SHMEMX_GPC_WAIT) {
        memcpy(c->rhdr, &id, sizeof id);
        c->rhsize = sizeof id;
        return answer(c, 1);
    }
    if (shmemx_gpc_exec(c->team, h_nothing, from, NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL) != 0)
        return -1;
    memcpy(&child, c->chdr, sizeof child);
    memcpy(&sum, c->rdata, sizeof sum);
    memcpy(&theirs, c->cdata, sizeof theirs);
    return c->from == from && child == from ? answer(c, sum + theirs) : -1;
}

static void callbacks(void)
{
    int list[64], id;
    for (int i = 0; i < n_pes; i++)
        list[i] = i;
    for (int r = 0; r < 50; r++) {
        long reply = 0;
        int err = shmemx_gpc_chained_exec(SHMEM_TEAM_WORLD, h_visit, SHMEMX_GPC_NONE, NULL, 0, NULL, 0, &id, sizeof id,
                                          &reply, sizeof reply, n_pes, list, NULL, r % 2);
        CHECKF(err == 0 && reply == n_pes, "%d, %ld ids", err, reply);
    }
    shmem_barrier_all();
}

/* Catches: memory used after it was freed, by a GPC without a wait, whose function started it and has ended. */
static shmemx_gpc_nbh_t forgotten[MOST];
static int n_forgotten;

static int forget(shmemx_gpc_call_t *c)
{
    struct header h = {0, 0, PENDING};
    static long reply[MOST];
    int i = n_forgotten++;
    (void)c;
    shmemx_gpc_nbh_init(&forgotten[i]);
    return call(&h, &reply[i], &forgotten[i]);
}

static void left_alone(void)
{
    n_forgotten = 0;
    shmem_barrier_all();
    for (int i = 0; i < 100; i++)
        CHECK(shmemx_gpc_exec(SHMEM_TEAM_WORLD, h_forget, next_pe(), NULL, 0, NULL, 0, NULL, 0, NULL, 0, NULL) == 0);
    shmem_barrier_all();
    for (int i = 0; i < n_forgotten; i++)
        CHECK(shmemx_gpc_wait(&forgotten[i]) == 0);
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    h_descend = shmemx_gpc_register(descend);
    h_nothing = shmemx_gpc_register(nothing);
    h_visit = shmemx_gpc_register(visit);
    h_forget = shmemx_gpc_register(forget);
    RUN(roots, "more root calls than may be in flight, all with calls inside");
    RUN(deep, "calls that come back, to any depth");
    RUN(failures, "failures of the innermost function");
    RUN(callbacks, "callbacks that wait");
    RUN(left_alone, "calls that end after the function that started them");
    shmem_finalize();
    return tap_end();
}
