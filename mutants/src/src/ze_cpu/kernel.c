/* kernel.c - modules and kernels of Level Zero; build.c builds the contents of a module. */
#include "ze_cpu/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ze_cpu/build.h"
#include "ze_cpu/config.h"
#include "ze_cpu/entries.h"
#include "ze_cpu/launch.h"

struct _ze_module_handle_t {
    struct zc_module *m;
};

struct _ze_module_build_log_handle_t {
    char *text;
};

struct _ze_kernel_handle_t {
    const struct zc_module *m;
    const struct zc_kernel_info *info;
    uint32_t group[3], offset[3];
    uint8_t *value[ZC_ARGS]; /* NULL until set */
    uint32_t local[ZC_ARGS]; /* bytes of local memory, 0 until set */
    ze_kernel_indirect_access_flags_t indirect;
};

/* ---- modules ---------------------------------------------------------------------------------------------------- */

static ze_module_build_log_handle_t build_log(const char *text)
{
    struct _ze_module_build_log_handle_t *l = malloc(sizeof *l);
    if (l)
        l->text = strdup(text ? text : "");
    return l;
}

ze_result_t zc_ModuleCreate(ze_context_handle_t x, ze_device_handle_t d, const ze_module_desc_t *desc,
                            ze_module_handle_t *out, ze_module_build_log_handle_t *log)
{
    (void)x, (void)d;
    if (log)
        *log = NULL;
    if (desc->format != ZE_MODULE_FORMAT_IL_SPIRV)
        return ZE_RESULT_ERROR_INVALID_NATIVE_BINARY;
    if (!desc->pInputModule)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const ze_module_constants_t *c = desc->pConstants;
    if (c && c->numConstants && (!c->pConstantIds || !c->pConstantValues))
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    struct zc_specialization spec = {0};
    if (c)
        spec = (struct zc_specialization){c->numConstants, c->pConstantIds, c->pConstantValues};
    char *text = NULL;
    struct zc_module *m = zc_module_build(desc->pInputModule, desc->inputSize, &spec, &text);
    if (log)
        *log = build_log(text);
    free(text);
    if (!m)
        return ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
    struct _ze_module_handle_t *h = malloc(sizeof *h);
    if (!h) {
        zc_module_free(m);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    h->m = m;
    *out = h;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_ModuleDestroy(ze_module_handle_t h)
{
    zc_module_free(h->m);
    free(h);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_ModuleBuildLogDestroy(ze_module_build_log_handle_t l)
{
    free(l->text);
    free(l);
    return ZE_RESULT_SUCCESS;
}

/* Copy s to out, truncated to *size bytes; *size becomes the full size with the final zero. */
static ze_result_t copy_string(const char *s, size_t *size, char *out)
{
    size_t all = strlen(s) + 1;
    if (out) {
        size_t n = *size < all ? *size : all;
        memcpy(out, s, n);
        if (n)
            out[n - 1] = 0;
    }
    *size = all;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_ModuleBuildLogGetString(ze_module_build_log_handle_t l, size_t *size, char *out)
{
    return copy_string(l->text ? l->text : "", size, out);
}

ze_result_t zc_ModuleGetKernelNames(ze_module_handle_t h, uint32_t *count, const char **names)
{
    uint32_t all = h->m->kernels.n;
    if (!*count || *count > all)
        *count = all;
    for (uint32_t i = 0; names && i < *count; i++)
        names[i] = h->m->kernels.v[i].name;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_ModuleGetProperties(ze_module_handle_t h, ze_module_properties_t *p)
{
    p->flags = 0;
    for (uint32_t i = 0; i < h->m->kernels.n; i++)
        if (h->m->kernels.v[i].missing)
            p->flags = ZE_MODULE_PROPERTY_FLAG_IMPORTS;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_ModuleGetGlobalPointer(ze_module_handle_t h, const char *name, size_t *size, void **out)
{
    for (uint32_t i = 0; i < h->m->globals.n; i++) {
        const struct zc_global *g = &h->m->globals.v[i];
        const char *is = h->m->id[g->id].name;
        if (!is || strcmp(is, name) || h->m->id[g->id].import == g->id)
            continue;
        if (size)
            *size = g->size;
        if (out)
            *out = g->mem;
        return ZE_RESULT_SUCCESS;
    }
    return ZE_RESULT_ERROR_INVALID_GLOBAL_NAME;
}

static void missing_text(char *text, size_t room, const struct zc_kernel_info *k)
{
    snprintf(text, room, "kernel %s needs %s, which its module does not define\n", k->name, k->missing);
}

/* Modules cannot use functions or variables of each other: linking fails if a kernel needs any. */
ze_result_t zc_ModuleDynamicLink(uint32_t n, ze_module_handle_t *modules, ze_module_build_log_handle_t *log)
{
    char text[600] = "";
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < modules[i]->m->kernels.n && !text[0]; k++)
            if (modules[i]->m->kernels.v[k].missing)
                missing_text(text, sizeof text, &modules[i]->m->kernels.v[k]);
    if (log)
        *log = build_log(text);
    return text[0] ? ZE_RESULT_ERROR_MODULE_LINK_FAILURE : ZE_RESULT_SUCCESS;
}

/* ---- kernels ---------------------------------------------------------------------------------------------------- */

ze_result_t zc_KernelCreate(ze_module_handle_t h, const ze_kernel_desc_t *desc, ze_kernel_handle_t *out)
{
    if (!desc->pKernelName)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    for (uint32_t i = 0; i < h->m->kernels.n; i++) {
        const struct zc_kernel_info *info = &h->m->kernels.v[i];
        if (strcmp(info->name, desc->pKernelName))
            continue;
        if (info->missing) {
            char text[600];
            missing_text(text, sizeof text, info);
            fprintf(stderr, "ze_cpu: %s", text);
            return ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED;
        }
        struct _ze_kernel_handle_t *k = calloc(1, sizeof *k);
        if (!k)
            return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        k->m = h->m;
        k->info = info;
        memcpy(k->group, info->group, sizeof k->group);
        *out = k;
        return ZE_RESULT_SUCCESS;
    }
    return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
}

ze_result_t zc_KernelDestroy(ze_kernel_handle_t k)
{
    for (int i = 0; i < ZC_ARGS; i++)
        free(k->value[i]);
    free(k);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_KernelSetGroupSize(ze_kernel_handle_t k, uint32_t x, uint32_t y, uint32_t z)
{
    const uint32_t *need = k->info->group;
    if (!x || !y || !z || x > ZC_GROUP_MAX || y > ZC_GROUP_MAX || z > ZC_GROUP_MAX ||
        (uint64_t)x * y * z > ZC_GROUP_MAX)
        return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    if (need[0] && (x != need[0] || y != need[1] || z != need[2]))
        return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    k->group[0] = x;
    k->group[1] = y;
    k->group[2] = z;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_KernelSuggestGroupSize(ze_kernel_handle_t k, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t *x,
                                      uint32_t *y, uint32_t *z)
{
    (void)gy, (void)gz;
    uint32_t n = 64;
    while (gx % n)
        n /= 2;
    *x = k->info->group[0] ? k->info->group[0] : n;
    *y = k->info->group[0] ? k->info->group[1] : 1;
    *z = k->info->group[0] ? k->info->group[2] : 1;
    return ZE_RESULT_SUCCESS;
}

/* All groups of a cooperative launch are resident; each work-item takes about 1 KiB. */
ze_result_t zc_KernelSuggestMaxCooperativeGroupCount(ze_kernel_handle_t k, uint32_t *count)
{
    (void)k;
    *count = 8 * zc_config.threads;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_kernel_argument_size(ze_kernel_handle_t k, uint32_t i, uint32_t *bytes)
{
    if (i >= k->info->nargs)
        return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
    *bytes = k->info->arg[i].local ? 0 : k->info->arg[i].size;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_KernelSetArgumentValue(ze_kernel_handle_t k, uint32_t i, size_t size, const void *value)
{
    if (i >= k->info->nargs)
        return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
    if (k->info->arg[i].local) {
        if (value || !size || size > 1u << 24)
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        k->local[i] = (uint32_t)size;
        return ZE_RESULT_SUCCESS;
    }
    if (size != k->info->arg[i].size)
        return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
    if (!k->value[i])
        k->value[i] = malloc(size);
    if (!k->value[i])
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (value)
        memcpy(k->value[i], value, size);
    else
        memset(k->value[i], 0, size);
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_KernelSetIndirectAccess(ze_kernel_handle_t k, ze_kernel_indirect_access_flags_t flags)
{
    k->indirect = flags;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_KernelGetIndirectAccess(ze_kernel_handle_t k, ze_kernel_indirect_access_flags_t *flags)
{
    *flags = k->indirect;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_KernelGetSourceAttributes(ze_kernel_handle_t k, uint32_t *size, char **out)
{
    (void)k;
    if (out && *out && *size)
        **out = 0;
    *size = 1;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_KernelGetName(ze_kernel_handle_t k, size_t *size, char *out)
{
    return copy_string(k->info->name, size, out);
}

ze_result_t zc_KernelSetCacheConfig(ze_kernel_handle_t k, ze_cache_config_flags_t flags)
{
    (void)k, (void)flags;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_KernelExpSetGlobalOffsetExp(ze_kernel_handle_t k, uint32_t x, uint32_t y, uint32_t z)
{
    k->offset[0] = x;
    k->offset[1] = y;
    k->offset[2] = z;
    return ZE_RESULT_SUCCESS;
}

ze_result_t zc_KernelGetProperties(ze_kernel_handle_t k, ze_kernel_properties_t *p)
{
    const ze_kernel_properties_t head = *p;
    memset(p, 0, sizeof *p);
    p->stype = head.stype;
    p->pNext = head.pNext;
    p->numKernelArgs = k->info->nargs;
    p->requiredGroupSizeX = k->info->group[0];
    p->requiredGroupSizeY = k->info->group[1];
    p->requiredGroupSizeZ = k->info->group[2];
    p->requiredNumSubGroups = 0;
    p->maxSubgroupSize = ZC_SUBGROUP;
    p->maxNumSubgroups = ZC_GROUP_MAX / ZC_SUBGROUP;
    p->localMemSize = (uint32_t)k->m->local_bytes;
    p->privateMemSize = k->info->frame;
    return ZE_RESULT_SUCCESS;
}

/* ---- launches --------------------------------------------------------------------------------------------------- */

ze_result_t zc_kernel_capture(ze_kernel_handle_t k, const ze_group_count_t *count, bool cooperative,
                              struct zc_launch **out)
{
    const struct zc_kernel_info *info = k->info;
    size_t bytes = 0;
    if (!k->group[0])
        return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    for (uint32_t i = 0; i < info->nargs; i++) {
        if (info->arg[i].local ? !k->local[i] : !k->value[i])
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
        bytes += (info->arg[i].size + 15u) & ~(size_t)15;
    }
    size_t head = (sizeof(struct zc_launch) + 15) & ~(size_t)15;
    uint8_t *block = calloc(1, head + bytes);
    if (!block)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    struct zc_launch *l = (struct zc_launch *)block;
    l->m = k->m;
    l->k = info;
    l->cooperative = cooperative;
    memcpy(l->group, k->group, sizeof l->group);
    memcpy(l->offset, k->offset, sizeof l->offset);
    l->count[0] = count->groupCountX;
    l->count[1] = count->groupCountY;
    l->count[2] = count->groupCountZ;
    uint8_t *at = block + head;
    for (uint32_t i = 0; i < info->nargs; i++) {
        l->local[i] = k->local[i];
        if (info->arg[i].local)
            continue;
        memcpy(at, k->value[i], info->arg[i].size);
        l->arg[i] = at;
        at += (info->arg[i].size + 15u) & ~(size_t)15;
    }
    *out = l;
    return ZE_RESULT_SUCCESS;
}
