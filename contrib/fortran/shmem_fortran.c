/*
 * shmem_fortran.c - the Fortran routines of OpenSHMEM 1.4, which 1.5 removed, over the C routines.
 *
 * Arguments are addresses. INTEGER and LOGICAL have 4 bytes (the compilers' default). Names are in lower case with an underscore behind them, as
 * gfortran, flang, ifx and nvfortran write them. Lengths of CHARACTER arguments follow the others; only shmem_info_get_name_ uses its own.
 */
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <shmem.h>

typedef int32_t integer;
typedef int32_t logical;

#define LOCK_POLLS 100 /* of a lock, before the caller sleeps between them */

/* ---- setup ------------------------------------------------------------------------------------------------------------- */

void start_pes_(const integer *npes) { (void)npes; shmem_init(); }
void shmem_init_(void) { shmem_init(); }
void shmem_finalize_(void) { shmem_finalize(); }
void shmem_global_exit_(const integer *status) { shmem_global_exit(*status); }
integer my_pe_(void) { return shmem_my_pe(); }
integer num_pes_(void) { return shmem_n_pes(); }
integer shmem_my_pe_(void) { return shmem_my_pe(); }
integer shmem_n_pes_(void) { return shmem_n_pes(); }
logical shmem_pe_accessible_(const integer *pe) { return shmem_pe_accessible(*pe) != 0; }
logical shmem_addr_accessible_(const void *addr, const integer *pe) { return shmem_addr_accessible(addr, *pe) != 0; }
int64_t shmem_ptr_(const void *dest, const integer *pe) { return (int64_t)(intptr_t)shmem_ptr(dest, *pe); }
void shmem_info_get_version_(integer *major, integer *minor) { shmem_info_get_version(major, minor); }

void shmem_info_get_name_(char *name, size_t length)
{
    char own[SHMEM_MAX_NAME_LEN];
    shmem_info_get_name(own);
    size_t n = strlen(own) < length ? strlen(own) : length;
    memcpy(name, own, n);
    memset(name + n, ' ', length - n);
}

/* ---- memory: lengths are in words of 4 bytes ---------------------------------------------------------------------------- */

enum { BAD_LENGTH = -1, NO_MEMORY = -2 };

static void result(integer *error, integer value, const integer *stop)
{
    *error = value;
    if (value && *stop)
        shmem_global_exit(1);
}

void shpalloc_(int64_t *addr, const integer *length, integer *error, const integer *stop)
{
    void *at = *length > 0 ? shmem_malloc((size_t)*length * 4) : NULL;
    *addr = (int64_t)(intptr_t)at;
    result(error, *length <= 0 ? BAD_LENGTH : at ? 0 : NO_MEMORY, stop);
}

void shpdeallc_(const int64_t *addr, integer *error, const integer *stop)
{
    shmem_free((void *)(intptr_t)*addr);
    result(error, 0, stop);
}

/* *status: 0, or 1 if the block has moved. */
void shpclmove_(int64_t *addr, const integer *length, integer *status, const integer *stop)
{
    void *at = *length > 0 ? shmem_realloc((void *)(intptr_t)*addr, (size_t)*length * 4) : NULL;
    if (!at) {
        result(status, *length <= 0 ? BAD_LENGTH : NO_MEMORY, stop);
        return;
    }
    *status = *addr != (int64_t)(intptr_t)at;
    *addr = (int64_t)(intptr_t)at;
}

/* ---- put and get -------------------------------------------------------------------------------------------------------- */

/* X(NAME, C): what the Fortran routines call NAME is what C calls shmem_put<C>. */
#define BLOCKS(X) X(character_, mem) X(complex_, 64) X(double_, 64) X(integer_, 32) X(logical_, 32) X(real_, 32)
#define SIZES(X) X(4, 32) X(8, 64) X(32, 32) X(64, 64) X(128, 128) X(mem, mem)

#define BLOCK(F, ROUTINE)                                                                                                \
    void F(void *dest, const void *source, const integer *n, const integer *pe) { ROUTINE(dest, source, (size_t)*n, *pe); }
#define STRIDED(F, ROUTINE)                                                                                              \
    void F(void *dest, const void *source, const integer *dst, const integer *sst, const integer *n, const integer *pe)  \
    {                                                                                                                    \
        ROUTINE(dest, source, *dst, *sst, (size_t)*n, *pe);                                                              \
    }
