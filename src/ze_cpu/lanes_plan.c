/*
 * lanes_plan.c - which values of a kernel are the same for 8 work-items, which grow by a stride, and which differ.
 *
 * Bytes of the frame that any reached instruction accesses together form a region. A region is uniform if all instructions
 * that write it have uniform operands, affine if they all give it the same stride, and varying otherwise. This holds at any
 * time, because the 8 work-items take the same branches as long as they run together.
 */
#include "ze_cpu/lanes_plan.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME_MAX_LANES = 65536, CODE_MAX = 8192, STRIDE_MAX = 1 << 24 };

/* ---- reached instructions --------------------------------------------------------------------------------------- */

static struct zc_ins move(uint32_t d, uint32_t a, uint32_t size)
{
    bool plain = size == 1 || size == 2 || size == 4 || size == 8;
    return (struct zc_ins){.op = (uint16_t)(plain ? OP_MOV_1 + zc_log2(size) : OP_MOV_N), .n = 1, .d = d, .a = a, .b = size};
}

bool zc_lanes_step(const struct zc_lanes_plan *p, uint32_t pc, uint32_t n, struct zc_ins *step)
{
    const struct zc_ins *i = &p->m->code.v[pc];
    if (i->op == OP_CALL) {
        const uint32_t *x = p->m->extra.v + i->b + n * 3;
        if (n < i->c)
            *step = move(x[0], x[1], x[2]);
        return n < i->c;
    }
    *step = *i;
    if (i->op == OP_RETV)
        *step = move(p->m->code.v[p->called_at[zc_lanes_function(p->m, pc)]].d, i->a, i->b);
    return n == 0;
}

static bool reach(struct zc_lanes_plan *p, uint32_t *todo, uint32_t *n, uint32_t pc)
{
    if (pc >= p->m->code.n)
        return false;
    if (!p->reached[pc]) {
        p->reached[pc] = true;
        p->first = pc < p->first ? pc : p->first;
        p->end = pc < p->end ? p->end : pc + 1;
        todo[(*n)++] = pc;
    }
    return true;
}

/* Calls are translated in place, so each function can have only one. */
static bool reach_function(struct zc_lanes_plan *p, uint32_t *todo, uint32_t *n, uint32_t pc)
{
    uint32_t to = p->m->code.v[pc].a, f = zc_lanes_function(p->m, to);
    if (p->called_at[f] != ZC_NONE || f == p->k->fn)
        return false;
    p->called_at[f] = pc;
    return reach(p, todo, n, to) && reach(p, todo, n, pc + 1);
}

/* Reach the instructions that may follow i. */
static bool follow(struct zc_lanes_plan *p, uint32_t *todo, uint32_t *n, uint32_t pc)
{
    const struct zc_ins *i = &p->m->code.v[pc];
    const uint32_t *t = p->m->extra.v + i->c;
    bool good = true;
    switch (i->op) {
    case OP_RET:
    case OP_EXIT:
    case OP_TRAP:
        return true;
    case OP_RETV:
        return zc_lanes_function(p->m, pc) != p->k->fn;
    case OP_CALL:
        return reach_function(p, todo, n, pc);
    case OP_BR:
        return reach(p, todo, n, i->d);
    case OP_BRC:
        return reach(p, todo, n, i->b) && reach(p, todo, n, i->c);
    case OP_SWITCH:
        for (uint32_t k = 0; k < i->b; k++)
            good &= reach(p, todo, n, t[k * 3 + 2]);
        return good && reach(p, todo, n, t[i->b * 3]);
    }
    if (i->op >= OP_BR_EQ_4 && i->op <= OP_BR_SLE_8)
        return reach(p, todo, n, i->c) && reach(p, todo, n, i->d);
    return reach(p, todo, n, pc + 1);
}

static bool reach_all(struct zc_lanes_plan *p)
{
    struct zc_access v[ZC_ACCESSES];
    struct zc_ins step;
    uint32_t n = 0, reached = 0, *todo = malloc(p->m->code.n * sizeof *todo);
    bool good = todo && reach(p, todo, &n, p->m->fns.v[p->k->fn].pc);
    while (good && n) {
        uint32_t pc = todo[--n];
        good = ++reached < CODE_MAX && follow(p, todo, &n, pc);
        for (uint32_t s = 0; good && zc_lanes_step(p, pc, s, &step); s++)
            good = zc_accesses(&step, v) >= 0;
    }
    free(todo);
    return good;
}

