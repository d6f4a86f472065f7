/* signal.c - entry points of waits for several signals and of counted signals. */
#include "host/api/def.h"

#include <shmemx_signal.h>

#include "host/ops/ctx.h"
#include "host/ops/p2p.h"
#include "host/ops/rma.h"

#define ONE (&(struct shi_cond){__func__, sig_addrs, nelems, status, cmp, &cmp_value, 0, SHI_U64, values})
#define VECTOR (&(struct shi_cond){__func__, sig_addrs, nelems, status, cmp, cmp_values, 1, SHI_U64, values})

#define WAITS(S, VALUE, COND)                                                                                        \
    SHI_DEF(void, shmemx_signal_wait_until_all##S,                                                                   \
            (uint64_t * sig_addrs, size_t nelems, const int *status, int cmp, VALUE, uint64_t *values))              \
    {                                                                                                                \
        shi_p2p_wait_all(COND);                                                                                      \
    }                                                                                                                \
    SHI_DEF(size_t, shmemx_signal_wait_until_any##S,                                                                 \
            (uint64_t * sig_addrs, size_t nelems, const int *status, int cmp, VALUE, uint64_t *values))              \
    {                                                                                                                \
        return shi_p2p_wait_any(COND);                                                                               \
    }                                                                                                                \
    SHI_DEF(size_t, shmemx_signal_wait_until_some##S,                                                                \
            (uint64_t * sig_addrs, size_t nelems, size_t *indices, const int *status, int cmp, VALUE, uint64_t *values)) \
    {                                                                                                                \
        return shi_p2p_wait_some(COND, indices);                                                                     \
    }
WAITS(, uint64_t cmp_value, ONE)
WAITS(_vector, const uint64_t *cmp_values, VECTOR)

/* Arrivals add while this takes off: an atomic addition of -n. */
static void take(const char *routine, uint64_t *sig_addr, uint64_t n)
{
    shi_signal(routine, SHI_CTX_DEFAULT, sig_addr, -n, SHMEM_SIGNAL_ADD, shi_world.pe);
}

SHI_DEF(uint64_t, shmemx_signal_wait_count, (uint64_t * sig_addr, uint64_t n))
{
    uint64_t was = shi_p2p_wait_signal(__func__, sig_addr, SHMEM_CMP_GE, n);
    if (was >= n) /* else shmemx_wait_limit has ended the wait */
        take(__func__, sig_addr, n);
    return was;
}

SHI_DEF(int, shmemx_signal_test_count, (uint64_t * sig_addr, uint64_t n))
{
    const struct shi_cond c = {__func__, sig_addr, 1, NULL, SHMEM_CMP_GE, &n, 0, SHI_U64, NULL};
    if (!shi_p2p_test(&c))
        return 0;
    take(__func__, sig_addr, n);
    return 1;
}
