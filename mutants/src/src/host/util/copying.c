/* copying.c - see copying.h. */
#include "host/util/copying.h"

#include <pthread.h>

#include "host/util/base.h"
#include "host/util/log.h"
#include "host/util/tracer.h"

enum { ENTRIES = 16, CHECKS = 8, PATIENCE_LOG = 28 };
enum { FREE, CLAIMED, COPYING, STATES = 4 }; /* state modulo STATES; it grows with each change */

static struct shi_copying {
    uint64_t state;
    const char *routine;
    size_t bytes;
} entry[ENTRIES];
static int n;
static uint64_t limit_ns;

struct shi_copying *shi_copying_begin(const char *routine, size_t bytes)
{
    for (struct shi_copying *c = entry; c < entry + ENTRIES; c++) {
        uint64_t state = __atomic_load_n(&c->state, __ATOMIC_RELAXED);
        if (state % STATES != FREE || !__atomic_compare_exchange_n(&c->state, &state, state + CLAIMED, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) /* A2 */
            continue;
        __atomic_thread_fence(__ATOMIC_RELEASE); /* a reader that sees the new routine or bytes also sees the claim */
        __atomic_store_n(&c->routine, routine, __ATOMIC_RELAXED);
        __atomic_store_n(&c->bytes, bytes, __ATOMIC_RELAXED);
        __atomic_store_n(&c->state, state + COPYING, __ATOMIC_RELEASE); /* R1 */
        __atomic_fetch_add(&n, 1, __ATOMIC_RELAXED);
        return c;
    }
    return NULL;
}

void shi_copying_end(struct shi_copying *c)
{
    if (!c)
        return;
    __atomic_fetch_sub(&n, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&c->state, c->state + STATES - COPYING, __ATOMIC_RELEASE);
}

void shi_copying_limit(uint64_t ns)
{
    limit_ns = ns;
}

uint64_t shi_copying_limit_ns(void)
{
    return limit_ns;
}

static unsigned patience(unsigned checks, size_t bytes)
{
    return checks + checks * (unsigned)(bytes >> PATIENCE_LOG);
}

const char *shi_copying_overdue(unsigned checks, size_t *bytes)
{
    static struct {
        uint64_t state;
        unsigned n;
    } seen[ENTRIES];
    for (int i = 0; i < ENTRIES; i++) {
        const struct shi_copying *c = &entry[i];
        uint64_t state = __atomic_load_n(&c->state, __ATOMIC_ACQUIRE); /* A1 */
        const char *routine = __atomic_load_n(&c->routine, __ATOMIC_RELAXED);
        *bytes = __atomic_load_n(&c->bytes, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        int lasts = state % STATES == COPYING && __atomic_load_n(&c->state, __ATOMIC_RELAXED) == state;
        seen[i].n = lasts && seen[i].state == state ? seen[i].n : 0;
        seen[i].state = state;
        if (lasts && seen[i].n++ >= patience(checks, *bytes))
            return routine;
    }
    return NULL;
}

int shi_copying_poll(void)
{
    static pthread_mutex_t checking = PTHREAD_MUTEX_INITIALIZER;
    static uint64_t checked_ns;
    if (shi_likely(!__atomic_load_n(&n, __ATOMIC_RELAXED)) || !limit_ns)
        return 0;
    uint64_t now = shi_coarse_ns(), interval = limit_ns / (2 * CHECKS);
    size_t bytes;
    if (pthread_mutex_trylock(&checking))
        return 0;
    int due = now - checked_ns >= interval;
    const char *routine = due ? shi_copying_overdue(CHECKS, &bytes) : NULL;
    checked_ns = due ? now : checked_ns;
    pthread_mutex_unlock(&checking);
    if (routine && !shi_is_traced()) /* a debugger may stop the device */
        shi_die(routine, "the device has not ended a copy of %zu bytes for %g s (SHMEM_HEARTBEAT)", bytes,
                (double)interval * patience(CHECKS, bytes) / 1e9);
    return 0;
}
