/* grow.c - see grow.h. */
#include "host/survive/grow.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host/net/am/am.h"
#include "host/net/node/doorbell.h"
#include "host/ops/added.h"
#include "host/ops/heap.h"
#include "host/ops/wait.h"
#include "host/policy/limits.h"
#include "host/survive/agree.h"
#include "host/survive/failed.h"
#include "host/survive/watch.h"
#include "host/util/base.h"
#include "host/util/log.h"

/* What a new process gets: then the team's members, and the parts of the heap. */
struct gift {
    uint64_t number, epoch, heap_lo, n_parts;
    uint32_t round;
    int n;
};

static struct {
    uint32_t rounds;            /* of shmemx_grow; the same at all */
    int is_new;
    struct shmem_team *joined;  /* of a new process, until shmemx_grow returns it */
    struct gift *gift;          /* the same, mapped */
    size_t gift_bytes;
    uint64_t given_off, given_bytes; /* what this PE has stored in the node's file */
} own;

int shi_grow_is_new(void)
{
    return own.is_new;
}

int shi_grow_has(void)
{
    return own.rounds != 0;
}

/* ---- places ------------------------------------------------------------------------------------------------------------ */

static struct shi_shm_join *join_of(int i)
{
    return shi_shm_join_of(&shi_world.shm, i);
}

static int local_of(int pe)
{
    int i = 0;
    while (shi_world.boot.local_pe[i] != pe)
        i++;
    return i;
}

/* A process was chosen in this round for the place of the PE. */
static int is_chosen(int pe)
{
    return join_of(local_of(pe))->round == own.rounds;
}

static uint64_t joiner(int i, enum shi_shm_join_state state)
{
    return shi_shm_joiner(shi_world.shm.region[i].pid, state);
}

static int waits(int i, uint64_t *who)
{
    *who = __atomic_load_n(&join_of(i)->who, __ATOMIC_ACQUIRE);
    return (*who & 0xff) == SHI_JOIN_WAITS;
}

uint32_t shi_grow_holder(void)
{
    return ((uint32_t)shi_world.pe + 1) | (shi_world.shm.region[shi_world.boot.local_index].join.times & 0x7f) << 24;
}

int shi_grow_has_holder_failed(uint32_t tail)
{
    int pe = (int)(tail & 0xffffff) - 1, has_lane = shi_world.lane != NULL;
    return shi_failed_is(pe) || (!has_lane && (join_of(local_of(pe))->times & 0x7f) != tail >> 24);
}

/* ---- the PEs that live ---------------------------------------------------------------------------------------------------- */

static int have_come(void)
{
    uint64_t who;
    for (int i = 0; i < shi_failed_count(); i++)
        if (!waits(local_of(shi_failed_nth(i)), &who))
            return 0;
    return 1;
}

static void await_new(const char *routine, uint64_t wait_ns)
{
    uint64_t now = shi_now_ns(), end = wait_ns < UINT64_MAX - now ? now + wait_ns : UINT64_MAX;
    shi_wait_allow(routine);
    if (shi_world.boot.replaces)
        SHI_WAIT_PROGRESS(have_come() || shi_now_ns() >= end, .routine = routine, .kind = SHI_FOR_OTHER,
                          .words = "not all PEs that died have been started again");
}

/* Of one grow at one PE. */
struct grow {
    const char *routine;
    struct shi_subset all;
    int *member;
    char *dead;
    int chosen; /* the choice is made */
};

/* By the lowest PE that lives: the processes that have come. */
static void choose(const char *dead)
{
    uint64_t who;
    for (int pe = 0; pe < shi_world.n_pes; pe++) {
        int i = local_of(pe);
        if (!dead[pe] || !waits(i, &who))
            continue;
        ((struct shi_shm_region *)&shi_world.shm.region[i])->pid = (int)(who >> 8);
        join_of(i)->times++;
        join_of(i)->round = own.rounds;
    }
}

static int lowest(const char *dead)
{
    int pe = 0;
    while (dead[pe])
        pe++;
    return pe;
}

