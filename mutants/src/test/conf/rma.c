/*
 * rma.c - every put and get of the table, typed and sized, with and without a context, against an element-wise model.
 *
 * A routine is an entry of a list generated from the table. Each test makes every routine write or read several slices,
 * then compares whole slices, so that it detects elements too many and too few.
 */
#include "../tap_pes.h"
#include "args.h"

/* One call, with the parameter names of shmem_table.h; ctx NULL means the form without a context. */
struct call {
    shmem_ctx_t ctx;
    void *dest;
    const void *source;
    ptrdiff_t dst, sst;
    size_t bsize, n;
    uint64_t *sig;
    int pe;
};

enum kind { K_p, K_g, K_put, K_get, K_put_nbi, K_get_nbi, K_iput, K_iget, K_ibput, K_ibget, K_put_signal,
            K_put_signal_nbi };
enum { SIGNAL = 3 };

struct routine {
    const char *name;
    enum kind kind;
    size_t bytes;
    void (*run)(const struct call *);
    void (*set)(void *at, unsigned seed); /* some value of the type */
    int (*equal)(const void *a, const void *b);
};

#define RUN_BODY(NAME, T, PLAIN, CTX)                                                                                \
    T *dest = c->dest, value = *(const T *)c->source, result = 0;                                                    \
    const T *source = c->source;                                                                                     \
    ptrdiff_t dst = c->dst, sst = c->sst;                                                                            \
    size_t nelems = c->n, bsize = c->bsize, nblocks = c->n;                                                          \
    uint64_t *sig_addr = c->sig, signal = SIGNAL;                                                                    \
    int sig_op = SHMEM_SIGNAL_ADD, pe = c->pe;                                                                       \
    (void)value, (void)dst, (void)sst, (void)nelems, (void)bsize, (void)nblocks, (void)sig_addr, (void)signal;       \
    (void)sig_op, (void)source;                                                                                      \
    if (!c->ctx)                                                                                                     \
        RESULT(NAME) PLAIN(ARGS##NAME);                                                                              \
    else                                                                                                             \
        RESULT(NAME) CTX(c->ctx, ARGS##NAME);                                                                        \
    if (K##NAME == K_g)                                                                                              \
        *dest = result;

#define TYPE(F, N, T, RMA, ...)                                                                                      \
    SHMEM_IF_##RMA(static void set_##N(void *at, unsigned seed) { *(T *)at = (T)(seed % 120 + 1); }                  \
                   static int equal_##N(const void *a, const void *b) { return *(const T *)a == *(const T *)b; })
SHMEM_TYPES(TYPE, )
#define BYTES(B)                                                                                                     \
    static void set_##B(void *at, unsigned seed) { memset(at, (int)seed, B); }                                       \
    static int equal_##B(const void *a, const void *b) { return memcmp(a, b, B) == 0; }
BYTES(1) BYTES(2) BYTES(4) BYTES(8) BYTES(16)

#define BODY_C(R, NAME, N, T, PARAMS)                                                                                \
    static void run_##N##NAME(const struct call *c) { RUN_BODY(NAME, T, shmem_##N##NAME, shmem_ctx_##N##NAME) }
#define BODY_S(R, NAME, KEY, B, PARAMS)                                                                              \
    static void run_##NAME(const struct call *c) { RUN_BODY(KEY, unsigned char, shmem_##NAME, shmem_ctx_##NAME) }
#define LIST_C(R, NAME, N, T, PARAMS) {"shmem_" #N #NAME, K##NAME, sizeof(T), run_##N##NAME, set_##N, equal_##N},
#define LIST_S(R, NAME, KEY, B, PARAMS) {"shmem_" #NAME, K##KEY, B, run_##NAME, set_##B, equal_##B},
#define ROW(F, N, T, RMA, ...) SHMEM_IF_##RMA(SHMEM_API_RMA(F##_C, , N, T))
SHMEM_TYPES(ROW, BODY)
SHMEM_API_SIZED(BODY_S)
static const struct routine routines[] = {SHMEM_TYPES(ROW, LIST) SHMEM_API_SIZED(LIST_S)};
enum { N_ROUTINES = sizeof routines / sizeof *routines };

static const struct shape {
    ptrdiff_t dst, sst;
    size_t bsize, n;
} shapes[] = {{1, 1, 1, 0}, {1, 1, 1, 1}, {1, 1, 1, 2},  {1, 1, 1, 7}, {1, 1, 1, 37}, {2, 1, 1, 5},
              {1, 3, 1, 5}, {3, 2, 1, 9}, {3, 2, 2, 4}, {4, 5, 3, 6}, {2, 2, 2, 0},  {7, 3, 3, 1}};
enum { N_SHAPES = sizeof shapes / sizeof *shapes, SLICE = 48, AREA = N_SHAPES * SLICE * 16, TARGETS = 2 };

static int is_strided(const struct routine *r)
{
    return r->kind >= K_iput && r->kind <= K_ibget;
}

static int is_get(const struct routine *r)
{
    return r->kind == K_g || r->kind == K_get || r->kind == K_get_nbi || r->kind == K_iget || r->kind == K_ibget;
}

/* May r be called with this shape? Blocks are for ibput and ibget, strides for the four strided ones. */
static int suits(const struct routine *r, const struct shape *s)
{
    if (r->kind == K_p || r->kind == K_g)
        return s->n == 1 && s->bsize == 1;
    if (!is_strided(r))
        return s->dst == 1 && s->sst == 1;
    return s->bsize == 1 || r->kind == K_ibput || r->kind == K_ibget;
}

/* The slice after the call, by the routine's definition. */
static void model(const struct routine *r, const struct shape *s, char *dest, const char *source)
{
    for (size_t block = 0; block < s->n; block++)
        for (size_t i = 0; i < s->bsize; i++)
            memcpy(dest + (block * s->dst + i) * r->bytes, source + (block * s->sst + i) * r->bytes, r->bytes);
}

static void fill(const struct routine *r, char *area, unsigned seed)
{
    for (int i = 0; i < N_SHAPES * SLICE; i++)
        r->set(area + i * r->bytes, tap_random(&seed));
}

/* Slice k, from its second element on, so that a write before the first element is detected. */
static char *slice(const struct routine *r, char *area, int k)
{
    return area + ((size_t)k * SLICE + 1) * r->bytes;
}

static _Alignas(64) char static_dest[TARGETS][AREA], static_source[AREA], private_area[AREA], expected[AREA];
static uint64_t static_signal;

/* The memory and the form that a round uses. */
struct round {
    char (*dest)[AREA];
    char *source;
    uint64_t *sig;
    shmem_ctx_t ctx;
};

/* Make all calls from this PE to `pe`, into the areas for that kind of target; return the number of calls. */
static int call_all(const struct routine *r, const struct round *at, char *dest, const char *source, int pe)
{
    int calls = 0;
    for (int k = 0; k < N_SHAPES; k++) {
        if (!suits(r, &shapes[k]))
            continue;
        r->run(&(struct call){.ctx = at->ctx, .dest = slice(r, dest, k), .source = slice(r, (char *)source, k),
                              .dst = shapes[k].dst, .sst = shapes[k].sst, .bsize = shapes[k].bsize, .n = shapes[k].n,
                              .sig = at->sig, .pe = pe});
        calls++;
    }
    return calls;
}

static void compare(const struct routine *r, const struct round *at, const char *got, unsigned old, const char *source,
                    const char *what)
{
    fill(r, expected, old);
    for (int k = 0; k < N_SHAPES; k++)
        if (suits(r, &shapes[k]))
            model(r, &shapes[k], slice(r, expected, k), slice(r, (char *)source, k));
    for (int i = 0; i < N_SHAPES * SLICE; i++)
        if (!CHECKF(r->equal(got + i * r->bytes, expected + i * r->bytes),
                    "%s%s %s: element %d of slice %d (dst %td, sst %td, bsize %zu, n %zu)", r->name,
                    at->ctx ? " with ctx" : "", what, i % SLICE - 1, i / SLICE, shapes[i / SLICE].dst,
                    shapes[i / SLICE].sst, shapes[i / SLICE].bsize, shapes[i / SLICE].n))
            return;
}

/* Puts to the next PE go to area 0 there, puts to this PE itself to area 1. */
static void check_put(const struct routine *r, const struct round *at)
{
    fill(r, at->dest[0], 77);
    fill(r, at->dest[1], 78);
    fill(r, at->source, 1000 + me);
    *at->sig = 0;
    shmem_barrier_all();
    int calls = call_all(r, at, at->dest[0], at->source, next_pe());
    call_all(r, at, at->dest[1], at->source, me);
    shmem_barrier_all();
    compare(r, at, at->dest[1], 78, at->source, "to itself");
    fill(r, at->source, 1000 + (me + n_pes - 1) % n_pes);
    compare(r, at, at->dest[0], 77, at->source, "from the previous PE");
    uint64_t sum = r->kind >= K_put_signal ? 2 * (uint64_t)SIGNAL * calls : 0;
    CHECKF(*at->sig == sum, "%s: signal %lu, not %lu", r->name, (unsigned long)*at->sig, (unsigned long)sum);
}

static void check_get(const struct routine *r, const struct round *at)
{
    fill(r, at->source, 1000 + me);
    fill(r, at->dest[0], 77);
    fill(r, at->dest[1], 78);
    shmem_barrier_all();
    call_all(r, at, at->dest[0], at->source, next_pe());
    call_all(r, at, at->dest[1], at->source, me);
    shmem_quiet();
    compare(r, at, at->dest[1], 78, at->source, "from itself");
    shmem_barrier_all();
    fill(r, at->source, 1000 + next_pe());
    compare(r, at, at->dest[0], 77, at->source, "from the next PE");
}

static void every_routine(const struct round *put, const struct round *get)
{
    for (int i = 0; i < N_ROUTINES; i++) {
        if (is_get(&routines[i]))
            check_get(&routines[i], get);
        else
            check_put(&routines[i], put);
        shmem_barrier_all();
    }
}

static char (*heap_dest)[AREA], *heap_source;
static uint64_t *heap_signal;

/* Catches: a type of the wrong width, an element or a block too many or too few, a stride applied to the wrong side. */
static void heap_plain(void)
{
    const struct round r = {heap_dest, heap_source, heap_signal, NULL};
    every_routine(&r, &r);
}

/* Catches: a ctx form that passes its arguments on in another order, or ignores one. */
static void heap_ctx(void)
{
    const struct round r = {heap_dest, heap_source, heap_signal, SHMEM_CTX_DEFAULT};
    every_routine(&r, &r);
}

/* Catches: static data taken for heap, or heap for static data: their offsets to the peer differ. */
static void statics(void)
{
    const struct round put = {static_dest, static_source, &static_signal, NULL};
    every_routine(&put, &put);
}

/* Catches: a private buffer whose address is translated as if it were symmetric. */
static void private_side(void)
{
    static char (*mine)[AREA];
    if (!(mine = malloc(TARGETS * AREA)))
        abort();
    const struct round put = {heap_dest, private_area, &static_signal, NULL};
    const struct round get = {mine, static_source, &static_signal, SHMEM_CTX_DEFAULT};
    every_routine(&put, &get);
    free(mine);
}

/* Catches: a transfer of length zero that accesses its pointers, which may be invalid. */
static void nothing(void)
{
    shmem_putmem(heap_source, heap_dest, 0, next_pe());
    shmem_getmem(heap_source, heap_dest, 0, next_pe());
    shmem_int_put((int *)heap_source, NULL, 0, next_pe());
    shmem_int_iput((int *)heap_source, NULL, 1, 1, 0, next_pe());
    shmem_int_ibget(NULL, (int *)heap_source, 2, 2, 0, 3, next_pe());
    *heap_signal = 9;
    shmem_barrier_all();
    shmem_putmem_signal(heap_source, heap_dest, 0, heap_signal, 70 + me, SHMEM_SIGNAL_SET, next_pe());
    shmem_barrier_all();
    CHECK(*heap_signal == (uint64_t)(70 + (me + n_pes - 1) % n_pes));
}

/* Catches: a copy that is wrong for an odd length or address, or at a size where another copy loop starts. */
static void lengths(void)
{
    enum { MOST = 3 << 20 };
    unsigned char *to = shmem_malloc(MOST + 64), *from = malloc(MOST + 64), *back = malloc(MOST + 64);
    for (size_t i = 0; i < MOST + 64; i++)
        from[i] = (unsigned char)(i * 2654435761u >> 24);
    for (size_t n = 1; n <= MOST; n = n < 200 ? n + 1 : n * 3 + 1) {
        size_t skew = n % 16;
        memset(to, 0xee, n + 64);
        memset(back, 0xee, n + 64);
        shmem_barrier_all();
        shmem_putmem(to + skew, from + 3, n, next_pe());
        shmem_barrier_all();
        CHECKF(memcmp(to + skew, from + 3, n) == 0, "put of %zu bytes", n);
        CHECKF((!skew || to[skew - 1] == 0xee) && to[skew + n] == 0xee, "put of %zu bytes: a byte beside it changed", n);
        shmem_getmem(back + 5, to + skew, n, next_pe());
        CHECKF(memcmp(back + 5, from + 3, n) == 0, "get of %zu bytes", n);
        CHECKF(back[4] == 0xee && back[5 + n] == 0xee, "get of %zu bytes: a byte beside it changed", n);
        shmem_barrier_all();
    }
    free(from);
    free(back);
    shmem_free(to);
}

/* Catches: a long put that overtakes an earlier one before a fence, on networks that order short writes only, or none. */
static void overwrites(void)
{
    enum { BYTES = 100000, ROUNDS = 40, PUTS = 3 };
    unsigned char *to = shmem_malloc(BYTES), *from = malloc(PUTS * BYTES);
    for (int i = 0; i < ROUNDS; i++) {
        for (int k = 0; k < PUTS; k++) {
            memset(from + k * BYTES, i * PUTS + k, BYTES);
            shmem_putmem_nbi(to, from + k * BYTES, BYTES, next_pe());
            shmem_fence();
        }
        shmem_barrier_all();
        CHECKF(memcmp(to, from + (PUTS - 1) * BYTES, BYTES) == 0, "round %d: not the last put's data", i);
        shmem_barrier_all();
    }
    free(from);
    shmem_free(to);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    heap_dest = shmem_align(64, TARGETS * AREA);
    heap_source = shmem_align(64, AREA);
    heap_signal = shmem_calloc(1, sizeof *heap_signal);
    RUN(heap_plain, "every routine, heap to heap");
    RUN(heap_ctx, "every routine with SHMEM_CTX_DEFAULT, heap to heap");
    RUN(statics, "every routine, static data to static data");
    RUN(private_side, "every routine, private memory on the local side");
    RUN(nothing, "zero length");
    RUN(lengths, "putmem and getmem of 1 byte to 3 MiB, odd addresses");
    RUN(overwrites, "putmem_nbi, fence, putmem_nbi to the same place");
    shmem_finalize();
    return tap_end();
}
