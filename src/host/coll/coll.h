/*
 * coll.h - collectives of a team.
 *
 * The specification requires dest to be ready on every member before any member calls, and source to be ready on the caller.
 * So a member copies its source straight into the others' dest and then sets one word to notify them. Only a member that
 * reads another's source (long broadcasts, long reductions) first waits until the other has called. Between nodes the
 * data crosses the network once for each node whose members all need it.
 */
#ifndef SHI_COLL_H
#define SHI_COLL_H

#include "host/coll/rules.h"
#include "host/coll/team.h"
#include "host/ops/address.h"

/* dest and source as the program gave them; lengths in bytes unless named otherwise. `with_root`: store into root's dest,
 * too. */
void shi_coll_broadcast(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes,
                        int root, int with_root);
void shi_coll_collect(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes);
void shi_coll_fcollect(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes);
void shi_coll_alltoall(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t bytes);

/* nelems elements of elem bytes for each member, with strides dst and sst in elements. */
void shi_coll_alltoalls(const char *routine, struct shmem_team *t, void *dest, const void *source, ptrdiff_t dst,
                        ptrdiff_t sst, size_t nelems, size_t elem);

/* The schedule of a collective of so many bytes; `without` as in struct shi_schedule_facts. */
static inline enum shi_schedule shi_coll_choose(const struct shmem_team *t, enum shi_collective of, size_t bytes, unsigned without)
{
    int n;
    const struct shi_rule *given = shi_rules_given(&n);
    return shi_schedule_choose(of, &(const struct shi_schedule_facts){t->n_nodes, t->most_local, bytes, without}, given, n);
}

/* An alltoall: `nelems` elements of `elem` bytes for each member, in strides dst and sst of elements. elem: a power of two, at
 * most a line. */
struct shi_all_to_all {
    void *dest;
    const void *source;
    ptrdiff_t dst, sst;
    size_t nelems, elem;
};

/* Schedules of alltoalls of a team on several nodes: host/coll/index.c and by_nodes.c. fits: does the schedule serve such a team and
 * such blocks? The same on all members. The others carry it out; collective over the team. */
int shi_coll_index_fits(const struct shmem_team *t, const struct shi_all_to_all *a);
void shi_coll_index(struct shmem_team *t, const struct shi_all_to_all *a);
int shi_coll_by_nodes_fits(const struct shmem_team *t, const struct shi_all_to_all *a);

/* by_nodes.c, in a job of n_pes: bytes of a place for another node's message, of a PE whose node has so many members. */
static inline size_t shi_coll_place_bytes(int n_pes, int nodes, int members)
{
    size_t room = shi_team_half_bytes(n_pes) - SHI_LANDING_BYTES;
    return room / (size_t)((nodes + members - 1) / members) / SHI_LINE_BYTES * SHI_LINE_BYTES;
}
void shi_coll_by_nodes(struct shmem_team *t, const struct shi_all_to_all *a);

/* An operator on one type: acc[i] = acc[i] op in[i]. */
typedef void shi_combine(void *acc, const void *in, size_t n);

struct shi_reduction {
    shi_combine *combine;
    size_t elem;
    int ordered; /* the order of combination changes bits of the result, as with floating point; 0: it does not */
};

/* Which elements are combined with which depends on the number of members alone (tree.h), if all members are on one node, or each node
 * has the same power of two of neighbouring members, or SHMEM_REPRODUCIBLE is 1; else also on the members of each node. All members compute
 * an element in this order, or one member computes it for all, so all get the same bits. */
void shi_coll_reduce(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n,
                     const struct shi_reduction *r);

/* Check dest and source of a reduction or a prefix sum of n elements; collective over the team. */
void shi_coll_check_elements(const char *routine, struct shmem_team *t, const void *dest, const void *source, size_t n, size_t elem);

/* Prefix sums over the members; an exclusive one gives member 0 zeros. */
void shi_coll_scan(const char *routine, struct shmem_team *t, void *dest, const void *source, size_t n,
                   const struct shi_reduction *r, int exclusive);

/* The address, at a member on this node, of a symmetric one, checked by the caller; NULL for a remote member, except for
 * constants. For shi_coll_copy: it may be device memory that the host cannot access. */
void *shi_coll_at(const struct shmem_team *t, const void *addr, int pe);

/* Copy between such addresses, or addresses of this process. */
void shi_coll_copy(void *to, const void *from, size_t bytes);

/* The same of a part of a transfer in which all PEs of the node read and write `of` bytes in total. put_part: to any member. */
void shi_coll_copy_part(void *to, const void *from, size_t bytes, size_t of);
void shi_coll_put_part(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe, size_t of);

/* The address of symmetric memory of a remote member. */
struct shi_remote_addr shi_coll_remote(const struct shmem_team *t, const void *addr, size_t bytes, int pe);

/* Copy to or from a member's symmetric memory, on this node or another; shi_coll_local completes the copies to and from
 * remote members. */
void shi_coll_put(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe);
void shi_coll_get(const struct shmem_team *t, void *dest, const void *source, size_t bytes, int pe);
void shi_coll_local(const struct shmem_team *t);

/* Die unless the team is valid and [addr, + bytes) is symmetric. Sets the team's routine, for reports. */
void shi_coll_check(const char *routine, struct shmem_team *t, enum shi_use use, const char *arg, const void *addr,
                    size_t bytes);

/* SHMEM_CHECK=1: die when source and dest of a collective share memory. */
void shi_coll_check_apart(const char *routine, const void *dest, size_t dest_bytes, const void *source, size_t bytes);

/* All three checks of dest and source, which are the same address or apart. */
void shi_coll_check_both(const char *routine, struct shmem_team *t, const void *dest, size_t dest_bytes, const void *source, size_t bytes);

/* Die unless root is a member. */
void shi_coll_check_root(const char *routine, const struct shmem_team *t, int root);

#endif
