/*
 * emit.c - emits instructions of the virtual machine and assigns frame slots to SPIR-V values; all of lower*.c goes
 * through it. What an instruction means is in vm.c.
 */
#include "ze_cpu/emit.h"

#include "ze_cpu/op.h"

struct zc_ins *zc_emit(struct zc_module *m, unsigned op, uint32_t d, uint32_t a, uint32_t b)
{
    struct zc_ins *i = zc_push(m, m->code);
    i->op = (uint16_t)op;
    i->n = 1;
    i->d = d;
    i->a = a;
    i->b = b;
    return i;
}

uint32_t zc_temp(struct zc_module *m, unsigned width)
{
    return zc_slot_new(m, width, width);
}

void zc_move(struct zc_module *m, uint32_t d, uint32_t s, uint64_t size)
{
    if (d == s)
        return;
    bool plain = (size == 1 || size == 2 || size == 4 || size == 8) && !((d | s) % size);
    zc_emit(m, plain ? OP_MOV_1 + zc_log2((unsigned)size) : OP_MOV_N, d, s, (uint32_t)size);
}

uint32_t zc_resize(struct zc_module *m, uint32_t slot, unsigned from, unsigned to, bool sign)
{
    static const uint8_t nth[4][4] = {{0, 0, 1, 2}, {0, 0, 3, 4}, {0, 0, 0, 5}, {0, 0, 0, 0}};
    if (from >= to)
        return slot;
    uint32_t d = zc_temp(m, to);
    zc_emit(m, (sign ? OP_SX_1_2 : OP_ZX_1_2) + nth[zc_log2(from)][zc_log2(to)], d, slot, 0);
    return d;
}

/* ---- slots of values -------------------------------------------------------------------------------------------- */

uint32_t zc_value(struct zc_module *m, uint32_t id)
{
    zc_type_of(m, id);
    struct zc_id *v = &m->id[id];
    if (v->builtin && v->what == ID_CONSTANT) {
        uint32_t t = zc_temp(m, 8);
        zc_emit(m, OP_LEA, t, v->slot, 0);
        return t;
    }
    if (v->what == ID_VALUE && v->fn != m->cur_fn)
        zc_fail(m, "id %u is defined in another function", id);
    if (v->folded) {
        int64_t imm;
        uint32_t t = zc_temp(m, 8), base = zc_flat(m, id, &imm);
        zc_emit(m, OP_PADD, t, base, 0)->imm = imm;
        return t;
    }
    if (!v->slotted)
        zc_fail(m, "id %u is used before its definition", id);
    return v->slot;
}

uint32_t zc_result(struct zc_module *m, const uint32_t *p)
{
    struct zc_id *v = &m->id[p[2]];
    if (!v->slotted) {
        struct zc_type *t = zc_type(m, p[1]);
        v->slot = zc_slot_new(m, t->size, t->align);
        v->slotted = true;
    }
    return v->slot;
}

void zc_alias(struct zc_module *m, const uint32_t *p, uint32_t slot)
{
    struct zc_type *t = zc_type(m, p[1]);
    if (m->id[p[2]].slotted || slot % (t->align > 16 ? 16 : t->align)) {
        zc_move(m, zc_result(m, p), slot, t->size);
        return;
    }
    m->id[p[2]].slot = slot;
    m->id[p[2]].slotted = true;
}

/* ---- addresses -------------------------------------------------------------------------------------------------- */

struct zc_type *zc_pointee(struct zc_module *m, uint32_t id)
{
    struct zc_type *t = zc_type_of(m, id);
    if (t->kind != KIND_POINTER)
        zc_fail(m, "id %u is not a pointer", id);
    return zc_type(m, t->elem);
}

struct zc_addr zc_address(struct zc_module *m, uint32_t id)
{
    zc_pointee(m, id);
    struct zc_id *v = &m->id[id];
    if (v->folded && v->fn == m->cur_fn)
        return v->addr;
    return (struct zc_addr){.base = zc_value(m, id), .index = ZC_NONE};
}

struct zc_addr zc_settle(struct zc_module *m, struct zc_addr a, uint32_t slot)
{
    zc_emit(m, OP_PMAD, slot, a.base, a.index)->imm = a.scale;
    return (struct zc_addr){.base = slot, .index = ZC_NONE, .imm = a.imm};
}

uint32_t zc_flat(struct zc_module *m, uint32_t id, int64_t *imm)
{
    struct zc_addr a = zc_address(m, id);
    if (a.index != ZC_NONE)
        a = zc_settle(m, a, zc_temp(m, 8));
    *imm = a.imm;
    return a.base;
}
