/*
 * generic.c - which function each C11 generic form calls, for every type of the table.
 *
 * The library is not linked: this program defines every routine itself, and each records its call. The calls are in
 * generic_calls.h, which make preprocesses from generic_calls.c.
 */
#define SHMEM_NO_GENERICS
#include <shmem.h>
#include "../tap.h"

/* Width and kind of a type. The compiler tells the rest apart: long and long long, signed and unsigned. */
#define ID(T) ((int)sizeof(T) * 16 + __builtin_classify_type((T){0}))
#pragma GCC diagnostic error "-Wincompatible-pointer-types"
#pragma GCC diagnostic error "-Wpointer-sign"

static struct {
    const char *routine;
    int ctx, type;
} called;

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define STUB(R, NAME, PARAMS, ROUTINE, CTX, TYPE)                                                                    \
    R NAME PARAMS                                                                                                    \
    {                                                                                                                \
        called.routine = ROUTINE;                                                                                    \
        called.ctx = CTX;                                                                                            \
        called.type = TYPE;                                                                                          \
        return (R)0;                                                                                                 \
    }
#define STUB_P(R, NAME, N, T, PARAMS) STUB(R, shmem_##N##NAME, PARAMS, #NAME, 0, ID(T))
#define STUB_C(R, NAME, N, T, PARAMS)                                                                                \
    STUB_P(R, NAME, N, T, PARAMS)                                                                                    \
    STUB(R, shmem_ctx_##N##NAME, (shmem_ctx_t ctx, SHMEM_UNWRAP PARAMS), #NAME, 1, ID(T))
SHMEM_FOR_EACH_TYPED(STUB)
STUB(void, shmem_signal_add, (uint64_t *sig_addr, uint64_t signal, int pe), "signal_add", 0, 0)
STUB(void, shmem_ctx_signal_add, (shmem_ctx_t ctx, uint64_t *s, uint64_t signal, int pe), "signal_add", 1, 0)
STUB(void, shmem_signal_set, (uint64_t *sig_addr, uint64_t signal, int pe), "signal_set", 0, 0)
STUB(void, shmem_ctx_signal_set, (shmem_ctx_t ctx, uint64_t *s, uint64_t signal, int pe), "signal_set", 1, 0)
STUB(void, shmem_sync, (int PE_start, int logPE_stride, int PE_size, long *pSync), "sync", 0, 0)
STUB(int, shmem_team_sync, (shmem_team_t team), "team_sync", 0, 0)
void shmem_no_such_type_(void);
void shmem_no_such_type_(void)
{
    called.routine = "no function";
}

#include "shmem_generic.h"

static void expect(const char *routine, int ctx, int type, const char *name)
{
    CHECKF(strcmp(called.routine, routine) == 0 && called.ctx == ctx && called.type == type,
           "shmem%s of %s%s called %s%s of type %d, not %d", routine, name, ctx ? " with ctx" : "", called.routine,
           called.ctx ? " with ctx" : "", called.type, type);
    memset(&called, 0, sizeof called);
    called.routine = "nothing";
}

#define NAMES(T)                                                                                                     \
    T *dest = 0, value = 0, cond = 0, *fetch = 0, *ivar = 0, *ivars = 0, cmp_value = 0;                              \
    const T *source = 0, *cmp_values = 0;                                                                            \
    size_t nelems = 0, bsize = 0, nblocks = 0, *indices = 0;                                                         \
    ptrdiff_t dst = 0, sst = 0;                                                                                      \
    uint64_t *sig_addr = 0, signal = 0;                                                                              \
    const int *status = 0;                                                                                           \
    int sig_op = 0, pe = 0, cmp = 0, PE_root = 0;                                                                    \
    shmem_team_t team = 0;                                                                                           \
    shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;                                                                             \
    (void)dest, (void)value, (void)cond, (void)fetch, (void)ivar, (void)ivars, (void)cmp_value, (void)source;        \
    (void)cmp_values, (void)nelems, (void)bsize, (void)nblocks, (void)indices, (void)dst, (void)sst;                 \
    (void)sig_addr, (void)signal, (void)status, (void)sig_op, (void)pe, (void)cmp, (void)PE_root, (void)team;        \
    (void)ctx;
#include "generic_calls.h"

/* Catches: a type missing from an association list, listed twice, or mapped to another type's function; a ctx form that
 * calls the form without ctx. */
static void every_type(void)
{
    all_generics();
}

/* Catches: association lists that refuse what programs pass: arrays, literal zeros, pointers to const. */
static void other_arguments(void)
{
    static long array[4];
    static const double constant[2];
    shmem_put(array, array, 4, 0);
    expect("_put", 0, ID(long), "array");
    shmem_get(SHMEM_CTX_DEFAULT, array, array, 4, 0);
    expect("_get", 1, ID(long), "array");
    (void)shmem_g(constant, 0);
    expect("_g", 0, ID(double), "const");
    (void)shmem_atomic_fetch(SHMEM_CTX_DEFAULT, constant, 0);
    expect("_atomic_fetch", 1, ID(double), "const");
    shmem_p(&array[1], 1, 0);
    expect("_p", 0, ID(long), "element");
}

/* Catches: an untyped generic that confuses its context, team and active-set forms. */
static void untyped(void)
{
    uint64_t sig = 0;
    long sync[SHMEM_SYNC_SIZE] = {0};
    shmem_signal_add(&sig, 1, 0);
    expect("signal_add", 0, 0, "");
    shmem_signal_add(SHMEM_CTX_DEFAULT, &sig, 1, 0);
    expect("signal_add", 1, 0, "");
    shmem_signal_set(&sig, 1, 0);
    expect("signal_set", 0, 0, "");
    shmem_signal_set(SHMEM_CTX_DEFAULT, &sig, 1, 0);
    expect("signal_set", 1, 0, "");
    (void)shmem_sync(SHMEM_TEAM_WORLD);
    expect("team_sync", 0, 0, "");
    shmem_sync(0, 0, 1, sync);
    expect("sync", 0, 0, "");
}

int main(void)
{
    called.routine = "nothing";
    RUN(every_type, "every generic with every type of its class");
    RUN(other_arguments, "arrays, const and elements");
    RUN(untyped, "signal_add, signal_set and sync");
    return tap_end();
}
