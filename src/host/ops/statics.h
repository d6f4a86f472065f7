/* statics.h - the executable's static data as symmetric memory. */
#ifndef SHI_STATICS_H
#define SHI_STATICS_H

#include <stddef.h>
#include <stdint.h>

struct shi_statics {
    uintptr_t lo;       /* first writable page after RELRO */
    size_t bytes;       /* up to the page-rounded _end */
    size_t file_bytes;  /* of that, initialised data; the rest is .bss */
    uint64_t exe_id;    /* the build-id where there is one, mixed with the layout */
};

/* Find the executable's writable data. Works for PIE and non-PIE, before any remapping. */
const struct shi_statics *shi_statics_find(void);

/* Put it onto fd at off, content kept, address kept. No other thread may write static data meanwhile.
 * 0, or -errno after one logged line. From then on a forked child gets a private copy. */
int shi_statics_remap(int fd, uint64_t off);

#endif
