/* lanes_run.c - runs the code that lanes.c makes. */
#include "ze_cpu/lanes_run.h"

#include <string.h>

#include "ze_cpu/op.h"
#include "ze_cpu/vm.h"

enum { QUANTUM_LANES = 1 << 20 }; /* backward jumps of 8 work-items, after which the others of the thread run */

typedef const struct zc_ins *(*run_code)(uint8_t *frame, struct zc_item *it, uint64_t left, uint8_t *vectors);

void zc_lanes_prepare(const struct zc_lanes *k, uint8_t *vectors)
{
    for (uint32_t n = 0; n < k->constants; n++) {
        const struct zc_lanes_constant *c = &k->constant[n];
        uint64_t v = c->first;
        for (uint32_t lane = 0; lane < ZC_LANES; lane++, v += c->step)
            memcpy(vectors + c->vector + lane * c->width, &v, c->width);
    }
}

const struct zc_ins *zc_lanes_run(const struct zc_lanes *k, struct zc_item *it, uint8_t *f, uint8_t *vectors)
{
    return ((run_code)(uintptr_t)k->code)(f, it, QUANTUM_LANES, vectors);
}

/* An affine value of the shared frame, for one work-item. */
static void spill_affine(const struct zc_lanes_region *r, const uint8_t *from, struct zc_item *it, uint32_t lane)
{
    uint64_t v = 0;
    memcpy(&v, from + r->slot, r->size);
    v += (uint64_t)r->stride * lane;
    memcpy(it->f + r->slot, &v, r->size);
}

uint32_t zc_lanes_function(const struct zc_module *m, uint32_t pc)
{
    uint32_t f = ZC_NONE;
    for (uint32_t n = 0; n < m->fns.n; n++)
        if (m->fns.v[n].body && m->fns.v[n].pc <= pc && (f == ZC_NONE || m->fns.v[n].pc > m->fns.v[f].pc))
            f = n;
    return f;
}

/* Let a work-item continue at pc, in the calls that lead there. */
static void set_pc(const struct zc_launch *l, struct zc_item *it, const struct zc_ins *pc)
{
    const struct zc_ins *code = l->m->code.v;
    uint32_t f = zc_lanes_function(l->m, (uint32_t)(pc - code));
    for (uint32_t g = f; g != l->k->fn; g = zc_lanes_function(l->m, l->k->lanes->called_at[g]))
        it->sp++;
    for (uint32_t n = it->sp; n-- > 0; f = zc_lanes_function(l->m, l->k->lanes->called_at[f]))
        it->stack[n] = code + l->k->lanes->called_at[f];
    it->pc = pc;
}

void zc_lanes_spill(const struct zc_launch *l, struct zc_item *it, const uint8_t *f, const uint8_t *vectors, const struct zc_ins *pc)
{
    const struct zc_lanes *k = l->k->lanes;
    for (uint32_t lane = 0; lane < ZC_LANES; lane++)
        set_pc(l, &it[lane], pc);
    for (uint32_t lane = 0; lane < ZC_LANES; lane++)
        for (uint32_t n = 0; n < k->regions; n++) {
            const struct zc_lanes_region *r = &k->region[n];
            if (r->kind == LANES_VARYING)
                memcpy(it[lane].f + r->slot, vectors + r->vector + lane * r->each, r->size);
            else if (r->kind == LANES_AFFINE)
                spill_affine(r, f, &it[lane], lane);
            else
                memcpy(it[lane].f + r->slot, f + r->slot, r->size);
        }
}

void zc_lanes_interpret(uint8_t *f, const struct zc_ins *i, const struct zc_module *m)
{
    struct zc_ins code[2] = {*i, {.op = OP_RET}};
    struct zc_item it = {.f = f, .pc = code};
    struct zc_vm x = {.m = m};
    zc_vm_run(&x, &it);
}
