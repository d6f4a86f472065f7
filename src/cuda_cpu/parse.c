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

/* .target sm_90a and options; a module of several units counts as the latest one. */
static void target(struct ptx *p)
{
    uint32_t sm = p->tok.kind == T_NAME && strncmp(p->tok.text, "sm_", 3) == 0 ? (uint32_t)atoi(p->tok.text + 3) : 0;
    p->target = sm > p->target ? sm : p->target;
    skip_line(p);
}

/* .file NUMBER "NAME" and more. */
static void source_file(struct ptx *p)
{
    struct ptx_file f = {.unit = p->unit};
    uint32_t line = p->tok.line;
    if (p->tok.kind == T_INT) {
        f.number = (uint32_t)p->tok.value;
        ptx_next(p);
        if (p->tok.kind == T_STRING && p->tok.line == line) {
            f.name = p->tok.text;
            *zc_push(p->m, p->files) = f;
        }
    }
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
    for (uint32_t k = p->fns.n; k-- > 0 && p->fns.v[k].unit == p->unit;)
        if (strcmp(p->fns.v[k].name, name) == 0)
            return k;
    *zc_push(p->m, p->fns) = (struct ptx_fn){.name = name, .unit = p->unit, .definition = p->fns.n - 1};
    return p->fns.n - 1;
}

static uint32_t parameter(struct ptx *p)
{
    if (!ptx_word(p, ".param") && !ptx_word(p, ".reg"))
        ptx_fail(p, "a parameter expected");
    return (uint32_t)(ptx_variable(p, SPACE_PARAM) - p->vars.v);
}

/* Performance directives: numbers that change nothing here, except the required size of a group. */
static void performance(struct ptx *p, struct ptx_fn *f)
{
    while (p->tok.kind == T_NAME && p->tok.text[0] == '.') {
        const char *word = ptx_name(p, "a directive");
        bool required = strcmp(word, ".reqntid") == 0, cluster = strcmp(word, ".reqnctapercluster") == 0;
        if (required)
            f->group[0] = f->group[1] = f->group[2] = 1;
        for (unsigned k = 0; p->tok.kind == T_INT || p->tok.kind == T_STRING; k++) {
            if (required && k < 3)
                f->group[k] = (uint32_t)p->tok.value;
            if (cluster && p->tok.value != 1)
                ptx_fail(p, "kernel %s: clusters of several groups are not supported", f->name);
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
    uint32_t scope = p->scope.n, result = 0, line = p->tok.line;
    uint8_t linkage = p->linkage;
    p->linkage = LINK_LOCAL; /* of its variables */
    p->line = line;
    if (!kernel && ptx_accept(p, '(')) {
        result = ptx_is(p, ')') ? 0 : 1 + parameter(p);
        ptx_expect(p, ')');
    }
    uint32_t index = function_named(p, ptx_name(p, "the function's name"));
    struct ptx_fn f = p->fns.v[index];
    f.params.n = f.defined ? f.params.n : 0;
    f.kernel = kernel;
    f.linkage = linkage;
    f.result = result;
    f.line = line;
    if (ptx_accept(p, '(')) {
        while (!ptx_is(p, ')')) {
            uint32_t v = parameter(p);
            if (!f.defined)
                *zc_push(p->m, f.params) = v;
            p->fns.v[index].params.v = f.params.v; /* freed with the others even if the parser fails */
            if (!ptx_accept(p, ','))
                break;
        }
        ptx_expect(p, ')');
    }
    performance(p, &f);
    if (!f.defined) /* a declaration behind the definition adds nothing */
        p->fns.v[index] = f;
    if (ptx_accept(p, '{')) {
        if (f.defined)
            ptx_fail(p, "a second definition of %s", f.name);
        p->fns.v[index].defined = true;
        ptx_statements(p, index);
    } else {
        ptx_accept(p, ';');
    }
    p->scope.n = scope;
}

static bool directive(struct ptx *p, const char *word)
{
    static const struct {
        const char *word;
        uint8_t space;
    } spaces[] = {{".global", SPACE_GLOBAL}, {".const", SPACE_CONST}, {".shared", SPACE_SHARED}};
    for (unsigned k = 0; k < sizeof spaces / sizeof *spaces; k++)
        if (strcmp(word, spaces[k].word) == 0) {
            ptx_variables(p, spaces[k].space);
            return true;
        }
    if (strcmp(word, ".entry") == 0 || strcmp(word, ".func") == 0)
        function(p, word[1] == 'e');
    else if (strcmp(word, ".version") == 0)
        version(p);
    else if (strcmp(word, ".file") == 0)
        source_file(p);
    else if (strcmp(word, ".target") == 0)
        target(p);
    else if (strcmp(word, ".loc") == 0)
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

/* Which linkage the directive names, or -1. */
static int linkage(const char *word)
{
    static const char *const words[] = {[LINK_VISIBLE] = ".visible", [LINK_WEAK] = ".weak", [LINK_COMMON] = ".common", [LINK_EXTERN] = ".extern"};
    for (int k = LINK_VISIBLE; k <= LINK_EXTERN; k++)
        if (strcmp(word, words[k]) == 0)
            return k;
    return -1;
}

static void unit(struct ptx *p)
{
    p->linkage = LINK_LOCAL;
    ptx_next(p);
    while (p->tok.kind != T_END) {
        p->line = p->tok.line;
        if (ptx_accept(p, ';'))
            continue;
        uint32_t line = p->tok.line;
        const char *word = ptx_name(p, "a directive");
        int named = linkage(word);
        if (named > 0) {
            p->linkage = (uint8_t)named;
            continue;
        }
        if (strcmp(word, ".address_size") == 0) {
            if (ptx_number(p) != 64)
                ptx_fail(p, "only .address_size 64 is supported");
        } else if (!directive(p, word)) {
            p->line = line;
            ptx_fail(p, "the directive %s is not supported", word);
        }
        p->linkage = LINK_LOCAL;
    }
    ptx_end_unit(p);
}

void ptx_parse(struct ptx *p)
{
    for (p->unit = 0; p->unit < p->nunits; p->unit++) {
        p->at = p->units[p->unit].text;
        p->end = p->at + p->units[p->unit].bytes;
        p->line = 1;
        unit(p);
    }
    ptx_join(p);
    ptx_relocate(p);
}
