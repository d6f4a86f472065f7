/*
 * left.c - find waits that never end, because a PE that they need has left.
 *
 *   word          written by                              read by            order
 *   busy          threads that wait, exchange             same               R1 -> A1 the state of the query, confirmed
 *   query.state   sender; polling thread when it is here  sender             R2 -> A2 query.value
 *
 * The word of each PE, `left`, is in its slot of the world: team.h.
 */
#include "host/coll/left.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "host/coll/team.h"
#include "host/net/stream/stream.h"
#include "host/ops/launched.h"
#include "host/ops/wait.h"
#include "host/util/end.h"
#include "host/util/log.h"

#define WORLD (&shi_team_world)

static int watching, busy;
static uint64_t own;  /* what this PE has said; 0: nothing yet */
static int confirmed; /* the PEs below have left, but this one */

/* A word of a PE that only the network reaches: fetched, one at a time. The reply comes behind all stores that the PE sent before. */
static struct {
    int pe;
    enum { IDLE, SENT, HERE } state;
    uint64_t value;
    struct shi_reply reply;
} query;

static uint64_t *word_of(int pe)
{
    return &WORLD->slot[pe]->left;
}

void shi_left_up(void)
{
    __atomic_store_n(word_of(shi_world.pe), 0, __ATOMIC_RELAXED);
    own = 0;
    confirmed = 0;
    query.state = IDLE; /* a reply of the world before says nothing of this one */
}

static enum shi_wait_prospect look(const struct shi_wait_for *w, int again);

void shi_left_watch(void)
{
    watching = 1;
    shi_wait_look = look;
}

void shi_left_say(int by_exit)
{
    own = WORLD->epoch * 2 + (by_exit != 0);
    __atomic_store_n(word_of(shi_world.pe), own, __ATOMIC_RELEASE); /* R7 */
}

void shi_left_down(void)
{
    watching = 0;
}

void shi_left_leave(void)
{
    shi_wait_look = NULL;
    own = 0;
    confirmed = 0;
    memset(&query, 0, sizeof query);
}

/* ---- a PE's word ----------------------------------------------------------------------------------------------------- */

static void reply_came(struct shi_reply *r)
{
    (void)r;
    __atomic_store_n(&query.state, HERE, __ATOMIC_RELEASE); /* R2 */
}

/* 1 and *left, 0: not left; or 0: the reply is awaited. */
static int ask(int pe, uint64_t *left)
{
    const struct shi_shm_region *r = &shi_world.shm.region[shi_world.boot.local_index];
    uint64_t off = (uint64_t)((char *)word_of(shi_world.pe) - (shi_world.shm.base + r->sync_off)); /* the same at all PEs */
    struct shi_remote_addr at = {pe, SHI_REGION_SYNC, off};
    int state = __atomic_load_n(&query.state, __ATOMIC_ACQUIRE); /* A2 */
    if (state == SENT)
        return 0;
    __atomic_store_n(&query.state, IDLE, __ATOMIC_RELAXED);
    if (state == HERE && query.pe == pe) {
        *left = query.value;
        return 1;
    }
    query.pe = pe;
    query.reply = (struct shi_reply){.to = (char *)&query.value, .block = sizeof query.value, .done = reply_came};
    __atomic_store_n(&query.state, SENT, __ATOMIC_RELAXED);
    if (shi_stream_amo(shi_world.lane, &at, sizeof query.value, SHI_AMO_FETCH, 0, 0, &query.reply, 0, NULL) == -EAGAIN)
        __atomic_store_n(&query.state, IDLE, __ATOMIC_RELAXED);
    return 0;
}

static int left_of(int pe, uint64_t *left)
{
    if (!WORLD->slot[pe])
        return ask(pe, left);
    *left = __atomic_load_n(word_of(pe), __ATOMIC_ACQUIRE); /* A7 */
    return 1;
}

/* ---- what is certain ------------------------------------------------------------------------------------------------- */

static const char *how(uint64_t left)
{
    return left % 2 ? "ended its program (exit, or a return from main)" : "called shmem_finalize";
}

/* 1: this PE writes the line: of the PEs of a node that notice it at the same time one, and on other nodes than PE 0's only if the job goes
 * on meanwhile. */
static int is_first(void)
{
    int first = shi_shm_abort(&shi_world.shm, 1);
    if (first && shi_world.boot.local_pe[0] != 0)
        sleep(SHI_END_HANDLERS_S + SHI_END_LAUNCHER_S); /* as in shi_wait_aborted */
    return first;
}

