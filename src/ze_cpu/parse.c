/*
 * parse.c - the first pass over a SPIR-V module: checks the operand shape and the ids of every instruction, collects types,
 * names, decorations, constants, functions and calls. After it, no id or length leads outside the module's tables.
 *
 * The lowering checks the types of operands.
 */
#include "ze_cpu/parse.h"

#include <stdlib.h>
#include <string.h>

#include "ze_cpu/constant.h"

enum { BOUND_MAX = 1 << 22, TYPE_BYTES_MAX = 1 << 30, VALUE_BYTES_MAX = 1 << 16 };

/* ---- operand shapes --------------------------------------------------------------------------------------------- */

#define SHAPE(name, number, shape) [number] = shape,
static const char *const shapes[] = {ZC_SPIRV(SHAPE)};
enum { OPS = sizeof shapes / sizeof *shapes };

/* ---- types ------------------------------------------------------------------------------------------------------ */

/* The type id; fails unless it has a size. */
static struct zc_type *sized(struct zc_module *m, uint32_t id)
{
    struct zc_type *t = zc_type(m, id);
    if (!t->size)
        zc_fail(m, "type %u has no size", id);
    return t;
}

static void layout_struct(struct zc_module *m, struct zc_type *t, const uint32_t *p, bool packed)
{
    uint64_t off = 0, align = 1;
    t->n = ZC_WORDS(p) - 2;
    t->member = p + 2;
    uint64_t *offset = zc_keep(m, (t->n + 1) * sizeof *offset);
    for (uint32_t i = 0; i < t->n; i++) {
        struct zc_type *e = sized(m, p[2 + i]);
        uint64_t a = packed ? 1 : e->align;
        off = (off + a - 1) & ~(a - 1);
        offset[i] = off;
        off += e->size;
        align = a > align ? a : align;
    }
    t->offset = offset;
    t->align = align;
    t->size = (off + align - 1) & ~(align - 1);
    if (!t->size)
        t->size = 1;
}

static void type_scalar(struct zc_module *m, struct zc_type *t, const uint32_t *p)
{
    switch (ZC_OP(p)) {
    case OpTypeBool:
        *t = (struct zc_type){.kind = KIND_BOOL, .width = 1, .size = 1, .align = 1};
        return;
    case OpTypeInt:
        if (p[2] != 8 && p[2] != 16 && p[2] != 32 && p[2] != 64)
            zc_fail(m, "integers of %u bits are not supported", p[2]);
        break;
    default:
        if (p[2] != 16 && p[2] != 32 && p[2] != 64)
            zc_fail(m, "floating point of %u bits is not supported", p[2]);
    }
    uint8_t w = (uint8_t)(p[2] / 8);
    *t = (struct zc_type){.kind = ZC_OP(p) == OpTypeInt ? KIND_INT : KIND_FLOAT, .width = w, .size = w, .align = w};
}

static void type_composite(struct zc_module *m, struct zc_type *t, const uint32_t *p)
{
    switch (ZC_OP(p)) {
    case OpTypeVector: {
        struct zc_type *e = sized(m, p[2]);
        if (e->kind > KIND_FLOAT || (p[3] != 2 && p[3] != 3 && p[3] != 4 && p[3] != 8 && p[3] != 16))
            zc_fail(m, "unsupported vector type");
        *t = (struct zc_type){.kind = KIND_VECTOR, .n = p[3], .elem = p[2]};
        t->size = t->align = e->size * (p[3] == 3 ? 4 : p[3]);
        break;
    }
    case OpTypeArray: {
        struct zc_type *e = sized(m, p[2]);
        uint64_t n = zc_constant_u64(m, p[3]);
        if (n > TYPE_BYTES_MAX)
            zc_fail(m, "array too large: %llu elements", (unsigned long long)n);
        *t = (struct zc_type){.kind = KIND_ARRAY, .n = (uint32_t)n, .elem = p[2], .align = e->align};
        t->size = n ? n * e->size : 1;
        break;
    }
    default:
        *t = (struct zc_type){.kind = KIND_STRUCT};
        layout_struct(m, t, p, m->id[p[1]].packed);
    }
    if (t->size > TYPE_BYTES_MAX)
        zc_fail(m, "type larger than %d bytes", TYPE_BYTES_MAX);
}

