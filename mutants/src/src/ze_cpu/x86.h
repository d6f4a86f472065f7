/*
 * x86.h - encodes instructions of x86-64. An operation is a number of up to three bytes: a prefix or 0, 0x0f or 0, and the
 * opcode. A memory operand is a base and a 32-bit displacement; the base is none of rsp, rbp, r12, r13.
 */
#ifndef ZC_X86_H
#define ZC_X86_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum zc_reg { RAX, RCX, RDX, RBX, RSI = 6, RDI, R8, R9, R10, R11 };
enum zc_x86 {
    X_ADD = 0x03, X_OR = 0x0b, X_AND = 0x23, X_SUB = 0x2b, X_XOR = 0x33, X_CMP = 0x3b, X_IMUL = 0x0faf, X_MOV = 0x8b,
    X_LEA = 0x8d, X_TEST = 0x85, X_STORE = 0x89, X_STORE8 = 0x88, X_STORE16 = 0x660089, X_XCHG = 0x87,
    X_IMUL_IMM = 0x69, X_MOVSXD = 0x63, X_SET = 0x0f90, X_CMOV = 0x0f40, X_LOCK_XADD = 0xf00fc1,
    X_LOCK_CMPXCHG = 0xf00fb1, X_MOV8_IMM = 0xc6, X_MOVUPS = 0x0f10, X_MOVUPS_STORE = 0x0f11,
    X_XORPS = 0x0f57, X_MOVD_TO = 0x660f7e,
    /* the register field selects the operation */
    X_IMM = 0x81, X_IMM8 = 0x80, IMM_ADD = 0, IMM_AND = 4, IMM_SUB = 5, IMM_CMP = 7,
    X_SHIFT = 0xd3, X_SHIFT_IMM = 0xc1, SHIFT_LEFT = 4, SHIFT_RIGHT = 5, SHIFT_ARITHMETIC = 7,
    X_GROUP3 = 0xf7, GROUP3_NOT = 2, GROUP3_NEG = 3, GROUP3_DIV = 6, GROUP3_IDIV = 7,
    X_GROUP5 = 0xff, GROUP5_DEC = 1, GROUP5_CALL = 2, GROUP5_JUMP = 4,
    X_PREFETCH = 0x0f0d, PREFETCH_WRITE = 1,
    X_BIT = 0x0fba, BIT_RESET = 6, BIT_COMPLEMENT = 7,
    /* one byte; PUSH, POP and MOV_IMM add the register */
    X_SIGN_TO_RDX = 0x99, X_PUSH = 0x50, X_POP = 0x58, X_MOV_IMM = 0xb8, X_RET = 0xc3, X_CALL = 0xe8, X_JUMP = 0xe9
};
/* Condition codes; c ^ 1 is the opposite of c. */
enum zc_cc { CC_O, CC_B = 2, CC_AE, CC_E, CC_NE, CC_BE, CC_A, CC_L = 12, CC_GE, CC_LE, CC_G };

/* Address of the next byte. The caller provides the space. */
struct zc_x86_out {
    uint8_t *at;
};

static inline void x_byte(struct zc_x86_out *o, unsigned v)
{
    *o->at++ = (uint8_t)v;
}

static inline void x_u32(struct zc_x86_out *o, uint32_t v)
{
    memcpy(o->at, &v, 4);
    o->at += 4;
}

static inline void x_op(struct zc_x86_out *o, unsigned op, bool wide, unsigned reg, unsigned rm)
{
    unsigned rex = 0x40u | (unsigned)wide << 3 | reg >> 3 << 2 | rm >> 3;
    if (op >> 16)
        x_byte(o, op >> 16);
    if (rex != 0x40)
        x_byte(o, rex);
    if (op & 0xff00)
        x_byte(o, op >> 8);
    x_byte(o, op);
}

static inline void x_mem(struct zc_x86_out *o, unsigned op, bool wide, unsigned reg, enum zc_reg base, uint32_t disp)
{
    x_op(o, op, wide, reg, base);
    x_byte(o, 0x80 | (reg & 7) << 3 | (base & 7));
    x_u32(o, disp);
}

