/*
 * bench.h - code that every benchmark shares: the clock, batches, medians, and one JSON line per result.
 *
 * It contains no routine under test. The programs use OpenSHMEM 1.4 only (unless their first comment says otherwise)
 * and are one source file each, so that any OpenSHMEM's oshcc compiles them.
 *
 * A case is a loop of calls. Cases that are passed together are timed alternately, batch by batch, so that a
 * disturbance of the machine affects all of them equally.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <shmem.h>

enum { BENCH_BATCHES = 31, BENCH_LOCAL_US = 300, BENCH_JOINT_US = 1000, BENCH_TRIES = 3, BENCH_LONG_BYTES = 4 << 20 };

static const long bench_calls_max = 4000000;

enum bench_unit { BENCH_US, BENCH_MILLION_PER_S, BENCH_GB_PER_S };

struct bench_case {
    const char *bench; /* row name */
    const char *place; /* location of the remote word: "heap", "static", or "-" */
    const char *limit; /* name of the bare row that bounds this one, or NULL */
    enum bench_unit unit;
    size_t bytes;                        /* of one call; 0 if it has no bytes */
    double ops_per_call;                 /* operations in one call of the loop's body; 0 means 1 */
    void (*loop)(void *arg, long calls); /* the timed work: calls times the operation */
    void *arg;
    long calls;                          /* set by calibration: calls in a batch */
    double us[BENCH_BATCHES];            /* set by timing: time of one operation, per batch */
};

/* Keep the compiler from merging or hoisting the plain accesses of a bare loop. */
#define BENCH_BARRIER() __asm__ __volatile__("" ::: "memory")

static long bench_agreed; /* written by PE 0 on every PE, before a barrier */

static inline double bench_now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Collective: return PE 0's value on every PE. */
static inline long bench_agree(long value)
{
    shmem_barrier_all();
    if (shmem_my_pe() == 0) {
        for (int pe = 0; pe < shmem_n_pes(); pe++)
            shmem_long_p(&bench_agreed, value, pe);
    }
    shmem_barrier_all();
    return bench_agreed;
}

