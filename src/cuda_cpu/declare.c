/*
 * declare.c - declarations of PTX: registers, parameters, variables with their initializers, and the scopes of names.
 *
 * Global and constant variables get their memory here, shared ones their offset. Initializers may name variables that follow, and
 * those of other units; ptx_relocate fills in their addresses when all units are parsed and joined.
 */
#include <string.h>

#include "cuda_cpu/ptx.h"
#include "ze_cpu/entries.h"

enum { VARIABLE_MAX = 1 << 30, SHARED_MAX = 1 << 20, REGISTERS_MAX = 1 << 20 };

struct ptx_var *ptx_find(struct ptx *p, const char *name, uint32_t *nth)
{
    size_t n = strlen(name), stem = n;
    while (stem && name[stem - 1] >= '0' && name[stem - 1] <= '9')
        stem--;
    *nth = 0;
    for (uint32_t k = p->scope.n; k-- > 0;) {
        struct ptx_var *v = &p->vars.v[p->scope.v[k]];
        if (!v->count && strcmp(v->name, name) == 0)
            return v;
        if (v->count && stem < n && n - stem < 9 && !strncmp(v->name, name, stem) && !v->name[stem]) {
            uint32_t i = 0;
            for (size_t j = stem; j < n; j++)
                i = i * 10 + (uint32_t)(name[j] - '0');
            *nth = i;
            if (i < v->count)
                return v;
        }
    }
    return NULL;
}

/* ---- initializers ----------------------------------------------------------------------------------------------- */

struct fill {
    uint8_t *at, *end;
    struct ptx_type type;
};

static void put(struct ptx *p, struct fill *f, int64_t v)
{
    if (f->end - f->at < f->type.width)
        ptx_fail(p, "the initializer is longer than the variable");
    memcpy(f->at, &v, f->type.width);
    f->at += f->type.width;
}

/* A number: its bits in the variable's type. */
static void put_number(struct ptx *p, struct fill *f)
{
    bool minus = ptx_accept(p, '-');
    int64_t v = p->tok.value;
    if (p->tok.kind != T_INT && p->tok.kind != T_FLOAT)
        ptx_fail(p, "a number expected in the initializer");
    if (p->tok.kind == T_FLOAT && p->tok.bytes != f->type.width) {
        double d = 0;
        float s = 0;
        memcpy(&d, &v, sizeof d);
        memcpy(&s, &v, sizeof s);
        double wide = p->tok.bytes == 8 ? d : (double)s;
        float narrow = (float)wide;
        if (f->type.width == 8)
            memcpy(&v, &wide, sizeof wide);
        else
            memcpy(&v, &narrow, sizeof narrow);
    }
    if (minus)
        v = p->tok.kind == T_FLOAT ? (int64_t)((uint64_t)v ^ 1ull << (f->type.width * 8 - 1)) : (int64_t)(0 - (uint64_t)v);
    ptx_next(p);
    put(p, f, v);
}

/* name, name+4, generic(name), generic(name)+4 */
static void put_address(struct ptx *p, struct fill *f)
{
    const char *name = ptx_name(p, "a name");
    if (strcmp(name, "generic") == 0) {
        ptx_expect(p, '(');
        name = ptx_name(p, "a variable");
        ptx_expect(p, ')');
    }
    int64_t add = ptx_accept(p, '+') ? ptx_number(p) : 0;
    if (f->type.width != 8)
        ptx_fail(p, "the address of %s in %u bytes", name, f->type.width);
    *zc_push(p->m, p->relocs) = (struct ptx_reloc){f->at, p->line, p->unit, ZC_NONE, name, add};
    put(p, f, 0);
}

static void initializer(struct ptx *p, struct fill *f)
{
    p->line = p->tok.line;
    if (ptx_accept(p, '{')) {
        while (!ptx_is(p, '}')) {
            initializer(p, f);
            if (!ptx_accept(p, ','))
                break;
        }
        ptx_expect(p, '}');
    } else if (p->tok.kind == T_NAME) {
        put_address(p, f);
    } else {
        put_number(p, f);
    }
}

void ptx_end_unit(struct ptx *p)
{
    for (uint32_t k = p->relocs.n; k-- > 0 && p->relocs.v[k].unit == p->unit;) {
        struct ptx_reloc *r = &p->relocs.v[k];
        uint32_t nth;
        struct ptx_var *v = ptx_find(p, r->name, &nth);
        p->line = r->line;
        if (!v || !ptx_is_memory(v))
            ptx_fail(p, "an initializer needs the address of %s, which is no variable of this module", r->name);
        r->var = (uint32_t)(v - p->vars.v);
    }
    p->scope.n = 0;
}

void ptx_relocate(struct ptx *p)
{
    for (uint32_t k = 0; k < p->relocs.n; k++) {
        struct ptx_reloc *r = &p->relocs.v[k];
        const struct ptx_var *v = &p->vars.v[r->var];
        p->unit = r->unit;
        p->line = r->line;
        if (v->linkage == LINK_EXTERN)
            ptx_fail(p, "an initializer needs the address of %s, which is not defined", r->name);
        uint64_t a = v->at + (uint64_t)r->add;
        memcpy(r->at, &a, sizeof a);
    }
}

/* ---- declarations ----------------------------------------------------------------------------------------------- */

static void registers(struct ptx *p, struct ptx_var *v, struct ptx_type t)
{
    v->reg = p->regs.n;
    uint32_t n = v->count ? v->count : 1;
    if (p->regs.n + n > REGISTERS_MAX)
        ptx_fail(p, "more than %d registers", REGISTERS_MAX);
    struct ptx_reg *r = zc_push_n(p->m, p->regs, n);
    for (uint32_t k = 0; k < n; k++)
        r[k] = (struct ptx_reg){t.class, t.width, ZC_NONE, 0};
}

