/*
 * native.c - translates lowered code into that of the processor, where it is x86-64.
 *
 * The machine stays what it is. An instruction that has been translated becomes OP_NATIVE, and its ptr is code that does
 * what it did, goes on with those behind it, and comes back at the first that is not translated or when the turn ends.
 * Every value lies in the frame between two instructions, so machine and translated code take turns anywhere; what rax
 * still holds of the last result spares the next instruction a load if nothing can jump in between.
 *
 * Translated code is entered as zc_native (vm.h): rdi is the frame, rsi the item, edx what is left of the quantum.
 * Jumps backwards count it down; polls do what the machine's do.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "device/ze_cpu/op.h"
#include "device/ze_cpu/vm.h"
#include "device/ze_cpu/x86.h"

#if defined(__x86_64__)

enum { BYTES_EACH = 80, STUB_MAX = 16, COPY_MAX = 128, ARGS_MAX = 16, ARG_MAX = 64 };
enum { BUILTIN_BYTES = 24 }; /* of a built-in value in the frame */
enum { ONE_MAX = 4096 }; /* bytes that one instruction can become */

struct gen {
    struct zc_x86_out o;
    struct zc_module *m;
    uint8_t *end;
    uint8_t **native; /* of each instruction; where it is not translated, code that goes to the machine */
    bool *is_target;  /* something jumps here */
    bool *is_native;  /* translated */
    struct fix {
        uint8_t *place;
        uint32_t to;
    } *fix;
    uint32_t fixes;
    uint8_t *poll, *stop; /* common ends */
    struct held {
        uint32_t slot, width; /* of what rax holds; width 0: nothing */
    } was, held;              /* before and after the instruction being translated */
    bool quiet;               /* the item's spins are 0 */
    uint32_t pc;              /* of the instruction being translated */
};

#define ITEM(field) ((uint32_t)offsetof(struct zc_item, field))

/* ---- values ----------------------------------------------------------------------------------------------------- */

static void get(struct gen *g, enum zc_reg reg, uint32_t slot, unsigned width, bool sign)
{
    bool have = g->was.width == width && g->was.slot == slot && width >= 4;
    if (!have)
        x_load(&g->o, reg, RDI, slot, width, sign);
    else if (reg != RAX)
        x_reg(&g->o, X_MOV, width == 8, reg, RAX);
    if (reg == RAX && !have)
        g->was.width = 0;
}

static void put(struct gen *g, enum zc_reg reg, uint32_t slot, unsigned width)
{
    x_store(&g->o, reg, RDI, slot, width);
    g->was.width = 0;
    g->held = (struct held){slot, reg == RAX ? width : 0};
}

/* Whether all frames have the same integer there, and which. */
static bool is_constant(const struct gen *g, uint32_t slot, unsigned width, int64_t *v)
{
    const struct zc_module *m = g->m;
    if (slot + width > m->image.n)
        return false;
    for (uint32_t k = 0; k < m->builtins.n; k++)
        if (m->builtins.v[k].slot < slot + width && slot < m->builtins.v[k].slot + BUILTIN_BYTES)
            return false;
    for (uint32_t k = 0; k < m->locals.n; k++)
        if (m->locals.v[k].slot < slot + width && slot < m->locals.v[k].slot + 8)
            return false;
    uint64_t bits = 0;
    memcpy(&bits, m->image.v + slot, width);
    *v = zc_sign(bits, width);
    return true;
}

/* To and from xmm0. */
static void get_float(struct gen *g, uint32_t slot, unsigned width)
{
    x_mem(&g->o, width == 4 ? 0xf30f10 : 0xf20f10, false, 0, RDI, slot);
}

static void put_float(struct gen *g, uint32_t slot, unsigned width)
{
    x_mem(&g->o, width == 4 ? 0xf30f11 : 0xf20f11, false, 0, RDI, slot);
}

/* Whoever writes does not only poll. */
static void writes(struct gen *g)
{
    if (g->quiet)
        return;
    x_mem(&g->o, X_MOV8_IMM, false, 0, RSI, ITEM(spins));
    x_byte(&g->o, 0);
    g->quiet = true;
}

static uint64_t address_of(const struct gen *g, uint32_t pc)
{
    return (uint64_t)(uintptr_t)&g->m->code.v[pc];
}

/* ---- jumps ------------------------------------------------------------------------------------------------------ */

static void fix(struct gen *g, uint8_t *place, uint32_t to)
{
    g->fix[g->fixes++] = (struct fix){place, to};
}

