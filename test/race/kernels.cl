/* kernels.cl - kernels of kernels.c, in OpenCL C and CUDA C++. x, y, flag, other: in the device symmetric heap. */
#include <shmemg.h>

#define INTS SHMEMG_GLOBAL int *
#define WORDS SHMEMG_GLOBAL uint64_t *

/* Put 1 to PE pe, and say so. */
SHMEMG_KERNEL void put_signal(INTS x, INTS y, WORDS flag, int pe, int mended)
{
    *y = 1;
    if (mended) {
        shmemg_int_put_signal((int *)x, (int *)y, 1, (uint64_t *)flag, 1, SHMEM_SIGNAL_SET, pe);
    } else {
        shmemg_int_put((int *)x, (int *)y, 1, pe);
        shmemg_signal_set((uint64_t *)flag, 1, pe);
    }
}

SHMEMG_KERNEL void put_flag(INTS x, WORDS flag, int pe, int mended)
{
    shmemg_int_p((int *)x, 1, pe);
    if (mended)
        shmemg_fence();
    shmemg_uint64_p((uint64_t *)flag, 1, pe);
}

/* The data goes to PE pe, the flag to another one: a fence is not enough. */
SHMEMG_KERNEL void put_and_tell(INTS x, WORDS flag, int pe, int told, int mended)
{
    shmemg_int_p((int *)x, 1, pe);
    if (mended)
        shmemg_quiet();
    else
        shmemg_fence();
    shmemg_uint64_atomic_set((uint64_t *)flag, 1, told);
}

SHMEMG_KERNEL void put_put(INTS x, int pe, int mended)
{
    shmemg_int_p((int *)x, 1, pe);
    if (mended)
        shmemg_fence();
    shmemg_int_p((int *)x, 2, pe);
}

SHMEMG_KERNEL void put_get(INTS x, INTS y, int pe, int mended)
{
    shmemg_int_p((int *)x, 1, pe);
    if (mended)
        shmemg_quiet();
    *y = shmemg_int_g((int *)x, pe);
}

SHMEMG_KERNEL void source(INTS x, INTS y, int pe, int mended)
{
    *x = 5;
    shmemg_int_put_nbi((int *)y, (int *)x, 1, pe);
    if (mended)
        shmemg_quiet();
    *x = 6;
}

SHMEMG_KERNEL void put_sync_read(INTS x, INTS y, int pe, int mended)
{
    if (shmemg_my_pe() == 0)
        shmemg_int_p((int *)x, 1, pe);
    if (mended)
        shmemg_quiet();
    shmemg_sync_all();
    if (shmemg_my_pe() == pe)
        *y = *x;
}

SHMEMG_KERNEL void wait_and_read(INTS x, INTS y, WORDS flag, int mended)
{
    if (mended)
        shmemg_signal_wait_until((uint64_t *)flag, SHMEM_CMP_EQ, 1);
    *y = *x;
}

/* The work-group waits; without the barrier of a _tg call only the first work-item has seen the signal. */
SHMEMG_KERNEL void group_waits(INTS x, INTS y, WORDS flag, int mended)
{
    if (mended)
        shmemg_signal_wait_until_tg((uint64_t *)flag, SHMEM_CMP_EQ, 1);
    else if (shmemg_local_id(0) == 0)
        shmemg_signal_wait_until((uint64_t *)flag, SHMEM_CMP_EQ, 1);
    y[shmemg_local_id(0)] = *x;
}

SHMEMG_KERNEL void amo(INTS x, int pe, int mended)
{
    if (mended)
        shmemg_int_atomic_add((int *)x, 1, pe);
    else
        shmemg_int_p((int *)x, 1, pe);
}

/* Work-items of two groups. */
SHMEMG_KERNEL void groups(INTS x, INTS y, int mended)
{
    if (mended && shmemg_group_id(0))
        *y = 1;
    else
        *x = 1;
}

/* Work-items of one group. */
SHMEMG_KERNEL void items(INTS x, INTS y, int mended)
{
    if (shmemg_local_id(0) == 2)
        *x = 1;
    if (mended)
        shmemg_barrier();
    if (shmemg_local_id(0) == 5)
        *y = *x;
}

/* What the others have stored is put by the first. */
SHMEMG_KERNEL void leader(INTS x, WORDS flag, int pe, int mended)
{
    if (shmemg_local_id(0) == 3)
        *x = 1;
    if (mended)
        shmemg_barrier();
    if (shmemg_local_id(0) == 0)
        shmemg_signal_set((uint64_t *)flag, 1, pe);
}

SHMEMG_KERNEL void group_puts(INTS x, INTS y, int pe, int mended)
{
    y[shmemg_local_id(0)] = 1;
    shmemg_int_put_nbi_tg((int *)x, (int *)y, shmemg_local_size(0), pe);
    if (mended)
        shmemg_quiet_tg();
    y[shmemg_local_id(0)] = 2;
}

/* Through the address of the peer's memory, where there is one. */
SHMEMG_KERNEL void direct(INTS x, int pe)
{
    int *at = (int *)shmemg_ptr((int *)x, pe);
    if (at)
        *at = 3;
    else
        shmemg_int_p((int *)x, 3, pe);
}

SHMEMG_KERNEL void write(INTS x)
{
    *x = 4;
}

SHMEMG_KERNEL void read(INTS x, INTS y)
{
    *y = *x;
}

/* A flag between two groups, by the atomics of the language. */
SHMEMG_KERNEL void publish(INTS x, INTS y, WORDS flag, int mended)
{
    if (shmemg_group_id(0) == 0) {
        *x = 1;
        if (mended)
            shi_store_release((SHI_GLOBAL shi_u64 *)flag, 1);
        else
            shi_store_relaxed((SHI_GLOBAL shi_u64 *)flag, 1);
    } else {
        while (!shi_load_acquire((SHI_GLOBAL shi_u64 *)flag))
            ;
        *y = *x;
    }
}

SHMEMG_KERNEL void publish_by_fence(INTS x, INTS y, WORDS flag, int mended)
{
    if (shmemg_group_id(0) == 0) {
        *x = 1;
        shi_fence_release();
        shi_store_relaxed((SHI_GLOBAL shi_u64 *)flag, 1);
    } else {
        while (!shi_load_relaxed((SHI_GLOBAL shi_u64 *)flag))
            ;
        if (mended)
            shi_fence_acquire();
        *y = *x;
    }
}
