/*
 * link.c - the linker of the driver on the CPU: PTX modules that name each other's functions and variables.
 *
 * Catches: a name that is taken from the wrong module; local names of two modules that become one; an error without the name.
 */
#include <fcntl.h>
#include <stdbool.h>

#include "ct.h"
#include "cuda_cpu/library_calls.h"
#include "cuda_cpu/link_calls.h"

#define X(call, params) static CUresult(*call) params;
CC_LINK_CALLS(X) CC_LIBRARY_CALLS(X)
#undef X

static uint32_t *out;
static void *image;
static size_t image_bytes;

/* Kernel k writes what `body` leaves in %r0 to *out. */
#define KERNEL(name, body)                                                                                            \
    ".visible .entry " name "(.param .u64 out)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd0, [out];\n" body    \
    "\nst.global.u32 [%rd0], %r0;\nret;\n}\n"
#define CALL(f) "{ .param .b32 r; call (r), " f ", (); ld.param.b32 %r0, [r]; }"
#define EXTERN(f) ".extern .func (.param .b32 r) " f "();\n"
#define FUNCTION(linkage, f, value)                                                                                   \
    linkage " .func (.param .b32 r) " f "()\n{\n.reg .b32 %r<2>;\nmov.u32 %r0, " value ";\nst.param.b32 [r], %r0;\nret;\n}\n"

/* Link the modules, of which the last argument is NULL, and keep the image. ct_log has the reason of a failure. */
static CUresult link_all(const char *const *module)
{
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {ct_log, (void *)(sizeof ct_log)}, *made;
    CUlinkState s;
    CUresult r = CUDA_SUCCESS;
    memset(ct_log, 0, sizeof ct_log);
    CT(cuLinkCreate(2, option, value, &s));
    for (int k = 0; !r && module[k]; k++) {
        char name[] = "module a", text[4096];
        name[7] = (char)('a' + k);
        size_t n = (size_t)snprintf(text, sizeof text, CT_HEAD "%s@ not PTX", module[k]) - 9;
        r = cuLinkAddData(s, CC_INPUT_PTX, text, n, name, 0, NULL, NULL);
    }
    r = r ? r : cuLinkComplete(s, &made, &image_bytes);
    if (!r) {
        image = realloc(image, image_bytes);
        memcpy(image, made, image_bytes); /* it is not valid after cuLinkDestroy */
    } else {
        CHECKF((size_t)value[1] == strlen(ct_log) + 1, "%zu bytes in the log: %s", (size_t)value[1], ct_log);
    }
    CT(cuLinkDestroy(s));
    return r;
}
#define LINK(...) link_all((const char *const[]){__VA_ARGS__, NULL})

static uint32_t run(CUmodule m, const char *kernel)
{
    *out = UINT32_MAX;
    CHECKF(!ct_run(m, kernel, 1, 1, 0, (void *[]){&out}), "%s", kernel);
    return *out;
}

static CUmodule load(CUresult linked)
{
    CUmodule m = NULL;
    CHECKF(!linked, "%d: %s", linked, ct_log);
    CHECK(linked || !ct_build(&m, image));
    return m;
}

/* Link, run kernel k, and compare. */
static void gives(CUresult linked, uint32_t want)
{
    CUmodule m = load(linked);
    if (!m)
        return;
    uint32_t got = run(m, "k");
    CHECKF(got == want, "%u, expected %u", got, want);
    CHECK(!cuModuleUnload(m));
}

