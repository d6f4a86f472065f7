/*
 * team.h - teams: members, numbers, and the sync slot in which the members synchronise.
 *
 * Every PE's sync area is an array of slots; a team uses the slot of the same index on each member. Epochs only grow: a
 * new team starts above every member's highest epoch, so a slot is never cleared, and a member that still waits on an older
 * team's word finds it larger and continues. A member that left an operation has received every store of that operation
 * into its own slot, so a slot can be reused at once.
 */
#ifndef SHI_TEAM_H
#define SHI_TEAM_H

#include "host/coll/plan.h"
#include "host/net/node/doorbell.h"
#include "host/ops/state.h"

enum {
    SHI_ROUNDS = 24,      /* of the dissemination barrier: 2^24 members */
    SHI_SLOTS = 512,      /* world, shared, and the teams a PE may belong to at one time */
    SHI_SLOT_WORLD = 0,
    SHI_SLOT_SHARED = 1,
    SHI_SETS = 1024,      /* active sets of the deprecated routines, one slot each for ever, behind those of teams */
    SHI_EXCHANGE_BYTES = 128, /* the least size of an exchange buffer */
    SHI_EXCHANGE_TOTAL_BYTES = 8192,
    SHI_LANDING_BYTES = SHI_ROUNDS * SHI_EXCHANGE_BYTES, /* heads a half: what a round of a merge brings */
    SHI_RECORDS_BYTES = 65536, /* the least size of the records of a half, which follow */
    SHI_SET_DESTS = 4 /* so many last broadcasts over an active set are remembered */
};

/*
 *   word            written by                        read by         order
 *   flag[r].seen    member 2^r below                  owner of slot   R1 -> A1 barriers of one node by dissemination
 *   came            owner of slot, in barriers that   reports; roots  relaxed: shi_team_came; R6 -> A6 the dests of
 *                   count and broadcasts over active                  earlier broadcasts are free
 *                   sets
 *   arrived         members, fetch-add; the last, or  members         R2 -> A2 slot of member 0, or of the node's first
 *                   the node's first, resets
 *   released        last to arrive, or the first      members         R3 -> A3
 *   left            owner of slot, when it leaves      PEs            R7 -> A7 what the owner has stored and sent before (left.c)
 *   from[i]         member i                          owner of slot   R4 -> A4 the stores of i for this epoch, or this round of it
 *   half[p]         direct: member i, record i,       owner of slot   plain, after A4
 *                   before from[i]
 *                   gathered, in the slot of a node's first:
 *                   members of the node, their        the first       plain, before R2, after A2
 *                   records
 *                   firsts of other nodes, records    the first       plain, before R4, after A4
 *                   and landing[r]
 *                   the first, its record and the     members         plain, before R3, after A3
 *                   result
 *                   reductions by halves: members of  owner of slot   plain, before R4, after A4; the owner combines them there
 *                   other nodes, elements
 *   sets_used       PEs, fetch-add; world slot of     PEs             relaxed: hands out slots of active sets
 *                   PE 0 only
 *
 * p alternates from one exchange to the next. No member ends an exchange before all have begun it; so a member that is one
 * exchange ahead writes to the other half, and one that is two ahead knows that all have left this exchange.
 *
 * Words of a remote member come over the network: its progress engine stores them with a release, in stream order.
 *
 * R1 -> A1, R2 -> A2 (-> R4 -> A4 between nodes) -> R3 -> A3  stores of every member before the barrier are visible to all members
 * after it.
 */
struct shi_slot {
    struct {
        _Alignas(SHI_LINE_BYTES) uint64_t seen;
    } flag[SHI_ROUNDS];
    _Alignas(SHI_LINE_BYTES) uint64_t arrived;
    _Alignas(SHI_LINE_BYTES) uint64_t released;
    _Alignas(SHI_LINE_BYTES) uint64_t sets_used;
    uint64_t came;
    uint64_t left; /* of the world: 0, or its epoch with which its owner came to shmem_finalize, twice, plus 1 at exit */
    _Alignas(SHI_LINE_BYTES) uint64_t from[]; /* [n_pes], then the two halves of the exchange buffers */
};

