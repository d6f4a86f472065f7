/* parse.c - the outer level of a PTX module: directives, functions and kernels with their parameters. */
#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/ptx.h"

static int64_t version(struct ptx *p)
{
    p->line = p->tok.line;
    if (p->tok.kind != T_FLOAT && p->tok.kind != T_INT)
        ptx_fail(p, "a version expected");
    ptx_next(p);
    return 0;
}

static void skip_line(struct ptx *p)
{
    uint32_t line = p->tok.line;
    while (p->tok.kind != T_END && p->tok.line == line)
        ptx_next(p);
}

/* Debugging information: a name, and a block. */
static void skip_section(struct ptx *p)
{
    while (p->tok.kind != T_END && !ptx_is(p, '{'))
        ptx_next(p);
    for (unsigned depth = 0; p->tok.kind != T_END;) {
        depth += ptx_is(p, '{');
        bool close = ptx_is(p, '}');
        ptx_next(p);
        if (close && !--depth)
            return;
    }
}

static uint32_t function_named(struct ptx *p, const char *name)
{
    for (uint32_t k = 0; k < p->fns.n; k++)
        if (strcmp(p->fns.v[k].name, name) == 0)
            return k;
    zc_push(p->m, p->fns)->name = name;
    return p->fns.n - 1;
}

static uint32_t parameter(struct ptx *p)
{
    if (!ptx_word(p, ".param") && !ptx_word(p, ".reg"))
        ptx_fail(p, "a parameter expected");
    return (uint32_t)(ptx_variable(p, SPACE_PARAM, false) - p->vars.v);
}

/* Performance directives: numbers that change nothing here, except the required size of a group. */
static void performance(struct ptx *p, struct ptx_fn *f)
{
    while (p->tok.kind == T_NAME && p->tok.text[0] == '.') {
        const char *word = ptx_name(p, "a directive");
        bool required = strcmp(word, ".reqntid") == 0;
        if (required)
            f->group[0] = f->group[1] = f->group[2] = 1;
        for (unsigned k = 0; p->tok.kind == T_INT || p->tok.kind == T_STRING; k++) {
            if (required && k < 3)
                f->group[k] = (uint32_t)p->tok.value;
            ptx_next(p);
            if (!ptx_accept(p, ','))
                break;
        }
        if (strcmp(word, ".pragma") == 0)
            ptx_accept(p, ';');
    }
}

static void function(struct ptx *p, bool kernel)
{
    uint32_t scope = p->scope.n, var = p->vars.n, reg = p->regs.n, result = 0, line = p->tok.line;
    p->line = line;
    if (!kernel && ptx_accept(p, '(')) {
        result = ptx_is(p, ')') ? 0 : 1 + parameter(p);
        ptx_expect(p, ')');
    }
    uint32_t index = function_named(p, ptx_name(p, "the function's name"));
    struct ptx_fn f = p->fns.v[index];
    f.params.n = 0;
    f.kernel = kernel;
    f.result = result;
    f.var = var;
    f.reg = reg;
    f.line = line;
    if (ptx_accept(p, '(')) {
        while (!ptx_is(p, ')')) {
            *zc_push(p->m, f.params) = parameter(p);
            p->fns.v[index].params.v = f.params.v; /* freed with the others even if the parser fails */
            if (!ptx_accept(p, ','))
                break;
        }
        ptx_expect(p, ')');
    }
    performance(p, &f);
    p->fns.v[index] = f;
    if (ptx_accept(p, '{')) {
        if (f.defined)
            ptx_fail(p, "a second definition of %s", f.name);
        p->fns.v[index].defined = true;
        ptx_statements(p, index);
    } else {
        ptx_accept(p, ';');
    }
    p->fns.v[index].nvar = p->vars.n - var;
    p->fns.v[index].nreg = p->regs.n - reg;
    p->scope.n = scope;
}

static bool directive(struct ptx *p, const char *word, bool external)
{
    static const struct {
        const char *word;
        uint8_t space;
    } spaces[] = {{".global", SPACE_GLOBAL}, {".const", SPACE_CONST}, {".shared", SPACE_SHARED}};
    for (unsigned k = 0; k < sizeof spaces / sizeof *spaces; k++)
        if (strcmp(word, spaces[k].word) == 0) {
            ptx_variables(p, spaces[k].space, external);
            return true;
        }
    if (strcmp(word, ".entry") == 0 || strcmp(word, ".func") == 0)
        function(p, word[1] == 'e');
    else if (strcmp(word, ".version") == 0)
        version(p);
    else if (strcmp(word, ".target") == 0 || strcmp(word, ".file") == 0 || strcmp(word, ".loc") == 0)
        skip_line(p);
    else if (strcmp(word, ".section") == 0)
        skip_section(p);
    else if (strcmp(word, ".pragma") == 0)
        while (p->tok.kind != T_END && !ptx_accept(p, ';'))
            ptx_next(p);
    else
        return false;
    return true;
}

void ptx_parse(struct ptx *p)
{
    bool external = false;
    ptx_next(p);
    while (p->tok.kind != T_END) {
        p->line = p->tok.line;
        if (ptx_accept(p, ';'))
            continue;
        const char *word = ptx_name(p, "a directive");
        if (strcmp(word, ".extern") == 0) {
            external = true;
            continue;
        }
        if (strcmp(word, ".visible") == 0 || strcmp(word, ".weak") == 0 || strcmp(word, ".common") == 0) {
            p->visible = true;
            continue;
        }
        if (strcmp(word, ".address_size") == 0) {
            if (ptx_number(p) != 64)
                ptx_fail(p, "only .address_size 64 is supported");
        } else if (!directive(p, word, external)) {
            ptx_fail(p, "the directive %s is not supported", word);
        }
        external = p->visible = false;
    }
    ptx_relocate(p);
}
