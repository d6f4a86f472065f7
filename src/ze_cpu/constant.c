/*
 * constant.c - evaluates constants and allocates module-scope variables.
 *
 * Program-scope variables have their memory from here on, so a pointer to one is a plain constant. A constant pointer to local
 * memory is an offset, marked `local`, to which each resident group adds its base. A constant gets a slot, filled in every
 * frame, only if a function uses it as a value.
 */
#include "ze_cpu/constant.h"

#include <string.h>

enum { GLOBALS_MAX = 1 << 30, LOCALS_MAX = 1 << 24 };

static struct zc_id *constant(struct zc_module *m, uint32_t id)
{
    if (id >= m->bound || m->id[id].what != ID_CONSTANT)
        zc_fail(m, "id %u is not a constant", id);
    return &m->id[id];
}

uint64_t zc_constant_u64(struct zc_module *m, uint32_t id)
{
    struct zc_id *c = constant(m, id);
    struct zc_type *t = zc_type(m, c->type);
    if (t->kind != KIND_INT && t->kind != KIND_POINTER && t->kind != KIND_BOOL)
        zc_fail(m, "constant %u is not an integer", id);
    if (c->local)
        zc_fail(m, "constant %u is a pointer to local memory", id);
    uint64_t v = 0;
    memcpy(&v, m->data.v + c->at, t->size);
    return v;
}

int64_t zc_constant_s64(struct zc_module *m, uint32_t id)
{
    uint64_t v = zc_constant_u64(m, id);
    return zc_sign(v, zc_type_of(m, id)->width);
}

static uint8_t *make(struct zc_module *m, uint32_t id)
{
    struct zc_id *c = &m->id[id];
    struct zc_type *t = zc_type(m, c->type);
    c->what = ID_CONSTANT;
    c->at = m->data.n;
    return zc_push_n(m, m->data, t->size);
}

static void make_u64(struct zc_module *m, uint32_t id, uint64_t v)
{
    uint64_t size = zc_type(m, m->id[id].type)->size;
    memcpy(make(m, id), &v, size < 8 ? size : 8);
}

static void composite(struct zc_module *m, const uint32_t *p)
{
    struct zc_type t = *zc_type(m, p[1]);
    uint32_t n = ZC_WORDS(p) - 3;
    if ((t.kind != KIND_STRUCT && t.kind != KIND_ARRAY && t.kind != KIND_VECTOR) || n != t.n)
        zc_fail(m, "%u constituents do not make type %u", n, p[1]);
    make(m, p[2]);
    uint32_t at = m->id[p[2]].at;
    for (uint32_t i = 0; i < n; i++) {
        struct zc_id *part = constant(m, p[3 + i]);
        uint64_t off = 0, size = zc_type(m, part->type)->size;
        if (zc_type(m, zc_member(m, p[1], i, &off))->size != size || part->local)
            zc_fail(m, "constituent %u does not fit", i);
        memcpy(m->data.v + at + off, m->data.v + part->at, size);
    }
}

/* ---- operations on constants ------------------------------------------------------------------------------------ */

static void op_chain(struct zc_module *m, const uint32_t *p)
{
    uint32_t op = p[3], words = ZC_WORDS(p);
    bool element = op == OpPtrAccessChain || op == OpInBoundsPtrAccessChain;
    if (words < 5u + element)
        zc_fail(m, "too few words");
    struct zc_id *base = constant(m, p[4]);
    struct zc_type *t = zc_type(m, base->type);
    if (t->kind != KIND_POINTER || zc_type(m, p[1])->kind != KIND_POINTER)
        zc_fail(m, "not a pointer");
    uint32_t type = t->elem;
    uint64_t v, off = 0;
    memcpy(&v, m->data.v + base->at, sizeof v);
    for (uint32_t i = 5; i < words; i++) {
        int64_t index = zc_constant_s64(m, p[i]);
        if (element && i == 5)
            off += (uint64_t)index * zc_type(m, type)->size;
        else
            type = zc_member(m, type, (uint64_t)index, &off);
    }
    bool local = base->local;
    make_u64(m, p[2], v + off);
    m->id[p[2]].local = local;
}