/* Members of a team that share memory; the first acts for them between nodes. */
struct shi_node {
    int *member; /* [n] ascending */
    int n;
};

/* The dest of a broadcast over an active set, and its epoch. */
struct shi_set_dest {
    const char *dest;
    size_t bytes;
    uint64_t epoch;
};

struct shmem_team {
    void *tables;                /* of the block that has those below */
    const struct shi_peer *peer; /* [n] by team PE */
    struct shi_slot **slot;      /* [n] by team PE: that member's slot, mapped here, or NULL for a remote one */
    int n, me;
    int start, stride;           /* world PE of team PE i is start + i * stride... */
    const int *list;             /* ...or list[i], in tables, where the members are not evenly spaced */
    struct shi_node *node;       /* [n_nodes] where its members are; this PE's node is node[my_node] */
    int n_nodes, my_node;        /* n_nodes 1: none is remote */
    int *members;                /* [n] by node, for struct shi_node */
    int *local_rank;             /* [n] by team PE: that member's index in its node */
    int *position;               /* [n] by team PE: its index in members */
    int ordered;                 /* 1: position[i] is i */
    int most_local, least_local; /* members of the node with most of them, and with the fewest */
    int gathered;                /* exchanges go through the nodes' firsts; 0: each member stores into every slot */
    int index;                   /* of its slot */
    uint64_t number;             /* in messages: teams with a member in common never have the same */
    int oversubscribed;          /* there may be more members than cores */
    uint64_t epoch;              /* of the last barrier or collective */
    struct shi_set_dest set_dest[SHI_SET_DESTS]; /* of the last broadcasts over an active set, the last one first; n_set_dests of them */
    int n_set_dests;
    uint64_t exchanges;          /* a count, whose last bit selects the half of the exchange buffers */
    size_t record_stride;        /* from one record of a gathered exchange to the next */
    const char *routine;         /* of the last barrier or collective, for reports of waits */
    int failed;                  /* SHMEMX_ERR_: operations on it fail at once, and it sends no notifications: host/survive */
    uint64_t nbc_calls;          /* nonblocking collectives so far, */
    int nbc_open;                /* and those under way; any thread: host/nbc/nbc.c */
    size_t buffer_bytes;         /* of one member's exchange buffer */
    shmem_team_config_t config;
    struct shmem_ctx *ctxs;      /* shareable contexts, destroyed with the team */
    struct shmem_team *next;     /* of the teams, or of the active sets */
};

extern struct shmem_team shi_team_world, shi_team_shared;

/* The world's table of peers, or the default context, has changed: update teams and contexts. */
void shi_team_refresh(void);

/* Bytes of one PE's sync area in a job of n_pes. */
size_t shi_team_sync_bytes(int n_pes);

/* Set up the predefined teams from shi_world; 0 or -errno. Pair: shi_team_down, which frees teams that the program left. */
int shi_team_up(void);
void shi_team_down(void);

/* The process leaves the job: epochs and numbers of teams begin again. */
void shi_team_leave(void);

/* The team of a handle, or NULL for SHMEM_TEAM_INVALID. Dies on a handle that is invalid or destroyed; `arg` names it. */
struct shmem_team *shi_team_checked(const char *routine, const char *arg, shmem_team_t handle);
static inline struct shmem_team *shi_team_of(const char *routine, const char *arg, shmem_team_t handle)
{
    extern struct shmem_team *const shi_team_small[3];
    return (uintptr_t)handle < 3 ? shi_team_small[(uintptr_t)handle] : shi_team_checked(routine, arg, handle);
}

/* The program's handle of a team. */
shmem_team_t shi_team_handle(struct shmem_team *t);

/*
 * A team's number is its generation, above that of every earlier team that shares a member with it, and its slot. 46 bits
 * of generation never wrap. Active sets have no number. With the last bit it is that of the messages of its nonblocking collectives.
 */