static void jump(struct gen *g, uint32_t to)
{
    if (to == g->pc + 1)
        return;
    if (to > g->pc) {
        fix(g, x_jump_later(&g->o), to);
        return;
    }
    x_reg(&g->o, X_GROUP5, false, GROUP5_DEC, RDX);
    fix(g, x_branch_later(&g->o, CC_G), to);
    x_imm64(&g->o, RAX, address_of(g, to));
    x_jump(&g->o, X_JUMP, g->stop);
}

static bool branch(struct gen *g, enum zc_cc cc, uint32_t yes, uint32_t no)
{
    if (yes > g->pc) {
        fix(g, x_branch_later(&g->o, cc), yes);
    } else {
        uint8_t *over = x_branch_later(&g->o, cc ^ 1);
        jump(g, yes);
        x_set_distance(over, g->o.at);
    }
    jump(g, no);
    return true;
}

/* Back to the machine, for this instruction. */
static void leave(struct gen *g)
{
    x_imm64(&g->o, RAX, address_of(g, g->pc));
    x_byte(&g->o, X_RET);
}

/* Ends the turn if the value in rax, polled by this instruction, says so. */
static void polled(struct gen *g)
{
    x_imm64(&g->o, R8, address_of(g, g->pc));
    x_jump(&g->o, X_CALL, g->poll);
    g->held.width = 0;
    g->quiet = false;
}

static void push_all(struct gen *g)
{
    x_byte(&g->o, X_PUSH + RDI);
    x_byte(&g->o, X_PUSH + RSI);
    x_byte(&g->o, X_PUSH + RDX);
}

static void pop_all(struct gen *g)
{
    x_byte(&g->o, X_POP + RDX);
    x_byte(&g->o, X_POP + RSI);
    x_byte(&g->o, X_POP + RDI);
}

static void call(struct gen *g, const void *fn)
{
    x_imm64(&g->o, RAX, (uint64_t)(uintptr_t)fn);
    x_reg(&g->o, X_GROUP5, false, GROUP5_CALL, RAX);
}

static void stop(struct gen *g, enum zc_stop why)
{
    x_reg(&g->o, X_XOR, false, RAX, RAX);
    x_byte(&g->o, X_MOV_IMM + RDX);
    x_u32(&g->o, why);
    x_byte(&g->o, X_RET);
}

/* The machine does it: zc_vm_polled(item, instruction, value). */
static void poll_slow(struct gen *g)
{
    push_all(g);
    x_reg(&g->o, X_MOV, true, RDI, RSI);
    x_reg(&g->o, X_MOV, true, RSI, R8);
    x_reg(&g->o, X_MOV, true, RDX, RAX);
    x_byte(&g->o, X_PUSH + RAX); /* to 16 bytes */
    call(g, (const void *)(uintptr_t)zc_vm_polled);
    x_byte(&g->o, X_POP + RCX);
    pop_all(g);
    x_reg(&g->o, X_TEST, false, RAX, RAX);
    uint8_t *stops = x_branch_later(&g->o, CC_NE);
    x_byte(&g->o, X_RET);
    x_set_distance(stops, g->o.at);
    x_byte(&g->o, X_POP + RCX); /* not back to who polled, but to the machine */
    x_reg(&g->o, X_MOV, false, RDX, RAX);
    x_reg(&g->o, X_XOR, false, RAX, RAX);
    x_byte(&g->o, X_RET);
}

/* The same value again: no end of the turn before ZC_SPINS. */
static void poll_same(struct gen *g, const uint8_t *slow)
{
    x_load(&g->o, RCX, RSI, ITEM(spins), 1, false);
    x_reg(&g->o, X_IMM, false, IMM_ADD, RCX);
    x_u32(&g->o, 1);
    x_reg(&g->o, X_IMM, false, IMM_CMP, RCX);
    x_u32(&g->o, ZC_SPINS);
    x_set_distance(x_branch_later(&g->o, CC_AE), slow);
    x_store(&g->o, RCX, RSI, ITEM(spins), 1);
    x_byte(&g->o, X_RET);
}

/* The ends: stop has the instruction to go on with in rax; poll, which is called, the value in rax and the instruction
 * that polled it in r8. */
