/* Two independent streams of puts; each is completed by a quiet of its own. */
#include <shmem.h>

static long left[8], right[8], data[8] = {1, 2, 3, 4, 5, 6, 7, 8};

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_ctx_t a, b;
    if (shmem_ctx_create(SHMEM_CTX_SERIALIZED, &a) || shmem_ctx_create(SHMEM_CTX_SERIALIZED, &b))
        shmem_global_exit(1);
    shmem_ctx_long_put_nbi(a, right, data, 8, (me + n - 1) % n);
    shmem_ctx_long_put_nbi(b, left, data, 8, (me + 1) % n);
    shmem_ctx_quiet(a); /* does not wait for the puts of b */
    shmem_ctx_quiet(b);
    shmem_barrier_all();
    int wrong = left[7] != 8 || right[7] != 8;
    shmem_ctx_destroy(a);
    shmem_ctx_destroy(b);
    shmem_finalize();
    return wrong;
}
