/*
 * group.h - the work-items that make one call together: ranks, barriers, votes, and their tickets of the ring.
 *
 * A group is one work-item (SHI_THREAD), a sub-group (SHI_HTG, the `_htg` routines) or a work-group (SHI_TG, `_tg`).
 * All items of a group call a routine with equal arguments.
 *
 * Tickets. Where the lanes of a sub-group run in lock step (ctx->lockstep), one ticket for each lane would deadlock: a lane
 * that spins for credit blocks the lane whose slot the proxy waits for (test/model/lanes.pml, mutants 1 and 2). There the
 * converged lanes with one ring take their tickets with one fetch-add, and no lane writes before the last ticket has credit. They also do
 * so where SHI_AGGREGATE is set: this is cheap and needs no wait for diverged lanes. Otherwise each lane takes its own
 * ticket, because a wait for the others would undo their independence.
 */
#ifndef SHI_GROUP_H
#define SHI_GROUP_H

#include "device/lib/ring.h"

enum shi_group { SHI_THREAD, SHI_HTG, SHI_TG };

/* A vote of the converged lanes with the same ring: how many voted yes, and how many of them come before this lane. */
struct shi_vote {
    shi_u32 n, index;
    shi_u32 lanes; /* in the dialect's format */
};

#if defined(__OPENCL_C_VERSION__)

#pragma OPENCL EXTENSION cl_khr_subgroups : enable
enum { SHI_AGGREGATE = 0 };
SHI_FN shi_u32 shi_rank(int g)
{
    return g == SHI_THREAD ? 0 : g == SHI_HTG ? get_sub_group_local_id() : (shi_u32)get_local_linear_id();
}
SHI_FN shi_u32 shi_lanes(int g)
{
    return g == SHI_THREAD ? 1
           : g == SHI_HTG  ? get_sub_group_size()
                           : (shi_u32)(get_local_size(0) * get_local_size(1) * get_local_size(2));
}
/* Barrier: each item's earlier writes are visible to all items after it. */
SHI_FN void shi_group_barrier(int g)
{
    if (g == SHI_HTG)
        sub_group_barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, SHI_SYSTEM_);
    if (g == SHI_TG)
        work_group_barrier(CLK_GLOBAL_MEM_FENCE | CLK_LOCAL_MEM_FENCE, SHI_SYSTEM_);
}
/* Broadcast of the item of rank 0. */
SHI_FN shi_u64 shi_group_broadcast(int g, shi_u64 v)
{
    return g == SHI_THREAD ? v : g == SHI_HTG ? sub_group_broadcast(v, 0) : work_group_broadcast(v, 0, 0, 0);
}
#if defined(cl_khr_subgroup_ballot)
/* All converged lanes have this ring: shi_vote_turn is 1 for those whose ring is that of the first. */
SHI_FN struct shi_vote shi_vote(int hand, shi_u64 ring)
{
    struct shi_vote vote;
    (void)ring;
    uint4 lanes = sub_group_ballot(hand);
    vote.n = sub_group_ballot_bit_count(lanes);
    vote.index = sub_group_ballot_exclusive_scan(lanes);
    vote.lanes = 0;
    return vote;
}
SHI_FN int shi_vote_turn(shi_u64 ring)
{
    return sub_group_broadcast_first(ring) == ring;
}
/* One fetch-add for the lanes that voted yes; all of them get the old value. */
SHI_FN shi_u64 shi_vote_add(struct shi_vote vote, SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    shi_u64 before = 0;
    (void)vote;
    if (sub_group_elect())
        before = shi_add_relaxed(p, v);
    return sub_group_broadcast_first(before);
}
#define SHI_VOTES
#endif

#elif defined(__CUDACC__)

enum { SHI_AGGREGATE = 1 };
SHI_FN shi_u32 shi_rank(int g)
{
    shi_u32 lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    return g == SHI_THREAD ? 0 : g == SHI_HTG ? lane : threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}
