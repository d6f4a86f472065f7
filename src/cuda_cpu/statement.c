/* statement.c - the body of a PTX function: blocks, declarations, labels, instructions with their operands. */
#include <string.h>

#include "cuda_cpu/ptx.h"

/* ---- labels ----------------------------------------------------------------------------------------------------- */

static uint32_t label_named(struct ptx *p, const char *name)
{
    for (uint32_t k = p->labels.n; k-- > 0;)
        if (strcmp(p->labels.v[k], name) == 0)
            return k;
    *zc_push(p->m, p->labels) = name;
    return p->labels.n - 1;
}

/* ---- operands --------------------------------------------------------------------------------------------------- */

/* Memory of a group that nvcc's headers use: %reserved_smem_offset_1 is its offset, as if it were a shared variable. */
static uint32_t reserved(struct ptx *p, const char *name)
{
    enum { BYTES = 1024, ALIGN = 16 };
    for (uint32_t k = 0; k < p->vars.n; k++)
        if (strcmp(p->vars.v[k].name, name) == 0)
            return k;
    uint64_t at = (p->m->local_bytes + ALIGN - 1) & ~(uint64_t)(ALIGN - 1);
    p->m->local_bytes = at + BYTES;
    *zc_push(p->m, p->vars) = (struct ptx_var){.name = name, .space = SPACE_SHARED, .size = BYTES, .align = ALIGN, .at = at, .slot = ZC_NONE};
    return p->vars.n - 1;
}

static void named(struct ptx *p, struct ptx_operand *o, const char *name)
{
    uint32_t nth;
    struct ptx_var *v = ptx_find(p, name, &nth);
    o->name = name;
    if (strcmp(name, "_") == 0)
        o->kind = O_NONE;
    else if (v && v->space == SPACE_REG)
        o->kind = O_REG, o->index = v->reg + nth, p->regs.v[v->reg + nth].uses++;
    else if (v)
        o->kind = O_VAR, o->index = (uint32_t)(v - p->vars.v);
    else if (strcmp(name, "%reserved_smem_offset_1") == 0)
        o->kind = O_VAR, o->index = reserved(p, name);
    else if (name[0] == '%' || strncmp(name, "WARP_SZ", 8) == 0)
        o->kind = O_SPECIAL;
    else
        o->kind = O_NAME;
}

/* A name, a number, or the address name+number, without brackets. */
static void simple(struct ptx *p, struct ptx_operand *o)
{
    if (ptx_accept(p, '!'))
        o->negated = true;
    if (p->tok.kind == T_NAME) {
        named(p, o, ptx_name(p, "a name"));
    } else if (p->tok.kind == T_FLOAT) {
        o->kind = O_FLOAT;
        o->n = p->tok.bytes;
        o->value = p->tok.value;
        ptx_next(p);
        return;
    } else {
        bool minus = ptx_accept(p, '-');
        if (minus && p->tok.kind == T_FLOAT) {
            simple(p, o);
            o->value = (int64_t)((uint64_t)o->value ^ 1ull << (o->n * 8 - 1));
            return;
        }
        o->kind = O_INT;
        o->value = ptx_number(p);
        if (minus)
            o->value = (int64_t)(0 - (uint64_t)o->value);
        return;
    }
    if (ptx_accept(p, '+'))
        o->value = ptx_number(p);
    else if (ptx_is(p, '-'))
        o->value = ptx_number(p);
}

static struct ptx_operand operand(struct ptx *p);

static struct ptx_operand vector(struct ptx *p)
{
    struct ptx_operand o = {.kind = O_VECTOR}, part[8];
    do {
        if (o.n == 8)
            ptx_fail(p, "a vector of more than 8 elements");
        part[o.n++] = operand(p);
    } while (ptx_accept(p, ','));
    ptx_expect(p, '}');
    o.index = p->operands.n;
    memcpy(zc_push_n(p->m, p->operands, o.n), part, o.n * sizeof *part);
    return o;
}

/* [handle, {coordinates}]: a vector in memory, of the handle and the coordinates. */
static struct ptx_operand place(struct ptx *p, struct ptx_operand handle)
{
    struct ptx_operand o = operand(p), part[9] = {handle};
    uint8_t n = o.kind == O_VECTOR ? o.n : 1;
    memcpy(&part[1], o.kind == O_VECTOR ? &p->operands.v[o.index] : &o, n * sizeof *part);
    o = (struct ptx_operand){.kind = O_VECTOR, .memory = true, .n = (uint8_t)(n + 1), .index = p->operands.n};
    memcpy(zc_push_n(p->m, p->operands, o.n), part, o.n * sizeof *part);
    return o;
}

