/* wrap_wait.c - waits and tests of words of the calling PE: what they see orders. */
#include "race/wrap.h"

#include <shmemx_signal.h>

#define HERE RACE_OP(SHMEM_CTX_DEFAULT, 0)

/* Those of the words with status 0. */
static void all_seen(const struct race_op *op, const char *ivars, size_t nelems, size_t bytes, const int *status)
{
    for (size_t i = 0; i < nelems; i++)
        if (!status || !status[i])
            race_op_seen(op, ivars + i * bytes, bytes);
}

static void some_seen(const struct race_op *op, const char *ivars, size_t n, const size_t *indices, size_t bytes)
{
    for (size_t i = 0; i < n; i++)
        race_op_seen(op, ivars + indices[i] * bytes, bytes);
}

static size_t any_seen(const struct race_op *op, const char *ivars, size_t nelems, size_t index, size_t bytes)
{
    if (index < nelems)
        race_op_seen(op, ivars + index * bytes, bytes);
    return index;
}

#define WORDS ((const char *)ivars)
#define DO_wait_until(F, T, E)                                                                                       \
    HERE;                                                                                                            \
    F(ivar, cmp, cmp_value);                                                                                         \
    race_op_seen(&op, ivar, E);
#define DO_wait(F, T, E)                                                                                             \
    HERE;                                                                                                            \
    F(ivar, cmp_value);                                                                                              \
    race_op_seen(&op, ivar, E);
#define DO_test(F, T, E)                                                                                             \
    HERE;                                                                                                            \
    int yes = F(ivar, cmp, cmp_value);                                                                               \
    if (yes)                                                                                                         \
        race_op_seen(&op, ivar, E);                                                                                  \
    return yes;
#define WAIT_ALL(F, E, VALUE)                                                                                        \
    HERE;                                                                                                            \
    F(ivars, nelems, status, cmp, VALUE);                                                                            \
    all_seen(&op, WORDS, nelems, E, status);
#define TEST_ALL(F, E, VALUE)                                                                                        \
    HERE;                                                                                                            \
    int yes = F(ivars, nelems, status, cmp, VALUE);                                                                  \
    if (yes)                                                                                                         \
        all_seen(&op, WORDS, nelems, E, status);                                                                     \
    return yes;
#define ANY(F, E, VALUE)                                                                                             \
    HERE;                                                                                                            \
    return any_seen(&op, WORDS, nelems, F(ivars, nelems, status, cmp, VALUE), E);
#define SOME(F, E, VALUE)                                                                                            \
    HERE;                                                                                                            \
    size_t n = F(ivars, nelems, indices, status, cmp, VALUE);                                                        \
    some_seen(&op, WORDS, n, indices, E);                                                                            \
    return n;
#define DO_wait_until_all(F, T, E) WAIT_ALL(F, E, cmp_value)
#define DO_wait_until_any(F, T, E) ANY(F, E, cmp_value)
#define DO_wait_until_some(F, T, E) SOME(F, E, cmp_value)
#define DO_wait_until_all_vector(F, T, E) WAIT_ALL(F, E, cmp_values)
#define DO_wait_until_any_vector(F, T, E) ANY(F, E, cmp_values)
#define DO_wait_until_some_vector(F, T, E) SOME(F, E, cmp_values)
#define DO_test_all(F, T, E) TEST_ALL(F, E, cmp_value)
#define DO_test_any(F, T, E) ANY(F, E, cmp_value)
#define DO_test_some(F, T, E) SOME(F, E, cmp_value)
#define DO_test_all_vector(F, T, E) TEST_ALL(F, E, cmp_values)
#define DO_test_any_vector(F, T, E) ANY(F, E, cmp_values)
#define DO_test_some_vector(F, T, E) SOME(F, E, cmp_values)

#define ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, ...)                                                 \
    SHMEM_IF_##WT(SHMEM_API_WT(F##_C, F##_P, N, T) SHMEM_API_SYN(F##_C, F##_P, N, T))                                \
        SHMEM_IF_##OW(SHMEM_API_OW(F##_C, F##_P, N, T))
SHMEM_TYPES(ROW, RACE_DEF)

RACE_WRAP(void, shmem_wait, (long *ivar, long cmp_value)){DO_wait(pshmem_wait, long, sizeof(long))}

RACE_WRAP(void, shmem_wait_until, (long *ivar, int cmp, long cmp_value)){DO_wait_until(pshmem_wait_until, long, sizeof(long))}

RACE_WRAP(uint64_t, shmem_signal_fetch, (const uint64_t *sig_addr))
{
    HERE;
    uint64_t value = pshmem_signal_fetch(sig_addr);
    race_op_seen(&op, sig_addr, sizeof *sig_addr);
    return value;
}

RACE_WRAP(uint64_t, shmem_signal_wait_until, (uint64_t * sig_addr, int cmp, uint64_t cmp_value))
{
    HERE;
    uint64_t value = pshmem_signal_wait_until(sig_addr, cmp, cmp_value);
    race_op_seen(&op, sig_addr, sizeof *sig_addr);
    return value;
}

/* Several signals. */
#define SIGNALS(S, VALUE, V)                                                                                         \
    RACE_WRAP(void, shmemx_signal_wait_until_all##S,                                                                 \
              (uint64_t * sig_addrs, size_t nelems, const int *status, int cmp, VALUE, uint64_t *values))            \
    {                                                                                                                \
        HERE;                                                                                                        \
        pshmemx_signal_wait_until_all##S(sig_addrs, nelems, status, cmp, V, values);                                 \
        all_seen(&op, (const char *)sig_addrs, nelems, sizeof *sig_addrs, status);                                   \
    }                                                                                                                \
    RACE_WRAP(size_t, shmemx_signal_wait_until_any##S,                                                               \
              (uint64_t * sig_addrs, size_t nelems, const int *status, int cmp, VALUE, uint64_t *values))            \
    {                                                                                                                \
        HERE;                                                                                                        \
        size_t i = pshmemx_signal_wait_until_any##S(sig_addrs, nelems, status, cmp, V, values);                      \
        return any_seen(&op, (const char *)sig_addrs, nelems, i, sizeof *sig_addrs);                                 \
    }                                                                                                                \
    RACE_WRAP(size_t, shmemx_signal_wait_until_some##S,                                                              \
              (uint64_t * sig_addrs, size_t nelems, size_t *indices, const int *status, int cmp, VALUE, uint64_t *values)) \
    {                                                                                                                \
        HERE;                                                                                                        \
        size_t n = pshmemx_signal_wait_until_some##S(sig_addrs, nelems, indices, status, cmp, V, values);            \
        some_seen(&op, (const char *)sig_addrs, n, indices, sizeof *sig_addrs);                                      \
        return n;                                                                                                    \
    }
SIGNALS(, uint64_t cmp_value, cmp_value)
SIGNALS(_vector, const uint64_t *cmp_values, cmp_values)

/* What is taken off is an atomic of the calling PE, which conflicts with no signal. */
RACE_WRAP(uint64_t, shmemx_signal_wait_count, (uint64_t * sig_addr, uint64_t n))
{
    HERE;
    uint64_t was = pshmemx_signal_wait_count(sig_addr, n);
    if (was >= n)
        race_op_seen(&op, sig_addr, sizeof *sig_addr);
    return was;
}

RACE_WRAP(int, shmemx_signal_test_count, (uint64_t * sig_addr, uint64_t n))
{
    HERE;
    int came = pshmemx_signal_test_count(sig_addr, n);
    if (came)
        race_op_seen(&op, sig_addr, sizeof *sig_addr);
    return came;
}
