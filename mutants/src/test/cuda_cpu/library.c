/* library.c - runs the kernels of library.cu, of the image that the first argument names, and compares with libm. */
#include <math.h>

#include "ct.h"
#include "library.h"

enum { ITEMS = 128, GROUPS = 8, N = ITEMS * GROUPS };

static CUmodule module;

/* A number from a range where the functions differ from 0 and infinity. */
static double number(unsigned i)
{
    uint64_t r = ct_random();
    double v = (double)(int64_t)r * 0x1p-63;
    return i % 4 == 0 ? v : i % 4 == 1 ? v * 40 : i % 4 == 2 ? v * 0x1p-20 : i % 32 == 3 ? (double)(int)(v * 9) : v * 5000;
}

static double distance(double got, double want, int is_float)
{
    if ((got != got && want != want) || got == want)
        return 0;
    double one = is_float ? (double)(nextafterf(fabsf((float)want), INFINITY) - fabsf((float)want)) : nextafter(fabs(want), INFINITY) - fabs(want);
    double d = fabs(got - want) / one;
    return d != d ? INFINITY : d;
}

#define COMPARE(T, kernel, LIST, call, is_float)                                                                      \
    static void kernel(void)                                                                                          \
    {                                                                                                                 \
        T *a = ct_memory(N * sizeof *a), *b = ct_memory(N * sizeof *b), *out = ct_memory(N * FUNCTIONS * sizeof *out); \
        for (unsigned i = 0; i < N; i++) {                                                                            \
            a[i] = (T)number(i);                                                                                      \
            b[i] = (T)number(i / 4);                                                                                  \
        }                                                                                                             \
        CHECK(!ct_run(module, #kernel, GROUPS, ITEMS, 0, (void *[]){&out, &a, &b}));                                  \
        for (unsigned i = 0; i < N; i++) {                                                                            \
            const T *at = out + i * FUNCTIONS;                                                                        \
            T x = a[i], y = b[i];                                                                                     \
            (void)y;                                                                                                  \
            LIST(call)                                                                                                \
        }                                                                                                             \
    }
#define CHECK_AT(text, ulp, want, is_float)                                                                           \
    {                                                                                                                 \
        double w = (double)(want), d = distance((double)*at, w, is_float);                                            \
        CHECKF(d <= (ulp), "%s of %.17g, %.17g: %.17g, expected %.17g: %g ulp", text, (double)x, (double)y, (double)*at, w, d); \
        at++;                                                                                                         \
    }
#define D1(name, ulp) CHECK_AT(#name, ulp, name(x), 0)
#define F1(name, ulp) CHECK_AT(#name "f", ulp, (float)name((double)x), 1)
#define D2(name, ulp) CHECK_AT(#name, ulp, name(x, y), 0)
#define F2(name, ulp) CHECK_AT(#name "f", ulp, name##f(x, y), 1)
COMPARE(double, d1, ONE, D1, 0)
COMPARE(float, f1, ONE, F1, 1)
COMPARE(double, d2, TWO, D2, 0)
COMPARE(float, f2, TWO, F2, 1)

int main(int argc, char **argv)
{
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : NULL;
    char *image = calloc(1, 1 << 24);
    if (!f || !image || !fread(image, 1, (1 << 24) - 1, f)) {
        printf("Bail out! no image\n");
        return 1;
    }
    fclose(f);
    ct_up();
    CUresult r = ct_build(&module, image);
    if (r) {
        printf("not ok 1 - the module builds: %s\n1..1\n", ct_log);
        return 0;
    }
    RUN(d1, "functions of double");
    RUN(f1, "functions of float");
    RUN(d2, "functions of two doubles");
    RUN(f2, "functions of two floats");
    free(image);
    return tap_end();
}
