/* observe.c - a program with known numbers of operations, for statistics and traces. "die": one more barrier, then PE 1
 * kills itself; "many": 20,000 more puts; "late": one more barrier, to which the last PE comes 200 ms late;
 * "arrows": PEs pass on a counter, a flag that is set back and a block, then all add to a word of PE 0. */
#include <shmem.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum { PUTS = 10, WORDS = 100 };
static long a[WORDS], b[WORDS], count;
static long gathered[64 * WORDS];
static uint64_t sig;

static long passed;
static int flag, sum;
static long block[WORDS];

static void arrows(int me, int n, int next)
{
    for (long i = 1; i <= 5; i++) { /* 5 n arrows */
        if (me)
            shmem_long_wait_until(&passed, SHMEM_CMP_GE, i);
        shmem_long_p(&passed, i, next);
        if (!me)
            shmem_long_wait_until(&passed, SHMEM_CMP_GE, i);
    }
    for (int i = 0; i < 3; i++) { /* up to 3 n arrows: where the wait ends at once, it may have read the 1 of the time before */
        shmem_int_atomic_set(&flag, 1, next);
        shmem_int_wait_until(&flag, SHMEM_CMP_EQ, 1);
        flag = 0;
        shmem_barrier_all();
    }
    for (int i = 0; i < WORDS; i++)
        b[i] = 1;
    shmem_barrier_all();
    if (me == 0) /* an arrow to PE 1 */
        shmem_long_put(block, b, WORDS, 1);
    if (me == 1)
        shmem_long_wait_until(&block[WORDS - 1], SHMEM_CMP_EQ, 1);
    shmem_int_atomic_add(&sum, 1, 0);
    if (me == 0) /* an arrow where the sums are known: on one node */
        shmem_int_wait_until(&sum, SHMEM_CMP_EQ, n);
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    if (argc > 1 && strcmp(argv[1], "arrows") == 0) {
        arrows(me, n, next);
        shmem_finalize();
        return 0;
    }
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