static inline int bench_compare_double(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static inline double bench_value(const struct bench_case *c, double us)
{
    switch (c->unit) {
    case BENCH_MILLION_PER_S:
        return 1.0 / us;
    case BENCH_GB_PER_S:
        return (double)c->bytes / us * 1e-3;
    default:
        return us;
    }
}

/* Print the case's line. Call on the PE that timed it. */
static inline void bench_print(const struct bench_case *c)
{
    static const char *const unit_name[] = {"us", "M/s", "GB/s"};
    double value[BENCH_BATCHES];

    for (int i = 0; i < BENCH_BATCHES; i++)
        value[i] = bench_value(c, c->us[i]);
    qsort(value, BENCH_BATCHES, sizeof *value, bench_compare_double);
    printf("{\"bench\":\"%s\",\"place\":\"%s\",\"bytes\":%zu,\"pes\":%d,\"unit\":\"%s\",\"median\":%.6g,"
           "\"min\":%.6g,\"max\":%.6g,\"n\":%d,\"calls\":%ld",
           c->bench, c->place, c->bytes, shmem_n_pes(), unit_name[c->unit], value[BENCH_BATCHES / 2], value[0],
           value[BENCH_BATCHES - 1], BENCH_BATCHES, c->calls);
    if (c->limit)
        printf(",\"limit\":\"%s\"", c->limit);
    printf("}\n");
    fflush(stdout);
}

/* Run one batch; return the time of one call of the loop's body. */
static inline double bench_call_us(const struct bench_case *c, long calls)
{
    double start = bench_now_us();

    c->loop(c->arg, calls);
    return (bench_now_us() - start) / (double)calls;
}

static inline double bench_op_us(const struct bench_case *c)
{
    return bench_call_us(c, c->calls) / (c->ops_per_call > 0 ? c->ops_per_call : 1);
}

/* Return the number of calls that take target_us. */
static inline long bench_fill(double call_us, double target_us)
{
    double calls = call_us > 0 ? target_us / call_us : (double)bench_calls_max;

    return calls < 1 ? 1 : calls > (double)bench_calls_max ? bench_calls_max : (long)calls;
}

/* Return the number of calls for a local batch. The faster of two tries counts, so that a single pause has no
 * effect. */
static inline long bench_calibrate(const struct bench_case *c)
{
    double call_us = 0;

    c->loop(c->arg, c->bytes > BENCH_LONG_BYTES ? 1 : 16);
    for (long calls = 1; calls < bench_calls_max && calls * call_us * 4 < BENCH_LOCAL_US; calls *= 4) {
        double first_us = bench_call_us(c, calls), second_us = bench_call_us(c, calls);

        call_us = first_us < second_us ? first_us : second_us;
    }
    return bench_fill(call_us, BENCH_LOCAL_US);
}

/* Time the cases on the calling PE alone and print them. The other PEs should wait in a barrier. */
static inline void bench_local(struct bench_case *cases, int n)
{
    for (struct bench_case *c = cases; c < cases + n; c++)
        c->calls = bench_calibrate(c);
    for (int batch = 0; batch < BENCH_BATCHES; batch++) {
        for (struct bench_case *c = cases; c < cases + n; c++) {
            c->loop(c->arg, 1); /* untimed: loads its data into the caches again */
            c->us[batch] = bench_op_us(c);
        }
    }
    for (struct bench_case *c = cases; c < cases + n; c++)
        bench_print(c);
}

/* As bench_calibrate, for a loop that all PEs run with the same number of calls: PE 0's. Tries until the number has settled: the first calls
 * may touch memory that the library uses for the first time, which is many times as slow. */
static inline long bench_calibrate_joint(const struct bench_case *c)
{
    long least = c->bytes > BENCH_LONG_BYTES ? 1 : 8, calls = 4 * least;

    shmem_barrier_all();
    c->loop(c->arg, least);
    for (int i = 0; i < BENCH_TRIES; i++) {
        shmem_barrier_all();
        double first_us = bench_call_us(c, calls), second_us = bench_call_us(c, calls);
        long fill = bench_fill(first_us < second_us ? first_us : second_us, BENCH_JOINT_US);

        calls = bench_agree(fill < least ? least : fill);
    }
    return calls;
}

/* Collective: every PE runs every loop with the same number of calls; prints PE 0's times. */
static inline void bench_joint(struct bench_case *cases, int n)
{
    for (struct bench_case *c = cases; c < cases + n; c++)
        c->calls = bench_calibrate_joint(c);
    for (int batch = 0; batch < BENCH_BATCHES; batch++) {
        for (struct bench_case *c = cases; c < cases + n; c++) {
            shmem_barrier_all();
            c->us[batch] = bench_op_us(c);
        }
    }
    shmem_barrier_all();
    for (struct bench_case *c = cases; shmem_my_pe() == 0 && c < cases + n; c++)
        bench_print(c);
}

/* Initialize, and refuse fewer PEs than the measurement needs. */
static inline void bench_init(const char *name, int pes_min)
{
    shmem_init();
    if (shmem_n_pes() < pes_min) {
        fprintf(stderr, "%s: needs at least %d PEs, has %d\n", name, pes_min, shmem_n_pes());
        shmem_global_exit(2);
    }
}

/* Allocate symmetric, page-aligned memory and touch it on the calling PE. Collective; ends the job if the heap is too
 * small. */
static inline void *bench_symmetric(size_t bytes)
{
    void *p = shmem_align(4096, bytes);

    if (!p) {
        fprintf(stderr, "bench: no %zu bytes in the symmetric heap\n", bytes);
        shmem_global_exit(2);
    }
    memset(p, 1, bytes);
    return p;
}

/* Allocate private, page-aligned memory and touch it. */
static inline void *bench_private(size_t bytes)
{
    void *p = NULL;

    if (posix_memalign(&p, 4096, bytes)) {
        fprintf(stderr, "bench: no %zu bytes of memory\n", bytes);
        shmem_global_exit(2);
    }
    memset(p, 2, bytes);
    return p;
}

#endif
