/* ins_group.c - PTX barriers and operations of warps: shuffles, votes, matches, reductions, activemask. */
#include <string.h>

#include "cuda_cpu/lower.h"

/* ---- work-groups ------------------------------------------------------------------------------------------------ */

/* A barrier: its number is operand k, a count of threads may follow. named: it is none of all threads with number 0. */
struct barrier {
    bool named;
    uint32_t number, count;
};

static struct barrier barrier(struct ptx *p, unsigned k, unsigned operands)
{
    const struct ptx_operand *o = cc_operand(p, k);
    struct barrier b = {.count = ZC_NONE};
    bool counted = operands > k + 1, zero = o->kind == O_INT && o->value == 0;
    cc_has(p, "cta");
    cc_has(p, "aligned");
    if (operands > k + 2)
        ptx_fail(p, "%s: too many operands", p->ins->op);
    p->named_zero |= counted ? zero || o->kind != O_INT : o->kind != O_INT;
    b.named = counted || !zero || p->named_zero;
    if (b.named)
        b.number = cc_source(p, k, cc_u32);
    if (counted)
        b.count = cc_source(p, k + 1, cc_u32);
    return b;
}

static struct zc_ins *emit_named(struct ptx *p, struct barrier b, unsigned what, uint32_t d)
{
    struct zc_ins *i = cc_emit(p, OP_NAMED, d, b.number, 0);
    i->n = SCOPE_NAMED;
    i->w = (uint8_t)what;
    i->u[0] = b.count;
    p->m->named = true;
    return i;
}

static void emit_bar(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    struct barrier b = barrier(p, 0, p->ins->nop);
    if (b.named)
        emit_named(p, b, NAMED_SYNC, 0);
    else
        cc_emit(p, OP_BARRIER, 0, 0, 0);
}

static void emit_arrive(struct ptx *p, const struct cc_row *r)
{
    (void)r;
    cc_operand(p, 1); /* the count is required */
    emit_named(p, barrier(p, 0, p->ins->nop), NAMED_ARRIVE, 0);
}

/* bar.red: vm is the operation; popc adds the predicates as numbers. */
static void emit_bar_red(struct ptx *p, const struct cc_row *r)
{
    const struct ptx_operand *last = cc_operand(p, p->ins->nop - 1u), *d = cc_operand(p, 0);
    uint32_t flag = cc_predicate(p, last), v = flag;
    bool count = r->vm == GROUP_ADD;
    struct barrier b = barrier(p, 1, p->ins->nop - 1u); /* the predicate comes last */
    if (b.named) {
        unsigned what = count ? NAMED_COUNT : r->vm == GROUP_ALL ? NAMED_ALL : NAMED_ANY;
        emit_named(p, b, what, cc_into(p, d, count ? 4 : 1))->c = flag;
        return;
    }
    if (count)
        v = zc_resize(p->m, flag, 1, 4, false);
    struct zc_ins *i = cc_emit(p, OP_GROUP, cc_into(p, d, count ? 4 : 1), v, 0);
    i->n = SCOPE_WORKGROUP;
    i->w = count ? 4 : 1;
    i->u[0] = r->vm | (GROUP_REDUCE | GROUP_UNIFORM) << 8 | (count ? KIND_INT : KIND_BOOL) << 16 | 1u << 24;
}

/* ---- warps ------------------------------------------------------------------------------------------------------ */

/* An operation of the warp. mask: its operand; flag: slot of the second result, or ZC_NONE. */
static void warp(struct ptx *p, unsigned what, uint32_t d, uint32_t a, const struct ptx_operand *mask, uint32_t flag)
{
    uint32_t members = mask ? cc_value(p, mask, cc_u32) : 0;
    struct zc_ins *i = cc_emit(p, OP_WARP, d, a, 0);
    i->n = SCOPE_SUBGROUP;
    i->w = (uint8_t)what;
    i->u[0] = members;
    i->u[1] = flag;
}

static uint32_t second(struct ptx *p, const struct ptx_operand *o)
{
    return o->pair ? cc_register(p, o->pair - 1) : ZC_NONE;
}

static void emit_sync(struct ptx *p, const struct cc_row *r)
{
    warp(p, r->vm, 0, 0, cc_operand(p, 0), ZC_NONE);
}

static void emit_active(struct ptx *p, const struct cc_row *r)
{
    warp(p, r->vm, cc_into(p, cc_operand(p, 0), 4), 0, NULL, ZC_NONE);
}

static void emit_vote(struct ptx *p, const struct cc_row *r)
{
    unsigned width = r->vm == WARP_BALLOT ? 4 : 1;
    uint32_t flag = cc_predicate(p, cc_operand(p, 1));
    warp(p, r->vm, cc_into(p, cc_operand(p, 0), width), flag, cc_operand(p, 2), ZC_NONE);
}

