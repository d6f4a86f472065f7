/*
 * soak_kernel.c - kernels of the soak test (soak.cl), with kernels=1. The work-items of every PE operate on all PEs'
 * device heaps; afterwards the host checks its own heap.
 */
#include <shmemx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "soak.h"
#include "soak_ops.h"

enum { ROW_BYTES = KITEMS * KROW * KCELL };

/* Device memory: the parts that others write, and those that kernels read. */
static struct {
    unsigned char *cells, *fixed, *known;
    uint64_t *own, *sum, *left, *bad;
} dev;

/* The expected content of `cells`, `own` and `sum`, and the actual one. */
static struct {
    unsigned char *cells;
    uint64_t own[MAX_PES * KITEMS], sum[KWORDS];
} due, now;

/* Device memory may be inaccessible to the host. */
static void to_device(void *to, const void *from, size_t bytes)
{
    shmem_putmem(to, from, bytes, soak.me);
    shmem_quiet();
}

void soak_kernel_up(struct worker *w)
{
    size_t n = (size_t)soak.n;
    if (!soak.kernels)
        return;
    dev.cells = shmemg_calloc(n, ROW_BYTES);
    dev.fixed = shmemg_calloc(1, KCONST);
    dev.known = shmemg_calloc(n, KCONST);
    dev.own = shmemg_calloc(n * KITEMS, sizeof *dev.own);
    dev.sum = shmemg_calloc(KWORDS, sizeof *dev.sum);
    dev.left = shmemg_calloc(n * KITEMS, sizeof *dev.left);
    dev.bad = shmemg_calloc(2 * KITEMS, sizeof *dev.bad);
    due.cells = calloc(n, ROW_BYTES);
    now.cells = calloc(n, ROW_BYTES);
    if (!dev.bad)
        soak_fail(w, "no device memory");
    to_device(dev.fixed, soak.pattern[soak.me], KCONST);
    for (int pe = 0; pe < soak.n; pe++)
        to_device(dev.known + pe * KCONST, soak.pattern[pe], KCONST);
}

/* Apply operation k of a work-item to the expected content. */
static void replay(uint64_t seed, int pe, int item, int k)
{
    struct kop o = kop_of(seed, pe, item, k, soak.n);
    int row = pe * KITEMS + item;
    unsigned char *cell = due.cells + (row * KROW + k) * KCELL;
    if (o.pe != soak.me)
        return;
    if (o.kind == KPUT || o.kind == KPUT_NBI || o.kind == KSIGNAL)
        memcpy(cell, soak.pattern[pe] + o.from, (size_t)o.bytes);
    if (o.kind == KP || o.kind == KFENCED)
        memcpy(cell, &o.value, sizeof o.value);
    if (o.kind == KSIGNAL || o.kind == KADD)
        due.sum[o.word] += o.value;
    if (o.kind == KFETCH)
        due.own[row] += o.value;
}

static void verify(struct worker *w, uint64_t seed)
{
    size_t cells = (size_t)soak.n * ROW_BYTES, own = (size_t)soak.n * KITEMS * sizeof *now.own;
    for (int pe = 0; pe < soak.n; pe++)
        for (int item = 0; item < KITEMS; item++)
            for (int k = 0; k < KROW; k++)
                replay(seed, pe, item, k);
    shmem_getmem(now.cells, dev.cells, cells, soak.me);
    shmem_getmem(now.own, dev.own, own, soak.me);
    shmem_getmem(now.sum, dev.sum, sizeof now.sum, soak.me);
    soak_same(w, "cells that kernels write", 0, now.cells, due.cells, cells);
    soak_same(w, "words of work-items", 0, now.own, due.own, own);
    soak_same(w, "words to which all work-items add", 0, now.sum, due.sum, sizeof now.sum);
}

void soak_kernel(struct worker *w)
{
    const size_t groups[3] = {2, 1, 1}, items[3] = {KITEMS / 2, 1, 1}, bytes[] = {8, 8, 8, 8, 8, 8, 8, 8};
    uint64_t seed = mix(soak.seed ^ soak.step << 20), bad[2 * KITEMS];
    void *args[] = {&dev.cells, &dev.own, &dev.sum, &dev.fixed, &dev.known, &dev.left, &dev.bad, &seed};
    if (!soak.kernels)
        return;
    w->doing = "a kernel";
    shmem_barrier_all();
    if (shmemx_launch("soak_ring", groups, items, args, bytes, 8) || shmemx_device_sync())
        soak_fail(w, "the kernel does not run");
    shmem_barrier_all();
    shmem_getmem(bad, dev.bad, sizeof bad, soak.me);
    for (int item = 0; item < KITEMS; item++)
        if (bad[2 * item]) {
            struct kop o = kop_of(seed, soak.me, item, (int)bad[2 * item] - 1, soak.n);
            soak_fail(w, "work-item %d, operation %lu of kind %d (soak_ops.h) on PE %d: off by %lx", item,
                      (unsigned long)bad[2 * item] - 1, o.kind, o.pe, (unsigned long)bad[2 * item + 1]);
        }
    verify(w, seed);
    w->ops += KITEMS * KROW;
}
