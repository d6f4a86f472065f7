/*
 * lower_group.c - lowers barriers and operations of work-groups and sub-groups.
 *
 * All become OP_GROUP: its work-items wait until those of the scope have arrived, then group_op.c computes all results.
 *   d, a  result, operand; b second operand (lane, delta, mask, previous value), c third; n scope, w width
 *   u[0]  enum zc_group_op + (mode | GROUP_UNIFORM) << 8 + kind << 16 + components << 24; u[1] width of b
 */
#include "ze_cpu/lower.h"

#include "ze_cpu/constant.h"
#include "ze_cpu/emit.h"
#include "ze_cpu/op.h"

struct row {
    uint16_t op;
    uint8_t what, kind;
};

/* clang-format off */
static const struct row rows[] = {
    {OpGroupAll, GROUP_ALL, KIND_BOOL}, {OpGroupAny, GROUP_ANY, KIND_BOOL}, {OpGroupBroadcast, GROUP_BROADCAST, 0},
    {OpGroupIAdd, GROUP_ADD, KIND_INT}, {OpGroupFAdd, GROUP_FADD, KIND_FLOAT}, {OpGroupFMin, GROUP_FMIN, KIND_FLOAT},
    {OpGroupUMin, GROUP_UMIN, KIND_INT}, {OpGroupSMin, GROUP_SMIN, KIND_INT}, {OpGroupFMax, GROUP_FMAX, KIND_FLOAT},
    {OpGroupUMax, GROUP_UMAX, KIND_INT}, {OpGroupSMax, GROUP_SMAX, KIND_INT},
    {OpGroupNonUniformElect, GROUP_ELECT, KIND_BOOL}, {OpGroupNonUniformAll, GROUP_ALL, KIND_BOOL},
    {OpGroupNonUniformAny, GROUP_ANY, KIND_BOOL}, {OpGroupNonUniformAllEqual, GROUP_EQUAL, 0},
    {OpGroupNonUniformBroadcast, GROUP_BROADCAST, 0}, {OpGroupNonUniformBroadcastFirst, GROUP_FIRST, 0},
    {OpGroupNonUniformBallot, GROUP_BALLOT, KIND_BOOL}, {OpGroupNonUniformShuffle, GROUP_SHUFFLE, 0},
    {OpGroupNonUniformShuffleXor, GROUP_SHUFFLE_XOR, 0}, {OpGroupNonUniformShuffleUp, GROUP_SHUFFLE_UP, 0},
    {OpGroupNonUniformShuffleDown, GROUP_SHUFFLE_DOWN, 0},
    {OpGroupNonUniformIAdd, GROUP_ADD, KIND_INT}, {OpGroupNonUniformFAdd, GROUP_FADD, KIND_FLOAT},
    {OpGroupNonUniformIMul, GROUP_MUL, KIND_INT}, {OpGroupNonUniformFMul, GROUP_FMUL, KIND_FLOAT},
    {OpGroupNonUniformSMin, GROUP_SMIN, KIND_INT}, {OpGroupNonUniformUMin, GROUP_UMIN, KIND_INT},
    {OpGroupNonUniformFMin, GROUP_FMIN, KIND_FLOAT}, {OpGroupNonUniformSMax, GROUP_SMAX, KIND_INT},
    {OpGroupNonUniformUMax, GROUP_UMAX, KIND_INT}, {OpGroupNonUniformFMax, GROUP_FMAX, KIND_FLOAT},
    {OpGroupNonUniformBitwiseAnd, GROUP_AND, KIND_INT}, {OpGroupNonUniformBitwiseOr, GROUP_OR, KIND_INT},
    {OpGroupNonUniformBitwiseXor, GROUP_XOR, KIND_INT}, {OpGroupNonUniformLogicalAnd, GROUP_AND, KIND_BOOL},
    {OpGroupNonUniformLogicalOr, GROUP_OR, KIND_BOOL}, {OpGroupNonUniformLogicalXor, GROUP_XOR, KIND_BOOL},
    {OpSubgroupShuffleINTEL, GROUP_SHUFFLE, 0}, {OpSubgroupShuffleXorINTEL, GROUP_SHUFFLE_XOR, 0},
    {OpSubgroupShuffleUpINTEL, GROUP_SHUFFLE_UP2, 0}, {OpSubgroupShuffleDownINTEL, GROUP_SHUFFLE_DOWN2, 0},
};
/* clang-format on */

