/*
 * acc.c - accumulates: dst += scale * src, atomic for each element.
 *
 * Near processes: this process updates their memory itself. Others: a global procedure call of the OpenSHMEM library (shmemx_gpc) brings segments,
 * each an address and its data, and their process adds them, on a thread of the library while the program computes. Both hold a lock of the
 * process to which the memory belongs, of the 4 KiB block that they update.
 *
 * Calls under way have a buffer each, so the caller's source is free when comex_acc returns. The last call stays open for further accumulates to
 * the same process with the same scale until it is half full, or until this process calls any other routine of ComEx.
 */
#if HAVE_CONFIG_H
#include "config.h"
#endif
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "comex_impl.h"

#include <shmem.h>
#include <shmemx.h>

enum { STRIPES = 64, BLOCK = 4096, SPINS = 200, CALLS = 16, CALL_BYTES = 64 << 10, UNIT = 16 };

/* ---- of this process's memory, and of the near ones' ------------------------------------------------------------------ */

struct stripe {
    atomic_uint held;
    char pad[64 - sizeof(atomic_uint)];
};
static struct stripe *stripes; /* symmetric */

static void hold(struct stripe *s)
{
    for (int i = 1; atomic_exchange_explicit(&s->held, 1, memory_order_acquire); i++)
        while (atomic_load_explicit(&s->held, memory_order_relaxed))
            if (++i > SPINS)
                sched_yield();
}

static void release(struct stripe *s)
{
    atomic_store_explicit(&s->held, 0, memory_order_release);
}

struct complex_float { float re, im; };
struct complex_double { double re, im; };

#define ADD_REAL(T)                                                                                                      \
    do {                                                                                                                 \
        T *to = dst, by;                                                                                                 \
        const T *from = src;                                                                                             \
        memcpy(&by, scale, sizeof by);                                                                                   \
        for (size_t i = 0; i < bytes / sizeof *to; i++)                                                                  \
            to[i] += by * from[i];                                                                                       \
    } while (0)
#define ADD_COMPLEX(T)                                                                                                   \
    do {                                                                                                                 \
        T *to = dst, by;                                                                                                 \
        const T *from = src;                                                                                             \
        memcpy(&by, scale, sizeof by);                                                                                   \
        for (size_t i = 0; i < bytes / sizeof *to; i++) {                                                                \
            to[i].re += by.re * from[i].re - by.im * from[i].im;                                                         \
            to[i].im += by.re * from[i].im + by.im * from[i].re;                                                         \
        }                                                                                                                \
    } while (0)

/* ComEx is compiled with -O2, where gcc does not vectorize loops of unknown length. */
#if defined(__GNUC__) && !defined(__clang__)
#define VECTORS __attribute__((optimize("O3")))
#else
#define VECTORS
#endif

VECTORS static void add(int op, const void *scale, const void *src, void *dst, size_t bytes)
{
    switch (op) {
    case COMEX_ACC_INT: ADD_REAL(int); break;
    case COMEX_ACC_LNG: ADD_REAL(long); break;
    case COMEX_ACC_FLT: ADD_REAL(float); break;
    case COMEX_ACC_DBL: ADD_REAL(double); break;
    case COMEX_ACC_CPL: ADD_COMPLEX(struct complex_float); break;
    case COMEX_ACC_DCP: ADD_COMPLEX(struct complex_double); break;
    default: COMEX_DIE("operation %d is no accumulate", op);
    }
}

static size_t element(int op)
{
    switch (op) {
    case COMEX_ACC_INT: return sizeof(int);
    case COMEX_ACC_LNG: return sizeof(long);
    case COMEX_ACC_FLT: return sizeof(float);
    case COMEX_ACC_DBL:
    case COMEX_ACC_CPL: return sizeof(double);
    case COMEX_ACC_DCP: return 2 * sizeof(double);
    default: COMEX_DIE("operation %d is no accumulate", op);
    }
}

/* dst is `at` bytes from the beginning of the arena to which `of` belongs. An element that two blocks share is under the lock of its first byte's
 * block, at all processes. */