static inline void x_reg(struct zc_x86_out *o, unsigned op, bool wide, unsigned reg, unsigned rm)
{
    x_op(o, op, wide, reg, rm);
    x_byte(o, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

/* 8 bytes at base + index * 8. */
static inline void x_mem_indexed(struct zc_x86_out *o, unsigned op, unsigned reg, enum zc_reg base, enum zc_reg index)
{
    x_op(o, op, true, reg, base); /* index: one of the lower eight */
    x_byte(o, 0x04 | (reg & 7) << 3);
    x_byte(o, 0xc0 | index << 3 | (base & 7));
}

static inline void x_fence(struct zc_x86_out *o)
{
    x_byte(o, 0x0f);
    x_byte(o, 0xae);
    x_byte(o, 0xf0);
}

static inline void x_imm64(struct zc_x86_out *o, enum zc_reg reg, uint64_t v)
{
    x_byte(o, 0x48 | reg >> 3);
    x_byte(o, X_MOV_IMM + (reg & 7));
    memcpy(o->at, &v, 8);
    o->at += 8;
}

/* A value of 1 to 8 bytes from memory, extended to at least 4. */
static inline void x_load(struct zc_x86_out *o, unsigned reg, enum zc_reg base, uint32_t disp, unsigned width, bool sign)
{
    unsigned op = width >= 4 ? X_MOV : width == 2 ? (sign ? 0x0fbf : 0x0fb7) : (sign ? 0x0fbe : 0x0fb6);
    x_mem(o, op, width == 8, reg, base, disp);
}

static inline void x_store(struct zc_x86_out *o, unsigned reg, enum zc_reg base, uint32_t disp, unsigned width)
{
    x_mem(o, width >= 4 ? X_STORE : width == 2 ? X_STORE16 : X_STORE8, width == 8, reg, base, disp);
}

/* Copy up to 143 bytes; all loads precede the stores. Clobbers rax, rcx, r8, r9 and the xmm registers. */
static inline void x_copy(struct zc_x86_out *o, enum zc_reg to, uint32_t d, enum zc_reg from, uint32_t s, uint32_t bytes)
{
    static const unsigned reg[] = {R9, R8, RCX, RAX};
    for (int writes = 0; writes < 2; writes++) {
        uint32_t k = 0;
        for (; bytes - k >= 16; k += 16)
            x_mem(o, writes ? X_MOVUPS_STORE : X_MOVUPS, false, k / 16, writes ? to : from, (writes ? d : s) + k);
        for (int n = 3; n >= 0; n--)
            if (bytes & 1u << n) {
                if (writes)
                    x_store(o, reg[n], to, d + k, 1u << n);
                else
                    x_load(o, reg[n], from, s + k, 1u << n, false);
                k += 1u << n;
            }
    }
}

/* Set bytes to 0. Clobbers rax and xmm0. */
static inline void x_zero(struct zc_x86_out *o, enum zc_reg to, uint32_t d, uint32_t bytes)
{
    uint32_t k = 0;
    x_reg(o, X_XORPS, false, 0, 0);
    x_reg(o, X_XOR, false, RAX, RAX);
    for (; bytes - k >= 16; k += 16)
        x_mem(o, X_MOVUPS_STORE, false, 0, to, d + k);
    for (unsigned width = 8; width; width /= 2)
        if (bytes & width) {
            x_store(o, RAX, to, d + k, width);
            k += width;
        }
}

/* A jump or call to a known address. */
static inline void x_jump(struct zc_x86_out *o, unsigned op, const uint8_t *to)
{
    x_byte(o, op);
    x_u32(o, (uint32_t)(to - (o->at + 4)));
}

/* Jumps whose distance x_set_distance fills in at the place returned. */
static inline uint8_t *x_jump_later(struct zc_x86_out *o)
{
    x_byte(o, X_JUMP);
    x_u32(o, 0);
    return o->at - 4;
}

static inline uint8_t *x_branch_later(struct zc_x86_out *o, enum zc_cc cc)
{
    x_byte(o, 0x0f);
    x_byte(o, 0x80 | cc);
    x_u32(o, 0);
    return o->at - 4;
}

static inline void x_set_distance(uint8_t *place, const uint8_t *to)
{
    uint32_t v = (uint32_t)(to - (place + 4));
    memcpy(place, &v, 4);
}

#endif
