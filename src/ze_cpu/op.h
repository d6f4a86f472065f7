/*
 * op.h - the operations of the virtual machine. The fields d (result), a, b, c (operands) of an instruction are slots,
 * byte offsets into the frame, except where vm.c uses them otherwise.
 *
 * Operations on several widths are consecutive: NAME_1, NAME_2, NAME_4, NAME_8, then the forms on n components
 * NAME_1V ... NAME_8V; those on floating point have 4 and 8 only.
 */
#ifndef ZC_OP_H
#define ZC_OP_H

/* clang-format off */
/* Integers: name, signedness, value. Division by zero gives zero, as it must not trap. */
#define ZC_INT2(X)                                                                                                    \
    X(ADD, u, a + b) X(SUB, u, a - b) X(MUL, u, (uint64_t)a * b) X(AND, u, a & b) X(OR, u, a | b) X(XOR, u, a ^ b)    \
    X(SHL, u, (uint64_t)a << (b & (sizeof a * 8 - 1))) X(SHR, u, a >> (b & (sizeof a * 8 - 1)))                       \
    X(UDIV, u, b ? a / b : 0) X(UREM, u, b ? a % b : 0) X(UMIN, u, a < b ? a : b) X(UMAX, u, a > b ? a : b)           \
    X(ASR, s, a >> (b & (s64)(sizeof a * 8 - 1))) X(SDIV, s, b == -1 ? (s64)(0 - (u64)a) : b ? a / b : 0)             \
    X(SREM, s, b == -1 || !b ? 0 : a % b)                                                                             \
    X(SMOD, s, b == -1 || !b ? 0 : a % b && ((a % b) ^ b) < 0 ? a % b + b : a % b)                                    \
    X(SMIN, s, a < b ? a : b) X(SMAX, s, a > b ? a : b)
#define ZC_ICMP(X)                                                                                                    \
    X(EQ, u, a == b) X(NE, u, a != b) X(UGT, u, a > b) X(UGE, u, a >= b) X(ULT, u, a < b) X(ULE, u, a <= b)           \
    X(SGT, s, a > b) X(SGE, s, a >= b) X(SLT, s, a < b) X(SLE, s, a <= b)
#define ZC_INT1(X) X(NEG, u, 0 - a) X(NOT, u, ~a)
#define ZC_FLT2(X)                                                                                                    \
    X(FADD, a + b) X(FSUB, a - b) X(FMUL, a * b) X(FDIV, a / b) X(FMIN, b < a || a != a ? b : a)                      \
    X(FMAX, b > a || a != a ? b : a)
#define ZC_FCMP(X)                                                                                                    \
    X(FOEQ, a == b) X(FUEQ, !(a < b || a > b)) X(FONE, a < b || a > b) X(FUNE, a != b) X(FOLT, a < b)                 \
    X(FULT, !(a >= b)) X(FOGT, a > b) X(FUGT, !(a <= b)) X(FOLE, a <= b) X(FULE, !(a > b)) X(FOGE, a >= b)            \
    X(FUGE, !(a < b)) X(FORD, a == a && b == b) X(FUNO, a != a || b != b)
#define ZC_FLT1(X) X(FNEG, -a) X(FSQRT, zc_sqrt(a)) X(FABS, zc_abs(a))
#define ZC_FLT3(X) X(FMAD, a * b + c) X(FMA, zc_fma(a, b, c))

/* All operations, as ZC_ROW(name), which the user defines. */
#define ZC_W4(name) ZC_ROW(name##_1) ZC_ROW(name##_2) ZC_ROW(name##_4) ZC_ROW(name##_8)
#define ZC_W4V(name, ...) ZC_W4(name) ZC_ROW(name##_1V) ZC_ROW(name##_2V) ZC_ROW(name##_4V) ZC_ROW(name##_8V)
#define ZC_W2(name) ZC_ROW(name##_4) ZC_ROW(name##_8)
#define ZC_W2V(name, ...) ZC_W2(name) ZC_ROW(name##_4V) ZC_ROW(name##_8V)
#define ZC_BR_W2(name, ...) ZC_ROW(BR_##name##_4) ZC_ROW(BR_##name##_8)
#define ZC_OPS                                                                                                        \
    ZC_ROW(TRAP) ZC_ROW(NATIVE) ZC_INT2(ZC_W4V) ZC_ICMP(ZC_W4V) ZC_INT1(ZC_W4V) ZC_FLT2(ZC_W2V) ZC_FCMP(ZC_W2V)       \
    ZC_FLT1(ZC_W2V) ZC_FLT3(ZC_W2V) ZC_ICMP(ZC_BR_W2)                                                                 \
    ZC_W4(LD) ZC_ROW(LD_N) ZC_W4(LDX) ZC_W4(ST) ZC_ROW(ST_N) ZC_W4(STX) ZC_W4(LDV) ZC_W4(STV)                         \
    ZC_W4(MOV) ZC_ROW(MOV_N) ZC_ROW(ZERO) ZC_ROW(LEA) ZC_ROW(PADD) ZC_ROW(PMAD) ZC_ROW(COPY) ZC_ROW(COPY_SIZED)       \
    ZC_ROW(ZX_1_2) ZC_ROW(ZX_1_4) ZC_ROW(ZX_1_8) ZC_ROW(ZX_2_4) ZC_ROW(ZX_2_8) ZC_ROW(ZX_4_8)                         \
    ZC_ROW(SX_1_2) ZC_ROW(SX_1_4) ZC_ROW(SX_1_8) ZC_ROW(SX_2_4) ZC_ROW(SX_2_8) ZC_ROW(SX_4_8)                         \
    ZC_ROW(CONVERT) ZC_ROW(LNOT) ZC_W4(SEL) ZC_ROW(SEL_N) ZC_ROW(SEL_V) ZC_ROW(ANY) ZC_ROW(ALL) ZC_ROW(EXTRACT)       \
    ZC_ROW(INSERT) ZC_ROW(CALL_1) ZC_ROW(CALL_2) ZC_ROW(CALL_3) ZC_ROW(CALL_INT) ZC_ROW(CALL_PTR) ZC_ROW(GATHER)      \
    ZC_W2(ALOAD_RLX) ZC_W2(ALOAD_ACQ) ZC_W2(ALOAD_SEQ) ZC_W2(ASTORE_RLX) ZC_W2(ASTORE_REL) ZC_W2(ASTORE_SEQ)          \
    ZC_W2(AXCHG) ZC_W2(AADD) ZC_W2(ASUB) ZC_W2(AAND) ZC_W2(AOR) ZC_W2(AXOR) ZC_W2(ASMIN) ZC_W2(AUMIN) ZC_W2(ASMAX)    \
    ZC_W2(AUMAX) ZC_W2(ACAS) ZC_ROW(AFLAG) ZC_ROW(FENCE) ZC_ROW(PREFETCH)                                             \
    ZC_ROW(BR) ZC_ROW(BRC) ZC_ROW(SWITCH) ZC_ROW(CALL) ZC_ROW(RET) ZC_ROW(RETV) ZC_ROW(BARRIER) ZC_ROW(GROUP)         \
    ZC_ROW(PRINTF) ZC_ROW(TO_SPACE) ZC_ROW(HALF_LD) ZC_ROW(HALF_ST) ZC_ROW(ASYNC_COPY)                \
    ZC_ROW(WARP) ZC_ROW(NAMED) ZC_ROW(EXIT) ZC_W2(AUPDATE) ZC_ROW(PRINTF_PACKED) ZC_ROW(WIDE)
