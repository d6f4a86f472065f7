/* coll.c - entry points of collectives: team forms, and the deprecated ones over active sets. */
#include "host/api/def.h"

#include "host/coll/agree.h"
#include "host/coll/coll.h"
#include "host/coll/combine.h"
#include "host/ops/rma.h"
#include "host/ops/span.h"
#include "host/util/log.h"

/* ---- typed, by the table ----------------------------------------------------------------------------------------- */

#define BYTES(E) shi_bytes(nelems, E)
#define TEAM shi_team_of(__func__, "team", team)

/* A failed team carries out no collective; one that fails meanwhile returns its error, and dest is not valid. */
#define ON_TEAM(CALL, ...)                                                                                           \
    struct shmem_team *const t = TEAM;                                                                               \
    if (shi_unlikely(t && shi_team_failed(t)))                                                                       \
        return shi_team_failed(t);                                                                                   \
    CALL(__func__, t, dest, source, __VA_ARGS__);                                                                    \
    return shi_team_failed(t);
#define DO_broadcast(T, E) ON_TEAM(shi_coll_broadcast, BYTES(E), PE_root, 1)
#define DO_collect(T, E) ON_TEAM(shi_coll_collect, BYTES(E))
#define DO_fcollect(T, E) ON_TEAM(shi_coll_fcollect, BYTES(E))
#define DO_alltoall(T, E) ON_TEAM(shi_coll_alltoall, BYTES(E))
#define DO_alltoalls(T, E) ON_TEAM(shi_coll_alltoalls, dst, sst, nelems, E)

#define REDUCTION(CLASS, OP, T)                                                                                      \
    (&(const struct shi_reduction){SHI_COMBINE_##CLASS(OP, T), sizeof(T), (T)0.5 != (T)0})
#define REDUCE(CLASS, OP, T) ON_TEAM(shi_coll_reduce, nreduce, REDUCTION(CLASS, OP, T))
#define DO_and_reduce(T, E) REDUCE(BIT, and, T)
#define DO_or_reduce(T, E) REDUCE(BIT, or, T)
#define DO_xor_reduce(T, E) REDUCE(BIT, xor, T)
#define DO_max_reduce(T, E) REDUCE(MAX, max, T)
#define DO_min_reduce(T, E) REDUCE(MAX, min, T)
#define DO_sum_reduce(T, E) REDUCE(SUM, sum, T)
#define DO_prod_reduce(T, E) REDUCE(SUM, prod, T)
#define DO_sum_inscan(T, E) ON_TEAM(shi_coll_scan, nelems, REDUCTION(SUM, sum, T), 0)
#define DO_sum_exscan(T, E) ON_TEAM(shi_coll_scan, nelems, REDUCTION(SUM, sum, T), 1)

/* An active set is a team that is looked up; pWrk is not needed. */
#define SET shi_team_of_set(__func__, PE_start, logPE_stride, PE_size, pSync)
#define TO_ALL(CLASS, OP, T)                                                                                         \
    (void)pWrk;                                                                                                      \
    if (nreduce < 0)                                                                                                 \
        shi_die(__func__, "nreduce = %d is negative", nreduce);                                                      \
    shi_coll_reduce(__func__, SET, dest, source, (size_t)nreduce, REDUCTION(CLASS, OP, T));
#define DO_and_to_all(T, E) TO_ALL(BIT, and, T)
#define DO_or_to_all(T, E) TO_ALL(BIT, or, T)
#define DO_xor_to_all(T, E) TO_ALL(BIT, xor, T)
#define DO_max_to_all(T, E) TO_ALL(MAX, max, T)
#define DO_min_to_all(T, E) TO_ALL(MAX, min, T)
#define DO_sum_to_all(T, E) TO_ALL(SUM, sum, T)
#define DO_prod_to_all(T, E) TO_ALL(SUM, prod, T)
#define ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                                 \
    SHMEM_IF_##RMA(SHMEM_API_COLL(F##_C, F##_P, N, T)) SHMEM_IF_##AND(SHMEM_API_AND(F##_C, F##_P, N, T))             \
    SHMEM_IF_##MAX(SHMEM_API_MAX(F##_C, F##_P, N, T)) SHMEM_IF_##SUM(SHMEM_API_SUM(F##_C, F##_P, N, T))              \
    SHMEM_IF_##OW(SHMEM_API_OB(F##_C, F##_P, N, T)) SHMEM_IF_##OM(SHMEM_API_OM(F##_C, F##_P, N, T))                 \
    SHMEM_IF_##OS(SHMEM_API_OS(F##_C, F##_P, N, T))
SHMEM_TYPES(ROW, SHI_DEF)

/* ---- by element size --------------------------------------------------------------------------------------------- */

SHI_DEF(int, shmem_broadcastmem, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root))
{
    DO_broadcast(char, 1)
}

SHI_DEF(int, shmem_collectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))
{
    DO_collect(char, 1)
}

