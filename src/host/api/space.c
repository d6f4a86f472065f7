/*
 * space.c - entry points of spaces: symmetric heaps of a kind, of the PEs of a team, in memory that host/init/adding.h makes symmetric.
 *
 * A handle is the number of the space, counted in this process, and its index in the table of host/ops/added.h, so that a handle of a
 * space that has ended is never that of a later one.
 */
#include "host/api/def.h"

#include <errno.h>
#include <pthread.h>
#include <shmemx_memory.h>
#include <stdlib.h>
#include <string.h>

#include "host/coll/agree.h"
#include "host/coll/team.h"
#include "host/init/adding.h"
#include "host/init/device_heap.h"
#include "host/ops/dheap.h"
#include "host/ops/heap.h"
#include "host/ops/span.h"
#include "host/util/cancel.h"
#include "host/util/log.h"
#include "proxy/handle.h"

enum { FLAGS = SHMEMX_SPACE_HUGE | SHMEMX_SPACE_NUMA | SHMEMX_SPACE_READ_MOSTLY };

static uint64_t last_number;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* held while the tables of kernels change */

static shmemx_space_t handle_of(const struct shi_added *a, int i)
{
    return (shmemx_space_t)(uintptr_t)(a->space->number * SHI_ADDED + (uint64_t)i);
}

/* The memory of a space; NULL for SHMEMX_SPACE_INVALID. Dies on a handle of a space that has ended, or of none. */
static const struct shi_added *memory_of(const char *routine, shmemx_space_t space, int *i)
{
    shi_need_up(routine);
    if (space == SHMEMX_SPACE_INVALID)
        return NULL;
    *i = (int)((uintptr_t)space % SHI_ADDED);
    const struct shi_added *a = shi_added_at(*i);
    if (!a->bytes || !a->space || handle_of(a, *i) != space)
        shi_die(routine, "space = %p is not a space, or has been destroyed (pe = %d)", (void *)space, shi_world.pe);
    return a;
}

/* ---- create and destroy ------------------------------------------------------------------------------------------- */

/* 0, or -errno after one line. What is wrong here may be right on other PEs: those then fail, too. */
static int check_config(const char *routine, const shmemx_space_config_t *c)
{
    if (c->memory != SHMEMX_MEMORY_HOST && c->memory != SHMEMX_MEMORY_DEVICE)
        shi_log_error("%s: memory = %d is neither SHMEMX_MEMORY_HOST nor SHMEMX_MEMORY_DEVICE", routine, c->memory);
    else if (c->flags & ~(long)FLAGS)
        shi_log_error("%s: flags = %#lx: not all are SHMEMX_SPACE_ values", routine, (unsigned long)c->flags);
    else if (c->flags && c->memory == SHMEMX_MEMORY_DEVICE)
        shi_log_error("%s: flags = %#lx: they are for memory of the host, not of the device", routine, (unsigned long)c->flags);
    else if ((c->flags & SHMEMX_SPACE_NUMA) && (c->flags & SHMEMX_SPACE_READ_MOSTLY))
        shi_log_error("%s: pages of one NUMA node (SHMEMX_SPACE_NUMA) are not pages of all (SHMEMX_SPACE_READ_MOSTLY)", routine);
    else if (c->size == 0 || c->size > PTRDIFF_MAX - SHI_HUGE_BYTES)
        shi_log_error("%s: size = %zu bytes", routine, c->size);
    else
        return 0;
    return -EINVAL;
}

/* The device heap is up, or comes up, which all PEs of the job have to do together. The same on all members. */
static int need_device(const char *routine, const struct shmem_team *t)
{
    if (shi_device_heap_adopted()) {
        shi_log_error("%s: the device heap is the program's own (shmemx_heap_create)", routine);
        return -EBUSY;
    }
    if (!shi_world.dev_lo && t->n < shi_world.n_pes) {
        shi_log_error("%s: no PE uses its device yet: call shmemg_malloc on all PEs before this call on some", routine);
        return -ENODEV;
    }
    return shi_device_heap_up();
}