enum { SHI_TEAM_NUMBER_BITS = 56 };
#define SHI_TEAM_NUMBER_COLL (1ull << (SHI_TEAM_NUMBER_BITS - 1))

static inline int shi_team_slot_of(uint64_t number)
{
    return (int)(number % SHI_SLOTS);
}

/* The team with the number that another PE sent, or NULL. *later is then 1 when this PE has yet to return from the split
 * that makes the team, 0 when the team has been destroyed here. Any thread. */
struct shmem_team *shi_team_find(uint64_t number, int *later);

/* World number of a member, and the member number of a world PE or -1. */
static inline int shi_team_world_pe(const struct shmem_team *t, int pe)
{
    return t->list ? t->list[pe] : t->start + pe * t->stride;
}
int shi_team_member(const struct shmem_team *t, int world_pe);

/* Members list[n], n > 0, none twice, as those of a team whose tables are not filled: evenly spaced, or that list. */
struct shmem_team shi_team_listed(const int *list, int n);

/* One subset of a split; members are start + i * stride in the parent, or member[i]. Members of the parent may give different
 * subsets that have no PE in common. *out is NULL on non-members. */
struct shi_subset {
    const int *member; /* or NULL */
    int start, stride, size;
    const shmem_team_config_t *config;
    long mask;
    struct shmem_team **out;
};

/* What another part of the library does when this PE has a new team, which shi_team_find then finds, and when a team has
 * ended, which it no longer finds. Either may be NULL. */
struct shi_team_hooks {
    void (*made)(const struct shmem_team *t);
    void (*ended)(const struct shmem_team *t);
};

/* In every init: call the hooks, which are kept, until shi_team_down. */
void shi_team_on_change(const struct shi_team_hooks *h);

/* Collective over the parent: make a team of each subset, all or none. A member with ok = 0 takes part and makes the split
 * fail on every member. 0 or -errno, the same on all. */
int shi_team_split(struct shmem_team *parent, const struct shi_subset *subset, int n_subsets, int ok);

/* What members of a parent offer for a split, and all of them together: slot_free and ok by AND, threads by OR, the others by the maximum. */
struct shi_offer {
    uint64_t slot_free[SHI_SLOTS / 64];
    uint64_t clock;
    uint64_t generation;
    int32_t ok;
    int32_t threads; /* a member's threads may split teams at the same time */
};

/* How the members merge their offers, collective over the parent: 0 or -errno, the same on all. It may fill in the subset's members. */
struct shi_gather {
    int (*gather)(struct shmem_team *parent, struct shi_offer *all, void *arg);
    void *arg;
};
int shi_team_split_with(struct shmem_team *parent, const struct shi_gather *g, const struct shi_subset *subset, int n_subsets, int ok);

/* Collective over the parent: a team of each color that is not negative, its members in the order of their keys, equal keys in that
 * of the parent. ok and the result as above. */
int shi_team_split_color(struct shmem_team *parent, int color, int key, const struct shi_subset *like, int ok);
void shi_team_destroy(struct shmem_team *t);

/* Slots are free, but the predefined teams'. Pair: shi_split_down, before shi_team_down. */
void shi_split_up(void);
void shi_split_down(void);
void shi_split_leave(void); /* as shi_team_leave */

/* In a process that joins: make the team that the others have made, which is `like`, and know of no earlier one. */
struct shmem_team *shi_split_join(const struct shmem_team *like);

/* The team of a deprecated active set, made at first use, which must have every member in it; dies on a bad triplet. */
struct shmem_team *shi_team_of_set(const char *routine, int start, int log_stride, int size, long *psync);
/* The same of the PEs list[n] of the world, none twice, of which the calling PE is one. */
struct shmem_team *shi_team_of_list(const char *routine, const int *list, int n, long *psync);

/* A new context of the team. 0 and *out, or -errno. Pair: shi_team_ctx_destroy, which completes its operations, or
 * the team's end for shareable ones. */
int shi_team_ctx_create(struct shmem_team *t, long options, struct shmem_ctx **out);
void shi_team_ctx_destroy(struct shmem_ctx *c);

