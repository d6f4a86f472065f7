/*
 * barrier.c - both barriers of a team, the exchange, and both schedules of short alltoalls between nodes, with threads as members. The number of
 * cores is simulated, so that the test uses every round of the dissemination barrier on a small machine, too.
 */
#include "host/coll/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "../tap.h"
#include "host/coll/coll.h"
#include "host/ops/dheap.h"
#include "host/ops/remote.h"
#include "host/ops/wait.h"

/* Stubs of the modules that the linked sources use. */
struct shi_world shi_world;
int shi_shm_aborted(const struct shi_shm *s)
{
    (void)s;
    return 0;
}

enum { ROUNDS = TAP_SANITIZER ? 300 : 1500 }; /* every kind of round comes in 240 */
enum { MOST = 9, SLOT_BYTES = 1 << 18 };
static char *slots; /* [MOST] of SLOT_BYTES: the sync areas */

/* The network: the offset is that of a place in the sender's slot. */
void shi_remote_sync_store(int world_pe, uint64_t off, const void *from, size_t bytes, int more)
{
    char *to = slots + world_pe * SLOT_BYTES + off % SLOT_BYTES;
    (void)more;
    if (bytes == sizeof(uint64_t))
        __atomic_store_n((uint64_t *)to, *(const uint64_t *)from, __ATOMIC_RELEASE);
    else
        memcpy(to, from, bytes);
}
void shi_remote_quiet(struct shi_lane *l)
{
    (void)l;
}

/* Symmetric memory: a member's address, at another member. */
enum { LONG_WORDS = 420, HEAP_WORDS = 2 * MOST * LONG_WORDS, HEAP_BYTES = 3 * HEAP_WORDS * sizeof(long) }; /* two dests, source */
static char *heaps; /* [MOST] of HEAP_BYTES */
void *shi_coll_at(const struct shmem_team *t, const void *addr, int pe)
{
    return (char *)(uintptr_t)addr + (pe - t->me) * (ptrdiff_t)HEAP_BYTES;
}
void shi_coll_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
void shi_coll_put(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe)
{
    memcpy(shi_coll_at(t, dest, pe), source, bytes);
}
void shi_coll_local(const struct shmem_team *t)
{
    (void)t;
}
void shi_dheap_copy_strided(const char *routine, char *to, const char *from, const struct shi_strided *s)
{
    (void)routine;
    for (size_t i = 0; i < s->count; i++)
        memcpy(to + i * (size_t)s->dst * s->elem, from + i * (size_t)s->sst * s->elem, s->elem);
}

static struct shmem_team members[MOST];
static struct shi_slot *slot[MOST][MOST]; /* of each member's team */
static struct shi_node node[MOST];
static int placed[MOST], local_rank[MOST], position[MOST];
static long came, early, torn;

static void add_bits(void *to, const void *from)
{
    for (int w = 0; w < 4; w++)
        ((long *)to)[w] |= ((const long *)from)[w];
}

/* Exchange records, of a length that changes, or merge them. */
static void exchange(struct shmem_team *t, long r)
{
    long mine[] = {r * 100 + t->me, r, -r, r * 100 + t->me}, bits[4] = {1L << t->me, r, 0, 1L << (t->me + 20)};
    size_t words = r % 2 ? 4 : 1, bad = 0;
    if (r % 5 == 0) {
        shi_team_merge(t, bits, sizeof bits, add_bits);
        bad += bits[0] != (1L << t->n) - 1 || bits[1] != r || bits[3] != bits[0] << 20;
    } else {
        shi_team_exchange(t, mine, words * sizeof *mine);
        for (int i = 0; i < t->n; i++) {
            const long *his = shi_team_buffer(t, t->me, i);
            bad += his[0] != r * 100 + i || his[words - 1] != his[0];
        }
    }
    __atomic_fetch_add(&torn, bad, __ATOMIC_RELAXED);
}