static const struct row *find(uint32_t op)
{
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].op == op)
            return &rows[i];
    return NULL;
}

static unsigned scope(struct zc_module *m, uint32_t id)
{
    uint64_t s = zc_constant_u64(m, id);
    if (s != SCOPE_WORKGROUP && s != SCOPE_SUBGROUP)
        zc_fail(m, "scope %llu is neither work-group nor sub-group", (unsigned long long)s);
    return (unsigned)s;
}

static struct zc_ins *group(struct zc_module *m, uint32_t d, uint32_t a, uint32_t b, unsigned what, unsigned mode)
{
    struct zc_ins *i = zc_emit(m, OP_GROUP, d, a, b);
    i->u[0] = what | mode << 8;
    return i;
}

static bool is_shuffle(unsigned what)
{
    return what >= GROUP_SHUFFLE && what <= GROUP_SHUFFLE_DOWN2;
}

/* at: word of the operand. Intel's shuffles have no scope before it, reductions and scans have scope and mode. */
static void lower(struct zc_module *m, const uint32_t *p, const struct row *r)
{
    bool intel = r->op >= OpSubgroupShuffleINTEL, arith = r->what >= GROUP_ADD;
    uint32_t at = intel ? 3 : arith ? 5 : 4;
    unsigned mode = arith ? p[4] : 0, where = intel ? SCOPE_SUBGROUP : scope(m, p[3]);
    if (mode > GROUP_CLUSTERED)
        zc_fail(m, "group operation %u is not supported", mode);
    uint32_t a = 0, b = 0, c = 0, lane_width = 4;
    struct zc_shape s = {KIND_BOOL, 1, 1};
    if (r->what != GROUP_ELECT) {
        s = zc_shape_of(m, p[at]);
        a = zc_value(m, p[at]);
    }
    if (r->kind && (s.kind != r->kind || s.n != 1 || (s.kind == KIND_FLOAT && s.width == 2)))
        zc_fail(m, "operands of this type are not supported");
    uint32_t lane = r->what == GROUP_SHUFFLE_UP2 || r->what == GROUP_SHUFFLE_DOWN2 ? at + 2 : at + 1;
    if (r->what == GROUP_BROADCAST || is_shuffle(r->what) || mode == GROUP_CLUSTERED) {
        if (lane >= ZC_WORDS(p))
            zc_fail(m, "too few words");
        struct zc_type *t = zc_type_of(m, p[lane]);
        lane_width = (uint32_t)t->size;
        b = zc_value(m, p[lane]);
        if (lane == at + 2)
            c = zc_value(m, p[at + 1]);
        if (zc_shape_of(m, p[lane]).kind != KIND_INT || (t->kind == KIND_VECTOR && r->what != GROUP_BROADCAST))
            zc_fail(m, "the lane is not an integer");
        lane_width |= (t->kind == KIND_VECTOR ? t->n : 1u) << 8;
        lane_width = (lane_width & ~255u) | zc_shape_of(m, p[lane]).width;
    }
    bool same = r->what > GROUP_EQUAL;
    if (same ? m->id[p[at]].type != p[1] : zc_type(m, p[1])->size != (r->what == GROUP_BALLOT ? 16 : 1))
        zc_fail(m, "the result has a different type");
    if (lane == at + 2 && m->id[p[at + 1]].type != p[1])
        zc_fail(m, "the operands have different types");
    unsigned uniform = r->op < OpGroupNonUniformElect ? GROUP_UNIFORM : 0;
    struct zc_ins *i = group(m, zc_result(m, p), a, b, r->what, mode | uniform);
    i->c = c;
    i->n = (uint8_t)where;
    i->w = s.width;
    i->u[0] |= (uint32_t)s.kind << 16 | (uint32_t)s.n << 24;
    i->u[1] = lane_width;
}