/* ---- regions ---------------------------------------------------------------------------------------------------- */

#define EACH_STEP(p, i)                                                                                               \
    for (uint32_t pc_ = (p)->first; pc_ < (p)->end; pc_++)                                                             \
        for (uint32_t s_ = 0; (p)->reached[pc_] && zc_lanes_step(p, pc_, s_, i); s_++)

/* Give region_of the numbers of the regions. Until then it has 1 for a byte that starts an access, 2 for one that continues. */
static bool find_regions(struct zc_lanes_plan *p)
{
    struct zc_ins i;
    struct zc_access v[ZC_ACCESSES];
    EACH_STEP(p, &i) {
        int n = zc_accesses(&i, v);
        for (int k = 0; k < n; k++) {
            if (v[k].slot > p->k->frame || v[k].size > p->k->frame - v[k].slot || !v[k].size)
                return false;
            for (uint32_t b = v[k].slot; b < v[k].slot + v[k].size; b++)
                p->region_of[b] |= b > v[k].slot ? 2 : 1;
        }
    }
    for (uint32_t b = 0; b < p->k->frame; b++)
        p->regions += p->region_of[b] == 1;
    p->region = calloc(p->regions + 1, sizeof *p->region);
    if (!p->region)
        return false;
    uint32_t r = 0;
    for (uint32_t b = 0; b < p->k->frame; b++) {
        if (p->region_of[b] == 1)
            p->region[r++].slot = b;
        if (p->region_of[b]) {
            p->region[r - 1].size++;
            p->region_of[b] = r;
        }
    }
    EACH_STEP(p, &i) {
        int n = zc_accesses(&i, v);
        for (int k = 0; k < n; k++)
            p->region[p->region_of[v[k].slot] - 1].written |= v[k].write;
    }
    return true;
}

static struct zc_value meet(struct zc_value a, struct zc_value b)
{
    if (a.kind == LANES_NEW || b.kind == LANES_NEW)
        return a.kind == LANES_NEW ? b : a;
    if (a.kind == b.kind && a.stride == b.stride)
        return a;
    return (struct zc_value){LANES_VARYING, 0};
}

/* The kind of a region that holds a part of a built-in variable; LANES_NEW: it cannot be told. */
static struct zc_value kind_of_builtin(const struct zc_lanes_region *r, struct zc_slot_of b)
{
    bool first = r->slot == b.slot && (r->size == 4 || r->size == 8), later = r->slot >= b.slot + 8;
    switch (b.of) {
    case BUILTIN_LOCAL_ID:
    case BUILTIN_GLOBAL_ID:
    case BUILTIN_LOCAL_INDEX:
    case BUILTIN_GLOBAL_INDEX:
    case BUILTIN_SUBGROUP_LOCAL_ID:
        return first ? (struct zc_value){LANES_AFFINE, 1} : (struct zc_value){later ? LANES_UNIFORM : LANES_NEW, 0};
    }
    return (struct zc_value){b.of >= BUILTIN_SUBGROUP_EQ_MASK ? LANES_NEW : LANES_UNIFORM, 0};
}

/* Set the kinds of the regions that no instruction writes: constants, arguments, built-in variables. */
static bool find_inputs(struct zc_lanes_plan *p)
{
    const struct zc_module *m = p->m;
    for (struct zc_lanes_region *r = p->region; r < p->region + p->regions; r++) {
        struct zc_value v = {LANES_UNIFORM, 0};
        bool input = r->slot < m->image.n;
        for (uint32_t k = 0; k < m->builtins.n; k++)
            if (r->slot < m->builtins.v[k].slot + ZC_BUILTIN_BYTES && m->builtins.v[k].slot < r->slot + r->size) {
                v = r->slot < m->builtins.v[k].slot ? (struct zc_value){LANES_NEW, 0} : kind_of_builtin(r, m->builtins.v[k]);
                input = true;
            }
        if ((input && r->written) || v.kind == LANES_NEW)
            return false;
        if (!r->written) {
            r->kind = v.kind;
            r->stride = v.stride;
        }
    }
    return true;
}

/* ---- kinds ------------------------------------------------------------------------------------------------------ */

