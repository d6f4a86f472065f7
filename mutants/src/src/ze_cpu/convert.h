/* convert.h - conversions between number types, and classification, one component each. */
#ifndef ZC_CONVERT_H
#define ZC_CONVERT_H

#include <stdbool.h>
#include <stdint.h>

enum zc_number { NUMBER_UNSIGNED, NUMBER_SIGNED, NUMBER_FLOAT };

/* Rounding of a conversion: the FP rounding mode of SPIR-V plus one; 0: the default. */
enum { ZC_ROUND_RTE = 1, ZC_ROUND_RTZ, ZC_ROUND_RTP, ZC_ROUND_RTN };

/* One component: *d = f(*s). */
typedef void (*zc_converter)(void *d, const void *s);
/* NULL if there is no such conversion. Widths in bytes. */
zc_converter zc_math_converter(enum zc_number from, unsigned from_width, enum zc_number to, unsigned to_width,
                               bool saturates);
const void *zc_math_classify(uint32_t op, unsigned width); /* a zc_converter to bool */

uint16_t zc_half_from(double v, int how);
double zc_half_to(uint16_t h);
/* n components between half precision in memory, of any alignment, and float or double (width 4 or 8) in a frame. */
void zc_half_load(void *to, unsigned width, const void *from, unsigned n);
void zc_half_store(void *to, const void *from, unsigned width, unsigned n, int how);

#endif
