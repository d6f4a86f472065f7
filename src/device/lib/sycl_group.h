/* sycl_group.h - groups in SYCL, see group.h. The kind of a group, not the group object, is an argument of the library. */
enum { SHI_AGGREGATE = 0 };

#if SHI_ACPP

SHI_FN shi_u32 shi_rank(int g)
{
    SHI_SPIRV_(if (g == SHI_HTG) return __acpp_sscp_get_subgroup_local_id();
               if (g == SHI_TG) return (shi_u32)(__acpp_sscp_get_local_id_x() + __acpp_sscp_get_local_size_x() *
                                                 (__acpp_sscp_get_local_id_y() + __acpp_sscp_get_local_size_y() *
                                                  __acpp_sscp_get_local_id_z())))
    return 0;
}
SHI_FN shi_u32 shi_lanes(int g)
{
    SHI_SPIRV_(if (g == SHI_HTG) return __acpp_sscp_get_subgroup_size();
               if (g == SHI_TG) return (shi_u32)(__acpp_sscp_get_local_size_x() * __acpp_sscp_get_local_size_y() *
                                                 __acpp_sscp_get_local_size_z()))
    return 1;
}
SHI_HOT void shi_group_barrier(int g)
{
    SHI_SPIRV_(if (g == SHI_HTG) __spirv_ControlBarrier(__spv::Subgroup, __spv::CrossDevice, SHI_ACQ_REL_ | SHI_OF_LOCAL_ | SHI_OF_GLOBAL_);
               if (g == SHI_TG) __spirv_ControlBarrier(__spv::Workgroup, __spv::CrossDevice, SHI_ACQ_REL_ | SHI_OF_LOCAL_ | SHI_OF_GLOBAL_))
}
SHI_HOT shi_u64 shi_group_broadcast(int g, shi_u64 v)
{
    SHI_SPIRV_(if (g == SHI_HTG) return __spirv_GroupBroadcast(__spv::Subgroup, v, 0);
               if (g == SHI_TG) return __spirv_GroupBroadcast(__spv::Workgroup, v, 0))
    return v;
}
/* All converged lanes have this ring: shi_vote_turn is 1 for those whose ring is that of the first. */
SHI_HOT struct shi_vote shi_vote(int hand, shi_u64 ring)
{
    struct shi_vote vote = {1, 0, 0};
    (void)ring;
    SHI_SPIRV_(shi_spirv_ballot_t lanes = __spirv_GroupNonUniformBallot(__spv::Subgroup, hand != 0);
               shi_u64 all = lanes.x | (shi_u64)lanes.y << 32, before = ((shi_u64)1 << shi_rank(SHI_HTG)) - 1;
               vote.n = (shi_u32)__builtin_popcountll(all);
               vote.index = (shi_u32)__builtin_popcountll(all & before))
    return vote;
}
SHI_HOT int shi_vote_turn(shi_u64 ring)
{
    SHI_SPIRV_(return __spirv_GroupNonUniformBroadcastFirst(__spv::Subgroup, ring) == ring)
    return 1;
}
SHI_HOT shi_u64 shi_vote_add(struct shi_vote vote, SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    shi_u64 before = vote.lanes;
    SHI_SPIRV_(if (__spirv_GroupNonUniformElect(__spv::Subgroup)) before = shi_add_relaxed(p, v);
               before = __spirv_GroupNonUniformBroadcastFirst(__spv::Subgroup, before))
    return before;
}
#define SHI_VOTES

#else

namespace shi_here = sycl::ext::oneapi::this_work_item;
SHI_FN shi_u32 shi_rank(int g)
{
    return g == SHI_THREAD ? 0
           : g == SHI_HTG  ? (shi_u32)shi_here::get_sub_group().get_local_linear_id()
                           : (shi_u32)shi_here::get_nd_item<3>().get_local_linear_id();
}
SHI_FN shi_u32 shi_lanes(int g)
{
    return g == SHI_THREAD ? 1
           : g == SHI_HTG  ? (shi_u32)shi_here::get_sub_group().get_local_linear_range()
                           : (shi_u32)shi_here::get_nd_item<3>().get_local_range().size();
}
SHI_FN void shi_group_barrier(int g)
{
    if (g == SHI_HTG)
        sycl::group_barrier(shi_here::get_sub_group(), sycl::memory_scope::system);
    if (g == SHI_TG)
        sycl::group_barrier(shi_here::get_work_group<3>(), sycl::memory_scope::system);
}
SHI_FN shi_u64 shi_group_broadcast(int g, shi_u64 v)
{
    return g == SHI_THREAD ? v
           : g == SHI_HTG  ? sycl::group_broadcast(shi_here::get_sub_group(), v)
                           : sycl::group_broadcast(shi_here::get_work_group<3>(), v);
}
/* As above; an opportunistic group has the converged lanes. Its function is in another namespace since oneAPI 2026.0, where it is made of fragments. */
#if __has_include(<sycl/ext/oneapi/experimental/fragment.hpp>) && !(defined(__INTEL_LLVM_COMPILER) && __INTEL_LLVM_COMPILER < 20260000)
namespace shi_lanes_here = sycl::ext::oneapi::experimental::this_work_item;
#else
namespace shi_lanes_here = sycl::ext::oneapi::experimental::this_kernel;
#endif
SHI_FN auto shi_sycl_converged(void)
{
    return shi_lanes_here::get_opportunistic_group();
}
SHI_FN struct shi_vote shi_vote(int hand, shi_u64 ring)
{
    auto lanes = shi_sycl_converged();
    (void)ring;
    return {sycl::reduce_over_group(lanes, (shi_u32)(hand != 0), sycl::plus<shi_u32>()),
            sycl::exclusive_scan_over_group(lanes, (shi_u32)(hand != 0), sycl::plus<shi_u32>()), 0};
}
SHI_FN int shi_vote_turn(shi_u64 ring)
{
    return sycl::group_broadcast(shi_sycl_converged(), ring) == ring;
}
SHI_FN shi_u64 shi_vote_add(struct shi_vote vote, SHI_GLOBAL shi_u64 *p, shi_u64 v)
{
    auto lanes = shi_sycl_converged();
    shi_u64 before = vote.lanes;
    if (lanes.leader())
        before = shi_add_relaxed(p, v);
    return sycl::group_broadcast(lanes, before);
}
#define SHI_VOTES

#endif
