/* text.h - the text of a random program: emit() writes it, below() chooses what comes next. */
#ifndef TEXT_H
#define TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "../tap.h"

static FILE *text_file;
static unsigned text_random; /* state of the generator */

/* Start the program of this seed in a new file; path is a template of mkstemp. text_end() before the file is read. */
static void text_begin(char *path, unsigned seed)
{
    text_file = fdopen(mkstemp(path), "w");
    text_random = seed * 2654435761u | 1;
}

static void text_end(void)
{
    fclose(text_file);
}

static unsigned below(unsigned n)
{
    return tap_random(&text_random) % n;
}

__attribute__((format(printf, 1, 2))) static void emit(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vfprintf(text_file, fmt, ap);
    va_end(ap);
}

#endif
