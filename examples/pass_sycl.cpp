#include <ishmem.h>
#include <stdio.h>

int main()
{
    ishmem_init();
    sycl::queue queue;
    long *slot = (long *)ishmem_calloc(1, sizeof *slot), result; /* in the device symmetric heap */
    uint64_t *arrived = (uint64_t *)ishmem_calloc(1, sizeof *arrived);
    queue.single_task([=] {
        long mine = ishmem_my_pe();
        int next = (ishmem_my_pe() + 1) % ishmem_n_pes();
        ishmem_long_put_signal(slot, &mine, 1, arrived, 1, ISHMEM_SIGNAL_SET, next);
        ishmem_signal_wait_until(arrived, ISHMEM_CMP_EQ, 1);
        *slot *= 10; /* the value from the previous PE */
    }).wait();
    queue.memcpy(&result, slot, sizeof result).wait();
    printf("PE %d of %d: %ld\n", ishmem_my_pe(), ishmem_n_pes(), result);
    ishmem_finalize();
}