/* 0, or the error with which operations on the team fail. Its waits have ended early then, and what they brought is not valid. */
static inline int shi_team_failed(const struct shmem_team *t)
{
    return __atomic_load_n(&t->failed, __ATOMIC_RELAXED);
}

/* What host/survive tells of PEs that have failed and teams that are revoked. NULL before the first. Set with release (R6), loaded with acquire (A6). */
struct shi_team_faults {
    int (*error)(struct shmem_team *t);         /* why operations on the team fail, found now or earlier: SHMEMX_ERR_ or 0 */
    int (*receive)(uint64_t number, int any);   /* why messages of the team fail; any: receives from any member */
    void (*met)(int err);                       /* a call of the calling thread has ended with this */
};
extern const struct shi_team_faults *shi_team_faults;
static inline const struct shi_team_faults *shi_team_faults_now(void)
{
    return shi_unlikely(__atomic_load_n(&shi_team_faults, __ATOMIC_RELAXED) != NULL) ? __atomic_load_n(&shi_team_faults, __ATOMIC_ACQUIRE) : NULL;
}

/* Barrier among the members, which also makes their earlier stores visible to all. */
void shi_team_barrier(const char *routine, struct shmem_team *t);

/* The same, after this thread's operations are complete. */
void shi_team_quiet_barrier(const char *routine, struct shmem_team *t);

/* Of all PEs, in routines of the heap: the barrier with quiet of the world, or, unless it is NULL, what host/survive has set. */
extern void (*shi_team_heap_barrier)(const char *routine);
static inline void shi_team_heap_sync(const char *routine)
{
    if (shi_unlikely(shi_team_heap_barrier != NULL))
        shi_team_heap_barrier(routine);
    else
        shi_team_quiet_barrier(routine, &shi_team_world);
}

/* 1: the member has entered the barrier of this epoch; 0: it has not; -1: it is remote. A hint, for reports. */
int shi_team_came(const struct shmem_team *t, int member, uint64_t epoch);

/* ---- teams in the making: host/coll/split.c, set.c ------------------------------------------------------------------- */

/* Slot `index` of a PE, or NULL: it is remote. */
struct shi_slot *shi_team_slot(int world_pe, int index);

/* Set up the tables of a team whose members, number and slot are set; dies without memory. */
void shi_team_fill(const char *routine, struct shmem_team *t);

/* A listed team with these members, number and slot. Pair: shi_team_unmake. */
struct shmem_team *shi_team_make(const struct shmem_team *like);
void shi_team_unmake(struct shmem_team *t);

/* The highest epoch of a team that was unmade. */
uint64_t shi_team_clock(void);

/* Active sets stay until shi_team_down. Any thread may look for the one with these members: NULL: there is none. */
struct shmem_team *shi_team_find_set(const struct shmem_team *like);
void shi_team_list_set(struct shmem_team *t);

/* ---- for collectives --------------------------------------------------------------------------------------------- */

/* Store into a remote member's slot, after all that the default context sent it. `mine`: the same word of our own slot. more:
 * another store to the member follows at once, in the same message. */
void shi_team_store_remote(const struct shmem_team *t, int to, const void *mine, const void *from, size_t bytes, int more);

/* Notify member `to`: my stores for it in this epoch are complete. */
static inline void shi_team_notify(const struct shmem_team *t, int to, uint64_t epoch)
{
    if (shi_unlikely(shi_team_failed(t)))
        return;
    if (shi_likely(t->slot[to] != NULL)) {
        __atomic_store_n(&t->slot[to]->from[t->me], epoch, __ATOMIC_RELEASE); /* R4 */
        shi_doorbell_ring_pe(&t->peer[to].rank);
    } else {
        shi_team_store_remote(t, to, &t->slot[t->me]->from[t->me], &epoch, sizeof epoch, 0);
    }
}

/* This PE has come to the broadcast of an epoch over an active set; a member of its node waits for that. */
void shi_team_come(struct shmem_team *t, uint64_t epoch);
void shi_team_await_come(const struct shmem_team *t, int of, uint64_t epoch);

