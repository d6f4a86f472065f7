/* modules.c - building and linking of modules: storage classes, specialization constants, imports. */
#include "zt.h"

enum { ITEMS = 64, LAST_WORD = 200 };
enum { OP_TYPE_POINTER = 32, OP_VARIABLE = 59, UNIFORM_CONSTANT = 0, INPUT = 1 };

static uint32_t *words;
static uint32_t nwords;
static uint64_t *out;

static ze_result_t build(const uint32_t *w, uint32_t n, const ze_module_constants_t *c, ze_module_handle_t *m, char *log,
                         size_t room)
{
    ze_module_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_MODULE_DESC, .format = ZE_MODULE_FORMAT_IL_SPIRV,
                             .inputSize = n * 4u, .pInputModule = (const uint8_t *)w, .pConstants = c};
    ze_module_build_log_handle_t l;
    ze_result_t r = zeModuleCreate(zt_context, zt_device, &desc, m, &l);
    ZE(zeModuleBuildLogGetString(l, &room, log));
    ZE(zeModuleBuildLogDestroy(l));
    return r;
}

static void run(ze_module_handle_t m, const char *name, uint32_t items)
{
    ze_kernel_handle_t k = zt_kernel(m, name);
    memset(out, 0, ITEMS * 8);
    zt_arg(k, 0, sizeof out, &out);
    CHECK(!zt_run(k, items, items > 16 ? 16 : items));
    ZE(zeKernelDestroy(k));
}

/* ---- built-ins -------------------------------------------------------------------------------------------------- */

/* Catches: built-in variables taken for memory; older translators declare them UniformConstant. */
static void storage_classes(void)
{
    static const uint32_t classes[] = {INPUT, UNIFORM_CONSTANT};
    uint32_t *w = malloc(nwords * 4u), changed = 0;
    for (int c = 0; c < 2; c++) {
        char log[700];
        ze_module_handle_t m;
        memcpy(w, words, nwords * 4u);
        for (uint32_t i = 5; i < nwords; i += w[i] >> 16) {
            uint32_t op = w[i] & 0xffff, at = i + (op == OP_VARIABLE ? 3 : 2);
            if ((op == OP_VARIABLE || op == OP_TYPE_POINTER) && w[at] == INPUT)
                changed++, w[at] = classes[c];
        }
        if (!CHECKF(!build(w, nwords, NULL, &m, log, sizeof log), "storage class %u: %s", classes[c], log))
            continue;
        run(m, "where", ITEMS);
        for (uint64_t i = 0; i < ITEMS; i++)
            CHECKF(out[i] == i * 1000000 + i % 16 * 10000 + i / 16 * 100 + 16 + i % 16, "storage class %u, item %u: %llu",
                   classes[c], (unsigned)i, (unsigned long long)out[i]);
        ZE(zeModuleDestroy(m));
    }
    CHECK(changed >= 8);
    free(w);
}

/* ---- specialization constants ----------------------------------------------------------------------------------- */

/* Catches: specializations that are ignored. */
static void constants(void)
{
    const uint32_t seven = 3, ids[] = {7, 8, 9, 10};
    const uint64_t eight = 9;
    const float nine = 2.5f;
    const uint8_t ten = 0;
    const void *values[] = {&seven, &eight, &nine, &ten};
    const ze_module_constants_t some = {4, ids, values};
    static const uint64_t want[2][5] = {{5, 1ull << 40, 6, 100, 50}, {3, 9, 10, 200, 30}};
    for (int given = 0; given < 2; given++) {
        char log[700];
        ze_module_handle_t m;
        if (!CHECKF(!build(words, nwords, given ? &some : NULL, &m, log, sizeof log), "%s", log))
            continue;
        run(m, "special", 1);
        for (int i = 0; i < 5; i++)
            CHECKF(out[i] == want[given][i], "given %d, value %d: %llu", given, i, (unsigned long long)out[i]);
        ZE(zeModuleDestroy(m));
    }
}

