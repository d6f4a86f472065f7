/* wrap_device.c - the device symmetric heap, whose routines are barriers as those of the heap are. libfulmar has no second name of them. */
#include <dlfcn.h>
#include <shmemx.h>

#include "race/object.h"
#include "race/page.h"
#include "race/wrap.h"

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* The call is a barrier if it has an effect. */
static struct race_group *before(const struct race_op *op, int effect)
{
    return race_op_barrier(op, effect ? SHMEM_TEAM_WORLD : SHMEM_TEAM_INVALID);
}

static void *after(const struct race_op *op, struct race_group *g, void *block, size_t bytes)
{
    if (!g)
        return block;
    if (block && !race_node.bytes[RACE_DEVICE]) {
        race_node_device((uintptr_t)block);
        race_page_segment_up(RACE_DEVICE);
    }
    race_op_barrier_end(op, g);
    race_object_allocated(block, bytes, op->pc, op->routine);
    return block;
}

#define ALLOCATE(NAME, PARAMS, ARGUMENTS, BYTES)                                                                     \
    RACE_WRAP(void *, NAME, PARAMS)                                                                                  \
    {                                                                                                                \
        RACE_OP(SHMEM_CTX_DEFAULT, 0);                                                                               \
        struct race_group *g = before(&op, (BYTES) > 0);                                                             \
        void *block = ((void *(*)PARAMS)real(#NAME))ARGUMENTS;                                                       \
        return after(&op, g, block, BYTES);                                                                          \
    }
ALLOCATE(shmemg_malloc, (size_t size), (size), size)
ALLOCATE(shmemg_calloc, (size_t count, size_t size), (count, size), count *size)
ALLOCATE(shmemg_align, (size_t alignment, size_t size), (alignment, size), size)

RACE_WRAP(void, shmemg_free, (void *ptr))
{
    RACE_OP(SHMEM_CTX_DEFAULT, 0);
    struct race_group *g = before(&op, ptr != NULL);
    race_object_freed(ptr);
    ((void (*)(void *))real("shmemg_free"))(ptr);
    race_op_barrier_end(&op, g);
}