#define BY_TYPE(NAME, C)                                                                                              \
    BLOCK(shmem_##NAME##put_, shmem_put##C) BLOCK(shmem_##NAME##get_, shmem_get##C)                                \
    BLOCK(shmem_##NAME##put_nbi_, shmem_put##C##_nbi) BLOCK(shmem_##NAME##get_nbi_, shmem_get##C##_nbi)
#define BY_SIZE(NAME, C)                                                                                              \
    BLOCK(shmem_put##NAME##_, shmem_put##C) BLOCK(shmem_get##NAME##_, shmem_get##C)                                \
    BLOCK(shmem_put##NAME##_nbi_, shmem_put##C##_nbi) BLOCK(shmem_get##NAME##_nbi_, shmem_get##C##_nbi)
BLOCKS(BY_TYPE)
SIZES(BY_SIZE)

#define STRIDED_TYPE(NAME, C) STRIDED(shmem_##NAME##_iput_, shmem_iput##C) STRIDED(shmem_##NAME##_iget_, shmem_iget##C)
#define STRIDED_SIZE(NAME, C) STRIDED(shmem_iput##NAME##_, shmem_iput##C) STRIDED(shmem_iget##NAME##_, shmem_iget##C)
STRIDED_TYPE(complex, 64)
STRIDED_TYPE(double, 64)
STRIDED_TYPE(integer, 32)
STRIDED_TYPE(logical, 32)
STRIDED_TYPE(real, 32)
STRIDED_SIZE(4, 32)
STRIDED_SIZE(8, 64)
STRIDED_SIZE(32, 32)
STRIDED_SIZE(64, 64)
STRIDED_SIZE(128, 128)

/* ---- atomic operations -------------------------------------------------------------------------------------------------- */

#define WORDS(NAME, C, T)                                                                                                \
    T shmem_##NAME##_fetch_(const T *source, const integer *pe) { return shmem_##C##_atomic_fetch(source, *pe); }        \
    void shmem_##NAME##_set_(T *dest, const T *value, const integer *pe) { shmem_##C##_atomic_set(dest, *value, *pe); }  \
    T shmem_##NAME##_swap_(T *dest, const T *value, const integer *pe) { return shmem_##C##_atomic_swap(dest, *value, *pe); }
#define COUNTS(NAME, C, T)                                                                                               \
    void shmem_##NAME##_add_(T *dest, const T *value, const integer *pe) { shmem_##C##_atomic_add(dest, *value, *pe); }  \
    void shmem_##NAME##_inc_(T *dest, const integer *pe) { shmem_##C##_atomic_inc(dest, *pe); }                          \
    T shmem_##NAME##_finc_(T *dest, const integer *pe) { return shmem_##C##_atomic_fetch_inc(dest, *pe); }               \
    T shmem_##NAME##_fadd_(T *dest, const T *value, const integer *pe)                                                   \
    {                                                                                                                    \
        return shmem_##C##_atomic_fetch_add(dest, *value, *pe);                                                          \
    }                                                                                                                    \
    T shmem_##NAME##_cswap_(T *dest, const T *cond, const T *value, const integer *pe)                                   \
    {                                                                                                                    \
        return shmem_##C##_atomic_compare_swap(dest, *cond, *value, *pe);                                                \
    }                                                                                                                    \
    void shmem_##NAME##_wait_(T *ivar, const T *value) { shmem_##C##_wait_until(ivar, SHMEM_CMP_NE, *value); }           \
    void shmem_##NAME##_wait_until_(T *ivar, const integer *cmp, const T *value)                                         \
    {                                                                                                                    \
        shmem_##C##_wait_until(ivar, *cmp, *value);                                                                      \
    }
WORDS(int4, int32, int32_t)
WORDS(int8, int64, int64_t)
WORDS(real4, float, float)
WORDS(real8, double, double)
COUNTS(int4, int32, int32_t)
COUNTS(int8, int64, int64_t)

integer shmem_swap_(integer *dest, const integer *value, const integer *pe) { return shmem_int4_swap_(dest, value, pe); }
void shmem_wait_(integer *ivar, const integer *value) { shmem_int4_wait_(ivar, value); }
void shmem_wait_until_(integer *ivar, const integer *cmp, const integer *value) { shmem_int4_wait_until_(ivar, cmp, value); }

/* ---- order, locks, caches ------------------------------------------------------------------------------------------------ */

void shmem_fence_(void) { shmem_fence(); }
void shmem_quiet_(void) { shmem_quiet(); }

/* A lock is an INTEGER, which is too small for one of C: the word at PE 0 is 0, or 1 while a PE holds it. */
integer shmem_test_lock_(integer *lock)
{
    return shmem_int32_atomic_compare_swap(lock, 0, 1, 0) != 0;
}

void shmem_set_lock_(integer *lock)
{
    static const struct timespec nap = {.tv_nsec = 50000};
    for (int i = 0; shmem_test_lock_(lock); i++)
        if (i < LOCK_POLLS)
            sched_yield();
        else
            nanosleep(&nap, NULL);
}

void shmem_clear_lock_(integer *lock)
{
    shmem_quiet();
    shmem_int32_atomic_set(lock, 0, 0);
    shmem_quiet();
}

/* Caches are coherent. */
void shmem_set_cache_inv_(void) {}
void shmem_set_cache_line_inv_(const void *dest) { (void)dest; }
void shmem_clear_cache_inv_(void) {}
void shmem_clear_cache_line_inv_(const void *dest) { (void)dest; }
void shmem_udcflush_(void) {}
void shmem_udcflush_line_(const void *dest) { (void)dest; }

/* ---- collectives: shmem.fh gives pSync the size of SHMEM_SYNC_SIZE words of C and one more, because it may begin between two of them ------ */

static long *sync_of(integer *psync)
{
    return (long *)(((uintptr_t)psync + sizeof(long) - 1) / sizeof(long) * sizeof(long));
}

#define SET const integer *start, const integer *stride, const integer *size
#define SET_ARGS *start, *stride, *size

void shmem_barrier_all_(void) { shmem_barrier_all(); }
void shmem_barrier_(SET, integer *psync) { shmem_barrier(SET_ARGS, sync_of(psync)); }

#define BROADCAST(NAME, C)                                                                                               \
    void shmem_broadcast##NAME##_(void *dest, const void *source, const integer *n, const integer *root, SET, integer *psync) \
    {                                                                                                                    \
        shmem_broadcast##C(dest, source, (size_t)*n, *root, SET_ARGS, sync_of(psync));                                   \
    }
#define GATHER(KIND, NAME, C)                                                                                            \
    void shmem_##KIND##NAME##_(void *dest, const void *source, const integer *n, SET, integer *psync)                    \
    {                                                                                                                    \
        shmem_##KIND##C(dest, source, (size_t)*n, SET_ARGS, sync_of(psync));                                             \
    }
#define ALLTOALLS(C)                                                                                                     \
    void shmem_alltoalls##C##_(void *dest, const void *source, const integer *dst, const integer *sst, const integer *n, SET, \
                               integer *psync)                                                                           \
    {                                                                                                                    \
        shmem_alltoalls##C(dest, source, *dst, *sst, (size_t)*n, SET_ARGS, sync_of(psync));                              \
    }
#define SIZED(NAME, C) BROADCAST(NAME, C) GATHER(collect, NAME, C) GATHER(fcollect, NAME, C)
SIZED(4, 32)
SIZED(8, 64)
SIZED(32, 32)
SIZED(64, 64)
GATHER(alltoall, 32, 32)
GATHER(alltoall, 64, 64)
ALLTOALLS(32)
ALLTOALLS(64)

#define REDUCE(NAME, C, OP, T)                                                                                           \
    void shmem_##NAME##_##OP##_to_all_(T *dest, const T *source, const integer *n, SET, T *work, integer *psync)         \
    {                                                                                                                    \
        shmem_##C##_##OP##_to_all(dest, source, *n, SET_ARGS, work, sync_of(psync));                                     \
    }
#define SUMS(NAME, C, T) REDUCE(NAME, C, sum, T) REDUCE(NAME, C, prod, T)
#define ORDERED(NAME, C, T) REDUCE(NAME, C, max, T) REDUCE(NAME, C, min, T) SUMS(NAME, C, T)
#define BITS(NAME, C, T) REDUCE(NAME, C, and, T) REDUCE(NAME, C, or, T) REDUCE(NAME, C, xor, T) ORDERED(NAME, C, T)
BITS(int4, int, int)
BITS(int8, long, long)
ORDERED(real4, float, float)
ORDERED(real8, double, double)
SUMS(comp4, complexf, float _Complex)
SUMS(comp8, complexd, double _Complex)
