/* link.c - modules that are linked from several texts of PTX. cuLinkComplete checks that they link; a load of its image builds them. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cuda_cpu/entries.h"
#include "cuda_cpu/fatbin.h"
#include "cuda_cpu/jit.h"
#include "cuda_cpu/linked.h"

/* What programs call in the device's part of the runtime: its library has no PTX. */
static const char runtime[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
                              ".weak .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)\n"
                              "{\n.reg .b32 %r;\n.reg .b64 %rd;\nld.param.u64 %rd, [handle];\nld.param.u32 %r, [value];\nst.global.u32 [%rd], %r;\nret;\n}\n";

struct CUlinkState_st {
    struct cc_jit_log log;
    struct cc_unit *units;
    uint32_t n;
    void *image;
};

CUresult cuLinkCreate(unsigned n, CUjit_option *option, void **value, CUlinkState *out)
{
    CUresult r = cc_check_context();
    struct CUlinkState_st *s = r ? NULL : calloc(1, sizeof *s);
    if (!s)
        return r ? r : CUDA_ERROR_OUT_OF_MEMORY;
    cc_jit_log(&s->log, n, option, value);
    *out = s;
    return CUDA_SUCCESS;
}

/* Takes over the text. */
static CUresult add_text(CUlinkState s, const char *name, char *text, size_t bytes)
{
    struct cc_unit *more = realloc(s->units, (s->n + 1) * sizeof *more);
    char *own = strdup(name);
    if (more)
        s->units = more;
    if (!more || !own) {
        free(own);
        free(text);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    s->units[s->n++] = (struct cc_unit){own, text, bytes};
    return CUDA_SUCCESS;
}

static char *copy(const char *text, size_t bytes)
{
    char *own = calloc(1, bytes + 1);
    return own ? memcpy(own, text, bytes) : NULL;
}

/* The units of an image that was linked before. */
static CUresult add_linked(CUlinkState s, const void *image)
{
    uint32_t n;
    struct cc_unit *units = cc_linked_units(image, &n);
    CUresult r = units ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    for (uint32_t k = 0; !r && k < n; k++) {
        char *text = copy(units[k].text, units[k].bytes);
        r = text ? add_text(s, units[k].name, text, units[k].bytes) : CUDA_ERROR_OUT_OF_MEMORY;
    }
    free(units);
    return r;
}

CUresult cuLinkAddData(CUlinkState s, CUjitInputType type, void *data, size_t bytes, const char *name, unsigned n, CUjit_option *option,
                       void **value)
{
    static const char *const refused[] = {[CC_INPUT_OBJECT] = "an object of the host (CU_JIT_INPUT_OBJECT)",
                                          [CC_INPUT_LIBRARY] = "a library of the host (CU_JIT_INPUT_LIBRARY)"};
    const char *why = "out of memory";
    (void)n, (void)option, (void)value;
    name = name ? name : "a module without name";
    if (s->image || !data || type < 0 || type > CC_INPUT_LAST)
        return CUDA_ERROR_INVALID_VALUE;
    if (type == CC_INPUT_CUBIN && cc_is_linked(data))
        return add_linked(s, data);
    if (type > CC_INPUT_FATBINARY) {
        cc_jit_say(&s->log, "%s: %s cannot be linked on the CPU", name, type <= CC_INPUT_LIBRARY ? refused[type] : "intermediate code of LLVM");
        return CUDA_ERROR_NOT_SUPPORTED;
    }
    size_t length = type == CC_INPUT_PTX ? strnlen(data, bytes) : 0;
    char *text = type == CC_INPUT_PTX ? copy(data, length) : cc_ptx_of(data, &length, &why);
    if (text)
        return add_text(s, name, text, length);
    cc_jit_say(&s->log, "%s: it cannot be linked on the CPU: %s", name, why);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult cuLinkAddFile(CUlinkState s, CUjitInputType type, const char *path, unsigned n, CUjit_option *option, void **value)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *data = fd >= 0 && !fstat(fd, &st) ? calloc(1, (size_t)st.st_size + 1) : NULL;
    bool got = data && read(fd, data, (size_t)st.st_size) == st.st_size;
    CUresult r = got ? cuLinkAddData(s, type, data, (size_t)st.st_size, path, n, option, value) : CC_ERROR_FILE_NOT_FOUND;
    if (fd >= 0)
        close(fd);
    free(data);
    return r;
}

CUresult cuLinkComplete(CUlinkState s, void **image, size_t *bytes)
{
    char *why;
    size_t n;
    char *text = s->image ? NULL : copy(runtime, sizeof runtime - 1);
    CUresult r = s->image ? CUDA_ERROR_INVALID_VALUE : text ? add_text(s, "the runtime", text, sizeof runtime - 1) : CUDA_ERROR_OUT_OF_MEMORY;
    if (r)
        return r;
    if (!cc_image_links(s->units, s->n, &why)) {
        cc_jit_refuse(&s->log, why);
        return CC_ERROR_INVALID_PTX;
    }
    s->image = cc_linked_image(s->units, s->n, &n);
    if (!s->image)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *image = s->image;
    if (bytes)
        *bytes = n;
    return CUDA_SUCCESS;
}

CUresult cuLinkDestroy(CUlinkState s)
{
    for (uint32_t k = 0; k < s->n; k++) {
        free((char *)(uintptr_t)s->units[k].name);
        free((char *)(uintptr_t)s->units[k].text);
    }
    free(s->units);
    free(s->image);
    free(s);
    return CUDA_SUCCESS;
}
