/*
 * launched.h - names of the kernels that may still run, for reports of waits and for warnings.
 */
#ifndef SHI_LAUNCHED_H
#define SHI_LAUNCHED_H

#include <stdint.h>

/* A kernel was launched. Any thread. */
void shi_launched_add(const char *kernel);

/* How many were launched so far; the first `count` have ended. Any thread. */
uint64_t shi_launched_count(void);
void shi_launched_ended(uint64_t count);

/* "kernel a", "one of the kernels a, b and 2 more", or "a kernel" when none is known. Async-signal-safe: the string stays
 * mapped; a launch at the same time may garble it. */
const char *shi_launched_words(void);

#endif
