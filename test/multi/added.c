/*
 * added.c - the program's own memory as symmetric memory (shmemx_symmetric_add), at addresses that differ between PEs.
 */
#include "../tap_pes.h"

#include <shmemx.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 1 << 20, WORDS = BYTES / 8, MOST = 32 };

/* Whole pages; how many differs from PE to PE, so that the addresses do. */
static uint64_t *pages(size_t bytes, int flags)
{
    char *at = mmap(NULL, bytes + (size_t)me * BYTES, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        shmem_global_exit(3);
    munmap(at, (size_t)me * BYTES); /* the test's memory begins behind it */
    return (uint64_t *)(void *)(at + (size_t)me * BYTES);
}

/* Catches: contents lost when the memory moves or comes back; a store that goes to other memory; a PE's address that is taken for another's. */
static void test_transfers(void)
{
    uint64_t *m = pages(BYTES, MAP_PRIVATE), *get = malloc(BYTES), left = (uint64_t)((me + n_pes - 1) % n_pes), next = (uint64_t)next_pe();
    for (int i = 0; i < WORDS; i++)
        m[i] = (uint64_t)me << 32 | (uint64_t)i;
    CHECK(shmemx_symmetric_add(m, BYTES, SHMEMX_MEMORY_HOST) == 0);
    for (int i = 0; i < WORDS; i++)
        CHECK(m[i] == ((uint64_t)me << 32 | (uint64_t)i));
    shmem_getmem(get, m, BYTES, next_pe());
    for (int i = 0; i < WORDS; i++)
        CHECK(get[i] == (next << 32 | (uint64_t)i));
    shmem_barrier_all();
    shmem_uint64_p(&m[5], 100 + (uint64_t)me, next_pe());
    shmem_putmem(&m[WORDS / 2], get, BYTES / 2, next_pe()); /* its own words of the first half come back */
    shmem_uint64_iput(&m[10], get, 3, 1, 4, next_pe());
    CHECK(shmem_uint64_atomic_fetch_add(&m[30], 7, next_pe()) == (next << 32 | 30));
    shmem_barrier_all();
    CHECK(m[5] == 100 + left && m[10] == (uint64_t)me << 32 && m[19] == ((uint64_t)me << 32 | 3) && m[30] == ((uint64_t)me << 32 | 30) + 7);
    for (int i = 0; i < WORDS / 2; i++)
        CHECK(m[WORDS / 2 + i] == ((uint64_t)me << 32 | (uint64_t)i));
    CHECK(shmemx_symmetric_remove(m) == 0);
    CHECK(m[5] == 100 + left && m[WORDS - 1] == ((uint64_t)me << 32 | (WORDS / 2 - 1)));
    m[0] = 1; /* the program's own again */
    munmap(m, BYTES);
    free(get);
}

/* Catches: waits, signals, locks and collectives that do not find the memory. */
static void test_uses(void)
{
    uint64_t *m = pages(BYTES, MAP_PRIVATE);
    long *lock = (long *)&m[0];
    int *sum = (int *)&m[64], *from = (int *)&m[72];
    *from = me + 1;
    CHECK(shmemx_symmetric_add(m, BYTES, SHMEMX_MEMORY_HOST) == 0);
    shmem_putmem_signal(&m[8], &m[100], 256, &m[1], 5, SHMEM_SIGNAL_ADD, next_pe());
    CHECK(shmem_signal_wait_until(&m[1], SHMEM_CMP_EQ, 5) == 5);
    for (int i = 0; i < 10; i++) {
        shmem_set_lock(lock);
        shmem_int_p(&sum[1], shmem_int_g(&sum[1], 0) + 1, 0);
        shmem_quiet();
        shmem_clear_lock(lock);
    }
    shmem_int_sum_reduce(SHMEM_TEAM_WORLD, sum, from, 1);
    CHECK(*sum == n_pes * (n_pes + 1) / 2);
    CHECK(shmem_int_g(&sum[1], 0) == 10 * n_pes);
    static int anything;
    CHECK((shmem_ptr(m, next_pe()) != NULL) == (shmem_ptr(&anything, next_pe()) != NULL));
    shmem_barrier_all();
    CHECK(shmemx_symmetric_remove(m) == 0);
    munmap(m, BYTES);
}

/* Catches: an error on one PE that others do not see; memory that cannot move and moves all the same; a place that is lost. */
static void test_errors(void)
{
    uint64_t *m = pages(3 * BYTES, MAP_PRIVATE), *shared = pages(BYTES, MAP_SHARED), *all[MOST];
    CHECK(shmemx_symmetric_add(me == 0 ? (char *)m + 8 : (char *)m, BYTES, SHMEMX_MEMORY_HOST) == -22); /* EINVAL */
    CHECK(shmemx_symmetric_add(me == n_pes - 1 ? shared : m, BYTES, SHMEMX_MEMORY_HOST) == -14); /* EFAULT */
    CHECK(shmemx_symmetric_add(NULL, BYTES, SHMEMX_MEMORY_HOST) == -22);
    munmap((char *)m + BYTES, BYTES); /* a hole */
    CHECK(shmemx_symmetric_add(m, 3 * BYTES, SHMEMX_MEMORY_HOST) == -14);
    if (n_pes > 1 && !getenv("SHMEM_CHECK")) /* it ends the job where arguments differ */
        CHECK(shmemx_symmetric_add(m, me == 0 ? 4096 * 16 : BYTES, SHMEMX_MEMORY_HOST) == -22);
    CHECK(shmemx_symmetric_remove(m) == -22);
    CHECK(shmemx_symmetric_add(shmem_malloc(1 << 16), 1 << 16, SHMEMX_MEMORY_HOST) == -17); /* EEXIST */
    for (int k = 0; k < 3; k++) { /* places serve again */
        for (int i = 0; i < MOST; i++) {
            all[i] = pages(1 << 16, MAP_PRIVATE);
            all[i][0] = (uint64_t)i + 1;
            CHECK(shmemx_symmetric_add(all[i], 1 << 16, SHMEMX_MEMORY_HOST) == 0);
        }
        CHECK(shmemx_symmetric_add(m, BYTES, SHMEMX_MEMORY_HOST) == -28); /* ENOSPC */
        for (int i = 0; i < MOST; i++) {
            CHECK(shmem_uint64_g(all[i], next_pe()) == (uint64_t)i + 1 && shmem_uint64_g(all[i] + 1, next_pe()) == 0);
            shmem_barrier_all();
            all[i][1] = 9;
            CHECK(shmemx_symmetric_remove(all[i]) == 0 && all[i][1] == 9);
            munmap(all[i], 1 << 16);
        }
    }
    munmap(m, BYTES);
    munmap((char *)m + 2 * BYTES, BYTES);
    munmap(shared, BYTES);
}

/* Catches: a forked child that changes its parent's memory. */
static void test_fork(void)
{
    uint64_t *m = pages(BYTES, MAP_PRIVATE);
    int status = -1;
    m[0] = 4;
    CHECK(shmemx_symmetric_add(m, BYTES, SHMEMX_MEMORY_HOST) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        int seen = m[0] == 4;
        m[0] = 5;
        _exit(seen && m[0] == 5 ? 0 : 1);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 && m[0] == 4);
    shmem_barrier_all();
}

int main(void)
{
    uint64_t *kept = NULL;
    for (int k = 0; k < 2; k++) {
        shmem_init();
        tap_pes_begin();
        if (k == 0) {
            RUN(test_transfers, "puts, gets and atomics; contents stay");
            RUN(test_uses, "signals, locks, collectives");
            RUN(test_errors, "errors, all places, again");
            RUN(test_fork, "a forked child's copy");
            kept = pages(BYTES, MAP_PRIVATE);
            kept[1] = 11;
            shmemx_symmetric_add(kept, BYTES, SHMEMX_MEMORY_HOST);
        }
        shmem_barrier_all();
        if (k == 0)
            shmem_uint64_p(&kept[2], 12, next_pe());
        shmem_finalize(); /* the second memory is added still */
    }
    if (kept[1] != 11 || kept[2] != 12)
        return 1;
    return tap_end();
}