static void emit_match(struct ptx *p, const struct cc_row *r)
{
    struct ptx_type t = p->ins->type[0];
    const struct ptx_operand *d = cc_operand(p, 0);
    uint32_t a = cc_source(p, 1, t);
    warp(p, r->vm + (t.width == 8), cc_into(p, d, 4), a, cc_operand(p, 2), second(p, d));
}

static void emit_shfl(struct ptx *p, const struct cc_row *r)
{
    const struct ptx_operand *d = cc_operand(p, 0);
    uint32_t a = cc_source(p, 1, cc_u32), b = cc_source(p, 2, cc_u32), c = cc_source(p, 3, cc_u32);
    warp(p, r->vm, cc_into(p, d, 4), a, cc_operand(p, 4), second(p, d));
    struct zc_ins *i = &p->m->code.v[p->m->code.n - 1];
    i->b = b;
    i->c = c;
}

static void emit_redux(struct ptx *p, const struct cc_row *r)
{
    uint32_t a = cc_source(p, 1, cc_u32);
    warp(p, r->vm, cc_into(p, cc_operand(p, 0), 4), a, cc_operand(p, 2), ZC_NONE);
}

/* Waiting work-items yield by themselves, and caches and registers are not divided. */
static void emit_nothing(struct ptx *p, const struct cc_row *r)
{
    (void)p, (void)r;
}

static const struct cc_row rows[] = {
    {"bar", "warp sync", 0, emit_sync, WARP_SYNC, NULL, NULL},
    {"bar", "sync", 0, emit_bar, 0, NULL, NULL},
    {"barrier", "sync", 0, emit_bar, 0, NULL, NULL},
    {"bar", "arrive", 0, emit_arrive, 0, NULL, NULL},
    {"barrier", "arrive", 0, emit_arrive, 0, NULL, NULL},
    {"bar", "red and", PTX_P, emit_bar_red, GROUP_ALL, NULL, NULL},
    {"bar", "red or", PTX_P, emit_bar_red, GROUP_ANY, NULL, NULL},
    {"bar", "red popc", PTX_U, emit_bar_red, GROUP_ADD, NULL, NULL},
    {"barrier", "red and", PTX_P, emit_bar_red, GROUP_ALL, NULL, NULL},
    {"barrier", "red or", PTX_P, emit_bar_red, GROUP_ANY, NULL, NULL},
    {"barrier", "red popc", PTX_U, emit_bar_red, GROUP_ADD, NULL, NULL},
    {"activemask", "", PTX_B, emit_active, WARP_ACTIVE, NULL, NULL},
    {"vote", "sync all", PTX_P, emit_vote, WARP_ALL, NULL, NULL},
    {"vote", "sync any", PTX_P, emit_vote, WARP_ANY, NULL, NULL},
    {"vote", "sync uni", PTX_P, emit_vote, WARP_EQUAL, NULL, NULL},
    {"vote", "sync ballot", PTX_B, emit_vote, WARP_BALLOT, NULL, NULL},
    {"match", "any sync", PTX_B, emit_match, WARP_MATCH_ANY_4, NULL, NULL},
    {"match", "all sync", PTX_B, emit_match, WARP_MATCH_ALL_4, NULL, NULL},
    {"shfl", "sync idx", PTX_B, emit_shfl, WARP_IDX, NULL, NULL},
    {"shfl", "sync up", PTX_B, emit_shfl, WARP_UP, NULL, NULL},
    {"shfl", "sync down", PTX_B, emit_shfl, WARP_DOWN, NULL, NULL},
    {"shfl", "sync bfly", PTX_B, emit_shfl, WARP_BFLY, NULL, NULL},
    {"redux", "sync add", PTX_INT, emit_redux, WARP_ADD, NULL, NULL},
    {"redux", "sync min", PTX_U, emit_redux, WARP_UMIN, NULL, NULL},
    {"redux", "sync max", PTX_U, emit_redux, WARP_UMAX, NULL, NULL},
    {"redux", "sync min", PTX_S, emit_redux, WARP_SMIN, NULL, NULL},
    {"redux", "sync max", PTX_S, emit_redux, WARP_SMAX, NULL, NULL},
    {"redux", "sync and", PTX_B, emit_redux, WARP_AND, NULL, NULL},
    {"redux", "sync or", PTX_B, emit_redux, WARP_OR, NULL, NULL},
    {"redux", "sync xor", PTX_B, emit_redux, WARP_XOR, NULL, NULL},
    {"nanosleep", "", PTX_U, emit_nothing, 0, NULL, NULL},
    {"griddepcontrol", "wait", 0, emit_nothing, 0, NULL, NULL},
    {"griddepcontrol", "launch_dependents", 0, emit_nothing, 0, NULL, NULL},
};

bool cc_group(struct ptx *p)
{
    return cc_by_rows(p, rows, sizeof rows / sizeof *rows);
}
