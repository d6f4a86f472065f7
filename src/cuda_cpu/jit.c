/* jit.c - the error log of a build. */
#include "cuda_cpu/jit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cc_jit_log(struct cc_jit_log *log, unsigned n, const CUjit_option *option, void **value)
{
    *log = (struct cc_jit_log){0};
    for (unsigned k = 0; k < n; k++) {
        if (option[k] == CU_JIT_ERROR_LOG_BUFFER)
            log->at = value[k];
        if (option[k] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) {
            log->room = (size_t)(uintptr_t)value[k];
            log->filled = &value[k];
        }
    }
    if (!log->room)
        log->at = NULL;
    if (log->at)
        log->at[0] = 0;
}

void cc_jit_say(struct cc_jit_log *log, const char *fmt, ...)
{
    char text[700] = "cuda_cpu: ";
    size_t head = strlen(text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + head, sizeof text - head, fmt, ap);
    va_end(ap);
    if (!log->at) {
        fprintf(stderr, "%s\n", text);
        return;
    }
    snprintf(log->at, log->room, "%s", text);
    if (log->filled)
        *log->filled = (void *)(uintptr_t)(strlen(log->at) + 1);
}

void cc_jit_refuse(struct cc_jit_log *log, char *why)
{
    cc_jit_say(log, "%.*s", why ? (int)strcspn(why, "\n") : 13, why ? why : "out of memory");
    free(why);
}
