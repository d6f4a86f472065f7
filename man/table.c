/*
 * table.c - preprocessed, not compiled: what the manual needs of shmem_table.h, one record after each @.
 *
 *   typed|_name|C or P|R|(PARAMS)   C: also with a context
 *   sized|name|_key|R|(PARAMS)
 *   untyped|name|R|(PARAMS)
 *   queued|_key|full name|R|(PARAMS)|generic form, if it has one    typed routines of shmemx.h
 *   name|_key|full name     every routine that the key stands for
 *   type|TYPENAME|TYPE|in_COLUMN...
 */
#include "shmemx_coll.h"

#define MAN_C(R, NAME, N, T, PARAMS) @typed|NAME|C|R|PARAMS
#define MAN_P(R, NAME, N, T, PARAMS) @typed|NAME|P|R|PARAMS
#define MAN_S(R, NAME, KEY, B, PARAMS) @sized|NAME|KEY|R|PARAMS
#define MAN_U(R, NAME, PARAMS) @untyped|NAME|R|PARAMS
#define MAN(LIST) LIST(MAN_C, MAN_P, TYPENAME, TYPE)
MAN(SHMEM_API_RMA) MAN(SHMEM_API_COLL) MAN(SHMEM_API_AMO) MAN(SHMEM_API_EXT) MAN(SHMEM_API_BIT)
MAN(SHMEM_API_WT) MAN(SHMEM_API_SYN) MAN(SHMEM_API_AND) MAN(SHMEM_API_MAX) MAN(SHMEM_API_SUM)
MAN(SHMEM_API_OA) MAN(SHMEM_API_OX) MAN(SHMEM_API_OW) MAN(SHMEM_API_OB) MAN(SHMEM_API_OM) MAN(SHMEM_API_OS)
SHMEM_API_SIZED1_(MAN_S, SIZE, ) SHMEM_API_SIZED1_(MAN_S, mem, )
SHMEM_API_STRIDED1_(MAN_S, SIZE, ) SHMEM_API_BLOCK1_(MAN_S, SIZE, )
SHMEM_FOR_EACH_UNTYPED(MAN_U) MAN_U(void, shmem_global_exit, (int status))

#define ALL_C(R, NAME, N, T, PARAMS) @name|NAME|shmem_##N##NAME @name|NAME|shmem_ctx_##N##NAME
#define ALL_P(R, NAME, N, T, PARAMS) @name|NAME|shmem_##N##NAME
#define ALL_S(R, NAME, KEY, B, PARAMS) @name|KEY|shmem_##NAME @name|KEY|shmem_ctx_##NAME
SHMEM_FOR_EACH_TYPED(ALL)
SHMEM_API_SIZED(ALL_S)
#define OLDER(R, NAME, N, T, PARAMS) @name|NAME|shmemx_##N##NAME
#define OLDER_ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, ...)                                                \
    SHMEM_IF_##RMA(SHMEM_API_BLOCK(F, , N, T)) SHMEM_IF_##SUM(SHMEM_API_SCAN(, F, N, T))
SHMEM_TYPES(OLDER_ROW, OLDER)

#define ON_QUEUE(R, NAME, N, T, PARAMS) @name|NAME##_on_queue|shmemx_##N##NAME##_on_queue
#define ON_QUEUE_ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, ...)                                             \
    SHMEM_IF_##AND(SHMEM_API_AND(, F, N, T)) SHMEM_IF_##MAX(SHMEM_API_MAX(, F, N, T))                                 \
    SHMEM_IF_##SUM(SHMEM_API_SUM(, F, N, T))
SHMEM_TYPES(ON_QUEUE_ROW, ON_QUEUE)
#define MAN_Q(R, NAME, N, T, PARAMS) @queued|NAME##_on_queue|shmemx_TYPENAME##NAME##_on_queue|R|PARAMS
SHMEM_API_AND(, MAN_Q, , TYPE) SHMEM_API_MAX(, MAN_Q, , TYPE) SHMEM_API_SUM(, MAN_Q, , TYPE)

#define MAN_NEW(R, NAME, N, T, PARAMS) @queued|NAME|shmemx_TYPENAME##NAME|R|PARAMS|shmemx##NAME
#define MAN_NB(R, NAME, N, T, PARAMS) @queued|NAME##_nb|shmemx_TYPENAME##NAME##_nb|R|(SHMEM_UNWRAP PARAMS, shmemx_req_t *req)|shmemx##NAME##_nb
#define ALL_NEW(R, NAME, N, T, PARAMS) @name|NAME|shmemx_##N##NAME
#define ALL_NB(R, NAME, N, T, PARAMS) @name|NAME##_nb|shmemx_##N##NAME##_nb
#define NEW(F, T)                                                                                                     \
    SHMEMX_API_ALLTOALLV(F, , T) SHMEMX_API_SCATTER_AND(F, , T) SHMEMX_API_SCATTER_MAX(F, , T) SHMEMX_API_SCATTER_SUM(F, , T)
NEW(MAN_NEW, TYPE) NEW(MAN_NB, TYPE) SHMEMX_API_LOC(MAN_NEW, , shmemx_TYPENAME_loc_t) SHMEMX_API_LOC(MAN_NB, , shmemx_TYPENAME_loc_t)
SHMEM_API_COLL(, MAN_NB, , TYPE) SHMEM_API_AND(, MAN_NB, , TYPE) SHMEM_API_MAX(, MAN_NB, , TYPE) SHMEM_API_SUM(, MAN_NB, , TYPE)
#define COLL_ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, ...)                                                 \
    SHMEMX_COLL_ROW_(ALL_NEW, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM)                                            \
    SHMEMX_COLL_ROW_(ALL_NB, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM)                                             \
    SHMEMX_OLDER_ROW_(ALL_NB, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM)
SHMEM_TYPES(COLL_ROW, )
#define LOC_ROW(F, N, T) SHMEMX_API_LOC(ALL_NEW, N, T) SHMEMX_API_LOC(ALL_NB, N, T)
SHMEMX_LOC_TYPES(LOC_ROW, )

#define TYPE_ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                                     \
    @type|N|T|SHMEM_IF_##RMA(in_RMA) SHMEM_IF_##AMO(in_AMO) SHMEM_IF_##EXT(in_EXT) SHMEM_IF_##BIT(in_BIT)             \
    SHMEM_IF_##WT(in_WT) SHMEM_IF_##AND(in_AND) SHMEM_IF_##MAX(in_MAX) SHMEM_IF_##SUM(in_SUM)                         \
    SHMEM_IF_##OW(in_OW) SHMEM_IF_##OM(in_OM) SHMEM_IF_##OS(in_OS)
SHMEM_TYPES(TYPE_ROW, )