/* A shrink's agreement; before it the choice. */
static int gather(struct shmem_team *t, struct shi_offer *all, void *arg)
{
    struct grow *g = arg;
    struct shi_agree_record none = {.most = {0}};
    if (!g->chosen++) {
        shi_agree_members(g->routine, t, &none, g->dead);
        if (lowest(g->dead) == shi_world.pe)
            choose(g->dead);
    }
    shi_agree_offers(g->routine, t, all, g->dead);
    g->all.size = 0;
    for (int pe = 0; pe < t->n; pe++)
        if (!g->dead[pe] || is_chosen(pe))
            g->member[g->all.size++] = pe;
    return 0;
}

/* The PE's messages begin anew, and it is watched. */
static void take_back(const char *routine, int pe, uint64_t number)
{
    SHI_WAIT_PROGRESS(shi_am_is_lost(pe), .routine = routine, .kind = SHI_FOR_OTHER, .words = "messages of a PE that died");
    shi_am_return(pe);
    shi_failed_replace(pe, number);
    shi_watch_again(local_of(pe));
}

/* Store what new processes get in the node's file. */
static int give(const struct shmem_team *t)
{
    size_t n_parts = shi_heap_parts(shi_world.heap), list = shi_round_up((size_t)t->n * sizeof(int), 8);
    size_t bytes = sizeof(struct gift) + list + n_parts * sizeof(struct shi_heap_part);
    int err = shi_shm_reserve(&shi_world.shm, bytes, &own.given_off);
    struct gift *g = err ? NULL : shi_shm_map(&shi_world.shm, NULL, own.given_off, bytes, 0);
    if (!g)
        return -ENOMEM;
    own.given_bytes = bytes;
    *g = (struct gift){t->number, t->epoch, shi_world.heap_lo, n_parts, own.rounds, t->n};
    int *pe = (int *)(g + 1);
    for (int i = 0; i < t->n; i++)
        pe[i] = shi_team_world_pe(t, i);
    shi_heap_give(shi_world.heap, (struct shi_heap_part *)((char *)pe + list));
    munmap(g, bytes);
    return 0;
}

