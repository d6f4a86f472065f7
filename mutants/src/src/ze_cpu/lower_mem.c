/*
 * lower_mem.c - lowers variables, address arithmetic, loads, stores, copies and atomics.
 *
 * Address arithmetic whose result is used only as an address emits no instruction: it is folded into each load or store as
 * base + index * scale + imm.
 */
#include "ze_cpu/lower.h"

#include <string.h>

#include "ze_cpu/constant.h"
#include "ze_cpu/emit.h"
#include "ze_cpu/op.h"

/* ---- variables and address arithmetic --------------------------------------------------------------------------- */

static void variable(struct zc_module *m, const uint32_t *p)
{
    if (p[3] != STORAGE_FUNCTION)
        zc_fail(m, "storage class %u in a function", p[3]);
    struct zc_type *ptr = zc_type(m, p[1]);
    if (ptr->kind != KIND_POINTER)
        zc_fail(m, "type %u is not a pointer", p[1]);
    struct zc_type *t = zc_type(m, ptr->elem);
    if (!t->size)
        zc_fail(m, "variable of a type without size");
    uint64_t align = m->id[p[2]].align > t->align ? m->id[p[2]].align : t->align;
    uint32_t d = zc_result(m, p), at = zc_slot_new(m, t->size, align);
    zc_emit(m, OP_LEA, d, at, 0);
    if (ZC_WORDS(p) > 4) {
        if (zc_type_of(m, p[4])->size != t->size)
            zc_fail(m, "the initializer has a different size");
        zc_move(m, at, zc_value(m, p[4]), t->size);
    }
}

static struct zc_addr add_index(struct zc_module *m, struct zc_addr a, uint32_t id, uint64_t stride)
{
    struct zc_type *t = zc_type_of(m, id);
    if (t->kind != KIND_INT)
        zc_fail(m, "index %u is not an integer", id);
    if (m->id[id].what == ID_CONSTANT && !m->id[id].local) {
        a.imm = (int64_t)((uint64_t)a.imm + (uint64_t)zc_constant_s64(m, id) * stride);
        return a;
    }
    uint32_t slot = zc_resize(m, zc_value(m, id), (unsigned)t->size, 8, true);
    if (a.index != ZC_NONE)
        a = zc_settle(m, a, zc_temp(m, 8));
    a.index = slot;
    a.scale = (int64_t)stride;
    return a;
}

static void chain(struct zc_module *m, const uint32_t *p)
{
    bool element = ZC_OP(p) == OpPtrAccessChain || ZC_OP(p) == OpInBoundsPtrAccessChain;
    struct zc_addr a = zc_address(m, p[3]);
    uint32_t type = zc_type_of(m, p[3])->elem;
    if (zc_type(m, p[1])->kind != KIND_POINTER)
        zc_fail(m, "the result is not a pointer");
    for (uint32_t i = 4; i < ZC_WORDS(p); i++) {
        struct zc_type *t = zc_type(m, type);
        if (element && i == 4) {
            a = add_index(m, a, p[i], t->size);
        } else if (t->kind == KIND_STRUCT) {
            uint64_t off = 0;
            type = zc_member(m, type, zc_constant_u64(m, p[i]), &off);
            a.imm = (int64_t)((uint64_t)a.imm + off);
        } else if (t->kind == KIND_ARRAY || t->kind == KIND_VECTOR) {
            type = t->elem;
            a = add_index(m, a, p[i], zc_type(m, type)->size);
        } else {
            zc_fail(m, "type %u has no members", type);
        }
    }
    struct zc_id *v = &m->id[p[2]];
    if (v->uses == v->address_uses && !v->slotted) {
        v->folded = true;
        v->addr = a;
        return;
    }
    uint32_t d = zc_result(m, p);
    if (a.index != ZC_NONE)
        a = zc_settle(m, a, d);
    if (a.base != d || a.imm)
        zc_emit(m, OP_PADD, d, a.base, 0)->imm = a.imm;
}

/* ---- loads and stores ------------------------------------------------------------------------------------------- */

/* Size of a value in memory: a vector of three does not access a fourth component. */
static uint64_t bytes(struct zc_module *m, uint32_t type)
{
    struct zc_type *t = zc_type(m, type);
    if (!t->size)
        zc_fail(m, "type %u has no size", type);
    return t->kind == KIND_VECTOR ? t->n * zc_type(m, t->elem)->size : t->size;
}

static bool plain(uint64_t size)
{
    return size == 1 || size == 2 || size == 4 || size == 8;
}

static bool is_volatile(const uint32_t *p, uint32_t word)
{
    return ZC_WORDS(p) > word && (p[word] & MEMORY_VOLATILE);
}

