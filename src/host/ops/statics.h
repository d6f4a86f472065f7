/*
 * statics.h - the executable's static data as symmetric memory: variables, and constants, which can only be read.
 *
 * Constants are of two kinds. Those without addresses (.rodata) are the same bytes in every process of a program. Those that
 * hold addresses (.data.rel.ro, made read-only after relocation: RELRO) differ where the processes' mappings do.
 */
#ifndef SHI_STATICS_H
#define SHI_STATICS_H

#include <stddef.h>
#include <stdint.h>

struct shi_statics {
    uintptr_t lo;       /* first writable page after RELRO */
    size_t bytes;       /* up to the page-rounded _end, with gaps between the segments */
    size_t relro_bytes; /* RELRO, and a gap behind it if there is one: the bytes before lo */
    uint64_t exe_id;    /* the build-id, or without one a hash of the constants, mixed with the layout */
};

/* Find the executable's static data. Works for PIE and non-PIE, before any remapping. */
const struct shi_statics *shi_statics_find(void);

/* Put a copy of RELRO onto fd at off, and the variables behind it, content kept, address kept. No other thread may write
 * static data meanwhile. 0, or -errno after one logged line. From then on a forked child gets a private copy. */
int shi_statics_remap(int fd, uint64_t off);

/* The process leaves the job: the variables are in memory of its own again, content and address kept; shi_statics_remap may follow. No other thread
 * may write static data meanwhile. 0, or -ENOMEM after one line. */
int shi_statics_leave(void);

/* Is it constant data without addresses: the same at the same address of the layout in every process of this program? */
int shi_statics_same(const void *addr, size_t bytes);

#endif
