/* special.c - entry points of reductions of numbers of 16 bits, which are combined as float, and of pairs of a value and its place. */
#include "host/api/def.h"

#include <shmemx_coll.h>

#include "host/coll/combine.h"
#include "host/coll/combine_more.h"
#include "host/nbc/nbc.h"

#define TEAM shi_team_of(__func__, "team", team)

/* ---- half and bfloat16 --------------------------------------------------------------------------------------------------- */

static const struct shi_nbc_narrow half = {shi_widen_half, shi_narrow_half}, bfloat16 = {shi_widen_bfloat16, shi_narrow_bfloat16};

#define OP_sum_reduce shi_sum_f32
#define OP_prod_reduce shi_prod_f32
#define OP_max_reduce shi_max_f32
#define OP_min_reduce shi_min_f32
#define FLOAT(NAME) (&(const struct shi_reduction){OP##NAME, sizeof(float), 1})
#define DEF_HALF(R, NAME, N, T, PARAMS)                                                                              \
    SHI_DEF(R, shmemx_##N##NAME##_nb, (SHMEM_UNWRAP PARAMS, shmemx_req_t * req))                                     \
    {                                                                                                                \
        shi_nbc_reduce_narrow(__func__, TEAM, dest, source, nreduce, FLOAT(NAME), &N, req);                          \
        return 0;                                                                                                    \
    }                                                                                                                \
    SHI_DEF(R, shmemx_##N##NAME, PARAMS)                                                                             \
    {                                                                                                                \
        shmemx_req_t req;                                                                                            \
        shi_nbc_reduce_narrow(__func__, TEAM, dest, source, nreduce, FLOAT(NAME), &N, &req);                         \
        return shi_nbc_wait(__func__, &req);                                                                         \
    }
SHMEMX_API_HALF(DEF_HALF, half)
SHMEMX_API_HALF(DEF_HALF, bfloat16)

/* ---- a value and its place ------------------------------------------------------------------------------------------------ */

#define VALUE(T) __typeof__(((T *)0)->value)
#define PAIR(OP, T) (&(const struct shi_reduction){SHI_COMBINE_LOC(OP, VALUE(T)), sizeof(T), (VALUE(T))0.5 != (VALUE(T))0})
#define OP_minloc_reduce(T) PAIR(minloc, T)
#define OP_maxloc_reduce(T) PAIR(maxloc, T)
#define DEF_LOC(R, NAME, N, T, PARAMS)                                                                               \
    SHI_DEF(R, shmemx_##N##NAME##_nb, (SHMEM_UNWRAP PARAMS, shmemx_req_t * req))                                     \
    {                                                                                                                \
        shi_nbc_reduce(__func__, TEAM, dest, source, nreduce, OP##NAME(T), req);                                     \
        return 0;                                                                                                    \
    }                                                                                                                \
    SHI_DEF(R, shmemx_##N##NAME, PARAMS)                                                                             \
    {                                                                                                                \
        shi_coll_reduce(__func__, TEAM, dest, source, nreduce, OP##NAME(T));                                         \
        return 0;                                                                                                    \
    }
SHMEMX_LOC_TYPES(SHMEMX_LOC_ROUTINES_, DEF_LOC)