static void functions(void)
{
    gives(LINK(EXTERN("f") KERNEL("k", CALL("f")), FUNCTION(".visible", "f", "7")), 7);
    gives(LINK(FUNCTION(".visible", "f", "7"), EXTERN("f") KERNEL("k", CALL("f"))), 7);
    /* The local f of the other module is another function. */
    gives(LINK(FUNCTION("", "f", "1") KERNEL("k", CALL("f")), FUNCTION("", "f", "2") KERNEL("k2", CALL("f"))), 1);
    gives(LINK(FUNCTION("", "f", "1") KERNEL("k2", CALL("f")), FUNCTION("", "f", "2") KERNEL("k", CALL("f"))), 2);
    gives(LINK(FUNCTION("", "f", "1") KERNEL("k", CALL("f")), FUNCTION(".visible", "f", "2")), 1);
    gives(LINK(EXTERN("f") KERNEL("k", CALL("f")) FUNCTION(".visible", "f", "5") EXTERN("f")), 5);
    /* Names that nothing uses need no definition. */
    gives(LINK(EXTERN("g") ".extern .global .u32 v;\n" KERNEL("k", "mov.u32 %r0, 9;") ".func h()\n{\ncall g, ();\nret;\n}\n"), 9);
}

static void weak(void)
{
    gives(LINK(FUNCTION(".weak", "f", "1") KERNEL("k", CALL("f")), FUNCTION(".weak", "f", "2")), 1);
    gives(LINK(FUNCTION(".weak", "f", "1") KERNEL("k", CALL("f")), FUNCTION(".visible", "f", "2")), 2);
    gives(LINK(FUNCTION(".visible", "f", "2"), FUNCTION(".weak", "f", "1") KERNEL("k", CALL("f"))), 2);
    gives(LINK(".weak .global .u32 v = 4;\n" KERNEL("k", "ld.global.u32 %r0, [v];"), ".visible .global .u32 v = 6;\n"), 6);
    /* A template that both modules have: one kernel of the name. */
    gives(LINK(".weak" " .entry t(.param .u64 out)\n{\nret;\n}\n" KERNEL("k", "mov.u32 %r0, 8;"), ".weak .entry t(.param .u64 out)\n{\nret;\n}\n"), 8);
    CUmodule m = NULL;
    unsigned n = 0;
    CHECK(!ct_build(&m, image) && !cuModuleGetFunctionCount(&n, m));
    CHECKF(n == 2, "%u kernels", n);
    CHECK(!cuModuleUnload(m));
}

static void variables(void)
{
    gives(LINK(".extern .global .align 4 .u32 v;\n" KERNEL("k", "ld.global.u32 %r0, [v];"), ".visible .global .align 4 .u32 v = 11;\n"), 11);
    gives(LINK(".extern .const .align 4 .b8 c[];\n" KERNEL("k", "ld.const.u32 %r0, [c+4];"), ".visible .const .align 4 .u32 c[2] = {1, 12};\n"), 12);
    gives(LINK(".global .u32 v = 1;\n" KERNEL("k2", "ld.global.u32 %r0, [v];"), ".global .u32 v = 2;\n" KERNEL("k", "ld.global.u32 %r0, [v];")), 2);
    /* An initializer with the address of another module's variable. */
    gives(LINK(".extern .global .align 4 .b8 v[8];\n.global .align 8 .u64 p[1] = {generic(v)+4};\n" KERNEL("k", "ld.global.u64 %rd1, [p]; ld.u32 %r0, [%rd1];"),
               ".visible .global .align 4 .u32 v[2] = {20, 21};\n"), 21);
    /* Common variables of one name are one, as large as the largest. */
    gives(LINK(".common .global .align 4 .u32 v;\n" KERNEL("k", "mov.u32 %r1, 5; st.global.u32 [v], %r1;" CALL("f")) EXTERN("f"),
               ".common .global .align 4 .b8 v[64];\n.visible .func (.param .b32 r) f()\n{\n.reg .b32 %r<2>;\nld.global.u32 %r0, [v];\n"
               "st.param.b32 [r], %r0;\nret;\n}\n"), 5);
    CUmodule m = load(CUDA_SUCCESS);
    CUdeviceptr at;
    size_t bytes = 0;
    CHECK(!cuModuleGetGlobal(&at, &bytes, m, "v"));
    CHECKF(bytes == 64, "%zu bytes", bytes);
    CHECK(!cuModuleUnload(m));
}