struct zc_value zc_lanes_value(const struct zc_lanes_plan *p, uint32_t slot, uint32_t size)
{
    const struct zc_lanes_region *r = &p->region[p->region_of[slot] - 1];
    if (r->kind != LANES_AFFINE)
        return (struct zc_value){r->kind, 0};
    if (slot != r->slot || (size != r->size && size != 4))
        return (struct zc_value){LANES_VARYING, 0};
    return (struct zc_value){LANES_AFFINE, r->stride};
}

/* Whether the slot has only an integer constant, of which a stride can be a multiple; its value in *v. */
static bool is_constant(const struct zc_lanes_plan *p, uint32_t slot, unsigned width, int64_t *v)
{
    return !p->region[p->region_of[slot] - 1].written && zc_constant_in(p->m, slot, width, v) && *v >= -STRIDE_MAX &&
           *v <= STRIDE_MAX;
}

/* The stride of i's result, from uniform and affine operands; false: it has none. */
static bool stride_of(const struct zc_lanes_plan *p, const struct zc_ins *i, int64_t *s)
{
    unsigned wide = i->op >= OP_ADD_1 && i->op <= OP_SMAX_8V ? 1u << (i->op - OP_ADD_1) % 4 : 8;
    int64_t a = 0, b = 0, c;
    switch (i->op) {
    case OP_ADD_4:
    case OP_ADD_8:
    case OP_SUB_4:
    case OP_SUB_8:
        a = zc_lanes_value(p, i->a, wide).stride;
        b = zc_lanes_value(p, i->b, wide).stride;
        *s = i->op >= OP_SUB_4 ? a - b : a + b;
        return true;
    case OP_MUL_4:
    case OP_MUL_8:
    case OP_SHL_4:
    case OP_SHL_8:
        a = zc_lanes_value(p, i->a, wide).stride;
        b = zc_lanes_value(p, i->b, wide).stride;
        if (i->op <= OP_MUL_8 && !a && is_constant(p, i->a, wide, &c)) {
            *s = b * c;
            return true;
        }
        if (b || !is_constant(p, i->b, wide, &c) || (i->op >= OP_SHL_4 && (c < 0 || c > 24)))
            return false;
        *s = i->op >= OP_SHL_4 ? a * (1 << c) : a * c;
        return true;
    case OP_MOV_4:
    case OP_ZX_4_8:
    case OP_SX_4_8:
        *s = zc_lanes_value(p, i->a, 4).stride;
        return true;
    case OP_MOV_8:
    case OP_PADD:
        *s = zc_lanes_value(p, i->a, 8).stride;
        return true;
    case OP_PMAD:
        b = zc_lanes_value(p, i->b, 8).stride;
        if (b && (i->imm > STRIDE_MAX || i->imm < -STRIDE_MAX))
            return false;
        *s = zc_lanes_value(p, i->a, 8).stride + b * i->imm;
        return true;
    }
    return false;
}

struct zc_value zc_lanes_result(const struct zc_lanes_plan *p, const struct zc_ins *i)
{
    struct zc_access v[ZC_ACCESSES];
    uint8_t kind = LANES_UNIFORM;
    int n = zc_accesses(i, v);
    int64_t s;
    for (int k = 0; k < n; k++) {
        if (!v[k].read)
            continue;
        struct zc_value x = zc_lanes_value(p, v[k].slot, v[k].size);
        if (x.kind == LANES_NEW)
            return x;
        kind = x.kind > kind ? x.kind : kind;
    }
    if (kind != LANES_AFFINE)
        return (struct zc_value){kind, 0};
    const struct zc_lanes_region *d = n && v[0].write ? &p->region[p->region_of[v[0].slot] - 1] : NULL;
    if (!d || d->slot != v[0].slot || d->size != v[0].size || !stride_of(p, i, &s) || s > STRIDE_MAX || s < -STRIDE_MAX)
        return (struct zc_value){LANES_VARYING, 0};
    return (struct zc_value){s ? LANES_AFFINE : LANES_UNIFORM, s};
}

static void find_kinds(struct zc_lanes_plan *p)
{
    struct zc_ins i;
    struct zc_access v[ZC_ACCESSES];
    for (bool changed = true; changed;) {
        changed = false;
        EACH_STEP(p, &i) {
            int n = zc_accesses(&i, v);
            if (n <= 0 || !v[0].write)
                continue;
            struct zc_lanes_region *r = &p->region[p->region_of[v[0].slot] - 1];
            struct zc_value old = {r->kind, r->stride}, now = meet(old, zc_lanes_result(p, &i));
            changed |= now.kind != old.kind || now.stride != old.stride;
            r->kind = now.kind;
            r->stride = now.stride;
        }
    }
}