static long value(long r, int call, size_t from, size_t i)
{
    return ((r * 2 + call) * 10 + (long)from) * 100000 + (long)i;
}

static size_t wrong_words(const struct shmem_team *t, const struct shi_all_to_all *a, long r, int call, size_t used)
{
    const long *dest = a->dest;
    size_t bad = 0;
    for (size_t i = 0; i < used; i++) {
        size_t at = i / (size_t)a->dst, from = a->nelems ? at / a->nelems : MOST;
        size_t in_source = (a->nelems * (size_t)t->me + (a->nelems ? at % a->nelems : 0)) * (size_t)a->sst;
        bad += dest[i] != (from >= (size_t)t->n || i % (size_t)a->dst ? -1 : value(r, call, from, in_source));
    }
    return bad;
}

/* Two alltoalls of 0 to 3 words with no barrier between them, in every other round with strides, by one of two schedules; sometimes
 * ones that do not fit into the exchange buffers. A source is changed just before the call and at once after it. */
static void to_all(struct shmem_team *t, long r)
{
    long *dest = (long *)(heaps + t->me * (ptrdiff_t)HEAP_BYTES), *source = dest + 2 * HEAP_WORDS;
    int by_nodes = r / 12 % 2 == 1;
    size_t words = (size_t)r / 3 % 4, bad = 0;
    struct shi_all_to_all a = {dest, source, r % 2 ? 2 : 1, r % 4 < 2 ? 1 : 2, words, sizeof *dest};
    if (by_nodes && r % 16 == 14 && t->ordered && a.dst == 1)
        a.nelems = words = LONG_WORDS - (size_t)r % 9;
    size_t used = 2 * MOST * (words > 3 ? words : 3);
    for (size_t i = 0; i < used; i++)
        dest[i] = dest[HEAP_WORDS + i] = -1;
    shi_team_barrier("alltoall", t); /* dest is ready */
    bad += !shi_coll_by_nodes_fits(t, &a) || (words < 4 && !shi_coll_index_fits(t, &a));
    for (int call = 0; call < 2; call++) {
        a.dest = dest + call * (long)HEAP_WORDS;
        for (size_t i = 0; i < used; i++)
            source[i] = value(r, call, (size_t)t->me, i);
        (by_nodes ? shi_coll_by_nodes : shi_coll_index)(t, &a);
        for (size_t i = 0; i < used; i++)
            source[i] = -2;
        if ((t->me + r) % 5 == 0)
            sched_yield();
    }
    for (int call = 0; call < 2; call++) {
        a.dest = dest + call * (long)HEAP_WORDS;
        bad += wrong_words(t, &a, r, call, used);
    }
    __atomic_fetch_add(&torn, bad, __ATOMIC_RELAXED);
}

static void *member(void *arg)
{
    struct shmem_team *t = arg;
    unsigned state = 5 + (unsigned)t->me;
    for (long r = 1; r <= ROUNDS; r++) {
        for (volatile unsigned i = tap_random(&state) % 500; i > 0; i--)
            ;
        __atomic_fetch_add(&came, 1, __ATOMIC_RELAXED);
        if (r % 7 != 3) {
            shi_team_barrier("barrier", t);
            long now = __atomic_load_n(&came, __ATOMIC_RELAXED);
            if (now < r * t->n || now > r * t->n + t->n - 1)
                __atomic_fetch_add(&early, 1, __ATOMIC_RELAXED);
        } else {
            exchange(t, r);
        }
        if (r % 3 == 0)
            exchange(t, r);
        else if (t->n_nodes > 1)
            to_all(t, r);
    }
    return NULL;
}

static struct shi_peer peers[MOST];
static struct shi_shm_region whole; /* offsets count from the first slot */

/* Place n members: `local` on each node, in turn (round) or one node after the other. Returns the number of nodes. */
static int place(int n, int local, int round)
{
    int nodes = (n + local - 1) / local, at = 0;
    for (int k = 0; k < nodes; k++) {
        node[k] = (struct shi_node){.member = placed + at};
        for (int i = 0; i < n; i++) {
            if ((round ? i % nodes : i / local) != k)
                continue;
            local_rank[i] = node[k].n++;
            position[i] = at;
            placed[at++] = i;
        }
    }
    return nodes;
}