SHI_FN shi_u32 shi_lanes(int g)
{
    shi_u32 n = blockDim.x * blockDim.y * blockDim.z, left = n - shi_rank(SHI_TG) / 32 * 32;
    return g == SHI_THREAD ? 1 : g == SHI_TG ? n : left < 32 ? left : 32;
}
SHI_FN shi_u32 shi_warp_(void)
{
    return 0xffffffffu >> (32 - shi_lanes(SHI_HTG));
}
SHI_FN void shi_group_barrier(int g)
{
    if (g == SHI_HTG)
        __syncwarp(shi_warp_());
    if (g == SHI_TG)
        __syncthreads();
}
SHI_FN shi_u64 shi_group_broadcast(int g, shi_u64 v)
{
    __shared__ shi_u64 value;
    if (g == SHI_HTG)
        return __shfl_sync(shi_warp_(), v, 0);
    if (g == SHI_THREAD)
        return v;
    if (shi_rank(g) == 0)
        value = v;
    __syncthreads();
    v = value;
    __syncthreads();
    return v;
}
/* Lanes whose rings differ vote at the same time: they may converge again at any place, so that a branch would not keep them apart. */
SHI_FN struct shi_vote shi_vote(int hand, shi_u64 ring)
{
    struct shi_vote vote;
    shi_u32 active = __activemask();
    vote.lanes = __match_any_sync(active, ring);
    shi_u32 up = __ballot_sync(active, hand) & vote.lanes;
    vote.n = __popc(up);
    vote.index = __popc(up & ((1u << shi_rank(SHI_HTG)) - 1));
    return vote;
}
SHI_FN int shi_vote_turn(shi_u64 ring)
{
    (void)ring;
    return 1;
}
SHI_FN shi_u64 shi_vote_add(struct shi_vote vote, shi_u64 *p, shi_u64 v)
{
    shi_u32 lanes = vote.lanes, first = __ffs(lanes) - 1;
    shi_u64 before = 0;
    if (shi_rank(SHI_HTG) == first)
        before = shi_add_relaxed(p, v);
    return __shfl_sync(lanes, before, first);
}
#define SHI_VOTES

#elif defined(SHI_SYCL)

#include "device/lib/sycl_group.h"

#else

/*
 * Threads act as work-items. Each sets shi_item before its calls; by default it is a group of one.
 *
 *   word     written by              read by    order
 *   arrived  every item, fetch-add   the items  R6 -> A6: an item's writes before the barrier are visible after it
 *   value    rank 0, hands           the items  plain; between two barriers
 */
enum { SHI_AGGREGATE = 0 };
struct shi_group_state {
    shi_u64 arrived, value;
};
struct shi_item {
    shi_u32 rank, n;
    struct shi_group_state *at;
};
static _Thread_local __attribute__((unused)) struct shi_item shi_item[3] = {{0, 1, 0}, {0, 1, 0}, {0, 1, 0}};
SHI_FN shi_u32 shi_rank(int g)
{
    return shi_item[g].rank;
}
SHI_FN shi_u32 shi_lanes(int g)
{
    return shi_item[g].n;
}
SHI_FN void shi_group_barrier(int g)
{
    if (shi_item[g].n < 2)
        return;
    struct shi_group_state *m = shi_item[g].at;
    shi_u64 n = shi_item[g].n, all = (__atomic_fetch_add(&m->arrived, 1, __ATOMIC_ACQ_REL) / n + 1) * n; /* R6 */
    while (__atomic_load_n(&m->arrived, __ATOMIC_ACQUIRE) < all) /* A6 */
        shi_pause();
}
SHI_FN shi_u64 shi_group_broadcast(int g, shi_u64 v)
{
    if (shi_item[g].n < 2)
        return v;
    struct shi_group_state *m = shi_item[g].at;
    if (shi_rank(g) == 0)
        m->value = v;
    shi_group_barrier(g);
    v = m->value;
    shi_group_barrier(g);
    return v;
}
/* All items of the sub-group are assumed to be converged, and to have one ring. */
SHI_FN struct shi_vote shi_vote(int hand, shi_u64 ring)
{
    (void)ring;
    struct shi_vote vote = {(shi_u32)!!hand, 0, 0};
    if (shi_item[SHI_HTG].n < 2)
        return vote;
    struct shi_group_state *m = shi_item[SHI_HTG].at;
    shi_group_broadcast(SHI_HTG, 0);
    __atomic_fetch_or(&m->value, (shi_u64)!!hand << shi_rank(SHI_HTG), __ATOMIC_RELAXED);
    shi_group_barrier(SHI_HTG);
    vote.n = (shi_u32)__builtin_popcountll(m->value);
    vote.index = (shi_u32)__builtin_popcountll(m->value & (((shi_u64)1 << shi_rank(SHI_HTG)) - 1));
    shi_group_barrier(SHI_HTG);
    return vote;
}
SHI_FN int shi_vote_turn(shi_u64 ring)
{
    (void)ring;
    return 1;
}
SHI_FN shi_u64 shi_vote_add(struct shi_vote vote, shi_u64 *p, shi_u64 v)
{
    (void)vote;
    return shi_group_broadcast(SHI_HTG, shi_rank(SHI_HTG) == 0 ? shi_add_relaxed(p, v) : 0);
}
#define SHI_VOTES

