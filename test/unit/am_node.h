/*
 * am_node.h - active messages of one node without launcher and library: forked processes are the PEs. The test creates
 * the node's memory and polls itself.
 */
#ifndef AM_NODE_H
#define AM_NODE_H

#include "host/net/am/am.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../tap.h"
#include "host/net/am/am_shm.h"
#include "host/net/node/progress.h"
#include "host/util/base.h"

enum { MOST = 9, MANY = 33, HEAP = 2 << 20 };

/* Stubs of the modules that the linked sources use; the test polls instead of the progress engine. */
static struct shi_progress_source source;
int shi_progress_add(struct shi_progress_source *s)
{
    source = *s;
    return 0;
}

static struct shi_shm shm;
static int me;
static char *shared; /* counters of the test, shared by all PEs */

static int in_device(const void *addr, size_t bytes)
{
    (void)addr;
    (void)bytes;
    return 0;
}

static void *device_of(int pe)
{
    (void)pe;
    return NULL;
}

static void device_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}

/* A node of n PEs, in memory that forked children share: regions, each PE's inbox and heap. */
static void make_node(int n)
{
    size_t am = shi_round_up(shi_am_shared_bytes(n), SHI_PAGE_BYTES), each = am + HEAP;
    shm = (struct shi_shm){.n = n, .bytes = SHI_HUGE_BYTES + n * each};
    shm.base = mmap(NULL, shm.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct shi_shm_region *r = (struct shi_shm_region *)shm.base;
    shared = shm.base + SHI_HUGE_BYTES / 2;
    for (int i = 0; i < n; i++)
        r[i] = (struct shi_shm_region){.am_off = SHI_HUGE_BYTES + i * each, .heap_off = SHI_HUGE_BYTES + i * each + am,
                                       .heap_bytes = HEAP, .pe = n - 1 - i, .pid = getpid()};
    shm.region = r;
}

/* Make this process PE pe. Local ranks are in reverse order of the numbers, so that the test detects a confusion. */
static void be(int pe)
{
    struct shi_shm_region *r = (struct shi_shm_region *)shm.region;
    me = pe;
    int local = shm.n - 1 - pe;
    r[local].pid = getpid();
    shm.heap_lo = (uintptr_t)shm.base + r[local].heap_off;
    const struct shi_am_world w = {.pe = pe, .n_pes = shm.n, .local = local, .shm = &shm, .in_device = in_device,
                                   .device_of = device_of, .device_copy = device_copy};
    shi_am_up(&w, &shi_am_shm);
}

/* Run the program as n PEs, and count their failures in this process. */
static void as_pes(int n, void (*program)(void))
{
    make_node(n);
    pid_t child[MANY];
    fflush(stdout);
    for (int i = 0; i < n; i++)
        if ((child[i] = fork()) == 0) {
            tap_pe_ = i;
            be(i);
            program();
            _exit(tap_bad_now_ != 0);
        }
    for (int i = 0; i < n; i++) {
        int status;
        waitpid(child[i], &status, 0);
        CHECKF(status == 0, "%d PEs: status %#x of PE %d", n, status, i);
    }
    munmap(shm.base, shm.bytes);
}

static void sync_phase(int phase)
{
    int *came = (int *)shared;
    __atomic_fetch_add(came, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(came, __ATOMIC_ACQUIRE) < shm.n * phase)
        sched_yield();
}

static void write_message(unsigned char *p, size_t bytes, unsigned r)
{
    for (size_t i = 0; i < bytes; i++)
        p[i] = (unsigned char)(r + i * 7);
}

#endif
