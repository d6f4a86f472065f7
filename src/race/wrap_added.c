/* wrap_added.c - memory that becomes symmetric while the job runs: the program's own, and spaces, whose routines are barriers of their team. */
#include <pthread.h>
#include <shmemx_memory.h>

#include "race/node.h"
#include "race/object.h"
#include "race/page.h"
#include "race/sync.h"
#include "race/wrap.h"

enum { MOST = RACE_ADDED_MOST };
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
static struct added {
    const void *at;       /* of the program's memory */
    shmemx_space_t space; /* or this, whose memory is known with its first block */
    shmem_team_t team;
    uint64_t key;
    int used, segment;    /* segment: -1 not known, or no room */
} added[MOST];

static struct added *new_one(struct added what)
{
    struct added *a = NULL;
    pthread_mutex_lock(&changing);
    for (int i = 0; i < MOST && !a; i++)
        if (!added[i].used)
            a = &added[i], *a = what;
    pthread_mutex_unlock(&changing);
    return a;
}

static struct added *find(const void *at, shmemx_space_t space)
{
    struct added *a = NULL;
    pthread_mutex_lock(&changing);
    for (int i = 0; i < MOST && !a; i++)
        if (added[i].used && added[i].at == at && added[i].space == space)
            a = &added[i];
    pthread_mutex_unlock(&changing);
    return a;
}

static void up(struct added *a, uintptr_t lo, size_t bytes)
{
    a->segment = race_node_add(a->key, lo, bytes);
    if (a->segment >= 0)
        race_page_segment_up(a->segment);
}

static void down(struct added *a)
{
    if (a->segment >= 0) {
        race_object_gone(race_node.lo[a->segment], race_node.bytes[a->segment]);
        race_page_segment_down(a->segment);
        race_node_remove(a->segment);
    }
    pthread_mutex_lock(&changing);
    a->used = 0;
    pthread_mutex_unlock(&changing);
}

/* ---- the program's memory --------------------------------------------------------------------------------------------------- */

RACE_WRAP(int, shmemx_symmetric_add, (void *addr, size_t bytes, int memory))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    struct race_group *g = race_op_barrier(&op, SHMEM_TEAM_WORLD);
    int error = pshmemx_symmetric_add(addr, bytes, memory);
    race_op_barrier_end(&op, g);
    uint64_t key = g ? race_sync_key(g->id, g->splits++, 15) : 0;
    struct added *a = g && !error ? new_one((struct added){.at = addr, .key = key, .used = 1, .segment = -1}) : NULL;
    if (a) {
        up(a, (uintptr_t)addr, bytes);
        race_object_allocated(addr, bytes, op.pc, op.routine);
    }
    return error;
}

RACE_WRAP(int, shmemx_symmetric_remove, (void *addr))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    struct race_group *g = race_op_barrier(&op, SHMEM_TEAM_WORLD);
    int error = pshmemx_symmetric_remove(addr);
    race_op_barrier_end(&op, g);
    struct added *a = g && !error ? find(addr, SHMEMX_SPACE_INVALID) : NULL;
    if (a)
        down(a);
    return error;
}

/* ---- spaces ----------------------------------------------------------------------------------------------------------------- */

RACE_WRAP(int, shmemx_space_create, (shmem_team_t team, const shmemx_space_config_t *config, shmemx_space_t *space))
{
    struct race_thread *u = race_self();
    int error = pshmemx_space_create(team, config, space);
    shmem_team_t own;
    if (!u || error || pshmemx_space_get_team(*space, &own))
        return error;
    race_group_split(team, own, 16);
    new_one((struct added){.space = *space, .team = own, .key = race_sync_key(race_group_of_team(own)->id, 0, 17), .used = 1, .segment = -1});
    return 0;
}

RACE_WRAP(int, shmemx_space_destroy, (shmemx_space_t space))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    struct added *a = op.u ? find(NULL, space) : NULL;
    struct race_group *g = race_op_barrier(&op, a ? a->team : SHMEM_TEAM_INVALID);
    int error = pshmemx_space_destroy(space);
    race_op_barrier_end(&op, g);
    if (a) {
        race_group_forget(a->team);
        down(a);
    }
    return error;
}

/* The end of the space in the direction of `step` from an address in it. */
static uintptr_t edge(shmemx_space_t space, uintptr_t in, intptr_t step)
{
    for (; step; step /= 2) {
        shmemx_space_t of;
        while (pshmemx_get_space((void *)(in + (uintptr_t)step), &of) == 0 && of == space)
            in += (uintptr_t)step;
    }
    return in;
}

static void first_block(struct added *a, void *block)
{
    shmemx_space_config_t config;
    if (a->segment >= 0 || pshmemx_space_get_config(a->space, &config))
        return;
    intptr_t step = RACE_PAGE;
    while ((size_t)step < config.size)
        step *= 2;
    uintptr_t lo = edge(a->space, (uintptr_t)block, -step);
    up(a, lo, edge(a->space, (uintptr_t)block, step) + 1 - lo);
}

#define ALLOCATE(CALL, BYTES)                                                                                        \
    {                                                                                                                \
        RACE_OP(SHMEM_CTX_DEFAULT, 0);                                                                               \
        struct added *a = op.u ? find(NULL, space) : NULL;                                                           \
        struct race_group *g = race_op_barrier(&op, a && (BYTES) > 0 ? a->team : SHMEM_TEAM_INVALID);                \
        void *block = CALL;                                                                                          \
        race_op_barrier_end(&op, g);                                                                                 \
        if (g && block) {                                                                                            \
            first_block(a, block);                                                                                   \
            race_object_allocated(block, BYTES, op.pc, op.routine);                                                  \
        }                                                                                                            \
        return block;                                                                                                \
    }
/* clang-format off */
RACE_WRAP(void *, shmemx_space_malloc, (shmemx_space_t space, size_t size)) ALLOCATE(pshmemx_space_malloc(space, size), size)
RACE_WRAP(void *, shmemx_space_calloc, (shmemx_space_t space, size_t count, size_t size)) ALLOCATE(pshmemx_space_calloc(space, count, size), count * size)
RACE_WRAP(void *, shmemx_space_align, (shmemx_space_t space, size_t alignment, size_t size)) ALLOCATE(pshmemx_space_align(space, alignment, size), size)
/* clang-format on */

RACE_WRAP(void, shmemx_space_free, (shmemx_space_t space, void *ptr))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    struct added *a = op.u && ptr ? find(NULL, space) : NULL;
    struct race_group *g = race_op_barrier(&op, a ? a->team : SHMEM_TEAM_INVALID);
    race_object_freed(ptr);
    pshmemx_space_free(space, ptr);
    race_op_barrier_end(&op, g);
}
