/* device_one.c - one PE has no device, so no PE has a device heap. */
#include <shmem.h>
#include <shmemx.h>

#include "../tap_pes.h"

/* Catches: after a first call that fails on all PEs, a second one that returns memory on some, or waits for the
 * others. */
static void refused_everywhere(void)
{
    for (int i = 0; i < 3; i++) {
        void *p = shmemg_malloc(64);
        CHECKF(!p == (n_pes > 1), "call %d returns %p", i, p);
        shmem_barrier_all();
    }
}

int main(void)
{
    const char *rank = getenv("SHMEM_UNIQUEID"); /* begins with the number, by test/lib/uidrun */
    rank = rank ? rank : getenv("PMIX_RANK");
    if (rank && atoi(rank) == 1)
        setenv("SHMEM_DEVICE", "ze:99", 1);
    shmem_init();
    tap_pes_begin();
    RUN(refused_everywhere, "one PE without a device: NULL on every PE, each time");
    shmem_finalize();
    return tap_end();
}
