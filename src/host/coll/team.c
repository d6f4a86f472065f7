/* team.c - the teams of this PE: handles, members and their nodes, lists. split.c and set.c make them; what members do together is in barrier.c. */
#include "host/coll/team.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "host/ops/amo.h"
#include "host/ops/ctx.h"
#include "host/ops/p2p.h"
#include "host/ops/remote.h"
#include "host/ops/wait.h"
#include "host/policy/schedule.h"
#include "host/util/log.h"
#include "host/util/pool.h"

struct shmem_team shi_team_world, shi_team_shared;
void (*shi_team_heap_barrier)(const char *routine);
struct shmem_team *const shi_team_small[3] = {NULL, &shi_team_world, &shi_team_shared};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for the words below; collectives use none of them */
static uint64_t clock_max; /* the highest epoch of a destroyed team */
static uint64_t newest[SHI_SLOTS]; /* number of the newest team in each slot here */
static struct shmem_team *teams;
static struct shmem_team *sets; /* R5 -> A5: a set is complete before it is listed; added under lock, removed by shi_team_down */

enum { MAX_HOOKS = 4 };
static const struct shi_team_hooks *hooks[MAX_HOOKS]; /* set at init */
static int n_hooks;

/* Handles of teams; a dead one has no members. */
static struct shi_pool pool = SHI_POOL_OF(struct shmem_team);

struct shmem_team *shi_team_checked(const char *routine, const char *arg, shmem_team_t handle)
{
    shi_need_up(routine);
    enum shi_pool_state is = shi_pool_state_of(&pool, handle);
    if (is == SHI_HANDLE_DEAD)
        shi_die(routine, "%s = %p was destroyed", arg, (void *)handle);
    if (is == SHI_HANDLE_NONE)
        shi_die(routine, "%s = %p is not a team", arg, (void *)handle);
    return handle;
}

/* ---- slots ------------------------------------------------------------------------------------------------------- */

static size_t slot_bytes(int n_pes)
{
    size_t from = shi_round_up(n_pes * sizeof(uint64_t), SHI_LINE_BYTES);
    return shi_round_up(sizeof(struct shi_slot) + from + 2 * shi_team_half_bytes(n_pes), SHI_PAGE_BYTES);
}

size_t shi_team_sync_bytes(int n_pes)
{
    return slot_bytes(n_pes) * (SHI_SLOTS + SHI_SETS);
}

struct shi_slot *shi_team_slot(int world_pe, int index)
{
    const struct shi_shm *shm = &shi_world.shm;
    const struct shi_peer *p = &shi_world.peer[world_pe];
    if (p->remote)
        return NULL;
    return (struct shi_slot *)(shm->base + shm->region[p->rank].sync_off + index * slot_bytes(shi_world.n_pes));
}

const struct shi_team_faults *shi_team_faults;

struct shmem_team *shi_team_find(uint64_t number, int *later)
{
    if (number <= SHI_SLOT_SHARED)
        return number ? &shi_team_shared : &shi_team_world;
    pthread_mutex_lock(&lock);
    struct shmem_team *t = teams;
    while (t && t->number != number)
        t = t->next;
    *later = number > newest[shi_team_slot_of(number)];
    pthread_mutex_unlock(&lock);
    return t;
}

/* ---- membership -------------------------------------------------------------------------------------------------- */

int shi_team_member(const struct shmem_team *t, int world_pe)
{
    for (int i = 0; t->list && i < t->n; i++)
        if (shi_team_world_pe(t, i) == world_pe)
            return i;
    if (t->list)
        return -1;
    int d = world_pe - t->start;
    if (t->n == 1)
        return d == 0 ? 0 : -1;
    return d % t->stride == 0 && d / t->stride >= 0 && d / t->stride < t->n ? d / t->stride : -1;
}

shmem_team_t shi_team_handle(struct shmem_team *t)
{
    return t == &shi_team_world ? SHMEM_TEAM_WORLD : t == &shi_team_shared ? SHMEM_TEAM_SHARED : t;
}

/* The number of a PE's node; PEs that only the network reaches from each other are nodes of their own. */
static int node_of(int world_pe)
{
    int forced = shi_world.config.transport == SHI_TRANSPORT_OFI;
    return !shi_world.lane ? 0 : forced ? world_pe : shi_stream_node(world_pe);
}

/* Number the nodes by their first member, and count their members. node_at[number] becomes the index plus 1. */
static void count_nodes(struct shmem_team *t, int *node_at)
{
    for (int i = 0; i < t->n; i++) {
        int *at = &node_at[node_of(shi_team_world_pe(t, i))];
        if (!*at)
            *at = ++t->n_nodes;
        t->local_rank[i] = t->node[*at - 1].n++;
        if (i == t->me)
            t->my_node = *at - 1;
    }
}

