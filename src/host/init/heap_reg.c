/* heap_reg.c - register the symmetric heap with networks that pin memory, as far as it is allocated. */
#include "host/init/heap_reg.h"

#include <stdint.h>

#include "host/coll/team.h"
#include "host/net/stream/stream.h"
#include "host/policy/limits.h"
#include "host/util/log.h"
#include "host/util/memory.h"

/* What each PE sends to the others: its last registration. */
struct offer {
    struct shi_net_memory memory;
    size_t bytes;
    int err;
};
static struct offer own;
_Static_assert(sizeof(struct offer) <= SHI_EXCHANGE_BYTES, "one exchange suffices");

void shi_heap_reg_up(void)
{
    if (!shi_world.lane || !shi_stream_pins())
        shi_world.heap_reach = shi_world.heap_bytes;
}

size_t shi_heap_reg_pinned(void)
{
    return own.bytes;
}

/* How much to register where at least `bytes` are needed: twice as much as before, so that few registrations follow, unless
 * that takes more than half of the memory that is left. */
static size_t generous(size_t bytes)
{
    size_t all = shi_world.heap_bytes, step = own.bytes < SHI_PIN_STEP ? SHI_PIN_STEP : own.bytes;
    size_t most = all - own.bytes < step ? all : own.bytes + step;
    if (shi_world.config.prefault)
        return all;
    most = most < bytes ? bytes : most;
    return shi_memory_room("") / 2 / (size_t)shi_world.shm.n < most - own.bytes ? bytes : most;
}

/* Register the first `bytes`. 0, or an error that is not logged. */
static int grow(size_t bytes)
{
    size_t had = shi_world.config.prefault ? bytes : own.bytes;
    own.err = shi_stream_grow(SHI_REGION_HEAP, had, bytes, &own.memory);
    if (own.err) {
        shi_shm_drop_heap(&shi_world.shm, own.bytes, shi_world.heap_bytes);
        return own.err;
    }
    own.bytes = bytes;
    shi_log_debug("the network pins %zu of the symmetric heap's %zu bytes", bytes, shi_world.heap_bytes);
    return 0;
}

/* Register at least the first `bytes`, unless an earlier call has, where a peer failed. */
static void grow_for(size_t bytes)
{
    size_t least = shi_round_up(bytes, SHI_HUGE_BYTES);
    least = least < shi_world.heap_bytes ? least : shi_world.heap_bytes;
    own.err = 0;
    if (least <= own.bytes)
        return;
    size_t most = generous(least);
    if (grow(most) && (most == least || grow(least)))
        shi_stream_cannot_register(SHI_REGION_HEAP, least, own.err);
}

int shi_heap_reg_reach(const char *routine, size_t bytes)
{
    if (bytes <= shi_world.heap_reach)
        return 0;
    struct shmem_team *world = &shi_team_world;
    size_t reach = SIZE_MAX;
    grow_for(bytes);
    world->routine = routine;
    shi_team_exchange(world, &own, sizeof own);
    for (int i = 0; i < world->n; i++) {
        const struct offer *o = shi_team_buffer(world, world->me, i);
        if (o->err)
            return o->err;
        reach = o->bytes < reach ? o->bytes : reach;
    }
    for (int i = 0; i < world->n; i++) {
        const struct offer *o = shi_team_buffer(world, world->me, i);
        shi_stream_learn(i, SHI_REGION_HEAP, &o->memory);
    }
    __atomic_store_n(&shi_world.heap_reach, reach, __ATOMIC_RELAXED);
    return 0;
}