/* The space's own team and memory. 0 and *i, or -errno on all members. */
static int make(const char *routine, struct shmem_team *t, const shmemx_space_config_t *c, struct shmem_team **team, int *i)
{
    int device = c->memory == SHMEMX_MEMORY_DEVICE;
    size_t page = c->flags & SHMEMX_SPACE_HUGE || device ? SHI_HUGE_BYTES : SHI_PAGE_BYTES;
    const struct shi_adding what = {.bytes = shi_round_up(c->size, page), .device = device, .allocate = 1, .flags = c->flags,
                                    .numa_node = c->numa_node};
    const struct shi_subset all = {NULL, 0, 1, t->n, &t->config, SHMEM_TEAM_NUM_CONTEXTS, team};
    int err = shi_team_split(t, &all, 1, 1);
    if (err) {
        shi_log_error("%s: no team for the space: %s", routine, strerror(-err));
        return err;
    }
    *i = shi_adding_add(routine, *team, &what);
    if (*i < 0)
        shi_team_destroy(*team);
    return *i < 0 ? *i : 0;
}

static struct shi_space *describe(const char *routine, const shmemx_space_config_t *c, size_t bytes, struct shmem_team *team)
{
    struct shi_space *s = malloc(sizeof *s);
    struct shi_heap *blocks = shi_heap_up(bytes);
    if (!s || !blocks)
        shi_die(routine, "out of memory for the record of a space");
    shi_heap_gap(blocks, shi_world.check ? SHI_HEAP_ALIGN : 0);
    *s = (struct shi_space){.blocks = blocks, .team = team, .number = __atomic_add_fetch(&last_number, 1, __ATOMIC_RELAXED),
                            .flags = c->flags, .numa_node = c->numa_node};
    return s;
}

SHI_DEF(int, shmemx_space_create, (shmem_team_t team, const shmemx_space_config_t *config, shmemx_space_t *space))
{
    SHI_UNCANCELLED;
    const char *routine = shi_log_routine(__func__);
    shi_need_up(routine);
    struct shmem_team *t = shi_team_of(routine, "team", team), *own = NULL;
    int i = -1;
    *space = SHMEMX_SPACE_INVALID;
    if (!t)
        return -EINVAL;
    SHI_AGREE(routine, t, {"memory", config->memory}, {"flags", config->flags}, {"size", (int64_t)config->size});
    SHI_SPAN(span, SHI_MEMORY, routine, NULL, SHI_TO_NONE, config->size);
    int err = check_config(routine, config);
    if (!shi_team_all(routine, t, !err))
        return err ? err : -EINVAL;
    err = config->memory == SHMEMX_MEMORY_DEVICE ? need_device(routine, t) : 0;
    if (!err)
        err = make(routine, t, config, &own, &i);
    if (err)
        return err;
    shi_added_be_space(i, describe(routine, config, shi_added_at(i)->bytes, own));
    pthread_mutex_lock(&lock);
    if (config->memory == SHMEMX_MEMORY_DEVICE && shi_handle_added(i))
        shi_die(routine, "the device has no memory for the addresses of the PEs");
    pthread_mutex_unlock(&lock);
    *space = handle_of(shi_added_at(i), i);
    shi_team_barrier(routine, own);
    return 0;
}

SHI_DEF(int, shmemx_space_destroy, (shmemx_space_t space))
{
    int i;
    SHI_UNCANCELLED;
    const struct shi_added *a = memory_of(__func__, space, &i);
    if (!a)
        return 0;
    struct shmem_team *t = a->space->team;
    SHI_SPAN(span, SHI_MEMORY, __func__, NULL, SHI_TO_NONE, 0);
    SHI_AGREE(__func__, t, {"space's place", i});
    shi_team_quiet_barrier(__func__, t);
    pthread_mutex_lock(&lock);
    if (a->device)
        shi_handle_removed(i);
    pthread_mutex_unlock(&lock);
    int err = shi_adding_remove(__func__, t, i);
    if (!err)
        shi_team_destroy(t);
    return err;
}

/* ---- blocks ------------------------------------------------------------------------------------------------------- */