/* Emit a load or store of `size` bytes at the pointer `ptr`, to or from `slot`. */
static void access_memory(struct zc_module *m, const uint32_t *p, uint32_t ptr, uint32_t slot, uint64_t size, bool load)
{
    bool vol = is_volatile(p, load ? 4 : 3) && zc_type_of(m, ptr)->storage != STORAGE_FUNCTION;
    struct zc_addr a = zc_address(m, ptr);
    if (!plain(size) || vol) {
        int64_t imm;
        a.base = zc_flat(m, ptr, &imm);
        a.imm = imm;
        unsigned op = load ? OP_LD_N : OP_ST_N;
        if (plain(size))
            op = (load ? OP_LDV_1 : OP_STV_1) + zc_log2((unsigned)size);
        zc_emit(m, op, slot, a.base, (uint32_t)size)->imm = a.imm;
        return;
    }
    unsigned w = zc_log2((unsigned)size);
    if (a.index != ZC_NONE && a.scale > 0 && a.scale <= UINT32_MAX) {
        struct zc_ins *i = zc_emit(m, (load ? OP_LDX_1 : OP_STX_1) + w, slot, a.base, a.index);
        i->c = (uint32_t)a.scale;
        i->imm = a.imm;
        return;
    }
    if (a.index != ZC_NONE)
        a = zc_settle(m, a, zc_temp(m, 8));
    zc_emit(m, (load ? OP_LD_1 : OP_ST_1) + w, slot, a.base, 0)->imm = a.imm;
}

static void load(struct zc_module *m, const uint32_t *p)
{
    struct zc_id *ptr = &m->id[p[3]];
    uint64_t size = bytes(m, p[1]);
    if (zc_pointee(m, p[3])->size != zc_type(m, p[1])->size)
        zc_fail(m, "the pointer has a different type");
    if (ptr->what == ID_CONSTANT && ptr->builtin) { /* a built-in variable is in the frame */
        zc_alias(m, p, ptr->slot);
        return;
    }
    access_memory(m, p, p[3], zc_result(m, p), size, true);
}

static void store(struct zc_module *m, const uint32_t *p)
{
    struct zc_type *t = zc_type_of(m, p[2]);
    if (zc_pointee(m, p[1])->size != t->size)
        zc_fail(m, "the pointer has a different type");
    access_memory(m, p, p[1], zc_value(m, p[2]), bytes(m, m->id[p[2]].type), false);
}

static void copy(struct zc_module *m, const uint32_t *p)
{
    uint32_t d = zc_value(m, p[1]), s = zc_value(m, p[2]);
    uint64_t size = zc_pointee(m, p[1])->size;
    zc_pointee(m, p[2]);
    if (ZC_OP(p) == OpCopyMemory) {
        if (!size)
            zc_fail(m, "type without size");
        zc_emit(m, OP_COPY, d, s, (uint32_t)size);
        return;
    }
    struct zc_shape n = zc_shape(m, m->id[p[3]].type);
    if (zc_type_of(m, p[3])->kind != KIND_INT)
        zc_fail(m, "the size is not an integer");
    zc_emit(m, OP_COPY_SIZED, d, s, zc_resize(m, zc_value(m, p[3]), n.width, 8, false));
}

bool zc_lower_memory(struct zc_module *m, const uint32_t *p)
{
    switch (ZC_OP(p)) {
    case OpVariable:
        variable(m, p);
        return true;
    case OpAccessChain:
    case OpInBoundsAccessChain:
    case OpPtrAccessChain:
    case OpInBoundsPtrAccessChain:
        chain(m, p);
        return true;
    case OpLoad:
        load(m, p);
        return true;
    case OpStore:
        store(m, p);
        return true;
    case OpCopyMemory:
    case OpCopyMemorySized:
        copy(m, p);
        return true;
    }
    return false;
}

/* ---- atomics ---------------------------------------------------------------------------------------------------- */

enum { SEM_ACQUIRE = 2, SEM_RELEASE = 4, SEM_ACQ_REL = 8, SEM_SEQ_CST = 16 };

/* Memory order of a memory-semantics operand; sequentially consistent if it is not a constant. */
static int order(struct zc_module *m, uint32_t id)
{
    if (m->id[id].what != ID_CONSTANT)
        return __ATOMIC_SEQ_CST;
    uint64_t s = zc_constant_u64(m, id);
    if (s & SEM_SEQ_CST)
        return __ATOMIC_SEQ_CST;
    if (s & SEM_ACQ_REL || (s & SEM_ACQUIRE && s & SEM_RELEASE))
        return __ATOMIC_ACQ_REL;
    return s & SEM_RELEASE ? __ATOMIC_RELEASE : s & SEM_ACQUIRE ? __ATOMIC_ACQUIRE : __ATOMIC_RELAXED;
}

/* Width of the atomic word at `ptr`, 4 or 8; `type` is the type of the value. */
static unsigned word(struct zc_module *m, uint32_t ptr, uint32_t type)
{
    struct zc_shape s = zc_shape(m, type);
    if (s.n != 1 || (s.width != 4 && s.width != 8) || s.kind == KIND_BOOL)
        zc_fail(m, "atomics of this type are not supported");
    if (zc_pointee(m, ptr)->size != s.width)
        zc_fail(m, "the pointer has a different type");
    return s.width;
}

