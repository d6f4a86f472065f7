/*
 * ring.c - a token goes round the PEs; each PE adds its number and passes the token on by a put with signal.
 *
 *   usage: oshrun -n 4 ring [ROUNDS]     default 3
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>

static long token;
static uint64_t arrived; /* the last round whose token has arrived */

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), next = (me + 1) % n;
    uint64_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 3;
    for (uint64_t round = 1; round <= rounds; round++) {
        if (me != 0)
            shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, round);
        long sum = token + me;
        shmem_long_put_signal(&token, &sum, 1, &arrived, round, SHMEM_SIGNAL_SET, next);
        if (me == 0) {
            shmem_signal_wait_until(&arrived, SHMEM_CMP_EQ, round);
            printf("round %lu: the token holds %ld\n", (unsigned long)round, token);
        }
    }
    shmem_finalize();
    return 0;
}