static void set_up(int n, int nodes, int oversubscribed, int gathered)
{
    memset(slots, 0, MOST * SLOT_BYTES);
    shi_world.n_pes = n;
    shi_world.shm.base = slots;
    came = early = torn = 0;
    for (int me = 0; me < n; me++) {
        int my_node = 0;
        while (position[me] - local_rank[me] != node[my_node].member - placed)
            my_node++;
        for (int i = 0; i < n; i++) {
            int same = position[i] - local_rank[i] == position[me] - local_rank[me];
            slot[me][i] = same ? (struct shi_slot *)(slots + i * SLOT_BYTES) : NULL;
            peers[i].pe = i;
        }
        members[me] = (struct shmem_team){.slot = slot[me], .peer = peers, .n = n, .me = me, .stride = 1,
                                          .oversubscribed = oversubscribed, .buffer_bytes = SHI_EXCHANGE_BYTES,
                                          .node = node, .n_nodes = nodes, .my_node = my_node, .members = placed,
                                          .local_rank = local_rank, .position = position, .gathered = gathered};
        members[me].least_local = n;
        members[me].ordered = 1;
        for (int i = 0; i < n; i++)
            members[me].ordered &= position[i] == i;
        for (int k = 0; k < nodes; k++) {
            members[me].most_local = node[k].n > members[me].most_local ? node[k].n : members[me].most_local;
            members[me].least_local = node[k].n < members[me].least_local ? node[k].n : members[me].least_local;
        }
    }
}

static void run(int n, int nodes, int oversubscribed, int gathered)
{
    pthread_t thread[MOST];
    set_up(n, nodes, oversubscribed, gathered);
    for (int i = 0; i < n; i++)
        CHECK(pthread_create(&thread[i], NULL, member, &members[i]) == 0);
    for (int i = 0; i < n; i++)
        pthread_join(thread[i], NULL);
    CHECKF(early == 0, "%d members, %d nodes: %ld times one left before all had entered", n, nodes, early);
    CHECKF(torn == 0, "%d members, %d nodes: %ld exchanged records were wrong", n, nodes, torn);
}

static void every_size(int oversubscribed, int gathered)
{
    for (int n = 1; n <= MOST; n++)
        run(n, place(n, n, 0), oversubscribed, gathered);
}

/* Catches: a round too few, or a partner beyond the number of members. */
static void dissemination(void)
{
    every_size(0, 0);
}

/* Catches: a counter that is reset after the release, or a release before the last member has entered. */
static void counting(void)
{
    every_size(1, 0);
}

/* Catches: records that a member reads in the slot of its node's first and that a faster one has overwritten. */
static void gathered(void)
{
    every_size(0, 1);
    every_size(1, 1);
}

/* Catches: a block that does not reach a node, comes too late, or lands on one that has not been sent on; a member that leaves
 * before all nodes have entered. */
static void nodes(void)
{
    for (int n = 2; n <= MOST; n++)
        for (int local = 1; local < n; local++)
            run(n, place(n, local, local % 2), 0, 1);
}

int main(void)
{
    shi_world.shm.region = &whole;
    slots = aligned_alloc(SHI_LINE_BYTES, MOST * SLOT_BYTES);
    heaps = calloc(MOST, HEAP_BYTES);
    shi_wait_set(SHI_WAIT_MODE_AUTO, 0, 1, 0); /* more threads than cores: yield at once */
    RUN(dissemination, "1 to 9 members, more cores than members");
    RUN(counting, "1 to 9 members, fewer cores than members");
    RUN(gathered, "1 to 9 members, records gathered by the first");
    RUN(nodes, "2 to 9 members on 2 to 9 nodes");
    return tap_end();
}