static void atomic_load(struct zc_module *m, const uint32_t *p)
{
    int64_t imm;
    unsigned wide = word(m, p[3], p[1]) == 8;
    uint32_t a = zc_flat(m, p[3], &imm);
    int o = order(m, p[5]);
    unsigned op = o == __ATOMIC_RELAXED ? OP_ALOAD_RLX_4 : o == __ATOMIC_SEQ_CST ? OP_ALOAD_SEQ_4 : OP_ALOAD_ACQ_4;
    zc_emit(m, op + wide, zc_result(m, p), a, 0)->imm = imm;
}

static void atomic_store(struct zc_module *m, const uint32_t *p)
{
    int64_t imm;
    zc_type_of(m, p[4]);
    unsigned wide = word(m, p[1], m->id[p[4]].type) == 8;
    uint32_t a = zc_flat(m, p[1], &imm);
    int o = order(m, p[3]);
    unsigned op = o == __ATOMIC_RELAXED ? OP_ASTORE_RLX_4 : o == __ATOMIC_SEQ_CST ? OP_ASTORE_SEQ_4 : OP_ASTORE_REL_4;
    zc_emit(m, op + wide, zc_value(m, p[4]), a, 0)->imm = imm;
}

static const uint16_t rmw_op[] = {
    [OpAtomicExchange] = OP_AXCHG_4, [OpAtomicIIncrement] = OP_AADD_4, [OpAtomicIDecrement] = OP_ASUB_4,
    [OpAtomicIAdd] = OP_AADD_4,      [OpAtomicISub] = OP_ASUB_4,       [OpAtomicSMin] = OP_ASMIN_4,
    [OpAtomicUMin] = OP_AUMIN_4,     [OpAtomicSMax] = OP_ASMAX_4,      [OpAtomicUMax] = OP_AUMAX_4,
    [OpAtomicAnd] = OP_AAND_4,       [OpAtomicOr] = OP_AOR_4,          [OpAtomicXor] = OP_AXOR_4,
};

static void atomic_rmw(struct zc_module *m, const uint32_t *p)
{
    int64_t imm;
    unsigned size = word(m, p[3], p[1]);
    bool step = ZC_OP(p) == OpAtomicIIncrement || ZC_OP(p) == OpAtomicIDecrement;
    uint32_t v, a = zc_flat(m, p[3], &imm);
    if (step) {
        v = zc_temp(m, 8);
        zc_emit(m, OP_ZERO, v, 1, 8); /* 1 in 8 bytes */
    } else {
        if (zc_type_of(m, p[6])->size != size)
            zc_fail(m, "the operand has a different type");
        v = zc_value(m, p[6]);
    }
    struct zc_ins *i = zc_emit(m, rmw_op[ZC_OP(p)] + (size == 8), zc_result(m, p), a, v);
    i->w = (uint8_t)order(m, p[5]);
    i->imm = imm;
}

static void atomic_cas(struct zc_module *m, const uint32_t *p)
{
    int64_t imm;
    unsigned size = word(m, p[3], p[1]);
    if (zc_type_of(m, p[7])->size != size || zc_type_of(m, p[8])->size != size)
        zc_fail(m, "the operands have a different type");
    uint32_t a = zc_flat(m, p[3], &imm), v = zc_value(m, p[7]), expect = zc_value(m, p[8]);
    struct zc_ins *i = zc_emit(m, OP_ACAS_4 + (size == 8), zc_result(m, p), a, v);
    i->c = expect;
    i->w = (uint8_t)order(m, p[5]);
    i->imm = imm;
}

/* An atomic_flag is a 32-bit word. d: whether it was set; n: 1 sets it, 0 clears it. */
static void atomic_flag(struct zc_module *m, const uint32_t *p, bool set)
{
    int64_t imm;
    uint32_t ptr = p[set ? 3 : 1], a = zc_flat(m, ptr, &imm);
    if (zc_pointee(m, ptr)->size != 4 || (set && zc_type(m, p[1])->kind != KIND_BOOL))
        zc_fail(m, "an atomic flag must have 32 bits");
    uint32_t d = set ? zc_result(m, p) : zc_temp(m, 1);
    struct zc_ins *i = zc_emit(m, OP_AFLAG, d, a, 0);
    i->n = set;
    i->w = (uint8_t)order(m, p[set ? 5 : 3]);
    i->imm = imm;
}

bool zc_lower_atomic(struct zc_module *m, const uint32_t *p)
{
    uint32_t op = ZC_OP(p);
    switch (op) {
    case OpAtomicLoad:
        atomic_load(m, p);
        return true;
    case OpAtomicStore:
        atomic_store(m, p);
        return true;
    case OpAtomicCompareExchange:
    case OpAtomicCompareExchangeWeak:
        atomic_cas(m, p);
        return true;
    case OpAtomicFlagTestAndSet:
    case OpAtomicFlagClear:
        atomic_flag(m, p, op == OpAtomicFlagTestAndSet);
        return true;
    case OpMemoryBarrier:
        zc_emit(m, OP_FENCE, 0, 0, 0)->w = (uint8_t)order(m, p[2]);
        return true;
    }
    if (op >= OpAtomicExchange && op <= OpAtomicXor) {
        atomic_rmw(m, p);
        return true;
    }
    return false;
}