/* Each load has variables of its own; the image can be linked with others. */
static void images(void)
{
    const char *const a = EXTERN("f") ".visible .global .u32 v = 0;\n"
        KERNEL("k", "ld.global.u32 %r0, [v]; add.u32 %r0, %r0, 1; st.global.u32 [v], %r0;") KERNEL("k2", CALL("f"));
    CUmodule x = load(LINK(a, FUNCTION(".visible", "f", "31"))), y = load(CUDA_SUCCESS), z = NULL;
    CHECK(run(x, "k") == 1 && run(x, "k") == 2 && run(y, "k") == 1);
    CUlinkState s;
    void *made;
    CT(cuLinkCreate(0, NULL, NULL, &s));
    CHECK(!cuLinkAddData(s, CC_INPUT_CUBIN, image, image_bytes, "linked", 0, NULL, NULL));
    CHECK(!cuLinkAddData(s, CC_INPUT_PTX, (void *)(uintptr_t)CT_HEAD KERNEL("k3", "mov.u32 %r0, 1;"), SIZE_MAX, NULL, 0, NULL, NULL));
    CHECK(!cuLinkComplete(s, &made, NULL));
    CHECK(cuLinkComplete(s, &made, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuLinkAddData(s, CC_INPUT_PTX, made, 8, "late", 0, NULL, NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK(!ct_build(&z, made));
    CHECK(run(z, "k2") == 31 && run(z, "k3") == 1 && run(z, "k") == 1);
    CT(cuLinkDestroy(s));
    CHECK(!cuModuleUnload(x) && !cuModuleUnload(y) && !cuModuleUnload(z));
}

/* Catches: a library that reads its image after the load; a module, a variable or a kernel of another library or device. */
static void libraries(void)
{
    static const char first[] = CT_HEAD ".visible .global .u32 v = 40;\n" KERNEL("k", "ld.global.u32 %r0, [v];");
    char text[sizeof first];
    CUlibrary a, b, c;
    CUkernel kernel;
    CUfunction of_kernel, of_module;
    CUmodule ma, mb;
    CUdeviceptr at;
    size_t bytes = 0;
    uint32_t value = 41;
    memcpy(text, first, sizeof text);
    CT(cuLibraryLoadData(&a, text, NULL, NULL, 0, NULL, NULL, 0));
    memset(text, 0, sizeof text);
    CHECK(!LINK(".extern .global .u32 v;\n" KERNEL("k", "ld.global.u32 %r0, [v];"), ".visible .global .u32 v = 50;\n"));
    CT(cuLibraryLoadData(&b, image, NULL, NULL, 0, NULL, NULL, 0));
    CT(cuLibraryGetModule(&ma, a));
    CT(cuLibraryGetModule(&mb, b));
    CHECK(run(ma, "k") == 40 && run(mb, "k") == 50);
    CHECK(!cuLibraryGetGlobal(&at, &bytes, a, "v") && bytes == sizeof value);
    memcpy((void *)(uintptr_t)at, &value, sizeof value);
    CHECK(run(ma, "k") == 41 && run(mb, "k") == 50);
    CHECK(!cuLibraryGetKernel(&kernel, a, "k") && !cuKernelGetFunction(&of_kernel, kernel));
    CHECK(!cuModuleGetFunction(&of_module, ma, "k") && of_kernel == of_module);
    CHECK(cuLibraryGetKernel(&kernel, a, "other") == CUDA_ERROR_NOT_FOUND);
    CHECK(cuLibraryLoadData(&c, "no image", NULL, NULL, 0, NULL, NULL, 0) != CUDA_SUCCESS || cuLibraryGetModule(&ma, c) != CUDA_SUCCESS);
    CHECK(!cuLibraryUnload(a) && run(mb, "k") == 50 && !cuLibraryUnload(b));
}

static void files(void)
{
    char path[] = "/tmp/fulmar-link-XXXXXX";
    static const char text[] = CT_HEAD KERNEL("k", "mov.u32 %r0, 77;");
    int fd = mkstemp(path);
    CUlinkState s;
    void *made;
    CUmodule m = NULL;
    CHECK(write(fd, text, sizeof text - 1) == sizeof text - 1);
    close(fd);
    CT(cuLinkCreate(0, NULL, NULL, &s));
    CHECK(cuLinkAddFile(s, CC_INPUT_PTX, "/nowhere/at/all", 0, NULL, NULL) == 301);
    CHECK(!cuLinkAddFile(s, CC_INPUT_PTX, path, 0, NULL, NULL));
    CHECK(!cuLinkComplete(s, &made, NULL) && !ct_build(&m, made) && run(m, "k") == 77);
    CT(cuLinkDestroy(s));
    CT(cuModuleUnload(m));
    unlink(path);
}

static void refused(CUresult r, CUresult want, const char *text)
{
    CHECKF(r == want && strstr(ct_log, text), "%d, expected %d with \"%s\": %s", r, want, text, ct_log);
}

static void errors(void)
{
    enum { PTX = 218 };
    refused(LINK(FUNCTION(".visible", "f", "1"), FUNCTION(".visible", "f", "2")), PTX, "f is defined in module a and in module b");
    refused(LINK(".visible .const .u32 v;\n", "\n", ".visible .const .u32 v;\n"), PTX, "v is defined in module a and in module c");
    refused(LINK("\n", EXTERN("far") KERNEL("k", CALL("far"))), PTX, "module b: PTX line 10: call: far is not defined in any of the linked modules");
    refused(LINK("\n", ".extern .global .u32 v;\n" KERNEL("k", "ld.global.u32 %r0, [v];")), PTX, "module b: PTX line 10: v is not defined");
    refused(LINK(".extern .global .u32 v;\n.visible .global .u64 p = v;\n"), PTX, "the address of v, which is not defined");
    refused(LINK(".extern .global .b8 v[8];\n", ".visible .global .b8 v[9];\n"), PTX, "v has 9 bytes in module b and 8 in module a");
    refused(LINK(".extern .const .u32 v;\n", ".visible .global .u32 v;\n"), PTX, "or another state space");
    refused(LINK(".extern .global .u32 f;\n", FUNCTION(".visible", "f", "1")), PTX, "f is a variable in one module and a function in another");
    refused(LINK("\n", "nonsense\n"), PTX, "module b: PTX line 4");
    static const uint8_t elf[64] = {0x7f, 'E', 'L', 'F'};
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {ct_log, (void *)(sizeof ct_log)};
    CUlinkState s;
    CT(cuLinkCreate(2, option, value, &s));
    refused(cuLinkAddData(s, CC_INPUT_CUBIN, (void *)(uintptr_t)elf, sizeof elf, "x.cubin", 0, NULL, NULL), CUDA_ERROR_NO_BINARY_FOR_GPU, "x.cubin: it cannot");
    refused(cuLinkAddData(s, CC_INPUT_LIBRARY, (void *)(uintptr_t)elf, sizeof elf, "x.a", 0, NULL, NULL), CUDA_ERROR_NOT_SUPPORTED, "x.a: a library of the host");
    CT(cuLinkDestroy(s));
}

int main(void)
{
    void *at;
    ct_up();
#define X(call, params)                                                                                               \
    CT(ct_get(#call, &at, CU_API_VERSION, 0, NULL));                                                                  \
    call = (__typeof__(call))at;
    CC_LINK_CALLS(X) CC_LIBRARY_CALLS(X)
#undef X
    out = ct_memory(sizeof *out);
    RUN(functions, "functions of other modules, and local ones");
    RUN(weak, "weak functions, variables and kernels");
    RUN(variables, "variables of other modules, with initializers, and common ones");
    RUN(images, "images of linked modules are loaded and linked again");
    RUN(libraries, "libraries: their modules, variables and kernels");
    RUN(files, "files");
    RUN(errors, "what does not link is named");
    free(image);
    return tap_end();
}
