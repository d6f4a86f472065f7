/*
 * many.c - a job of many PEs starts, synchronises, reduces, passes a value around a ring, splits its team, exchanges messages with
 * a few PEs and ends; PE 0 prints how long each part took and how much memory a PE has. With the argument "sets" its PEs synchronise in
 * all active sets that they belong to; with "all" each of them puts and sends to each, and PE 0 prints sockets and memory; with "idle"
 * it prints the memory again after IDLE_S seconds. many.sh runs it.
 */
#include <shmem.h>
#include <dirent.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NEIGHBOURS = 8, IDLE_S = 25 };

static int me, n, bad;
static long in, sum, from_left, memory[2], memories[2];

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A line of a file below /proc/self, in KiB. */
static long kib(const char *file, const char *key)
{
    char line[256];
    long value = 0;
    FILE *f = fopen(file, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, key, strlen(key)) == 0)
            value = atol(line + strlen(key));
    if (f)
        fclose(f);
    return value;
}

static void expect(const char *what, long found, long wanted)
{
    if (found != wanted)
        fprintf(stderr, "PE %d: %s: %ld instead of %ld\n", me, what, found, wanted);
    bad |= found != wanted;
}

static void reduce(void)
{
    in = me + 1;
    shmem_sum_reduce(SHMEM_TEAM_WORLD, &sum, &in, 1);
    expect("sum", sum, (long)n * (n + 1) / 2);
}

static void ring(void)
{
    shmem_long_p(&from_left, me + 1, (me + 1) % n);
    shmem_barrier_all();
    expect("ring", from_left, (me + n - 1) % n + 1);
}

static void split(void)
{
    shmem_team_t odd = SHMEM_TEAM_INVALID;
    int size = n / 2;
    if (size == 0)
        return;
    expect("split", shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, size, NULL, 0, &odd), 0);
    if (me % 2 == 0)
        return;
    expect("number in the team", shmem_team_my_pe(odd), me / 2);
    in = 1;
    shmem_sum_reduce(odd, &sum, &in, 1);
    expect("sum of the team", sum, size);
    shmem_team_destroy(odd);
}

/* Messages to PEs at distances 1, 2, 4, ... */
static void messages(void)
{
    int value[2 * NEIGHBOURS];
    shmemx_tag_request_t request[2 * NEIGHBOURS];
    int k = 0;
    for (int d = 1; d < n && k < NEIGHBOURS; d *= 2, k++) {
        value[k] = -1;
        value[NEIGHBOURS + k] = me;
        shmemx_tag_irecv(SHMEM_TEAM_WORLD, &value[k], sizeof value[k], (uint64_t)d, ~0ull, (me + n - d) % n, &request[2 * k]);
        shmemx_tag_isend(SHMEM_TEAM_WORLD, &value[NEIGHBOURS + k], sizeof value[k], (uint64_t)d, (me + d) % n, &request[2 * k + 1]);
    }
    for (int i = 0; i < 2 * k; i++)
        shmemx_tag_wait(&request[i], NULL);
    for (int i = 0, d = 1; i < k; i++, d *= 2)
        expect("message", value[i], (me + n - d) % n);
}

/* Each set has a pSync of its own: its members need not have left the set before. */
static int sets(void)
{
    enum { MOST_PES = 64, LOGS = 6, SETS = LOGS * MOST_PES * MOST_PES };
    static long psync[SETS][SHMEM_BARRIER_SYNC_SIZE];
    for (int i = 0; i < SETS; i++)
        for (int k = 0; k < SHMEM_BARRIER_SYNC_SIZE; k++)
            psync[i][k] = SHMEM_SYNC_VALUE;
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes() < MOST_PES ? shmem_n_pes() : MOST_PES;
    shmem_barrier_all();
    for (int size = 2; size <= n; size++)
        for (int log = 0; log < LOGS; log++)
            for (int start = 0; start + ((size - 1) << log) < n; start++)
                if (me >= start && (me - start) % (1 << log) == 0 && (me - start) >> log < size)
                    shmem_barrier(start, log, size, psync[(log * MOST_PES + size - 1) * MOST_PES + start]);
    shmem_finalize();
    return 0;
}