/* Catches: a specialization without such a constant that is ignored. */
static void unknown_constant(void)
{
    const uint32_t id = 4711, value = 1;
    const void *values[] = {&value};
    const ze_module_constants_t one = {1, &id, values};
    char log[700];
    ze_module_handle_t m;
    CHECK(build(words, nwords, &one, &m, log, sizeof log) == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    CHECKF(strstr(log, "4711") && strchr(log, '\n') == log + strlen(log) - 1, "%s", log);
}

static uint32_t made[LAST_WORD], nmade;

/* Append an instruction of n words. */
static void ins(uint32_t op, uint32_t n, ...)
{
    va_list ap;
    va_start(ap, n);
    made[nmade++] = op | n << 16;
    for (uint32_t i = 1; i < n; i++)
        made[nmade++] = va_arg(ap, uint32_t);
    va_end(ap);
}

enum { U32 = 1, U64, BOOL, POINTER, VOID, SIGNATURE, SPEC, SEVEN, PRODUCT, LESS, CHOSEN, KERNEL, PARAMETER, ENTRY, WIDE,
       IS_SPEC, BOUND };

/* A kernel "k" that stores op(SPEC, 7) <= 7 ? SPEC : op(SPEC, 7); its work-group has SPEC x 7 x 7 items. */
static void make(uint32_t op)
{
    static const uint32_t head[] = {0x07230203, 0x10000, 0, BOUND, 0};
    memcpy(made, head, sizeof head);
    nmade = 5;
    ins(17, 2, 4), ins(17, 2, 6), ins(17, 2, 11), ins(14, 3, 2, 2);
    ins(15, 4, 6, KERNEL, (uint32_t)'k');
    ins(331, 6, KERNEL, 38, SPEC, SEVEN, SEVEN);
    ins(71, 4, IS_SPEC, 1, 3); /* OpDecorate SpecId, of a group */
    ins(73, 2, IS_SPEC), ins(74, 3, IS_SPEC, SPEC);
    ins(21, 4, U32, 32, 0), ins(21, 4, U64, 64, 0), ins(20, 2, BOOL), ins(32, 4, POINTER, 5, U64), ins(19, 2, VOID);
    ins(33, 4, SIGNATURE, VOID, POINTER);
    ins(50, 4, U32, SPEC, 2), ins(43, 4, U32, SEVEN, 7);
    ins(52, 6, U32, PRODUCT, op, SPEC, SEVEN);
    ins(52, 6, BOOL, LESS, 178, PRODUCT, SEVEN);
    ins(52, 7, U32, CHOSEN, 169, LESS, SPEC, PRODUCT);
    ins(54, 5, VOID, KERNEL, 0, SIGNATURE), ins(55, 3, POINTER, PARAMETER), ins(248, 2, ENTRY);
    ins(113, 4, U64, WIDE, CHOSEN), ins(62, 3, PARAMETER, WIDE), ins(253, 1), ins(56, 1);
}

/* Catches: operations on specialization constants that use the default; decorations of a group that are lost. */
static void operations(void)
{
    const uint32_t id = 3, value = 1;
    const void *values[] = {&value};
    const ze_module_constants_t one = {1, &id, values};
    char log[700];
    ze_module_handle_t m;
    make(132); /* OpIMul */
    for (uint32_t given = 0; given < 2; given++) {
        if (!CHECKF(!build(made, nmade, given ? &one : NULL, &m, log, sizeof log), "%s", log))
            return;
        ze_kernel_properties_t p = {.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES};
        ze_kernel_handle_t k = zt_kernel(m, "k");
        ze_group_count_t groups = {1, 1, 1};
        ze_event_handle_t e = zt_event();
        ZE(zeKernelGetProperties(k, &p));
        CHECKF(p.requiredGroupSizeX == (given ? 1 : 2) && p.requiredGroupSizeY == 7 && p.requiredGroupSizeZ == 7, "%u %u %u",
               p.requiredGroupSizeX, p.requiredGroupSizeY, p.requiredGroupSizeZ);
        zt_arg(k, 0, sizeof out, &out);
        ZE(zeCommandListAppendLaunchKernel(zt_immediate(), k, &groups, e, 0, NULL));
        ZE(zeEventHostSynchronize(e, LIMIT_NS));
        CHECKF(out[0] == (given ? 1 : 14), "given %u: %llu", given, (unsigned long long)out[0]);
        ZE(zeKernelDestroy(k));
        ZE(zeModuleDestroy(m));
    }
    make(140); /* OpFRem */
    CHECK(build(made, nmade, NULL, &m, log, sizeof log) == ZE_RESULT_ERROR_MODULE_BUILD_FAILURE);
    CHECKF(strstr(log, "OpFRem"), "%s", log);
}

/* ---- imports ---------------------------------------------------------------------------------------------------- */

/* Catches: a missing function that fails kernels that do not call it, or that a kernel can call. */
static void imports(void)
{
    char log[700];
    ze_module_handle_t m;
    if (!CHECKF(!build(words, nwords, NULL, &m, log, sizeof log), "%s", log))
        return;
    static const char *const kernel[] = {"calls_outside", "reads_elsewhere"};
    for (int i = 0; i < 2; i++) {
        ze_kernel_desc_t desc = {.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC, .pKernelName = kernel[i]};
        ze_kernel_handle_t k;
        ze_result_t r = zeKernelCreate(m, &desc, &k);
        CHECKF(r == ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED, "%s: %x", kernel[i], (unsigned)r);
    }
    ze_module_build_log_handle_t l;
    size_t room = sizeof log, size;
    void *p;
    CHECK(zeModuleDynamicLink(1, &m, &l) == ZE_RESULT_ERROR_MODULE_LINK_FAILURE);
    ZE(zeModuleBuildLogGetString(l, &room, log));
    ZE(zeModuleBuildLogDestroy(l));
    CHECKF(strstr(log, "calls_outside") && strstr(log, "needs outside"), "%s", log);
    CHECK(zeModuleGetGlobalPointer(m, "elsewhere", &size, &p) == ZE_RESULT_ERROR_INVALID_GLOBAL_NAME);
    ZE(zeModuleDestroy(m));
}

int main(void)
{
    zt_up();
    size_t bytes;
    words = (uint32_t *)zt_spirv("modules", &bytes);
    nwords = (uint32_t)(bytes / 4);
    out = zt_host(ITEMS * 8);
    RUN(storage_classes, "built-in variables in the storage classes Input and UniformConstant");
    RUN(constants, "specialization constants have the given or the default value");
    RUN(unknown_constant, "a value for a specialization constant that the module does not have");
    RUN(operations, "operations on specialization constants, work-group sizes, groups of decorations");
    RUN(imports, "an import without a body fails the kernels that need it");
    return tap_end();
}