static struct ptx_operand operand(struct ptx *p)
{
    struct ptx_operand o = {0};
    if (ptx_accept(p, '{'))
        return vector(p);
    if (ptx_accept(p, '[')) {
        simple(p, &o);
        o.memory = true;
        if (ptx_accept(p, ','))
            o = place(p, o);
        ptx_expect(p, ']');
        return o;
    }
    simple(p, &o);
    if (ptx_accept(p, '|')) {
        struct ptx_operand q = {0};
        simple(p, &q);
        if (q.kind != O_REG && q.kind != O_NONE)
            ptx_fail(p, "a predicate expected after |");
        o.pair = q.kind == O_REG ? 1 + q.index : 0;
    }
    return o;
}

/* ---- instructions ----------------------------------------------------------------------------------------------- */

/* Split an opcode at its dots into name, types and other modifiers. */
static void opcode(struct ptx *p, struct ptx_ins *i, const char *text)
{
    size_t n = strcspn(text, ".");
    p->opcode = text;
    i->op = ptx_keep(p, text, n);
    for (text += n; *text; text += n) {
        text++;
        n = strcspn(text, ".");
        const char *word = ptx_keep(p, text, n);
        struct ptx_type t;
        if (ptx_type_named(word, &t)) {
            if (i->ntype == PTX_TYPES)
                ptx_fail(p, "%s has more than %d types", i->op, PTX_TYPES);
            i->type[i->ntype++] = t;
        } else {
            if (i->nmod == PTX_MODS)
                ptx_fail(p, "%s has more than %d modifiers", i->op, PTX_MODS);
            i->mod[i->nmod++] = word;
        }
    }
}

static void push(struct ptx *p, struct ptx_ins *i, struct ptx_operand o)
{
    if (i->nop == 255)
        ptx_fail(p, "more than 255 operands");
    *zc_push(p->m, p->operands) = o;
    i->nop++;
}

/* The operands in parentheses; their vectors' elements lie before op1, as they are pushed first. */
static void parentheses(struct ptx *p, struct ptx_operand *list, uint8_t *n)
{
    while (!ptx_is(p, ')')) {
        if (*n == ZC_ARGS)
            ptx_fail(p, "more than %d arguments", ZC_ARGS);
        list[(*n)++] = operand(p);
        if (!ptx_accept(p, ','))
            break;
    }
    ptx_expect(p, ')');
}

static void call(struct ptx *p, struct ptx_ins *i)
{
    struct ptx_operand args[ZC_ARGS], ret[ZC_ARGS];
    uint8_t nargs = 0;
    if (ptx_accept(p, '(')) {
        parentheses(p, ret, &i->nret);
        ptx_expect(p, ',');
    }
    struct ptx_operand fn = operand(p);
    if (ptx_accept(p, ',')) {
        if (!ptx_accept(p, '('))
            ptx_fail(p, "calls by address are not supported");
        parentheses(p, args, &nargs);
        if (ptx_accept(p, ','))
            ptx_fail(p, "calls by address are not supported");
    }
    i->op1 = p->operands.n;
    for (uint8_t k = 0; k < i->nret; k++)
        push(p, i, ret[k]);
    push(p, i, fn);
    for (uint8_t k = 0; k < nargs; k++)
        push(p, i, args[k]);
}

static void operands(struct ptx *p, struct ptx_ins *i)
{
    struct ptx_operand list[16];
    uint8_t n = 0;
    while (!ptx_is(p, ';') && n < 16) {
        list[n++] = operand(p);
        if (!ptx_accept(p, ','))
            break;
    }
    i->op1 = p->operands.n;
    for (uint8_t k = 0; k < n; k++)
        push(p, i, list[k]);
}

static void guard(struct ptx *p, struct ptx_ins *i)
{
    struct ptx_operand o = {0};
    simple(p, &o);
    if (o.kind != O_REG)
        ptx_fail(p, "a predicate expected after @");
    i->guard = 1 + o.index;
    i->unless = o.negated;
}

