/* again.h - what a process does in one of many jobs: every kind of operation once, checked by arithmetic. */
#ifndef AGAIN_H
#define AGAIN_H

#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { AGAIN_WORDS = 300, AGAIN_LONG = 3000, AGAIN_ADDED = 1 << 16 }; /* a tagged message of AGAIN_LONG words is fetched by its receiver */

static long again_from_left;           /* static data, which a neighbour writes */
static long again_jobs;                /* how many jobs this process was in; static data keeps its values */
static long again_bss[1 << 16];        /* mostly never touched */
static const long again_constant = 77; /* read from a neighbour */

#define AGAIN_IS(cond)                                                                        \
    do {                                                                                      \
        if (!(cond)) {                                                                        \
            fprintf(stderr, "PE %d of %d, job %ld: not so: %s\n", me, n, again_jobs, #cond);  \
            bad = 1;                                                                          \
        }                                                                                     \
    } while (0)

static int again_double(shmemx_gpc_call_t *c)
{
    long x;
    memcpy(&x, c->data, sizeof x);
    x *= 2;
    memcpy(c->rdata, &x, sizeof x);
    c->rdsize = sizeof x;
    return SHMEMX_GPC_DONE;
}

static int again_tags(int me, int n, long key)
{
    int bad = 0, right = (me + 1) % n, left = (me + n - 1) % n;
    long out[2] = {key + me, key}, in[2] = {0, 0}, *longer = malloc(2 * AGAIN_LONG * sizeof *longer);
    shmemx_tag_request_t receives[2], send;
    shmemx_tag_status_t status;
    for (int i = 0; i < AGAIN_LONG; i++)
        longer[i] = key + me + i;
    shmemx_tag_irecv(SHMEM_TEAM_WORLD, in, sizeof in, 1, ~0ul, left, &receives[0]);
    shmemx_tag_irecv(SHMEM_TEAM_WORLD, longer + AGAIN_LONG, AGAIN_LONG * sizeof *longer, 2, ~0ul, left, &receives[1]);
    shmemx_tag_isend(SHMEM_TEAM_WORLD, longer, AGAIN_LONG * sizeof *longer, 2, right, &send);
    shmemx_tag_send(SHMEM_TEAM_WORLD, out, sizeof out, 1, right);
    shmemx_tag_wait(&receives[0], &status);
    AGAIN_IS(status.source == left && in[0] == key + left && in[1] == key);
    shmemx_tag_wait(&receives[1], &status);
    shmemx_tag_wait(&send, &status);
    for (int i = 0; i < AGAIN_LONG; i++)
        AGAIN_IS(longer[AGAIN_LONG + i] == key + left + i);
    free(longer);
    return bad;
}

static int again_collectives(int me, int n, long key, long *heap)
{
    int bad = 0;
    long *all = heap + AGAIN_WORDS, *sums = all + n;
    *heap = key + me;
    shmem_long_fcollect(SHMEM_TEAM_WORLD, all, heap, 1);
    shmem_long_sum_reduce(SHMEM_TEAM_WORLD, sums, heap, 1);
    for (int i = 0; i < n; i++)
        AGAIN_IS(all[i] == key + i);
    AGAIN_IS(*sums == n * key + (long)n * (n - 1) / 2);
    shmemx_req_t later;
    shmemx_long_sum_reduce_nb(SHMEM_TEAM_WORLD, sums + 2, heap, 1, &later);
    shmemx_req_wait(&later);
    AGAIN_IS(sums[2] == *sums);
    shmem_team_t half;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (n + 1) / 2, NULL, 0, &half);
    AGAIN_IS((half != SHMEM_TEAM_INVALID) == (me % 2 == 0));
    if (half != SHMEM_TEAM_INVALID) {
        shmem_ctx_t ctx;
        AGAIN_IS(shmem_team_create_ctx(half, SHMEM_CTX_PRIVATE, &ctx) == 0);
        shmem_ctx_long_atomic_inc(ctx, sums + 1, 0);
        shmem_ctx_quiet(ctx);
        shmem_team_sync(half);
        AGAIN_IS(shmem_team_my_pe(half) != 0 || sums[1] == shmem_team_n_pes(half));
        long there = 0, here = key;
        shmemx_tag_request_t r;
        int k = shmem_team_my_pe(half), size = shmem_team_n_pes(half);
        shmemx_tag_irecv(half, &there, sizeof there, 3, ~0ul, (k + size - 1) % size, &r);
        shmemx_tag_send(half, &here, sizeof here, 3, (k + 1) % size);
        shmemx_tag_wait(&r, NULL);
        AGAIN_IS(there == key);
        if (key % 2) /* else shmem_finalize destroys it */
            shmem_team_destroy(half);
    }
    return bad;
}

