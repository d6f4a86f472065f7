/*
 * sort.c - sample sort of a file of integers, one per line.
 *
 * Each PE reads and sorts its share of the lines. Evenly spaced samples of all shares give n - 1 splitters. A PE reserves space
 * on PE i by one atomic fetch-and-add, and puts its keys between splitters i - 1 and i there. PE i sorts the keys that it
 * received. PE 0 then gets the parts in order and prints them.
 *
 *   usage: oshrun -n 4 sort FILE > SORTED
 */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 32 }; /* per PE */

static long count;             /* number of this PE's keys, before and after the exchange */
static long total;             /* number of keys of all PEs */
static long room;              /* number of keys for which space is reserved on this PE */
static int me, n;

static int compare(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return (x > y) - (x < y);
}

/* Return the integers in lines me, me + n, me + 2n, ... of the file; end the job on an error. */
static long *read_share(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        shmem_global_exit(1);
    }
    long *key = NULL, k, size = 0;
    for (long line = 0; fscanf(f, "%ld", &k) == 1; line++)
        if (line % n == me) {
            if (count == size && !(key = realloc(key, (size_t)(size = 2 * size + 1024) * sizeof *key)))
                shmem_global_exit(1);
            key[count++] = k;
        }
    if (!feof(f)) {
        fprintf(stderr, "sort: %s contains a line that is not an integer\n", path);
        shmem_global_exit(1);
    }
    fclose(f);
    return key;
}

/* Fill splitter[n - 1], equal on every PE. A PE with few keys repeats some as samples; one without keys has no samples. */
static void choose_splitters(const long *key, long *splitter)
{
    static long valid, all_valid;
    long *mine = shmem_malloc(SAMPLES * sizeof *mine), *all = shmem_malloc((size_t)n * SAMPLES * sizeof *all);
    valid = count ? SAMPLES : 0;
    for (int i = 0; i < valid; i++)
        mine[i] = key[i * count / SAMPLES];
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &all_valid, &valid, 1);
    shmem_long_collect(SHMEM_TEAM_WORLD, all, mine, (size_t)valid);
    qsort(all, (size_t)all_valid, sizeof *all, compare);
    for (int i = 1; i < n; i++)
        splitter[i - 1] = all_valid ? all[i * all_valid / n] : 0;
    shmem_free(all);
    shmem_free(mine);
}

/* Put the sorted keys into their PEs; return the keys received, unsorted, and set count to their number. */
static long *exchange(const long *key, const long *splitter)
{
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, &total, &count, 1);
    long *bucket = shmem_malloc((size_t)total * sizeof *bucket + 1); /* one PE may receive all keys */
    for (long from = 0, to, pe = 0; pe < n; pe++, from = to) {
        for (to = from; to < count && (pe == n - 1 || key[to] < splitter[pe]); to++)
            ;
        if (to > from) {
            long at = shmem_long_atomic_fetch_add(&room, to - from, (int)pe);
            shmem_long_put(bucket + at, key + from, (size_t)(to - from), (int)pe);
        }
    }
    shmem_barrier_all();
    count = room;
    return bucket;
}

int main(int argc, char **argv)
{
    shmem_init();
    me = shmem_my_pe(), n = shmem_n_pes();
    if (argc != 2) {
        if (me == 0)
            fprintf(stderr, "usage: oshrun -n N sort FILE\n");
        shmem_finalize();
        return 2;
    }
    long *key = read_share(argv[1]), *splitter = malloc((size_t)n * sizeof *splitter);
    if (count)
        qsort(key, (size_t)count, sizeof *key, compare);
    choose_splitters(key, splitter);
    long *bucket = exchange(key, splitter);
    qsort(bucket, (size_t)count, sizeof *bucket, compare);
    shmem_barrier_all();
    for (int pe = 0; me == 0 && pe < n; pe++) {
        long size = shmem_long_g(&count, pe), *piece = malloc((size_t)size * sizeof *piece + 1);
        shmem_long_get(piece, bucket, (size_t)size, pe);
        for (long i = 0; i < size; i++)
            printf("%ld\n", piece[i]);
        free(piece);
    }
    free(splitter);
    free(key);
    shmem_finalize();
    return 0;
}
