/* team.c - entry points of teams and contexts. */
#include "host/api/def.h"

#include <shmemx_team.h>
#include <stdlib.h>

#include "host/coll/agree.h"
#include "host/coll/team.h"
#include "host/nbc/nbc.h"
#include "host/net/node/doorbell.h"
#include "host/ops/caller.h"
#include "host/ops/ctx.h"
#include "host/util/cancel.h"
#include "host/util/log.h"

SHI_DEF(int, shmem_team_my_pe, (shmem_team_t team))
{
    shi_need_up(__func__);
    const struct shmem_team *t = shi_team_of(__func__, "team", team);
    return t ? t->me : -1;
}

SHI_DEF(int, shmem_team_n_pes, (shmem_team_t team))
{
    shi_need_up(__func__);
    const struct shmem_team *t = shi_team_of(__func__, "team", team);
    return t ? t->n : -1;
}

SHI_DEF(int, shmem_team_get_config, (shmem_team_t team, long config_mask, shmem_team_config_t *config))
{
    shi_need_up(__func__);
    const struct shmem_team *t = shi_team_of(__func__, "team", team);
    if (!t || (config_mask & ~SHMEM_TEAM_NUM_CONTEXTS))
        return -1;
    if (config_mask)
        config->num_contexts = t->config.num_contexts;
    return 0;
}

SHI_DEF(int, shmem_team_translate_pe, (shmem_team_t src_team, int src_pe, shmem_team_t dest_team))
{
    shi_need_up(__func__);
    const struct shmem_team *from = shi_team_of(__func__, "src_team", src_team);
    const struct shmem_team *to = shi_team_of(__func__, "dest_team", dest_team);
    if (!from || !to || src_pe < 0 || src_pe >= from->n)
        return -1;
    return shi_team_member(to, shi_team_world_pe(from, src_pe));
}

SHI_DEF(void *, shmem_team_ptr, (shmem_team_t team, const void *dest, int pe))
{
    shi_need_up(__func__);
    const struct shmem_team *t = shi_team_of(__func__, "team", team);
    if (!t || pe < 0 || pe >= t->n)
        return NULL;
    return shi_reach(&t->peer[pe], dest, 1);
}

static int config_ok(const shmem_team_config_t *config, long mask)
{
    return mask == 0 || (mask == SHMEM_TEAM_NUM_CONTEXTS && config && config->num_contexts >= 0);
}

static void give(shmem_team_t *out, struct shmem_team *t)
{
    *out = t ? shi_team_handle(t) : SHMEM_TEAM_INVALID;
}

/* The team that a split or a copy begins with, or NULL; *new_team is invalid until there is one. */
static struct shmem_team *begin(const char *routine, const char *arg, shmem_team_t team, shmem_team_t *new_team)
{
    shi_need_up(routine);
    struct shmem_team *t = shi_team_of(routine, arg, team);
    *new_team = SHMEM_TEAM_INVALID;
    return t;
}

SHI_DEF(int, shmem_team_split_strided,
        (shmem_team_t parent_team, int start, int stride, int size, const shmem_team_config_t *config,
         long config_mask, shmem_team_t *new_team))
{
    SHI_UNCANCELLED;
    struct shmem_team *parent = begin(__func__, "parent_team", parent_team, new_team), *team = NULL;
    if (!parent)
        return -1;
    SHI_AGREE(__func__, parent, {"start", start}, {"stride", stride}, {"size", size}, {"config_mask", config_mask});
    int64_t last = (int64_t)start + (int64_t)stride * (size - 1);
    int ok = size >= 1 && start >= 0 && start < parent->n && last >= 0 && last < parent->n &&
             (stride != 0 || size == 1) && config_ok(config, config_mask);
    const struct shi_subset s = {NULL, start, stride, size, config, config_mask, &team};
    int err = shi_team_split(parent, &s, 1, ok);
    give(new_team, team);
    return err;
}

SHI_DEF(int, shmem_team_split_2d,
        (shmem_team_t parent_team, int xrange, const shmem_team_config_t *xaxis_config, long xaxis_mask,
         shmem_team_t *xaxis_team, const shmem_team_config_t *yaxis_config, long yaxis_mask, shmem_team_t *yaxis_team))
{
    SHI_UNCANCELLED;
    shi_need_up(__func__);
    struct shmem_team *parent = shi_team_of(__func__, "parent_team", parent_team), *team[2] = {NULL, NULL};
    *xaxis_team = *yaxis_team = SHMEM_TEAM_INVALID;
    if (!parent)
        return -1;
    SHI_AGREE(__func__, parent, {"xrange", xrange}, {"xaxis_mask", xaxis_mask}, {"yaxis_mask", yaxis_mask});
    int ok = xrange >= 1 && config_ok(xaxis_config, xaxis_mask) && config_ok(yaxis_config, yaxis_mask);
    int width = xrange < 1 ? 1 : xrange < parent->n ? xrange : parent->n, x = parent->me % width, row = parent->me - x;
    const struct shi_subset s[2] = {
        {NULL, row, 1, parent->n - row < width ? parent->n - row : width, xaxis_config, xaxis_mask, &team[0]},
        {NULL, x, width, (parent->n - x + width - 1) / width, yaxis_config, yaxis_mask, &team[1]},
    };
    int err = shi_team_split(parent, s, 2, ok);
    give(xaxis_team, team[0]);
    give(yaxis_team, team[1]);
    return err;
}