static void ends(struct gen *g)
{
    g->stop = g->o.at;
    x_store(&g->o, RAX, RSI, ITEM(pc), 8);
    stop(g, STOP_QUANTUM);
    const uint8_t *slow = g->o.at;
    poll_slow(g);
    const uint8_t *same = g->o.at;
    poll_same(g, slow);
    g->poll = g->o.at;
    for (uint32_t k = 0; k < ZC_POLLED; k++) {
        x_mem(&g->o, X_CMP, true, R8, RSI, ITEM(polled[k].pc));
        uint8_t *other = x_branch_later(&g->o, CC_NE);
        x_mem(&g->o, X_CMP, true, RAX, RSI, ITEM(polled[k].value));
        x_set_distance(x_branch_later(&g->o, CC_E), same);
        x_store(&g->o, RAX, RSI, ITEM(polled[k].value), 8);
        x_mem(&g->o, X_MOV8_IMM, false, 0, RSI, ITEM(spins));
        x_byte(&g->o, 0);
        x_mem(&g->o, X_MOV8_IMM, false, 0, RSI, ITEM(fresh));
        x_byte(&g->o, true);
        x_byte(&g->o, X_RET);
        x_set_distance(other, g->o.at);
    }
    x_jump(&g->o, X_JUMP, slow);
}

/* ---- arithmetic ------------------------------------------------------------------------------------------------- */

/* Every function below translates the k-th operation of a row of the table at the end, or returns false. */

struct shape {
    unsigned family, width, n; /* which operation; of a component; components */
};

static struct shape integers(const struct zc_ins *i, unsigned k)
{
    return (struct shape){k / 8, 1u << k % 4, k & 4 ? i->n : 1};
}

static struct shape floats(const struct zc_ins *i, unsigned k)
{
    return (struct shape){k / 4, 4u << k % 2, k & 2 ? i->n : 1};
}

/* a op b in rax. */
static void combine(struct gen *g, unsigned op, uint32_t a, uint32_t b, unsigned width, bool sign)
{
    if (width < 4) {
        get(g, RAX, a, width, sign);
        x_load(&g->o, RCX, RDI, b, width, sign);
        x_reg(&g->o, op, false, RAX, RCX);
        return;
    }
    int64_t v;
    if (is_constant(g, b, width, &v) && v == (int32_t)v) {
        get(g, RAX, a, width, false);
        x_reg(&g->o, op == X_IMUL ? X_IMUL_IMM : X_IMM, width == 8, op == X_IMUL ? RAX : op >> 3, RAX);
        x_u32(&g->o, (uint32_t)v);
        return;
    }
    bool swap = op != X_SUB && op != X_CMP && g->was.width == width && g->was.slot == b;
    get(g, RAX, swap ? b : a, width, sign);
    x_mem(&g->o, op, width == 8, RAX, RDI, swap ? a : b);
}

enum { INT_SHL = 6, INT_SHR, INT_UDIV, INT_UREM, INT_UMIN, INT_UMAX, INT_ASR, INT_SDIV, INT_SREM, INT_SMOD, INT_SMIN };

/* a shifted by b, in rax. */
static void shift(struct gen *g, unsigned kind, uint32_t a, uint32_t b, unsigned width, bool sign)
{
    int64_t by;
    bool known = is_constant(g, b, width, &by);
    if (!known)
        get(g, RCX, b, width, false);
    get(g, RAX, a, width, sign);
    if (known) {
        x_reg(&g->o, X_SHIFT_IMM, width == 8, kind, RAX);
        x_byte(&g->o, (unsigned)by & (width * 8 - 1));
        return;
    }
    if (width < 4) {
        x_reg(&g->o, X_IMM, false, IMM_AND, RCX);
        x_u32(&g->o, width * 8 - 1);
    }
    x_reg(&g->o, X_SHIFT, width == 8, kind, RAX);
}

/* Of one component, to rax. */
static void integer_one(struct gen *g, struct shape s, uint32_t a, uint32_t b)
{
    static const unsigned simple[] = {X_ADD, X_SUB, X_IMUL, X_AND, X_OR, X_XOR};
    bool wide = s.width == 8, sign = s.family >= INT_ASR;
    if (s.family < INT_SHL) {
        combine(g, simple[s.family], a, b, s.width, false);
        return;
    }
    if (s.family == INT_SHL || s.family == INT_SHR || s.family == INT_ASR) {
        unsigned kind = s.family == INT_SHL ? SHIFT_LEFT : s.family == INT_SHR ? SHIFT_RIGHT : SHIFT_ARITHMETIC;
        shift(g, kind, a, b, s.width, sign);
        return;
    }
    enum zc_cc worse = s.family == INT_UMIN ? CC_A : s.family == INT_UMAX ? CC_B : s.family == INT_SMIN ? CC_G : CC_L;
    get(g, RCX, b, s.width, sign);
    get(g, RAX, a, s.width, sign);
    x_reg(&g->o, X_CMP, wide, RAX, RCX);
    x_reg(&g->o, X_CMOV + worse, wide, RAX, RCX);
}

