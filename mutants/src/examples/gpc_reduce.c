/*
 * gpc_reduce.c - a reduction along a tree that PE 0 alone starts; the other PEs make no call.
 *
 * func replies with the PE's own vector, times the factor in the request's header; the callback adds a child's vector.
 */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 1000 };

static double mine[N]; /* the contribution of this PE */

/* GPC function: hdr is the factor; reply with this PE's vector, scaled. */
static int scale(shmemx_gpc_call_t *c)
{
    double factor = *(const double *)c->hdr, *out = c->rdata;
    for (int i = 0; i < N; i++)
        out[i] = factor * mine[i];
    c->rdsize = N * sizeof *out;
    return SHMEMX_GPC_DONE;
}

static int add(shmemx_gpc_call_t *c)
{
    const double *in = c->cdata;
    double *out = c->rdata;
    for (int i = 0; i < N; i++)
        out[i] += in[i];
    return 0;
}

/* A user-defined tree: chains of every second PE, 0 -> 2 -> 4 ..., 0 -> 1 -> 3 ... */
static int two_chains(int root, int id, int idlen, const int *idlst, int *children)
{
    int k = 0;
    for (int i = 0; i < idlen; i++)
        if (id == root ? idlst[i] <= 2 : idlst[i] == id + 2)
            children[k++] = idlst[i];
    return k;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), bad = 0;
    int func = shmemx_gpc_register(scale), callback = shmemx_gpc_register_callback(add);
    int trees[] = {SHMEMX_GPC_BINARY, SHMEMX_GPC_BINOMIAL, shmemx_gpc_register_tree(two_chains)};
    for (int i = 0; i < N; i++)
        mine[i] = me + i;
    shmem_barrier_all();

    int *all = malloc((size_t)n * sizeof *all);
    for (int i = 0; i < n; i++)
        all[i] = i;
    for (int t = 0; me == 0 && t < 3; t++) {
        double factor = 0.5, sum[N];
        int err = shmemx_gpc_chained_exec(SHMEM_TEAM_WORLD, func, callback, &factor, sizeof factor, NULL, 0, NULL, 0, sum,
                                          sizeof sum, n, all, NULL, trees[t]);
        for (int i = 0; i < N; i++)
            bad |= err != 0 || sum[i] != 0.5 * (n * (n - 1) / 2 + (double)n * i);
        printf("tree %d: %s, sum[1] = %g\n", trees[t], err ? "failed" : "done", sum[1]);
    }
    free(all);
    shmem_finalize();
    return bad;
}