/* A region that has no kind yet depends only on itself. */
static void find_all_kinds(struct zc_lanes_plan *p)
{
    find_kinds(p);
    for (struct zc_lanes_region *r = p->region; r < p->region + p->regions; r++)
        if (r->kind == LANES_NEW)
            r->kind = LANES_VARYING;
    find_kinds(p);
    for (struct zc_lanes_region *r = p->region; r < p->region + p->regions; r++) {
        if (r->kind != LANES_VARYING)
            continue;
        r->each = (r->size + 3) & ~3u;
        r->vector = (uint32_t)p->bytes;
        p->bytes += (uint64_t)r->each * ZC_LANES;
    }
}

/* ---- blocks ----------------------------------------------------------------------------------------------------- */

bool zc_lanes_is_branch(const struct zc_ins *i)
{
    return (i->op >= OP_BR && i->op <= OP_SWITCH) || (i->op >= OP_BR_EQ_4 && i->op <= OP_BR_SLE_8);
}

/* After a call come the function's instructions. */
bool zc_lanes_starts_block(const struct zc_lanes_plan *p, const bool *is_target, uint32_t pc)
{
    return pc == p->first || is_target[pc] || !p->reached[pc - 1] || p->m->code.v[pc - 1].op == OP_CALL;
}

/* Note the accesses of a step in a block. block_of: of each region, the block that wrote it first; 0: none. */
static void note_accesses(struct zc_lanes_plan *p, const struct zc_ins *i, uint32_t block, uint32_t *block_of)
{
    struct zc_access v[ZC_ACCESSES];
    int n = zc_accesses(i, v);
    for (int k = 0; k < n; k++) {
        uint32_t r = p->region_of[v[k].slot] - 1;
        if (v[k].read && (block_of[r] != block || zc_lanes_is_branch(i)))
            p->region[r].local = false;
    }
    for (int k = 0; k < n; k++) {
        uint32_t r = p->region_of[v[k].slot] - 1;
        if (!v[k].write)
            continue;
        if (block_of[r] ? block_of[r] != block : v[k].size != p->region[r].size)
            p->region[r].local = false;
        block_of[r] = block;
    }
}

void zc_lanes_find_local(struct zc_lanes_plan *p, const bool *is_target)
{
    uint32_t block = 0, *block_of = calloc(p->regions + 1, sizeof *block_of);
    struct zc_ins i;
    if (!block_of)
        return;
    for (uint32_t r = 0; r < p->regions; r++)
        p->region[r].local = true;
    for (uint32_t pc = p->first; pc < p->end; pc++) {
        block += p->reached[pc] && zc_lanes_starts_block(p, is_target, pc);
        for (uint32_t s = 0; p->reached[pc] && zc_lanes_step(p, pc, s, &i); s++)
            note_accesses(p, &i, block, block_of);
    }
    free(block_of);
}

/* ---- plans ------------------------------------------------------------------------------------------------------ */

bool zc_lanes_plan(struct zc_lanes_plan *p, const struct zc_module *m, const struct zc_kernel_info *k)
{
    *p = (struct zc_lanes_plan){.m = m, .k = k, .first = m->code.n};
    for (uint32_t n = 0; n < k->nargs; n++)
        if (k->arg[n].byval)
            return false;
    if (k->frame > FRAME_MAX_LANES)
        return false;
    p->reached = calloc(m->code.n, sizeof *p->reached);
    p->called_at = malloc(m->fns.n * sizeof *p->called_at);
    p->region_of = calloc(k->frame + 1, sizeof *p->region_of);
    if (p->called_at)
        memset(p->called_at, 0xff, m->fns.n * sizeof *p->called_at);
    if (!p->reached || !p->region_of || !p->called_at || !reach_all(p) || !find_regions(p) || !find_inputs(p))
        return false;
    find_all_kinds(p);
    return true;
}

void zc_lanes_plan_free(struct zc_lanes_plan *p)
{
    free(p->reached);
    free(p->called_at);
    free(p->region_of);
    free(p->region);
}
