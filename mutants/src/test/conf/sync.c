/*
 * sync.c - wait_until and test in all forms, for every type of the table, against a model in the type itself.
 *
 * First on words that do not change, where the result is known and a wait must return at once; then on words that the
 * previous PE changes. A wait that misses its condition hangs, which test/pes reports.
 */
#include "../tap_pes.h"
#include "args.h"

enum kind { K_wait_until, K_test, K_wait_until_all, K_wait_until_any, K_wait_until_some, K_test_all, K_test_any,
            K_test_some };
enum { VECTOR = 16 };

struct call {
    void *ivars;
    size_t n, *indices;
    const int *status;
    int cmp;
    const void *values;
};

struct routine {
    const char *name;
    int kind; /* + VECTOR */
    size_t bytes;
    size_t (*run)(const struct call *);
    int (*holds)(const void *a, int cmp, const void *b);
};

#define K_wait_until_all_vector (K_wait_until_all + VECTOR)
#define K_wait_until_any_vector (K_wait_until_any + VECTOR)
#define K_wait_until_some_vector (K_wait_until_some + VECTOR)
#define K_test_all_vector (K_test_all + VECTOR)
#define K_test_any_vector (K_test_any + VECTOR)
#define K_test_some_vector (K_test_some + VECTOR)

#define HOLDS(N, T)                                                                                                  \
    static int holds_##N(const void *pa, int cmp, const void *pb)                                                    \
    {                                                                                                                \
        T a = *(const T *)pa, b = *(const T *)pb;                                                                    \
        return cmp == SHMEM_CMP_EQ ? a == b : cmp == SHMEM_CMP_NE ? a != b : cmp == SHMEM_CMP_GT ? a > b             \
             : cmp == SHMEM_CMP_LE ? a <= b : cmp == SHMEM_CMP_LT ? a < b : a >= b;                                  \
    }
#define TYPE(F, N, T, RMA, AMO, EXT, BIT, WT, ...) SHMEM_IF_##WT(HOLDS(N, T))
SHMEM_TYPES(TYPE, )

#define BODY_P(R, NAME, N, T, PARAMS)                                                                                \
    static size_t run_##N##NAME(const struct call *c)                                                                \
    {                                                                                                                \
        T *ivar = c->ivars, *ivars = ivar, cmp_value = *(const T *)c->values;                                        \
        const T *cmp_values = c->values;                                                                             \
        size_t nelems = c->n, *indices = c->indices, result = 0;                                                     \
        const int *status = c->status;                                                                               \
        int cmp = c->cmp;                                                                                            \
        (void)ivars, (void)cmp_value, (void)cmp_values, (void)nelems, (void)indices, (void)status;                   \
        RESULT(NAME) shmem_##N##NAME(ARGS##NAME);                                                                    \
        return result;                                                                                               \
    }
#define LIST_P(R, NAME, N, T, PARAMS) {"shmem_" #N #NAME, K##NAME, sizeof(T), run_##N##NAME, holds_##N},
#define ROW(F, N, T, RMA, AMO, EXT, BIT, WT, ...)                                                                    \
    SHMEM_IF_##WT(SHMEM_API_WT(, F##_P, N, T) SHMEM_API_SYN(, F##_P, N, T))
SHMEM_TYPES(ROW, BODY)
static const struct routine routines[] = {SHMEM_TYPES(ROW, LIST)};

enum { N_ROUTINES = sizeof routines / sizeof *routines, N = 7, MOST = 8, EDGES = 6 };

/* 0, 1, all ones, greatest and least signed value, greatest signed - 1. */
static void edge(unsigned k, size_t bytes, void *out)
{
    unsigned char *b = out;
    memset(b, k == 2 || k == 3 || k == 5 ? 0xff : 0, bytes);
    b[0] = k == 1 ? 1 : k == 5 ? 0xfe : b[0];
    b[bytes - 1] = k == 3 || k == 5 ? 0x7f : k == 4 ? 0x80 : b[bytes - 1];
}

static int is_wait(const struct routine *r)
{
    return r->kind % VECTOR != K_test && r->kind % VECTOR < K_test_all;
}

/* Call r where the result is known, and compare. `want` marks the words that are included and satisfy the condition. */
static int check_call(const struct routine *r, const struct call *c, const int *want, int n_in, int n_want)
{
    size_t got, *idx = c->indices;
    int kind = r->kind % VECTOR, all = n_want == n_in, none_in = n_in == 0;
    if (is_wait(r) && !none_in && (kind == K_wait_until || kind == K_wait_until_all ? !all : n_want == 0))
        return 1; /* the call would correctly wait for ever */
    memset(idx, 0xee, (N + 1) * sizeof *idx);
    got = r->run(c);
    switch (kind) {
    case K_wait_until:
    case K_wait_until_all: return 1;
    case K_test:
    case K_test_all: return got == (size_t)all;
    case K_test_any:
    case K_wait_until_any: return n_want ? got < c->n && want[got] : got == SIZE_MAX;
    default:
        if (got != (size_t)n_want)
            return 0;
        int seen[N] = {0};
        for (size_t i = 0; i < got; i++)
            if (idx[i] >= c->n || !want[idx[i]] || seen[idx[i]]++)
                return 0;
        size_t untouched;
        memset(&untouched, 0xee, sizeof untouched);
        return idx[got] == untouched;
    }
}