static void add_locked(struct stripe *of, size_t at, int op, const void *scale, const char *src, char *dst, size_t bytes)
{
    size_t each = element(op);
    while (bytes) {
        size_t n = ((BLOCK - at % BLOCK) + each - 1) / each * each;
        n = n < bytes ? n : bytes;
        struct stripe *s = &of[at / BLOCK % STRIPES];
        hold(s);
        add(op, scale, src, dst, n);
        release(s);
        src += n;
        dst += n;
        at += n;
        bytes -= n;
    }
}

/* ---- of others: calls -------------------------------------------------------------------------------------------------- */

struct what {
    int op;
    char scale[sizeof(double) * 2];
};

/* Before the data of each segment, all in units of UNIT bytes. */
struct segment {
    char *dst; /* at the process that has it */
    uint64_t bytes;
};

struct call {
    shmemx_gpc_nbh_t nbh;
    int proc; /* -1: free */
    char *data;
    size_t used;
};
static struct call call[CALLS];
static int func, next;
static struct call *open; /* not sent, or NULL; its process, operation and scale: */
static int open_proc;
static struct what open_what;

static size_t padded(size_t bytes)
{
    return (bytes + UNIT - 1) / UNIT * UNIT;
}

static int receive(shmemx_gpc_call_t *c)
{
    if (c->root == l_state.rank)
        return SHMEMX_GPC_DONE; /* the library runs it at the caller, too */
    const struct what *w = c->hdr;
    const char *at = c->data, *end = at + c->dlen;
    while (at < end) {
        struct segment s;
        memcpy(&s, at, sizeof s);
        add_locked(stripes, (size_t)(s.dst - l_state.arena), w->op, w->scale, at + sizeof s, s.dst, s.bytes);
        at += sizeof s + padded(s.bytes);
    }
    return SHMEMX_GPC_DONE;
}

static void settle_call(struct call *c)
{
    if (c->proc < 0)
        return;
    if (shmemx_gpc_wait(&c->nbh))
        COMEX_DIE("process %d failed", c->proc);
    c->proc = -1;
}

void comex_acc_flush(void)
{
    struct call *c = open;
    open = NULL;
    if (!c || !c->used)
        return;
    c->proc = open_proc;
    if (shmemx_gpc_exec(SHMEM_TEAM_WORLD, func, c->proc, &open_what, sizeof open_what, c->data, c->used, NULL, 0, NULL, 0, &c->nbh))
        COMEX_DIE("the call to process %d does not start", c->proc);
}

void comex_acc_settle(int proc)
{
    comex_acc_flush();
    for (int i = 0; i < CALLS; i++)
        if (proc < 0 || call[i].proc == proc)
            settle_call(&call[i]);
}

/* An empty call: the one that began first, if all are under way. */
static struct call *take(void)
{
    struct call *c = &call[next];
    next = (next + 1) % CALLS;
    settle_call(c);
    if (!c->data && !(c->data = malloc(CALL_BYTES)))
        COMEX_DIE("out of memory");
    c->used = 0;
    return c;
}

/* What one accumulate does: its rows go to memory or into calls. */
struct work {
    struct what what;
    int proc;
    struct stripe *near; /* NULL: by calls */
};

static void begin(struct work *w, int op, const void *scale, int proc, comex_group_t group)
{
    *w = (struct work){.what.op = op, .proc = comex_world_rank(proc, group)};
    memcpy(w->what.scale, scale, element(op));
    comex_enter();
    w->near = l_state.near[w->proc] ? shmem_ptr(stripes, w->proc) : NULL;
    if (l_state.pending[w->proc] & COMEX_PENDING_PUT)
        comex_settle(w->proc, COMEX_PENDING_PUT);
    if (open && (open_proc != w->proc || open_what.op != op || memcmp(open_what.scale, w->what.scale, sizeof open_what.scale)))
        comex_acc_flush();
}

