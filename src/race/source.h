/*
 * source.h - function, file and line of a place, by addr2line of the binutils; without it module and offset.
 */
#ifndef RACE_SOURCE_H
#define RACE_SOURCE_H

#include <stddef.h>
#include <stdint.h>

/* The offset is that of a return address, both texts have `bytes`. */
void race_source_of(const char *module, uint64_t offset, char *function, char *source, size_t bytes);

#endif