SHI_DEF(int, shmem_fcollectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))
{
    DO_fcollect(char, 1)
}

SHI_DEF(int, shmem_alltoallmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))
{
    DO_alltoall(char, 1)
}

SHI_DEF(int, shmem_alltoallsmem,
        (shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))
{
    DO_alltoalls(char, 1)
}

#define OLD_SIZED(Z)                                                                                                 \
    SHI_DEF(void, shmem_broadcast##Z,                                                                                \
            (void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride,             \
             int PE_size, long *pSync))                                                                              \
    {                                                                                                                \
        shi_coll_broadcast(__func__, SET, dest, source, BYTES(Z / 8), PE_root, 0);                                   \
    }                                                                                                                \
    SHI_DEF(void, shmem_collect##Z,                                                                                  \
            (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size,             \
             long *pSync))                                                                                           \
    {                                                                                                                \
        shi_coll_collect(__func__, SET, dest, source, BYTES(Z / 8));                                                 \
    }                                                                                                                \
    SHI_DEF(void, shmem_fcollect##Z,                                                                                 \
            (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size,             \
             long *pSync))                                                                                           \
    {                                                                                                                \
        shi_coll_fcollect(__func__, SET, dest, source, BYTES(Z / 8));                                                \
    }                                                                                                                \
    SHI_DEF(void, shmem_alltoall##Z,                                                                                 \
            (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size,             \
             long *pSync))                                                                                           \
    {                                                                                                                \
        shi_coll_alltoall(__func__, SET, dest, source, BYTES(Z / 8));                                                \
    }                                                                                                                \
    SHI_DEF(void, shmem_alltoalls##Z,                                                                                \
            (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start,              \
             int logPE_stride, int PE_size, long *pSync))                                                            \
    {                                                                                                                \
        shi_coll_alltoalls(__func__, SET, dest, source, dst, sst, nelems, Z / 8);                                    \
    }
OLD_SIZED(32)
OLD_SIZED(64)

/* ---- synchronisation --------------------------------------------------------------------------------------------- */

SHI_DEF(int, shmem_team_sync, (shmem_team_t team))
{
    struct shmem_team *t = TEAM;
    shi_coll_check(__func__, t, SHI_READ, "", NULL, 0);
    SHI_AGREE(__func__, t, {0});
    SHI_SPAN(span, SHI_BARRIERS, __func__, NULL, SHI_TO_NONE, 0);
    shi_team_barrier(__func__, t);
    return shi_team_failed(t);
}

SHI_DEF(void, shmem_sync, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
    struct shmem_team *t = SET;
    SHI_AGREE(__func__, t, {0});
    SHI_SPAN(span, SHI_BARRIERS, __func__, NULL, SHI_TO_NONE, 0);
    shi_team_barrier(__func__, t);
}

SHI_DEF(void, shmem_barrier, (int PE_start, int logPE_stride, int PE_size, long *pSync))
{
    struct shmem_team *t = SET;
    SHI_AGREE(__func__, t, {0});
    SHI_SPAN(span, SHI_BARRIERS, __func__, NULL, SHI_TO_NONE, 0);
    shi_team_quiet_barrier(__func__, t);
}