/* The list names PEs of the parent, none twice. */
static int list_ok(const struct shmem_team *parent, const int *pes, int n)
{
    char *named = n >= 1 && n <= parent->n ? calloc((size_t)parent->n, 1) : NULL;
    int ok = named != NULL;
    for (int i = 0; ok && i < n; i++)
        ok = pes[i] >= 0 && pes[i] < parent->n && !named[pes[i]]++;
    free(named);
    return ok;
}

static int64_t digest(const int *pes, int n)
{
    uint64_t d = 0;
    for (int i = 0; i < n; i++)
        d = d * 31 + (uint64_t)(uint32_t)pes[i];
    return (int64_t)(d >> 1);
}

SHI_DEF(int, shmemx_team_split_list,
        (shmem_team_t parent_team, const int *pes, int n_pes, const shmem_team_config_t *config, long config_mask,
         shmem_team_t *new_team))
{
    SHI_UNCANCELLED;
    struct shmem_team *parent = begin(__func__, "parent_team", parent_team, new_team), *team = NULL;
    if (!parent)
        return -1;
    SHI_AGREE(__func__, parent, {"n_pes", n_pes}, {"digest of pes", digest(pes, n_pes)}, {"config_mask", config_mask});
    int ok = list_ok(parent, pes, n_pes) && config_ok(config, config_mask);
    const struct shi_subset s = {pes, 0, 0, n_pes, config, config_mask, &team};
    int err = shi_team_split(parent, &s, 1, ok);
    give(new_team, team);
    return err;
}

SHI_DEF(int, shmemx_team_create,
        (const int *pes, int n_pes, long *psync, const shmem_team_config_t *config, long config_mask, shmem_team_t *new_team))
{
    SHI_UNCANCELLED;
    shi_need_up(__func__);
    struct shmem_team *team = NULL;
    *new_team = SHMEM_TEAM_INVALID;
    if (!list_ok(&shi_team_world, pes, n_pes))
        return -1;
    const struct shmem_team like = shi_team_listed(pes, n_pes);
    if (shi_team_member(&like, shi_world.pe) < 0)
        return -1;
    struct shmem_team *parent = shi_team_of_list(__func__, pes, n_pes, psync + pes[0]);
    const struct shi_subset s = {NULL, 0, 1, n_pes, config, config_mask, &team};
    int err = shi_team_split(parent, &s, 1, config_ok(config, config_mask));
    give(new_team, team);
    return err;
}

SHI_DEF(int, shmemx_team_split_color,
        (shmem_team_t parent_team, int color, int key, const shmem_team_config_t *config, long config_mask,
         shmem_team_t *new_team))
{
    SHI_UNCANCELLED;
    struct shmem_team *parent = begin(__func__, "parent_team", parent_team, new_team), *team = NULL;
    if (!parent)
        return -1;
    SHI_AGREE(__func__, parent, {"config_mask", config_mask});
    const struct shi_subset like = {.config = config, .mask = config_mask, .out = &team};
    int err = shi_team_split_color(parent, color, key, &like, config_ok(config, config_mask));
    give(new_team, team);
    return err;
}

SHI_DEF(int, shmemx_team_dup, (shmem_team_t team, shmem_team_t *new_team))
{
    SHI_UNCANCELLED;
    struct shmem_team *t = begin(__func__, "team", team, new_team), *copy = NULL;
    if (!t)
        return -1;
    SHI_AGREE(__func__, t, {0});
    const struct shi_subset all = {NULL, 0, 1, t->n, &t->config, SHMEM_TEAM_NUM_CONTEXTS, &copy};
    int err = shi_team_split(t, &all, 1, 1);
    give(new_team, copy);
    return err;
}

SHI_DEF(int, shmemx_team_translate_pes,
        (shmem_team_t src_team, const int *src_pes, int n_pes, shmem_team_t dest_team, int *dest_pes))
{
    shi_need_up(__func__);
    const struct shmem_team *from = shi_team_of(__func__, "src_team", src_team);
    const struct shmem_team *to = shi_team_of(__func__, "dest_team", dest_team);
    if (!from || !to)
        return -1;
    for (int i = 0; i < n_pes; i++) {
        int pe = src_pes ? src_pes[i] : i;
        dest_pes[i] = pe < 0 || pe >= from->n ? -1 : shi_team_member(to, shi_team_world_pe(from, pe));
    }
    return 0;
}

