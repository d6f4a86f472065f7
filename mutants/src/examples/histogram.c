/*
 * histogram.c - count how often each byte occurs in a file: the bins are distributed over the PEs, and every PE updates them
 * by atomic increments without fetch.
 *
 *   usage: oshrun -n 4 histogram FILE     prints "BYTE COUNT" for every byte that occurs
 */
#include <shmem.h>
#include <stdio.h>

enum { BINS = 256 };

static uint64_t bin[BINS]; /* PE b % n counts byte b in bin[b / n] */

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), c;
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!f) {
        fprintf(stderr, "histogram: %s\n", argc == 2 ? "the file cannot be read" : "usage: oshrun -n N histogram FILE");
        shmem_global_exit(1);
    }
    for (long at = 0; (c = getc(f)) != EOF; at++)
        if (at % n == me)
            shmem_uint64_atomic_inc(&bin[c / n], c % n);
    fclose(f);
    shmem_barrier_all(); /* completes the increments of all PEs */
    for (int b = 0; me == 0 && b < BINS; b++) {
        uint64_t count = shmem_uint64_g(&bin[b / n], b % n);
        if (count)
            printf("%d %lu\n", b, (unsigned long)count);
    }
    shmem_finalize();
    return 0;
}
