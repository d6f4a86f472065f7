/* rma.c - put and get: contiguous, strided, vectors of segments. */
#if HAVE_CONFIG_H
#include "config.h"
#endif
#include <string.h>

#include "comex_impl.h"

#include <shmem.h>
#include <shmemx.h>

/* Under the lock: proc is of the world. A put's source is free when the call returns if `blocking`. */
static void put(const void *src, void *dst, size_t bytes, int proc, int blocking)
{
    void *near = comex_near(dst, bytes, proc);
    if (near) {
        memcpy(near, src, bytes);
        return;
    }
    void *at = comex_symmetric(dst, bytes, proc);
    if (blocking)
        shmem_putmem(at, src, bytes, proc);
    else
        shmem_putmem_nbi(at, src, bytes, proc);
    l_state.pending[proc] |= COMEX_PENDING_PUT;
}

static void get(const void *src, void *dst, size_t bytes, int proc)
{
    const void *near = comex_near(src, bytes, proc);
    if (near) {
        memcpy(dst, near, bytes);
        return;
    }
    shmem_getmem_nbi(dst, comex_symmetric(src, bytes, proc), bytes, proc);
    l_state.pending[proc] |= COMEX_PENDING_GET;
}

/* Begin puts to proc of the group: they may not overtake accumulates and puts. */
static int begin_put(int proc, comex_group_t group)
{
    proc = comex_world_rank(proc, group);
    comex_enter();
    comex_acc_flush();
    if (l_state.pending[proc] & COMEX_PENDING_ACC)
        comex_settle(proc, COMEX_PENDING_ACC);
    if (l_state.pending[proc] & COMEX_PENDING_PUT)
        shmemx_pe_fence(&proc, 1);
    return proc;
}

static int begin_get(int proc, comex_group_t group)
{
    proc = comex_world_rank(proc, group);
    comex_enter();
    comex_acc_flush();
    if (l_state.pending[proc] & (COMEX_PENDING_PUT | COMEX_PENDING_ACC))
        comex_settle(proc, COMEX_PENDING_PUT | COMEX_PENDING_ACC);
    return proc;
}

static int issued(int proc, comex_request_t *handle)
{
    comex_leave();
    return comex_issued(proc, handle);
}

static int got(int proc)
{
    comex_settle(proc, COMEX_PENDING_GET);
    comex_leave();
    return COMEX_SUCCESS;
}

static int done(void)
{
    comex_leave();
    return COMEX_SUCCESS;
}

static void puts_rows(char *src, const int *src_stride, char *dst, const int *dst_stride, const int *count, int levels, int proc, int blocking)
{
    struct comex_rows r;
    for (int more = comex_rows_begin(&r, count, levels, src_stride, dst_stride); more; more = comex_rows_next(&r))
        put(src + r.src, dst + r.dst, (size_t)count[0], proc, blocking);
}

static void gets_rows(char *src, const int *src_stride, char *dst, const int *dst_stride, const int *count, int levels, int proc)
{
    struct comex_rows r;
    for (int more = comex_rows_begin(&r, count, levels, src_stride, dst_stride); more; more = comex_rows_next(&r))
        get(src + r.src, dst + r.dst, (size_t)count[0], proc);
}

static void putv_segments(const comex_giov_t *v, int n, int proc, int blocking)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < v[i].count; j++)
            put(v[i].src[j], v[i].dst[j], (size_t)v[i].bytes, proc, blocking);
}

static void getv_segments(const comex_giov_t *v, int n, int proc)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < v[i].count; j++)
            get(v[i].src[j], v[i].dst[j], (size_t)v[i].bytes, proc);
}

int comex_put(void *src, void *dst, int bytes, int proc, comex_group_t group)
{
    proc = begin_put(proc, group);
    put(src, dst, (size_t)bytes, proc, 1);
    return done();
}

int comex_nbput(void *src, void *dst, int bytes, int proc, comex_group_t group, comex_request_t *handle)
{
    proc = begin_put(proc, group);
    put(src, dst, (size_t)bytes, proc, 0);
    return issued(proc, handle);
}

int comex_get(void *src, void *dst, int bytes, int proc, comex_group_t group)
{
    proc = begin_get(proc, group);
    get(src, dst, (size_t)bytes, proc);
    return got(proc);
}

int comex_nbget(void *src, void *dst, int bytes, int proc, comex_group_t group, comex_request_t *handle)
{
    proc = begin_get(proc, group);
    get(src, dst, (size_t)bytes, proc);
    return issued(proc, handle);
}

int comex_puts(void *src, int *src_stride, void *dst, int *dst_stride, int *count, int levels, int proc, comex_group_t group)
{
    proc = begin_put(proc, group);
    puts_rows(src, src_stride, dst, dst_stride, count, levels, proc, 1);
    return done();
}

int comex_nbputs(void *src, int *src_stride, void *dst, int *dst_stride, int *count, int levels, int proc, comex_group_t group, comex_request_t *handle)
{
    proc = begin_put(proc, group);
    puts_rows(src, src_stride, dst, dst_stride, count, levels, proc, 0);
    return issued(proc, handle);
}

int comex_gets(void *src, int *src_stride, void *dst, int *dst_stride, int *count, int levels, int proc, comex_group_t group)
{
    proc = begin_get(proc, group);
    gets_rows(src, src_stride, dst, dst_stride, count, levels, proc);
    return got(proc);
}

int comex_nbgets(void *src, int *src_stride, void *dst, int *dst_stride, int *count, int levels, int proc, comex_group_t group, comex_request_t *handle)
{
    proc = begin_get(proc, group);
    gets_rows(src, src_stride, dst, dst_stride, count, levels, proc);
    return issued(proc, handle);
}

int comex_putv(comex_giov_t *v, int n, int proc, comex_group_t group)
{
    proc = begin_put(proc, group);
    putv_segments(v, n, proc, 1);
    return done();
}

int comex_nbputv(comex_giov_t *v, int n, int proc, comex_group_t group, comex_request_t *handle)
{
    proc = begin_put(proc, group);
    putv_segments(v, n, proc, 0);
    return issued(proc, handle);
}

int comex_getv(comex_giov_t *v, int n, int proc, comex_group_t group)
{
    proc = begin_get(proc, group);
    getv_segments(v, n, proc);
    return got(proc);
}

int comex_nbgetv(comex_giov_t *v, int n, int proc, comex_group_t group, comex_request_t *handle)
{
    proc = begin_get(proc, group);
    getv_segments(v, n, proc);
    return issued(proc, handle);
}
