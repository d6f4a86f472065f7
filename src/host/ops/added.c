/*
 * added.c - the table of memory that is symmetric beside the heaps, and of the program's local buffers of a device.
 *
 *   word            written by                            read by       order
 *   one[i].bytes    the thread in the collective call     every thread  R1 -> A1 the entry is whole. 0: free, its other fields stay
 *   local[i].bytes  shi_added_local, under `lock`         every thread  the same
 *   shi_added_n     both                                  every thread  relaxed: a thread that uses the memory is ordered behind the call that added it
 */
#include "host/ops/added.h"

#include <errno.h>
#include <pthread.h>

#include "host/ops/state.h"

int shi_added_n;
static struct shi_added one[SHI_ADDED];
static struct {
    uintptr_t lo;
    size_t bytes;
} local[SHI_ADDED_LOCAL];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t length(const size_t *bytes)
{
    return __atomic_load_n(bytes, __ATOMIC_ACQUIRE); /* A1 */
}

static void set_length(size_t *at, size_t bytes)
{
    __atomic_fetch_add(&shi_added_n, (bytes != 0) - (*at != 0), __ATOMIC_RELAXED);
    __atomic_store_n(at, bytes, __ATOMIC_RELEASE); /* R1 */
}

const struct shi_added *shi_added_at(int i)
{
    return &one[i];
}

void shi_added_set(int i, const struct shi_added *a)
{
    struct shi_added free_still = *a;
    free_still.bytes = 0;
    one[i] = free_still;
    set_length(&one[i].bytes, a->bytes);
}

void shi_added_clear(int i)
{
    set_length(&one[i].bytes, 0);
}

void shi_added_be_space(int i, struct shi_space *s)
{
    one[i].space = s;
}

int shi_added_local(const void *addr, size_t bytes)
{
    int i = 0;
    pthread_mutex_lock(&lock);
    while (i < SHI_ADDED_LOCAL && local[i].bytes)
        i++;
    if (i < SHI_ADDED_LOCAL) {
        local[i].lo = (uintptr_t)addr;
        set_length(&local[i].bytes, bytes);
    }
    pthread_mutex_unlock(&lock);
    return i < SHI_ADDED_LOCAL ? 0 : -ENOMEM;
}

int shi_added_forget_local(const void *addr)
{
    int found = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < SHI_ADDED_LOCAL; i++)
        if (local[i].bytes && (!addr || local[i].lo == (uintptr_t)addr)) {
            set_length(&local[i].bytes, 0);
            found = 1;
        }
    pthread_mutex_unlock(&lock);
    return found || !addr ? 0 : -EINVAL;
}

int shi_added_find(const void *addr, size_t bytes, uint64_t *off)
{
    for (int i = 0; i < SHI_ADDED; i++) {
        size_t n = length(&one[i].bytes);
        *off = (uintptr_t)addr - one[i].lo;
        if (*off < n && bytes <= n - *off)
            return i;
    }
    return -1;
}

int shi_added_has(int i, int pe)
{
    return one[i].of[pe] != SHI_ADDED_ABSENT;
}

void *shi_added_reach_slow(int pe, int kinds, const void *addr, size_t bytes)
{
    uint64_t off;
    int i = shi_added_find(addr, bytes, &off);
    if (i < 0 || !(kinds & (one[i].device ? SHI_ADDED_DEVICE : SHI_ADDED_HOST)) || !one[i].at[pe])
        return NULL;
    return (char *)one[i].at[pe] + off;
}

void *shi_fast_added(const struct shmem_ctx *ctx, const void *addr, size_t bytes, int pe)
{
    void *at = shi_fast(ctx, addr, bytes, pe);
    if (at || !shi_added_any() || (unsigned)pe >= ctx->n_pes)
        return at;
    const struct shi_peer *p = &ctx->peer[pe];
    /* The table is empty, and the length 0, where the slow path is to find it, so also with device memory that the host cannot access. */
    return p->heap_bytes ? shi_added_reach_slow(p->pe, SHI_ADDED_HOST | SHI_ADDED_DEVICE, addr, bytes) : NULL;
}

static int is_in(uintptr_t a, uintptr_t lo, size_t bytes)
{
    return a - lo < bytes;
}

int shi_added_is_device_slow(const void *addr, int peers)
{
    uintptr_t a = (uintptr_t)addr;
    for (int i = 0; i < SHI_ADDED_LOCAL; i++)
        if (is_in(a, local[i].lo, length(&local[i].bytes)))
            return 1;
    for (int i = 0; i < SHI_ADDED; i++) {
        size_t n = length(&one[i].bytes);
        if (!n || !one[i].device)
            continue;
        if (is_in(a, one[i].lo, n))
            return 1;
        for (int k = 0; peers && k < shi_world.shm.n; k++) {
            const void *at = one[i].at[shi_world.shm.region[k].pe];
            if (at && is_in(a, (uintptr_t)at, n))
                return 1;
        }
    }
    return 0;
}
