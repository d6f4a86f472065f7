/* build.c - builds a module: copies its words, parses and lowers them. zc_fail in any pass returns here. */
#include "ze_cpu/build.h"

#include <stdlib.h>
#include <string.h>

#include "ze_cpu/config.h"
#include "ze_cpu/lines.h"
#include "ze_cpu/lower.h"
#include "ze_cpu/native.h"
#include "ze_cpu/parse.h"

/* Instructions of debug information, apart from OpLine, become OpNop. */
static void skip_debug(struct zc_module *m)
{
    uint32_t set[8], sets = 0;
    for (uint32_t at = 5, words; at < m->nw; at += words) {
        uint32_t *p = m->w + at;
        words = ZC_WORDS(p);
        if (!words || words > m->nw - at)
            return; /* zc_parse reports it */
        if (ZC_OP(p) == OpExtInstImport && words > 2 && sets < sizeof set / sizeof *set &&
            (!strncmp((const char *)(p + 2), "OpenCL.Debug", 12) || !strncmp((const char *)(p + 2), "SPIRV.debug", 11)))
            set[sets++] = p[1];
        for (uint32_t k = 0; k < sets && words > 3; k++)
            if (ZC_OP(p) == OpExtInst && p[3] == set[k])
                for (uint32_t n = 0; n < words; n++)
                    p[n] = OpNop | 1u << 16;
    }
}

static bool is_built(struct zc_module *m)
{
    if (setjmp(m->give_up))
        return false;
    zc_parse(m);
    zc_lower(m);
    zc_lines_done(m);
    if (zc_config.native)
        zc_native(m);
    return true;
}

struct zc_module *zc_module_build(const void *words, size_t bytes, const struct zc_specialization *spec, char **log)
{
    *log = NULL;
    struct zc_module *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    if (bytes < 20 || bytes % 4 || bytes > UINT32_MAX) {
        *log = strdup("not SPIR-V: the size is not a multiple of 4 bytes\n");
        zc_module_free(m);
        return NULL;
    }
    m->nw = (uint32_t)(bytes / 4);
    m->spec = spec;
    m->subgroup = ZC_SUBGROUP;
    m->w = malloc(bytes + 4); /* a sentinel: passes read the word after the last instruction */
    if (m->w) {
        memcpy(m->w, words, bytes);
        m->w[m->nw] = 0;
        skip_debug(m);
        bool built = is_built(m);
        m->spec = NULL;
        if (built)
            return m;
    }
    *log = m->log;
    m->log = NULL;
    zc_module_free(m);
    return NULL;
}