static void type_define(struct zc_module *m, const uint32_t *p)
{
    struct zc_id *id = &m->id[p[1]];
    struct zc_type t = {.kind = KIND_OPAQUE};
    switch (ZC_OP(p)) {
    case OpTypeVoid:
        t.kind = KIND_VOID;
        break;
    case OpTypeBool:
    case OpTypeInt:
    case OpTypeFloat:
        type_scalar(m, &t, p);
        break;
    case OpTypeVector:
    case OpTypeArray:
    case OpTypeStruct:
        type_composite(m, &t, p);
        break;
    case OpTypePointer:
        t = (struct zc_type){.kind = KIND_POINTER, .width = 8, .size = 8, .align = 8, .storage = p[2], .elem = p[3]};
        break;
    case OpTypeFunction:
        t = (struct zc_type){.kind = KIND_FUNCTION, .elem = p[2], .n = ZC_WORDS(p) - 3, .member = p + 3};
        break;
    case OpTypeEvent:
        t = (struct zc_type){.kind = KIND_INT, .width = 8, .size = 8, .align = 8};
        break;
    }
    if (id->what != ID_TYPE) { /* else OpTypeForwardPointer has declared it */
        id->what = ID_TYPE;
        id->at = m->types.n;
        zc_push(m, m->types);
    }
    m->types.v[id->at] = t;
}