/* Sort the members by node. 0 or -ENOMEM. */
static int find_nodes(struct shmem_team *t)
{
    int one = 0, placed = 0;
    int *node_at = shi_world.lane ? calloc((size_t)shi_world.n_pes, sizeof *node_at) : &one;
    if (!node_at)
        return -ENOMEM;
    count_nodes(t, node_at);
    for (int k = 0; k < t->n_nodes; placed += t->node[k++].n) {
        t->node[k].member = t->members + placed;
        t->most_local = t->node[k].n > t->most_local ? t->node[k].n : t->most_local;
        t->least_local = k == 0 || t->node[k].n < t->least_local ? t->node[k].n : t->least_local;
    }
    t->ordered = 1;
    for (int i = 0; i < t->n; i++) {
        const struct shi_node *k = &t->node[node_at[node_of(shi_team_world_pe(t, i))] - 1];
        k->member[t->local_rank[i]] = i;
        t->position[i] = (int)(k->member - t->members) + t->local_rank[i];
        t->ordered &= t->position[i] == i;
    }
    t->gathered = shi_schedule_gathers(t->n_nodes, t->n);
    if (node_at != &one)
        free(node_at);
    return 0;
}

/* Allocate the tables of a team in one block, since allocations are a third of what a split costs; all but peer are 0. The world's
 * peers have a table already. 0 or -ENOMEM. */
static int allocate_tables(struct shmem_team *t)
{
    size_t n = (size_t)t->n, peers = t == &shi_team_world ? 0 : n * sizeof *t->peer;
    size_t bytes = n * (sizeof *t->slot + sizeof *t->node + (t->list ? 4 : 3) * sizeof *t->members);
    t->tables = malloc(peers + bytes + SHI_LINE_BYTES);
    if (!t->tables)
        return -ENOMEM;
    char *at = (char *)shi_round_up((uintptr_t)t->tables, SHI_LINE_BYTES);
    memset(at + peers, 0, bytes);
    t->peer = peers ? (struct shi_peer *)at : shi_world.peer;
    t->slot = (struct shi_slot **)(at + peers);
    t->node = (struct shi_node *)(t->slot + n);
    t->members = (int *)(t->node + n);
    t->local_rank = t->members + n;
    t->position = t->local_rank + n;
    if (t->list)
        t->list = memcpy(t->position + n, t->list, n * sizeof *t->list);
    return 0;
}

/* Fill the tables of a team whose members, number and slot are set. 0 or -ENOMEM. */
static int fill(struct shmem_team *t)
{
    if (allocate_tables(t))
        return -ENOMEM;
    struct shi_peer *own = t == &shi_team_world ? NULL : (struct shi_peer *)t->peer;
    for (int i = 0; i < t->n; i++) {
        int pe = shi_team_world_pe(t, i);
        if (own)
            own[i] = shi_world.peer[pe];
        t->slot[i] = shi_team_slot(pe, t->index);
    }
    t->me = shi_team_member(t, shi_world.pe);
    t->oversubscribed = shi_world.shm.oversubscribed;
    t->buffer_bytes = SHI_EXCHANGE_TOTAL_BYTES / t->n / SHI_LINE_BYTES * SHI_LINE_BYTES;
    if (t->buffer_bytes < SHI_EXCHANGE_BYTES)
        t->buffer_bytes = SHI_EXCHANGE_BYTES;
    return find_nodes(t);
}

int shi_team_ctx_create(struct shmem_team *t, long options, struct shmem_ctx **out)
{
    const struct shmem_ctx like = {.peer = t->peer, .peers = t->peer, .n_pes = (unsigned)t->n, .options = options,
                                   .team = t, .list = &t->ctxs};
    return shi_ctx_create(&like, out);
}

void shi_team_ctx_destroy(struct shmem_ctx *c)
{
    shi_ctx_session(c, 0);
    shi_remote_quiet(c->lane);
    shi_ctx_destroy(c);
}

static void empty(struct shmem_team *t)
{
    while (t->ctxs)
        shi_team_ctx_destroy(t->ctxs);
    free(t->tables);
    t->tables = NULL;
    t->list = NULL;
    t->node = NULL;
    t->members = NULL;
    t->n_nodes = 0;
    t->peer = NULL;
    t->slot = NULL;
    t->n = 0;
}

static void refresh(struct shmem_team *t)
{
    struct shi_peer *peer = (struct shi_peer *)t->peer;
    for (int i = 0; i < t->n && peer != shi_world.peer; i++)
        peer[i] = shi_world.peer[shi_team_world_pe(t, i)];
    for (struct shmem_ctx *c = t->ctxs; c; c = c->next)
        c->peer = shi_world.dev_private ? SHI_CTX_DEFAULT->peer : c->peer;
}