/* Memory that the program reads as managed (cuPointerGetAttribute); cc_image_free frees it. */
static uint8_t *managed_memory(struct zc_module *m, uint64_t bytes)
{
    void *at;
    if (zc_MemAllocShared(NULL, NULL, NULL, bytes, 512, NULL, &at))
        zc_fail(m, "out of memory");
    return at;
}

static void memory(struct ptx *p, struct ptx_var *v, struct ptx_type t, bool managed)
{
    struct zc_module *m = p->m;
    bool initial = ptx_accept(p, '=');
    if (v->space == SPACE_SHARED) {
        m->local_bytes = (m->local_bytes + v->align - 1) & ~(v->align - 1);
        v->at = m->local_bytes;
        m->local_bytes += v->size;
        if (m->local_bytes > SHARED_MAX)
            ptx_fail(p, "more than %d bytes of shared memory", SHARED_MAX);
    }
    if (ptx_is_memory(v) && v->linkage != LINK_EXTERN) {
        struct zc_global *g = zc_push(m, m->globals);
        uint8_t *at = managed ? managed_memory(m, v->size) : zc_keep(m, v->size ? v->size : 1);
        *g = (struct zc_global){.mem = at, .size = v->size, .managed = managed};
        v->at = (uint64_t)(uintptr_t)at;
        struct fill f = {at, at + v->size, t};
        if (initial)
            initializer(p, &f);
    } else if (initial) {
        ptx_fail(p, "%s cannot have an initializer", v->name);
    }
}

/* Attributes before the name: alignment, vector, those that change nothing here. Returns elements of a vector. */
static unsigned attributes(struct ptx *p, struct ptx_type *t, uint64_t *align, bool *managed)
{
    unsigned vector = 1;
    bool typed = false;
    while (p->tok.kind == T_NAME && p->tok.text[0] == '.') {
        const char *word = ptx_name(p, "an attribute");
        if (strcmp(word, ".align") == 0)
            *align = (uint64_t)ptx_number(p);
        else if (strcmp(word, ".v2") == 0 || strcmp(word, ".v4") == 0)
            vector = (unsigned)(word[2] - '0');
        else if (ptx_type_named(word + 1, t))
            typed = true;
        else if (strcmp(word, ".attribute") == 0)
            while (!ptx_accept(p, ')')) {
                *managed |= p->tok.kind == T_NAME && strcmp(p->tok.text, ".managed") == 0;
                ptx_next(p);
            }
        else if (strcmp(word, ".ptr") && strcmp(word, ".global") && strcmp(word, ".shared") && strcmp(word, ".const") &&
                 strcmp(word, ".local"))
            ptx_fail(p, "declarations with %s are not supported", word);
    }
    if (!typed)
        ptx_fail(p, "a type expected");
    return vector;
}

/* The size of an array, all dimensions; a first one may be empty. */
static uint64_t dimensions(struct ptx *p, bool *open)
{
    uint64_t n = 1;
    while (ptx_accept(p, '[')) {
        *open |= ptx_is(p, ']');
        uint64_t each = ptx_is(p, ']') ? 0 : (uint64_t)ptx_number(p);
        if (each > VARIABLE_MAX || n * each > VARIABLE_MAX)
            ptx_fail(p, "an array of more than %d elements", VARIABLE_MAX);
        n *= each;
        ptx_expect(p, ']');
    }
    return n;
}

static struct ptx_var *named(struct ptx *p, uint8_t space, struct ptx_type t, unsigned vector, uint64_t align, bool managed)
{
    struct ptx_var v = {.space = space, .linkage = p->linkage, .unit = p->unit, .slot = ZC_NONE};
    bool open = false, external = p->linkage == LINK_EXTERN;
    p->line = p->tok.line;
    v.name = ptx_name(p, "a name");
    if (ptx_accept(p, '<')) {
        v.count = (uint32_t)ptx_number(p);
        ptx_expect(p, '>');
    }
    v.size = dimensions(p, &open) * t.width * vector;
    v.align = align > t.width * vector ? align : t.width * vector;
    if (v.size > VARIABLE_MAX || v.align & (v.align - 1) || (open && !external))
        ptx_fail(p, "%s has no valid size or alignment", v.name);
    v.dynamic = external && space == SPACE_SHARED;
    if (space == SPACE_REG)
        registers(p, &v, t);
    else if (space != SPACE_PARAM && space != SPACE_LOCAL && !v.dynamic)
        memory(p, &v, t, managed);
    *zc_push(p->m, p->scope) = p->vars.n;
    struct ptx_var *kept = zc_push(p->m, p->vars);
    *kept = v;
    return kept;
}

struct ptx_var *ptx_variable(struct ptx *p, uint8_t space)
{
    struct ptx_type t = {0};
    uint64_t align = 1;
    bool managed = false;
    unsigned vector = attributes(p, &t, &align, &managed);
    return named(p, space, t, vector, align, managed);
}

void ptx_variables(struct ptx *p, uint8_t space)
{
    struct ptx_type t = {0};
    uint64_t align = 1;
    p->line = p->tok.line;
    bool managed = false;
    unsigned vector = attributes(p, &t, &align, &managed);
    do
        named(p, space, t, vector, align, managed);
    while (ptx_accept(p, ','));
    ptx_expect(p, ';');
}