static void instruction(struct ptx *p, uint32_t fn, const char *text, struct ptx_ins *i)
{
    opcode(p, i, text);
    if (strcmp(i->op, "call") == 0)
        call(p, i);
    else
        operands(p, i);
    ptx_expect(p, ';');
    for (uint32_t k = 0; k < i->nop; k++) { /* branch targets */
        struct ptx_operand *o = &p->operands.v[i->op1 + k];
        if (o->kind == O_NAME && (strcmp(i->op, "bra") == 0 || strcmp(i->op, "brx") == 0))
            o->index = label_named(p, o->name);
    }
    *zc_push(p->m, p->fns.v[fn].body) = *i;
}

/* name: .branchtargets L1, L2, ...; as an instruction "branchtargets" behind its label. */
static void branch_targets(struct ptx *p, uint32_t fn)
{
    struct ptx_ins i = {.line = p->line, .op = "branchtargets", .op1 = p->operands.n};
    do {
        const char *name = ptx_name(p, "a label");
        push(p, &i, (struct ptx_operand){.kind = O_NAME, .name = name, .index = label_named(p, name)});
    } while (ptx_accept(p, ','));
    ptx_expect(p, ';');
    *zc_push(p->m, p->fns.v[fn].body) = i;
}

static struct ptx_source line_of(struct ptx *p)
{
    struct ptx_source s = p->source;
    uint32_t line = p->tok.line;
    for (int k = 0; k < 3 && p->tok.kind == T_INT && p->tok.line == line; k++, ptx_next(p)) /* file, line, column */
        if (k < 2)
            *(k ? &s.line : &s.file) = (uint32_t)p->tok.value;
    return s;
}

/* .loc FILE LINE COLUMN[, function_name NAME, inlined_at FILE LINE COLUMN]: what follows is of that line. The call that was inlined there may be
 * of a function that was inlined itself, at the line before. */
static void location(struct ptx *p)
{
    uint32_t line = p->tok.line;
    struct ptx_source here = line_of(p), call = here;
    while (p->tok.kind != T_END && p->tok.line == line) {
        int inlined = p->tok.kind == T_NAME && strcmp(p->tok.text, "inlined_at") == 0;
        ptx_next(p);
        if (inlined)
            call = line_of(p);
    }
    if (call.file != p->innermost.file || call.line != p->innermost.line)
        p->source = call;
    p->innermost = here;
}

static void directive(struct ptx *p, uint32_t fn, const char *word)
{
    static const struct {
        const char *word;
        uint8_t space;
    } spaces[] = {{".reg", SPACE_REG}, {".param", SPACE_PARAM}, {".local", SPACE_LOCAL}, {".shared", SPACE_SHARED},
                  {".global", SPACE_GLOBAL}, {".const", SPACE_CONST}};
    for (unsigned k = 0; k < sizeof spaces / sizeof *spaces; k++)
        if (strcmp(word, spaces[k].word) == 0) {
            ptx_variables(p, spaces[k].space);
            return;
        }
    if (strcmp(word, ".loc") == 0) {
        location(p);
    } else if (strcmp(word, ".pragma") == 0) {
        while (p->tok.kind != T_END && !ptx_accept(p, ';'))
            ptx_next(p);
    } else if (strcmp(word, ".branchtargets") == 0) {
        branch_targets(p, fn);
    } else {
        ptx_fail(p, "the directive %s is not supported in a function", word);
    }
}

static void statement(struct ptx *p, uint32_t fn)
{
    struct ptx_ins i = {.line = p->tok.line, .source = p->source};
    p->line = i.line;
    if (ptx_accept(p, '@'))
        guard(p, &i);
    const char *word = ptx_name(p, "an instruction");
    if (!i.guard && word[0] == '.') {
        directive(p, fn, word);
    } else if (!i.guard && ptx_accept(p, ':')) {
        i.label = label_named(p, word);
        *zc_push(p->m, p->fns.v[fn].body) = i;
    } else {
        instruction(p, fn, word, &i);
    }
}

void ptx_statements(struct ptx *p, uint32_t fn)
{
    uint32_t scopes[64], depth = 0;
    p->labels.n = 0;
    p->source = p->innermost = (struct ptx_source){0, 0};
    for (;;) {
        if (p->tok.kind == T_END)
            ptx_fail(p, "the function has no end");
        if (ptx_accept(p, ';'))
            continue;
        if (ptx_accept(p, '{')) {
            if (depth == 64)
                ptx_fail(p, "blocks nest deeper than 64");
            scopes[depth++] = p->scope.n;
        } else if (ptx_accept(p, '}')) {
            if (!depth)
                break;
            p->scope.n = scopes[--depth];
        } else {
            statement(p, fn);
        }
    }
    p->fns.v[fn].labels = p->labels.n;
}
