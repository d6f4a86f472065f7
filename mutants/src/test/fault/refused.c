/* refused.c - for refused.sh: a short job that compares all results and the places of its blocks on all PEs. */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS = 24, N = 40000 };

static long all[BLOCKS], at[BLOCKS], box[N], taken[2];
static int me, n, next;

static void need(int right, const char *what)
{
    if (right)
        return;
    printf("wrong on PE %d: %s\n", me, what);
    fflush(stdout);
    shmem_global_exit(3);
}

static int twice(shmemx_gpc_call_t *call)
{
    *(long *)call->rhdr = *(const long *)call->hdr * 2;
    call->rhsize = sizeof(long);
    return SHMEMX_GPC_DONE;
}

static void blocks(void)
{
    char *block[BLOCKS], *base = shmem_malloc(64);
    need(base != NULL, "shmem_malloc");
    for (int i = 0; i < BLOCKS; i++) {
        block[i] = i % 5 == 2 ? shmem_align(4096, 100 + 1000 * (size_t)i) : shmem_malloc(100 + 700 * (size_t)(i * 7 % 11));
        need(block[i] != NULL, "shmem_malloc");
        at[i] = block[i] - base;
        if (i % 3 == 2) {
            shmem_free(block[i - 1]);
            block[i - 1] = NULL;
        }
        if (i % 4 == 3)
            need((block[i] = shmem_realloc(block[i], 60)) != NULL, "shmem_realloc");
    }
    shmem_long_max_reduce(SHMEM_TEAM_WORLD, all, at, BLOCKS);
    need(!memcmp(all, at, sizeof at), "the place of a block");
    for (int i = 0; i < BLOCKS; i++)
        shmem_free(block[i]);
}

static void transfers(void)
{
    static long here[N], sum, signal_word[8];
    shmem_ctx_t ctx;
    if (shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx))
        ctx = SHMEM_CTX_DEFAULT; /* a context may be refused */
    for (int i = 0; i < N; i++)
        here[i] = i + me;
    shmem_ctx_long_put_signal_nbi(ctx, box, here, N, (uint64_t *)signal_word, 1, SHMEM_SIGNAL_ADD, next);
    shmem_signal_wait_until((uint64_t *)signal_word, SHMEM_CMP_EQ, 1);
    for (int i = 0; i < N; i++)
        need(box[i] == i + (me + n - 1) % n, "put");
    shmem_ctx_quiet(ctx);
    if (ctx != SHMEM_CTX_DEFAULT)
        shmem_ctx_destroy(ctx);
    shmem_barrier_all();
    shmem_getmem(here, box, sizeof here, next);
    need(here[N - 1] == N - 1 + me, "get");
    shmem_long_atomic_fetch_add(&sum, 3, next);
    shmem_barrier_all();
    need(sum == 3, "fetch-add");
}

static void messages(int h)
{
    static const int sizes[] = {8, 5000, 200000};
    static char out[200000], in[200000];
    memset(out, 'a' + me, sizeof out);
    shmemx_tag_request_t r[3];
    for (int i = 0; i < 3; i++) /* the first two come before they are expected */
        shmemx_tag_isend(SHMEM_TEAM_WORLD, out, (size_t)sizes[i], (uint64_t)i, next, &r[i]);
    for (int i = 2; i >= 0; i--) {
        shmemx_tag_recv(SHMEM_TEAM_WORLD, in, sizeof in, (uint64_t)i, ~0ull, (me + n - 1) % n, NULL);
        need(in[0] == 'a' + (me + n - 1) % n && in[sizes[i] - 1] == in[0], "message");
    }
    for (int i = 0; i < 3; i++)
        shmemx_tag_wait(&r[i], NULL);
    long value = 21, reply = 0;
    int status =
        shmemx_gpc_exec(SHMEM_TEAM_WORLD, h, next, &value, sizeof value, NULL, 0, &reply, sizeof reply, NULL, 0, NULL);
    need(status ? status < 0 : reply == 42, "gpc");
    shmem_barrier_all();
}

int main(void)
{
    shmem_init();
    me = shmem_my_pe();
    n = shmem_n_pes();
    next = (me + 1) % n;
    blocks();
    transfers();
    messages(shmemx_gpc_register(twice));
    shmem_team_t team;
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 1, n, NULL, 0, &team);
    need(team != SHMEM_TEAM_INVALID, "team");
    taken[0] = me;
    shmem_long_sum_reduce(team, taken + 1, taken, 1);
    need(taken[1] == n * (n - 1) / 2, "sum");
    shmem_team_destroy(team);
    if (me == 0)
        puts("all right");
    shmem_finalize();
    return 0;
}