SHI_DEF(int, shmemx_team_compare, (shmem_team_t a, shmem_team_t b))
{
    shi_need_up(__func__);
    const struct shmem_team *x = shi_team_of(__func__, "a", a), *y = shi_team_of(__func__, "b", b);
    if (x == y)
        return SHMEMX_TEAM_IDENT;
    int is = x && y && x->n == y->n ? SHMEMX_TEAM_CONGRUENT : SHMEMX_TEAM_UNEQUAL;
    for (int i = 0; is != SHMEMX_TEAM_UNEQUAL && i < x->n; i++) {
        int at = shi_team_member(y, shi_team_world_pe(x, i));
        is = at < 0 ? SHMEMX_TEAM_UNEQUAL : at != i ? SHMEMX_TEAM_SIMILAR : is;
    }
    return is;
}

SHI_DEF(int, shmemx_team_n_nodes, (shmem_team_t team))
{
    shi_need_up(__func__);
    const struct shmem_team *t = shi_team_of(__func__, "team", team);
    return t ? t->n_nodes : -1;
}

SHI_DEF(int, shmemx_team_node, (shmem_team_t team, int pe))
{
    shi_need_up(__func__);
    const struct shmem_team *t = shi_team_of(__func__, "team", team);
    int known = t && pe >= 0 && pe < t->n, node = 0;
    for (int at = known ? t->position[pe] : 0; known && at >= t->node[node].n; node++)
        at -= t->node[node].n;
    return known ? node : -1;
}

SHI_DEF(int, shmemx_team_node_pes, (shmem_team_t team, int node, int *pes))
{
    shi_need_up(__func__);
    const struct shmem_team *t = shi_team_of(__func__, "team", team);
    if (!t || node < 0 || node >= t->n_nodes)
        return 0;
    for (int i = 0; pes && i < t->node[node].n; i++)
        pes[i] = t->node[node].member[i];
    return t->node[node].n;
}

SHI_DEF(void, shmem_team_destroy, (shmem_team_t team))
{
    SHI_UNCANCELLED;
    shi_need_up(__func__);
    struct shmem_team *t = shi_team_of(__func__, "team", team);
    if (t == &shi_team_world || t == &shi_team_shared)
        shi_die(__func__, "a predefined team cannot be destroyed");
    if (!t)
        return;
    shi_nbc_finish_team(__func__, t);
    shi_team_destroy(t);
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static int create_ctx(struct shmem_team *t, long options, shmem_ctx_t *ctx)
{
    struct shmem_ctx *c = NULL;
    int bad = !t || (options & ~(SHMEM_CTX_SERIALIZED | SHMEM_CTX_PRIVATE | SHMEM_CTX_NOSTORE));
    int err = bad ? -1 : shi_team_ctx_create(t, options, &c);
    *ctx = err ? SHMEM_CTX_INVALID : c;
    return err;
}

SHI_DEF(int, shmem_ctx_create, (long options, shmem_ctx_t *ctx))
{
    shi_need_up(__func__);
    return create_ctx(&shi_team_world, options, ctx);
}

SHI_DEF(int, shmem_team_create_ctx, (shmem_team_t team, long options, shmem_ctx_t *ctx))
{
    shi_need_up(__func__);
    return create_ctx(shi_team_of(__func__, "team", team), options, ctx);
}

SHI_DEF(void, shmem_ctx_destroy, (shmem_ctx_t ctx))
{
    shi_need_up(__func__);
    struct shmem_ctx *c = shi_ctx_checked(__func__, ctx);
    if (c == SHI_CTX_DEFAULT)
        shi_die(__func__, "SHMEM_CTX_DEFAULT cannot be destroyed");
    if (shi_world.check)
        shi_caller_check_ctx(__func__, c);
    if (!c->team)
        return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    shi_doorbell_ring_words();
    shi_team_ctx_destroy(c);
}

SHI_DEF(int, shmem_ctx_get_team, (shmem_ctx_t ctx, shmem_team_t *team))
{
    shi_need_up(__func__);
    const struct shmem_ctx *c = shi_ctx_checked(__func__, ctx);
    *team = c->team ? shi_team_handle(c->team) : SHMEM_TEAM_INVALID;
    return c->team ? 0 : -1;
}

/* A session hints at batching, of network messages only: stores to mapped peers need none. No options or mask are an error;
 * those of further calls add to the session's. */
SHI_DEF(void, shmem_ctx_session_start,
        (shmem_ctx_t ctx, long options, const shmem_ctx_session_config_t *config, long config_mask))
{
    shi_need_up(__func__);
    (void)config;
    if (shi_world.check && options & ~SHMEM_CTX_SESSION_BATCH)
        shi_log_error("shmem_ctx_session_start: options = %#lx: bits that are no SHMEM_CTX_SESSION_ option are ignored",
                      (unsigned long)options);
    if (shi_world.check && config_mask & ~SHMEM_CTX_SESSION_TOTAL_OPS)
        shi_log_error("shmem_ctx_session_start: config_mask = %#lx: bits that are no SHMEM_CTX_SESSION_ field are ignored",
                      (unsigned long)config_mask);
    if (options & SHMEM_CTX_SESSION_BATCH)
        shi_ctx_session(shi_ctx_checked(__func__, ctx), 1);
}

SHI_DEF(void, shmem_ctx_session_stop, (shmem_ctx_t ctx))
{
    shi_need_up(__func__);
    shi_ctx_session(shi_ctx_checked(__func__, ctx), 0);
}