static bool integer(struct gen *g, const struct zc_ins *i, unsigned k)
{
    struct shape s = integers(i, k);
    if (s.family == INT_UDIV || s.family == INT_UREM || (s.family >= INT_SDIV && s.family <= INT_SMOD))
        return false;
    for (uint32_t at = 0; at < s.n * s.width; at += s.width) {
        integer_one(g, s, i->a + at, i->b + at);
        put(g, RAX, i->d + at, s.width);
    }
    return true;
}

/* Of EQ NE UGT UGE ULT ULE SGT SGE SLT SLE. */
static const enum zc_cc condition[] = {CC_E, CC_NE, CC_A, CC_AE, CC_B, CC_BE, CC_G, CC_GE, CC_L, CC_LE};

static bool compare(struct gen *g, const struct zc_ins *i, unsigned k)
{
    struct shape s = integers(i, k);
    for (uint32_t n = 0; n < s.n; n++) {
        combine(g, X_CMP, i->a + n * s.width, i->b + n * s.width, s.width, s.family > 5);
        x_reg(&g->o, X_SET + condition[s.family], false, 0, RAX);
        put(g, RAX, i->d + n, 1);
    }
    return true;
}

static bool compare_and_branch(struct gen *g, const struct zc_ins *i, unsigned k)
{
    combine(g, X_CMP, i->a, i->b, k % 2 ? 8 : 4, false);
    return branch(g, condition[k / 2], i->c, i->d);
}

static bool negate(struct gen *g, const struct zc_ins *i, unsigned k)
{
    struct shape s = integers(i, k);
    for (uint32_t at = 0; at < s.n * s.width; at += s.width) {
        get(g, RAX, i->a + at, s.width, false);
        x_reg(&g->o, X_GROUP3, s.width == 8, s.family ? GROUP3_NOT : GROUP3_NEG, RAX);
        put(g, RAX, i->d + at, s.width);
    }
    return true;
}

static unsigned float_op(unsigned width, unsigned op)
{
    return (width == 4 ? 0xf30f00u : 0xf20f00u) | op;
}

static bool float2(struct gen *g, const struct zc_ins *i, unsigned k)
{
    static const unsigned op[] = {0x58, 0x5c, 0x59, 0x5e};
    struct shape s = floats(i, k);
    if (s.family >= 4) /* minimum and maximum have rules for what is no number */
        return false;
    for (uint32_t at = 0; at < s.n * s.width; at += s.width) {
        get_float(g, i->a + at, s.width);
        x_mem(&g->o, float_op(s.width, op[s.family]), false, 0, RDI, i->b + at);
        put_float(g, i->d + at, s.width);
    }
    return true;
}

static bool float_compare(struct gen *g, const struct zc_ins *i, unsigned k)
{
    /* Of FOEQ FUEQ FONE FUNE FOLT FULT FOGT FUGT FOLE FULE FOGE FUGE FORD FUNO: the processor's predicate; 8 swaps the
     * operands, 16 is not one of them. */
    static const uint8_t predicate[] = {0, 16, 16, 4, 1, 8 + 6, 8 + 1, 6, 2, 8 + 5, 8 + 2, 5, 7, 3};
    struct shape s = floats(i, k);
    unsigned p = predicate[s.family];
    if (p & 16)
        return false;
    for (uint32_t n = 0; n < s.n; n++) {
        uint32_t a = i->a + n * s.width, b = i->b + n * s.width;
        get_float(g, p & 8 ? b : a, s.width);
        x_mem(&g->o, float_op(s.width, 0xc2), false, 0, RDI, p & 8 ? a : b);
        x_byte(&g->o, p & 7);
        x_reg(&g->o, X_MOVD_TO, false, 0, RAX);
        x_reg(&g->o, X_IMM, false, IMM_AND, RAX);
        x_u32(&g->o, 1);
        put(g, RAX, i->d + n, 1);
    }
    return true;
}

/* FNEG, FSQRT, FABS; the sign is the highest bit. */
static bool float1(struct gen *g, const struct zc_ins *i, unsigned k)
{
    struct shape s = floats(i, k);
    for (uint32_t at = 0; at < s.n * s.width; at += s.width) {
        if (s.family == 1) {
            x_mem(&g->o, float_op(s.width, 0x51), false, 0, RDI, i->a + at);
            put_float(g, i->d + at, s.width);
            continue;
        }
        get(g, RAX, i->a + at, s.width, false);
        x_reg(&g->o, X_BIT, s.width == 8, s.family ? BIT_RESET : BIT_COMPLEMENT, RAX);
        x_byte(&g->o, s.width * 8 - 1);
        put(g, RAX, i->d + at, s.width);
    }
    return true;
}

