/* wrap_init.c - start and end of the job, and the symmetric heap, whose routines are barriers. */
#include "race/node.h"
#include "race/object.h"
#include "race/page.h"
#include "race/report.h"
#include "race/wrap.h"

static void up(void)
{
    if (race_running || race_node.shared)
        return;
    race_node_up();
    race_report_up();
    race_page_up();
    race_stream_up();
    pshmem_barrier_all();
    race_running = 1;
    race_thread_attach();
}

RACE_WRAP(void, shmem_init, (void))
{
    pshmem_init();
    up();
}

RACE_WRAP(int, shmem_init_thread, (int requested, int *provided))
{
    int error = pshmem_init_thread(requested, provided);
    if (!error)
        up();
    return error;
}

RACE_WRAP(void, start_pes, (int npes))
{
    pstart_pes(npes);
    up();
}

/* Functions of GPCs run while their PE waits for the others here, so these are checked until all have come. */
static void down(void)
{
    if (race_running)
        pshmem_barrier_all();
    race_running = 0;
    race_thread = NULL;
}

RACE_WRAP(void, shmem_finalize, (void))
{
    down();
    pshmem_finalize();
}

RACE_WRAP(void *, shmem_ptr, (const void *dest, int pe))
{
    void *at = pshmem_ptr(dest, pe);
    if (at && race_self())
        race_page_visible(pe);
    return at;
}

RACE_WRAP(void *, shmem_team_ptr, (shmem_team_t team, const void *dest, int pe))
{
    void *at = pshmem_team_ptr(team, dest, pe);
    if (at && race_self())
        race_page_visible(pshmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD));
    return at;
}

/* ---- the heap ------------------------------------------------------------------------------------------------------------ */

/* The call is a barrier if it has an effect, which it has in all PEs or in none. */
#define BARRIER(EFFECT) race_op_barrier(&op, (EFFECT) ? SHMEM_TEAM_WORLD : SHMEM_TEAM_INVALID)

#define ALLOCATE(CALL, BYTES)                                                                                        \
    {                                                                                                                \
        RACE_OP(SHMEM_CTX_DEFAULT, 0);                                                                               \
        struct race_group *g = BARRIER((BYTES) > 0);                                                                 \
        void *block = CALL;                                                                                          \
        race_op_barrier_end(&op, g);                                                                                 \
        if (g)                                                                                                       \
            race_object_allocated(block, BYTES, op.pc, op.routine);                                                  \
        return block;                                                                                                \
    }
#define FREE(CALL)                                                                                                   \
    {                                                                                                                \
        RACE_OP(SHMEM_CTX_DEFAULT, 0);                                                                               \
        struct race_group *g = BARRIER(ptr != NULL);                                                                 \
        race_object_freed(ptr);                                                                                      \
        CALL;                                                                                                        \
        race_op_barrier_end(&op, g);                                                                                 \
    }
#define REALLOCATE(CALL)                                                                                             \
    {                                                                                                                \
        RACE_OP(SHMEM_CTX_DEFAULT, 0);                                                                               \
        struct race_group *g = BARRIER(ptr || size);                                                                 \
        race_object_freed(ptr);                                                                                      \
        void *block = CALL;                                                                                          \
        race_op_barrier_end(&op, g);                                                                                 \
        if (g)                                                                                                       \
            race_object_allocated(block, size, op.pc, op.routine);                                                   \
        return block;                                                                                                \
    }

/* clang-format off */
RACE_WRAP(void *, shmem_malloc, (size_t size)) ALLOCATE(pshmem_malloc(size), size)
RACE_WRAP(void *, shmem_calloc, (size_t count, size_t size)) ALLOCATE(pshmem_calloc(count, size), count * size)
RACE_WRAP(void *, shmem_align, (size_t alignment, size_t size)) ALLOCATE(pshmem_align(alignment, size), size)
RACE_WRAP(void *, shmem_malloc_with_hints, (size_t size, long hints)) ALLOCATE(pshmem_malloc_with_hints(size, hints), size)
RACE_WRAP(void *, shmem_realloc, (void *ptr, size_t size)) REALLOCATE(pshmem_realloc(ptr, size))
RACE_WRAP(void, shmem_free, (void *ptr)) FREE(pshmem_free(ptr))
RACE_WRAP(void *, shmalloc, (size_t size)) ALLOCATE(pshmalloc(size), size)
RACE_WRAP(void *, shmemalign, (size_t alignment, size_t size)) ALLOCATE(pshmemalign(alignment, size), size)
RACE_WRAP(void *, shrealloc, (void *ptr, size_t size)) REALLOCATE(pshrealloc(ptr, size))
RACE_WRAP(void, shfree, (void *ptr)) FREE(pshfree(ptr))
/* clang-format on */
