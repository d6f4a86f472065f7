/*
 * cfg.c - the control-flow graph of one function: basic blocks in reverse postorder, and dominators.
 *
 * SPIR-V requires that a block follows its dominators, but translators keep the order of their compiler. In reverse
 * postorder every definition precedes its uses (except by phis), whatever the order in the file. Unreachable blocks are
 * left out.
 */
#include "ze_cpu/cfg.h"

static bool is_terminator(uint32_t op)
{
    return (op >= OpBranch && op <= OpUnreachable);
}

static bool is_line(uint32_t op)
{
    return op == OpLine || op == OpNoLine || op == OpNop;
}

/* Words of the literal of one case of an OpSwitch. */
static uint32_t literal_words(struct zc_module *m, const uint32_t *p)
{
    struct zc_type *t = zc_type_of(m, p[1]);
    if (t->kind != KIND_INT)
        zc_fail(m, "the selector is not an integer");
    return t->size == 8 ? 2 : 1;
}

uint32_t zc_cases(struct zc_module *m, const uint32_t *p, uint32_t *each)
{
    *each = literal_words(m, p) + 1;
    if ((ZC_WORDS(p) - 3) % *each)
        zc_fail(m, "the list of cases is incomplete");
    return (ZC_WORDS(p) - 3) / *each;
}

/* Number of branch targets of the terminator p. */
static uint32_t targets(struct zc_module *m, const uint32_t *p)
{
    uint32_t each;
    switch (ZC_OP(p)) {
    case OpBranch:
        return 1;
    case OpBranchConditional:
        return 2;
    case OpSwitch:
        return 1 + zc_cases(m, p, &each);
    }
    return 0;
}

const uint32_t *zc_label(struct zc_module *m, uint32_t id)
{
    if (id >= m->bound || m->id[id].what != ID_LABEL || m->id[id].fn != m->cur_fn)
        zc_fail(m, "id %u is not a label of this function", id);
    return m->w + m->id[id].def;
}

static uint32_t block_of(struct zc_module *m, uint32_t label)
{
    zc_label(m, label);
    return m->id[label].slot;
}

/* Block index of the k-th target of the terminator p; of two targets, the earlier one in the file comes first. */
static uint32_t target(struct zc_module *m, const uint32_t *p, uint32_t k)
{
    uint32_t each;
    if (ZC_OP(p) == OpBranch)
        return block_of(m, p[1]);
    if (ZC_OP(p) == OpBranchConditional) {
        uint32_t a = block_of(m, p[2]), b = block_of(m, p[3]);
        return (a < b) == !k ? a : b;
    }
    zc_cases(m, p, &each);
    return block_of(m, k ? p[2 + k * each] : p[2]);
}

/* Collect the basic blocks of f, in file order. */
static void find_blocks(struct zc_module *m, const struct zc_fn *f)
{
    struct zc_block *open = NULL;
    m->blocks.n = 0;
    for (m->cur = f->def + ZC_WORDS(m->w + f->def); m->cur < f->end; m->cur += ZC_WORDS(m->w + m->cur)) {
        const uint32_t *p = m->w + m->cur;
        uint32_t op = ZC_OP(p);
        if (op == OpLabel) {
            if (open)
                zc_fail(m, "the previous block has no terminator");
            m->id[p[1]].slot = m->blocks.n;
            open = zc_push(m, m->blocks);
            *open = (struct zc_block){.label = p[1], .first = m->cur, .rank = ZC_NONE};
        } else if (!open && !is_line(op) && (op != OpFunctionParameter || m->blocks.n)) {
            zc_fail(m, "instruction outside a block");
        } else if (open && is_terminator(op)) {
            open->last = m->cur;
            open = NULL;
        }
    }
    if (open)
        zc_fail(m, "the last block has no terminator");
}

/* Depth-first search from the entry block. Returns the block indices in postorder. */
static uint32_t *postorder(struct zc_module *m, uint32_t *n)
{
    struct visit {
        uint32_t block, left; /* left: targets not yet visited */
    } *stack = zc_keep(m, m->blocks.n * sizeof *stack);
    uint32_t *order = zc_keep(m, m->blocks.n * sizeof *order), depth = 0;
    uint32_t enter = 0;
    *n = 0;
    do {
        if (enter != ZC_NONE) {
            struct zc_block *b = &m->blocks.v[enter];
            m->cur = b->last;
            b->rank = 0;
            stack[depth++] = (struct visit){enter, targets(m, m->w + b->last)};
            enter = ZC_NONE;
        }
        struct visit *v = &stack[depth - 1];
        const uint32_t *p = m->w + (m->cur = m->blocks.v[v->block].last);
        if (!v->left) {
            order[(*n)++] = v->block;
            depth--;
        } else {
            uint32_t to = target(m, p, --v->left);
            enter = m->blocks.v[to].rank == ZC_NONE ? to : ZC_NONE;
        }
    } while (depth);
    return order;
}

/* The nearest common dominator of two blocks; all by rank. */
static uint32_t common(const struct zc_module *m, uint32_t a, uint32_t b)
{
    while (a != b)
        if (a > b)
            a = m->ranked.v[a].idom;
        else
            b = m->ranked.v[b].idom;
    return a;
}

/* Immediate dominators: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm", iterating over outgoing edges. */
static void dominators(struct zc_module *m)
{
    bool changed = true;
    while (changed) {
        changed = false;
        for (uint32_t b = 0; b < m->ranked.n; b++) {
            const uint32_t *p = m->w + m->ranked.v[b].last;
            for (uint32_t k = targets(m, p); k-- > 0;) {
                uint32_t to = m->blocks.v[target(m, p, k)].rank, *idom = &m->ranked.v[to].idom;
                uint32_t now = !to ? 0 : *idom == ZC_NONE ? b : common(m, b, *idom);
                changed |= now != *idom;
                *idom = now;
            }
        }
    }
}

void zc_cfg(struct zc_module *m, const struct zc_fn *f)
{
    uint32_t n;
    find_blocks(m, f);
    uint32_t *order = postorder(m, &n);
    m->ranked.n = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct zc_block *b = &m->blocks.v[order[n - 1 - i]];
        b->rank = i;
        b->idom = i ? ZC_NONE : 0;
        *zc_push(m, m->ranked) = *b;
    }
    dominators(m);
}

bool zc_dominates(const struct zc_module *m, uint32_t label, uint32_t other)
{
    uint32_t a = m->blocks.v[m->id[label].slot].rank, b = m->blocks.v[m->id[other].slot].rank;
    while (b > a && b != ZC_NONE)
        b = m->ranked.v[b].idom;
    return a == b && a != ZC_NONE;
}