/* Member i of the team is not here yet. */
static int is_awaited(const struct shi_wait_for *w, int i)
{
    if (w->kind == SHI_FOR_BARRIER)
        return shi_team_came(w->team, i, w->epoch) == 0;
    return w->kind == SHI_FOR_NETWORK || i == w->of;
}

static int makes_no_such_call(const struct shi_wait_for *w, int i, uint64_t left)
{
    if (!left)
        return 0;
    if (w->team != WORLD)
        return is_awaited(w, i);
    return own ? left / 2 != own / 2 : left / 2 < WORLD->epoch;
}

static void end_collective(const char *routine, int pe, uint64_t left)
{
    if (!is_first())
        return;
    if (!own)
        shi_die(routine, "PE %d has %s, and is needed for this call", pe, how(left));
    shi_die(routine, "PE %d has %s %s, so neither PE can end", pe, how(left),
            left / 2 < own / 2 ? "without a collective call that this PE has made" : "after a collective call that this PE has not made");
}

/* A member that shares memory with this PE, has left and makes no such call; -1: none. A wait for the network is for none of them, but over the
 * world the epochs alone decide. */
static int near_one(const struct shi_wait_for *w, uint64_t *left)
{
    const struct shmem_team *t = w->team;
    for (int i = 0; i < t->n && (t == WORLD || w->kind != SHI_FOR_NETWORK); i++)
        if (t->slot[i] && left_of(shi_team_world_pe(t, i), left) && makes_no_such_call(w, i, *left))
            return shi_team_world_pe(t, i);
    return -1;
}

static enum shi_wait_prospect look_at_members(const struct shi_wait_for *w, int again)
{
    uint64_t left = 0;
    int pe = near_one(w, &left);
    if (pe < 0) {
        pe = w->kind == SHI_FOR_MEMBERS ? shi_team_world_pe(w->team, w->of) : w->of;
        if (w->kind == SHI_FOR_BARRIER || WORLD->slot[pe])
            return SHI_WAIT_GOES_ON;
        if (!ask(pe, &left))
            return SHI_WAIT_ASKS;
        if (!makes_no_such_call(w, w->of, left))
            return SHI_WAIT_GOES_ON;
    }
    if (again)
        end_collective(w->routine, pe, left);
    return SHI_WAIT_IN_VAIN;
}

static enum shi_wait_prospect look_at_all(const struct shi_wait_for *w, int again)
{
    int other = shi_world.pe == 0;
    uint64_t left = 0;
    if (shi_world.n_pes == 1 || shi_world.thread_level != SHMEM_THREAD_SINGLE || shi_world.threads || shi_world.dev_lo ||
        shi_launched_count())
        return SHI_WAIT_GOES_ON;
    for (; confirmed < shi_world.n_pes; confirmed++) {
        if (confirmed == shi_world.pe)
            continue;
        if (!left_of(confirmed, &left))
            return SHI_WAIT_ASKS;
        if (!left)
            return SHI_WAIT_GOES_ON;
    }
    if (again && !left_of(other, &left))
        return SHI_WAIT_ASKS;
    if (again && is_first())
        shi_die(w->routine, "ivar = %p: all other PEs are in shmem_finalize or have left it, PE %d has %s: none will change it", w->addr, other,
                how(left));
    return SHI_WAIT_IN_VAIN;
}

static enum shi_wait_prospect look_at_holder(const struct shi_wait_for *w, int again)
{
    uint64_t left = 0;
    if (!left_of(w->of, &left))
        return SHI_WAIT_ASKS;
    if (!left)
        return SHI_WAIT_GOES_ON;
    if (again && is_first())
        shi_die(w->routine, "lock = %p: PE %d, which holds it or waits for it, has %s", w->addr, w->of, how(left));
    return SHI_WAIT_IN_VAIN;
}

static enum shi_wait_prospect look(const struct shi_wait_for *w, int again)
{
    enum shi_wait_prospect p = SHI_WAIT_GOES_ON;
    if (!watching || __atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) /* A1 */
        return SHI_WAIT_GOES_ON;
    if (w->kind == SHI_FOR_WORDS)
        p = look_at_all(w, again);
    else if (w->kind == SHI_FOR_LOCK)
        p = look_at_holder(w, again);
    else if (w->team)
        p = look_at_members(w, again);
    __atomic_store_n(&busy, 0, __ATOMIC_RELEASE); /* R1 */
    return p;
}
