/* linked.h - the image of a linked module: its texts of PTX, which are linked again where it is loaded. */
#ifndef CC_LINKED_H
#define CC_LINKED_H

#include "cuda_cpu/ptx.h"

bool cc_is_linked(const void *image);
/* An image of the units, to be freed; NULL: out of memory. */
void *cc_linked_image(const struct cc_unit *units, uint32_t n, size_t *bytes);
/* The units of an image, which point into it, to be freed; NULL: out of memory. */
struct cc_unit *cc_linked_units(const void *image, uint32_t *n);

#endif