/* A cast between integers and pointers; the result of a pointer to local memory stays marked `local`. */
static void op_cast(struct zc_module *m, const uint32_t *p, bool sign)
{
    struct zc_id *from = constant(m, p[4]);
    struct zc_type *t = zc_type(m, from->type), *to = zc_type(m, p[1]);
    if (t->size > 8 || to->size > 8 || (p[3] != OpSConvert && p[3] != OpUConvert && t->size != to->size))
        zc_fail(m, "the sizes differ");
    uint64_t v = 0;
    memcpy(&v, m->data.v + from->at, t->size);
    bool local = from->local;
    if (local && to->size != 8)
        zc_fail(m, "a pointer to local memory cannot be truncated");
    make_u64(m, p[2], sign ? (uint64_t)zc_sign(v, (unsigned)t->size) : v);
    m->id[p[2]].local = local;
}

static uint64_t binary(struct zc_module *m, uint32_t op, uint64_t a, uint64_t b, unsigned w)
{
    int64_t sa = zc_sign(a, w), sb = zc_sign(b, w);
    unsigned bits = w * 8;
    switch (op) {
    case OpIAdd:
        return a + b;
    case OpISub:
        return a - b;
    case OpIMul:
        return a * b;
    case OpUDiv:
        return b ? a / b : 0;
    case OpUMod:
        return b ? a % b : 0;
    case OpSDiv:
        return sb && sb != -1 ? (uint64_t)(sa / sb) : 0 - (sb ? a : 0);
    case OpSRem:
        return sb && sb != -1 ? (uint64_t)(sa % sb) : 0;
    case OpShiftLeftLogical:
        return a << (b & (bits - 1));
    case OpShiftRightLogical:
        return a >> (b & (bits - 1));
    case OpShiftRightArithmetic:
        return (uint64_t)(sa >> (b & (bits - 1)));
    case OpBitwiseAnd:
    case OpLogicalAnd:
        return a & b;
    case OpBitwiseOr:
    case OpLogicalOr:
        return a | b;
    case OpBitwiseXor:
    case OpLogicalNotEqual:
    case OpINotEqual:
        return op == OpBitwiseXor ? a ^ b : a != b;
    case OpIEqual:
    case OpLogicalEqual:
        return a == b;
    case OpULessThan:
        return a < b;
    case OpSLessThan:
        return sa < sb;
    case OpUGreaterThan:
        return a > b;
    case OpSGreaterThan:
        return sa > sb;
    case OpULessThanEqual:
        return a <= b;
    case OpSLessThanEqual:
        return sa <= sb;
    case OpUGreaterThanEqual:
        return a >= b;
    case OpSGreaterThanEqual:
        return sa >= sb;
    }
    zc_fail(m, "%s is not supported on constants", zc_op_name(op));
}

static void operation(struct zc_module *m, const uint32_t *p)
{
    uint32_t words = ZC_WORDS(p);
    if (words < 5)
        zc_fail(m, "too few words");
    switch (p[3]) {
    case OpAccessChain:
    case OpInBoundsAccessChain:
    case OpPtrAccessChain:
    case OpInBoundsPtrAccessChain:
        op_chain(m, p);
        return;
    case OpBitcast:
    case OpConvertPtrToU:
    case OpConvertUToPtr:
    case OpPtrCastToGeneric:
    case OpGenericCastToPtr:
    case OpUConvert:
    case OpSConvert:
        op_cast(m, p, p[3] == OpSConvert);
        return;
    case OpNot:
        make_u64(m, p[2], ~zc_constant_u64(m, p[4]));
        return;
    case OpLogicalNot:
        make_u64(m, p[2], !zc_constant_u64(m, p[4]));
        return;
    case OpSNegate:
        make_u64(m, p[2], 0 - zc_constant_u64(m, p[4]));
        return;
    case OpSelect:
        if (words != 7)
            zc_fail(m, "too few words");
        make_u64(m, p[2], zc_constant_u64(m, zc_constant_u64(m, p[4]) ? p[5] : p[6]));
        return;
    }
    if (words != 6)
        zc_fail(m, "%s is not supported on constants", zc_op_name(p[3]));
    make_u64(m, p[2], binary(m, p[3], zc_constant_u64(m, p[4]), zc_constant_u64(m, p[5]), zc_type_of(m, p[4])->width));
}