void shi_team_refresh(void)
{
    refresh(&shi_team_world);
    refresh(&shi_team_shared);
    for (struct shmem_team *t = teams; t; t = t->next)
        refresh(t);
    for (struct shmem_team *t = sets; t; t = t->next)
        refresh(t);
}

struct shmem_team shi_team_listed(const int *list, int n)
{
    struct shmem_team t = {.n = n, .stride = n > 1 ? list[1] - list[0] : 1, .start = list[0]};
    for (int i = 0; i < n; i++)
        if (list[i] != t.start + i * t.stride)
            return (struct shmem_team){.n = n, .list = list};
    return t;
}

/* The PEs that load and store each other's memory. */
static struct shmem_team shared(void)
{
    const struct shi_boot *b = &shi_world.boot;
    return shi_world.config.transport == SHI_TRANSPORT_OFI ? shi_team_listed(&shi_world.pe, 1) : shi_team_listed(b->local_pe, b->n_local);
}

int shi_team_up(void)
{
    struct shmem_team *t[] = {&shi_team_world, &shi_team_shared};
    struct shmem_team is[] = {{.n = shi_world.n_pes, .stride = 1, .index = SHI_SLOT_WORLD}, shared()};
    is[1].index = SHI_SLOT_SHARED;
    is[1].number = SHI_SLOT_SHARED;
    for (int i = 0; i < 2; i++) { /* epochs continue from those of an earlier shmem_init */
        is[i].epoch = t[i]->epoch;
        is[i].exchanges = t[i]->exchanges;
        *t[i] = is[i];
        if (fill(t[i]))
            return -ENOMEM;
    }
    return 0;
}

void shi_team_on_change(const struct shi_team_hooks *h)
{
    assert(n_hooks < MAX_HOOKS);
    hooks[n_hooks++] = h;
}

void shi_team_down(void)
{
    while (teams)
        shi_team_unmake(teams);
    while (sets) {
        struct shmem_team *t = sets;
        sets = t->next;
        empty(t);
        free(t);
    }
    empty(&shi_team_world);
    empty(&shi_team_shared);
    n_hooks = 0;
}

void shi_team_leave(void)
{
    clock_max = 0;
    memset(newest, 0, sizeof newest);
    memset(hooks, 0, sizeof hooks);
    memset(&shi_team_world, 0, sizeof shi_team_world);
    memset(&shi_team_shared, 0, sizeof shi_team_shared);
}

/* ---- making and unmaking ---------------------------------------------------------------------------------------------- */

void shi_team_fill(const char *routine, struct shmem_team *t)
{
    if (fill(t))
        shi_die(routine, "out of memory for a team of %d PEs", t->n);
}

struct shmem_team *shi_team_make(const struct shmem_team *like)
{
    struct shmem_team *t = shi_pool_get(&pool);
    if (!t)
        shi_die("shmem_team_split", "out of memory for a team of %d PEs", like->n);
    *t = *like;
    shi_team_fill("shmem_team_split", t);
    pthread_mutex_lock(&lock);
    t->next = teams;
    teams = t;
    newest[t->index] = t->number;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n_hooks; i++)
        if (hooks[i]->made)
            hooks[i]->made(t);
    return t;
}

void shi_team_unmake(struct shmem_team *t)
{
    pthread_mutex_lock(&lock);
    clock_max = t->epoch > clock_max ? t->epoch : clock_max;
    struct shmem_team **at = &teams;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    pthread_mutex_unlock(&lock);
    for (int i = 0; i < n_hooks; i++)
        if (hooks[i]->ended)
            hooks[i]->ended(t);
    empty(t);
    shi_pool_put(&pool, t);
}

uint64_t shi_team_clock(void)
{
    pthread_mutex_lock(&lock);
    uint64_t clock = clock_max;
    pthread_mutex_unlock(&lock);
    return clock;
}

static int same_members(const struct shmem_team *a, const struct shmem_team *b)
{
    if (a->n != b->n || !a->list != !b->list)
        return 0;
    return a->list ? memcmp(a->list, b->list, (size_t)a->n * sizeof *a->list) == 0 : a->start == b->start && a->stride == b->stride;
}

struct shmem_team *shi_team_find_set(const struct shmem_team *like)
{
    struct shmem_team *t = __atomic_load_n(&sets, __ATOMIC_ACQUIRE); /* A5 */
    while (t && !same_members(t, like))
        t = t->next;
    return t;
}

void shi_team_list_set(struct shmem_team *t)
{
    pthread_mutex_lock(&lock);
    t->next = sets;
    __atomic_store_n(&sets, t, __ATOMIC_RELEASE); /* R5 */
    pthread_mutex_unlock(&lock);
}
