/* alltoall.c - alltoalls of a team: which schedule between nodes, or pairwise. */
#include "host/coll/coll.h"

#include <stdint.h>

#include "host/coll/agree.h"
#include "host/ops/dheap.h"
#include "host/ops/remote.h"
#include "host/ops/rma.h"
#include "host/ops/span.h"
#include "host/policy/limits.h"
#include "host/util/log.h"

/* No member is more than some steps ahead of those that send to it, so that none is flooded. Member me - k sends in step k. */
static void keep_step(struct shmem_team *t, int k, uint64_t epoch)
{
    if (k > SHI_STEPS_AHEAD)
        shi_team_wait_notify(t, (t->me - (k - SHI_STEPS_AHEAD) + t->n) % t->n, epoch);
}

static void wait_last(struct shmem_team *t, uint64_t epoch)
{
    for (int k = t->n > SHI_STEPS_AHEAD ? t->n - SHI_STEPS_AHEAD : 1; k < t->n; k++)
        shi_team_wait_notify(t, (t->me - k + t->n) % t->n, epoch);
}

/* Carry out an alltoall by a schedule between nodes. 0: the rules choose none for it. */
static int between_nodes(struct shmem_team *t, const struct shi_all_to_all *a)
{
    if (t->n_nodes == 1)
        return 0;
    unsigned without = (shi_coll_index_fits(t, a) ? 0 : 1 << SHI_BY_INDEX) |
                       (shi_coll_by_nodes_fits(t, a) ? 0 : 1 << SHI_BY_NODES);
    enum shi_schedule way = shi_coll_choose(t, SHI_COLL_ALLTOALL, a->nelems * a->elem, without);
    if (way == SHI_BY_INDEX)
        shi_coll_index(t, a);
    else if (way == SHI_BY_NODES)
        shi_coll_by_nodes(t, a);
    return way != SHI_BY_PAIRWISE;
}

void shi_coll_alltoall(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes)
{
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, shi_bytes(bytes, t ? (size_t)t->n : 0));
    shi_coll_check(routine, t, SHI_READ, "source", source, shi_bytes(bytes, (size_t)t->n));
    shi_coll_check_apart(routine, dest, bytes * (size_t)t->n, source, bytes * (size_t)t->n);
    SHI_AGREE(routine, t, {"bytes", (int64_t)bytes});
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, bytes);
    if (between_nodes(t, &(const struct shi_all_to_all){dest, source, 1, 1, bytes, 1}))
        return;
    uint64_t epoch = ++t->epoch;
    size_t of = shi_bytes(2 * bytes * (size_t)t->n, (size_t)t->node[t->my_node].n);
    for (int k = 1; k < t->n; k++) {
        int i = t->me + k < t->n ? t->me + k : t->me + k - t->n;
        shi_coll_put_part(t, (char *)dest + bytes * (size_t)t->me, (const char *)source + bytes * (size_t)i, bytes, i, of);
        shi_team_notify(t, i, epoch);
        keep_step(t, k, epoch);
    }
    if (bytes)
        shi_coll_copy_part((char *)dest + bytes * (size_t)t->me, (const char *)source + bytes * (size_t)t->me, bytes, of);
    wait_last(t, epoch);
    shi_coll_local(t);
}

static void put_strided(const struct shmem_team *t, char *dest, const char *source, const struct shi_strided *s, int pe)
{
    if (!t->peer[pe].remote) {
        shi_dheap_copy_strided("collective", shi_coll_at(t, dest, pe), source, s);
    } else {
        struct shi_remote_addr to = shi_coll_remote(t, dest, ((s->count - 1) * (size_t)s->dst + 1) * s->elem, pe);
        shi_remote_put_strided(shi_world.lane, &to, source, s);
    }
}

/* 1: the elements of source lie in the gaps of dest. */
static int interleaved(const void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t elem)
{
    size_t every = (size_t)dst * elem, gap = ((uintptr_t)source - (uintptr_t)dest) % (every ? every : 1);
    return dst == sst && gap >= elem && gap <= every - elem;
}

void shi_coll_alltoalls(const char *routine, struct shmem_team *t, void *dest, const void *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t nelems, size_t elem)
{
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, 0);
    if (nelems && (dst < 1 || sst < 1))
        shi_die(routine, "strides dst = %td and sst = %td must be at least 1", dst, sst);
    size_t last = nelems ? shi_bytes(nelems, (size_t)t->n) - 1 : 0;
    shi_coll_check(routine, t, SHI_WRITE, "dest", dest, nelems ? shi_bytes(shi_bytes(last, (size_t)dst) + 1, elem) : 0);
    shi_coll_check(routine, t, SHI_READ, "source", source, nelems ? shi_bytes(shi_bytes(last, (size_t)sst) + 1, elem) : 0);
    if (!interleaved(dest, source, dst, sst, elem))
        shi_coll_check_apart(routine, dest, nelems ? (last * (size_t)dst + 1) * elem : 0, source,
                    nelems ? (last * (size_t)sst + 1) * elem : 0);
    SHI_AGREE(routine, t, {"nelems", (int64_t)nelems}, {"dst", dst}, {"sst", sst}, {"bytes an element", (int64_t)elem});
    SHI_SPAN(span, SHI_COLLECTIVES, routine, t, SHI_TO_ALL, nelems * elem);
    if (between_nodes(t, &(const struct shi_all_to_all){dest, source, dst, sst, nelems, elem}))
        return;
    uint64_t epoch = ++t->epoch;
    size_t to_me = nelems * elem * (size_t)t->me * (size_t)dst, from_him = nelems * elem * (size_t)sst;
    const struct shi_strided s = {dst, sst, 1, nelems, elem};
    for (int k = 1; k <= t->n; k++) {
        int i = (t->me + k) % t->n;
        if (nelems)
            put_strided(t, (char *)dest + to_me, (const char *)source + from_him * (size_t)i, &s, i);
        if (i == t->me)
            break;
        shi_team_notify(t, i, epoch);
        keep_step(t, k, epoch);
    }
    wait_last(t, epoch);
    shi_coll_local(t);
}