/* Memory of the process that is symmetric in this job, and private again afterwards. */
static int again_added(int me, int n, long key)
{
    int bad = 0, right = (me + 1) % n, left = (me + n - 1) % n;
    long *m = mmap(NULL, AGAIN_ADDED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    m[1] = key;
    AGAIN_IS(shmemx_symmetric_add(m, AGAIN_ADDED, SHMEMX_MEMORY_HOST) == 0);
    shmem_long_p(m, key + me, right);
    shmem_barrier_all();
    AGAIN_IS(m[0] == key + left && m[1] == key && m[2] == 0 && shmem_long_g(m, right) == key + me);
    shmem_barrier_all();
    m[2] = key;
    AGAIN_IS(shmemx_symmetric_remove(m) == 0 && m[2] == key);
    munmap(m, AGAIN_ADDED);
    return bad;
}

/* In a job: 0, or 1 after a line for each mistake. key: the same at all PEs. */
static int again_work(int me, int n, long key)
{
    int bad = 0, right = (me + 1) % n, left = (me + n - 1) % n;
    AGAIN_IS(shmem_my_pe() == me && shmem_n_pes() == n);
    long *heap = shmem_calloc(AGAIN_WORDS + 2 * (size_t)n + 2, sizeof *heap), x = key + me, y = 0, got[AGAIN_WORDS];
    for (int i = 0; i < AGAIN_WORDS; i++)
        AGAIN_IS(heap[i] == 0);
    shmem_barrier_all();
    for (int i = 0; i < AGAIN_WORDS; i++)
        got[i] = x + i;
    shmem_long_put(heap, got, AGAIN_WORDS, right);
    shmem_long_p(&again_from_left, x, right);
    shmem_long_p(&again_bss[key % 60000], x, right);
    shmem_barrier_all();
    AGAIN_IS(heap[0] == key + left && heap[AGAIN_WORDS - 1] == key + left + AGAIN_WORDS - 1);
    AGAIN_IS(again_from_left == key + left && again_bss[key % 60000] == key + left);
    shmem_long_get(got, heap, AGAIN_WORDS, right);
    AGAIN_IS(got[1] == x + 1 && shmem_long_g(&again_from_left, right) == x && shmem_long_g(&again_constant, right) == 77);
    shmem_barrier_all();
    memset(heap, 0, AGAIN_WORDS * sizeof *heap);
    shmem_barrier_all();
    for (int pe = 0; pe < n; pe++)
        y += shmem_long_atomic_fetch_add(heap, me + 1, pe) >= 0;
    shmem_long_put_signal(heap + 1, &x, 1, (uint64_t *)heap + 2, 1, SHMEM_SIGNAL_ADD, right);
    shmem_signal_wait_until((uint64_t *)heap + 2, SHMEM_CMP_EQ, 1);
    shmem_barrier_all();
    AGAIN_IS(y == n && heap[0] == (long)n * (n + 1) / 2 && heap[1] == key + left);
    bad |= again_collectives(me, n, key, heap);
    bad |= again_tags(me, n, key);
    bad |= again_added(me, n, key);
    int handle = shmemx_gpc_register(again_double);
    AGAIN_IS(handle > 0 && shmemx_gpc_exec(SHMEM_TEAM_WORLD, handle, right, NULL, 0, &x, sizeof x, NULL, 0, &y, sizeof y, NULL) == 0 && y == 2 * x);
    again_jobs++;
    return bad;
}

#endif