/* clang-format on */

#define ZC_ROW(name) OP_##name,
enum zc_vm_op { ZC_OPS OP_COUNT };
#undef ZC_ROW

/*
 * What an OP_GROUP computes. Those up to GROUP_EQUAL have results of a type of their own; from GROUP_ADD on they are
 * reductions or scans.
 */
enum zc_group_op {
    GROUP_BARRIER, GROUP_ELECT, GROUP_ALL, GROUP_ANY, GROUP_BALLOT, GROUP_EQUAL,
    GROUP_BROADCAST, GROUP_FIRST, GROUP_SHUFFLE, GROUP_SHUFFLE_XOR, GROUP_SHUFFLE_UP, GROUP_SHUFFLE_DOWN,
    GROUP_SHUFFLE_UP2, GROUP_SHUFFLE_DOWN2,
    GROUP_ADD, GROUP_MUL, GROUP_SMIN, GROUP_UMIN, GROUP_SMAX, GROUP_UMAX, GROUP_AND, GROUP_OR, GROUP_XOR,
    GROUP_FADD, GROUP_FMUL, GROUP_FMIN, GROUP_FMAX,
};

/* Added to the mode (SPIR-V's group operation): all work-items of the scope take part, so OP_GROUP also waits for those that
 * poll. Without it, the work-items that have arrived take part. */
enum { GROUP_UNIFORM = 0x80 };

/* What an OP_GATHER takes from a ballot. */
enum zc_ballot_op { BALLOT_INVERSE, BALLOT_EXTRACT, BALLOT_COUNT, BALLOT_LOW, BALLOT_HIGH };

/*
 * What an OP_WARP computes (w): an operation of CUDA's warps. The work-items that a mask names (its slot: u[0]) take part,
 * those that have ended excepted; ACTIVE: those that wait at the instruction. a: operand; b, c: operands of a shuffle;
 * u[1]: slot of a second result, a boolean, or ZC_NONE.
 */
enum zc_warp_op {
    WARP_SYNC, WARP_ALL, WARP_ANY, WARP_EQUAL, WARP_BALLOT, WARP_MATCH_ANY_4, WARP_MATCH_ANY_8, WARP_MATCH_ALL_4,
    WARP_MATCH_ALL_8, WARP_IDX, WARP_UP, WARP_DOWN, WARP_BFLY, WARP_ADD, WARP_UMIN, WARP_UMAX, WARP_SMIN, WARP_SMAX,
    WARP_AND, WARP_OR, WARP_XOR, WARP_ACTIVE,
};

/* What an OP_WIDE does (n) with 16 bytes at a + imm, sequentially consistent. d: what was there; b: the operand; c: what CAS compares with. */
enum zc_wide_op { WIDE_LOAD, WIDE_STORE, WIDE_EXCHANGE, WIDE_CAS };

/*
 * What an OP_NAMED does (w): a barrier of CUDA that has a number and may have a count of threads. ARRIVE does not wait; ALL to
 * COUNT reduce the predicates of those that wait. a: slot of the number; u[0]: slot of the count, or ZC_NONE: all threads of
 * the group; c: slot of the predicate.
 */
enum zc_named_op { NAMED_SYNC, NAMED_ARRIVE, NAMED_ALL, NAMED_ANY, NAMED_COUNT };
enum { SCOPE_NAMED = 255, ZC_NAMED = 16 }; /* n of an OP_NAMED: no scope of SPIR-V; numbers */

#endif
