/*
 * shmem.h - OpenSHMEM 1.6 for C and C++: types, constants, prototypes and, in C11, the type-generic forms.
 *
 * Prototypes and generics are emitted from shmem_table.h; the section numbers are those of the specification.
 */
#ifndef SHMEM_H
#define SHMEM_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- 6 Library constants ------------------------------------------------------------------------------------ */

#define SHMEM_MAJOR_VERSION 1
#define SHMEM_MINOR_VERSION 6
#define SHMEM_MAX_NAME_LEN 256
#define SHMEM_VENDOR_STRING "Fulmar 0.1"

enum {
    SHMEM_THREAD_SINGLE,
    SHMEM_THREAD_FUNNELED,
    SHMEM_THREAD_SERIALIZED,
    SHMEM_THREAD_MULTIPLE
};
#define SHMEM_THREAD_SINGLE SHMEM_THREAD_SINGLE
#define SHMEM_THREAD_FUNNELED SHMEM_THREAD_FUNNELED
#define SHMEM_THREAD_SERIALIZED SHMEM_THREAD_SERIALIZED
#define SHMEM_THREAD_MULTIPLE SHMEM_THREAD_MULTIPLE

#define SHMEM_CMP_EQ 1
#define SHMEM_CMP_NE 2
#define SHMEM_CMP_GT 3
#define SHMEM_CMP_GE 4
#define SHMEM_CMP_LT 5
#define SHMEM_CMP_LE 6

#define SHMEM_SIGNAL_SET 1
#define SHMEM_SIGNAL_ADD 2

#define SHMEM_CTX_SERIALIZED 1L
#define SHMEM_CTX_PRIVATE 2L
#define SHMEM_CTX_NOSTORE 4L

#define SHMEM_CTX_SESSION_BATCH 1L
#define SHMEM_CTX_SESSION_TOTAL_OPS 1L

#define SHMEM_TEAM_NUM_CONTEXTS 1L

#define SHMEM_MALLOC_ATOMICS_REMOTE 1L
#define SHMEM_MALLOC_SIGNAL_REMOTE 2L

/* Deprecated: sizes in longs of the pSync and pWrk arrays. */
#define SHMEM_SYNC_VALUE 0L
#define SHMEM_SYNC_SIZE 8
#define SHMEM_BCAST_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_BARRIER_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_COLLECT_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALL_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_ALLTOALLS_SYNC_SIZE SHMEM_SYNC_SIZE
#define SHMEM_REDUCE_MIN_WRKDATA_SIZE 1
/* Deprecated: the same with a leading underscore. */
#define _SHMEM_MAJOR_VERSION SHMEM_MAJOR_VERSION
#define _SHMEM_MINOR_VERSION SHMEM_MINOR_VERSION
#define _SHMEM_MAX_NAME_LEN SHMEM_MAX_NAME_LEN
#define _SHMEM_VENDOR_STRING SHMEM_VENDOR_STRING
#define _SHMEM_CMP_EQ SHMEM_CMP_EQ
#define _SHMEM_CMP_NE SHMEM_CMP_NE
#define _SHMEM_CMP_GT SHMEM_CMP_GT
#define _SHMEM_CMP_LE SHMEM_CMP_LE
#define _SHMEM_CMP_LT SHMEM_CMP_LT
#define _SHMEM_CMP_GE SHMEM_CMP_GE
#define _SHMEM_SYNC_VALUE SHMEM_SYNC_VALUE
#define _SHMEM_SYNC_SIZE SHMEM_SYNC_SIZE
#define _SHMEM_BCAST_SYNC_SIZE SHMEM_BCAST_SYNC_SIZE
#define _SHMEM_REDUCE_SYNC_SIZE SHMEM_REDUCE_SYNC_SIZE
#define _SHMEM_BARRIER_SYNC_SIZE SHMEM_BARRIER_SYNC_SIZE
#define _SHMEM_COLLECT_SYNC_SIZE SHMEM_COLLECT_SYNC_SIZE
#define _SHMEM_REDUCE_MIN_WRKDATA_SIZE SHMEM_REDUCE_MIN_WRKDATA_SIZE

/* ---- 7 Library handles -------------------------------------------------------------------------------------- */
#undef shmem_ctx_t /* of kernels, in CUDA C++, where shmemg.h comes before */
#undef shmem_team_t
typedef struct shmem_ctx *shmem_ctx_t;
typedef struct shmem_team *shmem_team_t;

/* Predefined handles are small numbers, not addresses, so static initialisers can use them. */
#define SHMEM_CTX_INVALID ((shmem_ctx_t)0)
#define SHMEM_CTX_DEFAULT ((shmem_ctx_t)1)
#define SHMEM_TEAM_INVALID ((shmem_team_t)0)
#define SHMEM_TEAM_WORLD ((shmem_team_t)1)
#define SHMEM_TEAM_SHARED ((shmem_team_t)2)

typedef struct {
    int num_contexts; /* contexts that will be created from the team at the same time */
} shmem_team_config_t;

typedef struct {
    size_t total_ops; /* operations expected between session_start and session_stop */
} shmem_ctx_session_config_t;

#ifdef __GNUC__
__extension__ typedef float _Complex shmem_complexf_t_;
__extension__ typedef double _Complex shmem_complexd_t_;
#else
typedef float _Complex shmem_complexf_t_;
typedef double _Complex shmem_complexd_t_;
#endif

/* ---- 9 Routines --------------------------------------------------------------------------------------------- */

#include "shmem_table.h"

#ifdef SHMEM_NO_TEAM_COLLECTIVES /* for programs for 1.4 and before that have routines of their own with these names */
#undef SHMEM_API_COLL
#undef SHMEM_API_AND
#undef SHMEM_API_MAX
#undef SHMEM_API_SUM
#define SHMEM_API_COLL(C, P, N, T)
#define SHMEM_API_AND(C, P, N, T)
#define SHMEM_API_MAX(C, P, N, T)
#define SHMEM_API_SUM(C, P, N, T)
#endif

#define SHMEM_FN(R, NAME, PARAMS) R NAME PARAMS;
SHMEM_FOR_EACH_UNTYPED(SHMEM_FN)
SHMEM_FOR_EACH_TYPED(SHMEM_EMIT)
SHMEM_API_SIZED(SHMEM_EMIT_S)
#undef SHMEM_FN

#ifdef __GNUC__
__attribute__((noreturn))
#endif
void shmem_global_exit(int status);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

/* ---- type-generic forms; SHMEM_NO_GENERICS keeps them out of the way of files that define the routines ---- */

#if !defined(SHMEM_NO_GENERICS) && defined(__cplusplus) && __cplusplus >= 201103L
#include "shmem_generic_cxx.h"
#elif !defined(SHMEM_NO_GENERICS) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#include "shmem_generic.h"
#endif

#endif
