/*
 * dropped.c - for survive.sh: the status of a context tells of the operations that a PE's death has dropped, and of no others.
 *
 * usage: dropped. PE 1 of 3 dies; PE 0 prints one line that begins with "right", or says what was wrong. Before its death PE 1 is stopped, with operations of
 * PE 0 under way to it.
 */
#include <shmem.h>
#include <shmemx.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONG = 1 << 20 };

static long pids[3], word, value, n_wrong;
static char *block, *local;

static void check(const char *what, shmem_ctx_t ctx, int expected)
{
    int is = shmemx_ctx_status(ctx), again = shmemx_ctx_status(ctx);
    if (is != expected || again)
        printf("wrong: %s: status %d, then %d\n", what, is, again);
    n_wrong += is != expected || again;
}

/* One operation of a kind. */
static void operate(shmem_ctx_t ctx, int kind, int pe)
{
    switch (kind) {
    case 0: shmem_ctx_long_p(ctx, &word, 1, pe); break;
    case 1: shmem_ctx_putmem(ctx, block, local, LONG, pe); break;
    case 2: shmem_ctx_putmem_nbi(ctx, block, local, LONG, pe); break;
    case 3: shmem_ctx_long_atomic_add(ctx, &word, 1, pe); break;
    case 4: value = shmem_ctx_long_atomic_fetch_add(ctx, &word, 1, pe); break;
    case 5: value = shmem_ctx_long_g(ctx, &word, pe); break;
    case 6: shmem_ctx_getmem(ctx, local, block, LONG, pe); break;
    case 7: shmem_ctx_getmem_nbi(ctx, local, block, LONG, pe); break;
    case 8: shmem_ctx_long_atomic_fetch_nbi(ctx, &value, &word, pe); break;
    case 9: shmem_ctx_putmem_signal(ctx, block, local, LONG, (uint64_t *)&word, 1, SHMEM_SIGNAL_ADD, pe); break;
    }
}

static const char *const names[] = {"p", "put", "put_nbi", "atomic_add", "atomic_fetch_add", "g", "get", "get_nbi", "atomic_fetch_nbi", "put_signal"};
enum { KINDS = sizeof names / sizeof *names };

/* Each operation on a context of its own kind of PE. */
static void each(shmem_ctx_t ctx, shmem_ctx_t other, int dead)
{
    for (int kind = 0; kind < KINDS; kind++) {
        char what[64];
        operate(ctx, kind, dead);
        operate(other, kind, 2);
        shmem_ctx_quiet(ctx);
        shmem_ctx_quiet(other);
        snprintf(what, sizeof what, "%s to the dead PE", names[kind]);
        check(what, ctx, SHMEMX_ERR_PE_FAILED);
        snprintf(what, sizeof what, "%s to another PE", names[kind]);
        check(what, other, 0);
    }
}

static void all(shmem_ctx_t under_way, shmem_ctx_t before, shmem_ctx_t ctx)
{
    operate(before, 0, 1);
    shmem_ctx_quiet(before);
    kill((pid_t)pids[1], SIGSTOP);
    usleep(100000);
    shmem_ctx_long_p(under_way, &word, 1, 1);
    check("before the death", under_way, 0);
    kill((pid_t)pids[1], SIGKILL);
    shmem_ctx_quiet(under_way);
    check("under way at the death", under_way, SHMEMX_ERR_PE_FAILED);
    check("complete before the death", before, 0);
    while (!shmemx_failed_pes(NULL, 0))
        usleep(1000);
    usleep(10000); /* the messages that wait are dropped */
    shmem_ctx_quiet(before);
    check("complete before the death", before, 0);
    each(ctx, before, 1);
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe();
    shmem_ctx_t ctx[3];
    block = shmem_malloc(LONG);
    local = malloc(LONG);
    for (int i = 0; i < 3; i++)
        if (!block || !local || shmem_ctx_create(SHMEM_CTX_PRIVATE, &ctx[i]))
            return 2;
    long pid = getpid();
    for (int pe = 0; pe < 3; pe++)
        shmem_long_p(&pids[me], pid, pe);
    shmem_barrier_all();
    if (me == 0)
        all(ctx[0], ctx[1], ctx[2]);
    uint64_t well = 1;
    shmemx_agree(SHMEM_TEAM_WORLD, &well, NULL, 0);
    shmem_finalize();
    if (me == 0 && !n_wrong)
        printf("right\n");
    return 0;
}
