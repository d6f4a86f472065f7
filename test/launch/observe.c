/* observe.c - a program with known numbers of operations, for statistics and traces. "die": one more barrier, then PE 1
 * kills itself; "many": 20,000 more puts; "late": one more barrier, to which the last PE comes 200 ms late. */
#include <shmem.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { PUTS = 10, WORDS = 100 };
static long a[WORDS], b[WORDS], count;
static long gathered[64 * WORDS];
static uint64_t sig;

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    for (int i = 0; argc > 1 && strcmp(argv[1], "many") == 0 && i < 20000; i++)
        shmem_long_p(&a[1], i, next);
    for (int i = 0; i < PUTS; i++)
        shmem_long_put(a, b, WORDS, next);          /* 10 puts of 800 bytes */
    shmem_long_p(&a[0], 7, next);                   /* 1 of 8 */
    shmem_long_iput(a, b, 2, 3, 5, next);           /* 1 of 40 */
    (void)shmem_long_g(&a[0], next);                /* 1 get of 8 */
    shmem_long_get_nbi(b, a, 4, 0);                 /* 1 of 32, from PE 0 */
    shmem_long_atomic_inc(&count, 0);               /* 1 atomic of 8, on PE 0 */
    (void)shmem_long_atomic_fetch(&count, 0);       /* 1 of 8 */
    shmem_putmem_signal(b, a, 16, &sig, 1, SHMEM_SIGNAL_ADD, next); /* 1 signal, with 16 */
    shmem_signal_wait_until(&sig, SHMEM_CMP_GE, 1); /* 1 wait */
    shmem_quiet();                                  /* 1 order */
    shmem_barrier_all();                            /* 1 barrier */
    shmem_long_fcollect(SHMEM_TEAM_WORLD, gathered, b, 3); /* 1 collective: 24 to each other PE */
    if (argc > 1 && strcmp(argv[1], "die") == 0)
        shmem_barrier_all();
    if (argc > 1 && strcmp(argv[1], "die") == 0 && me == 1)
        kill(getpid(), SIGKILL);
    if (argc > 1 && strcmp(argv[1], "late") == 0) {
        if (me == n - 1)
            usleep(200000);
        shmem_barrier_all();
    }
    shmem_finalize();
    return 0;
}
