/* image.c - builds a module from PTX text: the passes, their memory, the table of variables. */
#include <stdlib.h>
#include <string.h>

#include "cuda_cpu/ptx.h"
#include "ze_cpu/config.h"
#include "ze_cpu/entries.h"
#include "ze_cpu/native.h"

enum { WARP = 32 };

static bool is_built(struct ptx *p, struct cc_image *image)
{
    struct zc_module *m = p->m;
    if (setjmp(m->give_up))
        return false;
    ptx_parse(p);
    ptx_lower(p);
    if (zc_config.native)
        zc_native(m);
    image->symbol = zc_keep(m, (p->vars.n + 1) * sizeof *image->symbol);
    for (uint32_t k = 0; k < p->vars.n; k++) {
        const struct ptx_var *v = &p->vars.v[k];
        if ((v->space == SPACE_GLOBAL || v->space == SPACE_CONST) && !v->external && (zc_config.locals || v->visible))
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
    free(p->constants.v);
    free(p->label_pc.v);
    free(p);
}

struct cc_image *cc_image_build(const char *text, size_t n, char **log)
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
    p->at = text;
    p->end = text + n;
    p->line = 1;
    bool built = is_built(p, image);
    forget(p);
    if (built)
        return image;
    *log = m->log;
    m->log = NULL;
    cc_image_free(image);
    return NULL;
}

void cc_image_free(struct cc_image *image)
{
    for (uint32_t k = 0; k < image->m->globals.n; k++)
        if (image->m->globals.v[k].managed)
            zc_MemFree(NULL, image->m->globals.v[k].mem);
    zc_module_free(image->m);
    free(image);
}