static void type_forward(struct zc_module *m, const uint32_t *p)
{
    struct zc_id *id = &m->id[p[1]];
    if (id->what != ID_NONE)
        zc_fail(m, "id %u is defined twice", p[1]);
    id->what = ID_TYPE;
    id->at = m->types.n;
    *zc_push(m, m->types) = (struct zc_type){.kind = KIND_POINTER, .width = 8, .size = 8, .align = 8, .storage = p[2],
                                             .elem = ZC_NONE};
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

static uint32_t id_of(struct zc_module *m, uint32_t id)
{
    if (!id || id >= m->bound)
        zc_fail(m, "id %u is outside the bound %u", id, m->bound);
    return id;
}

static void use(struct zc_module *m, const uint32_t *p, uint32_t word)
{
    uint32_t op = ZC_OP(p);
    struct zc_id *id = &m->id[p[word]];
    id->uses++;
    if (((op == OpLoad || op == OpPtrAccessChain || op == OpInBoundsPtrAccessChain || op == OpAccessChain ||
          op == OpInBoundsAccessChain || (op >= OpAtomicLoad && op <= OpAtomicXor && op != OpAtomicStore)) &&
         word == 3) ||
        ((op == OpStore || op == OpAtomicStore) && word == 1))
        id->address_uses++;
    if (m->cur_fn && id->what == ID_CONSTANT) {
        zc_constant_use(m, p[word]);
        if (id->import)
            m->fns.v[m->cur_fn - 1].missing = id->import;
    }
}

static void define(struct zc_module *m, const uint32_t *p, uint32_t word)
{
    struct zc_id *id = &m->id[id_of(m, p[word])];
    bool forward = ZC_OP(p) == OpTypePointer && id->what == ID_TYPE && m->types.v[id->at].elem == ZC_NONE;
    if (id->what != ID_NONE && !forward)
        zc_fail(m, "id %u is defined twice", p[word]);
    id->def = m->cur;
    if (!forward)
        id->what = word == 2 ? ID_VALUE : ID_OTHER;
    if (ZC_OP(p) == OpFunction)
        id->what = ID_FUNCTION;
    if (ZC_OP(p) == OpLabel)
        id->what = ID_LABEL;
    id->fn = m->cur_fn;
    if (word == 2)
        id->type = p[1];
}

/* Check that the string at p[word] ends; returns its length in words. */
static uint32_t string_words(struct zc_module *m, const uint32_t *p, uint32_t word)
{
    size_t room = (ZC_WORDS(p) - word) * 4u, n = strnlen((const char *)(p + word), room);
    if (n == room)
        zc_fail(m, "unterminated string");
    return (uint32_t)(n / 4 + 1);
}

static uint32_t operand(struct zc_module *m, const uint32_t *p, uint32_t word, char kind)
{
    switch (kind) {
    case 's':
        return string_words(m, p, word);
    case 'n':
        return 1;
    case 't':
    case 'T':
        zc_type(m, id_of(m, p[word]));
        return 1;
    case 'r':
        define(m, p, word);
        return 1;
    case 'x':
        if (p[word] && p[word] < m->bound)
            use(m, p, word);
        return 1;
    case 'v':
        id_of(m, p[word]);
        use(m, p, word);
        return 1;
    case 'p':
        if (word + 1 >= ZC_WORDS(p))
            zc_fail(m, "too few words");
        id_of(m, p[word + 1]);
        operand(m, p, word, 'v');
        return 2;
    }
    id_of(m, p[word]);
    return 1;
}

static void check(struct zc_module *m, const uint32_t *p)
{
    uint32_t op = ZC_OP(p), words = ZC_WORDS(p), word = 1;
    if (op >= OPS || !shapes[op])
        zc_fail(m, "this instruction is not supported");
    for (const char *s = shapes[op]; *s; s++) {
        if (s[1] == '*' || s[1] == '?') {
            for (bool first = true; word < words && (first || s[1] == '*'); first = false)
                word += operand(m, p, word, *s);
            s++;
        } else {
            if (word >= words)
                zc_fail(m, "too few words");
            word += operand(m, p, word, *s);
        }
    }
    if (word != words)
        zc_fail(m, "%u words instead of %u", words, word);
}

/* ---- sections of the module ------------------------------------------------------------------------------------- */

static void decorate(struct zc_module *m, const uint32_t *p)
{
    struct zc_id *id = &m->id[p[1]];
    uint32_t words = ZC_WORDS(p);
    if (p[2] == DECORATION_PACKED)
        id->packed = true;
    if (p[2] == DECORATION_SATURATED)
        id->saturate = true;
    if (words < 4)
        return;
    if (p[2] == DECORATION_LINKAGE) {
        if (3 + string_words(m, p, 3) != words - 1)
            zc_fail(m, "malformed linkage of %u words", words);
        id->name = id->name ? id->name : (const char *)(p + 3);
        id->import = p[words - 1] == LINKAGE_IMPORT ? p[1] : 0;
    }
    if (p[2] == DECORATION_SPEC_ID && p[3] != UINT32_MAX)
        id->spec = p[3] + 1;
    if (p[2] == DECORATION_BUILTIN && p[3] < 10000)
        id->builtin = p[3] + 1;
    if (p[2] == DECORATION_ROUNDING && p[3] < 4)
        id->rounding = (uint8_t)(p[3] + 1);
    if (p[2] == DECORATION_PARAMETER && p[3] == PARAMETER_BYVAL)
        id->byval = true;
    if (p[2] == DECORATION_ALIGNMENT && p[3] && p[3] <= 4096 && !(p[3] & (p[3] - 1)))
        id->align = p[3];
}

/* Apply the decorations of the group p[1] to each id after it. */
static void group_decorate(struct zc_module *m, const uint32_t *p)
{
    const struct zc_id *g = &m->id[p[1]];
    for (uint32_t i = 2; i < ZC_WORDS(p); i++) {
        struct zc_id *id = &m->id[p[i]];
        id->packed |= g->packed;
        id->saturate |= g->saturate;
        id->byval |= g->byval;
        id->rounding = g->rounding ? g->rounding : id->rounding;
        id->builtin = g->builtin ? g->builtin : id->builtin;
        id->align = g->align ? g->align : id->align;
        id->spec = g->spec ? g->spec : id->spec;
    }
}

static void entry_point(struct zc_module *m, const uint32_t *p)
{
    if (p[1] != 6)
        zc_fail(m, "execution model %u is not Kernel", p[1]);
    struct zc_kernel_info *k = zc_push(m, m->kernels);
    k->fn = p[2];
    k->name = (const char *)(p + 3);
}

static void group_size(struct zc_module *m, struct zc_kernel_info *k, uint64_t x, uint64_t y, uint64_t z)
{
    if (!x || !y || !z || x > ZC_GROUP_MAX || y > ZC_GROUP_MAX || z > ZC_GROUP_MAX || x * y * z > ZC_GROUP_MAX)
        zc_fail(m, "work-group size of 0 or above %d", ZC_GROUP_MAX);
    k->group[0] = (uint32_t)x;
    k->group[1] = (uint32_t)y;
    k->group[2] = (uint32_t)z;
}

static void execution_mode(struct zc_module *m, const uint32_t *p)
{
    for (uint32_t i = 0; i < m->kernels.n; i++) {
        struct zc_kernel_info *k = &m->kernels.v[i];
        if (k->fn != p[1])
            continue;
        if ((p[2] == MODE_LOCAL_SIZE || p[2] == MODE_LOCAL_SIZE_ID) && ZC_WORDS(p) != 6)
            zc_fail(m, "work-group size without three dimensions");
        if (p[2] == MODE_LOCAL_SIZE)
            group_size(m, k, p[3], p[4], p[5]);
        if (p[2] == MODE_LOCAL_SIZE_ID)
            k->group_ids = p + 3;
        if (p[2] == MODE_SUBGROUP_SIZE && (ZC_WORDS(p) != 4 || p[3] != ZC_SUBGROUP))
            zc_fail(m, "the sub-group size of this device is %d", ZC_SUBGROUP);
    }
}

static void function_begin(struct zc_module *m, const uint32_t *p)
{
    if (m->cur_fn)
        zc_fail(m, "function inside a function");
    struct zc_fn *f = zc_push(m, m->fns);
    f->id = p[2];
    f->def = m->cur;
    f->type = p[1];
    f->param = m->params.n;
    f->call = m->calls.n;
    m->id[p[2]].at = m->fns.n - 1;
    m->cur_fn = m->fns.n;
    if (zc_type(m, p[4])->kind != KIND_FUNCTION)
        zc_fail(m, "id %u is not a function type", p[4]);
}

static void value_size(struct zc_module *m, const uint32_t *p)
{
    struct zc_type *t = zc_type(m, p[1]);
    uint32_t op = ZC_OP(p);
    if (op != OpFunction && op != OpFunctionCall && op != OpExtInst && !t->size)
        zc_fail(m, "value of a type without size");
    if (t->size > VALUE_BYTES_MAX && m->cur_fn)
        zc_fail(m, "value too large: %llu bytes", (unsigned long long)t->size);
}

static void in_function(struct zc_module *m, const uint32_t *p)
{
    struct zc_fn *f = &m->fns.v[m->cur_fn - 1];
    switch (ZC_OP(p)) {
    case OpFunctionParameter:
        *zc_push(m, m->params) = p[2];
        f->nparam++;
        break;
    case OpLabel:
        f->body = true;
        break;
    case OpFunctionCall:
        f->ncalls++;
        *zc_push(m, m->calls) = (struct zc_call){.caller = m->cur_fn - 1, .callee = p[3], .word = m->cur};
        break;
    case OpFunctionEnd:
        f->end = m->cur;
        m->cur_fn = 0;
        break;
    }
}

static void at_module(struct zc_module *m, const uint32_t *p)
{
    uint32_t op = ZC_OP(p);
    switch (op) {
    case OpMemoryModel:
        if (p[1] != 2 || p[2] != 2)
            zc_fail(m, "the memory model must be Physical64 OpenCL");
        return;
    case OpExtInstImport:
        if (!strcmp((const char *)(p + 2), "OpenCL.std"))
            m->ext_opencl = p[1];
        return;
    case OpName:
        m->id[p[1]].name = (const char *)(p + 2);
        return;
    case OpDecorate:
        decorate(m, p);
        return;
    case OpEntryPoint:
        entry_point(m, p);
        return;
    case OpGroupDecorate:
        group_decorate(m, p);
        return;
    case OpExecutionMode:
    case OpExecutionModeId:
        execution_mode(m, p);
        return;
    case OpTypeForwardPointer:
        type_forward(m, p);
        return;
    case OpFunction:
        function_begin(m, p);
        return;
    case OpVariable:
        zc_module_variable(m, p);
        return;
    }
    if (op >= OpTypeVoid && op <= OpTypeEvent)
        type_define(m, p);
    else if ((op >= OpConstantTrue && op <= OpSpecConstantOp) || op == OpUndef)
        zc_constant(m, p);
    else if (op >= OpVectorExtractDynamic && op != OpNoLine && op != OpModuleProcessed && op != OpExecutionModeId &&
             op != OpDecorateId && op < OpAliasDomainDeclINTEL) /* ignored: which accesses do not alias */
        zc_fail(m, "instruction outside a function");
}

/* Resolve what refers to constants defined later: work-group sizes. Check that each specialization has its constant. */
static void resolve_constants(struct zc_module *m)
{
    for (uint32_t i = 0; i < m->kernels.n; i++) {
        const uint32_t *c = m->kernels.v[i].group_ids;
        if (c)
            group_size(m, &m->kernels.v[i], zc_constant_u64(m, c[0]), zc_constant_u64(m, c[1]), zc_constant_u64(m, c[2]));
    }
    for (uint32_t i = 0; m->spec && i < m->spec->n; i++) {
        bool found = false;
        for (uint32_t k = 0; k < m->bound && !found; k++)
            found = m->id[k].what == ID_CONSTANT && m->id[k].spec && m->id[k].spec - 1 == m->spec->ids[i];
        if (!found)
            zc_fail(m, "the module has no specialization constant %u", m->spec->ids[i]);
    }
}

void zc_parse(struct zc_module *m)
{
    if (m->nw < 5 || m->w[0] != 0x07230203)
        zc_fail(m, "not SPIR-V: wrong magic number");
    m->bound = m->w[3];
    if (m->bound > BOUND_MAX)
        zc_fail(m, "the bound %u is above %d", m->bound, BOUND_MAX);
    m->id = calloc(m->bound + 1u, sizeof *m->id);
    if (!m->id)
        zc_fail(m, "out of memory");
    for (m->cur = 5; m->cur < m->nw; m->cur += ZC_WORDS(m->w + m->cur)) {
        const uint32_t *p = m->w + m->cur;
        if (!ZC_WORDS(p) || ZC_WORDS(p) > m->nw - m->cur)
            zc_fail(m, "instruction of %u words, but the module has %u left", ZC_WORDS(p), m->nw - m->cur);
        check(m, p);
        const char *shape = shapes[ZC_OP(p)];
        if (shape[0] == 't')
            value_size(m, p);
        if (m->cur_fn)
            in_function(m, p);
        else
            at_module(m, p);
    }
    m->cur = 0;
    if (m->cur_fn)
        zc_fail(m, "the last function has no OpFunctionEnd");
    resolve_constants(m);
}
