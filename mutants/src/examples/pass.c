#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>

int main(void)
{
    shmem_init();
    long *slot = shmemg_calloc(1, sizeof *slot), result; /* in the device symmetric heap */
    uint64_t *arrived = shmemg_calloc(1, sizeof *arrived);
    const size_t one_group[3] = {1, 1, 1}, one_item[3] = {1, 1, 1}, bytes[] = {sizeof slot, sizeof arrived};
    void *const args[] = {&slot, &arrived};
    if (shmemx_launch("pass_on", one_group, one_item, args, bytes, 2) || shmemx_device_sync())
        shmem_global_exit(1);
    shmem_getmem(&result, slot, sizeof result, shmem_my_pe());
    printf("PE %d of %d: %ld\n", shmem_my_pe(), shmem_n_pes(), result);
    shmem_finalize();
}