static void let_in(const struct shmem_team *t)
{
    for (int i = 0; i < t->n; i++) {
        int at = local_of(shi_team_world_pe(t, i));
        struct shi_shm_join *j = join_of(at);
        uint64_t waiting = joiner(at, SHI_JOIN_WAITS);
        if (j->round != own.rounds || __atomic_load_n(&j->who, __ATOMIC_ACQUIRE) != waiting)
            continue;
        if (!own.given_bytes && give(t))
            shi_die("shmemx_grow", "out of memory for what new PEs have to know");
        j->off = own.given_off;
        j->bytes = own.given_bytes;
        __atomic_compare_exchange_n(&j->who, &waiting, joiner(at, SHI_JOIN_GO), 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED); /* R2 */
        syscall(SYS_futex, &j->who, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

/* The lowest PE that lives and is not new lets them in; another one does when it dies. When none is left, no process that still waits can join. */
static int all_are_in(const struct shmem_team *t)
{
    int all = 1, first = -1, waiting = -1;
    for (int i = 0; i < t->n; i++) {
        int pe = shi_team_world_pe(t, i), at = local_of(pe);
        if (shi_failed_is(pe))
            continue;
        uint64_t who = __atomic_load_n(&join_of(at)->who, __ATOMIC_ACQUIRE); /* A3 */
        if (is_chosen(pe))
            all &= who == joiner(at, SHI_JOIN_READY);
        else if (first < 0)
            first = pe;
        if (is_chosen(pe) && who == joiner(at, SHI_JOIN_WAITS))
            waiting = pe;
    }
    if (first < 0 && waiting >= 0)
        shi_die("shmem_init", "all PEs that could let in PE %d have died", waiting);
    if (!all && first == shi_world.pe)
        let_in(t);
    return all;
}

static void await_all_in(const char *routine, const struct shmem_team *t)
{
    SHI_WAIT_PROGRESS(all_are_in(t), .routine = routine, .kind = SHI_FOR_OTHER, .words = "new PEs have not joined");
    shi_agree_all(routine, NULL);
    if (own.given_bytes)
        shi_shm_release(&shi_world.shm, own.given_off, own.given_bytes);
    own.given_bytes = 0;
}

/* 0, or -ENOTSUP after one line. */
static int is_possible(const char *routine)
{
    const char *what = shi_world.lane ? "over the network" : shi_world.dev_lo ? "with a device heap" : shi_added_any() ? "with memory added to the heaps" : NULL;
    if (what)
        shi_log_error("%s: new PEs cannot join %s", shi_log_routine(routine), what);
    return what ? -ENOTSUP : 0;
}

static int grow(const char *routine, uint64_t wait_ns, struct grow *g, struct shmem_team **out)
{
    int n_new = 0;
    g->all.member = g->member;
    g->all.out = out;
    g->all.config = &shi_team_world.config;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    shi_doorbell_ring_words();
    await_new(routine, wait_ns);
    own.rounds++;
    int err = shi_team_split_with(&shi_team_world, &(const struct shi_gather){gather, g}, &g->all, 1, 1);
    if (err)
        return err;
    struct shmem_team *t = *out;
    for (int i = 0; i < t->n; i++)
        if (is_chosen(shi_team_world_pe(t, i))) {
            take_back(routine, shi_team_world_pe(t, i), t->number);
            n_new++;
        }
    shi_agree_prepare(t->number);
    shi_agree_all(routine, NULL);
    shi_agree_begin(t->number);
    shi_heap_order(shi_world.heap);
    await_all_in(routine, t);
    return n_new;
}

int shi_survive_grow(const char *routine, uint64_t wait_ns, struct shmem_team **out)
{
    if (own.is_new) {
        *out = own.joined;
        own.is_new = 0;
        return 0;
    }
    if (is_possible(routine))
        return -ENOTSUP;
    struct grow g = {.routine = routine, .member = malloc((size_t)shi_world.n_pes * (sizeof(int) + 1))};
    if (!g.member)
        shi_die(routine, "out of memory for a team of %d PEs", shi_world.n_pes);
    g.dead = (char *)(g.member + shi_world.n_pes);
    int n = grow(routine, wait_ns, &g, out);
    free(g.member);
    return n;
}

/* ---- a new process -------------------------------------------------------------------------------------------------------- */

int shi_grow_up(void)
{
    const struct shi_shm_file file = {getpid(), shi_world.shm.fd};
    const struct shi_shm_join *j = join_of(shi_world.boot.local_index);
    if (!shi_world.boot.replaces)
        return 0;
    if (shi_world.launcher_left) {
        shi_log_error("oshrun --replace: shmem_init can be called once only");
        return -ENOTSUP;
    }
    int err = shi_world.boot.ops->publish(SHI_SHM_FILE_NAME, &file, sizeof file);
    if (err || !shi_world.boot.is_new)
        return err;
    own.gift_bytes = j->bytes;
    own.gift = shi_shm_map(&shi_world.shm, NULL, j->off, j->bytes, 0);
    if (!own.gift)
        return -ENOMEM;
    if (own.gift->heap_lo != shi_world.heap_lo) {
        shi_log_error("the addresses of the symmetric heap are taken in this process, whose place another one has had: it cannot join");
        return -EADDRINUSE;
    }
    own.rounds = own.gift->round;
    own.is_new = 1;
    shi_agree_prepare(own.gift->number);
    shi_agree_begin(own.gift->number);
    return 0;
}

/* Blocks have the same places as at the other PEs. */
static void take_heap(const struct shi_heap_part *part, size_t n)
{
    shi_heap_take(shi_world.heap, part, n);
    for (size_t i = 0; i < n; i++)
        if (part[i].used)
            shi_world.poisoned_bytes = part[i].off + part[i].bytes;
}

void shi_grow_join(void)
{
    const struct gift *g = own.gift;
    const int *pe = (const int *)(g + 1);
    struct shmem_team like = shi_team_listed(pe, g->n);
    take_heap((const struct shi_heap_part *)((const char *)pe + shi_round_up((size_t)g->n * sizeof(int), 8)), g->n_parts);
    like.index = shi_team_slot_of(g->number);
    like.epoch = g->epoch;
    like.number = g->number;
    own.joined = shi_split_join(&like);
    munmap(own.gift, own.gift_bytes);
    own.gift = NULL;
    int at = shi_world.boot.local_index;
    __atomic_store_n(&join_of(at)->who, joiner(at, SHI_JOIN_READY), __ATOMIC_RELEASE); /* R3 */
    await_all_in("shmem_init", own.joined);
}