static long sockets(void)
{
    char name[64], to[64];
    long found = 0;
    DIR *d = opendir("/proc/self/fd");
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(name, sizeof name, "/proc/self/fd/%.20s", e->d_name);
        ssize_t bytes = readlink(name, to, sizeof to);
        found += bytes > 7 && memcmp(to, "socket:", 7) == 0;
    }
    if (d)
        closedir(d);
    return found;
}

/* Of the mappings of the node's shared memory: this PE's share in KiB. */
static long shared_kib(void)
{
    char line[512];
    long all = 0;
    int counts = 0;
    FILE *f = fopen("/proc/self/smaps", "r");
    while (f && fgets(line, sizeof line, f)) {
        if (strchr("0123456789abcdef", line[0]))
            counts = strstr(line, "/memfd:fulmar") != NULL;
        else if (counts && strncmp(line, "Pss:", 4) == 0)
            all += atol(line + 4);
    }
    if (f)
        fclose(f);
    return all;
}

/* KiB of all PEs: of everything, and of shared memory. */
static void measure(long kib_of[2])
{
    memory[0] = kib("/proc/self/smaps_rollup", "Pss:");
    memory[1] = shared_kib();
    shmem_sum_reduce(SHMEM_TEAM_WORLD, memories, memory, 2);
    memcpy(kib_of, memories, sizeof memories);
}

static void each_to_each(void)
{
    enum { PUT_BYTES = 65536, TAG_BYTES = 16000 };
    char *to = shmem_malloc(PUT_BYTES), *from = calloc(1, PUT_BYTES), *got = malloc(TAG_BYTES);
    shmemx_tag_request_t *sent = malloc((size_t)n * sizeof *sent);
    for (int d = 1; d < n; d++) {
        shmem_putmem(to, from, 8, (me + d) % n);
        shmem_putmem(to, from, PUT_BYTES, (me + d) % n);
        shmemx_tag_isend(SHMEM_TEAM_WORLD, from, TAG_BYTES, 1, (me + d) % n, &sent[d]);
    }
    for (int d = 1; d < n; d++)
        shmemx_tag_recv(SHMEM_TEAM_WORLD, got, TAG_BYTES, 1, ~0ull, (me + n - d) % n, NULL);
    for (int d = 1; d < n; d++)
        shmemx_tag_wait(&sent[d], NULL);
    shmem_barrier_all();
    free(sent);
    free(got);
    free(from);
    shmem_free(to);
}

static int all(int idle)
{
    long at_first[2], later[2];
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    in = sockets();
    shmem_max_reduce(SHMEM_TEAM_WORLD, &sum, &in, 1);
    each_to_each();
    measure(at_first);
    if (idle) {
        shmem_barrier_all();
        sleep(IDLE_S);
        shmem_barrier_all();
    }
    measure(later);
    if (me == 0)
        printf("%d PEs: sockets at first: %ld, KiB a PE: %ld, of shared memory: %ld, later: %ld, %ld\n", n, sum, at_first[0] / n,
               at_first[1], later[0] / n, later[1]);
    shmem_finalize();
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && (strcmp(argv[1], "all") == 0 || strcmp(argv[1], "idle") == 0))
        return all(argv[1][0] == 'i');
    if (argc > 1 && strcmp(argv[1], "sets") == 0)
        return sets();
    static void (*const part[])(void) = {shmem_barrier_all, reduce, ring, split, messages};
    static const char *const name[] = {"barrier", "reduce", "ring", "split", "messages"};
    enum { PARTS = sizeof part / sizeof *part };
    double took[PARTS + 1], begin = now();
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    took[PARTS] = now() - begin;
    for (int i = 0; i < PARTS; i++) {
        begin = now();
        part[i]();
        took[i] = now() - begin;
    }
    memory[0] = kib("/proc/self/smaps_rollup", "Pss:");
    memory[1] = kib("/proc/self/status", "VmPTE:");
    shmem_sum_reduce(SHMEM_TEAM_WORLD, memories, memory, 2);
    if (me == 0) {
        printf("%d PEs: init %.3f s", n, took[PARTS]);
        for (int i = 0; i < PARTS; i++)
            printf(", %s %.3f", name[i], took[i]);
        printf("; a PE: %ld KiB, page tables %ld KiB\n", memories[0] / n, memories[1] / n);
    }
    shmem_finalize();
    return bad;
}
