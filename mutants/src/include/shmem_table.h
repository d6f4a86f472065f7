/*
 * shmem_table.h - the single list of OpenSHMEM types and routines.
 *
 * Everything typed is emitted from here with the plain C preprocessor: prototypes, C11 generics, pshmem_ names,
 * bodies, tests. Source: OpenSHMEM 1.6, sections 9.3 to 9.12 and the deprecated interfaces of Annex F.
 *
 * An emitter takes (R, NAME, N, T, PARAMS): result, name with a leading underscore, TYPENAME, TYPE, parameters.
 * The underscore keeps names such as `and` and `or` (C++ operators, <iso646.h> macros) out of the token stream.
 * C emits a routine that also has a shmem_ctx_ form, P one without.
 */
#ifndef SHMEM_TABLE_H
#define SHMEM_TABLE_H

#define SHMEM_IF_0(...)
#define SHMEM_IF_1(...) __VA_ARGS__
#define SHMEM_UNWRAP(...) __VA_ARGS__

/*
 * One row per type; a 1 puts the type in that class.
 *   RMA put, get, ...          AMO add, inc, compare_swap   EXT fetch, set, swap
 *   BIT atomic and, or, xor    WT  wait_until, test, all, any, some   AND and, or, xor reduce
 *   MAX min, max reduce        SUM sum, prod, scans
 *   deprecated: OW shmem_T_wait, and, or, xor_to_all   OM min, max_to_all   OS sum, prod_to_all
 *   GEN the base types, which a _Generic may list without naming one type twice
 */
#define SHMEM_TYPES(X, F)                                                                           \
    /*   NAME        TYPE                RMA AMO EXT BIT WT AND MAX SUM OW OM OS GEN */             \
    X(F, float,      float,               1,  0,  1,  0, 0,  0,  1,  1, 0, 1, 1, 1)                 \
    X(F, double,     double,              1,  0,  1,  0, 0,  0,  1,  1, 0, 1, 1, 1)                 \
    X(F, longdouble, long double,         1,  0,  0,  0, 0,  0,  1,  1, 0, 1, 1, 1)                 \
    X(F, char,       char,                1,  0,  0,  0, 0,  0,  1,  1, 0, 0, 0, 1)                 \
    X(F, schar,      signed char,         1,  0,  0,  0, 0,  0,  1,  1, 0, 0, 0, 1)                 \
    X(F, short,      short,               1,  0,  0,  0, 1,  0,  1,  1, 1, 1, 1, 1)                 \
    X(F, int,        int,                 1,  1,  1,  0, 1,  0,  1,  1, 1, 1, 1, 1)                 \
    X(F, long,       long,                1,  1,  1,  0, 1,  0,  1,  1, 1, 1, 1, 1)                 \
    X(F, longlong,   long long,           1,  1,  1,  0, 1,  0,  1,  1, 1, 1, 1, 1)                 \
    X(F, uchar,      unsigned char,       1,  0,  0,  0, 0,  1,  1,  1, 0, 0, 0, 1)                 \
    X(F, ushort,     unsigned short,      1,  0,  0,  0, 1,  1,  1,  1, 0, 0, 0, 1)                 \
    X(F, uint,       unsigned int,        1,  1,  1,  1, 1,  1,  1,  1, 0, 0, 0, 1)                 \
    X(F, ulong,      unsigned long,       1,  1,  1,  1, 1,  1,  1,  1, 0, 0, 0, 1)                 \
    X(F, ulonglong,  unsigned long long,  1,  1,  1,  1, 1,  1,  1,  1, 0, 0, 0, 1)                 \
    X(F, int8,       int8_t,              1,  0,  0,  0, 0,  1,  1,  1, 0, 0, 0, 0)                 \
    X(F, int16,      int16_t,             1,  0,  0,  0, 0,  1,  1,  1, 0, 0, 0, 0)                 \
    X(F, int32,      int32_t,             1,  1,  1,  1, 1,  1,  1,  1, 0, 0, 0, 0)                 \
    X(F, int64,      int64_t,             1,  1,  1,  1, 1,  1,  1,  1, 0, 0, 0, 0)                 \
    X(F, uint8,      uint8_t,             1,  0,  0,  0, 0,  1,  1,  1, 0, 0, 0, 0)                 \
    X(F, uint16,     uint16_t,            1,  0,  0,  0, 0,  1,  1,  1, 0, 0, 0, 0)                 \
    X(F, uint32,     uint32_t,            1,  1,  1,  1, 1,  1,  1,  1, 0, 0, 0, 0)                 \
    X(F, uint64,     uint64_t,            1,  1,  1,  1, 1,  1,  1,  1, 0, 0, 0, 0)                 \
    X(F, size,       size_t,              1,  1,  1,  0, 1,  1,  1,  1, 0, 0, 0, 0)                 \
    X(F, ptrdiff,    ptrdiff_t,           1,  1,  1,  0, 1,  0,  1,  1, 0, 0, 0, 0)                 \
    X(F, complexf,   shmem_complexf_t_,   0,  0,  0,  0, 0,  0,  0,  1, 0, 0, 1, 1)                 \
    X(F, complexd,   shmem_complexd_t_,   0,  0,  0,  0, 0,  0,  0,  1, 0, 0, 1, 1)

