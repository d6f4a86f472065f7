/*
 * avx.h - encodes instructions of AVX2 on registers of 256 bits. An operation is its opcode, the opcode map (1: 0f, 2: 0f38,
 * 3: 0f3a) in bits 8 to 11, the prefix (1: 66, 2: f3) in bits 12 to 15, and W in bit 16.
 */
#ifndef ZC_AVX_H
#define ZC_AVX_H

#include "ze_cpu/x86.h"

enum zc_avx {
    V_MOV = 0x0110, V_STORE = 0x0111, V_SHUFFLE = 0x01c6, V_COMPARE = 0x01c2, V_MASK4 = 0x0150, V_MASK8 = 0x1150,
    V_SQRT = 0x0151, V_ADD_F = 0x0158, V_MUL_F = 0x0159, V_SUB_F = 0x015c, V_DIV_F = 0x015e, V_DOUBLE = 0x1000,
    V_FLOAT_OF_INT = 0x015b, V_AND = 0x11db, V_OR = 0x11eb, V_XOR = 0x11ef, V_ADD4 = 0x11fe, V_ADD8 = 0x11d4, V_SUB4 = 0x11fa,
    V_SUB8 = 0x11fb, V_EQ4 = 0x1176, V_GT4 = 0x1166, V_EQ8 = 0x1229, V_GT8 = 0x1237, V_MUL4 = 0x1240,
    V_SHL = 0x1247, V_SHR = 0x1245, V_ASR4 = 0x1246, V_SMIN4 = 0x1239, V_UMIN4 = 0x123b, V_SMAX4 = 0x123d, V_UMAX4 = 0x123f,
    V_WIDE = 0x10000, V_ALL1 = 0x1218, V_ALL4 = 0x1218, V_ALL8 = 0x1219, V_ALL_BYTES = 0x1278, V_SX_4_8 = 0x1225,
    V_ZX_4_8 = 0x1235, V_GATHER4 = 0x1292, V_PERMUTE8 = 0x11300, V_BLEND4 = 0x134a, V_BLEND8 = 0x134b, V_HALF = 0x1339,
    V_FMA = 0x12a8,
    V_SHIFT4_IMM = 0x1172, V_SHIFT_LEFT = 6, V_SHIFT_RIGHT = 2 /* the register field selects the operation */
};

static inline void x_vex(struct zc_x86_out *o, unsigned op, unsigned reg, unsigned v, unsigned base)
{
    x_byte(o, 0xc4);
    x_byte(o, (reg < 8 ? 0x80u : 0) | 0x40 | (base < 8 ? 0x20u : 0) | (op >> 8 & 15));
    x_byte(o, op >> 16 << 7 | (~v & 15) << 3 | 4 | (op >> 12 & 15));
    x_byte(o, op);
}

/* reg = op(v, rm); an operation without a second operand has v = 0. */
static inline void v_reg(struct zc_x86_out *o, unsigned op, unsigned reg, unsigned v, unsigned rm)
{
    x_vex(o, op, reg, v, rm);
    x_byte(o, 0xc0 | (reg & 7) << 3 | (rm & 7));
}

static inline void v_mem(struct zc_x86_out *o, unsigned op, unsigned reg, unsigned v, unsigned base, uint32_t disp)
{
    x_vex(o, op, reg, v, base);
    x_byte(o, 0x80 | (reg & 7) << 3 | (base & 7));
    x_u32(o, disp);
}

/* The 8 words at base + disp + index[k], where mask has its highest bits; the mask becomes 0. */
static inline void v_gather(struct zc_x86_out *o, unsigned reg, unsigned index, unsigned mask, unsigned base, uint32_t disp)
{
    x_vex(o, V_GATHER4, reg, mask, base);
    x_byte(o, 0x84 | (reg & 7) << 3);
    x_byte(o, index << 3 | (base & 7));
    x_u32(o, disp);
}

/* Before code that uses the registers as 128 bits: without it some processors are slow. */
static inline void v_zero_upper(struct zc_x86_out *o)
{
    x_byte(o, 0xc5);
    x_byte(o, 0xf8);
    x_byte(o, 0x77);
}

#endif