/* Instructions that read a ballot need no other work-item; only the low ZC_SUBGROUP bits of the ballot are used. */
static void ballot_use(struct zc_module *m, const uint32_t *p)
{
    static const uint8_t what[] = {BALLOT_INVERSE, BALLOT_EXTRACT, BALLOT_COUNT, BALLOT_LOW, BALLOT_HIGH};
    uint32_t op = ZC_OP(p), at = op == OpGroupNonUniformBallotBitCount ? 5 : 4;
    unsigned mode = at == 5 ? p[4] : 0;
    scope(m, p[3]);
    if (zc_type_of(m, p[at])->size != 16 || zc_type_of(m, p[at])->kind != KIND_VECTOR || mode >= GROUP_CLUSTERED)
        zc_fail(m, "not a ballot");
    uint32_t b = 0, a = zc_value(m, p[at]);
    if (op == OpGroupNonUniformBallotBitExtract) {
        if (zc_type_of(m, p[5])->size != 4)
            zc_fail(m, "the index is not a 32-bit integer");
        b = zc_value(m, p[5]);
    }
    if (zc_type(m, p[1])->size != (op <= OpGroupNonUniformBallotBitExtract ? 1 : 4))
        zc_fail(m, "the result has a different type");
    struct zc_ins *i = zc_emit(m, OP_GATHER, zc_result(m, p), a, b);
    i->w = what[op - OpGroupNonUniformInverseBallot];
    i->n = (uint8_t)mode;
}

static void barrier(struct zc_module *m, const uint32_t *p)
{
    if (scope(m, p[1]) == SCOPE_WORKGROUP) {
        zc_emit(m, OP_BARRIER, 0, 0, 0);
        return;
    }
    struct zc_ins *i = group(m, 0, 0, 0, GROUP_BARRIER, GROUP_UNIFORM);
    i->n = SCOPE_SUBGROUP;
}

/* The first work-item copies; waiting for the event is a barrier. */
static void async_copy(struct zc_module *m, const uint32_t *p)
{
    struct zc_type *to = zc_type_of(m, p[4]), *from = zc_type_of(m, p[5]);
    if (to->kind != KIND_POINTER || from->kind != KIND_POINTER || zc_type_of(m, p[6])->size != 8 ||
        zc_type_of(m, p[7])->size != 8 || zc_type(m, to->elem)->size != zc_type(m, from->elem)->size ||
        !zc_type(m, to->elem)->size || zc_type(m, p[1])->size != 8)
        zc_fail(m, "the operands do not match");
    bool local = to->storage == STORAGE_LOCAL;
    uint32_t size = (uint32_t)zc_type(m, to->elem)->size;
    uint32_t d = zc_value(m, p[4]), s = zc_value(m, p[5]), n = zc_value(m, p[6]), stride = zc_value(m, p[7]);
    zc_emit(m, OP_ZERO, zc_result(m, p), 0, 8);
    struct zc_ins *i = zc_emit(m, OP_ASYNC_COPY, d, s, n);
    i->c = stride;
    i->n = local;
    i->imm = size;
}

bool zc_lower_group(struct zc_module *m, const uint32_t *p)
{
    uint32_t op = ZC_OP(p);
    const struct row *r = find(op);
    if (r) {
        lower(m, p, r);
        return true;
    }
    switch (op) {
    case OpGroupNonUniformInverseBallot:
    case OpGroupNonUniformBallotBitExtract:
    case OpGroupNonUniformBallotBitCount:
    case OpGroupNonUniformBallotFindLSB:
    case OpGroupNonUniformBallotFindMSB:
        ballot_use(m, p);
        return true;
    case OpControlBarrier:
        barrier(m, p);
        return true;
    case OpGroupAsyncCopy:
        async_copy(m, p);
        return true;
    case OpGroupWaitEvents:
        zc_emit(m, OP_BARRIER, 0, 0, 0);
        return true;
    }
    return false;
}