/* Wait until member `of` has notified me. */
void shi_team_wait_notify(struct shmem_team *t, int of, uint64_t epoch);

/* Notify all others and wait until all have notified me. */
void shi_team_notify_and_wait(struct shmem_team *t, uint64_t epoch);

/* The half for the current exchange in the slot of member `to`, which is mapped: landing places, then records. */
static inline size_t shi_team_half_bytes(int n_pes)
{
    size_t records = SHI_EXCHANGE_BYTES * (size_t)n_pes;
    return SHI_LANDING_BYTES + (records > SHI_RECORDS_BYTES ? records : SHI_RECORDS_BYTES);
}

/* Do so many records of `bytes` fit into a half? */
static inline int shi_team_fits(int n_pes, size_t bytes, int records)
{
    size_t room = shi_team_half_bytes(n_pes) - SHI_LANDING_BYTES;
    return bytes <= SHI_EXCHANGE_TOTAL_BYTES && shi_round_up(bytes, 16) <= room / (size_t)records;
}

static inline char *shi_team_half(const struct shmem_team *t, int to)
{
    char *halves = (char *)t->slot[to]->from + shi_round_up(shi_world.n_pes * sizeof(uint64_t), SHI_LINE_BYTES);
    return halves + (t->exchanges & 1) * shi_team_half_bytes(shi_world.n_pes);
}

static inline char *shi_team_records(const struct shmem_team *t, int to)
{
    return shi_team_half(t, to) + SHI_LANDING_BYTES;
}

/* The first member of this PE's node. */
static inline int shi_team_first(const struct shmem_team *t)
{
    return t->node[t->my_node].member[0];
}

/* After an exchange: member `from`'s record, as member `to` of this node has it. */
static inline void *shi_team_buffer(const struct shmem_team *t, int to, int from)
{
    return t->gathered ? shi_team_records(t, shi_team_first(t)) + (size_t)t->position[from] * t->record_stride
                       : shi_team_records(t, to) + (size_t)from * t->buffer_bytes;
}

/* Send `bytes` (at most buffer_bytes) to every member; then shi_team_buffer(t, t->me, i) holds member i's until the exchange
 * after the next. */
void shi_team_exchange(struct shmem_team *t, const void *data, size_t bytes);

/* Combine the members' records of at most SHI_EXCHANGE_BYTES; all get the result. merge(a, b) adds b to a; its result depends
 * neither on the order nor on how often a record is added, as with AND and MAX. */
void shi_team_merge(struct shmem_team *t, void *record, size_t bytes, void (*merge)(void *to, const void *from));

/* 1 when `holds` is 1 on every member, else 0; the same on all. */
int shi_team_all(const char *routine, struct shmem_team *t, int holds);

/* ---- between nodes: host/coll/nodes.c ------------------------------------------------------------------------------ */

/* 1 to the first member of a node, once all members of the node have entered this operation; 0 to the others, once it has
 * called shi_team_release. What they stored before is visible to it, and what it stored to them. */
int shi_team_enter(struct shmem_team *t, uint64_t epoch);
void shi_team_release(struct shmem_team *t, uint64_t epoch);

/* Barrier among the members of this PE's node. All members of the team call it. */
void shi_team_node_barrier(struct shmem_team *t);

/* What the firsts send each other in the rounds of a plan by dissemination or pairs. x->to and x->from are nodes. Either may be NULL. */
struct shi_carry {
    enum shi_plan plan;
    void (*send)(struct shmem_team *t, const struct shi_round *x, int r, void *arg); /* a notification follows */
    void (*take)(struct shmem_team *t, const struct shi_round *x, int r, void *arg);
    void *arg;
};
void shi_team_rounds(struct shmem_team *t, uint64_t epoch, const struct shi_carry *c);

/* Store into the same place of the slot of a remote member, ahead of a notification that follows at once. */
void shi_team_carry(const struct shmem_team *t, int to, const char *mine, const void *from, size_t bytes);

#endif
