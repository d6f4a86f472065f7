/*
 * tap.h - results of C tests as TAP; tap_pes.h adds programs of several PEs.
 *
 * RUN runs one test, which makes any number of CHECKs, and prints one line of TAP. A failed CHECK prints a line to
 * stderr.
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* 1: built with ThreadSanitizer, or with AddressSanitizer; for #if. */
#ifdef __SANITIZE_THREAD__
#define TAP_TSAN 1
#elif defined(__has_feature)
#define TAP_TSAN __has_feature(thread_sanitizer)
#else
#define TAP_TSAN 0
#endif
#ifdef __SANITIZE_ADDRESS__
#define TAP_ASAN 1
#elif defined(__has_feature)
#define TAP_ASAN __has_feature(address_sanitizer)
#else
#define TAP_ASAN 0
#endif
#define TAP_SANITIZER (TAP_TSAN || TAP_ASAN) /* they need no rare order of threads, and make each round slow */

static int tap_pe_ = -1;             /* set by tap_pes.h */
static int (*tap_combine_)(int bad); /* sum of all PEs' failures, on PE 0 */
static int tap_tests_, tap_bad_now_, tap_bad_;

/* Count a failure of the running test; the first few are described. Returns cond. */
__attribute__((format(printf, 4, 5), unused)) static int tap_check_(int cond, const char *file, int line,
                                                                    const char *fmt, ...)
{
    if (!cond && tap_bad_now_++ < 5) {
        char text[600];
        int n = snprintf(text, sizeof text, "# %s:%d: ", file, line);
        if (tap_pe_ >= 0)
            n += snprintf(text + n, sizeof text - n, "PE %d: ", tap_pe_);
        va_list ap;
        va_start(ap, fmt);
        n += vsnprintf(text + n, sizeof text - n - 1, fmt, ap);
        va_end(ap);
        fprintf(stderr, "%.*s\n", n < 598 ? n : 598, text);
    }
    return cond;
}
#define CHECK(cond) tap_check_(!!(cond), __FILE__, __LINE__, "not so: %s", #cond)
/* The same, with a description of the case instead of the expression. */
#define CHECKF(cond, ...) tap_check_(!!(cond), __FILE__, __LINE__, __VA_ARGS__)

static void tap_run_(void (*test)(void), const char *what)
{
    tap_bad_now_ = 0;
    test();
    tap_bad_ += tap_bad_now_;
    int bad = tap_combine_ ? tap_combine_(tap_bad_now_) : tap_bad_now_;
    tap_tests_++;
    if (tap_pe_ <= 0)
        printf("%sok %d - %s\n", bad ? "not " : "", tap_tests_, what);
    fflush(stdout);
}
#define RUN(test, what) tap_run_(test, #test ": " what)

/* Report a test that this run skips, and the reason. */
__attribute__((unused)) static void tap_skip(const char *what, const char *why)
{
    tap_tests_++;
    if (tap_pe_ <= 0)
        printf("ok %d - %s # SKIP %s\n", tap_tests_, what, why);
}

/* Print the plan, at the end, so that a program that ends early has none. Returns the exit status: of several PEs nonzero on
 * those that saw a failure; a single process reports by TAP only. */
static int tap_end(void)
{
    if (tap_pe_ <= 0)
        printf("1..%d\n", tap_tests_);
    fflush(stdout);
    return tap_pe_ >= 0 && tap_bad_ != 0;
}

/* A small generator, so that every run and every PE can make the same numbers. */
__attribute__((unused)) static unsigned tap_random(unsigned *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

#endif
