/* module.c - the parts of a module under construction that all passes use: errors, memory, types. */
#include "ze_cpu/module.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BLOB_MAX = 1 << 30, FRAME_MAX = 1 << 24, LIST_BYTES_MAX = 1 << 29 };

/* ---- errors ----------------------------------------------------------------------------------------------------- */

const char *zc_op_name(uint32_t op)
{
#define NAME(name, number, shape) [number] = "Op" #name,
    static const char *const names[] = {ZC_SPIRV(NAME)};
    return op < sizeof names / sizeof *names && names[op] ? names[op] : "unknown instruction";
}

void zc_fail(struct zc_module *m, const char *fmt, ...)
{
    char why[400], all[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    if (m->cur >= 5 && m->cur < m->nw) {
        uint32_t op = ZC_OP(m->w + m->cur);
        snprintf(all, sizeof all, "%s (opcode %u) at word %u: %s\n", zc_op_name(op), op, m->cur, why);
    } else {
        snprintf(all, sizeof all, "%s\n", why);
    }
    m->log = strdup(all);
    longjmp(m->give_up, 1);
}

/* ---- memory ----------------------------------------------------------------------------------------------------- */

void *zc_grow(struct zc_module *m, void *v, uint32_t *n, uint32_t *cap, size_t each, size_t count)
{
    char *old;
    memcpy(&old, v, sizeof old);
    if ((*n + (uint64_t)count) * each > LIST_BYTES_MAX)
        zc_fail(m, "the module is too large");
    if (*n + count > *cap) {
        uint32_t grown = (uint32_t)(*n + count) * 2 + 16;
        char *more = realloc(old, grown * each);
        if (!more)
            zc_fail(m, "out of memory");
        old = more;
        *cap = grown;
        memcpy(v, &old, sizeof old);
    }
    char *at = old + *n * each;
    memset(at, 0, count * each);
    *n += (uint32_t)count;
    return at;
}

void *zc_keep(struct zc_module *m, size_t bytes)
{
    void **at = zc_push(m, m->blobs);
    *at = bytes <= BLOB_MAX ? calloc(1, bytes + 64) : NULL;
    if (!*at)
        zc_fail(m, "out of memory");
    return (void *)(((uintptr_t)*at + 63) & ~(uintptr_t)63);
}

void zc_module_free(struct zc_module *m)
{
    for (uint32_t i = 0; i < m->blobs.n; i++)
        free(m->blobs.v[i]);
    free(m->blobs.v);
    free(m->w);
    free(m->id);
    free(m->types.v);
    free(m->data.v);
    free(m->fns.v);
    free(m->params.v);
    free(m->calls.v);
    free(m->globals.v);
    free(m->builtins.v);
    free(m->locals.v);
    free(m->image.v);
    for (uint32_t i = 0; i < m->kernels.n; i++)
        free(m->kernels.v[i].lanes);
    free(m->kernels.v);
    free(m->code.v);
    free(m->extra.v);
    free(m->lines.v);
    free(m->fixes.v);
    free(m->blocks.v);
    free(m->ranked.v);
    if (m->native)
        munmap(m->native, m->native_bytes);
    if (m->lanes)
        munmap(m->lanes, m->lanes_bytes);
    free(m->log);
    free(m);
}

uint32_t zc_slot_new(struct zc_module *m, uint64_t size, uint64_t align)
{
    if (align < 1)
        align = 1;
    if (align > 128)
        align = 128;
    uint64_t at = (m->frame + align - 1) & ~(align - 1);
    if (size > FRAME_MAX || at + size > FRAME_MAX)
        zc_fail(m, "more than %d bytes of private memory", FRAME_MAX);
    m->frame = (uint32_t)(at + (size ? size : 1));
    return (uint32_t)at;
}

/* ---- types ------------------------------------------------------------------------------------------------------ */

struct zc_type *zc_type(struct zc_module *m, uint32_t id)
{
    if (id >= m->bound || m->id[id].what != ID_TYPE)
        zc_fail(m, "id %u is not a type", id);
    return &m->types.v[m->id[id].at];
}

struct zc_type *zc_type_of(struct zc_module *m, uint32_t id)
{
    if (id >= m->bound || (m->id[id].what != ID_VALUE && m->id[id].what != ID_CONSTANT))
        zc_fail(m, "id %u is not a value", id);
    return zc_type(m, m->id[id].type);
}

struct zc_shape zc_shape(struct zc_module *m, uint32_t type)
{
    struct zc_type *t = zc_type(m, type);
    unsigned n = 1;
    if (t->kind == KIND_VECTOR) {
        n = t->n;
        t = zc_type(m, t->elem);
    }
    if (t->kind != KIND_BOOL && t->kind != KIND_INT && t->kind != KIND_FLOAT && t->kind != KIND_POINTER)
        zc_fail(m, "type %u is neither scalar nor vector", type);
    return (struct zc_shape){t->kind, (uint8_t)t->size, (uint8_t)n};
}

struct zc_shape zc_shape_of(struct zc_module *m, uint32_t id)
{
    zc_type_of(m, id);
    return zc_shape(m, m->id[id].type);
}

uint32_t zc_member(struct zc_module *m, uint32_t type, uint64_t index, uint64_t *off)
{
    struct zc_type *t = zc_type(m, type);
    if (t->kind == KIND_STRUCT) {
        if (index >= t->n)
            zc_fail(m, "member %llu of a structure with %u members", (unsigned long long)index, t->n);
        *off += t->offset[index];
        return t->member[index];
    }
    if (t->kind != KIND_ARRAY && t->kind != KIND_VECTOR)
        zc_fail(m, "type %u has no members", type);
    if (index >= t->n)
        zc_fail(m, "element %llu of %u elements", (unsigned long long)index, t->n);
    *off += index * zc_type(m, t->elem)->size;
    return t->elem;
}
