/* link.c - the linker's calls. PTX is put together as text, which a module of it compiles: the result is PTX as well. Other kinds of input
 * are refused. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cuda_cpu/entries.h"

enum { TYPE_PTX = 1 };

struct CUlinkState_st {
    char *text; /* ends with a zero byte */
    size_t bytes;
};

CUresult cuLinkCreate(unsigned n, CUjit_option *option, void **value, CUlinkState *state)
{
    (void)n, (void)option, (void)value;
    CUresult r = cc_check_context();
    if (!r && !(*state = calloc(1, sizeof **state)))
        r = CUDA_ERROR_OUT_OF_MEMORY;
    return r;
}

/* Declarations come before the definition: a module with an undefined function is to be added before the library that has it. */
CUresult cuLinkAddData(CUlinkState s, int type, void *data, size_t bytes, const char *name, unsigned n, CUjit_option *option, void **value)
{
    (void)name, (void)n, (void)option, (void)value;
    if (type != TYPE_PTX)
        return CUDA_ERROR_NOT_SUPPORTED;
    bytes = strnlen(data, bytes);
    char *text = realloc(s->text, s->bytes + bytes + 2);
    if (!text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(text + s->bytes, data, bytes);
    memcpy(text + s->bytes + bytes, "\n", 2);
    s->text = text;
    s->bytes += bytes + 1;
    return CUDA_SUCCESS;
}

CUresult cuLinkAddFile(CUlinkState s, int type, const char *path, unsigned n, CUjit_option *option, void **value)
{
    struct stat st;
    FILE *file = fopen(path, "rbe");
    char *data = file && !fstat(fileno(file), &st) ? malloc((size_t)st.st_size + 1) : NULL;
    CUresult r = CC_ERROR_FILE_NOT_FOUND;
    if (data && fread(data, 1, (size_t)st.st_size, file) == (size_t)st.st_size)
        r = cuLinkAddData(s, type, data, (size_t)st.st_size, path, n, option, value);
    free(data);
    if (file)
        fclose(file);
    return r;
}

CUresult cuLinkComplete(CUlinkState s, void **image, size_t *bytes)
{
    *image = s->text;
    *bytes = s->bytes + 1; /* with the zero byte */
    return s->text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuLinkDestroy(CUlinkState s)
{
    free(s->text);
    free(s);
    return CUDA_SUCCESS;
}