static void row(struct work *w, const char *src, char *dst, size_t bytes)
{
    if (w->near) {
        char *at = comex_near(dst, bytes, w->proc);
        add_locked(w->near, (size_t)(at - l_state.near[w->proc]), w->what.op, w->what.scale, src, at, bytes);
        return;
    }
    comex_symmetric(dst, bytes, w->proc); /* checks it */
    while (bytes) {
        if (open && open->used + sizeof(struct segment) + UNIT > CALL_BYTES)
            comex_acc_flush();
        if (!open) {
            open = take();
            open_proc = w->proc;
            open_what = w->what;
            l_state.pending[w->proc] |= COMEX_PENDING_ACC;
        }
        char *to = open->data + open->used;
        size_t space = CALL_BYTES - open->used - sizeof(struct segment), n = bytes < space ? bytes : space / UNIT * UNIT;
        struct segment s = {.dst = dst, .bytes = n};
        memcpy(to, &s, sizeof s);
        memcpy(to + sizeof s, src, n);
        open->used += sizeof s + padded(n);
        src += n;
        dst += n;
        bytes -= n;
    }
}

static int end(void)
{
    if (open && open->used > CALL_BYTES / 2)
        comex_acc_flush();
    comex_leave();
    return COMEX_SUCCESS;
}

void comex_acc_init(void)
{
    shmemx_gpc_limits_t limits;
    shmemx_gpc_limits(&limits);
    if (limits.dlen < CALL_BYTES || limits.hlen < sizeof(struct what))
        COMEX_DIE("global procedure calls carry %zu bytes and a header of %zu: too few", limits.dlen, limits.hlen);
    stripes = shmem_calloc(STRIPES, sizeof *stripes);
    func = shmemx_gpc_register(receive);
    if (!stripes || func < 0)
        COMEX_DIE("no memory or no handle for accumulates");
    for (int i = 0; i < CALLS; i++) {
        shmemx_gpc_nbh_init(&call[i].nbh);
        call[i].proc = -1;
    }
}

/* ---- ComEx's calls ------------------------------------------------------------------------------------------------------- */

int comex_acc(int op, void *scale, void *src, void *dst, int bytes, int proc, comex_group_t group)
{
    struct work w;
    begin(&w, op, scale, proc, group);
    row(&w, src, dst, (size_t)bytes);
    return end();
}

int comex_accs(int op, void *scale, void *src, int *src_stride, void *dst, int *dst_stride, int *count, int levels, int proc, comex_group_t group)
{
    struct comex_rows r;
    struct work w;
    begin(&w, op, scale, proc, group);
    for (int more = comex_rows_begin(&r, count, levels, src_stride, dst_stride); more; more = comex_rows_next(&r))
        row(&w, (char *)src + r.src, (char *)dst + r.dst, (size_t)count[0]);
    return end();
}

int comex_accv(int op, void *scale, comex_giov_t *v, int n, int proc, comex_group_t group)
{
    struct work w;
    begin(&w, op, scale, proc, group);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < v[i].count; j++)
            row(&w, v[i].src[j], v[i].dst[j], (size_t)v[i].bytes);
    return end();
}

int comex_nbacc(int op, void *scale, void *src, void *dst, int bytes, int proc, comex_group_t group, comex_request_t *handle)
{
    comex_acc(op, scale, src, dst, bytes, proc, group);
    return comex_issued(comex_world_rank(proc, group), handle);
}

int comex_nbaccs(int op, void *scale, void *src, int *src_stride, void *dst, int *dst_stride, int *count, int levels, int proc, comex_group_t group,
                 comex_request_t *handle)
{
    comex_accs(op, scale, src, src_stride, dst, dst_stride, count, levels, proc, group);
    return comex_issued(comex_world_rank(proc, group), handle);
}

int comex_nbaccv(int op, void *scale, comex_giov_t *v, int n, int proc, comex_group_t group, comex_request_t *handle)
{
    comex_accv(op, scale, v, n, proc, group);
    return comex_issued(comex_world_rank(proc, group), handle);
}
