/* bitcode_kernel.cu - for bitcode.sh: a kernel that knows the device library by C names only, as one of Numba or Triton does. */
#define DEVICE extern "C" __attribute__((device))
typedef long long i64;
typedef unsigned long long u64;

DEVICE int shmemg_my_pe(void);
DEVICE int shmemg_ctx_n_pes(void *ctx);
DEVICE void shmemg_int64_p(i64 *dest, i64 value, int pe);
DEVICE void shmemg_ctx_putmem_signal(void *ctx, void *dest, const void *source, u64 nelems, u64 *sig, u64 signal, int op, int pe);
DEVICE u64 shmemg_signal_wait_until(u64 *sig, int cmp, u64 value);
DEVICE u64 shmemg_ctx_uint64_atomic_fetch_add(void *ctx, u64 *dest, u64 value, int pe);
DEVICE void shmemg_quiet(void);

/* out: this PE's number, what the PE before put, and how many PEs have added to PE 0's counter before this one. */
extern "C" __attribute__((global)) void by_names(void *ctx, i64 *slots, u64 *arrived, u64 *count, i64 *out)
{
    int me = shmemg_my_pe(), next = (me + 1) % shmemg_ctx_n_pes(ctx);
    out[0] = me;
    shmemg_int64_p(&slots[0], 10 * me, next);
    out[3] = 7 + me;
    shmemg_ctx_putmem_signal(ctx, &slots[1], &out[3], sizeof *out, arrived, 1, 1, next);
    shmemg_signal_wait_until(arrived, 1, 1);
    out[1] = slots[1];
    out[2] = (i64)shmemg_ctx_uint64_atomic_fetch_add(ctx, count, 1, 0);
    shmemg_quiet();
}
