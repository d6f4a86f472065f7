/*
 * phi.c - phis: the moves on each control-flow edge into them, and results that share the slot of a phi so that the edge
 * needs no move.
 */
#include "ze_cpu/phi.h"

#include "ze_cpu/cfg.h"
#include "ze_cpu/emit.h"

enum { PHIS_MAX = 512, SCAN_MAX = 200 };

static bool is_phi_or_line(const uint32_t *q)
{
    return ZC_OP(q) == OpPhi || ZC_OP(q) == OpLine || ZC_OP(q) == OpNoLine || ZC_OP(q) == OpNop;
}

/* The value of phi q on the edge from the current block, or 0. */
static uint32_t incoming(struct zc_module *m, const uint32_t *q)
{
    for (uint32_t i = 3; i + 1 < ZC_WORDS(q); i += 2)
        if (q[i + 1] == m->block)
            return q[i];
    return 0;
}

/* ---- moves on an edge ------------------------------------------------------------------------------------------- */

struct move {
    uint32_t d, s, size;
};

static bool overlap(const struct move *w, const struct move *r)
{
    return w->d < r->s + r->size && r->s < w->d + w->size;
}

/* Emit n moves as if they happened at once: first moves that overwrite no source of another; a copy breaks a cycle. */
static void parallel(struct zc_module *m, struct move *mv, uint32_t n)
{
    while (n) {
        uint32_t next = ZC_NONE;
        for (uint32_t i = 0; i < n && next == ZC_NONE; i++) {
            bool free = true;
            for (uint32_t j = 0; j < n && free; j++)
                free = j == i || !overlap(&mv[i], &mv[j]);
            if (free)
                next = i;
        }
        if (next == ZC_NONE) {
            uint32_t t = zc_slot_new(m, mv[0].size, 16);
            zc_move(m, t, mv[0].s, mv[0].size);
            mv[0].s = t;
            continue;
        }
        zc_move(m, mv[next].d, mv[next].s, mv[next].size);
        mv[next] = mv[--n];
    }
}

void zc_phi_moves(struct zc_module *m, uint32_t to)
{
    struct move mv[PHIS_MAX];
    uint32_t n = 0;
    for (const uint32_t *q = zc_next(zc_label(m, to)); is_phi_or_line(q); q = zc_next(q)) {
        if (ZC_OP(q) != OpPhi)
            continue;
        uint32_t v = incoming(m, q);
        if (!v)
            zc_fail(m, "phi %u has no value for the edge from %u", q[2], m->block);
        uint32_t size = (uint32_t)zc_type(m, q[1])->size;
        if (zc_type_of(m, v)->size != size)
            zc_fail(m, "phi %u takes a value of a different size", q[2]);
        struct move one = {zc_result(m, q), zc_value(m, v), size};
        if (one.d == one.s)
            continue;
        if (n == PHIS_MAX)
            zc_fail(m, "more than %d phis in a block", PHIS_MAX);
        mv[n++] = one;
    }
    parallel(m, mv, n);
}

/* ---- results that share the slot of a phi ----------------------------------------------------------------------- */

/* Whether the value of word w, if w is an id, is stored in the bytes of slot s or is a folded address that uses them. */
static bool depends(struct zc_module *m, uint32_t w, uint32_t s, uint32_t size)
{
    if (!w || w >= m->bound)
        return false;
    struct zc_id *v = &m->id[w];
    if (v->what != ID_VALUE || v->fn != m->cur_fn)
        return false;
    if (v->folded)
        return (v->addr.base + 8 > s && v->addr.base < s + size) ||
               (v->addr.index != ZC_NONE && v->addr.index + 8 > s && v->addr.index < s + size);
    return v->slotted && v->slot + zc_type(m, v->type)->size > s && v->slot < s + size;
}

uint32_t zc_result_phi(struct zc_module *m, const uint32_t *p)
{
    struct zc_id *v = &m->id[p[2]];
    const uint32_t *q = zc_next(p), *phi = NULL;
    int left = SCAN_MAX;
    for (; ZC_OP(q) < OpLoopMerge && ZC_OP(q) != OpFunctionEnd && left; q = zc_next(q))
        left--;
    while (ZC_OP(q) == OpLoopMerge || ZC_OP(q) == OpSelectionMerge)
        q = zc_next(q);
    if (v->slotted || ZC_OP(q) != OpBranch)
        return zc_result(m, p);
    const uint32_t *head = zc_next(zc_label(m, q[1]));
    for (const uint32_t *r = head; is_phi_or_line(r); r = zc_next(r))
        if (ZC_OP(r) == OpPhi && r[1] == p[1] && incoming(m, r) == p[2])
            phi = r;
    if (!phi || !zc_dominates(m, q[1], m->block) || !m->id[phi[2]].slotted)
        return zc_result(m, p);
    uint32_t s = m->id[phi[2]].slot, size = (uint32_t)zc_type(m, p[1])->size;
    for (const uint32_t *r = zc_next(p); r < q; r = zc_next(r))
        for (uint32_t i = 1; i < ZC_WORDS(r); i++)
            if (depends(m, r[i], s, size))
                return zc_result(m, p);
    for (const uint32_t *r = head; is_phi_or_line(r); r = zc_next(r))
        if (ZC_OP(r) == OpPhi && r != phi && depends(m, incoming(m, r), s, size))
            return zc_result(m, p);
    v->slot = s;
    v->slotted = true;
    return s;
}
