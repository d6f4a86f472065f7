/* image.c - builds a module from PTX texts: the passes, their memory, the table of variables. */
#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/ptx.h"
#include "ze_cpu/config.h"
#include "ze_cpu/entries.h"
#include "ze_cpu/native.h"

enum { WARP = 32 };

static bool is_lowered(struct ptx *p)
{
    if (setjmp(p->m->give_up))
        return false;
    ptx_parse(p);
    ptx_lower(p);
    return true;
}

static bool is_finished(struct ptx *p, struct cc_image *image)
{
    struct zc_module *m = p->m;
    if (setjmp(m->give_up))
        return false;
    if (zc_config.native)
        zc_native(m);
    image->target = p->target;
    image->symbol = zc_keep(m, (p->vars.n + 1) * sizeof *image->symbol);
    for (uint32_t k = 0; k < p->vars.n; k++) {
        const struct ptx_var *v = &p->vars.v[k];
        if (ptx_is_memory(v) && !v->joined && v->linkage != LINK_EXTERN && (zc_config.locals || v->linkage))
            image->symbol[image->symbols++] = (struct cc_symbol){v->name, (void *)(uintptr_t)v->at, v->size};
    }
    return true;
}

static void forget(struct ptx *p)
{
    for (uint32_t k = 0; k < p->fns.n; k++) {
        free(p->fns.v[k].params.v);
        free(p->fns.v[k].body.v);
        free(p->fns.v[k].calls.v);
    }
    free(p->fns.v);
    free(p->vars.v);
    free(p->regs.v);
    free(p->operands.v);
    free(p->scope.v);
    free(p->labels.v);
    free(p->relocs.v);
    free(p->files.v);
    free(p->constants.v);
    free(p->label_pc.v);
    free(p);
}

/* finish: make it ready to run. NULL: *log has the reason, or there was no memory. */
static struct cc_image *build(const struct cc_unit *units, uint32_t n, bool finish, char **log)
{
    *log = NULL;
    struct cc_image *image = calloc(1, sizeof *image);
    struct ptx *p = calloc(1, sizeof *p);
    struct zc_module *m = calloc(1, sizeof *m);
    if (!image || !p || !m) {
        free(image);
        free(p);
        free(m);
        return NULL;
    }
    m->subgroup = WARP;
    m->warps = true;
    p->m = image->m = m;
    p->units = units;
    p->nunits = n;
    bool built = is_lowered(p) && (!finish || is_finished(p, image));
    forget(p);
    if (built)
        return image;
    *log = m->log;
    m->log = NULL;
    cc_image_free(image);
    return NULL;
}

struct cc_image *cc_image_build(const struct cc_unit *units, uint32_t n, char **log)
{
    return build(units, n, true, log);
}

bool cc_image_links(const struct cc_unit *units, uint32_t n, char **log)
{
    struct cc_image *image = build(units, n, false, log);
    if (image)
        cc_image_free(image);
    return image;
}

void cc_image_free(struct cc_image *image)
{
    for (uint32_t k = 0; k < image->m->globals.n; k++)
        if (image->m->globals.v[k].managed)
            zc_MemFree(NULL, image->m->globals.v[k].mem);
    zc_module_free(image->m);
    free(image);
}
