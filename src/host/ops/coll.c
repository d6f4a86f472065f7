/* coll.c - collectives that move data: broadcast, collect, fcollect, alltoall, alltoalls. */
#include "host/ops/coll.h"

#include <stdint.h>
#include <string.h>

#include "host/ops/rma.h"
#include "host/util/log.h"

enum { PULL_BYTES = 8192 }; /* broadcasts from here on are read by the members side by side */

void shi_coll_check(const char *routine, const struct shmem_team *t, const char *arg, const void *addr, size_t bytes)
{
    shi_need_up(routine);
    if (!t)
        shi_die(routine, "team is SHMEM_TEAM_INVALID");
    if (bytes && !shi_reach(&t->peer[t->me], addr, bytes))
        shi_miss(routine, SHI_CTX_DEFAULT, arg, addr, bytes, shi_world.pe);
}

void *shi_coll_at(const struct shmem_team *t, const void *addr, int pe)
{
    return shi_reach(&t->peer[pe], addr, 1);
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (to != from)
        shi_copy(to, from, bytes);
}

/* ---- broadcast ---------------------------------------------------------------------------------------------------- */

static void broadcast_push(struct shmem_team *t, void *dest, const void *source, size_t bytes, int with_root,
                           uint64_t epoch)
{
    for (int i = 0; i < t->n; i++) {
        if (i == t->me)
            continue;
        shi_copy(shi_coll_at(t, dest, i), source, bytes);
        shi_team_tell(t, i, epoch);
    }
    if (with_root)
        copy(dest, source, bytes);
}

/* Members read the root's source at the same time; the root keeps it until all have. */
static void broadcast_pull(struct shmem_team *t, void *dest, const void *source, size_t bytes, int root, int with_root,
                           uint64_t epoch)
{
    if (t->me == root) {
        shi_team_tell_all(t, epoch);
        if (with_root)
            copy(dest, source, bytes);
        shi_team_hear_all(t, epoch);
    } else {
        shi_team_hear(t, root, epoch);
        memcpy(dest, shi_coll_at(t, source, root), bytes);
        shi_team_tell(t, root, epoch);
    }
}

void shi_coll_broadcast(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes,
                        int root, int with_root)
{
    shi_coll_check(routine, t, "dest", dest, bytes);
    shi_coll_check(routine, t, "source", source, bytes);
    if (root < 0 || root >= t->n)
        shi_die(routine, "PE_root = %d: not a PE of the team, which has PEs 0 to %d", root, t->n - 1);
    uint64_t epoch = ++t->epoch;
    if (bytes == 0)
        return;
    if (bytes >= PULL_BYTES)
        broadcast_pull(t, dest, source, bytes, root, with_root, epoch);
    else if (t->me == root)
        broadcast_push(t, dest, source, bytes, with_root, epoch);
    else
        shi_team_hear(t, root, epoch);
}

/* ---- everybody to everybody --------------------------------------------------------------------------------------- */

/* Store my `bytes` at offset `off` of every member's dest, then tell and hear all. */
static void store_everywhere(struct shmem_team *t, void *dest, size_t off, const void *source, size_t bytes)
{
    uint64_t epoch = ++t->epoch;
    for (int k = 0; k < t->n && bytes; k++) {
        int i = t->me + k < t->n ? t->me + k : t->me + k - t->n;
        copy((char *)shi_coll_at(t, dest, i) + off, source, bytes);
    }
    shi_team_tell_all(t, epoch);
    shi_team_hear_all(t, epoch);
}

void shi_coll_fcollect(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes)
{
    shi_coll_check(routine, t, "source", source, bytes);
    shi_coll_check(routine, t, "dest", dest, shi_bytes(bytes, (size_t)t->n));
    store_everywhere(t, dest, bytes * (size_t)t->me, source, bytes);
}

void shi_coll_collect(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes)
{
    shi_coll_check(routine, t, "source", source, bytes);
    shi_team_exchange(t, &bytes, sizeof bytes);
    size_t before = 0, all = 0;
    for (int i = 0; i < t->n; i++) {
        size_t his = *(const size_t *)shi_team_box(t, t->me, i);
        before += i < t->me ? his : 0;
        all += his;
    }
    shi_coll_check(routine, t, "dest", dest, all);
    store_everywhere(t, dest, before, source, bytes);
}

void shi_coll_alltoall(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes)
{
    shi_coll_check(routine, t, "dest", dest, shi_bytes(bytes, t ? (size_t)t->n : 0));
    shi_coll_check(routine, t, "source", source, shi_bytes(bytes, (size_t)t->n));
    uint64_t epoch = ++t->epoch;
    for (int k = 0; k < t->n && bytes; k++) {
        int i = t->me + k < t->n ? t->me + k : t->me + k - t->n;
        copy((char *)shi_coll_at(t, dest, i) + bytes * (size_t)t->me, (const char *)source + bytes * (size_t)i, bytes);
    }
    shi_team_tell_all(t, epoch);
    shi_team_hear_all(t, epoch);
}

void shi_coll_alltoalls(const char *routine, struct shmem_team *t, void *dest, const void *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t nelems, size_t elem)
{
    shi_coll_check(routine, t, "dest", dest, 0);
    if (nelems && (dst < 1 || sst < 1))
        shi_die(routine, "strides dst = %td and sst = %td must be at least 1", dst, sst);
    size_t last = nelems ? shi_bytes(nelems, (size_t)t->n) - 1 : 0;
    shi_coll_check(routine, t, "dest", dest, nelems ? shi_bytes(shi_bytes(last, (size_t)dst) + 1, elem) : 0);
    shi_coll_check(routine, t, "source", source, nelems ? shi_bytes(shi_bytes(last, (size_t)sst) + 1, elem) : 0);
    uint64_t epoch = ++t->epoch;
    size_t to_me = nelems * elem * (size_t)t->me * (size_t)dst, from_him = nelems * elem * (size_t)sst;
    const struct shi_strided s = {dst, sst, 1, nelems, elem};
    for (int k = 0; k < t->n && nelems; k++) {
        int i = t->me + k < t->n ? t->me + k : t->me + k - t->n;
        shi_copy_strided((char *)shi_coll_at(t, dest, i) + to_me, (const char *)source + from_him * (size_t)i, &s);
    }
    shi_team_tell_all(t, epoch);
    shi_team_hear_all(t, epoch);
}