/* NULL without a barrier for 0 bytes; NULL on every PE of the space when it is full. */
static void *get(const char *routine, shmemx_space_t space, size_t bytes, size_t align, int clear)
{
    int i;
    SHI_UNCANCELLED;
    const struct shi_added *a = memory_of(routine, space, &i);
    if (!a || bytes == 0)
        return NULL;
    struct shmem_team *t = a->space->team;
    SHI_AGREE(routine, t, {"size", (int64_t)bytes}, {"alignment", (int64_t)align}, {"space's place", i});
    SHI_SPAN(span, SHI_MEMORY, routine, NULL, SHI_TO_NONE, bytes);
    size_t off;
    void *at = NULL;
    int serves = align <= SHI_PAGE_BYTES || shi_team_all(routine, t, a->lo % align == 0);
    if (!serves || shi_heap_get(a->space->blocks, bytes, align, &off))
        shi_report_full(routine, bytes, align, "space", a->space->blocks, a->bytes, "a larger size in its config");
    else
        at = (void *)(a->lo + off);
    if (at && clear && a->device)
        shi_dheap_clear(routine, at, bytes);
    else if (at && clear)
        memset(at, 0, bytes);
    shi_team_quiet_barrier(routine, t);
    return at;
}

SHI_DEF(void *, shmemx_space_malloc, (shmemx_space_t space, size_t size))
{
    return get(__func__, space, size, SHI_HEAP_ALIGN, 0);
}

SHI_DEF(void *, shmemx_space_calloc, (shmemx_space_t space, size_t count, size_t size))
{
    size_t bytes;
    return get(__func__, space, __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes, SHI_HEAP_ALIGN, 1);
}

SHI_DEF(void *, shmemx_space_align, (shmemx_space_t space, size_t alignment, size_t size))
{
    if (alignment == 0 || (alignment & (alignment - 1)))
        return NULL;
    return get(__func__, space, size, alignment, 0);
}

SHI_DEF(void, shmemx_space_free, (shmemx_space_t space, void *ptr))
{
    int i;
    SHI_UNCANCELLED;
    const struct shi_added *a = memory_of(__func__, space, &i);
    if (!a || !ptr)
        return;
    SHI_SPAN(span, SHI_MEMORY, __func__, NULL, SHI_TO_NONE, 0);
    size_t off = (uintptr_t)ptr - a->lo;
    if (off >= a->bytes || shi_heap_length(a->space->blocks, off) == 0)
        shi_die(__func__, "ptr = %p was not returned by an allocation from the space, or is free already (pe = %d)", ptr, shi_world.pe);
    SHI_AGREE(__func__, a->space->team, {"ptr's offset in the space", (int64_t)off}, {"space's place", i});
    shi_team_quiet_barrier(__func__, a->space->team);
    shi_heap_put(a->space->blocks, off);
}

/* ---- queries ------------------------------------------------------------------------------------------------------ */

SHI_DEF(int, shmemx_space_get_team, (shmemx_space_t space, shmem_team_t *team))
{
    int i;
    const struct shi_added *a = memory_of(__func__, space, &i);
    *team = a ? shi_team_handle(a->space->team) : SHMEM_TEAM_INVALID;
    return a ? 0 : -1;
}

SHI_DEF(int, shmemx_space_get_config, (shmemx_space_t space, shmemx_space_config_t *config))
{
    int i;
    const struct shi_added *a = memory_of(__func__, space, &i);
    if (!a)
        return -1;
    *config = (shmemx_space_config_t){.memory = a->device ? SHMEMX_MEMORY_DEVICE : SHMEMX_MEMORY_HOST, .flags = a->space->flags,
                                      .size = a->bytes, .numa_node = a->space->numa_node};
    return 0;
}

SHI_DEF(int, shmemx_get_space, (const void *ptr, shmemx_space_t *space))
{
    uint64_t off;
    shi_need_up(__func__);
    int i = shi_added_find(ptr, 1, &off);
    const struct shi_added *a = i < 0 ? NULL : shi_added_at(i);
    int is = a && a->space;
    *space = is ? handle_of(a, i) : SHMEMX_SPACE_INVALID;
    return is ? 0 : -1;
}
