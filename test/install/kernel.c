/* kernel.c - one kernel from an installed Fulmar: every PE's tells the next PE its number. */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    long *slot = shmemg_calloc(1, sizeof *slot), got = 0;
    void *const args[] = {&slot};
    const size_t one[3] = {1, 1, 1}, bytes[] = {sizeof slot};
    int err = shmemx_launch("pass_on", one, one, args, bytes, 1) || shmemx_device_sync();
    shmem_barrier_all();
    shmem_getmem(&got, slot, sizeof got, me);
    puts(!err && got == 10 + (me + n - 1) % n ? "right" : "WRONG");
    shmem_finalize();
    return err;
}