#endif

/* ---- tickets ---------------------------------------------------------------------------------------------------- */

#if defined(SHI_VOTES)
/* Post for the converged lanes of a sub-group with this ring; those with `mine` have a request. As shi_ring_post, but with one fetch-add
 * for all, and no lane writes before the last ticket has credit. A ring smaller than the group is filled in several
 * rounds. alone: there is one lane, and no other call posts at the same time. */
SHI_HOT shi_u64 shi_ring_post_equal(SHI_GLOBAL struct shi_ring *r, int alone, shi_u32 op, shi_u32 pe, const shi_u64 *arg,
                                    const struct shi_payload *p, int mine, shi_u64 *ticket)
{
    struct shi_ring_slots s = shi_ring_slots(r);
    shi_u32 epoch = shi_ring_epoch(r);
    shi_u64 aborted = 0;
    shi_u32 slots = (shi_u32)1 << s.log_n, left = 1; /* left: requests, fewer than before in each round */
    SHI_ROLLED
    while (left) {
        struct shi_vote vote = {1, 0, 0};
        if (!alone)
            vote = shi_vote(mine, (shi_u64)r);
        shi_u32 n = vote.n < slots ? vote.n : slots;
        left = vote.n - n;
        if (!n)
            break;
        shi_u64 first = alone ? shi_ring_take(r, 1, 1) : shi_vote_add(vote, &r->head, n);
        if (mine && vote.index < n) { /* for other lanes the last ticket may have completed long ago */
            *ticket = first + vote.index;
            aborted = shi_ring_wait_credit(r, alone, s.log_n, first + n - 1);
            if (!aborted)
                shi_ring_write(s, *ticket, epoch, op, pe, arg, p);
            mine = 0;
        }
    }
    return aborted;
}

/* The same for lanes whose contexts may differ: ring by ring. */
SHI_HOT shi_u64 shi_ring_post_group(SHI_GLOBAL struct shi_ring *r, int alone, shi_u32 op, shi_u32 pe, const shi_u64 *arg,
                                    const struct shi_payload *p, int mine, shi_u64 *ticket)
{
    shi_u64 aborted = 0;
    for (int left = 1; left;)
        if (shi_vote_turn((shi_u64)r)) {
            aborted = shi_ring_post_equal(r, alone, op, pe, arg, p, mine, ticket);
            left = 0;
        }
    return aborted;
}
#else
SHI_HOT shi_u64 shi_ring_post_group(SHI_GLOBAL struct shi_ring *r, int alone, shi_u32 op, shi_u32 pe, const shi_u64 *arg,
                                    const struct shi_payload *p, int mine, shi_u64 *ticket)
{
    return mine ? shi_ring_post(r, alone, op, pe, arg, p, ticket) : 0;
}
#endif

#endif
