/*
 * broadcast.c - broadcasts over active sets, back to back: two dests and two pSyncs take turns and no barrier is in between. A late PE
 * reads and clears its dest long after it has returned; the root must not store there before.
 *
 * Catches: a root that is two broadcasts ahead of a member, on a node or over a network, however its messages travel.
 */
#include "../tap_pes.h"

#include <unistd.h>

enum { CALLS = 6, LATE_US = 10000 };

static long sync_words[2][SHMEM_BCAST_SYNC_SIZE];
static char *dest[2], *source;

/* Members of the set are n PEs from `start` on. */
static void run(size_t bytes, int start, int n, int rotate, int late)
{
    for (int i = 1; me >= start && me < start + n && i <= CALLS; i++) {
        int root = rotate ? i / 2 % n : 0;
        char *to = dest[i % 2];
        if (me == start + root)
            memset(source, i, bytes);
        shmem_broadcast32(to, source, bytes / 4, root, start, 0, n, sync_words[i % 2]);
        if (me == start + root)
            continue;
        if (me == late)
            usleep(LATE_US);
        size_t wrong = 0;
        for (size_t k = 0; k < bytes; k++)
            wrong += to[k] != i;
        CHECKF(wrong == 0, "broadcast %d of %zu B from %d of %d PEs: %zu bytes are of another one", i, bytes, root, n, wrong);
        memset(to, 0, bytes);
    }
    shmem_barrier_all();
    memset(dest[0], 0, bytes);
    memset(dest[1], 0, bytes);
    shmem_barrier_all();
}

static void sizes(int start, int n, int rotate)
{
    static const size_t bytes[] = {8, 4096, 16384, 1 << 20};
    for (size_t b = 0; b < sizeof bytes / sizeof *bytes; b++)
        for (int late = start; late < start + n; late += n > 4 ? 3 : 1)
            run(bytes[b], start, n, rotate, late);
}

static void test_one_root(void)
{
    sizes(0, n_pes, 0);
}

static void test_roots(void)
{
    sizes(0, n_pes, 1);
}

static void test_part(void)
{
    if (n_pes > 2)
        sizes(1, n_pes - 1, 1);
}

int main(void)
{
    shmem_init();
    tap_pes_begin();
    for (int i = 0; i < 2; i++)
        dest[i] = shmem_calloc(1 << 20, 1);
    source = shmem_malloc(1 << 20);
    for (int i = 0; i < SHMEM_BCAST_SYNC_SIZE; i++)
        sync_words[0][i] = sync_words[1][i] = SHMEM_SYNC_VALUE;
    shmem_barrier_all();
    RUN(test_one_root, "a root does not overwrite what a late PE has not used");
    RUN(test_roots, "several roots do not");
    RUN(test_part, "nor do they in a part of the world");
    shmem_finalize();
    return tap_end();
}
