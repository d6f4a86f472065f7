/*
 * join.c - links the units of a module: each name that units share gets one definition.
 *
 * Of several definitions the visible one counts, else the first weak one, else the largest common one; two visible ones are an
 * error. A name without definition is an error only where code that a kernel reaches, or an initializer, uses it: the lowering
 * and ptx_relocate report it.
 */
#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/ptx.h"

/* A name that other units see: of a function, or of a variable. */
struct shared {
    const char *name;
    bool function;
    uint32_t index;
};

static int compare(const void *a, const void *b)
{
    const struct shared *x = a, *y = b;
    int c = strcmp(x->name, y->name);
    if (c || x->function != y->function)
        return c ? c : x->function - y->function;
    return (x->index > y->index) - (x->index < y->index);
}

static const char *unit_name(const struct ptx *p, uint32_t unit)
{
    return p->units[unit].name ? p->units[unit].name : "this module";
}

/* Does this definition count more than that other? */
static bool counts_more(struct ptx *p, const char *name, uint8_t linkage, uint32_t unit, uint8_t than, uint32_t of)
{
    if (linkage == LINK_VISIBLE && than == LINK_VISIBLE) {
        p->unit = p->nunits;
        zc_fail(p->m, "%s is defined in %s and in %s", name, unit_name(p, of), unit_name(p, unit));
    }
    return linkage < than;
}

static void join_functions(struct ptx *p, const struct shared *s, uint32_t n)
{
    struct ptx_fn *best = NULL;
    for (uint32_t k = 0; k < n; k++) {
        struct ptx_fn *f = &p->fns.v[s[k].index];
        if (f->defined && (!best || counts_more(p, f->name, f->linkage, f->unit, best->linkage, best->unit)))
            best = f;
    }
    for (uint32_t k = 0; k < n && best; k++) {
        struct ptx_fn *f = &p->fns.v[s[k].index];
        f->definition = (uint32_t)(best - p->fns.v);
        f->defined = f == best;
    }
}

static bool is_larger_common(const struct ptx_var *v, const struct ptx_var *than)
{
    return v->linkage == LINK_COMMON && than->linkage == LINK_COMMON && v->size > than->size;
}

/* Does the variable contradict the one that counts? An array may be declared without its size. */
static bool differs(const struct ptx_var *v, const struct ptx_var *best)
{
    return v->space != best->space || (v->size != best->size && v->size && best->linkage != LINK_COMMON && v->linkage != LINK_COMMON);
}

static void join_variables(struct ptx *p, const struct shared *s, uint32_t n)
{
    struct ptx_var *best = NULL;
    for (uint32_t k = 0; k < n; k++) {
        struct ptx_var *v = &p->vars.v[s[k].index];
        if (v->linkage != LINK_EXTERN && (!best || counts_more(p, v->name, v->linkage, v->unit, best->linkage, best->unit) || is_larger_common(v, best)))
            best = v;
    }
    for (uint32_t k = 0; k < n && best; k++) {
        struct ptx_var *v = &p->vars.v[s[k].index];
        if (differs(v, best)) {
            p->unit = p->nunits;
            zc_fail(p->m, "%s has %llu bytes in %s and %llu in %s, or another state space", v->name, (unsigned long long)best->size,
                    unit_name(p, best->unit), (unsigned long long)v->size, unit_name(p, v->unit));
        }
        v->joined = v != best;
        v->linkage = best->linkage;
        v->at = best->at;
        v->size = best->size;
    }
}

/* All names that units share, in order. */
static struct shared *gather(struct ptx *p, uint32_t *n)
{
    struct shared *s = zc_keep(p->m, (p->fns.n + p->vars.n + 1) * sizeof *s);
    *n = 0;
    for (uint32_t k = 0; k < p->fns.n; k++)
        if (p->fns.v[k].linkage)
            s[(*n)++] = (struct shared){p->fns.v[k].name, true, k};
    for (uint32_t k = 0; k < p->vars.n; k++)
        if (p->vars.v[k].linkage && !p->vars.v[k].dynamic)
            s[(*n)++] = (struct shared){p->vars.v[k].name, false, k};
    qsort(s, *n, sizeof *s, compare);
    return s;
}

void ptx_join(struct ptx *p)
{
    uint32_t n;
    const struct shared *s = gather(p, &n);
    p->unit = p->nunits;
    for (uint32_t first = 0, end; first < n; first = end) {
        for (end = first + 1; end < n && strcmp(s[end].name, s[first].name) == 0 && s[end].function == s[first].function; end++)
            ;
        if (end < n && strcmp(s[end].name, s[first].name) == 0)
            zc_fail(p->m, "%s is a variable in one module and a function in another", s[first].name);
        if (s[first].function)
            join_functions(p, &s[first], end - first);
        else
            join_variables(p, &s[first], end - first);
    }
}