static bool float3(struct gen *g, const struct zc_ins *i, unsigned k)
{
    struct shape s = floats(i, k);
    if (s.family) /* FMA rounds once */
        return false;
    for (uint32_t at = 0; at < s.n * s.width; at += s.width) {
        get_float(g, i->a + at, s.width);
        x_mem(&g->o, float_op(s.width, 0x59), false, 0, RDI, i->b + at);
        x_mem(&g->o, float_op(s.width, 0x58), false, 0, RDI, i->c + at);
        put_float(g, i->d + at, s.width);
    }
    return true;
}

static bool convert(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    for (uint32_t n = 0; n < i->n; n++) {
        push_all(g);
        x_mem(&g->o, X_LEA, true, RSI, RDI, i->a + n * i->w);
        x_mem(&g->o, X_LEA, true, RDI, RDI, i->d + n * i->c);
        call(g, i->ptr);
        pop_all(g);
    }
    return true;
}

static bool extend(struct gen *g, const struct zc_ins *i, unsigned k, bool sign)
{
    static const uint8_t from[] = {1, 1, 1, 2, 2, 4}, to[] = {2, 4, 8, 4, 8, 8};
    get(g, RAX, i->a, from[k], sign);
    if (sign && to[k] == 8)
        x_reg(&g->o, X_MOVSXD, true, RAX, RAX);
    put(g, RAX, i->d, to[k]);
    return true;
}

static bool extend_zero(struct gen *g, const struct zc_ins *i, unsigned k)
{
    return extend(g, i, k, false);
}

static bool extend_sign(struct gen *g, const struct zc_ins *i, unsigned k)
{
    return extend(g, i, k, true);
}

static void is_zero(struct gen *g, uint32_t slot)
{
    x_mem(&g->o, X_IMM8, false, IMM_CMP, RDI, slot);
    x_byte(&g->o, 0);
}

static bool select_one(struct gen *g, const struct zc_ins *i, unsigned k)
{
    get(g, RAX, i->b, 1u << k, false);
    x_load(&g->o, RCX, RDI, i->c, 1u << k, false);
    is_zero(g, i->a);
    x_reg(&g->o, X_CMOV + CC_E, k == 3, RAX, RCX);
    put(g, RAX, i->d, 1u << k);
    return true;
}

static bool logical_not(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    for (uint32_t n = 0; n < i->n; n++) {
        is_zero(g, i->a + n);
        x_reg(&g->o, X_SET + CC_E, false, 0, RAX);
        put(g, RAX, i->d + n, 1);
    }
    return true;
}

