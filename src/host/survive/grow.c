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
#include "host/net/stream/lost.h"
#include "host/net/stream/stream.h"
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
    int is_outside;             /* relaxed: cleared once; a thread that sees it late leaves a message to others */
    struct shmem_team *joined;  /* of a new process, until shmemx_grow returns it */
    struct gift *gift;          /* the same, mapped */
    size_t gift_bytes;
    uint64_t given_off, given_bytes; /* what this PE has stored in the node's file */
} own;

int shi_grow_is_new(void)
{
    return own.is_new;
}

int shi_grow_is_outside(void)
{
    return __atomic_load_n(&own.is_outside, __ATOMIC_RELAXED);
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

/* The state of the process that was chosen for the place. */
static enum shi_shm_join_state state_of(int i)
{
    uint64_t who = __atomic_load_n(&join_of(i)->who, __ATOMIC_ACQUIRE); /* A3, A4 */
    return who >> 8 == joiner(i, 0) >> 8 ? (enum shi_shm_join_state)(who & 0xff) : SHI_JOIN_NONE;
}

static int is_one_node(void)
{
    return shi_world.shm.n == shi_world.n_pes;
}

uint32_t shi_grow_life(int pe)
{
    return is_one_node() ? join_of(local_of(pe))->times : 0;
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
    int pe = (int)(tail & 0xffffff) - 1;
    return shi_failed_is(pe) || (is_one_node() && (shi_grow_life(pe) & 0x7f) != tail >> 24);
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
    shi_watch_again(local_of(pe), number);
}

/* Streams with the new PEs begin anew. */
static void listen_to(const char *routine, const struct shmem_team *t)
{
    for (int i = 0; i < t->n; i++) {
        int pe = shi_team_world_pe(t, i);
        if (pe == shi_world.pe || !is_chosen(pe))
            continue;
        shi_stream_meet(pe, shi_grow_life(pe));
        SHI_WAIT_PROGRESS(shi_failed_is(pe) || shi_stream_return(pe), .routine = routine, .kind = SHI_FOR_NETWORK, .of = pe);
    }
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

/* From this state to the next one: WAITS to GO, READY to IN. */
static void advance(const struct shmem_team *t, enum shi_shm_join_state from)
{
    for (int i = 0; i < t->n; i++) {
        int at = local_of(shi_team_world_pe(t, i));
        struct shi_shm_join *j = join_of(at);
        uint64_t before = joiner(at, from);
        if (j->round != own.rounds || state_of(at) != from)
            continue;
        if (from == SHI_JOIN_WAITS) {
            if (!own.given_bytes && give(t))
                shi_die("shmemx_grow", "out of memory for what new PEs have to know");
            j->off = own.given_off;
            j->bytes = own.given_bytes;
        }
        __atomic_compare_exchange_n(&j->who, &before, joiner(at, from + 1), 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED); /* R2, R4 */
        syscall(SYS_futex, &j->who, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

/* All new PEs that live have this state, READY or IN. The lowest PE that lives and is not new lets them go on; another one does when it dies. When none is left,
 * no process that still waits can join. */
static int are_all(const struct shmem_team *t, enum shi_shm_join_state state)
{
    const enum shi_shm_join_state from = state == SHI_JOIN_READY ? SHI_JOIN_WAITS : SHI_JOIN_READY;
    int all = 1, first = -1, waiting = -1;
    for (int i = 0; i < t->n; i++) {
        int pe = shi_team_world_pe(t, i);
        if (shi_failed_is(pe))
            continue;
        enum shi_shm_join_state is = state_of(local_of(pe));
        if (!is_chosen(pe)) {
            first = first < 0 ? pe : first;
            continue;
        }
        all &= is >= state;
        waiting = is == from ? pe : waiting;
    }
    if (first < 0 && waiting >= 0)
        shi_die("shmem_init", "all PEs that could let in PE %d have died", waiting);
    if (waiting >= 0 && first == shi_world.pe)
        advance(t, from);
    return all;
}

static void await_all(const char *routine, const struct shmem_team *t, enum shi_shm_join_state state)
{
    SHI_WAIT_PROGRESS(are_all(t, state), .routine = routine, .kind = SHI_FOR_OTHER, .words = "new PEs have not joined");
}

static void meet(const char *routine, const struct shmem_team *t)
{
    await_all(routine, t, shi_world.lane ? SHI_JOIN_IN : SHI_JOIN_READY);
    __atomic_store_n(&own.is_outside, 0, __ATOMIC_RELAXED);
    shi_agree_all(routine, NULL);
    if (own.given_bytes)
        shi_shm_release(&shi_world.shm, own.given_off, own.given_bytes);
    own.given_bytes = 0;
}

/* 0, or -ENOTSUP after one line. */
static int is_possible(const char *routine)
{
    const char *what = !is_one_node() ? "a job on several hosts" : shi_world.lane && shi_stream_pins() ? "over a network that pins memory" : shi_world.dev_lo ? "with a device heap" : shi_added_any() ? "with memory added to the heaps" : NULL;
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
    shi_heap_order(shi_world.heap);
    await_all(routine, t, SHI_JOIN_READY);
    if (shi_world.lane) {
        listen_to(routine, t);
        shi_agree_all(routine, NULL);
    }
    shi_agree_begin(t->number);
    meet(routine, t);
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
    if (shi_world.launcher_left && shi_world.boot.replaces == SHI_REPLACES_BY_LAUNCHER) {
        shi_log_error("oshrun --replace: shmem_init can be called once only");
        return -ENOTSUP;
    }
    if (shi_world.launcher_left) {
        shi_world.boot.replaces = SHI_REPLACES_NONE; /* the process that made the id listens no more */
        return 0;
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
    own.is_new = own.is_outside = 1;
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
    await_all("shmem_init", own.joined, SHI_JOIN_READY);
    if (shi_world.lane)
        listen_to("shmem_init", own.joined);
    meet("shmem_init", own.joined);
}
