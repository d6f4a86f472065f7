/* nbc.c - entry points of nonblocking collectives, and of blocking ones that are such a call and its wait. */
#include "host/api/def.h"

#include <shmemx_coll.h>

#include "host/coll/combine.h"
#include "host/nbc/nbc.h"
#include "host/ops/rma.h"

#define TEAM shi_team_of(__func__, "team", team)
#define BYTES(E) shi_bytes(nelems, E)
#define NB_broadcast(T, E) shi_nbc_broadcast(__func__, TEAM, dest, source, BYTES(E), PE_root, req);
#define NB_collect(T, E) shi_nbc_collect(__func__, TEAM, dest, source, BYTES(E), req);
#define NB_fcollect(T, E) shi_nbc_fcollect(__func__, TEAM, dest, source, BYTES(E), req);
#define NB_alltoall(T, E) shi_nbc_alltoall(__func__, TEAM, dest, source, BYTES(E), req);
#define NB_alltoalls(T, E) shi_nbc_alltoalls(__func__, TEAM, dest, source, dst, sst, nelems, E, req);
#define NB_alltoallv(T, E)                                                                                           \
    shi_nbc_alltoallv(__func__, TEAM, dest, (struct shi_nbc_vector){dst_offsets, dst_counts}, source,                \
                      (struct shi_nbc_vector){src_offsets, src_counts}, E, req);

#define OPERATOR(CLASS, OP, T)                                                                                       \
    (&(const struct shi_reduction){SHI_COMBINE_##CLASS(OP, T), sizeof(T), (T)0.5 != (T)0})
#define REDUCE(CLASS, OP, T) shi_nbc_reduce(__func__, TEAM, dest, source, nreduce, OPERATOR(CLASS, OP, T), req);
#define SCATTER(CLASS, OP, T, N, COUNTS)                                                                             \
    shi_nbc_reduce_scatter(__func__, TEAM, dest, source, N, COUNTS, OPERATOR(CLASS, OP, T), req);
#define NB_and_reduce(T, E) REDUCE(BIT, and, T)
#define NB_or_reduce(T, E) REDUCE(BIT, or, T)
#define NB_xor_reduce(T, E) REDUCE(BIT, xor, T)
#define NB_max_reduce(T, E) REDUCE(MAX, max, T)
#define NB_min_reduce(T, E) REDUCE(MAX, min, T)
#define NB_sum_reduce(T, E) REDUCE(SUM, sum, T)
#define NB_prod_reduce(T, E) REDUCE(SUM, prod, T)
#define NB_and_reducescatter(T, E) SCATTER(BIT, and, T, nreduce, NULL)
#define NB_or_reducescatter(T, E) SCATTER(BIT, or, T, nreduce, NULL)
#define NB_xor_reducescatter(T, E) SCATTER(BIT, xor, T, nreduce, NULL)
#define NB_max_reducescatter(T, E) SCATTER(MAX, max, T, nreduce, NULL)
#define NB_min_reducescatter(T, E) SCATTER(MAX, min, T, nreduce, NULL)
#define NB_sum_reducescatter(T, E) SCATTER(SUM, sum, T, nreduce, NULL)
#define NB_prod_reducescatter(T, E) SCATTER(SUM, prod, T, nreduce, NULL)
#define NB_and_reducescatterv(T, E) SCATTER(BIT, and, T, 0, counts)
#define NB_or_reducescatterv(T, E) SCATTER(BIT, or, T, 0, counts)
#define NB_xor_reducescatterv(T, E) SCATTER(BIT, xor, T, 0, counts)
#define NB_max_reducescatterv(T, E) SCATTER(MAX, max, T, 0, counts)
#define NB_min_reducescatterv(T, E) SCATTER(MAX, min, T, 0, counts)
#define NB_sum_reducescatterv(T, E) SCATTER(SUM, sum, T, 0, counts)
#define NB_prod_reducescatterv(T, E) SCATTER(SUM, prod, T, 0, counts)
#define NB_sum_inscan(T, E) shi_nbc_scan(__func__, TEAM, dest, source, nelems, OPERATOR(SUM, sum, T), 0, req);
#define NB_sum_exscan(T, E) shi_nbc_scan(__func__, TEAM, dest, source, nelems, OPERATOR(SUM, sum, T), 1, req);

/* Begin and return. */
#define DEF_NB(R, NAME, N, T, PARAMS)                                                                                \
    SHI_DEF(R, shmemx_##N##NAME##_nb, (SHMEM_UNWRAP PARAMS, shmemx_req_t * req))                                     \
    {                                                                                                                \
        NB##NAME(T, sizeof(T))                                                                                       \
        return 0;                                                                                                    \
    }
/* Begin and wait. */
#define WAITED(BEGIN)                                                                                                \
    shmemx_req_t now, *req = &now;                                                                                   \
    BEGIN                                                                                                            \
    return shi_nbc_wait(__func__, req);
#define DEF_NEW(R, NAME, N, T, PARAMS)                                                                               \
    SHI_DEF(R, shmemx_##N##NAME, PARAMS)                                                                             \
    {                                                                                                                \
        WAITED(NB##NAME(T, sizeof(T)))                                                                               \
    }
SHMEM_TYPES(SHMEMX_OLDER_ROW_, DEF_NB)
SHMEM_TYPES(SHMEMX_COLL_ROW_, DEF_NB)
SHMEM_TYPES(SHMEMX_COLL_ROW_, DEF_NEW)

/* ---- bytes, and synchronisation ------------------------------------------------------------------------------------------ */

SHI_DEF(int, shmemx_sync_nb, (shmem_team_t team, shmemx_req_t *req))
{
    shi_nbc_sync(__func__, TEAM, 0, req);
    return 0;
}

SHI_DEF(int, shmemx_barrier_nb, (shmem_team_t team, shmemx_req_t *req))
{
    shi_nbc_sync(__func__, TEAM, 1, req);
    return 0;
}

SHI_DEF(int, shmemx_broadcastmem_nb, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root, shmemx_req_t *req))
{
    NB_broadcast(char, 1)
    return 0;
}

SHI_DEF(int, shmemx_collectmem_nb, (shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *req))
{
    NB_collect(char, 1)
    return 0;
}

SHI_DEF(int, shmemx_fcollectmem_nb, (shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *req))
{
    NB_fcollect(char, 1)
    return 0;
}

SHI_DEF(int, shmemx_alltoallmem_nb, (shmem_team_t team, void *dest, const void *source, size_t nelems, shmemx_req_t *req))
{
    NB_alltoall(char, 1)
    return 0;
}

SHI_DEF(int, shmemx_alltoallsmem_nb,
        (shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, shmemx_req_t *req))
{
    NB_alltoalls(char, 1)
    return 0;
}

#define VECTOR_PARAMS                                                                                                \
    shmem_team_t team, void *dest, const size_t *dst_offsets, const size_t *dst_counts, const void *source,          \
        const size_t *src_offsets, const size_t *src_counts
SHI_DEF(int, shmemx_alltoallvmem_nb, (VECTOR_PARAMS, shmemx_req_t *req))
{
    NB_alltoallv(char, 1)
    return 0;
}

SHI_DEF(int, shmemx_alltoallvmem, (VECTOR_PARAMS))
{
    WAITED(NB_alltoallv(char, 1))
}