/* LEA, PADD, PMAD. */
static bool pointer(struct gen *g, const struct zc_ins *i, unsigned k)
{
    if (k && i->imm != (int32_t)i->imm)
        return false;
    if (k == 0) {
        x_mem(&g->o, X_LEA, true, RAX, RDI, i->a);
    } else if (k == 1) {
        get(g, RAX, i->a, 8, false);
        x_mem(&g->o, X_LEA, true, RAX, RAX, (uint32_t)i->imm);
    } else {
        get(g, RCX, i->b, 8, false);
        get(g, RAX, i->a, 8, false);
        x_reg(&g->o, X_IMUL_IMM, true, RCX, RCX);
        x_u32(&g->o, (uint32_t)i->imm);
        x_reg(&g->o, X_ADD, true, RAX, RCX);
    }
    put(g, RAX, i->d, 8);
    return true;
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

/* The address a + imm: its base in reg; returns the rest. */
static uint32_t address(struct gen *g, enum zc_reg reg, const struct zc_ins *i)
{
    get(g, reg, i->a, 8, false);
    if (i->imm == (int32_t)i->imm)
        return (uint32_t)i->imm;
    x_imm64(&g->o, RCX, (uint64_t)i->imm);
    x_reg(&g->o, X_ADD, true, reg, RCX);
    return 0;
}

/* The address a + b * c + imm: its base in r10. */
static uint32_t address_indexed(struct gen *g, const struct zc_ins *i)
{
    get(g, R11, i->b, 8, false);
    if (i->c != 1) {
        x_reg(&g->o, X_IMUL_IMM, true, R11, R11);
        x_u32(&g->o, i->c);
    }
    uint32_t rest = address(g, R10, i);
    x_reg(&g->o, X_ADD, true, R10, R11);
    return rest;
}

static bool load_from(struct gen *g, const struct zc_ins *i, uint32_t rest, unsigned width)
{
    x_load(&g->o, RAX, R10, rest, width, false);
    put(g, RAX, i->d, width);
    return true;
}

static bool store_to(struct gen *g, const struct zc_ins *i, uint32_t rest, unsigned width)
{
    get(g, RAX, i->d, width, false);
    writes(g);
    x_store(&g->o, RAX, R10, rest, width);
    return true;
}

static bool load(struct gen *g, const struct zc_ins *i, unsigned k)
{
    return load_from(g, i, address(g, R10, i), 1u << k);
}

static bool load_indexed(struct gen *g, const struct zc_ins *i, unsigned k)
{
    return i->c <= INT32_MAX && load_from(g, i, address_indexed(g, i), 1u << k);
}

static bool store(struct gen *g, const struct zc_ins *i, unsigned k)
{
    return store_to(g, i, address(g, R10, i), 1u << k);
}

static bool store_indexed(struct gen *g, const struct zc_ins *i, unsigned k)
{
    return i->c <= INT32_MAX && store_to(g, i, address_indexed(g, i), 1u << k);
}

static bool load_volatile(struct gen *g, const struct zc_ins *i, unsigned k)
{
    load(g, i, k);
    polled(g);
    return true;
}

/* Loads and stores have all orders here, but for stores that are sequentially consistent: those are exchanges. */
static bool load_atomic(struct gen *g, const struct zc_ins *i, unsigned k)
{
    return load_volatile(g, i, k % 2 ? 3 : 2);
}

static bool store_atomic(struct gen *g, const struct zc_ins *i, unsigned k)
{
    if (k / 2 < 2)
        return store(g, i, k % 2 ? 3 : 2);
    uint32_t rest = address(g, R10, i);
    get(g, RAX, i->d, 4u << k % 2, false);
    writes(g);
    x_mem(&g->o, X_XCHG, k % 2, RAX, R10, rest);
    return true;
}

/* AXCHG, AADD, ASUB. */
static bool fetch(struct gen *g, const struct zc_ins *i, unsigned k)
{
    bool wide = k % 2, exchange = k / 2 == 0;
    uint32_t rest = address(g, R10, i);
    get(g, RAX, i->b, wide ? 8 : 4, false);
    if (k / 2 == 2)
        x_reg(&g->o, X_GROUP3, wide, GROUP3_NEG, RAX);
    if (!exchange)
        writes(g);
    x_mem(&g->o, exchange ? X_XCHG : X_LOCK_XADD, wide, RAX, R10, rest);
    put(g, RAX, i->d, wide ? 8 : 4);
    if (exchange)
        polled(g);
    return true;
}

static bool compare_exchange(struct gen *g, const struct zc_ins *i, unsigned k)
{
    uint32_t rest = address(g, R10, i);
    get(g, R11, i->b, 4u << k, false);
    get(g, RAX, i->c, 4u << k, false);
    x_mem(&g->o, X_LOCK_CMPXCHG, k, R11, R10, rest);
    put(g, RAX, i->d, 4u << k);
    uint8_t *failed = x_branch_later(&g->o, CC_NE);
    g->quiet = false;
    writes(g);
    uint8_t *over = x_jump_later(&g->o);
    x_set_distance(failed, g->o.at);
    polled(g);
    x_set_distance(over, g->o.at);
    return true;
}

static bool fence(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->w == __ATOMIC_SEQ_CST)
        x_fence(&g->o);
    return true;
}

static bool prefetch(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    get(g, RAX, i->a, 8, false);
    x_mem(&g->o, X_PREFETCH, false, PREFETCH_WRITE, RAX, 0);
    return true;
}

static bool load_many(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->b > COPY_MAX)
        return false;
    uint32_t rest = address(g, R10, i);
    x_copy(&g->o, RDI, i->d, R10, rest, i->b);
    return true;
}

static bool store_many(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->b > COPY_MAX)
        return false;
    uint32_t rest = address(g, R10, i);
    writes(g);
    x_copy(&g->o, R10, rest, RDI, i->d, i->b);
    return true;
}

static bool move(struct gen *g, const struct zc_ins *i, unsigned k)
{
    get(g, RAX, i->a, 1u << k, false);
    put(g, RAX, i->d, 1u << k);
    return true;
}

static bool move_many(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->b > COPY_MAX)
        return false;
    x_copy(&g->o, RDI, i->d, RDI, i->a, i->b);
    return true;
}

