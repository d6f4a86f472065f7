/*
 * pipeline.c - a pipeline of PEs: blocks of work pass from stage to stage as tagged messages, several under way at once.
 *
 *   oshcc -O2 examples/pipeline.c -o pipeline && oshrun -n 4 ./pipeline [blocks] [words of a block]
 *
 * The first PE makes blocks, each stage in between changes them, the last one checks them. A block's tag is its number,
 * so that a stage may take blocks in another order: here the last one takes the second of each pair first. Every stage
 * keeps DEPTH blocks under way, and a block is received straight into the buffer in which it is worked on.
 */
#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DEPTH = 4, LAG = DEPTH / 2 };

struct slot {
    uint64_t *words;
    shmemx_tag_request_t request; /* the receive into it, or the send out of it */
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* The work of one stage: what the last PE expects is `stages` times this. */
static void work(uint64_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        words[i] = words[i] * 3 + 1;
}

static uint64_t expected(uint64_t word, int stages)
{
    for (int i = 0; i < stages; i++)
        word = word * 3 + 1;
    return word;
}

static void produce(struct slot *slots, int blocks, size_t n, int to)
{
    for (int b = 0; b < blocks; b++) {
        struct slot *s = &slots[b % DEPTH];
        shmemx_tag_wait(&s->request, NULL); /* the block that was sent from here before */
        for (size_t i = 0; i < n; i++)
            s->words[i] = (uint64_t)b + i;
        shmemx_tag_isend(SHMEM_TEAM_WORLD, s->words, n * sizeof *s->words, (uint64_t)b, to, &s->request);
    }
}

/* Receives are LAG blocks ahead of the work, and sends have as long again to complete before their buffer is used. */
static void pass_on(struct slot *slots, int blocks, size_t n, int from, int to)
{
    for (int b = 0; b < blocks + LAG; b++) {
        struct slot *coming = &slots[b % DEPTH], *here = &slots[(b + DEPTH - LAG) % DEPTH];
        if (b >= LAG) {
            shmemx_tag_status_t status;
            shmemx_tag_wait(&here->request, &status);
            work(here->words, n);
            shmemx_tag_isend(SHMEM_TEAM_WORLD, here->words, status.bytes, status.tag, to, &here->request);
        }
        if (b < blocks) {
            shmemx_tag_wait(&coming->request, NULL);
            shmemx_tag_irecv(SHMEM_TEAM_WORLD, coming->words, n * sizeof *coming->words, (uint64_t)b, SHMEMX_TAG_EXACT,
                             from, &coming->request);
        }
    }
}

/* How many words are wrong. */
static long consume(uint64_t *words, int blocks, size_t n, int from, int stages)
{
    long wrong = 0;
    for (int i = 0; i < blocks; i++) {
        int b = (i ^ 1) < blocks ? i ^ 1 : i;
        shmemx_tag_recv(SHMEM_TEAM_WORLD, words, n * sizeof *words, (uint64_t)b, SHMEMX_TAG_EXACT, from, NULL);
        for (size_t k = 0; k < n; k++)
            wrong += words[k] != expected((uint64_t)b + k, stages);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int blocks = argc > 1 ? atoi(argv[1]) : 1000;
    size_t n = argc > 2 ? (size_t)atol(argv[2]) : 8192;
    shmem_init();
    int me = shmem_my_pe(), last = shmem_n_pes() - 1;
    struct slot slots[DEPTH];
    for (int i = 0; i < DEPTH; i++) { /* symmetric memory, which the next stage reads without a copy in between */
        slots[i].words = shmem_malloc(n * sizeof(uint64_t));
        slots[i].request = SHMEMX_TAG_REQUEST_NULL;
    }
    shmem_barrier_all();
    double start = now_s();
    long wrong = 0;
    if (last == 0)
        printf("a pipeline has two stages at least: oshrun -n 2 ./pipeline\n");
    else if (me == 0)
        produce(slots, blocks, n, 1);
    else if (me < last)
        pass_on(slots, blocks, n, me - 1, me + 1);
    else
        wrong = consume(slots[0].words, blocks, n, me - 1, last - 1);
    for (int i = 0; i < DEPTH; i++)
        shmemx_tag_wait(&slots[i].request, NULL);
    double took = now_s() - start;
    if (last > 0 && me == last)
        printf("%d blocks of %zu bytes through %d stages: %.2f GB/s, %ld words wrong\n", blocks, n * sizeof(uint64_t),
               last + 1, (double)blocks * (double)n * sizeof(uint64_t) / took * 1e-9, wrong);
    shmem_finalize();
    return wrong != 0;
}
