/* legacy.c - deprecated waits, and locks. */
#include "host/api/def.h"

#include "host/ops/lock.h"
#include "host/ops/p2p.h"
#include "host/ops/wait.h"

#define ONE(CMP, T) (&(struct shi_cond){__func__, ivar, 1, NULL, CMP, &cmp_value, 0, SHI_WORD_OF(T), NULL})

/* shmem_wait: until the word no longer has the value. */
#define DO_wait(T, E) shi_p2p_wait(ONE(SHMEM_CMP_NE, T));
#define ROW(F, N, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, ...)                                         \
    SHMEM_IF_##OW(SHMEM_API_OW(F##_C, F##_P, N, T))
SHMEM_TYPES(ROW, SHI_DEF)

SHI_DEF(void, shmem_wait, (long *ivar, long cmp_value))
{
    shi_p2p_wait(ONE(SHMEM_CMP_NE, long));
}

SHI_DEF(void, shmem_wait_until, (long *ivar, int cmp, long cmp_value))
{
    shi_p2p_wait(ONE(cmp, long));
}

SHI_DEF(void, shmem_set_lock, (long *lock))
{
    shi_lock_set(__func__, lock);
}

SHI_DEF(void, shmem_clear_lock, (long *lock))
{
    shi_lock_clear(__func__, lock);
}

SHI_DEF(int, shmem_test_lock, (long *lock))
{
    int is_held = shi_lock_test(__func__, lock);
    shi_wait_tested(!is_held);
    return is_held;
}
