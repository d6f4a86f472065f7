/* jit.h - the error log that options of a build name; without one, a line on stderr. */
#ifndef CC_JIT_H
#define CC_JIT_H

#include "cuda_cpu/entries.h"

struct cc_jit_log {
    char *at; /* NULL: stderr */
    size_t room;
    void **filled; /* the option that gets the length of the log, or NULL */
};

void cc_jit_log(struct cc_jit_log *log, unsigned n, const CUjit_option *option, void **value);
void cc_jit_say(struct cc_jit_log *log, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Say the first line of what a build has logged, which is freed; NULL: there was no memory. */
void cc_jit_refuse(struct cc_jit_log *log, char *why);

#endif
