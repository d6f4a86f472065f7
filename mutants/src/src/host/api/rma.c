/* rma.c - entry points of put, get, their strided and nonblocking forms, and put-with-signal. */
#include "host/api/def.h"

#include "host/ops/rma.h"

/* On mapped memory a nonblocking transfer is complete when it returns. */
#define DO_p(T, E) shi_rma_put(__func__, c, dest, &value, E, pe, 0);
#define DO_g(T, E)                                                                                                   \
    T value;                                                                                                         \
    shi_rma_get(__func__, c, &value, source, E, pe, 0);                                                              \
    return value;
#define DO_put(T, E) shi_rma_put(__func__, c, dest, source, shi_bytes(nelems, E), pe, 0);
#define DO_get(T, E) shi_rma_get(__func__, c, dest, source, shi_bytes(nelems, E), pe, 0);
#define DO_put_nbi(T, E) shi_rma_put(__func__, c, dest, source, shi_bytes(nelems, E), pe, SHI_NBI);
#define DO_get_nbi(T, E) shi_rma_get(__func__, c, dest, source, shi_bytes(nelems, E), pe, SHI_NBI);
#define STRIDED(...) (&(const struct shi_strided){dst, sst, __VA_ARGS__})
#define DO_iput(T, E) shi_rma_put_strided(__func__, c, dest, source, STRIDED(1, nelems, E), pe);
#define DO_iget(T, E) shi_rma_get_strided(__func__, c, dest, source, STRIDED(1, nelems, E), pe);
#define DO_ibput(T, E) shi_rma_put_strided(__func__, c, dest, source, STRIDED(bsize, nblocks, E), pe);
#define DO_ibget(T, E) shi_rma_get_strided(__func__, c, dest, source, STRIDED(bsize, nblocks, E), pe);
#define PUT_SIGNAL(E, HOW)                                                                                           \
    shi_rma_put(__func__, c, dest, source, shi_bytes(nelems, E), pe, HOW);                                           \
    shi_signal(__func__, c, sig_addr, signal, sig_op, pe);
#define DO_put_signal(T, E) PUT_SIGNAL(E, SHI_MORE)
#define DO_put_signal_nbi(T, E) PUT_SIGNAL(E, SHI_MORE | SHI_NBI)

#define ROW(F, N, T, RMA, ...) SHMEM_IF_##RMA(SHMEM_API_RMA(F##_C, F##_P, N, T))
SHMEM_TYPES(ROW, SHI_DEF)
SHMEM_API_SIZED(SHI_DEF_S)
