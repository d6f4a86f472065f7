/* stream.c - see stream.h. */
#include "race/stream.h"

#include <pthread.h>
#include <stdlib.h>

#include "race/clock.h"
#include "race/node.h"
#include "race/sync.h"

static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
enum { CONTEXTS = RACE_REQUESTS };
static struct race_stream stream[CONTEXTS];

/* 0: SHMEM_TEAM_WORLD's. */
static unsigned domain_of(shmem_team_t team)
{
    return team == SHMEM_TEAM_WORLD ? 0 : 1 + (unsigned)(race_group_of_team(team)->id % 15);
}

static void take(unsigned k, shmem_ctx_t ctx, shmem_team_t team, unsigned domain)
{
    struct race_stream *s = &stream[k];
    s->id = k << race_dim.bits | (unsigned)race_node.me;
    s->ctx = ctx, s->team = team, s->used = 1, s->ring = 0;
    if (!s->epoch)
        s->epoch = 1;
    race_clock_use(k);
    s->domain = domain;
}

void race_stream_up(void)
{
    take(0, SHMEM_CTX_DEFAULT, SHMEM_TEAM_WORLD, 0);
}

/* Contexts beyond the rows share the last one: a quiet of one is a quiet of all of them. */
void race_stream_create(shmem_ctx_t ctx, shmem_team_t team)
{
    unsigned domain = domain_of(team), k = 1;
    pthread_mutex_lock(&changing);
    while (k < CONTEXTS - 1 && stream[k].used)
        k++;
    take(k, ctx, team, domain);
    pthread_mutex_unlock(&changing);
}

struct race_stream *race_stream_of(shmem_ctx_t ctx)
{
    if (ctx == SHMEM_CTX_DEFAULT)
        return &stream[0];
    for (unsigned k = 1; k < CONTEXTS; k++)
        if (stream[k].used && stream[k].ctx == ctx)
            return &stream[k];
    return stream[CONTEXTS - 1].used ? &stream[CONTEXTS - 1] : &stream[0];
}

void race_stream_destroy(struct race_thread *u, shmem_ctx_t ctx)
{
    struct race_stream *s = race_stream_of(ctx);
    if (s == &stream[0])
        return;
    race_stream_quiet(u, s);
    pthread_mutex_lock(&changing);
    s->used = 0;
    pthread_mutex_unlock(&changing);
}

/* Contexts beyond the rows share the last one. */
struct race_stream *race_stream_of_kernels(uint64_t ring)
{
    pthread_mutex_lock(&changing);
    unsigned k = 1, free_row = 0;
    for (; k < CONTEXTS && !(stream[k].used && stream[k].ring == ring); k++)
        free_row = free_row || stream[k].used ? free_row : k;
    if (k == CONTEXTS) {
        k = free_row ? free_row : CONTEXTS - 1;
        take(k, SHMEM_CTX_INVALID, SHMEM_TEAM_WORLD, 0);
        stream[k].ring = ring;
    }
    pthread_mutex_unlock(&changing);
    return &stream[k];
}

void race_stream_end_kernel(struct race_clock *of)
{
    for (unsigned k = 1; k < CONTEXTS; k++)
        if (stream[k].used && stream[k].ring)
            *race_q(of, stream[k].id) = __atomic_fetch_add(&stream[k].epoch, 1, __ATOMIC_RELAXED), of->inside = 0;
}

void race_stream_fence(struct race_thread *u, struct race_stream *s)
{
    *race_f(u->clock, s->id) = __atomic_fetch_add(&s->epoch, 1, __ATOMIC_RELAXED);
    race_clock_changed(u);
}

void race_stream_quiet(struct race_thread *u, struct race_stream *s)
{
    *race_f(u->clock, s->id) = *race_q(u->clock, s->id) = __atomic_fetch_add(&s->epoch, 1, __ATOMIC_RELAXED);
    race_clock_changed(u);
}

uint32_t race_stream_mark(struct race_stream *s)
{
    return __atomic_fetch_add(&s->epoch, 1, __ATOMIC_RELAXED);
}

static void raise_to(uint32_t *word, uint32_t value)
{
    *word = *word < value ? value : *word;
}

void race_stream_complete(struct race_thread *u, unsigned id, uint32_t epoch, int pe)
{
    race_clock_changed(u);
    raise_to(race_l(u->clock, id), epoch);
    if (pe < 0) {
        raise_to(race_f(u->clock, id), epoch);
        raise_to(race_q(u->clock, id), epoch);
    } else
        race_clock_deliver(u->clock, id, (unsigned)pe, epoch);
}

/* ---- groups --------------------------------------------------------------------------------------------------------- */

enum { GROUPS = 256 };
static struct {
    shmem_team_t team; /* SHMEM_TEAM_INVALID: an active set */
    struct race_group *group;
} entry[GROUPS];
static int entries;

static struct race_group *new_group(uint64_t id, int n)
{
    struct race_group *g = calloc(1, sizeof *g + (size_t)n * sizeof *g->pe);
    if (!g)
        abort();
    g->id = id, g->n = n;
    return g;
}