/* The specialization of a constant of this size, or its default. */
static uint64_t specialized(struct zc_module *m, uint32_t id, uint64_t size, uint64_t value)
{
    const struct zc_specialization *s = m->spec;
    for (uint32_t i = 0; s && m->id[id].spec && i < s->n; i++)
        if (s->ids[i] == m->id[id].spec - 1) {
            value = 0;
            memcpy(&value, s->values[i], size);
        }
    return value;
}

/* A constant made from others refers to the imports that they refer to. */
static void inherit_import(struct zc_module *m, const uint32_t *p, uint32_t first)
{
    for (uint32_t i = first; i < ZC_WORDS(p); i++) {
        if (p[i] >= m->bound || m->id[p[i]].what != ID_CONSTANT)
            continue;
        if (m->id[p[i]].builtin)
            zc_fail(m, "a constant made from the address of built-in variable %u is not supported", p[i]);
        if (m->id[p[i]].import)
            m->id[p[2]].import = m->id[p[i]].import;
    }
}

void zc_constant(struct zc_module *m, const uint32_t *p)
{
    struct zc_type *t = zc_type(m, p[1]);
    uint32_t op = ZC_OP(p);
    m->id[p[2]].builtin = 0; /* the decoration has a meaning for variables only */
    if (op != OpSpecConstantTrue && op != OpSpecConstantFalse && op != OpSpecConstant)
        m->id[p[2]].spec = 0;
    switch (op) {
    case OpConstantTrue:
    case OpSpecConstantTrue:
    case OpConstantFalse:
    case OpSpecConstantFalse:
        if (t->kind != KIND_BOOL)
            zc_fail(m, "not a boolean type");
        make_u64(m, p[2], specialized(m, p[2], 1, op == OpConstantTrue || op == OpSpecConstantTrue) != 0);
        return;
    case OpConstant:
    case OpSpecConstant: {
        if ((t->kind != KIND_INT && t->kind != KIND_FLOAT) || ZC_WORDS(p) != (t->size == 8 ? 5 : 4))
            zc_fail(m, "the literal does not fit type %u", p[1]);
        uint64_t v = p[3] | (t->size == 8 ? (uint64_t)p[4] << 32 : 0);
        make_u64(m, p[2], op == OpSpecConstant ? specialized(m, p[2], t->size, v) : v);
        return;
    }
    case OpConstantComposite:
    case OpSpecConstantComposite:
        composite(m, p);
        inherit_import(m, p, 3);
        return;
    case OpSpecConstantOp:
        inherit_import(m, p, 4);
        operation(m, p);
        return;
    default: /* OpConstantNull, OpUndef */
        make(m, p[2]);
    }
}

/* ---- variables of the module ------------------------------------------------------------------------------------ */

static void local_variable(struct zc_module *m, const uint32_t *p, uint64_t size, uint64_t align)
{
    uint64_t at = (m->local_bytes + align - 1) & ~(align - 1);
    m->local_bytes = at + size;
    if (m->local_bytes > LOCALS_MAX)
        zc_fail(m, "more than %d bytes of local memory", LOCALS_MAX);
    make_u64(m, p[2], at);
    m->id[p[2]].local = true;
}