static _Alignas(64) char static_words[N * MOST];
static char *heap_words;

/* Catches: signed compared as unsigned or the reverse, an operator taken for another, a word read too wide. */
static void operators(void)
{
    char values[MOST];
    size_t indices[N + 1];
    for (int i = 0; i < N_ROUTINES; i++) {
        const struct routine *r = &routines[i];
        char *words = i % 2 ? heap_words : static_words;
        for (int k = 0; k < EDGES * EDGES * 6; k++) {
            int cmp = k % 6 + 1;
            memset(words, 0xa5, 3 * MOST);
            edge(k / 6 % EDGES, r->bytes, words + r->bytes);
            edge(k / 6 / EDGES, r->bytes, values);
            int want = r->holds(words + r->bytes, cmp, values);
            struct call c = {words + r->bytes, 1, indices, NULL, cmp, values};
            CHECKF(check_call(r, &c, &want, 1, want), "%s: cmp %d, edges %d and %d: not %d", r->name, cmp,
                   k / 6 % EDGES, k / 6 / EDGES, want);
        }
    }
}

/* Catches: an excluded word that counts, an included one that does not, a vector read as one value, n = 0, or all words
 * excluded, handled wrongly. */
static void families(void)
{
    unsigned state = 99 + me;
    size_t indices[N + 1];
    int status[N], want[N];
    char values[N * MOST];
    for (int i = 0; i < N_ROUTINES; i++) {
        const struct routine *r = &routines[i];
        char *words = i % 2 ? heap_words : static_words;
        if (r->kind == K_wait_until || r->kind == K_test)
            continue;
        for (int k = 0; k < 400; k++) {
            struct call c = {words, tap_random(&state) % (N + 1), indices, k % 4 ? status : NULL,
                             tap_random(&state) % 6 + 1, values};
            int n_in = 0, n_want = 0;
            for (size_t w = 0; w < N; w++) {
                unsigned few = k % 3 ? 2 : EDGES; /* often only 0 and 1, so that sometimes all words hold */
                edge(tap_random(&state) % few, r->bytes, words + w * r->bytes);
                edge(tap_random(&state) % few, r->bytes, values + w * r->bytes);
                status[w] = k % 4 == 1 ? 0 : k % 4 == 2 ? (int)(tap_random(&state) % 3) - 1 : 5;
            }
            for (size_t w = 0; w < c.n; w++) {
                int in = !c.status || !status[w];
                want[w] = in && r->holds(words + w * r->bytes, c.cmp, values + (r->kind >= VECTOR ? w * r->bytes : 0));
                n_in += in;
                n_want += want[w];
            }
            CHECKF(check_call(r, &c, want, n_in, n_want), "%s: n %zu, cmp %d, %d of %d hold (case %d)", r->name, c.n,
                   c.cmp, n_want, n_in, k);
        }
    }
}