static struct race_group *keep(shmem_team_t team, struct race_group *g)
{
    int i = 0;
    while (i < entries && entry[i].group)
        i++;
    if (i == GROUPS)
        i = GROUPS - 1; /* the one there is lost: its collectives begin to be counted again */
    entry[i].team = team, entry[i].group = g;
    if (i == entries)
        entries++;
    return g;
}

static struct race_group *of_team(shmem_team_t team, uint64_t id)
{
    int n = pshmem_team_n_pes(team);
    struct race_group *g = new_group(id, n < 0 ? 0 : n);
    for (int i = 0; i < g->n; i++)
        g->pe[i] = pshmem_team_translate_pe(team, i, SHMEM_TEAM_WORLD);
    return keep(team, g);
}

struct race_group *race_group_of_team(shmem_team_t team)
{
    pthread_mutex_lock(&changing);
    struct race_group *g = NULL;
    for (int i = 0; i < entries && !g; i++)
        if (entry[i].group && entry[i].team == team)
            g = entry[i].group;
    if (!g) /* a predefined one */
        g = of_team(team, race_sync_key((uintptr_t)team, 0, 1));
    pthread_mutex_unlock(&changing);
    return g;
}

/* The set with this id; under the lock. NULL: a new one of n PEs, which the caller fills. */
static struct race_group *set_with(uint64_t id, int n, struct race_group **made)
{
    for (int i = 0; i < entries; i++)
        if (entry[i].group && entry[i].team == SHMEM_TEAM_INVALID && entry[i].group->id == id)
            return entry[i].group;
    *made = keep(SHMEM_TEAM_INVALID, new_group(id, n));
    return NULL;
}

struct race_group *race_group_of_set(int start, int log_stride, int size, const void *psync)
{
    uint64_t offset = 0;
    int segment = race_node_find((uintptr_t)psync, &offset);
    uint64_t id = race_sync_key((uint64_t)start << 32 | (unsigned)size,
                                (uint64_t)log_stride << 2 | (unsigned)(segment + 1), offset);
    pthread_mutex_lock(&changing);
    struct race_group *made = NULL, *g = set_with(id, size, &made);
    for (int i = 0; made && i < size; i++)
        made->pe[i] = start + (i << log_stride);
    pthread_mutex_unlock(&changing);
    return g ? g : made;
}

void race_group_create(const int *pes, int n, shmem_team_t team)
{
    uint64_t id = 0;
    for (int i = 0; i < n; i++)
        id = race_sync_key(id, (uint64_t)pes[i], 13);
    pthread_mutex_lock(&changing);
    struct race_group *made = NULL, *g = set_with(id, n, &made);
    for (int i = 0; made && i < n; i++)
        made->pe[i] = pes[i];
    g = g ? g : made;
    of_team(team, race_sync_key(id, g->splits++, 14));
    pthread_mutex_unlock(&changing);
}

void race_group_split(shmem_team_t parent, shmem_team_t made, uint64_t parameters)
{
    struct race_group *g = race_group_of_team(parent);
    uint64_t id = race_sync_key(g->id, g->splits++, parameters);
    if (made == SHMEM_TEAM_INVALID)
        return;
    pthread_mutex_lock(&changing);
    of_team(made, id);
    pthread_mutex_unlock(&changing);
}

void race_group_forget(shmem_team_t team)
{
    pthread_mutex_lock(&changing);
    for (int i = 0; i < entries; i++)
        if (entry[i].group && entry[i].team == team && team != SHMEM_TEAM_INVALID) {
            free(entry[i].group);
            entry[i].group = NULL;
        }
    pthread_mutex_unlock(&changing);
}

/* The clock of all members, or of a root. Eight keys in turns: a member that is some collectives ahead, at most one after barriers, uses
 * others. */
static uint64_t key_of(int root, const struct race_group *g, uint32_t turn, uint64_t what)
{
    return race_sync_key(g->id, (uint64_t)(root + 1) << 3 | (turn & 7), what);
}

static void give(struct race_thread *u, const struct race_group *g, int root, uint32_t turn, uint64_t what)
{
    if (root < 0 || (root < g->n && g->pe[root] == race_node.me))
        race_sync_give(u, key_of(root, g, turn, what), NULL);
}

static void take_all(struct race_thread *u, const struct race_group *g, int root, uint32_t turn, uint64_t what)
{
    if (root < 0 || (root < g->n && g->pe[root] != race_node.me))
        race_sync_take(u, key_of(root, g, turn, what));
}

void race_group_give(struct race_thread *u, struct race_group *g, int root)
{
    give(u, g, root, g->turn, 2);
}

void race_group_take(struct race_thread *u, struct race_group *g, int root)
{
    take_all(u, g, root, g->turn++, 2);
}

void race_group_give_nb(struct race_thread *u, struct race_group *g, int root)
{
    give(u, g, root, ++g->begun, 3);
}

void race_group_take_nb(struct race_thread *u, const struct race_group *g, int root)
{
    take_all(u, g, root, g->begun, 3);
}

void race_group_give_agreed(struct race_thread *u, struct race_group *g)
{
    give(u, g, -1, g->agreed, 4);
}

void race_group_take_agreed(struct race_thread *u, struct race_group *g)
{
    take_all(u, g, -1, g->agreed++, 4);
}
