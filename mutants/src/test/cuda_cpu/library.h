/* library.h - functions of the math library: name, error in units of the last place that NVIDIA's manual and libm allow together. */
#define ONE(X)                                                                                                        \
    X(sin, 4) X(cos, 4) X(tan, 6) X(asin, 4) X(acos, 4) X(atan, 4) X(sinh, 6) X(cosh, 4) X(tanh, 4) X(asinh, 6)       \
    X(acosh, 8) X(atanh, 6) X(exp, 4) X(exp2, 4) X(expm1, 4) X(log, 4) X(log2, 4) X(log10, 4) X(log1p, 4) X(sqrt, 1)  \
    X(cbrt, 4) X(erf, 4) X(erfc, 8) X(tgamma, 14) X(lgamma, 40) X(ceil, 0) X(floor, 0) X(trunc, 0) X(round, 0)        \
    X(rint, 0) X(fabs, 0) X(logb, 0)
#define TWO(X)                                                                                                        \
    X(pow, 10) X(atan2, 6) X(fmod, 0) X(hypot, 4) X(fmin, 0) X(fmax, 0) X(fdim, 0) X(copysign, 0) X(remainder, 0)     \
    X(nextafter, 0)
enum { FUNCTIONS = 40 };