/* A ring in each type: this PE's word receives the lap's number, then the PE writes it to the next PE's word. */
#define RING(N_, T)                                                                                                  \
    for (int lap = 1; lap <= 20; lap++) {                                                                            \
        T *w = (T *)static_words;                                                                                    \
        if (me == 0)                                                                                                 \
            shmem_##N_##_p(w, (T)lap, next_pe());                                                                    \
        if (lap % 2)                                                                                                 \
            shmem_##N_##_wait_until(w, lap % 4 == 1 ? SHMEM_CMP_EQ : SHMEM_CMP_GE, (T)lap);                          \
        else                                                                                                         \
            shmem_##N_##_wait_until(w, lap % 4 == 2 ? SHMEM_CMP_NE : SHMEM_CMP_GT, (T)(lap - 1));                    \
        CHECKF(*w == (T)lap && shmem_##N_##_test(w, SHMEM_CMP_LE, (T)lap), "shmem_%s_wait_until, lap %d", #N_, lap); \
        if (me != 0)                                                                                                 \
            shmem_##N_##_p(w, (T)lap, next_pe());                                                                    \
    }                                                                                                                \
    clear_words();
#define DO_RING(F, N_, T, RMA, AMO, EXT, BIT, WT, ...) SHMEM_IF_##WT(RING(N_, T))

static void clear_words(void)
{
    shmem_barrier_all();
    memset(static_words, 0, sizeof static_words);
    memset(heap_words, 0, N * MOST);
    shmem_barrier_all();
}

/* Catches: a wait that loads its word once, or whose loop the compiler reduced to one load. */
static void woken(void)
{
    clear_words();
    SHMEM_TYPES(DO_RING, )
}

#define OLD_WAIT(N_, T)                                                                                              \
    {                                                                                                                \
        T *w = (T *)static_words;                                                                                    \
        if (me == 0)                                                                                                 \
            shmem_##N_##_p(w, (T)3, next_pe());                                                                      \
        shmem_##N_##_wait(w, (T)0);                                                                                  \
        CHECKF(*w == (T)3, "shmem_%s_wait", #N_);                                                                    \
        shmem_##N_##_wait(w, (T)0); /* holds already */                                                              \
        if (me != 0)                                                                                                 \
            shmem_##N_##_p(w, (T)3, next_pe());                                                                      \
        clear_words();                                                                                               \
    }
#define DO_OLD_WAIT(F, N_, T, RMA, AMO, EXT, BIT, WT, AND, MAX, SUM, OW, ...) SHMEM_IF_##OW(OLD_WAIT(N_, T))

/* Catches: a deprecated wait for equality, or of another width. */
static void deprecated(void)
{
    long *w = (long *)static_words;
    clear_words();
    SHMEM_TYPES(DO_OLD_WAIT, )
    if (me == 0)
        shmem_long_p(w, 1L << 40, next_pe());
    shmem_wait(w, 0);
    (shmem_wait_until)(w, SHMEM_CMP_GT, 1L << 39);
    if (me != 0)
        shmem_long_p(w, 1L << 40, next_pe());
    clear_words();
}

/* The previous PE sets N words in some order while this PE waits for them; each form uses another wait routine. */
#define TAKE(N_, T)                                                                                                  \
    for (int form = 0; form < 6; form++) {                                                                           \
        T *w = (T *)heap_words, five = 5, fives[N] = {5, 5, 5, 5, 5, 5, 5};                                          \
        int taken[N] = {0};                                                                                          \
        size_t idx[N], left = N;                                                                                     \
        for (int i = 0; i < N; i++, random_delay(&state))                                                            \
            shmem_##N_##_p(&w[(i * 3 + me) % N], five, next_pe());                                                   \
        while (form < 4 && left > 0) {                                                                               \
            size_t n = 1;                                                                                            \
            if (form == 0)                                                                                           \
                idx[0] = shmem_##N_##_wait_until_any(w, N, taken, SHMEM_CMP_EQ, five);                               \
            else if (form == 1)                                                                                      \
                idx[0] = shmem_##N_##_wait_until_any_vector(w, N, taken, SHMEM_CMP_GE, fives);                       \
            else if (form == 2)                                                                                      \
                n = shmem_##N_##_wait_until_some(w, N, idx, taken, SHMEM_CMP_NE, 0);                                 \
            else                                                                                                     \
                n = shmem_##N_##_wait_until_some_vector(w, N, idx, taken, SHMEM_CMP_EQ, fives);                      \
            if (!CHECKF(n > 0 && n <= left && idx[0] < N, "%s: form %d took %zu of %zu", #N_, form, n, left))        \
                break;                                                                                               \
            for (size_t i = 0; i < n; i++, left--)                                                                   \
                CHECKF(!taken[idx[i]]++ && w[idx[i]] == five, "%s: form %d took word %zu", #N_, form, idx[i]);       \
        }                                                                                                            \
        if (form == 4)                                                                                               \
            shmem_##N_##_wait_until_all(w, N, NULL, SHMEM_CMP_EQ, five);                                             \
        if (form == 5)                                                                                               \
            shmem_##N_##_wait_until_all_vector(w, N, NULL, SHMEM_CMP_GT, (const T[N]){4, 4, 4, 4, 4, 4, 4});         \
        for (int i = 0; i < N; i++)                                                                                  \
            CHECKF(w[i] == five, "%s: form %d returned before word %d", #N_, form, i);                               \
        clear_words();                                                                                               \
    }
#define DO_TAKE(F, N_, T, RMA, AMO, EXT, BIT, WT, ...) SHMEM_IF_##WT(TAKE(N_, T))

/* Catches: any or some that return a word twice, all that returns before the last word. */
static void taken_once(void)
{
    unsigned state = 7 + me;
    clear_words();
    SHMEM_TYPES(DO_TAKE, )
}

/* Catches: any that always returns the first word that holds, so that it never returns the others. */
static void fair(void)
{
    long *w = (long *)heap_words;
    int waited[N] = {0}, tested[N] = {0};
    for (int i = 0; i < N; i++)
        w[i] = 5;
    for (int k = 0; k < 2 * N; k++) {
        waited[shmem_long_wait_until_any(w, N, NULL, SHMEM_CMP_EQ, 5)]++;
        tested[shmem_long_test_any(w, N, NULL, SHMEM_CMP_EQ, 5)]++;
    }
    for (int i = 0; i < N; i++)
        CHECKF(waited[i] + tested[i], "word %d was never returned", i);
    clear_words();
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    heap_words = shmem_align(64, N * MOST);
    RUN(operators, "every operator on the edges of every type");
    RUN(families, "all, any, some and vectors, with and without status");
    RUN(woken, "wait_until in a ring of PEs, every type");
    RUN(deprecated, "deprecated waits");
    RUN(taken_once, "all, any and some while words change");
    RUN(fair, "any returns each of several words that hold");
    shmem_finalize();
    return tap_end();
}
