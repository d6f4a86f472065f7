/*
 * agree.c - see agree.h: the agreements of all teams, and their messages.
 *
 * A member is at most one agreement of a team ahead of another one, and one that has returned may have to tell the decision to those that
 * have not. So each team has the last two, also for a while after its end.
 *
 *   word               written by                        read by   order
 *   teams, all         handlers of messages, and the     same      under lock (spin.h), also while messages are sent
 *    agreements        program's threads in a call
 *
 * The lock orders what a member did before its vote -> the handler at the coordinator -> the decision's handler -> the return of
 * another member: a message is published with release and read with acquire (am_shm.c).
 */
#include "host/survive/agree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/net/am/am.h"
#include "host/ops/wait.h"
#include "host/survive/failed.h"
#include "host/survive/message.h"
#include "host/survive/watch.h"
#include "host/util/log.h"
#include "host/util/spin.h"

enum { TWO = 2, KEPT = 256 /* teams that have ended */, OF_WORLD = 256 };

struct head {
    struct shi_message m;
    uint64_t number;
    uint64_t kind; /* and OF_WORLD; then a value */
};

struct team {
    struct team *next;
    uint64_t number; /* the team's; */
    int world;       /* 1: of the world, the newest team of all that live, 0 before the first */
    uint64_t calls;  /* agreements that this member has begun */
    int ended;
    int *pe; /* [n] of the world */
    struct shi_agreement agreement[TWO];
};

static uint8_t lock;
static struct team *teams; /* the newest first */
static uint64_t world_number;

static size_t bytes_of(int n)
{
    return sizeof(struct head) + shi_agree_value_bytes(n);
}

/* ---- messages --------------------------------------------------------------------------------------------------------- */

/* Under the lock. */
static void send(struct shi_agreement *a, int to, enum shi_agree_kind kind, const struct shi_agree_value *value)
{
    const struct team *t = a->arg;
    size_t bytes = bytes_of(a->n);
    char data[SHI_AM_MAX_BYTES] __attribute__((aligned(8)));
    *(struct head *)data = (struct head){{t->number, SHI_MESSAGE_AGREE}, a->number, kind | (t->world ? OF_WORLD : 0)};
    memcpy(data + sizeof(struct head), value, bytes - sizeof(struct head));
    shi_message_send(t->pe[to], (const struct shi_message *)data, bytes);
}

static int is_dead(const struct shi_agreement *a, int member)
{
    const struct team *t = a->arg;
    return shi_failed_in(t->pe[member], t->number);
}

static const struct shi_agree_ops ops = {send, is_dead};

/* ---- teams ------------------------------------------------------------------------------------------------------------ */

static void free_team(struct team *r)
{
    for (int i = 0; i < TWO; i++)
        shi_agreement_free(&r->agreement[i]);
    free(r->pe);
    free(r);
}

/* Of the teams that have ended, the last KEPT stay. */
static void trim(void)
{
    int ended = 0;
    for (struct team **at = &teams, *r; (r = *at);) {
        if (r->ended && ++ended > KEPT) {
            *at = r->next;
            free_team(r);
        } else {
            at = &r->next;
        }
    }
}

static struct team *find(uint64_t number, int world)
{
    struct team *r = teams;
    while (r && (r->number != number || r->world != world))
        r = r->next;
    return r;
}

static int is_world(const struct shmem_team *t)
{
    return t == &shi_team_world;
}

static struct team *make(const struct shmem_team *t, uint64_t number)
{
    struct team *r = calloc(1, sizeof *r);
    int err = !r || !(r->pe = malloc((size_t)t->n * sizeof *r->pe));
    for (int i = 0; !err && i < TWO; i++)
        err = shi_agreement_make(&r->agreement[i], t->n, t->me, &ops, r);
    if (err)
        shi_die("shmemx_agree", "out of memory for agreements of %d PEs", t->n);
    for (int i = 0; i < t->n; i++)
        r->pe[i] = shi_team_world_pe(t, i);
    r->number = number;
    r->world = is_world(t);
    r->next = teams;
    teams = r;
    return r;
}

/* The agreement of this number; NULL: it is long decided by all. */
static struct shi_agreement *agreement(struct team *r, uint64_t number)
{
    struct shi_agreement *a = &r->agreement[number % TWO];
    if (a->number < number)
        shi_agreement_reset(a, number);
    return a->number == number ? a : NULL;
}

static int member_of(const struct team *r, int n, int pe)
{
    int i = 0;
    while (i < n && r->pe[i] != pe)
        i++;
    return i;
}

void shi_agree_take(struct shmem_team *t, int pe, const struct shi_message *m, size_t bytes)
{
    const struct head *h = (const struct head *)m;
    shi_spin_lock(&lock);
    int world = bytes >= sizeof *h && h->kind / OF_WORLD;
    enum shi_agree_kind kind = bytes >= sizeof *h ? (enum shi_agree_kind)(h->kind % OF_WORLD) : SHI_AGREE_VOTE;
    struct team *r = find(m->team, world);
    if (!r && t && world == is_world(t))
        r = make(t, m->team);
    int n = r ? r->agreement[0].n : 0, from = r ? member_of(r, n, pe) : 0;
    if (r && (from == n || bytes != bytes_of(n) || kind > SHI_AGREE_DECIDE))
        shi_am_refuse(pe, "an invalid message of an agreement");
    struct shi_agreement *a = r ? agreement(r, h->number) : NULL;
    if (a)
        shi_agreement_take(a, from, kind, (const struct shi_agree_value *)(h + 1));
    shi_spin_unlock(&lock);
}

