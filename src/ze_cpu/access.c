/* access.c - see access.h. */
#include "ze_cpu/access.h"

#include <string.h>

#include "ze_cpu/op.h"

/* How the width w of a component and the number n of components follow from the k-th operation of a row. */
enum widths { INTS, FLOATS, POWER, OWN, BRANCH, EXTEND };

/* Operands d, a, b, c: v n * w bytes; w one component; f n flags; 1 a flag; p a pointer; m, x, c, t: i->b, i->u[0], n * i->c,
 * the width extended to; - none. d is a result; in capitals an operand, and I both. */
static const struct {
    uint16_t first, last;
    uint8_t widths;
    char operand[5];
} rows[] = {
    {OP_ADD_1, OP_SMAX_8V, INTS, "vvv-"},   {OP_EQ_1, OP_SLE_8V, INTS, "fvv-"},       {OP_NEG_1, OP_NOT_8V, INTS, "vv--"},
    {OP_FADD_4, OP_FMAX_8V, FLOATS, "vvv-"}, {OP_FOEQ_4, OP_FUNO_8V, FLOATS, "fvv-"}, {OP_FNEG_4, OP_FABS_8V, FLOATS, "vv--"},
    {OP_FMAD_4, OP_FMA_8V, FLOATS, "vvvv"}, {OP_BR_EQ_4, OP_BR_SLE_8, BRANCH, "-vv-"}, {OP_LD_1, OP_LD_8, POWER, "vp--"},
    {OP_LD_N, OP_LD_N, OWN, "mp--"},        {OP_LDX_1, OP_LDX_8, POWER, "vpp-"},      {OP_ST_1, OP_ST_8, POWER, "Vp--"},
    {OP_ST_N, OP_ST_N, OWN, "Mp--"},        {OP_STX_1, OP_STX_8, POWER, "Vpp-"},      {OP_MOV_1, OP_MOV_8, POWER, "vv--"},
    {OP_MOV_N, OP_MOV_N, OWN, "mm--"},      {OP_ZERO, OP_ZERO, OWN, "m---"},          {OP_PADD, OP_PADD, OWN, "pp--"},
    {OP_PMAD, OP_PMAD, OWN, "ppp-"},        {OP_COPY, OP_COPY, OWN, "Pp--"},          {OP_ZX_1_2, OP_ZX_4_8, EXTEND, "tv--"},
    {OP_SX_1_2, OP_SX_4_8, EXTEND, "tv--"}, {OP_CONVERT, OP_CONVERT, OWN, "cv--"},    {OP_LNOT, OP_LNOT, OWN, "ff--"},
    {OP_SEL_1, OP_SEL_8, POWER, "v1vv"},    {OP_SEL_N, OP_SEL_N, OWN, "x1xx"},        {OP_SEL_V, OP_SEL_V, OWN, "vfvv"},
    {OP_ANY, OP_ALL, OWN, "1f--"},          {OP_EXTRACT, OP_EXTRACT, OWN, "wvp-"},    {OP_INSERT, OP_INSERT, OWN, "Iwp-"},
    {OP_CALL_1, OP_CALL_1, OWN, "vv--"},    {OP_CALL_2, OP_CALL_2, OWN, "vvv-"},      {OP_CALL_3, OP_CALL_INT, OWN, "vvvv"},
    {OP_BR, OP_BR, OWN, "----"},            {OP_BRC, OP_BRC, OWN, "-1--"},            {OP_SWITCH, OP_SWITCH, OWN, "-w--"},
    {OP_RET, OP_RET, OWN, "----"},          {OP_EXIT, OP_EXIT, OWN, "----"},          {OP_TRAP, OP_TRAP, OWN, "----"},
};

struct shape {
    unsigned w, n, to;
};

static struct shape shape_of(const struct zc_ins *i, unsigned widths, unsigned k)
{
    static const uint8_t from[] = {1, 1, 1, 2, 2, 4}, to[] = {2, 4, 8, 4, 8, 8};
    switch (widths) {
    case INTS:
        return (struct shape){1u << k % 4, k & 4 ? i->n : 1, 0};
    case FLOATS:
        return (struct shape){4u << k % 2, k & 2 ? i->n : 1, 0};
    case POWER:
        return (struct shape){1u << k, 1, 0};
    case BRANCH:
        return (struct shape){4u << k % 2, 1, 0};
    case EXTEND:
        return (struct shape){from[k], 1, to[k]};
    }
    return (struct shape){i->w, i->n, 0};
}

static uint32_t size_of(const struct zc_ins *i, struct shape s, char what)
{
    switch (what | 0x20) {
    case 'v':
    case 'i':
        return s.w * s.n;
    case 'w':
        return s.w;
    case 'f':
        return s.n;
    case '1':
        return 1;
    case 'p':
        return 8;
    case 'm':
        return i->b;
    case 'x':
        return i->u[0];
    case 'c':
        return s.n * i->c;
    case 't':
        return s.to;
    }
    return 0;
}

int zc_accesses(const struct zc_ins *i, struct zc_access v[ZC_ACCESSES])
{
    const uint32_t slot[] = {i->d, i->a, i->b, i->c};
    for (unsigned r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (i->op < rows[r].first || i->op > rows[r].last)
            continue;
        struct shape s = shape_of(i, rows[r].widths, i->op - rows[r].first);
        int n = 0;
        for (unsigned k = 0; k < 4; k++) {
            char what = rows[r].operand[k];
            bool capital = what >= 'A' && what <= 'Z';
            if (what != '-')
                v[n++] = (struct zc_access){slot[k], size_of(i, s, what), k || capital, !k && (!capital || what == 'I')};
        }
        return n;
    }
    return -1;
}
