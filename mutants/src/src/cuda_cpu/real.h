/* real.h - functions of PTX on float (name_32) and double (name_64). */
#ifndef CC_REAL_H
#define CC_REAL_H

#include <stdbool.h>
#include <stdint.h>

enum { CC_ADD, CC_SUB, CC_MUL, CC_DIV, CC_FMA, CC_RCP, CC_SQRT };
enum { CC_RN, CC_RZ, CC_RM, CC_RP }; /* to nearest even, to zero, down, up */

/* One of CC_ADD ... with rounding CC_RZ, CC_RM or CC_RP: a function of one to three numbers of this width. */
const void *cc_rounded(int op, unsigned rounding, unsigned width);

#define CC_REAL_1(name) float name##_32(float a); double name##_64(double a);
#define CC_REAL_2(name) float name##_32(float a, float b); double name##_64(double a, double b);
#define CC_CLASS(name) void name##_32(void *d, const void *s); void name##_64(void *d, const void *s);
CC_REAL_1(cc_sat) CC_REAL_1(cc_rcp) CC_REAL_1(cc_rsqrt)
CC_REAL_2(cc_min) CC_REAL_2(cc_max) CC_REAL_2(cc_min_nan) CC_REAL_2(cc_max_nan) CC_REAL_2(cc_copysign)
CC_CLASS(cc_finite) CC_CLASS(cc_infinite) CC_CLASS(cc_number) CC_CLASS(cc_nan) CC_CLASS(cc_normal) CC_CLASS(cc_subnormal)
float cc_sin(float a);
float cc_cos(float a);

#endif