static void on_ended(const struct shmem_team *t)
{
    shi_spin_lock(&lock);
    struct team *r = find(t->number, is_world(t));
    if (r)
        r->ended = 1;
    trim();
    shi_spin_unlock(&lock);
}

/* ---- calls ------------------------------------------------------------------------------------------------------------ */

static struct shi_agreement *begin(const struct shmem_team *t, const struct shi_agree_record *record)
{
    uint64_t number = is_world(t) ? world_number : t->number;
    shi_spin_lock(&lock);
    struct team *r = find(number, is_world(t));
    if (!r)
        r = make(t, number);
    struct shi_agreement *a = agreement(r, ++r->calls);
    shi_agreement_begin(a, record);
    shi_spin_unlock(&lock);
    return a;
}

/* Look at new deaths. 1: it is decided, and all that this PE has to send for it has been sent. */
static int is_over(struct shi_agreement *a, int *seen)
{
    int count = shi_failed_count();
    shi_spin_lock(&lock);
    if (count != *seen)
        shi_agreement_look(a);
    *seen = count;
    int over = a->decided && !shi_message_unsent();
    shi_spin_unlock(&lock);
    return over;
}

static struct shi_agreement *agree(const char *routine, const struct shmem_team *t, const struct shi_agree_record *record, int (*over)(void))
{
    shi_wait_allow(routine);
    int seen = -1;
    struct shi_agreement *a = begin(t, record);
    for (struct shi_wait w __attribute__((cleanup(shi_wait_end))) = SHI_WAIT_INIT; !is_over(a, &seen) && !(over && over());) {
        shi_wait_slow(&w);
        SHI_WAIT_REGISTER(&w, .routine = routine, .kind = SHI_FOR_OTHER, .words = "not all living PEs of the team have called it");
    }
    return a;
}

void shi_agree_all(const char *routine, int (*over)(void))
{
    agree(routine, &shi_team_world, &(const struct shi_agree_record){.most = {0}}, over);
}

/* All members that the agreement names are known to have failed here, too, so that what the program acknowledges next contains them. */
static void learn(const char *routine, const struct shmem_team *t, const struct shi_agree_value *agreed)
{
    for (int i = 0; i < t->n; i++) {
        int pe = shi_team_world_pe(t, i);
        if (!shi_agree_has(agreed->dead, i) || i == t->me || shi_failed_is(pe))
            continue;
        shi_watch_report(pe);
        SHI_WAIT_PROGRESS(shi_failed_is(pe), .routine = routine, .kind = SHI_FOR_OTHER, .words = "a PE that has failed is not known yet");
    }
}

int shi_agree_members(const char *routine, struct shmem_team *t, struct shi_agree_record *record, char *dead)
{
    const struct shi_agreement *a = agree(routine, t, record, NULL);
    int n_dead = 0;
    *record = a->proposal->record;
    learn(routine, t, a->proposal);
    for (int i = 0; i < t->n; i++) {
        int is = shi_agree_has(a->proposal->dead, i);
        n_dead += is;
        if (dead)
            dead[i] = (char)is;
    }
    return n_dead;
}

enum { SLOT_WORDS = SHI_SLOTS / 64 };
_Static_assert(SLOT_WORDS < (int)SHI_AGREE_ALL, "a record has the free slots, and a word more");

void shi_agree_offers(const char *routine, struct shmem_team *t, struct shi_offer *all, char *dead)
{
    struct shi_agree_record r = {.most = {all->clock, all->generation}};
    memcpy(r.all, all->slot_free, sizeof all->slot_free);
    r.all[SLOT_WORDS] = (uint64_t)(all->ok != 0) | (uint64_t)!all->threads << 1;
    shi_agree_members(routine, t, &r, dead);
    memcpy(all->slot_free, r.all, sizeof all->slot_free);
    all->clock = r.most[0];
    all->generation = r.most[1];
    all->ok = r.all[SLOT_WORDS] & 1;
    all->threads = !(r.all[SLOT_WORDS] >> 1 & 1);
}

void shi_agree_prepare(uint64_t number)
{
    shi_spin_lock(&lock);
    if (!find(number, 1))
        make(&shi_team_world, number);
    shi_spin_unlock(&lock);
}

void shi_agree_begin(uint64_t number)
{
    world_number = number;
}

int shi_agree_up(void)
{
    static const struct shi_team_hooks hooks = {.ended = on_ended};
    if (bytes_of(shi_world.n_pes) > SHI_AM_MAX_BYTES) {
        shi_log_error("SHMEM_FAULTS=continue: not for %d PEs: a message of an agreement has a bit for each", shi_world.n_pes);
        return -ENOTSUP;
    }
    shi_team_on_change(&hooks);
    return 0;
}

void shi_agree_down(void)
{
    world_number = 0;
    for (struct team *r; (r = teams);) {
        teams = r->next;
        free_team(r);
    }
}