static bool copy(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->b > COPY_MAX)
        return false;
    get(g, R10, i->d, 8, false);
    get(g, R11, i->a, 8, false);
    writes(g);
    x_copy(&g->o, R10, 0, R11, 0, i->b);
    return true;
}

static bool zero(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    if (i->b > COPY_MAX)
        return false;
    x_zero(&g->o, RDI, i->d, i->b);
    x_mem(&g->o, X_MOV8_IMM, false, 0, RDI, i->d);
    x_byte(&g->o, i->a);
    return true;
}

/* ---- control ---------------------------------------------------------------------------------------------------- */

static bool jump_always(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    jump(g, i->d);
    return true;
}

static bool jump_if(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    is_zero(g, i->a);
    return branch(g, CC_NE, i->b, i->c);
}

/* The item's stack of calls: rcx becomes how many there are, r10 where they are. */
static void calls(struct gen *g)
{
    x_load(&g->o, RCX, RSI, ITEM(sp), 4, false);
    x_load(&g->o, R10, RSI, ITEM(stack), 8, false);
}

static bool call_function(struct gen *g, const struct zc_ins *i, unsigned k)
{
    (void)k;
    const uint32_t *x = g->m->extra.v + i->b;
    for (uint32_t n = 0; n < i->c; n++)
        if (i->c > ARGS_MAX || x[n * 3 + 2] > ARG_MAX)
            return false;
    for (uint32_t n = 0; n < i->c; n++, x += 3)
        x_copy(&g->o, RDI, x[0], RDI, x[1], x[2]);
    calls(g);
    x_imm64(&g->o, RAX, address_of(g, g->pc));
    x_mem_indexed(&g->o, X_STORE, RAX, R10, RCX);
    x_reg(&g->o, X_IMM, false, IMM_ADD, RCX);
    x_u32(&g->o, 1);
    x_store(&g->o, RCX, RSI, ITEM(sp), 4);
    fix(g, x_jump_later(&g->o), i->a);
    g->quiet = false;
    return true;
}

/* RET, RETV. */
static bool return_from(struct gen *g, const struct zc_ins *i, unsigned k)
{
    if (k && i->b > COPY_MAX)
        return false;
    calls(g);
    x_reg(&g->o, X_IMM, false, IMM_SUB, RCX);
    x_u32(&g->o, 1);
    uint8_t *inner = x_branch_later(&g->o, CC_AE);
    stop(g, STOP_DONE);
    x_set_distance(inner, g->o.at);
    x_store(&g->o, RCX, RSI, ITEM(sp), 4);
    x_mem_indexed(&g->o, X_MOV, R11, R10, RCX); /* the call */
    if (k) {
        x_load(&g->o, R10, R11, offsetof(struct zc_ins, d), 4, false);
        x_reg(&g->o, X_ADD, true, R10, RDI);
        x_copy(&g->o, R10, 0, RDI, i->a, i->b);
    }
    x_mem(&g->o, X_LEA, true, RAX, R11, sizeof *i);
    x_load(&g->o, RCX, RAX, offsetof(struct zc_ins, op), 2, false);
    x_reg(&g->o, X_IMM, false, IMM_CMP, RCX);
    x_u32(&g->o, OP_NATIVE);
    uint8_t *machine = x_branch_later(&g->o, CC_NE);
    x_mem(&g->o, X_GROUP5, false, GROUP5_JUMP, RAX, offsetof(struct zc_ins, ptr));
    x_set_distance(machine, g->o.at);
    x_byte(&g->o, X_RET);
    return true;
}

/* ---- modules ---------------------------------------------------------------------------------------------------- */

#define ROW(first, last, fn) {OP_##first, OP_##last, fn}
static const struct row {
    uint16_t first, last;
    bool (*translate)(struct gen *g, const struct zc_ins *i, unsigned k);
} rows[] = {
    ROW(ADD_1, SMAX_8V, integer), ROW(EQ_1, SLE_8V, compare), ROW(NEG_1, NOT_8V, negate),
    ROW(FADD_4, FMAX_8V, float2), ROW(FOEQ_4, FUNO_8V, float_compare), ROW(FNEG_4, FABS_8V, float1),
    ROW(FMAD_4, FMA_8V, float3), ROW(BR_EQ_4, BR_SLE_8, compare_and_branch), ROW(LD_1, LD_8, load),
    ROW(LD_N, LD_N, load_many), ROW(LDX_1, LDX_8, load_indexed), ROW(ST_1, ST_8, store), ROW(ST_N, ST_N, store_many),
    ROW(STX_1, STX_8, store_indexed), ROW(LDV_1, LDV_8, load_volatile), ROW(STV_1, STV_8, store),
    ROW(MOV_1, MOV_8, move), ROW(MOV_N, MOV_N, move_many), ROW(ZERO, ZERO, zero), ROW(LEA, PMAD, pointer),
    ROW(COPY, COPY, copy), ROW(ZX_1_2, ZX_4_8, extend_zero), ROW(SX_1_2, SX_4_8, extend_sign),
    ROW(CONVERT, CONVERT, convert), ROW(LNOT, LNOT, logical_not), ROW(SEL_1, SEL_8, select_one),
    ROW(ALOAD_RLX_4, ALOAD_SEQ_8, load_atomic), ROW(ASTORE_RLX_4, ASTORE_SEQ_8, store_atomic),
    ROW(AXCHG_4, ASUB_8, fetch), ROW(ACAS_4, ACAS_8, compare_exchange), ROW(FENCE, FENCE, fence), ROW(PREFETCH, PREFETCH, prefetch),
    ROW(BR, BR, jump_always), ROW(BRC, BRC, jump_if), ROW(CALL, CALL, call_function), ROW(RET, RETV, return_from),
};

