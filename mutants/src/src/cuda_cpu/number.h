/* number.h - conversions of PTX that differ from those of OpenCL (ze_cpu's convert.c): roundings, NaN, 16-bit formats. */
#ifndef CC_NUMBER_H
#define CC_NUMBER_H

#include "ze_cpu/convert.h"

/* Each returns a conversion, or NULL if there is none. Widths in bytes; roundings CC_RN ... of real.h. */
zc_converter cc_from_half(const char *format);                                   /* f16, bf16 to float */
zc_converter cc_to_half(const char *format, unsigned from, unsigned rounding);   /* from float or double; also f16x2 */
zc_converter cc_to_real(enum zc_number kind, unsigned from, unsigned to, unsigned rounding); /* not to nearest */
zc_converter cc_real_to_integer(unsigned from, enum zc_number kind, unsigned to, bool wide); /* wide: NaN is 1 << top bit */
const void *cc_saturated(unsigned width);                                        /* to [0, 1] */

#endif
