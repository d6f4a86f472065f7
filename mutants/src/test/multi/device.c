/*
 * device.c - the device symmetric heap, on every PE's device, accessed by host routines.
 *
 * Built twice: PRIVATE_MEMORY makes the CPU driver allocate memory that the host cannot access, like a discrete GPU's.
 */
#include "../tap_pes.h"

#include <shmemx.h>

#ifndef PRIVATE_MEMORY
#define PRIVATE_MEMORY 0
#endif

enum { ROOM = 200000 };
static unsigned char *dev, *host, *back; /* device heap; symmetric heap; private memory */

static void fill(unsigned char *p, size_t n, int who)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(who * 37 + (int)i * 3 + 1);
}

static int is_filled(const unsigned char *p, size_t n, int who)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != (unsigned char)(who * 37 + (int)i * 3 + 1))
            return 0;
    return 1;
}

/* Catches: blocks that overlap or differ between PEs, memory that is not zero, a full heap that fails on one PE
 * only. */
static void test_heap(void)
{
    char *first = shmemg_malloc(100), *zero = shmemg_calloc(1000, 4), *aligned = shmemg_align(4096, 10);
    CHECK(first && zero && aligned && (uintptr_t)aligned % 4096 == 0);
    static ptrdiff_t mine[2], peers[2];
    mine[0] = zero - first, mine[1] = aligned - first;
    shmem_barrier_all();
    shmem_getmem(peers, mine, sizeof mine, next_pe());
    CHECKF(peers[0] == mine[0] && peers[1] == mine[1], "offsets %td %td, and %td %td", mine[0], mine[1], peers[0],
           peers[1]);
    shmem_getmem(back, zero, 4000, next_pe());
    for (int i = 0; i < 4000; i++)
        CHECKF(back[i] == 0, "byte %d of calloc is %d", i, back[i]);
    CHECK(shmemg_malloc(0) == NULL && shmemg_malloc((size_t)1 << 40) == NULL && shmemg_align(3, 8) == NULL);
    CHECK(shmemg_calloc(SIZE_MAX / 2, 3) == NULL && shmemg_align(0, 8) == NULL);
    for (int bit = 3; bit < 64; bit++) {
        char *p = shmemg_align((size_t)1 << bit, 8);
        CHECKF((uintptr_t)p % ((size_t)1 << bit) == 0 && (p || bit > 12), "shmemg_align(2^%d) gave %p", bit, (void *)p);
        shmemg_free(p);
    }
    shmemg_free(NULL);
    shmemg_free(zero);
    char *again = shmemg_malloc(4000);
    CHECK(again == zero);
    shmemg_free(again);
    shmemg_free(aligned);
    shmemg_free(first);
}

/* Catches: a copy in the wrong direction or missing, a truncated length, overwritten neighbours. */
static void test_copies(void)
{
    static const size_t lengths[] = {0, 1, 3, 8, 47, 4096, 65537, ROOM - 2};
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        size_t n = lengths[k];
        int to = next_pe(), from = (me + n_pes - 1) % n_pes;
        memset(back, 0xee, ROOM);
        shmem_putmem(dev, back, ROOM, me);
        shmem_barrier_all();
        fill(host, n, me);
        shmem_putmem(dev + 1, host, n, to); /* host to device */
        shmem_barrier_all();
        shmem_getmem(back, dev, ROOM, me); /* device to host */
        CHECKF(is_filled(back + 1, n, from), "%zu bytes, host to device", n);
        CHECKF(back[0] == 0xee && back[n + 1] == 0xee, "%zu bytes, neighbours", n);
        shmem_barrier_all();
        shmem_putmem(dev + ROOM, dev + 1, n, to); /* device to device */
        shmem_barrier_all();
        memset(back, 0, ROOM);
        shmem_getmem(back, dev + ROOM, n, me);
        CHECKF(is_filled(back, n, (from + n_pes - 1) % n_pes), "%zu bytes, device to device", n);
        shmem_putmem(host, dev + 1, n, to); /* device to another's host memory */
        shmem_barrier_all();
        CHECKF(is_filled(host, n, (from + n_pes - 1) % n_pes), "%zu bytes, device to host", n);
        shmem_barrier_all();
    }
}

/* Catches: a signal before its data, when one is in device memory and the other is not. */
static void test_signal(void)
{
    static uint64_t sig;
    enum { ROUNDS = 300 };
    sig = 0;
    shmem_barrier_all();
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        fill(host, 512, (int)i);
        shmem_putmem_signal(dev, host, 512, &sig, i, SHMEM_SIGNAL_SET, next_pe());
        shmem_signal_wait_until(&sig, SHMEM_CMP_GE, i);
        shmem_getmem(back, dev, 512, me);
        CHECKF(is_filled(back, 512, (int)i), "round %d", (int)i);
        shmem_barrier_all();
    }
}

/* Catches: an address table that lacks the device's memory, or has memory that it must not access. */
static void test_touch(void)
{
    long *word = shmemg_calloc(4, sizeof *word);
    long *there = shmem_ptr(word, next_pe());
    CHECK((there == NULL) == (PRIVATE_MEMORY || !shmem_ptr(&tap_sum_, next_pe())));
    CHECK(shmem_addr_accessible(word, next_pe()));
    if (!PRIVATE_MEMORY) {
        for (int i = 0; i < 100; i++)
            shmem_long_atomic_inc(word, 0);
        shmem_barrier_all();
        CHECK(shmem_long_g(word, 0) == 100L * n_pes);
        shmem_long_p(word + 1, me, next_pe());
        shmem_barrier_all();
        CHECK(word[1] == (me + n_pes - 1) % n_pes);
        shmem_long_sum_reduce(SHMEM_TEAM_WORLD, word + 2, word + 1, 1);
        CHECK(word[2] == n_pes * (n_pes - 1L) / 2);
    }
    shmem_barrier_all();
    shmemg_free(word);
}

/* Catches: a second session that uses the registration, the addresses or the blocks of the first one's device heap. */
static void test_sessions(void)
{
    unsigned char *from = malloc(ROOM), *to = malloc(ROOM);
    for (int session = 0; session < 2; session++) {
        shmem_finalize();
        shmem_init();
        tap_pes_begin();
        dev = shmemg_malloc(ROOM);
        fill(from, ROOM, me + session);
        shmem_putmem(dev, from, ROOM, next_pe());
        shmem_barrier_all();
        shmem_getmem(to, dev, ROOM, me);
        CHECK(is_filled(to, ROOM, (me + n_pes - 1) % n_pes + session));
    }
    free(from);
    free(to);
}

int main(void)
{
    if (PRIVATE_MEMORY)
        setenv("ZE_CPU_PRIVATE", "1", 1);
    shmem_init();
    tap_pes_begin();
    host = shmem_malloc(ROOM);
    back = malloc(ROOM);
    RUN(test_heap, "allocation");
    dev = shmemg_malloc(2 * ROOM);
    if (!dev) {
        printf("Bail out! no device memory\n");
        return 1;
    }
    RUN(test_copies, "every direction between host and device memory");
    RUN(test_signal, "put-with-signal into device memory");
    RUN(test_touch, "loads, stores and atomics of the host");
    RUN(test_sessions, "the heap of a later session");
    int status = tap_end();
    shmem_finalize();
    return status;
}