static bool translate(struct gen *g, const struct zc_ins *i)
{
    for (unsigned k = 0; k < sizeof rows / sizeof *rows; k++)
        if (i->op >= rows[k].first && i->op <= rows[k].last)
            return rows[k].translate(g, i, i->op - rows[k].first);
    return false;
}

/* Instructions that something jumps to. */
static void find_targets(struct gen *g)
{
    const struct zc_module *m = g->m;
    for (uint32_t k = 0; k < m->fns.n; k++)
        if (m->fns.v[k].body)
            g->is_target[m->fns.v[k].pc] = true;
    for (const struct zc_ins *i = m->code.v; i < m->code.v + m->code.n; i++)
        if (i->op >= OP_BR_EQ_4 && i->op <= OP_BR_SLE_8)
            g->is_target[i->c] = g->is_target[i->d] = true;
        else if (i->op == OP_BRC)
            g->is_target[i->b] = g->is_target[i->c] = true;
        else if (i->op == OP_BR)
            g->is_target[i->d] = true;
        else if (i->op == OP_SWITCH)
            for (uint32_t k = 0; k <= i->b; k++)
                g->is_target[m->extra.v[i->c + k * 3 + (k < i->b ? 2 : 0)]] = true;
}

static void translate_all(struct gen *g)
{
    find_targets(g);
    ends(g);
    for (g->pc = 0; g->pc < g->m->code.n; g->pc++) {
        const struct zc_ins *i = &g->m->code.v[g->pc];
        uint64_t left = (uint64_t)(g->end - g->o.at), stubs = (uint64_t)(g->m->code.n - g->pc) * STUB_MAX;
        g->was = g->is_target[g->pc] ? (struct held){0, 0} : g->held;
        g->quiet = g->quiet && !g->is_target[g->pc];
        g->held.width = 0;
        g->native[g->pc] = g->o.at;
        g->is_native[g->pc] = left > stubs + ONE_MAX && translate(g, i);
        if (!g->is_native[g->pc]) {
            g->o.at = g->native[g->pc];
            leave(g);
            g->held.width = 0;
            g->quiet = false;
        }
    }
    for (uint32_t k = 0; k < g->fixes; k++)
        x_set_distance(g->fix[k].place, g->native[g->fix[k].to]);
}

void zc_native(struct zc_module *m)
{
    uint32_t n = m->code.n;
    size_t bytes = (size_t)n * BYTES_EACH + 65536;
    struct gen g = {.m = m};
    g.native = malloc(n * sizeof *g.native);
    g.is_target = calloc(n, 2 * sizeof(bool));
    g.is_native = g.is_target + n;
    g.fix = malloc(n * 2 * sizeof *g.fix);
    uint8_t *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g.native && g.is_target && g.fix && base != MAP_FAILED && m->frame <= INT32_MAX && n) {
        g.o.at = base;
        g.end = base + bytes;
        translate_all(&g);
        if (!mprotect(base, bytes, PROT_READ | PROT_EXEC)) {
            m->native = base;
            m->native_bytes = bytes;
        }
        for (uint32_t k = 0; m->native && k < n; k++)
            if (g.is_native[k]) {
                m->code.v[k].op = OP_NATIVE;
                m->code.v[k].ptr = g.native[k];
            }
    }
    if (!m->native && base != MAP_FAILED)
        munmap(base, bytes);
    free(g.native);
    free(g.is_target);
    free(g.fix);
}

#else

void zc_native(struct zc_module *m)
{
    (void)m;
}

#endif
