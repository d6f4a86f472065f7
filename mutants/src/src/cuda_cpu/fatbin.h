/* fatbin.h - the PTX of a kernel image: PTX text, or a fatbin with PTX among its entries. */
#ifndef CC_FATBIN_H
#define CC_FATBIN_H

#include <stddef.h>

/* The PTX of the image, a copy to be freed that ends with a zero byte. NULL: *why has the reason, a line. */
char *cc_ptx_of(const void *image, size_t *bytes, const char **why);

#endif