/* ---- typed routines, one line each ------------------------------------------------------------------------- */

#define SHMEM_API_ONE(C, P, N, T)                                                                                    \
    C(void, _p, N, T, (T *dest, T value, int pe))                                                                    \
    C(T, _g, N, T, (const T *source, int pe))
#define SHMEM_API_PUTGET(C, P, N, T)                                                                                 \
    C(void, _put, N, T, (T *dest, const T *source, size_t nelems, int pe))                                           \
    C(void, _get, N, T, (T *dest, const T *source, size_t nelems, int pe))                                           \
    C(void, _put_nbi, N, T, (T *dest, const T *source, size_t nelems, int pe))                                       \
    C(void, _get_nbi, N, T, (T *dest, const T *source, size_t nelems, int pe))                                       \
    C(void, _iput, N, T, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))            \
    C(void, _iget, N, T, (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))            \
    C(void, _put_signal, N, T,                                                                                       \
      (T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))            \
    C(void, _put_signal_nbi, N, T,                                                                                   \
      (T *dest, const T *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
#define SHMEM_API_BLOCK(C, P, N, T)                                                                                  \
    C(void, _ibput, N, T,                                                                                            \
      (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))                \
    C(void, _ibget, N, T,                                                                                            \
      (T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))
#define SHMEM_API_RMA(C, P, N, T)                                                                                    \
    SHMEM_API_ONE(C, P, N, T) SHMEM_API_PUTGET(C, P, N, T) SHMEM_API_BLOCK(C, P, N, T)

#define SHMEM_API_GATHER(C, P, N, T)                                                                                 \
    P(int, _collect, N, T, (shmem_team_t team, T *dest, const T *source, size_t nelems))                             \
    P(int, _fcollect, N, T, (shmem_team_t team, T *dest, const T *source, size_t nelems))                            \
    P(int, _alltoall, N, T, (shmem_team_t team, T *dest, const T *source, size_t nelems))
#define SHMEM_API_BROADCAST(C, P, N, T)                                                                              \
    P(int, _broadcast, N, T, (shmem_team_t team, T *dest, const T *source, size_t nelems, int PE_root))
#define SHMEM_API_COLL(C, P, N, T)                                                                                   \
    SHMEM_API_BROADCAST(C, P, N, T) SHMEM_API_GATHER(C, P, N, T)                                                     \
    P(int, _alltoalls, N, T,                                                                                         \
      (shmem_team_t team, T *dest, const T *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))

#define SHMEM_API_AMO(C, P, N, T)                                                                                    \
    C(void, _atomic_inc, N, T, (T *dest, int pe))                                                                    \
    C(void, _atomic_add, N, T, (T *dest, T value, int pe))                                                           \
    C(T, _atomic_fetch_inc, N, T, (T *dest, int pe))                                                                 \
    C(T, _atomic_fetch_add, N, T, (T *dest, T value, int pe))                                                        \
    C(T, _atomic_compare_swap, N, T, (T *dest, T cond, T value, int pe))                                             \
    C(void, _atomic_fetch_inc_nbi, N, T, (T *fetch, T *dest, int pe))                                                \
    C(void, _atomic_fetch_add_nbi, N, T, (T *fetch, T *dest, T value, int pe))                                       \
    C(void, _atomic_compare_swap_nbi, N, T, (T *fetch, T *dest, T cond, T value, int pe))

#define SHMEM_API_EXT(C, P, N, T)                                                                                    \
    C(T, _atomic_fetch, N, T, (const T *source, int pe))                                                             \
    C(void, _atomic_set, N, T, (T *dest, T value, int pe))                                                           \
    C(T, _atomic_swap, N, T, (T *dest, T value, int pe))                                                             \
    C(void, _atomic_fetch_nbi, N, T, (T *fetch, const T *source, int pe))                                            \
    C(void, _atomic_swap_nbi, N, T, (T *fetch, T *dest, T value, int pe))

#define SHMEM_API_BIT1_(C, N, T, OP)                                                                                 \
    C(void, _atomic##OP, N, T, (T *dest, T value, int pe))                                                           \
    C(T, _atomic_fetch##OP, N, T, (T *dest, T value, int pe))                                                        \
    C(void, _atomic_fetch##OP##_nbi, N, T, (T *fetch, T *dest, T value, int pe))
#define SHMEM_API_BIT(C, P, N, T)                                                                                    \
    SHMEM_API_BIT1_(C, N, T, _and) SHMEM_API_BIT1_(C, N, T, _or) SHMEM_API_BIT1_(C, N, T, _xor)

#define SHMEM_API_WT(C, P, N, T)                                                                                     \
    P(void, _wait_until, N, T, (T *ivar, int cmp, T cmp_value))                                                      \
    P(int, _test, N, T, (T *ivar, int cmp, T cmp_value))

#define SHMEM_API_SYN(C, P, N, T)                                                                                    \
    P(void, _wait_until_all, N, T, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value))               \
    P(size_t, _wait_until_any, N, T, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value))             \
    P(size_t, _wait_until_some, N, T,                                                                                \
      (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value))                           \
    P(void, _wait_until_all_vector, N, T,                                                                            \
      (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values))                                    \
    P(size_t, _wait_until_any_vector, N, T,                                                                          \
      (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values))                                    \
    P(size_t, _wait_until_some_vector, N, T,                                                                         \
      (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values))                   \
    P(int, _test_all, N, T, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value))                      \
    P(size_t, _test_any, N, T, (T *ivars, size_t nelems, const int *status, int cmp, T cmp_value))                   \
    P(size_t, _test_some, N, T,                                                                                      \
      (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, T cmp_value))                           \
    P(int, _test_all_vector, N, T, (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values))       \
    P(size_t, _test_any_vector, N, T, (T *ivars, size_t nelems, const int *status, int cmp, const T *cmp_values))    \
    P(size_t, _test_some_vector, N, T,                                                                               \
      (T *ivars, size_t nelems, size_t *indices, const int *status, int cmp, const T *cmp_values))

#define SHMEM_API_RED1_(P, N, T, OP)                                                                                 \
    P(int, OP##_reduce, N, T, (shmem_team_t team, T *dest, const T *source, size_t nreduce))
#define SHMEM_API_AND(C, P, N, T)                                                                                    \
    SHMEM_API_RED1_(P, N, T, _and) SHMEM_API_RED1_(P, N, T, _or) SHMEM_API_RED1_(P, N, T, _xor)
#define SHMEM_API_MAX(C, P, N, T) SHMEM_API_RED1_(P, N, T, _max) SHMEM_API_RED1_(P, N, T, _min)
#define SHMEM_API_SCAN(C, P, N, T)                                                                                   \
    P(int, _sum_inscan, N, T, (shmem_team_t team, T *dest, const T *source, size_t nelems))                          \
    P(int, _sum_exscan, N, T, (shmem_team_t team, T *dest, const T *source, size_t nelems))
#define SHMEM_API_SUM(C, P, N, T)                                                                                    \
    SHMEM_API_RED1_(P, N, T, _sum) SHMEM_API_RED1_(P, N, T, _prod) SHMEM_API_SCAN(C, P, N, T)

/* Deprecated typed names. The specification lists OA and OX, and SYN above, for fewer types;
 * programs use them for all of their class. */
#define SHMEM_API_OA(C, P, N, T)                                                                                     \
    P(void, _inc, N, T, (T *dest, int pe))                                                                           \
    P(void, _add, N, T, (T *dest, T value, int pe))                                                                  \
    P(T, _finc, N, T, (T *dest, int pe))                                                                             \
    P(T, _fadd, N, T, (T *dest, T value, int pe))                                                                    \
    P(T, _cswap, N, T, (T *dest, T cond, T value, int pe))
#define SHMEM_API_OX(C, P, N, T)                                                                                     \
    P(T, _fetch, N, T, (const T *source, int pe))                                                                    \
    P(void, _set, N, T, (T *dest, T value, int pe))                                                                  \
    P(T, _swap, N, T, (T *dest, T value, int pe))
#define SHMEM_API_TOALL1_(P, N, T, OP)                                                                               \
    P(void, OP##_to_all, N, T,                                                                                       \
      (T *dest, const T *source, int nreduce, int PE_start, int logPE_stride, int PE_size, T *pWrk, long *pSync))
#define SHMEM_API_OW(C, P, N, T) P(void, _wait, N, T, (T *ivar, T cmp_value))
#define SHMEM_API_OB(C, P, N, T)                                                                                     \
    SHMEM_API_TOALL1_(P, N, T, _and) SHMEM_API_TOALL1_(P, N, T, _or) SHMEM_API_TOALL1_(P, N, T, _xor)
#define SHMEM_API_OM(C, P, N, T) SHMEM_API_TOALL1_(P, N, T, _max) SHMEM_API_TOALL1_(P, N, T, _min)
#define SHMEM_API_OS(C, P, N, T) SHMEM_API_TOALL1_(P, N, T, _sum) SHMEM_API_TOALL1_(P, N, T, _prod)

/* ---- routines by element size: S(R, NAME, KEY, BYTES, PARAMS), each also with a ctx form; KEY names the body --- */

#define SHMEM_API_SIZED1_(S, Z, B)                                                                                   \
    S(void, put##Z, _put, B, (void *dest, const void *source, size_t nelems, int pe))                                \
    S(void, get##Z, _get, B, (void *dest, const void *source, size_t nelems, int pe))                                \
    S(void, put##Z##_nbi, _put_nbi, B, (void *dest, const void *source, size_t nelems, int pe))                      \
    S(void, get##Z##_nbi, _get_nbi, B, (void *dest, const void *source, size_t nelems, int pe))                      \
    S(void, put##Z##_signal, _put_signal, B,                                                                         \
      (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))      \
    S(void, put##Z##_signal_nbi, _put_signal_nbi, B,                                                                 \
      (void *dest, const void *source, size_t nelems, uint64_t *sig_addr, uint64_t signal, int sig_op, int pe))
#define SHMEM_API_STRIDED1_(S, Z, B)                                                                                 \
    S(void, iput##Z, _iput, B,                                                                                       \
      (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))                         \
    S(void, iget##Z, _iget, B,                                                                                       \
      (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int pe))
#define SHMEM_API_BLOCK1_(S, Z, B)                                                                                   \
    S(void, ibput##Z, _ibput, B,                                                                                     \
      (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))          \
    S(void, ibget##Z, _ibget, B,                                                                                     \
      (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t bsize, size_t nblocks, int pe))

#define SHMEM_SIZES_(X, S) X(S, 8, 1) X(S, 16, 2) X(S, 32, 4) X(S, 64, 8) X(S, 128, 16)
#define SHMEM_API_SIZED_PUTGET(S)                                                                                    \
    SHMEM_SIZES_(SHMEM_API_SIZED1_, S) SHMEM_API_SIZED1_(S, mem, 1) SHMEM_SIZES_(SHMEM_API_STRIDED1_, S)
#define SHMEM_API_SIZED_BLOCK(S) SHMEM_SIZES_(SHMEM_API_BLOCK1_, S)
#define SHMEM_API_SIZED(S) SHMEM_API_SIZED_PUTGET(S) SHMEM_API_SIZED_BLOCK(S)

/* ---- untyped routines: U(R, NAME, PARAMS) --------------------------------------------------------------------- */

#define SHMEM_API_SETUP(U)                                                                                           \
    U(void, shmem_init, (void))                                                                                      \
    U(int, shmem_init_thread, (int requested, int *provided))                                                        \
    U(void, shmem_query_thread, (int *provided))                                                                     \
    U(void, shmem_query_initialized, (int *initialized))                                                             \
    U(void, shmem_finalize, (void))                                                                                  \
    U(int, shmem_my_pe, (void))                                                                                      \
    U(int, shmem_n_pes, (void))                                                                                      \
    U(int, shmem_pe_accessible, (int pe))                                                                            \
    U(int, shmem_addr_accessible, (const void *addr, int pe))                                                        \
    U(void *, shmem_ptr, (const void *dest, int pe))                                                                 \
    U(void, shmem_info_get_version, (int *major, int *minor))                                                        \
    U(void, shmem_info_get_name, (char *name))                                                                       \
    U(void, shmem_pcontrol, (int level, ...))

#define SHMEM_API_MEM(U)                                                                                             \
    U(void *, shmem_malloc, (size_t size))                                                                           \
    U(void *, shmem_calloc, (size_t count, size_t size))                                                             \
    U(void *, shmem_align, (size_t alignment, size_t size))                                                          \
    U(void *, shmem_realloc, (void *ptr, size_t size))                                                               \
    U(void *, shmem_malloc_with_hints, (size_t size, long hints))                                                    \
    U(void, shmem_free, (void *ptr))

#define SHMEM_API_TEAM(U)                                                                                            \
    U(int, shmem_team_my_pe, (shmem_team_t team))                                                                    \
    U(int, shmem_team_n_pes, (shmem_team_t team))                                                                    \
    U(int, shmem_team_get_config, (shmem_team_t team, long config_mask, shmem_team_config_t *config))                \
    U(int, shmem_team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team))                     \
    U(int, shmem_team_split_strided,                                                                                 \
      (shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config,                 \
       long config_mask, shmem_team_t *new_team))                                                                    \
    U(int, shmem_team_split_2d,                                                                                      \
      (shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask,               \
       shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask,                           \
       shmem_team_t *yaxis_team))                                                                                    \
    U(void, shmem_team_destroy, (shmem_team_t team))                                                                 \
    U(void *, shmem_team_ptr, (shmem_team_t team, const void *dest, int pe))

#define SHMEM_API_CTX(U)                                                                                             \
    U(int, shmem_ctx_create, (long options, shmem_ctx_t *ctx))                                                       \
    U(int, shmem_team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx))                               \
    U(void, shmem_ctx_destroy, (shmem_ctx_t ctx))                                                                    \
    U(int, shmem_ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team))                                                \
    U(void, shmem_ctx_session_start,                                                                                 \
      (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask))                   \
    U(void, shmem_ctx_session_stop, (shmem_ctx_t ctx))

#define SHMEM_API_ORDER(U)                                                                                           \
    U(void, shmem_fence, (void))                                                                                     \
    U(void, shmem_ctx_fence, (shmem_ctx_t ctx))                                                                      \
    U(void, shmem_quiet, (void))                                                                                     \
    U(void, shmem_ctx_quiet, (shmem_ctx_t ctx))                                                                      \
    U(void, shmem_pe_quiet, (const int *target_pes, size_t npes))                                                    \
    U(void, shmem_ctx_pe_quiet, (shmem_ctx_t ctx, const int *target_pes, size_t npes))                               \
    U(void, shmem_barrier_all, (void))                                                                               \
    U(void, shmem_sync_all, (void))                                                                                  \
    U(int, shmem_team_sync, (shmem_team_t team))                                                                     \
    U(void, shmem_set_lock, (long *lock))                                                                            \
    U(void, shmem_clear_lock, (long *lock))                                                                          \
    U(int, shmem_test_lock, (long *lock))                                                                            \
    U(uint64_t, shmem_signal_fetch, (const uint64_t *sig_addr))                                                      \
    U(uint64_t, shmem_signal_wait_until, (uint64_t *sig_addr, int cmp, uint64_t cmp_value))                          \
    U(void, shmem_signal_add, (uint64_t *sig_addr, uint64_t signal, int pe))                                         \
    U(void, shmem_signal_set, (uint64_t *sig_addr, uint64_t signal, int pe))                                         \
    U(void, shmem_ctx_signal_add, (shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe))                    \
    U(void, shmem_ctx_signal_set, (shmem_ctx_t ctx, uint64_t *sig_addr, uint64_t signal, int pe))

#define SHMEM_API_COLLMEM(U)                                                                                         \
    U(int, shmem_broadcastmem, (shmem_team_t team, void *dest, const void *source, size_t nelems, int PE_root))      \
    U(int, shmem_collectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))                     \
    U(int, shmem_fcollectmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))                    \
    U(int, shmem_alltoallmem, (shmem_team_t team, void *dest, const void *source, size_t nelems))                    \
    U(int, shmem_alltoallsmem,                                                                                       \
      (shmem_team_t team, void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems))

/* Deprecated untyped routines. */
#define SHMEM_API_OLDCOLL1_(U, Z)                                                                                    \
    U(void, shmem_broadcast##Z,                                                                                      \
      (void *dest, const void *source, size_t nelems, int PE_root, int PE_start, int logPE_stride, int PE_size,      \
       long *pSync))                                                                                                 \
    U(void, shmem_collect##Z,                                                                                        \
      (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync))     \
    U(void, shmem_fcollect##Z,                                                                                       \
      (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync))     \
    U(void, shmem_alltoall##Z,                                                                                       \
      (void *dest, const void *source, size_t nelems, int PE_start, int logPE_stride, int PE_size, long *pSync))     \
    U(void, shmem_alltoalls##Z,                                                                                      \
      (void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst, size_t nelems, int PE_start, int logPE_stride,  \
       int PE_size, long *pSync))
#define SHMEM_API_OLD(U)                                                                                             \
    U(void, start_pes, (int npes))                                                                                   \
    U(int, _my_pe, (void))                                                                                           \
    U(int, _num_pes, (void))                                                                                         \
    U(void *, shmalloc, (size_t size))                                                                               \
    U(void, shfree, (void *ptr))                                                                                     \
    U(void *, shrealloc, (void *ptr, size_t size))                                                                   \
    U(void *, shmemalign, (size_t alignment, size_t size))                                                           \
    U(void, shmem_wait, (long *ivar, long cmp_value))                                                                \
    U(void, shmem_wait_until, (long *ivar, int cmp, long cmp_value))                                                 \
    U(void, shmem_barrier, (int PE_start, int logPE_stride, int PE_size, long *pSync))                               \
    U(void, shmem_sync, (int PE_start, int logPE_stride, int PE_size, long *pSync))                                  \
    SHMEM_API_OLDCOLL1_(U, 32) SHMEM_API_OLDCOLL1_(U, 64)

/* ---- loops ------------------------------------------------------------------------------------------------------ */

/* Every untyped routine but shmem_global_exit, which alone is _Noreturn. */
#define SHMEM_FOR_EACH_UNTYPED(U)                                                                                    \
    SHMEM_API_SETUP(U) SHMEM_API_MEM(U) SHMEM_API_TEAM(U) SHMEM_API_CTX(U) SHMEM_API_ORDER(U)                        \
    SHMEM_API_COLLMEM(U) SHMEM_API_OLD(U)

/* Every typed routine through the emitters F_C and F_P. */
#define SHMEM_ROW_(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, OM, OS, GEN)                          \
    SHMEM_IF_##RMA(SHMEM_API_RMA(F##_C, F##_P, N, T) SHMEM_API_COLL(F##_C, F##_P, N, T))                             \
    SHMEM_IF_##AMO(SHMEM_API_AMO(F##_C, F##_P, N, T) SHMEM_API_OA(F##_C, F##_P, N, T))                               \
    SHMEM_IF_##EXT(SHMEM_API_EXT(F##_C, F##_P, N, T) SHMEM_API_OX(F##_C, F##_P, N, T))                               \
    SHMEM_IF_##BIT(SHMEM_API_BIT(F##_C, F##_P, N, T))                                                                \
    SHMEM_IF_##WT(SHMEM_API_WT(F##_C, F##_P, N, T) SHMEM_API_SYN(F##_C, F##_P, N, T))                                \
    SHMEM_IF_##AND(SHMEM_API_AND(F##_C, F##_P, N, T))                                                                \
    SHMEM_IF_##MAX(SHMEM_API_MAX(F##_C, F##_P, N, T))                                                                \
    SHMEM_IF_##SUM(SHMEM_API_SUM(F##_C, F##_P, N, T))                                                                \
    SHMEM_IF_##OW(SHMEM_API_OW(F##_C, F##_P, N, T) SHMEM_API_OB(F##_C, F##_P, N, T))                                 \
    SHMEM_IF_##OM(SHMEM_API_OM(F##_C, F##_P, N, T))                                                                  \
    SHMEM_IF_##OS(SHMEM_API_OS(F##_C, F##_P, N, T))
#define SHMEM_FOR_EACH_TYPED(F) SHMEM_TYPES(SHMEM_ROW_, F)

/*
 * FN(R, NAME, PARAMS) for every routine under its full name: includers define SHMEM_FN and then name
 * SHMEM_EMIT_C, SHMEM_EMIT_P and SHMEM_EMIT_S as emitters.
 */
#define SHMEM_EMIT_P(R, NAME, N, T, PARAMS) SHMEM_FN(R, shmem_##N##NAME, PARAMS)
#define SHMEM_EMIT_C(R, NAME, N, T, PARAMS)                                                                          \
    SHMEM_FN(R, shmem_##N##NAME, PARAMS)                                                                             \
    SHMEM_FN(R, shmem_ctx_##N##NAME, (shmem_ctx_t ctx, SHMEM_UNWRAP PARAMS))
#define SHMEM_EMIT_S(R, NAME, KEY, B, PARAMS)                                                                        \
    SHMEM_FN(R, shmem_##NAME, PARAMS)                                                                                \
    SHMEM_FN(R, shmem_ctx_##NAME, (shmem_ctx_t ctx, SHMEM_UNWRAP PARAMS))

#endif