static void global_variable(struct zc_module *m, const uint32_t *p, uint64_t size)
{
    m->global_bytes += size;
    if (m->global_bytes > GLOBALS_MAX)
        zc_fail(m, "more than %d bytes of program-scope variables", GLOBALS_MAX);
    uint8_t *mem = zc_keep(m, size);
    if (ZC_WORDS(p) > 4) {
        struct zc_id *init = constant(m, p[4]);
        if (zc_type(m, init->type)->size != size || init->local)
            zc_fail(m, "the initializer has a different size");
        memcpy(mem, m->data.v + init->at, size);
        m->id[p[2]].import = m->id[p[2]].import ? m->id[p[2]].import : init->import;
    }
    *zc_push(m, m->globals) = (struct zc_global){.id = p[2], .mem = mem, .size = size};
    make_u64(m, p[2], (uint64_t)(uintptr_t)mem);
}

/* A variable with the decoration BuiltIn, in any storage class: older translators use UniformConstant. run.c writes three
 * 64-bit words for a vector, and one word for a scalar of 32 or 64 bits. */
static void builtin_variable(struct zc_module *m, const uint32_t *p, uint32_t type, uint64_t size)
{
    struct zc_id *id = &m->id[p[2]];
    uint32_t what = id->builtin - 1;
    struct zc_shape s = zc_shape(m, type);
    bool three = (what >= BUILTIN_GROUPS && what <= BUILTIN_GLOBAL_ID) ||
                 (what >= BUILTIN_GLOBAL_SIZE && what <= BUILTIN_GLOBAL_OFFSET);
    bool mask = what >= BUILTIN_SUBGROUP_EQ_MASK && what <= BUILTIN_SUBGROUP_LT_MASK;
    bool one = what == BUILTIN_LOCAL_INDEX || what == BUILTIN_WORK_DIM || what == BUILTIN_GLOBAL_INDEX ||
               (what >= BUILTIN_SUBGROUP_SIZE && what <= BUILTIN_SUBGROUP_LOCAL_ID);
    if (!three && !mask && !one)
        zc_fail(m, "built-in variable %u is not supported", what);
    if (s.kind != KIND_INT || size > ZC_BUILTIN_BYTES || s.n != (three ? 3 : mask ? 4 : 1) ||
        (three ? s.width != 8 : s.width < 4))
        zc_fail(m, "built-in variable %u has an unexpected type", what);
    make(m, p[2]); /* its bytes are not used: loads read the slot */
    id->import = 0;
    id->slot = zc_slot_new(m, ZC_BUILTIN_BYTES, ZC_BUILTIN_BYTES);
    *zc_push(m, m->builtins) = (struct zc_slot_of){id->slot, what};
}

void zc_module_variable(struct zc_module *m, const uint32_t *p)
{
    struct zc_type *t = zc_type(m, p[1]);
    if (t->kind != KIND_POINTER)
        zc_fail(m, "type %u is not a pointer", p[1]);
    struct zc_type *e = zc_type(m, t->elem);
    uint64_t size = e->size, align = e->align > m->id[p[2]].align ? e->align : m->id[p[2]].align;
    if (!size)
        zc_fail(m, "variable of a type without size");
    if (m->id[p[2]].builtin) {
        builtin_variable(m, p, t->elem, size);
    } else if (p[3] == STORAGE_LOCAL) {
        local_variable(m, p, size, align);
    } else if (p[3] == STORAGE_CONSTANT || p[3] == STORAGE_GLOBAL) {
        global_variable(m, p, size);
    } else {
        zc_fail(m, "storage class %u at module scope", p[3]);
    }
}

void zc_constant_use(struct zc_module *m, uint32_t id)
{
    struct zc_id *c = &m->id[id];
    if (c->slotted || c->builtin)
        return;
    struct zc_type *t = zc_type(m, c->type);
    if (t->size > 65536)
        zc_fail(m, "constant too large as a value: %llu bytes", (unsigned long long)t->size);
    c->slot = zc_slot_new(m, t->size, t->align);
    c->slotted = true;
    if (m->image.n < m->frame)
        zc_push_n(m, m->image, m->frame - m->image.n);
    memcpy(m->image.v + c->slot, m->data.v + c->at, t->size);
    if (c->local) {
        uint64_t off;
        memcpy(&off, m->data.v + c->at, sizeof off);
        *zc_push(m, m->locals) = (struct zc_slot_of){c->slot, (uint32_t)off};
    }
}
