/* coll.c - what collectives access of the members' memory: checks, addresses, copies. */
#include "host/coll/coll.h"

#include <stdint.h>

#include "host/ops/dheap.h"
#include "host/ops/remote.h"
#include "host/util/log.h"

void shi_coll_check(const char *routine, struct shmem_team *t, enum shi_use use, const char *arg, const void *addr,
                    size_t bytes)
{
    shi_need_up(routine);
    if (!t)
        shi_die(routine, "team is SHMEM_TEAM_INVALID");
    t->routine = routine;
    if (bytes && !shi_reach(&shi_world.peer[shi_world.pe], addr, bytes) && !shi_dheap_hides(addr, bytes))
        shi_resolve_slow(routine, SHI_CTX_DEFAULT, use, arg, addr, bytes, shi_world.pe);
    shi_check_block(routine, arg, addr, bytes, shi_world.pe);
}

void shi_coll_check_apart(const char *routine, const void *dest, size_t dest_bytes, const void *source, size_t bytes)
{
    uintptr_t d = (uintptr_t)dest, s = (uintptr_t)source;
    if (shi_unlikely(shi_world.check) && d < s + bytes && s < d + dest_bytes)
        shi_die(routine, "dest and source overlap: %p, %zu bytes, and %p, %zu bytes (pe = %d)", dest, dest_bytes, source,
                bytes, shi_world.pe);
}

void shi_coll_check_both(const char *routine, struct shmem_team *t, const void *dest, size_t dest_bytes, const void *source, size_t bytes)
{
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, dest_bytes);
    shi_coll_check(routine, t, SHI_READ, "source", source, bytes);
    if (dest != source)
        shi_coll_check_apart(routine, dest, dest_bytes, source, bytes);
}

void shi_coll_check_root(const char *routine, const struct shmem_team *t, int root)
{
    if (root < 0 || root >= t->n)
        shi_die(routine, "PE_root = %d: not a PE of the team, which has PEs 0 to %d", root, t->n - 1);
}

void *shi_coll_at(const struct shmem_team *t, const void *addr, int pe)
{
    void *device = shi_unlikely(shi_world.dev_private) ? shi_reach_device(&t->peer[pe], addr, 1) : NULL;
    return device ? device : (void *)shi_reach_read(&t->peer[pe], addr, 1);
}

void shi_coll_copy(void *to, const void *from, size_t bytes)
{
    if (to != from)
        shi_dheap_copy_any("collective", to, from, bytes);
}

/* The same of a part of a transfer, in which all PEs of the node read and write `of` bytes in total. */
void shi_coll_copy_part(void *to, const void *from, size_t bytes, size_t of)
{
    if (shi_likely(of < shi_copy_cache_bytes) || shi_world.dev_private || to == from)
        shi_coll_copy(to, from, bytes);
    else
        shi_copy_part(to, from, bytes, of);
}

struct shi_remote_addr shi_coll_remote(const struct shmem_team *t, const void *addr, size_t bytes, int pe)
{
    struct shi_remote_addr s;
    if (shi_remote_addr_of(&t->peer[pe], SHI_READ, addr, bytes, &s))
        shi_not_symmetric("collective", SHI_READ, "address", addr, bytes, pe);
    return s;
}

void shi_coll_put_part(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe, size_t of)
{
    if (!t->peer[pe].remote) {
        shi_coll_copy_part(shi_coll_at(t, dest, pe), source, bytes, of);
    } else if (bytes) {
        struct shi_remote_addr to = shi_coll_remote(t, dest, bytes, pe);
        shi_remote_put(shi_world.lane, &to, source, bytes, SHI_NBI | SHI_MORE);
    }
}

void shi_coll_put(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe)
{
    shi_coll_put_part(t, dest, source, bytes, pe, 2 * bytes);
}

void shi_coll_get(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe)
{
    const void *at = shi_coll_at(t, source, pe);
    if (at) {
        shi_coll_copy(dest, at, bytes);
    } else if (bytes) {
        struct shi_remote_addr from = shi_coll_remote(t, source, bytes, pe);
        shi_remote_get(shi_world.lane, &from, dest, bytes, SHI_NBI);
    }
}

void shi_coll_local(const struct shmem_team *t)
{
    if (t->n_nodes > 1)
        shi_remote_local(shi_world.lane);
}
