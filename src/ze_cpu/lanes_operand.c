/*
 * lanes_operand.c - operands and results as vectors: which register has a vector, when memory gets it, constants. A vector of 8-byte elements
 * is two registers, here called halves.
 */
#include "ze_cpu/lanes_operand.h"

#if defined(__x86_64__)

uint32_t zc_vec_constant(struct zc_lanes_gen *l, unsigned width, uint64_t first, uint64_t step)
{
    for (uint32_t k = 0; k < l->constants; k++) {
        const struct zc_lanes_constant *c = &l->constant[k];
        if (c->width == width && c->first == first && c->step == step)
            return c->vector;
    }
    if (l->constants == ZC_LANES_CONSTANTS) {
        l->full = true;
        return 0;
    }
    l->constant[l->constants++] = (struct zc_lanes_constant){(uint32_t)l->p.bytes, width, first, step};
    l->p.bytes += (uint64_t)width * ZC_LANES;
    return (uint32_t)l->p.bytes - width * ZC_LANES;
}

void zc_vec_narrow(struct zc_lanes_gen *l, unsigned d, unsigned reg, unsigned high, unsigned shuffle)
{
    v_reg(&l->g.o, V_SHUFFLE, reg, reg, high);
    x_byte(&l->g.o, shuffle);
    v_reg(&l->g.o, V_PERMUTE8, d, 0, reg);
    x_byte(&l->g.o, IN_ORDER);
}

/* Which of the registers has the vector; ZC_LANES_KEPT: none. */
static unsigned find_kept(const struct zc_lanes_gen *l, uint32_t vector)
{
    unsigned k = 0;
    while (k < ZC_LANES_KEPT && l->kept.vector[k] != 1 + vector)
        k++;
    return k;
}

/* Load a vector of 4-byte elements, or one half of another. */
static void load_vector(struct zc_lanes_gen *l, unsigned reg, uint32_t vector)
{
    unsigned k = find_kept(l, vector);
    if (k == ZC_LANES_KEPT)
        v_mem(&l->g.o, V_MOV, reg, 0, RBX, vector);
    else
        v_reg(&l->g.o, V_MOV, reg, 0, FIRST_KEPT + k);
}

/* A register for a vector that the next instruction of the processor writes. It may be one that this instruction reads. */
static unsigned keep_vector(struct zc_lanes_gen *l, uint32_t vector)
{
    unsigned k = find_kept(l, vector);
    if (k == ZC_LANES_KEPT) {
        k = l->kept.next;
        l->kept.next = (k + 1) % ZC_LANES_KEPT;
        l_save_vector(l, k);
        l->kept.vector[k] = 1 + vector;
    }
    return FIRST_KEPT + k;
}

/* That instruction is written: store the vector now, or, if it is local, when its register is needed. */
static void written(struct zc_lanes_gen *l, unsigned reg, bool local)
{
    unsigned k = reg - FIRST_KEPT;
    l->kept.unsaved[k] = true;
    if (!local)
        l_save_vector(l, k);
}

bool zc_vec_get(struct zc_lanes_gen *l, unsigned reg, uint32_t slot, unsigned width, unsigned half)
{
    const struct zc_lanes_region *r = l_region(l, slot);
    struct zc_value x = zc_lanes_value(&l->p, slot, width);
    uint32_t off = slot - r->slot;
    if (r->kind == LANES_VARYING && r->each == width && !off) {
        load_vector(l, reg, r->vector + half * VECTOR_BYTES);
        return true;
    }
    if (r->kind == LANES_VARYING && r->each == 8 && width == 4 && off % 4 == 0) {
        load_vector(l, reg, r->vector);
        load_vector(l, Y3, r->vector + VECTOR_BYTES);
        zc_vec_narrow(l, reg, reg, Y3, off ? HIGH_WORDS : LOW_WORDS);
        return true;
    }
    if (x.kind == LANES_VARYING)
        return false;
    v_mem(&l->g.o, width == 4 ? V_ALL4 : V_ALL8, reg, 0, RDI, slot);
    if (x.kind == LANES_AFFINE)
        v_mem(&l->g.o, width == 4 ? V_ADD4 : V_ADD8, reg, reg, RBX,
              zc_vec_constant(l, width, 0, (uint64_t)x.stride) + half * VECTOR_BYTES);
    return true;
}

unsigned zc_vec_find(struct zc_lanes_gen *l, unsigned reg, uint32_t slot, unsigned width, unsigned half)
{
    const struct zc_lanes_region *r = l_region(l, slot);
    if (r->kind == LANES_VARYING && r->each == width && slot == r->slot) {
        unsigned k = find_kept(l, r->vector + half * VECTOR_BYTES);
        if (k != ZC_LANES_KEPT)
            return FIRST_KEPT + k;
    }
    return zc_vec_get(l, reg, slot, width, half) ? reg : NO_VECTOR;
}

unsigned zc_vec_later(struct zc_lanes_gen *l, uint32_t slot, unsigned width, unsigned half)
{
    const struct zc_lanes_region *r = l_region(l, slot);
    if (r->kind != LANES_VARYING || r->size != width || r->each != (width < 4 ? 4 : width))
        return NO_VECTOR;
    return keep_vector(l, r->vector + half * VECTOR_BYTES);
}

bool zc_vec_done(struct zc_lanes_gen *l, unsigned reg, uint32_t slot)
{
    written(l, reg, l_region(l, slot)->local);
    return true;
}

bool zc_vec_put(struct zc_lanes_gen *l, unsigned reg, uint32_t slot, unsigned width, unsigned half)
{
    unsigned d = zc_vec_later(l, slot, width, half);
    if (d == NO_VECTOR)
        return false;
    v_reg(&l->g.o, V_MOV, d, 0, reg);
    return zc_vec_done(l, d, slot);
}

bool zc_vec_put_op(struct zc_lanes_gen *l, unsigned op, unsigned a, unsigned b, uint32_t slot, unsigned width, unsigned half)
{
    unsigned d = zc_vec_later(l, slot, width, half);
    if (d == NO_VECTOR)
        return false;
    v_reg(&l->g.o, op, d, a, b);
    return zc_vec_done(l, d, slot);
}

bool zc_vec_flags(struct zc_lanes_gen *l, unsigned reg, uint32_t slot)
{
    const struct zc_lanes_region *r = l_region(l, slot);
    if (r->kind == LANES_VARYING && r->size <= 4 && r->slot == slot) {
        load_vector(l, reg, r->vector);
    } else if (r->kind == LANES_UNIFORM) {
        v_mem(&l->g.o, V_ALL_BYTES, reg, 0, RDI, slot);
    } else {
        return false;
    }
    return true;
}

bool zc_lanes_broadcast(struct zc_lanes_gen *l, uint32_t slot, uint32_t size)
{
    const struct zc_lanes_region *r = l_region(l, slot);
    if (r->size != size || (size != 1 && size != 4 && size != 8))
        return false;
    v_mem(&l->g.o, size == 1 ? V_ALL_BYTES : size == 4 ? V_ALL4 : V_ALL8, Y0, 0, RDI, slot);
    for (unsigned half = 0; half < (size == 8 ? 2 : 1); half++)
        zc_vec_put(l, Y0, slot, size, half);
    return true;
}

void zc_vec_with(struct zc_lanes_gen *l, unsigned op, unsigned reg, unsigned width, uint64_t v)
{
    v_mem(&l->g.o, op, reg, reg, RBX, zc_vec_constant(l, width, v, 0));
}

#endif
