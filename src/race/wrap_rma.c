/* wrap_rma.c - put, get, their strided and nonblocking forms, put-with-signal. */
#include "race/wrap.h"

/* Elements at a distance: blocks of `width` bytes. */
static void strided(const struct race_op *op, const void *dest, const void *source, ptrdiff_t dst, ptrdiff_t sst,
                    size_t n, size_t width, size_t element, int put)
{
    for (size_t i = 0; i < n && op->u; i++) {
        const char *to = (const char *)dest + (ptrdiff_t)(i * element) * dst,
                   *from = (const char *)source + (ptrdiff_t)(i * element) * sst;
        if (put) {
            race_op_reads(op, from, width, 0);
            race_op_remote(op, RACE_PUT, to, width, 0);
        } else {
            race_op_remote(op, RACE_GET, from, width, 0);
            race_op_writes(op, to, width, 0);
        }
    }
}

static void put(const struct race_op *op, const void *dest, const void *source, size_t bytes, int nonblocking)
{
    race_op_reads(op, source, bytes, nonblocking);
    race_op_remote(op, RACE_PUT, dest, bytes, 0);
    race_op_give(op, dest, bytes, 0);
}

static void get(const struct race_op *op, const void *dest, const void *source, size_t bytes, int nonblocking)
{
    race_op_remote(op, nonblocking ? RACE_GET_NBI : RACE_GET, source, bytes, 0);
    race_op_writes(op, dest, bytes, nonblocking);
}

static void put_signal(struct race_op *op, const void *dest, const void *source, size_t bytes,
                       const uint64_t *sig_addr, int nonblocking)
{
    race_op_single(op);
    race_op_reads(op, source, bytes, nonblocking);
    race_op_remote(op, RACE_PUT, dest, bytes, 0);
    race_op_remote(op, RACE_AMO, sig_addr, sizeof *sig_addr, race_op_atomic(op, sizeof *sig_addr, 0));
    race_op_give(op, sig_addr, sizeof *sig_addr, 1);
}

#define DO_p(F, T, E)                                                                                                \
    race_op_remote(&op, RACE_PUT, dest, E, 0);                                                                       \
    race_op_give(&op, dest, E, 0);                                                                                   \
    F(c, dest, value, pe);
#define DO_g(F, T, E)                                                                                                \
    race_op_remote(&op, RACE_GET, source, E, 0);                                                                     \
    return F(c, source, pe);
#define DO_put(F, T, E)                                                                                              \
    put(&op, dest, source, nelems *(E), 0);                                                                          \
    F(c, dest, source, nelems, pe);
#define DO_put_nbi(F, T, E)                                                                                          \
    put(&op, dest, source, nelems *(E), 1);                                                                          \
    F(c, dest, source, nelems, pe);
#define DO_get(F, T, E)                                                                                              \
    get(&op, dest, source, nelems *(E), 0);                                                                          \
    F(c, dest, source, nelems, pe);
#define DO_get_nbi(F, T, E)                                                                                          \
    get(&op, dest, source, nelems *(E), 1);                                                                          \
    F(c, dest, source, nelems, pe);
#define DO_iput(F, T, E)                                                                                             \
    strided(&op, dest, source, dst, sst, nelems, E, E, 1);                                                           \
    F(c, dest, source, dst, sst, nelems, pe);
#define DO_iget(F, T, E)                                                                                             \
    strided(&op, dest, source, dst, sst, nelems, E, E, 0);                                                           \
    F(c, dest, source, dst, sst, nelems, pe);
#define DO_ibput(F, T, E)                                                                                            \
    strided(&op, dest, source, dst, sst, nblocks, bsize *(E), E, 1);                                                 \
    F(c, dest, source, dst, sst, bsize, nblocks, pe);
#define DO_ibget(F, T, E)                                                                                            \
    strided(&op, dest, source, dst, sst, nblocks, bsize *(E), E, 0);                                                 \
    F(c, dest, source, dst, sst, bsize, nblocks, pe);
#define DO_put_signal(F, T, E)                                                                                       \
    put_signal(&op, dest, source, nelems *(E), sig_addr, 0);                                                         \
    F(c, dest, source, nelems, sig_addr, signal, sig_op, pe);
#define DO_put_signal_nbi(F, T, E)                                                                                   \
    put_signal(&op, dest, source, nelems *(E), sig_addr, 1);                                                         \
    F(c, dest, source, nelems, sig_addr, signal, sig_op, pe);

#define ROW(F, N, T, RMA, ...) SHMEM_IF_##RMA(SHMEM_API_RMA(F##_C, F##_P, N, T))
SHMEM_TYPES(ROW, RACE_DEF)
SHMEM_API_SIZED(RACE_DEF_S)
